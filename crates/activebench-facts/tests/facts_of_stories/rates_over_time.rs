//! How long calls were in flight, how fast data moved over time, and where random passes began.

use crate::story::*;
use activebench_model::call::Op;
use activebench_model::event::RecordClass;
use activebench_model::fact::FactName::*;
use activebench_model::phase::{Direction, Part, Pattern, Phase};

#[test]
fn time_in_which_a_call_was_on_its_way_counts_once_a_task() {
    let mut story = Story::new();
    story.open(3, "f");
    let start_ns = story.now;
    story.reads(3, 4);
    // A pause of the tool, and a sync, which also counts as a call in flight.
    story.now += 10_000;
    let end_ns = story.fsync(3).end_ns;
    let facts = story.facts(read_phase(3, (start_ns, end_ns)));
    check("one task", &facts, &[(TaskWindows, count(end_ns - start_ns)), (InFlight, count(5 * CALL_NS))]);
    check("and in calls on files", &facts, &[(InFileCalls, count(5 * CALL_NS))]);
    // Time outside the part does not count.
    let facts = story.facts(read_phase(3, (start_ns, end_ns - CALL_NS / 2)));
    check("cut", &facts, &[(InFlight, count(5 * CALL_NS - CALL_NS / 2))]);
}

#[test]
fn a_sync_through_no_descriptor_of_the_part_is_on_its_way_too() {
    // In it a task waits for its own data: fs_mark opens the file again, or syncs all file systems.
    for (op, tgid, counts) in
        [(Op::Sync, 200, true), (Op::Syncfs, 200, true), (Op::Fsync, 200, true), (Op::Sync, 300, false)]
    {
        let mut story = Story::new();
        story.by(200, 200).open(3, "f");
        let start_ns = story.now;
        story.writes(3, 4);
        let end_ns = story.by(tgid, tgid).call(op, 9, -1, 0, 0).end_ns;
        let part = Part { tgid: 200, ..part(3, start_ns, end_ns) };
        let calls = if counts { 5 } else { 4 };
        let facts = story.facts(phase(Direction::Write, vec![part]));
        check(&format!("{op:?} by {tgid}"), &facts, &[(InFlight, count(calls * CALL_NS))]);
    }
}

#[test]
fn a_call_that_a_file_system_makes_wait_is_a_call_on_files() {
    // An open waits for the log of the file system as a sync does, and moves no data.
    for (op, tgid, counts) in [
        (Op::Open, 200, true),
        (Op::Unlink, 200, true),
        (Op::Ftruncate, 200, true),
        (Op::Open, 300, false),
        (Op::IoGetevents, 200, false),
    ] {
        let mut story = Story::new();
        story.by(200, 200).open(3, "f");
        let start_ns = story.now;
        story.writes(3, 4);
        story.now += 1_000;
        let end_ns = story.by(tgid, tgid).call(op, 9, -1, 0, 0).end_ns;
        let part = Part { tgid: 200, ..part(3, start_ns, end_ns) };
        let calls = if counts { 5 } else { 4 };
        let facts = story.facts(phase(Direction::Write, vec![part]));
        let expected = [(InFlight, count(4 * CALL_NS)), (InFileCalls, count(calls * CALL_NS))];
        check(&format!("{op:?} by {tgid}"), &facts, &expected);
    }
}

#[test]
fn requests_that_overlap_are_on_their_way_together() {
    let mut story = Story::new();
    story.open(3, "f");
    let start_ns = story.now;
    for block in 0..4 {
        story.call(Op::AioRead, 3, block * BLOCK as i64, BLOCK, BLOCK as i64);
        let request = story.last();
        (request.start_ns, request.end_ns) = (start_ns, start_ns + 300 + block as u64);
    }
    let facts = story.facts(read_phase(3, (start_ns, start_ns + 1_000)));
    check("four at once", &facts, &[(TaskWindows, count(1_000)), (InFlight, count(303))]);
}

#[test]
fn each_task_has_its_own_time() {
    let mut story = Story::new();
    let mut parts = Vec::new();
    for tgid in [200, 300] {
        story.by(tgid, tgid).open(3, "f");
        let (start_ns, end_ns) = story.reads(3, 3);
        parts.push(Part { tgid, ..part(3, start_ns, end_ns) });
    }
    // Never at the same time: no fifths.
    let length = parts.iter().map(|part| part.last_data_ns - part.start_ns).sum();
    let facts = story.facts(phase(Direction::Read, parts));
    let apart = Is::Missing("at work together for");
    check(
        "one after the other",
        &facts,
        &[(TaskWindows, count(length)), (InFlight, count(6 * CALL_NS)), (Fifth1Rate, apart.clone())],
    );
    check("and at the device", &facts, &[(DeviceFifth5Rate, apart.clone()), (DeviceFifthsError, apart)]);
}

#[test]
fn lost_calls_make_the_pace_partial() {
    let mut story = Story::new();
    story.open(3, "f");
    let window = story.reads(3, 4);
    story.lose(RecordClass::Calls);
    let facts = story.facts(read_phase(3, window));
    check("lost", &facts, &[(InFlight, Is::Part(400.0, "lost 3 of 10 calls"))]);
}

/// Creates a write pass of 100 calls. Each of the last 20 waits for `pause_ns`. The device has as many requests.
fn slower_at_its_end(pause_ns: u64) -> Phase {
    use activebench_model::event::BlockAction;
    let mut story = Story::new();
    story.flags = direct();
    story.open(3, "f");
    let start_ns = story.now;
    for block in 0..100 {
        let span = story.write(3, block);
        if block >= 80 {
            story.now += pause_ns;
            story.last().end_ns += pause_ns;
        }
        let end_ns = story.last().end_ns;
        story.completed(end_ns, BlockAction::Write, BLOCK, Some(FILE)).latency_ns = end_ns - span.start_ns;
        story.completed(end_ns, BlockAction::Read, BLOCK, Some(FILE));
    }
    let end_ns = story.last().end_ns;
    let (mut phases, _) = story.resolve(vec![write_phase(3, (start_ns, end_ns))]);
    phases.remove(0)
}

#[test]
fn a_pass_that_becomes_slower_shows_in_its_last_fifth() {
    let steady = slower_at_its_end(0);
    let slower = slower_at_its_end(200);
    let rate = |phase: &Phase, name| phase.facts.complete(name).expect("the fact is there");
    for (first, last) in [(Fifth1Rate, Fifth5Rate), (DeviceFifth1Rate, DeviceFifth5Rate)] {
        let share = rate(&steady, last) / rate(&steady, first);
        assert!((share - 1.0).abs() < 0.05, "{share}");
        // Only the writes: a call of 100 ns every 200 ns becomes one of 300 ns every 400 ns.
        let share = rate(&slower, last) / rate(&slower, first);
        assert!((share - 0.5).abs() < 0.05, "{share}");
    }
    let difference = rate(&slower, Fifth1Rate) - rate(&slower, Fifth5Rate);
    assert!(rate(&slower, FifthsError) < difference / 4.0);
}

#[test]
fn a_random_pass_tells_where_it_began() {
    let mut story = Story::new();
    story.open(3, "f");
    let start_ns = story.now;
    let offsets = [7, 3, 9, 1];
    for block in offsets {
        story.read(3, block);
    }
    let window = (start_ns, story.now);
    let random = |pattern| Phase { pattern, ..read_phase(3, window) };
    let began = |story: &Story, pattern| story.resolve(vec![random(pattern)]).0.remove(0).first_offsets;
    let expected: Vec<Vec<u64>> = vec![offsets.map(|block| block * BLOCK).to_vec()];
    assert_eq!(began(&story, Pattern::RandomPermutation), expected);
    assert_eq!(began(&story, Pattern::RandomIndependent), expected);
    assert_eq!(began(&story, Pattern::Sequential), Vec::<Vec<u64>>::new());
    // Completions arrive in another order than submissions.
    story.events.calls.reverse();
    assert_eq!(began(&story, Pattern::RandomPermutation), expected);
    story.lose(RecordClass::Calls);
    assert_eq!(began(&story, Pattern::RandomPermutation), Vec::<Vec<u64>>::new());
}
