//! Tests of the activity: the passes and steps that follow from given calls.

use crate::story::*;
use activebench_facts::evidence_phases;
use activebench_model::activity::{Activity, StepKind};
use activebench_model::call::{FileKind, Op, open_bits};
use activebench_model::coverage::{BlindPath, Coverage, ProbeStatus};
use activebench_model::event::TaskEventKind;
use activebench_model::hook::Hook;
use activebench_model::phase::{Direction, Phase};

/// Returns each pass as a line: process, descriptor, how it began and ended, and each step as
/// `kind calls/bytes+seeks`.
fn lines(activity: &Activity) -> Vec<String> {
    let step = |step: &activebench_model::activity::Step| {
        let seeks = if step.seeks > 0 { format!("+{}", step.seeks) } else { String::new() };
        format!("{:?} {}/{}{seeks}", step.kind, step.calls, step.bytes / BLOCK)
    };
    let line = |pass: &activebench_model::activity::Pass| {
        let open = pass.open.map_or("inherited", |open| open.op.name());
        let close = pass.close.map_or("left", |close| close.op.name());
        let steps: Vec<String> = pass.steps.iter().map(step).collect();
        format!("{}:{} {open}..{close} [{}]", pass.tgid, pass.fd, steps.join(", "))
    };
    activity.passes.iter().map(line).collect()
}

#[track_caller]
fn check_passes(what: &str, script: impl FnOnce(&mut Story), expected: &[&str]) -> Activity {
    let mut story = Story::new();
    script(&mut story);
    let activity = story.activity();
    assert_eq!(lines(&activity), expected, "{what}");
    activity
}

#[test]
fn each_pass_of_a_tool_has_its_steps() {
    check_passes(
        "iozone write",
        |story| {
            story.open(3, "f");
            story.fsync(3);
            story.writes(3, 4);
            story.fsync(3);
            story.close(3);
        },
        &["100:3 open..close [Sync 1/0, Write 4/4, Sync 1/0]"],
    );
    check_passes(
        "iozone read: a priming read and a seek before the timed ones",
        |story| {
            story.open(3, "f");
            story.read(3, 0);
            story.seek(3, 0);
            story.reads(3, 4);
            story.close(3);
        },
        &["100:3 open..close [Read 5/5+1]"],
    );
    check_passes(
        "iozone backward read: a seek to the end, then one after each read, the last of which fails",
        |story| {
            story.open(3, "f");
            story.fsync(3);
            story.seek(3, 3);
            for block in [3, 2, 1, 0] {
                story.read(3, block);
                story.seek(3, block.saturating_sub(1));
            }
            story.last().returned = -22;
            story.close(3);
        },
        &["100:3 open..close [Sync 1/0, Seek 1/0, Read 4/4+4]"],
    );
    check_passes(
        "bonnie++ rewrite: read, seek back, write",
        |story| {
            story.open(3, "f");
            story.read(3, 0);
            story.seek(3, 0);
            story.write(3, 0);
            story.read(3, 1);
        },
        &["100:3 open..left [Read 1/1+1, Write 1/1, Read 1/1]"],
    );
    check_passes(
        "everything else",
        |story| {
            story.open(3, "f");
            story.call(Op::Ftruncate, 3, -1, 0, 0);
            story.call(Op::Fallocate, 3, 0, BLOCK, 0);
            story.call(Op::Fadvise, 3, 0, BLOCK, 0);
            story.writes(3, 2);
            story.call(Op::SyncFileRange, 3, 0, BLOCK, 0);
            story.call(Op::Fdatasync, 3, -1, 0, 0);
        },
        &["100:3 open..left [Other 3/0, Write 2/2, Sync 2/0]"],
    );
}

#[test]
fn a_descriptor_number_is_many_passes() {
    check_passes(
        "open, close, open again; a close of nothing between",
        |story| {
            story.open(3, "f");
            story.read(3, 0);
            story.close(3);
            story.close(3);
            story.last().returned = -9;
            story.open(3, "f");
            story.write(3, 0);
        },
        &["100:3 open..close [Read 1/1]", "100:3 open..left [Write 1/1]"],
    );
    check_passes(
        "a close that was not recorded",
        |story| {
            story.open(3, "f");
            story.read(3, 0);
            story.open(3, "f");
            story.read(3, 0);
        },
        &["100:3 open..left [Read 1/1]", "100:3 open..left [Read 1/1]"],
    );
    check_passes(
        "a failed open and a pipe leave no pass; a pipe still takes the number",
        |story| {
            story.open(3, "f");
            story.call(Op::Open, -1, -1, 0, -2);
            story.read(3, 0);
            story.kind = FileKind::Other;
            story.open(3, "pipe");
            story.write(3, 0);
        },
        &["100:3 open..left [Read 1/1]"],
    );
    check_passes(
        "inherited by a child, and a duplicate",
        |story| {
            story.open(3, "f");
            story.by(200, 200).read(3, 0);
            story.by(TOOL, TOOL).call(Op::Dup, 3, -1, 0, 7);
            story.write(7, 0);
            story.call(Op::Dup, 3, -1, 0, 7);
            story.write(7, 1);
            story.close(7);
        },
        &[
            "100:3 open..left [Other 2/0]",
            "200:3 inherited..left [Read 1/1]",
            "100:7 dup..dup [Write 1/1]",
            "100:7 dup..close [Write 1/1]",
        ],
    );
    check_passes(
        "another file on the number, whose open was lost",
        |story| {
            story.open(3, "f");
            story.read(3, 0);
            story.file = OTHER_FILE;
            story.read(3, 0);
        },
        &["100:3 open..left [Read 1/1]", "100:3 inherited..left [Read 1/1]"],
    );
}

#[test]
fn mappings_outlive_their_descriptor() {
    const ADDRESS: i64 = 0x7f00_0000_0000;
    let activity = check_passes(
        "iozone -B",
        |story| {
            story.open(3, "f");
            story.call(Op::Mmap, 3, 0, 8 * BLOCK, ADDRESS);
            story.call(Op::Msync, -1, ADDRESS, 8 * BLOCK, 0);
            story.close(3);
            story.call(Op::Msync, -1, ADDRESS + BLOCK as i64, BLOCK, 0);
            story.call(Op::Munmap, -1, ADDRESS, 8 * BLOCK, 0);
            // The mapping is gone: neither call concerns the file any more.
            story.call(Op::Msync, -1, ADDRESS, BLOCK, -12);
            story.by(200, 200).call(Op::Munmap, -1, ADDRESS, BLOCK, 0);
        },
        &["100:3 open..close [Map 1/0, Sync 2/0, Unmap 1/0]"],
    );
    assert_eq!(activity.passes[0].steps[0].max_offset, 8 * BLOCK as i64);

    check_passes(
        "a later mapping at the address; an execution forgets both",
        |story| {
            story.open(3, "f");
            story.call(Op::Mmap, 3, 0, BLOCK, ADDRESS);
            story.open(4, "f");
            story.call(Op::Mmap, 4, 0, BLOCK, ADDRESS);
            story.call(Op::Msync, -1, ADDRESS, BLOCK, 0);
            story.task(TaskEventKind::Executed, TOOL, TOOL, 0);
            story.call(Op::Munmap, -1, ADDRESS, BLOCK, 0);
        },
        &["100:3 open..left [Map 1/0]", "100:4 open..left [Map 1/0, Sync 1/0]"],
    );
}

#[test]
fn a_step_keeps_its_times_its_head_and_its_region() {
    let activity = check_passes(
        "read",
        |story| {
            story.open(3, "f");
            story.seek(3, 5);
            story.seek(3, 2);
            story.read(3, 2);
            story.seek(3, 9);
            story.read(3, 9);
            story.read(3, 1);
            story.seek(3, 0);
        },
        &["100:3 open..left [Seek 2/0, Read 3/3+2]"],
    );
    let [seek, read] = activity.passes[0].steps.as_slice() else { panic!() };
    assert_eq!((seek.min_offset, seek.max_offset), (2 * BLOCK as i64, 5 * BLOCK as i64));
    assert_eq!((read.min_offset, read.max_offset), (BLOCK as i64, 10 * BLOCK as i64));
    let ops: Vec<Op> = read.head.iter().map(|brief| brief.span.op).collect();
    assert_eq!(ops, [Op::Read, Op::Lseek, Op::Read, Op::Read]);
    // Opened at 1000, seeks at 1200 and 1400, reads at 1600, 2000 and 2200, a seek at 2400.
    assert_eq!((read.start_ns, read.end_ns, read.last_end_ns), (1600, 2300, 2500));
    assert_eq!(*read.tids, [TOOL]);
}

#[test]
fn the_order_of_batches_between_threads_changes_nothing() {
    let mut story = Story::new();
    story.open(3, "f");
    for round in 0..6 {
        // Three threads use one descriptor, and one of them syncs in between.
        story.by(TOOL, 101).write(3, round);
        story.by(TOOL, 102).write(3, 100 + round);
        if round % 2 == 1 {
            story.by(TOOL, 103).fsync(3);
        }
    }
    story.by(TOOL, 102).close(3);
    let expected = story.activity();
    let write = "Write 4/4";
    assert_eq!(
        lines(&expected),
        [format!("100:3 open..close [{write}, Sync 1/0, {write}, Sync 1/0, {write}, Sync 1/0]")]
    );
    assert_eq!(*expected.passes[0].steps[0].tids, [101, 102]);
    for order in [[100, 101, 102, 103], [103, 102, 101, 100], [102, 100, 103, 101]] {
        let mut shuffled = story.clone();
        // Thread by thread, each in its own order.
        let of =
            |tid: &u32| story.events.calls.iter().filter(move |call| call.tid == *tid).copied().collect::<Vec<_>>();
        let threads = order;
        shuffled.events.calls = threads.iter().flat_map(of).collect();
        assert_eq!(shuffled.activity(), expected);
    }
}

#[test]
fn an_endless_alternation_stays_small_and_whole() {
    let mut story = Story::new();
    story.open(3, "f");
    for block in 0..10_000 {
        story.read(3, block);
        story.seek(3, block);
        story.write(3, block);
    }
    let activity = story.activity();
    let steps = &activity.passes[0].steps;
    assert!(steps.len() <= 4096 + 2, "{}", steps.len());
    let total = |kind| -> (u64, u64) {
        let of_kind = steps.iter().filter(|step| step.kind == kind);
        of_kind.fold((0, 0), |(calls, bytes), step| (calls + step.calls, bytes + step.bytes / BLOCK))
    };
    assert_eq!(total(StepKind::Read), (10_000, 10_000));
    assert_eq!(total(StepKind::Write), (10_000, 10_000));
    assert_eq!(steps.iter().map(|step| step.seeks).sum::<u64>(), 10_000);
    assert_eq!(steps.iter().map(|step| step.end_ns).max(), story.events.calls.last().map(|call| call.end_ns));
}

#[test]
fn of_an_endless_alternation_of_threads_each_goes_on_with_its_own_steps() {
    const THREADS: u32 = 5_000;
    let mut story = Story::new();
    story.open(3, "f");
    for _ in 0..2 {
        for thread in 0..THREADS {
            story.by(TOOL, TOOL + thread);
            story.read(3, u64::from(thread));
            story.write(3, u64::from(thread));
        }
    }
    let activity = story.activity();
    let steps = &activity.passes[0].steps;
    // More than are kept apart, because each thread has one of each kind; its second round adds to them.
    assert_eq!(steps.len(), 2 * THREADS as usize);
    for kind in [StepKind::Read, StepKind::Write] {
        let of_kind = || steps.iter().filter(|step| step.kind == kind);
        assert!(of_kind().all(|step| step.tids.len() == 1), "{kind:?}");
        let late = of_kind().rev().take(100).map(|step| step.calls).collect::<Vec<_>>();
        assert_eq!(late, [2; 100], "{kind:?}");
    }
}

#[test]
fn the_stub_is_not_the_tool() {
    let mut story = Story::new();
    story.open(3, "f");
    let activity = story.activity();
    let names: Vec<&String> = activity.files.iter().flat_map(|file| &file.names).collect();
    assert_eq!(names, ["f"]);
    assert_eq!(activity.passes.len(), 1);
    assert_eq!(activity.execs.len(), 1);

    // Without an execution the stub and the tool cannot be distinguished.
    story.events.tasks.retain(|event| event.kind != TaskEventKind::Executed);
    assert_eq!(story.activity().passes.len(), 2);
}

#[test]
fn tasks_files_names_and_deletions() {
    let mut story = Story::new();
    story.open(3, "./f");
    story.open(4, "f");
    story.open(5, "f");
    story.file = OTHER_FILE;
    story.task(TaskEventKind::Born, 200, 200, TOOL);
    story.by(200, 200).open(3, "g");
    story.task(TaskEventKind::Exited, 200, 200, 0);
    // The number is reused.
    story.task(TaskEventKind::Born, 200, 200, TOOL);
    let deleted = story.by(TOOL, TOOL).unlink("f");
    story.call(Op::Sync, -1, -1, 0, 0);
    let activity = story.activity();

    let names: Vec<(_, Vec<&str>)> =
        activity.files.iter().map(|file| (file.id, file.names.iter().map(String::as_str).collect())).collect();
    assert_eq!(names, [(FILE, vec!["./f", "f"]), (OTHER_FILE, vec!["g"])]);
    let tasks: Vec<(u32, u32, bool)> =
        activity.tasks.iter().map(|task| (task.tid, task.parent_tgid, task.end_ns.is_some())).collect();
    assert_eq!(tasks, [(TOOL, 1, false), (200, TOOL, true), (200, TOOL, false)]);
    assert_eq!(activity.unlinks.len(), 1);
    assert_eq!((activity.unlinks[0].span, activity.unlinks[0].name.as_str()), (deleted, "f"));
    assert_eq!(activity.global_syncs.len(), 1);
}

#[test]
fn a_number_is_the_new_file_s_when_the_open_returns() {
    let mut story = Story::new();
    story.by(TOOL, 101).open(3, "a");
    // The other open waits since before the reads.
    let before_ns = story.events.calls.last().expect("the open").end_ns + 1;
    story.by(TOOL, 101).reads(3, 8);
    story.by(TOOL, 101).close(3);
    story.file = OTHER_FILE;
    story.by(TOOL, 102).open(3, "b");
    story.events.calls.last_mut().expect("the open").start_ns = before_ns;
    story.by(TOOL, 102).reads(3, 4);
    story.by(TOOL, 102).close(3);
    let activity = story.activity();
    assert_eq!(lines(&activity), ["100:3 open..close [Read 8/8]", "100:3 open..close [Read 4/4]"]);
}

#[test]
fn a_pass_has_the_name_of_its_own_open() {
    let mut story = Story::new();
    for name in ["a", "b", "a", "b"] {
        story.open(3, name);
        story.close(3);
    }
    story.file = OTHER_FILE;
    story.open(3, "c");
    let activity = story.activity();
    let names: Vec<Option<&str>> = activity.passes.iter().map(|pass| pass.name.as_deref()).collect();
    assert_eq!(names, [Some("a"), Some("b"), Some("a"), Some("b"), None]);

    // Without the records of the later opens it is the last name that was known before.
    let known = story.events.names.len() - 3;
    story.events.names.truncate(known);
    let activity = story.activity();
    let names: Vec<Option<&str>> = activity.passes.iter().map(|pass| pass.name.as_deref()).collect();
    assert_eq!(names, [Some("a"), Some("b"), Some("b"), Some("b"), None]);
}

#[test]
fn a_tool_without_an_adapter_still_has_phases() {
    let mut story = Story::new();
    story.open(3, "/mnt/a b");
    let written = story.writes(3, 4);
    let sync = story.fsync(3);
    story.close(3);
    story.open(3, "/mnt/a b");
    let read = story.reads(3, 2);
    story.close(3);
    story.file = OTHER_FILE;
    story.open(3, "/etc/small");
    story.reads(3, 2);
    let phases = evidence_phases(&story.activity());
    let ids: Vec<(&str, Direction, u64)> =
        phases.iter().map(|phase| (phase.id.as_str(), phase.direction, phase.parts[0].start_ns)).collect();
    assert_eq!(ids, [("write-a_b", Direction::Write, written.0), ("read-a_b", Direction::Read, read.0)]);
    assert_eq!(phases[0].parts[0].sync_after.as_deref(), Some(&sync));

    let (phases, _) = story.resolve(phases);
    use activebench_model::fact::FactName::{DurableSpan, ReadBytes, WriteBytes};
    check(
        "write",
        &phases[0].facts,
        &[(WriteBytes, blocks(4)), (ReadBytes, blocks(0)), (DurableSpan, count(sync.end_ns - written.0))],
    );
    check("read", &phases[1].facts, &[(ReadBytes, blocks(2)), (DurableSpan, Is::Absent)]);
}

#[test]
fn of_many_files_those_that_moved_most_have_phases() {
    let mut story = Story::new();
    for number in 0..150 {
        story.file.ino = 1000 + number;
        story.open(3, &format!("f{number}"));
        story.writes(3, 1 + number % 149);
        story.close(3);
    }
    let phases = evidence_phases(&story.activity());
    assert_eq!(phases.len(), 100);
    let least = phases
        .iter()
        .map(|phase| story.facts(phase.clone()))
        .map(|facts| facts.complete(activebench_model::fact::FactName::WriteBytes).unwrap() as u64 / BLOCK);
    assert_eq!(least.min(), Some(50));
}

#[test]
fn blind_paths_are_counted_where_they_carry_data() {
    let mut story = Story::new();
    // A library is read-only and mapped.
    story.open(3, "libc.so.6");
    story.call(Op::Mmap, 3, 0, BLOCK, 0x1000);
    story.close(3);
    story.file = OTHER_FILE;
    story.flags = open_bits::WRITABLE;
    story.open(3, "data");
    story.call(Op::Mmap, 3, 0, BLOCK, 0x2000);
    story.call(Op::IoUringEnter, 9, -1, 1, 1);
    story.call(Op::IoUringEnter, 9, -1, 1, 1);
    story.call(Op::UringOther, 3, -1, BLOCK, BLOCK as i64);
    let folded = story.folded();
    let paths = |phases: &[Phase], coverage: &Coverage| -> Vec<(String, u64)> {
        let paths = folded.blind_paths(phases, coverage, None);
        paths.into_iter().map(|path| (path.path, path.calls)).collect()
    };
    let expect = |paths: Vec<(String, u64)>, expected: &[(&str, u64)]| {
        assert!(paths.iter().map(|(path, calls)| (path.as_str(), *calls)).eq(expected.iter().copied()), "{paths:?}");
    };
    let uring = |attached| -> Coverage {
        let hook = |hook| ProbeStatus { hook, attached, why_not: None, missed: 0 };
        Coverage { probes: vec![hook(Hook::UringSubmit), hook(Hook::UringComplete)], ..Coverage::default() }
    };
    expect(paths(&[], &uring(true)), &[("io_uring splice, multishot or device commands", 1), ("mmap", 1)]);
    expect(
        paths(&[], &uring(false)),
        &[("io_uring splice, multishot or device commands", 1), ("io_uring", 2), ("mmap", 1)],
    );
    // The kernel side counts what it sees and cannot decode.
    let undecoded = vec![BlindPath { path: "32-bit calls that are not decoded".to_owned(), calls: 7 }];
    let coverage = Coverage { undecoded, ..uring(true) };
    expect(
        paths(&[], &coverage),
        &[("io_uring splice, multishot or device commands", 1), ("mmap", 1), ("32-bit calls that are not decoded", 7)],
    );
    // A phase that reads the mapped file makes its mapping a data mapping.
    let paths = paths(&[read_phase(3, (0, 1))], &uring(true));
    assert_eq!(paths.last().map(|(_, calls)| *calls), Some(2));
}
