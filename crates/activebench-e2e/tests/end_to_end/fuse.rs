//! File systems in user space with real daemons: what the daemon did, its requests, and what it means for the figures.
//! The verdicts on bindfs and fuse2fs are in the truth corpus (AB106).

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use activebench_e2e::{Verified, Volume, drop_all_caches, needs, search_path, skip, verify, verify_in};

const SMALL_FUSE: &str = env!("CARGO_BIN_EXE_small-fuse");

/// Returns the number of rows of requests to one file system, by operation.
fn requests(run: &Verified) -> BTreeMap<String, u64> {
    let mut by_operation = BTreeMap::new();
    for row in run.rows("fuse") {
        *by_operation.entry(row["operation"].clone()).or_default() += 1;
    }
    by_operation
}

/// Returns why a fact is not whole.
#[track_caller]
fn why_not(run: &Verified, phase: &str, fact: &str) -> String {
    let phases = run.report["phases"].as_array().expect("phases");
    let phase = phases.iter().find(|candidate| candidate["id"] == phase).expect("the phase");
    let why = phase["facts"][fact]["completeness"]["why"].as_str();
    why.unwrap_or_else(|| panic!("{fact} is whole: {}", run.story())).to_owned()
}

/// Returns the names of what worked beside a phase.
fn beside(run: &Verified, phase: &str) -> Vec<String> {
    let phases = run.report["phases"].as_array().expect("phases");
    let phase = phases.iter().find(|candidate| candidate["id"] == phase).expect("the phase");
    let serving = phase["cpu"]["serving"].as_array().map_or(&[][..], Vec::as_slice);
    serving.iter().filter_map(|serving| Some(serving["name"].as_str()?.to_owned())).collect()
}

#[test]
fn the_daemon_s_time_calls_and_requests_stand_beside_each_pass() {
    needs!("iozone", "mkfs.ext4", "losetup", "bindfs");
    let below = Volume::on_loop("ext4", 256, "noatime");
    let volume = Volume::bindfs(&below);
    // 1024 blocks: each is one request, direct as the tool asks for.
    let run = verify(&volume, &[], &["iozone", "-e", "-I", "-i0", "-i1", "-s64m", "-r64k", "-f", "f"]);
    run.assert_nothing_lost();
    for (phase, reads, writes) in [("write", 0.0, 1024.0), ("rewrite", 0.0, 1024.0), ("read", 1024.0, 0.0)] {
        assert_eq!(run.fact(phase, "fuse_read_requests"), reads, "{phase}: {}", run.story());
        assert_eq!(run.fact(phase, "fuse_write_requests"), writes, "{phase}: {}", run.story());
        assert!(run.fact(phase, "fuse_requests") >= reads + writes);
        assert_eq!(run.fact(phase, "fuse_sync_requests"), 1.0, "the clock has a sync: {}", run.story());
        assert_eq!(run.fact(phase, "fuse_writeback_cache_count"), 0.0);
        assert_eq!(run.fact(phase, "fuse_passthrough_count"), 0.0);
        let value = |name: &str| run.fact_if_known(phase, name).unwrap_or_else(|| panic!("{name}: {}", run.story()));
        assert!(value("fuse_request_time_ns") > 0.0);
        assert!(value("daemon_cpu_ns") > 0.0);
        assert!(beside(&run, phase).contains(&"bindfs".to_owned()), "{phase}: {}", run.story());
    }
    // One thread writes block after block: its requests were never on their way together.
    let window = run.fact("write", "window_ns");
    assert!(run.fact("write", "fuse_request_time_ns") <= 1.01 * window, "{}", run.story());
    // All that is seen of the daemon, whatever falls between the passes: it reads each request and answers it, and it
    // reads and writes the file.
    let all = |column: &str| {
        let rows = run.rows("serving").into_iter().filter(|row| !row["tgid"].is_empty());
        rows.map(|row| row[column].parse::<u64>().expect("a number")).sum::<u64>()
    };
    let requests: u64 = requests(&run).values().sum();
    assert!(all("read_calls") >= requests && all("write_calls") >= requests + 2 * 1024, "{requests}: {}", run.story());
    assert!(all("sync_calls") >= 2, "{}", run.story());
    // The disk below is a loop device, whose worker did the daemon's I/O.
    assert!(run.fact("write", "storage_thread_cpu_ns") >= run.fact("write", "loop_cpu_ns"));
    assert!(run.fact("write", "loop_cpu_ns") > 0.0, "{}", run.story());
}

#[test]
fn a_mount_with_the_writeback_cache_or_passthrough_is_known_as_one() {
    needs!("fio");
    // Kernels before 6.9 have none.
    const OF_PASSTHROUGH: &[u8] = b"fuse_passthrough_read_iter";
    let types = fs::read("/sys/kernel/btf/vmlinux").expect("the kernel's types");
    let has_passthrough = types.windows(OF_PASSTHROUGH.len()).any(|name| name == OF_PASSTHROUGH);
    for (options, writeback, passthrough) in
        [(&[][..], 0.0, 0.0), (&["--writeback-cache"][..], 1.0, 0.0), (&["--passthrough"][..], 0.0, 1.0)]
    {
        let volume = Volume::small_fuse(SMALL_FUSE, options);
        let command = ["fio", "--name=w", "--filename=f", "--rw=write", "--bs=4k", "--size=8m", "--end_fsync=1"];
        let run = verify(&volume, &[], &command);
        run.assert_nothing_lost();
        assert_eq!(run.fact("w-write", "fuse_writeback_cache_count"), writeback, "{options:?}: {}", run.story());
        let passthrough = if has_passthrough { passthrough } else { 0.0 };
        assert_eq!(run.fact("w-write", "fuse_passthrough_count"), passthrough, "{options:?}: {}", run.story());
        // Through the cache the kernel sends what it likes at once; without, each write of the tool is a request.
        let writes = requests(&run)["write"];
        assert_eq!(writes == 2048, writeback == 0.0, "{options:?}: {writes} writes, {}", run.story());
    }
}

#[test]
fn names_in_a_folder_that_gets_slower_fall_over_the_pass_and_on_ext4_they_do_not() {
    needs!("bonnie++", "mkfs.ext4", "losetup");
    let command = ["bonnie++", "-d", ".", "-s", "0", "-n", "2", "-u", "root", "-r", "0", "-m", "testhost"];
    let fifths = |run: &Verified, phase: &str| -> Vec<f64> {
        (1..=5).map(|fifth| run.fact(phase, &format!("name_rate_fifth_{fifth}_ops_per_sec"))).collect()
    };
    let slow = Volume::small_fuse(SMALL_FUSE, &[]);
    // The pass is short, where five seconds are asked for, and a pause of a slice of it weighs more than in a long one.
    let thresholds = slow.beside("thresholds.toml");
    let of_a_short_pass = "ab703_window_least_ns = 1000000.0\nab703_error_deviations_count = 1.0\n";
    fs::write(&thresholds, of_a_short_pass).expect("a file of thresholds");
    let run = verify(&slow, &["--thresholds", thresholds.to_str().expect("a UTF-8 path")], &command);
    run.assert_nothing_lost();
    assert_eq!(run.fact("seq-create", "name_calls"), 2048.0, "{}", run.story());
    // The daemon looks at as many names as there are files.
    let rates = fifths(&run, "seq-create");
    assert!(rates[0] > 1.5 * rates[4], "{rates:?}: {}", run.story());
    assert!(run.codes("seq-create").contains(&"AB703"), "{rates:?}: {}", run.story());
    // A file deleted from the front: what is left gets quicker.
    let rates = fifths(&run, "seq-del");
    assert!(rates[4] > 1.5 * rates[0], "{rates:?}: {}", run.story());
    // A lookup finds nothing, and then the file is made.
    let of_create = run.fact("seq-create", "fuse_requests");
    assert!(of_create >= 2.0 * 2000.0, "{of_create}: {}", run.story());
    assert!(beside(&run, "seq-create").contains(&"small-fuse".to_owned()), "{}", run.story());
    assert!(run.fact("seq-create", "daemon_cpu_ns") > 0.0);

    let fast = Volume::on_loop("ext4", 256, "noatime");
    let run = verify(&fast, &[], &command);
    run.assert_nothing_lost();
    assert_eq!(run.fact("seq-create", "name_calls"), 2048.0, "{}", run.story());
    // Here the pass takes milliseconds: its rates over time are known, and say nothing.
    let mean = fifths(&run, "seq-create").iter().sum::<f64>() / 5.0;
    let files = mean * run.fact("seq-create", "window_ns") / 1e9;
    assert!((files - 2048.0).abs() < 1.0, "{files}: {}", run.story());
    assert!(!run.codes("seq-create").contains(&"AB703"), "{}", run.story());
}

#[test]
fn what_comes_through_sshfs_is_undecided_with_the_reason() {
    needs!("iozone", "mkfs.ext4", "losetup", "sshfs", "sftp-server");
    let below = Volume::on_loop("ext4", 256, "noatime");
    let volume = Volume::sshfs(&below);
    let run = verify(&volume, &[], &["iozone", "-e", "-i0", "-i1", "-s32m", "-r64k", "-f", "f"]);
    run.assert_nothing_lost();
    let why = why_not(&run, "write", "daemon_device_write_bytes_until_durable");
    assert!(why.contains("sshfs") && why.contains("it has a socket open"), "{why}");
    assert_eq!(run.claim_verdict("write"), "unverifiable", "{}", run.story());
    // It is observed all the same.
    assert!(run.fact("write", "fuse_write_requests") > 0.0);
    assert!(run.fact_if_known("write", "daemon_cpu_ns").is_some_and(|cpu| cpu > 0.0), "{}", run.story());
}

/// zfs-fuse with a pool on a loop device; all of it is gone when dropped.
struct Pool {
    daemon: Child,
    name: String,
    disk: Volume,
    mount_point: PathBuf,
}

impl Pool {
    /// Returns `None` where another one runs: there can be one on a machine.
    fn new(mib: u64) -> Option<Self> {
        if zpool(&["list"]) {
            return None;
        }
        let disk = Volume::raw(mib);
        let mut command = Command::new("zfs-fuse");
        command
            .args(["--no-daemon", "--no-kstat-mount"])
            .env("PATH", search_path())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let daemon = command.spawn().expect("zfs-fuse starts");
        let mount_point = disk.beside("pool");
        let name = format!("activebench{}", std::process::id());
        let pool = Self { daemon, name, disk, mount_point };
        let listens = (0..100).any(|_| {
            std::thread::sleep(Duration::from_millis(100));
            zpool(&["list"])
        });
        assert!(listens, "zfs-fuse answers");
        let folder = pool.mount_point.to_str().expect("a UTF-8 path");
        assert!(zpool(&["create", "-f", "-m", folder, &pool.name, pool.disk.device().expect("a device")]));
        Some(pool)
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        if !zpool(&["destroy", "-f", &self.name]) {
            eprintln!("cleaning up: the pool {} stays", self.name);
        }
        let ended = self.daemon.kill().and_then(|()| self.daemon.wait());
        if let Err(error) = ended {
            eprintln!("cleaning up: {error}");
        }
    }
}

fn zpool(arguments: &[&str]) -> bool {
    let mut command = Command::new("zpool");
    command.args(arguments).env("PATH", search_path()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

#[test]
fn reads_from_the_cache_of_zfs_fuse_came_neither_from_the_page_cache_nor_from_the_disk() {
    needs!("fio", "losetup", "zfs-fuse", "zpool");
    let Some(pool) = Pool::new(512) else { return skip("zfs-fuse runs already") };
    let run_of = |name: &str, options: &[&str]| {
        let mut command =
            vec!["fio", "--name=r", "--filename=f", "--bs=128k", "--size=64m", "--buffer_compress_percentage=0"];
        command.extend(options);
        verify_in(&pool.mount_point, pool.disk.beside(name), &[], &command)
    };
    let written = run_of("written", &["--rw=write", "--end_fsync=1"]);
    written.assert_nothing_lost();
    assert!(
        written.fact("r-write", "daemon_device_write_bytes_until_durable") >= 64.0 * 1024.0 * 1024.0,
        "{}",
        written.story()
    );
    // The page cache of the mount goes, that of the daemon stays.
    drop_all_caches();
    let read = run_of("read", &["--rw=read"]);
    read.assert_nothing_lost();
    assert_eq!(read.fact("r-read", "cache_inserted_bytes"), 64.0 * 1024.0 * 1024.0, "{}", read.story());
    assert!(read.fact("r-read", "fuse_read_requests") >= 512.0, "{}", read.story());
    assert_eq!(read.fact("r-read", "daemon_device_read_bytes"), 0.0, "{}", read.story());
    assert_eq!(read.claim_verdict("r-read"), "misleading", "{}", read.story());
    assert!(read.codes("r-read").contains(&"AB106"), "{}", read.story());
    assert!(beside(&read, "r-read").contains(&"zfs-fuse".to_owned()), "{}", read.story());
}
