//! Finds the writes of keys in the observed calls.
//!
//! With one thread and batches of one key, each operation is one write to RocksDB's log (`000004.log`), and with
//! `--sync` one sync behind it. db_bench prints each result when its benchmark has ended, which shows where the next
//! one begins. Any other benchmark has no call of its own for each operation.

use std::collections::{BTreeSet, HashSet};

use activebench_model::activity::{Activity, Pass, Shift, StepKind};
use activebench_model::claim::Parsed;
use activebench_model::output::ToolOutput;
use activebench_model::phase::{Direction, Mechanism, Part, Pattern, Phase, Promise, Submission, Window};

use super::options::Options;
use super::output::{FILLSYNC, Result as Printed, is_of_writes, results};
use crate::adapter::Plan;
use crate::clocked::part_within;
use crate::matched_numbers::PrintTimes;
use crate::syncs::last_component;

/// Returns the plan of a command.
pub(super) fn plan(options: &Options) -> Plan {
    let note = |text: &str| vec![text.to_owned()];
    if options.benchmarks.is_empty() {
        return Plan { phases: Vec::new(), notes: note("the command does not name its benchmarks") };
    }
    let mut seen = HashSet::new();
    let names = options.benchmarks.iter().filter(|name| is_of_writes(name) && seen.insert(name.as_str()));
    let phases = names.map(|name| phase(options, name, name, options.sync || name == FILLSYNC)).collect();
    Plan { phases, notes: note("benchmarks that do not only write keys have figures that cannot be verified") }
}

fn phase(options: &Options, id: &str, name: &str, is_synced: bool) -> Phase {
    let is_write = is_of_writes(name);
    let promise = Promise { option: "--sync".to_owned(), mechanism: Mechanism::SyncInsideClock };
    let unread = (!options.unread.is_empty()).then(|| format!("{} is not read", options.unread.join(", ")));
    Phase {
        pattern: if is_write { Pattern::Sequential } else { Pattern::Unknown },
        clock: "start of the threads to the end of the last".to_owned(),
        submission: if is_write { Submission::Synchronous } else { Submission::Unknown },
        promises: if is_write && is_synced { vec![promise] } else { Vec::new() },
        requested_tasks: options.threads.max(1),
        unread,
        ..Phase::planned(id, id, if is_write { Direction::Write } else { Direction::Mixed })
    }
}

/// See [`crate::Adapter::phases`].
pub(super) fn phases(options: &Options, output: &ToolOutput, parsed: &Parsed, activity: &Activity) -> Vec<Phase> {
    let claimed: HashSet<&str> = parsed.claims.iter().map(|claim| claim.phase.as_str()).collect();
    let times = PrintTimes::new(&activity.output_writes, output);
    let logs = activity.passes_named(is_log);
    let mut phases = Vec::new();
    let mut before_ns = Some(0);
    for own in results(options, output) {
        let printed_ns = times.of_line(output, &own.line.source());
        let span = before_ns.zip(printed_ns).map(|(start_ns, end_ns)| Window { start_ns, end_ns });
        before_ns = printed_ns;
        let mut operations = phase(options, &own.id, &own.name, own.is_synced);
        match parts(options, &own, span, &logs, activity) {
            Ok(parts) => {
                operations.window = window(&parts);
                operations.parts = parts;
            }
            Err(why) => operations.incomplete = Some(why),
        }
        let data = Phase {
            clock: operations.clock.clone(),
            incomplete: Some(
                "MB/s counts the bytes of keys and values, and the calls move those of records and blocks".to_owned(),
            ),
            ..Phase::planned(own.data_id(), format!("{}, keys and values", own.id), Direction::Mixed)
        };
        phases.extend([operations, data].into_iter().filter(|phase| claimed.contains(phase.id.as_str())));
    }
    phases
}

/// Returns true for the name of a log of RocksDB, `000004.log`.
fn is_log(name: &str) -> bool {
    let number = last_component(name).strip_suffix(".log").unwrap_or_default();
    !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns the parts of the logs that a benchmark wrote.
fn parts(
    options: &Options,
    own: &Printed,
    span: Option<Window>,
    logs: &[&Pass],
    activity: &Activity,
) -> Result<Vec<Part>, String> {
    let no_call = match own.name.as_str() {
        name if !is_of_writes(name) => Some("an operation of this benchmark has no call of its own"),
        _ if options.disable_wal => Some("without its log, RocksDB makes no call for an operation"),
        _ if options.threads != 1 => Some("RocksDB writes the keys of several threads with one call"),
        _ if options.batch != 1 => Some("RocksDB writes the keys of a batch with one call"),
        _ if activity.passes.is_empty() => Some("no calls were observed"),
        _ => None,
    };
    if let Some(why) = no_call {
        return Err(why.to_owned());
    }
    let span = span.ok_or("the times of its messages were not observed")?;
    let mut parts = Vec::new();
    for pass in logs {
        // Each benchmark has a thread of its own, which goes on with the log of the one before.
        let steps = pass.steps.iter().filter(|step| matches!(step.kind, StepKind::Write | StepKind::Sync));
        let shifts = steps.flat_map(|step| step.shifts().into_iter().map(move |shift| (step.kind, shift)));
        let is_inside = |(_, shift): &(StepKind, Shift)| shift.start_ns < span.end_ns && shift.end_ns > span.start_ns;
        let inside: Vec<(StepKind, Shift)> = shifts.filter(is_inside).collect();
        if inside.iter().any(|(_, shift)| shift.start_ns < span.start_ns || shift.end_ns > span.end_ns) {
            return Err("its writes cannot be distinguished from those of the benchmark beside it".to_owned());
        }
        let first = inside.iter().find(|(kind, shift)| *kind == StepKind::Write && shift.bytes > 0);
        let Some((_, first)) = first else { continue };
        let end_ns = inside.iter().map(|(_, shift)| shift.end_ns).max().unwrap_or(first.end_ns);
        // Of a thread that wrote to the log before or afterwards, nothing is known in this window.
        let threads: Option<BTreeSet<u32>> = inside.iter().map(|(_, shift)| shift.tid).collect();
        let is_other =
            |threads: &BTreeSet<u32>| pass.steps.iter().flat_map(|step| &step.tids).any(|tid| !threads.contains(tid));
        let threads = threads.filter(is_other);
        let part = part_within(pass, Window { start_ns: first.start_ns, end_ns });
        parts.extend(part.map(|part| Part { tids: threads.into_iter().flatten().collect(), ..part }));
    }
    if parts.is_empty() { Err("no write to its log was observed".to_owned()) } else { Ok(parts) }
}

fn window(parts: &[Part]) -> Option<Window> {
    let start_ns = parts.iter().map(|part| part.start_ns).min()?;
    Some(Window { start_ns, end_ns: parts.iter().map(crate::clocked::end_ns).max()?.max(start_ns) })
}
