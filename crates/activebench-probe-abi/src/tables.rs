//! Layouts of the tables that kernel and user space share: counters, batches, I/O in flight, tasks.

use crate::layout::{Record, bytes_of_all, shared};
use crate::records::{
    BatchHeader, BlockRecord, CacheRecord, CallGroup, CallRecord, CpuRecord, FuseRecord, GroupedCall,
};

/// Number of the count of library calls that found no room.
pub const LIBRARY_LOST: u32 = u32::MAX;

/// Names of the blind paths that the kernel side counts, in the order of `enum undecoded_path`.
pub const UNDECODED_PATHS: [&str; 7] = [
    "libaio requests in lists too long or unreadable",
    "vectored calls with unreadable iovecs",
    "32-bit calls that are not decoded",
    "x32 calls",
    "io_uring requests without a file",
    "io_uring requests without a completion entry",
    "programs with more rights than their user has, which are not watched",
];

shared! {
    /// Kernel counters of one class on one CPU.
    RecordCounters / "record_counters" {
        /// Records made.
        made: u64,
        /// Records lost because the ring was full.
        lost: u64,
        /// Of those made: inferred from later events, not seen.
        inferred: u64,
        /// Of those made: calls whose entry was not timed.
        estimated: u64,
        /// Entries and exits of calls whose thread was found on the slow path.
        looked_up: u64,
    }

    /// The meaning of a system call number. Arguments count from 1; 0 means no argument.
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
        /// Upper half of the offset, in 32-bit calls.
        offset_high_argument: u8,
        /// Upper half of the length, in 32-bit calls.
        length_high_argument: u8,
        /// Size of an offset that is passed by address: 4, or 0 for 8 bytes.
        pointed_bytes: u8,
        /// 1 for a call that may move data and is only counted, as a blind path.
        undecoded: u8,
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

    /// A CPU's records of FUSE requests that have not left yet.
    FuseBatch / "fuse_batch" {
        /// Class and count.
        header: BatchHeader,
        /// The first `count` are set.
        records: [FuseRecord; 32],
    }

    /// Key of an amount of CPU time beside the tree.
    ServingKey / "serving_key" {
        /// Of a thread of the kernel, or of its work.
        name: [u8; 24],
        /// Of a daemon.
        tgid: u32,
        /// Zero.
        padding: u32,
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
        /// As in [`CallRecord`].
        stands_for: u8,
    }

    /// Place of a request in flight.
    AsyncSlot / "async_slot" {
        /// Address of the request, in the kernel or in the process; 0 for a free place.
        address: u64,
        /// The request; its process is 0 until the place is filled in.
        call: AsyncCall,
    }

    /// Key of a request whose place is taken.
    AsyncKey / "async_key" {
        /// Its address.
        address: u64,
        /// The process; 0 for a request of io_uring.
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

    /// Whose calls of a library function are counted together.
    LibraryKey / "library_key" {
        /// The process.
        tgid: u32,
        /// The thread.
        tid: u32,
        /// Number of the function, or [`LIBRARY_LOST`].
        function: u32,
        /// The time, in units of 268 ms.
        slice: u32,
        /// Changes of descriptors in the tree before.
        generation: u64,
    }

    /// The calls of one thread to one library function in a span of time.
    LibraryCount / "library_count" {
        /// Number of calls.
        calls: u64,
        /// Bytes that they asked for, where an argument says that.
        asked_bytes: u64,
        /// The first one.
        first_ns: u64,
        /// The last one.
        last_ns: u64,
    }

    /// State of a task, as the kernel side stores it; user space writes that of the first task.
    TaskState / "task_state" {
        /// 1 while a task uses this entry.
        used: u32,
        /// Index of this entry.
        thread: u16,
        /// 1 when the group that is being filled is narrow.
        is_narrow: u8,
        /// Number of the next groups that are wide.
        wide_left: u8,
        /// Kernel stack of the task, as a distance from the table of callers; 0 until the task was seen on it.
        stack: u64,
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
        /// Bytes that each call of a narrow group moves; 0 when it cannot be narrow.
        narrow_bytes: u32,
        /// Time of the last change of mode.
        last_ns: u64,
        /// The io_uring request that the call in flight submitted last, while it is in flight; otherwise 0.
        ring_request: u64,
        /// The request of an untimed `io_uring_enter`, which completed in it.
        pair: GroupedCall,
        /// The last file of an io_uring request.
        ring_file: u64,
        /// Count of descriptor changes at its lookup.
        ring_generation: u64,
        /// Running mean of the thread's time between fast calls.
        between_ns: u32,
        /// Running mean of the time from the end of a fast call to the end of the next.
        step_ns: u32,
        /// Descriptor of the last request among the waiting records.
        request_fd: i32,
        /// Flags that it asked for itself.
        request_asked: u8,
        /// 1 when the waiting records have a request of `ring_file`.
        request_known: u8,
        /// 1 when `pair` is set.
        paired: u8,
        /// 1 when the call in flight submitted one request that completed in it.
        ring_inline: u8,
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
        /// Kind of the file of the libaio requests being submitted; 0 without requests or with several files.
        submitted_kind: u8,
        /// 1 if the call states the offset of its data.
        positioned: u8,
        /// 1 for a 32-bit call.
        narrow: u8,
        /// Number of the blind path of the call in flight, plus 1; 0 if the call is decoded.
        undecoded: u8,
        /// 1 if the iovecs of the call in flight could not be read at its entry.
        vectors_unread: u8,
        /// Where the kernel side takes no more of what its process prints, as bits: 1 in files, 2 elsewhere.
        output_ended: u8,
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
        /// State of the random numbers that set the distance between samples.
        random: u32,
        /// Stored requests of the `io_submit` in flight.
        read_iocbs: u32,
        /// Path argument.
        name_pointer: u64,
        /// List of iocbs or of events.
        list_pointer: u64,
        /// The other file of a call between two files; its op is 0 when the file is not of interest.
        second: AsyncCall,
        /// Inode of the file of the asynchronous requests being submitted.
        submitted_ino: u64,
        /// Inode of `ring_file`.
        ring_ino: u64,
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
        /// Remaining steps of the `io_submit` in flight.
        steps_left: u32,
        /// Time of the completion before, if nothing came between; otherwise 0.
        ring_batch_ns: u64,
        /// Off CPU, not runnable.
        blocked_ns: u64,
        /// The part of `blocked_ns` in I/O wait.
        iowait_ns: u64,
        /// Off CPU, runnable.
        preempted_ns: u64,
        /// Time when the totals were last sent.
        cpu_sent_ns: u64,
        /// Context of the last `io_submit` of one request.
        aio_context: u64,
        /// End of the last pair of `io_submit` and `io_getevents` on that context.
        aio_pair_ns: u64,
        /// Running mean of the time between the two calls.
        aio_gap_ns: u32,
        /// Running mean of the duration of the second.
        aio_events_ns: u32,
        /// 1 after a fast pair, 2 after a timed `io_submit`, 3 after an untimed one that has no record yet.
        aio_stage: u8,
        /// Zero.
        padding_of_lines: u8,
        /// Index of the last record of a pair among the waiting records, plus 1; 0 without one.
        aio_model: u8,
        /// 1 when `step_ns` is that of pairs.
        aio_steps: u8,
        /// Calls of finished groups that wait, minus one for each group.
        in_groups: u32,
        /// Header of the waiting records.
        batch: BatchHeader,
        /// Waiting records.
        records: [CallRecord; 16],
        /// Zero.
        margin: [u8; 64],
    }
}

impl TaskState {
    /// Number of calls in the group that is being filled.
    pub fn unfinished_calls(&self) -> u64 {
        let open = bytes_of_all(&self.records).get(self.batch.count as usize * size_of::<CallRecord>()..);
        let group = open.and_then(CallGroup::split_from);
        group.map_or(0, |(group, _)| group.calls_of(u64::from(self.grouped)))
    }

    /// Returns the totals at a time after the last change of mode. All time since then went to the mode that the state
    /// has: a thread on a CPU may have changed it in fast calls that go untimed, for microseconds.
    pub fn totals(&self, now_ns: u64, tid: u32, tgid: u32) -> CpuRecord {
        /// `IN_USER` to `IN_STOP` of records.h, and the total that grows.
        const STATES: [u32; 5] = [0, 2, 3, 4, 5];
        let passed = now_ns.saturating_sub(self.last_ns);
        let state = match self.off_cpu {
            0 => u32::from(self.in_kernel != 0),
            off_cpu => STATES.get(usize::from(off_cpu)).copied().unwrap_or(2),
        };
        let grown = |states: &[u32]| if states.contains(&state) { passed } else { 0 };
        CpuRecord {
            at_ns: now_ns.max(self.last_ns),
            since_ns: self.last_ns,
            user_ns: self.user_ns + grown(&[0]),
            kernel_ns: self.kernel_ns + grown(&[1]),
            blocked_ns: self.blocked_ns + grown(&[2, 3, 5]),
            iowait_ns: self.iowait_ns + grown(&[3]),
            preempted_ns: self.preempted_ns + grown(&[4]),
            tid,
            tgid,
            state,
            padding: 0,
        }
    }

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
    fn the_totals_of_a_living_thread_add_up_to_its_age() {
        for (off_cpu, in_kernel, state) in [(0, 0, 0), (0, 1, 1), (0, 2, 1), (1, 1, 2), (2, 1, 3), (3, 0, 4), (4, 1, 5)]
        {
            let seed = TaskState::seed(1000);
            let thread =
                TaskState { off_cpu, in_kernel, user_ns: 30, blocked_ns: 20, iowait_ns: 10, last_ns: 1050, ..seed };
            let totals = thread.totals(1100, 7, 6);
            assert_eq!((totals.state, totals.tid, totals.tgid, totals.since_ns), (state, 7, 6, 1050));
            let sum = totals.user_ns + totals.kernel_ns + totals.blocked_ns + totals.preempted_ns;
            assert_eq!(sum, 100, "{off_cpu} {in_kernel}");
            assert_eq!(totals.iowait_ns, if state == 3 { 60 } else { 10 });
        }
    }
}
