//! Why a condition is not met or not known, in one plain sentence for the row of each limit that is not judged.

use activebench_model::acceptance::ConditionState;
use activebench_model::finding::{Finding, Outcome};
use activebench_model::series::Steadiness;
use activebench_model::units::Quantity;

use crate::detector::Detector;
use crate::detectors::{cliff_or_throttling, foreign_io, throttled_by_policy};

/// The first sentence of a message, without its full stop.
pub(super) fn first_sentence(message: &str) -> &str {
    message.split(". ").next().unwrap_or(message).trim().trim_end_matches('.')
}

/// The benchmark, with the phase where limits name several: `random-read`.
pub(super) fn subject(benchmark: &str, phase: Option<&str>, phases: &[&str]) -> String {
    match phase {
        Some(phase) if phases.len() > 1 => format!("{phase} of {benchmark}"),
        _ => benchmark.to_owned(),
    }
}

/// Why the finding of a detector of single runs is an objection.
pub(super) fn of_run(subject: &str, run: u32, finding: &Finding, state: ConditionState) -> String {
    let message = finding.message.to_string();
    let said = match first_sentence(&message) {
        "" => String::new(),
        said => format!(": {said}"),
    };
    let is = |detector: &Detector| detector.made(finding);
    let shares = || Some((finding.observed?, finding.threshold.as_ref()?.value));
    match (state, finding.outcome) {
        (ConditionState::NotMet, Outcome::Fires) if is(&foreign_io::DETECTOR) => match shares() {
            Some((observed, allowed)) => {
                format!(
                    "other programs moved {observed} of the bytes at the device in run {run} of {subject}, {allowed} allowed"
                )
            }
            None => format!("other programs used the device in run {run} of {subject}{said}"),
        },
        (ConditionState::NotMet, _) if is(&throttled_by_policy::DETECTOR) => {
            format!("a control group limited run {run} of {subject}{said}")
        }
        (ConditionState::NotMet, _) if is(&cliff_or_throttling::DETECTOR) => {
            format!("the rate of {subject} fell during run {run}{said}")
        }
        (ConditionState::NotMet, _) => format!("the observation of run {run} of {subject} is incomplete{said}"),
        _ if is(&foreign_io::DETECTOR) => {
            format!("how much other programs moved at the device in run {run} of {subject} is not known{said}")
        }
        _ if is(&throttled_by_policy::DETECTOR) => {
            format!("whether a control group limited run {run} of {subject} is not known{said}")
        }
        _ if is(&cliff_or_throttling::DETECTOR) => {
            format!("whether the rate of {subject} fell during run {run} is not known{said}")
        }
        _ => format!("whether the observation of run {run} of {subject} is complete is not known{said}"),
    }
}

/// Why a benchmark was not steady, or why that is not known.
pub(super) fn steady(subject: &str, steadiness: Option<&Steadiness>, finding: Option<&Finding>) -> String {
    let last = steadiness.map(|of| (of, of.last()));
    match (last, finding) {
        (Some((of, Ok(last))), _) if !last.steady => {
            let count = in_words(last.runs.len());
            let (by, allowed, what) = match last.range_ratio > of.range_limit_ratio {
                true => (last.range_ratio, of.range_limit_ratio, "differ"),
                false => (last.excursion_ratio, of.excursion_limit_ratio, "rise or fall"),
            };
            let (by, allowed) = (Quantity::ratio(by), Quantity::ratio(allowed));
            format!("{subject} was not steady: the last {count} runs {what} by {by}, {allowed} allowed")
        }
        (Some((_, Err(why))), _) => format!("whether {subject} was steady is not known: {why}"),
        (_, Some(finding)) if finding.outcome == Outcome::Fires => {
            format!("{subject} was not steady: {}", first_sentence(&finding.message.to_string()))
        }
        (_, Some(finding)) => {
            format!("whether {subject} was steady is not known: {}", first_sentence(&finding.message.to_string()))
        }
        (_, None) => format!("whether {subject} was steady is not known: no run states its rate"),
    }
}

/// A small number as a word.
fn in_words(count: usize) -> String {
    match count {
        5 => "five".to_owned(),
        count => count.to_string(),
    }
}

/// Why the runs of a benchmark do not agree, or why that is not known.
pub(super) fn reproducible(subject: &str, finding: Option<&Finding>) -> String {
    match finding {
        Some(finding) if finding.outcome == Outcome::Fires => match (finding.observed, finding.threshold.as_ref()) {
            (Some(by), Some(allowed)) => {
                format!(
                    "{subject} did not reproduce: its runs differ by {by} of their median, {} allowed",
                    allowed.value
                )
            }
            _ => format!("{subject} did not reproduce: {}", first_sentence(&finding.message.to_string())),
        },
        Some(finding) => {
            format!("whether {subject} reproduces is not known: {}", first_sentence(&finding.message.to_string()))
        }
        None => format!("whether {subject} reproduces is not known: no run states its rate"),
    }
}

/// Why a unit is not the agreed one, or why that is not known.
pub(super) fn identity(state: ConditionState, why: &str) -> String {
    match state {
        ConditionState::NotMet => format!("the tested device is not the agreed one: {why}"),
        _ => format!("whether the tested device is the agreed one is not known: {why}"),
    }
}
