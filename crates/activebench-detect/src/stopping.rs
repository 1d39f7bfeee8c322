//! When a series has gone on for long enough (`verify --until`).

use activebench_model::series::{Repeated, Sample, Steadiness, Stopping, Until};
use activebench_model::units::Quantity;

use crate::series_case::first_rates;
use crate::steady::truest;
use crate::thresholds::Thresholds;

/// Values of which two cover the median with 95 %.
const INTERVAL_RUNS: u32 = 6;

/// Fewer runs than these never give what a series is to go on for.
pub fn least_runs(until: Until, thresholds: &Thresholds) -> u32 {
    match until {
        Until::MedianWithin { .. } => INTERVAL_RUNS,
        // A threshold of a user's own is not held to whole numbers.
        Until::SteadyState => thresholds.ab702_rounds_count.value.value.ceil() as u32,
    }
}

/// Whether the runs so far give what the series is to go on for, and how far they came.
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
    let (sample, _) = truest(figure);
    match width(sample) {
        Some(width) => {
            let told = format!(
                "{}: the 95 % interval of the median spans {} of it, at most {} is asked for",
                figure.phase,
                Quantity::ratio(width),
                Quantity::ratio(ratio)
            );
            (width <= ratio, told)
        }
        None => (false, format!("{}: {INTERVAL_RUNS} runs are needed for an interval", figure.phase)),
    }
}

fn steady(of: &Steadiness) -> (bool, String) {
    match of.last() {
        Some(last) => {
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
        None => (false, format!("{}: there are too few rounds for a window", of.phase)),
    }
}

#[cfg(test)]
mod tests {
    use activebench_model::units::Unit;

    use super::*;
    use crate::statistics::{CONFIDENCE, median_interval};

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
