//! The first screen of an acceptance of several units: a row for each limit with a dot for each unit.

use activebench_model::acceptance::{AcceptanceOutcome, AgreedLimit, Bound};
use activebench_model::acceptance_batch::{AcceptanceBatch, AcceptedUnit, LimitOfUnit};
use maud::{Markup, html};

use super::accepted::{class, word};
use super::bar_table::{Group, Heads, Row, bar_table};
use super::dots::{Dot, DotRow, LimitLine, marks};
use super::marks::legend;
use crate::acceptance::{clip, limit_bound, limit_name};
use crate::escape::terminal as shown;
use crate::wording::count;

/// Limits with a row; the others are in the table.
const LIMITS: usize = 40;
/// Units with a dot in a row.
const UNITS: usize = 400;

/// Renders the rows; nothing where no unit was tested.
pub(crate) fn section(batch: &AcceptanceBatch) -> Markup {
    let places = 0..batch.limits.len().min(LIMITS);
    if batch.units.iter().all(|unit| unit.limits.is_empty()) || places.is_empty() {
        return html! {};
    }
    let rows: Vec<DotRow> = places.clone().map(|place| dots(batch, place)).collect();
    let groups: Vec<Group> = places.map(|place| group(batch, place, &rows[place])).collect();
    let heads = Heads {
        name: "limit",
        figures: [("agreed", "agreed"), ("met by", "met by")],
        drawn: "a dot for each unit; a unit that does not pass is named",
        last: "not known",
        word: "worst",
    };
    html! {
        (bar_table("Limits", &heads, &groups))
        (legend(marks(&rows, "a unit")))
    }
}

/// The figures of the units for a limit.
fn of_limit(batch: &AcceptanceBatch, place: usize) -> impl Iterator<Item = (&AcceptedUnit, Option<&LimitOfUnit>)> {
    batch.units.iter().map(move |unit| (unit, unit.limits.get(place)))
}

fn group(batch: &AcceptanceBatch, place: usize, dots: &DotRow) -> Group {
    let limit: &AgreedLimit = &batch.limits[place];
    let axis = dots.axis(&shown(&limit.unit.name), limit.unit.factor);
    let outcome = |of: Option<&LimitOfUnit>| of.map_or(AcceptanceOutcome::NotJudged, |of| of.outcome);
    let met = |of: AcceptanceOutcome| matches!(of, AcceptanceOutcome::Pass | AcceptanceOutcome::ConditionalPass);
    let outcomes: Vec<AcceptanceOutcome> = of_limit(batch, place).map(|(_, of)| outcome(of)).collect();
    let unknown = of_limit(batch, place).filter(|(_, of)| of.is_none_or(|of| of.honest.is_none())).count();
    let row = Row {
        name: html! { (shown(&limit_name(limit))) },
        figures: [
            html! { (shown(&limit_bound(limit))) },
            html! { (outcomes.iter().filter(|of| met(**of)).count()) " of " (outcomes.len()) },
        ],
        drawing: axis.as_ref().map_or_else(|| html! {}, |axis| dots.draw(axis)),
        last: html! { @if unknown > 0 { (count(unknown, "unit")) } },
        word: outcomes.into_iter().max_by_key(|of| rank(*of)).map_or_else(|| html! {}, word),
    };
    Group { title: None, rows: vec![row], axis: Group::labels(axis.as_ref()) }
}

/// Order of the outcomes, the best first.
fn rank(outcome: AcceptanceOutcome) -> u8 {
    match outcome {
        AcceptanceOutcome::Pass => 0,
        AcceptanceOutcome::ConditionalPass => 1,
        AcceptanceOutcome::NotJudged => 2,
        AcceptanceOutcome::ConditionalFail => 3,
        AcceptanceOutcome::Fail => 4,
    }
}

fn dots(batch: &AcceptanceBatch, place: usize) -> DotRow {
    let limit = &batch.limits[place];
    let dot = |(unit, of): (&AcceptedUnit, Option<&LimitOfUnit>)| {
        let of = of?;
        let name = if of.outcome == AcceptanceOutcome::Pass { String::new() } else { shown(&clip(&unit.name)) };
        Some(Dot { at: of.honest?.value, class: class(of.outcome), name })
    };
    DotRow {
        dots: of_limit(batch, place).take(UNITS).filter_map(dot).collect(),
        limit: Some(LimitLine { at: limit.limit.value, is_least: limit.bound == Bound::AtLeast, guard: 0.0 }),
        ..DotRow::default()
    }
}
