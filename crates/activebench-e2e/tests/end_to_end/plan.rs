//! `verify --plan`: defects of a command line are reported before anything runs.

use std::path::Path;
use std::process::Command;

use activebench_e2e::binary;
use serde_json::Value;

/// Returns the plan of a command line as JSON, made in a folder that must not change.
fn plan(folder: &Path, command: &[&str]) -> Value {
    let before = std::fs::read_dir(folder).expect("the folder is there").count();
    let output = Command::new(binary())
        .args(["verify", "--plan", "--format", "json", "--"])
        .args(command)
        .current_dir(folder)
        .output()
        .expect("activebench runs");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(std::fs::read_dir(folder).expect("the folder is there").count(), before, "{command:?} left something");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn fired(plan: &Value) -> Vec<&str> {
    let findings = plan["findings"].as_array().expect("a list");
    let mut codes: Vec<&str> =
        findings.iter().filter(|f| f["outcome"] == "fires").map(|f| f["code"].as_str().expect("a code")).collect();
    codes.dedup();
    codes
}

#[track_caller]
fn check(folder: &Path, command: &[&str], codes: &[&str]) {
    let plan = plan(folder, command);
    assert_eq!(plan["schema"], "activebench.plan/1");
    assert!(!plan["phases"].as_array().expect("a list").is_empty(), "{command:?} has no pass");
    assert_eq!(fired(&plan), codes, "{command:?}");
}

#[test]
fn iozone_s_command_lines_are_read_before_they_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    check(folder, &["iozone", "-i0", "-s1m"], &["AB803"]);
    check(folder, &["iozone", "-i0", "-e", "-c", "-s1m"], &[]);
    check(folder, &["iozone", "-i0", "-i1", "-I", "-s1m", "-r64k"], &[]);
    check(folder, &["iozone", "-i0", "-i1", "-e", "-s1m"], &["AB804"]);
    check(folder, &["iozone", "-i0", "-G", "-s1m"], &["AB803", "AB805"]);
    check(folder, &["iozone", "-i0", "-B", "-G", "-s1m"], &[]);
    check(folder, &["iozone", "-i0", "-e", "-V", "7", "-s1m"], &["AB806"]);
    check(folder, &["sh", "-c", "iozone -i0 -s1m > log"], &["AB803"]);
}

#[test]
fn fio_s_command_lines_and_job_files_are_read_before_they_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let fio = |rest: &[&'static str]| [&["fio", "--name=a", "--filename=f", "--size=64m"][..], rest].concat();
    check(folder, &fio(&["--rw=write"]), &["AB803"]);
    check(folder, &fio(&["--rw=write", "--end_fsync=1"]), &[]);
    check(folder, &fio(&["--rw=write", "--direct=1", "--iodepth=32"]), &["AB801"]);
    check(folder, &fio(&["--rw=read", "--ioengine=libaio", "--iodepth=8"]), &["AB802", "AB804"]);
    check(folder, &fio(&["--rw=read", "--ioengine=libaio", "--iodepth=8", "--direct=1"]), &[]);
    check(folder, &fio(&["--rw=read", "--invalidate=0"]), &["AB804"]);
    check(folder, &fio(&["--rw=read", "--direct=1", "--verify=md5"]), &["AB806"]);
    check(folder, &fio(&["--rw=read", "--direct=1", "--runtime=2", "--time_based"]), &["AB807"]);
    std::fs::write(folder.join("job.fio"), "[a]\nrw=write\nsize=64m\n[b]\nstonewall\nrw=read\nsize=64m\ndirect=1\n")
        .expect("the job file is written");
    check(folder, &["fio", "job.fio"], &["AB803"]);
}

#[test]
fn bonnie_s_and_orion_s_command_lines_are_read_before_they_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    check(folder, &["bonnie++", "-s", "64", "-r", "0", "-n", "0"], &["AB804"]);
    check(folder, &["bonnie++-1.03e", "-s", "64", "-r", "0", "-n", "0"], &["AB803", "AB804"]);
    check(folder, &["bonnie++-1.03e", "-b", "-s", "64", "-r", "0", "-n", "0"], &["AB804"]);
    check(folder, &["bonnie++", "-s", "0", "-n", "1"], &[]);
    let orion = ["orion", "-run", "advanced", "-num_disks", "1", "-matrix", "point", "-num_small", "4", "-duration"];
    check(folder, &[&orion[..], &["60"]].concat(), &[]);
    check(folder, &[&orion[..], &["2"]].concat(), &["AB807"]);
}

#[test]
fn a_tool_without_adapter_has_a_plan_without_passes() {
    let folder = tempfile::tempdir().expect("a folder");
    let plan = plan(folder.path(), &["cp", "/dev/zero", "x"]);
    assert_eq!(plan["tool"], Value::Null);
    assert!(plan["phases"].as_array().expect("a list").is_empty());
    assert!(fired(&plan).is_empty());
}

#[test]
fn what_is_wrong_can_be_made_the_exit_code() {
    let plan = |fail_on: &str| {
        let mut command = Command::new(binary());
        command.args(["verify", "--plan", "--fail-on", fail_on, "--", "iozone", "-i0", "-s1m"]);
        command.output().expect("activebench runs")
    };
    assert_eq!(plan("fail").status.code(), Some(0));
    let output = plan("warn");
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("warn[AB803] write-without-sync (write, rewrite)"), "{text}");
    assert!(text.contains("→ Add `-e -c`"), "{text}");
}
