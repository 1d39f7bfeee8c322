//! Observes a process tree without rights: `ptrace` behind a seccomp filter ([`crate::call_filter`]), so that only the
//! calls that are decoded stop. It makes the records of calls, names and tasks that the kernel programs make, and knows
//! nothing of processor times, the page cache, and devices.
//!
//! One thread traces: the kernel takes the requests of that thread alone. Times are read when a thread stops at the
//! entry of a call and when it goes on after its exit, so that they are close to those that the tool sees. Our own work
//! is in them, 25 us a call on the reference machine. Most calls of the C library on files need no stop: a library that
//! is loaded into the tool notes them ([`interposed`]).
//!
//! The bytes that a read takes from storage are the growth of `read_bytes` in `/proc/PID/task/TID/io` over the call. The
//! bytes that a process moves in all are compared with its `/proc/PID/io`: a call that did not stop shows there. The
//! counters of the devices below its files bound what the device did for it ([`devices`]).

mod calls;
mod descriptors;
mod devices;
mod interposed;
mod memory;
mod processes;
mod ptrace;
mod requests;
mod threads;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::os::unix::thread::JoinHandleExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use activebench_model::call::Op;
use activebench_model::coverage::{Backend, BlindPath, Coverage, Overhead, RecordAccount, Sampling, Traced};
use activebench_model::event::{KernelClass, RecordClass, TaskEvent, TaskEventKind};
use activebench_model::thread_stacks::Stacks;
use activebench_probe_abi::{
    BatchHeader, CallDescription, CallRecord, NameRecord, OutputRecord, PAYLOAD_BYTES, PayloadRecord, TaskRecord,
    bytes_of, bytes_of_all,
};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::error::ProbeError;
use crate::kernel::{ProbeOptions, monotonic_ns, own_cpu_ns};
use crate::live::{LiveCounters, LiveFigures};
use crate::observation::Observation;
use crate::payload::PayloadStore;
use crate::store::RecordStore;
use calls::Entered;
use descriptors::{BLOCK_DEVICE, Descriptors, OTHER, TableId};
use devices::Devices;
use interposed::{At, Interposed};
use processes::{Elsewhere, Io, Processes};
use ptrace::{Resume, Stop, Tid};
use requests::InFlight;
use threads::{Accounts, Goes, Own};

/// Calls that wait to be stored together.
const BATCH: usize = 32;
/// Bytes of a process's output that are taken, to a pipe or terminal and to a file, and of one call to a file.
const MOST_OUTPUT: u64 = 4 << 20;
const MOST_OUTPUT_TO_FILE: u64 = 512 << 10;
const MOST_CALL_TO_FILE: u64 = 256 << 10;
/// Bytes that show if output is text.
const LOOKED_AT: usize = 16;
/// Arguments, or pieces of long ones, that are kept of one execution.
const MOST_ARGUMENTS: usize = 128;
/// Bytes of a name with its end.
const NAME_BYTES: usize = 256;

/// A tracer of one tree.
#[derive(Debug)]
pub(crate) struct Tracer {
    options: ProbeOptions,
    live: Arc<LiveCounters>,
    stop: Arc<AtomicBool>,
    running: Option<Running>,
    root: Option<TaskEvent>,
    cpu_at_start_ns: Option<u64>,
}

#[derive(Debug)]
struct Running {
    thread: JoinHandle<()>,
    taken: Receiver<Box<Tracing>>,
}

impl Tracer {
    /// Prepares to trace.
    ///
    /// # Errors
    /// Returns an error on an architecture without a table of calls.
    pub(crate) fn new(options: ProbeOptions) -> Result<Self, ProbeError> {
        if calls::descriptions().is_none() {
            return Err(ProbeError::UnknownArchitecture);
        }
        raise_descriptor_limit();
        let live = Arc::new(LiveCounters::new(options.live_details));
        Ok(Self { options, live, stop: Arc::default(), running: None, root: None, cpu_at_start_ns: None })
    }

    /// Follows a process from here on, and all its descendants. It has to take the filter ([`crate::CallFilter`]) before
    /// it executes the tool.
    ///
    /// # Errors
    /// Returns an error if the system does not let it be traced.
    pub(crate) fn follow(&mut self, pid: u32, parent: u32, now_ns: u64) -> Result<(), ProbeError> {
        let descriptions = calls::descriptions().ok_or(ProbeError::UnknownArchitecture)?;
        let failed = |error: std::io::Error| ProbeError::Reader(error.to_string());
        let cpus = std::thread::available_parallelism().map_or(1, |cpus| cpus.get() as u64);
        let period_ns = self.options.payload.period_ns(cpus);
        let payload = PayloadStore::new(self.options.payload, period_ns).map_err(failed)?;
        let mut store = RecordStore::new(self.options.log.clone()).map_err(failed)?;
        store.folders.ids_are_ours();
        let tracing = Box::new(Tracing::new(descriptions, store, payload, period_ns, &self.options, &self.live));
        wake_on_signal();
        let (answers, answer) = channel();
        let (sender, taken) = channel();
        let stop = Arc::clone(&self.stop);
        let thread = std::thread::Builder::new()
            .name("activebench-ptr".to_owned())
            .spawn(move || {
                let seized = ptrace::seize(pid.cast_signed());
                let is_followed = seized.is_ok();
                // Whoever asked waits for the answer.
                let _ = answers.send(seized);
                if is_followed {
                    trace(tracing, pid, &stop, &sender);
                }
            })
            .map_err(failed)?;
        let seized = answer.recv().map_err(|_| ProbeError::Reader("it ended; this is our bug".to_owned()))?;
        seized.map_err(|source| ProbeError::NotTraced { pid, source })?;
        self.running = Some(Running { thread, taken });
        self.cpu_at_start_ns = Some(own_cpu_ns());
        self.root = Some(TaskEvent {
            at_ns: now_ns,
            kind: TaskEventKind::Born,
            tid: pid,
            tgid: pid,
            parent_tgid: parent,
            exit_status: 0,
            comm: String::new(),
            filename: String::new(),
            user_ns: 0,
            kernel_ns: 0,
            blocked_ns: 0,
            iowait_ns: 0,
            preempted_ns: 0,
        });
        Ok(())
    }

    /// Returns the figures so far.
    pub(crate) fn live(&self) -> LiveFigures {
        self.live.read()
    }

    /// Ends the observation. What is left of the tree goes on, and is let pass its calls until this process ends.
    ///
    /// # Errors
    /// Returns an error if the records cannot be kept.
    pub(crate) fn finish(mut self, run_ns: u64) -> Result<Observation, ProbeError> {
        let running = self.running.take().ok_or_else(|| ProbeError::Reader("it was not started".to_owned()))?;
        let observer_cpu_ns = self.cpu_at_start_ns.map(|start| own_cpu_ns() - start);
        self.stop.store(true, Ordering::Release);
        let mut tracing = loop {
            // It may be about to wait: it is woken until it answers.
            wake(&running.thread);
            match running.taken.recv_timeout(Duration::from_millis(5)) {
                Ok(tracing) => break tracing,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(ProbeError::Reader("it panicked; this is our bug".to_owned()));
                }
            }
        };
        tracing.close();
        tracing.store.close();
        let coverage = tracing.coverage(Overhead { observer_cpu_ns, bpf_run_ns: None, run_ns });
        let Tracing { store, payload, .. } = *tracing;
        Observation::of(store, &payload, self.root, Stacks::default(), None, coverage)
            .map_err(|error| ProbeError::Reader(format!("its records cannot be kept: {error}")))
    }
}

/// Lets this process open as many files as it may: one for each thread of the tree, to read its account of I/O.
fn raise_descriptor_limit() {
    let now = getrlimit(Resource::Nofile);
    // Without the right to do it, accounts that cannot be opened are missing.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: now.maximum, ..now });
}

/// Makes a signal interrupt what a thread waits for, and do nothing else.
fn wake_on_signal() {
    extern "C" fn nothing(_: libc::c_int) {}
    // SAFETY: the handler does nothing; all zeroes is a value of it, with no flag and no blocked signal.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = nothing as *const () as usize;
        libc::sigaction(libc::SIGURG, &raw const action, std::ptr::null_mut());
    }
}

fn wake(thread: &JoinHandle<()>) {
    if !thread.is_finished() {
        // SAFETY: the handle was not joined, so the thread has its id still.
        unsafe { libc::pthread_kill(thread.as_pthread_t() as _, libc::SIGURG) };
    }
}

/// Traces until the tree has ended or it is asked to stop, and hands over what was recorded.
fn trace(mut tracing: Box<Tracing>, root: u32, stop: &AtomicBool, sender: &Sender<Box<Tracing>>) {
    tracing.begin(root);
    while !stop.load(Ordering::Acquire) {
        match ptrace::wait() {
            Some(Some((tid, stop))) => tracing.take(tid, stop),
            Some(None) => {}
            None => break,
        }
    }
    // The account of this thread goes with it.
    tracing.waited_ns = tracing.own.waited_ns();
    // Who asked may be gone.
    let _ = sender.send(tracing);
    // What is left cannot go on without a tracer.
    while let Some(stopped) = ptrace::wait() {
        let Some((tid, stop)) = stopped else { continue };
        match stop {
            Stop::Gone(_) => {}
            Stop::Group => ptrace::resume(tid, Resume::Stopped, 0),
            Stop::Signal(signal) => ptrace::resume(tid, Resume::Freely, signal),
            _ => ptrace::resume(tid, Resume::Freely, 0),
        }
    }
}

/// A thread of the tree.
#[derive(Debug)]
struct Thread {
    tgid: u32,
    table: TableId,
    entered: Option<Box<Entered>>,
    io: Io,
    time: threads::Thread,
    /// Time of the last reading of its account, and the bytes from storage then; `None` if it could not be read.
    read: (u64, Option<u64>),
    /// Bytes that noted calls read from storage since then.
    noted_storage_bytes: u64,
    has_ended: bool,
}

/// What the tracing thread knows and records.
#[derive(Debug)]
struct Tracing {
    descriptions: Vec<Option<CallDescription>>,
    threads: HashMap<Tid, Thread>,
    /// Tasks that stand at their beginning, and whose births were not reported yet.
    early: HashSet<Tid>,
    files: Descriptors,
    processes: Processes,
    elsewhere: Elsewhere,
    devices: Devices,
    accounts: Accounts,
    own: Own,
    waited_ns: Option<u64>,
    in_flight: InFlight,
    interposed: Interposed,
    /// Device of the file of the last noted call.
    last_noted: Option<u32>,
    store: RecordStore,
    payload: PayloadStore,
    live: Arc<LiveCounters>,
    batch: Vec<CallRecord>,
    /// The name that the call just ended was given.
    name: [u8; NAME_BYTES],
    payload_period_ns: u64,
    payload_due_ns: u64,
    undecoded: BTreeMap<&'static str, u64>,
    made: [u64; KernelClass::ALL.len()],
    inferred_calls: u64,
    lost_calls: u64,
    storage_unread_calls: u64,
    stops: u64,
    stopped_ns: u64,
}

impl Tracing {
    fn new(
        descriptions: Vec<Option<CallDescription>>,
        store: RecordStore,
        payload: PayloadStore,
        payload_period_ns: u64,
        options: &ProbeOptions,
        live: &Arc<LiveCounters>,
    ) -> Self {
        Self {
            descriptions,
            threads: HashMap::new(),
            early: HashSet::new(),
            files: Descriptors::new(&options.overlays, options.interposer),
            processes: Processes::default(),
            elsewhere: Elsewhere::default(),
            devices: Devices::default(),
            accounts: Accounts::default(),
            own: Own::default(),
            waited_ns: None,
            in_flight: InFlight::default(),
            interposed: Interposed::default(),
            last_noted: None,
            store,
            payload,
            live: Arc::clone(live),
            batch: Vec::with_capacity(BATCH),
            name: [0; NAME_BYTES],
            payload_period_ns,
            payload_due_ns: 0,
            undecoded: BTreeMap::new(),
            made: [0; KernelClass::ALL.len()],
            inferred_calls: 0,
            lost_calls: 0,
            storage_unread_calls: 0,
            stops: 0,
            stopped_ns: 0,
        }
    }

    /// Adds the first process, which has not executed the tool yet.
    fn begin(&mut self, root: u32) {
        self.own.begin();
        let table = self.files.new_table();
        self.add_thread(root.cast_signed(), root, table);
        self.processes.begin(root, 0, true);
        self.devices.meet_all();
    }

    fn add_thread(&mut self, tid: Tid, tgid: u32, table: TableId) {
        let io = Io::of_thread(tgid, tid);
        // Its account begins with nothing; that of the first thread is read when it executes the tool.
        let read = (monotonic_ns(), Some(0));
        let time = threads::Thread::new(tgid, tid);
        self.accounts.joined(tgid, read.0);
        let thread = Thread { tgid, table, entered: None, io, time, read, noted_storage_bytes: 0, has_ended: false };
        if let Some(old) = self.threads.insert(tid, thread) {
            self.accounts.left(old.tgid, old.time, read.0);
        }
    }

    /// Handles a stop, and lets the thread go on.
    fn take(&mut self, tid: Tid, stop: Stop) {
        let now_ns = monotonic_ns();
        if !matches!(stop, Stop::Gone(_) | Stop::Executed(_)) {
            let is_end = matches!(stop, Stop::Ending(_));
            self.take_notes(tid, if is_end { At::End } else { At::Stop });
        }
        if !matches!(stop, Stop::Gone(_)) {
            self.read_time(tid, &stop, now_ns);
        }
        match stop {
            Stop::Entry => self.at_entry(tid, now_ns),
            Stop::Exit => self.at_exit(tid, now_ns),
            Stop::Birth(child, waits) => {
                self.birth(tid, child, waits, now_ns);
                self.go_on(tid, 0);
                if self.early.remove(&child) {
                    self.go_on(child, 0);
                }
            }
            Stop::Executed(before) => {
                self.executed(tid, before, now_ns);
                self.go_on(tid, 0);
            }
            Stop::Ending(status) => {
                self.ending(tid, status, now_ns);
                self.resume(tid, Resume::Freely, 0, Goes::Busy);
            }
            Stop::Gone(status) => self.gone(tid, status, now_ns),
            Stop::Trap | Stop::Group if !self.threads.contains_key(&tid) => {
                self.early.insert(tid);
            }
            Stop::Trap => self.go_on(tid, 0),
            Stop::Group => self.resume(tid, Resume::Stopped, 0, Goes::Stopped),
            Stop::Signal(signal) => self.go_on(tid, signal),
        }
    }

    /// Reads the account of the time of a thread that has just stopped.
    fn read_time(&mut self, tid: Tid, stop: &Stop, now_ns: u64) {
        let Some(thread) = self.threads.get_mut(&tid) else { return };
        let (tgid, accounts, in_flight) = (thread.tgid, &self.accounts, &self.in_flight);
        // A signal stops it before a call that is over is noted.
        let is_noted = !matches!(stop, Stop::Signal(_) | Stop::Group) || !self.interposed.is_in(tgid);
        let is_alone = |since_ns| is_noted && accounts.has_one(tgid, since_ns) && !in_flight.has_any_of(tgid);
        thread.time.stopped(now_ns, &mut self.own, is_alone);
    }

    fn go_on(&mut self, tid: Tid, signal: i32) {
        match self.threads.get(&tid).is_some_and(|thread| thread.entered.is_some()) {
            true => self.resume(tid, Resume::ToExit, signal, Goes::Busy),
            false => self.resume(tid, Resume::Freely, signal, Goes::Alone),
        }
    }

    fn resume(&mut self, tid: Tid, how: Resume, signal: i32, goes: Goes) {
        if let Some(thread) = self.threads.get_mut(&tid) {
            thread.time.goes_on(monotonic_ns(), &self.own, goes);
        }
        ptrace::resume(tid, how, signal);
    }

    /// Keeps what a thread's account says at this stop, if it is at a call at which a pass may begin or end.
    fn keep_time(&mut self, tid: Tid, op: Option<Op>) {
        let is_bound = op.is_some_and(|op| matches!(op, Op::Close | Op::Sync | Op::Syncfs) || op.is_file_sync());
        if let Some(thread) = self.threads.get_mut(&tid).filter(|_| is_bound) {
            thread.time.keep();
        }
    }

    fn at_entry(&mut self, tid: Tid, now_ns: u64) {
        self.stops += 1;
        let info = ptrace::entry_of(tid);
        if info.is_some_and(|info| self.hands_over(tid, &info)) {
            // It is no call, and ends at once.
            self.resume(tid, Resume::Freely, 0, Goes::Alone);
            self.stopped_ns += monotonic_ns().saturating_sub(now_ns);
            return;
        }
        let entered = info.and_then(|info| self.entered(tid, &info, now_ns));
        self.keep_time(tid, entered.as_ref().and_then(|entered| entered.op()));
        let how = if entered.is_some() { Resume::ToExit } else { Resume::Freely };
        if let Some(thread) = self.threads.get_mut(&tid) {
            thread.entered = entered;
        }
        self.resume(tid, how, 0, Goes::Busy);
        self.stopped_ns += monotonic_ns().saturating_sub(now_ns);
    }

    fn at_exit(&mut self, tid: Tid, now_ns: u64) {
        let Some(returned) = ptrace::exit_of(tid) else { return self.go_on(tid, 0) };
        self.stops += 1;
        let entered = self.threads.get_mut(&tid).and_then(|thread| thread.entered.take());
        let finished = entered.and_then(|entered| self.finished(tid, entered, returned));
        let end_ns = monotonic_ns();
        if let Some(finished) = &finished {
            self.settle_requests(tid, finished, end_ns);
            self.read_devices_after(finished);
            self.keep_time(tid, finished.entered.op());
        }
        self.resume(tid, Resume::Freely, 0, Goes::Alone);
        self.stopped_ns += monotonic_ns().saturating_sub(now_ns);
        if let Some(finished) = finished {
            self.record(finished, end_ns);
        }
    }

    fn birth(&mut self, parent: Tid, child: Tid, waits: bool, now_ns: u64) {
        let Some((parent_tgid, parent_table)) = self.threads.get(&parent).map(|thread| (thread.tgid, thread.table))
        else {
            return;
        };
        let child_id = child.cast_unsigned();
        let tgid = processes::group_of(child).unwrap_or(child_id);
        let is_thread = tgid == parent_tgid;
        let shares = ptrace::share_descriptors(parent, child).unwrap_or(is_thread);
        let table = if shares { parent_table } else { self.files.new_table() };
        self.add_thread(child, tgid, table);
        if !is_thread {
            self.processes.begin(tgid, parent_tgid, false);
            match ptrace::share_memory(parent, child) {
                Some(false) => self.interposed.copied(parent_tgid, tgid, table),
                // Until the child executes, its parent waits. What the child does is not the parent's.
                Some(true) if waits => self.interposed.withdraw_process(parent_tgid),
                // Two processes would note in one memory, or a copy of it.
                _ => {
                    self.interposed.disable(parent_tgid);
                    self.interposed.disable_memory(child);
                }
            }
        } else if !shares {
            self.interposed.disable(tgid);
        }
        let record = TaskRecord { parent_tgid, ..task_record(1, child, tgid, now_ns) };
        self.push_task(&record);
    }

    fn executed(&mut self, tid: Tid, before: Tid, now_ns: u64) {
        let tgid = tid.cast_unsigned();
        // A thread that executes takes the number of its process; its own is nobody's.
        if before != tid && before > 0 {
            self.remove_thread(before);
        }
        self.interposed.forget(tgid);
        self.leave_table(tid);
        if !self.threads.contains_key(&tid) {
            let table = self.files.new_table();
            self.add_thread(tid, tgid, table);
        }
        if let Some(thread) = self.threads.get_mut(&tid) {
            (thread.entered, thread.has_ended) = (None, false);
            // What it may read of itself follows from the file that it executes.
            thread.io = Io::of_thread(tgid, tid);
            if before != tid && before > 0 {
                // The task is another one.
                let left = std::mem::replace(&mut thread.time, threads::Thread::new(tgid, tid));
                self.accounts.joined(tgid, now_ns);
                self.accounts.left(tgid, left, now_ns);
            }
            if self.processes.is_unfiltered(tgid) {
                thread.read = (now_ns, thread.io.read_bytes());
            }
        }
        self.files.forget_mounts();
        self.processes.executed(tgid);
        for (number, argument) in processes::arguments(tgid, MOST_ARGUMENTS, NAME_BYTES - 1) {
            let mut record = NameRecord { returned: number, ..name_record(Op::Execute, tid, tgid, now_ns) };
            record.name[..argument.len()].copy_from_slice(&argument);
            self.push_name_record(&record);
        }
        let mut record = task_record(2, tid, tgid, now_ns);
        processes::executed_file(tid, &mut record.filename);
        self.push_task(&record);
    }

    fn ending(&mut self, tid: Tid, status: i32, now_ns: u64) {
        let Some(thread) = self.threads.get_mut(&tid) else { return };
        if std::mem::replace(&mut thread.has_ended, true) {
            return;
        }
        thread.entered = None;
        let tgid = thread.tgid;
        self.interposed.left(tgid, tid);
        self.processes.read(tgid);
        if self.storage_read(tid).is_none() {
            self.elsewhere.lose();
        }
        self.push_task(&TaskRecord { exit_code: status, ..task_record(3, tid, tgid, now_ns) });
    }

    fn gone(&mut self, tid: Tid, status: i32, now_ns: u64) {
        self.early.remove(&tid);
        // A task that was killed may not have stopped at its end.
        self.ending(tid, status, now_ns);
        self.remove_thread(tid);
    }

    fn remove_thread(&mut self, tid: Tid) {
        let Some(thread) = self.threads.remove(&tid) else { return };
        self.accounts.left(thread.tgid, thread.time, monotonic_ns());
        if !self.threads.values().any(|other| other.table == thread.table) {
            self.files.forget_table(thread.table);
        }
        if !self.threads.values().any(|other| other.tgid == thread.tgid) {
            self.lose_requests(thread.tgid);
            self.interposed.forget(thread.tgid);
            self.processes.ended(thread.tgid);
            self.devices.read_all();
        }
    }

    /// Gives a thread a descriptor table of its own.
    fn leave_table(&mut self, tid: Tid) {
        let own = self.files.new_table();
        let Some(thread) = self.threads.get_mut(&tid) else { return };
        let (tgid, left) = (thread.tgid, std::mem::replace(&mut thread.table, own));
        // The other threads have other files under the same numbers.
        self.interposed.disable(tgid);
        if !self.threads.values().any(|other| other.table == left) {
            self.files.forget_table(left);
        }
    }

    /// Returns what a thread has read from storage so far. What came since the last reading, and by no call, is noted.
    fn storage_read(&mut self, tid: Tid) -> Option<u64> {
        let thread = self.threads.get_mut(&tid)?;
        let bytes = thread.io.read_bytes()?;
        let (from_ns, before) = std::mem::replace(&mut thread.read, (monotonic_ns(), Some(bytes)));
        let noted = std::mem::take(&mut thread.noted_storage_bytes);
        match before {
            Some(before) => {
                let grown = bytes.saturating_sub(before);
                self.elsewhere.add(from_ns, thread.read.0, grown.saturating_sub(noted));
                // What the tool noted is more than the kernel counted. Parts of its units may count in two calls.
                let is_exact =
                    bytes.is_multiple_of(interposed::BLOCK_BYTES) && before.is_multiple_of(interposed::BLOCK_BYTES);
                self.storage_unread_calls += u64::from(is_exact && noted > grown);
            }
            None => self.elsewhere.lose(),
        }
        Some(bytes)
    }

    /// The same at the end of a call, which read it itself.
    fn storage_read_by_call(&mut self, tid: Tid) -> Option<u64> {
        let thread = self.threads.get_mut(&tid)?;
        let bytes = thread.io.read_bytes()?;
        thread.read = (monotonic_ns(), Some(bytes));
        Some(bytes)
    }

    fn count_undecoded(&mut self, path: &'static str, calls: u64) {
        *self.undecoded.entry(path).or_default() += calls;
    }

    fn count_moved(&mut self, record: &CallRecord) {
        let (Some(op), Ok(bytes)) = (Op::from_code(record.op), u64::try_from(record.returned)) else { return };
        match op {
            Op::Read | Op::Pread | Op::Readv | Op::Preadv => {
                self.processes.moved(record.tgid, bytes, 0);
                self.processes.called(record.tgid, true);
            }
            Op::Write | Op::Pwrite | Op::Writev | Op::Pwritev => {
                self.processes.moved(record.tgid, 0, bytes);
                self.processes.called(record.tgid, false);
            }
            Op::Sendfile | Op::CopyFileRange => self.processes.moved(record.tgid, bytes, bytes),
            _ => {}
        }
    }

    fn push_call(&mut self, record: CallRecord) {
        self.made[KernelClass::Calls as usize] += 1;
        self.batch.push(record);
        if self.batch.len() >= BATCH {
            self.flush();
        }
    }

    fn flush(&mut self) {
        let batch = std::mem::take(&mut self.batch);
        self.store.take_calls(bytes_of_all(&batch), &self.live);
        self.batch = batch;
        self.batch.clear();
    }

    fn push_task(&mut self, record: &TaskRecord) {
        self.made[KernelClass::Tasks as usize] += 1;
        self.store.take(bytes_of(record), &self.live);
    }

    fn push_name(&mut self, call: &CallRecord) {
        let Some(op) = Op::from_code(call.op) else { return };
        let record = NameRecord {
            ino: call.ino,
            s_dev: call.s_dev,
            returned: call.returned,
            file_kind: call.file_kind.into(),
            name: self.name,
            ..name_record(op, call.tid.cast_signed(), call.tgid, call.end_ns)
        };
        self.push_name_record(&record);
    }

    fn push_name_record(&mut self, record: &NameRecord) {
        self.made[KernelClass::Names as usize] += 1;
        self.store.take(bytes_of(record), &self.live);
    }

    /// Takes the first bytes of a write, if a sample is due. `vectors` says that they lie in iovecs, and of which width.
    fn sample(&mut self, call: &CallRecord, tid: Tid, address: u64, vectors: Option<bool>) {
        let is_due = self.payload_period_ns > 0 && call.start_ns >= self.payload_due_ns;
        if !is_due || call.file_kind == OTHER || call.requested == 0 {
            return;
        }
        self.payload_due_ns = call.start_ns + self.payload_period_ns;
        let (address, length) = match vectors {
            None => (address, call.requested),
            Some(narrow) => {
                memory::vectors(tid, address, 1, narrow).and_then(|vectors| vectors.first().copied()).unwrap_or((0, 0))
            }
        };
        let mut record = PayloadRecord {
            header: header(KernelClass::Payload),
            at_ns: call.start_ns,
            ino: call.ino,
            requested: call.requested,
            s_dev: call.s_dev,
            tid: call.tid,
            tgid: call.tgid,
            fd: call.fd,
            op: call.op,
            padding: 0,
            bytes: 0,
            data: [0; PAYLOAD_BYTES],
        };
        let wanted = PAYLOAD_BYTES.min(usize::try_from(length).unwrap_or(PAYLOAD_BYTES));
        let read = ptrace::read_memory(tid, address, &mut record.data[..wanted]);
        // A part of it could be the end of other memory: it counts as not read.
        record.bytes = if read == wanted { read as u32 } else { 0 };
        self.made[KernelClass::Payload as usize] += 1;
        self.payload.take(bytes_of(&record));
    }

    /// Takes what a call wrote to standard output or standard error, if it is text.
    fn take_output(&mut self, entered: &Entered, returned: i64, tid: Tid) {
        let call = &entered.record;
        let is_write = (Op::Write as u16..=Op::Pwritev as u16).contains(&call.op);
        let Some(written) = u64::try_from(returned).ok().filter(|written| *written > 0) else { return };
        if !is_write || !(1..=2).contains(&call.fd) || call.file_kind == BLOCK_DEVICE {
            return;
        }
        let to_file = call.file_kind != OTHER;
        let most = if to_file { MOST_OUTPUT_TO_FILE } else { MOST_OUTPUT };
        let Some(fits) = self.processes.printed(call.tgid, call.fd, written, most) else { return };
        let text = match fits && !(to_file && written > MOST_CALL_TO_FILE) {
            true => self.text_of(entered, written, tid),
            // It is known to be missing.
            false => Vec::new(),
        };
        let record = OutputRecord {
            header: header(KernelClass::Output),
            at_ns: monotonic_ns(),
            written,
            tid: call.tid,
            tgid: call.tgid,
            fd: call.fd,
            bytes: text.len() as u32,
        };
        self.made[KernelClass::Output as usize] += 1;
        self.payload.take(&[bytes_of(&record), &text].concat());
    }

    fn text_of(&self, entered: &Entered, written: u64, tid: Tid) -> Vec<u8> {
        let vectors = match entered.is_vectored() {
            false => vec![(entered.argument(2), written)],
            true => memory::vectors(tid, entered.argument(2), entered.argument(3), entered.narrow).unwrap_or_default(),
        };
        // Bounded by what is taken of a process.
        let (mut text, mut left) = (Vec::new(), written.min(MOST_OUTPUT) as usize);
        for (address, bytes) in vectors {
            let bytes = left.min(usize::try_from(bytes).unwrap_or(left));
            let start = text.len();
            text.resize(start + bytes, 0);
            let read = ptrace::read_memory(tid, address, &mut text[start..]);
            text.truncate(start + read);
            left -= bytes;
            if read < bytes || left == 0 {
                break;
            }
        }
        let is_text = text.iter().take(LOOKED_AT).all(|byte| matches!(byte, 8..=13 | 27 | 32..=126));
        if is_text { text } else { Vec::new() }
    }

    /// Ends the records when the tree has ended, or is not followed any more.
    fn close(&mut self) {
        self.take_all_notes();
        let mut left: Vec<u32> = self.threads.values().map(|thread| thread.tgid).collect();
        left.sort_unstable();
        left.dedup();
        for tgid in left {
            self.processes.read(tgid);
            self.processes.ended(tgid);
            self.lose_requests(tgid);
        }
        self.devices.read_all();
        for (_, thread) in self.threads.drain() {
            self.accounts.left(thread.tgid, thread.time, u64::MAX);
        }
        self.flush();
    }

    fn coverage(&self, overhead: Overhead) -> Coverage {
        let mut records = BTreeMap::new();
        for class in
            [KernelClass::Calls, KernelClass::Names, KernelClass::Tasks, KernelClass::Payload, KernelClass::Output]
        {
            let received = match class {
                KernelClass::Payload => self.payload.received(),
                KernelClass::Output => self.payload.printed.received,
                _ => self.store.received(class),
            };
            let of_calls = |count| if class == KernelClass::Calls { count } else { 0 };
            let account = RecordAccount {
                made: self.made[class as usize] + of_calls(self.lost_calls),
                received,
                lost: self.store.dropped(class) + of_calls(self.lost_calls),
                inferred: of_calls(self.inferred_calls),
                ..RecordAccount::default()
            };
            records.insert(class.class(), account);
        }
        let malformed = self.store.malformed() + self.payload.malformed();
        if malformed > 0 {
            let account = RecordAccount { made: malformed, lost: malformed, ..RecordAccount::default() };
            records.insert(RecordClass::Malformed, account);
        }
        let counted = self.undecoded.iter().map(|(path, calls)| (*path, *calls));
        let undecoded = counted.chain(self.processes.unseen());
        Coverage {
            backend: Backend::Ptrace,
            undecoded: undecoded.map(|(path, calls)| BlindPath { path: path.to_owned(), calls }).collect(),
            log: Some(self.store.log()),
            records,
            overhead,
            sampling: Some(Sampling {
                why_not: Some("a tracer takes no stack samples".to_owned()),
                ..Sampling::default()
            }),
            payload: Some(self.payload.account()),
            traced: Some(Traced {
                stops: self.stops,
                stopped_ns: Some(self.stopped_ns.saturating_add(self.interposed.noting_ns())),
                noted_calls: self.interposed.calls,
                storage_unread_calls: self.storage_unread_calls,
                storage_reads_elsewhere: self.elsewhere.all(),
                processes: self.processes.accounts(),
                devices: self.devices.counters(),
                threads: self.accounts.all(),
                waited_ns: self.waited_ns,
            }),
            ..Coverage::default()
        }
    }
}

fn header(class: KernelClass) -> BatchHeader {
    BatchHeader { record_class: class as u32, count: 1 }
}

/// Returns the record of a task without anything that differs by its kind.
fn task_record(kind: u32, tid: Tid, tgid: u32, at_ns: u64) -> TaskRecord {
    TaskRecord {
        header: header(KernelClass::Tasks),
        at_ns,
        user_ns: 0,
        kernel_ns: 0,
        blocked_ns: 0,
        iowait_ns: 0,
        preempted_ns: 0,
        kind,
        tid: tid.cast_unsigned(),
        tgid,
        parent_tgid: 0,
        exit_code: 0,
        padding: 0,
        comm: processes::comm_of(tid),
        filename: [0; NAME_BYTES],
    }
}

fn name_record(op: Op, tid: Tid, tgid: u32, at_ns: u64) -> NameRecord {
    NameRecord {
        header: header(KernelClass::Names),
        at_ns,
        ino: 0,
        returned: 0,
        s_dev: 0,
        tid: tid.cast_unsigned(),
        tgid,
        op: op as u16,
        file_kind: 0,
        name: [0; NAME_BYTES],
    }
}
