//! What the host says of its hardware: the links that data passes, the state of disks and arrays, the
//! caches inside of devices, the processors' governors. Read once, after the run.

use serde::{Deserialize, Serialize};

use crate::call::DeviceNumber;

/// See the head of this file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Hardware {
    /// The links of the devices below the run's files, several a device where they lie one behind the other.
    pub links: Vec<Link>,
    /// What devices and file systems say of their own state.
    pub states: Vec<State>,
    /// Caches inside of devices, of a size that is stated.
    pub caches: Vec<DeviceCache>,
    /// Volumes behind which an array or another machine keeps caches of unknown size.
    pub remote: Vec<RemoteVolume>,
    /// The governors of the processors' frequencies, each once. Empty where the host does not scale frequencies.
    pub governors: Vec<String>,
    /// What could not be read, with why.
    pub unread: Vec<String>,
}

impl Hardware {
    /// Why something about which a path says one of these words could not be read.
    pub fn unread_of(&self, words: &[&str]) -> Option<&str> {
        let names_one = |why: &&String| words.iter().any(|word| why.contains(word));
        self.unread.iter().find(names_one).map(String::as_str)
    }
}

/// A link that all data of a device passes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Link {
    /// The device, or the super block of a network file system.
    pub device: DeviceNumber,
    /// What it is and at what speed it was negotiated, in the kernel's own words: `PCIe 8.0 GT/s x4`.
    pub name: String,
    /// The file that says so.
    pub source: String,
    /// Payload that it carries at most in one direction, its encoding taken off. Bytes a second.
    pub payload_bytes_per_sec: f64,
}

/// What a device or a file system says of its own state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// The device, or the super block of a file system.
    pub device: DeviceNumber,
    /// Its name: `md0`, `nvme0`, `btrfs`.
    pub name: String,
    /// The file that says so.
    pub source: String,
    /// What the file is about.
    pub kind: StateKind,
    /// What it says, in one line.
    pub value: String,
}

/// What a state is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StateKind {
    /// md's `sync_action`: `idle`, or what it is busy with.
    ArraySync,
    /// md's `degraded`: how many members are missing.
    ArrayDegraded,
    /// The state of an NVMe controller: `live`, ...
    Controller,
    /// The state of a SCSI disk: `running`, ...
    ScsiDisk,
    /// A temperature sensor's alarm: `1` when the disk says that it is too hot.
    TemperatureAlarm,
    /// btrfs: `1` when a member is missing.
    MemberMissing,
    /// btrfs: the errors that it counted on a member since these counters were last reset.
    MemberErrors,
}

/// A cache inside of a device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceCache {
    /// The device.
    pub device: DeviceNumber,
    /// Its name.
    pub name: String,
    /// The file that states the size.
    pub source: String,
    /// Its size.
    pub bytes: u64,
}

/// A volume that an array or another machine serves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemoteVolume {
    /// The device.
    pub device: DeviceNumber,
    /// What it is, and by what it is known: `nvme0n1, NVMe over tcp`.
    pub name: String,
    /// The file that says so.
    pub source: String,
}
