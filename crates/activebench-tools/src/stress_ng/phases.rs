//! Finds the files of the stressor `hdd` in the observed calls.
//!
//! An instance opens a file, deletes its name at once, writes and reads it, and begins again with another file. Before
//! the first write it makes calls with invalid arguments, which fail by intent: they are outside of the parts.

use activebench_model::activity::{Activity, CallSpan, Pass, Step, StepKind};
use activebench_model::claim::Parsed;
use activebench_model::phase::{Direction, Mechanism, Part, PartEnd, Pattern, Phase, Promise, Submission, Window};

use super::options::Options;
use super::stressors::of_storage;
use crate::adapter::Plan;
use crate::clocked::end_ns;
use crate::syncs::last_component;

/// The stressor, and the id of its phase.
pub(super) const HDD: &str = "hdd";
/// Begin of the names of its files.
const FILE: &str = "stress-ng-hdd-";

/// Returns the plan of a command.
pub(super) fn plan(options: &Options) -> Plan {
    let mut plan = Plan::default();
    plan.phases.extend(options.instances.map(|_| phase(options)));
    if !options.others.is_empty() || plan.phases.is_empty() {
        plan.notes.push("only the figures of the stressor hdd can be verified".to_owned());
    }
    plan
}

fn phase(options: &Options) -> Phase {
    let promised = [
        ("direct", Mechanism::DirectIo),
        ("sync", Mechanism::SyncWrites),
        ("dsync", Mechanism::DataSyncWrites),
        ("fsync", Mechanism::SyncInsideClock),
        ("fdatasync", Mechanism::SyncInsideClock),
        ("syncfs", Mechanism::SyncInsideClock),
    ];
    let promise = |(mode, mechanism): (&str, Mechanism)| Promise { option: format!("--hdd-opts {mode}"), mechanism };
    let is_random = options.modes.iter().any(|mode| mode.ends_with("-rnd"));
    Phase {
        pattern: if is_random { Pattern::Unknown } else { Pattern::Sequential },
        block_bytes: Some(options.write_bytes).filter(|bytes| *bytes > 0),
        size_bytes: options.size_bytes,
        requested_tasks: options.instances.unwrap_or(1).max(1),
        clock: "first write of the first file to the close of the last".to_owned(),
        submission: Submission::Synchronous,
        promises: promised.into_iter().filter(|(mode, _)| options.has(mode)).map(promise).collect(),
        time_limit_ns: options.timeout_ns,
        ..Phase::planned(HDD, "hdd", Direction::Mixed)
    }
}

/// See [`crate::Adapter::phases`].
pub(super) fn phases(options: &Options, parsed: &Parsed, activity: &Activity) -> Vec<Phase> {
    let mut phases: Vec<Phase> = Vec::new();
    for claim in &parsed.claims {
        if phases.iter().any(|phase| phase.id == claim.phase) {
            continue;
        }
        match of_storage(&claim.phase) {
            Some(other) => phases.push(Phase {
                clock: "life of the stressor".to_owned(),
                incomplete: Some(other.why.to_owned()),
                ..Phase::planned(other.name, other.name, Direction::Mixed)
            }),
            None if options.instances.is_some() => phases.push(found(options, activity)),
            None => {}
        }
    }
    phases
}

/// Returns the phase of the stressor `hdd` with its parts.
fn found(options: &Options, activity: &Activity) -> Phase {
    let mut phase = phase(options);
    phase.parts =
        activity.passes_named(|name| last_component(name).starts_with(FILE)).into_iter().filter_map(part).collect();
    let start_ns = phase.parts.iter().map(|part| part.start_ns).min();
    let end_ns = phase.parts.iter().map(end_ns).max();
    phase.window = start_ns.zip(end_ns).map(|(start_ns, end_ns)| Window { start_ns, end_ns });
    if phase.parts.is_empty() {
        let why =
            if activity.passes.is_empty() { "no calls were observed" } else { "no file of the stressor was observed" };
        phase.incomplete = Some(why.to_owned());
    }
    phase
}

/// Returns the part of a file, from the first call that moved data to the close; `None` where none did.
fn part(pass: &Pass) -> Option<Part> {
    let moved = |step: &&Step| matches!(step.kind, StepKind::Read | StepKind::Write) && step.bytes > 0;
    let start_ns = pass.steps.iter().find(moved)?.start_ns;
    let last_data_ns = pass.steps.iter().filter(moved).map(|step| step.end_ns).max()?;
    let last_ns = pass.steps.iter().map(|step| step.last_end_ns).max()?;
    let close_ns = pass.close.map(|close| close.end_ns);
    let last_sync = pass.steps.iter().filter(|step| step.kind == StepKind::Sync).flat_map(|step| &step.head);
    let last_sync: Option<CallSpan> = last_sync.map(|call| call.span).rfind(|span| span.returned >= 0);
    Some(Part {
        tgid: pass.tgid,
        tids: Vec::new(),
        fd: pass.fd,
        file: pass.file,
        start_ns,
        end: PartEnd::At(close_ns.unwrap_or(last_ns).max(last_ns)),
        last_data_ns,
        sync_inside: last_sync.map(Box::new),
        sync_after: None,
        close_ns,
    })
}
