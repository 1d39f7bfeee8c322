//! Passes that are found in the I/O itself, for a program that no adapter knows.

use crate::direction::Direction;
use crate::phase::NameOperation;

/// A run of like operations on a file or on several files.
#[derive(Clone, Debug, PartialEq)]
pub struct ObservedPass {
    /// For a person: `write of data.bin`, `read of 8 files`.
    pub name: String,
    /// Direction of the data; `Mixed` for reads and writes together, `None` for operations on names.
    pub direction: Direction,
    /// The operation on names; `None` for a pass of data.
    pub names: Option<NameOperation>,
    /// Bytes that the calls moved.
    pub bytes: u64,
    /// Data calls, or calls on names.
    pub calls: u64,
    /// Descriptors through which the data went: a file that was opened twice counts twice.
    pub opens: u64,
    /// True if all descriptors were opened with `O_DIRECT`.
    pub is_direct: bool,
    /// True if all descriptors were opened with `O_SYNC` or `O_DSYNC`.
    pub is_synchronous: bool,
    /// How the processes can have been timed, each over its own time, if several moved data; empty otherwise.
    pub task_clocks: Vec<TaskClock>,
    /// The spans that the program can have timed, at least one: first the one from the first data call to the last.
    pub windows: Vec<ObservedWindow>,
    /// The place in the list of passes of the smallest pass that has all calls of this one and more; always after it.
    pub parent: Option<usize>,
}

/// A span of a pass that a program can have timed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObservedWindow {
    /// Identifier of the phase with this window, unique in the run.
    pub phase: String,
    /// What it covers, in words: `first write to last write`.
    pub clock: String,
    /// Start.
    pub start_ns: u64,
    /// End, after the start.
    pub end_ns: u64,
    /// True if all that was written was synced inside.
    pub has_sync: bool,
}

impl ObservedWindow {
    /// Returns the identifier of its phase where so many calls are one operation, or each process has its own figure.
    pub fn phase_of(&self, calls: u64, each_task: Option<&TaskClock>) -> String {
        let by = if calls > 1 { format!("-by-{calls}") } else { String::new() };
        format!("{}{by}{}", self.phase, each_task.map_or_else(String::new, TaskClock::suffix))
    }

    /// Returns its length.
    pub fn duration_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.start_ns)
    }
}

/// A way in which each process of a pass can have been timed.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskClock {
    /// Where the time of a process begins.
    pub start: TaskStart,
    /// Where it ends.
    pub end: TaskEnd,
    /// Bytes per second of each process.
    pub rates: Vec<f64>,
    /// The end of the last of these times.
    pub end_ns: u64,
    /// The share by which a rate can be wrong, because it is not known which call was the last one that counts.
    pub unsure: f64,
}

/// Where the time of a process begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskStart {
    /// At its first data call.
    FirstCall,
    /// When the last process had opened its file: they waited for one another.
    AllOpen,
}

/// Where the time of a process ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskEnd {
    /// With its last data call.
    LastCall,
    /// With the sync behind it.
    Sync,
    /// With the close.
    Close,
    /// With the call that it was in when the first process had finished; that call does not count.
    FirstFinished,
    /// With the sync behind that call, which counts.
    SyncOfFirstFinished,
}

impl TaskClock {
    /// Returns the end of the identifier of its phases.
    fn suffix(&self) -> String {
        let from = match self.start {
            TaskStart::FirstCall => "",
            TaskStart::AllOpen => "-since-all-open",
        };
        let until = match self.end {
            TaskEnd::LastCall => "",
            TaskEnd::Sync => "-with-sync",
            TaskEnd::Close => "-with-close",
            TaskEnd::FirstFinished => "-until-first-finished",
            TaskEnd::SyncOfFirstFinished => "-until-first-finished-with-sync",
        };
        format!("-of-each{from}{until}")
    }
}
