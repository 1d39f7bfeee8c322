//! `markdown`: snapshots, the size limit, and the places of cuts.

use activebench_model::report::JudgedRun;
use activebench_report::ticket::LIMIT;

use crate::samples;

fn render(run: &JudgedRun) -> String {
    samples::of_run("markdown", run)
}

/// Checks that every line of a table has the columns of its head, and that no other line interrupts a table.
fn check_tables(report: &str) {
    let columns = |line: &str| line.replace("\\|", "").matches('|').count();
    let mut expected = None;
    for line in report.lines() {
        if line.starts_with('|') {
            assert_eq!(columns(line), *expected.get_or_insert(columns(line)), "{line}");
        } else {
            assert!(expected.is_none() || line.is_empty(), "a table runs into: {line}");
            expected = None;
        }
    }
}

#[test]
fn every_sample_reads_as_intended() {
    for (name, run) in samples::all() {
        let report = render(&run);
        check_tables(&report);
        insta::assert_snapshot!(name, report);
    }
}

#[test]
fn a_report_never_exceeds_the_limit_and_says_what_is_left_out() {
    let mut wide = samples::many_claims();
    for claim in &mut wide.parsed.claims {
        claim.printed.text = "9|".repeat(200);
    }
    let mut deep = samples::misleading();
    let finding = deep.findings[0].clone();
    deep.findings = (0..300)
        .map(|index| {
            let mut finding = finding.clone();
            finding.code = format!("AB{index}");
            finding.message = "much is said ".repeat(60).into();
            finding
        })
        .collect();
    let hostile = samples::hostile(&"\u{1b}[0m|<@a>\n".repeat(2_000));
    for (run, left_out) in [(wide, "claims"), (deep, "findings"), (hostile, "")] {
        let report = render(&run);
        assert!(report.chars().count() < LIMIT, "{} characters", report.chars().count());
        check_tables(&report);
        if !left_out.is_empty() {
            assert!(report.contains("Left out to fit a ticket:"), "nothing says that {left_out} are left out");
            assert!(report.contains(&format!(" {left_out}. All of them")), "{left_out}");
        }
        assert!(report.contains("## Record"), "the end is there");
    }
}

#[test]
fn a_cut_report_uses_the_room_it_has() {
    let mut run = samples::many_claims();
    for claim in &mut run.parsed.claims {
        claim.printed.text = "9".repeat(900);
    }
    let report = render(&run);
    assert!(report.chars().count() > LIMIT - 4_000, "{} characters", report.chars().count());
}
