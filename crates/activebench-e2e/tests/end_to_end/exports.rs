//! Exports of the recorded I/O: fio replays a log with the operations of the run, and a trace contains every call.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use activebench_e2e::{Verified, Volume, binary, fio_on_data, needs, rows, verify};
use serde_json::Value;

/// Exports a run; returns the process's output.
fn export(run: &Path, formats: &[String]) -> Output {
    let mut report = Command::new(binary());
    report.arg("report").arg(run);
    formats.iter().for_each(|format| {
        report.args(["--format", format]);
    });
    report.output().expect("the binary runs")
}

fn said(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Returns the operations of a log on a file, in order and without their times: action, offset, length.
fn operations(log: &Path, file: &str) -> Vec<(String, u64, u64)> {
    let text = fs::read_to_string(log).expect("the log is text");
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("fio version 3 iolog"));
    let operation = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |word: &str| word.parse::<u64>().expect("a number");
        match words[..] {
            [_, name, action, offset, length] if name == file => {
                Some((action.to_owned(), number(offset), number(length)))
            }
            _ => None,
        }
    };
    lines.filter_map(operation).collect()
}

/// Returns the same from the recorded calls, with a count of each.
fn recorded(run: &Path, file: &str) -> BTreeMap<(String, u64, u64), u64> {
    let is_open = |row: &HashMap<String, String>| row["op"] == "open" && row["name"] == file;
    let opened = rows(run, "names").into_iter().find(is_open).expect("the file was opened");
    let mut counted = BTreeMap::new();
    for row in rows(run, "calls") {
        let action = match row["op"].as_str() {
            "read" | "pread" | "aio_read" | "uring_read" => "read",
            "write" | "pwrite" | "aio_write" | "uring_write" => "write",
            "fsync" => "sync",
            "fdatasync" => "datasync",
            _ => continue,
        };
        let same = ["file_s_dev", "file_ino"].iter().all(|column| row[*column] == opened[*column]);
        let counts = row["returned"] != "0" || action.ends_with("sync");
        if same && counts {
            // An empty field is unknown, or the call failed.
            let place = |column: &str| match row[column].as_str() {
                "" => 0,
                number => number.parse::<i64>().expect("a number").max(0) as u64,
            };
            *counted.entry((action.to_owned(), place("offset"), place("returned"))).or_insert(0) += 1;
        }
    }
    counted
}

fn multiset(operations: Vec<(String, u64, u64)>) -> BTreeMap<(String, u64, u64), u64> {
    let mut counted = BTreeMap::new();
    operations.into_iter().for_each(|operation| *counted.entry(operation).or_insert(0) += 1);
    counted
}

/// Exports a run, replays it under observation as the export directs, and compares the operations of both on the files.
fn replays(volume: &Volume, run: &Verified, files: &[&str]) -> String {
    run.assert_nothing_lost();
    let log = volume.beside("run.log");
    let trace = volume.beside("trace.json");
    let formats = [format!("fio-iolog={}", log.display()), format!("chrome-trace={}", trace.display())];
    let notes = said(&export(&run.run, &formats));
    holds_every_call(&trace, &run.run);
    let replay = notes.lines().find_map(|line| line.split_once("replay it: cd ")).expect("the command to replay").1;
    let (folder, command) = replay.split_once(" && ").expect("a folder and a command");
    assert_eq!(Path::new(folder), volume.path());
    volume.drop_caches();
    let command: Vec<&str> = command.split(' ').collect();
    // The starts of fast asynchronous requests are estimates where not all are timed, and two in flight can be swapped.
    let again = verify(volume, &["--fail-on", "never", "--latency", "full"], &command);
    // On a machine that hides completions from tracers its latencies may be undecided. fio's clock of a replay begins
    // with the wait before the first operation of the log, and its number of syncs is that of one kind. The operations
    // are compared below.
    let claims = again.report["claims"].as_array().expect("claims");
    let mut open = claims.iter().filter(|claim| claim["verdict"] == "unverifiable").peekable();
    let is_of_time = |claim: &Value| {
        let metric = claim["metric"].as_str().unwrap_or_default();
        metric.contains("latency") || ["throughput", "operation-rate", "syncs-done"].contains(&metric)
    };
    let of_times = open.peek().is_some() && open.all(is_of_time);
    assert!(again.exit_code() == Some(0) || again.exit_code() == Some(3) && of_times, "{}", again.story());
    again.assert_nothing_lost();
    let second = volume.beside("replay.log");
    said(&export(&again.run, &[format!("fio-iolog={}", second.display())]));
    for file in files {
        let exported = operations(&log, file);
        assert!(!exported.is_empty(), "{notes}");
        // From the calls themselves ...
        let (before, after) = (recorded(&run.run, file), recorded(&again.run, file));
        assert!(before == after, "{file}: {}", differences(&before, &after));
        assert_eq!(multiset(exported.clone()), before, "{file}");
        // ... and in the same order, because the replay keeps it.
        let replayed = operations(&second, file);
        let differs = exported.iter().zip(&replayed).position(|(one, other)| one != other);
        let near = |all: &[(String, u64, u64)], at: usize| all[at.saturating_sub(2)..all.len().min(at + 3)].to_vec();
        let differs = differs.map(|at| (at, near(&exported, at), near(&replayed, at)));
        assert!(replayed == exported, "{file}: the replay did the same in another order: {differs:?}");
    }
    notes
}

fn differences(before: &BTreeMap<(String, u64, u64), u64>, after: &BTreeMap<(String, u64, u64), u64>) -> String {
    let missing: Vec<_> = before.iter().filter(|(key, count)| after.get(key) != Some(count)).take(5).collect();
    let more: Vec<_> = after.iter().filter(|(key, count)| before.get(key) != Some(count)).take(5).collect();
    format!("run {missing:?}, replay {more:?}")
}

/// Asserts that the trace contains every call of the run once, that its events are valid, and that pairs close.
fn holds_every_call(trace: &Path, run: &Path) {
    let trace: Value = serde_json::from_slice(&fs::read(trace).expect("the trace is there")).expect("JSON");
    let events = trace["traceEvents"].as_array().expect("events");
    let mut calls: BTreeMap<String, u64> = BTreeMap::new();
    let mut open: HashMap<String, f64> = HashMap::new();
    for event in events {
        for field in ["ph", "name", "pid", "tid", "ts"] {
            assert!(!event[field].is_null(), "{event}");
        }
        let at = event["ts"].as_f64().expect("a time");
        assert!(at >= 0.0, "{event}");
        let category = event["cat"].as_str().unwrap_or("");
        let is_call = ["read", "write", "sync", "discard", "call"].contains(&category);
        match event["ph"].as_str().expect("a phase") {
            "X" => assert!(event["dur"].as_f64() >= Some(0.0), "{event}"),
            "b" => {
                let before = open.insert(event["id"].as_str().expect("an id").to_owned(), at);
                assert_eq!(before, None, "{event}");
            }
            "e" => {
                let begun = open.remove(event["id"].as_str().expect("an id")).expect("it has begun");
                assert!(begun <= at, "{event}");
            }
            _ => {}
        }
        if is_call && event["ph"] != "e" {
            *calls.entry(event["name"].as_str().expect("a name").to_owned()).or_insert(0) += 1;
        }
    }
    assert!(open.is_empty(), "{open:?}");
    let mut expected = BTreeMap::new();
    rows(run, "calls").into_iter().for_each(|mut row| {
        *expected.entry(row.remove("op").expect("an op")).or_insert(0_u64) += 1;
    });
    assert_eq!(calls, expected);
}

#[test]
fn a_random_iozone_is_replayed_call_by_call() {
    needs!(beside: "iozone", "fio", "mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 256, "noatime");
    let command = ["iozone", "-i0", "-i2", "-e", "-c", "-w", "-s8m", "-r16k", "-f", "data"];
    let run = verify(&volume, &["--fail-on", "never"], &command);
    let notes = replays(&volume, &run, &["data"]);
    assert!(notes.contains("--ioengine=psync --iodepth=1 --direct=0"), "{notes}");
    assert!(notes.contains("the replay overwrites data"), "{notes}");
}

#[test]
fn calls_of_several_threads_are_replayed_in_the_order_of_their_starts() {
    needs!(beside: "iozone", "fio", "mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 256, "noatime");
    let run = verify(&volume, &["--fail-on", "never"], &["iozone", "-t2", "-i0", "-i1", "-e", "-w", "-s4m", "-r64k"]);
    replays(&volume, &run, &["iozone.DUMMY.0", "iozone.DUMMY.1"]);
}

#[test]
fn asynchronous_requests_are_replayed_in_the_order_of_their_submission() {
    needs!(beside: "fio", "mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 256, "noatime");
    volume.lay_out("data", 32);
    let command = ["fio", "--name=a", "--rw=randread", "--bs=4k", "--size=32m", "--io_size=8m", "--filename=data"];
    let engine = ["--direct=1", "--ioengine=libaio", "--iodepth=8"];
    let run = verify(&volume, &["--fail-on", "never"], &[&command[..], &engine].concat());
    let notes = replays(&volume, &run, &["data"]);
    assert!(notes.contains("--ioengine=libaio --iodepth=8 --direct=1"), "{notes}");
    assert!(notes.contains("the log has 2048 reads of 8 MiB, 0 writes"), "{notes}");
    assert!(notes.contains("read before it is written, so it must be there: data with"), "{notes}");
}

#[test]
fn writes_are_replayed_with_their_syncs_between() {
    needs!(beside: "fio", "mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 256, "noatime");
    let command = ["fio", "--name=a", "--rw=randwrite", "--bs=8k", "--size=4m", "--filename=data", "--fsync=16"];
    let run =
        verify(&volume, &["--fail-on", "never"], &[&command[..], &["--fdatasync=24", "--ioengine=psync"]].concat());
    let notes = replays(&volume, &run, &["data"]);
    assert!(notes.contains("512 writes of 4 MiB"), "{notes}");
}

#[test]
fn names_that_would_be_actions_are_said_and_not_written() {
    needs!(beside: "sh", "dd", "mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 64, "noatime");
    let script = "dd if=/dev/zero of=plain bs=64k count=20 2>dd.log; dd if=/dev/zero of='two words' bs=64k count=20 2>>dd.log; \
                  dd if=/dev/zero of='a\n0 plain write 0 4096' bs=64k count=3 2>>dd.log";
    let run = verify(&volume, &["--fail-on", "never"], &["sh", "-c", script]);
    let log = volume.beside("run.log");
    let notes = said(&export(&run.run, &[format!("fio-iolog={}", log.display())]));
    assert_eq!(operations(&log, "plain").len(), 20);
    let text = fs::read_to_string(&log).expect("text");
    assert!(!text.contains("two") && !text.contains("words"), "{text}");
    assert!(
        notes.contains("its name has a blank or a line break") && notes.contains("\"two words\" (20 calls"),
        "{notes}"
    );
    // The line break is shown, not executed.
    assert!(notes.lines().all(|line| line.starts_with("activebench: fio-iolog: ")), "{notes}");
}

#[test]
fn a_run_without_phases_has_a_trace_and_no_log() {
    needs!(beside: "true", "mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 64, "noatime");
    let run = verify(&volume, &["--fail-on", "never"], &["true"]);
    let trace = volume.beside("trace.json");
    said(&export(&run.run, &[format!("chrome-trace={}", trace.display())]));
    holds_every_call(&trace, &run.run);
    let log = volume.beside("run.log");
    let output = export(&run.run, &[format!("fio-iolog={}", log.display())]);
    assert_eq!(output.status.code(), Some(2));
    let why = String::from_utf8_lossy(&output.stderr);
    assert!(why.contains("the run has no read, write or discard that an iolog can say"), "{why}");
    assert!(!log.exists(), "nothing is left of an export that has nothing to say");
}

#[test]
fn what_moves_through_a_mapping_is_said_to_be_missing() {
    needs!(beside: "fio", "mkfs.ext4", "losetup");
    let (volume, run) = fio_on_data(8, &["--rw=read", "--bs=4k", "--ioengine=mmap"]);
    let output = export(&run.run, &[format!("fio-iolog={}", volume.beside("run.log").display())]);
    assert_eq!(output.status.code(), Some(2));
    let why = String::from_utf8_lossy(&output.stderr);
    assert!(why.contains("lead into mmap: what moved there shows in no call"), "{why}");
}

#[test]
fn a_series_has_no_export() {
    needs!(beside: "fio", "mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 64, "noatime");
    let series = volume.beside("series");
    let output = Command::new(binary())
        .args(["verify", "--quiet", "--fail-on", "never", "--repeat", "2", "--out"])
        .arg(&series)
        .args(["--", "fio", "--name=a", "--rw=write", "--bs=64k", "--size=4m", "--filename=data"])
        .current_dir(volume.path())
        .output()
        .expect("the binary runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for name in ["fio-iolog", "chrome-trace"] {
        let output = export(&series, &[format!("{name}={}", volume.beside("export").display())]);
        assert_eq!(output.status.code(), Some(2));
        let why = String::from_utf8_lossy(&output.stderr);
        assert!(why.contains(&format!("cannot export a series as {name}: an export is of one run")), "{why}");
        let one = export(&series.join("1"), &[format!("{name}={}", volume.beside("export").display())]);
        said(&one);
    }
}
