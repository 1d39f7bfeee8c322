//! bonnie++'s tests, found in observed calls: real runs under strace (`calls.txt` beside their
//! output), and made-up sequences for cases that 2.00 does not show.

// The other adapters' tests use more of this module.
#[allow(dead_code)]
use std::fmt::Write as _;

use crate::observed::Run;
use crate::stored::command_line;
use activebench_fixtures::tool_case::tool_case;
use activebench_model::claim::{Metric, Parsed};
use activebench_model::command::CommandLine;
use activebench_model::output::ToolOutput;
use activebench_model::phase::{Mechanism, PartEnd, Phase};
use activebench_tools::{Adapter, adapter_by_name};

fn bonnie() -> &'static dyn Adapter {
    adapter_by_name("bonnie++").expect("the adapter is registered")
}

struct Traced {
    command: CommandLine,
    output: ToolOutput,
    run: Run,
}

fn traced(name: &str) -> Traced {
    let case = tool_case("bonnie++", name);
    Traced {
        command: command_line(&case.command),
        output: ToolOutput { stdout: case.stdout, stderr: case.stderr, files: Vec::new() },
        run: Run::read(&case.calls.expect("the run was traced")),
    }
}

/// A run of 1.03: only the row, and calls.
fn old(command: &str, row: &str, calls: &str) -> Traced {
    Traced {
        command: command_line(command),
        output: ToolOutput { stdout: format!("{row}\n").into_bytes(), ..ToolOutput::default() },
        run: Run::read(calls),
    }
}

impl Traced {
    fn parsed(&self) -> Parsed {
        bonnie().parse(&self.command, &self.output, None)
    }

    fn phases(&self) -> Vec<Phase> {
        bonnie().phases(&self.command, &self.output, &self.parsed(), &self.run.activity())
    }

    fn phase(&self, id: &str) -> Phase {
        self.phases().into_iter().find(|phase| phase.id == id).unwrap_or_else(|| panic!("no phase {id}"))
    }

    /// Formats times in microseconds, with stable process and thread numbers.
    fn compact(&self) -> String {
        let us = |ns: u64| (ns / 1000).to_string();
        let mut text = String::new();
        for phase in self.phases() {
            let promises: Vec<_> =
                phase.promises.iter().map(|promise| format!("{} {:?}", promise.option, promise.mechanism)).collect();
            writeln!(
                text,
                "{} \"{}\" {:?} {:?} block {:?} of {:?} by {}: {}; window {}{}{}",
                phase.id,
                phase.name,
                phase.direction,
                phase.pattern,
                phase.block_bytes,
                phase.requested_bytes,
                phase.requested_tasks,
                phase.clock,
                phase.window.map_or("-".to_owned(), |window| format!("{}..{}", us(window.start_ns), us(window.end_ns))),
                if promises.is_empty() { String::new() } else { format!("; promises {}", promises.join(", ")) },
                phase.incomplete.map_or(String::new(), |why| format!("; incomplete: {why}")),
            )
            .expect("a String takes everything");
            for part in &phase.parts {
                let PartEnd::At(end_ns) = part.end else { panic!("bonnie++ counts nothing out") };
                let sync = |span: Option<activebench_model::activity::CallSpan>| {
                    span.map_or("-".to_owned(), |span| {
                        format!("{} {}..{}", span.op.name(), us(span.start_ns), us(span.end_ns))
                    })
                };
                writeln!(
                    text,
                    "    task {}{} fd {} ino {}: {}..{}, last data {}, sync inside {}, after {}, close {}",
                    self.run.task_number(part.tgid),
                    part.tids.iter().map(|&tid| format!("/{}", self.run.task_number(tid))).collect::<String>(),
                    part.fd,
                    part.file.ino,
                    us(part.start_ns),
                    us(end_ns),
                    us(part.last_data_ns),
                    sync(part.sync_inside.as_deref().copied()),
                    sync(part.sync_after.as_deref().copied()),
                    part.close_ns.map_or("-".to_owned(), us),
                )
                .expect("a String takes everything");
            }
            for span in phase.names.iter().flat_map(|names| &names.spans) {
                let task = self.run.task_number(span.tgid);
                writeln!(text, "    task {task} names {}..{}", us(span.start_ns), us(span.end_ns))
                    .expect("a String takes everything");
            }
        }
        text
    }
}

#[test]
fn the_tests_of_real_runs_are_found() {
    for name in ["traced-all", "traced-all-quiet"] {
        let run = traced(name);
        insta::with_settings!({ description => run.command.argv.join(" "), omit_expression => true }, {
            insta::assert_snapshot!(format!("bonnie-{name}"), run.compact());
        });
    }
}

#[test]
fn the_clock_agrees_with_the_rates_that_were_printed() {
    let mut compared = 0;
    for name in ["traced-all", "traced-all-quiet"] {
        let run = traced(name);
        for claim in run.parsed().claims.iter().filter(|claim| claim.metric == Metric::OperationRate) {
            let window = run.phase(&claim.phase).window.expect("a window");
            let rebuilt = 1024.0 * 1e9 / window.duration_ns() as f64;
            assert!((claim.value.value / rebuilt - 1.0).abs() < 0.002, "{name} {}: {rebuilt} {claim:?}", claim.phase);
            compared += 1;
        }
    }
    assert!(compared >= 2, "only {compared} rates were printed");
}

#[test]
fn messages_and_calls_agree_to_a_millisecond() {
    // The same run with and without the captured standard error; strace stops it at each call.
    let said = traced("traced-all");
    let mut unsaid = traced("traced-all");
    unsaid.output.stderr.clear();
    for phase in said.phases() {
        let (with, without) = (phase.window.expect("a window"), unsaid.phase(&phase.id).window.expect("a window"));
        let off = with.start_ns.abs_diff(without.start_ns) + with.end_ns.abs_diff(without.end_ns);
        assert!(off < 1_000_000, "{}: {off} ns apart", phase.id);
    }
}

/// 1.03 with two files of 1 GiB, each reduced to one chunk: no sync anywhere, the seekers
/// are processes.
const OLD_CALLS: &str = "\
task 10 10 0 0 9000
task 11 11 10 600 900
task 12 12 10 600 900
task 13 13 10 600 900
100 101 10 10 open 3 20 0 3 ./Bonnie.10.000 write,create
102 103 10 10 open 4 21 0 4 ./Bonnie.10.001 write,create
110 120 10 10 write 3 0 8192 1073741824
120 130 10 10 write 4 0 8192 1073741824
131 132 10 10 close 3 -1 0 0
133 134 10 10 close 4 -1 0 0
200 201 10 10 open 3 20 0 3 ./Bonnie.10.000 write
202 203 10 10 open 4 21 0 4 ./Bonnie.10.001 write
210 215 10 10 read 3 0 8192 1073741824
215 216 10 10 lseek 3 0 0 0
216 220 10 10 write 3 0 8192 1073741824
220 225 10 10 read 4 0 8192 1073741824
225 226 10 10 lseek 4 0 0 0
226 230 10 10 write 4 0 8192 1073741824
231 232 10 10 close 3 -1 0 0
233 234 10 10 close 4 -1 0 0
300 301 10 10 open 3 20 0 3 ./Bonnie.10.000 write
302 303 10 10 open 4 21 0 4 ./Bonnie.10.001 write
310 320 10 10 read 3 0 8192 1073741824
320 330 10 10 read 4 0 8192 1073741824
331 332 10 10 close 3 -1 0 0
333 334 10 10 close 4 -1 0 0
600 601 11 11 open 3 20 0 3 ./Bonnie.10.000 write
602 603 12 12 open 3 20 0 3 ./Bonnie.10.000 write
604 605 13 13 open 3 21 0 3 ./Bonnie.10.001 write
700 701 11 11 lseek 3 0 0 0
701 710 11 11 read 3 0 8192 22364160
702 703 12 12 lseek 3 0 0 0
703 720 12 12 read 3 0 8192 22364160
704 705 13 13 lseek 3 0 0 0
705 730 13 13 read 3 0 8192 22380544
731 732 11 11 close 3 -1 0 0
733 734 12 12 close 3 -1 0 0
735 736 13 13 close 3 -1 0 0
800 801 10 10 unlink -1 -1 0 0 ./Bonnie.10.000
802 803 10 10 unlink -1 -1 0 0 ./Bonnie.10.001
";
const OLD_ROW: &str = "host,2G,,,300000,5,200000,6,,,400000,7,8000.0,8,,,,,,,,,,,,,";

#[test]
fn the_files_and_processes_of_1_03_belong_together() {
    let run = old("bonnie -u root -s 2g -n 0 -f", OLD_ROW, OLD_CALLS);
    let window = |id: &str| run.phase(id).window.map(|window| (window.start_ns / 1000, window.end_ns / 1000));
    assert_eq!(window("put-block"), Some((110, 134)), "{}", run.compact());
    assert_eq!(window("rewrite"), Some((210, 234)));
    assert_eq!(window("get-block"), Some((310, 334)));
    // From the first seek of the first seeker to the close of the last.
    assert_eq!(window("seeks"), Some((700, 736)));
    let seeks = run.phase("seeks");
    assert_eq!((seeks.parts.len(), seeks.requested_tasks, seeks.incomplete), (3, 3, None));
    for id in ["put-block", "rewrite"] {
        let phase = run.phase(id);
        assert_eq!((phase.parts.len(), phase.incomplete.as_deref()), (2, None), "{id}");
        assert!(phase.promises.is_empty(), "nothing promises a sync: {:?}", phase.promises);
        assert!(phase.parts.iter().all(|part| part.sync_inside.is_none() && part.sync_after.is_none()), "{id}");
    }
}

#[test]
fn a_seeker_that_comes_when_the_others_have_done_all_seeks_is_not_missed() {
    let without = |begins: &[&str]| -> String {
        let kept = OLD_CALLS.lines().filter(|line| !begins.iter().any(|begin| line.starts_with(begin)));
        let lines = kept
            .map(|line| line.replace("703 720 12 12 read 3 0 8192 22364160", "703 720 12 12 read 3 0 8192 44744704"));
        lines.map(|line| line + "\n").collect()
    };
    let idle = without(&["704 705 ", "705 730 "]);
    let seeks = old("bonnie -u root -s 2g -n 0 -f", OLD_ROW, &idle).phase("seeks");
    assert_eq!((seeks.parts.len(), seeks.requested_tasks), (2, 2), "{seeks:?}");
    let never_there = without(&["704 705 ", "705 730 ", "604 605 ", "735 736 ", "task 13 "]);
    let seeks = old("bonnie -u root -s 2g -n 0 -f", OLD_ROW, &never_there).phase("seeks");
    assert_eq!((seeks.parts.len(), seeks.requested_tasks), (2, 3), "{seeks:?}");
}

#[test]
fn b_promises_a_sync_in_1_03() {
    let run = old("bonnie -u root -s 2g -n 0 -f -b", OLD_ROW, OLD_CALLS);
    let promised = run.phase("rewrite").promises;
    assert_eq!(promised.len(), 1);
    assert_eq!((promised[0].option.as_str(), promised[0].mechanism), ("-b", Mechanism::SyncInsideClock));
    assert!(run.phase("get-block").promises.is_empty());
}

#[test]
fn a_pass_too_few_leaves_every_test_unfound() {
    let calls: String =
        OLD_CALLS.lines().filter(|line| !line.starts_with('3')).fold(String::new(), |mut text, line| {
            writeln!(text, "{line}").expect("a String takes everything");
            text
        });
    let run = old("bonnie -u root -s 2g -n 0 -f", OLD_ROW, &calls);
    for id in ["put-block", "rewrite", "get-block", "seeks"] {
        let phase = run.phase(id);
        assert!(!phase.is_found(), "{id}: {phase:?}");
        assert_eq!(phase.incomplete.as_deref(), Some("3 passes over the file were observed and 4 expected"));
    }
}

#[test]
fn a_test_that_moves_data_another_way_is_not_taken() {
    let row = "host,2G,,,300000,5,200000,6,,,400000,7,8000.0,8,,,,,,,,,,,,,";
    let calls = OLD_CALLS
        .replace("216 220 10 10 write", "216 220 10 10 read")
        .replace("226 230 10 10 write", "226 230 10 10 read");
    let run = old("bonnie -u root -s 2g -n 0 -f", row, &calls);
    assert!(run.phase("put-block").is_found());
    for id in ["rewrite", "get-block", "seeks"] {
        assert!(!run.phase(id).is_found(), "{id}");
    }
}

#[test]
fn small_files_of_the_same_inode_are_not_taken_for_the_large_one() {
    // The first small file gets the inode of the large one, which has just been deleted.
    let mut calls = OLD_CALLS.to_owned();
    for (at, name) in [(1000, "0000000000a"), (1100, "0000000001b")] {
        let ino = if at == 1000 { 20 } else { 22 };
        write!(
            calls,
            "{at} {} 10 10 open 3 {ino} 0 3 {name} write,create\n{} {} 10 10 write 3 0 100 100\n{} {} 10 10 close 3 -1 0 0\n",
            at + 1,
            at + 2,
            at + 3,
            at + 4,
            at + 5
        )
        .expect("a String takes everything");
    }
    calls.push_str("1200 1201 10 10 unlink -1 -1 0 0 0000000000a\n1202 1203 10 10 unlink -1 -1 0 0 0000000001b\n");
    let row = "host,2G,,,300000,5,200000,6,,,400000,7,8000.0,8,1:200:10,1000,9,2000,9,3000,9,1000,9,2000,9,3000,9";
    let run = old("bonnie -u root -s 2g -n 1:200:10 -f", row, &calls);
    assert!(run.phase("seeks").is_found(), "{}", run.compact());
    let created = run.phase("seq-create").window.expect("a window");
    assert_eq!((created.start_ns / 1000, created.end_ns / 1000), (1000, 1105));
    let deleted = run.phase("seq-del").window.expect("a window");
    assert_eq!((deleted.start_ns / 1000, deleted.end_ns / 1000), (1200, 1203));
}
