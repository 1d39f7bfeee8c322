//! The target of a run (`--target 'write >= 2 GiB/s'`), and whether its honest figures reach it.

use serde::{Deserialize, Serialize};

use crate::units::Quantity;

/// A target, compared with the honest figures of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JudgedTarget {
    /// The target in the user's words.
    pub text: String,
    /// `true` if every figure that it is about reaches it, `false` if one does not; `None` where that is unknown.
    pub met: Option<bool>,
    /// The threshold in normalised units.
    pub threshold: Quantity,
    /// The figures that it is about, in the order of the output. Empty if the run has none of this kind.
    pub figures: Vec<TargetFigure>,
    /// The result in one sentence, without the words *met* or *missed*: `write 1.64 GiB/s, 2 GiB/s required.`
    pub sentence: String,
}

/// One figure that a target is about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TargetFigure {
    /// [`crate::claim::Claim::id`].
    pub claim: String,
    /// The name of its phase.
    pub phase: String,
    /// The honest figure; `None` where it is unknown.
    pub honest: Option<Quantity>,
    /// `true` if the honest figure reaches the target; `None` where it is unknown.
    pub met: Option<bool>,
}
