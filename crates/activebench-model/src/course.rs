//! What happened in a phase over time, and where: the figures behind the charts.
//!
//! A course has a bounded number of figures, however long the phase. It explains a verdict and is none: what is judged
//! are the facts.

use serde::{Deserialize, Serialize};

use crate::call::FileId;
use crate::fact::{Completeness, Scope};
use crate::units::Unit;

/// The course of one phase: from shortly before its window to the end of the syncs that belong to it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Course {
    /// [`crate::phase::Phase::id`].
    pub phase: String,
    /// When the first step begins (`CLOCK_MONOTONIC`).
    pub start_ns: u64,
    /// Length of a step, above 0.
    pub step_ns: u64,
    /// How many steps there are, above 0: the length of every series that is not missing.
    pub steps: usize,
    /// One entry a [`CourseName`], in that order.
    pub series: Vec<CourseSeries>,
    /// Syncs of the phase's files inside the course, in order of time; the longest where there are many.
    pub syncs: Vec<SyncMark>,
    /// Syncs that were left out.
    pub syncs_left_out: u64,
    /// How long calls and device requests took.
    pub latencies: Vec<LatencyHistogram>,
    /// Where the phase's calls moved data, a map a file; the first files of the phase.
    pub maps: Vec<OffsetMap>,
    /// Files of the phase that have no map here.
    pub files_left_out: usize,
}

impl Course {
    /// A series by name; `None` only in a course that another version made.
    pub fn series(&self, name: CourseName) -> Option<&CourseSeries> {
        self.series.iter().find(|series| series.name == name)
    }
}

macro_rules! course_names {
    ($($(#[$doc:meta])* $variant:ident = $name:literal, $unit:ident, $scope:ident;)*) => {
        /// What a series of a course is. Serialised names carry the unit.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum CourseName { $($(#[$doc])* #[serde(rename = $name)] $variant,)* }

        impl CourseName {
            /// Every one.
            pub const ALL: &'static [CourseName] = &[$(CourseName::$variant,)*];
            /// The name as serialised.
            pub fn as_str(self) -> &'static str { match self { $(CourseName::$variant => $name,)* } }
            /// The unit of its values.
            pub fn unit(self) -> Unit { match self { $(CourseName::$variant => Unit::$unit,)* } }
            /// What it counts.
            pub fn scope(self) -> Scope { match self { $(CourseName::$variant => Scope::$scope,)* } }
        }
    };
}

course_names! {
    /// Bytes that the phase's read calls returned, spread evenly over the time of each call. Source: calls.
    CallReadRate = "call_read_bytes_per_sec", BytesPerSec, Tree;
    /// Bytes that the phase's write calls accepted, as above.
    CallWriteRate = "call_write_bytes_per_sec", BytesPerSec, Tree;
    /// The phase's reads and writes that ended. Source: calls.
    CallRate = "calls_per_sec", OpsPerSec, Tree;
    /// Data of the phase's files read from the device, spread over the time of each request. Source: block probe.
    DeviceReadRate = "device_read_bytes_per_sec", BytesPerSec, Device;
    /// Data of the phase's files written to the device, as above.
    DeviceWriteRate = "device_write_bytes_per_sec", BytesPerSec, Device;
    /// Requests with data of the phase's files in flight, mean over the step. Missing where the device takes bios.
    DeviceQueueDepth = "device_queue_depth", Count, Device;
    /// Bytes of the phase's files that entered the page cache. Source: page-cache probe.
    CacheInsertedRate = "cache_inserted_bytes_per_sec", BytesPerSec, File;
    /// Dirty pages of the whole host, at the middle of the step, between readings. Source: `/proc/meminfo`.
    HostDirtyBytes = "host_dirty_bytes", Bytes, Host;
    /// Share of the phase's threads' time on a processor in user mode; none outside of the window. Source: scheduler.
    UserRatio = "user_cpu_ratio", Ratio, Tree;
    /// The same in the kernel.
    KernelRatio = "kernel_cpu_ratio", Ratio, Tree;
    /// The same in I/O wait.
    IoWaitRatio = "iowait_ratio", Ratio, Tree;
    /// The same off the processor and waiting for something else than I/O.
    BlockedRatio = "blocked_ratio", Ratio, Tree;
    /// The same ready to run, while another task had the processor.
    PreemptedRatio = "preempted_ratio", Ratio, Tree;
}

/// One quantity over the steps of a course.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CourseSeries {
    /// What it is.
    pub name: CourseName,
    /// How much of it was seen.
    pub completeness: Completeness,
    /// One value a step, in the name's unit; `None` where it is not known for that step. Empty when it is missing.
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

/// How many calls or requests took how long.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LatencyHistogram {
    /// Whose.
    pub of: LatencyOf,
    /// How much of it was seen.
    pub completeness: Completeness,
    /// Ten a decade, ascending and without gaps; empty without a single latency.
    pub buckets: Vec<LatencyBucket>,
}

/// What a latency is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LatencyOf {
    /// The phase's calls that read or write: *total* latency.
    Calls,
    /// Requests at the device with the phase's data: issue to *completion*.
    Device,
}

/// Latencies of one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LatencyBucket {
    /// From this on.
    pub from_ns: u64,
    /// Below this.
    pub to_ns: u64,
    /// How many.
    pub count: u64,
}

/// How often each part of a file was touched, and when.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OffsetMap {
    /// The file.
    pub file: FileId,
    /// Its last name; `None` when it was not seen.
    pub name: Option<String>,
    /// Bytes of the file in one row, above 0; the first row begins at byte 0.
    pub row_bytes: u64,
    /// Steps of the course in one column, above 0.
    pub column_steps: usize,
    /// Hits by row, from the begin of the file, and in each row by column. A call hits the rows that it touches a
    /// byte of, in the column in which it ended.
    pub hits: Vec<Vec<u64>>,
}
