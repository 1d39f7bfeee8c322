//! Series that go on until they are steady, the rounds of those that are not, and devices that are prepared for them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use activebench_e2e::{Throttled, Volume, binary, needs, skip};
use serde_json::Value;

const MIB: u64 = 1 << 20;

/// Reads past the page cache for two seconds; a limit of the control group alone says how fast.
const READS: &str = "fio --name=a --rw=read --bs=64k --size=64m --filename=x --direct=1 --time_based --runtime=2";

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
    let directory = volume.beside(name);
    let out = directory.to_str().expect("UTF-8");
    let words = [&["verify", "--format", "json", "--out", out], options, &["--", "sh", "-c", script]].concat();
    let output = activebench(&volume.path(), &words);
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

    /// Which windows are steady, by the runs that they hold.
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
    needs!("fio", "mkfs.ext4", "losetup", "sh");
    let volume = volume();
    let Some(throttled) = Throttled::reads(&volume, 8 * MIB) else {
        return skip("needs the controller blkio of version 1");
    };
    // From the sixth run on half as much is allowed.
    let script = format!(
        "n=$(cat ../count 2>/dev/null || echo 1); echo $((n+1)) > ../count; [ $n -lt 6 ] || {}; {}",
        throttled.allow(4 * MIB),
        throttled.join(READS)
    );
    let series = series(&volume, "slows", &["--repeat", "8"], &script);
    let rounds = |from: u64| (from..from + 5).collect::<Vec<u64>>();
    let expected = vec![(rounds(1), true), (rounds(2), false), (rounds(3), false), (rounds(4), false)];
    assert_eq!(series.windows(), expected, "{:#}", series.report);
    assert_eq!(series.report["steadiness"][0]["first_steady_run"], 5);
    let finding = series.finding("AB702");
    assert_eq!(finding["outcome"], "fires", "{finding:#}");
    let message = finding["message"].as_str().unwrap_or_default();
    assert!(message.starts_with("rounds 4 to 8 "), "{message}");
    assert!(message.contains("; rounds 1 to 5 had been steady"), "{message}");
    // What changed is known: the limit explains the spread.
    let causes = &series.report["figures"][0]["causes"];
    assert_eq!(causes[0]["kind"], "io-limit", "{causes:#}");
    assert!(finding["message"].as_str().is_some_and(|text| text.contains("the limit of a control group")), "{message}");
    // Judged again from what was stored.
    let again =
        activebench(&volume.path(), &["recheck", "--format", "json", series.directory.to_str().expect("UTF-8")]);
    let again: Value = serde_json::from_slice(&again.stdout).expect("a report");
    assert_eq!(again, series.report);
    let page = fs::read_to_string(series.directory.join("series-report.html")).expect("a page");
    assert!(page.contains("id=\"rounds-0\"") && page.contains("not steady in rounds 4 to 8"));
}

#[test]
fn a_series_ends_when_it_has_what_was_asked_for_and_says_when_it_has_not() {
    needs!("fio", "mkfs.ext4", "losetup", "sh");
    let volume = volume();
    let Some(throttled) = Throttled::reads(&volume, 8 * MIB) else {
        return skip("needs the controller blkio of version 1");
    };
    let script = throttled.join(READS);
    let steady = series(&volume, "steady", &["--until", "steady", "--max-runs", "8"], &script);
    assert_eq!(steady.report["stopping"]["reached"], true, "{:#}", steady.report["stopping"]);
    // It ended with the first window that is steady: mostly that of the rounds 1 to 5.
    let (last, before) =
        steady.windows().split_last().map(|(last, before)| (last.1, before.to_vec())).expect("windows");
    assert!(last && before.iter().all(|(_, steady)| !steady), "{:?}", steady.windows());
    let told = format!("target reached: a-read: rounds {} to {}", steady.runs() - 4, steady.runs());
    assert!(steady.stderr.contains(&told), "{}", steady.stderr);

    let narrow = series(&volume, "narrow", &["--until", "50%", "--max-runs", "8"], &script);
    assert!((6..=8).contains(&narrow.runs()), "{}", narrow.stderr);
    assert_eq!(narrow.report["stopping"]["reached"], true, "{:#}", narrow.report["stopping"]);

    // Nothing is as narrow as that.
    let never = series(&volume, "never", &["--until", "0.000001%", "--max-runs", "6"], &script);
    assert_eq!((never.runs(), never.exit_code.is_some_and(|code| code != 0)), (6, true), "{}", never.stderr);
    assert_eq!(never.report["stopping"]["reached"], false);
    let text = fs::read_to_string(never.directory.join("series-report.txt")).expect("a report");
    assert!(text.contains("target not reached: a-read: "), "{text}");
    // A command without a rate is not run again and again.
    let silent = series(&volume, "silent", &["--until", "5%", "--max-runs", "6"], "true");
    assert_eq!((silent.runs(), silent.exit_code), (1, Some(3)), "{}", silent.stderr);
}

/// `verify` of random writes to a device.
fn writes(volume: &Volume, device: &str, options: &[&str], name: &str) -> Output {
    let out = volume.beside(name);
    let filename = format!("--filename={device}");
    let fio = ["--", "fio", "--name=a", &filename, "--rw=randwrite", "--bs=4k", "--size=1m", "--direct=1"];
    let words = [&["verify", "--quiet", "--out", out.to_str().expect("UTF-8")], options, &fio].concat();
    activebench(&volume.beside(""), &words)
}

#[test]
fn a_device_that_somebody_uses_is_not_written() {
    needs!("fio", "mkfs.ext4", "mkfs.btrfs", "mkswap", "losetup", "wipefs", "partx");
    let volume = Volume::raw(256);
    let device = volume.device().expect("a device").to_owned();
    let written = |when: &str| {
        let name = device.strip_prefix("/dev/").expect("a node");
        let stat = fs::read_to_string(format!("/sys/block/{name}/stat")).unwrap_or_else(|e| panic!("{when}: {e}"));
        stat.split_whitespace().nth(6).and_then(|sectors| sectors.parse::<u64>().ok()).expect("sectors")
    };
    // A device in use is not written with the permission nor by a command of the user's own; one on which something
    // lies is not written by ours.
    let refused = |why: &str, own: bool| {
        let before = written(why);
        let permitted = ["--destroy", &*device];
        for options in [Some(&permitted[..]), own.then_some(&[][..])].into_iter().flatten() {
            let output = writes(&volume, &device, options, "refused");
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{why}: {said}");
            assert!(said.contains(why) && said.contains("it is not written (hint: "), "{why}: {said}");
            assert!(!volume.beside("refused").exists(), "{why}");
        }
        assert_eq!(written(why), before, "{why}");
    };
    let tool = |program: &str, arguments: &[&str]| {
        let output = Command::new(program).args(arguments).output().expect("it starts");
        assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
    };
    volume.put_file_system("ext4");
    refused("is mounted at", true);
    volume.unmount();
    refused("holds a file system or member of one (ext4)", false);
    tool("wipefs", &["--all", &device]);
    volume.put_file_system("btrfs");
    refused("is mounted at", true);
    volume.unmount();
    tool("wipefs", &["--all", &device]);
    tool("mkswap", &[&device]);
    refused("holds a file system or member of one (swap)", false);
    tool("swapon", &[&device]);
    refused("is swap", true);
    tool("swapoff", &[&device]);
    tool("wipefs", &["--all", &device]);
    let above = Command::new("losetup").args(["--find", "--show", &device]).output().expect("it starts");
    let above = String::from_utf8_lossy(&above.stdout).trim().to_owned();
    refused("is behind the loop device", true);
    tool("losetup", &["--detach", &above]);
    // One partition of type 83 from sector 2048 on.
    let mut table = [0_u8; 512];
    table[450] = 0x83;
    table[454..458].copy_from_slice(&2048_u32.to_le_bytes());
    table[458..462].copy_from_slice(&20_480_u32.to_le_bytes());
    table[510..].copy_from_slice(&[0x55, 0xaa]);
    fs::OpenOptions::new()
        .write(true)
        .open(&device)
        .and_then(|mut node| std::io::Write::write_all(&mut node, &table))
        .expect("the table is written");
    refused("holds a partition table (dos)", false);
    tool("partx", &["--add", &device]);
    refused("has a partition", true);
    tool("partx", &["--delete", &device]);
    tool("wipefs", &["--all", &device]);
    // What the user typed writes over what nobody uses, and says so.
    tool("mkfs.ext4", &["-q", &device]);
    let output = writes(&volume, &device, &[], "own");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{said}");
    assert!(said.contains("holds a file system or member of one (ext4), and the benchmark writes over it"), "{said}");
    tool("wipefs", &["--all", &device]);
    // Nothing is left of all that: it is written. Another path than the device's is no permission.
    let output = writes(&volume, &device, &["--destroy", "/dev/null"], "other");
    assert_eq!(output.status.code(), Some(2));
    let before = written("at the end");
    let output = writes(&volume, &device, &["--destroy", &device], "allowed");
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(written("at the end") >= before + 2048);
}

#[test]
fn the_profile_of_the_standard_purges_and_preconditions_a_device_that_may_be_written() {
    needs!("fio", "losetup", "blkdiscard");
    let volume = Volume::raw(64);
    let device = volume.device().expect("a device").to_owned();
    let out = volume.beside("pts");
    let filename = format!("--filename={device}");
    let words = [
        "verify",
        "--profile",
        "pts",
        "--destroy",
        &device,
        "--max-runs",
        "2",
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
    assert_eq!(manifest["runs"], serde_json::json!(["1", "2"]));
    assert_eq!(manifest["preconditioning"], "preconditioning");
    let preparation = &run["preparation"];
    assert_eq!(preparation["purge"]["how"], "discard", "{preparation:#}");
    assert_eq!(preparation["preconditioning"]["written_bytes"].as_f64(), Some((128 * MIB) as f64), "{preparation:#}");
    // Each run alone knows that the device was prepared; without that the profile refuses its figures.
    let report = read("1/report.json");
    let findings = report["findings"].as_array().expect("findings");
    let fit = findings.iter().find(|finding| finding["code"] == "AB606").expect("it is asked");
    assert_eq!(fit["outcome"], "silent", "{fit:#}");
    // It is none of the runs; what it wrote is counted again from its record.
    let again = activebench(&volume.beside(""), &["recheck", "--format", "json", out.to_str().expect("UTF-8")]);
    let again: Value = serde_json::from_slice(&again.stdout).expect("a report");
    assert_eq!((&again["preparation"], &again["incomplete"]), (preparation, &serde_json::json!([])), "{again:#}");
    let words = ["compare", "--format", "json", out.to_str().expect("UTF-8"), out.to_str().expect("UTF-8")];
    let compared = activebench(&volume.beside(""), &words);
    let compared: Value = serde_json::from_slice(&compared.stdout).expect("a report");
    assert_eq!(compared["columns"][0]["runs"], 2, "{compared:#}");
    let mut other = run.clone();
    other["preparation"]["preconditioning"]["written_bytes"] = serde_json::json!((129 * MIB) as f64);
    fs::write(out.join("1/run.json"), other.to_string()).expect("it is written");
    let changed = activebench(&volume.beside(""), &["recheck", "--format", "json", out.to_str().expect("UTF-8")]);
    let changed: Value = serde_json::from_slice(&changed.stdout).expect("a report");
    let why = "by preconditioning the device took 128.0 MiB, which is not what stands in run.json of run 1";
    assert_eq!(changed["incomplete"], serde_json::json!([why]));
    fs::write(out.join("1/run.json"), run.to_string()).expect("it is written");
    // The evidence of it goes into a bundle.
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
