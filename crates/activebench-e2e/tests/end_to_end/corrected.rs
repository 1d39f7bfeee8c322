//! `verify --and-corrected`: runs the benchmark again with the advice applied, and shows both side by side.

use std::process::{Command, Output};

use activebench_e2e::{Volume, assert_follows, binary, needs};
use serde_json::Value;

fn verify_and_correct(volume: &Volume, options: &[&str], command: &[&str]) -> Output {
    let mut verify = Command::new(binary());
    verify.args(["verify", "--and-corrected", "--out"]).arg(volume.beside("runs")).args(options).arg("--");
    verify.args(command).current_dir(volume.path()).output().expect("activebench runs")
}

/// Returns the document on standard output; it and its two reports follow their schemas.
fn document(output: &Output) -> Value {
    let document: Value = serde_json::from_slice(&output.stdout).expect("JSON alone on standard output");
    assert_follows(include_str!("../../../../docs/advice.schema.json"), &document);
    for side in ["as_given", "with_advice"] {
        assert_follows(include_str!("../../../../docs/report.schema.json"), &document[side]);
    }
    document
}

fn verdicts(document: &Value, side: &str, metrics: &[&str]) -> Vec<String> {
    let figures = document["figures"].as_array().map_or(&[][..], Vec::as_slice);
    let asked = figures.iter().filter(|figure| metrics.iter().any(|metric| figure["metric"] == *metric));
    asked.map(|figure| figure[side]["verdict"].as_str().unwrap_or("none").to_owned()).collect()
}

#[test]
fn a_write_is_run_again_with_the_sync_inside_its_clock() {
    needs!(beside: "iozone", "mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 512, "noatime");
    let mut formats = vec!["--format", "json", "--format", "text=report.txt", "--format", "markdown=report.md"];
    formats.extend(["--format", "html=report.html"]);
    let output = verify_and_correct(&volume, &formats, &["iozone", "-i0", "-s128m", "-r64k"]);
    let document = document(&output);
    // The exit code is that of the command as given.
    assert_eq!((output.status.code(), &document["exit_code"]), (Some(1), &Value::from(1)));
    assert_eq!(document["advised_command"], serde_json::json!(["iozone", "-i0", "-s128m", "-r64k", "-e", "-c"]));
    assert_eq!(verdicts(&document, "as_given", &["throughput"]), ["misleading", "misleading"]);
    assert_eq!(verdicts(&document, "with_advice", &["throughput"]), ["confirmed", "confirmed"]);
    assert_eq!(document["as_given"]["schema"], "activebench.report/1");
    for (file, words) in [
        ("report.txt", "With the advice"),
        ("report.md", "## With the advice"),
        ("report.html", "With the advice</h2>"),
    ] {
        let report = std::fs::read_to_string(volume.path().join(file)).expect("the report is there");
        assert!(report.contains(words) && report.contains("-e -c"), "{report}");
    }
    for folder in ["as-given", "with-advice"] {
        let again = Command::new(binary()).arg("recheck").arg(volume.beside("runs").join(folder)).output();
        let expected = if folder == "as-given" { Some(1) } else { Some(0) };
        assert_eq!(again.expect("it runs").status.code(), expected, "{folder}");
    }
}

#[test]
fn fio_is_told_for_all_its_jobs_and_nothing_twice() {
    needs!(beside: "fio", "mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 512, "noatime");
    let command = ["fio", "--name=a", "--rw=write", "--bs=64k", "--size=64m", "--filename=x"];
    let output = verify_and_correct(&volume, &["--format", "json"], &command);
    let document = document(&output);
    let advised: Vec<&str> =
        document["advised_command"].as_array().expect("words").iter().filter_map(Value::as_str).collect();
    assert_eq!(advised.iter().filter(|word| **word == "--end_fsync=1").count(), 1, "{advised:?}");
    assert_eq!(verdicts(&document, "as_given", &["throughput"]), ["misleading"]);
    assert_eq!(verdicts(&document, "with_advice", &["throughput"]), ["confirmed"]);
}

#[test]
fn a_run_that_no_option_mends_is_not_run_again() {
    needs!(beside: "iozone", "mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 256, "noatime");
    let output = verify_and_correct(&volume, &[], &["iozone", "-i0", "-e", "-c", "-s64m", "-r64k"]);
    assert_eq!(output.status.code(), Some(0));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("The benchmark is not run again"), "{said}");
    assert!(!volume.beside("runs").join("with-advice").exists());
}
