//! Attacks of a benchmark on whoever observes it as root, for a user without rights.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use activebench_e2e::{binary, needs, rows, skip};
use tempfile::TempDir;

/// The user who calls activebench.
struct Person {
    name: String,
    uid: u32,
    gid: u32,
    home: String,
    /// All their groups, as `id -G` prints them.
    groups: String,
}

/// Returns the user that `ACTIVEBENCH_E2E_USER` names; `nobody` without it, whom every system has.
fn person() -> &'static Person {
    static PERSON: LazyLock<Person> = LazyLock::new(|| {
        let name = std::env::var("ACTIVEBENCH_E2E_USER").unwrap_or_else(|_| "nobody".to_owned());
        let users = fs::read_to_string("/etc/passwd").expect("a list of users");
        let mut entries = users.lines().map(|line| line.split(':').collect::<Vec<_>>());
        let entry = entries.find(|entry| entry[0] == name).unwrap_or_else(|| panic!("no user {name}"));
        let output = Command::new("id").args(["-G", &name]).output().expect("id runs");
        Person {
            uid: entry[2].parse().expect("a number"),
            gid: entry[3].parse().expect("a number"),
            home: entry[5].to_owned(),
            groups: String::from_utf8_lossy(&output.stdout).trim().to_owned(),
            name,
        }
    });
    &PERSON
}

/// The folder of a user without rights, and one beside it that only root can enter.
struct Scene {
    folder: TempDir,
}

impl Scene {
    fn new() -> Self {
        let folder = TempDir::with_prefix("activebench-e2e-").expect("a temporary folder");
        fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).expect("others may enter it");
        let scene = Self { folder };
        fs::create_dir(scene.users()).expect("a folder");
        chown(scene.users(), Some(person().uid), Some(person().gid)).expect("it is given away");
        fs::create_dir(scene.roots()).expect("a folder");
        fs::set_permissions(scene.roots(), Permissions::from_mode(0o700)).expect("it is closed");
        fs::write(scene.roots().join("secret"), SECRET).expect("a file");
        scene
    }

    fn users(&self) -> PathBuf {
        self.folder.path().join("user")
    }

    fn roots(&self) -> PathBuf {
        self.folder.path().join("root")
    }

    /// Writes a program of the user.
    fn program(&self, name: &str, text: &str) -> String {
        let path = self.users().join(name);
        fs::write(&path, format!("#!/bin/sh\n{text}\n")).expect("a program");
        fs::set_permissions(&path, Permissions::from_mode(0o755)).expect("it can be executed");
        path.to_str().expect("UTF-8").to_owned()
    }

    /// Starts `sudo activebench verify`, called by the user in their folder.
    fn verify(&self, options: &[&str], command: &[&str]) -> Command {
        let mut verify = Command::new(binary());
        verify.current_dir(self.users()).env("SUDO_USER", &person().name).args(["verify", "--quiet"]).args(options);
        verify.arg("--").args(command).stdin(Stdio::null());
        verify
    }

    /// Returns every file below the user's folder that root owns, or that gives rights to whoever executes it.
    fn gifts(&self) -> Vec<PathBuf> {
        let mut gifts = Vec::new();
        let mut folders = vec![self.users()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).expect("a folder") {
                let path = entry.expect("an entry").path();
                let found = path.symlink_metadata().expect("it is there");
                if found.uid() == 0 || found.is_file() && found.mode() & 0o6000 != 0 && found.uid() != person().uid {
                    gifts.push(path.clone());
                }
                if found.is_dir() {
                    folders.push(path);
                }
            }
        }
        // The user's own programs were written by this test.
        gifts.retain(|path| path.parent() != Some(&self.users()) || path.extension().is_none_or(|kind| kind != "sh"));
        gifts
    }

    /// Returns the names in the folder that only root can enter.
    fn beyond(&self) -> Vec<String> {
        let names = fs::read_dir(self.roots()).expect("root's folder");
        names.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect()
    }
}

const SECRET: &str = "only root may read this";

fn words(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// Returns whether a file below a folder contains a text.
fn contains(folder: &Path, text: &str) -> bool {
    let output = Command::new("grep").args(["-rlF", text]).arg(folder).output().expect("grep runs");
    output.status.success()
}

#[test]
fn the_benchmark_has_the_rights_of_its_user_and_no_more() {
    needs!(beside: "sh");
    let scene = Scene::new();
    let told = scene.program("told.sh", "id -u; id -G; echo home=$HOME; cat /proc/self/status; ls -l /proc/self/fd");
    let output = scene.verify(&["--out", "run"], &[&told]).output().expect("activebench runs");
    let text = words(&output);
    let Person { uid, gid, home, groups, .. } = person();
    let (identity, home) = (format!("{uid}\n{groups}\n"), format!("home={home}\n"));
    for expected in [identity.as_str(), &home, "NoNewPrivs:\t1", "CapEff:\t0000000000000000"] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    assert!(!text.contains("anon_inode:bpf") && !text.contains("bpf-"), "a descriptor of the kernel programs: {text}");
    let run = scene.users().join("run");
    let found = run.metadata().expect("a run directory");
    assert_eq!((found.uid(), found.gid(), found.mode() & 0o777), (*uid, *gid, 0o700), "{text}");
    assert_eq!(scene.gifts(), Vec::<PathBuf>::new(), "{text}");
    assert!(!rows(&run, "calls").is_empty(), "it was observed: {text}");
    let committed = include_str!("../../../activebench-ebpf/prebuilt/activebench.bpf.o.sha256");
    let sum = committed.split(' ').next().expect("a sum");
    assert!(contains(&run, &format!("\"kernel_object_sha256\": \"{sum}\"")), "the object is named: {text}");
}

#[test]
fn a_folder_of_runs_that_becomes_a_link_leads_nowhere() {
    needs!(beside: "sh");
    let scene = Scene::new();
    let roots = scene.roots();
    let swap = format!("mv activebench-runs aside; ln -s {} activebench-runs; echo ALL=NOPASSWD", roots.display());
    let swap = scene.program("swap.sh", &swap);
    let output = scene.verify(&[], &[&swap]).output().expect("activebench runs");
    assert_eq!(scene.beyond(), ["secret"], "{}", words(&output));
    assert_eq!(scene.gifts(), Vec::<PathBuf>::new(), "{}", words(&output));
    assert!(!matches!(output.status.code(), Some(70 | 101 | 134) | None), "{output:?}");
}

#[test]
fn a_link_in_the_place_of_the_next_file_is_not_written_through() {
    needs!(beside: "sh", "fio");
    let scene = Scene::new();
    let roots = scene.roots();
    // What the tool printed is rewritten without the figures that were added: beside the file, then in its place.
    fs::create_dir(scene.users().join("bin")).expect("a folder");
    let trap = format!(
        "ln -s {root}/sudoers o.activebench; ln -s {root}/sudoers o.activebench-$PPID\n\
         /usr/bin/fio \"$@\"; status=$?; chmod 4755 o; exit $status",
        root = roots.display()
    );
    let fio = scene.program("bin/fio", &trap);
    let job = ["--name=a", "--rw=write", "--size=1m", "--end_fsync=1", "--output=o"];
    let output = scene.verify(&[], &[&[fio.as_str()][..], &job].concat()).output().expect("activebench runs");
    assert_eq!(scene.beyond(), ["secret"], "{}", words(&output));
    let gifts: Vec<PathBuf> = scene.gifts().into_iter().filter(|path| !path.ends_with("bin")).collect();
    assert_eq!(gifts, [scene.users().join("bin/fio")], "{}", words(&output));
}

#[test]
fn what_only_root_may_read_is_not_kept_and_a_pipe_does_not_hang() {
    needs!(beside: "sh", "fio", "mkfifo");
    let scene = Scene::new();
    let roots = scene.roots();
    let job = "--name=a --rw=write --size=1m --end_fsync=1";
    for (name, trap) in [
        ("link.sh", format!("rm -f o; ln -s {}/secret o", roots.display())),
        ("pipe.sh", "rm -f o; mkfifo o".to_owned()),
        ("device.sh", "rm -f o; ln -s /dev/zero o".to_owned()),
    ] {
        let program = scene.program(name, &format!("fio {job} --output=o; {trap}"));
        let began = Instant::now();
        let output = scene.verify(&[], &[&program]).output().expect("activebench runs");
        assert!(began.elapsed() < Duration::from_secs(60), "{name}: {}", words(&output));
        assert!(!contains(&scene.users(), SECRET), "{name}: {}", words(&output));
        assert!(!matches!(output.status.code(), Some(70 | 101 | 134) | None), "{name}: {output:?}");
    }
}

#[test]
fn without_its_recorder_a_benchmark_ends_with_all_its_processes() {
    needs!(beside: "sh", "fio", "pgrep");
    let scene = Scene::new();
    let mark = format!("--directory={}", scene.users().display());
    let job = ["fio", "--name=a", "--numjobs=3", "--rw=write", "--size=16m", "--time_based", "--runtime=60", &mark];
    let mut verify = scene.verify(&["--out", "run"], &job).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let verify = verify.as_mut().expect("activebench runs");
    let alive = || {
        let output = Command::new("pgrep").args(["-c", "-f", "--", &mark]).output().expect("pgrep runs");
        String::from_utf8_lossy(&output.stdout).trim().parse::<u32>().expect("a count")
    };
    let waited = |until: &dyn Fn() -> bool| {
        let begin = Instant::now();
        while !until() && begin.elapsed() < Duration::from_secs(30) {
            std::thread::sleep(Duration::from_millis(50));
        }
        until()
    };
    // activebench, fio and its jobs.
    assert!(waited(&|| alive() >= 5), "{} processes", alive());
    verify.kill().expect("it is ended");
    verify.wait().expect("it has ended");
    assert!(waited(&|| alive() == 0), "{} processes are left", alive());

    // What was recorded until then is a run, for the same user.
    let run = scene.users().join("run");
    assert!(waited(&|| recheck(&run).status.code() == Some(3)), "{}", words(&recheck(&run)));
    assert!(words(&recheck(&run)).contains("Activebench was killed"), "{}", words(&recheck(&run)));
    assert_eq!(run.join("run.json").metadata().expect("a manifest").uid(), person().uid);
    assert!(!rows(&run, "calls").is_empty(), "its calls are there");
}

fn recheck(run: &Path) -> Output {
    Command::new(binary()).arg("recheck").arg(run).output().expect("activebench runs")
}

/// Commands that need root's rights to measure and to write devices read and write files as the user all the same.
#[test]
fn what_needs_root_follows_no_link_and_leaves_no_file_of_root() {
    needs!(beside: "fio");
    let scene = Scene::new();
    let target = scene.users().join("target");
    fs::create_dir(&target).expect("a folder");
    chown(&target, Some(person().uid), Some(person().gid)).expect("it is given away");
    let text = format!(
        r#"format = 1
[parties]
buyer = "City Archive"
vendor = "Northern Disks"
reference = "offer 42"
date = 2026-11-22
[target]
path = "{}"
[[benchmark]]
name = "write"
command = ["fio", "--name=a", "--rw=write", "--bs=1m", "--size={{4 MiB}}", "--filename={{target}}/x", "--end_fsync=1"]
runs = 2
[[limit]]
benchmark = "write"
phase = "a-write"
metric = "throughput"
at_least = "1 kB/s"
[conditions]
steady_state = false
reproducible = false
[decision]
rule = "simple"
"#,
        target.display()
    );
    fs::write(scene.users().join("agreed.toml"), text).expect("a file");
    std::os::unix::fs::symlink(scene.roots(), scene.users().join("link")).expect("a link");
    let run = |words: &[&str]| {
        let mut command = Command::new(binary());
        command.current_dir(scene.users()).env("SUDO_USER", &person().name).args(words).stdin(Stdio::null());
        let output = command.env("ACTIVEBENCH_CEILINGS", "ceilings").output().expect("activebench runs");
        (output.status.code(), self::words(&output))
    };
    let kept = |expected: &[&str]| assert_eq!(scene.beyond(), expected, "root wrote through a link");
    let (code, said) = run(&["accept", "--quiet", "--out", "link/run", "agreed.toml"]);
    assert!(code == Some(2) && said.contains("Permission denied"), "{code:?} {said}");
    kept(&["secret"]);
    let (code, said) = run(&["accept", "--check", "link/secret"]);
    assert!(code == Some(2) && said.contains("Permission denied") && !said.contains(SECRET), "{code:?} {said}");
    let (code, said) = run(&["accept", "--quiet", "--out", "accepted", "agreed.toml"]);
    assert!(matches!(code, Some(0 | 1 | 3)), "{code:?} {said}");
    let (code, said) =
        run(&["ceiling", "--quiet", "--seconds", "1", "--size", "64MiB", "--out", "link/c.json", "target"]);
    assert!(code == Some(2) && said.contains("Permission denied"), "{code:?} {said}");
    kept(&["secret"]);
    let (code, said) = run(&["doctor", "--format", "html=link/d.html", "target"]);
    assert!(said.contains("Permission denied"), "{code:?} {said}");
    kept(&["secret"]);
    let gifts = scene.gifts();
    let own = |path: &&PathBuf| path.ends_with("agreed.toml") || path.ends_with("link");
    assert!(gifts.iter().all(|path| own(&path)), "root's files in the user's folder: {gifts:?}");
}

/// Kills every process whose environment has this variable.
fn kill_marked(mark: &str) {
    for process in fs::read_dir("/proc").expect("/proc").flatten() {
        let Some(pid) = process.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        // Processes end while we look.
        let environment = fs::read(process.path().join("environ")).unwrap_or_default();
        if environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes()) {
            let _ = Command::new("kill").args(["-9", &pid.to_string()]).stderr(Stdio::null()).status();
        }
    }
}

#[test]
fn whenever_activebench_is_killed_the_run_is_readable() {
    needs!(beside: "fio", "kill");
    let scene = Scene::new();
    let job = ["fio", "--name=a", "--rw=write", "--size=4m", "--time_based", "--runtime=1", "--end_fsync=1"];
    for number in 0..10_u32 {
        let name = format!("run-{number}");
        let mark = format!("MARK={}", scene.users().join(&name).display());
        let (variable, value) = mark.split_once('=').expect("a variable");
        let mut verify = scene.verify(&["--out", &name], &job);
        let verify = verify.env(variable, value).stdout(Stdio::null()).stderr(Stdio::null());
        let mut verify = verify.spawn().expect("activebench runs");
        // From before the benchmark's start until after its end.
        std::thread::sleep(Duration::from_millis(200 * u64::from(number)));
        // The recorder alone, or the recorder, the observer and the benchmark.
        if number % 2 == 0 {
            verify.kill().expect("it is ended")
        } else {
            kill_marked(&mark)
        }
        verify.wait().expect("it has ended");
        let run = scene.users().join(&name);
        if !run.exists() {
            continue;
        }
        // The observer, if it lives, completes the record first.
        let begin = Instant::now();
        let output = loop {
            let output = recheck(&run);
            let is_read = matches!(output.status.code(), Some(0 | 1 | 3));
            if is_read || begin.elapsed() > Duration::from_secs(60) {
                break output;
            }
            std::thread::sleep(Duration::from_millis(100));
        };
        let text = words(&output);
        assert!(matches!(output.status.code(), Some(0 | 1 | 3)), "{number}: {:?}: {text}", output.status);
        kill_marked(&mark);
    }
}

#[test]
fn a_closed_pipe_or_terminal_costs_nothing_but_the_words() {
    needs!(beside: "sh", "fio");
    let scene = Scene::new();
    let job = "fio --name=a --rw=write --size=4m --end_fsync=1";
    for (number, closed) in ["| true", "2>&1 | true", "| head -c 1", ">&- 2>&-", "<&-"].into_iter().enumerate() {
        let out = format!("run-{number}");
        let line = format!("({} verify --out {out} -- {job}; echo $? >code) {closed}", binary().display());
        let mut shell = Command::new("sh");
        shell.args(["-c", &line]).current_dir(scene.users()).env("SUDO_USER", &person().name).stdin(Stdio::null());
        shell.stdout(Stdio::null()).stderr(Stdio::null()).status().expect("the shell runs");
        let code = fs::read_to_string(scene.users().join("code")).expect("an exit code");
        assert!(matches!(code.trim(), "0" | "1" | "3"), "{closed}: exit {code}");
        let manifest = fs::read_to_string(scene.users().join(&out).join("run.json")).expect("a manifest");
        assert!(!manifest.contains("unfinished"), "{closed}");
    }
}

/// The capabilities that the recipes of docs/rights.md grant, as `setpriv` takes them.
const GRANTED: &str = "-all,+bpf,+perfmon,+sys_ptrace";

/// Runs `activebench verify` behind other words, as a recipe of docs/rights.md does; returns what it and the status of
/// the benchmark and of the recorder say.
fn verified_behind(scene: &Scene, words: &[String]) -> String {
    let program = scene.users().join("activebench");
    fs::copy(binary(), &program).expect("a copy");
    let told = scene.program("told.sh", "cat /proc/self/status /proc/$PPID/status");
    let mut verify = Command::new(&words[0]);
    verify.args(&words[1..]).arg(&program).args(["verify", "--quiet", "--out", "run", "--", &told]);
    let output = verify.current_dir(scene.users()).stdin(Stdio::null()).output().expect("setpriv runs");
    let text = self::words(&output);
    assert!(!rows(&scene.users().join("run"), "calls").is_empty(), "it was observed: {text}");
    text
}

#[test]
fn samples_of_what_was_written_are_for_their_owner() {
    needs!(beside: "sh");
    let scene = Scene::new();
    let words = ["verify", "--quiet", "--payload", "keep", "--out", "run", "--", "sh", "-c", "echo text > x"];
    let output = Command::new(binary()).args(words).current_dir(scene.roots()).output().expect("activebench runs");
    let file = fs::metadata(scene.roots().join("run/payload.bin"));
    let file = file.unwrap_or_else(|error| panic!("no samples ({error}): {}", self::words(&output)));
    assert_eq!(file.mode() & 0o777, 0o600);
}

#[test]
fn a_service_observes_with_three_capabilities_and_its_benchmark_has_none() {
    needs!(beside: "sh", "setpriv");
    let scene = Scene::new();
    let words = [
        "setpriv".to_owned(),
        format!("--reuid={}", person().uid),
        format!("--regid={}", person().gid),
        "--clear-groups".to_owned(),
        format!("--inh-caps={GRANTED}"),
        format!("--ambient-caps={GRANTED}"),
        format!("--bounding-set={GRANTED}"),
        "--no-new-privs".to_owned(),
    ];
    let text = verified_behind(&scene, &words);
    assert_eq!(text.matches("CapPrm:\t0000000000000000").count(), 2, "{text}");
}

#[test]
fn a_container_observes_with_three_capabilities() {
    needs!(beside: "sh", "setpriv", "unshare");
    let scene = Scene::new();
    // In a container of which root has no more rights, its files are root's.
    chown(scene.users(), Some(0), Some(0)).expect("root may");
    let namespaces = ["unshare", "--pid", "--mount", "--ipc", "--uts", "--fork", "--mount-proc", "setpriv"];
    let mut words = Vec::from(namespaces.map(str::to_owned));
    words.extend([format!("--inh-caps={GRANTED}"), format!("--bounding-set={GRANTED}")]);
    verified_behind(&scene, &words);
}

#[test]
fn with_capabilities_a_user_observes_their_own_processes_and_the_recorder_has_none() {
    needs!(beside: "sh", "setcap");
    let scene = Scene::new();
    let program = scene.users().join("activebench");
    fs::copy(binary(), &program).expect("a copy");
    let granted = Command::new("setcap").arg("cap_bpf,cap_perfmon,cap_sys_ptrace+ep").arg(&program).status();
    if !granted.expect("setcap runs").success() {
        skip("this file system takes no capabilities");
        return;
    }
    let told = scene.program("told.sh", "cat /proc/self/status /proc/$PPID/status");
    let mut verify = Command::new(&program);
    verify
        .current_dir(scene.users())
        .uid(person().uid)
        .gid(person().gid)
        .args(["verify", "--quiet", "--out", "run", "--", &told]);
    let output = verify.stdin(Stdio::null()).output().expect("activebench runs");
    let text = words(&output);
    assert_eq!(text.matches("CapPrm:\t0000000000000000").count(), 2, "{text}");
    assert!(text.contains("NoNewPrivs:\t1"), "{text}");
    assert!(!rows(&scene.users().join("run"), "calls").is_empty(), "it was observed: {text}");
}
