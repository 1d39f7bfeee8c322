//! Actions that an iolog can represent.

use activebench_model::call::{Call, FileId, FileKind, Op, open_bits};

use super::left_out::Why;
use crate::escape;

/// A name of this length may have been truncated during recording.
const CUT_NAME_BYTES: usize = 255;
/// `O_DIRECT` moves whole sectors.
const SECTOR_BYTES: u64 = 512;

/// An action on a file of the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Read,
    Write,
    Trim,
    Sync,
    Datasync,
    /// Creates the descriptor `fd`.
    Open,
    Close,
    /// Creates the descriptor `fd`.
    Dup,
}

impl Action {
    pub(super) fn moves_data(self) -> bool {
        matches!(self, Action::Read | Action::Write | Action::Trim)
    }
}

/// One action while it is held back for sorting.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    /// Entry of the call, or submission of the request, in ns.
    pub(super) at_ns: u64,
    pub(super) end_ns: u64,
    pub(super) tgid: u32,
    pub(super) fd: i32,
    pub(super) file: FileId,
    pub(super) action: Action,
    pub(super) op: Op,
    pub(super) open_flags: u32,
    /// `true` if the start is an estimate.
    pub(super) estimated: bool,
    pub(super) offset: u64,
    pub(super) bytes: u32,
}

impl Step {
    /// Converts a call on a file of the load; `None` for a call without an effect on the log.
    pub(super) fn of(call: &Call, file: FileId) -> Result<Option<Self>, Why> {
        let (action, fd) = match call.op {
            op if op.is_read() => (Action::Read, call.fd),
            op if op.is_write() => (Action::Write, call.fd),
            Op::Discard => (Action::Trim, call.fd),
            Op::Fsync | Op::AioFsync | Op::UringFsync => (Action::Sync, call.fd),
            Op::Fdatasync | Op::AioFdatasync | Op::UringFdatasync => (Action::Datasync, call.fd),
            Op::Open | Op::Dup if call.returned < 0 => return Ok(None),
            Op::Open => (Action::Open, descriptor(call.returned)),
            Op::Dup => (Action::Dup, descriptor(call.returned)),
            Op::Close => (Action::Close, call.fd),
            // Reported with the blind paths.
            Op::Mmap | Op::Munmap | Op::UringOther => return Ok(None),
            Op::Msync | Op::MsyncAsync | Op::SyncFileRange => return Err(Why::NoWord),
            Op::Ftruncate | Op::Truncate | Op::Fallocate | Op::Fadvise => return Err(Why::NoWord),
            _ => return Ok(None),
        };
        if call.kind == FileKind::Other {
            return Ok(None);
        }
        let mut step = Self {
            at_ns: call.start_ns,
            end_ns: call.end_ns,
            tgid: call.tgid,
            fd,
            file,
            action,
            op: call.op,
            open_flags: call.open_flags,
            estimated: call.stands_for == 0,
            offset: 0,
            bytes: 0,
        };
        if !action.moves_data() {
            let fails = matches!(action, Action::Sync | Action::Datasync) && call.returned < 0;
            return if fails { Err(Why::Failed) } else { Ok(Some(step)) };
        }
        let moved = u64::try_from(call.returned).map_err(|_| Why::Failed)?;
        if moved == 0 {
            return Err(Why::MovedNothing);
        }
        step.offset = u64::try_from(call.offset).map_err(|_| Why::NoOffset)?;
        step.bytes = u32::try_from(moved).map_err(|_| Why::TooLong)?;
        let is_direct = call.open_flags & open_bits::DIRECT != 0;
        if is_direct && action != Action::Trim && !moved.is_multiple_of(SECTOR_BYTES) {
            return Err(Why::DirectTail);
        }
        Ok(Some(step))
    }
}

fn descriptor(returned: i64) -> i32 {
    i32::try_from(returned).unwrap_or(-1)
}

/// Returns the reason why fio would not find a file by this name; `None` if fio finds it.
pub(super) fn unwritable(name: Option<&str>) -> Option<&'static str> {
    match name {
        None => Some("its name was not seen"),
        Some("") => Some("its name is empty"),
        Some(name) if name.len() >= CUT_NAME_BYTES => Some("its name was recorded up to 255 bytes alone"),
        // fio ends a name at the first blank and reads the rest as an action.
        Some(name) if name.contains(|c: char| c.is_ascii_whitespace() || c == '\u{b}') => {
            Some("its name has a blank or a line break")
        }
        Some(name) if name.contains(|c: char| escape::is_hidden(c)) => Some("its name has control characters"),
        Some(name) if name.contains(char::REPLACEMENT_CHARACTER) => Some("its name is not UTF-8"),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_fio_would_break_are_found() {
        for (name, writable) in [
            (Some("data"), true),
            (Some("/mnt/bench/Größe"), true),
            (Some("./-"), true),
            (Some("my file"), false),
            (Some("a\nb write 0 4096"), false),
            (Some("a\u{b}b"), false),
            (Some("\u{1b}[2J"), false),
            (Some("gone\u{fffd}"), false),
            (Some(""), false),
            (None, false),
        ] {
            assert_eq!(unwritable(name).is_none(), writable, "{name:?}");
        }
        assert!(unwritable(Some(&"n".repeat(254))).is_none());
        assert!(unwritable(Some(&"n".repeat(255))).is_some());
    }
}
