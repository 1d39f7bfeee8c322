//! Cost of a variant: statistics over pairs that were measured in the same round.
//!
//! Differences and ratios are taken inside a round and summarised afterwards: then other activity on the machine in
//! that round disturbs both sides alike.

use serde::Serialize;
use statrs::distribution::{Binomial, DiscreteCDF};
use statrs::statistics::{Data, Max, Min, OrderStatistics};

/// One round: nanoseconds per call without and with the variant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Pair {
    /// Nanoseconds per call, untraced. Above 0.
    pub(crate) untraced_ns: f64,
    /// Nanoseconds per call under the variant.
    pub(crate) observed_ns: f64,
}

/// Confidence level of an interval for the median.
const CONFIDENCE: f64 = 0.95;

/// Fewest values with an interval.
pub(crate) const LEAST_ROUNDS: usize = 6;

/// Interval that contains the median over all possible rounds, with at least 95 % confidence.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Interval {
    /// Its lower end, a measured value.
    pub(crate) low: f64,
    /// Its upper end, a measured value.
    pub(crate) high: f64,
}

/// Returns the sign test's interval for the median. It uses only the order of the values and assumes nothing about
/// their distribution, which on a shared device is far from normal (W. J. Conover, Practical Nonparametric Statistics,
/// section 3.2).
///
/// `None` with fewer than 6 values: then even the range from the smallest to the largest contains the median with less
/// than 95 % confidence.
pub(crate) fn median_interval(values: &[f64]) -> Option<Interval> {
    let mut ordered = values.to_vec();
    ordered.sort_by(f64::total_cmp);
    let below = Binomial::new(0.5, ordered.len() as u64).ok()?;
    // The median is below the value of this index only if at most `index` values are.
    let index =
        (0..ordered.len() / 2).take_while(|index| below.cdf(*index as u64) <= (1.0 - CONFIDENCE) / 2.0).last()?;
    Some(Interval { low: ordered[index], high: ordered[ordered.len() - 1 - index] })
}

/// Returns the interval for how many times the second value the first one is, in the median over the rounds: the
/// multiples for which the sign test does not exclude that the first less so many times the second is 0. `None` with
/// too few rounds, and where the second value is too small beside its scatter for any such interval.
pub(crate) fn multiple_interval(rounds: &[(f64, f64)]) -> Option<Interval> {
    const STEPS_PER_ONE: u32 = 50;
    const MOST: u32 = 100;
    let is_possible = |multiple: f64| {
        let differences: Vec<f64> = rounds.iter().map(|(first, second)| first - multiple * second).collect();
        median_interval(&differences).is_some_and(|interval| interval.low <= 0.0 && interval.high >= 0.0)
    };
    let multiples = (0..=MOST * STEPS_PER_ONE).map(|step| f64::from(step) / f64::from(STEPS_PER_ONE));
    let possible: Vec<f64> = multiples.filter(|multiple| is_possible(*multiple)).collect();
    let (low, high) = (*possible.first()?, *possible.last()?);
    (high < f64::from(MOST)).then_some(Interval { low, high })
}

/// A variant's cost over all rounds in which both sides were measured.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Cost {
    /// Number of pairs behind the figures, at least 1.
    pub(crate) rounds: usize,
    /// Median nanoseconds per call under the variant.
    pub(crate) ns_per_call: f64,
    /// Median of the differences, in nanoseconds per call; negative when the variant was faster.
    pub(crate) added_ns_median: f64,
    /// 5th percentile of the differences; with fewer than 13 rounds it is the smallest.
    pub(crate) added_ns_p5: f64,
    /// Largest difference.
    pub(crate) added_ns_max: f64,
    /// Interval of the median difference; `None` with fewer than 6 rounds.
    pub(crate) added_ns_interval: Option<Interval>,
    /// Median of the ratios to untraced.
    pub(crate) ratio_median: f64,
    /// Smallest ratio.
    pub(crate) ratio_min: f64,
    /// Largest ratio.
    pub(crate) ratio_max: f64,
    /// Interval of the median ratio; `None` with fewer than 6 rounds.
    pub(crate) ratio_interval: Option<Interval>,
}

/// Computes the cost from these pairs; `None` without a pair.
pub(crate) fn cost(pairs: &[Pair]) -> Option<Cost> {
    if pairs.is_empty() {
        return None;
    }
    let values = |value: fn(&Pair) -> f64| pairs.iter().map(value).collect::<Vec<f64>>();
    let added: fn(&Pair) -> f64 = |pair| pair.observed_ns - pair.untraced_ns;
    let ratio: fn(&Pair) -> f64 = |pair| pair.observed_ns / pair.untraced_ns;
    let (added_ns_interval, ratio_interval) = (median_interval(&values(added)), median_interval(&values(ratio)));
    let mut observed = Data::new(values(|pair| pair.observed_ns));
    let (mut added, mut ratio) = (Data::new(values(added)), Data::new(values(ratio)));
    Some(Cost {
        rounds: pairs.len(),
        ns_per_call: observed.median(),
        added_ns_median: added.median(),
        added_ns_p5: added.quantile(0.05),
        added_ns_max: added.max(),
        added_ns_interval,
        ratio_median: ratio.median(),
        ratio_min: ratio.min(),
        ratio_max: ratio.max(),
        ratio_interval,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(values: &[(f64, f64)]) -> Vec<Pair> {
        values.iter().map(|&(untraced_ns, observed_ns)| Pair { untraced_ns, observed_ns }).collect()
    }

    #[test]
    fn no_round_has_no_cost() {
        assert_eq!(cost(&[]), None);
    }

    #[test]
    fn one_round_is_its_own_median_and_spread() {
        let expected = Cost {
            rounds: 1,
            ns_per_call: 600.0,
            added_ns_median: 200.0,
            added_ns_p5: 200.0,
            added_ns_max: 200.0,
            added_ns_interval: None,
            ratio_median: 1.5,
            ratio_min: 1.5,
            ratio_max: 1.5,
            ratio_interval: None,
        };
        assert_eq!(cost(&pairs(&[(400.0, 600.0)])), Some(expected));
    }

    /// Ranks of the sign test's two-sided interval of at least 95 %, from published tables.
    #[test]
    fn an_interval_is_cut_off_by_the_sign_test() {
        for (count, rank) in [(6, 1), (8, 1), (9, 2), (12, 3), (20, 6), (30, 10), (57, 21), (60, 22)] {
            let values: Vec<f64> = (1..=count).rev().map(f64::from).collect();
            let expected = Interval { low: f64::from(rank), high: f64::from(count + 1 - rank) };
            assert_eq!(median_interval(&values), Some(expected), "{count}");
        }
        for count in 0..6 {
            assert_eq!(median_interval(&vec![1.0; count]), None, "{count}");
        }
    }

    #[test]
    fn a_multiple_has_an_interval_where_its_unit_stands_out() {
        let rounds: Vec<(f64, f64)> = (0..20).map(|round| (f64::from(90 + round), 50.0)).collect();
        let interval = multiple_interval(&rounds).expect("an interval");
        // The sixth and the fifteenth: 95 and 104.
        assert_eq!((interval.low, interval.high), (1.9, 2.08));
        assert_eq!(multiple_interval(&rounds[..5]), None, "too few rounds");
        let scattered: Vec<(f64, f64)> = (0..20).map(|round| (100.0, f64::from(round % 2 * 20 - 10))).collect();
        assert_eq!(multiple_interval(&scattered), None, "what the unit is cannot be told");
    }

    /// In the second round the whole machine was half as fast. Medians of each side alone would give 800 - 400 and a
    /// ratio of 2, but the variant adds a quarter.
    #[test]
    fn a_slow_round_slows_both_sides_of_its_pair() {
        let cost = cost(&pairs(&[(400.0, 500.0), (800.0, 1000.0), (400.0, 500.0)])).expect("a cost");
        assert_eq!((cost.ratio_median, cost.ratio_min, cost.ratio_max), (1.25, 1.25, 1.25));
        assert_eq!((cost.added_ns_median, cost.added_ns_p5), (100.0, 100.0));
        assert_eq!(cost.ns_per_call, 500.0);
    }

    #[test]
    fn a_variant_that_was_faster_has_a_negative_cost() {
        let cost = cost(&pairs(&[(400.0, 390.0), (400.0, 420.0)])).expect("a cost");
        assert_eq!((cost.added_ns_p5, cost.added_ns_median, cost.ratio_min), (-10.0, 5.0, 0.975));
    }

    #[test]
    fn the_fifth_percentile_leaves_the_smallest_behind_when_rounds_are_many() {
        let rounds = |count: u32| -> Vec<Pair> {
            (0..count).map(|round| Pair { untraced_ns: 400.0, observed_ns: 400.0 + f64::from(round) }).collect()
        };
        assert_eq!(cost(&rounds(12)).expect("a cost").added_ns_p5, 0.0);
        let of_many = cost(&rounds(101)).expect("a cost").added_ns_p5;
        assert!((4.0..6.0).contains(&of_many), "{of_many}");
    }
}
