//! The passes of sysbench fileio in observed calls: a made-up sequence in the order of calls that a trace of 1.0.20 shows.

use activebench_model::activity::{Activity, CallSpan, OutputWrite};
use activebench_model::call::Op;
use activebench_model::output::ToolOutput;
use activebench_model::phase::{PartEnd, Phase};
use activebench_tools::{Adapter, adapter_by_name};

use crate::observed::Run;
use crate::stored::command_line;

fn sysbench() -> &'static dyn Adapter {
    adapter_by_name("sysbench").expect("the adapter is registered")
}

/// Two files, one thread: two writes, syncs until 8000, the thread ends at 8100, the report comes at 9000.
const RUN: &str = "task 7 7 1 0 20000\n\
    task 8 7 7 300 8100\n\
    100 110 7 7 open 3 5 0 3 test_file.0 write,create\n\
    120 130 7 7 open 4 6 0 4 test_file.1 write,create\n\
    420 500 8 7 pwrite64 3 0 16384 16384\n\
    600 700 8 7 pwrite64 4 0 16384 16384\n\
    800 4000 8 7 fsync 3 -1 0 0\n\
    4100 8000 8 7 fsync 4 -1 0 0\n\
    9500 9510 7 7 close 3 -1 0 0\n\
    9520 9530 7 7 close 4 -1 0 0\n";

const COMMAND: &str = "sysbench fileio --file-test-mode=seqwr --file-num=2 --events=2 --time=0 --file-fsync-freq=0";

fn found(rate: &str) -> Phase {
    found_in(RUN, 1, rate)
}

fn found_in(calls: &str, threads: u32, rate: &str) -> Phase {
    let command = format!("{COMMAND} --threads={threads} run");
    let command = command.as_str();
    let stdout = format!(
        "Calling fsync() at the end of test, Enabled.\nDoing sequential write (creation) test\n\nFile operations:\n    writes/s:   {rate}\n"
    );
    let output = ToolOutput { stdout: stdout.into_bytes(), ..ToolOutput::default() };
    let calls = calls.replace("pwrite64", Op::Pwrite.name());
    let write = |at_us: u64, bytes: i64| OutputWrite {
        span: CallSpan { start_ns: at_us * 1000, end_ns: at_us * 1000 + 500, tid: 7, op: Op::Write, returned: bytes },
        file: None,
        tgid: 7,
        fd: 1,
    };
    let activity = Activity {
        output_writes: vec![write(200, 32), write(400, 18), write(9000, 230)],
        ..Run::read(&calls).activity()
    };
    let parsed = sysbench().parse(&command_line(command), &output, None);
    let mut phases = sysbench().phases(&command_line(command), &output, &parsed, &activity);
    assert_eq!(phases.len(), 1);
    phases.remove(0)
}

#[test]
fn the_window_is_from_the_release_to_the_report() {
    // Two requests in 8.3 ms, 8.6 ms and less than the threads took.
    for (rate, end_us) in [("240.96", 8700), ("232.55", 9000), ("2000.00", 8100)] {
        let phase = found(rate);
        let window = phase.window.expect("a window");
        assert_eq!(window.start_ns, 400_000);
        assert!(window.end_ns.abs_diff(end_us * 1000) < 1000, "{rate}: {window:?}");
        assert_eq!(phase.parts.len(), 2);
        assert_eq!(phase.parts[1].end, PartEnd::At(window.end_ns));
        assert!(phase.parts.iter().all(|part| part.sync_inside.is_some() && part.sync_after.is_none()));
    }
}

#[test]
fn a_thread_that_came_too_late_for_a_request_is_not_missing() {
    let tasks = |calls: &str, threads: u32| found_in(calls, threads, "240.96").requested_tasks;
    let late = RUN.replace("task 8 7 7 300 8100\n", "task 8 7 7 300 8100\ntask 9 7 7 300 500\n");
    assert_eq!(tasks(&late, 2), 1);
    // A thread that was never started is.
    assert_eq!(tasks(RUN, 2), 2);
}
