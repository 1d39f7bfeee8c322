//! Statistics over the runs of a series. Percentiles are never averaged and outliers never dropped.

use activebench_model::claim::Metric;
use activebench_model::series::{ClaimOfRun, Interval, Repeated, RunOfSeries, Sample};
use activebench_model::units::{Quantity, Unit};
use statrs::distribution::{Binomial, DiscreteCDF};
use statrs::statistics::{Data, Distribution, Max, Median, Min};

/// Least probability of the interval of a median.
pub(crate) const CONFIDENCE: f64 = 0.95;

/// The figures of a series: those that agree in phase, kind of number and place among equals are one.
pub fn figures(runs: &[RunOfSeries]) -> Vec<Repeated> {
    let mut keys: Vec<(&str, Metric, usize)> = Vec::new();
    let mut found: Vec<Vec<Option<&ClaimOfRun>>> = Vec::new();
    for (index, run) in runs.iter().enumerate() {
        let mut seen: Vec<(&str, Metric, usize)> = Vec::new();
        for claim in &run.claims {
            let equals = seen.iter().filter(|(phase, metric, _)| (*phase, *metric) == (&*claim.phase, claim.metric));
            let key = (claim.phase.as_str(), claim.metric, equals.count());
            seen.push(key);
            let place = keys.iter().position(|known| *known == key).unwrap_or_else(|| {
                keys.push(key);
                found.push(vec![None; runs.len()]);
                keys.len() - 1
            });
            found[place][index] = Some(claim);
        }
    }
    let figures = keys.into_iter().zip(found).enumerate();
    figures
        .filter_map(|(number, ((phase, metric, _), claims))| figure(format!("f{}", number + 1), phase, metric, &claims))
        .collect()
}

fn figure(id: String, phase: &str, metric: Metric, claims: &[Option<&ClaimOfRun>]) -> Option<Repeated> {
    let stated: Vec<&ClaimOfRun> = claims.iter().copied().flatten().collect();
    let unit = stated.first()?.value.unit;
    let of_unit = |value: Quantity| (value.unit == unit).then_some(value.value);
    let claimed = claims.iter().map(|claim| of_unit((*claim)?.value)).collect();
    let honest = claims.iter().map(|claim| of_unit((*claim)?.honest()?)).collect();
    Some(Repeated {
        id,
        phase: phase.to_owned(),
        metric,
        of_storage: stated.iter().all(|claim| claim.of_storage),
        claimed: sample(claimed, unit)?,
        verdicts: claims.iter().map(|claim| Some((*claim)?.verdict)).collect(),
        honest: sample(honest, unit),
        resolution: stated.iter().map(|claim| claim.resolution).fold(0.0, f64::max),
        causes: Vec::new(),
    })
}

/// Returns the values as a sample; `None` if there is no value.
pub fn sample(values: Vec<Option<f64>>, unit: Unit) -> Option<Sample> {
    let known: Vec<f64> = values.iter().copied().flatten().collect();
    if known.is_empty() {
        return None;
    }
    let data = Data::new(known.clone());
    let quantity = |value| Quantity { value, unit };
    let median = data.median();
    let (least, most) = (data.min(), data.max());
    Some(Sample {
        values,
        median: quantity(median),
        mean: quantity(data.mean()?),
        least: quantity(least),
        most: quantity(most),
        deviation: (known.len() > 1).then(|| data.std_dev()).flatten().map(quantity),
        spread_ratio: (median != 0.0).then(|| (most - least) / median),
        median_interval: median_interval(&known, unit, CONFIDENCE),
    })
}

/// The narrowest symmetric interval of order statistics that covers the median with at least `least` probability;
/// each value is above or below it with equal chance, whatever the distribution. `None` for too few values.
pub(crate) fn median_interval(values: &[f64], unit: Unit, least: f64) -> Option<Interval> {
    let count = values.len() as u64;
    let below = Binomial::new(0.5, count).ok()?;
    // Both ends one further in leave out the median when at most `rank` values are on one side of it.
    let confidence = |rank: u64| 1.0 - 2.0 * below.cdf(rank);
    let rank = (0..count / 2).rev().find(|rank| confidence(*rank) >= least)?;
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (low, high) = (sorted[rank as usize], sorted[(count - 1 - rank) as usize]);
    Some(Interval {
        low: Quantity { value: low, unit },
        high: Quantity { value: high, unit },
        confidence_ratio: confidence(rank),
    })
}

/// Fewest values of which [`median_interval`] knows an interval.
pub(crate) fn median_interval_least(least: f64) -> usize {
    let enough = |count: &i32| 1.0 - 2.0 * 0.5_f64.powi(*count) >= least;
    (1..i32::MAX).find(enough).map_or(usize::MAX, |count| count as usize)
}

/// The middle value, of an even number the mean of both; `None` without values.
pub fn median(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| Data::new(values.to_vec()).median())
}

/// Median of the absolute deviations from the median; `None` without values.
pub(crate) fn median_deviation(values: &[f64]) -> Option<f64> {
    if values.is_empty() {
        return None;
    }
    let median = Data::new(values.to_vec()).median();
    Some(Data::new(values.iter().map(|value| (value - median).abs()).collect::<Vec<f64>>()).median())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(one: f64, other: f64) -> bool {
        (one - other).abs() < 1e-9
    }

    #[test]
    fn the_interval_of_a_median_is_that_of_the_tables() {
        // Ranks from the table of the sign test (from 1): n = 6: 1 and 6 (96.88 %), n = 9: 2 and 8 (96.09 %),
        // n = 10: 2 and 9 (97.85 %), n = 20: 6 and 15 (95.86 %).
        for (count, expected) in [
            (5, None),
            (6, Some((1.0, 6.0, 0.96875))),
            (8, Some((1.0, 8.0, 0.9921875))),
            (9, Some((2.0, 8.0, 0.9609375))),
            (10, Some((2.0, 9.0, 0.978515625))),
            (20, Some((6.0, 15.0, 0.9586105346679688))),
        ] {
            let values: Vec<f64> = (1..=count).rev().map(f64::from).collect();
            let interval = median_interval(&values, Unit::Count, CONFIDENCE);
            let found = interval.map(|i| (i.low.value, i.high.value, i.confidence_ratio));
            match (found, expected) {
                (Some(found), Some(expected)) => {
                    assert_eq!((found.0, found.1), (expected.0, expected.1), "{count}");
                    assert!(close(found.2, expected.2), "{count}: {}", found.2);
                }
                (found, expected) => assert_eq!(found, expected, "{count}"),
            }
        }
        assert_eq!(median_interval(&[], Unit::Count, CONFIDENCE), None);
        assert_eq!((median_interval_least(CONFIDENCE), median_interval_least(0.975)), (6, 7));
    }

    #[test]
    fn the_median_deviation_does_not_move_with_one_far_value() {
        for (values, expected) in [
            (vec![], None),
            (vec![3.0], Some(0.0)),
            (vec![1.0, 2.0, 3.0, 4.0, 5.0], Some(1.0)),
            (vec![1.0, 2.0, 3.0, 4.0, 500.0], Some(1.0)),
        ] {
            assert_eq!(median_deviation(&values), expected, "{values:?}");
        }
    }
}
