//! Walks from a file system or a device down to the storage that holds the bytes.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

use activebench_model::call::DeviceNumber;
use activebench_model::host::{BACKING_FILE_SYSTEM, BACKING_INODE, BACKING_S_DEV, Layer, MOST_COPIES, Tier};

use crate::block::{BlockDevice, device_of_node, linked_devices, read_device};
use crate::mounts::{Mount, Mounts, source_nodes};
use crate::reader::Reader;

/// Maximum depth of a stack; a deeper one is cut, with a note. Our stack of partition, loop, LVM, LUKS and RAID
/// has eight layers.
const DEPTH_LIMIT: usize = 24;

/// One walk. Layers are listed in the order of the walk, each device once.
pub(crate) struct Walk<'a> {
    reader: &'a mut Reader,
    mounts: &'a Mounts,
    /// Mounts at an earlier time.
    seen: &'a Mounts,
    layers: Vec<Layer>,
    devices_met: BTreeSet<DeviceNumber>,
    file_systems_met: BTreeSet<DeviceNumber>,
    depth: usize,
}

impl<'a> Walk<'a> {
    pub(crate) fn new(reader: &'a mut Reader, mounts: &'a Mounts, seen: &'a Mounts) -> Self {
        Self {
            reader,
            mounts,
            seen,
            layers: Vec::new(),
            devices_met: BTreeSet::new(),
            file_systems_met: BTreeSet::new(),
            depth: 0,
        }
    }

    /// Ends the walk and returns its layers. A walk without a tier met only what it had met before: the stack is
    /// circular.
    pub(crate) fn end(self, tier: Option<Tier>) -> (Vec<Layer>, Tier) {
        if tier.is_none() {
            let names: Vec<&str> = self.layers.iter().map(|layer| layer.name.as_str()).collect();
            self.reader.note(format!("the stack leads back to itself: {}", names.join(", ")));
        }
        (self.layers, tier.unwrap_or(Tier::Unknown))
    }

    /// Walks down from a mounted file system. Returns `None` when this walk has met it before. `above` is the name of
    /// the layer above for the layers directly below; by default the file system's type.
    pub(crate) fn file_system(&mut self, mount: &Mount, above: Option<&str>) -> Option<Tier> {
        if !self.file_systems_met.insert(mount.device) {
            return None;
        }
        match family(&mount.fs_type) {
            // A fuseblk super block has a block device, so it takes this branch.
            _ if mount.device.major() != 0 => self.device(mount.device, Some(above.unwrap_or(&mount.fs_type))),
            Family::Memory => Some(Tier::Memory),
            Family::Network => Some(Tier::Network),
            Family::Fuse => Some(Tier::Fuse),
            Family::Overlay => self.overlay(mount, above),
            Family::Other => self.members(mount, above.unwrap_or(&mount.fs_type)),
        }
    }

    /// Walks down from a device. Returns `None` when this walk has met it before.
    pub(crate) fn device(&mut self, device: DeviceNumber, above: Option<&str>) -> Option<Tier> {
        if !self.devices_met.insert(device) {
            return None;
        }
        if self.depth == DEPTH_LIMIT {
            self.reader.note(format!("the device stack goes on below {device}: cut after {DEPTH_LIMIT} layers"));
            return Some(Tier::Unknown);
        }
        let Some(found) = read_device(self.reader, device, above) else { return Some(Tier::Unknown) };
        let index = self.layers.len();
        self.layers.push(found.layer.clone());
        self.depth += 1;
        let tier = self.below(&found, index);
        self.depth -= 1;
        tier
    }

    fn below(&mut self, found: &BlockDevice, index: usize) -> Option<Tier> {
        let name = found.layer.name.as_str();
        match found.layer.kind.as_str() {
            "partition" => match found.disk {
                Some(disk) => self.device(disk, Some(name)),
                None => Some(Tier::Unknown),
            },
            "loop" => self.backing_file(found, index),
            // Null devices keep their data in memory or discard it.
            "zram" | "ram" | "null" => Some(Tier::Memory),
            kind => {
                let members = linked_devices(self.reader, &found.folder.join("slaves"));
                if !members.is_empty() {
                    return self.all(&members, name);
                }
                if matches!(kind, "dm" | "md") {
                    self.reader.note(format!("the devices below {name} are not known: /sys names none"));
                    return Some(Tier::Unknown);
                }
                // The kernel's own simulated disk differs from others only in this name.
                let simulated = found.layer.attributes.get("device/model").is_some_and(|model| model == "scsi_debug");
                Some(if simulated { Tier::Memory } else { Tier::Block })
            }
        }
    }

    fn all(&mut self, devices: &[DeviceNumber], above: &str) -> Option<Tier> {
        let tiers: Vec<Tier> = devices.iter().filter_map(|device| self.device(*device, Some(above))).collect();
        together(&tiers)
    }

    fn backing_file(&mut self, found: &BlockDevice, index: usize) -> Option<Tier> {
        let name = &found.layer.name;
        // The layer has a lossy copy of the path; the walk needs the bytes. A failure is already in `unread`.
        let attribute = found.folder.join("loop/backing_file");
        let Ok(file) = self.reader.path(&attribute) else { return Some(Tier::Unknown) };
        let is_gone = self.reader.is_remembered(&attribute);
        let place = match file.as_os_str().as_bytes().strip_suffix(b" (deleted)") {
            // For a deleted file, use the folder that it was in.
            Some(rest) => Path::new(OsStr::from_bytes(rest)).parent().unwrap_or(Path::new("/")).to_owned(),
            None => file.clone(),
        };
        // Any block device can be the backing file; its node is on devtmpfs, its data is not.
        if place.starts_with("/dev")
            && let Some(device) = device_of_node(self.reader, &place)
        {
            return self.device(device, Some(name));
        }
        let what = format!("the backing file {} of {name}", file.display());
        let Some(mount) = self.mount_at(&place, &what, is_gone) else { return Some(Tier::Unknown) };
        let can_be_seen = place == file && self.is_mounted(mount.device);
        let attributes = &mut self.layers[index].attributes;
        attributes.insert(BACKING_FILE_SYSTEM.to_owned(), mount.fs_type.clone());
        // The probes identify the file by these numbers. For a deleted file only its folder is left. A file on an
        // overlay is not identified by the overlay's own number.
        if can_be_seen && family(&mount.fs_type) != Family::Overlay {
            let inode = self.reader.inode(&file);
            if let Some(inode) = self.reader.optional(inode) {
                attributes.insert(BACKING_S_DEV.to_owned(), mount.device.0.to_string());
                attributes.insert(BACKING_INODE.to_owned(), inode.to_string());
            }
        }
        self.file_system(&mount, Some(name))
    }

    /// Walks down an overlay. Its layers are those of its upper directory, to which all writes go and from which all
    /// written files are read. Without one (a read-only overlay) they are those of the topmost lower directory.
    fn overlay(&mut self, mount: &Mount, above: Option<&str>) -> Option<Tier> {
        let place = mount.mount_point.display();
        let upper = mount.option("upperdir");
        // Mounts made by fsconfig(2) have one option for each lower directory, the topmost first.
        let role = if upper.is_some() { "upper" } else { "lower" };
        let directories = directories_of_overlay(self.reader, mount);
        let Some(path) = directories.into_iter().next() else {
            self.reader.note(format!("the overlay at {place} does not name its upper directory"));
            return Some(Tier::Unknown);
        };
        if !path.is_absolute() {
            let path = path.display();
            self.reader.note(format!(
                "the {role} directory of the overlay at {place} is not known: {path} is relative to where mount was run"
            ));
            return Some(Tier::Unknown);
        }
        let what = format!("the {role} directory {} of the overlay at {place}", path.display());
        let is_gone = !self.is_mounted(mount.device);
        let Some(below) = self.mount_at(&path, &what, is_gone) else { return Some(Tier::Unknown) };
        if below.device == mount.device {
            // The overlay of a container names directories of its host, which seem to be on the overlay itself.
            self.reader.note(format!("cannot follow {what}: it is not in this mount namespace"));
            return Some(Tier::Unknown);
        }
        let described = format!("overlay, {role} directory on {}", below.fs_type);
        self.file_system(&below, Some(above.unwrap_or(&described)))
    }

    /// Returns the mount that contains a path reported by the kernel, not given by the user.
    ///
    /// A path of another mount namespace would lead to a wrong device. If the file is not visible under that name,
    /// the result is `None` rather than a guess.
    ///
    /// With `is_gone` the path is of an earlier time. If a file system was mounted there that is unmounted now, it counts.
    /// Where the path exists again, without that file system, the result is `None`.
    fn mount_at(&mut self, path: &Path, what: &str, is_gone: bool) -> Option<Mount> {
        let unmounted = if is_gone { self.unmounted_at(path) } else { Vec::new() };
        if let [mount, others @ ..] = unmounted.as_slice() {
            let is_known =
                self.reader.sees(path) == Some(false) && others.iter().all(|other| mount.is_same_file_system(other));
            if !is_known {
                self.reader.note(format!("cannot follow {what}: several file systems were there"));
            }
            return is_known.then(|| mount.clone());
        }
        if self.reader.sees(path) == Some(false) {
            self.reader.note(format!("cannot follow {what}: it is not in this mount namespace"));
            return None;
        }
        let resolved = self.reader.resolve(path);
        let resolved = self.reader.wanted(resolved)?;
        let mount = self.mounts.containing(&resolved).cloned();
        if mount.is_none() {
            self.reader.note(format!("cannot follow {what}: no mount holds it"));
        }
        mount
    }

    fn is_mounted(&self, device: DeviceNumber) -> bool {
        self.mounts.of_device(device, None).is_some()
    }

    /// Returns the innermost mounts above a path that are unmounted now. The root of a container is none of them.
    fn unmounted_at(&self, path: &Path) -> Vec<Mount> {
        let above = |mount: &&Mount| mount.mount_point.parent().is_some() && path.starts_with(&mount.mount_point);
        let unmounted = self.seen.0.iter().filter(above).filter(|mount| !self.is_mounted(mount.device));
        let depth = |mount: &Mount| mount.mount_point.components().count();
        let innermost = unmounted.clone().map(depth).chain(self.mounts.containing(path).map(depth)).max();
        unmounted.filter(|mount| Some(depth(mount)) == innermost).cloned().collect()
    }

    /// Walks down a file system with an anonymous super block on one or more devices.
    fn members(&mut self, mount: &Mount, above: &str) -> Option<Tier> {
        let nodes = source_nodes(&mount.source);
        let mut devices: Vec<DeviceNumber> =
            nodes.iter().filter_map(|node| device_of_node(self.reader, node)).collect();
        if mount.fs_type == "btrfs" {
            let members = devices.first().and_then(|device| self.btrfs_members(*device));
            match members {
                Some(members) => devices = members,
                None => self.reader.note(format!(
                    "the members of the btrfs at {} are not known: no folder of /sys/fs/btrfs lists {}",
                    mount.mount_point.display(),
                    mount.source.display()
                )),
            }
        }
        if devices.is_empty() {
            let (fs_type, source) = (&mount.fs_type, mount.source.display());
            self.reader.note(format!("the devices below {fs_type} are not known: {source:?} is not a block device"));
            return Some(Tier::Unknown);
        }
        let tier = self.all(&devices, above);
        if mount.fs_type == "btrfs"
            && let Some(copies) = devices.first().and_then(|device| self.btrfs_copies(*device, devices.len()))
        {
            let members = self.layers.iter_mut().filter(|layer| devices.contains(&layer.device));
            members.for_each(|layer| drop(layer.attributes.insert(MOST_COPIES.to_owned(), copies.to_string())));
        }
        tier
    }

    /// Returns the largest number of copies that a btrfs keeps of data, from the profiles of its data. `None` where
    /// the profiles are unknown.
    fn btrfs_copies(&mut self, device: DeviceNumber, devices: usize) -> Option<usize> {
        let data = self.btrfs_of(device)?.join("allocation/data");
        let names = self.reader.names(&data);
        let names = self.reader.optional(names)?;
        // Each profile is a folder, beside files with counters.
        names.iter().filter_map(|name| copies_of(name.to_str()?, devices)).max()
    }

    /// Returns the folder of the btrfs that has this device among its members.
    fn btrfs_of(&mut self, device: DeviceNumber) -> Option<PathBuf> {
        let file_systems = self.reader.names(Path::new("/sys/fs/btrfs"));
        let file_systems = self.reader.wanted(file_systems)?;
        let mut folders = file_systems.iter().map(|id| Path::new("/sys/fs/btrfs").join(id));
        folders.find(|folder| linked_devices(self.reader, &folder.join("devices")).contains(&device))
    }

    /// Returns the devices of the btrfs that has this one among its members, in sysfs's order.
    fn btrfs_members(&mut self, device: DeviceNumber) -> Option<Vec<DeviceNumber>> {
        let folder = self.btrfs_of(device)?;
        Some(linked_devices(self.reader, &folder.join("devices")))
    }
}

/// Returns the maximum number of bytes written for one byte of data under a btrfs profile, over all `devices`
/// members, rounded up: copies, and parity in its worst case (fs/btrfs/volumes.c, `btrfs_raid_array`, Linux 6.12).
/// `None` for other words.
fn copies_of(profile: &str, devices: usize) -> Option<usize> {
    let beside = |parity: usize| devices.div_ceil(devices.saturating_sub(parity).max(1));
    match profile {
        "single" | "raid0" => Some(1),
        "dup" | "raid1" | "raid10" => Some(2),
        "raid1c3" => Some(3),
        "raid1c4" => Some(4),
        "raid5" => Some(beside(1)),
        "raid6" => Some(beside(2)),
        _ => None,
    }
}

/// Splits the colon-separated paths of `lowerdir`, the topmost first. Paths after a double colon hold data only, and
/// count too.
fn lowers(option: OsString) -> Vec<PathBuf> {
    let mut paths = vec![Vec::new()];
    let mut bytes = option.into_vec().into_iter();
    while let Some(byte) = bytes.next() {
        match (byte, paths.last_mut()) {
            (b':', _) => paths.push(Vec::new()),
            // A colon inside a path is written `\:`.
            (b'\\', Some(path)) => path.extend(bytes.next()),
            (other, Some(path)) => path.push(other),
            (_, None) => {}
        }
    }
    paths.into_iter().filter(|path| !path.is_empty()).map(|path| PathBuf::from(OsString::from_vec(path))).collect()
}

/// Returns the directories of an overlay: the upper one, if there is one, then the lower ones.
///
/// Relative directories are relative to where mount was run, which the kernel does not keep. They are searched from
/// the folders above the mount point and from the process's own. The right base has all of them, and the first one
/// (the upper or the topmost lower) has the inode number of the overlay's root (fs/overlayfs/super.c, `ovl_get_root`,
/// Linux 6.12; only where all are on one file system). Without such a base they stay relative.
pub(crate) fn directories_of_overlay(reader: &Reader, mount: &Mount) -> Vec<PathBuf> {
    let upper = mount.option("upperdir").map(PathBuf::from);
    let appended = mount.option("lowerdir+").map(PathBuf::from);
    let lower = mount.option("lowerdir").map(lowers).unwrap_or_default();
    let written: Vec<PathBuf> = upper.into_iter().chain(appended).chain(lower).collect();
    if written.iter().all(|path| path.is_absolute()) {
        return written;
    }
    let own = reader.link(&reader.process().folder().join("cwd")).ok();
    let bases = mount.mount_point.ancestors().skip(1).map(Path::to_owned).chain(own);
    let mut found = bases.filter_map(|base| from_base(reader, mount, &written, &base));
    found.next().unwrap_or(written)
}

/// Returns the directories as seen from a folder or from any folder in it; `None` if they are not those of the
/// overlay.
fn from_base(reader: &Reader, mount: &Mount, written: &[PathBuf], base: &Path) -> Option<Vec<PathBuf>> {
    let up = |path: &PathBuf| path.components().take_while(|part| *part == Component::ParentDir).count();
    let all_up = written.iter().filter(|path| path.is_relative()).map(up).min().unwrap_or(0);
    for levels in 0..=all_up {
        let seen_from = |path: &PathBuf| base.join(path.components().skip(levels).collect::<PathBuf>());
        let absolute = |path: &PathBuf| if path.is_absolute() { path.clone() } else { seen_from(path) };
        let found: Vec<PathBuf> = written.iter().map(absolute).collect();
        let exist = found.iter().all(|path| matches!(reader.exists(path), Ok(true)));
        let first = found.first().and_then(|path| reader.inode(path).ok());
        if exist && first.is_some() && first == reader.inode(&mount.mount_point).ok() {
            return found.iter().map(|path| reader.resolve(path).ok()).collect();
        }
    }
    None
}

/// Returns the tier of several devices side by side: that of all of them, or else block storage if any of them is
/// block storage. One unknown device makes the whole unknown.
fn together(tiers: &[Tier]) -> Option<Tier> {
    [Tier::Unknown, Tier::Block, Tier::Network, Tier::Fuse, Tier::Memory].into_iter().find(|tier| tiers.contains(tier))
}

/// File systems by the kind of storage below them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Family {
    Memory,
    Network,
    Fuse,
    Overlay,
    Other,
}

/// Returns `true` for a file system whose bytes come over a network.
pub(crate) fn is_network(fs_type: &str) -> bool {
    family(fs_type) == Family::Network
}

fn family(fs_type: &str) -> Family {
    match fs_type {
        "tmpfs" | "ramfs" | "hugetlbfs" | "devtmpfs" => Family::Memory,
        // virtiofs uses the FUSE protocol, but its daemon runs outside of the virtual machine.
        "nfs" | "nfs4" | "cifs" | "smb3" | "smbfs" | "ceph" | "9p" | "lustre" | "afs" | "coda" | "orangefs"
        | "pvfs2" | "gpfs" | "beegfs" | "wekafs" | "virtiofs" | "vboxsf" => Family::Network,
        "fuse" | "fuseblk" => Family::Fuse,
        "overlay" => Family::Overlay,
        other if other.starts_with("fuse.") => Family::Fuse,
        _ => Family::Other,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use crate::roots::{Process, Roots};

    use super::*;

    #[test]
    fn a_mixed_stack_is_what_its_slowest_promise_is() {
        for (tiers, expected) in [
            (&[][..], None),
            (&[Tier::Memory, Tier::Memory], Some(Tier::Memory)),
            (&[Tier::Memory, Tier::Block], Some(Tier::Block)),
            (&[Tier::Block, Tier::Unknown], Some(Tier::Unknown)),
            (&[Tier::Memory, Tier::Network], Some(Tier::Network)),
        ] {
            assert_eq!(together(tiers), expected, "{tiers:?}");
        }
    }

    #[test]
    fn profiles_of_btrfs_are_copies() {
        for (profile, devices, expected) in [
            ("single", 1, Some(1)),
            ("dup", 1, Some(2)),
            ("raid0", 2, Some(1)),
            ("raid1", 2, Some(2)),
            ("raid5", 2, Some(2)),
            ("raid5", 4, Some(2)),
            ("raid6", 3, Some(3)),
            ("bytes_used", 2, None),
        ] {
            assert_eq!(copies_of(profile, devices), expected, "{profile} on {devices}");
        }
    }

    #[test]
    fn lower_directories_end_at_plain_colons() {
        let cases: [(&str, &[&str]); 5] = [
            ("/a:/b", &["/a", "/b"]),
            ("/a", &["/a"]),
            ("/a\\:b:/c", &["/a:b", "/c"]),
            ("/a::/data", &["/a", "/data"]),
            ("", &[]),
        ];
        for (option, expected) in cases {
            assert_eq!(lowers(option.into()), expected.iter().map(PathBuf::from).collect::<Vec<_>>(), "{option}");
        }
    }

    #[test]
    fn relative_directories_are_those_with_the_number_of_the_overlays_root() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("proc/self/root");
        for name in ["srv/lower", "srv/upper", "srv/in", "lower", "upper"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        // A mounted overlay's root has the inode number of its upper directory.
        symlink("upper", root.join("srv/merged")).unwrap();
        symlink("/", folder.path().join("proc/self/cwd")).unwrap();
        let reader = Reader::new(&Roots::at(folder.path()), Process::Own);
        let check = |options: &str, expected: [&str; 2]| {
            let line = format!("46 42 0:41 / /srv/merged rw - overlay overlay rw,{options}\n");
            let (mounts, _) = Mounts::parse(line.as_bytes());
            let found = directories_of_overlay(&reader, &mounts.0[0]);
            assert_eq!(found, expected.map(PathBuf::from), "{options}");
        };
        check("lowerdir=lower,upperdir=upper,workdir=work", ["/srv/upper", "/srv/lower"]);
        check("lowerdir=../lower,upperdir=../upper,workdir=../work", ["/srv/upper", "/srv/lower"]);
        check("lowerdir=/lower,upperdir=upper", ["/srv/upper", "/lower"]);
        // From no base is the first directory the overlay's.
        check("lowerdir=upper,upperdir=lower", ["lower", "upper"]);
        check("lowerdir=lower,upperdir=gone", ["gone", "lower"]);
    }

    #[test]
    fn file_systems_fall_into_families() {
        for (fs_type, expected) in [
            ("tmpfs", Family::Memory),
            ("nfs4", Family::Network),
            ("virtiofs", Family::Network),
            ("fuse.sshfs", Family::Fuse),
            ("fusectl", Family::Other),
            ("overlay", Family::Overlay),
            ("ext4", Family::Other),
        ] {
            assert_eq!(family(fs_type), expected, "{fs_type}");
        }
    }
}
