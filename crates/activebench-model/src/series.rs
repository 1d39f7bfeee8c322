//! Repeated runs of one command: the results of each run, and the figures over all runs.

use serde::{Deserialize, Serialize};

use crate::claim::Metric;
use crate::command::CommandLine;
use crate::finding::Finding;
use crate::preparation::Preparation;
use crate::run::Choices;
use crate::units::{Quantity, Unit};
use crate::verdict::{ClaimVerdict, RunVerdict};

/// Version of `series.json`. A program that reads a higher one refuses it and names the version.
pub const FORMAT: u32 = 1;

/// Least number of runs of which something is concluded: two of their values cover the median with at least 95 %,
/// whatever the distribution. Of six runs the smallest and the largest cover it with 96.9 %, of five with 93.8 %.
pub const LEAST_RUNS: u32 = 6;

/// `series.json`: the runs that belong together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SeriesManifest {
    /// See [`FORMAT`].
    pub format: u32,
    /// Version of activebench that wrote it.
    pub activebench: String,
    /// The requested command of each run.
    pub command: CommandLine,
    /// Requested number of runs; the largest number where [`SeriesManifest::until`] is set.
    pub planned_runs: u32,
    /// Condition that ends the series earlier; `None` without one.
    #[serde(default)]
    pub until: Option<Until>,
    /// Folders of the runs that were recorded, relative to the series' own, in order.
    pub runs: Vec<String>,
    /// Folder of the run that preconditioned the device before them; `None` without such a run. It is evidence, but not
    /// one of the runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preconditioning: Option<String>,
    /// Choices that affect the judgement of the series.
    pub choices: Choices,
    /// Why there are fewer runs than planned: lower-case fragments; empty when there are not.
    pub incomplete: Vec<String>,
}

impl SeriesManifest {
    /// What [`SeriesManifest::incomplete`] holds while the series is recorded.
    pub const UNFINISHED: &str = "the series was never finished";

    /// Returns `true` if its recorder has written the last word on it.
    pub fn is_finished(&self) -> bool {
        !self.incomplete.iter().any(|why| why == Self::UNFINISHED)
    }
}

/// A condition that ends a series.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Until {
    /// The 95 % confidence interval of the median is at most this share of the median wide, for the first rate of
    /// every phase.
    MedianWithin {
        /// The share: 0.05 is 5 %.
        ratio: f64,
    },
    /// The last rounds are in steady state, for the first rate of every phase.
    SteadyState,
}

/// The state of a series' stopping condition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stopping {
    /// The condition.
    pub until: Until,
    /// True if it was reached.
    pub reached: bool,
    /// The progress towards it, as a lower-case sentence.
    pub because: String,
}

/// The results of a judged run for its series.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunOfSeries {
    /// Number of the run, from 1.
    pub number: u32,
    /// Its folder, relative to the series' own.
    pub directory: String,
    /// Start of the run: UTC, seconds since the epoch.
    pub started_unix_s: i64,
    /// Verdict of the run itself.
    pub verdict: RunVerdict,
    /// Exit code of the run itself.
    pub exit_code: i32,
    /// Its claims, in the order of the output.
    pub claims: Vec<ClaimOfRun>,
    /// First offsets of its random passes.
    pub beginnings: Vec<Beginning>,
    /// Circumstances of its phases.
    #[serde(default)]
    pub circumstances: Vec<Circumstances>,
    /// Preparation of the device before the series, according to this run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preparation: Option<Preparation>,
}

/// The circumstances of one phase of one run, as far as they were completely observed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Circumstances {
    /// [`crate::phase::Phase::id`].
    pub phase: String,
    /// One entry per observed kind. A kind without an entry is unknown, which is not 0.
    pub seen: Vec<Circumstance>,
}

/// One circumstance that can make a run differ from the others.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Circumstance {
    /// Kind of circumstance.
    pub kind: CircumstanceKind,
    /// Its amount.
    pub value: Quantity,
}

/// The kind of circumstance that can make a run differ from the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CircumstanceKind {
    /// Share of the bytes at the device that others moved.
    ForeignIo,
    /// Bytes or operations per second that the control group's limit allowed, where the pass reached it. Not observed
    /// without such a limit.
    IoLimit,
    /// 1 where the pass reached a limit of its control group, 0 where it did not.
    AtLimit,
    /// Share of the bytes read that came from the page cache.
    CacheHits,
    /// Share of the CPUs' time that the hypervisor gave to others.
    Steal,
    /// Share of the threads' time in the run queue.
    RunQueue,
    /// Share of the time in which all tasks waited for memory.
    MemoryStalls,
    /// Number of times that CPUs were slowed down because of heat.
    Heat,
}

impl ClaimOfRun {
    /// Returns the honest figure: the claim where it is confirmed, otherwise its corrected figure; `None` where that is
    /// unknown.
    pub fn honest(&self) -> Option<Quantity> {
        match self.verdict {
            ClaimVerdict::Confirmed => Some(self.value),
            ClaimVerdict::Misleading | ClaimVerdict::Refuted => {
                self.corrected.filter(|corrected| corrected.unit == self.value.unit)
            }
            ClaimVerdict::Unverifiable | ClaimVerdict::NotChecked => None,
        }
    }
}

/// One figure of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClaimOfRun {
    /// [`crate::phase::Phase::id`].
    pub phase: String,
    /// Kind of number.
    pub metric: Metric,
    /// The claimed number, normalised.
    pub value: Quantity,
    /// Half a step of the printed number, in the unit of `value`.
    pub resolution: f64,
    /// True if a reader takes it for the performance of storage.
    pub of_storage: bool,
    /// The verdict on it in its run.
    pub verdict: ClaimVerdict,
    /// The honest figure of its run, where the claim does not hold and there is such a figure.
    pub corrected: Option<Quantity>,
}

/// The first offsets of a random pass.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Beginning {
    /// [`crate::phase::Phase::id`].
    pub phase: String,
    /// [`crate::phase::Phase::first_offsets`].
    pub first_offsets: Vec<Vec<u64>>,
    /// Blocks of the region that the pass covers; `None` when unknown.
    pub region_blocks: Option<f64>,
}

/// One figure over all runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Repeated {
    /// Unique in the series: `f1`, `f2`, ... in the order of the first run that states them.
    pub id: String,
    /// [`crate::phase::Phase::id`].
    pub phase: String,
    /// Kind of number.
    pub metric: Metric,
    /// True if a reader takes it for the performance of storage, in every run.
    pub of_storage: bool,
    /// The values that the tool claimed.
    #[serde(flatten)]
    pub claimed: Sample,
    /// The verdict on the claim in each run, in order; `None` where a run does not state the claim.
    pub verdicts: Vec<Option<ClaimVerdict>>,
    /// The honest figures: the claim where it is confirmed, otherwise its corrected figure. `None` where no run has one.
    pub honest: Option<Sample>,
    /// Half a step of the printed number, the largest of the runs, in the unit of the values.
    pub resolution: f64,
    /// Observed differences between the runs that explain the variation of the figure; the strongest first.
    pub causes: Vec<Cause>,
}

/// A circumstance that varies in the same way as a figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cause {
    /// Kind of circumstance.
    pub kind: CircumstanceKind,
    /// Its value in each run, in order; `None` where unknown.
    pub values: Vec<Option<f64>>,
    /// Unit of `values`.
    pub unit: Unit,
    /// Share of the figure's variance that it explains: the square of the correlation, from 0 to 1.
    pub explained_ratio: f64,
    /// The explanation, as a lower-case fragment.
    pub sentence: String,
}

/// Steady-state test of a figure, SNIA PTS 2.0.2, section 2.1.24: each run is a round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Steadiness {
    /// [`Repeated::id`].
    pub figure: String,
    /// [`crate::phase::Phase::id`].
    pub phase: String,
    /// True if the honest figures were tested instead of the claimed ones: where a claim is refuted, or a run has
    /// another figure in the place of its claim.
    pub of_honest: bool,
    /// Largest permitted (largest - smallest) / mean.
    pub range_limit_ratio: f64,
    /// Largest permitted excursion of the least-squares line / mean.
    pub excursion_limit_ratio: f64,
    /// Every window of the standard's length whose rounds are all known, in order.
    pub windows: Vec<SteadyWindow>,
    /// Why the last rounds have no window, as a lower-case fragment; `None` where they have one.
    pub not_judged: Option<String>,
    /// Number of the last run of the first steady window; `None` where no window is steady.
    pub first_steady_run: Option<u32>,
}

impl Steadiness {
    /// Returns the window of the last rounds.
    ///
    /// # Errors
    /// Returns the reason when they have no window.
    pub fn last(&self) -> Result<&SteadyWindow, &str> {
        match &self.not_judged {
            Some(why) => Err(why),
            None => self.windows.last().ok_or("there are too few rounds for a window"),
        }
    }
}

/// Consecutive rounds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SteadyWindow {
    /// Numbers of its runs, in order.
    pub runs: Vec<u32>,
    /// Their values.
    pub values: Vec<f64>,
    /// Unit of `values`.
    pub unit: Unit,
    /// Mean of the values.
    pub mean: f64,
    /// (largest - smallest) / mean.
    pub range_ratio: f64,
    /// Absolute value of (least-squares line in the last round - in the first) / mean.
    pub excursion_ratio: f64,
    /// Rise of the line from one round to the next.
    pub slope: f64,
    /// Value of the line in the first round.
    pub line_at_first: f64,
    /// True if both ratios are within their limits.
    pub steady: bool,
}

/// The values of one figure over all runs, and their statistics.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Its value in each run, in order; `None` where a run has none.
    pub values: Vec<Option<f64>>,
    /// The middle value; for an even number the mean of the two middle values.
    pub median: Quantity,
    /// Mean.
    pub mean: Quantity,
    /// Smallest.
    pub least: Quantity,
    /// Largest.
    pub most: Quantity,
    /// Standard deviation of the sample; `None` for fewer than two values.
    pub deviation: Option<Quantity>,
    /// (largest - smallest) / median; `None` when the median is 0.
    pub spread_ratio: Option<f64>,
    /// The two values between which the median of the population is, and the probability: the narrowest
    /// symmetric interval of order statistics with at least 95 %, for any distribution. `None` for fewer
    /// than 6 values, too few for this probability.
    pub median_interval: Option<Interval>,
}

/// A confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Lower end.
    pub low: Quantity,
    /// Upper end.
    pub high: Quantity,
    /// Probability that it contains the true value, at least 0.95.
    pub confidence_ratio: f64,
}

/// A judged series: the value that every report of it renders.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JudgedSeries {
    /// The runs that belong to it.
    pub manifest: SeriesManifest,
    /// Its directory, as the user would name it.
    pub directory: String,
    /// Its runs.
    pub runs: Vec<RunOfSeries>,
    /// Its figures, in the order of the first run that states them.
    pub figures: Vec<Repeated>,
    /// Steady-state test of the first rate of each phase.
    pub steadiness: Vec<Steadiness>,
    /// State of its stopping condition; `None` for a fixed number of runs.
    pub stopping: Option<Stopping>,
    /// Results of the detectors of a series; their `claims` are ids of figures.
    pub findings: Vec<Finding>,
    /// The worst of its runs' verdicts and its own.
    pub verdict: RunVerdict,
    /// Reason for the verdict, as one lower-case fragment.
    pub because: String,
    /// Exit code of activebench.
    pub exit_code: i32,
}

impl JudgedSeries {
    /// Returns the preparation of the device before the first run; `None` without one, or when no run was recorded.
    pub fn preparation(&self) -> Option<&Preparation> {
        self.runs.iter().find_map(|run| run.preparation.as_ref())
    }
}
