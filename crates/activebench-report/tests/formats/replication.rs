//! A replication: snapshots, the schema, and hostile text.

use activebench_model::claim::Metric;
use activebench_model::replication::{
    CacheState, Moved, RateOver, Replay, Replicated, ReplicatedFigure, ReplicatedPass, Replication, ReplicationOutcome,
};
use activebench_model::units::Quantity;
use activebench_model::verdict::{ClaimVerdict, RunVerdict};
use activebench_report::document_formats;
use activebench_report::ticket::LIMIT;

use crate::samples::{rendered, schema_faults};

fn mib(value: f64) -> Quantity {
    Quantity::bytes_per_sec(value * 1_048_576.0)
}

fn moved(writes: u64, reads: u64) -> Moved {
    Moved { reads, read_bytes: reads << 16, writes, write_bytes: writes << 16, syncs: 1 }
}

fn replay(number: u32, moved: Moved, cache: CacheState, device_read_bytes: u64) -> Replay {
    Replay {
        directory: format!("pass-1/{number}"),
        moved,
        differs: None,
        incomplete: Vec::new(),
        cache,
        same_cache: true,
        device_read_bytes: Some(device_read_bytes),
        clock_ns: Some(170_000_000),
        durable_ns: None,
        engine_claimed: Some(mib(96.0)),
        engine_refuted: Vec::new(),
    }
}

fn figure(phase: &str, over: RateOver, claimed: f64, observed: f64, replicated: [f64; 3]) -> ReplicatedFigure {
    let [least, median, most] = replicated;
    ReplicatedFigure {
        phase: phase.to_owned(),
        metric: Metric::Throughput,
        over,
        claimed: Some(mib(claimed)),
        verdict: Some(ClaimVerdict::Misleading),
        observed: Some(mib(observed)),
        honest: Some(mib(90.0)),
        replicated: Some(Replicated { median: mib(median), least: mib(least), most: mib(most), runs: 3 }),
        no_replicated: None,
        of_claimed_ratio: Some(median / claimed),
        of_observed_ratio: Some(median / observed),
        agrees: Some((least..=most).contains(&observed)),
    }
}

fn pass(number: u32, phase: &str, recorded: Moved, cache: CacheState, device_read_bytes: u64) -> ReplicatedPass {
    let replays = (1..=3).map(|turn| replay(turn, recorded, cache.clone(), device_read_bytes));
    ReplicatedPass {
        number,
        phases: vec![phase.to_owned()],
        recorded,
        device_read_bytes: Some(device_read_bytes),
        replayed_as: "1 task, psync, depth 1, buffered".to_owned(),
        not_replayed: None,
        left_out: Vec::new(),
        notes: Vec::new(),
        replays: replays.collect(),
        figures: Vec::new(),
        cache,
    }
}

pub(crate) fn sample() -> Replication {
    let mut write = pass(1, "write", moved(256, 0), CacheState::WritesOnly, 0);
    write
        .notes
        .push("data: the record does not say whether it was there before: it is replayed as a new file".to_owned());
    write.figures = vec![
        figure("write", RateOver::ToolClock, 1_210.0, 1_211.5, [1_180.0, 1_225.0, 1_301.0]),
        figure("write", RateOver::UntilDurable, 1_210.0, 91.2, [88.0, 93.5, 95.0]),
    ];
    let mut read = pass(2, "read", moved(0, 256), CacheState::Cold, 16 << 20);
    read.replays[1].same_cache = false;
    read.replays[1].cache = CacheState::Mixed { resident_ratio: 0.43 };
    read.figures = vec![figure("read", RateOver::ToolClock, 101.0, 101.2, [60.0, 61.0, 62.0])];
    let mut random = pass(3, "random read", Moved::default(), CacheState::Mixed { resident_ratio: 0.5 }, 0);
    random.replays.clear();
    random.replayed_as.clear();
    random.not_replayed = Some("of what it read 50 % was in the cache: which part is not recorded".to_owned());
    random.figures = vec![ReplicatedFigure {
        claimed: None,
        verdict: None,
        replicated: None,
        no_replicated: random.not_replayed.clone(),
        of_claimed_ratio: None,
        of_observed_ratio: None,
        agrees: None,
        honest: None,
        ..figure("random read", RateOver::ToolClock, 1.0, 55.0, [1.0; 3])
    }];
    Replication {
        activebench: "0.1.0".to_owned(),
        run: "runs/disk-one".to_owned(),
        verdict: RunVerdict::Discrepancy,
        tool: "iozone 3.489".to_owned(),
        command: ["iozone", "-i0", "-i1", "-s16m", "-f", "my file"].map(str::to_owned).to_vec(),
        recorded_on: vec!["/mnt/one: ext4 < sda (scsi)".to_owned()],
        target: "/mnt/two".to_owned(),
        replayed_on: vec!["/mnt/two: ext4 < sdb (scsi)".to_owned()],
        engine: "fio-3.33".to_owned(),
        planned_runs: 3,
        tolerance_ratio: 0.1,
        passes: vec![write, read, random],
        gaps: Vec::new(),
        incomplete: Vec::new(),
        outcome: ReplicationOutcome::Incomplete,
        because: "read, replay 2 of 3: it found the cache otherwise: 43 % there".to_owned(),
        exit_code: 3,
    }
}

#[test]
fn every_format_reads_as_intended() {
    for format in document_formats().map(|format| format.name) {
        let report = rendered(format, &sample());
        insta::assert_snapshot!(format, report);
    }
}

#[test]
fn the_json_report_is_what_its_schema_says() {
    let schema = include_str!("../../../../docs/replication.schema.json");
    let faults = |replication: &Replication| -> Vec<String> { schema_faults(schema, &rendered("json", replication)) };
    let mut unknown = sample();
    unknown.passes[0].cache = CacheState::Unknown { why: "records were lost".to_owned() };
    unknown.passes[1].device_read_bytes = None;
    for replication in [sample(), Replication { passes: Vec::new(), ..sample() }, unknown] {
        assert_eq!(faults(&replication), Vec::<String>::new());
    }
    assert_ne!(faults(&Replication { exit_code: 7, ..sample() }), Vec::<String>::new());
}

#[test]
fn hostile_text_stays_text() {
    let hostile = "\u{1b}[31m|<img src=x>@root\n# x \u{202e}".repeat(50);
    let mut replication = Replication {
        run: hostile.clone(),
        tool: hostile.clone(),
        command: vec![hostile.clone(); 9],
        target: hostile.clone(),
        recorded_on: vec![hostile.clone()],
        replayed_on: vec![hostile.clone()],
        because: hostile.clone(),
        engine: hostile.clone(),
        gaps: vec![hostile.clone()],
        incomplete: vec![hostile.clone()],
        ..sample()
    };
    for pass in &mut replication.passes {
        pass.phases = vec![hostile.clone()];
        pass.notes = vec![hostile.clone(); 99];
        pass.left_out = vec![hostile.clone()];
        pass.replayed_as.clone_from(&hostile);
        for figure in &mut pass.figures {
            figure.phase.clone_from(&hostile);
            figure.no_replicated = Some(hostile.clone());
        }
        for replay in &mut pass.replays {
            replay.differs = Some(hostile.clone());
            replay.engine_refuted = vec![hostile.clone()];
        }
    }
    for format in document_formats().map(|format| format.name) {
        let report = rendered(format, &replication);
        assert!(!report.contains(['\u{1b}', '\u{202e}']), "{format}:\n{report}");
    }
    let markdown = rendered("markdown", &replication);
    assert!(!markdown.contains("|<img") && !markdown.contains("\n# x"), "{markdown}");
    assert!(markdown.chars().count() < LIMIT, "{} characters", markdown.chars().count());
    let page = rendered("html", &replication);
    assert!(!page.contains("<img"), "{page}");
}
