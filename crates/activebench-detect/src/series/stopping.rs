//! When a series has gone on for long enough (`verify --until`).

use activebench_model::series::{LEAST_RUNS, Repeated, Sample, Steadiness, Stopping, Until};
use activebench_model::units::Quantity;

use crate::cases::series::first_rates;
use crate::series::steady_state::{honest_not_known, truest};
use crate::thresholds::Thresholds;

/// Fewer runs than these never give what a series is to go on for.
pub fn least_runs(until: Until, thresholds: &Thresholds) -> u32 {
    match until {
        Until::MedianWithin { .. } => LEAST_RUNS,
        // A threshold of a user's own is not held to whole numbers.
        Until::SteadyState => thresholds.ab702_rounds_count.value.value.ceil() as u32,
    }
}

/// Returns `true` if the runs so far give what the series is to go on for, and how far they came.
pub fn stopping(until: Until, figures: &[Repeated], steadiness: &[Steadiness]) -> Stopping {
    let told = match until {
        Until::MedianWithin { ratio } => first_rates(figures).into_iter().map(|f| narrow(f, ratio)).collect(),
        Until::SteadyState => steadiness.iter().map(steady).collect::<Vec<_>>(),
    };
    let short: Vec<&str> = told.iter().filter(|(reached, _)| !reached).map(|(_, why)| why.as_str()).collect();
    let all: Vec<&str> = told.iter().map(|(_, why)| why.as_str()).collect();
    let reached = !told.is_empty() && short.is_empty();
    let because = match (told.is_empty(), reached) {
        (true, _) => "no run states a rate".to_owned(),
        (false, true) => all.join(", "),
        (false, false) => short.join(", "),
    };
    Stopping { until, reached, because }
}

/// How wide the interval that covers the median is, over the median; `None` for too few values.
pub fn width(sample: &Sample) -> Option<f64> {
    let interval = sample.median_interval?;
    let width = (interval.high.value - interval.low.value) / sample.median.value.abs();
    width.is_finite().then_some(width)
}

fn narrow(figure: &Repeated, ratio: f64) -> (bool, String) {
    let (sample, of_honest) = truest(figure);
    let known = |index: usize| sample.and_then(|sample| sample.values.get(index).copied().flatten()).is_some();
    let stated = (0..).zip(&figure.claimed.values).filter(|(_, value)| value.is_some());
    // One may be missing because it was bad.
    let missing: Vec<String> =
        stated.filter(|(index, _)| !known(*index)).map(|(index, _)| (index + 1).to_string()).collect();
    if !missing.is_empty() {
        return (false, format!("{}: {}", figure.phase, honest_not_known(&missing)));
    }
    match sample.and_then(width) {
        Some(width) => {
            let told = format!(
                "{}: the 95 % interval of the median{} spans {} of it, at most {} is asked for",
                figure.phase,
                if of_honest { " of honest figures" } else { "" },
                Quantity::ratio(width),
                Quantity::ratio(ratio)
            );
            (width <= ratio, told)
        }
        None => (false, format!("{}: {LEAST_RUNS} runs are needed for an interval", figure.phase)),
    }
}

fn steady(of: &Steadiness) -> (bool, String) {
    match of.last() {
        Ok(last) => {
            let (first, end) = (last.runs.first().copied(), last.runs.last().copied());
            let told = format!(
                "{}: rounds {} to {} range over {} of their mean ({} is permitted), and their line moves by {} ({})",
                of.phase,
                first.unwrap_or_default(),
                end.unwrap_or_default(),
                Quantity::ratio(last.range_ratio),
                Quantity::ratio(of.range_limit_ratio),
                Quantity::ratio(last.excursion_ratio),
                Quantity::ratio(of.excursion_limit_ratio),
            );
            (last.steady, told)
        }
        Err(why) => (false, format!("{}: {why}", of.phase)),
    }
}

#[cfg(test)]
mod tests {
    use activebench_model::units::Unit;
    use statrs::distribution::{ContinuousCDF, Normal};

    use super::*;
    use crate::series::statistics::{CONFIDENCE, median_interval, sample};

    /// Of series of normally distributed runs that end as soon as the interval is narrow, the share that ends with an
    /// interval beside the true median. Ends that `most_runs` forces do not count.
    fn missed(deviation_ratio: f64, width_ratio: f64, most_runs: usize) -> f64 {
        let of_runs = Normal::new(1.0, deviation_ratio).expect("a distribution");
        let mut random = fastrand::Rng::with_seed(1);
        let (mut ended, mut beside) = (0, 0);
        for _ in 0..SERIES {
            let mut values = Vec::new();
            for _ in 0..most_runs {
                values.push(Some(of_runs.inverse_cdf(random.f64())));
                let sample = sample(values.clone(), Unit::BytesPerSec).expect("a value");
                if let Some(interval) =
                    sample.median_interval.filter(|_| width(&sample).is_some_and(|w| w <= width_ratio))
                {
                    ended += 1;
                    beside += usize::from(!(interval.low.value..=interval.high.value).contains(&1.0));
                    break;
                }
            }
        }
        beside as f64 / ended as f64
    }

    const SERIES: usize = 4_000;

    #[test]
    fn series_that_end_when_they_are_narrow_miss_the_median_as_often_as_the_documentation_says() {
        // The standard deviation of the runs over their median, and the share as docs/series.md has it.
        for (deviation_ratio, documented, error) in [(0.02, 0.04, 0.015), (0.05, 0.10, 0.02), (0.1, 0.33, 0.12)] {
            let missed = missed(deviation_ratio, 0.05, 30);
            assert!((missed - documented).abs() < error, "{deviation_ratio}: {missed}");
        }
    }

    #[test]
    fn fewer_runs_never_give_what_is_asked_for() {
        let thresholds = Thresholds::profile("default").expect("the profile exists");
        assert_eq!(least_runs(Until::SteadyState, &thresholds), 5);
        let least = least_runs(Until::MedianWithin { ratio: 0.05 }, &thresholds) as usize;
        for runs in 1..10 {
            let interval = median_interval(&vec![1.0; runs], Unit::Count, CONFIDENCE);
            assert_eq!(interval.is_some(), runs >= least, "{runs}");
        }
    }
}
