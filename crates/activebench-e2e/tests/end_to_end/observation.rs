//! The observation itself: nothing lost, nothing invented, and what happens when a run goes wrong.

use std::collections::HashMap;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use activebench_e2e::{Volume, binary, needs, rows, verify};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

#[test]
fn every_call_of_every_class_is_seen_once_with_its_bytes_offset_and_file() {
    needs!("mkfs.ext4", "losetup");
    const COUNT: usize = 1000;
    const UNIT: usize = 4096;
    let volume = Volume::on_loop("ext4", 256, "noatime");
    let folder = volume.path();
    let program = binary();
    let (program, folder) = (program.to_str().expect("UTF-8"), folder.to_str().expect("UTF-8"));
    let run = verify(&volume, &[], &[program, "__workload", "calls", "--count", "1000", folder]);
    run.assert_nothing_lost();
    let names = run.rows("names");
    let calls = run.rows("calls");
    let file_of = |name: &str| -> (String, String) {
        let path = format!("{folder}/{name}");
        let opened = names.iter().find(|row| row["op"] == "open" && row["name"] == path && row["file_ino"] != "0");
        let opened = opened.unwrap_or_else(|| panic!("{name} was not seen to be opened"));
        (opened["file_s_dev"].clone(), opened["file_ino"].clone())
    };
    let of_file = |name: &str, op: &str| -> Vec<&HashMap<String, String>> {
        let (s_dev, ino) = file_of(name);
        calls.iter().filter(|row| row["op"] == op && row["file_s_dev"] == s_dev && row["file_ino"] == ino).collect()
    };

    // Calls that move data: count, requested bytes, returned bytes, and every offset in order.
    let moving = [
        ("read", "read"),
        ("write", "write"),
        ("pread", "pread"),
        ("pwrite", "pwrite"),
        ("readv", "readv"),
        ("writev", "writev"),
        ("preadv", "preadv"),
        ("pwritev", "pwritev"),
        ("preadv2", "preadv"),
        ("pwritev2", "pwritev"),
        ("pwritev2_dsync", "pwritev"),
        ("append", "write"),
    ];
    for (name, op) in moving {
        let found = of_file(name, op);
        assert_eq!(found.len(), COUNT, "{name}");
        for (index, row) in found.iter().enumerate() {
            let expected = [(UNIT).to_string(), (UNIT).to_string(), (index * UNIT).to_string()];
            assert_eq!([&row["requested"], &row["returned"], &row["offset"]], expected.each_ref(), "{name} {index}");
        }
    }
    // Flags of the call itself count as if the file had been opened with them.
    for (name, op, expected) in [
        ("pwritev2", "pwritev", &[][..]),
        ("pwritev2_dsync", "pwritev", &["dsync"]),
        ("uncollected", "aio_write", &["dsync"]),
        ("pwritev2_append", "pwritev", &["append"]),
    ] {
        let found = of_file(name, op);
        let flags = |row: &HashMap<String, String>| -> Vec<String> {
            let flags = row["open_flags"].split('+').filter(|flag| ["sync", "dsync", "append"].contains(flag));
            flags.map(str::to_owned).collect()
        };
        assert!(found.len() == COUNT && found.iter().all(|row| flags(row) == expected), "{name}: {op}");
    }
    // An append goes to the end of the file. Only the position shows that end, and a call at an offset does not move
    // it.
    let appended = of_file("pwritev2_append", "pwritev");
    let ends = (COUNT..2 * COUNT).map(|index| (index * UNIT).to_string());
    assert!(appended.iter().map(|row| row["offset"].clone()).eq(ends));
    let elsewhere = of_file("pwritev2_elsewhere", "pwritev");
    assert!(elsewhere.len() == COUNT && elsewhere.iter().all(|row| row["offset"].is_empty()));
    // Calls that do not move data: the count, by file.
    for (name, op, count) in [
        ("lseek", "lseek", COUNT),
        ("fsync", "fsync", COUNT),
        ("fdatasync", "fdatasync", COUNT),
        ("sync_file_range", "sync_file_range", COUNT),
        ("fadvise", "fadvise", COUNT),
        ("ftruncate", "ftruncate", COUNT + 1),
        ("fallocate", "fallocate", COUNT),
        ("dup", "dup", COUNT),
        ("dup", "close", COUNT + 1),
        ("mmap", "mmap", COUNT),
        ("write", "open", 1),
        ("write", "close", 1),
    ] {
        assert_eq!(of_file(name, op).len(), count, "{name}: {op}");
    }
    assert_eq!(calls.iter().filter(|row| row["op"] == "msync").count(), COUNT);
    assert_eq!(calls.iter().filter(|row| row["op"] == "msync_async").count(), COUNT);
    // Calls between two files: both sides, at given offsets and at the files' positions.
    for (name, op) in [
        ("sendfile", "sendfile"),
        ("target", "sendfile_to"),
        ("copy_file_range", "copy_file_range"),
        ("copy_at_position", "copy_file_range"),
    ] {
        let found = of_file(name, op);
        assert!(found.iter().all(|row| row["returned"] == UNIT.to_string()), "{name}: {op}");
        let offsets = found.iter().map(|row| row["offset"].parse::<usize>().expect("an offset"));
        assert!(offsets.eq((0..COUNT).map(|index| index * UNIT)), "{name}: {op}");
    }
    let copied: Vec<usize> = of_file("target_of_copies", "copy_file_range_to")
        .iter()
        .map(|row| row["offset"].parse().expect("an offset"))
        .collect();
    let (given, own) = copied.split_at(COUNT);
    assert!(given.iter().copied().eq((1..=COUNT).map(|index| index * UNIT)));
    assert!(own.iter().copied().eq((0..COUNT).map(|index| index * UNIT)));
    // No call collects these: the next submission proves all but the last, and the end of the run proves that one.
    let uncollected = of_file("uncollected", "aio_write");
    let mut offsets: Vec<usize> = uncollected.iter().map(|row| row["offset"].parse().expect("an offset")).collect();
    offsets.sort_unstable();
    assert!(offsets.iter().copied().eq((0..COUNT).map(|index| index * UNIT)), "{}", offsets.len());
    let manifest: Value =
        serde_json::from_slice(&std::fs::read(run.run.join("run.json")).expect("run.json")).expect("JSON");
    assert_eq!(manifest["coverage"]["records"]["calls"]["inferred"], COUNT);
    let unlinked = names.iter().filter(|row| row["op"] == "unlink" && row["name"].ends_with("/unlink"));
    assert_eq!(unlinked.count(), COUNT);
    // Every inserted page of the written files, once.
    let (s_dev, ino) = file_of("write");
    let cached = run.rows("cache");
    let inserted: usize = cached
        .iter()
        .filter(|row| row["file_s_dev"] == s_dev && row["file_ino"] == ino)
        .map(|row| row["bytes"].parse::<usize>().expect("bytes"))
        .sum();
    assert_eq!(inserted, COUNT * UNIT);
}

#[test]
fn records_that_find_no_room_are_counted_and_make_the_run_inconclusive() {
    needs!("iozone", "mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 1024, "noatime");
    let run = verify(&volume, &["--ring-kib", "4"], &["iozone", "-i0", "-e", "-c", "-s256m", "-r4k"]);
    let manifest: Value =
        serde_json::from_slice(&std::fs::read(run.run.join("run.json")).expect("run.json")).expect("JSON");
    let calls = &manifest["coverage"]["records"]["calls"];
    let number = |name: &str| calls[name].as_u64().expect("a count");
    assert!(number("lost") > 0, "a ring of a page loses records: {calls}");
    assert_eq!(number("received") + number("lost"), number("made"), "to the last record");
    assert_eq!((run.verdict(), run.exit_code()), ("inconclusive", Some(3)), "{}", run.story());
    assert_eq!(run.claim_verdict("write"), "unverifiable");
}

#[test]
fn recheck_gives_the_same_verdict_without_root() {
    needs!("iozone", "mkfs.ext4", "losetup", "setpriv");
    let volume = Volume::on_loop("ext4", 512, "noatime");
    let run = verify(&volume, &[], &["iozone", "-i0", "-i1", "-s128m", "-r64k"]);
    let public = PublicFolder::with_binary();
    public.add(&run.run);
    let stored = public.folder.path().join(run.run.file_name().expect("a name"));
    let output = public.as_nobody(&["recheck", "--format", "json", stored.to_str().expect("UTF-8")]);
    let report: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    for part in ["verdict", "exit_code", "claims", "findings", "phases"] {
        assert_eq!(report[part], run.report[part], "{part}");
    }
    assert_eq!(output.status.code(), run.exit_code());
}

#[test]
fn an_interrupted_run_keeps_what_was_gathered() {
    needs!("iozone", "mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 4096, "noatime");
    let run = volume.beside("interrupted");
    let child = Command::new(binary())
        .args(["verify", "--format", "json", "--out"])
        .arg(&run)
        .args(["--", "iozone", "-i0", "-i1", "-s3g", "-r4k"])
        .current_dir(volume.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    // Once the file exists and grows, the first pass is running.
    let file = volume.path().join("iozone.tmp");
    let begun = Instant::now();
    while std::fs::metadata(&file).map_or(0, |file| file.len()) < 64 << 20 {
        assert!(begun.elapsed() < Duration::from_secs(60), "iozone does not write");
        std::thread::sleep(Duration::from_millis(5));
    }
    kill_process(Pid::from_child(&child), Signal::INT).expect("it runs");
    // This reads the output: a report can be longer than a pipe holds.
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(130), "{}", String::from_utf8_lossy(&output.stderr));
    let manifest: Value =
        serde_json::from_slice(&std::fs::read(run.join("run.json")).expect("run.json")).expect("JSON");
    assert_eq!(manifest["child"]["stopped_by_us"], "interrupted");
    let written: u64 = rows(&run, "calls")
        .iter()
        .filter(|row| row["op"] == "write" && row["file_kind"] == "regular")
        .map(|row| row["returned"].parse::<u64>().unwrap_or(0))
        .sum();
    assert!(written >= 64 << 20, "{written} bytes of writes are in the record");
    assert!(!file.exists(), "iozone's own handler removed its file");
    assert!(run.join("report.json").exists());
}

#[test]
fn a_killed_benchmark_is_a_failed_one_and_its_record_is_whole() {
    needs!("mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 256, "noatime");
    let run = verify(&volume, &[], &["sh", "-c", "dd if=/dev/zero of=f bs=64k count=100 2>/dev/null; kill -9 $$"]);
    assert_eq!((run.verdict(), run.exit_code()), ("failed", Some(4)), "{}", run.story());
    run.assert_nothing_lost();
    let manifest: Value =
        serde_json::from_slice(&std::fs::read(run.run.join("run.json")).expect("run.json")).expect("JSON");
    assert_eq!(manifest["child"]["signal"], 9);
    let written = run
        .rows("calls")
        .iter()
        .filter(|row| row["op"] == "write" && row["file_kind"] == "regular" && row["returned"] == "65536")
        .count();
    assert_eq!(written, 100);
}

#[test]
fn a_benchmark_that_asks_at_the_terminal_is_ended_with_the_reason() {
    needs!(beside: "script", "mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 64, "noatime");
    let run = volume.beside("run");
    let inner = "dd if=/dev/zero of=f bs=64k count=10 2>&-; read answer";
    let verify = format!("{} verify --out {} -- sh -c '{inner}'", binary().display(), run.display());
    let mut command = Command::new("script");
    let output = command.args(["--quiet", "--return", "--command", &verify, "/dev/null"]).current_dir(volume.path());
    let output = output.output().expect("script runs");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("give it its input"), "{said}");
    let manifest = std::fs::read(run.join("run.json")).expect("run.json");
    let manifest: Value = serde_json::from_slice(&manifest).expect("JSON");
    assert_eq!(manifest["child"]["stopped_by_us"], "stopped at the terminal", "{manifest:#}");
}

#[test]
fn a_process_that_left_the_group_outlives_the_tool_and_not_the_end_of_the_run() {
    needs!(beside: "sh", "setsid", "kill", "mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 64, "noatime");
    let daemon = "setsid sh -c 'echo $$ >pid; sleep 1000; :' & until [ -s pid ]; do :; done";
    let pid = || std::fs::read_to_string(volume.path().join("pid")).expect("a process id").trim().to_owned();
    let lives = |pid: &str| std::path::Path::new("/proc").join(pid).exists();
    let run = verify(&volume, &[], &["sh", "-c", "sh -c 'echo $$ >pid; sleep 1000; :' & until [ -s pid ]; do :; done"]);
    assert!(!lives(&pid()), "a process of the group lives on: {}", run.stderr());
    std::fs::remove_file(volume.path().join("pid")).expect("a file");
    let run = verify(&volume, &[], &["sh", "-c", daemon]);
    assert!(run.stderr().contains("left the benchmark's group goes on"), "{}", run.stderr());
    assert!(lives(&pid()));
    // Its shell and what that waits for: the rest would keep the volume busy.
    let group = format!("-{}", pid());
    assert!(Command::new("kill").args(["--", &group]).status().is_ok_and(|status| status.success()));
    std::fs::remove_file(volume.path().join("pid")).expect("a file");
    let run = verify(&volume, &["--timeout", "2s"], &["sh", "-c", &format!("{daemon}; sleep 1000; :")]);
    assert_eq!(run.exit_code(), Some(3), "{}", run.story());
    assert!(!lives(&pid()), "{} lives on", pid());
}

/// Few descriptors cost nothing, because the observer makes room for its own; small files are an error that is told.
#[test]
fn limits_of_the_caller_are_kept_or_told() {
    needs!(beside: "sh", "fio", "mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 64, "noatime");
    let within = |limit: &str, out: &str, tool: &str| {
        let line = format!("ulimit {limit}; exec {} verify --quiet --out {out} -- {tool}", binary().display());
        let output = Command::new("sh").args(["-c", &line]).current_dir(volume.path()).output().expect("sh runs");
        let said = [output.stdout, output.stderr].map(|said| String::from_utf8_lossy(&said).into_owned()).concat();
        (output.status.code(), said)
    };
    let fio = "sh -c 'ulimit -n >limit; fio --name=a --rw=write --size=4m --end_fsync=1'";
    let (code, said) = within("-n 64", "few", fio);
    // Where the observer may not raise its own limit, nothing is run.
    match code {
        Some(5) => assert!(said.contains("(hint: `ulimit -n"), "{said}"),
        Some(0 | 1 | 3) => {
            let limit = std::fs::read_to_string(volume.path().join("limit")).expect("the benchmark's limit");
            assert_eq!(limit.trim(), "64");
        }
        other => panic!("{other:?}: {said}"),
    }
    let (code, said) = within("-S -n 64", "soft", fio);
    assert!(matches!(code, Some(0 | 1 | 3)), "{code:?}: {said}");
    let limit = std::fs::read_to_string(volume.path().join("limit")).expect("the benchmark's limit");
    assert_eq!(limit.trim(), "64");
    let (code, said) = within("-f 100", "small", "true");
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("File too large"), "{said}");
}

#[test]
fn a_full_disk_below_the_record_keeps_what_fits_and_says_so() {
    needs!("iozone", "mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 1024, "noatime");
    let small = Volume::tmpfs(1);
    let run = small.path().join("run");
    let output = Command::new(binary())
        .args(["verify", "--out"])
        .arg(&run)
        .args(["--", "iozone", "-i0", "-e", "-c", "-s512m", "-r4k"])
        .current_dir(volume.path())
        .output()
        .expect("the binary runs");
    assert_eq!(output.status.code(), Some(3), "{}", String::from_utf8_lossy(&output.stderr));
    let manifest: Value =
        serde_json::from_slice(&std::fs::read(run.join("run.json")).expect("run.json")).expect("JSON");
    let why = manifest["incomplete"].to_string();
    assert!(why.contains("No space left"), "{why}");
}

#[test]
fn mistakes_give_their_documented_exit_codes() {
    needs!("iozone", "mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 64, "noatime");
    let check = |arguments: &[&str], code: i32, words: &str| {
        let output = Command::new(binary()).args(arguments).current_dir(volume.path()).output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
        assert!(said.contains(words), "{arguments:?} says: {said}");
    };
    check(&["verify"], 2, "COMMAND");
    check(&["verify", "--", "no-such-benchmark"], 4, "no such program");
    check(&["verify", "--format", "papyrus", "--", "true"], 2, "no format");
    check(&["verify", "--suppress", "AB601", "--", "true"], 2, "reason");
    check(&["recheck", "."], 2, "not a run directory");
    check(&["explain", "AB000"], 2, "no detector");
    check(&["verify", "--", "iozone", "-i0", "-s1m", "-f", "/no/such/folder/file"], 4, "");
}

#[test]
fn kernel_programs_that_are_asked_for_and_not_permitted_run_nothing_and_the_remedy_is_named() {
    needs!("setpriv");
    let public = PublicFolder::with_binary();
    let out = public.folder.path().join("open");
    std::fs::create_dir(&out).expect("a folder");
    std::fs::set_permissions(&out, std::os::unix::fs::PermissionsExt::from_mode(0o777)).expect("permissions");
    let (run, ran) = (out.join("run"), out.join("ran"));
    let text = |path: &std::path::Path| path.to_str().expect("UTF-8").to_owned();
    let output = public.as_nobody(&["verify", "--backend", "bpf", "--out", &text(&run), "--", "touch", &text(&ran)]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(5), "{said}");
    assert!(said.contains("hint"), "{said}");
    assert!(!ran.exists(), "the tool was run although nothing could be observed");
    assert!(!run.exists(), "an empty run directory was left");
}

/// A folder that every user can read, with the binary in it.
struct PublicFolder {
    folder: tempfile::TempDir,
}

impl PublicFolder {
    fn with_binary() -> Self {
        let public = Self { folder: tempfile::TempDir::with_prefix("activebench-public-").expect("a folder") };
        public.add(&binary());
        public
    }

    fn add(&self, path: &std::path::Path) {
        for (program, option) in [("cp", "-r"), ("chmod", "-R")] {
            let mut command = Command::new(program);
            command.arg(option);
            match program {
                "cp" => command.arg(path),
                _ => command.arg("a+rX"),
            };
            assert!(command.arg(self.folder.path()).status().expect("it runs").success(), "{program}");
        }
    }

    /// Runs the binary as a user without rights.
    fn as_nobody(&self, arguments: &[&str]) -> std::process::Output {
        Command::new("setpriv")
            .args(["--reuid=65534", "--regid=65534", "--clear-groups", "--bounding-set=-all"])
            .arg(self.folder.path().join("activebench"))
            .args(arguments)
            .current_dir(self.folder.path())
            .output()
            .expect("setpriv runs")
    }
}

#[test]
fn a_tool_without_adapter_gives_evidence_and_no_claims() {
    needs!("mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 256, "noatime");
    let run = verify(&volume, &[], &["sh", "-c", "head -c 64M /dev/zero > f && sync f"]);
    assert_eq!(run.report["claims"].as_array().map(Vec::len), Some(0));
    let phases = run.report["phases"].as_array().expect("phases");
    let written: f64 = phases.iter().filter_map(|phase| phase["facts"]["write_bytes"]["value"].as_f64()).sum();
    assert_eq!(written, 64.0 * 1024.0 * 1024.0, "{}", run.story());
}
