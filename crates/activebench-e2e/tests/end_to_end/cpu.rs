//! Use of the threads' time: totals of each thread, stack samples, the host's steal time.

use std::collections::HashMap;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::path::Path;
use std::time::Duration;

use activebench_e2e::{Verified, Volume, binary, facts, needs, rows, skip, stage, verify};
use serde_json::Value;

/// Number of blocks of each thread, and milliseconds of computing or sleep after each.
const ROUNDS: u64 = 30;
const MS: u64 = 10;
/// Minimum time that each thread took.
const LEAST_NS: f64 = (ROUNDS * MS * 1_000_000) as f64;

fn json(run: &Verified, name: &str) -> Value {
    serde_json::from_slice(&std::fs::read(run.run.join(name)).expect(name)).expect("JSON")
}

/// Returns the profile of each phase, by the phase.
fn profiles(run: &Verified) -> HashMap<String, Value> {
    let rows = stage(&run.run, "profiles").into_iter();
    rows.map(|row| (row["phase"].as_str().expect("a phase").to_owned(), row)).collect()
}

/// Runs two threads of our own: one computes, one sleeps.
fn run(volume: &Volume, options: &[&str]) -> Verified {
    let (program, folder) = (binary(), volume.path());
    let (rounds, ms) = (ROUNDS.to_string(), MS.to_string());
    let (program, folder) = (program.to_str().expect("UTF-8"), folder.to_str().expect("UTF-8"));
    let command = [program, "__workload", "cpu", "--rounds", &rounds, "--ms", &ms, folder];
    let run = verify(volume, options, &command);
    run.assert_nothing_lost();
    run
}

/// Returns the reason why this kernel takes no samples; `None` when it does.
fn no_samples(run: &Verified) -> Option<String> {
    json(run, "run.json")["coverage"]["sampling"]["why_not"].as_str().map(str::to_owned)
}

/// Returns the output of `getrusage` for each thread, by its name.
fn usage(run: &Verified) -> HashMap<String, Value> {
    let output = std::fs::read_to_string(run.run.join("stdout.txt")).expect("the tool's output");
    let lines = output.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    lines.map(|line| (line["name"].as_str().expect("a name").to_owned(), line)).collect()
}

/// Returns the only thread of a phase.
fn only_thread(profiles: &HashMap<String, Value>, phase: &str) -> Value {
    let threads = profiles[phase]["threads"].as_array().unwrap_or_else(|| panic!("{phase} of {profiles:#?}"));
    assert_eq!(threads.len(), 1, "{phase}: {threads:?}");
    threads[0].clone()
}

fn ns(thread: &Value, state: &str) -> f64 {
    thread["times"][format!("{state}_ns")].as_f64().expect("a time")
}

fn on_cpu(thread: &Value) -> f64 {
    ns(thread, "user") + ns(thread, "kernel")
}

fn error(thread: &Value) -> f64 {
    thread["error_ns"].as_f64().expect("a bound")
}

/// Asserts that the times of a thread add up to its window.
fn assert_whole(thread: &Value) {
    let sum = on_cpu(thread) + ns(thread, "blocked") + ns(thread, "preempted");
    let window = thread["window_ns"].as_f64().expect("a length");
    assert!((sum - window).abs() < 100.0, "{sum} of {window}: {thread}");
    assert!(ns(thread, "iowait") <= ns(thread, "blocked"), "{thread}");
}

#[test]
fn a_thread_that_computes_is_told_from_one_that_sleeps() {
    needs!("mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 64, "noatime");
    let run = run(&volume, &[]);
    let (profiles, usage) = (profiles(&run), usage(&run));
    let (computes, sleeps) = (only_thread(&profiles, "write-computes"), only_thread(&profiles, "write-sleeps"));
    for (name, thread) in [("computes", &computes), ("sleeps", &sleeps)] {
        assert_eq!((thread["tid"].clone(), thread["comm"].as_str()), (usage[name]["tid"].clone(), Some(name)));
        assert_whole(thread);
        assert!(error(thread) < LEAST_NS / 2.0, "{thread}");
    }
    // At least the time that the workload asked for, and about the time in the kernel's own account.
    assert!(on_cpu(&computes) >= LEAST_NS - error(&computes) - 1e6, "{computes}");
    let told = ["user_ns", "kernel_ns"].iter().map(|name| usage["computes"][name].as_f64().expect("ns")).sum::<f64>();
    assert!((0.7..1.4).contains(&(on_cpu(&computes) / told)), "{computes} and {told}");
    assert!(ns(&computes, "user") > 2.0 * ns(&computes, "kernel"), "{computes}");
    assert!(ns(&sleeps, "blocked") >= LEAST_NS - error(&sleeps) - 1e6, "{sleeps}");
    assert!(ns(&sleeps, "blocked") > 2.0 * on_cpu(&sleeps), "{sleeps}");
    assert!(ns(&computes, "blocked") < ns(&sleeps, "blocked"), "{computes} {sleeps}");
    // The whole run includes its tasks.
    let whole = facts(&run.run, "(run)");
    let of_run = |name: &str| whole[name]["value"].as_f64();
    assert!(of_run("user_cpu_ns") >= Some(ns(&computes, "user") - error(&computes)), "{whole:#?}");
    assert!(of_run("blocked_ns") >= Some(ns(&sleeps, "blocked") - error(&sleeps)), "{whole:#?}");
}

#[test]
fn samples_name_the_function_that_computes() {
    needs!("mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 64, "noatime");
    let run = run(&volume, &[]);
    if let Some(why) = no_samples(&run) {
        skip(&format!("no stack samples: {why}"));
        return;
    }
    let profiles = profiles(&run);
    let computes = &profiles["write-computes"];
    let due = on_cpu(&only_thread(&profiles, "write-computes")) / 1e9 * 997.0;
    let samples = computes["samples"].as_f64().expect("a number");
    assert!((0.5..1.5).contains(&(samples / due)), "{samples} of {due}");
    assert!(computes["user_samples"].as_f64() > Some(samples / 2.0), "{computes:#}");
    let hottest = &computes["functions"][0];
    assert!(hottest["symbol"].as_str().expect("a symbol").contains("compute_in_user_mode"), "{computes:#}");
    let module = hottest["module"].as_str().expect("a module");
    assert_eq!(Path::new(module).file_name(), binary().file_name());
    assert!(hottest["sample_ratio"].as_f64() > Some(0.5), "{computes:#}");
    let sleeps = &profiles["write-sleeps"];
    assert!(sleeps["samples"].as_f64() < Some(samples / 2.0), "{sleeps:#}");

    // Every sample is one row, and every stack that it names exists.
    let of_run = run.rows("samples");
    let stacks = run.rows("stacks");
    assert_eq!(json(&run, "run.json")["coverage"]["records"]["samples"]["received"], of_run.len());
    for row in &of_run {
        assert!(row["stack"].parse::<usize>().expect("a stack") < stacks.len(), "{row:?}");
    }
    assert!(stacks.iter().any(|row| row["frames"].contains("compute_in_user_mode")));
    // The record does not reveal the kernel's addresses in memory.
    let text = std::fs::read_to_string(run.run.join("stacks.json")).expect("stacks.json");
    let frames = serde_json::from_str::<Value>(&text).expect("JSON");
    let is_high = |frame: &Value| frame["file_offset"].as_u64() >= Some(1 << 47);
    assert!(!frames["frames"].as_array().expect("frames").iter().any(is_high));
    // People can see it in the report, too.
    let facts = run.rows("facts");
    let named = facts.iter().find(|row| row["phase"] == "write-computes" && row["fact"] == "hot_function_ratio");
    assert!(named.expect("a row")["of"].contains("compute_in_user_mode"));
    let report = std::fs::read_to_string(run.run.join("report.txt")).expect("the report");
    let unwrapped: String = report.split_whitespace().collect();
    assert!(unwrapped.contains("compute_in_user_mode"), "{report}");
}

#[test]
fn without_samples_the_times_are_still_there() {
    needs!("mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 64, "noatime");
    let run = run(&volume, &["--sample-hz", "0"]);
    let coverage = &json(&run, "run.json")["coverage"];
    assert_eq!(coverage["records"]["samples"]["made"], 0);
    assert!(coverage["sampling"]["why_not"].as_str().expect("a reason").contains("turned off"), "{coverage:#}");
    let attached = coverage["probes"].as_array().expect("probes");
    assert!(attached.iter().all(|probe| probe["attached"] == true), "{attached:#?}");
    let facts = rows(&run.run, "facts");
    let fact = |phase: &str, name: &str| -> &HashMap<String, String> {
        facts.iter().find(|row| row["phase"] == phase && row["fact"] == name).expect("a fact")
    };
    assert!(fact("write-computes", "stack_samples")["completeness.why"].contains("turned off"));
    // A sleeping thread returns to a CPU all the time: its totals are known.
    let sleeps = only_thread(&profiles(&run), "write-sleeps");
    assert_whole(&sleeps);
    assert!(ns(&sleeps, "blocked") > 2.0 * on_cpu(&sleeps), "{sleeps}");
}

#[test]
fn steal_is_a_figure_of_the_host_or_missing_for_a_reason() {
    needs!("mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 64, "noatime");
    let run = run(&volume, &[]);
    for phase in ["(run)", "write-computes", "write-sleeps"] {
        let fact = &facts(&run.run, phase)["steal_ns"];
        assert_eq!(fact["scope"], "host", "{fact}");
        match fact["value"].as_f64() {
            Some(steal) => assert!(steal >= 0.0, "{fact}"),
            None => assert!(fact["completeness"]["why"].as_str().is_some_and(|why| !why.is_empty()), "{fact}"),
        }
    }
    let has_steal = std::fs::read_to_string("/proc/stat").is_ok_and(|text| {
        text.lines().find(|line| line.starts_with("cpu0")).is_some_and(|line| line.split_whitespace().count() > 8)
    });
    assert_eq!(run.rows("steal").is_empty(), !has_steal);
}

/// The unobserved figure of each rate and latency lies where the facts put it: a pass that nothing but the CPU limits
/// would have been faster, and one that the tool limits itself may have been as fast. Fewer calls took less.
#[test]
fn each_rate_and_latency_has_an_interval_without_the_observation() {
    needs!("mkfs.ext4", "losetup", "fio");
    let volume = Volume::on_loop("ext4", 256, "noatime");
    volume.lay_out("data", 32);
    let file = volume.path().join("data");
    let file = format!("--filename={}", file.display());
    let job = ["fio", "--name=p", &file, "--rw=randread", "--bs=4k", "--size=32m", "--invalidate=0"];
    let timed = ["--time_based", "--runtime=1", "--ioengine=psync", "--norandommap"];
    std::fs::read(volume.path().join("data")).expect("into the cache");
    let measured = |more: &[&str]| {
        let run = verify(&volume, &[], &[&job[..], &timed, more].concat());
        run.assert_nothing_lost();
        let phase = run.report["claims"][0]["phase"].as_str().expect("a phase").to_owned();
        let share = |name| run.fact(&phase, name);
        let shares = [share("observer_share_least_ratio"), share("observer_share_most_ratio")];
        let claims = run.report["claims"].as_array().expect("claims").clone();
        for claim in &claims {
            let (metric, value) =
                (claim["metric"].as_str().expect("a metric"), claim["value"].as_f64().expect("a value"));
            let stated = &claim["unobserved"];
            if metric.starts_with("cpu-") || metric.ends_with("-done") || metric == "bytes-moved" {
                assert!(stated.is_null(), "{metric}: {stated}");
                continue;
            }
            let bound =
                |name: &str| stated[name].as_f64().unwrap_or_else(|| panic!("{metric} has no {name}: {stated}"));
            let (low, middle, high) = (bound("low"), bound("value"), bound("high"));
            assert!(low <= middle && middle <= high, "{metric}: {stated}");
            match metric.contains("latency") {
                true => assert!(high <= value && low >= 0.0, "{metric} {value}: {stated}"),
                false => assert!(low >= value, "{metric} {value}: {stated}"),
            }
            let again = &stated["again"];
            assert!(again["low"].as_f64() <= Some(low) && again["high"].as_f64() >= Some(high), "{metric}: {stated}");
        }
        (shares, run.fact(&phase, "system_calls"), run.fact(&phase, "observer_call_delay_ns"))
    };
    let (cached, calls, delay_ns) = measured(&[]);
    assert!(cached[0] <= cached[1] && cached[1] < 0.9, "{cached:?}");
    assert!(calls > 1000.0 && delay_ns > 0.0, "{calls} calls, {delay_ns} ns each");
    let (limited, fewer_calls, _) = measured(&["--rate_iops=2000"]);
    assert_eq!(limited[0], 0.0, "the tool's own limit");
    assert!(fewer_calls < calls && limited[1] < cached[1], "{limited:?} of {fewer_calls}, {cached:?} of {calls}");
}

/// Has the kernel time every run of every program, as another tracer may, until it is dropped.
fn timed_for_somebody_else() -> OwnedFd {
    const BPF_ENABLE_STATS: libc::c_int = 32;
    // `enum bpf_stats_type`: run times.
    let kind = 0_u32;
    // SAFETY: the command reads the 4 bytes that it is given.
    let fd = unsafe { libc::syscall(libc::SYS_bpf, BPF_ENABLE_STATS, &raw const kind, size_of_val(&kind)) };
    let fd = RawFd::try_from(fd).ok().filter(|fd| *fd >= 0).expect("root may have programs timed");
    // SAFETY: the kernel has just made it.
    unsafe { OwnedFd::from_raw_fd(fd) }
}

#[test]
fn programs_that_another_process_had_timed_for_a_moment_are_timed_to_the_end() {
    needs!("dd", "mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 64, "noatime");
    let timed = timed_for_somebody_else();
    let other = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(1200));
        drop(timed);
    });
    const BLOCKS: u32 = 1_500_000;
    let count = format!("count={BLOCKS}");
    let run = verify(&volume, &[], &["dd", "if=/dev/zero", "of=/dev/null", "bs=512", &count]);
    other.join().expect("it sleeps");
    let manifest = json(&run, "run.json");
    let readings = manifest["coverage"]["program_times"]["readings"].as_array().expect("readings");
    let last = readings.last().expect("one").clone();
    let runs = last["calls"]["runs"].as_f64().expect("a count");
    // A read and a write of each block, and a program at the beginning and at the end of each.
    let ran = f64::from(BLOCKS) * 2.0 * 2.0;
    assert!(runs > 0.5 * ran, "{runs} of {ran}: {last}");
}

#[test]
fn threads_of_the_kernel_are_put_down_to_the_pass_that_they_work_for() {
    needs!("fio", "mkfs.ext4", "losetup");
    // Through the page cache of the backing file: the worker of the loop device copies.
    let volume = Volume::on_cached_loop("ext4", 256, "noatime");
    let other = Volume::on_cached_loop("ext4", 64, "noatime");
    let name_of = |volume: &Volume| volume.device().expect("a device").trim_start_matches("/dev/").to_owned();
    let (name, name_of_other) = (name_of(&volume), name_of(&other));
    // The other device is busy in the same pass.
    let script = format!(
        "dd if=/dev/zero of={}/f bs=64k count=512 oflag=direct conv=fsync status=none & \
         fio --name=w --filename=f --rw=write --bs=64k --size=64m --direct=1 --fsync=64 --end_fsync=1; wait",
        other.path().display()
    );
    let run = verify(&volume, &[], &["sh", "-c", &script]);
    run.assert_nothing_lost();
    let recorded: std::collections::BTreeSet<String> =
        run.rows("serving").into_iter().map(|row| row["name"].clone()).collect();
    for thread in [&name, &name_of_other] {
        assert!(recorded.contains(thread), "{thread} of {recorded:?}");
        assert!(recorded.contains(&format!("jbd2/{thread}-8")), "the journal of {thread} of {recorded:?}");
    }
    let phases = run.report["phases"].as_array().expect("phases");
    let of_fio = phases.iter().find(|phase| phase["facts"]["write_calls"]["value"] == 1024.0);
    let of_fio = of_fio.unwrap_or_else(|| panic!("the pass of fio: {}", run.story()));
    let value = |fact: &str| of_fio["facts"][fact]["value"].as_f64().unwrap_or_else(|| panic!("{fact}: {of_fio:#}"));
    let listed: Vec<(&str, f64)> = of_fio["cpu"]["serving"]
        .as_array()
        .unwrap_or_else(|| panic!("nothing beside: {of_fio:#}"))
        .iter()
        .map(|serving| (serving["name"].as_str().expect("a name"), serving["cpu_ns"].as_f64().expect("a time")))
        .collect();
    let of = |name: &str| listed.iter().filter(|(listed, _)| *listed == name).map(|(_, ns)| ns).sum::<f64>();
    assert_eq!(of(&name_of_other) + of(&format!("jbd2/{name_of_other}-8")), 0.0, "{name_of_other}: {listed:?}");
    assert!(value("loop_cpu_ns") > 0.0 && value("loop_cpu_ns") >= of(&name), "{listed:?}");
    assert!(value("journal_cpu_ns") > 0.0, "each sync commits: {listed:?}");
    let all: f64 = listed.iter().map(|(_, ns)| ns).sum();
    assert!(value("storage_thread_cpu_ns") >= all, "{all}: {listed:?}");
    assert!(of(&name) > 0.0, "{name}: {listed:?}");
}
