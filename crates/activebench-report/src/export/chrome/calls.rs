//! The tree's calls and requests.

use activebench_model::call::{Call, Op, open_bits};
use activebench_model::source::EventSource;

use super::event::{Args, Event, Trace};
use super::{PHASES, SYNCS};
use crate::export::ExportError;
use crate::export::names::FileNames;

/// Writes every recorded call: a submitted request as a pair of asynchronous events, a system call on the thread that
/// called it.
pub(super) fn write(events: &dyn EventSource, names: &FileNames, trace: &mut Trace<'_>) -> Result<(), ExportError> {
    for batch in events.calls() {
        for call in &batch? {
            one(call, names, trace)?;
        }
    }
    Ok(())
}

fn one(call: &Call, names: &FileNames, trace: &mut Trace<'_>) -> Result<(), ExportError> {
    let unnamed;
    let file = match call.file {
        None => None,
        // The name of an open is known when the call ends.
        Some(id) => match names.at(id, call.end_ns) {
            Some(name) => Some(name),
            None => {
                unnamed = format!("inode {} of {}", id.ino, activebench_model::call::DeviceNumber(id.s_dev));
                Some(unnamed.as_str())
            }
        },
    };
    let moved = call.op.is_data().then(|| u64::try_from(call.returned).ok()).flatten();
    let args = Args {
        file,
        fd: (call.fd != -1).then_some(call.fd),
        offset: (call.offset >= 0).then_some(call.offset),
        bytes: moved,
        result: Some(call.returned),
        start: (call.stands_for == 0).then_some("an estimate from the calls around it that were timed"),
        flags: (call.open_flags & open_bits::DIRECT != 0).then_some("O_DIRECT"),
        ..Args::default()
    };
    let event = Event { name: call.op.name(), cat: category(call.op), pid: call.tgid, tid: call.tid, args };
    match call.op.is_asynchronous() {
        true => trace.overlapping(&event, call.start_ns, call.end_ns)?,
        false => trace.complete(&event, call.start_ns, call.end_ns)?,
    }
    if category(call.op) == "sync" && call.returned >= 0 {
        let args = Args { file, ..Args::default() };
        let mark = Event { name: call.op.name(), cat: "sync mark", pid: PHASES, tid: SYNCS, args };
        trace.instant(&mark, call.end_ns)?;
    }
    Ok(())
}

fn category(op: Op) -> &'static str {
    match op {
        op if op.is_read() => "read",
        op if op.is_write() => "write",
        Op::Discard => "discard",
        op if op.is_file_sync() || matches!(op, Op::Sync | Op::Syncfs) => "sync",
        _ => "call",
    }
}
