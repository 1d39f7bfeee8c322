//! The syncs that made the data of a pass durable.

use std::collections::HashMap;

use activebench_model::activity::{Activity, CallSpan, Pass, StepKind};
use activebench_model::call::FileId;
use activebench_model::grouped::Grouped;

/// The syncs of a tool's files, and what ends the time in which a sync counts for a pass. Each look-up takes time with
/// the logarithm of the calls: a tool may open one file thousands of times.
pub(crate) struct Syncs<'a> {
    /// The names of the files that have a name which was removed.
    names: Grouped<FileId, &'a str>,
    /// Starts of the steps that change each file, each with its pass, ascending.
    changes: Grouped<FileId, (u64, &'a Pass)>,
    /// Syncs of each file that did not fail, ascending.
    syncs: Grouped<FileId, CallSpan>,
    /// Removals by name, ascending.
    removed: HashMap<&'a str, Vec<u64>>,
    /// Syncs of all files that did not fail, ascending.
    global: Vec<CallSpan>,
}

impl<'a> Syncs<'a> {
    /// Collects the syncs from the passes over the tool's files. `changes` says which steps end the time of a sync;
    /// `name_of` returns the part of a name by which a removal is assigned to a file.
    pub(crate) fn new(
        activity: &'a Activity,
        passes: impl IntoIterator<Item = &'a Pass> + Clone,
        changes: fn(StepKind) -> bool,
        name_of: fn(&str) -> &str,
    ) -> Self {
        let changing = |pass: &'a Pass| {
            let steps = pass.steps.iter().filter(move |step| changes(step.kind));
            steps.map(move |step| (pass.file, (step.start_ns, pass)))
        };
        let syncs = |pass: &'a Pass| {
            let heads = pass.steps.iter().filter(|step| step.kind == StepKind::Sync).flat_map(|step| &step.head);
            heads.map(|call| call.span).filter(|span| span.returned >= 0).map(|span| (pass.file, span))
        };
        let mut removed: HashMap<&str, Vec<u64>> = HashMap::new();
        for unlink in activity.unlinks.iter().filter(|unlink| unlink.span.returned >= 0) {
            removed.entry(name_of(&unlink.name)).or_default().push(unlink.span.start_ns);
        }
        removed.values_mut().for_each(|times| times.sort_unstable());
        let mut global: Vec<CallSpan> =
            activity.global_syncs.iter().filter(|span| span.returned >= 0).copied().collect();
        global.sort_by_key(|span| span.start_ns);
        let names = activity.files.iter().flat_map(|file| file.names.iter().map(|name| (file.id, name_of(name))));
        Self {
            names: Grouped::new(names.filter(|(_, name)| removed.contains_key(name)), |_| ()),
            changes: Grouped::new(passes.clone().into_iter().flat_map(changing), |(start_ns, _)| *start_ns),
            syncs: Grouped::new(passes.into_iter().flat_map(syncs), |span| span.start_ns),
            removed,
            global,
        }
    }

    /// Returns the first sync that covers a file from a time on, before another pass than `own` changes it or it is
    /// removed. The next pass's own leading fsync counts: it comes before that pass's data and makes this pass's data
    /// durable.
    pub(crate) fn after(&self, file: FileId, after_ns: u64, own: Option<&Pass>) -> Option<CallSpan> {
        let changes = self.changes.get(&file);
        let later = &changes[changes.partition_point(|(start_ns, _)| *start_ns <= after_ns)..];
        let is_other = |pass: &Pass| own.is_none_or(|own| !std::ptr::eq(own, pass));
        let changed_ns = later.iter().find(|(_, pass)| is_other(pass)).map(|(start_ns, _)| *start_ns);
        let removals = self.names.get(&file).iter().filter_map(|name| self.removed.get(name));
        let removed_ns =
            removals.filter_map(|times| times.get(times.partition_point(|start_ns| *start_ns <= after_ns))).min();
        let until_ns = changed_ns.into_iter().chain(removed_ns.copied()).min().unwrap_or(u64::MAX);
        let first = |syncs: &[CallSpan]| syncs.get(syncs.partition_point(|span| span.start_ns < after_ns)).copied();
        let syncs = first(self.syncs.get(&file)).into_iter().chain(first(&self.global));
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
