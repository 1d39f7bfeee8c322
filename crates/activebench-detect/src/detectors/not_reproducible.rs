//! # What it finds
//! A figure that differs between runs of the same command by more than a reader expects.
//!
//! # Why it matters
//! A single run could have given any of these values. A difference from another system that is smaller than the
//! spread means nothing.
//!
//! # How it decides
//! It judges the first rate of each phase over all runs of a series (`verify --repeat`). (largest - smallest) /
//! median above 5 % warns. A standard deviation above 2.5 % of the mean is a note that asks for more runs. Fewer than
//! 5 runs leave it undecided. No run is left out.
//!
//! If the evidence shows a cause, the message names it: foreign I/O, the quota of a control group, page cache hits,
//! CPUs that were taken away, waiting for memory, or heat. A cause must meet all of these conditions:
//!
//! - It is known for every run.
//! - It differs by as much as its own detector warns of.
//! - It moves the figure in the expected direction.
//! - It explains at least half of the figure's variance, and chance alone would do so for at most one figure in a
//!   hundred.
//!
//! # When it is wrong
//! A system whose state changes by design (a device that fills up, a cache that warms) varies without being noisy.
//! Look at AB702 and at the order of the values.
//!
//! # What to do
//! Look for what differs between the runs (files that remain, caches, other load, temperature), and quote the median
//! with its interval instead of one value.
//!
//! # References
//! MLPerf Storage 6.7 (five runs within 5 %); HPC requests for proposals ask for the same; Phoronix Test Suite (2.5 %
//! in its default configuration).

use activebench_model::finding::Finding;
use activebench_model::series::Repeated;
use activebench_model::units::Quantity;

use crate::cases::run::{Firing, Halt, Weight};
use crate::cases::series::{SeriesCase, because, needs, of_each_rate, values};
use crate::detector::{Basis, Decides, Detector, Judge};
use crate::run::Series;

/// See the head of this file.
pub static DETECTOR: Detector = Detector {
    code: "AB705",
    name: "not-reproducible",
    title: "The figure is not reproducible",
    explained_by: &["AB702", "AB704"],
    source: include_str!("not_reproducible.rs"),
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
    let sample = &figure.claimed;
    let count = values(&case.series, figure).len();
    needs(count, limits.ab705_runs_least_count.value.value)?;
    let spread =
        sample.spread_ratio.ok_or_else(|| Halt::undecided("The median is 0, so there is no relative spread."))?;
    let deviation = sample.deviation.map(|deviation| deviation.value / sample.mean.value).unwrap_or(0.0);
    let range = format!("{count} runs range from {} to {} (median {}).", sample.least, sample.most, sample.median);
    let limit = &limits.ab705_spread_warn_ratio;
    if spread > limit.value.value {
        return Ok(vec![case.fires(Firing {
            weight: Weight::WarnOfRun,
            observed: Some(Quantity::ratio(spread)),
            threshold: limit.clone(),
            message: format!("{range} The spread is {} of the median.{}", Quantity::ratio(spread), because(figure)),
            meaning: "Any single run could show any of these. A smaller difference is not significant.".to_owned(),
            advice: "find the difference between the runs, and quote the median with its interval".to_owned(),
        })]);
    }
    let limit = &limits.ab705_deviation_note_ratio;
    if deviation > limit.value.value {
        return Ok(vec![case.fires(Firing {
            weight: Weight::Note,
            observed: Some(Quantity::ratio(deviation)),
            threshold: limit.clone(),
            message: format!("{range} The standard deviation is {} of the mean.", Quantity::ratio(deviation)),
            meaning: "The median is not known more accurately than that.".to_owned(),
            advice: format!("repeat it more often: `--repeat {}`", 2 * count),
        })]);
    }
    Ok(vec![case.silent(range)])
}
