//! Acceptance: judges the recorded runs by the file that two parties agreed on. A pure function of both.
//!
//! A limit is judged by the honest figures of all recorded runs of its benchmark: a confirmed claim, or the corrected
//! figure of any other claim. A run without such a figure makes the limit *not judged*. It is not left out, because the
//! figure may be missing for the reason that it was bad. The same applies to a condition that is unknown or not met, and
//! to a suite with fewer runs than agreed.

pub mod batch;
pub mod command;
mod condition;
mod condition_detectors;
mod decision;
mod depth;
mod document;
mod evidence;
mod fault;
mod file;
mod identity;
mod parties;
mod plain;
mod reading;
#[cfg(test)]
mod tests;
mod unit;

use activebench_model::acceptance::{
    Acceptance, AcceptanceOutcome, AcceptedBenchmark, AcceptedTarget, AgreedFile, Bound, Condition, ConditionState,
    DecisionRule, FigureOfRun, JudgedLimit,
};
use activebench_model::finding::Finding;
use activebench_model::series::Steadiness;
use activebench_model::units::Quantity;

pub use command::Sizes;
pub use document::{Placed, alike, listed};
pub use evidence::{Ran, RunEvidence};
pub use fault::{Fault, Faults};
pub use file::{AcceptanceFile, Benchmark, Conditions, Decision, FORMAT, Limit, Repetition};
pub use identity::identities;
pub use unit::{Target, Terms, Units, folders};

use crate::series::statistics::median;

/// The recorded runs of a benchmark.
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded {
    /// In their order.
    pub runs: Vec<RunEvidence>,
    /// Findings of the series detectors about them.
    pub findings: Vec<Finding>,
    /// How steady the first rate of each phase was.
    pub steadiness: Vec<Steadiness>,
    /// The reason why the suite was not run to its end; empty if it was.
    pub incomplete: Vec<String>,
}

/// Information of a report besides the judgement.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// Version of activebench.
    pub activebench: String,
    /// The file.
    pub agreed: AgreedFile,
    /// Remarks that no reader may miss.
    pub notes: Vec<String>,
    /// The command that judges the same runs again.
    pub recheck: Vec<String>,
}

/// Judges the suite of one unit. `suite` has one entry per benchmark, in the order of the file.
pub fn judge(file: &AcceptanceFile, unit: &Target, suite: &[Recorded], setting: Setting) -> Acceptance {
    let benchmarks: Vec<AcceptedBenchmark> = file
        .benchmarks
        .iter()
        .zip(suite)
        .map(|(benchmark, recorded)| accepted(file, unit, benchmark, recorded))
        .collect();
    let limits: Vec<JudgedLimit> = file
        .limits
        .iter()
        .filter_map(|limit| {
            let place = file.benchmarks.iter().position(|one| one.name.value == limit.benchmark.value)?;
            Some(judge_limit(file, limit, &suite[place], &benchmarks[place]))
        })
        .collect();
    let (outcome, because) = overall(file, &benchmarks, &limits);
    let mut notes = provenance(suite, &setting.agreed);
    notes.extend(setting.notes);
    Acceptance {
        activebench: setting.activebench,
        file: setting.agreed,
        parties: file.parties.clone(),
        target: target(unit, suite),
        rule: file.decision.rule,
        rule_words: rule_words(file),
        exit_code: exit_code(outcome, file.decision),
        benchmarks,
        limits,
        notes,
        outcome,
        because,
        recheck: setting.recheck,
    }
}

/// Returns the phases that limits of a benchmark name, each once.
fn phases<'a>(file: &'a AcceptanceFile, benchmark: &Benchmark) -> Vec<&'a str> {
    let mut phases: Vec<&str> = Vec::new();
    for limit in file.limits.iter().filter(|limit| limit.benchmark.value == benchmark.name.value) {
        if !phases.contains(&limit.phase.value.as_str()) {
            phases.push(&limit.phase.value);
        }
    }
    phases
}

fn accepted(file: &AcceptanceFile, unit: &Target, benchmark: &Benchmark, recorded: &Recorded) -> AcceptedBenchmark {
    let phases = phases(file, benchmark);
    let mut incomplete = recorded.incomplete.clone();
    let (found, least) = (recorded.runs.len(), benchmark.repetition.least());
    if found < least as usize {
        incomplete.push(format!("{found} runs were recorded, and {} were agreed on", benchmark.repetition.words()));
    }
    AcceptedBenchmark {
        name: benchmark.name.value.clone(),
        command: benchmark.command.iter().map(|word| word.text.clone()).collect(),
        resolved: recorded.runs.first().map_or_else(Vec::new, |run| run.argv.clone()),
        planned: benchmark.repetition.words(),
        runs: recorded.runs.iter().map(|run| run.run.clone()).collect(),
        incomplete,
        conditions: condition::conditions(condition::Judged { file, unit, benchmark, recorded, phases: &phases }),
        steadiness: recorded.steadiness.iter().filter(|of| phases.contains(&of.phase.as_str())).cloned().collect(),
    }
}

/// Returns the reason why a run does not state the figure: the kinds of numbers depend on a tool's options.
fn not_stated(limit: &Limit, run: &RunEvidence) -> String {
    let mut metrics: Vec<&str> = Vec::new();
    for stated in run.figures.iter().filter(|stated| stated.phase == limit.phase.value) {
        if !metrics.contains(&stated.metric.as_str()) {
            metrics.push(stated.metric.as_str());
        }
    }
    match metrics.is_empty() {
        true => "the run states no figure of this phase".to_owned(),
        false => format!("the run does not state this figure, but {}", metrics.join(", ")),
    }
}

/// Returns the figure of a limit in every run. If several match, it has the reason in place of the figure: the file does
/// not decide between them.
fn figures(limit: &Limit, recorded: &Recorded) -> Vec<FigureOfRun> {
    let of = |run: &RunEvidence| {
        let is_meant =
            |stated: &&evidence::Stated| stated.phase == limit.phase.value && stated.metric == limit.metric.value;
        let meant: Vec<&evidence::Stated> = run.figures.iter().filter(is_meant).collect();
        let none = |why: String| FigureOfRun {
            run: run.run.directory.clone(),
            claimed: None,
            honest: None,
            no_honest: Some(why),
            verdict: None,
            resolution: None,
        };
        match meant[..] {
            [only] => only.figure.clone(),
            [] => none(not_stated(limit, run)),
            _ => none(format!("the run states {} such figures, and the limit is for one", meant.len())),
        }
    };
    recorded.runs.iter().map(of).collect()
}

fn judge_limit(file: &AcceptanceFile, limit: &Limit, recorded: &Recorded, accepted: &AcceptedBenchmark) -> JudgedLimit {
    let figures = figures(limit, recorded);
    let honest: Vec<f64> = figures.iter().filter_map(|figure| figure.honest).map(|honest| honest.value).collect();
    let is_whole = honest.len() == figures.len();
    let resolution = figures.iter().filter_map(|figure| figure.resolution).map(|step| step.value).fold(0.0, f64::max);
    let unit = limit.limit.unit;
    let in_unit = |value| Quantity { value, unit };
    let uncertainty = if is_whole { decision::uncertainty(&honest, unit, resolution, limit.tolerance) } else { None };
    let figure = if is_whole { median(&honest) } else { None };
    let rule = file.decision.rule;
    let guard_band = match rule {
        DecisionRule::Simple => Some(0.0),
        DecisionRule::GuardBand => uncertainty.as_ref().map(|uncertainty| uncertainty.expanded.value),
    };
    let margin = figure.map(|figure| decision::margin(limit.bound, limit.limit.value, figure));
    let objection = || {
        obstacle(accepted).or_else(|| {
            let missing = figures.iter().find_map(|figure| figure.no_honest.as_ref())?;
            let count = figures.len() - honest.len();
            Some(format!("{count} of {} runs have no honest figure: {missing}", figures.len()))
        })
    };
    let (outcome, because) = match (objection(), margin, guard_band) {
        (Some(why), ..) => (AcceptanceOutcome::NotJudged, why),
        (None, Some(margin), Some(guard_band)) => {
            let outcome = decision::decide(rule, margin, guard_band);
            (outcome, reason(limit, rule, margin, guard_band))
        }
        (None, None, _) => (AcceptanceOutcome::NotJudged, "no run was recorded".to_owned()),
        (None, Some(_), None) => {
            let why = "the uncertainty of a single run is not known: a guard band needs at least 2 runs";
            (AcceptanceOutcome::NotJudged, why.to_owned())
        }
    };
    JudgedLimit {
        agreed: limit.agreed(),
        figures,
        honest: figure.map(in_unit),
        uncertainty,
        guard_band: guard_band.map(in_unit),
        margin: margin.map(in_unit),
        outcome,
        because,
        warnings: depth::warnings(limit, recorded),
    }
}

/// Returns the reason why nothing of a benchmark is judged.
fn obstacle(accepted: &AcceptedBenchmark) -> Option<String> {
    let open = |condition: &&Condition| matches!(condition.state, ConditionState::NotMet | ConditionState::NotKnown);
    let of_condition = accepted.conditions.iter().find(open).map(in_words);
    accepted.incomplete.first().cloned().or(of_condition)
}

/// Returns what is wrong with a condition, as a plain sentence.
fn in_words(condition: &Condition) -> String {
    let state = || format!("the condition `{}` is {}{}", condition.name, condition.state.words(), grounds(condition));
    condition.why.clone().unwrap_or_else(state)
}

/// Returns the first ground of a condition, behind a colon.
fn grounds(condition: &Condition) -> String {
    condition.evidence.first().map_or_else(String::new, |why| format!(": {why}"))
}

fn reason(limit: &Limit, rule: DecisionRule, margin: f64, guard_band: f64) -> String {
    let shown = |value: f64| limit.unit.show(Quantity { value: value.abs(), ..limit.limit });
    let worse = match limit.bound {
        Bound::AtLeast => "below",
        Bound::AtMost => "above",
    };
    let better = match limit.bound {
        Bound::AtLeast => "above",
        Bound::AtMost => "below",
    };
    let side = if margin >= 0.0 { better } else { worse };
    let place = match margin == 0.0 {
        true => "the median is the limit itself".to_owned(),
        false => format!("the median is {} {side} the limit", shown(margin)),
    };
    match rule {
        DecisionRule::Simple => place,
        DecisionRule::GuardBand if margin.abs() > guard_band => format!("{place}, more than U = {}", shown(guard_band)),
        DecisionRule::GuardBand => format!("{place}, within U = {}", shown(guard_band)),
    }
}

fn overall(
    file: &AcceptanceFile,
    benchmarks: &[AcceptedBenchmark],
    limits: &[JudgedLimit],
) -> (AcceptanceOutcome, String) {
    // Missing evidence accuses nobody.
    let fails = |condition: &&Condition| {
        file.conditions.not_met_fails
            && condition.state == ConditionState::NotMet
            && condition.name != "probes_complete"
    };
    for benchmark in benchmarks {
        if let Some(condition) = benchmark.conditions.iter().find(fails) {
            return (AcceptanceOutcome::Fail, in_words(condition));
        }
    }
    let Some(outcome) = limits.iter().map(|limit| limit.outcome).max_by_key(|outcome| rank(*outcome)) else {
        return (AcceptanceOutcome::NotJudged, "the file has no limit: there is nothing to judge".to_owned());
    };
    let of_it: Vec<&JudgedLimit> = limits.iter().filter(|limit| limit.outcome == outcome).collect();
    let first = of_it[0];
    let (some, all) = (of_it.len(), limits.len());
    let because = match outcome {
        AcceptanceOutcome::Pass if all == 1 => "the limit is met".to_owned(),
        AcceptanceOutcome::Pass => format!("all {all} limits are met"),
        AcceptanceOutcome::NotJudged if some == all => format!("no limit could be judged: {}", first.because),
        AcceptanceOutcome::NotJudged => format!("{some} of {all} limits could not be judged: {}", first.because),
        _ => {
            let of = format!("{} {} of {}", first.agreed.phase, first.agreed.metric.as_str(), first.agreed.benchmark);
            format!("{some} of {all} limits: {}; {of}: {}", outcome.words(), first.because)
        }
    };
    (outcome, because)
}

/// Ranks outcomes, the best first. A limit that certainly fails decides, whatever is unknown about others; one that is
/// not judged leaves more open than one near its limit.
fn rank(outcome: AcceptanceOutcome) -> u8 {
    match outcome {
        AcceptanceOutcome::Pass => 0,
        AcceptanceOutcome::ConditionalPass => 1,
        AcceptanceOutcome::ConditionalFail => 2,
        AcceptanceOutcome::NotJudged => 3,
        AcceptanceOutcome::Fail => 4,
    }
}

fn exit_code(outcome: AcceptanceOutcome, decision: Decision) -> i32 {
    match outcome {
        AcceptanceOutcome::Pass => 0,
        AcceptanceOutcome::ConditionalPass => i32::from(!decision.accepts_conditional_pass),
        AcceptanceOutcome::ConditionalFail | AcceptanceOutcome::Fail => 1,
        AcceptanceOutcome::NotJudged => 3,
    }
}

fn rule_words(file: &AcceptanceFile) -> String {
    match file.decision.rule {
        DecisionRule::Simple => "simple acceptance (ILAC-G8:09/2019, 4.2.1): the median of the honest figures passes when \
                                 it keeps the limit; the uncertainty is stated and not looked at, so that at the limit up \
                                 to half of the decisions are wrong"
            .to_owned(),
        DecisionRule::GuardBand => {
            let conditional = match file.decision.accepts_conditional_pass {
                true => "the buyer takes a conditional pass",
                false => "the buyer does not take a conditional pass",
            };
            format!(
                "guard band w = U (ILAC-G8:09/2019, 4.2.3): better than the limit by more than the expanded uncertainty U \
                 of the median is a pass, by U at most a conditional pass, worse by U at most a conditional fail, by more \
                 a fail; {conditional}"
            )
        }
    }
}

/// For which file the runs were recorded.
fn provenance(suite: &[Recorded], agreed: &AgreedFile) -> Vec<String> {
    let runs: Vec<&RunEvidence> = suite.iter().flat_map(|recorded| &recorded.runs).collect();
    let all = runs.len();
    let mut notes = Vec::new();
    let mut others: Vec<&str> = Vec::new();
    for sha256 in runs.iter().filter_map(|run| run.run.recorded_for_sha256.as_deref()) {
        if sha256 != agreed.sha256 && !others.contains(&sha256) {
            others.push(sha256);
        }
    }
    for other in others {
        let count = runs.iter().filter(|run| run.run.recorded_for_sha256.as_deref() == Some(other)).count();
        notes.push(format!(
            "{count} of {all} runs were recorded for another acceptance file, with the SHA-256 {other}: these limits, \
             conditions and rules were not agreed on before they were measured"
        ));
    }
    let without = runs.iter().filter(|run| run.run.recorded_for_sha256.is_none()).count();
    if without > 0 {
        notes.push(format!(
            "{without} of {all} runs were recorded for no acceptance file: nothing shows that these limits were agreed \
             on before they were measured, nor that no other run was left out"
        ));
    }
    notes
}

fn target(unit: &Target, suite: &[Recorded]) -> AcceptedTarget {
    fn once<T: PartialEq>(all: impl Iterator<Item = T>) -> Vec<T> {
        let mut found: Vec<T> = Vec::new();
        for one in all {
            if !found.contains(&one) {
                found.push(one);
            }
        }
        found
    }
    let runs = || suite.iter().flat_map(|recorded| &recorded.runs);
    AcceptedTarget {
        path: unit.path.value.clone(),
        destroy: unit.destroy,
        file_systems: once(runs().flat_map(|run| run.file_systems.iter().cloned())),
        devices: once(runs().flat_map(|run| run.devices.iter().cloned())),
        hosts: once(runs().map(|run| run.host.clone())),
    }
}
