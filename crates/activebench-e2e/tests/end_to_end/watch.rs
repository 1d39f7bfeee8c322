//! `activebench watch`: processes that ran before it, and what becomes of them.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::{Duration, Instant};

use activebench_e2e::{Volume, assert_follows, binary, needs, recheck, rows, skip};
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::Value;
use tempfile::TempDir;

/// Patience for anything that takes a moment.
const PATIENCE: Duration = Duration::from_secs(30);
/// User id without rights; every system has it.
const NOBODY: u32 = 65_534;

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A process that is ended with the test.
struct Running(Child);

impl Running {
    fn start(command: &mut Command) -> Self {
        Self(command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().expect("it starts"))
    }

    fn pid(&self) -> u32 {
        self.0.id()
    }

    fn lives(&mut self) -> bool {
        self.0.try_wait().expect("its state").is_none()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A program of Python that opens its files, says that it is ready, and goes on when it may.
struct Script {
    folder: TempDir,
    running: Running,
}

const HELPERS: &str = "
import mmap, os, sys, threading, time
folder = sys.argv[1]
def ready(name):
    open(folder + '/' + name, 'w').close()
def wait(name):
    while not os.path.exists(folder + '/' + name):
        time.sleep(0.01)
page = mmap.mmap(-1, 4096)
page.write(b'x' * 4096)
";

impl Script {
    fn start(text: &str, configure: impl FnOnce(&mut Command)) -> Self {
        let folder = TempDir::with_prefix("activebench-e2e-").expect("a folder");
        fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o777)).expect("all may write");
        let mut command = Command::new("python3");
        command.args(["-c", &format!("{HELPERS}{text}")]).arg(folder.path());
        configure(&mut command);
        let script = Self { folder, running: Running::start(&mut command) };
        script.reaches("ready");
        script
    }

    fn pid(&self) -> u32 {
        self.running.pid()
    }

    /// Lets it go on.
    fn allow(&self, name: &str) {
        fs::write(self.folder.path().join(name), "").expect("a file");
    }

    /// Waits until it got there.
    fn reaches(&self, name: &str) {
        wait_until(name, || self.folder.path().join(name).exists());
    }
}

/// A watch that has begun.
struct Watching {
    child: Child,
    stderr: BufReader<ChildStderr>,
    run: PathBuf,
    _folder: TempDir,
}

/// A watch that has ended.
struct Watched {
    report: Value,
    code: Option<i32>,
    run: PathBuf,
    _folder: TempDir,
}

impl Watching {
    fn begin(arguments: &[&str]) -> Self {
        Self::begin_as(arguments, |_| ())
    }

    fn begin_as(arguments: &[&str], configure: impl FnOnce(&mut Command)) -> Self {
        let folder = TempDir::with_prefix("activebench-e2e-").expect("a folder");
        fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o777)).expect("all may write");
        let run = folder.path().join("run");
        let mut command = Command::new(binary());
        command.args(["watch", "--format", "json", "--out"]).arg(&run).args(arguments).current_dir(folder.path());
        configure(&mut command);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("activebench starts");
        let mut stderr = BufReader::new(child.stderr.take().expect("its messages"));
        let (mut said, mut line) = (String::new(), String::new());
        while !line.contains("watching ") {
            line.clear();
            assert!(stderr.read_line(&mut line).expect("a line") > 0, "it ended: {said}");
            said.push_str(&line);
        }
        Self { child, stderr, run, _folder: folder }
    }

    fn signal(&self, signal: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().expect("kill runs").success());
    }

    /// Waits for its end.
    fn ended(mut self) -> Watched {
        let mut text = String::new();
        self.child.stdout.take().expect("its report").read_to_string(&mut text).expect("text");
        let mut said = String::new();
        self.stderr.read_to_string(&mut said).expect("text");
        let code = self.child.wait().expect("it ends").code();
        let report: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}{said}"));
        assert_follows(include_str!("../../../../docs/report.schema.json"), &report);
        Watched { report, code, run: self.run, _folder: self._folder }
    }

    fn interrupted(self) -> Watched {
        self.signal("-INT");
        self.ended()
    }
}

impl Watched {
    /// Returns the phase of a file.
    fn phase(&self, word: &str, file: &Path) -> &str {
        let phases = self.report["phases"].as_array().expect("phases");
        let name = format!("{word} of {}", file.display());
        let found = phases.iter().find(|phase| phase["name"] == name.as_str());
        found.and_then(|phase| phase["id"].as_str()).unwrap_or_else(|| panic!("no {name} in {phases:#?}"))
    }

    fn stated(&self, phase: &str, name: &str) -> &Value {
        let phases = self.report["phases"].as_array().expect("phases");
        &phases.iter().find(|candidate| candidate["id"] == phase).expect("the phase")["facts"][name]
    }

    fn fact(&self, phase: &str, name: &str) -> f64 {
        let fact = self.stated(phase, name);
        fact["value"].as_f64().unwrap_or_else(|| panic!("no {name} of {phase}: {fact}"))
    }

    fn state(&self, phase: &str, name: &str) -> &str {
        self.stated(phase, name)["completeness"]["state"].as_str().expect("a state")
    }

    fn watch(&self) -> &Value {
        &self.report["run"]["watch"]
    }

    fn lost(&self) -> u64 {
        let classes = self.report["coverage"]["lost"].as_object().expect("accounts");
        classes.values().map(|account| account["lost"].as_u64().expect("a number")).sum()
    }
}

#[test]
fn a_descriptor_of_before_is_put_down_to_its_file() {
    needs!(beside: "python3");
    let volume = Volume::on_loop("ext4", 64, "");
    let file = volume.path().join("data");
    let script = Script::start(
        &format!(
            "fd = os.open('{}', os.O_CREAT | os.O_WRONLY | os.O_DIRECT)\n\
             os.lseek(fd, 8192, os.SEEK_SET)\nready('ready')\nwait('go')\n\
             for i in range(500): os.pwritev(fd, [page], i * 4096)\n\
             ready('done')\nwait('end')",
            file.display()
        ),
        |_| (),
    );
    let watching = Watching::begin(&["--pid", &script.pid().to_string()]);
    script.allow("go");
    script.reaches("done");
    script.allow("end");
    // Its end ends the watch.
    let watched = watching.ended();
    assert_eq!(watched.code, Some(3), "nothing was claimed");
    assert_eq!(watched.report["verdict"], "inconclusive");
    assert_eq!(watched.watch()["end"], "target_ended");
    assert_eq!(watched.lost(), 0);
    let phase = watched.phase("write", &file);
    assert_eq!(watched.fact(phase, "write_calls"), 500.0);
    assert_eq!(watched.fact(phase, "write_bytes"), 500.0 * 4096.0);
    assert_eq!(watched.fact(phase, "direct_ratio"), 1.0);
    assert_eq!(watched.state(phase, "write_bytes"), "complete");
    // What was accessed before is not known.
    assert_eq!(watched.state(phase, "unique_blocks"), "partial");
    let open = watched.watch()["open"].as_array().expect("open files");
    let found = open.iter().find(|open| open["path"] == file.to_str().expect("text")).expect("it was open");
    assert_eq!(found["position"], 8192);
    assert_ne!(found["flags"].as_u64().expect("flags") & libc::O_DIRECT as u64, 0);
    let words = watched.report["tool"]["command"].to_string();
    assert!(words.contains("python3") && words.contains("os.pwritev"), "{words}");
    // Without root and the process, from the record alone.
    let again = recheck(&watched.run, &[]);
    assert_eq!(again.verdict(), "inconclusive");
}

#[test]
fn what_a_shell_starts_later_is_watched_until_an_interrupt() {
    needs!(beside: "dd", "sh");
    let volume = Volume::on_loop("ext4", 64, "");
    let file = volume.path().join("data");
    let text =
        format!("while :; do dd if=/dev/zero of={} bs=64k count=4 2>/dev/null; sleep 0.05; done", file.display());
    let mut shell = Running::start(Command::new("sh").args(["-c", &text]).process_group(0));
    let watching = Watching::begin(&["--pid", &shell.pid().to_string()]);
    std::thread::sleep(Duration::from_millis(1500));
    let watched = watching.interrupted();
    assert!(shell.lives(), "the watch ends nothing");
    // Not by kill(1): that of procps 4.0.2 reads `-9 -1234` as the process -1, which is every process of the machine.
    kill_process_group(Pid::from_child(&shell.0), Signal::KILL).expect("the shell runs");
    assert_eq!(watched.code, Some(3));
    assert_eq!(watched.watch()["end"], "interrupted");
    let phase = watched.phase("write", &file);
    let calls = watched.fact(phase, "write_calls");
    assert!((8.0..=240.0).contains(&calls), "{calls}");
    assert_eq!(watched.fact(phase, "write_bytes"), calls * 65536.0);
    // A sync could still come.
    assert_eq!(watched.state(phase, "unsynced_bytes"), "partial");
    assert_eq!(watched.lost(), 0);
}

#[test]
fn threads_of_before_and_of_later_are_all_watched() {
    needs!(beside: "python3");
    let volume = Volume::on_loop("ext4", 64, "");
    let folder = volume.path();
    let script = Script::start(
        &format!(
            "def write(number, start):\n\
             \x20   fd = os.open('{}/%d' % number, os.O_CREAT | os.O_WRONLY)\n\
             \x20   start.wait()\n\
             \x20   for i in range(100): os.pwrite(fd, page[:], i * 4096)\n\
             go = threading.Event()\n\
             threads = [threading.Thread(target=write, args=(n, go)) for n in range(8)]\n\
             [thread.start() for thread in threads]\n\
             ready('ready')\nwait('go')\n\
             later = [threading.Thread(target=write, args=(n, go)) for n in range(8, 12)]\n\
             [thread.start() for thread in later]\n\
             go.set()\n\
             [thread.join() for thread in threads + later]\n",
            folder.display()
        ),
        |_| (),
    );
    let watching = Watching::begin(&["--pid", &script.pid().to_string()]);
    script.allow("go");
    let watched = watching.ended();
    assert_eq!(watched.watch()["processes"][0]["threads"], 9);
    for number in 0..12 {
        let phase = watched.phase("write", &folder.join(number.to_string()));
        assert_eq!(watched.fact(phase, "write_calls"), 100.0, "file {number}");
    }
    assert_eq!(watched.lost(), 0);
}

#[test]
fn asynchronous_io_that_began_before_is_counted_as_it_completes() {
    needs!("fio");
    let volume = Volume::on_loop("ext4", 128, "");
    let file = volume.path().join("data");
    let mut fio = Command::new("fio");
    fio.args(["--name=a", "--rw=randwrite", "--bs=4k", "--size=32m", "--direct=1", "--ioengine=libaio"]);
    fio.args(["--iodepth=4", "--numjobs=2", "--time_based", "--runtime=60", "--thread"]);
    let mut fio = Running::start(fio.arg(format!("--filename={}", file.display())));
    wait_until("fio writes", || fs::metadata(&file).is_ok_and(|found| found.len() == 32 << 20));
    std::thread::sleep(Duration::from_millis(500));
    let watching = Watching::begin(&["--pid", &fio.pid().to_string(), "--for", "2s"]);
    let watched = watching.ended();
    assert!(fio.lives());
    assert_eq!(watched.watch()["end"], "time_over");
    let phase = watched.phase("write", &file);
    let (called, written) = (watched.fact(phase, "write_bytes"), watched.fact(phase, "device_write_bytes"));
    assert!(called > 1e6, "{called}");
    // What was in flight at both ends, and nothing else: all of it is direct.
    assert!((called - written).abs() <= 64.0 * 4096.0 + 0.01 * called, "{called} {written}");
    assert_eq!(watched.lost(), 0);
    assert!(watched.fact(phase, "blocked_ns") > 0.0, "the time of threads that live on is known");
}

#[test]
fn a_mapping_of_before_is_not_seen_and_said_to_be() {
    needs!(beside: "python3");
    let volume = Volume::on_loop("ext4", 64, "");
    let file = volume.path().join("mapped");
    let script = Script::start(
        &format!(
            "fd = os.open('{}', os.O_CREAT | os.O_RDWR)\nos.ftruncate(fd, 1 << 20)\n\
             mapped = mmap.mmap(fd, 1 << 20)\nos.close(fd)\nready('ready')\nwait('go')\nmapped[:4096] = page[:]",
            file.display()
        ),
        |_| (),
    );
    let watching = Watching::begin(&["--pid", &script.pid().to_string()]);
    script.allow("go");
    let watched = watching.ended();
    let mapped = watched.watch()["mapped"].as_array().expect("mappings");
    let found = mapped.iter().find(|mapped| mapped["path"] == file.to_str().expect("text")).expect("it is listed");
    assert_eq!((found["bytes"].as_u64(), found["writable"].as_bool()), (Some(1 << 20), Some(true)));
    let blind = watched.report["coverage"]["blind_paths"].as_array().expect("blind paths");
    assert!(blind.iter().any(|path| path["path"] == "mappings of before the watch"), "{blind:?}");
}

/// Makes a control group in a hierarchy; `None` if none is mounted there, or it refuses.
fn group_in(hierarchy: &str) -> Option<PathBuf> {
    let group = Path::new(hierarchy).join(format!("activebench-e2e-{}", std::process::id()));
    fs::create_dir(&group).ok()?;
    group.join("cgroup.procs").exists().then_some(group)
}

#[test]
fn a_control_group_is_watched_with_what_enters_it() {
    needs!(beside: "python3", "sleep");
    let hierarchies = ["/sys/fs/cgroup/blkio", "/sys/fs/cgroup/unified", "/sys/fs/cgroup"];
    let groups: Vec<PathBuf> = hierarchies.iter().filter_map(|hierarchy| group_in(hierarchy)).collect();
    if groups.is_empty() {
        return skip("no control group can be made");
    }
    for group in groups {
        let volume = Volume::on_loop("ext4", 64, "");
        let file = volume.path().join("data");
        let below = group.join("below");
        fs::create_dir(&below).expect("a group below");
        let mut sleeper = Running::start(Command::new("sleep").arg("60"));
        let enter =
            |folder: &Path, pid: u32| fs::write(folder.join("cgroup.procs"), pid.to_string()).expect("it enters");
        enter(&group, sleeper.pid());
        let script = Script::start(
            &format!(
                "fd = os.open('{}', os.O_CREAT | os.O_WRONLY)\nready('ready')\nwait('go')\n\
                 for i in range(50): os.write(fd, page[:])\nready('done')\nwait('end')",
                file.display()
            ),
            |_| (),
        );
        let watching = Watching::begin(&["--cgroup", group.to_str().expect("text")]);
        enter(&below, script.pid());
        // Three looks.
        std::thread::sleep(Duration::from_millis(400));
        script.allow("go");
        script.reaches("done");
        script.allow("end");
        assert!(sleeper.lives());
        drop(sleeper);
        let watched = watching.ended();
        assert_eq!(watched.watch()["end"], "target_ended", "no process is left");
        assert_eq!(watched.watch()["poll_ns"], 100_000_000);
        let phase = watched.phase("write", &file);
        assert_eq!(watched.fact(phase, "write_calls"), 50.0);
        assert_eq!(watched.watch()["processes"].as_array().expect("processes").len(), 2);
        drop(script);
        wait_until("the group is empty", || fs::remove_dir(&below).is_ok());
        wait_until("the group is empty", || fs::remove_dir(&group).is_ok());
    }
}

fn refused(arguments: &[&str], configure: impl FnOnce(&mut Command)) -> (Option<i32>, String) {
    let folder = TempDir::with_prefix("activebench-e2e-").expect("a folder");
    fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o777)).expect("all may write");
    let mut command = Command::new(binary());
    command.arg("watch").args(arguments).current_dir(folder.path());
    configure(&mut command);
    let output = command.output().expect("activebench runs");
    let runs = fs::read_dir(folder.path().join("activebench-runs")).into_iter().flatten().count();
    assert_eq!(runs, 0, "nothing was watched, so nothing is left");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn what_cannot_be_watched_is_named() {
    needs!(beside: "sh", "true");
    let mut ended = Command::new("true").spawn().expect("it starts");
    ended.wait().expect("it ends");
    let ended = ended.id().to_string();
    for (arguments, said) in [
        (&["--pid", ended.as_str()][..], "there is no process"),
        (&["--pid", "4194305"], "there is no process"),
        (&["--pid", "2"], "a thread of the kernel"),
        (&["--cgroup", "/no/such/group"], "there is no control group"),
        (&["--pid", "0"], "0 is not in"),
        (&["--pid", "1", "--unit", "a.service"], "cannot be used with"),
        (&[], "required arguments"),
    ] {
        let (code, text) = refused(arguments, |_| ());
        assert_eq!(code, Some(2), "{arguments:?}: {text}");
        assert!(text.contains(said), "{arguments:?}: {text}");
    }
    let output = Command::new("sh").args(["-c", "exec \"$0\" watch --pid $$"]).arg(binary()).output().expect("sh runs");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("activebench itself"), "{text}");
}

#[test]
fn a_process_that_ends_at_once_leaves_a_whole_run() {
    needs!(beside: "sleep");
    let mut sleeper = Running::start(Command::new("sleep").arg("60"));
    let watching = Watching::begin(&["--pid", &sleeper.pid().to_string()]);
    sleeper.0.kill().expect("it ends");
    sleeper.0.wait().expect("it ends");
    let watched = watching.ended();
    assert_eq!((watched.code, watched.watch()["end"].as_str()), (Some(3), Some("target_ended")));
    assert_eq!(recheck(&watched.run, &[]).verdict(), "inconclusive");
}

#[test]
fn a_user_watches_their_own_processes_and_no_others() {
    needs!(beside: "python3", "sleep");
    let as_user = |command: &mut Command| {
        command.uid(NOBODY).gid(NOBODY).current_dir("/");
    };
    let by_sudo = |command: &mut Command| {
        command.env("SUDO_USER", "nobody");
    };
    let stranger = Running::start(Command::new("sleep").arg("60"));
    let (code, text) = refused(&["--pid", &stranger.pid().to_string()], by_sudo);
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("belongs to another user"), "{text}");

    // `su` gains rights: it leaves the tree, and nothing of it is recorded.
    let programs = ["/usr/bin/su", "/bin/su", "/usr/bin/passwd"];
    let gains = |path: &&str| {
        fs::metadata(path)
            .is_ok_and(|found| std::os::unix::fs::PermissionsExt::mode(&found.permissions()) & 0o4000 != 0)
    };
    let Some(gaining) = programs.into_iter().find(gains) else { return skip("no set-user-ID program is installed") };
    let volume = Volume::on_loop("ext4", 64, "");
    fs::set_permissions(volume.path(), std::os::unix::fs::PermissionsExt::from_mode(0o777)).expect("all may write");
    let file = volume.path().join("own");
    let script = Script::start(
        &format!(
            "import subprocess\nfd = os.open('{}', os.O_CREAT | os.O_WRONLY)\nready('ready')\nwait('go')\n\
             for i in range(20): os.write(fd, page[:])\n\
             subprocess.run(['{gaining}', '--help'], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)\n\
             subprocess.run(['/bin/true'])\n",
            file.display()
        ),
        as_user,
    );
    let watching = Watching::begin_as(&["--pid", &script.pid().to_string()], by_sudo);
    script.allow("go");
    let watched = watching.ended();
    assert_eq!(watched.fact(watched.phase("write", &file), "write_calls"), 20.0);
    let blind = watched.report["coverage"]["blind_paths"].as_array().expect("blind paths");
    let left = blind.iter().find(|path| path["path"].as_str().is_some_and(|path| path.contains("more rights")));
    assert_eq!(left.expect("it is said")["calls"], 1);
    let executed: Vec<String> = rows(&watched.run, "tasks").iter().map(|row| row["filename"].clone()).collect();
    assert!(executed.iter().any(|file| file == "/bin/true"), "{executed:?}");
    assert!(!executed.iter().any(|file| file == gaining), "{executed:?}");
    let owner = std::os::unix::fs::MetadataExt::uid(&fs::metadata(&watched.run).expect("a run"));
    assert_eq!(owner, NOBODY);
}

#[test]
fn whoever_kills_activebench_ends_nothing_and_the_record_is_completed() {
    needs!(beside: "python3");
    let volume = Volume::on_loop("ext4", 64, "");
    let file = volume.path().join("data");
    let mut script = Script::start(
        &format!(
            "fd = os.open('{}', os.O_CREAT | os.O_WRONLY)\nready('ready')\nwait('go')\n\
             for i in range(30): os.write(fd, page[:])\nready('done')\nwait('end')",
            file.display()
        ),
        |_| (),
    );
    let watching = Watching::begin(&["--pid", &script.pid().to_string()]);
    script.allow("go");
    script.reaches("done");
    watching.signal("-KILL");
    let run = watching.run.clone();
    wait_until("the record is completed", || run.join("run.json.sha256").exists());
    assert!(script.running.lives(), "it was there before, and goes on");
    script.allow("end");
    let again = recheck(&run, &[]);
    assert_eq!(again.verdict(), "inconclusive");
    let phase = format!("write of {}", file.display());
    let phases = again.report["phases"].as_array().expect("phases");
    assert!(phases.iter().any(|found| found["name"] == phase.as_str()), "{phases:#?}");
    assert_eq!(again.report["run"]["watch"]["end"], Value::Null);
}
