//! Observing by a tracer (`--backend trace`): as root, and as a user without any right.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use activebench_e2e::{Verified, Volume, binary, needs, verify, verify_in};
use serde_json::Value;

/// Options that choose the tracer.
const TRACED: [&str; 2] = ["--backend", "trace"];
const MIB: f64 = 1024.0 * 1024.0;

fn fact<'a>(run: &'a Value, phase: &str, name: &str) -> &'a Value {
    let phases = run["phases"].as_array().expect("phases");
    let phase = phases.iter().find(|one| one["id"] == phase).unwrap_or_else(|| panic!("no phase {phase}: {phases:#?}"));
    &phase["facts"][name]
}

fn fires(run: &Value, code: &str) -> bool {
    let findings = run["findings"].as_array().expect("findings");
    findings.iter().any(|finding| finding["code"] == code && finding["outcome"] == "fires")
}

#[track_caller]
fn is_whole(run: &Verified) {
    assert_eq!(run.report["coverage"]["backend"], "ptrace", "{}", run.story());
    for class in ["calls", "names", "tasks"] {
        let account = &run.report["coverage"]["lost"][class];
        assert!(account["made"].as_u64() > Some(0), "{class}: {}", run.story());
        assert_eq!((&account["made"], &account["lost"]), (&account["received"], &0.into()), "{class}: {}", run.story());
    }
}

#[test]
fn a_tracer_finds_what_iozone_leaves_out_of_its_clock_and_what_it_reads_from_memory() {
    needs!("iozone", "mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 256, "noatime");
    let run = verify(&volume, &TRACED, &["iozone", "-i0", "-i1", "-s", "32m", "-r", "1m", "-f", "f"]);
    is_whole(&run);
    assert!(fires(&run.report, "AB302") && fires(&run.report, "AB201"), "{}", run.story());
    for (phase, name, bytes) in [("write", "write_bytes", 32.0 * MIB), ("read", "read_bytes", 32.0 * MIB)] {
        assert_eq!(fact(&run.report, phase, name)["value"], bytes, "{phase}: {}", run.story());
        assert_eq!(fact(&run.report, phase, name)["source"], "ptrace, LD_PRELOAD");
    }
    let stored = fact(&run.report, "read", "storage_read_bytes");
    assert!(stored["value"].as_f64().is_some_and(|bytes| bytes < MIB), "{stored}");
    // What it cannot know is missing, and never 0.
    for name in ["device_read_bytes", "cache_inserted_bytes", "user_cpu_ns", "kernel_cpu_ns", "direct_cached_bytes"] {
        let fact = fact(&run.report, "read", name);
        assert!(fact["value"].is_null() && fact["completeness"]["state"] == "missing", "{name}: {fact}");
    }
}

#[test]
fn threads_forked_jobs_and_asynchronous_requests_are_followed_to_the_byte() {
    needs!("fio", "mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 256, "noatime");
    let jobs = ["--name=a", "--size=8m", "--bs=64k", "--rw=randread", "--direct=1", "--numjobs=2", "--filename=f"];
    for engine in [&["--ioengine=psync", "--thread"][..], &["--ioengine=sync"], &["--ioengine=libaio", "--iodepth=4"]] {
        let run = verify(&volume, &TRACED, &[&["fio"][..], &jobs, engine].concat());
        is_whole(&run);
        for phase in ["a.0-read", "a.1-read"] {
            assert_eq!(fact(&run.report, phase, "read_bytes")["value"], 8.0 * MIB, "{engine:?}: {}", run.story());
            let stored = fact(&run.report, phase, "storage_read_bytes");
            assert_eq!(stored["value"], 8.0 * MIB, "{engine:?} {phase}: {}", run.story());
            assert_eq!(stored["source"], "/proc/PID/task/TID/io");
        }
        assert!(!fires(&run.report, "AB901") && !fires(&run.report, "AB902"), "{engine:?}: {}", run.story());
    }
}

#[test]
fn direct_reads_of_holes_get_nothing_from_storage() {
    needs!("fio", "mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 256, "noatime");
    std::fs::File::create(volume.path().join("f")).and_then(|file| file.set_len(16 << 20)).expect("a file of holes");
    let command = [
        "fio",
        "--name=a",
        "--size=16m",
        "--bs=64k",
        "--rw=read",
        "--direct=1",
        "--allow_file_create=0",
        "--filename=f",
    ];
    let run = verify(&volume, &TRACED, &command);
    assert!(fires(&run.report, "AB106"), "{}", run.story());
}

#[test]
fn a_ring_of_io_uring_is_a_blind_path() {
    needs!("fio", "mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 256, "noatime");
    let command = ["fio", "--name=a", "--size=8m", "--bs=64k", "--rw=randread", "--ioengine=io_uring", "--filename=f"];
    let run = verify(&volume, &TRACED, &command);
    assert!(!fires(&run.report, "AB901"), "{}", run.story());
    let findings = run.report["findings"].as_array().expect("findings");
    let of_run = |finding: &&Value| finding["code"] == "AB901" && finding["phase"].is_null();
    let open = findings.iter().find(of_run).filter(|finding| finding["outcome"] == "undecided");
    let why = open.and_then(|finding| finding["message"].as_str()).unwrap_or_default();
    assert!(why.contains("io_uring") && why.contains("CAP_BPF"), "{}", run.story());
    assert_eq!(run.report["verdict"], "inconclusive", "{}", run.story());
}

/// A folder in which everybody may write, with the binary in it.
struct Public(tempfile::TempDir);

impl Public {
    fn new() -> Self {
        let folder = tempfile::TempDir::with_prefix("activebench-traced-").expect("a folder");
        let mode = |path: &Path, mode| {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("permissions");
        };
        let own = folder.path().join("activebench");
        std::fs::copy(binary(), &own).expect("a copy");
        mode(&own, 0o755);
        mode(folder.path(), 0o777);
        Self(folder)
    }

    /// Runs the binary as a user without rights and without a way to get any.
    fn as_nobody(&self, arguments: &[&str]) -> Output {
        Command::new("setpriv")
            .args(["--reuid=65534", "--regid=65534", "--clear-groups", "--bounding-set=-all", "--no-new-privs"])
            .arg(self.0.path().join("activebench"))
            .args(arguments)
            .env("HOME", self.0.path())
            .current_dir(self.0.path())
            .output()
            .expect("setpriv runs")
    }
}

#[test]
fn a_user_without_rights_is_observed_by_a_tracer_and_told_so() {
    needs!("iozone", "setpriv");
    let public = Public::new();
    let output = public.as_nobody(&["verify", "--out", "run", "--", "iozone", "-i0", "-i1", "-s8m", "-r1m", "-f", "f"]);
    let (said, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(1), "{said}\n{errors}");
    assert!(errors.contains("observing without rights (backend trace)"), "{errors}");
    assert!(said.contains("without rights") && said.contains("AB302"), "{said}");
    let rechecked = public.as_nobody(&["recheck", "--format", "json", "run"]);
    let report: Value = serde_json::from_slice(&rechecked.stdout).expect("a report");
    assert_eq!((&report["coverage"]["backend"], &report["verdict"]), (&"ptrace".into(), &"discrepancy".into()));
}

#[test]
fn what_a_traced_run_cannot_do_is_refused_before_it_starts() {
    needs!("setpriv");
    let public = Public::new();
    let output = public.as_nobody(&[
        "verify",
        "--backend",
        "trace",
        "--allow-new-privileges",
        "--out",
        "run",
        "--",
        "touch",
        "ran",
    ]);
    assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(!public.0.path().join("ran").exists() && !public.0.path().join("run").exists());
}

#[test]
fn commands_that_need_confirmed_rates_or_strangers_name_the_right_that_they_lack() {
    needs!("fio", "setpriv");
    let public = Public::new();
    let mut sleeping = Command::new("setpriv").args(["--reuid=65534", "sleep", "60"]).spawn().expect("sleep starts");
    let pid = sleeping.id().to_string();
    for (arguments, says) in
        [(&["check", "."][..], "it confirms no rate"), (&["watch", "--pid", &pid], "follows only what it starts")]
    {
        let output = public.as_nobody(arguments);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(5), "{arguments:?}: {errors}");
        assert!(errors.contains("CAP_BPF") && errors.contains(says), "{arguments:?}: {errors}");
    }
    sleeping.kill().and_then(|()| sleeping.wait()).expect("it ends");
}

#[test]
fn counters_of_the_device_show_what_never_reached_it_and_accuse_no_flush() {
    needs!("fio", "mkfs.ext4", "losetup");
    let command = ["fio", "--name=a", "--rw=write", "--bs=64k", "--size=16m", "--end_fsync=1", "--filename=f"];
    for (barrier, flushes) in [("nobarrier", false), ("barrier", true)] {
        let volume = Volume::on_loop("ext4", 256, barrier);
        let run = verify(&volume, &TRACED, &command);
        let at_most = fact(&run.report, "a-write", "flushes_at_most");
        assert_eq!(at_most["value"].as_f64().map(|count| count > 0.0), Some(flushes), "{}", run.story());
        assert_eq!(fires(&run.report, "AB303"), !flushes, "{}", run.story());
        let written = fact(&run.report, "a-write", "device_write_until_durable_at_most_bytes");
        assert!(written["value"].as_f64() >= Some(16.0 * MIB), "{written}");
        assert!(fact(&run.report, "a-write", "flushes")["value"].is_null(), "{}", run.story());
    }
}

#[test]
fn a_traced_rate_is_never_confirmed() {
    needs!("fio", "mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 256, "noatime");
    let command = ["fio", "--name=a", "--rw=read", "--bs=1m", "--size=16m", "--filename=f"];
    for subject in ["cached-filesystem", "device"] {
        let run = verify(&volume, &[&TRACED[..], &["--subject", subject]].concat(), &command);
        let claims = run.report["claims"].as_array().expect("claims");
        let of = |metric: &str| claims.iter().find(|claim| claim["metric"] == metric).expect("a claim");
        assert_ne!(of("throughput")["verdict"], "confirmed", "{subject}: {}", run.story());
        assert_eq!(of("bytes-moved")["verdict"], "confirmed", "{subject}: {}", run.story());
    }
}

#[test]
fn a_traced_tool_gets_its_signals_its_exit_code_and_its_children() {
    // The inner shell stops itself until another one lets it go on. A tracer stops it too, so its state does not tell when,
    // and it is told again and again.
    let script = "trap 'echo caught' USR1; kill -USR1 $$; sh -c 'kill -STOP $$; exit 5' & inner=$!; \
                  (while sleep 0.1; do kill -CONT $inner; done) 2>/dev/null & other=$!; \
                  wait $inner; code=$?; kill $other; exit $((code + 2))";
    let folder = tempfile::tempdir().expect("a folder");
    let run = verify_in(folder.path(), folder.path().join("run"), &TRACED, &["sh", "-c", script]);
    // 5 of the inner shell, and 2 more.
    assert_eq!(run.report["run"]["child"]["exit_code"], 7, "{}", run.story());
    assert!(
        String::from_utf8_lossy(&run.output.stdout).contains("caught")
            || String::from_utf8_lossy(&run.output.stderr).contains("caught"),
        "{}",
        run.story()
    );
}
