//! The knowledge of one benchmark that the rest of activebench may use. No method has a default, so that the compiler
//! requires each of them in a new adapter.

use std::collections::BTreeSet;
use std::io::BufRead;

use activebench_model::activity::Activity;
use activebench_model::advice::Advisor;
use activebench_model::claim::{Metric, Parsed, Subject};
use activebench_model::command::CommandLine;
use activebench_model::output::{ToolFile, ToolOutput};
use activebench_model::phase::Phase;

use crate::pasted::Forms;
use crate::program::Program;
use crate::vetted::Vetted;

/// Knowledge of one benchmark. Advice on changing its command is in the file `advice` of each adapter.
pub trait Adapter: Advisor {
    /// Returns its name, how to find its version, and its packages.
    fn program(&self) -> &'static Program;

    /// Returns true if an executed file is this tool, by its file name without folder.
    fn is_program(&self, file_name: &str) -> bool;

    /// Returns true if an output is certainly this tool's, because it names itself there. This identifies a tool whose
    /// file has another name.
    fn wrote(&self, output: &ToolOutput) -> bool;

    /// Reads the tool's output. Never fails: unreadable parts become notes, and every claim is stated in the output.
    /// `command` is the tool's own command line (without wrappers), `subject` the user's `--subject`.
    fn parse(&self, command: &CommandLine, output: &ToolOutput, subject: Option<Subject>) -> Parsed;

    /// Returns how the lines of its output look in a text of several outputs and other words.
    fn forms(&self) -> &'static Forms;

    /// Finds the passes of the tool in the observed calls: one phase for each phase that a claim names and the command
    /// line asks for, with the window that the tool's clock covered. For a pass that is not found, returns a phase
    /// without parts that says so in `incomplete`.
    fn phases(&self, command: &CommandLine, output: &ToolOutput, parsed: &Parsed, activity: &Activity) -> Vec<Phase>;

    /// Returns what the command would make the tool do, pass by pass, in order. `files` are the files from which the
    /// tool would read its work.
    fn plan(&self, command: &CommandLine, files: &[ToolFile]) -> Plan;

    /// Returns the kinds of numbers that its outputs can state.
    fn metrics(&self) -> &'static [Metric];

    /// Returns those of them that this command can print. `files` are the files from which it would read its work.
    fn metrics_of(&self, _command: &CommandLine, _files: &[ToolFile]) -> Vec<Metric> {
        self.metrics().to_vec()
    }

    /// Returns true if scripts use the program for other work as well: dd prepares files. Such an execution is a
    /// measurement only where the script shows its figure (see [`crate::execution::is_shown`]), and beside a benchmark
    /// only where it chose the figure (see [`crate::execution::is_quoted`]).
    fn is_everyday(&self) -> bool;

    /// Returns true if its standard output is the data that it moves, and all figures are on standard error.
    fn writes_data_to_stdout(&self) -> bool;

    /// Returns arguments that make the tool also print machine-readable figures, to be appended to the user's own. Empty
    /// if it needs none, or if the user's arguments do not allow them.
    fn added_arguments(&self, command: &CommandLine) -> Vec<String>;

    /// Returns a filter that removes the effect of the added arguments from standard output; `None` if there is none.
    fn output_filter(&self, command: &CommandLine) -> Option<Box<dyn OutputFilter>>;

    /// Returns a file that the tool wrote, as it would be without the added arguments; `None` if it would be the same.
    fn without_added(&self, command: &CommandLine, file: &ToolFile) -> Option<Vec<u8>>;

    /// Returns the files that the command line names as the tool's input, as the tool would open them.
    fn input_files(&self, command: &CommandLine) -> Vec<String>;

    /// Returns names of the machine that the output states, as printed, which a redacted copy must replace.
    fn host_names(&self, output: &ToolOutput) -> Vec<String>;

    /// Returns true if the adapter reads a file that the tool opened, by the name that the tool gave it: a job file, a
    /// file of results.
    fn reads_file(&self, command: &CommandLine, name: &str) -> bool;

    /// Returns true if the tool takes its work from standard input, which is then kept as the file `-`.
    fn reads_standard_input(&self, command: &CommandLine) -> bool;

    /// Returns the files that an input file includes, as the tool would open them.
    fn included_files(&self, file: &ToolFile) -> Vec<String>;

    /// Returns the characters that begin a comment line in an input file.
    fn comment_signs(&self) -> &'static [char];

    /// Returns true if a word of its command line or of such a file only labels something, and names no file.
    fn is_label(&self, word: &str) -> bool;

    /// Returns true if a word of its command line names only what the tool reads, also where it writes.
    fn is_input(&self, word: &str) -> bool;

    /// Returns the recorded I/O that it would repeat, by its own words and those of its files; `None` if it repeats
    /// none.
    fn replayed(&self, texts: &[&str]) -> Option<Replayed>;

    /// Reads a command that a stranger wrote: which of its words may ask for more than I/O on the files that it names.
    /// `argv` begins with the tool itself.
    fn vetted(&self, argv: &[String]) -> Vetted;

    /// Returns a path as it has to be written in an option, where some characters have a meaning.
    fn path_in_option(&self, path: &str) -> String;
}

impl dyn Adapter + '_ {
    /// Returns the tool's name in lower case: `iozone`.
    pub fn name(&self) -> &'static str {
        self.program().name
    }
}

/// The work that a command asks for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// The passes that the tool would make and claim figures for, without parts.
    pub phases: Vec<Phase>,
    /// Facts unknown before the run: lower-case fragments.
    pub notes: Vec<String>,
}

/// Passes output on without the parts that only activebench requested.
pub trait OutputFilter: Send {
    /// Takes bytes as they arrive; returns those that can be passed on.
    fn pass(&mut self, bytes: &[u8]) -> Vec<u8>;
    /// Returns the bytes held back, after the tool has ended.
    fn finish(&mut self) -> Vec<u8>;
}

/// Logs of I/O that a tool repeats. They determine what it writes, whatever its other options say.
#[derive(Clone, Debug)]
pub struct Replayed {
    /// Their names, as the tool would open them.
    pub logs: BTreeSet<String>,
    /// True if the I/O goes to other files than those that the logs name.
    pub redirected: bool,
    /// Reads one of them.
    pub read: fn(&mut dyn BufRead) -> std::io::Result<LoggedIo>,
}

/// The I/O in a log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoggedIo {
    /// The files that it uses.
    pub files: BTreeSet<String>,
    /// True if it writes or discards, or may.
    pub writes: bool,
}
