//! Passes found in the I/O itself, for a program that no adapter knows.
//!
//! A *run* is what one descriptor moved in one direction, from its open, from a call of the other direction or from where
//! other threads go on with it. Runs of one direction, with calls of like size and no run of the other direction or pause
//! between them, form a *group*; all runs of a direction together form a *total*. Where both directions overlap in time,
//! they have a common total, and so has a descriptor with both. Where the program printed something between the runs of a
//! group, the runs between two prints are a pass of their own. Files that are made or deleted one after the other are
//! passes over names. Each of these is a pass, at most [`MOST_PASSES`] of each kind.
//!
//! Time and memory are linear in the steps of the activity, apart from sorting the runs.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use activebench_model::activity::{Activity, CallSpan, Pass, Shift, Step, StepKind, Task};
use activebench_model::call::{FileId, Op, open_bits};
use activebench_model::grouped::Grouped;
use activebench_model::observed_pass::{ObservedPass, ObservedWindow};
use activebench_model::phase::{Direction, Division, Part, PartEnd, Phase};
use foldhash::{HashMap, HashSet};

use crate::evidence::{LEAST_READ_BYTES, identifier, successful};

mod names;
mod task_clocks;

use names::NameRun;

/// Largest number of passes of each kind: those that moved the most data.
const MOST_PASSES: usize = 24;

/// Largest number of runs of a group that are all passes of their own.
const MOST_OF_GROUP: usize = 8;

/// Of a larger group, a run of this share of its time is a pass of its own.
const LEAST_SHARE: f64 = 0.02;

/// A pause between two runs that ends a group.
const PAUSE_NS: u64 = 1_000_000_000;

/// Share of the time of a pass within which a print behind it is about it.
const SOON: f64 = 0.1;

/// Most runs of a descriptor among which those of the other direction are looked for.
const MOST_BESIDE: usize = 64;

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
    /// In the order of their starts; behind them those without their first call.
    runs: Vec<Run<'a>>,
    /// The runs of each descriptor that has reads and writes.
    mixed: BTreeMap<Descriptor, Set>,
    /// The runs of each pass of data.
    members: Vec<Set>,
    /// In the order of their starts.
    name_runs: Vec<NameRun>,
    /// The files of each pass over names; those passes are behind the passes of data.
    named: Vec<Set>,
    global_syncs: Vec<CallSpan>,
    /// Syncs of each file that made its data durable, through any descriptor of any process, in order.
    syncs: HashMap<FileId, Vec<CallSpan>>,
    /// Calls that only began or awaited the writing of its data, likewise.
    waits: HashMap<FileId, Vec<CallSpan>>,
    /// Descriptors through which no data went, by process and file, in order: they were opened and then duplicated, or left
    /// to a process that was started.
    bare: HashMap<(u32, FileId), Vec<Bare>>,
    processes: Processes,
    /// Threads other than the first of their process.
    threads: HashMap<u32, Thread>,
}

/// A thread that a program may have started for a pass.
#[derive(Clone, Copy, Debug)]
struct Thread {
    start_ns: u64,
    /// Start of the first run whose first call it made.
    first_run_ns: u64,
}

/// The processes that the program started and that have ended. A script times them from outside.
#[derive(Debug)]
struct Processes {
    by_number: Grouped<u32, Process>,
    /// Start and end of those of each parent, in order.
    of_parent: Grouped<u32, (u64, u64)>,
}

#[derive(Clone, Copy, Debug)]
struct Process {
    parent: u32,
    start_ns: u64,
    end_ns: u64,
}

impl Processes {
    fn new(activity: &Activity) -> Self {
        let known: HashSet<u32> = activity.tasks.iter().map(|task| task.tgid).collect();
        let ended = || {
            let of_known =
                activity.tasks.iter().filter(|task| task.tid == task.tgid && known.contains(&task.parent_tgid));
            of_known.filter_map(|task| Some((task, task.end_ns?)))
        };
        let process = |task: &Task, end_ns| Process { parent: task.parent_tgid, start_ns: task.start_ns, end_ns };
        Self {
            by_number: Grouped::new(ended().map(|(task, end_ns)| (task.tgid, process(task, end_ns))), |_| ()),
            of_parent: Grouped::new(
                ended().map(|(task, end_ns)| (task.parent_tgid, (task.start_ns, end_ns))),
                |span| *span,
            ),
        }
    }

    /// Returns the last process that had a number.
    fn get(&self, tgid: u32) -> Option<Process> {
        self.by_number.get(&tgid).last().copied()
    }

    /// Returns the end of the process that a parent had before a time, and the start of its next one after another time.
    fn around(&self, parent: u32, start_ns: u64, end_ns: u64) -> Option<(u64, u64)> {
        let spans = self.of_parent.get(&parent);
        let before = spans[..spans.partition_point(|(own_ns, _)| *own_ns < start_ns)].last()?;
        let after = spans.get(spans.partition_point(|(own_ns, _)| *own_ns < end_ns))?;
        (before.1 <= start_ns).then_some((before.1, after.0))
    }
}

/// A descriptor through which no data went.
#[derive(Clone, Copy, Debug)]
struct Bare {
    /// When it was made.
    at_ns: u64,
    /// When the file was opened: earlier, for a duplicate.
    open_ns: u64,
    is_duplicate: bool,
    /// End of its close; `None` where it was never closed.
    close_ns: Option<u64>,
}

/// Puts descriptors in their order, each duplicate with the open before it.
fn in_order_with_opens(bare: &mut [Bare]) {
    bare.sort_by_key(|one| one.at_ns);
    let mut opened_ns = None;
    for one in bare {
        match opened_ns {
            Some(open_ns) if one.is_duplicate => one.open_ns = open_ns,
            _ => opened_ns = Some(one.open_ns),
        }
    }
}

/// Returns the first of these calls, in their order, that began behind a run of writes; `None` behind reads.
fn first_behind(syncs: &[CallSpan], run: &Run<'_>) -> Option<CallSpan> {
    let behind = syncs.partition_point(|sync| sync.start_ns < run.end_ns);
    syncs.get(behind).copied().filter(|_| run.direction == Direction::Write)
}

/// A descriptor: its process, its number, when it was opened.
type Descriptor = (u32, i32, u64);

/// Places in a list of runs, ascending: a run is in several passes, and there may be a million of them.
type Set = Vec<u32>;

/// What one descriptor moved in one direction without an interruption.
#[derive(Clone, Copy, Debug)]
struct Run<'a> {
    pass: &'a Pass,
    direction: Direction,
    start_ns: u64,
    end_ns: u64,
    bytes: u64,
    calls: u64,
    /// The thread of its first call, where that is known.
    tid: Option<NonZeroU32>,
    /// True if it is the first data of its descriptor.
    is_first: bool,
    /// True if it is the last data of its descriptor.
    is_last: bool,
}

impl Run<'_> {
    fn descriptor(&self) -> Descriptor {
        (self.pass.tgid, self.pass.fd, self.pass.open.map_or(0, |open| open.start_ns))
    }

    /// Returns its thread, where other threads used the descriptor before it or afterwards.
    fn thread_of_shift(&self) -> Option<u32> {
        let shifts = self.pass.steps.iter().filter_map(|step| step.shifts.as_ref()).flat_map(|shifts| &shifts.0);
        let mut own = shifts.filter(|shift| (shift.start_ns, shift.end_ns) == (self.start_ns, self.end_ns));
        own.next()?.tid
    }

    fn overlaps(&self, other: &Run<'_>) -> bool {
        self.start_ns < other.end_ns && other.start_ns < self.end_ns
    }
}

impl<'a> ObservedPasses<'a> {
    /// Finds the passes.
    pub fn new(activity: &'a Activity) -> Self {
        let global_syncs = successful(activity);
        let data = data_files(activity);
        let (mut syncs, mut waits) = (HashMap::default(), HashMap::default());
        let mut bare: HashMap<(u32, FileId), Vec<Bare>> = HashMap::default();
        for pass in activity.passes.iter().filter(|pass| data.contains(&pass.file)) {
            let own = pass.steps.iter().filter(|step| step.kind == StepKind::Sync).flat_map(|step| &step.head);
            for span in own.map(|brief| brief.span).filter(|span| span.returned == 0) {
                let of_kind: &mut HashMap<_, Vec<_>> = if span.op.makes_durable() { &mut syncs } else { &mut waits };
                of_kind.entry(pass.file).or_default().push(span);
            }
            if let Some(open) = pass.open.filter(|_| !pass.steps.iter().any(is_data)) {
                let is_duplicate = open.op == Op::Dup;
                let (at_ns, close_ns) = (open.start_ns, pass.close.map(|close| close.end_ns));
                bare.entry((pass.tgid, pass.file)).or_default().push(Bare {
                    at_ns,
                    open_ns: at_ns,
                    is_duplicate,
                    close_ns,
                });
            }
        }
        let in_order = |spans: &mut Vec<CallSpan>| spans.sort_by_key(|span| span.start_ns);
        syncs.values_mut().chain(waits.values_mut()).for_each(in_order);
        bare.values_mut().for_each(|bare| in_order_with_opens(bare));
        let mut found = Self {
            passes: Vec::new(),
            runs: Vec::new(),
            mixed: BTreeMap::new(),
            members: Vec::new(),
            name_runs: Vec::new(),
            named: Vec::new(),
            global_syncs,
            syncs,
            waits,
            bare,
            processes: Processes::new(activity),
            threads: HashMap::default(),
        };
        for pass in activity.passes.iter().filter(|pass| data.contains(&pass.file)) {
            add_runs(pass, &mut found.runs);
        }
        drop(data);
        found.runs.shrink_to_fit();
        if !found.runs.is_sorted_by_key(|run| run.start_ns) {
            found.runs.sort_by_key(|run| run.start_ns);
        }
        found.threads = threads(activity, &found.runs);
        let prints = prints(activity);
        let sets = found.sets(&prints);
        let names = names(activity);
        let mut ids = HashMap::default();
        for set in sets {
            found.add(set, &names, &prints, &mut ids);
        }
        found.find_parents();
        let name_runs = names::runs(activity, &names);
        drop(names);
        found.add_names(name_runs, &prints, &mut ids);
        found
    }

    /// Finds the runs of each pass of data.
    fn sets(&mut self, prints: &[u64]) -> Vec<Set> {
        let all: Set = places(&self.runs);
        let mut sets: Vec<Set> = Vec::new();
        let groups = groups(&self.runs);
        sets.extend(single_runs(&self.runs, &groups));
        let primed: Vec<Run<'a>> =
            sets.iter().filter_map(|set| after_first_call(&self.runs[set[0] as usize])).collect();
        sets.extend((all.len()..).take(primed.len()).map(|place| vec![place as u32]));
        self.runs.extend(primed);
        let runs = &self.runs;
        sets.extend(largest(runs, groups.iter().flat_map(|group| between_prints(runs, group, prints)).collect()));
        sets.extend(largest(runs, groups));
        let of = |direction| all.iter().copied().filter(|place| runs[*place as usize].direction == direction).collect();
        let (reads, writes): (Set, Set) = (of(Direction::Read), of(Direction::Write));
        let overlap = span(runs, &reads).zip(span(runs, &writes));
        let overlap = overlap.is_some_and(|(read, write)| read.0 < write.1 && write.0 < read.1);
        sets.push(reads);
        sets.push(writes);
        self.mixed = mixed(runs, &all);
        sets.extend(largest(runs, self.mixed.values().cloned().collect()));
        if overlap {
            sets.push(all);
        }
        sets.retain(|set| !set.is_empty());
        let mut known = HashSet::default();
        // What is the same is one pass.
        sets.retain(|set| known.insert(key(runs, set)));
        sets
    }

    /// Returns the passes.
    pub fn passes(&self) -> &[ObservedPass] {
        &self.passes
    }

    /// Creates the phase of a pass with one of its windows. With `calls` above 1, so many calls are one operation. With
    /// the place of a clock of its processes in `each_task`, its figures are those of each process.
    ///
    /// # Panics
    /// If there is no such pass, window or clock.
    pub fn phase(&self, pass: usize, window: usize, calls: u64, each_task: Option<usize>) -> Phase {
        let observed = &self.passes[pass];
        let window = &observed.windows[window];
        let task_clock = each_task.map(|place| &observed.task_clocks[place]);
        if let Some(named) = pass.checked_sub(self.members.len()).map(|place| &self.named[place]) {
            return names::phase(observed, window, named.iter().map(|place| &self.name_runs[*place as usize]));
        }
        // The last call of a file may be shorter than the others.
        let first = self.runs_of(&self.members[pass]).next();
        let first = first.and_then(|run| run.pass.steps.iter().find(|step| is_data(step)));
        let first = first.and_then(|step| step.head.iter().find(|call| call.requested > 0));
        let call_bytes = first.map(|call| call.requested).filter(|_| calls > 1);
        let part = |run: &Run<'_>| {
            let start_ns = run.start_ns;
            let is_inside = |sync: &CallSpan| sync.end_ns <= window.end_ns;
            let (inside, after) = match self.sync_behind(run) {
                Some(sync) if is_inside(&sync) => (Some(Box::new(sync)), None),
                sync => (None, sync.map(Box::new)),
            };
            let end_ns = inside.as_ref().map_or(run.end_ns, |sync| sync.end_ns.max(run.end_ns));
            Part {
                tgid: run.pass.tgid,
                tids: run.thread_of_shift().into_iter().collect(),
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
        let mut parts: Vec<Part> = self.runs_of(&self.members[pass]).map(part).collect();
        match task_clock {
            Some(clock) => self.set_task_times(&mut parts, &self.members[pass], clock),
            None => stretch(&mut parts, window),
        }
        Phase {
            clock: window.clock.clone(),
            parts,
            block_bytes: observed.bytes.saturating_mul(calls).checked_div(observed.calls).filter(|_| calls > 1),
            division: Division::into_calls_of(call_bytes),
            requested_tasks: task_clock.map_or(1, |clock| u32::try_from(clock.rates.len()).unwrap_or(1).max(1)),
            ..Phase::planned(window.phase_of(calls, task_clock), &observed.name, observed.direction)
        }
    }

    /// Returns the runs of a set, in the order of their starts.
    fn runs_of<'b>(&'b self, set: &'b [u32]) -> impl Iterator<Item = &'b Run<'a>> + Clone {
        of_set(&self.runs, set)
    }

    /// Returns the runs of the other direction that a descriptor had at the same time: a program that mixes reads and
    /// writes has one clock for both.
    fn beside<'b>(&'b self, run: &Run<'a>) -> impl Iterator<Item = &'b Run<'a>> {
        let set = self.mixed.get(&run.descriptor()).filter(|set| set.len() <= MOST_BESIDE);
        let run = *run;
        of_set(&self.runs, set.map_or(&[][..], Vec::as_slice))
            .filter(move |other| other.direction != run.direction && other.overlaps(&run))
    }

    /// Returns when the first of the threads began that a program started for a set of runs; `None` where a thread that
    /// has others before it, or the first thread of a process, began one of them.
    fn threads_began<'b>(&self, runs: impl Iterator<Item = &'b Run<'a>>, start_ns: u64) -> Option<u64>
    where
        'a: 'b,
    {
        let began = runs.map(|run| {
            let thread = self.threads.get(&run.tid?.get())?;
            (thread.first_run_ns >= start_ns && thread.start_ns < start_ns).then_some(thread.start_ns)
        });
        began.reduce(|one, other| Some(one?.min(other?))).flatten()
    }

    /// Returns the first successful call behind a run of writes that waited for them.
    fn sync_behind(&self, run: &Run<'_>) -> Option<CallSpan> {
        let waits = self.waits.get(&run.pass.file).and_then(|waits| first_behind(waits, run));
        [self.durable_behind(run), waits].into_iter().flatten().min_by_key(|sync| sync.start_ns)
    }

    /// Returns the first successful sync behind a run of writes that made them durable.
    fn durable_behind(&self, run: &Run<'_>) -> Option<CallSpan> {
        let own = self.syncs.get(&run.pass.file).map_or(&[][..], Vec::as_slice);
        let found = [first_behind(own, run), first_behind(&self.global_syncs, run)];
        found.into_iter().flatten().min_by_key(|sync| sync.start_ns)
    }

    /// Returns when the file of a run was opened for it: the first open, where the descriptor is a duplicate or that of
    /// another process (a shell opens `> file` before it starts the command).
    fn opened(&self, run: &Run<'_>) -> Option<u64> {
        let own = run.pass.open.map(|open| open.start_ns);
        self.bare_of(run).map(|bare| bare.open_ns).or(own)
    }

    /// Returns the end of the last close of a run's descriptor, by whoever had it too.
    fn closed(&self, run: &Run<'_>) -> Option<u64> {
        let own = run.pass.close.map(|close| close.end_ns);
        own.max(self.bare_of(run).and_then(|bare| bare.close_ns))
    }

    /// Returns the descriptor without data from which a run has its own.
    fn bare_of(&self, run: &Run<'_>) -> Option<&Bare> {
        let own = run.pass.tgid;
        let (process, until_ns) = match run.pass.open {
            Some(open) if open.op == Op::Dup => (own, open.start_ns),
            Some(_) => return None,
            None => (self.processes.get(own)?.parent, run.start_ns),
        };
        let bare = self.bare.get(&(process, run.pass.file))?;
        let last = bare[..bare.partition_point(|one| one.at_ns <= until_ns)].last()?;
        // A duplicate outlives the first. What a parent closed before, it did not leave to this process.
        let is_of = process == own || last.close_ns.is_none_or(|close_ns| close_ns >= run.start_ns);
        is_of.then_some(last)
    }

    /// Returns the times of processes that a program started for a pass: a name, the span in words, start and end. None
    /// where the program itself did a part of it.
    fn times_of_processes<'b>(
        &self,
        runs: impl Iterator<Item = &'b Run<'a>> + Clone,
        start_ns: u64,
        end_ns: u64,
    ) -> Vec<(&'static str, &'static str, u64, u64)>
    where
        'a: 'b,
    {
        let own = runs.clone().map(|run| self.processes.get(run.pass.tgid));
        let together = |one: Process, other: Process| Process {
            start_ns: one.start_ns.min(other.start_ns),
            end_ns: one.end_ns.max(other.end_ns),
            ..one
        };
        let own = own.reduce(|one, other| one.zip(other).map(|(one, other)| together(one, other)));
        let Some(Process { parent, start_ns: from_ns, end_ns: until_ns }) = own.flatten() else { return Vec::new() };
        let is_near = |from_ns: u64| start_ns.saturating_sub(from_ns) <= PAUSE_NS.max(end_ns - start_ns);
        if !is_near(from_ns) || until_ns < end_ns {
            return Vec::new();
        }
        let mut times = vec![("process", "start of the process to its end", from_ns, until_ns)];
        // `cp a b; sync b`: the sync is a process of its own.
        let synced = runs.clone().filter_map(|run| self.processes.get(self.sync_behind(run)?.tid));
        let synced_ns = synced.map(|process| process.end_ns).max().filter(|at_ns| *at_ns > until_ns);
        let to_sync = "start of the process to the end of the one that synced";
        times.extend(synced_ns.map(|at_ns| ("process-and-sync", to_sync, from_ns, at_ns)));
        // `date; cat a > b; date`: the shell opens and closes the file.
        let opened_ns = runs.filter_map(|run| self.opened(run)).min().unwrap_or(from_ns);
        let between = self.processes.around(parent, from_ns.min(opened_ns), synced_ns.unwrap_or(until_ns));
        let of_between = "end of the process before to the start of the next one";
        times.extend(
            between
                .filter(|(before_ns, _)| is_near(*before_ns))
                .map(|(before_ns, after_ns)| ("all-between-processes", of_between, before_ns, after_ns)),
        );
        times
    }

    fn add(&mut self, set: Set, names: &HashMap<FileId, &str>, prints: &[u64], ids: &mut HashMap<String, u32>) {
        let runs = || self.runs_of(&set);
        let (Some((start_ns, end_ns)), Some(first)) = (span(&self.runs, &set), runs().next()) else { return };
        let direction = match runs().all(|run| run.direction == first.direction) {
            true => first.direction,
            false => Direction::Mixed,
        };
        let word = match direction {
            Direction::Read => "read",
            Direction::Write => "write",
            _ => "read-write",
        };
        let what = match runs().map(|run| run.pass.file).collect::<HashSet<FileId>>().len() {
            1 => names.get(&first.pass.file).copied().unwrap_or("unnamed").to_owned(),
            many => format!("{many} files"),
        };
        // Of several files, those that were opened before the first data moved.
        let opened = runs().filter(|run| run.is_first).filter_map(|run| self.opened(run));
        let opened = opened.filter(|open_ns| *open_ns < start_ns);
        let opened = opened.min().filter(|open_ns| start_ns - open_ns < PAUSE_NS.max(end_ns - start_ns));
        let beside = || runs().flat_map(|run| self.beside(run));
        let synced = runs()
            .chain(beside())
            .filter_map(|run| self.sync_behind(run))
            .map(|sync| sync.end_ns)
            .filter(|at_ns| *at_ns > end_ns)
            .max();
        // Of all that was written.
        let is_synced = |until_ns: u64| {
            let mut written = runs().filter(|run| run.direction == Direction::Write).peekable();
            written.peek().is_some()
                && written.all(|run| self.durable_behind(run).is_some_and(|sync| sync.end_ns <= until_ns))
        };
        let closed = runs().filter(|run| run.is_last).filter_map(|run| self.closed(run));
        let closed = closed.filter(|at_ns| *at_ns > end_ns).max();
        let mut ends = vec![("", end_ns)];
        ends.extend(synced.map(|at_ns| ("sync", at_ns)));
        ends.extend(closed.map(|at_ns| ("close", at_ns)));
        // The clock of a process that waits for several others stops before it prints.
        let is_of_several = runs().any(|run| run.pass.tgid != first.pass.tgid);
        let last_ns = ends.iter().map(|(_, at_ns)| *at_ns).max().unwrap_or(end_ns);
        let printed = prints.get(prints.partition_point(|at_ns| *at_ns <= last_ns)).copied();
        let printed = printed.filter(|at_ns| ((at_ns - last_ns) as f64) < (last_ns - start_ns) as f64 * SOON);
        ends.extend(printed.filter(|_| is_of_several).map(|at_ns| ("print", at_ns)));
        let of_processes = self.times_of_processes(runs(), start_ns, end_ns);
        let mut windows = Vec::new();
        let stem = format!("{word}-{}", identifier(&what));
        let is_near = |began_ns: &u64| start_ns - began_ns < PAUSE_NS.max(end_ns - start_ns);
        let thread = self.threads_began(runs(), start_ns).filter(is_near);
        let begins = [("", Some(start_ns)), ("open", opened), ("thread", thread)];
        for (from, start_ns) in begins.iter().filter_map(|(from, start_ns)| Some((*from, (*start_ns)?))) {
            for (until, end_ns) in &ends {
                let kind = match (from, *until) {
                    ("", "") => String::new(),
                    ("", until) => format!("-with-{until}"),
                    (from, "") => format!("-with-{from}"),
                    (from, until) => format!("-with-{from}-and-{until}"),
                };
                let begins = match from {
                    "" => format!("first {word}"),
                    "thread" => "start of its thread".to_owned(),
                    from => from.to_owned(),
                };
                let ends = match *until {
                    "" => format!("last {word}"),
                    "sync" => "end of the sync behind it".to_owned(),
                    "print" => "next print".to_owned(),
                    _ => "close".to_owned(),
                };
                let phase = unique(format!("{stem}{kind}"), ids);
                let clock = format!("inferred from the printed figure: {begins} to {ends}");
                let has_sync = is_synced(*end_ns);
                windows.push(ObservedWindow { phase, clock, start_ns, end_ns: *end_ns, has_sync });
            }
        }
        for (kind, span, start_ns, end_ns) in of_processes {
            let phase = unique(format!("{stem}-with-{kind}"), ids);
            let clock = format!("inferred from the printed figure: {span}");
            windows.push(ObservedWindow { phase, clock, start_ns, end_ns, has_sync: is_synced(end_ns) });
        }
        let observed = ObservedPass {
            names: None,
            name: format!("{} of {what}", word.replace('-', " and ")),
            direction,
            bytes: runs().map(|run| run.bytes).sum(),
            calls: runs().map(|run| run.calls).sum(),
            opens: set.len() as u64,
            is_direct: runs().all(|run| run.pass.open_flags & open_bits::DIRECT != 0),
            is_synchronous: runs().all(|run| run.pass.open_flags & (open_bits::SYNC | open_bits::DSYNC) != 0),
            task_clocks: self.task_clocks(&set),
            windows,
            parent: None,
        };
        self.passes.push(observed);
        self.members.push(set);
    }

    /// Finds the smallest pass around each.
    fn find_parents(&mut self) {
        for (place, own) in self.members.iter().enumerate() {
            let around = (place + 1..self.members.len()).filter(|other| self.members[*other].len() > own.len());
            // Of many runs some are enough: sets are divided by time or by descriptor.
            let step = (own.len() / 16).max(1);
            let has = |other: &usize, run: &u32| self.members[*other].binary_search(run).is_ok();
            let around = around.filter(|other| own.iter().step_by(step).all(|run| has(other, run)));
            self.passes[place].parent = around.min_by_key(|other| self.members[*other].len());
        }
    }
}

/// Stretches parts so that their window together is one of the windows of their pass.
fn stretch(parts: &mut [Part], window: &ObservedWindow) {
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
}

/// Adds the runs of a descriptor.
fn add_runs<'a>(pass: &'a Pass, runs: &mut Vec<Run<'a>>) {
    let data = || pass.steps.iter().filter(|step| is_data(step));
    let changes = data().zip(data().skip(1)).filter(|(one, next)| one.kind != next.kind).count();
    let begin = runs.len();
    let mut add = |step: &Step, shift: Shift, goes_on: bool| {
        let direction = if step.kind == StepKind::Read { Direction::Read } else { Direction::Write };
        let own = &mut runs[begin..];
        let known = match changes >= MIXED_FROM {
            true => own.iter_mut().find(|run| run.direction == direction),
            false => own.last_mut().filter(|run| run.direction == direction && goes_on),
        };
        match known.filter(|run| shift.start_ns.saturating_sub(run.end_ns) < PAUSE_NS) {
            Some(run) => {
                run.end_ns = run.end_ns.max(shift.end_ns);
                run.bytes += shift.bytes;
                run.calls += shift.calls;
            }
            None => runs.push(Run {
                pass,
                direction,
                start_ns: shift.start_ns,
                end_ns: shift.end_ns,
                bytes: shift.bytes,
                calls: shift.calls,
                tid: shift.tid.or_else(|| first_thread(step, shift)).and_then(NonZeroU32::new),
                is_first: false,
                is_last: false,
            }),
        }
    };
    for step in data().filter(|step| step.end_ns > step.start_ns) {
        match &step.shifts {
            Some(shifts) => shifts.0.iter().enumerate().for_each(|(place, shift)| add(step, *shift, place == 0)),
            None => add(step, step.as_shift(), true),
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
}

/// Returns the thread of the first call of a shift, where that is known.
fn first_thread(step: &Step, shift: Shift) -> Option<u32> {
    step.head.iter().find(|call| call.span.start_ns == shift.start_ns).map(|call| call.span.tid)
}

/// Returns the threads that began runs, without the first ones of their processes. Of a number that several threads had, one
/// after the other, nothing is known.
fn threads(activity: &Activity, runs: &[Run<'_>]) -> HashMap<u32, Thread> {
    let mut first_runs: HashMap<u32, u64> = HashMap::default();
    for run in runs {
        if let Some(tid) = run.tid.map(NonZeroU32::get).filter(|tid| *tid != run.pass.tgid) {
            first_runs.entry(tid).and_modify(|at_ns| *at_ns = run.start_ns.min(*at_ns)).or_insert(run.start_ns);
        }
    }
    let mut threads = HashMap::default();
    for task in activity.tasks.iter().filter(|task| task.tid != task.tgid) {
        let Some(first_run_ns) = first_runs.get(&task.tid).copied() else { continue };
        let thread = Thread { start_ns: task.start_ns, first_run_ns };
        let is_again = threads.insert(task.tid, thread).is_some();
        if is_again {
            first_runs.remove(&task.tid);
            threads.remove(&task.tid);
        }
    }
    threads
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

/// Returns when the program printed something, in order.
fn prints(activity: &Activity) -> Vec<u64> {
    let printed = activity.output_writes.iter().filter(|write| write.span.returned > 0);
    let mut prints: Vec<u64> = printed.map(|write| write.span.start_ns).collect();
    prints.sort_unstable();
    prints
}

/// Divides a group where the program printed something between two runs; nothing for a group without such a place.
fn between_prints(runs: &[Run<'_>], group: &[u32], prints: &[u64]) -> Vec<Set> {
    let mut parts: Vec<Set> = Vec::new();
    let mut until_ns = 0;
    for place in group {
        let run = &runs[*place as usize];
        let next = prints.get(prints.partition_point(|at_ns| *at_ns < until_ns));
        let is_apart = parts.is_empty() || run.start_ns >= until_ns && next.is_some_and(|at_ns| *at_ns <= run.start_ns);
        match parts.last_mut().filter(|_| !is_apart) {
            Some(part) => part.push(*place),
            None => parts.push(vec![*place]),
        }
        until_ns = until_ns.max(run.end_ns);
    }
    if parts.len() > 1 { parts } else { Vec::new() }
}

/// Returns the reads and writes together of each descriptor that has both.
fn mixed(runs: &[Run<'_>], all: &[u32]) -> BTreeMap<Descriptor, Set> {
    let mut by_descriptor: BTreeMap<Descriptor, Set> = BTreeMap::new();
    for place in all {
        by_descriptor.entry(runs[*place as usize].descriptor()).or_default().push(*place);
    }
    let direction = |place: u32| runs[place as usize].direction;
    by_descriptor.retain(|_, set| set.iter().any(|place| direction(*place) != direction(set[0])));
    by_descriptor
}

fn is_data(step: &Step) -> bool {
    matches!(step.kind, StepKind::Read | StepKind::Write)
}

/// Returns the places of all runs.
fn places<T>(runs: &[T]) -> Set {
    // Memory ends long before these numbers do.
    (0..u32::try_from(runs.len()).unwrap_or(u32::MAX)).collect()
}

fn of_set<'b, T>(runs: &'b [T], set: &'b [u32]) -> impl Iterator<Item = &'b T> + Clone {
    set.iter().map(|place| &runs[*place as usize])
}

/// What distinguishes a set of runs from another: its directions (a copy in the kernel is a read and a write at one time),
/// their number, its time, its bytes and calls.
type Key = ([bool; 2], usize, Option<(u64, u64)>, u64, u64);

fn key(runs: &[Run<'_>], set: &[u32]) -> Key {
    let sum = |of: fn(&Run<'_>) -> u64| of_set(runs, set).map(of).sum();
    let has = |direction| of_set(runs, set).any(|run| run.direction == direction);
    let directions = [Direction::Read, Direction::Write].map(has);
    (directions, set.len(), span(runs, set), sum(|run| run.bytes), sum(|run| run.calls))
}

fn span(runs: &[Run<'_>], set: &[u32]) -> Option<(u64, u64)> {
    let of = || of_set(runs, set);
    Some((of().map(|run| run.start_ns).min()?, of().map(|run| run.end_ns).max()?))
}

/// Returns the sets that moved the most data, and those that took the longest, in their order.
fn largest(runs: &[Run<'_>], mut sets: Vec<Set>) -> Vec<Set> {
    if sets.len() > MOST_PASSES {
        let bytes = |set: &Set| of_set(runs, set).map(|run| run.bytes).sum::<u64>();
        let time = |set: &Set| span(runs, set).map_or(0, |(start_ns, end_ns)| end_ns - start_ns);
        let least = |mut all: Vec<u64>| {
            all.sort_unstable_by_key(|amount| std::cmp::Reverse(*amount));
            all[MOST_PASSES - 1]
        };
        let least_bytes = least(sets.iter().map(bytes).collect());
        let least_ns = least(sets.iter().map(time).collect());
        sets.retain(|set| bytes(set) >= least_bytes || time(set) >= least_ns);
        sets.truncate(2 * MOST_PASSES);
    }
    sets
}

/// Returns the runs that are passes of their own: of groups of few runs, one after the other, and those that took a part
/// of the time of a large group. Files that are used at the same time, or by the hundred, are timed together.
fn single_runs(runs: &[Run<'_>], groups: &[Set]) -> Vec<Set> {
    let of_group = |group: &Set| {
        let least_ns = match (group.len() <= MOST_OF_GROUP, span(runs, group)) {
            // Among runs of like lengths none is.
            (false, Some((start_ns, end_ns))) => {
                ((end_ns - start_ns) as f64 * LEAST_SHARE.max(4.0 / group.len() as f64)) as u64
            }
            _ => 0,
        };
        let run = |place: usize| &runs[group[place] as usize];
        let ends_before: Vec<u64> = of_set(runs, group)
            .scan(0, |until_ns: &mut u64, run| Some(std::mem::replace(until_ns, run.end_ns.max(*until_ns))))
            .collect();
        let is_apart = |place: usize| {
            let is_before_next = place + 1 == group.len() || run(place + 1).start_ns >= run(place).end_ns;
            run(place).start_ns >= ends_before[place] && is_before_next
        };
        let all_apart = (0..group.len()).all(is_apart);
        let own = (0..group.len()).filter(|place| match group.len() <= MOST_OF_GROUP {
            true => all_apart,
            false => is_apart(*place) && run(*place).end_ns - run(*place).start_ns >= least_ns.max(1),
        });
        own.map(|place| vec![group[place]]).collect::<Vec<_>>()
    };
    largest(runs, groups.iter().flat_map(of_group).collect())
}

/// Divides the runs, which are in the order of their starts, into groups: of one direction, with calls of like size.
fn groups(runs: &[Run<'_>]) -> Vec<Set> {
    // By direction and size of a call; the end of each.
    let mut open: BTreeMap<(bool, u32), (u64, Set)> = BTreeMap::new();
    let mut done = Vec::new();
    for (place, run) in (0..).zip(runs) {
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
        group.push(place);
    }
    done.extend(open.into_values().map(|(_, group)| group));
    done
}

/// Returns the files that hold the program's data: those that it wrote, or read enough of. Libraries, sources, scripts,
/// settings and the kernel's own files are not.
fn data_files(activity: &Activity) -> HashSet<FileId> {
    let scripts: HashSet<&str> = activity.execs.iter().map(|exec| exec.filename.as_str()).collect();
    let is_other =
        |name: &str| scripts.contains(name) || ["/proc/", "/sys/"].iter().any(|folder| name.starts_with(folder));
    let virtual_ones = activity.virtual_file_systems();
    let is_other = activity.has_name(is_other);
    let is_data = |pass: &&Pass| !virtual_ones.contains(&pass.file.s_dev) && !is_other(pass);
    #[derive(Default)]
    struct Moved {
        read: u64,
        reads: u64,
        written: u64,
        is_mapped: bool,
    }
    let mut moved: HashMap<FileId, Moved> = HashMap::default();
    for pass in activity.passes.iter().filter(is_data) {
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
    let has_data = |file: &Moved| {
        let is_much = file.read >= LEAST_READ_BYTES;
        file.written > 0 || is_much || file.reads >= LEAST_READ_CALLS && !file.is_mapped
    };
    let most = moved.values().map(|file| file.read).max().unwrap_or(0);
    let least = LEAST_READ_BYTES.min(most / LEAST_PART);
    let is_own = |file: &Moved| file.written > 0 || file.read >= least;
    moved.into_iter().filter(|(_, file)| has_data(file) && is_own(file)).map(|(id, _)| id).collect()
}

fn names(activity: &Activity) -> HashMap<FileId, &str> {
    activity.files.iter().filter_map(|file| Some((file.id, file.names.first()?.as_str()))).collect()
}
