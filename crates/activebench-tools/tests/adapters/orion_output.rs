//! Parsing of Orion's files and printed output: every fixture as a snapshot, and properties over cut and arbitrary
//! input.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::stored::{Fixture, command_line, compact};
use activebench_model::activity::Activity;
use activebench_model::claim::{Claim, Metric, Parsed, Subject};
use activebench_model::command::CommandLine;
use activebench_model::output::{ToolFile, ToolOutput};
use activebench_tools::{Adapter, adapter_by_name, adapter_for_program};
use proptest::prelude::*;

fn orion() -> &'static dyn Adapter {
    adapter_by_name("orion").expect("the adapter is registered")
}

fn fixtures() -> Vec<Fixture> {
    crate::stored::fixtures("orion")
}

/// Formats one line per phase.
fn phases(fixture: &Fixture, parsed: &Parsed) -> String {
    let mut text = String::new();
    for phase in orion().phases(&fixture.command, &fixture.output, parsed, &Activity::default()) {
        let promises: Vec<_> =
            phase.promises.iter().map(|promise| format!("{} {:?}", promise.option, promise.mechanism)).collect();
        writeln!(
            text,
            "phase {} \"{}\" {:?} {:?} block {:?} calls of {:?} limit {:?} ns; {}",
            phase.id,
            phase.name,
            phase.direction,
            phase.pattern,
            phase.block_bytes,
            phase.call_bytes,
            phase.time_limit_ns,
            promises.join(", ")
        )
        .expect("a String takes everything");
    }
    text
}

#[test]
fn every_fixture_is_read() {
    let fixtures = fixtures();
    assert!(fixtures.len() >= 10, "only {} fixtures were found", fixtures.len());
    for fixture in fixtures {
        let parsed = orion().parse(&fixture.command, &fixture.output, None);
        let text = compact(&parsed) + &phases(&fixture, &parsed);
        insta::with_settings!({ description => fixture.command.argv.join(" "), omit_expression => true }, {
            insta::assert_snapshot!(format!("orion-{}", fixture.name), text);
        });
    }
}

#[test]
fn claims_and_phases_fit_each_other() {
    for fixture in fixtures() {
        let parsed = orion().parse(&fixture.command, &fixture.output, None);
        let phases = orion().phases(&fixture.command, &fixture.output, &parsed, &Activity::default());
        let ids: Vec<_> = phases.iter().map(|phase| phase.id.as_str()).collect();
        for claim in &parsed.claims {
            assert!(ids.contains(&claim.phase.as_str()), "{}: no phase {}", fixture.name, claim.phase);
            assert!(claim.source.text.contains(&claim.printed.text), "{}: {claim:?}", fixture.name);
        }
        for phase in &phases {
            assert!(phase.parts.is_empty() && phase.incomplete.is_some(), "{}: {phase:?}", fixture.name);
            assert!(parsed.claims.iter().any(|claim| claim.phase == phase.id), "{}: {}", fixture.name, phase.id);
        }
        assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len(), "{}: phase ids are not unique", fixture.name);
    }
}

#[test]
fn each_file_is_known_by_its_content_where_it_is_given_alone() {
    for fixture in fixtures() {
        let whole = orion().parse(&fixture.command, &fixture.output, None);
        for file in fixture.output.files.iter().filter(|file| !file.name.ends_with(".lun")) {
            let alone = ToolOutput { stdout: file.bytes.clone(), ..ToolOutput::default() };
            let parsed = orion().parse(&CommandLine::default(), &alone, None);
            let figures = |metric: Metric| parsed.claims.iter().filter(|claim| claim.metric == metric).count();
            let what = format!("{} {}", fixture.name, file.name);
            match file.name.rsplit('_').next() {
                Some("iops.csv") => assert_eq!(figures(Metric::OperationRate), parsed.claims.len(), "{what}"),
                Some("mbps.csv") => assert_eq!(figures(Metric::Throughput), parsed.claims.len(), "{what}"),
                Some("lat.csv") if parsed.claims.is_empty() => {
                    assert!(parsed.notes[0].message.contains("milliseconds"), "{what}: {parsed:?}");
                }
                Some("lat.csv") => assert_eq!(figures(Metric::LatencyMean), parsed.claims.len(), "{what}"),
                Some("hist.txt") => assert!(parsed.claims.is_empty() && parsed.notes.is_empty(), "{what}"),
                _ => assert!(parsed.complete && !whole.claims.is_empty(), "{what}: {parsed:?}"),
            }
        }
    }
}

#[test]
fn the_echoed_command_line_serves_where_none_is_known() {
    for fixture in fixtures().iter().filter(|fixture| fixture.name.contains("seed004")) {
        let known = orion().parse(&fixture.command, &fixture.output, None);
        let unknown = Fixture {
            name: fixture.name.clone(),
            tool: fixture.tool.clone(),
            command: CommandLine::default(),
            output: fixture.output.clone(),
        };
        let parsed = orion().parse(&unknown.command, &unknown.output, None);
        assert_eq!(compact(&known), compact(&parsed));
        assert_eq!(phases(fixture, &known), phases(&unknown, &parsed));
    }
}

#[test]
fn line_ends_of_windows_change_nothing() {
    for mut fixture in fixtures() {
        let plain = orion().parse(&fixture.command, &fixture.output, None);
        let windows = |bytes: &mut Vec<u8>| {
            *bytes = String::from_utf8(std::mem::take(bytes)).expect("UTF-8").replace('\n', "\r\n").into_bytes();
        };
        windows(&mut fixture.output.stdout);
        fixture.output.files.iter_mut().for_each(|file| windows(&mut file.bytes));
        let other = orion().parse(&fixture.command, &fixture.output, None);
        assert_eq!(compact(&plain), compact(&other), "{}", fixture.name);
    }
}

#[test]
fn of_several_runs_the_first_is_read() {
    let fixture = fixtures().into_iter().find(|fixture| fixture.name == "stand-in-max-write30").expect("it is there");
    let once = orion().parse(&fixture.command, &fixture.output, None);
    let mut twice = fixture.output.clone();
    for file in fixture.output.files.iter().filter(|file| !file.name.ends_with(".lun")) {
        let name = file.name.replace("demo_", "other_");
        let bytes = String::from_utf8(file.bytes.clone()).expect("UTF-8").replace('1', "2").into_bytes();
        twice.files.push(ToolFile { name, bytes });
    }
    let parsed = orion().parse(&fixture.command, &twice, None);
    assert_eq!(parsed.claims, once.claims);
    assert_eq!(parsed.notes.len(), 5, "{:?}", parsed.notes);
    assert!(parsed.restated.iter().all(|again| again.source.stream.starts_with("demo_")), "{:?}", parsed.restated);
}

#[test]
fn the_users_subject_goes_before_ours() {
    let fixture =
        fixtures().into_iter().find(|fixture| fixture.name == "transcribed-19.3-simple").expect("it is there");
    let parsed = orion().parse(&fixture.command, &fixture.output, Some(Subject::CachedFilesystem));
    assert!(!parsed.claims.is_empty());
    let chosen = |claim: &Claim| claim.subject == Subject::CachedFilesystem && claim.subject_reason == "--subject";
    assert!(parsed.claims.iter().all(chosen));
}

#[test]
fn orion_is_known_by_its_names() {
    for (program, expected) in [
        ("orion", true),
        ("orion11", true),
        ("orion_linux_x86-64", true),
        ("orion-stand-in", true),
        ("orionview", false),
        ("orion-config", false),
        ("fio", false),
    ] {
        let found = adapter_for_program(program).is_some_and(|adapter| adapter.name() == "orion");
        assert_eq!(found, expected, "{program}");
    }
    for (name, expected) in [
        ("mytest.lun", true),
        ("/u01/mytest_20190329_1057_iops.csv", true),
        ("mytest_20190329_1057_hist.txt", true),
        ("mytest_20190329_1057_trace.txt", false),
        ("/dev/sdb", false),
    ] {
        assert_eq!(orion().reads_file(&CommandLine::default(), name), expected, "{name}");
    }
}

/// Returns the part of a figure that does not depend on how much of the output is present. If the matrix is cut, the
/// summary's figure is the first instead of the second.
fn figures(parsed: &Parsed) -> BTreeSet<String> {
    let core = |phase: &str, metric: Metric, value: &activebench_model::units::Quantity, text: &str| {
        format!("{phase} {metric:?} {value:?} {text}")
    };
    let of_claim = |id: &str| parsed.claims.iter().find(|claim| claim.id == id).expect("restated claims are there");
    let claims = parsed.claims.iter().map(|claim| core(&claim.phase, claim.metric, &claim.value, &claim.printed.text));
    let again = parsed.restated.iter().map(|again| {
        let claim = of_claim(&again.claim);
        core(&claim.phase, claim.metric, &again.value, &again.printed.text)
    });
    claims.chain(again).collect()
}

#[test]
fn no_cut_of_a_fixture_invents_a_figure() {
    for fixture in fixtures() {
        let whole = orion().parse(&fixture.command, &fixture.output, None);
        let known = figures(&whole);
        let cut_stdout = (0..fixture.output.stdout.len()).map(|length| {
            let stdout = fixture.output.stdout[..length].to_vec();
            ToolOutput { stdout, ..fixture.output.clone() }
        });
        let cut_files = fixture.output.files.iter().enumerate().flat_map(|(index, file)| {
            let output = &fixture.output;
            (0..file.bytes.len()).map(move |length| {
                let mut cut = output.clone();
                cut.files[index].bytes.truncate(length);
                cut
            })
        });
        for output in cut_stdout.chain(cut_files) {
            let cut = orion().parse(&fixture.command, &output, None);
            // Without the line on writes, or the version, the same words can have another meaning only
            // if the command does not determine it either.
            for figure in figures(&cut) {
                assert!(known.contains(&figure), "{}: {figure} is not among {known:#?}", fixture.name);
            }
            assert!(cut.contradictions.len() <= whole.contradictions.len(), "{}: {cut:?}", fixture.name);
            orion().phases(&fixture.command, &output, &cut, &Activity::default());
        }
    }
}

#[test]
fn a_plan_has_a_phase_for_each_point_and_size() {
    let lun = |text: &str| vec![ToolFile { name: "t.lun".to_owned(), bytes: text.as_bytes().to_vec() }];
    let plan = orion().plan(&command_line("orion -run simple -testname t"), &lun("/dev/sdb\n/dev/sdc\n"));
    // Two volumes: ten small loads and four large ones.
    assert_eq!(plan.phases.len(), 14, "{plan:#?}");
    assert!(plan.notes.is_empty(), "{:?}", plan.notes);
    let mixed = orion().plan(&command_line("orion -run advanced -matrix point -num_small 2 -num_large 3"), &lun("/x"));
    let ids: Vec<_> = mixed.phases.iter().map(|phase| (phase.id.as_str(), phase.call_bytes)).collect();
    assert_eq!(ids, [("small-2-large-3-small-ios", Some(8192)), ("small-2-large-3-large-ios", Some(1 << 20))]);
    let unknown = orion().plan(&command_line("orion -run simple"), &[]);
    assert!(unknown.phases.is_empty() && unknown.notes.len() == 1, "{unknown:?}");
}

fn argument() -> impl Strategy<Value = String> {
    prop_oneof![
        "-(run|testname|num_disks|size_small|size_large|type|num_streamIO|write|cache_size|duration|num_small|num_large|matrix)",
        "(simple|normal|advanced|dss|oltp|seq|rand|row|col|point|basic|detailed|max)",
        "[0-9]{1,24}",
        ".{0,8}",
    ]
}

fn printed() -> impl Strategy<Value = String> {
    prop_oneof![
        "Large/Small[ ,0-9.]{0,60}",
        "[ ,0-9.]{0,60}",
        "Maximum (Large MBPS|Small IOPS)=[0-9.]{0,24} @ Small=[0-9]{0,12} and Large=[0-9]{0,12}",
        "Minimum Small Latency=[0-9.]{0,24}( usecs| us| ms)? @ Small=[0-9]{1,4} and Large=[0-9]{1,4}",
        "Small (Read|Write) Latency: avg=[0-9.]{0,9} us, min=[0-9.]{0,9} us, max=[0-9.]{0,9} us @ Small=[0-9]{1,2} and Large=0",
        "Small Read / Write Latency Histogram @ Small=[0-9]{1,2} and Large=[0-9]",
        " {0,4}[0-9]{0,9} - [0-9]{0,20} us: [0-9]{0,24} \\( ?[0-9.]{0,6}%\\) [0-9]{0,24} \\( ?[0-9.]{0,6}%\\)",
        "(Small IO size|Large IO size|Duration for each Data Point|Writes|Name|IO Types): [0-9A-Za-z%\t ]{0,24}",
        "ORION VERSION [0-9.]{0,20}",
        ".{0,40}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_read_without_panic(stdout: Vec<u8>, file: Vec<u8>, argv in prop::collection::vec(argument(), 0..8)) {
        let command = CommandLine { argv, cwd: "/".to_owned() };
        let files = vec![ToolFile { name: "x_iops.csv".to_owned(), bytes: file }];
        let output = ToolOutput { stdout, files, ..ToolOutput::default() };
        let parsed = orion().parse(&command, &output, None);
        orion().phases(&command, &output, &parsed, &Activity::default());
        orion().plan(&command, &output.files);
    }

    #[test]
    fn any_lines_are_read_without_panic(
        file in prop::collection::vec(printed(), 0..12),
        stdout in prop::collection::vec(printed(), 0..12),
        argv in prop::collection::vec(argument(), 0..8),
    ) {
        let command = CommandLine { argv, cwd: "/".to_owned() };
        let files = vec![ToolFile { name: "summary".to_owned(), bytes: file.join("\n").into_bytes() }];
        let output = ToolOutput { stdout: (stdout.join("\n") + "\n").into_bytes(), files, ..ToolOutput::default() };
        let parsed = orion().parse(&command, &output, None);
        for claim in &parsed.claims {
            prop_assert!(claim.value.value.is_finite() && claim.value.value >= 0.0 && claim.resolution > 0.0);
            prop_assert!(claim.source.text.contains(&claim.printed.text));
        }
        orion().phases(&command, &output, &parsed, &Activity::default());
    }
}
