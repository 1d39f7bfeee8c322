//! The machine, and the storage below the target.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::call::{DeviceNumber, FileId};
use crate::daemon::Daemon;
use crate::direction::Direction;
use crate::hardware::Hardware;
use crate::readings::Readings;
use crate::units::Quantity;

/// The machine, and the stack below each file that the run used.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Host {
    /// `uname -r`.
    pub kernel: String,
    /// `uname -m`.
    pub architecture: String,
    /// Online CPUs.
    pub cpus: u32,
    /// `MemTotal`, never 0; `None` when it could not be read.
    pub memory_bytes: Option<u64>,
    /// The largest cache of the first CPU, in bytes; `None` when not readable, and from an activebench that did not read
    /// it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_cache_bytes: Option<u64>,
    /// The memory limit of the tree's cgroup, where there is one.
    pub memory_limit_bytes: Option<u64>,
    /// I/O limits of the tree's control groups and of the groups above them, while the tree ran.
    #[serde(default)]
    pub io_limits: Vec<IoLimit>,
    /// Why `io_limits` may be incomplete; `None` when every group was read.
    #[serde(default = "not_said")]
    pub io_limits_unread: Option<String>,
    /// Counters and levels read while the tool ran; `None` from an activebench that did not read them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub readings: Option<Readings>,
    /// Links, states and caches of the devices; `None` from an activebench that did not read them.
    #[serde(default)]
    pub hardware: Option<Hardware>,
    /// Host name; kept only when the user asks for it.
    pub hostname: Option<String>,
    /// The storage stacks, one per mounted file system or block device used.
    pub targets: Vec<Target>,
    /// What is behind the FUSE file systems among `targets`. A FUSE file system without an entry is from an activebench
    /// that did not look for its daemon.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub daemons: Vec<Daemon>,
    /// Sources that could not be read, with the reason.
    pub unread: Vec<String>,
}

/// Returns the value of `io_limits_unread` for a record without this field.
fn not_said() -> Option<String> {
    Some("the run does not say whether its control groups could be read".to_owned())
}

/// A limit of a control group on I/O to one device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IoLimit {
    /// The group, as the process sees it.
    pub group: String,
    /// The file that contains it: `blkio.throttle.read_bps_device`, `io.max`.
    pub file: String,
    /// The whole disk.
    pub device: DeviceNumber,
    /// Reads or writes.
    pub direction: Direction,
    /// Bytes or operations per second.
    pub per_second: Quantity,
}

/// A file system (or a raw block device) with files of the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Target {
    /// The super block's device in the kernel's numbering; for a raw device the device itself.
    pub s_dev: DeviceNumber,
    /// Mount point; the device node for a raw device.
    pub mount_point: String,
    /// `ext4`, `tmpfs`, ...; `block-device` for a raw one.
    pub fs_type: String,
    /// Mount options and super block options, comma separated.
    pub options: String,
    /// Layers from the file system down. Empty when there is no block device below.
    pub layers: Vec<Layer>,
    /// Kind of storage below.
    pub tier: Tier,
}

/// The kind of storage of the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tier {
    /// A block device that keeps its data.
    Block,
    /// Memory: tmpfs, ramfs, zram, brd.
    Memory,
    /// A network file system.
    Network,
    /// FUSE; its properties depend on its daemon.
    Fuse,
    /// Unknown.
    Unknown,
}

/// One layer of the device stack.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Layer {
    /// `loop0`, `vda1`, `zram0`.
    pub name: String,
    /// The device's number.
    pub device: DeviceNumber,
    /// `partition`, `loop`, `zram`, `ram`, `virtio`, `nvme`, `scsi`, `btrfs-member`, `other`.
    pub kind: String,
    /// `queue/write_cache`: `write back` or `write through`; `None` when not readable.
    pub write_cache: Option<String>,
    /// `queue/rotational`.
    pub rotational: Option<bool>,
    /// `queue/logical_block_size`.
    pub logical_block_bytes: Option<u64>,
    /// For a loop device: true if it does direct I/O to its backing file.
    pub loop_direct_io: Option<bool>,
    /// For a loop device: the backing file.
    pub backing_file: Option<String>,
    /// Device size.
    pub size_bytes: Option<u64>,
    /// Further attributes worth keeping, by sysfs name.
    #[serde(default)]
    pub attributes: BTreeMap<String, String>,
}

/// Attribute key: the layer directly above this one, as the name of a device or the type of a
/// file system.
pub const ABOVE: &str = "above";

/// Attribute key of a loop device: the type of the file system of its backing file.
pub const BACKING_FILE_SYSTEM: &str = "backing_file_system";

/// Attribute key of a loop device: the number of its backing file's super block device.
pub const BACKING_S_DEV: &str = "backing_s_dev";

/// Attribute key of a loop device: the inode number of its backing file.
pub const BACKING_INODE: &str = "backing_inode";

/// Attribute key of a device: the most copies of each byte that a file system with its own RAID keeps.
pub const MOST_COPIES: &str = "most_copies";

/// The type of the "file system" of a raw device.
pub const RAW_DEVICE: &str = "block-device";

impl Host {
    /// Returns the memory available to the tree: the machine's, or its control group's limit. `None` when neither is
    /// known.
    pub fn usable_memory_bytes(&self) -> Option<u64> {
        self.memory_bytes.into_iter().chain(self.memory_limit_bytes).min()
    }

    /// Returns the target of a file, by the device of its super block.
    pub fn target_of(&self, file: FileId) -> Option<&Target> {
        self.targets.iter().find(|target| target.s_dev.0 == file.s_dev)
    }

    /// Returns the daemon behind a file; `None` where no FUSE file system is known to hold it.
    pub fn daemon_of(&self, file: FileId) -> Option<&Daemon> {
        self.daemons.iter().find(|daemon| daemon.s_dev.0 == file.s_dev)
    }

    /// Returns the targets of these files, each once, in the files' order.
    pub fn targets_of(&self, files: impl Iterator<Item = FileId>) -> Vec<&Target> {
        let mut targets: Vec<&Target> = Vec::new();
        for target in files.filter_map(|file| self.target_of(file)) {
            if !targets.iter().any(|known| std::ptr::eq(*known, target)) {
                targets.push(target);
            }
        }
        targets
    }
}

impl Layer {
    /// Returns the vendor's model; `None` where the record has none.
    pub fn model(&self) -> Option<&str> {
        self.says(&["device/model", "device/name"])
    }

    /// Returns the serial number, for NVMe that of the controller; `None` where the record has none.
    pub fn serial(&self) -> Option<&str> {
        self.says(&["device/serial", "serial"])
    }

    fn says(&self, attributes: &[&str]) -> Option<&str> {
        let value = attributes.iter().find_map(|name| self.attributes.get(*name))?.trim();
        (!value.is_empty()).then_some(value)
    }
}

impl Target {
    /// Returns `true` when a network file system's bytes come through the host's network interfaces, which then count
    /// and limit them. Not true for a hypervisor (virtiofs, 9p over virtio) or RDMA, which bypasses the interfaces'
    /// counters.
    pub fn comes_through_interfaces(&self) -> bool {
        let has = |name: &str| self.options.split(',').any(|option| option == name);
        let by_sockets = match self.fs_type.as_str() {
            "nfs" | "nfs4" | "cifs" | "smb3" | "ceph" => true,
            "9p" => has("trans=tcp"),
            _ => false,
        };
        by_sockets && !has("rdma") && !has("proto=rdma") && !has("proto=rdma6")
    }

    /// Returns the device at which the claim is judged: the topmost layer that is not a partition
    /// (requests carry the whole disk's number).
    pub fn device(&self) -> Option<&Layer> {
        self.layers.iter().find(|layer| layer.kind != "partition")
    }

    /// Returns the size of a raw device, which may be a partition, or of the device below a file system; `None` when it
    /// is unknown.
    pub fn device_bytes(&self) -> Option<u64> {
        let device = if self.fs_type == RAW_DEVICE { self.layers.first() } else { self.device() };
        device?.size_bytes
    }

    /// Returns all devices at which the claim is judged. One file system can use several, each with
    /// a part of the data.
    pub fn devices(&self) -> impl Iterator<Item = &Layer> {
        let above = |layer: &Layer| layer.attributes.get(ABOVE).cloned();
        let top = self.layers.first().and_then(above);
        let beside = move |layer: &&Layer| top.is_some() && above(layer) == top;
        let members = self.layers.iter().take(1).chain(self.layers.iter().skip(1).filter(beside));
        members.filter_map(|member| match member.kind.as_str() {
            // A disk of several partitions is listed below the first of them.
            "partition" => self.layers.iter().find(|layer| layer.attributes.get(ABOVE) == Some(&member.name)),
            _ => Some(member),
        })
    }

    /// Returns the layers below the devices at which the claim is judged, one set per level, from the topmost to the
    /// disks. All data of the target passes each set. A device without listed devices below it stays in the sets of
    /// lower levels. Partitions are left out, because requests carry the whole disk's number. Empty when there are no
    /// layers below.
    pub fn levels_below(&self) -> Vec<Vec<&Layer>> {
        let mut levels: Vec<Vec<&Layer>> = Vec::new();
        let mut level: Vec<&Layer> = self.devices().collect();
        // Each level but the last contains a layer that no other level has.
        for _ in 0..self.layers.len() {
            let next: Vec<&Layer> = level.iter().flat_map(|layer| self.directly_below(layer)).collect();
            let known = |layer: &&Layer| level.iter().any(|other| other.device == layer.device);
            if next.iter().all(known) {
                break;
            }
            levels.push(next.clone());
            level = next;
        }
        levels
    }

    /// Returns the devices that carry a device, a disk in place of its partition; the device itself where none is
    /// listed.
    fn directly_below<'a>(&'a self, layer: &'a Layer) -> Vec<&'a Layer> {
        let mut below: Vec<&Layer> = Vec::new();
        for member in self.carriers_of(&layer.name) {
            match member.kind.as_str() {
                "partition" => below.extend(self.carriers_of(&member.name).next()),
                _ => below.push(member),
            }
        }
        if below.is_empty() { vec![layer] } else { below }
    }

    /// Returns the layers that are listed directly below this one.
    fn carriers_of<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Layer> {
        self.layers.iter().filter(move |layer| layer.attributes.get(ABOVE).is_some_and(|above| above == name))
    }

    /// Returns the first layer below the file system with its own page cache: a loop device without direct I/O to its
    /// backing file, or a loop device whose mode is unknown.
    pub fn cached_layer(&self) -> Option<&Layer> {
        self.layers.iter().find(|layer| layer.kind == "loop" && layer.loop_direct_io != Some(true))
    }

    /// Returns the backing files of the loop devices, where their numbers are known.
    pub fn backing_files(&self) -> impl Iterator<Item = FileId> {
        self.layers.iter().filter_map(|layer| {
            let number = |name| layer.attributes.get(name)?.parse().ok();
            Some(FileId { s_dev: u32::try_from(number(BACKING_S_DEV)?).ok()?, ino: number(BACKING_INODE)? })
        })
    }

    /// Returns `true` if a loop device has a backing file of which the numbers are not known: one that is deleted, or on a
    /// file system that is unmounted since. Requests for its data name a file that is not among [`Self::backing_files`].
    pub fn has_unidentified_backing_file(&self) -> bool {
        let has = |layer: &Layer, name| layer.attributes.contains_key(name);
        self.layers.iter().any(|layer| has(layer, BACKING_FILE_SYSTEM) && !has(layer, BACKING_INODE))
    }

    /// Returns the layers without a known layer below them.
    pub fn bottom(&self) -> impl Iterator<Item = &Layer> {
        let carries = |name: &String| self.layers.iter().any(|layer| layer.attributes.get(ABOVE) == Some(name));
        self.layers.iter().filter(move |layer| !carries(&layer.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stacked(layers: &[(&str, &str, &str)]) -> Target {
        let layer = |(number, (name, kind, above)): (usize, &(&str, &str, &str))| Layer {
            name: (*name).to_owned(),
            device: DeviceNumber(number as u32 + 1),
            kind: (*kind).to_owned(),
            attributes: BTreeMap::from([(ABOVE.to_owned(), (*above).to_owned())]),
            ..Layer::default()
        };
        Target {
            s_dev: DeviceNumber(0),
            mount_point: "/mnt".to_owned(),
            fs_type: "ext4".to_owned(),
            options: String::new(),
            layers: layers.iter().enumerate().map(layer).collect(),
            tier: Tier::Block,
        }
    }

    #[test]
    fn all_data_pass_each_level() {
        fn check(what: &str, layers: &[(&str, &str, &str)], expected: &[&[&str]]) {
            let target = stacked(layers);
            let levels = target.levels_below();
            let names: Vec<Vec<&str>> =
                levels.iter().map(|level| level.iter().map(|layer| layer.name.as_str()).collect()).collect();
            assert_eq!(names, expected, "{what}");
        }
        check("a disk", &[("vda", "virtio", "ext4")], &[]);
        check("a partition", &[("vda1", "partition", "ext4"), ("vda", "virtio", "vda1")], &[]);
        let image = [("loop0", "loop", "ext4"), ("vda1", "partition", "loop0"), ("vda", "virtio", "vda1")];
        check("an image on a partition", &image, &[&["vda"]]);
        let partition_of_image =
            [("loop0p1", "partition", "ext4"), ("loop0", "loop", "loop0p1"), ("vda", "virtio", "loop0")];
        check("a partition of an image", &partition_of_image, &[&["vda"]]);
        let volume =
            [("dm-0", "dm", "xfs"), ("dm-1", "dm", "dm-0"), ("sda2", "partition", "dm-1"), ("sda", "scsi", "sda2")];
        check("a crypt on a volume", &volume, &[&["dm-1"], &["sda"]]);
        let raid =
            [("md0", "md", "ext4"), ("sda", "scsi", "md0"), ("loop0", "loop", "md0"), ("vda", "virtio", "loop0")];
        check("legs of different depth", &raid, &[&["sda", "loop0"], &["sda", "vda"]]);
        // The disk below both images is listed below the first one.
        let two = [("loop0", "loop", "btrfs"), ("vda", "virtio", "loop0"), ("loop1", "loop", "btrfs")];
        check("two images on one disk", &two, &[&["vda", "loop1"]]);
    }

    #[test]
    fn a_raw_partition_has_a_size_of_its_own() {
        let layer = |name: &str, kind: &str, size_bytes: u64| Layer {
            name: name.to_owned(),
            device: DeviceNumber(0),
            kind: kind.to_owned(),
            write_cache: None,
            rotational: None,
            logical_block_bytes: None,
            loop_direct_io: None,
            backing_file: None,
            size_bytes: Some(size_bytes),
            attributes: BTreeMap::new(),
        };
        let target = |fs_type: &str| Target {
            s_dev: DeviceNumber(0),
            mount_point: "/dev/vda1".to_owned(),
            fs_type: fs_type.to_owned(),
            options: String::new(),
            layers: vec![layer("vda1", "partition", 5), layer("vda", "virtio", 10)],
            tier: Tier::Block,
        };
        assert_eq!(target(RAW_DEVICE).device_bytes(), Some(5));
        assert_eq!(target("ext4").device_bytes(), Some(10));
    }
}
