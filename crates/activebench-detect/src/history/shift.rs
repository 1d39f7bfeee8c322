//! Later runs against those of a baseline: Hodges and Lehmann's estimate of the ratio of the two levels.
//!
//! Of every later value over every one of the baseline the median is the ratio, and two of these ratios are the ends of
//! its interval, by the distribution of Mann and Whitney's U (Hodges, Lehmann, *Ann. Math. Stat.* 34 (1963) 598).
//! Ratios in the place of differences make it a shift of logarithms: both samples are taken to be of one shape but for
//! a factor. It holds whatever that shape is, and takes runs as independent.

use activebench_model::claim::Metric;
use activebench_model::compare::RatioInterval;
use activebench_model::history::{AgainstBaseline, Outcome};

use super::chance::{left_out, of_pairs};
use crate::series::statistics::{CONFIDENCE, median};

/// Pairs of more values are not needed to know the interval's ends; runs are taken evenly.
const MOST_VALUES: usize = 1_500;

/// The comparison; what cannot be compared is open.
pub(super) fn shift(metric: Metric, baseline: &[f64], later: &[f64]) -> AgainstBaseline {
    let not = |why: String| AgainstBaseline::NotCompared { why, open: true };
    let Some(more_is_worse) = metric.more_is_worse() else {
        let why = "more of it is neither better nor worse".to_owned();
        return AgainstBaseline::NotCompared { why, open: false };
    };
    if baseline.iter().chain(later).any(|value| *value <= 0.0) {
        return not("a value is not above 0, so there is no ratio".to_owned());
    }
    let (base, new) = (evenly(baseline), evenly(later));
    let Some((outside, confidence_ratio)) = left_out(base.len(), new.len(), CONFIDENCE) else {
        return not(too_few(baseline.len(), later.len()));
    };
    let mut ratios: Vec<f64> = new.iter().flat_map(|new| base.iter().map(move |base| new / base)).collect();
    ratios.sort_by(f64::total_cmp);
    let Some(ratio) = median(&ratios) else { return not(too_few(baseline.len(), later.len())) };
    let interval = RatioInterval { low: ratios[outside], high: ratios[ratios.len() - 1 - outside], confidence_ratio };
    // Equal values speak for neither side.
    let (not_above, below) =
        (ratios.partition_point(|ratio| *ratio <= 1.0), ratios.partition_point(|ratio| *ratio < 1.0));
    let probability = of_pairs(base.len(), new.len(), not_above.min(ratios.len() - below));
    let outcome = match (interval.low > 1.0, interval.high < 1.0) {
        (true, _) if more_is_worse => Outcome::Worse,
        (true, _) => Outcome::Better,
        (_, true) if more_is_worse => Outcome::Better,
        (_, true) => Outcome::Worse,
        _ => Outcome::NoDifferenceSeen,
    };
    let (baseline_runs, later_runs) = (baseline.len(), later.len());
    AgainstBaseline::Compared { outcome, ratio, interval, probability, baseline_runs, later_runs }
}

/// The meaning of a comparison for a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Held {
    /// Not worse by as much.
    Within,
    /// As far as the values go it is, which chance can give too.
    Open,
    /// Worse, and by at least as much.
    Beyond,
}

/// Returns the relation of a comparison to a limit, as a share of the baseline. Of `compared` figures that did not
/// change any is beyond a limit with at most 1 - [`CONFIDENCE`] (Bonferroni; Dunn, *JASA* 56 (1961) 52).
pub(super) fn held(
    metric: Metric,
    outcome: Outcome,
    (ratio, probability): (f64, f64),
    limit_ratio: f64,
    compared: usize,
) -> Held {
    let worse_by = match metric.more_is_worse() {
        Some(true) => ratio - 1.0,
        _ => 1.0 - ratio,
    };
    let is_worse = outcome == Outcome::Worse;
    match worse_by >= limit_ratio {
        true if is_worse && 1.0 - probability >= each(compared) => Held::Beyond,
        // Without a limit half of the figures that did not change would be open.
        true if is_worse || limit_ratio > 0.0 => Held::Open,
        _ => Held::Within,
    }
}

/// Returns the confidence with which each of so many figures is reported as changed.
fn each(compared: usize) -> f64 {
    1.0 - (1.0 - CONFIDENCE) / compared.max(1) as f64
}

/// Returns the number of runs on both sides that can show a change of one of so many figures.
pub(super) fn least_runs(compared: usize) -> usize {
    let enough = |runs: &usize| left_out(*runs, *runs, each(compared)).is_some();
    (1..MOST_VALUES).find(enough).unwrap_or(MOST_VALUES)
}

fn evenly(values: &[f64]) -> Vec<f64> {
    values.iter().copied().step_by(values.len().div_ceil(MOST_VALUES).max(1)).collect()
}

/// Returns the number of runs that are missing, for the user to add.
fn too_few(baseline: usize, later: usize) -> String {
    let needed = |of: usize| (1..=39).find(|more| left_out(of, *more, CONFIDENCE).is_some());
    match (needed(baseline), needed(later)) {
        _ if baseline == 0 => "the baseline has no value that counts".to_owned(),
        _ if later == 0 => "no later run has a value that counts".to_owned(),
        (Some(needed), _) => format!("{baseline} runs of the baseline need {needed} later ones, and there are {later}"),
        (None, _) => format!("{baseline} runs of the baseline and {later} later ones are too few"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(metric: Metric, baseline: &[f64], later: &[f64]) -> Result<Outcome, String> {
        match shift(metric, baseline, later) {
            AgainstBaseline::Compared { outcome, .. } => Ok(outcome),
            AgainstBaseline::NotCompared { why, .. } => Err(why),
        }
    }

    #[test]
    fn a_change_is_told_from_noise() {
        let base = [100.0, 101.0, 99.0, 100.5, 99.5];
        let lower: Vec<f64> = base.iter().map(|value| value * 0.9).collect();
        for (metric, later, expected) in [
            (Metric::Throughput, &base[..], Ok(Outcome::NoDifferenceSeen)),
            (Metric::Throughput, &lower[..], Ok(Outcome::Worse)),
            (Metric::LatencyP99, &lower[..], Ok(Outcome::Better)),
            (Metric::TimePerOperation, &lower[..], Ok(Outcome::Better)),
            (Metric::Throughput, &[100.2, 98.0, 101.5, 99.9][..], Ok(Outcome::NoDifferenceSeen)),
            (Metric::Throughput, &lower[..2], Err("5 runs of the baseline need 3 later ones, and there are 2")),
            (Metric::Throughput, &[], Err("no later run has a value that counts")),
            (Metric::Throughput, &[0.0; 5], Err("a value is not above 0, so there is no ratio")),
            (Metric::BytesMoved, &lower[..], Err("more of it is neither better nor worse")),
        ] {
            assert_eq!(outcome(metric, &base, later), expected.map_err(str::to_owned), "{metric:?} {later:?}");
        }
        assert_eq!(outcome(Metric::Throughput, &[], &base), Err("the baseline has no value that counts".to_owned()));
        let one = outcome(Metric::Throughput, &base[..1], &base);
        assert_eq!(one, Err("1 runs of the baseline need 39 later ones, and there are 5".to_owned()));
    }

    #[test]
    fn the_ratio_and_its_interval_are_pairs_of_values() {
        // Of 4 and 4 all 16 pairs stay: 1 - 2/70.
        let found = shift(Metric::Throughput, &[10.0, 11.0, 12.0, 13.0], &[20.0, 22.0, 24.0, 26.0]);
        let AgainstBaseline::Compared { outcome, ratio, interval, probability, baseline_runs, later_runs } = found
        else {
            panic!("there are enough");
        };
        assert_eq!((outcome, ratio, baseline_runs, later_runs), (Outcome::Better, 2.0, 4, 4));
        assert_eq!((interval.low, interval.high), (20.0 / 13.0, 2.6));
        assert!((interval.confidence_ratio - (1.0 - 2.0 / 70.0)).abs() < 1e-12);
        assert!((probability - 2.0 / 70.0).abs() < 1e-12, "all pairs lie on one side");
    }

    #[test]
    fn a_limit_counts_only_what_is_surely_worse() {
        use Held::{Beyond, Open, Within};
        let (sure, all, unsure) = (0.001, 0.0159, 0.2);
        for (metric, outcome, found, limit, compared, expected) in [
            (Metric::Throughput, Outcome::Worse, (0.94, sure), 0.05, 1, Beyond),
            (Metric::Throughput, Outcome::Worse, (0.96, sure), 0.05, 1, Within),
            (Metric::Throughput, Outcome::Better, (2.0, sure), 0.05, 1, Within),
            (Metric::LatencyP99, Outcome::Worse, (1.05, sure), 0.05, 1, Beyond),
            (Metric::LatencyP99, Outcome::Worse, (1.04, sure), 0.05, 1, Within),
            (Metric::LatencyP99, Outcome::Better, (0.5, sure), 0.05, 1, Within),
            (Metric::Throughput, Outcome::Worse, (0.999, sure), 0.0, 1, Beyond),
            // A difference that chance can explain is neither a regression nor a success.
            (Metric::Throughput, Outcome::NoDifferenceSeen, (0.5, unsure), 0.05, 1, Open),
            (Metric::Throughput, Outcome::NoDifferenceSeen, (0.96, unsure), 0.05, 1, Within),
            (Metric::LatencyP99, Outcome::NoDifferenceSeen, (1.5, unsure), 0.05, 1, Open),
            (Metric::Throughput, Outcome::NoDifferenceSeen, (0.96, unsure), 0.0, 1, Within),
            // Of many figures one is as far away by chance.
            (Metric::Throughput, Outcome::Worse, (0.5, all), 0.05, 3, Beyond),
            (Metric::Throughput, Outcome::Worse, (0.5, all), 0.05, 4, Open),
            (Metric::Throughput, Outcome::Worse, (0.999, all), 0.0, 4, Open),
        ] {
            assert_eq!(held(metric, outcome, found, limit, compared), expected, "{metric:?} {found:?} {limit}");
        }
        for (compared, expected) in [(0, 4), (1, 4), (2, 5), (6, 5), (7, 6), (23, 6), (24, 7), (1_000, 9)] {
            assert_eq!(least_runs(compared), expected, "{compared}");
        }
    }
}
