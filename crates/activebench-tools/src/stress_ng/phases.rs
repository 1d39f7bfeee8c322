//! Finds the files of the stressor `hdd` in the observed calls.
//!
//! An instance opens a file, deletes its name at once, writes and reads it, and begins again with another file. Before
//! the first write it makes calls with invalid arguments, which fail by intent: they are outside of the parts.

use activebench_model::activity::{Activity, CallSpan, Pass, Step, StepKind};
use activebench_model::claim::Parsed;
use activebench_model::phase::{Direction, Mechanism, Part, PartEnd, Pattern, Phase, Promise, Submission, Window};

use super::options::Options;
use crate::adapter::Plan;
use crate::syncs::last_component;

/// The stressor, and the id of its phase.
pub(super) const HDD: &str = "hdd";
/// Begin of the names of its files.
const FILE: &str = "stress-ng-hdd-";

/// Returns the plan of a command.
pub(super) fn plan(options: &Options) -> Plan {
    match options.instances {
        Some(_) => Plan { phases: vec![phase(options)], notes: Vec::new() },
        None => Plan { phases: Vec::new(), notes: vec!["only the figures of the stressor hdd are read".to_owned()] },
    }
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
    if options.instances.is_none() || parsed.claims.is_empty() {
        return Vec::new();
    }
    let mut phase = phase(options);
    phase.parts = passes(activity).filter_map(part).collect();
    let end_ns = |part: &Part| match part.end {
        PartEnd::At(end_ns) => end_ns,
        PartEnd::AfterBytes(_) => part.last_data_ns,
    };
    let start_ns = phase.parts.iter().map(|part| part.start_ns).min();
    let end_ns = phase.parts.iter().map(end_ns).max();
    phase.window = start_ns.zip(end_ns).map(|(start_ns, end_ns)| Window { start_ns, end_ns });
    if phase.parts.is_empty() {
        let why =
            if activity.passes.is_empty() { "no calls were observed" } else { "no file of the stressor was observed" };
        phase.incomplete = Some(why.to_owned());
    }
    vec![phase]
}

fn passes(activity: &Activity) -> impl Iterator<Item = &Pass> {
    let is_own_name = |name: &String| last_component(name).starts_with(FILE);
    let is_own = move |pass: &&Pass| match &pass.name {
        Some(name) => is_own_name(name),
        None => {
            let mut files = activity.files.iter().filter(|file| file.id == pass.file);
            files.any(|file| file.names.iter().any(is_own_name))
        }
    };
    activity.passes.iter().filter(is_own)
}

/// Returns the part of a file, from the first call that moved data to the close; `None` where none did.
fn part(pass: &Pass) -> Option<Part> {
    let moved = |step: &&Step| matches!(step.kind, StepKind::Read | StepKind::Write) && step.bytes > 0;
    let start_ns = pass.steps.iter().find(moved)?.start_ns;
    let last_data_ns = pass.steps.iter().filter(moved).map(|step| step.end_ns).max()?;
    let last_ns = pass.steps.iter().map(|step| step.last_end_ns).max()?;
    let close_ns = pass.close.map(|close| close.end_ns);
    let last_sync = pass.steps.iter().filter(|step| step.kind == StepKind::Sync).flat_map(|step| &step.head);
    let last_sync: Option<CallSpan> = last_sync.map(|call| call.span).filter(|span| span.returned >= 0).last();
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
