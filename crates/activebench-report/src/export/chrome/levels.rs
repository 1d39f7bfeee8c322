//! Counters: rates of the passes, and dirty pages of the host.

use std::io;

use activebench_model::readings::Watched;
use activebench_model::report::JudgedRun;
use activebench_model::timeline::{Timeline, TimelineFigure, TimelineSeries};

use super::event::Trace;
use super::{HOST, PHASES};

/// Rates that are drawn, if a pass has them.
const RATES: [TimelineFigure; 4] = [
    TimelineFigure::CallReadRate,
    TimelineFigure::CallWriteRate,
    TimelineFigure::DeviceReadRate,
    TimelineFigure::DeviceWriteRate,
];

pub(super) fn write(run: &JudgedRun, trace: &mut Trace<'_>) -> io::Result<()> {
    for timeline in &run.timelines {
        for series in RATES.iter().filter_map(|name| timeline.series(*name)) {
            rate(run.manifest.clocks.started_ns, timeline, series, trace)?;
        }
    }
    let readings = run.manifest.host.readings.iter().flat_map(|readings| &readings.series);
    let mut dirty = readings.filter(|series| series.what == Watched::DirtyBytes).peekable();
    if dirty.peek().is_some() {
        trace.process(HOST, "host", HOST)?;
    }
    for series in dirty {
        // The first reading was made just before the run; it is drawn at the start of the run.
        for (at_ns, bytes) in &series.readings {
            trace.counter(HOST, "dirty pages", "bytes", *at_ns, *bytes as f64)?;
        }
    }
    Ok(())
}

fn rate(started_ns: u64, timeline: &Timeline, series: &TimelineSeries, trace: &mut Trace<'_>) -> io::Result<()> {
    if !series.values.iter().flatten().any(|value| *value > 0.0) {
        return Ok(());
    }
    let name = format!("{}: {}", words(series.name), timeline.phase);
    let mut at_ns = timeline.start_ns;
    for value in &series.values {
        // The time series starts a little before its pass, possibly before the run.
        let end_ns = at_ns.saturating_add(timeline.step_ns);
        if let Some(value) = value.filter(|value| value.is_finite() && end_ns > started_ns) {
            trace.counter(PHASES, &name, "bytes_per_sec", at_ns, value)?;
        }
        at_ns = end_ns;
    }
    // A counter keeps its value until the next one. Without this zero the last value would extend to the end of the
    // trace.
    trace.counter(PHASES, &name, "bytes_per_sec", at_ns, 0.0)
}

fn words(name: TimelineFigure) -> &'static str {
    match name {
        TimelineFigure::CallReadRate => "read by calls",
        TimelineFigure::CallWriteRate => "written by calls",
        TimelineFigure::DeviceReadRate => "read from the device",
        TimelineFigure::DeviceWriteRate => "written to the device",
        other => other.as_str(),
    }
}
