//! Adds processes that run already to the tree.
//!
//! Each thread gets a place among the threads of the kernel programs, by the same exchange that the kernel makes for a
//! new thread, and then its membership. From there the kernel follows what the thread creates, so the threads are listed
//! until no unknown one is found. A thread is named to the kernel by a descriptor, which never means another one.

use std::collections::{BTreeSet, HashSet};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering};

use activebench_model::call::{DeviceNumber, FileKind, Op};
use activebench_model::event::KernelClass;
use activebench_model::watch::{OpenFile, Watch, WatchedProcess};
use activebench_probe_abi::{BatchHeader, CpuRecord, Membership, NameRecord, TaskRecord, TaskState};
use aya::Ebpf;
use aya::maps::{Array, HashMap, Map, MapData};
use aya_obj::generated::bpf_cmd;
use rustix::mm::ProtFlags;
use rustix::param::page_size;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::bpf_call::{bpf, zeroed_attributes};
use crate::error::ProbeError;
use crate::maps::{map_error, map_of, typed_map};
use crate::ring::Mapping;
use crate::running::{Proc, Stat};
use crate::service::pid_of;

/// `PIDFD_THREAD` of pidfd_open(2), from Linux 6.9.
const ANY_THREAD: PidfdFlags = PidfdFlags::from_bits_retain(libc::O_EXCL.cast_unsigned());
/// Listings of threads or processes until none is new. Each finds what was created during the one before.
const MOST_LISTINGS: usize = 32;
/// Step of [`births`], apart from any number of threads.
const BIRTHS_STEP: u64 = 1 << 32;
/// Sentences on gaps that are kept.
const MOST_GAPS: usize = 64;

/// What is known of the processes that joined, and its records.
#[derive(Debug)]
pub(crate) struct Joined {
    proc: Proc,
    pub(crate) about: Watch,
    pub(crate) tasks: Vec<TaskRecord>,
    pub(crate) names: Vec<NameRecord>,
    /// Threads that could not be followed.
    pub(crate) lost: u64,
    /// Processes that were refused or could not be followed: they are not tried again.
    refused: HashSet<u32>,
}

/// A process that is to join, and who may not.
pub(crate) struct Wanted<'a> {
    /// Its descriptor, opened before anything of it was read.
    pub(crate) pidfd: BorrowedFd<'a>,
    /// Its id.
    pub(crate) pid: u32,
    /// Returns the reason why a process may not be watched.
    pub(crate) refusal: &'a dyn Fn(u32) -> Option<String>,
    pub(crate) now: &'a dyn Fn() -> u64,
    /// Overlays, see `ProbeOptions`.
    pub(crate) overlays: &'a [(DeviceNumber, DeviceNumber)],
}

impl Joined {
    pub(crate) fn new(began_ns: u64) -> Self {
        Self {
            proc: Proc("/proc".into()),
            about: Watch { began_ns, following_ns: began_ns, ..Watch::default() },
            tasks: Vec::new(),
            names: Vec::new(),
            lost: 0,
            refused: HashSet::new(),
        }
    }

    fn gap(&mut self, sentence: String) {
        if self.about.gaps.len() < MOST_GAPS && !self.about.gaps.contains(&sentence) {
            self.about.gaps.push(sentence);
        }
    }

    /// Adds a process with its descendants. Those that may not be watched are gaps.
    ///
    /// # Errors
    /// Returns an error if the process itself may not be watched, has ended, or the kernel does not accept it.
    pub(crate) fn join(&mut self, ebpf: &mut Ebpf, wanted: &Wanted<'_>) -> Result<(), ProbeError> {
        if self.refused.contains(&wanted.pid) {
            return Ok(());
        }
        if let Some(why) = (wanted.refusal)(wanted.pid) {
            self.refused.insert(wanted.pid);
            return Err(ProbeError::NotWatched(format!("process {} cannot be watched: {why}", wanted.pid)));
        }
        let mut members = BTreeSet::from([wanted.pid]);
        self.join_one(ebpf, wanted, wanted.pid, wanted.pidfd)?;
        for _ in 0..MOST_LISTINGS {
            let parents = self.proc.parents();
            let is_child = |(pid, parent): &(u32, u32)| {
                members.contains(parent) && !members.contains(pid) && !self.refused.contains(pid)
            };
            let children: Vec<(u32, u32)> = parents.iter().copied().filter(is_child).collect();
            if children.is_empty() {
                break;
            }
            for (pid, parent) in children {
                // Opened first: what is read from here on is of this process, or it has ended.
                let Some(pidfd) =
                    Pid::from_raw(pid.cast_signed()).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok())
                else {
                    continue;
                };
                if self.proc.stat(pid).is_none_or(|stat| stat.parent != parent) {
                    continue;
                }
                members.insert(pid);
                if let Some(why) = (wanted.refusal)(pid) {
                    self.refused.insert(pid);
                    members.remove(&pid);
                    self.gap(format!("Process {pid} below process {} is not watched: {why}.", wanted.pid));
                    continue;
                }
                if let Err(error) = self.join_one(ebpf, wanted, pid, pidfd.as_fd()) {
                    self.gap(format!("Process {pid} is not watched: {error}."));
                }
            }
        }
        self.about.following_ns = self.about.following_ns.max((wanted.now)());
        Ok(())
    }

    /// Adds one process, with all its threads.
    fn join_one(
        &mut self,
        ebpf: &mut Ebpf,
        wanted: &Wanted<'_>,
        pid: u32,
        pidfd: BorrowedFd<'_>,
    ) -> Result<(), ProbeError> {
        if is_member(ebpf, pidfd)? {
            return Ok(());
        }
        let ended = || ProbeError::Observer(format!("process {pid} has ended"));
        let leader = self.proc.stat(pid).ok_or_else(ended)?;
        let mounts = self.proc.mounts(pid);
        let (open, mapped) = (self.proc.open_files(pid, &mounts), self.proc.mapped_files(pid, &mounts));
        let (argv, executable) = (self.proc.arguments(pid), self.proc.executable(pid));
        let at_ns = (wanted.now)();
        let (mut followed, mut tasks, mut lost) = (BTreeSet::new(), Vec::new(), 0);
        let mut unknown_threads = false;
        for _ in 0..MOST_LISTINGS {
            let threads: Vec<u32> = self.proc.threads(pid).into_iter().filter(|tid| !followed.contains(tid)).collect();
            if threads.is_empty() {
                break;
            }
            for tid in threads {
                followed.insert(tid);
                match self.follow_thread(ebpf, (wanted, pid, tid), pidfd)? {
                    Followed::From(seed_ns, stat) => {
                        let parent = if tid == pid { leader.parent } else { pid };
                        tasks.push(task_record(TASK_BORN, seed_ns.max(at_ns), (pid, tid), parent, &stat.comm, ""));
                    }
                    Followed::Already | Followed::Ended => {}
                    Followed::Unknown => {
                        lost += 1;
                        unknown_threads = true;
                    }
                    Followed::NoPlace => lost += 1,
                }
            }
        }
        // Without this, what was read could be of another process with the same id.
        if pid_of(pidfd) != Some(pid) {
            return Err(ended());
        }
        if unknown_threads {
            self.gap(format!(
                "Only the first thread of process {pid}, and what it starts, is watched: other threads need Linux 6.9."
            ));
        } else if lost > 0 {
            self.gap(format!("{lost} threads of process {pid} are not watched: there are too many."));
        }
        // The birth of the first thread comes first, at the time of its execution: nothing of a program that it executed
        // before is in this record.
        tasks.sort_by_key(|task| (task.at_ns, task.tid != pid));
        if let Some(first) = tasks.iter().position(|task| task.tid == pid) {
            tasks[first].at_ns = at_ns;
            let born = tasks.remove(first);
            let executable = executable.unwrap_or_else(|| leader.comm.clone());
            tasks.insert(0, born);
            tasks.insert(1, task_record(TASK_EXECUTED, at_ns, (pid, pid), leader.parent, &leader.comm, &executable));
            self.names.extend(argument_records(at_ns, pid, &argv));
        }
        let threads = u32::try_from(tasks.iter().filter(|task| task.kind == TASK_BORN).count()).unwrap_or(u32::MAX);
        self.tasks.extend(tasks);
        self.lost += lost;
        self.about.processes.push(WatchedProcess { pid, parent: leader.parent, at_ns, threads, argv });
        match open {
            Ok(open) => {
                for mut file in open {
                    if let Some((_, below)) = wanted.overlays.iter().find(|(over, _)| over.0 == file.file.s_dev) {
                        file.file.s_dev = below.0;
                    }
                    remember(ebpf, &file)?;
                    self.names.push(name_record(at_ns, &file));
                    self.about.open.push(file);
                }
            }
            Err(error) => self.gap(format!("The files that process {pid} had open are not known: {error}.")),
        }
        match mapped {
            Ok(mapped) => {
                for file in mapped {
                    insert_file(ebpf, file.file.ino, file.file.s_dev)?;
                    self.about.mapped.push(file);
                }
            }
            Err(error) => self.gap(format!("The files that process {pid} had mapped are not known: {error}.")),
        }
        Ok(())
    }

    /// Follows one thread of a process.
    fn follow_thread(
        &self,
        ebpf: &mut Ebpf,
        (wanted, pid, tid): (&Wanted<'_>, u32, u32),
        pidfd: BorrowedFd<'_>,
    ) -> Result<Followed, ProbeError> {
        let own: OwnedFd;
        let descriptor = if tid == pid {
            pidfd
        } else {
            let Some(number) = Pid::from_raw(tid.cast_signed()) else { return Ok(Followed::Ended) };
            match pidfd_open(number, ANY_THREAD) {
                Ok(opened) => own = opened,
                Err(rustix::io::Errno::INVAL) => return Ok(Followed::Unknown),
                Err(_) => return Ok(Followed::Ended),
            }
            if !self.proc.has_thread(pid, tid) {
                return Ok(Followed::Ended);
            }
            own.as_fd()
        };
        if is_member(ebpf, descriptor)? {
            return Ok(Followed::Already);
        }
        let Some(stat) = self.proc.stat(tid).filter(|stat| !stat.has_ended()) else { return Ok(Followed::Ended) };
        let places = Places::of(ebpf)?;
        let now_ns = (wanted.now)();
        let Some(place) = places.take(tid, &stat, now_ns) else { return Ok(Followed::NoPlace) };
        if let Err(source) = set_membership(ebpf, descriptor, place) {
            places.release(place);
            return match source.raw_os_error() {
                Some(libc::ENOENT | libc::ESRCH) => Ok(Followed::Ended),
                _ => Err(ProbeError::Seed { pid: tid, source }),
            };
        }
        forget_strangers(ebpf)?;
        // It may have gone to sleep, or woken up, before the kernel knew that it belongs to the tree.
        if let Some(later) = self.proc.stat(tid).filter(|later| later.mode() != stat.mode()) {
            places.correct(place, &stat, &later, now_ns);
        }
        Ok(Followed::From(now_ns, stat))
    }
}

/// Returns the totals of all threads of the tree that live, at this moment. Without them nobody knows how the threads
/// spent the time since they last came to a CPU.
///
/// # Errors
/// Returns an error if the maps cannot be read.
pub(crate) fn totals_of_living(ebpf: &mut Ebpf, now: &dyn Fn() -> u64) -> Result<Vec<CpuRecord>, ProbeError> {
    let proc = Proc("/proc".into());
    let places = Places::of(ebpf)?;
    let mut records = Vec::new();
    for (pid, _) in proc.parents() {
        for tid in proc.threads(pid) {
            let flags = if tid == pid { PidfdFlags::empty() } else { ANY_THREAD };
            let descriptor = Pid::from_raw(tid.cast_signed()).and_then(|tid| pidfd_open(tid, flags).ok());
            let Some(descriptor) = descriptor else { continue };
            let Some(place) = place_of(ebpf, descriptor.as_fd())? else { continue };
            if let Some(state) = places.read(place) {
                records.push(state.totals(now(), tid, pid));
            }
        }
    }
    Ok(records)
}

/// What became of a thread.
enum Followed {
    /// It is followed from this time on.
    From(u64, Stat),
    /// The kernel followed it already.
    Already,
    /// It has ended.
    Ended,
    /// The kernel has no descriptors of threads.
    Unknown,
    /// There are too many threads.
    NoPlace,
}

/// The places of the tree's threads, which the kernel programs use at the same time.
struct Places {
    mapping: Mapping,
    count: usize,
    stride: usize,
}

impl Places {
    fn of(ebpf: &mut Ebpf) -> Result<Self, ProbeError> {
        let failed = |why: String| ProbeError::Map { map: "threads", why };
        let count = typed_map::<TaskState>(ebpf, "threads")?.len() as usize;
        let Some(Map::Array(array)) = ebpf.map("threads") else { return Err(failed("it is not an array".to_owned())) };
        let stride = size_of::<TaskState>().next_multiple_of(8);
        let bytes = (count * stride).next_multiple_of(page_size());
        let mapping = Mapping::new(array.fd().as_fd(), bytes, 0, ProtFlags::READ | ProtFlags::WRITE)
            .map_err(|error| failed(format!("it cannot be mapped: {error}")))?;
        Ok(Self { mapping, count, stride })
    }

    fn at(&self, place: usize) -> *mut TaskState {
        // SAFETY: every caller's place is below `count`, so that it is inside the mapping.
        unsafe { self.mapping.address().add(place * self.stride).cast_mut().cast() }
    }

    fn used(&self, place: usize) -> &AtomicU32 {
        // SAFETY: the first field of a place, four bytes and aligned; the kernel changes it atomically, too.
        unsafe { AtomicU32::from_ptr(self.at(place).cast()) }
    }

    /// Takes a free place, near that which the kernel would take, and fills it in.
    fn take(&self, tid: u32, stat: &Stat, now_ns: u64) -> Option<usize> {
        let mut places = (0..self.count).map(|step| (tid as usize + step) % self.count);
        let is_taken =
            |place: &usize| self.used(*place).compare_exchange(0, 1, Ordering::AcqRel, Ordering::Relaxed).is_ok();
        let place = places.find(is_taken)?;
        let (in_kernel, off_cpu) = stat.mode();
        let mut state = TaskState::seed(now_ns);
        state.thread = u16::try_from(place).unwrap_or_default();
        (state.in_kernel, state.off_cpu) = (u8::from(in_kernel), off_cpu);
        // SAFETY: the place is ours, and no program touches it before a thread is its member.
        unsafe { self.at(place).write_volatile(state) };
        Some(place)
    }

    /// Returns a copy of a place; `None` if no thread has it.
    fn read(&self, place: usize) -> Option<TaskState> {
        // SAFETY: inside the mapping, and every bit pattern is a value; a program may be changing it.
        (place < self.count && self.used(place).load(Ordering::Acquire) != 0)
            .then(|| unsafe { self.at(place).read_volatile() })
    }

    fn release(&self, place: usize) {
        self.used(place).store(0, Ordering::Release);
    }

    /// Corrects the mode of a thread of which the kernel programs have seen nothing yet.
    fn correct(&self, place: usize, before: &Stat, now: &Stat, since_ns: u64) {
        let state = self.at(place);
        // SAFETY: single fields of a place inside the mapping. A program that changes them at the same moment has seen
        // the thread, and the difference is the time of this function.
        unsafe {
            let is_untouched = (&raw const (*state).last_ns).read_volatile() == since_ns
                && (&raw const (*state).off_cpu).read_volatile() == before.mode().1;
            if is_untouched {
                let (in_kernel, off_cpu) = now.mode();
                (&raw mut (*state).in_kernel).write_volatile(u8::from(in_kernel));
                (&raw mut (*state).off_cpu).write_volatile(off_cpu);
            }
        }
    }
}

/// Calls the kernel with the storage of the tree's tasks, which aya has no type for: the key is a descriptor.
fn task_storage(ebpf: &Ebpf, command: bpf_cmd, key: BorrowedFd<'_>, value: &mut Membership) -> io::Result<()> {
    let Some(Map::Unsupported(tasks)) = ebpf.map("tasks") else {
        return Err(io::Error::other("the map of the tasks is not a task storage"));
    };
    let key = key.as_raw_fd();
    let mut attributes = zeroed_attributes();
    attributes.__bindgen_anon_2.map_fd = tasks.fd().as_fd().as_raw_fd() as u32;
    attributes.__bindgen_anon_2.key = (&raw const key) as u64;
    attributes.__bindgen_anon_2.__bindgen_anon_1.value = std::ptr::from_mut(value) as u64;
    // SAFETY: key and value live until the end of this function and have the sizes of the map's.
    unsafe { bpf(command, &mut attributes) }.map(|_| ())
}

/// Returns the place of a task of the tree; `None` for others, and for one that has ended.
fn place_of(ebpf: &Ebpf, descriptor: BorrowedFd<'_>) -> Result<Option<usize>, ProbeError> {
    let mut membership = Membership { thread: 0 };
    match task_storage(ebpf, bpf_cmd::BPF_MAP_LOOKUP_ELEM, descriptor, &mut membership) {
        Ok(()) => Ok(Some(membership.thread as usize)),
        Err(error) if matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ESRCH)) => Ok(None),
        Err(error) => Err(ProbeError::Map { map: "tasks", why: error.to_string() }),
    }
}

fn is_member(ebpf: &Ebpf, descriptor: BorrowedFd<'_>) -> Result<bool, ProbeError> {
    Ok(place_of(ebpf, descriptor)?.is_some())
}

fn set_membership(ebpf: &Ebpf, descriptor: BorrowedFd<'_>, place: usize) -> io::Result<()> {
    let thread = u32::try_from(place).map_err(io::Error::other)?;
    task_storage(ebpf, bpf_cmd::BPF_MAP_UPDATE_ELEM, descriptor, &mut Membership { thread })
}

/// Makes the kernel programs look again at the stacks that they took for strangers' so far.
fn forget_strangers(ebpf: &mut Ebpf) -> Result<(), ProbeError> {
    const NAME: &str = ".bss.births";
    let mut births: Array<&mut MapData, u64> =
        Array::try_from(map_of(ebpf, NAME)?).map_err(|error| map_error(NAME, &error))?;
    // A birth at the same moment may be overwritten; the number is new all the same.
    let before = births.get(&0, 0).map_err(|error| map_error(NAME, &error))?;
    births.set(0, before + BIRTHS_STEP, 0).map_err(|error| map_error(NAME, &error))
}

/// Has the insertions into the page cache reported for a file.
fn remember(ebpf: &mut Ebpf, file: &OpenFile) -> Result<(), ProbeError> {
    insert_file(ebpf, file.file.ino, file.file.s_dev)
}

fn insert_file(ebpf: &mut Ebpf, ino: u64, s_dev: u32) -> Result<(), ProbeError> {
    let mut files: HashMap<&mut MapData, [u64; 2], u8> =
        HashMap::try_from(map_of(ebpf, "files")?).map_err(|error| map_error("files", &error))?;
    // `struct file_key` of records.h: the inode, the device, four bytes of zero.
    files.insert([ino, u64::from(s_dev)], 1, 0).map_err(|error| map_error("files", &error))
}

const TASK_BORN: u32 = 1;
const TASK_EXECUTED: u32 = 2;

fn header(class: KernelClass) -> BatchHeader {
    BatchHeader { record_class: class as u32, count: 1 }
}

fn copy_text<const N: usize>(text: &str) -> [u8; N] {
    let mut bytes = [0; N];
    let length = text.len().min(N - 1);
    bytes[..length].copy_from_slice(&text.as_bytes()[..length]);
    bytes
}

fn task_record(kind: u32, at_ns: u64, (tgid, tid): (u32, u32), parent_tgid: u32, comm: &str, file: &str) -> TaskRecord {
    TaskRecord {
        header: header(KernelClass::Tasks),
        at_ns,
        user_ns: 0,
        kernel_ns: 0,
        blocked_ns: 0,
        iowait_ns: 0,
        preempted_ns: 0,
        kind,
        tid,
        tgid,
        parent_tgid,
        exit_code: 0,
        padding: 0,
        comm: copy_text(comm),
        filename: copy_text(file),
    }
}

/// The name of a file that was open, in the form of an open that ended as the watch began.
fn name_record(at_ns: u64, open: &OpenFile) -> NameRecord {
    NameRecord {
        header: header(KernelClass::Names),
        at_ns,
        ino: open.file.ino,
        returned: open.fd.into(),
        s_dev: open.file.s_dev,
        tid: open.pid,
        tgid: open.pid,
        op: Op::Open as u16,
        file_kind: match open.kind {
            FileKind::Other => 0,
            FileKind::Regular => 1,
            FileKind::BlockDevice => 2,
        },
        name: copy_text(&open.path),
    }
}

/// The arguments of a process, as those of an execution: one that does not fit in several pieces.
fn argument_records(at_ns: u64, pid: u32, argv: &[String]) -> Vec<NameRecord> {
    const MOST: usize = 128;
    let mut records = Vec::new();
    for (number, argument) in argv.iter().enumerate() {
        let mut rest = argument.as_str();
        loop {
            let mut cut = rest.len().min(255);
            while !rest.is_char_boundary(cut) {
                cut -= 1;
            }
            let (piece, after) = rest.split_at(cut);
            records.push(NameRecord {
                header: header(KernelClass::Names),
                at_ns,
                ino: 0,
                returned: number as i64,
                s_dev: 0,
                tid: pid,
                tgid: pid,
                op: Op::Execute as u16,
                file_kind: 0,
                name: copy_text(piece),
            });
            rest = after;
            if rest.is_empty() {
                break;
            }
        }
        if records.len() >= MOST {
            break;
        }
    }
    records
}
