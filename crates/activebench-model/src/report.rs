//! A judged run: the value that every report format renders.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::bound::Shares;
use crate::claim::Parsed;
use crate::finding::{Finding, Threshold};
use crate::limiter::Limiter;
use crate::phase::Phase;
use crate::remedy::Advised;
use crate::run::Manifest;
use crate::target::JudgedTarget;
use crate::thread_stacks::Profiles;
use crate::timeline::Timeline;
use crate::units::Quantity;
use crate::verdict::{JudgedClaim, RunVerdict};

/// All stages of one run, judged.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct JudgedRun {
    /// The run's manifest.
    pub manifest: Manifest,
    /// The run directory, as the user would name it.
    pub directory: String,
    /// Claims and notes.
    pub parsed: Parsed,
    /// Phases with their facts.
    pub phases: Vec<Phase>,
    /// Facts of the whole run.
    pub run_facts: crate::fact::Facts,
    /// How the threads spent their time, and in which functions.
    #[serde(default)]
    pub profiles: Profiles,
    /// Time series of the phases, in the order of the phases. Phases without a window have none; of many phases only the
    /// first ones have one. Empty if no output shows them.
    #[serde(default)]
    pub timelines: Vec<Timeline>,
    /// Every detector's outcome.
    pub findings: Vec<Finding>,
    /// One entry per claim, in the order of the claims.
    pub judged: Vec<JudgedClaim>,
    /// The run's verdict.
    pub verdict: RunVerdict,
    /// Exit code of activebench.
    pub exit_code: i32,
    /// Thresholds that the profile or the user's file changed from the profile `default`.
    #[serde(default)]
    pub changed_thresholds: Vec<ChangedThreshold>,
    /// The bottleneck of each phase that was found.
    #[serde(default)]
    pub limiters: Vec<Limiter>,
    /// The figures as shares of the maximum.
    #[serde(default)]
    pub shares: Shares,
    /// The target of the run, compared with the honest figures; `None` without one.
    #[serde(default)]
    pub target: Option<JudgedTarget>,
    /// The command to run instead, or why there is none.
    pub advised: Result<Advised, String>,
    /// The judgement of each of several measurements, in their order; empty for a command that made at most one.
    #[serde(default)]
    pub measurements: Vec<JudgedMeasurement>,
    /// Measurements that used a device at the same time.
    #[serde(default)]
    pub together: Vec<Together>,
    /// Gregg's seven questions.
    pub questions: BTreeMap<String, Answer>,
    /// The detectors of the findings, in the order of their codes.
    #[serde(default)]
    pub detectors: Vec<DetectorPage>,
}

/// Why a measurement without figures is inconclusive, where nothing of its output is missing.
pub const NO_FIGURE: &str = "the tool's output has no figure to verify";

/// The judgement of one of several measurements.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JudgedMeasurement {
    /// [`crate::measurement::Measurement::number`].
    pub number: u32,
    /// Its verdict, from its own end, figures and findings.
    pub verdict: RunVerdict,
    /// Why this verdict, as one lower-case fragment.
    pub because: String,
    /// The command to run instead of its own, or why there is none.
    pub advised: Result<Advised, String>,
}

/// Measurements whose passes used one device at the same time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Together {
    /// Their numbers, ascending; at least two.
    pub numbers: Vec<u32>,
    /// Name of the device: `sda`.
    pub device: String,
    /// Bytes that the calls of their passes moved, divided by the time from the first begin of these passes to the last
    /// end; `None` where one of them is not known.
    pub rate: Option<Quantity>,
}

/// A detector as described in its manual page; Markdown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DetectorPage {
    /// `AB302`.
    pub code: String,
    /// `sync-outside-clock`.
    pub name: String,
    /// What it found, for people: `Reads came from the page cache`.
    pub title: String,
    /// Codes of detectors whose finding on the same figures explains this one.
    pub explained_by: Vec<String>,
    /// The section `What it finds`, one paragraph.
    pub finds: String,
    /// The section `Why it matters`.
    pub matters: String,
    /// The section `What to do`.
    pub to_do: String,
}

/// A threshold of the run that differs from the one of the profile `default`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChangedThreshold {
    /// `ab302_late_sync_fail_ratio`.
    pub name: String,
    /// The threshold that was used, and the rule or file that sets it.
    pub threshold: Threshold,
    /// The threshold of `default`.
    pub default: Quantity,
}

/// The answer to one of the seven questions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// One sentence; says so when the answer is unknown.
    pub answer: String,
    /// Facts and findings that it is based on.
    pub evidence: Vec<String>,
}
