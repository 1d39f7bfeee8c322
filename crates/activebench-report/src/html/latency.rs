//! Latencies of calls and requests: one histogram each, on the same time axis so that both can be compared.

use activebench_model::fact::Completeness;
use activebench_model::timeline::{LatencyBucket, LatencyHistogram, LatencyOf, Timeline};
use activebench_model::units::{Quantity, Unit};
use maud::{Markup, html};

use super::chart::{Axis, Chart, Scale, Shape, Size};
use super::figure::figure;
use super::svg::Ink;
use super::timeline::lack;
use super::units::short;

/// Height of a plot in the units of the drawing.
const HEIGHT: u32 = 110;
/// Start of the axis of counts: below 1, so that a single count is visible.
const LEAST: f64 = 0.6;
/// Maximum rows of a table of buckets.
const ROWS: usize = 120;

/// The histograms of a phase.
pub(super) fn charts(id: &str, phase: &str, timeline: &Timeline) -> Markup {
    let all = || timeline.latencies.iter().flat_map(|histogram| &histogram.buckets).filter(|bucket| bucket.count > 0);
    let least = all().map(|bucket| bucket.from_ns.max(1)).min().unwrap_or(1);
    let most = all().map(|bucket| bucket.to_ns).max().unwrap_or(10);
    // The axis covers whole decades, so that both ends have labels.
    let first = 10_f64.powf((least as f64).log10().floor());
    let last = 10_f64.powf((most as f64).log10().ceil()).max(first * 10.0);
    html! {
        @for histogram in &timeline.latencies { (draw(id, phase, histogram, first, last)) }
    }
}

fn draw(id: &str, phase: &str, histogram: &LatencyHistogram, first: f64, last: f64) -> Markup {
    let (name, short_id, ink, noun) = match histogram.of {
        LatencyOf::Calls => ("Latency of calls", "call-latency", Ink::Calls, "calls"),
        LatencyOf::Device => ("Latency at the device", "device-latency", Ink::Device, "requests"),
    };
    let lack = lack(&histogram.completeness);
    let is_missing = matches!(histogram.completeness, Completeness::Missing(_));
    let filled: Vec<&LatencyBucket> = histogram.buckets.iter().filter(|bucket| bucket.count > 0).collect();
    let (Some(highest), false) = (filled.iter().max_by_key(|bucket| bucket.count), is_missing) else {
        let said = lack.unwrap_or_else(|| format!("no {noun} ended while the tool's clock ran"));
        return html! { p { b { (name) } ": " (crate::escape::terminal(&said)) "." } };
    };
    let span = |bucket: &LatencyBucket| format!("{} to {}", Quantity::ns(bucket.from_ns), Quantity::ns(bucket.to_ns));
    let whole = format!(
        "from {} to {}, most often {}: {} {noun}",
        Quantity::ns(filled[0].from_ns),
        Quantity::ns(filled[filled.len() - 1].to_ns),
        span(highest),
        highest.count,
    );
    let says = crate::escape::terminal(&std::iter::once(whole).chain(lack).collect::<Vec<_>>().join("; "));
    let top = 10_f64.powf((highest.count as f64 * 1.2).log10().ceil()).max(10.0);
    let bar =
        |bucket: &&LatencyBucket| [(bucket.from_ns.max(1) as f64, LEAST), (bucket.to_ns as f64, bucket.count as f64)];
    let chart_id = format!("{id}-{short_id}");
    let full_name = format!("{name} of {phase}");
    let label = |value: f64| short(value, Unit::Ns);
    let count = |value: f64| match value {
        value if value >= 1e9 => format!("{} G", value / 1e9),
        value if value >= 1e6 => format!("{} M", value / 1e6),
        value if value >= 1e3 => format!("{} k", value / 1e3),
        value => format!("{value}"),
    };
    let chart = Chart {
        id: &chart_id,
        name: &full_name,
        says: &says,
        size: Size::wide(HEIGHT),
        x: Axis { range: first..last, scale: Scale::Log, labels: 9, label: &label },
        y: Axis { range: LEAST..top, scale: Scale::Log, labels: 4, label: &count },
        shapes: vec![Shape::Boxes(ink, filled.iter().map(bar).collect())],
    };
    let units = format!("number of {noun} inside the clock, both axes by powers of ten");
    html! {
        (figure(name, &units, &[], &says, chart.draw()))
        @if filled.len() <= ROWS {
            details.figures {
                summary { (name) " in figures" }
                div.wide tabindex="0" role="region" aria-label=(full_name) { table {
                    thead { tr { th scope="col" { "from" } th scope="col" { "below" } th scope="col" { (noun) } } }
                    tbody {
                        @for bucket in &filled {
                            tr {
                                td { (Quantity::ns(bucket.from_ns)) }
                                td { (Quantity::ns(bucket.to_ns)) }
                                td { (bucket.count) }
                            }
                        }
                    }
                } }
            }
        }
    }
}
