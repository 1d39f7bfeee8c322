//! Outcome of a case: a pure function of the report and the expectation.

use serde_json::Value;

pub(super) use crate::truth::case::Severity;
use crate::truth::case::{Case, Condition, How, Kind};

/// Outcome of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A lie that was found.
    Hit,
    /// A twin that was left alone.
    Silent,
    /// A lie that was not found, or not as expected.
    Miss(String),
    /// A twin that was accused.
    Accused(String),
    /// A confirmed figure of an honest run that differs from an independent count.
    Off(String),
    /// A drawn run whose variant got other answers.
    Differs(String),
    /// The detector is undecided.
    Undecided {
        /// The missing evidence.
        why: String,
        /// `true` when the case allows for it.
        foreseen: bool,
    },
    /// The case cannot run on this host; never a pass.
    NotRun(String),
    /// The case itself does not work.
    Broken(String),
}

impl Outcome {
    /// Returns one word for tables.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Hit => "hit",
            Self::Silent => "silent",
            Self::Miss(_) => "miss",
            Self::Accused(_) => "false accusation",
            Self::Off(_) => "figure off",
            Self::Differs(_) => "answers differ",
            Self::Undecided { .. } => "undecided",
            Self::NotRun(_) => "not run",
            Self::Broken(_) => "broken",
        }
    }

    /// Returns the explanation beyond the word; empty when all is well.
    pub fn why(&self) -> &str {
        match self {
            Self::Hit | Self::Silent => "",
            Self::Undecided { why, .. } => why,
            Self::Miss(why)
            | Self::Accused(why)
            | Self::Off(why)
            | Self::Differs(why)
            | Self::NotRun(why)
            | Self::Broken(why) => why,
        }
    }

    /// Returns `true` when something has to be fixed: the product, or the case.
    pub fn is_failure(&self) -> bool {
        match self {
            Self::Hit | Self::Silent | Self::NotRun(_) => false,
            Self::Undecided { foreseen, .. } => !foreseen,
            Self::Miss(_) | Self::Accused(_) | Self::Off(_) | Self::Differs(_) | Self::Broken(_) => true,
        }
    }
}

/// Returns the outcome of a case with this report (or plan), by what observed it: a tracer sees less than the kernel
/// programs.
pub fn of(case: &Case, report: &Value) -> Outcome {
    of_observed(case, report, std::slice::from_ref(report))
}

/// Returns the outcome of a case with a report on these runs.
fn of_observed(case: &Case, report: &Value, runs: &[Value]) -> Outcome {
    match runs.iter().any(is_traced) {
        // What a case asks for to be one may need what a tracer does not see: then only what is found counts.
        true => match by_expectation(case, report) {
            Outcome::Broken(why) if why.starts_with(NO_FACT) => {
                let any = Case { only_when: Vec::new(), ..case.clone() };
                match without_rights(case, by_expectation(&any, report), report, runs) {
                    found @ (Outcome::Hit | Outcome::Accused(_)) => found,
                    _ => Outcome::NotRun(why),
                }
            }
            outcome => without_rights(case, outcome, report, runs),
        },
        false => by_expectation(case, report),
    }
}

/// Returns `true` for a report on a run that a tracer observed.
pub fn is_traced(report: &Value) -> bool {
    report["coverage"]["backend"] == "ptrace"
}

/// An honest run whose figures cannot be verified is undecided where a tracer observed, and not accused; so is a lie of
/// which no figure is said to hold. A lie whose figures are all contradicted is found, whichever detector says why.
fn without_rights(case: &Case, outcome: Outcome, report: &Value, runs: &[Value]) -> Outcome {
    let is_open = report["verdict"] == "inconclusive";
    match outcome {
        Outcome::Accused(why) if is_open && why == IS_INCONCLUSIVE => Outcome::Undecided { why, foreseen: true },
        Outcome::Miss(_) | Outcome::Undecided { .. } if case.kind() == Kind::Lie && all_contradicted(case, report) => {
            Outcome::Hit
        }
        Outcome::Miss(why) if falsely_confirmed(case, runs) == 0 => Outcome::Undecided { why, foreseen: true },
        Outcome::Undecided { why, .. } => Outcome::Undecided { why, foreseen: true },
        other => other,
    }
}

/// Returns `true` if a lie says which figures are wrong, and each of them is contradicted.
fn all_contradicted(case: &Case, report: &Value) -> bool {
    let is_contradicted = |claim: &Value| claim["verdict"] == "misleading" || claim["verdict"] == "refuted";
    let all_of = |phase: &String| {
        let mut of_phase = list(report, "claims").iter().filter(|claim| is_meant(case, claim, phase)).peekable();
        of_phase.peek().is_some() && of_phase.all(is_contradicted)
    };
    !case.expect.phases.is_empty() && case.expect.phases.iter().all(all_of)
}

/// Returns `true` for a claim of a phase that a lie is about: of its metric, or a rate.
fn is_meant(case: &Case, claim: &Value, phase: &str) -> bool {
    let is_of_metric = match &case.expect.metric {
        Some(metric) => claim["metric"] == metric.as_str(),
        None => claim["metric"] == "throughput" || claim["metric"] == "operation-rate",
    };
    is_of_metric && claim["phase"] == phase
}

/// Returns how many figures that a lie is about are said to hold, in these reports.
pub fn falsely_confirmed(case: &Case, runs: &[Value]) -> usize {
    let of_lie = |claim: &&Value| match case.expect.phases.as_slice() {
        [] => is_meant(case, claim, text(claim, "phase")),
        phases => phases.iter().any(|phase| is_meant(case, claim, phase)),
    };
    let claims = runs.iter().flat_map(|run| list(run, "claims"));
    claims.filter(|claim| claim["verdict"] == "confirmed").filter(of_lie).count()
}

/// Rights by which an observation sees more, as reports name them, from the most specific on.
const RIGHTS: [&str; 3] = ["CAP_BPF and CAP_PERFMON", "CAP_SYS_PTRACE", "root"];

/// Returns the right that would settle a case, as its report names it: in what leaves the case's own detector undecided,
/// or else in what leaves anything undecided. `None` if the report names none.
pub fn right_that_settles(case: &Case, runs: &[Value]) -> Option<&'static str> {
    let findings = || runs.iter().flat_map(|run| list(run, "findings")).filter(|f| f["outcome"] == "undecided");
    let named = |text: &str| RIGHTS.into_iter().find(|right| text.contains(right));
    let own = findings().filter(|finding| finding["code"] == case.code.as_str());
    let of_claims = runs.iter().flat_map(|run| list(run, "claims")).filter(|claim| claim["verdict"] == "unverifiable");
    own.chain(findings()).chain(of_claims).find_map(|said| named(&said.to_string()))
}

/// Beginning of what is said where a case asks for a fact that is not there.
const NO_FACT: &str = "no fact ";
/// What is said of an honest run of which nothing else is wrong.
const IS_INCONCLUSIVE: &str = "the run is inconclusive";

/// Returns the outcome of a case with this report (or plan).
fn by_expectation(case: &Case, report: &Value) -> Outcome {
    if report.is_null() {
        return Outcome::Broken("activebench printed no report".to_owned());
    }
    if report["verdict"] == "failed" && case.expect.verdict.as_deref() != Some("failed") {
        return Outcome::Broken("the benchmark failed".to_owned());
    }
    for condition in &case.only_when {
        match holds(condition, report) {
            Ok(true) => {}
            Ok(false) => return Outcome::NotRun(condition.why.clone()),
            Err(what) => return Outcome::Broken(what),
        }
    }
    match case.kind() {
        Kind::Lie => lie(case, report),
        Kind::Honest => honest(case, report),
    }
}

/// Returns the outcome of a case with the report of a series, and of its runs in their order. What observed is said in
/// the reports of the runs.
pub fn of_series(case: &Case, series: &Value, runs: &[Value]) -> Outcome {
    let outcome = of_observed(case, series, runs);
    if case.kind() == Kind::Lie || outcome.is_failure() {
        return outcome;
    }
    let accused = runs.iter().zip(1..).find_map(|(run, number)| {
        let finding = accusation(case, run)?;
        Some(Outcome::Accused(format!("run {number}: {}", shown(finding))))
    });
    accused.unwrap_or(outcome)
}

fn holds(condition: &Condition, report: &Value) -> Result<bool, String> {
    let phase = list(report, "phases").iter().find(|phase| phase["id"] == condition.phase.as_str());
    let fact = |name: &str| {
        let value = phase.and_then(|phase| phase["facts"][name]["value"].as_f64());
        value.ok_or_else(|| format!("{NO_FACT}{name} of {}, which the case asks for", condition.phase))
    };
    let mut value = fact(&condition.fact)?;
    if let Some(whole) = &condition.share_of {
        value /= fact(whole)?;
    }
    Ok(condition.at_least.is_none_or(|least| value >= least) && condition.at_most.is_none_or(|most| value <= most))
}

pub(super) fn list<'a>(report: &'a Value, part: &str) -> &'a [Value] {
    report[part].as_array().map_or(&[], Vec::as_slice)
}

pub(super) fn severity(finding: &Value) -> Severity {
    match finding["severity"].as_str() {
        Some("note") => Severity::Note,
        Some("warn") => Severity::Warn,
        _ => Severity::Fail,
    }
}

/// `AB302 fail write: message`.
pub(super) fn shown(finding: &Value) -> String {
    let word = |key: &str| finding[key].as_str().unwrap_or("");
    let place = if word("phase").is_empty() { "the run" } else { word("phase") };
    format!("{} {} on {place}: {}", word("code"), word("severity"), word("message"))
}

fn lie(case: &Case, report: &Value) -> Outcome {
    let own: Vec<&Value> = list(report, "findings").iter().filter(|f| f["code"] == case.code.as_str()).collect();
    let places: Vec<Option<&str>> = match case.expect.phases.as_slice() {
        [] => vec![None],
        phases => phases.iter().map(|phase| Some(phase.as_str())).collect(),
    };
    for place in places {
        let of_place = || own.iter().copied().filter(|f| place.is_none_or(|phase| f["phase"] == phase));
        let on = place.unwrap_or("any phase");
        let Some(loudest) = of_place().filter(|f| f["outcome"] == "fires").max_by_key(|f| severity(f)) else {
            let undecided = of_place().find(|f| f["outcome"] == "undecided");
            return match undecided {
                Some(finding) => Outcome::Undecided {
                    why: format!("{} on {on}: {}", case.code, finding["message"].as_str().unwrap_or("")),
                    foreseen: case.expect.undecided.is_some(),
                },
                None => Outcome::Miss(format!("{} does not fire on {on}", case.code)),
            };
        };
        let least = case.expect.severity.unwrap_or(Severity::Warn);
        if severity(loudest) < least {
            return Outcome::Miss(format!("less than {least:?} was found: {}", shown(loudest)));
        }
        if let (Some(verdict), Some(phase)) = (&case.expect.claim, place)
            && let Some(wrong) = claims_other_than(case, report, phase, verdict)
        {
            return Outcome::Miss(wrong);
        }
    }
    for code in case.expect.beside.keys() {
        if !list(report, "findings").iter().any(|f| f["code"] == code.as_str() && f["outcome"] == "fires") {
            return Outcome::Miss(format!("{code} does not fire, which is true of this run too"));
        }
    }
    verdict_fails(case, report, Outcome::Miss).unwrap_or(Outcome::Hit)
}

/// Describes the first wrong verdict on a phase's claims; `None` when all are right.
fn claims_other_than(case: &Case, report: &Value, phase: &str, verdict: &str) -> Option<String> {
    let claims: Vec<&Value> = list(report, "claims").iter().filter(|claim| is_meant(case, claim, phase)).collect();
    if claims.is_empty() {
        return Some(format!("{phase} has no such claim"));
    }
    let other = claims.iter().find(|claim| claim["verdict"] != verdict)?;
    Some(format!("the {} of {phase} is {} and not {verdict}", text(other, "metric"), text(other, "verdict")))
}

pub(super) fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or("nothing")
}

fn verdict_fails(case: &Case, report: &Value, as_what: fn(String) -> Outcome) -> Option<Outcome> {
    let expected = case.expect.verdict.as_deref()?;
    let found = text(report, "verdict");
    (found != expected).then(|| as_what(format!("the run is {found} and not {expected}")))
}

/// Returns the first finding that a twin should not have.
fn accusation<'a>(case: &Case, report: &'a Value) -> Option<&'a Value> {
    list(report, "findings").iter().find(|f| {
        let code = text(f, "code");
        let expected = match code == case.code {
            true => case.expect.note.is_some() && severity(f) == Severity::Note,
            false => {
                severity(f) == Severity::Note
                    || case.expect.beside.contains_key(code)
                    || case.of_the_machine.contains_key(code)
            }
        };
        f["outcome"] == "fires" && !expected
    })
}

fn honest(case: &Case, report: &Value) -> Outcome {
    if let Some(finding) = accusation(case, report) {
        return Outcome::Accused(shown(finding));
    }
    if let Some(fails) = verdict_fails(case, report, Outcome::Accused) {
        return fails;
    }
    if case.how != How::Plan {
        // A run without claims cannot be accused, so the case shows nothing.
        if list(report, "claims").is_empty() && list(report, "figures").is_empty() {
            return Outcome::Broken("the run claims nothing".to_owned());
        }
        let verdict = text(report, "verdict");
        let foreseen = case.expect.verdict.is_some() || !case.expect.beside.is_empty();
        if !foreseen && verdict != "verified" && verdict != "qualified" {
            return Outcome::Accused(format!("the run is {verdict}"));
        }
    } else if list(report, "phases").is_empty() {
        return Outcome::Broken("the plan has no pass".to_owned());
    }
    match list(report, "findings").iter().find(|f| f["code"] == case.code.as_str() && f["outcome"] == "undecided") {
        Some(finding) => Outcome::Undecided { why: shown(finding), foreseen: case.expect.undecided.is_some() },
        None => Outcome::Silent,
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use serde_json::json;

    use super::*;

    fn case(name: &str, expect: &str) -> Case {
        let text = format!("what = 'a'\ncommand = ['true']\n{expect}");
        let case: Case = toml::from_str(&text).expect("a case");
        Case { code: "AB302".to_owned(), name: name.to_owned(), folder: PathBuf::new(), ..case }
    }

    /// A report of one phase, *write*, with one rate.
    fn report(verdict: &str, claim: &str, findings: &[(&str, &str, &str)]) -> Value {
        let findings: Vec<Value> = findings
            .iter()
            .map(|(code, outcome, severity)| {
                json!({"code": code, "outcome": outcome, "severity": severity, "phase": "write", "message": "m"})
            })
            .collect();
        json!({
            "verdict": verdict,
            "phases": [{"id": "write", "facts": {"window_ns": {"value": 4.0}, "user_cpu_ns": {"value": 1.0}}}],
            "claims": [{"phase": "write", "metric": "throughput", "verdict": claim}],
            "findings": findings,
        })
    }

    #[track_caller]
    fn check(name: &str, expect: &str, report: &Value, word: &str) {
        let outcome = of(&case(name, expect), report);
        assert_eq!(outcome.word(), word, "{}", outcome.why());
    }

    #[test]
    fn a_lie_is_found_with_its_severity_and_its_verdict_or_missed() {
        let expect = "[expect]\nseverity = 'fail'\nphases = ['write']\nclaim = 'misleading'";
        let found = [("AB302", "fires", "fail")];
        check("lie-a", expect, &report("discrepancy", "misleading", &found), "hit");
        check("lie-a", expect, &report("discrepancy", "confirmed", &found), "miss");
        check("lie-a", expect, &report("discrepancy", "misleading", &[("AB302", "fires", "warn")]), "miss");
        check("lie-a", expect, &report("discrepancy", "misleading", &[("AB301", "fires", "fail")]), "miss");
        check("lie-a", expect, &report("discrepancy", "misleading", &[("AB302", "silent", "")]), "miss");
        check("lie-a", &expect.replace("'write'", "'read'"), &report("discrepancy", "misleading", &found), "miss");
        check("lie-a", "[expect]\nseverity = 'note'", &report("verified", "confirmed", &found), "hit");
        let beside = format!("{expect}\n[expect.beside]\nAB404 = 'zeros'");
        check("lie-a", &beside, &report("discrepancy", "misleading", &found), "miss");
    }

    #[test]
    fn an_undecided_detector_found_nothing_and_is_foreseen_or_not() {
        let seen = report("inconclusive", "unverifiable", &[("AB302", "undecided", "")]);
        let outcome = of(&case("lie-a", "[expect]\nseverity = 'fail'\nphases = ['write']"), &seen);
        assert!(outcome.word() == "undecided" && outcome.is_failure());
        let outcome = of(&case("lie-a", "[expect]\nseverity = 'fail'\nundecided = 'noise'"), &seen);
        assert!(outcome.word() == "undecided" && !outcome.is_failure());
        let seen = report("qualified", "confirmed", &[("AB302", "undecided", "")]);
        assert!(of(&case("honest-a", ""), &seen).is_failure());
    }

    #[test]
    fn a_tracer_may_leave_a_run_open_and_accuses_as_anybody() {
        let traced = |verdict: &str, claim: &str, findings: &[(&str, &str, &str)]| {
            let mut report = report(verdict, claim, findings);
            report["coverage"] = json!({"backend": "ptrace"});
            report
        };
        check("honest-a", "", &traced("inconclusive", "unverifiable", &[]), "undecided");
        let warned = [("AB601", "fires", "warn")];
        check("honest-a", "", &traced("inconclusive", "unverifiable", &warned), "false accusation");
        check("honest-a", "", &traced("discrepancy", "misleading", &[]), "false accusation");
        check("lie-a", "", &traced("inconclusive", "unverifiable", &[]), "undecided");
        check("lie-a", "", &traced("inconclusive", "confirmed", &[]), "miss");
        let outcome = of(&case("honest-a", ""), &traced("inconclusive", "unverifiable", &[("AB302", "undecided", "")]));
        assert!(!outcome.is_failure(), "{outcome:?}");
    }

    #[test]
    fn a_lie_is_found_where_its_figures_are_contradicted_and_missed_where_one_is_said_to_hold() {
        let traced = |verdict: &str, claim: &str| {
            let mut report = report(verdict, claim, &[("AB302", "undecided", ""), ("AB201", "fires", "fail")]);
            report["coverage"] = json!({"backend": "ptrace"});
            report
        };
        let expect = "[expect]\nseverity = 'fail'\nphases = ['write']\nclaim = 'misleading'";
        check("lie-a", expect, &traced("discrepancy", "refuted"), "hit");
        check("lie-a", "[expect]\nseverity = 'fail'", &traced("discrepancy", "refuted"), "undecided");
        check("lie-a", expect, &report("discrepancy", "refuted", &[("AB201", "fires", "fail")]), "miss");
        let latency = format!("{expect}\nmetric = 'latency-mean'");
        check("lie-a", &latency, &traced("discrepancy", "refuted"), "undecided");
        for (expect, count) in [(expect, 1), (latency.as_str(), 0), ("", 1)] {
            let reports = [traced("qualified", "confirmed")];
            assert_eq!(falsely_confirmed(&case("lie-a", expect), &reports), count, "{expect}");
        }
        // A fact that the case asks for is not there: what is found all the same is found.
        let asks = format!("{expect}\n[[only_when]]\nphase = 'write'\nfact = 'flushes'\nat_least = 1\nwhy = 'w'");
        let found = |outcome: &str, claim: &str| {
            let mut report = report("discrepancy", claim, &[("AB302", outcome, "fail")]);
            report["coverage"] = json!({"backend": "ptrace"});
            report
        };
        check("lie-a", &asks, &found("fires", "misleading"), "hit");
        check("lie-a", &asks, &found("undecided", "unverifiable"), "not run");
    }

    #[test]
    fn the_right_is_the_one_that_the_own_detector_names() {
        let said = |code: &str, message: &str| json!({"code": code, "outcome": "undecided", "message": message});
        let report = |findings: &[Value]| [json!({"findings": findings, "claims": []})];
        let case = case("lie-a", "");
        let own = said("AB302", "it is not seen (hint: CAP_BPF and CAP_PERFMON, or root)");
        let other = said("AB106", "the daemon is not known (hint: run as root)");
        assert_eq!(right_that_settles(&case, &report(&[other.clone(), own])), Some("CAP_BPF and CAP_PERFMON"));
        assert_eq!(right_that_settles(&case, &report(&[other])), Some("root"));
        assert_eq!(right_that_settles(&case, &report(&[said("AB302", "too short")])), None);
    }

    #[test]
    fn a_twin_is_accused_by_its_detector_at_all_and_by_others_from_a_warning_on() {
        check("honest-a", "", &report("verified", "confirmed", &[("AB302", "silent", "")]), "silent");
        check("honest-a", "", &report("verified", "confirmed", &[("AB302", "fires", "note")]), "false accusation");
        check(
            "honest-a",
            "[expect]\nnote = 'w'",
            &report("verified", "confirmed", &[("AB302", "fires", "note")]),
            "silent",
        );
        check("honest-a", "", &report("qualified", "confirmed", &[("AB404", "fires", "note")]), "silent");
        check("honest-a", "", &report("qualified", "confirmed", &[("AB601", "fires", "warn")]), "false accusation");
        let beside = "[expect.beside]\nAB601 = 'a neighbour'";
        check("honest-a", beside, &report("qualified", "confirmed", &[("AB601", "fires", "warn")]), "silent");
        check("honest-a", "", &report("inconclusive", "unverifiable", &[]), "false accusation");
        let mut twin = case("honest-a", "");
        twin.of_the_machine = [("AB701".to_owned(), "short".to_owned()), ("AB302".to_owned(), "no".to_owned())].into();
        assert_eq!(of(&twin, &report("qualified", "confirmed", &[("AB701", "fires", "warn")])), Outcome::Silent);
        let own = of(&twin, &report("qualified", "confirmed", &[("AB302", "fires", "warn")]));
        assert_eq!(own.word(), "false accusation");
    }

    #[test]
    fn a_series_is_judged_by_its_own_report_and_a_twin_by_its_runs_too() {
        let series = |findings| {
            let mut series = report("qualified", "", findings);
            let whole = series.as_object_mut().expect("an object");
            drop((whole.remove("claims"), whole.remove("phases")));
            whole.insert("figures".to_owned(), json!([{"phase": "write"}]));
            series
        };
        let (quiet, loud) = (series(&[]), series(&[("AB302", "fires", "warn")]));
        let runs = [report("verified", "confirmed", &[]), report("qualified", "", &[("AB601", "fires", "warn")])];
        let lie = case("lie-a", "[expect]\nseverity = 'warn'\nphases = ['write']");
        assert_eq!(of_series(&lie, &loud, &runs), Outcome::Hit);
        assert_eq!(of_series(&lie, &quiet, &runs).word(), "miss");
        let twin = case("honest-a", "");
        assert_eq!(of_series(&twin, &quiet, &runs[..1]), Outcome::Silent);
        assert_eq!(of_series(&twin, &loud, &runs[..1]).word(), "false accusation");
        let accused = of_series(&twin, &quiet, &runs);
        assert!(accused.word() == "false accusation" && accused.why().starts_with("run 2: AB601"), "{accused:?}");

        let traced = |verdict: &str, claim: &str| {
            let mut report = report(verdict, claim, &[]);
            report["coverage"] = json!({"backend": "ptrace"});
            [report]
        };
        let mut open = quiet.clone();
        open["verdict"] = json!("inconclusive");
        assert_eq!(of_series(&twin, &open, &traced("inconclusive", "unverifiable")).word(), "undecided");
        assert_eq!(of_series(&twin, &open, &runs[..1]).word(), "false accusation");
        assert_eq!(of_series(&lie, &quiet, &traced("inconclusive", "unverifiable")).word(), "undecided");
        assert_eq!(of_series(&lie, &quiet, &traced("qualified", "confirmed")).word(), "miss");
    }

    #[test]
    fn what_shows_nothing_is_no_pass() {
        let mut empty = report("verified", "confirmed", &[]);
        empty["claims"] = json!([]);
        check("honest-a", "", &empty, "broken");
        check("honest-a", "", &Value::Null, "broken");
        check("lie-a", "[expect]\nseverity = 'fail'", &report("failed", "confirmed", &[]), "broken");
        let plan = json!({"phases": [], "findings": []});
        check("honest-a", "how = 'plan'", &plan, "broken");
    }

    #[test]
    fn a_machine_on_which_the_lie_is_none_does_not_run_it() {
        let found = report("discrepancy", "misleading", &[("AB302", "fires", "fail")]);
        let when = |bound: &str| {
            format!(
                "[expect]\nseverity = 'fail'\n[[only_when]]\nphase = 'write'\nfact = 'user_cpu_ns'\n\
                 share_of = 'window_ns'\n{bound}\nwhy = 'it is fast'"
            )
        };
        check("lie-a", &when("at_least = 0.25"), &found, "hit");
        check("lie-a", &when("at_least = 0.26"), &found, "not run");
        check("lie-a", &when("at_most = 0.24"), &found, "not run");
        check("lie-a", &when("at_most = 1.0").replace("user_cpu_ns", "no_such_fact"), &found, "broken");
    }
}
