//! The copy of dd in observed calls: made-up sequences in the order of calls that a trace of 9.1 shows.

use activebench_model::activity::{Activity, CallSpan, Exec, OutputWrite};
use activebench_model::call::Op;
use activebench_model::output::ToolOutput;
use activebench_model::phase::{Direction, PartEnd, Phase};
use activebench_tools::{Adapter, adapter_by_name};

use crate::observed::Run;
use crate::stored::command_line;

fn dd() -> &'static dyn Adapter {
    adapter_by_name("dd").expect("the adapter is registered")
}

/// A write of 2 MiB in times of us: opens until 140, a first write at 700, an fsync, closes until 9000.
const WRITE: &str = "task 7 7 1 0 20000\n\
    100 130 7 7 open 3 5 0 3 f write,create\n\
    131 134 7 7 close 3 -1 0 0\n\
    700 900 7 7 write 1 0 1048576 1048576\n\
    1000 1200 7 7 write 1 1048576 1048576 1048576\n\
    1300 8000 7 7 fsync 1 -1 0 0\n\
    8990 9000 7 7 close 1 -1 0 0\n";

/// Folds calls. The tests' folding does not know `dup2`: descriptor 1 is the one that was opened.
fn activity(calls: &str, command: &str, printed_us: &[u64]) -> Activity {
    let dup = "130 131 7 7 open 1 5 0 1 f write,create\n";
    let calls = calls.replacen("131 134", &format!("{dup}131 134"), 1);
    let arguments = command.split(' ').map(str::to_owned).collect();
    let exec = Exec { at_ns: 50_000, tgid: 7, filename: "/usr/bin/dd".to_owned(), arguments };
    let span = |at_us: u64| CallSpan {
        start_ns: at_us * 1000,
        end_ns: at_us * 1000 + 500,
        tid: 7,
        op: Op::Write,
        returned: 31,
    };
    let written = |at_us: &u64| OutputWrite { span: span(*at_us), tgid: 7, fd: 2, file: None };
    Activity {
        execs: vec![exec],
        output_writes: printed_us.iter().map(written).collect(),
        ..Run::read(&calls).activity()
    }
}

fn found(calls: &str, command: &str, seconds: &str, printed_us: &[u64]) -> Phase {
    let report =
        format!("2+0 records in\n2+0 records out\n2097152 bytes (2.1 MB, 2.0 MiB) copied, {seconds} s, 9 MB/s\n");
    let output = ToolOutput { stderr: report.into_bytes(), ..ToolOutput::default() };
    let command_line = command_line(command);
    let parsed = dd().parse(&command_line, &output, None);
    let mut phases = dd().phases(&command_line, &output, &parsed, &activity(calls, command, printed_us));
    assert_eq!(phases.len(), 1);
    phases.remove(0)
}

fn window_us(phase: &Phase) -> Option<(u64, u64)> {
    phase.window.map(|window| (window.start_ns / 1000, window.end_ns / 1000))
}

const COMMAND: &str = "dd if=/dev/zero of=f bs=1M count=2 conv=fsync";

#[test]
fn the_window_is_from_the_opens_to_the_closes() {
    let phase = found(WRITE, COMMAND, "0.008866", &[9100, 9200, 9201]);
    assert_eq!(window_us(&phase), Some((134, 9000)));
    assert_eq!((phase.direction, phase.incomplete.as_deref()), (Direction::Write, None));
    let part = &phase.parts[0];
    assert_eq!((part.fd, part.end), (1, PartEnd::At(9_000_000)));
    assert!(part.sync_inside.as_ref().is_some_and(|sync| sync.op == Op::Fsync) && part.sync_after.is_none());
}

#[test]
fn between_two_calls_the_window_follows_the_printed_seconds_and_no_further() {
    for (seconds, expected) in [
        // dd waited before it read its clock first: at most until its first write.
        ("0.008500", (500, 9000)),
        ("0.004000", (700, 9000)),
        // It read its clock last when it had printed its records: at most when it prints the seconds.
        ("0.008966", (134, 9100)),
        ("0.090000", (134, 9200)),
    ] {
        assert_eq!(window_us(&found(WRITE, COMMAND, seconds, &[9100, 9200, 9201])), Some(expected), "{seconds}");
    }
    // A first read of a generator is inside the clock, however long it takes.
    let slow = WRITE.replace("700 900", "190700 190900").replace("1000 1200", "191000 191200");
    let slow =
        slow.replace("1300 8000", "191300 198000").replace("8990 9000", "198990 199000").replace("20000", "200000");
    assert_eq!(window_us(&found(&slow, COMMAND, "0.008", &[199100, 199200])), Some((100134, 199000)));
}

#[test]
fn a_copy_that_was_cut_short_has_no_window() {
    let killed = WRITE.lines().filter(|line| !line.starts_with("8990")).collect::<Vec<_>>().join("\n");
    let phase = found(&killed, COMMAND, "0.004", &[]);
    assert!(phase.parts.is_empty() && phase.incomplete.is_some_and(|why| why.contains("earlier time")));
}

#[test]
fn a_sync_behind_the_clock_is_not_inside() {
    let later = WRITE.replace("1300 8000 7 7 fsync 1 -1 0 0\n", "");
    let phase = found(&later, "dd if=/dev/zero of=f bs=1M count=2", "0.008866", &[]);
    assert!(phase.parts[0].sync_inside.is_none() && phase.promises.is_empty());
}

#[test]
fn a_dd_between_pipes_has_no_storage() {
    let phase = found("task 7 7 1 0 20000\n", "dd bs=64k", "0.008866", &[]);
    assert!(phase.parts.is_empty() && phase.incomplete.is_some_and(|why| why.contains("neither")));
}
