//! Bounds by sets of facts and parts: which part bounds a figure, and when none does.

use activebench_detect::judge::verdicts::judge;
use activebench_detect::registry::DETECTORS;
use activebench_model::bound::{Share, ShareOf, Shares};
use serde_json::{Value, json};

use crate::cases;

const DEVICE: u64 = 265_289_728;

fn part(kind: &str, direction: &str, depth: u32, request: u64, value: f64) -> Value {
    let unit = match kind {
        "random" | "durable" | "calls" => "ops_per_sec",
        "round-trip" => "ns",
        _ => "bytes_per_sec",
    };
    json!({
        "kind": kind, "direction": direction, "request_bytes": request, "depth": depth, "threads": 1,
        "region_bytes": null, "value": {"value": value, "unit": unit}, "missing": null, "how": "made up",
        "repetitions": [value], "spread_ratio": 0.0, "served": null,
    })
}

/// A part of the memory, over a region by threads.
fn memory(kind: &str, request: u64, region: u64, threads: u32, value: f64) -> Value {
    let mut part = part(kind, "read", 1, request, value);
    part["threads"] = threads.into();
    part["region_bytes"] = if kind == "calls" { Value::Null } else { region.into() };
    part
}

fn ceilings(parts: &[Value], notes: &[&str], left_out: &[&str]) -> Value {
    let ceiling = json!({
        "schema": "activebench.ceiling/1", "activebench": "0.1.0", "measured_unix_s": -86_400 * 3, "place": "/mnt/t",
        "target": {"s_dev": DEVICE, "mount_point": "/mnt/t", "fs_type": "ext4", "options": "", "layers": [],
                   "tier": "block"},
        "identity": [], "machine": {"kernel": "6.18.0", "architecture": "x86_64", "cpus": 2, "memory_bytes": null},
        "seconds_per_part": 3.0, "fio": "3.33", "parts": parts, "links": [], "notes": notes,
    });
    json!({"used": [{"targets": [DEVICE], "file": "/c.json", "ceiling": ceiling}], "left_out": left_out})
}

/// Every finding is left out: the parts bound a figure whatever is said against it.
fn shares(base: &str, mut case: Value) -> Shares {
    let codes = DETECTORS.iter().map(|detector| (detector.code.to_owned(), json!("not asked here")));
    case["manifest"]["choices"]["suppressed"] = Value::Object(codes.collect());
    judge(&cases::changed(base, &case).run()).shares
}

#[track_caller]
fn check(base: &str, parts: &[Value], mut case: Value, expected: Option<(f64, &str)>) -> Option<Share> {
    case["manifest"]["ceilings"] = ceilings(parts, &[], &[]);
    let share = shares(base, case).shares.into_iter().find(|share| share.figure == ShareOf::Honest);
    match (&share, expected) {
        (None, None) => {}
        (Some(share), Some((ratio, part))) => {
            assert!((share.ratio - ratio).abs() < 0.001, "{share:#?}");
            assert_eq!(share.part, part);
            assert_eq!(share.bounds.first().map(|bound| bound.value), Some(share.bound), "{share:#?}");
        }
        (share, expected) => panic!("{share:#?} for {expected:?}"),
    }
    share
}

/// 89.48 MB a second in direct reads of 1 MiB, one at a time.
fn one_at_a_time() -> Value {
    json!({"phase": {"submission": "synchronous"}})
}

#[test]
fn a_sequential_pass_is_held_against_its_own_depth() {
    let shallow = part("sequential", "read", 1, 1 << 20, 178.956e6);
    let deep = part("sequential", "read", 32, 1 << 20, 894.78e6);
    let parts = [shallow, deep.clone(), part("random", "read", 1, 4096, 10.0)];
    check(
        "read-direct",
        &parts,
        one_at_a_time(),
        Some((0.5, "what the device gives for sequential 1 MiB reads at depth 1")),
    );
    // How many were in flight is not known, or larger calls than were measured: the deep part is above all.
    let deeper = Some((0.1, "what the device gives for sequential 1 MiB reads at depth 32"));
    check("read-direct", &parts, json!({}), deeper);
    check("read-direct", &parts, json!({"phase": {"submission": "synchronous", "block_bytes": 2 << 20}}), deeper);
    // More in flight than was measured (of a wide stripe, say): nothing bounds them.
    let requests = |block: u64, depth: u32, tasks: u32| {
        json!({"phase": {"block_bytes": block, "submission": "asynchronous", "requested_tasks": tasks,
                         "promises": [{"option": "iodepth", "mechanism": {"queue-depth": depth}}]}})
    };
    check("read-direct", &parts, requests(1 << 20, 32, 1), deeper);
    check("read-direct", &parts, requests(4 << 20, 8, 1), deeper);
    check("read-direct", &parts, requests(4 << 20, 32, 64), None);
    check("read-direct", &parts, requests(1 << 20, 33, 1), None);
    // Nothing replaces a missing measurement.
    check("read-direct", &parts[..1], json!({}), None);
    check("read-direct", &[part("sequential", "write", 32, 1 << 20, 1e9)], json!({}), None);
}

fn random(block: u64, submission: &str, depth: u32, tasks: u32) -> Value {
    json!({
        "phase": {
            "pattern": "random-independent", "block_bytes": block, "submission": submission, "requested_tasks": tasks,
            "promises": [{"option": "iodepth", "mechanism": {"queue-depth": depth}}],
        },
    })
}

#[test]
fn random_requests_are_bounded_by_depth() {
    // 21,845 operations of 4 KiB a second are claimed.
    let parts = [part("random", "read", 1, 4096, 25_000.0), part("random", "read", 32, 4096, 100_000.0)];
    let alone = "what the device gives for random 4 KiB reads at depth 1";
    check("read-direct", &parts, random(4096, "synchronous", 1, 1), Some((0.8738, alone)));
    // Two of them at once, each no faster than alone.
    let two = format!("{alone}, 2 of them at once");
    check("read-direct", &parts, random(4096, "asynchronous", 2, 1), Some((0.4369, &two)));
    check("read-direct", &parts, random(4096, "synchronous", 1, 2), Some((0.4369, &two)));
    // Thirty would do more than the device did with 32.
    let deep = "what the device gives for random 4 KiB reads at depth 32";
    check("read-direct", &parts, random(4096, "asynchronous", 30, 1), Some((0.2185, deep)));
    check("read-direct", &parts, random(4096, "asynchronous", 32, 1), Some((0.2185, deep)));
    // Beyond what was measured there is no bound, nor for smaller requests.
    check("read-direct", &parts, random(4096, "asynchronous", 33, 1), None);
    check("read-direct", &parts, random(512, "synchronous", 1, 1), None);
    // A larger request is not faster than one of 4 KiB.
    check("read-direct", &parts, random(8192, "synchronous", 1, 1), Some((0.4369, alone)));
}

#[test]
fn what_the_storage_did_not_serve_it_does_not_bound() {
    let parts = [part("sequential", "read", 32, 1 << 20, 178.956e6)];
    let with = |bytes: Value| json!({"facts": {"device_read_bytes": bytes, "direct_ratio": 0.5}});
    let deep = "what the device gives for sequential 1 MiB reads at depth 32";
    // A half of the bytes from the device: it could have been twice as fast.
    check("read-direct", &parts, with(536_870_912_u64.into()), Some((0.25, deep)));
    check("read-direct", &parts, with(1_000_000.into()), None);
    check("read-direct", &parts, with(json!({"missing": "no probe"})), None);
}

#[test]
fn cached_calls_are_bounded_by_their_cost_and_their_copy() {
    let cached = |block: u64, tasks: u32| json!({"phase": {"submission": "synchronous", "block_bytes": block, "requested_tasks": tasks}});
    // 100 ns a call, 1 GB a second over much memory and 10 GB a second within the CPU caches.
    let all = |threads: u32, rate: f64| {
        let of = f64::from(threads);
        vec![
            memory("calls", 1, 0, threads, of * 1e7),
            memory("copy", 1 << 20, 1 << 28, threads, of * rate * 1e9),
            memory("copy", 1 << 20, 1 << 20, threads, of * rate * 1e10),
        ]
    };
    let mut parts = all(1, 1.0);
    let share = |parts: &[Value], case: Value, region: u64| {
        let mut case = case;
        case["manifest"]["ceilings"] = ceilings(parts, &[], &[]);
        case["facts"] = json!({"unique_blocks": region >> 20, "block_grid_bytes": 1 << 20});
        let found = shares("read-cached", case).shares;
        found.into_iter().next()
    };
    let large = share(&parts, cached(1 << 20, 1), 1 << 30).expect("a share");
    assert!((large.bound.value / 1e9 - 1.0).abs() < 0.001, "{large:#?}");
    assert_eq!(large.part, "what this machine gives for cached 1 MiB reads by one thread, mostly copies");
    let small = share(&parts, cached(1 << 20, 1), 1 << 20).expect("a share");
    assert!((small.bound.value / 1e10 - 1.0).abs() < 0.001, "{small:#?}");
    // 64 bytes: 100 ns and 63 more bytes at 1 GB a second.
    let bytes = share(&parts, cached(64, 1), 1 << 30).expect("a share");
    assert!((bytes.bound.value - 64e9 / 162.99).abs() < 1e6, "{bytes:#?}");
    assert!(bytes.part.ends_with("cached 64 B reads by one thread, mostly calls"), "{bytes:#?}");
    // Two threads are at most twice one, and at most what both CPUs give together.
    let two = share(&parts, cached(1 << 20, 2), 1 << 30).expect("a share");
    assert!((two.bound.value / 2e9 - 1.0).abs() < 0.001, "{two:#?}");
    parts.extend(all(2, 0.75));
    let two = share(&parts, cached(1 << 20, 2), 1 << 30).expect("a share");
    assert!((two.bound.value / 1.5e9 - 1.0).abs() < 0.001, "{two:#?}");
    // The same part twice is one: of many CPUs the small region is the large one.
    let twice: Vec<Value> = parts.iter().chain(&parts).cloned().collect();
    let again = share(&twice, cached(1 << 20, 2), 1 << 30).expect("a share");
    assert_eq!(again.bound, two.bound);
    // Several requests at once are not calls one after the other.
    assert_eq!(share(&parts, json!({"phase": {"submission": "asynchronous"}}), 1 << 30), None);
}

#[test]
fn latencies_are_bounded_from_below() {
    let parts = [part("random", "read", 1, 4096, 25_000.0)];
    let mut case = random(4096, "synchronous", 1, 1);
    // 45.8 us for one operation, where the device alone takes 40.
    case["claims"] = json!([{
        "metric": "time-per-operation", "value": {"value": 45_776.4, "unit": "ns"}, "resolution": 50.0,
    }]);
    let alone = "what the device gives for random 4 KiB reads at depth 1";
    let share = check("read-direct", &parts, case, Some((0.8738, alone)));
    // 1 GiB in 12 s, 4 KiB each.
    assert!(share.is_some_and(|share| (share.bound.value - 40_000.0).abs() < 1.0));
}

#[test]
fn without_a_ceiling_the_link_is_left() {
    let link = json!({
        "device": DEVICE, "name": "SATA 6.0 Gbps", "source": "/sys/class/ata_link/link1/sata_spd",
        "payload_bytes_per_sec": 600e6,
    });
    let hardware = json!({"manifest": {"host": {"hardware": {"links": [link]}}}});
    let shares = shares("read-direct", hardware.clone());
    let [share] = &shares.shares[..] else { panic!("{shares:#?}") };
    assert_eq!((share.part.as_str(), share.measured), ("what SATA 6.0 Gbps carries", false));
    assert!((share.ratio - 0.1491).abs() < 0.0001, "{share:#?}");
    assert_eq!(shares.notes, Vec::<String>::new());
    // The tighter one is named, whichever it is.
    let parts = [part("sequential", "read", 32, 1 << 20, 300e6)];
    let deep = "what the device gives for sequential 1 MiB reads at depth 32";
    let both = check("read-direct", &parts, hardware.clone(), Some((0.2983, deep))).expect("a share");
    assert_eq!(both.bounds.len(), 2);
    let parts = [part("sequential", "read", 32, 1 << 20, 900e6)];
    check("read-direct", &parts, hardware, Some((0.1491, "what SATA 6.0 Gbps carries")));
}

#[test]
fn writes_that_are_each_durable_are_bounded_by_such_writes() {
    let parts = [part("durable", "write", 1, 4096, 1000.0)];
    let durable = "what the device gives for 4 KiB writes one at a time, each made durable";
    let with = |tasks: u32, block: u64, facts: Value| json!({"phase": {"submission": "synchronous", "requested_tasks": tasks, "block_bytes": block}, "facts": facts});
    let share = |case: Value| {
        let mut case = case;
        case["manifest"]["ceilings"] = ceilings(&parts, &[], &[]);
        let of_honest = |share: &Share| share.figure == ShareOf::Honest && share.part == durable;
        shares("write-osync", case).shares.into_iter().find(of_honest).map(|share| share.bound.value)
    };
    // Each write is synchronous: 1000 of them a second.
    assert_eq!(share(with(1, 262_144, json!({}))), Some(262_144_000.0));
    // A sync after each write does the same.
    let synced = json!({"sync_write_ratio": 0.0, "syncs_inside": 1024, "write_calls": 1024});
    assert_eq!(share(with(1, 262_144, synced)), Some(262_144_000.0));
    // Several tasks share a flush, a sync after some writes is none after each, and smaller writes were not measured.
    assert_eq!(share(with(2, 262_144, json!({}))), None);
    let some = json!({"sync_write_ratio": 0.0, "syncs_inside": 900, "write_calls": 1024});
    assert_eq!(share(with(1, 262_144, some)), None);
    assert_eq!(share(with(1, 512, json!({}))), None);
}

#[test]
fn a_round_trip_bounds_what_a_server_is_asked() {
    let network = json!({
        "phase": {"submission": "synchronous"}, "target": {"tier": "network", "fs_type": "nfs4", "layers": []},
        "facts": {"device_read_bytes": null},
    });
    let mut trip = part("round-trip", "none", 1, 1, 5e6);
    trip["request_bytes"] = Value::Null;
    // 1 MiB each 5 ms.
    check("read-direct", &[trip], network, Some((0.4267, "what one round trip to the server a call allows")));
}

#[test]
fn a_maximum_that_was_exceeded_bounds_nothing() {
    // 89.48 MB a second were read.
    let held_against = |measured: f64| {
        let parts = [part("sequential", "read", 32, 1 << 20, measured), part("random", "read", 1, 4096, 10.0)];
        shares("read-direct", json!({"manifest": {"ceilings": ceilings(&parts, &[], &[])}}))
    };
    let equal = held_against(89e6);
    assert_eq!((equal.shares.len(), equal.exceeded.len(), equal.notes.len()), (1, 0, 1), "{equal:#?}");
    let wrong = held_against(80e6);
    assert_eq!((wrong.shares.len(), wrong.exceeded.len()), (0, 1), "{wrong:#?}");
    assert_eq!(wrong.exceeded[0].file, "/c.json");
    assert_eq!(
        wrong.notes[1..],
        [
            "What the device gives for sequential 1 MiB reads at depth 32 was measured as 76.3 MiB/s, and the run reached \
             85.3 MiB/s: that maximum is not used.",
            "Measure the ceiling again: `activebench ceiling /mnt/t`."
        ]
    );
}

#[test]
fn what_is_to_be_known_of_bounds_is_said() {
    let notes = |ceilings: Value| shares("read-direct", json!({"manifest": {"ceilings": ceilings}})).notes;
    let parts = [part("sequential", "read", 32, 1 << 20, 300e6)];
    assert_eq!(
        notes(ceilings(&parts, &["others used it"], &["/d.json: the kernel was 1 and is 2"])),
        [
            "The ceiling of /mnt/t was measured 3 days before the run.",
            "others used it",
            "A ceiling is left out: /d.json: the kernel was 1 and is 2."
        ]
    );
    assert_eq!(
        notes(json!({"used": [], "left_out": []})),
        ["The disk's maximum is not known. Measure it: `activebench ceiling /mnt/t`."]
    );
    // Nobody looked, or the user said not to.
    assert_eq!(notes(Value::Null), Vec::<String>::new());
}
