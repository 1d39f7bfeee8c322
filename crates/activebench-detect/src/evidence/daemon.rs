//! What the daemon of a FUSE file system moved at its devices for a pass, beside what the pass asked it for.

use activebench_model::daemon::Daemon;
use activebench_model::fact::FactName;
use activebench_model::host::{Layer, Target, Tier};
use activebench_model::phase::{Direction, Phase};

use crate::run::Run;

/// The facts behind [`Served`].
pub(crate) const FACTS: &[FactName] = &[
    FactName::ReadBytes,
    FactName::WriteBytes,
    FactName::DirectShare,
    FactName::SyncedBytes,
    FactName::CacheInsertedBytes,
    FactName::UniqueBlocks,
    FactName::BlockGrid,
    FactName::DaemonDeviceReadBytes,
    FactName::DaemonDeviceWriteBytesDurable,
    FactName::DaemonSubmittedBytes,
    FactName::DaemonTotalWriteBytes,
];

/// Bytes of one pass at both ends of its daemon.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Served {
    /// What the pass asked the daemon for: reads that the page cache above it did not answer, each written block once.
    pub(crate) asked: f64,
    /// What the daemon's devices moved meanwhile.
    pub(crate) at_devices: f64,
}

impl<'a> Run<'a> {
    /// Returns the daemon behind the pass's files.
    pub(crate) fn daemon_of(&self, phase: &Phase) -> Option<&'a Daemon> {
        self.manifest.host.daemon_of(phase.parts.first()?.file)
    }

    /// Returns what the pass asked its daemon for, and what its devices moved.
    ///
    /// # Errors
    /// When the daemon or one of the amounts is not known.
    pub(crate) fn served_by_daemon(&self, phase: &Phase) -> Result<Served, String> {
        let moved = self.moved(phase)?;
        let direct = self.fact(phase, FactName::DirectShare)?;
        match phase.direction {
            Direction::Read => {
                let at_devices = self.fact(phase, FactName::DaemonDeviceReadBytes)?;
                let inserted = self.fact(phase, FactName::CacheInsertedBytes)?;
                // What goes past the page cache is asked for each time. A daemon can have all reads go past it
                // (`direct_io`), which no option of the mount shows; what its devices gave was asked for.
                let asked = if direct >= 1.0 { moved } else { moved.min((inserted + direct * moved).max(at_devices)) };
                Ok(Served { asked, at_devices })
            }
            Direction::Write => {
                let at_devices = self.fact(phase, FactName::DaemonDeviceWriteBytesDurable)?;
                let distinct = self.fact(phase, FactName::UniqueBlocks)? * self.fact(phase, FactName::BlockGrid)?;
                Ok(Served { asked: moved.min(distinct), at_devices })
            }
            _ => Err("the reads and the writes of a pass on FUSE cannot be separated".to_owned()),
        }
    }
}

/// Returns the storage on which a daemon keeps its data: the first with a device.
pub(crate) fn storage_of(daemon: &Daemon) -> Option<(&Target, &Layer)> {
    daemon.storage.iter().find_map(|target| Some((target, target.device()?)))
}

/// Returns what below the daemon can answer from memory, as a lower-case fragment.
pub(crate) fn cached_below(daemon: &Daemon) -> Option<String> {
    if daemon.storage.iter().any(|target| target.tier == Tier::Block && target.layers.is_empty()) {
        return Some("the devices below it are not known".to_owned());
    }
    let cached = daemon.storage.iter().find_map(|target| target.cached_layer());
    cached.map(|layer| format!("{} below it reads its file through memory", layer.name))
}

/// Returns `true` if all data of a daemon is in memory, and none comes from elsewhere.
pub(crate) fn is_in_memory(daemon: &Daemon) -> bool {
    daemon.unknown.is_none()
        && daemon.elsewhere.is_empty()
        && !daemon.storage.is_empty()
        && daemon.storage.iter().all(|target| target.tier == Tier::Memory)
}
