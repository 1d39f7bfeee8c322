//! Computes the facts of phases: every figure of [`FactName`](activebench_model::fact::FactName),
//! exactly as its doc comment there defines it.
//!
//! The first reading of the calls finds where clocks stopped, the request sizes and the syncs; the
//! second one counts. Block events are read twice, page-cache events once. Memory: the parts' tallies
//! (a fixed size per part), the syncs of the phases' files (56 bytes each), the touched blocks
//! ([`BlockHits`]), the shape of each phase ([`shape`]) and the busy spans of the devices. Nothing grows
//! with the number of calls.
//!
//! Losses of the observation determine each fact's completeness ([`gaps`]). A probe that was not attached
//! makes the facts that depend on it `Missing`. A lost record makes them `Partial`, and so does an event
//! log that ends before the phase does. Facts of the whole run include events after that end where sums
//! suffice.

mod blocks;
mod call_facts;
mod completions;
mod courses;
mod cpu_times;
mod depth;
mod device;
mod device_facts;
mod fifths;
mod gaps;
mod index;
mod inserted;
mod intervals;
mod latency;
mod names;
mod order;
mod pace;
mod payload;
mod places;
mod profile;
mod requests;
mod run_facts;
mod shape;
mod shared;
mod span_index;
mod steal;
mod surroundings;
mod syncs;
mod tally;
mod windows;

use std::collections::{HashMap, HashSet};

use activebench_model::activity::Activity;
use activebench_model::call::FileId;
use activebench_model::fact::Facts;
use activebench_model::phase::{Part, Phase};
use activebench_model::run::Manifest;

use crate::activity::Stub;
use activebench_model::source::{EventSource, Unreadable};
pub use blocks::{BlockHits, HitDistribution};
pub use courses::courses;
use device::DevicePlan;
use gaps::{CALLS_HOOK, Gap};
use index::Index;
pub use places::hits_by_file;
pub use profile::profile_phases;
use requests::RequestSizes;
use syncs::SyncLog;
use tally::Tally;
use windows::EndSeekers;

/// Gaps of the observation, for each tier of the observation.
struct Gaps {
    calls: Gap,
    /// CPU time needs the scheduler besides the calls.
    cpu: Gap,
    tasks: Gap,
    cache: Gap,
    completed: Gap,
    queued: Gap,
}

impl Gaps {
    fn of(manifest: &Manifest) -> Self {
        Self::with(|hook, class| Gap::of(&manifest.coverage, hook, class))
    }

    /// Returns the gaps of figures that need the log up to a time.
    fn of_log(manifest: &Manifest, until_ns: u64) -> Self {
        let cut = |class: &str| Gap::of_log(&manifest.coverage, manifest.clocks.started_ns, class, until_ns);
        Self::with(|hook, class| Gap::of(&manifest.coverage, hook, class).and(&cut(class)))
    }

    fn with(gap: impl Fn(&str, &str) -> Gap) -> Self {
        let calls = gap(CALLS_HOOK, "calls");
        Self {
            cpu: calls.clone().and(&gap("tp_btf/sched_switch", "calls")),
            tasks: gap("tp_btf/task_newtask", "tasks").and(&gap("tp_btf/sched_process_exit", "tasks")),
            cache: gap(device_facts::CACHE_HOOK, "page_cache"),
            completed: gap(device_facts::COMPLETED_HOOK, "block"),
            queued: gap(device_facts::QUEUED_HOOK, "block_queued"),
            calls,
        }
    }
}

/// Resolves where each phase's clock stopped and fills the windows and the facts. Also returns the
/// facts of the whole run.
///
/// A phase whose parts do not cover any time keeps no window and gets no facts.
///
/// # Errors
/// Returns the errors of the source.
pub fn resolve_phases(
    source: &dyn EventSource,
    manifest: &Manifest,
    activity: &Activity,
    mut phases: Vec<Phase>,
) -> Result<(Vec<Phase>, Facts), Unreadable> {
    let totals = source.totals()?;
    let stub = Stub::new(&activity.tasks, &activity.execs);
    let own = |call: &activebench_model::call::Call| !stub.made(call.tgid, call.start_ns);

    let index = Index::new(activity);
    let mut ends = EndSeekers::new(&index, &phases);
    let mut sizes = RequestSizes::new(&phases);
    let mut syncs = SyncLog::new(activity, &phases);
    for batch in source.calls() {
        for call in batch?.iter().filter(|call| own(call)) {
            ends.feed(call);
            sizes.feed(call);
            syncs.feed(call);
        }
    }
    ends.resolve(&mut phases);
    syncs.close();
    let blocks = sizes.blocks();
    let parts = index::parts_by_file(&phases);
    let limits = limits(&index, &phases, &parts, &syncs);

    let mut tally = Tally::new(&index, activity, &phases, &syncs, &limits, &blocks);
    let mut paces = pace::Paces::new(&phases);
    let mut names = names::NameTally::new(&phases);
    let mut shared = shared::SharedBytes::new(&phases);
    let mut whole = run_facts::WholeRun::default();
    for batch in source.calls() {
        for call in batch?.iter().filter(|call| own(call)) {
            tally.feed(call);
            paces.feed(&phases, call);
            names.feed(call);
            shared.feed(call);
            whole.feed(call);
        }
    }
    tally.close();
    for sum in &totals.calls {
        whole.feed_sum(sum);
    }
    let inserted = inserted::read(source, &index, &phases, &parts)?;
    let seen = device::Seen::read(source)?;

    let mut facts = Vec::with_capacity(phases.len());
    let mut durable = Vec::with_capacity(phases.len());
    let gaps: Vec<Gaps> = phases.iter().map(|phase| Gaps::of_log(manifest, phase.needs_log_until_ns())).collect();
    for (number, phase) in phases.iter().enumerate() {
        let touched = tally.touched_by(number);
        let view = call_facts::View {
            activity,
            index: &index,
            phase,
            number,
            gaps: &gaps[number],
            tally: &tally,
            syncs: &syncs,
            limits: &limits,
            blocks: blocks[number],
            touched,
        };
        let mut of_phase = Facts::default();
        if let Some(window) = phase.window {
            view.add_call_facts(window, &mut of_phase);
            view.add_time_facts(&mut of_phase);
            let in_process = inserted::shares_a_process(&phases, number);
            view.add_cache_facts(inserted[number], in_process, &mut of_phase);
            shared.add_facts(number, &gaps[number].calls, &mut of_phase);
            names.add_facts(number, phase, &gaps[number].calls, &mut of_phase);
        }
        durable.push(view.durable_ends());
        facts.push(of_phase);
    }

    let own_files: HashSet<FileId> = activity.files.iter().map(|file| file.id).collect();
    let mut plans: Vec<(DevicePlan, device::Devices)> = phases
        .iter()
        .zip(&durable)
        .map(|(phase, durable)| device_facts::plan(manifest, &index, &seen, phase, durable))
        .collect();
    plans.push(whole.device_plan(manifest, &seen));
    // The largest structure in memory, and not needed for the device.
    drop(tally);
    for (number, phase) in phases.iter_mut().enumerate().filter(|(_, phase)| phase.window.is_some()) {
        paces.add_facts(number, phase, &gaps[number].calls, &mut facts[number]);
    }
    drop(paces);
    let mut tallies = device::read(source, &plans, &own_files)?;
    for (index, phase) in phases.iter_mut().enumerate() {
        phase.facts = std::mem::take(&mut facts[index]);
        if phase.window.is_some() {
            let (plan, devices) = &plans[index];
            device_facts::add(&gaps[index], (plan, devices), std::mem::take(&mut tallies[index]), &mut phase.facts);
        }
    }
    payload::add(source, manifest, &mut phases)?;
    surroundings::add(manifest, activity, &mut phases);
    let of_run = match (plans.last(), tallies.pop()) {
        (Some((plan, devices)), Some(device)) => {
            let cached = run_facts::inserted(source, &totals)?;
            whole.facts(manifest, activity, cached, (plan, devices), device)
        }
        _ => Facts::default(),
    };
    Ok((phases, of_run))
}

/// Returns, for each phase and file, the time until which a sync of its bytes counts.
fn limits(
    index: &Index<'_>,
    phases: &[Phase],
    parts: &HashMap<FileId, Vec<(usize, &Part)>>,
    syncs: &SyncLog,
) -> HashMap<(usize, FileId), u64> {
    let mut limits = HashMap::new();
    for (file, of_file) in parts {
        for (phase, _) in of_file {
            limits.entry((*phase, *file)).or_insert_with(|| syncs.limit(index, phases, of_file, *phase, *file));
        }
    }
    limits
}
