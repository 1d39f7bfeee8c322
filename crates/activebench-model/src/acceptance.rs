//! An acceptance test judged: what both parties agreed on, what was measured, and what follows.
//!
//! The file that they agreed on is read in `activebench-detect`; here is what a report renders.

use serde::{Deserialize, Serialize};

use crate::claim::Metric;
use crate::units::{Quantity, significant};
use crate::verdict::{ClaimVerdict, RunVerdict};

/// The acceptance file that a run was recorded for; part of the run's choices.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AcceptanceMark {
    /// Its name without folders.
    pub file: String,
    /// SHA-256 of its bytes, in hexadecimal.
    pub sha256: String,
    /// Which of its benchmarks the run is one of.
    pub benchmark: String,
}

/// What is said of a limit, or of the whole acceptance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AcceptanceOutcome {
    /// The figure keeps the limit; under a guard band by more than the uncertainty.
    Pass,
    /// It keeps the limit by no more than the uncertainty.
    ConditionalPass,
    /// It misses the limit by no more than the uncertainty.
    ConditionalFail,
    /// The evidence does not suffice, or a condition that was agreed on does not hold.
    NotJudged,
    /// The figure misses the limit; under a guard band by more than the uncertainty.
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

/// Which side of a limit is the good one.
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

/// How a figure near its limit is decided, ILAC-G8:09/2019.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DecisionRule {
    /// The uncertainty is not looked at (4.2.1): at the limit up to half of the decisions are wrong.
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

/// An acceptance judged: the value that every report of it renders.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Acceptance {
    /// Version of activebench that judged.
    pub activebench: String,
    /// The file that was agreed on.
    pub file: AgreedFile,
    /// Who agreed.
    pub parties: Parties,
    /// What was tested.
    pub target: AcceptedTarget,
    /// How figures near a limit are decided.
    pub rule: DecisionRule,
    /// The same in a sentence or two, with what a conditional outcome leads to.
    pub rule_words: String,
    /// The suite, in the order of the file.
    pub benchmarks: Vec<AcceptedBenchmark>,
    /// The limits, in the order of the file.
    pub limits: Vec<JudgedLimit>,
    /// What a reader must know besides, a sentence each: runs of another file, runs that belong to no benchmark.
    pub notes: Vec<String>,
    /// Of the whole acceptance.
    pub outcome: AcceptanceOutcome,
    /// Why, as one lower-case fragment.
    pub because: String,
    /// What activebench's exit code is.
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

/// What was tested.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AcceptedTarget {
    /// The directory or the device node, as in the file.
    pub path: String,
    /// Whether it is a device that may be written to.
    pub destroy: bool,
    /// File system and its options, of the recorded runs, each once.
    pub file_systems: Vec<String>,
    /// The devices below it, of the recorded runs, each once.
    pub devices: Vec<DeviceIdentity>,
    /// Kernel, architecture, processors and memory of the recorded runs, each once.
    pub hosts: Vec<String>,
}

/// By what a device is known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceIdentity {
    /// The kernel's name: `nvme0n1`.
    pub name: String,
    /// `nvme`, `scsi`, `virtio`, ...
    pub kind: String,
    /// `None` where the kernel does not say.
    pub model: Option<String>,
    /// The same.
    pub serial: Option<String>,
    /// Revision of its firmware; the same.
    pub firmware: Option<String>,
    /// The links that its data passes: `PCIe 8.0 GT/s x4`. Empty where they are not known.
    pub links: Vec<String>,
    /// Its size.
    pub size_bytes: Option<u64>,
}

/// One benchmark of the suite, with its recorded runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AcceptedBenchmark {
    /// Its name in the file.
    pub name: String,
    /// The words of the file, with their placeholders.
    pub command: Vec<String>,
    /// The words that were run, in the first recorded run; empty without one.
    pub resolved: Vec<String>,
    /// How often it is to be run, in words: `5 runs`, `until ...`.
    pub planned: String,
    /// The runs, in their order.
    pub runs: Vec<AcceptedRun>,
    /// Why there are fewer runs than planned: lower-case fragments.
    pub incomplete: Vec<String>,
    /// The conditions that its figures stand under.
    pub conditions: Vec<Condition>,
}

/// A recorded run that is evidence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AcceptedRun {
    /// Where it lies, as the user would name it.
    pub directory: String,
    /// SHA-256 of its `run.json`, which holds those of all its other files.
    pub run_json_sha256: String,
    /// UTC, seconds since the epoch, at its start.
    pub started_unix_s: i64,
    /// Its own verdict.
    pub verdict: RunVerdict,
    /// The acceptance file that it was recorded for; `None` when it was recorded for none.
    pub recorded_for_sha256: Option<String>,
}

/// Whether something that was agreed on holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ConditionState {
    /// It holds, or the question does not arise.
    Met,
    /// It does not hold.
    NotMet,
    /// The evidence does not say.
    NotKnown,
    /// The file does not ask for it.
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

/// One thing that must hold for the figures of a benchmark to be judged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Condition {
    /// Its name in the file: `foreign_io_at_most`.
    pub name: String,
    /// What it asks: `foreign I/O at most 2 %`.
    pub asks: String,
    /// Whether it holds.
    pub state: ConditionState,
    /// What that rests on, a fragment each, with the run and the phase.
    pub evidence: Vec<String>,
    /// The largest value that was found, where the condition is about one.
    pub observed: Option<Quantity>,
}

/// A limit and what became of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JudgedLimit {
    /// The benchmark.
    pub benchmark: String,
    /// [`crate::phase::Phase::id`].
    pub phase: String,
    /// What kind of number it is.
    pub metric: Metric,
    /// The good side.
    pub bound: Bound,
    /// The limit.
    pub limit: Quantity,
    /// As the parties wrote it: `200 MB/s`.
    pub as_written: String,
    /// The unit that they wrote it in.
    pub unit: WrittenUnit,
    /// The figure in each run, in their order.
    pub figures: Vec<FigureOfRun>,
    /// Median of the honest figures; `None` when a run has none.
    pub honest: Option<Quantity>,
    /// How uncertain the median is; `None` when that is not known.
    pub uncertainty: Option<Uncertainty>,
    /// Width of the guard band; 0 under simple acceptance. `None` when it is not known.
    pub guard_band: Option<Quantity>,
    /// By how much the figure is on the good side; negative on the bad one.
    pub margin: Option<Quantity>,
    /// What is said of it.
    pub outcome: AcceptanceOutcome,
    /// Why, as one lower-case fragment.
    pub because: String,
}

/// A unit as the parties wrote it: a report shows figures in it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WrittenUnit {
    /// `MB/s`.
    pub name: String,
    /// What one of it is in the normalised unit of the limit.
    pub factor: f64,
}

impl WrittenUnit {
    /// A quantity in this unit, with three significant digits at least, however small it is.
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
    /// As the tool stated it; `None` when it did not.
    pub claimed: Option<Quantity>,
    /// The honest figure.
    pub honest: Option<Quantity>,
    /// Why there is none; set exactly when there is none.
    pub no_honest: Option<String>,
    /// The verdict on what the tool stated.
    pub verdict: Option<ClaimVerdict>,
    /// Half a step of the printed number.
    pub resolution: Option<Quantity>,
}

/// The expanded uncertainty of a median (coverage at least 95 %), and what it is made of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Uncertainty {
    /// What repetition shows.
    pub statistical: Quantity,
    /// Where that comes from: `interval of order statistics, 96.88 %, of 6 runs`.
    pub statistical_basis: String,
    /// What the steps of the printed numbers hide.
    pub resolution: Quantity,
    /// What the parties agreed to add.
    pub tolerance: Quantity,
    /// All of it: the root of the sum of squares.
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
            (2e9, "2.000 GB/s"),
        ] {
            assert_eq!(unit.show(Quantity::bytes_per_sec(value)), expected);
        }
    }
}
