//! `activebench replicate`: repeats a run's I/O pass by pass, and leaves nothing behind.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use activebench_e2e::{Throttled, Verified, Volume, assert_follows, binary, fio_on_data, needs, rows, skip, verify};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// A finished replication.
struct Replicated {
    report: Value,
    out: PathBuf,
    output: Output,
}

fn command(run: &Path, out: &Path, options: &[&str]) -> Command {
    let mut command = Command::new(binary());
    command.arg("replicate").arg(run).arg("--out").arg(out).args(options);
    command
}

/// The same, below a folder of the volume.
fn command_on(volume: &Volume, run: &Path, out: &Path, options: &[&str]) -> Command {
    let mut command = command(run, out, options);
    command.arg("--target").arg(volume.path());
    command
}

/// Replicates a run; the volume must be the same afterwards.
fn replicate(volume: &Volume, run: &Verified, options: &[&str]) -> Replicated {
    run.assert_nothing_lost();
    let before = listed(&volume.path());
    let out = volume.beside("replication");
    let options = [&["--format", "json"], options].concat();
    let mut replicate = match options.iter().any(|option| matches!(*option, "--target" | "--destroy")) {
        true => command(&run.run, &out, &options),
        false => command_on(volume, &run.run, &out, &options),
    };
    let output = replicate.output().expect("the binary runs");
    assert_eq!(listed(&volume.path()), before, "a replay leaves nothing behind");
    let report = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        panic!("{error}: {}", String::from_utf8_lossy(&output.stderr));
    });
    let replicated = Replicated { report, out, output };
    replicated.assert_fits_its_schema();
    replicated
}

/// Returns names and lengths of the entries of a folder.
fn listed(folder: &Path) -> Vec<(String, u64)> {
    let mut entries: Vec<_> = fs::read_dir(folder)
        .expect("the folder is there")
        .map(|entry| entry.expect("an entry"))
        .map(|entry| {
            (entry.file_name().to_string_lossy().into_owned(), entry.metadata().expect("it can be asked").len())
        })
        .collect();
    entries.sort();
    entries
}

impl Replicated {
    fn assert_fits_its_schema(&self) {
        assert_follows(include_str!("../../../../docs/replication.schema.json"), &self.report);
        let stored = fs::read(self.out.join("replication.json")).expect("it is stored");
        assert_eq!(serde_json::from_slice::<Value>(&stored).expect("JSON"), self.report);
    }

    fn passes(&self) -> &[Value] {
        self.report["passes"].as_array().expect("passes")
    }

    fn pass(&self, phase: &str) -> &Value {
        let of = |pass: &&Value| pass["phases"].as_array().is_some_and(|phases| phases.iter().any(|id| id == phase));
        self.passes().iter().find(of).unwrap_or_else(|| panic!("no pass {phase}: {:#}", self.report))
    }

    /// Asserts that every replay repeated every operation, found the cache as the pass did, and returned a rate.
    fn assert_repeats(&self, phases: &[&str], replays: usize) {
        let found: Vec<&str> = self.passes().iter().filter_map(|pass| pass["phases"][0].as_str()).collect();
        assert_eq!(found, phases);
        for pass in self.passes() {
            assert_eq!(pass["not_replayed"], Value::Null, "{pass:#}");
            assert_eq!(pass["left_out"], Value::Array(Vec::new()), "{pass:#}");
            let made = pass["replays"].as_array().expect("replays");
            assert_eq!(made.len(), replays, "{pass:#}");
            for (number, replay) in made.iter().enumerate() {
                assert_eq!(replay["differs"], Value::Null, "{pass:#}");
                assert_eq!(replay["moved"], pass["recorded"], "{pass:#}");
                assert_eq!(replay["incomplete"], Value::Array(Vec::new()), "{pass:#}");
                assert_eq!(replay["same_cache"], true, "{pass:#}");
                assert_eq!(replay["engine_refuted"], Value::Array(Vec::new()), "{pass:#}");
                self.assert_logged(pass, number + 1);
            }
            for figure in pass["figures"].as_array().expect("figures") {
                assert!(figure["replicated"]["median"]["value"].as_f64() > Some(0.0), "{figure:#}");
                // Rates of milliseconds are noisy: shown, not asserted.
                eprintln!(
                    "{} {}: replicated : observed = {}, agrees = {}",
                    figure["phase"], figure["over"], figure["of_observed_ratio"], figure["agrees"]
                );
            }
        }
        let outcome = self.report["outcome"].as_str().expect("an outcome");
        let code = self.output.status.code();
        assert!(matches!((outcome, code), ("replicated", Some(0)) | ("differs", Some(1))), "{outcome} {code:?}");
    }

    /// Asserts that the log equals the replay's own record line by line, without our own arithmetic in between.
    fn assert_logged(&self, pass: &Value, replay: usize) {
        let number = pass["number"].as_u64().expect("a number");
        let tasks = || (1..).map(|task| self.out.join(format!("logs/pass-{number}-task-{task}.log")));
        let mut logged: Vec<(String, u64, u64)> = Vec::new();
        for log in tasks().take_while(|log| log.exists()) {
            for line in fs::read_to_string(log).expect("a log").lines() {
                if let [.., action @ ("read" | "write" | "sync" | "datasync"), offset, bytes] =
                    line.split(' ').collect::<Vec<_>>()[..]
                {
                    logged.push((action.to_owned(), offset.parse().expect("a number"), bytes.parse().expect("one")));
                }
            }
        }
        let run = self.out.join(format!("pass-{number}/{replay}"));
        let ours: Vec<(String, String)> = rows(&run, "names")
            .into_iter()
            .filter(|row| {
                row["op"] == "open" && row["name"].strip_prefix('f').is_some_and(|n| n.parse::<u32>().is_ok())
            })
            .map(|row| (row["file_s_dev"].clone(), row["file_ino"].clone()))
            .collect();
        let mut seen: Vec<(String, u64, u64)> = Vec::new();
        for row in rows(&run, "calls") {
            let action = match row["op"].as_str() {
                "read" | "pread" | "aio_read" | "uring_read" => "read",
                "write" | "pwrite" | "aio_write" | "uring_write" => "write",
                "fsync" => "sync",
                "fdatasync" => "datasync",
                _ => continue,
            };
            if ours.contains(&(row["file_s_dev"].clone(), row["file_ino"].clone())) {
                let number = |column: &str| row[column].parse::<i64>().expect("a number").max(0) as u64;
                let place = if action.ends_with("sync") { (0, 0) } else { (number("offset"), number("returned")) };
                seen.push((action.to_owned(), place.0, place.1));
            }
        }
        logged.sort();
        seen.sort();
        assert!(
            !logged.is_empty() && logged == seen,
            "{} logged, {} seen in {}",
            logged.len(),
            seen.len(),
            run.display()
        );
    }
}

#[test]
fn an_iozone_is_replayed_pass_by_pass_with_its_syncs() {
    needs!(beside: "iozone", "fio", "mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 256, "noatime");
    let command = ["iozone", "-i0", "-i1", "-e", "-c", "-s16m", "-r64k", "-f", "data"];
    let run = verify(&volume, &["--fail-on", "never"], &command);
    let replicated = replicate(&volume, &run, &["--runs", "2"]);
    replicated.assert_repeats(&["write", "rewrite", "read", "reread"], 2);
    for (phase, cache, reads, writes) in
        [("write", "writes-only", 0, 256), ("rewrite", "writes-only", 0, 256), ("read", "warm", 256, 0)]
    {
        let pass = replicated.pass(phase);
        assert_eq!(pass["cache"]["state"], cache, "{pass:#}");
        assert_eq!((&pass["recorded"]["reads"], &pass["recorded"]["writes"]), (&reads.into(), &writes.into()));
        // With -e the fsync is inside the clock.
        assert_eq!(pass["recorded"]["syncs"], 1, "{pass:#}");
        assert_eq!(pass["figures"].as_array().map(Vec::len), Some(1), "one rate: by the clock it is durable");
    }
}

#[test]
fn a_sync_after_the_clock_gives_a_second_rate() {
    needs!(beside: "iozone", "fio", "mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 256, "noatime");
    let run = verify(&volume, &["--fail-on", "never"], &["iozone", "-i0", "-s16m", "-r64k", "-f", "data"]);
    let replicated = replicate(&volume, &run, &["--runs", "1"]);
    replicated.assert_repeats(&["write", "rewrite"], 1);
    for pass in replicated.passes() {
        assert_eq!(pass["recorded"]["syncs"], 1, "{pass:#}");
        let figures = pass["figures"].as_array().expect("figures");
        let over: Vec<&str> = figures.iter().filter_map(|figure| figure["over"].as_str()).collect();
        assert_eq!(over, ["tool-clock", "until-durable"]);
        let replay = &pass["replays"][0];
        assert!(replay["durable_ns"].as_u64() > replay["clock_ns"].as_u64(), "{replay:#}");
    }
}

#[test]
fn random_reads_are_replayed_at_their_depth_and_one_by_one() {
    needs!(beside: "fio", "mkfs.ext4", "losetup");
    for engine in [&["--ioengine=libaio", "--iodepth=8"][..], &["--ioengine=psync"]] {
        let options = ["--rw=randread", "--bs=4k", "--io_size=4m", "--direct=1"];
        let (volume, run) = fio_on_data(32, &[&options[..], engine].concat());
        let replicated = replicate(&volume, &run, &["--runs", "2"]);
        replicated.assert_repeats(&["a-read"], 2);
        let pass = &replicated.passes()[0];
        assert_eq!(pass["cache"]["state"], "passed-by");
        assert_eq!((&pass["recorded"]["reads"], &pass["recorded"]["read_bytes"]), (&1024.into(), &(4 << 20).into()));
        let depth = if engine.len() == 2 { "libaio, depth 8" } else { "psync, depth 1" };
        let replayed_as = pass["replayed_as"].as_str().expect("words");
        assert_eq!(replayed_as, format!("1 task, {depth}, O_DIRECT"));
        for replay in pass["replays"].as_array().expect("replays") {
            assert_eq!(replay["device_read_bytes"], pass["device_read_bytes"]);
        }
    }
}

#[test]
fn a_cold_read_stays_cold() {
    needs!(beside: "fio", "mkfs.ext4", "losetup");
    let (volume, run) = fio_on_data(32, &["--rw=read", "--bs=64k", "--ioengine=psync"]);
    let replicated = replicate(&volume, &run, &["--runs", "2"]);
    replicated.assert_repeats(&["a-read"], 2);
    let pass = &replicated.passes()[0];
    assert_eq!(pass["cache"]["state"], "cold", "{pass:#}");
    let recorded = pass["device_read_bytes"].as_f64().expect("it was seen");
    for replay in pass["replays"].as_array().expect("replays") {
        let replayed = replay["device_read_bytes"].as_f64().expect("it was seen");
        // Readahead may reach past the window's end.
        assert!((replayed / recorded - 1.0).abs() < 0.05, "{recorded} recorded, {replayed} replayed");
    }
}

#[test]
fn threads_are_replayed_as_jobs() {
    needs!(beside: "iozone", "fio", "mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 256, "noatime");
    let run = verify(&volume, &["--fail-on", "never"], &["iozone", "-t2", "-i0", "-e", "-+u", "-s16m", "-r64k"]);
    let replicated = replicate(&volume, &run, &["--runs", "1"]);
    for pass in replicated.passes() {
        let replay = &pass["replays"][0];
        assert_eq!(replay["differs"], Value::Null, "{pass:#}");
        assert_eq!(replay["moved"], pass["recorded"], "{pass:#}");
    }
    // One task can end before the other begins.
    let both =
        |pass: &Value| pass["replayed_as"].as_str().is_some_and(|words| words.starts_with("2 tasks, each psync"));
    assert!(replicated.passes().iter().any(both), "{:#}", replicated.report);
}

#[test]
fn reads_of_a_device_are_replayed_and_writes_to_it_only_to_destroy_it() {
    needs!(beside: "fio", "losetup", "mkfs.ext4", "wipefs", "sha256sum");
    let volume = Volume::on_loop("ext4", 64, "noatime");
    let device = volume.device().expect("a device").to_owned();
    volume.unmount();
    let filename = format!("--filename={device}");
    let options = ["--bs=4k", "--size=8m", "--io_size=1m", "--direct=1", "--ioengine=psync", &filename];
    let out = volume.beside("replication");
    let replicate_json = |run: &Verified, out: &Path, more: &[&str]| {
        let options = [&["--runs", "1", "--format", "json"], more].concat();
        let output = command(&run.run, out, &options).output().expect("the binary runs");
        let report: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
        (report, output.status.code())
    };
    let read = verify_beside(&volume, "read", &[&["fio", "--name=a", "--rw=randread"], &options[..]].concat());
    let (report, _) = replicate_json(&read, &out, &[]);
    let pass = &report["passes"][0];
    assert_eq!(pass["replays"][0]["differs"], Value::Null, "{report:#}");
    assert_eq!(pass["replays"][0]["moved"], pass["recorded"], "{report:#}");
    assert_eq!(pass["recorded"]["reads"], 256, "{report:#}");
    let sum = || {
        let output = Command::new("sha256sum").arg(&device).output().expect("sha256sum runs");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    // replicate does not help to write to a device with a file system.
    let wipe = || Command::new("wipefs").args(["--all", "--quiet", &device]).status().expect("wipefs runs");
    assert!(wipe().success());
    let write = verify_beside(&volume, "write", &[&["fio", "--name=a", "--rw=randwrite"], &options[..]].concat());
    let before = sum();
    let (report, code) = replicate_json(&write, &volume.beside("second"), &[]);
    assert_eq!(sum(), before, "nothing on the device is overwritten");
    let why = report["passes"][0]["not_replayed"].as_str().expect("it is refused");
    assert!(why.contains("without --destroy only reads of a device are replayed"), "{why}");
    assert_eq!((&report["outcome"], code), (&"incomplete".into(), Some(3)));
    let (report, _) = replicate_json(&write, &volume.beside("third"), &["--destroy", &device]);
    let pass = &report["passes"][0];
    assert_eq!(pass["not_replayed"], Value::Null, "{report:#}");
    assert_eq!((&pass["recorded"]["writes"], &pass["replays"][0]["differs"]), (&256.into(), &Value::Null));
    assert_ne!(sum(), before, "now it was written");
    let made = Command::new("mkfs.ext4").args(["-q", "-F", &device]).status().expect("mkfs.ext4 runs");
    assert!(made.success());
    let before = sum();
    let refused = command(&write.run, &volume.beside("fourth"), &["--destroy", &device]).output().expect("it runs");
    let why = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!((refused.status.code(), sum()), (Some(2), before), "{why}");
    assert!(why.contains("holds a file system"), "{why}");
}

fn verify_beside(volume: &Volume, name: &str, command: &[&str]) -> Verified {
    activebench_e2e::verify_in(&std::env::temp_dir(), volume.beside(name), &["--fail-on", "never"], command)
}

#[test]
fn too_little_space_is_said_before_anything_runs() {
    needs!(beside: "fio", "mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 256, "noatime");
    let command_line =
        ["fio", "--name=a", "--rw=write", "--bs=64k", "--size=64m", "--filename=data", "--ioengine=psync"];
    let run = verify(&volume, &["--fail-on", "never"], &command_line);
    let small = Volume::tmpfs(32);
    let out = volume.beside("replication");
    let target = small.path();
    let output = command(&run.run, &out, &["--target", target.to_str().expect("UTF-8")]).output().expect("it runs");
    let why = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{why}");
    assert!(why.contains("the replay needs 81 MiB in") && why.contains("are free (hint: make room"), "{why}");
    assert!(!why.contains("replay 1 of"), "{why}");
    assert!(!out.exists(), "an error leaves no folder behind");
    // Except a folder that existed before.
    fs::create_dir(&out).expect("a folder");
    let output = command(&run.run, &out, &["--target", target.to_str().expect("UTF-8")]).output().expect("it runs");
    assert_eq!((output.status.code(), listed(&out)), (Some(2), Vec::new()));
    assert_eq!(listed(&target), []);
}

#[test]
fn an_interrupt_leaves_no_file_behind() {
    needs!(beside: "fio", "mkfs.ext4", "losetup");
    // Its own pace keeps the replay running for long.
    let (volume, run) = fio_on_data(64, &["--rw=read", "--bs=64k", "--ioengine=psync", "--rate=16m"]);
    let before = listed(&volume.path());
    let out = volume.beside("replication");
    let unnamed = command(&run.run, &out, &[]).output().expect("the binary runs");
    let why = String::from_utf8_lossy(&unnamed.stderr).into_owned();
    assert_eq!(
        (unnamed.status.code(), listed(&volume.path()) == before, out.exists()),
        (Some(2), true, false),
        "{why}"
    );
    assert!(why.contains("nothing is written where only the record says so"), "{why}");
    let mut child = command_on(&volume, &run.run, &out, &["--format", "json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    let begun = Instant::now();
    let is_running = || out.join("pass-1/1/run.json").exists();
    while !is_running() && begun.elapsed() < Duration::from_secs(60) {
        std::thread::yield_now();
    }
    assert_ne!(listed(&volume.path()), before, "there is a scratch folder while a replay runs");
    kill_process(Pid::from_child(&child), Signal::INT).expect("it runs");
    let status = child.wait().expect("it ends");
    assert_eq!(status.code(), Some(130));
    assert_eq!(listed(&volume.path()), before, "nothing is left");
    let stored: Value =
        serde_json::from_slice(&fs::read(out.join("replication.json")).expect("it is stored")).expect("JSON");
    assert_eq!((&stored["outcome"], &stored["incomplete"][0]), (&"incomplete".into(), &"interrupted".into()));
}

#[test]
fn an_engine_that_fails_has_its_exit_code_and_its_words_stay() {
    needs!(beside: "fio", "mkfs.ext4", "losetup");
    let (volume, run) = fio_on_data(1, &["--rw=read", "--bs=64k", "--ioengine=psync"]);
    let path = std::env::var("PATH").expect("a path");
    for good in [0_usize, 1] {
        // The engine works this many times, then always fails. It can write nothing beside the replay's own folder.
        let out = volume.beside(&format!("out-{good}"));
        let engine = volume.beside(&format!("engine-{good}"));
        fs::create_dir(&engine).expect("a folder");
        let script = format!(
            "#!/bin/sh\ncase \"$*\" in --version) echo fio-3.33; exit;; esac\n\
             [ $(ls -d {0}/pass-1/* | wc -l) -gt {good} ] && echo no such luck >&2 && exit 1\nPATH={path} exec fio \"$@\"\n",
            out.display()
        );
        fs::write(engine.join("fio"), script).expect("a script");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(engine.join("fio"), mode).expect("it can be run");
        fs::create_dir(&out).expect("a folder");
        let output = command_on(&volume, &run.run, &out, &["--runs", "3", "--format", "json"])
            .env("PATH", format!("{}:{path}", engine.display()))
            .output()
            .expect("the binary runs");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(4), "{said}");
        assert!(said.contains("no such luck"), "{said}");
        let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let replays = report["passes"][0]["replays"].as_array().map(Vec::len);
        assert_eq!((&report["outcome"], replays), (&"incomplete".into(), Some(good)), "{report:#}");
        let words = fs::read_to_string(out.join(format!("pass-1/{}/stderr.txt", good + 1))).expect("what it said");
        assert!(words.contains("no such luck"), "{words}");
    }
}

#[test]
fn a_hostile_name_does_not_reach_the_terminal() {
    needs!(beside: "fio");
    let volume = Volume::tmpfs(64);
    let output = command(Path::new("/tmp/\x1b]0;x\x07"), &volume.beside("out"), &[]).output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("\\u{1b}]0;x\\u{7}") && !said.contains('\x1b'), "{said:?}");
}

#[test]
fn a_run_without_its_records_is_refused() {
    needs!(beside: "fio", "mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 64, "noatime");
    let command_line =
        ["fio", "--name=a", "--rw=write", "--bs=4k", "--size=48m", "--filename=data", "--ioengine=psync"];
    let run = verify(&volume, &["--fail-on", "never", "--events-limit", "1K"], &command_line);
    let out = volume.beside("replication");
    let output = command_on(&volume, &run.run, &out, &["--format", "json"]).output().expect("the binary runs");
    let report: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    let why = report["passes"][0]["not_replayed"].as_str().unwrap_or_else(|| panic!("it is refused: {report:#}"));
    assert!(why.contains("the event log was cut"), "{why}");
    assert_eq!((&report["outcome"], output.status.code()), (&"incomplete".into(), Some(3)));
    assert_eq!(report["passes"][0]["replays"], Value::Array(Vec::new()));
}

#[test]
fn a_slower_disk_gives_a_smaller_replicated_rate() {
    needs!(beside: "fio", "mkfs.ext4", "losetup");
    // The same device, slower for the replay alone.
    let (volume, run) = fio_on_data(16, &["--rw=read", "--bs=64k", "--direct=1", "--ioengine=psync"]);
    let Some(throttled) = Throttled::reads(&volume, 8 << 20) else {
        skip("no blkio controller of version 1");
        return;
    };
    let out = volume.beside("replication");
    let line = format!(
        "{} replicate {} --out {} --runs 1 --format json --target {}",
        binary().display(),
        run.run.display(),
        out.display(),
        volume.path().display()
    );
    let output = Command::new("sh").args(["-c", &throttled.join(&line)]).output().expect("sh runs");
    let report: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    let figure = &report["passes"][0]["figures"][0];
    assert_eq!(report["passes"][0]["replays"][0]["differs"], Value::Null, "{report:#}");
    let rate = figure["replicated"]["median"]["value"].as_f64().expect("a rate");
    // The kernel enforces the limit: nothing is faster, independent of other activity.
    assert!(rate < 1.1 * f64::from(8 << 20), "{figure:#}");
}
