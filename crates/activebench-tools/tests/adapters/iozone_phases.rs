//! iozone's passes, found in observed calls: real runs under strace (`calls.txt` beside
//! their output), and made-up sequences for cases that a real run does not show on demand.

use proptest::prelude::*;
use std::fmt::Write as _;

use crate::observed::Run;
use crate::stored::command_line;
use activebench_fixtures::tool_case::tool_cases;
use activebench_model::call::Op;
use activebench_model::claim::{Claim, Metric, Parsed};
use activebench_model::command::CommandLine;
use activebench_model::output::ToolOutput;
use activebench_model::phase::{Part, PartEnd, Phase};
use activebench_tools::{Adapter, adapter_by_name};

fn iozone() -> &'static dyn Adapter {
    adapter_by_name("iozone").expect("the adapter is registered")
}

struct Traced {
    name: String,
    command: CommandLine,
    output: ToolOutput,
    run: Run,
}

fn traced() -> Vec<Traced> {
    let traced = tool_cases("iozone").into_iter().filter_map(|case| {
        Some(Traced {
            run: Run::read(case.calls.as_deref()?),
            name: case.name,
            command: command_line(&case.command),
            output: ToolOutput { stdout: case.stdout, stderr: case.stderr, files: Vec::new() },
        })
    });
    traced.collect()
}

impl Traced {
    fn parsed(&self) -> Parsed {
        iozone().parse(&self.command, &self.output, None)
    }

    fn phases(&self) -> Vec<Phase> {
        iozone().phases(&self.command, &self.output, &self.parsed(), &self.run.activity())
    }

    /// Formats times in microseconds, with stable process and thread numbers.
    fn compact(&self) -> String {
        let mut text = String::new();
        for phase in self.phases() {
            let promises: Vec<_> =
                phase.promises.iter().map(|promise| format!("{} {:?}", promise.option, promise.mechanism)).collect();
            writeln!(
                text,
                "{} \"{}\" {:?} {:?} block {:?} of {:?} by {}: {}; window {}{}{}{}",
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
                phase.verifies.map_or(String::new(), |option| format!("; verifies {option}")),
                phase.incomplete.map_or(String::new(), |why| format!("; incomplete: {why}")),
            )
            .expect("a String takes everything");
            for part in &phase.parts {
                let end = match part.end {
                    PartEnd::At(end_ns) => us(end_ns),
                    PartEnd::AfterBytes(bytes) => format!("after {bytes} bytes"),
                };
                let sync = |span: Option<activebench_model::activity::CallSpan>| {
                    span.map_or("-".to_owned(), |span| {
                        format!("{} {}..{}", span.op.name(), us(span.start_ns), us(span.end_ns))
                    })
                };
                writeln!(
                    text,
                    "    task {}{} fd {} ino {}: {}..{end}, last data {}, sync inside {}, after {}, close {}",
                    self.run.task_number(part.tgid),
                    part.tids.iter().map(|&tid| format!("/{}", self.run.task_number(tid))).collect::<String>(),
                    part.fd,
                    part.file.ino,
                    us(part.start_ns),
                    us(part.last_data_ns),
                    sync(part.sync_inside.as_deref().copied()),
                    sync(part.sync_after.as_deref().copied()),
                    part.close_ns.map_or("-".to_owned(), us),
                )
                .expect("a String takes everything");
            }
        }
        text
    }

    /// Returns bytes and nanoseconds of a part's own clock, as `activebench-facts` resolves it.
    fn moved(&self, part: &Part) -> (u64, u64) {
        let mut bytes = 0;
        let mut last_ns = part.start_ns;
        for call in &self.run.calls {
            let data = call.op.is_read() || call.op.is_write();
            if !data || call.tgid != part.tgid || call.fd != part.fd || call.start_ns < part.start_ns {
                continue;
            }
            if call.start_ns > part.last_data_ns {
                break;
            }
            match part.end {
                PartEnd::At(end_ns) if call.end_ns > end_ns => continue,
                PartEnd::AfterBytes(limit) if bytes >= limit => continue,
                _ => {}
            }
            bytes += u64::try_from(call.returned).expect("no failed call");
            last_ns = call.end_ns;
        }
        match part.end {
            PartEnd::At(end_ns) => (bytes, end_ns - part.start_ns),
            PartEnd::AfterBytes(_) => (bytes, last_ns - part.start_ns),
        }
    }
}

fn us(ns: u64) -> String {
    (ns / 1000).to_string()
}

#[test]
fn the_passes_of_real_runs_are_found() {
    let traced = traced();
    assert!(traced.len() > 20, "only {} runs were found", traced.len());
    for run in traced {
        insta::with_settings!({ description => run.command.argv.join(" "), omit_expression => true }, {
            insta::assert_snapshot!(run.name.clone(), run.compact());
        });
    }
}

/// Returns the rate that a claim states, in bytes per second, for claims about one part.
fn claimed_rate(claim: &Claim) -> Option<f64> {
    matches!(claim.metric, Metric::Throughput | Metric::TaskThroughput).then_some(claim.value.value)
}

/// Maximum error of a window's edges under strace: the tracer stops the tool between its
/// clock and its first call, and between its last call and its clock.
const EDGES_NS: f64 = 120_000.0;

#[test]
fn rebuilt_windows_agree_with_the_tools_own_clock() {
    let mut failures = Vec::new();
    for run in traced() {
        let phases = run.phases();
        let parsed = run.parsed();
        for phase in phases.iter().filter(|phase| phase.incomplete.is_none()) {
            let claims: Vec<_> = parsed.claims.iter().filter(|claim| claim.phase == phase.id).collect();
            let rates: Vec<_> = claims.iter().filter_map(|claim| claimed_rate(claim)).collect();
            if rates.len() != phase.parts.len() {
                assert!(rates.is_empty() || phase.requested_tasks > 1, "{}: {}", run.name, phase.id);
                continue;
            }
            let counts: Vec<_> = claims
                .iter()
                .filter(|claim| claim.metric == Metric::BytesMoved)
                .map(|claim| claim.value.value)
                .collect();
            for (index, (part, rate)) in phase.parts.iter().zip(rates).enumerate() {
                let (bytes, duration_ns) = run.moved(part);
                // A mapped file moves its bytes without calls.
                let mapped = phase.clock.contains("mmap");
                let bytes = if mapped { phase.requested_bytes.expect("a size") } else { bytes } as f64;
                let block = phase.block_bytes.expect("a record size") as f64;
                if let Some(&count) = counts.get(index) {
                    assert!(bytes == count || bytes == count + block, "{}: {} {count} {bytes}", run.name, phase.id);
                    if count == 0.0 {
                        assert_eq!(rate, 0.0);
                        continue;
                    }
                }
                // A stonewalled task times one record more than it counts.
                let told_ns = counts.get(index).copied().unwrap_or(bytes) / rate * 1e9;
                let record_ns = duration_ns as f64 / (bytes / block).max(1.0);
                let stopped = counts.get(index).is_some_and(|&count| {
                    (count as u64) < phase.requested_bytes.unwrap_or(0) / u64::from(phase.requested_tasks)
                });
                // The fixtures are from a machine with two CPUs: of three children one waits
                // for a CPU between its clock's start and its first call.
                let edges = if phase.requested_tasks > 2 { 8_000_000.0 } else { EDGES_NS };
                let slack = edges + if stopped { 4.0 * record_ns } else { 0.0 };
                let difference = told_ns - duration_ns as f64;
                if difference.abs() > slack + 0.02 * told_ns {
                    failures.push(format!(
                        "{} {} part {index}: the tool's clock {told_ns:.0} ns, the window {duration_ns} ns",
                        run.name, phase.id
                    ));
                }
            }
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
}

#[test]
fn every_claimed_phase_of_a_traced_run_has_its_parts() {
    for run in traced() {
        let parsed = run.parsed();
        for phase in run.phases() {
            let claimed = parsed.claims.iter().any(|claim| claim.phase == phase.id);
            assert_eq!(phase.parts.len(), phase.requested_tasks as usize, "{}: {}", run.name, phase.id);
            assert!(claimed || phase.incomplete.is_some() || !parsed.complete, "{}: {}", run.name, phase.id);
        }
    }
}

// ---- made-up sequences -----------------------------------------------------------------

/// Returns a row of the table with numbers in the first columns.
fn row(file_kib: u64, record_kib: u64, numbers: &[u64]) -> String {
    let cells: String = numbers.iter().map(|number| format!("{number:>9}")).collect();
    format!("{file_kib:>16}{record_kib:>8}{cells}\n")
}

fn output(body: &str, complete: bool) -> ToolOutput {
    let header = "              kB  reclen    write  rewrite    read    reread    read     write     read   rewrite";
    let end = if complete { "\niozone test complete.\n" } else { "" };
    ToolOutput { stdout: format!("{header}\n{body}{end}").into_bytes(), ..ToolOutput::default() }
}

/// Returns calls of one thread, each 10 us long, 10 us apart, on a file with this name.
fn script(name: &str, calls: &str) -> Run {
    let mut text = "task 1 1 0 0 -\n".to_owned();
    for (index, call) in calls.lines().map(str::trim).filter(|call| !call.is_empty()).enumerate() {
        let start = 1000 + 20 * index;
        let (start, end) = (start, start + 10);
        let line = match call.split_once(' ').unwrap_or((call, "")) {
            ("open", flags) => format!("open 3 7 0 3 {name} {}", if flags.is_empty() { "-" } else { flags }),
            ("write", count) => format!("write 3 0 {count} {count}"),
            ("read", count) => format!("read 3 0 {count} {count}"),
            ("lseek", to) => format!("lseek 3 {to} 0 {to}"),
            ("unlink", _) => format!("unlink -1 -1 0 0 {name}"),
            ("sync", _) => "sync -1 -1 0 0".to_owned(),
            (call, _) => format!("{call} 3 -1 0 0"),
        };
        writeln!(text, "{start} {end} 1 1 {line}").expect("a String takes everything");
    }
    Run::read(&text)
}

const TWO_WRITES: &str = "write 4096
write 4096";

fn phases(command: &str, output: &ToolOutput, run: &Run) -> Vec<Phase> {
    let command = command_line(command);
    let parsed = iozone().parse(&command, output, None);
    iozone().phases(&command, &ToolOutput::default(), &parsed, &run.activity())
}

#[test]
fn a_run_killed_before_its_first_figure_still_has_its_passes() {
    let run = script(
        "iozone.tmp",
        &format!(
            "open write,create\nclose\nopen write\nfsync\n{TWO_WRITES}\nfsync\nclose\nopen write\nfsync\nwrite 4096"
        ),
    );
    let found = phases("iozone -i0 -s8k", &output(&row(8, 4, &[]), false), &run);
    let found: Vec<_> = found.iter().map(|phase| (phase.id.as_str(), phase.incomplete.as_deref())).collect();
    assert_eq!(found, [("write", None), ("rewrite", Some("the pass moved 4096 of 8192 bytes"))]);
}

#[test]
fn the_next_pass_may_make_this_pass_durable() {
    // -c without -e: no fsync of its own; the next pass begins with one.
    let run = script(
        "iozone.tmp",
        &format!("open write\nfsync\n{TWO_WRITES}\nclose\nopen write\nfsync\n{TWO_WRITES}\nclose\nunlink\nsync"),
    );
    let found = phases("iozone -i0 -s8k -c", &output(&row(8, 4, &[100, 200]), true), &run);
    let spans: Vec<_> = found
        .iter()
        .map(|phase| {
            (phase.parts[0].sync_inside.as_deref().copied(), phase.parts[0].sync_after.as_ref().map(|sync| sync.op))
        })
        .collect();
    // A sync(2) after the unlink makes nothing durable: the file is gone.
    assert_eq!(spans, [(None, Some(Op::Fsync)), (None, None)]);
    assert_eq!(found[0].parts[0].end, PartEnd::At(found[0].parts[0].close_ns.expect("a close")));
}

#[test]
fn a_sync_of_everything_counts_until_the_file_is_written_again() {
    let run = script("iozone.tmp", &format!("open write\n{TWO_WRITES}\nclose\nsync\nopen write\n{TWO_WRITES}\nclose"));
    let found = phases("iozone -i0 -s8k", &output(&row(8, 4, &[100, 200]), true), &run);
    let syncs: Vec<_> = found.iter().map(|phase| phase.parts[0].sync_after.as_ref().map(|sync| sync.op)).collect();
    assert_eq!(syncs, [Some(Op::Sync), None]);
}

#[test]
fn a_pass_too_few_gives_no_window_rather_than_a_wrong_one() {
    let run = script(
        "iozone.tmp",
        &format!("open write\n{TWO_WRITES}\nfsync\nclose\nopen -\nread 4096\nlseek 0\nread 4096\nread 4096\nclose"),
    );
    let found = phases("iozone -i0 -i1 -s8k", &output(&row(8, 4, &[1, 2, 3, 4]), true), &run);
    assert_eq!(found.len(), 4);
    for phase in &found {
        assert!(phase.parts.is_empty(), "{phase:?}");
        assert_eq!(phase.incomplete.as_deref(), Some("2 passes over the file were observed and 4 expected"));
    }
}

#[test]
fn a_pass_that_moves_data_the_other_way_is_not_taken() {
    let run = script("iozone.tmp", "open -\nread 4096\nread 4096\nclose\nopen -\nread 4096\nread 4096\nclose");
    let found = phases("iozone -i0 -s8k", &output(&row(8, 4, &[1, 2]), true), &run);
    for phase in &found {
        assert!(phase.parts.is_empty());
        assert!(phase.incomplete.as_deref().is_some_and(|why| why.contains("moves data another way")), "{phase:?}");
    }
}

#[test]
fn the_file_is_known_by_its_name() {
    let calls = format!("open write\n{TWO_WRITES}\nfsync\nclose\nopen write\n{TWO_WRITES}\nfsync\nclose");
    for (name, command, seen) in [
        ("iozone.tmp", "iozone -i0 -s8k", true),
        ("/mnt/x/iozone.tmp", "iozone -i0 -s8k", true),
        ("other.tmp", "iozone -i0 -s8k", false),
        ("/mnt/x/file", "iozone -i0 -s8k -f file", true),
        ("file", "iozone -i0 -s8k -f /mnt/x/file", true),
        ("iozone.tmp", "iozone -i0 -s8k -f /mnt/x/file", false),
    ] {
        let found = phases(command, &output(&row(8, 4, &[1, 2]), true), &script(name, &calls));
        assert_eq!(found.iter().all(|phase| phase.parts.len() == 1), seen, "{name} {command}");
        if !seen {
            assert_eq!(found[0].incomplete.as_deref(), Some("no open of the tool's file was observed"));
        }
    }
}

#[test]
fn the_first_page_of_a_mixed_writer_is_outside_its_clock() {
    let pass = format!("open write\nwrite 4096\nlseek 0\nfsync\n{TWO_WRITES}\nfsync\nclose");
    let run = script("iozone.tmp", &format!("{pass}\n{pass}"));
    let begins = |command: &str| {
        let found = phases(command, &output(&row(8, 4, &[1, 2]), true), &run);
        assert!(found.iter().all(|phase| phase.parts.len() == 1), "{found:?}");
        found.iter().map(|phase| phase.parts[0].start_ns).collect::<Vec<_>>()
    };
    let writes: Vec<_> = run.calls.iter().filter(|call| call.op.is_write()).map(|call| call.start_ns).collect();
    assert_eq!(begins("iozone -Z -i0 -s8k"), [writes[1], writes[4]]);
    assert_eq!(begins("iozone -i0 -s8k"), [writes[0], writes[3]]);
}

/// Returns the start and the end of the clock of a mapped writer, and the end of the sync inside, in us. It makes this
/// many syncs of its map, 100 us apart and 50 us long, the first one at 1100.
fn mapped_writer(options: &str, msyncs: u64) -> (u64, PartEnd, Option<u64>) {
    let mut calls =
        "task 1 1 0 0 -\n1000 1010 1 1 open 3 7 0 3 iozone.tmp write\n1020 1030 1 1 mmap 3 0 20480 4096\n".to_owned();
    let after = 1100 + 100 * msyncs;
    for start in (1100..after).step_by(100) {
        writeln!(calls, "{start} {} 1 1 msync 3 4096 4096 0", start + 50).expect("a String takes everything");
    }
    writeln!(calls, "{after} {} 1 1 munmap 3 4096 20480 0", after + 10).expect("a String takes everything");
    writeln!(calls, "{} {} 1 1 close 3 -1 0 0", after + 20, after + 30).expect("a String takes everything");
    let command = format!("iozone {options} -i0 -+n -s20k");
    let found = phases(&command, &output(&row(20, 4, &[1, 0]), true), &Run::read(&calls));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].incomplete, None);
    let part = &found[0].parts[0];
    (part.start_ns, part.end, part.sync_inside.as_ref().map(|sync| sync.end_ns))
}

#[test]
fn the_clock_ends_before_the_last_of_many_msyncs() {
    assert_eq!(mapped_writer("-D", 6), (1_030_000, PartEnd::At(1_600_000), None));
}

#[test]
fn the_msync_behind_the_clock_of_a_mapped_writer_is_outside() {
    // -e syncs the map inside the clock. Without -c, iozone syncs it once more behind the clock.
    for (records, syncs) in [("-B", 2), ("-B -G", 3), ("-D", 4), ("-B -G", 6), ("-B -D", 7)] {
        let records_end = 1100 + 100 * (syncs - 1) - 50;
        let expected = (1_030_000, PartEnd::At(records_end * 1000), Some(records_end * 1000));
        assert_eq!(mapped_writer(&format!("{records} -e"), syncs), expected, "{records} and {syncs} syncs");
    }
    // With -c the clock covers the close, and that sync is the last one.
    assert_eq!(mapped_writer("-B -G -e -c", 6), (1_030_000, PartEnd::At(1_730_000), Some(1_650_000)));
    // A later -B takes the syncs of the records back: the first sync is that of the map.
    assert_eq!(mapped_writer("-G -B -e", 2), (1_030_000, PartEnd::At(1_150_000), Some(1_150_000)));
    assert_eq!(mapped_writer("-D -B -e", 2), (1_030_000, PartEnd::At(1_150_000), Some(1_150_000)));
}

#[test]
fn work_before_the_clock_is_bounded_by_the_record_or_by_the_first_call() {
    let untimed = |options: &str, calls: &str| {
        let command = format!("iozone {options} -i0 -+n -s20k");
        let found = phases(&command, &output(&row(20, 4, &[1, 0]), true), &Run::read(calls));
        assert!(found[0].parts.len() == 1, "{found:?}");
        found[0].untimed_start_ns
    };
    let around = |data: &str| {
        format!(
            "task 1 1 0 0 -\n1000 1010 1 1 open 3 7 0 3 iozone.tmp write\n1020 1030 1 1 fsync 3 -1 0 0\n{data}\n\
             1300 1310 1 1 close 3 -1 0 0\n"
        )
    };
    let written = around("1032 1050 1 1 write 3 0 20480 20480");
    assert_eq!(untimed("", &written), 0, "the first call shows it");
    assert_eq!(untimed("-k 4", &written), 2_000, "the clock began by the first write");
    let late = around("1132 1150 1 1 write 3 0 20480 20480");
    assert_eq!(untimed("-k 4", &late), 4096, "1 ns for each byte of a record");
    let mapped = around("1040 1050 1 1 mmap 3 0 20480 4096\n1200 1210 1 1 munmap 3 4096 20480 0");
    assert_eq!(untimed("-B", &mapped), 4096, "no call shows it");
}

#[test]
fn a_killed_reader_that_only_primed_has_no_window() {
    let run = script(
        "iozone.tmp",
        &format!(
            "open write\n{TWO_WRITES}\nfsync\nclose\nopen write\n{TWO_WRITES}\nfsync\nclose\nopen\nread 4096\nlseek 0"
        ),
    );
    let found = phases("iozone -i0 -i1 -s8k", &output(&row(8, 4, &[1, 2]), false), &run);
    let ids: Vec<_> = found.iter().map(|phase| phase.id.as_str()).collect();
    assert_eq!(ids, ["write", "rewrite"]);
}

#[test]
fn purged_and_checked_passes_say_so() {
    let found = phases("iozone -i0 -i1 -s8k -U /mnt -V 1", &output(&row(8, 4, &[1, 2, 3, 4]), true), &Run::read(""));
    let cold: Vec<_> = found.iter().map(|phase| phase.cold_by_design).collect();
    assert_eq!(cold, [false, false, true, true]);
    assert!(found.iter().all(|phase| phase.verifies.as_deref() == Some("-V")));
    assert!(found.iter().all(|phase| phase.incomplete.as_deref() == Some("no calls were observed")));
}

/// Returns a well-formed run of calls: files are opened before use.
fn any_run() -> impl Strategy<Value = Run> {
    let call = (0_usize..12, 1_u32..4, 3_i32..5, 0_i64..5, any::<bool>());
    prop::collection::vec(call, 0..60).prop_map(|calls| {
        let mut text = String::new();
        for task in 1..4 {
            writeln!(text, "task {task} {task} 1 0 -").expect("a String takes everything");
        }
        let mut open = std::collections::HashSet::new();
        for (index, (what, task, fd, number, dummy)) in calls.into_iter().enumerate() {
            let start = 10 * index;
            let head = format!("{start} {} {task} {task}", start + 5);
            let name = if dummy { format!("iozone.DUMMY.{number}") } else { "iozone.tmp".to_owned() };
            let line = match what {
                0 => "sync -1 -1 0 0".to_owned(),
                1 => format!("unlink -1 -1 0 0 {name}"),
                _ if open.insert((task, fd)) => format!("open {fd} {number} 0 {fd} {name} write"),
                2 => {
                    open.remove(&(task, fd));
                    format!("close {fd} -1 0 0")
                }
                3 => format!("lseek {fd} {number} 0 {number}"),
                4 => format!("fsync {fd} -1 0 0"),
                5 => format!("mmap {fd} 0 4096 4096"),
                6 => format!("msync {fd} 4096 4096 0"),
                7 => format!("munmap {fd} 4096 4096 0"),
                8 => format!("write {fd} 0 4096 -28"),
                9 | 10 => format!("read {fd} 0 4096 {}", number * 1024),
                _ => format!("write {fd} 0 4096 {}", number * 1024),
            };
            writeln!(text, "{head} {line}").expect("a String takes everything");
        }
        Run::read(&text)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn any_calls_give_windows_that_make_sense(
        run in any_run(),
        options in "(-i0 )?(-i1 )?(-i2 )?(-i3 )?(-e )?(-c )?(-B )?(-D )?(-H2 )?(-[+]n )?(-t2 )?(-t3 )?(-T )?(-x )?",
        complete: bool,
    ) {
        let command = format!("iozone -s8k {options}");
        for phase in phases(&command, &output(&row(8, 4, &[1, 2]), complete), &run) {
            for part in &phase.parts {
                if let PartEnd::At(end_ns) = part.end {
                    prop_assert!(end_ns >= part.start_ns, "{command}: {part:?}");
                    prop_assert!(part.sync_inside.as_ref().is_none_or(|sync| sync.end_ns <= end_ns), "{command}: {part:?}");
                    prop_assert!(part.sync_after.as_ref().is_none_or(|sync| sync.start_ns >= end_ns), "{command}: {part:?}");
                }
            }
            prop_assert!(!phase.parts.is_empty() || phase.incomplete.is_some());
            prop_assert!(phase.parts.is_empty() || phase.requested_tasks > 1 || phase.window.is_some());
        }
    }
}
