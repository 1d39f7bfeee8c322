//! # What it finds
//! A queue depth above 1 requested from an engine that makes one call at a time.
//!
//! # Why it matters
//! The figure will be that of depth 1 per task, whatever the option says.
//!
//! # How it decides
//! From the command line, before the run: the option that asks for the depth, and the engine. It warns. After the
//! run, AB403 reports the depth that was reached.
//!
//! # When it is wrong
//! It is wrong when the tool uses hidden threads of its own behind the engine.
//!
//! # What to do
//! Choose an asynchronous engine (fio: `--ioengine=libaio --direct=1`, or `io_uring`), or more tasks.
//!
//! # References
//! fio 3.33 prints a note for it and continues with depth 1.

use activebench_model::finding::{Effect, Finding, Threshold};
use activebench_model::phase::{Mechanism, Submission};
use activebench_model::units::Quantity;

use crate::cases::plan::{of_each_planned, promise};
use crate::cases::run::{Firing, Halt, Weight};
use crate::detector::{Basis, Decides, Detector, Judge};
use crate::run::Run;

/// See the head of this file.
pub static DETECTOR: Detector = Detector {
    code: "AB801",
    name: "depth-without-engine",
    title: "The engine cannot reach the queue depth",
    explained_by: &[],
    source: include_str!("depth_without_engine.rs"),
    judge: Judge::CommandLine(judge_command),
    facts: &[],
    basis: Basis::Statements,
    decides: Decides::Nothing,
    correction: None,
    improvement: None,
    questions: &[],
};

fn judge_command(run: &Run<'_>) -> Vec<Finding> {
    of_each_planned(&DETECTOR, run, |case, phase| {
        let Some(promise) = promise(phase, |mechanism| matches!(mechanism, Mechanism::QueueDepth(2..))) else {
            return Err(Halt::not_applicable("No depth above 1 is asked for."));
        };
        match phase.submission {
            Submission::Synchronous | Submission::Mapped | Submission::Nothing => {}
            Submission::Unknown => return Err(Halt::undecided("The I/O engine is not known.")),
            Submission::Asynchronous | Submission::AsynchronousIfDirect => return Ok(case.silent("")),
        }
        Ok(case.fires(Firing {
            weight: Weight::Warn(Effect::Misleading),
            observed: None,
            threshold: Threshold { value: Quantity::count(1), source: "one call at a time".to_owned() },
            message: format!("`{}` asks for a queue depth that this engine does not support.", promise.option),
            meaning: "The figure will be that of one operation at a time per task.".to_owned(),
            advice: "choose an asynchronous engine (fio: `--ioengine=libaio --direct=1`), or more tasks".to_owned(),
        }))
    })
}
