//! Parsing of iozone's outputs: every fixture as a snapshot, and properties over cut and
//! arbitrary input.

use crate::stored::{Fixture, compact};
use activebench_model::activity::Activity;
use activebench_model::claim::{Claim, Parsed, Subject};
use activebench_model::command::CommandLine;
use activebench_model::output::ToolOutput;
use activebench_tools::{Adapter, adapter_by_name};
use proptest::prelude::*;

fn iozone() -> &'static dyn Adapter {
    adapter_by_name("iozone").expect("the adapter is registered")
}

fn fixtures() -> Vec<Fixture> {
    crate::stored::fixtures("iozone")
}

#[test]
fn every_fixture_is_read() {
    let fixtures = fixtures();
    assert!(fixtures.len() > 50, "only {} fixtures were found", fixtures.len());
    for fixture in fixtures {
        let parsed = iozone().parse(&fixture.command, &fixture.output, None);
        fixture.assert_named(&parsed);
        insta::with_settings!({ description => fixture.command.argv.join(" "), omit_expression => true }, {
            insta::assert_snapshot!(format!("iozone-{}", fixture.name), compact(&parsed));
        });
    }
}

#[test]
fn claims_and_phases_fit_each_other() {
    for fixture in fixtures() {
        let parsed = iozone().parse(&fixture.command, &fixture.output, None);
        let phases = iozone().phases(&fixture.command, &fixture.output, &parsed, &Activity::default());
        let mut ids: Vec<_> = phases.iter().map(|phase| phase.id.as_str()).collect();
        for claim in &parsed.claims {
            assert!(ids.contains(&claim.phase.as_str()), "{}: no phase {}", fixture.name, claim.phase);
            assert!(claim.source.text.contains(&claim.printed.text), "{}: {claim:?}", fixture.name);
        }
        for phase in &phases {
            assert!(phase.parts.is_empty() && phase.incomplete.is_some(), "{}: {phase:?}", fixture.name);
            assert!(parsed.claims.iter().any(|claim| claim.phase == phase.id), "{}: {}", fixture.name, phase.id);
        }
        ids.sort_unstable();
        let count = ids.len();
        ids.dedup();
        assert_eq!(ids.len(), count, "{}: phase ids are not unique", fixture.name);
    }
}

#[test]
fn the_echoed_command_line_serves_where_none_is_known() {
    for fixture in fixtures().iter().filter(|fixture| fixture.name != "err-no-args") {
        let known = iozone().parse(&fixture.command, &fixture.output, None);
        let unknown = iozone().parse(&CommandLine::default(), &fixture.output, None);
        assert_eq!(compact(&known), compact(&unknown), "{}", fixture.name);
    }
}

#[test]
fn line_ends_of_a_terminal_change_nothing() {
    for mut fixture in fixtures() {
        let plain = iozone().parse(&fixture.command, &fixture.output, None);
        let text = String::from_utf8(fixture.output.stdout).expect("UTF-8").replace('\n', "\r\n");
        fixture.output.stdout = text.into_bytes();
        let terminal = iozone().parse(&fixture.command, &fixture.output, None);
        assert_eq!(compact(&plain), compact(&terminal), "{}", fixture.name);
    }
}

#[test]
fn the_users_subject_goes_before_ours() {
    let output = fixtures().into_iter().find(|fixture| fixture.name == "i0-i1-ce").expect("the fixture");
    let parsed = iozone().parse(&output.command, &output.output, Some(Subject::Cpu));
    assert!(!parsed.claims.is_empty());
    assert!(parsed.claims.iter().all(|claim| claim.subject == Subject::Cpu && claim.subject_reason == "--subject"));
}

/// Returns the part of a claim that does not depend on how much of its line is present.
fn core(claim: &Claim) -> (&str, &str, String) {
    (&claim.id, &claim.phase, format!("{:?} {:?} {:?} {:?}", claim.metric, claim.value, claim.printed, claim.subject))
}

fn check_cut(fixture: &Fixture, whole: &Parsed, length: usize) {
    let output = ToolOutput {
        stdout: fixture.output.stdout[..length].to_vec(),
        stderr: fixture.output.stderr.clone(),
        files: Vec::new(),
    };
    let cut = iozone().parse(&fixture.command, &output, None);
    assert!(cut.claims.len() <= whole.claims.len(), "{} cut at {length}", fixture.name);
    for (claim, known) in cut.claims.iter().zip(&whole.claims) {
        assert_eq!(core(claim), core(known), "{} cut at {length}", fixture.name);
    }
    iozone().phases(&fixture.command, &output, &cut, &Activity::default());
}

#[test]
fn no_cut_of_a_fixture_invents_a_claim() {
    for fixture in fixtures() {
        let whole = iozone().parse(&fixture.command, &fixture.output, None);
        // Nothing is claimed before the table; the rest is cut at every byte.
        let text = String::from_utf8_lossy(&fixture.output.stdout).into_owned();
        let start = text.find("Command line used").unwrap_or(0);
        for length in start..=fixture.output.stdout.len() {
            check_cut(&fixture, &whole, length);
        }
    }
}

fn argument() -> impl Strategy<Value = String> {
    prop_oneof![
        "-[A-Za-z+]{1,4}[0-9a-z]{0,6}",
        "[0-9]{1,24}[kmgKMG]?",
        "-[+][A-Za-z]",
        "-[stlursngyq][0-9]{1,20}[kmg]?",
        ".{0,8}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_read_without_panic(stdout: Vec<u8>, stderr: Vec<u8>, argv in prop::collection::vec(argument(), 0..8)) {
        let command = CommandLine { argv, cwd: "/".to_owned() };
        let parsed = iozone().parse(&command, &ToolOutput { stdout, stderr, files: Vec::new() }, None);
        iozone().phases(&command, &ToolOutput::default(), &parsed, &Activity::default());
    }

    #[test]
    fn any_text_after_a_header_is_read_without_panic(
        lines in prop::collection::vec("[ 0-9]{0,60}|\t?(Children see|Parent sees) throughput for [ 0-9]{0,3} [a-z ]{0,9}=[ 0-9.]{0,400} (kB|ops)/sec|\"[0-9A-Za-z ]{0,8}\"[ 0-9\"]{0,30}|Excel output is below:|.{0,40}", 0..12),
        argv in prop::collection::vec(argument(), 0..8),
        old: bool,
    ) {
        let header = if old {
            "              KB  reclen   write rewrite    read    reread\n"
        } else {
            "              kB  reclen    write  rewrite    read    reread\n"
        };
        let stdout = format!("{header}{}\n", lines.join("\n")).into_bytes();
        let command = CommandLine { argv, cwd: "/".to_owned() };
        let parsed = iozone().parse(&command, &ToolOutput { stdout, ..ToolOutput::default() }, None);
        for claim in &parsed.claims {
            prop_assert!(claim.value.value.is_finite() && claim.value.value >= 0.0);
        }
        iozone().phases(&command, &ToolOutput::default(), &parsed, &Activity::default());
    }
}

/// A fixture's claims and unread figures, with these words in the place of others.
fn changed(name: &str, from: &str, to: &str) -> Parsed {
    let mut fixture = fixtures().into_iter().find(|fixture| fixture.name == name).expect("the fixture");
    let text = String::from_utf8(fixture.output.stdout.clone()).expect("UTF-8");
    assert!(text.contains(from), "{name} has no {from:?}");
    fixture.output.stdout = text.replace(from, to).into_bytes();
    fixture.parsed()
}

#[test]
fn a_figure_has_the_unit_that_the_output_states() {
    let whole = changed("i0-i1-direct", "kBytes/sec", "kBytes/sec");
    let of = |unit: &str| changed("i0-i1-direct", "Output is in kBytes/sec", &format!("Output is in {unit}"));
    for (unit, factor) in [("kBytes/sec", 1.0), ("MBytes/sec", 1024.0), ("GBytes/sec", 1048576.0)] {
        let claims = of(unit).claims;
        assert_eq!(claims.len(), whole.claims.len(), "{unit}");
        for (claim, known) in claims.iter().zip(&whole.claims) {
            assert!((claim.value.value / known.value.value / factor - 1.0).abs() < 1e-9, "{unit}: {claim:?}");
        }
    }
    let unknown = of("floppies per hour");
    assert_eq!((unknown.claims.len(), unknown.unmatched.rates()), (0, whole.claims.len()));
}

#[test]
fn a_column_under_another_name_is_not_claimed() {
    let header = "write  rewrite    read    reread";
    let parsed = changed("i0-i1-direct", header, "write  rewrite   write   rewrite");
    let phases: Vec<&str> = parsed.claims.iter().map(|claim| claim.phase.as_str()).collect();
    assert_eq!(phases, ["write", "rewrite"]);
    assert_eq!(parsed.unmatched.rates(), 4, "and those of -i2");
}
