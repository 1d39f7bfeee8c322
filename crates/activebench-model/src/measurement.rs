//! The measurements of a command that started known tools: a script may run a benchmark eight times.

use serde::{Deserialize, Serialize};

use crate::command::CommandLine;

/// One execution of a known tool that measured.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Measurement {
    /// Its number in the run, from 1, in the order of the executions.
    pub number: u32,
    /// Name of the tool's adapter.
    pub tool: String,
    /// The tool's own command line.
    pub command: CommandLine,
    /// The process that executed it.
    pub tgid: u32,
    /// Its execution, monotonic.
    pub started_ns: u64,
    /// End of its last process, monotonic; `None` when one outlived the observation.
    pub ended_ns: Option<u64>,
    /// Wait status of its process (`exit code << 8 | signal`); `None` when it outlived the observation.
    pub exit_status: Option<i32>,
    /// Its processes, ascending.
    pub tgids: Vec<u32>,
    /// Bytes that it wrote to its standard output and standard error and that were not kept, at least.
    pub missing_output_bytes: u64,
}

impl Measurement {
    /// Returns `true` if a process belongs to it at a time.
    pub fn includes(&self, tgid: u32, at_ns: u64) -> bool {
        let begun = at_ns >= self.started_ns && self.ended_ns.is_none_or(|ended_ns| at_ns <= ended_ns);
        begun && self.tgids.binary_search(&tgid).is_ok()
    }

    /// Returns `true` if another one ran at the same time.
    pub fn overlaps(&self, other: &Measurement) -> bool {
        let ends_after = |one: &Measurement, at_ns: u64| one.ended_ns.is_none_or(|ended_ns| ended_ns > at_ns);
        ends_after(self, other.started_ns) && ends_after(other, self.started_ns)
    }

    /// Returns `true` if an identifier of a phase or claim is one of its own.
    pub fn owns(&self, id: &str) -> bool {
        id.starts_with(&self.prefix())
    }

    /// Returns its exit code and the signal that ended it; `None` of both when it outlived the observation.
    pub fn end(&self) -> (Option<i32>, Option<i32>) {
        match self.exit_status {
            None => (None, None),
            Some(status) if status & 0x7f != 0 => (None, Some(status & 0x7f)),
            Some(status) => (Some((status >> 8) & 0xff), None),
        }
    }

    /// Returns what stands before the identifiers of its phases: `2-`.
    pub fn prefix(&self) -> String {
        format!("{}-", self.number)
    }
}
