//! The time series of a phase, and where it moved data: the figures behind the charts.
//!
//! A timeline has a bounded number of figures, however long the phase. It explains a verdict but is not judged: only
//! facts are.

use serde::{Deserialize, Serialize};

use crate::call::FileId;
use crate::fact::{Completeness, Scope};
use crate::units::Unit;

/// The time series of one phase: from shortly before its window to the end of the syncs that belong to it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Timeline {
    /// [`crate::phase::Phase::id`].
    pub phase: String,
    /// Start of the first step (`CLOCK_MONOTONIC`).
    pub start_ns: u64,
    /// Length of a step, above 0.
    pub step_ns: u64,
    /// Number of steps, above 0: the length of every series that is not missing.
    pub steps: usize,
    /// One entry per [`TimelineFigure`], in that order.
    pub series: Vec<TimelineSeries>,
    /// Syncs of the phase's files inside the timeline, in order of time; only the longest where there are many.
    pub syncs: Vec<SyncMark>,
    /// Syncs that were left out.
    pub syncs_left_out: u64,
    /// Latencies of calls and device requests.
    pub latencies: Vec<LatencyHistogram>,
    /// Where the phase's calls moved data, one map per file; the first files of the phase.
    pub maps: Vec<OffsetMap>,
    /// Number of files of the phase without a map here.
    pub files_left_out: usize,
}

impl Timeline {
    /// Returns a series by name; `None` only in a timeline that another version made.
    pub fn series(&self, name: TimelineFigure) -> Option<&TimelineSeries> {
        self.series.iter().find(|series| series.name == name)
    }
}

macro_rules! timeline_names {
    ($($(#[doc = $doc:literal])* $variant:ident = $name:literal, $unit:ident, $scope:ident;)*) => {
        /// The name of a series of a timeline. Serialised names include the unit.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum TimelineFigure { $($(#[doc = $doc])* #[serde(rename = $name)] $variant,)* }

        impl TimelineFigure {
            /// Every name.
            pub const ALL: &'static [TimelineFigure] = &[$(TimelineFigure::$variant,)*];
            /// Returns the name as serialised.
            pub fn as_str(self) -> &'static str { match self { $(TimelineFigure::$variant => $name,)* } }
            /// Returns the unit of its values.
            pub fn unit(self) -> Unit { match self { $(TimelineFigure::$variant => Unit::$unit,)* } }
            /// Returns its meaning: sentences.
            pub fn meaning(self) -> &'static str {
                match self { $(TimelineFigure::$variant => concat!($($doc),*).trim_ascii(),)* }
            }
            /// Returns the scope of what it counts.
            pub fn scope(self) -> Scope { match self { $(TimelineFigure::$variant => Scope::$scope,)* } }
        }
    };
}

timeline_names! {
    /// Bytes that the phase's read calls returned, spread evenly over the time of each call. Source: calls.
    CallReadRate = "call_read_bytes_per_sec", BytesPerSec, Tree;
    /// Bytes that the phase's write calls accepted, spread evenly over the time of each call. Source: calls.
    CallWriteRate = "call_write_bytes_per_sec", BytesPerSec, Tree;
    /// The phase's read and write calls that ended. Source: calls.
    CallRate = "calls_per_sec", OpsPerSec, Tree;
    /// Data of the phase's files read from the device, spread over the time of each request. Source: block probe.
    DeviceReadRate = "device_read_bytes_per_sec", BytesPerSec, Device;
    /// Data of the phase's files written to the device, spread over the time of each request. Source: block probe.
    DeviceWriteRate = "device_write_bytes_per_sec", BytesPerSec, Device;
    /// Requests with data of the phase's files in flight, mean over the step. Missing where the device takes bios.
    DeviceQueueDepth = "device_queue_depth", Count, Device;
    /// Bytes of the phase's files that entered the page cache. Source: page-cache probe.
    CacheInsertedRate = "cache_inserted_bytes_per_sec", BytesPerSec, File;
    /// Dirty pages of the whole host at the middle of the step, interpolated between readings. Source: `/proc/meminfo`.
    HostDirtyBytes = "host_dirty_bytes", Bytes, Host;
    /// Share of the phase's threads' time on CPU in user mode; missing outside the window. Source: scheduler.
    UserRatio = "user_cpu_ratio", Ratio, Tree;
    /// Share of the phase's threads' time on CPU in the kernel; missing outside the window. Source: scheduler.
    KernelRatio = "kernel_cpu_ratio", Ratio, Tree;
    /// Share of the phase's threads' time in I/O wait; missing outside the window. Source: scheduler.
    IoWaitRatio = "iowait_ratio", Ratio, Tree;
    /// Share of the phase's threads' time waiting for something other than I/O; missing outside the window.
    BlockedRatio = "blocked_ratio", Ratio, Tree;
    /// Share of the phase's threads' time in which they could run and waited for a CPU; missing outside the window.
    PreemptedRatio = "preempted_ratio", Ratio, Tree;
}

/// One quantity over the steps of a timeline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TimelineSeries {
    /// Name of the series.
    pub name: TimelineFigure,
    /// How much of it was observed.
    pub completeness: Completeness,
    /// One value per step, in the name's unit; `None` where it is unknown for that step. Empty when the series is
    /// missing.
    pub values: Vec<Option<f64>>,
}

/// A sync of one of the phase's files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SyncMark {
    /// The call: `fsync`.
    pub call: String,
    /// Its start.
    pub start_ns: u64,
    /// Its end.
    pub end_ns: u64,
}

/// Distribution of the latencies of calls or requests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LatencyHistogram {
    /// The operations that were measured.
    pub of: LatencyOf,
    /// How much of it was observed.
    pub completeness: Completeness,
    /// Ten per decade, ascending and without gaps; empty when there are no latencies.
    pub buckets: Vec<LatencyBucket>,
}

/// The kind of operation that has a latency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LatencyOf {
    /// The phase's calls that read or write: *total* latency.
    Calls,
    /// Requests at the device with the phase's data: issue to *completion*.
    Device,
}

/// The number of latencies in one range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LatencyBucket {
    /// Lower end, included.
    pub from_ns: u64,
    /// Upper end, excluded.
    pub to_ns: u64,
    /// Number of latencies.
    pub count: u64,
}

/// How often, and when, each part of a file was touched.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OffsetMap {
    /// The file.
    pub file: FileId,
    /// Its last name; `None` when no name was seen.
    pub name: Option<String>,
    /// Bytes of the file in one row, above 0; the first row begins at byte 0.
    pub row_bytes: u64,
    /// Steps of the timeline in one column, above 0.
    pub column_steps: usize,
    /// Hits by row, from the start of the file, and in each row by column. A call hits each row of which it touches
    /// a byte, in the column in which it ended.
    pub hits: Vec<Vec<u64>>,
}
