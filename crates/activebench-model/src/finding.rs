//! The result of a detector.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

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
    /// Its origin: a rule, a tool, or `default` for our own value.
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
    pub message: Message,
    /// Second sentence: the consequence for the reader's conclusion. Empty unless it fires.
    pub meaning: String,
    /// Recommended change: the flag or command for this tool and this run. Empty unless it fires.
    pub advice: String,
    /// The facts that it is based on.
    pub facts: Vec<FactName>,
    /// Effect on the verdict of the claims that it concerns; `None` leaves them unchanged.
    pub effect: Option<Effect>,
}

/// The first sentence of a finding, with the user's reason for suppressing the detector. As text and in JSON the reason
/// follows the sentence: `... (suppressed: shared host)`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message {
    sentence: String,
    suppressed: Option<String>,
}

impl Message {
    /// Returns the sentence without the reason.
    pub fn sentence(&self) -> &str {
        &self.sentence
    }

    /// Returns the user's reason for suppressing the detector; `None` where it was not suppressed.
    pub fn suppression(&self) -> Option<&str> {
        self.suppressed.as_deref()
    }

    /// Sets the user's reason for suppressing the detector.
    pub fn suppress(&mut self, reason: impl Into<String>) {
        self.suppressed = Some(reason.into());
    }

    /// Returns `true` without a sentence and without a reason.
    pub fn is_empty(&self) -> bool {
        self.sentence.is_empty() && self.suppressed.is_none()
    }
}

impl<T: Into<String>> From<T> for Message {
    fn from(sentence: T) -> Self {
        Self { sentence: sentence.into(), suppressed: None }
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence)?;
        self.suppressed.as_ref().map_or(Ok(()), |reason| write!(f, " (suppressed: {reason})"))
    }
}

impl Serialize for Message {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A stored message is one sentence: a reader judges anew, and does not need the reason.
impl<'de> Deserialize<'de> for Message {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::from)
    }
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
