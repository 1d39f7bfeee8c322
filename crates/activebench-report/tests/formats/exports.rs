//! Exports of a small made-up run: snapshots, properties of every export, and hostile names.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashSet};
use std::io::{self, Write};
use std::rc::Rc;

use activebench_model::call::{Call, FileId, FileKind, Op, open_bits};
use activebench_model::event::{
    BlockAction, BlockEvent, BlockEventKind, NameEvent, Origin, RecordClass, TaskEvent, TaskEventKind,
};
use activebench_model::fact::Completeness;
use activebench_model::log::{EventLog, LogCut};
use activebench_model::readings::{Readings, Series, Watched};
use activebench_model::report::JudgedRun;
use activebench_model::source::Events;
use activebench_model::timeline::{Timeline, TimelineFigure, TimelineSeries};
use activebench_report::escape;
use activebench_report::export::passes::{Devices, Pass, replayed, write_passes};
use activebench_report::export::{EXPORTS, ExportError, export_by_name};
use proptest::prelude::*;
use serde_json::Value;

use crate::parts::{base, write_phase};

/// The file of [`write_phase`].
const FILE: FileId = FileId { s_dev: 7 << 20, ino: 12 };
const OTHER: FileId = FileId { s_dev: 7 << 20, ino: 13 };
const TOOL: u32 = 4711;
const MS: u64 = 1_000_000;
/// Start of the run of [`base`].
const STARTED: u64 = 1_000 * MS;

fn call(op: Op, start_us: u64, end_us: u64) -> Call {
    Call {
        start_ns: STARTED + start_us * 1_000,
        end_ns: STARTED + end_us * 1_000,
        tid: TOOL,
        tgid: TOOL,
        op,
        fd: 3,
        file: Some(FILE),
        kind: FileKind::Regular,
        open_flags: 0,
        offset: -1,
        requested: 0,
        returned: 0,
        storage_read_bytes: 0,
        cached_bytes: 0,
        cpu_ns: 500,
        user_before_ns: 100,
        stands_for: 1,
    }
}

fn data(op: Op, start_us: u64, end_us: u64, offset: i64, bytes: i64) -> Call {
    Call { offset, requested: bytes as u64, returned: bytes, ..call(op, start_us, end_us) }
}

fn name(at_us: u64, file: FileId, name: &str) -> NameEvent {
    NameEvent {
        at_ns: STARTED + at_us * 1_000,
        tid: TOOL,
        tgid: TOOL,
        op: Op::Open,
        returned: 3,
        file: Some(file),
        name: name.to_owned(),
    }
}

fn block(at_us: u64, latency_us: u64, action: BlockAction, bytes: u64) -> BlockEvent {
    BlockEvent {
        at_ns: STARTED + at_us * 1_000,
        kind: BlockEventKind::Completed,
        device: activebench_model::call::DeviceNumber::new(7, 0),
        sector: 2048,
        bytes,
        action,
        preflush: false,
        fua: false,
        latency_ns: latency_us * 1_000,
        first_of_request: true,
        file: (bytes > 0).then_some(FILE),
        tgid: TOOL,
        comm: "tool".to_owned(),
        origin: Origin::Tree,
        status: 0,
    }
}

fn born(comm: &str) -> TaskEvent {
    TaskEvent {
        at_ns: STARTED,
        kind: TaskEventKind::Born,
        tid: TOOL,
        tgid: TOOL,
        parent_tgid: 1,
        exit_status: 0,
        comm: comm.to_owned(),
        filename: String::new(),
        user_ns: 0,
        kernel_ns: 0,
        blocked_ns: 0,
        iowait_ns: 0,
        preempted_ns: 0,
    }
}

/// A layout, two overlapping requests, and calls that an iolog cannot represent, in the order of their ends.
fn story(file_name: &str) -> (JudgedRun, Events) {
    let mut run = base(&["tool", "--size", "8k"]);
    run.phases = vec![write_phase("write", "write", 0)];
    let rate = |name, values: [Option<f64>; 2]| TimelineSeries {
        name,
        completeness: Completeness::Complete,
        values: values.to_vec(),
    };
    run.timelines = vec![Timeline {
        phase: "write".to_owned(),
        start_ns: STARTED + 999 * MS,
        step_ns: 200 * MS,
        steps: 2,
        series: vec![
            rate(TimelineFigure::CallReadRate, [Some(0.0), Some(0.0)]),
            rate(TimelineFigure::CallWriteRate, [Some(4096.5), None]),
        ],
        syncs: Vec::new(),
        syncs_left_out: 0,
        latencies: Vec::new(),
        maps: Vec::new(),
        files_left_out: 0,
    }];
    run.manifest.host.readings = Some(Readings {
        series: vec![Series {
            what: Watched::DirtyBytes,
            of: String::new(),
            source: "/proc/meminfo".to_owned(),
            readings: vec![(STARTED - MS, 4096), (STARTED + 500 * MS, 12_288)],
        }],
        unread: Vec::new(),
    });
    run.manifest.coverage.log = Some(EventLog {
        cut: Some(LogCut {
            at_ns: STARTED + 5_000 * MS,
            why: "it reached its limit".to_owned(),
            records: [(RecordClass::Calls, 7)].into(),
        }),
        ..EventLog::default()
    });
    let direct = |call: Call| Call { open_flags: open_bits::DIRECT, ..call };
    let in_pass = 1_000_000;
    let calls = vec![
        Call { fd: -1, returned: 3, ..call(Op::Open, 100, 110) },
        data(Op::Write, 120, 130, 0, 8192),
        Call { fd: 9, file: Some(OTHER), ..data(Op::Write, 131, 132, 0, 100) },
        Call { requested: 4096, ..call(Op::Ftruncate, 140, 141) },
        Call { stands_for: 0, ..data(Op::Pwrite, in_pass + 10, in_pass + 20, 8192, 4096) },
        direct(data(Op::AioWrite, in_pass + 40, in_pass + 90, 4096, 4096)),
        // Submitted before the previous one, collected after it.
        direct(data(Op::AioWrite, in_pass + 30, in_pass + 100, 0, 4096)),
        direct(data(Op::AioRead, in_pass + 110, in_pass + 150, 16_384, 4096)),
        Call { requested: 4096, ..data(Op::Read, in_pass + 160, in_pass + 161, 20_480, 0) },
        Call { returned: -5, ..data(Op::Pwrite, in_pass + 162, in_pass + 163, 0, 0) },
        data(Op::Pread, in_pass + 164, in_pass + 165, -1, 512),
        data(Op::Discard, in_pass + 170, in_pass + 180, 0, 4096),
        call(Op::Fdatasync, in_pass + 200, in_pass + 900),
        call(Op::Fsync, in_pass + 1_000, in_pass + 1_900),
        call(Op::Close, in_pass + 2_000, in_pass + 2_010),
    ];
    let events = Events {
        calls,
        names: vec![name(110, FILE, file_name), name(131, OTHER, "results.txt")],
        tasks: vec![born("tool")],
        block: vec![
            // In flight when the run began.
            block(50, 100, BlockAction::Write, 512),
            BlockEvent { first_of_request: false, ..block(50, 0, BlockAction::Write, 512) },
            block(in_pass + 80, 40, BlockAction::Write, 4096),
            BlockEvent { first_of_request: false, ..block(in_pass + 80, 0, BlockAction::Write, 512) },
            block(in_pass + 85, 35, BlockAction::Write, 4096),
            BlockEvent { kind: BlockEventKind::Inferred, ..block(in_pass + 90, 0, BlockAction::Read, 4096) },
            BlockEvent { preflush: true, ..block(in_pass + 1_800, 700, BlockAction::Flush, 0) },
        ],
        ..Events::default()
    };
    (run, events)
}

fn exported(name: &str, run: &JudgedRun, events: &Events) -> Result<(String, Vec<String>), ExportError> {
    let export = export_by_name(name).expect("there is such an export");
    let mut out = Vec::new();
    let notes = export.write(run, events, Some("/tmp/out/run.log".as_ref()), &mut out)?;
    Ok((String::from_utf8(out).expect("UTF-8"), notes))
}

#[test]
fn a_small_run_is_exported_as_intended() {
    let (run, events) = story("data");
    for export in EXPORTS {
        let (text, notes) = exported(export.name(), &run, &events).expect("it is exported");
        insta::assert_snapshot!(export.name(), format!("{text}\n{}\n", notes.join("\n")));
    }
}

/// Returns the logs of a run's passes by name.
fn logs(run: &JudgedRun, events: &Events) -> (Vec<Pass>, BTreeMap<String, String>) {
    /// Writes into a map, so that the test keeps the logs of the passes.
    struct Kept(Rc<RefCell<BTreeMap<String, Vec<u8>>>>, String);
    impl Write for Kept {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.borrow_mut().entry(self.1.clone()).or_default().extend(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let kept = Rc::new(RefCell::new(BTreeMap::new()));
    let mut open = |name: &str| -> io::Result<Box<dyn Write>> { Ok(Box::new(Kept(kept.clone(), name.to_owned()))) };
    let passes = write_passes(run, events, Devices::default(), &mut open).expect("the logs are written");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    (passes, kept.take().into_iter().map(|(name, bytes)| (name, text(bytes))).collect())
}

#[test]
fn a_pass_has_a_log_a_task_under_names_of_ours() {
    let (mut run, events) = story("my file\nf1 write 0 4096");
    run.manifest.coverage.log = None;
    let (passes, logs) = logs(&run, &events);
    let [pass] = &passes[..] else { panic!("one pass: {passes:#?}") };
    let logs: String = logs.iter().map(|(name, text)| format!("{name}\n{text}")).collect();
    let said = [&pass.left_out[..], &pass.notes].concat().join("\n");
    insta::assert_snapshot!("passes", format!("{logs}\n{:#?}\n{said}", pass.tasks));
    // The layout before the clock is not replayed, but determines the state of the file before the pass.
    let file = pass.files.values().next().expect("a file");
    assert_eq!(file.before.size_bytes, 20_480, "ftruncate cut it, and a read found more");
    assert!(file.before.is_there());
}

#[test]
fn a_pass_that_no_log_can_say_has_the_reason() {
    let (mut run, events) = story("data");
    let (passes, _) = logs(&run, &events);
    assert_eq!(passes[0].obstacle, None, "the cut is behind the pass");
    run.manifest.coverage.log = Some(EventLog {
        cut: Some(LogCut { at_ns: STARTED + 1_000 * MS, why: "it is full".to_owned(), records: [].into() }),
        ..EventLog::default()
    });
    let (passes, written) = logs(&run, &events);
    assert_eq!(passes[0].obstacle.as_deref(), Some("the event log was cut before its end: it is full"));
    assert!(written.is_empty(), "{written:?}");
    run.phases[0].direction = activebench_model::phase::Direction::Discard;
    let (passes, _) = logs(&run, &events);
    assert_eq!(passes[0].obstacle.as_deref(), Some("write discards: fio 3.33 refuses `trim` in a log"));
}

#[test]
fn what_a_replay_did_is_held_against_the_pass_operation_by_operation() {
    let (mut run, events) = story("data");
    run.manifest.coverage.log = None;
    let (passes, _) = logs(&run, &events);
    // With the log's file name, the same calls in any order are equal.
    let as_ours = |calls: Vec<Call>| Events { calls, names: vec![name(110, FILE, "f0")], ..Events::default() };
    let window = run.phases[0].window.expect("a window");
    let inside = |call: &Call| window.contains(call.start_ns) && window.contains(call.end_ns) && call.op != Op::Discard;
    let mut calls: Vec<Call> = events.calls.into_iter().filter(inside).collect();
    calls.reverse();
    let done = replayed(&passes[0], &as_ours(calls.clone())).expect("it is read");
    assert_eq!(done.differs(&passes[0]), None);
    let place = calls.iter().position(|call| call.op == Op::AioRead).expect("a read");
    calls[place].offset += 4096;
    let done = replayed(&passes[0], &as_ours(calls.clone())).expect("it is read");
    let differs = done.differs(&passes[0]).expect("another offset");
    assert_eq!(differs, "f0: as many operations and bytes, at other offsets or of other lengths");
    calls.remove(place);
    let done = replayed(&passes[0], &as_ours(calls)).expect("it is read");
    assert!(done.differs(&passes[0]).expect("one is missing").contains("recorded 1 reads of 4096 bytes"));
}

#[test]
fn a_run_that_says_nothing_is_no_export() {
    let (run, events) = story("data");
    let syncs = Events { calls: events.calls[12..].to_vec(), ..events.clone() };
    for (name, events, why) in [
        ("fio-iolog", Events::default(), "no read, write or discard"),
        ("fio-iolog", syncs, "no read, write or discard"),
        ("fio-iolog", story("two words").1, "its name has a blank or a line break: \"two words\""),
        ("chrome-trace", Events::default(), "no recorded call or device request"),
    ] {
        let mut out = Vec::new();
        let written = export_by_name(name).expect("an export").write(&run, &events, None, &mut out);
        let said = written.expect_err(name).to_string();
        assert!(said.contains(why) && out.is_empty(), "{name}: {said}");
    }
}

/// Asserts the requirements of the trace event format, for any run.
fn assert_is_a_trace(text: &str, calls: usize) {
    let trace: Value = serde_json::from_str(text).expect("JSON");
    assert!(!text.chars().any(|c| c != '\n' && (c.is_control() || c == '\u{202e}')), "{text}");
    let events = trace["traceEvents"].as_array().expect("events");
    let mut open = HashSet::new();
    let mut of_calls = 0;
    for event in events {
        assert!(event["name"].is_string() && event["ph"].is_string() && event["args"].is_object(), "{event}");
        assert!(event["pid"].is_u64() && event["tid"].is_u64() && event["ts"].as_f64() >= Some(0.0), "{event}");
        let id = event["id"].as_str().map(str::to_owned);
        match event["ph"].as_str().expect("text") {
            "X" => assert!(event["dur"].as_f64() >= Some(0.0), "{event}"),
            "b" => assert!(open.insert(id.expect("an id")), "{event}"),
            "e" => assert!(open.remove(&id.expect("an id")), "{event}"),
            "C" => assert!(event["args"].as_object().is_some_and(|args| args.values().all(Value::is_number))),
            "i" => assert_eq!(event["s"], "t"),
            "M" => assert!(event["args"].as_object().is_some_and(|args| args.len() == 1)),
            other => panic!("{other}: {event}"),
        }
        let of_call = ["read", "write", "discard", "sync", "call"].iter().any(|cat| event["cat"] == *cat);
        of_calls += usize::from(of_call && event["ph"] != "e");
    }
    assert!(open.is_empty(), "{open:?}");
    assert_eq!(of_calls, calls);
}

/// Asserts that every line of a log is one action on the file, and that no part of a name became an action.
fn assert_is_a_log(text: &str, name: &str) {
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("fio version 3 iolog"));
    for line in lines {
        let words: Vec<&str> = line.split(' ').collect();
        assert!(matches!(words.len(), 3 | 5), "{line:?}");
        assert!(words[0].parse::<u64>().is_ok() && (words[1] == name || name == "-"), "{line:?}");
        let actions = ["add", "open", "close", "read", "write", "sync", "datasync", "trim"];
        assert!(actions.contains(&words[2]) && words[3..].iter().all(|word| word.parse::<u64>().is_ok()), "{line:?}");
    }
}

fn check_hostile(text: &str) {
    let (mut run, mut events) = story(text);
    run.phases[0].name = text.to_owned();
    run.phases[0].id = text.to_owned();
    run.timelines[0].phase = text.to_owned();
    run.manifest.command.argv = vec![text.to_owned()];
    run.manifest.command.cwd = text.to_owned();
    events.tasks[0].comm = text.to_owned();
    events.block.iter_mut().for_each(|event| event.comm = text.to_owned());
    let (trace, _) = exported("chrome-trace", &run, &events).expect("a trace");
    assert_is_a_trace(&trace, events.calls.len());
    let parsed: Value = serde_json::from_str(&trace).expect("JSON");
    let calls = parsed["traceEvents"].as_array().expect("events").iter();
    let files: Vec<&Value> = calls.map(|event| &event["args"]["file"]).filter(|file| file.is_string()).collect();
    assert!(files.contains(&&Value::from(text)), "the name is what it was: {text:?}");
    match exported("fio-iolog", &run, &events) {
        Ok((log, _)) => assert_is_a_log(&log, text),
        Err(ExportError::Nothing(why)) => assert!(why.contains("an iolog cannot name"), "{why}"),
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn names_stay_text() {
    for name in [
        "",
        "-",
        "\"},{\"ph\":\"X",
        "</script>",
        "a\u{202e}b\u{2066}c",
        "\u{9b}31m\x1b[2J\u{7f}",
        "\\u0000\\",
        "a\n1 data write 0 4096",
        "data read 0 1",
        "gone\u{fffd}",
        "写入文件",
    ] {
        check_hostile(name);
    }
    check_hostile(&"x".repeat(255));
}

#[test]
fn a_log_that_was_cut_is_said_in_the_trace_itself() {
    let (run, events) = story("data");
    let (trace, notes) = exported("chrome-trace", &run, &events).expect("a trace");
    let parsed: Value = serde_json::from_str(&trace).expect("JSON");
    let said = parsed["otherData"]["record"].as_str().expect("a sentence");
    assert!(said.contains("the event log was cut after 5 s: it reached its limit; 7 calls are not here"), "{said}");
    assert!(notes.iter().any(|note| said.contains(note)), "{notes:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn any_name_gives_a_trace_and_no_foreign_action(name in any::<String>()) {
        check_hostile(&name);
    }

    #[test]
    fn any_control_characters_do_too(name in "[\\x00-\\x20\\x7f-\\u{9f}\\u{200b}-\\u{202e}\"\\\\a-]{0,30}") {
        check_hostile(&name);
    }
}

#[test]
fn notes_can_be_shown() {
    let (run, events) = story("a\u{1b}[2Jb");
    let error = exported("fio-iolog", &run, &events).expect_err("its name cannot be written").to_string();
    assert!(escape::terminal(&error).contains("\\u{1b}[2J"), "{error:?}");
}
