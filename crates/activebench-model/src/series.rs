//! Repeated runs of one command: what each contributes, and what they say together.

use serde::{Deserialize, Serialize};

use crate::claim::Metric;
use crate::command::CommandLine;
use crate::finding::Finding;
use crate::run::Choices;
use crate::units::Quantity;
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
    /// Runs that were asked for.
    pub planned_runs: u32,
    /// Folders of the runs that were recorded, relative to the series' own, in order.
    pub runs: Vec<String>,
    /// Choices that bear on the judgement of the series.
    pub choices: Choices,
    /// Why there are fewer runs than planned: lower-case fragments; empty when there are not.
    pub incomplete: Vec<String>,
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
    /// Its value in each run, in order; `None` where a run did not state it.
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
    /// Half a step of the printed number, the largest of the runs, in the unit of the values.
    pub resolution: f64,
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
    /// What the detectors of a series say; `claims` hold ids of figures.
    pub findings: Vec<Finding>,
    /// The worst of its runs' and its own.
    pub verdict: RunVerdict,
    /// Why this verdict, as one lower-case fragment.
    pub because: String,
    /// What activebench's exit code is.
    pub exit_code: i32,
}
