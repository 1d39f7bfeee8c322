//! The disks, hosts or models of a history side by side: a row for each figure, with a dot for each member.

use activebench_model::history::{Batch, History, Member};
use maud::{Markup, html};

use super::bar_table::{Group, Heads, Row, bar_table};
use super::dots::{Dot, DotRow, marks};
use super::marks::legend;
use super::units::unit_for;
use crate::escape::{clipped, terminal as shown};
use crate::history::wording::{BATCHES_SHOWN, Names};
use crate::wording::count;

/// Members with a dot in a row.
const MEMBERS: usize = 400;
/// Longest name of foreign origin, in characters.
const NAME: usize = 60;

/// Renders the rows; nothing where nothing is side by side.
pub(crate) fn section(history: &History, names: &Names<'_>) -> Markup {
    let batches = &history.batches[..history.batches.len().min(BATCHES_SHOWN)];
    if batches.is_empty() {
        return html! {};
    }
    let rows: Vec<DotRow> = batches.iter().map(dots).collect();
    let groups: Vec<Group> = batches.iter().zip(&rows).map(|(batch, row)| group(batch, row, names)).collect();
    let heads = Heads {
        name: "figure",
        figures: [("members", "members"), ("middle", "middle")],
        drawn: "a dot for each member; an outlier is named",
        last: "without it",
        word: "outliers",
    };
    html! {
        (bar_table("Members side by side", &heads, &groups))
        (legend(marks(&rows, "a member")))
    }
}

fn group(batch: &Batch, dots: &DotRow, names: &Names<'_>) -> Group {
    let unit = unit_for(batch.median.unit, dots.values().into_iter().fold(0.0, f64::max));
    let axis = dots.axis(unit.name, unit.size);
    let outliers = batch.members.iter().filter(|member| member.outlier).count();
    let row = Row {
        name: html! { (shown(&names.of_batch(batch))) },
        figures: [html! { (batch.members.len()) }, html! { (batch.median) }],
        drawing: axis.as_ref().map_or_else(|| html! {}, |axis| dots.draw(axis)),
        last: html! { @if !batch.without.is_empty() { (count(batch.without.len(), "member")) } },
        word: match (&batch.not_judged, outliers) {
            (Some(_), _) => html! { span.tag.doubtful { "not looked for" } },
            (None, 0) => html! { span.tag.good { "none" } },
            (None, some) => html! { span.tag.bad { (count(some, "outlier")) } },
        },
    };
    Group { title: None, rows: vec![row], axis: Group::labels(axis.as_ref()) }
}

fn dots(batch: &Batch) -> DotRow {
    let dot = |member: &Member| {
        let name = if member.outlier { shown(&clipped(&member.group, NAME)) } else { String::new() };
        Dot { at: member.median.value, class: if member.outlier { "bad" } else { "" }, name }
    };
    DotRow {
        dots: batch.members.iter().take(MEMBERS).map(dot).collect(),
        median: Some(batch.median.value),
        ..DotRow::default()
    }
}
