//! Counters: rates of the passes, and dirty pages of the host.

use std::io;

use activebench_model::course::{Course, CourseName, CourseSeries};
use activebench_model::readings::Watched;
use activebench_model::report::JudgedRun;

use super::event::Trace;
use super::{HOST, PHASES};

/// Rates that are drawn, if a pass has them.
const RATES: [CourseName; 4] =
    [CourseName::CallReadRate, CourseName::CallWriteRate, CourseName::DeviceReadRate, CourseName::DeviceWriteRate];

pub(super) fn write(run: &JudgedRun, trace: &mut Trace<'_>) -> io::Result<()> {
    for course in &run.courses {
        for series in RATES.iter().filter_map(|name| course.series(*name)) {
            rate(run.manifest.clocks.started_ns, course, series, trace)?;
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

fn rate(started_ns: u64, course: &Course, series: &CourseSeries, trace: &mut Trace<'_>) -> io::Result<()> {
    if !series.values.iter().flatten().any(|value| *value > 0.0) {
        return Ok(());
    }
    let name = format!("{}: {}", words(series.name), course.phase);
    let mut at_ns = course.start_ns;
    for value in &series.values {
        // The time series starts a little before its pass, possibly before the run.
        let end_ns = at_ns.saturating_add(course.step_ns);
        if let Some(value) = value.filter(|value| value.is_finite() && end_ns > started_ns) {
            trace.counter(PHASES, &name, "bytes_per_sec", at_ns, value)?;
        }
        at_ns = end_ns;
    }
    // A counter keeps its value until the next one. Without this zero the last value would extend to the end of the
    // trace.
    trace.counter(PHASES, &name, "bytes_per_sec", at_ns, 0.0)
}

fn words(name: CourseName) -> &'static str {
    match name {
        CourseName::CallReadRate => "read by calls",
        CourseName::CallWriteRate => "written by calls",
        CourseName::DeviceReadRate => "read from the device",
        CourseName::DeviceWriteRate => "written to the device",
        other => other.as_str(),
    }
}
