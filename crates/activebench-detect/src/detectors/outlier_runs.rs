//! # What it finds
//! Single runs far from all others, and a first run that was slower than the rest.
//!
//! # Why it matters
//! Something unusual for the storage happened in that run. It pulls a mean over all runs towards it.
//!
//! # How it decides
//! It judges the first rate of each phase: |value - median| / MAD above 14.826. MAD is the median of these distances,
//! and at least half a step of the printed number. It warns, and names the runs.
//!
//! A first run that is an outlier on the slow side is a note of its own: caches were cold, files were created, or a
//! device slept. Fewer than 5 runs leave it undecided. Outliers stay in every figure of the series. If a difference
//! between the runs explains how the figure varies (AB705), the message names it.
//!
//! # When it is wrong
//! If runs take one of two values (a second tier, two CPU clocks), the rarer value is not an accident.
//!
//! # What to do
//! Look at the run's own report (others at the device, steal time, dirty pages) and repeat the series on a quiet
//! system.
//!
//! # References
//! hyperfine `src/outlier_detection.rs`: modified Z-scores, threshold 14.826.

use activebench_model::finding::Finding;
use activebench_model::series::Repeated;
use activebench_model::units::Quantity;

use crate::cases::run::{Firing, Halt, Weight};
use crate::cases::series::{SeriesCase, because, needs, of_each_rate, values};
use crate::detector::{Basis, Decides, Detector, Judge};
use crate::run::Series;
use crate::series::statistics::median_deviation;

/// See the head of this file.
pub static DETECTOR: Detector = Detector {
    code: "AB704",
    name: "outlier-runs",
    title: "Single runs differ from all others",
    explained_by: &[],
    source: include_str!("outlier_runs.rs"),
    judge: Judge::Series(judge_series),
    facts: &[],
    basis: Basis::Series,
    decides: Decides::Nothing,
    correction: None,
    improvement: None,
    questions: &[],
};

fn judge_series(series: &Series<'_>) -> Vec<Finding> {
    of_each_rate(&DETECTOR, series, judge)
}

fn judge(case: &SeriesCase<'_>, figure: &Repeated) -> Result<Vec<Finding>, Halt> {
    let limits = case.thresholds();
    let runs = values(&case.series, figure);
    needs(runs.len(), limits.ab704_runs_least_count.value.value)?;
    let all: Vec<f64> = runs.iter().map(|(_, value)| *value).collect();
    let median = figure.claimed.median.value;
    let scale = median_deviation(&all).unwrap_or(0.0).max(figure.resolution);
    if scale <= 0.0 {
        return match all.iter().all(|value| *value == median) {
            true => Ok(vec![case.silent("All runs are equal.")]),
            false => Err(Halt::undecided(
                "Most runs are equal to the last digit, so there is no deviation to \
                                          compare with.",
            )),
        };
    }
    let score = |value: f64| (value - median).abs() / scale;
    let limit = &limits.ab704_deviations_count;
    let outliers: Vec<(u32, f64)> =
        runs.iter().copied().filter(|(_, value)| score(*value) > limit.value.value).collect();
    let more_is_worse = figure.metric.more_is_worse() == Some(true);
    let slow_first = |(number, value): &(u32, f64)| *number == 1 && (*value > median) == more_is_worse;
    let (first, others): (Vec<_>, Vec<_>) = outliers.into_iter().partition(slow_first);
    let in_unit = |value: f64| Quantity { value, ..figure.claimed.median };
    let farthest = |of: &[(u32, f64)]| of.iter().map(|(_, value)| score(*value)).fold(0.0, f64::max);
    let observed = |of: &[(u32, f64)]| Some(Quantity { value: farthest(of), ..Quantity::count(0) });
    let mut findings = Vec::new();
    if !others.is_empty() {
        let named: Vec<String> =
            others.iter().map(|(number, value)| format!("run {number} ({})", in_unit(*value))).collect();
        findings.push(case.fires(Firing {
            weight: Weight::WarnOfRun,
            observed: observed(&others),
            threshold: limit.clone(),
            message: format!(
                "These runs are far from the median {}: {} (up to {:.1} median absolute deviations).{}",
                figure.claimed.median,
                named.join(", "),
                farthest(&others),
                because(figure)
            ),
            meaning: "Something disturbed them that did not disturb the other runs.".to_owned(),
            advice: "read the report of that run, and repeat the series on an idle system".to_owned(),
        }));
    }
    if let Some((_, value)) = first.first() {
        findings.push(case.fires(Firing {
            weight: Weight::Note,
            observed: observed(&first),
            threshold: limit.clone(),
            message: format!(
                "The first run ({}) was slower than the median {}.",
                in_unit(*value),
                figure.claimed.median
            ),
            meaning: "It began in another state: cold caches, missing files, or a sleeping device.".to_owned(),
            advice: "make one run before the series, or restore the same state before each run".to_owned(),
        }));
    }
    if findings.is_empty() {
        findings.push(case.silent(""));
    }
    Ok(findings)
}
