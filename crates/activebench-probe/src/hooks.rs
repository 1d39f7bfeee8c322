//! The hooks with their programs, the tracepoints that an observation depends on, the loss without each, and a check
//! whether a kernel has them.

use std::path::Path;

use activebench_model::hook::Hook;
use aya::Endianness;
use aya_obj::btf::{Btf, BtfKind};

/// Oldest kernel, as major and minor number, that has everything that the kernel programs call (`bpf_loop` was added
/// in 5.17, kernel/bpf/bpf_iter.c).
pub const LEAST_KERNEL: (u32, u32) = (5, 17);

/// A program of the object and its tracepoint.
pub(crate) type Program = (&'static str, &'static str);

/// Every hook with its programs. Where kernels differ there are several: the first that this kernel accepts is
/// attached.
pub(crate) const PROGRAMS: &[(Hook, &[Program])] = &[
    (Hook::ProcessExit, &[("sched_process_exit", "sched_process_exit")]),
    (Hook::ProcessExec, &[("sched_process_exec", "sched_process_exec")]),
    (Hook::Switch, &[("sched_switch", "sched_switch")]),
    (Hook::NewTask, &[("task_newtask", "task_newtask")]),
    (Hook::BioQueue, &[("block_bio_queue", "block_bio_queue")]),
    (Hook::RequestIssue, &[("block_rq_issue", "block_rq_issue")]),
    (Hook::RequestRequeue, &[("block_rq_requeue", "block_rq_requeue")]),
    (Hook::RequestComplete, &[("block_rq_complete", "block_rq_complete")]),
    (Hook::BioComplete, &[("block_bio_complete", "block_bio_complete")]),
    (Hook::AddToPageCache, &[("mm_filemap_add_to_page_cache", "mm_filemap_add_to_page_cache")]),
    (
        Hook::UringComplete,
        // The one that takes the result as an argument does not load where the argument does not exist.
        &[("io_uring_complete_result", "io_uring_complete"), ("io_uring_complete", "io_uring_complete")],
    ),
    (
        Hook::UringSubmit,
        // Before Linux 6.3 it had another name.
        &[("io_uring_submit_req", "io_uring_submit_req"), ("io_uring_submit_sqe", "io_uring_submit_sqe")],
    ),
    (Hook::UringRefuse, &[("io_uring_req_failed", "io_uring_req_failed")]),
    (Hook::WorkEnd, &[("workqueue_execute_end", "workqueue_execute_end")]),
    (Hook::FuseSend, &[("fuse_request_send", "fuse_request_send")]),
    (Hook::FuseEnd, &[("fuse_request_end", "fuse_request_end")]),
    (Hook::SysExit, &[("sys_exit", "sys_exit")]),
    (Hook::SysEnter, &[("sys_enter", "sys_enter")]),
];

/// A tracepoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tracepoint {
    /// Its name in the kernel: `block_rq_complete`.
    pub name: &'static str,
    /// The hook on it; `None` if this version does not attach a program to it.
    pub hook: Option<Hook>,
    /// The loss without it: a lower-case fragment.
    pub without: &'static str,
}

/// The loss without each tracepoint, the most severe first.
const WITHOUT: &[(&str, &str)] = &[
    ("sys_enter", "no call is seen: every claim is unverifiable"),
    ("sys_exit", "no call is seen: every claim is unverifiable"),
    ("task_newtask", "children and threads are not followed: every claim is unverifiable"),
    ("sched_process_exit", "the end of tasks is not seen: every claim is unverifiable"),
    (
        "mm_filemap_add_to_page_cache",
        "reads from memory and reads from storage are not distinguished: every claim is unverifiable",
    ),
    ("block_rq_complete", "what the device completed is not seen: every claim is unverifiable"),
    ("block_bio_queue", "who asked for a request is not known: writeback and the I/O of others are not distinguished"),
    ("block_rq_issue", "time at the device is not known: figures on its latency and busy time are missing"),
    ("block_rq_requeue", "a request that is issued again counts its time from the first issue"),
    ("block_bio_complete", "devices that complete bios without requests (zram, device mapper) are not seen"),
    ("sched_switch", "CPU time is not known: AB501 and AB502 are undecided"),
    ("sched_process_exec", "a tool behind a wrapper is not recognised by what it executes"),
    (
        "io_uring_submit_req",
        "requests inside io_uring are counted and not decoded: claims on them are unverifiable (AB901)",
    ),
    (
        "io_uring_complete",
        "requests inside io_uring are counted and not decoded: claims on them are unverifiable (AB901)",
    ),
    ("io_uring_req_failed", "requests of io_uring that the kernel refuses before they start are not seen"),
    (
        "workqueue_execute_end",
        "CPU time of the kernel's workers is not known (loop devices, writeback): `storage_thread_cpu_ns` is missing",
    ),
    ("fuse_request_send", "requests to FUSE daemons are not timed"),
    ("fuse_request_end", "requests to FUSE daemons are not counted"),
    ("mm_filemap_fault", "data that moves through a mapping is not seen: claims on it are unverifiable (AB901)"),
    ("mm_filemap_map_pages", "data that moves through a mapping is not seen: claims on it are unverifiable (AB901)"),
];

/// The text for a tracepoint that is not in the table above.
const WITHOUT_OTHERS: &str = "the facts that rest on it are missing, and their detectors undecided";

/// Returns every tracepoint that this version attaches to, and those of paths that it may decode (page faults), the most
/// severe loss first.
pub fn tracepoints() -> Vec<Tracepoint> {
    let hook_on = |name: &str| PROGRAMS.iter().map(|(hook, _)| *hook).find(|hook| hook.place() == name);
    let known = WITHOUT.iter().map(|(name, without)| Tracepoint { name, hook: hook_on(name), without });
    let is_known = |hook: &Hook| WITHOUT.iter().any(|(name, _)| *name == hook.place());
    let others = PROGRAMS.iter().map(|(hook, _)| *hook).filter(|hook| !is_known(hook));
    known
        .chain(others.map(|hook| Tracepoint { name: hook.place(), hook: Some(hook), without: WITHOUT_OTHERS }))
        .collect()
}

/// Returns `true` if there is a table of system calls for this architecture. Without one no call is decoded.
pub fn has_call_table() -> bool {
    activebench_probe_abi::syscalls::table().is_some()
}

/// A kernel's type information.
#[derive(Debug)]
pub struct KernelTypes(Btf);

impl KernelTypes {
    /// Reads `/sys/kernel/btf/vmlinux` or a copy of it. Needs no rights.
    ///
    /// # Errors
    /// Returns an error, as a fragment, if the file cannot be read or is not BTF.
    pub fn read(path: &Path) -> Result<Self, String> {
        Btf::parse_file(path, Endianness::default()).map(Self).map_err(|error| error.to_string())
    }

    /// Returns `true` if the kernel has this tracepoint with a type that a program can attach to.
    pub fn has_tracepoint(&self, name: &str) -> bool {
        self.0.id_by_type_name_kind(&format!("btf_trace_{name}"), BtfKind::Typedef).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_attached_tracepoint_says_what_is_lost_without_it() {
        let tracepoints = tracepoints();
        for (hook, _) in PROGRAMS {
            let listed = tracepoints.iter().find(|tracepoint| tracepoint.hook == Some(*hook)).expect("it is listed");
            assert_ne!(listed.without, WITHOUT_OTHERS, "{hook} needs words of its own");
        }
        let unattached = |hook: &&Hook| !PROGRAMS.iter().any(|(attached, _)| attached == *hook);
        assert_eq!(Hook::ALL.iter().filter(unattached).collect::<Vec<_>>(), [&Hook::CpuClock]);
    }

    #[test]
    fn this_kernel_s_types_name_its_tracepoints() {
        let path = Path::new("/sys/kernel/btf/vmlinux");
        // A kernel without BTF does not have types; reading them fails.
        let read = KernelTypes::read(path);
        assert_eq!(read.is_ok(), path.exists());
        let Ok(types) = read else { return };
        assert!(types.has_tracepoint("sys_enter"));
        assert!(!types.has_tracepoint("no_such_tracepoint"));
    }

    #[test]
    fn what_is_no_btf_is_an_error() {
        assert!(KernelTypes::read(Path::new("/proc/self/comm")).is_err());
        assert!(KernelTypes::read(Path::new("/nonexistent")).is_err());
    }
}
