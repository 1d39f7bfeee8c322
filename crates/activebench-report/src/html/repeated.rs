//! The first screen of a series: a row for each figure, with a dot for each run.

use activebench_model::series::{JudgedSeries, Repeated};
use activebench_model::units::{Quantity, Unit};
use activebench_model::verdict::ClaimVerdict;
use maud::{Markup, html};

use super::bar_table::{Group, Heads, Row, bar_table};
use super::claims::verdict;
use super::dots::{Dot, DotRow, marks};
use super::marks::legend;
use super::row_axis::RowAxis;
use super::units::{Unitary, kinds};
use crate::escape::{clipped, terminal as shown};
use crate::run::figures::Scale;
use crate::wording::{count, metric};

/// Figures with a row; the others are in the table.
const FIGURES: usize = 8;
/// Runs with a dot in a row.
const RUNS: usize = 400;
/// Longest name of a phase, in characters.
const NAME: usize = 60;

/// Renders the rows; nothing if no run states a rate or a latency.
pub(crate) fn section(series: &JudgedSeries) -> Markup {
    let figures: Vec<&Repeated> = drawn(series);
    let left_out = series.figures.len() - figures.len().min(FIGURES);
    let figures = &figures[..figures.len().min(FIGURES)];
    if figures.is_empty() {
        return html! {};
    }
    let medians = |figure: &Repeated| [Some(figure.claimed.median), figure.honest.as_ref().map(|of| of.median)];
    let scale = Scale::of(figures.iter().flat_map(|figure| medians(figure)).flatten());
    let groups: Vec<Group> =
        kinds(figures.iter().map(|figure| unit(figure))).into_iter().map(|of| group(of, figures, &scale)).collect();
    let rows: Vec<DotRow> = figures.iter().map(|figure| dots(figure)).collect();
    let heads = Heads {
        name: "figure",
        figures: [("claimed median", "claimed"), ("honest median", "honest")],
        drawn: "a dot for each run",
        last: "spread",
        word: "verdict",
    };
    html! {
        (bar_table("Figures of all runs", &heads, &groups))
        (legend(marks(&rows, "a run")))
        @if left_out > 0 { p.remark { "Not shown here: " a href="#figures" { (count(left_out, "more figure")) } "." } }
    }
}

/// Rates, then latencies.
fn drawn(series: &JudgedSeries) -> Vec<&Repeated> {
    let is_drawn = |figure: &&Repeated| !figure.metric.is_count() && !figure.metric.is_cpu();
    let (rates, latencies): (Vec<_>, Vec<_>) =
        series.figures.iter().filter(is_drawn).partition(|figure| !figure.metric.is_latency());
    rates.into_iter().chain(latencies).collect()
}

fn unit(figure: &Repeated) -> Unit {
    figure.claimed.median.unit
}

/// The figures of one unit, on one axis from zero.
fn group(of: Unit, figures: &[&Repeated], scale: &Scale) -> Group {
    let figures: Vec<&&Repeated> = figures.iter().filter(|figure| unit(figure) == of).collect();
    let rows: Vec<DotRow> = figures.iter().map(|figure| dots(figure)).collect();
    let most = figures.iter().map(|figure| figure.claimed.median.value).fold(0.0, f64::max);
    let unit = Unitary::of_scale(scale, of, most);
    let axis = RowAxis::from_zero(unit.name, unit.size, rows.iter().flat_map(DotRow::values));
    let row = |(figure, dots): (&&&Repeated, &DotRow)| {
        let honest = figure.honest.as_ref().map(|honest| honest.median);
        Row {
            name: html! { (shown(&clipped(&figure.phase, NAME))) " " (metric(figure.metric)) },
            figures: [
                html! { (scale.show(figure.claimed.median)) },
                match honest {
                    Some(honest) => html! { (scale.show(honest)) },
                    None => html! { span.neutral { "not known" } },
                },
            ],
            drawing: axis.as_ref().map_or_else(|| html! {}, |axis| dots.draw(axis)),
            last: html! { (spread(figure)) },
            word: word(figure),
        }
    };
    Group { title: None, rows: figures.iter().zip(&rows).map(row).collect(), axis: Group::labels(axis.as_ref()) }
}

fn dots(figure: &Repeated) -> DotRow {
    let of_honest = figure.honest.as_ref();
    let honest_of = |run: usize| of_honest.and_then(|honest| honest.values.get(run).copied().flatten());
    let claimed = figure.claimed.values.iter().enumerate().take(RUNS);
    let hollow = claimed.filter_map(|(run, claimed)| {
        let at = (*claimed).filter(|claimed| honest_of(run) != Some(*claimed))?;
        Some(Dot { at, class: "hollow", ..Dot::default() })
    });
    let honest = of_honest.into_iter().flat_map(|honest| honest.values.iter().take(RUNS).flatten());
    let dots = hollow.chain(honest.map(|at| Dot { at: *at, ..Dot::default() })).collect();
    let sample = of_honest.unwrap_or(&figure.claimed);
    DotRow {
        dots,
        median: Some(sample.median.value),
        interval: sample.median_interval.map(|interval| (interval.low.value, interval.high.value)),
        limit: None,
        is_unknown: of_honest.is_none(),
    }
}

/// Spread of the honest figures, or of the claimed ones where those are not known.
fn spread(figure: &Repeated) -> String {
    let sample = figure.honest.as_ref().unwrap_or(&figure.claimed);
    sample.spread_ratio.map_or_else(String::new, |ratio| Quantity::ratio(ratio).to_string())
}

/// The worst verdict, and in how many runs it is the verdict.
fn word(figure: &Repeated) -> Markup {
    let rank = |verdict: &ClaimVerdict| match verdict {
        ClaimVerdict::Confirmed => 0,
        ClaimVerdict::NotChecked => 1,
        ClaimVerdict::Unverifiable => 2,
        ClaimVerdict::Misleading => 3,
        ClaimVerdict::Refuted => 4,
    };
    let stated = || figure.verdicts.iter().flatten();
    let Some(worst) = stated().copied().max_by_key(|verdict| rank(verdict)) else { return html! {} };
    let (of, all) = (stated().filter(|verdict| **verdict == worst).count(), stated().count());
    html! { (verdict(Some(worst), worst.words())) @if of < all { " in " (of) " of " (all) } }
}
