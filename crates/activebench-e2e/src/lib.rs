//! Test bench for the end-to-end tests: loop devices with file systems, the built binary, and its parsed reports.
//!
//! A test that cannot run here gives the reason through [`skip`]. It is then counted as skipped, never as passed. The
//! tests share one machine and one page cache: a test has it to itself unless it declares otherwise ([`needs`]). The
//! corpus of planted lies and honest twins is in [`truth`].

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Condvar, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::ordinary::{of_words, product, product_words};

pub mod any_program;
pub mod chromium;
pub mod ordinary;
pub mod small_memory;
pub mod truth;

/// File in which `cargo xtask test` collects skipped tests: one line `NAME<TAB>REASON` each.
const SKIP_LOG: &str = "ACTIVEBENCH_SKIP_LOG";
/// File in which `cargo xtask test` collects the durations of tests: one line `NAME<TAB>SECONDS` each.
const COST_LOG: &str = "ACTIVEBENCH_COST_LOG";
/// Path of the binary that `cargo xtask test` built.
const BINARY: &str = "ACTIVEBENCH_BIN";
/// Exit code of timeout(1) when it ended its command because the time was over.
const EXIT_OF_TIMEOUT: i32 = 124;

/// Reports the running test as skipped.
pub fn skip(reason: &str) {
    skip_named(&this_test(), reason);
}

/// Returns the running test's name, which libtest gives its thread.
pub fn this_test() -> String {
    std::thread::current().name().unwrap_or("a test").to_owned()
}

/// Reports the test of this name as skipped.
pub fn skip_named(test: &str, reason: &str) {
    let Some(log) = std::env::var_os(SKIP_LOG) else {
        eprintln!("ACTIVEBENCH-SKIP {test}: {reason}");
        return;
    };
    append(&log, &format!("{test}\t{reason}\n"));
}

/// Appends a line in one write, so that lines of tests that run at the same time do not mix.
fn append(log: &OsStr, line: &str) {
    let mut file = fs::OpenOptions::new().append(true).create(true).open(log).expect("the log opens");
    file.write_all(line.as_bytes()).expect("the log takes a line");
}

/// Returns the reason why tests with kernel probes and the given programs cannot run here; `None` when they can.
pub fn obstacle(programs: &[&str]) -> Option<String> {
    if !rustix::process::geteuid().is_root() {
        return Some("needs root for kernel probes and loop devices".to_owned());
    }
    if !Path::new("/sys/kernel/btf/vmlinux").exists() {
        return Some("needs a kernel with BTF".to_owned());
    }
    let path = search_path();
    let is_there = |program: &str| std::env::split_paths(&path).any(|folder| folder.join(program).is_file());
    let missing: Vec<_> = programs.iter().copied().filter(|program| !is_there(program)).collect();
    (!missing.is_empty()).then(|| format!("not installed: {}", missing.join(", ")))
}

/// Returns `PATH`, and behind it folders with tools that it often lacks: Debian has a folder for each version of
/// PostgreSQL, and others for what a server of SSH starts.
pub fn search_path() -> OsString {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten();
    let versions = versions.filter_map(|entry| Some(entry.ok()?.path().join("bin")));
    let further = ["/usr/sbin", "/sbin", "/usr/lib/openssh", "/usr/libexec/openssh", "/usr/lib/ssh"].map(PathBuf::from);
    std::env::join_paths(std::env::split_paths(&path).chain(further).chain(versions)).unwrap_or(path)
}

/// Returns from the test, counted as skipped, when it cannot run here; otherwise waits for its turn.
///
/// `needs!("fio")` has the machine to itself. `needs!(beside: "fio")` may run beside other such tests: it mostly waits
/// for a device of its own, or compares counts. It asserts neither times nor that the machine is otherwise idle.
#[macro_export]
macro_rules! needs {
    (beside: $($program:literal),*) => {
        $crate::needs!($crate::Turn::beside_others($crate::this_test()), $($program),*);
    };
    ($($program:literal),*) => {
        $crate::needs!($crate::Turn::alone($crate::this_test()), $($program),*);
    };
    ($turn:expr, $($program:literal),*) => {
        if let Some(reason) = $crate::obstacle(&[$($program),*]) {
            $crate::skip(&reason);
            return;
        }
        let _turn = $turn;
    };
}

/// Largest number of tests that run beside each other.
pub const BESIDE_AT_ONCE: usize = 4;

/// Running tests, and those that wait to run beside others.
#[derive(Debug)]
struct Turns {
    alone: bool,
    beside: usize,
    waiting_beside: usize,
}

static TURNS: Mutex<Turns> = Mutex::new(Turns { alone: false, beside: 0, waiting_beside: 0 });
static TURN_ENDED: Condvar = Condvar::new();

/// Locks the turns. A failed test leaves no state that could break the next one.
fn turns() -> MutexGuard<'static, Turns> {
    TURNS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn wait_while(condition: impl FnMut(&mut Turns) -> bool) -> MutexGuard<'static, Turns> {
    TURN_ENDED.wait_while(turns(), condition).unwrap_or_else(PoisonError::into_inner)
}

/// A test's part of the machine, which has one page cache and one disk. When it ends, its cost is logged.
#[derive(Debug)]
pub struct Turn {
    test: String,
    is_alone: bool,
    started: Instant,
}

impl Turn {
    /// Waits until no other test runs. Tests that may share the machine go first, because together they end sooner.
    pub fn alone(test: String) -> Self {
        wait_while(|turns| turns.alone || turns.beside > 0 || turns.waiting_beside > 0).alone = true;
        Self { test, is_alone: true, started: Instant::now() }
    }

    /// Waits until only tests of this kind run, fewer than the maximum.
    pub fn beside_others(test: String) -> Self {
        turns().waiting_beside += 1;
        let mut turns = wait_while(|turns| turns.alone || turns.beside >= BESIDE_AT_ONCE);
        turns.waiting_beside -= 1;
        turns.beside += 1;
        Self { test, is_alone: false, started: Instant::now() }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        log_cost(&self.test, self.started.elapsed());
        let mut turns = turns();
        match self.is_alone {
            true => turns.alone = false,
            false => turns.beside -= 1,
        }
        TURN_ENDED.notify_all();
    }
}

/// Logs the duration of a test if `cargo xtask test` asks for it.
fn log_cost(test: &str, took: Duration) {
    if let Some(log) = std::env::var_os(COST_LOG) {
        append(&log, &format!("{test}\t{:.3}\n", took.as_secs_f64()));
    }
}

/// Returns the built binary: the one that `cargo xtask test` names, otherwise the one beside this test.
pub fn binary() -> PathBuf {
    if let Some(path) = std::env::var_os(BINARY) {
        return PathBuf::from(path);
    }
    built("activebench", "activebench")
}

/// Returns a program that was built beside this one: in `target/PROFILE`. A test is one folder deeper.
fn built(name: &str, package: &str) -> PathBuf {
    let this = std::env::current_exe().expect("a process knows its program");
    let folder = this.parent().expect("a folder");
    let folder = if folder.ends_with("deps") { folder.parent().expect("target/PROFILE") } else { folder };
    let path = folder.join(name);
    assert!(path.is_file(), "{} is not built (hint: cargo build -p {package})", path.display());
    path
}

/// Asserts that a document follows a schema of `docs/`.
#[track_caller]
pub fn assert_follows(schema: &'static str, document: &Value) {
    static READ: LazyLock<Mutex<HashMap<&str, jsonschema::Validator>>> = LazyLock::new(Mutex::default);
    let mut read = READ.lock().unwrap_or_else(PoisonError::into_inner);
    let validator = read.entry(schema).or_insert_with(|| {
        jsonschema::validator_for(&serde_json::from_str(schema).expect("the schema is JSON")).expect("a valid schema")
    });
    let faults: Vec<String> =
        validator.iter_errors(document).map(|fault| format!("{}: {fault}", fault.instance_path())).collect();
    assert!(faults.is_empty(), "{faults:#?}");
}

fn run(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().unwrap_or_else(|error| panic!("{program}: {error}"));
    assert!(output.status.success(), "{program} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// Makes a loop device on a new file, with direct I/O `on` or `off`.
fn loop_device(backing: &Path, mib: u64, direct_io: &str) -> String {
    let backing = backing.to_str().expect("a UTF-8 path");
    run("fallocate", &["-l", &format!("{mib}M"), backing]);
    run("losetup", &["--find", "--show", &format!("--direct-io={direct_io}"), backing])
}

/// Returns the guaranteed share of the dirty-page limit of a mounted test device, in percent. The kernel grants at most
/// all of the limit, and tests that run beside each other have several devices each.
fn dirty_share_percent() -> u32 {
    if turns().beside > 0 { 10 } else { 30 }
}

/// Reading this file makes a device in compressed memory and returns its number.
const ZRAM_ADD: &str = "/sys/class/zram-control/hot_add";
/// Takes the number of such a device and removes it.
const ZRAM_REMOVE: &str = "/sys/class/zram-control/hot_remove";
/// Longest wait for a share of the dirty pages that other runs have.
const SHARE_WITHIN: Duration = Duration::from_secs(60);

/// A mounted file system of its own; removed when dropped.
#[derive(Debug)]
pub struct Volume {
    folder: TempDir,
    /// The file system is mounted from the first one.
    devices: Vec<String>,
    /// The mount point, if it is in another volume.
    inside: Option<PathBuf>,
    /// The process that serves it and ends when it is unmounted, if it is a child of ours.
    daemon: Option<Child>,
}

impl Volume {
    /// A file system on a loop device with direct I/O to its backing file.
    pub fn on_loop(fs_type: &str, mib: u64, mount_options: &str) -> Self {
        Self::on_loop_with(fs_type, mib, mount_options, "on")
    }

    /// The same through the page cache of the backing file.
    pub fn on_cached_loop(fs_type: &str, mib: u64, mount_options: &str) -> Self {
        Self::on_loop_with(fs_type, mib, mount_options, "off")
    }

    fn on_loop_with(fs_type: &str, mib: u64, mount_options: &str, direct_io: &str) -> Self {
        let folder = TempDir::with_prefix("activebench-e2e-").expect("a temporary folder");
        let device = loop_device(&folder.path().join("backing.img"), mib, direct_io);
        let volume = Self { folder, devices: vec![device.clone()], inside: None, daemon: None };
        volume.make_and_mount(fs_type, mount_options);
        volume
    }

    /// Makes a file system on a new device in compressed memory.
    ///
    /// # Errors
    /// Returns the reason why this host cannot make one.
    pub fn on_zram(fs_type: &str, mib: u64, mount_options: &str) -> Result<Self, String> {
        let number = fs::read_to_string(ZRAM_ADD).map_err(|error| format!("needs zram: {ZRAM_ADD}: {error}"))?;
        let name = format!("zram{}", number.trim());
        let folder = TempDir::with_prefix("activebench-e2e-").expect("a temporary folder");
        let volume = Self { folder, devices: vec![format!("/dev/{name}")], inside: None, daemon: None };
        fs::write(format!("/sys/block/{name}/disksize"), format!("{mib}M")).expect("zram takes a size");
        volume.make_and_mount(fs_type, mount_options);
        Ok(volume)
    }

    fn block_attribute(&self, attribute: &str) -> PathBuf {
        let name = self.device().and_then(|device| device.strip_prefix("/dev/")).expect("a device");
        Path::new("/sys/block").join(name).join(attribute)
    }

    fn make_and_mount(&self, fs_type: &str, mount_options: &str) {
        let device = self.device().expect("a device");
        match fs_type {
            // Avoid a background initialisation that would look like foreign I/O.
            "ext4" => run("mkfs.ext4", &["-q", "-E", "lazy_itable_init=0,lazy_journal_init=0", device]),
            other => run(&format!("mkfs.{other}"), &["-q", device]),
        };
        self.mount(&["-t", fs_type, "-o", mount_options, device]);
        self.set_dirty_share(dirty_share_percent());
    }

    /// Makes a loop device without content, not mounted.
    pub fn raw(mib: u64) -> Self {
        let folder = TempDir::with_prefix("activebench-e2e-").expect("a temporary folder");
        let device = loop_device(&folder.path().join("backing.img"), mib, "on");
        Self { folder, devices: vec![device], inside: None, daemon: None }
    }

    /// Makes a file system on the device, and mounts it.
    pub fn put_file_system(&self, fs_type: &str) {
        self.make_and_mount(fs_type, "defaults");
    }

    /// Makes a btrfs with its data in stripes over several loop devices.
    pub fn striped_btrfs(mib_each: u64, count: usize) -> Self {
        let folder = TempDir::with_prefix("activebench-e2e-").expect("a temporary folder");
        let backing = |number| folder.path().join(format!("backing-{number}.img"));
        let devices: Vec<String> = (0..count).map(|number| loop_device(&backing(number), mib_each, "on")).collect();
        let volume = Self { folder, devices: devices.clone(), inside: None, daemon: None };
        let mut arguments = vec!["-q", "-d", "raid0"];
        arguments.extend(devices.iter().map(String::as_str));
        run("mkfs.btrfs", &arguments);
        volume.mount(&["-t", "btrfs", "-o", "noatime", &devices[0]]);
        volume
    }

    /// btrfs in two copies on two loop devices.
    pub fn mirrored_btrfs(mib_each: u64) -> Self {
        let folder = TempDir::with_prefix("activebench-e2e-").expect("a temporary folder");
        let devices = ["one", "two"].map(|name| loop_device(&folder.path().join(name), mib_each, "on"));
        let [one, two] = &devices;
        run("mkfs.btrfs", &["-q", "-d", "raid1", "-m", "raid1", one, two]);
        let volume = Self { folder, devices: devices.to_vec(), inside: None, daemon: None };
        volume.mount(&["-t", "btrfs", "-o", "noatime", &volume.devices[0]]);
        volume
    }

    /// Removes the last member of a mirror; the file system continues without it.
    pub fn lose_a_member(&mut self) {
        let lost = self.devices.pop().expect("a member");
        self.unmount();
        run("losetup", &["-d", &lost]);
        // The kernel remembers members that it has seen.
        run("btrfs", &["device", "scan", "--forget"]);
        let (device, mount_point) = (&self.devices[0], self.path());
        run("mount", &["-o", "noatime,degraded", device, mount_point.to_str().expect("a UTF-8 path")]);
    }

    /// A device that the kernel swaps to during the life of the volume; nothing is mounted.
    ///
    /// # Errors
    /// Returns the reason why this host refuses.
    pub fn swap(mib: u64) -> Result<Self, String> {
        let folder = TempDir::with_prefix("activebench-e2e-").expect("a temporary folder");
        let device = loop_device(&folder.path().join("swap.img"), mib, "on");
        let volume = Self { folder, devices: vec![device.clone()], inside: None, daemon: None };
        run("mkswap", &[&device]);
        let output = Command::new("swapon").arg(&device).output().map_err(|error| format!("needs swap: {error}"))?;
        match output.status.success() {
            true => Ok(volume),
            false => Err(format!("needs swap: {}", String::from_utf8_lossy(&output.stderr).trim())),
        }
    }

    /// Sets the device's guaranteed share of the dirty-page limit, in percent. A new device has none, so the kernel
    /// writes back at once and leaves little work to a later sync.
    fn set_dirty_share(&self, percent: u32) {
        let Some(name) = self.device().and_then(|device| device.strip_prefix("/dev/")) else { return };
        let number = fs::read_to_string(format!("/sys/block/{name}/dev")).expect("a device number");
        let file = format!("/sys/class/bdi/{}/min_ratio", number.trim());
        let started = Instant::now();
        // The shares of all devices are less than 100 %: other runs on this machine may have the rest for now.
        while let Err(error) = fs::write(&file, percent.to_string()) {
            assert!(started.elapsed() < SHARE_WITHIN, "it takes no share: {error}");
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    fn without_device() -> Self {
        let folder = TempDir::with_prefix("activebench-e2e-").expect("a temporary folder");
        Self { folder, devices: Vec::new(), inside: None, daemon: None }
    }

    /// A tmpfs.
    pub fn tmpfs(mib: u64) -> Self {
        let volume = Self::without_device();
        volume.mount(&["-t", "tmpfs", "-o", &format!("size={mib}m"), "tmpfs"]);
        volume
    }

    /// An overlay over two folders of a file system.
    pub fn overlay(below: &Volume) -> Self {
        let volume = Self::without_device();
        let folder = below.path();
        for name in ["lower", "upper", "work"] {
            fs::create_dir(folder.join(name)).expect("a folder");
        }
        let folder = folder.display();
        let options = format!("lowerdir={folder}/lower,upperdir={folder}/upper,workdir={folder}/work");
        volume.mount(&["-t", "overlay", "overlay", "-o", &options]);
        volume
    }

    /// Makes the same, mounted from inside the file system below with relative folder names.
    pub fn relative_overlay(below: &Volume) -> Self {
        let mut volume = Self::without_device();
        for name in ["lower", "upper", "work", "merged"] {
            fs::create_dir(below.path().join(name)).expect("a folder");
        }
        volume.inside = Some(below.path().join("merged"));
        let options = "lowerdir=lower,upperdir=upper,workdir=work";
        let mut mount = Command::new("mount");
        mount.args(["-t", "overlay", "overlay", "-o", options, "merged"]).current_dir(below.path());
        assert!(mount.status().expect("mount runs").success(), "an overlay is mounted");
        volume
    }

    /// ext4 in a file, served by a process through FUSE.
    pub fn fuse(mib: u64) -> Self {
        let volume = Self::without_device();
        let backing = volume.beside("backing.img");
        let backing = backing.to_str().expect("a UTF-8 path");
        run("fallocate", &["-l", &format!("{mib}M"), backing]);
        run("mkfs.ext4", &["-q", "-F", backing]);
        fs::create_dir(volume.path()).expect("a mount point");
        run("fuse2fs", &[backing, volume.path().to_str().expect("a UTF-8 path"), "-o", "fakeroot,allow_other"]);
        volume
    }

    /// The folder of another volume, served by a process through FUSE.
    pub fn bindfs(below: &Self) -> Self {
        let volume = Self::without_device();
        fs::create_dir(volume.path()).expect("a mount point");
        let [from, to] = [below.path(), volume.path()].map(|path| path.to_str().expect("a UTF-8 path").to_owned());
        run("bindfs", &["-o", "allow_other", &from, &to]);
        volume
    }

    /// The file system of `small-fuse`, whose path is given, with its options.
    pub fn small_fuse(program: &str, options: &[&str]) -> Self {
        let mut volume = Self::without_device();
        fs::create_dir(volume.path()).expect("a mount point");
        let mut command = Command::new(program);
        command.arg(volume.path()).args(options).stdout(Stdio::piped());
        let daemon = volume.daemon.insert(command.spawn().expect("the daemon starts"));
        let mut line = String::new();
        let said = daemon.stdout.take().expect("a pipe");
        BufReader::new(said).read_line(&mut line).expect("a line");
        assert_eq!(line, "mounted\n");
        volume
    }

    /// A folder of another volume through sshfs and the server that it talks to, without a network between them.
    pub fn sshfs(below: &Self) -> Self {
        let volume = Self::without_device();
        fs::create_dir(volume.path()).expect("a mount point");
        // In the place of ssh: its words name a host.
        let command = volume.beside("ssh");
        fs::write(&command, "#!/bin/sh\nexec sftp-server\n").expect("a script");
        fs::set_permissions(&command, fs::Permissions::from_mode(0o755)).expect("its mode");
        let options = format!("allow_other,ssh_command={}", command.display());
        let from = format!("here:{}", below.path().display());
        let mut mount = Command::new("sshfs");
        mount.args(["-o", &options, &from]).arg(volume.path()).env("PATH", search_path());
        assert!(mount.status().expect("sshfs runs").success(), "{from} is mounted");
        volume
    }

    fn mount(&self, arguments: &[&str]) {
        fs::create_dir_all(self.path()).expect("a mount point");
        let mount_point = self.path();
        let mut arguments = arguments.to_vec();
        arguments.push(mount_point.to_str().expect("a UTF-8 path"));
        run("mount", &arguments);
    }

    /// The mount point.
    pub fn path(&self) -> PathBuf {
        self.inside.clone().unwrap_or_else(|| self.folder.path().join("mount"))
    }

    /// Returns the block device; `None` for tmpfs.
    pub fn device(&self) -> Option<&str> {
        self.devices.first().map(String::as_str)
    }

    /// Returns the block device's number as the stages of a run show it.
    pub fn device_number(&self) -> String {
        let name = self.device().and_then(|device| device.strip_prefix("/dev/")).expect("a device");
        let number = fs::read_to_string(format!("/sys/block/{name}/dev")).expect("a device number");
        number.trim().to_owned()
    }

    /// Returns a shell command that waits until the device has read this many bytes more, but at most 20 s.
    ///
    /// What follows it then depends on what was read, not on how fast the machine is.
    pub fn wait_for_reads(&self, bytes: u64) -> String {
        let name = self.device().and_then(|device| device.strip_prefix("/dev/")).expect("a device");
        let read = format!("read _ _ now _ < /sys/block/{name}/stat");
        let sectors = bytes / 512;
        format!(
            "{read}; end=$((now + {sectors})); tries=200; \
             while [ $now -lt $end ] && [ $tries -gt 0 ]; do sleep 0.1; tries=$((tries - 1)); {read}; done"
        )
    }

    /// Returns the path of a file or folder outside the volume, for example for run directories.
    pub fn beside(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Makes a file with data, written by fio and durable; none of it is in the page cache.
    pub fn lay_out(&self, name: &str, mib: u64) {
        let made = Command::new("fio")
            .args(["--name=layout", "--rw=write", "--bs=1m", "--end_fsync=1"])
            .args([format!("--filename={name}"), format!("--size={mib}m")])
            .current_dir(self.path())
            .output()
            .expect("fio runs");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        self.drop_caches();
    }

    /// Writes everything back and empties the page cache. If this file system can be mounted again, only its own pages
    /// go, so that tests beside this one keep theirs; otherwise all pages go.
    pub fn drop_caches(&self) {
        let mounted = self.device().and_then(|_| self.mounted_as());
        if let (Some(device), None) = (self.device().filter(|device| !swaps_to(device)), &mounted) {
            run("blockdev", &["--flushbufs", device]);
            return;
        }
        let Some((fs_type, options)) = mounted.filter(|_| self.try_unmount()) else {
            return drop_all_caches();
        };
        for backing in self.backing_files() {
            // A loop device may read the file through the page cache. This moves no data and asks the kernel to drop
            // the pages.
            run("dd", &[&format!("if={backing}"), "iflag=nocache", "count=0", "status=none"]);
        }
        self.mount(&["-t", &fs_type, "-o", &options, &self.devices[0]]);
    }

    /// Returns the file system type and options of the mount; `None` when it is not mounted.
    fn mounted_as(&self) -> Option<(String, String)> {
        let mounts = fs::read_to_string("/proc/self/mounts").expect("the list of mounts");
        let mount_point = self.path();
        let fields = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>());
        let mut of_this = fields.filter(|fields| fields.get(1).is_some_and(|at| Path::new(at) == mount_point));
        let fields = of_this.next()?;
        Some((fields.get(2)?.to_string(), fields.get(3)?.to_string()))
    }

    /// Returns the files below its loop devices.
    fn backing_files(&self) -> impl Iterator<Item = String> {
        let names = self.devices.iter().filter_map(|device| device.strip_prefix("/dev/"));
        let file = |name| {
            let attribute = PathBuf::from(format!("/sys/block/{name}/loop/backing_file"));
            // A device in memory has none.
            attribute.exists().then(|| fs::read_to_string(attribute).expect("a loop device names its file"))
        };
        names.filter_map(file).map(|path| path.trim().to_owned())
    }
}

impl Volume {
    /// Returns `false` when a process still uses the mount.
    fn try_unmount(&self) -> bool {
        let unmounted = Command::new("umount").arg("--quiet").arg(self.path()).status();
        let unmounted = unmounted.is_ok_and(|status| status.success());
        if unmounted {
            self.wait_until_released();
        }
        unmounted
    }

    /// Waits until the kernel lets go of the device. A test beside this one may have copied the mount into a namespace
    /// of its own, where it stays with its page cache until that namespace ends.
    fn wait_until_released(&self) {
        let Some(device) = self.device().filter(|device| !swaps_to(device) && !is_mounted(device)) else { return };
        let end = Instant::now() + Duration::from_secs(20);
        while fs::OpenOptions::new().read(true).custom_flags(libc::O_EXCL).open(device).is_err() {
            if Instant::now() > end {
                eprintln!("cleaning up: {device} stays in use");
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Unmounts the file system; the device stays.
    pub fn unmount(&self) {
        // A process that was killed a moment ago may still hold the mount.
        let mount_point = self.path();
        let unmounted = (0..50).any(|attempt| {
            if attempt > 0 {
                std::thread::sleep(Duration::from_millis(100));
            }
            self.try_unmount()
        });
        if !unmounted {
            eprintln!("cleaning up: {} stays mounted", mount_point.display());
        }
    }
}

/// Writes everything back and empties the page cache of every file system.
pub fn drop_all_caches() {
    run("sync", &[]);
    fs::write("/proc/sys/vm/drop_caches", "3").expect("drop_caches takes 3");
}

impl Drop for Volume {
    fn drop(&mut self) {
        self.set_dirty_share(0);
        if mounted(&self.path()) {
            self.unmount();
        }
        if let Some(daemon) = &mut self.daemon {
            // It has ended by itself, unless the file system stays mounted.
            let ended = daemon.kill().and_then(|()| daemon.wait());
            if let Err(error) = ended {
                eprintln!("cleaning up: {error}");
            }
        }
        for device in self.devices.iter().filter(|device| swaps_to(device)) {
            match Command::new("swapoff").arg(device).status() {
                Ok(status) if status.success() => {}
                other => eprintln!("cleaning up: swapoff {device}: {other:?}"),
            }
        }
        for device in &self.devices {
            if let Some(number) = device.strip_prefix("/dev/zram") {
                if let Err(error) = fs::write(ZRAM_REMOVE, number) {
                    eprintln!("cleaning up: {device}: {error}");
                }
                continue;
            }
            match Command::new("losetup").arg("-d").arg(device).status() {
                Ok(status) if status.success() => {}
                other => eprintln!("cleaning up: losetup -d {device}: {other:?}"),
            }
        }
    }
}

/// Returns `true` when a file system of a device is mounted here.
fn is_mounted(device: &str) -> bool {
    let mounts = fs::read_to_string("/proc/self/mounts").expect("the list of mounts");
    mounts.lines().any(|line| line.split(' ').next() == Some(device))
}

/// Returns `true` when the kernel swaps to a device.
fn swaps_to(device: &str) -> bool {
    let swaps = match fs::read_to_string("/proc/swaps") {
        Ok(swaps) => swaps,
        Err(error) => {
            eprintln!("cleaning up: cannot read /proc/swaps: {error}");
            return false;
        }
    };
    swaps.lines().any(|line| line.split_whitespace().next() == Some(device))
}

fn mounted(path: &Path) -> bool {
    Command::new("mountpoint").arg("--quiet").arg(path).status().is_ok_and(|status| status.success())
}

/// A control group of version 1 that limits reads; removed when dropped.
#[derive(Debug)]
pub struct Throttled {
    group: PathBuf,
    device: String,
}

impl Throttled {
    /// Limits reads from a volume's device to this rate in bytes per second; `None` without the controller.
    pub fn reads(volume: &Volume, bytes_per_sec: u64) -> Option<Self> {
        static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let number = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let name = format!("activebench-e2e-{}-{number}", std::process::id());
        let group = Path::new("/sys/fs/cgroup/blkio").join(name);
        let name = volume.device()?.strip_prefix("/dev/")?.to_owned();
        let device = fs::read_to_string(format!("/sys/block/{name}/dev")).ok()?.trim().to_owned();
        fs::create_dir(&group).ok()?;
        let throttled = Self { group, device };
        fs::write(throttled.limit(), format!("{} {bytes_per_sec}", throttled.device)).ok()?;
        Some(throttled)
    }

    fn limit(&self) -> PathBuf {
        self.group.join("blkio.throttle.read_bps_device")
    }

    /// Returns a shell script that runs a command inside the group.
    pub fn join(&self, command: &str) -> String {
        format!("echo $$ > {}/cgroup.procs; exec {command}", self.group.display())
    }

    /// Returns a shell command that sets another rate.
    pub fn allow(&self, bytes_per_sec: u64) -> String {
        format!("echo {} {bytes_per_sec} > {}", self.device, self.limit().display())
    }
}

impl Drop for Throttled {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir(&self.group) {
            eprintln!("cleaning up: {}: {error}", self.group.display());
        }
    }
}

/// Returns the most memory that a process had until it ended, without its code. The kernel keeps no such maximum, so
/// the value is polled.
pub fn most_private_bytes(child: &mut Child) -> i64 {
    let status = format!("/proc/{}/status", child.id());
    let mut most_kib: Option<i64> = None;
    while child.try_wait().expect("a child").is_none() {
        // A process that is ending has no such line.
        let text = fs::read_to_string(&status).ok();
        let line = text.as_deref().and_then(|text| text.lines().find_map(|line| line.strip_prefix("RssAnon:")));
        let kib = line.and_then(|line| line.trim().strip_suffix(" kB")).and_then(|kib| kib.parse().ok());
        most_kib = most_kib.max(kib);
        std::thread::sleep(Duration::from_millis(5));
    }
    most_kib.expect("its memory was read") * 1024
}

/// A finished `activebench verify`.
#[derive(Debug)]
pub struct Verified {
    /// Its report; null when it printed none.
    pub report: Value,
    /// The run directory.
    pub run: PathBuf,
    /// The process.
    pub output: Output,
}

/// Runs `activebench verify` in a folder, with the run directory elsewhere.
pub fn verify(volume: &Volume, options: &[&str], command: &[&str]) -> Verified {
    static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let number = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    verify_in(&volume.path(), volume.beside(&format!("run-{number}")), options, command)
}

/// Runs activebench itself in a PID namespace of its own.
pub fn verify_in_pid_namespace(volume: &Volume, command: &[&str]) -> Verified {
    let mut observer = Command::new("unshare");
    observer.args(["--pid", "--fork", "--mount-proc"]).args(product_words());
    verify_by(observer, &volume.path(), volume.beside("run-in-namespace"), &[], command)
}

/// Runs fio on a file `data` of this size in MiB, on a new ext4 and not in the page cache.
pub fn fio_on_data(mib: u64, options: &[&str]) -> (Volume, Verified) {
    let volume = Volume::on_loop("ext4", 256, "noatime");
    volume.lay_out("data", mib);
    let size = format!("--size={mib}m");
    let command = [&["fio", "--name=a", "--filename=data", &size], options].concat();
    let run = verify(&volume, &["--fail-on", "never"], &command);
    (volume, run)
}

/// Runs it in any folder, with this run directory.
pub fn verify_in(folder: &Path, run: PathBuf, options: &[&str], command: &[&str]) -> Verified {
    verify_by(product(), folder, run, options, command)
}

/// The same with a time limit; `None` when the run was interrupted at the limit.
pub fn verify_within(
    limit: Duration,
    folder: &Path,
    run: PathBuf,
    options: &[&str],
    command: &[&str],
) -> Option<Verified> {
    let seconds = limit.as_secs().to_string();
    // An observer that has not ended 60 s later has hung too: it is killed, and prints no report.
    let limited = ["timeout", "--signal=INT", "--kill-after=60", &seconds].map(OsString::from);
    let limited = of_words(&[limited.to_vec(), product_words()].concat());
    let verified = verify_by(limited, folder, run, options, command);
    (verified.exit_code() != Some(EXIT_OF_TIMEOUT)).then_some(verified)
}

fn verify_by(mut observer: Command, folder: &Path, run: PathBuf, options: &[&str], command: &[&str]) -> Verified {
    let output = observer
        .args(["verify", "--format", "json", "--out"])
        .arg(&run)
        .args(options)
        .arg("--")
        .args(command)
        .current_dir(folder)
        .env("PATH", search_path())
        .output()
        .expect("the binary runs");
    Verified::of(run, output)
}

/// Judges a stored run again.
pub fn recheck(run: &Path, options: &[&str]) -> Verified {
    let output = product().args(["recheck", "--format", "json"]).args(options).arg(run).output();
    Verified::of(run.to_owned(), output.expect("the binary runs"))
}

/// Returns a stage of a stored run as rows by column name.
pub fn rows(run: &Path, stage: &str) -> Vec<HashMap<String, String>> {
    let output = Command::new(binary())
        .args(["show", "--format", "csv", "--stage", stage])
        .arg(run)
        .output()
        .expect("the binary runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut reader = csv::Reader::from_reader(output.stdout.as_slice());
    reader.deserialize().map(|row| row.expect("a row")).collect()
}

/// Returns the rows of a stage as `show --format json` prints them.
pub fn stage(run: &Path, stage: &str) -> Vec<Value> {
    let output = Command::new(binary())
        .args(["show", "--format", "json", "--stage", stage])
        .arg(run)
        .output()
        .expect("the binary runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// Returns the facts of a phase by their names; `(run)` is the whole run.
pub fn facts(run: &Path, phase: &str) -> HashMap<String, Value> {
    let rows = stage(run, "facts").into_iter().filter(|row| row["phase"] == phase && row["of"] == "");
    rows.map(|row| (row["fact"].as_str().expect("a name").to_owned(), row)).collect()
}

impl Verified {
    fn of(run: PathBuf, output: Output) -> Self {
        let report = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
        let verified = Self { report, run, output };
        match verified.report.is_null() {
            true => eprintln!("no report:\n{}", verified.stderr()),
            false => verified.assert_fits_its_schema(),
        }
        verified
    }

    /// Asserts that a report follows `docs/report.schema.json`, and that of a series `docs/series.schema.json`.
    fn assert_fits_its_schema(&self) {
        let is_series = self.report["schema"].as_str().is_some_and(|name| name.starts_with("activebench.series/"));
        let of_a_run = include_str!("../../../docs/report.schema.json");
        let of_a_series = include_str!("../../../docs/series.schema.json");
        assert_follows(if is_series { of_a_series } else { of_a_run }, &self.report);
    }

    /// Exit code of activebench.
    pub fn exit_code(&self) -> Option<i32> {
        self.output.status.code()
    }

    /// Returns the standard error: its messages, and the tool's output.
    pub fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.output.stderr).into_owned()
    }

    /// The run's verdict.
    pub fn verdict(&self) -> &str {
        self.report["verdict"].as_str().unwrap_or("")
    }

    /// The verdict on the throughput claim of a phase.
    pub fn claim_verdict(&self, phase: &str) -> &str {
        self.claim(phase)["verdict"].as_str().unwrap_or("")
    }

    /// The first claim of a phase.
    pub fn claim(&self, phase: &str) -> &Value {
        let claims = self.report["claims"].as_array().map_or(&[][..], Vec::as_slice);
        claims.iter().find(|claim| claim["phase"] == phase).unwrap_or(&Value::Null)
    }

    /// Codes that fire on a phase, ascending.
    pub fn codes(&self, phase: &str) -> Vec<&str> {
        let findings = self.report["findings"].as_array().map_or(&[][..], Vec::as_slice);
        let mut codes: Vec<&str> = findings
            .iter()
            .filter(|finding| finding["outcome"] == "fires" && finding["phase"] == phase)
            .filter_map(|finding| finding["code"].as_str())
            .collect();
        codes.sort_unstable();
        codes.dedup();
        codes
    }

    /// Asserts that every claim is confirmed and that the only warnings are about this machine: the length of the
    /// passes (AB701), the cost of the observation where storage is as fast as memory (AB903), and other activity
    /// (AB602, AB603, AB605). Without these warnings the run is verified.
    pub fn assert_honest(&self) {
        let list = |part: &str| self.report[part].as_array().cloned().unwrap_or_default();
        assert!(!list("claims").is_empty(), "{}", self.story());
        // Chance decides if times of single operations and shares of CPU time are close enough to be confirmed. The
        // same applies to all figures of a pass that is too short.
        let is_short = |phase: &Value| {
            list("findings").iter().any(|f| f["code"] == "AB701" && f["outcome"] == "fires" && f["phase"] == *phase)
        };
        let may_be_open = |claim: &Value| {
            let metric = claim["metric"].as_str().unwrap_or("");
            metric.contains("latency") || metric.starts_with("cpu-") || is_short(&claim["phase"])
        };
        // The hypervisor gave so much of the CPU time to others that the figure is nobody's. No other cause is excused.
        let is_stolen = |phase: &Value| {
            let of_phase = |f: &&Value| f["outcome"] == "fires" && f["phase"] == *phase;
            list("findings").iter().filter(of_phase).any(|f| f["code"] == "AB602" && f["severity"] == "fail")
        };
        let mut stolen = false;
        for claim in list("claims") {
            let holds = claim["verdict"] == "confirmed" || claim["verdict"] == "not-checked" && may_be_open(&claim);
            let is_open = claim["verdict"] == "unverifiable" && is_stolen(&claim["phase"]);
            assert!(holds || is_open, "{}", self.story());
            stolen |= is_open;
        }
        // A run of milliseconds is too short to measure its cost, and the influence of other tasks.
        // Where others took CPU time, they may have taken more of it towards the end.
        let is_shared = |phase: &Value| {
            list("findings").iter().any(|f| f["code"] == "AB602" && f["outcome"] == "fires" && f["phase"] == *phase)
        };
        let of_the_machine = |finding: &Value| match finding["code"].as_str().unwrap_or("") {
            "AB602" | "AB603" | "AB605" | "AB903" => true,
            "AB703" => is_shared(&finding["phase"]),
            _ => false,
        };
        // Some machines hide completions of requests from every tracer: findings that depend on them are undecided.
        let hidden =
            |finding: &Value| finding["message"].as_str().is_some_and(|text| text.contains(" requests was not seen"));
        let warns = |finding: &Value| finding["outcome"] == "fires" && finding["severity"] != "note";
        let open = |finding: &Value| finding["outcome"] == "undecided";
        for finding in list("findings") {
            let excused = of_the_machine(&finding);
            assert!(!warns(&finding) || finding["code"] == "AB701" || excused, "{}", self.story());
            assert!(!open(&finding) || excused || hidden(&finding), "{finding}");
        }
        let qualifies = |finding: &Value| warns(finding) || open(finding) && finding["code"] != "AB903";
        let expected = match list("findings").iter().any(qualifies) {
            _ if stolen => ("inconclusive", Some(3)),
            true => ("qualified", Some(0)),
            false => ("verified", Some(0)),
        };
        assert_eq!((self.verdict(), self.exit_code()), expected, "{}", self.story());
    }

    /// Returns the limiter of a phase, or null.
    pub fn limiter(&self, phase: &str) -> &Value {
        let phases = self.report["phases"].as_array().map_or(&[][..], Vec::as_slice);
        phases.iter().find(|candidate| candidate["id"] == phase).map_or(&Value::Null, |phase| &phase["limiter"])
    }

    /// Returns the value of a fact of a phase.
    pub fn fact(&self, phase: &str, name: &str) -> f64 {
        let fact = self.stated(phase, name);
        fact["value"].as_f64().unwrap_or_else(|| panic!("no fact {name} of {phase}: {fact}"))
    }

    /// Returns the value of a fact of a phase; `None` where it is missing or was not computed.
    pub fn fact_if_known(&self, phase: &str, name: &str) -> Option<f64> {
        self.stated(phase, name)["value"].as_f64()
    }

    fn stated(&self, phase: &str, name: &str) -> &Value {
        let phases = self.report["phases"].as_array().map_or(&[][..], Vec::as_slice);
        let found = phases.iter().find(|candidate| candidate["id"] == phase);
        found.map_or(&Value::Null, |phase| &phase["facts"][name])
    }

    /// Asserts that made = received + lost and lost = 0 for every class of records.
    pub fn assert_nothing_lost(&self) {
        let manifest: Value =
            serde_json::from_slice(&fs::read(self.run.join("run.json")).expect("run.json")).expect("JSON");
        let records = manifest["coverage"]["records"].as_object().expect("accounts of records");
        assert!(records.len() >= 6, "{records:?}");
        for (class, account) in records {
            assert_eq!(account["made"], account["received"], "{class}");
            assert_eq!(account["lost"], 0, "{class}");
        }
    }

    /// Returns a stage of the run as rows by column name.
    pub fn rows(&self, stage: &str) -> Vec<HashMap<String, String>> {
        rows(&self.run, stage)
    }

    /// Returns all details for a failed assertion.
    pub fn story(&self) -> String {
        let findings = self.report["findings"].as_array().map_or(&[][..], Vec::as_slice);
        let fired: Vec<String> = findings
            .iter()
            .filter(|finding| finding["outcome"] == "fires" || finding["outcome"] == "undecided")
            .map(|f| format!("{} {} {} {}: {}", f["code"], f["outcome"], f["severity"], f["phase"], f["message"]))
            .collect();
        format!(
            "verdict {} exit {:?}\n{}\nclaims {:#}\n{}",
            self.verdict(),
            self.exit_code(),
            fired.join("\n"),
            self.report["claims"],
            self.stderr()
        )
    }
}
