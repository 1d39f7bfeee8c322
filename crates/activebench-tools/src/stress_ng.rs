//! The adapter for the stressors of storage of stress-ng 0.13 and later, with `--metrics` or `--metrics-brief`.
//!
//! `options` reads its command line, `output` makes claims of its lines, `phases` finds the stressor's files in the
//! observed calls. `stressors` names the others, whose bogo operations are not certain calls. This adapter does not
//! judge.

mod advice;
mod options;
mod output;
mod phases;
mod stressors;
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

/// stress-ng.
pub const PROGRAM: Program = Program {
    name: "stress-ng",
    version: Some(VersionQuery { arguments: &["--version"], printed_after: "version " }),
    packages: Packages::everywhere("stress-ng"),
    remark: None,
};

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct StressNg;

impl Advisor for StressNg {
    fn advise(&self, wanted: Improvement, about: &Circumstances<'_>) -> Option<String> {
        advice::advise(wanted, about)
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

impl Adapter for StressNg {
    fn program(&self) -> &'static Program {
        &PROGRAM
    }

    fn metrics(&self) -> &'static [Metric] {
        &[Metric::OperationRate, Metric::OperationsDone]
    }

    fn is_program(&self, file_name: &str) -> bool {
        file_name == PROGRAM.name
    }

    fn wrote(&self, output: &ToolOutput) -> bool {
        [&output.stdout, &output.stderr]
            .into_iter()
            .any(|text| String::from_utf8_lossy(text).lines().any(texts::is_own))
    }

    fn parse(&self, command: &CommandLine, output: &ToolOutput, subject: Option<Subject>) -> Parsed {
        output::parse(&Options::parse(&command.argv), output, subject)
    }

    fn forms(&self) -> &'static Forms {
        &texts::FORMS
    }

    fn phases(&self, command: &CommandLine, _output: &ToolOutput, parsed: &Parsed, activity: &Activity) -> Vec<Phase> {
        phases::phases(&Options::parse(&command.argv), parsed, activity)
    }

    fn plan(&self, command: &CommandLine, _files: &[ToolFile]) -> Plan {
        phases::plan(&Options::parse(&command.argv))
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
        false
    }

    fn replayed(&self, _texts: &[&str]) -> Option<Replayed> {
        None
    }

    fn vetted(&self, argv: &[String]) -> Vetted {
        vetted::vetted(argv)
    }

    fn path_in_option(&self, path: &str) -> String {
        path.to_owned()
    }
}
