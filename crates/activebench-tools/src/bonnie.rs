//! The adapter for bonnie++ 1.03, 1.93 to 1.97 and 2.00.
//!
//! `options` reads its command line, `csv` and `table` its two ways to print figures, `output`
//! makes claims of them, `progress` reads when it said what, `plan` says which passes a command
//! makes, `data` and `names` find them in the observed calls. Holds no judgement.

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

use activebench_model::activity::Activity;
use activebench_model::claim::{Metric, Parsed, Subject};
use activebench_model::command::CommandLine;
use activebench_model::output::{ToolFile, ToolOutput};
use activebench_model::phase::Phase;

use crate::{Adapter, Plan};

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct Bonnie;

impl Adapter for Bonnie {
    fn name(&self) -> &'static str {
        "bonnie++"
    }

    fn metrics(&self) -> &'static [Metric] {
        &[Metric::Throughput, Metric::OperationRate, Metric::CpuTotal, Metric::LatencyMax]
    }

    fn is_program(&self, file_name: &str) -> bool {
        // Builds of several versions are told apart by a number: bonnie197, bonnie++-1.03.
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

    fn phases(&self, command: &CommandLine, output: &ToolOutput, parsed: &Parsed, activity: &Activity) -> Vec<Phase> {
        phases::phases(&options::Options::parse(&command.argv), output, parsed, activity)
    }

    fn plan(&self, command: &CommandLine, _files: &[ToolFile]) -> Plan {
        let options = options::Options::parse(&command.argv);
        // Builds of several versions are told apart by their names.
        let is_old = command.program().contains("1.0");
        let generation = if is_old { csv::Generation::Old } else { csv::Generation::Modern };
        let phases = plan::passes(&options, &[], &table::Table::default())
            .into_iter()
            .map(|planned| plan::phase(&plan::Planned { generation, ..planned }, &options, Some("since 1.93")))
            .collect();
        Plan { phases, notes: plan::unknown_beforehand(&options) }
    }
}
