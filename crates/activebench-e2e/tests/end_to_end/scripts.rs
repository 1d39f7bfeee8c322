//! Scripts that start several benchmarks: each one is judged on its own, wherever its output goes.

use std::fs;

use activebench_e2e::{Verified, Volume, needs, verify};

const HONEST: &str = "fio --name=job --rw=write --bs=1m --size=64m --direct=1 --end_fsync=1";
const LIE: &str = "fio --name=job --rw=write --bs=64k --size=64m";

/// Runs a script of the shell on a file system.
fn script(volume: &Volume, text: &str) -> Verified {
    let path = volume.beside("script.sh");
    fs::write(&path, format!("cd {}\n{text}\n", volume.path().display())).expect("the script");
    verify(volume, &[], &["sh", path.to_str().expect("UTF-8")])
}

/// The verdicts on the write rates, by measurement.
fn verdicts(run: &Verified, measurements: usize) -> Vec<String> {
    let claims = run.report["claims"].as_array().expect("claims");
    let of = |number: usize| {
        let prefix = format!("{number}-");
        let own = claims.iter().filter(|claim| claim["phase"].as_str().is_some_and(|phase| phase.starts_with(&prefix)));
        let rate = own.filter(|claim| claim["metric"] == "throughput").find_map(|claim| claim["verdict"].as_str());
        rate.unwrap_or("no claim").to_owned()
    };
    (1..=measurements).map(of).collect()
}

#[test]
fn what_a_script_catches_sends_away_or_filters_is_judged() {
    needs!(beside: "fio", "mkfs.ext4", "losetup", "sh");
    let volume = Volume::on_loop("ext4", 512, "noatime");
    let text = format!(
        "A=$({HONEST} --filename=a)\n{LIE} --filename=b >/dev/null\n{HONEST} --filename=c > c.log; rm c.log\n\
         {HONEST} --filename=d --output=d.log\n{LIE} --filename=e | tail -1 | tee e.log\n\
         {HONEST} --filename=f --output-format=json | grep bw_mean\necho all done"
    );
    let run = script(&volume, &text);
    run.assert_nothing_lost();
    let expected = ["confirmed", "misleading", "confirmed", "confirmed", "misleading", "confirmed"];
    assert_eq!(verdicts(&run, 6), expected, "{}", run.story());
    assert_eq!((run.verdict(), run.exit_code()), ("discrepancy", Some(1)), "{}", run.story());
    let measurements = run.report["measurements"].as_array().expect("measurements");
    let contradicted = |measurement: &serde_json::Value| measurement["claims_by_verdict"]["misleading"] != 0;
    let found: Vec<bool> = measurements.iter().map(contradicted).collect();
    assert_eq!(found, [false, true, false, false, true, false]);
}

#[test]
fn measurements_at_the_same_time_accuse_nobody() {
    needs!(beside: "fio", "mkfs.ext4", "losetup", "sh");
    let volume = Volume::on_loop("ext4", 512, "noatime");
    let run = script(&volume, &format!("{HONEST} --filename=a >a.log &\n{HONEST} --filename=b >b.log &\nwait"));
    run.assert_nothing_lost();
    assert_eq!(verdicts(&run, 2), ["confirmed", "confirmed"], "{}", run.story());
    assert_eq!(run.report["measurements"][0]["beside"], serde_json::json!([2]));
    for number in 1..=2 {
        let phase = format!("{number}-job-write");
        assert_eq!(run.claim_verdict(&phase), "confirmed", "{}", run.story());
        let codes = run.codes(&phase);
        assert!(!codes.contains(&"AB601"), "a sibling is no stranger: {codes:?} {}", run.story());
    }
}

#[test]
fn whatever_starts_the_measurements_each_is_judged() {
    needs!(beside: "fio", "mkfs.ext4", "losetup", "sh", "python3", "xargs", "make");
    let volume = Volume::on_loop("ext4", 512, "noatime");
    let makefile = volume.beside("two.mk");
    fs::write(&makefile, format!("all:\n\t@{HONEST} --filename=a\n\t@{LIE} --filename=b\n")).expect("the makefile");
    let python = format!(
        "import subprocess as s\nfor line in ('{HONEST} --filename=c', '{LIE} --filename=d'):\n \
         s.run(line.split(), stdout=s.PIPE)"
    );
    let lines =
        format!("printf '%s\\n' '{HONEST} --filename=e' '{HONEST} --filename=f' | xargs -P2 -d '\\n' -n1 sh -c '$0'");
    let makefile = makefile.to_str().expect("UTF-8");
    for (argv, expected) in [
        (&["make", "-s", "-f", makefile][..], ["confirmed", "misleading"]),
        (&["python3", "-c", &python], ["confirmed", "misleading"]),
        (&["sh", "-c", &lines], ["confirmed", "confirmed"]),
    ] {
        let run = verify(&volume, &[], argv);
        run.assert_nothing_lost();
        assert_eq!(verdicts(&run, 2), expected, "{argv:?}: {}", run.story());
    }
}

#[test]
fn the_only_measurement_of_a_script_is_judged_when_its_output_was_caught() {
    needs!(beside: "fio", "mkfs.ext4", "losetup", "sh");
    let volume = Volume::on_loop("ext4", 256, "noatime");
    let run = script(&volume, &format!("A=$({LIE} --filename=a)\necho done"));
    run.assert_nothing_lost();
    let claims = run.report["claims"].as_array().expect("claims");
    assert!(claims.iter().any(|claim| claim["verdict"] == "misleading"), "{}", run.story());
    assert_eq!(run.exit_code(), Some(1), "{}", run.story());
}
