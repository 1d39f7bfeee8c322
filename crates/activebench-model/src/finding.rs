//! The result of a detector.

use std::collections::HashMap;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::claim::Claim;
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

/// Findings by what they are about. The findings on one claim are then found without looking at those on others. Only
/// those that fire or are undecided are in it: the others, nearly all of them, say nothing on a claim.
#[derive(Debug)]
pub struct FindingsByClaim<'a> {
    findings: &'a [Finding],
    /// Places of the findings on the whole run.
    of_run: Vec<usize>,
    /// Those on a whole phase, by its id.
    of_phase: HashMap<&'a str, Vec<usize>>,
    /// Those on single claims, by the claim's id.
    of_claim: HashMap<&'a str, Vec<usize>>,
}

impl<'a> FindingsByClaim<'a> {
    /// Sorts the findings of a run, in one pass.
    pub fn new(findings: &'a [Finding]) -> Self {
        let mut sorted = Self { findings, of_run: Vec::new(), of_phase: HashMap::new(), of_claim: HashMap::new() };
        let speaks = |finding: &Finding| match finding.outcome {
            Outcome::Fires | Outcome::Undecided => true,
            Outcome::Silent | Outcome::NotApplicable => false,
        };
        for (place, finding) in findings.iter().enumerate().filter(|(_, finding)| speaks(finding)) {
            match (finding.claims.as_slice(), &finding.phase) {
                ([], None) => sorted.of_run.push(place),
                ([], Some(phase)) => sorted.of_phase.entry(phase).or_default().push(place),
                (claims, _) => claims.iter().for_each(|id| sorted.of_claim.entry(id).or_default().push(place)),
            }
        }
        sorted
    }

    /// Returns the findings that say something on a claim, its phase or the whole run, each once, in the order of the
    /// findings.
    pub fn concerning(&self, claim: &Claim) -> Vec<&'a Finding> {
        let of_phase = self.of_phase.get(claim.phase.as_str()).map_or(&[][..], Vec::as_slice);
        let of_claim = self.of_claim.get(claim.id.as_str()).map_or(&[][..], Vec::as_slice);
        let mut places = [self.of_run.as_slice(), of_phase, of_claim].concat();
        places.sort_unstable();
        places.dedup();
        places.into_iter().map(|place| &self.findings[place]).collect()
    }
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Finding, FindingsByClaim, Outcome};
    use crate::claim::Claim;

    fn finding(code: &str, phase: Option<&str>, claims: &[&str]) -> Finding {
        let value = json!({
            "code": code, "name": code, "outcome": "undecided", "severity": null, "phase": phase, "claims": claims,
            "observed": null, "threshold": null, "message": "", "meaning": "", "facts": [], "effect": null,
            "advice": "",
        });
        serde_json::from_value(value).expect("a finding")
    }

    fn claim(id: &str, phase: &str) -> Claim {
        let value = json!({
            "id": id, "phase": phase, "metric": "throughput", "value": {"value": 1.0, "unit": "bytes_per_sec"},
            "printed": {"text": "1", "unit": ""}, "resolution": 0.5, "subject": "device", "subject_reason": "",
            "claimed_bytes": null, "source": {"stream": "stdout", "line": 1, "text": ""},
        });
        serde_json::from_value(value).expect("a claim")
    }

    #[test]
    fn a_claim_has_the_findings_on_itself_its_phase_and_the_run_in_their_order() {
        let findings = [
            finding("AB001", Some("write"), &["c2", "c1", "c1"]),
            finding("AB002", None, &[]),
            finding("AB003", Some("read"), &[]),
            finding("AB004", Some("write"), &[]),
            finding("AB005", Some("write"), &["c2"]),
            finding("AB006", None, &["c1"]),
        ];
        let by_claim = FindingsByClaim::new(&findings);
        let of = |id: &str, phase: &str| -> Vec<&str> {
            by_claim.concerning(&claim(id, phase)).iter().map(|finding| finding.code.as_str()).collect()
        };
        assert_eq!(of("c1", "write"), ["AB001", "AB002", "AB004", "AB006"]);
        assert_eq!(of("c2", "write"), ["AB001", "AB002", "AB004", "AB005"]);
        // A finding on claims of a phase is not on the others of that phase.
        assert_eq!(of("c3", "write"), ["AB002", "AB004"]);
        assert_eq!(of("c4", "read"), ["AB002", "AB003"]);
    }

    #[test]
    fn what_was_not_found_says_nothing_on_a_claim() {
        let outcomes = [Outcome::Silent, Outcome::Undecided, Outcome::NotApplicable, Outcome::Fires];
        let findings = outcomes.map(|outcome| Finding { outcome, ..finding("AB001", Some("write"), &["c1"]) });
        let by_claim = FindingsByClaim::new(&findings);
        let said: Vec<Outcome> =
            by_claim.concerning(&claim("c1", "write")).iter().map(|finding| finding.outcome).collect();
        assert_eq!(said, [Outcome::Undecided, Outcome::Fires]);
    }
}
