//! A row of small charts per phase: throughput over time, and the distribution of latencies. The full set is below.

use std::cmp::Reverse;

use activebench_model::fact::{Completeness, FactName};
use activebench_model::phase::{Direction, Phase};
use activebench_model::timeline::{LatencyHistogram, LatencyOf, Timeline};
use activebench_model::units::{Quantity, Unit};
use maud::{Markup, html};

use super::chart::{Axis, Chart, Scale, Shape, Size};
use super::figure::{Swatch, figure};
use super::flow::Flow;
use super::phases::{Phases, Place};
use super::prose::prose;
use super::svg::Ink;
use super::timeline::{TimeAxis, lack};
use super::units::short;
use crate::escape::{clipped, terminal as shown};
use crate::wording::count;

/// Phases with a row. The others have their charts in the full set.
const PHASES: usize = 4;
/// Height of a plot in the units of the drawing.
const HEIGHT: u32 = 104;
/// Longest sentence about the bottleneck, in characters; the full set has all of it.
const LIMIT: usize = 150;
/// Upper end of the axis of shares: 99.95 %.
const MOST_NINES: f64 = 3.3;
/// Share of the operations, and the words for it.
const MARKED: [(f64, &str); 3] = [(0.5, "p50"), (0.99, "p99"), (0.999, "p99.9")];

/// Renders the rows of the phases that matter most, in the order of the run.
pub(super) fn section(phases: &Phases<'_>) -> Markup {
    let mut places: Vec<Place<'_>> = phases.drawn().collect();
    let all = places.len();
    places.sort_by_key(|place| (Reverse(phases.severity(place.phase)), place.index));
    places.truncate(PHASES);
    places.sort_by_key(|place| place.index);
    html! {
        @if places.is_empty() { p { "No phase has a time series." } }
        div.tiles { @for place in &places { (tile(phases, place)) } }
        p.remark {
            @if all > places.len() { (count(all - places.len(), "further phase")) ", and all charts" } @else { "All charts" }
            ": " a href="#all-charts-and-facts" { "the full set" } "."
        }
    }
}

fn tile(phases: &Phases<'_>, place: &Place<'_>) -> Markup {
    let (id, name) = (format!("tile-{}", place.index + 1), phases.name(place.phase));
    let axis = TimeAxis::new(place.timeline, place.phase.window);
    let flow = Flow::of(place.phase, place.timeline);
    html! {
        section.tile aria-labelledby={ (id) "-h" } {
            h3 id={ (id) "-h" } { a href={ "#" (Phases::id(place.index)) } { (name) } }
            @if let Some(sentence) = phases.limit(place.phase) {
                p.remark { "Limit: " (prose(&clipped(&format!("{sentence}."), LIMIT))) }
            }
            div.pair {
                @if flow.moves() {
                    (flow.draw(&format!("{id}-flow"), &format!("Throughput of {name}"), &axis, Size::small(HEIGHT), &[]))
                } @else {
                    p.remark { "No data was moved, or it is not known how much." }
                }
                (latencies(&format!("{id}-latency"), &name, place.phase, place.timeline))
            }
        }
    }
}

/// Position of a share of the operations on the axis: 1 for 90 %, 2 for 99 %, 3 for 99.9 %.
fn nines(share: f64) -> f64 {
    (-(1.0 - share).log10()).clamp(0.0, MOST_NINES)
}

/// The share of the operations that take no longer, by powers of ten of the rest.
fn latencies(id: &str, phase_name: &str, phase: &Phase, timeline: &Timeline) -> Markup {
    let mut curves: Vec<(LatencyOf, Vec<(f64, f64)>)> = Vec::new();
    let mut lacks = Vec::new();
    for histogram in &timeline.latencies {
        let noun = match histogram.of {
            LatencyOf::Calls => "calls",
            LatencyOf::Device => "device",
        };
        lacks.extend(lack(&histogram.completeness).map(|lack| format!("{noun} {lack}")));
        curves.extend(curve(histogram).map(|curve| (histogram.of, curve)));
    }
    let ends = |pick: fn(f64, f64) -> f64| {
        curves.iter().flat_map(|(_, curve)| curve).map(|(latency, _)| *latency).reduce(pick)
    };
    let (Some(least), Some(most)) = (ends(f64::min), ends(f64::max)) else {
        let said = if lacks.is_empty() { "none was measured".to_owned() } else { lacks.join("; ") };
        return html! { p.remark { b { "Latency" } ": " (shown(&said)) "." } };
    };
    let percentiles = percentiles(phase);
    let marks = percentiles.iter().map(|(_, value, _)| *value);
    let (least, most) = (marks.clone().fold(least, f64::min), marks.fold(most, f64::max));
    let (first, last) = (10_f64.powf(least.max(1.0).log10().floor()), 10_f64.powf(most.log10().ceil()));
    let mut shapes = Vec::new();
    for (of, curve) in &curves {
        let ink = if *of == LatencyOf::Calls { Ink::Calls } else { Ink::Device };
        shapes.push(Shape::Line(ink, curve.clone()));
    }
    shapes.push(Shape::Dots(Ink::Calls, percentiles.iter().map(|(share, value, _)| (*value, nines(*share))).collect()));
    for (share, value, word) in &percentiles {
        shapes.push(Shape::Words((*value, nines(*share)), (*word).to_owned()));
    }
    let told = percentiles.iter().map(|(_, value, word)| format!("{word} {}", Quantity::ns(*value as u64)));
    let told = if percentiles.is_empty() {
        "percentiles of the calls are not known".to_owned()
    } else {
        format!("calls: {}", told.collect::<Vec<_>>().join(", "))
    };
    let says = shown(&std::iter::once(told).chain(lacks).collect::<Vec<_>>().join("; "));
    // Of many decades every other one has a label.
    let decades = |from: f64, to: f64| (to / from).log10().round() as i64;
    let is_crowded = decades(first, last) > 4;
    let label = |value: f64| match is_crowded && decades(first, value) % 2 == 1 {
        true => String::new(),
        false => short(value, Unit::Ns),
    };
    let share = |value: f64| match value {
        0.0 => "0 %".to_owned(),
        1.0 => "90 %".to_owned(),
        2.0 => "99 %".to_owned(),
        3.0 => "99.9 %".to_owned(),
        _ => String::new(),
    };
    let name = format!("Latencies of {phase_name}");
    let chart = Chart {
        id,
        name: &name,
        says: &says,
        size: Size::small(HEIGHT),
        x: Axis { range: first..last.max(first * 10.0), scale: Scale::Log, labels: 5, label: &label },
        y: Axis { range: 0.0..MOST_NINES, scale: Scale::Linear, labels: 4, label: &share },
        shapes,
    };
    let legend: Vec<(Swatch, &str)> = curves
        .iter()
        .map(|(of, _)| match of {
            LatencyOf::Calls => (Swatch::Line(Ink::Calls), "calls"),
            LatencyOf::Device => (Swatch::Line(Ink::Device), "device"),
        })
        .collect();
    figure("Latency", "share that took no longer", &legend, &says, chart.draw())
}

/// The upper ends of the buckets with the share up to there; `None` without latencies.
fn curve(histogram: &LatencyHistogram) -> Option<Vec<(f64, f64)>> {
    if matches!(histogram.completeness, Completeness::Missing(_)) {
        return None;
    }
    let all: f64 = histogram.buckets.iter().map(|bucket| bucket.count as f64).sum();
    let first = histogram.buckets.iter().find(|bucket| bucket.count > 0)?;
    let mut curve = vec![(first.from_ns.max(1) as f64, 0.0)];
    let mut below = 0.0;
    for bucket in histogram.buckets.iter().filter(|bucket| bucket.count > 0) {
        below += bucket.count as f64;
        curve.push((bucket.to_ns.max(1) as f64, nines(below / all)));
    }
    Some(curve)
}

/// The known percentiles of the calls: share, latency in nanoseconds, words. Empty for a mix of reads and writes, whose
/// percentiles are known by direction.
fn percentiles(phase: &Phase) -> Vec<(f64, f64, &'static str)> {
    let names = match phase.direction {
        Direction::Read => [FactName::ReadLatencyP50, FactName::ReadLatencyP99, FactName::ReadLatencyP999],
        Direction::Write => [FactName::WriteLatencyP50, FactName::WriteLatencyP99, FactName::WriteLatencyP999],
        Direction::Mixed | Direction::Discard | Direction::None => return Vec::new(),
    };
    let known = MARKED.into_iter().zip(names).filter_map(|((share, word), name)| {
        let value = phase.facts.complete(name).ok().filter(|value| value.is_finite() && *value >= 1.0)?;
        Some((share, value, word))
    });
    known.collect()
}
