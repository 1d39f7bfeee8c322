//! The storage below the files of a run, as [`Target`]s.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use activebench_model::call::DeviceNumber;
use activebench_model::host::{Layer, RAW_DEVICE, Target, Tier};

use crate::hardware::OWN_SERVER;
use crate::mounts::{Mount, Mounts, device_number};
use crate::reader::Reader;
use crate::roots::{Process, Roots};
use crate::stack::{Walk, directories_of_overlay};

/// Storage that the run used, as named in its events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StorageRef {
    /// The file system of regular files.
    FileSystem {
        /// The super block's device as the kernel reports it, never that of `stat`.
        s_dev: DeviceNumber,
        /// A name of one of the files as the tool wrote it. Selects between several mounts of one file system. A
        /// relative name is resolved from the process's working directory.
        path: Option<PathBuf>,
    },
    /// A block device that was opened as a file.
    Device(DeviceNumber),
}

/// Storage as it was while a run ran.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// Mounts of its processes.
    pub mounts: Mounts,
    /// Contents of files below `/sys`, by their paths there. `None` where they changed.
    pub attributes: BTreeMap<PathBuf, Option<Vec<u8>>>,
}

/// The mounts of a process, read once, and the storage below them.
///
/// Create it while the process lives, because its mount namespace ends with it. The device stack is read on request.
#[derive(Debug)]
pub struct Survey {
    reader: Reader,
    mounts: Mounts,
    /// Mounts that other processes had at an earlier time.
    seen: Mounts,
}

impl Survey {
    /// Reads the mounts of a process. If they cannot be read, uses those of the calling process and adds a note.
    pub fn of(roots: &Roots, process: Process) -> Self {
        let mut reader = Reader::new(roots, process);
        let text = reader.bytes(&process.folder().join("mountinfo"));
        let mut text = reader.wanted(text);
        if text.is_none() && process != Process::Own {
            let mut own = Reader::new(roots, Process::Own);
            for what in reader.unread() {
                own.note(format!("{what}; our own mounts are taken"));
            }
            reader = own;
            let own_text = reader.bytes(&Process::Own.folder().join("mountinfo"));
            text = reader.wanted(own_text);
        }
        let (mounts, notes) = Mounts::parse(text.as_deref().unwrap_or(b""));
        for note in notes {
            reader.note(note);
        }
        Self { reader, mounts, seen: Mounts::default() }
    }

    /// Takes what was seen while a run used storage, in place of what was seen before. It counts where nothing is left of it: of a file system that was unmounted
    /// since, or is in another mount namespace, and of a device that has no backing file any more. Where something else
    /// has its place now, neither counts.
    pub fn set_seen(&mut self, seen: Seen) {
        self.seen = seen.mounts;
        self.reader.remember(seen.attributes);
    }

    /// Returns a mount of a device that is in use no more. `None` where several file systems had its number, one after
    /// the other.
    fn seen_of_device(&self, s_dev: DeviceNumber) -> Option<Mount> {
        self.seen.of_device(s_dev, None).filter(|found| self.is_only_one(found)).cloned()
    }

    /// Returns `true` if no other file system was seen with the number of this one. The numbers of file systems without a
    /// device are given again.
    fn is_only_one(&self, mount: &Mount) -> bool {
        self.seen.0.iter().filter(|other| other.device == mount.device).all(|other| other.is_same_file_system(mount))
    }

    /// Returns the overlays whose directories are all on one other file system, each with that file system. Leaves
    /// out an overlay whose directories cannot be seen or are on several file systems.
    pub fn overlays(&mut self) -> Vec<(DeviceNumber, DeviceNumber)> {
        let mut found = Vec::new();
        for mount in self.mounts.0.iter().filter(|mount| mount.fs_type == "overlay") {
            let below: Option<BTreeSet<DeviceNumber>> = directories_of_overlay(&self.reader, mount)
                .iter()
                .map(|path| {
                    let seen = path.is_absolute() && self.reader.sees(path) != Some(false);
                    let resolved = seen.then(|| self.reader.resolve(path).ok()).flatten()?;
                    self.mounts.containing(&resolved).map(|mount| mount.device)
                })
                .collect();
            match below.map(Vec::from_iter).as_deref() {
                Some([below]) if *below != mount.device => found.push((mount.device, *below)),
                _ => {}
            }
        }
        found
    }

    pub(crate) fn reader(&mut self) -> &mut Reader {
        &mut self.reader
    }

    /// Returns the mounts.
    pub fn mounts(&self) -> &Mounts {
        &self.mounts
    }

    /// Returns what could not be read or followed so far, with the reason, each entry once.
    pub fn unread(&self) -> &[String] {
        self.reader.unread()
    }

    /// Returns one target for each distinct number, in the order given. Of several references to one file system, the
    /// first with a path counts.
    pub fn targets_of(&mut self, used: &[StorageRef]) -> Vec<Target> {
        let mut distinct: Vec<(DeviceNumber, StorageRef)> = Vec::new();
        for storage in used {
            let number = match storage {
                StorageRef::FileSystem { s_dev, .. } => *s_dev,
                StorageRef::Device(device) => *device,
            };
            match distinct.iter_mut().find(|(known, _)| *known == number) {
                Some((_, kept @ StorageRef::FileSystem { path: None, .. })) => *kept = storage.clone(),
                Some(_) => {}
                None => distinct.push((number, storage.clone())),
            }
        }
        distinct
            .into_iter()
            .map(|(_, storage)| match storage {
                StorageRef::FileSystem { s_dev, path } => self.target_for(s_dev, path.as_deref()),
                StorageRef::Device(device) => self.target_for_device(device),
            })
            .collect()
    }

    /// Returns the target of the file system with this super block. When the path is on an overlay, returns the
    /// overlay's target with the number asked for, which is that of the file system below.
    ///
    /// If no mount has the number (a number from `stat` on btrfs; unmounted since or in another mount namespace, and not
    /// among the mounts of [`Survey::set_seen`]), a device
    /// number known to sysfs is followed as a device, and an anonymous one is searched by the path. Both cases are
    /// noted in [`Survey::unread`]. `fs_type` is `unknown` when neither finds it. The target always has the number
    /// asked for.
    pub fn target_for(&mut self, s_dev: DeviceNumber, path: Option<&Path>) -> Target {
        let path = path.and_then(|path| {
            let resolved = self.reader.resolve(path);
            self.reader.wanted(resolved)
        });
        let by_path = path.as_deref().and_then(|path| self.mounts.containing(path)).cloned();
        // Files of an overlay are identified by the file system that holds their data.
        if let Some(overlay) = by_path.as_ref().filter(|mount| mount.fs_type == "overlay" && mount.device != s_dev) {
            return Target { s_dev, ..self.target_of_mount(overlay) };
        }
        if let Some(mount) = self.mounts.of_device(s_dev, path.as_deref()).cloned() {
            if s_dev.major() == 0 && !self.is_only_one(&mount) {
                self.reader.note(format!("several file systems had the device {s_dev} during the run"));
                return unknown_target(s_dev, Vec::new(), Tier::Unknown);
            }
            return self.target_of_mount(&mount);
        }
        if let Some(mount) = self.seen_of_device(s_dev) {
            return self.target_of_mount(&mount);
        }
        match by_path {
            // Two different real device numbers are two file systems; only anonymous numbers can differ for the same
            // file system.
            Some(mount) if s_dev.major() == 0 && mount.device.major() == 0 => {
                self.reader.note(format!(
                    "no mount has the device {s_dev}; the one that holds the path, {}, is taken",
                    mount.mount_point.display()
                ));
                Target { s_dev, ..self.target_of_mount(&mount) }
            }
            _ => {
                self.reader.note(format!("no mount has the device {s_dev}"));
                let mut walk = Walk::new(&mut self.reader, &self.mounts, &self.seen);
                let tier = if s_dev.major() == 0 { Some(Tier::Unknown) } else { walk.device(s_dev, None) };
                let (layers, tier) = walk.end(tier);
                unknown_target(s_dev, layers, tier)
            }
        }
    }

    /// Returns the target of a block device that was opened as a file. `mount_point` is its node.
    pub fn target_for_device(&mut self, device: DeviceNumber) -> Target {
        let mut walk = Walk::new(&mut self.reader, &self.mounts, &self.seen);
        let tier = walk.device(device, None);
        let (layers, tier) = walk.end(tier);
        let node = layers.first().map_or_else(String::new, |layer| format!("/dev/{}", layer.name));
        Target {
            s_dev: device,
            mount_point: node,
            fs_type: RAW_DEVICE.to_owned(),
            options: String::new(),
            layers,
            tier,
        }
    }

    /// Returns the target below a path, which does not have to exist. `None` when no mount contains it.
    ///
    /// For a place known only by name, such as the run directory. For a device node it returns the file system of the
    /// node, not the device.
    pub fn target_of_path(&mut self, path: &Path) -> Option<Target> {
        let resolved = self.reader.resolve(path);
        let resolved = self.reader.wanted(resolved)?;
        let Some(mount) = self.mounts.containing(&resolved).cloned() else {
            self.reader.note(format!("no mount holds {}", resolved.display()));
            return None;
        };
        Some(self.target_of_mount(&mount))
    }

    /// Returns every device below a path, at any depth; empty when there is no device (memory, network) or the target
    /// is unknown.
    pub fn devices_below(&mut self, path: &Path) -> BTreeSet<DeviceNumber> {
        let target = self.target_of_path(path);
        target.iter().flat_map(|target| &target.layers).map(|layer| layer.device).collect()
    }

    /// Returns the super blocks and block devices that certainly share no device with a path: writes to the path do
    /// not disturb them. The whole stack of each is known, and so is that of the path. Anything mounted or created
    /// later is not included.
    ///
    /// # Errors
    /// Returns an error with the reason when the path's own stack is unknown.
    pub fn apart_from(&mut self, path: &Path) -> Result<BTreeSet<DeviceNumber>, String> {
        let Some(own) = self.target_of_path(path) else {
            return Err(format!("the device below {} is not known", path.display()));
        };
        if !matches!(own.tier, Tier::Block | Tier::Memory | Tier::Network) {
            return Err(format!("it is not known what holds the bytes of {} ({})", path.display(), own.fs_type));
        }
        let mut others: Vec<Target> = self.mounts.0.clone().iter().map(|mount| self.target_of_mount(mount)).collect();
        let numbers = self.reader.names(Path::new("/sys/dev/block"));
        for number in self.reader.wanted(numbers).into_iter().flatten() {
            if let Some(device) = number.to_str().and_then(device_number) {
                others.push(self.target_for_device(device));
            }
        }
        // A server may be this machine, and two mounts may be from the same server.
        let apart = |other: &Target| match (own.tier, other.tier) {
            (Tier::Network, Tier::Memory) | (Tier::Memory, Tier::Network) => true,
            (Tier::Block | Tier::Memory, Tier::Block | Tier::Memory) => {
                own.s_dev != other.s_dev && shares_device(&own, other).is_none()
            }
            _ => false,
        };
        Ok(others.iter().filter(|other| apart(other)).map(|other| other.s_dev).collect())
    }

    fn target_of_mount(&mut self, mount: &Mount) -> Target {
        let mut walk = Walk::new(&mut self.reader, &self.mounts, &self.seen);
        let tier = walk.file_system(mount, None);
        let (layers, tier) = walk.end(tier);
        Target {
            s_dev: mount.device,
            mount_point: mount.mount_point.to_string_lossy().into_owned(),
            fs_type: mount.fs_type.clone(),
            options: without_names(&mount.options(), |address| is_own_address(&self.reader, address)),
            layers,
            tier,
        }
    }
}

/// Returns the target of a file system of which no mount is known.
fn unknown_target(s_dev: DeviceNumber, layers: Vec<Layer>, tier: Tier) -> Target {
    Target { s_dev, mount_point: String::new(), fs_type: "unknown".to_owned(), options: String::new(), layers, tier }
}

/// Options whose values name a host or a person. The values are left out because reports are passed on.
const NAMING_OPTIONS: &[&str] =
    &["addr", "clientaddr", "mountaddr", "mon_addr", "ip", "unc", "username", "user", "domain", "name"];

fn without_names(options: &str, is_own: impl Fn(&str) -> bool) -> String {
    let kept = options.split(',').map(|option| match option.split_once('=') {
        Some(("addr", address)) if is_own(address) => OWN_SERVER.to_owned(),
        Some((key, _)) if NAMING_OPTIONS.contains(&key) => format!("{key}=(left out)"),
        _ => option.to_owned(),
    });
    kept.collect::<Vec<_>>().join(",")
}

/// Returns `true` for an address of this machine: a loopback address, or one that the kernel routes to itself.
fn is_own_address(reader: &Reader, address: &str) -> bool {
    let Ok(address) = address.parse::<IpAddr>() else { return false };
    let text = |path: &str| reader.text(Path::new(path)).unwrap_or_default();
    match address {
        _ if address.is_loopback() => true,
        // `|-- 192.0.2.7`, and on the next line `/32 host LOCAL`.
        IpAddr::V4(_) => {
            let routes = text("/proc/net/fib_trie");
            let entry = format!("|-- {address}");
            let mut lines = routes.lines().peekable();
            std::iter::from_fn(|| Some((lines.next()?, lines.peek().copied().unwrap_or(""))))
                .any(|(line, next)| line.trim() == entry && next.contains("/32 host LOCAL"))
        }
        // Each line starts with 32 hexadecimal digits without colons.
        IpAddr::V6(address) => {
            let digits: String = address.octets().iter().map(|byte| format!("{byte:02x}")).collect();
            text("/proc/net/if_inet6").lines().any(|line| line.starts_with(&digits))
        }
    }
}

/// Returns a device that two targets have in common, the topmost of the first: writes to one disturb the other.
///
/// The same file system without a device below (a network mount) counts too, except in memory. If either target is
/// not fully known, `None` means only that no common device was found: check the tiers.
pub fn shares_device(one: &Target, other: &Target) -> Option<DeviceNumber> {
    let common = one.layers.iter().map(|layer| layer.device).find(|device| {
        let device = *device;
        other.layers.iter().any(|layer| layer.device == device)
    });
    let same = || (one.s_dev == other.s_dev && one.tier != Tier::Memory).then_some(one.s_dev);
    common.or_else(same)
}
