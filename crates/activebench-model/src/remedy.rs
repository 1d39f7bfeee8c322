//! A command with the advice of its report applied, and both runs side by side.

use serde::{Deserialize, Serialize};

use crate::claim::Metric;
use crate::report::JudgedRun;
use crate::units::Quantity;
use crate::verdict::ClaimVerdict;

/// The command that a report advises to run instead.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Advised {
    /// The whole command, wrapper included.
    pub argv: Vec<String>,
    /// What it measures, in a few words: `sequential write and read, fsync included`.
    pub answers: String,
    /// About how long all passes take together, in seconds; `None` where it is not known.
    pub seconds: Option<f64>,
    /// The changes, each once, with the findings that require them.
    pub applied: Vec<Applied>,
    /// Findings that will remain, with the reason.
    pub left: Vec<Left>,
}

/// One change of the command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Applied {
    /// The findings that require it.
    pub codes: Vec<String>,
    /// The change: ``added `-e -c` ``.
    pub change: String,
}

/// A finding that will remain in the second run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Left {
    /// Its code.
    pub code: String,
    /// Why no option was changed for it.
    pub why: String,
}

/// Two runs of one benchmark: as it was given, and with the advice applied.
#[derive(Clone, Debug)]
pub struct SideBySide {
    /// The command as the user gave it.
    pub as_given: JudgedRun,
    /// The same command with the advice applied.
    pub with_advice: JudgedRun,
    /// The command of the second run, with applied and omitted changes.
    pub advised: Advised,
    /// Every figure of the first run, in the order of its output, with that of the second.
    pub figures: Vec<Beside>,
    /// Number of figures that are confirmed with the advice applied.
    pub holding: usize,
}

/// One figure of both runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Beside {
    /// [`crate::phase::Phase::id`].
    pub phase: String,
    /// Kind of number.
    pub metric: Metric,
    /// The figure of the command as given.
    pub as_given: Side,
    /// The figure with the advice; `None` where the second run did not print it.
    pub with_advice: Option<Side>,
    /// Why the honest figures are more than 2 times apart; `None` where they are not, or one is unknown.
    pub why: Option<String>,
}

/// A figure of one run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Side {
    /// As the tool printed it, normalised.
    pub claimed: Quantity,
    /// The claim itself where it is confirmed, the corrected figure where there is one; `None` otherwise.
    pub honest: Option<Quantity>,
    /// The verdict on it.
    pub verdict: ClaimVerdict,
}
