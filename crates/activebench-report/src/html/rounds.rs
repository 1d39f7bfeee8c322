//! Rounds of a series over time: the window that decides on steady state, the band in which its values may be, and the
//! line fitted to them.

use activebench_model::series::{JudgedSeries, Steadiness, SteadyWindow};
use activebench_model::units::Quantity;
use maud::{Markup, html};

use super::chart::{Axis, Chart, Scale, Shape};
use super::figure::{Swatch, figure};
use super::svg::Ink;
use super::units::{plain, unit_for};
use crate::escape::terminal as shown;
use crate::series::steady::{rounds, sentence};

/// Height of a chart.
const HEIGHT: u32 = 130;
/// Maximum charts; the sentences are complete.
const CHARTS: usize = 12;

/// A chart for each figure that has a window.
pub(crate) fn charts(series: &JudgedSeries) -> Markup {
    let windows: Vec<_> = series.steadiness.iter().filter_map(|of| Some((of, of.last().ok()?))).collect();
    html! {
        @for (number, (of, last)) in windows.iter().enumerate().take(CHARTS) { (chart(number, series, of, last)) }
        @if windows.len() > CHARTS { p { "Charts of " (CHARTS) " of " (windows.len()) " figures." } }
    }
}

fn chart(number: usize, series: &JudgedSeries, of: &Steadiness, last: &SteadyWindow) -> Markup {
    let rounds = rounds(series, of);
    let most = rounds.iter().map(|(_, value)| *value).fold(0.0, f64::max);
    let unit = unit_for(last.unit, most);
    let scaled = |value: f64| value / unit.size;
    let (from, to) = (f64::from(*last.runs.first().unwrap_or(&1)), f64::from(*last.runs.last().unwrap_or(&1)));
    let half = last.mean * of.range_limit_ratio / 2.0;
    let band = vec![
        (from, scaled(last.mean - half)),
        (to, scaled(last.mean - half)),
        (to, scaled(last.mean + half)),
        (from, scaled(last.mean + half)),
    ];
    let at_last = last.line_at_first + last.slope * (last.runs.len().saturating_sub(1)) as f64;
    let fit = vec![(from, scaled(last.line_at_first)), (to, scaled(at_last))];
    let line: Vec<(f64, f64)> = rounds.iter().map(|(run, value)| (f64::from(*run), scaled(*value))).collect();
    let (first_x, last_x) = (line.first().map_or(1.0, |point| point.0), line.last().map_or(2.0, |point| point.0));
    let top = scaled(most.max(last.mean + half)) * 1.1;
    let name = shown(&format!("Rounds of {}", of.phase));
    let says = shown(&sentence(of));
    let id = format!("rounds-{number}");
    let whole = |value: f64| if value.fract() == 0.0 { plain(value) } else { String::new() };
    let chart = Chart {
        id: &id,
        name: &name,
        says: &says,
        height: HEIGHT,
        x: Axis { range: first_x..last_x.max(first_x + 1.0), scale: Scale::Linear, labels: 12, label: &whole },
        y: Axis { range: 0.0..top, scale: Scale::Linear, labels: 4, label: &plain },
        shapes: vec![Shape::Area(Ink::Band, band), Shape::Line(Ink::Fit, fit), Shape::Line(Ink::Round, line)],
    };
    let permitted = format!("mean ± {}", Quantity::ratio(of.range_limit_ratio / 2.0));
    let legend = [
        (Swatch::Line(Ink::Round), "value of each run"),
        (Swatch::Line(Ink::Fit), "least-squares line of the window"),
        (Swatch::Box(Ink::Band), permitted.as_str()),
    ];
    figure(&name, &format!("{} by run", unit.name), &legend, &says, chart.draw())
}
