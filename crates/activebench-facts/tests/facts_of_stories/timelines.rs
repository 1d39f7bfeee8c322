//! The time series of a phase: the figures behind the charts.

use crate::story::*;
use activebench_facts::{Index, timelines};
use activebench_model::event::RecordClass;
use activebench_model::event::{BlockAction, CpuEvent, ThreadState, ThreadTimes};
use activebench_model::fact::Completeness;
use activebench_model::hook::Hook;
use activebench_model::phase::{Direction, Part, Phase};
use activebench_model::readings::{Readings, Series, Watched};
use activebench_model::timeline::{LatencyHistogram, LatencyOf, Timeline, TimelineFigure};

fn timelines_of(story: &Story, phases: Vec<Phase>) -> Vec<Timeline> {
    let (phases, _) = story.resolve(phases);
    let folded = story.folded();
    let index = Index::new(&folded, &folded.activity.passes, &phases);
    timelines(&story.events, &story.manifest, &index, &phases).expect("events in memory")
}

fn timeline(story: &Story, phase: Phase) -> Timeline {
    timelines_of(story, vec![phase]).remove(0)
}

fn values(timeline: &Timeline, name: TimelineFigure) -> Vec<f64> {
    let series = timeline.series(name).expect("every name has a series");
    assert_eq!(series.completeness, Completeness::Complete, "{}", name.as_str());
    assert_eq!(series.values.len(), timeline.steps, "{}", name.as_str());
    series.values.iter().map(|value| value.unwrap_or(0.0)).collect()
}

/// Returns the sum of a rate over the timeline.
fn total(timeline: &Timeline, name: TimelineFigure) -> f64 {
    values(timeline, name).iter().sum::<f64>() * timeline.step_ns as f64 / 1e9
}

fn check_total(timeline: &Timeline, name: TimelineFigure, expected: u64) {
    let total = total(timeline, name);
    assert!((total / expected as f64 - 1.0).abs() < 1e-9, "{}: {total} of {expected}", name.as_str());
}

fn latencies(timeline: &Timeline, of: LatencyOf) -> &LatencyHistogram {
    timeline.latencies.iter().find(|histogram| histogram.of == of).expect("both are there")
}

/// Creates a phase that writes 64 blocks: 16 reach the device by the end of the window, the others in the sync after it.
fn written() -> (Story, Phase) {
    let mut story = Story::new();
    story.open(3, "f");
    let window = story.writes(3, 64);
    story.completed(window.1 - 50, BlockAction::Write, 16 * BLOCK, Some(FILE)).latency_ns = 1_000;
    let sync = story.call(activebench_model::call::Op::Fsync, 3, -1, 0, 0);
    story.completed(sync.end_ns - 10, BlockAction::Write, 48 * BLOCK, Some(FILE)).latency_ns = 50;
    let part = Part { sync_after: Some(Box::new(sync)), ..part(3, window.0, window.1) };
    (story, phase(Direction::Write, vec![part]))
}

#[test]
fn a_timeline_holds_every_byte_up_to_the_end_of_the_sync() {
    let (story, phase) = written();
    let window = (phase.parts[0].start_ns, phase.parts[0].last_data_ns);
    let timeline = timeline(&story, phase);
    check_total(&timeline, TimelineFigure::CallWriteRate, 64 * BLOCK);
    check_total(&timeline, TimelineFigure::CallRate, 64);
    check_total(&timeline, TimelineFigure::DeviceWriteRate, 64 * BLOCK);
    assert_eq!(total(&timeline, TimelineFigure::CallReadRate), 0.0);
    // One request of 1000 ns and one of 50 ns.
    let in_flight: f64 =
        values(&timeline, TimelineFigure::DeviceQueueDepth).iter().sum::<f64>() * timeline.step_ns as f64;
    assert!((in_flight - 1_050.0).abs() < 1e-6, "{in_flight}");
    let [sync] = &timeline.syncs[..] else { panic!("{:?}", timeline.syncs) };
    assert!(sync.call == "fsync" && sync.start_ns > window.1);
    assert!(
        timeline.start_ns <= window.0 && timeline.start_ns + timeline.step_ns * timeline.steps as u64 >= sync.end_ns
    );
}

#[test]
fn latencies_are_those_of_the_window() {
    let (story, phase) = written();
    let timeline = timeline(&story, phase);
    let count = |of| latencies(&timeline, of).buckets.iter().map(|bucket| bucket.count).sum::<u64>();
    assert_eq!((count(LatencyOf::Calls), count(LatencyOf::Device)), (64, 1));
    let bucket = latencies(&timeline, LatencyOf::Device).buckets[0];
    assert!(bucket.from_ns <= 1_000 && 1_000 < bucket.to_ns, "{bucket:?}");
}

#[test]
fn a_map_counts_each_call_where_and_when_it_was() {
    let mut story = Story::new();
    story.open(3, "f");
    let (start_ns, _) = story.reads(3, 32);
    // Then only the first block, as often again.
    let spans: Vec<_> = (0..32).map(|_| story.read(3, 0)).collect();
    let timeline = timeline(&story, read_phase(3, (start_ns, spans[31].end_ns)));
    let [map] = &timeline.maps[..] else { panic!("one file") };
    assert_eq!((map.row_bytes, map.hits.len(), map.name.as_deref()), (BLOCK, 32, Some("f")));
    let by_row: Vec<u64> = map.hits.iter().map(|row| row.iter().sum()).collect();
    assert_eq!(by_row[0], 33);
    assert!(by_row[1..].iter().all(|hits| *hits == 1), "{by_row:?}");
    // The second half of the time has hits only in the first row.
    let columns = map.hits[0].len();
    assert!(map.hits[1..].iter().all(|row| row[columns / 2 + 1..].iter().all(|hits| *hits == 0)));
    assert_eq!(map.hits[0][columns / 2 + 1..].iter().sum::<u64>() + 1, 32);
}

#[test]
fn threads_times_are_shares_of_each_step() {
    let mut story = Story::new();
    for class in [RecordClass::Cpu, RecordClass::Samples] {
        story.manifest.coverage.records.insert(class, Default::default());
    }
    story.open(3, "f");
    let (start_ns, end_ns) = story.reads(3, 100);
    let half_ns = (end_ns - start_ns) / 2;
    let total = |at_ns: u64, since_ns: u64, state, user_ns: u64, iowait_ns: u64| {
        let times = ThreadTimes { user_ns, blocked_ns: start_ns + iowait_ns, iowait_ns, ..ThreadTimes::default() };
        CpuEvent { at_ns, since_ns, state, tid: TOOL, tgid: TOOL, times }
    };
    story.events.cpu.extend([
        total(start_ns, 0, ThreadState::Blocked, 0, 0),
        total(start_ns + half_ns, start_ns, ThreadState::User, half_ns, 0),
        total(end_ns, start_ns + half_ns, ThreadState::IoWait, half_ns, end_ns - start_ns - half_ns),
    ]);
    let timeline = timeline(&story, read_phase(3, (start_ns, end_ns)));
    let shares = |name| timeline.series(name).expect("there is one").values.clone();
    let (user, waits) = (shares(TimelineFigure::UserRatio), shares(TimelineFigure::IoWaitRatio));
    let known = |step: &usize| user[*step].is_some();
    let (first, last) = ((0..120).find(known).expect("a step"), (0..120).rfind(known).expect("a step"));
    assert_eq!((user[first], waits[last]), (Some(1.0), Some(1.0)));
    for step in (0..120).filter(known) {
        let sum: f64 = TimelineFigure::ALL[8..].iter().filter_map(|name| shares(*name)[step]).sum();
        assert!((sum - 1.0).abs() < 1e-9, "{step}: {sum}");
    }
    assert!(user[0].is_none(), "nobody's time is followed before the clock");
}

#[test]
fn dirty_pages_lie_between_the_readings() {
    let (mut story, phase) = written();
    let readings = vec![(0, 0), (story.now, story.now)];
    let series = Series { what: Watched::DirtyBytes, of: String::new(), source: "meminfo".to_owned(), readings };
    story.manifest.host.readings = Some(Readings { series: vec![series], unread: Vec::new() });
    let timeline = timeline(&story, phase);
    let dirty = &timeline.series(TimelineFigure::HostDirtyBytes).expect("there is one").values;
    for (step, value) in dirty.iter().enumerate() {
        let middle_ns = timeline.start_ns + step as u64 * timeline.step_ns + timeline.step_ns / 2;
        match value {
            Some(value) => assert!((value - middle_ns as f64).abs() < 1.0, "{step}: {value} at {middle_ns}"),
            None => assert!(middle_ns > story.now, "{step}"),
        }
    }
}

#[test]
fn what_was_not_seen_is_no_zero() {
    let (mut story, phase) = written();
    story.lose(RecordClass::Calls);
    story.detach(Hook::RequestComplete);
    let timeline = timeline(&story, phase);
    let series = |name| timeline.series(name).expect("there is one");
    assert!(
        matches!(&series(TimelineFigure::CallWriteRate).completeness, Completeness::Partial(lost) if lost.contains("3 of 10"))
    );
    for name in [TimelineFigure::DeviceWriteRate, TimelineFigure::DeviceQueueDepth, TimelineFigure::HostDirtyBytes] {
        assert!(matches!(series(name).completeness, Completeness::Missing(_)), "{}", name.as_str());
        assert!(series(name).values.is_empty(), "{}", name.as_str());
    }
    assert!(matches!(latencies(&timeline, LatencyOf::Device).completeness, Completeness::Missing(_)));
}

#[test]
fn of_many_phases_the_first_have_a_timeline_and_those_without_a_window_none() {
    let mut story = Story::new();
    story.open(3, "f");
    let phases: Vec<Phase> =
        (0..70).map(|number| Phase { id: format!("p{number}"), ..read_phase(3, story.reads(3, 2)) }).collect();
    let mut with_one_not_found = phases.clone();
    with_one_not_found.insert(0, Phase::planned("lost", "lost", Direction::Read));
    let timelines = timelines_of(&story, with_one_not_found);
    let ids: Vec<&str> = timelines.iter().map(|timeline| timeline.phase.as_str()).collect();
    let expected: Vec<&str> = phases.iter().take(64).map(|phase| phase.id.as_str()).collect();
    assert_eq!(ids, expected);
}
