//! Verdicts on claims and on the run.
//!
//! *Confirmed* is created in one place: [`JudgedClaim::confirmed`] takes a [`Confirmation`], and only an observed figure
//! whose tolerance contains the claim creates a [`Confirmation`].

use serde::{Deserialize, Serialize};

use crate::claim::Claim;
use crate::units::Quantity;

/// The verdict on one claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClaimVerdict {
    /// The claim agrees with the observation and means what its label says.
    Confirmed,
    /// The arithmetic is right, but it measures something else.
    Misleading,
    /// The claim does not follow from the I/O that happened.
    Refuted,
    /// Evidence is missing or lost.
    Unverifiable,
    /// Not contradicted, but no observation is close enough to confirm it.
    NotChecked,
}

impl ClaimVerdict {
    /// Every verdict.
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

    /// Returns `true` when the observation contradicts the claim.
    pub fn is_contradicted(self) -> bool {
        matches!(self, ClaimVerdict::Misleading | ClaimVerdict::Refuted)
    }

    /// Returns the honest figure for a claim with this verdict, see [`JudgedClaim::honest`].
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
    /// As `Verified`, but with warnings.
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
    /// Meaning of the figure: `durable write rate: 1 GiB until the end of the fsync`.
    pub meaning: String,
}

/// The claims that an observed figure confirms. Both borders are included and are in the unit of the observed figure.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Tolerance {
    /// Smallest claim.
    pub low: f64,
    /// Largest claim.
    pub high: f64,
    /// Origin of the borders, as a lower-case fragment.
    pub reason: String,
}

/// An observed figure and the tolerance that contains the claim.
#[derive(Clone, Debug, PartialEq)]
pub struct Confirmation {
    observed: Quantity,
    tolerance: Tolerance,
}

impl Confirmation {
    /// Compares a claimed figure with an observed one. `rounding` is the largest amount by which the tool's rounding may
    /// have changed the printed figure, in the unit of both.
    ///
    /// `None` when the units differ, when a number is not finite, when the tolerance does not contain the observed
    /// figure itself, and when the claim is outside the tolerance.
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

/// What a claimed figure would have been without the observation. All values have the claim's unit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Unobserved {
    /// The middle of the interval.
    pub value: f64,
    /// Smallest value that what the observation took allows. Known from the programs' run time and from counts, see
    /// `observer_share_least_ratio` and `observer_share_most_ratio`.
    pub low: f64,
    /// Largest such value.
    pub high: f64,
    /// The same interval, widened by how much the rate varied within the pass: another run, without observation and
    /// under the same conditions, lies in it 19 times in 20. `None` where the rate over the pass is not known.
    pub again: Option<Again>,
}

/// An interval for another run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Again {
    /// Smallest value.
    pub low: f64,
    /// Largest value.
    pub high: f64,
}

/// A judged claim.
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
    /// Activity that the number measured instead, for a misleading claim: `copying into the page cache`.
    pub measured_instead: Option<String>,
    /// The claimed figure without the observation; `None` for counts and shares of CPU time, and where what the
    /// observation took is not known.
    pub unobserved: Option<Unobserved>,
    /// Codes of the findings that fire on it, most severe first.
    pub findings: Vec<String>,
    /// Codes of the detectors that are undecided, where nothing else keeps it from being confirmed.
    #[serde(skip)]
    left_open_by: Vec<String>,
}

impl JudgedClaim {
    /// Creates the judgement of a claim that agrees with the observation.
    pub fn confirmed(claim: &str, confirmation: Confirmation) -> Self {
        let Confirmation { observed, tolerance } = confirmation;
        Self {
            tolerance: Some(tolerance),
            ..Self::not_confirmed(claim, ClaimVerdict::Confirmed, Some(observed), Ok(None))
        }
    }

    /// Creates the judgement of a claim whose arithmetic is right but that measures something else, which `instead`
    /// names. `honest` is the corrected figure, or why there is none.
    pub fn misleading(
        claim: &str,
        observed: Option<Quantity>,
        instead: Option<String>,
        honest: Result<Corrected, String>,
    ) -> Self {
        let base = Self::not_confirmed(claim, ClaimVerdict::Misleading, observed, honest.map(Some));
        Self { measured_instead: instead, ..base }
    }

    /// Creates the judgement of a claim that does not follow from the I/O that happened.
    pub fn refuted(claim: &str, observed: Option<Quantity>, honest: Result<Corrected, String>) -> Self {
        Self::not_confirmed(claim, ClaimVerdict::Refuted, observed, honest.map(Some))
    }

    /// Creates the judgement of a claim whose evidence is missing or lost, with the reason.
    pub fn unverifiable(claim: &str, observed: Option<Quantity>, why: impl Into<String>) -> Self {
        Self::not_confirmed(claim, ClaimVerdict::Unverifiable, observed, Err(why.into()))
    }

    /// Creates the judgement of a claim that nothing keeps from being confirmed but undecided detectors, by their codes.
    pub fn left_open(claim: &str, observed: Option<Quantity>, by: Vec<String>, why: impl Into<String>) -> Self {
        Self { left_open_by: by, ..Self::unverifiable(claim, observed, why) }
    }

    /// Creates the judgement of a claim that is not contradicted, but that no observation can confirm, with the reason.
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
            unobserved: None,
            findings: Vec::new(),
            left_open_by: Vec::new(),
        }
    }

    /// Returns the judgement with the codes of the findings that fire on the claim.
    pub fn with_findings(self, findings: Vec<String>) -> Self {
        Self { findings, ..self }
    }

    /// Returns the judgement with the claimed figure as it would have been without the observation.
    pub fn with_unobserved(self, unobserved: Option<Unobserved>) -> Self {
        Self { unobserved, ..self }
    }

    /// Returns the verdict.
    pub fn verdict(&self) -> ClaimVerdict {
        self.verdict
    }

    /// Returns the same figure computed from the observation; `None` when this was not possible. A confirmed claim has
    /// one.
    pub fn observed(&self) -> Option<Quantity> {
        self.observed
    }

    /// Returns the codes of the undecided detectors that alone keep the claim from being confirmed.
    pub fn left_open_by(&self) -> &[String] {
        &self.left_open_by
    }

    /// Returns the range of claims that the observed figure confirms, including this one. Only for confirmed claims.
    pub fn tolerance(&self) -> Option<&Tolerance> {
        self.tolerance.as_ref()
    }

    /// Returns the honest figure: the claim itself where it is confirmed, the corrected figure where it does not hold
    /// and there is one of the same unit; `None` otherwise. `claim` is the judged claim.
    pub fn honest(&self, claim: &Claim) -> Option<Quantity> {
        self.verdict.honest(claim.value, self.corrected.as_ref().map(|corrected| corrected.value))
    }

    /// Returns why there is no honest figure. Call it only where there is none.
    pub fn why_no_honest(&self) -> String {
        why_no_honest(self.no_correction.as_deref(), self.corrected.is_some())
    }
}

/// Returns why there is no honest figure: the reason from a judgement, or that its corrected figure has another unit.
pub fn why_no_honest(no_correction: Option<&str>, is_corrected: bool) -> String {
    match no_correction {
        Some(why) => why.to_owned(),
        None if is_corrected => "the honest figure is of another kind".to_owned(),
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
            // Borders that do not contain the observed figure are not a tolerance of it.
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
