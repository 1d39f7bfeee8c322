//! The conversion of each class of kernel records into the model's events.
//!
//! Records come from our own kernel programs, yet they are not trusted. A record with an unknown code makes its chunk
//! unreadable. If the model has a value for the unknown (the kind of a file, the origin or action of a request), the
//! event has that value.

use activebench_model::call::{Call, DeviceNumber, FileId, FileKind, Op, open_bits};
use activebench_model::event::{
    BlockAction, BlockEvent, BlockEventKind, CacheEvent, CpuEvent, FuseEvent, FuseOperation, KernelClass, NameEvent,
    Origin, SampleEvent, ServingEvent, TaskEvent, TaskEventKind, ThreadState, ThreadTimes,
};

use crate::layout::Record;
use crate::records::{
    BlockRecord, CacheRecord, CallRecord, CpuRecord, FuseRecord, NameRecord, ServingRecord, StoredSample, TaskRecord,
};

/// The form in which the records of a class leave the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Travel {
    /// Several in a message, after its header.
    Batched,
    /// Several in a message, calls and groups of calls: see [`add_calls`](crate::add_calls).
    Merged,
    /// Each is a message, with its header.
    Alone,
    /// Each is a message with a stack, which is replaced by its number: see [`StoredSample`].
    WithStack,
}

/// An event that is made from one kept record.
pub trait KernelEvent: Sized + 'static {
    /// The record as it is kept until the end of the run.
    type Record: Record;
    /// The classes of these records.
    const CLASSES: &'static [KernelClass];
    /// The form in which they leave the kernel.
    const TRAVEL: Travel;
    /// `true` if decoding depends on the block devices that the tree opened itself.
    const NEEDS_DEVICES: bool = false;

    /// Returns the time of the record: the earliest time that it is about.
    fn at_ns(record: &Self::Record) -> u64;

    /// Decodes a record; `None` for a code that this version does not know. `is_opened` returns `true` if the tree
    /// itself opened a block device.
    fn decode(class: KernelClass, record: &Self::Record, is_opened: &dyn Fn(u32) -> bool) -> Option<Self>;

    /// Returns the event for the creation of the first task, which no record reports; `None` for other kinds.
    fn of_root(_root: &TaskEvent) -> Option<Self> {
        None
    }
}

/// Evaluates an expression with a type for the event that a class of records is made into. The records of payload and of
/// output are not kept, but reduced as they arrive.
#[macro_export]
macro_rules! with_kernel_event {
    ($class:expr, $event:ident => $kept:expr, reduced => $reduced:expr) => {{
        use activebench_model::event::KernelClass;
        match $class {
            KernelClass::Calls => {
                type $event = activebench_model::call::Call;
                $kept
            }
            KernelClass::Names => {
                type $event = activebench_model::event::NameEvent;
                $kept
            }
            KernelClass::Tasks => {
                type $event = activebench_model::event::TaskEvent;
                $kept
            }
            KernelClass::BlockQueued | KernelClass::BlockCompleted => {
                type $event = activebench_model::event::BlockEvent;
                $kept
            }
            KernelClass::PageCache => {
                type $event = activebench_model::event::CacheEvent;
                $kept
            }
            KernelClass::Cpu => {
                type $event = activebench_model::event::CpuEvent;
                $kept
            }
            KernelClass::Samples => {
                type $event = activebench_model::event::SampleEvent;
                $kept
            }
            KernelClass::Serving => {
                type $event = activebench_model::event::ServingEvent;
                $kept
            }
            KernelClass::Fuse => {
                type $event = activebench_model::event::FuseEvent;
                $kept
            }
            KernelClass::Payload | KernelClass::Output => $reduced,
        }
    }};
}

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

/// `FUSE_*` bits of `records.h`.
mod fuse_flags {
    pub(super) const WRITEBACK_CACHE: u32 = 1;
    pub(super) const PASSTHROUGH: u32 = 2;
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

impl KernelEvent for Call {
    type Record = CallRecord;
    const CLASSES: &'static [KernelClass] = &[KernelClass::Calls];
    const TRAVEL: Travel = Travel::Merged;

    fn at_ns(record: &CallRecord) -> u64 {
        record.start_ns
    }

    fn decode(_: KernelClass, record: &CallRecord, _: &dyn Fn(u32) -> bool) -> Option<Self> {
        let op = Op::from_code(record.op)?;
        let kind = file_kind(record.file_kind);
        let has_file = record.ino != 0 || record.s_dev != 0;
        // Opens have the requested flags in place of a length: O_CREAT and O_TRUNC are not kept in f_flags.
        let (requested, asked_flags) =
            if op == Op::Open { (0, record.requested as u32) } else { (record.requested, 0) };
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
}

impl KernelEvent for NameEvent {
    type Record = NameRecord;
    const CLASSES: &'static [KernelClass] = &[KernelClass::Names];
    const TRAVEL: Travel = Travel::Alone;

    fn at_ns(record: &NameRecord) -> u64 {
        record.at_ns
    }

    fn decode(_: KernelClass, record: &NameRecord, _: &dyn Fn(u32) -> bool) -> Option<Self> {
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
}

impl KernelEvent for TaskEvent {
    type Record = TaskRecord;
    const CLASSES: &'static [KernelClass] = &[KernelClass::Tasks];
    const TRAVEL: Travel = Travel::Alone;

    fn at_ns(record: &TaskRecord) -> u64 {
        record.at_ns
    }

    fn decode(_: KernelClass, record: &TaskRecord, _: &dyn Fn(u32) -> bool) -> Option<Self> {
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

    fn of_root(root: &TaskEvent) -> Option<Self> {
        Some(root.clone())
    }
}

impl KernelEvent for BlockEvent {
    type Record = BlockRecord;
    const CLASSES: &'static [KernelClass] = &[KernelClass::BlockQueued, KernelClass::BlockCompleted];
    const TRAVEL: Travel = Travel::Batched;
    const NEEDS_DEVICES: bool = true;

    fn at_ns(record: &BlockRecord) -> u64 {
        record.at_ns
    }

    fn decode(class: KernelClass, record: &BlockRecord, is_opened: &dyn Fn(u32) -> bool) -> Option<Self> {
        // Data in a device's own page cache is the data of a file only if the tree opened the device. Otherwise it is
        // the metadata of the file system on it.
        let owned = record.flags & block_flags::OWNED != 0;
        let by_device = record.flags & block_flags::OWNER_IS_DEVICE != 0;
        let file = (owned && (!by_device || is_opened(record.s_dev)))
            .then_some(FileId { s_dev: record.s_dev, ino: record.ino });
        Some(BlockEvent {
            at_ns: record.at_ns,
            kind: match class {
                _ if record.flags & block_flags::INFERRED != 0 => BlockEventKind::Inferred,
                KernelClass::BlockQueued => BlockEventKind::Queued,
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
        })
    }
}

impl KernelEvent for CacheEvent {
    type Record = CacheRecord;
    const CLASSES: &'static [KernelClass] = &[KernelClass::PageCache];
    const TRAVEL: Travel = Travel::Batched;

    fn at_ns(record: &CacheRecord) -> u64 {
        record.at_ns
    }

    fn decode(_: KernelClass, record: &CacheRecord, _: &dyn Fn(u32) -> bool) -> Option<Self> {
        Some(CacheEvent {
            at_ns: record.at_ns,
            file: FileId { s_dev: record.s_dev, ino: record.ino },
            offset: record.index * PAGE_BYTES,
            bytes: u64::from(record.pages) * PAGE_BYTES,
            tgid: record.tgid,
            in_tree: record.in_tree != 0,
        })
    }
}

impl KernelEvent for CpuEvent {
    type Record = CpuRecord;
    const CLASSES: &'static [KernelClass] = &[KernelClass::Cpu];
    const TRAVEL: Travel = Travel::Batched;

    fn at_ns(record: &CpuRecord) -> u64 {
        record.at_ns
    }

    fn decode(_: KernelClass, record: &CpuRecord, _: &dyn Fn(u32) -> bool) -> Option<Self> {
        let state = match record.state {
            0 => ThreadState::User,
            1 => ThreadState::Kernel,
            2 => ThreadState::Blocked,
            3 => ThreadState::IoWait,
            4 => ThreadState::Preempted,
            5 => ThreadState::Stopped,
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
}

impl KernelEvent for SampleEvent {
    type Record = StoredSample;
    const CLASSES: &'static [KernelClass] = &[KernelClass::Samples];
    const TRAVEL: Travel = Travel::WithStack;

    fn at_ns(record: &StoredSample) -> u64 {
        record.at_ns
    }

    fn decode(class: KernelClass, record: &StoredSample, is_opened: &dyn Fn(u32) -> bool) -> Option<Self> {
        Some(SampleEvent {
            at_ns: record.at_ns,
            in_user_mode: record.user_mode != 0,
            stack: (record.stack != StoredSample::NO_STACK).then_some(record.stack),
            cpu: CpuEvent::decode(class, &record.cpu, is_opened)?,
        })
    }
}

impl KernelEvent for ServingEvent {
    type Record = ServingRecord;
    const CLASSES: &'static [KernelClass] = &[KernelClass::Serving];
    const TRAVEL: Travel = Travel::Batched;

    fn at_ns(record: &ServingRecord) -> u64 {
        record.since_ns
    }

    fn decode(_: KernelClass, record: &ServingRecord, _: &dyn Fn(u32) -> bool) -> Option<Self> {
        Some(ServingEvent {
            since_ns: record.since_ns,
            until_ns: record.until_ns,
            tgid: record.tgid,
            name: text(&record.name),
            cpu_ns: record.cpu_ns,
            read_calls: record.read_calls,
            write_calls: record.write_calls,
            sync_calls: record.sync_calls,
            other_calls: record.other_calls,
        })
    }
}

impl KernelEvent for FuseEvent {
    type Record = FuseRecord;
    const CLASSES: &'static [KernelClass] = &[KernelClass::Fuse];
    const TRAVEL: Travel = Travel::Batched;

    fn at_ns(record: &FuseRecord) -> u64 {
        if record.sent_ns == 0 { record.at_ns } else { record.sent_ns }
    }

    fn decode(_: KernelClass, record: &FuseRecord, _: &dyn Fn(u32) -> bool) -> Option<Self> {
        Some(FuseEvent {
            at_ns: record.at_ns,
            sent_ns: record.sent_ns,
            s_dev: DeviceNumber(record.s_dev),
            operation: FuseOperation::of_code(record.opcode),
            tgid: record.tgid,
            daemon: record.daemon,
            request_bytes: record.in_bytes,
            returned: match record.error {
                error @ ..0 => i64::from(error),
                _ => i64::from(record.out_bytes),
            },
            writeback_cache: record.flags & fuse_flags::WRITEBACK_CACHE != 0,
            passthrough: record.flags & fuse_flags::PASSTHROUGH != 0,
        })
    }
}
