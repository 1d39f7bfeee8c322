//! Passes over names, latencies of syncs and submissions, and the times of the tool's output.

use crate::story::*;
use activebench_model::call::{FileKind, Op, open_bits};
use activebench_model::event::RecordClass;
use activebench_model::event::TaskEventKind;
use activebench_model::fact::{Fact, FactName, FactName::*};
use activebench_model::phase::{Direction, NameOperation, NamePass, Phase, TaskSpan};

/// Creates a pass over names by the tool.
fn names(operation: NameOperation, tids: &[u32], start_ns: u64, end_ns: u64) -> Phase {
    let span = TaskSpan { tgid: TOOL, tids: tids.to_vec(), start_ns, end_ns };
    Phase {
        names: Some(NamePass { operation, requested: Some(3), spans: vec![span] }),
        ..Phase::planned("p", "p", Direction::None)
    }
}

/// Adds an open by the tool with `O_CREAT`.
fn create(story: &mut Story, returned: i64) {
    story.call(Op::Open, -1, -1, 0, returned);
    story.last().open_flags = open_bits::CREATE | open_bits::WRITABLE;
}

#[test]
fn each_operation_counts_its_own_calls_inside_its_span() {
    let mut story = Story::new();
    create(&mut story, 3);
    let start_ns = story.now;
    for _ in 0..2 {
        create(&mut story, 3);
        story.close(3);
        story.call(Op::Stat, -1, -1, 0, 0);
    }
    create(&mut story, -17);
    story.open(3, "opened, not created");
    story.unlink("a");
    story.last().end_ns += 700;
    let end_ns = story.now + 700;
    story.now = end_ns + CALL_NS;
    story.unlink("late");

    let check_names = |operation, succeeded, failed, longest| {
        let facts = story.facts(names(operation, &[], start_ns, end_ns));
        let expected: &[(FactName, Is)] = &[
            (Window, count(end_ns - start_ns)),
            (LongestTask, count(end_ns - start_ns)),
            (NameCalls, count(succeeded)),
            (FailedCalls, count(failed)),
            (NameLatencyMax, count(longest)),
            (ReadBytes, count(0)),
            (SyncLatencyMean, Is::Absent),
            (MinTaskRate, Is::Absent),
        ];
        check(&format!("{operation:?}"), &facts, expected);
        let finite = |fact: &Fact| fact.value.is_none_or(|quantity| quantity.value.is_finite());
        assert!(facts.0.values().all(finite), "{facts:#?}");
    };
    check_names(NameOperation::Create, 2, 1, CALL_NS);
    check_names(NameOperation::Stat, 2, 0, CALL_NS);
    check_names(NameOperation::Delete, 1, 0, CALL_NS + 700);
}

#[test]
fn a_pass_over_names_can_be_of_one_thread_and_loses_what_the_calls_lose() {
    let mut story = Story::new();
    story.task(TaskEventKind::Born, 101, TOOL, TOOL);
    let start_ns = story.now;
    story.by(TOOL, 101).unlink("a");
    story.by(TOOL, TOOL).unlink("b");
    let end_ns = story.now;
    let of = |tids: &[u32]| names(NameOperation::Delete, tids, start_ns, end_ns);
    check("one thread", &story.facts(of(&[101])), &[(NameCalls, count(1))]);
    check("all threads", &story.facts(of(&[])), &[(NameCalls, count(2))]);
    let none = names(NameOperation::Stat, &[], start_ns, end_ns);
    check("none", &story.facts(none), &[(NameCalls, count(0)), (NameLatencyMax, Is::Missing("no such call"))]);
    story.lose(RecordClass::Calls);
    check("lost", &story.facts(of(&[])), &[(NameCalls, Is::Part(2.0, "3"))]);
}

#[test]
fn syncs_and_calls_have_latencies() {
    let mut story = Story::new();
    story.open(3, "f");
    let (start_ns, _) = story.writes(3, 3);
    for extra in [0, 900] {
        story.fsync(3);
        story.last().end_ns += extra;
        story.now += extra;
    }
    let end_ns = story.now;
    let facts = story.facts(write_phase(3, (start_ns, end_ns)));
    let mean = (CALL_NS + CALL_NS + 900) as f64 / 2.0;
    check(
        "syncs",
        &facts,
        &[
            (SyncsInside, count(2)),
            (SyncLatencyMean, Is::Whole(mean)),
            (SyncLatencyP50, count(CALL_NS)),
            (SyncLatencyMax, count(CALL_NS + 900)),
            (WriteLatencyMean, count(CALL_NS)),
            (WriteLatencyTimed, count(3)),
            (SubmitLatencyP999, Is::Absent),
            (SubmitTime, Is::Absent),
        ],
    );
}

#[test]
fn handing_over_is_timed_for_the_threads_of_the_pass() {
    let mut story = Story::new();
    story.open(3, "f");
    let submit = |story: &mut Story, op, requests| {
        story.kind = FileKind::Other;
        story.call(op, -1, -1, requests, requests as i64);
        story.kind = FileKind::Regular;
    };
    let start_ns = story.now;
    submit(&mut story, Op::IoSubmit, 2);
    story.call(Op::AioWrite, 3, 0, BLOCK, BLOCK as i64);
    submit(&mut story, Op::IoUringEnter, 1);
    // Waits for completions and submits nothing.
    submit(&mut story, Op::IoUringEnter, 0);
    story.last().end_ns += 5000;
    story.now += 5000;
    story.call(Op::AioWrite, 3, BLOCK as i64, BLOCK, BLOCK as i64);
    let facts = story.facts(write_phase(3, (start_ns, story.now)));
    check("submission", &facts, &[(SubmitTime, count(CALL_NS)), (SubmitLatencyP999, count(CALL_NS))]);
}

#[test]
fn what_the_tool_said_has_its_time() {
    let mut story = Story::new();
    let say = |story: &mut Story, fd, bytes| {
        story.kind = FileKind::Other;
        let span = story.call(Op::Write, fd, -1, bytes, bytes as i64);
        story.kind = FileKind::Regular;
        span
    };
    let first = say(&mut story, 2, 12);
    say(&mut story, 7, 3);
    // Output to a file is I/O of the tool.
    story.write(1, 0);
    let second = say(&mut story, 1, 5);
    let said: Vec<_> =
        story.activity().output_writes.iter().map(|w| (w.fd, w.span.start_ns, w.span.returned)).collect();
    assert_eq!(said, [(2, first.start_ns, 12), (1, second.start_ns, 5)]);
}

#[test]
fn asynchronous_requests_make_bursts_between_pauses() {
    let mut story = Story::new();
    story.open(3, "f");
    let request = |story: &mut Story, bytes: u64| story.call(Op::AioRead, 3, 0, bytes, bytes as i64);
    let begin = story.now;
    for _ in 0..3 {
        request(&mut story, 8192);
    }
    request(&mut story, 1 << 20);
    story.now += 50_000_000;
    let later = story.now;
    request(&mut story, 8192);
    story.read(3, 0);
    let bursts: Vec<_> = story.activity().bursts.iter().map(|b| (b.requested, b.start_ns, b.calls, b.bytes)).collect();
    let large = begin + 3 * 2 * CALL_NS;
    assert_eq!(bursts, [(8192, begin, 3, 3 * 8192), (1 << 20, large, 1, 1 << 20), (8192, later, 1, 8192)]);
}

#[test]
fn what_a_program_was_given_is_known_whole_or_not_at_all() {
    use activebench_model::event::NameEvent;
    let given = |pieces: &[(i64, &str)]| {
        let mut story = Story::new();
        // The story's tool was executed at this time.
        let at_ns = story.now;
        story.events.names.extend(pieces.iter().map(|(number, piece)| NameEvent {
            at_ns,
            tid: TOOL,
            tgid: TOOL,
            op: Op::Execute,
            returned: *number,
            file: None,
            name: (*piece).to_owned(),
        }));
        story.activity().execs[0].arguments.clone()
    };
    assert_eq!(given(&[(0, "tool"), (1, "-f"), (2, "a b")]), ["tool", "-f", "a b"]);
    assert_eq!(given(&[(0, "tool"), (1, "long"), (1, "er"), (2, "")]), ["tool", "longer", ""]);
    assert!(given(&[(0, "tool"), (2, "lost before")]).is_empty());
    assert!(given(&[(1, "lost before")]).is_empty());
    assert!(given(&[]).is_empty());
}

#[test]
fn the_rate_of_a_pass_over_names_is_known_in_fifths() {
    let mut story = Story::new();
    let start_ns = story.now;
    for _ in 0..10 {
        story.unlink("a");
    }
    let worked_ns = story.now - start_ns;
    story.now += worked_ns;
    let facts = story.facts(names(NameOperation::Delete, &[], start_ns, story.now));
    let fifth_ns = 2.0 * worked_ns as f64 / 5.0;
    for (name, calls) in [(NameFifth1Rate, 4.0), (NameFifth2Rate, 4.0), (NameFifth3Rate, 2.0), (NameFifth4Rate, 0.0)] {
        let rate = facts.complete(name).expect("the calls are known");
        assert!((rate * fifth_ns / 1e9 - calls).abs() < 0.01, "{name:?}: {rate} per second");
    }
    assert_eq!(facts.get(Fifth1Rate), None);
}
