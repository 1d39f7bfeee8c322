//! # What it finds
//! An option that checks the data while the clock runs.
//!
//! # Why it matters
//! The figure will describe the storage and the checking together. On a fast device it will mostly describe the
//! checking.
//!
//! # How it decides
//! From the command line, before the run. It warns. After the run, AB502 reports what the checking cost.
//!
//! # When it is wrong
//! It is wrong when the device is so slow that the checking costs no extra time.
//!
//! # What to do
//! Measure and check in two separate runs.
//!
//! # References
//! vdbench: data validation should not be used during a performance run; iozone prints a warning for `-V`.

use activebench_model::finding::{Effect, Finding, Threshold};
use activebench_model::units::Quantity;

use crate::cases::plan::of_each_planned;
use crate::cases::run::{Firing, Halt, Weight};
use crate::detector::{Basis, Decides, Detector, Judge};
use crate::run::Run;

/// See the head of this file.
pub static DETECTOR: Detector = Detector {
    code: "AB806",
    name: "verification-inside-clock",
    title: "The data is checked while the clock runs",
    explained_by: &[],
    source: include_str!("verification_inside_clock.rs"),
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
        let Some(option) = &phase.verifies else {
            return Err(Halt::not_applicable("No option checks the data inside the clock."));
        };
        if run.manifest.choices.subject.is_some_and(|subject| !subject.is_storage()) {
            return Ok(case.silent("The figures are not about storage (`--subject`)."));
        }
        Ok(case.fires(Firing {
            weight: Weight::Warn(Effect::Misleading),
            observed: None,
            threshold: Threshold { value: Quantity::count(0), source: "checks inside the clock".to_owned() },
            message: format!("`{option}` checks the data while the clock runs."),
            meaning: "The figure will include the checking as well as the storage.".to_owned(),
            advice: format!("leave `{option}` out, and check the data in another run"),
        }))
    })
}
