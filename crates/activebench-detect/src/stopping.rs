//! When a series has gone on for long enough (`verify --until`).

use activebench_model::series::{Repeated, Sample, Steadiness, Stopping, Until};
use activebench_model::units::Quantity;

use crate::series_case::first_rates;
use crate::steady::{honest_not_known, truest};

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
        None => (false, format!("{}: 6 runs are needed for an interval", figure.phase)),
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
