//! Charts of figures over many runs.

use activebench_model::history::{Followed, History, Point};
use activebench_model::units::Quantity;
use activebench_model::verdict::RunVerdict;
use maud::{Markup, html};

use super::chart::{Axis, Chart, Scale, Shape};
use super::figure::{Swatch, figure};
use super::svg::Ink;
use super::table;
use super::units::{plain, unit_for};
use crate::escape::terminal as shown;
use crate::history::wording::{Names, Section, date, row};
use crate::wording::count;

/// Charts on a page; the rest is counted.
const CHARTS: usize = 48;
/// Maximum rows of the table behind a chart.
const ROWS: usize = 400;
/// Height of a plot in the units of the drawing.
const HEIGHT: u32 = 150;
const DAY_S: f64 = 86_400.0;
/// Divisors of the axis lengths that give half the width and half the height of a mark. The plot is four times as wide
/// as high.
const MARK: (f64, f64) = (220.0, 55.0);

/// Draws the charts of a page, up to [`CHARTS`].
#[derive(Default)]
pub(crate) struct Charts {
    drawn: usize,
}

impl Charts {
    /// Draws one chart per figure of a section.
    pub(crate) fn of_section(&mut self, history: &History, section: &Section<'_>, names: &Names<'_>) -> Markup {
        let before = self.drawn;
        self.drawn += section.figures.len();
        html! {
            @for (number, figure) in (before..).zip(&section.figures) {
                @if number < CHARTS {
                    (of_figure(history, figure, names))
                } @else if number == CHARTS {
                    p { "No more charts: see the tables." }
                }
            }
        }
    }
}

/// State of a run, shown by its mark.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Counted,
    Corrected,
    Apart,
}

fn state(history: &History, point: &Point) -> State {
    let verdict = history.runs.get(point.run).map(|run| run.verdict);
    match (point.counts, verdict) {
        (false, _) => State::Apart,
        (true, Some(RunVerdict::Discrepancy)) => State::Corrected,
        (true, _) => State::Counted,
    }
}

fn of_figure(history: &History, followed: &Followed, names: &Names<'_>) -> Markup {
    let at = |point: &Point| history.runs.get(point.run).map_or(0.0, |run| run.started_unix_s as f64);
    let points: Vec<(f64, f64, State)> = followed
        .points
        .iter()
        .filter_map(|point| Some((at(point), point.value?.value, state(history, point))))
        .collect();
    let name = shown(&names.named(followed));
    let full_name = format!("{name}, {}", shown(&followed.group));
    let says = says(history, followed, names);
    let Some(range) = range(&points) else {
        return html! { p { b { (name) } ": no run has this figure." } };
    };
    let unit = unit_for(followed.points[0].claimed.unit, range.high.abs());
    let scaled = |value: f64| value / unit.size;
    let (low, high) = (scaled(range.low), scaled(range.high));
    let half = ((range.last - range.first) / MARK.0, (high - low) / MARK.1);
    let marks = |wanted: State| -> Vec<[(f64, f64); 2]> {
        let of = points.iter().filter(|(_, _, state)| *state == wanted);
        of.map(|(at, value, _)| [(at - half.0, scaled(*value) - half.1), (at + half.0, scaled(*value) + half.1)])
            .collect()
    };
    let counted = points.iter().filter(|(_, _, state)| *state != State::Apart);
    let line: Vec<(f64, f64)> = counted.map(|(at, value, _)| (*at, scaled(*value))).collect();
    let interval = followed.summary.as_ref().and_then(|summary| summary.interval.as_ref());
    let band: Vec<[(f64, f64); 2]> = interval
        .map(|interval| [(range.first, scaled(interval.low.value)), (range.last, scaled(interval.high.value))])
        .into_iter()
        .collect();
    let mut legend = vec![(Swatch::Box(Ink::Calls), "run that counts")];
    let states: Vec<State> = points.iter().map(|(_, _, state)| *state).collect();
    if states.contains(&State::Corrected) {
        legend.push((Swatch::Box(Ink::Dirty), "run with a discrepancy"));
    }
    if states.contains(&State::Apart) {
        legend.push((Swatch::Box(Ink::Device), "inconclusive or failed, not counted"));
    }
    if !band.is_empty() {
        legend.push((Swatch::Box(Ink::Clock), "interval of the median"));
    }
    let (date_label, label) = (|at: f64| date(at as i64), |value: f64| plain(value));
    let chart = Chart {
        id: &followed.id,
        name: &full_name,
        says: &says,
        height: HEIGHT,
        x: Axis { range: range.first..range.last, scale: Scale::Linear, labels: 4, label: &date_label },
        y: Axis { range: low..high, scale: Scale::Linear, labels: 5, label: &label },
        shapes: vec![
            Shape::Boxes(Ink::Clock, band),
            Shape::Line(Ink::Read, line),
            Shape::Boxes(Ink::Calls, marks(State::Counted)),
            Shape::Boxes(Ink::Dirty, marks(State::Corrected)),
            Shape::Boxes(Ink::Device, marks(State::Apart)),
        ],
    };
    let units = match unit.name {
        "" => "the axis need not begin at 0".to_owned(),
        name => format!("{name}, the axis need not begin at 0"),
    };
    html! {
        (figure(&name, &units, &legend, &says, chart.draw()))
        (in_figures(history, followed, &name))
    }
}

/// Ends of the axes, with a margin.
struct Ends {
    first: f64,
    last: f64,
    low: f64,
    high: f64,
}

fn range(points: &[(f64, f64, State)]) -> Option<Ends> {
    let (first, last) = (points.first()?.0, points.last()?.0);
    let low = points.iter().map(|(_, value, _)| *value).fold(f64::INFINITY, f64::min);
    let high = points.iter().map(|(_, value, _)| *value).fold(f64::NEG_INFINITY, f64::max);
    let side = ((last - first) * 0.03).max(DAY_S / 2.0);
    let above = match high > low {
        true => (high - low) * 0.12,
        false => high.abs().max(1.0) * 0.1,
    };
    // Figures are not negative, so no axis starts below 0 unless a figure is negative.
    let floor = if low >= 0.0 { 0.0 } else { f64::NEG_INFINITY };
    Some(Ends { first: first - side, last: last + side, low: (low - above).max(floor), high: high + above })
}

/// Content of the chart in one sentence. Escaped.
fn says(history: &History, followed: &Followed, names: &Names<'_>) -> String {
    let cells = row(followed, names, &history.rules);
    let when = |point: Option<&Point>| {
        point.and_then(|point| history.runs.get(point.run)).map_or_else(String::new, |run| date(run.started_unix_s))
    };
    shown(&format!(
        "{} runs from {} to {}: median {}, interval {}, last {}, trend {}",
        cells[2],
        when(followed.points.first()),
        when(followed.points.last()),
        cells[3],
        cells[4],
        cells[6],
        cells[7]
    ))
}

fn in_figures(history: &History, followed: &Followed, name: &str) -> Markup {
    let rows: Vec<Vec<String>> = followed
        .points
        .iter()
        .take(ROWS)
        .filter_map(|point| {
            let run = history.runs.get(point.run)?;
            let value = point.value.map_or_else(|| "none".to_owned(), |value: Quantity| value.to_string());
            let counts = point.why_not.clone().unwrap_or_else(|| "counts".to_owned());
            let verdicts = format!("{}, run {}", point.verdict.as_str(), run.verdict.as_str());
            Some(vec![
                date(run.started_unix_s),
                value,
                point.claimed.to_string(),
                verdicts,
                counts,
                run.directory.clone(),
            ])
        })
        .collect();
    let more = followed.points.len().saturating_sub(ROWS);
    html! {
        details.figures {
            summary { (name) " in figures" }
            (table(name, &["date", "value", "claimed", "verdict", "in the statistics", "directory"], &rows))
            @if more > 0 { p { (count(more, "run")) " more, which CSV has." } }
        }
    }
}
