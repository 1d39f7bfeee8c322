//! What stands between a benchmark and a disk that is in use.
//!
//! activebench itself writes a raw device only where `--destroy` repeats its exact path, and never one that is in use
//! or on which something lies. A benchmark that the user typed names its device already: it is held back from a device
//! that is in use, and what lies on another one is said before it is lost.

use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use activebench_host::{Roots, Usage, usage_of};
use activebench_model::call::DeviceNumber;
use activebench_model::command::CommandLine;
use activebench_model::phase::Direction;
use activebench_report::escape::terminal;
use anyhow::{Context, anyhow};

use crate::exit::{ExitCode, Failure, OrExit};
use crate::{judge, plan};

/// Looks for signatures of file systems and partition tables (util-linux).
const BLKID: &str = "blkid";
/// `blkid` found nothing (blkid(8)).
const NOTHING_FOUND: i32 = 2;

/// A raw device that nobody uses.
#[derive(Clone, Debug)]
pub(crate) struct Unused {
    /// As the user named it.
    pub(crate) path: PathBuf,
    pub(crate) number: DeviceNumber,
    pub(crate) size_bytes: u64,
    /// Whether it takes discards; `None` where that is not known.
    pub(crate) discards: Option<bool>,
    /// What lies on it: file system or partition table; `None` for nothing.
    pub(crate) holds: Option<String>,
}

/// A device that can be written without destroying anything.
///
/// # Errors
/// When it is no block device, when somebody uses it, when something lies on it, and when one of these cannot be
/// told.
pub(crate) fn blank(device: &Path) -> Result<Unused, Failure> {
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

/// A device that nobody uses, whatever may lie on it.
///
/// # Errors
/// When it is no block device, when somebody uses it, and when that cannot be told.
pub(crate) fn unused(device: &Path) -> Result<Unused, Failure> {
    let number = number_of(device)
        .with_context(|| format!("cannot look at {}", device.display()))
        .or_exit(ExitCode::Usage)?
        .ok_or_else(|| {
            let what = "is no block device (hint: --destroy repeats the path of the device that is to be written)";
            Failure::new(ExitCode::Usage, anyhow!("{} {what}", device.display()))
        })?;
    let usage = usage_of(&Roots::default(), number);
    without_users(device, &usage)?;
    if let Some(what) = usage.unread.first() {
        return Err(refused(device, &format!("may be in use: {}", terminal(what)), "run it where that can be read"));
    }
    let Usage { size_bytes: Some(size_bytes), discards, .. } = usage else {
        return Err(refused(device, "has no known size", "look at `lsblk`"));
    };
    if let Err(error) = alone(device) {
        return Err(refused(device, &format!("cannot be had alone: {error}"), "end what uses it; root may open it"));
    }
    let holds = signature(device)?;
    Ok(Unused { path: device.to_owned(), number, size_bytes, discards, holds })
}

fn without_users(device: &Path, usage: &Usage) -> Result<(), Failure> {
    let Some(user) = usage.users.first() else { return Ok(()) };
    let others = usage.users.len() - 1;
    let and = if others > 0 { format!(", and {others} more") } else { String::new() };
    Err(refused(device, &format!("{}{and}", terminal(user)), "name another device, or end that use of it"))
}

/// Opens a device for nobody else. The kernel refuses what is mounted or stacked, whatever the lists say.
fn alone(device: &Path) -> std::io::Result<()> {
    OpenOptions::new().read(true).custom_flags(libc::O_EXCL).open(device).map(drop)
}

fn refused(device: &Path, why: &str, hint: &str) -> Failure {
    Failure::new(ExitCode::Usage, anyhow!("{} {why}: it is not written (hint: {hint})", device.display()))
}

/// The number of a block device; `None` for what is none.
fn number_of(path: &Path) -> std::io::Result<Option<DeviceNumber>> {
    let metadata = std::fs::metadata(path)?;
    if !metadata.file_type().is_block_device() {
        return Ok(None);
    }
    let number = metadata.rdev();
    Ok(Some(DeviceNumber::new(libc::major(number), libc::minor(number))))
}

/// What `blkid` finds on a device.
fn signature(device: &Path) -> Result<Option<String>, Failure> {
    let output = Command::new(BLKID)
        .args(["--probe", "--output", "export"])
        .arg(device)
        .output()
        .with_context(|| {
            format!("cannot tell what lies on {}: {BLKID} (hint: `apt-get install util-linux`)", device.display())
        })
        .or_exit(ExitCode::Usage)?;
    if output.status.code() == Some(NOTHING_FOUND) {
        return Ok(None);
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let value = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
    match (value("TYPE"), value("PTTYPE")) {
        (Some(kind), _) => Ok(Some(format!("a file system or member of one ({})", terminal(kind)))),
        (None, Some(table)) => Ok(Some(format!("a partition table ({})", terminal(table)))),
        // A partition alone tells of its entry in the table.
        (None, None) if output.status.success() => Ok(None),
        (None, None) => Ok(Some(format!(
            "something that {BLKID} cannot tell apart: {}",
            terminal(String::from_utf8_lossy(&output.stderr).trim())
        ))),
    }
}

/// Holds a benchmark back that would write a raw device which is in use, or on which something lies.
///
/// What a program without adapter does is not known: it is run as it would run without us.
///
/// # Errors
/// When the command writes such a device.
pub(crate) fn guard(command: &CommandLine) -> Result<(), Failure> {
    guard_others(command, None)
}

/// The same for every device but one that may be written whatever lies on it.
///
/// # Errors
/// When the command writes another such device.
pub(crate) fn guard_others(command: &CommandLine, permitted: Option<&Path>) -> Result<(), Failure> {
    for device in devices_written(command).iter().filter(|device| Some(device.as_path()) != permitted) {
        blank(device)?;
    }
    Ok(())
}

/// Holds a benchmark of the user's own back that would write a raw device which is in use; what lies on one that is
/// not it says.
///
/// # Errors
/// When the command writes a device that is in use.
pub(crate) fn guard_own(command: &CommandLine) -> Result<(), Failure> {
    for device in devices_written(command) {
        if let Ok(Some(number)) = number_of(&device) {
            without_users(&device, &usage_of(&Roots::default(), number))?;
        }
        if let Err(error) = alone(&device).map_err(|error| error.raw_os_error())
            && error == Some(libc::EBUSY)
        {
            return Err(refused(&device, "is in use", "name another device, or end that use of it"));
        }
        if let Ok(Some(what)) = signature(&device) {
            eprintln!("activebench: {} holds {what}, and the benchmark writes over it", device.display());
        }
    }
    Ok(())
}

/// The raw devices that a benchmark would write, as far as its adapter and its words tell.
pub(crate) fn devices_written(command: &CommandLine) -> BTreeSet<PathBuf> {
    let Some((adapter, own)) = judge::tool_of_words(command) else { return BTreeSet::new() };
    let files = plan::input_files(adapter, &own);
    let writes = adapter
        .plan(&own, &files)
        .phases
        .iter()
        .any(|phase| matches!(phase.direction, Direction::Write | Direction::Mixed | Direction::Discard));
    if !writes {
        return BTreeSet::new();
    }
    let texts = files.iter().map(|file| String::from_utf8_lossy(&file.bytes).into_owned());
    devices_named(own.argv.iter().cloned().chain(texts))
}

/// Block devices that words name, also behind `=` and among several that are kept apart by colons or commas.
pub(crate) fn devices_named(words: impl Iterator<Item = String>) -> BTreeSet<PathBuf> {
    let mut devices = BTreeSet::new();
    for word in words {
        let parts = word.split(|c: char| c.is_whitespace() || matches!(c, '=' | ':' | ',' | '"' | '\''));
        for path in parts.filter(|part| part.starts_with('/')).map(PathBuf::from) {
            if matches!(number_of(&path), Ok(Some(_))) {
                devices.insert(path);
            }
        }
    }
    devices
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_block_device_is_not_named() {
        let words = ["--filename=/dev/null:/etc", "/nonexistent", "[a]\nfilename=/dev/zero\n"];
        assert!(devices_named(words.into_iter().map(str::to_owned)).is_empty());
        for path in ["/dev/null", "/etc"] {
            let error = blank(Path::new(path)).expect_err("it is none").error.to_string();
            assert!(error.contains("is no block device"), "{error}");
        }
    }
}
