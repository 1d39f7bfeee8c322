//! One device, told from every other that has its name or its number later.

use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use activebench_model::call::DeviceNumber;
use serde::{Deserialize, Serialize};

use crate::block::read_device_number;
use crate::identity::serial;
use crate::reader::{Reader, device_name, device_number};
use crate::roots::{Process, Roots};

/// A block device as it was when it was looked at. Device names and numbers are given again to other devices.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pin {
    /// Its node, as the user named it.
    pub node: PathBuf,
    /// Its number.
    pub number: DeviceNumber,
    /// The kernel's count of attached disks (`diskseq`, Linux 5.15): no two disks have the same before the next boot.
    /// Missing on older kernels.
    pub sequence: Option<u64>,
    /// Name of the unit: WWID, serial number, or that of a stack's device. Missing where the device states none.
    pub unit: Option<String>,
    /// Its size in sectors of 512 bytes; missing where it could not be read.
    pub sectors: Option<u64>,
}

impl Pin {
    /// Looks at a device.
    ///
    /// # Errors
    /// Returns an error if the node is not that of a block device, or cannot be looked at.
    pub fn of(roots: &Roots, node: &Path) -> std::io::Result<Self> {
        let metadata = std::fs::metadata(node)?;
        if !metadata.file_type().is_block_device() {
            return Err(std::io::Error::other("it is not a block device"));
        }
        Ok(Self::of_number(roots, node, device_number(metadata.rdev())))
    }

    fn of_number(roots: &Roots, node: &Path, number: DeviceNumber) -> Self {
        let mut reader = Reader::new(roots, Process::Own);
        let mut pin = Self { node: node.to_owned(), number, sequence: None, unit: None, sectors: None };
        let folder = reader.link(Path::new(&format!("/sys/dev/block/{number}")));
        let Some(folder) = reader.optional(folder) else { return pin };
        let sectors = reader.number(&folder.join("size"));
        pin.sectors = reader.optional(sectors);
        // A partition has the sequence number and the unit of its disk.
        let is_partition = reader.exists(&folder.join("partition"));
        let disk = match (reader.optional(is_partition), folder.parent()) {
            (Some(true), Some(disk)) => disk.to_owned(),
            _ => folder,
        };
        let sequence = reader.number(&disk.join("diskseq"));
        pin.sequence = reader.optional(sequence);
        pin.unit = unit(&mut reader, &disk);
        pin
    }

    /// Checks that the node still leads to this device.
    ///
    /// # Errors
    /// Returns what differs, as a lower-case fragment that follows the node's name.
    pub fn check(&self, roots: &Roots) -> Result<(), String> {
        let now = Self::of(roots, &self.node).map_err(|error| format!("cannot be looked at any more: {error}"))?;
        match () {
            () if now.number != self.number => Err(format!("is device {} now, and was {}", now.number, self.number)),
            () if now.sequence != self.sequence || now.unit != self.unit => {
                Err("is another disk now, under the same name".to_owned())
            }
            () if now.sectors != self.sectors => Err("has another size now".to_owned()),
            () => Ok(()),
        }
    }

    /// Returns other disks that are paths to the same unit, with their numbers: `sdc` beside `sdb`, by what names the
    /// unit. Empty where nothing names it.
    pub fn other_paths(&self, roots: &Roots) -> Vec<(String, DeviceNumber)> {
        let Some(own) = &self.unit else { return Vec::new() };
        let mut reader = Reader::new(roots, Process::Own);
        let names = reader.names(Path::new("/sys/block"));
        let mut found = Vec::new();
        for name in reader.optional(names).into_iter().flatten() {
            let folder = reader.link(&Path::new("/sys/block").join(&name));
            let Some(folder) = reader.optional(folder) else { continue };
            let number = read_device_number(&reader, &folder.join("dev"));
            let Some(number) = reader.optional(number) else { continue };
            let sequence = reader.number(&folder.join("diskseq"));
            let is_this =
                number == self.number || self.sequence.is_some() && reader.optional(sequence) == self.sequence;
            if !is_this && unit(&mut reader, &folder).as_ref() == Some(own) {
                found.push((device_name(&folder), number));
            }
        }
        found
    }
}

/// Returns what names the unit of a disk; for a loop device its file.
fn unit(reader: &mut Reader, disk: &Path) -> Option<String> {
    serial(reader, disk).or_else(|| {
        let file = reader.text(&disk.join("loop/backing_file"));
        reader.optional(file).map(|file| file.trim().to_owned())
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    /// A `/sys` with disks of these names, numbers, sequence numbers and units.
    fn machine(disks: &[(&str, &str, u64, &str)]) -> (tempfile::TempDir, Roots) {
        let folder = tempfile::tempdir().expect("a folder");
        let sys = folder.path().join("sys");
        for place in ["dev/block", "block"] {
            fs::create_dir_all(sys.join(place)).expect("folders");
        }
        for (name, number, sequence, unit) in disks {
            let disk = sys.join("devices").join(name);
            fs::create_dir_all(disk.join("device")).expect("a folder");
            for (file, text) in
                [("dev", *number), ("size", "2048"), ("diskseq", &sequence.to_string()), ("device/wwid", *unit)]
            {
                fs::write(disk.join(file), format!("{text}\n")).expect("a file");
            }
            symlink(format!("../../devices/{name}"), sys.join("dev/block").join(number)).expect("a link");
            symlink(format!("../devices/{name}"), sys.join("block").join(name)).expect("a link");
        }
        let roots = Roots { proc: folder.path().join("proc"), sys };
        (folder, roots)
    }

    fn pin(roots: &Roots) -> Pin {
        Pin::of_number(roots, Path::new("/dev/sdb"), DeviceNumber::new(8, 16))
    }

    #[test]
    fn another_disk_under_the_same_name_is_another_device() {
        let (_folder, roots) = machine(&[("sdb", "8:16", 7, "naa.1")]);
        let before = pin(&roots);
        assert_eq!((before.sequence, before.unit.as_deref(), before.sectors), (Some(7), Some("naa.1"), Some(2048)));
        for (sequence, unit) in [(8, "naa.1"), (7, "naa.2")] {
            let (_folder, roots) = machine(&[("sdb", "8:16", sequence, unit)]);
            assert_ne!(pin(&roots), before);
        }
    }

    #[test]
    fn paths_to_one_unit_are_found() {
        let disks = [("sdb", "8:16", 7, "naa.1"), ("sdc", "8:32", 8, "naa.1"), ("sdd", "8:48", 9, "naa.2")];
        let (_folder, roots) = machine(&disks);
        assert_eq!(pin(&roots).other_paths(&roots), [("sdc".to_owned(), DeviceNumber::new(8, 32))]);
        // Disks that state nothing are not the same for that.
        let (_folder, roots) = machine(&[("sdb", "8:16", 7, ""), ("sdc", "8:32", 8, "")]);
        assert_eq!(pin(&roots).other_paths(&roots), []);
    }

    #[test]
    fn what_is_no_block_device_is_not_pinned() {
        for path in ["/dev/null", "/etc", "/nonexistent"] {
            assert!(Pin::of(&Roots::default(), Path::new(path)).is_err(), "{path}");
        }
    }
}
