//! Tests of the passes that are found for a program that no adapter knows.

use crate::story::*;
use activebench_facts::ObservedPasses;
use activebench_model::call::{FileKind, Op, open_bits};
use activebench_model::fact::FactName::{NameCalls, ReadBytes, Window, WriteBytes, WriteCalls};
use activebench_model::phase::{Direction, NameOperation};

/// Returns each pass as `direction blocks calls opens: windows`.
fn lines(passes: &ObservedPasses<'_>) -> Vec<String> {
    let line = |pass: &activebench_model::observed_pass::ObservedPass| {
        let windows: Vec<&str> = pass.windows.iter().map(|window| window.phase.as_str()).collect();
        let (direction, blocks) = (pass.direction, pass.bytes / BLOCK);
        format!("{direction:?} {blocks} {} {}: {}", pass.calls, pass.opens, windows.join(" "))
    };
    passes.passes().iter().map(line).collect()
}

#[test]
fn a_wait_for_writeback_ends_a_clock_and_makes_nothing_durable() {
    let mut story = Story::new();
    story.open(3, "/mnt/a");
    story.writes(3, 4);
    story.call(Op::SyncFileRange, 3, 0, 4 * BLOCK, 0);
    story.close(3);
    let activity = story.activity();
    let passes = ObservedPasses::new(&activity);
    let windows = &passes.passes()[0].windows;
    assert!(windows.iter().any(|window| window.phase == "write-a-with-sync"), "{windows:?}");
    assert!(!windows.iter().any(|window| window.has_sync), "{windows:?}");
}

#[test]
fn a_file_that_is_written_synced_and_read_has_two_passes_with_the_spans_that_a_program_can_time() {
    let mut story = Story::new();
    story.open(3, "/mnt/a");
    let written = story.writes(3, 4);
    let sync = story.fsync(3);
    let closed = story.close(3);
    story.open(3, "/mnt/a");
    story.reads(3, 4);
    story.close(3);
    let activity = story.activity();
    let passes = ObservedPasses::new(&activity);
    let expected = [
        "Write 4 4 1: write-a write-a-with-sync write-a-with-close write-a-with-open write-a-with-open-and-sync \
         write-a-with-open-and-close",
        "Read 4 4 1: read-a read-a-with-close read-a-with-open read-a-with-open-and-close",
    ];
    assert_eq!(lines(&passes), expected);
    let windows = &passes.passes()[0].windows;
    let spans: Vec<(u64, u64, bool)> =
        windows[..3].iter().map(|window| (window.start_ns, window.end_ns, window.has_sync)).collect();
    let expected = [(written.0, written.1, false), (written.0, sync.end_ns, true), (written.0, closed.end_ns, true)];
    assert_eq!(spans, expected);
    for (place, (start_ns, end_ns, has_sync)) in spans.into_iter().enumerate() {
        let phase = passes.phase(0, place, 1, None);
        assert_eq!(phase.parts[0].sync_inside.is_some(), has_sync, "{}", phase.id);
        let facts = story.facts(phase);
        check("write", &facts, &[(WriteBytes, blocks(4)), (ReadBytes, blocks(0)), (Window, count(end_ns - start_ns))]);
    }
}

#[test]
fn data_with_the_inode_of_a_program_that_was_deleted_is_data() {
    let mut story = Story::new();
    story.open(3, "/usr/bin/tool");
    story.reads(3, 1);
    story.close(3);
    story.open(3, "/mnt/a");
    story.writes(3, 4);
    story.fsync(3);
    story.close(3);
    let activity = story.activity();
    let passes = ObservedPasses::new(&activity);
    assert!(passes.passes().iter().any(|pass| pass.direction == Direction::Write && pass.bytes == 4 * BLOCK));
}

#[test]
fn files_that_are_written_one_after_the_other_are_passes_each_and_together() {
    let mut story = Story::new();
    for number in 0..3 {
        story.file.ino = 100 + number;
        story.open(3, &format!("f{number}"));
        story.writes(3, 2 + number);
        story.fsync(3);
        story.close(3);
    }
    let activity = story.activity();
    let passes = ObservedPasses::new(&activity);
    let last = passes.passes().last().expect("one");
    assert_eq!((last.bytes / BLOCK, last.calls, last.opens), (9, 9, 3));
    assert_eq!(last.name, "write of 3 files");
    assert!(passes.passes()[..3].iter().all(|pass| pass.parent == Some(3)));
    let together = passes.phase(3, 1, 1, None);
    check("together", &story.facts(together), &[(WriteBytes, blocks(9)), (WriteCalls, count(9))]);
}

#[test]
fn passes_of_one_descriptor_are_divided_by_the_other_direction() {
    let mut story = Story::new();
    story.open(3, "a");
    story.writes(3, 5);
    story.reads(3, 3);
    story.writes(3, 2);
    story.close(3);
    let activity = story.activity();
    let found: Vec<(Direction, u64)> =
        ObservedPasses::new(&activity).passes().iter().map(|pass| (pass.direction, pass.bytes / BLOCK)).collect();
    use Direction::{Mixed, Read, Write};
    assert_eq!(found, [(Write, 5), (Read, 3), (Write, 2), (Write, 7), (Mixed, 10)]);
}

#[test]
fn reads_that_are_mixed_with_writes_may_be_timed_to_their_sync() {
    let mut story = Story::new();
    story.open(3, "/mnt/a");
    for block in 0..12 {
        story.reads(3, 1);
        story.write(3, block);
    }
    let sync_ns = story.fsync(3).end_ns;
    story.close(3);
    let activity = story.activity();
    let passes = ObservedPasses::new(&activity);
    let reads = passes.passes().iter().find(|pass| pass.direction == Direction::Read).expect("the reads");
    let end = |phase: &str| reads.windows.iter().find(|window| window.phase == phase).map(|window| window.end_ns);
    assert_eq!(end("read-a-with-sync"), Some(sync_ns), "{:?}", reads.windows);
    // Nothing of a read becomes durable.
    assert!(!reads.windows.iter().any(|window| window.has_sync));
}

#[test]
fn many_files_have_few_passes() {
    let mut story = Story::new();
    for number in 0..2000 {
        story.file.ino = 1000 + number;
        story.open(3, &format!("f{number}"));
        story.writes(3, 1);
        story.close(3);
    }
    let activity = story.activity();
    let passes = ObservedPasses::new(&activity);
    assert!(passes.passes().len() <= 60, "{}", passes.passes().len());
    assert_eq!(passes.passes().last().map(|pass| pass.opens), Some(2000));
}

/// Adds a print of the tool.
fn print(story: &mut Story) {
    let kind = std::mem::replace(&mut story.kind, FileKind::Other);
    story.call(Op::Write, 1, -1, 10, 10);
    story.kind = kind;
}

#[test]
fn what_is_between_two_prints_is_a_pass() {
    let mut story = Story::new();
    for number in 0..12 {
        story.file.ino = 100 + number;
        story.open(3, &format!("f{number}"));
        story.writes(3, 2);
        story.close(3);
        if number == 3 {
            print(&mut story);
        }
    }
    let activity = story.activity();
    let passes = ObservedPasses::new(&activity);
    let files: Vec<u64> =
        passes.passes().iter().filter(|pass| pass.direction == Direction::Write).map(|pass| pass.opens).collect();
    assert_eq!(files, [4, 8, 12]);
    let parents: Vec<Option<usize>> = passes.passes().iter().take(2).map(|pass| pass.parent).collect();
    assert_eq!(parents, [Some(2), Some(2)]);
}

#[test]
fn a_long_run_among_many_short_ones_is_a_pass() {
    let mut story = Story::new();
    for number in 0..20 {
        story.file.ino = 100 + number;
        story.open(3, &format!("f{number}"));
        story.writes(3, if number == 10 { 40 } else { 1 });
        story.close(3);
    }
    let activity = story.activity();
    let first = ObservedPasses::new(&activity).passes()[0].clone();
    assert_eq!((first.bytes / BLOCK, first.opens, first.calls), (40, 1, 40));
}

#[test]
fn files_that_are_made_and_deleted_are_passes_over_names() {
    let mut story = Story::new();
    for number in 0..20 {
        story.file.ino = 100 + number;
        story.call(Op::Open, -1, -1, 0, 3);
        story.last().open_flags = open_bits::CREATE | open_bits::WRITABLE;
        story.close(3);
    }
    for number in 0..30 {
        story.unlink(&format!("f{number}"));
    }
    let activity = story.activity();
    let passes = ObservedPasses::new(&activity);
    let found: Vec<(Option<NameOperation>, u64, &str)> =
        passes.passes().iter().map(|pass| (pass.names, pass.calls, pass.name.as_str())).collect();
    let (create, delete) = (Some(NameOperation::Create), Some(NameOperation::Delete));
    assert_eq!(found, [(create, 20, "create of 20 files"), (delete, 30, "delete of 30 files")]);
    let windows: Vec<&str> = passes.passes()[0].windows.iter().map(|window| window.phase.as_str()).collect();
    assert_eq!(windows, ["create-files", "create-files-with-close"]);
    let window = &passes.passes()[0].windows[1];
    let length = window.duration_ns();
    check("create", &story.facts(passes.phase(0, 1, 1, None)), &[(NameCalls, count(20)), (Window, count(length))]);
    check("delete", &story.facts(passes.phase(1, 0, 1, None)), &[(NameCalls, count(30))]);
}

#[test]
fn a_log_beside_a_folder_of_many_files_is_not_one_of_them() {
    let mut story = Story::new();
    let create = |story: &mut Story, ino: u64, name: &str| {
        story.file.ino = ino;
        story.open(3, name);
        story.last().open_flags = open_bits::CREATE | open_bits::WRITABLE;
        story.close(3);
    };
    create(&mut story, 99, "log.txt");
    for number in 0..60 {
        create(&mut story, 100 + number, &format!("files/f{number}"));
    }
    let activity = story.activity();
    let passes = ObservedPasses::new(&activity);
    let found: Vec<&str> = passes.passes().iter().map(|pass| pass.name.as_str()).collect();
    assert_eq!(found, ["create of 60 files"]);
}

#[test]
fn several_processes_have_a_rate_each_and_several_calls_can_be_one_operation() {
    let mut story = Story::new();
    story.open(3, "a");
    let (start_ns, _) = story.writes(3, 8);
    story.by(TOOL + 1, TOOL + 1);
    story.file.ino += 1;
    story.open(4, "b");
    story.writes(4, 4);
    let activity = story.activity();
    let passes = ObservedPasses::new(&activity);
    let (place, total) = passes.passes().iter().enumerate().next_back().expect("one");
    assert_eq!((total.task_clocks[0].rates.len(), total.windows[0].start_ns), (2, start_ns));
    let phase = passes.phase(place, 0, 1, Some(0));
    assert_eq!((phase.requested_tasks, phase.id.as_str()), (2, "write-2_files-of-each"));
    let by_four = passes.phase(place, 0, 4, None);
    assert_eq!((by_four.block_bytes, by_four.stated_call_bytes()), (Some(4 * BLOCK), Some(BLOCK)));
    assert_eq!((by_four.requested_tasks, by_four.id.as_str()), (1, "write-2_files-by-4"));
}

#[test]
fn reads_may_be_timed_from_the_second_one_on() {
    let mut story = Story::new();
    story.open(3, "a");
    story.reads(3, 1);
    let (start_ns, end_ns) = story.reads(3, 20);
    story.close(3);
    let activity = story.activity();
    let passes = ObservedPasses::new(&activity);
    let found: Vec<(u64, u64)> = passes.passes().iter().map(|pass| (pass.calls, pass.windows[0].start_ns)).collect();
    assert_eq!((found.len(), found[1]), (2, (20, start_ns)));
    let facts = story.facts(passes.phase(1, 0, 1, None));
    check("later reads", &facts, &[(ReadBytes, blocks(20)), (Window, count(end_ns - start_ns))]);
}

#[test]
fn a_command_that_is_timed_from_outside_has_the_times_of_its_processes() {
    use activebench_model::event::TaskEventKind::{Born, Exited};
    let mut story = Story::new();
    let run = |story: &mut Story, tgid: u32, work: &mut dyn FnMut(&mut Story)| {
        story.now += 10_000;
        let start_ns = story.now;
        story.task(Born, tgid, tgid, TOOL);
        work(story.by(tgid, tgid));
        story.now += 1_000;
        story.task(Exited, tgid, tgid, 0);
        (start_ns, story.now)
    };
    // `date; cat > a; sync a; date`: the shell opens the file, and the command has its descriptor.
    let first = run(&mut story, 200, &mut |_| ());
    let opened = story.by(TOOL, TOOL).open(3, "/mnt/a");
    let copying = run(&mut story, 300, &mut |story| {
        story.writes(3, 4);
    });
    story.by(TOOL, TOOL).close(3);
    let syncing = run(&mut story, 400, &mut |story| {
        story.open(3, "/mnt/a");
        story.fsync(3);
        story.close(3);
    });
    let last = run(&mut story, 500, &mut |_| ());
    let activity = story.activity();
    let passes = ObservedPasses::new(&activity);
    let windows = &passes.passes()[0].windows;
    let of = |phase: &str| {
        let window = windows.iter().find(|window| window.phase == phase);
        let window = window.unwrap_or_else(|| panic!("no {phase} in {windows:?}"));
        (window.start_ns, window.end_ns, window.has_sync)
    };
    assert_eq!(of("write-a-with-process"), (copying.0, copying.1, false));
    assert_eq!(of("write-a-with-process-and-sync"), (copying.0, syncing.1, true));
    assert_eq!(of("write-a-with-all-between-processes"), (first.1, last.0, true));
    assert_eq!(of("write-a-with-open-and-sync").0, opened.start_ns);
    // What the program does itself has no such time.
    let mut story = Story::new();
    story.open(3, "/mnt/a");
    story.writes(3, 4);
    let activity = story.activity();
    let passes = ObservedPasses::new(&activity);
    let windows = &passes.passes()[0].windows;
    assert!(windows.iter().all(|window| !window.phase.contains("process")), "{windows:?}");
}

#[test]
fn threads_that_were_started_for_a_pass_may_be_timed_from_their_start() {
    use activebench_model::event::TaskEventKind::Born;
    let mut story = Story::new();
    story.open(3, "/mnt/a");
    story.now += 5_000;
    let born_ns = story.now;
    story.task(Born, TOOL + 1, TOOL, TOOL);
    story.now += 2_000;
    let (_, end_ns) = story.by(TOOL, TOOL + 1).writes(3, 8);
    let close_ns = story.by(TOOL, TOOL).close(3).end_ns;
    // The same thread goes on with another file: its start is not the start of that.
    story.file.ino += 1;
    story.by(TOOL, TOOL + 1).open(3, "/mnt/b");
    story.writes(3, 4);
    // The first thread of the process works on a third one.
    story.file.ino += 1;
    story.by(TOOL, TOOL).open(4, "/mnt/c");
    story.writes(4, 4);
    let activity = story.activity();
    let passes = ObservedPasses::new(&activity);
    let windows = &passes.passes()[0].windows;
    let of_thread = |phase: &str| {
        let window = windows.iter().find(|window| window.phase == phase);
        window.map(|window| (window.start_ns, window.end_ns))
    };
    assert_eq!(of_thread("write-a-with-thread"), Some((born_ns, end_ns)), "{windows:?}");
    assert_eq!(of_thread("write-a-with-thread-and-close"), Some((born_ns, close_ns)), "{windows:?}");
    let others = passes.passes()[1..].iter().filter(|pass| pass.opens == 1).flat_map(|pass| &pass.windows);
    assert!(others.clone().count() > 1 && others.clone().all(|window| !window.phase.contains("thread")));
}

#[test]
fn threads_that_go_on_with_a_file_one_after_the_other_have_passes_of_their_own() {
    use activebench_model::event::TaskEventKind::{Born, Exited};
    let mut story = Story::new();
    story.open(3, "/mnt/log");
    let mut expected = Vec::new();
    for (number, blocks) in [(1, 8), (2, 6), (3, 12)] {
        story.now += 2_000;
        let born_ns = story.now;
        story.task(Born, TOOL + number, TOOL, TOOL);
        story.now += 2_000;
        let (_, end_ns) = story.by(TOOL, TOOL + number).writes(3, blocks);
        story.now += 2_000;
        story.task(Exited, TOOL + number, TOOL, 0);
        expected.push((blocks, born_ns, end_ns));
    }
    story.by(TOOL, TOOL).close(3);
    let activity = story.activity();
    let shifts = &activity.passes[0].steps[0].shifts;
    assert_eq!(shifts.as_ref().map(|shifts| shifts.0.len()), Some(3), "{shifts:?}");
    let passes = ObservedPasses::new(&activity);
    let mut found = Vec::new();
    for (place, pass) in passes.passes().iter().enumerate() {
        let of_thread =
            pass.windows.iter().position(|window| window.clock.ends_with("start of its thread to last write"));
        let Some(window) = of_thread.filter(|_| pass.bytes < 26 * BLOCK) else { continue };
        let facts = story.facts(passes.phase(place, window, 1, None));
        check("one thread", &facts, &[(WriteBytes, blocks(pass.bytes / BLOCK)), (WriteCalls, count(pass.calls))]);
        found.push((pass.calls, pass.windows[window].start_ns, pass.windows[window].end_ns));
    }
    assert_eq!(found, expected);
}

#[test]
fn threads_that_share_a_file_at_the_same_time_have_one_pass() {
    let mut story = Story::new();
    story.open(3, "/mnt/a");
    for block in 0..40 {
        story.by(TOOL, TOOL + 1 + block as u32 % 3).write(3, block);
    }
    let activity = story.activity();
    assert_eq!(activity.passes[0].steps[0].shifts, None);
}
