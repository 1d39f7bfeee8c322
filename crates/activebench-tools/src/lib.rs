//! One adapter file a benchmark: its command line, its output turned into claims, its
//! calls turned into phases.
//!
//! An adapter never judges and never measures: it says what was promised, what was
//! printed, and which span of the observed calls the tool's own clock covered.
//! To add one: a file here, a line in [`ADAPTERS`], a folder below `fixtures/`.

pub mod bonnie;
pub mod fio;
pub mod iozone;
pub mod orion;
mod syncs;

use activebench_model::activity::Activity;
use activebench_model::advice::{Advisor, NoAdvisor};
use activebench_model::claim::{Metric, Parsed, Subject};
use activebench_model::command::CommandLine;
use activebench_model::output::{ToolFile, ToolOutput};
use activebench_model::phase::{Direction, Phase};

/// Every adapter, in the order in which they are asked.
pub const ADAPTERS: &[&dyn Adapter] = &[&iozone::Iozone, &bonnie::Bonnie, &fio::Fio, &orion::Orion];

/// What activebench knows of one benchmark. What to change in its command is in the file `advice` of each adapter.
pub trait Adapter: Advisor {
    /// The tool's name in lower case: `iozone`.
    fn name(&self) -> &'static str;

    /// Whether an executed file is this tool, by its file name without folder.
    fn is_program(&self, file_name: &str) -> bool;

    /// Whether an output is this tool's beyond doubt: it names itself there. By this a tool is known whose file has
    /// another name.
    fn wrote(&self, _output: &ToolOutput) -> bool {
        false
    }

    /// Reads the tool's output. Never fails: what cannot be read becomes a note, and no
    /// claim is made that the output does not state. `command` is the tool's own command
    /// line (without wrappers), `subject` the user's `--subject`.
    fn parse(&self, command: &CommandLine, output: &ToolOutput, subject: Option<Subject>) -> Parsed;

    /// Finds the passes of the tool in the observed calls: one phase for each phase that a
    /// claim names and the command line asks for, with the window that the tool's clock covered. A pass that is not found
    /// gives a phase without parts that says so in `incomplete`.
    fn phases(&self, command: &CommandLine, output: &ToolOutput, parsed: &Parsed, activity: &Activity) -> Vec<Phase>;

    /// What the command would make the tool do, pass by pass, in order. `files` are those that it
    /// would read its work from.
    fn plan(&self, command: &CommandLine, files: &[ToolFile]) -> Plan;

    /// The kinds of numbers that its outputs can state.
    fn metrics(&self) -> &'static [Metric];

    /// Arguments that make the tool print figures for machines too, to be put behind the user's
    /// own; empty where it needs none, or where the user's arguments leave no room for them.
    fn added_arguments(&self, _command: &CommandLine) -> Vec<String> {
        Vec::new()
    }

    /// Takes out of standard output what the added arguments put in; `None` when nothing.
    fn output_filter(&self, _command: &CommandLine) -> Option<Box<dyn OutputFilter>> {
        None
    }

    /// A file that the tool wrote as it would be without the added arguments; `None` when it would be no
    /// other.
    fn without_added(&self, _command: &CommandLine, _file: &ToolFile) -> Option<Vec<u8>> {
        None
    }

    /// The files that the command line names for the tool to read its work from, as the tool would open them.
    fn input_files(&self, _command: &CommandLine) -> Vec<String> {
        Vec::new()
    }

    /// Names of the machine that the output states, as it prints them: a redacted copy must not.
    fn host_names(&self, _output: &ToolOutput) -> Vec<String> {
        Vec::new()
    }

    /// Whether the adapter reads a file that the tool opened, by the name that the tool gave it: a
    /// job file, a file of results.
    fn reads_file(&self, _command: &CommandLine, _name: &str) -> bool {
        false
    }

    /// Whether the tool takes its work from its standard input: what lies behind it is then kept as the file `-`.
    fn reads_standard_input(&self, _command: &CommandLine) -> bool {
        false
    }

    /// The files that a file which the adapter reads names for more of the same, as the tool would open them.
    fn included_files(&self, _file: &ToolFile) -> Vec<String> {
        Vec::new()
    }
}

/// What a command asks for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// The passes that the tool would make and claim figures for: without parts.
    pub phases: Vec<Phase>,
    /// What cannot be told before the run: lower-case fragments.
    pub notes: Vec<String>,
}

/// Passes output on without what only activebench wanted.
pub trait OutputFilter: Send {
    /// Takes in bytes as they come; gives those that can be passed on.
    fn pass(&mut self, bytes: &[u8]) -> Vec<u8>;
    /// The tool has ended: gives what was held back.
    fn finish(&mut self) -> Vec<u8>;
}

/// The passes of a run, as [`Adapter::phases`] finds them, and one without parts for each phase that a claim names
/// and the adapter does not know: figures in an output that does not fit its command line.
pub fn phases_of(
    adapter: &dyn Adapter,
    command: &CommandLine,
    output: &ToolOutput,
    parsed: &Parsed,
    activity: &Activity,
) -> Vec<Phase> {
    let mut phases = adapter.phases(command, output, parsed, activity);
    for claim in &parsed.claims {
        if phases.iter().all(|phase| phase.id != claim.phase) {
            phases.push(Phase {
                incomplete: Some("the command line does not ask for this pass".to_owned()),
                ..Phase::planned(&claim.phase, &claim.phase, Direction::Mixed)
            });
        }
    }
    phases
}

/// The adapter whose program this is; `None` for a tool without adapter.
pub fn adapter_for_program(file_name: &str) -> Option<&'static dyn Adapter> {
    ADAPTERS.iter().copied().find(|adapter| adapter.is_program(file_name))
}

/// The adapter of the tool that wrote an output, by what it says of itself.
pub fn adapter_for_output(output: &ToolOutput) -> Option<&'static dyn Adapter> {
    ADAPTERS.iter().copied().find(|adapter| adapter.wrote(output))
}

/// Who advises on the tool of this name; nobody where no adapter knows it.
pub fn advisor_of(tool: &str) -> &'static dyn Advisor {
    match adapter_by_name(tool) {
        Some(adapter) => adapter,
        None => &NoAdvisor,
    }
}

/// The adapter of a name as printed by [`Adapter::name`].
pub fn adapter_by_name(name: &str) -> Option<&'static dyn Adapter> {
    ADAPTERS.iter().copied().find(|adapter| adapter.name() == name)
}
