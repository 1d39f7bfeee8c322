//! Finds the users of a block device, whose data a write would destroy.
//!
//! Uses `/proc` and `/sys` alone. Contents on an unused device (a file system that is not mounted, a partition table
//! without partitions) are visible only in its first blocks, which are not read here.

use std::path::{Path, PathBuf};

use activebench_model::call::DeviceNumber;
use rustix::fs::OFlags;

use crate::block::read_device_number;
use crate::mounts::Mounts;
use crate::reader::{ReadError, Reader, device_name};
use crate::roots::{Process, Roots};

/// Known users of a device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Size of the device; `None` where unknown.
    pub size_bytes: Option<u64>,
    /// Name of the whole disk if the device is a partition: `sdb`.
    pub partition_of: Option<String>,
    /// Users, as lower-case fragments that follow the device's name: `is mounted at /mnt`. Empty if unused.
    pub users: Vec<String>,
    /// Processes that hold it open, without our own process and its ancestors: a lock taken for us does not count as
    /// another use.
    pub openers: Vec<Opener>,
    /// `true` if the device accepts discards; `None` where unknown.
    pub discards: Option<bool>,
    /// Reasons for what could not be read: there may be more users than listed.
    pub unread: Vec<String>,
}

/// A process that holds a device open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opener {
    /// As [`Usage::users`]: `is held open by qemu, process 4711 (sdb)`.
    pub words: String,
    /// `true` if it may write, or if that is unknown.
    pub writes: bool,
}

/// Reads the users of a device, including those of its partitions, and for a partition those of the whole disk.
pub fn usage_of(roots: &Roots, device: DeviceNumber) -> Usage {
    let mut reader = Reader::new(roots, Process::Own);
    let mut usage = Usage::default();
    let folder = reader.link(Path::new(&format!("/sys/dev/block/{device}")));
    if let Some(folder) = reader.wanted(folder) {
        let sectors = reader.number(&folder.join("size"));
        usage.size_bytes = reader.wanted(sectors).and_then(|sectors| sectors.checked_mul(512));
        let disk = disk_of(&mut reader, &folder);
        usage.partition_of = disk.as_deref().map(device_name);
        let most = reader.number(&disk.as_ref().unwrap_or(&folder).join("queue/discard_max_bytes"));
        usage.discards = reader.wanted(most).map(|most| most > 0);
        let read_only = reader.flag(&folder.join("ro"));
        if reader.optional(read_only) == Some(true) {
            usage.users.push("is read-only".to_owned());
        }
        let partitions = partitions(&mut reader, &folder);
        for partition in &partitions {
            usage.users.push(format!("has a partition, {}", device_name(partition)));
        }
        let mut users = Users::read(&mut reader);
        let mut parts = Vec::new();
        for part in std::iter::once(folder).chain(partitions).chain(disk) {
            let part = Part::read(&mut reader, part);
            let found = users.of(&mut reader, &part);
            usage.users.extend(found);
            parts.push(part);
        }
        usage.openers = openers(&mut reader, &parts);
    }
    usage.unread = reader.unread().to_vec();
    usage
}

/// Returns the block devices to which a character device also leads: `/dev/sg0` to `sda`, `/dev/ng0n1` to `nvme0n1`.
/// Empty for any other character device.
///
/// # Errors
/// Returns the first read error as text.
pub fn block_devices_behind(roots: &Roots, device: DeviceNumber) -> Result<Vec<(String, DeviceNumber)>, String> {
    let mut reader = Reader::new(roots, Process::Own);
    let folder = reader.link(Path::new(&format!("/sys/dev/char/{device}")));
    let mut found = Vec::new();
    if let Some(folder) = reader.optional(folder) {
        for block in blocks_of(&mut reader, &folder) {
            let number = read_device_number(&reader, &block.join("dev"));
            found.extend(reader.optional(number).map(|number| (device_name(&block), number)));
        }
    }
    match reader.unread() {
        [] => Ok(found),
        [first, ..] => Err(first.clone()),
    }
}

/// Returns the folders of the block devices beside a character device.
fn blocks_of(reader: &mut Reader, folder: &Path) -> Vec<PathBuf> {
    // NVMe: both are in the folder of the controller or of the subsystem, with the same numbers
    // (drivers/nvme/host/core.c and multipath.c, `nvme_cdev_add`, Linux 6.12).
    if let Some(numbers) = device_name(folder).strip_prefix("ng") {
        return vec![folder.with_file_name(format!("nvme{numbers}"))];
    }
    // SCSI: `sg` and `bsg` share the folder of the disk.
    let device = reader.link(&folder.join("device"));
    let Some(blocks) = reader.optional(device).map(|device| device.join("block")) else { return Vec::new() };
    let names = reader.names(&blocks);
    reader.optional(names).into_iter().flatten().map(|name| blocks.join(name)).collect()
}

/// Returns the folder of a partition's whole disk; `None` for a device that is not a partition.
fn disk_of(reader: &mut Reader, folder: &Path) -> Option<PathBuf> {
    let is_partition = reader.exists(&folder.join("partition"));
    reader.wanted(is_partition).filter(|is| *is).and_then(|_| folder.parent().map(Path::to_owned))
}

/// Returns the folders of a disk's partitions.
fn partitions(reader: &mut Reader, folder: &Path) -> Vec<PathBuf> {
    let names = reader.names(folder);
    let names = reader.wanted(names).unwrap_or_default();
    let mut partitions = Vec::new();
    for inside in names.into_iter().map(|name| folder.join(name)) {
        let is_partition = reader.exists(&inside.join("partition"));
        if reader.wanted(is_partition) == Some(true) {
            partitions.push(inside);
        }
    }
    partitions
}

/// A device or one of its partitions.
struct Part {
    folder: PathBuf,
    name: String,
    /// Usual path of its node.
    node: PathBuf,
    number: Option<DeviceNumber>,
}

impl Part {
    fn read(reader: &mut Reader, folder: PathBuf) -> Self {
        let name = device_name(&folder);
        let number = read_device_number(reader, &folder.join("dev"));
        Self { node: Path::new("/dev").join(&name), number: reader.wanted(number), name, folder }
    }
}

/// Returns the processes that hold one of the parts open.
fn openers(reader: &mut Reader, parts: &[Part]) -> Vec<Opener> {
    let family = own_family(reader);
    let names = reader.names(Path::new("/proc"));
    let names = reader.wanted(names).unwrap_or_default();
    let processes = names.iter().filter_map(|name| name.to_str()?.parse::<u32>().ok());
    let mut found = Vec::new();
    let mut hidden = Vec::new();
    for process in processes.filter(|process| !family.contains(process)) {
        match of_process(reader, process, parts) {
            Ok(openers) => found.extend(openers),
            Err(error) if error.is_gone() => {}
            Err(error) => hidden.push(error),
        }
    }
    if let [first, others @ ..] = &hidden[..] {
        let and = if others.is_empty() { String::new() } else { format!(" (and {} more such)", others.len()) };
        reader.note(format!("{first}{and}"));
    }
    found
}

/// Returns the parts that a process holds open.
fn of_process(reader: &Reader, process: u32, parts: &[Part]) -> Result<Vec<Opener>, ReadError> {
    let folder = Process::Id(process).folder();
    let mut found = Vec::new();
    for name in reader.names(&folder.join("fd"))? {
        let descriptor = folder.join("fd").join(&name);
        let held = reader.link(&descriptor).and_then(|target| match parts.iter().find(|part| part.node == target) {
            Some(part) => Ok(Some(part)),
            // Only device nodes are examined: a file that hangs, such as one of an unreachable server, would hang us.
            None if !target.starts_with("/dev") => Ok(None),
            None => {
                let number = reader.block_device(&descriptor)?;
                Ok(parts.iter().find(|part| number.is_some() && part.number == number))
            }
        });
        let part = match held {
            Ok(Some(part)) => part,
            Ok(None) => continue,
            Err(error) if error.is_gone() => continue,
            Err(error) => return Err(error),
        };
        let flags = reader.text(&folder.join("fdinfo").join(&name)).ok().and_then(|text| flags_of(&text));
        if flags.is_some_and(|flags| flags.contains(OFlags::PATH)) {
            continue;
        }
        let writes = flags.is_none_or(|flags| flags.intersection(OFlags::RWMODE) != OFlags::RDONLY);
        let program = reader.text(&folder.join("comm")).unwrap_or_else(|_| "a program".to_owned());
        found.push(Opener { words: format!("is held open by {program}, process {process} ({})", part.name), writes });
    }
    Ok(found)
}

/// Returns the flags of an open descriptor, from its `fdinfo`.
pub(crate) fn flags_of(text: &str) -> Option<OFlags> {
    let flags = text.lines().find_map(|line| line.strip_prefix("flags:"))?;
    u32::from_str_radix(flags.trim(), 8).ok().map(OFlags::from_bits_retain)
}

/// Returns the ids of our own process and its ancestors.
fn own_family(reader: &mut Reader) -> Vec<u32> {
    let mut family = Vec::new();
    let mut next = Process::Own;
    loop {
        let text = reader.text(&next.folder().join("status"));
        // The ancestors of a process that has ended, or that we may not see, are unknown.
        let Ok(text) = text else { return family };
        let number =
            |key: &str| -> Option<u32> { text.lines().find_map(|line| line.strip_prefix(key))?.trim().parse().ok() };
        family.extend(number("Pid:").filter(|pid| !family.contains(pid)));
        match number("PPid:").filter(|parent| *parent > 0 && !family.contains(parent)) {
            Some(parent) => next = Process::Id(parent),
            None => return family,
        }
    }
}

/// Users of devices on this host.
struct Users {
    mounts: Mounts,
    /// Paths of swap areas.
    swaps: Vec<String>,
    /// Loop devices and the paths of their backing files.
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

    /// Returns the users of one device or partition.
    fn of(&mut self, reader: &mut Reader, part: &Part) -> Vec<String> {
        let Part { folder, name, node, number } = part;
        let mut found = Vec::new();
        // btrfs shows its own device number, and the node from which it was mounted.
        let mounted = self.mounts.0.iter().filter(|mount| Some(mount.device) == *number || mount.source == *node);
        found.extend(mounted.map(|mount| format!("is mounted at {} ({name})", mount.mount_point.display())));
        if self.members.contains(name) {
            found.push(format!("is a member of a mounted btrfs ({name})"));
        }
        if self.swaps.iter().any(|swap| Path::new(swap) == *node) {
            found.push(format!("is swap ({name})"));
        }
        let holders = reader.names(&folder.join("holders"));
        for holder in reader.optional(holders).into_iter().flatten() {
            found.push(format!("is part of {} ({name})", holder.to_string_lossy()));
        }
        for (of, file) in self.loops.iter().filter(|(_, file)| file == node) {
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
        if name.starts_with("loop") {
            // A loop device without a backing file does not have this attribute.
            let file = reader.path(&file);
            found.extend(reader.optional(file).map(|file| (name, file)));
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
        // `features` and the like are not file systems: they have no devices.
        let names = reader.names(&root.join(file_system).join("devices"));
        let names = reader.optional(names).unwrap_or_default();
        members.extend(names.into_iter().map(|name| name.to_string_lossy().into_owned()));
    }
    members
}
