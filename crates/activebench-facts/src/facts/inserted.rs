//! Reads the page-cache events: the insertions of each phase.

use activebench_model::activity::{Pass, StepKind};
use activebench_model::call::FileId;
use activebench_model::grouped::Grouped;
use activebench_model::log::Totals;
use activebench_model::phase::{Part, Phase};
use foldhash::{HashMap, HashSet};

use super::index::Index;
use super::span_index::KeyedSpans;
use super::windows::end_of;
use activebench_model::source::{EventSource, Unreadable};

/// Bytes that entered the page cache while a phase ran, and before it in the same pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Inserted {
    /// Inserted by the phase's own processes, by the kernel's, and by any that do not belong to a phase.
    pub(super) own: u64,
    /// The part of `own` inside its window.
    pub(super) own_in_window: u64,
    /// Inserted by any process.
    pub(super) all: u64,
    /// Inserted by the phase's own processes only, inside its window.
    pub(super) by_tasks: u64,
}

/// Returns the bytes inserted for each phase, and those inserted for files of the tree in the whole run. Where several
/// phases read one file at the same time (jobs that share it), a page that one of them inserted was already in the
/// cache for the others.
pub(super) fn read(
    source: &dyn EventSource,
    index: &Index<'_>,
    passes: &[Pass],
    phases: &[Phase],
    totals: &Totals,
) -> Result<(Vec<Inserted>, u64), Unreadable> {
    let ends = Ends::new(phases);
    let mut spans = Vec::new();
    for (number, phase) in phases.iter().enumerate() {
        let Some(window) = phase.window else { continue };
        let mut begins: HashMap<FileId, u64> = HashMap::default();
        for part in &phase.parts {
            let from_ns = pass_begin(index, passes, &ends, number, part).min(window.start_ns);
            let begin = begins.entry(part.file).or_insert(from_ns);
            *begin = from_ns.min(*begin);
        }
        spans.extend(begins.into_iter().map(|(file, from_ns)| (file, (from_ns, window.end_ns, number))));
    }
    let spans = KeyedSpans::new(spans);
    let processes = |phase: &Phase| phase.parts.iter().map(|part| part.tgid).collect::<HashSet<u32>>();
    let processes: Vec<HashSet<u32>> = phases.iter().map(processes).collect();
    let mut inserted = vec![Inserted::default(); phases.len()];
    let mut in_run: u64 = totals.cache.iter().map(|sum| sum.bytes).sum();
    for batch in source.cache() {
        for event in &batch? {
            in_run += event.bytes;
            let at_once = || spans.overlapping(event.file, event.at_ns, event.at_ns);
            let known = event.in_tree && at_once().any(|phase| processes[phase].contains(&event.tgid));
            for phase in at_once() {
                inserted[phase].all += event.bytes;
                let in_window = phases[phase].window.is_some_and(|window| window.contains(event.at_ns));
                if in_window && event.in_tree && processes[phase].contains(&event.tgid) {
                    inserted[phase].by_tasks += event.bytes;
                }
                if !known || processes[phase].contains(&event.tgid) {
                    inserted[phase].own += event.bytes;
                    inserted[phase].own_in_window += if in_window { event.bytes } else { 0 };
                }
            }
        }
    }
    Ok((inserted, in_run))
}

/// The parts of all phases that name their threads, by process and file.
pub(super) struct SharedProcesses<'a> {
    parts: Vec<(usize, &'a Part)>,
    /// The windows of their phases, by the numbers of `parts`.
    windows: KeyedSpans<(u32, FileId)>,
}

impl<'a> SharedProcesses<'a> {
    pub(super) fn new(phases: &'a [Phase]) -> Self {
        let of_phase = |(number, phase): (usize, &'a Phase)| phase.parts.iter().map(move |part| (number, part));
        let parts: Vec<(usize, &Part)> =
            phases.iter().enumerate().flat_map(of_phase).filter(|(_, part)| !part.tids.is_empty()).collect();
        let windows = parts.iter().enumerate().filter_map(|(number, (phase, part))| {
            let window = phases[*phase].window?;
            Some(((part.tgid, part.file), (window.start_ns, window.end_ns, number)))
        });
        Self { windows: KeyedSpans::new(windows), parts }
    }

    /// Returns `true` when threads of one process read one file at the same time for this phase and for others. Then
    /// only the calls show whose page it was.
    pub(super) fn include(&self, phases: &[Phase], number: usize) -> bool {
        let Some(window) = phases[number].window else { return false };
        let overlaps = |phase: usize| {
            let other = phases[phase].window;
            other.is_some_and(|other| other.start_ns < window.end_ns && window.start_ns < other.end_ns)
        };
        phases[number].parts.iter().filter(|part| !part.tids.is_empty()).any(|part| {
            let at_once = self.windows.overlapping((part.tgid, part.file), window.start_ns, window.end_ns);
            let mut others = at_once.map(|other| self.parts[other]).filter(|(phase, _)| *phase != number);
            others.any(|(phase, other)| overlaps(phase) && part.tids.iter().all(|tid| !other.tids.contains(tid)))
        })
    }
}

/// Returns the time from which insertions belong to a part's pass: its open, or the end of its earlier
/// data calls. An earlier write on the same descriptor filled the cache too, but not for
/// this part's reads.
fn pass_begin(index: &Index<'_>, passes: &[Pass], ends: &Ends, own: usize, part: &Part) -> u64 {
    let open_then = index.passes_at(part, part.start_ns).map(|pass| &passes[pass]);
    let Some(pass) = open_then.max_by_key(|pass| pass.open.map(|open| open.start_ns)) else {
        return part.start_ns;
    };
    let opened_ns = pass.open.map_or(part.start_ns, |open| open.start_ns);
    let before = |end_ns: &u64| *end_ns <= part.start_ns;
    let steps = pass.steps.iter().filter(|step| matches!(step.kind, StepKind::Read | StepKind::Write));
    let steps = steps.map(|step| step.last_end_ns);
    let of_others = ends.last_of_others(&descriptor(part), own, part.start_ns);
    steps.filter(before).chain(of_others).fold(opened_ns, u64::max)
}

/// File, process and number of a descriptor.
type Descriptor = (FileId, u32, i32);

fn descriptor(part: &Part) -> Descriptor {
    (part.file, part.tgid, part.fd)
}

/// The ends of all parts by descriptor; one may have many parts of many phases.
struct Ends {
    /// `(end, phase)`, ascending.
    sorted: Grouped<Descriptor, (u64, usize)>,
    /// For each of them the place of the last one before it that belongs to another phase.
    another: Vec<Option<u32>>,
}

impl Ends {
    fn new(phases: &[Phase]) -> Self {
        // A single phase has no others.
        let phases = if phases.len() > 1 { phases } else { &[] };
        let parts =
            phases.iter().enumerate().flat_map(|(number, phase)| phase.parts.iter().map(move |part| (number, part)));
        Self::of(parts.map(|(number, part)| (descriptor(part), (end_of(part).max(part.last_data_ns), number))))
    }

    fn of(ends: impl IntoIterator<Item = (Descriptor, (u64, usize))>) -> Self {
        let sorted = Grouped::new(ends, |end| *end);
        let values = sorted.values();
        let mut another: Vec<Option<u32>> = Vec::with_capacity(values.len());
        for places in (0..sorted.len()).map(|number| sorted.places(number)) {
            let first = places.start;
            for place in places {
                another.push(match place.checked_sub(1).filter(|before| *before >= first) {
                    Some(before) if values[before].1 == values[place].1 => another[before],
                    before => before.and_then(|before| u32::try_from(before).ok()),
                });
            }
        }
        Self { sorted, another }
    }

    /// Returns the last end of another phase's part on a descriptor that is not after a time.
    fn last_of_others(&self, of: &Descriptor, own: usize, until_ns: u64) -> Option<u64> {
        let values = self.sorted.values();
        let places = self.sorted.places(self.sorted.number(of)?);
        let ended = values[places.clone()].partition_point(|(end_ns, _)| *end_ns <= until_ns);
        let last = places.start + ended.checked_sub(1)?;
        let found = if values[last].1 == own { self.another[last]? as usize } else { last };
        Some(values[found].0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_end_of_another_phase_is_found() {
        let of = (FileId { s_dev: 1, ino: 2 }, 3, 4);
        let other = (FileId { s_dev: 1, ino: 2 }, 3, 5);
        let ends = [(other, (5, 7)), (of, (40, 1)), (of, (10, 0)), (of, (30, 1)), (of, (20, 1)), (of, (50, 0))];
        let ends = Ends::of(ends);
        for (own, until_ns, expected) in
            [(1, 45, Some(10)), (1, 60, Some(50)), (0, 60, Some(40)), (0, 25, Some(20)), (1, 9, None), (0, 15, None)]
        {
            assert_eq!(ends.last_of_others(&of, own, until_ns), expected, "{own} until {until_ns}");
        }
    }
}
