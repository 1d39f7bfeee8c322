//! Series that continue until they are steady, the rounds of unsteady series, and the preparation of devices.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output};

use activebench_e2e::{Throttled, Volume, binary, needs, skip};
use serde_json::Value;

const MIB: u64 = 1 << 20;

/// Reads past the page cache for two seconds. Only a limit of the control group sets the rate: requests wait for it at
/// all times, also while fio waits for a processor.
const READS: &str = "fio --name=a --rw=read --bs=64k --size=64m --filename=x --direct=1 --ioengine=libaio --iodepth=16 \
                     --time_based --runtime=2";

fn activebench(folder: &Path, words: &[&str]) -> Output {
    Command::new(binary()).args(words).current_dir(folder).output().expect("the binary runs")
}

/// A series of a shell's script.
struct Series {
    report: Value,
    directory: PathBuf,
    exit_code: Option<i32>,
    stderr: String,
}

fn series(volume: &Volume, name: &str, options: &[&str], script: &str) -> Series {
    series_in(&volume.path(), volume, name, options, script)
}

/// Runs the same on a volume that is not mounted.
fn series_beside(volume: &Volume, name: &str, options: &[&str], script: &str) -> Series {
    series_in(&volume.beside(""), volume, name, options, script)
}

fn series_in(folder: &Path, volume: &Volume, name: &str, options: &[&str], script: &str) -> Series {
    let directory = volume.beside(name);
    let out = directory.to_str().expect("UTF-8");
    let words = [&["verify", "--format", "json", "--out", out], options, &["--", "sh", "-c", script]].concat();
    let output = activebench(folder, &words);
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    Series {
        report: serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("no report ({error}): {stderr}")),
        directory,
        exit_code: output.status.code(),
        stderr,
    }
}

impl Series {
    fn runs(&self) -> usize {
        self.report["runs"].as_array().map_or(0, Vec::len)
    }

    fn finding(&self, code: &str) -> &Value {
        let findings = self.report["findings"].as_array().map_or(&[][..], Vec::as_slice);
        findings.iter().find(|finding| finding["code"] == code).unwrap_or(&Value::Null)
    }

    /// Returns the windows, each with its runs and `true` when it is steady.
    fn windows(&self) -> Vec<(Vec<u64>, bool)> {
        let windows = self.report["steadiness"][0]["windows"].as_array().cloned().unwrap_or_default();
        let runs = |window: &Value| window["runs"].as_array().expect("runs").iter().filter_map(Value::as_u64).collect();
        windows.iter().map(|window| (runs(window), window["steady"] == true)).collect()
    }
}

fn volume() -> Volume {
    let volume = Volume::on_loop("ext4", 256, "noatime");
    volume.lay_out("x", 64);
    volume
}

#[test]
fn a_device_that_slows_is_not_steady_and_the_rounds_are_named() {
    needs!(beside: "fio", "mkfs.ext4", "losetup", "sh");
    let volume = volume();
    let Some(throttled) = Throttled::reads(&volume, 8 * MIB) else {
        return skip("needs the controller blkio of version 1");
    };
    // From the sixth run on, the limit is half as high.
    let script = format!(
        "n=$(cat ../count 2>/dev/null || echo 1); echo $((n+1)) > ../count; [ $n -lt 6 ] || {}; {}",
        throttled.allow(4 * MIB),
        throttled.join(READS)
    );
    let series = series(&volume, "slows", &["--repeat", "8"], &script);
    let values = series.report["figures"][0]["values"].as_array().expect("a value of each run");
    let is_held = |value: &Value| value.as_f64().is_some_and(|rate| rate > 0.9 * (8 * MIB) as f64);
    if !values[..5].iter().all(is_held) {
        return skip("the machine did not read 8 MiB a second in the first five runs");
    }
    let rounds = |from: u64| (from..from + 5).collect::<Vec<u64>>();
    let expected = vec![(rounds(1), true), (rounds(2), false), (rounds(3), false), (rounds(4), false)];
    assert_eq!(series.windows(), expected, "{:#}", series.report);
    assert_eq!(series.report["steadiness"][0]["first_steady_run"], 5);
    let finding = series.finding("AB702");
    assert_eq!(finding["outcome"], "fires", "{finding:#}");
    let message = finding["message"].as_str().unwrap_or_default();
    assert!(message.starts_with("Rounds 4 to 8 "), "{message}");
    assert!(message.contains(" Rounds 1 to 5 were steady."), "{message}");
    // The cause is known: the limit explains the spread.
    let causes = &series.report["figures"][0]["causes"];
    assert_eq!(causes[0]["kind"], "io-limit", "{causes:#}");
    assert!(finding["message"].as_str().is_some_and(|text| text.contains("the limit of a control group")), "{message}");
    // Judge it again from what was stored.
    let again =
        activebench(&volume.path(), &["recheck", "--format", "json", series.directory.to_str().expect("UTF-8")]);
    let again: Value = serde_json::from_slice(&again.stdout).expect("a report");
    assert_eq!(again, series.report);
    let page = fs::read_to_string(series.directory.join("series-report.html")).expect("a page");
    assert!(page.contains("id=\"rounds-0\"") && page.contains("not steady in rounds 4 to 8"));
}

#[test]
fn a_series_ends_when_it_has_what_was_asked_for_and_says_when_it_has_not() {
    needs!(beside: "fio", "mkfs.ext4", "losetup", "sh");
    let volume = volume();
    let Some(throttled) = Throttled::reads(&volume, 8 * MIB) else {
        return skip("needs the controller blkio of version 1");
    };
    let script = throttled.join(READS);
    let steady = series(&volume, "steady", &["--until", "steady", "--max-runs", "8"], &script);
    assert_eq!(steady.report["stopping"]["reached"], true, "{:#}", steady.report["stopping"]);
    // The series ended with the first steady window: mostly that of the rounds 1 to 5.
    let (last, before) =
        steady.windows().split_last().map(|(last, before)| (last.1, before.to_vec())).expect("windows");
    assert!(last && before.iter().all(|(_, steady)| !steady), "{:?}", steady.windows());
    let told = format!("target reached: a-read: rounds {} to {}", steady.runs() - 4, steady.runs());
    assert!(steady.stderr.contains(&told), "{}", steady.stderr);

    // So wide that a machine with other work reaches it too.
    let narrow = series(&volume, "narrow", &["--until", "99%", "--max-runs", "8"], &script);
    assert!((6..=8).contains(&narrow.runs()), "{}", narrow.stderr);
    assert_eq!(narrow.report["stopping"]["reached"], true, "{:#}", narrow.report["stopping"]);

    // No interval is as narrow as that, where no limit makes the rates equal.
    let never = series(&volume, "never", &["--until", "0.000001%", "--max-runs", "6"], READS);
    assert_eq!((never.runs(), never.exit_code.is_some_and(|code| code != 0)), (6, true), "{}", never.stderr);
    assert_eq!(never.report["stopping"]["reached"], false);
    let text = fs::read_to_string(never.directory.join("series-report.txt")).expect("a report");
    assert!(text.contains("target not reached: a-read: "), "{text}");
    // A goal that so few runs cannot reach is not attempted.
    for (until, runs) in [("5%", "5"), ("steady", "4")] {
        let output = activebench(&volume.path(), &["verify", "--until", until, "--max-runs", runs, "--", "true"]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(&format!("and at most {runs} are allowed (hint: `--max-runs ")), "{said}");
    }
    // A command without a rate is not repeated.
    let silent = series(&volume, "silent", &["--until", "5%", "--max-runs", "6"], "true");
    assert_eq!((silent.runs(), silent.exit_code), (1, Some(3)), "{}", silent.stderr);
}

/// Runs `verify` of random writes to a device.
fn writes(volume: &Volume, device: &str, options: &[&str], name: &str) -> Output {
    let out = volume.beside(name);
    let filename = format!("--filename={device}");
    let fio = ["--", "fio", "--name=a", &filename, "--rw=randwrite", "--bs=4k", "--size=1m", "--direct=1"];
    let words = [&["verify", "--quiet", "--out", out.to_str().expect("UTF-8")], options, &fio].concat();
    activebench(&volume.beside(""), &words)
}

/// Returns the sectors written to a device since it was made.
fn sectors_written(device: &str) -> std::io::Result<u64> {
    let name = device.strip_prefix("/dev/").expect("a node");
    let stat = fs::read_to_string(format!("/sys/block/{name}/stat"))?;
    Ok(stat.split_whitespace().nth(6).and_then(|sectors| sectors.parse().ok()).expect("sectors"))
}

/// A process that holds a device open; ended when dropped.
struct Holder(Child);

impl Holder {
    fn of(device: &str, access: &str) -> Self {
        let script = format!("exec 3{access} {device}; exec sleep 600");
        let child = Command::new("sh").args(["-c", &script]).spawn().expect("it starts");
        let holder = Self(child);
        let program = format!("/proc/{}/comm", holder.0.id());
        while fs::read_to_string(&program).expect("it runs").trim() != "sleep" {
            std::thread::yield_now();
        }
        holder
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        self.0.kill().and_then(|()| self.0.wait()).expect("it ends");
    }
}

#[test]
fn a_device_in_use_is_found_however_a_command_names_it() {
    needs!(beside: "fio", "iozone", "mkfs.ext4", "losetup", "sh");
    let volume = Volume::on_loop("ext4", 64, "noatime");
    let device = volume.device().expect("a device").to_owned();
    let name = device.strip_prefix("/dev/").expect("a node").to_owned();
    let link = volume.beside("pci-0000:00:17.0-ata-1");
    std::os::unix::fs::symlink(&device, &link).expect("a link");
    let by_path = link.to_str().expect("UTF-8");
    fs::write(
        volume.beside("log"),
        format!("fio version 2 iolog\n{device} add\n{device} open\n{device} write 0 4096\n"),
    )
    .expect("a log");
    fs::write(volume.beside("reads"), "fio version 2 iolog\n/x add\n/x open\n/x read 0 4096\n").expect("a log");
    fs::write(volume.beside("job.fio"), format!("[a]\nrw=write\nsize=1m\nfilename={}\n", by_path.replace(':', "\\:")))
        .expect("a job file");
    // Writes back what was written when the file system was made.
    volume.drop_caches();
    let run = |argv: &[&str]| {
        let out = volume.beside("named");
        let words = [&["verify", "--quiet", "--out", out.to_str().expect("UTF-8"), "--"], argv].concat();
        let output = activebench(&volume.beside(""), &words);
        let recorded = out.exists();
        if recorded {
            fs::remove_dir_all(&out).expect("it is ours");
        }
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned(), recorded)
    };
    let options = ["--name=a", "--rw=write", "--size=1m"];
    let fio = |more: &[&str]| [&["fio"], &options[..], more].concat().join(" ");
    let before = sectors_written(&device).expect("sectors");
    for line in [
        fio(&[&format!("--filename={}", by_path.replace(':', "\\:"))]),
        format!("iozone -i0 -s1m -f {by_path}"),
        format!("iozone -i0 -s1m -f{device}"),
        fio(&["--directory=/dev", &format!("--filename={name}")]),
        "fio job.fio".to_owned(),
        "fio --name=a --read_iolog=log".to_owned(),
        format!("fio --name=a --read_iolog=log --replay_redirect={by_path}"),
    ] {
        let (code, said, recorded) = run(&line.split_whitespace().collect::<Vec<_>>());
        assert!(code == Some(2) && said.contains("is mounted at") && !recorded, "{line}: {said}");
    }
    for script in [
        format!("fio --name=a --rw=read --size=1m --filename={device}; {}", fio(&[&format!("--filename={device}")])),
        format!("cd /dev && {}", fio(&[&format!("--filename={name}")])),
    ] {
        let (code, said, recorded) = run(&["sh", "-c", &script]);
        assert!(code == Some(2) && said.contains("is mounted at") && !recorded, "{script}: {said}");
    }
    assert_eq!(sectors_written(&device).expect("sectors"), before);
    // Reading it destroys nothing, also beside writes to a file.
    let reads = format!("fio --name=a --rw=read --size=1m --filename={device}");
    let (code, said, recorded) = run(&reads.split_whitespace().collect::<Vec<_>>());
    assert!(code != Some(2) && recorded, "{said}");
    let (code, said, recorded) = run(&["sh", "-c", &format!("{reads}; {}", fio(&["--filename=mount/x"]))]);
    assert!(code != Some(2) && recorded, "{said}");
    let redirected = format!("--replay_redirect={device}");
    let (code, said, recorded) = run(&["fio", "--name=a", "--read_iolog=reads", &redirected]);
    assert!(code != Some(2) && recorded, "{said}");
    // With an unreadable job file the question stays open.
    let (_, said, _) = run(&["fio", "absent.fio"]);
    assert!(said.contains("cannot determine which devices fio writes: cannot read absent.fio"), "{said}");
}

#[test]
fn a_device_that_comes_into_use_is_not_written_by_the_next_run() {
    needs!(beside: "fio", "mkfs.ext4", "losetup", "sh", "mount");
    let volume = Volume::raw(64);
    let device = volume.device().expect("a device").to_owned();
    fs::create_dir(volume.path()).expect("a mount point");
    let mount_point = volume.path();
    let script = format!(
        "fio --name=a --rw=write --size=1m --direct=1 --filename={device} && mkfs.ext4 -q -F {device} && mount {device} {}",
        mount_point.display()
    );
    let series = series_beside(&volume, "mounts", &["--repeat", "3"], &script);
    assert_eq!(series.runs(), 1, "{}", series.stderr);
    let manifest = fs::read_to_string(series.directory.join("series.json")).expect("the record of the series");
    let manifest: Value = serde_json::from_str(&manifest).expect("JSON");
    let incomplete = manifest["incomplete"].to_string();
    assert!(incomplete.contains("run 2 could not be recorded") && incomplete.contains("is mounted at"), "{incomplete}");
}

/// Asserts that a device in use is not written, neither with the permission nor by the user's own command. A device
/// with content is not written by our own writes.
fn assert_refused(volume: &Volume, why: &str, own: bool) {
    let device = volume.device().expect("a device");
    let before = sectors_written(device).expect("sectors");
    let permitted = ["--destroy", device];
    for options in [Some(&permitted[..]), own.then_some(&[][..])].into_iter().flatten() {
        let output = writes(volume, device, options, "refused");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{why}: {said}");
        assert!(said.contains(why) && said.contains("it is not written (hint: "), "{why}: {said}");
        assert!(!volume.beside("refused").exists(), "{why}");
    }
    assert_eq!(sectors_written(device).expect("sectors"), before, "{why}");
}

#[test]
fn a_device_of_a_mounted_btrfs_is_not_written() {
    needs!(beside: "fio", "mkfs.btrfs", "losetup");
    let volume = Volume::raw(256);
    volume.put_file_system("btrfs");
    assert_refused(&volume, "is mounted at", true);
}

#[test]
fn a_device_that_somebody_uses_is_not_written() {
    needs!(beside: "fio", "mkfs.ext4", "mkswap", "losetup", "wipefs", "partx");
    let volume = Volume::raw(256);
    let device = volume.device().expect("a device").to_owned();
    let refused = |why: &str, own: bool| assert_refused(&volume, why, own);
    let tool = |program: &str, arguments: &[&str]| {
        let output = Command::new(program).args(arguments).output().expect("it starts");
        assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
    };
    volume.put_file_system("ext4");
    refused("is mounted at", true);
    volume.unmount();
    refused("holds a file system or member of one (ext4)", false);
    tool("wipefs", &["--all", &device]);
    tool("mkswap", &[&device]);
    refused("holds a file system or member of one (swap)", false);
    tool("swapon", &[&device]);
    refused("is swap", true);
    tool("swapoff", &[&device]);
    tool("wipefs", &["--all", &device]);
    for (access, own) in [("<>", true), ("<", false)] {
        let holder = Holder::of(&device, access);
        refused("is held open by sleep, process", own);
        drop(holder);
    }
    let above = Command::new("losetup").args(["--find", "--show", &device]).output().expect("it starts");
    let above = String::from_utf8_lossy(&above.stdout).trim().to_owned();
    refused("is behind the loop device", true);
    tool("losetup", &["--detach", &above]);
    write_partition_table(&device);
    refused("holds a partition table (dos)", false);
    tool("partx", &["--add", &device]);
    refused("has a partition", true);
    tool("partx", &["--delete", &device]);
    tool("wipefs", &["--all", &device]);
    // The user's own command overwrites an unused device, and the message says so.
    tool("mkfs.ext4", &["-q", &device]);
    let output = writes(&volume, &device, &[], "own");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{said}");
    assert!(said.contains("holds a file system or member of one (ext4), and the benchmark writes over it"), "{said}");
    tool("wipefs", &["--all", &device]);
    // All of that is removed: now the device is written. The path of another device is not a permission.
    let another = Volume::raw(16);
    let another = another.device().expect("a device");
    let written = || [&device, another].map(|device| sectors_written(device).expect("sectors"));
    let before = written();
    for options in [&["--destroy", another][..], &["--profile", "pts", "--destroy", another]] {
        let output = writes(&volume, &device, options, "other");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        let why = format!("--destroy permits {another} to be written, and the command names {device}: nothing was run");
        assert!(said.contains(&why), "{said}");
    }
    assert_eq!(written(), before);
    let output = writes(&volume, &device, &["--destroy", &device], "allowed");
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(written()[0] >= before[0] + 2048);
}

#[test]
fn the_profile_of_the_standard_purges_and_preconditions_a_device_that_may_be_written() {
    needs!(beside: "fio", "losetup", "blkdiscard");
    let volume = Volume::raw(64);
    let device = volume.device().expect("a device").to_owned();
    // As for most disks, the size is not a multiple of the 128 KiB that the standard writes.
    let backing = fs::OpenOptions::new().write(true).open(volume.beside("backing.img")).expect("the backing file");
    backing.set_len(64 * MIB + 68 * 1024).expect("it grows");
    let grown = Command::new("losetup").args(["--set-capacity", &device]).status().expect("losetup runs");
    assert!(grown.success());
    let out = volume.beside("pts");
    let filename = format!("--filename={device}");
    let words = [
        "verify",
        "--profile",
        "pts",
        "--destroy",
        &device,
        "--max-runs",
        "5",
        "--until",
        "steady",
        "--format",
        "json",
        "--out",
        out.to_str().expect("UTF-8"),
        "--",
        "fio",
        "--name=a",
        &filename,
        "--rw=randread",
        "--bs=4k",
        "--direct=1",
        "--runtime=1",
        "--time_based",
        "--randrepeat=0",
    ];
    let output = activebench(&volume.beside(""), &words);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("is purged: all of it was discarded"), "{said}");
    assert!(said.contains("the device took 2.00 times its size"), "{said}");
    let read = |name: &str| -> Value {
        let text = fs::read(out.join(name)).unwrap_or_else(|error| panic!("{name}: {error}: {said}"));
        serde_json::from_slice(&text).expect("JSON")
    };
    let (manifest, run) = (read("series.json"), read("1/run.json"));
    assert_eq!(manifest["runs"], serde_json::json!(["1", "2", "3", "4", "5"]));
    assert_eq!(manifest["preconditioning"], "preconditioning");
    let preparation = &run["preparation"];
    assert_eq!(preparation["purge"]["how"], "discard", "{preparation:#}");
    assert_eq!(preparation["preconditioning"]["written_bytes"].as_f64(), Some((128 * MIB) as f64), "{preparation:#}");
    // Each run's own record shows that the device was prepared; otherwise the profile refuses its figures.
    let report = read("1/report.json");
    let findings = report["findings"].as_array().expect("findings");
    let fit = findings.iter().find(|finding| finding["code"] == "AB606").expect("it is asked");
    assert_eq!(fit["outcome"], "silent", "{fit:#}");
    // The preparation is not one of the runs; its written bytes are counted again from its record.
    let again = activebench(&volume.beside(""), &["recheck", "--format", "json", out.to_str().expect("UTF-8")]);
    let again: Value = serde_json::from_slice(&again.stdout).expect("a report");
    assert_eq!((&again["preparation"], &again["incomplete"]), (preparation, &serde_json::json!([])), "{again:#}");
    let words = ["compare", "--format", "json", out.to_str().expect("UTF-8"), out.to_str().expect("UTF-8")];
    let compared = activebench(&volume.beside(""), &words);
    let compared: Value = serde_json::from_slice(&compared.stdout).expect("a report");
    assert_eq!(compared["columns"][0]["runs"], 5, "{compared:#}");
    let mut other = run.clone();
    other["preparation"]["preconditioning"]["written_bytes"] = serde_json::json!((129 * MIB) as f64);
    let [manifest, seal] = ["1/run.json", "1/run.json.sha256"].map(|name| out.join(name));
    let [stored, sealed] = [&manifest, &seal].map(|path| fs::read(path).expect("it is there"));
    fs::write(&manifest, other.to_string()).expect("it is written");
    fs::remove_file(&seal).expect("it is removed");
    let changed = activebench(&volume.beside(""), &["recheck", "--format", "json", out.to_str().expect("UTF-8")]);
    let changed: Value = serde_json::from_slice(&changed.stdout).expect("a report");
    let why = "preconditioning: the device took 128 MiB, unlike in run.json of run 1";
    assert_eq!(changed["incomplete"], serde_json::json!([why]));
    fs::write(&manifest, stored).and_then(|()| fs::write(&seal, sealed)).expect("they are written");
    // Its evidence goes into a bundle.
    let bundle = volume.beside("pts.tar.zst");
    let bundled = activebench(
        &volume.beside(""),
        &["bundle", out.to_str().expect("UTF-8"), "--out", bundle.to_str().expect("UTF-8")],
    );
    assert!(bundled.status.success(), "{}", String::from_utf8_lossy(&bundled.stderr));
    assert!(!String::from_utf8_lossy(&bundled.stderr).contains("left out"));
    let verified = activebench(&volume.beside(""), &["verify-bundle", bundle.to_str().expect("UTF-8")]);
    assert!(!matches!(verified.status.code(), Some(2 | 6)), "{}", String::from_utf8_lossy(&verified.stdout));
}

/// Runs `verify --profile pts --destroy` on a volume's device, with a fake program first in the search path.
fn pts(volume: &Volume, name: &str, fake: Option<(&str, &str)>, environment: &[(&str, &str)]) -> Output {
    let programs = volume.beside("programs");
    fs::create_dir_all(&programs).expect("a folder");
    if let Some((program, script)) = fake {
        let path = programs.join(program);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("a program");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("it can be run");
    }
    let paths = std::env::var_os("PATH").expect("a PATH");
    let path = std::env::join_paths(std::iter::once(programs.clone()).chain(std::env::split_paths(&paths)));
    let fio = std::env::split_paths(&paths).map(|folder| folder.join("fio")).find(|fio| fio.is_file()).expect("fio");
    let device = volume.device().expect("a device");
    let output = Command::new(binary())
        .args(["verify", "--profile", "pts", "--destroy", device, "--out"])
        .arg(volume.beside(name))
        .arg("--")
        .arg(fio)
        .args(["--name=a", &format!("--filename={device}"), "--rw=randwrite", "--bs=4k", "--direct=1", "--size=1m"])
        .current_dir(volume.beside(""))
        .env("PATH", path.expect("a PATH"))
        .envs(environment.iter().copied())
        .output()
        .expect("the binary runs");
    fs::remove_dir_all(&programs).expect("it is ours");
    output
}

#[test]
fn a_preparation_that_ends_early_writes_no_more_and_leaves_its_record() {
    needs!(beside: "fio", "losetup");
    let volume = Volume::raw(16);
    let device = volume.device().expect("a device").to_owned();
    let manifest = |name: &str| -> Value {
        let text = fs::read(volume.beside(name).join("series.json")).expect("the record of the series");
        serde_json::from_slice(&text).expect("JSON")
    };
    let before = sectors_written(&device).expect("sectors");
    // Ctrl-C during the purge.
    for (name, script) in [("interrupted", "kill -INT $PPID; exit 1"), ("killed", "kill -INT $PPID; kill -INT $$")] {
        let output = pts(&volume, name, Some(("blkdiscard", script)), &[]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(130), "{said}");
        assert!(!said.contains("preconditioning:"), "{said}");
        assert_eq!(sectors_written(&device).expect("sectors"), before, "{said}");
        assert_eq!(manifest(name)["incomplete"], serde_json::json!(["interrupted while the device was prepared"]));
    }
    // The user who runs the benchmark could not open the device that would be destroyed.
    fs::set_permissions(volume.beside(""), fs::Permissions::from_mode(0o777)).expect("our own folder");
    let output = pts(&volume, "sudo", Some(("blkdiscard", "touch discarded")), &[("SUDO_USER", "nobody")]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("runs as nobody") && said.contains("(hint: `--user root`"), "{said}");
    assert!(!volume.beside("discarded").exists() && !volume.beside("sudo").exists(), "{said}");
    assert_eq!(sectors_written(&device).expect("sectors"), before);
    // A failed preconditioning is in the record.
    let output = pts(&volume, "failed", Some(("fio", "exit 1")), &[]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(4), "{said}");
    assert!(said.contains("cannot precondition") && !said.contains("cannot remove"), "{said}");
    let failed = manifest("failed");
    assert_eq!((&failed["preconditioning"], &failed["runs"]), (&"preconditioning".into(), &serde_json::json!([])));
    assert!(failed["incomplete"][0].as_str().is_some_and(|why| why.starts_with("cannot precondition")), "{failed:#}");
    let again = activebench(&volume.beside(""), &["recheck", "failed"]);
    assert_eq!(again.status.code(), Some(3), "{}", String::from_utf8_lossy(&again.stderr));
}

#[test]
fn a_partition_is_not_prepared_for_the_profile_of_the_standard() {
    needs!(beside: "fio", "losetup", "partx");
    let volume = Volume::raw(16);
    let device = volume.device().expect("a device").to_owned();
    write_partition_table(&device);
    let partx = |what: &str| Command::new("partx").args([what, &device]).status().expect("partx runs");
    assert!(partx("--add").success());
    let partition = format!("{device}p1");
    let output = writes(&volume, &partition, &["--profile", "pts", "--destroy", &partition], "partition");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(partx("--delete").success());
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("is a partition of loop") && said.contains("nothing was written"), "{said}");
    assert!(!volume.beside("partition").exists(), "{said}");
}

/// Writes a partition table (dos) with one partition of 10 MiB.
fn write_partition_table(device: &str) {
    let mut table = [0_u8; 512];
    table[450] = 0x83;
    table[454..458].copy_from_slice(&2048_u32.to_le_bytes());
    table[458..462].copy_from_slice(&20_480_u32.to_le_bytes());
    table[510..].copy_from_slice(&[0x55, 0xaa]);
    let mut node = fs::OpenOptions::new().write(true).open(device).expect("a device");
    std::io::Write::write_all(&mut node, &table).expect("the table is written");
}
