//! Other activity on the machine: each disturbance is made, and the same run is repeated without it.
//!
//! The machine may be busy on its own. Where only quiet could be asserted, the tests compare with the kernel's
//! counters.

use std::collections::HashMap;
use std::path::PathBuf;
use std::process::{Child, Command};

use activebench_e2e::{Verified, Volume, binary, needs, rows, skip, verify};
use serde_json::Value;

const MIB: f64 = 1_048_576.0;

/// A process that ends when this value is dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        if let Err(error) = self.0.kill().and_then(|()| self.0.wait().map(drop)) {
            eprintln!("cleaning up: {error}");
        }
    }
}

/// The findings of a detector on a phase.
fn findings<'r>(run: &'r Verified, code: &str, phase: &str) -> Vec<&'r Value> {
    let all = run.report["findings"].as_array().map_or(&[][..], Vec::as_slice);
    all.iter().filter(|finding| finding["code"] == code && finding["phase"] == phase).collect()
}

/// Returns the time that a phase's threads waited for a CPU, as a share of their time.
fn waited(run: &Verified, phase: &str) -> f64 {
    let facts = ["user_cpu_ns", "kernel_cpu_ns", "off_cpu_ns"];
    run.fact(phase, "preempted_ns") / facts.map(|name| run.fact(phase, name)).iter().sum::<f64>()
}

/// Asserts that `recheck`, as on another machine, finds the same from the run directory alone.
fn assert_rechecked(run: &Verified) {
    let output = Command::new(binary()).args(["recheck", "--format", "json"]).arg(&run.run).output();
    let again: Value = serde_json::from_slice(&output.expect("the binary runs").stdout).expect("a report");
    assert_eq!(again["findings"], run.report["findings"]);
}

#[test]
fn a_processor_shared_with_others_is_found() {
    needs!("iozone", "mkfs.ext4", "losetup", "taskset", "chrt", "sh");
    let volume = Volume::on_loop("ext4", 512, "noatime");
    // One task writes into memory: a pass that needs its CPU all the time.
    let iozone = ["iozone", "-i0", "-s256m", "-r4k", "-e", "-c", "-f", "x"];
    let pinned = |before: &[&'static str]| [&["taskset", "-c", "1"][..], before, &iozone[..]].concat();
    let hog = Command::new("taskset").args(["-c", "1", "sh", "-c", "while :; do :; done"]).spawn();
    let hog = Running(hog.expect("a hog runs"));
    let disturbed = verify(&volume, &[], &pinned(&[]));
    drop(hog);
    assert!(disturbed.codes("write").contains(&"AB602"), "{}", disturbed.story());
    assert!(waited(&disturbed, "write") > 0.15, "{}", waited(&disturbed, "write"));
    assert_rechecked(&disturbed);
    // Its honest twin has priority on the CPU over all others.
    let alone = verify(&volume, &[], &pinned(&["chrt", "--fifo", "50"]));
    assert!(waited(&alone, "write") < 0.05, "{}", waited(&alone, "write"));
    for finding in findings(&alone, "AB602", "write") {
        let message = finding["message"].as_str().unwrap_or("");
        assert!(!message.contains("waited for a CPU"), "{finding}");
    }
}

/// Moves the system clock by a number of seconds. Returns `false` if that is not permitted.
fn set_clock_by(seconds: i32) -> bool {
    let words = format!("{seconds} seconds");
    Command::new("date").args(["--set", &words]).output().is_ok_and(|output| output.status.success())
}

/// The system clock, three seconds ahead of the time until this value is dropped.
struct ClockAhead;

impl Drop for ClockAhead {
    fn drop(&mut self) {
        assert!(set_clock_by(-3), "the system clock stays three seconds ahead");
    }
}

/// iozone takes the time from the system clock.
#[test]
fn a_system_clock_that_is_set_during_a_pass_is_named_and_the_tool_is_not_accused() {
    needs!("iozone", "mkfs.ext4", "losetup", "sh", "date");
    if !set_clock_by(0) {
        return skip("the system clock cannot be set here");
    }
    let volume = Volume::on_loop("ext4", 512, "noatime");
    let script = "iozone -i0 -i1 -e -c -I -r4k -s96m -f x & \
                  until [ -s x ]; do sleep 0.05; done; sleep 0.4; date --set '3 seconds' >/dev/null; wait $!";
    let run = {
        let _ahead = ClockAhead;
        verify(&volume, &[], &["sh", "-c", script])
    };
    let changed = findings(&run, "AB607", "write");
    assert!(changed.iter().any(|finding| finding["severity"] == "warn"), "{}", run.story());
    assert!((2.9e9..3.2e9).contains(&run.fact("write", "wall_clock_jumps_ns")), "{}", run.story());
    assert_eq!(run.fact("write", "suspended_ns"), 0.0);
    assert_eq!(run.claim_verdict("write"), "unverifiable", "{}", run.story());
    // The passes after it are judged as ever.
    assert_eq!(run.fact("read", "wall_clock_jumps_ns"), 0.0);
    assert_eq!(run.claim_verdict("read"), "confirmed", "{}", run.story());
    assert_eq!(run.exit_code(), Some(3), "{}", run.story());
    assert_rechecked(&run);
}

/// Ctrl-Z in the user's shell stops activebench and the benchmark, and `fg` lets both go on.
#[test]
fn a_run_that_its_user_suspends_goes_on_and_the_stop_is_recorded() {
    needs!("dd", "mkfs.ext4", "losetup", "bash", "script");
    let volume = Volume::on_loop("ext4", 64, "noatime");
    let run = volume.beside("run");
    let (binary, out) = (binary(), run.display());
    let tool = "for i in 1 2 3 4; do dd if=/dev/zero of=f bs=4k count=100 oflag=direct; sleep 0.5; done 2>&-";
    let shell = format!(
        "set -m\n{} verify --out {out} -- sh -c '{tool}' &\nuntil [ -s f ]; do sleep 0.05; done\nkill -TSTP $!\n\
         until grep 'State:.T' /proc/$!/status; do sleep 0.05; done\nsleep 1\nfg\n",
        binary.display()
    );
    std::fs::write(volume.path().join("shell"), shell).expect("a script");
    let mut script = Command::new("script");
    let script = script.args(["--quiet", "--return", "--command", "bash shell", "/dev/null"]);
    let output = script.current_dir(volume.path()).output().expect("script runs");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    // No adapter knows dd.
    assert_eq!(output.status.code(), Some(3), "{said}");
    let stopped = |row: &HashMap<String, String>| row["state"] == "stopped";
    let length = |row: HashMap<String, String>| {
        let at = |name: &str| row[name].parse::<u64>().expect("a time");
        at("at_ns") - at("since_ns")
    };
    let longest = rows(&run, "cpu").into_iter().filter(stopped).map(length).max();
    assert!(longest.is_some_and(|ns| ns >= 1_000_000_000), "{longest:?} {said}");
}

/// The lie and its twin are in the corpus (AB608); here the tool ends while it is stopped.
#[test]
fn a_benchmark_that_is_stopped_for_good_is_told_and_can_be_ended() {
    needs!("mkfs.ext4", "losetup", "sh");
    let volume = Volume::on_loop("ext4", 64, "noatime");
    let run = verify(&volume, &["--timeout", "2s"], &["sh", "-c", "echo begun; kill -STOP $$; echo never"]);
    assert!(run.stderr().contains("signal 19 stopped the benchmark"), "{}", run.stderr());
    assert_eq!(run.exit_code(), Some(3), "{}", run.story());
    assert_eq!(run.report["run"]["child"]["stopped_by_us"], "timed out", "{}", run.report["run"]["child"]);
}

#[test]
fn dirty_pages_of_others_are_found() {
    needs!("iozone", "mkfs.ext4", "losetup", "sh", "dd");
    let volume = Volume::on_loop("ext4", 1024, "noatime");
    let iozone = ["iozone", "-i0", "-s64m", "-r1m", "-e", "-c", "-f", "x"];
    // Copies that continue while the run begins: the dirty pages of an earlier copy could already be written back.
    let copy = |number: u32| {
        let target = volume.path().join(format!("dirty-{number}"));
        let script = "while :; do dd if=/dev/zero of=$0 bs=1M count=200 conv=notrunc status=none; done";
        Running(Command::new("sh").args(["-c", script]).arg(target).spawn().expect("sh runs"))
    };
    let copies: Vec<Running> = (0..3).map(copy).collect();
    let disturb = || {
        let run = verify(&volume, &[], &iozone);
        (run.fact("write", "foreign_dirty_at_start_bytes"), run)
    };
    let (left, disturbed) = (0..5).map(|_| disturb()).find(|(left, _)| *left > 8.0 * MIB).expect("dirty pages");
    drop(copies);
    assert!(disturbed.codes("write").contains(&"AB603"), "{}", disturbed.story());
    assert_rechecked(&disturbed);

    volume.drop_caches();
    let quiet = verify(&volume, &[], &iozone);
    let left_now = quiet.fact("write", "foreign_dirty_at_start_bytes");
    assert!(left_now < left, "{left_now} of {left}");
    // Others on this machine may have left some in the meantime; then the finding is right too.
    assert_eq!(quiet.codes("write").contains(&"AB603"), left_now > 8.0 * MIB, "{left_now}: {}", quiet.story());
}

/// A control group of version 1 with little memory; removed when dropped.
struct Cramped(PathBuf);

impl Cramped {
    fn new(bytes: u64) -> Option<Self> {
        let group = PathBuf::from(format!("/sys/fs/cgroup/memory/activebench-e2e-{}", std::process::id()));
        std::fs::create_dir(&group).ok()?;
        let group = Self(group);
        std::fs::write(group.0.join("memory.limit_in_bytes"), bytes.to_string()).ok()?;
        Some(group)
    }
}

impl Drop for Cramped {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir(&self.0) {
            eprintln!("cleaning up: {}: {error}", self.0.display());
        }
    }
}

#[test]
fn memory_pressure_is_found() {
    needs!("iozone", "mkfs.ext4", "losetup", "sh");
    let total = || {
        let text = std::fs::read_to_string("/proc/pressure/memory").ok()?;
        let line = text.lines().find(|line| line.starts_with("full"))?.to_owned();
        line.rsplit_once("total=")?.1.parse::<f64>().ok().map(|us| us * 1000.0)
    };
    let Some(before) = total() else {
        skip("this kernel does not tell memory pressure");
        return;
    };
    let volume = Volume::on_loop("ext4", 512, "noatime");
    let iozone = "iozone -i0 -s384m -r1m -e -c -f x";
    let stalled = |run: &Verified| {
        let fires = |phase| findings(run, "AB605", phase).iter().any(|finding| finding["outcome"] == "fires");
        fires("write") || fires("rewrite")
    };
    let Some(group) = Cramped::new(24 << 20) else {
        skip("there is no memory controller of version 1 here");
        return;
    };
    let join = format!("echo $$ > {}/cgroup.procs; exec {iozone}", group.0.display());
    // The kernel counts no full stall while another task has work and a CPU.
    let cramped = (0..5).map(|_| verify(&volume, &[], &["sh", "-c", &join])).find(stalled);
    let counted = total().expect("it was there before") - before;
    let Some(cramped) = cramped else {
        assert!(counted < 1e9, "{counted} ns of stalls, and none was found");
        skip("others were at work whenever the tool waited for memory");
        return;
    };
    assert!(cramped.fact("write", "memory_stalled_ns") <= counted, "{counted}: {}", cramped.story());
    assert_rechecked(&cramped);

    // Its honest twin outside of the group, if the rest of the machine leaves enough memory.
    let before = total().expect("it was there before");
    let alone = verify(&volume, &[], &iozone.split_whitespace().collect::<Vec<_>>());
    let counted = total().expect("it was there before") - before;
    assert!(!stalled(&alone) || counted > 0.001 * alone.fact("write", "window_ns"), "{counted}: {}", alone.story());
    assert_eq!(alone.report["phases"][0]["facts"]["swapped_pages"]["source"], "/proc/vmstat");
}

#[test]
fn a_btrfs_without_one_of_its_members_is_found() {
    needs!("iozone", "mkfs.btrfs", "btrfs", "losetup", "mount");
    let mut pair = Volume::mirrored_btrfs(256);
    let iozone = ["iozone", "-i0", "-s16m", "-r1m", "-e", "-c", "-f", "x"];
    let whole = verify(&pair, &[], &iozone).report;
    assert!(outcomes(&whole).iter().all(|outcome| outcome == "silent"), "{whole:#}");
    pair.lose_a_member();
    let degraded = verify(&pair, &[], &iozone).report;
    assert!(outcomes(&degraded).iter().any(|outcome| outcome == "fires"), "{degraded:#}");
    let message = degraded["findings"].as_array().expect("findings").iter().find(|one| one["code"] == "AB606");
    let message = message.and_then(|one| one["message"].as_str()).unwrap_or("");
    assert!(message.contains("is missing") && message.contains("/sys/fs/btrfs/"), "{message}");
}

fn outcomes(report: &Value) -> Vec<String> {
    let findings = report["findings"].as_array().expect("findings");
    let of_code = findings.iter().filter(|finding| finding["code"] == "AB606");
    of_code.filter_map(|finding| finding["outcome"].as_str()).map(str::to_owned).collect()
}

#[test]
fn a_working_set_that_a_declared_cache_holds_is_found() {
    needs!("iozone", "mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 256, "noatime");
    let iozone = ["iozone", "-i0", "-s32m", "-r1m", "-I", "-o", "-f", "x"];
    let small = verify(&volume, &["--device-cache", "64MiB"], &iozone);
    assert!(small.codes("write").contains(&"AB206"), "{}", small.story());
    assert_rechecked(&small);
    let large = verify(&volume, &["--device-cache", "16MiB"], &iozone);
    assert_eq!(findings(&large, "AB206", "write")[0]["outcome"], "silent", "{}", large.story());
    let unknown = verify(&volume, &[], &iozone);
    assert_eq!(findings(&unknown, "AB206", "write")[0]["outcome"], "not-applicable", "{}", unknown.story());
}

#[test]
fn a_run_without_readings_is_undecided() {
    needs!("iozone", "mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 256, "noatime");
    let run = verify(&volume, &[], &["iozone", "-i0", "-s16m", "-r1m", "-e", "-c", "-f", "x"]);
    // Imitate a run of an activebench that did not read the host.
    let path = run.run.join("run.json");
    let mut manifest: Value = serde_json::from_slice(&std::fs::read(&path).expect("run.json")).expect("JSON");
    let host = manifest["host"].as_object_mut().expect("a host");
    for key in ["readings", "hardware", "io_limits_unread"] {
        assert!(host.remove(key).is_some(), "{key}");
    }
    std::fs::write(&path, manifest.to_string()).expect("it is written");
    // Nor did it seal its manifest.
    std::fs::remove_file(run.run.join(SEAL)).expect("the seal is removed");
    let output = Command::new(binary()).args(["recheck", "--format", "json"]).arg(&run.run).output();
    let report: Value = serde_json::from_slice(&output.expect("the binary runs").stdout).expect("a report");
    let findings = report["findings"].as_array().expect("findings");
    for code in ["AB206", "AB503", "AB505", "AB603", "AB604", "AB605", "AB606"] {
        let mut of_code = findings.iter().filter(|finding| finding["code"] == code);
        assert!(of_code.any(|finding| finding["outcome"] == "undecided"), "{code}: {findings:#?}");
    }
}

/// The seal of a manifest.
const SEAL: &str = "run.json.sha256";

/// Judges a stored run again with changes to the host in its record.
fn rechecked_with(run: &Verified, change: impl FnOnce(&mut Value)) -> Value {
    let path = run.run.join("run.json");
    let stored = std::fs::read(&path).expect("run.json");
    let mut manifest: Value = serde_json::from_slice(&stored).expect("JSON");
    change(&mut manifest["host"]);
    std::fs::write(&path, manifest.to_string()).expect("it is written");
    // A changed manifest does not agree with its seal.
    let seal = std::fs::read(run.run.join(SEAL)).expect("a seal");
    std::fs::remove_file(run.run.join(SEAL)).expect("the seal is removed");
    let output = Command::new(binary()).args(["recheck", "--format", "json"]).arg(&run.run).output();
    std::fs::write(run.run.join(SEAL), seal).expect("it is written");
    std::fs::write(&path, stored).expect("it is written");
    serde_json::from_slice(&output.expect("the binary runs").stdout).expect("a report")
}

/// Returns the outcome of a detector for a phase, the strongest first.
fn outcome_of(report: &Value, code: &str, phase: &str) -> String {
    let findings = report["findings"].as_array().expect("findings");
    let of_phase = |finding: &&Value| finding["code"] == code && (finding["phase"] == phase || phase.is_empty());
    let outcomes: Vec<&str> = findings.iter().filter(of_phase).filter_map(|one| one["outcome"].as_str()).collect();
    let strongest = ["fires", "undecided", "silent"].into_iter().find(|outcome| outcomes.contains(outcome));
    strongest.unwrap_or("not-applicable").to_owned()
}

#[test]
fn hardware_that_this_machine_has_not_is_judged_from_the_record() {
    needs!("iozone", "mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 256, "noatime");
    let run = verify(&volume, &[], &["iozone", "-i0", "-i1", "-s64m", "-r1m", "-I", "-f", "x"]);
    let window = run.fact("read", "window_ns");
    let rate = 64.0 * MIB * 1e9 / window;
    let bottom = |host: &Value| host["targets"][0]["layers"].as_array().and_then(|layers| layers.last().cloned());
    let link = |host: &mut Value, payload: f64| {
        let device = bottom(host).expect("a device")["device"].clone();
        host["hardware"]["links"] = serde_json::json!([
            {"device": device, "name": "SATA", "source": "/sys/devices/ata1/sata_spd", "payload_bytes_per_sec": payload}
        ]);
    };
    let slow = rechecked_with(&run, |host| link(host, rate / 2.0));
    assert_eq!(outcome_of(&slow, "AB503", "read"), "fires", "{}", run.story());
    let fast = rechecked_with(&run, |host| link(host, rate * 2.0));
    assert_eq!(outcome_of(&fast, "AB503", "read"), "silent", "{}", run.story());

    let governed = |governor: &'static str| {
        rechecked_with(&run, |host| host["hardware"]["governors"] = serde_json::json!([governor]))
    };
    assert_eq!(outcome_of(&governed("powersave"), "AB604", ""), "fires");
    assert_eq!(outcome_of(&governed("performance"), "AB604", ""), "silent");

    let array = |action: &'static str| {
        rechecked_with(&run, |host| {
            let device = bottom(host).expect("a device")["device"].clone();
            let source = "/sys/block/md0/md/sync_action";
            host["hardware"]["states"] = serde_json::json!([
                {"device": device, "name": "md0", "source": source, "kind": "array-sync", "value": action}
            ]);
        })
    };
    assert_eq!(outcome_of(&array("resync"), "AB606", "read"), "fires");
    assert_eq!(outcome_of(&array("idle"), "AB606", "read"), "silent");

    // The same calls on a network file system, whose client received all of the bytes, or none.
    let received = |bytes: f64| {
        rechecked_with(&run, |host| {
            host["targets"][0]["tier"] = "network".into();
            let (place, end) = (host["targets"][0]["mount_point"].clone(), u64::MAX >> 1);
            let series = host["readings"]["series"].as_array_mut().expect("readings");
            series.push(serde_json::json!({
                "what": "server-read-bytes", "of": place, "source": "/proc/self/mountstats",
                "readings": [[0, 0], [end, bytes as u64]]
            }));
        })
    };
    assert_eq!(outcome_of(&received(64.0 * MIB), "AB208", "read"), "silent");
    assert_eq!(outcome_of(&received(MIB), "AB208", "read"), "fires");
}
