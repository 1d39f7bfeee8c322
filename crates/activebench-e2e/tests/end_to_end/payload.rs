//! Samples of what tools write: zeros, noise, one repeated block, through every path.

use std::path::Path;

use activebench_e2e::{Verified, Volume, needs, verify};
use serde_json::Value;

/// Minimum number of samples that is enough to judge a phase.
const LEAST: f64 = 10.0;
/// Text that no benchmark writes.
const SECRET: &str = "a-secret-that-nobody-should-find";

fn json(run: &Verified, name: &str) -> Value {
    serde_json::from_slice(&std::fs::read(run.run.join(name)).expect(name)).expect("JSON")
}

/// Returns the figures of a phase: samples, and the shares of zeros, of what is left after compression, of duplicates.
fn figures(run: &Verified, phase: &str) -> [f64; 4] {
    ["payload_samples", "payload_zero_ratio", "payload_compressed_ratio", "payload_duplicate_ratio"]
        .map(|name| run.fact(phase, name))
}

/// Returns the completeness of a fact of a phase, and the reason for it.
fn completeness(run: &Verified, phase: &str, name: &str) -> (String, String) {
    let phases = run.report["phases"].as_array().expect("phases");
    let found = phases.iter().find(|candidate| candidate["id"] == phase).unwrap_or_else(|| panic!("{phases:#?}"));
    let completeness = &found["facts"][name]["completeness"];
    let text = |key: &str| completeness[key].as_str().unwrap_or("").to_owned();
    (text("state"), text("why"))
}

fn sh(volume: &Volume, options: &[&str], script: &str) -> Verified {
    let run = verify(volume, options, &["sh", "-c", script]);
    run.assert_nothing_lost();
    run
}

/// Makes a file that repeats one block of letters.
fn repeated(volume: &Volume, name: &str, mib: usize) -> String {
    let path = volume.beside(name);
    let block: Vec<u8> = SECRET.bytes().cycle().take(4096).collect();
    std::fs::write(&path, block.repeat(mib << 8)).expect("a file");
    path.to_str().expect("UTF-8").to_owned()
}

/// Returns `true` when a file below a folder contains the secret.
fn holds_secret(folder: &Path) -> bool {
    let entries = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    entries.into_iter().any(|path| {
        if path.is_dir() {
            return holds_secret(&path);
        }
        let bytes = std::fs::read(&path).expect("a file");
        bytes.windows(SECRET.len()).any(|window| window == SECRET.as_bytes())
    })
}

#[test]
fn zeros_noise_and_repetition_are_told_apart_buffered_and_direct() {
    needs!(beside: "mkfs.ext4", "losetup", "dd");
    let volume = Volume::on_loop("ext4", 512, "noatime");
    let again = repeated(&volume, "again", 64);
    for flags in ["", "oflag=direct"] {
        // Written repeatedly, so that there is time for samples.
        let write = |from: &str, mib: u32| {
            let script = format!(
                "for i in $(seq 15); do dd if={from} of=f bs=256k count={} conv=notrunc {flags} status=none; done",
                mib * 4
            );
            let run = sh(&volume, &[], &script);
            figures(&run, "write-f")
        };
        let [samples, zeros, left, duplicates] = write("/dev/zero", 64);
        assert!(samples >= LEAST && zeros == 1.0 && left < 0.02, "{flags} {samples} {zeros} {left}");
        assert!((duplicates - (samples - 1.0) / samples).abs() < 1e-9, "{flags} {duplicates} {samples}");
        let [samples, zeros, left, duplicates] = write("/dev/urandom", 32);
        assert!(
            samples >= LEAST && zeros == 0.0 && left > 0.99 && duplicates == 0.0,
            "{flags} {samples} {left} {duplicates}"
        );
        let [samples, zeros, left, duplicates] = write(&again, 64);
        assert!(samples >= LEAST && zeros == 0.0 && left < 0.1, "{flags} {samples} {zeros} {left}");
        assert!((duplicates - (samples - 1.0) / samples).abs() < 1e-9, "{flags} {duplicates} {samples}");
    }
}

#[test]
fn asynchronous_and_vectored_writes_are_sampled_too() {
    needs!(beside: "mkfs.ext4", "losetup", "fio");
    let volume = Volume::on_loop("ext4", 128, "noatime");
    let paths: [&[&str]; 6] = [
        &["--ioengine=libaio", "--iodepth=8"],
        &["--ioengine=io_uring", "--iodepth=8"],
        &["--ioengine=io_uring", "--iodepth=8", "--fixedbufs=1", "--registerfiles=1"],
        &["--ioengine=io_uring", "--iodepth=8", "--sqthread_poll=1"],
        &["--ioengine=pvsync"],
        &["--ioengine=vsync"],
    ];
    for path in paths {
        for (fill, zeros, least_left) in [("--refill_buffers=1", 0.0, 0.9), ("--zero_buffers=1", 1.0, 0.0)] {
            let mut command = vec![
                "fio",
                "--name=job",
                "--filename=f",
                "--size=32m",
                "--rw=randwrite",
                "--bs=4k",
                "--direct=1",
                fill,
            ];
            command.push("--thread");
            command.extend(path);
            let run = verify(&volume, &[], &command);
            assert_eq!(json(&run, "run.json")["child"]["exit_code"], 0, "{path:?}: {}", run.stderr());
            run.assert_nothing_lost();
            let [samples, of_zeros, left, duplicates] = figures(&run, "job-write");
            assert!(samples >= LEAST && of_zeros == zeros, "{path:?} {fill}: {samples} {of_zeros}");
            assert!(left >= least_left && (left < 0.02 || zeros == 0.0), "{path:?} {fill}: {left}");
            assert_eq!(duplicates > 0.0, zeros > 0.0, "{path:?} {fill}: {duplicates}");
        }
    }
}

#[test]
fn what_was_written_is_kept_only_when_asked_for() {
    needs!(beside: "mkfs.ext4", "losetup", "dd");
    let volume = Volume::on_loop("ext4", 256, "noatime");
    let again = repeated(&volume, "again", 64);
    let script = format!("for i in 1 2 3 4; do dd if={again} of=f bs=4k conv=notrunc status=none; done");

    let run = sh(&volume, &[], &script);
    assert!(run.fact("write-f", "payload_samples") >= LEAST);
    assert!(!holds_secret(&run.run) && !run.run.join("payload.bin").exists());

    let run = sh(&volume, &["--payload", "keep"], &script);
    let kept = std::fs::read(run.run.join("payload.bin")).expect("kept");
    let manifest = json(&run, "run.json");
    assert!(manifest["sha256"]["payload.bin"].is_string(), "{manifest:#}");
    assert_eq!(manifest["coverage"]["payload"]["kept_bytes"].as_u64(), Some(kept.len() as u64));
    let of_file: Vec<_> = run.rows("payload").into_iter().filter(|row| row["write_bytes"] == "4096").collect();
    assert!(of_file.len() as f64 >= LEAST, "{of_file:?}");
    for row in of_file {
        let number = |name: &str| row[name].parse::<usize>().expect("a number");
        let sample = &kept[number("kept_offset")..][..number("sampled_bytes")];
        assert!(sample.iter().copied().eq(SECRET.bytes().cycle().take(4096)), "{row:?}");
    }
    assert!(run.report.to_string().contains("\"kept_bytes\""));

    let run = sh(&volume, &["--payload", "off"], &script);
    for name in ["payload_samples", "payload_zero_ratio", "payload_compressed_ratio", "payload_duplicate_ratio"] {
        let (state, why) = completeness(&run, "write-f", name);
        assert!(state == "missing" && why.contains("turned off"), "{name} {state} {why}");
    }
    assert!(run.rows("payload").is_empty() && !holds_secret(&run.run));
    assert_eq!(json(&run, "run.json")["coverage"]["records"]["payload"]["made"], 0);
}

#[test]
fn memory_that_is_not_there_is_counted_and_not_taken_for_zeros() {
    needs!(beside: "mkfs.ext4", "losetup", "python3");
    let volume = Volume::on_loop("ext4", 128, "noatime");
    // Untouched memory has no pages until the write itself needs them.
    let script = "import mmap, os, time\nfd = os.open('f', os.O_CREAT | os.O_WRONLY)\n\
                  for number in range(40):\n    os.pwrite(fd, mmap.mmap(-1, 1 << 20), 0)\n    time.sleep(0.008)\n";
    let run = verify(&volume, &[], &["python3", "-c", script]);
    run.assert_nothing_lost();
    let (state, why) = completeness(&run, "write-f", "payload_samples");
    assert!(state == "partial" && why.contains("could not be read"), "{state} {why}");
    let unread =
        run.rows("payload").iter().filter(|row| row["sampled_bytes"] == "0" && row["content"].is_empty()).count();
    assert!(unread as f64 >= LEAST, "{unread}");
}

#[test]
fn content_that_an_option_asks_for_is_compared_with_what_was_written() {
    needs!("fio", "mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 256, "noatime");
    for (options, warns) in [
        (&["--buffer_compress_percentage=50"][..], false),
        (&["--buffer_compress_percentage=80", "--refill_buffers"], false),
        (&["--refill_buffers"], false),
        (&["--dedupe_percentage=50"], false),
        // The pattern of zeros wins over fresh data.
        (&["--refill_buffers", "--zero_buffers"], true),
    ] {
        let mut command = vec!["fio", "--name=j", "--rw=write", "--bs=16k", "--size=32m", "--direct=1", "--filename=f"];
        command.extend(options);
        let run = verify(&volume, &[], &command);
        assert!(run.fact("j-write", "payload_samples") >= LEAST, "{}", run.story());
        assert_eq!(run.codes("j-write").contains(&"AB112"), warns, "{options:?}: {}", run.story());
    }
}
