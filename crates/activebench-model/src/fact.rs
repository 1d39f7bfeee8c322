//! Observed figures of a phase, from the probes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::call::FileId;
use crate::direction::Direction;
use crate::units::{Quantity, Unit};

/// How much of a figure was observed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "state", content = "why")]
pub enum Completeness {
    /// All of it.
    Complete,
    /// A part of it, with what was lost.
    Partial(String),
    /// Nothing of it, with the reason.
    Missing(String),
}

/// The scope of what a figure counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// The process tree of the tool.
    Tree,
    /// The files of the phase, whoever touched them.
    File,
    /// The block device below the files.
    Device,
    /// The whole host.
    Host,
}

/// One observed figure of a phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fact {
    /// The figure; `None` exactly when `completeness` is `Missing`.
    pub value: Option<Quantity>,
    /// Scope of what it counts.
    pub scope: Scope,
    /// How much of it was observed.
    pub completeness: Completeness,
    /// The probe or file it comes from.
    pub source: String,
}

impl Fact {
    /// Creates a figure that was completely observed.
    pub fn complete(value: Quantity, scope: Scope, source: &str) -> Self {
        Self { value: Some(value), scope, completeness: Completeness::Complete, source: source.to_owned() }
    }

    /// Creates a figure that could not be observed.
    pub fn missing(why: impl Into<String>, scope: Scope, source: &str) -> Self {
        Self { value: None, scope, completeness: Completeness::Missing(why.into()), source: source.to_owned() }
    }

    /// Marks the figure as partial. A missing figure stays missing.
    pub fn partial(mut self, lost: impl Into<String>) -> Self {
        if self.completeness == Completeness::Complete {
            self.completeness = Completeness::Partial(lost.into());
        }
        self
    }
}

macro_rules! fact_names {
    ($($(#[$doc:meta])* $variant:ident = $name:literal, $unit:ident;)*) => {
        /// The facts of a phase. Serialised names include the unit.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum FactName { $($(#[$doc])* #[serde(rename = $name)] $variant,)* }

        impl FactName {
            /// Every fact.
            pub const ALL: &'static [FactName] = &[$(FactName::$variant,)*];
            /// Returns the name as serialised.
            pub fn as_str(self) -> &'static str { match self { $(FactName::$variant => $name,)* } }
            /// Returns the unit of its values.
            pub fn unit(self) -> Unit { match self { $(FactName::$variant => Unit::$unit,)* } }
        }
    };
}

fact_names! {
    /// Length of the window: entry of the first timed call to the end of the last. Source: calls.
    Window = "window_ns", Ns;
    /// Bytes that read calls returned inside the window. Scope: tree. Source: calls.
    ReadBytes = "read_bytes", Bytes;
    /// Bytes that write calls accepted inside the window. Scope: tree. Source: calls.
    WriteBytes = "write_bytes", Bytes;
    /// Read calls inside the window, failed ones included. Source: calls.
    ReadCalls = "read_calls", Count;
    /// Write calls inside the window, failed ones included. Source: calls.
    WriteCalls = "write_calls", Count;
    /// Bytes of files and devices that discards released inside the window. Missing in passes without
    /// discards. Source: calls.
    DiscardBytes = "discard_bytes", Bytes;
    /// Discards inside the window, failed ones included. Missing as above. Source: calls.
    DiscardCalls = "discard_calls", Count;
    /// Latency that half of the discards do not exceed, as in `read_latency_p50_ns`.
    DiscardLatencyP50 = "discard_latency_p50_ns", Ns;
    /// As above, for 95 %.
    DiscardLatencyP95 = "discard_latency_p95_ns", Ns;
    /// As above, for 99 %.
    DiscardLatencyP99 = "discard_latency_p99_ns", Ns;
    /// As above, for 99.9 %.
    DiscardLatencyP999 = "discard_latency_p999_ns", Ns;
    /// The longest discard.
    DiscardLatencyMax = "discard_latency_max_ns", Ns;
    /// Mean latency of the discards.
    DiscardLatencyMean = "discard_latency_mean_ns", Ns;
    /// Discards whose latency was measured, as in `read_latency_timed`.
    DiscardLatencyTimed = "discard_latency_timed", Count;
    /// The least that the median can be, as in `read_latency_p50_least_ns`.
    DiscardLatencyP50Least = "discard_latency_p50_least_ns", Ns;
    /// As above, for 95 %.
    DiscardLatencyP95Least = "discard_latency_p95_least_ns", Ns;
    /// As above, for 99 %.
    DiscardLatencyP99Least = "discard_latency_p99_least_ns", Ns;
    /// The least that the mean can be, as for reads.
    DiscardLatencyMeanLeast = "discard_latency_mean_least_ns", Ns;
    /// The longest of the discards that were timed, as for reads.
    DiscardLatencyMaxLeast = "discard_latency_max_least_ns", Ns;
    /// Bytes of discards, writes of zeroes included, that the device completed inside the window, except those of
    /// processes outside the tree. Missing in passes without discards. Scope: device. Source: block completions.
    DeviceDiscardBytes = "device_discard_bytes", Bytes;
    /// The most frequent request size of the data calls. Missing without data calls. Source: calls.
    ModalRequest = "modal_request_bytes", Bytes;
    /// Data and sync calls inside the window that failed. A copy between two descriptors that the kernel cannot do
    /// (`EINVAL`, `EXDEV`, `ENOSYS`, `EOPNOTSUPP`) does not count: programs then read and write. Source: calls.
    FailedCalls = "failed_calls", Count;
    /// Data calls inside the window that moved less than requested. The end of a file does not count: a read
    /// of 0 bytes, and a read that ends exactly at the highest offset seen. Copies between two descriptors
    /// (`sendfile`, `splice`, `copy_file_range`) do not count: they move what the kernel chooses. Source: calls.
    ShortCalls = "short_calls", Count;
    /// Bytes that the same pass moved after the tool stopped its clock (a stonewalled task). Source: calls.
    UntimedBytes = "untimed_bytes", Bytes;
    /// From the start of the window to the end of the last data call of the pass that was in flight then; 0 without one.
    /// Only for passes behind a ramp, whose clock begins with the end of such a call. Source: calls.
    InFlightAtStart = "in_flight_at_start_ns", Ns;
    /// Sum over the tasks of (bytes / own window). Equals the window's rate for one task. Source: calls.
    SumOfTaskRates = "sum_of_task_rates_bytes_per_sec", BytesPerSec;
    /// Sum over the tasks of (data calls / own window). Source: calls.
    SumOfTaskOpRates = "sum_of_task_rates_ops_per_sec", OpsPerSec;
    /// Smallest task rate. Source: calls.
    MinTaskRate = "min_task_rate_bytes_per_sec", BytesPerSec;
    /// Largest task rate. Source: calls.
    MaxTaskRate = "max_task_rate_bytes_per_sec", BytesPerSec;
    /// Tasks that moved data inside the window. Source: calls.
    ActiveTasks = "active_tasks", Count;
    /// From the first task's birth (or first call) to the last task's end: the wall time of
    /// the pass as its parent sees it. Missing for passes without worker tasks. Source: tasks.
    ParentWindow = "parent_window_ns", Ns;
    /// Length of the blocks into which the phase is divided: the largest length of which 99 of 100 data calls move
    /// whole blocks, wherever in the file the blocks begin. `modal_request_bytes` where that length would be less than a
    /// sector (512) or than a 1024th of `modal_request_bytes`. Missing without data calls. Source: calls.
    BlockGrid = "block_grid_bytes", Bytes;
    /// Distinct blocks of `block_grid_bytes` touched. Exact. Partial when offsets are unknown. Source: calls.
    UniqueBlocks = "unique_blocks", Count;
    /// Blocks in the region touched: (highest end - lowest offset) / `block_grid_bytes`, per file, added. Source: calls.
    RegionBlocks = "region_blocks", Count;
    /// Hits of the most visited block. A call hits each block that it touches, once. Exact. Source: calls.
    MaxBlockHits = "max_block_hits", Count;
    /// Hits of the least visited block among those touched. Missing when no block was touched. Source: calls.
    MinBlockHits = "min_block_hits", Count;
    /// Hits of all blocks / distinct blocks. Missing when no block was touched. Source: calls.
    MeanBlockHits = "mean_block_hits", Count;
    /// The most frequent number of hits of a block; of equal ones the larger. Missing without hits. Source: calls.
    ModalBlockHits = "modal_block_hits", Count;
    /// Share of the distinct blocks that have exactly `modal_block_hits`; 1 when all blocks do. Source: calls.
    ModalBlockHitsShare = "modal_block_hits_ratio", Ratio;
    /// Share of all hits that went to the most hit 1 % of the distinct blocks, rounded up to whole blocks: 0.01
    /// when all are hit equally. Missing when no block was touched. Source: calls.
    HottestBlocksShare = "hottest_percent_hits_ratio", Ratio;
    /// Share of the distinct offsets in files used by several tasks at which calls of more than one task began: 1 where
    /// all tasks visit the same offsets. Of a file with more than 65,536 offsets, about 32,768 to 65,536 are sampled
    /// (standard error at most 0.3 %). Absent where each file is used by one task. Partial when offsets are
    /// unknown. Source: calls.
    CommonOffsets = "common_offsets_ratio", Ratio;
    /// Tasks that began in a file at the offset where another task of the phase began in it. Absent as above. Source:
    /// calls.
    EqualStarts = "equal_start_tasks", Count;
    /// Bytes that read calls of other phases returned from the phase's files, for calls that began and ended inside its
    /// window. The device counts bytes by file, so its bytes include these. Absent where no other phase ran on the files
    /// at that time. Scope: file. Source: calls.
    OthersReadBytes = "others_read_bytes", Bytes;
    /// As above, bytes that their write calls accepted, and bytes that they discarded.
    OthersWriteBytes = "others_write_bytes", Bytes;
    /// Share of data bytes through descriptors with `O_DIRECT`, as requested by the tool. Without a value for a pass
    /// whose data moves only through mappings. Source: calls.
    DirectShare = "direct_ratio", Ratio;
    /// Share of written bytes through descriptors with `O_SYNC` or `O_DSYNC`. Source: calls.
    SyncWriteShare = "sync_write_ratio", Ratio;
    /// Bytes of pages that entered the page cache for the phase's files inside the window, plus those of
    /// the same pass before it (priming and its readahead). Pages that a process or thread of another phase
    /// inserted at the same time are not counted. Scope: file. Source: page cache probe.
    CacheInsertedBytes = "cache_inserted_bytes", Bytes;
    /// Bytes of pages that the phase's own processes put into the page cache for its files inside the window. Missing
    /// where threads of other phases, in one of these processes, used the same files and any of them inserted pages.
    /// Scope: tree. Source: page cache probe.
    TaskInsertedBytes = "task_inserted_bytes", Bytes;
    /// The part of `cache_inserted_bytes` that entered the page cache inside the window. Scope: file. Source: page cache
    /// probe.
    WindowInsertedBytes = "cache_inserted_in_window_bytes", Bytes;
    /// Bytes that the phase's calls themselves read from storage. Scope: tree. Source: task I/O accounting.
    StorageReadBytes = "storage_read_bytes", Bytes;
    /// Least number of bytes of the phase's files that were in the page cache when the window began:
    /// distinct bytes read less bytes inserted. Scope: file. Source: calls and page cache probe.
    ResidentAtStart = "resident_at_start_bytes", Bytes;
    /// Data bytes of the phase's files read from the device inside the window. Scope: device. Source: block probe.
    DeviceReadBytes = "device_read_bytes", Bytes;
    /// Data bytes of the phase's files in requests whose read from the device was in progress inside the window: those
    /// that completed in it, and those issued in it that completed later. Scope: device. Source: block probe.
    DeviceReadBegunBytes = "device_read_begun_bytes", Bytes;
    /// Data bytes of the phase's files completed at the device from the start of the window to its end. Scope: device.
    DeviceWriteBytes = "device_write_bytes", Bytes;
    /// As above, to the end of the sync that made them durable, or to the next pass over the file. Scope: device.
    DeviceWriteBytesDurable = "device_write_bytes_until_durable", Bytes;
    /// Data bytes that the devices below the target device read inside the window, at the layer that read least. These
    /// are the devices below a loop device, a device mapper or RAID, down to the disks. Requests of other processes and
    /// of files outside the phase do not count. Requests of kernel workers count, because they carry the data down.
    /// Absent where there is no device below the target device. Scope: device. Source: block probe.
    BelowReadBytes = "below_device_read_bytes", Bytes;
    /// As above, bytes written. Scope: device.
    BelowWriteBytes = "below_device_write_bytes", Bytes;
    /// As above, for the time of `device_write_bytes_until_durable`. Scope: device.
    BelowWriteBytesDurable = "below_device_write_bytes_until_durable", Bytes;
    /// All bytes at the target device inside the window (for writes: until durable), whoever requested them. Scope:
    /// device.
    DeviceTotalBytes = "device_total_bytes", Bytes;
    /// The part of `device_total_bytes` by processes outside the tree on files outside the run (file system
    /// metadata and journal do not count). Scope: device.
    ForeignBytes = "foreign_bytes", Bytes;
    /// Time in the window with at least one request in flight at the target device. Scope: device.
    DeviceBusy = "device_busy_ns", Ns;
    /// Largest amount by which `device_busy_ns` can be too small because completions were not seen: the time in which
    /// calls of the tasks were in flight, where all data moved through direct I/O. Missing otherwise. Scope: device.
    DeviceBusyError = "device_busy_error_ns", Ns;
    /// Data requests of the phase's direction completed at the device for its files inside the window. Scope: device.
    DeviceRequests = "device_requests", Count;
    /// Mean time from issue to completion of the requests of `device_requests`. Missing without requests. Scope: device.
    DeviceLatencyMean = "device_latency_mean_ns", Ns;
    /// Time from issue to completion that half of those requests do not exceed. The quantiles are at most 0.1 %
    /// too high. Missing without requests, partial when issues, or the completions of more than 1 %, were not
    /// seen. Scope: device.
    DeviceLatencyP50 = "device_latency_p50_ns", Ns;
    /// As above, for 95 %. Scope: device.
    DeviceLatencyP95 = "device_latency_p95_ns", Ns;
    /// As above, for 99 %. Scope: device.
    DeviceLatencyP99 = "device_latency_p99_ns", Ns;
    /// As above, for 99.9 %. Scope: device.
    DeviceLatencyP999 = "device_latency_p999_ns", Ns;
    /// The longest such time. Exact. Scope: device.
    DeviceLatencyMax = "device_latency_max_ns", Ns;
    /// Requests with data of the phase's files in flight at the device, from issue to completion: the mean over the
    /// window. 0 without requests. Partial, and too low, when the issue or the completion of more than 1 % was not
    /// seen. Of several devices (btrfs): all together. Scope: device.
    DeviceQueueDepthMean = "device_queue_depth_mean", Count;
    /// Largest number of these requests in flight at once inside the window. Scope: device.
    DeviceQueueDepthMax = "device_queue_depth_max", Count;
    /// FLUSH requests that the target device completed from the start of the window to the end of
    /// the durable span. Scope: device.
    Flushes = "flushes", Count;
    /// Requests with FUA in the same span. Scope: device.
    FuaWrites = "fua_writes", Count;
    /// The most bytes that the devices of the phase's files can have read inside the window, whoever they were for: the
    /// growth of their counters from the last reading before it to the first after it. Absent where kernel programs
    /// observed, which see the requests themselves; missing where the devices do not count all of their requests.
    /// Scope: device. Source: `/sys/dev/block/*/stat`.
    DeviceReadAtMost = "device_read_at_most_bytes", Bytes;
    /// As above, reads that completed.
    DeviceReadsAtMost = "device_reads_at_most", Count;
    /// As above, bytes written.
    DeviceWriteAtMost = "device_write_at_most_bytes", Bytes;
    /// As above, bytes written from the start of the window until all was durable.
    DeviceWriteDurableAtMost = "device_write_until_durable_at_most_bytes", Bytes;
    /// As above, FLUSH requests, from the start of the window to the end of the durable span. Missing where a device
    /// takes writes with FUA, which need none.
    FlushesAtMost = "flushes_at_most", Count;
    /// Bytes that the daemon of a FUSE file system read inside the window from the devices on which it keeps its data: by
    /// its own requests, and of its files. It counts all users of the mount together. Absent where the files are not on
    /// FUSE. Missing where the daemon or its storage is not known. Scope: device. Source: block probe.
    DaemonDeviceReadBytes = "daemon_device_read_bytes", Bytes;
    /// As above, bytes written from the start of the window to the end of the sync by which the tool made its bytes
    /// durable, or to the end of the window where it made them durable by no sync.
    DaemonDeviceWriteBytesDurable = "daemon_device_write_bytes_until_durable", Bytes;
    /// Bytes of writes in the same span that the daemon's own threads submitted: for a sync or direct I/O. The kernel's
    /// writeback submits the others, whether anybody waits for them or not. As above.
    DaemonSubmittedBytes = "daemon_submitted_bytes", Bytes;
    /// Bytes of all writes that these devices completed in the same span, whoever they were for. As above.
    DaemonTotalWriteBytes = "daemon_device_total_write_bytes", Bytes;
    /// FLUSH requests and writes with FUA that the daemon's devices completed in the same span, whoever requested them.
    /// As above.
    DaemonFlushes = "daemon_flushes", Count;
    /// CPU time of the threads of this daemon inside the window, for whatever user of the mount. It is added up per CPU and
    /// recorded every 20 ms or 1 ms of CPU time; what crosses an end of the window is divided by time. Partial where that
    /// can be wrong by more than 1 % of the window. Missing where the daemon is not known, or did not run when the
    /// observation began. Absent where the files are not on FUSE. Scope: host. Source: scheduler.
    DaemonCpu = "daemon_cpu_ns", Ns;
    /// System calls of this daemon inside the window, those on its FUSE descriptor included: a request is mostly one that
    /// reads it and one that answers it. Partial where what crosses an end of the window is more than 1 %. Otherwise as
    /// above. Source: exits of calls.
    DaemonCalls = "daemon_calls", Count;
    /// As above, read, pread, readv and preadv.
    DaemonReadCalls = "daemon_read_calls", Count;
    /// As above, write, pwrite, writev and pwritev.
    DaemonWriteCalls = "daemon_write_calls", Count;
    /// As above, fsync, fdatasync and the like.
    DaemonSyncCalls = "daemon_sync_calls", Count;
    /// Requests of the phase's FUSE file systems that their daemons answered inside the window, whoever sent them. Exact.
    /// Absent where the files are not on FUSE; missing where the kernel has no tracepoint of these requests. Scope: file
    /// system. Source: FUSE probe.
    FuseRequests = "fuse_requests", Count;
    /// Those of them that read data.
    FuseReadRequests = "fuse_read_requests", Count;
    /// Those of them that write data.
    FuseWriteRequests = "fuse_write_requests", Count;
    /// Those of them that sync a file.
    FuseSyncRequests = "fuse_sync_requests", Count;
    /// Sum of the times of these requests from when the kernel handed them to the daemon to its answer: with several at
    /// once it is longer than the window. Partial where the start of some was not seen.
    FuseRequestTime = "fuse_request_time_ns", Ns;
    /// 1 where the mount uses the writeback cache of FUSE, 0 where not. Missing without a request inside the window.
    FuseWritebackCache = "fuse_writeback_cache_count", Count;
    /// 1 where the daemon may have files read and written by the kernel in the files below (passthrough), 0 where not.
    /// Missing as above. Which files it does so with is not known.
    FusePassthrough = "fuse_passthrough_count", Count;
    /// CPU time inside the window of the threads of the kernel that work for the storage below the phase's files alone, by
    /// their names: of loop devices, journals, md arrays, dm-crypt, XFS, and of writeback to these devices and of these file
    /// systems. They work for every user of the storage. Those that work for several devices are not among them (kblockd,
    /// btrfs). Divided and partial as `daemon_cpu_ns`. Absent where no block device is known below the files. Scope: device.
    /// Source: scheduler.
    StorageThreadCpu = "storage_thread_cpu_ns", Ns;
    /// Those of them that carry the requests of loop devices.
    LoopCpu = "loop_cpu_ns", Ns;
    /// Those of them that write a journal.
    JournalCpu = "journal_cpu_ns", Ns;
    /// Successful syncs of the phase's files inside the window. Source: calls.
    SyncsInside = "syncs_inside", Count;
    /// Time from the start of the window to the end of the sync that made all bytes durable, inside or
    /// after the window. Missing without such a sync. Source: calls.
    DurableSpan = "durable_span_ns", Ns;
    /// Bytes written in the window that a sync (or `O_SYNC`, `O_DSYNC`, completed `O_DIRECT` writes) made durable
    /// before a later pass wrote the file again, the file was deleted, or the tool ended. Source: calls.
    SyncedBytes = "synced_bytes", Bytes;
    /// Bytes written in the window that were not made durable in this way. Source: calls.
    UnsyncedBytes = "unsynced_bytes", Bytes;
    /// On-CPU time in user mode of the phase's threads inside the window; for the whole run that of
    /// every task over its life. It comes from the threads' running totals where the error of these is at most 1 %
    /// of the window. Otherwise it is computed from the times between the recorded calls, without the time before
    /// each thread's first call. Source: scheduler and calls.
    UserCpu = "user_cpu_ns", Ns;
    /// On-CPU time in the kernel of the phase's threads inside the window; for the whole run that of every task over
    /// its life. Page faults and interrupts count for the thread that they interrupted. When computed from the recorded
    /// calls, it is without calls that are not recorded. Source: as above.
    KernelCpu = "kernel_cpu_ns", Ns;
    /// Time of the phase's threads inside the window off CPU: `blocked_ns` and `preempted_ns` together. Source: as
    /// above.
    OffCpu = "off_cpu_ns", Ns;
    /// Time of the phase's threads inside the window off CPU and not runnable, I/O wait included.
    /// Partial when `cpu_times_error_ns` is more than 1 % of the threads' windows. Source: scheduler.
    Blocked = "blocked_ns", Ns;
    /// The part of `blocked_ns` that the kernel counts as waiting for I/O. Source: scheduler.
    IoWait = "iowait_ns", Ns;
    /// Time of the phase's threads inside the window off CPU though runnable. Source: scheduler.
    Preempted = "preempted_ns", Ns;
    /// Largest possible error of each of the times above. The totals are known whenever a thread comes back to a
    /// CPU (at most 500 times per second) and at each stack sample. Between these they are interpolated to the
    /// window's ends. Absent for the whole run, whose totals are exact.
    CpuTimesError = "cpu_times_error_ns", Ns;
    /// Least time for which the phase's threads were on a CPU inside the window, in either mode. Only where a tracer
    /// observed, like the three below; missing where the account of one of the threads is not known. Source:
    /// `/proc/PID/task/TID/schedstat` at the threads' stops.
    ThreadCpuAtLeast = "thread_cpu_at_least_ns", Ns;
    /// Most time inside the window for which the phase's threads could run and waited for a CPU, whatever the cause.
    /// Source: as above.
    ThreadWaitAtMost = "thread_wait_at_most_ns", Ns;
    /// Least time inside the window for which the phase's threads could run and waited for a CPU, without what the tracer
    /// may have caused: its own CPU time, and 1 ms of what the thread waited between two stops. Source: as above.
    ThreadWaitAtLeast = "thread_wait_at_least_ns", Ns;
    /// Least time inside the window for which the phase's threads were outside of the calls that are followed, neither on a
    /// CPU nor waiting for one, and without a request in flight; without 1 ms of each such time. Times in which the
    /// thread's process had other threads do not count. Source: as above, and calls.
    ThreadIdleAtLeast = "thread_idle_at_least_ns", Ns;
    /// Stack samples of the phase's threads on CPU inside the window. Source: samples.
    StackSamples = "stack_samples", Count;
    /// Share of these in user mode; the rest was in the kernel. Missing without samples. Source: samples.
    SampledUserShare = "sampled_user_ratio", Ratio;
    /// System calls of the phase's threads inside the window, as far as they are recorded: those that touch files, their
    /// names or their data. Requests do not count. Source: calls.
    SystemCalls = "system_calls", Count;
    /// Least share of the window that the observation took: without it the window would have been shorter by this share
    /// at least. 0 where something else than the CPU may have limited the pass: data moved to or from a device inside the
    /// window, the tool limits its own rate, or its threads waited. Missing where the kernel did not time the programs.
    /// Scope: tree. Source: the kernel's account of the programs' run time, a calibration before the run, and the counts
    /// of calls and stack samples.
    ObserverShareLeast = "observer_share_least_ratio", Ratio;
    /// As above, the largest share.
    ObserverShareMost = "observer_share_most_ratio", Ratio;
    /// Largest time that the observation adds to one data call or request, on average. As above. Missing without data
    /// calls.
    ObserverCallDelay = "observer_call_delay_ns", Ns;
    /// Time during the window that the hypervisor gave to others while a CPU of this machine had something to
    /// run, added over the CPUs. The kernel counts it in ticks of 10 ms; activebench reads it ten times per
    /// second. 0 also where there is no hypervisor. Scope: host. Source: `/proc/stat`.
    Steal = "steal_ns", Ns;
    /// `steal_ns` / (window x CPUs). Scope: host. Source: `/proc/stat`.
    StealShare = "steal_ratio", Ratio;
    /// Largest possible error of `steal_ns`: its growth between the readings around the window's ends.
    /// Missing where readings are missing. Scope: host. Source: `/proc/stat`.
    StealError = "steal_error_ns", Ns;
    /// Largest share of the last fifth of the pass that one task can have lost to the hypervisor. It is the steal time of
    /// all CPUs in that fifth, with its largest possible error, divided by the fifth's duration. It may exceed 1. The
    /// fifth is that of `throughput_fifth_5_bytes_per_sec`, or of `name_rate_fifth_5_ops_per_sec` for a pass over names.
    /// Missing without readings around the fifth, and when that rate is missing. Scope: host. Source: `/proc/stat`.
    LastFifthStealAtMost = "steal_last_fifth_at_most_ratio", Ratio;
    /// Data of others that was waiting for writeback when the window began (`Dirty` and `Writeback` of the whole host):
    /// the smallest reading from the start of the run to then. What the tree itself had written and not synced is
    /// subtracted where it is at most a sixteenth of the reading; where it is more, or goes through a mapping, the fact
    /// is partial and an upper bound. Missing without a reading before the window. Scope: host. Source:
    /// `/proc/meminfo`.
    ForeignDirtyAtStart = "foreign_dirty_at_start_bytes", Bytes;
    /// Pages swapped in and out between the last reading before the window and the first after it. Partial where
    /// some or all of them may be from outside the window. Scope: host. Source: `/proc/vmstat`.
    SwappedPages = "swapped_pages", Count;
    /// The most time of the window in which tasks of the host, whoever they were, could run and waited for a CPU: from the
    /// last reading before it to the first after it. Scope: host. Source: `/proc/pressure/cpu`.
    CpuWaitedAtMost = "cpu_waited_at_most_ns", Ns;
    /// Time of the window in which all tasks with something to do waited for memory: tasks of the host or of the tree's
    /// control group, whichever is larger. Partial when the error is more than a 5,000th of the window.
    /// Scope: host. Source: `/proc/pressure/memory`, `memory.pressure`.
    MemoryStall = "memory_stalled_ns", Ns;
    /// `memory_stalled_ns` / `window_ns`. As above.
    MemoryStallShare = "memory_stalled_ratio", Ratio;
    /// Largest possible error of `memory_stalled_ns`: the part that may have been just before or after the window.
    MemoryStallError = "memory_stalled_error_ns", Ns;
    /// Time by which the system clock (`CLOCK_REALTIME`) was set forwards and backwards, added up, from the last reading
    /// before the window to the first after it. Time in which the machine was suspended counts, because the system clock
    /// goes on. Partial when some or all of it may be from outside the window. Absent where the clock was not read.
    /// Scope: host. Source: clock_gettime.
    WallClockJumps = "wall_clock_jumps_ns", Ns;
    /// Time in which the machine was suspended, between the same readings. Scope: host. Source: clock_gettime.
    Suspended = "suspended_ns", Ns;
    /// Longest time inside the window for which one of the phase's threads was stopped by a signal (SIGSTOP, SIGTSTP)
    /// or a debugger, from stops of at least 2 ms. Absent in runs that did not record stops. Source: scheduler.
    Stopped = "stopped_ns", Ns;
    /// Largest fall of the CPUs' mean frequency from a reading inside the window to a later one, as a share of
    /// the former. With fewer than two readings inside, the readings just before and after the window count too. Absent
    /// where the host does not scale frequencies, missing with fewer than two readings. Scope: host. Source: cpufreq.
    FrequencyDrop = "frequency_drop_ratio", Ratio;
    /// Largest possible number of times that CPUs and their packages were slowed down because of heat during the window:
    /// from the last reading before it to the first after it. Absent where the host does not count. Scope: host.
    /// Source: thermal_throttle.
    ThermalThrottles = "thermal_throttles", Count;
    /// Disks that reported after the run that they were too hot, and not before it. Absent without such sensors.
    /// Partial when not 0, because the start of the alarm is unknown. Scope: host. Source: hwmon.
    HotDisks = "hot_disks", Count;
    /// Largest number of bytes that the client of the phase's network file system can have received: from the last
    /// reading before the window to the first after it. Where the file system does not count them: all bytes received
    /// by the host's network interfaces. Absent for other file systems, missing without any counter (virtiofs, RDMA).
    /// Scope: host.
    NetworkReceived = "network_received_bytes", Bytes;
    /// Writes that began inside the window and whose first 4 KiB were examined, at most 256
    /// per second per CPU. Writes that do not come from process memory (splice, copy_file_range, mappings) are
    /// never sampled. Source: payload.
    PayloadSamples = "payload_samples", Count;
    /// Share of the samples that were all zeros. Missing without samples. Source: payload.
    PayloadZeroShare = "payload_zero_ratio", Ratio;
    /// Size of the samples after zstd at its lowest level / their bytes, each sample on its own:
    /// 1 is incompressible, 0.5 shrinks to half. Missing without samples. Source: payload.
    PayloadCompressed = "payload_compressed_ratio", Ratio;
    /// Share of the samples whose bytes equal those of an earlier sample of the phase, zeros included. A device
    /// that examines all writes finds at least as many duplicates. Missing without samples. Source: payload.
    PayloadDuplicates = "payload_duplicate_ratio", Ratio;
    /// Calls on names that count (see [`crate::phase::NameOperation`]) and succeeded, inside the
    /// window. Absent for passes of data. Source: calls.
    NameCalls = "name_calls", Count;
    /// Time of the longest call on names that counts, failed ones included. Absent for passes of data, missing without
    /// such calls. Source: calls.
    NameLatencyMax = "name_latency_max_ns", Ns;
    /// Rate of the successful calls of `name_calls` in the first fifth of the window. Absent for passes of data, missing
    /// where the window is not known. Source: calls.
    NameFifth1Rate = "name_rate_fifth_1_ops_per_sec", OpsPerSec;
    /// As above, in the second fifth.
    NameFifth2Rate = "name_rate_fifth_2_ops_per_sec", OpsPerSec;
    /// As above, in the third.
    NameFifth3Rate = "name_rate_fifth_3_ops_per_sec", OpsPerSec;
    /// As above, in the fourth.
    NameFifth4Rate = "name_rate_fifth_4_ops_per_sec", OpsPerSec;
    /// As above, in the last.
    NameFifth5Rate = "name_rate_fifth_5_ops_per_sec", OpsPerSec;
    /// Standard error of the difference between the first of these fifths and the last. Each fifth has ten slices. The
    /// error is how far their times per name are from a straight line. Missing as these.
    NameFifthsError = "name_rate_fifths_error_ops_per_sec", OpsPerSec;
    /// Mean time of the successful syncs of the phase's files inside the window. The facts named `sync_latency` are
    /// absent without such syncs. The quantiles are at most 0.1 % too high. Source: calls.
    SyncLatencyMean = "sync_latency_mean_ns", Ns;
    /// Time that half of these syncs do not exceed. Source: calls.
    SyncLatencyP50 = "sync_latency_p50_ns", Ns;
    /// As above, for 95 %. Source: calls.
    SyncLatencyP95 = "sync_latency_p95_ns", Ns;
    /// As above, for 99 %. Source: calls.
    SyncLatencyP99 = "sync_latency_p99_ns", Ns;
    /// As above, for 99.9 %. Source: calls.
    SyncLatencyP999 = "sync_latency_p999_ns", Ns;
    /// The longest of these syncs. Exact. Source: calls.
    SyncLatencyMax = "sync_latency_max_ns", Ns;
    /// Calls of the C library that take data to write it now or later (`fwrite`, `putc`), by the phase's threads, from the
    /// open of its files to their close. Missing where a process does not use the library that was counted. Absent
    /// where library calls were not counted. Scope: tree. Source: uprobes.
    LibraryWriteCalls = "library_write_calls", Count;
    /// As above, calls that give data which was read now or before (`fread`, `getc`).
    LibraryReadCalls = "library_read_calls", Count;
    /// As above, calls of libaio and liburing that hand requests to the kernel or ask for their results.
    LibrarySubmitCalls = "library_submit_calls", Count;
    /// Time that 99.9 % of the submitting calls of the phase's threads inside the window (`io_submit`,
    /// `io_uring_enter` with requests) do not exceed. At most 0.1 % too high. Absent without such calls.
    /// Source: calls.
    SubmitLatencyP999 = "submit_latency_p999_ns", Ns;
    /// Total time that the phase's threads spent in `io_submit` inside the window. Absent without
    /// such calls. Source: calls.
    SubmitTime = "io_submit_time_ns", Ns;
    /// Mean time of the asynchronous requests of the phase's direction from the return of the submitting call until the
    /// thread learned of their completion. With libaio this is the return of the call that collected them. With
    /// io_uring it is when the thread took the completion from its ring, which its next submission shows. The facts
    /// named `completion_latency` and `collected_latency` are absent without such requests, and partial where the
    /// submission of some was not seen. The quantiles are at most 0.1 % too high. Source: calls.
    CompletionLatencyMean = "completion_latency_mean_ns", Ns;
    /// Time that half of these requests do not exceed. Source: calls.
    CompletionLatencyP50 = "completion_latency_p50_ns", Ns;
    /// As above, for 95 %. Source: calls.
    CompletionLatencyP95 = "completion_latency_p95_ns", Ns;
    /// As above, for 99 %. Source: calls.
    CompletionLatencyP99 = "completion_latency_p99_ns", Ns;
    /// As above, for 99.9 %. Source: calls.
    CompletionLatencyP999 = "completion_latency_p999_ns", Ns;
    /// The longest such time. Exact. Source: calls.
    CompletionLatencyMax = "completion_latency_max_ns", Ns;
    /// Mean time of the same requests including submission: from the start of their submission. Source: calls.
    CollectedLatencyMean = "collected_latency_mean_ns", Ns;
    /// The longest such time. Exact. Source: calls.
    CollectedLatencyMax = "collected_latency_max_ns", Ns;
    /// Bytes that `O_DIRECT` requests of the phase's direction inserted into the page cache. Source: calls.
    DirectCachedBytes = "direct_cached_bytes", Bytes;
    /// mmap calls on the phase's files inside the pass: their data moves without calls. Source: calls.
    Mappings = "mappings", Count;
    /// msync calls inside the window. Source: calls.
    Msyncs = "msyncs", Count;
    /// Sum of the lengths of the tasks' own windows. Source: calls.
    TaskWindows = "task_windows_ns", Ns;
    /// Length of the longest of the tasks' own windows; `window_ns` for one task. Source: calls.
    LongestTask = "longest_task_window_ns", Ns;
    /// The part of `task_windows_ns` in which at least one of the task's data calls, asynchronous requests or syncs
    /// (of any file or file system) was in flight: from entry to exit, or from submission to collection. Scope: tree. Source: calls.
    InFlight = "calls_in_flight_ns", Ns;
    /// The part of `task_windows_ns` in which at least one of the task's calls on files was in flight: those of
    /// `calls_in_flight_ns`, and opens, closes, and the other calls on names and files (of any file or file system), in
    /// which a file system makes the task wait. Scope: tree. Source: calls.
    InFileCalls = "file_calls_in_flight_ns", Ns;
    /// Bytes in the phase's direction of the task that moved the fewest, inside its own window. Tasks that moved nothing
    /// are left out, as in iozone. Missing where no task moved data. Source: calls.
    MinTaskBytes = "min_task_bytes", Bytes;
    /// Rate at which calls moved data of the phase's direction in the first fifth of the time in which all its tasks
    /// were working. The bytes of a call count evenly over its duration. Missing when the tasks worked together for less
    /// than half of the window. Source: calls.
    Fifth1Rate = "throughput_fifth_1_bytes_per_sec", BytesPerSec;
    /// As above, in the second fifth.
    Fifth2Rate = "throughput_fifth_2_bytes_per_sec", BytesPerSec;
    /// As above, in the third.
    Fifth3Rate = "throughput_fifth_3_bytes_per_sec", BytesPerSec;
    /// As above, in the fourth.
    Fifth4Rate = "throughput_fifth_4_bytes_per_sec", BytesPerSec;
    /// As above, in the last.
    Fifth5Rate = "throughput_fifth_5_bytes_per_sec", BytesPerSec;
    /// Standard error of the difference between the first and the last of these rates, from ten slices of each
    /// fifth. Source: calls.
    FifthsError = "throughput_fifths_error_bytes_per_sec", BytesPerSec;
    /// Rate at which the device moved data of the phase's files and direction in the first fifth of that time.
    /// Scope: device. Source: block probe.
    DeviceFifth1Rate = "device_throughput_fifth_1_bytes_per_sec", BytesPerSec;
    /// As above, in the second fifth.
    DeviceFifth2Rate = "device_throughput_fifth_2_bytes_per_sec", BytesPerSec;
    /// As above, in the third.
    DeviceFifth3Rate = "device_throughput_fifth_3_bytes_per_sec", BytesPerSec;
    /// As above, in the fourth.
    DeviceFifth4Rate = "device_throughput_fifth_4_bytes_per_sec", BytesPerSec;
    /// As above, in the last.
    DeviceFifth5Rate = "device_throughput_fifth_5_bytes_per_sec", BytesPerSec;
    /// Standard error of the difference between the first and the last of these rates. Scope: device.
    DeviceFifthsError = "device_throughput_fifths_error_bytes_per_sec", BytesPerSec;
    /// Smallest requested size of a read call inside the window, failed ones included. The facts
    /// named `read_` from here on are absent without read calls. Source: calls.
    ReadSizeMin = "read_size_min_bytes", Bytes;
    /// Largest number of bytes that a read call asked for. Source: calls.
    ReadSizeMax = "read_size_max_bytes", Bytes;
    /// Mean number of bytes that the read calls asked for. Source: calls.
    ReadSizeMean = "read_size_mean_bytes", Bytes;
    /// The most frequent requested size of a read call; of equally frequent ones the larger. Source: calls.
    ReadSizeModal = "read_size_modal_bytes", Bytes;
    /// Share of the read calls that requested exactly `read_size_modal_bytes`. Source: calls.
    ReadSizeModalShare = "read_size_modal_ratio", Ratio;
    /// Distinct requested sizes of read calls. Partial, and a lower bound, above 65,536. Source: calls.
    ReadSizes = "read_sizes", Count;
    /// Share of the read calls that begin where the previous call in the same stream ended. A stream is one thread's
    /// read calls through one descriptor on one file. The five shares add up to 1. Each stream's first call, and calls
    /// that moved nothing, are not in any of them. Missing when no stream has a second call; partial when offsets are
    /// unknown. Threads that share a file position look strided or random. Source: calls.
    ReadSequential = "read_sequential_ratio", Ratio;
    /// Share that ends where the previous call began. Source: calls.
    ReadBackward = "read_backward_ratio", Ratio;
    /// Share that is in none of the other classes, but has the same gap from the end of the previous call as a
    /// neighbour in the stream. Source: calls.
    ReadStrided = "read_strided_ratio", Ratio;
    /// Share that begins where the previous call began. Source: calls.
    ReadRepeated = "read_repeated_ratio", Ratio;
    /// Share in none of these classes. Source: calls.
    ReadRandom = "read_random_ratio", Ratio;
    /// Mean time from entry to exit of the read calls inside the window that were timed; for asynchronous requests
    /// from submission to collection. Source: calls.
    ReadLatencyMean = "read_latency_mean_ns", Ns;
    /// Read calls inside the window that were timed from their entry: all, or a sample of fast ones. Source: calls.
    ReadLatencyTimed = "read_latency_timed", Count;
    /// Time from entry to exit that half of the read calls inside the window do not exceed. Failed calls do not
    /// count; absent when all failed. The quantiles are at most 0.1 % too high. Source: calls.
    ReadLatencyP50 = "read_latency_p50_ns", Ns;
    /// The least that `read_latency_p50_ns` can be: of the timed calls alone, the quantile that is below the median by
    /// eight standard errors of what they stand for. The median itself where all were timed. Missing where no call
    /// was timed. Source: calls.
    ReadLatencyP50Least = "read_latency_p50_least_ns", Ns;
    /// As above, for `read_latency_p95_ns`.
    ReadLatencyP95Least = "read_latency_p95_least_ns", Ns;
    /// As above, for `read_latency_p99_ns`.
    ReadLatencyP99Least = "read_latency_p99_least_ns", Ns;
    /// The least that `read_latency_mean_ns` can be: the mean of the timed calls alone, as an untimed one that looks long
    /// may be a pause of the program, less eight standard errors of what they stand for. Of fewer than eight that stand
    /// for others only their own time counts, and fast calls that none stands for count with a time of 0. The mean itself where all were timed. Missing where no call was timed.
    /// Source: calls.
    ReadLatencyMeanLeast = "read_latency_mean_least_ns", Ns;
    /// The longest read call that was timed, less 64 us where others were not: the start of a call that left the processor
    /// can be off by that. Missing where none was timed. Source: calls.
    ReadLatencyMaxLeast = "read_latency_max_least_ns", Ns;
    /// As above, for 95 %. Source: calls.
    ReadLatencyP95 = "read_latency_p95_ns", Ns;
    /// As above, for 99 %. Source: calls.
    ReadLatencyP99 = "read_latency_p99_ns", Ns;
    /// As above, for 99.9 %. Source: calls.
    ReadLatencyP999 = "read_latency_p999_ns", Ns;
    /// The longest that a read call took; of untimed fast calls what the longest took at most. Source: calls.
    ReadLatencyMax = "read_latency_max_ns", Ns;
    /// Smallest requested size of a write call inside the window, failed ones included. The facts
    /// named `write_` from here on are absent without write calls. Source: calls.
    WriteSizeMin = "write_size_min_bytes", Bytes;
    /// Largest number of bytes that a write call asked for. Source: calls.
    WriteSizeMax = "write_size_max_bytes", Bytes;
    /// Mean number of bytes that the write calls asked for. Source: calls.
    WriteSizeMean = "write_size_mean_bytes", Bytes;
    /// The most frequent requested size of a write call; of equally frequent ones the larger. Source: calls.
    WriteSizeModal = "write_size_modal_bytes", Bytes;
    /// Share of the write calls that requested exactly `write_size_modal_bytes`. Source: calls.
    WriteSizeModalShare = "write_size_modal_ratio", Ratio;
    /// Distinct requested sizes of write calls. Partial, and a lower bound, above 65,536. Source: calls.
    WriteSizes = "write_sizes", Count;
    /// Share of the write calls that begin where the previous call in the same stream ended. A stream is one thread's
    /// write calls through one descriptor on one file. The five shares add up to 1. Each stream's first call, and calls
    /// that moved nothing, are not in any of them. Missing when no stream has a second call; partial when offsets are
    /// unknown. Threads that share a file position look strided or random. Source: calls.
    WriteSequential = "write_sequential_ratio", Ratio;
    /// Share that ends where the previous call began. Source: calls.
    WriteBackward = "write_backward_ratio", Ratio;
    /// Share that is in none of the other classes, but has the same gap from the end of the previous call as a
    /// neighbour in the stream. Source: calls.
    WriteStrided = "write_strided_ratio", Ratio;
    /// Share that begins where the previous call began. Source: calls.
    WriteRepeated = "write_repeated_ratio", Ratio;
    /// Share in none of these classes. Source: calls.
    WriteRandom = "write_random_ratio", Ratio;
    /// Mean time from entry to exit of the write calls inside the window that were timed; for asynchronous requests
    /// from submission to collection. Source: calls.
    WriteLatencyMean = "write_latency_mean_ns", Ns;
    /// Write calls inside the window that were timed from their entry: all, or a sample of fast ones. Source: calls.
    WriteLatencyTimed = "write_latency_timed", Count;
    /// Time from entry to exit that half of the write calls inside the window do not exceed. Failed calls do not
    /// count; absent when all failed. The quantiles are at most 0.1 % too high. Source: calls.
    WriteLatencyP50 = "write_latency_p50_ns", Ns;
    /// The least that `write_latency_p50_ns` can be, as for reads. Source: calls.
    WriteLatencyP50Least = "write_latency_p50_least_ns", Ns;
    /// As above, for 95 %.
    WriteLatencyP95Least = "write_latency_p95_least_ns", Ns;
    /// As above, for 99 %.
    WriteLatencyP99Least = "write_latency_p99_least_ns", Ns;
    /// The least that the mean can be, as for reads.
    WriteLatencyMeanLeast = "write_latency_mean_least_ns", Ns;
    /// The longest of the write calls that were timed, as for reads.
    WriteLatencyMaxLeast = "write_latency_max_least_ns", Ns;
    /// As above, for 95 %. Source: calls.
    WriteLatencyP95 = "write_latency_p95_ns", Ns;
    /// As above, for 99 %. Source: calls.
    WriteLatencyP99 = "write_latency_p99_ns", Ns;
    /// As above, for 99.9 %. Source: calls.
    WriteLatencyP999 = "write_latency_p999_ns", Ns;
    /// The longest that a write call took, as for reads. Source: calls.
    WriteLatencyMax = "write_latency_max_ns", Ns;
}

/// The facts of one phase by name. A name that is absent was not computed for this phase
/// (not applicable), which is not the same as `Missing`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Facts(pub BTreeMap<FactName, Fact>);

impl Facts {
    /// Adds or replaces a fact.
    pub fn insert(&mut self, name: FactName, fact: Fact) {
        self.0.insert(name, fact);
    }

    /// Gives back the room that facts inserted one by one leave between them: a third of the whole.
    pub fn pack(&mut self) {
        // A map that is made from all of its entries at once has full nodes.
        self.0 = std::mem::take(&mut self.0).into_iter().collect();
    }

    /// Returns the fact, if it was computed.
    pub fn get(&self, name: FactName) -> Option<&Fact> {
        self.0.get(&name)
    }

    /// Returns the number of a fact that was completely observed.
    ///
    /// # Errors
    /// Returns the reason when the fact was not computed, is missing, or is partial.
    pub fn complete(&self, name: FactName) -> Result<f64, String> {
        match self.get(name) {
            None => Err(format!("the fact {} was not computed for this pass", name.as_str())),
            Some(Fact { value: Some(quantity), completeness: Completeness::Complete, .. }) => Ok(quantity.value),
            Some(Fact { completeness: Completeness::Partial(lost), .. }) => {
                Err(format!("the fact {} is partial: {lost}", name.as_str()))
            }
            Some(Fact { completeness: Completeness::Missing(why), .. }) => {
                Err(format!("the fact {} is missing: {why}", name.as_str()))
            }
            Some(Fact { value: None, .. }) => Err(format!("the fact {} has no value", name.as_str())),
        }
    }
}

/// How often the blocks of one file were hit in one direction over a whole run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FileHits {
    /// The file.
    pub file: FileId,
    /// Reads or writes.
    pub direction: Direction,
    /// Calls that moved data.
    pub calls: u64,
    /// Bytes that they moved.
    pub bytes: u64,
    /// Calls among them whose offset is unknown; their blocks are not counted.
    pub unplaced_calls: u64,
    /// Length of a block: the largest of which the calls move whole blocks, where there is one.
    pub block_bytes: u64,
    /// Blocks that were hit.
    pub blocks: u64,
    /// Fewest hits of a block that was hit.
    pub hits_least: u64,
    /// Mean number of hits of a block.
    pub hits_mean: f64,
    /// Most hits of a block.
    pub hits_most: u64,
    /// The most frequent number of hits of a block.
    pub hits_usual: u64,
    /// Blocks with that number of hits.
    pub blocks_with_usual: u64,
    /// Share of the hits that went to the most hit 1 % of the blocks, from 0 to 1.
    pub hottest_percent_share: f64,
}
