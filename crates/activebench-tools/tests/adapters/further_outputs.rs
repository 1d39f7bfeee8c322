//! Outputs of the adapters that have no test file of their own: every fixture as a snapshot, every cut of it, and
//! arbitrary bytes.

use std::collections::BTreeSet;

use activebench_model::activity::Activity;
use activebench_model::claim::{Parsed, Subject};
use activebench_model::command::CommandLine;
use activebench_model::output::ToolOutput;
use activebench_tools::{Adapter, adapter_by_name, adapter_for_output};
use proptest::prelude::*;

use crate::stored::{Fixture, command_line, compact, fixtures};

/// The tools, each with a command of which the plan has this many passes.
const TOOLS: &[(&str, &str, usize)] = &[
    ("pg_test_fsync", "pg_test_fsync -s 1", 16),
    ("ioping", "ioping -c 3 -D .", 2),
    ("fs_mark", "fs_mark -d d -L 3", 3),
    ("stress-ng", "stress-ng --hdd 1 --metrics", 1),
    ("f3write", "f3write fs", 1),
    ("f3read", "f3read fs", 1),
    ("postmark", "postmark x.pm", 5),
    ("dbench", "dbench -t 3 -s 2", 1),
    ("db_bench", "db_bench --benchmarks=fillseq,readrandom,fillsync,fillseq", 2),
    ("hdparm", "hdparm -tT /dev/sda /dev/sdb", 4),
];

fn adapter(tool: &str) -> &'static dyn Adapter {
    adapter_by_name(tool).expect("the adapter is registered")
}

fn each(check: impl Fn(&'static dyn Adapter, &Fixture, Parsed)) {
    for (tool, _, _) in TOOLS {
        for fixture in fixtures(tool) {
            check(adapter(tool), &fixture, fixture.parsed());
        }
    }
}

#[test]
fn every_fixture_is_read() {
    each(|adapter, fixture, parsed| {
        let name = format!("{}-{}", adapter.name(), fixture.name);
        insta::with_settings!({ description => fixture.command.argv.join(" "), omit_expression => true }, {
            insta::assert_snapshot!(name, compact(&parsed));
        });
    });
}

#[test]
fn claims_and_phases_fit_each_other() {
    each(|adapter, fixture, parsed| {
        let phases = adapter.phases(&fixture.command, &fixture.output, &parsed, &Activity::default());
        let ids: Vec<_> = phases.iter().map(|phase| phase.id.as_str()).collect();
        for claim in &parsed.claims {
            assert!(ids.contains(&claim.phase.as_str()), "{}: no phase {}", fixture.name, claim.phase);
            assert!(claim.source.text.contains(&claim.printed.text), "{}: {claim:?}", fixture.name);
        }
        for phase in &phases {
            assert!(!phase.is_found() && phase.incomplete.is_some(), "{}: {phase:?}", fixture.name);
        }
        assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len(), "{}: {ids:?}", fixture.name);
    });
}

#[test]
fn a_plan_has_the_passes_of_its_command() {
    for (tool, command, expected) in TOOLS {
        let plan = adapter(tool).plan(&command_line(command), &[]);
        let ids: BTreeSet<_> = plan.phases.iter().map(|phase| phase.id.as_str()).collect();
        assert_eq!((plan.phases.len(), ids.len()), (*expected, *expected), "{command}: {ids:?}");
    }
}

#[test]
fn the_users_subject_goes_before_ours() {
    each(|adapter, fixture, _| {
        let parsed = adapter.parse(&fixture.command, &fixture.output, Some(Subject::Metadata));
        assert!(parsed.claims.iter().all(|claim| claim.subject == Subject::Metadata), "{}", fixture.name);
    });
}

#[test]
fn an_output_that_names_its_tool_is_known_by_it() {
    each(|adapter, fixture, parsed| {
        if let Some(found) = adapter_for_output(&fixture.output) {
            assert_eq!(found.name(), adapter.name(), "{}", fixture.name);
        }
        assert_eq!(parsed.tool, adapter.name());
    });
}

/// Returns the figures without the numbers of their claims.
fn figures(parsed: &Parsed) -> BTreeSet<String> {
    let claim = |claim: &activebench_model::claim::Claim| {
        format!("{} {:?} {:?} {}", claim.phase, claim.metric, claim.value, claim.printed.text)
    };
    parsed.claims.iter().map(claim).collect()
}

#[test]
fn no_cut_of_a_fixture_invents_a_figure() {
    each(|adapter, fixture, parsed| {
        let known = figures(&parsed);
        let ToolOutput { stdout, stderr, .. } = &fixture.output;
        let of_stdout =
            (0..stdout.len()).map(|length| ToolOutput { stdout: stdout[..length].to_vec(), ..fixture.output.clone() });
        let of_stderr =
            (0..stderr.len()).map(|length| ToolOutput { stderr: stderr[..length].to_vec(), ..fixture.output.clone() });
        for output in of_stdout.chain(of_stderr) {
            let cut = adapter.parse(&fixture.command, &output, None);
            let invented: Vec<_> = figures(&cut).difference(&known).cloned().collect();
            assert!(invented.is_empty(), "{} {}: {invented:?}", adapter.name(), fixture.name);
        }
    });
}

fn words() -> impl Strategy<Value = String> {
    prop_oneof!["-[a-zA-Z]{1,3}", "--[a-z-]{1,12}(=[0-9a-z]{0,6})?", "[0-9]{1,24}", ".{0,8}"]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_read_without_panic(
        stdout: Vec<u8>,
        stderr: Vec<u8>,
        argv in prop::collection::vec(words(), 0..8),
        place in any::<prop::sample::Index>(),
    ) {
        for (tool, _, _) in TOOLS {
            let command = CommandLine { argv: argv.clone(), cwd: "/".to_owned() };
            let fixtures = fixtures(tool);
            // A stored output with arbitrary bytes inside it.
            let mut mixed = place.get(&fixtures).output.clone();
            let middle = place.index(mixed.stdout.len() + 1);
            mixed.stdout.splice(middle..middle, stdout.iter().copied());
            let alone = ToolOutput { stdout: stdout.clone(), stderr: stderr.clone(), ..ToolOutput::default() };
            for output in [alone, mixed] {
                let parsed = adapter(tool).parse(&command, &output, None);
                adapter(tool).phases(&command, &output, &parsed, &Activity::default());
                adapter(tool).plan(&command, &[]);
                adapter(tool).vetted(&command.argv);
            }
        }
    }
}
