//! The sync that made the data of a pass durable.

use std::collections::HashSet;

use activebench_model::activity::{Activity, CallSpan, Pass, StepKind};
use activebench_model::call::FileId;

/// Returns the first sync that covers a pass's file after `after_ns`, before anything moves data in
/// it again or removes it. The next pass's own leading fsync counts: it comes before that
/// pass's data and makes this pass's data durable.
///
/// `passes` are those over the tool's files, of which `pass` is one.
pub(crate) fn sync_after(activity: &Activity, passes: &[&Pass], pass: &Pass, after_ns: u64) -> Option<CallSpan> {
    let same_file = || passes.iter().filter(|other| other.file == pass.file);
    let next_data_ns = same_file()
        .filter(|other| !std::ptr::eq(**other, pass))
        .flat_map(|other| &other.steps)
        .filter(|step| matches!(step.kind, StepKind::Read | StepKind::Write | StepKind::Map))
        .map(|step| step.start_ns)
        .filter(|&start_ns| start_ns > after_ns)
        .min();
    let names = names_of(activity, pass.file);
    let removed_ns = activity
        .unlinks
        .iter()
        .filter(|unlink| unlink.span.returned >= 0 && names.contains(last_component(&unlink.name)))
        .map(|unlink| unlink.span.start_ns)
        .filter(|&start_ns| start_ns > after_ns)
        .min();
    let until_ns = next_data_ns.into_iter().chain(removed_ns).min().unwrap_or(u64::MAX);
    same_file()
        .flat_map(|other| &other.steps)
        .filter(|step| step.kind == StepKind::Sync)
        .flat_map(|step| &step.head)
        .map(|call| call.span)
        .chain(activity.global_syncs.iter().copied())
        .filter(|span| span.returned >= 0 && span.start_ns >= after_ns && span.start_ns < until_ns)
        .min_by_key(|span| span.start_ns)
}

/// Returns the names under which a file was opened, without their folders.
fn names_of(activity: &Activity, file: FileId) -> HashSet<&str> {
    let seen = activity.files.iter().filter(|seen| seen.id == file);
    seen.flat_map(|seen| &seen.names).map(|name| last_component(name)).collect()
}

/// Returns a name without its folder.
pub(crate) fn last_component(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}
