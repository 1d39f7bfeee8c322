//! A figure by run: a dot for each, with the interval of the median, or with the window that decides on steady state, the
//! band in which its values may be, and the line fitted to them.

use std::collections::BTreeMap;

use activebench_model::acceptance::Acceptance;
use activebench_model::series::{JudgedSeries, Repeated, Steadiness, SteadyWindow};
use activebench_model::units::{Quantity, Unit};
use maud::{Markup, html};

use super::chart::{Axis, Chart, Scale, Shape, Size};
use super::figure::{Swatch, figure};
use super::svg::Ink;
use super::units::{plain, unit_for};
use crate::escape::{clipped, terminal as shown};
use crate::series::steady::{rounds, sentence};
use crate::wording::{between, metric};

/// Height of a chart.
const HEIGHT: u32 = 130;
/// Maximum charts; the sentences and tables are complete.
const CHARTS: usize = 12;
/// Least runs of a chart without a window.
const LEAST: usize = 3;
/// Longest name of foreign origin, in characters.
const NAME: usize = 100;

/// A chart for each figure that has a window.
pub(crate) fn steady_state(series: &JudgedSeries) -> Markup {
    let windows = series.steadiness.iter().filter_map(|of| Some((of, of.last().ok()?)));
    let charts = windows.enumerate().map(|(number, (of, last))| {
        let values = rounds(series, of);
        Rounds { id: format!("rounds-{number}"), ..Rounds::of_window(of, last, values) }
    });
    drawn(charts.collect())
}

/// A chart for each rate of a series, in the order of its runs.
pub(crate) fn by_run(series: &JudgedSeries) -> Markup {
    // A figure with a window has its chart there.
    let has_window = |figure: &Repeated| series.steadiness.iter().any(|of| of.figure == figure.id && of.last().is_ok());
    let is_rate = |figure: &&Repeated| figure.metric.is_rate(true) && figure.of_storage && !has_window(figure);
    let charts = series.figures.iter().filter(is_rate).enumerate().filter_map(|(number, figure)| {
        let sample = figure.honest.as_ref().unwrap_or(&figure.claimed);
        let runs = series.runs.iter().zip(&sample.values);
        let values: Vec<(u32, f64)> = runs.filter_map(|(run, value)| Some((run.number, (*value)?))).collect();
        let kind = if figure.honest.is_some() { "honest" } else { "claimed, not known to be honest" };
        let interval = sample.median_interval.map_or_else(String::new, |of| {
            format!(", interval {}", between(&of.low.to_string(), &of.high.to_string()))
        });
        let range = between(&sample.least.to_string(), &sample.most.to_string());
        (values.len() >= LEAST).then(|| Rounds {
            id: format!("runs-{number}"),
            name: format!("{} {} by run", clipped(&figure.phase, NAME), metric(figure.metric)),
            says: format!("{} runs, {kind}: median {}{interval}, range {range}", values.len(), sample.median),
            values,
            unit: sample.median.unit,
            median: Some(sample.median.value),
            interval: sample.median_interval.map(|of| (of.low.value, of.high.value)),
            window: None,
        })
    });
    drawn(charts.collect())
}

/// The steady-state charts of an acceptance.
pub(crate) fn of_acceptance(acceptance: &Acceptance) -> Markup {
    let all = acceptance.benchmarks.iter().flat_map(|of| of.steadiness.iter().map(move |steady| (of, steady)));
    let charts = all.enumerate().filter_map(|(number, (benchmark, of))| {
        let last = of.last().ok()?;
        // Windows overlap: together they have every round.
        let windows =
            of.windows.iter().flat_map(|window| window.runs.iter().copied().zip(window.values.iter().copied()));
        let values: BTreeMap<u32, f64> = windows.collect();
        Some(Rounds {
            id: format!("steady-{number}"),
            name: format!("Rounds of {}, {}", clipped(&benchmark.name, NAME), clipped(&of.phase, NAME)),
            ..Rounds::of_window(of, last, values.into_iter().collect())
        })
    });
    drawn(charts.collect())
}

fn drawn(charts: Vec<Rounds<'_>>) -> Markup {
    html! {
        @if !charts.is_empty() {
            div.by-run { @for chart in charts.iter().take(CHARTS) { (chart.draw()) } }
        }
        @if charts.len() > CHARTS { p { "Charts of " (CHARTS) " of " (charts.len()) " figures." } }
    }
}

/// One chart. Its text is raw.
struct Rounds<'a> {
    id: String,
    name: String,
    says: String,
    /// Number and value of each run that has one.
    values: Vec<(u32, f64)>,
    unit: Unit,
    median: Option<f64>,
    interval: Option<(f64, f64)>,
    window: Option<(&'a Steadiness, &'a SteadyWindow)>,
}

impl<'a> Rounds<'a> {
    fn of_window(of: &'a Steadiness, last: &'a SteadyWindow, values: Vec<(u32, f64)>) -> Self {
        Self {
            id: String::new(),
            name: format!("Rounds of {}", clipped(&of.phase, NAME)),
            says: sentence(of),
            values,
            unit: last.unit,
            median: None,
            interval: None,
            window: Some((of, last)),
        }
    }

    fn draw(&self) -> Markup {
        let half = |(of, last): (&Steadiness, &SteadyWindow)| last.mean * of.range_limit_ratio / 2.0;
        let ends = self.values.iter().map(|(_, value)| *value);
        let of_window = self.window.map(|(of, last)| last.mean + half((of, last)));
        let most = ends.chain(of_window).chain(self.interval.map(|(_, high)| high)).fold(0.0, f64::max);
        let unit = unit_for(self.unit, most);
        let scaled = |value: f64| value / unit.size;
        let first = self.values.first().map_or(1.0, |(run, _)| f64::from(*run)) - 0.5;
        let last = self.values.last().map_or(2.0, |(run, _)| f64::from(*run)) + 0.5;
        let line: Vec<(f64, f64)> = self.values.iter().map(|(run, value)| (f64::from(*run), scaled(*value))).collect();
        let level = |value: f64| vec![(first, scaled(value)), (last, scaled(value))];
        let mut shapes = Vec::new();
        let mut legend = vec![(Swatch::Dot(Ink::Counted), "each run".to_owned())];
        if let Some((low, high)) = self.interval {
            shapes.push(Shape::Boxes(Ink::Clock, vec![[(first, scaled(low)), (last, scaled(high))]]));
            legend.push((Swatch::Box(Ink::Clock), "interval of the median".to_owned()));
        }
        if let Some((of, window)) = self.window {
            let (from, to) = (at(window.runs.first()), at(window.runs.last()));
            let half = half((of, window));
            let at_last = window.line_at_first + window.slope * window.runs.len().saturating_sub(1) as f64;
            shapes.push(Shape::Boxes(
                Ink::Clock,
                vec![[(from - 0.3, scaled(window.mean - half)), (to + 0.3, scaled(window.mean + half))]],
            ));
            shapes.push(Shape::Line(Ink::Fit, vec![(from, scaled(window.line_at_first)), (to, scaled(at_last))]));
            legend.push((Swatch::Line(Ink::Fit), "least-squares line of the window".to_owned()));
            let permitted = format!("permitted: mean ± {}", Quantity::ratio(of.range_limit_ratio / 2.0));
            legend.push((Swatch::Box(Ink::Clock), permitted));
        }
        if let Some(median) = self.median {
            shapes.push(Shape::Line(Ink::Fit, level(median)));
            legend.push((Swatch::Line(Ink::Fit), "median".to_owned()));
        }
        shapes.extend([Shape::Line(Ink::Round, line.clone()), Shape::Dots(Ink::Counted, line)]);
        let whole = |value: f64| if value.fract() == 0.0 { plain(value) } else { String::new() };
        let (name, says) = (shown(&self.name), shown(&self.says));
        let chart = Chart {
            id: &self.id,
            name: &name,
            says: &says,
            size: Size::wide(HEIGHT),
            x: Axis { range: first..last, scale: Scale::Linear, labels: 12, label: &whole },
            y: Axis { range: 0.0..scaled(most) * 1.1, scale: Scale::Linear, labels: 4, label: &plain },
            shapes,
        };
        let legend: Vec<(Swatch, &str)> = legend.iter().map(|(swatch, words)| (*swatch, words.as_str())).collect();
        figure(&name, &format!("{} by run", unit.name), &legend, &says, chart.draw())
    }
}

fn at(run: Option<&u32>) -> f64 {
    f64::from(*run.unwrap_or(&1))
}
