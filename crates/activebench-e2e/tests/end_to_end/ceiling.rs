//! `activebench ceiling` on real storage: its measurements, its clean-up (nothing is left), and their use in a later
//! `verify`.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use activebench_e2e::{Volume, assert_follows, binary, needs, recheck, skip};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// Environment variable with the folder in which ceilings are kept.
const FOLDER: &str = "ACTIVEBENCH_CEILINGS";

fn ceiling(kept_in: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(binary());
    let seconds = if arguments.contains(&"--seconds") { &[][..] } else { &["--seconds", "0.3"] };
    command.args(["ceiling", "--size", "64MiB"]).args(seconds).args(arguments).env(FOLDER, kept_in);
    command
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// Returns the printed JSON, which follows its schema.
#[track_caller]
fn measured(kept_in: &Path, arguments: &[&str], exit_code: i32) -> Value {
    let output = ceiling(kept_in, arguments).args(["--format", "json"]).output().expect("the binary runs");
    let ceiling: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"));
    assert_fits(&ceiling);
    let scatters = ceiling["parts"].as_array().expect("parts").iter().any(scatters);
    let expected = if scatters { INCOMPLETE } else { exit_code };
    assert_eq!(output.status.code(), Some(expected), "{}", text(&output));
    ceiling
}

/// Exit code where a part was not measured.
const INCOMPLETE: i32 = 3;

/// Returns `true` for a part without a value because its repetitions differ: others used this machine.
fn scatters(part: &Value) -> bool {
    part["missing"].as_str().is_some_and(|why| why.contains("repetitions differ by"))
}

#[track_caller]
fn assert_has_value(part: &Value) {
    assert!(part["value"]["value"].as_f64().is_some_and(|value| value > 0.0) || scatters(part), "{part:#}");
}

#[track_caller]
fn assert_fits(ceiling: &Value) {
    assert_follows(include_str!("../../../../docs/ceiling.schema.json"), ceiling);
}

fn parts<'a>(ceiling: &'a Value, kinds: &[&str]) -> Vec<&'a Value> {
    let parts = ceiling["parts"].as_array().expect("parts");
    parts.iter().filter(|part| part["kind"].as_str().is_some_and(|kind| kinds.contains(&kind))).collect()
}

/// Asserts that every part of the storage has a value, and that the device served almost all bytes that fio moved.
#[track_caller]
fn assert_served(ceiling: &Value, count: usize) {
    let storage = parts(ceiling, &["random", "sequential", "durable"]);
    assert_eq!(storage.len(), count, "{ceiling:#}");
    for part in storage {
        assert_has_value(part);
        let repetitions = part["repetitions"].as_array().map_or(0, Vec::len) as u64;
        assert!((3..=6).contains(&repetitions), "{part:#}");
        let bytes = |name: &str| part["served"][name].as_u64().expect("a count");
        // btrfs reads the first direct request into each fresh buffer through its page cache, in each repetition.
        let number = |name: &str| part[name].as_u64().expect("a number");
        let fresh = repetitions * number("depth") * number("request_bytes");
        assert!((bytes("counted_bytes") + fresh) as f64 >= 0.98 * bytes("tool_bytes") as f64, "{part:#}");
    }
}

#[track_caller]
fn assert_memory(ceiling: &Value) {
    let memory = parts(ceiling, &["calls", "copy"]);
    assert!(memory.len() >= 10, "{ceiling:#}");
    memory.into_iter().for_each(assert_has_value);
}

fn names(folder: &Path) -> Vec<PathBuf> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Vec::new(),
        Err(error) => panic!("{}: {error}", folder.display()),
    };
    let mut names: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    names.sort();
    names
}

/// Returns the free space of a file system, in blocks.
fn free(volume: &Volume) -> u64 {
    rustix::fs::statvfs(volume.path()).expect("the volume answers").f_bfree
}

/// Returns the sectors written to a device since boot.
fn written(device: &str) -> String {
    let name = device.strip_prefix("/dev/").expect("a device");
    let stat = fs::read_to_string(format!("/sys/block/{name}/stat")).expect("counters");
    stat.split_whitespace().nth(6).expect("sectors written").to_owned()
}

const FIO: &str = "fio --name=r --rw=randread --bs=4k --direct=1 --size=16m --filename=f";

/// Runs a verified command with the ceilings that are kept in a folder.
fn verified(volume: &Volume, kept_in: &Path, run: &Path, options: &[&str]) -> Value {
    verified_command(volume, kept_in, run, options, FIO)
}

fn verified_command(volume: &Volume, kept_in: &Path, run: &Path, options: &[&str], command: &str) -> Value {
    let output = Command::new(binary())
        .args(["verify", "--format", "json", "--out"])
        .arg(run)
        .args(options)
        .arg("--")
        .args(command.split_whitespace())
        .current_dir(volume.path())
        .env(FOLDER, kept_in)
        .output()
        .expect("the binary runs");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", text(&output)))
}

/// Returns the shares of all claims of a report.
fn shares(report: &Value) -> Vec<&Value> {
    let claims = report["claims"].as_array().expect("claims");
    claims.iter().flat_map(|claim| claim["shares"].as_array().expect("shares")).collect()
}

fn notes(report: &Value) -> Vec<&str> {
    report["bound_notes"].as_array().expect("notes").iter().filter_map(Value::as_str).collect()
}

#[test]
fn a_figure_is_a_share_of_what_was_measured() {
    needs!(beside: "fio", "mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 256, "noatime");
    volume.lay_out("f", 16);
    let kept_in = volume.beside("ceilings");
    let out = volume.beside("out.json");
    let before = (names(&volume.path()), free(&volume));
    let ceiling =
        measured(&kept_in, &[volume.path().to_str().expect("UTF-8"), "--out", out.to_str().expect("UTF-8")], 0);
    assert_served(&ceiling, 9);
    assert_memory(&ceiling);
    assert_eq!(ceiling["identity"][0]["kind"], "backing-file", "{ceiling:#}");
    assert_eq!((names(&volume.path()), free(&volume)), before);
    let kept = names(&kept_in);
    let [file] = &kept[..] else { panic!("{kept:?}") };
    for file in [file, &out] {
        let stored: Value = serde_json::from_slice(&fs::read(file).expect("the file")).expect("JSON");
        assert_eq!(stored, ceiling);
    }

    if parts(&ceiling, &["random"]).into_iter().any(scatters) {
        return skip("others used this machine: the repetitions of a part that is needed differ");
    }
    let run = volume.beside("run");
    let report = verified(&volume, &kept_in, &run, &[]);
    let found = shares(&report);
    if notes(&report).iter().any(|note| note.contains("is not used")) {
        assert!(names(&kept_in).is_empty(), "a ceiling that was exceeded is discarded");
        return skip("others used this machine: the run was faster than the ceiling");
    }
    let alone = "what the device gives for random 4 KiB reads at depth 1";
    assert!(found.len() >= 2, "{report:#}");
    for share in &found {
        assert_eq!((share["part"].as_str(), share["measured"].as_bool()), (Some(alone), Some(true)), "{share:#}");
        let number = |name: &str| share[name].as_f64().expect("a number");
        let is_time = share["unit"] == "ns";
        let ratio = if is_time { number("bound") / number("value") } else { number("value") / number("bound") };
        assert!((number("share_ratio") / ratio - 1.0).abs() < 1e-6, "{share:#}");
    }
    assert!(notes(&report).iter().any(|note| note.starts_with("The ceiling of ")), "{:?}", notes(&report));

    // The run contains the ceiling that it was judged with.
    fs::remove_file(file).expect("it goes");
    let again = recheck(&run, &[]);
    assert_eq!((&again.report["claims"], &again.report["bound_notes"]), (&report["claims"], &report["bound_notes"]));
    // The ceiling can be named, or omitted.
    let named = verified(&volume, &kept_in, &volume.beside("named"), &["--ceiling", out.to_str().expect("UTF-8")]);
    assert_eq!(shares(&named).len(), found.len());
    let without = verified(&volume, &kept_in, &volume.beside("without"), &["--no-ceiling"]);
    assert_eq!((shares(&without).len(), notes(&without).len()), (0, 0));
    let none = verified(&volume, &kept_in, &volume.beside("none"), &[]);
    let hint = format!("`activebench ceiling {}`", volume.path().display());
    assert_eq!(shares(&none).len(), 0);
    assert!(notes(&none).iter().any(|note| note.contains(&hint)), "{:?}", notes(&none));

    // Another kernel, and another storage.
    for (pointer, value, said) in [
        ("/machine/kernel", "6.0.0", "the kernel was 6.0.0 and is "),
        ("/identity/0/value", "another file", "is not the storage any more that it was"),
    ] {
        let mut stale = ceiling.clone();
        *stale.pointer_mut(pointer).expect("a field") = value.into();
        fs::write(file, stale.to_string()).expect("it is written");
        let report = verified(&volume, &kept_in, &volume.beside(value), &[]);
        assert_eq!(shares(&report).len(), 0);
        assert!(notes(&report).iter().any(|note| note.contains(said)), "{:?}", notes(&report));
    }
}

#[test]
fn only_a_file_of_its_own_is_written() {
    needs!(beside: "fio", "mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 256, "noatime");
    let before = names(&volume.path());
    let ceiling = measured(&volume.beside("ceilings"), &[volume.path().to_str().expect("UTF-8"), "--no-writes"], 0);
    assert_served(&ceiling, 4);
    assert_eq!(names(&volume.path()), before);
    // A file that exists is never written.
    volume.lay_out("f", 32);
    let file = volume.path().join("f");
    let content = fs::read(&file).expect("a file");
    let ceiling = measured(&volume.beside("ceilings"), &[file.to_str().expect("UTF-8")], 0);
    assert_served(&ceiling, 4);
    assert!(fs::read(&file).expect("a file") == content, "the file was written");
}

#[test]
fn writes_that_are_each_durable_are_a_share_of_such_writes() {
    needs!(beside: "fio", "mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 256, "noatime");
    let kept_in = volume.beside("ceilings");
    let ceiling = measured(&kept_in, &[volume.path().to_str().expect("UTF-8")], 0);
    if parts(&ceiling, &["durable"]).into_iter().any(scatters) {
        return skip("others used this machine: the repetitions of a part that is needed differ");
    }
    let fio = "fio --name=w --rw=write --bs=4k --fdatasync=1 --size=2m --filename=w";
    let report = verified_command(&volume, &kept_in, &volume.beside("run"), &[], fio);
    if notes(&report).iter().any(|note| note.contains("is not used")) {
        return skip("others used this machine: the run was faster than the ceiling");
    }
    let durable = "what the device gives for 4 KiB writes one at a time, each made durable";
    let of = |metric: &str| -> Vec<&str> {
        let claims = report["claims"].as_array().expect("claims");
        let shares =
            claims.iter().filter(|claim| claim["metric"] == metric).flat_map(|claim| claim["shares"].as_array());
        shares.flatten().filter_map(|share| share["part"].as_str()).collect()
    };
    assert_eq!(of("throughput"), [durable], "{report:#}");
    // fio times the write apart from the sync after it.
    assert!(!of("latency-mean").contains(&durable), "{report:#}");
}

#[test]
fn copies_on_the_other_disk_are_nobody_elses() {
    needs!("fio", "mkfs.btrfs", "losetup");
    let volume = Volume::mirrored_btrfs(256);
    let ceiling = measured(&volume.beside("ceilings"), &[volume.path().to_str().expect("UTF-8")], 0);
    assert_served(&ceiling, 9);
    let notes = ceiling["notes"].as_array().expect("notes");
    let of_writes =
        |note: &&Value| note.as_str().is_some_and(|note| note.contains("writes") && note.contains("others"));
    assert_eq!(notes.iter().find(of_writes), None);
}

fn ceiling_output(volume: &Volume, arguments: &[&str]) -> Output {
    ceiling(&volume.beside("ceilings"), arguments).output().expect("the binary runs")
}

#[test]
fn a_raw_device_is_only_read() {
    needs!(beside: "fio", "mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 64, "noatime");
    volume.unmount();
    let device = volume.device().expect("a device");
    let before = written(device);
    let ceiling = measured(&volume.beside("ceilings"), &[device], 0);
    assert_served(&ceiling, 4);
    assert_eq!(written(device), before);
    assert_eq!(ceiling["target"]["fs_type"], "block-device");
}

#[test]
fn on_tmpfs_the_machine_is_measured() {
    needs!(beside: "fio");
    let volume = Volume::tmpfs(64);
    let ceiling = measured(&volume.beside("ceilings"), &[volume.path().to_str().expect("UTF-8")], 0);
    assert_memory(&ceiling);
    for part in parts(&ceiling, &["random", "sequential", "durable"]) {
        assert_eq!(part["missing"], "tmpfs is in memory: it has no device", "{part:#}");
    }
    assert_eq!(names(&volume.path()), Vec::<PathBuf>::new());
}

#[test]
fn a_place_that_cannot_be_written_takes_no_result_with_it() {
    needs!(beside:);
    let volume = Volume::tmpfs(64);
    // A link that the user named is followed, never replaced.
    let (out, link) = (volume.beside("out.json"), volume.beside("link.json"));
    std::os::unix::fs::symlink(&out, &link).expect("a link");
    let nowhere = Path::new("/proc/nowhere");
    let target = volume.path();
    let arguments = [target.to_str().expect("UTF-8"), "--out", link.to_str().expect("UTF-8"), "--format", "json"];
    let output = ceiling(nowhere, &arguments).output().expect("the binary runs");
    assert_eq!(output.status.code(), Some(2), "{}", text(&output));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("cannot keep the result in /proc/nowhere (hint: ACTIVEBENCH_CEILINGS="), "{said}");
    let printed: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_fits(&printed);
    let stored: Value = serde_json::from_slice(&fs::read(&out).expect("the file")).expect("JSON");
    assert_eq!(stored, printed);
    assert!(fs::symlink_metadata(&link).expect("it is there").is_symlink());
}

#[test]
fn without_fio_the_machine_is_measured() {
    needs!(beside: "mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 64, "noatime");
    let kept_in = volume.beside("ceilings");
    let output = ceiling(&kept_in, &[volume.path().to_str().expect("UTF-8")])
        .env("PATH", volume.beside("nowhere"))
        .output()
        .expect("the binary runs");
    assert_eq!(output.status.code(), Some(3), "{}", text(&output));
    assert!(String::from_utf8_lossy(&output.stderr).contains("fio is not installed"), "{}", text(&output));
    let stored: Value = serde_json::from_slice(&fs::read(&names(&kept_in)[0]).expect("the file")).expect("JSON");
    assert_fits(&stored);
    assert_memory(&stored);
}

#[test]
fn a_full_disk_is_refused() {
    needs!(beside: "fio", "mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 24, "noatime");
    let output = ceiling_output(&volume, &[volume.path().to_str().expect("UTF-8")]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output));
    assert!(text(&output).contains("(hint: make room"), "{}", text(&output));
    assert_eq!(names(&volume.beside("ceilings")), Vec::<PathBuf>::new());
}

/// Counts processes that read a file that another process holds open.
fn readers_of(pid: u32) -> usize {
    let wanted = format!("--filename=/proc/{pid}/fd/");
    let processes = names(Path::new("/proc"));
    let reads = |process: &&PathBuf| {
        fs::read(process.join("cmdline")).is_ok_and(|line| String::from_utf8_lossy(&line).contains(&wanted))
    };
    processes.iter().filter(reads).count()
}

#[test]
fn however_it_ends_nothing_is_left() {
    needs!(beside: "fio", "mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 256, "noatime");
    let kept_in = volume.beside("ceilings");
    for signal in [Signal::INT, Signal::TERM, Signal::KILL] {
        let before = (names(&volume.path()), free(&volume));
        let mut child = ceiling(&kept_in, &[volume.path().to_str().expect("UTF-8"), "--seconds", "30"])
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary runs");
        let pid = child.id();
        let begin = Instant::now();
        while readers_of(pid) == 0 {
            assert!(begin.elapsed() < Duration::from_secs(60), "fio never ran");
            assert!(child.try_wait().expect("a state").is_none(), "it ended by itself");
            std::thread::yield_now();
        }
        kill_process(Pid::from_child(&child), signal).expect("it runs");
        let status = child.wait().expect("it ends");
        let said: Vec<String> =
            BufReader::new(child.stderr.take().expect("a pipe")).lines().map_while(Result::ok).collect();
        let expected = if signal == Signal::KILL { None } else { Some(130) };
        assert_eq!(status.code(), expected, "{said:?}");
        while readers_of(pid) > 0 {
            assert!(begin.elapsed() < Duration::from_secs(60), "fio goes on");
            std::thread::yield_now();
        }
        // The file's blocks become free when its last holder has ended.
        while (names(&volume.path()), free(&volume)) != before {
            assert!(begin.elapsed() < Duration::from_secs(60), "{:?}", names(&volume.path()));
            std::thread::yield_now();
        }
        assert_eq!(names(&kept_in), Vec::<PathBuf>::new());
    }
}
