//! Many runs over time: the course of each figure, what changed against a baseline, and the disks of a batch.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

use crate::claim::{Metric, Subject};
use crate::compare::RatioInterval;
use crate::series::Interval;
use crate::units::Quantity;
use crate::verdict::{ClaimVerdict, RunVerdict};

/// All that is said of many runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct History {
    /// What was read, and what was not.
    pub reading: Reading,
    /// Which number of each run is followed.
    pub kind: FigureKind,
    /// By what figures of one load are kept apart.
    pub by: By,
    /// What they were held against.
    pub rules: Rules,
    /// The runs whose figures are followed, from the earliest.
    pub runs: Vec<RunOfHistory>,
    /// The figures, those of one load together.
    pub figures: Vec<Followed>,
    /// Figures of one load side by side; empty where that was not asked for, or none has two groups.
    pub batches: Vec<Batch>,
    /// What later runs are held against; `None` where nothing was asked for.
    pub baseline: Option<Baseline>,
    /// What activebench's exit code is.
    pub exit_code: i32,
}

/// The numbers of the rules by which a history tells a change from chance.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rules {
    /// Least probability with which an interval covers what it is of.
    pub confidence_ratio: f64,
    /// Fewest values whose median has such an interval.
    pub interval_least_runs: usize,
    /// A trend is told below this probability.
    pub trend_probability: f64,
}

/// What was read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reading {
    /// Run directories that were found.
    pub found: usize,
    /// Runs read from their table of figures.
    pub from_table: usize,
    /// Runs read from their report, because they have no table, or one of another version.
    pub from_report: usize,
    /// Directories that hold a copy of a run that was read already: it counts once.
    pub copies: usize,
    /// Runs that a filter left out.
    pub filtered: usize,
    /// Runs that have no figure of the kind that was asked for.
    pub without_figures: usize,
    /// What could not be read, each with the reason.
    pub left_out: Vec<LeftOut>,
    /// Bundles that lie in the folders and were not opened.
    pub bundles: usize,
}

/// Something that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LeftOut {
    /// Where it lies.
    pub directory: String,
    /// Why: a lower-case fragment.
    pub why: String,
}

/// Which number of a claim is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FigureKind {
    /// What holds: the claim where it is confirmed, else the figure that stands for it.
    Honest,
    /// What the tool printed.
    Claimed,
}

/// What keeps figures of one load apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum By {
    /// The disk: model and serial number where the record has them, else its name and host.
    Device,
    /// The machine.
    Host,
    /// The disk's model.
    Model,
}

impl By {
    /// As written in JSON and on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            By::Device => "device",
            By::Host => "host",
            By::Model => "model",
        }
    }
}

/// A run of the history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunOfHistory {
    /// Where it lies, as the user would name it.
    pub directory: String,
    /// UTC, seconds since the epoch.
    pub started_unix_s: i64,
    /// Its verdict.
    pub verdict: RunVerdict,
    /// Whether it belongs to the baseline.
    pub in_baseline: bool,
}

/// One figure over all its runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Followed {
    /// Unique in the history: `f1`, `f2`, ...
    pub id: String,
    /// The tool.
    pub tool: String,
    /// The command with `TARGET` in the place of the measured storage.
    pub load: String,
    /// [`crate::phase::Phase::id`].
    pub phase: String,
    /// What kind of number it is.
    pub metric: Metric,
    /// Among the claims of this phase and metric, from 0.
    pub place: u32,
    /// What it is taken to describe.
    pub subject: Subject,
    /// The disk, host or model, see [`By`].
    pub group: String,
    /// One a run that states it, from the earliest.
    pub points: Vec<Point>,
    /// How many of them are in which state.
    pub counts: Counts,
    /// Over the values that count; `None` when there is none.
    pub summary: Option<Summary>,
    /// Where it is going.
    pub trend: Trend,
    /// What else was not the same in all its runs: `kernel` to its values in the order of their first run.
    pub varied: BTreeMap<String, Vec<String>>,
    /// How later runs stand to the baseline; `None` without one.
    pub against: Option<AgainstBaseline>,
}

/// One figure of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Place in [`History::runs`].
    pub run: usize,
    /// In the unit of the figure; `None` where the run has none.
    pub value: Option<Quantity>,
    /// As printed, normalised.
    pub claimed: Quantity,
    /// The verdict on the claim.
    pub verdict: ClaimVerdict,
    /// Bytes that others moved over all; `None` where not known.
    pub foreign_io_ratio: Option<f64>,
    /// Whether it counts in the statistics.
    pub counts: bool,
    /// Why it does not; set exactly when it does not.
    pub why_not: Option<String>,
}

/// Runs of a figure by their state; each is in one of `counted`, `apart` and `without`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Values in the statistics.
    pub counted: usize,
    /// Of these: runs with the verdict discrepancy, whose honest figure counts.
    pub of_discrepancy: usize,
    /// Values of runs that failed or are inconclusive: shown, not counted.
    pub apart: usize,
    /// Runs without this figure.
    pub without: usize,
}

/// What the values are like.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The middle value, of an even number the mean of both.
    pub median: Quantity,
    /// Where the median of the population lies, with at least 95 %; `None` for fewer than 6 values.
    pub interval: Option<Interval>,
    /// Smallest.
    pub least: Quantity,
    /// Largest.
    pub most: Quantity,
    /// (largest - smallest) / median; `None` when the median is 0.
    pub spread_ratio: Option<f64>,
    /// The latest value.
    pub last: Quantity,
}

/// Whether values rise or fall over time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "state")]
pub enum Trend {
    /// They rise: no accident, as far as the probability goes.
    Rising(Slope),
    /// They fall.
    Falling(Slope),
    /// Not to be told from chance.
    NotSeen(Slope),
    /// It cannot be asked.
    NotAsked {
        /// Why: a lower-case fragment.
        why: String,
    },
}

/// How values change, and how likely chance alone gives as much.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Slope {
    /// The median of the slopes between all pairs of runs, in the unit of the figure a day.
    pub per_day: Quantity,
    /// That slope over the time from the first run to the last one, as a share of the median; `None` when that is 0.
    pub over_span_ratio: Option<f64>,
    /// Days from the first run to the last one.
    pub span_days: f64,
    /// Probability of an order at least as one-sided when there is no trend, both sides.
    pub probability: f64,
}

/// What later runs are held against.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Baseline {
    /// As the user named it.
    pub named: String,
    /// Runs in it that were read.
    pub runs: usize,
    /// Runs that are held against it.
    pub later: usize,
    /// The user's limit; `None` where none was given.
    pub gate: Option<Gate>,
}

/// From when on a regression gives exit code 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Gate {
    /// As a share: 0.05 for 5 %.
    pub limit_ratio: f64,
    /// Figures that could be compared.
    pub compared: usize,
    /// Runs that are needed on both sides to tell a change of one of so many figures.
    pub least_runs: usize,
    /// Figures that are shown to be worse, and by at least the limit: with [`Rules::confidence_ratio`] for all that were
    /// compared together.
    pub failing: Vec<String>,
    /// Figures of the baseline of which that cannot be told: not compared, or worse by at least the limit as far as the
    /// values go, which chance can give too.
    pub open: Vec<String>,
}

/// Later runs of a figure against the baseline's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "state")]
pub enum AgainstBaseline {
    /// Both have enough runs.
    Compared {
        /// What that means.
        outcome: Outcome,
        /// A later value over one of the baseline: the median over all pairs.
        ratio: f64,
        /// Where it lies.
        interval: RatioInterval,
        /// Probability of values at least as far apart when nothing changed, both sides.
        probability: f64,
        /// Values of the baseline.
        baseline_runs: usize,
        /// Later values.
        later_runs: usize,
    },
    /// Too few runs, or nothing to compare.
    NotCompared {
        /// Why: a lower-case fragment.
        why: String,
        /// Whether the baseline has this figure, so that the question is open.
        open: bool,
    },
}

/// What the interval of a ratio means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Outcome {
    /// The whole interval is better than the baseline.
    Better,
    /// The whole interval is worse.
    Worse,
    /// The interval holds 1.
    NoDifferenceSeen,
}

impl Outcome {
    /// As written in JSON.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// One figure of several disks, hosts or models, from the largest median down.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Batch {
    /// The tool.
    pub tool: String,
    /// The command with `TARGET` in the place of the measured storage.
    pub load: String,
    /// [`crate::phase::Phase::id`].
    pub phase: String,
    /// What kind of number it is.
    pub metric: Metric,
    /// The members that have a median.
    pub members: Vec<Member>,
    /// Groups without a value that counts.
    pub without: Vec<String>,
    /// The median of the members' medians.
    pub median: Quantity,
    /// The median of their distances from it.
    pub deviation: Quantity,
    /// A member that is more of these deviations away is an outlier.
    pub outlier_deviations: f64,
    /// Why no outliers are looked for; `None` where they are.
    pub not_judged: Option<String>,
}

/// One disk, host or model of a batch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Member {
    /// Its figure in [`History::figures`].
    pub figure: String,
    /// The disk, host or model.
    pub group: String,
    /// Values behind the median.
    pub runs: usize,
    /// Its median.
    pub median: Quantity,
    /// Its distance from the batch's median in the batch's deviations; `None` where that is 0.
    pub deviations: Option<f64>,
    /// Whether it is far from all others; it stays in every figure.
    pub outlier: bool,
}
