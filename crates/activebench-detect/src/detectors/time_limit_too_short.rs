//! # What it finds
//! A time limit that is too short for a meaningful figure.
//!
//! # Why it matters
//! One disturbance, a cache that fills, or a device that is not yet steady is a visible share of a short run.
//!
//! # How it decides
//! From the command line, before the run: it compares the time limit with the lengths of AB701. Below 0.5 s it warns,
//! below 10 s it is a note. Under `pts` it warns below 60 s. Under `io500` it fails below 300 s, for passes that
//! write. After the run, AB701 reports how long each clock ran.
//!
//! # When it is wrong
//! It is wrong when the pass finishes its amount of work before the limit.
//!
//! # What to do
//! Give it more time (fio: `--runtime=60 --time_based`, Orion: `-duration 60`).
//!
//! # References
//! bonnie++ prints no figure for less than half a second; Orion's default is 60 s per data point.

use activebench_model::finding::{Effect, Finding};
use activebench_model::units::Quantity;

use crate::cases::plan::of_each_planned;
use crate::cases::run::{Firing, Halt, Weight};
use crate::detector::{Basis, Decides, Detector, Judge};
use crate::detectors::phase_too_short::writes_or_creates;
use crate::run::Run;

/// See the head of this file.
pub static DETECTOR: Detector = Detector {
    code: "AB807",
    name: "time-limit-too-short",
    title: "The time limit is too short",
    explained_by: &[],
    source: include_str!("time_limit_too_short.rs"),
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
        let Some(limit_ns) = phase.time_limit_ns else {
            return Err(Halt::not_applicable("The pass does not have a time limit."));
        };
        let limits = case.thresholds();
        let limit = Quantity::ns(limit_ns);
        let (weight, threshold) =
            if limit.value < limits.ab701_write_window_fail_ns.value.value && writes_or_creates(phase) {
                (Weight::FailOfRun, &limits.ab701_write_window_fail_ns)
            } else if limit.value < limits.ab701_window_warn_ns.value.value {
                (Weight::Warn(Effect::Unverifiable), &limits.ab701_window_warn_ns)
            } else if limit.value < limits.ab701_window_note_ns.value.value {
                (Weight::Note, &limits.ab701_window_note_ns)
            } else {
                return Ok(case.silent(""));
            };
        Ok(case.fires(Firing {
            weight,
            observed: Some(limit),
            threshold: threshold.clone(),
            message: format!("The pass ends after {limit}."),
            meaning: match weight {
                Weight::FailOfRun => "The rules of the profile do not accept a pass of this length.",
                _ => "One disturbance will be a visible share of the figure.",
            }
            .to_owned(),
            advice: match threshold.value.value > 60e9 {
                true => format!("allow more time, at least {}", threshold.value),
                false => "allow more time (fio: `--runtime=60 --time_based`, Orion: `-duration 60`)".to_owned(),
            },
        }))
    })
}
