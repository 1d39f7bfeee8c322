//! The emulated machine: its disks, its boot, and its messages.
//!
//! Three disks: the programs (read only), the volume under test, and a raw disk that takes the results as a tar
//! archive; three more where layers are made of them. The serial line carries progress only.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::kernels::layers;
use crate::kernels::modules::{self, Module};
use crate::kernels::set::Set;
use crate::kernels::steps::{Amount, MARK};
use crate::{process, tools};

/// Last message of a machine that has completed its work.
const DONE: &str = "done";
/// Size of the volume under test, in bytes.
const VOLUME_BYTES: u64 = 1 << 30;
/// Size of the disk for the results, in bytes.
const RESULTS_BYTES: u64 = 512 << 20;
/// Number of disks for layers, and the size of each in bytes.
const LAYER_DISKS: usize = 3;
const LAYER_DISK_BYTES: u64 = 192 << 20;
/// Write rate of the disk under test, in bytes per second. It makes the transfer of a step's data to the disk visibly
/// slower than its copy into the page cache, whatever the machine below does.
const DISK_WRITE_RATE: u64 = 8 << 20;
/// Longest time without a progress message: longer than the boot or any step.
const SILENCE: Duration = Duration::from_secs(10 * 60);
/// Memory of the machine.
const MEMORY: &str = "2G";
/// CPUs of the machine.
const PROCESSORS: &str = "2";
/// Names under which the machine uses busybox.
const APPLETS: &[&str] = &[
    "cat",
    "cp",
    "date",
    "echo",
    "grep",
    "insmod",
    "ip",
    "ls",
    "mkdir",
    "mount",
    "reboot",
    "rm",
    "rmdir",
    "sh",
    "sleep",
    "switch_root",
    "sync",
    "tar",
    "timeout",
    "umount",
    "uname",
];

/// Loads the modules, then continues on the disk of programs.
const INIT: &str = "#!/bin/sh
export PATH=/bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
for module in $(cat /modules/order); do
    insmod /modules/$module || echo \"@@ cannot load $module\"
done
tries=0
until [ -b /dev/vdc ]; do
    tries=$((tries + 1))
    [ $tries -le 50 ] || { echo '@@ the disks do not show'; reboot -f; }
    sleep 0.2
done
mount -t ext4 -o ro /dev/vda /root || { echo '@@ cannot mount the disk of programs'; reboot -f; }
for folder in proc sys dev; do mount -o move /$folder /root/$folder; done
exec switch_root /root /smoke/machine
";

/// Runs the script, writes the results, and ends the machine.
const MACHINE: &str = "#!/bin/sh
export PATH=/usr/sbin:/usr/bin HOME=/tmp
mount -t tmpfs tmpfs /tmp
mount -t tmpfs tmpfs /dev/shm 2>/dev/null || { mkdir -p /dev/shm; mount -t tmpfs tmpfs /dev/shm; }
mount -t ext4 -o noatime /dev/vdb /volume || { echo '@@ cannot mount the volume'; reboot -f; }
echo \"@@ booted $(uname -r)\"
mkdir /tmp/out
sh /smoke/steps /usr/bin/activebench /tmp/out /volume
tar -cf /dev/vdc -C /tmp/out . && sync && echo '@@ done'
reboot -f
";

/// Files for one boot.
#[derive(Debug)]
pub(crate) struct Boot {
    kernel: PathBuf,
    initramfs: PathBuf,
    programs: PathBuf,
    volume: PathBuf,
    results: PathBuf,
    /// Disks for layers.
    layers: Vec<PathBuf>,
}

/// Makes the disk of programs that run in the machine, with the libraries that they need.
///
/// # Errors
/// When a program is missing, or its libraries are unknown.
pub(crate) fn programs_disk(
    folder: &Path,
    activebench: &Path,
    busybox: &Path,
    (set, amount): (Set, Amount),
) -> Result<PathBuf> {
    let tree = folder.join("programs");
    make_folder(&tree.join(layers::VOLUME.trim_start_matches('/')))?;
    for name in ["usr/bin", "usr/sbin", "usr/lib", "usr/lib64", "proc", "sys", "dev", "tmp", "volume", "smoke", "etc"] {
        make_folder(&tree.join(name))?;
    }
    for name in ["bin", "sbin", "lib", "lib64"] {
        symlink(format!("usr/{name}"), tree.join(name)).with_context(|| format!("cannot link {name}"))?;
    }
    busybox_applets(busybox, &tree.join("usr/bin"))?;
    let mut programs = vec![(activebench.to_owned(), "activebench")];
    for tool in [&tools::IOZONE, &tools::FIO].iter().chain(set.programs()) {
        programs.push((tool.find().with_context(|| format!("{} is not installed", tool.command))?, tool.command));
    }
    for (path, name) in &programs {
        copy(path, &tree.join("usr/bin").join(name))?;
        for library in libraries(path)? {
            let to = tree.join(library.strip_prefix("/").unwrap_or(&library));
            if let Some(parent) = to.parent() {
                make_folder(parent)?;
            }
            copy(&library, &to)?;
        }
    }
    write_program(&tree.join("smoke/machine"), MACHINE)?;
    write_program(&tree.join("smoke/steps"), &set.script(amount))?;
    let disk = folder.join("programs.img");
    make_ext4(&disk, bytes_below(&tree)? * 5 / 4 + (64 << 20), Some(&tree))?;
    fs::remove_dir_all(&tree).with_context(|| format!("cannot remove {}", tree.display()))?;
    Ok(disk)
}

/// Prepares the files that a kernel boots with; `package` is its extracted package.
///
/// # Errors
/// When the package does not contain exactly one kernel with its modules, or a disk cannot be made.
pub(crate) fn prepare(folder: &Path, package: &Path, busybox: &Path, programs: &Path, set: Set) -> Result<Boot> {
    let kernel = only_entry(&package.join("boot"), "vmlinuz-")?;
    let version = kernel.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let version = version.trim_start_matches("vmlinuz-");
    let folders = ["lib/modules", "usr/lib/modules"].map(|name| package.join(name).join(version));
    let modules = folders.iter().find(|folder| folder.is_dir());
    let modules = modules.with_context(|| format!("the package has no modules of {version}"))?;
    let initramfs = initramfs(folder, &modules::needed(modules, &set.modules())?, busybox)?;
    let volume = folder.join("volume.img");
    make_ext4(&volume, VOLUME_BYTES, None)?;
    let results = folder.join("results.img");
    make_sparse(&results, RESULTS_BYTES)?;
    let disks = if set == Set::Layers { LAYER_DISKS } else { 0 };
    let layers: Vec<PathBuf> = (0..disks).map(|number| folder.join(format!("layer-{number}.img"))).collect();
    layers.iter().try_for_each(|disk| make_sparse(disk, LAYER_DISK_BYTES))?;
    Ok(Boot { kernel, initramfs, programs: programs.to_owned(), volume, results, layers })
}

/// Makes the first root file system of the machine, in memory.
fn initramfs(folder: &Path, modules: &[Module], busybox: &Path) -> Result<PathBuf> {
    let tree = folder.join("initramfs");
    for name in ["bin", "proc", "sys", "dev", "root", "modules"] {
        make_folder(&tree.join(name))?;
    }
    busybox_applets(busybox, &tree.join("bin"))?;
    write_program(&tree.join("init"), INIT)?;
    let mut order = String::new();
    for module in modules {
        let name = format!("{}.ko", module.name);
        write(&tree.join("modules").join(&name), &module.bytes)?;
        order.push_str(&name);
        order.push('\n');
    }
    write(&tree.join("modules/order"), order.as_bytes())?;
    let archive = folder.join("initramfs.cpio");
    let file = File::create(&archive).with_context(|| format!("cannot make {}", archive.display()))?;
    let busybox = absolute(busybox)?;
    let status = Command::new("sh")
        .args(["-c", "\"$0\" find . | \"$0\" cpio -o -H newc"])
        .arg(busybox)
        .current_dir(&tree)
        .stdout(file)
        .stderr(Stdio::null())
        .status()
        .context("cannot start busybox cpio")?;
    if !status.success() {
        bail!("busybox cpio ended with {status}");
    }
    fs::remove_dir_all(&tree).with_context(|| format!("cannot remove {}", tree.display()))?;
    Ok(archive)
}

fn absolute(path: &Path) -> Result<PathBuf> {
    path.canonicalize().with_context(|| format!("cannot resolve {}", path.display()))
}

fn busybox_applets(busybox: &Path, folder: &Path) -> Result<()> {
    copy(busybox, &folder.join("busybox"))?;
    for name in APPLETS {
        symlink("busybox", folder.join(name)).with_context(|| format!("cannot link {name}"))?;
    }
    Ok(())
}

/// Returns the libraries of a program and its loader, by the paths under which it looks for them.
fn libraries(program: &Path) -> Result<Vec<PathBuf>> {
    let output = Command::new("ldd").arg(program).output().context("cannot start ldd")?;
    let text = String::from_utf8_lossy(&output.stdout);
    // ldd fails for a static program, which has no libraries.
    if !output.status.success() {
        return Ok(Vec::new());
    }
    libraries_of(&text).with_context(|| format!("the libraries of {}", program.display()))
}

/// Reads `name => path (address)` and `path (address)`.
fn libraries_of(ldd: &str) -> Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for line in ldd.lines() {
        let path = line.split_once(" => ").map_or(line, |(_, path)| path).trim();
        if path.starts_with("not found") {
            bail!("{}", line.trim());
        }
        if path.starts_with('/') {
            paths.push(PathBuf::from(path.split(" (").next().unwrap_or(path)));
        }
    }
    Ok(paths)
}

fn make_folder(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::copy(from, to).map(|_| ()).with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))
}

fn write_program(path: &Path, text: &str) -> Result<()> {
    write(path, text.as_bytes())?;
    fs::set_permissions(path, PermissionsExt::from_mode(0o755))
        .with_context(|| format!("cannot make {} executable", path.display()))
}

fn bytes_below(folder: &Path) -> Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))? {
        let entry = entry.with_context(|| format!("cannot list {}", folder.display()))?;
        let metadata = entry.metadata().with_context(|| format!("cannot look at {}", entry.path().display()))?;
        bytes += if metadata.is_dir() { bytes_below(&entry.path())? } else { metadata.len() };
    }
    Ok(bytes)
}

fn make_sparse(path: &Path, bytes: u64) -> Result<()> {
    let file = File::create(path).with_context(|| format!("cannot make {}", path.display()))?;
    file.set_len(bytes).with_context(|| format!("cannot make {} {bytes} bytes long", path.display()))
}

/// Makes an image of an ext4, filled from a folder if one is given. Nothing is initialised later in the background:
/// that would look like foreign I/O.
pub(crate) fn make_ext4(image: &Path, bytes: u64, from: Option<&Path>) -> Result<()> {
    make_sparse(image, bytes)?;
    let mut command = Command::new(tools::MKFS_EXT4.find().context("mkfs.ext4 is not installed")?);
    command.args(["-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0"]);
    if let Some(folder) = from {
        command.arg("-d").arg(folder);
    }
    let output = command.arg(image).output().context("cannot start mkfs.ext4")?;
    if !output.status.success() {
        bail!("mkfs.ext4 {}: {}", image.display(), String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(())
}

fn only_entry(folder: &Path, prefix: &str) -> Result<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))? {
        let entry = entry.with_context(|| format!("cannot list {}", folder.display()))?;
        if entry.file_name().to_string_lossy().starts_with(prefix) {
            found.push(entry.path());
        }
    }
    match found.as_slice() {
        [path] => Ok(path.clone()),
        _ => bail!("{} holds {} files {prefix}*, expected one", folder.display(), found.len()),
    }
}

/// Messages of a machine.
#[derive(Debug)]
pub(crate) struct Said {
    /// Lines with a complaint of the kernel: warnings, faults, stalls.
    pub(crate) complaints: Vec<String>,
    /// Reason why the machine did not complete; `None` when it did.
    pub(crate) failure: Option<String>,
}

impl Boot {
    /// Returns the emulator's command line.
    fn command(&self) -> Result<Command> {
        let mut command = Command::new(tools::QEMU.find().context("qemu-system-x86_64 is not installed")?);
        // Page tables of five levels are slow to emulate and useless for 2 GiB. QEMU 7.2 occasionally leaves wrong
        // flags after CMPXCHG16B; Linux 6.12, whose memory allocator depends on it, then dies of a double fault at
        // boot. With one thread per CPU, a halted CPU was seen to miss an interrupt from another CPU, which then waited
        // for its answer for ever.
        command.args(["-machine", "q35", "-accel", "tcg,thread=single", "-cpu", "max,la57=off,cx16=off"]);
        command.args(["-m", MEMORY, "-smp", PROCESSORS, "-nodefaults", "-no-user-config", "-no-reboot"]);
        command.args(["-display", "none", "-serial", "stdio", "-kernel"]).arg(&self.kernel);
        command.arg("-initrd").arg(&self.initramfs);
        // A panic ends the machine, so the task notices it at once.
        command.args(["-append", "console=ttyS0 loglevel=5 panic=-1 net.ifnames=0"]);
        let throttled = || format!("throttling.bps-write={DISK_WRITE_RATE}");
        let disks = [
            (&self.programs, "readonly=on".to_owned()),
            (&self.volume, throttled()),
            (&self.results, "cache=unsafe".to_owned()),
        ];
        for (image, options) in disks.into_iter().chain(self.layers.iter().map(|disk| (disk, throttled()))) {
            command.arg("-drive").arg(format!("if=virtio,format=raw,file={},{options}", image.display()));
        }
        Ok(command)
    }

    /// Returns the shell command that boots it again.
    pub(crate) fn shown(&self) -> Result<String> {
        let command = self.command()?;
        let words = std::iter::once(command.get_program()).chain(command.get_args());
        Ok(words
            .map(|word| match word.to_string_lossy() {
                word if word.contains(' ') => format!("'{word}'"),
                word => word.into_owned(),
            })
            .collect::<Vec<_>>()
            .join(" "))
    }

    /// Boots and waits for the end, at most `limit`; all messages are written to `console`.
    ///
    /// # Errors
    /// When the emulator cannot be started. A machine that dies is not an error.
    pub(crate) fn run(&self, name: &str, limit: Duration, console: &Path) -> Result<Said> {
        let mut log = File::create(console).with_context(|| format!("cannot make {}", console.display()))?;
        let mut child = Emulator(
            self.command()?
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .context("cannot start the emulator")?,
        );
        let (sender, lines) = mpsc::channel();
        let outputs: [Option<Box<dyn std::io::Read + Send>>; 2] = [
            child.0.stdout.take().map(|pipe| Box::new(pipe) as _),
            child.0.stderr.take().map(|pipe| Box::new(pipe) as _),
        ];
        for pipe in outputs.into_iter().flatten() {
            let sender = sender.clone();
            std::thread::spawn(move || {
                for line in BufReader::new(pipe).split(b'\n').map_while(Result::ok) {
                    if sender.send(String::from_utf8_lossy(&line).trim_end().to_owned()).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        let mut listener = Listener::new();
        let deadline = Instant::now() + limit;
        let ended = loop {
            match lines.recv_timeout(Duration::from_millis(500)) {
                Ok(line) => {
                    writeln!(log, "{line}").with_context(|| format!("cannot write {}", console.display()))?;
                    if let Some(progress) = listener.hear(&line) {
                        eprintln!("{name}: {progress}");
                    }
                }
                Err(RecvTimeoutError::Disconnected) => break None,
                Err(RecvTimeoutError::Timeout) => {}
            }
            if process::interrupted() {
                break Some("interrupted".to_owned());
            }
            let now = Instant::now();
            if now >= deadline {
                break Some(format!("it did not end within {} minutes", limit.as_secs() / 60));
            }
            if now >= listener.last_mark + SILENCE {
                break Some(format!("nothing was heard of its work for {} minutes", SILENCE.as_secs() / 60));
            }
        };
        drop(child);
        Ok(listener.conclude(ended))
    }

    /// Removes its disks, except the disk of programs, which other boots share.
    ///
    /// # Errors
    /// When a file cannot be removed.
    pub(crate) fn remove(&self) -> Result<()> {
        for path in [&self.initramfs, &self.volume, &self.results].into_iter().chain(&self.layers) {
            fs::remove_file(path).with_context(|| format!("cannot remove {}", path.display()))?;
        }
        Ok(())
    }

    /// Extracts the results from the machine's disk.
    ///
    /// # Errors
    /// When the disk contains no archive.
    pub(crate) fn unpack_results(&self, folder: &Path) -> Result<()> {
        make_folder(folder)?;
        let output = Command::new("tar")
            .arg("--extract")
            .arg("--file")
            .arg(&self.results)
            .arg("--directory")
            .arg(folder)
            .output()
            .context("cannot start tar")?;
        if !output.status.success() {
            bail!("cannot read the machine's results: {}", String::from_utf8_lossy(&output.stderr).trim());
        }
        Ok(())
    }
}

/// The emulator; ended when dropped.
struct Emulator(Child);

impl Drop for Emulator {
    fn drop(&mut self) {
        let ended = match self.0.try_wait() {
            Ok(Some(_)) => return,
            Ok(None) | Err(_) => self.0.kill().and_then(|()| self.0.wait()),
        };
        if let Err(error) = ended {
            eprintln!("the emulator (process {}) may still run: {error}", self.0.id());
        }
    }
}

/// Parser of the lines on the serial line.
#[derive(Debug)]
struct Listener {
    /// Time of the last progress message.
    last_mark: Instant,
    done: bool,
    last: Option<String>,
    complaints: Vec<String>,
}

/// Texts in lines with a kernel's complaint.
const COMPLAINTS: &[&str] = &[
    "BUG:",
    "WARNING:",
    "Oops",
    "Kernel panic",
    "general protection fault",
    "rcu: INFO:",
    "rcu_sched",
    "blocked for more",
    "hung_task",
    "Out of memory",
];

impl Listener {
    fn new() -> Listener {
        Listener { last_mark: Instant::now(), done: false, last: None, complaints: Vec::new() }
    }

    /// Takes a line; returns the text worth showing, if any.
    fn hear(&mut self, line: &str) -> Option<String> {
        if !line.is_empty() {
            self.last = Some(line.to_owned());
        }
        if let Some((_, word)) = line.split_once(MARK) {
            self.done |= word == DONE;
            self.last_mark = Instant::now();
            return Some(word.to_owned());
        }
        if COMPLAINTS.iter().any(|complaint| line.contains(complaint)) {
            let text = without_time(line).to_owned();
            self.complaints.push(text.clone());
            return Some(text);
        }
        None
    }

    fn conclude(self, ended: Option<String>) -> Said {
        let failure = match (self.done, ended) {
            (true, _) => None,
            (false, reason) => {
                let reason = reason.unwrap_or_else(|| "the machine ended before its work was done".to_owned());
                let last = self.last.as_deref().map_or("it said nothing", without_time);
                Some(format!("{reason}; its last line: {last}"))
            }
        };
        Said { complaints: self.complaints, failure }
    }
}

/// Returns a kernel's line without `[   12.345678] `.
fn without_time(line: &str) -> &str {
    match line.strip_prefix('[').and_then(|rest| rest.split_once("] ")) {
        Some((time, text)) if time.trim().parse::<f64>().is_ok() => text,
        _ => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_read_as_ldd_prints_them() {
        let text = "\tlinux-vdso.so.1 (0x00007ffd)\n\tlibm.so.6 => /lib/x86_64-linux-gnu/libm.so.6 (0x00007f1)\n\
                    \t/lib64/ld-linux-x86-64.so.2 (0x00007f2)\n";
        let found = libraries_of(text).expect("libraries");
        assert_eq!(found, ["/lib/x86_64-linux-gnu/libm.so.6", "/lib64/ld-linux-x86-64.so.2"].map(PathBuf::from));
        assert!(libraries_of("\tlibaio.so.1 => not found\n").is_err());
        assert!(libraries_of("\tstatically linked\n").expect("none").is_empty());
    }

    #[test]
    fn a_machine_that_does_not_come_to_its_end_says_where_it_was() {
        let mut listener = Listener::new();
        assert_eq!(listener.hear("[    0.5] Linux version 6.1"), None);
        assert_eq!(listener.hear("@@ calls: exit code 3 after 9 s").as_deref(), Some("calls: exit code 3 after 9 s"));
        let complaint = "WARNING: CPU: 0 PID: 1 at kernel/x.c:1 f+0x1/0x2";
        assert_eq!(listener.hear(&format!("[   12.345678] {complaint}")).as_deref(), Some(complaint));
        assert_eq!(listener.hear("[   13.000001] reboot: machine restart"), None);
        let said = listener.conclude(None);
        assert_eq!(said.complaints, [complaint]);
        assert_eq!(
            said.failure.as_deref(),
            Some("the machine ended before its work was done; its last line: reboot: machine restart")
        );
        let said = Listener::new().conclude(Some("it did not end within 40 minutes".to_owned()));
        assert_eq!(said.failure.as_deref(), Some("it did not end within 40 minutes; its last line: it said nothing"));
    }

    #[test]
    fn a_machine_that_has_done_everything_has_not_failed() {
        let mut listener = Listener::new();
        listener.hear("@@ done");
        listener.hear("reboot: Restarting system");
        assert_eq!(listener.conclude(None).failure, None);
    }
}
