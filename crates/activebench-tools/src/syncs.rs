//! The syncs that made the data of a pass durable.

use std::collections::HashMap;

use activebench_model::activity::{Activity, CallSpan, Pass, StepKind};
use activebench_model::call::FileId;

/// The syncs of a tool's files, and what ends the time in which a sync counts for a pass. Each look-up takes time with
/// the logarithm of the calls: a tool may open one file thousands of times.
pub(crate) struct Syncs<'a> {
    files: HashMap<FileId, OfFile<'a>>,
    /// Removals by name, ascending.
    removed: HashMap<&'a str, Vec<u64>>,
    /// Syncs of all files that did not fail, ascending.
    global: Vec<CallSpan>,
}

#[derive(Default)]
struct OfFile<'a> {
    names: Vec<&'a str>,
    /// Starts of the steps that change the file, each with its pass, ascending.
    changes: Vec<(u64, &'a Pass)>,
    /// Syncs that did not fail, ascending.
    syncs: Vec<CallSpan>,
}

impl<'a> Syncs<'a> {
    /// Collects the syncs from the passes over the tool's files. `changes` says which steps end the time of a sync;
    /// `name_of` returns the part of a name by which a removal is assigned to a file.
    pub(crate) fn new(
        activity: &'a Activity,
        passes: impl IntoIterator<Item = &'a Pass>,
        changes: fn(StepKind) -> bool,
        name_of: fn(&str) -> &str,
    ) -> Self {
        let mut files: HashMap<FileId, OfFile<'a>> = HashMap::new();
        for pass in passes {
            let of_file = files.entry(pass.file).or_default();
            let changing = pass.steps.iter().filter(|step| changes(step.kind));
            of_file.changes.extend(changing.map(|step| (step.start_ns, pass)));
            let syncs = pass.steps.iter().filter(|step| step.kind == StepKind::Sync).flat_map(|step| &step.head);
            of_file.syncs.extend(syncs.map(|call| call.span).filter(|span| span.returned >= 0));
        }
        for file in &activity.files {
            if let Some(of_file) = files.get_mut(&file.id) {
                of_file.names = file.names.iter().map(|name| name_of(name)).collect();
                of_file.names.sort_unstable();
                of_file.names.dedup();
            }
        }
        for of_file in files.values_mut() {
            of_file.changes.sort_by_key(|(start_ns, _)| *start_ns);
            of_file.syncs.sort_by_key(|span| span.start_ns);
        }
        let mut removed: HashMap<&str, Vec<u64>> = HashMap::new();
        for unlink in activity.unlinks.iter().filter(|unlink| unlink.span.returned >= 0) {
            removed.entry(name_of(&unlink.name)).or_default().push(unlink.span.start_ns);
        }
        removed.values_mut().for_each(|times| times.sort_unstable());
        let mut global: Vec<CallSpan> =
            activity.global_syncs.iter().filter(|span| span.returned >= 0).copied().collect();
        global.sort_by_key(|span| span.start_ns);
        Self { files, removed, global }
    }

    /// Returns the first sync that covers a file from a time on, before another pass than `own` changes it or it is
    /// removed. The next pass's own leading fsync counts: it comes before that pass's data and makes this pass's data
    /// durable.
    pub(crate) fn after(&self, file: FileId, after_ns: u64, own: Option<&Pass>) -> Option<CallSpan> {
        let none = OfFile::default();
        let of_file = self.files.get(&file).unwrap_or(&none);
        let later = &of_file.changes[of_file.changes.partition_point(|(start_ns, _)| *start_ns <= after_ns)..];
        let is_other = |pass: &Pass| own.is_none_or(|own| !std::ptr::eq(own, pass));
        let changed_ns = later.iter().find(|(_, pass)| is_other(pass)).map(|(start_ns, _)| *start_ns);
        let removals = of_file.names.iter().filter_map(|name| self.removed.get(name));
        let removed_ns =
            removals.filter_map(|times| times.get(times.partition_point(|start_ns| *start_ns <= after_ns))).min();
        let until_ns = changed_ns.into_iter().chain(removed_ns.copied()).min().unwrap_or(u64::MAX);
        let first = |syncs: &[CallSpan]| syncs.get(syncs.partition_point(|span| span.start_ns < after_ns)).copied();
        let syncs = first(&of_file.syncs).into_iter().chain(first(&self.global));
        syncs.filter(|span| span.start_ns < until_ns).min_by_key(|span| span.start_ns)
    }
}

/// Returns `true` for a step that moves data.
pub(crate) fn moves_data(kind: StepKind) -> bool {
    matches!(kind, StepKind::Read | StepKind::Write | StepKind::Map)
}

/// Returns a name without its folder.
pub(crate) fn last_component(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}
