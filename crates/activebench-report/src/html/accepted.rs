//! The first screen of an acceptance: a row for each limit with a dot for each run, and the steady state of each
//! benchmark.

use activebench_model::acceptance::{Acceptance, AcceptanceOutcome, Bound, FigureOfRun, JudgedLimit};
use activebench_model::units::Quantity;
use maud::{Markup, html};

use super::bar_table::{Group, Heads, Row, bar_table};
use super::dots::{Dot, DotRow, LimitLine, marks};
use super::marks::legend;
use crate::acceptance::{limit_bound, limit_name};
use crate::escape::terminal as shown;
use crate::wording::count;

/// Limits with a row; the others are in the table.
const LIMITS: usize = 40;
/// Runs with a dot in a row.
const RUNS: usize = 400;

/// Renders the rows; nothing for an acceptance without limits.
pub(crate) fn section(acceptance: &Acceptance) -> Markup {
    let limits = &acceptance.limits[..acceptance.limits.len().min(LIMITS)];
    if limits.is_empty() {
        return html! {};
    }
    let rows: Vec<DotRow> = limits.iter().map(dots).collect();
    let groups: Vec<Group> = limits.iter().zip(&rows).map(|(limit, row)| group(limit, row)).collect();
    let heads = Heads {
        name: "limit",
        figures: [("agreed", "agreed"), ("honest median", "honest")],
        drawn: "a dot for each run",
        last: "margin",
        word: "outcome",
    };
    html! {
        (bar_table("Limits", &heads, &groups))
        (legend(marks(&rows, "a run")))
        @if acceptance.limits.len() > LIMITS {
            p.remark { "Not shown here: " (count(acceptance.limits.len() - LIMITS, "more limit")) "." }
        }
    }
}

/// A limit on an axis of its own, in the unit in which it was written.
fn group(limit: &JudgedLimit, dots: &DotRow) -> Group {
    let unit = &limit.agreed.unit;
    let axis = dots.axis(&shown(&unit.name), unit.factor);
    let row = Row {
        name: html! { (shown(&limit_name(&limit.agreed))) },
        figures: [
            html! { (shown(&limit_bound(&limit.agreed))) },
            match limit.honest {
                Some(honest) => html! { (shown(&unit.show(honest))) },
                None => html! { span.neutral { "not known" } },
            },
        ],
        drawing: axis.as_ref().map_or_else(|| html! {}, |axis| dots.draw(axis)),
        last: html! { (limit.margin.map_or_else(String::new, |margin| shown(&signed(limit, margin)))) },
        word: word(limit.outcome),
    };
    Group { title: None, rows: vec![row], axis: Group::labels(axis.as_ref()) }
}

fn signed(limit: &JudgedLimit, margin: Quantity) -> String {
    let sign = if margin.value > 0.0 { "+" } else { "" };
    format!("{sign}{}", limit.agreed.unit.show(margin))
}

/// An outcome in its colour.
pub(super) fn word(outcome: AcceptanceOutcome) -> Markup {
    html! { span class={ "tag " (class(outcome)) } { (outcome.words()) } }
}

/// Class for the colour of an outcome.
pub(super) fn class(outcome: AcceptanceOutcome) -> &'static str {
    match outcome {
        AcceptanceOutcome::Pass => "good",
        AcceptanceOutcome::ConditionalPass | AcceptanceOutcome::NotJudged => "doubtful",
        AcceptanceOutcome::ConditionalFail | AcceptanceOutcome::Fail => "bad",
    }
}

fn dots(limit: &JudgedLimit) -> DotRow {
    let of_run = |figure: &FigureOfRun| match (figure.honest, figure.claimed) {
        (Some(honest), _) => Some(Dot { at: honest.value, ..Dot::default() }),
        (None, Some(claimed)) => Some(Dot { at: claimed.value, class: "hollow", ..Dot::default() }),
        (None, None) => None,
    };
    let around = |honest: Quantity, of: Quantity| (honest.value - of.value, honest.value + of.value);
    let uncertainty = limit.uncertainty.as_ref().map(|uncertainty| uncertainty.expanded);
    DotRow {
        dots: limit.figures.iter().take(RUNS).filter_map(of_run).collect(),
        median: limit.honest.map(|honest| honest.value),
        interval: limit.honest.zip(uncertainty).map(|(honest, of)| around(honest, of)),
        limit: Some(LimitLine {
            at: limit.agreed.limit.value,
            is_least: limit.agreed.bound == Bound::AtLeast,
            guard: limit.guard_band.map_or(0.0, |band| band.value),
        }),
        is_unknown: !limit.figures.is_empty() && limit.figures.iter().all(|figure| figure.honest.is_none()),
    }
}
