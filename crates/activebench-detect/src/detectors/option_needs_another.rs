//! # What it finds
//! An option that has no effect without another option, which is missing.
//!
//! # Why it matters
//! The command line reads as if the mechanism were active.
//!
//! # How it decides
//! From the command line, before the run: msync for each record without mapped files (iozone `-G` without `-B`). It
//! warns. After the run, AB112 reports the mechanisms that were not seen.
//!
//! # When it is wrong
//! It is wrong when a version of the tool turns the other option on by itself.
//!
//! # What to do
//! Add the option that it needs, or leave it out.
//!
//! # References
//! iozone 3.489: `-G` alone prints that it uses msync and makes plain writes (measured).

use activebench_model::finding::{Effect, Finding, Threshold};
use activebench_model::phase::Mechanism;
use activebench_model::units::Quantity;

use crate::cases::plan::{of_each_planned, promise};
use crate::cases::run::{Firing, Halt, Weight};
use crate::detector::{Basis, Decides, Detector, Judge};
use crate::run::Run;

/// See the head of this file.
pub static DETECTOR: Detector = Detector {
    code: "AB805",
    name: "option-needs-another",
    title: "An option needs another one",
    explained_by: &[],
    source: include_str!("option_needs_another.rs"),
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
        let msync = |mechanism| matches!(mechanism, Mechanism::SynchronousMsync | Mechanism::AsynchronousMsync);
        let Some(promise_of_msync) = promise(phase, msync) else {
            return Err(Halt::not_applicable("No option of this pass needs another one."));
        };
        if promise(phase, |mechanism| mechanism == Mechanism::MappedIo).is_some() {
            return Ok(case.silent(""));
        }
        Ok(case.fires(Firing {
            weight: Weight::Warn(Effect::Misleading),
            observed: None,
            threshold: Threshold { value: Quantity::count(1), source: "one mapping".to_owned() },
            message: format!("`{}` does nothing without mapped files.", promise_of_msync.option),
            meaning: "The figure will be that of plain writes, without a sync.".to_owned(),
            advice: "add the option that maps files (iozone: `-B`), or leave this one out".to_owned(),
        }))
    })
}
