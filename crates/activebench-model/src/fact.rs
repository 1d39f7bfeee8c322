//! Observed figures: what the probes saw of a phase.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::call::FileId;
use crate::phase::Direction;
use crate::units::{Quantity, Unit};

/// How much of a figure was seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "state", content = "why")]
pub enum Completeness {
    /// All of it.
    Complete,
    /// A part: what was lost.
    Partial(String),
    /// Nothing: why.
    Missing(String),
}

/// What a figure counts.
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
    /// What it counts.
    pub scope: Scope,
    /// How much of it was seen.
    pub completeness: Completeness,
    /// The probe or file it comes from.
    pub source: String,
}

impl Fact {
    /// A figure seen whole.
    pub fn complete(value: Quantity, scope: Scope, source: &str) -> Self {
        Self { value: Some(value), scope, completeness: Completeness::Complete, source: source.to_owned() }
    }

    /// A figure that could not be seen.
    pub fn missing(why: impl Into<String>, scope: Scope, source: &str) -> Self {
        Self { value: None, scope, completeness: Completeness::Missing(why.into()), source: source.to_owned() }
    }

    /// The same figure, known to be a part only. A missing one stays missing.
    pub fn partial(mut self, lost: impl Into<String>) -> Self {
        if self.completeness == Completeness::Complete {
            self.completeness = Completeness::Partial(lost.into());
        }
        self
    }
}

macro_rules! fact_names {
    ($($(#[$doc:meta])* $variant:ident = $name:literal, $unit:ident;)*) => {
        /// The facts of a phase. Serialised names carry the unit.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum FactName { $($(#[$doc])* #[serde(rename = $name)] $variant,)* }

        impl FactName {
            /// Every fact.
            pub const ALL: &'static [FactName] = &[$(FactName::$variant,)*];
            /// The name as serialised.
            pub fn as_str(self) -> &'static str { match self { $(FactName::$variant => $name,)* } }
            /// The unit of its values.
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
    /// Bytes of files and devices that discards gave back inside the window. Missing in passes that are none of
    /// discards. Source: calls.
    DiscardBytes = "discard_bytes", Bytes;
    /// Discards inside the window, failed ones included. Missing as above. Source: calls.
    DiscardCalls = "discard_calls", Count;
    /// Half of the discards took at most so long, as in `read_latency_p50_ns`.
    DiscardLatencyP50 = "discard_latency_p50_ns", Ns;
    /// The same for 95 of 100.
    DiscardLatencyP95 = "discard_latency_p95_ns", Ns;
    /// The same for 99 of 100.
    DiscardLatencyP99 = "discard_latency_p99_ns", Ns;
    /// The same for 999 of 1000.
    DiscardLatencyP999 = "discard_latency_p999_ns", Ns;
    /// The longest discard.
    DiscardLatencyMax = "discard_latency_max_ns", Ns;
    /// Mean over the discards.
    DiscardLatencyMean = "discard_latency_mean_ns", Ns;
    /// Discards whose latency was measured, as in `read_latency_timed`.
    DiscardLatencyTimed = "discard_latency_timed", Count;
    /// Bytes of discards, writes of zeroes included, that the device completed inside the window for anybody
    /// but processes outside the tree. Missing in passes that are none of discards. Scope: device. Source: block
    /// completions.
    DeviceDiscardBytes = "device_discard_bytes", Bytes;
    /// The request size that most data calls asked for. Missing without data calls. Source: calls.
    ModalRequest = "modal_request_bytes", Bytes;
    /// Data and sync calls inside the window that failed. Source: calls.
    FailedCalls = "failed_calls", Count;
    /// Data calls inside the window that moved less than asked (end of file excluded: a read
    /// of 0 bytes, and a read that ends exactly at the highest offset seen). Source: calls.
    ShortCalls = "short_calls", Count;
    /// Bytes that the same pass moved after its clock had stopped (a stonewalled task). Source: calls.
    UntimedBytes = "untimed_bytes", Bytes;
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
    /// Length of the blocks that the phase is divided into: the largest of which 99 of 100 data calls move
    /// whole ones, wherever in the file these begin; `modal_request_bytes` where that would be less than a sector
    /// (512) or than a 1024th of it. Missing without data calls. Source: calls.
    BlockGrid = "block_grid_bytes", Bytes;
    /// Distinct blocks touched, of `block_grid_bytes`. Exact. Partial when offsets are not known. Source: calls.
    UniqueBlocks = "unique_blocks", Count;
    /// Blocks in the region touched: (highest end - lowest offset) / `block_grid_bytes`, per file, added. Source: calls.
    RegionBlocks = "region_blocks", Count;
    /// Hits of the most visited block. A call hits each block that it touches, once. Exact. Source: calls.
    MaxBlockHits = "max_block_hits", Count;
    /// Hits of the least visited block of those touched. Missing when none was. Source: calls.
    MinBlockHits = "min_block_hits", Count;
    /// Hits of all blocks / distinct blocks. Missing when none was touched. Source: calls.
    MeanBlockHits = "mean_block_hits", Count;
    /// The number of hits that most blocks have, of equally frequent ones the larger. Missing when none was touched. Source: calls.
    ModalBlockHits = "modal_block_hits", Count;
    /// Share of the distinct blocks that have exactly `modal_block_hits`. 1 means: each of them so often. Source: calls.
    ModalBlockHitsShare = "modal_block_hits_ratio", Ratio;
    /// Share of all hits that went to the most hit 1 % of the distinct blocks, rounded up to whole blocks: 0.01
    /// when all are hit alike. Missing when none was touched. Source: calls.
    HottestBlocksShare = "hottest_percent_hits_ratio", Ratio;
    /// Bytes that read calls of other phases returned from the phase's files, of calls that began and ended inside its
    /// window. The device counts by file, so that they are among its bytes. Absent where no other phase ran on the files
    /// at that time. Scope: file. Source: calls.
    OthersReadBytes = "others_read_bytes", Bytes;
    /// As above, bytes that their write calls accepted.
    OthersWriteBytes = "others_write_bytes", Bytes;
    /// Share of data bytes through descriptors with `O_DIRECT`. Counts what was asked for; none of a pass whose data
    /// moves through mappings alone. Source: calls.
    DirectShare = "direct_ratio", Ratio;
    /// Share of written bytes through descriptors with `O_SYNC` or `O_DSYNC`. Source: calls.
    SyncWriteShare = "sync_write_ratio", Ratio;
    /// Bytes of pages that entered the page cache for the phase's files inside the window, plus those of
    /// the same pass before it (priming and its readahead). Those that a process or thread of another phase
    /// brought in at the same time are not counted. Scope: file. Source: page cache probe.
    CacheInsertedBytes = "cache_inserted_bytes", Bytes;
    /// Bytes of pages that the phase's own processes put into the page cache for its files inside the window. Missing
    /// where other phases' threads of one of these processes were at the same files and any of them inserted pages. Scope:
    /// tree. Source: page cache probe.
    TaskInsertedBytes = "task_inserted_bytes", Bytes;
    /// The part of `cache_inserted_bytes` that entered the page cache inside the window. Scope: file. Source: page cache
    /// probe.
    WindowInsertedBytes = "cache_inserted_in_window_bytes", Bytes;
    /// Bytes that the phase's calls themselves read from storage. Scope: tree. Source: task I/O accounting.
    StorageReadBytes = "storage_read_bytes", Bytes;
    /// Bytes of the phase's files that were resident in the page cache when the window began, at
    /// least: distinct bytes read less bytes inserted. Scope: file. Source: calls and page cache probe.
    ResidentAtStart = "resident_at_start_bytes", Bytes;
    /// Data bytes of the phase's files read from the device inside the window. Scope: device. Source: block probe.
    DeviceReadBytes = "device_read_bytes", Bytes;
    /// Data bytes of the phase's files whose reading from the device was in progress inside the window: requests that
    /// completed in it, and those that were issued in it and completed later. Scope: device. Source: block probe.
    DeviceReadBegunBytes = "device_read_begun_bytes", Bytes;
    /// Data bytes of the phase's files completed at the device from the start of the window to its end. Scope: device.
    DeviceWriteBytes = "device_write_bytes", Bytes;
    /// As above, to the end of the sync that made them durable, or to the next pass over the file. Scope: device.
    DeviceWriteBytesDurable = "device_write_bytes_until_durable", Bytes;
    /// Data bytes that the devices below the target device read inside the window, at the layer that read least:
    /// what lies below a loop device, a device mapper or RAID, down to the disks. Counted are all requests but those of
    /// other processes and of files that are not the phase's; requests of kernel workers count, because they carry the
    /// data down. Absent where nothing lies below the target device. Scope: device. Source: block probe.
    BelowReadBytes = "below_device_read_bytes", Bytes;
    /// As above, bytes written. Scope: device.
    BelowWriteBytes = "below_device_write_bytes", Bytes;
    /// As above, for the time of `device_write_bytes_until_durable`. Scope: device.
    BelowWriteBytesDurable = "below_device_write_bytes_until_durable", Bytes;
    /// All bytes at the target device inside the window (for writes: until durable), whoever asked. Scope: device.
    DeviceTotalBytes = "device_total_bytes", Bytes;
    /// The part of them by processes outside the tree on files outside the run (file system
    /// metadata and journal do not count). Scope: device.
    ForeignBytes = "foreign_bytes", Bytes;
    /// Time in the window with at least one request in flight at the target device. Scope: device.
    DeviceBusy = "device_busy_ns", Ns;
    /// By how much `device_busy_ns` can be too small at most, because completions were not seen: the time in which the
    /// tasks' calls were on their way, where all data moved through direct I/O. Missing otherwise. Scope: device.
    DeviceBusyError = "device_busy_error_ns", Ns;
    /// Data requests of the phase's direction completed at the device for its files inside the window. Scope: device.
    DeviceRequests = "device_requests", Count;
    /// Mean time from issue to completion of those requests. Missing without requests. Scope: device.
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
    /// The longest of them. Exact. Scope: device.
    DeviceLatencyMax = "device_latency_max_ns", Ns;
    /// Requests with data of the phase's files that were in flight at the device, from issue to completion: the
    /// mean over the time of the window. 0 without requests. Partial when the issue or the completion of more
    /// than 1 % was not seen: too low then. Of several devices (btrfs): all together. Scope: device.
    DeviceQueueDepthMean = "device_queue_depth_mean", Count;
    /// The most of them in flight at once inside the window. Scope: device.
    DeviceQueueDepthMax = "device_queue_depth_max", Count;
    /// FLUSH requests that the target device completed from the start of the window to the end of
    /// the durable span. Scope: device.
    Flushes = "flushes", Count;
    /// Requests with FUA in the same span. Scope: device.
    FuaWrites = "fua_writes", Count;
    /// Successful syncs of the phase's files inside the window. Source: calls.
    SyncsInside = "syncs_inside", Count;
    /// From the start of the window to the end of the sync that made all bytes durable, inside or
    /// after the window. Missing when no sync did. Source: calls.
    DurableSpan = "durable_span_ns", Ns;
    /// Bytes written in the window that a sync (or `O_SYNC`, `O_DSYNC`, completed `O_DIRECT` writes) made durable,
    /// before the file was written again by a later pass, deleted, or the tool ended. Source: calls.
    SyncedBytes = "synced_bytes", Bytes;
    /// Bytes written in the window that none did. Source: calls.
    UnsyncedBytes = "unsynced_bytes", Bytes;
    /// On-CPU time in user mode of the phase's threads inside the window; for the whole run that of
    /// every task over its life. From the threads' running totals where these are known to within 1 %
    /// of the window; otherwise counted out between the recorded calls, then without the time before
    /// each thread's first one. Source: scheduler and calls.
    UserCpu = "user_cpu_ns", Ns;
    /// On-CPU time in the kernel of the phase's threads inside the window; for the whole run that of
    /// every task over its life. Page faults and interrupts count where the thread was. Counted out of the
    /// recorded calls it is without the calls that are not recorded. Source: as above.
    KernelCpu = "kernel_cpu_ns", Ns;
    /// Time of the phase's threads inside the window neither in user mode nor on CPU in the kernel:
    /// `blocked_ns` and `preempted_ns` together. Source: as above.
    OffCpu = "off_cpu_ns", Ns;
    /// Time of the phase's threads inside the window off CPU and not runnable, I/O wait included.
    /// Partial when `cpu_times_error_ns` is more than 1 % of the threads' windows. Source: scheduler.
    Blocked = "blocked_ns", Ns;
    /// The part of `blocked_ns` that the kernel counts as waiting for I/O. Source: scheduler.
    IoWait = "iowait_ns", Ns;
    /// Time of the phase's threads inside the window off CPU though runnable. Source: scheduler.
    Preempted = "preempted_ns", Ns;
    /// By how much each of the times above can be wrong at most. The totals are known whenever a thread
    /// comes back to a CPU (at most 500 times a second) and at each stack sample; in between they are
    /// interpolated to the window's ends. Absent for the whole run, whose totals are exact.
    CpuTimesError = "cpu_times_error_ns", Ns;
    /// Stack samples of the phase's threads while they were on a CPU inside the window. Source: samples.
    StackSamples = "stack_samples", Count;
    /// Share of these in user mode; the rest was in the kernel. Missing without samples. Source: samples.
    SampledUserShare = "sampled_user_ratio", Ratio;
    /// Time that the hypervisor gave to others during the window while a processor of this machine had
    /// something to run, added over the processors. The kernel counts it in ticks of 10 ms and it is read
    /// ten times a second. 0 also where there is no hypervisor. Scope: host. Source: `/proc/stat`.
    Steal = "steal_ns", Ns;
    /// `steal_ns` / (window x processors). Scope: host. Source: `/proc/stat`.
    StealShare = "steal_ratio", Ratio;
    /// By how much `steal_ns` can be wrong at most: what grew between the readings around the window's ends.
    /// Missing where readings are. Scope: host. Source: `/proc/stat`.
    StealError = "steal_error_ns", Ns;
    /// Data that somebody else had left to be written back (`Dirty` and `Writeback` of the whole host) when the
    /// window began: the least that was read from the run's begin to then. Partial where the tree itself had
    /// written before: at most so much then. Scope: host. Source: `/proc/meminfo`.
    ForeignDirtyAtStart = "foreign_dirty_at_start_bytes", Bytes;
    /// Pages swapped in and out between the last reading before the window and the first after it. Partial where
    /// some, or all, may have been before or after it. Scope: host. Source: `/proc/vmstat`.
    SwappedPages = "swapped_pages", Count;
    /// Time of the window in which all tasks of the host, or of the tree's control group, that had something to do
    /// waited for memory: the larger of both. Partial when known to no better than a part in 5,000 of the window.
    /// Scope: host. Source: `/proc/pressure/memory`, `memory.pressure`.
    MemoryStall = "memory_stalled_ns", Ns;
    /// `memory_stalled_ns` / `window_ns`. As above.
    MemoryStallShare = "memory_stalled_ratio", Ratio;
    /// By how much `memory_stalled_ns` can be wrong at most: what may have been just before or after the window.
    MemoryStallError = "memory_stalled_error_ns", Ns;
    /// Largest fall of the processors' mean frequency from a reading inside the window to a later one, as a share of
    /// the former. Absent where the host does not scale frequencies. Scope: host. Source: cpufreq.
    FrequencyDrop = "frequency_drop_ratio", Ratio;
    /// How often processors and their packages were slowed for heat during the window, at most: from the last reading
    /// before it to the first after it. Absent where the host does not count. Scope: host. Source: thermal_throttle.
    ThermalThrottles = "thermal_throttles", Count;
    /// Disks that said after the run that they are too hot, and did not before it. Absent without such sensors.
    /// Partial when not 0: when it began is not known. Scope: host. Source: hwmon.
    HotDisks = "hot_disks", Count;
    /// Bytes that the client of the phase's network file system received, at most: from the last reading before the
    /// window to the first after it. Where the file system does not count them: all that the host's network
    /// interfaces received. Absent for other file systems, missing where nothing counts (virtiofs, RDMA). Scope: host.
    NetworkReceived = "network_received_bytes", Bytes;
    /// Writes that began inside the window and of which the first 4 KiB were looked at, at most 256
    /// a second and CPU. Writes without memory of the process (splice, copy_file_range, mappings) are
    /// never among them. Source: payload.
    PayloadSamples = "payload_samples", Count;
    /// Share of these that were zeros alone. Missing without samples. Source: payload.
    PayloadZeroShare = "payload_zero_ratio", Ratio;
    /// Bytes that are left of them after zstd at its lowest level / bytes, each sample on its own:
    /// 1 does not become smaller, 0.5 half. Missing without samples. Source: payload.
    PayloadCompressed = "payload_compressed_ratio", Ratio;
    /// Share of these whose bytes another one of the phase had before, zeros included. What a device
    /// that looks at all writes finds again is at least as much. Missing without samples. Source: payload.
    PayloadDuplicates = "payload_duplicate_ratio", Ratio;
    /// Calls of a pass over names that count (see [`crate::phase::NameOperation`]) and succeeded, inside the
    /// window. Absent for passes of data. Source: calls.
    NameCalls = "name_calls", Count;
    /// The longest of them. Exact. Absent for passes of data, missing without such calls. Source: calls.
    NameLatencyMax = "name_latency_max_ns", Ns;
    /// Mean time of the successful syncs of the phase's files inside the window. The facts named `sync_latency` are
    /// absent without such syncs. The quantiles are at most 0.1 % too high. Source: calls.
    SyncLatencyMean = "sync_latency_mean_ns", Ns;
    /// Time that half of them do not exceed. Source: calls.
    SyncLatencyP50 = "sync_latency_p50_ns", Ns;
    /// As above, for 95 %. Source: calls.
    SyncLatencyP95 = "sync_latency_p95_ns", Ns;
    /// As above, for 99 %. Source: calls.
    SyncLatencyP99 = "sync_latency_p99_ns", Ns;
    /// As above, for 99.9 %. Source: calls.
    SyncLatencyP999 = "sync_latency_p999_ns", Ns;
    /// The longest of them. Exact. Source: calls.
    SyncLatencyMax = "sync_latency_max_ns", Ns;
    /// Time that 99.9 % of the calls which the phase's threads made inside the window to hand asynchronous requests
    /// over (`io_submit`, `io_uring_enter` with requests) do not exceed. At most 0.1 % too high. Absent without
    /// such calls. Source: calls.
    SubmitLatencyP999 = "submit_latency_p999_ns", Ns;
    /// Time that the phase's threads spent in `io_submit` inside the window, all calls together. Absent without
    /// such calls. Source: calls.
    SubmitTime = "io_submit_time_ns", Ns;
    /// Mean time of the asynchronous requests of the phase's direction from the return of the call that handed them
    /// over until the thread learned of their end: until the call that collected them returned (libaio), until the
    /// thread took the completion from its ring, which its next hand-over shows (io_uring). The facts named
    /// `completion_latency` and `collected_latency` are absent without such requests, partial where the hand-over of
    /// some was not seen. The quantiles are at most 0.1 % too high. Source: calls.
    CompletionLatencyMean = "completion_latency_mean_ns", Ns;
    /// Time that half of them do not exceed. Source: calls.
    CompletionLatencyP50 = "completion_latency_p50_ns", Ns;
    /// As above, for 95 %. Source: calls.
    CompletionLatencyP95 = "completion_latency_p95_ns", Ns;
    /// As above, for 99 %. Source: calls.
    CompletionLatencyP99 = "completion_latency_p99_ns", Ns;
    /// As above, for 99.9 %. Source: calls.
    CompletionLatencyP999 = "completion_latency_p999_ns", Ns;
    /// The longest of them. Exact. Source: calls.
    CompletionLatencyMax = "completion_latency_max_ns", Ns;
    /// Mean time of the same requests with the hand-over: from their submission on. Source: calls.
    CollectedLatencyMean = "collected_latency_mean_ns", Ns;
    /// The longest of them. Exact. Source: calls.
    CollectedLatencyMax = "collected_latency_max_ns", Ns;
    /// What `O_DIRECT` requests of the phase's direction inserted into the page cache, in bytes. Source: calls.
    DirectCachedBytes = "direct_cached_bytes", Bytes;
    /// mmap calls on the phase's files inside the pass: data that moves without calls. Source: calls.
    Mappings = "mappings", Count;
    /// msync calls inside the window. Source: calls.
    Msyncs = "msyncs", Count;
    /// Sum over the tasks of the length of their own windows. Source: calls.
    TaskWindows = "task_windows_ns", Ns;
    /// Length of the longest of the tasks' own windows; `window_ns` for one task. Source: calls.
    LongestTask = "longest_task_window_ns", Ns;
    /// The part of `task_windows_ns` in which at least one of the task's data calls, asynchronous requests or syncs was on its
    /// way: from entry to exit, or from submission to collection. Scope: tree. Source: calls.
    InFlight = "calls_in_flight_ns", Ns;
    /// Bytes in the phase's direction of the task that moved the fewest, inside its own window; tasks that moved none
    /// are left out, as iozone leaves them out. Missing where no task moved any. Source: calls.
    MinTaskBytes = "min_task_bytes", Bytes;
    /// Rate at which calls moved data of the phase's direction in the first fifth of the time in which all its tasks
    /// were at work; what took a while counts evenly over it. Missing when they were at work together for less
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
    /// Standard error of the difference between the first and the last of these. Scope: device.
    DeviceFifthsError = "device_throughput_fifths_error_bytes_per_sec", BytesPerSec;
    /// Smallest number of bytes that a read call inside the window asked for, failed ones included. The facts
    /// named `read_` from here on are absent without read calls. Source: calls.
    ReadSizeMin = "read_size_min_bytes", Bytes;
    /// Largest number of bytes that a read call asked for. Source: calls.
    ReadSizeMax = "read_size_max_bytes", Bytes;
    /// Mean number of bytes that the read calls asked for. Source: calls.
    ReadSizeMean = "read_size_mean_bytes", Bytes;
    /// The number of bytes that most read calls asked for, of equally frequent ones the larger. Source: calls.
    ReadSizeModal = "read_size_modal_bytes", Bytes;
    /// Share of the read calls that asked for exactly `read_size_modal_bytes`. Source: calls.
    ReadSizeModalShare = "read_size_modal_ratio", Ratio;
    /// Distinct numbers of bytes that read calls asked for. Partial above 65,536, a lower bound then. Source: calls.
    ReadSizes = "read_sizes", Count;
    /// Share of the read calls that begin where the call before them ended. "Before" is in the same stream: one
    /// thread's read calls through one descriptor on one file. The five shares add up to 1; each stream's first call,
    /// and calls that moved nothing, are in none. Missing when no stream has a second call, partial when offsets
    /// are not known. Threads that share a file position look strided or random. Source: calls.
    ReadSequential = "read_sequential_ratio", Ratio;
    /// Share that ends where the call before it began. Source: calls.
    ReadBackward = "read_backward_ratio", Ratio;
    /// Share that is none of the others and has the same gap (from the end of the call before) as a neighbour in
    /// the stream. Source: calls.
    ReadStrided = "read_strided_ratio", Ratio;
    /// Share that begins where the call before it began. Source: calls.
    ReadRepeated = "read_repeated_ratio", Ratio;
    /// Share that is none of these. Source: calls.
    ReadRandom = "read_random_ratio", Ratio;
    /// Mean time from entry to exit of the read calls inside the window that were timed; for asynchronous requests
    /// from submission to collection. Source: calls.
    ReadLatencyMean = "read_latency_mean_ns", Ns;
    /// How many read calls inside the window were timed from their entry: all, or of fast ones a sample. Source: calls.
    ReadLatencyTimed = "read_latency_timed", Count;
    /// Time from entry to exit that half of the read calls inside the window do not exceed. Failed calls do not
    /// count; absent when all failed. The quantiles are at most 0.1 % too high. Source: calls.
    ReadLatencyP50 = "read_latency_p50_ns", Ns;
    /// As above, for 95 %. Source: calls.
    ReadLatencyP95 = "read_latency_p95_ns", Ns;
    /// As above, for 99 %. Source: calls.
    ReadLatencyP99 = "read_latency_p99_ns", Ns;
    /// As above, for 99.9 %. Source: calls.
    ReadLatencyP999 = "read_latency_p999_ns", Ns;
    /// The longest read call. Exact. Source: calls.
    ReadLatencyMax = "read_latency_max_ns", Ns;
    /// Smallest number of bytes that a write call inside the window asked for, failed ones included. The facts
    /// named `write_` from here on are absent without write calls. Source: calls.
    WriteSizeMin = "write_size_min_bytes", Bytes;
    /// Largest number of bytes that a write call asked for. Source: calls.
    WriteSizeMax = "write_size_max_bytes", Bytes;
    /// Mean number of bytes that the write calls asked for. Source: calls.
    WriteSizeMean = "write_size_mean_bytes", Bytes;
    /// The number of bytes that most write calls asked for, of equally frequent ones the larger. Source: calls.
    WriteSizeModal = "write_size_modal_bytes", Bytes;
    /// Share of the write calls that asked for exactly `write_size_modal_bytes`. Source: calls.
    WriteSizeModalShare = "write_size_modal_ratio", Ratio;
    /// Distinct numbers of bytes that write calls asked for. Partial above 65,536, a lower bound then. Source: calls.
    WriteSizes = "write_sizes", Count;
    /// Share of the write calls that begin where the call before them ended. "Before" is in the same stream: one
    /// thread's write calls through one descriptor on one file. The five shares add up to 1; each stream's first call,
    /// and calls that moved nothing, are in none. Missing when no stream has a second call, partial when offsets
    /// are not known. Threads that share a file position look strided or random. Source: calls.
    WriteSequential = "write_sequential_ratio", Ratio;
    /// Share that ends where the call before it began. Source: calls.
    WriteBackward = "write_backward_ratio", Ratio;
    /// Share that is none of the others and has the same gap (from the end of the call before) as a neighbour in
    /// the stream. Source: calls.
    WriteStrided = "write_strided_ratio", Ratio;
    /// Share that begins where the call before it began. Source: calls.
    WriteRepeated = "write_repeated_ratio", Ratio;
    /// Share that is none of these. Source: calls.
    WriteRandom = "write_random_ratio", Ratio;
    /// Mean time from entry to exit of the write calls inside the window that were timed; for asynchronous requests
    /// from submission to collection. Source: calls.
    WriteLatencyMean = "write_latency_mean_ns", Ns;
    /// How many write calls inside the window were timed from their entry: all, or of fast ones a sample. Source: calls.
    WriteLatencyTimed = "write_latency_timed", Count;
    /// Time from entry to exit that half of the write calls inside the window do not exceed. Failed calls do not
    /// count; absent when all failed. The quantiles are at most 0.1 % too high. Source: calls.
    WriteLatencyP50 = "write_latency_p50_ns", Ns;
    /// As above, for 95 %. Source: calls.
    WriteLatencyP95 = "write_latency_p95_ns", Ns;
    /// As above, for 99 %. Source: calls.
    WriteLatencyP99 = "write_latency_p99_ns", Ns;
    /// As above, for 99.9 %. Source: calls.
    WriteLatencyP999 = "write_latency_p999_ns", Ns;
    /// The longest write call. Exact. Source: calls.
    WriteLatencyMax = "write_latency_max_ns", Ns;
}

/// The facts of one phase by name; a name that is absent was not computed for this phase
/// (not applicable), which is not the same as `Missing`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Facts(pub BTreeMap<FactName, Fact>);

impl Facts {
    /// Adds or replaces a fact.
    pub fn insert(&mut self, name: FactName, fact: Fact) {
        self.0.insert(name, fact);
    }

    /// The fact, if it was computed.
    pub fn get(&self, name: FactName) -> Option<&Fact> {
        self.0.get(&name)
    }

    /// The number of a fact that was seen whole; `Err` says what is in the way.
    ///
    /// # Errors
    /// When the fact was not computed, is missing, or is partial.
    pub fn complete(&self, name: FactName) -> Result<f64, String> {
        match self.get(name) {
            None => Err(format!("{} was not computed for this phase", name.as_str())),
            Some(Fact { value: Some(quantity), completeness: Completeness::Complete, .. }) => Ok(quantity.value),
            Some(Fact { completeness: Completeness::Partial(lost), .. }) => {
                Err(format!("{} is partial: {lost}", name.as_str()))
            }
            Some(Fact { completeness: Completeness::Missing(why), .. }) => {
                Err(format!("{} is missing: {why}", name.as_str()))
            }
            Some(Fact { value: None, .. }) => Err(format!("{} has no value", name.as_str())),
        }
    }
}

/// How often the blocks of one file were hit in one direction, over a whole run.
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
    /// Of the calls: those whose offset is not known; their blocks are not counted.
    pub unplaced_calls: u64,
    /// Length of a block: the largest of which the calls move whole ones, where there is such a one.
    pub block_bytes: u64,
    /// Blocks that were hit.
    pub blocks: u64,
    /// Fewest hits of a block that was hit.
    pub hits_least: u64,
    /// Hits a block.
    pub hits_mean: f64,
    /// Most hits of a block.
    pub hits_most: u64,
    /// The number of hits that most blocks have.
    pub hits_usual: u64,
    /// Blocks that have it.
    pub blocks_with_usual: u64,
    /// Share of the hits that went to the most hit hundredth of the blocks, from 0 to 1.
    pub hottest_percent_share: f64,
}
