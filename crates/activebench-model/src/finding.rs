//! What a detector says.

use serde::{Deserialize, Serialize};

use crate::fact::FactName;
use crate::units::Quantity;

/// How a detector ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The discrepancy is there.
    Fires,
    /// It was looked for and is not there.
    Silent,
    /// The question does not arise for this phase, tool or host.
    NotApplicable,
    /// A fact that it needs is missing or partial.
    Undecided,
}

/// How much a discrepancy weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Worth knowing; changes no verdict.
    Note,
    /// Qualifies the run.
    Warn,
    /// A claim does not hold.
    Fail,
}

/// A limit with its unit and its origin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Threshold {
    /// The limit.
    pub value: Quantity,
    /// Where it comes from: a rule, a tool, or `proposed`.
    pub source: String,
}

/// A detector's outcome for one phase or claim.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// `AB302`.
    pub code: String,
    /// `sync-outside-clock`.
    pub name: String,
    /// How it ended.
    pub outcome: Outcome,
    /// Set exactly when it fires.
    pub severity: Option<Severity>,
    /// [`crate::phase::Phase::id`]; `None` for a finding on the whole run.
    pub phase: Option<String>,
    /// Ids of the claims that it concerns; empty when it concerns the phase or run.
    pub claims: Vec<String>,
    /// The observed value.
    pub observed: Option<Quantity>,
    /// The limit that it was held against.
    pub threshold: Option<Threshold>,
    /// Sentence one: the discrepancy with both numbers; for `Undecided` what is in the way;
    /// for `NotApplicable` why not; may be empty when `Silent`.
    pub message: String,
    /// Sentence two: what it means for the reader's conclusion. Empty unless it fires.
    pub meaning: String,
    /// What to change: the flag or command for this tool and this run. Empty unless it fires.
    pub advice: String,
    /// The facts that it rests on.
    pub facts: Vec<FactName>,
    /// What it does to the verdict of the claims that it concerns; `None` leaves them alone.
    pub effect: Option<Effect>,
}

/// What a firing finding does to a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    /// The evidence does not suffice.
    Unverifiable,
    /// The arithmetic is right, but it measures something else.
    Misleading,
    /// The number does not follow from the I/O that happened.
    Refuted,
}
