//! `activebench check`: an answer without a benchmark of one's own.

use std::process::Command;

use activebench_e2e::{Volume, binary, needs};
use serde_json::Value;

#[test]
fn a_folder_is_measured_and_left_as_it_was() {
    needs!(beside: "fio", "mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 512, "noatime");
    let (run, json) = (volume.beside("run"), volume.beside("report.json"));
    let before = names(&volume);
    let output = Command::new(binary())
        .args(["check", "-q", "--seconds", "6", "--fail-on", "never", "--out"])
        .arg(&run)
        .arg(volume.path())
        .output()
        .expect("it runs");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(names(&volume), before, "{said}");
    let render =
        Command::new(binary()).arg("report").arg(&run).arg(format!("--format=json={}", json.display())).status();
    assert!(render.expect("it renders").success());
    let report: Value = serde_json::from_slice(&std::fs::read(&json).expect("a report")).expect("JSON");
    assert!(matches!(output.status.code(), Some(0 | 3)), "{said}{}", String::from_utf8_lossy(&output.stderr));
    let phases: Vec<&str> =
        report["phases"].as_array().expect("phases").iter().filter_map(|p| p["id"].as_str()).collect();
    assert_eq!(phases.len(), 6, "{phases:?}");
    // The answer repeats the honest figures of the report, and those alone.
    let (report_of_run, answer) = said.split_once("\nCHECK  ").unwrap_or_else(|| panic!("no answer: {said}"));
    assert!(!report_of_run.contains("Run status group"), "fio's own text is in the run directory: {said}");
    assert!(answer.lines().all(|line| line.chars().count() <= 80), "{answer}");
    let row = |name: &str| {
        let is_it = |line: &&str| line.trim_start().starts_with(name);
        answer.lines().find(is_it).unwrap_or_else(|| panic!("no {name}: {answer}"))
    };
    for name in ["durable sequential write", "random reads, depth 32", "latency of a read, p99", "durable 4 KiB writes"]
    {
        row(name);
    }
    let rate = report["claims"].as_array().expect("claims").iter().find(|claim| {
        claim["phase"].as_str().is_some_and(|p| p.starts_with("sequential-read")) && claim["metric"] == "throughput"
    });
    match &rate.expect("a rate")["honest"] {
        Value::Null => assert!(row("sequential read").contains("not known"), "{answer}"),
        _ => assert!(row("sequential read").contains("B/s"), "{answer}"),
    }
}

#[test]
fn too_little_room_is_said_before_anything_runs() {
    needs!(beside: "fio", "mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 64, "noatime");
    let output = Command::new(binary()).arg("check").arg(volume.path()).output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("too little room"), "{said}");
    assert!(!volume.path().join("activebench-runs").exists());
}

fn names(volume: &Volume) -> Vec<String> {
    let entries = std::fs::read_dir(volume.path()).expect("a folder");
    let mut names: Vec<String> =
        entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}
