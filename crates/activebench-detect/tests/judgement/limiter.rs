//! The bottleneck of a phase by sets of facts: each kind, its nearest neighbour, and missing facts.

use activebench_detect::judge::verdicts::judge;
use activebench_model::limiter::{Limiter, LimiterKind};
use activebench_model::thread_stacks::{CpuProfile, HotFunction};
use serde_json::{Value, json};

use crate::cases::{self, Stored};

fn limiter(stored: &Stored) -> Limiter {
    judge(&stored.run()).limiters.remove(0)
}

#[track_caller]
fn check(base: &str, case: Value, expected: LimiterKind, said: &str) {
    let limiter = limiter(&cases::changed(base, &case));
    assert_eq!(limiter.kind, Some(expected), "{}", limiter.sentence);
    assert!(limiter.sentence.contains(said), "{}", limiter.sentence);
    assert_eq!(crate::wording::fault(&limiter.sentence), None, "{}", limiter.sentence);
    assert!(!limiter.figures.is_empty() && !limiter.facts.is_empty(), "{limiter:?}");
}

/// The facts of a window of 12 s of one thread, in seconds.
fn times(user: f64, kernel: f64, blocked: f64, preempted: f64) -> Value {
    json!({
        "user_cpu_ns": user * 1e9, "kernel_cpu_ns": kernel * 1e9, "off_cpu_ns": (blocked + preempted) * 1e9,
        "blocked_ns": blocked * 1e9, "iowait_ns": blocked * 1e9, "preempted_ns": preempted * 1e9,
    })
}

fn with(facts: &Value, more: Value) -> Value {
    let mut facts = facts.clone();
    facts.as_object_mut().expect("facts").extend(more.as_object().expect("facts").clone());
    json!({ "facts": facts })
}

#[test]
fn the_device_or_one_request_at_a_time() {
    let waiting = times(0.1, 0.9, 11.0, 0.0);
    let at = |busy_s: f64, depth: f64| {
        with(&waiting, json!({"device_busy_ns": busy_s * 1e9, "device_queue_depth_mean": depth}))
    };
    check("read-direct", at(11.0, 15.8), LimiterKind::Device, "15.8 requests in flight on average, 5.50 ms each");
    check("read-direct", at(6.0, 1.5), LimiterKind::Device, "the device was busy for 50 %");
    check("read-direct", at(11.0, 1.4), LimiterKind::QueueDepth, "One request at a time");
    let none = limiter(&cases::changed("read-direct", &at(5.9, 4.0)));
    assert_eq!(none.kind, None);
    assert!(none.sentence.starts_with("Unknown: the threads waited for 91.7 %"), "{}", none.sentence);
}

#[test]
fn the_processor_in_the_tool_in_the_kernel_or_copying() {
    check("read-cached", with(&times(8.0, 3.9, 0.1, 0.0), json!({})), LimiterKind::CpuUser, "the tool's own code");
    check(
        "read-cached",
        with(&times(0.1, 11.8, 0.1, 0.0), json!({})),
        LimiterKind::PageCacheCopy,
        "delivered none of the data",
    );
    let half = json!({"cache_inserted_bytes": 536_870_911});
    check("read-cached", with(&times(0.1, 11.8, 0.1, 0.0), half), LimiterKind::PageCacheCopy, "50.0 %");
    // Read from storage, and the CPU was the limit all the same: not the copy alone.
    let inserted = json!({"cache_inserted_bytes": 1_073_741_824});
    check("read-cached", with(&times(0.1, 11.8, 0.1, 0.0), inserted), LimiterKind::CpuKernel, "1 MiB per call");
    let bytes = json!({"modal_request_bytes": 1});
    check("write-default", with(&times(4.0, 7.9, 0.1, 0.0), bytes), LimiterKind::CpuKernel, "1 B per call");
    let below_a_sector = json!({"modal_request_bytes": 511});
    check("write-default", with(&times(4.0, 7.9, 0.1, 0.0), below_a_sector), LimiterKind::CpuKernel, "511 B per call");
    let sectors = json!({"modal_request_bytes": 512});
    check(
        "write-default",
        with(&times(4.0, 7.9, 0.1, 0.0), sectors),
        LimiterKind::PageCacheCopy,
        "written into memory",
    );
    check("read-direct", with(&times(0.1, 6.0, 5.9, 0.0), json!({})), LimiterKind::CpuKernel, "kernel 50 %");
    // Eight threads on two CPUs: each has a quarter, and there is no more.
    let all = json!({"active_tasks": 8, "user_cpu_ns": 2e9, "kernel_cpu_ns": 20e9, "off_cpu_ns": 74e9,
        "blocked_ns": 2e9, "iowait_ns": 0, "preempted_ns": 72e9});
    check("read-cached", json!({ "facts": all }), LimiterKind::PageCacheCopy, "for 22.9 % of their time");
    check("read-cached", with(&times(0.1, 4.0, 1.0, 6.9), json!({})), LimiterKind::ProcessorWait, "57.5 %");
}

#[test]
fn syncs_after_little_data_or_writing_back() {
    // 10 s in syncs of 1 GiB: 256 KiB each, then 2 MiB each.
    let busy = json!({"syncs_inside": 4096, "sync_latency_mean_ns": 2_441_406, "write_latency_mean_ns": 1_000_000});
    let each = "4096 syncs, one per 256 KiB";
    check("write", with(&times(0.1, 0.9, 11.0, 0.0), busy), LimiterKind::SyncLatency, each);
    let few = json!({"syncs_inside": 512, "sync_latency_mean_ns": 19_531_250, "write_latency_mean_ns": 1_000_000});
    check("write", with(&times(0.1, 0.9, 11.0, 0.0), few), LimiterKind::Device, "");
    let at_the_limit =
        json!({"syncs_inside": 1024, "sync_latency_mean_ns": 9_765_625, "write_latency_mean_ns": 1_000_000});
    check("write", with(&times(0.1, 0.9, 11.0, 0.0), at_the_limit), LimiterKind::Device, "");
    let below_it = json!({"syncs_inside": 1366, "sync_latency_mean_ns": 7_320_000, "write_latency_mean_ns": 1_000_000});
    check("write", with(&times(0.1, 0.9, 11.0, 0.0), below_it), LimiterKind::SyncLatency, "one per 768 KiB");
    // Less than half of the time.
    let quick = json!({"syncs_inside": 4096, "sync_latency_mean_ns": 1_464_000, "write_latency_mean_ns": 5_000_000});
    check("write", with(&times(0.1, 0.9, 11.0, 0.0), quick), LimiterKind::Device, "");
    let osync = json!({"write_calls": 4096, "write_latency_mean_ns": 2_800_000});
    check("write-osync", with(&times(0.1, 0.9, 11.0, 0.0), osync), LimiterKind::SyncLatency, "each write of 256 KiB");
}

#[test]
fn the_tool_itself_by_where_its_threads_waited() {
    let idle = |mean: u64| {
        let facts = json!({"iowait_ns": 0, "device_busy_ns": 600_000_000_u64, "read_latency_mean_ns": mean});
        with(&times(0.1, 0.5, 11.4, 0.0), facts)
    };
    // 1,024 calls of 1 ms in 12 s: the rest was outside of them.
    check("read-direct", idle(1_000_000), LimiterKind::ToolLimit, "outside of their calls for 90.6 %");
    let mut fio = idle(1_000_000);
    fio["manifest"] = json!({"command": {"argv": ["fio", "--name=a", "--rate=1m"]}});
    fio["parsed"] = json!({"tool": "fio"});
    check("read-direct", fio, LimiterKind::ToolLimit, "The tool limited itself (`--rate=1m`)");
    let mut iozone = idle(1_000_000);
    iozone["manifest"] = json!({"command": {"argv": ["iozone", "-i1", "-J", "10", "-s1g"]}});
    check("read-direct", iozone, LimiterKind::ToolLimit, "The tool limited itself (`-J`)");
    // Asynchronous: what the calls of one thread take says nothing, what the device had does.
    let mut asynchronous = idle(200_000_000);
    asynchronous["phase"] = json!({"submission": "asynchronous"});
    check("read-direct", asynchronous, LimiterKind::ToolLimit, "the device was busy for 5 %");
    // Inside of its calls, and alone: there is nobody to wait for.
    let inside = limiter(&cases::changed("read-direct", &idle(11_000_000)));
    assert_eq!(inside.kind, None, "{}", inside.sentence);
}

#[test]
fn a_lock_by_waiting_that_is_not_for_io_or_by_spinning() {
    let two = |io_wait: f64, busy: f64, depth: f64| {
        let facts = json!({"active_tasks": 2, "iowait_ns": io_wait * 1e9, "device_busy_ns": busy * 1e9,
            "device_queue_depth_mean": depth});
        with(&times(0.1, 0.9, 11.0, 0.0), facts)
    };
    check("read-direct", two(5.0, 11.0, 0.9), LimiterKind::Lock, "2 tasks had 0.900 requests in flight");
    check("read-direct", two(5.0, 2.0, 0.2), LimiterKind::Lock, "Of the waiting of 2 tasks 45.5 % was for I/O");
    check("read-direct", two(6.0, 11.0, 0.9), LimiterKind::QueueDepth, "");
    check("read-direct", two(5.0, 11.0, 1.6), LimiterKind::Device, "");

    let spinning = |sample_ratio: f64| {
        let mut stored = cases::changed("read-direct", &with(&times(0.1, 11.8, 0.1, 0.0), json!({})));
        let function = |symbol: &str, sample_ratio| HotFunction {
            symbol: Some(symbol.to_owned()),
            module: Some("[kernel]".to_owned()),
            file_offset: None,
            in_kernel: true,
            samples: 100,
            sample_ratio,
        };
        let functions =
            vec![function("native_queued_spin_lock_slowpath", sample_ratio - 0.1), function("osq_lock", 0.1)];
        let profile = CpuProfile { functions, ..CpuProfile::default() };
        stored.profiles.phases.insert("read".to_owned(), profile);
        limiter(&stored).kind
    };
    assert_eq!(spinning(0.6), Some(LimiterKind::Lock));
    assert_eq!(spinning(0.4), Some(LimiterKind::CpuKernel));
}

#[test]
fn a_control_group_comes_before_a_device_that_looks_slow() {
    let limited = |per_second: f64| {
        json!({"manifest": {"host": {"io_limits": [{
            "group": "/bench", "file": "io.max", "device": 265_289_728, "direction": "read",
            "per_second": {"value": per_second, "unit": "bytes_per_sec"},
        }]}}})
    };
    // 1 GiB in 12 s is 85.33 MiB/s.
    check("read-direct", limited(89_478_485.0), LimiterKind::Throttling, "io.max of /bench allows 85.3 MiB/s");
    check("read-direct", limited(111_000_000.0), LimiterKind::Throttling, "80.8 % of that");
    check("read-direct", limited(113_000_000.0), LimiterKind::Device, "");
    let mut unknown = limited(89_478_485.0);
    unknown["facts"] = json!({"device_total_bytes": {"missing": "the block probe was not attached"}});
    let unknown = limiter(&cases::changed("read-direct", &unknown));
    assert_eq!(unknown.kind, None);
    assert!(unknown.sentence.contains("device_total_bytes is missing"), "{}", unknown.sentence);
}

#[test]
fn nothing_took_half_of_the_time() {
    let even = with(&times(2.0, 3.0, 5.0, 2.0), json!({}));
    check("read-direct", even, LimiterKind::Mixed, "user mode 16.7 %, kernel 25 %, blocked 41.7 %");
}

/// Removes each fact that an honest run's answer depends on: no other answer may follow.
#[test]
fn a_missing_fact_is_named_and_never_replaced_by_a_guess() {
    for path in cases::files(&cases::fixtures().join("honest")) {
        let base = cases::stem(&path);
        let whole = limiter(&cases::honest(&base));
        for name in &whole.facts {
            let case = json!({"facts": {name.as_str(): {"missing": "it was lost"}}});
            let without = limiter(&cases::changed(&base, &case));
            match without.kind {
                None => {
                    assert!(without.sentence.starts_with("Unknown: "), "{}", without.sentence);
                    assert!(without.sentence.contains(name.as_str()), "{base}: {}", without.sentence);
                }
                // Evidence that only explains the cause may be left out.
                Some(LimiterKind::CpuKernel) if whole.kind == Some(LimiterKind::PageCacheCopy) => {}
                kind => assert_eq!(kind, whole.kind, "{base} without {}: {}", name.as_str(), without.sentence),
            }
        }
    }
}
