//! The event log of a run: how it was kept, where it was cut, and the sums of later events.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::call::{DeviceNumber, FileId, FileKind, Op};
use crate::event::{BlockAction, BlockEventKind, RecordClass};

/// How the log of a run's events was kept while the tool ran.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventLog {
    /// Largest allowed size, packed, in bytes.
    pub limit_bytes: u64,
    /// Actual size, packed, in bytes.
    pub packed_bytes: u64,
    /// The part of it that was written to the run directory's file system while the tool ran;
    /// the rest was kept in memory until the end.
    pub spooled_bytes: u64,
    /// Why it was kept in memory, from the beginning or from some later time; `None` when it was
    /// not, or when it was too small to matter.
    pub in_memory_because: Option<String>,
    /// The cut, where the log ends before the run does.
    pub cut: Option<LogCut>,
}

/// The cut of a log that ends before the run does. Later events are only counted in [`Totals`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogCut {
    /// Time of the earliest event that is not in the log. Single later events may be in it.
    pub at_ns: u64,
    /// Reason for the cut.
    pub why: String,
    /// Records that are not in the log, by class. They arrived, so they are not lost.
    pub records: BTreeMap<RecordClass, u64>,
}

/// Exact sums of the events past the log's cut. Empty for a complete log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// One entry per file, op and open flags.
    pub calls: Vec<CallTotals>,
    /// One entry per device, kind and action.
    pub block: Vec<BlockTotals>,
    /// One entry per file.
    pub cache: Vec<CacheTotals>,
}

/// Calls of one op on one file with the same open flags.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallTotals {
    /// The file; `None` for calls without one, and for files past the first several thousand.
    pub file: Option<FileId>,
    /// Kind of file.
    pub kind: FileKind,
    /// The call.
    pub op: Op,
    /// Bits of [`crate::call::open_bits`].
    pub open_flags: u32,
    /// Calls, failed ones included.
    pub calls: u64,
    /// Calls that failed.
    pub failed_calls: u64,
    /// Sum of what the successful calls returned: bytes for calls that move data.
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
    /// Kind of event.
    pub kind: BlockEventKind,
    /// Action of the requests.
    pub action: BlockAction,
    /// Number of requests (or bios, when queued), counted by their first events.
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
