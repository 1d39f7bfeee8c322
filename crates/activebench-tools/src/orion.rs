//! The adapter for Oracle Orion 11.1, 11.2, 12c and 19c.
//!
//! `options` reads its command line, `document` the words and files that it writes, `claims` makes
//! figures of them, `points` says which data points a command asks for, `windows` finds these among
//! the observed requests. Holds no judgement.

mod advice;
mod claims;
mod contradictions;
mod document;
mod histogram;
mod matrix;
mod options;
mod phases;
mod points;
mod settings;
mod text;
mod windows;
mod words;

use activebench_model::activity::Activity;
use activebench_model::claim::{Metric, Parsed, Subject};
use activebench_model::command::CommandLine;
use activebench_model::output::{ToolFile, ToolOutput};
use activebench_model::phase::Phase;

use crate::{Adapter, Plan};
use document::Document;
use options::Options;

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct Orion;

/// Ends of the names of the files that are read: the list of volumes and the results.
const FILES: [&str; 6] = [".lun", "_summary.txt", "_iops.csv", "_mbps.csv", "_lat.csv", "_hist.txt"];

impl Adapter for Orion {
    fn name(&self) -> &'static str {
        "orion"
    }

    fn metrics(&self) -> &'static [Metric] {
        &[Metric::Throughput, Metric::OperationRate, Metric::LatencyMean, Metric::LatencyMax]
    }

    /// `orion` (from 11.2 on, with the database), `orion10`, `orion11`, Oracle's downloads
    /// (`orion_linux_x86-64`), and the program that the tests put in their place.
    fn is_program(&self, file_name: &str) -> bool {
        file_name.strip_prefix("orion").is_some_and(|rest| {
            rest.bytes().all(|byte| byte.is_ascii_digit()) || rest.starts_with('_') || rest == "-stand-in"
        })
    }

    fn parse(&self, command: &CommandLine, output: &ToolOutput, subject: Option<Subject>) -> Parsed {
        claims::parsed(&Document::read(command, output), subject)
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

    /// Whatever the test's name: a wrapper's script may give it.
    fn reads_file(&self, _command: &CommandLine, name: &str) -> bool {
        FILES.iter().any(|end| name.ends_with(end))
    }
}

impl Options {
    fn of(command: &CommandLine) -> Self {
        Self::parse(command.argv.iter().skip(1).map(String::as_str))
    }
}
