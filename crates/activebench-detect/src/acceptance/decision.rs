//! The decision rule, and how uncertain a median is.
//!
//! **Rule.** ILAC-G8:09/2019, 4.2. Under a guard band of width w = U a figure that is better than the limit by more than
//! w passes, one that is better by w at most passes conditionally, one that is worse by w at most fails conditionally,
//! and one that is worse by more than w fails. The edges belong to the conditional outcomes, and the limit itself to the
//! good side: "at least 200 MB/s" is kept by 200 MB/s. Simple acceptance is the same with w = 0 and without the
//! conditional outcomes: what keeps the limit passes.
//!
//! **Uncertainty.** U = sqrt(statistical^2 + resolution^2 + tolerance^2), each with a coverage of about 95 % (k = 2; JCGM
//! 100:2008 (GUM), 5.1 and 6.2):
//!
//! * *statistical*: from 6 runs on the farther end of the interval of the median (order statistics, at least 95 %,
//!   whatever the distribution). Of 2 to 5 runs no such interval exists: there it is t(0.975, n - 1) s sqrt(pi / 2) /
//!   sqrt(n), which takes the values as normally distributed; sqrt(pi / 2) is the ratio of the standard errors of a
//!   median and a mean of many such values, and more than that of few. Of one run it is not known.
//! * *resolution*: the printed number is anywhere within half a step of the number that the tool computed; a rectangular
//!   distribution of half-width a has the standard uncertainty a / sqrt(3) (GUM 4.3.7), expanded 2 a / sqrt(3). It is
//!   not divided by the number of runs: a tool may round each of them the same way.
//! * *tolerance*: what the parties agreed to add, taken as expanded already.

use activebench_model::acceptance::{AcceptanceOutcome, Bound, DecisionRule, Uncertainty};
use activebench_model::series::LEAST_RUNS;
use activebench_model::units::{Quantity, Unit, significant};
use statrs::distribution::{ContinuousCDF, StudentsT};
use statrs::statistics::{Data, Distribution};

use crate::series::statistics::{median, median_interval};

/// Least coverage of the interval of the median.
const COVERAGE: f64 = 0.95;
/// Upper quantile of Student's distribution for that coverage.
const QUANTILE: f64 = 0.975;
/// Coverage factor.
const K: f64 = 2.0;

/// By how much a figure is on the good side of its limit; negative on the bad one.
pub(super) fn margin(bound: Bound, limit: f64, figure: f64) -> f64 {
    match bound {
        Bound::AtLeast => figure - limit,
        Bound::AtMost => limit - figure,
    }
}

/// The outcome of a margin, with a guard band of this width; see the head of this file.
pub(super) fn decide(rule: DecisionRule, margin: f64, guard_band: f64) -> AcceptanceOutcome {
    match rule {
        DecisionRule::Simple if margin >= 0.0 => AcceptanceOutcome::Pass,
        DecisionRule::Simple => AcceptanceOutcome::Fail,
        DecisionRule::GuardBand if margin > guard_band => AcceptanceOutcome::Pass,
        DecisionRule::GuardBand if margin >= 0.0 => AcceptanceOutcome::ConditionalPass,
        DecisionRule::GuardBand if margin >= -guard_band => AcceptanceOutcome::ConditionalFail,
        DecisionRule::GuardBand => AcceptanceOutcome::Fail,
    }
}

/// The uncertainty of the median of these values; `None` for fewer than two. `resolution` is half a step of the printed
/// numbers, and `tolerance` what was agreed on, in their unit.
pub(super) fn uncertainty(values: &[f64], unit: Unit, resolution: f64, tolerance: f64) -> Option<Uncertainty> {
    let (statistical, statistical_basis) = statistical(values, unit)?;
    let resolution = K * resolution / 3.0_f64.sqrt();
    let expanded = [statistical, resolution, tolerance].iter().map(|part| part * part).sum::<f64>().sqrt();
    let in_unit = |value| Quantity { value, unit };
    Some(Uncertainty {
        statistical: in_unit(statistical),
        statistical_basis,
        resolution: in_unit(resolution),
        tolerance: in_unit(tolerance),
        expanded: in_unit(expanded),
    })
}

fn statistical(values: &[f64], unit: Unit) -> Option<(f64, String)> {
    let count = values.len();
    if count < 2 {
        return None;
    }
    let median = median(values)?;
    if let Some(interval) = median_interval(values, unit, COVERAGE) {
        let farther = (median - interval.low.value).max(interval.high.value - median);
        let coverage = Quantity::ratio(interval.confidence_ratio);
        return Some((farther, format!("interval of the median by order statistics, {coverage}, of {count} runs")));
    }
    let deviation = Data::new(values.to_vec()).std_dev()?;
    let student = StudentsT::new(0.0, 1.0, count as f64 - 1.0).expect("at least one degree of freedom");
    let quantile = student.inverse_cdf(QUANTILE);
    let half_pi = std::f64::consts::FRAC_PI_2;
    let expanded = quantile * deviation * (half_pi / count as f64).sqrt();
    let basis = format!(
        "Student's t of {count} runs ({}), taken as normally distributed; from {LEAST_RUNS} runs on without that",
        significant(quantile)
    );
    Some((expanded, basis))
}

#[cfg(test)]
mod tests {
    use super::*;
    use AcceptanceOutcome::{ConditionalFail, ConditionalPass, Fail, Pass};

    fn close(one: f64, other: f64) -> bool {
        (one - other).abs() < 1e-9 * other.abs().max(1.0)
    }

    #[test]
    fn the_edges_of_the_rule_are_decided_on_both_sides() {
        // Limit 100, guard band 10; exact in binary.
        for (at_least, at_most, guarded, simple) in [
            (110.5, 89.5, Pass, Pass),
            (110.0, 90.0, ConditionalPass, Pass),
            (105.0, 95.0, ConditionalPass, Pass),
            (100.0, 100.0, ConditionalPass, Pass),
            (99.5, 100.5, ConditionalFail, Fail),
            (90.0, 110.0, ConditionalFail, Fail),
            (89.5, 110.5, Fail, Fail),
        ] {
            for (bound, figure) in [(Bound::AtLeast, at_least), (Bound::AtMost, at_most)] {
                let margin = margin(bound, 100.0, figure);
                assert_eq!(decide(DecisionRule::GuardBand, margin, 10.0), guarded, "{bound:?} {figure}");
                assert_eq!(decide(DecisionRule::Simple, margin, 0.0), simple, "{bound:?} {figure}");
            }
        }
    }

    #[test]
    fn a_guard_band_without_width_leaves_the_limit_conditional() {
        for (margin, expected) in [(0.5, Pass), (0.0, ConditionalPass), (-0.5, Fail)] {
            assert_eq!(decide(DecisionRule::GuardBand, margin, 0.0), expected, "{margin}");
        }
    }

    #[test]
    fn of_six_runs_the_interval_of_the_median_is_the_statistical_part() {
        let values = [100.0, 101.0, 102.0, 104.0, 90.0, 103.0];
        let found = uncertainty(&values, Unit::BytesPerSec, 0.0, 0.0).expect("six values");
        // Median 101.5, smallest 90, largest 104.
        assert!(close(found.statistical.value, 11.5) && close(found.expanded.value, 11.5), "{found:?}");
        assert!(found.statistical_basis.contains("96.9 %"), "{found:?}");
    }

    #[test]
    fn of_fewer_runs_it_is_student_s() {
        // s = 1, n = 3, t(0.975, 2) = 4.302652730, tables.
        let found = uncertainty(&[99.0, 100.0, 101.0], Unit::Ns, 0.0, 0.0).expect("three values");
        let expected = 4.302_652_730 * (std::f64::consts::FRAC_PI_2 / 3.0).sqrt();
        assert!((found.statistical.value - expected).abs() < 1e-6, "{found:?}");
        assert_eq!(uncertainty(&[99.0], Unit::Ns, 0.0, 5.0), None);
        assert_eq!(uncertainty(&[], Unit::Ns, 0.0, 5.0), None);
    }

    #[test]
    fn the_parts_are_added_as_squares() {
        let values = [97.0, 100.0, 100.0, 100.0, 100.0, 100.0];
        let found = uncertainty(&values, Unit::Count, 0.0, 4.0).expect("six values");
        assert!(close(found.statistical.value, 3.0) && close(found.expanded.value, 5.0), "{found:?}");
        let found = uncertainty(&[7.0; 6], Unit::Count, 0.5, 0.0).expect("six values");
        assert!(close(found.expanded.value, 1.0 / 3.0_f64.sqrt()), "{found:?}");
    }
}
