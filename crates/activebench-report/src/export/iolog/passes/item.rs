//! A call of the load, and its effect on its file.

use activebench_model::call::{Call, FileId, FileKind, Op};

use super::empties;
use crate::export::iolog::step::Step;

/// A call while it is held back for sorting.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item {
    pub(super) at_ns: u64,
    pub(super) file: FileId,
    pub(super) kind: FileKind,
    pub(super) change: Option<Change>,
    pub(super) step: Option<Step>,
    /// Pass of the call, and its task.
    pub(super) place: Option<(usize, (u32, u32))>,
}

/// Effect of a call on a file, besides moving data.
#[derive(Clone, Copy, Debug)]
pub(super) enum Change {
    /// Opened with `O_TRUNC`.
    Emptied,
    /// Length set by ftruncate or truncate.
    Sized(u64),
    /// Blocks reserved up to here by fallocate.
    Allocated(u64),
}

impl Change {
    pub(super) fn of(call: &Call) -> Option<Self> {
        if call.returned < 0 {
            return None;
        }
        match call.op {
            Op::Open if empties(call.open_flags) => Some(Change::Emptied),
            Op::Ftruncate | Op::Truncate => Some(Change::Sized(call.requested)),
            Op::Fallocate => Some(Change::Allocated(u64::try_from(call.offset).unwrap_or(0) + call.requested)),
            _ => None,
        }
    }
}
