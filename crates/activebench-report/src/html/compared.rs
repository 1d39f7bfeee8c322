//! The first screen of a comparison: the figures of all runs as bars, each with its interval.

use activebench_model::compare::{Against, Cell, Compared, Comparison};
use activebench_model::units::{Quantity, Unit, significant};
use maud::{Markup, html};

use super::bar_table::{Group, Heads, Row, bar_table};
use super::bars::Bar;
use super::claims::verdict;
use super::marks::{Mark, legend};
use super::row_axis::RowAxis;
use super::units::{Unitary, kinds};
use crate::escape::{clipped, terminal as shown};
use crate::run::figures::Scale;
use crate::wording::{count, metric};

/// Figures with bars; the others are in the table.
const FIGURES: usize = 8;
/// Runs with bars; the others are in the table.
const RUNS: usize = 8;
/// Longest name of a phase, in characters.
const NAME: usize = 60;

/// Renders the bars; nothing if no run states a rate or a latency.
pub(crate) fn section(comparison: &Comparison) -> Markup {
    let is_drawn = |figure: &&Compared| !figure.metric.is_count() && !figure.metric.is_cpu() && unit(figure).is_some();
    let mut figures: Vec<&Compared> = comparison.figures.iter().filter(is_drawn).collect();
    // Rates first, and what several runs have.
    figures
        .sort_by_key(|figure| (figure.metric.is_latency(), figure.cells.iter().filter(|cell| cell.is_none()).count()));
    let all = figures.len();
    figures.truncate(FIGURES);
    if figures.is_empty() {
        return html! {};
    }
    let scale = Scale::of(
        figures
            .iter()
            .flat_map(|figure| cells(figure))
            .flat_map(|(_, cell)| [cell.claimed].into_iter().chain(cell.honest)),
    );
    let groups: Vec<Group> = kinds(figures.iter().filter_map(|figure| unit(figure)))
        .into_iter()
        .flat_map(|of| groups(of, &figures, &scale))
        .collect();
    let bars: Vec<Bar> = figures.iter().flat_map(|figure| cells(figure)).map(|(_, cell)| bar(cell)).collect();
    let marks = [
        (bars.iter().any(|bar| bar.claimed.is_some()), Mark::Claimed, "claimed, where it is not honest"),
        (true, Mark::Honest, "honest"),
        (bars.iter().any(|bar| bar.interval.is_some()), Mark::Interval, "interval of the median"),
        (bars.iter().any(|bar| bar.honest.is_none()), Mark::Unknown, "not known"),
    ];
    let heads = Heads {
        name: "figure and run",
        figures: [("claimed", "claimed"), ("honest", "honest")],
        drawn: "from zero",
        last: "against run 1",
        word: "verdict",
    };
    html! {
        (bar_table("Figures of the runs", &heads, &groups))
        (legend(marks.into_iter().filter(|(is_shown, ..)| *is_shown).map(|(_, mark, words)| (mark, words))))
        @if all > FIGURES {
            p.remark { "Not shown here: " a href="#all-figures" { (count(all - FIGURES, "more figure")) } "." }
        }
    }
}

/// The cells that are shown, with the number of their run.
fn cells(figure: &Compared) -> impl Iterator<Item = (usize, &Cell)> {
    (1..).zip(&figure.cells).take(RUNS).filter_map(|(run, cell)| Some((run, cell.as_ref()?)))
}

fn unit(figure: &Compared) -> Option<Unit> {
    figure.cells.iter().flatten().next().map(|cell| cell.claimed.unit)
}

/// The figures of one unit, on one axis.
fn groups(of: Unit, figures: &[&Compared], scale: &Scale) -> Vec<Group> {
    let figures: Vec<&&Compared> = figures.iter().filter(|figure| unit(figure) == Some(of)).collect();
    let all: Vec<Bar> = figures.iter().flat_map(|figure| cells(figure)).map(|(_, cell)| bar(cell)).collect();
    let most = all.iter().filter_map(|bar| bar.honest.or(bar.claimed)).fold(0.0, f64::max);
    let axis = Bar::axis(Unitary::of_scale(scale, of, most), &all);
    let last = figures.len().saturating_sub(1);
    let group = |(place, figure): (usize, &&&Compared)| Group {
        title: Some(html! { (shown(&clipped(&figure.phase, NAME))) " " (metric(figure.metric)) }),
        rows: rows(figure, axis.as_ref(), scale),
        axis: Group::labels(axis.as_ref().filter(|_| place == last)),
    };
    figures.iter().enumerate().map(group).collect()
}

fn rows(figure: &Compared, axis: Option<&RowAxis>, scale: &Scale) -> Vec<Row> {
    let of_run = |(number, cell): (usize, &Option<Cell>)| {
        let name = html! { "run " (number) };
        let Some(cell) = cell else {
            return Row {
                name,
                figures: [html! {}, html! { span.neutral { "not stated" } }],
                drawing: html! {},
                last: html! {},
                word: html! {},
            };
        };
        Row {
            name,
            figures: [
                html! { (scale.show(cell.claimed)) },
                match cell.honest {
                    Some(honest) => html! { (scale.show(honest)) },
                    None => html! { span.neutral { "not known" } },
                },
            ],
            drawing: axis.map_or_else(|| html! {}, |axis| bar(cell).draw(axis)),
            last: html! { (against(cell.against_first.as_ref())) },
            word: word(cell),
        }
    };
    (1..).zip(&figure.cells).take(RUNS).map(of_run).collect()
}

fn bar(cell: &Cell) -> Bar {
    let value = |quantity: Quantity| quantity.value;
    Bar {
        claimed: (cell.honest != Some(cell.claimed)).then_some(cell.claimed.value),
        honest: cell.honest.map(value),
        interval: cell.interval.filter(|_| cell.honest.is_some()).map(|of| (of.low.value, of.high.value)),
        ..Bar::default()
    }
}

fn against(against: Option<&Against>) -> String {
    match against {
        None => String::new(),
        Some(Against::Compared { ratio, .. }) => format!("{} times", significant(*ratio)),
        Some(Against::NotCompared { .. }) => "not compared".to_owned(),
    }
}

/// The verdict, and of a series the runs that are confirmed.
fn word(cell: &Cell) -> Markup {
    let of_runs = match cell.confirmed {
        some if some > 0 && some < cell.runs => format!(" {some} of {} confirmed", cell.runs),
        _ => String::new(),
    };
    html! { (verdict(Some(cell.verdict), cell.verdict.words())) (of_runs) }
}
