//! The activity by file, and by descriptor of a file. A benchmark of file creation has as many files as passes, one that
//! opens its file for each call as many passes as calls: a search through all passes for each part would take minutes.

use std::collections::BTreeSet;

use activebench_model::activity::{Activity, CallSpan, Exec, FileSeen, Pass, StepKind, Task};
use activebench_model::call::{FileId, PlainCall, open_bits};
use activebench_model::grouped::Grouped;
use activebench_model::phase::{Part, Phase};
use foldhash::{HashMap, HashSet};

use super::span_index::KeyedSpans;
use super::syncs::{Map, maps_of};
use crate::activity::{BriefSync, Folded};
use crate::undecoded_io::data_mappings;

/// The activity by file and by descriptor. It serves all facts, profiles and timelines of a run.
///
/// It has what they need of the passes, and not the passes: there may be a million, of 300 bytes each.
pub struct Index<'a> {
    pub(super) tasks: &'a [Task],
    pub(super) execs: &'a [Exec],
    pub(super) files: &'a [FileSeen],
    pub(super) global_syncs: &'a [CallSpan],
    /// See [`Folded::syncs`].
    pub(super) syncs: &'a [PlainCall],
    /// See [`Folded::brief_syncs`].
    pub(super) brief_syncs: &'a HashMap<FileId, Vec<BriefSync>>,
    /// The mappings of the phases' files that the passes keep verbatim.
    pub(super) maps: Vec<Map>,
    /// Number of mappings in the whole run of files that were opened for writing.
    pub(super) data_mappings: u64,
    /// The passes with mappings, by their numbers, ascending, with the number of mappings of each.
    mapped: Vec<(usize, u64)>,
    /// Highest end of a read or write of each file, ascending.
    file_ends: Vec<(FileId, u64)>,
    /// Ends of the passes that wrote, ascending, without the highest end of each file: ends that files had before they
    /// grew, or before their inode belonged to another file.
    earlier_ends: Grouped<FileId, u64>,
    /// Opens of each file.
    opens: Grouped<FileId, u64>,
    /// Writes to each file, and opens that truncate it, each with the number of its pass.
    changes: Grouped<FileId, (u64, u32)>,
    /// The passes of each descriptor from open to close, by their numbers: it may have been opened many times.
    descriptors: KeyedSpans<Descriptor>,
    /// Lowest offset and highest end of the writes through each descriptor, by its number.
    written: Vec<(u64, u64)>,
    /// The steps of each thread through the descriptors that another thread used than the first of their process, by
    /// their places in `threads`.
    running: KeyedSpans<Descriptor>,
    threads: Vec<u32>,
    deletions: HashMap<FileId, Vec<u64>>,
    tasks_by_tid: Grouped<u32, &'a Task>,
    /// Empty without a pass over names.
    tasks_by_tgid: Grouped<u32, &'a Task>,
    /// Of each process the file systems on which it created files, by their devices; empty without a pass over names.
    created_on: HashMap<u32, BTreeSet<u32>>,
}

/// A file, and a descriptor of a process for it.
type Descriptor = (FileId, u32, i32);

fn descriptor_of(pass: &Pass) -> Descriptor {
    (pass.file, pass.tgid, pass.fd)
}

impl<'a> Index<'a> {
    /// Creates the index of the phases' files. A run may have a million others. `passes` are those of the activity.
    pub fn new(folded: &'a Folded, passes: &[Pass], phases: &[Phase]) -> Self {
        let Folded { activity, syncs, brief_syncs, .. } = folded;
        let own: HashSet<FileId> = phases.iter().flat_map(|phase| &phase.parts).map(|part| part.file).collect();
        let names: HashMap<&str, Vec<FileId>> = files_by_name(activity, &own);
        // A name may have been that of other files too.
        let related: HashSet<FileId> = names.values().flatten().chain(&own).copied().collect();
        let deletions = deletions(activity, passes, &names, &related);
        // Each pass is looked up once.
        let numbers = (0_u32..).zip(passes).filter(|(_, pass)| own.contains(&pass.file)).map(|(number, _)| number);
        let numbers: Vec<u32> = numbers.collect();
        let numbered = || numbers.iter().map(|number| (*number, &passes[*number as usize]));
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
            have_others[number] |= pass.steps.iter().any(|step| *step.tids != [pass.tgid]);
        }
        let has_others = |pass: &Pass| descriptors.number(&descriptor_of(pass)).is_some_and(|of| have_others[of]);
        let by_others = || numbered().map(|(_, pass)| pass).filter(|pass| has_others(pass));
        let of_threads = || {
            let steps = by_others().flat_map(|pass| pass.steps.iter().map(move |step| (pass, step)));
            steps.flat_map(|(pass, step)| step.tids.iter().map(move |tid| (pass, step, *tid)))
        };
        let spans = of_threads()
            .enumerate()
            .map(|(place, (pass, step, _))| (descriptor_of(pass), (step.start_ns, step.last_end_ns, place)));
        let running = KeyedSpans::new(spans);
        let over_names = phases.iter().any(|phase| phase.names.is_some());
        let mut created_on: HashMap<u32, BTreeSet<u32>> = HashMap::default();
        for pass in passes.iter().filter(|pass| over_names && pass.open_flags & open_bits::CREATE != 0) {
            created_on.entry(pass.tgid).or_default().insert(pass.file.s_dev);
        }
        let file_ends = file_ends(numbered().map(|(_, pass)| pass));
        let mapped = numbered().map(|(number, pass)| (number as usize, mappings(pass))).filter(|(_, maps)| *maps > 0);
        Self {
            tasks: &activity.tasks,
            execs: &activity.execs,
            files: &activity.files,
            global_syncs: &activity.global_syncs,
            syncs,
            brief_syncs,
            maps: numbered().flat_map(|(_, pass)| maps_of(pass)).collect(),
            data_mappings: data_mappings(passes, &[]),
            mapped: mapped.collect(),
            earlier_ends: earlier_ends(numbered().map(|(_, pass)| pass), &file_ends),
            file_ends,
            opens: Grouped::new(opened, |at_ns| *at_ns),
            changes: Grouped::new(changes, |(at_ns, _)| *at_ns),
            running,
            threads: of_threads().map(|(.., tid)| tid).collect(),
            descriptors,
            written,
            deletions,
            tasks_by_tid: Grouped::new(activity.tasks.iter().map(|task| (task.tid, task)), |_| ()),
            tasks_by_tgid: Grouped::new(
                activity.tasks.iter().filter(|_| over_names).map(|task| (task.tgid, task)),
                |_| (),
            ),
            created_on,
        }
    }

    /// Returns the file systems on which a process created files, by their devices; none in a run without a pass over
    /// names.
    pub(super) fn created_on(&self, tgid: u32) -> impl Iterator<Item = u32> {
        self.created_on.get(&tgid).into_iter().flatten().copied()
    }

    /// Returns the tasks that had a number, one after the other: numbers are given again.
    pub(super) fn tasks_of(&self, tid: u32) -> &[&'a Task] {
        self.tasks_by_tid.get(&tid)
    }

    /// Returns the threads of a process that lived inside a span of a pass over names, ascending.
    pub(super) fn threads_of_process(&self, tgid: u32, start_ns: u64, end_ns: u64) -> Vec<u32> {
        let lived = |task: &&&Task| task.start_ns <= end_ns && task.end_ns.is_none_or(|ended_ns| ended_ns >= start_ns);
        let mut tids: Vec<u32> = self.tasks_by_tgid.get(&tgid).iter().filter(lived).map(|task| task.tid).collect();
        tids.sort_unstable();
        tids.dedup();
        tids
    }

    /// Returns the first time, from a time on, at which a file was opened.
    pub(super) fn opened_from(&self, file: FileId, from_ns: u64) -> Option<u64> {
        let opens = self.opens.get(&file);
        opens.get(opens.partition_point(|at_ns| *at_ns < from_ns)).copied()
    }

    /// Returns the writes to a file and the opens that truncate it, from a time on, in order, each with the number of its
    /// pass.
    pub(super) fn changes_from(&self, file: FileId, from_ns: u64) -> impl Iterator<Item = (u64, usize)> {
        let changes = self.changes.get(&file);
        let changes = changes[changes.partition_point(|(at_ns, _)| *at_ns < from_ns)..].iter();
        changes.map(|(at_ns, pass)| (*at_ns, *pass as usize))
    }

    /// Returns the numbers of the passes of a part's descriptor over its file that were open at a time, in any order.
    pub(super) fn passes_at(&self, part: &Part, at_ns: u64) -> impl Iterator<Item = usize> {
        self.descriptors.overlapping((part.file, part.tgid, part.fd), at_ns, at_ns)
    }

    /// Returns the number of mappings of a pass.
    pub(super) fn mappings_of(&self, pass: usize) -> u64 {
        self.mapped.binary_search_by_key(&pass, |(number, _)| *number).map_or(0, |place| self.mapped[place].1)
    }

    /// Returns `true` if no pass over the phases' files has a mapping.
    pub(super) fn has_no_mappings(&self) -> bool {
        self.mapped.is_empty()
    }

    /// Returns the highest end of a read or write of one of the phases' files; 0 where nothing was read or written.
    pub(super) fn file_end(&self, file: FileId) -> u64 {
        self.file_ends.binary_search_by_key(&file, |(of, _)| *of).map_or(0, |place| self.file_ends[place].1)
    }

    /// Returns `true` if one of the phases' files ended here before it grew.
    pub(super) fn ended_earlier(&self, file: FileId, end: u64) -> bool {
        self.earlier_ends.get(&file).binary_search(&end).is_ok()
    }

    /// Returns the threads whose calls on a part's descriptor over its file overlap a span, ascending; the first thread
    /// of its process where there are none.
    pub(super) fn threads_between(&self, part: &Part, from_ns: u64, to_ns: u64) -> Vec<u32> {
        let inside = self.running.overlapping((part.file, part.tgid, part.fd), from_ns, to_ns);
        let mut tids: Vec<u32> = inside.map(|place| self.threads[place]).collect();
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

fn mappings(pass: &Pass) -> u64 {
    pass.steps.iter().filter(|step| step.kind == StepKind::Map).map(|step| step.calls).sum()
}

/// Returns the highest end of a read or write of each file, ascending.
fn file_ends<'p>(passes: impl Iterator<Item = &'p Pass>) -> Vec<(FileId, u64)> {
    let end_of_data = |pass: &Pass| {
        let moved = pass.steps.iter().filter(|step| matches!(step.kind, StepKind::Read | StepKind::Write));
        let end = moved.map(|step| u64::try_from(step.max_offset).unwrap_or(0)).max()?;
        Some((pass.file, end))
    };
    let mut ends: Vec<(FileId, u64)> = passes.filter_map(end_of_data).collect();
    ends.sort_unstable();
    // The last one of each file remains.
    ends.reverse();
    ends.dedup_by_key(|(file, _)| *file);
    ends.reverse();
    ends.shrink_to_fit();
    ends
}

/// Returns the ends of the passes that wrote, without the highest end of each file.
fn earlier_ends<'p>(passes: impl Iterator<Item = &'p Pass>, file_ends: &[(FileId, u64)]) -> Grouped<FileId, u64> {
    let end_of_writes = |pass: &Pass| {
        let written = pass.steps.iter().filter(|step| step.kind == StepKind::Write);
        let end = written.filter_map(|step| u64::try_from(step.max_offset).ok()).max()?;
        file_ends.binary_search(&(pass.file, end)).is_err().then_some((pass.file, end))
    };
    Grouped::new(passes.filter_map(end_of_writes), |end| *end)
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
    passes: &[Pass],
    by_name: &HashMap<&str, Vec<FileId>>,
    related: &HashSet<FileId>,
) -> HashMap<FileId, Vec<u64>> {
    if activity.unlinks.is_empty() {
        return HashMap::default();
    }
    let passes = passes.iter().filter(|pass| related.contains(&pass.file));
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
pub(super) fn parts_by_file(phases: &[Phase]) -> Grouped<FileId, (usize, &Part)> {
    let parts =
        phases.iter().enumerate().flat_map(|(number, phase)| phase.parts.iter().map(move |part| (number, part)));
    Grouped::new(parts.map(|(number, part)| (part.file, (number, part))), |(_, part)| part.start_ns)
}
