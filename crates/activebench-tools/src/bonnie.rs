//! The adapter for bonnie++ 1.03, 1.93 to 1.97 and 2.00.
//!
//! `options` reads its command line, `csv` and `table` its two formats of figures, `output`
//! makes claims of them, `progress` finds the times of its messages, `plan` lists the passes that a command
//! makes, `data` and `names` find them in the observed calls. This adapter does not judge.

mod advice;
mod catalogue;
mod csv;
mod data;
mod figures;
mod messages;
mod names;
mod options;
mod output;
mod phases;
mod plan;
mod progress;
mod subject;
mod table;
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

/// bonnie++.
pub const PROGRAM: Program = Program {
    name: "bonnie++",
    // Without an argument that it refuses, bonnie++ would start to measure.
    version: Some(VersionQuery { arguments: &["-h"], printed_after: "Version: " }),
    packages: Packages { zypper: Some("bonnie"), ..Packages::everywhere("bonnie++") },
    remark: None,
};

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct Bonnie;

impl Advisor for Bonnie {
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

impl Adapter for Bonnie {
    fn program(&self) -> &'static Program {
        &PROGRAM
    }

    fn metrics(&self) -> &'static [Metric] {
        &[Metric::Throughput, Metric::OperationRate, Metric::CpuTotal, Metric::LatencyMax]
    }

    fn is_everyday(&self) -> bool {
        false
    }

    fn writes_data_to_stdout(&self) -> bool {
        false
    }

    fn is_program(&self, file_name: &str) -> bool {
        // Builds of several versions are distinguished by a number: bonnie197, bonnie++-1.03.
        file_name.strip_prefix("bonnie").is_some_and(|rest| {
            let rest = rest.strip_prefix("++").unwrap_or(rest);
            let rest = rest.strip_prefix('-').unwrap_or(rest);
            rest.is_empty() || rest.starts_with(|first: char| first.is_ascii_digit())
        })
    }

    fn parse(&self, command: &CommandLine, output: &ToolOutput, subject: Option<Subject>) -> Parsed {
        output::parse(&options::Options::parse(&command.argv), output, subject)
    }

    fn host_names(&self, output: &ToolOutput) -> Vec<String> {
        String::from_utf8_lossy(&output.stdout).lines().filter_map(csv::machine).map(str::to_owned).collect()
    }

    fn forms(&self) -> &'static Forms {
        &texts::FORMS
    }

    fn phases(&self, command: &CommandLine, output: &ToolOutput, parsed: &Parsed, activity: &Activity) -> Vec<Phase> {
        phases::phases(&options::Options::parse(&command.argv), output, parsed, activity)
    }

    fn plan(&self, command: &CommandLine, _files: &[ToolFile]) -> Plan {
        let options = options::Options::parse(&command.argv);
        // Builds of several versions are distinguished by their names.
        let is_old = command.program().contains("1.0");
        let generation = if is_old { csv::Generation::Old } else { csv::Generation::Modern };
        let phases = plan::passes(&options, &[], &table::Table::default())
            .into_iter()
            .map(|planned| plan::phase(&plan::Planned { generation, ..planned }, &options, Some("since 1.93")))
            .collect();
        Plan { phases, notes: plan::unknown_beforehand(&options) }
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

    fn input_files(&self, _command: &CommandLine) -> Vec<String> {
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
