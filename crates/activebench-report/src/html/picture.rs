//! The worst phase in one picture: what the calls moved and what the device moved, with the tool's clock and the syncs.

use activebench_model::fact::FactName;
use activebench_model::finding::Finding;
use activebench_model::phase::Phase;
use activebench_model::report::JudgedRun;
use maud::{Markup, html};

use super::chart::Size;
use super::findings::Anchors;
use super::flow::{Flow, Note};
use super::phases::{Phases, Place};
use super::prose::prose;
use super::timeline::{self, TimeAxis};
use crate::lookup::Lookup;
use crate::run::causes::Cause;
use crate::run::figures::{Scale, heads};

/// Height of the plot in the units of the drawing.
const HEIGHT: u32 = 210;
/// Share of the picture below which two moments are one.
const CLOSE: f64 = 0.01;

/// Title and content; `None` if no phase has a time series in which something moved.
pub(super) fn section(
    run: &JudgedRun,
    phases: &Phases<'_>,
    lookup: &Lookup<'_>,
    anchors: &Anchors,
) -> Option<(String, Markup)> {
    let causes = Cause::of(run);
    let found: Vec<&Finding> = causes.iter().flat_map(|cause| cause.findings.iter().copied()).collect();
    let places: Vec<Place<'_>> = phases.drawn().filter(|place| Flow::of(place.phase, place.timeline).moves()).collect();
    let of = |id: &str| places.iter().find(|place| place.phase.id == id);
    let found: Vec<(&Place<'_>, &Finding)> =
        found.into_iter().filter_map(|finding| Some((of(finding.phase.as_deref()?)?, finding))).collect();
    // Of the gravest, one in which the device moved data shows more.
    let gravest = found.first().and_then(|(_, finding)| finding.severity);
    let shows_both = |(place, finding): &&(&Place<'_>, &Finding)| {
        finding.severity == gravest && Flow::of(place.phase, place.timeline).reaches_device()
    };
    let worst =
        found.iter().find(shows_both).or_else(|| found.first()).map(|(place, finding)| (*place, Some(*finding)));
    let (place, finding) = worst.or_else(|| Some((places.first()?, None)))?;
    let name = phases.name(place.phase);
    let axis = TimeAxis::new(place.timeline, place.phase.window);
    let flow = Flow::of(place.phase, place.timeline);
    let tool = if run.parsed.tool.is_empty() { "the tool" } else { run.parsed.tool.as_str() };
    let notes = notes(place.phase, &axis, tool);
    let full_name = format!("Calls and device of {name}, with the clock of {}", crate::escape::terminal(tool));
    Some((
        format!("What happened: {name}"),
        html! {
            div.picture {
                (flow.draw("picture", &full_name, &axis, Size::wide(HEIGHT), &notes))
                div {
                    (said(run, place.phase, lookup))
                    @if let Some(finding) = finding {
                        p { (prose(finding.message.sentence())) " (" (anchors.links(std::slice::from_ref(&finding.code))) ")" }
                        @if !finding.meaning.is_empty() { p { (prose(&finding.meaning)) } }
                    }
                    (timeline::legend(&axis))
                    p.remark { a href={ "#" (Phases::id(place.index)) } { "All charts of " (name) } }
                }
            }
        },
    ))
}

/// The first rate of the phase: what the tool says, and what is honest.
fn said(run: &JudgedRun, phase: &Phase, lookup: &Lookup<'_>) -> Markup {
    let Some(claim) = run.parsed.claims.iter().find(|claim| claim.phase == phase.id && claim.metric.is_rate(false))
    else {
        return html! {};
    };
    let honest = lookup.judged(claim).and_then(|judged| judged.honest(claim));
    let scale = Scale::of([claim.value].into_iter().chain(honest));
    let [says, did] = heads(run, &[]);
    html! {
        dl.pair-of-figures {
            div { dt { (crate::escape::terminal(&says)) } dd { (scale.show(claim.value)) } }
            div {
                dt { (did) }
                dd { @match honest { Some(value) => (scale.show(value)), None => "not known" } }
            }
        }
    }
}

/// The end of the tool's clock, and the moment from which the data was durable.
fn notes(phase: &Phase, axis: &TimeAxis<'_>, tool: &str) -> Vec<Note> {
    let Some(window) = phase.window else { return Vec::new() };
    let tool = crate::escape::clipped(tool, 16);
    let stops = format!("{tool}'s clock stops here");
    let durable_ns = phase.facts.complete(FactName::DurableSpan).ok().filter(|span| span.is_finite() && *span > 0.0);
    let durable_ns = durable_ns.map(|span| window.start_ns.saturating_add(span as u64));
    let range = axis.axis().range;
    let length = range.end - range.start;
    match durable_ns {
        Some(at_ns) if (axis.at(at_ns) - axis.at(window.end_ns)).abs() > CLOSE * length => {
            vec![Note { at_ns: window.end_ns, words: stops }, Note { at_ns, words: "data on disk here".to_owned() }]
        }
        Some(_) => vec![Note { at_ns: window.end_ns, words: format!("{stops}, data on disk") }],
        None => vec![Note { at_ns: window.end_ns, words: stops }],
    }
}
