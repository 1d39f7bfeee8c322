//! The hardware as the host reports it: the links that data passes, the state of disks and arrays, the
//! caches inside devices, the CPUs' governors. Read once, after the run.

use serde::{Deserialize, Serialize};

use crate::call::DeviceNumber;

/// The reported hardware of a host; see the head of this file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Hardware {
    /// The links of the devices below the run's files; several per device where they are in series.
    pub links: Vec<Link>,
    /// States that devices and file systems report of themselves.
    pub states: Vec<State>,
    /// Caches of stated size inside devices.
    pub caches: Vec<DeviceCache>,
    /// Volumes behind which an array or another machine has caches of unknown size.
    pub remote: Vec<RemoteVolume>,
    /// The governors of the CPUs' frequencies, each once. Empty where the host does not scale frequencies.
    pub governors: Vec<String>,
    /// Sources that could not be read, with the reason.
    pub unread: Vec<String>,
}

impl Hardware {
    /// Returns why a reading whose path contains one of these words failed.
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
    /// Type and negotiated speed, in the kernel's own words: `PCIe 8.0 GT/s x4`.
    pub name: String,
    /// The file that reports it.
    pub source: String,
    /// Maximum payload in one direction, without its encoding. Bytes per second.
    pub payload_bytes_per_sec: f64,
}

/// A state that a device or a file system reports of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// The device, or the super block of a file system.
    pub device: DeviceNumber,
    /// Its name: `md0`, `nvme0`, `btrfs`.
    pub name: String,
    /// The file that reports it.
    pub source: String,
    /// Kind of state.
    pub kind: StateKind,
    /// The reported state, in one line.
    pub value: String,
}

/// The kind of a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StateKind {
    /// md's `sync_action`: `idle`, or the current activity.
    ArraySync,
    /// md's `degraded`: how many members are missing.
    ArrayDegraded,
    /// The state of an NVMe controller: `live`, ...
    Controller,
    /// The state of a SCSI disk: `running`, ...
    ScsiDisk,
    /// A temperature sensor's alarm: `1` when the disk reports that it is too hot.
    TemperatureAlarm,
    /// btrfs: `1` when a member is missing.
    MemberMissing,
    /// btrfs: the errors that it counted on a member since the last reset of these counters.
    MemberErrors,
}

/// A cache inside a device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceCache {
    /// The device.
    pub device: DeviceNumber,
    /// Its name.
    pub name: String,
    /// The file that reports the size.
    pub source: String,
    /// Its size.
    pub bytes: u64,
}

/// A volume served by an array or another machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemoteVolume {
    /// The device.
    pub device: DeviceNumber,
    /// Its type and identity: `nvme0n1, NVMe over tcp`.
    pub name: String,
    /// The file that reports it.
    pub source: String,
}
