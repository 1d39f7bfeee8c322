//! The result of a detector.

use serde::{Deserialize, Serialize};

use crate::fact::FactName;
use crate::units::Quantity;

/// The outcome of a detector.
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

/// The severity of a discrepancy.
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

/// A threshold with its unit and its origin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Threshold {
    /// The value.
    pub value: Quantity,
    /// Its origin: a rule, a tool, or `proposed`.
    pub source: String,
}

/// A detector's outcome for one phase or claim.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// `AB302`.
    pub code: String,
    /// `sync-outside-clock`.
    pub name: String,
    /// Outcome of the detector.
    pub outcome: Outcome,
    /// Set exactly when it fires.
    pub severity: Option<Severity>,
    /// [`crate::phase::Phase::id`]; `None` for a finding on the whole run.
    pub phase: Option<String>,
    /// Ids of the claims that it concerns; empty when it concerns the phase or run.
    pub claims: Vec<String>,
    /// The observed value.
    pub observed: Option<Quantity>,
    /// The threshold that it was compared with.
    pub threshold: Option<Threshold>,
    /// First sentence: the discrepancy with both numbers; for `Undecided` what prevents a decision;
    /// for `NotApplicable` why not; may be empty when `Silent`.
    pub message: String,
    /// Second sentence: the consequence for the reader's conclusion. Empty unless it fires.
    pub meaning: String,
    /// Recommended change: the flag or command for this tool and this run. Empty unless it fires.
    pub advice: String,
    /// The facts that it is based on.
    pub facts: Vec<FactName>,
    /// Effect on the verdict of the claims that it concerns; `None` leaves them unchanged.
    pub effect: Option<Effect>,
}

/// The effect of a firing finding on a claim.
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
