//! Whether each write of a pass was made durable before the next.

use activebench_model::fact::FactName;
use activebench_model::phase::Phase;

/// Share of the writes from which on they count as all. Proposed: the first and the last can lie outside the window.
const MOST: f64 = 0.95;

/// How each write was made durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EachWrite {
    /// By the call itself: `O_SYNC`, `O_DSYNC`.
    Synchronous,
    /// By a sync after it.
    Synced,
}

impl EachWrite {
    /// Returns how each write of the pass was made durable; `Ok(None)` if it was not.
    ///
    /// # Errors
    /// Returns the reason if the calls were not all seen.
    pub(crate) fn of(phase: &Phase) -> Result<Option<Self>, String> {
        let fact = |name| phase.facts.complete(name);
        let (writes, syncs, synchronous) =
            (fact(FactName::WriteCalls)?, fact(FactName::SyncsInside)?, fact(FactName::SyncWriteShare)?);
        Ok(match () {
            () if synchronous >= MOST => Some(Self::Synchronous),
            () if syncs > 0.0 && syncs >= MOST * writes => Some(Self::Synced),
            () => None,
        })
    }
}
