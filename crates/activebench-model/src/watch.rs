//! What a run holds of a watch: the observation of processes that ran before it began (`activebench watch`).

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::call::{FileId, FileKind};

/// A watch. Nothing that happened before [`Watch::began_ns`] is known but what is listed here.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Watch {
    /// What the user named.
    pub target: WatchTarget,
    /// Why it ended; `None` where activebench was killed.
    pub end: Option<WatchEnd>,
    /// `CLOCK_MONOTONIC` before the first thread was followed.
    pub began_ns: u64,
    /// `CLOCK_MONOTONIC` when every thread that was found at the beginning was followed.
    pub following_ns: u64,
    /// Time between two looks for processes that enter a control group, in nanoseconds; 0 where nobody looks, because the
    /// kernel follows every child.
    pub poll_ns: u64,
    /// Processes that ran when the watch of them began, in the order in which they were found.
    pub processes: Vec<WatchedProcess>,
    /// Files that were open then. Sockets, pipes and other descriptors are not listed.
    pub open: Vec<OpenFile>,
    /// Shared mappings of files that existed then. What is read and written through them shows in no call.
    pub mapped: Vec<MappedFile>,
    /// What is not watched, or not known, as sentences.
    pub gaps: Vec<String>,
}

/// What is watched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind", content = "name")]
pub enum WatchTarget {
    /// A process and its descendants, by its id.
    Pid(u32),
    /// The processes of a control group and of those below it, by its path.
    Cgroup(String),
    /// The same of a unit of systemd, by its name.
    Unit(String),
}

impl Default for WatchTarget {
    fn default() -> Self {
        Self::Pid(0)
    }
}

impl fmt::Display for WatchTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WatchTarget::Pid(pid) => write!(f, "process {pid}"),
            WatchTarget::Cgroup(path) => write!(f, "control group {path}"),
            WatchTarget::Unit(name) => write!(f, "unit {name}"),
        }
    }
}

/// Why a watch ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WatchEnd {
    /// The process ended, or the control group has no process any more.
    TargetEnded,
    /// The time of `--for` was over.
    TimeOver,
    /// The user interrupted it.
    Interrupted,
    /// activebench was asked to end.
    Terminated,
    /// activebench's terminal was closed.
    HungUp,
}

impl WatchEnd {
    /// Returns the reason as a fragment: `the process ended`.
    pub const fn as_str(self) -> &'static str {
        match self {
            WatchEnd::TargetEnded => "what was watched ended",
            WatchEnd::TimeOver => "its time was over",
            WatchEnd::Interrupted => "it was interrupted",
            WatchEnd::Terminated => "activebench was asked to end",
            WatchEnd::HungUp => "the terminal was closed",
        }
    }
}

/// A process that ran when the watch of it began.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchedProcess {
    /// Its id.
    pub pid: u32,
    /// The process that started it.
    pub parent: u32,
    /// `CLOCK_MONOTONIC` when its threads were followed.
    pub at_ns: u64,
    /// Threads that were followed.
    pub threads: u32,
    /// Its command line; empty for one that has none.
    pub argv: Vec<String>,
}

/// A file that was open when the watch of its process began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenFile {
    /// The process.
    pub pid: u32,
    /// Its descriptor.
    pub fd: i32,
    /// The file.
    pub file: FileId,
    /// Its kind.
    pub kind: FileKind,
    /// Its path then; the kernel adds ` (deleted)` to the path of a file without a name.
    pub path: String,
    /// The position then.
    pub position: u64,
    /// `O_*` flags.
    pub flags: u32,
}

/// A shared mapping of a file that existed when the watch of its process began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MappedFile {
    /// The process.
    pub pid: u32,
    /// The file.
    pub file: FileId,
    /// Its path then.
    pub path: String,
    /// First byte of the file that is mapped.
    pub offset: u64,
    /// Length.
    pub bytes: u64,
    /// `true` if the process can write through it.
    pub writable: bool,
}
