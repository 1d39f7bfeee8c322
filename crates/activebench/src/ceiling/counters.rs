//! What the kernel counts below the target: whether the storage really served what a tool says that it moved.

use std::path::PathBuf;

use activebench_model::host::{Target, Tier};

/// Counters of the devices of a target, or of the network interfaces.
#[derive(Debug)]
pub(super) enum Counters {
    /// `stat` of each device: sectors of 512 bytes (Documentation/block/stat.rst).
    Devices(Vec<PathBuf>),
    /// `/proc/net/dev`: bytes of every interface.
    Interfaces,
    /// There are none: why.
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
            Tier::Memory => Self::None(format!("{} lies in memory: there is no device", target.fs_type)),
            Tier::Network if target.comes_through_interfaces() => Self::Interfaces,
            Tier::Network => {
                Self::None(format!("nothing counts what comes from the server of {} by its way", target.fs_type))
            }
            Tier::Fuse => Self::None("nothing counts what the daemon of a FUSE file system serves".to_owned()),
            Tier::Block | Tier::Unknown => Self::None("it is not known which devices lie below".to_owned()),
        }
    }

    /// Where they stand.
    pub(super) fn source(&self) -> String {
        match self {
            Self::Devices(files) => {
                files.iter().map(|file| file.display().to_string()).collect::<Vec<_>>().join(" and ")
            }
            Self::Interfaces => "/proc/net/dev".to_owned(),
            Self::None(_) => String::new(),
        }
    }

    /// The bytes so far.
    pub(super) fn read(&self) -> Result<Count, String> {
        match self {
            Self::Devices(files) => files.iter().try_fold(Count::default(), |sum, file| {
                let text = std::fs::read_to_string(file)
                    .map_err(|error| format!("cannot read {}: {error}", file.display()))?;
                let one = of_stat(&text).ok_or_else(|| format!("{} is not what a kernel writes", file.display()))?;
                Ok(Count { read: sum.read + one.read, written: sum.written + one.written })
            }),
            Self::Interfaces => {
                let text = std::fs::read_to_string("/proc/net/dev")
                    .map_err(|error| format!("cannot read /proc/net/dev: {error}"))?;
                Ok(of_interfaces(&text))
            }
            Self::None(why) => Err(why.clone()),
        }
    }
}

fn of_stat(text: &str) -> Option<Count> {
    let fields: Vec<u64> = text.split_whitespace().map_while(|field| field.parse().ok()).collect();
    Some(Count { read: fields.get(2)? * 512, written: fields.get(6)? * 512 })
}

fn of_interfaces(text: &str) -> Count {
    let mut sum = Count::default();
    for (_, counters) in text.lines().filter_map(|line| line.split_once(':')) {
        let fields: Vec<u64> = counters.split_whitespace().map_while(|field| field.parse().ok()).collect();
        sum.read += fields.first().copied().unwrap_or(0);
        sum.written += fields.get(8).copied().unwrap_or(0);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_read() {
        let stat = "   37526        0   300206       41     1197        3    11850      129        0       81      170";
        assert_eq!(of_stat(stat), Some(Count { read: 300_206 * 512, written: 11_850 * 512 }));
        assert_eq!(of_stat("1 2 3"), None);
        let dev = "Inter-|   Receive                                                |  Transmit\n \
                   face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets\n    \
                   lo:    1000       5    0    0    0     0          0         0     1000       5 0 0\n  \
                   eth0: 2000 20 0 0 0 0 0 0 300 4 0 0\n";
        assert_eq!(of_interfaces(dev), Count { read: 3000, written: 1300 });
    }
}
