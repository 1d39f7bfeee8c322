//! The activity by file, and by descriptor of a file. A benchmark of file creation has as many files as passes, one that
//! opens its file for each call as many passes as calls: a search through all passes for each part would take minutes.

use activebench_model::activity::{Activity, Pass, Step, StepKind, Task};
use activebench_model::call::{FileId, open_bits};
use activebench_model::phase::{Part, Phase};
use foldhash::{HashMap, HashSet};

use super::grouped::Grouped;
use super::span_index::KeyedSpans;

/// The activity by file and by descriptor. It serves all facts, profiles and timelines of a run.
pub struct Index<'a> {
    passes: &'a [Pass],
    /// Opens of each file.
    opens: Grouped<FileId, u64>,
    /// Writes to each file, and opens that truncate it, each with the number of its pass.
    changes: Grouped<FileId, (u64, u32)>,
    /// The passes of each descriptor from open to close, by their numbers: it may have been opened many times.
    descriptors: KeyedSpans<Descriptor>,
    /// Lowest offset and highest end of the writes through each descriptor, by its number.
    written: Vec<(u64, u64)>,
    /// The steps of the descriptors that another thread used than the first of their process, by their places in `steps`.
    running: KeyedSpans<Descriptor>,
    steps: Vec<&'a Step>,
    deletions: HashMap<FileId, Vec<u64>>,
    tasks: &'a [Task],
    tasks_by_tid: Grouped<u32, &'a Task>,
}

/// A file, and a descriptor of a process for it.
type Descriptor = (FileId, u32, i32);

fn descriptor_of(pass: &Pass) -> Descriptor {
    (pass.file, pass.tgid, pass.fd)
}

impl<'a> Index<'a> {
    /// Creates the index of the phases' files. A run may have a million others.
    pub fn new(activity: &'a Activity, phases: &[Phase]) -> Self {
        let own: HashSet<FileId> = phases.iter().flat_map(|phase| &phase.parts).map(|part| part.file).collect();
        let names: HashMap<&str, Vec<FileId>> = files_by_name(activity, &own);
        // A name may have been that of other files too.
        let related: HashSet<FileId> = names.values().flatten().chain(&own).copied().collect();
        let deletions = deletions(activity, &names, &related);
        let numbered = || (0_u32..).zip(&activity.passes).filter(|(_, pass)| own.contains(&pass.file));
        let opened = numbered().filter_map(|(_, pass)| Some((pass.file, pass.open?.start_ns)));
        let changes =
            numbered().flat_map(|(number, pass)| changes(pass).map(move |at_ns| (pass.file, (at_ns, number))));
        let spans = numbered().map(|(number, pass)| {
            let opened_ns = pass.open.map_or(0, |open| open.start_ns);
            let closed_ns = pass.close.map_or(u64::MAX, |close| close.end_ns);
            (descriptor_of(pass), (opened_ns, closed_ns, number as usize))
        });
        let descriptors = KeyedSpans::new(spans);
        let mut written = vec![(u64::MAX, 0); descriptors.len()];
        let mut have_others = vec![false; descriptors.len()];
        for (_, pass) in numbered() {
            let Some(number) = descriptors.number(&descriptor_of(pass)) else { continue };
            let (lowest, highest) = &mut written[number];
            for step in pass.steps.iter().filter(|step| step.kind == StepKind::Write) {
                *lowest = u64::try_from(step.min_offset).map_or(*lowest, |offset| offset.min(*lowest));
                *highest = u64::try_from(step.max_offset).map_or(*highest, |offset| offset.max(*highest));
            }
            have_others[number] |= pass.steps.iter().any(|step| step.tids != [pass.tgid]);
        }
        let has_others = |pass: &Pass| descriptors.number(&descriptor_of(pass)).is_some_and(|of| have_others[of]);
        let by_others = || numbered().map(|(_, pass)| pass).filter(|pass| has_others(pass));
        let steps: Vec<&Step> = by_others().flat_map(|pass| &pass.steps).collect();
        let keys = by_others().flat_map(|pass| pass.steps.iter().map(move |_| descriptor_of(pass)));
        let spans = steps.iter().enumerate().map(|(place, step)| (step.start_ns, step.last_end_ns, place));
        Self {
            passes: &activity.passes,
            opens: Grouped::new(opened, |at_ns| *at_ns),
            changes: Grouped::new(changes, |(at_ns, _)| *at_ns),
            running: KeyedSpans::new(keys.zip(spans)),
            descriptors,
            written,
            steps,
            deletions,
            tasks: &activity.tasks,
            tasks_by_tid: Grouped::new(activity.tasks.iter().map(|task| (task.tid, task)), |_| ()),
        }
    }

    /// Returns the tasks that had a number, one after the other: numbers are given again.
    pub(super) fn tasks_of(&self, tid: u32) -> &[&'a Task] {
        self.tasks_by_tid.get(&tid)
    }

    /// Returns the threads of a process that lived inside a span, ascending.
    pub(super) fn threads_of_process(&self, tgid: u32, start_ns: u64, end_ns: u64) -> Vec<u32> {
        let lived = |task: &&Task| {
            task.tgid == tgid && task.start_ns <= end_ns && task.end_ns.is_none_or(|ended_ns| ended_ns >= start_ns)
        };
        let mut tids: Vec<u32> = self.tasks.iter().filter(lived).map(|task| task.tid).collect();
        tids.sort_unstable();
        tids.dedup();
        tids
    }

    /// Returns the first time, from a time on, at which a file was opened.
    pub(super) fn opened_from(&self, file: FileId, from_ns: u64) -> Option<u64> {
        let opens = self.opens.get(&file);
        opens.get(opens.partition_point(|at_ns| *at_ns < from_ns)).copied()
    }

    /// Returns the writes to a file and the opens that truncate it, from a time on, in order, each with its pass.
    pub(super) fn changes_from(&self, file: FileId, from_ns: u64) -> impl Iterator<Item = (u64, &'a Pass)> {
        let changes = self.changes.get(&file);
        let changes = changes[changes.partition_point(|(at_ns, _)| *at_ns < from_ns)..].iter();
        changes.map(|(at_ns, pass)| (*at_ns, &self.passes[*pass as usize]))
    }

    /// Returns the passes of a part's descriptor over its file that were open at a time, in any order.
    pub(super) fn passes_at(&self, part: &Part, at_ns: u64) -> impl Iterator<Item = &'a Pass> {
        let open = self.descriptors.overlapping((part.file, part.tgid, part.fd), at_ns, at_ns);
        open.map(|pass| &self.passes[pass])
    }

    /// Returns the threads whose calls on a part's descriptor over its file overlap a span, ascending; the first thread
    /// of its process where there are none.
    pub(super) fn threads_between(&self, part: &Part, from_ns: u64, to_ns: u64) -> Vec<u32> {
        let inside = self.running.overlapping((part.file, part.tgid, part.fd), from_ns, to_ns);
        let mut tids: Vec<u32> = inside.flat_map(|step| &self.steps[step].tids).copied().collect();
        tids.sort_unstable();
        tids.dedup();
        if tids.is_empty() {
            tids.push(part.tgid);
        }
        tids
    }

    /// Returns the range that the passes of a part's descriptor wrote in its file: lowest offset and highest end.
    pub(super) fn written_range(&self, part: &Part) -> (u64, u64) {
        let written = self.descriptors.number(&(part.file, part.tgid, part.fd)).map(|number| self.written[number]);
        written.map_or((0, 0), |(lowest, highest)| (if lowest == u64::MAX { 0 } else { lowest }, highest))
    }

    /// Returns the times at which names of a file were deleted, ascending.
    pub(super) fn deletions_of(&self, file: FileId) -> &[u64] {
        self.deletions.get(&file).map_or(&[], Vec::as_slice)
    }
}

/// Returns the times of a pass's writes, and that of its open if it truncates the file.
fn changes(pass: &Pass) -> impl Iterator<Item = u64> {
    let truncated = pass.open.filter(|_| pass.open_flags & open_bits::TRUNCATE != 0).map(|open| open.start_ns);
    let written = pass.steps.iter().filter(|step| step.kind == StepKind::Write).map(|step| step.start_ns);
    truncated.into_iter().chain(written)
}

/// Returns the names that some files had, each with all files that had it.
fn files_by_name<'a>(activity: &'a Activity, own: &HashSet<FileId>) -> HashMap<&'a str, Vec<FileId>> {
    let names = activity.files.iter().filter(|file| own.contains(&file.id)).flat_map(|file| &file.names);
    let mut by_name: HashMap<&str, Vec<FileId>> = names.map(|name| (name.as_str(), Vec::new())).collect();
    for file in &activity.files {
        for name in &file.names {
            if let Some(files) = by_name.get_mut(name.as_str()) {
                files.push(file.id);
            }
        }
    }
    by_name
}

/// Returns the deletions by file. A deleted name belongs to the file that was last opened by it.
fn deletions(
    activity: &Activity,
    by_name: &HashMap<&str, Vec<FileId>>,
    related: &HashSet<FileId>,
) -> HashMap<FileId, Vec<u64>> {
    if activity.unlinks.is_empty() {
        return HashMap::default();
    }
    let passes = activity.passes.iter().filter(|pass| related.contains(&pass.file));
    let opened = Grouped::new(passes.filter_map(|pass| Some((pass.file, pass.open?.start_ns))), |_| ());
    // The opens of each deleted name's files: one name may have been that of many files.
    let mut opens: HashMap<&str, Vec<(u64, FileId)>> = HashMap::default();
    let mut deletions: HashMap<FileId, Vec<u64>> = HashMap::default();
    for unlink in activity.unlinks.iter().filter(|unlink| unlink.span.returned == 0) {
        let (name, at_ns) = (unlink.name.as_str(), unlink.span.start_ns);
        let Some(files) = by_name.get(name) else { continue };
        let opens = opens.entry(name).or_insert_with(|| {
            let opened = files.iter().flat_map(|file| opened.get(file).iter().map(|at_ns| (*at_ns, *file)));
            let mut opens: Vec<(u64, FileId)> = opened.collect();
            opens.sort_unstable();
            opens
        });
        let until_then = opens.partition_point(|(opened_ns, _)| *opened_ns <= at_ns);
        let last_opened = until_then.checked_sub(1).map(|last| opens[last].1);
        if let Some(file) = last_opened.or_else(|| files.last().copied()) {
            deletions.entry(file).or_default().push(at_ns);
        }
    }
    deletions.values_mut().for_each(|times| times.sort_unstable());
    deletions
}

/// Returns the parts of all phases by file, each with its phase's number, in the order of their starts.
pub(super) fn parts_by_file(phases: &[Phase]) -> HashMap<FileId, Vec<(usize, &Part)>> {
    let mut parts: HashMap<FileId, Vec<(usize, &Part)>> = HashMap::default();
    for (index, phase) in phases.iter().enumerate() {
        for part in &phase.parts {
            parts.entry(part.file).or_default().push((index, part));
        }
    }
    parts.values_mut().for_each(|parts| parts.sort_by_key(|(_, part)| part.start_ns));
    parts
}
