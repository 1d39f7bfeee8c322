//! What is known of the machine and of the storage below the target.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::call::{DeviceNumber, FileId};
use crate::hardware::Hardware;
use crate::phase::Direction;
use crate::readings::Readings;
use crate::units::Quantity;

/// The machine, and the stack below each file that the run used.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Host {
    /// `uname -r`.
    pub kernel: String,
    /// `uname -m`.
    pub architecture: String,
    /// Online processors.
    pub cpus: u32,
    /// `MemTotal`; 0 never: `None` when it could not be read.
    pub memory_bytes: Option<u64>,
    /// The memory limit of the tree's cgroup, where there is one.
    pub memory_limit_bytes: Option<u64>,
    /// Limits that control groups of the tree, or groups above them, put on its I/O while it ran.
    #[serde(default)]
    pub io_limits: Vec<IoLimit>,
    /// Why `io_limits` need not be all of them; `None` when every group was read.
    #[serde(default = "not_said")]
    pub io_limits_unread: Option<String>,
    /// Counters and levels read while the tool ran; `None` by an activebench that did not read them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub readings: Option<Readings>,
    /// Links, states and caches of the devices; `None` by an activebench that did not look.
    #[serde(default)]
    pub hardware: Option<Hardware>,
    /// Hosts have names; kept only when the user asks.
    pub hostname: Option<String>,
    /// The storage stacks, one per mounted file system or block device used.
    pub targets: Vec<Target>,
    /// What could not be read, with why.
    pub unread: Vec<String>,
}

/// What is known of the limits of a run whose record is silent about it.
fn not_said() -> Option<String> {
    Some("the run does not say whether its control groups could be read".to_owned())
}

/// A limit that a control group puts on I/O to one device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IoLimit {
    /// The group, as the process sees it.
    pub group: String,
    /// The file that states it: `blkio.throttle.read_bps_device`, `io.max`.
    pub file: String,
    /// The whole disk.
    pub device: DeviceNumber,
    /// Reads or writes.
    pub direction: Direction,
    /// Bytes or operations a second.
    pub per_second: Quantity,
}

/// A file system (or a raw block device) that files of the run lie on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Target {
    /// The super block's device as the kernel knows it; the device itself for a raw one.
    pub s_dev: DeviceNumber,
    /// Mount point; the device node for a raw device.
    pub mount_point: String,
    /// `ext4`, `tmpfs`, ...; `block-device` for a raw one.
    pub fs_type: String,
    /// Mount options and super block options, comma separated.
    pub options: String,
    /// From the file system down. Empty when there is no block device below.
    pub layers: Vec<Layer>,
    /// What lies below.
    pub tier: Tier,
}

/// What kind of thing holds the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tier {
    /// A block device that keeps its data.
    Block,
    /// Memory: tmpfs, ramfs, zram, brd.
    Memory,
    /// A network file system.
    Network,
    /// FUSE: whatever its daemon does.
    Fuse,
    /// Not known.
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
    /// For a loop device: whether it does direct I/O to its backing file.
    pub loop_direct_io: Option<bool>,
    /// For a loop device: the backing file.
    pub backing_file: Option<String>,
    /// Device size.
    pub size_bytes: Option<u64>,
    /// Further attributes worth keeping, by sysfs name.
    #[serde(default)]
    pub attributes: BTreeMap<String, String>,
}

/// The key under which a layer's attributes say what lies directly above it: the name of a
/// device, or a file system's type.
pub const ABOVE: &str = "above";

/// The key under which a loop device's attributes hold the number of its backing file's super block device.
pub const BACKING_S_DEV: &str = "backing_s_dev";

/// The key under which they hold its inode number.
pub const BACKING_INODE: &str = "backing_inode";

/// The most copies that a file system of its own RAID keeps of each byte, under its devices' attributes.
pub const MOST_COPIES: &str = "most_copies";

/// The type of the "file system" of a raw device.
pub const RAW_DEVICE: &str = "block-device";

impl Host {
    /// Memory that the tree can use: the machine's, or what its control group leaves of it. `None` when neither is known.
    pub fn usable_memory_bytes(&self) -> Option<u64> {
        self.memory_bytes.into_iter().chain(self.memory_limit_bytes).min()
    }

    /// The target of a file, by the device of its super block.
    pub fn target_of(&self, file: FileId) -> Option<&Target> {
        self.targets.iter().find(|target| target.s_dev.0 == file.s_dev)
    }

    /// The targets of these files, each once, in the files' order.
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
    /// The vendor's model; `None` where the record names none.
    pub fn model(&self) -> Option<&str> {
        self.says(&["device/model", "device/name"])
    }

    /// The serial number, of NVMe that of the controller; `None` where the record has none.
    pub fn serial(&self) -> Option<&str> {
        self.says(&["device/serial", "serial"])
    }

    fn says(&self, attributes: &[&str]) -> Option<&str> {
        let value = attributes.iter().find_map(|name| self.attributes.get(*name))?.trim();
        (!value.is_empty()).then_some(value)
    }
}

impl Target {
    /// Whether a network file system's bytes come through the host's network interfaces, which then count them and
    /// limit them: not those of a hypervisor (virtiofs, 9p over virtio), nor what RDMA brings past the interfaces' counters.
    pub fn comes_through_interfaces(&self) -> bool {
        let has = |name: &str| self.options.split(',').any(|option| option == name);
        let by_sockets = match self.fs_type.as_str() {
            "nfs" | "nfs4" | "cifs" | "smb3" | "ceph" => true,
            "9p" => has("trans=tcp"),
            _ => false,
        };
        by_sockets && !has("rdma") && !has("proto=rdma") && !has("proto=rdma6")
    }

    /// The device at which the claim is judged: the topmost layer that is not a partition
    /// (requests carry the whole disk's number).
    pub fn device(&self) -> Option<&Layer> {
        self.layers.iter().find(|layer| layer.kind != "partition")
    }

    /// Size of a raw device, which may be a partition, or of the device that a file system lies on; `None` when it is
    /// not known.
    pub fn device_bytes(&self) -> Option<u64> {
        let device = if self.fs_type == RAW_DEVICE { self.layers.first() } else { self.device() };
        device?.size_bytes
    }

    /// All devices at which the claim is judged: one file system can lie on several, each of
    /// which holds a part of the data.
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

    /// The layers below the devices at which the claim is judged, one set a level, from the topmost to the disks. All
    /// data of the target passes each set: a device below which nothing is listed stays in the sets further down.
    /// Partitions are left out, because requests carry the whole disk's number. Empty where nothing lies below.
    pub fn levels_below(&self) -> Vec<Vec<&Layer>> {
        let mut levels: Vec<Vec<&Layer>> = Vec::new();
        let mut level: Vec<&Layer> = self.devices().collect();
        // Each level but the last names a layer that no other one does.
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

    /// The devices that carry a device, a disk in the place of its partition; the device itself where none is listed.
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

    /// The layers that are listed directly below this one.
    fn carriers_of<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Layer> {
        self.layers.iter().filter(move |layer| layer.attributes.get(ABOVE).is_some_and(|above| above == name))
    }

    /// The first layer below the file system that goes through a page cache of its own: a loop device without direct I/O
    /// to its backing file, or one of which that is not known.
    pub fn cached_layer(&self) -> Option<&Layer> {
        self.layers.iter().find(|layer| layer.kind == "loop" && layer.loop_direct_io != Some(true))
    }

    /// The backing files of the loop devices, where their numbers are known.
    pub fn backing_files(&self) -> impl Iterator<Item = FileId> {
        self.layers.iter().filter_map(|layer| {
            let number = |name| layer.attributes.get(name)?.parse().ok();
            Some(FileId { s_dev: u32::try_from(number(BACKING_S_DEV)?).ok()?, ino: number(BACKING_INODE)? })
        })
    }

    /// The layers below which no other is known.
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
        // The disk below both is listed below the first.
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
