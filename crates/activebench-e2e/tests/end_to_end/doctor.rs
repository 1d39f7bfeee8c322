//! `activebench doctor` on this machine: as root, without rights, and beside another tracer.

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use activebench_e2e::{Volume, binary, needs, verify};
use serde_json::Value;

/// User id without rights; every system has it.
const NOBODY: u32 = 65_534;

struct Diagnosed {
    output: Output,
    report: Value,
}

impl Diagnosed {
    fn of(mut command: Command) -> Self {
        let output = command.args(["--format", "json"]).output().expect("the binary runs");
        let report = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
        Self { output, report }
    }

    fn checks(&self, group: &str) -> Vec<&Value> {
        let checks = self.report["checks"].as_array().expect("checks");
        checks.iter().filter(|check| check["group"] == group).collect()
    }

    fn check(&self, group: &str, name: &str) -> &Value {
        let found = self.checks(group).into_iter().find(|check| check["name"] == name);
        found.unwrap_or_else(|| panic!("no {name} in {:#}", self.report))
    }
}

fn doctor(program: &Path, path: &Path) -> Command {
    let mut command = Command::new(program);
    command.arg("doctor").arg(path);
    command
}

#[test]
fn root_can_observe_here_and_every_line_says_what_it_means() {
    needs!("mkfs.ext4", "losetup", "iozone");
    let volume = Volume::on_loop("ext4", 64, "noatime");
    let diagnosed = Diagnosed::of(doctor(&binary(), &volume.path()));
    assert_eq!(diagnosed.output.status.code(), Some(0), "{:#}", diagnosed.report);
    assert_eq!(diagnosed.report["schema"], "activebench.doctor/1");
    assert_eq!(diagnosed.report["can_observe"], true);
    for check in diagnosed.report["checks"].as_array().expect("checks") {
        for part in ["found", "meaning"] {
            assert!(check[part].as_str().is_some_and(|text| !text.is_empty()), "{check}");
        }
        let mended = !check["command"].is_null() || !check["advice"].is_null();
        assert!(check["state"] != "gap" || mended, "a gap without a way to fix it: {check}");
    }
    for name in ["sys_enter", "sys_exit", "block_rq_complete", "mm_filemap_add_to_page_cache"] {
        assert_eq!(diagnosed.check("tracepoints", name)["found"], "attached");
    }
    let device = volume.device().expect("a loop device").trim_start_matches("/dev/");
    assert_eq!(diagnosed.check("storage", &format!("I/O of {device}"))["state"], "ok");
    assert_eq!(diagnosed.check("benchmarks", "iozone")["state"], "ok");

    // The same as text, without colours because the output is not a terminal.
    let output = doctor(&binary(), &volume.path()).output().expect("the binary runs");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(text.starts_with("activebench can observe here"), "{text}");
    assert!(!text.contains('\x1b'), "{text}");
}

#[test]
fn memory_is_said_to_be_no_device() {
    needs!();
    let volume = Volume::tmpfs(16);
    let diagnosed = Diagnosed::of(doctor(&binary(), &volume.path()));
    let devices = diagnosed.check("storage", "devices");
    assert_eq!((devices["state"].as_str(), diagnosed.output.status.code()), (Some("never"), Some(0)), "{devices}");
    assert!(devices["meaning"].as_str().is_some_and(|meaning| meaning.contains("AB106")), "{devices}");
}

#[test]
fn nobody_cannot_observe_and_learns_the_command_that_mends_it() {
    needs!();
    // The build's own folder may be closed to other users.
    let folder = tempfile::tempdir().expect("a temporary folder");
    let program = folder.path().join("activebench");
    std::fs::copy(binary(), &program).expect("a copy");
    for path in [folder.path(), &program] {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(path, mode).expect("its mode");
    }
    let mut command = doctor(&program, Path::new("/"));
    command.uid(NOBODY).gid(NOBODY).current_dir("/");
    let diagnosed = Diagnosed::of(command);
    assert_eq!(diagnosed.output.status.code(), Some(5), "{:#}", diagnosed.report);
    assert_eq!(diagnosed.report["can_observe"], false);
    let why = diagnosed.report["why_not"].as_str().unwrap_or("");
    assert!(why.contains("cannot load the kernel programs"), "{why}");
    let rights = diagnosed.check("rights", "capabilities");
    let command = rights["command"].as_str().unwrap_or("");
    assert!(command.starts_with("sudo setcap cap_bpf,cap_perfmon"), "{rights}");
    assert!(command.ends_with(program.to_str().expect("UTF-8")), "{rights}");
    // Checks that need no rights still have an answer.
    assert_eq!(diagnosed.check("tracepoints", "sys_enter")["state"], "ok");
    assert_eq!(diagnosed.check("other-tracers", "BPF programs")["state"], "gap");
}

#[test]
fn a_path_that_is_not_there_is_wrong_usage() {
    needs!();
    let output = doctor(&binary(), Path::new("/nonexistent/place")).output().expect("the binary runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("cannot look at /nonexistent/place"), "{said}");
}

/// A bpftrace that counts completions; ended when dropped.
struct Bpftrace(Child);

impl Bpftrace {
    fn on_block_rq_complete() -> Self {
        // bpftrace finds tracepoints in tracefs, which is not mounted on every machine. A mount in a namespace of its
        // own changes nothing for others. `exec` keeps the process.
        let script = "mount -t tracefs tracefs /sys/kernel/tracing; exec bpftrace -e \"$1\"";
        let mut child = Command::new("unshare")
            .args(["--mount", "sh", "-c", script, "sh", "tracepoint:block:block_rq_complete { @ = count(); }"])
            .stdout(Stdio::piped())
            .spawn()
            .expect("bpftrace starts");
        // bpftrace prints "Attaching 1 probe..." before it attaches; only the kernel knows when it has attached.
        let mut first = [0_u8];
        child.stdout.as_mut().expect("a pipe").read_exact(&mut first).expect("bpftrace speaks");
        Self(child)
    }
}

impl Drop for Bpftrace {
    fn drop(&mut self) {
        if let Err(error) = self.0.kill().and_then(|()| self.0.wait()) {
            eprintln!("cleaning up: bpftrace: {error}");
        }
    }
}

#[test]
fn a_forgotten_bpftrace_is_named_by_the_doctor_and_in_the_report() {
    needs!("bpftrace", "unshare", "mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 64, "noatime");
    let tracer = Bpftrace::on_block_rq_complete();
    let pid = tracer.0.id();
    let is_it = |check: &&Value| check["command"] == format!("sudo kill -INT {pid}");
    let deadline = Instant::now() + Duration::from_secs(20);
    let found = loop {
        let diagnosed = Diagnosed::of(doctor(&binary(), &volume.path()));
        if let Some(check) = diagnosed.checks("other-tracers").into_iter().find(is_it) {
            break check.clone();
        }
        assert!(Instant::now() < deadline, "{:#}", diagnosed.report);
    };
    assert_eq!((found["name"].as_str(), found["state"].as_str()), (Some("block_rq_complete"), Some("gap")));
    assert!(found["found"].as_str().is_some_and(|text| text.contains("of bpftrace")), "{found}");

    let run = verify(&volume, &[], &["dd", "if=/dev/zero", "of=f", "bs=64k", "count=16"]);
    let tracers = run.report["coverage"]["other_tracers"].as_array().expect("they were looked for").clone();
    let of_ours: Vec<&Value> = tracers.iter().filter(|tracer| tracer["pid"] == pid).collect();
    assert_eq!(of_ours.len(), 1, "{tracers:#?}");
    assert_eq!(of_ours[0]["hook"], "tracepoint/block_rq_complete");
    assert_eq!(of_ours[0]["comm"], "bpftrace");
    let findings = run.report["findings"].as_array().expect("findings");
    let noted = findings.iter().any(|finding| {
        finding["code"] == "AB903"
            && finding["outcome"] == "fires"
            && finding["message"].as_str().is_some_and(|message| message.contains(&format!("pid {pid}")))
    });
    assert!(noted, "{}", run.story());
    drop(tracer);

    let run = verify(&volume, &[], &["dd", "if=/dev/zero", "of=f", "bs=64k", "count=16"]);
    let tracers = run.report["coverage"]["other_tracers"].as_array().expect("they were looked for").clone();
    assert!(tracers.iter().all(|tracer| tracer["pid"] != pid), "{tracers:#?}");
}
