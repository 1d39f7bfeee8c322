//! I/O that reaches the device: flushes that were requested and flushes that were made, and bytes of reads from the
//! page cache and from the device.

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;

use activebench_e2e::{Verified, Volume, binary, drop_all_caches, needs, verify};

const COUNT: usize = 20;
const MIB: u64 = 1 << 20;

/// Writes and syncs [`COUNT`] blocks.
fn syncs(volume: &Volume, by: &str, file: &str) -> Verified {
    let program = binary();
    let program = program.to_str().expect("UTF-8");
    // Excludes the writes that are left from making and mounting the file system.
    volume.drop_caches();
    let run = verify(volume, &[], &[program, "__workload", "syncs", "--by", by, file]);
    run.assert_nothing_lost();
    run
}

/// Counts flushes that bios of the tree and of the journal asked for, and FLUSH requests that the device received.
fn flushes(volume: &Volume, run: &Verified) -> (usize, usize) {
    let device = volume.device_number();
    let block = run.rows("block");
    let here = |row: &&HashMap<String, String>| row["device"] == device;
    let meant = block.iter().filter(here).filter(|row| row["kind"] == "queued" && row["preflush"] == "true").count();
    let made = block.iter().filter(here).filter(|row| row["kind"] != "queued" && row["action"] == "flush").count();
    (meant, made)
}

#[test]
fn flushes_meant_and_made_are_told_apart() {
    needs!("mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 64, "noatime");
    // Each fsync of a growing file commits the journal: a flush before the commit block and one after it.
    assert_eq!(flushes(&volume, &syncs(&volume, "fsync", "grows.dat")), (COUNT, 2 * COUNT), "fsync, growing");
    // Overwritten data needs no commit: one empty flush each. The first may still update the inode's time.
    let (meant, made) = flushes(&volume, &syncs(&volume, "fdatasync", "grows.dat"));
    assert!((COUNT..=COUNT + 1).contains(&meant) && (COUNT..=COUNT + 3).contains(&made), "fdatasync: {meant}, {made}");
    let (meant, made) = flushes(&volume, &syncs(&volume, "direct-sync", "direct.dat"));
    assert!(meant >= COUNT && made >= COUNT, "O_DIRECT and O_SYNC: {meant}, {made}");

    let careless = Volume::on_loop("ext4", 64, "noatime,nobarrier");
    assert_eq!(flushes(&careless, &syncs(&careless, "fsync", "grows.dat")), (0, 0), "nobarrier");
}

/// The image below a new loop device is sparse: its worker writes to it, since each block needs space.
#[test]
fn what_the_worker_of_a_loop_device_carries_down_is_the_backing_file_s() {
    needs!(beside: "fio", "mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 128, "noatime");
    let command =
        ["fio", "--name=a", "--rw=write", "--bs=64k", "--size=32m", "--direct=1", "--end_fsync=1", "--filename=x"];
    let run = verify(&volume, &[], &command);
    run.assert_nothing_lost();
    let image = std::fs::metadata(volume.beside("backing.img")).expect("the backing file").ino().to_string();
    let (device, block) = (volume.device_number(), run.rows("block"));
    let by_workers = |row: &&HashMap<String, String>| {
        row["device"] != device && row["kind"] == "completed" && row["action"] == "write" && row["origin"] == "kernel"
    };
    let of_image = block.iter().filter(by_workers).filter(|row| row["file_ino"] == image);
    let written: u64 = of_image.map(|row| row["bytes"].parse::<u64>().expect("a number")).sum();
    assert!(written >= 32 * MIB, "the worker wrote {written} bytes to the image");
}

/// Returns the bytes of a file that are in the page cache.
fn cached(file: &Path) -> u64 {
    let output =
        Command::new("fincore").args(["--bytes", "--raw", "--noheadings", "--output", "RES"]).arg(file).output();
    let output = output.expect("fincore runs");
    String::from_utf8_lossy(&output.stdout).trim().parse().unwrap_or(0)
}

/// Returns the bytes that the kernel counts as read from the volume's device since it was made.
fn device_counter(volume: &Volume) -> u64 {
    let name = volume.device().and_then(|device| device.strip_prefix("/dev/")).expect("a device");
    let stat = std::fs::read_to_string(format!("/sys/block/{name}/stat")).expect("the device has counters");
    let sectors: u64 = stat.split_whitespace().nth(2).expect("sectors read").parse().expect("a number");
    sectors * 512
}

/// Reads the file through a verified `dd` and returns the bytes of it that the device delivered. Asserts that the
/// probes, the accounting of the calls, and the device's own counter agree.
fn read(volume: &Volume, what: &str, options: &[&str]) -> u64 {
    let mut command = vec!["dd", "if=read.dat", "of=/dev/null", "bs=64k"];
    command.extend(options);
    let before = device_counter(volume);
    let run = verify(volume, &[], &command);
    let counted = device_counter(volume) - before;
    run.assert_nothing_lost();
    let device = volume.device_number();
    let of_file = |row: &&HashMap<String, String>| {
        row["device"] == device && row["kind"] != "queued" && row["action"] == "read" && !row["file_ino"].is_empty()
    };
    let bytes = |row: &HashMap<String, String>, column: &str| row[column].parse::<u64>().expect("bytes");
    let from_device: u64 = run.rows("block").iter().filter(of_file).map(|row| bytes(row, "bytes")).sum();
    let calls = run.rows("calls");
    let of_dd = calls.iter().filter(|row| row["op"] == "read" && row["requested"] == "65536");
    let by_calls: u64 = of_dd.map(|row| bytes(row, "storage_read_bytes")).sum();
    assert_eq!(from_device, by_calls, "{what}: the device and the calls");
    // Besides the file, the file system reads a few blocks of its own.
    assert!(
        (from_device..from_device + MIB).contains(&counted),
        "{what}: {from_device} seen, {counted} counted by the device"
    );
    from_device
}

#[test]
fn reads_take_from_the_device_exactly_what_the_page_cache_lacks() {
    needs!("mkfs.ext4", "losetup", "dd", "fincore");
    let volume = Volume::on_loop("ext4", 256, "noatime");
    let file = volume.path().join("read.dat");
    std::fs::write(&file, vec![1u8; 64 * MIB as usize]).expect("the file is written");

    // Not by a new mount: the calls would also have to read the file's extents.
    drop_all_caches();
    assert_eq!(read(&volume, "cold", &[]), 64 * MIB);
    // Some machines take back unused pages: the missing part can grow, but never shrink.
    let warm = read(&volume, "warm", &[]);
    assert!(warm < 64 * MIB, "some of it is still cached: {warm}");

    drop_all_caches();
    let half = Command::new("dd")
        .args(["if=read.dat", "of=/dev/null", "bs=1M", "count=32"])
        .current_dir(volume.path())
        .output();
    assert!(half.expect("dd runs").status.success());
    let lacking = 64 * MIB - cached(&file);
    assert!(lacking > 0, "the second half is not cached");
    let from_device = read(&volume, "half warm", &[]);
    assert!((lacking..64 * MIB).contains(&from_device), "{from_device} of at least {lacking}");

    assert_eq!(read(&volume, "direct", &["iflag=direct"]), 64 * MIB);
}
