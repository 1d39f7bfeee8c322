//! # What it finds
//! A pass that is too short for its figure to be meaningful.
//!
//! # Why it matters
//! In a few milliseconds, one interrupt, one journal commit or one step of the tool's own clock is a visible share of
//! the figure.
//!
//! # How it decides
//! - `window_ns` below 100 steps of the tool's own clock, where the tool prints the step: it fails, and the claims
//!   are unverifiable.
//! - Below 0.5 s: it warns.
//! - Below 10 s: a note.
//!
//! Some profiles require a length. `pts` warns below 60 s. `io500` makes the run a discrepancy below 300 s, for
//! passes that write or create.
//!
//! # When it is wrong
//! It does not say whether a short figure repeats. Several runs show that.
//!
//! # What to do
//! Use a larger file.
//!
//! # References
//! bonnie++ prints `+++++` for passes below 0.5 s. TKperf runs the rounds of SNIA PTS for 60 s. IO500 asks for 300 s.

use activebench_model::advice::Improvement;
use activebench_model::fact::FactName;
use activebench_model::finding::{Effect, Finding};
use activebench_model::phase::{NameOperation, Phase};
use activebench_model::units::Quantity;

use crate::advice::wording::longer;
use crate::cases::plan::writes;
use crate::cases::run::{Firing, Halt, Weight, of_each_seen_phase};
use crate::detector::{Basis, Decides, Detector, Judge};
use crate::run::Run;

const FACTS: &[FactName] = &[FactName::Window];

/// See the head of this file.
pub static DETECTOR: Detector = Detector {
    code: "AB701",
    name: "phase-too-short",
    title: "The pass is too short",
    explained_by: &["AB106", "AB201", "AB203", "AB204", "AB205", "AB207", "AB208", "AB301", "AB302", "AB807"],
    source: include_str!("phase_too_short.rs"),
    judge: Judge::Run(judge_run),
    facts: FACTS,
    basis: Basis::Facts,
    decides: Decides::Nothing,
    correction: None,
    improvement: Some(Improvement::RunLonger),
    questions: &[],
};

fn judge_run(run: &Run<'_>) -> Vec<Finding> {
    of_each_seen_phase(&DETECTOR, run, |case, phase| {
        let limits = case.thresholds();
        let window = case.run.fact(phase, FactName::Window)?;
        if window <= 0.0 {
            return Err(Halt::undecided("The pass does not have a measurable duration."));
        }
        let observed = Quantity { value: window, ..Quantity::ns(0) };
        let steps = &limits.ab701_clock_steps_fail_count;
        if let Some(step) = run.parsed.clock_step_ns
            && window < step as f64 * steps.value.value
        {
            return Ok(case.fires(Firing {
                weight: Weight::Fail(Effect::Unverifiable),
                observed: Some(Quantity { value: window / (step as f64).max(1.0), ..Quantity::count(0) }),
                threshold: steps.clone(),
                message: format!("The pass took {observed}. The tool's clock has steps of {}.", Quantity::ns(step)),
                meaning: "One step of the clock is more than 1 % of the figure.".to_owned(),
                advice: longer(run, phase, limits.ab701_window_note_ns.value.value / window),
            }));
        }
        let (weight, threshold) = if window < limits.ab701_write_window_fail_ns.value.value && writes_or_creates(phase)
        {
            (Weight::FailOfRun, &limits.ab701_write_window_fail_ns)
        } else if window < limits.ab701_window_warn_ns.value.value {
            (Weight::Warn(Effect::Unverifiable), &limits.ab701_window_warn_ns)
        } else if window < limits.ab701_window_note_ns.value.value {
            (Weight::Note, &limits.ab701_window_note_ns)
        } else {
            return Ok(case.silent(""));
        };
        Ok(case.fires(Firing {
            weight,
            observed: Some(observed),
            threshold: threshold.clone(),
            message: format!("The pass took {observed}, less than {}.", threshold.value),
            meaning: match weight {
                Weight::FailOfRun => "The rules of the profile do not accept a pass of this length.",
                _ => "One disturbance changes the figure. Repeat it before you quote it.",
            }
            .to_owned(),
            advice: longer(run, phase, limits.ab701_window_note_ns.value.value.max(threshold.value.value) / window),
        }))
    })
}

/// Returns `true` when the pass adds data or files.
pub(crate) fn writes_or_creates(phase: &Phase) -> bool {
    writes(phase) || phase.names.as_ref().is_some_and(|names| names.operation == NameOperation::Create)
}
