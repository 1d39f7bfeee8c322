//! Bytes that other passes moved on the files of a phase while it ran: the device counts by file, calls by pass.

use std::collections::{HashMap, HashSet};

use activebench_model::call::{Call, FileId};
use activebench_model::fact::{FactName, Facts, Scope};
use activebench_model::phase::{Part, Phase, Window};
use activebench_model::units::Quantity;

use super::call_family::CallFamily;
use super::record_losses::{CALLS_HOOK, Gap};
use super::span_index::SpanIndex;
use super::windows::is_on;

/// Bytes of other phases, updated with every call. A call on a file that no phases share costs one look-up.
pub(super) struct SharedBytes {
    by_file: HashMap<FileId, SpanIndex>,
    parts: Vec<Vec<Part>>,
    windows: Vec<Option<Window>>,
    /// `(read, written)` for each phase that shares files.
    moved: Vec<Option<(u64, u64)>>,
}

impl SharedBytes {
    /// Creates the counts for phases whose windows are resolved.
    pub(super) fn new(phases: &[Phase]) -> Self {
        let files = |phase: &Phase| phase.parts.iter().map(|part| part.file).collect::<HashSet<FileId>>();
        let spans = phases.iter().enumerate().filter_map(|(number, phase)| {
            let window = phase.window?;
            Some(files(phase).into_iter().map(move |file| (file, (window.start_ns, window.end_ns, number))))
        });
        let mut by_file = SpanIndex::by_key(spans.flatten());
        // The two directions of a mix have the same parts and share nothing with others.
        let same = |one: &Phase, other: &Phase| {
            one.parts.iter().all(|part| {
                other.parts.iter().any(|own| (own.tgid, own.fd, &own.tids) == (part.tgid, part.fd, &part.tids))
            })
        };
        let mut moved = vec![None; phases.len()];
        by_file.retain(|_, index| {
            let mut shared = false;
            for (number, phase) in phases.iter().enumerate() {
                let Some(window) = phase.window else { continue };
                let mut at_once: Vec<usize> = index.overlapping(window.start_ns, window.end_ns).collect();
                at_once.retain(|other| !same(&phases[*other], phase));
                if !at_once.is_empty() && index.overlapping(window.start_ns, window.end_ns).any(|own| own == number) {
                    moved[number] = Some((0, 0));
                    shared = true;
                }
            }
            shared
        });
        let parts = phases.iter().map(|phase| phase.parts.clone()).collect();
        Self { by_file, parts, windows: phases.iter().map(|phase| phase.window).collect(), moved }
    }
}

impl CallFamily for SharedBytes {
    fn feed(&mut self, _: &[Phase], call: &Call) {
        if self.by_file.is_empty() || !call.op.is_data() {
            return;
        }
        let Some(index) = call.file.and_then(|file| self.by_file.get(&file)) else { return };
        let bytes = u64::try_from(call.returned).unwrap_or(0);
        for number in index.overlapping(call.start_ns, call.end_ns) {
            // The bytes of a call across the window's edge may have passed the device outside the window.
            let inside = self.windows[number]
                .is_some_and(|window| call.start_ns >= window.start_ns && call.end_ns <= window.end_ns);
            if !inside || self.parts[number].iter().any(|part| is_on(part, call)) {
                continue;
            }
            if let Some((read, written)) = &mut self.moved[number] {
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
