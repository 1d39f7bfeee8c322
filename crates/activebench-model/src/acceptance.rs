//! The result of an acceptance test: what both parties agreed on, what was measured, and the outcome.
//!
//! `activebench-detect` reads the file that they agreed on. The types here are what a report renders.

use serde::{Deserialize, Serialize};

use crate::claim::Metric;
use crate::series::Steadiness;
use crate::units::{Quantity, significant};
use crate::verdict::{ClaimVerdict, RunVerdict};

/// The acceptance file that a run was recorded for; part of the run's choices.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AcceptanceMark {
    /// Its name without folders.
    pub file: String,
    /// SHA-256 of its bytes, in hexadecimal.
    pub sha256: String,
    /// The benchmark of that file that the run belongs to.
    pub benchmark: String,
}

/// The outcome for a limit, or for the whole acceptance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AcceptanceOutcome {
    /// The figure meets the limit; with a guard band, by more than the uncertainty.
    Pass,
    /// The figure meets the limit, but by at most the uncertainty.
    ConditionalPass,
    /// The figure misses the limit by at most the uncertainty.
    ConditionalFail,
    /// The evidence does not suffice, or an agreed condition does not hold.
    NotJudged,
    /// The figure misses the limit; with a guard band, by more than the uncertainty.
    Fail,
}

impl AcceptanceOutcome {
    /// As written in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::ConditionalPass => "conditional-pass",
            Self::ConditionalFail => "conditional-fail",
            Self::NotJudged => "not-judged",
            Self::Fail => "fail",
        }
    }

    /// As a person reads it.
    pub fn words(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::ConditionalPass => "conditional pass",
            Self::ConditionalFail => "conditional fail",
            Self::NotJudged => "not judged",
            Self::Fail => "fail",
        }
    }
}

/// The good side of a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bound {
    /// The limit and above it.
    AtLeast,
    /// The limit and below it.
    AtMost,
}

impl Bound {
    /// `at least`.
    pub fn words(self) -> &'static str {
        match self {
            Bound::AtLeast => "at least",
            Bound::AtMost => "at most",
        }
    }
}

/// The rule that decides a figure near its limit, ILAC-G8:09/2019.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DecisionRule {
    /// The uncertainty is ignored (4.2.1): at the limit up to half of the decisions are wrong.
    Simple,
    /// A guard band as wide as the expanded uncertainty on both sides of the limit (4.2.3).
    GuardBand,
}

impl DecisionRule {
    /// As written in the file.
    pub fn as_str(self) -> &'static str {
        match self {
            DecisionRule::Simple => "simple",
            DecisionRule::GuardBand => "guard-band",
        }
    }
}

/// A judged acceptance: the value that every report of it renders.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Acceptance {
    /// Version of activebench that judged.
    pub activebench: String,
    /// The file that was agreed on.
    pub file: AgreedFile,
    /// Who agreed.
    pub parties: Parties,
    /// The tested target.
    pub target: AcceptedTarget,
    /// The rule for figures near a limit.
    pub rule: DecisionRule,
    /// The same rule in one or two sentences, with the consequence of a conditional outcome.
    pub rule_words: String,
    /// The suite, in the order of the file.
    pub benchmarks: Vec<AcceptedBenchmark>,
    /// The limits, in the order of the file.
    pub limits: Vec<JudgedLimit>,
    /// Further remarks for the reader, one sentence each: runs of another file, runs that belong to no benchmark.
    pub notes: Vec<String>,
    /// Outcome of the whole acceptance.
    pub outcome: AcceptanceOutcome,
    /// Reason for the outcome, as one lower-case fragment.
    pub because: String,
    /// Exit code of activebench.
    pub exit_code: i32,
    /// The command that judges the same again.
    pub recheck: Vec<String>,
}

/// The acceptance file as it was used.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgreedFile {
    /// As the user named it.
    pub name: String,
    /// SHA-256 of its bytes, in hexadecimal.
    pub sha256: String,
}

/// Who agreed on the file, in their own words.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parties {
    /// Who decides on the device.
    pub buyer: String,
    /// Who offers it.
    pub vendor: String,
    /// Contract, offer or order; `None` when the file names none.
    pub reference: Option<String>,
    /// When they agreed: `2026-11-22`.
    pub date: Option<String>,
}

/// The tested target.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AcceptedTarget {
    /// The directory or the device node, as in the file.
    pub path: String,
    /// True if it is a device that may be written to.
    pub destroy: bool,
    /// File system and its options in the recorded runs, each once.
    pub file_systems: Vec<String>,
    /// The devices below it in the recorded runs, each once.
    pub devices: Vec<DeviceIdentity>,
    /// Kernel, architecture, CPUs and memory of the recorded runs, each once.
    pub hosts: Vec<String>,
}

/// The identity of a device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceIdentity {
    /// The kernel's name: `nvme0n1`.
    pub name: String,
    /// `nvme`, `scsi`, `virtio`, ...
    pub kind: String,
    /// Model; `None` where the kernel does not report it.
    pub model: Option<String>,
    /// Serial number; `None` where the kernel does not report it.
    pub serial: Option<String>,
    /// Firmware revision; `None` where the kernel does not report it.
    pub firmware: Option<String>,
    /// The links that its data passes: `PCIe 8.0 GT/s x4`. Empty where they are unknown.
    pub links: Vec<String>,
    /// Its size.
    pub size_bytes: Option<u64>,
}

/// One benchmark of the suite, with its recorded runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AcceptedBenchmark {
    /// Its name in the file.
    pub name: String,
    /// The command line in the file, with its placeholders.
    pub command: Vec<String>,
    /// The command line of the first recorded run, with the placeholders replaced; empty without a run.
    pub resolved: Vec<String>,
    /// The planned number of runs, in words: `5 runs`, `until ...`.
    pub planned: String,
    /// The runs, in their order.
    pub runs: Vec<AcceptedRun>,
    /// Why there are fewer runs than planned: lower-case fragments.
    pub incomplete: Vec<String>,
    /// The conditions for judging its figures.
    pub conditions: Vec<Condition>,
    /// How steady the first rate of each phase with a limit was. Empty for too few runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steadiness: Vec<Steadiness>,
}

/// A recorded run that is evidence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AcceptedRun {
    /// The run directory, as the user would name it.
    pub directory: String,
    /// SHA-256 of its `run.json`, which contains the sums of all its other files.
    pub run_json_sha256: String,
    /// Start of the run: UTC, seconds since the epoch.
    pub started_unix_s: i64,
    /// Verdict of the run itself.
    pub verdict: RunVerdict,
    /// The acceptance file that it was recorded for; `None` when it was not recorded for one.
    pub recorded_for_sha256: Option<String>,
}

/// State of an agreed condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ConditionState {
    /// The condition holds, or does not apply.
    Met,
    /// It does not hold.
    NotMet,
    /// The evidence does not show it.
    NotKnown,
    /// The file does not require it.
    NotAsked,
}

impl ConditionState {
    /// As a person reads it.
    pub fn words(self) -> &'static str {
        match self {
            Self::Met => "met",
            Self::NotMet => "not met",
            Self::NotKnown => "not known",
            Self::NotAsked => "not asked for",
        }
    }
}

/// One condition that must hold before the figures of a benchmark are judged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Condition {
    /// Its name in the file: `foreign_io_at_most`.
    pub name: String,
    /// The requirement: `foreign I/O at most 2 %`.
    pub asks: String,
    /// State of the condition.
    pub state: ConditionState,
    /// The evidence for the state, one fragment each, with the run and the phase.
    pub evidence: Vec<String>,
    /// The largest observed value, for conditions on a value.
    pub observed: Option<Quantity>,
    /// Why it is not met or not known, as one plain sentence without a capital; `None` if it is met or not required.
    pub why: Option<String>,
}

/// A limit of the agreement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgreedLimit {
    /// The benchmark.
    pub benchmark: String,
    /// [`crate::phase::Phase::id`].
    pub phase: String,
    /// Kind of number.
    pub metric: Metric,
    /// Good side of the limit.
    pub bound: Bound,
    /// The limit.
    pub limit: Quantity,
    /// As the parties wrote it: `200 MB/s`.
    pub as_written: String,
    /// Unit in which they wrote it.
    pub unit: WrittenUnit,
}

/// A limit and its outcome.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JudgedLimit {
    /// The limit.
    #[serde(flatten)]
    pub agreed: AgreedLimit,
    /// The figure of each run, in the order of the runs.
    pub figures: Vec<FigureOfRun>,
    /// Median of the honest figures; `None` when a run has none.
    pub honest: Option<Quantity>,
    /// Uncertainty of the median; `None` when it is unknown.
    pub uncertainty: Option<Uncertainty>,
    /// Width of the guard band; 0 under simple acceptance. `None` when it is unknown.
    pub guard_band: Option<Quantity>,
    /// Distance of the figure from the limit: positive on the good side, negative on the bad side.
    pub margin: Option<Quantity>,
    /// Outcome for this limit.
    pub outcome: AcceptanceOutcome,
    /// Reason for the outcome, as one lower-case fragment.
    pub because: String,
    /// What a reader must know of a figure that is judged all the same, such as a queue depth that was not reached:
    /// lower-case fragments.
    pub warnings: Vec<String>,
}

/// A unit as the parties wrote it. Reports show figures in this unit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WrittenUnit {
    /// `MB/s`.
    pub name: String,
    /// Size of this unit in the normalised unit of the limit.
    pub factor: f64,
}

impl WrittenUnit {
    /// Formats a quantity in this unit, with at least three significant digits however small it is.
    pub fn show(&self, quantity: Quantity) -> String {
        let value = quantity.value / self.factor;
        let number = match value.abs() {
            m if m > 0.0 && m < 0.001 => format!("{value:.*}", (3.0 - m.log10().floor()) as usize),
            _ => significant(value),
        };
        if self.name.is_empty() { number } else { format!("{number} {}", self.name) }
    }
}

/// A figure of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FigureOfRun {
    /// The run's directory.
    pub run: String,
    /// The figure as the tool printed it; `None` when it did not.
    pub claimed: Option<Quantity>,
    /// The honest figure. Also that of a rate whose queue depth was not reached: the limit then has a warning.
    pub honest: Option<Quantity>,
    /// Why there is no honest figure; set exactly when there is none.
    pub no_honest: Option<String>,
    /// Verdict on the tool's figure.
    pub verdict: Option<ClaimVerdict>,
    /// Half a step of the printed number.
    pub resolution: Option<Quantity>,
}

/// The expanded uncertainty of a median (coverage at least 95 %), and its components.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Uncertainty {
    /// Uncertainty from the spread of the runs.
    pub statistical: Quantity,
    /// How it was computed: `interval of order statistics, 96.88 %, of 6 runs`.
    pub statistical_basis: String,
    /// Uncertainty from the resolution of the printed numbers.
    pub resolution: Quantity,
    /// Tolerance that the parties agreed to add.
    pub tolerance: Quantity,
    /// Root of the sum of squares of all components.
    pub expanded: Quantity,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_figure_in_a_large_unit_is_not_nothing() {
        let unit = WrittenUnit { name: "GB/s".to_owned(), factor: 1e9 };
        for (value, expected) in [
            (0.0, "0 GB/s"),
            (4e3, "0.000004000 GB/s"),
            (-4e3, "-0.000004000 GB/s"),
            (5.5e6, "0.00550 GB/s"),
            (2e9, "2 GB/s"),
        ] {
            assert_eq!(unit.show(Quantity::bytes_per_sec(value)), expected);
        }
    }
}
