//! A run replayed by an independent engine: what was claimed, what was observed, and what the replay reached.

use std::ops::Add;

use serde::{Deserialize, Serialize};

use crate::claim::Metric;
use crate::units::Quantity;
use crate::verdict::{ClaimVerdict, RunVerdict};

/// A recorded run beside its replays.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Replication {
    /// Version of activebench that replayed.
    pub activebench: String,
    /// The recorded run, as the user would name it.
    pub run: String,
    /// Its verdict.
    pub verdict: RunVerdict,
    /// Its tool with the version, where it stated one. Raw text.
    pub tool: String,
    /// Its command. Raw text.
    pub command: Vec<String>,
    /// What the recorded files lay on. Raw text.
    pub recorded_on: Vec<String>,
    /// The folder or device that was replayed on.
    pub target: String,
    /// What that lies on; empty where no replay ran. Raw text.
    pub replayed_on: Vec<String>,
    /// The engine with its version: `fio-3.33`.
    pub engine: String,
    /// How often each pass should be replayed.
    pub planned_runs: u32,
    /// How far a rate may lie from the observed one and still agree with it; a share of the observed one.
    pub tolerance_ratio: f64,
    /// The passes in the order of the run.
    pub passes: Vec<ReplicatedPass>,
    /// What the record lacks, whatever is replayed: a sentence each. Raw text.
    pub gaps: Vec<String>,
    /// Why the replays are fewer than planned; empty when they are not.
    pub incomplete: Vec<String>,
    /// What it comes to.
    pub outcome: ReplicationOutcome,
    /// Why.
    pub because: String,
    /// The exit code that goes with the outcome.
    pub exit_code: i32,
}

/// What a replication comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReplicationOutcome {
    /// Every pass was replayed operation by operation, and every rate agrees with the observed one.
    Replicated,
    /// Every pass was replayed operation by operation, and a rate does not agree.
    Differs,
    /// A pass was not replayed, or not as recorded: nothing follows from it.
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
    /// From 1, in the order of the run.
    pub number: u32,
    /// [`crate::phase::Phase::id`] of its phases.
    pub phases: Vec<String>,
    /// What it did on its files, as recorded.
    pub recorded: Moved,
    /// What it found of its files in the page cache.
    pub cache: CacheState,
    /// Bytes of its files that the device read while it ran; `None` where that is not known.
    pub device_read_bytes: Option<u64>,
    /// How it was replayed: `1 task, psync, depth 1, buffered`. Empty where it was not.
    pub replayed_as: String,
    /// Why it was not replayed; `None` where it was.
    pub not_replayed: Option<String>,
    /// Data that it moved and that is not in the replay: a sentence each; anything here makes the outcome incomplete.
    /// Raw text.
    pub left_out: Vec<String>,
    /// What differs from the recording by design, and what was taken for granted: a sentence each. Raw text.
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
    /// Their bytes.
    pub read_bytes: u64,
    /// Writes that moved data.
    pub writes: u64,
    /// Their bytes.
    pub write_bytes: u64,
    /// fsync and fdatasync, those after the clock that made the data durable included.
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

/// What a pass finds of its files in the page cache.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "state")]
pub enum CacheState {
    /// It passes the cache by (`O_DIRECT`).
    PassedBy,
    /// Nothing, or next to nothing, of what it reads.
    Cold,
    /// All, or nearly all.
    Warm,
    /// A part.
    Mixed {
        /// The share of the distinct bytes read that was there, from 0 to 1.
        resident_ratio: f64,
    },
    /// It reads nothing, neither by calls nor from the device.
    WritesOnly,
    /// Not known.
    Unknown {
        /// Why: a lower-case fragment.
        why: String,
    },
}

impl CacheState {
    /// For a person. Raw text.
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
    /// What it did on its files, as observed.
    pub moved: Moved,
    /// In what it differs from the recording: operation, offset or length on a file. `None` where every operation of
    /// each file is the same.
    pub differs: Option<String>,
    /// Why its observation is not whole; empty when it is.
    pub incomplete: Vec<String>,
    /// What it found of its files in the page cache.
    pub cache: CacheState,
    /// Whether that is what the recorded pass found.
    pub same_cache: bool,
    /// Bytes of its files that the device read; `None` where that is not known.
    pub device_read_bytes: Option<u64>,
    /// From its first operation to the end of the last that the recorded clock covered, in ns. `None` where nothing
    /// was seen.
    pub clock_ns: Option<u64>,
    /// To the end of the syncs after the clock, in ns; `None` where there are none.
    pub durable_ns: Option<u64>,
    /// What the engine itself printed as the rate of all its jobs together; `None` where it printed none.
    pub engine_claimed: Option<Quantity>,
    /// Claims of the engine on bytes and operations that its observation refutes: their text. Raw text.
    pub engine_refuted: Vec<String>,
}

/// What a rate is taken over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RateOver {
    /// The time that the tool's clock covered.
    ToolClock,
    /// From the start of that to the end of the sync that made the data durable.
    UntilDurable,
}

impl RateOver {
    /// For a person.
    pub fn words(self) -> &'static str {
        match self {
            RateOver::ToolClock => "by the tool's clock",
            RateOver::UntilDurable => "until durable",
        }
    }
}

/// A rate three times: claimed, observed and replicated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReplicatedFigure {
    /// [`crate::phase::Phase::id`].
    pub phase: String,
    /// What kind of number was claimed; that of the other two where nothing was.
    pub metric: Metric,
    /// What the rates are taken over.
    pub over: RateOver,
    /// As the tool printed it, normalised; `None` where it printed none.
    pub claimed: Option<Quantity>,
    /// The verdict on the claim.
    pub verdict: Option<ClaimVerdict>,
    /// Rebuilt from the recording; `None` where it could not be.
    pub observed: Option<Quantity>,
    /// The honest figure of the recording, see [`crate::verdict::JudgedClaim::honest`].
    pub honest: Option<Quantity>,
    /// Of the replays that did what was recorded; `None` where there is none.
    pub replicated: Option<Replicated>,
    /// Why there is none; set exactly when there is none.
    pub no_replicated: Option<String>,
    /// Median of the replays over the claimed figure.
    pub of_claimed_ratio: Option<f64>,
    /// Median of the replays over the observed figure.
    pub of_observed_ratio: Option<f64>,
    /// Whether the observed figure lies between the least and the most of the replays, or no farther from their
    /// median than the tolerance. `None` where one of both is missing.
    pub agrees: Option<bool>,
}

/// The rate of the replays of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Replicated {
    /// The middle one, of an even number the mean of both.
    pub median: Quantity,
    /// The smallest.
    pub least: Quantity,
    /// The largest.
    pub most: Quantity,
    /// How many replays.
    pub runs: u32,
}
