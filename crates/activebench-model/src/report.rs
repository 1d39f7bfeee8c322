//! A judged run: the value that every report format renders.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::bound::Shares;
use crate::claim::Parsed;
use crate::course::Course;
use crate::finding::{Finding, Threshold};
use crate::limiter::Limiter;
use crate::phase::Phase;
use crate::profile::Profiles;
use crate::run::Manifest;
use crate::units::Quantity;
use crate::verdict::{JudgedClaim, RunVerdict};

/// All stages of one run, judged.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct JudgedRun {
    /// The run's manifest.
    pub manifest: Manifest,
    /// Where the run directory lies, as the user would name it.
    pub directory: String,
    /// Claims and notes.
    pub parsed: Parsed,
    /// Phases with their facts.
    pub phases: Vec<Phase>,
    /// Facts on the whole run.
    pub run_facts: crate::fact::Facts,
    /// Where the time of the threads went, and in which functions.
    #[serde(default)]
    pub profiles: Profiles,
    /// What happened in the phases over time, in their order: phases that have no window have none, and of many the
    /// first have one.
    #[serde(default)]
    pub courses: Vec<Course>,
    /// Every detector's outcome.
    pub findings: Vec<Finding>,
    /// One entry a claim, in the order of the claims.
    pub judged: Vec<JudgedClaim>,
    /// The run's verdict.
    pub verdict: RunVerdict,
    /// What activebench's exit code is.
    pub exit_code: i32,
    /// Thresholds that are not those of the profile `default`: by the profile, or by the user's file.
    #[serde(default)]
    pub changed_thresholds: Vec<ChangedThreshold>,
    /// What limited each phase that was found.
    #[serde(default)]
    pub limiters: Vec<Limiter>,
    /// The figures as shares of what was possible.
    #[serde(default)]
    pub shares: Shares,
    /// Gregg's seven questions.
    pub questions: BTreeMap<String, Answer>,
    /// What the detectors of the findings are, in the order of their codes.
    #[serde(default)]
    pub detectors: Vec<DetectorPage>,
}

/// A detector in the words of its manual page; Markdown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DetectorPage {
    /// `AB302`.
    pub code: String,
    /// `sync-outside-clock`.
    pub name: String,
    /// What it finds, in a paragraph.
    pub finds: String,
    /// Why it matters.
    pub matters: String,
    /// What to do about it.
    pub to_do: String,
}

/// A threshold that the run was judged with instead of the one of the profile `default`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChangedThreshold {
    /// `ab302_late_sync_fail_ratio`.
    pub name: String,
    /// What it was judged with, and whose rule or file says so.
    pub threshold: Threshold,
    /// What `default` has.
    pub default: Quantity,
}

/// The answer to one of the seven questions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// One sentence; says so when it is not known.
    pub answer: String,
    /// Facts and findings that it rests on.
    pub evidence: Vec<String>,
}
