//! How much the observation saw, and its cost.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::call::DeviceNumber;
use crate::event::RecordClass;
use crate::hook::Hook;
use crate::log::EventLog;
use crate::program_times::ProgramTimes;

/// The quality of the observation of one run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Coverage {
    /// The observer.
    pub backend: Backend,
    /// One entry per probe.
    pub probes: Vec<ProbeStatus>,
    /// I/O of the tree that no probe decodes, by path, with the number of calls.
    pub blind_paths: Vec<BlindPath>,
    /// I/O that the kernel programs saw and could not decode, as counted during the run; part of `blind_paths`, which
    /// every judgement computes anew. What moved that way is unknown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub undecoded: Vec<BlindPath>,
    /// One entry per record class: the account of its records.
    pub records: BTreeMap<RecordClass, RecordAccount>,
    /// How the event log was kept; `None` from an activebench that did not record it.
    #[serde(default)]
    pub log: Option<EventLog>,
    /// Cost of the observation, where it was measured.
    pub overhead: Overhead,
    /// BPF programs of others on hooks of the observation, listed just before the run;
    /// `None` when they could not be listed (or from an activebench that did not list them).
    #[serde(default)]
    pub other_tracers: Option<Vec<OtherTracer>>,
    /// The stack samples; `None` in runs of an activebench that did not take any.
    #[serde(default)]
    pub sampling: Option<Sampling>,
    /// The samples of what was written; `None` in runs of an activebench that did not take any.
    #[serde(default)]
    pub payload: Option<PayloadSampling>,
    /// Why the host's steal time is unknown for a part of the run; `None` when all of it is known.
    #[serde(default)]
    pub steal_unread: Option<String>,
    /// Executed files that are links to a benchmark of another name, each with the path that it led to at the
    /// end of the run.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub linked_programs: BTreeMap<String, String>,
    /// `true` if the records of CPU time distinguish threads that a signal or a debugger stopped; `false` from an
    /// activebench that did not record stops.
    #[serde(default)]
    pub records_stops: bool,
    /// How the run time of the kernel programs grew over the run; `None` when the kernel did not time them for us, when
    /// the run was too short, or from an activebench that did not record it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program_times: Option<ProgramTimes>,
    /// The SHA-256 of the kernel programs' object that was loaded, in lower-case hexadecimal; `None` when none was, or
    /// from an activebench that did not record it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel_object_sha256: Option<String>,
    /// What a tracer read beside the calls; `None` in runs that none followed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traced: Option<Traced>,
}

/// What a tracer ([`Backend::Ptrace`]) read beside the calls, and its cost.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traced {
    /// Stops of the tool at calls: two for most calls.
    pub stops: u64,
    /// Time from a stop at a call until the tool was let go on, of all such stops, and the least that noting took of the
    /// calls that did not stop: the least that tracing took. `None` from
    /// an activebench that did not measure it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped_ns: Option<u64>,
    /// Calls that did not stop, because a library in the tool noted them. Their records are the tool's word; 0 from an
    /// activebench that did not have it.
    #[serde(default)]
    pub noted_calls: u64,
    /// Reads of files of which it is not known how many bytes came from storage: the thread's `/proc/PID/task/TID/io`
    /// could not be read.
    pub storage_unread_calls: u64,
    /// What the tree read from storage in other ways than by the calls that are followed: by touching mapped files and
    /// programs, or by asking for data ahead. `None` if the account of a thread could not be read at its end.
    pub storage_reads_elsewhere: Option<Vec<ReadElsewhere>>,
    /// Accounts of processes that ended and whose `/proc/PID/io` could be read, of those that moved the most: at most
    /// 64.
    pub processes: Vec<ProcessAccount>,
    /// Counters of the devices below the files that were used; none from an activebench that did not read them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<DeviceCounters>,
    /// Accounts of CPU time of the threads, of those that lived the longest: at most 256. None where the kernel keeps no
    /// such accounts, or from an activebench that did not read them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub threads: Vec<ThreadAccount>,
    /// Time for which the tracing thread itself waited for a CPU: threads that had stopped waited for it meanwhile. `None`
    /// where it could not be read, or from an activebench that did not read it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waited_ns: Option<u64>,
}

/// What the kernel's account of a thread's time (`/proc/PID/task/TID/schedstat`) said while the thread was stopped.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadAccount {
    /// The thread.
    pub tid: u32,
    /// Readings in the order of time; of a long run a part of them.
    pub readings: Vec<ThreadReading>,
    /// Times, from 2 ms on, for which a signal (SIGSTOP, SIGTSTP) stopped it, in their order; `None` where there were too
    /// many to be kept.
    pub stops: Option<Vec<StoppedTime>>,
}

/// A time for which a signal stopped a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoppedTime {
    /// Its start.
    pub from_ns: u64,
    /// Its end.
    pub to_ns: u64,
}

/// One reading of a thread's account, and what the tracer made of all before it. Stored as its numbers in this order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "[u64; 5]", into = "[u64; 5]")]
pub struct ThreadReading {
    /// Time of the stop.
    pub at_ns: u64,
    /// Time on a CPU so far, in either mode.
    pub cpu_ns: u64,
    /// Time so far in which it could run and waited for a CPU.
    pub waited_ns: u64,
    /// The part of that which the tracer may have caused, at most: it woke the thread, and used a CPU itself.
    pub waited_for_tracer_ns: u64,
    /// Time so far outside of calls that stop, neither on a CPU nor waiting for one nor stopped, at least. Only times in
    /// which its process had no other thread and no request in flight.
    pub idle_ns: u64,
}

impl From<[u64; 5]> for ThreadReading {
    fn from([at_ns, cpu_ns, waited_ns, waited_for_tracer_ns, idle_ns]: [u64; 5]) -> Self {
        Self { at_ns, cpu_ns, waited_ns, waited_for_tracer_ns, idle_ns }
    }
}

impl From<ThreadReading> for [u64; 5] {
    fn from(reading: ThreadReading) -> Self {
        [reading.at_ns, reading.cpu_ns, reading.waited_ns, reading.waited_for_tracer_ns, reading.idle_ns]
    }
}

/// The counters of a block device with request queues, as the kernel keeps them for everybody
/// (`/sys/dev/block/MAJOR:MINOR/stat`). Devices that do not count all of their requests have none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceCounters {
    /// The device, or partition.
    pub device: DeviceNumber,
    /// `true` if it takes writes with FUA, which make data durable without a FLUSH; `None` if that is not known.
    pub takes_fua: Option<bool>,
    /// Readings in the order of time; of a long run a part of them.
    pub readings: Vec<DeviceReading>,
}

/// One reading of a device's counters. Each counts from the start of the machine on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceReading {
    /// Time just before the reading.
    pub from_ns: u64,
    /// Time just after it.
    pub to_ns: u64,
    /// Reads that completed.
    pub reads: u64,
    /// Bytes that they read.
    pub read_bytes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// FLUSH requests that completed, of a partition those of its disk; `None` before Linux 5.5.
    pub flushes: Option<u64>,
}

/// Bytes that a thread, or several, read from storage between two readings of their accounts, and by no call that is
/// followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadElsewhere {
    /// Time of the earlier reading.
    pub from_ns: u64,
    /// Time of the later one.
    pub to_ns: u64,
    /// Bytes.
    pub bytes: u64,
}

/// The I/O of one process without its children, by its calls and by `/proc/PID/io`. The first process of the tree is counted from its first
/// execution on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessAccount {
    /// The process.
    pub pid: u32,
    /// Bytes that its synchronous calls read, of files of any kind.
    pub called_read_bytes: u64,
    /// Bytes that they wrote.
    pub called_write_bytes: u64,
    /// `rchar`: the same as the kernel counted it.
    pub rchar: u64,
    /// `wchar`.
    pub wchar: u64,
    /// `read_bytes`: what came from storage.
    pub storage_read_bytes: u64,
    /// `write_bytes`: what was made dirty in the page cache, or written past it.
    pub storage_write_bytes: u64,
    /// `cancelled_write_bytes`: the part of that which was truncated before it was written.
    pub cancelled_write_bytes: u64,
}

/// The observer of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Backend {
    /// Kernel programs.
    Bpf,
    /// `ptrace`: it stops the tool at calls, attaches no hooks and sees no device.
    Ptrace,
    /// Nothing was observed.
    #[default]
    #[serde(alias = "")]
    None,
}

impl Backend {
    /// Returns its name in the manifest.
    pub const fn as_str(self) -> &'static str {
        match self {
            Backend::Bpf => "bpf",
            Backend::Ptrace => "ptrace",
            Backend::None => "none",
        }
    }
}

/// How stacks were sampled.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sampling {
    /// Requested sampling rate, per second per CPU; 0 when sampling was turned off.
    pub frequency_hz: u32,
    /// Why there are no samples.
    pub why_not: Option<String>,
    /// Samples that were kept without a stack, because there was no room for another distinct stack.
    pub stackless: u64,
    /// Processes whose mappings could not be read (mostly because they had ended): their code in user mode
    /// has no module.
    pub unmapped_processes: u64,
}

/// How the content of writes was sampled.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PayloadSampling {
    /// Least time between two samples on a CPU; 0 when there are none.
    pub period_ns: u64,
    /// Why there are no samples.
    pub why_not: Option<String>,
    /// One in so many of the samples that arrived was kept, at random over the whole run: the longer
    /// the run, the fewer. 1 when all were kept.
    pub one_in: u32,
    /// Bytes of the samples that were kept unchanged, because the user asked for it.
    pub kept_bytes: u64,
}

/// A BPF program of another process on a hook that I/O passes. It slows down what is measured.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct OtherTracer {
    /// How and where it is attached: `raw_tracepoint/sys_enter` (BTF tracepoints included),
    /// `tracepoint/block_rq_complete`.
    pub hook: String,
    /// The program's name, which the kernel cuts at 15 bytes; empty when it has none.
    pub program: String,
    /// The kernel's number of the program.
    pub id: u32,
    /// The process that holds it; `None` when it is unknown (pinned, or its owner is not visible).
    pub pid: Option<u32>,
    /// That process's name.
    pub comm: Option<String>,
}

/// A probe and its state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProbeStatus {
    /// Kernel hook.
    pub hook: Hook,
    /// True if it was attached before the tool's first instruction.
    pub attached: bool,
    /// Why it was not.
    pub why_not: Option<String>,
    /// Events that the kernel skipped because the same program was already running on that CPU.
    pub missed: u64,
}

/// A path of I/O that was used but is not decoded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlindPath {
    /// `io_uring`, `libaio`, `mmap`, ...
    pub path: String,
    /// Calls seen that lead into it.
    pub calls: u64,
}

impl BlindPath {
    /// The path of requests that calls submit to an io_uring.
    pub const URING: &'static str = "io_uring";
    /// That of its rings, in which requests can lie without a call.
    pub const URING_RINGS: &'static str = "io_uring rings, whose requests need no call";

    /// Returns `true` for a path that kernel programs decode, and a tracer does not.
    pub fn is_decoded_by_kernel_programs(&self) -> bool {
        [Self::URING, Self::URING_RINGS].contains(&self.path.as_str())
    }
}

/// The account of one class of records. The observation is incomplete unless `made = received + lost`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordAccount {
    /// Records counted in the kernel when they were made.
    pub made: u64,
    /// Records that arrived in user space, in the log or (past its cut) only in the totals.
    pub received: u64,
    /// Records that could not be delivered, as counted in the kernel, or that activebench dropped for lack of room.
    pub lost: u64,
    /// Part of `made`: events that no hook saw, but that later events prove.
    #[serde(default)]
    pub inferred: u64,
    /// Part of `made`: calls whose start is an estimate, because only one in sixteen entries of fast calls in quick
    /// succession is timed.
    #[serde(default)]
    pub estimated: u64,
    /// Entries and exits of calls at which the kernel stack did not identify the thread, so that the slow
    /// path found it: a few at the start of each thread. 0 in runs of an activebench that did not count them.
    #[serde(default)]
    pub looked_up: u64,
}

impl RecordAccount {
    /// Returns `true` when every record that was made has arrived.
    pub fn is_whole(self) -> bool {
        self.lost == 0 && self.made == self.received
    }
}

/// The cost of the observation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Overhead {
    /// CPU time of activebench itself while the child ran; `None` when not measured.
    pub observer_cpu_ns: Option<u64>,
    /// Run time of the kernel programs, added over all CPUs, while the child ran; `None` when
    /// not measured.
    #[serde(default)]
    pub bpf_run_ns: Option<u64>,
    /// Wall time of the child.
    pub run_ns: u64,
}
