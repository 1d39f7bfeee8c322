//! The adapter for Oracle Orion 11.1, 11.2, 12c and 19c.
//!
//! `options` reads its command line, `document` the output and files that it writes, `claims` makes
//! figures of them, `points` lists the data points that a command asks for, `windows` finds these among
//! the observed requests. This adapter does not judge.

mod advice;
mod claims;
mod contradictions;
mod document;
mod histogram;
mod made_up;
mod matrix;
mod options;
mod phases;
mod points;
mod settings;
mod statements;
mod text;
mod texts;
mod vetted;
mod windows;
mod words;

use activebench_model::activity::Activity;
use activebench_model::advice::{Advisor, Change, Circumstances, Improvement, Resized, Sizing};
use activebench_model::claim::{Metric, Parsed, Subject};
use activebench_model::command::CommandLine;
use activebench_model::output::{ToolFile, ToolOutput};
use activebench_model::phase::Phase;

use crate::adapter::{Adapter, OutputFilter, Plan, Replayed};
use crate::pasted::Forms;
use crate::program::{Packages, Program};
use crate::vetted::Vetted;
use document::Document;
use options::Options;

pub use made_up::{MadeUpOutput, made_up_arguments};

/// Orion: part of Oracle Database, not in any package.
pub const PROGRAM: Program = Program {
    name: "orion",
    version: None,
    packages: Packages::NONE,
    remark: Some("it comes with Oracle Database: $ORACLE_HOME/bin/orion"),
};

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct Orion;

/// Suffixes of the names of the files that are read: the list of volumes and the results.
const FILES: [&str; 6] = [".lun", "_summary.txt", "_iops.csv", "_mbps.csv", "_lat.csv", "_hist.txt"];

impl Advisor for Orion {
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

impl Adapter for Orion {
    fn program(&self) -> &'static Program {
        &PROGRAM
    }

    fn metrics(&self) -> &'static [Metric] {
        &[Metric::Throughput, Metric::OperationRate, Metric::LatencyMean, Metric::LatencyMax]
    }

    fn is_everyday(&self) -> bool {
        false
    }

    fn writes_data_to_stdout(&self) -> bool {
        false
    }

    /// Returns true for `orion` (from 11.2 on, with the database), `orion10`, `orion11`, Oracle's downloads
    /// (`orion_linux_x86-64`), and the program with which the tests replace them.
    fn is_program(&self, file_name: &str) -> bool {
        file_name.strip_prefix("orion").is_some_and(|rest| {
            rest.bytes().all(|byte| byte.is_ascii_digit()) || rest.starts_with('_') || rest == "-stand-in"
        })
    }

    fn parse(&self, command: &CommandLine, output: &ToolOutput, subject: Option<Subject>) -> Parsed {
        claims::parsed(&Document::read(command, output), subject)
    }

    fn forms(&self) -> &'static Forms {
        &texts::FORMS
    }

    fn phases(&self, command: &CommandLine, output: &ToolOutput, parsed: &Parsed, activity: &Activity) -> Vec<Phase> {
        phases::phases(&Document::read(command, output), parsed, activity)
    }

    fn plan(&self, command: &CommandLine, files: &[ToolFile]) -> Plan {
        let output = ToolOutput { files: files.to_vec(), ..ToolOutput::default() };
        phases::plan(&Document::read(command, &output))
    }

    fn input_files(&self, command: &CommandLine) -> Vec<String> {
        let options = Options::of(command);
        vec![format!("{}.lun", options.value("testname").unwrap_or("orion"))]
    }

    /// Accepts any test name: a wrapper's script may set it.
    fn reads_file(&self, _command: &CommandLine, name: &str) -> bool {
        FILES.iter().any(|end| name.ends_with(end))
    }

    fn wrote(&self, _output: &ToolOutput) -> bool {
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

    fn host_names(&self, _output: &ToolOutput) -> Vec<String> {
        Vec::new()
    }

    fn reads_standard_input(&self, _command: &CommandLine) -> bool {
        false
    }

    fn included_files(&self, _file: &ToolFile) -> Vec<String> {
        Vec::new()
    }

    fn comment_signs(&self) -> &'static [char] {
        &['#', ';']
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

impl Options {
    fn of(command: &CommandLine) -> Self {
        Self::parse(command.argv.iter().skip(1).map(String::as_str))
    }
}
