//! The conditions of a benchmark: what must hold for its figures to be judged, and what each rests on.
//!
//! They rest on facts and findings that exist already. A fact that is missing leaves a condition *not known*; it never
//! counts as met.

use activebench_model::acceptance::{Condition, ConditionState, DeviceIdentity};
use activebench_model::finding::{Finding, Outcome, Severity};
use activebench_model::units::Quantity;

use super::evidence::{PhaseEvidence, RunEvidence};
use super::file::{AcceptanceFile, Benchmark};
use crate::thresholds::Thresholds;

/// What is said of met conditions is cut after so many runs.
const EVIDENCE_OF_MET: usize = 3;

/// A question, its answer and what it rests on.
struct Asked {
    state: ConditionState,
    evidence: Vec<String>,
    observed: Option<Quantity>,
}

/// Every condition of a benchmark. `findings` are those of its series; `phases` those that limits name.
pub(super) fn conditions(
    file: &AcceptanceFile,
    benchmark: &Benchmark,
    runs: &[RunEvidence],
    findings: &[Finding],
    phases: &[&str],
) -> Vec<Condition> {
    let asks = &file.conditions;
    let steady = benchmark.steady_state.unwrap_or(asks.steady_state);
    let target = &file.target;
    let expected: Vec<String> =
        [("model", &target.model), ("serial number", &target.serial), ("firmware", &target.firmware)]
            .into_iter()
            .filter_map(|(name, value)| Some(format!("{name} {}", value.as_ref()?)))
            .collect();
    let of = |name: &str, words: String, is_asked: bool, answer: &dyn Fn() -> Asked| {
        let Asked { state, evidence, observed } = match (is_asked, runs.is_empty()) {
            (false, _) => Asked { state: ConditionState::NotAsked, evidence: Vec::new(), observed: None },
            (true, true) => not_known("no run was recorded"),
            (true, false) => answer(),
        };
        Condition { name: name.to_owned(), asks: words, state, evidence, observed }
    };
    let identity_words = match expected.is_empty() {
        true => "a device of a certain identity".to_owned(),
        false => format!("the device is of {}", expected.join(", ")),
    };
    let series = |code: &'static str| move || of_series(findings, phases, code);
    vec![
        of("identity", identity_words, !expected.is_empty(), &|| identity(file, runs)),
        of(
            "foreign_io_at_most",
            format!("foreign I/O at most {} of the bytes at the device", Quantity::ratio(asks.foreign_io_ratio)),
            true,
            &|| foreign_io(asks.foreign_io_ratio, benchmark, runs, phases),
        ),
        of(
            "no_throttling",
            "no control group limits the runs, and no rate falls during one".to_owned(),
            asks.no_throttling,
            &|| of_runs(runs, phases, &["AB505", "AB703"], false),
        ),
        of(
            "steady_state",
            "the last five runs are in a steady state (SNIA PTS 2.0.2, 2.1.24)".to_owned(),
            steady,
            &series("AB702"),
        ),
        of(
            "probes_complete",
            "the observation lost nothing, and no I/O took a path that it does not see".to_owned(),
            asks.probes_complete,
            &|| of_runs(runs, phases, &["AB901", "AB902"], true),
        ),
        of("reproducible", "the runs agree with each other".to_owned(), asks.reproducible, &series("AB705")),
    ]
}

fn not_known(why: &str) -> Asked {
    Asked { state: ConditionState::NotKnown, evidence: vec![why.to_owned()], observed: None }
}

/// The worst of several answers, with what it rests on.
fn combined(answers: Vec<(ConditionState, String)>) -> Asked {
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

/// The answer of one detector for one phase; `whole` asks of the run too, where notes are no objection.
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
    (state, said(&finding.message))
}

/// What detectors of single runs say about the phases.
fn of_runs(runs: &[RunEvidence], phases: &[&str], codes: &[&str], whole: bool) -> Asked {
    let mut answers = Vec::new();
    for run in runs {
        for code in codes {
            let speaks = |finding: &&Finding| {
                finding.code == *code && finding.phase.as_deref().is_none_or(|phase| phases.contains(&phase))
            };
            let mut found = run.findings.iter().filter(speaks).peekable();
            if found.peek().is_none() {
                let why = format!("run {}: {code} says nothing about it", run.of_series.number);
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

/// What a detector of the series says about each phase.
fn of_series(findings: &[Finding], phases: &[&str], code: &str) -> Asked {
    let mut answers = Vec::new();
    for phase in phases {
        let found = findings.iter().find(|finding| finding.code == code && finding.phase.as_deref() == Some(phase));
        answers.push(match found {
            Some(finding) => {
                let (state, why) = answer(finding, false);
                // A note of AB705 asks for more runs, and the interval tells how many.
                let noted = finding.outcome == Outcome::Fires && finding.severity == Some(Severity::Note);
                (if noted { ConditionState::Met } else { state }, format!("{phase}: {why}"))
            }
            None => (ConditionState::NotKnown, format!("{phase}: {code} says nothing about it")),
        });
    }
    combined(answers)
}

fn foreign_io(agreed: f64, benchmark: &Benchmark, runs: &[RunEvidence], phases: &[&str]) -> Asked {
    let floor =
        Thresholds::profile(&benchmark.profile).map_or(0.0, |limits| limits.ab601_foreign_floor_bytes.value.value);
    let mut answers = Vec::new();
    let mut most: Option<f64> = None;
    let bytes = |value| Quantity { value, ..Quantity::bytes(0) };
    for run in runs {
        let number = run.of_series.number;
        for phase in run.phases.iter().filter(|of| phases.contains(&of.phase.as_str())) {
            let does_not_apply = run.findings.iter().find(|finding| {
                finding.code == "AB601"
                    && finding.phase.as_ref() == Some(&phase.phase)
                    && finding.outcome == Outcome::NotApplicable
            });
            let PhaseEvidence { phase, foreign } = phase;
            if let Some(finding) = does_not_apply {
                answers.push((ConditionState::Met, format!("run {number}, {phase}: {}", finding.message)));
                continue;
            }
            match foreign {
                Err(why) => answers.push((ConditionState::NotKnown, format!("run {number}, {phase}: {why}"))),
                Ok((foreign, total)) => {
                    let share = if *total > 0.0 { foreign / total } else { 0.0 };
                    most = Some(most.map_or(share, |known| known.max(share)));
                    let is_met = share <= agreed || *foreign < floor;
                    let state = if is_met { ConditionState::Met } else { ConditionState::NotMet };
                    let why = format!(
                        "run {number}, {phase}: {} of {} at the device were of others",
                        bytes(*foreign),
                        bytes(*total)
                    );
                    answers.push((state, why));
                }
            }
        }
    }
    if answers.is_empty() {
        return not_known("no run has the phases that limits name");
    }
    Asked { observed: most.map(Quantity::ratio), ..combined(answers) }
}

fn identity(file: &AcceptanceFile, runs: &[RunEvidence]) -> Asked {
    let target = &file.target;
    let expected = [("model", &target.model), ("serial number", &target.serial), ("firmware", &target.firmware)];
    let answers = runs.iter().map(|run| {
        let number = run.of_series.number;
        let value = |device: &DeviceIdentity, name| match name {
            "model" => device.model.clone(),
            "serial number" => device.serial.clone(),
            _ => device.firmware.clone(),
        };
        // Of each device: what it does not say, and what it says otherwise.
        let compared = |device: &DeviceIdentity| {
            let (mut unsaid, mut other) = (Vec::new(), Vec::new());
            for (name, wanted) in expected.iter().filter_map(|(name, wanted)| Some((*name, wanted.as_ref()?))) {
                match value(device, name) {
                    None => unsaid.push(format!("{} does not say its {name}", device.name)),
                    Some(found) if found.trim() == wanted.trim() => {}
                    Some(found) => other.push(format!("the {name} of {} is {found}", device.name)),
                }
            }
            (unsaid, other)
        };
        let all: Vec<_> = run.devices.iter().map(|device| (device, compared(device))).collect();
        if let Some((device, _)) = all.iter().find(|(_, (unsaid, other))| unsaid.is_empty() && other.is_empty()) {
            return (ConditionState::Met, format!("{} is that device", device.name));
        }
        // A device of which nothing is known otherwise may be it.
        let mut may_be = all.iter().filter(|(_, (_, other))| other.is_empty()).peekable();
        if may_be.peek().is_some() || all.is_empty() {
            let why: Vec<String> = may_be.flat_map(|(_, (unsaid, _))| unsaid.clone()).collect();
            let why = if why.is_empty() { "no device is known below the files".to_owned() } else { why.join(", ") };
            let others: Vec<String> = all.iter().flat_map(|(_, (_, other))| other.clone()).collect();
            let state = if others.is_empty() { ConditionState::NotKnown } else { ConditionState::NotMet };
            return (state, format!("run {number}: {}", [others.join(", "), why].join("; ").trim_start_matches("; ")));
        }
        let why: Vec<String> = all.into_iter().flat_map(|(_, (_, other))| other).collect();
        (ConditionState::NotMet, format!("run {number}: {}", why.join(", ")))
    });
    combined(answers.collect())
}
