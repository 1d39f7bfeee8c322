//! Verdicts on claims and on the run.
//!
//! *Confirmed* is made in one place: [`JudgedClaim::confirmed`] takes a [`Confirmation`], and only an observed figure
//! whose tolerance contains the claim makes one.

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
    /// Not contradicted, but no observation is close enough to confirm it.
    NotChecked,
}

impl ClaimVerdict {
    /// Every one.
    pub const ALL: &'static [ClaimVerdict] = &[
        ClaimVerdict::Confirmed,
        ClaimVerdict::Misleading,
        ClaimVerdict::Refuted,
        ClaimVerdict::Unverifiable,
        ClaimVerdict::NotChecked,
    ];

    /// As written in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            ClaimVerdict::Confirmed => "confirmed",
            ClaimVerdict::Misleading => "misleading",
            ClaimVerdict::Refuted => "refuted",
            ClaimVerdict::Unverifiable => "unverifiable",
            ClaimVerdict::NotChecked => "not-checked",
        }
    }

    /// As written for a person: `not checked`.
    pub fn words(self) -> &'static str {
        match self {
            ClaimVerdict::NotChecked => "not checked",
            verdict => verdict.as_str(),
        }
    }

    /// Whether the observation contradicts the claim.
    pub fn is_contradicted(self) -> bool {
        matches!(self, ClaimVerdict::Misleading | ClaimVerdict::Refuted)
    }

    /// The honest figure behind a claim with this verdict, see [`JudgedClaim::honest`].
    pub fn honest(self, claimed: Quantity, corrected: Option<Quantity>) -> Option<Quantity> {
        match self {
            ClaimVerdict::Confirmed => Some(claimed),
            ClaimVerdict::Misleading | ClaimVerdict::Refuted => corrected.filter(|value| value.unit == claimed.unit),
            ClaimVerdict::Unverifiable | ClaimVerdict::NotChecked => None,
        }
    }
}

/// The verdict on a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunVerdict {
    /// The rates are confirmed, and no claim is contradicted.
    Verified,
    /// The same; there are warnings.
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

/// The claims that an observed figure confirms. Both borders are in the unit of the observed figure and belong to it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Tolerance {
    /// Smallest claim.
    pub low: f64,
    /// Largest claim.
    pub high: f64,
    /// Where the borders come from: a lower-case fragment.
    pub reason: String,
}

/// An observed figure together with the tolerance in which a claim was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Confirmation {
    observed: Quantity,
    tolerance: Tolerance,
}

impl Confirmation {
    /// Holds a claimed figure against an observed one. `rounding` is how far the tool's rounding may have moved the
    /// printed figure, in the unit of both.
    ///
    /// `None` when the units differ, when a number is not finite, when the tolerance does not contain the observed
    /// figure itself, and when the claim lies outside the tolerance.
    pub fn of(claimed: Quantity, rounding: f64, observed: Quantity, tolerance: Tolerance) -> Option<Self> {
        let Tolerance { low, high, .. } = tolerance;
        let finite = [claimed.value, rounding, observed.value, low, high].iter().all(|number| number.is_finite());
        let is_inside = claimed.unit == observed.unit
            && finite
            && rounding >= 0.0
            && (low..=high).contains(&observed.value)
            && claimed.value + rounding >= low
            && claimed.value - rounding <= high;
        is_inside.then_some(Self { observed, tolerance })
    }
}

/// A claim judged.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct JudgedClaim {
    /// [`crate::claim::Claim::id`].
    pub claim: String,
    verdict: ClaimVerdict,
    observed: Option<Quantity>,
    tolerance: Option<Tolerance>,
    /// The honest figure, for a claim that does not hold.
    pub corrected: Option<Corrected>,
    /// Why there is no honest figure, for a claim that is not confirmed and has none.
    pub no_correction: Option<String>,
    /// What the number did measure, for a misleading claim: `copying into the page cache`.
    pub measured_instead: Option<String>,
    /// Codes of the findings that fire on it, most severe first.
    pub findings: Vec<String>,
}

impl JudgedClaim {
    /// A claim that agrees with the observation.
    pub fn confirmed(claim: &str, confirmation: Confirmation) -> Self {
        let Confirmation { observed, tolerance } = confirmation;
        Self {
            tolerance: Some(tolerance),
            ..Self::not_confirmed(claim, ClaimVerdict::Confirmed, Some(observed), Ok(None))
        }
    }

    /// A claim whose arithmetic is right and that measures something else: what. `honest` is the figure that stands
    /// for it, or why there is none.
    pub fn misleading(
        claim: &str,
        observed: Option<Quantity>,
        instead: Option<String>,
        honest: Result<Corrected, String>,
    ) -> Self {
        let base = Self::not_confirmed(claim, ClaimVerdict::Misleading, observed, honest.map(Some));
        Self { measured_instead: instead, ..base }
    }

    /// A claim that does not follow from the I/O that happened.
    pub fn refuted(claim: &str, observed: Option<Quantity>, honest: Result<Corrected, String>) -> Self {
        Self::not_confirmed(claim, ClaimVerdict::Refuted, observed, honest.map(Some))
    }

    /// A claim whose evidence is missing or lost: why.
    pub fn unverifiable(claim: &str, observed: Option<Quantity>, why: impl Into<String>) -> Self {
        Self::not_confirmed(claim, ClaimVerdict::Unverifiable, observed, Err(why.into()))
    }

    /// A claim that nothing contradicts and that no observation is close enough to confirm: why.
    pub fn not_checked(claim: &str, observed: Option<Quantity>, why: impl Into<String>) -> Self {
        Self::not_confirmed(claim, ClaimVerdict::NotChecked, observed, Err(why.into()))
    }

    fn not_confirmed(
        claim: &str,
        verdict: ClaimVerdict,
        observed: Option<Quantity>,
        honest: Result<Option<Corrected>, String>,
    ) -> Self {
        let (corrected, no_correction) = match honest {
            Ok(corrected) => (corrected, None),
            Err(why) => (None, Some(why)),
        };
        Self {
            claim: claim.to_owned(),
            verdict,
            observed,
            tolerance: None,
            corrected,
            no_correction,
            measured_instead: None,
            findings: Vec::new(),
        }
    }

    /// The same, with the codes of the findings that fire on it.
    pub fn with_findings(self, findings: Vec<String>) -> Self {
        Self { findings, ..self }
    }

    /// The verdict.
    pub fn verdict(&self) -> ClaimVerdict {
        self.verdict
    }

    /// The same figure rebuilt from the observation; `None` when it could not be. Always there for a confirmed claim.
    pub fn observed(&self) -> Option<Quantity> {
        self.observed
    }

    /// The claims that the observed figure confirms, among them this one. There for confirmed claims alone.
    pub fn tolerance(&self) -> Option<&Tolerance> {
        self.tolerance.as_ref()
    }

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Unit;

    fn check(claimed: Quantity, rounding: f64, observed: f64, (low, high): (f64, f64), expected: bool) {
        let tolerance = Tolerance { low, high, reason: "5 %".to_owned() };
        let confirmation = Confirmation::of(claimed, rounding, Quantity::bytes_per_sec(observed), tolerance.clone());
        assert_eq!(confirmation.is_some(), expected, "{claimed:?} {rounding} {observed} {tolerance:?}");
        if let Some(confirmation) = confirmation {
            let judged = JudgedClaim::confirmed("c1", confirmation);
            assert_eq!(judged.verdict(), ClaimVerdict::Confirmed);
            assert_eq!(judged.observed().map(|observed| observed.value), Some(observed));
            assert_eq!(judged.tolerance(), Some(&tolerance));
        }
    }

    #[test]
    fn only_an_observation_whose_tolerance_contains_the_claim_confirms_it() {
        let rate = Quantity::bytes_per_sec;
        for (claimed, rounding, observed, borders, expected) in [
            (rate(100.0), 0.0, 100.0, (95.0, 105.0), true),
            (rate(105.0), 0.0, 100.0, (95.0, 105.0), true),
            (rate(105.1), 0.0, 100.0, (95.0, 105.0), false),
            (rate(94.0), 0.0, 100.0, (95.0, 105.0), false),
            // A printed figure is rounded.
            (rate(105.1), 0.5, 100.0, (95.0, 105.0), true),
            (rate(94.0), 1.0, 100.0, (95.0, 105.0), true),
            // Borders beside the observed figure are no tolerance of it.
            (rate(100.0), 0.0, 200.0, (95.0, 105.0), false),
            (Quantity { value: 100.0, unit: Unit::OpsPerSec }, 0.0, 100.0, (95.0, 105.0), false),
            (rate(f64::NAN), 0.0, 100.0, (95.0, 105.0), false),
            (rate(100.0), f64::INFINITY, 100.0, (95.0, 105.0), false),
            (rate(100.0), 0.0, 100.0, (0.0, f64::INFINITY), false),
        ] {
            check(claimed, rounding, observed, borders, expected);
        }
    }

    #[test]
    fn what_is_not_confirmed_has_no_tolerance_and_says_why() {
        let observed = Some(Quantity::ns(1));
        for (judged, verdict) in [
            (JudgedClaim::not_checked("c1", observed, "why"), ClaimVerdict::NotChecked),
            (JudgedClaim::unverifiable("c1", None, "why"), ClaimVerdict::Unverifiable),
            (JudgedClaim::refuted("c1", observed, Err("why".to_owned())), ClaimVerdict::Refuted),
            (JudgedClaim::misleading("c1", observed, None, Err("why".to_owned())), ClaimVerdict::Misleading),
        ] {
            assert_eq!((judged.verdict(), judged.tolerance()), (verdict, None));
            assert_eq!(judged.no_correction.as_deref(), Some("why"));
        }
    }
}
