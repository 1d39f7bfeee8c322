//! Repeated runs of one command: what each contributes, and what they say together.

use serde::{Deserialize, Serialize};

use crate::claim::Metric;
use crate::command::CommandLine;
use crate::finding::Finding;
use crate::preparation::Preparation;
use crate::run::Choices;
use crate::units::{Quantity, Unit};
use crate::verdict::{ClaimVerdict, RunVerdict};

/// Version of `series.json`. A reader refuses a higher one and names the version.
pub const FORMAT: u32 = 1;

/// `series.json`: which runs belong together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SeriesManifest {
    /// See [`FORMAT`].
    pub format: u32,
    /// Version of activebench that wrote it.
    pub activebench: String,
    /// What was asked for, once a run.
    pub command: CommandLine,
    /// Runs that were asked for; where [`SeriesManifest::until`] is set, at most so many.
    pub planned_runs: u32,
    /// What ends the series before that; `None` where nothing does.
    #[serde(default)]
    pub until: Option<Until>,
    /// Folders of the runs that were recorded, relative to the series' own, in order.
    pub runs: Vec<String>,
    /// Folder of the run that preconditioned the device before them; `None` where none did. It is evidence, and none of
    /// the runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preconditioning: Option<String>,
    /// Choices that bear on the judgement of the series.
    pub choices: Choices,
    /// Why there are fewer runs than planned: lower-case fragments; empty when there are not.
    pub incomplete: Vec<String>,
}

/// What ends a series.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Until {
    /// The interval that covers the median with 95 % is at most this share of the median wide, for the first rate of
    /// every phase.
    MedianWithin {
        /// 0.05 is 5 %.
        ratio: f64,
    },
    /// The last rounds are in steady state, for the first rate of every phase.
    SteadyState,
}

/// Whether a series got what it was to go on for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stopping {
    /// What it was to go on for.
    pub until: Until,
    /// Whether it was reached.
    pub reached: bool,
    /// How far it came: a lower-case sentence.
    pub because: String,
}

/// What a judged run contributes to its series.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunOfSeries {
    /// From 1.
    pub number: u32,
    /// Its folder, relative to the series' own.
    pub directory: String,
    /// UTC, seconds since the epoch, at its start.
    pub started_unix_s: i64,
    /// Its own verdict.
    pub verdict: RunVerdict,
    /// Its own exit code.
    pub exit_code: i32,
    /// Its claims, in the order of the output.
    pub claims: Vec<ClaimOfRun>,
    /// Where its random passes began.
    pub beginnings: Vec<Beginning>,
    /// What surrounded its phases.
    #[serde(default)]
    pub circumstances: Vec<Circumstances>,
    /// What it says was done to the device before the series.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preparation: Option<Preparation>,
}

/// What surrounded one phase of one run, as far as it was seen whole.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Circumstances {
    /// [`crate::phase::Phase::id`].
    pub phase: String,
    /// One entry a kind that was seen; a kind that is not there is not known, which is not 0.
    pub seen: Vec<Circumstance>,
}

/// One thing that can make a run differ from the others.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Circumstance {
    /// Which.
    pub kind: CircumstanceKind,
    /// How much of it.
    pub value: Quantity,
}

/// What can make a run differ from the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CircumstanceKind {
    /// Share of the bytes at the device that others moved.
    ForeignIo,
    /// Bytes or operations a second that the control group's limit allowed, where the pass reached it. Without such a
    /// limit nothing is seen.
    IoLimit,
    /// 1 where the pass reached a limit of its control group, 0 where it did not.
    AtLimit,
    /// Share of the bytes read that the page cache gave.
    CacheHits,
    /// Share of the processors' time that the hypervisor gave to others.
    Steal,
    /// Share of the threads' time ready to run without running.
    RunQueue,
    /// Share of the time in which everybody waited for memory.
    MemoryStalls,
    /// How often processors were slowed for heat.
    Heat,
}

impl ClaimOfRun {
    /// What the run really gave: the claim where it holds, otherwise its corrected figure; `None` where that is not
    /// known.
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
    /// What kind of number it is.
    pub metric: Metric,
    /// As claimed, normalised.
    pub value: Quantity,
    /// Half a step of the printed number, in the unit of `value`.
    pub resolution: f64,
    /// Whether the reader takes it for what storage did.
    pub of_storage: bool,
    /// The verdict on it in its run.
    pub verdict: ClaimVerdict,
    /// The honest figure of its run, where the claim does not hold and there is one.
    pub corrected: Option<Quantity>,
}

/// The first offsets of a random pass.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Beginning {
    /// [`crate::phase::Phase::id`].
    pub phase: String,
    /// [`crate::phase::Phase::first_offsets`].
    pub first_offsets: Vec<Vec<u64>>,
    /// Blocks of the region that the pass goes over; `None` when that is not known.
    pub region_blocks: Option<f64>,
}

/// One figure over all runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Repeated {
    /// Unique in the series: `f1`, `f2`, ... in the order of the first run that states them.
    pub id: String,
    /// [`crate::phase::Phase::id`].
    pub phase: String,
    /// What kind of number it is.
    pub metric: Metric,
    /// Whether the reader takes it for what storage did, in every run.
    pub of_storage: bool,
    /// As the tool claimed it.
    #[serde(flatten)]
    pub claimed: Sample,
    /// The verdict on the claim in each run, in order; `None` where a run does not state it.
    pub verdicts: Vec<Option<ClaimVerdict>>,
    /// The honest figures: the claim where it holds, otherwise its corrected figure. `None` where no run has one.
    pub honest: Option<Sample>,
    /// Half a step of the printed number, the largest of the runs, in the unit of the values.
    pub resolution: f64,
    /// What the evidence shows the runs to differ by, where that explains how the figure varies; the strongest first.
    pub causes: Vec<Cause>,
}

/// Something that varies as a figure does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cause {
    /// What varies.
    pub kind: CircumstanceKind,
    /// Its value in each run, in order; `None` where it is not known.
    pub values: Vec<Option<f64>>,
    /// Unit of `values`.
    pub unit: Unit,
    /// Share of the figure's variance that goes with it: the square of the correlation, from 0 to 1.
    pub explained_ratio: f64,
    /// The same in words: a lower-case fragment.
    pub sentence: String,
}

/// How steady a figure was, by SNIA PTS 2.0.2, section 2.1.24: each run is a round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Steadiness {
    /// [`Repeated::id`].
    pub figure: String,
    /// [`crate::phase::Phase::id`].
    pub phase: String,
    /// Whether the honest figures were asked, and not the claimed ones: where a claim is refuted, or a run has another
    /// figure in the place of its claim.
    pub of_honest: bool,
    /// Largest permitted (largest - smallest) / mean.
    pub range_limit_ratio: f64,
    /// Largest permitted excursion of the least-squares line / mean.
    pub excursion_limit_ratio: f64,
    /// Every window of the standard's length, in order, whose rounds are all known.
    pub windows: Vec<SteadyWindow>,
    /// Why the last rounds have no window: a lower-case fragment; `None` where they have one.
    pub not_judged: Option<String>,
    /// Number of the run with which the first steady window ends; `None` where no window is steady.
    pub first_steady_run: Option<u32>,
}

impl Steadiness {
    /// The window of the last rounds.
    ///
    /// # Errors
    /// Why they have none.
    pub fn last(&self) -> Result<&SteadyWindow, &str> {
        match &self.not_judged {
            Some(why) => Err(why),
            None => self.windows.last().ok_or("there are too few rounds for a window"),
        }
    }
}

/// Rounds in a row.
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
    /// (value of the least-squares line in the last round - in the first) / mean, without sign.
    pub excursion_ratio: f64,
    /// By how much the line climbs from a round to the next.
    pub slope: f64,
    /// The line's value in the first round.
    pub line_at_first: f64,
    /// Whether both are within their limits.
    pub steady: bool,
}

/// The values of one figure over all runs, and what they say together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Its value in each run, in order; `None` where a run has none.
    pub values: Vec<Option<f64>>,
    /// The middle value, of an even number the mean of both.
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
    /// Between which two of the values the median of the population lies, and with which probability: the narrowest
    /// symmetric interval of order statistics with at least 95 %, whatever the distribution. `None` for fewer
    /// than 6 values, of which none has so much.
    pub median_interval: Option<Interval>,
}

/// A confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Lower end.
    pub low: Quantity,
    /// Upper end.
    pub high: Quantity,
    /// Probability that it covers the figure, at least 0.95.
    pub confidence_ratio: f64,
}

/// A series judged: the value that every report of it renders.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JudgedSeries {
    /// Which runs belong to it.
    pub manifest: SeriesManifest,
    /// Where it lies, as the user would name it.
    pub directory: String,
    /// Its runs.
    pub runs: Vec<RunOfSeries>,
    /// Its figures, in the order of the first run that states them.
    pub figures: Vec<Repeated>,
    /// How steady the first rate of each phase was.
    pub steadiness: Vec<Steadiness>,
    /// Whether it got what it was to go on for; `None` for a fixed number of runs.
    pub stopping: Option<Stopping>,
    /// What the detectors of a series say; `claims` hold ids of figures.
    pub findings: Vec<Finding>,
    /// The worst of its runs' and its own.
    pub verdict: RunVerdict,
    /// Why this verdict, as one lower-case fragment.
    pub because: String,
    /// What activebench's exit code is.
    pub exit_code: i32,
}

impl JudgedSeries {
    /// What was done to the device before the first run; `None` where nothing was, or no run was recorded.
    pub fn preparation(&self) -> Option<&Preparation> {
        self.runs.iter().find_map(|run| run.preparation.as_ref())
    }
}
