//! What was read of the host again and again while the tool ran: counters and levels that no probe gives.
//!
//! Where each comes from is said beside it. What they say of a phase is computed by `activebench-facts`.

use serde::{Deserialize, Serialize};

/// What is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Watched {
    /// `Dirty` and `Writeback` of `/proc/meminfo` together: data of the whole host that waits for its devices. A level, bytes.
    DirtyBytes,
    /// `pswpin` and `pswpout` of `/proc/vmstat` together. A counter, pages.
    SwappedPages,
    /// Time in which every task of the host that had something to do waited for memory: the `full` line of
    /// `/proc/pressure/memory`. A counter, ns.
    MemoryStalled,
    /// The same for the control group in which the tool was started (version 2 alone). A counter, ns.
    GroupMemoryStalled,
    /// Mean of the frequencies that the policies of `/sys/devices/system/cpu/cpufreq` say. A level, kHz.
    Frequency,
    /// How often processors and their packages were slowed because they were hot:
    /// `/sys/devices/system/cpu/cpu*/thermal_throttle/*_throttle_count` together. A counter.
    ThermalThrottles,
    /// Disks that say that they are too hot (`temp1_alarm` of NVMe and drivetemp sensors). Read at the
    /// start and at the end alone, because the disk has to answer. A level, a count.
    HotDisks,
    /// Bytes that all network interfaces received, the loopback among them: `/proc/net/dev`. Read where a network
    /// file system was mounted when the run began. A counter.
    NetworkReceived,
    /// Bytes that the client of a network file system got from its server, direct reads included:
    /// `/proc/self/mountstats`. A counter for each mount point.
    ServerReadBytes,
}

/// One counter or level over the run.
///
/// Of readings that are alike only the first and the last are kept, and of many a part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Series {
    /// What it is.
    pub what: Watched,
    /// Whose, where there are several: a mount point. Empty otherwise.
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
    /// What.
    pub what: Watched,
    /// Why.
    pub why: String,
    /// The host has no such thing, as opposed to one that could not be read.
    pub is_absent: bool,
}

/// All readings of a run: the first just before the tool was let go, the last after its end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Readings {
    /// What was read.
    pub series: Vec<Series>,
    /// What was not.
    pub unread: Vec<Unread>,
}

impl Readings {
    /// The readings of one thing. Of several of a kind, that of `of`.
    ///
    /// # Errors
    /// What is known of why there are none; `None` when it was not tried.
    pub fn find(&self, what: Watched, of: &str) -> Result<&Series, Option<&Unread>> {
        let found = self.series.iter().find(|series| series.what == what && series.of == of);
        found.ok_or_else(|| self.unread.iter().find(|unread| unread.what == what))
    }
}
