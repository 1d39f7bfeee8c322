//! The log of single events: small in memory, limited in size, and still useful when it is cut.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use activebench_e2e::{Volume, binary, facts, most_private_bytes, needs, rows, stage, verify};
use serde_json::Value;

/// Largest private memory of the observer in bytes, independent of the run's length. Together with the program's code,
/// which is larger in a development build, the installed program needs less than 64 MiB.
const MOST_PRIVATE_BYTES: i64 = 40 << 20;

const PAGES: usize = 256;

fn data_file(volume: &Volume) -> String {
    let path = volume.path().join("data");
    fs::write(&path, vec![7; PAGES * 4096]).expect("a file");
    path.to_str().expect("UTF-8").to_owned()
}

fn manifest(run: &Path) -> Value {
    serde_json::from_slice(&fs::read(run.join("run.json")).expect("run.json")).expect("JSON")
}

#[test]
fn a_long_run_needs_little_memory_where_its_log_disturbs_nothing() {
    needs!("mount");
    let volume = Volume::tmpfs(64);
    let data = data_file(&volume);
    let run = volume.beside("run");
    let mut child = Command::new(binary())
        // The log is larger where every call is timed.
        .args(["verify", "--quiet", "--latency", "full", "--out"])
        .arg(&run)
        .arg("--")
        .arg(binary())
        .args(["__workload", "preads", "--count", "4000000", &data])
        .stdout(Stdio::null())
        .spawn()
        .expect("the binary runs");
    let private_bytes = most_private_bytes(&mut child);
    let manifest = manifest(&run);
    let log = &manifest["coverage"]["log"];
    assert!(log["spooled_bytes"].as_u64() > Some(0), "{log}");
    assert_eq!((&log["in_memory_because"], &log["cut"]), (&Value::Null, &Value::Null));
    let calls = &manifest["coverage"]["records"]["calls"];
    assert!(calls["made"].as_u64() > Some(4_000_000) && calls["made"] == calls["received"], "{calls}");
    assert!(private_bytes > 1 << 20 && private_bytes <= MOST_PRIVATE_BYTES, "{} MiB", private_bytes >> 20);
    assert!(!run.join("spool").exists());
}

#[test]
fn a_run_of_many_syncs_needs_little_memory_and_counts_all_of_them() {
    needs!("mount");
    const COUNT: u64 = 60_000;
    let volume = Volume::tmpfs(256);
    let run = volume.beside("run");
    let mut child = Command::new(binary())
        .args(["verify", "--quiet", "--fail-on", "never", "--out"])
        .arg(&run)
        .arg("--")
        .arg(binary())
        .args(["__workload", "syncs", "--by", "fsync", "--count", &COUNT.to_string()])
        .arg(volume.path().join("data"))
        .stdout(Stdio::null())
        .spawn()
        .expect("the binary runs");
    let private_bytes = most_private_bytes(&mut child);
    // A sync that has a slot and steps of its own takes 1 KiB: 60 MiB.
    assert!(private_bytes > 1 << 20 && private_bytes <= MOST_PRIVATE_BYTES, "{} MiB", private_bytes >> 20);
    let phases = stage(&run, "phases");
    let syncs = &facts(&run, phases[0]["id"].as_str().expect("a phase"))["syncs_inside"];
    assert_eq!(syncs["value"].as_f64(), Some((COUNT - 1) as f64), "{syncs}");
    assert_eq!(syncs["completeness"]["state"], "complete", "{syncs}");
}

#[test]
fn nothing_is_spooled_beside_the_target() {
    needs!("mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 64, "noatime");
    let data = data_file(&volume);
    // The run directory is on the observed device itself, not on the storage below it.
    let run = volume.path().join("run");
    let status = Command::new(binary())
        .args(["verify", "--quiet", "--fail-on", "never", "--latency", "full", "--out"])
        .arg(&run)
        .arg("--")
        .arg(binary())
        .args(["__workload", "preads", "--count", "4000000", &data])
        .stdout(Stdio::null())
        .status()
        .expect("the binary runs");
    assert!(status.code().is_some());
    let log = &manifest(&run)["coverage"]["log"];
    assert_eq!(log["spooled_bytes"], 0, "{log}");
    assert!(log["packed_bytes"].as_u64() > Some(4 << 20), "{log}");
    let why = log["in_memory_because"].as_str().expect("a reason");
    assert!(why.contains("may share a device with what the tool used"), "{why}");
}

#[test]
fn a_log_that_is_cut_leaves_exact_totals() {
    needs!("mount");
    const COUNT: usize = 200_000;
    let volume = Volume::tmpfs(64);
    let data = data_file(&volume);
    let program = binary();
    let count = COUNT.to_string();
    let command = [program.to_str().expect("UTF-8"), "__workload", "preads", "--count", &count, &data];
    let run = verify(&volume, &["--events-limit", "64K"], &command);
    run.assert_nothing_lost();
    let log = &manifest(&run.run)["coverage"]["log"];
    let later = log["cut"]["records"]["calls"].as_u64().expect("calls past the cut");
    assert!(later > 0 && later < COUNT as u64, "{log}");
    let totals: Value =
        serde_json::from_slice(&fs::read(run.run.join("totals.json")).expect("totals.json")).expect("JSON");
    let is_open = |row: &std::collections::HashMap<String, String>| row["op"] == "open" && row["name"] == data;
    let opened = rows(&run.run, "names").into_iter().find(is_open).expect("the file was opened");
    let ino: u64 = opened["file_ino"].parse().expect("a number");
    let of_file = |row: &Value| row["op"] == "pread" && row["file"]["ino"] == ino;
    let sum = totals["calls"].as_array().expect("sums").iter().find(|row| of_file(row)).expect("a sum of the file");
    let logged = rows(&run.run, "calls");
    let logged = logged.iter().filter(|row| row["op"] == "pread" && row["file_ino"] == opened["file_ino"]).count();
    // Plus every page once before the clock starts.
    assert_eq!(logged as u64 + sum["calls"].as_u64().expect("a count"), (COUNT + PAGES) as u64);
    assert_eq!(sum["returned"].as_u64(), sum["calls"].as_u64().map(|calls| calls * 4096));
    let facts = &run.report["run"]["facts"];
    assert_eq!(facts["read_calls"]["completeness"]["state"], "complete", "{facts}");
    assert!(facts["read_bytes"]["value"].as_f64() >= Some(((COUNT + PAGES) * 4096) as f64), "{facts}");
    // A figure that needs each call is not presented as complete.
    let phase = &run.report["phases"][0]["facts"];
    assert_eq!(phase["unique_blocks"]["completeness"]["state"], "partial", "{phase}");
    let why = phase["unique_blocks"]["completeness"]["why"].as_str().expect("a reason");
    assert!(why.contains("the event log was cut after"), "{why}");
}

#[test]
fn a_log_that_is_cut_lowers_the_verdicts_of_what_it_does_not_hold() {
    needs!("iozone", "mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 512, "noatime");
    // The first pass ends with its close after 4,096 calls, the second one is beyond the limit.
    let command = ["iozone", "-i0", "-e", "-c", "-s64m", "-r16k"];
    let run = verify(&volume, &["--events-limit", "1"], &command);
    run.assert_nothing_lost();
    assert_eq!((run.verdict(), run.exit_code()), ("inconclusive", Some(3)), "{}", run.story());
    assert_eq!(run.claim_verdict("rewrite"), "unverifiable");
    let findings = run.report["findings"].as_array().expect("findings");
    let cut = findings.iter().find(|finding| finding["code"] == "AB902" && finding["outcome"] == "fires");
    let message = cut.expect("AB902 fires")["message"].as_str().expect("a message");
    assert!(message.contains("The log of single I/Os was cut") && message.contains("--events-limit"), "{message}");
    // Judging it again from the stored run changes nothing.
    let output = Command::new(binary()).args(["recheck", "--format", "json"]).arg(&run.run).output().expect("it runs");
    let again: Value = serde_json::from_slice(&output.stdout).expect("a report");
    for part in ["verdict", "claims", "findings"] {
        assert_eq!(again[part], run.report[part], "{part}");
    }
}
