//! Kernel counters below the target: they show whether the storage really served the bytes that a tool reports.

use std::path::PathBuf;

use activebench_host::Roots;
use activebench_model::host::{Target, Tier};
use activebench_model::phase::Direction;

/// Counters of the devices of a target, or of the network interfaces.
#[derive(Debug)]
pub(super) enum Counters {
    /// `stat` of each device: sectors of 512 bytes (Documentation/block/stat.rst).
    Devices(Vec<PathBuf>),
    /// `/proc/net/dev`: bytes of the interfaces.
    Interfaces,
    /// There are no counters, for this reason.
    None(String),
}

/// Bytes since boot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Count {
    pub(super) read: u64,
    pub(super) written: u64,
}

impl Counters {
    pub(super) fn of(target: &Target) -> Self {
        let devices: Vec<PathBuf> =
            target.devices().map(|device| PathBuf::from(format!("/sys/dev/block/{}/stat", device.device))).collect();
        match target.tier {
            _ if !devices.is_empty() => Self::Devices(devices),
            Tier::Memory => Self::None(format!("{} is in memory: it has no device", target.fs_type)),
            Tier::Network if target.comes_through_interfaces() => Self::Interfaces,
            Tier::Network => {
                Self::None(format!("nothing counts what comes from the server of {} by its way", target.fs_type))
            }
            Tier::Fuse => Self::None("nothing counts what the daemon of a FUSE file system serves".to_owned()),
            Tier::Block | Tier::Unknown => Self::None("the devices below are unknown".to_owned()),
        }
    }

    /// Returns the files that hold the counters.
    pub(super) fn source(&self) -> String {
        match self {
            Self::Devices(files) => {
                files.iter().map(|file| file.display().to_string()).collect::<Vec<_>>().join(" and ")
            }
            Self::Interfaces => "/proc/net/dev".to_owned(),
            Self::None(_) => String::new(),
        }
    }

    /// Reads the bytes counted so far.
    pub(super) fn read(&self) -> Result<Count, String> {
        match self {
            Self::Devices(files) => files.iter().try_fold(Count::default(), |sum, file| {
                let text = std::fs::read_to_string(file)
                    .map_err(|error| format!("cannot read {}: {error}", file.display()))?;
                let one = of_stat(&text).ok_or_else(|| format!("{} is not what a kernel writes", file.display()))?;
                Ok(Count { read: sum.read + one.read, written: sum.written + one.written })
            }),
            Self::Interfaces => activebench_host::traffic(&Roots::default())
                .map(|moved| Count { read: moved.received_bytes, written: moved.sent_bytes }),
            Self::None(why) => Err(why.clone()),
        }
    }

    /// True if each byte of the tool is counted once. A file system that writes to several devices may mirror: then its
    /// bytes are counted several times.
    pub(super) fn count_once(&self, direction: Direction) -> bool {
        direction != Direction::Write || !matches!(self, Self::Devices(devices) if devices.len() > 1)
    }
}

fn of_stat(text: &str) -> Option<Count> {
    let fields: Vec<u64> = text.split_whitespace().map_while(|field| field.parse().ok()).collect();
    Some(Count { read: fields.get(2)? * 512, written: fields.get(6)? * 512 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_read() {
        let stat = "   37526        0   300206       41     1197        3    11850      129        0       81      170";
        assert_eq!(of_stat(stat), Some(Count { read: 300_206 * 512, written: 11_850 * 512 }));
        assert_eq!(of_stat("1 2 3"), None);
    }

    #[test]
    fn copies_on_several_devices_are_nobody_elses() {
        let devices = |count| Counters::Devices(vec![PathBuf::from("/sys/dev/block/8:0/stat"); count]);
        for (counters, direction, once) in [
            (devices(1), Direction::Write, true),
            (devices(2), Direction::Write, false),
            (devices(2), Direction::Read, true),
            (Counters::Interfaces, Direction::Write, true),
        ] {
            assert_eq!(counters.count_once(direction), once, "{counters:?} {direction:?}");
        }
    }
}
