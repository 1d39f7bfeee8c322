//! The hooks of an observation: the places in the kernel at which its programs run.

use std::fmt;

use serde::{Deserialize, Serialize};

macro_rules! hooks {
    ($($(#[$doc:meta])* $hook:ident = $name:literal;)*) => {
        /// A hook. A reader refuses a run with a hook that it does not know.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum Hook {
            $($(#[$doc])* #[serde(rename = $name)] $hook,)*
        }

        impl Hook {
            /// Every hook.
            pub const ALL: &'static [Hook] = &[$(Hook::$hook,)*];

            /// Returns its name in the coverage: `tp_btf/sys_enter`.
            pub const fn name(self) -> &'static str {
                match self { $(Hook::$hook => $name,)* }
            }
        }
    };
}

hooks! {
    /// End of a task.
    ProcessExit = "tp_btf/sched_process_exit";
    /// Execution of a file.
    ProcessExec = "tp_btf/sched_process_exec";
    /// Context switch.
    Switch = "tp_btf/sched_switch";
    /// Creation of a task.
    NewTask = "tp_btf/task_newtask";
    /// A bio is queued.
    BioQueue = "tp_btf/block_bio_queue";
    /// A request is issued to its device.
    RequestIssue = "tp_btf/block_rq_issue";
    /// An issued request is put back.
    RequestRequeue = "tp_btf/block_rq_requeue";
    /// The device completed a request.
    RequestComplete = "tp_btf/block_rq_complete";
    /// A bio was completed without a request.
    BioComplete = "tp_btf/block_bio_complete";
    /// A folio enters the page cache.
    AddToPageCache = "tp_btf/mm_filemap_add_to_page_cache";
    /// io_uring completed a request.
    UringComplete = "tp_btf/io_uring_complete";
    /// io_uring starts a request.
    UringSubmit = "tp_btf/io_uring_submit_req";
    /// io_uring refuses a request before it starts.
    UringRefuse = "tp_btf/io_uring_req_failed";
    /// A worker of the kernel has done a piece of work.
    WorkEnd = "tp_btf/workqueue_execute_end";
    /// The kernel hands a request to the daemon of a FUSE file system.
    FuseSend = "tp_btf/fuse_request_send";
    /// The daemon has answered it.
    FuseEnd = "tp_btf/fuse_request_end";
    /// Exit of a system call.
    SysExit = "tp_btf/sys_exit";
    /// Entry of a system call.
    SysEnter = "tp_btf/sys_enter";
    /// The sampling clock.
    CpuClock = "perf_event/cpu-clock";
}

impl Hook {
    /// Returns `true` if kernels without it are common, and it watches others than the tool, or what moves no data: a run
    /// without it is whole, and the facts that need it are missing.
    pub const fn is_beside(self) -> bool {
        matches!(self, Hook::WorkEnd | Hook::FuseSend | Hook::FuseEnd | Hook::UringRefuse)
    }

    /// Returns its name in the kernel, the last part of its name in the coverage: `sys_enter`.
    pub fn place(self) -> &'static str {
        self.name().split_once('/').map_or(self.name(), |(_, place)| place)
    }
}

impl fmt::Display for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
