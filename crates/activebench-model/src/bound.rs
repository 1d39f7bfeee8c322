//! A figure as a share of the maximum.

use serde::{Deserialize, Serialize};

use crate::units::Quantity;

/// One figure and its bound.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Share {
    /// [`crate::claim::Claim::id`].
    pub claim: String,
    /// Which figure of the claim.
    pub figure: ShareOf,
    /// The figure.
    pub value: Quantity,
    /// Maximum of the figure (of a latency: minimum), in the unit of `value`: the tightest of `bounds`.
    pub bound: Quantity,
    /// Figure as a share of the bound: rate / bound, bound / latency. 1 is at the bound; above 1 is past it.
    pub ratio: f64,
    /// The part that bounds it, as an end of `83 % of ...`: `what the device gives for random 4 KiB reads at depth 1`.
    pub part: String,
    /// True if `activebench ceiling` measured the bound. Other bounds follow from the link.
    pub measured: bool,
    /// All parts that bound it, the tightest first.
    pub bounds: Vec<Bound>,
}

/// A figure of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ShareOf {
    /// The honest figure; the claim itself where it holds.
    Honest,
    /// The claimed figure where it does not hold. Its bounds are those of the path that its bytes took.
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
    /// At most two per claim, in the order of the claims.
    pub shares: Vec<Share>,
    /// Remarks on the bounds for the reader, or why there are none: one line each.
    pub notes: Vec<String>,
    /// Measured bounds that an honest figure exceeded, in the order of the claims. They are not among the bounds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exceeded: Vec<Exceeded>,
}

/// A measured bound that an honest figure exceeded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Exceeded {
    /// The figure.
    pub value: Quantity,
    /// The bound.
    pub bound: Bound,
    /// The file from which its ceiling was taken, [`crate::ceiling::UsedCeiling::file`].
    pub file: String,
}
