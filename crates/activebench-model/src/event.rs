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
