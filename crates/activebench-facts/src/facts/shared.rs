//! Bytes that other passes moved on the files of a phase while it ran: the device counts by file, calls by pass.

use std::cell::LazyCell;

use activebench_model::call::{Call, FileId};
use activebench_model::fact::{FactName, Facts, Scope};
use activebench_model::phase::{Part, Phase, Window};
use activebench_model::units::Quantity;
use foldhash::{HashMap, HashSet};

use super::call_family::CallFamily;
use super::part_index::PartIndex;
use super::record_losses::{CALLS_HOOK, Gap};
use super::span_index::{KeyedSpans, SpanIndex};

/// Bytes of other phases, updated with every call. A call on a file that no phases share costs one look-up.
pub(super) struct SharedBytes {
    by_file: KeyedSpans<FileId>,
    /// Whose calls each phase that shares files makes.
    own: Vec<Calls>,
    windows: Vec<Option<Window>>,
    /// `(read, written)` for each phase that shares files.
    moved: Vec<Option<(u64, u64)>>,
}

impl SharedBytes {
    /// Creates the counts for phases whose windows are resolved.
    pub(super) fn new(phases: &[Phase]) -> Self {
        let windows = SpanIndex::new(phases.iter().enumerate().filter_map(|(number, phase)| span(number, phase)));
        // Most phases run alone, and may have a million files.
        let is_alone = |number: usize, window: Window| {
            windows.overlapping(window.start_ns, window.end_ns).all(|other| other == number)
        };
        let files: Vec<Vec<FileId>> = phases
            .iter()
            .enumerate()
            .map(|(number, phase)| match phase.window {
                Some(window) if !is_alone(number, window) => files_of(phase),
                _ => Vec::new(),
            })
            .collect();
        let spans = || {
            let of_phase = |(number, phase): (usize, &Phase)| {
                let span = span(number, phase)?;
                Some(files[number].iter().map(move |file| (*file, span)))
            };
            phases.iter().enumerate().filter_map(of_phase).flatten()
        };
        let by_file = KeyedSpans::new(spans());
        let mut moved = vec![None; phases.len()];
        let mut own = Vec::with_capacity(phases.len());
        let mut shared: HashSet<FileId> = HashSet::default();
        for (number, phase) in phases.iter().enumerate() {
            let descriptors: LazyCell<HashSet<_>, _> = LazyCell::new(|| phase.parts.iter().map(descriptor).collect());
            // The two directions of a mix have the same parts and share nothing with others.
            let is_same = |other: usize| phases[other].parts.iter().all(|part| descriptors.contains(&descriptor(part)));
            // Two phases may share many files.
            let mut known: HashMap<usize, bool> = HashMap::default();
            let mut same = |other: usize| *known.entry(other).or_insert_with(|| is_same(other));
            if let Some(window) = phase.window {
                for file in &files[number] {
                    let at_once = by_file.overlapping(*file, window.start_ns, window.end_ns);
                    if at_once.filter(|other| *other != number).any(|other| !same(other)) {
                        moved[number] = Some((0, 0));
                        shared.insert(*file);
                    }
                }
            }
            own.push(if moved[number].is_some() { Calls::of(phase) } else { Calls::default() });
        }
        let by_file = KeyedSpans::new(spans().filter(|(file, _)| shared.contains(file)));
        Self { by_file, own, windows: phases.iter().map(|phase| phase.window).collect(), moved }
    }
}

/// Returns the files of a phase, ascending: in this order they are found in an index without a search.
fn files_of(phase: &Phase) -> Vec<FileId> {
    let mut files: Vec<FileId> = phase.parts.iter().map(|part| part.file).collect();
    files.sort_unstable();
    files.dedup();
    files
}

/// Returns the window of a phase with its number.
fn span(number: usize, phase: &Phase) -> Option<(u64, u64, usize)> {
    phase.window.map(|window| (window.start_ns, window.end_ns, number))
}

fn descriptor(part: &Part) -> (u32, i32, &[u32]) {
    (part.tgid, part.fd, &part.tids)
}

/// The calls of a phase's parts, at any time.
#[derive(Default)]
struct Calls(HashMap<(u32, i32, FileId), Threads>);

enum Threads {
    All,
    These(HashSet<u32>),
}

impl Calls {
    fn of(phase: &Phase) -> Self {
        let mut calls = Self::default();
        for part in &phase.parts {
            let of_descriptor = calls.0.entry((part.tgid, part.fd, part.file));
            let threads = of_descriptor.or_insert_with(|| Threads::These(HashSet::default()));
            match threads {
                Threads::All => {}
                _ if part.tids.is_empty() => *threads = Threads::All,
                Threads::These(tids) => tids.extend(&part.tids),
            }
        }
        calls
    }

    fn include(&self, call: &Call) -> bool {
        let of_file = call.file.and_then(|file| self.0.get(&(call.tgid, call.fd, file)));
        of_file.is_some_and(|threads| match threads {
            Threads::All => true,
            Threads::These(tids) => tids.contains(&call.tid),
        })
    }
}

impl CallFamily for SharedBytes {
    fn feed(&mut self, _: &[Phase], _: &mut PartIndex, call: &Call) {
        if self.by_file.is_empty() || !call.op.is_data() {
            return;
        }
        let Some(file) = call.file else { return };
        let bytes = u64::try_from(call.returned).unwrap_or(0);
        for number in self.by_file.overlapping(file, call.start_ns, call.end_ns) {
            // The bytes of a call across the window's edge may have passed the device outside the window.
            let inside = self.windows[number]
                .is_some_and(|window| call.start_ns >= window.start_ns && call.end_ns <= window.end_ns);
            if let Some((read, written)) = self.moved[number].as_mut().filter(|_| inside)
                && !self.own[number].include(call)
            {
                *(if call.op.is_read() { read } else { written }) += bytes;
            }
        }
    }

    /// Adds the facts of a phase; none where no other phase ran on its files.
    fn add_facts(&mut self, number: usize, _: &mut Phase, gap: &Gap, facts: &mut Facts) {
        if let Some((read, written)) = self.moved[number] {
            for (name, bytes) in [(FactName::OthersReadBytes, read), (FactName::OthersWriteBytes, written)] {
                facts.insert(name, gap.fact(Quantity::bytes(bytes), Scope::File, CALLS_HOOK));
            }
        }
    }
}
