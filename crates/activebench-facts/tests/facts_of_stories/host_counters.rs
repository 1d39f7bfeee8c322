//! Facts of a phase from the host's counters, and what these leave uncertain.

use crate::story::*;
use activebench_model::call::open_bits;
use activebench_model::fact::FactName::*;
use activebench_model::host::Tier;
use activebench_model::phase::Phase;
use activebench_model::readings::{Readings, Series, Unread, Watched};

const MIB: u64 = 1 << 20;

fn series(what: Watched, of: &str, source: &str, readings: &[(u64, u64)]) -> Series {
    Series { what, of: of.to_owned(), source: source.to_owned(), readings: readings.to_vec() }
}

/// Creates a tool that writes four blocks, syncs them, and writes them again; readings before, between and after.
fn two_passes(dirty: [u64; 3], sync: bool) -> (Story, Vec<Phase>) {
    let mut story = Story::new();
    story.flags = open_bits::WRITABLE;
    story.open(3, "f");
    let before = story.now;
    story.now += 1000;
    let first = story.writes(3, 4);
    if sync {
        story.fsync(3);
    }
    let between = story.now;
    story.now += 1000;
    let second = story.writes(3, 4);
    let after = story.now;
    let times = [before, between, after];
    let readings: Vec<(u64, u64)> = times.into_iter().zip(dirty).collect();
    let of_dirty = series(Watched::DirtyBytes, "", "/proc/meminfo", &readings);
    story.manifest.host.readings = Some(Readings { series: vec![of_dirty], unread: Vec::new() });
    (story, vec![write_phase(3, first), write_phase(3, second)])
}

#[test]
fn dirty_pages_of_others_are_told_from_the_tools_own() {
    let whole = |bytes: u64| Is::Whole(bytes as f64);
    let check_both = |what: &str, dirty: [u64; 3], sync: bool, expected: [Is; 2]| {
        let (story, phases) = two_passes(dirty, sync);
        let (phases, _) = story.resolve(phases);
        for (phase, expected) in phases.iter().zip(expected) {
            check(what, &phase.facts, &[(ForeignDirtyAtStart, expected)]);
        }
    };
    check_both("synced between", [64 * MIB, 32 * MIB, 0], true, [whole(64 * MIB), whole(32 * MIB)]);
    // At most the smallest reading so far is left.
    check_both("synced between", [2 * MIB, 32 * MIB, 0], true, [whole(2 * MIB), whole(2 * MIB)]);
    // A few KiB of its own do not hide 32 MiB. Both passes are one sequence of writes, of which all bytes are
    // subtracted.
    check_both("not synced", [64 * MIB, 32 * MIB, 0], false, [whole(64 * MIB), whole(32 * MIB - 8 * BLOCK)]);
    // Data that may all be the tool's own does not certainly belong to others.
    let part = Is::Part(4.0 * BLOCK as f64, "the tool itself had written");
    check_both("not synced", [MIB, 4 * BLOCK, 0], false, [whole(MIB), part]);
}

/// Creates a pass of reads from 10,000 to 20,000 ns with readings around it.
fn one_pass(readings: Option<Readings>) -> (Story, Phase) {
    let mut story = Story::new();
    story.open(3, "f");
    story.now = 10_000;
    story.read(3, 0);
    story.now = 20_000 - CALL_NS;
    story.read(3, 1);
    story.manifest.host.readings = readings;
    (story, read_phase(3, (10_000, 20_000)))
}

#[test]
fn counters_are_laid_against_the_window() {
    let of = |swapped: &[(u64, u64)], stalled: &[(u64, u64)]| Readings {
        series: vec![
            series(Watched::SwappedPages, "", "/proc/vmstat", swapped),
            series(Watched::MemoryStalled, "", "/proc/pressure/memory", stalled),
        ],
        unread: Vec::new(),
    };
    let check_one = |what: &str, readings: Readings, expected: &[(activebench_model::fact::FactName, Is)]| {
        let (story, phase) = one_pass(Some(readings));
        check(what, &story.facts(phase), expected);
    };
    let quiet = of(&[(5_000, 7), (25_000, 7)], &[(5_000, 9), (25_000, 9)]);
    check_one("quiet", quiet, &[(SwappedPages, count(0)), (MemoryStall, count(0)), (MemoryStallShare, count(0))]);
    let inside = of(&[(5_000, 7), (12_000, 7), (15_000, 10), (25_000, 10)], &[(9_000, 0), (10_000, 0), (20_000, 50)]);
    check_one(
        "inside",
        inside,
        &[(SwappedPages, count(3)), (MemoryStall, count(50)), (MemoryStallShare, Is::Whole(0.005))],
    );
    let beside = of(&[(5_000, 7), (12_000, 10), (25_000, 10)], &[(0, 0), (20_000, 8_000)]);
    let expected = [
        (SwappedPages, Is::Part(3.0, "just before or after")),
        (MemoryStall, Is::Part(4_000.0, "between 0 ns and 8 µs")),
        (MemoryStallShare, Is::Part(0.4, "between")),
        (MemoryStallError, count(4_000)),
    ];
    check_one("beside", beside, &expected);
    let short = of(&[(12_000, 7), (25_000, 7)], &[(5_000, 9), (15_000, 9)]);
    let why = "do not cover the pass";
    check_one("short", short, &[(SwappedPages, Is::Missing(why)), (MemoryStall, Is::Missing(why))]);
}

#[test]
fn changes_of_the_clocks_add_up_in_both_directions() {
    let of = |wall: &[(u64, u64)], suspended: &[(u64, u64)]| Readings {
        series: vec![
            series(Watched::WallClock, "", "clock_gettime", wall),
            series(Watched::Suspended, "", "clock_gettime", suspended),
        ],
        unread: Vec::new(),
    };
    let check_one = |what: &str, readings: Readings, expected: &[(activebench_model::fact::FactName, Is)]| {
        let (story, phase) = one_pass(Some(readings));
        check(what, &story.facts(phase), expected);
    };
    let steady = of(&[(5_000, 70), (25_000, 70)], &[(5_000, 0), (25_000, 0)]);
    check_one("steady", steady, &[(WallClockJumps, count(0)), (Suspended, count(0))]);
    // Set forwards and back: nothing is left of it at the end.
    let set = of(&[(5_000, 70), (11_000, 70), (12_000, 90), (13_000, 70), (25_000, 70)], &[(5_000, 0), (25_000, 0)]);
    check_one("set", set, &[(WallClockJumps, count(40)), (Suspended, count(0))]);
    let asleep = of(
        &[(5_000, 70), (11_000, 70), (12_000, 79), (25_000, 79)],
        &[(5_000, 4), (11_000, 4), (12_000, 13), (25_000, 13)],
    );
    check_one("asleep", asleep, &[(WallClockJumps, count(9)), (Suspended, count(9))]);
    let beside = of(&[(5_000, 70), (12_000, 90), (25_000, 90)], &[(12_000, 0), (25_000, 0)]);
    let expected = [(WallClockJumps, Is::Part(20.0, "just before or after")), (Suspended, Is::Missing("do not cover"))];
    check_one("beside", beside, &expected);
    let (story, phase) = one_pass(Some(Readings::default()));
    check("not read", &story.facts(phase), &[(WallClockJumps, Is::Absent), (Suspended, Is::Absent)]);
}

#[test]
fn the_larger_of_two_stalls_counts() {
    let readings = Readings {
        series: vec![
            series(Watched::MemoryStalled, "", "/proc/pressure/memory", &[(5_000, 0), (25_000, 0)]),
            series(Watched::GroupMemoryStalled, "", "/g/memory.pressure", &[(5_000, 0), (10_000, 0), (20_000, 100)]),
        ],
        unread: Vec::new(),
    };
    let (story, phase) = one_pass(Some(readings));
    let facts = story.facts(phase);
    check("group", &facts, &[(MemoryStall, count(100))]);
    assert_eq!(facts.get(MemoryStall).map(|fact| fact.source.as_str()), Some("/g/memory.pressure"));
}

#[test]
fn a_host_that_was_not_read_is_missing_and_one_without_is_absent() {
    let expected = |is: fn() -> Is| [ForeignDirtyAtStart, SwappedPages, MemoryStall].map(|name| (name, is()));
    let (story, phase) = one_pass(None);
    let facts = story.facts(phase);
    check("old run", &facts, &expected(|| Is::Missing("this run has no readings of the host")));
    check(
        "old run",
        &facts,
        &[(FrequencyDrop, Is::Missing("no readings")), (ThermalThrottles, Is::Missing("no readings"))],
    );
    check("old run", &facts, &[(HotDisks, Is::Missing("no readings")), (NetworkReceived, Is::Absent)]);
    let absent = |what| Unread { what, why: "there is none".to_owned(), is_absent: true };
    let unread = [Watched::Frequency, Watched::ThermalThrottles, Watched::HotDisks].map(absent).to_vec();
    let (story, phase) = one_pass(Some(Readings { series: Vec::new(), unread }));
    let facts = story.facts(phase);
    check("no such thing", &facts, &[FrequencyDrop, ThermalThrottles, HotDisks].map(|name| (name, Is::Absent)));
    check("no such thing", &facts, &expected(|| Is::Missing("it was not read")));
}

#[test]
fn heat_and_frequencies() {
    let readings = Readings {
        series: vec![
            series(
                Watched::Frequency,
                "",
                "cpufreq",
                &[(5_000, 4_000), (10_000, 3_000), (15_000, 2_400), (25_000, 2_400)],
            ),
            series(Watched::ThermalThrottles, "", "thermal_throttle", &[(5_000, 11), (15_000, 14), (25_000, 14)]),
            series(Watched::HotDisks, "nvme0", "hwmon", &[(5_000, 0), (25_000, 1)]),
            series(Watched::HotDisks, "nvme1", "hwmon", &[(5_000, 1), (25_000, 1)]),
        ],
        unread: Vec::new(),
    };
    let (story, phase) = one_pass(Some(readings));
    let expected = [
        (FrequencyDrop, Is::Whole(0.2)),
        (ThermalThrottles, count(3)),
        (HotDisks, Is::Part(1.0, "when during the run")),
    ];
    check("hot", &story.facts(phase), &expected);
}

#[test]
fn a_network_file_system_receives() {
    let by_client = series(Watched::ServerReadBytes, "/mnt", "/proc/self/mountstats", &[(5_000, 100), (25_000, 8_292)]);
    let by_interfaces = series(Watched::NetworkReceived, "", "/proc/net/dev", &[(5_000, 0), (25_000, 9_000)]);
    let check_one = |series: Vec<Series>, bytes: u64, source: &str| {
        let (mut story, phase) = one_pass(Some(Readings { series, unread: Vec::new() }));
        story.manifest.host.targets[0].tier = Tier::Network;
        story.manifest.host.targets[0].fs_type = "nfs4".to_owned();
        let facts = story.facts(phase);
        check(source, &facts, &[(NetworkReceived, count(bytes))]);
        assert_eq!(facts.get(NetworkReceived).map(|fact| fact.source.as_str()), Some(source));
    };
    check_one(vec![by_interfaces.clone(), by_client], 8_192, "/proc/self/mountstats");
    check_one(vec![by_interfaces.clone()], 9_000, "/proc/net/dev");
    // A hypervisor's file system and RDMA bypass the interfaces, which are then idle: the fact is missing.
    for (fs_type, options) in [("virtiofs", ""), ("9p", "trans=virtio"), ("nfs4", "rw,proto=rdma"), ("lustre", "")] {
        let readings = Readings { series: vec![by_interfaces.clone()], unread: Vec::new() };
        let (mut story, phase) = one_pass(Some(readings));
        let target = &mut story.manifest.host.targets[0];
        (target.tier, target.fs_type, target.options) = (Tier::Network, fs_type.to_owned(), options.to_owned());
        check(fs_type, &story.facts(phase), &[(NetworkReceived, Is::Missing("nothing counts what"))]);
    }
}
