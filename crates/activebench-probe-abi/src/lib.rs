//! Layouts of the records and tables shared with the kernel programs.
//!
//! The C counterparts are in `activebench-ebpf/src/records.h`. A test compares size and offset of every field with
//! the BTF of the built object, so a change on one side alone fails. The conversion of records into the model's
//! events is here too ([`decode`]); reading them from the kernel is in `activebench-probe`.

pub mod decode;
mod groups;
mod inferred;
pub mod syscalls;

pub use groups::add_calls;

use std::mem::size_of;

/// Classes of records, each with its own counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum RecordClass {
    /// [`CallRecord`].
    Calls = 0,
    /// [`NameRecord`].
    Names = 1,
    /// [`TaskRecord`].
    Tasks = 2,
    /// [`BlockRecord`] of queued bios.
    BlockQueued = 3,
    /// [`BlockRecord`] of completed requests.
    BlockCompleted = 4,
    /// [`CacheRecord`].
    PageCache = 5,
    /// [`CpuRecord`].
    Cpu = 6,
    /// [`SampleRecord`].
    Samples = 7,
    /// [`PayloadRecord`].
    Payload = 8,
}

impl RecordClass {
    /// Every class, in the order of the kernel's counters.
    pub const ALL: [RecordClass; 9] = [
        RecordClass::Calls,
        RecordClass::Names,
        RecordClass::Tasks,
        RecordClass::BlockQueued,
        RecordClass::BlockCompleted,
        RecordClass::PageCache,
        RecordClass::Cpu,
        RecordClass::Samples,
        RecordClass::Payload,
    ];

    /// Returns the class of a message; `None` for a number that this version does not know.
    pub fn from_number(number: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|class| *class as u32 == number)
    }

    /// Returns its name in the run's account of records.
    pub fn name(self) -> &'static str {
        match self {
            RecordClass::Calls => "calls",
            RecordClass::Names => "names",
            RecordClass::Tasks => "tasks",
            RecordClass::BlockQueued => "block_queued",
            RecordClass::BlockCompleted => "block",
            RecordClass::PageCache => "page_cache",
            RecordClass::Cpu => "cpu",
            RecordClass::Samples => "samples",
            RecordClass::Payload => "payload",
        }
    }
}

/// Maximum number of kernel frames, and of user-mode frames, in a [`SampleRecord`].
pub const MOST_FRAMES: usize = 32;

/// Maximum bytes of a write in a [`PayloadRecord`].
pub const PAYLOAD_BYTES: usize = 4096;

/// Plain data that the kernel writes: any bytes are a valid value.
///
/// # Safety
/// Implement it only for `repr(C)` structs of integers and arrays of integers.
pub unsafe trait Record: Copy + 'static {
    /// Returns the first value in `bytes` and the rest; `None` when they are too short.
    fn split_from(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let rest = bytes.get(size_of::<Self>()..)?;
        // SAFETY: `get` above proved that `bytes` holds `size_of::<Self>()` bytes, the read
        // is unaligned, and the trait promises that every bit pattern is a value.
        let value = unsafe { bytes.as_ptr().cast::<Self>().read_unaligned() };
        Some((value, rest))
    }
}

macro_rules! shared {
    ($($(#[$doc:meta])* $name:ident / $c_name:literal { $($(#[$field_doc:meta])* $field:ident: $type:ty,)* })*) => {
        $(
            $(#[$doc])*
            #[repr(C)]
            #[derive(Clone, Copy, Debug)]
            pub struct $name { $($(#[$field_doc])* pub $field: $type,)* }

            // SAFETY: `repr(C)` and integers or arrays of integers only.
            unsafe impl Record for $name {}
        )*

        /// Name of the C struct, size, and each field's name and offset, of every layout.
        pub const LAYOUTS: &[Layout] = &[$(Layout {
            c_name: $c_name,
            size: size_of::<$name>(),
            fields: &[$((stringify!($field), std::mem::offset_of!($name, $field)),)*],
        },)*];
    };
}

/// A layout, to compare with the object's BTF.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// Name of the struct in C.
    pub c_name: &'static str,
    /// Bytes.
    pub size: usize,
    /// Name and byte offset of each field; Rust names equal C names.
    pub fields: &'static [(&'static str, usize)],
}

shared! {
    /// The first part of every message of the ring; `count` records of the class follow.
    BatchHeader / "batch_header" {
        /// A [`RecordClass`].
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
        /// Bytes requested.
        requested: u32,
        /// Result.
        returned: i32,
    }

    /// Fast calls in place of a [`CallRecord`]; see [`add_calls`].
    CallGroup / "call_group" {
        /// The highest bit is set, then the number of calls in 3 bits, then the end of the last call.
        count_and_end_ns: u64,
        /// Time from the end of one call to the end of the next, for all but the last call.
        step_ns: u16,
        /// Time in user mode before each call.
        user_ns: u16,
        /// Bytes that they read from storage.
        storage_read_bytes: u32,
        /// The first calls are set, as many as the count says.
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
        /// Time of the interrupt; later than `cpu.at_ns` where the totals are not known up to it.
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

    /// Kernel counters of one class on one CPU.
    RecordCounters / "record_counters" {
        /// Records made.
        made: u64,
        /// Records for which the ring had no room.
        lost: u64,
        /// Of those made: inferred from later events, not seen.
        inferred: u64,
        /// Of those made: calls whose entry was not timed.
        estimated: u64,
        /// Entries and exits of calls whose thread was found on the slow path.
        looked_up: u64,
    }

    /// The meaning of a system call number. Arguments count from 1; 0 means that there is none.
    CallDescription / "call_description" {
        /// Code of `activebench_model::call::Op`; 0 for a call that is not recorded.
        op: u8,
        /// Descriptor.
        fd_argument: u8,
        /// Length.
        length_argument: u8,
        /// Offset.
        offset_argument: u8,
        /// Path.
        name_argument: u8,
        /// Address of the iovecs.
        vector_argument: u8,
        /// `CALL_*` bits.
        flags: u8,
        /// Op code for the file to which data goes, in calls between two files; otherwise 0.
        second_op: u8,
        /// Descriptor of that file.
        second_fd_argument: u8,
        /// Address of the offset in that file.
        second_offset_argument: u8,
        /// Flags of this call itself: `RWF_*`.
        asked_argument: u8,
        /// Zero.
        padding: u8,
    }

    /// A CPU's block records that have not left yet.
    BlockBatch / "block_batch" {
        /// Class and count.
        header: BatchHeader,
        /// The first `count` are set.
        records: [BlockRecord; 32],
    }

    /// A CPU's page-cache records that have not left yet.
    CacheBatch / "cache_batch" {
        /// Class and count.
        header: BatchHeader,
        /// The first `count` are set.
        records: [CacheRecord; 64],
    }

    /// A call whose record is made later or separately: asynchronous I/O in flight, the second file of a call between
    /// two.
    AsyncCall / "async_call" {
        /// Submission.
        start_ns: u64,
        /// Inode.
        ino: u64,
        /// Offset.
        offset: i64,
        /// Bytes.
        requested: u64,
        /// Device of the inode.
        s_dev: u32,
        /// Flags of the file.
        open_flags: u32,
        /// Thread that submitted it.
        tid: u32,
        /// Its process.
        tgid: u32,
        /// Descriptor.
        fd: i32,
        /// Code of `activebench_model::call::Op`.
        op: u16,
        /// Kind of the file.
        file_kind: u8,
        /// Zero.
        padding: u8,
    }

    /// Key of a request of libaio.
    AioKey / "aio_key" {
        /// Its address in the process.
        iocb: u64,
        /// The process.
        tgid: u32,
        /// Zero.
        padding: u32,
    }

    /// A bio in flight, as the kernel side stores it.
    BioOwner / "bio_owner" {
        /// Time of queueing.
        queued_ns: u64,
        /// First sector.
        sector: u64,
        /// Inode whose data it carries; 0 when unknown.
        ino: u64,
        /// Device of that inode's super block.
        s_dev: u32,
        /// Disk.
        device: u32,
        /// Bytes that are not complete yet.
        left: u32,
        /// Process that queued it.
        tgid: u32,
        /// Name of that process.
        comm: [u8; 16],
        /// `enum req_op`.
        operation: u16,
        /// `ORIGIN_*`.
        origin: u8,
        /// `BLOCK_OWNED` and `BLOCK_OWNER_IS_DEVICE`.
        owned: u8,
        /// Zero.
        padding: u32,
    }

    /// A request at the device, as the kernel side stores it.
    IssuedRequest / "issued_request" {
        /// Time of issue.
        at_ns: u64,
        /// Disk.
        device: u32,
        /// `enum req_op`.
        operation: u32,
    }

    /// The task storage of a task in the tree.
    Membership / "membership" {
        /// Index of its state among the threads.
        thread: u32,
    }

    /// State of a task, as the kernel side stores it; user space writes that of the first task.
    TaskState / "task_state" {
        /// 1 while a task uses this entry.
        used: u32,
        /// Index of this entry.
        thread: u32,
        /// Address of the task's registers while it is in a call; 0 before its first call.
        registers: u64,
        /// Kernel tick when the time was last read at the end of a call; 0 when a sample was taken since.
        exit_jiffies: u64,
        /// Count of descriptor changes at the last file lookup.
        known_generation: u64,
        /// Pages that the call in flight added to the page cache.
        cached_pages: u32,
        /// Descriptor of the call in flight.
        fd: i32,
        /// Op code of the call in flight.
        op: u16,
        /// `CALL_*` bits.
        call_flags: u8,
        /// Inside any call 1, or 2 when its entry was not timed; otherwise 0.
        in_kernel: u8,
        /// As in [`CallRecord`].
        stands_for: u8,
        /// 1 when the arguments of the call in flight will be read at its exit.
        arguments_later: u8,
        /// 1 when the last call was plain and fast.
        fast: u8,
        /// 1 when the next call can join a group.
        groupable: u8,
        /// Number of entries that are not timed before the next sample.
        untimed_left: u16,
        /// Number of calls in the group that is being filled.
        grouped: u8,
        /// Index of the record whose place the group takes.
        group_place: u8,
        /// Calls of finished groups that wait, minus one for each group.
        in_groups: u32,
        /// Time of the last change of mode.
        last_ns: u64,
        /// On-CPU time in user mode.
        user_ns: u64,
        /// On-CPU time in the kernel.
        kernel_ns: u64,
        /// `user_ns` at the last record.
        user_at_record_ns: u64,
        /// Time of entry of the call in flight.
        start_ns: u64,
        /// `kernel_ns` at that time.
        kernel_at_start_ns: u64,
        /// The task's read bytes at that time.
        read_bytes_at_start: u64,
        /// Inode of the file of the call in flight.
        ino: u64,
        /// Offset of the call in flight.
        offset: i64,
        /// Length of the call in flight.
        requested: u64,
        /// Device of that file.
        s_dev: u32,
        /// Flags of that file.
        open_flags: u32,
        /// Kind of that file.
        file_kind: u8,
        /// 0 on CPU, 1 blocked, 2 in I/O wait, 3 preempted.
        off_cpu: u8,
        /// Kind of the file of the asynchronous requests being submitted; 0 when there are no requests or several
        /// files.
        submitted_kind: u8,
        /// 1 if the call states the offset of its data.
        positioned: u8,
        /// Zero.
        padding: [u8; 4],
        /// The last file that was looked up.
        known_file: u64,
        /// Its inode.
        known_ino: u64,
        /// Its device.
        known_s_dev: u32,
        /// Its flags.
        known_open_flags: u32,
        /// Its descriptor.
        known_fd: i32,
        /// Its kind.
        known_kind: u32,
        /// End of the last call in the table.
        exit_ns: u64,
        /// Running mean of the thread's time between fast calls.
        between_ns: u32,
        /// Running mean of the time from the end of a fast call to the end of the next.
        step_ns: u32,
        /// State of the random numbers that set the distance between samples.
        random: u32,
        /// Zero.
        more_padding: u32,
        /// Path argument.
        name_pointer: u64,
        /// List of iocbs or of events.
        list_pointer: u64,
        /// The other file of a call between two files; its op is 0 when the file is not of interest.
        second: AsyncCall,
        /// Inode of the file of the asynchronous requests being submitted.
        submitted_ino: u64,
        /// The last file of an io_uring request.
        ring_file: u64,
        /// Its inode.
        ring_ino: u64,
        /// Count of descriptor changes at its lookup.
        ring_generation: u64,
        /// Its device.
        ring_s_dev: u32,
        /// Its flags.
        ring_open_flags: u32,
        /// Its kind.
        ring_kind: u32,
        /// Device of the file of the requests being submitted.
        submitted_s_dev: u32,
        /// Waiting records whose entry was not timed.
        estimated: u32,
        /// Zero.
        last_padding: u32,
        /// Off CPU, not runnable.
        blocked_ns: u64,
        /// The part of `blocked_ns` in I/O wait.
        iowait_ns: u64,
        /// Off CPU, runnable.
        preempted_ns: u64,
        /// Time when the totals were last sent.
        cpu_sent_ns: u64,
        /// The io_uring request being submitted.
        submitted_request: u64,
        /// Header of the waiting records.
        batch: BatchHeader,
        /// Waiting records.
        records: [CallRecord; 16],
        /// Zero.
        margin: [u8; 64],
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

impl TaskState {
    /// Returns the state of the first task, at index 0 of the threads: blocked in a call that was entered before we
    /// attached.
    pub fn seed(now_ns: u64) -> Self {
        // SAFETY: all zeroes is a value of every `Record`.
        let mut state: Self = unsafe { std::mem::zeroed() };
        state.used = 1;
        state.last_ns = now_ns;
        state.in_kernel = 1;
        state.off_cpu = 1;
        state.known_fd = -1;
        state
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
