//! The adapter for iozone 3.263 to 3.489.
//!
//! `options` reads its command line, `output` its words, `plan` says which passes a
//! command makes, `phases` finds them in the observed calls. Holds no judgement.

mod advice;
mod catalogue;
mod children;
mod files;
mod messages;
mod options;
mod output;
mod phases;
mod plan;
mod report;
mod rows;
mod subject;
mod throughput;
mod window;

use activebench_model::activity::Activity;
use activebench_model::claim::{Metric, Parsed, Subject};
use activebench_model::command::CommandLine;
use activebench_model::output::{ToolFile, ToolOutput};
use activebench_model::phase::Phase;

use crate::{Adapter, Plan};

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct Iozone;

impl Adapter for Iozone {
    fn name(&self) -> &'static str {
        "iozone"
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

    fn is_program(&self, file_name: &str) -> bool {
        matches!(file_name, "iozone" | "iozone3")
    }

    fn parse(&self, command: &CommandLine, output: &ToolOutput, subject: Option<Subject>) -> Parsed {
        output::parse(&options::Options::parse(&command.argv), output, subject)
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
}
