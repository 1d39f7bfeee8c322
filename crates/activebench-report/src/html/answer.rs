//! The first screen of a run's page: the figures as bars, the command to run instead, and where the run was made.

use std::collections::{BTreeMap, HashMap};

use activebench_model::bound::ShareOf;
use activebench_model::finding::FindingsByClaim;
use activebench_model::remedy::Advised;
use activebench_model::report::JudgedRun;
use activebench_model::units::{Quantity, Unit};
use activebench_model::verdict::{ClaimVerdict, RunVerdict};
use maud::{Markup, html};

use super::bar_table::{Group, Heads, Row, bar_table};
use super::bars::Bar;
use super::environment;
use super::findings::Anchors;
use super::marks::{Mark, legend};
use super::prose::prose;
use super::row_axis::RowAxis;
use super::units::{Unitary, kinds};
use crate::escape::terminal as shown;
use crate::headline;
use crate::run::figures::{Figure, Scale, Selection, cause, difference, heads, short_metric};
use crate::wording::{PhaseNames, count, shell_command};

/// Figures with a bar; the others are in the table of all figures.
const FIGURES: usize = 8;
/// Changes of the command that are listed; the rest is counted.
const CHANGES: usize = 4;

/// Renders the first screen below the verdict.
pub(super) fn section(run: &JudgedRun, anchors: &Anchors) -> Markup {
    let advice = advice(run, anchors);
    html! {
        div.answer.alone[advice.is_none()] {
            (figures(run, anchors))
            @if let Some(advice) = advice { (advice) }
        }
        (environment::of_run(run))
    }
}

fn figures(run: &JudgedRun, anchors: &Anchors) -> Markup {
    if run.parsed.claims.is_empty() {
        return html! {
            section.figures-shown aria-labelledby="figures-h" {
                h2 id="figures-h" { "Figures" }
                p { (prose(&headline::no_claims(run))) }
                p { (prose(&headline::phases(run))) }
            }
        };
    }
    let Selection { figures, left_out, left_out_wrong } = Selection::of(run, FIGURES);
    let [says, honest_head] = heads(run, &figures);
    let bars = bars(run, &figures);
    let is_drawn = |unit: Unit| -> Vec<Bar> {
        figures.iter().zip(&bars).filter(|(figure, _)| figure.claim.value.unit == unit).map(|(_, bar)| *bar).collect()
    };
    let scale = Scale::of(figures.iter().map(|figure| figure.claim.value).chain(figures.iter().filter_map(honest)));
    let axis = |unit: Unit| {
        let bars = is_drawn(unit);
        let most = bars.iter().filter_map(|bar| bar.claimed).fold(0.0, f64::max);
        Bar::axis(Unitary::of_scale(&scale, unit, most), &bars)
    };
    let axes: Vec<(Unit, Option<RowAxis>)> = kinds(figures.iter().map(|figure| figure.claim.value.unit))
        .into_iter()
        .map(|unit| (unit, axis(unit)))
        .collect();
    let has_unknown = bars.iter().any(|bar| bar.honest.is_none());
    let has_ceiling = axes.iter().any(|(unit, axis)| {
        let ceilings = is_drawn(*unit).into_iter().filter_map(|bar| bar.ceiling);
        axis.as_ref().is_some_and(|axis| ceilings.into_iter().any(|ceiling| axis.shows(ceiling)))
    });
    let wrong = match left_out_wrong {
        0 => String::new(),
        wrong => format!(", {wrong} of them not what they seem"),
    };
    let says = shown(&says);
    let heads = Heads {
        name: "figure",
        figures: [(&says, "says"), (&honest_head, "honest")],
        drawn: "from zero",
        last: "difference",
        word: "cause",
    };
    let groups: Vec<Group> =
        axes.iter().map(|(unit, axis)| group(run, &figures, &bars, (*unit, axis.as_ref()), &scale, anchors)).collect();
    let marks = [
        (true, Mark::Claimed, says.as_str()),
        (true, Mark::Honest, honest_head.as_str()),
        (has_unknown, Mark::Unknown, "not known"),
        (has_ceiling, Mark::Ceiling, "maximum (ceiling)"),
    ];
    html! {
        section.figures-shown aria-labelledby="figures-h" {
            h2 id="figures-h" { "Claimed and honest" }
            (bar_table("Claimed and honest", &heads, &groups))
            (legend(marks.into_iter().filter(|(is_shown, ..)| *is_shown).map(|(_, mark, words)| (mark, words))))
            @if left_out > 0 {
                p.remark {
                    "Not shown here: "
                    a href="#all-figures" { (count(left_out, "more figure")) } (wrong) "."
                }
            }
        }
    }
}

/// The figures as bars, with the ceilings of the honest ones.
fn bars(run: &JudgedRun, figures: &[Figure<'_>]) -> Vec<Bar> {
    let of_honest = run.shares.shares.iter().filter(|share| share.figure == ShareOf::Honest);
    let ceilings: HashMap<&str, Quantity> = of_honest.map(|share| (share.claim.as_str(), share.bound)).collect();
    figures
        .iter()
        .map(|figure| {
            let ceiling = ceilings.get(figure.claim.id.as_str());
            Bar {
                claimed: Some(figure.claim.value.value),
                honest: honest(figure).map(|honest| honest.value),
                ceiling: ceiling.filter(|bound| bound.unit == figure.claim.value.unit).map(|bound| bound.value),
                ..Bar::default()
            }
        })
        .collect()
}

fn honest(figure: &Figure<'_>) -> Option<Quantity> {
    figure.judged.and_then(|judged| judged.honest(figure.claim))
}

/// The rows of one unit, and their axis.
fn group(
    run: &JudgedRun,
    figures: &[Figure<'_>],
    bars: &[Bar],
    (unit, axis): (Unit, Option<&RowAxis>),
    scale: &Scale,
    anchors: &Anchors,
) -> Group {
    let names = PhaseNames::of(run);
    let findings = FindingsByClaim::new(&run.findings);
    let several = {
        let mut of_phase: BTreeMap<&str, usize> = BTreeMap::new();
        figures.iter().for_each(|figure| *of_phase.entry(&figure.claim.phase).or_default() += 1);
        of_phase.values().any(|number| *number > 1) || figures.iter().any(|figure| figure.claim.metric.is_latency())
    };
    let row = |(figure, bar): (&Figure<'_>, &Bar)| Row {
        name: html! {
            (shown(names.get(&figure.claim.phase)))
            @if several { (short_metric(figure.claim)) }
        },
        figures: [
            html! { (scale.show(figure.claim.value)) },
            html! {
                @match honest(figure) {
                    Some(value) => (scale.show(value)),
                    None => span.neutral { "not known" },
                }
            },
        ],
        drawing: axis.map_or_else(|| html! {}, |axis| bar.draw(axis)),
        last: html! { (difference(figure.claim, figure.judged, honest(figure))) },
        word: of_cause(&cause(run, figure, &findings.concerning(figure.claim)), figure, anchors),
    };
    let rows = figures.iter().zip(bars).filter(|(figure, _)| figure.claim.value.unit == unit).map(row).collect();
    Group { title: None, rows, axis: Group::labels(axis) }
}

/// The cause in its colour, linked to the finding.
fn of_cause(word: &str, figure: &Figure<'_>, anchors: &Anchors) -> Markup {
    let tone = match figure.judged.map(|judged| judged.verdict()) {
        Some(ClaimVerdict::Confirmed) => "good",
        Some(verdict) if verdict.is_contradicted() => "bad",
        _ => "doubtful",
    };
    html! { span.tag.(tone) { (anchors.links(&[word.to_owned()])) } }
}

/// The command to run instead, or why there is none; `None` where nothing is to be corrected.
fn advice(run: &JudgedRun, anchors: &Anchors) -> Option<Markup> {
    let is_wrong = run.verdict == RunVerdict::Discrepancy;
    let inside = match &run.advised {
        Ok(advised) => command(advised, anchors),
        // The findings below say what to do for each cause.
        Err(why) if is_wrong && !why.is_empty() => html! {
            p { "No option of the command corrects it: see the " a href="#findings" { "findings" } "." }
        },
        Err(_) => return None,
    };
    Some(html! { section.instead aria-labelledby="instead-h" { h2 id="instead-h" { "Run this instead" } (inside) } })
}

fn command(advised: &Advised, anchors: &Anchors) -> Markup {
    let seconds = advised.seconds.filter(|seconds| seconds.is_finite());
    let duration = seconds.map_or_else(String::new, |seconds| format!(", about {:.0} s", seconds.max(1.0)));
    let more = advised.applied.len().saturating_sub(CHANGES);
    html! {
        p { "It measures " (prose(&advised.answers)) (duration) ":" }
        p.copied { code { (shown(&format!("activebench verify -- {}", shell_command(&advised.argv)))) } }
        p.remark { "One click selects the whole command." }
        @if !advised.applied.is_empty() {
            ul {
                @for applied in advised.applied.iter().take(CHANGES) {
                    li { (prose(&applied.change)) " (" (anchors.links(&applied.codes)) ")" }
                }
                @if more > 0 { li { (count(more, "further change")) } }
            }
        }
        @if !advised.left.is_empty() {
            p.remark {
                "No option changes "
                (anchors.links(&advised.left.iter().map(|left| left.code.clone()).collect::<Vec<_>>())) "."
            }
        }
    }
}
