//! All other facts: data, blocks, cache, device, time, tasks, and the effect of losses on them.

use crate::story::*;
use activebench_model::call::{DeviceNumber, FileId, Op, open_bits};
use activebench_model::event::RecordClass;
use activebench_model::event::{BlockAction, BlockEventKind, Origin, TaskEventKind};
use activebench_model::fact::{Completeness, FactName, FactName::*};
use activebench_model::hook::Hook;
use activebench_model::host::{ABOVE, BACKING_FILE_SYSTEM, BACKING_INODE, BACKING_S_DEV, Layer};
use activebench_model::phase::{Direction, Part, PartEnd, Phase};

#[test]
fn data_calls_inside_the_window_count_and_others_do_not() {
    let mut story = Story::new();
    story.open(3, "f");
    story.read(3, 0);
    story.seek(3, 0);
    let window = story.reads(3, 4);
    story.read(3, 4);
    story.by(200, 200).read(3, 0);
    let facts = story.facts(read_phase(3, window));
    check(
        "read",
        &facts,
        &[
            (Window, count(window.1 - window.0)),
            (ReadBytes, blocks(4)),
            (ReadCalls, count(4)),
            (WriteBytes, blocks(0)),
            (WriteCalls, count(0)),
            (ModalRequest, blocks(1)),
            (FailedCalls, count(0)),
            (ShortCalls, count(0)),
            (UntimedBytes, count(0)),
            (ActiveTasks, count(1)),
            (UniqueBlocks, count(4)),
            (RegionBlocks, count(4)),
            (MaxBlockHits, count(1)),
            (DirectShare, count(0)),
            (SyncWriteShare, Is::Missing("nothing was written")),
            (SyncsInside, count(0)),
            (SyncedBytes, Is::Absent),
            (DurableSpan, Is::Absent),
            (SumOfTaskRates, Is::Whole((4 * BLOCK) as f64 * 1e9 / (window.1 - window.0) as f64)),
            (SumOfTaskOpRates, Is::Whole(4e9 / (window.1 - window.0) as f64)),
            (ParentWindow, Is::Missing("no worker tasks")),
        ],
    );
}

#[test]
fn failed_and_short_calls() {
    // Operation, offset, returned value, and if the call failed or is short; the file ends at block 8 + 100.
    let end = 8 * BLOCK + 100;
    let cases = [
        ("whole", Op::Read, 0, BLOCK as i64, 0, 0),
        ("a part in the middle", Op::Read, BLOCK, 100, 0, 1),
        ("up to the end", Op::Read, 8 * BLOCK, 100, 0, 0),
        ("past the end", Op::Read, end, 0, 0, 0),
        ("failed", Op::Read, 0, -5, 1, 0),
        ("a short write", Op::Write, 8 * BLOCK, 100, 0, 1),
        ("a part of a copy", Op::CopyFileRangeTo, 0, 100, 0, 0),
        ("a pipe's worth", Op::Splice, 0, 100, 0, 0),
        ("a copy that the kernel cannot do", Op::CopyFileRange, 0, -18, 0, 0),
        ("a copy that failed", Op::CopyFileRange, 0, -5, 1, 0),
    ];
    for (what, op, offset, returned, failed, short) in cases {
        let mut story = Story::new();
        story.open(3, "f");
        let earlier = story.call(Op::Write, 3, 0, end, end as i64);
        let call = story.call(op, 3, offset as i64, BLOCK, returned);
        let facts = story.facts(phase(Direction::Mixed, vec![part(3, call.start_ns, call.end_ns)]));
        check(what, &facts, &[(FailedCalls, count(failed)), (ShortCalls, count(short))]);
        assert!(earlier.end_ns < call.start_ns);
    }
}

#[test]
fn a_read_up_to_the_end_before_the_file_grew_is_whole() {
    let mut story = Story::new();
    story.open(3, "f");
    story.call(Op::Write, 3, 0, 100, 100);
    story.close(3);
    story.open(3, "f");
    let start_ns = story.now;
    story.call(Op::Read, 3, 0, BLOCK, 100);
    story.call(Op::Read, 3, 0, BLOCK, 50);
    let end_ns = story.now;
    story.close(3);
    story.open(3, "f");
    story.call(Op::Write, 3, 100, 100, 100);
    let facts = story.facts(phase(Direction::Read, vec![part(3, start_ns, end_ns)]));
    check("grown", &facts, &[(ShortCalls, count(1))]);
}

#[test]
fn repeated_offsets_show() {
    for (what, offsets, unique, region, hits) in [
        ("each once", vec![0, 1, 2, 3], 4, 4, 1),
        ("backward", vec![3, 2, 1, 0], 4, 4, 1),
        ("one again and again", vec![0, 0, 0, 0, 0], 1, 1, 5),
        ("drawn from far apart", vec![0, 1000, 0, 500], 3, 1001, 2),
        ("not from the beginning", vec![10, 11, 10], 2, 2, 2),
    ] {
        let mut story = Story::new();
        story.open(3, "f");
        let start_ns = story.now;
        for block in &offsets {
            story.seek(3, *block);
            story.read(3, *block);
        }
        let facts = story.facts(read_phase(3, (start_ns, story.now)));
        let expected = [(UniqueBlocks, count(unique)), (RegionBlocks, count(region)), (MaxBlockHits, count(hits))];
        check(what, &facts, &expected);
    }
}

#[test]
fn the_request_size_that_most_calls_asked_for_sets_the_blocks() {
    let mut story = Story::new();
    story.open(3, "f");
    let first = story.read(3, 0);
    for index in 0..4 {
        story.call(Op::Read, 3, index * 512, 512, 512);
    }
    let window = (first.start_ns, story.now);
    check(
        "512",
        &story.facts(read_phase(3, window)),
        &[
            (ModalRequest, count(512)),
            // The first read covers 8 blocks, of which 4 are read again.
            (UniqueBlocks, count(8)),
            (MaxBlockHits, count(2)),
        ],
    );
    // An unknown offset makes the facts partial.
    story.last().offset = -1;
    check(
        "unplaced",
        &story.facts(read_phase(3, window)),
        &[(UniqueBlocks, Is::Part(8.0, "offsets of 1 calls")), (ReadBytes, count(BLOCK + 4 * 512))],
    );
    let nothing = read_phase(3, (story.now, story.now + 50));
    check(
        "no calls",
        &story.facts(nothing),
        &[
            (ModalRequest, Is::Missing("no data calls")),
            (UniqueBlocks, Is::Missing("no data calls")),
            (DirectShare, Is::Missing("no data moved")),
            (ReadBytes, count(0)),
        ],
    );
}

/// Two child processes that write. The second stops its clock after two of its blocks.
fn stonewalled() -> (Story, Vec<Part>) {
    let mut story = Story::new();
    let mut parts = Vec::new();
    story.task(TaskEventKind::Born, 200, 200, TOOL);
    story.task(TaskEventKind::Born, 300, 300, TOOL);
    story.now += 50;
    story.flags = open_bits::WRITABLE;
    for (tgid, file) in [(200, FILE), (300, OTHER_FILE)] {
        story.file = file;
        story.by(tgid, tgid).open(3, "f");
        let window = story.writes(3, 4);
        let mut part = part(3, window.0, window.1);
        (part.tgid, part.file) = (tgid, file);
        parts.push(part);
    }
    parts[1].end = PartEnd::AfterBytes(2 * BLOCK);
    story.task(TaskEventKind::Exited, 200, 200, 0);
    story.now += 100;
    story.task(TaskEventKind::Exited, 300, 300, 0);
    (story, parts)
}

#[test]
fn each_task_has_its_own_window() {
    let (story, parts) = stonewalled();
    let (phases, _) = story.resolve(vec![phase(Direction::Write, parts.clone())]);
    let stopped_ns = parts[1].start_ns + 3 * CALL_NS;
    assert_eq!(phases[0].parts[1].end, PartEnd::At(stopped_ns));
    assert_eq!(phases[0].incomplete, None);
    let own = |bytes: u64, part: &Part, end_ns: u64| bytes as f64 * 1e9 / (end_ns - part.start_ns) as f64;
    let first = own(4 * BLOCK, &parts[0], parts[0].last_data_ns);
    let second = own(2 * BLOCK, &parts[1], stopped_ns);
    let born_ns = 1000;
    check(
        "two children",
        &phases[0].facts,
        &[
            (Window, count(stopped_ns - parts[0].start_ns)),
            (WriteBytes, blocks(6)),
            (UntimedBytes, blocks(2)),
            (ActiveTasks, count(2)),
            (LongestTask, count((parts[0].last_data_ns - parts[0].start_ns).max(stopped_ns - parts[1].start_ns))),
            (SumOfTaskRates, Is::Whole(first + second)),
            (MinTaskRate, Is::Whole(first.min(second))),
            (MaxTaskRate, Is::Whole(first.max(second))),
            (ParentWindow, count(story.now - born_ns)),
        ],
    );
}

#[test]
fn a_call_that_a_ramp_leaves_in_flight_is_not_the_pass_s_and_shows_how_long_it_delayed_the_clock() {
    let mut story = Story::new();
    story.open(3, "f");
    let across = story.read(3, 0);
    let inside = story.read(3, 1);
    // The window begins in the middle of a call, or between two.
    for (start_ns, rest_ns) in [(across.end_ns - CALL_NS / 4, CALL_NS / 4), (inside.start_ns, 0)] {
        let mut phase = read_phase(3, (start_ns, inside.end_ns));
        phase.after_ramp = true;
        check(
            "ramp",
            &story.facts(phase.clone()),
            &[(ReadBytes, blocks(1)), (InFlightAtStart, count(rest_ns)), (ReadLatencyMax, count(CALL_NS))],
        );
        phase.after_ramp = false;
        assert!(story.facts(phase).get(InFlightAtStart).is_none());
    }
}

#[test]
fn a_task_that_outlived_the_observation_has_no_parent_window() {
    let (mut story, parts) = stonewalled();
    story.events.tasks.pop();
    let facts = story.facts(phase(Direction::Write, parts));
    check("no end", &facts, &[(ParentWindow, Is::Missing("end of task 300"))]);
}

#[test]
fn a_clock_that_stops_after_bytes() {
    // Bytes, number of threads, and the call with which the bytes had been moved.
    for (what, bytes, threads, end) in [
        ("nothing", 0, 1, None),
        ("the first", 1, 1, Some(0)),
        ("a whole call", 2 * BLOCK, 1, Some(1)),
        ("a part of the third", 2 * BLOCK + 1, 1, Some(2)),
        ("two threads", 3 * BLOCK, 2, Some(2)),
    ] {
        let mut story = Story::new();
        story.open(3, "f");
        let mut spans = Vec::new();
        for block in 0..6 {
            let tid = TOOL + block as u32 % threads;
            spans.push(story.by(TOOL, tid).read(3, block));
        }
        // Batches of the threads in the wrong order.
        story.events.calls.sort_by_key(|call| (std::cmp::Reverse(call.tid), call.start_ns));
        let mut part = part(3, spans[0].start_ns, 0);
        part.end = PartEnd::AfterBytes(bytes);
        part.last_data_ns = spans[5].end_ns;
        let (phases, _) = story.resolve(vec![phase(Direction::Read, vec![part])]);
        let end_ns = end.map_or(spans[0].start_ns, |index: usize| spans[index].end_ns);
        assert_eq!(phases[0].parts[0].end, PartEnd::At(end_ns), "{what}");
        // A clock that never ran has no window and no facts.
        assert_eq!(phases[0].window.is_some(), end.is_some(), "{what}");
        assert_eq!(phases[0].facts.0.is_empty(), end.is_none(), "{what}");
        assert_eq!(phases[0].incomplete, None);
    }
}

#[test]
fn more_bytes_counted_than_observed_are_said_so() {
    let mut story = Story::new();
    story.open(3, "f");
    let window = story.reads(3, 2);
    let mut part = part(3, window.0, 0);
    part.end = PartEnd::AfterBytes(5 * BLOCK);
    part.last_data_ns = window.1;
    let (phases, _) = story.resolve(vec![phase(Direction::Read, vec![part])]);
    assert_eq!(phases[0].parts[0].end, PartEnd::At(window.1));
    assert_eq!(phases[0].incomplete.as_deref(), Some("process 100 counted 20480 bytes and 8192 were observed"));
}

/// Creates a read pass of four blocks after a priming read; `before` and `inside` blocks are inserted.
fn cached_read(before: u64, inside: u64) -> (Story, (u64, u64)) {
    let mut story = Story::new();
    story.insert(50);
    story.now += 10;
    story.open(3, "f");
    story.read(3, 0);
    story.insert(before);
    story.seek(3, 0);
    let window = story.reads(3, 4);
    story.now = window.1;
    story.insert(inside);
    story.now += 10;
    story.insert(70);
    (story, window)
}

#[test]
fn the_page_cache_shows_where_reads_came_from() {
    for (what, before, inside, inserted, resident) in [
        ("all cached", 0, 0, 0, 4),
        ("half cached", 0, 2, 2, 2),
        ("all from storage", 0, 4, 4, 0),
        ("readahead while priming", 4, 0, 4, 0),
        ("more than was read", 4, 4, 8, 0),
    ] {
        let (story, window) = cached_read(before, inside);
        let facts = story.facts(read_phase(3, window));
        check(what, &facts, &[(CacheInsertedBytes, blocks(inserted)), (ResidentAtStart, blocks(resident))]);
    }
}

/// Two processes read one file at the same time: pages that the first inserted were in the cache for the second.
#[test]
fn pages_that_another_phase_brought_in_were_there_before() {
    let mut story = Story::new();
    story.open(3, "f");
    let first = story.reads(3, 4);
    story.now = first.0;
    story.by(200, 200).open(4, "f");
    let second = story.reads(4, 4);
    story.now = first.0 + 1;
    story.by(100, 100).insert(3);
    story.by(200, 200).insert(1);
    // The kernel's own readahead belongs to no phase: it counts for both.
    story.by(7, 7).insert(2);
    story.now = second.1 + 10;
    let of_second = |mut phase: activebench_model::phase::Phase| {
        phase.parts[0].tgid = 200;
        phase
    };
    let (phases, _) = story.resolve(vec![read_phase(3, first), of_second(read_phase(4, second))]);
    check("the first", &phases[0].facts, &[(CacheInsertedBytes, blocks(5)), (ResidentAtStart, blocks(0))]);
    check("the second", &phases[1].facts, &[(CacheInsertedBytes, blocks(3)), (ResidentAtStart, blocks(0))]);
}

/// Page-cache events do not show the thread; the calls do.
#[test]
fn pages_that_another_thread_brought_in_were_there_before() {
    let mut story = Story::new();
    story.open(3, "f");
    let first = story.reads(3, 4);
    story.last().cached_bytes = 3 * BLOCK;
    story.now = first.0;
    story.by(100, 101).open(4, "f");
    let second = story.reads(4, 4);
    story.last().cached_bytes = BLOCK;
    story.now = first.0 + 1;
    story.insert(4);
    story.now = second.1 + 10;
    let by = |mut phase: activebench_model::phase::Phase, tid: u32| {
        phase.parts[0].tids = vec![tid];
        phase
    };
    let (phases, _) = story.resolve(vec![by(read_phase(3, first), 100), by(read_phase(4, second), 101)]);
    check("the first", &phases[0].facts, &[(CacheInsertedBytes, blocks(3)), (ResidentAtStart, blocks(0))]);
    check("the second", &phases[1].facts, &[(CacheInsertedBytes, blocks(1)), (ResidentAtStart, blocks(0))]);
}

#[test]
fn what_a_descriptor_wrote_before_does_not_stand_for_its_reads() {
    let mut story = Story::new();
    story.open(3, "f");
    story.writes(3, 4);
    story.insert(4);
    story.now += 10;
    story.seek(3, 0);
    story.fsync(3);
    let window = story.reads(3, 4);
    let facts = story.facts(read_phase(3, window));
    check("write, then read", &facts, &[(CacheInsertedBytes, blocks(0)), (ResidentAtStart, blocks(4))]);
}

#[test]
fn direct_reads_say_nothing_of_the_cache() {
    let mut story = Story::new();
    story.flags = direct();
    story.open(3, "f");
    let window = story.reads(3, 4);
    story.last().cached_bytes = 8192;
    for call in &mut story.events.calls {
        call.storage_read_bytes = 100;
    }
    let facts = story.facts(read_phase(3, window));
    check(
        "O_DIRECT",
        &facts,
        &[
            (DirectShare, count(1)),
            (ResidentAtStart, Is::Absent),
            (DirectCachedBytes, count(8192)),
            (StorageReadBytes, count(400)),
        ],
    );
}

#[test]
fn discards_are_counted_where_a_pass_is_one_of_discards() {
    let mut story = Story::new();
    story.flags = open_bits::WRITABLE;
    story.open(3, "f");
    let start_ns = story.now;
    for offset in [0, 8 * BLOCK, 0] {
        story.call(Op::Discard, 3, offset as i64, 2 * BLOCK, 2 * BLOCK as i64);
    }
    story.call(Op::Discard, 3, 0, 2 * BLOCK, -95);
    let window = (start_ns, story.now);
    story.writes(3, 1);
    story.completed(start_ns + 10, BlockAction::Discard, 3 * BLOCK, None);
    let unseen = story.completed(start_ns + 5, BlockAction::Discard, BLOCK, None);
    (unseen.kind, unseen.latency_ns, unseen.first_of_request) = (BlockEventKind::Inferred, 0, false);
    story.completed(start_ns + 10, BlockAction::Write, BLOCK, Some(FILE));
    let over_ns = story.now;
    story.completed(over_ns, BlockAction::Discard, BLOCK, None);
    let foreign = story.completed(start_ns + 20, BlockAction::Discard, BLOCK, None);
    foreign.origin = Origin::Foreign;
    let facts = story.facts(phase(Direction::Discard, vec![part(3, window.0, window.1)]));
    check(
        "discards",
        &facts,
        &[
            (DiscardBytes, blocks(6)),
            (DiscardCalls, count(4)),
            (FailedCalls, count(1)),
            (DeviceDiscardBytes, blocks(4)),
            (DiscardLatencyMean, count(100)),
            (UniqueBlocks, count(2)),
            (SumOfTaskRates, Is::Whole(6.0 * BLOCK as f64 * 1e9 / (window.1 - window.0) as f64)),
            (WriteBytes, count(0)),
            (ReadBytes, count(0)),
        ],
    );
    // A write pass does not count discards, and a refused hint is not an error of it.
    let facts = story.facts(write_phase(3, window));
    check(
        "writes",
        &facts,
        &[
            (DiscardBytes, Is::Absent),
            (DeviceDiscardBytes, Is::Absent),
            (FailedCalls, count(0)),
            (WriteBytes, count(0)),
        ],
    );
}

#[test]
fn the_device_is_seen_inside_the_window() {
    let mut story = Story::new();
    story.open(3, "f");
    story.now = 10_000;
    let window = story.reads(3, 40);
    let at = |offset: u64| window.0 + offset;
    story.completed(window.0 - 1, BlockAction::Read, 9 * BLOCK, Some(FILE));
    story.completed(at(100), BlockAction::Read, BLOCK, Some(FILE)).latency_ns = 200;
    // One request for two files: its bytes are divided, but it counts as one request.
    story.completed(at(500), BlockAction::Read, BLOCK, Some(OTHER_FILE)).latency_ns = 300;
    let second = story.completed(at(500), BlockAction::Read, 2 * BLOCK, Some(FILE));
    (second.first_of_request, second.latency_ns) = (false, 0);
    let third = story.completed(at(500), BlockAction::Read, BLOCK, Some(FILE));
    (third.first_of_request, third.latency_ns) = (false, 0);
    // This request overlaps the previous one.
    story.completed(at(600), BlockAction::Write, BLOCK, None).latency_ns = 200;
    story.completed(at(700), BlockAction::Read, BLOCK, Some(FILE)).status = 10;
    story.completed(at(800), BlockAction::Discard, BLOCK, Some(FILE)).latency_ns = 10;
    story.completed(at(900), BlockAction::Read, 7 * BLOCK, Some(FILE)).device = DeviceNumber(9);
    // In flight at the end of the window.
    story.completed(window.1 + 50, BlockAction::Read, 5 * BLOCK, Some(FILE)).latency_ns = 70;
    let facts = story.facts(read_phase(3, window));
    check(
        "read",
        &facts,
        &[
            (DeviceReadBytes, blocks(4)),
            (DeviceWriteBytes, blocks(0)),
            (DeviceTotalBytes, blocks(6)),
            (DeviceRequests, count(2)),
            (DeviceLatencyMean, count(250)),
            // 100 of the first, 200..500 and 400..600, two short requests, 20 of the last.
            (DeviceBusy, count(100 + 400 + 10 + 10 + 20)),
            // The other file does not belong to the run.
            (ForeignBytes, blocks(1)),
            (Flushes, count(0)),
        ],
    );
    // A request whose issue was not seen.
    story.completed(at(950), BlockAction::Read, BLOCK, Some(FILE)).latency_ns = 0;
    check(
        "unissued",
        &story.facts(read_phase(3, window)),
        &[
            (DeviceRequests, count(3)),
            (DeviceLatencyMean, Is::Part(250.0, "issue of 1 requests")),
            (DeviceBusy, Is::Part(540.0, "issue of 1 requests")),
            (DeviceReadBytes, blocks(5)),
        ],
    );
}

#[test]
fn foreign_data_is_told_from_metadata_and_from_us() {
    let stranger = FileId { s_dev: FILE.s_dev, ino: 99 };
    let inode_of_btrfs = FileId { s_dev: FILE.s_dev, ino: 1 };
    for (what, file, origin, foreign) in [
        ("own file", Some(FILE), Origin::Unknown, false),
        ("another file of the run", Some(OTHER_FILE), Origin::Foreign, false),
        ("a stranger's file", Some(stranger), Origin::Unknown, true),
        ("written back by the kernel", Some(stranger), Origin::Kernel, true),
        ("metadata of btrfs, which whoever needs memory writes back", Some(inode_of_btrfs), Origin::Foreign, false),
        ("our own file", Some(stranger), Origin::Observer, false),
        ("metadata", None, Origin::Unknown, false),
        ("journal", None, Origin::Kernel, false),
        ("a stranger's direct I/O", None, Origin::Foreign, true),
    ] {
        let mut story = Story::new();
        story.file = OTHER_FILE;
        story.open(9, "g");
        story.file = FILE;
        story.open(3, "f");
        let window = story.reads(3, 4);
        story.completed(window.0 + 50, BlockAction::Read, BLOCK, file).origin = origin;
        let facts = story.facts(read_phase(3, window));
        check(what, &facts, &[(ForeignBytes, blocks(u64::from(foreign))), (DeviceTotalBytes, blocks(1))]);
    }
}

#[test]
fn completions_that_no_hook_saw_count_with_their_bytes() {
    let story = |seen: u64, flags: u32| {
        let mut story = Story::new();
        story.flags = flags;
        story.open(3, "f");
        let window = story.reads(3, 4);
        for _ in 0..seen {
            story.completed(window.0 + 50, BlockAction::Read, BLOCK, Some(FILE));
        }
        let unseen = story.completed(window.0 + 20, BlockAction::Read, BLOCK, Some(FILE));
        (unseen.kind, unseen.latency_ns, unseen.first_of_request) = (BlockEventKind::Inferred, 0, false);
        story.facts(read_phase(3, window))
    };
    check(
        "one of many",
        &story(99, 0),
        &[(DeviceReadBytes, blocks(100)), (DeviceRequests, count(100)), (DeviceLatencyMean, count(10))],
    );
    let unseen = "the completion of 1 of 4 requests was not seen";
    let expected = [(DeviceReadBytes, blocks(4)), (DeviceLatencyMean, Is::Part(10.0, unseen))];
    check("too many", &story(3, 0), &expected);
    let unbounded = [(DeviceBusy, Is::Part(10.0, unseen)), (DeviceBusyError, Is::Missing("between the calls"))];
    check("readahead", &story(3, 0), &unbounded);
    // Direct reads are not in flight outside a call.
    let bounded = [(DeviceBusy, Is::Part(10.0, unseen)), (DeviceBusyError, count(4 * CALL_NS))];
    check("direct", &story(3, direct()), &bounded);
}

#[test]
fn a_device_without_requests_shows_its_bios() {
    let mut story = Story::new();
    story.open(3, "f");
    let window = story.reads(3, 4);
    story.completed(window.0 + 50, BlockAction::Read, BLOCK, Some(FILE)).kind = BlockEventKind::Queued;
    let elsewhere = story.completed(window.0 + 60, BlockAction::Read, BLOCK, None);
    elsewhere.device = DeviceNumber(9);
    let facts = story.facts(read_phase(3, window));
    check(
        "zram",
        &facts,
        &[
            (DeviceReadBytes, blocks(1)),
            (DeviceRequests, count(1)),
            (DeviceBusy, Is::Missing("no completions")),
            (DeviceLatencyMean, Is::Missing("no completions")),
        ],
    );
    let source = |name| facts.get(name).map_or("", |fact| fact.source.as_str());
    assert_eq!(source(DeviceReadBytes), "tp_btf/block_bio_queue (the device takes bios, no requests)");

    // On a device that completes requests, the same bios are the same data again.
    story.completed(window.0 + 70, BlockAction::Read, BLOCK, Some(FILE));
    check("disk", &story.facts(read_phase(3, window)), &[(DeviceReadBytes, blocks(1)), (DeviceBusy, count(10))]);
}

#[test]
fn without_a_block_device_there_are_no_device_facts() {
    let mut story = Story::new();
    story.open(3, "f");
    let window = story.reads(3, 4);
    story.manifest.host.targets[0].layers.clear();
    story.manifest.host.targets[0].fs_type = "tmpfs".to_owned();
    let none = [(DeviceReadBytes, Is::Missing("no block device below /mnt (tmpfs)")), (ReadBytes, blocks(4))];
    check("tmpfs", &story.facts(read_phase(3, window)), &none);
    story.manifest.host.targets.clear();
    let unknown = [(DeviceReadBytes, Is::Missing("nothing is known of the storage below device 7:0"))];
    check("unknown", &story.facts(read_phase(3, window)), &unknown);
}

#[test]
fn processor_time_inside_the_window() {
    let mut story = Story::new();
    story.open(3, "f");
    story.read(3, 0);
    let window = story.reads(3, 4);
    story.read(3, 5);
    // Each call is on CPU in the kernel for 60 of its 100 ns, and 30 ns in user mode precede each but the first.
    let whole = window.1 - window.0;
    let expected = [(KernelCpu, count(4 * 60)), (UserCpu, count(3 * 30)), (OffCpu, count(whole - 4 * 60 - 3 * 30))];
    check("one thread", &story.facts(read_phase(3, window)), &expected);

    // Calls of the thread on other descriptors inside the window are also its time.
    let mut busy = story.clone();
    busy.events.calls.retain(|call| call.start_ns != window.0 + 2 * CALL_NS);
    busy.now = window.0 + 2 * CALL_NS;
    busy.kind = activebench_model::call::FileKind::Other;
    busy.call(Op::Write, 1, -1, 1, 1);
    busy.events.calls.sort_by_key(|call| call.start_ns);
    check("another call", &busy.facts(read_phase(3, window)), &[(ReadBytes, blocks(3)), (KernelCpu, count(240))]);

    // More time than the window has: reported as it is, and marked.
    for (cpu_ns, expected) in [
        (152, count(whole - 4 * 152 - 90)),
        (153, Is::Whole(0.0)),
        (200, Is::Part(whole as f64 - 890.0, "longer than their windows")),
    ] {
        let mut story = story.clone();
        story.events.calls.iter_mut().for_each(|call| call.cpu_ns = cpu_ns);
        check("rounding", &story.facts(read_phase(3, window)), &[(OffCpu, expected)]);
    }
}

#[test]
fn a_thread_that_serves_two_files_at_once_has_its_time_once() {
    let mut story = Story::new();
    story.file = OTHER_FILE;
    story.open(4, "g");
    story.file = FILE;
    story.open(3, "f");
    let start_ns = story.now;
    for block in 0..4 {
        story.file = FILE;
        story.read(3, block);
        story.file = OTHER_FILE;
        story.read(4, block);
    }
    let end_ns = story.now - CALL_NS;
    let mut other = part(4, start_ns, end_ns);
    other.file = OTHER_FILE;
    let facts = story.facts(phase(Direction::Read, vec![part(3, start_ns, end_ns), other]));
    check(
        "two files",
        &facts,
        &[
            (ReadBytes, blocks(8)),
            (KernelCpu, count(8 * 60)),
            (UserCpu, count(7 * 30)),
            (OffCpu, count(end_ns - start_ns - 480 - 210)),
            (ActiveTasks, count(1)),
            (SumOfTaskRates, Is::Whole((8 * BLOCK) as f64 * 1e9 / (end_ns - start_ns) as f64)),
            (UniqueBlocks, count(8)),
        ],
    );
}

#[test]
fn what_was_lost_or_not_attached_reaches_exactly_the_facts_that_rest_on_it() {
    let of_calls = [Window, ReadBytes, ReadCalls, UniqueBlocks, SumOfTaskRates, ActiveTasks, DirectShare, SyncsInside];
    let of_cpu = [UserCpu, KernelCpu, OffCpu];
    let of_cache = [CacheInsertedBytes];
    let of_device = [DeviceReadBytes, DeviceTotalBytes, DeviceBusy, DeviceRequests, Flushes, ForeignBytes];
    let of_both = [ResidentAtStart];
    type Harm = fn(&mut Story);
    let cases: [(&str, Harm, Vec<&[FactName]>); 8] = [
        ("calls", |story| story.lose(RecordClass::Calls), vec![&of_calls, &of_cpu, &of_both]),
        ("page_cache", |story| story.lose(RecordClass::PageCache), vec![&of_cache, &of_both]),
        ("block", |story| story.lose(RecordClass::BlockCompleted), vec![&of_device]),
        ("block_queued", |story| story.lose(RecordClass::BlockQueued), vec![]),
        ("sys_exit", |story| story.detach(Hook::SysExit), vec![&of_calls, &of_cpu, &of_both]),
        ("sched_switch", |story| story.detach(Hook::Switch), vec![&of_cpu]),
        ("rq_complete", |story| story.detach(Hook::RequestComplete), vec![&of_device]),
        ("filemap", |story| story.detach(Hook::AddToPageCache), vec![&of_cache, &of_both]),
    ];
    for (what, harm, harmed) in cases {
        let mut story = Story::new();
        story.open(3, "f");
        let window = story.reads(3, 4);
        story.completed(window.0 + 50, BlockAction::Read, BLOCK, Some(FILE));
        harm(&mut story);
        let facts = story.facts(read_phase(3, window));
        let lossy = story.manifest.coverage.probes.iter().all(|probe| probe.attached);
        let harmed: Vec<FactName> = harmed.concat();
        for name in [&of_calls[..], &of_cpu, &of_cache, &of_device, &of_both].concat() {
            let fact = facts.get(name).unwrap_or_else(|| panic!("{what}: {name:?}"));
            let expected = match (harmed.contains(&name), lossy) {
                (false, _) => matches!(fact.completeness, Completeness::Complete),
                (true, true) => {
                    matches!(&fact.completeness, Completeness::Partial(lost) if lost.contains("lost 3 of 10"))
                }
                (true, false) => matches!(&fact.completeness, Completeness::Missing(why) if why.contains("refused")),
            };
            assert!(expected, "{what}: {name:?} is {fact:?}");
            assert_eq!(fact.value.is_none(), matches!(fact.completeness, Completeness::Missing(_)));
        }
    }
}

#[test]
fn the_whole_run_has_facts_of_its_own() {
    let mut story = Story::new();
    story.flags = open_bits::WRITABLE;
    story.open(3, "f");
    story.writes(3, 4);
    story.fsync(3);
    story.last().returned = -5;
    story.insert(4);
    story.completed(story.now, BlockAction::Write, 4 * BLOCK, Some(FILE));
    story.completed(story.now, BlockAction::Flush, 0, None);
    story.now += 100;
    let (_, facts) = story.resolve(Vec::new());
    check(
        "run",
        &facts,
        &[
            (Window, count(story.now - 1000)),
            (WriteBytes, blocks(4)),
            (ReadBytes, count(0)),
            (WriteCalls, count(4)),
            (FailedCalls, count(1)),
            (CacheInsertedBytes, blocks(4)),
            (DeviceWriteBytes, blocks(4)),
            (Flushes, count(1)),
            (Mappings, count(0)),
            (DirectShare, count(0)),
            (DeviceWriteBytesDurable, Is::Absent),
        ],
    );
    story.lose(RecordClass::Calls);
    let (_, facts) = story.resolve(Vec::new());
    check(
        "lossy",
        &facts,
        &[(WriteBytes, Is::Part((4 * BLOCK) as f64, "lost 3 of 10")), (DeviceWriteBytes, blocks(4))],
    );
}

#[test]
fn the_whole_run_s_processor_time_is_that_of_every_task_that_ended() {
    let mut story = Story::new();
    story.events.tasks.clear();
    for (tid, user_ns, kernel_ns) in [(70, 1_000, 20_000), (71, 300, 4_000)] {
        story.now += 10;
        story.task(TaskEventKind::Born, tid, tid, 1);
        story.now += 1_000;
        story.task(TaskEventKind::Exited, tid, tid, 0);
        let ended = story.events.tasks.last_mut().expect("it was pushed");
        (ended.user_ns, ended.kernel_ns) = (user_ns, kernel_ns);
    }
    let (_, facts) = story.resolve(Vec::new());
    check("ended", &facts, &[(UserCpu, count(1_300)), (KernelCpu, count(24_000))]);
    story.task(TaskEventKind::Born, 72, 72, 1);
    let (_, facts) = story.resolve(Vec::new());
    check("outlived", &facts, &[(KernelCpu, Is::Part(24_000.0, "1 of the tree's tasks outlived"))]);
    story.detach(Hook::Switch);
    let (_, facts) = story.resolve(Vec::new());
    check("unseen", &facts, &[(UserCpu, Is::Missing("sched_switch was not attached"))]);
}

#[test]
fn direct_io_through_a_loop_device_is_counted_on_the_declared_device_only() {
    // The disk below has events for the inner file's pages, with their own inode.
    let below = DeviceNumber(8 << 20);
    let root_file = FileId { s_dev: 8 << 20, ino: 5 };
    let mut story = Story::new();
    story.manifest.host.targets.push(target(below, vec![layer("vda", below)]));
    story.flags = open_bits::WRITABLE;
    story.open(3, "f");
    story.writes(3, 4);
    story.file = root_file;
    story.open(4, "log");
    story.writes(4, 1);
    story.completed(story.now, BlockAction::Write, 4 * BLOCK, Some(FILE));
    story.completed(story.now, BlockAction::Write, 4 * BLOCK, Some(FILE)).device = below;
    story.completed(story.now, BlockAction::Write, BLOCK, Some(root_file)).device = below;
    let (_, facts) = story.resolve(Vec::new());
    check(
        "two devices",
        &facts,
        &[(DeviceWriteBytes, blocks(5)), (DeviceTotalBytes, Is::Absent), (Flushes, Is::Absent)],
    );
}

/// Puts [`FILE`] on a loop device whose image is on a volume of a disk.
fn stacked(story: &mut Story) -> (DeviceNumber, DeviceNumber) {
    let (volume, disk) = (DeviceNumber(253 << 20), DeviceNumber(8 << 20));
    let below = |name: &str, device, kind: &str, above: &str| Layer {
        kind: kind.to_owned(),
        attributes: [(ABOVE.to_owned(), above.to_owned())].into(),
        ..layer(name, device)
    };
    let layers = vec![
        below("loop0", DISK, "loop", "ext4"),
        below("dm-0", volume, "dm", "loop0"),
        below("vda", disk, "virtio", "dm-0"),
    ];
    story.manifest.host.targets[0] = target(DISK, layers);
    (volume, disk)
}

#[test]
fn the_layer_below_that_moved_least_is_told() {
    let mut story = Story::new();
    let (volume, disk) = stacked(&mut story);
    story.flags = direct();
    story.open(3, "f");
    let window = story.reads(3, 8);
    let at = window.0 + 50;
    let stranger = FileId { s_dev: 8 << 20, ino: 99 };
    story.completed(at, BlockAction::Read, 8 * BLOCK, Some(FILE));
    // The volume only queues bios; the disk completes requests, and its queued bios are the same data.
    story.completed(at, BlockAction::Read, 8 * BLOCK, None).kind = BlockEventKind::Queued;
    story.events.block.last_mut().expect("it was pushed").device = volume;
    for (bytes, file, origin, kind, when) in [
        (3 * BLOCK, None, Origin::Kernel, BlockEventKind::Queued, at),
        (3 * BLOCK, None, Origin::Kernel, BlockEventKind::Completed, at),
        (BLOCK, Some(FILE), Origin::Kernel, BlockEventKind::Inferred, at),
        (BLOCK, None, Origin::Kernel, BlockEventKind::Completed, window.1 + 1),
        (BLOCK, None, Origin::Foreign, BlockEventKind::Completed, at),
        (BLOCK, None, Origin::Observer, BlockEventKind::Completed, at),
        (BLOCK, Some(stranger), Origin::Kernel, BlockEventKind::Completed, at),
    ] {
        let event = story.completed(when, BlockAction::Read, bytes, file);
        (event.device, event.origin, event.kind) = (disk, origin, kind);
    }
    let expected = [(DeviceReadBytes, blocks(8)), (BelowReadBytes, blocks(4)), (BelowWriteBytes, blocks(0))];
    check("a hole in the image", &story.facts(read_phase(3, window)), &expected);

    // The image was deleted: the file of which the disk moved a block may be it.
    let attributes = &mut story.manifest.host.targets[0].layers[0].attributes;
    attributes.insert(BACKING_FILE_SYSTEM.to_owned(), "ext4".to_owned());
    let bound = [(BelowReadBytes, Is::Part(5.0 * BLOCK as f64, "not identified"))];
    check("an image that is deleted", &story.facts(read_phase(3, window)), &bound);

    // The pages of the image itself, which go through its page cache.
    let attributes = &mut story.manifest.host.targets[0].layers[0].attributes;
    attributes.insert(BACKING_S_DEV.to_owned(), stranger.s_dev.to_string());
    attributes.insert(BACKING_INODE.to_owned(), stranger.ino.to_string());
    check("the image's own pages", &story.facts(read_phase(3, window)), &[(BelowReadBytes, blocks(5))]);

    story.lose(RecordClass::BlockQueued);
    let part = [(BelowReadBytes, Is::Part(5.0 * BLOCK as f64, "block_queued"))];
    check("bios were lost", &story.facts(read_phase(3, window)), &part);

    let mut disk_only = Story::new();
    disk_only.open(3, "f");
    let window = disk_only.reads(3, 1);
    check("nothing below", &disk_only.facts(read_phase(3, window)), &[(BelowReadBytes, Is::Absent)]);
}

#[test]
fn what_is_written_below_counts_until_it_is_durable() {
    let mut story = Story::new();
    let (_, disk) = stacked(&mut story);
    story.manifest.host.targets[0].layers.remove(1);
    story.manifest.host.targets[0].layers[1].attributes.insert(ABOVE.to_owned(), "loop0".to_owned());
    story.open(3, "f");
    let window = story.writes(3, 4);
    let sync = story.fsync(3);
    for (when, bytes) in [(window.1, BLOCK), (sync.end_ns, 3 * BLOCK), (sync.end_ns + 1, 9 * BLOCK)] {
        story.completed(when, BlockAction::Write, bytes, Some(FILE));
        story.completed(when, BlockAction::Write, bytes, Some(FILE)).device = disk;
    }
    let expected = [
        (DeviceWriteBytesDurable, blocks(4)),
        (BelowWriteBytes, blocks(1)),
        (BelowWriteBytesDurable, blocks(4)),
        (BelowReadBytes, blocks(0)),
    ];
    check("synced", &story.facts(write_phase(3, window)), &expected);
}

#[test]
fn insertions_and_reads_in_progress_are_of_one_time() {
    let mut story = Story::new();
    story.open(3, "f");
    // Primed before the clock started.
    story.insert(2);
    story.now += 1000;
    let window = story.reads(3, 4);
    story.now = window.0 + 10;
    story.insert(3);
    story.completed(window.0 - 1, BlockAction::Read, 2 * BLOCK, Some(FILE));
    story.completed(window.0 + 20, BlockAction::Read, BLOCK, Some(FILE));
    // One request in flight when the clock stops, and one that is issued later.
    story.completed(window.1 + 50, BlockAction::Read, 2 * BLOCK, Some(FILE)).latency_ns = 60;
    story.completed(window.1 + 90, BlockAction::Read, 5 * BLOCK, Some(FILE)).latency_ns = 60;
    let expected = [
        (CacheInsertedBytes, blocks(5)),
        (WindowInsertedBytes, blocks(3)),
        (DeviceReadBytes, blocks(1)),
        (DeviceReadBegunBytes, blocks(3)),
    ];
    check("readahead", &story.facts(read_phase(3, window)), &expected);
}

#[test]
fn what_other_passes_move_on_the_same_file_is_told() {
    let mut story = Story::new();
    story.flags = direct();
    story.open(3, "f");
    story.by(200, 200).open(3, "f");
    let begin = story.now;
    for block in 0..4 {
        story.by(TOOL, TOOL).read(3, block);
        story.by(200, 200).read(3, block);
    }
    let window = (begin, story.now);
    story.by(200, 200).read(3, 5);
    let other = Part { tgid: 200, ..part(3, window.0, story.now) };
    let one = read_phase(3, window);
    let two = Phase { id: "q".to_owned(), ..phase(Direction::Read, vec![other]) };
    let (phases, _) = story.resolve(vec![one.clone(), two]);
    check("at once", &phases[0].facts, &[(ReadBytes, blocks(4)), (OthersReadBytes, blocks(4))]);
    check("the longer one", &phases[1].facts, &[(ReadBytes, blocks(5)), (OthersReadBytes, blocks(4))]);
    // Both directions of a mix have the same parts.
    let mixed = Phase { id: "q".to_owned(), ..phase(Direction::Write, one.parts.clone()) };
    let (phases, _) = story.resolve(vec![one.clone(), mixed]);
    check("a mix", &phases[0].facts, &[(OthersReadBytes, Is::Absent)]);
    check("alone", &story.facts(one), &[(OthersReadBytes, Is::Absent)]);
}
