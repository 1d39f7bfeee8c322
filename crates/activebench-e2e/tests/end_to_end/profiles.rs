//! Profiles and files of thresholds: the same run judged by other rules.

use std::fs;
use std::process::Command;

use activebench_e2e::{Verified, Volume, binary, needs, recheck, verify};
use serde_json::Value;

/// Direct writes of 64 MiB; each byte is durable when the clock stops.
const WRITE: &[&str] =
    &["fio", "--name=w", "--rw=write", "--bs=1m", "--size=64m", "--direct=1", "--end_fsync=1", "--filename=f"];

fn run_write(volume: &Volume, options: &[&str]) -> Verified {
    let run = verify(volume, options, WRITE);
    run.assert_nothing_lost();
    run
}

/// Returns the firing finding of a code, or null.
fn finding<'a>(run: &'a Verified, code: &str) -> &'a Value {
    let findings = run.report["findings"].as_array().map_or(&[][..], Vec::as_slice);
    let fires = |finding: &&Value| finding["code"] == code && finding["outcome"] == "fires";
    findings.iter().find(fires).unwrap_or(&Value::Null)
}

fn changed(run: &Verified) -> Vec<&str> {
    let changed = run.report["changed_thresholds"].as_array().map_or(&[][..], Vec::as_slice);
    changed.iter().filter_map(|entry| entry["name"].as_str()).collect()
}

#[test]
fn a_profile_judges_the_same_run_by_its_rule() {
    needs!(beside: "fio", "mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 256, "noatime");
    let run = run_write(&volume, &[]);
    assert!(["verified", "qualified"].contains(&run.verdict()), "{}", run.story());
    assert_eq!(run.exit_code(), Some(0));
    assert!(changed(&run).is_empty(), "{}", run.report["changed_thresholds"]);

    // IO500 does not accept a write of less than 300 s, however honest: the claims are confirmed, but the run is not.
    let io500 = recheck(&run.run, &["--profile", "io500"]);
    assert_eq!((io500.verdict(), io500.exit_code()), ("discrepancy", Some(1)), "{}", io500.story());
    let short = finding(&io500, "AB701");
    assert_eq!(
        (&short["severity"], &short["threshold"]["value"]),
        (&"fail".into(), &300_000_000_000_u64.into()),
        "{short}"
    );
    assert!(short["threshold_source"].as_str().is_some_and(|source| source.contains("IO500")), "{short}");
    assert_eq!(io500.claim_verdict("w-write"), "confirmed", "{}", io500.story());
    assert!(changed(&io500).contains(&"ab701_write_window_fail_ns"), "{}", io500.report["changed_thresholds"]);

    let pts = recheck(&run.run, &["--profile", "pts"]);
    let short = finding(&pts, "AB701");
    assert_eq!(
        (&short["severity"], &short["threshold"]["value"]),
        (&"warn".into(), &60_000_000_000_u64.into()),
        "{short}"
    );
    // PTS requires that the device was written twice over in the same run; otherwise the meaning of the figure is
    // unknown.
    let unfit = finding(&pts, "AB606");
    assert_eq!((&unfit["severity"], &unfit["threshold"]["value"]), (&"fail".into(), &2.into()), "{unfit}");
    assert_eq!((pts.verdict(), pts.exit_code()), ("inconclusive", Some(3)), "{}", pts.story());

    // The reports for people name what was changed, and by which rule.
    for format in ["text", "markdown"] {
        let output = Command::new(binary())
            .args(["recheck", "--profile", "io500", "--format", format])
            .arg(&run.run)
            .output()
            .expect("it runs");
        let text = String::from_utf8_lossy(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.replace('\\', "").contains("ab701_write_window_fail_ns 300 s instead of 0 ns"), "{text}");
    }
}

#[test]
fn a_data_set_below_five_times_the_memory_fails_under_mlperf_alone() {
    needs!(beside: "fio", "mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 256, "noatime");
    run_write(&volume, &[]);
    volume.drop_caches();
    let read = ["fio", "--name=r", "--rw=read", "--bs=1m", "--size=64m", "--direct=1", "--filename=f"];
    let run = verify(&volume, &["--profile", "mlperf"], &read);
    let small = finding(&run, "AB202");
    assert_eq!((&small["severity"], &small["threshold"]["value"]), (&"fail".into(), &5.into()), "{}", run.story());
    assert_eq!((run.verdict(), run.exit_code()), ("discrepancy", Some(1)), "{}", run.story());
    let default = recheck(&run.run, &["--profile", "default"]);
    assert_eq!(finding(&default, "AB202"), &Value::Null);
    assert_eq!(default.exit_code(), Some(0), "{}", default.story());
}

#[test]
fn a_file_of_thresholds_stays_with_the_run() {
    needs!(beside: "fio", "mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 256, "noatime");
    let file = volume.beside("limits.toml");
    // 64 MiB are claimed and 64 MiB reach the device: no honest run can meet this limit.
    fs::write(&file, "# Agreed beforehand.\nab102_excess_fail_ratio = 0.5\n").expect("a file");
    let name = file.to_str().expect("UTF-8");
    let run = run_write(&volume, &["--thresholds", name]);
    assert_eq!((run.verdict(), run.exit_code()), ("discrepancy", Some(1)), "{}", run.story());
    assert_eq!(finding(&run, "AB102")["threshold_source"], name, "{}", run.story());
    assert_eq!(changed(&run), ["ab102_excess_fail_ratio"]);
    assert_eq!(run.report["threshold_file"], name);
    assert_eq!(run.report["changed_thresholds"][0]["default"], 1.02);

    // The file may be removed: its text is in the run.
    fs::remove_file(&file).expect("it was there");
    let again = recheck(&run.run, &[]);
    for part in ["verdict", "exit_code", "claims", "findings", "changed_thresholds"] {
        assert_eq!(again.report[part], run.report[part], "{part}");
    }
    // Another file replaces it.
    fs::write(&file, "").expect("a file");
    let without = recheck(&run.run, &["--thresholds", name]);
    assert!(changed(&without).is_empty());
    assert_eq!(without.exit_code(), Some(0), "{}", without.story());
}

#[test]
fn a_file_that_is_no_file_of_thresholds_costs_no_run() {
    needs!(beside: "fio", "mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 256, "noatime");
    let file = volume.beside("limits.toml");
    let check = |options: &[&str], expected: &str| {
        let run = verify(&volume, options, WRITE);
        assert_eq!(run.exit_code(), Some(2), "{}", run.stderr());
        assert!(run.stderr().contains(expected), "{}", run.stderr());
        assert!(!run.run.exists() && !volume.path().join("f").exists(), "something was run");
    };
    let name = file.to_str().expect("UTF-8");
    check(&["--thresholds", name], "cannot read the thresholds");
    for (text, expected) in [
        ("ab102_excess = 1\n", "\"ab102_excess\", which is not a threshold"),
        ("ab102_excess_fail_ratio = \"much\"\n", "its unit is ratio"),
        ("ab102_excess_fail_ratio = -1\n", "not a number from 0 on"),
        ("this is not TOML\n", "cannot read the thresholds"),
    ] {
        fs::write(&file, text).expect("a file");
        check(&["--thresholds", name], expected);
    }
    check(&["--profile", "mine"], "possible values: default, strict, pts, io500, mlperf, bonnie");
}

#[test]
fn a_profile_is_listed_as_a_file_of_thresholds() {
    let output = Command::new(binary()).args(["detectors", "--profile", "io500"]).output().expect("it runs");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let expected = "ab701_write_window_fail_ns = 300000000000 # 300 s; IO500";
    assert!(text.contains(expected), "{text}");
    assert!(text.contains("# AB701 phase-too-short\n"), "{text}");
}
