//! The parts of all phases by descriptor and time. Every family of facts that assigns calls to parts uses the same index:
//! a tool that opens its file for each call has a part per open.

use activebench_model::phase::{Part, Phase};

use super::span_index::KeyedSpans;
use super::windows::end_of;

/// The parts of all phases, numbered in the order of the phases and of the parts of each. It holds no parts: 24 bytes
/// each.
pub(super) struct PartIndex {
    places: Vec<PartPlace>,
    /// Spans from the start of each part to its last data call, which its clock may leave out.
    by_descriptor: KeyedSpans<(u32, i32)>,
}

/// A part's place.
#[derive(Clone, Copy)]
pub(super) struct PartPlace {
    phase: u32,
    /// Index in the parts of the phase.
    part: u32,
}

impl PartPlace {
    /// Returns the index of the part's phase.
    pub(super) fn phase(self) -> usize {
        self.phase as usize
    }

    /// Returns the part.
    pub(super) fn part(self, phases: &[Phase]) -> &Part {
        &phases[self.phase()].parts[self.part as usize]
    }
}

/// The tasks of a phase: parts of the same threads of a process are those of one task. Tasks are numbered in the order of
/// their first parts.
pub(super) struct PartTasks {
    /// The task of each part.
    pub(super) of_parts: Vec<u32>,
    /// The number of tasks.
    pub(super) count: usize,
}

impl PartTasks {
    /// Finds the tasks of a phase's parts.
    ///
    /// Lists, and no table: there may be a million tasks of one part each.
    pub(super) fn of(parts: &[Part]) -> Self {
        let number = |index: usize| u32::try_from(index).expect("fewer than 2^32 parts fit into memory");
        let order = |one: u32, other: u32| {
            let (one, other) = (&parts[one as usize], &parts[other as usize]);
            // Mostly a part names no thread or one.
            let threads = || one.tids.first().cmp(&other.tids.first()).then_with(|| one.tids.cmp(&other.tids));
            one.tgid.cmp(&other.tgid).then_with(threads)
        };
        let mut by_task: Vec<u32> = (0..number(parts.len())).collect();
        by_task.sort_unstable_by(|one, other| order(*one, *other).then(one.cmp(other)));
        // First the number of the task's first part.
        let mut of_parts = vec![0; parts.len()];
        for of_task in by_task.chunk_by(|one, other| order(*one, *other).is_eq()) {
            of_task.iter().for_each(|place| of_parts[*place as usize] = of_task[0]);
        }
        drop(by_task);
        let mut count = 0;
        for place in 0..of_parts.len() {
            let first = of_parts[place] as usize;
            of_parts[place] = if first == place { count } else { of_parts[first] };
            count += u32::from(first == place);
        }
        Self { of_parts, count: count as usize }
    }
}

impl PartIndex {
    /// Creates the index of phases whose clocks are resolved.
    pub(super) fn new(phases: &[Phase]) -> Self {
        let mut places = Vec::with_capacity(phases.iter().map(|phase| phase.parts.len()).sum());
        for (phase, of_phase) in (0..).zip(phases) {
            places.extend((0..).zip(&of_phase.parts).map(|(part, _)| PartPlace { phase, part }));
        }
        let span = |(number, place): (usize, &PartPlace)| {
            let part = place.part(phases);
            ((part.tgid, part.fd), (part.start_ns, end_of(part).max(part.last_data_ns), number))
        };
        let by_descriptor = KeyedSpans::new(places.iter().enumerate().map(span));
        Self { places, by_descriptor }
    }

    /// Returns the parts of a descriptor that overlap a span up to their last data calls, each with its number.
    pub(super) fn overlapping(
        &mut self,
        descriptor: (u32, i32),
        start_ns: u64,
        end_ns: u64,
    ) -> impl Iterator<Item = (usize, PartPlace)> {
        let numbers = self.by_descriptor.next_overlapping(descriptor, start_ns, end_ns);
        numbers.map(|number| (number, self.places[number]))
    }
}
