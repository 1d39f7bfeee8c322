//! How likely chance alone orders values so: the exact distribution behind Mann-Kendall's and Mann-Whitney's tests.
//!
//! Both count inversions of an arrangement in which every order is equally likely. Their number over all arrangements
//! of groups of equal values is a Gaussian multinomial coefficient (MacMahon, *Combinatory Analysis* 1, 1915), computed
//! here in whole numbers; where these become too large, the normal distribution is close.

use statrs::distribution::{ContinuousCDF, Normal};

/// From here on counts of arrangements might not fit: powers of two.
const LARGEST: f64 = 110.0;

/// How many arrangements of groups of so many equal values have 0, 1, 2, ... inversions; `None` where there are too
/// many arrangements to count.
pub(super) fn inversions(groups: &[usize]) -> Option<Vec<i128>> {
    let mut size = 0_usize;
    let mut bits = 0.0;
    for group in groups {
        for one in 1..=*group {
            size += 1;
            bits += (size as f64 / one as f64).log2();
        }
    }
    // A product of two coefficients stands for a moment: the largest factor is the number of values.
    if bits + (size.max(1) as f64).log2() > LARGEST {
        return None;
    }
    let mut counts = vec![1_i128];
    let mut before = 0;
    for group in groups {
        for one in 1..=*group {
            // Times (1 - q^(before + one)), over (1 - q^one).
            let shift = before + one;
            let mut product = counts.clone();
            product.resize(counts.len() + shift, 0);
            for (place, count) in counts.iter().enumerate() {
                product[place + shift] -= count;
            }
            for place in one..product.len() {
                product[place] += product[place - one];
            }
            product.truncate(counts.len() + before);
            counts = product;
        }
        before += group;
    }
    Some(counts)
}

/// Sizes of the groups of equal values.
pub(super) fn ties(values: &[f64]) -> Vec<usize> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.chunk_by(|one, other| one == other).map(<[f64]>::len).collect()
}

/// Probability of an excess of ascending over descending pairs of at least `excess`, either way, among values in an
/// order that means nothing.
pub(super) fn of_order(values: &[f64], excess: i64) -> f64 {
    let groups = ties(values);
    if let Some(counts) = inversions(&groups) {
        let pairs = counts.len() as i64 - 1;
        let as_far = counts.iter().enumerate().filter(|(down, _)| (pairs - 2 * *down as i64).abs() >= excess.abs());
        let all: f64 = counts.iter().map(|count| *count as f64).sum();
        return as_far.map(|(_, count)| *count as f64).sum::<f64>() / all;
    }
    // Kendall, *Rank Correlation Methods*, 4th ed., 4.10, with its correction for continuity.
    let weight = |count: usize| (count * (count - 1) * (2 * count + 5)) as f64;
    let variance = (weight(values.len()) - groups.iter().map(|group| weight(*group)).sum::<f64>()) / 18.0;
    let distance = (excess.abs() as f64 - 1.0).max(0.0) / variance.sqrt();
    2.0 * (1.0 - standard_normal().cdf(distance))
}

/// Returns how many of the sorted pairs of two samples are outside of an interval at each end, and with which
/// probability the rest covers the shift; `None` where all pairs are not enough for `least`.
pub(super) fn left_out(one: usize, other: usize, least: f64) -> Option<(usize, f64)> {
    if one == 0 || other == 0 {
        return None;
    }
    let (mut outside, mut below) = (None, 0.0);
    match inversions(&[one, other]) {
        Some(counts) => {
            let all: f64 = counts.iter().map(|count| *count as f64).sum();
            for (rank, count) in counts.iter().enumerate().take(one * other / 2) {
                below += *count as f64 / all;
                if 1.0 - 2.0 * below < least {
                    break;
                }
                outside = Some((rank, 1.0 - 2.0 * below));
            }
        }
        None => {
            // Hollander, Wolfe, Chicken, *Nonparametric Statistical Methods*, 3rd ed., 4.3.
            let pairs = (one * other) as f64;
            let width =
                standard_normal().inverse_cdf(0.5 + least / 2.0) * (pairs * (one + other + 1) as f64 / 12.0).sqrt();
            let rank = (pairs / 2.0 - width).floor();
            outside = (rank >= 0.0).then_some((rank as usize, least));
        }
    }
    outside
}

/// Probability that so few pairs of two samples without a difference are on one side, either way.
pub(super) fn of_pairs(one: usize, other: usize, fewer: usize) -> f64 {
    let below = match inversions(&[one, other]) {
        Some(counts) => {
            let all: f64 = counts.iter().map(|count| *count as f64).sum();
            counts.iter().take(fewer + 1).map(|count| *count as f64 / all).sum()
        }
        None => {
            let pairs = (one * other) as f64;
            let deviation = (pairs * (one + other + 1) as f64 / 12.0).sqrt();
            standard_normal().cdf((fewer as f64 - pairs / 2.0) / deviation)
        }
    };
    (2.0 * below).min(1.0)
}

fn standard_normal() -> Normal {
    Normal::standard()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inversions_are_those_of_all_arrangements() {
        for (groups, expected) in [
            (vec![], vec![1]),
            (vec![1, 1, 1], vec![1, 2, 2, 1]),
            (vec![1, 1, 1, 1], vec![1, 3, 5, 6, 5, 3, 1]),
            // Two of one kind, two of another: U of Mann and Whitney for 2 and 2.
            (vec![2, 2], vec![1, 1, 2, 1, 1]),
            (vec![2, 1], vec![1, 1, 1]),
            (vec![4], vec![1]),
        ] {
            assert_eq!(inversions(&groups), Some(expected), "{groups:?}");
        }
        let large = inversions(&[30, 30]).expect("118264581564861424 arrangements can be counted");
        assert_eq!((large.iter().sum::<i128>(), large.len()), (118_264_581_564_861_424, 901));
        assert_eq!(inversions(&[1; 40]), None);
    }

    #[test]
    fn the_probability_of_an_order_is_that_of_the_tables() {
        // Hollander, Wolfe, Chicken, table of Kendall's K: n = 4: P(K >= 6) = 0.042, n = 5: P(K >= 8) = 0.042,
        // n = 10: P(K >= 21) = 0.036; both sides here.
        for (count, excess, expected) in [(4, 6, 2.0 / 24.0), (5, 8, 10.0 / 120.0), (10, 21, 0.0726), (10, -21, 0.0726)]
        {
            let values: Vec<f64> = (0..count).map(f64::from).collect();
            let found = of_order(&values, excess);
            assert!((found - expected).abs() < 6e-4, "{count}, {excess}: {found}");
        }
        assert_eq!(of_order(&[1.0, 1.0, 1.0], 0), 1.0, "equal values have no order");
        // Close to one another where the one ends and the other begins.
        let (exact, normal): (Vec<f64>, Vec<f64>) =
            ((0..26).map(f64::from).collect(), (0..40).map(f64::from).collect());
        assert!(inversions(&ties(&exact)).is_some() && inversions(&ties(&normal)).is_none());
        let of = |values: &[f64], deviations: f64| {
            let count = values.len() as f64;
            of_order(values, (deviations * (count * (count - 1.0) * (2.0 * count + 5.0) / 18.0).sqrt()) as i64)
        };
        assert!((of(&exact, 2.0) - of(&normal, 2.0)).abs() < 0.005);
    }

    #[test]
    fn an_interval_of_a_shift_needs_enough_runs() {
        // Table of the Wilcoxon rank sum: 95 % needs 4 and 4 (2/70), 3 and 5, 2 and 8, 1 and 39.
        for (one, other, expected) in [
            (3, 3, None),
            (4, 4, Some(0)),
            (3, 4, None),
            (3, 5, Some(0)),
            (2, 7, None),
            (2, 8, Some(0)),
            (1, 38, None),
            (1, 39, Some(0)),
            (5, 5, Some(2)),
            (10, 10, Some(23)),
            (0, 9, None),
            (0, 0, None),
        ] {
            let found = left_out(one, other, 0.95);
            assert_eq!(found.map(|(rank, _)| rank), expected, "{one} and {other}");
            assert_eq!(left_out(other, one, 0.95), found, "either way");
            assert!(found.is_none_or(|(_, confidence)| confidence >= 0.95));
        }
        // The interval leaves 1 out exactly when the probability is small enough.
        for (one, other) in [(4, 4), (5, 4), (2, 9), (10, 10), (50, 50), (400, 500)] {
            let (rank, _) = left_out(one, other, 0.95).expect("they are enough");
            let of = |fewer| of_pairs(one, other, fewer);
            assert!(of(rank) <= 0.05 && of(rank + 1) > 0.05, "{one} and {other}: {}, {}", of(rank), of(rank + 1));
        }
        assert!(of_pairs(5, 5, 12) > 0.999, "half of the pairs on either side is as near as it gets");
        let (exact, normal) = (left_out(50, 50, 0.95), left_out(500, 500, 0.95));
        assert!(exact.is_some_and(|(rank, _)| (960..975).contains(&rank)), "{exact:?}");
        assert!(normal.is_some_and(|(rank, _)| (115_000..117_000).contains(&rank)), "{normal:?}");
    }
}
