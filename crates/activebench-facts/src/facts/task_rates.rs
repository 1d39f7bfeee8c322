//! The pace of each task: how long its calls were in flight, how fast they moved data, and
//! at which offsets they began.

use std::collections::BinaryHeap;
use std::ops::Range;

use activebench_model::call::{Call, Op};
use activebench_model::fact::{FactName, Facts, Scope};
use activebench_model::phase::{Part, Pattern, Phase, Window};
use activebench_model::units::Quantity;

use super::call_family::CallFamily;
use super::part_index::{PartIndex, PartTasks};
use super::rate_in_fifths::{FifthNames, Fifths};
use super::record_losses::{CALLS_HOOK, Gap};
use super::span_index::KeyedSpans;
use super::windows::{end_of, has_size, is_of, is_on};

/// Number of spans of one task that are kept separately so that they can be put in order.
const KEPT: usize = 512;

/// The tasks of every phase, updated with every call.
///
/// Memory: at most 64 KiB and 24 bytes per task, 4 bytes per part and [`Phase::MOST_FIRST_OFFSETS`] offsets per phase.
pub(super) struct Paces {
    tasks: Vec<Task>,
    /// Index of each part's task in `tasks`.
    task_of: Vec<u32>,
    /// Range of each phase's tasks in `tasks`.
    tasks_of: Vec<Range<usize>>,
    /// The windows of each process' tasks, from the first call on that is about no part.
    of_process: Option<KeyedSpans<u32>>,
    fifths: Vec<Result<Fifths, String>>,
}

struct Task {
    window: Window,
    /// Its first part: that of this number in the phase of this number.
    first_part: (u32, u32),
    /// Calls that move data, and syncs.
    in_flight: Union,
    /// All calls on files: these, and opens, closes and the others. From the first of the others on: most tasks open
    /// their file before their window.
    in_calls: Option<Box<Union>>,
    /// Boxed: there may be a million tasks, and most phases need none.
    first: Option<Box<FirstOffsets>>,
}

impl Task {
    fn first_part<'a>(&self, phases: &'a [Phase]) -> &'a Part {
        let (phase, part) = self.first_part;
        &phases[phase as usize].parts[part as usize]
    }

    /// Adds a call that moves data, or a sync.
    fn add(&mut self, start_ns: u64, end_ns: u64) {
        self.in_flight.add(start_ns, end_ns);
        if let Some(in_calls) = &mut self.in_calls {
            in_calls.add(start_ns, end_ns);
        }
    }

    /// Adds another call on files.
    fn add_other(&mut self, start_ns: u64, end_ns: u64) {
        if start_ns < end_ns {
            self.in_calls.get_or_insert_with(|| Box::new(self.in_flight.clone())).add(start_ns, end_ns);
        }
    }

    fn in_calls(&self) -> &Union {
        self.in_calls.as_deref().unwrap_or(&self.in_flight)
    }
}

impl Paces {
    /// Creates the tasks. `tasks_of_phases` are those of each phase, `together` when they all were at work.
    pub(super) fn new(phases: &[Phase], tasks_of_phases: &[PartTasks], together: &[Result<Window, String>]) -> Self {
        let mut tasks: Vec<Task> = Vec::new();
        let mut task_of = Vec::with_capacity(phases.iter().map(|phase| phase.parts.len()).sum());
        let mut tasks_of = Vec::with_capacity(phases.len());
        for (phase_number, (phase, of_phase)) in (0..).zip(phases.iter().zip(tasks_of_phases)) {
            let first = tasks.len();
            tasks.reserve_exact(of_phase.count);
            for (part_number, (part, number)) in (0..).zip(phase.parts.iter().zip(&of_phase.of_parts)) {
                let window = Window { start_ns: part.start_ns, end_ns: end_of(part).max(part.start_ns) };
                let task = first + *number as usize;
                if task == tasks.len() {
                    let first_part = (phase_number, part_number);
                    tasks.push(Task { window, first_part, in_flight: Union::default(), in_calls: None, first: None });
                }
                let whole = &mut tasks[task].window;
                whole.start_ns = whole.start_ns.min(window.start_ns);
                whole.end_ns = whole.end_ns.max(window.end_ns);
                task_of.push(u32::try_from(task).expect("fewer than 2^32 tasks fit into memory"));
            }
            if matches!(phase.pattern, Pattern::RandomPermutation | Pattern::RandomIndependent) {
                let each = Phase::MOST_FIRST_OFFSETS / of_phase.count.max(1);
                tasks[first..].iter_mut().for_each(|task| task.first = Some(Box::new(FirstOffsets::new(each))));
            }
            tasks_of.push(first..tasks.len());
        }
        tasks.shrink_to_fit();
        let fifths = together.iter().map(|span| span.clone().map(Fifths::new)).collect();
        Self { tasks, task_of, tasks_of, of_process: None, fifths }
    }

    /// Counts a call that its task waits in, whatever file or file system it is about: a file system makes an open wait
    /// for its log as it does a sync.
    fn feed_of_task(&mut self, phases: &[Phase], call: &Call, is_sync: bool) {
        let of_process = self.of_process.get_or_insert_with(|| {
            let span = |(number, task): (usize, &Task)| {
                (task.first_part(phases).tgid, (task.window.start_ns, task.window.end_ns, number))
            };
            KeyedSpans::new(self.tasks.iter().enumerate().map(span))
        });
        for number in of_process.overlapping(call.tgid, call.start_ns, call.end_ns) {
            let tids = &self.tasks[number].first_part(phases).tids;
            let is_its = tids.is_empty() || tids.contains(&call.tid);
            let task = &mut self.tasks[number];
            let (start_ns, end_ns) = (call.start_ns.max(task.window.start_ns), call.end_ns.min(task.window.end_ns));
            match is_its {
                true if is_sync => task.add(start_ns, end_ns),
                true => task.add_other(start_ns, end_ns),
                false => {}
            }
        }
    }
}

/// What a task waits for in a call.
enum Waits {
    /// Its data.
    ForData,
    /// Storage, whatever the call covers.
    ForSync,
    /// The file system.
    ForFileSystem,
    /// Nothing, or what other calls and requests are about.
    Not,
}

impl Waits {
    fn of(op: Op) -> Self {
        match op {
            Op::Read | Op::Pread | Op::Readv | Op::Preadv | Op::AioRead | Op::UringRead => Self::ForData,
            Op::Write | Op::Pwrite | Op::Writev | Op::Pwritev | Op::AioWrite | Op::UringWrite => Self::ForData,
            Op::Sendfile | Op::Splice | Op::CopyFileRange => Self::ForData,
            Op::SendfileTo | Op::SpliceTo | Op::CopyFileRangeTo => Self::ForData,
            Op::Fsync | Op::Fdatasync | Op::Msync | Op::SyncFileRange | Op::Sync | Op::Syncfs => Self::ForSync,
            Op::AioFsync | Op::AioFdatasync | Op::UringFsync | Op::UringFdatasync => Self::ForSync,
            Op::Open | Op::Close | Op::Dup | Op::Lseek | Op::Stat => Self::ForFileSystem,
            Op::Unlink | Op::Rename | Op::Link => Self::ForFileSystem,
            Op::Truncate | Op::Ftruncate | Op::Fallocate | Op::Discard => Self::ForFileSystem,
            Op::Fadvise | Op::Mmap | Op::Munmap | Op::MsyncAsync => Self::ForFileSystem,
            // The kernel waits for room in the device's queue.
            Op::IoSubmit => Self::ForFileSystem,
            // Requests have records of their own; without one in flight these calls only pass time.
            Op::IoGetevents | Op::IoUringEnter | Op::UringOther => Self::Not,
            Op::Execute => Self::Not,
        }
    }
}

impl CallFamily for Paces {
    fn feed(&mut self, phases: &[Phase], parts: &mut PartIndex, call: &Call) {
        match Waits::of(call.op) {
            Waits::ForData => {}
            Waits::ForSync => return self.feed_of_task(phases, call, true),
            Waits::ForFileSystem => return self.feed_of_task(phases, call, false),
            Waits::Not => return,
        }
        for (number, place) in parts.overlapping((call.tgid, call.fd), call.start_ns, call.end_ns) {
            let (phase, part) = (&phases[place.phase()], place.part(phases));
            let end_ns = end_of(part).max(part.start_ns);
            if call.start_ns > end_ns || !is_on(part, call) {
                continue;
            }
            let task = &mut self.tasks[self.task_of[number] as usize];
            // In a phase with requests of one size, requests of other sizes are in flight too.
            task.add(call.start_ns.max(part.start_ns), call.end_ns.min(end_ns));
            let counts = is_of(phase.direction, call) && has_size(phase.call_bytes, call);
            let Ok(bytes @ 1..) = u64::try_from(call.returned) else { continue };
            if !counts {
                continue;
            }
            if let Ok(fifths) = &mut self.fifths[place.phase()] {
                fifths.add(call.start_ns, call.end_ns, bytes);
            }
            if let (Some(first), Ok(offset)) = (&mut task.first, u64::try_from(call.offset))
                && call.start_ns >= part.start_ns
                && call.end_ns <= end_ns
            {
                first.add(call.start_ns, offset);
            }
        }
    }

    /// Adds the facts of a phase, and the first offsets of its tasks.
    fn add_facts(&mut self, number: usize, phase: &mut Phase, gap: &Gap, facts: &mut Facts) {
        let tasks = &mut self.tasks[self.tasks_of[number].clone()];
        if tasks.is_empty() {
            return;
        }
        let windows: u64 = tasks.iter().map(|task| task.window.duration_ns()).sum();
        let sum = |of: fn(&Task) -> &Union| {
            let length: u64 = tasks.iter().map(|task| of(task).length()).sum();
            let late: u64 = tasks.iter().map(|task| of(task).late).sum();
            let lost = (late > 0).then(|| format!("{late} calls came too late to be put in order"));
            (length, gap.clone().and_lost(lost))
        };
        let (in_flight, gap_in_flight) = sum(|task| &task.in_flight);
        let (in_calls, gap_in_calls) = sum(Task::in_calls);
        let mut add = |name, value, gap: &Gap| {
            facts.insert(name, gap.fact(Quantity::ns(value), Scope::Tree, CALLS_HOOK));
        };
        add(FactName::TaskWindows, windows, gap);
        add(FactName::InFlight, in_flight, &gap_in_flight);
        add(FactName::InFileCalls, in_calls, &gap_in_calls);
        match &self.fifths[number] {
            Ok(fifths) => fifths.add_facts(&FifthNames::CALLS, gap, Scope::Tree, CALLS_HOOK, facts),
            Err(why) => FifthNames::CALLS.missing(why, Scope::Tree, CALLS_HOOK, facts),
        }
        // A lost call could be one of the first.
        if *gap == Gap::None {
            let first = tasks.iter_mut().filter_map(|task| task.first.take());
            phase.first_offsets = first.map(|first| first.in_order()).collect();
        }
    }
}

/// The offsets of a task's first calls.
#[derive(Debug)]
struct FirstOffsets {
    most: usize,
    /// By start, with the latest on top.
    held: BinaryHeap<(u64, u64)>,
}

impl FirstOffsets {
    fn new(most: usize) -> Self {
        Self { most, held: BinaryHeap::new() }
    }

    fn add(&mut self, start_ns: u64, offset: u64) {
        let full = self.held.len() >= self.most;
        if full && self.held.peek().is_none_or(|(latest_ns, _)| *latest_ns <= start_ns) {
            return;
        }
        if full {
            self.held.pop();
        }
        self.held.push((start_ns, offset));
    }

    fn in_order(self) -> Vec<u64> {
        self.held.into_sorted_vec().into_iter().map(|(_, offset)| offset).collect()
    }
}

/// The union of spans that arrive roughly in the order of their ends.
#[derive(Clone, Debug, Default)]
struct Union {
    /// Disjoint and ascending up to `merged`, then in the order of arrival.
    spans: Vec<(u64, u64)>,
    merged: usize,
    /// Length of the spans that were discarded, and the end of the last one.
    settled_ns: u64,
    settled_until_ns: u64,
    /// Spans that began before `settled_until_ns`.
    late: u64,
}

impl Union {
    fn add(&mut self, start_ns: u64, end_ns: u64) {
        if start_ns >= end_ns {
            return;
        }
        let from_ns = start_ns.max(self.settled_until_ns);
        self.late += u64::from(from_ns > start_ns);
        if from_ns >= end_ns {
            return;
        }
        // Many tasks make one call.
        if self.spans.is_empty() {
            self.spans.reserve_exact(1);
        }
        self.spans.push((from_ns, end_ns));
        if self.spans.len() >= self.merged + 2 * KEPT {
            self.spans = merged(std::mem::take(&mut self.spans));
            let settled = self.spans.len().saturating_sub(KEPT);
            for (start, end) in self.spans.drain(..settled) {
                self.settled_ns += end - start;
                self.settled_until_ns = end;
            }
            self.merged = self.spans.len();
        }
    }

    fn length(&self) -> u64 {
        self.settled_ns + merged(self.spans.clone()).iter().map(|(start, end)| end - start).sum::<u64>()
    }
}

fn merged(mut spans: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
    spans.sort_unstable();
    let mut merged: Vec<(u64, u64)> = Vec::with_capacity(spans.len());
    for (start, end) in spans {
        match merged.last_mut() {
            Some((_, last_end)) if start <= *last_end => *last_end = end.max(*last_end),
            _ => merged.push((start, end)),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_waits_for_what_its_class_says() {
        for op in Op::ALL {
            let moves_data = op.is_read() || op.is_write();
            let syncs = op.is_file_sync() || matches!(op, Op::Sync | Op::Syncfs);
            let waits = Waits::of(*op);
            assert_eq!(matches!(waits, Waits::ForData), moves_data, "{op:?}");
            assert_eq!(matches!(waits, Waits::ForSync), syncs, "{op:?}");
        }
    }

    #[test]
    fn time_with_calls_on_their_way_counts_once() {
        for (spans, expected) in [
            (vec![], 0),
            (vec![(5, 5), (7, 3)], 0),
            (vec![(0, 10), (5, 15), (20, 30)], 25),
            (vec![(20, 30), (0, 40)], 40),
        ] {
            let mut union = Union::default();
            spans.iter().for_each(|(start, end)| union.add(*start, *end));
            assert_eq!((union.length(), union.late), (expected, 0), "{spans:?}");
        }
    }

    #[test]
    fn long_runs_keep_little_and_stay_exact() {
        let mut union = Union::default();
        // Adjacent requests are out of order, like requests that overlap.
        for pair in 0..50_000_u64 {
            union.add(pair * 40 + 20, pair * 40 + 30);
            union.add(pair * 40, pair * 40 + 10);
        }
        assert_eq!((union.length(), union.late), (1_000_000, 0));
        assert!(union.spans.len() <= 4 * KEPT, "{}", union.spans.len());
        union.add(5, 2_000_000);
        assert_eq!(union.late, 1);
    }

    #[test]
    fn the_first_offsets_are_those_of_the_first_starts() {
        let mut first = FirstOffsets::new(3);
        for (start, offset) in [(50, 5), (10, 1), (40, 4), (20, 2), (30, 3), (60, 6)] {
            first.add(start, offset);
        }
        assert_eq!(first.in_order(), [1, 2, 3]);
        assert!(FirstOffsets::new(0).in_order().is_empty());
    }
}
