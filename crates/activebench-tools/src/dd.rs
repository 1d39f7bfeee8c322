//! The adapter for dd: GNU coreutils (tried with 9.1) and BusyBox.
//!
//! `options` reads its operands, `report` its last line, `output` makes claims of it, `plan` says what a command copies,
//! `phases` finds the copy in the observed calls, `advice` changes a command, `vetted` lists what a stranger may ask.
//! This adapter does not judge.

mod advice;
mod options;
mod output;
mod phases;
mod plan;
mod report;
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

/// dd.
pub const PROGRAM: Program = Program {
    name: "dd",
    version: Some(VersionQuery { arguments: &["--version"], printed_after: "dd (coreutils) " }),
    packages: Packages::everywhere("coreutils"),
    remark: None,
};

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct Dd;

impl Advisor for Dd {
    fn advise(&self, wanted: Improvement, about: &Circumstances<'_>) -> Option<String> {
        advice::advise(wanted, about)
    }

    fn change(&self, wanted: Option<Improvement>, about: &Circumstances<'_>) -> Result<Change, String> {
        advice::change(wanted, about)
    }

    fn sized(&self, argv: &[String], about: &Sizing<'_>) -> Resized {
        advice::sized(argv, about)
    }

    fn option_of_pauses(&self, _argv: &[String]) -> Option<String> {
        None
    }
}

impl Adapter for Dd {
    fn program(&self) -> &'static Program {
        &PROGRAM
    }

    fn is_program(&self, file_name: &str) -> bool {
        file_name == PROGRAM.name
    }

    fn wrote(&self, _output: &ToolOutput) -> bool {
        false
    }

    fn parse(&self, command: &CommandLine, output: &ToolOutput, subject: Option<Subject>) -> Parsed {
        output::parse(&Options::parse(&command.argv), output, subject)
    }

    fn forms(&self) -> &'static Forms {
        &texts::FORMS
    }

    fn phases(&self, command: &CommandLine, output: &ToolOutput, _parsed: &Parsed, activity: &Activity) -> Vec<Phase> {
        phases::phases(command, output, activity)
    }

    fn plan(&self, command: &CommandLine, _files: &[ToolFile]) -> Plan {
        plan::plan(&Options::parse(&command.argv))
    }

    fn metrics(&self) -> &'static [Metric] {
        &[Metric::Throughput, Metric::BytesMoved]
    }

    fn metrics_of(&self, command: &CommandLine, _files: &[ToolFile]) -> Vec<Metric> {
        let silent = Options::parse(&command.argv).is_silent();
        if silent { Vec::new() } else { self.metrics().to_vec() }
    }

    fn is_everyday(&self) -> bool {
        true
    }

    fn writes_data_to_stdout(&self) -> bool {
        true
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

    fn is_label(&self, _word: &str) -> bool {
        false
    }

    fn is_input(&self, word: &str) -> bool {
        word.starts_with("if=")
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
