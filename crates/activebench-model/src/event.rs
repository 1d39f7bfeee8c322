//! The classes of kernel records, the kinds of events made from them, and the types of these events. Calls have a
//! module of their own ([`crate::call`]).
//!
//! Times are `CLOCK_MONOTONIC` nanoseconds throughout.
//!
//! # Adding a class of records
//!
//! Four files, besides the C program with its layout in `activebench-ebpf/src/records.h`:
//!
//! 1. this file: the class in [`record_classes`], the kind in [`event_kinds`](crate::event_kinds), the event's type;
//! 2. `activebench-probe-abi/src/records.rs`: the record's layout, which a test compares with the object's BTF;
//! 3. `activebench-probe-abi/src/decode.rs`: the conversion of the record into the event, and the record's way out of
//!    the kernel;
//! 4. `activebench-record/src/tables.rs`: the columns of the events' table, and which of them a redacted copy cleans.
//!
//! Everything else follows from these: packing and counting of the records, the collections of events, the files of
//! the run directory, `show`, redaction and coverage.

use std::cmp::Ordering;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::call::{DeviceNumber, FileId, Op};

/// Declares the classes: first those of the kernel programs, in the order of the kernel's counters, then the others.
/// `needed` are classes that a judgement on I/O needs, `spare` those that it does not.
macro_rules! record_classes {
    (
        kernel { $($(#[$doc:meta])* $class:ident = $name:literal, $need:ident;)* }
        other { $($(#[$other_doc:meta])* $other:ident = $other_name:literal, $other_need:ident;)* }
    ) => {
        /// A class of records of the kernel programs. Its number there is its position.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u32)]
        pub enum KernelClass { $($(#[$doc])* $class,)* }

        impl KernelClass {
            /// Every class, in the order of the kernel's counters.
            pub const ALL: &'static [KernelClass] = &[$(KernelClass::$class,)*];

            /// Returns the class in the run's account of records.
            pub const fn class(self) -> RecordClass {
                match self { $(KernelClass::$class => RecordClass::$class,)* }
            }
        }

        /// A class in the run's account of records. A reader refuses a run with a class that it does not know.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum RecordClass {
            $($(#[$doc])* #[serde(rename = $name)] $class,)*
            $($(#[$other_doc])* #[serde(rename = $other_name)] $other,)*
        }

        impl RecordClass {
            /// Returns its name in the account.
            pub const fn name(self) -> &'static str {
                match self { $(RecordClass::$class => $name,)* $(RecordClass::$other => $other_name,)* }
            }

            /// Returns `true` if no judgement on I/O needs the class.
            pub const fn is_spare(self) -> bool {
                match self {
                    $(RecordClass::$class => record_classes!(@spare $need),)*
                    $(RecordClass::$other => record_classes!(@spare $other_need),)*
                }
            }
        }
    };
    (@spare needed) => { false };
    (@spare spare) => { true };
}

record_classes! {
    kernel {
        /// Ends of system calls.
        Calls = "calls", needed;
        /// Ends of calls with a name argument.
        Names = "names", needed;
        /// Creation, execution and end of tasks.
        Tasks = "tasks", needed;
        /// Queued bios.
        BlockQueued = "block_queued", needed;
        /// Completed requests.
        BlockCompleted = "block", needed;
        /// Folios that entered the page cache.
        PageCache = "page_cache", needed;
        /// Threads' running totals.
        Cpu = "cpu", spare;
        /// Interrupts of the sampling clock.
        Samples = "samples", spare;
        /// First bytes of sampled writes.
        Payload = "payload", spare;
        /// Pieces of what the processes wrote to their standard output and standard error.
        Output = "output", spare;
        /// CPU time of threads of the kernel and of FUSE daemons.
        Serving = "serving_cpu", spare;
        /// Answered requests of FUSE file systems.
        Fuse = "fuse_requests", spare;
    }
    other {
        /// Readings of the host's steal time.
        Steal = "steal", spare;
        /// Messages of the kernel programs that could not be parsed.
        Malformed = "malformed", needed;
    }
}

impl KernelClass {
    /// Returns the class of a message; `None` for a number that this version does not know.
    pub fn from_number(number: u32) -> Option<Self> {
        Self::ALL.get(usize::try_from(number).ok()?).copied()
    }

    /// Returns its name in the run's account of records.
    pub const fn name(self) -> &'static str {
        self.class().name()
    }
}

impl fmt::Display for RecordClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// By name: the order in which an account lists the classes.
impl Ord for RecordClass {
    fn cmp(&self, other: &Self) -> Ordering {
        self.name().cmp(other.name())
    }
}

impl PartialOrd for RecordClass {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Passes the list of the kinds of events to a macro of the caller's scope. For each kind:
///
/// - its documentation, variant of [`EventKind`](crate::event::EventKind) and method of
///   [`EventSource`](crate::source::EventSource);
/// - `from`: `kernel` if its records are kept and decoded one by one, `digest` if they are reduced as they arrive,
///   `host` if it is not made from kernel records;
/// - the type of the event, the name of its table, the class of an event in the account, the help text of `show`.
#[macro_export]
macro_rules! event_kinds {
    ($receiver:ident) => {
        $receiver! {
            /// The system calls. Those of one thread are in chronological order.
            Calls calls from kernel: $crate::call::Call, "calls", |_| $crate::event::RecordClass::Calls,
                "Observed system calls, one row each";
            /// The names of calls that took one.
            Names names from kernel: $crate::event::NameEvent, "names", |_| $crate::event::RecordClass::Names,
                "Observed names";
            /// Births, executions and ends of tasks.
            Tasks tasks from kernel: $crate::event::TaskEvent, "tasks", |_| $crate::event::RecordClass::Tasks,
                "Births, executions and ends of tasks";
            /// The events of the block layer.
            Block block from kernel: $crate::event::BlockEvent, "block", $crate::event::BlockEvent::class,
                "Bios queued and requests completed";
            /// The pages that entered the page cache.
            Cache cache from kernel: $crate::event::CacheEvent, "page_cache", |_| $crate::event::RecordClass::PageCache,
                "Pages that entered the page cache";
            /// The threads' running totals.
            Cpu cpu from kernel: $crate::event::CpuEvent, "cpu", |_| $crate::event::RecordClass::Cpu,
                "CPU time of each thread, read whenever the thread gets a CPU again";
            /// The stack samples.
            Samples samples from kernel: $crate::event::SampleEvent, "samples", |_| $crate::event::RecordClass::Samples,
                "Stack samples";
            /// What the threads of the kernel, and FUSE daemons, did beside the tool.
            Serving serving from kernel: $crate::event::ServingEvent, "serving_cpu", |_| $crate::event::RecordClass::Serving,
                "CPU time of the kernel's threads and of FUSE daemons, beside the tool";
            /// The answered requests of FUSE file systems.
            Fuse fuse from kernel: $crate::event::FuseEvent, "fuse_requests", |_| $crate::event::RecordClass::Fuse,
                "Requests to FUSE daemons";
            /// Readings of the host's steal time; those of one CPU are in order.
            Steal steal from host: $crate::event::StealEvent, "steal", |_| $crate::event::RecordClass::Steal,
                "The host's steal time";
            /// The figures of sampled writes.
            Payload payload from digest: $crate::event::PayloadEvent, "payload", |_| $crate::event::RecordClass::Payload,
                "Figures of sampled writes";
        }
    };
}

macro_rules! declare_kinds {
    ($(
        $(#[$doc:meta])* $kind:ident $method:ident from $from:ident: $event:ty, $table:literal, $class:expr, $about:literal;
    )*) => {
        /// A kind of events.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum EventKind { $($(#[$doc])* $kind,)* }

        impl EventKind {
            /// Every kind.
            pub const ALL: &'static [EventKind] = &[$(EventKind::$kind,)*];

            /// Returns its name on the command line.
            pub const fn name(self) -> &'static str {
                match self { $(EventKind::$kind => stringify!($method),)* }
            }

            /// Returns the help text of `show`: a fragment.
            pub const fn about(self) -> &'static str {
                match self { $(EventKind::$kind => $about,)* }
            }
        }

        $(
            impl Event for $event {
                const TABLE: &'static str = $table;

                fn class(&self) -> RecordClass {
                    let class: fn(&Self) -> RecordClass = $class;
                    class(self)
                }
            }
        )*
    };
}

/// An event of one of the [`event_kinds`](crate::event_kinds).
pub trait Event: Clone + Serialize {
    /// Name of its table in a run directory.
    const TABLE: &'static str;

    /// Returns the class in the account of records that the event belongs to.
    fn class(&self) -> RecordClass;
}

event_kinds!(declare_kinds);

/// A call that took a name: open, unlink, rename, truncate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NameEvent {
    /// Exit of the call.
    pub at_ns: u64,
    /// The thread.
    pub tid: u32,
    /// The process.
    pub tgid: u32,
    /// Which call.
    pub op: Op,
    /// Return value.
    pub returned: i64,
    /// The file that an open returned; `None` for other calls and for failed opens.
    pub file: Option<FileId>,
    /// The name as the tool wrote it, cut at 255 bytes.
    pub name: String,
}

/// Something that happened to a task of the tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskEvent {
    /// When.
    pub at_ns: u64,
    /// Kind of event.
    pub kind: TaskEventKind,
    /// The thread.
    pub tid: u32,
    /// Its process.
    pub tgid: u32,
    /// For `Born`: the process that made it. Otherwise 0.
    pub parent_tgid: u32,
    /// For `Exited`: the wait status.
    pub exit_status: i32,
    /// The task's name.
    pub comm: String,
    /// For `Executed`: the file executed, cut at 255 bytes. Otherwise empty.
    pub filename: String,
    /// For `Exited`: on-CPU time in user mode since observation of the task began.
    pub user_ns: u64,
    /// For `Exited`: on-CPU time in the kernel.
    pub kernel_ns: u64,
    /// For `Exited`: time off CPU and not runnable, I/O wait included.
    pub blocked_ns: u64,
    /// For `Exited`: the part of `blocked_ns` in I/O wait.
    pub iowait_ns: u64,
    /// For `Exited`: time off CPU though runnable.
    pub preempted_ns: u64,
}

/// A kind of task event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TaskEventKind {
    /// A task of the tree created it.
    Born,
    /// It executed a file.
    Executed,
    /// It ended.
    Exited,
}

/// Something that happened in the block layer, on any device of the host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockEvent {
    /// When.
    pub at_ns: u64,
    /// Kind of event.
    pub kind: BlockEventKind,
    /// The whole disk's number.
    pub device: DeviceNumber,
    /// First sector (512 bytes), relative to the whole disk.
    pub sector: u64,
    /// Data bytes of this event; 0 for FLUSH. A request whose bios belong to several files
    /// has one event per file.
    pub bytes: u64,
    /// Action of the request.
    pub action: BlockAction,
    /// `REQ_PREFLUSH` was set: the device must flush its cache first.
    pub preflush: bool,
    /// `REQ_FUA` was set.
    pub fua: bool,
    /// For `Completed`: time from issue to completion; 0 when the issue was not seen. Also 0 on the
    /// second and later events of one request.
    pub latency_ns: u64,
    /// True for the first event of its request. Requests are counted by these.
    pub first_of_request: bool,
    /// The file whose data it carries; `None` for metadata, journal, and data of an unknown owner.
    pub file: Option<FileId>,
    /// The process that submitted it; 0 where it is unknown. Writeback runs in kernel workers: then it is the
    /// worker's tgid.
    pub tgid: u32,
    /// Name of that process; empty when unknown.
    pub comm: String,
    /// Class of the submitter: the tree, activebench, the kernel or foreign.
    pub origin: Origin,
    /// 0, or the block layer's status of a failed request.
    pub status: u8,
}

impl BlockEvent {
    /// Returns the class in the account of records.
    pub const fn class(&self) -> RecordClass {
        match self.kind {
            BlockEventKind::Queued | BlockEventKind::Inferred => RecordClass::BlockQueued,
            BlockEventKind::Completed => RecordClass::BlockCompleted,
        }
    }
}

/// Kind of block layer event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BlockEventKind {
    /// A bio was queued (on stacked devices once per layer).
    Queued,
    /// A request, or a part of one, was completed by the device.
    Completed,
    /// A completion that no hook saw. (It runs in an interrupt, which some machines hide from tracers.) It is
    /// inferred because the same memory was used for the next request, or because nothing was in flight at the
    /// end. `at_ns` is the earliest possible time; `latency_ns` is 0.
    Inferred,
}

/// The action of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BlockAction {
    /// Reads data.
    Read,
    /// Writes data.
    Write,
    /// Flushes the device's cache.
    Flush,
    /// Discards or zeroes blocks.
    Discard,
    /// Anything else.
    Other,
}

/// Who submitted a block event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// A task of the tool's tree.
    Tree,
    /// activebench itself.
    Observer,
    /// A kernel thread (writeback, journal, loop worker).
    Kernel,
    /// Another process.
    Foreign,
    /// Unknown (completions carry no submitter unless the data pages were anonymous).
    Unknown,
}

/// Pages that entered the page cache for a file that the tree had opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheEvent {
    /// When.
    pub at_ns: u64,
    /// The file.
    pub file: FileId,
    /// First byte of the folio in the file.
    pub offset: u64,
    /// Bytes of the folio.
    pub bytes: u64,
    /// The process in whose context it happened.
    pub tgid: u32,
    /// True if that process is part of the tree.
    pub in_tree: bool,
}

/// What threads beside the tree did on one CPU between two moments: threads of the kernel of one name, workers of the
/// kernel at one kind of work, or a FUSE daemon that ran before the tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServingEvent {
    /// Start of the time in which all of it happened.
    pub since_ns: u64,
    /// End of that time.
    pub until_ns: u64,
    /// The process of a daemon; 0 for the kernel.
    pub tgid: u32,
    /// Name of the thread of the kernel, or of the work queue, or what the work calls itself (`flush-7:0`), cut at 23
    /// bytes; empty for a daemon.
    pub name: String,
    /// CPU time.
    pub cpu_ns: u64,
    /// A daemon's calls that read data, from files and from its FUSE descriptor: read, pread, readv, preadv.
    pub read_calls: u32,
    /// A daemon's calls that write data: write, pwrite, writev, pwritev.
    pub write_calls: u32,
    /// A daemon's calls that sync.
    pub sync_calls: u32,
    /// A daemon's other calls.
    pub other_calls: u32,
}

impl ServingEvent {
    /// Returns the number of all its calls.
    pub fn calls(&self) -> u64 {
        [self.read_calls, self.write_calls, self.sync_calls, self.other_calls].into_iter().map(u64::from).sum()
    }
}

/// A request of the kernel to the daemon of a FUSE file system, which answered it. Forgotten inodes are not among them:
/// nobody waits for these.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FuseEvent {
    /// When it was answered.
    pub at_ns: u64,
    /// When it was handed to the daemon; 0 when that was not seen.
    pub sent_ns: u64,
    /// The super block's device of the file system.
    pub s_dev: DeviceNumber,
    /// What it asked for.
    pub operation: FuseOperation,
    /// The process that sent it; 0 when that was not seen. Writeback is sent by workers of the kernel.
    pub tgid: u32,
    /// The process in whose context it was answered.
    pub daemon: u32,
    /// Bytes of the request, with its header.
    pub request_bytes: u32,
    /// Bytes of the answer with its header, or the negative error.
    pub returned: i64,
    /// `true` if the mount uses the writeback cache: writes wait in the page cache for the kernel to send them.
    pub writeback_cache: bool,
    /// `true` if the daemon may have files read and written by the kernel in the file below (passthrough). Which of them
    /// it does so with is not known.
    pub passthrough: bool,
}

/// Declares the operations of FUSE with their codes (`enum fuse_opcode`, include/uapi/linux/fuse.h) and words.
macro_rules! fuse_operations {
    ($($operation:ident = $code:literal, $word:literal;)*) => {
        /// What a request of FUSE asks for.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum FuseOperation {
            $(
                #[doc = concat!("`", $word, "`.")]
                $operation,
            )*
            /// Any other.
            Other,
        }

        impl FuseOperation {
            /// Every operation.
            pub const ALL: &'static [FuseOperation] = &[$(FuseOperation::$operation,)* FuseOperation::Other];

            /// Returns the operation of a code of the kernel.
            pub const fn of_code(code: u32) -> Self {
                match code { $($code => FuseOperation::$operation,)* _ => FuseOperation::Other }
            }

            /// Returns its word.
            pub const fn word(self) -> &'static str {
                match self { $(FuseOperation::$operation => $word,)* FuseOperation::Other => "other" }
            }

            /// Returns the operation of a word.
            pub fn of_word(word: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|operation| operation.word() == word)
            }
        }
    };
}

fuse_operations! {
    Lookup = 1, "lookup";
    Getattr = 3, "getattr";
    Setattr = 4, "setattr";
    Mknod = 8, "mknod";
    Mkdir = 9, "mkdir";
    Unlink = 10, "unlink";
    Rmdir = 11, "rmdir";
    Rename = 12, "rename";
    Link = 13, "link";
    Open = 14, "open";
    Read = 15, "read";
    Write = 16, "write";
    Statfs = 17, "statfs";
    Release = 18, "release";
    Fsync = 20, "fsync";
    Getxattr = 22, "getxattr";
    Flush = 25, "flush";
    Init = 26, "init";
    Opendir = 27, "opendir";
    Readdir = 28, "readdir";
    Releasedir = 29, "releasedir";
    Fsyncdir = 30, "fsyncdir";
    Access = 34, "access";
    Create = 35, "create";
    Ioctl = 39, "ioctl";
    Fallocate = 43, "fallocate";
    Readdirplus = 44, "readdirplus";
    RenameWith = 45, "rename2";
    Lseek = 46, "lseek";
    CopyFileRange = 47, "copy_file_range";
    Syncfs = 50, "syncfs";
    Statx = 52, "statx";
}

/// Where a thread's time went since its observation began. The sum of user, kernel, blocked and
/// preempted time is the thread's age.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadTimes {
    /// On CPU in user mode.
    pub user_ns: u64,
    /// On CPU in the kernel.
    pub kernel_ns: u64,
    /// Off CPU and not runnable, I/O wait included.
    pub blocked_ns: u64,
    /// The part of `blocked_ns` in I/O wait.
    pub iowait_ns: u64,
    /// Off CPU though runnable.
    pub preempted_ns: u64,
}

/// The state of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ThreadState {
    /// On CPU in user mode.
    User,
    /// On CPU in the kernel.
    Kernel,
    /// Off CPU and not runnable, not in I/O wait.
    Blocked,
    /// Off CPU in I/O wait.
    IoWait,
    /// Off CPU though runnable.
    Preempted,
    /// Off CPU because a signal (SIGSTOP, SIGTSTP) or a debugger stopped it. A part of `blocked_ns`.
    Stopped,
}

/// A thread's running totals at one moment: on each return to a CPU, and with every sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuEvent {
    /// When.
    pub at_ns: u64,
    /// Start of the time in `state`.
    pub since_ns: u64,
    /// State of the thread from `since_ns` to `at_ns`.
    pub state: ThreadState,
    /// The thread.
    pub tid: u32,
    /// Its process.
    pub tgid: u32,
    /// The totals at `at_ns`.
    pub times: ThreadTimes,
}

/// The state of a thread at a tick of the sampling clock of its CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SampleEvent {
    /// When.
    pub at_ns: u64,
    /// True if it was in user mode; otherwise it was in the kernel.
    pub in_user_mode: bool,
    /// Index of its stack in the run's stacks; `None` when there was no room for another stack.
    pub stack: Option<u32>,
    /// The thread and its totals.
    pub cpu: CpuEvent,
}

/// Time since boot that the hypervisor gave to others while a virtual CPU had something to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StealEvent {
    /// When it was read.
    pub at_ns: u64,
    /// The CPU.
    pub cpu: u32,
    /// Its steal time; the kernel counts it in ticks, usually of 10 ms.
    pub steal_ns: u64,
}

/// Figures of the first bytes of a sampled write.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PayloadEvent {
    /// Start of the call, or submission of the request.
    pub at_ns: u64,
    /// Thread.
    pub tid: u32,
    /// Process.
    pub tgid: u32,
    /// The call.
    pub op: Op,
    /// Its descriptor, as in [`Call::fd`](crate::call::Call::fd).
    pub fd: i32,
    /// The file or block device; `None` where it is registered with an io_uring, whose requests
    /// name it only by the descriptor.
    pub file: Option<FileId>,
    /// Bytes that the call was to write.
    pub write_bytes: u64,
    /// Bytes that were examined: the first bytes of the write (with several buffers, of the first
    /// buffer), at most [`PayloadEvent::MOST_BYTES`]. 0 when the process's memory could not be read.
    pub sampled_bytes: u32,
    /// Zero bytes among those.
    pub zero_bytes: u32,
    /// Size of those bytes after zstd at its lowest level, each sample on its own. At most `sampled_bytes`:
    /// data that does not become smaller is stored uncompressed.
    pub compressed_bytes: u32,
    /// A number for the content: in one run, equal bytes have equal numbers and different bytes have different
    /// numbers. It has no other meaning. `None` for no bytes.
    pub content: Option<u32>,
    /// Offset in the file of kept payload; `None` unless the bytes were to be kept.
    pub kept_offset: Option<u64>,
}

impl PayloadEvent {
    /// Largest number of bytes of a sample.
    pub const MOST_BYTES: u32 = 4096;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_has_one_name_everywhere() {
        for (number, kernel) in KernelClass::ALL.iter().enumerate() {
            assert_eq!(KernelClass::from_number(number as u32), Some(*kernel));
            let class = kernel.class();
            assert_eq!(serde_json::to_value(class).expect("a word"), class.name());
        }
        assert_eq!(KernelClass::from_number(KernelClass::ALL.len() as u32), None);
    }
}
