//! The real fio on real file systems: byte counts, codes and verdicts.
//!
//! Figures are compared with fio's own within 1 %; no assertion depends on a time of this machine.

use std::fs;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use activebench_e2e::{Throttled, Verified, Volume, binary, needs, verify};

const MIB: f64 = 1024.0 * 1024.0;

fn ext4(mib: u64) -> Volume {
    Volume::on_loop("ext4", mib, "noatime")
}

fn of_metric<'a>(run: &'a Verified, phase: &str, metric: &str) -> &'a serde_json::Value {
    let claims = run.report["claims"].as_array().map_or(&[][..], Vec::as_slice);
    claims
        .iter()
        .find(|claim| claim["phase"] == phase && claim["metric"] == metric)
        .unwrap_or_else(|| panic!("no {metric} of {phase}: {}", run.story()))
}

/// Asserts that bytes and operations are exact, and rates within 1 % if the clock ran long enough. On a busy host, fio
/// may have to wait for a CPU between its last call and its reading of the clock: 20 ms are allowed for that.
fn assert_rebuilt(run: &Verified, phase: &str) {
    run.assert_nothing_lost();
    let bytes = of_metric(run, phase, "bytes-moved");
    assert_eq!(bytes["value"], bytes["observed"]["value"], "{}", run.story());
    let rate = of_metric(run, phase, "throughput");
    let (claimed, observed) = (rate["value"].as_f64(), rate["observed"]["value"].as_f64());
    let (Some(claimed), Some(observed)) = (claimed, observed) else { panic!("{phase}: {}", run.story()) };
    let window_ns = run.fact(phase, "window_ns");
    if window_ns > 200e6 {
        let allowed = f64::max(0.01, 20e6 / window_ns);
        assert!((observed / claimed - 1.0).abs() < allowed, "{phase}: {observed} against {claimed}");
    }
}

/// Asserts that every claim of a phase has this verdict; counts must be confirmed in any case.
fn assert_claims(run: &Verified, phase: &str, verdict: &str) {
    let claims = run.report["claims"].as_array().map_or(&[][..], Vec::as_slice);
    let rates = ["throughput", "operation-rate"];
    let of_phase: Vec<_> = claims
        .iter()
        .filter(|claim| claim["phase"] == phase && rates.iter().any(|rate| claim["metric"] == *rate))
        .collect();
    assert_eq!(of_phase.len(), 2, "{}", run.story());
    for claim in of_phase {
        assert_eq!(claim["verdict"], verdict, "{}", run.story());
    }
}

#[test]
fn a_buffered_write_without_a_sync_is_misleading() {
    needs!(beside: "fio", "mkfs.ext4", "losetup");
    let volume = ext4(1024);
    let run = verify(&volume, &[], &["fio", "--name=a", "--rw=write", "--bs=4k", "--size=256m", "--filename=x"]);
    assert_eq!((run.verdict(), run.exit_code()), ("discrepancy", Some(1)), "{}", run.story());
    assert!(run.codes("a-write").contains(&"AB301"), "{}", run.story());
    assert_claims(&run, "a-write", "misleading");
    assert_rebuilt(&run, "a-write");
    assert_eq!(run.fact("a-write", "write_calls"), 65536.0);
    assert!(run.story().contains("--end_fsync=1") || run.report.to_string().contains("--end_fsync=1"));
}

#[test]
fn a_write_with_the_sync_inside_its_clock_is_confirmed() {
    needs!(beside: "fio", "mkfs.ext4", "losetup");
    let volume = ext4(2048);
    let command = ["fio", "--name=a", "--rw=write", "--bs=64k", "--size=1g", "--filename=x", "--end_fsync=1"];
    let run = verify(&volume, &[], &command);
    assert_claims(&run, "a-write", "confirmed");
    assert_rebuilt(&run, "a-write");
    assert_eq!(run.exit_code(), Some(0), "{}", run.story());
    assert_eq!(run.fact("a-write", "syncs_inside"), 1.0);
    assert_eq!(run.fact("a-write", "unsynced_bytes"), 0.0);
    assert_eq!(run.fact("a-write", "device_write_bytes_until_durable"), 1024.0 * MIB);
}

#[test]
fn direct_writes_and_reads_are_confirmed() {
    needs!(beside: "fio", "mkfs.ext4", "losetup");
    let volume = ext4(2048);
    let write = ["fio", "--name=a", "--rw=write", "--bs=256k", "--size=1g", "--filename=x", "--direct=1"];
    let run = verify(&volume, &[], &write);
    assert_claims(&run, "a-write", "confirmed");
    assert_rebuilt(&run, "a-write");
    assert_eq!((run.exit_code(), run.fact("a-write", "direct_ratio")), (Some(0), 1.0), "{}", run.story());
    let read = ["fio", "--name=a", "--rw=randread", "--bs=64k", "--size=256m", "--filename=x", "--direct=1"];
    let run = verify(&volume, &[], &read);
    assert_claims(&run, "a-read", "confirmed");
    assert_rebuilt(&run, "a-read");
    assert_eq!(run.exit_code(), Some(0), "{}", run.story());
    assert_eq!(run.fact("a-read", "unique_blocks"), 4096.0);
}

/// Returns the bytes that a device was asked to discard since it was made, from its own counter (field 14 of `stat`, in
/// sectors).
fn discarded_bytes(device: &str) -> f64 {
    let name = device.strip_prefix("/dev/").expect("a device");
    let stat = fs::read_to_string(format!("/sys/block/{name}/stat")).expect("the device has counters");
    let sectors: f64 = stat.split_whitespace().nth(13).expect("discards are counted").parse().expect("a number");
    sectors * 512.0
}

#[test]
fn trims_of_a_device_are_confirmed() {
    needs!(beside: "fio", "mkfs.ext4", "losetup");
    let volume = ext4(512);
    let device = volume.device().expect("a device").to_owned();
    volume.unmount();
    let filename = format!("--filename={device}");
    for (engine, depth) in [("psync", 1), ("libaio", 4), ("io_uring", 4)] {
        let before = discarded_bytes(&device);
        let (engine, depth) = (format!("--ioengine={engine}"), format!("--iodepth={depth}"));
        let command = ["fio", "--name=a", "--rw=randtrim", "--bs=64k", "--size=256m", &filename, &engine, &depth];
        let run = verify(&volume, &[], &command);
        assert_claims(&run, "a-trim", "confirmed");
        assert_rebuilt(&run, "a-trim");
        assert_eq!(run.exit_code(), Some(0), "{}", run.story());
        assert_eq!(run.fact("a-trim", "discard_calls"), 4096.0);
        assert_eq!(run.fact("a-trim", "discard_bytes"), 256.0 * MIB);
        assert_eq!(run.fact("a-trim", "unique_blocks"), 4096.0);
        assert_eq!(run.fact("a-trim", "device_discard_bytes"), discarded_bytes(&device) - before);
    }
    let mixed = ["fio", "--name=a", "--rw=trimwrite", "--bs=64k", "--size=64m", "--end_fsync=1", &filename];
    let run = verify(&volume, &[], &mixed);
    for phase in ["a-trim", "a-write"] {
        assert_rebuilt(&run, phase);
        assert_claims(&run, phase, "confirmed");
    }
    assert_eq!((run.fact("a-trim", "discard_bytes"), run.fact("a-write", "write_bytes")), (64.0 * MIB, 64.0 * MIB));
}

/// A file system frees the space but does not pass the discard on.
#[test]
fn trims_of_a_file_are_not_those_of_the_device() {
    needs!(beside: "fio", "mkfs.ext4", "losetup");
    let volume = ext4(512);
    volume.lay_out("x", 128);
    let command = ["fio", "--name=a", "--rw=trim", "--ioengine=falloc", "--bs=64k", "--size=128m", "--filename=x"];
    let run = verify(&volume, &[], &command);
    assert!(run.codes("a-trim").contains(&"AB106"), "{}", run.story());
    assert_claims(&run, "a-trim", "misleading");
    assert_rebuilt(&run, "a-trim");
    assert_eq!((run.fact("a-trim", "discard_bytes"), run.fact("a-trim", "device_discard_bytes")), (128.0 * MIB, 0.0));
}

/// Where the addresses of registers are not constant, all I/O is still seen, and the report states the cost.
#[test]
fn the_longer_way_sees_the_same_and_is_said() {
    needs!(beside: "fio", "mkfs.ext4", "losetup");
    let volume = ext4(512);
    volume.lay_out("x", 64);
    let command = ["fio", "--name=a", "--rw=randread", "--bs=4k", "--size=64m", "--filename=x"];
    for (options, said) in [(&[][..], false), (&["--look-every-caller-up"], true)] {
        let run = verify(&volume, options, &command);
        assert_rebuilt(&run, "a-read");
        assert_eq!((run.fact("a-read", "read_calls"), run.fact("a-read", "unique_blocks")), (16384.0, 16384.0));
        let text = Command::new(binary()).arg("report").arg(&run.run).args(["--format", "text"]).output();
        let text = String::from_utf8_lossy(&text.expect("it renders").stdout).replace(['\n', ' '], "");
        assert_eq!(text.contains("callsobservedbytheslowpath"), said, "{text}");
    }
}

#[test]
fn asynchronous_engines_are_rebuilt() {
    needs!(beside: "fio", "mkfs.ext4", "losetup");
    let volume = ext4(1024);
    volume.lay_out("x", 128);
    for (engine, more) in [("libaio", &[][..]), ("io_uring", &[]), ("io_uring", &["--fixedbufs", "--registerfiles"])] {
        let engine = format!("--ioengine={engine}");
        let mut command = vec![
            "fio",
            "--name=a",
            "--rw=randread",
            "--bs=4k",
            "--size=64m",
            "--filename=x",
            "--direct=1",
            "--iodepth=8",
        ];
        command.push(&engine);
        command.extend(more);
        let run = verify(&volume, &[], &command);
        assert_claims(&run, "a-read", "confirmed");
        assert_rebuilt(&run, "a-read");
        assert_eq!(run.fact("a-read", "read_bytes"), 64.0 * MIB, "{engine}");
    }
    // glibc submits one request per descriptor at a time, whatever the depth.
    let serial = ["fio", "--name=a", "--rw=randread", "--bs=4k", "--size=64m", "--filename=x", "--direct=1"];
    let run = verify(&volume, &[], &[&serial[..], &["--ioengine=posixaio", "--iodepth=16"]].concat());
    // A failure when the device was busy for half of the time, a note on a machine too slow for that.
    assert!(run.codes("a-read").contains(&"AB403"), "{}", run.story());
    assert_rebuilt(&run, "a-read");
    // Buffered: the requests are in flight only in fio's accounting.
    let buffered = ["fio", "--name=a", "--rw=randwrite", "--bs=4k", "--size=64m", "--filename=y", "--iodepth=32"];
    let run = verify(&volume, &[], &[&buffered[..], &["--ioengine=libaio"]].concat());
    assert_eq!(run.verdict(), "discrepancy", "{}", run.story());
    for code in ["AB301", "AB403"] {
        assert!(run.codes("a-write").contains(&code), "{code}: {}", run.story());
    }
    assert_rebuilt(&run, "a-write");
}

#[test]
fn other_synchronous_engines_are_rebuilt() {
    needs!(beside: "fio", "mkfs.ext4", "losetup");
    let volume = ext4(512);
    volume.lay_out("x", 64);
    for engine in ["sync", "vsync", "pvsync", "pvsync2"] {
        let option = format!("--ioengine={engine}");
        let command = ["fio", "--name=a", "--rw=read", "--bs=64k", "--size=64m", "--filename=x", "--direct=1", &option];
        let run = verify(&volume, &[], &command);
        assert_claims(&run, "a-read", "confirmed");
        assert_rebuilt(&run, "a-read");
    }
}

/// Asserts that four jobs read one file of 256 MiB, and that every page came from storage once.
fn assert_shared(run: &Verified) {
    let mut inserted = 0.0;
    let mut found = 0;
    for job in 0..4 {
        let phase = format!("a.{job}-read");
        assert_rebuilt(run, &phase);
        assert!(!run.codes(&phase).contains(&"AB401"), "{}", run.story());
        assert_eq!(run.fact(&phase, "read_bytes"), 256.0 * MIB);
        inserted += run.fact(&phase, "cache_inserted_bytes");
        found += usize::from(run.codes(&phase).contains(&"AB201"));
    }
    assert!(inserted < 300.0 * MIB, "{inserted}: {}", run.story());
    // One job may have been ahead of the others all the time.
    assert!(found >= 3, "{}", run.story());
}

#[test]
fn jobs_that_share_a_cached_file_read_from_each_other() {
    needs!(beside: "fio", "mkfs.ext4", "losetup");
    let volume = ext4(1024);
    volume.lay_out("x", 256);
    let command = ["fio", "--name=a", "--rw=read", "--bs=64k", "--size=256m", "--filename=x", "--numjobs=4"];
    let run = verify(&volume, &[], &command);
    assert_shared(&run);
    volume.drop_caches();
    assert_shared(&verify(&volume, &[], &[&command[..], &["--thread"]].concat()));
    volume.drop_caches();
    let run = verify(&volume, &[], &[&command[..], &["--group_reporting"]].concat());
    assert!(run.codes("a-read").contains(&"AB201"), "{}", run.story());
    assert!(!run.codes("a-read").contains(&"AB401"), "{}", run.story());
    assert_claims(&run, "a-read", "misleading");
    assert_rebuilt(&run, "a-read");
    assert_eq!(run.fact("a-read", "active_tasks"), 4.0);
}

#[test]
fn repetitions_that_were_asked_for_are_no_finding() {
    needs!(beside: "fio", "mkfs.ext4", "losetup");
    let volume = ext4(512);
    volume.lay_out("x", 64);
    for (name, more) in [
        ("loops", &["--rw=read", "--loops=3"][..]),
        ("random loops", &["--rw=randread", "--loops=3"]),
        ("drawn loops", &["--rw=randread", "--loops=3", "--norandommap=1"]),
        ("a time", &["--rw=read", "--time_based", "--runtime=1"]),
        ("a random time", &["--rw=randread", "--time_based", "--runtime=1"]),
        ("drawn", &["--rw=randread", "--norandommap=1"]),
        ("more than the file", &["--rw=randread", "--io_size=160m"]),
    ] {
        let command = ["fio", "--name=a", "--bs=64k", "--size=64m", "--filename=x", "--direct=1"];
        let run = verify(&volume, &[], &[&command[..], more].concat());
        assert!(!run.codes("a-read").contains(&"AB401"), "{name}: {}", run.story());
        assert_claims(&run, "a-read", "confirmed");
        assert_rebuilt(&run, "a-read");
    }
}

#[test]
fn offsets_that_repeat_behind_a_random_claim_are_found() {
    needs!(beside: "fio", "mkfs.ext4", "losetup");
    let volume = ext4(512);
    volume.lay_out("x", 64);
    let command = ["fio", "--name=a", "--rw=randread", "--bs=4k", "--size=64m", "--filename=x", "--direct=1"];
    let run = verify(&volume, &[], &[&command[..], &["--random_distribution=zipf:1.4"]].concat());
    assert!(run.codes("a-read").contains(&"AB401"), "{}", run.story());
    assert_claims(&run, "a-read", "misleading");
    assert!(run.report.to_string().contains("Drop `random_distribution`"), "{}", run.story());
}

/// Replaces fields that differ from run to run by one form.
fn structure(text: &str) -> Vec<String> {
    let lines = text.lines().map(|line| {
        let words: Vec<String> = line
            .split(|c: char| c.is_ascii_digit() || c == '.' || c == ' ')
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect();
        words.first().cloned().unwrap_or_default()
    });
    lines.collect()
}

#[test]
fn the_users_output_is_what_fio_prints() {
    needs!(beside: "fio", "mkfs.ext4", "losetup");
    let volume = ext4(512);
    volume.lay_out("x", 64);
    let command = ["fio", "--name=a", "--rw=read", "--bs=64k", "--size=64m", "--filename=x", "--direct=1"];
    let plain = Command::new("fio").args(&command[1..]).current_dir(volume.path()).output().expect("fio runs");
    let plain = String::from_utf8(plain.stdout).expect("UTF-8");
    let observed = Command::new(binary())
        .args(["verify", "--quiet", "--format", "json=/dev/null", "--out"])
        .arg(volume.beside("run-of-output"))
        .arg("--")
        .args(command)
        .current_dir(volume.path())
        .output()
        .expect("the binary runs");
    let observed = String::from_utf8(observed.stdout).expect("UTF-8");
    assert!(!observed.contains("fio version") && !observed.contains("bw_bytes"), "{observed}");
    // The latencies with a line in a histogram depend on the run, and runs of half a second are sampled.
    let of_the_run = |line: &String| ["lat", "clat", "bw", "iops"].iter().any(|word| line.starts_with(word));
    let kept = |text: &str| -> Vec<String> { structure(text).into_iter().filter(|line| !of_the_run(line)).collect() };
    assert_eq!(kept(&observed), kept(&plain), "{observed}\nagainst\n{plain}");
    // Terse lines stay terse.
    let terse = Command::new(binary())
        .args(["verify", "--quiet", "--format", "json=/dev/null", "--out"])
        .arg(volume.beside("run-of-terse"))
        .arg("--")
        .args(command)
        .arg("--minimal")
        .current_dir(volume.path())
        .output()
        .expect("the binary runs");
    let terse = String::from_utf8(terse.stdout).expect("UTF-8");
    assert!(terse.starts_with("3;fio-") && terse.lines().count() == 1, "{terse}");
}

#[test]
fn on_a_terminal_the_line_of_progress_hides_no_object() {
    needs!(beside: "fio", "mkfs.ext4", "losetup", "script");
    let volume = ext4(256);
    volume.lay_out("x", 64);
    // The run is long enough for fio to print its progress.
    let line = format!(
        "{} verify --quiet --out {} -- fio --name=a --rw=read --bs=64k --size=64m --filename=x --direct=1 --rate=30m",
        binary().display(),
        volume.beside("run-on-a-terminal").display()
    );
    let log = volume.beside("terminal.log");
    let ran = Command::new("script")
        .args(["-qec", &line])
        .arg(&log)
        .current_dir(volume.path())
        .stdin(std::process::Stdio::null())
        .output()
        .expect("script runs");
    let shown = String::from_utf8_lossy(&fs::read(&log).expect("the log")).into_owned();
    assert!(ran.status.success(), "{shown}");
    assert!(shown.contains("Jobs: 1") && shown.contains("read: IOPS="), "{shown}");
    assert!(!shown.contains("fio version") && !shown.contains("\"bw_bytes\" :"), "{shown}");
}

/// What is kept is what the tool wrote, byte by byte.
#[test]
fn the_live_screen_leaves_the_tools_output_whole() {
    needs!(beside: "fio", "mkfs.ext4", "losetup", "script");
    let volume = ext4(256);
    volume.lay_out("x", 64);
    let run = volume.beside("run-with-a-screen");
    let fio = "fio --name=a --rw=read --bs=64k --size=64m --filename=x --direct=1 --rate=20m --output-format=json";
    let line = format!("stty cols 100 rows 30; {} verify --live --out {} -- {fio}", binary().display(), run.display());
    let log = volume.beside("screen.log");
    let ran = Command::new("script")
        .args(["-qec", &line])
        .arg(&log)
        .env("TERM", "xterm")
        .current_dir(volume.path())
        .stdin(std::process::Stdio::null())
        .output()
        .expect("script runs");
    let shown = String::from_utf8_lossy(&fs::read(&log).expect("the log")).into_owned();
    assert!(ran.status.code().is_some_and(|code| code != 2 && code < 5), "{shown}");
    for part in ["queue depth", "  calls ", "  cache ", "IOPS, p99"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let kept = fs::read_to_string(run.join("stdout.txt")).expect("the tool's output");
    let parsed: serde_json::Value = serde_json::from_str(&kept).expect("exact JSON");
    assert_eq!(parsed["jobs"].as_array().map(Vec::len), Some(1));
    assert!(!kept.contains("queue depth") && !kept.contains("\r\n"), "{kept}");
}

#[test]
fn a_report_in_a_file_is_left_as_the_user_wants_it() {
    needs!(beside: "fio", "mkfs.ext4", "losetup");
    let volume = ext4(512);
    let command = [
        "fio",
        "--name=a",
        "--rw=write",
        "--bs=64k",
        "--size=64m",
        "--filename=x",
        "--direct=1",
        "--output=report.txt",
    ];
    let run = verify(&volume, &[], &command);
    assert_claims(&run, "a-write", "confirmed");
    assert_rebuilt(&run, "a-write");
    let report = fs::read_to_string(volume.path().join("report.txt")).expect("the report");
    assert!(report.contains("write: IOPS=") && !report.contains("fio version"), "{report}");
    // The exact figures are stored with the run.
    assert_eq!(of_metric(&run, "a-write", "throughput")["printed"]["unit"], "bw_bytes", "{}", run.story());
}

#[test]
fn a_ramp_is_left_out_and_a_repeated_report_counts_once() {
    needs!(beside: "fio", "mkfs.ext4", "losetup");
    let volume = ext4(512);
    volume.lay_out("x", 64);
    let command = [
        "fio",
        "--name=a",
        "--rw=randread",
        "--bs=16k",
        "--size=64m",
        "--filename=x",
        "--direct=1",
        "--time_based",
        "--runtime=2",
        "--ramp_time=1",
        "--status-interval=1",
    ];
    let run = verify(&volume, &[], &command);
    assert_claims(&run, "a-read", "confirmed");
    let bytes = of_metric(&run, "a-read", "bytes-moved");
    let (claimed, observed) = (bytes["value"].as_f64(), bytes["observed"]["value"].as_f64());
    let (Some(claimed), Some(observed)) = (claimed, observed) else { panic!("{}", run.story()) };
    assert!((observed / claimed - 1.0).abs() < 0.01, "{observed} against {claimed}");
    let window = run.fact("a-read", "window_ns");
    assert!((1.9e9..2.2e9).contains(&window), "{window}");
}

#[test]
fn threads_and_processes_are_jobs() {
    needs!(beside: "fio", "mkfs.ext4", "losetup");
    let volume = ext4(1024);
    for more in [&["--thread"][..], &["--thread", "--group_reporting"], &["--group_reporting"], &[]] {
        let command = ["fio", "--name=a", "--rw=write", "--bs=64k", "--size=64m", "--numjobs=3", "--end_fsync=1"];
        let run = verify(&volume, &[], &[&command[..], more].concat());
        let together = more.contains(&"--group_reporting");
        let phases = if together { vec!["a-write"] } else { vec!["a.0-write", "a.1-write", "a.2-write"] };
        for phase in phases {
            assert_claims(&run, phase, "confirmed");
            assert_rebuilt(&run, phase);
            let tasks = if together { 3.0 } else { 1.0 };
            assert_eq!(run.fact(phase, "active_tasks"), tasks, "{more:?}: {}", run.story());
            assert_eq!(run.fact(phase, "write_bytes"), tasks * 64.0 * MIB);
        }
    }
}

#[test]
fn both_directions_of_a_mixed_job_are_phases() {
    needs!(beside: "fio", "mkfs.ext4", "losetup");
    let volume = ext4(512);
    volume.lay_out("x", 64);
    let command =
        ["fio", "--name=m", "--rw=randrw", "--rwmixread=70", "--bs=4k", "--size=64m", "--filename=x", "--direct=1"];
    let run = verify(&volume, &[], &command);
    for phase in ["m-read", "m-write"] {
        assert_claims(&run, phase, "confirmed");
        assert_rebuilt(&run, phase);
        assert!(!run.codes(phase).contains(&"AB401"), "{}", run.story());
    }
    let moved = run.fact("m-read", "read_bytes") + run.fact("m-write", "write_bytes");
    assert_eq!(moved, 64.0 * MIB);
}

#[test]
fn the_check_of_what_was_written_is_a_pass_of_its_own() {
    needs!(beside: "fio", "mkfs.ext4", "losetup");
    let volume = ext4(512);
    let command = [
        "fio",
        "--name=v",
        "--rw=write",
        "--bs=64k",
        "--size=128m",
        "--filename=x",
        "--verify=crc32c",
        "--end_fsync=1",
    ];
    let run = verify(&volume, &[], &command);
    for phase in ["v-write", "v-read"] {
        assert_rebuilt(&run, phase);
    }
    assert_claims(&run, "v-write", "confirmed");
    assert_eq!(run.fact("v-write", "read_bytes"), 0.0);
    assert_eq!(run.fact("v-read", "write_bytes"), 0.0);
}

#[test]
fn job_files_say_what_was_promised() {
    needs!(beside: "fio", "mkfs.ext4", "losetup");
    let volume = ext4(512);
    volume.lay_out("x", 64);
    let text = "[global]\nfilename=x\nsize=64m\nbs=64k\n[first]\nrw=randread\ndirect=1\n[second]\nstonewall\nrw=write\nend_fsync=1\n";
    fs::write(volume.path().join("jobs.fio"), text).expect("the job file");
    let run = verify(&volume, &[], &["fio", "jobs.fio"]);
    for phase in ["first-read", "second-write"] {
        assert_claims(&run, phase, "confirmed");
        assert_rebuilt(&run, phase);
    }
    assert_eq!(of_metric(&run, "second-write", "throughput")["subject"], "durable-write", "{}", run.story());
    assert!(run.report["questions"].to_string().contains("direct=1"), "{}", run.story());
}

#[test]
fn behind_a_shell_the_report_for_people_is_read() {
    needs!(beside: "fio", "mkfs.ext4", "losetup");
    let volume = ext4(512);
    let script = "fio --name=w --rw=write --bs=64k --size=128m --filename=x --end_fsync=1";
    let run = verify(&volume, &[], &["sh", "-c", script]);
    assert_claims(&run, "w-write", "confirmed");
    assert_eq!(run.fact("w-write", "write_bytes"), 128.0 * MIB);
    assert!(!run.stderr().contains("fio version"), "{}", run.stderr());
}

#[test]
fn jobs_that_nobody_can_read_again_leave_what_was_observed() {
    needs!(beside: "fio", "bash", "mkfs.ext4", "losetup");
    let volume = ext4(256);
    volume.lay_out("x", 64);
    let text = "[r]\nfilename=x\nsize=64m\nbs=64k\nrw=read\ndirect=1\n";
    for script in ["fio <(cat jobs.fio)", "cp jobs.fio copy.fio; fio copy.fio; rm copy.fio", "fio - < jobs.fio"] {
        fs::write(volume.path().join("jobs.fio"), text).expect("the job file");
        let run = verify(&volume, &[], &["bash", "-c", script]);
        assert_claims(&run, "r-read", "confirmed");
        assert_rebuilt(&run, "r-read");
        assert!(["verified", "qualified"].contains(&run.verdict()), "{script}: {}", run.story());
        // A file that a shell opened for fio is a file like any other.
        let is_known = script == "fio - < jobs.fio";
        assert_eq!(run.report.to_string().contains("was not kept"), !is_known, "{script}: {}", run.story());
    }
}

#[test]
fn the_io_of_a_server_is_not_the_clients() {
    needs!(beside: "fio", "mkfs.ext4", "losetup");
    let volume = ext4(256);
    volume.lay_out("x", 64);
    let text = "[r]\nfilename=x\nsize=64m\nbs=64k\nrw=read\ndirect=1\n";
    fs::write(volume.path().join("jobs.fio"), text).expect("the job file");
    let socket = volume.path().join("socket");
    let server = Command::new("fio")
        .arg(format!("--server=sock:{}", socket.display()))
        .current_dir(volume.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        // A group for the server and the process that it makes for a client.
        .process_group(0)
        .spawn();
    let mut server = server.expect("fio starts");
    let begun = Instant::now();
    while !socket.exists() && begun.elapsed() < Duration::from_secs(10) {
        std::thread::sleep(Duration::from_millis(10));
    }
    let client = format!("--client=sock:{}", socket.display());
    let run = verify(&volume, &[], &["fio", &client, "jobs.fio"]);
    let group = format!("-{}", server.id());
    let killed = Command::new("kill").args(["-KILL", "--", &group]).status().expect("kill starts");
    assert!(killed.success() && server.wait().is_ok());
    assert_eq!((run.verdict(), run.exit_code()), ("inconclusive", Some(3)), "{}", run.story());
    assert_claims(&run, "r-read", "unverifiable");
    assert!(run.codes("r-read").is_empty(), "{}", run.story());
    assert!(run.story().contains("is made by the fio server at sock:"), "{}", run.story());
}

#[test]
fn an_engine_that_does_nothing_is_refuted() {
    needs!(beside: "fio", "mkfs.ext4", "losetup");
    let volume = ext4(256);
    let run = verify(&volume, &[], &["fio", "--name=n", "--rw=read", "--bs=64k", "--size=64m", "--ioengine=null"]);
    assert_eq!(run.verdict(), "discrepancy", "{}", run.story());
    assert!(run.codes("n-read").contains(&"AB106"), "{}", run.story());
    assert_claims(&run, "n-read", "refuted");
}

#[test]
fn mapped_files_are_told_by_what_the_device_did_or_said_to_be_blind() {
    needs!(beside: "fio", "mkfs.ext4", "losetup");
    let volume = ext4(512);
    let command = ["fio", "--name=m", "--rw=write", "--bs=64k", "--size=64m", "--filename=x", "--ioengine=mmap"];
    let run = verify(&volume, &[], &command);
    assert!(run.codes("m-write").contains(&"AB301"), "{}", run.story());
    assert_eq!(run.claim_verdict("m-write"), "misleading", "{}", run.story());
    let synced = verify(&volume, &[], &[&command[..], &["--end_fsync=1"]].concat());
    assert_eq!(synced.claim_verdict("m-write"), "confirmed", "{}", synced.story());
    let mixed = [&command[..2], &["--rw=randrw"], &command[3..]].concat();
    let blind = verify(&volume, &[], &mixed);
    assert!(blind.codes("m-write").contains(&"AB901"), "{}", blind.story());
    assert_eq!(blind.claim_verdict("m-write"), "unverifiable", "{}", blind.story());
}

#[test]
fn files_that_are_created_are_counted() {
    needs!(beside: "fio", "mkfs.ext4", "losetup");
    let volume = ext4(256);
    let command = [
        "fio",
        "--name=c",
        "--ioengine=filecreate",
        "--fallocate=none",
        "--filesize=4k",
        "--nrfiles=500",
        "--openfiles=1",
    ];
    let run = verify(&volume, &[], &command);
    assert_eq!(run.fact("c-read", "name_calls"), 500.0, "{}", run.story());
    assert_eq!(of_metric(&run, "c-read", "operations-done")["verdict"], "confirmed", "{}", run.story());
}

#[test]
fn a_verification_that_fails_is_a_failed_run() {
    needs!(beside: "fio", "mkfs.ext4", "losetup");
    let volume = ext4(256);
    fs::write(volume.path().join("x"), vec![0_u8; 8 << 20]).expect("a file of zeros");
    let command = ["fio", "--name=v", "--rw=read", "--bs=64k", "--size=8m", "--filename=x", "--verify=crc32c"];
    let run = verify(&volume, &[], &command);
    assert_eq!((run.verdict(), run.exit_code()), ("failed", Some(4)), "{}", run.story());
}

#[test]
fn blocks_that_were_never_written_are_found() {
    needs!(beside: "fio", "mkfs.ext4", "losetup", "fallocate");
    let volume = ext4(512);
    volume.lay_out("half", 64);
    // The second half is allocated but unwritten, or a hole: neither has to be read.
    let grow = |name: &str| std::fs::OpenOptions::new().write(true).open(volume.path().join(name)).expect("it opens");
    grow("half").set_len(128 << 20).expect("it grows");
    let empty = std::process::Command::new("fallocate").args(["-l", "128M"]).arg(volume.path().join("empty")).status();
    assert!(empty.expect("fallocate runs").success());
    let read = |file: &str, more: &[&str]| {
        let name = format!("--filename={file}");
        let command = ["fio", "--name=a", "--rw=read", "--bs=64k", "--size=128m", name.as_str()];
        let run = verify(&volume, &[], &[&command[..], more].concat());
        run.assert_nothing_lost();
        assert!(run.codes("a-read").contains(&"AB207"), "{file} {more:?}: {}", run.story());
        assert_claims(&run, "a-read", "misleading");
        run
    };
    let run = read("half", &["--direct=1"]);
    assert_eq!(run.fact("a-read", "device_read_bytes"), 64.0 * MIB);
    read("half", &[]);
    let run = read("empty", &["--direct=1"]);
    assert!(run.codes("a-read").contains(&"AB106"), "{}", run.story());
    // Its honest twin: the same file, written.
    volume.lay_out("whole", 128);
    let command = ["fio", "--name=a", "--rw=read", "--bs=64k", "--size=128m", "--filename=whole", "--direct=1"];
    verify(&volume, &[], &command).assert_honest();
}

#[test]
fn a_control_group_that_throttles_is_found() {
    needs!(beside: "fio", "mkfs.ext4", "losetup", "sh");
    let volume = ext4(512);
    volume.lay_out("x", 64);
    let fio = "fio --name=a --rw=read --bs=1m --size=64m --filename=x --direct=1";
    let Some(group) = Throttled::reads(&volume, 32 << 20) else {
        activebench_e2e::skip("there is no blkio controller of version 1 here");
        return;
    };
    let run = verify(&volume, &[], &["sh", "-c", &group.join(fio)]);
    assert!(run.codes("a-read").contains(&"AB505"), "{}", run.story());
    assert_claims(&run, "a-read", "misleading");
    assert_eq!(run.limiter("a-read")["kind"], "throttling", "{}", run.limiter("a-read"));
    // Its honest twin: the same run outside of the group.
    verify(&volume, &[], &fio.split_whitespace().collect::<Vec<_>>()).assert_honest();
}

#[test]
fn streams_that_begin_at_one_offset_are_told_from_those_that_share_a_file() {
    needs!("fio", "mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 256, "noatime");
    let read = |more: &[&str]| {
        let common = ["fio", "--name=j", "--filename=f", "--rw=read", "--bs=64k", "--numjobs=4", "--size=16m"];
        let rest = ["--direct=1", "--group_reporting"];
        let command: Vec<&str> = common.iter().chain(&rest).chain(more).copied().collect();
        let run = verify(&volume, &[], &command);
        run.assert_nothing_lost();
        let phase = run.report["claims"][0]["phase"].as_str().expect("a phase").to_owned();
        (run.fact(&phase, "common_offsets_ratio"), run.fact(&phase, "equal_start_tasks"))
    };
    assert_eq!(read(&[]), (1.0, 4.0));
    assert_eq!(read(&["--offset_increment=16m"]), (0.0, 0.0));
    // Each job begins where half of the one before is still to come.
    assert_eq!(read(&["--offset_increment=8m"]), (0.6, 0.0));
}
