//! Converts kernel records into the model's events.
//!
//! Records come from our own kernel programs, yet they are not trusted: an unknown code gives `None`, and the caller
//! counts it.

use activebench_model::call::{Call, DeviceNumber, FileId, FileKind, Op, open_bits};
use activebench_model::event::{
    BlockAction, BlockEvent, BlockEventKind, CacheEvent, CpuEvent, NameEvent, Origin, TaskEvent, TaskEventKind,
    ThreadState, ThreadTimes,
};

use crate::{BlockRecord, CacheRecord, CallRecord, CpuRecord, NameRecord, RecordClass, TaskRecord};

/// Size of a page on every architecture that has a call table.
const PAGE_BYTES: u64 = 4096;

/// `BLOCK_*` bits of `records.h`.
pub(crate) mod block_flags {
    pub(crate) const PREFLUSH: u8 = 1;
    pub(crate) const FUA: u8 = 2;
    pub(crate) const FIRST_OF_REQUEST: u8 = 4;
    pub(crate) const OWNED: u8 = 8;
    pub(crate) const OWNER_IS_DEVICE: u8 = 16;
    pub(crate) const INFERRED: u8 = 32;
}

fn file_kind(code: u8) -> FileKind {
    match code {
        1 => FileKind::Regular,
        2 => FileKind::BlockDevice,
        _ => FileKind::Other,
    }
}

/// Converts `O_*` of x86-64 (`include/uapi/asm-generic/fcntl.h`) into neutral bits.
fn neutral_open_flags(flags: u32) -> u32 {
    const O_ACCMODE: u32 = 0o3;
    const O_CREAT: u32 = 0o100;
    const O_TRUNC: u32 = 0o1000;
    const O_APPEND: u32 = 0o2000;
    const O_DSYNC: u32 = 0o10000;
    const O_DIRECT: u32 = 0o40000;
    const O_SYNC: u32 = 0o4010000;
    let mut bits = 0;
    if flags & O_DIRECT != 0 {
        bits |= open_bits::DIRECT;
    }
    if flags & O_SYNC == O_SYNC {
        bits |= open_bits::SYNC;
    } else if flags & O_DSYNC != 0 {
        bits |= open_bits::DSYNC;
    }
    if flags & O_APPEND != 0 {
        bits |= open_bits::APPEND;
    }
    if flags & O_ACCMODE != 0 {
        bits |= open_bits::WRITABLE;
    }
    if flags & O_CREAT != 0 {
        bits |= open_bits::CREATE;
    }
    if flags & O_TRUNC != 0 {
        bits |= open_bits::TRUNCATE;
    }
    bits
}

fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

/// Decodes a call; `None` for an op code that this version does not know.
pub fn call(record: &CallRecord) -> Option<Call> {
    let op = Op::from_code(record.op)?;
    let kind = file_kind(record.file_kind);
    let has_file = record.ino != 0 || record.s_dev != 0;
    // Opens have the requested flags in place of a length: O_CREAT and O_TRUNC are not kept in f_flags.
    let (requested, asked_flags) = if op == Op::Open { (0, record.requested as u32) } else { (record.requested, 0) };
    Some(Call {
        start_ns: record.start_ns,
        end_ns: record.end_ns,
        tid: record.tid,
        tgid: record.tgid,
        op,
        fd: record.fd,
        file: has_file.then_some(FileId { s_dev: record.s_dev, ino: record.ino }),
        kind,
        open_flags: neutral_open_flags(record.open_flags | asked_flags),
        offset: record.offset,
        requested,
        returned: match (op, record.returned) {
            (Op::Discard, 0) => i64::try_from(record.requested).unwrap_or(i64::MAX),
            (_, returned) => returned,
        },
        storage_read_bytes: u64::from(record.storage_read_bytes),
        cached_bytes: u64::from(record.cached_pages) * PAGE_BYTES,
        cpu_ns: record.cpu_ns,
        user_before_ns: record.user_before_ns,
        stands_for: record.stands_for,
    })
}

/// Decodes a name; `None` for an op code that this version does not know.
pub fn name(record: &NameRecord) -> Option<NameEvent> {
    Some(NameEvent {
        at_ns: record.at_ns,
        tid: record.tid,
        tgid: record.tgid,
        op: Op::from_code(record.op)?,
        returned: record.returned,
        file: (record.ino != 0 || record.s_dev != 0).then_some(FileId { s_dev: record.s_dev, ino: record.ino }),
        name: text(&record.name),
    })
}

/// Decodes a task event; `None` for a kind that this version does not know.
pub fn task(record: &TaskRecord) -> Option<TaskEvent> {
    let kind = match record.kind {
        1 => TaskEventKind::Born,
        2 => TaskEventKind::Executed,
        3 => TaskEventKind::Exited,
        _ => return None,
    };
    Some(TaskEvent {
        at_ns: record.at_ns,
        kind,
        tid: record.tid,
        tgid: record.tgid,
        parent_tgid: record.parent_tgid,
        exit_status: record.exit_code,
        comm: text(&record.comm),
        filename: text(&record.filename),
        user_ns: record.user_ns,
        kernel_ns: record.kernel_ns,
        blocked_ns: record.blocked_ns,
        iowait_ns: record.iowait_ns,
        preempted_ns: record.preempted_ns,
    })
}

/// Decodes a block event. `device_is_used` returns `true` if the tree itself opened a block device. Only then is data
/// in that device's own page cache the data of a file; otherwise it is the metadata of the file system on it.
pub fn block(class: RecordClass, record: &BlockRecord, device_is_used: impl Fn(u32) -> bool) -> BlockEvent {
    let owned = record.flags & block_flags::OWNED != 0;
    let by_device = record.flags & block_flags::OWNER_IS_DEVICE != 0;
    let file = (owned && (!by_device || device_is_used(record.s_dev)))
        .then_some(FileId { s_dev: record.s_dev, ino: record.ino });
    BlockEvent {
        at_ns: record.at_ns,
        kind: match class {
            _ if record.flags & block_flags::INFERRED != 0 => BlockEventKind::Inferred,
            RecordClass::BlockQueued => BlockEventKind::Queued,
            _ => BlockEventKind::Completed,
        },
        device: DeviceNumber(record.device),
        sector: record.sector,
        bytes: u64::from(record.bytes),
        // `enum req_op`, the same numbers since Linux 4.10.
        action: match record.operation {
            0 => BlockAction::Read,
            1 => BlockAction::Write,
            2 => BlockAction::Flush,
            3 | 5 | 9 => BlockAction::Discard,
            _ => BlockAction::Other,
        },
        preflush: record.flags & block_flags::PREFLUSH != 0,
        fua: record.flags & block_flags::FUA != 0,
        latency_ns: record.latency_ns,
        first_of_request: record.flags & block_flags::FIRST_OF_REQUEST != 0,
        file,
        tgid: record.tgid,
        comm: text(&record.comm),
        origin: match record.origin {
            1 => Origin::Tree,
            2 => Origin::Observer,
            3 => Origin::Kernel,
            4 => Origin::Foreign,
            _ => Origin::Unknown,
        },
        status: record.status,
    }
}

/// Decodes a page-cache insertion.
pub fn cache(record: &CacheRecord) -> CacheEvent {
    CacheEvent {
        at_ns: record.at_ns,
        file: FileId { s_dev: record.s_dev, ino: record.ino },
        offset: record.index * PAGE_BYTES,
        bytes: u64::from(record.pages) * PAGE_BYTES,
        tgid: record.tgid,
        in_tree: record.in_tree != 0,
    }
}

/// Decodes a thread's totals; `None` for a state that this version does not know.
pub fn cpu(record: &CpuRecord) -> Option<CpuEvent> {
    let state = match record.state {
        0 => ThreadState::User,
        1 => ThreadState::Kernel,
        2 => ThreadState::Blocked,
        3 => ThreadState::IoWait,
        4 => ThreadState::Preempted,
        _ => return None,
    };
    Some(CpuEvent {
        at_ns: record.at_ns,
        since_ns: record.since_ns,
        state,
        tid: record.tid,
        tgid: record.tgid,
        times: ThreadTimes {
            user_ns: record.user_ns,
            kernel_ns: record.kernel_ns,
            blocked_ns: record.blocked_ns,
            iowait_ns: record.iowait_ns,
            preempted_ns: record.preempted_ns,
        },
    })
}
