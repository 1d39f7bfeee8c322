//! The event log of a run: how it was kept, where it was cut, and what later events add up to.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::call::{DeviceNumber, FileId, FileKind, Op};
use crate::event::{BlockAction, BlockEventKind};

/// How the log of a run's events was kept while the tool ran.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventLog {
    /// Most bytes that it may have, packed.
    pub limit_bytes: u64,
    /// Bytes that it has, packed.
    pub packed_bytes: u64,
    /// The part of them that was written to the run directory's file system while the tool ran;
    /// the rest was held in memory until the end.
    pub spooled_bytes: u64,
    /// Why it was held in memory, from the beginning or from some time on; `None` when it was
    /// not, or was too small to matter.
    pub in_memory_because: Option<String>,
    /// Where the log ends before the run does.
    pub cut: Option<LogCut>,
}

/// Where the log ends before the run does. Later events are counted in [`Totals`] alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogCut {
    /// The earliest event that is not in the log. Single events after it may be.
    pub at_ns: u64,
    /// Why.
    pub why: String,
    /// Records that are not in the log, by class. They had arrived: they are not lost.
    pub records: BTreeMap<String, u64>,
}

/// What the events past the log's cut add up to, exactly. Empty for a whole log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// One entry a file, op and way of opening.
    pub calls: Vec<CallTotals>,
    /// One entry a device, kind and action.
    pub block: Vec<BlockTotals>,
    /// One entry a file.
    pub cache: Vec<CacheTotals>,
}

/// Calls of one op on one file, opened one way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallTotals {
    /// The file; `None` for calls without one, and for files past the first several thousand.
    pub file: Option<FileId>,
    /// What kind of file.
    pub kind: FileKind,
    /// Which call.
    pub op: Op,
    /// Bits of [`crate::call::open_bits`].
    pub open_flags: u32,
    /// Calls, failed ones included.
    pub calls: u64,
    /// Calls that failed.
    pub failed_calls: u64,
    /// What the successful calls returned, added up: bytes for calls that move data.
    pub returned: u64,
    /// Bytes that these calls themselves read from storage.
    pub storage_read_bytes: u64,
    /// Entry of the first.
    pub first_start_ns: u64,
    /// Exit of the last.
    pub last_end_ns: u64,
}

/// Events of the block layer on one device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockTotals {
    /// The whole disk's number.
    pub device: DeviceNumber,
    /// Which event.
    pub kind: BlockEventKind,
    /// What the requests do.
    pub action: BlockAction,
    /// Requests (or bios, where queued): events that are the first of theirs.
    pub requests: u64,
    /// Data bytes.
    pub bytes: u64,
}

/// Pages that entered the page cache for one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheTotals {
    /// The file; `None` for files past the first several thousand.
    pub file: Option<FileId>,
    /// Folios.
    pub folios: u64,
    /// Bytes.
    pub bytes: u64,
}
