//! Charts of figures over many runs.

use activebench_model::history::{Followed, History, Point, Trend};
use activebench_model::units::Quantity;
use activebench_model::verdict::RunVerdict;
use maud::{Markup, html};

use super::chart::{Axis, Chart, Scale, Shape, Size};
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
/// Days that are marked where runs are in their order; marks of more days would cover each other.
const DAYS: usize = 12;
/// Distance of two dates, as a share of the axis. Closer ones would cover each other.
const DATE: f64 = 0.12;

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
            @if before < CHARTS {
                div.by-run {
                    @for figure in section.figures.iter().take(CHARTS - before) {
                        div { (of_figure(history, figure, names)) }
                    }
                }
            }
            @if (before..self.drawn).contains(&CHARTS) { p { "No more charts: see the tables." } }
        }
    }
}

/// State of a run, shown by its dot.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Counted,
    Corrected,
    Apart,
}

impl State {
    /// Every state with its ink and its meaning.
    const ALL: [(State, Ink, &'static str); 3] = [
        (State::Counted, Ink::Counted, "run that counts"),
        (State::Corrected, Ink::Corrected, "run with a discrepancy"),
        (State::Apart, Ink::Apart, "inconclusive or failed, not counted"),
    ];

    fn of(history: &History, point: &Point) -> Self {
        let verdict = history.runs.get(point.run).map(|run| run.verdict);
        match (point.counts, verdict) {
            (false, _) => State::Apart,
            (true, Some(RunVerdict::Discrepancy)) => State::Corrected,
            (true, _) => State::Counted,
        }
    }
}

/// A value before it is drawn.
struct Value {
    /// Start of the run: UTC, seconds since the epoch.
    started_unix_s: i64,
    /// Place on the horizontal axis: a time, or the number of the run.
    at: f64,
    value: f64,
    state: State,
    in_baseline: bool,
}

/// The values of a figure, and `true` if they are in run order: several runs have one date.
fn values(history: &History, followed: &Followed) -> (Vec<Value>, bool) {
    let mut values: Vec<Value> = followed
        .points
        .iter()
        .filter_map(|point| {
            let run = history.runs.get(point.run)?;
            Some(Value {
                started_unix_s: run.started_unix_s,
                at: run.started_unix_s as f64,
                value: point.value?.value,
                state: State::of(history, point),
                in_baseline: run.in_baseline,
            })
        })
        .collect();
    let is_in_order = values.windows(2).any(|two| day(&two[0]) == day(&two[1]));
    if is_in_order {
        (1..).zip(&mut values).for_each(|(number, value)| value.at = f64::from(number));
    }
    (values, is_in_order)
}

fn day(value: &Value) -> i64 {
    value.started_unix_s.div_euclid(DAY_S as i64)
}

fn of_figure(history: &History, followed: &Followed, names: &Names<'_>) -> Markup {
    let (values, is_in_order) = values(history, followed);
    let name = shown(&names.named(followed));
    let full_name = format!("{name}, {}", shown(&followed.group));
    let says = says(history, followed, names);
    let Some(ends) = ends(&values, is_in_order) else {
        return html! { p { b { (name) } ": no run has this figure." } };
    };
    let unit = unit_for(followed.points[0].claimed.unit, ends.high.abs());
    let scaled = |value: f64| value / unit.size;
    let (low, high) = (scaled(ends.low), scaled(ends.high));
    let mut shapes = Vec::new();
    let mut legend = Vec::new();
    if let Some(interval) = followed.summary.as_ref().and_then(|summary| summary.interval.as_ref()) {
        let corners = [(ends.first, scaled(interval.low.value)), (ends.last, scaled(interval.high.value))];
        shapes.push(Shape::Boxes(Ink::Clock, vec![corners]));
        legend.push((Swatch::Box(Ink::Clock), "interval of the median"));
    }
    let counted = values.iter().filter(|value| value.state != State::Apart);
    shapes.push(Shape::Line(Ink::Axis, counted.map(|value| (value.at, scaled(value.value))).collect()));
    for (state, ink, words) in State::ALL {
        let of = values.iter().filter(|value| value.state == state);
        let dots: Vec<(f64, f64)> = of.map(|value| (value.at, scaled(value.value))).collect();
        if !dots.is_empty() {
            shapes.push(Shape::Dots(ink, dots));
            legend.push((Swatch::Dot(ink), words));
        }
    }
    for (at, words) in moments(&values, &ends, is_in_order) {
        shapes.push(Shape::Line(Ink::Moment, vec![(at, low), (at, high)]));
        shapes.push(Shape::Words((at, high - (high - low) * 0.06), words));
    }
    let number_label = |at: f64| if at.fract() == 0.0 { plain(at) } else { String::new() };
    let date_label = |at: f64| date(at as i64);
    let x_label: &dyn Fn(f64) -> String = if is_in_order { &number_label } else { &date_label };
    let y_label = |value: f64| plain(value);
    let chart = Chart {
        id: &followed.id,
        name: &full_name,
        says: &says,
        size: Size::wide(HEIGHT),
        x: Axis {
            range: ends.first..ends.last,
            scale: Scale::Linear,
            labels: if is_in_order { 10 } else { 4 },
            label: x_label,
        },
        y: Axis { range: low..high, scale: Scale::Linear, labels: 5, label: &y_label },
        shapes,
    };
    html! {
        (figure(&name, &units(unit.name, low, is_in_order), &legend, &says, chart.draw()))
        (in_figures(history, followed, &name))
    }
}

/// Unit of the values and order of the runs.
fn units(unit: &str, low: f64, is_in_order: bool) -> String {
    let order = if is_in_order { "in run order, days marked" } else { "by date" };
    let begin = if low > 0.0 { "not from zero" } else { "" };
    let parts: Vec<&str> = [unit, begin, order].into_iter().filter(|part| !part.is_empty()).collect();
    parts.join(", ")
}

/// Places that are explained: the beginning of each day where runs are in their order, and the end of the baseline.
fn moments(values: &[Value], ends: &Ends, is_in_order: bool) -> Vec<(f64, String)> {
    let mut moments: Vec<(f64, String)> = Vec::new();
    let after_baseline = values.windows(2).find(|two| two[0].in_baseline && !two[1].in_baseline);
    moments.extend(after_baseline.map(|two| ((two[0].at + two[1].at) / 2.0, "after the baseline".to_owned())));
    if is_in_order {
        let days = values.windows(2).filter(|two| day(&two[0]) != day(&two[1]));
        let days: Vec<(f64, String)> =
            days.map(|two| ((two[0].at + two[1].at) / 2.0, date(two[1].started_unix_s))).collect();
        if days.len() <= DAYS {
            moments.extend(days);
        }
    }
    let mut last: Option<f64> = None;
    let apart = (ends.last - ends.first) * DATE;
    moments.sort_by(|one, other| one.0.total_cmp(&other.0));
    for (at, words) in &mut moments {
        if last.is_some_and(|last| *at - last < apart) {
            words.clear();
        } else {
            last = Some(*at);
        }
    }
    moments
}

/// Ends of the axes, with a margin.
struct Ends {
    first: f64,
    last: f64,
    low: f64,
    high: f64,
}

fn ends(values: &[Value], is_in_order: bool) -> Option<Ends> {
    let (first, last) = (values.first()?.at, values.last()?.at);
    let low = values.iter().map(|value| value.value).fold(f64::INFINITY, f64::min);
    let high = values.iter().map(|value| value.value).fold(f64::NEG_INFINITY, f64::max);
    let side = if is_in_order { 0.5 } else { ((last - first) * 0.03).max(DAY_S / 2.0) };
    let above = match high > low {
        true => (high - low) * 0.25,
        false => high.abs().max(1.0) * 0.1,
    };
    // From zero, unless the values would be too close together.
    let low = if low >= 0.0 && high - low > high * 0.3 { 0.0 } else { low - above };
    // Figures are not negative, so no axis starts below 0 unless a figure is negative.
    let low = if values.iter().all(|value| value.value >= 0.0) { low.max(0.0) } else { low };
    Some(Ends { first: first - side, last: last + side, low, high: high + above })
}

/// Content of the chart in one sentence. Escaped.
fn says(history: &History, followed: &Followed, names: &Names<'_>) -> String {
    let cells = row(followed, names, &history.rules);
    let when = |point: Option<&Point>| {
        point.and_then(|point| history.runs.get(point.run)).map_or_else(String::new, |run| date(run.started_unix_s))
    };
    let (first, last) = (when(followed.points.first()), when(followed.points.last()));
    let dates = if first == last { format!("of {first}") } else { format!("from {first} to {last}") };
    let trend = match followed.trend {
        Trend::NotAsked { .. } => String::new(),
        _ => format!(", trend {}", cells[7]),
    };
    shown(&format!("{} runs {dates}: median {}, interval {}, last {}{trend}", cells[2], cells[3], cells[4], cells[6]))
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
