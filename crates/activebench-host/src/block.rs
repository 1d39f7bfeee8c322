//! Reads one block device from sysfs: its kind and its queue settings. `stack` reads the devices below it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use activebench_model::call::DeviceNumber;
use activebench_model::host::{ABOVE, Layer};

use crate::mounts::device_number;
use crate::reader::{ReadError, Reader, device_name};

/// A device and its folder in sysfs.
pub(crate) struct BlockDevice {
    pub(crate) layer: Layer,
    /// `/sys/devices/.../block/sda`; for a partition a folder inside it.
    pub(crate) folder: PathBuf,
    /// The whole disk of a partition.
    pub(crate) disk: Option<DeviceNumber>,
}

/// Attributes of the whole disk that are kept where the kernel has them. Paths are below the disk's folder.
const DISK_ATTRIBUTES: &[&str] = &[
    "ro",
    "queue/scheduler",
    "queue/nr_requests",
    "queue/max_sectors_kb",
    "queue/read_ahead_kb",
    "queue/physical_block_size",
    "queue/nomerges",
    "queue/fua",
    "queue/dax",
    "queue/zoned",
];
const PARTITION_ATTRIBUTES: &[&str] = &["ro", "partition", "start"];

/// A kind of device: its name prefix in sysfs, our name for it, and the attributes that only this kind has.
struct Kind {
    prefix: &'static str,
    name: &'static str,
    attributes: &'static [&'static str],
}

/// Names as in Documentation/admin-guide/devices.txt and the drivers of Linux 6.12. Minor numbers and letters follow
/// the prefix; a longer prefix comes before a shorter one.
const KINDS: &[Kind] = &[
    Kind { prefix: "loop", name: "loop", attributes: &["loop/offset", "loop/sizelimit"] },
    Kind { prefix: "zram", name: "zram", attributes: &["comp_algorithm", "backing_dev"] },
    Kind { prefix: "ram", name: "ram", attributes: &[] },
    Kind { prefix: "nullb", name: "null", attributes: &[] },
    Kind { prefix: "dm-", name: "dm", attributes: &["dm/name"] },
    Kind {
        prefix: "md",
        name: "md",
        attributes: &["md/level", "md/raid_disks", "md/chunk_size", "md/array_state", "md/degraded", "md/sync_action"],
    },
    Kind {
        prefix: "nvme",
        name: "nvme",
        attributes: &["device/model", "device/serial", "device/firmware_rev", "device/transport", "nsid"],
    },
    Kind { prefix: "sd", name: "scsi", attributes: &["device/vendor", "device/model", "device/rev"] },
    Kind { prefix: "vd", name: "virtio", attributes: &["serial"] },
    Kind { prefix: "mmcblk", name: "mmc", attributes: &["device/name", "device/serial"] },
    Kind { prefix: "pmem", name: "pmem", attributes: &[] },
    Kind { prefix: "nbd", name: "nbd", attributes: &[] },
    Kind { prefix: "rbd", name: "rbd", attributes: &[] },
    Kind { prefix: "drbd", name: "drbd", attributes: &[] },
    Kind { prefix: "bcache", name: "bcache", attributes: &["bcache/cache_mode", "bcache/state"] },
    Kind { prefix: "xvd", name: "xen", attributes: &[] },
];
const OTHER: Kind = Kind { prefix: "", name: "other", attributes: &[] };

fn kind_of(name: &str) -> &'static Kind {
    KINDS.iter().find(|kind| name.starts_with(kind.prefix)).unwrap_or(&OTHER)
}

/// Reads a device. Returns `None`, and adds a note to `unread`, when sysfs does not have it.
pub(crate) fn read_device(reader: &mut Reader, device: DeviceNumber, above: Option<&str>) -> Option<BlockDevice> {
    let folder = reader.link(Path::new(&format!("/sys/dev/block/{device}")));
    let folder = reader.wanted(folder)?;
    let name = device_name(&folder);
    let is_partition = reader.exists(&folder.join("partition"));
    let is_partition = reader.wanted(is_partition)?;
    // A partition does not have its own queue; its I/O goes through the queue of the disk.
    let disk_folder =
        if is_partition { folder.parent().map_or_else(|| folder.clone(), Path::to_owned) } else { folder.clone() };
    let kind = kind_of(&name);

    let mut attributes = BTreeMap::new();
    if let Some(above) = above {
        attributes.insert(ABOVE.to_owned(), above.to_owned());
    }
    let names = if is_partition { PARTITION_ATTRIBUTES } else { DISK_ATTRIBUTES };
    let own = if is_partition { &[][..] } else { kind.attributes };
    for attribute in names.iter().chain(own) {
        let text = reader.text(&folder.join(attribute));
        if let Some(text) = reader.optional(text).filter(|text| !text.is_empty()) {
            let key = attribute.strip_prefix("queue/").unwrap_or(attribute);
            attributes.insert(key.to_owned(), text);
        }
    }
    if kind.name == "scsi"
        && !is_partition
        && let Some(serial) = scsi_serial(reader, &folder)
    {
        attributes.insert("device/serial".to_owned(), serial);
    }

    let queue = disk_folder.join("queue");
    let is_loop = !is_partition && kind.name == "loop";
    let layer = Layer {
        device,
        kind: if is_partition { "partition".to_owned() } else { kind.name.to_owned() },
        write_cache: read(reader, &queue.join("write_cache"), Reader::text),
        rotational: read(reader, &queue.join("rotational"), Reader::flag),
        logical_block_bytes: read(reader, &queue.join("logical_block_size"), Reader::number),
        loop_direct_io: if is_loop { read(reader, &folder.join("loop/dio"), Reader::flag) } else { None },
        backing_file: if is_loop {
            read(reader, &folder.join("loop/backing_file"), Reader::path)
                .map(|path| path.to_string_lossy().into_owned())
        } else {
            None
        },
        // `size` counts sectors of 512 bytes, whatever the block size of the device.
        size_bytes: read(reader, &folder.join("size"), Reader::number).and_then(|sectors| sectors.checked_mul(512)),
        attributes,
        name,
    };
    let disk = if is_partition { read(reader, &disk_folder.join("dev"), read_device_number) } else { None };
    Some(BlockDevice { layer, folder, disk })
}

/// Returns the serial number of a SCSI disk: page 80h of its vital product data, without the header of 4 bytes (SPC,
/// Unit Serial Number page). Not every disk has the page.
fn scsi_serial(reader: &mut Reader, folder: &Path) -> Option<String> {
    let page = reader.bytes(&folder.join("device/vpd_pg80"));
    let page = reader.optional(page)?;
    let serial = String::from_utf8_lossy(page.get(4..)?).trim_matches(['\0', ' ']).to_owned();
    (!serial.is_empty()).then_some(serial)
}

fn read<T>(reader: &mut Reader, path: &Path, how: fn(&Reader, &Path) -> Result<T, ReadError>) -> Option<T> {
    let value = how(reader, path);
    reader.wanted(value)
}

/// Reads a `dev` file.
pub(crate) fn read_device_number(reader: &Reader, path: &Path) -> Result<DeviceNumber, ReadError> {
    let text = reader.text(path)?;
    device_number(&text).ok_or(ReadError::Content { path: path.to_owned(), text, expected: "a device number" })
}

/// Returns the numbers of the devices that the links in a folder point to (`slaves`, btrfs `devices`).
pub(crate) fn linked_devices(reader: &mut Reader, folder: &Path) -> Vec<DeviceNumber> {
    let names = reader.names(folder);
    let mut devices = Vec::new();
    for name in reader.optional(names).into_iter().flatten() {
        let device = reader.link(&folder.join(name)).and_then(|device| read_device_number(reader, &device.join("dev")));
        devices.extend(reader.wanted(device));
    }
    devices
}

/// Returns the device of a node such as `/dev/sda1` or `/dev/mapper/data`.
///
/// Searches sysfs by name: opening or examining nodes would need a `/dev` that fits the recorded tree. Follows links
/// (`/dev/disk/by-uuid/...`) as the process sees them.
pub(crate) fn device_of_node(reader: &mut Reader, node: &Path) -> Option<DeviceNumber> {
    let resolved = reader.resolve(node);
    let resolved = reader.wanted(resolved)?;
    let numbers = reader.names(Path::new("/sys/dev/block"));
    let numbers = reader.wanted(numbers)?;
    for number in numbers {
        let Some(device) = number.to_str().and_then(device_number) else { continue };
        let folder = reader.link(&Path::new("/sys/dev/block").join(&number));
        let Some(folder) = reader.wanted(folder) else { continue };
        let by_name =
            |path: &Path| path.strip_prefix("/dev").is_ok_and(|name| name == Path::new(&device_name(&folder)));
        if by_name(&resolved) || by_name(node) {
            return Some(device);
        }
        if let Ok(mapped) = node.strip_prefix("/dev/mapper") {
            let name = reader.path(&folder.join("dm/name"));
            if reader.optional(name).is_some_and(|name| name == mapped) {
                return Some(device);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_told_apart_by_name() {
        for (name, expected) in [
            ("loop12", "loop"),
            ("zram0", "zram"),
            ("ram3", "ram"),
            ("nullb0", "null"),
            ("dm-4", "dm"),
            ("md127", "md"),
            ("nvme0n1", "nvme"),
            ("sdaa", "scsi"),
            ("vda", "virtio"),
            ("rbd0", "rbd"),
            ("ublkb0", "other"),
        ] {
            assert_eq!(kind_of(name).name, expected, "{name}");
        }
    }
}
