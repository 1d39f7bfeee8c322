//! Every path by which I/O reaches a file: fio makes exactly N operations, and exactly N are seen, each with its bytes,
//! its offset and its file.

use std::collections::{BTreeSet, HashMap};
use std::process::Command;

use activebench_e2e::{Verified, Volume, needs, verify};

/// Operations of one run, each of [`UNIT`] bytes on a block of its own.
const COUNT: usize = 1024;
const UNIT: usize = 4096;

/// Runs one job of fio with [`COUNT`] operations on a file.
fn fio(volume: &Volume, file: &str, options: &[&str]) -> Verified {
    let (name, size, unit) = (format!("--filename={file}"), format!("--size={}", COUNT * UNIT), format!("--bs={UNIT}"));
    let mut command = vec!["fio", "--name=job", &name, &size, &unit, "--output-format=json"];
    command.extend(options);
    let run = verify(volume, &[], &command);
    assert_eq!(run.report["run"]["child"]["exit_code"].as_i64().unwrap_or(0), 0, "{}", run.stderr());
    run.assert_nothing_lost();
    run
}

/// The calls of a kind on the file that the job opened.
fn on_file<'a>(run: &Verified, calls: &'a [HashMap<String, String>], op: &str) -> Vec<&'a HashMap<String, String>> {
    let names = run.rows("names");
    let name = run.report["tool"]["command"].as_array().expect("a command");
    let name = name.iter().filter_map(|word| word.as_str()?.strip_prefix("--filename=")).next().expect("a file");
    let opened = names.iter().rfind(|row| row["op"] == "open" && row["name"] == name && !row["file_s_dev"].is_empty());
    let opened = opened.unwrap_or_else(|| panic!("{name} was not seen to be opened"));
    let is_it =
        |row: &HashMap<String, String>| ["file_s_dev", "file_ino"].iter().all(|part| row[*part] == opened[*part]);
    calls.iter().filter(|row| row["op"] == op && is_it(row)).collect()
}

/// Asserts that a kind of call moved every block of the file once.
#[track_caller]
fn assert_every_block_once(run: &Verified, op: &str, what: &str) {
    let calls = run.rows("calls");
    let moved = on_file(run, &calls, op);
    assert_eq!(moved.len(), COUNT, "{what}: {op}");
    let offsets: BTreeSet<usize> = moved.iter().map(|row| row["offset"].parse().expect("an offset")).collect();
    assert!(offsets.iter().copied().eq((0..COUNT).map(|block| block * UNIT)), "{what}: {op}: offsets");
    for row in moved {
        assert_eq!([&row["requested"], &row["returned"]], [&UNIT.to_string(); 2], "{what}: {op}");
        let time = |name: &str| -> u64 { row[name].parse().expect("a time") };
        // The start of an untimed call is an estimate, and can equal its end.
        let estimated = row["stands_for"] == "0";
        let in_order = time("start_ns") < time("end_ns") || (estimated && time("start_ns") == time("end_ns"));
        assert!(time("start_ns") > 0 && in_order, "{what}: {op}: {row:?}");
    }
    // A data path that is not decoded would be named.
    let blind = run.report["coverage"]["blind_paths"].as_array().expect("blind paths");
    assert!(blind.is_empty(), "{what}: {blind:?}");
}

#[test]
fn every_path_is_seen_whole() {
    needs!(beside: "fio", "mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 256, "noatime");
    let paths: &[(&str, &[&str])] = &[
        ("pwrite", &["--rw=randwrite", "--ioengine=psync"]),
        ("write", &["--rw=randwrite", "--ioengine=sync"]),
        ("pwritev", &["--rw=randwrite", "--ioengine=pvsync2"]),
        ("pread", &["--rw=randread", "--ioengine=posixaio", "--iodepth=8"]),
        ("pwrite", &["--rw=randwrite", "--ioengine=posixaio", "--iodepth=8"]),
        ("aio_write", &["--rw=randwrite", "--ioengine=libaio", "--iodepth=8"]),
        ("aio_read", &["--rw=randread", "--ioengine=libaio", "--iodepth=8", "--direct=1"]),
        ("uring_write", &["--rw=randwrite", "--ioengine=io_uring", "--iodepth=8"]),
        ("uring_read", &["--rw=randread", "--ioengine=io_uring", "--iodepth=8", "--direct=1"]),
        ("uring_read", &["--rw=randread", "--ioengine=io_uring", "--iodepth=8", "--nonvectored=0"]),
        (
            "uring_read",
            &[
                "--rw=randread",
                "--ioengine=io_uring",
                "--iodepth=8",
                "--direct=1",
                "--fixedbufs=1",
                "--registerfiles=1",
            ],
        ),
        ("uring_read", &["--rw=randread", "--ioengine=io_uring", "--iodepth=8", "--sqthread_poll=1"]),
        ("uring_write", &["--rw=randwrite", "--ioengine=io_uring", "--iodepth=8", "--force_async=1"]),
        ("splice", &["--rw=randread", "--ioengine=splice"]),
        ("splice_to", &["--rw=randwrite", "--ioengine=splice"]),
    ];
    for (op, options) in paths {
        assert_every_block_once(&fio(&volume, "paths.dat", options), op, &options.join(" "));
    }
}

#[test]
fn syncs_that_travel_with_asynchronous_io_are_seen() {
    needs!(beside: "fio", "mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 256, "noatime");
    for (engine, sync, expected) in [
        ("libaio", "--fsync=64", ["fsync", "aio_fsync"]),
        ("io_uring", "--fsync=64", ["fsync", "uring_fsync"]),
        ("io_uring", "--fdatasync=64", ["fdatasync", "uring_fdatasync"]),
    ] {
        let run = fio(&volume, "sync.dat", &["--rw=write", &format!("--ioengine={engine}"), "--iodepth=1", sync]);
        let calls = run.rows("calls");
        let seen = calls.iter().filter(|row| expected.contains(&row["op"].as_str()) && row["returned"] == "0").count();
        // One after every 64 writes; fio may omit the last one.
        assert!([COUNT / 64 - 1, COUNT / 64].contains(&seen), "{engine} {sync}: {seen}");
    }
}

/// A mount with `sync` and an inode with `chattr +S` make every write durable before it returns.
#[test]
fn writes_that_a_mount_or_an_inode_makes_synchronous_are_durable() {
    needs!(beside: "fio", "mkfs.ext4", "losetup", "chattr");
    let by_mount = Volume::on_loop("ext4", 256, "noatime,sync");
    let by_inode = Volume::on_loop("ext4", 256, "noatime");
    // New files inherit the attribute from their folder.
    let status = Command::new("chattr").arg("+S").arg(by_inode.path()).status().expect("chattr starts");
    assert!(status.success(), "chattr ended with {status}");
    for (what, volume) in [("mount", &by_mount), ("inode", &by_inode)] {
        for (engine, op) in [("psync", "pwrite"), ("io_uring", "uring_write")] {
            let run = fio(volume, &format!("{what}-{engine}.dat"), &["--rw=write", &format!("--ioengine={engine}")]);
            let calls = run.rows("calls");
            let writes = on_file(&run, &calls, op);
            let is_synchronous =
                |row: &&HashMap<String, String>| row["open_flags"].split('+').any(|flag| flag == "sync");
            assert_eq!(writes.iter().filter(|row| is_synchronous(row)).count(), COUNT, "{what} {engine}");
            assert_eq!(run.fact("job-write", "unsynced_bytes"), 0.0, "{what} {engine}");
            for code in ["AB301", "AB302"] {
                assert!(!run.codes("job-write").contains(&code), "{what} {engine}: {}", run.story());
            }
        }
    }
}

/// Returns the bytes that the volume's device moved for files.
fn device_bytes(volume: &Volume, run: &Verified, action: &str) -> u64 {
    let device = volume.device_number();
    let block = run.rows("block");
    let here = |row: &&HashMap<String, String>| {
        row["kind"] != "queued" && row["action"] == action && row["device"] == device && !row["file_ino"].is_empty()
    };
    block.iter().filter(here).map(|row| row["bytes"].parse::<u64>().expect("bytes")).sum()
}

#[test]
fn direct_io_of_every_path_is_put_down_to_its_file() {
    needs!(beside: "fio", "mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 256, "noatime");
    fio(&volume, "direct.dat", &["--rw=write", "--end_fsync=1"]);
    let uring = "--ioengine=io_uring";
    for options in [
        &["--ioengine=psync"][..],
        &["--ioengine=posixaio", "--iodepth=8"],
        &["--ioengine=libaio", "--iodepth=8"],
        &["--ioengine=libaio", "--iodepth=8", "--iodepth_batch=4"],
        &[uring, "--iodepth=8"],
        &[uring, "--iodepth=8", "--iodepth_batch=4"],
        &[uring, "--iodepth=8", "--fixedbufs=1", "--registerfiles=1"],
        &[uring, "--iodepth=8", "--sqthread_poll=1"],
        &[uring, "--iodepth=8", "--force_async=1"],
        // The pages of the buffers belong to another file.
        &["--ioengine=psync", "--mem=shm"],
        &["--ioengine=psync", "--mem=mmap:buffers.dat"],
        &["--ioengine=libaio", "--iodepth=8", "--mem=mmapshared"],
        &[uring, "--iodepth=8", "--mem=shm"],
        &[uring, "--iodepth=8", "--fixedbufs=1", "--mem=mmap:buffers.dat"],
    ] {
        let mut all = vec!["--rw=randread", "--direct=1"];
        all.extend(options);
        let run = fio(&volume, "direct.dat", &all);
        assert_eq!(device_bytes(&volume, &run, "read"), (COUNT * UNIT) as u64, "{}", options.join(" "));
    }
}

#[test]
fn mapped_memory_is_named_blind_and_its_bytes_are_seen_at_the_device() {
    needs!(beside: "fio", "mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 256, "noatime");
    let file_bytes = (COUNT * UNIT) as u64;
    fio(&volume, "mapped.dat", &["--rw=write", "--end_fsync=1"]);
    let mmap = "--ioengine=mmap";
    for (rw, action) in [("--rw=randwrite", "write"), ("--rw=randread", "read")] {
        volume.drop_caches();
        let run = fio(&volume, "mapped.dat", &[rw, mmap, "--end_fsync=1"]);
        let calls = run.rows("calls");
        assert!(!on_file(&run, &calls, "mmap").is_empty());
        assert_eq!(device_bytes(&volume, &run, action), file_bytes, "{rw}");
        if action == "write" {
            assert!(calls.iter().any(|row| row["op"] == "msync" && row["returned"] == "0"), "fio syncs the mapping");
            // A mapping of a file that is open for reading only can be a library: a phase has to name it.
            let blind = run.report["coverage"]["blind_paths"].as_array().expect("blind paths");
            assert!(blind.iter().any(|path| path["path"] == "mmap"), "{blind:?}");
        }
    }
}

#[test]
fn a_promised_depth_that_the_device_never_sees_is_told_apart() {
    needs!(beside: "fio", "mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 256, "noatime");
    fio(&volume, "depth.dat", &["--rw=write", "--end_fsync=1"]);
    let depth = |direct: &str, depth: &str| {
        volume.drop_caches();
        let run = fio(&volume, "depth.dat", &["--rw=randread", "--ioengine=libaio", direct, depth]);
        let phase = run.report["phases"][0]["id"].as_str().expect("a phase").to_owned();
        assert!(run.fact(&phase, "read_latency_p99_ns") >= run.fact(&phase, "read_latency_p50_ns"));
        // The distribution of depths over time depends on the load of the machine; the largest depth does not.
        let mean = run.fact(&phase, "device_queue_depth_mean");
        let most = run.fact(&phase, "device_queue_depth_max");
        assert!(mean > 0.0 && mean <= most, "{mean} {most}");
        most
    };
    // With the page cache in between, libaio waits inside io_submit.
    let one = depth("--direct=1", "--iodepth=1");
    let buffered = depth("--direct=0", "--iodepth=7");
    let direct = depth("--direct=1", "--iodepth=7");
    assert!(one <= 1.0 && buffered <= 1.0, "{one} {buffered}");
    assert!(direct > 3.0 && direct <= 7.0, "{direct}");
}

/// Runs the three families of paths, through the page cache and past it.
fn on_every_family(volume: &Volume, file: &str, direct: bool) {
    for direct in [false, true].into_iter().take(1 + usize::from(direct)) {
        let direct = format!("--direct={}", u8::from(direct));
        for (engine, write, read) in [
            ("psync", "pwrite", "pread"),
            ("libaio", "aio_write", "aio_read"),
            ("io_uring", "uring_write", "uring_read"),
        ] {
            let engine = format!("--ioengine={engine}");
            for (rw, op) in [("--rw=randwrite", write), ("--rw=randread", read)] {
                let options = [rw, &engine, "--iodepth=4", &direct];
                assert_every_block_once(&fio(volume, file, &options), op, &options.join(" "));
            }
        }
    }
}

#[test]
fn every_family_is_seen_on_xfs() {
    needs!(beside: "fio", "mkfs.xfs", "losetup");
    on_every_family(&Volume::on_loop("xfs", 400, "noatime"), "family.dat", true);
}

#[test]
fn every_family_is_seen_on_btrfs() {
    needs!(beside: "fio", "mkfs.btrfs", "losetup");
    on_every_family(&Volume::on_loop("btrfs", 400, "noatime"), "family.dat", true);
}

#[test]
fn every_family_is_seen_on_tmpfs() {
    needs!("fio");
    on_every_family(&Volume::tmpfs(64), "family.dat", false);
}

#[test]
fn every_family_is_seen_on_overlay() {
    needs!("fio", "mkfs.ext4", "losetup");
    let below = Volume::on_loop("ext4", 256, "noatime");
    on_every_family(&Volume::overlay(&below), "family.dat", true);
}

#[test]
fn every_family_is_seen_on_fuse() {
    needs!("fio", "mkfs.ext4", "fuse2fs");
    on_every_family(&Volume::fuse(64), "family.dat", false);
}

#[test]
fn every_family_is_seen_on_a_raw_device() {
    needs!("fio", "mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 256, "noatime");
    let raw = Volume::on_loop("ext4", 64, "noatime");
    let device = raw.device().expect("a loop device").to_owned();
    raw.unmount();
    on_every_family(&volume, &device, true);
}
