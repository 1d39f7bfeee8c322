//! A figure as a share of what was possible.

use serde::{Deserialize, Serialize};

use crate::units::Quantity;

/// One figure beside its bound.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Share {
    /// [`crate::claim::Claim::id`].
    pub claim: String,
    /// Which figure of the claim.
    pub figure: ShareOf,
    /// The figure.
    pub value: Quantity,
    /// What it could be at most (a latency: at least), in the unit of `value`: the tightest of `bounds`.
    pub bound: Quantity,
    /// How near the figure is: rate / bound, bound / latency. 1 is at the bound; above 1 it was passed.
    pub ratio: f64,
    /// Which part bounds it, as an end of `83 % of ...`: `what the device gives for random 4 KiB reads at depth 1`.
    pub part: String,
    /// Whether the bound was measured by `activebench ceiling`; the others follow from the link.
    pub measured: bool,
    /// Every part that bounds it, the tightest first.
    pub bounds: Vec<Bound>,
}

/// Which figure of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ShareOf {
    /// The honest one: the claim itself where it holds.
    Honest,
    /// What was claimed, where that does not hold: beside what bounds the way that its bytes took.
    Claimed,
}

/// One part's bound for one figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bound {
    /// As [`Share::part`].
    pub part: String,
    /// The bound.
    pub value: Quantity,
    /// See [`Share::measured`].
    pub measured: bool,
}

/// The shares of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Shares {
    /// At most two a claim, in the order of the claims.
    pub shares: Vec<Share>,
    /// What the reader must know about the bounds, or why there are none: a line each.
    pub notes: Vec<String>,
}
