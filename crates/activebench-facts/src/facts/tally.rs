//! Counts each part's data and each thread's time.
//!
//! The blocks of a phase follow from the request sizes of all its calls, so they are known for certain only at the end.
//! They are guessed from the phase's first calls, which wait until then. Where the guess turns out wrong, the calls are
//! read again for the blocks of that phase ([`Tally::recount`]).

use std::num::NonZeroU64;
use std::ops::Range;

use activebench_model::call::{Call, FileId, Op, open_bits};
use activebench_model::errno::error_name;
use activebench_model::phase::{Direction, Part, Phase};
use foldhash::HashMap;

use super::blocks::{BlockHits, Grid, HitDistribution};
use super::completions::{Completions, OfPhase};
use super::index::Index;
use super::intervals::KeyedIntervals;
use super::latency::{Latencies, Timing};
use super::part_index::{PartIndex, PartTasks};
use super::requests::{Blocks, Sizes};
use super::shape::Shape;
use super::span_index::KeyedSpans;
use super::streams::{StreamSums, Streams};
use super::syncs::SyncLog;
use super::windows::{end_of, has_size, is_of, is_on, threads_of, threads_of_span};

/// Sums of the calls of one phase. Counts are of calls inside the parts' own windows.
#[derive(Clone, Debug, Default)]
pub(super) struct PhaseTally {
    pub(super) read_bytes: u64,
    pub(super) write_bytes: u64,
    pub(super) read_calls: u64,
    pub(super) write_calls: u64,
    pub(super) discard_bytes: u64,
    pub(super) discard_calls: u64,
    pub(super) failed_data_calls: u64,
    pub(super) short_calls: u64,
    pub(super) direct_bytes: u64,
    pub(super) sync_write_bytes: u64,
    pub(super) storage_read_bytes: u64,
    pub(super) direct_cached_bytes: u64,
    /// Bytes that the calls themselves inserted into the page cache.
    pub(super) cached_bytes: u64,
    pub(super) untimed_bytes: u64,
    /// From the start of a part to the end of the last of its calls that were in flight then.
    pub(super) in_flight_at_start_ns: u64,
    /// Data calls of the phase's direction whose offset is unknown.
    pub(super) unplaced_calls: u64,
    /// Bytes written through the page cache that a later sync covers; `uncovered_bytes`: that no sync covers.
    pub(super) covered_bytes: u64,
    pub(super) uncovered_bytes: u64,
    /// Bytes written durably, or past the page cache, by the call itself.
    pub(super) written_through_bytes: u64,
}

/// What one task moved in the direction of its phase. 16 bytes: there may be a million tasks.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Moved {
    pub(super) bytes: u64,
    pub(super) calls: u64,
}

/// The writes of one part.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PartWrites {
    /// Bytes written through the page cache that no later sync covers.
    pub(super) uncovered_bytes: u64,
    /// Exit of the last write that needs a sync.
    pub(super) last_cached_write_ns: Option<NonZeroU64>,
    /// Exit of the last write that does not need a sync.
    pub(super) last_through_write_ns: Option<NonZeroU64>,
}

/// The blocks that one phase touched in one file, in its own direction.
#[derive(Debug)]
struct Touched {
    hits: BlockHits,
    lowest: u64,
    highest_end: u64,
    /// Highest end of any access to the file: for reads, the end of the file.
    file_end: u64,
    /// What the tasks have in common; `None` where one task alone uses the file.
    streams: Option<Box<Streams>>,
}

/// The blocks that one phase touched in all its files.
#[derive(Debug, Default)]
pub(super) struct TouchedBlocks {
    pub(super) hits: HitDistribution,
    /// Blocks from the lowest to the highest touched byte, added over the files.
    pub(super) region_blocks: u64,
    /// Bytes of the touched blocks, limited to those of the region.
    pub(super) bytes: u64,
    /// What the tasks have in common in the files that several of them use; `None` without such a file.
    pub(super) streams: Option<StreamSums>,
}

/// Number of a phase's calls from which its blocks are guessed.
const CALLS_OF_A_GUESS: usize = 1 << 12;

/// The division of a phase into blocks.
#[derive(Debug, Default)]
struct PhaseBlocks {
    sizes: Sizes,
    /// Grid by which the blocks are counted; `None` inside when no call requested any data.
    grid: Option<Option<Grid>>,
    /// Calls that wait for the grid: index in `Tally::touched`, offset, bytes.
    waiting: Vec<(usize, u64, u64)>,
    /// True if the guess of the grid was wrong.
    guessed_wrong: bool,
}

/// What the calls of a part are compared with, and where they are counted. 40 bytes: there may be a million parts, and
/// nothing happens at time 0.
struct PlannedPart {
    /// Start of the last sync that covers this part's file: it covers writes that ended before.
    covered_until_ns: Option<NonZeroU64>,
    writes: PartWrites,
    /// Index of the phase's task in `Tally::tasks`.
    task: u32,
    /// Index of the phase's file in `Tally::touched`.
    touched: u32,
}

/// Time of one thread in one span of a phase.
#[derive(Debug)]
pub(super) struct ThreadSpan {
    pub(super) start_ns: u64,
    pub(super) end_ns: u64,
    phase: u32,
    pub(super) tid: u32,
    /// True after its first call inside was seen: from then on the time before a call is inside too.
    begun: bool,
}

impl ThreadSpan {
    /// A span of a thread in a phase, for tests.
    #[cfg(test)]
    pub(super) fn of(phase: u32, tid: u32, start_ns: u64, end_ns: u64) -> Self {
        Self { start_ns, end_ns, phase, tid, begun: false }
    }

    /// Returns the index of its phase.
    pub(super) fn phase(&self) -> usize {
        self.phase as usize
    }
}

/// CPU time of a phase's threads.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PhaseCpu {
    pub(super) threads_ns: u64,
    pub(super) user_ns: u64,
    pub(super) kernel_ns: u64,
    /// System calls, without the requests that some of them submit.
    pub(super) system_calls: u64,
}

/// The counters of every phase, updated with every call.
pub(super) struct Tally<'a> {
    index: &'a Index<'a>,
    phases: &'a [Phase],
    /// By the numbers of [`PartIndex`].
    planned: Vec<PlannedPart>,
    /// Range of each phase's parts in `planned`.
    parts_of: Vec<Range<usize>>,
    tasks: Vec<Moved>,
    /// Range of each phase's tasks in `tasks`.
    tasks_of: Vec<Range<usize>>,
    of_phases: Vec<PhaseTally>,
    touched: Vec<Touched>,
    /// Range of each phase's files in `touched`.
    touched_of: Vec<Range<usize>>,
    blocks: Vec<PhaseBlocks>,
    shapes: Vec<Shape>,
    threads: Vec<ThreadSpan>,
    by_thread: KeyedSpans<u32>,
    cpu: Vec<PhaseCpu>,
    /// Durations of the calls that submit asynchronous requests, by phase.
    submissions: Vec<Latencies>,
    /// Total time in `io_submit`, by phase.
    io_submit_ns: Vec<Option<u64>>,
    completions: Completions,
}

impl<'a> Tally<'a> {
    /// Creates the counters. `tasks_of_phases` are the tasks of each phase; `limits` has, for each phase and file, the time
    /// until which a sync counts.
    pub(super) fn new(
        index: &'a Index<'a>,
        phases: &'a [Phase],
        tasks_of_phases: &[PartTasks],
        syncs: &SyncLog<'_>,
        limits: &HashMap<(usize, FileId), u64>,
    ) -> Self {
        let mut planned = Vec::with_capacity(phases.iter().map(|phase| phase.parts.len()).sum());
        let mut tasks = Vec::new();
        let mut tasks_of = Vec::with_capacity(phases.len());
        let mut parts_of = Vec::with_capacity(phases.len());
        let mut touched = Vec::new();
        let mut touched_of = Vec::with_capacity(phases.len());
        for (number, (phase, of_phase)) in phases.iter().zip(tasks_of_phases).enumerate() {
            let first = planned.len();
            let first_touched = touched.len();
            let first_task = tasks.len();
            // Each file's place and first task.
            let mut files: HashMap<FileId, (usize, u32)> = HashMap::default();
            for (part, task) in phase.parts.iter().zip(of_phase.of_parts.iter().copied()) {
                let (place, first_of_file) = *files.entry(part.file).or_insert_with(|| {
                    let file_end = index.file_end(part.file);
                    touched.push(Touched { file_end, ..Touched::default() });
                    (touched.len() - 1, task)
                });
                if task != first_of_file {
                    touched[place].streams.get_or_insert_default();
                }
                let limit = limits.get(&(number, part.file)).copied().unwrap_or(u64::MAX);
                let covered_ns = syncs.last_covering(part.file, part.start_ns, limit, index.written_range(part));
                planned.push(PlannedPart {
                    covered_until_ns: covered_ns.and_then(NonZeroU64::new),
                    task: number_of(first_task) + task,
                    touched: number_of(place),
                    writes: PartWrites::default(),
                });
            }
            parts_of.push(first..planned.len());
            tasks.resize(first_task + of_phase.count, Moved::default());
            tasks_of.push(first_task..tasks.len());
            touched_of.push(first_touched..touched.len());
        }
        tasks.shrink_to_fit();
        touched.shrink_to_fit();
        let threads = thread_spans(index, phases);
        let by_thread = spans_by_thread(&threads);
        let mut cpu = vec![PhaseCpu::default(); phases.len()];
        for span in &threads {
            cpu[span.phase()].threads_ns += span.end_ns - span.start_ns;
        }
        Self {
            index,
            phases,
            planned,
            parts_of,
            tasks,
            tasks_of,
            of_phases: vec![PhaseTally::default(); phases.len()],
            touched,
            touched_of,
            blocks: phases.iter().map(|_| PhaseBlocks::default()).collect(),
            shapes: phases.iter().map(|_| Shape::default()).collect(),
            threads,
            by_thread,
            cpu,
            submissions: vec![Latencies::default(); phases.len()],
            io_submit_ns: vec![None; phases.len()],
            completions: Completions::new(phases),
        }
    }

    pub(super) fn feed(&mut self, parts: &mut PartIndex, call: &Call) {
        self.feed_time(call);
        self.completions.feed(call);
        if !call.op.is_data() {
            return;
        }
        for (number, place) in parts.overlapping((call.tgid, call.fd), call.start_ns, call.end_ns) {
            let (phase, part) = (&self.phases[place.phase()], place.part(self.phases));
            if !has_size(phase.call_bytes, call) || !is_on(part, call) {
                continue;
            }
            if call.start_ns < part.start_ns {
                let in_flight_ns = &mut self.of_phases[place.phase()].in_flight_at_start_ns;
                *in_flight_ns = call.end_ns.saturating_sub(part.start_ns).max(*in_flight_ns);
                continue;
            }
            let plan = &mut self.planned[number];
            let (of_phase, touched) = (&mut self.of_phases[place.phase()], plan.touched as usize);
            let (timed, of_direction) = (call.end_ns <= end_of(part), is_of(phase.direction, call));
            if timed {
                let file_end = self.touched[touched].file_end;
                let is_end = |end: u64| end == file_end || self.index.ended_earlier(part.file, end);
                of_phase.add(phase.direction, is_end, call);
                self.tasks[plan.task as usize].add(phase.direction, call);
                plan.add_write(of_phase, call);
                self.shapes[place.phase()].feed(plan.touched, call);
                if of_direction {
                    self.completions.request(place.phase(), call);
                }
            } else if call.end_ns <= part.last_data_ns {
                of_phase.untimed_bytes += u64::try_from(call.returned).unwrap_or(0);
            } else {
                continue;
            }
            if of_direction {
                let blocks = &mut self.blocks[place.phase()];
                // Calls that the pass made after its clock had stopped count for the sizes.
                blocks.sizes.feed(call.requested, call.offset);
                if timed {
                    blocks.touch(&mut self.touched, touched, call);
                    self.touched[touched].feed_stream(plan.task, call);
                }
            }
        }
    }

    /// Counts a call for the phases whose blocks were guessed wrong, see [`Tally::close`].
    pub(super) fn recount(&mut self, parts: &mut PartIndex, call: &Call) {
        if !call.op.is_data() {
            return;
        }
        for (number, place) in parts.overlapping((call.tgid, call.fd), call.start_ns, call.end_ns) {
            let (phase, part) = (&self.phases[place.phase()], place.part(self.phases));
            let inside = call.start_ns >= part.start_ns && call.end_ns <= end_of(part);
            let counts = inside && has_size(phase.call_bytes, call) && is_of(phase.direction, call);
            let blocks = &mut self.blocks[place.phase()];
            if counts && blocks.guessed_wrong && is_on(part, call) {
                blocks.touch(&mut self.touched, self.planned[number].touched as usize, call);
            }
        }
    }

    fn feed_time(&mut self, call: &Call) {
        for number in self.by_thread.next_overlapping(call.tid, call.start_ns, call.end_ns) {
            let span = &mut self.threads[number];
            if call.start_ns < span.start_ns || call.end_ns > span.end_ns {
                continue;
            }
            let cpu = &mut self.cpu[span.phase()];
            cpu.kernel_ns += call.cpu_ns;
            cpu.system_calls += u64::from(!call.op.is_asynchronous());
            if hands_over(call) {
                let duration_ns = call.end_ns.saturating_sub(call.start_ns);
                self.submissions[span.phase()].record(duration_ns, Timing::of(call));
                if call.op == Op::IoSubmit {
                    *self.io_submit_ns[span.phase()].get_or_insert(0) += duration_ns;
                }
            }
            // Before its first call inside, the thread was outside.
            if span.begun {
                cpu.user_ns += call.user_before_ns;
            }
            span.begun = true;
        }
    }

    /// Returns the parts of a phase, each with the number of its task among those of the phase.
    pub(super) fn parts_of(&self, phase: usize) -> impl Iterator<Item = (&'a Part, usize)> {
        let planned = &self.planned[self.parts_of[phase].clone()];
        let first = self.tasks_of[phase].start;
        self.phases[phase].parts.iter().zip(planned.iter().map(move |plan| plan.task as usize - first))
    }

    /// Returns the parts of a phase with their writes.
    pub(super) fn writes_of(&self, phase: usize) -> impl Iterator<Item = (&'a Part, PartWrites)> {
        let planned = &self.planned[self.parts_of[phase].clone()];
        self.phases[phase].parts.iter().zip(planned.iter().map(|plan| plan.writes))
    }

    /// Returns what a phase's tasks moved, by their numbers.
    pub(super) fn tasks_of(&self, phase: usize) -> &[Moved] {
        &self.tasks[self.tasks_of[phase].clone()]
    }

    /// Returns the sums of a phase.
    pub(super) fn sums_of(&self, phase: usize) -> &PhaseTally {
        &self.of_phases[phase]
    }

    /// Takes the blocks that a phase touched; `None` when it is not divided into blocks.
    pub(super) fn take_touched(&mut self, phase: usize) -> Option<TouchedBlocks> {
        let grid = self.blocks[phase].grid.flatten().filter(|_| !self.parts_of[phase].is_empty())?;
        let mut blocks = TouchedBlocks::default();
        for file in &mut self.touched[self.touched_of[phase].clone()] {
            let region = file.highest_end.saturating_sub(file.lowest);
            // A phase may have a million files: each lets go of its blocks when they are counted.
            let hits = std::mem::take(&mut file.hits).distribution();
            blocks.region_blocks += region.div_ceil(grid.block_bytes);
            blocks.bytes += hits.unique().saturating_mul(grid.block_bytes).min(region);
            blocks.hits.merge(&hits);
            if let Some(streams) = file.streams.take() {
                blocks.streams.get_or_insert_default().add(streams.sums());
            }
        }
        Some(blocks)
    }

    /// Returns the request size and the blocks of a phase; `None` without calls.
    pub(super) fn blocks_of(&self, phase: usize) -> Option<Blocks> {
        self.blocks[phase].sizes.blocks()
    }

    pub(super) fn shape_of(&self, phase: usize) -> &Shape {
        &self.shapes[phase]
    }

    /// Ends the count; call it after the last call. Returns `true` if all calls must be passed to [`Tally::recount`],
    /// because blocks were guessed wrong.
    pub(super) fn close(&mut self) -> bool {
        self.shapes.iter_mut().for_each(Shape::close);
        self.completions.close();
        for (blocks, files) in self.blocks.iter_mut().zip(&self.touched_of) {
            let grid = blocks.sizes.blocks().and_then(|blocks| blocks.grid);
            match blocks.grid {
                None => blocks.count_waiting(grid, &mut self.touched),
                Some(guess) if guess != grid => {
                    blocks.grid = Some(grid);
                    blocks.guessed_wrong = true;
                    self.touched[files.clone()].iter_mut().for_each(|touched| {
                        let streams = touched.streams.take();
                        *touched = Touched { file_end: touched.file_end, streams, ..Touched::default() };
                    });
                }
                Some(_) => {}
            }
        }
        self.blocks.iter().any(|blocks| blocks.guessed_wrong)
    }

    /// Returns the durations of the calls that submit asynchronous requests.
    pub(super) fn submissions_of(&self, phase: usize) -> &Latencies {
        &self.submissions[phase]
    }

    /// Returns the latencies of asynchronous requests without and with their submission.
    pub(super) fn completions_of(&self, phase: usize) -> &OfPhase {
        self.completions.of(phase)
    }

    /// Returns the time in `io_submit`; `None` without such calls.
    pub(super) fn io_submit_ns_of(&self, phase: usize) -> Option<u64> {
        self.io_submit_ns[phase]
    }

    pub(super) fn cpu_of(&self, phase: usize) -> PhaseCpu {
        self.cpu[phase]
    }
}

impl Moved {
    fn add(&mut self, direction: Direction, call: &Call) {
        let counts = match direction {
            Direction::Read => call.op != Op::Discard && !call.op.is_write(),
            Direction::Write => call.op.is_write(),
            Direction::Discard => call.op == Op::Discard,
            Direction::Mixed | Direction::None => call.op != Op::Discard,
        };
        if counts {
            self.calls += 1;
            self.bytes += u64::try_from(call.returned).unwrap_or(0);
        }
    }
}

impl PhaseTally {
    fn add(&mut self, direction: Direction, is_end: impl Fn(u64) -> bool, call: &Call) {
        let (bytes, is_write) = (u64::try_from(call.returned).unwrap_or(0), call.op.is_write());
        if call.op == Op::Discard {
            self.discard_calls += 1;
            self.discard_bytes += bytes;
            // In other phases a discard is a hint that a file system may refuse.
            self.failed_data_calls += u64::from(call.returned < 0 && direction == Direction::Discard);
            self.unplaced_calls += u64::from(call.offset < 0 && direction == Direction::Discard);
            return;
        }
        let direct = is_direct(call);
        if is_write {
            self.write_calls += 1;
            self.write_bytes += bytes;
        } else {
            self.read_calls += 1;
            self.read_bytes += bytes;
        }
        if is_of(direction, call) {
            self.unplaced_calls += u64::from(call.offset < 0 && bytes > 0);
        }
        self.failed_data_calls += u64::from(call.returned < 0 && !is_refused_copy(call));
        self.short_calls += u64::from(is_short(call, is_end));
        self.storage_read_bytes += call.storage_read_bytes;
        self.cached_bytes += call.cached_bytes;
        if direct {
            self.direct_bytes += bytes;
            // In a mix whose directions have separate phases, the other direction's bytes do not count here.
            self.direct_cached_bytes += if is_of(direction, call) { call.cached_bytes } else { 0 };
        }
        if is_sync_write(call) {
            self.sync_write_bytes += bytes;
        }
    }
}

impl PlannedPart {
    /// Counts a write that moved bytes by its durability; other calls are left out.
    fn add_write(&mut self, of_phase: &mut PhaseTally, call: &Call) {
        let Ok(bytes @ 1..) = u64::try_from(call.returned) else { return };
        if !call.op.is_write() {
            return;
        }
        let end_ns = NonZeroU64::new(call.end_ns);
        if is_sync_write(call) || is_direct(call) {
            of_phase.written_through_bytes += bytes;
            self.writes.last_through_write_ns = self.writes.last_through_write_ns.max(end_ns);
            return;
        }
        self.writes.last_cached_write_ns = self.writes.last_cached_write_ns.max(end_ns);
        if self.covered_until_ns.is_some_and(|start_ns| call.end_ns <= start_ns.get()) {
            of_phase.covered_bytes += bytes;
        } else {
            of_phase.uncovered_bytes += bytes;
            self.writes.uncovered_bytes += bytes;
        }
    }
}

/// Returns a number of one of the things that are counted; memory ends long before these numbers do.
fn number_of(index: usize) -> u32 {
    u32::try_from(index).expect("fewer than 2^32 parts fit into memory")
}

fn is_direct(call: &Call) -> bool {
    call.open_flags & open_bits::DIRECT != 0
}

fn is_sync_write(call: &Call) -> bool {
    call.op.is_write() && call.open_flags & (open_bits::SYNC | open_bits::DSYNC) != 0
}

/// Returns `true` when a call submits asynchronous requests to the kernel.
fn hands_over(call: &Call) -> bool {
    matches!(call.op, Op::IoSubmit | Op::IoUringEnter) && call.requested > 0
}

/// Returns `true` when the kernel cannot copy between these two descriptors itself: programs then read and write.
fn is_refused_copy(call: &Call) -> bool {
    let is_refusal = |name: &str| matches!(name, "EINVAL" | "EXDEV" | "ENOSYS" | "EOPNOTSUPP");
    let error = || call.returned.checked_neg().and_then(|errno| i32::try_from(errno).ok()).and_then(error_name);
    call.op.is_copy() && error().is_some_and(is_refusal)
}

/// Returns `true` when a call moved less than requested, except reads that met the end of the file, and copies.
fn is_short(call: &Call, is_end: impl Fn(u64) -> bool) -> bool {
    let Ok(bytes) = u64::try_from(call.returned) else { return false };
    if bytes >= call.requested || call.op.is_copy() {
        return false;
    }
    let at_end = || u64::try_from(call.offset).is_ok_and(|offset| offset.checked_add(bytes).is_some_and(is_end));
    call.op.is_write() || !(bytes == 0 || at_end())
}

impl PhaseBlocks {
    /// Counts the blocks of a call that counts for the phase.
    fn touch(&mut self, touched: &mut [Touched], number: usize, call: &Call) {
        let (Ok(offset), Ok(bytes @ 1..)) = (u64::try_from(call.offset), u64::try_from(call.returned)) else { return };
        match self.grid {
            Some(Some(grid)) => touched[number].add(grid, offset, bytes),
            Some(None) => {}
            None => {
                self.waiting.push((number, offset, bytes));
                if self.waiting.len() >= CALLS_OF_A_GUESS {
                    let guess = self.sizes.blocks().and_then(|blocks| blocks.grid);
                    self.count_waiting(guess, touched);
                }
            }
        }
    }

    /// Sets the grid, and counts the calls that waited for it.
    fn count_waiting(&mut self, grid: Option<Grid>, touched: &mut [Touched]) {
        self.grid = Some(grid);
        let waiting = std::mem::take(&mut self.waiting);
        if let Some(grid) = grid {
            waiting.into_iter().for_each(|(number, offset, bytes)| touched[number].add(grid, offset, bytes));
        }
    }
}

impl Default for Touched {
    fn default() -> Self {
        Self { hits: BlockHits::default(), lowest: u64::MAX, highest_end: 0, file_end: 0, streams: None }
    }
}

impl Touched {
    fn add(&mut self, grid: Grid, offset: u64, bytes: u64) {
        self.lowest = self.lowest.min(offset);
        self.highest_end = self.highest_end.max(offset.saturating_add(bytes));
        self.hits.touch(grid, offset, bytes);
    }

    /// Counts a call that moved data for what the tasks have in common.
    fn feed_stream(&mut self, task: u32, call: &Call) {
        let Some(streams) = &mut self.streams else { return };
        if let (Ok(offset), 1..) = (u64::try_from(call.offset), call.returned) {
            streams.feed(task, call.start_ns, offset);
        }
    }
}

/// Returns those of the spans that belong to a phase. They are in the order of the phases.
pub(super) fn spans_of(spans: &[ThreadSpan], phase: usize) -> &[ThreadSpan] {
    let first = spans.partition_point(|span| span.phase() < phase);
    let after = spans.partition_point(|span| span.phase() <= phase);
    &spans[first..after]
}

/// Returns the spans of each thread in each phase, in the order of the phases. Where a thread serves several parts at once, each moment
/// counts once.
pub(super) fn thread_spans(index: &Index<'_>, phases: &[Phase]) -> Vec<ThreadSpan> {
    let mut spans = Vec::new();
    for (phase, of_phase) in (0..).zip(phases) {
        let mut by_thread = KeyedIntervals::default();
        for part in &of_phase.parts {
            for tid in threads_of(index, part).iter() {
                by_thread.add(*tid, part.start_ns, end_of(part));
            }
        }
        for span in of_phase.names.iter().flat_map(|names| &names.spans) {
            for tid in threads_of_span(index, span) {
                by_thread.add(tid, span.start_ns, span.end_ns);
            }
        }
        let span = |(tid, start_ns, end_ns): &(u32, u64, u64)| ThreadSpan {
            start_ns: *start_ns,
            end_ns: *end_ns,
            phase,
            tid: *tid,
            begun: false,
        };
        spans.extend(by_thread.spans().iter().map(span));
    }
    spans.shrink_to_fit();
    spans
}

/// Returns an index of spans by their threads; it returns their places in the list.
pub(super) fn spans_by_thread(spans: &[ThreadSpan]) -> KeyedSpans<u32> {
    KeyedSpans::new(spans.iter().enumerate().map(|(number, span)| (span.tid, (span.start_ns, span.end_ns, number))))
}
