//! The real iozone on real file systems: byte counts, codes and verdicts.
//!
//! Figures are compared with iozone's own within 1 %; no assertion depends on a time of this machine.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use activebench_e2e::{Verified, Volume, needs, verify};
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::Value;

const MIB: f64 = 1024.0 * 1024.0;

fn ext4(mib: u64) -> Volume {
    Volume::on_loop("ext4", mib, "noatime")
}

/// Compares the rebuilt figure with iozone's own.
fn assert_rebuilt(verified: &Verified, phases: &[&str]) {
    let mut compared = 0;
    for phase in phases {
        let claim = verified.claim(phase);
        let (claimed, observed) = (claim["value"].as_f64(), claim["observed"]["value"].as_f64());
        let (Some(claimed), Some(observed)) = (claimed, observed) else {
            panic!("{phase}: {claim}\n{}", verified.story());
        };
        // In a shorter window the ends of the clock are more than 1 % of it.
        if verified.fact(phase, "window_ns") > 50e6 {
            assert!((observed / claimed - 1.0).abs() < 0.01, "{phase}: {observed} against {claimed}");
            compared += 1;
        }
    }
    assert!(compared > 0, "no pass was long enough to be compared\n{}", verified.story());
}

/// Returns the bytes of all files of a folder.
fn bytes_in(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    entries.map(|path| if path.is_dir() { bytes_in(&path) } else { path.metadata().expect("a file").len() }).sum()
}

#[test]
fn the_run_directory_of_hundreds_of_passes_is_small_and_holds_all_of_them() {
    needs!("iozone", "mkfs.ext4", "losetup");
    let volume = ext4(256);
    let run = verify(&volume, &["--fail-on", "never"], &["iozone", "-a", "-g", "256k"]);
    let phases = run.report["phases"].as_array().expect("phases").len();
    assert!(phases > 100, "{phases}");
    // Each pass has 140 KiB of reports before they are compressed.
    let bytes = bytes_in(&run.run);
    assert!(bytes < 4 << 20, "{} KiB of {phases} passes", bytes >> 10);
    let compressed = run.run.join("report.json.zst");
    assert!(compressed.is_file() && !run.run.join("report.json").exists());
    let unpacked = Command::new("zstd").args(["-dc"]).arg(&compressed).output();
    if let Ok(unpacked) = unpacked {
        let stored: Value = serde_json::from_slice(&unpacked.stdout).expect("JSON");
        assert!(stored == run.report, "the stored report is not the printed one");
    }
}

#[test]
fn a_run_of_a_thousand_figures_needs_little_memory() {
    needs!("iozone", "mkfs.ext4", "losetup");
    /// Of private memory. Together with the program's code, the installed program needs less than 64 MiB.
    const MOST_BYTES: i64 = 60 << 20;
    let volume = ext4(256);
    let run = volume.beside("run");
    let mut child = Command::new(activebench_e2e::binary())
        .args(["verify", "--quiet", "--fail-on", "never", "--out"])
        .arg(&run)
        .args(["--", "iozone", "-a", "-g", "8m"])
        .current_dir(volume.path())
        .stdout(std::process::Stdio::null())
        .spawn()
        .expect("the binary runs");
    let private_bytes = activebench_e2e::most_private_bytes(&mut child);
    assert!(activebench_e2e::stage(&run, "claims").len() > 800);
    // With every entry of the report in memory at once it would be 80 MiB.
    assert!(private_bytes > 1 << 20 && private_bytes <= MOST_BYTES, "{} MiB", private_bytes >> 20);
}

#[test]
fn a_default_write_is_misleading_and_the_durable_rate_is_given() {
    // If others have dirty pages too, the kernel writes these back before the clock stops.
    needs!("iozone", "mkfs.ext4", "losetup");
    let volume = ext4(2048);
    let run = verify(&volume, &[], &["iozone", "-i0", "-s1g", "-r64k"]);
    assert_eq!((run.verdict(), run.exit_code()), ("discrepancy", Some(1)), "{}", run.story());
    run.assert_nothing_lost();
    for phase in ["write", "rewrite"] {
        assert_eq!(run.claim_verdict(phase), "misleading", "{}", run.story());
        assert!(run.codes(phase).contains(&"AB302"), "{phase}: {}", run.story());
        assert_eq!(run.fact(phase, "write_bytes"), 1024.0 * MIB);
        assert_eq!(run.fact(phase, "write_calls"), 16384.0);
        assert_eq!(run.fact(phase, "device_write_bytes_until_durable"), 1024.0 * MIB, "{phase}");
        assert_eq!(run.fact(phase, "unique_blocks"), 16384.0);
        let corrected = run.claim(phase)["corrected"]["value"].as_f64().expect("a corrected figure");
        let durable = run.fact(phase, "write_bytes") * 1e9 / run.fact(phase, "durable_span_ns");
        assert!((corrected / durable - 1.0).abs() < 1e-9, "{corrected} against {durable}");
    }
    assert_rebuilt(&run, &["write", "rewrite"]);
}

#[test]
fn a_write_with_fsync_and_close_inside_the_clock_is_verified() {
    needs!(beside: "iozone", "mkfs.ext4", "losetup");
    let volume = ext4(3072);
    let run = verify(&volume, &[], &["iozone", "-i0", "-e", "-c", "-s2g", "-r64k"]);
    run.assert_honest();
    for phase in ["write", "rewrite"] {
        assert_eq!(run.claim_verdict(phase), "confirmed");
        assert_eq!(run.fact(phase, "syncs_inside"), 1.0);
        assert!(run.fact(phase, "flushes") >= 1.0);
        assert_eq!(run.fact(phase, "unsynced_bytes"), 0.0);
    }
    assert_rebuilt(&run, &["write", "rewrite"]);
}

#[test]
fn a_close_inside_the_clock_without_fsync_leaves_bytes_that_nothing_made_durable() {
    needs!(beside: "iozone", "mkfs.ext4", "losetup");
    let volume = ext4(1024);
    let run = verify(&volume, &[], &["iozone", "-i0", "-c", "-s512m", "-r64k"]);
    assert_eq!(run.verdict(), "discrepancy", "{}", run.story());
    assert!(run.codes("rewrite").contains(&"AB301"), "{}", run.story());
    assert_eq!(run.claim_verdict("rewrite"), "misleading");
    assert_eq!(run.fact("rewrite", "unsynced_bytes"), 512.0 * MIB);
}

#[test]
fn reads_after_writes_come_from_the_page_cache() {
    needs!(beside: "iozone", "mkfs.ext4", "losetup");
    let volume = ext4(2048);
    let run = verify(&volume, &[], &["iozone", "-i0", "-i1", "-s1g", "-r64k"]);
    for phase in ["read", "reread"] {
        assert!(run.codes(phase).contains(&"AB201"), "{phase}: {}", run.story());
        assert_eq!(run.claim_verdict(phase), "misleading");
        // The priming record is not counted.
        assert_eq!(run.fact(phase, "read_bytes"), 1024.0 * MIB);
        // A machine that takes back idle pages may have taken a few.
        assert!(run.fact(phase, "device_read_bytes") < 32.0 * MIB, "{phase}: {}", run.story());
    }
    assert_rebuilt(&run, &["write", "rewrite", "read", "reread"]);
}

#[test]
fn a_cold_read_is_confirmed_and_only_its_repetition_is_cached() {
    needs!(beside: "iozone", "mkfs.ext4", "losetup");
    let volume = ext4(3072);
    let made = std::process::Command::new("iozone")
        .args(["-i0", "-w", "-s2g", "-r64k", "-e", "-+n"])
        .current_dir(volume.path())
        .output()
        .expect("iozone runs");
    assert!(made.status.success());
    volume.drop_caches();
    let run = verify(&volume, &[], &["iozone", "-i1", "-w", "-s2g", "-r64k"]);
    assert!(!run.codes("read").contains(&"AB201"), "{}", run.story());
    // If the kernel had to fetch every page of memory from a hypervisor first, it was busier than the device, and the
    // report says so.
    let verdicts: &[&str] =
        if run.codes("read").contains(&"AB501") { &["confirmed", "misleading"] } else { &["confirmed"] };
    assert!(verdicts.contains(&run.claim_verdict("read")), "{}", run.story());
    assert!(run.fact("read", "cache_inserted_bytes") >= 2048.0 * MIB);
    assert_eq!(run.claim_verdict("reread"), "misleading", "{}", run.story());
    assert!(run.codes("reread").contains(&"AB201"));
    assert_rebuilt(&run, &["read", "reread"]);
}

#[test]
fn direct_writes_are_verified() {
    needs!(beside: "iozone", "mkfs.ext4", "losetup");
    let volume = ext4(3072);
    let run = verify(&volume, &[], &["iozone", "-i0", "-I", "-s2g", "-r256k"]);
    run.assert_honest();
    for phase in ["write", "rewrite"] {
        assert_eq!(run.fact(phase, "direct_ratio"), 1.0);
        assert_eq!(run.fact(phase, "device_write_bytes"), 2048.0 * MIB, "{}", run.story());
        assert_eq!(run.fact(phase, "cache_inserted_bytes"), 0.0);
    }
}

#[test]
fn data_on_several_devices_is_counted_on_all_of_them() {
    needs!(beside: "iozone", "mkfs.btrfs", "losetup");
    // Room for both passes: without it, btrfs commits early to free the overwritten extents.
    let volume = Volume::striped_btrfs(800, 2);
    let run = verify(&volume, &[], &["iozone", "-i0", "-e", "-c", "-s512m", "-r64k"]);
    run.assert_honest();
    for phase in ["write", "rewrite"] {
        // btrfs writes a few blocks twice when writeback overtakes the benchmark, and its trees with each commit: more
        // of both where the machine is slow. One device alone has half.
        let written = run.fact(phase, "device_write_bytes_until_durable") / MIB;
        assert!((512.0..640.0).contains(&written), "{written} MiB: {}", run.story());
    }
}

#[test]
fn a_durable_write_through_an_overlay_is_verified() {
    needs!(beside: "iozone", "mkfs.ext4", "losetup");
    let below = ext4(1536);
    let volume = Volume::overlay(&below);
    let run = verify(&volume, &[], &["iozone", "-i0", "-e", "-c", "-s1g", "-r64k"]);
    run.assert_honest();
    for phase in ["write", "rewrite"] {
        assert_eq!(run.fact(phase, "device_write_bytes_until_durable"), 1024.0 * MIB, "{}", run.story());
    }
    let target = &run.report["host"]["targets"][0];
    assert_eq!(target["fs_type"], "overlay", "{target}");
}

#[test]
fn synchronous_writes_are_verified() {
    needs!(beside: "iozone", "mkfs.ext4", "losetup");
    let volume = ext4(1024);
    let run = verify(&volume, &[], &["iozone", "-i0", "-o", "-s512m", "-r64k"]);
    run.assert_honest();
    for phase in ["write", "rewrite"] {
        assert_eq!(run.fact(phase, "sync_write_ratio"), 1.0);
        assert!(run.fact(phase, "flushes") >= 8192.0, "each write flushes: {}", run.fact(phase, "flushes"));
    }
}

#[test]
fn memory_is_not_a_device() {
    needs!(beside: "iozone");
    let volume = Volume::tmpfs(256);
    let run = verify(&volume, &[], &["iozone", "-i0", "-i1", "-s128m", "-r64k"]);
    assert_eq!(run.verdict(), "discrepancy", "{}", run.story());
    for phase in ["write", "rewrite", "read", "reread"] {
        assert!(run.codes(phase).contains(&"AB106"), "{phase}: {}", run.story());
    }
}

#[test]
fn a_stonewalled_tail_is_reported() {
    needs!(beside: "iozone", "mkfs.ext4", "losetup");
    let volume = ext4(1024);
    let run = verify(&volume, &[], &["iozone", "-i0", "-t2", "-C", "-s256m", "-r64k", "-F", "a.tmp", "b.tmp"]);
    let phase = "t2-initial-writers";
    run.assert_nothing_lost();
    let moved = run.fact(phase, "write_bytes") + run.fact(phase, "untimed_bytes");
    assert_eq!(moved, 512.0 * MIB, "{}", run.story());
    let counted: f64 = run.report["claims"]
        .as_array()
        .expect("claims")
        .iter()
        .filter(|claim| claim["phase"] == phase && claim["metric"] == "bytes-moved")
        .filter_map(|claim| claim["value"].as_f64())
        .sum();
    assert_eq!(run.fact(phase, "write_bytes"), counted, "{}", run.story());
    if run.fact(phase, "untimed_bytes") > 0.0 {
        assert!(run.codes(phase).contains(&"AB113"), "{}", run.story());
    }
}

#[test]
fn verification_inside_the_clock_is_found() {
    needs!(beside: "iozone", "mkfs.ext4", "losetup");
    let volume = ext4(1024);
    for option in [&["-V", "42"][..], &["-+d"][..]] {
        let mut command = vec!["iozone", "-i0", "-i1", "-s256m", "-r64k"];
        command.extend(option);
        let run = verify(&volume, &[], &command);
        let codes = run.codes("read");
        assert!(codes.contains(&"AB501") || codes.contains(&"AB502"), "{option:?}: {}", run.story());
    }
}

#[test]
fn an_option_that_does_nothing_is_found() {
    needs!(beside: "iozone", "mkfs.ext4", "losetup");
    let volume = ext4(512);
    let run = verify(&volume, &[], &["iozone", "-i0", "-G", "-s128m", "-r64k"]);
    assert!(run.codes("write").contains(&"AB112"), "{}", run.story());
}

#[test]
fn flushes_that_the_file_system_leaves_out_are_found() {
    needs!(beside: "iozone", "mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 1024, "nobarrier");
    let run = verify(&volume, &[], &["iozone", "-i0", "-e", "-c", "-s512m", "-r64k"]);
    assert!(run.codes("write").contains(&"AB303"), "{}", run.story());
    assert_eq!(run.fact("write", "flushes"), 0.0);
}

#[test]
fn direct_io_that_the_file_system_buffers_is_found() {
    needs!(beside: "iozone", "mkfs.btrfs", "losetup");
    let volume = Volume::on_loop("btrfs", 1024, "noatime");
    let run = verify(&volume, &[], &["iozone", "-i0", "-I", "-s256m", "-r256k"]);
    // Since Linux 6.15 btrfs falls back to buffered writes for data with checksums; earlier versions wrote directly. In
    // both cases the finding depends on the pages, not on the version.
    let buffered = run.fact("write", "cache_inserted_bytes") > 0.0;
    assert_eq!(run.codes("write").contains(&"AB204"), buffered, "{}", run.story());
    assert_eq!(run.claim_verdict("write"), if buffered { "misleading" } else { "confirmed" });
}

#[test]
fn others_at_the_device_are_found() {
    needs!(beside: "iozone", "mkfs.ext4", "losetup", "dd");
    let volume = ext4(3072);
    let other = volume.path().join("other");
    let mut neighbour = std::process::Command::new("sh")
        .process_group(0)
        .args(["-c", "while :; do dd if=/dev/zero of=\"$0\" bs=1M count=256 oflag=direct 2>/dev/null; done"])
        .arg(&other)
        .spawn()
        .expect("sh runs");
    let run = verify(&volume, &[], &["iozone", "-i0", "-e", "-c", "-s512m", "-r64k"]);
    // Ends the shell and its dd; otherwise the volume stays busy.
    kill_process_group(Pid::from_child(&neighbour), Signal::KILL).expect("it runs");
    neighbour.wait().expect("it ends");
    assert!(run.codes("write").contains(&"AB601"), "{}", run.story());
    assert!(run.fact("write", "foreign_bytes") > 0.0);
    assert_ne!(run.verdict(), "verified");
}

#[test]
fn a_benchmark_that_prints_figures_without_doing_anything_is_refuted() {
    needs!(beside: "mkfs.ext4", "losetup");
    let volume = ext4(64);
    let folder = tempfile::TempDir::with_prefix("activebench-fake-").expect("a folder");
    let (script, printed) = (folder.path().join("iozone"), folder.path().join("printed"));
    std::fs::write(&printed, include_bytes!("../../../../fixtures/iozone/i0-i1-ce/stdout.txt")).expect("it is written");
    std::fs::write(&script, format!("#!/bin/sh\ncat {}\n", printed.display())).expect("it is written");
    std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("permissions");
    let run = verify(&volume, &[], &[script.to_str().expect("UTF-8"), "-i0", "-i1", "-c", "-e", "-s2m", "-r64k"]);
    assert_eq!(run.verdict(), "discrepancy", "{}", run.story());
    for phase in ["write", "rewrite", "read", "reread"] {
        assert_eq!(run.claim_verdict(phase), "refuted", "{}", run.story());
        assert!(run.codes(phase).contains(&"AB106"));
    }
}

#[test]
fn a_benchmark_behind_a_shell_is_recognised() {
    needs!(beside: "iozone", "mkfs.ext4", "losetup");
    let volume = ext4(256);
    for command in [&["nice", "iozone", "-i0", "-s64m", "-e", "-c"][..], &["sh", "-c", "iozone -i0 -s64m -e -c; true"]]
    {
        let run = verify(&volume, &[], command);
        assert_eq!(run.claim_verdict("write"), "confirmed", "{command:?}: {}", run.story());
        assert_eq!(run.fact("write", "write_bytes"), 64.0 * MIB);
    }
}

#[test]
fn data_that_the_file_system_packs_is_found_and_the_same_data_elsewhere_is_not() {
    needs!(beside: "iozone", "mkfs.btrfs", "losetup");
    let command = ["iozone", "-i0", "-e", "-c", "-s256m", "-r64k"];
    let packing = Volume::on_loop("btrfs", 1024, "noatime,compress=zstd");
    let run = verify(&packing, &[], &command);
    run.assert_nothing_lost();
    for phase in ["write", "rewrite"] {
        assert_eq!(run.claim_verdict(phase), "misleading", "{}", run.story());
        assert!(run.codes(phase).contains(&"AB406"), "{}", run.story());
    }
    let plain = Volume::on_loop("btrfs", 1024, "noatime");
    verify(&plain, &[], &command).assert_honest();
}

#[test]
fn direct_io_above_a_cache_is_found() {
    needs!(beside: "iozone", "mkfs.ext4", "losetup");
    let cached = Volume::on_cached_loop("ext4", 512, "noatime");
    let run = verify(&cached, &[], &["iozone", "-I", "-i0", "-i1", "-s128m", "-r1m"]);
    for phase in ["write", "read"] {
        assert_eq!(run.claim_verdict(phase), "misleading", "{}", run.story());
        assert!(run.codes(phase).contains(&"AB205"), "{}", run.story());
    }
    // Data that was synced inside the clock has passed through it.
    let run = verify(&cached, &[], &["iozone", "-I", "-e", "-i0", "-s128m", "-r1m"]);
    assert!(!run.codes("write").contains(&"AB205"), "{}", run.story());
}

/// The report of `-b` is written into a new file, which gets the inode of the deleted one.
#[test]
fn a_report_in_a_file_is_none_of_the_passes() {
    needs!(beside: "iozone", "mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 256, "noatime");
    let run = verify(&volume, &[], &["iozone", "-i0", "-e", "-c", "-s64m", "-r64k", "-R", "-b", "out.xls"]);
    run.assert_nothing_lost();
    for phase in ["write", "rewrite"] {
        assert_eq!(run.claim_verdict(phase), "confirmed", "{}", run.story());
    }
}
