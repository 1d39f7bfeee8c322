//! Repeated runs with the real fio: their common report, and the same report from the stored series.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use activebench_e2e::{Volume, assert_follows, binary, needs};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// A finished `activebench verify --repeat`.
struct Series {
    report: Value,
    directory: PathBuf,
    exit_code: Option<i32>,
    stderr: String,
}

fn report_of(bytes: &[u8], stderr: &str) -> Value {
    let report: Value = serde_json::from_slice(bytes).unwrap_or_else(|error| panic!("no report ({error}): {stderr}"));
    assert_follows(include_str!("../../../../docs/series.schema.json"), &report);
    report
}

fn repeat(volume: &Volume, name: &str, count: &str, command: &[&str]) -> Series {
    let directory = volume.beside(name);
    let output = Command::new(binary())
        .args(["verify", "--format", "json", "--repeat", count, "--out"])
        .arg(&directory)
        .arg("--")
        .args(command)
        .current_dir(volume.path())
        .output()
        .expect("the binary runs");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    Series { report: report_of(&output.stdout, &stderr), directory, exit_code: output.status.code(), stderr }
}

impl Series {
    fn outcome(&self, code: &str, phase: &str) -> &str {
        let findings = self.report["findings"].as_array().map_or(&[][..], Vec::as_slice);
        let found = findings.iter().find(|finding| finding["code"] == code && finding["phase"] == phase);
        found.and_then(|finding| finding["outcome"].as_str()).unwrap_or("")
    }

    /// Judges the same series again from its directory.
    fn rechecked(&self) -> (Value, Option<i32>) {
        let output = Command::new(binary())
            .args(["recheck", "--format", "json"])
            .arg(&self.directory)
            .output()
            .expect("the binary runs");
        (report_of(&output.stdout, &String::from_utf8_lossy(&output.stderr)), output.status.code())
    }
}

/// Makes a volume with a file of 64 MiB, so that no run has to lay one out.
fn volume() -> Volume {
    let volume = Volume::on_loop("ext4", 512, "noatime");
    volume.lay_out("x", 64);
    volume
}

const RANDOM: [&str; 7] = ["fio", "--name=a", "--rw=randread", "--bs=4k", "--size=64m", "--filename=x", "--direct=1"];

#[test]
fn fio_s_default_visits_the_same_offsets_in_every_run() {
    needs!(beside: "fio", "mkfs.ext4", "losetup");
    let volume = volume();
    let io_size = ["--io_size=8m"];
    let lie = repeat(&volume, "lie", "2", &[&RANDOM[..], &io_size].concat());
    assert_eq!(lie.outcome("AB402", "a-read"), "fires", "{:#}", lie.report["findings"]);
    let twin = repeat(&volume, "twin", "2", &[&RANDOM[..], &io_size, &["--randrepeat=0"]].concat());
    assert_eq!(twin.outcome("AB402", "a-read"), "silent", "{:#}", twin.report["findings"]);
    // Every run reads each block once: the sets are equal by design, but their orders are not.
    let whole = repeat(&volume, "whole", "2", &[&RANDOM[..], &["--randrepeat=0"]].concat());
    assert_eq!(whole.outcome("AB402", "a-read"), "silent", "{:#}", whole.report["findings"]);
    // Two runs are too few for the other detectors.
    assert_eq!(whole.outcome("AB705", "a-read"), "undecided");
}

#[test]
fn a_series_is_recorded_run_by_run_and_judged_again_from_its_directory() {
    needs!(beside: "fio", "mkfs.ext4", "losetup");
    let volume = volume();
    // The tool's own rate limit makes all runs alike, independent of the load of this machine.
    let paced = ["--bs=16k", "--rate=1m", "--runtime=2", "--time_based", "--randrepeat=0"];
    let series = repeat(&volume, "paced", "5", &[&RANDOM[..], &paced].concat());
    for number in 1..=5 {
        assert!(series.stderr.contains(&format!("run {number} of 5")), "{}", series.stderr);
        assert!(series.directory.join(number.to_string()).join("report.json").is_file());
    }
    assert!(series.directory.join("series-report.md").is_file());
    for code in ["AB702", "AB705"] {
        assert_eq!(series.outcome(code, "a-read"), "silent", "{code}: {:#}", series.report);
    }
    let figures = series.report["figures"].as_array().expect("figures");
    assert!(figures.iter().all(|figure| figure["values"].as_array().is_some_and(|values| values.len() == 5)));
    let rate = figures.iter().find(|figure| figure["metric"] == "throughput").expect("a rate");
    let median = rate["median"]["value"].as_f64().expect("a number");
    assert!((median / (1 << 20) as f64 - 1.0).abs() < 0.1, "{median}");
    let (again, exit_code) = series.rechecked();
    assert_eq!((&again, exit_code), (&series.report, series.exit_code));
}

#[test]
fn runs_that_differ_are_no_reproducible_figure() {
    needs!(beside: "fio", "mkfs.ext4", "losetup", "sh");
    let volume = volume();
    // Each run gets another pace: 1, 2, 3, 4 and 5 MiB/s.
    let script = "n=$(cat ../count 2>/dev/null || echo 1); echo $((n+1)) > ../count; \
                  exec fio --name=a --rw=randread --bs=16k --size=64m --filename=x --direct=1 --randrepeat=0 \
                  --runtime=1 --time_based --rate=${n}m";
    let series = repeat(&volume, "differ", "5", &["sh", "-c", script]);
    for code in ["AB702", "AB705"] {
        assert_eq!(series.outcome(code, "a-read"), "fires", "{code}: {:#}", series.report);
    }
    assert_eq!(series.rechecked().0, series.report);
}

#[test]
fn an_interrupted_series_keeps_what_was_gathered() {
    needs!(beside: "fio", "mkfs.ext4", "losetup");
    let volume = volume();
    let directory = volume.beside("interrupted");
    let paced = ["--rate=4m", "--runtime=3", "--time_based"];
    let child = Command::new(binary())
        .args(["verify", "--quiet", "--repeat", "5", "--out"])
        .arg(&directory)
        .arg("--")
        .args(RANDOM)
        .args(paced)
        .current_dir(volume.path())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("the binary runs");
    // Wait until the second run has begun.
    let second = directory.join("2").join("run.json");
    while !second.is_file() {
        std::thread::yield_now();
    }
    kill_process(Pid::from_child(&child), Signal::INT).expect("it runs");
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(130), "{}", String::from_utf8_lossy(&output.stderr));
    let manifest: Value =
        serde_json::from_slice(&fs::read(directory.join("series.json")).expect("it is there")).expect("JSON");
    let runs = manifest["runs"].as_array().map_or(0, Vec::len);
    assert!((1..5).contains(&runs), "{manifest:#}");
    assert_eq!(manifest["incomplete"], serde_json::json!(["interrupted"]));
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(shown.contains(&format!("INCONCLUSIVE  {runs} of 5 runs")), "{shown}");
}
