//! The calls of a run, aggregated to what an adapter needs to find its passes.
//!
//! A run has millions of calls and a few dozen passes. `activebench-facts` reads the stream once and builds
//! [`Activity`]; adapters read this, never the stream.

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};

use crate::call::{Call, FileId, FileKind, Op, PlainCall};

/// The aggregated calls of one run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Activity {
    /// Every task of the tree.
    pub tasks: Vec<Task>,
    /// Every regular file and block device that the tree opened or used.
    pub files: Vec<FileSeen>,
    /// The passes in the order of their first call. Descriptors of pipes and terminals are left out.
    pub passes: Vec<Pass>,
    /// Calls of `sync(2)` and `syncfs(2)` by the tree.
    pub global_syncs: Vec<CallSpan>,
    /// Calls of `unlink(2)` by the tree, with the name as the tool wrote it.
    pub unlinks: Vec<NamedCall>,
    /// Links that were made, in order.
    #[serde(default)]
    pub links: Vec<MadeLink>,
    /// Successful executions, in order.
    pub execs: Vec<Exec>,
    /// Writes to standard output and standard error where these are not files, in order. They show when the
    /// tool printed what. Only the first [`Activity::MOST_OUTPUT_WRITES`] are kept.
    #[serde(default)]
    pub output_writes: Vec<OutputWrite>,
    /// Bursts of asynchronous data requests, by process and kind, in the order of their starts. Only the first
    /// [`Activity::MOST_BURSTS`] are kept.
    #[serde(default)]
    pub bursts: Vec<Burst>,
}

impl Activity {
    /// Largest number of output writes that are kept.
    pub const MOST_OUTPUT_WRITES: usize = 1 << 16;
    /// Largest number of bursts that are kept.
    pub const MOST_BURSTS: usize = 1 << 14;
    /// Two requests of one kind belong to one burst when the later one is submitted at most this long
    /// after the end of all requests before it.
    pub const BURST_GAP_NS: u64 = 10_000_000;

    /// Returns the devices of the file systems that the kernel makes up, as in [`FileId`]: those with a file below `/proc`
    /// or `/sys` and with none elsewhere. A file on them may have relative names alone (`lscpu`).
    pub fn virtual_file_systems(&self) -> HashSet<u32> {
        let is_virtual = |name: &str| ["/proc/", "/sys/"].iter().any(|folder| name.starts_with(folder));
        let mut devices: HashMap<u32, bool> = HashMap::new();
        for file in &self.files {
            let absolute = || file.names.iter().filter(|name| name.starts_with('/'));
            if absolute().next().is_some() {
                *devices.entry(file.id.s_dev).or_insert(true) &= absolute().all(|name| is_virtual(name));
            }
        }
        devices.into_iter().filter_map(|(device, is_virtual)| is_virtual.then_some(device)).collect()
    }

    /// Returns a test for passes on files with a name that `is_its` accepts. If the inode had several names, that of the
    /// pass counts ([`Pass::name`]): a new file may get the inode of a deleted one.
    pub fn has_name<'a>(&self, is_its: impl Fn(&str) -> bool + 'a) -> impl Fn(&Pass) -> bool + 'a {
        let named = self.files.iter().filter(|file| file.names.iter().any(|name| is_its(name)));
        let files: HashSet<FileId> = named.map(|file| file.id).collect();
        move |pass| pass.name.as_deref().map_or_else(|| files.contains(&pass.file), &is_its)
    }

    /// Returns the passes for which [`Self::has_name`] is true, in their order.
    pub fn passes_named(&self, is_its: impl Fn(&str) -> bool) -> Vec<&Pass> {
        let is_named = self.has_name(is_its);
        self.passes.iter().filter(|pass| is_named(pass)).collect()
    }
}

/// One write to standard output or standard error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputWrite {
    /// Time, thread and number of bytes.
    pub span: CallSpan,
    /// The process.
    pub tgid: u32,
    /// 1 or 2.
    pub fd: i32,
    /// The pipe or terminal; `None` where it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<FileId>,
}

/// Asynchronous requests of one process, operation and size that follow one another without a
/// pause, through any of its descriptors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Burst {
    /// The process.
    pub tgid: u32,
    /// Reads or writes of one interface.
    pub op: Op,
    /// Bytes that each request asks for.
    pub requested: u64,
    /// Submission of the first request.
    pub start_ns: u64,
    /// Completion of the last request, when the process learned of it.
    pub end_ns: u64,
    /// Number of requests, failed ones included.
    pub calls: u64,
    /// Bytes that the requests moved.
    pub bytes: u64,
}

/// A thread or process of the tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// Thread.
    pub tid: u32,
    /// Its process.
    pub tgid: u32,
    /// The process that made it.
    pub parent_tgid: u32,
    /// Its name, as last seen.
    pub comm: String,
    /// Start of the task, or when it was seeded.
    pub start_ns: u64,
    /// End of the task; `None` when it outlived the observation.
    pub end_ns: Option<u64>,
    /// Wait status (`exit code << 8 | signal`); `None` when it outlived the observation.
    pub exit_status: Option<i32>,
    /// On-CPU time in user mode over its life.
    pub user_ns: u64,
    /// On-CPU time in the kernel.
    pub kernel_ns: u64,
    /// Time off CPU and not runnable, waiting for I/O included.
    pub blocked_ns: u64,
    /// The part of `blocked_ns` spent in I/O wait.
    pub iowait_ns: u64,
    /// Time off CPU though runnable.
    pub preempted_ns: u64,
}

/// An execution.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exec {
    /// When.
    pub at_ns: u64,
    /// The process.
    pub tgid: u32,
    /// The file that was executed, as the kernel names it.
    pub filename: String,
    /// Arguments, the program's own name first; empty where they are not completely known.
    #[serde(default)]
    pub arguments: Vec<String>,
}

/// A file that the tree used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileSeen {
    /// Which file.
    pub id: FileId,
    /// The names under which the tree opened it, as the tool wrote them, in order, distinct.
    pub names: Vec<String>,
    /// Kind of file.
    pub kind: FileKind,
}

/// A call with a name argument.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedCall {
    /// When.
    pub span: CallSpan,
    /// The name as the tool wrote it.
    pub name: String,
}

/// A call that gave another name to a file that already has one, or that linked to a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MadeLink {
    /// When.
    pub span: CallSpan,
    /// The process.
    pub tgid: u32,
}

/// The times of one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallSpan {
    /// Entry.
    pub start_ns: u64,
    /// Exit.
    pub end_ns: u64,
    /// The thread.
    pub tid: u32,
    /// Which call.
    pub op: Op,
    /// Return value.
    pub returned: i64,
}

impl From<&Call> for CallSpan {
    fn from(call: &Call) -> Self {
        Self::from(&PlainCall::from(call))
    }
}

impl From<&PlainCall> for CallSpan {
    fn from(call: &PlainCall) -> Self {
        Self { start_ns: call.start_ns, end_ns: call.end_ns, tid: call.tid, op: call.op, returned: call.returned }
    }
}

/// One descriptor of one process from its open to its close. A tool's pass is inside one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pass {
    /// The process.
    pub tgid: u32,
    /// The descriptor.
    pub fd: i32,
    /// The file.
    pub file: FileId,
    /// Regular file or block device.
    pub kind: FileKind,
    /// Bits of [`crate::call::open_bits`].
    pub open_flags: u32,
    /// Name under which the file was opened, if the inode had several names: a new file may get the inode of a deleted
    /// one. If the record of that name is lost, it is the newest name known then. `None` with at most one name.
    #[serde(default)]
    pub name: Option<String>,
    /// `None` for a descriptor that was inherited.
    pub open: Option<CallSpan>,
    /// `None` for a descriptor that the end of the process closed.
    pub close: Option<CallSpan>,
    /// The steps between open and close, in the order of their first calls.
    pub steps: Vec<Step>,
}

/// The kind of a step of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StepKind {
    /// Reads, with any seeks between them.
    Read,
    /// Writes, with any seeks between them.
    Write,
    /// Discards.
    Discard,
    /// Seeks before any data moved.
    Seek,
    /// One or more of fsync, fdatasync, `sync_file_range`, msync.
    Sync,
    /// mmap.
    Map,
    /// munmap.
    Unmap,
    /// Anything else (truncate, fallocate, fadvise, dup, splice ...).
    Other,
}

/// A maximal run of calls of one kind on one descriptor. There may be a million: the lists have no room to grow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// Which kind.
    pub kind: StepKind,
    /// Entry of the first data call (for `Seek`, `Sync` ...: of the first call).
    pub start_ns: u64,
    /// Exit of the last call of this kind; seeks after the last data call do not count.
    pub end_ns: u64,
    /// Exit of the last call of any kind in the step, trailing seeks included.
    pub last_end_ns: u64,
    /// Calls of this kind, failed ones included; seeks inside are not counted.
    pub calls: u64,
    /// Bytes that they returned.
    pub bytes: u64,
    /// Seeks between the calls and after them.
    pub seeks: u64,
    /// Threads that made the calls, ascending.
    pub tids: Box<[u32]>,
    /// The first calls of the step, seeks included, at most [`Step::HEAD`].
    pub head: Box<[CallBrief]>,
    /// The last calls of a step of syncs beyond [`Self::head`], by their starts, at most [`Step::TAIL`]; empty otherwise.
    #[serde(default, skip_serializing_if = "<[CallSpan]>::is_empty")]
    pub last_syncs: Box<[CallSpan]>,
    /// The threads that made the calls of this kind one after the other, where several did; `None` where one thread made
    /// all of them, or several at the same time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shifts: Option<Box<Shifts>>,
    /// Lowest offset touched; -1 when unknown.
    pub min_offset: i64,
    /// Highest offset touched; -1 when unknown.
    pub max_offset: i64,
}

/// The shifts of a step, in the order of time: no two overlap. At most [`Shifts::MOST`]; the last one has all that follow.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shifts(pub Vec<Shift>);

impl Shifts {
    /// Most shifts of a step.
    pub const MOST: usize = 64;

    /// Adds what began behind the shifts, or during the last one.
    pub fn add(&mut self, next: Shift) {
        let is_full = self.0.len() >= Self::MOST;
        match self.0.last_mut() {
            Some(last) if is_full || next.start_ns < last.end_ns => {
                last.tid = last.tid.filter(|tid| Some(*tid) == next.tid);
                last.end_ns = last.end_ns.max(next.end_ns);
                last.calls += next.calls;
                last.bytes += next.bytes;
            }
            _ => self.0.push(next),
        }
    }
}

/// What one thread, or several at the same time, did of a step before others went on with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shift {
    /// The thread; `None` for several.
    pub tid: Option<u32>,
    /// Entry of the first call.
    pub start_ns: u64,
    /// Exit of the last call.
    pub end_ns: u64,
    /// Calls.
    pub calls: u64,
    /// Bytes that they returned.
    pub bytes: u64,
}

impl Step {
    /// Returns all calls of the step as one shift.
    pub fn as_shift(&self) -> Shift {
        let Self { start_ns, end_ns, calls, bytes, .. } = *self;
        let tid = if let [tid] = self.tids[..] { Some(tid) } else { None };
        Shift { tid, start_ns, end_ns, calls, bytes }
    }

    /// Returns the shifts of the step: all of it, where no others went on with it.
    pub fn shifts(&self) -> Vec<Shift> {
        self.shifts.as_ref().map_or_else(|| vec![self.as_shift()], |shifts| shifts.0.clone())
    }

    /// Number of first calls that a step keeps verbatim.
    pub const HEAD: usize = 4;

    /// Adds a call to the first calls of the step, unless these are complete.
    pub fn add_to_head(&mut self, call: impl Into<CallBrief>) {
        if self.head.len() < Step::HEAD {
            let mut head = std::mem::take(&mut self.head).into_vec();
            head.reserve_exact(1);
            head.push(call.into());
            self.head = head.into_boxed_slice();
        }
    }

    /// Number of last calls that a step of syncs keeps.
    pub const TAIL: usize = 2;

    /// Adds syncs beyond the head to the last calls of the step.
    pub fn add_to_last_syncs(&mut self, syncs: impl IntoIterator<Item = CallSpan>) {
        let mut last: Vec<CallSpan> = self.last_syncs.iter().copied().chain(syncs).collect();
        last.sort_by_key(|span| span.start_ns);
        last.drain(..last.len().saturating_sub(Self::TAIL));
        self.last_syncs = last.into_boxed_slice();
    }

    /// Returns the last call of a step of syncs; `None` if it is not known.
    pub fn last_sync(&self) -> Option<CallSpan> {
        self.sync_from_end(0)
    }

    /// Returns the call before the last one of a step of syncs; `None` if it is not known or there is only one.
    pub fn sync_before_last(&self) -> Option<CallSpan> {
        self.sync_from_end(1)
    }

    fn sync_from_end(&self, place: usize) -> Option<CallSpan> {
        // More calls than are kept, and none of the last ones: the end of the step is not known.
        if self.last_syncs.is_empty() && self.calls != self.head.len() as u64 {
            return None;
        }
        let kept = || self.head.iter().map(|call| call.span).chain(self.last_syncs.iter().copied());
        kept().rev().nth(place)
    }

    /// Adds a thread to those that made the calls.
    pub fn add_thread(&mut self, tid: u32) {
        if let Err(place) = self.tids.binary_search(&tid) {
            let mut tids = std::mem::take(&mut self.tids).into_vec();
            tids.insert(place, tid);
            self.tids = tids.into_boxed_slice();
        }
    }
}

/// A short form of one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallBrief {
    /// Time, thread, call and result.
    pub span: CallSpan,
    /// See [`Call::offset`].
    pub offset: i64,
    /// See [`Call::requested`].
    pub requested: u64,
}

impl From<&Call> for CallBrief {
    fn from(call: &Call) -> Self {
        Self::from(&PlainCall::from(call))
    }
}

impl From<&PlainCall> for CallBrief {
    fn from(call: &PlainCall) -> Self {
        Self { span: call.into(), offset: call.offset, requested: call.requested }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_pass_is_that_under_which_it_began() {
        let id = |ino| FileId { s_dev: 1, ino };
        let file = |ino, names: &[&str]| FileSeen {
            id: id(ino),
            names: names.iter().map(|name| (*name).to_owned()).collect(),
            kind: FileKind::Regular,
        };
        let pass = |fd, ino, name: Option<&str>| Pass {
            tgid: 1,
            fd,
            file: id(ino),
            kind: FileKind::Regular,
            open_flags: 0,
            name: name.map(str::to_owned),
            open: None,
            close: None,
            steps: Vec::new(),
        };
        let activity = Activity {
            files: vec![file(1, &["data"]), file(2, &["log", "data"]), file(3, &["log"])],
            passes: vec![
                pass(3, 1, None),
                pass(4, 2, Some("log")),
                pass(5, 2, Some("data")),
                pass(6, 2, None),
                pass(7, 3, None),
            ],
            ..Activity::default()
        };
        let fds: Vec<i32> = activity.passes_named(|name| name == "data").iter().map(|pass| pass.fd).collect();
        assert_eq!(fds, [3, 5, 6]);
    }

    #[test]
    fn a_file_system_is_virtual_where_all_absolute_names_say_so() {
        let file = |s_dev, ino, names: &[&str]| FileSeen {
            id: FileId { s_dev, ino },
            names: names.iter().map(|name| (*name).to_owned()).collect(),
            kind: FileKind::Regular,
        };
        let files = vec![
            file(22, 1, &["/sys/block/vda/stat"]),
            file(22, 2, &["cpu0/cache/index0/size"]),
            // A file of the disk, by its descriptor too.
            file(1, 3, &["/mnt/a", "/proc/self/fd/3"]),
            file(2, 4, &["relative"]),
            file(3, 5, &["/proc/self/cwd/a"]),
            file(3, 6, &["/mnt/other"]),
        ];
        let activity = Activity { files, ..Activity::default() };
        assert_eq!(activity.virtual_file_systems(), HashSet::from([22]));
    }
}
