//! The command that a report advises is run: its figures hold, and it answers the same question.

use activebench_e2e::{Verified, Volume, needs, verify};
use serde_json::Value;

/// Directions and patterns of a run's passes, as their names show them.
fn passes(run: &Verified) -> Vec<String> {
    run.report["phases"]
        .as_array()
        .expect("phases")
        .iter()
        .filter_map(|p| p["name"].as_str().map(str::to_owned))
        .collect()
}

fn check(volume: &Volume, command: &[&str], expected: &[&str]) {
    let given = verify(volume, &[], command);
    let advice = &given.report["advice"];
    let words: Vec<String> = advice["command"]
        .as_array()
        .unwrap_or_else(|| panic!("{command:?}: {}\n{}", given.report["no_advice"], given.story()))
        .iter()
        .filter_map(|word| word.as_str().map(str::to_owned))
        .collect();
    for option in expected {
        assert!(words.iter().any(|word| word == option), "{command:?}: no {option} in {words:?}");
    }
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let advised = verify(volume, &[], &words);
    let verdict = advised.verdict();
    assert!(matches!(verdict, "verified" | "qualified"), "{words:?}: {verdict}\n{}", advised.story());
    assert_eq!(passes(&given), passes(&advised), "{words:?}");
    // What is advised is not to be corrected in the same way again.
    let again: Vec<&Value> = advised.report["advice"]["applied"].as_array().into_iter().flatten().collect();
    let repeats = advice["applied"].as_array().expect("changes").iter().find(|change| again.contains(change));
    assert!(repeats.is_none(), "{words:?}: {repeats:?} once more");
}

#[test]
fn cached_reads_and_unsynced_writes_of_iozone() {
    needs!("iozone", "mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 1024, "noatime");
    check(&volume, &["iozone", "-i0", "-i1", "-s64m", "-f", "x"], &["-e", "-c", "-I", "-r1m"]);
    check(&volume, &["iozone", "-i0", "-s64m", "-r64k", "-f", "x"], &["-e", "-c", "-r64k"]);
}

#[test]
fn a_depth_that_no_engine_reaches_and_writes_that_nothing_syncs_of_fio() {
    needs!("fio", "mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 1024, "noatime");
    let write = ["fio", "--name=a", "--rw=write", "--bs=64k", "--size=64m", "--filename=x"];
    check(&volume, &write, &["--end_fsync=1"]);
    volume.lay_out("y", 64);
    let read =
        ["fio", "--name=a", "--rw=randread", "--bs=4k", "--size=64m", "--filename=y", "--direct=1", "--iodepth=8"];
    check(&volume, &read, &["--ioengine=libaio"]);
}

#[test]
fn a_job_file_gets_the_option_or_the_line_to_change() {
    needs!("fio", "mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 512, "noatime");
    let job = |name: &str, more: &str| {
        let text = format!("[global]\nsize=64m\nfilename=x\nbs=64k\n[a]\nrw=write\n{more}");
        std::fs::write(volume.path().join(name), text).expect("the job file is written");
    };
    job("a.fio", "");
    check(&volume, &["fio", "a.fio"], &["--end_fsync=1", "a.fio"]);
    job("o.fio", "end_fsync=0\n");
    let run = verify(&volume, &[], &["fio", "o.fio"]);
    assert!(run.report["advice"].is_null(), "{}", run.story());
    let why = run.report["no_advice"].as_str();
    assert!(why.is_some_and(|why| why.contains("line 7 of o.fio, `end_fsync=0`")), "{why:?}");
}

#[test]
fn a_tool_that_a_script_started_is_advised_alone_and_two_are_not() {
    needs!("iozone", "mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 256, "noatime");
    let run = verify(&volume, &[], &["sh", "-c", "iozone -i0 -s16m -f x; true"]);
    assert_eq!(run.report["advice"]["command"][0], "iozone", "{}", run.story());
    let run = verify(&volume, &[], &["sh", "-c", "iozone -i0 -s16m -f x; iozone -i0 -s8m -f y"]);
    assert!(run.report["advice"].is_null());
    let why = run.report["no_advice"].as_str();
    assert!(why.is_some_and(|why| why.contains("several measurements")), "{}", run.story());
}
