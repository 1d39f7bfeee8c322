//! Protects disks that are in use from benchmarks.
//!
//! activebench itself writes a raw device only if `--destroy` repeats its exact path, and never one that is in use. Nor
//! does it write one that holds something, unless both parties of an acceptance agreed to lose it: their file says so,
//! and the command line repeats it. A benchmark that the user typed already names its device. activebench stops it if
//! that device is in use; otherwise it reports what the device holds before that is lost. `named_devices.rs` finds the
//! devices that a command names.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use activebench_host::{Opener, Pin, Roots, Usage, usage_of};
use activebench_model::call::DeviceNumber;
use activebench_model::command::CommandLine;
use activebench_model::units::Quantity;
use activebench_report::escape::terminal;
use activebench_runner::{Identity, with_roots_files};
use anyhow::{Context, anyhow};
use rustix::fs::{Mode, OFlags};

use crate::failure::{ExitCode, Failure, OrExit};
use crate::named_devices::{Named, named, number_of};

/// Program that looks for signatures of file systems and partition tables (util-linux).
const BLKID: &str = "blkid";
/// Exit code of `blkid` when it found nothing (blkid(8)).
const NOTHING_FOUND: i32 = 2;

/// Bytes read at both ends of a device, where signatures are, before it counts as empty.
const END_BYTES: u64 = 1 << 20;
/// How long a process may keep a device open that is about to be written. udev opens a device for a moment after each
/// write, and processes of a benchmark may outlive it.
const SETTLE: Duration = Duration::from_secs(3);
/// Interval between two checks.
const LOOK: Duration = Duration::from_millis(100);

/// A raw device that is not in use.
#[derive(Clone, Debug)]
pub struct Unused {
    /// Its node and number, and what tells it from every device that has them later.
    pub pin: Pin,
    /// Its size.
    pub size_bytes: u64,
    /// Name of the whole disk if this is a partition.
    pub partition_of: Option<String>,
    /// `true` if it accepts discards; `None` if that is not known.
    pub discards: Option<bool>,
    /// The file system or partition table on it; `None` if there is neither.
    pub holds: Option<String>,
}

/// Returns a device that can be written without destroying anything.
///
/// # Errors
/// Returns an error if it is not a block device, is in use or holds something, or if one of these is not known.
pub fn blank(device: &Path) -> Result<Unused, Failure> {
    let unused = unused(device)?;
    match &unused.holds {
        None => Ok(unused),
        Some(what) => Err(refused(
            device,
            &format!("holds {what}"),
            &format!("if nothing on it is needed any more: `wipefs --all {}`", device.display()),
        )),
    }
}

/// Returns a device that is not in use, whatever it holds.
///
/// # Errors
/// Returns an error if it is not a block device, is in use, or cannot be opened exclusively, and if its use, its size
/// or its signature is not known.
pub fn unused(device: &Path) -> Result<Unused, Failure> {
    let number = number_of(device)
        .with_context(|| format!("cannot look at {}", device.display()))
        .or_exit(ExitCode::Usage)?
        .ok_or_else(|| {
            let what = "is not a block device (hint: --destroy repeats the path of the device that is to be written)";
            Failure::new(ExitCode::Usage, anyhow!("{} {what}", device.display()))
        })?;
    let pin = pinned(device)?;
    // A process that only reads counts too: it would lose what it reads.
    let usage = settled(number, |_| true);
    without_users(device, &usage, |_| true)?;
    without_users_of_other_paths(device, &pin)?;
    if let Some(what) = usage.unread.first() {
        return Err(refused(device, &format!("may be in use: {}", terminal(what)), "run it where that can be read"));
    }
    let Usage { size_bytes: Some(size_bytes), partition_of, discards, .. } = usage else {
        return Err(refused(device, "has no known size", "look at `lsblk`"));
    };
    if let Err(error) = alone(device) {
        let hint = match error.kind() {
            std::io::ErrorKind::ResourceBusy => "end what uses it; a container may have it mounted",
            _ => "run it as root, who may open it",
        };
        return Err(refused(device, &format!("cannot be opened exclusively: {error}"), hint));
    }
    let holds = signature(device)
        .map_err(|error| {
            error.context(format!("cannot determine the content of {}: it is not written", device.display()))
        })
        .or_exit(ExitCode::Usage)?;
    Ok(Unused { pin, size_bytes, partition_of, discards, holds })
}

/// Tells a device from every other that has its name or number later.
///
/// # Errors
/// Returns an error if it is not a block device.
pub fn pinned(device: &Path) -> Result<Pin, Failure> {
    Pin::of(&Roots::default(), device)
        .with_context(|| format!("cannot look at {}", device.display()))
        .or_exit(ExitCode::Usage)
}

/// Checks that no other path to the same unit is in use: a second cable, a second loop device of the same file.
fn without_users_of_other_paths(device: &Path, pin: &Pin) -> Result<(), Failure> {
    for (name, number) in pin.other_paths(&Roots::default()) {
        if let Some(user) = usage(number).users.first() {
            let why = format!("is the same unit as {name}, which {}", terminal(user));
            return Err(refused(device, &why, "name another device, or end that use of it"));
        }
    }
    Ok(())
}

impl Unused {
    /// Returns what is lost when it is written, a line each: its identity, other paths to it, what it holds.
    pub fn words(&self, identity: &str) -> Vec<String> {
        let mut lines =
            vec![format!("{}: {}, {}", self.pin.node.display(), identity, Quantity::bytes(self.size_bytes))];
        let paths = self.pin.other_paths(&Roots::default());
        if !paths.is_empty() {
            let names: Vec<String> = paths.into_iter().map(|(name, _)| name).collect();
            lines.push(format!("  the same unit is also {}", names.join(", ")));
        }
        lines.push(match (&self.holds, ends_are_zero(&self.pin.node)) {
            (Some(what), _) => format!("  it holds {what}, which is lost"),
            (None, Ok(true)) => "  its first and last MiB are zeros".to_owned(),
            (None, Ok(false)) => "  no signature is known on it, and its first or last MiB holds data".to_owned(),
            (None, Err(error)) => format!("  its content could not be read: {error:#}"),
        });
        lines
    }
}

/// Returns the users of a device. Root alone sees what other users' processes hold open.
fn usage(number: DeviceNumber) -> Usage {
    with_roots_files(|| usage_of(&Roots::default(), number))
}

/// Returns the users of a device, after a wait for those that only look at it.
fn settled(number: DeviceNumber, counts: fn(&Opener) -> bool) -> Usage {
    let mut looks = SETTLE.as_millis() / LOOK.as_millis();
    loop {
        let usage = usage(number);
        if looks == 0 || !usage.users.is_empty() || !usage.openers.iter().any(counts) {
            return usage;
        }
        looks -= 1;
        sleep(LOOK);
    }
}

fn without_users(device: &Path, usage: &Usage, counts: fn(&Opener) -> bool) -> Result<(), Failure> {
    let openers = usage.openers.iter().filter(|opener| counts(opener)).map(|opener| &opener.words);
    let users: Vec<&String> = usage.users.iter().chain(openers).collect();
    let [user, others @ ..] = &users[..] else { return Ok(()) };
    let others = others.len();
    let and = if others > 0 { format!(", and {others} more") } else { String::new() };
    Err(refused(device, &format!("{}{and}", terminal(user)), "name another device, or end that use of it"))
}

/// Opens a block device for reading, with root's rights where this process has them. Anything else under that name is
/// not opened: its name may come from a user who may not read it.
///
/// # Errors
/// When it is not a block device, or cannot be opened.
pub fn open_device(device: &Path, flags: OFlags) -> std::io::Result<File> {
    with_roots_files(|| {
        let found = File::from(rustix::fs::open(device, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?);
        if !found.metadata()?.file_type().is_block_device() {
            return Err(std::io::Error::other("it is not a block device"));
        }
        // What was looked at, whatever the name leads to by now.
        let found = format!("/proc/self/fd/{}", found.as_raw_fd());
        OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(found)
    })
}

/// Opens a device exclusively. The kernel refuses this if it is mounted or stacked, whatever the lists say.
fn alone(device: &Path) -> std::io::Result<()> {
    open_device(device, OFlags::EXCL).map(drop)
}

fn refused(device: &Path, why: &str, hint: &str) -> Failure {
    Failure::new(ExitCode::Usage, anyhow!("{} {why}: it is not written (hint: {hint})", device.display()))
}

/// Returns the signature that `blkid` finds on a device; `None` if there is none.
fn signature(device: &Path) -> anyhow::Result<Option<String>> {
    // blkid reports a device that it cannot read as empty.
    ends_are_zero(device)?;
    let output = Command::new(BLKID)
        .args(["--probe", "--output", "export"])
        .arg(device)
        .output()
        .with_context(|| format!("cannot start {BLKID} (hint: `apt-get install util-linux`)"))?;
    if output.status.code() == Some(NOTHING_FOUND) {
        return Ok(None);
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let value = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
    match (value("TYPE"), value("PTTYPE")) {
        (Some(kind), _) => Ok(Some(format!("a file system or member of one ({})", terminal(kind)))),
        (None, Some(table)) => Ok(Some(format!("a partition table ({})", terminal(table)))),
        // For a bare partition blkid reports only its entry in the partition table.
        (None, None) if output.status.success() => Ok(None),
        (None, None) => Ok(Some(format!(
            "something that {BLKID} cannot distinguish: {}",
            terminal(String::from_utf8_lossy(&output.stderr).trim())
        ))),
    }
}

/// Reads the beginning and the end of a device; returns `true` if both are all zeros.
fn ends_are_zero(device: &Path) -> anyhow::Result<bool> {
    let read = || -> std::io::Result<bool> {
        let mut file = open_device(device, OFlags::empty())?;
        let size = file.seek(SeekFrom::End(0))?;
        let mut ends = Vec::new();
        for start in [0, size.saturating_sub(END_BYTES)] {
            file.seek(SeekFrom::Start(start))?;
            (&mut file).take(END_BYTES).read_to_end(&mut ends)?;
        }
        Ok(ends.iter().all(|byte| *byte == 0))
    };
    read().context("cannot read its first and its last MiB")
}

/// Stops a benchmark that would write a raw device that is in use or holds something.
///
/// The effects of a program without an adapter are not known: it runs as it would run without us.
///
/// # Errors
/// When the command writes such a device.
pub fn guard(command: &CommandLine) -> Result<(), Failure> {
    guard_others(command, None)
}

/// Like [`guard`], except for one device that may be written whatever it holds.
///
/// # Errors
/// When the command writes another such device.
pub fn guard_others(command: &CommandLine, permitted: Option<&Path>) -> Result<(), Failure> {
    let permitted = permitted.and_then(|device| number_of(device).ok().flatten());
    let Named { written, untold, .. } = named(command);
    say_untold(&untold);
    for device in written.iter().filter(|(number, _)| Some(**number) != permitted).map(|(_, device)| device) {
        blank(device)?;
    }
    Ok(())
}

/// Stops a benchmark of the user that would write a raw device in use. Prints what the other devices hold, and what
/// could not be determined.
///
/// # Errors
/// When the command writes a device that is in use.
pub fn guard_own(command: &CommandLine) -> Result<(), Failure> {
    let Named { written, mut untold, .. } = named(command);
    for (number, device) in &written {
        untold.extend(in_use(device, *number)?);
        match signature(device) {
            Ok(None) => {}
            Ok(Some(what)) => {
                say!("{} holds {what}, and the benchmark writes over it", device.display());
            }
            Err(error) => untold.push(format!("the content of {}: {error:#}", device.display())),
        }
    }
    say_untold(&untold);
    Ok(())
}

/// Checks a benchmark again that was permitted before: stops it if its device has come into use since then.
///
/// # Errors
/// When the command writes a device that is in use.
pub fn guard_again(command: &CommandLine) -> Result<(), Failure> {
    for (number, device) in named(command).written {
        in_use(&device, number)?;
    }
    Ok(())
}

/// Checks that a device is not in use; returns what could not be determined.
fn in_use(device: &Path, number: DeviceNumber) -> Result<Vec<String>, Failure> {
    let usage = settled(number, |opener| opener.writes);
    without_users(device, &usage, |opener| opener.writes)?;
    let mut untold: Vec<String> =
        usage.unread.iter().map(|why| format!("whether {} is in use: {}", device.display(), terminal(why))).collect();
    match alone(device) {
        Err(error) if error.kind() == std::io::ErrorKind::ResourceBusy => {
            return Err(refused(device, "is in use", "name another device, or end that use of it"));
        }
        Err(error) => untold.push(format!("whether {} is in use: {error}", device.display())),
        Ok(()) => {}
    }
    Ok(untold)
}

fn say_untold(untold: &[String]) {
    for what in untold {
        say!("cannot determine {}", terminal(what));
    }
}

/// Checks that a benchmark can open a device, before the device is destroyed for it.
///
/// # Errors
/// Returns an error if the benchmark's user cannot open it.
pub fn openable(device: &Path, identity: &Identity, writes: bool) -> Result<(), Failure> {
    let user = &identity.name;
    // Opened as the benchmark would: the mode of the node does not show access lists and control groups.
    let script = if writes { ": <> \"$1\"" } else { ": < \"$1\"" };
    let output = Command::new("sh")
        .args(["-c", script, "sh"])
        .arg(device)
        .uid(identity.uid)
        .gid(identity.gid)
        .output()
        .with_context(|| format!("cannot ask as {user} whether {} can be opened", device.display()))
        .or_exit(ExitCode::Usage)?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let why = format!("cannot be opened by the benchmark, which runs as {user} ({})", terminal(said.trim()));
    Err(refused(device, &why, "`--user root`, or give that user access"))
}

/// Checks that `--destroy` names a device that the command measures.
///
/// # Errors
/// Returns an error if the command names other devices, or names none although all of its words are understood.
pub fn is_repeated(device: &Unused, command: &CommandLine) -> Result<(), Failure> {
    let Named { all, whole, .. } = named(command);
    let shown = device.pin.node.display();
    if all.contains_key(&device.pin.number) {
        return Ok(());
    }
    if all.is_empty() && !whole {
        say!("the command does not name {shown}, which --destroy permits to be written");
        return Ok(());
    }
    let named: Vec<String> = all.values().map(|path| path.display().to_string()).collect();
    let names = if named.is_empty() { "no device".to_owned() } else { named.join(", ") };
    Err(Failure::new(
        ExitCode::Usage,
        anyhow!(
            "--destroy permits {shown} to be written, and the command names {}: nothing was run (hint: --destroy \
             repeats the path of the device that the command measures)",
            terminal(&names)
        ),
    ))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn what_is_no_block_device_is_refused() {
        for path in ["/dev/null", "/etc"] {
            let error = blank(Path::new(path)).expect_err("it is none").error.to_string();
            assert!(error.contains("is not a block device"), "{error}");
        }
    }

    #[test]
    fn a_device_that_cannot_be_read_is_not_taken_for_an_empty_one() {
        // Neither is a regular file, which root could read for a user who may not.
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("disk");
        std::fs::write(&file, [0; 4096]).expect("it is written");
        for unreadable in [&file, folder.path(), &folder.path().join("absent")] {
            let error = format!("{:#}", signature(unreadable).expect_err("it cannot be read"));
            assert!(error.starts_with("cannot read its first and its last MiB"), "{error}");
        }
    }

    #[test]
    fn the_device_that_is_prepared_is_the_one_that_is_measured() {
        let device = Unused {
            pin: Pin {
                node: PathBuf::from("/dev/sdc"),
                number: DeviceNumber::new(4000, 7),
                sequence: None,
                unit: None,
                sectors: None,
            },
            size_bytes: 1 << 20,
            partition_of: None,
            discards: None,
            holds: None,
        };
        let check = |words: &[&str], permitted: bool| {
            let argv = words.iter().map(|word| (*word).to_owned()).collect();
            let told = is_repeated(&device, &CommandLine { argv, cwd: "/".to_owned() });
            assert_eq!(told.is_ok(), permitted, "{words:?}");
        };
        check(&["fio", "--name=a", "--filename=/mnt/x"], false);
        check(&["iozone", "-e"], false);
        // The I/O of these is known only when they run.
        check(&["./run-all.sh"], true);
        check(&["fio", "--name=a", "--filename=$DISK"], true);
    }
}
