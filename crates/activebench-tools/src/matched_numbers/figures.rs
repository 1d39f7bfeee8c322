//! The figures of passes that a number can be, and those that it agrees with.

use activebench_model::direction::Direction;
use activebench_model::observed_pass::{ObservedPass, ObservedWindow};
use activebench_model::phase::NameOperation;
use activebench_model::units::Unit;

use super::{Candidate, Fit, TOLERANCE, Target, is_amount, is_time};
use crate::printed_numbers::{Counted, OfTask, Operation, PrintedNumber};

/// Returns the figures of the passes with which a number can agree: of what ended before it was printed, and began
/// `since_ns` if that is given.
pub(super) fn targets(candidate: &Candidate, passes: &[ObservedPass], since_ns: Option<u64>) -> Vec<Target> {
    let number = &candidate.number;
    let is_of_files = matches!(number.counted, Counted::Files | Counted::Creates | Counted::Deletes);
    // Times and numbers of files are no claims, and support others.
    let supports = is_time(number) || number.unit == Unit::Count && is_of_files;
    if candidate.metric.is_none() && !supports || candidate.latency.is_some() {
        return Vec::new();
    }
    // Files with data are counted by their data.
    let has_data = |named: &ObservedPass| {
        let is_over = |pass: &&ObservedPass| {
            let (own, other) = (&pass.windows[0], &named.windows[0]);
            pass.direction == Direction::Write && own.start_ns < other.end_ns && other.start_ns < own.end_ns
        };
        passes.iter().filter(is_over).any(|pass| pass.opens * 2 >= named.calls)
    };
    let is_of = |pass: &ObservedPass| match (pass.names, number.counted) {
        (Some(NameOperation::Create), Counted::Creates) => true,
        (Some(NameOperation::Create), Counted::Files) => !has_data(pass),
        (Some(NameOperation::Delete), Counted::Deletes) => true,
        (Some(_), _) | (None, Counted::Creates | Counted::Deletes) => false,
        (None, _) => number.direction.is_none_or(|direction| pass.direction == direction),
    };
    let is_inside = |span: &ObservedWindow| {
        candidate.printed_ns.is_none_or(|at_ns| span.end_ns <= at_ns)
            && since_ns.is_none_or(|since_ns| span.start_ns >= since_ns)
    };
    let mut targets = Vec::new();
    for (place, pass) in passes.iter().enumerate().filter(|(_, pass)| is_of(pass)) {
        let Some(calls) = calls_of_operation(number, pass) else { continue };
        let operations = pass.calls as f64 / calls as f64;
        if number.unit == Unit::BytesPerSec && is_inside(&pass.windows[0]) {
            for (clock, one) in pass.task_clocks.iter().enumerate() {
                let is_before = candidate.printed_ns.is_none_or(|at_ns| one.end_ns <= at_ns);
                let value = of_tasks(number.of_task, &one.rates).filter(|_| is_before);
                let (each_task, unsure) = (Some(clock), one.unsure);
                targets.extend(value.map(|value| Target { pass: place, window: 0, calls, each_task, value, unsure }));
            }
        }
        if number.of_task.is_some() {
            continue;
        }
        let windows = if is_amount(number.unit) { &pass.windows[..1] } else { &pass.windows[..] };
        for (window, span) in windows.iter().enumerate().filter(|(_, span)| is_inside(span)) {
            let seconds = span.duration_ns() as f64 / 1e9;
            let value = match (number.unit, number.counted) {
                (Unit::BytesPerSec, _) => pass.bytes as f64 / seconds,
                (Unit::OpsPerSec, _) => operations / seconds,
                (Unit::Ns, Counted::PerOperation) => seconds * 1e9 / operations,
                (Unit::Ns, _) => seconds * 1e9,
                (Unit::Bytes, _) => pass.bytes as f64,
                _ => operations,
            };
            if value.is_finite() && value > 0.0 {
                targets.push(Target { pass: place, window, calls, each_task: None, value, unsure: 0.0 });
            }
        }
    }
    targets
}

/// Returns a statistic of the rates of the processes, or their sum; `None` for one process.
fn of_tasks(statistic: Option<OfTask>, rates: &[f64]) -> Option<f64> {
    let sum: f64 = rates.iter().sum();
    Some(match (statistic, rates) {
        (_, []) => return None,
        (None, _) => sum,
        (Some(OfTask::Mean), _) => sum / rates.len() as f64,
        (Some(OfTask::Min), _) => rates.iter().copied().fold(f64::MAX, f64::min),
        (Some(OfTask::Max), _) => rates.iter().copied().fold(0.0, f64::max),
    })
}

/// Returns how many calls of a pass are one operation of a number; `None` if the pass has other operations.
fn calls_of_operation(number: &PrintedNumber, pass: &ObservedPass) -> Option<u64> {
    let is_of_operations = number.unit == Unit::OpsPerSec || number.counted == Counted::PerOperation;
    if pass.names.is_some() || !(is_of_operations || number.unit == Unit::Count) {
        return Some(1);
    }
    if number.counted == Counted::Files {
        // Files of one size, each with as many calls.
        let is_even = pass.calls.is_multiple_of(pass.opens) && pass.bytes.is_multiple_of(pass.opens);
        return is_even.then(|| pass.calls / pass.opens);
    }
    let Some(Operation { calls, call_bytes }) = number.operation.filter(|_| is_of_operations) else { return Some(1) };
    let is_own = call_bytes.iter().any(|bytes| pass.bytes == bytes * pass.calls);
    (is_own && calls > 0).then_some(calls)
}

/// Returns the figures with which a number agrees.
pub(super) fn fits(number: &PrintedNumber, targets: &[Target]) -> Vec<Fit> {
    let mut fits = Vec::new();
    for target in targets {
        for reading in &number.readings {
            let difference = (reading.value - target.value).abs();
            // An amount is counted, not measured.
            let most = (TOLERANCE - target.unsure).max(0.0);
            let tolerance = if is_amount(number.unit) { 0.0 } else { most * target.value };
            if difference <= reading.resolution + tolerance {
                fits.push(Fit { target: *target, reading: *reading, distance: difference / target.value });
            }
        }
    }
    fits
}
