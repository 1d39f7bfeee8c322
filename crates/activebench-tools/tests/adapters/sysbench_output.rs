//! Outputs of sysbench fileio, read: every fixture as a snapshot, and properties over cut and arbitrary input.

use std::collections::BTreeSet;

use activebench_model::activity::Activity;
use activebench_model::claim::{Parsed, Subject};
use activebench_model::command::CommandLine;
use activebench_model::output::ToolOutput;
use activebench_tools::{Adapter, adapter_by_name, adapter_for_output};
use proptest::prelude::*;

use crate::stored::{command_line, compact, fixture, fixtures};

fn sysbench() -> &'static dyn Adapter {
    adapter_by_name("sysbench").expect("the adapter is registered")
}

#[test]
fn every_fixture_is_read() {
    let fixtures = fixtures("sysbench");
    assert!(fixtures.len() >= 11, "only {} fixtures were found", fixtures.len());
    for fixture in fixtures {
        let parsed = fixture.parsed();
        let phases = sysbench().phases(&fixture.command, &fixture.output, &parsed, &Activity::default());
        for claim in &parsed.claims {
            assert!(claim.source.text.contains(&claim.printed.text), "{}: {claim:?}", fixture.name);
            assert!(phases.iter().any(|phase| phase.id == claim.phase), "{}: {claim:?}", fixture.name);
        }
        insta::with_settings!({ description => fixture.command.argv.join(" "), omit_expression => true }, {
            insta::assert_snapshot!(format!("sysbench-{}", fixture.name), compact(&parsed));
        });
    }
}

#[test]
fn a_text_without_its_command_says_what_was_run() {
    for name in ["seqwr-honest", "seqwr-no-fsync", "rndrw-defaults-interval", "rndrd-direct-histogram", "prepare"] {
        let fixture = fixture("sysbench", name);
        let known = fixture.parsed();
        let alone = sysbench().parse(&CommandLine::default(), &fixture.output, None);
        let figures = |parsed: &Parsed| -> Vec<_> {
            parsed.claims.iter().map(|claim| (claim.phase.clone(), claim.metric, claim.value, claim.subject)).collect()
        };
        assert_eq!(figures(&known), figures(&alone), "{name}");
        assert_eq!(adapter_for_output(&fixture.output).map(|adapter| adapter.name()), Some("sysbench"), "{name}");
    }
}

#[test]
fn the_subject_follows_the_syncs() {
    let subject = |name: &str| fixture("sysbench", name).parsed().claims[0].subject;
    assert_eq!(subject("seqwr-honest"), Subject::DurableWrite);
    assert_eq!(subject("seqwr-no-fsync"), Subject::Device);
    assert_eq!(subject("rndrd-direct-histogram"), Subject::Device);
}

fn figures(parsed: &Parsed) -> BTreeSet<String> {
    let figure = |claim: &activebench_model::claim::Claim| {
        format!("{} {:?} {:?} {}", claim.phase, claim.metric, claim.value, claim.printed.text)
    };
    parsed.claims.iter().map(figure).collect()
}

#[test]
fn no_cut_of_a_fixture_invents_a_figure() {
    for fixture in fixtures("sysbench") {
        let whole = fixture.parsed();
        let known = figures(&whole);
        // A line without its end may be cut inside a number: such lines are among the cuts.
        let lines: Vec<usize> = fixture
            .output
            .stdout
            .iter()
            .enumerate()
            .filter(|(_, byte)| **byte == b'\n')
            .map(|(at, _)| at + 1)
            .collect();
        for length in lines {
            let stdout = fixture.output.stdout[..length].to_vec();
            let cut = sysbench().parse(&fixture.command, &ToolOutput { stdout, ..ToolOutput::default() }, None);
            for figure in figures(&cut) {
                assert!(known.contains(&figure), "{} cut at {length}: {figure}", fixture.name);
            }
            assert!(!cut.complete || length + 200 > fixture.output.stdout.len(), "{} cut at {length}", fixture.name);
        }
    }
}

#[test]
fn a_plan_has_the_directions_of_the_mode() {
    let ids = |line: &str| -> Vec<String> {
        sysbench().plan(&command_line(line), &[]).phases.into_iter().map(|phase| phase.id).collect()
    };
    assert_eq!(ids("sysbench fileio --file-test-mode=rndrw run"), ["read", "write"]);
    assert_eq!(ids("sysbench fileio --file-test-mode=seqrd run"), ["read"]);
    assert_eq!(ids("sysbench fileio prepare"), ["prepare"]);
    for none in ["sysbench fileio cleanup", "sysbench cpu run", "sysbench fileio run", "sysbench --version"] {
        assert!(ids(none).is_empty(), "{none}");
    }
}

fn printed() -> impl Strategy<Value = String> {
    prop_oneof![
        "(File operations|Throughput|General statistics|Latency \\(ms\\)|Threads fairness):",
        " {1,8}(reads/s|writes/s|read, MiB/s|written, MiB/s|avg|max|95th percentile|total number of events): {1,9}[0-9.]{0,24}",
        "[0-9]{0,24} bytes written in [0-9.]{0,6} seconds \\([0-9.]{0,9} MiB/sec\\)\\.",
        "Block size [0-9A-Za-z]{0,9}",
        "Doing .{0,20} test",
        "Number of threads: [0-9]{0,12}",
        ".{0,60}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn any_lines_are_read_without_panic(
        lines in prop::collection::vec(printed(), 0..12),
        words in prop::collection::vec("(fileio|run|prepare|--file-(num|total-size|block-size|rw-ratio|test-mode)=.{0,12}|--(time|events|threads)=[0-9]{0,22})", 0..6),
    ) {
        let argv = std::iter::once("sysbench".to_owned()).chain(words).collect();
        let command = CommandLine { argv, cwd: "/".to_owned() };
        let output = ToolOutput { stdout: lines.join("\n").into_bytes(), ..ToolOutput::default() };
        let parsed = sysbench().parse(&command, &output, None);
        for claim in &parsed.claims {
            prop_assert!(claim.value.value.is_finite() && claim.value.value > 0.0 && claim.resolution > 0.0);
        }
        sysbench().phases(&command, &output, &parsed, &Activity::default());
        sysbench().plan(&command, &[]);
        sysbench().vetted(&command.argv);
    }
}

#[test]
fn the_events_over_the_time_of_a_test_that_reads_are_its_rate() {
    let apart = |change: &dyn Fn(&str) -> String| {
        let mut fixture = crate::stored::fixture("sysbench", "rndrd-direct-histogram");
        let text = String::from_utf8(fixture.output.stdout.clone()).expect("UTF-8");
        fixture.output.stdout = change(&text).into_bytes();
        let parsed = fixture.parsed();
        let again = parsed.restated.iter().find(|again| again.printed.text.contains(" events in ")).expect("a rate");
        let claim = parsed.claims.iter().find(|claim| claim.id == again.claim).expect("its claim");
        (claim.value.value / again.value.value - 1.0).abs()
    };
    assert!(apart(&str::to_owned) < 0.01);
    let shorter = |text: &str| {
        let line = text.lines().find(|line| line.contains("total time:")).expect("a time");
        text.replace(line, "    total time:                          0.0500s")
    };
    assert!(apart(&shorter) > 0.5);
}
