//! Many runs over time: the history of each figure, changes against a baseline, and the disks of a batch.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

use crate::claim::{Metric, Subject};
use crate::compare::RatioInterval;
use crate::series::Interval;
use crate::units::Quantity;
use crate::verdict::{ClaimVerdict, RunVerdict};

/// The result of comparing many runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct History {
    /// Which runs were read, and which were not.
    pub reading: Reading,
    /// The number that is tracked in each run.
    pub kind: FigureKind,
    /// The property that separates figures of one load.
    pub by: By,
    /// The rules that they were compared by.
    pub rules: Rules,
    /// The runs whose figures are tracked, from the earliest.
    pub runs: Vec<RunOfHistory>,
    /// The figures; figures of one load are adjacent.
    pub figures: Vec<Followed>,
    /// Figures of one load side by side; empty where this was not requested, or no load has two groups.
    pub batches: Vec<Batch>,
    /// The baseline for later runs; `None` where none was requested.
    pub baseline: Option<Baseline>,
    /// Exit code of activebench.
    pub exit_code: i32,
}

/// The numbers of the rules by which a history distinguishes a change from chance.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rules {
    /// Least probability with which an interval contains the true value.
    pub confidence_ratio: f64,
    /// Smallest number of values whose median has such an interval.
    pub interval_least_runs: usize,
    /// A trend is reported below this probability.
    pub trend_probability: f64,
}

/// The result of reading the run directories.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reading {
    /// Run directories that were found.
    pub found: usize,
    /// Runs read from their table of figures.
    pub from_table: usize,
    /// Runs read from their report, because they have no table, or one of another version.
    pub from_report: usize,
    /// Directories that contain a copy of a run that was read already. It counts once.
    pub copies: usize,
    /// Runs that a filter excluded.
    pub filtered: usize,
    /// Runs without a figure of the requested kind.
    pub without_figures: usize,
    /// Sources that could not be read, each with the reason.
    pub left_out: Vec<LeftOut>,
    /// Bundles that were found in the folders and not opened.
    pub bundles: usize,
}

/// Something that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LeftOut {
    /// The directory.
    pub directory: String,
    /// The reason, as a lower-case fragment.
    pub why: String,
}

/// The number of a claim that is tracked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FigureKind {
    /// The honest figure: the claim where it is confirmed, otherwise its corrected figure.
    Honest,
    /// The number that the tool printed.
    Claimed,
}

/// The property that separates figures of one load.
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
    /// Its directory, as the user would name it.
    pub directory: String,
    /// UTC, seconds since the epoch.
    pub started_unix_s: i64,
    /// Its verdict.
    pub verdict: RunVerdict,
    /// True if it belongs to the baseline.
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
    /// Kind of number.
    pub metric: Metric,
    /// Index among the claims of this phase and metric, from 0.
    pub place: u32,
    /// Subject that the figure is taken to describe.
    pub subject: Subject,
    /// The disk, host or model, see [`By`].
    pub group: String,
    /// One per run that states the figure, from the earliest.
    pub points: Vec<Point>,
    /// Number of points in each state.
    pub counts: Counts,
    /// Summary of the values that count; `None` when there are none.
    pub summary: Option<Summary>,
    /// Trend of the values.
    pub trend: Trend,
    /// Other properties that differ between its runs: `kernel` to its values in the order of their first run.
    pub varied: BTreeMap<String, Vec<String>>,
    /// Comparison of later runs with the baseline; `None` without a baseline.
    pub against: Option<AgainstBaseline>,
}

/// One figure of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Index in [`History::runs`].
    pub run: usize,
    /// Value in the unit of the figure; `None` where the run has none.
    pub value: Option<Quantity>,
    /// The printed number, normalised.
    pub claimed: Quantity,
    /// The verdict on the claim.
    pub verdict: ClaimVerdict,
    /// Bytes that others moved / all bytes; `None` where unknown.
    pub foreign_io_ratio: Option<f64>,
    /// True if it counts in the statistics.
    pub counts: bool,
    /// Why it does not count; set exactly when it does not.
    pub why_not: Option<String>,
}

/// Number of runs of a figure by state; each run is in one of `counted`, `apart` and `without`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Values in the statistics.
    pub counted: usize,
    /// Part of `counted`: runs with the verdict discrepancy, whose honest figure counts.
    pub of_discrepancy: usize,
    /// Values of runs that failed or are inconclusive: shown, not counted.
    pub apart: usize,
    /// Runs without this figure.
    pub without: usize,
}

/// Statistics of the values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The middle value; for an even number the mean of the two middle values.
    pub median: Quantity,
    /// Confidence interval of the median of the population, at least 95 %; `None` for fewer than 6 values.
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

/// The direction of the values over time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "state")]
pub enum Trend {
    /// They rise, with a probability below the limit that this is chance.
    Rising(Slope),
    /// They fall.
    Falling(Slope),
    /// Not distinguishable from chance.
    NotSeen(Slope),
    /// No trend can be computed.
    NotAsked {
        /// The reason, as a lower-case fragment.
        why: String,
    },
}

/// The rate of change of the values, and the probability that chance alone causes it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Slope {
    /// Median of the slopes between all pairs of runs, in the unit of the figure per day.
    pub per_day: Quantity,
    /// That slope over the time from the first run to the last, as a share of the median; `None` when the median is 0.
    pub over_span_ratio: Option<f64>,
    /// Days from the first run to the last.
    pub span_days: f64,
    /// Two-sided probability of an order at least as one-sided when there is no trend.
    pub probability: f64,
}

/// The runs that later runs are compared with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Baseline {
    /// As the user named it.
    pub named: String,
    /// Number of runs in it that were read.
    pub runs: usize,
    /// Number of runs that are compared with it.
    pub later: usize,
    /// The user's limit; `None` where none was given.
    pub gate: Option<Gate>,
}

/// The limit from which a regression causes exit code 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Gate {
    /// The limit as a share: 0.05 for 5 %.
    pub limit_ratio: f64,
    /// Number of figures that could be compared.
    pub compared: usize,
    /// Runs needed on both sides to detect a change of one of this many figures.
    pub least_runs: usize,
    /// Figures that are shown to be worse by at least the limit, with [`Rules::confidence_ratio`] for all compared
    /// figures together.
    pub failing: Vec<String>,
    /// Figures of the baseline that are undecided: not compared, or with values worse by at least the limit, which
    /// chance can also cause.
    pub open: Vec<String>,
}

/// Later runs of a figure compared with those of the baseline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "state")]
pub enum AgainstBaseline {
    /// Both have enough runs.
    Compared {
        /// Meaning of the interval.
        outcome: Outcome,
        /// Ratio of a later value to one of the baseline: the median over all pairs.
        ratio: f64,
        /// Confidence interval of the ratio.
        interval: RatioInterval,
        /// Two-sided probability of values at least as far apart when nothing changed.
        probability: f64,
        /// Values of the baseline.
        baseline_runs: usize,
        /// Later values.
        later_runs: usize,
    },
    /// Too few runs, or nothing to compare.
    NotCompared {
        /// The reason, as a lower-case fragment.
        why: String,
        /// True if the baseline has this figure, so that the question remains open.
        open: bool,
    },
}

/// The meaning of the interval of a ratio.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Outcome {
    /// The whole interval is better than the baseline.
    Better,
    /// The whole interval is worse.
    Worse,
    /// The interval contains 1.
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
    /// Kind of number.
    pub metric: Metric,
    /// The members that have a median.
    pub members: Vec<Member>,
    /// Groups without a value that counts.
    pub without: Vec<String>,
    /// The median of the members' medians.
    pub median: Quantity,
    /// The median of the distances of the members' medians from `median`.
    pub deviation: Quantity,
    /// A member that is more than this many deviations away is an outlier.
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
    /// Number of values behind the median.
    pub runs: usize,
    /// Its median.
    pub median: Quantity,
    /// Its distance from the batch's median, in the batch's deviations; `None` where the deviation is 0.
    pub deviations: Option<f64>,
    /// True if it is far from all others; it stays in every figure.
    pub outlier: bool,
}
