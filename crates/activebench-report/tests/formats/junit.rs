//! `junit`: snapshots, the content after parsing, and the outcome of the suite.

use std::collections::BTreeSet;

use activebench_model::report::JudgedRun;
use activebench_model::run::FailOn;
use activebench_model::verdict::RunVerdict;
use quick_junit::{Report, TestCase, TestCaseStatus};

use crate::samples;

fn render(run: &JudgedRun) -> String {
    samples::of_run("junit-full", run)
}

/// Parses the suite as an XML consumer does.
fn read(run: &JudgedRun) -> Report {
    let xml = render(run);
    Report::deserialize_from_str(&xml).unwrap_or_else(|error| panic!("{error:?}:\n{xml}"))
}

fn cases(report: &Report) -> &[TestCase] {
    &report.test_suites[0].test_cases
}

#[test]
fn every_sample_reads_as_intended() {
    for (name, run) in samples::all() {
        // 200 claims would only make the snapshot longer.
        if name != "many_claims" {
            insta::assert_snapshot!(name, render(&run));
        }
    }
}

#[test]
fn the_suite_is_green_exactly_when_the_exit_code_is_0() {
    for (name, mut run) in samples::all() {
        let is_green = |run: &JudgedRun| {
            let report = read(run);
            report.failures + report.errors == 0
        };
        assert_eq!(is_green(&run), run.exit_code == 0, "{name}");
        // With `--fail-on never` activebench exits with 0 for discrepancies.
        run.manifest.choices.fail_on = FailOn::Never;
        if matches!(run.verdict, RunVerdict::Qualified | RunVerdict::Discrepancy) {
            run.exit_code = 0;
        }
        assert_eq!(is_green(&run), run.exit_code == 0, "{name} with --fail-on never");
        let passed = |case: &TestCase| matches!(case.status, TestCaseStatus::Success { .. });
        let discrepancy = run.verdict == RunVerdict::Discrepancy;
        assert!(!discrepancy || !passed(&cases(&read(&run))[0]), "{name}: a discrepancy never passes");
    }
}

#[test]
fn every_claim_and_finding_has_a_case_of_its_own() {
    for (name, run) in samples::all() {
        let report = read(&run);
        let identities: BTreeSet<(String, String)> = cases(&report)
            .iter()
            .map(|case| (case.classname.as_ref().expect("a classname").to_string(), case.name.to_string()))
            .collect();
        assert_eq!(identities.len(), 1 + run.parsed.claims.len() + run.findings.len(), "{name}");
        assert_eq!(report.tests, identities.len(), "{name}");
    }
}

#[test]
fn a_case_is_the_same_from_run_to_run() {
    let names = |run: &JudgedRun| -> Vec<String> {
        cases(&read(run)).iter().map(|case| format!("{:?} {:?}", case.classname, case.name)).collect()
    };
    let first = samples::verified();
    let mut second = first.clone();
    second.parsed.claims[0].value.value *= 1.1;
    second.directory = "elsewhere".into();
    assert_eq!(names(&first), names(&second));
}

#[test]
fn a_code_stands_where_gitlab_shows_it() {
    let report = read(&samples::misleading());
    let failing: Vec<&TestCase> =
        cases(&report).iter().filter(|case| matches!(case.status, TestCaseStatus::NonSuccess { .. })).collect();
    let of_detector = |case: &&&TestCase| case.name.as_str().starts_with("AB302 ");
    assert_eq!(failing.iter().filter(of_detector).count(), 2);
    assert_eq!(failing[3].classname.as_deref(), Some("write/iozone/AB302"));
}

#[test]
fn the_short_suite_has_the_verdict_the_figures_and_what_else_fails() {
    for (name, mut run) in samples::all() {
        let xml = samples::of_run("junit", &run);
        let report = Report::deserialize_from_str(&xml).unwrap_or_else(|error| panic!("{error:?}:\n{xml}"));
        let failed = |report: &Report| report.failures + report.errors;
        assert_eq!(failed(&report) == 0, run.exit_code == 0, "{name}");
        let cases = cases(&report);
        assert!(cases.len() > run.parsed.claims.len(), "{name}: {}", cases.len());
        let full = read(&run).test_suites[0].test_cases.len();
        assert!(cases.len() <= full, "{name}: {} of {full}", cases.len());
        // With `--fail-on never` nothing is red.
        run.manifest.choices.fail_on = FailOn::Never;
        if run.verdict == RunVerdict::Discrepancy {
            run.exit_code = 0;
            let report = Report::deserialize_from_str(&samples::of_run("junit", &run)).expect("a suite");
            assert_eq!(failed(&report), 0, "{name}");
        }
    }
}
