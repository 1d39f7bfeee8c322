//! Passes found in the I/O itself, for a program that no adapter knows.
//!
//! A *run* is what one descriptor moved in one direction, from its open or from a call of the other direction on. Runs
//! of one direction, with calls of like size and no run of the other direction or pause between them, form a *group*; all runs of a
//! direction together form a *total*. Where both directions overlap in time, they have a common total, and so has a
//! descriptor with both. Where the program printed something between the runs of a group, the runs between two prints are
//! a pass of their own. Files that are made or deleted one after the other are passes over names. Each of these is a pass,
//! at most [`MOST_PASSES`] of each kind.
//!
//! Time and memory are linear in the steps of the activity, apart from sorting the runs.

use std::collections::{BTreeMap, HashMap, HashSet};

use activebench_model::activity::{Activity, CallSpan, Pass, Step, StepKind};
use activebench_model::call::{FileId, Op, open_bits};
use activebench_model::observed_pass::{ObservedPass, ObservedWindow};
use activebench_model::phase::{Direction, Part, PartEnd, Phase};

use crate::evidence::{LEAST_READ_BYTES, identifier, successful};

mod names;

use names::NameRun;

/// Largest number of passes of each kind: those that moved the most data.
const MOST_PASSES: usize = 24;

/// Largest number of runs of a group that are all passes of their own.
const MOST_OF_GROUP: usize = 8;

/// Of a larger group, a run of this share of its time is a pass of its own.
const LEAST_SHARE: f64 = 0.02;

/// A pause between two runs that ends a group.
const PAUSE_NS: u64 = 1_000_000_000;

/// Changes of direction on a descriptor from which on it is a mix, and not one pass after the other.
const MIXED_FROM: usize = 8;

/// Calls from which on a file that was only read, and little, is data of the program.
const LEAST_READ_CALLS: u64 = 16;

/// A file of which little was read, and nothing written, is not data of the program if so many times as much was read of
/// another.
const LEAST_PART: u64 = 100;

/// The passes of a run, and the calls that they consist of.
#[derive(Debug)]
pub struct ObservedPasses<'a> {
    passes: Vec<ObservedPass>,
    /// The runs of each pass; none for passes over names.
    members: Vec<Vec<Run<'a>>>,
    /// The calls of each pass over names, by process; behind the passes of data.
    named: Vec<Vec<NameRun>>,
    global_syncs: Vec<CallSpan>,
    /// Successful syncs of each file, through any descriptor of any process, in order.
    syncs: HashMap<FileId, Vec<CallSpan>>,
    /// Opens of descriptors through which no data went, by process and file: a descriptor that was opened and then
    /// duplicated, in order.
    bare_opens: HashMap<(u32, FileId), Vec<u64>>,
}

/// What one descriptor moved in one direction without an interruption.
#[derive(Clone, Copy, Debug)]
struct Run<'a> {
    pass: &'a Pass,
    direction: Direction,
    start_ns: u64,
    end_ns: u64,
    bytes: u64,
    calls: u64,
    /// The first successful sync behind it.
    sync: Option<CallSpan>,
    /// True if it is the first data of its descriptor.
    is_first: bool,
    /// True if it is the last data of its descriptor.
    is_last: bool,
}

impl<'a> ObservedPasses<'a> {
    /// Finds the passes.
    pub fn new(activity: &'a Activity) -> Self {
        let global_syncs = successful(activity);
        let data = data_files(activity);
        let mut syncs: HashMap<FileId, Vec<CallSpan>> = HashMap::new();
        let mut bare_opens: HashMap<(u32, FileId), Vec<u64>> = HashMap::new();
        for pass in activity.passes.iter().filter(|pass| data.contains(&pass.file)) {
            let own = pass.steps.iter().filter(|step| step.kind == StepKind::Sync).flat_map(|step| &step.head);
            let mut own = own.map(|brief| brief.span).filter(|span| span.returned == 0).peekable();
            if own.peek().is_some() {
                syncs.entry(pass.file).or_default().extend(own);
            }
            if let Some(open) = pass.open.filter(|_| !pass.steps.iter().any(is_data)) {
                bare_opens.entry((pass.tgid, pass.file)).or_default().push(open.start_ns);
            }
        }
        syncs.values_mut().for_each(|syncs| syncs.sort_by_key(|sync| sync.start_ns));
        bare_opens.values_mut().for_each(|opens| opens.sort_unstable());
        let (passes, members, named) = (Vec::new(), Vec::new(), Vec::new());
        let mut found = Self { passes, members, named, global_syncs, syncs, bare_opens };
        let mut runs: Vec<Run<'a>> = Vec::new();
        for pass in activity.passes.iter().filter(|pass| data.contains(&pass.file)) {
            found.runs_of(pass, &mut runs);
        }
        runs.sort_by_key(|run| run.start_ns);
        let names = names(activity);
        let mut sets: Vec<Vec<Run<'a>>> = Vec::new();
        let groups = groups(&runs);
        let prints = prints(activity);
        let singles = single_runs(&groups);
        let primed: Vec<Vec<Run<'a>>> =
            singles.iter().filter_map(|set| Some(vec![after_first_call(&set[0])?])).collect();
        sets.extend(singles);
        sets.extend(primed);
        sets.extend(largest(groups.iter().flat_map(|group| between_prints(group, &prints)).collect()));
        sets.extend(largest(groups));
        let of = |direction| runs.iter().copied().filter(|run| run.direction == direction).collect::<Vec<_>>();
        let (reads, writes) = (of(Direction::Read), of(Direction::Write));
        let overlap = span(&reads).zip(span(&writes)).is_some_and(|(read, write)| read.0 < write.1 && write.0 < read.1);
        sets.push(reads);
        sets.push(writes);
        sets.extend(largest(mixed(&runs)));
        if overlap {
            sets.push(runs);
        }
        sets.retain(|set| !set.is_empty());
        let mut known = HashSet::new();
        // What is the same is one pass.
        sets.retain(|set| known.insert(key(set)));
        let mut ids = HashMap::new();
        for set in sets {
            found.add(set, &names, &mut ids);
        }
        found.find_parents();
        found.add_names(activity, &prints, &mut ids);
        found
    }

    /// Returns the passes.
    pub fn passes(&self) -> &[ObservedPass] {
        &self.passes
    }

    /// Creates the phase of a pass with one of its windows. With `calls` above 1, so many calls are one operation. With
    /// `each_task` its figures are those of each process, too.
    ///
    /// # Panics
    /// If there is no such pass or window.
    pub fn phase(&self, pass: usize, window: usize, calls: u64, each_task: bool) -> Phase {
        let observed = &self.passes[pass];
        let window = &observed.windows[window];
        if let Some(named) = pass.checked_sub(self.members.len()).map(|place| &self.named[place]) {
            return names::phase(observed, window, named);
        }
        // The last call of a file may be shorter than the others.
        let first = self.members[pass].first().and_then(|run| run.pass.steps.iter().find(|step| is_data(step)));
        let first = first.and_then(|step| step.head.iter().find(|call| call.requested > 0));
        let call_bytes = first.map(|call| call.requested).filter(|_| calls > 1);
        let part = |run: &Run<'_>| {
            let start_ns = run.start_ns;
            let is_inside = |sync: &CallSpan| sync.end_ns <= window.end_ns;
            let (inside, after) = match run.sync {
                Some(sync) if is_inside(&sync) => (Some(Box::new(sync)), None),
                sync => (None, sync.map(Box::new)),
            };
            let end_ns = inside.as_ref().map_or(run.end_ns, |sync| sync.end_ns.max(run.end_ns));
            Part {
                tgid: run.pass.tgid,
                tids: Vec::new(),
                fd: run.pass.fd,
                file: run.pass.file,
                start_ns,
                end: PartEnd::At(end_ns),
                last_data_ns: run.end_ns,
                sync_inside: inside,
                sync_after: after,
                close_ns: run.pass.close.map(|close| close.end_ns),
            }
        };
        let mut parts: Vec<Part> = self.members[pass].iter().map(part).collect();
        // The window is that of all parts together.
        if let Some(first) = parts.iter_mut().min_by_key(|part| part.start_ns) {
            first.start_ns = first.start_ns.min(window.start_ns);
        }
        let end = |part: &Part| match part.end {
            PartEnd::At(end_ns) => end_ns,
            PartEnd::AfterBytes(_) => part.last_data_ns,
        };
        if let Some(last) = parts.iter_mut().max_by_key(|part| end(part)) {
            last.end = PartEnd::At(window.end_ns);
        }
        Phase {
            clock: window.clock.clone(),
            parts,
            block_bytes: observed.bytes.saturating_mul(calls).checked_div(observed.calls).filter(|_| calls > 1),
            divided_into_bytes: call_bytes,
            requested_tasks: if each_task { u32::try_from(observed.task_rates.len()).unwrap_or(1).max(1) } else { 1 },
            ..Phase::planned(window.phase_of(calls, each_task), &observed.name, observed.direction)
        }
    }

    /// Adds the runs of a descriptor.
    fn runs_of(&self, pass: &'a Pass, runs: &mut Vec<Run<'a>>) {
        let data = || pass.steps.iter().filter(|step| is_data(step));
        let changes = data().zip(data().skip(1)).filter(|(one, next)| one.kind != next.kind).count();
        let begin = runs.len();
        for step in data().filter(|step| step.end_ns > step.start_ns) {
            let direction = if step.kind == StepKind::Read { Direction::Read } else { Direction::Write };
            let own = &mut runs[begin..];
            let known = match changes >= MIXED_FROM {
                true => own.iter_mut().find(|run| run.direction == direction),
                false => own.last_mut().filter(|run| run.direction == direction),
            };
            match known.filter(|run| step.start_ns.saturating_sub(run.end_ns) < PAUSE_NS) {
                Some(run) => {
                    run.end_ns = run.end_ns.max(step.end_ns);
                    run.bytes += step.bytes;
                    run.calls += step.calls;
                }
                None => runs.push(Run {
                    pass,
                    direction,
                    start_ns: step.start_ns,
                    end_ns: step.end_ns,
                    bytes: step.bytes,
                    calls: step.calls,
                    sync: None,
                    is_first: false,
                    is_last: false,
                }),
            }
        }
        runs.truncate(begin + 4096);
        let own = &mut runs[begin..];
        if let Some(first) = own.iter_mut().min_by_key(|run| run.start_ns) {
            first.is_first = true;
        }
        if let Some(last) = own.iter_mut().max_by_key(|run| run.end_ns) {
            last.is_last = true;
        }
        let syncs = self.syncs.get(&pass.file).map_or(&[][..], Vec::as_slice);
        for run in own.iter_mut().filter(|run| run.direction == Direction::Write) {
            let after =
                |syncs: &[CallSpan]| syncs.get(syncs.partition_point(|sync| sync.start_ns < run.end_ns)).copied();
            run.sync = [after(syncs), after(&self.global_syncs)].into_iter().flatten().min_by_key(|sync| sync.start_ns);
        }
    }

    /// Returns when the file of a run was opened for it: the first open, where the descriptor is a duplicate.
    fn opened(&self, run: &Run<'_>) -> Option<u64> {
        let open = run.pass.open?;
        let bare = self.bare_opens.get(&(run.pass.tgid, run.pass.file)).filter(|_| open.op == Op::Dup);
        let before = bare.and_then(|opens| opens[..opens.partition_point(|at_ns| *at_ns <= open.start_ns)].last());
        Some(before.copied().unwrap_or(open.start_ns))
    }

    fn add(&mut self, set: Vec<Run<'a>>, names: &HashMap<FileId, &str>, ids: &mut HashMap<String, u32>) {
        let Some((start_ns, end_ns)) = span(&set) else { return };
        let direction = match set.iter().all(|run| run.direction == set[0].direction) {
            true => set[0].direction,
            false => Direction::Mixed,
        };
        let word = match direction {
            Direction::Read => "read",
            Direction::Write => "write",
            _ => "read-write",
        };
        let files: HashSet<FileId> = set.iter().map(|run| run.pass.file).collect();
        let what = match files.len() {
            1 => names.get(&set[0].pass.file).copied().unwrap_or("unnamed").to_owned(),
            many => format!("{many} files"),
        };
        // Of several files, those that were opened before the first data moved.
        let opened = set.iter().filter(|run| run.is_first).filter_map(|run| self.opened(run));
        let opened = opened.filter(|open_ns| *open_ns < start_ns);
        let opened = opened.min().filter(|open_ns| start_ns - open_ns < PAUSE_NS.max(end_ns - start_ns));
        let synced =
            set.iter().filter_map(|run| run.sync).map(|sync| sync.end_ns).filter(|at_ns| *at_ns > end_ns).max();
        // Of all that was written.
        let is_synced = |until_ns: u64| {
            let mut written = set.iter().filter(|run| run.direction == Direction::Write).peekable();
            written.peek().is_some() && written.all(|run| run.sync.is_some_and(|sync| sync.end_ns <= until_ns))
        };
        let closed = set.iter().filter(|run| run.is_last).filter_map(|run| run.pass.close);
        let closed = closed.map(|close| close.end_ns).filter(|at_ns| *at_ns > end_ns).max();
        let mut ends = vec![("", end_ns)];
        ends.extend(synced.map(|at_ns| ("sync", at_ns)));
        ends.extend(closed.map(|at_ns| ("close", at_ns)));
        let mut windows = Vec::new();
        let stem = format!("{word}-{}", identifier(&what));
        let begins = [("", Some(start_ns)), ("open", opened)];
        for (from, start_ns) in begins.iter().filter_map(|(from, start_ns)| Some((*from, (*start_ns)?))) {
            for (until, end_ns) in &ends {
                let kind = match (from, *until) {
                    ("", "") => String::new(),
                    ("", until) => format!("-with-{until}"),
                    (from, "") => format!("-with-{from}"),
                    (from, until) => format!("-with-{from}-and-{until}"),
                };
                let begins = if from.is_empty() { format!("first {word}") } else { "open".to_owned() };
                let ends = match *until {
                    "" => format!("last {word}"),
                    "sync" => "end of the sync behind it".to_owned(),
                    _ => "close".to_owned(),
                };
                let phase = unique(format!("{stem}{kind}"), ids);
                let clock = format!("inferred from the printed figure: {begins} to {ends}");
                let has_sync = is_synced(*end_ns);
                windows.push(ObservedWindow { phase, clock, start_ns, end_ns: *end_ns, has_sync });
            }
        }
        self.passes.push(ObservedPass {
            names: None,
            name: format!("{} of {what}", word.replace('-', " and ")),
            direction,
            bytes: set.iter().map(|run| run.bytes).sum(),
            calls: set.iter().map(|run| run.calls).sum(),
            opens: set.len() as u64,
            is_direct: set.iter().all(|run| run.pass.open_flags & open_bits::DIRECT != 0),
            is_synchronous: set.iter().all(|run| run.pass.open_flags & (open_bits::SYNC | open_bits::DSYNC) != 0),
            task_rates: task_rates(&set),
            windows,
            parent: None,
        });
        self.members.push(set);
    }

    /// Finds the smallest pass around each.
    fn find_parents(&mut self) {
        let keys: Vec<HashSet<(u64, i32, u64)>> =
            self.members.iter().map(|set| set.iter().map(run_key).collect()).collect();
        for (place, own) in keys.iter().enumerate() {
            let around = (place + 1..keys.len()).filter(|other| keys[*other].len() > own.len());
            // Of many runs some are enough: sets are divided by time or by descriptor.
            let step = (own.len() / 16).max(1);
            let around = around.filter(|other| own.iter().step_by(step).all(|one| keys[*other].contains(one)));
            self.passes[place].parent = around.min_by_key(|other| keys[*other].len());
        }
    }
}

/// Returns an id that no other phase has.
fn unique(id: String, ids: &mut HashMap<String, u32>) -> String {
    let uses = ids.entry(id.clone()).or_insert(0_u32);
    *uses += 1;
    if *uses == 1 { id } else { format!("{id}-{uses}") }
}

/// Returns a run of reads without its first call, with which programs warm up before they start their clock; `None` where
/// the calls behind it are not known.
fn after_first_call<'a>(run: &Run<'a>) -> Option<Run<'a>> {
    if run.direction != Direction::Read || run.calls < LEAST_READ_CALLS {
        return None;
    }
    let step = run.pass.steps.iter().find(|step| step.kind == StepKind::Read && step.start_ns == run.start_ns)?;
    let mut reads = step.head.iter().filter(|call| call.span.op.is_read());
    let (first, second) = (reads.next()?.span, reads.next()?.span);
    let (bytes, start_ns) = (run.bytes.checked_sub(u64::try_from(first.returned).ok()?)?, second.start_ns);
    Some(Run { start_ns, bytes, calls: run.calls - 1, is_first: false, ..*run })
}

/// Returns the rate of each process over its own time; nothing for one process.
fn task_rates(set: &[Run<'_>]) -> Vec<f64> {
    let mut tasks: BTreeMap<u32, (u64, u64, u64)> = BTreeMap::new();
    for run in set {
        let (start_ns, end_ns, bytes) = tasks.entry(run.pass.tgid).or_insert((run.start_ns, run.end_ns, 0));
        *start_ns = run.start_ns.min(*start_ns);
        *end_ns = run.end_ns.max(*end_ns);
        *bytes += run.bytes;
    }
    let rate = |(start_ns, end_ns, bytes): (u64, u64, u64)| bytes as f64 * 1e9 / (end_ns - start_ns).max(1) as f64;
    if tasks.len() > 1 { tasks.into_values().map(rate).collect() } else { Vec::new() }
}

/// Returns when the program printed something, in order.
fn prints(activity: &Activity) -> Vec<u64> {
    let printed = activity.output_writes.iter().filter(|write| write.span.returned > 0);
    let mut prints: Vec<u64> = printed.map(|write| write.span.start_ns).collect();
    prints.sort_unstable();
    prints
}

/// Divides a group where the program printed something between two runs; nothing for a group without such a place.
fn between_prints<'a>(group: &[Run<'a>], prints: &[u64]) -> Vec<Vec<Run<'a>>> {
    let mut parts: Vec<Vec<Run<'a>>> = Vec::new();
    let mut until_ns = 0;
    for run in group {
        let next = prints.get(prints.partition_point(|at_ns| *at_ns < until_ns));
        let is_apart = parts.is_empty() || run.start_ns >= until_ns && next.is_some_and(|at_ns| *at_ns <= run.start_ns);
        match parts.last_mut().filter(|_| !is_apart) {
            Some(part) => part.push(*run),
            None => parts.push(vec![*run]),
        }
        until_ns = until_ns.max(run.end_ns);
    }
    if parts.len() > 1 { parts } else { Vec::new() }
}

/// Returns the reads and writes together of each descriptor that has both at the same time.
fn mixed<'a>(runs: &[Run<'a>]) -> Vec<Vec<Run<'a>>> {
    let mut by_descriptor: BTreeMap<(u32, i32, u64), Vec<Run<'a>>> = BTreeMap::new();
    for run in runs {
        let opened_ns = run.pass.open.map_or(0, |open| open.start_ns);
        by_descriptor.entry((run.pass.tgid, run.pass.fd, opened_ns)).or_default().push(*run);
    }
    let has_both = |runs: &Vec<Run<'a>>| runs.iter().any(|run| run.direction != runs[0].direction);
    by_descriptor.into_values().filter(has_both).collect()
}

fn is_data(step: &Step) -> bool {
    matches!(step.kind, StepKind::Read | StepKind::Write)
}

fn run_key(run: &Run<'_>) -> (u64, i32, u64) {
    (run.start_ns, run.pass.fd, u64::from(run.pass.tgid))
}

/// What distinguishes a set of runs from another.
fn key(set: &[Run<'_>]) -> (usize, u64, u64, u64, u64) {
    let (start_ns, end_ns) = span(set).unwrap_or_default();
    let sum = |of: fn(&Run<'_>) -> u64| set.iter().map(of).sum();
    (set.len(), start_ns, end_ns, sum(|run| run.bytes), sum(|run| run.calls))
}

fn span(runs: &[Run<'_>]) -> Option<(u64, u64)> {
    Some((runs.iter().map(|run| run.start_ns).min()?, runs.iter().map(|run| run.end_ns).max()?))
}

/// Returns the sets that moved the most data, and those that took the longest, in their order.
fn largest(mut sets: Vec<Vec<Run<'_>>>) -> Vec<Vec<Run<'_>>> {
    if sets.len() > MOST_PASSES {
        let bytes = |set: &[Run<'_>]| set.iter().map(|run| run.bytes).sum::<u64>();
        let time = |set: &[Run<'_>]| span(set).map_or(0, |(start_ns, end_ns)| end_ns - start_ns);
        let least = |mut all: Vec<u64>| {
            all.sort_unstable_by_key(|amount| std::cmp::Reverse(*amount));
            all[MOST_PASSES - 1]
        };
        let least_bytes = least(sets.iter().map(|set| bytes(set)).collect());
        let least_ns = least(sets.iter().map(|set| time(set)).collect());
        sets.retain(|set| bytes(set) >= least_bytes || time(set) >= least_ns);
        sets.truncate(2 * MOST_PASSES);
    }
    sets
}

/// Returns the runs that are passes of their own: of groups of few runs, one after the other, and those that took a part
/// of the time of a large group. Files that are used at the same time, or by the hundred, are timed together.
fn single_runs<'a>(groups: &[Vec<Run<'a>>]) -> Vec<Vec<Run<'a>>> {
    let of_group = |group: &Vec<Run<'a>>| {
        let least_ns = match (group.len() <= MOST_OF_GROUP, span(group)) {
            // Among runs of like lengths none is.
            (false, Some((start_ns, end_ns))) => {
                ((end_ns - start_ns) as f64 * LEAST_SHARE.max(4.0 / group.len() as f64)) as u64
            }
            _ => 0,
        };
        let ends_before: Vec<u64> = group
            .iter()
            .scan(0, |until_ns: &mut u64, run| Some(std::mem::replace(until_ns, run.end_ns.max(*until_ns))))
            .collect();
        let is_apart = |place: usize| {
            let next = group.get(place + 1);
            group[place].start_ns >= ends_before[place] && next.is_none_or(|next| next.start_ns >= group[place].end_ns)
        };
        let all_apart = (0..group.len()).all(is_apart);
        let own = (0..group.len()).filter(|place| match group.len() <= MOST_OF_GROUP {
            true => all_apart,
            false => is_apart(*place) && group[*place].end_ns - group[*place].start_ns >= least_ns.max(1),
        });
        own.map(|place| vec![group[place]]).collect::<Vec<_>>()
    };
    largest(groups.iter().flat_map(of_group).collect())
}

/// Divides the runs, which are in the order of their starts, into groups: of one direction, with calls of like size.
fn groups<'a>(runs: &[Run<'a>]) -> Vec<Vec<Run<'a>>> {
    // By direction and size of a call; the end of each.
    let mut open: BTreeMap<(bool, u32), (u64, Vec<Run<'a>>)> = BTreeMap::new();
    let mut done = Vec::new();
    for run in runs {
        let writes = run.direction == Direction::Write;
        let size = (run.bytes / run.calls.max(1)).max(1).ilog2();
        // A pass of the other direction that ended before ends here, and so does one that paused.
        let ends = |key: &(bool, u32), until_ns: u64| match (key.0 == writes, key.1 == size) {
            (true, true) => run.start_ns.saturating_sub(until_ns) > PAUSE_NS,
            (true, false) => false,
            (false, _) => until_ns <= run.start_ns,
        };
        let ended: Vec<(bool, u32)> =
            open.iter().filter(|(key, (until_ns, _))| ends(key, *until_ns)).map(|(key, _)| *key).collect();
        done.extend(ended.iter().filter_map(|key| open.remove(key)).map(|(_, group)| group));
        let (until_ns, group) = open.entry((writes, size)).or_default();
        *until_ns = run.end_ns.max(*until_ns);
        group.push(*run);
    }
    done.extend(open.into_values().map(|(_, group)| group));
    done
}

/// Returns the files that hold the program's data: those that it wrote, or read enough of. Libraries, sources, scripts,
/// settings and the kernel's own files are not.
fn data_files(activity: &Activity) -> HashSet<FileId> {
    let scripts: HashSet<&str> = activity.execs.iter().map(|exec| exec.filename.as_str()).collect();
    let is_other = |name: &String| {
        scripts.contains(name.as_str()) || ["/proc/", "/sys/"].iter().any(|folder| name.starts_with(folder))
    };
    let others = activity.files.iter().filter(|file| file.names.iter().any(is_other));
    let others: HashSet<FileId> = others.map(|file| file.id).collect();
    #[derive(Default)]
    struct Moved {
        read: u64,
        reads: u64,
        written: u64,
        is_mapped: bool,
    }
    let mut moved: HashMap<FileId, Moved> = HashMap::new();
    for pass in &activity.passes {
        let file = moved.entry(pass.file).or_default();
        for step in &pass.steps {
            match step.kind {
                StepKind::Read => {
                    file.read += step.bytes;
                    file.reads += step.calls;
                }
                StepKind::Write => file.written += step.bytes,
                StepKind::Map => file.is_mapped = true,
                _ => {}
            }
        }
    }
    let is_data = |file: &Moved| {
        let is_much = file.read >= LEAST_READ_BYTES;
        file.written > 0 || is_much || file.reads >= LEAST_READ_CALLS && !file.is_mapped
    };
    let most = moved.values().map(|file| file.read).max().unwrap_or(0);
    let least = LEAST_READ_BYTES.min(most / LEAST_PART);
    let is_own = |file: &Moved| file.written > 0 || file.read >= least;
    let own = moved.into_iter().filter(|(id, file)| is_data(file) && is_own(file) && !others.contains(id));
    own.map(|(id, _)| id).collect()
}

fn names(activity: &Activity) -> HashMap<FileId, &str> {
    activity.files.iter().filter_map(|file| Some((file.id, file.names.first()?.as_str()))).collect()
}
