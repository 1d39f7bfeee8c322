//! The activity by file, and by descriptor of a file. A benchmark of file creation has as many files as passes, one that
//! opens its file for each call as many passes as calls: a search through all passes for each part would take minutes.

use std::collections::{HashMap, HashSet};

use activebench_model::activity::{Activity, Pass, Step, StepKind, Task};
use activebench_model::call::{FileId, open_bits};
use activebench_model::phase::{Part, Phase};

use super::span_index::SpanIndex;

/// Passes and deletions by file.
pub(super) struct Index<'a> {
    /// Opens of each file, ascending.
    opens: HashMap<FileId, Vec<u64>>,
    /// Writes to each file, and opens that truncate it, each with its pass, ascending.
    changes: HashMap<FileId, Vec<(u64, &'a Pass)>>,
    descriptors: HashMap<(FileId, u32, i32), Descriptor<'a>>,
    deletions: HashMap<FileId, Vec<u64>>,
    tasks: &'a [Task],
    tasks_by_tid: HashMap<u32, Vec<&'a Task>>,
}

/// What a process did with a file through one descriptor number, which may have been opened many times.
#[derive(Default)]
struct Descriptor<'a> {
    passes: Vec<&'a Pass>,
    /// Spans from open to close, by the numbers of `passes`.
    open: SpanIndex,
    steps: Vec<&'a Step>,
    /// Spans of the steps, by the numbers of `steps`.
    running: SpanIndex,
    /// Lowest offset and highest end of the writes.
    written: (u64, u64),
}

impl<'a> Descriptor<'a> {
    fn of(mut passes: Vec<&'a Pass>) -> Self {
        passes.shrink_to_fit();
        let open = passes.iter().enumerate().map(|(number, pass)| {
            let opened_ns = pass.open.map_or(0, |open| open.start_ns);
            (opened_ns, pass.close.map_or(u64::MAX, |close| close.end_ns), number)
        });
        let open = SpanIndex::new(open.collect());
        let mut steps = Vec::with_capacity(passes.iter().map(|pass| pass.steps.len()).sum());
        steps.extend(passes.iter().flat_map(|pass| &pass.steps));
        let running = steps.iter().enumerate().map(|(number, step)| (step.start_ns, step.last_end_ns, number));
        let running = SpanIndex::new(running.collect());
        let writes = || steps.iter().filter(|step| step.kind == StepKind::Write);
        let lowest = writes().filter_map(|step| u64::try_from(step.min_offset).ok()).min();
        let highest = writes().filter_map(|step| u64::try_from(step.max_offset).ok()).max();
        let written = (lowest.unwrap_or(0), highest.unwrap_or(0));
        Self { passes, open, steps, running, written }
    }
}

impl<'a> Index<'a> {
    /// Creates the index of the phases' files. A run may have a million others.
    pub(super) fn new(activity: &'a Activity, phases: &[Phase]) -> Self {
        let own: HashSet<FileId> = phases.iter().flat_map(|phase| &phase.parts).map(|part| part.file).collect();
        let names: HashMap<&str, Vec<FileId>> = files_by_name(activity, &own);
        // A name may have been that of other files too.
        let related: HashSet<FileId> = names.values().flatten().chain(&own).copied().collect();
        let mut passes: HashMap<FileId, Vec<&Pass>> = HashMap::new();
        for pass in activity.passes.iter().filter(|pass| related.contains(&pass.file)) {
            passes.entry(pass.file).or_default().push(pass);
        }
        let mut by_descriptor: HashMap<_, Vec<&Pass>> = HashMap::new();
        for pass in activity.passes.iter().filter(|pass| own.contains(&pass.file)) {
            by_descriptor.entry((pass.file, pass.tgid, pass.fd)).or_default().push(pass);
        }
        let descriptors = by_descriptor.into_iter().map(|(key, passes)| (key, Descriptor::of(passes))).collect();
        let mut tasks_by_tid: HashMap<u32, Vec<&Task>> = HashMap::new();
        for task in &activity.tasks {
            tasks_by_tid.entry(task.tid).or_default().push(task);
        }
        let deletions = deletions(activity, &names, &passes);
        passes.retain(|file, _| own.contains(file));
        let opens = passes.iter().map(|(file, passes)| {
            let opened = passes.iter().filter_map(|pass| pass.open);
            let mut opens: Vec<u64> = opened.map(|open| open.start_ns).collect();
            opens.sort_unstable();
            (*file, opens)
        });
        let opens = opens.collect();
        let changes = passes.into_iter().map(|(file, passes)| (file, changes(&passes))).collect();
        Self { opens, changes, descriptors, deletions, tasks: &activity.tasks, tasks_by_tid }
    }

    /// Returns the tasks that had a number, one after the other: numbers are given again.
    pub(super) fn tasks_of(&self, tid: u32) -> &[&'a Task] {
        self.tasks_by_tid.get(&tid).map_or(&[], Vec::as_slice)
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
        let opens = self.opens.get(&file)?;
        opens.get(opens.partition_point(|at_ns| *at_ns < from_ns)).copied()
    }

    /// Returns the writes to a file and the opens that truncate it, from a time on, in order, each with its pass.
    pub(super) fn changes_from(&self, file: FileId, from_ns: u64) -> impl Iterator<Item = (u64, &'a Pass)> {
        let changes = self.changes.get(&file).map_or(&[][..], Vec::as_slice);
        changes[changes.partition_point(|(at_ns, _)| *at_ns < from_ns)..].iter().copied()
    }

    fn descriptor(&self, part: &Part) -> Option<&Descriptor<'a>> {
        self.descriptors.get(&(part.file, part.tgid, part.fd))
    }

    /// Returns the passes of a part's descriptor over its file that were open at a time, in any order.
    pub(super) fn passes_at(&self, part: &Part, at_ns: u64) -> impl Iterator<Item = &'a Pass> {
        let open = |of: &'_ Descriptor<'a>| of.open.overlapping(at_ns, at_ns).map(|pass| of.passes[pass]).collect();
        self.descriptor(part).map_or_else(Vec::new, open).into_iter()
    }

    /// Returns the steps of a part's descriptor over its file that overlap a span, in any order.
    pub(super) fn steps_between(&self, part: &Part, from_ns: u64, to_ns: u64) -> impl Iterator<Item = &'a Step> {
        let inside =
            |of: &'_ Descriptor<'a>| of.running.overlapping(from_ns, to_ns).map(|step| of.steps[step]).collect();
        self.descriptor(part).map_or_else(Vec::new, inside).into_iter()
    }

    /// Returns the range that the passes of a part's descriptor wrote in its file: lowest offset and highest end.
    pub(super) fn written_range(&self, part: &Part) -> (u64, u64) {
        self.descriptor(part).map_or((0, 0), |of| of.written)
    }

    /// Returns the times at which names of a file were deleted, ascending.
    pub(super) fn deletions_of(&self, file: FileId) -> &[u64] {
        self.deletions.get(&file).map_or(&[], Vec::as_slice)
    }
}

/// Returns the writes of some passes and those of their opens that truncate, in order.
fn changes<'a>(passes: &[&'a Pass]) -> Vec<(u64, &'a Pass)> {
    let of_pass = |pass: &&'a Pass| {
        let pass = *pass;
        let truncated = pass.open.filter(|_| pass.open_flags & open_bits::TRUNCATE != 0).map(|open| open.start_ns);
        let written = pass.steps.iter().filter(|step| step.kind == StepKind::Write).map(|step| step.start_ns);
        truncated.into_iter().chain(written).map(move |at_ns| (at_ns, pass))
    };
    let mut changes: Vec<(u64, &Pass)> = passes.iter().flat_map(of_pass).collect();
    changes.shrink_to_fit();
    changes.sort_by_key(|(at_ns, _)| *at_ns);
    changes
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
    passes: &HashMap<FileId, Vec<&Pass>>,
) -> HashMap<FileId, Vec<u64>> {
    // The opens of each deleted name's files: one name may have been that of many files.
    let mut opens: HashMap<&str, Vec<(u64, FileId)>> = HashMap::new();
    let mut deletions: HashMap<FileId, Vec<u64>> = HashMap::new();
    for unlink in activity.unlinks.iter().filter(|unlink| unlink.span.returned == 0) {
        let (name, at_ns) = (unlink.name.as_str(), unlink.span.start_ns);
        let Some(files) = by_name.get(name) else { continue };
        let opens = opens.entry(name).or_insert_with(|| {
            let passes = files.iter().flat_map(|file| passes.get(file).into_iter().flatten());
            let mut opens: Vec<(u64, FileId)> =
                passes.filter_map(|pass| Some((pass.open?.start_ns, pass.file))).collect();
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
    let mut parts: HashMap<FileId, Vec<(usize, &Part)>> = HashMap::new();
    for (index, phase) in phases.iter().enumerate() {
        for part in &phase.parts {
            parts.entry(part.file).or_default().push((index, part));
        }
    }
    parts.values_mut().for_each(|parts| parts.sort_by_key(|(_, part)| part.start_ns));
    parts
}
