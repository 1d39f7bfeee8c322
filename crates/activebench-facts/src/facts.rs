//! Computes the facts of phases: every figure of [`FactName`](activebench_model::fact::FactName),
//! exactly as its doc comment there defines it.
//!
//! Every table is read once, after the activity has been folded (phases follow from the activity, so calls can be
//! assigned to phases only then). Two readings of the calls are added where they cannot be avoided:
//!
//! * before the others, if a clock stopped after a number of bytes ([`windows::resolve`]): what counts inside a window
//!   needs its end;
//! * after the others, if the blocks of a phase were guessed wrong from its first calls ([`tally`]).
//!
//! Block events count both as completed requests and as queued bios, because only their end shows which of the two
//! a device has ([`device`]). The block events are read after the calls: how long written data belongs to a phase
//! depends on the syncs that cover its calls.
//!
//! Memory: about 120 bytes per part, in lists of which no one holds the part itself ([`part_index`]), 120 bytes per pass
//! of the phases' files ([`index`], which profiles and timelines share; the passes themselves are let go of before the
//! calls are counted), the syncs of the phases' files (56 bytes each), the touched blocks
//! ([`BlockHits`]), the shape of each phase ([`shape`]) and the busy spans of the devices. Nothing grows with the
//! number of calls.
//!
//! Losses of the observation determine each fact's completeness ([`record_losses`]). A probe that was not attached
//! makes the facts that depend on it `Missing`. A lost record makes them `Partial`, and so does an event
//! log that ends before the phase does. Facts of the whole run include events after that end where sums
//! suffice.

mod blocks;
mod call_facts;
mod call_family;
mod completions;
mod cpu_times;
mod daemons;
mod depth;
mod device;
mod device_counters;
mod device_facts;
mod host_counters;
mod index;
mod inserted;
mod intervals;
mod latency;
mod library_calls;
mod names;
mod observer_share;
mod order;
mod part_index;
mod payload;
mod places;
mod rate_in_fifths;
mod record_losses;
mod requests;
mod run_facts;
mod serving;
mod shape;
mod shared;
mod span_index;
mod steal;
mod streams;
mod syncs;
mod tally;
mod task_rates;
mod thread_accounts;
mod thread_time;
mod timeline;
mod traced;
mod watched;
mod windows;

use std::borrow::Cow;

use activebench_model::activity::Pass;
use activebench_model::call::{Call, FileId};
use activebench_model::coverage::{Backend, Coverage};
use activebench_model::event::RecordClass;
use activebench_model::fact::Facts;
use activebench_model::grouped::Grouped;
use activebench_model::hook::Hook;
use activebench_model::phase::{Part, Phase, Window};
use activebench_model::run::Manifest;
use foldhash::{HashMap, HashSet};

use crate::activity::Stub;
use activebench_model::source::{EventSource, Unreadable};
pub use blocks::{BlockHits, HitDistribution};
use call_family::CallFamily;
use device::DevicePlan;
pub use index::Index;
use inserted::SharedProcesses;
use part_index::{PartIndex, PartTasks};
pub use places::hits_by_file;
use record_losses::Gap;
use syncs::SyncLog;
use tally::Tally;
pub use thread_time::profile_phases;
pub use timeline::timelines;
pub(crate) use watched::blind_mappings;

/// Gaps of the observation, for each tier of the observation.
struct Gaps {
    calls: Gap,
    /// Bytes that calls read from storage.
    storage_reads: Gap,
    /// CPU time needs the scheduler besides the calls.
    cpu: Gap,
    tasks: Gap,
    cache: Gap,
    completed: Gap,
    queued: Gap,
}

impl Gaps {
    fn of(manifest: &Manifest) -> Self {
        Self::with(&manifest.coverage, |hook, class| Gap::of(&manifest.coverage, hook, class))
    }

    /// Returns the gaps of figures that need the log up to a time.
    fn of_log(manifest: &Manifest, until_ns: u64) -> Self {
        let cut = |class| Gap::of_log(&manifest.coverage, manifest.clocks.started_ns, class, until_ns);
        Self::with(&manifest.coverage, |hook, class| Gap::of(&manifest.coverage, hook, class).and(&cut(class)))
    }

    fn with(coverage: &Coverage, gap: impl Fn(Hook, RecordClass) -> Gap) -> Self {
        let calls = gap(Hook::SysExit, RecordClass::Calls);
        Self {
            storage_reads: calls.clone().and(&Gap::of_storage_reads(coverage)),
            cpu: calls.clone().and(&gap(Hook::Switch, RecordClass::Calls)),
            tasks: gap(Hook::NewTask, RecordClass::Tasks).and(&gap(Hook::ProcessExit, RecordClass::Tasks)),
            cache: gap(Hook::AddToPageCache, RecordClass::PageCache),
            completed: gap(Hook::RequestComplete, RecordClass::BlockCompleted),
            queued: gap(Hook::BioQueue, RecordClass::BlockQueued),
            calls,
        }
    }
}

/// Returns every family, before the first call. `tasks` are those of each phase, `together` when they all were at work.
fn families(phases: &[Phase], tasks: &[PartTasks], together: &[Result<Window, String>]) -> Vec<Box<dyn CallFamily>> {
    vec![
        Box::new(names::NameTally::new(phases)),
        Box::new(shared::SharedBytes::new(phases)),
        Box::new(task_rates::Paces::new(phases, tasks, together)),
    ]
}

/// Resolves where each phase's clock stopped and fills the windows and the facts. Also returns the
/// facts of the whole run.
///
/// A phase whose parts do not cover any time keeps no window and gets no facts.
///
/// `index` is that of the activity and these phases, `passes` those of the activity; owned ones are let go of before the
/// calls are counted.
///
/// # Errors
/// Returns the errors of the source.
pub fn resolve_phases(
    source: &dyn EventSource,
    manifest: &Manifest,
    index: &Index<'_>,
    passes: Cow<'_, [Pass]>,
    mut phases: Vec<Phase>,
) -> Result<(Vec<Phase>, Facts), Unreadable> {
    let totals = source.totals()?;
    let stub = Stub::new(index.tasks, index.execs);
    let own = |call: &Call| !stub.made(call.tgid, call.start_ns);

    windows::resolve(source, own, index, &mut phases)?;
    // Before the calls: its tables and those of the calls are not in memory at once.
    let (inserted, inserted_in_run) = inserted::read(source, index, &passes, &phases, &totals)?;
    let own_before = host_counters::own_before(&passes, index.global_syncs, &phases);
    drop(passes);
    let syncs = SyncLog::new(index, &phases);
    let limits = limits(index, &phases, &index::parts_by_file(&phases), &syncs);
    let mut parts = PartIndex::new(&phases);

    let tasks: Vec<PartTasks> = phases.iter().map(|phase| PartTasks::of(&phase.parts)).collect();
    let together: Vec<Result<Window, String>> =
        phases.iter().zip(&tasks).map(|(phase, tasks)| rate_in_fifths::time_together(phase, tasks)).collect();
    let mut tally = Tally::new(index, &phases, &tasks, &syncs, &limits);
    let mut families = families(&phases, &tasks, &together);
    drop(tasks);
    let mut whole = run_facts::WholeRun::default();
    for batch in source.calls() {
        for call in batch?.iter().filter(|call| own(call)) {
            tally.feed(&mut parts, call);
            families.iter_mut().for_each(|family| family.feed(&phases, &mut parts, call));
            whole.feed(call);
        }
    }
    if tally.close() {
        for batch in source.calls() {
            batch?.iter().filter(|call| own(call)).for_each(|call| tally.recount(&mut parts, call));
        }
    }
    for sum in &totals.calls {
        whole.feed_sum(sum);
    }
    whole.close();

    let mut facts = Vec::with_capacity(phases.len());
    let mut durable = Vec::with_capacity(phases.len());
    let gaps: Vec<Gaps> = phases.iter().map(|phase| Gaps::of_log(manifest, phase.needs_log_until_ns())).collect();
    let in_process = SharedProcesses::new(&phases);
    for (number, phase) in phases.iter().enumerate() {
        let touched = tally.take_touched(number);
        let view = call_facts::View {
            index,
            phase,
            number,
            gaps: &gaps[number],
            tally: &tally,
            syncs: &syncs,
            limits: &limits,
            blocks: tally.blocks_of(number),
            touched,
        };
        let mut of_phase = Facts::default();
        if let Some(window) = phase.window {
            view.add_call_facts(window, &mut of_phase);
            view.add_time_facts(&mut of_phase);
            let is_shared = in_process.include(&phases, number);
            view.add_cache_facts(inserted[number], is_shared, &mut of_phase);
        }
        durable.push(view.durable_ends());
        facts.push(of_phase);
    }

    // The largest structure in memory, and not needed for the device.
    drop(tally);
    let own_files: HashSet<FileId> = index.files.iter().map(|file| file.id).collect();
    let planned = phases.iter().zip(&durable).zip(together);
    let plan = |((phase, durable), together)| device_facts::plan(manifest, index, phase, durable, together);
    let mut plans: Vec<DevicePlan> = planned.map(plan).collect();
    plans.push(whole.device_plan(manifest));
    for (number, phase) in phases.iter_mut().enumerate().filter(|(_, phase)| phase.window.is_some()) {
        families.iter_mut().for_each(|family| family.add_facts(number, phase, &gaps[number].calls, &mut facts[number]));
    }
    drop(families);
    let mut seen = device::read(source, plans, &own_files)?;
    let of_run = seen.pop();
    for ((phase, gaps), (facts, seen)) in phases.iter_mut().zip(&gaps).zip(facts.into_iter().zip(seen)) {
        phase.facts = facts;
        if phase.window.is_some() {
            device_counters::add(&manifest.coverage, &seen, &mut phase.facts);
            device_facts::add(gaps, seen, &mut phase.facts);
        }
    }
    daemons::add(source, manifest, &gaps, &mut phases)?;
    payload::add(source, manifest, &mut parts, &mut phases)?;
    host_counters::add(manifest, &own_before, &mut phases);
    let mut of_run = of_run.map_or_else(Facts::default, |seen| whole.facts(manifest, index, inserted_in_run, seen));
    if manifest.coverage.backend == Backend::Ptrace {
        traced::name_sources(&manifest.coverage, &mut phases, &mut of_run);
    }
    if let Some(watch) = &manifest.watch {
        watched::limit(watch, &mut phases, &mut of_run);
    }
    Ok((phases, of_run))
}

/// Returns, for each phase and file, the time until which a sync of its bytes counts; nothing where it always counts.
fn limits(
    index: &Index<'_>,
    phases: &[Phase],
    parts: &Grouped<FileId, (usize, &Part)>,
    syncs: &SyncLog<'_>,
) -> HashMap<(usize, FileId), u64> {
    let mut limits = HashMap::default();
    let mut by_phase: Vec<(usize, &Part)> = Vec::new();
    for (file, of_file) in parts.iter() {
        by_phase.clear();
        by_phase.extend(of_file);
        by_phase.sort_by_key(|(phase, _)| *phase);
        for own in by_phase.chunk_by(|(one, _), (other, _)| one == other) {
            let limit_ns = syncs.limit(index, phases, of_file, own, file);
            if limit_ns < u64::MAX {
                limits.insert((own[0].0, file), limit_ns);
            }
        }
    }
    limits
}
