//! The passes of sysbench fileio in the observed calls.
//!
//! The main thread opens all files, starts its clock, prints `Threads started!` and releases the threads. These make the
//! requests and the last syncs. When all have ended, the main thread reads its clock for the rates and prints
//! `File operations:`. The clock is read between the end of the threads and that message. Where between them is not
//! observed: the end of the window follows the printed rate there, and no further.

use std::collections::BTreeSet;

use activebench_model::activity::{Activity, OutputWrite, Pass, Step, StepKind};
use activebench_model::claim::{Metric, Parsed};
use activebench_model::phase::{Part, PartEnd, Pattern, Phase, Window};

use super::options::{Options, Task, Way};
use super::plan;
use crate::syncs::{Syncs, last_component, moves_data};

/// Bytes of `Threads started!` with its line ends.
const STARTED_BYTES: i64 = 18;

/// See [`crate::Adapter::phases`].
pub(super) fn phases(options: &Options, parsed: &Parsed, activity: &Activity) -> Vec<Phase> {
    let mut phases = plan::phases(options);
    if options.resets {
        return incomplete(phases, "--report-checkpoints resets the counters while the threads run");
    }
    let passes = activity.passes_named(|name| last_component(name).starts_with("test_file."));
    let window = match options.task {
        Some(Task::Prepare) => prepared(&passes),
        _ => run(options, parsed, &passes, activity),
    };
    let Some(window) = window else {
        return incomplete(phases, "no request on the test files was observed");
    };
    let syncs = Syncs::new(activity, passes.iter().copied(), moves_data, last_component);
    let working = working_threads(options, &passes, activity);
    for phase in &mut phases {
        phase.window = Some(window);
        phase.requested_tasks = working.unwrap_or(phase.requested_tasks);
        // A time limit ends it, not the end of the files.
        if phase.time_limit_ns.is_some() && phase.pattern == Pattern::Sequential {
            let moved: u64 =
                passes.iter().flat_map(|pass| &pass.steps).filter(|step| is_data(step)).map(|step| step.bytes).sum();
            let loops = phase.region_bytes.filter(|bytes| *bytes > 0).map_or(1, |bytes| moved.div_ceil(bytes));
            phase.loops = u32::try_from(loops.max(1)).unwrap_or(u32::MAX);
        }
        phase.parts = passes
            .iter()
            .filter(|pass| carries(pass, options))
            .flat_map(|pass| parts(pass, window, options, &syncs))
            .collect();
    }
    phases
}

/// Returns the number of threads that made requests, where the threads share a number of requests: one that comes when the
/// others have made them has none. `None` where fewer threads were started than the command asks for.
fn working_threads(options: &Options, passes: &[&Pass], activity: &Activity) -> Option<u32> {
    if options.events == 0 || options.task != Some(Task::Run) {
        return None;
    }
    let tgid = passes.iter().find(|pass| carries(pass, options))?.tgid;
    let started = activity.tasks.iter().filter(|task| task.tgid == tgid && task.tid != tgid).count();
    let steps = passes.iter().flat_map(|pass| &pass.steps).filter(|step| is_data(step));
    let working: BTreeSet<u32> = steps.flat_map(|step| step.tids.iter().copied()).collect();
    let working = u32::try_from(working.len()).ok().filter(|working| *working > 0)?;
    (started >= options.threads as usize).then_some(working.min(options.threads))
}

fn incomplete(phases: Vec<Phase>, why: &str) -> Vec<Phase> {
    phases.into_iter().map(|phase| Phase { incomplete: Some(why.to_owned()), ..phase }).collect()
}

fn is_data(step: &Step) -> bool {
    matches!(step.kind, StepKind::Read | StepKind::Write) && step.calls > 0
}

/// Returns true if requests were made on a descriptor.
fn carries(pass: &Pass, options: &Options) -> bool {
    match options.way {
        Way::Mapped if options.task == Some(Task::Run) => pass.steps.iter().any(|step| step.kind == StepKind::Map),
        _ => pass.steps.iter().any(is_data),
    }
}

/// Returns the clock of `prepare`: around the files that it wrote.
fn prepared(passes: &[&Pass]) -> Option<Window> {
    let written = || passes.iter().filter(|pass| pass.steps.iter().any(is_data));
    let start_ns = written().filter_map(|pass| pass.open).map(|open| open.start_ns).min()?;
    let end_ns = written().filter_map(|pass| pass.close).map(|close| close.end_ns).max()?;
    Some(Window { start_ns, end_ns: end_ns.max(start_ns) })
}

/// Returns the clock of `run`.
fn run(options: &Options, parsed: &Parsed, passes: &[&Pass], activity: &Activity) -> Option<Window> {
    let calls =
        || passes.iter().flat_map(|pass| &pass.steps).filter(|step| is_data(step) || step.kind == StepKind::Sync);
    let mapped = || passes.iter().flat_map(|pass| &pass.steps).filter(|step| step.kind == StepKind::Map);
    let tgid = passes.iter().find(|pass| carries(pass, options))?.tgid;
    let of_main = |write: &&OutputWrite| write.tgid == tgid && write.fd == 1;
    let prints = || activity.output_writes.iter().filter(of_main);
    let first_ns = match options.way {
        // No call shows the requests: the mappings are made before them.
        Way::Mapped => mapped().map(|step| step.last_end_ns).max()?,
        _ => calls().filter(|step| is_data(step)).map(|step| step.start_ns).min()?,
    };
    let is_start = |write: &&OutputWrite| write.span.returned == STARTED_BYTES;
    let started = match options.way {
        Way::Mapped => prints().find(|write| is_start(write) && write.span.start_ns >= first_ns),
        _ => prints().filter(is_start).take_while(|write| write.span.start_ns <= first_ns).last().or_else(|| {
            // A thread was faster than the message.
            prints().find(is_start)
        }),
    };
    let start_ns = match (options.way, started) {
        (Way::Mapped, started) => started?.span.start_ns,
        (_, Some(started)) => started.span.start_ns.min(first_ns),
        (_, None) => first_ns,
    };
    let last_ns = calls().map(|step| step.end_ns).max().unwrap_or(start_ns).max(start_ns);
    // The threads end before the clock is read.
    let workers = activity.tasks.iter().filter(|task| task.tgid == tgid && task.tid != tgid);
    let reported = |from_ns: u64| {
        let after = prints().filter(move |write| write.span.start_ns >= from_ns && write.span.returned > STARTED_BYTES);
        after.map(|write| write.span.start_ns).min()
    };
    let Some(latest_ns) = reported(last_ns) else {
        return Some(Window { start_ns, end_ns: last_ns });
    };
    let ended = workers.filter_map(|task| task.end_ns).filter(|end_ns| *end_ns <= latest_ns).max();
    let earliest_ns = ended.unwrap_or(last_ns).max(last_ns);
    let latest_ns = reported(earliest_ns).unwrap_or(latest_ns).max(earliest_ns);
    let end_ns = match implied_ns(parsed, passes) {
        Some(length_ns) => start_ns.saturating_add(length_ns).clamp(earliest_ns, latest_ns),
        None => latest_ns,
    };
    Some(Window { start_ns, end_ns })
}

/// Returns the time in which the observed requests have the printed rate.
fn implied_ns(parsed: &Parsed, passes: &[&Pass]) -> Option<u64> {
    let rates = parsed.claims.iter().filter(|claim| claim.metric == Metric::OperationRate);
    let fastest = rates.max_by(|one, other| one.value.value.total_cmp(&other.value.value))?;
    let kind = if fastest.phase == plan::READ { StepKind::Read } else { StepKind::Write };
    let steps = passes.iter().flat_map(|pass| &pass.steps).filter(|step| step.kind == kind);
    let requests: u64 = steps.map(|step| step.calls).sum();
    let seconds = requests as f64 / fastest.value.value;
    (seconds.is_finite() && seconds < 1e9).then_some((seconds * 1e9) as u64)
}

/// Returns the part of each thread in the requests on a descriptor.
fn parts(pass: &Pass, window: Window, options: &Options, syncs: &Syncs<'_>) -> Vec<Part> {
    let mut tids: Vec<u32> =
        pass.steps.iter().filter(|step| is_data(step)).flat_map(|step| step.tids.iter().copied()).collect();
    tids.sort_unstable();
    tids.dedup();
    let of_threads: Vec<Vec<u32>> = match options.threads > 1 && options.task == Some(Task::Run) && !tids.is_empty() {
        true => tids.into_iter().map(|tid| vec![tid]).collect(),
        false => vec![Vec::new()],
    };
    let last_data_ns = pass.steps.iter().filter(|step| is_data(step)).map(|step| step.end_ns).max();
    let last_data_ns = last_data_ns.unwrap_or(window.end_ns).min(window.end_ns);
    let inside = pass.steps.iter().filter(|step| step.kind == StepKind::Sync).flat_map(|step| &step.head);
    let sync_inside = inside
        .map(|call| call.span)
        .filter(|span| span.returned >= 0 && span.op.is_file_sync() && span.start_ns >= last_data_ns)
        .find(|span| span.end_ns <= window.end_ns);
    let sync_after = syncs.after(pass.file, window.end_ns, Some(pass));
    of_threads
        .into_iter()
        .map(|tids| Part {
            tgid: pass.tgid,
            tids,
            fd: pass.fd,
            file: pass.file,
            start_ns: window.start_ns,
            end: PartEnd::At(window.end_ns),
            last_data_ns,
            sync_inside: sync_inside.map(Box::new),
            sync_after: sync_after.map(Box::new),
            close_ns: pass.close.map(|close| close.end_ns),
        })
        .collect()
}
