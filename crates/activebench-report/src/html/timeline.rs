//! Events of a phase over time: one chart per kind of figure, all on the same axis. Each chart marks the tool's clock
//! and the syncs.

use activebench_model::fact::Completeness;
use activebench_model::phase::Window;
use activebench_model::timeline::{SyncMark, Timeline, TimelineFigure, TimelineSeries};
use activebench_model::units::Quantity;
use maud::{Markup, html};

use super::chart::{Axis, Chart, Scale, Shape, Size};
use super::figure::{Swatch, figure};
use super::svg::Ink;
use super::units::{Unitary, plain, unit_for};
use crate::wording::{count, list};

/// Height of a plot in the units of the drawing.
const HEIGHT: u32 = 110;
/// Height of the axis relative to the highest value.
const HEADROOM: f64 = 1.12;
/// Maximum syncs described in words.
const SYNCS_TOLD: usize = 4;

/// A chart of one or more series.
struct Panel {
    /// Suffix of its id.
    id: &'static str,
    name: &'static str,
    series: &'static [(TimelineFigure, Ink, &'static str)],
    /// Sentence used when every series is always zero.
    nothing: &'static str,
}

const PANELS: &[Panel] = &[
    Panel {
        id: "calls",
        name: "Calls",
        series: &[
            (TimelineFigure::CallReadRate, Ink::Read, "read"),
            (TimelineFigure::CallWriteRate, Ink::Write, "written"),
        ],
        nothing: "no call moved data",
    },
    Panel {
        id: "device",
        name: "Device",
        series: &[
            (TimelineFigure::DeviceReadRate, Ink::Read, "read"),
            (TimelineFigure::DeviceWriteRate, Ink::Write, "written"),
        ],
        nothing: "nothing of the phase's files was read or written there",
    },
    Panel {
        id: "cache",
        name: "Page cache",
        series: &[(TimelineFigure::CacheInsertedRate, Ink::Inserted, "entered it")],
        nothing: "nothing entered it",
    },
    Panel {
        id: "dirty",
        name: "Dirty pages of the host",
        series: &[(TimelineFigure::HostDirtyBytes, Ink::Dirty, "dirty")],
        nothing: "none",
    },
    Panel {
        id: "depth",
        name: "Queue depth at the device",
        series: &[(TimelineFigure::DeviceQueueDepth, Ink::Depth, "in flight")],
        nothing: "never a request in flight",
    },
];

/// States of the threads, from the bottom of the chart to its top.
const STATES: &[(TimelineFigure, Ink, &str)] = &[
    (TimelineFigure::UserRatio, Ink::User, "user mode"),
    (TimelineFigure::KernelRatio, Ink::Kernel, "kernel"),
    (TimelineFigure::IoWaitRatio, Ink::IoWait, "I/O wait"),
    (TimelineFigure::BlockedRatio, Ink::Blocked, "other waits"),
    (TimelineFigure::PreemptedRatio, Ink::Preempted, "waiting for a CPU"),
];

/// Time axis that all charts of a phase share. Its zero is the start of the tool's clock.
pub(super) struct TimeAxis<'run> {
    timeline: &'run Timeline,
    zero_ns: u64,
    window: Option<Window>,
    unit: Unitary,
}

impl<'run> TimeAxis<'run> {
    pub(super) fn new(timeline: &'run Timeline, window: Option<Window>) -> Self {
        let length_ns = timeline.step_ns as f64 * timeline.steps as f64;
        // 2 of a unit is easier to read than 0.002 of the next one.
        let unit = unit_for(activebench_model::units::Unit::Ns, length_ns / 2.0);
        Self { timeline, zero_ns: window.map_or(timeline.start_ns, |window| window.start_ns), window, unit }
    }

    /// Returns the position of a time.
    pub(super) fn at(&self, at_ns: u64) -> f64 {
        (at_ns as f64 - self.zero_ns as f64) / self.unit.size
    }

    /// Returns the position of the start of a step.
    pub(super) fn start_of(&self, step: usize) -> f64 {
        let since_ns = self.timeline.start_ns as f64 - self.zero_ns as f64;
        (since_ns + self.timeline.step_ns as f64 * step as f64) / self.unit.size
    }

    /// Returns the start of a step in words: `24.51 ms`.
    pub(super) fn told(&self, step: usize) -> String {
        self.moment(self.start_of(step))
    }

    /// Returns a position in words.
    pub(super) fn moment(&self, place: f64) -> String {
        let ns = place * self.unit.size;
        let sign = if ns < 0.0 { "-" } else { "" };
        format!("{sign}{}", Quantity::ns(ns.abs() as u64))
    }

    pub(super) fn unit_name(&self) -> &'static str {
        self.unit.name
    }

    pub(super) fn axis(&self) -> Axis<'static> {
        let range = self.start_of(0)..self.start_of(self.timeline.steps);
        Axis { range, scale: Scale::Linear, labels: 8, label: &plain }
    }

    /// Returns the marks of the tool's clock and the syncs, from the bottom to `top`.
    pub(super) fn marks(&self, bottom: f64, top: f64) -> Vec<Shape> {
        let ends = self.start_of(0)..self.start_of(self.timeline.steps);
        let within = |at_ns: u64| self.at(at_ns).clamp(ends.start, ends.end);
        let clock = self.window.map(|window| [(within(window.start_ns), bottom), (within(window.end_ns), top)]);
        let sync = |sync: &SyncMark| [(within(sync.start_ns), bottom), (within(sync.end_ns), top)];
        let syncs: Vec<_> = self.timeline.syncs.iter().map(sync).collect();
        vec![Shape::Boxes(Ink::Clock, clock.into_iter().collect()), Shape::Boxes(Ink::Sync, syncs)]
    }
}

/// Explains the marks in all charts of the phase, and lists the times of the syncs.
pub(super) fn legend(axis: &TimeAxis<'_>) -> Markup {
    let timeline = axis.timeline;
    let mut syncs: Vec<String> = timeline
        .syncs
        .iter()
        .take(SYNCS_TOLD)
        .map(|sync| {
            let lasted = Quantity::ns(sync.end_ns.saturating_sub(sync.start_ns));
            format!("{} at {} for {lasted}", sync.call, axis.moment(axis.at(sync.start_ns)))
        })
        .collect();
    let more = timeline.syncs.len().saturating_sub(SYNCS_TOLD) as u64 + timeline.syncs_left_out;
    if more > 0 {
        syncs.push(count(more as usize, "more sync"));
    }
    html! {
        p.legend {
            span { (Swatch::Box(Ink::Clock)) " the time that the tool's clock covers" }
            @if !timeline.syncs.is_empty() { span { (Swatch::Box(Ink::Sync)) " a sync of the phase's files" } }
        }
        p {
            "Times are counted from the start of the tool's clock. "
            @if syncs.is_empty() { "No sync of the phase's files was seen." }
            @else { "Syncs: " (crate::escape::terminal(&list(&syncs, syncs.len()))) "." }
        }
    }
}

/// Renders the charts over time, in the order of the data flow.
pub(super) fn charts(id: &str, phase: &str, axis: &TimeAxis<'_>) -> Markup {
    html! {
        @for panel in PANELS { (draw(id, phase, axis, panel)) }
        (states(id, phase, axis))
    }
}

/// Returns the known series, and the reasons why others are missing or partial.
fn known<'run>(
    timeline: &'run Timeline,
    wanted: &[(TimelineFigure, Ink, &'static str)],
) -> (Vec<(&'run TimelineSeries, Ink, &'static str)>, Vec<String>) {
    let mut known = Vec::new();
    let mut lacks: Vec<String> = Vec::new();
    for (name, ink, word) in wanted {
        let lack = match timeline.series(*name) {
            None => Some("not known".to_owned()),
            Some(series) => {
                let lack = lack(&series.completeness);
                let is_missing = matches!(series.completeness, Completeness::Missing(_));
                if !is_missing && series.values.len() == timeline.steps {
                    known.push((series, *ink, *word));
                }
                lack
            }
        };
        lacks.extend(lack.filter(|lack| !lacks.contains(lack)));
    }
    (known, lacks)
}

/// Returns the gap of a figure in words; `None` if it is complete.
pub(super) fn lack(completeness: &Completeness) -> Option<String> {
    match completeness {
        Completeness::Complete => None,
        Completeness::Partial(lost) => Some(format!("partial: {lost}")),
        Completeness::Missing(why) => Some(format!("not known: {why}")),
    }
}

/// Returns the first step with the highest value, and that value.
pub(super) fn highest(series: &TimelineSeries) -> Option<(usize, f64)> {
    let values = series.values.iter().enumerate().filter_map(|(step, value)| Some((step, (*value)?)));
    values.filter(|(_, value)| value.is_finite()).reduce(|most, next| if next.1 > most.1 { next } else { most })
}

fn draw(id: &str, phase: &str, axis: &TimeAxis<'_>, panel: &Panel) -> Markup {
    let (known, lacks) = known(axis.timeline, panel.series);
    let peaks: Vec<Option<(usize, f64)>> = known.iter().map(|(series, ..)| highest(series)).collect();
    let most = peaks.iter().flatten().map(|(_, value)| *value).fold(0.0, f64::max);
    if most <= 0.0 {
        let said = if lacks.is_empty() { panel.nothing.to_owned() } else { lacks.join("; ") };
        return html! { p { b { (panel.name) } ": " (crate::escape::terminal(&said)) "." } };
    }
    let quantity = known[0].0.name.unit();
    let unit = unit_for(quantity, most);
    let told = known.iter().zip(&peaks).map(|((series, _, word), peak)| match peak {
        Some((step, value)) if *value > 0.0 => {
            let value = Quantity { value: *value, unit: series.name.unit() };
            format!("{word}: at most {value}, at {}", axis.told(*step))
        }
        _ => format!("{word}: nothing"),
    });
    let says = told.chain(lacks).collect::<Vec<_>>().join("; ");
    let says = crate::escape::terminal(&says);
    let top = most / unit.size * HEADROOM;
    let mut shapes = axis.marks(0.0, top);
    let drawn: Vec<_> =
        known.iter().zip(&peaks).filter(|(_, peak)| peak.is_some_and(|(_, value)| value > 0.0)).collect();
    for ((series, ink, _), _) in &drawn {
        for run in steps(axis, &series.values, |value| value / unit.size) {
            let (first, last) = (run[0].0, run[run.len() - 1].0);
            let area = std::iter::once((first, 0.0)).chain(run.iter().copied()).chain([(last, 0.0)]).collect();
            shapes.push(Shape::Area(*ink, area));
            shapes.push(Shape::Line(*ink, run));
        }
    }
    let name = format!("{} of {phase} over time", panel.name);
    let chart_id = format!("{id}-{}", panel.id);
    let label = |value: f64| plain(value);
    let chart = Chart {
        id: &chart_id,
        name: &name,
        says: &says,
        size: Size::wide(HEIGHT),
        x: axis.axis(),
        y: Axis { range: 0.0..top, scale: Scale::Linear, labels: 4, label: &label },
        shapes,
    };
    let legend: Vec<(Swatch, &str)> = match panel.series {
        [_] => Vec::new(),
        _ => drawn.iter().map(|((_, ink, word), _)| (Swatch::Line(*ink), *word)).collect(),
    };
    let units = match unit.name {
        "" => format!("over {}", axis.unit_name()),
        name => format!("{name} over {}", axis.unit_name()),
    };
    figure(panel.name, &units, &legend, &says, chart.draw())
}

/// Returns the values as step outlines, one per run of known values.
pub(super) fn steps(axis: &TimeAxis<'_>, values: &[Option<f64>], height: impl Fn(f64) -> f64) -> Vec<Vec<(f64, f64)>> {
    let mut runs: Vec<Vec<(f64, f64)>> = Vec::new();
    let mut is_open = false;
    for (step, value) in values.iter().enumerate() {
        let Some(value) = value.filter(|value| value.is_finite()) else {
            is_open = false;
            continue;
        };
        if !is_open {
            runs.push(Vec::new());
            is_open = true;
        }
        let (from, to, height) = (axis.start_of(step), axis.start_of(step + 1), height(value));
        runs.last_mut().expect("one is open").extend([(from, height), (to, height)]);
    }
    runs
}

/// Renders the distribution of the threads' time, with the states stacked.
fn states(id: &str, phase: &str, axis: &TimeAxis<'_>) -> Markup {
    const NAME: &str = "Where the threads' time went";
    let (known, lacks) = known(axis.timeline, STATES);
    let is_whole = known.len() == STATES.len();
    let peaks: Vec<Option<(usize, f64)>> = known.iter().map(|(series, ..)| highest(series)).collect();
    if !is_whole || peaks.iter().all(Option::is_none) {
        let said = if lacks.is_empty() { "no thread of it was seen".to_owned() } else { lacks.join("; ") };
        return html! { p { b { (NAME) } ": " (crate::escape::terminal(&said)) "." } };
    }
    let told = known.iter().zip(&peaks).map(|((.., word), peak)| match peak {
        Some((step, value)) if *value > 0.0 => {
            format!("{word}: at most {}, at {}", Quantity::ratio(*value), axis.told(*step))
        }
        _ => format!("{word}: never"),
    });
    let says = crate::escape::terminal(&told.chain(lacks).collect::<Vec<_>>().join("; "));
    let mut below = vec![0.0; axis.timeline.steps];
    let mut shapes = axis.marks(0.0, 100.0);
    for (series, ink, _) in &known {
        let above: Vec<Option<f64>> =
            series.values.iter().zip(&below).map(|(value, below)| value.map(|value| below + value)).collect();
        let lower: Vec<Option<f64>> =
            series.values.iter().zip(&below).map(|(value, below)| value.map(|_| *below)).collect();
        let outline = |values: &[Option<f64>]| steps(axis, values, |value| (value * 100.0).clamp(0.0, 100.0));
        for (top, bottom) in outline(&above).into_iter().zip(outline(&lower)) {
            let area = top.iter().copied().chain(bottom.into_iter().rev()).collect();
            shapes.push(Shape::Area(*ink, area));
            shapes.push(Shape::Line(*ink, top));
        }
        for (below, above) in below.iter_mut().zip(above) {
            *below = above.unwrap_or(*below);
        }
    }
    let name = format!("{NAME} in {phase}");
    let chart_id = format!("{id}-states");
    let chart = Chart {
        id: &chart_id,
        name: &name,
        says: &says,
        size: Size::wide(HEIGHT),
        x: axis.axis(),
        y: Axis { range: 0.0..100.0, scale: Scale::Linear, labels: 4, label: &plain },
        shapes,
    };
    let legend: Vec<(Swatch, &str)> = STATES.iter().rev().map(|(_, ink, word)| (Swatch::Area(*ink), *word)).collect();
    figure(NAME, &format!("% over {}", axis.unit_name()), &legend, &says, chart.draw())
}

/// Renders every figure of the charts over time, step by step.
pub(super) fn table(axis: &TimeAxis<'_>) -> Markup {
    let wanted = |series: &&TimelineSeries| {
        series.values.len() == axis.timeline.steps && series.values.iter().flatten().any(|value| *value != 0.0)
    };
    let series: Vec<&TimelineSeries> = axis.timeline.series.iter().filter(wanted).collect();
    if series.is_empty() {
        return html! {};
    }
    html! {
        details.figures.steps {
            summary { "The figures of these charts, step by step" }
            div.wide tabindex="0" role="region" aria-label="Figures step by step" {
                table {
                    thead {
                        tr {
                            th scope="col" { "from, " (axis.unit_name()) }
                            @for series in &series { th scope="col" { (series.name.as_str()) } }
                        }
                    }
                    tbody {
                        @for step in 0..axis.timeline.steps {
                            tr {
                                th scope="row" { (format!("{:.3}", axis.start_of(step))) }
                                @for series in &series {
                                    td {
                                        @if let Some(value) = series.values[step] {
                                            (Quantity { value, unit: series.name.unit() })
                                        }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}
