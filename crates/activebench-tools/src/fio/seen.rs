//! The observed calls by file and process: a job of file creation has as many files as passes, and
//! looking through all of them for each would take minutes.

use std::collections::HashMap;

use activebench_model::activity::{Activity, CallSpan, FileSeen, Pass, StepKind};
use activebench_model::call::FileId;

/// See the module.
pub(super) struct Seen<'a> {
    pub(super) activity: &'a Activity,
    files: HashMap<FileId, &'a FileSeen>,
    by_file: HashMap<FileId, Vec<&'a Pass>>,
    by_process: HashMap<u32, Vec<&'a Pass>>,
    removals: HashMap<&'a str, Vec<u64>>,
    /// Logs that jobs replay.
    replayed: Vec<String>,
}

impl<'a> Seen<'a> {
    /// `replayed` are logs that the jobs read their work from.
    pub(super) fn new(activity: &'a Activity, replayed: Vec<String>) -> Self {
        let mut seen = Seen {
            activity,
            files: activity.files.iter().map(|file| (file.id, file)).collect(),
            by_file: HashMap::new(),
            by_process: HashMap::new(),
            removals: HashMap::new(),
            replayed,
        };
        for pass in &activity.passes {
            seen.by_file.entry(pass.file).or_default().push(pass);
            seen.by_process.entry(pass.tgid).or_default().push(pass);
        }
        for unlink in activity.unlinks.iter().filter(|unlink| unlink.span.returned >= 0) {
            seen.removals.entry(unlink.name.as_str()).or_default().push(unlink.span.start_ns);
        }
        seen
    }

    /// The passes of a process that are over files of a benchmark: no logs, no states of checks, nothing
    /// that the kernel makes up.
    pub(super) fn passes_of(&self, tgid: u32) -> impl Iterator<Item = &'a Pass> {
        let own = self.by_process.get(&tgid).into_iter().flatten().copied();
        own.filter(|pass| !self.is_aside(pass.file))
    }

    pub(super) fn passes_over(&self, file: FileId) -> &[&'a Pass] {
        self.by_file.get(&file).map_or(&[], Vec::as_slice)
    }

    pub(super) fn names_of(&self, file: FileId) -> impl Iterator<Item = &'a str> {
        self.files.get(&file).into_iter().flat_map(|seen| &seen.names).map(String::as_str)
    }

    fn is_aside(&self, file: FileId) -> bool {
        let aside = |name: &str| {
            ["/proc/", "/sys/", "/etc/", "/usr/", "/lib"].iter().any(|folder| name.starts_with(folder))
                || name.ends_with(".state")
                || self.replayed.iter().any(|log| log == name)
                || (name.ends_with(".log") && ["_bw.", "lat.", "_iops."].iter().any(|kind| name.contains(kind)))
        };
        let mut names = self.names_of(file).peekable();
        names.peek().is_some() && names.all(aside)
    }

    /// The first sync that covers a file after a time and before its data change again or it is
    /// removed.
    pub(super) fn sync_after(&self, file: FileId, after_ns: u64) -> Option<CallSpan> {
        let steps = || self.passes_over(file).iter().flat_map(|pass| &pass.steps);
        let writes = steps().filter(|step| matches!(step.kind, StepKind::Write | StepKind::Map));
        let removed = self.names_of(file).filter_map(|name| self.removals.get(name)).flatten().copied();
        let changes = writes.map(|step| step.start_ns).chain(removed);
        let until_ns = changes.filter(|at_ns| *at_ns > after_ns).min().unwrap_or(u64::MAX);
        let syncs = steps().filter(|step| step.kind == StepKind::Sync).flat_map(|step| &step.head);
        syncs
            .map(|brief| brief.span)
            .chain(self.activity.global_syncs.iter().copied())
            .filter(|span| span.returned >= 0 && span.start_ns >= after_ns && span.start_ns < until_ns)
            .min_by_key(|span| span.start_ns)
    }
}
