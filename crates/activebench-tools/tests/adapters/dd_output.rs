//! Outputs of dd, read: every fixture as a snapshot, and properties over cut and arbitrary input.

use std::collections::BTreeSet;

use activebench_model::claim::{Metric, Parsed, Subject};
use activebench_model::command::CommandLine;
use activebench_model::output::ToolOutput;
use activebench_model::phase::Direction;
use activebench_tools::{Adapter, adapter_by_name, adapter_for_program};
use proptest::prelude::*;

use crate::stored::{command_line, compact, fixtures};

fn dd() -> &'static dyn Adapter {
    adapter_by_name("dd").expect("the adapter is registered")
}

#[test]
fn every_fixture_is_read() {
    let fixtures = fixtures("dd");
    assert!(fixtures.len() >= 16, "only {} fixtures were found", fixtures.len());
    for fixture in fixtures {
        let parsed = fixture.parsed();
        for claim in &parsed.claims {
            assert!(claim.source.text.contains(&claim.printed.text), "{}: {claim:?}", fixture.name);
        }
        insta::with_settings!({ description => fixture.command.argv.join(" "), omit_expression => true }, {
            insta::assert_snapshot!(format!("dd-{}", fixture.name), compact(&parsed));
        });
    }
}

/// The figures of an output.
fn figures(parsed: &Parsed) -> BTreeSet<String> {
    parsed.claims.iter().map(|claim| format!("{:?} {:?} {}", claim.metric, claim.value, claim.printed.text)).collect()
}

#[test]
fn no_cut_of_a_fixture_invents_a_figure() {
    for fixture in fixtures("dd") {
        // A cut after one of several reports shows that one.
        let text = String::from_utf8(fixture.output.stderr.clone()).expect("UTF-8");
        let known: BTreeSet<String> = text
            .split(" records in\n")
            .flat_map(|part| {
                let report = part.rfind("/s").map_or("", |end| &part[..end + 2]);
                let stderr = format!("0+0 records in\n{report}\n").into_bytes();
                figures(&dd().parse(&fixture.command, &ToolOutput { stderr, ..ToolOutput::default() }, None))
            })
            .collect();
        for length in 0..text.len() {
            let stderr = text.as_bytes()[..length].to_vec();
            let cut = dd().parse(&fixture.command, &ToolOutput { stderr, ..ToolOutput::default() }, None);
            for figure in figures(&cut) {
                assert!(known.contains(&figure), "{} cut at {length}: {figure} is not among {known:#?}", fixture.name);
            }
        }
    }
}

#[test]
fn what_dd_copies_to_standard_output_is_not_its_report() {
    let report = "1+0 records in\n1+0 records out\n1048576 bytes (1.0 MB, 1.0 MiB) copied, 0.01 s, 105 MB/s\n";
    let claims = |command: &str, stdout: &str, stderr: &str| {
        let output = ToolOutput { stdout: stdout.into(), stderr: stderr.into(), files: Vec::new() };
        dd().parse(&command_line(command), &output, None).claims.len()
    };
    assert_eq!(claims("dd if=old.log", report, "1+0 records in\n1+0 records out\n"), 0);
    assert_eq!(claims("dd if=old.log status=none", report, ""), 0);
    assert_eq!(claims("", report, ""), 2);
}

#[test]
fn the_subject_follows_the_operands() {
    let report = "1+0 records in\n1+0 records out\n1048576 bytes (1.0 MB, 1.0 MiB) copied, 0.01 s, 105 MB/s\n";
    let output = ToolOutput { stderr: report.into(), ..ToolOutput::default() };
    for (command, expected) in [
        ("dd if=/dev/zero of=f bs=1M count=1", Subject::Device),
        ("dd if=/dev/zero of=f bs=1M count=1 conv=fdatasync", Subject::DurableWrite),
        ("dd if=f of=/dev/null bs=1M", Subject::Device),
        ("dd if=/dev/zero of=/dev/null bs=1M count=1", Subject::Cpu),
        ("dd if=f bs=1M", Subject::Device),
    ] {
        let parsed = dd().parse(&command_line(command), &output, None);
        assert!(parsed.claims.iter().all(|claim| claim.subject == expected), "{command}: {parsed:?}");
        let chosen = dd().parse(&command_line(command), &output, Some(Subject::CachedFilesystem));
        assert!(chosen.claims.iter().all(|claim| claim.subject_reason == "--subject"), "{command}");
    }
}

#[test]
fn dd_is_known_by_its_name() {
    for (program, expected) in
        [("/bin/dd", true), ("dd", true), ("ddrescue", false), ("add", false), ("busybox", false)]
    {
        assert_eq!(adapter_for_program(program).is_some_and(|adapter| adapter.name() == "dd"), expected, "{program}");
    }
}

#[test]
fn a_plan_has_the_copy_if_storage_can_be_part_of_it() {
    let plan = |command: &str| dd().plan(&command_line(command), &[]).phases;
    assert_eq!(plan("dd if=/dev/zero of=f bs=1M count=64 conv=fsync")[0].requested_bytes, Some(64 << 20));
    assert!(plan("dd if=/dev/zero of=/dev/null bs=1M count=9").is_empty());
    // What is written has to be known, whatever is printed.
    assert_eq!(plan("dd if=/dev/zero of=/dev/sdx status=none")[0].direction, Direction::Write);
}

fn printed() -> impl Strategy<Value = String> {
    prop_oneof![
        "[0-9]{1,22}\\+[0-9]{1,9} records (in|out)",
        "[0-9]{1,24} bytes?( \\([0-9. ,kMGiB]{0,20}\\))? copied, [0-9.e+-]{1,24} (s|seconds), [0-9.]{1,12} ?[kKMGTPE]?B/s",
        "dd: .{0,20}",
        ".{0,60}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn any_lines_are_read_without_panic(
        lines in prop::collection::vec(printed(), 0..8),
        operands in prop::collection::vec("(if|of|bs|ibs|obs|count|conv|iflag|oflag|status)=.{0,12}", 0..6),
    ) {
        let argv = std::iter::once("dd".to_owned()).chain(operands).collect();
        let command = CommandLine { argv, cwd: "/".to_owned() };
        let output = ToolOutput { stderr: lines.join("\n").into_bytes(), ..ToolOutput::default() };
        let parsed = dd().parse(&command, &output, None);
        for claim in &parsed.claims {
            prop_assert!(claim.value.value.is_finite() && claim.value.value > 0.0 && claim.resolution >= 0.0);
            prop_assert!(claim.metric == Metric::BytesMoved || claim.claimed_bytes.is_some());
        }
        dd().phases(&command, &output, &parsed, &Default::default());
        dd().plan(&command, &[]);
        dd().vetted(&command.argv);
    }
}

#[test]
fn records_that_are_not_the_bytes_and_a_rate_without_end_are_contradictions() {
    let fixture = crate::stored::fixture("dd", "direct-dsync-4k");
    let honest = fixture.parsed();
    assert!(honest.contradictions.is_empty(), "{:?}", honest.contradictions);
    let text = String::from_utf8(fixture.output.stderr.clone()).expect("UTF-8");
    let line = text.lines().find(|line| line.ends_with(" records out")).expect("records");
    let rate = text.trim_end().rsplit(", ").next().expect("a rate");
    for (from, to) in [(line, format!("9{line}")), (rate, "Infinity B/s".to_owned())] {
        let mut changed = crate::stored::fixture("dd", "direct-dsync-4k");
        changed.output.stderr = text.replace(from, &to).into_bytes();
        let apart: Vec<f64> = changed.parsed().contradictions.iter().filter_map(|odd| odd.apart).collect();
        assert!(apart.len() == 1 && apart[0] > 0.05, "{to}: {apart:?}");
    }
}
