//! Steady state, SNIA PTS 2.0.2, section 2.1.24: each run of a series is a round, and within a window of rounds in a
//! row (largest - smallest) is at most 20 % of the mean, and the excursion of the least-squares line (its value in the
//! last round less that in the first) at most 10 % of the mean. A window with an unknown round does not count.

use activebench_model::series::{Repeated, RunOfSeries, Sample, Steadiness, SteadyWindow};
use activebench_model::units::Unit;
use activebench_model::verdict::ClaimVerdict;
use statrs::statistics::{Data, Distribution, Max, Min};

use crate::cases::series::first_rates;
use crate::thresholds::Thresholds;

/// The largest difference between two computations of one number: a window that is exactly at a limit is within it.
const ROUNDING: f64 = 1e-9;

/// How steady the first rate of each phase was.
pub(crate) fn of_figures(runs: &[RunOfSeries], figures: &[Repeated], thresholds: &Thresholds) -> Vec<Steadiness> {
    first_rates(figures).into_iter().map(|figure| of_figure(runs, figure, thresholds)).collect()
}

fn of_figure(runs: &[RunOfSeries], figure: &Repeated, thresholds: &Thresholds) -> Steadiness {
    let (sample, of_honest) = truest(figure);
    let rule = Rule::of(thresholds);
    let value = |sample: &Sample, index: usize| sample.values.get(index).copied().flatten();
    let rounds = runs.iter().enumerate().map(|(index, run)| Round {
        number: run.number,
        stated: value(&figure.claimed, index).is_some(),
        value: sample.and_then(|sample| value(sample, index)),
    });
    let rounds: Vec<Round> = rounds.collect();
    let windows: Vec<SteadyWindow> =
        rounds.windows(rule.rounds).filter_map(|window| rule.judge(window, figure.claimed.median.unit)).collect();
    let first_steady = windows.iter().find(|window| window.steady);
    Steadiness {
        figure: figure.id.clone(),
        phase: figure.phase.clone(),
        of_honest,
        range_limit_ratio: rule.range,
        excursion_limit_ratio: rule.excursion,
        first_steady_run: first_steady.and_then(|window| window.runs.last().copied()),
        not_judged: not_judged(&rounds, &rule),
        windows,
    }
}

/// A run as one of the rounds.
struct Round {
    number: u32,
    /// `true` if it states the figure.
    stated: bool,
    value: Option<f64>,
}

/// Returns the reason why the last rounds are not a window; `None` if they are one.
fn not_judged(rounds: &[Round], rule: &Rule) -> Option<String> {
    let Some(first) = rounds.len().checked_sub(rule.rounds) else {
        return Some(format!("{} rounds are needed, and there are {}", rule.rounds, rounds.len()));
    };
    let last = &rounds[first..];
    let named = |is: fn(&Round) -> bool| -> Vec<String> {
        last.iter().filter(|round| is(round)).map(|round| round.number.to_string()).collect()
    };
    match (named(|round| !round.stated).as_slice(), named(|round| round.value.is_none()).as_slice()) {
        ([], []) => rule.judge(last, Unit::Count).is_none().then(|| "the mean of the rounds is 0".to_owned()),
        ([], runs) => Some(honest_not_known(runs)),
        ([run], _) => Some(format!("run {run} does not state the figure")),
        (runs, _) => Some(format!("runs {} do not state the figure", runs.join(", "))),
    }
}

/// `the honest figure of run 3 is not known`.
pub(crate) fn honest_not_known(runs: &[String]) -> String {
    match runs {
        [run] => format!("the honest figure of run {run} is not known"),
        runs => format!("the honest figures of runs {} are not known", runs.join(", ")),
    }
}

/// The figures to go by, and whether they are the honest ones: these where a claim is refuted, or a run has another
/// figure in the place of its claim. Claims that measure something else, and of which no run knows better (behind a
/// limit, say), are what all runs did. `None` where no run has an honest figure.
pub(crate) fn truest(figure: &Repeated) -> (Option<&Sample>, bool) {
    let has_another = |index: usize| {
        let honest = figure.honest.as_ref().and_then(|honest| honest.values.get(index).copied().flatten());
        honest.is_some() && figure.verdicts[index] == Some(ClaimVerdict::Misleading)
    };
    let refuted = figure.verdicts.contains(&Some(ClaimVerdict::Refuted));
    match refuted || (0..figure.verdicts.len()).any(has_another) {
        true => (figure.honest.as_ref(), true),
        false => (Some(&figure.claimed), false),
    }
}

/// The rule with its limits.
struct Rule {
    rounds: usize,
    range: f64,
    excursion: f64,
}

impl Rule {
    fn of(thresholds: &Thresholds) -> Self {
        Self {
            rounds: thresholds.ab702_rounds_count.value.value.max(2.0) as usize,
            range: thresholds.ab702_range_ratio.value.value,
            excursion: thresholds.ab702_excursion_ratio.value.value,
        }
    }

    /// `None` where a round is not known, and for a mean of 0.
    fn judge(&self, window: &[Round], unit: Unit) -> Option<SteadyWindow> {
        let values = window.iter().map(|round| round.value).collect::<Option<Vec<f64>>>()?;
        let data = Data::new(values.clone());
        let mean = data.mean().filter(|mean| *mean != 0.0)?;
        let last = (values.len() - 1) as f64;
        let (mut products, mut squares) = (0.0, 0.0);
        for (round, value) in values.iter().enumerate() {
            let from_middle = round as f64 - last / 2.0;
            products += from_middle * (value - mean);
            squares += from_middle * from_middle;
        }
        let slope = products / squares;
        let range_ratio = (data.max() - data.min()) / mean.abs();
        let excursion_ratio = (slope * last).abs() / mean.abs();
        let within = |ratio: f64, limit: f64| ratio <= limit * (1.0 + ROUNDING);
        Some(SteadyWindow {
            runs: window.iter().map(|round| round.number).collect(),
            values,
            unit,
            mean,
            range_ratio,
            excursion_ratio,
            slope,
            line_at_first: mean - slope * last / 2.0,
            steady: within(range_ratio, self.range) && within(excursion_ratio, self.excursion),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(values: &[f64]) -> Option<SteadyWindow> {
        let rule = Rule::of(&Thresholds::profile("pts").expect("the profile exists"));
        let round = |(number, value): (u32, &f64)| Round { number, stated: true, value: Some(*value) };
        rule.judge(&(1..).zip(values).map(round).collect::<Vec<Round>>(), Unit::OpsPerSec)
    }

    #[test]
    fn the_rule_is_the_standard_s_to_the_digit() {
        // Worked by hand: the line through five rounds climbs by (2 (y5 - y1) + y4 - y2) / 10 a round, its excursion
        // is four times that.
        for (values, range, excursion, steady) in [
            ([100.0; 5], 0.0, 0.0, true),
            // Range exactly 20 %: 110 - 90 of a mean of 100; the line: (2 x 0 + 20) / 10 x 4 = 8 %.
            ([100.0, 90.0, 100.0, 110.0, 100.0], 0.20, 0.08, true),
            // Just above it.
            ([100.0, 90.0, 99.99, 110.01, 100.0], 20.01 / 100.0, 8.004 / 100.0, false),
            // The line's excursion exactly 10 %, of rounds that lie on it.
            ([95.0, 97.5, 100.0, 102.5, 105.0], 0.10, 0.10, true),
            ([105.0, 102.5, 100.0, 97.5, 95.0], 0.10, 0.10, true),
            // Just above it, with half of the permitted range.
            ([94.99, 97.5, 100.0, 102.5, 105.01], 10.02 / 100.0, (2.0 * 10.02 + 5.0) / 10.0 * 4.0 / 100.0, false),
            // Exactly 10 % again, of rounds that do not lie on the line: (2 x 12.5 + 0) / 10 x 4 = 10.
            ([93.75, 100.0, 100.0, 100.0, 106.25], 0.125, 0.10, true),
            // Within the range, and climbing too far: both limits must hold.
            ([91.0, 95.5, 100.0, 104.5, 109.0], 0.18, 0.18, false),
            // Swinging too far, and not climbing.
            ([100.0, 88.0, 110.0, 88.0, 114.0], 26.0 / 100.0, 28.0 / 10.0 * 4.0 / 100.0, false),
            // One round out at the end: the mean is 102, the line climbs by 20 / 10 a round.
            ([100.0, 100.0, 100.0, 100.0, 110.0], 10.0 / 102.0, 8.0 / 102.0, true),
            // In the middle it tilts nothing.
            ([100.0, 100.0, 110.0, 100.0, 100.0], 10.0 / 102.0, 0.0, true),
            // Any unit: a limit is met exactly also where the numbers have no exact binary form.
            ([0.1, 0.09, 0.1, 0.11, 0.1], 0.20, 0.08, true),
            ([0.0095, 0.00975, 0.01, 0.01025, 0.0105], 0.10, 0.10, true),
        ] {
            let window = judged(&values).expect("the mean is not 0");
            let close = |one: f64, other: f64| (one - other).abs() < 1e-9;
            assert!(
                close(window.range_ratio, range) && close(window.excursion_ratio, excursion),
                "{values:?}: {window:?}"
            );
            assert_eq!(window.steady, steady, "{values:?}: {window:?}");
        }
        assert_eq!(judged(&[0.0; 5]), None);
    }

    #[test]
    fn the_line_is_the_one_that_is_drawn() {
        let window = judged(&[10.0, 12.0, 11.0, 15.0, 14.0]).expect("the mean is not 0");
        // (2 x 4 + 3) / 10; the mean of the rounds is on the line in the middle.
        assert!((window.slope - 1.1).abs() < 1e-9 && (window.line_at_first - (12.4 - 2.2)).abs() < 1e-9, "{window:?}");
    }
}
