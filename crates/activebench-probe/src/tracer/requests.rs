//! Requests of libaio: read when they are submitted, because the process may use their memory again, and matched to
//! the events that it collects. The counterpart of `libaio.h` of the kernel programs.

use std::collections::HashMap;

use activebench_model::call::Op;
use activebench_probe_abi::CallRecord;

use super::Tracing;
use super::calls::{Entered, empty_record, number_of, opened_as_asked, sum_of};
use super::descriptors::TableId;
use super::memory;
use super::ptrace::{Tid, read_memory};

/// Requests of one call that are read.
const MOST_REQUESTS: usize = 4096;
/// Events of one call that are read.
const MOST_EVENTS: usize = 65_536;
/// Requests in flight that are remembered, of all processes together.
const MOST_IN_FLIGHT: usize = 1 << 20;

const REQUEST_BYTES: usize = 64;
const EVENT_BYTES: usize = 32;

/// Opcodes of `linux/aio_abi.h`.
const PREAD: u16 = 0;
const PWRITE: u16 = 1;
const FSYNC: u16 = 2;
const FDSYNC: u16 = 3;
const PREADV: u16 = 7;
const PWRITEV: u16 = 8;

const OPENED_APPEND: u32 = 0o2000;
const UNREAD: &str = "libaio requests in lists too long or unreadable";

/// Requests in flight, by process and address.
#[derive(Debug, Default)]
pub(super) struct InFlight(HashMap<(u32, u64), CallRecord>);

impl InFlight {
    /// Returns `true` if a process has requests in flight.
    pub(super) fn has_any_of(&self, tgid: u32) -> bool {
        self.0.keys().any(|(of, _)| *of == tgid)
    }
}

/// A request that was collected: its address and its result.
pub(super) type Event = (u64, i64);

/// Reads the events that a call returned.
pub(super) fn events(tid: Tid, address: u64, count: i64) -> Vec<Event> {
    let count = usize::try_from(count).unwrap_or(0).min(MOST_EVENTS);
    let mut read = vec![0; count * EVENT_BYTES];
    let read_bytes = read_memory(tid, address, &mut read);
    let events = read[..read_bytes].chunks_exact(EVENT_BYTES);
    events.map(|event| (number_of(&event[8..16]), number_of(&event[16..24]).cast_signed())).collect()
}

impl Tracing {
    /// Remembers the requests of a call that submits them.
    pub(super) fn submit(&mut self, entered: &mut Entered, tid: Tid, table: TableId) {
        let narrow = entered.narrow;
        let asked = usize::try_from(entered.record.requested.cast_signed()).unwrap_or(0);
        let pointer_bytes = if narrow { 4 } else { 8 };
        let mut list = vec![0; asked.min(MOST_REQUESTS) * pointer_bytes];
        let read_bytes = read_memory(tid, entered.argument(3), &mut list);
        for address in list[..read_bytes].chunks_exact(pointer_bytes).map(number_of) {
            let Some(request) = memory::bytes::<REQUEST_BYTES>(tid, address) else { break };
            if self.in_flight.0.len() >= MOST_IN_FLIGHT {
                break;
            }
            entered.requests.push(address);
            let Some(call) = self.request(&request, entered, tid, table) else { continue };
            // Submitted again: the process collected it from the ring in its own memory.
            if let Some(before) = self.in_flight.0.insert((call.tgid, address), call) {
                let returned = i64::try_from(before.requested).unwrap_or(i64::MAX);
                self.inferred_calls += 1;
                self.push_call(CallRecord { end_ns: entered.record.start_ns, returned, ..before });
            }
        }
    }

    /// Returns the record of a request; `None` for one that moves and syncs nothing.
    fn request(
        &mut self,
        bytes: &[u8; REQUEST_BYTES],
        entered: &Entered,
        tid: Tid,
        table: TableId,
    ) -> Option<CallRecord> {
        let number = |range: std::ops::Range<usize>| number_of(&bytes[range]);
        let opcode = number(16..18) as u16;
        let op = match opcode {
            PREAD | PREADV => Op::AioRead,
            PWRITE | PWRITEV => Op::AioWrite,
            FSYNC => Op::AioFsync,
            FDSYNC => Op::AioFdatasync,
            _ => return None,
        };
        let (buffer, length) = (number(24..32), number(32..40));
        let mut call = CallRecord {
            start_ns: entered.record.start_ns,
            tid: entered.record.tid,
            tgid: entered.record.tgid,
            fd: number(20..24) as i32,
            op: op as u16,
            requested: length,
            ..empty_record()
        };
        self.resolve(&mut call, table, tid);
        if matches!(op, Op::AioRead | Op::AioWrite) {
            call.open_flags |= opened_as_asked(number(12..16));
        }
        let is_vectored = matches!(opcode, PREADV | PWRITEV);
        if is_vectored {
            let vectors = memory::vectors(tid, buffer, length, entered.narrow);
            if vectors.is_none() {
                self.count_undecoded(UNREAD, 1);
            }
            call.requested = vectors.map_or(0, |vectors| sum_of(&vectors));
        }
        // Appending goes to the end of the file, wherever that is.
        let appends = op == Op::AioWrite && call.open_flags & OPENED_APPEND != 0;
        call.offset = if appends { -1 } else { number(40..48).cast_signed() };
        if op == Op::AioWrite {
            self.sample(&call, tid, buffer, is_vectored.then_some(entered.narrow));
        }
        Some(call)
    }

    /// Shares out what a call that submits requests read from storage: a request reads no more than it asks for, unless
    /// it is read through the page cache.
    pub(super) fn share_out(&mut self, entered: &Entered, mut bytes: u64) {
        let read = |call: &CallRecord| call.op == Op::AioRead as u16;
        let mut last = None;
        for address in &entered.requests {
            let Some(call) = self.in_flight.0.get_mut(&(entered.record.tgid, *address)).filter(|call| read(call))
            else {
                continue;
            };
            let share = bytes.min(call.requested);
            call.storage_read_bytes = u32::try_from(share).unwrap_or(u32::MAX);
            bytes -= share;
            last = Some(address);
        }
        if let Some(call) = last.and_then(|address| self.in_flight.0.get_mut(&(entered.record.tgid, *address))) {
            call.storage_read_bytes = call.storage_read_bytes.saturating_add(u32::try_from(bytes).unwrap_or(u32::MAX));
        }
    }

    /// Forgets the requests of a call that the kernel did not take, and counts those that it took unread.
    pub(super) fn withdraw(&mut self, entered: &Entered, taken: usize) {
        for address in entered.requests.iter().skip(taken) {
            self.in_flight.0.remove(&(entered.record.tgid, *address));
        }
        let unread = taken.saturating_sub(entered.requests.len());
        if entered.record.op == Op::IoSubmit as u16 && unread > 0 {
            self.count_undecoded(UNREAD, unread as u64);
        }
    }

    /// Records a request that a process collected.
    pub(super) fn collect(&mut self, tgid: u32, (address, returned): &Event, end_ns: u64) {
        if let Some(call) = self.in_flight.0.remove(&(tgid, *address)) {
            self.push_call(CallRecord { end_ns, returned: *returned, ..call });
        }
    }

    /// Counts the requests of a process that has ended as lost: how they ended was not seen.
    pub(super) fn lose_requests(&mut self, tgid: u32) {
        let before = self.in_flight.0.len();
        self.in_flight.0.retain(|(of, _), _| *of != tgid);
        self.lost_calls += (before - self.in_flight.0.len()) as u64;
    }
}
