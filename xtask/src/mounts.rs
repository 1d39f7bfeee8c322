//! Finds the file system of a folder, from `/proc/self/mountinfo`.

use std::path::Path;

use anyhow::{Context, Result};
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
use rustix::thread::{UnshareFlags, unshare_unsafe};

/// The file system below a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mount {
    /// `ext4`, `tmpfs`, ...
    pub(crate) fs_type: String,
    /// The device, or the file system's own word if it has no device.
    pub(crate) source: String,
    /// Mount point.
    pub(crate) mount_point: String,
}

impl Mount {
    /// Returns `true` when its files are in memory, or on a layer that hides the file system with the files. A
    /// benchmark there has little to do with a disk.
    pub(crate) fn is_memory_or_overlay(&self) -> bool {
        matches!(self.fs_type.as_str(), "tmpfs" | "ramfs" | "rootfs" | "overlay" | "aufs" | "squashfs")
    }
}

/// Returns the mount of an absolute path without links; `None` when no line covers it.
///
/// The longest mount point wins. Of two equal ones the later wins, because it hides the earlier.
pub(crate) fn mount_of(path: &Path, mountinfo: &str) -> Option<Mount> {
    mountinfo
        .lines()
        .filter_map(parse_line)
        .filter(|mount| path.starts_with(&mount.mount_point))
        .max_by_key(|mount| mount.mount_point.len())
}

/// Parses `36 35 98:0 /root /mount/point options [tags...] - type source options`, see proc(5).
fn parse_line(line: &str) -> Option<Mount> {
    let (before, after) = line.split_once(" - ")?;
    let mount_point = unescape(before.split(' ').nth(4)?);
    let mut after = after.split(' ');
    Some(Mount { fs_type: after.next()?.to_owned(), source: unescape(after.next()?), mount_point })
}

/// The kernel writes blank, tab, line feed and backslash as three octal digits.
fn unescape(text: &str) -> String {
    text.replace("\\040", " ").replace("\\011", "\t").replace("\\012", "\n").replace("\\134", "\\")
}

/// Returns the bytes that an unprivileged process may still write to the file system of a folder.
///
/// # Errors
/// When the kernel refuses the question.
pub(crate) fn available_bytes(folder: &Path) -> Result<u64> {
    let stats = rustix::fs::statvfs(folder)
        .map_err(std::io::Error::from)
        .with_context(|| format!("cannot ask {}", folder.display()))?;
    Ok(stats.f_bavail.saturating_mul(stats.f_frsize))
}

/// Folder in which perf and bpftrace look for tracepoints.
const TRACEFS: &str = "/sys/kernel/tracing";

/// Mounts tracefs for this process and its children only, in a mount namespace of their own, if the machine has not
/// mounted it. The machine itself stays unchanged.
///
/// # Errors
/// When the kernel refuses the namespace or the mount.
pub(crate) fn with_tracefs() -> Result<()> {
    if Path::new(TRACEFS).join("events").is_dir() {
        return Ok(());
    }
    // SAFETY: new mounts change what paths mean, and none is remembered here.
    unsafe { unshare_unsafe(UnshareFlags::NEWNS) }.context("cannot have mounts of our own")?;
    mount_change("/", MountPropagationFlags::REC | MountPropagationFlags::PRIVATE).context("cannot mount on /")?;
    mount("tracefs", TRACEFS, "tracefs", MountFlags::empty(), None)
        .with_context(|| format!("cannot mount on {TRACEFS}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTINFO: &str = "\
22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
23 22 0:21 / /proc rw,nosuid - proc proc rw
30 22 0:26 / /tmp rw shared:9 master:2 - tmpfs tmpfs rw,size=1024k
41 22 7:3 / /mnt/with\\040blank rw - xfs /dev/loop3 rw
42 22 0:50 / /srv rw - overlay overlay rw,lowerdir=/a
43 42 254:16 / /srv rw - btrfs /dev/vdb rw
not a mount at all
";

    #[track_caller]
    fn check(path: &str, expected: (&str, &str)) {
        let mount = mount_of(Path::new(path), MOUNTINFO).expect("a mount");
        assert_eq!((mount.fs_type.as_str(), mount.source.as_str()), expected, "{path}");
    }

    #[test]
    fn the_longest_and_latest_mount_point_wins() {
        check("/home/user", ("ext4", "/dev/vda"));
        check("/tmp", ("tmpfs", "tmpfs"));
        check("/tmp/x/y", ("tmpfs", "tmpfs"));
        check("/tmpfile", ("ext4", "/dev/vda"));
        check("/mnt/with blank/x", ("xfs", "/dev/loop3"));
        check("/srv/data", ("btrfs", "/dev/vdb"));
    }

    #[test]
    fn a_path_below_no_mount_has_none() {
        assert_eq!(mount_of(Path::new("/home"), "30 22 0:26 / /tmp rw - tmpfs tmpfs rw\n"), None);
    }

    #[test]
    fn memory_and_overlays_are_told_from_disks() {
        for (path, expected) in [("/home", false), ("/tmp", true), ("/srv", false)] {
            let mount = mount_of(Path::new(path), MOUNTINFO).expect("a mount");
            assert_eq!(mount.is_memory_or_overlay(), expected, "{path}");
        }
    }

    #[test]
    fn the_room_of_an_existing_folder_is_known() {
        assert!(available_bytes(Path::new("/")).is_ok());
        assert!(available_bytes(Path::new("/no/such/folder")).is_err());
    }
}
