//! The adapter for iozone 3.263 to 3.489.
//!
//! `options` reads its command line, `output` its printed output, `plan` lists the passes that a
//! command makes, `phases` finds them in the observed calls. This adapter does not judge.

mod advice;
mod catalogue;
mod children;
mod columns;
mod files;
mod messages;
mod options;
mod output;
mod parts;
mod phases;
mod plan;
mod report;
mod rows;
mod subject;
mod texts;
mod throughput;
mod vetted;
mod window;

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

/// iozone.
pub const PROGRAM: Program = Program {
    name: "iozone",
    version: Some(VersionQuery { arguments: &["-v"], printed_after: "$Revision: " }),
    packages: Packages { apt: Some("iozone3"), ..Packages::everywhere("iozone") },
    remark: Some(
        "in Debian it is in the component non-free, which apt's sources must name; `cargo xtask demo` installs it too",
    ),
};

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct Iozone;

impl Advisor for Iozone {
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
        advice::option_of_pauses(argv)
    }
}

impl Adapter for Iozone {
    fn program(&self) -> &'static Program {
        &PROGRAM
    }

    fn metrics(&self) -> &'static [Metric] {
        &[
            Metric::Throughput,
            Metric::OperationRate,
            Metric::TimePerOperation,
            Metric::SumOfTaskThroughput,
            Metric::SumOfTaskOperationRate,
            Metric::ParentThroughput,
            Metric::ParentOperationRate,
            Metric::MinTaskThroughput,
            Metric::MaxTaskThroughput,
            Metric::MeanTaskThroughput,
            Metric::TaskThroughput,
            Metric::BytesMoved,
            Metric::MinTaskBytes,
        ]
    }

    /// `-N` and `-O` change what the rates are.
    fn metrics_of(&self, command: &CommandLine, _files: &[ToolFile]) -> Vec<Metric> {
        use Metric::{
            OperationRate, ParentOperationRate, ParentThroughput, SumOfTaskOperationRate, SumOfTaskThroughput,
        };
        let options = options::Options::parse(&command.argv);
        let others: &[Metric] = match (options.is_throughput(), options.microseconds, options.operations) {
            (false, true, _) => return vec![Metric::TimePerOperation],
            (false, false, true) => return vec![OperationRate],
            (false, false, false) => return vec![Metric::Throughput],
            (true, true, _) => &[],
            (true, false, true) => {
                &[Metric::Throughput, SumOfTaskThroughput, ParentThroughput, Metric::TimePerOperation]
            }
            (true, false, false) => {
                &[OperationRate, SumOfTaskOperationRate, ParentOperationRate, Metric::TimePerOperation]
            }
        };
        self.metrics().iter().copied().filter(|metric| !others.contains(metric)).collect()
    }

    fn is_everyday(&self) -> bool {
        false
    }

    fn writes_data_to_stdout(&self) -> bool {
        false
    }

    fn is_program(&self, file_name: &str) -> bool {
        matches!(file_name, "iozone" | "iozone3")
    }

    fn parse(&self, command: &CommandLine, output: &ToolOutput, subject: Option<Subject>) -> Parsed {
        output::parse(&options::Options::parse(&command.argv), output, subject)
    }

    fn forms(&self) -> &'static Forms {
        &texts::FORMS
    }

    fn phases(&self, command: &CommandLine, _output: &ToolOutput, parsed: &Parsed, activity: &Activity) -> Vec<Phase> {
        phases::phases(&options::Options::parse(&command.argv), parsed, activity)
    }

    fn plan(&self, command: &CommandLine, _files: &[ToolFile]) -> Plan {
        let options = options::Options::parse(&command.argv);
        if options.runs_nothing {
            let notes = vec!["nothing is measured with -v or -h".to_owned()];
            return Plan { phases: Vec::new(), notes };
        }
        let nothing_printed = Parsed::default();
        let passes = match options.is_throughput() {
            true => plan::throughput(&options, &nothing_printed),
            false => plan::single(&options, &nothing_printed).into_iter().flat_map(|group| group.passes).collect(),
        };
        let phases = passes.iter().map(|planned| plan::phase(planned, &options)).collect();
        Plan { phases, notes: Vec::new() }
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
