//! A phase's facts from the calls, the scheduler, the tasks and the page cache.

use std::collections::BTreeMap;
use std::num::NonZeroU64;

use activebench_model::activity::Task;
use activebench_model::call::{FileId, Op};
use activebench_model::fact::{Fact, FactName, Facts, Scope};
use activebench_model::phase::{Direction, Part, Phase, Window};
use activebench_model::units::Quantity;
use foldhash::HashMap;

use super::Gaps;
use super::index::Index;
use super::inserted::Inserted;
use super::latency::{Latencies, LatencyNames, Timing};
use super::record_losses::CACHE_HOOK;
use super::record_losses::{CALLS_HOOK, Gap};
use super::requests::Blocks;
use super::streams::StreamSums;
use super::syncs::{Sync, SyncLog};
use super::tally::{Moved, PartWrites, PhaseTally, Tally, TouchedBlocks};
use super::windows::end_of;

/// Source of task facts.
const TASKS_HOOK: &str = "tp_btf/task_newtask, tp_btf/sched_process_exit";
/// Source of CPU times.
const CPU_HOOK: &str = "tp_btf/sys_enter, tp_btf/sys_exit, tp_btf/sched_switch";
/// Largest share by which rounding may make a thread's CPU time exceed its window: the clock is
/// read at both ends of every call and every switch, and each reading is late by its own cost.
const ROUNDING: f64 = 0.01;

/// One phase and everything that was counted for it.
pub(super) struct View<'a> {
    pub(super) index: &'a Index<'a>,
    pub(super) phase: &'a Phase,
    /// Index of the phase.
    pub(super) number: usize,
    pub(super) gaps: &'a Gaps,
    pub(super) tally: &'a Tally<'a>,
    pub(super) syncs: &'a SyncLog<'a>,
    pub(super) limits: &'a HashMap<(usize, FileId), u64>,
    /// Its division into blocks; `None` without calls.
    pub(super) blocks: Option<Blocks>,
    /// The blocks that it touched; `None` without calls that requested data.
    pub(super) touched: Option<TouchedBlocks>,
}

/// The facts that need a division into blocks.
const OF_BLOCKS: [FactName; 9] = [
    FactName::BlockGrid,
    FactName::UniqueBlocks,
    FactName::RegionBlocks,
    FactName::MaxBlockHits,
    FactName::MinBlockHits,
    FactName::MeanBlockHits,
    FactName::ModalBlockHits,
    FactName::ModalBlockHitsShare,
    FactName::HottestBlocksShare,
];

/// The time when each file's bytes were durable; `Err` has the number of bytes that never were.
pub(super) type DurableEnds = HashMap<FileId, Result<u64, u64>>;

/// The parts of one task of a phase together.
struct TaskRate {
    bytes: u64,
    calls: u64,
    start_ns: Option<u64>,
    end_ns: u64,
}

impl View<'_> {
    fn sums(&self) -> &PhaseTally {
        self.tally.sums_of(self.number)
    }

    pub(super) fn add_call_facts(&self, window: Window, facts: &mut Facts) {
        let gap = &self.gaps.calls;
        let mut add = |name, quantity| facts.insert(name, gap.fact(quantity, Scope::Tree, CALLS_HOOK));
        let (read_bytes, write_bytes) = (self.sums().read_bytes, self.sums().write_bytes);
        let (mut failed_syncs, mut succeeded, mut msyncs) = (0_u64, 0_u64, 0_u64);
        let mut latencies = Latencies::default();
        self.each_sync_inside(window, |sync| {
            failed_syncs += u64::from(!sync.succeeded && sync.op != Op::MsyncAsync);
            msyncs += u64::from(matches!(sync.op, Op::Msync | Op::MsyncAsync));
            if sync.makes_durable() {
                succeeded += 1;
                latencies.record(sync.end_ns.saturating_sub(sync.start_ns), Timing::ALONE);
            }
        });

        add(FactName::Window, Quantity::ns(window.duration_ns()));
        add(FactName::ReadBytes, Quantity::bytes(read_bytes));
        add(FactName::WriteBytes, Quantity::bytes(write_bytes));
        add(FactName::ReadCalls, Quantity::count(self.sums().read_calls));
        add(FactName::WriteCalls, Quantity::count(self.sums().write_calls));
        if self.phase.direction == Direction::Discard {
            add(FactName::DiscardBytes, Quantity::bytes(self.sums().discard_bytes));
            add(FactName::DiscardCalls, Quantity::count(self.sums().discard_calls));
        }
        add(FactName::FailedCalls, Quantity::count(self.sums().failed_data_calls + failed_syncs));
        add(FactName::ShortCalls, Quantity::count(self.sums().short_calls));
        add(FactName::UntimedBytes, Quantity::bytes(self.sums().untimed_bytes));
        if self.phase.after_ramp {
            add(FactName::InFlightAtStart, Quantity::ns(self.sums().in_flight_at_start_ns));
        }
        add(FactName::SyncsInside, Quantity::count(succeeded));
        add(FactName::Msyncs, Quantity::count(msyncs));
        for (name, latency) in latencies.quantities(&LatencyNames::SYNCS).into_iter().flatten() {
            add(name, latency);
        }
        add(FactName::Mappings, Quantity::count(self.mappings()));
        let from_storage = Quantity::bytes(self.sums().storage_read_bytes);
        facts.insert(FactName::StorageReadBytes, self.gaps.storage_reads.fact(from_storage, Scope::Tree, CALLS_HOOK));
        // The calls' own records have it, but from the hook of the page cache.
        let cached = gap.clone().and(&self.gaps.cache);
        let direct_cached = Quantity::bytes(self.sums().direct_cached_bytes);
        facts.insert(FactName::DirectCachedBytes, cached.fact(direct_cached, Scope::Tree, CALLS_HOOK));
        let mut add = |name, quantity| facts.insert(name, gap.fact(quantity, Scope::Tree, CALLS_HOOK));

        if let Some(submitted) = self.tally.submissions_of(self.number).at_most(0.999) {
            add(FactName::SubmitLatencyP999, submitted);
        }

        if let Some(time_ns) = self.tally.io_submit_ns_of(self.number) {
            add(FactName::SubmitTime, Quantity::ns(time_ns));
        }
        self.add_completions(facts);
        self.add_shares(read_bytes + write_bytes, write_bytes, facts);
        self.add_rates(facts);
        self.add_blocks(facts);
        self.tally.shape_of(self.number).add_facts(gap, facts);
        if write_bytes > 0 {
            self.add_durability(window, facts);
        }
    }

    /// Adds the latencies of asynchronous requests; none for a pass without such requests.
    fn add_completions(&self, facts: &mut Facts) {
        let of = self.tally.completions_of(self.number);
        let lost = (of.missing() > 0).then(|| format!("the hand-over of {} requests was not seen", of.missing()));
        let gap = self.gaps.calls.clone().and_lost(lost);
        let completion = of.completion.quantities(&LatencyNames::COMPLETIONS).into_iter().flatten();
        let total = of.total.mean_and_longest().into_iter().flat_map(|(mean, longest)| {
            [(FactName::CollectedLatencyMean, mean), (FactName::CollectedLatencyMax, longest)]
        });
        for (name, latency) in completion.chain(total) {
            facts.insert(name, gap.fact(latency, Scope::Tree, CALLS_HOOK));
        }
    }

    fn add_shares(&self, bytes: u64, write_bytes: u64, facts: &mut Facts) {
        let mut add = |name, part: u64, whole: u64, why: &str| {
            let fact = if whole == 0 {
                Fact::missing(why, Scope::Tree, CALLS_HOOK)
            } else {
                self.gaps.calls.fact(Quantity::ratio(part as f64 / whole as f64), Scope::Tree, CALLS_HOOK)
            };
            facts.insert(name, fact);
        };
        // O_DIRECT has no effect on a mapping, which consists of pages of the page cache.
        if bytes == 0 && self.mappings() > 0 {
            add(FactName::DirectShare, 0, 1, "");
        } else {
            add(FactName::DirectShare, self.sums().direct_bytes, bytes, "no data moved");
        }
        add(FactName::SyncWriteShare, self.sums().sync_write_bytes, write_bytes, "nothing was written");
    }

    fn add_rates(&self, facts: &mut Facts) {
        let gap = &self.gaps.calls;
        let mut tasks: Vec<TaskRate> =
            self.tally.tasks_of(self.number).iter().map(|moved| TaskRate::of(*moved)).collect();
        for (part, number) in self.tally.parts_of(self.number) {
            let task = &mut tasks[number];
            task.start_ns = Some(task.start_ns.map_or(part.start_ns, |start_ns| start_ns.min(part.start_ns)));
            task.end_ns = task.end_ns.max(end_of(part));
        }
        let longest_ns = match self.phase.names {
            None => tasks.iter().map(TaskRate::duration_ns).max(),
            Some(_) => self.longest_task_ns(),
        };
        if let Some(longest_ns) = longest_ns {
            facts.insert(FactName::LongestTask, gap.fact(Quantity::ns(longest_ns), Scope::Tree, CALLS_HOOK));
        }
        // A pass over names does not move data and has no rates.
        if tasks.is_empty() {
            return;
        }
        let active = tasks.iter().filter(|task| task.bytes > 0).count() as u64;
        facts.insert(FactName::ActiveTasks, gap.fact(Quantity::count(active), Scope::Tree, CALLS_HOOK));

        let per_second = |amount: fn(&TaskRate) -> u64| -> Option<Vec<f64>> {
            tasks.iter().map(|task| task.per_second(amount(task))).collect()
        };
        let mut add = |name, value: Option<Quantity>| {
            let fact = match value {
                Some(quantity) => gap.fact(quantity, Scope::Tree, CALLS_HOOK),
                None => Fact::missing("a task moved data in no time", Scope::Tree, CALLS_HOOK),
            };
            facts.insert(name, fact);
        };
        let rates = per_second(|task| task.bytes);
        let over = |fold: fn(&[f64]) -> f64| rates.as_deref().map(fold).map(Quantity::bytes_per_sec);
        add(
            FactName::MinTaskBytes,
            tasks.iter().map(|task| task.bytes).filter(|bytes| *bytes > 0).min().map(Quantity::bytes),
        );
        add(FactName::SumOfTaskRates, over(|rates| rates.iter().sum()));
        add(FactName::MinTaskRate, over(|rates| rates.iter().copied().fold(f64::INFINITY, f64::min)));
        add(FactName::MaxTaskRate, over(|rates| rates.iter().copied().fold(0.0, f64::max)));
        let op_rates = per_second(|task| task.calls);
        add(FactName::SumOfTaskOpRates, op_rates.map(|rates| Quantity::ops_per_sec(rates.iter().sum())));
    }

    /// Returns the time of the task whose parts, or spans of work on names, cover the longest time.
    fn longest_task_ns(&self) -> Option<u64> {
        let of_parts = self.phase.parts.iter().map(|part| ((part.tgid, &part.tids), (part.start_ns, end_of(part))));
        let spans = self.phase.names.iter().flat_map(|names| &names.spans);
        let of_names = spans.map(|span| ((span.tgid, &span.tids), (span.start_ns, span.end_ns)));
        let mut windows: BTreeMap<(u32, &Vec<u32>), (u64, u64)> = BTreeMap::new();
        for (task, (start_ns, end_ns)) in of_parts.chain(of_names) {
            let window = windows.entry(task).or_insert((start_ns, end_ns));
            *window = (window.0.min(start_ns), window.1.max(end_ns));
        }
        windows.into_values().map(|(start_ns, end_ns)| end_ns.saturating_sub(start_ns)).max()
    }

    fn add_blocks(&self, facts: &mut Facts) {
        let mut missing = |name| facts.insert(name, Fact::missing("there are no data calls", Scope::Tree, CALLS_HOOK));
        let Some(Blocks { modal_bytes: modal_bytes @ 1.., grid: Some(grid) }) = self.blocks else {
            missing(FactName::ModalRequest);
            OF_BLOCKS.into_iter().for_each(missing);
            return;
        };
        let calls = &self.gaps.calls;
        facts.insert(FactName::ModalRequest, calls.fact(Quantity::bytes(modal_bytes), Scope::Tree, CALLS_HOOK));
        facts.insert(FactName::BlockGrid, calls.fact(Quantity::bytes(grid.block_bytes), Scope::Tree, CALLS_HOOK));
        let gap = self.offsets_gap();
        let none = TouchedBlocks::default();
        let TouchedBlocks { hits, region_blocks, streams, .. } = self.touched.as_ref().unwrap_or(&none);
        let unique = hits.unique();
        let mut add = |name, quantity| facts.insert(name, gap.fact(quantity, Scope::Tree, CALLS_HOOK));
        if let Some(StreamSums { offsets, common, equal_starts }) = *streams
            && offsets > 0.0
        {
            add(FactName::CommonOffsets, Quantity::ratio(common / offsets));
            add(FactName::EqualStarts, Quantity::count(equal_starts));
        }
        add(FactName::UniqueBlocks, Quantity::count(unique));
        add(FactName::RegionBlocks, Quantity::count(*region_blocks));
        add(FactName::MaxBlockHits, Quantity::count(hits.least_and_most().map_or(0, |(_, most)| most)));
        let (Some((least, _)), Some((modal, having))) = (hits.least_and_most(), hits.modal()) else {
            for name in &OF_BLOCKS[4..] {
                facts.insert(*name, Fact::missing("no block was touched", Scope::Tree, CALLS_HOOK));
            }
            return;
        };
        let all = hits.hits() as f64;
        add(FactName::MinBlockHits, Quantity::count(least));
        add(FactName::MeanBlockHits, Quantity { value: all / unique as f64, ..Quantity::count(0) });
        add(FactName::ModalBlockHits, Quantity::count(modal));
        add(FactName::ModalBlockHitsShare, Quantity::ratio(having as f64 / unique as f64));
        add(FactName::HottestBlocksShare, Quantity::ratio(hits.hottest_percent_hits() as f64 / all));
    }

    /// Returns the gaps of a figure on offsets.
    fn offsets_gap(&self) -> Gap {
        let unplaced = self.sums().unplaced_calls;
        let lost = (unplaced > 0).then(|| format!("the offsets of {unplaced} calls are not known"));
        self.gaps.calls.clone().and_lost(lost)
    }

    /// Passes on the syncs of the phase's files that start and end in a window, each once, without those of tasks that
    /// work for other phases.
    fn each_sync_inside(&self, window: Window, mut take: impl FnMut(Sync)) {
        let mut files: Vec<FileId> = self.phase.parts.iter().map(|part| part.file).collect();
        files.sort_unstable();
        files.dedup();
        self.syncs.each_between(&files, window.start_ns, window.end_ns, |sync| {
            if sync.end_ns <= window.end_ns && self.syncs.may_be_of(&sync, self.number) {
                take(sync);
            }
        });
    }

    fn mappings(&self) -> u64 {
        if self.index.has_no_mappings() {
            return 0;
        }
        // Two parts can belong to one pass: its mappings count once.
        let mut passes: Vec<usize> = Vec::new();
        for part in &self.phase.parts {
            let open = self.index.passes_at(part, part.start_ns);
            passes.extend(open.filter(|pass| self.index.mappings_of(*pass) > 0));
        }
        passes.sort_unstable();
        passes.dedup();
        passes.into_iter().map(|pass| self.index.mappings_of(pass)).sum()
    }

    /// Returns the time when the bytes of each file that the phase wrote were durable. Files without
    /// written bytes are left out.
    pub(super) fn durable_ends(&self) -> DurableEnds {
        let mut ends = DurableEnds::default();
        for (part, writes) in self.tally.writes_of(self.number) {
            let Some(end) = self.durable_end(part, writes) else { continue };
            ends.entry(part.file)
                .and_modify(|other| {
                    *other = match (*other, end) {
                        (Ok(one), Ok(two)) => Ok(one.max(two)),
                        (Err(one), Err(two)) => Err(one + two),
                        (Err(uncovered), _) | (_, Err(uncovered)) => Err(uncovered),
                    };
                })
                .or_insert(end);
        }
        ends
    }

    fn durable_end(&self, part: &Part, writes: PartWrites) -> Option<Result<u64, u64>> {
        if writes.uncovered_bytes > 0 {
            return Some(Err(writes.uncovered_bytes));
        }
        let limit = self.limits.get(&(self.number, part.file)).copied().unwrap_or(u64::MAX);
        let synced = writes.last_cached_write_ns.and_then(|written_ns| {
            self.syncs.first_covering(part.file, written_ns.get(), limit, self.index.written_range(part))
        });
        synced.max(writes.last_through_write_ns.map(NonZeroU64::get)).map(Ok)
    }

    fn add_durability(&self, window: Window, facts: &mut Facts) {
        let gap = &self.gaps.calls;
        let synced = self.sums().covered_bytes + self.sums().written_through_bytes;
        let unsynced = self.sums().uncovered_bytes;
        facts.insert(FactName::SyncedBytes, gap.fact(Quantity::bytes(synced), Scope::Tree, CALLS_HOOK));
        facts.insert(FactName::UnsyncedBytes, gap.fact(Quantity::bytes(unsynced), Scope::Tree, CALLS_HOOK));
        let end_ns: Result<Vec<u64>, u64> = self.durable_ends().into_values().collect();
        let span = match end_ns.map(|ends| ends.into_iter().max()) {
            Ok(Some(end_ns)) => gap.fact(Quantity::ns(end_ns.saturating_sub(window.start_ns)), Scope::Tree, CALLS_HOOK),
            Ok(None) | Err(_) => {
                let why = format!("no sync covered {unsynced} of the bytes written");
                Fact::missing(why, Scope::Tree, CALLS_HOOK)
            }
        };
        facts.insert(FactName::DurableSpan, span);
    }

    pub(super) fn add_time_facts(&self, facts: &mut Facts) {
        let gap = &self.gaps.cpu;
        let cpu = self.tally.cpu_of(self.number);
        facts.insert(FactName::UserCpu, gap.fact(Quantity::ns(cpu.user_ns), Scope::Tree, CPU_HOOK));
        facts.insert(FactName::KernelCpu, gap.fact(Quantity::ns(cpu.kernel_ns), Scope::Tree, CPU_HOOK));
        let calls = Quantity::count(cpu.system_calls);
        facts.insert(FactName::SystemCalls, self.gaps.calls.fact(calls, Scope::Tree, CALLS_HOOK));
        let (whole, used) = (cpu.threads_ns as f64, (cpu.user_ns + cpu.kernel_ns) as f64);
        let off_cpu = if whole - used >= 0.0 {
            gap.fact(Quantity::ns(cpu.threads_ns - cpu.user_ns - cpu.kernel_ns), Scope::Tree, CPU_HOOK)
        } else if used - whole <= ROUNDING * whole {
            gap.fact(Quantity::ns(0), Scope::Tree, CPU_HOOK)
        } else {
            let excess = Quantity { value: whole - used, ..Quantity::ns(0) };
            gap.fact(excess, Scope::Tree, CPU_HOOK).partial("the threads were on CPU for longer than their windows")
        };
        facts.insert(FactName::OffCpu, off_cpu);
        facts.insert(FactName::ParentWindow, self.parent_window());
    }

    fn parent_window(&self) -> Fact {
        let missing = |why: String| Fact::missing(why, Scope::Tree, TASKS_HOOK);
        let root = self.index.tasks.first().map(|task| task.tgid);
        let mut workers: Vec<&Task> = Vec::new();
        for part in &self.phase.parts {
            let lived = |task: &&Task| {
                task.start_ns <= part.start_ns && task.end_ns.is_none_or(|end_ns| end_ns >= end_of(part))
            };
            let is_threaded = Some(part.tgid) == root || part.tids.iter().any(|tid| *tid != part.tgid);
            let tids = if is_threaded { &part.tids[..] } else { &[part.tgid] };
            let tasks = tids.iter().flat_map(|tid| self.index.tasks_of(*tid)).copied();
            // Threads of one process: all but its first thread.
            let is_worker = |task: &&Task| !is_threaded || task.tgid == part.tgid && task.tid != task.tgid;
            workers.extend(tasks.filter(is_worker).filter(lived));
        }
        let Some(start_ns) = workers.iter().map(|task| task.start_ns).min() else {
            return missing("the pass has no worker tasks".to_owned());
        };
        let mut end_ns = start_ns;
        for task in workers {
            match task.end_ns {
                Some(ended_ns) => end_ns = end_ns.max(ended_ns),
                None => return missing(format!("the end of task {} was not seen", task.tid)),
            }
        }
        self.gaps.tasks.fact(Quantity::ns(end_ns - start_ns), Scope::Tree, TASKS_HOOK)
    }

    pub(super) fn add_cache_facts(&self, inserted: Inserted, shared: bool, facts: &mut Facts) {
        let cache = &self.gaps.cache;
        let own = if shared { self.sums().cached_bytes } else { inserted.own };
        facts.insert(FactName::CacheInsertedBytes, cache.fact(Quantity::bytes(own), Scope::File, CACHE_HOOK));
        // Calls show only what they inserted themselves, and the calls that count were inside the window.
        let in_window = if shared { own } else { inserted.own_in_window };
        facts.insert(FactName::WindowInsertedBytes, cache.fact(Quantity::bytes(in_window), Scope::File, CACHE_HOOK));
        let whose = "threads of one process used the file for several passes";
        let by_tasks = match shared {
            // If no thread inserted anything, this pass did not either.
            true if inserted.by_tasks > 0 => Fact::missing(whose, Scope::Tree, CACHE_HOOK),
            _ => cache.fact(Quantity::bytes(inserted.by_tasks), Scope::Tree, CACHE_HOOK),
        };
        facts.insert(FactName::TaskInsertedBytes, by_tasks);
        // Reads that bypass the cache do not show what is in it.
        let cached_reads = self.phase.direction == Direction::Read && self.sums().direct_bytes == 0;
        let Some(touched) = self.touched.as_ref().filter(|_| cached_reads) else { return };
        // A lower bound. Readahead inserts more than was read, and then the bound is useless.
        let resident = touched.bytes.saturating_sub(inserted.all);
        let gap = self.offsets_gap().and(cache);
        let source = format!("{CALLS_HOOK}, {CACHE_HOOK}");
        facts.insert(FactName::ResidentAtStart, gap.fact(Quantity::bytes(resident), Scope::File, &source));
    }
}

impl TaskRate {
    fn of(Moved { bytes, calls }: Moved) -> Self {
        Self { bytes, calls, start_ns: None, end_ns: 0 }
    }

    fn duration_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.start_ns.unwrap_or(self.end_ns))
    }

    /// Returns a rate; `None` when data moved in no time. The rate of no data is 0.
    fn per_second(&self, amount: u64) -> Option<f64> {
        match (amount, self.duration_ns()) {
            (0, _) => Some(0.0),
            (_, 0) => None,
            (_, duration_ns) => Some(amount as f64 * 1e9 / duration_ns as f64),
        }
    }
}
