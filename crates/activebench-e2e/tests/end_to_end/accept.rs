//! Acceptance with the real fio on a device of a known rate: the four outcomes, cases that are not judged, and the same
//! result from stored runs without root.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use activebench_e2e::{Throttled, Volume, assert_follows, binary, needs, skip};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::html::look_at_document;

/// User `nobody`: judging stored runs needs no rights.
const NOBODY: u32 = 65_534;
/// Rate that the device allows: 16.78 MB/s.
const RATE: u64 = 16 << 20;

/// Returns a suite of one benchmark, five reads of 24 MiB, with a limit on its rate.
fn agreed(volume: &Volume, more: &str, limit: &str) -> String {
    let path = volume.path();
    format!(
        r#"format = 1
[parties]
buyer = "Northgate Archive"
vendor = "Tarn Storage"
reference = "offer 42"
date = 2026-11-22
[target]
path = "{}"
[[benchmark]]
name = "sequential-read"
command = ["fio", "--name=a", "--rw=read", "--bs=1m", "--size={{24 MiB}}", "--filename=x", "--direct=1",
    "--ioengine=libaio", "--iodepth=16"]
[[limit]]
benchmark = "sequential-read"
phase = "a-read"
metric = "throughput"
{limit}
{more}
[decision]
rule = "guard-band"
"#,
        path.display()
    )
}

/// A throttled device is agreed on, because the test sets the limit. Its steadiness depends on the load of this
/// machine.
const THROTTLED: &str = "[conditions]\nno_throttling = false\nsteady_state = false\nreproducible = false";

fn volume() -> Volume {
    let volume = Volume::on_loop("ext4", 512, "noatime");
    volume.lay_out("x", 64);
    // Other users read what was recorded.
    let folder = volume.path().parent().expect("a folder").to_owned();
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).expect("our own folder");
    volume
}

fn file(volume: &Volume, name: &str, text: &str) -> PathBuf {
    let path = volume.beside(name);
    fs::write(&path, text).expect("a file");
    path
}

fn report(output: &Output) -> Value {
    let stderr = String::from_utf8_lossy(&output.stderr);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {stderr}"));
    assert_follows(include_str!("../../../../docs/acceptance.schema.json"), &report);
    report
}

/// Judges stored runs without any rights, after their owner let others read them.
fn judged(file: &Path, runs: &Path) -> (Value, Option<i32>) {
    let opened = Command::new("chmod").args(["-R", "go+rX"]).arg(runs).status().expect("chmod runs");
    assert!(opened.success(), "others may read {}", runs.display());
    let mut command = Command::new(binary());
    command.args(["accept", "--format", "json"]).arg(file).arg(runs).uid(NOBODY).gid(NOBODY);
    let output = command.output().expect("the binary runs");
    (report(&output), output.status.code())
}

fn outcome(report: &Value) -> &str {
    report["limits"][0]["outcome"].as_str().unwrap_or("")
}

fn condition<'a>(report: &'a Value, name: &str) -> &'a str {
    let conditions = report["benchmarks"][0]["conditions"].as_array().map_or(&[][..], Vec::as_slice);
    let found = conditions.iter().find(|condition| condition["name"] == name);
    found.and_then(|condition| condition["state"].as_str()).unwrap_or("")
}

/// Runs the suite inside a group that throttles the device.
fn record(group: &Throttled, file: &Path, out: &Path) -> Output {
    let command = format!("{} accept --format json --out {} {}", binary().display(), out.display(), file.display());
    Command::new("sh").args(["-c", &group.join(&command)]).output().expect("the binary runs")
}

#[test]
fn a_device_of_a_known_rate_lands_in_each_outcome_and_stored_runs_give_the_same() {
    needs!(beside: "fio", "mkfs.ext4", "losetup", "sh");
    let volume = volume();
    let Some(group) = Throttled::reads(&volume, RATE) else {
        skip("there is no blkio controller of version 1 here");
        return;
    };
    let limit = "at_least = \"10 MB/s\"\ntolerance = \"2 %\"";
    let pass = file(&volume, "pass.toml", &agreed(&volume, THROTTLED, limit));
    let out = volume.beside("suite");
    let output = record(&group, &pass, &out);
    let stderr = String::from_utf8_lossy(&output.stderr);
    let recorded = report(&output);
    assert_eq!((outcome(&recorded), output.status.code()), ("pass", Some(0)), "{recorded:#}\n{stderr}");
    assert!(stderr.contains("sequential-read (benchmark 1 of 1): 5 runs") && stderr.contains("run 5 of 5"), "{stderr}");
    assert_eq!(recorded["limits"][0]["figures"].as_array().map(Vec::len), Some(5));
    assert_eq!(recorded["notes"], serde_json::json!([]), "the runs are those of this file");
    assert_eq!(fs::read(out.join("acceptance.toml")).expect("a copy"), fs::read(&pass).expect("the file"));
    for name in ["acceptance.json", "acceptance.txt", "acceptance.md", "acceptance.html"] {
        assert!(out.join(name).is_file(), "{name}");
    }
    // A user without rights gets the same from the whole directory, the series and its runs.
    let again = judged(&out.join("acceptance.toml"), &out);
    assert_eq!((&again.0, again.1), (&recorded, Some(0)));
    let (by_series, code) = judged(&pass, &out.join("sequential-read"));
    assert_eq!((&by_series["limits"][0]["honest"], code), (&recorded["limits"][0]["honest"], Some(0)));
    let (one_run, code) = judged(&pass, &out.join("sequential-read/1"));
    assert_eq!((outcome(&one_run), code), ("not-judged", Some(3)), "{one_run:#}");
    for (name, limit, conditions, expected, code) in [
        ("fail", "at_least = \"30 MB/s\"\ntolerance = \"2 %\"", THROTTLED, "fail", 1),
        ("above", "at_least = \"14 MB/s\"\ntolerance = \"60 %\"", THROTTLED, "conditional-pass", 0),
        ("below", "at_least = \"21 MB/s\"\ntolerance = \"60 %\"", THROTTLED, "conditional-fail", 1),
        ("most", "at_most = \"10 MB/s\"\ntolerance = \"2 %\"", THROTTLED, "fail", 1),
        ("unthrottled", limit, "", "not-judged", 3),
        ("strict", limit, "[conditions]\nnot_met = \"fail\"", "not-judged", 1),
    ] {
        let other = file(&volume, &format!("{name}.toml"), &agreed(&volume, conditions, limit));
        let (report, exit_code) = judged(&other, &out);
        assert_eq!((outcome(&report), exit_code), (expected, Some(code)), "{name}: {report:#}");
        // The report notes what was not agreed on before.
        let note = report["notes"][0].as_str().unwrap_or("");
        assert!(note.starts_with("5 of 5 runs were recorded for another acceptance file"), "{name}: {note}");
        if name == "unthrottled" {
            let because = report["limits"][0]["because"].as_str().unwrap_or("");
            assert!(because.starts_with("a control group limited run 1 of sequential-read"), "{because}");
            // Five runs show if the device is steady, and if they agree; either result is possible here.
            for name in ["steady_state", "reproducible", "foreign_io_at_most", "probes_complete"] {
                let state = condition(&report, name);
                assert!(["met", "not-met"].contains(&state), "{name}: {state}");
            }
        }
    }
    // A run with changed evidence does not count.
    let stdout = out.join("sequential-read/3/stdout.txt");
    let text = fs::read_to_string(&stdout).expect("a file").replace("read", "READ");
    fs::write(&stdout, text).expect("a file");
    let (changed, code) = judged(&pass, &out);
    assert_eq!((outcome(&changed), code), ("not-judged", Some(3)), "{changed:#}");
}

#[test]
fn what_init_writes_can_be_used_and_what_was_interrupted_is_kept_and_not_judged() {
    needs!(beside: "fio", "mkfs.ext4", "losetup", "sh");
    let volume = volume();
    let template = volume.beside("template.toml");
    let run = |arguments: &[&str]| {
        let output = Command::new(binary()).arg("accept").args(arguments).output().expect("the binary runs");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    let (folder, written) = (volume.path(), template.to_str().expect("UTF-8"));
    let made = run(&["--init", folder.to_str().expect("UTF-8"), written]);
    assert_eq!(made.0, Some(0), "{made:?}");
    // Nobody can have agreed on what the template says.
    let refused = run(&["--check", written]);
    assert_eq!(refused.0, Some(2), "{refused:?}");
    assert!(refused.2.contains("is a placeholder, not a party"), "{}", refused.2);
    assert!(refused.2.contains("\"random-read\" has no limit"), "{}", refused.2);
    let finish = |path: &str| {
        let text = fs::read_to_string(path).expect("a template");
        let text =
            text.replace("(who decides on the device)", "Northgate Archive").replace("(who offers it)", "Tarn Storage");
        let limit = |phase: &str, name: &str| {
            format!(
                "[[limit]]\nbenchmark = \"{name}\"\nphase = \"{phase}\"\nmetric = \"throughput\"\nat_least = \"1 MB/s\"\n"
            )
        };
        let mut limits = limit("random-read", "random-read") + &limit("sequential-read", "sequential-read");
        if text.contains("\nname = \"sequential-write\"") {
            limits += &limit("sequential-write", "sequential-write");
        }
        fs::write(path, text.replace("[conditions]", &format!("{limits}[conditions]"))).expect("our own file");
    };
    finish(written);
    let checked = run(&["--check", written]);
    assert_eq!(checked.0, Some(0), "{checked:?}");
    assert!(checked.1.contains("phases  random-read"), "{}", checked.1);
    assert!(checked.1.contains("takes   at most 6 min of measuring"), "{}", checked.1);
    assert!(checked.1.contains("\n  writes  at most "), "{}", checked.1);
    let device = volume.device().expect("a device");
    let of_device = volume.beside("device.toml");
    let of_device = of_device.to_str().expect("UTF-8");
    assert_eq!(run(&["--init", device, of_device]).0, Some(0));
    finish(of_device);
    let checked = run(&["--check", of_device]);
    assert_eq!(checked.0, Some(0), "{checked:?}");

    let Some(group) = Throttled::reads(&volume, RATE / 4) else {
        skip("there is no blkio controller of version 1 here");
        return;
    };
    let later = r#"[[benchmark]]
name = "later"
command = ["fio", "--name=b", "--rw=read", "--size={64 MiB}", "--filename=x"]
[[limit]]
benchmark = "later"
phase = "b-read"
metric = "throughput"
at_least = "1 MB/s"
[[limit]]"#;
    let text = agreed(&volume, THROTTLED, "at_least = \"1 MB/s\"").replace("[[limit]]", later);
    let (pass, out) = (file(&volume, "slow.toml", &text), volume.beside("interrupted"));
    let command = format!("{} accept --out {} {}", binary().display(), out.display(), pass.display());
    let mut child = Command::new("sh")
        .args(["-c", &group.join(&command)])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("the binary runs");
    // Wait until the second run has begun.
    let second = out.join("sequential-read/2/run.json");
    while !second.is_file() {
        assert_eq!(child.try_wait().expect("our own child"), None, "it ended before its second run");
        std::thread::yield_now();
    }
    kill_process(Pid::from_child(&child), Signal::INT).expect("it runs");
    let output = child.wait_with_output().expect("it ends");
    let shown = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(130), "{shown}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(shown.starts_with("NOT JUDGED") && shown.contains("interrupted"), "{shown}");
    // The rest of the suite did not begin, and its folder says so.
    let later = fs::read_to_string(out.join("later/series.json")).expect("it is written down");
    assert!(later.contains("interrupted before it began"), "{later}");
    let (again, code) = judged(&pass, &out);
    assert_eq!((outcome(&again), code), ("not-judged", Some(3)), "{again:#}");
}

#[test]
fn a_raw_device_is_written_only_where_file_and_command_line_say_so_and_nobody_uses_it() {
    needs!(beside: "fio", "mkfs.ext4", "losetup", "blkid", "script");
    let volume = Volume::on_loop("ext4", 64, "noatime");
    let device = volume.device().expect("a device").to_owned();
    let text = |destroy: &str| {
        let command = r#"["fio", "--name=a", "--rw=write", "--bs=1m", "--size={32 MiB}", "--direct=1", "--end_fsync=1",
    "--filename={target}"]"#;
        agreed(&volume, THROTTLED, "at_least = \"1 kB/s\"")
            .replace(&format!("path = \"{}\"", volume.path().display()), &format!("device = \"{device}\"\n{destroy}"))
            .replace("a-read", "a-write")
            .replace("sequential-read", "sequential-write")
            // Two short writes differ by much.
            .replace("guard-band", "simple")
            .lines()
            .filter(|line| !line.trim_start().starts_with("\"--ioengine"))
            .map(|line| match line.starts_with("command = ") {
                true => format!("command = {command}\nruns = 2\nsubject = \"device\"\n"),
                false => format!("{line}\n"),
            })
            .collect::<String>()
    };
    let run = |name: &str, file: &Path, more: &[&str]| {
        let mut command = Command::new(binary());
        command.args(["accept", "--quiet", "--format", "json", "--out"]).arg(volume.beside(name)).args(more).arg(file);
        let output = command.output().expect("the binary runs");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned(), output)
    };
    let silent = file(&volume, "silent.toml", &text(""));
    let (code, told, _) = run("a", &silent, &["--destroy", &device]);
    assert!(code == Some(2) && told.contains("`destroy = true`"), "{told}");
    let permitted = file(&volume, "permitted.toml", &text("destroy = true"));
    let (code, told, _) = run("b", &permitted, &[]);
    assert!(code == Some(2) && told.contains(&format!("--destroy {device}")), "{told}");
    let (code, told, _) = run("c", &permitted, &["--destroy", "/dev/null"]);
    assert!(code == Some(2) && told.contains("repeat the exact path"), "{told}");
    // A mounted device is refused, even with both permissions.
    let (code, told, _) = run("d", &permitted, &["--destroy", &device]);
    assert!(code == Some(2) && told.contains("mounted") && told.contains("not written"), "{told}");
    for name in ["a", "b", "c", "d"] {
        assert!(!volume.beside(name).exists(), "nothing was recorded in {name}");
    }
    // Both permitted the loss of the file system on it.
    volume.unmount();
    let (code, told, output) = run("e", &permitted, &["--destroy", &device]);
    let judged = report(&output);
    assert_eq!(judged["target"]["destroy"], true);
    assert_eq!(judged["benchmarks"][0]["runs"].as_array().map(Vec::len), Some(2), "{told}");
    assert_eq!((outcome(&judged), code), ("pass", Some(0)), "{judged:#}\n{told}");
    // At a terminal its path is asked for, after what is on it was shown.
    let typed = |name: &str, answer: &str| {
        let command = [binary(), volume.beside(name), permitted.clone()].map(|path| path.display().to_string());
        let command = format!("{} accept --quiet --out {} {}", command[0], command[1], command[2]);
        let line = format!("echo '{answer}' | script --quiet --return --command '{command}' /dev/null");
        let output = Command::new("sh").args(["-c", &line]).output().expect("sh runs");
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let (code, told) = typed("f", "yes");
    assert!(code == Some(2) && told.contains("type its path to go on"), "{told}");
    assert!(told.contains("64 MiB") && !volume.beside("f").exists(), "{told}");
    let (code, told) = typed("g", &device);
    assert!(code == Some(0) && volume.beside("g").join("acceptance.json").exists(), "{code:?} {told}");
}

/// Under sudo the benchmark is the invoking user's, who may not open a device: the agreed one is given to it alone.
#[test]
fn a_device_is_written_with_the_rights_of_the_user_who_called_sudo() {
    needs!(beside: "fio", "losetup", "blkid");
    let (volume, other) = (Volume::raw(64), Volume::raw(64));
    let (device, other) = (volume.device().expect("a device"), other.device().expect("a device"));
    let folder = volume.beside("");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).expect("our own folder");
    let node = || {
        let found = fs::metadata(device).expect("a device");
        (found.uid(), found.gid(), found.mode())
    };
    let before = node();
    let mut commands = Vec::new();
    for (name, target) in [("agreed", "{target}"), ("other", other)] {
        let text = agreed(&volume, THROTTLED, "at_least = \"1 kB/s\"")
            .replace(
                &format!("path = \"{}\"", volume.path().display()),
                &format!("device = \"{device}\"\ndestroy = true"),
            )
            .replace("--rw=read", "--rw=write")
            .replace("--filename=x", &format!("--filename={target}"))
            .replace("a-read", "a-write")
            .replace("guard-band", "simple");
        let mut command = Command::new(binary());
        command.args(["accept", "--quiet", "--format", "json", "--destroy", device, "--out"]).arg(volume.beside(name));
        command.arg(file(&volume, &format!("{name}.toml"), &text)).env("SUDO_USER", "nobody");
        commands.push(command.output().expect("the binary runs"));
    }
    let judged = report(&commands[0]);
    let told = String::from_utf8_lossy(&commands[0].stderr).into_owned();
    assert_eq!((outcome(&judged), commands[0].status.code()), ("pass", Some(0)), "{judged:#}\n{told}");
    assert_eq!(fs::metadata(volume.beside("agreed")).expect("a folder").uid(), NOBODY);
    assert_eq!(node(), before, "the node that everybody sees has changed");
    // Another device is refused before anything runs.
    assert_eq!(commands[1].status.code(), Some(2), "{}", String::from_utf8_lossy(&commands[1].stderr));
    assert!(fs::read(other).expect("a device").iter().all(|byte| *byte == 0), "the other device was written");
}

#[test]
fn no_device_but_the_agreed_one_is_written() {
    needs!(beside: "fio", "mkfs.ext4", "losetup", "blkid");
    let (volume, other) = (Volume::on_loop("ext4", 64, "noatime"), Volume::raw(16));
    let device = other.device().expect("a device").to_owned();
    let writes = |file: &str, target: &str| {
        let path = format!("path = \"{}\"", volume.path().display());
        let text = agreed(&volume, THROTTLED, "at_least = \"1 kB/s\"").replace("--filename=x", file);
        text.replace("rw=read", "rw=write")
            .replace("a-read", "a-write")
            .replace("{24 MiB}", "{8 MiB}")
            .replace(&path, target)
    };
    let run = |name: &str, text: &str, more: &[&str]| {
        let file = file(&volume, name, text);
        let out = volume.beside("nothing");
        let mut command = Command::new(binary());
        command.arg("accept").args(more);
        if !more.contains(&"--check") {
            command.arg("--out").arg(&out);
        }
        let output = command.arg(file).output().expect("the binary runs");
        assert_eq!(output.status.code(), Some(2), "{name}: {}", String::from_utf8_lossy(&output.stdout));
        assert!(!out.exists(), "{name}: nothing was recorded");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    // A blank and unused device, but outside of the directory that was agreed on.
    let beside = writes(&format!("--filename={device}"), &format!("path = \"{}\"", volume.path().display()));
    for more in [&["--check"][..], &[]] {
        let told = run("beside.toml", &beside, more);
        assert!(told.contains(&format!("{device} is not in the target")), "{told}");
    }
    // The job's effect is known only when it runs.
    let job = volume.beside("later.fio");
    let text = beside.replace("\"--name=a\", ", &format!("\"{}\", ", job.display()));
    let told = run("later.toml", &text, &[]);
    assert!(told.contains("a job file is not part of the command"), "{told}");
    // What does more than I/O on the target, whatever it says it is.
    for (from, to, words) in [
        ("\"fio\", ", format!("\"sh\", \"-c\", \"dd if=/dev/urandom of={device}; fio $*\", "), "is not a benchmark"),
        ("\"fio\", ", "\"./fio\", ".to_owned(), "a program is named without its folder"),
        ("\"--name=a\", ", format!("\"--name=a\", \"--exec_prerun=dd of={device}\", "), "may do more than I/O"),
        ("\"--name=a\", ", format!("\"--name=a\", \"--output={device}\", "), "may do more than I/O"),
        ("\"--name=a\", ", "\"--name=a\", \"--filename=../../x\", ".to_owned(), "is not in the target"),
    ] {
        let told = run(
            "more.toml",
            &writes("--filename=x", &format!("path = \"{}\"", volume.path().display())).replace(from, &to),
            &[],
        );
        assert!(told.contains(words), "{to}: {told}");
    }
    // The name is that in the file, but the device is another.
    let identity = "[target.identity]\nserial = \"S0123\"";
    let moved = writes("--filename={target}", &format!("device = \"{device}\"\ndestroy = true\n{identity}"));
    for more in [&["--check"][..], &["--destroy", &device]] {
        let told = run("moved.toml", &moved, more);
        assert!(told.contains("what was agreed on (serial number S0123)"), "{told}");
    }
    let content = fs::read(&device).expect("a device");
    assert!(content.iter().all(|byte| *byte == 0), "it was written");
}

#[test]
fn a_link_that_appears_while_the_suite_runs_leads_to_no_other_device() {
    needs!(beside: "fio", "mkfs.ext4", "losetup");
    let (volume, other) = (Volume::on_loop("ext4", 64, "noatime"), Volume::raw(16));
    let device = other.device().expect("a device").to_owned();
    let text = agreed(&volume, THROTTLED, "at_least = \"1 kB/s\"")
        .replace("rw=read", "rw=write")
        .replace("a-read", "a-write")
        .replace("{24 MiB}", "{8 MiB}")
        // Time for the swap, before fio opens its file.
        .replace("\"--name=a\", ", "\"--name=a\", \"--startdelay=2\", ");
    let (suite, out) = (file(&volume, "swap.toml", &text), volume.beside("swapped"));
    fs::write(volume.path().join("x"), vec![1; 8 << 20]).expect("a file");
    let mut command = Command::new(binary());
    let accept = command.args(["accept", "--quiet", "--out"]).arg(&out).arg(&suite);
    let accept = accept.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the binary runs");
    let began = Instant::now();
    while !out.join("sequential-read/1").is_dir() {
        assert!(began.elapsed() < Duration::from_secs(30), "the first run begins");
        std::thread::yield_now();
    }
    fs::remove_file(volume.path().join("x")).expect("our file");
    std::os::unix::fs::symlink(&device, volume.path().join("x")).expect("a link");
    let ended = accept.wait_with_output().expect("it ends");
    let told = String::from_utf8_lossy(&ended.stderr);
    let output = fs::read_to_string(out.join("sequential-read/1/stderr.txt")).unwrap_or_default();
    assert!(output.contains("Permission denied"), "{output}\n{told}");
    let content = fs::read(&device).expect("a device");
    assert!(content.iter().all(|byte| *byte == 0), "the other device was written: {told}");
}

#[test]
fn names_with_colons_and_blanks_are_those_of_one_file() {
    needs!(beside: "fio", "mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 64, "noatime");
    let folder = volume.path().join("a: b");
    fs::create_dir(&folder).expect("a folder");
    let path = format!("path = \"{}\"", volume.path().display());
    let text = agreed(&volume, THROTTLED, "at_least = \"1 kB/s\"")
        .replace(&path, &format!("path = \"{}\"", folder.display()))
        .replace("--filename=x", "--filename={target}/x");
    let out = volume.beside("colon");
    let mut command = Command::new(binary());
    let output = command.args(["accept", "--quiet", "--format", "json", "--out"]).arg(&out);
    let output = output.arg(file(&volume, "colon.toml", &text)).output().expect("the binary runs");
    let judged = report(&output);
    assert_eq!(judged["benchmarks"][0]["runs"].as_array().map(Vec::len), Some(5), "{judged:#}");
    assert!(folder.join("x").is_file(), "{:?}", fs::read_dir(volume.path()).map(|entries| entries.count()));
}

/// One agreement, two disks and one that is not there: each has its protocol, and the summary a row for each.
#[test]
fn one_agreement_serves_several_units_and_one_that_fails_stops_no_other() {
    needs!(beside: "fio", "losetup", "blkid", "chromium");
    let (first, second) = (Volume::raw(64), Volume::raw(64));
    let devices = [&first, &second].map(|volume| volume.device().expect("a device").to_owned());
    let text = agreed(&first, THROTTLED, "at_least = \"1 kB/s\"")
        .replace(&format!("path = \"{}\"", first.path().display()), "destroy = true")
        .replace("--filename=x", "--filename={target}")
        .replace("--rw=read", "--rw=write")
        .replace("a-read", "a-write")
        .replace("--iodepth=16\"]", "--iodepth=16\"]\nruns = 2")
        .replace("guard-band", "simple");
    let agreement = file(&first, "batch.toml", &text);
    let out = first.beside("batch");
    let accept = |arguments: &[&str]| {
        let mut command = Command::new(binary());
        let output = command.arg("accept").args(arguments).output().expect("the binary runs");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    let (file, folder) = (agreement.to_str().expect("UTF-8"), out.to_str().expect("UTF-8"));
    // The agreement can be checked without a unit, and is not run without one.
    let (code, checked, told) = accept(&["--check", file]);
    assert!(code == Some(0) && checked.contains("no unit was named"), "{checked}{told}");
    let (code, _, told) = accept(&[file, "--out", folder]);
    assert!(code == Some(2) && told.contains("names no unit") && !out.exists(), "{told}");
    let (code, checked, told) = accept(&["--check", file, "--unit", &devices[0], "--unit", &devices[1]]);
    assert!(code == Some(0) && checked.contains("All 2 units"), "{checked}{told}");
    assert!(checked.contains("writes  at most 48 MiB"), "{checked}");
    let absent = "/dev/activebench-absent";
    let units = ["--unit", &devices[0], "--unit", absent, "--unit", &devices[1]];
    let destroy = ["--destroy", &devices[0], "--destroy", &devices[1]];
    let (code, shown, told) =
        accept(&[&["--quiet", "--format", "json", "--out", folder][..], &units, &destroy, &[file]].concat());
    assert_eq!(code, Some(3), "{shown}\n{told}");
    let summary: Value = serde_json::from_str(&shown).expect("JSON");
    assert_follows(include_str!("../../../../docs/acceptance-batch.schema.json"), &summary);
    let outcomes: Vec<&str> = (0..3).map(|place| summary["units"][place]["outcome"].as_str().unwrap_or("")).collect();
    assert_eq!(outcomes, ["pass", "not-judged", "pass"], "{summary:#}\n{told}");
    assert!(summary["units"][1]["not_tested"].as_str().is_some_and(|why| why.contains(absent)), "{summary:#}");
    for name in ["summary.txt", "summary.json", "summary.md", "summary.html", "acceptance.toml"] {
        assert!(out.join(name).is_file(), "{name}");
    }
    look_at_document(&out.join("summary.html"));
    look_at_document(&out.join(Path::new(&devices[0]).file_name().expect("a name")).join("acceptance.html"));
    // Each folder is judged by itself, and all of them give the same summary again.
    for device in &devices {
        let own = out.join(Path::new(device).file_name().expect("a name"));
        assert!(own.join("acceptance.html").is_file() && own.join("sequential-read/2").is_dir(), "{}", own.display());
        let own_file = own.join("acceptance.toml");
        let (code, one, told) =
            accept(&["--format", "json", own_file.to_str().expect("UTF-8"), own.to_str().expect("UTF-8")]);
        assert_eq!(code, Some(0), "{told}");
        let one: Value = serde_json::from_str(&one).expect("JSON");
        assert_eq!((outcome(&one), one["target"]["path"].as_str()), ("pass", Some(device.as_str())), "{one:#}");
    }
    let copy = out.join("acceptance.toml");
    let (code, again, told) = accept(&["--format", "json", copy.to_str().expect("UTF-8"), folder]);
    assert_eq!(code, Some(3), "{told}");
    let again: Value = serde_json::from_str(&again).expect("JSON");
    assert_eq!(again["units"], summary["units"]);
}
