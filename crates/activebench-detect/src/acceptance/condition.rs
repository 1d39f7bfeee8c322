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
use crate::detector::Detector;
use crate::detectors::{foreign_io as foreign, no_steady_state, not_reproducible};

/// The text about met conditions is cut after so many runs.
const EVIDENCE_OF_MET: usize = 3;

/// A question, its answer and its evidence.
struct Asked {
    state: ConditionState,
    evidence: Vec<String>,
    observed: Option<Quantity>,
}

/// Returns every condition of a benchmark. `findings` are those of its series; `phases` those that limits name.
pub(super) fn conditions(
    file: &AcceptanceFile,
    benchmark: &Benchmark,
    runs: &[RunEvidence],
    findings: &[Finding],
    phases: &[&str],
) -> Vec<Condition> {
    let asks = &file.conditions;
    let steady = benchmark.steady_state.unwrap_or(asks.steady_state);
    let of = |name: &str, words: String, is_asked: bool, answer: &dyn Fn() -> Asked| {
        let Asked { state, evidence, observed } = match (is_asked, runs.is_empty()) {
            (false, _) => Asked { state: ConditionState::NotAsked, evidence: Vec::new(), observed: None },
            (true, true) => not_known("no run was recorded"),
            (true, false) => answer(),
        };
        Condition { name: name.to_owned(), asks: words, state, evidence, observed }
    };
    let identity_words = match file.target.identity_words() {
        words if words.is_empty() => "a device of a certain identity".to_owned(),
        words => format!("the device is of {words}"),
    };
    let series = |detector: &'static Detector| move || of_series(findings, phases, detector);
    vec![
        of("identity", identity_words, file.target.asks_identity(), &|| identity(file, runs)),
        of(
            "foreign_io_at_most",
            format!("foreign I/O at most {} of the bytes at the device", Quantity::ratio(asks.foreign_io_ratio)),
            true,
            &|| foreign_io(runs, phases),
        ),
        of(
            "no_throttling",
            "no control group limits the runs, and no rate falls during one".to_owned(),
            asks.no_throttling,
            &|| of_runs(runs, phases, &THROTTLING, false),
        ),
        of(
            "steady_state",
            "the last five runs are in a steady state (SNIA PTS 2.0.2, 2.1.24)".to_owned(),
            steady,
            &series(&no_steady_state::DETECTOR),
        ),
        of(
            "probes_complete",
            "the observation lost nothing, and no I/O took a path that it does not see".to_owned(),
            asks.probes_complete,
            &|| of_runs(runs, phases, &WHOLE, true),
        ),
        of(
            "reproducible",
            "the runs agree with each other".to_owned(),
            asks.reproducible,
            &series(&not_reproducible::DETECTOR),
        ),
    ]
}

fn not_known(why: &str) -> Asked {
    Asked { state: ConditionState::NotKnown, evidence: vec![why.to_owned()], observed: None }
}

/// Returns the worst of several answers, with its evidence.
fn combined(answers: Vec<(ConditionState, String)>) -> Asked {
    if answers.is_empty() {
        return not_known("no limit names a phase of it");
    }
    let has = |wanted| answers.iter().any(|(state, _)| *state == wanted);
    let state = match (has(ConditionState::NotMet), has(ConditionState::NotKnown)) {
        (true, _) => ConditionState::NotMet,
        (false, true) => ConditionState::NotKnown,
        (false, false) => ConditionState::Met,
    };
    let mut evidence: Vec<String> = Vec::new();
    for (_, why) in answers.into_iter().filter(|(of, why)| *of == state && !why.is_empty()) {
        if !evidence.contains(&why) {
            evidence.push(why);
        }
    }
    if state == ConditionState::Met {
        evidence.truncate(EVIDENCE_OF_MET);
    }
    Asked { state, evidence, observed: None }
}

/// Returns the answer of one detector for one phase; `whole` also asks about the run, where notes are not objections.
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

/// Returns the findings of the detectors of single runs about the phases.
fn of_runs(runs: &[RunEvidence], phases: &[&str], detectors: &[&Detector], whole: bool) -> Asked {
    let mut answers = Vec::new();
    for run in runs {
        for detector in detectors {
            let speaks = |finding: &&Finding| {
                detector.made(finding) && finding.phase.as_deref().is_none_or(|phase| phases.contains(&phase))
            };
            let mut found = run.findings.iter().filter(speaks).peekable();
            if found.peek().is_none() {
                let why = format!("run {}: {} says nothing about it", run.of_series.number, detector.code);
                answers.push((ConditionState::NotKnown, why));
            }
            for finding in found {
                let (state, why) = answer(finding, whole);
                answers.push((state, format!("run {}: {why}", run.of_series.number)));
            }
        }
    }
    combined(answers)
}

/// Returns the findings of a detector of the series about each phase.
fn of_series(findings: &[Finding], phases: &[&str], detector: &Detector) -> Asked {
    let mut answers = Vec::new();
    for phase in phases {
        let found = findings.iter().find(|finding| detector.made(finding) && finding.phase.as_deref() == Some(phase));
        answers.push(match found {
            Some(finding) => {
                let (state, why) = answer(finding, false);
                // A note of AB705 asks for more runs, and the interval says how many.
                let noted = finding.outcome == Outcome::Fires && finding.severity == Some(Severity::Note);
                (if noted { ConditionState::Met } else { state }, format!("{phase}: {why}"))
            }
            None => (ConditionState::NotKnown, format!("{phase}: {} says nothing about it", detector.code)),
        });
    }
    combined(answers)
}

/// The detector judges with the agreed share; the message also gives the largest one.
fn foreign_io(runs: &[RunEvidence], phases: &[&str]) -> Asked {
    let shares = runs.iter().flat_map(|run| {
        let applies = |phase: &&PhaseEvidence| {
            phases.contains(&phase.phase.as_str())
                && !run.findings.iter().any(|finding| {
                    foreign::DETECTOR.made(finding)
                        && finding.phase.as_ref() == Some(&phase.phase)
                        && finding.outcome == Outcome::NotApplicable
                })
        };
        run.phases.iter().filter(applies).filter_map(|phase| phase.foreign_ratio)
    });
    Asked { observed: shares.reduce(f64::max).map(Quantity::ratio), ..of_runs(runs, phases, &FOREIGN, false) }
}

fn identity(file: &AcceptanceFile, runs: &[RunEvidence]) -> Asked {
    let answer = |run: &RunEvidence| match file.target.is_among(&run.devices) {
        (ConditionState::Met, why) => (ConditionState::Met, why),
        // Such a copy has another serial number in its place.
        (ConditionState::NotMet, why) if run.is_redacted => {
            (ConditionState::NotKnown, format!("run {}: the copy is redacted: {why}", run.of_series.number))
        }
        (state, why) => (state, format!("run {}: {why}", run.of_series.number)),
    };
    combined(runs.iter().map(answer).collect())
}
