//! The other observed events: names, tasks, block requests, page-cache insertions.
//!
//! Times are `CLOCK_MONOTONIC` nanoseconds throughout.

use serde::{Deserialize, Serialize};

use crate::call::{DeviceNumber, FileId, Op};

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
    /// What it returned.
    pub returned: i64,
    /// The file that an open gave; `None` for the others and for failed opens.
    pub file: Option<FileId>,
    /// The name as the tool wrote it, cut at 255 bytes.
    pub name: String,
}

/// Something that happened to a task of the tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskEvent {
    /// When.
    pub at_ns: u64,
    /// What.
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
    /// For `Exited`: on-CPU time in user mode since it was followed.
    pub user_ns: u64,
    /// For `Exited`: on-CPU time in the kernel.
    pub kernel_ns: u64,
    /// For `Exited`: time off CPU and not runnable, I/O wait included.
    pub blocked_ns: u64,
    /// For `Exited`: the part of it in I/O wait.
    pub iowait_ns: u64,
    /// For `Exited`: time off CPU though runnable.
    pub preempted_ns: u64,
}

/// What happened to a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TaskEventKind {
    /// It was made by a task of the tree.
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
    /// What.
    pub kind: BlockEventKind,
    /// The whole disk's number.
    pub device: DeviceNumber,
    /// First sector (512 bytes), relative to the whole disk.
    pub sector: u64,
    /// Data bytes of this event; 0 for FLUSH. A request whose bios belong to several files
    /// gives one event a file.
    pub bytes: u64,
    /// What the request does.
    pub action: BlockAction,
    /// `REQ_PREFLUSH` was set: the intent to flush before.
    pub preflush: bool,
    /// `REQ_FUA` was set.
    pub fua: bool,
    /// For `Completed`: from issue to completion; 0 when the issue was not seen. On the
    /// second and later events of one request 0 too.
    pub latency_ns: u64,
    /// First event of its request (requests are counted by these).
    pub first_of_request: bool,
    /// The file whose data it carries; `None` for metadata, journal, and data of unknown owner.
    pub file: Option<FileId>,
    /// The process that submitted it where that is known, otherwise 0 (writeback runs in
    /// kernel workers, whose own tgid is given).
    pub tgid: u32,
    /// Its name; empty when not known.
    pub comm: String,
    /// Whether the submitter is of the tree, ourselves, the kernel or foreign.
    pub origin: Origin,
    /// 0, or the block layer's status of a failed request.
    pub status: u8,
}

/// Which event of the block layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BlockEventKind {
    /// A bio was queued (on stacked devices once for each layer).
    Queued,
    /// A request, or a part of one, was completed by the device.
    Completed,
    /// A completion that no hook saw (it runs in an interrupt, which some machines hide from
    /// tracers): the same memory was used for the next one, or nothing was in flight at the
    /// end. `at_ns` is the earliest time that it can have, `latency_ns` is 0.
    Inferred,
}

/// What a request does.
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
    /// Not known (completions carry no submitter unless the data pages were anonymous).
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
    /// Whether that process is of the tree.
    pub in_tree: bool,
}

/// Where a thread's time went since it is followed. The sum of user, kernel, blocked and
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

/// What a thread is doing.
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
}

/// A thread's running totals at one moment: when it came back to a CPU, and with every sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuEvent {
    /// When.
    pub at_ns: u64,
    /// From then on all time went to `state`.
    pub since_ns: u64,
    /// What the thread did from `since_ns` to `at_ns`.
    pub state: ThreadState,
    /// The thread.
    pub tid: u32,
    /// Its process.
    pub tgid: u32,
    /// The totals at `at_ns`.
    pub times: ThreadTimes,
}

/// What a thread was doing when the sampling clock of its CPU ticked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SampleEvent {
    /// When.
    pub at_ns: u64,
    /// Whether it was in user mode; otherwise in the kernel.
    pub in_user_mode: bool,
    /// Its stack's place in the run's stacks; `None` when there was no room for another stack.
    pub stack: Option<u32>,
    /// The thread with its totals.
    pub cpu: CpuEvent,
}

/// Time that the hypervisor gave to others while a virtual processor had something to run,
/// since the machine's start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StealEvent {
    /// When it was read.
    pub at_ns: u64,
    /// The processor.
    pub cpu: u32,
    /// Its steal time; the kernel counts it in ticks of mostly 10 ms.
    pub steal_ns: u64,
}

/// What a sampled write began with, in figures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PayloadEvent {
    /// Start of the call, or submission.
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
    /// name it by the descriptor alone.
    pub file: Option<FileId>,
    /// Bytes that the call was to write.
    pub write_bytes: u64,
    /// Bytes that were looked at: the first of the write (with several buffers, of the first
    /// one), at most [`PayloadEvent::MOST_BYTES`]. 0 when the process's memory could not be read.
    pub sampled_bytes: u32,
    /// Of those, zeros.
    pub zero_bytes: u32,
    /// What is left of them after zstd at its lowest level, each sample on its own; at most
    /// `sampled_bytes`: what does not become smaller would be stored as it is.
    pub compressed_bytes: u32,
    /// A number for what they are: in one run equal bytes have equal numbers, and others have
    /// others. Says nothing else. `None` for no bytes.
    pub content: Option<u32>,
    /// Where they begin in the file of kept payload; `None` unless they were to be kept.
    pub kept_offset: Option<u64>,
}

impl PayloadEvent {
    /// Most bytes of a sample.
    pub const MOST_BYTES: u32 = 4096;
}
