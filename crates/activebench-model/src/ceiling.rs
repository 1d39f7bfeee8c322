//! What a host and a target give at most, part by part: `activebench ceiling`.
//!
//! A ceiling is a measurement, kept with the host that it was made on; `verify` puts those that fit the devices of a
//! run into the run's manifest. What follows from one for a pass is `bound`'s part; the model is in `docs/ceiling.md`.

use serde::{Deserialize, Serialize};

use crate::call::DeviceNumber;
use crate::hardware::Link;
use crate::host::Target;
use crate::phase::Direction;
use crate::units::Quantity;

/// The value of the key `schema`. A reader refuses one that it does not know.
pub const SCHEMA: &str = "activebench.ceiling/1";

/// A target's ceiling: one file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ceiling {
    /// See [`SCHEMA`].
    pub schema: String,
    /// Version of activebench that measured it.
    pub activebench: String,
    /// When it was whole: UTC, seconds since the epoch.
    pub measured_unix_s: i64,
    /// The absolute path of the directory, file or device.
    pub place: String,
    /// What it lies on.
    pub target: Target,
    /// By what this storage is known again.
    pub identity: Vec<Identity>,
    /// The machine.
    pub machine: Machine,
    /// How long each part was allowed to take.
    pub seconds_per_part: f64,
    /// fio's version; `None` where there was no fio.
    pub fio: Option<String>,
    /// The parts, in the order in which they were measured.
    pub parts: Vec<Part>,
    /// The links on the way to the devices.
    pub links: Vec<Link>,
    /// What a reader of the figures must know: I/O of others meanwhile, a cache below the target.
    pub notes: Vec<String>,
}

/// What must be as it was for a ceiling to be used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// `uname -r`.
    pub kernel: String,
    /// `uname -m`.
    pub architecture: String,
    /// Online processors.
    pub cpus: u32,
    /// `MemTotal`; `None` when it could not be read.
    pub memory_bytes: Option<u64>,
}

/// By what a device, or storage without one, is known again.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Identity {
    /// The device's name, or the type of the file system.
    pub name: String,
    /// What the value is.
    pub kind: IdentityKind,
    /// The value: hostile text, and a name of this machine's; a redacted copy replaces it.
    pub value: String,
}

/// What kind of identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum IdentityKind {
    /// What the device, or the array, says of itself: serial number, world-wide name, UUID; with its size.
    Serial,
    /// A loop device's backing file: path, inode, device and size.
    BackingFile,
    /// The device's number and size, and this boot of the kernel: nothing else tells it from another.
    ThisBoot,
    /// The source of a network file system.
    Source,
    /// Memory: the machine is the identity.
    Memory,
}

/// One part of which a figure is made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// What it is.
    pub kind: PartKind,
    /// Reads or writes; `None` for what is neither.
    pub direction: Direction,
    /// Bytes of one call; `None` where calls have no size.
    pub request_bytes: Option<u64>,
    /// Requests in flight of each thread.
    pub depth: u32,
    /// Threads at once.
    pub threads: u32,
    /// Bytes that all threads together went over again and again.
    pub region_bytes: Option<u64>,
    /// The best of the repetitions: what disturbs makes it worse, never better. `None` when it could not be measured.
    pub value: Option<Quantity>,
    /// Why there is no value.
    pub missing: Option<String>,
    /// How it was measured.
    pub how: String,
    /// Every repetition, in the unit of the value.
    pub repetitions: Vec<f64>,
    /// The difference between the best and the worst repetition as a share of the best.
    pub spread_ratio: Option<f64>,
    /// What shows that the storage served it; `None` for parts that no storage serves.
    pub served: Option<Served>,
}

/// Bytes that a part's tool counted beside those that the kernel counted below it, all repetitions together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Served {
    /// What the tool moved.
    pub tool_bytes: u64,
    /// What the counters say, whoever asked.
    pub counted_bytes: u64,
    /// Which counters.
    pub source: String,
}

/// What a part is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PartKind {
    /// Calls a second, each of one byte, on memory: operations a second.
    Calls,
    /// Copies between memory of the kernel and the process by calls of a size: bytes a second.
    Copy,
    /// Direct I/O of 4 KiB at random places: operations a second.
    Random,
    /// Direct I/O of 1 MiB, ascending: bytes a second.
    Sequential,
    /// One question to a server and its answer: nanoseconds.
    RoundTrip,
}

impl Part {
    /// What it is, in words that follow `what the device gives for`: `random 4 KiB reads at depth 1`.
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
            PartKind::RoundTrip => "one round trip".to_owned(),
        }
    }
}

/// A size that is a whole number of its unit without a fraction: `4 KiB`.
pub fn size(bytes: u64) -> String {
    for (unit, shift) in [("GiB", 30), ("MiB", 20), ("KiB", 10)] {
        if bytes >= 1 << shift && bytes.is_multiple_of(1 << shift) {
            return format!("{} {unit}", bytes >> shift);
        }
    }
    Quantity::bytes(bytes).to_string()
}

impl Ceiling {
    /// Why it says nothing about a machine as it is now; `None` when it still holds.
    pub fn stale_on(&self, now: &Machine) -> Option<String> {
        let then = &self.machine;
        if then.kernel != now.kernel {
            return Some(format!("the kernel was {} and is {}", then.kernel, now.kernel));
        }
        if (&then.architecture, then.cpus) != (&now.architecture, now.cpus) {
            let of = |machine: &Machine| format!("{} {}", machine.cpus, machine.architecture);
            return Some(format!("the machine had {} processors and has {}", of(then), of(now)));
        }
        // What the kernel takes of the memory at boot differs a little.
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
    /// Those that hold for storage of the run.
    pub used: Vec<UsedCeiling>,
    /// Those that were there and are not used, each with why.
    pub left_out: Vec<String>,
}

/// A ceiling and what it holds for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UsedCeiling {
    /// [`Target::s_dev`] of the run's targets that lie on the same storage.
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
            schema: SCHEMA.into(),
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
            (Machine { cpus: 4, ..machine() }, Some("the machine had 8 x86_64 processors and has 4 x86_64")),
            (Machine { memory_bytes: Some(50 << 30), ..machine() }, Some("the memory was 100.0 GiB and is 50.00 GiB")),
            (Machine { memory_bytes: None, ..machine() }, Some("the memory was 100.0 GiB and is not known")),
        ] {
            assert_eq!(ceiling.stale_on(&now).as_deref(), expected);
        }
        // Where the memory cannot be read it does not differ.
        let unread = Machine { memory_bytes: None, ..machine() };
        assert_eq!(Ceiling { machine: unread.clone(), ..ceiling }.stale_on(&unread), None);
    }
}
