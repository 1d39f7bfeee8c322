//! The first screen of a replication: what was claimed, observed and replayed, as bars on one axis.

use activebench_model::replication::{RateOver, Replicated, ReplicatedFigure, ReplicatedPass, Replication};
use activebench_model::units::{Quantity, Unit, significant};
use activebench_model::verdict::ClaimVerdict;
use maud::{Markup, html};

use super::bar_table::{Group, Heads, Row, bar_table};
use super::bars::Bar;
use super::claims::verdict;
use super::marks::{Mark, legend};
use super::row_axis::RowAxis;
use super::units::{Unitary, kinds};
use crate::escape::{clipped, terminal as shown};
use crate::replication::spread;
use crate::run::figures::Scale;
use crate::wording::{count, metric};

/// Figures with bars; the others are in the table.
const FIGURES: usize = 8;
/// Longest name of a phase, in characters.
const NAME: usize = 60;

/// Renders the bars; nothing for a replication without a figure.
pub(crate) fn section(replication: &Replication) -> Markup {
    let all: Vec<(&ReplicatedPass, &ReplicatedFigure)> =
        replication.passes.iter().flat_map(|pass| pass.figures.iter().map(move |figure| (pass, figure))).collect();
    let figures: Vec<&ReplicatedFigure> = all.iter().take(FIGURES).map(|(_, figure)| *figure).collect();
    let scale = Scale::of(figures.iter().flat_map(|figure| values(figure)));
    let groups: Vec<Group> = kinds(figures.iter().filter_map(|figure| unit(figure)))
        .into_iter()
        .flat_map(|of| groups(of, &figures, &scale))
        .collect();
    if groups.is_empty() {
        return html! {};
    }
    let has_range = figures.iter().any(|figure| figure.replicated.is_some_and(|of| of.runs > 1));
    let has_unknown = figures.iter().any(|figure| figure.replicated.is_none());
    let marks = [
        (true, Mark::Claimed, "claimed"),
        (true, Mark::Honest, "observed, honest or replayed"),
        (has_range, Mark::Interval, "smallest to largest of the replays"),
        (has_unknown, Mark::Unknown, "not known"),
    ];
    let heads = Heads {
        name: "figure",
        figures: [("rate", "rate"), ("range", "range")],
        drawn: "from zero",
        last: "replayed against it",
        word: "outcome",
    };
    html! {
        (bar_table("Claimed, observed and replayed", &heads, &groups))
        (legend(marks.into_iter().filter(|(is_shown, ..)| *is_shown).map(|(_, mark, words)| (mark, words))))
        @if all.len() > FIGURES { p.remark { "Not shown here: " (count(all.len() - FIGURES, "more figure")) "." } }
    }
}

fn values(figure: &ReplicatedFigure) -> impl Iterator<Item = Quantity> {
    let replicated = figure.replicated.map(|of| of.median);
    [figure.claimed, figure.observed, figure.honest, replicated].into_iter().flatten()
}

fn unit(figure: &ReplicatedFigure) -> Option<Unit> {
    values(figure).next().map(|value| value.unit)
}

/// The figures of one unit, on one axis.
fn groups(of: Unit, figures: &[&ReplicatedFigure], scale: &Scale) -> Vec<Group> {
    let figures: Vec<&&ReplicatedFigure> = figures.iter().filter(|figure| unit(figure) == Some(of)).collect();
    let bars: Vec<Bar> = figures.iter().flat_map(|figure| lines(figure)).map(|line| line.bar).collect();
    let most = figures.iter().flat_map(|figure| values(figure)).map(|value| value.value).fold(0.0, f64::max);
    let axis = Bar::axis(Unitary::of_scale(scale, of, most), &bars);
    let last = figures.len().saturating_sub(1);
    let group = |(place, figure): (usize, &&&ReplicatedFigure)| {
        let durable = if figure.over == RateOver::UntilDurable { ", until durable" } else { "" };
        Group {
            title: Some(html! { (shown(&clipped(&figure.phase, NAME))) " " (metric(figure.metric)) (durable) }),
            rows: lines(figure).into_iter().map(|line| line.row(axis.as_ref(), scale)).collect(),
            axis: Group::labels(axis.as_ref().filter(|_| place == last)),
        }
    };
    figures.iter().enumerate().map(group).collect()
}

/// A row before it is drawn.
struct Line {
    name: &'static str,
    value: Option<Quantity>,
    range: Option<Replicated>,
    bar: Bar,
    /// The replayed rate divided by this one; `None` where one of them is missing.
    ratio: Option<f64>,
    word: Markup,
}

impl Line {
    fn row(self, axis: Option<&RowAxis>, scale: &Scale) -> Row {
        Row {
            name: html! { (self.name) },
            figures: [
                match self.value {
                    Some(value) => html! { (scale.show(value)) },
                    None => html! { span.neutral { "not known" } },
                },
                html! { (self.range.map_or_else(String::new, |range| spread(&range))) },
            ],
            drawing: axis.map_or_else(|| html! {}, |axis| self.bar.draw(axis)),
            last: html! { (self.ratio.map_or_else(String::new, |ratio| format!("{} times", significant(ratio)))) },
            word: self.word,
        }
    }
}

fn lines(figure: &ReplicatedFigure) -> Vec<Line> {
    let solid = |value: Option<Quantity>| Bar { honest: value.map(|value| value.value), ..Bar::default() };
    let line = |name, value, bar| Line { name, value, range: None, bar, ratio: None, word: html! {} };
    let mut lines = Vec::new();
    if figure.over == RateOver::ToolClock
        && let Some(claimed) = figure.claimed
    {
        lines.push(Line {
            ratio: figure.of_claimed_ratio,
            word: figure.verdict.map_or_else(|| html! {}, |of| verdict(Some(of), of.words())),
            // The outline alone: what is honest has a row of its own.
            bar: Bar { claimed: Some(claimed.value), is_only_claimed: true, ..Bar::default() },
            ..line("claimed", Some(claimed), Bar::default())
        });
        if let Some(honest) = figure.honest.filter(|_| figure.verdict != Some(ClaimVerdict::Confirmed)) {
            lines.push(line("honest", Some(honest), solid(Some(honest))));
        }
    }
    lines.push(Line {
        ratio: figure.of_observed_ratio,
        word: match figure.agrees {
            Some(true) => html! { span.tag.good { "agrees" } },
            Some(false) => html! { span.tag.bad { "differs" } },
            None => html! {},
        },
        ..line("observed", figure.observed, solid(figure.observed))
    });
    let replicated = figure.replicated;
    let range = replicated.filter(|of| of.runs > 1);
    let value = replicated.map(|of| of.median);
    let replayed = Bar {
        claimed: figure.observed.filter(|_| value.is_none()).map(|observed| observed.value),
        interval: range.map(|of| (of.least.value, of.most.value)),
        ..solid(value)
    };
    let name = if range.is_some() { "replayed (median)" } else { "replayed" };
    lines.push(Line { range, ..line(name, value, replayed) });
    lines
}
