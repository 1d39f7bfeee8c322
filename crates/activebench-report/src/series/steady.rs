//! Steady state as sentences and rows.

use activebench_model::series::{JudgedSeries, Steadiness, SteadyWindow};
use activebench_model::units::Quantity;

use super::PHASE_SHOWN;
use crate::escape::clipped;

/// Maximum figures whose window is shown round by round.
const WINDOWS_SHOWN: usize = 4;
/// Length of the longest bar, in characters.
const BAR: f64 = 24.0;

/// Columns of a window's table.
pub(super) const WINDOW_HEADS: [&str; 4] = ["round", "value", "line", ""];

/// The rule of steady state, for the head of a section.
pub(super) fn rule(series: &JudgedSeries) -> Option<String> {
    let (first, window) = series.steadiness.iter().find_map(|of| Some((of, of.windows.last()?)))?;
    let rounds = window.runs.len();
    Some(format!(
        "SNIA PTS 2.0.2, section 2.1.24: within {rounds} rounds (largest - smallest) at most {} of the mean, and the \
         least-squares line moves by at most {} of it",
        Quantity::ratio(first.range_limit_ratio),
        Quantity::ratio(first.excursion_limit_ratio)
    ))
}

/// Steady state of a figure: `read: steady in rounds 4 to 8: mean 101 MB/s, range 3 % of it, the line moves by 1 %;
/// first steady with round 6`.
pub(crate) fn sentence(of: &Steadiness) -> String {
    let phase = clipped(&of.phase, PHASE_SHOWN);
    let last = match of.last() {
        Ok(last) => last,
        Err(why) => return format!("{phase}: not known of the last rounds: {why}"),
    };
    let (from, to) = (last.runs.first().copied().unwrap_or_default(), last.runs.last().copied().unwrap_or_default());
    let steady = if last.steady { "steady" } else { "not steady" };
    let which = if of.of_honest { " (honest figures)" } else { "" };
    let first = match of.first_steady_run {
        Some(first) if first != to => format!("; first steady with round {first}"),
        _ => String::new(),
    };
    format!(
        "{phase}{which}: {steady} in rounds {from} to {to}: mean {}, range {} of it, the line moves by {}{first}",
        Quantity { value: last.mean, unit: last.unit },
        Quantity::ratio(last.range_ratio),
        Quantity::ratio(last.excursion_ratio),
    )
}

/// A sentence and the rows of a window, round by round; no rows if the window is not shown.
type WithRows = (String, Vec<Vec<String>>);

/// Returns the sentences, the first of them with the rows of the last window, and the number of windows without rows.
pub(super) fn windows(series: &JudgedSeries) -> (Vec<WithRows>, usize) {
    let (mut shown, mut left_out) = (0, 0);
    let with_rows = |of: &Steadiness| {
        let rows = match of.last() {
            Ok(last) if shown < WINDOWS_SHOWN => {
                shown += 1;
                rows(last)
            }
            Ok(_) => {
                left_out += 1;
                Vec::new()
            }
            Err(_) => Vec::new(),
        };
        (sentence(of), rows)
    };
    let told = series.steadiness.iter().filter(|of| !of.windows.is_empty()).map(with_rows).collect();
    (told, left_out)
}

fn rows(window: &SteadyWindow) -> Vec<Vec<String>> {
    let most = window.values.iter().copied().fold(0.0, f64::max);
    let row = |(index, (run, value)): (usize, (&u32, &f64))| {
        let shown = |value: f64| Quantity { value, unit: window.unit }.to_string();
        let length = if most > 0.0 { (value / most * BAR).round() as usize } else { 0 };
        let line = window.line_at_first + window.slope * index as f64;
        vec![run.to_string(), shown(*value), shown(line), "█".repeat(length)]
    };
    window.runs.iter().zip(&window.values).enumerate().map(row).collect()
}

/// Returns the values of all rounds of a figure, with the numbers of their runs.
pub(crate) fn rounds(series: &JudgedSeries, of: &Steadiness) -> Vec<(u32, f64)> {
    let figure = series.figures.iter().find(|figure| figure.id == of.figure);
    let sample = figure.and_then(|figure| if of.of_honest { figure.honest.as_ref() } else { Some(&figure.claimed) });
    let values = sample.map_or(&[][..], |sample| &sample.values);
    series.runs.iter().zip(values).filter_map(|(run, value)| Some((run.number, (*value)?))).collect()
}
