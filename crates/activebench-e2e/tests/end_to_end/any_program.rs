//! Programs that no adapter knows: their printed numbers are matched with their I/O, and judged.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use activebench_e2e::{Verified, Volume, needs, obstacle, recheck, verify};

/// Writes 512 MiB and prints the rate. With `plain` the line does not say `disk`. With `synced` an fsync is inside the time.
const PYTHON: &str = r#"
import os, sys, time
block = os.urandom(1 << 20)
fd = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
start = time.perf_counter()
for _ in range(512):
    os.write(fd, block)
if sys.argv[2] == "synced":
    os.fsync(fd)
seconds = time.perf_counter() - start
os.close(fd)
word = "write" if sys.argv[2] == "plain" else "disk write"
print(f"{word}: {512 / seconds:.2f} MiB/s")
"#;

/// Writes 32 MiB with `O_DIRECT` and reads half of the blocks twice, in C.
const C: &str = r#"
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + t.tv_nsec / 1e9; }
int main(int argc, char **argv) {
    enum { CALLS = 2048, BYTES = 16384 };
    char *buffer;
    if (argc < 2 || posix_memalign((void **)&buffer, 4096, BYTES)) return 1;
    for (int i = 0; i < BYTES; i++) buffer[i] = rand();
    int fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC | O_DIRECT, 0644);
    double start = now();
    for (int i = 0; i < CALLS; i++) if (write(fd, buffer, BYTES) != BYTES) return 1;
    fdatasync(fd);
    double seconds = now() - start;
    printf("write: IOPS=%.1f, BW=%.2fMiB/s\n", CALLS / seconds, CALLS / 64.0 / seconds);
    start = now();
    for (int i = 0; i < CALLS; i++) if (pread(fd, buffer, BYTES, (off_t)i * BYTES) != BYTES) return 1;
    seconds = now() - start;
    printf("read: %d ops, %.2f us/op\n", CALLS, seconds * 1e6 / CALLS);
    return 0;
}
"#;

fn python(volume: &Volume, end: &str, options: &[&str]) -> Verified {
    let program = volume.beside("speed.py");
    fs::write(&program, PYTHON).expect("the program");
    let file = volume.path().join("data");
    verify(volume, options, &["python3", program.to_str().expect("UTF-8"), file.to_str().expect("UTF-8"), end])
}

/// The claims as `metric direction: verdict`, the direction being the first word of the phase.
fn claims(run: &Verified) -> Vec<String> {
    let line = |claim: &serde_json::Value| {
        let text = |key: &str| claim[key].as_str().expect("text").to_owned();
        let phase = text("phase");
        let direction = phase.split('-').next().unwrap_or_default();
        format!("{} {direction}: {}", text("metric"), text("verdict"))
    };
    run.report["claims"].as_array().expect("claims").iter().map(line).collect()
}

#[test]
fn a_program_that_syncs_inside_its_time_is_confirmed_and_one_that_does_not_is_misleading() {
    needs!("python3", "mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 1024, "noatime");
    let honest = python(&volume, "synced", &[]);
    assert_eq!(claims(&honest), ["throughput write: confirmed"], "{}", honest.story());
    honest.assert_honest();
    let cached = python(&volume, "cached", &[]);
    assert_eq!(claims(&cached), ["throughput write: misleading"], "{}", cached.story());
    assert_eq!((cached.verdict(), cached.exit_code()), ("discrepancy", Some(1)), "{}", cached.story());
    // Nothing says what it is about: it is neither true of the disk nor an accusation.
    let plain = python(&volume, "plain", &[]);
    assert_eq!(claims(&plain), ["throughput write: unverifiable"], "{}", plain.story());
    assert_eq!((plain.verdict(), plain.exit_code()), ("inconclusive", Some(3)), "{}", plain.story());
    let said = plain.report["claims"][0]["honest_why"].as_str().expect("a reason");
    assert!(said.contains("page cache") && said.contains("--subject device"), "{said}");
    let severity = |run: &Verified| {
        let findings = run.report["findings"].as_array().expect("findings");
        findings.iter().find(|one| one["code"] == "AB301").expect("AB301")["severity"].clone()
    };
    assert_eq!((severity(&plain), severity(&cached)), ("warn".into(), "fail".into()));
    let of_the_disk = python(&volume, "plain", &["--subject", "device"]);
    assert_eq!(claims(&of_the_disk), ["throughput write: misleading"], "{}", of_the_disk.story());
    // It says `disk`; as a figure of the file system with its cache it is honest.
    let milder = python(&volume, "cached", &["--subject", "cached-filesystem"]);
    assert_eq!(claims(&milder), ["throughput write: confirmed"], "{}", milder.story());
}

/// Copies 256 MiB in the kernel, as `shutil.copyfile` does, and syncs the copy through another descriptor.
const COPY: &str = r#"
import os, shutil, sys, time
start = time.perf_counter()
shutil.copyfile(sys.argv[1], sys.argv[1] + ".copy")
if sys.argv[2] == "synced":
    fd = os.open(sys.argv[1] + ".copy", os.O_RDWR)
    os.fsync(fd)
    os.close(fd)
seconds = time.perf_counter() - start
print(f"copied 256 MiB in {seconds:.3f} s: {256 / seconds:.1f} MiB/s to disk")
"#;

#[test]
fn a_copy_in_the_kernel_is_judged_by_its_write() {
    needs!("python3", "mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 1024, "noatime");
    let program = volume.beside("copy.py");
    fs::write(&program, COPY).expect("the program");
    volume.lay_out("data", 256);
    let file = volume.path().join("data");
    let copied = |end: &str| {
        let (program, file) = (program.to_str().expect("UTF-8"), file.to_str().expect("UTF-8"));
        verify(&volume, &[], &["python3", program, file, end])
    };
    let honest = copied("synced");
    assert_eq!(claims(&honest), ["throughput write: confirmed"], "{}", honest.story());
    honest.assert_honest();
    let cached = copied("cached");
    assert_eq!(claims(&cached), ["throughput write: misleading"], "{}", cached.story());
}

/// Times a command from outside. The shell opens and closes the file that the command writes.
const SHELL: &str = r#"
start=$(date +%s%N)
eval "$1"
end=$(date +%s%N)
awk -v ns=$((end - start)) 'BEGIN { printf "disk write %.1f MiB/s (%.3f s)\n", 1536 / (ns / 1e9), ns / 1e9 }'
"#;

#[test]
fn a_script_that_times_a_command_from_outside_has_its_figure_judged() {
    needs!("sh", "awk", "mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 4096, "noatime");
    volume.lay_out("data", 1536);
    let timed = |shell: &str, command: &str| {
        let script = format!("cd {} || exit\n{SHELL}", volume.path().display());
        verify(&volume, &[], &[shell, "-c", &script, "script", command])
    };
    let why = |shell: &str, command: &str, run: &Verified| {
        format!("{shell} {command}: {}: {}", run.report["unmatched"], run.story())
    };
    // Long enough that the start of `date` is little of it.
    for (shell, command) in [("bash", "cp data copy"), ("sh", "cat data > copy")] {
        let honest = timed(shell, &format!("{command}; sync copy"));
        assert_eq!(claims(&honest), ["throughput write: confirmed"], "{}", why(shell, command, &honest));
        honest.assert_honest();
        let cached = timed(shell, command);
        assert_eq!(claims(&cached), ["throughput write: misleading"], "{}", why(shell, command, &cached));
    }
}

#[test]
fn a_statement_of_the_user_is_kept_for_a_recheck_and_a_bad_one_is_refused() {
    needs!("python3", "mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 1024, "noatime");
    let run = python(&volume, "synced", &["--claim", r"write=disk write: ([\d.]+) MiB/s"]);
    assert_eq!(claims(&run), ["throughput write: confirmed"], "{}", run.story());
    let why = run.report["claims"][0]["subject_reason"].as_str().expect("a reason");
    assert!(why.contains("`--claim` names it"), "{why}");
    let again = recheck(&run.run, &[]);
    assert_eq!(claims(&again), claims(&run));
    let other = python(&volume, "synced", &["--claim", r"read=disk write: ([\d.]+) MiB/s"]);
    assert_eq!((other.verdict(), other.exit_code()), ("inconclusive", Some(3)), "{}", other.story());
    assert_eq!(other.report["unmatched"]["numbers"][0]["is_stated"], true);
    for bad in ["write=(", r"speed=(\d+) MB/s", r"write=(\d+) apples"] {
        let refused = Command::new(activebench_e2e::binary())
            .args(["verify", "--claim", bad, "--", "true"])
            .output()
            .expect("it starts");
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(refused.status.code() == Some(2) && said.contains("hint"), "{bad}: {:?} {said}", refused.status);
    }
}

#[test]
fn a_compiled_program_has_each_of_its_figures_matched() {
    needs!("cc", "mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 512, "noatime");
    let source = volume.beside("speed.c");
    let program: PathBuf = volume.beside("speed");
    fs::write(&source, C).expect("the source");
    let built = Command::new("cc").arg("-O1").arg("-o").arg(&program).arg(&source).output().expect("cc starts");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let file = volume.path().join("data");
    let run = verify(&volume, &[], &[program.to_str().expect("UTF-8"), file.to_str().expect("UTF-8")]);
    let expected = [
        "operation-rate write: confirmed",
        "throughput write: confirmed",
        "operations-done read: confirmed",
        "time-per-operation read: confirmed",
    ];
    assert_eq!(claims(&run), expected, "{}", run.story());
    run.assert_honest();
    assert_eq!(run.report["unmatched"]["numbers"], serde_json::json!([]));
}

#[test]
fn a_program_without_numbers_is_inconclusive_and_names_the_next_step() {
    needs!(beside: "sh");
    let volume = Volume::tmpfs(16);
    let run = verify(&volume, &[], &["sh", "-c", "echo done > data; echo all is well"]);
    assert_eq!((run.verdict(), run.exit_code()), ("inconclusive", Some(3)), "{}", run.story());
    let text = fs::read_to_string(run.run.join("report.txt")).expect("report.txt");
    assert!(text.contains("--claim"), "{text}");
}

#[test]
fn known_tools_are_read_without_their_adapters() {
    needs!("mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 512, "noatime");
    let mut measured = 0;
    // ioping reads what dd wrote.
    for (program, argv) in [
        ("dd", &["dd", "if=/dev/zero", "of=data", "bs=1M", "count=64", "conv=fsync"][..]),
        (
            "fio",
            &["fio", "--name=job", "--rw=write", "--bs=64k", "--size=256m", "--end_fsync=1", "--output-format=normal"],
        ),
        ("fs_mark", &["fs_mark", "-d", ".", "-n", "500", "-s", "4096"]),
        ("ioping", &["ioping", "-q", "-c", "200", "-i", "0", "-D", "data"]),
    ] {
        if obstacle(&[program]).is_some() {
            continue;
        }
        measured += 1;
        let run = verify(&volume, &["--without-adapters"], argv);
        assert!(run.report["tool"]["adapter"].is_null(), "{}", run.story());
        assert_ne!(run.verdict(), "discrepancy", "{program} is honest: {}", run.story());
        assert!(!claims(&run).is_empty(), "{program}: {}", run.story());
        assert!(claims(&run).iter().all(|claim| !claim.ends_with("refuted")), "{}", run.story());
    }
    assert!(measured > 0, "dd is everywhere");
}
