//! What a call is, from its arguments at the entry and its result at the exit. The counterpart of `calls.h` of the kernel
//! programs: the same records follow from the same calls.

use activebench_model::call::Op;
use activebench_model::coverage::BlindPath;
use activebench_probe_abi::{CallDescription, CallRecord, syscalls};

use super::Tracing;
use super::descriptors::{OTHER, TableId};
use super::memory;
use super::ptrace::{EntryInfo, Tid};
use super::requests;
use crate::call_filter::{ARCH_32_BIT, ARCH_64_BIT, PRCTL, SECCOMP, UNSHARE, URING_SETUP, X32_CALL};
use crate::kernel::monotonic_ns;

const OPENED_APPEND: u32 = 0o2000;
const OPENED_DSYNC: u32 = 0o10000;
const OPENED_SYNC: u32 = 0o4010000;
/// `RWF_DSYNC`, `RWF_SYNC`, `RWF_APPEND`.
const ASKED: [(u64, u32); 3] = [(2, OPENED_DSYNC), (4, OPENED_SYNC), (16, OPENED_APPEND)];
/// `fcntl`: `F_DUPFD`, `F_DUPFD_CLOEXEC`; `ioctl`: `BLKDISCARD`, `BLKSECDISCARD`.
const DUPLICATING: [u32; 2] = [0, 1030];
/// `F_SETFL`, which may turn on `O_DIRECT` and `O_APPEND`.
const SETTING_FLAGS: u32 = 4;
const DISCARDING: [u32; 2] = [0x1277, 0x127d];
const MSYNC_ASYNC: u64 = 1;
const PUNCH_HOLE: u64 = 2;
/// `prctl`: `PR_SET_SECCOMP`.
const SET_SECCOMP: u64 = 22;
const CLOSE_RANGE_UNSHARE: u64 = 2;
const CLONE_FILES: u64 = 0x400;
/// `close_range`, which has the same number in both tables.
const CLOSE_RANGE: u32 = 436;

/// Paths of data that a tracer cannot follow, as they are named in the coverage.
pub(super) const URING: &str = BlindPath::URING_RINGS;
const VECTORS: &str = "vectored calls with unreadable iovecs";
const CALLS_OF_32_BIT: &str = "32-bit calls that are not decoded";
const X32: &str = "x32 calls";
const UNREADABLE_FILES: &str = "descriptors whose files could not be read";

/// Calls that are not recorded, but change what the tracer knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Beside {
    Nothing,
    UringSetup,
    Unshare,
    /// Changes the flags of an open file.
    Flags,
}

/// A call between its entry and its exit.
#[derive(Debug)]
pub(super) struct Entered {
    /// Complete but for its end and result. Its operation is 0 if it is not recorded.
    pub(super) record: CallRecord,
    /// The same of the file that data goes to, in calls between two files.
    second: Option<CallRecord>,
    description: CallDescription,
    pub(super) arguments: [u64; 6],
    pub(super) narrow: bool,
    number: u32,
    /// `false` if the data moves at the file's position.
    positioned: bool,
    vectors_unread: bool,
    undecoded: Option<&'static str>,
    beside: Beside,
    /// Bytes that the thread had read from storage before.
    read_before: Option<u64>,
    /// Addresses of the requests that it submits.
    pub(super) requests: Vec<u64>,
}

/// The result of a call, read while its thread is stopped.
pub(super) struct Finished {
    pub(super) entered: Box<Entered>,
    pub(super) returned: i64,
}

impl Entered {
    fn has(&self, flag: u8) -> bool {
        self.description.flags & flag != 0
    }

    pub(super) fn argument(&self, number: u8) -> u64 {
        argument(&self.arguments, number, self.narrow)
    }

    /// Returns `true` if the data lies in several pieces.
    pub(super) fn is_vectored(&self) -> bool {
        self.has(syscalls::VECTOR)
    }

    pub(super) fn op(&self) -> Option<Op> {
        Op::from_code(self.record.op)
    }
}

/// Returns an argument; 0 for no argument.
pub(super) fn argument(arguments: &[u64; 6], number: u8, narrow: bool) -> u64 {
    let argument = usize::from(number).checked_sub(1).and_then(|place| arguments.get(place)).copied().unwrap_or(0);
    if narrow { argument & u64::from(u32::MAX) } else { argument }
}

/// Returns a record without anything in it.
pub(super) fn empty_record() -> CallRecord {
    CallRecord {
        start_ns: 0,
        end_ns: 0,
        ino: 0,
        offset: -1,
        requested: 0,
        returned: 0,
        cpu_ns: 0,
        user_before_ns: 0,
        s_dev: 0,
        tid: 0,
        tgid: 0,
        open_flags: 0,
        storage_read_bytes: 0,
        cached_pages: 0,
        fd: -1,
        op: 0,
        file_kind: OTHER,
        stands_for: 1,
    }
}

/// Returns what a call asks for itself, as if the file had been opened so.
pub(super) fn opened_as_asked(asked: u64) -> u32 {
    ASKED.iter().filter(|(bit, _)| asked & bit != 0).fold(0, |flags, (_, opened)| flags | opened)
}

/// Returns `true` for a result that no program sees: the call is made again (`ERESTARTSYS` to
/// `ERESTART_RESTARTBLOCK`).
fn is_restarted(returned: i64) -> bool {
    (-516..=-512).contains(&returned)
}

/// The table of described calls by number.
pub(super) fn descriptions() -> Option<Vec<Option<CallDescription>>> {
    let mut table = vec![None; syscalls::TABLE_SIZE];
    for (number, description) in syscalls::table()? {
        *table.get_mut(number as usize)? = Some(description);
    }
    Some(table)
}

impl Tracing {
    /// Begins a call at its entry; `None` for one that is of no interest.
    pub(super) fn entered(&mut self, tid: Tid, info: &EntryInfo, now_ns: u64) -> Option<Box<Entered>> {
        let (tgid, table) = self.threads.get(&tid).map(|thread| (thread.tgid, thread.table))?;
        let narrow = info.arch == ARCH_32_BIT;
        if !narrow && info.arch != ARCH_64_BIT {
            return None;
        }
        let number = info.number as u32;
        let mut entered = Box::new(Entered {
            record: CallRecord { start_ns: now_ns, tid: tid.cast_unsigned(), tgid, ..empty_record() },
            second: None,
            description: empty_description(),
            arguments: info.arguments,
            narrow,
            number,
            positioned: true,
            vectors_unread: false,
            undecoded: None,
            beside: Beside::Nothing,
            read_before: None,
            requests: Vec::new(),
        });
        if !narrow && number & X32_CALL != 0 {
            entered.undecoded = Some(X32);
            return Some(entered);
        }
        let place = usize::from(narrow);
        if number == URING_SETUP[place] || number == UNSHARE[place] {
            entered.beside = if number == UNSHARE[place] { Beside::Unshare } else { Beside::UringSetup };
            return Some(entered);
        }
        if number == SECCOMP[place] || number == PRCTL[place] && argument(&info.arguments, 1, true) == SET_SECCOMP {
            // The process may be about to refuse itself calls that the library makes.
            self.interposed.disable(tgid);
            return None;
        }
        let described = number as usize + if narrow { syscalls::OF_32_BIT as usize } else { 0 };
        let description = self.descriptions.get(described).copied().flatten()?;
        entered.description = description;
        if description.undecoded != 0 {
            entered.undecoded = Some(CALLS_OF_32_BIT);
            return Some(entered);
        }
        let mut op = Op::from_code(description.op.into())?;
        if entered.has(syscalls::BY_COMMAND) {
            let wanted = if op == Op::Discard { DISCARDING } else { DUPLICATING };
            let command = entered.argument(2) as u32;
            if op == Op::Dup && command == SETTING_FLAGS {
                (entered.beside, entered.description) = (Beside::Flags, empty_description());
                return Some(entered);
            }
            if !wanted.contains(&command) {
                return None;
            }
        }
        self.read_arguments(&mut entered, tid);
        if let Some(second) = Op::from_code(description.second_op.into()).filter(|_| entered.has(syscalls::TWO_FILES)) {
            self.note_second(&mut entered, second, tid, table);
        }
        if description.fd_argument > 0 {
            entered.record.fd = entered.argument(description.fd_argument) as i32;
            self.resolve(&mut entered.record, table, tid);
            if description.asked_argument > 0 {
                entered.record.open_flags |= opened_as_asked(entered.argument(description.asked_argument));
            }
            entered.positioned = !(entered.has(syscalls::FILE_POSITION) && entered.record.offset == -1);
            if !entered.positioned {
                entered.record.offset = self.position(&entered.record, table, tid).unwrap_or(-1);
            }
        }
        match op {
            Op::Msync if entered.argument(3) & MSYNC_ASYNC != 0 => op = Op::MsyncAsync,
            Op::Fallocate if entered.argument(2) & PUNCH_HOLE != 0 => op = Op::Discard,
            Op::Discard => {
                let range: Option<[u8; 16]> = memory::bytes(tid, entered.argument(3));
                let (offset, bytes) = range.map_or((-1, 0), |range| {
                    let (offset, bytes) = range.split_at(8);
                    (number_of(offset).cast_signed(), number_of(bytes))
                });
                (entered.record.offset, entered.record.requested) = (offset, bytes);
            }
            Op::IoSubmit => {
                if narrow {
                    entered.record.requested = i64::from(entered.record.requested as i32).cast_unsigned();
                }
                self.submit(&mut entered, tid, table);
            }
            _ => {}
        }
        entered.record.op = op as u16;
        if (Op::Write as u16..=Op::Pwritev as u16).contains(&entered.record.op) {
            let vectors = entered.has(syscalls::VECTOR);
            self.sample(&entered.record, tid, entered.argument(2), vectors.then_some(narrow));
        }
        if entered.has(syscalls::CHANGES_FDS) {
            self.descriptors_change(&entered, table);
        }
        if op == Op::IoSubmit || op.is_read() && entered.record.file_kind != OTHER {
            entered.read_before = self.storage_read(tid);
        }
        if self.read_devices_before(&entered.record, op) {
            // The call has not begun.
            entered.record.start_ns = monotonic_ns();
        }
        Some(entered)
    }

    /// Reads the counters of the devices below the file of a call that begins. Returns `true` if that took time.
    fn read_devices_before(&mut self, call: &CallRecord, op: Op) -> bool {
        let moves = op.is_read() || op.is_write();
        if call.file_kind == OTHER || !moves && op != Op::Close {
            return false;
        }
        let source = self.files.source(call.s_dev);
        match op {
            Op::Close => self.devices.read(call.s_dev, source),
            _ => self.devices.read_sometimes(call.s_dev, source, call.start_ns),
        }
        true
    }

    /// The same after a call that opened, mapped or synced a file; its thread is stopped still.
    pub(super) fn read_devices_after(&mut self, finished: &Finished) {
        let call = &finished.entered.record;
        let Some(op) = Op::from_code(call.op).filter(|_| finished.returned >= 0) else { return };
        // They may be about files of which no descriptor is known.
        if matches!(op, Op::Sync | Op::Syncfs | Op::Munmap | Op::Msync) {
            return self.devices.read_all();
        }
        let is_bound = finished.entered.has(syscalls::RETURNS_FD) || op.is_file_sync() || op == Op::Mmap;
        if is_bound && call.file_kind != OTHER {
            self.devices.read(call.s_dev, self.files.source(call.s_dev));
        }
    }

    fn read_arguments(&mut self, entered: &mut Entered, tid: Tid) {
        let description = entered.description;
        let wide = |low: u8, high: u8| entered.argument(low) | if high > 0 { entered.argument(high) << 32 } else { 0 };
        let mut offset = match description.offset_argument {
            0 => -1,
            low => wide(low, description.offset_high_argument).cast_signed(),
        };
        if entered.has(syscalls::OFFSET_POINTERS) {
            offset = pointed_offset(tid, offset.cast_unsigned(), description.pointed_bytes);
        }
        let requested = wide(description.length_argument, description.length_high_argument);
        (entered.record.offset, entered.record.requested) = (offset, requested);
        if entered.has(syscalls::VECTOR) {
            self.add_vectors(entered, tid);
        }
    }

    fn add_vectors(&mut self, entered: &mut Entered, tid: Tid) {
        let (address, count) = (entered.argument(entered.description.vector_argument), entered.argument(3));
        let vectors = memory::vectors(tid, address, count, entered.narrow);
        entered.vectors_unread = vectors.is_none();
        entered.record.requested = vectors.map_or(0, |vectors| sum_of(&vectors));
    }

    fn note_second(&mut self, entered: &mut Entered, op: Op, tid: Tid, table: TableId) {
        let description = entered.description;
        let fd = entered.argument(description.second_fd_argument) as i32;
        let mut second = CallRecord { fd, op: op as u16, ..entered.record };
        self.resolve(&mut second, table, tid);
        if second.file_kind == OTHER {
            return;
        }
        let address = entered.argument(description.second_offset_argument);
        second.offset = pointed_offset(tid, address, description.pointed_bytes);
        if second.offset == -1 {
            second.offset = self.position(&second, table, tid).unwrap_or(-1);
        }
        entered.second = Some(second);
    }

    /// Fills in the file behind the descriptor of a call.
    pub(super) fn resolve(&mut self, record: &mut CallRecord, table: TableId, tid: Tid) {
        let file = self.files.resolve(table, tid, record.fd);
        (record.ino, record.s_dev, record.file_kind) = (file.ino, file.s_dev, file.kind);
        record.open_flags = file.flags;
        if !file.is_known {
            self.count_undecoded(UNREADABLE_FILES, 1);
        }
    }

    fn position(&mut self, record: &CallRecord, table: TableId, tid: Tid) -> Option<i64> {
        self.files.resolve(table, tid, record.fd).position()
    }

    /// Forgets descriptors that a call closes or replaces. It is asked at the entry and at the exit: another thread may
    /// look in between.
    fn descriptors_change(&mut self, entered: &Entered, table: TableId) {
        match entered.op() {
            Some(Op::Close) if entered.number == CLOSE_RANGE => {
                self.interposed.withdraw_table(table);
                self.files.forget_table(table);
            }
            Some(Op::Close) => self.forget(table, entered.record.fd),
            // Of `dup2` and `dup3` it is the second argument; of others it is no descriptor that is open.
            Some(Op::Dup) => self.forget(table, entered.argument(2) as i32),
            _ => {}
        }
    }

    /// Ends a call: reads all that needs its thread to be stopped. `None` if nothing of it is recorded.
    pub(super) fn finished(&mut self, tid: Tid, mut entered: Box<Entered>, returned: i64) -> Option<Finished> {
        let table = self.threads.get(&tid)?.table;
        let no_such_call = i64::from(-libc::ENOSYS);
        if let Some(path) = entered.undecoded.filter(|_| returned != no_such_call) {
            self.count_undecoded(path, 1);
        }
        match entered.beside {
            Beside::UringSetup if returned >= 0 => {
                self.count_undecoded(URING, 1);
                self.forget(table, returned as i32);
            }
            Beside::Flags if returned >= 0 => {
                // Other processes may have the file, too.
                self.take_all_notes();
                self.files.forget_all();
            }
            Beside::Unshare if returned >= 0 && entered.argument(1) & CLONE_FILES != 0 => self.leave_table(tid),
            _ => {}
        }
        if is_restarted(returned) {
            self.withdraw(&entered, 0);
            return None;
        }
        let op = entered.op()?;
        if entered.vectors_unread && returned > 0 {
            self.add_vectors(&mut entered, tid);
            if entered.vectors_unread {
                self.count_undecoded(VECTORS, 1);
            }
        }
        let mut returned = returned;
        // A 32-bit call cannot return the position: it is put into memory.
        if entered.narrow && op == Op::Lseek && returned == 0 && entered.record.file_kind != OTHER {
            returned = self.position(&entered.record, table, tid).unwrap_or(0);
        }
        if let Ok(moved) = u64::try_from(returned) {
            let from_storage = self.read_by_call(tid, &entered);
            match op {
                Op::IoSubmit => self.share_out(&entered, from_storage),
                _ => entered.record.storage_read_bytes = u32::try_from(from_storage).unwrap_or(u32::MAX),
            }
            if !entered.positioned && entered.record.file_kind != OTHER {
                let after = self.position(&entered.record, table, tid);
                entered.record.offset = place_of(&entered.record, op, moved, (entered.record.offset, after));
            } else {
                entered.record.offset = place_given(&entered.record, op, moved);
            }
        }
        if entered.has(syscalls::CHANGES_FDS) {
            self.descriptors_change(&entered, table);
            if op == Op::Close && entered.number == CLOSE_RANGE && entered.argument(3) & CLOSE_RANGE_UNSHARE != 0 {
                self.leave_table(tid);
            }
            if op != Op::Close
                && let Ok(fd) = i32::try_from(returned)
            {
                self.forget(table, fd);
            }
        }
        if entered.has(syscalls::RETURNS_FD)
            && let Ok(fd) = i32::try_from(returned)
            && fd >= 0
        {
            let asked = entered.record.requested;
            // Resolved as the file of the descriptor that it returns.
            let mut opened = CallRecord { fd, ..entered.record };
            self.resolve(&mut opened, table, tid);
            entered.record = CallRecord { fd: entered.record.fd, requested: asked, ..opened };
            self.release(&opened, table);
        } else if returned >= 0 && matches!(op, Op::Read | Op::Write | Op::Pread | Op::Pwrite | Op::Lseek) {
            self.release(&entered.record, table);
        }
        self.take_output(&entered, returned, tid);
        if entered.description.name_argument > 0 {
            let address = entered.argument(entered.description.name_argument);
            memory::text(tid, address, &mut self.name);
        }
        Some(Finished { entered, returned })
    }

    /// Forgets the file of a descriptor, which is closed or replaced.
    fn forget(&mut self, table: TableId, fd: i32) {
        self.interposed.withdraw(table, fd);
        self.files.forget(table, fd);
    }

    /// Returns the bytes that a call read from storage.
    fn read_by_call(&mut self, tid: Tid, entered: &Entered) -> u64 {
        let reads = entered.op().is_some_and(|op| op.is_read()) && entered.record.file_kind != OTHER;
        if !reads && entered.requests.is_empty() {
            return 0;
        }
        let after = self.storage_read_by_call(tid);
        match entered.read_before.zip(after).and_then(|(before, after)| after.checked_sub(before)) {
            Some(bytes) => bytes,
            None => {
                self.storage_unread_calls += 1;
                0
            }
        }
    }

    /// Records a call that has ended.
    pub(super) fn record(&mut self, finished: Finished, end_ns: u64) {
        let Finished { entered, returned } = finished;
        let record = CallRecord { end_ns, returned, ..entered.record };
        self.count_moved(&record);
        self.push_call(record);
        if entered.description.name_argument > 0 {
            self.push_name(&record);
        }
        if let Some(second) = entered.second {
            let second = CallRecord { end_ns, returned, ..second };
            self.push_call(second);
        }
    }

    /// Settles the requests of libaio that a call submitted or collected; the thread is stopped at its exit.
    pub(super) fn settle_requests(&mut self, tid: Tid, finished: &Finished, end_ns: u64) {
        let Finished { entered, returned } = finished;
        match entered.op() {
            Some(Op::IoSubmit) => self.withdraw(entered, usize::try_from(*returned).unwrap_or(0)),
            Some(Op::IoGetevents) => {
                for event in requests::events(tid, entered.argument(4), *returned) {
                    self.collect(entered.record.tgid, &event, end_ns);
                }
            }
            _ => {}
        }
    }
}

/// Returns where a call moved data at the file's position, which was read before and after it; -1 if it is not known: a
/// thread that shares the position can have moved it meanwhile.
pub(super) fn place_of(record: &CallRecord, op: Op, moved: u64, (before, after): (i64, Option<i64>)) -> i64 {
    let Some(begun) = after.map(|after| after.saturating_sub_unsigned(moved)) else { return -1 };
    // Appending moves the position first: where it ended tells where it began.
    let appends = op.is_write() && record.open_flags & OPENED_APPEND != 0 && moved > 0;
    if appends || before == begun { begun } else { -1 }
}

/// Returns where a call moved data that was given an offset; -1 if it was appended.
pub(super) fn place_given(record: &CallRecord, op: Op, moved: u64) -> i64 {
    let appends = op.is_write() && record.open_flags & OPENED_APPEND != 0 && moved > 0;
    if appends { -1 } else { record.offset }
}

fn empty_description() -> CallDescription {
    CallDescription {
        op: 0,
        fd_argument: 0,
        length_argument: 0,
        offset_argument: 0,
        name_argument: 0,
        vector_argument: 0,
        flags: 0,
        second_op: 0,
        second_fd_argument: 0,
        second_offset_argument: 0,
        asked_argument: 0,
        offset_high_argument: 0,
        length_high_argument: 0,
        pointed_bytes: 0,
        undecoded: 0,
        padding: 0,
    }
}

/// Returns the sum of the bytes of iovecs.
pub(super) fn sum_of(vectors: &[memory::Vector]) -> u64 {
    vectors.iter().fold(0, |sum, (_, bytes)| sum.saturating_add(*bytes))
}

pub(super) fn number_of(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// Returns an offset that is given by address; -1, the file position, without one.
fn pointed_offset(tid: Tid, address: u64, bytes: u8) -> i64 {
    match (address, bytes) {
        (0 | u64::MAX, _) => -1,
        (address, 4) => memory::bytes(tid, address).map_or(-1, |bytes| i32::from_ne_bytes(bytes).into()),
        (address, _) => memory::bytes(tid, address).map_or(-1, i64::from_ne_bytes),
    }
}
