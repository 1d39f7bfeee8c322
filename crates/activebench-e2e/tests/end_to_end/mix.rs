//! Mixes of reads and writes, and sizes: as promised, and otherwise.

use activebench_e2e::{Verified, Volume, needs, verify};
use serde_json::Value;

fn fio(volume: &Volume, more: &[&str]) -> Verified {
    let mut command = vec!["fio", "--name=m", "--rw=randrw", "--bs=4k", "--size=128m", "--filename=x", "--direct=1"];
    command.extend(more);
    verify(volume, &[], &command)
}

/// Returns the findings on the mix, one per phase: the report repeats them for each claim.
fn of_mix<'a>(run: &'a Verified, outcome: &str) -> Vec<&'a Value> {
    let findings = run.report["findings"].as_array().map_or(&[][..], Vec::as_slice);
    let mut of_mix: Vec<_> =
        findings.iter().filter(|finding| finding["code"] == "AB108" && finding["outcome"] == outcome).collect();
    of_mix.dedup_by_key(|finding| &finding["phase"]);
    of_mix
}

#[test]
fn a_mix_that_is_as_promised_is_left_alone() {
    needs!(beside: "fio", "mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 512, "noatime");
    for (mix, reads) in [("--rwmixread=70", 0.7), ("--rwmixwrite=90", 0.1)] {
        let run = fio(&volume, &[mix]);
        run.assert_nothing_lost();
        // 32,768 operations in both phases together: one finding, and one that refers to it.
        assert_eq!((of_mix(&run, "silent").len(), of_mix(&run, "not-applicable").len()), (1, 1), "{}", run.story());
        let (read_calls, write_calls) = (run.fact("m-read", "read_calls"), run.fact("m-write", "write_calls"));
        assert_eq!(read_calls + write_calls, 32768.0);
        assert!((read_calls / 32768.0 - reads).abs() < 0.02, "{mix}: {read_calls} reads");
    }
}

#[test]
fn a_limit_on_the_writes_alone_shifts_the_mix() {
    needs!(beside: "fio", "mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 512, "noatime");
    let run = fio(&volume, &["--rwmixread=70", "--rate_iops=,100", "--time_based", "--runtime=3"]);
    run.assert_nothing_lost();
    let fired = of_mix(&run, "fires");
    assert_eq!(fired.len(), 1, "{}", run.story());
    assert_eq!((&fired[0]["severity"], &fired[0]["phase"]), (&Value::from("warn"), &Value::from("m-read")));
    let (reads, writes) = (run.fact("m-read", "read_calls"), run.fact("m-write", "write_calls"));
    assert_eq!(fired[0]["observed"]["value"].as_f64(), Some(reads / (reads + writes)));
    assert!(fired[0]["message"].as_str().is_some_and(|message| message.contains("rwmixread=70")));
}

fn notes_of_size(run: &Verified) -> Vec<String> {
    let findings = run.report["findings"].as_array().map_or(&[][..], Vec::as_slice);
    let fired = findings.iter().filter(|finding| finding["code"] == "AB113" && finding["outcome"] == "fires");
    let mut messages: Vec<String> =
        fired.map(|finding| format!("{}; {}", finding["message"], finding["meaning"])).collect();
    messages.dedup();
    messages
}

#[test]
fn a_size_that_was_not_moved_is_noted() {
    needs!(beside: "fio", "iozone", "mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 512, "noatime");
    let run = |command: &[&str]| {
        let run = verify(&volume, &[], command);
        run.assert_nothing_lost();
        run
    };
    let whole = ["fio", "--name=s", "--rw=write", "--bs=64k", "--size=64m", "--filename=x", "--direct=1"];
    assert_eq!(notes_of_size(&run(&whole)), Vec::<String>::new());
    let both = ["fio", "--name=s", "--rw=randrw", "--bs=64k", "--size=64m", "--filename=x", "--direct=1"];
    assert_eq!(notes_of_size(&run(&both)), Vec::<String>::new());
    for (command, expected) in [
        // 1.56 blocks: only one was moved.
        (&["fio", "--name=s", "--rw=write", "--bs=64k", "--size=100k", "--filename=y"][..], "not a multiple"),
        (&["iozone", "-i0", "-s", "100k", "-r", "64k", "-f", "z"], "not a multiple"),
        (
            &[
                "fio",
                "--name=s",
                "--rw=read",
                "--bs=64k",
                "--size=64m",
                "--filename=x",
                "--direct=1",
                "--rate=8m",
                "--runtime=1",
            ],
            "time limit",
        ),
    ] {
        let noted = notes_of_size(&run(command));
        assert!(noted.iter().any(|note| note.contains(expected)), "{command:?}: {noted:?}");
    }
}
