//! One adapter file a benchmark: its command line, its output turned into claims, its
//! calls turned into phases.
//!
//! An adapter never judges and never measures: it says what was promised, what was
//! printed, and which span of the observed calls the tool's own clock covered.
//! To add one: a file here, a line in [`ADAPTERS`], a folder below `fixtures/`.

pub mod iozone;

use activebench_model::activity::Activity;
use activebench_model::claim::{Parsed, Subject, ToolOutput};
use activebench_model::command::CommandLine;
use activebench_model::phase::Phase;

/// Every adapter, in the order in which they are asked.
pub const ADAPTERS: &[&dyn Adapter] = &[&iozone::Iozone];

/// What activebench knows of one benchmark.
pub trait Adapter: Sync {
    /// The tool's name in lower case: `iozone`.
    fn name(&self) -> &'static str;

    /// Whether an executed file is this tool, by its file name without folder.
    fn is_program(&self, file_name: &str) -> bool;

    /// Reads the tool's output. Never fails: what cannot be read becomes a note, and no
    /// claim is made that the output does not state. `command` is the tool's own command
    /// line (without wrappers), `subject` the user's `--subject`.
    fn parse(&self, command: &CommandLine, output: &ToolOutput, subject: Option<Subject>) -> Parsed;

    /// Finds the passes of the tool in the observed calls: one phase for each phase that a
    /// claim names, with the window that the tool's clock covered. A pass that is not found
    /// gives a phase without parts that says so in `incomplete`.
    fn phases(&self, command: &CommandLine, parsed: &Parsed, activity: &Activity) -> Vec<Phase>;
}

/// The adapter whose program this is; `None` for a tool without adapter.
pub fn adapter_for_program(file_name: &str) -> Option<&'static dyn Adapter> {
    ADAPTERS.iter().copied().find(|adapter| adapter.is_program(file_name))
}

/// The adapter of a name as printed by [`Adapter::name`].
pub fn adapter_by_name(name: &str) -> Option<&'static dyn Adapter> {
    ADAPTERS.iter().copied().find(|adapter| adapter.name() == name)
}
