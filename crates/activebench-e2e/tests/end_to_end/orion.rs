//! Orion's way of doing I/O, by the stand-in, on real devices: counts, codes and verdicts.
//!
//! The stand-in is built with these tests. Figures are compared with its own; no assertion depends on a time of this
//! machine.

use std::path::PathBuf;
use std::process::Command;

use activebench_e2e::{Verified, Volume, needs, verify};

const STAND_IN: &str = env!("CARGO_BIN_EXE_orion-stand-in");
const MIB: u64 = 1 << 20;

/// Makes a raw device and writes it once: blocks that were never written are not read from storage.
fn raw_device(mib: u64) -> (Volume, String) {
    let volume = Volume::on_loop("ext4", mib, "noatime");
    volume.unmount();
    let device = volume.device().expect("a device").to_owned();
    fill(&device, mib);
    // The runs start in the volume's mount point.
    (volume, device)
}

fn fill(path: &str, mib: u64) {
    let output = format!("of={path}");
    let count = format!("count={mib}");
    let arguments = ["if=/dev/urandom", &output, "bs=1M", &count, "oflag=direct", "conv=notrunc", "status=none"];
    let status = Command::new("dd").args(arguments).status().expect("dd runs");
    assert!(status.success(), "dd {output}");
}

/// A file on ext4, written once.
fn file_on_ext4(mib: u64) -> (Volume, String) {
    // Leaves room for a second file of the same size.
    let volume = Volume::on_loop("ext4", 2 * mib + 128, "noatime");
    let path = volume.path().join("data");
    std::fs::File::create(&path).expect("a file");
    let path = path.to_str().expect("a UTF-8 path").to_owned();
    fill(&path, mib);
    (volume, path)
}

/// Runs a test named `t` on the volumes.
fn orion(volume: &Volume, volumes: &[&str], options: &[&str]) -> Verified {
    let list: PathBuf = volume.path().join("t.lun");
    std::fs::write(&list, volumes.join("\n") + "\n").expect("the list of volumes");
    let mut command = vec![STAND_IN, "-testname", "t"];
    command.extend(options);
    verify(volume, &[], &command)
}

/// Returns phase and value of each claim of a metric.
fn claims(run: &Verified, metric: &str) -> Vec<(String, f64)> {
    let claims = run.report["claims"].as_array().map_or(&[][..], Vec::as_slice);
    let of_metric = claims.iter().filter(|claim| claim["metric"] == metric);
    of_metric
        .map(|claim| (claim["phase"].as_str().unwrap_or("").to_owned(), claim["value"].as_f64().unwrap_or(0.0)))
        .collect()
}

#[test]
fn points_of_a_raw_device_are_found_and_confirmed() {
    needs!(beside: "losetup", "mkfs.ext4");
    let (volume, device) = raw_device(512);
    let options = ["-run", "advanced", "-matrix", "row", "-num_small", "4", "-num_large", "0", "-duration", "2"];
    let run = orion(&volume, &[&device], &options);
    run.assert_honest();
    run.assert_nothing_lost();
    let rates = claims(&run, "operation-rate");
    let phases: Vec<&str> = rates.iter().map(|(phase, _)| phase.as_str()).collect();
    assert_eq!(phases, ["small-1-large-0", "small-2-large-0", "small-3-large-0", "small-4-large-0"]);
    assert_eq!(claims(&run, "latency-mean").len(), 4, "{}", run.story());
    for (phase, rate) in rates {
        // The tool counted the calls that ended in the two seconds.
        let calls = run.fact(&phase, "read_calls");
        assert!((calls / 2.0 / rate - 1.0).abs() < 0.01, "{phase}: {calls} calls, {rate} claimed");
        assert_eq!(run.fact(&phase, "read_bytes"), calls * 8192.0);
        assert_eq!(run.fact(&phase, "direct_ratio"), 1.0);
        assert_eq!(run.fact(&phase, "window_ns"), 2e9);
        assert_eq!(run.fact(&phase, "write_calls"), 0.0);
        assert!(!run.codes(&phase).contains(&"AB401"), "{}", run.story());
    }
}

#[test]
fn a_simple_run_measures_small_and_large_requests_apart() {
    needs!(beside: "losetup", "mkfs.ext4");
    let (volume, device) = raw_device(512);
    let run = orion(&volume, &[&device], &["-run", "simple", "-num_disks", "1", "-duration", "1"]);
    run.assert_honest();
    let small = claims(&run, "operation-rate").into_iter().map(|(phase, _)| phase);
    assert_eq!(small.collect::<Vec<_>>(), (1..=5).map(|load| format!("small-{load}-large-0")).collect::<Vec<_>>());
    let large = claims(&run, "throughput");
    assert_eq!(large.len(), 2, "{}", run.story());
    for (phase, rate) in large {
        let moved = run.fact(&phase, "read_bytes");
        assert!((moved / rate - 1.0).abs() < 0.02, "{phase}: {moved} bytes in a second, {rate} claimed");
    }
}

#[test]
fn offsets_that_repeat_are_found_though_every_byte_came_from_the_device() {
    needs!(beside: "losetup", "mkfs.ext4");
    let (volume, device) = raw_device(256);
    let options = ["-run", "advanced", "-matrix", "point", "-num_small", "8", "-duration", "3", "-defect", "repeat"];
    let run = orion(&volume, &[&device], &options);
    let phase = "small-8-large-0";
    assert_eq!((run.verdict(), run.exit_code()), ("discrepancy", Some(1)), "{}", run.story());
    assert_eq!(run.claim_verdict(phase), "misleading");
    assert!(run.codes(phase).contains(&"AB401"), "{}", run.story());
    // One block in 128, plus one, of 256 MiB in blocks of 8 KiB.
    assert_eq!(run.fact(phase, "unique_blocks"), 257.0);
    assert_eq!(run.fact(phase, "region_blocks"), 32_768.0);
    let read = run.fact(phase, "read_bytes");
    assert!(read > 257.0 * 8192.0 * 10.0, "each block was read often: {read}");
    // A count of bytes alone looks right: the device delivered all bytes that were read.
    let device_read = run.fact(phase, "device_read_bytes");
    assert!((device_read / read - 1.0).abs() < 0.01, "{device_read} of {read}");
    for code in ["AB101", "AB104", "AB106", "AB201"] {
        assert!(!run.codes(phase).contains(&code), "{}", run.story());
    }
}

#[test]
fn large_requests_and_both_sizes_at_once_are_told_apart_on_a_file() {
    needs!(beside: "losetup", "mkfs.ext4");
    let (volume, file) = file_on_ext4(512);
    let options = ["-run", "advanced", "-matrix", "max", "-num_small", "1", "-num_large", "2", "-duration", "2"];
    let run = orion(&volume, &[&file], &options);
    run.assert_honest();
    for large in [1, 2] {
        let alone = format!("small-0-large-{large}");
        assert_eq!(run.fact(&alone, "read_bytes"), run.fact(&alone, "read_calls") * MIB as f64);
        for (half, bytes) in [("small-ios", 8192.0), ("large-ios", MIB as f64)] {
            let phase = format!("small-1-large-{large}-{half}");
            assert!(run.fact(&phase, "read_calls") > 0.0);
            assert_eq!(run.fact(&phase, "read_bytes"), run.fact(&phase, "read_calls") * bytes, "{phase}");
        }
    }
    assert_eq!(claims(&run, "throughput").len(), 4, "{}", run.story());
}

#[test]
fn reads_and_writes_together_are_confirmed() {
    needs!(beside: "losetup", "mkfs.ext4");
    let (volume, file) = file_on_ext4(256);
    let options = ["-run", "advanced", "-matrix", "point", "-num_small", "6", "-duration", "3", "-write", "50"];
    let run = orion(&volume, &[&file], &options);
    run.assert_honest();
    let (phase, halves) = ("small-6-large-0", ["small-6-large-0-reads", "small-6-large-0-writes"]);
    let (reads, writes) = (run.fact(phase, "read_calls"), run.fact(phase, "write_calls"));
    assert!((0.45..0.55).contains(&(writes / (reads + writes))), "{writes} writes and {reads} reads");
    // The best point has latencies for each direction, the matrix for both together.
    assert_eq!(claims(&run, "latency-max").len(), 2, "{}", run.story());
    for half in halves {
        assert_eq!(run.claim_verdict(half), "confirmed", "{}", run.story());
    }
    assert_eq!(run.fact(halves[0], "read_calls"), reads);
    assert_eq!(run.fact(halves[1], "write_calls"), writes);
}

#[test]
fn what_fills_the_cache_before_sequential_streams_is_not_counted() {
    needs!(beside: "losetup", "mkfs.ext4");
    let (volume, device) = raw_device(512);
    let options = ["-run", "advanced", "-matrix", "col", "-num_small", "0", "-num_large", "2"];
    let sequential = ["-type", "seq", "-num_streamIO", "2", "-cache_size", "128", "-duration", "2"];
    let run = orion(&volume, &[&device], &[&options[..], &sequential].concat());
    run.assert_honest();
    let mut measured = 0.0;
    for phase in ["small-0-large-1", "small-0-large-2"] {
        assert_eq!(run.fact(phase, "window_ns"), 2e9);
        measured += run.fact(phase, "read_bytes");
    }
    let all = run.report["run"]["facts"]["read_bytes"]["value"].as_f64().expect("a fact of the run");
    assert!(all >= measured + 2.0 * 128.0 * MIB as f64, "{all} in all, {measured} measured");
}

#[test]
fn volumes_are_read_as_one_space() {
    needs!(beside: "losetup", "mkfs.ext4");
    let (volume, file) = file_on_ext4(128);
    let second = format!("{file}-2");
    std::fs::copy(&file, &second).expect("a second volume");
    let options = ["-run", "advanced", "-matrix", "point", "-num_small", "4", "-simulate", "raid0", "-duration", "2"];
    let run = orion(&volume, &[&file, &second], &options);
    run.assert_honest();
    let region = run.fact("small-4-large-0", "region_blocks");
    assert!(region > 32_000.0, "both volumes of 16,384 blocks: {region}");
}

#[test]
fn a_list_of_volumes_that_is_missing_is_told_in_the_tools_own_words() {
    needs!(beside: "losetup", "mkfs.ext4");
    let volume = Volume::on_loop("ext4", 64, "noatime");
    let run = verify(&volume, &[], &[STAND_IN, "-run", "simple", "-testname", "none"]);
    assert_eq!(run.verdict(), "failed", "{}", run.story());
    assert_eq!(run.exit_code(), Some(4), "{}", run.story());
    assert!(run.report.to_string().contains("Failure in opening .lun file none.lun"), "{}", run.story());
    assert!(run.report["claims"].as_array().is_none_or(Vec::is_empty));
}
