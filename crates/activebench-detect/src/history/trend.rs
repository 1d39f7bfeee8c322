//! Whether a figure rises or falls over time: Mann-Kendall's test and Theil-Sen's slope.
//!
//! Both rest on the order of the values alone, so one far run moves neither (Mann, *Econometrica* 13 (1945) 245; Sen,
//! *JASA* 63 (1968) 1379). They take runs as independent: runs of one series, minutes apart, are not, so the time has
//! to span a day; AB702 covers a drift within a series.

use activebench_model::history::{Slope, Trend};
use activebench_model::units::{Quantity, Unit};

use super::chance::of_order;
use crate::series::statistics::median;

/// Fewer cannot show a trend: the strictest order of five has a probability of 1.7 %.
pub(super) const LEAST_RUNS: usize = activebench_model::series::LEAST_RUNS as usize;
/// A trend is one when chance alone gives as much with less than this probability.
pub(super) const PROBABILITY: f64 = 0.01;
/// Slopes of more pairs are not needed to know their median.
const MOST_RUNS: usize = 2_000;

const DAY_S: f64 = 86_400.0;

/// The trend of values with the times of their runs, from the earliest. Runs of the same second are taken in the
/// order given.
pub(super) fn trend(values: &[(i64, f64)], unit: Unit) -> Trend {
    let why = |why: String| Trend::NotAsked { why };
    if values.len() < LEAST_RUNS {
        return why(format!("fewer than {LEAST_RUNS} runs count"));
    }
    let days = |from: i64, to: i64| to.saturating_sub(from) as f64 / DAY_S;
    let span_days = days(values[0].0, values[values.len() - 1].0);
    if span_days < 1.0 {
        return why("the runs are within a day (AB702 covers drift within a series)".to_owned());
    }
    let step = values.len().div_ceil(MOST_RUNS);
    let values: Vec<(i64, f64)> = values.iter().copied().step_by(step).collect();
    let (mut excess, mut slopes) = (0_i64, Vec::new());
    for (place, (from, first)) in values.iter().enumerate() {
        for (to, second) in &values[place + 1..] {
            excess += i64::from(second > first) - i64::from(second < first);
            if to > from {
                slopes.push((second - first) / days(*from, *to));
            }
        }
    }
    let plain: Vec<f64> = values.iter().map(|(_, value)| *value).collect();
    let (Some(per_day), Some(middle)) = (median(&slopes), median(&plain)) else {
        return why("no two runs are apart".to_owned());
    };
    let slope = Slope {
        per_day: Quantity { value: per_day, unit },
        over_span_ratio: (middle != 0.0).then(|| per_day * span_days / middle),
        span_days,
        probability: of_order(&plain, excess),
    };
    match slope.probability < PROBABILITY {
        true if excess > 0 => Trend::Rising(slope),
        true => Trend::Falling(slope),
        false => Trend::NotSeen(slope),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[f64]) -> Trend {
        let daily: Vec<(i64, f64)> = (0..).map(|day| day * 86_400).zip(values.iter().copied()).collect();
        trend(&daily, Unit::BytesPerSec)
    }

    fn name(trend: &Trend) -> &'static str {
        match trend {
            Trend::Rising(_) => "rising",
            Trend::Falling(_) => "falling",
            Trend::NotSeen(_) => "not seen",
            Trend::NotAsked { .. } => "not asked",
        }
    }

    #[test]
    fn a_trend_is_told_from_noise() {
        for (values, expected) in [
            (vec![], "not asked"),
            (vec![5.0; 5], "not asked"),
            (vec![5.0; 6], "not seen"),
            (vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0], "rising"),
            (vec![6.0, 5.0, 4.0, 3.0, 2.0, 1.0], "falling"),
            // One pair the other way round: 12 of 720 orders are as one-sided, 1.7 %.
            (vec![1.0, 2.0, 3.0, 4.0, 6.0, 5.0], "not seen"),
            (vec![1.0, 2.0, 3.0, 4.0, 5.0, 7.0, 6.0], "rising"),
            (vec![3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0], "not seen"),
            // A step is a trend too; a single distant run is not.
            (vec![9.0, 9.1, 9.2, 9.0, 9.1, 4.0, 4.1, 4.2, 4.0, 4.1, 4.05, 3.9], "falling"),
            (vec![9.0, 9.1, 8.9, 9.0, 0.1, 9.05, 8.95, 9.0], "not seen"),
        ] {
            assert_eq!(name(&of(&values)), expected, "{values:?}");
        }
    }

    #[test]
    fn the_slope_is_that_of_the_middle_pair_and_one_far_run_does_not_move_it() {
        let Trend::Falling(slope) = of(&[100.0, 98.0, 96.0, 94.0, 1.0, 90.0, 88.0, 86.0, 84.0, 82.0]) else {
            panic!("it falls");
        };
        assert_eq!((slope.per_day, slope.span_days), (Quantity::bytes_per_sec(-2.0), 9.0));
        let share = slope.over_span_ratio.expect("the median is not 0");
        assert!((share - -18.0 / 89.0).abs() < 1e-9, "{share}");
        let Trend::NotSeen(slope) = of(&[0.0; 6]) else { panic!("there is none") };
        assert_eq!((slope.over_span_ratio, slope.probability), (None, 1.0));
    }

    #[test]
    fn runs_of_one_hour_have_no_trend() {
        let hour: Vec<(i64, f64)> = (0..20).map(|run| (run * 180, run as f64)).collect();
        assert_eq!(name(&trend(&hour, Unit::Count)), "not asked");
        let mut same_second = hour;
        same_second.push((86_400, 20.0));
        assert_eq!(name(&trend(&same_second, Unit::Count)), "rising");
        assert_eq!(name(&trend(&[(i64::MIN, 1.0), (i64::MAX, 2.0)].repeat(4), Unit::Count)), "not seen");
    }
}
