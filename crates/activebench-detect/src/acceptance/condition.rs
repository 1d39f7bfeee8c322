//! The conditions that have to be met before the figures of a benchmark are judged, each with its evidence.
//!
//! The evidence are facts and findings of the judged runs. With a missing fact, a condition is *not known*; it never
//! counts as met.

use activebench_model::acceptance::{Condition, ConditionState};
use activebench_model::finding::{Finding, Outcome, Severity};
use activebench_model::units::Quantity;

use super::condition_detectors::{FOREIGN, THROTTLING, WHOLE};
use super::evidence::{PhaseEvidence, RunEvidence};
use super::file::{AcceptanceFile, Benchmark};
use super::unit::Target;
use super::{Recorded, plain};
use crate::detector::Detector;
use crate::detectors::{foreign_io as foreign, no_steady_state, not_reproducible};

/// The text about met conditions is cut after so many runs.
const EVIDENCE_OF_MET: usize = 3;

/// A question, its answer and its evidence.
struct Asked {
    state: ConditionState,
    evidence: Vec<String>,
    observed: Option<Quantity>,
    /// The first objection, as a plain sentence.
    why: Option<String>,
}

/// One answer: its evidence, and the objection as a plain sentence.
struct Answer {
    state: ConditionState,
    evidence: String,
    why: String,
}

/// What the conditions of a benchmark are judged by.
#[derive(Clone, Copy)]
pub(super) struct Judged<'a> {
    /// The agreement.
    pub(super) file: &'a AcceptanceFile,
    /// The unit under test.
    pub(super) unit: &'a Target,
    /// The benchmark.
    pub(super) benchmark: &'a Benchmark,
    /// Its runs, with the findings of their series.
    pub(super) recorded: &'a Recorded,
    /// The phases that limits name.
    pub(super) phases: &'a [&'a str],
}

/// Returns every condition of a benchmark.
pub(super) fn conditions(judged: Judged<'_>) -> Vec<Condition> {
    let Judged { file, unit, benchmark, recorded, .. } = judged;
    let asks = &file.conditions;
    let steady = benchmark.steady_state.unwrap_or(asks.steady_state);
    let of = |name: &str, words: String, is_asked: bool, answer: &dyn Fn() -> Asked| {
        let Asked { state, evidence, observed, why } = match (is_asked, recorded.runs.is_empty()) {
            (false, _) => Asked { state: ConditionState::NotAsked, evidence: Vec::new(), observed: None, why: None },
            (true, true) => not_known("no run was recorded"),
            (true, false) => answer(),
        };
        let is_open = matches!(state, ConditionState::NotMet | ConditionState::NotKnown);
        Condition { name: name.to_owned(), asks: words, state, evidence, observed, why: why.filter(|_| is_open) }
    };
    let identity_words = match unit.identity_words() {
        words if words.is_empty() => "a device of a certain identity".to_owned(),
        words => format!("the device is of {words}"),
    };
    vec![
        of("identity", identity_words, unit.asks_identity(), &|| judged.identity()),
        of(
            "foreign_io_at_most",
            format!("foreign I/O at most {} of the bytes at the device", Quantity::ratio(asks.foreign_io_ratio)),
            true,
            &|| judged.foreign_io(),
        ),
        of(
            "no_throttling",
            "no control group limits the runs, and no rate falls during one".to_owned(),
            asks.no_throttling,
            &|| judged.of_runs(&THROTTLING, false),
        ),
        of(
            "steady_state",
            "the last five runs are in a steady state (SNIA PTS 2.0.2, 2.1.24)".to_owned(),
            steady,
            &|| judged.of_series(&no_steady_state::DETECTOR),
        ),
        of(
            "probes_complete",
            "the observation lost nothing, and no I/O took a path that it does not see".to_owned(),
            asks.probes_complete,
            &|| judged.of_runs(&WHOLE, true),
        ),
        of("reproducible", "the runs agree with each other".to_owned(), asks.reproducible, &|| {
            judged.of_series(&not_reproducible::DETECTOR)
        }),
    ]
}

fn not_known(why: &str) -> Asked {
    Asked { state: ConditionState::NotKnown, evidence: vec![why.to_owned()], observed: None, why: Some(why.to_owned()) }
}

/// Returns the worst of several answers, with its evidence.
fn combined(answers: Vec<Answer>) -> Asked {
    if answers.is_empty() {
        return not_known("no limit uses this benchmark");
    }
    let has = |wanted| answers.iter().any(|answer| answer.state == wanted);
    let state = match (has(ConditionState::NotMet), has(ConditionState::NotKnown)) {
        (true, _) => ConditionState::NotMet,
        (false, true) => ConditionState::NotKnown,
        (false, false) => ConditionState::Met,
    };
    let mut evidence: Vec<String> = Vec::new();
    let mut why = None;
    for answer in answers.into_iter().filter(|answer| answer.state == state) {
        if !answer.evidence.is_empty() && !evidence.contains(&answer.evidence) {
            evidence.push(answer.evidence);
        }
        why = why.or(Some(answer.why));
    }
    if state == ConditionState::Met {
        evidence.truncate(EVIDENCE_OF_MET);
    }
    Asked { state, evidence, observed: None, why }
}

/// Returns the answer of one finding and its evidence; `whole` also asks about the run, where notes are not objections.
fn answer(finding: &Finding, whole: bool) -> (ConditionState, String) {
    let said = |message: &str| match message {
        "" => format!("{} {} found nothing", finding.code, finding.name),
        message => format!("{} {}: {message}", finding.code, finding.name),
    };
    let state = match finding.outcome {
        Outcome::Fires if whole && finding.severity <= Some(Severity::Note) => ConditionState::Met,
        Outcome::Fires => ConditionState::NotMet,
        Outcome::Undecided => ConditionState::NotKnown,
        Outcome::Silent | Outcome::NotApplicable => ConditionState::Met,
    };
    (state, said(&finding.message.to_string()))
}

impl Judged<'_> {
    fn name(&self) -> &str {
        &self.benchmark.name.value
    }

    /// Returns the findings of the detectors of single runs about the phases.
    fn of_runs(&self, detectors: &[&Detector], whole: bool) -> Asked {
        let mut answers = Vec::new();
        for run in &self.recorded.runs {
            let number = run.of_series.number;
            for detector in detectors {
                let speaks = |finding: &&Finding| {
                    detector.made(finding) && finding.phase.as_deref().is_none_or(|phase| self.phases.contains(&phase))
                };
                let mut found = run.findings.iter().filter(speaks).peekable();
                if found.peek().is_none() {
                    let why = match self.phases.is_empty() {
                        true => "no limit uses this benchmark".to_owned(),
                        false => format!("run {number}: {} has no answer", detector.code),
                    };
                    answers.push(Answer { state: ConditionState::NotKnown, evidence: why.clone(), why });
                }
                for finding in found {
                    let (state, evidence) = answer(finding, whole);
                    let subject = plain::subject(self.name(), finding.phase.as_deref(), self.phases);
                    let why = plain::of_run(&subject, number, finding, state);
                    answers.push(Answer { state, evidence: format!("run {number}: {evidence}"), why });
                }
            }
        }
        combined(answers)
    }

    /// Returns the findings of a detector of the series about each phase.
    fn of_series(&self, detector: &Detector) -> Asked {
        let is_steadiness = detector.code == no_steady_state::DETECTOR.code;
        let answer_of = |phase: &&str| {
            let is_meant = |finding: &&Finding| detector.made(finding) && finding.phase.as_deref() == Some(phase);
            let found = self.recorded.findings.iter().find(is_meant);
            let subject = plain::subject(self.name(), Some(phase), self.phases);
            let why = match is_steadiness {
                true => {
                    let steadiness = self.recorded.steadiness.iter().find(|of| of.phase == **phase);
                    plain::steady(&subject, steadiness, found)
                }
                false => plain::reproducible(&subject, found),
            };
            let (state, evidence) = match found {
                Some(finding) => {
                    let (state, evidence) = answer(finding, false);
                    // A note of AB705 asks for more runs, and the interval says how many.
                    let noted = finding.outcome == Outcome::Fires && finding.severity == Some(Severity::Note);
                    (if noted { ConditionState::Met } else { state }, format!("{phase}: {evidence}"))
                }
                None => (ConditionState::NotKnown, format!("{phase}: {} has no answer", detector.code)),
            };
            Answer { state, evidence, why }
        };
        combined(self.phases.iter().map(answer_of).collect())
    }

    /// The detector judges with the agreed share; the message also gives the largest one.
    fn foreign_io(&self) -> Asked {
        let shares = self.recorded.runs.iter().flat_map(|run| {
            let applies = |phase: &&PhaseEvidence| {
                self.phases.contains(&phase.phase.as_str())
                    && !run.findings.iter().any(|finding| {
                        foreign::DETECTOR.made(finding)
                            && finding.phase.as_ref() == Some(&phase.phase)
                            && finding.outcome == Outcome::NotApplicable
                    })
            };
            run.phases.iter().filter(applies).filter_map(|phase| phase.foreign_ratio)
        });
        Asked { observed: shares.reduce(f64::max).map(Quantity::ratio), ..self.of_runs(&FOREIGN, false) }
    }

    fn identity(&self) -> Asked {
        let answer = |run: &RunEvidence| {
            let (state, why) = match self.unit.is_among(&run.devices) {
                // Such a copy has another serial number in its place.
                (ConditionState::NotMet, why) if run.is_redacted => {
                    (ConditionState::NotKnown, format!("the copy is redacted: {why}"))
                }
                answer => answer,
            };
            let evidence = match state {
                ConditionState::Met => why.clone(),
                _ => format!("run {}: {why}", run.of_series.number),
            };
            Answer { state, evidence, why: plain::identity(state, &why) }
        };
        combined(self.recorded.runs.iter().map(answer).collect())
    }
}
