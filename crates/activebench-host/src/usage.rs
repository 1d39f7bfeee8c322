//! Who uses a block device: what would be destroyed if it were written.
//!
//! From `/proc` and `/sys` alone: what lies *on* a device that nobody uses (a file system that is not mounted, a
//! partition table without partitions) only its first blocks tell, and these are not read here.

use std::path::{Path, PathBuf};

use activebench_model::call::DeviceNumber;

use crate::block::read_device_number;
use crate::mounts::Mounts;
use crate::reader::{Reader, device_name};
use crate::roots::{Process, Roots};

/// What is known of a device's users.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Its size; `None` where it is not known.
    pub size_bytes: Option<u64>,
    /// Who uses it, as lower-case fragments that follow its name: `is mounted at /mnt`. Empty where nobody does.
    pub users: Vec<String>,
    /// Whether it takes discards; `None` where it is not known.
    pub discards: Option<bool>,
    /// What could not be read: there may be users that are not in the list.
    pub unread: Vec<String>,
}

/// Reads who uses a device, its partitions included.
pub fn usage_of(roots: &Roots, device: DeviceNumber) -> Usage {
    let mut reader = Reader::new(roots, Process::Own);
    let mut usage = Usage::default();
    let folder = reader.link(Path::new(&format!("/sys/dev/block/{device}")));
    if let Some(folder) = reader.wanted(folder) {
        let sectors = reader.number(&folder.join("size"));
        usage.size_bytes = reader.wanted(sectors).and_then(|sectors| sectors.checked_mul(512));
        let most = reader.number(&disk_of(&reader, &folder).join("queue/discard_max_bytes"));
        usage.discards = reader.wanted(most).map(|most| most > 0);
        if matches!(reader.flag(&folder.join("ro")), Ok(true)) {
            usage.users.push("is read-only".to_owned());
        }
        let partitions = partitions(&mut reader, &folder);
        for partition in &partitions {
            usage.users.push(format!("has a partition, {}", device_name(partition)));
        }
        let parts: Vec<PathBuf> = std::iter::once(folder).chain(partitions).collect();
        let mut users = Users::read(&mut reader);
        for part in &parts {
            let found = users.of(&mut reader, part);
            usage.users.extend(found);
        }
    }
    usage.unread = reader.unread().to_vec();
    usage
}

/// The folder of the whole disk.
fn disk_of(reader: &Reader, folder: &Path) -> PathBuf {
    match reader.exists(&folder.join("partition")) {
        Ok(true) => folder.parent().map_or_else(|| folder.to_owned(), Path::to_owned),
        _ => folder.to_owned(),
    }
}

/// The folders of a disk's partitions.
fn partitions(reader: &mut Reader, folder: &Path) -> Vec<PathBuf> {
    let names = reader.names(folder);
    let names = reader.wanted(names).unwrap_or_default();
    let inside = names.into_iter().map(|name| folder.join(name));
    inside.filter(|inside| matches!(reader.exists(&inside.join("partition")), Ok(true))).collect()
}

/// What of the host uses devices.
struct Users {
    mounts: Mounts,
    /// Paths of swap areas.
    swaps: Vec<String>,
    /// Loop devices and the paths of what is behind them.
    loops: Vec<(String, PathBuf)>,
    /// Names of the members of mounted btrfs file systems.
    members: Vec<String>,
}

impl Users {
    fn read(reader: &mut Reader) -> Self {
        let text = reader.bytes(Path::new("/proc/self/mountinfo"));
        let (mounts, notes) = Mounts::parse(reader.wanted(text).as_deref().unwrap_or(b""));
        for note in notes {
            reader.note(note);
        }
        let text = reader.text(Path::new("/proc/swaps"));
        let text = reader.optional(text).unwrap_or_default();
        let swaps = text.lines().skip(1).filter_map(|line| line.split_whitespace().next());
        let swaps = swaps.map(str::to_owned).collect();
        Self { mounts, swaps, loops: loops(reader), members: btrfs_members(reader) }
    }

    /// Users of one device or partition, by its folder.
    fn of(&mut self, reader: &mut Reader, folder: &Path) -> Vec<String> {
        let name = device_name(folder);
        let node = Path::new("/dev").join(&name);
        let number = read_device_number(reader, &folder.join("dev"));
        let number = reader.wanted(number);
        let mut found = Vec::new();
        // btrfs shows a number of its own, and the node that it was mounted from.
        let mounted = self.mounts.0.iter().filter(|mount| Some(mount.device) == number || mount.source == node);
        found.extend(mounted.map(|mount| format!("is mounted at {} ({name})", mount.mount_point.display())));
        if self.members.contains(&name) {
            found.push(format!("is a member of a mounted btrfs ({name})"));
        }
        if self.swaps.iter().any(|swap| Path::new(swap) == node) {
            found.push(format!("is swap ({name})"));
        }
        let holders = reader.names(&folder.join("holders"));
        for holder in reader.optional(holders).into_iter().flatten() {
            found.push(format!("is part of {} ({name})", holder.to_string_lossy()));
        }
        for (of, file) in self.loops.iter().filter(|(_, file)| *file == node) {
            found.push(format!("is behind the loop device {of} ({})", file.display()));
        }
        found
    }
}

fn loops(reader: &mut Reader) -> Vec<(String, PathBuf)> {
    let names = reader.names(Path::new("/sys/block"));
    let names = reader.optional(names).unwrap_or_default();
    let mut found = Vec::new();
    for name in names {
        let name = name.to_string_lossy().into_owned();
        let file = Path::new("/sys/block").join(&name).join("loop/backing_file");
        if name.starts_with("loop")
            && let Ok(file) = reader.path(&file)
        {
            found.push((name, file));
        }
    }
    found
}

fn btrfs_members(reader: &mut Reader) -> Vec<String> {
    let root = Path::new("/sys/fs/btrfs");
    let names = reader.names(root);
    let file_systems = reader.optional(names).unwrap_or_default();
    let mut members = Vec::new();
    for file_system in file_systems {
        // `features` and the like are no file systems: they have no devices.
        let names = reader.names(&root.join(file_system).join("devices"));
        members.extend(names.into_iter().flatten().map(|name| name.to_string_lossy().into_owned()));
    }
    members
}
