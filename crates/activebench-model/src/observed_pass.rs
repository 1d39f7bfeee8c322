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
    /// Bytes per second of each process over its own time, if several moved data; empty otherwise.
    pub task_rates: Vec<f64>,
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
    pub fn phase_of(&self, calls: u64, each_task: bool) -> String {
        let by = if calls > 1 { format!("-by-{calls}") } else { String::new() };
        format!("{}{by}{}", self.phase, if each_task { "-of-each" } else { "" })
    }

    /// Returns its length.
    pub fn duration_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.start_ns)
    }
}
