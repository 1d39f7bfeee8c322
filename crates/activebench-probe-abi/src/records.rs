//! Layouts of the records that leave the kernel, and of the one that user space makes of a sample.

use activebench_model::event::KernelClass;

use crate::layout::{Record, shared};

/// Maximum number of kernel frames, and of user-mode frames, in a [`SampleRecord`].
pub const MOST_FRAMES: usize = 32;

/// Maximum bytes of a write in a [`PayloadRecord`].
pub const PAYLOAD_BYTES: usize = 4096;

shared! {
    /// The first part of every message of the ring; `count` records of the class follow.
    BatchHeader / "batch_header" {
        /// A [`KernelClass`].
        record_class: u32,
        /// Records in the message.
        count: u32,
    }

    /// One system call.
    CallRecord / "call_record" {
        /// Entry.
        start_ns: u64,
        /// Exit.
        end_ns: u64,
        /// Inode; 0 for a block device.
        ino: u64,
        /// Offset of the data, or the op's own meaning.
        offset: i64,
        /// Bytes requested.
        requested: u64,
        /// Result.
        returned: i64,
        /// On-CPU time inside the call.
        cpu_ns: u64,
        /// On-CPU time in user mode since the thread's previous record.
        user_before_ns: u64,
        /// Super block's device; the device itself for a block device.
        s_dev: u32,
        /// Thread.
        tid: u32,
        /// Process.
        tgid: u32,
        /// `f_flags` as the architecture numbers them.
        open_flags: u32,
        /// Bytes that the call read from storage.
        storage_read_bytes: u32,
        /// Pages that the call added to its file's page cache.
        cached_pages: u32,
        /// Descriptor argument, or -1.
        fd: i32,
        /// Code of `activebench_model::call::Op`.
        op: u16,
        /// 0 other, 1 regular file, 2 block device.
        file_kind: u8,
        /// Number of calls whose latency this call's latency represents; 0: its times are estimates.
        stands_for: u8,
    }

    /// A call whose end was not timed.
    GroupedCall / "grouped_call" {
        /// Offset of the data, times 256, plus the code of `activebench_model::call::Op`.
        offset_and_op: u64,
        /// Bytes requested; of a request of libaio also the result.
        requested: u32,
        /// Result; of a request of libaio its submission: the time before the group, or -1 for the first pair of the
        /// group, -2 for the second ...
        returned: i32,
    }

    /// Fast calls in place of a [`CallRecord`]; see [`add_calls`](crate::add_calls).
    CallGroup / "call_group" {
        /// The highest bit is set, then the number of calls in 4 bits, then 1 for a narrow group, then the end of the
        /// last call.
        count_and_end_ns: u64,
        /// Time from the end of one call to the end of the next, for all but the last call.
        step_ns: u16,
        /// Time in user mode before each call.
        user_ns: u16,
        /// Bytes that they read from storage.
        storage_read_bytes: u32,
        /// The first calls are set, as many as the count says. A narrow group has `offset_and_op` alone, of up to 10.
        calls: [GroupedCall; 5],
    }

    /// A call with a name argument; a separate message.
    NameRecord / "name_record" {
        /// Count 1.
        header: BatchHeader,
        /// Exit of the call.
        at_ns: u64,
        /// Inode of an opened file.
        ino: u64,
        /// Result.
        returned: i64,
        /// Device of an opened file.
        s_dev: u32,
        /// Thread.
        tid: u32,
        /// Process.
        tgid: u32,
        /// Code of `activebench_model::call::Op`.
        op: u16,
        /// 0 other (or not opened), 1 regular file, 2 block device.
        file_kind: u16,
        /// Ends with a zero byte.
        name: [u8; 256],
    }

    /// Creation, execution or end of a task; a separate message.
    TaskRecord / "task_record" {
        /// Count 1.
        header: BatchHeader,
        /// Time of the event.
        at_ns: u64,
        /// See the model's `TaskEvent`.
        user_ns: u64,
        /// On-CPU time in the kernel.
        kernel_ns: u64,
        /// Off CPU, not runnable.
        blocked_ns: u64,
        /// The part of `blocked_ns` in I/O wait.
        iowait_ns: u64,
        /// Off CPU, runnable.
        preempted_ns: u64,
        /// 1 born, 2 executed, 3 exited.
        kind: u32,
        /// Thread.
        tid: u32,
        /// Process.
        tgid: u32,
        /// Process that created it.
        parent_tgid: u32,
        /// Wait status.
        exit_code: i32,
        /// Zero.
        padding: u32,
        /// Ends with a zero byte.
        comm: [u8; 16],
        /// Ends with a zero byte.
        filename: [u8; 256],
    }

    /// A queued bio or a completed request (or the part of a request that has one owner).
    BlockRecord / "block_record" {
        /// Time of the event.
        at_ns: u64,
        /// First sector, 512 bytes each.
        sector: u64,
        /// Time from issue to completion; 0 when not seen.
        latency_ns: u64,
        /// Owner's inode.
        ino: u64,
        /// Owner's device.
        s_dev: u32,
        /// Disk, kernel encoding.
        device: u32,
        /// Data bytes.
        bytes: u32,
        /// Submitter, 0 when unknown.
        tgid: u32,
        /// Submitter's name.
        comm: [u8; 16],
        /// `REQ_OP_*`.
        operation: u16,
        /// `BLOCK_*` bits.
        flags: u8,
        /// `ORIGIN_*`.
        origin: u8,
        /// `blk_status_t`.
        status: u8,
        /// Zero.
        padding: [u8; 3],
    }

    /// A folio that entered the page cache.
    CacheRecord / "cache_record" {
        /// Time of the insertion.
        at_ns: u64,
        /// Inode.
        ino: u64,
        /// First page in the file.
        index: u64,
        /// Device.
        s_dev: u32,
        /// Pages of the folio.
        pages: u32,
        /// Process in whose context the folio was added.
        tgid: u32,
        /// 1 when that process is in the tree.
        in_tree: u32,
    }

    /// A thread's running totals at one moment.
    CpuRecord / "cpu_record" {
        /// Time of the record.
        at_ns: u64,
        /// From this time on all time went to `state`.
        since_ns: u64,
        /// On-CPU time in user mode since the thread was first followed.
        user_ns: u64,
        /// On-CPU time in the kernel.
        kernel_ns: u64,
        /// Off CPU, not runnable.
        blocked_ns: u64,
        /// The part of `blocked_ns` in I/O wait.
        iowait_ns: u64,
        /// Off CPU, runnable.
        preempted_ns: u64,
        /// Thread.
        tid: u32,
        /// Process.
        tgid: u32,
        /// 0 user mode, 1 kernel, 2 blocked, 3 in I/O wait, 4 preempted.
        state: u32,
        /// Zero.
        padding: u32,
    }

    /// One interrupt of the sampling clock; a separate message.
    SampleRecord / "sample_record" {
        /// Count 1.
        header: BatchHeader,
        /// Time of the interrupt; later than `cpu.at_ns` if the totals do not extend to it.
        at_ns: u64,
        /// The thread's totals.
        cpu: CpuRecord,
        /// Frames in `kernel_frames`.
        kernel_count: u32,
        /// Frames in `user_frames`.
        user_count: u32,
        /// 1 when the thread was in user mode, 0 in the kernel.
        user_mode: u32,
        /// Zero.
        padding: u32,
        /// Addresses, the innermost first; the rest is meaningless.
        kernel_frames: [u64; MOST_FRAMES],
        /// Addresses, the innermost first; the rest is meaningless.
        user_frames: [u64; MOST_FRAMES],
    }

    /// The start of the data that a call writes; a separate message, in a separate ring.
    PayloadRecord / "payload_record" {
        /// Count 1.
        header: BatchHeader,
        /// Start of the call, or submission.
        at_ns: u64,
        /// Inode; 0 for a block device.
        ino: u64,
        /// Bytes that the call was asked to write.
        requested: u64,
        /// Super block's device; the device itself for a block device. 0, like `ino`, for a file that is registered
        /// with an io_uring: its descriptor identifies it.
        s_dev: u32,
        /// Thread.
        tid: u32,
        /// Process.
        tgid: u32,
        /// Descriptor, as in the call's record.
        fd: i32,
        /// Code of `activebench_model::call::Op`.
        op: u16,
        /// Zero.
        padding: u16,
        /// Bytes in `data`; 0 when the process's memory could not be read.
        bytes: u32,
        /// The rest is meaningless.
        data: [u8; PAYLOAD_BYTES],
    }

    /// A piece of what a process wrote to its standard output or standard error. Its bytes follow.
    OutputRecord / "output_record" {
        /// Count 1.
        header: BatchHeader,
        /// End of the call.
        at_ns: u64,
        /// Bytes that the call wrote, in its first piece; 0 in the others.
        written: u64,
        /// Thread.
        tid: u32,
        /// Process.
        tgid: u32,
        /// Descriptor: 1 or 2.
        fd: i32,
        /// Bytes that follow; 0 when they could not be read or are past the bound.
        bytes: u32,
    }

    /// What threads beside the tree did on one CPU between two moments.
    ServingRecord / "serving_record" {
        /// First moment.
        since_ns: u64,
        /// Last moment.
        until_ns: u64,
        /// CPU time.
        cpu_ns: u64,
        /// See the model's `ServingEvent`.
        read_calls: u32,
        /// Calls that write data.
        write_calls: u32,
        /// Calls that sync.
        sync_calls: u32,
        /// Other calls.
        other_calls: u32,
        /// Process of a daemon; 0 for the kernel.
        tgid: u32,
        /// Zero.
        padding: u32,
        /// Ends with a zero byte.
        name: [u8; 24],
    }

    /// An answered request of a FUSE file system.
    FuseRecord / "fuse_record" {
        /// Answer.
        at_ns: u64,
        /// When it was handed to the daemon; 0 when not seen.
        sent_ns: u64,
        /// The file system.
        s_dev: u32,
        /// `enum fuse_opcode`.
        opcode: u32,
        /// Process that sent it; 0 when not seen.
        tgid: u32,
        /// Process in whose context it was answered.
        daemon: u32,
        /// Bytes of the request.
        in_bytes: u32,
        /// Bytes of the answer.
        out_bytes: u32,
        /// 0, or a negative error.
        error: i32,
        /// `FUSE_*` bits.
        flags: u32,
    }
}

/// A sample as it is kept: its stack by number.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct StoredSample {
    /// Time of the interrupt.
    pub at_ns: u64,
    /// The thread's totals.
    pub cpu: CpuRecord,
    /// [`StoredSample::NO_STACK`] if there was no space for it.
    pub stack: u32,
    /// 1 when the thread was in user mode, 0 in the kernel.
    pub user_mode: u32,
}

impl StoredSample {
    /// The number of a stack for which there was no space.
    pub const NO_STACK: u32 = u32::MAX;
}

// SAFETY: `repr(C)` and integers only.
unsafe impl Record for StoredSample {}

impl BatchHeader {
    /// Returns the class of the message's records; `None` for one that this version does not know.
    pub fn class(&self) -> Option<KernelClass> {
        KernelClass::from_number(self.record_class)
    }
}

impl SampleRecord {
    /// Returns the frames of the kernel, the innermost first.
    pub fn kernel_stack(&self) -> &[u64] {
        &self.kernel_frames[..(self.kernel_count as usize).min(MOST_FRAMES)]
    }

    /// Returns the frames of user mode, the innermost first.
    pub fn user_stack(&self) -> &[u64] {
        &self.user_frames[..(self.user_count as usize).min(MOST_FRAMES)]
    }
}

impl PayloadRecord {
    /// Returns the start of the written data; empty when the process's memory could not be read.
    pub fn sample(&self) -> &[u8] {
        &self.data[..(self.bytes as usize).min(PAYLOAD_BYTES)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_never_has_more_frames_than_fit() {
        // SAFETY: all zeroes is a value of every `Record`.
        let mut record: SampleRecord = unsafe { std::mem::zeroed() };
        (record.kernel_count, record.user_count) = (2, u32::MAX);
        assert_eq!((record.kernel_stack().len(), record.user_stack().len()), (2, MOST_FRAMES));
    }

    #[test]
    fn records_are_not_read_past_the_end() {
        let bytes = [0u8; size_of::<CacheRecord>() - 1];
        assert!(CacheRecord::split_from(&bytes).is_none());
    }
}
