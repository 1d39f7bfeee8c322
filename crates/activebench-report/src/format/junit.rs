//! JUnit XML, for the test view of a CI system.
//!
//! One suite per run: a case for the run's verdict, one for its target, one per claim, and one per detector that found
//! something about the run as a whole. `junit-full` has a case for every detector. The suite passes exactly when
//! activebench exits with 0. A violation of `--fail-on` is a failure. An inconclusive or failed run is an error in the
//! case of the run. An undecided check is skipped with its reason.
//!
//! The dialect is the common subset of the consumers (Jenkins' schema). GitLab ignores the suite's name, its properties
//! and the type of a failure, so codes are in classname and name. Neither contains figures, so that a case keeps its
//! identity from run to run and has a history.

use std::collections::HashMap;
use std::io;
use std::time::Duration;

use activebench_model::claim::{Claim, SourceLine};
use activebench_model::finding::{Effect, Finding, Outcome, Severity};
use activebench_model::report::JudgedRun;
use activebench_model::run::FailOn;
use activebench_model::target::JudgedTarget;
use activebench_model::verdict::{ClaimVerdict, JudgedClaim, RunVerdict};
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use super::{Format, Rendering};
use crate::findings::severity_name;
use crate::run::keys::claims_by_verdict;
use crate::wording::{metric, quoted, shell_command, utc};
use crate::{escape, headline};

/// Maximum lines of the tool's output in the case of the run; the rest is counted.
const LINES_QUOTED: usize = 40;

/// Format `junit`.
pub(crate) static FORMAT: Format = Format {
    name: "junit",
    extension: "junit.xml",
    is_unasked: false,
    shows_timelines: false,
    rendering: Rendering::OfRuns(|run, to| write(run, Cases::OfFigures, to)),
};

/// Format `junit-full`.
pub(crate) static FULL: Format = Format {
    name: "junit-full",
    extension: "full.junit.xml",
    is_unasked: false,
    shows_timelines: false,
    rendering: Rendering::OfRuns(|run, to| write(run, Cases::OfDetectors, to)),
};

/// What has a case.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cases {
    /// The verdict, the target and the figures. Findings are in the cases of the figures.
    OfFigures,
    /// Every outcome of every detector too.
    OfDetectors,
}

fn write(run: &JudgedRun, cases: Cases, to: &mut dyn io::Write) -> io::Result<()> {
    let mut report = Report::new("activebench");
    report.add_test_suite(suite(run, cases));
    report.serialize(to).map_err(io::Error::other)
}

fn suite(run: &JudgedRun, wanted: Cases) -> TestSuite {
    let manifest = &run.manifest;
    let mut suite = TestSuite::new("activebench");
    // Parsed from text, because the name of the timestamp's type is not available here.
    suite.timestamp = utc(manifest.clocks.started_unix_s).and_then(|text| text.parse().ok());
    for (name, value) in [
        ("verdict", run.verdict.as_str()),
        ("command", headline::command(run).as_str()),
        ("run directory", run.directory.as_str()),
        ("profile", manifest.choices.profile.as_str()),
        ("activebench", manifest.activebench.as_str()),
    ] {
        suite.add_property((name, escape::xml(value).as_str()));
    }
    for (verdict, claims) in claims_by_verdict(run) {
        suite.add_property((format!("claims {verdict}").as_str(), claims.to_string().as_str()));
    }
    let tool = tool(run);
    let judged: HashMap<&str, &JudgedClaim> = run.judged.iter().map(|j| (j.claim.as_str(), j)).collect();
    let mut cases = Suite { suite, seen: HashMap::new() };
    cases.add(format!("run/{tool}"), "verdict".to_owned(), case_of_run(run));
    if let Some(target) = &run.target {
        cases.add(format!("run/{tool}"), "target".to_owned(), case_of_target(target));
    }
    for claim in &run.parsed.claims {
        let name = format!("{} ({})", metric(claim.metric), claim.subject.as_str());
        let case = case_of_claim(run, claim, judged.get(claim.id.as_str()).copied());
        cases.add(format!("{}/{tool}", claim.phase), name, case);
    }
    let has_case = |finding: &&Finding| wanted == Cases::OfDetectors || stands_alone(run, finding);
    for finding in run.findings.iter().filter(has_case) {
        let phase = finding.phase.as_deref().unwrap_or("run");
        let name = format!("{} {}", finding.code, finding.name);
        cases.add(format!("{phase}/{tool}/{}", finding.code), name, case_of_finding(run, finding));
    }
    cases.suite
}

/// Name of the tool; the program's name if no adapter knows it.
fn tool(run: &JudgedRun) -> &str {
    if run.parsed.tool.is_empty() { run.manifest.command.program() } else { &run.parsed.tool }
}

/// Returns `true` for a violation that no case of a figure shows.
fn stands_alone(run: &JudgedRun, finding: &Finding) -> bool {
    let is_shown = || {
        run.judged.iter().any(|judged| judged.verdict().is_contradicted() && judged.findings.contains(&finding.code))
    };
    finding.outcome == Outcome::Fires && finding.severity > Some(Severity::Note) && !is_shown()
}

/// The suite with its cases so far. Consumers merge two cases of one name, so the second gets a number.
struct Suite {
    suite: TestSuite,
    /// How often each name was used, by class and name.
    seen: HashMap<Box<str>, HashMap<Box<str>, u32>>,
}

impl Suite {
    fn add(&mut self, classname: String, name: String, case: Case) {
        let (classname, name) = (escape::xml(&classname), escape::xml(&name));
        let times = self.seen.entry(classname.as_str().into()).or_default().entry(name.as_str().into()).or_default();
        *times += 1;
        let name = if *times > 1 { format!("{name} #{times}") } else { name };
        let mut built = TestCase::new(name, case.status);
        built.set_classname(classname);
        if let Some(time) = case.time {
            built.set_time(time);
        }
        if !case.said.is_empty() {
            let lines: Vec<String> = case.said.iter().map(|line| escape::xml(line)).collect();
            built.set_system_out(lines.join("\n"));
        }
        self.suite.add_test_case(built);
    }
}

/// Content of a case. Only the texts of its status are escaped.
struct Case {
    status: TestCaseStatus,
    /// Lines of `system-out`.
    said: Vec<String>,
    time: Option<Duration>,
}

impl Case {
    fn of(status: TestCaseStatus) -> Self {
        Self { status, said: Vec::new(), time: None }
    }

    fn saying(self, said: Vec<String>) -> Self {
        Self { said, ..self }
    }
}

fn case_of_target(target: &JudgedTarget) -> Case {
    let status = match target.met {
        Some(true) => TestCaseStatus::success(),
        Some(false) => not_passed(NonSuccessKind::Failure, "target", &target.sentence, &[&target.text]),
        None => not_passed(NonSuccessKind::Error, "target", &target.sentence, &[&target.text]),
    };
    Case::of(status).saying(vec![target.text.clone()])
}

fn not_passed(kind: NonSuccessKind, kind_of: &str, message: &str, details: &[&str]) -> TestCaseStatus {
    let mut status = TestCaseStatus::non_success(kind);
    status.set_message(escape::xml(message)).set_type(escape::xml(kind_of));
    let details: Vec<String> = details.iter().filter(|text| !text.is_empty()).map(|text| escape::xml(text)).collect();
    if !details.is_empty() {
        status.set_description(details.join("\n"));
    }
    status
}

fn skipped(reason: &str) -> TestCaseStatus {
    let mut status = TestCaseStatus::skipped();
    status.set_message(escape::xml(reason));
    status
}

/// Reason why a violation is not counted as a failure.
const NEVER: &str = "--fail-on never: not counted";

fn case_of_run(run: &JudgedRun) -> Case {
    let manifest = &run.manifest;
    let verdict = run.verdict.as_str();
    let why = format!("{verdict}: {}", headline::why(run));
    let notices: Vec<String> =
        headline::notices(run).iter().map(|notice| format!("{}: {}", notice.label, notice.text)).collect();
    let notice_lines: Vec<&str> = notices.iter().map(String::as_str).collect();
    let status = match run.exit_code {
        0 if run.verdict == RunVerdict::Discrepancy => skipped(&format!("{NEVER}: {why}")),
        0 => TestCaseStatus::success(),
        1 => not_passed(NonSuccessKind::Failure, verdict, &why, &notice_lines),
        _ => not_passed(NonSuccessKind::Error, verdict, &why, &notice_lines),
    };
    let mut said = vec![why, format!("command: {}", shell_command(&manifest.command.argv))];
    said.push(format!("run directory: {}", run.directory));
    said.extend(notices);
    let lines = run.parsed.errors.iter().chain(&run.parsed.notes);
    said.extend(lines.clone().take(LINES_QUOTED).map(quoted));
    let more = lines.count().saturating_sub(LINES_QUOTED);
    if more > 0 {
        said.push(format!("and {more} more lines of its output, in the JSON report"));
    }
    let run_ns = manifest.clocks.ended_ns.saturating_sub(manifest.clocks.started_ns);
    Case { status, said, time: Some(Duration::from_nanos(run_ns)) }
}

fn case_of_claim(run: &JudgedRun, claim: &Claim, judged: Option<&JudgedClaim>) -> Case {
    let said = vec![
        format!("{} is claimed", claim.value),
        format!("it is taken for {}: {}", claim.subject.as_str(), claim.subject_reason),
        line_of_output(&claim.source),
    ];
    let Some(judged) = judged else { return Case::of(skipped("not judged")).saying(said) };
    let verdict = judged.verdict().words();
    let status = match judged.verdict() {
        ClaimVerdict::Confirmed => TestCaseStatus::success(),
        ClaimVerdict::Unverifiable | ClaimVerdict::NotChecked => {
            let why = judged.no_correction.as_deref().unwrap_or("the evidence does not suffice");
            skipped(&format!("{verdict}: {why}"))
        }
        ClaimVerdict::Misleading | ClaimVerdict::Refuted => {
            let honest = match (&judged.corrected, &judged.no_correction) {
                (Some(corrected), _) => format!("honest: {} ({})", corrected.value, corrected.meaning),
                (None, Some(why)) => format!("there is no honest figure: {why}"),
                (None, None) => "there is no honest figure".to_owned(),
            };
            let message = format!("{verdict}: {} is claimed; {honest}", claim.value);
            let instead =
                judged.measured_instead.as_ref().map_or_else(String::new, |what| format!("it measured {what}"));
            let findings = match judged.findings.is_empty() {
                true => String::new(),
                false => format!("findings: {}", judged.findings.join(", ")),
            };
            match run.manifest.choices.fail_on {
                FailOn::Never => skipped(&format!("{NEVER}: {message}")),
                FailOn::Warn | FailOn::Fail => {
                    not_passed(NonSuccessKind::Failure, verdict, &message, &[&instead, &findings])
                }
            }
        }
    };
    Case::of(status).saying(said)
}

fn case_of_finding(run: &JudgedRun, finding: &Finding) -> Case {
    let sentence = finding.message.sentence();
    let because = |outcome: &str| match sentence.is_empty() {
        true => outcome.to_owned(),
        false => format!("{outcome}: {sentence}"),
    };
    match finding.outcome {
        Outcome::Silent => Case::of(TestCaseStatus::success()),
        Outcome::NotApplicable => Case::of(skipped(&because("not applicable"))),
        Outcome::Undecided => Case::of(skipped(&because("undecided"))),
        Outcome::Fires => fires(run, finding, sentence),
    }
}

fn fires(run: &JudgedRun, finding: &Finding, sentence: &str) -> Case {
    let severity = finding.severity.unwrap_or(Severity::Note);
    let name = severity_name(severity);
    let fail_on = run.manifest.choices.fail_on;
    let is_grave = match fail_on {
        FailOn::Warn => severity >= Severity::Warn,
        // `never` suppresses a finding that would otherwise be a failure, and must say so.
        FailOn::Fail | FailOn::Never => severity == Severity::Fail,
    };
    if !is_grave {
        let said = [format!("{name}: {sentence}"), finding.meaning.clone(), finding.advice.clone()];
        let said = said.into_iter().filter(|text| !text.is_empty()).collect();
        return Case::of(TestCaseStatus::success()).saying(said);
    }
    Case::of(if finding.effect == Some(Effect::Unverifiable) {
        // The finding accuses nobody. The case of the run reports that the run is inconclusive.
        skipped(&format!("the evidence does not suffice: {sentence}"))
    } else if fail_on == FailOn::Never {
        skipped(&format!("{NEVER}: {sentence}"))
    } else {
        not_passed(NonSuccessKind::Failure, name, sentence, &[&finding.meaning, &finding.advice])
    })
}

fn line_of_output(source: &SourceLine) -> String {
    format!("{} line {}: {}", source.stream, source.line, source.text.trim_end())
}
