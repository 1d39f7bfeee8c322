//! Volumes of drawn runs.

use fastrand::Rng;

use super::draft::{in_percent, one_of};
use crate::truth::case::{Medium, VolumeSpec};

/// File systems and the mount options to choose from.
const FILE_SYSTEMS: &[(&str, &[&str])] = &[
    ("ext4", &["noatime", "defaults", "noatime,data=writeback", "noatime,nodelalloc", "noatime,discard"]),
    ("xfs", &["noatime", "defaults", "noatime,logbsize=256k"]),
    ("btrfs", &["noatime", "defaults", "noatime,nodatacow", "noatime,nodatasum", "noatime,compress=no"]),
];
/// Larger than any command's files: a device without a file system is filled before it is read.
const RAW_MIB: u64 = 64;
/// Smallest size that mkfs.xfs accepts.
const LEAST_XFS_MIB: u64 = 320;

/// Draws a device with direct I/O to its file, usually with a file system. btrfs sends direct writes through the page
/// cache for files with data checksums (Linux 6.15 and later).
pub(super) fn draw(rng: &mut Rng, mib: u64, may_be_raw: bool, writes_past_the_cache: bool) -> VolumeSpec {
    if may_be_raw && in_percent(rng, 10) {
        let (fs, mount) = ("ext4".to_owned(), "noatime".to_owned());
        return VolumeSpec { kind: Medium::RawLoop, fs, mib: RAW_MIB, mount };
    }
    // ext4 is the file system of most runs.
    let (fs, mounts) = if in_percent(rng, 50) { FILE_SYSTEMS[0] } else { one_of(rng, FILE_SYSTEMS) };
    let mount = if in_percent(rng, 50) { mounts[0] } else { one_of(rng, mounts) };
    on(fs, mib, if fs == "btrfs" && writes_past_the_cache { "noatime,nodatasum" } else { mount })
}

/// A file system on such a device.
pub(super) fn on(fs: &str, mib: u64, mount: &str) -> VolumeSpec {
    let mib = if fs == "xfs" { mib.max(LEAST_XFS_MIB) } else { mib };
    VolumeSpec { kind: Medium::Loop, fs: fs.to_owned(), mib, mount: mount.to_owned() }
}
