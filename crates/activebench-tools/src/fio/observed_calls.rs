//! The observed calls by file and process: a job of file creation has as many files as passes, and
//! searching all of them for each would take minutes.

use std::collections::{BTreeSet, HashMap, HashSet};

use activebench_model::activity::{Activity, CallSpan, FileSeen, Pass, StepKind};
use activebench_model::call::FileId;
use activebench_model::grouped::Grouped;

use super::jobs::last_component;
use super::options::{JobOptions, split_names};
use crate::syncs::Syncs;

/// See the module.
pub(super) struct Seen<'a> {
    pub(super) activity: &'a Activity,
    files: Grouped<FileId, &'a FileSeen>,
    by_file: Grouped<FileId, &'a Pass>,
    by_process: Grouped<u32, &'a Pass>,
    /// The passes that a thread of a process opened or moved data in.
    by_thread: Grouped<(u32, u32), &'a Pass>,
    /// The kernel's threads for the io_uring of each thread, whose names contain its number.
    kernel_threads: HashMap<u32, Vec<u32>>,
    syncs: Syncs<'a>,
}

/// Names that identify files as data or as auxiliary files, from the jobs' options.
#[derive(Debug, Default)]
pub(super) struct Asides {
    /// Logs of I/O that jobs replay or write, and files that are the memory of their buffers.
    pub(super) own_files: BTreeSet<String>,
    /// Files that jobs name: they are data, whatever their names.
    pub(super) named: HashSet<String>,
    /// Folders that jobs name for their files.
    pub(super) folders: BTreeSet<String>,
}

impl Asides {
    /// Collects the names from the options of some jobs.
    pub(super) fn of<'o>(jobs: impl Iterator<Item = &'o JobOptions> + Clone) -> Self {
        let lists = |name: &'static str| jobs.clone().filter_map(move |job| job.stated(name)).flat_map(split_names);
        let memory = jobs.clone().filter_map(|job| job.stated("mem"));
        let buffers = memory.filter_map(|kind| kind.split_once(':')).map(|(_, file)| file.to_owned());
        let names = jobs.clone().filter_map(JobOptions::filenames).flatten().map(last_component);
        Asides {
            own_files: lists("read_iolog").chain(lists("write_iolog")).chain(buffers).collect(),
            named: names.map(str::to_owned).collect(),
            folders: lists("directory").chain(lists("opendir")).collect(),
        }
    }

    /// Returns true if a file of this name does not belong to the benchmark.
    fn has(&self, name: &str) -> bool {
        if self.named.contains(last_component(name)) {
            return false;
        }
        let is_in = |folders: &[&str]| folders.iter().any(|folder| name.starts_with(folder));
        let of_job = self.folders.iter().any(|folder| name.starts_with(folder.as_str()));
        let is_log = name.ends_with(".log") && ["_bw.", "lat.", "_iops."].iter().any(|kind| name.contains(kind));
        is_in(&["/proc/", "/sys/"])
            || (is_in(&["/etc/", "/usr/", "/lib"]) && !of_job)
            || name.ends_with(".state")
            || is_log
            || self.own_files.contains(name)
    }
}

impl<'a> Seen<'a> {
    /// Groups the calls by file, process and thread. `asides` are those of the jobs.
    pub(super) fn new(activity: &'a Activity, asides: &Asides) -> Self {
        let virtual_ones = activity.virtual_file_systems();
        let is_aside = |file: &&FileSeen| {
            let has_names = !file.names.is_empty();
            virtual_ones.contains(&file.id.s_dev) || has_names && file.names.iter().all(|name| asides.has(name))
        };
        let aside_files: HashSet<FileId> = activity.files.iter().filter(is_aside).map(|file| file.id).collect();
        // A log may have the inode of a deleted file of a job, and the other way round.
        let is_aside = |pass: &Pass| match &pass.name {
            Some(name) if !virtual_ones.contains(&pass.file.s_dev) => asides.has(name),
            _ => aside_files.contains(&pass.file),
        };
        let of_benchmark = || activity.passes.iter().filter(|pass| !is_aside(pass));
        let mut kernel_threads: HashMap<u32, Vec<u32>> = HashMap::new();
        for task in &activity.tasks {
            let kernel = task.comm.strip_prefix("iou-sqp-").or(task.comm.strip_prefix("iou-wrk-"));
            if let Some(owner) = kernel.and_then(|owner| owner.parse().ok()) {
                kernel_threads.entry(owner).or_default().push(task.tid);
            }
        }
        Seen {
            activity,
            files: Grouped::new(activity.files.iter().map(|file| (file.id, file)), |_| ()),
            by_file: Grouped::new(activity.passes.iter().map(|pass| (pass.file, pass)), |_| ()),
            by_process: Grouped::new(of_benchmark().map(|pass| (pass.tgid, pass)), |_| ()),
            by_thread: Grouped::new(of_benchmark().flat_map(by_thread), |_| ()),
            kernel_threads,
            syncs: Syncs::new(activity, &activity.passes, changes, |name| name),
        }
    }

    /// Returns the passes of a process over files of a benchmark: no logs, no verification state, no virtual files of
    /// the kernel.
    pub(super) fn passes_of(&self, tgid: u32) -> &[&'a Pass] {
        self.by_process.get(&tgid)
    }

    /// Returns those of [`Self::passes_of`] that one of some threads opened or moved data in.
    pub(super) fn passes_of_threads(&self, tgid: u32, tids: &[u32]) -> Vec<&'a Pass> {
        let mut passes: Vec<&Pass> = tids.iter().flat_map(|tid| self.by_thread.get(&(tgid, *tid))).copied().collect();
        // They are elements of one list, in the order of time.
        passes.sort_unstable_by_key(|pass| std::ptr::from_ref(*pass));
        passes.dedup_by_key(|pass| std::ptr::from_ref(*pass));
        passes
    }

    pub(super) fn passes_over(&self, file: FileId) -> &[&'a Pass] {
        self.by_file.get(&file)
    }

    pub(super) fn names_of(&self, file: FileId) -> impl Iterator<Item = &'a str> {
        self.files.get(&file).iter().flat_map(|seen| &seen.names).map(String::as_str)
    }

    /// Returns the kernel's threads for the io_uring of a thread.
    pub(super) fn kernel_threads_of(&self, tid: u32) -> &[u32] {
        self.kernel_threads.get(&tid).map_or(&[], Vec::as_slice)
    }

    /// Returns the first sync that covers a file after a time, before its data changes again or the file is removed.
    pub(super) fn sync_after(&self, file: FileId, after_ns: u64) -> Option<CallSpan> {
        self.syncs.after(file, after_ns, None)
    }
}

/// Returns a pass by the threads of its process that opened it or moved data in it.
fn by_thread(pass: &Pass) -> impl Iterator<Item = ((u32, u32), &Pass)> {
    let opened = pass.open.map(|open| open.tid).into_iter();
    let mut tids: Vec<u32> = opened.chain(pass.steps.iter().flat_map(|step| &step.tids).copied()).collect();
    tids.sort_unstable();
    tids.dedup();
    tids.into_iter().map(move |tid| ((pass.tgid, tid), pass))
}

/// Returns true for a step that changes a file.
fn changes(kind: StepKind) -> bool {
    matches!(kind, StepKind::Write | StepKind::Map)
}

#[cfg(test)]
mod tests {
    use activebench_model::call::FileKind;

    use super::*;

    #[test]
    fn a_log_with_the_inode_of_a_deleted_file_is_no_data() {
        let id = FileId { s_dev: 1, ino: 7 };
        let names = vec!["/mnt/a.0.0".to_owned(), "/mnt/a_bw.1.log".to_owned()];
        let pass = |name: &str| Pass {
            tgid: 1,
            fd: 3,
            file: id,
            kind: FileKind::Regular,
            open_flags: 0,
            name: Some(name.to_owned()),
            open: None,
            close: None,
            steps: Vec::new(),
        };
        let passes = names.iter().map(|name| pass(name)).collect();
        let files = vec![FileSeen { id, names, kind: FileKind::Regular }];
        let activity = Activity { files, passes, ..Activity::default() };
        let seen = Seen::new(&activity, &Asides::default());
        let of_benchmark: Vec<_> = seen.passes_of(1).iter().filter_map(|pass| pass.name.as_deref()).collect();
        assert_eq!(of_benchmark, ["/mnt/a.0.0"]);
    }

    #[test]
    fn what_a_job_names_is_data_wherever_it_is() {
        let named = Asides {
            named: HashSet::from(["data.state".to_owned(), "x_bw.log".to_owned()]),
            folders: BTreeSet::from(["/usr/local".to_owned()]),
            own_files: BTreeSet::from(["the.log".to_owned()]),
        };
        for (name, aside) in [
            ("/mnt/a.0.0", false),
            ("/proc/self/stat", true),
            ("/usr/lib/libc.so", true),
            ("/usr/local/a.0.0", false),
            ("/etc/localtime", true),
            ("local-a-0-verify.state", true),
            ("/x/data.state", false),
            ("y_bw.1.log", true),
            ("x_bw.log", false),
            ("the.log", true),
        ] {
            assert_eq!(named.has(name), aside, "{name}");
        }
    }
}
