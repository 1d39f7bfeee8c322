//! Which syncs made which writes durable, and what happened between them.
//!
//! A sync covers what was written before it *started*: for writes that overlap it this is
//! unknown. It must succeed. `sync_file_range` writes out but does not make anything durable (its manual
//! page says so), so it covers nothing. `msync` covers its range.

use std::collections::{HashMap, HashSet};

use activebench_model::activity::{Pass, Step, StepKind};
use activebench_model::call::{FileId, Op, PlainCall, open_bits};
use activebench_model::phase::{Direction, Part, Phase};

use super::index::Index;
use super::windows::end_of;
use crate::activity::{BriefSync, Folded};

/// A sync that concerns a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sync {
    pub(super) op: Op,
    pub(super) start_ns: u64,
    pub(super) end_ns: u64,
    pub(super) succeeded: bool,
    /// The range of the file that it covers; `None` for the whole file.
    range: Option<(u64, u64)>,
}

impl From<&BriefSync> for Sync {
    fn from(brief: &BriefSync) -> Self {
        let BriefSync { op, start_ns, end_ns, succeeded } = *brief;
        Self { op, start_ns, end_ns, succeeded, range: None }
    }
}

impl Sync {
    fn makes_durable(&self) -> bool {
        self.succeeded && self.op != Op::SyncFileRange
    }
}

/// The syncs and truncations of the phases' files.
pub(super) struct SyncLog<'a> {
    files: HashSet<FileId>,
    maps: Vec<Map>,
    of_file: HashMap<FileId, Vec<Sync>>,
    /// More of them.
    brief: &'a HashMap<FileId, Vec<BriefSync>>,
    /// `sync(2)` and, with its file system, `syncfs(2)`.
    global: Vec<(Option<u32>, Sync)>,
    /// `(time, new length)`.
    truncations: HashMap<FileId, Vec<(u64, u64)>>,
}

/// A mapping of one of the files.
struct Map {
    tgid: u32,
    file: FileId,
    address: u64,
    length: u64,
    offset: u64,
    from_ns: u64,
}

impl<'a> SyncLog<'a> {
    /// Returns the syncs and truncations of the phases' files, sorted by time.
    pub(super) fn new(folded: &'a Folded, phases: &[Phase]) -> Self {
        let files: HashSet<FileId> = phases.iter().flat_map(|phase| &phase.parts).map(|part| part.file).collect();
        let passes = folded.activity.passes.iter().filter(|pass| files.contains(&pass.file));
        let maps = passes.flat_map(maps_of).collect();
        let mut log = Self {
            files,
            maps,
            of_file: HashMap::new(),
            brief: &folded.brief_syncs,
            global: Vec::new(),
            truncations: HashMap::new(),
        };
        folded.syncs.iter().for_each(|call| log.feed(call));
        log.close();
        log
    }

    fn feed(&mut self, call: &PlainCall) {
        let sync = |range| Sync {
            op: call.op,
            start_ns: call.start_ns,
            end_ns: call.end_ns,
            // MS_ASYNC guarantees nothing.
            succeeded: call.returned == 0 && call.op != Op::MsyncAsync,
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
                let covers = |map: &&Map| {
                    map.tgid == call.tgid
                        && map.from_ns <= call.start_ns
                        && (map.address..map.address.saturating_add(map.length)).contains(&address)
                };
                // Of several mappings at an address, the latest one is in effect.
                if let Some(map) = self.maps.iter().filter(covers).max_by_key(|map| map.from_ns) {
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

    /// Returns the syncs of a file that start between two times, borders included.
    fn between(&self, file: FileId, from_ns: u64, until_ns: u64) -> impl Iterator<Item = Sync> {
        self.own(file, from_ns, until_ns).chain(self.global(file, from_ns, until_ns))
    }

    /// Returns those of the file alone.
    fn own(&self, file: FileId, from_ns: u64, until_ns: u64) -> impl Iterator<Item = Sync> {
        let own = self.of_file.get(&file).map_or(&[][..], Vec::as_slice);
        let own = &own[own.partition_point(|sync| sync.start_ns < from_ns)..];
        let brief = self.brief.get(&file).map_or(&[][..], Vec::as_slice);
        let brief = &brief[brief.partition_point(|sync| sync.start_ns < from_ns)..];
        own.iter()
            .copied()
            .take_while(move |sync| sync.start_ns <= until_ns)
            .chain(brief.iter().map(Sync::from).take_while(move |sync| sync.start_ns <= until_ns))
    }

    /// Returns those of all files, and of all files of its file system.
    fn global(&self, file: FileId, from_ns: u64, until_ns: u64) -> impl Iterator<Item = Sync> {
        let global = &self.global[self.global.partition_point(|(_, sync)| sync.start_ns < from_ns)..];
        let global = global.iter().filter(move |(s_dev, _)| s_dev.is_none_or(|s_dev| s_dev == file.s_dev));
        global.map(|(_, sync)| *sync).take_while(move |sync| sync.start_ns <= until_ns)
    }

    /// Passes on the syncs of distinct files that start between two times, each once: a global sync concerns every file
    /// and is one call. They are in no order, and there may be many.
    pub(super) fn each_between(&self, files: &[FileId], from_ns: u64, until_ns: u64, mut take: impl FnMut(Sync)) {
        files.iter().flat_map(|file| self.own(*file, from_ns, until_ns)).for_each(&mut take);
        let mut global: Vec<Sync> = files.iter().flat_map(|file| self.global(*file, from_ns, until_ns)).collect();
        global.sort_unstable_by_key(|sync| (sync.start_ns, sync.end_ns, sync.op));
        global.dedup_by_key(|sync| (sync.start_ns, sync.end_ns, sync.op));
        global.into_iter().for_each(take);
    }

    /// Returns the end of the first sync that starts at or after `from_ns`, ends by `until_ns`
    /// and makes the bytes of `written` durable.
    pub(super) fn first_covering(&self, file: FileId, from_ns: u64, until_ns: u64, written: (u64, u64)) -> Option<u64> {
        let covering = self.between(file, from_ns, until_ns).filter(|sync| covers(sync, until_ns, written));
        covering.min_by_key(|sync| sync.start_ns).map(|sync| sync.end_ns)
    }

    /// Returns the start of the last such sync. It covers everything written before.
    pub(super) fn last_covering(&self, file: FileId, from_ns: u64, until_ns: u64, written: (u64, u64)) -> Option<u64> {
        let covering = self.between(file, from_ns, until_ns).filter(|sync| covers(sync, until_ns, written));
        covering.map(|sync| sync.start_ns).max()
    }

    /// Returns the time until which a sync of the bytes that a phase wrote to a file counts: a later
    /// pass wrote or truncated the file, or it was deleted. `u64::MAX` when this never happened. `parts` are
    /// all parts on the file, with their phases' numbers.
    pub(super) fn limit(
        &self,
        index: &Index<'_>,
        phases: &[Phase],
        parts: &[(usize, &Part)],
        phase: usize,
        file: FileId,
    ) -> u64 {
        let own = || parts.iter().filter(|(of_phase, _)| *of_phase == phase).map(|(_, part)| *part);
        let Some(end_ns) = own().map(end_of).max() else { return u64::MAX };
        let own_passes: HashSet<*const Pass> =
            own().flat_map(|part| index.passes_at(part, part.start_ns)).map(std::ptr::from_ref).collect();
        let others = || index.passes_of(file).iter().filter(|pass| !own_passes.contains(&std::ptr::from_ref(**pass)));
        let writes =
            others().flat_map(|pass| &pass.steps).filter(|step| step.kind == StepKind::Write).map(|step| step.start_ns);
        let truncating_opens = others()
            .filter(|pass| pass.open_flags & open_bits::TRUNCATE != 0)
            .filter_map(|pass| pass.open)
            .map(|open| open.start_ns);
        // Two phases of a tool can share one open file.
        let writing = |of_phase: usize| matches!(phases[of_phase].direction, Direction::Write | Direction::Mixed);
        let later_phases = parts
            .iter()
            .filter(|(of_phase, _)| *of_phase != phase && writing(*of_phase))
            .map(|(_, part)| part.start_ns);
        let highest = own().map(|part| index.written_range(part).1).max().unwrap_or(0);
        let truncations = self.truncations.get(&file).into_iter().flatten();
        let cuts = truncations.filter(|(_, length)| *length < highest).map(|(at_ns, _)| *at_ns);
        writes
            .chain(truncating_opens)
            .chain(later_phases)
            .chain(cuts)
            .chain(index.deletions_of(file).iter().copied())
            .filter(|at_ns| *at_ns >= end_ns)
            .min()
            .unwrap_or(u64::MAX)
    }
}

fn covers(sync: &Sync, until_ns: u64, (from, to): (u64, u64)) -> bool {
    sync.makes_durable() && sync.end_ns <= until_ns && sync.range.is_none_or(|(start, end)| start <= from && to <= end)
}

/// Returns the mappings that a pass keeps verbatim.
fn maps_of(pass: &Pass) -> impl Iterator<Item = Map> {
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
