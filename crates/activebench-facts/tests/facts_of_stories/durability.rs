//! Which of a phase's written bytes became durable, and when: all the ways in which a tool can do it.

use crate::story::*;
use activebench_model::activity::StepKind;
use activebench_model::call::{Op, open_bits};
use activebench_model::event::BlockAction;
use activebench_model::fact::FactName::*;
use activebench_model::phase::{Direction, PartEnd, Phase};

/// Checks the durability facts of a write phase of four blocks.
fn check_durability(what: &str, story: &Story, window: (u64, u64), synced: u64, durable_ns: Result<u64, &'static str>) {
    let facts = story.facts(write_phase(3, window));
    let span = match durable_ns {
        Ok(end_ns) => count(end_ns - window.0),
        Err(why) => Is::Missing(why),
    };
    let expected = [
        (Window, count(window.1 - window.0)),
        (WriteBytes, blocks(4)),
        (SyncedBytes, blocks(synced)),
        (UnsyncedBytes, blocks(4 - synced)),
        (DurableSpan, span),
    ];
    check(what, &facts, &expected);
}

fn opened(flags: u32) -> Story {
    let mut story = Story::new();
    story.flags = flags | open_bits::WRITABLE;
    story.open(3, "f");
    story
}

#[test]
fn a_sync_after_the_clock_makes_durable_later() {
    // iozone's default: the fsync follows after the clock has stopped.
    let mut story = opened(0);
    story.fsync(3);
    let window = story.writes(3, 4);
    let sync = story.fsync(3);
    story.close(3);
    check_durability("default", &story, window, 4, Ok(sync.end_ns));
    let facts = story.facts(write_phase(3, window));
    check("default", &facts, &[(SyncsInside, count(0)), (FailedCalls, count(0)), (SyncWriteShare, count(0))]);
}

#[test]
fn a_sync_inside_the_clock_makes_durable_inside() {
    // iozone -e -c.
    let mut story = opened(0);
    let (start_ns, _) = story.writes(3, 4);
    let sync = story.fsync(3);
    let close = story.close(3);
    let window = (start_ns, close.end_ns);
    check_durability("-e -c", &story, window, 4, Ok(sync.end_ns));
    check("-e -c", &story.facts(write_phase(3, window)), &[(SyncsInside, count(1))]);
}

#[test]
fn without_a_sync_nothing_is_durable() {
    // Only iozone -c.
    let mut story = opened(0);
    let (start_ns, _) = story.writes(3, 4);
    let close = story.close(3);
    check_durability("-c", &story, (start_ns, close.end_ns), 0, Err("no sync covered 16384"));
}

#[test]
fn synchronous_and_direct_writes_need_no_sync() {
    for (what, flags, direct, synchronous) in [
        ("O_SYNC", open_bits::SYNC, 0, 1),
        ("O_DSYNC", open_bits::DSYNC, 0, 1),
        ("O_DIRECT", open_bits::DIRECT, 1, 0),
        ("O_DIRECT | O_SYNC", open_bits::DIRECT | open_bits::SYNC, 1, 1),
    ] {
        let mut story = opened(flags);
        let window = story.writes(3, 4);
        story.close(3);
        check_durability(what, &story, window, 4, Ok(window.1));
        let facts = story.facts(write_phase(3, window));
        check(what, &facts, &[(DirectShare, count(direct)), (SyncWriteShare, count(synchronous))]);
    }
}

#[test]
fn a_sync_after_each_write_covers_them_one_by_one() {
    let mut story = opened(0);
    let start_ns = story.now;
    for block in 0..4 {
        story.write(3, block);
        story.fsync(3);
    }
    let last = story.events.calls[story.events.calls.len() - 1];
    let window = (start_ns, last.end_ns);
    check_durability("write, fsync", &story, window, 4, Ok(last.end_ns));
    check("write, fsync", &story.facts(write_phase(3, window)), &[(SyncsInside, count(4))]);
}

#[test]
fn many_syncs_are_counted_and_timed_one_by_one_but_divide_their_pass_into_few_steps() {
    for syncs in [512, 513, 514, 515, 3000] {
        let mut story = opened(0);
        let start_ns = story.now;
        for block in 0..syncs {
            story.write(3, block);
            story.fsync(3);
        }
        let last = story.events.calls[story.events.calls.len() - 1];
        story.close(3);
        let window = (start_ns, last.end_ns);
        let what = format!("{syncs} syncs");
        let expected = [
            (WriteCalls, count(syncs)),
            (SyncedBytes, blocks(syncs)),
            (UnsyncedBytes, blocks(0)),
            (DurableSpan, count(last.end_ns - start_ns)),
            (SyncsInside, count(syncs)),
            (FailedCalls, count(0)),
        ];
        check(&what, &story.facts(write_phase(3, window)), &expected);
        let activity = story.activity();
        let steps = &activity.passes[0].steps;
        let calls = |kind| steps.iter().filter(|step| step.kind == kind).map(|step| step.calls).sum::<u64>();
        assert_eq!((calls(StepKind::Write), calls(StepKind::Sync)), (syncs, syncs), "{what}");
        assert_eq!(steps.len() as u64, 2 * syncs.min(513), "{what}");
        assert!(steps.is_sorted_by_key(|step| step.start_ns), "{what}");
        assert_eq!(steps.last().map(|step| step.end_ns), Some(last.end_ns), "{what}");
    }
}

#[test]
fn each_job_has_its_own_syncs_of_a_shared_file() {
    for syncs in [2, 300, 700] {
        // Two threads with descriptors of their own for one file; the second one syncs half as often.
        let mut story = opened(0);
        let (first, second) = (TOOL + 1, TOOL + 2);
        story.by(TOOL, second).open(4, "f");
        let start_ns = story.now;
        for block in 0..syncs {
            story.by(TOOL, first).write(3, block);
            story.fsync(3);
            story.by(TOOL, second).write(4, syncs + block);
            if block % 2 == 0 {
                story.fsync(4);
            }
        }
        let window = (start_ns, story.now);
        let of = |fd: i32, tids: &[u32]| {
            let mut phase = write_phase(fd, window);
            phase.parts[0].tids = tids.to_vec();
            phase
        };
        let syncs_of = |phases: Vec<Phase>| -> Vec<f64> {
            let (phases, _) = story.resolve(phases);
            phases.iter().map(|phase| phase.facts.complete(SyncsInside).expect("it is complete")).collect()
        };
        let (all, half) = (syncs as f64, syncs as f64 / 2.0);
        assert_eq!(syncs_of(vec![of(3, &[first]), of(4, &[second])]), [all, half], "{syncs} syncs");
        // Nothing says whose those of another thread are.
        assert_eq!(syncs_of(vec![of(3, &[first])]), [all + half], "{syncs} syncs");
        // Jobs of the same threads, as in a pass of reads and writes.
        assert_eq!(syncs_of(vec![of(3, &[first]), of(4, &[])]), [all, all + half], "{syncs} syncs");
    }
}

#[test]
fn a_sync_covers_what_was_written_before_it_started() {
    // Another thread's fsync starts while the last write runs.
    let mut story = opened(0);
    let window = story.writes(3, 4);
    story.now = window.1 - 10;
    story.by(TOOL, 101).fsync(3);
    check_durability("overlapping", &story, window, 3, Err("no sync covered 4096"));
    // The border case: the sync starts in the nanosecond in which the last write returns.
    story.now = window.1;
    let sync = story.fsync(3);
    check_durability("right after", &story, window, 4, Ok(sync.end_ns));
}

#[test]
fn a_failed_sync_covers_nothing_and_is_counted() {
    let mut story = opened(0);
    let (start_ns, _) = story.writes(3, 4);
    let failed = story.call(Op::Fsync, 3, -1, 0, -5);
    let window = (start_ns, failed.end_ns);
    check_durability("EIO", &story, window, 0, Err("no sync covered"));
    check("EIO", &story.facts(write_phase(3, window)), &[(FailedCalls, count(1)), (SyncsInside, count(0))]);
}

#[test]
fn other_calls_that_sync() {
    // Calls by another process of the tree, and if they make the file durable.
    for (what, op, fd, file, synced) in [
        ("fdatasync", Op::Fdatasync, 9, FILE, true),
        ("fsync of another file", Op::Fsync, 9, OTHER_FILE, false),
        ("sync_file_range", Op::SyncFileRange, 9, FILE, false),
        ("sync", Op::Sync, -1, FILE, true),
        ("syncfs of the file system", Op::Syncfs, 9, OTHER_FILE, true),
        ("syncfs of another one", Op::Syncfs, 9, activebench_model::call::FileId { s_dev: 99, ino: 12 }, false),
    ] {
        let mut story = opened(0);
        let window = story.writes(3, 4);
        story.by(200, 200).file = file;
        let sync = story.call(op, fd, -1, 0, 0);
        let expected = if synced { Ok(sync.end_ns) } else { Err("no sync covered") };
        check_durability(what, &story, window, if synced { 4 } else { 0 }, expected);
    }
}

#[test]
fn what_came_before_the_sync_can_make_it_too_late() {
    type Between = fn(&mut Story);
    let cases: [(&str, Between, bool); 9] = [
        ("nothing", |_| {}, true),
        (
            "a later pass wrote",
            |story| {
                story.close(3);
                story.open(3, "f");
                story.write(3, 0);
            },
            false,
        ),
        (
            "a later pass read",
            |story| {
                story.close(3);
                story.open(3, "f");
                story.read(3, 0);
            },
            true,
        ),
        (
            "deleted",
            |story| {
                story.unlink("f");
            },
            false,
        ),
        (
            "a failed deletion",
            |story| {
                story.unlink("f");
                story.last().returned = -2;
                story.events.names.last_mut().unwrap().returned = -2;
            },
            true,
        ),
        (
            "another name deleted",
            |story| {
                story.unlink("g");
            },
            true,
        ),
        (
            "truncated",
            |story| {
                story.call(Op::Ftruncate, 3, -1, 0, 0);
            },
            false,
        ),
        (
            "extended",
            |story| {
                story.call(Op::Ftruncate, 3, -1, 100 * BLOCK, 0);
            },
            true,
        ),
        (
            "opened with O_TRUNC",
            |story| {
                story.flags |= open_bits::TRUNCATE;
                story.open(4, "f");
            },
            false,
        ),
    ];
    for (what, between, synced) in cases {
        let mut story = opened(0);
        let window = story.writes(3, 4);
        between(&mut story);
        let sync = story.fsync(3);
        let expected = if synced { Ok(sync.end_ns) } else { Err("no sync covered") };
        check_durability(what, &story, window, if synced { 4 } else { 0 }, expected);
    }
}

#[test]
fn two_phases_on_one_open_file_end_each_other() {
    let mut story = opened(0);
    let first = story.writes(3, 4);
    let second = story.writes(3, 4);
    let sync = story.fsync(3);
    let (phases, _) = story.resolve(vec![write_phase(3, first), write_phase(3, second)]);
    check("first", &phases[0].facts, &[(UnsyncedBytes, blocks(4))]);
    check("second", &phases[1].facts, &[(SyncedBytes, blocks(4)), (DurableSpan, count(sync.end_ns - second.0))]);
}

#[test]
fn the_untimed_rest_of_a_pass_is_no_later_pass() {
    // A stonewalled task continues to write, then syncs.
    let mut story = opened(0);
    let (start_ns, last_ns) = story.writes(3, 8);
    let sync = story.fsync(3);
    let mut part = part(3, start_ns, 0);
    part.end = PartEnd::AfterBytes(4 * BLOCK);
    part.last_data_ns = last_ns;
    let facts = story.facts(phase(Direction::Write, vec![part]));
    let expected = [
        (WriteBytes, blocks(4)),
        (UntimedBytes, blocks(4)),
        (SyncedBytes, blocks(4)),
        (DurableSpan, count(sync.end_ns - start_ns)),
    ];
    check("stonewalled", &facts, &expected);
}

#[test]
fn several_files_are_durable_when_the_last_one_is() {
    let mut story = opened(0);
    story.file = OTHER_FILE;
    story.open(4, "g");
    let second = story.writes(4, 2);
    story.file = FILE;
    let first = story.writes(3, 4);
    story.fsync(3);
    let mut other = part(4, second.0, second.1);
    other.file = OTHER_FILE;
    let both = phase(Direction::Write, vec![part(3, first.0, first.1), other]);
    check(
        "one of two",
        &story.facts(both.clone()),
        &[
            (WriteBytes, blocks(6)),
            (SyncedBytes, blocks(4)),
            (UnsyncedBytes, blocks(2)),
            (DurableSpan, Is::Missing("no sync covered 8192")),
            (RegionBlocks, count(6)),
        ],
    );
    story.file = OTHER_FILE;
    let last = story.fsync(4);
    check("both", &story.facts(both), &[(SyncedBytes, blocks(6)), (DurableSpan, count(last.end_ns - second.0))]);
}

#[test]
fn an_msync_covers_the_range_that_it_names() {
    const ADDRESS: i64 = 0x7f00_0000_0000;
    for (what, offset, length, synced) in
        [("whole", 0, 8 * BLOCK, true), ("one page", 0, BLOCK, false), ("elsewhere", 1 << 40, 8 * BLOCK, false)]
    {
        let mut story = opened(0);
        story.call(Op::Mmap, 3, 0, 8 * BLOCK, ADDRESS);
        let window = story.writes(3, 4);
        let sync = story.call(Op::Msync, -1, ADDRESS + offset, length, 0);
        let expected = if synced { Ok(sync.end_ns) } else { Err("no sync covered") };
        check_durability(what, &story, window, if synced { 4 } else { 0 }, expected);
        check(what, &story.facts(write_phase(3, window)), &[(Mappings, count(1)), (Msyncs, count(0))]);
        let longer = (window.0, sync.end_ns);
        let inside = u64::from(offset == 0);
        check(what, &story.facts(write_phase(3, longer)), &[(Msyncs, count(inside))]);
    }
}

#[test]
fn the_device_shows_the_same() {
    // Nothing reached the device inside the clock, everything by the end of the sync that follows.
    let mut story = opened(0);
    let window = story.writes(3, 4);
    story.now += 1000;
    let sync = story.fsync(3);
    story.completed(window.1 + 500, BlockAction::Write, 3 * BLOCK, Some(FILE));
    story.completed(sync.start_ns + 10, BlockAction::Write, BLOCK, Some(FILE));
    story.completed(sync.start_ns + 20, BlockAction::Write, 512, None);
    story.completed(sync.start_ns + 30, BlockAction::Flush, 0, None);
    story.completed(sync.start_ns + 40, BlockAction::Write, 512, None).fua = true;
    story.completed(sync.end_ns + 500, BlockAction::Flush, 0, None);
    story.completed(sync.end_ns + 600, BlockAction::Write, 9 * BLOCK, Some(FILE));
    let expected = [
        (DeviceWriteBytes, count(0)),
        (DeviceWriteBytesDurable, blocks(4)),
        (DeviceTotalBytes, count(4 * BLOCK + 1024)),
        (ForeignBytes, count(0)),
        (Flushes, count(1)),
        (FuaWrites, count(1)),
        (DeviceRequests, count(0)),
        (DeviceLatencyMean, Is::Missing("no request")),
        (DeviceBusy, count(0)),
    ];
    check("sync after the clock", &story.facts(write_phase(3, window)), &expected);
}

#[test]
fn without_a_sync_the_device_is_watched_until_the_next_pass() {
    let mut story = opened(0);
    let window = story.writes(3, 4);
    story.close(3);
    story.completed(story.now, BlockAction::Write, BLOCK, Some(FILE));
    story.now += 1000;
    story.open(3, "f");
    let next = story.now;
    story.completed(next + 10, BlockAction::Write, 3 * BLOCK, Some(FILE));
    story.writes(3, 1);
    let facts = story.facts(write_phase(3, window));
    check("no sync", &facts, &[(DeviceWriteBytesDurable, blocks(1)), (UnsyncedBytes, blocks(4))]);
}
