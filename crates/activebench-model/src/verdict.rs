//! Verdicts on claims and on the run.

use serde::{Deserialize, Serialize};

use crate::claim::Claim;
use crate::units::Quantity;

/// The verdict on one claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClaimVerdict {
    /// Agrees with the observation and means what its label says.
    Confirmed,
    /// Arithmetic right, but it measures something else.
    Misleading,
    /// Does not follow from the I/O that happened.
    Refuted,
    /// Evidence missing or lost.
    Unverifiable,
}

impl ClaimVerdict {
    /// As written in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            ClaimVerdict::Confirmed => "confirmed",
            ClaimVerdict::Misleading => "misleading",
            ClaimVerdict::Refuted => "refuted",
            ClaimVerdict::Unverifiable => "unverifiable",
        }
    }

    /// The honest figure behind a claim with this verdict, see [`JudgedClaim::honest`].
    pub fn honest(self, claimed: Quantity, corrected: Option<Quantity>) -> Option<Quantity> {
        match self {
            ClaimVerdict::Confirmed => Some(claimed),
            ClaimVerdict::Misleading | ClaimVerdict::Refuted => corrected.filter(|value| value.unit == claimed.unit),
            ClaimVerdict::Unverifiable => None,
        }
    }
}

/// The verdict on a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunVerdict {
    /// Every claim holds.
    Verified,
    /// Every claim holds; there are warnings.
    Qualified,
    /// A claim does not hold.
    Discrepancy,
    /// The evidence does not suffice.
    Inconclusive,
    /// The benchmark itself failed.
    Failed,
}

impl RunVerdict {
    /// As written in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            RunVerdict::Verified => "verified",
            RunVerdict::Qualified => "qualified",
            RunVerdict::Discrepancy => "discrepancy",
            RunVerdict::Inconclusive => "inconclusive",
            RunVerdict::Failed => "failed",
        }
    }
}

/// The honest figure for a claim.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Corrected {
    /// The figure.
    pub value: Quantity,
    /// What it is: `durable write rate: 1 GiB until the end of the fsync`.
    pub meaning: String,
}

/// A claim judged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JudgedClaim {
    /// [`crate::claim::Claim::id`].
    pub claim: String,
    /// The verdict.
    pub verdict: ClaimVerdict,
    /// The same figure rebuilt from the observation; `None` when it could not be.
    pub observed: Option<Quantity>,
    /// The honest figure, for a claim that does not hold.
    pub corrected: Option<Corrected>,
    /// Why there is no corrected figure although the claim does not hold.
    pub no_correction: Option<String>,
    /// What the number did measure, for a misleading claim: `copying into the page cache`.
    pub measured_instead: Option<String>,
    /// Codes of the findings that fire on it, most severe first.
    pub findings: Vec<String>,
}

impl JudgedClaim {
    /// The honest figure: the claim itself where it is confirmed, the corrected one where it does not hold and there
    /// is one of the same unit; `None` otherwise. `claim` is the one that was judged.
    pub fn honest(&self, claim: &Claim) -> Option<Quantity> {
        self.verdict.honest(claim.value, self.corrected.as_ref().map(|corrected| corrected.value))
    }

    /// Why there is no honest figure; asked where there is none.
    pub fn why_no_honest(&self) -> String {
        why_no_honest(self.no_correction.as_deref(), self.corrected.is_some())
    }
}

/// Why there is no honest figure, from the reason that a judgement states and whether it has a corrected figure, which
/// then has another unit.
pub fn why_no_honest(no_correction: Option<&str>, is_corrected: bool) -> String {
    match no_correction {
        Some(why) => why.to_owned(),
        None if is_corrected => "the figure that stands for it is of another kind".to_owned(),
        None => "there is no honest figure".to_owned(),
    }
}
