//! Readings of the host, taken repeatedly while the tool ran: counters and levels that no probe provides.
//!
//! Each is documented with its source. `activebench-facts` computes facts of a phase from them.

use serde::{Deserialize, Serialize};

/// The quantity of a reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Watched {
    /// `Dirty` and `Writeback` of `/proc/meminfo` together: data of the whole host that waits for writeback. A level,
    /// bytes.
    DirtyBytes,
    /// `pswpin` and `pswpout` of `/proc/vmstat` together. A counter, pages.
    SwappedPages,
    /// Time in which every task of the host that had something to do waited for memory: the `full` line of
    /// `/proc/pressure/memory`. A counter, ns.
    MemoryStalled,
    /// The same for the control group in which the tool was started (only version 2). A counter, ns.
    GroupMemoryStalled,
    /// Time in which at least one task of the host could run and waited for a CPU: the `some` line of
    /// `/proc/pressure/cpu`. A counter, ns.
    CpuWaited,
    /// Mean of the frequencies that the policies of `/sys/devices/system/cpu/cpufreq` report. A level, kHz.
    Frequency,
    /// Number of times that CPUs and their packages were slowed down because they were hot:
    /// `/sys/devices/system/cpu/cpu*/thermal_throttle/*_throttle_count` together. A counter.
    ThermalThrottles,
    /// Disks that report that they are too hot (`temp1_alarm` of NVMe and drivetemp sensors). Read only at the
    /// start and at the end, because the disk has to answer. A level, a count.
    HotDisks,
    /// Bytes that all network interfaces received, the loopback among them: `/proc/net/dev`. Read where a network
    /// file system was mounted when the run began. A counter.
    NetworkReceived,
    /// Bytes that the client of a network file system received from its server, direct reads included:
    /// `/proc/self/mountstats`. A counter per mount point.
    ServerReadBytes,
    /// `CLOCK_REALTIME` less `CLOCK_MONOTONIC`: both run at the same rate, so it changes only where the system clock
    /// was set or the machine was suspended. Changes below 1 ms are not kept. A level, ns.
    WallClock,
    /// `CLOCK_BOOTTIME` less `CLOCK_MONOTONIC`: time since boot in which the machine was suspended. A counter, ns.
    Suspended,
}

/// One counter or level over the run.
///
/// Of equal consecutive readings only the first and the last are kept; of many readings only a part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Series {
    /// Quantity.
    pub what: Watched,
    /// Mount point, where there are several such series. Empty otherwise.
    #[serde(default)]
    pub of: String,
    /// The file that it was read from.
    pub source: String,
    /// Time (`CLOCK_MONOTONIC`, ns) and value, in order.
    pub readings: Vec<(u64, u64)>,
}

/// Something that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unread {
    /// Quantity.
    pub what: Watched,
    /// Reason.
    pub why: String,
    /// True if the host has no such thing; false if it exists but could not be read.
    pub is_absent: bool,
}

/// All readings of a run: the first just before the tool was started, the last after its end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Readings {
    /// Readings that were taken.
    pub series: Vec<Series>,
    /// Quantities that could not be read.
    pub unread: Vec<Unread>,
}

impl Readings {
    /// Returns the readings of one quantity; of several series of it, the one of `of`.
    ///
    /// # Errors
    /// Returns the known reason why there are none; `None` when no reading was tried.
    pub fn find(&self, what: Watched, of: &str) -> Result<&Series, Option<&Unread>> {
        let found = self.series.iter().find(|series| series.what == what && series.of == of);
        found.ok_or_else(|| self.unread.iter().find(|unread| unread.what == what))
    }
}
