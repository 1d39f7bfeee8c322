//! The activity by file. A benchmark of file creation has as many files as passes, and a search
//! through all passes for each file would take minutes.

use std::collections::HashMap;

use activebench_model::activity::{Activity, Pass, Task};
use activebench_model::call::FileId;
use activebench_model::phase::{Part, Phase};

/// Passes and deletions by file.
pub(super) struct Index<'a> {
    passes: HashMap<FileId, Vec<&'a Pass>>,
    deletions: HashMap<FileId, Vec<u64>>,
    tasks: &'a [Task],
}

impl<'a> Index<'a> {
    pub(super) fn new(activity: &'a Activity) -> Self {
        let mut passes: HashMap<FileId, Vec<&Pass>> = HashMap::new();
        for pass in &activity.passes {
            passes.entry(pass.file).or_default().push(pass);
        }
        let deletions = deletions(activity, &passes);
        Self { passes, deletions, tasks: &activity.tasks }
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

    /// Returns the passes over a file, in the order of their first calls.
    pub(super) fn passes_of(&self, file: FileId) -> &[&'a Pass] {
        self.passes.get(&file).map_or(&[], Vec::as_slice)
    }

    /// Returns the passes of a part's descriptor over its file.
    pub(super) fn passes_on(&self, part: &Part) -> impl Iterator<Item = &'a Pass> + Clone {
        let (tgid, fd) = (part.tgid, part.fd);
        self.passes_of(part.file).iter().copied().filter(move |pass| (pass.tgid, pass.fd) == (tgid, fd))
    }

    /// Returns the times at which names of a file were deleted.
    pub(super) fn deletions_of(&self, file: FileId) -> &[u64] {
        self.deletions.get(&file).map_or(&[], Vec::as_slice)
    }
}

/// Returns the deletions by file. A deleted name belongs to the file that was last opened by it.
fn deletions(activity: &Activity, passes: &HashMap<FileId, Vec<&Pass>>) -> HashMap<FileId, Vec<u64>> {
    let mut by_name: HashMap<&str, Vec<FileId>> = HashMap::new();
    for file in &activity.files {
        for name in &file.names {
            by_name.entry(name).or_default().push(file.id);
        }
    }
    let mut deletions: HashMap<FileId, Vec<u64>> = HashMap::new();
    for unlink in activity.unlinks.iter().filter(|unlink| unlink.span.returned == 0) {
        let at_ns = unlink.span.start_ns;
        let last_opened = |file: &&FileId| {
            let opens = passes.get(file).into_iter().flatten().filter_map(|pass| pass.open);
            opens.map(|open| open.start_ns).filter(|start_ns| *start_ns <= at_ns).max()
        };
        let named = by_name.get(unlink.name.as_str()).into_iter().flatten();
        if let Some(file) = named.max_by_key(last_opened) {
            deletions.entry(*file).or_default().push(at_ns);
        }
    }
    deletions
}

/// Returns the parts of all phases by file, each with its phase's number.
pub(super) fn parts_by_file(phases: &[Phase]) -> HashMap<FileId, Vec<(usize, &Part)>> {
    let mut parts: HashMap<FileId, Vec<(usize, &Part)>> = HashMap::new();
    for (index, phase) in phases.iter().enumerate() {
        for part in &phase.parts {
            parts.entry(part.file).or_default().push((index, part));
        }
    }
    parts
}
