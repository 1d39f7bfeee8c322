//! The probability that a number without a relation to the I/O agrees with a figure of it.

use activebench_model::units::Unit;

use super::{DECADES, is_amount};
use crate::printed_numbers::PrintedNumber;

/// Smallest distance that is told from none: the clocks of two programs.
const LEAST_DISTANCE: f64 = 1e-4;

/// The chance that a size is the one of a pass because both are round.
const OF_ROUND: f64 = 0.005;

/// The chance that an exact amount is that of a pass.
const OF_EXACT: f64 = 0.0005;

/// Returns the probability that a number is at most `distance` (a share) away from one of these figures, in any meaning
/// of its unit.
pub(super) fn of_number(number: &PrintedNumber, figures: &[f64], distance: f64) -> f64 {
    let Some(first) = number.readings.first() else { return 1.0 };
    let printed = first.resolution / first.value;
    let half = half_span(number, distance);
    if is_amount(number.unit) {
        let mut distinct: Vec<f64> = figures.to_vec();
        distinct.sort_by(f64::total_cmp);
        distinct.dedup();
        let exact = if number.unit == Unit::Count || printed < 1e-6 { f64::MIN_POSITIVE } else { half };
        let by_width = covered(&distinct, number, exact) / (DECADES * std::f64::consts::LN_10);
        let least = if distinct.iter().all(|value| is_round(*value)) { OF_ROUND } else { OF_EXACT };
        return by_width.max(least * distinct.len() as f64).min(1.0);
    }
    (covered(figures, number, half) / (DECADES * std::f64::consts::LN_10)).min(1.0)
}

/// Returns the probability at a larger distance than the one that `chance` is for, at most. Spans that are twice as wide
/// cover at most twice as much.
pub(super) fn further_away(number: &PrintedNumber, chance: f64, from: f64, to: f64) -> f64 {
    if is_amount(number.unit) {
        return chance;
    }
    (chance * half_span(number, to) / half_span(number, from)).min(1.0)
}

/// Returns half of the span around a figure in which a number agrees with it.
fn half_span(number: &PrintedNumber, distance: f64) -> f64 {
    let printed = number.readings.first().map_or(1.0, |first| first.resolution / first.value);
    distance.max(printed).clamp(LEAST_DISTANCE, 1.0)
}

/// Returns the length of the union of the spans around all figures, in natural logarithms.
fn covered(figures: &[f64], number: &PrintedNumber, half: f64) -> f64 {
    let first = number.readings.first().map_or(1.0, |first| first.value);
    let meanings: Vec<f64> = number.readings.iter().map(|reading| (reading.value / first).ln()).collect();
    let mut centres: Vec<f64> =
        figures.iter().flat_map(|figure| meanings.iter().map(move |meaning| figure.ln() - meaning)).collect();
    centres.sort_by(f64::total_cmp);
    let mut length = 0.0;
    let mut until = f64::NEG_INFINITY;
    for centre in centres {
        let (begin, end) = (centre - half, centre + half);
        length += end - begin.max(until).min(end);
        until = until.max(end);
    }
    length
}

/// Returns true for a few digits and zeros, decimal or binary.
fn is_round(value: f64) -> bool {
    let mut rest = value;
    while rest >= 1024.0 && rest % 1024.0 == 0.0 {
        rest /= 1024.0;
    }
    while rest >= 1000.0 && rest % 1000.0 == 0.0 {
        rest /= 1000.0;
    }
    rest < 10_000.0
}

#[cfg(test)]
mod tests {
    use activebench_model::output::ToolOutput;

    use super::{further_away, of_number};
    use crate::printed_numbers::{PrintedNumber, printed_numbers};

    fn number(text: &str) -> PrintedNumber {
        let output = ToolOutput { stdout: text.as_bytes().to_vec(), ..ToolOutput::default() };
        printed_numbers(&output).numbers.remove(0)
    }

    #[test]
    fn the_chance_at_a_larger_distance_is_at_least_that_of_the_spans_there() {
        let rate = number("1234.56 ops/s\n");
        let figures = [1200.0, 1210.0, 1250.0, 9000.0];
        let near = of_number(&rate, &figures, 0.001);
        let far = further_away(&rate, near, 0.001, 0.02);
        assert!(far > 19.0 * near && far >= of_number(&rate, &figures, 0.02), "{near} {far}");
        // An amount is counted: its distance says nothing.
        let amount = number("4097 ops\n");
        assert_eq!(further_away(&amount, 0.001, 0.001, 0.02), 0.001);
    }
}
