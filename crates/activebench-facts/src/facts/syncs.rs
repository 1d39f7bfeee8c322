//! Which syncs made which writes durable, and what happened between them.
//!
//! A sync covers what was written before it *started*: for writes that overlap it this is
//! unknown. It must succeed. `sync_file_range` writes out but does not make anything durable (its manual
//! page says so), so it covers nothing. `msync` covers its range.

use activebench_model::activity::{Pass, Step, StepKind};
use activebench_model::call::{FileId, Op, PlainCall};
use activebench_model::grouped::Grouped;
use activebench_model::phase::{Direction, Part, Phase};
use foldhash::{HashMap, HashSet};

use super::index::Index;
use super::windows::end_of;
use crate::activity::BriefSync;
use crate::address_map::AddressMap;

/// A sync that concerns a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sync {
    pub(super) op: Op,
    pub(super) start_ns: u64,
    pub(super) end_ns: u64,
    pub(super) succeeded: bool,
    tgid: u32,
    tid: u32,
    /// The range of the file that it covers; `None` for the whole file.
    range: Option<(u64, u64)>,
}

impl From<&BriefSync> for Sync {
    fn from(brief: &BriefSync) -> Self {
        let BriefSync { op, start_ns, end_ns, tgid, tid, succeeded } = *brief;
        Self { op, start_ns, end_ns, succeeded, tgid, tid, range: None }
    }
}

impl Sync {
    pub(super) fn makes_durable(&self) -> bool {
        self.succeeded && (self.op.makes_durable() || !self.op.is_file_sync())
    }
}

/// The syncs and truncations of the phases' files.
pub(super) struct SyncLog<'a> {
    files: HashSet<FileId>,
    of_file: HashMap<FileId, Vec<Sync>>,
    /// More of them.
    brief: &'a HashMap<FileId, Vec<BriefSync>>,
    /// `sync(2)` and, with its file system, `syncfs(2)`.
    global: Vec<(Option<u32>, Sync)>,
    /// `(time, new length)`.
    truncations: HashMap<FileId, Vec<(u64, u64)>>,
    /// The numbers of the phases that a task has a part in, ascending, by process and thread. Thread 0: all of them.
    phases_of: Grouped<(u32, u32), u32>,
}

/// Returns the numbers of the phases of each task. A task may have a million parts, and a phase parts of a million tasks.
fn phases_of_tasks(phases: &[Phase]) -> Grouped<(u32, u32), u32> {
    let mut keyed = Vec::new();
    for (number, phase) in (0..).zip(phases) {
        for part in &phase.parts {
            let threads = if part.tids.is_empty() { &[0] } else { &*part.tids };
            for tid in threads {
                let of_task = ((part.tgid, *tid), number);
                if keyed.last() != Some(&of_task) {
                    keyed.push(of_task);
                }
            }
        }
    }
    keyed.sort_unstable();
    keyed.dedup();
    Grouped::new(keyed, |number| *number)
}

/// A mapping of one of the files.
#[derive(Clone, Copy)]
pub(super) struct Map {
    tgid: u32,
    file: FileId,
    address: u64,
    length: u64,
    offset: u64,
    from_ns: u64,
}

/// The mappings of all processes, as they are made.
struct Mapped {
    /// Those that are still to come, the next one last.
    coming: Vec<Map>,
    by_process: HashMap<u32, AddressMap<Map>>,
}

impl Mapped {
    fn new(maps: impl Iterator<Item = Map>) -> Self {
        let mut coming: Vec<Map> = maps.collect();
        coming.sort_by_key(|map| map.from_ns);
        coming.reverse();
        Self { coming, by_process: HashMap::default() }
    }

    /// Returns the mapping at an address at a time; times must ascend.
    fn at(&mut self, tgid: u32, address: u64, at_ns: u64) -> Option<Map> {
        while let Some(map) = self.coming.pop_if(|map| map.from_ns <= at_ns) {
            let of_process = self.by_process.entry(map.tgid).or_default();
            of_process.map(map.address, map.address.saturating_add(map.length), map);
        }
        self.by_process.get(&tgid)?.at(address)
    }
}

impl<'a> SyncLog<'a> {
    /// Returns the syncs and truncations of the phases' files, sorted by time.
    pub(super) fn new(index: &Index<'a>, phases: &[Phase]) -> Self {
        let files: HashSet<FileId> = phases.iter().flat_map(|phase| &phase.parts).map(|part| part.file).collect();
        let mut mapped = Mapped::new(index.maps.iter().copied());
        let mut log = Self {
            files,
            of_file: HashMap::default(),
            brief: index.brief_syncs,
            global: Vec::new(),
            truncations: HashMap::default(),
            phases_of: phases_of_tasks(phases),
        };
        index.syncs.iter().for_each(|call| log.feed(call, &mut mapped));
        log.close();
        log
    }

    fn feed(&mut self, call: &PlainCall, mapped: &mut Mapped) {
        let sync = |range| Sync {
            op: call.op,
            start_ns: call.start_ns,
            end_ns: call.end_ns,
            // MS_ASYNC guarantees nothing.
            succeeded: call.returned == 0 && call.op != Op::MsyncAsync,
            tgid: call.tgid,
            tid: call.tid,
            range,
        };
        let file = call.file.filter(|file| self.files.contains(file));
        match call.op {
            op if op.is_file_sync() && op != Op::Msync => {
                if let Some(file) = file {
                    self.of_file.entry(file).or_default().push(sync(None));
                }
            }
            Op::Sync => self.global.push((None, sync(None))),
            Op::Syncfs => self.global.push((call.file.map(|file| file.s_dev), sync(None))),
            Op::Msync | Op::MsyncAsync => {
                let address = call.offset as u64;
                if let Some(map) = mapped.at(call.tgid, address, call.start_ns) {
                    let start = map.offset.saturating_add(address - map.address);
                    let range = Some((start, start.saturating_add(call.requested)));
                    self.of_file.entry(map.file).or_default().push(sync(range));
                }
            }
            Op::Ftruncate => {
                if let Some(file) = file {
                    self.truncations.entry(file).or_default().push((call.start_ns, call.requested));
                }
            }
            _ => {}
        }
    }

    /// Sorts the collected calls.
    fn close(&mut self) {
        for syncs in self.of_file.values_mut() {
            syncs.sort_by_key(|sync| sync.start_ns);
        }
        self.global.sort_by_key(|(_, sync)| sync.start_ns);
        for truncations in self.truncations.values_mut() {
            truncations.sort_unstable();
        }
    }

    /// Returns the syncs of a file alone that start between two times, borders included: two kinds, each in the order
    /// of their starts.
    fn own(&self, file: FileId, from_ns: u64, until_ns: u64) -> [Box<dyn DoubleEndedIterator<Item = Sync> + '_>; 2] {
        let own = self.of_file.get(&file).map_or(&[][..], Vec::as_slice);
        let brief = self.brief.get(&file).map_or(&[][..], Vec::as_slice);
        [
            Box::new(started(own, |sync| sync.start_ns, from_ns, until_ns).iter().copied()),
            Box::new(started(brief, |sync| sync.start_ns, from_ns, until_ns).iter().map(Sync::from)),
        ]
    }

    /// Returns those of all files, and of all files of its file system.
    fn global(&self, file: FileId, from_ns: u64, until_ns: u64) -> impl DoubleEndedIterator<Item = Sync> {
        let global = started(&self.global, |(_, sync)| sync.start_ns, from_ns, until_ns).iter();
        global.filter(move |(s_dev, _)| s_dev.is_none_or(|s_dev| s_dev == file.s_dev)).map(|(_, sync)| *sync)
    }

    /// Passes on the syncs of distinct files that start between two times, each once: a global sync concerns every file
    /// and is one call. They are in no order, and there may be many.
    pub(super) fn each_between(&self, files: &[FileId], from_ns: u64, until_ns: u64, mut take: impl FnMut(Sync)) {
        files.iter().flat_map(|file| self.own(*file, from_ns, until_ns)).flatten().for_each(&mut take);
        // One file stands for all files of its file system.
        let of_file_systems: HashMap<u32, FileId> = files.iter().map(|file| (file.s_dev, *file)).collect();
        let global = of_file_systems.values().flat_map(|file| self.global(*file, from_ns, until_ns));
        let mut global: Vec<Sync> = global.collect();
        global.sort_unstable_by_key(|sync| (sync.start_ns, sync.end_ns, sync.op));
        global.dedup_by_key(|sync| (sync.start_ns, sync.end_ns, sync.op));
        global.into_iter().for_each(take);
    }

    /// Returns `false` for a sync by a task of other phases only: jobs that share a file each sync it. One by a task of
    /// no phase may be anybody's.
    pub(super) fn may_be_of(&self, sync: &Sync, phase: usize) -> bool {
        let of = |tid: u32| self.phases_of.get(&(sync.tgid, tid));
        let (of_thread, of_process) = (of(sync.tid), of(0));
        if of_thread.is_empty() && of_process.is_empty() {
            return true;
        }
        let has = |numbers: &[u32]| numbers.binary_search_by_key(&phase, |number| *number as usize).is_ok();
        has(of_thread) || has(of_process)
    }

    /// Returns the end of the first sync that starts at or after `from_ns`, ends by `until_ns`
    /// and makes the bytes of `written` durable.
    pub(super) fn first_covering(&self, file: FileId, from_ns: u64, until_ns: u64, written: (u64, u64)) -> Option<u64> {
        let covers = |sync: &Sync| covers(sync, until_ns, written);
        // Both are in the order of their starts.
        let own = self.own(file, from_ns, until_ns).map(|mut syncs| syncs.find(covers));
        let global = self.global(file, from_ns, until_ns).find(covers);
        own.into_iter().chain([global]).flatten().min_by_key(|sync| sync.start_ns).map(|sync| sync.end_ns)
    }

    /// Returns the start of the last such sync. It covers everything written before.
    pub(super) fn last_covering(&self, file: FileId, from_ns: u64, until_ns: u64, written: (u64, u64)) -> Option<u64> {
        let covers = |sync: &Sync| covers(sync, until_ns, written);
        let own = self.own(file, from_ns, until_ns).map(|mut syncs| syncs.rfind(covers));
        let global = self.global(file, from_ns, until_ns).rfind(covers);
        own.into_iter().chain([global]).flatten().map(|sync| sync.start_ns).max()
    }

    /// Returns the time until which a sync of the bytes that a phase wrote to a file counts: a later
    /// pass wrote or truncated the file, or it was deleted. `u64::MAX` when this never happened. `parts` are
    /// all parts on the file, with their phases' numbers, in the order of their starts; `own` are those of the phase.
    pub(super) fn limit(
        &self,
        index: &Index<'_>,
        phases: &[Phase],
        parts: &[(usize, &Part)],
        own: &[(usize, &Part)],
        file: FileId,
    ) -> u64 {
        let Some((phase, _)) = own.first() else { return u64::MAX };
        let own = || own.iter().map(|(_, part)| *part);
        let Some(end_ns) = own().map(end_of).max() else { return u64::MAX };
        let mut own_passes: Vec<usize> = own().flat_map(|part| index.passes_at(part, part.start_ns)).collect();
        own_passes.sort_unstable();
        let is_other = |pass: &usize| own_passes.binary_search(pass).is_err();
        let changed_ns = index.changes_from(file, end_ns).find(|(_, pass)| is_other(pass)).map(|(at_ns, _)| at_ns);
        // Two phases of a tool can share one open file.
        let writing = |of_phase: usize| matches!(phases[of_phase].direction, Direction::Write | Direction::Mixed);
        // `parts` are in the order of their starts.
        let later = &parts[parts.partition_point(|(_, part)| part.start_ns < end_ns)..];
        let later = later.iter().find(|(of_phase, _)| of_phase != phase && writing(*of_phase));
        let highest = own().map(|part| index.written_range(part).1).max().unwrap_or(0);
        let truncations = self.truncations.get(&file).map_or(&[][..], Vec::as_slice);
        let truncations = &truncations[truncations.partition_point(|(at_ns, _)| *at_ns < end_ns)..];
        let deletions = index.deletions_of(file);
        let deleted_ns = deletions.get(deletions.partition_point(|at_ns| *at_ns < end_ns)).copied();
        let until_ns = [changed_ns, later.map(|(_, part)| part.start_ns), deleted_ns].into_iter().flatten().min();
        let mut cuts = truncations.iter().take_while(|(at_ns, _)| until_ns.is_none_or(|until_ns| *at_ns < until_ns));
        let cut_ns = cuts.find(|(_, length)| *length < highest).map(|(at_ns, _)| *at_ns);
        cut_ns.or(until_ns).unwrap_or(u64::MAX)
    }
}

/// Returns those of some values, sorted by start, that start between two times, borders included.
fn started<T>(sorted: &[T], start_of: impl Fn(&T) -> u64, from_ns: u64, until_ns: u64) -> &[T] {
    let first = sorted.partition_point(|value| start_of(value) < from_ns);
    let after = sorted.partition_point(|value| start_of(value) <= until_ns);
    &sorted[first..after.max(first)]
}

fn covers(sync: &Sync, until_ns: u64, (from, to): (u64, u64)) -> bool {
    sync.makes_durable() && sync.end_ns <= until_ns && sync.range.is_none_or(|(start, end)| start <= from && to <= end)
}

/// Returns the mappings that a pass keeps verbatim.
pub(super) fn maps_of(pass: &Pass) -> impl Iterator<Item = Map> {
    let steps = pass.steps.iter().filter(|step| step.kind == StepKind::Map);
    steps.flat_map(|step: &Step| &step.head).filter(|brief| brief.span.returned > 0).map(|brief| Map {
        tgid: pass.tgid,
        file: pass.file,
        address: brief.span.returned as u64,
        length: brief.requested,
        offset: u64::try_from(brief.offset).unwrap_or(0),
        from_ns: brief.span.start_ns,
    })
}
