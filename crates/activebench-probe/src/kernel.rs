//! Loads and attaches the kernel programs with aya, and reads their ring.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use activebench_model::call::{DeviceNumber, FileId};
use activebench_model::coverage::{Backend, BlindPath, Coverage, Overhead, ProbeStatus, RecordAccount, Sampling};
use activebench_model::event::{KernelClass, RecordClass, TaskEvent, TaskEventKind};
use activebench_model::hook::Hook;
use activebench_model::program_times::Calibration;
use activebench_model::sha256;
use activebench_probe_abi::{
    BlockBatch, CacheBatch, CallDescription, CallRecord, Membership, RecordCounters, TaskState, UNDECODED_PATHS,
    bytes_of, syscalls,
};
use aya::maps::{Array, HashMap, Map, PerCpuArray};
use aya::programs::tp_btf::BtfTracePointLinkId;
use aya::programs::{BtfTracePoint, ProgramError, ProgramFd};
use aya::{Btf, Ebpf, EbpfLoader};
use aya_obj::Object;
use aya_obj::generated::bpf_cmd;
use rustix::process::{Resource, Rlimit, getrlimit, setpriority_process, setrlimit};
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

use crate::bpf_call::{bpf, zeroed_attributes};
use crate::calibration::{calibrate, call_ns};
use crate::chunk_storage::LogOptions;
use crate::error::{ProbeError, os_error, refusal, verifier_verdict};
use crate::hidden_completions;
use crate::hooks::{PROGRAMS, Program};
use crate::joining::{Joined, Wanted, totals_of_living};
use crate::library::{LibraryProbes, MOST_COUNTS};
use crate::live::{LiveCounters, LiveFigures};
use crate::loading::{Loaded, load_all};
use crate::maps::{Plain, map_error, map_of, per_cpu_map, ring_of, typed_map, used_values};
use crate::needed_types::NeededTypes;
use crate::observation::Observation;
use crate::payload::{Payload, PayloadStore};
use crate::ring::Ring;
use crate::run_time::{Group, Programs, RunTimeMeter, Walks, program_info};
use crate::sampling::{self, Sampler};
use crate::serving;
use crate::store::RecordStore;
use crate::symbols;

/// Time between two readings of the ring. The kernel side never wakes us, because a wake-up per record costs the
/// benchmark seven times as much as the record. At a million records per second this is half a megabyte of a ring of
/// 32 MiB.
const POLL: Duration = Duration::from_millis(4);

/// Bytes of the ring for payload and for what the processes print: the samples of one CPU for a quarter of a second,
/// beside the report of a tool at once. All of it counts as resident memory.
const PAYLOAD_RING_BYTES: u32 = 1 << 20;
/// Bytes taken from the payload ring per reading, before the events are read: a quarter of what it holds, and 4 ms of
/// work at most.
const MOST_PAYLOAD: usize = 256 << 10;

/// Options of the observation.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ProbeOptions {
    /// Bytes of the ring, a power of two and a multiple of the page size.
    pub ring_bytes: u32,
    /// Time the entry of every call, including fast calls in quick succession.
    pub time_every_call: bool,
    /// Find the thread of every call on the slow path, as on systems where the addresses of registers are not
    /// constant. For measuring the cost of that path.
    pub look_every_caller_up: bool,
    /// Storage of the event log.
    pub log: LogOptions,
    /// Overlays, each with the file system that all its directories are on, by device. Their files are then
    /// identified by the numbers that the page cache and the device use. An overlay that is not listed keeps its own
    /// number.
    pub overlays: Vec<(DeviceNumber, DeviceNumber)>,
    /// Stack samples per second per CPU; 0 for none.
    pub sample_hz: u32,
    /// Use of the samples of written data.
    pub payload: Payload,
    /// Who completes the record if the recorder is killed.
    pub salvage: Option<Salvage>,
    /// Count what [`LiveFigures::details`] holds, which takes the observer CPU time for each call.
    pub live_details: bool,
    /// The observer: [`Backend::Bpf`] or [`Backend::Ptrace`].
    pub backend: Backend,
    /// Watch processes that run already: [`Observing::join`](crate::Observing::join) instead of `follow`. None of them is
    /// ended if the recorder is killed.
    pub watches: bool,
    /// Count calls of library functions.
    pub library: bool,
    /// The file of the [`Interposer`](crate::Interposer), so that loading it does not count as the tool's I/O. `None` if
    /// the tool does not load it.
    pub interposer: Option<FileId>,
}

/// Who completes the record if the recorder is killed: our own executable, with the rights of the recorder's user. It
/// gets the observation as descriptors, see [`Observation::inherited`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Salvage {
    /// The hidden subcommand.
    pub subcommand: String,
    /// Text on its standard input.
    pub text: String,
}

impl ProbeOptions {
    /// Default stack samples per second per CPU. Not a multiple of a timer's usual rates, so that what happens at
    /// every tick is not in every sample.
    pub const SAMPLE_HZ: u32 = 997;
}

impl Default for ProbeOptions {
    fn default() -> Self {
        Self {
            ring_bytes: 32 << 20,
            time_every_call: false,
            look_every_caller_up: false,
            log: LogOptions::default(),
            overlays: Vec::new(),
            sample_hz: Self::SAMPLE_HZ,
            payload: Payload::default(),
            salvage: None,
            live_details: false,
            backend: Backend::Bpf,
            watches: false,
            library: false,
            interposer: None,
        }
    }
}

/// What becomes of a process that executes a program with more rights than its user has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gain {
    /// It is observed like any other.
    Stays,
    /// It leaves the tree.
    Leaves,
}

/// Both rings and the records taken from them.
#[derive(Debug)]
struct Taken {
    ring: Ring,
    store: RecordStore,
    payload_ring: Ring,
    payload: PayloadStore,
}

impl Taken {
    /// Takes records from the rings, from that of the events up to `most` bytes. Returns the bytes taken from that
    /// ring.
    fn drain(&mut self, live: &LiveCounters, most: usize) -> usize {
        self.payload_ring.drain(MOST_PAYLOAD, |message| self.payload.take(message));
        self.ring.drain(most, |message| self.store.take(message, live))
    }

    fn drain_all(&mut self, live: &LiveCounters) {
        while self.payload_ring.drain(MOST_PAYLOAD, |message| self.payload.take(message)) > 0 {}
        self.drain(live, usize::MAX);
    }
}

/// Attached kernel programs and the thread that reads their records.
#[derive(Debug)]
pub struct Probe {
    ebpf: Ebpf,
    /// Program, hook and link.
    links: Vec<(&'static str, Hook, BtfTracePointLinkId)>,
    statuses: Vec<ProbeStatus>,
    live: Arc<LiveCounters>,
    stop: Arc<AtomicBool>,
    reader: Option<JoinHandle<Taken>>,
    cpu_at_start_ns: Option<u64>,
    /// Measures from the first task on.
    meter: Option<RunTimeMeter>,
    /// Measures until a process is followed. It gives `None` where the kernel does not time programs for us.
    calibration: Option<JoinHandle<Option<Calibration>>>,
    root: Option<TaskEvent>,
    /// The processes that ran already.
    joined: Option<Joined>,
    overlays: Vec<(DeviceNumber, DeviceNumber)>,
    /// FUSE daemons, which are observed beside the tree, and since when.
    daemons: BTreeSet<u32>,
    daemons_since_ns: u64,
    sampler: Option<Sampler>,
    library: Option<LibraryProbes>,
    sampling: Sampling,
    /// The SHA-256 of the object that was loaded.
    object_sha256: String,
}

impl Probe {
    /// Loads and attaches everything and starts reading. No process is recorded until [`Probe::follow`] names the
    /// first one; block requests are seen from now on.
    ///
    /// # Errors
    /// Returns an error if the kernel refuses, has no BTF, or the programs do not load. A single tracepoint that this
    /// kernel lacks is not an error: its status has the reason.
    pub fn attach(options: ProbeOptions) -> Result<Self, ProbeError> {
        Self::attach_for(options, Gain::Stays)
    }

    /// As [`Probe::attach`]; says what becomes of a process that gains rights.
    pub(crate) fn attach_for(options: ProbeOptions, gain: Gain) -> Result<Self, ProbeError> {
        let table = syscalls::table().ok_or(ProbeError::UnknownArchitecture)?;
        let object_sha256 = recognised(activebench_ebpf::OBJECT, activebench_ebpf::OBJECT_SHA256)?;
        let tracepoints = PROGRAMS.iter().flat_map(|(_, programs)| *programs).map(|(_, tracepoint)| *tracepoint);
        let types = NeededTypes::read(&own_types()?, tracepoints)?;
        let cpus = std::thread::available_parallelism().map_or(1, |cpus| cpus.get() as u64);
        let payload_period_ns = options.payload.period_ns(cpus);
        let payload_ring_bytes = PAYLOAD_RING_BYTES;
        let daemons = serving::daemons(Path::new("/proc"));
        let mut ebpf = loader()?
            .btf(Some(&types.relocated))
            .allow_unsupported_maps()
            .map_max_entries("ring", options.ring_bytes)
            .override_global("observer_tgid", &std::process::id(), true)
            .map_max_entries("payload_ring", payload_ring_bytes)
            .map_max_entries("library_counts", if options.library { MOST_COUNTS } else { 1 })
            .override_global("payload_period_ns", &payload_period_ns, true)
            .override_global("time_every_call", &u32::from(options.time_every_call), true)
            .override_global("look_every_caller_up", &u32::from(options.look_every_caller_up), true)
            .override_global("has_daemons", &u32::from(!daemons.is_empty()), true)
            .override_global("leave_at_gain", &u32::from(gain == Gain::Leaves), true)
            .load(activebench_ebpf::OBJECT)
            .map_err(|error| refusal(&error))?;

        let mut descriptions: Array<_, Plain<CallDescription>> = typed_map(&mut ebpf, "call_descriptions")?;
        for (number, description) in table {
            descriptions.set(number, Plain(description), 0).map_err(|error| map_error("call_descriptions", &error))?;
        }
        let mut overlays: HashMap<_, u32, u32> =
            HashMap::try_from(map_of(&mut ebpf, "overlays")?).map_err(|error| map_error("overlays", &error))?;
        for (overlay, below) in &options.overlays {
            overlays.insert(overlay.0, below.0, 0).map_err(|error| map_error("overlays", &error))?;
        }
        serving::follow(&mut ebpf, &daemons)?;
        let payload = PayloadStore::new(options.payload, payload_period_ns)
            .map_err(|error| ProbeError::Reader(error.to_string()))?;
        let store = RecordStore::new(options.log).map_err(|error| ProbeError::Reader(error.to_string()))?;

        let mut probe = Self {
            ebpf,
            links: Vec::new(),
            statuses: Vec::new(),
            live: Arc::new(LiveCounters::new(options.live_details)),
            stop: Arc::default(),
            reader: None,
            cpu_at_start_ns: None,
            meter: None,
            calibration: None,
            root: None,
            joined: None,
            overlays: options.overlays,
            daemons,
            daemons_since_ns: 0,
            sampler: None,
            library: None,
            sampling: Sampling { frequency_hz: options.sample_hz, ..Sampling::default() },
            object_sha256,
        };
        let untraced_ns = call_ns();
        let mut loaded = load_all(&mut probe.ebpf, &types.tracepoints)?;
        for (hook, programs) in PROGRAMS {
            probe.attach_hook(*hook, programs, &mut loaded)?;
        }
        probe.daemons_since_ns = monotonic_ns();
        // Mapped after memory is free again: the rings are as large as the types.
        drop(types);
        give_back();
        let ring = ring_of(&probe.ebpf, "ring", options.ring_bytes)?;
        let payload_ring = ring_of(&probe.ebpf, "payload_ring", payload_ring_bytes)?;
        let taken = Taken { ring, store, payload_ring, payload };
        probe.start_sampling();
        if options.library {
            probe.library = Some(LibraryProbes::attach(&mut probe.ebpf)?);
        }
        probe.start_reader(taken, options.ring_bytes)?;
        let sampled = probe.sampler.is_some() && probe.sampling.why_not.is_none();
        // Beside the caller, who prepares the first process meanwhile.
        let programs = probe.program_descriptors()?;
        let calibrating = std::thread::Builder::new()
            .name("activebench-cal".to_owned())
            .spawn(move || calibrate(untraced_ns, &programs, sampled).ok())
            .map_err(|error| ProbeError::Reader(error.to_string()))?;
        probe.calibration = Some(calibrating);
        Ok(probe)
    }

    /// Attaches the program of a hook that was loaded. One that was not tried comes after one that was.
    fn attach_hook(&mut self, hook: Hook, programs: &[Program], loaded: &mut Loaded) -> Result<(), ProbeError> {
        let mut status = ProbeStatus { hook, attached: false, why_not: None, missed: 0 };
        for (name, _) in programs {
            let Some(loaded) = loaded.remove(name) else { continue };
            let attached = self
                .ebpf
                .program_mut(name)
                .ok_or_else(|| ProbeError::Load(format!("program {name} is not in the object")))
                .and_then(|program| {
                    <&mut BtfTracePoint>::try_from(program).map_err(|error| ProbeError::Load(error.to_string()))
                })
                .map(|program| loaded.and_then(|()| program.attach()))?;
            match attached {
                Ok(link) => {
                    self.links.push((name, hook, link));
                    (status.attached, status.why_not) = (true, None);
                    break;
                }
                Err(error) => {
                    let verdict = verifier_verdict(&error);
                    if let Some(code) = os_error(&error)
                        && (code == libc::EPERM || code == libc::EACCES && programs.len() == 1 && !hook.is_beside())
                    {
                        return Err(match verdict {
                            Some(why) => ProbeError::Refused { program: name, why },
                            None => {
                                let why = io::Error::from_raw_os_error(code);
                                ProbeError::NotPermitted(format!("{name}: {why}"))
                            }
                        });
                    }
                    status.why_not = Some(match verdict {
                        Some(why) => format!("the kernel's verifier refuses it: {why}"),
                        None => error.to_string(),
                    });
                }
            }
        }
        self.statuses.push(status);
        Ok(())
    }

    fn start_sampling(&mut self) {
        if self.sampling.frequency_hz == 0 {
            self.sampling.why_not = Some("sampling was turned off".to_owned());
            return;
        }
        let (sampler, status) = Sampler::attach(&mut self.ebpf, self.sampling.frequency_hz);
        self.sampling.why_not.clone_from(&status.why_not);
        self.sampler = Some(sampler);
        self.statuses.push(status);
    }

    fn start_reader(&mut self, mut taken: Taken, ring_bytes: u32) -> Result<(), ProbeError> {
        let (live, stop) = (Arc::clone(&self.live), Arc::clone(&self.stop));
        let reader = std::thread::Builder::new()
            .name("activebench-ring".to_owned())
            .spawn(move || {
                let mut pace = Pace { ring_bytes: ring_bytes as usize, hurried: false };
                while !stop.load(Ordering::Acquire) {
                    let bytes = taken.drain(&live, pace.too_much());
                    pace.adapt(bytes);
                    if bytes < pace.too_much() {
                        std::thread::sleep(POLL);
                    }
                }
                taken.drain_all(&live);
                taken
            })
            .map_err(|error| ProbeError::Reader(error.to_string()))?;
        self.reader = Some(reader);
        Ok(())
    }

    /// Follows a process from here on, and all its descendants. It must be blocked in a system call, so that its
    /// clock starts in the right mode. `pidfd` identifies the process for the kernel; `pid` and `parent`, the process that started it, are for the
    /// record.
    ///
    /// # Errors
    /// Returns an error if the kernel does not accept the entry.
    pub(crate) fn follow(
        &mut self,
        pidfd: BorrowedFd<'_>,
        pid: u32,
        parent: u32,
        now_ns: u64,
    ) -> Result<(), ProbeError> {
        let calibration = self.calibrated();
        let mut threads: Array<_, Plain<TaskState>> = typed_map(&mut self.ebpf, "threads")?;
        threads.set(0, Plain(TaskState::seed(now_ns)), 0).map_err(|error| map_error("threads", &error))?;
        let Some(Map::Unsupported(tasks)) = self.ebpf.map("tasks") else {
            return Err(ProbeError::Map { map: "tasks", why: "it is not a task storage".to_owned() });
        };
        // aya has no type for task storage: this is its map update, with a pidfd for a key.
        let membership = Membership { thread: 0 };
        let key = pidfd.as_raw_fd();
        let mut attributes = zeroed_attributes();
        attributes.__bindgen_anon_2.map_fd = tasks.fd().as_fd().as_raw_fd() as u32;
        attributes.__bindgen_anon_2.key = (&raw const key) as u64;
        attributes.__bindgen_anon_2.__bindgen_anon_1.value = (&raw const membership) as u64;
        // SAFETY: key and value live until the end of this function and have the sizes of the map's.
        unsafe { bpf(bpf_cmd::BPF_MAP_UPDATE_ELEM, &mut attributes) }
            .map_err(|source| ProbeError::Seed { pid, source })?;
        self.start_meter(calibration)?;
        // The kernel reports only the children of followed processes, so we report the first task.
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

    fn calibrated(&mut self) -> Option<Calibration> {
        self.calibration.take().and_then(|calibrating| calibrating.join().ok().flatten())
    }

    fn start_meter(&mut self, calibration: Option<Calibration>) -> Result<(), ProbeError> {
        let walks = Walks::take(&mut self.ebpf)?;
        self.meter = Some(RunTimeMeter::start(self.program_descriptors()?, walks, calibration)?);
        self.cpu_at_start_ns = Some(own_cpu_ns());
        Ok(())
    }

    /// Adds a process that runs already to the tree, with its descendants. `refusal` returns why a process may not be
    /// watched.
    ///
    /// # Errors
    /// Returns an error if the process may not be watched, has ended, or the kernel does not accept it.
    pub(crate) fn join(
        &mut self,
        pidfd: BorrowedFd<'_>,
        pid: u32,
        refusal: &dyn Fn(u32) -> Option<String>,
    ) -> Result<(), ProbeError> {
        let mut joined = match self.joined.take() {
            Some(joined) => joined,
            None => {
                let calibration = self.calibrated();
                self.start_meter(calibration)?;
                Joined::new(monotonic_ns())
            }
        };
        let wanted = Wanted { pidfd, pid, refusal, now: &monotonic_ns, overlays: &self.overlays };
        let done = joined.join(&mut self.ebpf, &wanted);
        self.joined = Some(joined);
        done
    }

    /// Returns the number of processes and threads that joined.
    pub(crate) fn joined(&self) -> (u64, u64) {
        let processes = self.joined.iter().flat_map(|joined| &joined.about.processes);
        processes.fold((0, 0), |(processes, threads), process| (processes + 1, threads + u64::from(process.threads)))
    }

    /// Returns the figures so far.
    pub fn live(&self) -> LiveFigures {
        self.live.read()
    }

    /// Detaches, takes the remaining records, and closes the account. Call it when the tree has ended.
    ///
    /// # Errors
    /// Returns an error if the records or the kernel's counters cannot be read.
    pub fn finish(mut self, run_ns: u64) -> Result<Observation, ProbeError> {
        let program_times = self.meter.take().and_then(RunTimeMeter::finish);
        let bpf_run_ns = program_times.as_ref().and_then(|times| {
            let start_ns = times.readings.first()?.at_ns;
            times.between(start_ns, start_ns.saturating_add(run_ns)).map(|grown| grown.all().ns)
        });
        // While the programs still follow them.
        let living = match &self.joined {
            Some(_) => totals_of_living(&mut self.ebpf, &monotonic_ns)?,
            None => Vec::new(),
        };
        let observer_cpu_ns = self.cpu_at_start_ns.map(|start| own_cpu_ns() - start);
        for index in 0..self.links.len() {
            let (name, hook) = (self.links[index].0, self.links[index].1);
            let missed = self.missed_events(name)?;
            if let Some(status) = self.statuses.iter_mut().find(|status| status.hook == hook) {
                status.missed = missed;
            }
        }
        for (name, _, link) in self.links.drain(..) {
            let program: &mut BtfTracePoint = self
                .ebpf
                .program_mut(name)
                .ok_or_else(|| ProbeError::Load(format!("program {name} is gone")))?
                .try_into()
                .map_err(|error: ProgramError| ProbeError::Load(error.to_string()))?;
            program.detach(link).map_err(|error| ProbeError::Load(error.to_string()))?;
        }
        if let Some(sampler) = self.sampler.take() {
            sampler.detach(&mut self.ebpf)?;
        }
        let library = self.library.take().map(|library| library.finish(&mut self.ebpf)).transpose()?;
        self.stop.store(true, Ordering::Release);
        let reader = self.reader.take().ok_or_else(|| ProbeError::Reader("it was not started".to_owned()))?;
        let mut taken = reader.join().map_err(|_| ProbeError::Reader("it panicked; this is our bug".to_owned()))?;
        taken.drain_all(&self.live);
        let Taken { ring, mut store, payload_ring, payload } = taken;
        // The symbol lookup needs memory; that of the rings is not needed any more.
        drop((ring, payload_ring));
        store.close();
        let unsent = self.take_leftovers(&mut store)?;
        for batch in serving::requests(&mut self.ebpf)? {
            store.take(bytes_of(&batch), &self.live);
        }
        let beginnings = serving::beginnings(&self.daemons, self.daemons_since_ns);
        let amounts = serving::amounts(&mut self.ebpf)?;
        for record in beginnings.iter().chain(&amounts) {
            store.push(KernelClass::Serving, bytes_of(record), 1);
        }
        let completions = hidden_completions::completions(&mut self.ebpf)?;
        for record in &completions {
            store.push(KernelClass::BlockQueued, bytes_of(record), 1);
        }
        let mut calls = hidden_completions::calls(&mut self.ebpf)?;
        let joined = self.joined.take();
        let mut watch = joined.as_ref().map(|joined| joined.about.clone());
        if let Some(watch) = &mut watch {
            // What is watched goes on: these have not ended, or nobody knows it.
            let in_flight = std::mem::take(&mut calls.inferred).len() as u64 + std::mem::take(&mut calls.lost);
            if in_flight > 0 {
                watch.gaps.push(format!("{in_flight} asynchronous requests were in flight when the watch ended."));
            }
        }
        for record in &living {
            store.push(KernelClass::Cpu, bytes_of(record), 1);
        }
        for record in joined.iter().flat_map(|joined| &joined.tasks) {
            store.push(KernelClass::Tasks, bytes_of(record), 1);
        }
        for record in joined.iter().flat_map(|joined| &joined.names) {
            store.push(KernelClass::Names, bytes_of(record), 1);
        }
        for record in &calls.inferred {
            store.push(KernelClass::Calls, bytes_of(record), 1);
        }
        let mut records = self.account(&store, &payload)?;
        if let Some(account) = records.get_mut(&RecordClass::Calls) {
            account.made += unsent.made;
            account.estimated += unsent.estimated;
        }
        if let Some(account) = records.get_mut(&RecordClass::Serving) {
            account.made += (beginnings.len() + amounts.len()) as u64;
        }
        for (class, inferred, lost) in
            [(KernelClass::BlockQueued, completions.len(), 0), (KernelClass::Calls, calls.inferred.len(), calls.lost)]
        {
            if let Some(account) = records.get_mut(&class.class()) {
                account.made += inferred as u64 + lost;
                account.inferred += inferred as u64;
                account.lost += lost;
            }
        }
        if let Some(joined) = &joined {
            for (class, made, lost) in [
                (KernelClass::Tasks, joined.tasks.len() as u64 + joined.lost, joined.lost),
                (KernelClass::Names, joined.names.len() as u64, 0),
                (KernelClass::Cpu, living.len() as u64, 0),
            ] {
                if let Some(account) = records.get_mut(&class.class()) {
                    account.made += made;
                    account.lost += lost;
                }
            }
        }
        let coverage = Coverage {
            log: Some(store.log()),
            backend: Backend::Bpf,
            probes: std::mem::take(&mut self.statuses),
            blind_paths: Vec::new(),
            undecoded: self.undecoded()?,
            records,
            overhead: Overhead { observer_cpu_ns, bpf_run_ns, run_ns },
            other_tracers: None,
            sampling: Some(Sampling {
                stackless: store.stacks.stackless,
                unmapped_processes: store.stacks.mappings.unread(),
                ..self.sampling
            }),
            payload: Some(payload.account()),
            steal_unread: None,
            linked_programs: BTreeMap::new(),
            records_stops: true,
            program_times,
            kernel_object_sha256: Some(self.object_sha256),
            traced: None,
        };
        let samples = store.received(KernelClass::Samples);
        let stacks = symbols::resolve(&mut store.stacks, samples);
        Observation::of(store, &payload, self.root, stacks, watch, coverage)
            .map(|observation| observation.with_library(library))
            .map_err(|error| ProbeError::Reader(format!("its records cannot be kept: {error}")))
    }

    /// Takes the records that wait in batches: the last ones of the block and page-cache programs, and those of
    /// threads that outlive the run. Returns the account of the calls, which are counted only when they leave their
    /// batch.
    fn take_leftovers(&mut self, store: &mut RecordStore) -> Result<RecordAccount, ProbeError> {
        let blocks: PerCpuArray<_, Plain<BlockBatch>> = per_cpu_map(&mut self.ebpf, "block_batches")?;
        for element in 0..blocks.len() {
            let values = blocks.get(&element, 0).map_err(|error| map_error("block_batches", &error))?;
            for Plain(batch) in values.iter() {
                store.take(bytes_of(batch), &self.live);
            }
        }
        let caches: PerCpuArray<_, Plain<CacheBatch>> = per_cpu_map(&mut self.ebpf, "cache_batches")?;
        let values = caches.get(&0, 0).map_err(|error| map_error("cache_batches", &error))?;
        for Plain(batch) in values.iter() {
            store.take(bytes_of(batch), &self.live);
        }
        let mut unsent = RecordAccount::default();
        for thread in used_values(&mut self.ebpf, "threads", |thread: &TaskState| thread.used != 0)? {
            let before = store.received(KernelClass::Calls);
            store.take_unsent(&thread, &self.live);
            unsent.made += store.received(KernelClass::Calls) - before;
            let alone = [CallRecord::unsent_request(&thread), CallRecord::unsent_submission(&thread)];
            unsent.estimated += u64::from(thread.estimated) + thread.unfinished_calls();
            unsent.estimated += alone.iter().flatten().count() as u64;
        }
        Ok(unsent)
    }

    fn account(
        &mut self,
        store: &RecordStore,
        payload: &PayloadStore,
    ) -> Result<BTreeMap<RecordClass, RecordAccount>, ProbeError> {
        let counters: PerCpuArray<_, Plain<RecordCounters>> = per_cpu_map(&mut self.ebpf, "counters")?;
        let mut accounts = BTreeMap::new();
        for class in KernelClass::ALL.iter().copied() {
            let values = counters.get(&(class as u32), 0).map_err(|error| map_error("counters", &error))?;
            let received = match class {
                KernelClass::Payload => payload.received(),
                KernelClass::Output => payload.printed.received,
                _ => store.received(class),
            };
            let mut account = RecordAccount { received, ..RecordAccount::default() };
            for Plain(counter) in values.iter() {
                account.made += counter.made;
                account.lost += counter.lost;
                account.inferred += counter.inferred;
                account.estimated += counter.estimated;
                account.looked_up += counter.looked_up;
            }
            account.lost += store.dropped(class);
            accounts.insert(class.class(), account);
        }
        let malformed = store.malformed() + payload.malformed();
        if malformed > 0 {
            let account = RecordAccount { made: malformed, lost: malformed, ..RecordAccount::default() };
            accounts.insert(RecordClass::Malformed, account);
        }
        Ok(accounts)
    }

    /// Returns what the kernel side saw and could not decode.
    fn undecoded(&mut self) -> Result<Vec<BlindPath>, ProbeError> {
        let failed = |error| map_error("undecoded", &error);
        let counts: PerCpuArray<_, u64> =
            PerCpuArray::try_from(map_of(&mut self.ebpf, "undecoded")?).map_err(failed)?;
        let mut paths = Vec::new();
        for (number, path) in (0..).zip(UNDECODED_PATHS) {
            let calls = counts.get(&number, 0).map_err(failed)?.iter().sum();
            if calls > 0 {
                paths.push(BlindPath { path: path.to_owned(), calls });
            }
        }
        Ok(paths)
    }

    /// Returns copies of the descriptors of the attached programs, for use in another thread.
    fn program_descriptors(&self) -> Result<Programs, ProbeError> {
        let copy = |name: &str, descriptor: &ProgramFd| {
            let copied = descriptor.as_fd().try_clone_to_owned();
            copied.map_err(|error| ProbeError::Load(format!("cannot keep hold of {name}: {error}")))
        };
        let traced =
            self.links.iter().map(|(name, hook, _)| Ok((Group::of(*hook), copy(name, self.descriptor_of(name)?)?)));
        let sampling = self.sampler.as_ref().and_then(|_| sampling::descriptor(&self.ebpf));
        traced.chain(sampling.map(|descriptor| Ok((Group::Samples, copy("the sampling clock", descriptor)?)))).collect()
    }

    fn descriptor_of(&self, name: &str) -> Result<&ProgramFd, ProbeError> {
        let program: &BtfTracePoint = self
            .ebpf
            .program(name)
            .ok_or_else(|| ProbeError::Load(format!("program {name} is gone")))?
            .try_into()
            .map_err(|error: ProgramError| ProbeError::Load(error.to_string()))?;
        program.fd().map_err(|error| ProbeError::Load(error.to_string()))
    }

    /// Returns the number of events that the kernel skipped because the same program was already running on that CPU.
    fn missed_events(&self, name: &str) -> Result<u64, ProbeError> {
        program_info(self.descriptor_of(name)?.as_fd().as_raw_fd())
            .map(|info| info.recursion_misses)
            .map_err(|error| ProbeError::Load(format!("cannot read the counters of {name}: {error}")))
    }
}

/// Returns the sum of an object that is to be loaded.
///
/// # Errors
/// When it is not the committed one: what the kernel runs would not be what its sources say.
fn recognised(object: &[u8], expected: &str) -> Result<String, ProbeError> {
    let found = sha256::of_bytes(object);
    match found == expected {
        true => Ok(found),
        false => Err(ProbeError::OtherObject { found, expected: expected.to_owned() }),
    }
}

/// Returns the types of the object that is loaded.
fn own_types() -> Result<Btf, ProbeError> {
    let object = Object::parse(activebench_ebpf::OBJECT).map_err(|error| ProbeError::Load(error.to_string()))?;
    object.btf.ok_or_else(|| ProbeError::Load("the object has no types".to_owned()))
}

/// Returns a loader that has no types of the kernel yet.
///
/// aya reads and parses all of them here, although others are set afterwards. It goes on without them if it cannot open
/// a file.
fn loader<'a>() -> Result<EbpfLoader<'a>, ProbeError> {
    let failed = |error: rustix::io::Errno| ProbeError::Load(format!("cannot limit its files: {error}"));
    let before = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: Some(0), ..before }).map_err(failed)?;
    let loader = EbpfLoader::new();
    setrlimit(Resource::Nofile, before).map_err(failed)?;
    Ok(loader)
}

/// Below this many bytes a reading never counts as too much, however small the ring.
const LEAST_BEHIND: usize = 64 << 10;

/// Gives the reading thread priority over those of the benchmark while it falls behind: a ring that is read too late
/// loses records. Not otherwise, because the scheduler then packs all other threads on the other CPUs.
struct Pace {
    ring_bytes: usize,
    hurried: bool,
}

impl Pace {
    /// Returns the bytes of one reading from which on the thread has fallen behind.
    fn too_much(&self) -> usize {
        (self.ring_bytes / 16).max(LEAST_BEHIND)
    }

    /// Adapts the priority to the bytes of one reading.
    fn adapt(&mut self, bytes: usize) {
        let wanted = bytes >= if self.hurried { self.too_much() / 4 } else { self.too_much() };
        if wanted != self.hurried {
            self.hurried = wanted;
            // `None` is the calling thread.
            match setpriority_process(None, if wanted { -20 } else { 0 }) {
                // Without the right to do it nothing changes.
                Ok(()) | Err(_) => {}
            }
        }
    }
}

/// Gives memory used for loading, mostly for the kernel's types, back to the system before the benchmark runs. It would
/// reduce the benchmark's page cache.
fn give_back() {
    #[cfg(target_env = "gnu")]
    // SAFETY: it takes a number and touches only memory that is free.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Returns `CLOCK_MONOTONIC` in nanoseconds.
pub(crate) fn monotonic_ns() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Returns the CPU time of this process.
pub(crate) fn own_cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_committed_object_is_loaded() {
        use activebench_ebpf::{OBJECT, OBJECT_SHA256};
        assert_eq!(recognised(OBJECT, OBJECT_SHA256).expect("the committed object"), OBJECT_SHA256);
        let mut changed = OBJECT.to_vec();
        changed[OBJECT.len() / 2] ^= 1;
        let error = recognised(&changed, OBJECT_SHA256).expect_err("another object").to_string();
        assert!(error.contains(OBJECT_SHA256) && error.contains("cargo xtask bpf"), "{error}");
    }
}
