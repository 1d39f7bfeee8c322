//! The shape of the I/O: blocks and their hits, sizes, order, latencies, queue depth.

use crate::story::*;
use activebench_model::call::Op;
use activebench_model::event::RecordClass;
use activebench_model::event::{BlockAction, BlockEventKind};
use activebench_model::fact::{Fact, FactName, FactName::*};
use activebench_model::hook::Hook;
use activebench_model::phase::{Direction, Part, Phase};

/// Creates reads through descriptor 3: `(offset, bytes)`.
fn reads(calls: &[(i64, u64)]) -> (Story, (u64, u64)) {
    let mut story = Story::new();
    story.open(3, "f");
    let start_ns = story.now;
    for (offset, bytes) in calls {
        story.call(Op::Pread, 3, *offset, *bytes, *bytes as i64);
    }
    let window = (start_ns, story.now);
    (story, window)
}

#[test]
fn each_block_of_a_small_set_was_read_so_often() {
    let mut calls = Vec::new();
    for _ in 0..800 {
        calls.extend((0..305).map(|block| ((block * 37 % 305) * 8192, 8192)));
    }
    let (story, window) = reads(&calls);
    check(
        "a small set",
        &story.facts(read_phase(3, window)),
        &[
            (BlockGrid, count(8192)),
            (UniqueBlocks, count(305)),
            (MinBlockHits, count(800)),
            (MaxBlockHits, count(800)),
            (MeanBlockHits, count(800)),
            (ModalBlockHits, count(800)),
            (ModalBlockHitsShare, count(1)),
            // 4 of the 305 blocks.
            (HottestBlocksShare, Is::Whole(4.0 / 305.0)),
        ],
    );
}

#[test]
fn blocks_are_divided_so_that_calls_move_whole_ones() {
    let large_then_small = [(0, 8192), (8192, 8192), (16_384, 8192), (0, 4096), (4096, 4096)];
    for (what, calls, grid, unique, region, least, most) in [
        ("one call", vec![(40_960, 4096)], 4096, 1, 1, 1, 1),
        // Two small calls on one large block touch different halves of it.
        ("mixed sizes", large_then_small.to_vec(), 4096, 6, 6, 1, 2),
        ("behind a header", vec![(100, 4096), (100 + 4096, 4096), (100, 4096)], 4096, 2, 2, 1, 2),
        ("on sectors", vec![(0, 4096), (512, 4096), (4608, 4096)], 512, 17, 17, 1, 2),
        // Without a common grid a call touches one block more than it moves.
        ("anywhere", vec![(0, 4096), (4099, 4096), (8193, 4096)], 4096, 4, 4, 1, 2),
        ("far apart", vec![(0, 4096), (1 << 50, 4096)], 4096, 2, (1 << 38) + 1, 1, 1),
    ] {
        let (story, window) = reads(&calls);
        let expected = [
            (BlockGrid, count(grid)),
            (UniqueBlocks, count(unique)),
            (RegionBlocks, count(region)),
            (MinBlockHits, count(least)),
            (MaxBlockHits, count(most)),
        ];
        check(what, &story.facts(read_phase(3, window)), &expected);
    }
}

#[test]
fn two_tasks_hit_the_same_blocks_of_one_file_and_not_those_of_another() {
    for (what, second_file, unique, most) in [("one file", FILE, 4, 2), ("two files", OTHER_FILE, 8, 1)] {
        let mut story = Story::new();
        let mut parts: Vec<Part> = Vec::new();
        let start_ns = story.now;
        for (tgid, file) in [(200, FILE), (300, second_file)] {
            story.file = file;
            story.by(tgid, tgid).open(3, "f");
            story.writes(3, 4);
        }
        for (tgid, file) in [(200, FILE), (300, second_file)] {
            parts.push(Part { tgid, file, ..part(3, start_ns, story.now) });
        }
        let facts = story.facts(phase(Direction::Write, parts));
        check(
            what,
            &facts,
            &[(UniqueBlocks, count(unique)), (MaxBlockHits, count(most)), (MeanBlockHits, count(8 / unique))],
        );
    }
}

#[test]
fn without_placed_calls_nothing_is_said_of_hits() {
    let (story, window) = reads(&[(-1, 4096), (-1, 4096)]);
    let lost = "offsets of 2 calls are not known";
    check(
        "unplaced",
        &story.facts(read_phase(3, window)),
        &[
            (UniqueBlocks, Is::Part(0.0, lost)),
            (MeanBlockHits, Is::Missing("no block was touched")),
            (HottestBlocksShare, Is::Missing("no block was touched")),
            (ReadRandom, Is::Missing(lost)),
            (CommonOffsets, Is::Absent),
            (ReadSizeMean, count(4096)),
        ],
    );
    let (story, window) = reads(&[]);
    let nothing = read_phase(3, (window.0, window.1 + 10));
    check(
        "no calls",
        &story.facts(nothing),
        &[
            (BlockGrid, Is::Missing("no data calls")),
            (MeanBlockHits, Is::Missing("no data calls")),
            (ReadSizeMin, Is::Absent),
            (ReadRandom, Is::Absent),
            (ReadLatencyP50, Is::Absent),
        ],
    );
}

#[test]
fn tasks_that_begin_at_one_offset_of_a_file_are_told() {
    let mut story = Story::new();
    let start_ns = story.now;
    for tgid in [200, 300, 400] {
        story.by(tgid, tgid).open(3, "f");
    }
    // Two begin at block 0, the third one at block 2; all end behind block 3.
    for (tgid, first) in [(200, 0), (300, 0), (400, 2)] {
        for block in first..4 {
            story.by(tgid, tgid).read(3, block);
        }
    }
    let parts = [200, 300, 400].into_iter().map(|tgid| Part { tgid, ..part(3, start_ns, story.now) });
    let facts = story.facts(phase(Direction::Read, parts.collect()));
    check("three", &facts, &[(CommonOffsets, Is::Whole(1.0)), (EqualStarts, count(2)), (UniqueBlocks, count(4))]);
}

#[test]
fn interleaved_streams_of_several_tasks_do_not_look_random() {
    let mut story = Story::new();
    let start_ns = story.now;
    for tgid in [200, 300] {
        story.by(tgid, tgid).open(3, "f");
    }
    // Two tasks alternate: one goes up from the beginning, the other down from block 100.
    for step in 0..10 {
        story.by(200, 200).read(3, step);
        story.by(300, 300).read(3, 100 - step);
    }
    let parts: Vec<Part> = [200, 300].into_iter().map(|tgid| Part { tgid, ..part(3, start_ns, story.now) }).collect();
    let shares = |sequential, backward, random| {
        [
            (ReadSequential, Is::Whole(sequential)),
            (ReadBackward, Is::Whole(backward)),
            (ReadStrided, count(0)),
            (ReadRepeated, count(0)),
            (ReadRandom, Is::Whole(random)),
            (WriteRandom, Is::Absent),
            (CommonOffsets, Is::Whole(0.0)),
            (EqualStarts, count(0)),
        ]
    };
    check("two tasks", &story.facts(phase(Direction::Read, parts.clone())), &shares(0.5, 0.5, 0.0));

    // The second task starts again at block 100: one jump in 19 steps.
    story.by(300, 300).read(3, 100);
    let end_ns = story.now;
    let parts = parts.into_iter().map(|of_task| Part { end: activebench_model::phase::PartEnd::At(end_ns), ..of_task });
    let facts = story.facts(phase(Direction::Read, parts.collect()));
    check("round again", &facts, &shares(9.0 / 19.0, 9.0 / 19.0, 1.0 / 19.0));

    // A call at an unknown offset: the known shares stay, and become partial.
    story.by(200, 200).call(Op::Read, 3, -1, BLOCK, BLOCK as i64);
    let parts = [200, 300].into_iter().map(|tgid| Part { tgid, ..part(3, start_ns, story.now) });
    let facts = story.facts(phase(Direction::Read, parts.collect()));
    check("unplaced", &facts, &[(ReadSequential, Is::Part(9.0 / 19.0, "offsets of 1 calls"))]);
}

#[test]
fn reads_and_writes_of_one_task_are_streams_of_their_own() {
    let mut story = Story::new();
    story.open(3, "f");
    let start_ns = story.now;
    for block in 0..5 {
        story.read(3, block);
        story.write(3, 7 * block);
        story.last().end_ns += 50;
    }
    story.call(Op::Read, 3, 0, BLOCK, -5);
    let facts = story.facts(phase(Direction::Mixed, vec![part(3, start_ns, story.now)]));
    check(
        "mixed",
        &facts,
        &[
            (ReadSequential, count(1)),
            (ReadStrided, count(0)),
            (WriteSequential, count(0)),
            (WriteStrided, count(1)),
            (ReadLatencyP50, count(CALL_NS)),
            (ReadLatencyMax, count(CALL_NS)),
            (WriteLatencyP50, count(CALL_NS + 50)),
            // The failed call requested bytes too.
            (ReadCalls, count(6)),
            (ReadSizeModalShare, count(1)),
        ],
    );
}

#[test]
fn sizes_and_latencies_of_the_calls_inside_the_window() {
    let mut story = Story::new();
    story.open(3, "f");
    story.read(3, 500);
    let start_ns = story.now;
    for index in 0..1000_u64 {
        let bytes = if index % 10 == 0 { 512 } else { BLOCK };
        story.now += 1000;
        story.call(Op::Read, 3, (index * BLOCK) as i64, bytes, bytes as i64);
        // From 1 ns to 1 us, in no particular order.
        let call = story.last();
        call.start_ns = call.end_ns - (index * 7 % 1000 + 1);
    }
    let end_ns = story.now;
    story.read(3, 9000);
    let facts = story.facts(read_phase(3, (start_ns, end_ns)));
    check(
        "sizes",
        &facts,
        &[
            (ReadSizeMin, count(512)),
            (ReadSizeMax, count(BLOCK)),
            (ReadSizeMean, Is::Whole((100 * 512 + 900 * BLOCK) as f64 / 1000.0)),
            (ReadSizeModal, count(BLOCK)),
            (ReadSizeModalShare, Is::Whole(0.9)),
            (ReadSizes, count(2)),
            (ReadLatencyMax, count(1000)),
            (WriteSizeMin, Is::Absent),
        ],
    );
    for (name, exact) in
        [(ReadLatencyP50, 500.0), (ReadLatencyP95, 950.0), (ReadLatencyP99, 990.0), (ReadLatencyP999, 999.0)]
    {
        assert_eq!(value(&facts, name), exact, "{}", name.as_str());
    }
}

fn value(facts: &activebench_model::fact::Facts, name: FactName) -> f64 {
    facts.get(name).and_then(|fact: &Fact| fact.value).expect("the fact has a value").value
}

#[test]
fn the_device_shows_latencies_and_queue_depth() {
    let mut story = Story::new();
    story.open(3, "f");
    story.now = 10_000;
    let window = story.reads(3, 40);
    let (start_ns, length) = (window.0, (window.1 - window.0) as f64);
    let at = |offset: u64| start_ns + offset;
    story.completed(at(500), BlockAction::Read, BLOCK, Some(FILE)).latency_ns = 400;
    story.completed(at(600), BlockAction::Read, BLOCK, Some(FILE)).latency_ns = 300;
    // One request for two files, of which only the second is the phase's.
    story.completed(at(900), BlockAction::Read, BLOCK, Some(OTHER_FILE)).latency_ns = 500;
    let second = story.completed(at(900), BlockAction::Read, BLOCK, Some(FILE));
    (second.first_of_request, second.latency_ns) = (false, 0);
    // A request of another process, and a flush.
    story.completed(at(900), BlockAction::Read, BLOCK, None).latency_ns = 900;
    story.completed(at(950), BlockAction::Flush, 0, None).latency_ns = 900;
    // In flight at the end of the window; the second event of its request belongs to the phase.
    story.completed(window.1 + 50, BlockAction::Read, BLOCK, Some(OTHER_FILE)).latency_ns = 150;
    let tail = story.completed(window.1 + 50, BlockAction::Read, BLOCK, Some(FILE));
    (tail.first_of_request, tail.latency_ns) = (false, 0);
    let in_flight = 400.0 + 300.0 + 500.0 + 100.0;
    check(
        "read",
        &story.facts(read_phase(3, window)),
        &[
            (DeviceRequests, count(3)),
            (DeviceLatencyP50, count(400)),
            (DeviceLatencyP999, count(500)),
            (DeviceLatencyMax, count(500)),
            (DeviceQueueDepthMean, Is::Whole(in_flight / length)),
            (DeviceQueueDepthMax, count(3)),
        ],
    );
    // A request whose issue was not seen is not in the depth, which is then too low.
    story.completed(at(950), BlockAction::Read, BLOCK, Some(FILE)).latency_ns = 0;
    let unseen = "the issue or completion of 1 of 4 requests was not seen";
    check(
        "unissued",
        &story.facts(read_phase(3, window)),
        &[
            (DeviceQueueDepthMean, Is::Part(in_flight / length, unseen)),
            (DeviceQueueDepthMax, Is::Part(3.0, unseen)),
            (DeviceLatencyMax, Is::Part(500.0, "issue of 1 requests")),
        ],
    );
}

#[test]
fn one_unseen_completion_in_a_hundred_leaves_the_queue_depth_whole() {
    for (seen, whole) in [(99, true), (98, false)] {
        let mut story = Story::new();
        story.open(3, "f");
        let window = story.reads(3, 4);
        for _ in 0..seen {
            story.completed(window.0 + 50, BlockAction::Read, BLOCK, Some(FILE));
        }
        let unseen = story.completed(window.0 + 20, BlockAction::Read, BLOCK, Some(FILE));
        (unseen.kind, unseen.latency_ns, unseen.first_of_request) = (BlockEventKind::Inferred, 0, false);
        let most = if whole { count(seen) } else { Is::Part(seen as f64, "of 1 of 99 requests") };
        let latency = if whole { count(10) } else { Is::Part(10.0, "completion of 1 of 99") };
        let facts = story.facts(read_phase(3, window));
        check("unseen", &facts, &[(DeviceQueueDepthMax, most), (DeviceLatencyP99, latency)]);
    }
}

#[test]
fn without_requests_the_depth_is_zero_and_latencies_are_missing() {
    let mut story = Story::new();
    story.open(3, "f");
    let window = story.reads(3, 4);
    let idle = [
        (DeviceQueueDepthMean, count(0)),
        (DeviceQueueDepthMax, count(0)),
        (DeviceLatencyP50, Is::Missing("no request")),
        (DeviceLatencyMax, Is::Missing("no request")),
    ];
    check("idle", &story.facts(read_phase(3, window)), &idle);
    let mut bios = story.clone();
    bios.completed(window.0 + 50, BlockAction::Read, BLOCK, Some(FILE)).kind = BlockEventKind::Queued;
    let of_bios =
        [(DeviceQueueDepthMax, Is::Missing("no completions")), (DeviceLatencyP99, Is::Missing("no completions"))];
    check("bios", &bios.facts(read_phase(3, window)), &of_bios);
    story.lose(RecordClass::BlockCompleted);
    check("lossy", &story.facts(read_phase(3, window)), &[(DeviceQueueDepthMean, Is::Part(0.0, "lost 3 of 10"))]);
    story.manifest.host.targets[0].layers.clear();
    check("none", &story.facts(read_phase(3, window)), &[(DeviceQueueDepthMean, Is::Missing("no block device"))]);
}

#[test]
fn lost_calls_reach_the_shape() {
    let (mut story, window) = reads(&[(0, 4096), (4096, 4096)]);
    story.lose(RecordClass::Calls);
    let lost = "lost 3 of 10 calls";
    check(
        "lossy",
        &story.facts(read_phase(3, window)),
        &[
            (ReadSequential, Is::Part(1.0, lost)),
            (ReadSizeMean, Is::Part(4096.0, lost)),
            (ReadLatencyP50, Is::Part(CALL_NS as f64, lost)),
            (ModalBlockHits, Is::Part(1.0, lost)),
        ],
    );
    story.detach(Hook::SysExit);
    let none = [(ReadSequential, Is::Missing("not attached")), (MeanBlockHits, Is::Missing("not attached"))];
    check("no probe", &story.facts(read_phase(3, window)), &none);
}

/// Requests of two sizes on one descriptor at once: each size's phase has its own calls, bytes, blocks and latencies.
#[test]
fn a_phase_of_one_size_leaves_the_other_out() {
    let (story, window) = reads(&[(0, 8192), (1 << 20, 1 << 20), (8192, 8192), (0, 8192), (2 << 20, 1 << 20)]);
    let of_size = |bytes: Option<u64>| Phase { call_bytes: bytes, ..read_phase(3, window) };
    for (what, bytes, calls, moved, grid, unique) in [
        ("small", Some(8192), 3, 3 * 8192, 8192, 2),
        ("large", Some(1 << 20), 2, 2 << 20, 1 << 20, 2),
        ("neither", Some(4096), 0, 0, 0, 0),
        ("both", None, 5, 3 * 8192 + (2 << 20), 8192, 2 + 2 * 128),
    ] {
        let facts = story.facts(of_size(bytes));
        check(what, &facts, &[(ReadCalls, count(calls)), (ReadBytes, count(moved))]);
        if calls > 0 {
            check(what, &facts, &[(BlockGrid, count(grid)), (UniqueBlocks, count(unique))]);
            check(what, &facts, &[(ReadLatencyTimed, count(calls))]);
        }
    }
}
