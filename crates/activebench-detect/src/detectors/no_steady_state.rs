//! # What it finds
//! Rounds that still move: the figure climbs, falls or swings from run to run.
//!
//! # Why it matters
//! Solid-state storage is fast while it is new and slower once it must clean up behind itself. A figure that was taken
//! before it settled is not what the device gives in use.
//!
//! # How it decides
//! Of the first rate of each phase, over the last five runs of a series, each of which is a round: (largest - smallest)
//! above 20 % of their mean, or the excursion of the least-squares line through them (its value at the last round less that
//! at the first) above 10 % of their mean. It warns; where the profile requires a steady state (`pts`) it fails.
//! Fewer than five rounds leave it undecided.
//!
//! # When it is wrong
//! The standard's rounds last a minute each: of shorter ones five cover too little time to tell.
//!
//! # What to do
//! Precondition the device, let each round last a minute, and repeat until five rounds in a row agree.
//!
//! # References
//! SNIA Solid State Storage Performance Test Specification 2.0.2, section 2.1.24, measurement window of five rounds.

use activebench_model::finding::{Effect, Finding};
use activebench_model::series::Repeated;
use activebench_model::units::Quantity;

use crate::case::{Firing, Halt, Weight};
use crate::context::{Detector, Run, Series};
use crate::series_case::{SeriesCase, needs, of_each_rate, of_single_run, values};
use crate::statistics::steadiness;

/// See the head of this file.
pub struct NoSteadyState;

impl Detector for NoSteadyState {
    fn code(&self) -> &'static str {
        "AB702"
    }
    fn name(&self) -> &'static str {
        "no-steady-state"
    }
    fn source(&self) -> &'static str {
        include_str!("no_steady_state.rs")
    }
    fn is_of_the_series(&self) -> bool {
        true
    }

    fn judge(&self, run: &Run<'_>) -> Vec<Finding> {
        of_single_run(self, run)
    }

    fn judge_series(&self, series: &Series<'_>) -> Vec<Finding> {
        of_each_rate(self, series, judge)
    }
}

fn judge(case: &SeriesCase<'_>, figure: &Repeated) -> Result<Vec<Finding>, Halt> {
    let limits = case.thresholds();
    let all: Vec<f64> = values(&case.series, figure).into_iter().map(|(_, value)| value).collect();
    let rounds = limits.ab702_rounds_count.value.value.max(2.0);
    needs(all.len(), rounds)?;
    let last = &all[all.len().saturating_sub(rounds as usize)..];
    let steady = steadiness(last).ok_or_else(|| Halt::undecided("the mean of the rounds is 0"))?;
    let (range, excursion) = (&limits.ab702_range_ratio, &limits.ab702_excursion_ratio);
    let swings = steady.range_ratio > range.value.value;
    let observed = format!(
        "the last {} rounds range over {} of their mean, and their line moves by {}",
        last.len(),
        Quantity::ratio(steady.range_ratio),
        Quantity::ratio(steady.excursion_ratio)
    );
    if !swings && steady.excursion_ratio <= excursion.value.value {
        return Ok(vec![case.silent(observed)]);
    }
    let weight = if limits.steady_state_required { Weight::Fail(Effect::Misleading) } else { Weight::WarnOfRun };
    Ok(vec![case.fires(Firing {
        weight,
        observed: Some(Quantity::ratio(if swings { steady.range_ratio } else { steady.excursion_ratio })),
        threshold: if swings { range.clone() } else { excursion.clone() },
        message: observed,
        meaning: "the figure is that of a device on its way to another state".to_owned(),
        advice: "precondition the device, and repeat rounds of a minute until five in a row agree".to_owned(),
    })])
}
