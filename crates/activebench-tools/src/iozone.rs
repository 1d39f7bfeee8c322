//! The adapter for iozone 3.263 to 3.489.
//!
//! `options` reads its command line, `output` its words, `plan` says which passes a
//! command makes, `phases` finds them in the observed calls. Holds no judgement.

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
use activebench_model::claim::{Parsed, Subject, ToolOutput};
use activebench_model::command::CommandLine;
use activebench_model::phase::Phase;

use crate::Adapter;

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct Iozone;

impl Adapter for Iozone {
    fn name(&self) -> &'static str {
        "iozone"
    }

    fn is_program(&self, file_name: &str) -> bool {
        matches!(file_name, "iozone" | "iozone3")
    }

    fn parse(&self, command: &CommandLine, output: &ToolOutput, subject: Option<Subject>) -> Parsed {
        output::parse(&options::Options::parse(&command.argv), output, subject)
    }

    fn phases(&self, command: &CommandLine, parsed: &Parsed, activity: &Activity) -> Vec<Phase> {
        phases::phases(&options::Options::parse(&command.argv), parsed, activity)
    }
}
