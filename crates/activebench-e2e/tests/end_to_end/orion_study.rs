//! The study of Orion 11.2.0.1 as a recorded run, judged from its directory. Nothing is run, so the test needs neither
//! root nor a kernel.
//!
//! 78,954,834 reads of 8 KiB on 98,305 of the 12,582,912 blocks of a 96 GiB file: more than 800 per block, where about
//! 6 were to be expected.

use std::process::Command;

use activebench_e2e::binary;
use serde_json::Value;

/// Numbers of reads, of blocks of the file, and of blocks in the set.
struct Study {
    reads: u64,
    blocks: u64,
    set: u64,
}

/// Writes the run, judges it, and returns the report with the run's only phase.
fn judged(study: &Study) -> (Value, Value) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let run = folder.path().join("run");
    let status = Command::new(binary())
        .args(["__recorded", "--reads", &study.reads.to_string(), "--blocks", &study.blocks.to_string()])
        .args(["--orion-set", &study.set.to_string()])
        .arg(&run)
        .status()
        .expect("the binary runs");
    assert!(status.success());
    let output = Command::new(binary()).args(["recheck", "--format", "json"]).arg(&run).output().expect("it runs");
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).expect("a report");
    let phase = report["phases"][0].clone();
    assert_eq!(phase["id"], "small-16-large-0", "{}", report["phases"]);
    (report, phase)
}

fn check(study: &Study, set: &str) {
    let (report, phase) = judged(study);
    let fact = |name: &str| phase["facts"][name]["value"].as_f64().unwrap_or_else(|| panic!("no {name}: {phase}"));
    assert_eq!(report["verdict"], "discrepancy");
    assert_eq!(fact("read_calls"), study.reads as f64);
    assert_eq!(fact("unique_blocks"), study.set as f64);
    assert_eq!(fact("region_blocks"), study.blocks as f64);
    let mean = study.reads as f64 / study.set as f64;
    assert!((fact("mean_block_hits") / mean - 1.0).abs() < 1e-9);
    // Counts of bytes are right at every level.
    assert_eq!(fact("device_read_bytes"), fact("read_bytes"));
    let fired: Vec<&Value> = report["findings"]
        .as_array()
        .expect("findings")
        .iter()
        .filter(|finding| finding["outcome"] == "fires" && finding["severity"] != "note")
        .collect();
    assert!(!fired.is_empty());
    for finding in fired {
        assert_eq!((&finding["code"], &finding["effect"]), (&"AB401".into(), &"misleading".into()), "{finding}");
        let message = finding["message"].as_str().expect("a message");
        assert!(message.contains(set), "{message}");
        assert!(message.contains(&format!("{} of ", study.set)), "{message}");
    }
    for claim in report["claims"].as_array().expect("claims") {
        assert_eq!(claim["verdict"], "misleading", "{claim}");
    }
}

#[test]
fn a_hundredth_of_the_study_is_misleading() {
    check(&Study { reads: 789_548, blocks: 125_829, set: 984 }, "a set of 7.69 MiB");
}

#[test]
#[ignore = "the study at its full scale takes minutes and a GB of disk: `cargo test -p activebench-e2e --test orion_study -- --ignored`"]
fn the_study_at_its_full_scale_is_misleading() {
    check(&Study { reads: 78_954_834, blocks: 12_582_912, set: 98_305 }, "a set of 768 MiB");
}

#[test]
fn the_nearest_honest_run_is_not_accused() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let run = folder.path().join("run");
    // The same number of reads, on a set that is the whole file.
    let status = Command::new(binary())
        .args(["__recorded", "--reads", "789548", "--blocks", "125829", "--orion-set", "125829"])
        .arg(&run)
        .status()
        .expect("the binary runs");
    assert!(status.success());
    let output = Command::new(binary()).args(["recheck", "--format", "json"]).arg(&run).output().expect("it runs");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).expect("a report");
    for claim in report["claims"].as_array().expect("claims") {
        assert_eq!(claim["verdict"], "confirmed", "{claim}");
    }
}
