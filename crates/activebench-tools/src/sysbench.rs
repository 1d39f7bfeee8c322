//! The adapter for the `fileio` test of sysbench 1.0 (tried with 1.0.20). Its other tests are not read.
//!
//! `options` reads its command line, `output` its report, `plan` says which passes a command makes, `phases` finds them in
//! the observed calls, `advice` changes a command, `vetted` lists what a stranger may ask. This adapter does not judge.

mod advice;
mod options;
mod output;
mod phases;
mod plan;
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

/// sysbench.
pub const PROGRAM: Program = Program {
    name: "sysbench",
    version: Some(VersionQuery { arguments: &["--version"], printed_after: "sysbench " }),
    packages: Packages::everywhere("sysbench"),
    remark: None,
};

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct Sysbench;

impl Advisor for Sysbench {
    fn advise(&self, wanted: Improvement, about: &Circumstances<'_>) -> Option<String> {
        advice::advise(wanted, about)
    }

    fn change(&self, wanted: Option<Improvement>, about: &Circumstances<'_>) -> Result<Change, String> {
        advice::change(wanted, about)
    }

    fn sized(&self, argv: &[String], about: &Sizing<'_>) -> Resized {
        advice::sized(argv, about)
    }

    fn option_of_pauses(&self, argv: &[String]) -> Option<String> {
        argv.iter().find(|word| word.starts_with("--rate=") || word.starts_with("--tx-rate=")).cloned()
    }
}

impl Adapter for Sysbench {
    fn program(&self) -> &'static Program {
        &PROGRAM
    }

    fn is_program(&self, file_name: &str) -> bool {
        file_name == PROGRAM.name
    }

    fn wrote(&self, output: &ToolOutput) -> bool {
        output::names_itself(output)
    }

    fn parse(&self, command: &CommandLine, output: &ToolOutput, subject: Option<Subject>) -> Parsed {
        output::parse(&Options::parse(&command.argv).with_printed(output), output, subject)
    }

    fn forms(&self) -> &'static Forms {
        &texts::FORMS
    }

    fn phases(&self, command: &CommandLine, output: &ToolOutput, parsed: &Parsed, activity: &Activity) -> Vec<Phase> {
        phases::phases(&Options::parse(&command.argv).with_printed(output), parsed, activity)
    }

    fn plan(&self, command: &CommandLine, _files: &[ToolFile]) -> Plan {
        plan::plan(&Options::parse(&command.argv))
    }

    fn metrics(&self) -> &'static [Metric] {
        &[
            Metric::Throughput,
            Metric::OperationRate,
            Metric::OperationsDone,
            Metric::BytesMoved,
            Metric::LatencyMean,
            Metric::LatencyMax,
            Metric::LatencyP50,
            Metric::LatencyP95,
            Metric::LatencyP99,
        ]
    }

    fn is_everyday(&self) -> bool {
        false
    }

    fn writes_data_to_stdout(&self) -> bool {
        false
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
