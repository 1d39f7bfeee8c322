//! The identity of storage across runs: a device's serial number, a loop device's backing file, a server's name.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use activebench_model::ceiling::{Identity, IdentityKind};
use activebench_model::host::{Layer, Target, Tier};

use crate::reader::Reader;
use crate::survey::Survey;

/// Files with the identity of a device, below its folder, the most reliable first. The numbers of NVMe and SCSI disks
/// are globally unique; those of `dm` and `md` are created with the array; the hypervisor sets that of a virtual
/// disk.
const SERIALS: &[&str] = &["wwid", "device/wwid", "serial", "device/serial", "dm/uuid", "md/uuid", "device/cid"];

impl Survey {
    /// Returns the identities of the storage below a target, ascending: the devices at the top of the stack, and the
    /// devices at its bottom that have their own identity. The bottom counts because an array or a volume keeps its
    /// name when it moves to other devices. Empty where a part of the storage cannot be identified (FUSE, unknown
    /// devices).
    pub fn identity_of(&mut self, target: &Target) -> Vec<Identity> {
        let mut found: Vec<Identity> = match (target.device(), target.tier) {
            (Some(_), _) => {
                let devices: Vec<Layer> = target.devices().cloned().collect();
                let all: Option<Vec<Identity>> =
                    devices.iter().map(|device| of_device(self.reader(), device)).collect();
                let mut all = all.unwrap_or_default();
                if !all.is_empty() {
                    let bottom: Vec<Layer> = target.bottom().cloned().collect();
                    let told = bottom.iter().filter_map(|device| of_device(self.reader(), device));
                    all.extend(told.filter(|identity| identity.kind != IdentityKind::ThisBoot));
                }
                all
            }
            (None, Tier::Memory) => vec![Identity {
                name: target.fs_type.clone(),
                kind: IdentityKind::Memory,
                value: "memory of this machine".to_owned(),
            }],
            (None, Tier::Network) => {
                let source = self.mounts().of_device(target.s_dev, None).map(|mount| mount.source.clone());
                let value = source.map(|source| source.display().to_string());
                let of = |value| Identity { name: target.fs_type.clone(), kind: IdentityKind::Source, value };
                value.map(of).into_iter().collect()
            }
            (None, Tier::Block | Tier::Fuse | Tier::Unknown) => Vec::new(),
        };
        found.sort();
        found.dedup();
        found
    }
}

/// Returns what a device states about its own identity, by the folder of the device; `None` where it states nothing.
pub(crate) fn serial(reader: &mut Reader, folder: &Path) -> Option<String> {
    SERIALS.iter().find_map(|file| {
        let text = reader.text(&folder.join(file));
        reader.optional(text).map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
    })
}

/// Returns the identity of a device; `None` where nothing distinguishes it from another.
fn of_device(reader: &mut Reader, device: &Layer) -> Option<Identity> {
    let size = device.size_bytes.map_or_else(|| "size not known".to_owned(), |bytes| format!("{bytes} bytes"));
    let name = device.name.clone();
    if let Some(file) = &device.backing_file {
        let place = match std::fs::metadata(file) {
            Ok(file) => format!("inode {} of device {:#x}", file.ino(), file.dev()),
            // In another mount namespace, or deleted.
            Err(_) => format!("not seen in boot {}", boot(reader)?),
        };
        return Some(Identity { name, kind: IdentityKind::BackingFile, value: format!("{file}, {place}, {size}") });
    }
    let folder = reader.link(Path::new(&format!("/sys/dev/block/{}", device.device)));
    if let Some(serial) = reader.wanted(folder).and_then(|folder| serial(reader, &folder)) {
        return Some(Identity { name, kind: IdentityKind::Serial, value: format!("{serial}, {size}") });
    }
    let value = format!("{} in boot {}, {size}", device.device, boot(reader)?);
    Some(Identity { name, kind: IdentityKind::ThisBoot, value })
}

/// Returns the id of the current boot of the kernel.
fn boot(reader: &mut Reader) -> Option<String> {
    let id = reader.text(Path::new("/proc/sys/kernel/random/boot_id"));
    reader.wanted(id)
}
