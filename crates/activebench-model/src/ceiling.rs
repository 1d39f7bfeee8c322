//! The maximum performance of a host and a target, part by part: `activebench ceiling`.
//!
//! A ceiling is a measurement, kept with the host on which it was made. `verify` puts those that fit the devices of a
//! run into the run's manifest. `bound` derives the bound of a pass from it; the model is in `docs/ceiling.md`.

use serde::{Deserialize, Serialize};

use crate::call::DeviceNumber;
use crate::direction::Direction;
use crate::hardware::Link;
use crate::host::Target;
use crate::units::Quantity;

/// The value of the key `schema`. A program that reads ceilings refuses a schema that it does not know.
pub const SCHEMA: &str = "activebench.ceiling/1";

/// The ceiling of one target, stored in one file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ceiling {
    /// Version of activebench that measured it.
    pub activebench: String,
    /// When the measurement was complete: UTC, seconds since the epoch.
    pub measured_unix_s: i64,
    /// The absolute path of the directory, file or device.
    pub place: String,
    /// The storage below it.
    pub target: Target,
    /// The identity by which this storage is recognised.
    pub identity: Vec<Identity>,
    /// The machine.
    pub machine: Machine,
    /// Time allowed for each part.
    pub seconds_per_part: f64,
    /// fio's version; `None` where there was no fio.
    pub fio: Option<String>,
    /// The parts, in the order in which they were measured.
    pub parts: Vec<Part>,
    /// The links on the path to the devices.
    pub links: Vec<Link>,
    /// Remarks for a reader of the figures: I/O of others meanwhile, a cache below the target.
    pub notes: Vec<String>,
}

/// Properties of the machine that must be unchanged for a ceiling to be used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// `uname -r`.
    pub kernel: String,
    /// `uname -m`.
    pub architecture: String,
    /// Online CPUs.
    pub cpus: u32,
    /// `MemTotal`; `None` when it could not be read.
    pub memory_bytes: Option<u64>,
}

/// The identity of a device, or of storage without a device.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Identity {
    /// The device's name, or the type of the file system.
    pub name: String,
    /// Kind of value.
    pub kind: IdentityKind,
    /// The value: untrusted text that can identify this machine. A redacted copy replaces it.
    pub value: String,
}

/// The kind of an identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum IdentityKind {
    /// Identity that the device or the array reports: serial number, world-wide name or UUID; with its size.
    Serial,
    /// A loop device's backing file: path, inode, device and size.
    BackingFile,
    /// The device's number and size, and this boot of the kernel: nothing else distinguishes it from others.
    ThisBoot,
    /// The source of a network file system.
    Source,
    /// Memory: the machine is the identity.
    Memory,
}

/// One measured part of the path of the data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// Kind of part.
    pub kind: PartKind,
    /// Reads or writes; `None` for a part that is neither.
    pub direction: Direction,
    /// Bytes of one call; `None` where calls have no size.
    pub request_bytes: Option<u64>,
    /// Requests in flight of each thread.
    pub depth: u32,
    /// Threads at once.
    pub threads: u32,
    /// Bytes that all threads together went over repeatedly.
    pub region_bytes: Option<u64>,
    /// The best repetition: disturbances make it worse, never better. `None` when it could not be measured.
    pub value: Option<Quantity>,
    /// Why there is no value.
    pub missing: Option<String>,
    /// How it was measured.
    pub how: String,
    /// Every repetition, in the unit of the value.
    pub repetitions: Vec<f64>,
    /// The difference between the best two repetitions as a share of the best. Above 0.25 the part has no value.
    pub spread_ratio: Option<f64>,
    /// Evidence that the storage served the part; `None` for parts without storage.
    pub served: Option<Served>,
}

/// Bytes that a part's tool counted, and those that the kernel counted below it, over all repetitions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Served {
    /// Bytes that the tool moved.
    pub tool_bytes: u64,
    /// Bytes according to the counters, whoever requested them.
    pub counted_bytes: u64,
    /// Names of the counters.
    pub source: String,
}

/// The kind of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PartKind {
    /// Calls of one byte on memory, in operations per second.
    Calls,
    /// Copies between kernel and process memory by calls of a given size, in bytes per second.
    Copy,
    /// Direct I/O of 4 KiB at random offsets, in operations per second.
    Random,
    /// Direct I/O of 1 MiB at ascending offsets, in bytes per second.
    Sequential,
    /// Direct writes of 4 KiB at ascending offsets, one at a time, each durable before the next, in operations per
    /// second.
    Durable,
    /// One request to a server and its answer, in nanoseconds.
    RoundTrip,
}

impl Part {
    /// Describes the part in words that follow `what the device gives for`: `random 4 KiB reads at depth 1`.
    pub fn words(&self) -> String {
        let what = match self.direction {
            Direction::Write => "writes",
            _ => "reads",
        };
        let bytes = self.request_bytes.map_or_else(String::new, size);
        let threads = if self.threads == 1 { "one thread".to_owned() } else { format!("{} threads", self.threads) };
        let region = self.region_bytes.map_or_else(String::new, |bytes| format!(" over {}", size(bytes)));
        match self.kind {
            PartKind::Calls => format!("{what} of one byte by {threads}"),
            PartKind::Copy => format!("cached {bytes} {what}{region} by {threads}"),
            PartKind::Random => format!("random {bytes} {what} at depth {}", self.depth),
            PartKind::Sequential => format!("sequential {bytes} {what} at depth {}", self.depth),
            PartKind::Durable => format!("{bytes} {what} one at a time, each made durable"),
            PartKind::RoundTrip => "one round trip".to_owned(),
        }
    }
}

/// Formats a size without a fraction when it is a whole number of its unit: `4 KiB`.
pub fn size(bytes: u64) -> String {
    for (unit, shift) in [("GiB", 30), ("MiB", 20), ("KiB", 10)] {
        if bytes >= 1 << shift && bytes.is_multiple_of(1 << shift) {
            return format!("{} {unit}", bytes >> shift);
        }
    }
    Quantity::bytes(bytes).to_string()
}

impl Ceiling {
    /// Returns why the ceiling does not apply to a machine as it is now; `None` when it does.
    pub fn stale_on(&self, now: &Machine) -> Option<String> {
        let then = &self.machine;
        if then.kernel != now.kernel {
            return Some(format!("the kernel was {} and is {}", then.kernel, now.kernel));
        }
        if (&then.architecture, then.cpus) != (&now.architecture, now.cpus) {
            let of = |machine: &Machine| format!("{} {}", machine.cpus, machine.architecture);
            return Some(format!("the machine had {} CPUs and has {}", of(then), of(now)));
        }
        // The memory that the kernel reserves at boot varies a little.
        let near = |one: u64, other: u64| one.abs_diff(other) <= one.max(other) / 50;
        match (then.memory_bytes, now.memory_bytes) {
            (Some(one), Some(other)) if near(one, other) => None,
            (None, None) => None,
            (one, other) => {
                let said = |bytes: Option<u64>| {
                    bytes.map_or("not known".to_owned(), |bytes| Quantity::bytes(bytes).to_string())
                };
                Some(format!("the memory was {} and is {}", said(one), said(other)))
            }
        }
    }
}

/// The ceilings that `verify` found for a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Ceilings {
    /// Ceilings that apply to storage of the run.
    pub used: Vec<UsedCeiling>,
    /// Ceilings that were found and are not used, each with the reason.
    pub left_out: Vec<String>,
}

/// A ceiling and the targets that it applies to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UsedCeiling {
    /// [`Target::s_dev`] of the run's targets on the same storage.
    pub targets: Vec<DeviceNumber>,
    /// The file that it was read from.
    pub file: String,
    /// The ceiling.
    pub ceiling: Ceiling,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::Tier;

    fn machine() -> Machine {
        Machine { kernel: "6.12.1".into(), architecture: "x86_64".into(), cpus: 8, memory_bytes: Some(100 << 30) }
    }

    #[test]
    fn a_ceiling_holds_for_the_machine_as_it_was() {
        let ceiling = Ceiling {
            activebench: String::new(),
            measured_unix_s: 0,
            place: String::new(),
            target: Target {
                s_dev: DeviceNumber(1),
                mount_point: String::new(),
                fs_type: String::new(),
                options: String::new(),
                layers: Vec::new(),
                tier: Tier::Memory,
            },
            identity: Vec::new(),
            machine: machine(),
            seconds_per_part: 1.0,
            fio: None,
            parts: Vec::new(),
            links: Vec::new(),
            notes: Vec::new(),
        };
        for (now, expected) in [
            (machine(), None),
            (Machine { memory_bytes: Some(99 << 30), ..machine() }, None),
            (Machine { kernel: "6.12.2".into(), ..machine() }, Some("the kernel was 6.12.1 and is 6.12.2")),
            (Machine { cpus: 4, ..machine() }, Some("the machine had 8 x86_64 CPUs and has 4 x86_64")),
            (Machine { memory_bytes: Some(50 << 30), ..machine() }, Some("the memory was 100 GiB and is 50 GiB")),
            (Machine { memory_bytes: None, ..machine() }, Some("the memory was 100 GiB and is not known")),
        ] {
            assert_eq!(ceiling.stale_on(&now).as_deref(), expected);
        }
        // A memory size that cannot be read, then and now, does not count as a difference.
        let unread = Machine { memory_bytes: None, ..machine() };
        assert_eq!(Ceiling { machine: unread.clone(), ..ceiling }.stale_on(&unread), None);
    }
}
