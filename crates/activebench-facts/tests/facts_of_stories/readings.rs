//! How often each table is read: facts may not become slower by one more reading of millions of calls.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::BTreeMap;

use crate::story::*;
use activebench_facts::{Index, fold_activity, profile_phases, resolve_phases, timelines};
use activebench_model::call::{Call, Op, PlainCall};
use activebench_model::coverage::Coverage;
use activebench_model::event::{
    BlockAction, BlockEvent, CacheEvent, CpuEvent, FuseEvent, NameEvent, PayloadEvent, SampleEvent, ServingEvent,
    StealEvent, TaskEvent,
};
use activebench_model::fact::FactName;
use activebench_model::log::Totals;
use activebench_model::phase::{Direction, Part, PartEnd, Phase};
use activebench_model::source::{Batches, EventSource, Events, Unreadable};
use activebench_model::thread_stacks::Stacks;

/// Counts the readings of each table.
struct Counting<'a> {
    events: &'a Events,
    readings: RefCell<BTreeMap<&'static str, u32>>,
}

/// Methods that count a reading and pass it on. The calls appear in three forms, each with its own count.
macro_rules! counted {
    ($($table:ident: $row:ty;)*) => {
        $(
            fn $table(&self) -> Batches<'_, $row> {
                *self.readings.borrow_mut().entry(stringify!($table)).or_default() += 1;
                self.events.$table()
            }
        )*
    };
}

impl EventSource for Counting<'_> {
    counted! {
        calls: Call;
        plain_calls: PlainCall;
        structural_calls: PlainCall;
        names: NameEvent;
        tasks: TaskEvent;
        block: BlockEvent;
        cache: CacheEvent;
        cpu: CpuEvent;
        samples: SampleEvent;
        steal: StealEvent;
        serving: ServingEvent;
        fuse: FuseEvent;
        payload: PayloadEvent;
    }
    fn stacks(&self) -> Result<Stacks, Unreadable> {
        self.events.stacks()
    }
    fn totals(&self) -> Result<Totals, Unreadable> {
        self.events.totals()
    }
}

/// Computes everything that a judgement needs; returns the readings of each table.
fn readings(story: &Story, phases: Vec<Phase>, with_timelines: bool) -> BTreeMap<&'static str, u32> {
    let source = Counting { events: &story.events, readings: RefCell::default() };
    let folded = fold_activity(&source).expect("events in memory");
    folded.blind_paths(&phases, &Coverage::default(), None);
    let manifest = &story.manifest;
    let index = Index::new(&folded, &folded.activity.passes, &phases);
    let passes = Cow::Borrowed(&folded.activity.passes[..]);
    let (mut phases, mut of_run) = resolve_phases(&source, manifest, &index, passes, phases).expect("events in memory");
    profile_phases(&source, manifest, &index, &mut phases, &mut of_run).expect("events in memory");
    if with_timelines {
        let timelines = timelines(&source, manifest, &index, &phases).expect("events in memory");
        assert_eq!(timelines.len(), phases.len());
    }
    source.readings.into_inner()
}

/// Creates a phase that reads 20 blocks, with events of every kind around it.
fn read_story() -> (Story, Phase) {
    let mut story = Story::new();
    story.open(3, "f");
    let (start_ns, end_ns) = story.reads(3, 20);
    story.call(Op::Fsync, 3, -1, 0, 0);
    story.completed(start_ns + 50, BlockAction::Read, BLOCK, Some(FILE));
    let phase = phase(Direction::Read, vec![part(3, start_ns, end_ns)]);
    (story, phase)
}

#[track_caller]
fn check_readings(readings: &BTreeMap<&'static str, u32>, expected: &[(&'static str, u32)]) {
    let expected: BTreeMap<&str, u32> = expected.iter().copied().collect();
    assert_eq!(readings, &expected);
}

#[test]
fn every_table_is_read_once_for_the_activity_or_once_for_the_facts() {
    let (story, phase) = read_story();
    let once = [
        // The activity needs the structural calls first, and the calls without their costs; the facts need the costs.
        ("structural_calls", 1),
        ("plain_calls", 1),
        ("names", 1),
        ("tasks", 1),
        ("calls", 1),
        ("block", 1),
        ("cache", 1),
        ("payload", 1),
        ("cpu", 1),
        ("samples", 1),
        ("serving", 1),
        ("steal", 1),
    ];
    check_readings(&readings(&story, vec![phase.clone()], false), &once);
    let twice = |(table, _)| (table, 1 + u32::from(["calls", "block", "cache", "cpu", "samples"].contains(&table)));
    check_readings(&readings(&story, vec![phase], true), &once.map(twice));
}

#[test]
fn calls_are_read_again_where_a_clock_stopped_after_bytes_or_blocks_were_guessed_wrong() {
    let (story, whole) = read_story();
    let calls = |story: &Story, phase: Phase| readings(story, vec![phase], false)["calls"];
    let stopped = Part { end: PartEnd::AfterBytes(10 * BLOCK), ..whole.parts[0].clone() };
    assert_eq!(calls(&story, Phase { parts: vec![stopped], ..whole }), 2);

    // Whole blocks first, and more halves of blocks than a grid of whole ones may leave out.
    let mut story = Story::new();
    story.open(3, "f");
    let (start_ns, _) = story.reads(3, 5_000);
    for half in 0..1_000 {
        story.call(Op::Pread, 3, (2 * half + 1) * BLOCK as i64 / 2, BLOCK / 2, BLOCK as i64 / 2);
    }
    let end_ns = story.now;
    let phase = phase(Direction::Read, vec![part(3, start_ns, end_ns)]);
    assert_eq!(calls(&story, phase.clone()), 2);
    let facts = story.facts(phase);
    // 1000 of the 5000 blocks have a half that was read once more.
    let expected = [
        (FactName::BlockGrid, Is::Whole((BLOCK / 2) as f64)),
        (FactName::UniqueBlocks, count(10_000)),
        (FactName::MaxBlockHits, count(2)),
    ];
    check("halves of blocks", &facts, &expected);
}
