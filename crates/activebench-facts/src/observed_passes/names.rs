//! Passes over names: files that are made or deleted one after the other.

use std::collections::BTreeMap;

use activebench_model::activity::{Activity, Pass};
use activebench_model::call::{FileId, open_bits};
use activebench_model::observed_pass::{ObservedPass, ObservedWindow};
use activebench_model::phase::{Direction, NameOperation, NamePass, Phase, TaskSpan, Window};
use foldhash::HashMap;

use super::{MOST_PASSES, ObservedPasses, PAUSE_NS, Set, of_set, places, unique};

/// Fewest calls of a pass over names.
const LEAST_CALLS: usize = 16;

/// A pass over names of fewer calls than this part of the largest one is none.
const LEAST_PART: usize = 20;

/// One file that is made or deleted.
#[derive(Clone, Copy, Debug)]
pub(super) struct NameRun {
    operation: NameOperation,
    tgid: u32,
    start_ns: u64,
    end_ns: u64,
    /// When the file that was made was closed.
    close_ns: Option<u64>,
}

impl ObservedPasses<'_> {
    /// Adds the passes over names: files that are made or deleted without an operation of the other kind, a print or a
    /// pause between them, and all of one kind.
    pub(super) fn add_names(&mut self, name_runs: Vec<NameRun>, prints: &[u64], ids: &mut HashMap<String, u32>) {
        self.name_runs = name_runs;
        let runs = &self.name_runs;
        let mut sets: Vec<Set> = Vec::new();
        let mut until_ns = 0;
        for (place, run) in (0..).zip(runs) {
            let next = prints.get(prints.partition_point(|at_ns| *at_ns < until_ns));
            let continues = |set: &&mut Set| {
                set.last().is_some_and(|last| runs[*last as usize].operation == run.operation)
                    && run.start_ns.saturating_sub(until_ns) < PAUSE_NS
                    && next.is_none_or(|at_ns| *at_ns > run.start_ns)
            };
            match sets.last_mut().filter(continues) {
                Some(set) => set.push(place),
                None => sets.push(vec![place]),
            }
            until_ns = run.end_ns.max(until_ns);
        }
        let of = |operation| {
            let mut own = places(runs);
            own.retain(|place| runs[*place as usize].operation == operation);
            own
        };
        let mut totals = vec![of(NameOperation::Create), of(NameOperation::Delete)];
        totals.retain(|total| sets.iter().all(|set| set.len() != total.len()));
        let most = sets.iter().map(Vec::len).max().unwrap_or(0);
        sets.retain(|set| set.len() >= LEAST_CALLS.max(most / LEAST_PART));
        sets.sort_by_key(|set| std::cmp::Reverse(set.len()));
        sets.truncate(MOST_PASSES);
        sets.sort_by_key(|set| set[0]);
        sets.extend(totals.into_iter().filter(|total| total.len() >= LEAST_CALLS));
        let first = self.passes.len();
        for set in sets {
            self.add_named(set, ids);
        }
        let operation = |set: &Set| self.name_runs[set[0] as usize].operation;
        // A total has no other total around it.
        for place in first..self.passes.len() {
            let own = &self.named[place - first];
            let is_around = |other: &usize| {
                let around = &self.named[*other - first];
                around.len() > own.len() && operation(around) == operation(own)
            };
            self.passes[place].parent = (place + 1..self.passes.len()).find(is_around);
        }
    }

    fn add_named(&mut self, set: Set, ids: &mut HashMap<String, u32>) {
        let runs = || of_set(&self.name_runs, &set);
        let (Some(first), Some(end_ns)) = (runs().next(), runs().map(|run| run.end_ns).max()) else { return };
        let (start_ns, operation) = (first.start_ns, first.operation);
        let word = if operation == NameOperation::Create { "create" } else { "delete" };
        let closed = runs().filter_map(|run| run.close_ns).max().filter(|at_ns| *at_ns > end_ns);
        let last_ns = closed.unwrap_or(end_ns);
        let mut syncs = self.global_syncs.iter().filter(|sync| sync.start_ns >= end_ns);
        let synced = syncs.next().map(|sync| sync.end_ns).filter(|at_ns| *at_ns < last_ns + PAUSE_NS);
        let ends = [("", Some(end_ns), "last call"), ("-with-close", closed, "last close")];
        let ends = ends.into_iter().chain([("-with-sync", synced, "end of the sync behind it")]);
        let windows = ends.filter_map(|(kind, end_ns, ends)| {
            Some(ObservedWindow {
                phase: unique(format!("{word}-files{kind}"), ids),
                clock: format!("inferred from the printed figure: first call to {ends}"),
                start_ns,
                end_ns: end_ns?,
                has_sync: kind == "-with-sync",
            })
        });
        self.passes.push(ObservedPass {
            name: format!("{word} of {} files", set.len()),
            direction: Direction::None,
            names: Some(operation),
            bytes: 0,
            calls: set.len() as u64,
            opens: set.len() as u64,
            is_direct: false,
            is_synchronous: false,
            task_clocks: Vec::new(),
            windows: windows.collect(),
            parent: None,
        });
        self.named.push(set);
    }
}

/// Returns the files that were made and deleted, in order. `names` has the first name of each file.
pub(super) fn runs<'a>(activity: &'a Activity, names: &HashMap<FileId, &'a str>) -> Vec<NameRun> {
    let created = || activity.passes.iter().filter(|pass| pass.open_flags & open_bits::CREATE != 0);
    let folder = |pass: &'a Pass| {
        let name = pass.name.as_deref().or(names.get(&pass.file).copied())?;
        Some(name.rsplit_once('/').map_or("", |(folder, _)| folder))
    };
    let mut by_folder: HashMap<&str, usize> = HashMap::default();
    created().filter_map(folder).for_each(|folder| *by_folder.entry(folder).or_default() += 1);
    let most = by_folder.values().copied().max().unwrap_or(0);
    // A log beside a folder of many files is not one of them.
    let is_one_of_many =
        |pass: &&'a Pass| folder(pass).is_none_or(|folder| by_folder[folder] >= LEAST_CALLS.min(most / LEAST_PART));
    let made = created().filter(is_one_of_many).filter_map(|pass| {
        let open = pass.open.filter(|open| open.returned >= 0 && open.end_ns > open.start_ns)?;
        Some(NameRun {
            operation: NameOperation::Create,
            tgid: pass.tgid,
            start_ns: open.start_ns,
            end_ns: open.end_ns,
            close_ns: pass.close.map(|close| close.end_ns),
        })
    });
    let tasks = activity.tasks.iter().filter(|_| !activity.unlinks.is_empty());
    let process: HashMap<u32, u32> = tasks.map(|task| (task.tid, task.tgid)).collect();
    let deleted = activity.unlinks.iter().filter(|unlink| unlink.span.returned >= 0).filter_map(|unlink| {
        Some(NameRun {
            operation: NameOperation::Delete,
            tgid: *process.get(&unlink.span.tid)?,
            start_ns: unlink.span.start_ns,
            end_ns: unlink.span.end_ns,
            close_ns: None,
        })
    });
    let mut runs: Vec<NameRun> = made.chain(deleted).collect();
    runs.shrink_to_fit();
    // A sort takes half the memory again, and those of one process are in order.
    if !runs.is_sorted_by_key(|run| run.start_ns) {
        runs.sort_by_key(|run| run.start_ns);
    }
    runs
}

/// Creates the phase of a pass over names.
pub(super) fn phase<'a>(
    observed: &ObservedPass,
    window: &ObservedWindow,
    named: impl Iterator<Item = &'a NameRun>,
) -> Phase {
    let mut of_process: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
    for run in named {
        let span = of_process.entry(run.tgid).or_insert((run.start_ns, run.end_ns));
        *span = (span.0.min(run.start_ns), span.1.max(run.end_ns));
    }
    // The process that was the last one works until the end of the window.
    if let Some(span) = of_process.values_mut().max_by_key(|(_, end_ns)| *end_ns) {
        span.1 = span.1.max(window.end_ns);
    }
    let spans =
        of_process.into_iter().map(|(tgid, (start_ns, end_ns))| TaskSpan { tgid, tids: Vec::new(), start_ns, end_ns });
    let names = observed.names.map(|operation| NamePass { operation, requested: None, spans: spans.collect() });
    Phase {
        clock: window.clock.clone(),
        names,
        window: Some(Window { start_ns: window.start_ns, end_ns: window.end_ns }),
        ..Phase::planned(&window.phase, &observed.name, Direction::None)
    }
}
