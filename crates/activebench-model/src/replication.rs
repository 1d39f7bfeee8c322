//! A run replayed by an independent engine: what was claimed, what was observed, and what the replay reached.

use std::ops::Add;

use serde::{Deserialize, Serialize};

use crate::claim::Metric;
use crate::units::Quantity;
use crate::verdict::{ClaimVerdict, RunVerdict};

/// A recorded run and its replays.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Replication {
    /// Version of activebench that replayed.
    pub activebench: String,
    /// The recorded run, as the user would name it.
    pub run: String,
    /// Its verdict.
    pub verdict: RunVerdict,
    /// Its tool with the version, where it printed one. Raw text.
    pub tool: String,
    /// Its command. Raw text.
    pub command: Vec<String>,
    /// The storage of the recorded files. Raw text.
    pub recorded_on: Vec<String>,
    /// The folder or device of the replays.
    pub target: String,
    /// The storage of the target; empty where no replay ran. Raw text.
    pub replayed_on: Vec<String>,
    /// The engine with its version: `fio-3.33`.
    pub engine: String,
    /// Requested number of replays of each pass.
    pub planned_runs: u32,
    /// Largest difference of a rate from the observed one at which both agree; a share of the observed one.
    pub tolerance_ratio: f64,
    /// The passes in the order of the run.
    pub passes: Vec<ReplicatedPass>,
    /// Gaps of the record that affect every replay: one sentence each. Raw text.
    pub gaps: Vec<String>,
    /// Why there are fewer replays than planned; empty when there are not.
    pub incomplete: Vec<String>,
    /// Outcome of the replication.
    pub outcome: ReplicationOutcome,
    /// Reason for the outcome.
    pub because: String,
    /// Exit code for the outcome.
    pub exit_code: i32,
}

/// The outcome of a replication.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReplicationOutcome {
    /// Every pass was replayed operation by operation, and every rate agrees with the observed one.
    Replicated,
    /// Every pass was replayed operation by operation, and at least one rate does not agree.
    Differs,
    /// A pass was not replayed, or not as recorded: no conclusion is possible.
    Incomplete,
}

impl ReplicationOutcome {
    /// As written in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            ReplicationOutcome::Replicated => "replicated",
            ReplicationOutcome::Differs => "differs",
            ReplicationOutcome::Incomplete => "incomplete",
        }
    }
}

/// One pass of the tool, or several that ran at once, and its replays.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReplicatedPass {
    /// Number of the pass, from 1, in the order of the run.
    pub number: u32,
    /// [`crate::phase::Phase::id`] of its phases.
    pub phases: Vec<String>,
    /// Its operations on its files, as recorded.
    pub recorded: Moved,
    /// State of its files in the page cache.
    pub cache: CacheState,
    /// Bytes of its files that the device read while it ran; `None` where unknown.
    pub device_read_bytes: Option<u64>,
    /// How it was replayed: `1 task, psync, depth 1, buffered`. Empty where it was not.
    pub replayed_as: String,
    /// Why it was not replayed; `None` where it was.
    pub not_replayed: Option<String>,
    /// Data that it moved and that is not in the replay: one sentence each. Any entry makes the outcome incomplete.
    /// Raw text.
    pub left_out: Vec<String>,
    /// Differences from the recording by design, and assumptions: one sentence each. Raw text.
    pub notes: Vec<String>,
    /// Its replays, in order.
    pub replays: Vec<Replay>,
    /// Its figures.
    pub figures: Vec<ReplicatedFigure>,
}

/// Reads, writes and syncs on the files of a pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moved {
    /// Reads that moved data.
    pub reads: u64,
    /// Bytes of these reads.
    pub read_bytes: u64,
    /// Writes that moved data.
    pub writes: u64,
    /// Bytes of these writes.
    pub write_bytes: u64,
    /// Calls of fsync and fdatasync, including those after the clock that made the data durable.
    pub syncs: u64,
}

impl Add for Moved {
    type Output = Moved;

    fn add(self, other: Moved) -> Moved {
        Moved {
            reads: self.reads + other.reads,
            read_bytes: self.read_bytes + other.read_bytes,
            writes: self.writes + other.writes,
            write_bytes: self.write_bytes + other.write_bytes,
            syncs: self.syncs + other.syncs,
        }
    }
}

/// The state of a pass's files in the page cache.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "state")]
pub enum CacheState {
    /// The pass bypasses the page cache (`O_DIRECT`).
    PassedBy,
    /// Nothing, or almost nothing, of what it reads is in the page cache.
    Cold,
    /// All, or nearly all, of what it reads is in the page cache.
    Warm,
    /// A part of what it reads is in the page cache.
    Mixed {
        /// Share of the distinct bytes read that was in the page cache, from 0 to 1.
        resident_ratio: f64,
    },
    /// It does not read, neither by calls nor from the device.
    WritesOnly,
    /// Unknown.
    Unknown {
        /// The reason, as a lower-case fragment.
        why: String,
    },
}

impl CacheState {
    /// Returns words for a person. Raw text.
    pub fn words(&self) -> String {
        match self {
            CacheState::PassedBy => "passed by".to_owned(),
            CacheState::Cold => "cold".to_owned(),
            CacheState::Warm => "warm".to_owned(),
            CacheState::Mixed { resident_ratio } => format!("{} there", Quantity::ratio(*resident_ratio)),
            CacheState::WritesOnly => "only written".to_owned(),
            CacheState::Unknown { why } => format!("not known: {why}"),
        }
    }
}

/// One replay of a pass, itself observed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Replay {
    /// Its run directory below that of the replication.
    pub directory: String,
    /// Its operations on its files, as observed.
    pub moved: Moved,
    /// Difference from the recording: operation, offset or length on a file. `None` where every operation of
    /// each file is the same.
    pub differs: Option<String>,
    /// Why its observation is not complete; empty when it is.
    pub incomplete: Vec<String>,
    /// State of its files in the page cache.
    pub cache: CacheState,
    /// True if the recorded pass found the same state.
    pub same_cache: bool,
    /// Bytes of its files that the device read; `None` where unknown.
    pub device_read_bytes: Option<u64>,
    /// Time from its first operation to the end of the last one that the recorded clock covered, in ns. `None` where
    /// nothing was seen.
    pub clock_ns: Option<u64>,
    /// Time from its first operation to the end of the syncs after the clock, in ns; `None` without such syncs.
    pub durable_ns: Option<u64>,
    /// Rate of all its jobs together as printed by the engine; `None` where it did not print one.
    pub engine_claimed: Option<Quantity>,
    /// Text of the engine's claims on bytes and operations that its observation refutes. Raw text.
    pub engine_refuted: Vec<String>,
}

/// The time by which a rate is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RateOver {
    /// The time that the tool's clock covered.
    ToolClock,
    /// From the start of the tool's clock to the end of the sync that made the data durable.
    UntilDurable,
}

impl RateOver {
    /// Returns words for a person.
    pub fn words(self) -> &'static str {
        match self {
            RateOver::ToolClock => "by the tool's clock",
            RateOver::UntilDurable => "until durable",
        }
    }
}

/// A rate in three versions: claimed, observed and replicated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReplicatedFigure {
    /// [`crate::phase::Phase::id`].
    pub phase: String,
    /// Kind of the claimed number; of the other two numbers where nothing was claimed.
    pub metric: Metric,
    /// Time by which the rates are divided.
    pub over: RateOver,
    /// The number that the tool printed, normalised; `None` where it did not print one.
    pub claimed: Option<Quantity>,
    /// The verdict on the claim.
    pub verdict: Option<ClaimVerdict>,
    /// The rate computed from the recording; `None` where this was not possible.
    pub observed: Option<Quantity>,
    /// The honest figure of the recording, see [`crate::verdict::JudgedClaim::honest`].
    pub honest: Option<Quantity>,
    /// The rate of the replays that repeated the recording; `None` where there are none.
    pub replicated: Option<Replicated>,
    /// Why `replicated` is missing; set exactly when it is.
    pub no_replicated: Option<String>,
    /// Median of the replays / the claimed figure.
    pub of_claimed_ratio: Option<f64>,
    /// Median of the replays / the observed figure.
    pub of_observed_ratio: Option<f64>,
    /// True if the observed figure is between the least and the most of the replays, or no farther from their
    /// median than the tolerance. `None` where the observed or the replicated rate is missing.
    pub agrees: Option<bool>,
}

/// The rate of the replays of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Replicated {
    /// The middle value; for an even number the mean of the two middle values.
    pub median: Quantity,
    /// The smallest.
    pub least: Quantity,
    /// The largest.
    pub most: Quantity,
    /// Number of replays.
    pub runs: u32,
}
