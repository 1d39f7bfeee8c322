//! Parsing of bonnie++'s outputs: every fixture as a snapshot, and properties over cut and
//! arbitrary input.

use crate::stored::{Fixture, compact};
use activebench_model::activity::Activity;
use activebench_model::claim::{Claim, Metric, Parsed, Subject};
use activebench_model::command::CommandLine;
use activebench_model::output::ToolOutput;
use activebench_tools::{Adapter, adapter_by_name, adapter_for_program};
use proptest::prelude::*;

fn bonnie() -> &'static dyn Adapter {
    adapter_by_name("bonnie++").expect("the adapter is registered")
}

fn fixtures() -> Vec<Fixture> {
    crate::stored::fixtures("bonnie++")
}

fn fixture(name: &str) -> Fixture {
    crate::stored::fixture("bonnie++", name)
}

#[test]
fn every_fixture_is_read() {
    let fixtures = fixtures();
    assert!(fixtures.len() > 20, "only {} fixtures were found", fixtures.len());
    for fixture in fixtures {
        insta::with_settings!({ description => fixture.command.argv.join(" "), omit_expression => true }, {
            insta::assert_snapshot!(format!("bonnie-{}", fixture.name), compact(&fixture.parsed()));
        });
    }
}

#[test]
fn the_program_is_known_by_its_names() {
    for name in ["bonnie++", "bonnie", "bonnie103", "bonnie++-1.97"] {
        assert_eq!(adapter_for_program(name).map(|adapter| adapter.name()), Some("bonnie++"), "{name}");
    }
    for name in ["bonnie_report", "bonnie++.sh", "bon_csv2html", ""] {
        assert!(adapter_for_program(name).is_none(), "{name}");
    }
}

#[test]
fn claims_and_phases_fit_each_other() {
    for fixture in fixtures() {
        let parsed = fixture.parsed();
        let phases = bonnie().phases(&fixture.command, &fixture.output, &parsed, &Activity::default());
        let mut ids: Vec<_> = phases.iter().map(|phase| phase.id.as_str()).collect();
        for claim in &parsed.claims {
            assert!(ids.contains(&claim.phase.as_str()), "{}: no phase {}", fixture.name, claim.phase);
            assert!(claim.source.text.contains(&claim.printed.text), "{}: {claim:?}", fixture.name);
        }
        for phase in &phases {
            assert!(!phase.is_found() && phase.incomplete.is_some(), "{}: {phase:?}", fixture.name);
            assert!(parsed.claims.iter().any(|claim| claim.phase == phase.id), "{}: {}", fixture.name, phase.id);
        }
        ids.sort_unstable();
        let count = ids.len();
        ids.dedup();
        assert_eq!(ids.len(), count, "{}: phase ids are not unique", fixture.name);
        for again in &parsed.restated {
            assert!(parsed.claims.iter().any(|claim| claim.id == again.claim), "{}: {again:?}", fixture.name);
        }
    }
}

#[test]
fn the_claims_need_no_command_line() {
    for fixture in fixtures().iter().filter(|fixture| !fixture.output.stdout.is_empty()) {
        let claims = |command: &CommandLine| -> Vec<String> {
            let parsed = bonnie().parse(command, &fixture.output, None);
            parsed.claims.iter().map(core).collect()
        };
        assert_eq!(claims(&fixture.command), claims(&CommandLine::default()), "{}", fixture.name);
    }
}

#[test]
fn line_ends_of_a_terminal_change_nothing() {
    for mut fixture in fixtures() {
        let plain = fixture.parsed();
        for stream in [&mut fixture.output.stdout, &mut fixture.output.stderr] {
            *stream = String::from_utf8(std::mem::take(stream)).expect("UTF-8").replace('\n', "\r\n").into_bytes();
        }
        assert_eq!(compact(&plain), compact(&fixture.parsed()), "{}", fixture.name);
    }
}

#[test]
fn the_table_serves_where_no_row_was_printed() {
    for name in ["v1.97-default", "v1.03e-default", "default-64m-r0-n1", "direct-D-f", "files-only-s0"] {
        let mut fixture = fixture(name);
        let whole = fixture.parsed();
        let text = String::from_utf8(fixture.output.stdout).expect("UTF-8");
        let without: Vec<&str> = text.lines().filter(|line| line.matches(',').count() < 20).collect();
        fixture.output.stdout = format!("{}\n", without.join("\n")).into_bytes();
        let tabled = fixture.parsed();
        let misprinted = |claim: &&Claim| name == "files-only-s0" && claim.metric != Metric::LatencyMax;
        let expected: Vec<_> = whole.claims.iter().filter(|claim| !misprinted(claim)).collect();
        assert_eq!(tabled.claims.len(), expected.len(), "{name}: {}", compact(&tabled));
        for claim in &tabled.claims {
            assert!(is_stated(claim, &whole), "{name}: {claim:?}");
        }
        assert!(!tabled.complete, "{name}");
    }
}

#[test]
fn a_wrong_column_of_the_table_is_restated_and_not_claimed() {
    let parsed = fixture("files-only-s0").parsed();
    let create = parsed.claims.iter().find(|claim| claim.phase == "seq-create").expect("a claim");
    assert_eq!(create.value.value, 17164.0);
    let again = parsed.restated.iter().find(|again| again.claim == create.id).expect("the table's figure");
    assert_eq!((again.value.value, again.printed.text.as_str()), (16384.0, "16384"));
}

#[test]
fn the_users_subject_goes_before_ours_for_all_but_processor_time() {
    let fixture = fixture("v1.97-default");
    let parsed = bonnie().parse(&fixture.command, &fixture.output, Some(Subject::CachedFilesystem));
    assert!(parsed.claims.len() > 10);
    for claim in &parsed.claims {
        let expected = match claim.metric {
            Metric::CpuTotal => Subject::Cpu,
            _ => Subject::CachedFilesystem,
        };
        assert_eq!(claim.subject, expected, "{claim:?}");
    }
}

/// Returns the part of a claim that the options do not change.
fn core(claim: &Claim) -> String {
    format!("{} {} {:?} {:?} {:?}", claim.id, claim.phase, claim.metric, claim.value, claim.printed)
}

/// Returns true if the whole output states a claim of a cut one, possibly in the table.
fn is_stated(claim: &Claim, whole: &Parsed) -> bool {
    whole.claims.iter().any(|known| {
        let slack = 2.0 * (claim.resolution + known.resolution);
        (&known.phase, known.metric, known.value.unit) == (&claim.phase, claim.metric, claim.value.unit)
            && (known.value.value - claim.value.value).abs() <= slack
    })
}

#[test]
fn no_cut_of_a_fixture_invents_a_claim() {
    for fixture in fixtures() {
        let whole = fixture.parsed();
        for length in 0..=fixture.output.stdout.len() {
            let output = ToolOutput {
                stdout: fixture.output.stdout[..length].to_vec(),
                stderr: fixture.output.stderr.clone(),
                files: Vec::new(),
            };
            let cut = bonnie().parse(&fixture.command, &output, None);
            for claim in &cut.claims {
                assert!(is_stated(claim, &whole), "{} cut at {length}: {claim:?}", fixture.name);
            }
            bonnie().phases(&fixture.command, &output, &cut, &Activity::default());
        }
        // With -q the table is on standard error.
        for length in 0..=fixture.output.stderr.len() {
            let stderr = fixture.output.stderr[..length].to_vec();
            let cut = bonnie().parse(&fixture.command, &ToolOutput { stderr, ..ToolOutput::default() }, None);
            assert!(cut.claims.iter().all(|claim| is_stated(claim, &whole)), "{} cut at {length}", fixture.name);
        }
    }
}

fn argument() -> impl Strategy<Value = String> {
    prop_oneof![
        "-[A-Za-z+]{1,4}[0-9a-z]{0,6}",
        "[0-9]{1,24}[kmgtKMG]?(:[0-9]{0,24}[kmg]?){0,4}",
        "-[snxf][0-9]{1,20}[kmg]?",
        "-[snx]",
        ".{0,8}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_read_without_panic(stdout: Vec<u8>, stderr: Vec<u8>, argv in prop::collection::vec(argument(), 0..8)) {
        let command = CommandLine { argv, cwd: "/".to_owned() };
        let output = ToolOutput { stdout, stderr, files: Vec::new() };
        let parsed = bonnie().parse(&command, &output, None);
        bonnie().phases(&command, &output, &parsed, &Activity::default());
        bonnie().plan(&command, &[]);
    }

    #[test]
    fn any_rows_and_tables_are_read_without_panic(
        lines in prop::collection::vec(
            "(1\\.9[78],(1\\.97|2\\.00a),|)[a-z]{0,4}(,[0-9.+]{0,20}(us|ms|s|M|G)?){20,60}|Version +[12]\\.[0-9]{2}[a-e]? +------Sequential (Output|Create)------.{0,20}|[a-z]{0,5} +[0-9]{1,20}[MG](:[0-9]{1,20}k)?( +([0-9.]{1,20}[kmg]?|\\+{3,5})){0,14}|Latency( +[0-9]{1,20}(us|ms|s)){0,7}|.{0,40}",
            0..12,
        ),
        argv in prop::collection::vec(argument(), 0..8),
    ) {
        let stdout = format!("{}\n", lines.join("\n")).into_bytes();
        let command = CommandLine { argv, cwd: "/".to_owned() };
        let output = ToolOutput { stdout, ..ToolOutput::default() };
        let parsed = bonnie().parse(&command, &output, None);
        for claim in &parsed.claims {
            prop_assert!(claim.value.value.is_finite() && claim.value.value >= 0.0 && claim.resolution > 0.0);
            prop_assert!(claim.source.text.contains(&claim.printed.text));
        }
        bonnie().phases(&command, &output, &parsed, &Activity::default());
    }
}
