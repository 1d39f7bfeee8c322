//! The adapter for f3write and f3read of f3 8.0.
//!
//! `options` reads a command line, `output` makes claims of the average speed, `phases` finds the counted chunks in the
//! observed calls. This adapter does not judge.

mod advice;
mod options;
mod output;
mod phases;
mod texts;
mod vetted;

use activebench_model::activity::Activity;
use activebench_model::advice::{Advisor, Change, Circumstances, Improvement, Resized, Sizing};
use activebench_model::claim::{Metric, Parsed, Subject};
use activebench_model::command::CommandLine;
use activebench_model::output::{ToolFile, ToolOutput};
use activebench_model::phase::Phase;

use crate::adapter::{Adapter, OutputFilter, Plan, Replayed};
use crate::pasted::Forms;
use crate::program::{Packages, Program, VersionQuery};
use crate::vetted::Vetted;
use options::Options;

const PACKAGES: Packages = Packages { apt: Some("f3"), dnf: Some("f3"), pacman: Some("f3"), ..Packages::NONE };
const VERSION: Option<VersionQuery> = Some(VersionQuery { arguments: &["--version"], printed_after: "F3 " });

/// f3write.
pub const PROGRAM: Program = Program { name: "f3write", version: VERSION, packages: PACKAGES, remark: None };
/// f3read.
pub const READER: Program = Program { name: "f3read", version: VERSION, packages: PACKAGES, remark: None };

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum F3 {
    /// f3write, which fills the free space of a file system with files.
    Write,
    /// f3read, which reads these files and checks them.
    Read,
}

impl Advisor for F3 {
    fn advise(&self, wanted: Improvement, about: &Circumstances<'_>) -> Option<String> {
        advice::advise(*self, wanted, about)
    }

    fn change(&self, wanted: Option<Improvement>, about: &Circumstances<'_>) -> Result<Change, String> {
        advice::change(wanted, about)
    }

    fn sized(&self, argv: &[String], _about: &Sizing<'_>) -> Resized {
        Resized { argv: argv.to_vec(), makes: Vec::new() }
    }

    fn option_of_pauses(&self, _argv: &[String]) -> Option<String> {
        None
    }
}

impl Adapter for F3 {
    fn program(&self) -> &'static Program {
        match self {
            F3::Write => &PROGRAM,
            F3::Read => &READER,
        }
    }

    fn metrics(&self) -> &'static [Metric] {
        &[Metric::Throughput]
    }

    fn is_program(&self, file_name: &str) -> bool {
        file_name == self.program().name
    }

    fn wrote(&self, output: &ToolOutput) -> bool {
        String::from_utf8_lossy(&output.stdout).lines().any(|line| texts::is_banner(*self, line))
    }

    fn parse(&self, _command: &CommandLine, output: &ToolOutput, subject: Option<Subject>) -> Parsed {
        output::parse(*self, output, subject)
    }

    fn forms(&self) -> &'static Forms {
        &texts::FORMS
    }

    fn phases(&self, command: &CommandLine, _output: &ToolOutput, parsed: &Parsed, activity: &Activity) -> Vec<Phase> {
        phases::phases(*self, &Options::parse(&command.argv), parsed, activity)
    }

    fn plan(&self, command: &CommandLine, _files: &[ToolFile]) -> Plan {
        phases::plan(*self, &Options::parse(&command.argv))
    }

    fn added_arguments(&self, _command: &CommandLine) -> Vec<String> {
        Vec::new()
    }

    fn output_filter(&self, _command: &CommandLine) -> Option<Box<dyn OutputFilter>> {
        None
    }

    fn without_added(&self, _command: &CommandLine, _file: &ToolFile) -> Option<Vec<u8>> {
        None
    }

    fn input_files(&self, _command: &CommandLine) -> Vec<String> {
        Vec::new()
    }

    fn host_names(&self, _output: &ToolOutput) -> Vec<String> {
        Vec::new()
    }

    fn reads_file(&self, _command: &CommandLine, _name: &str) -> bool {
        false
    }

    fn reads_standard_input(&self, _command: &CommandLine) -> bool {
        false
    }

    fn included_files(&self, _file: &ToolFile) -> Vec<String> {
        Vec::new()
    }

    fn comment_signs(&self) -> &'static [char] {
        &[]
    }

    fn is_everyday(&self) -> bool {
        false
    }

    fn writes_data_to_stdout(&self) -> bool {
        false
    }

    fn is_label(&self, _word: &str) -> bool {
        false
    }

    fn is_input(&self, _word: &str) -> bool {
        *self == F3::Read
    }

    fn replayed(&self, _texts: &[&str]) -> Option<Replayed> {
        None
    }

    fn vetted(&self, argv: &[String]) -> Vetted {
        vetted::vetted(*self, argv)
    }

    fn path_in_option(&self, path: &str) -> String {
        path.to_owned()
    }
}
