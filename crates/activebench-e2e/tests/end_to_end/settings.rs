//! The file of settings and the environment: which is stronger, who may write the file, and where it is named.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use activebench_e2e::{Volume, binary, needs};

const PLAN: [&str; 6] = ["verify", "--plan", "--", "iozone", "-i0", "-s1m"];

/// `iozone -i0` is warned about before it runs: exit code 1 where warnings count.
fn plan(folder: &Path, environment: &[(&str, &str)], options: &[&str]) -> Output {
    let mut command = Command::new(binary());
    command
        .arg("verify")
        .args(options)
        .args(&PLAN[1..])
        .current_dir(folder)
        .env("XDG_CONFIG_HOME", folder.join("none"));
    command.envs(environment.iter().copied()).output().expect("the binary runs")
}

#[test]
fn the_command_line_is_stronger_than_the_environment_and_that_than_the_file() {
    needs!(beside:);
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let file = folder.join("activebench.toml");
    let said = |output: &Output| {
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
    };
    let check = |environment: &[(&str, &str)], options: &[&str], code: i32, part: &str| {
        let output = plan(folder, environment, options);
        assert_eq!(output.status.code(), Some(code), "{environment:?} {options:?}: {}", said(&output));
        assert!(said(&output).contains(part), "no {part:?} in {}", said(&output));
    };
    check(&[], &[], 0, "no file");
    fs::write(&file, "fail-on = \"warn\"\nprofile = \"strict\"\n").expect("a file");
    check(&[], &[], 1, "activebench.toml sets fail-on, profile");
    check(&[], &[], 1, "profile strict");
    check(&[("ACTIVEBENCH_FAIL_ON", "never")], &[], 0, "profile strict");
    check(&[("ACTIVEBENCH_FAIL_ON", "never")], &["--fail-on", "warn"], 1, "profile strict");
    check(&[("ACTIVEBENCH_PROFILE", "default")], &[], 1, "profile default");
    // Mistakes are errors, and name what there is.
    for (text, part) in [
        ("fail_on = \"warn\"", "hint: "),
        ("fail-on = \"perhaps\"", "`fail-on`"),
        ("profile = 3", "neither a text nor a list"),
        ("profile = [\"default\", \"strict\"]", "takes one value"),
        ("profile", "activebench.toml"),
    ] {
        fs::write(&file, text).expect("a file");
        check(&[], &[], 2, part);
    }
    // What others can write is not used.
    fs::write(&file, "fail-on = \"warn\"\n").expect("a file");
    fs::set_permissions(&file, Permissions::from_mode(0o666)).expect("its mode");
    check(&[], &[], 0, "is not used");
}

#[test]
fn settings_decide_where_runs_and_reports_are_written() {
    needs!(beside: "dd");
    let volume = Volume::tmpfs(64);
    let folder = volume.path();
    fs::write(folder.join("activebench.toml"), "runs-folder = \"mine\"\nformat = [\"text\", \"json=r.json\"]\n")
        .expect("a file");
    let output = Command::new(binary())
        .args(["verify", "-q", "--", "dd", "if=/dev/zero", "of=f", "bs=64k", "count=4"])
        .current_dir(&folder)
        .output()
        .expect("the binary runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(fs::read_link(folder.join("mine/latest")).is_ok(), "{said}");
    let report = fs::read(folder.join("r.json")).expect("the report");
    let report: serde_json::Value = serde_json::from_slice(&report).expect("JSON");
    assert_eq!(report["claims"].as_array().map(Vec::len), Some(2), "{report:#}");
    assert!(!folder.join("activebench-runs").exists());
}
