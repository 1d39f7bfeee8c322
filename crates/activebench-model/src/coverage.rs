//! How much the observation saw, and what it cost.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::log::EventLog;

/// The quality of the observation of one run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Coverage {
    /// `bpf`, `ptrace` or `none`.
    pub backend: String,
    /// One entry a probe.
    pub probes: Vec<ProbeStatus>,
    /// I/O that the tree did and no probe decodes, by name, with how often.
    pub blind_paths: Vec<BlindPath>,
    /// One entry a record class: the account of its records.
    pub records: BTreeMap<String, RecordAccount>,
    /// How the event log was kept; `None` by an activebench that did not say.
    #[serde(default)]
    pub log: Option<EventLog>,
    /// Cost of the observation, where it was measured.
    pub overhead: Overhead,
    /// BPF programs of others on hooks of the observation, looked for just before the run;
    /// `None` when they could not be listed (or by an activebench that did not look).
    #[serde(default)]
    pub other_tracers: Option<Vec<OtherTracer>>,
    /// The stack samples; `None` in runs of an activebench that took none.
    #[serde(default)]
    pub sampling: Option<Sampling>,
    /// The samples of what was written; `None` in runs of an activebench that took none.
    #[serde(default)]
    pub payload: Option<PayloadSampling>,
    /// Why the host's steal time is not known for the whole run; `None` when it is.
    #[serde(default)]
    pub steal_unread: Option<String>,
    /// Executed files that are links to a benchmark of another name, each with the path that it led to when the run
    /// ended.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub linked_programs: BTreeMap<String, String>,
}

/// How stacks were sampled.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sampling {
    /// Samples a second and CPU that were asked for; 0 when sampling was turned off.
    pub frequency_hz: u32,
    /// Why there are no samples.
    pub why_not: Option<String>,
    /// Samples that were kept without a stack: there was no room for another distinct one.
    pub stackless: u64,
    /// Processes whose mappings could not be read (mostly: that had ended): their code in user mode
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
    /// Of the samples that came, one in so many was kept, at random over the whole run: the longer
    /// the run, the fewer. 1 for all.
    pub one_in: u32,
    /// Bytes of them that were kept as they are, because the user asked for it.
    pub kept_bytes: u64,
}

/// A BPF program of somebody else on a hook that I/O passes: it slows what is measured.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct OtherTracer {
    /// How and where it is attached: `raw_tracepoint/sys_enter` (BTF tracepoints included),
    /// `tracepoint/block_rq_complete`.
    pub hook: String,
    /// The program's name, which the kernel cuts at 15 bytes; empty when it has none.
    pub program: String,
    /// The kernel's number of the program.
    pub id: u32,
    /// The process that holds it; `None` when it is not known (pinned, or its owner is not visible).
    pub pid: Option<u32>,
    /// That process's name.
    pub comm: Option<String>,
}

/// A probe and whether it was attached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProbeStatus {
    /// Kernel hook: `tp_btf/sys_enter`.
    pub hook: String,
    /// Whether it was attached before the tool's first instruction.
    pub attached: bool,
    /// Why it was not.
    pub why_not: Option<String>,
    /// Events that the kernel skipped because the same program was already running on that CPU.
    pub missed: u64,
}

/// A path of I/O that was used and is not decoded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlindPath {
    /// `io_uring`, `libaio`, `mmap`, ...
    pub path: String,
    /// Calls seen that lead into it.
    pub calls: u64,
}

/// The account of one class of records: `made = received + lost`, or the observation is short.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordAccount {
    /// Counted in the kernel when the record was made.
    pub made: u64,
    /// Arrived in user space, in the log or (past its cut) only in the totals.
    pub received: u64,
    /// Counted in the kernel when it could not be delivered, or dropped by us for want of room.
    pub lost: u64,
    /// Of those made: events that no hook saw and that later ones prove to have happened.
    #[serde(default)]
    pub inferred: u64,
    /// Of those made: calls whose start is an estimate, because of fast calls in quick
    /// succession the entry of one in sixteen is timed.
    #[serde(default)]
    pub estimated: u64,
    /// Entries and exits of calls at which the thread was not known by where its registers lay, and was
    /// found the longer way: a few at the start of each thread. 0 in runs of an activebench that did not count.
    #[serde(default)]
    pub looked_up: u64,
}

impl RecordAccount {
    /// Whether every record that was made has arrived.
    pub fn is_whole(self) -> bool {
        self.lost == 0 && self.made == self.received
    }
}

/// What the observation cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Overhead {
    /// Processor time of our own process while the child ran; `None` when not measured.
    pub observer_cpu_ns: Option<u64>,
    /// Run time of the kernel programs, all processors added up, while the child ran; `None` when
    /// not measured.
    #[serde(default)]
    pub bpf_run_ns: Option<u64>,
    /// Wall time of the child.
    pub run_ns: u64,
}
