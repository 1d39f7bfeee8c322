//! The tracer's side of the interposer ([`interposer/interposer.c`](../../interposer/interposer.c)): it releases the
//! descriptors whose files it knows, and reads the notes of the calls on them at each stop of the process.
//!
//! What is read lies in the tool's own memory, so it is the tool's word: the bytes and the number of calls of each process
//! are compared with the kernel's account of it ([`super::processes`]).

use std::collections::{HashMap, HashSet};

use activebench_model::call::Op;
use activebench_probe_abi::CallRecord;

use super::calls::{argument, empty_record, number_of, place_given, place_of};
use super::descriptors::{OTHER, TableId};
use super::memory;
use super::ptrace::{EntryInfo, Tid, read_memory, write_memory};
use super::{MOST_OUTPUT, MOST_OUTPUT_TO_FILE, Tracing};
use crate::call_filter::{ARCH_64_BIT, GATE, HAND_OVER};
use crate::kernel::monotonic_ns;

const PAGE: u64 = 4096;
const TABLE: u64 = GATE + PAGE;
const RINGS: u64 = GATE + 16 * PAGE;
const MAGIC: u64 = 0x656e_6368_6162;
/// Third argument of the call by which it says that it is there.
const BEGINS: u64 = 1;
const THREADS: usize = 64;
const NOTES: u64 = 1024;
/// Notes of a thread from which on it waits for the tracer.
const FULL: u64 = NOTES - 16;
const DESCRIPTORS: i32 = 4096;
const NOTE_BYTES: usize = 64;
const THREAD_BYTES: usize = 64;
/// How a descriptor is released: its calls stop; its calls are noted, and the data that is written to it is looked at
/// now and then, or not.
const STOPS: u8 = 0;
const SAMPLED_DATA: u8 = 1;
const UNSAMPLED_DATA: u8 = 2;
/// Places in the table.
const ENABLED: u64 = TABLE + 8;
const SAMPLE_DUE: u64 = TABLE + 16;
const RELEASED: u64 = TABLE + 64;
const OF_THREADS: u64 = RELEASED + DESCRIPTORS as u64;
/// Places in a thread's part of it.
const TID: usize = 0;
const HEAD: usize = 8;
const TAIL: usize = 16;
/// Unit in which a thread's reads from storage are counted (`ru_inblock` of `getrusage`).
pub(super) const BLOCK_BYTES: u64 = 512;
/// Numbers of the calls that are noted.
const READ: u16 = 0;
const WRITE: u16 = 1;
const LSEEK: u16 = 8;
const PREAD: u16 = 17;
const PWRITE: u16 = 18;
/// Most negative number of an error.
const MOST_ERROR: i64 = 4095;

/// The memory of a process that has the library.
#[derive(Debug)]
pub(super) struct Region {
    table: TableId,
    /// Notes that were taken, by the thread's part of the table.
    taken: [u64; THREADS],
    released: HashSet<i32>,
    sample_due_ns: u64,
}

/// A call that the library noted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Note {
    start_ns: u64,
    end_ns: u64,
    before: i64,
    after: i64,
    requested: u32,
    returned: i64,
    storage_blocks: u32,
    noting_ns: u32,
    fd: i32,
    call: u16,
}

impl Note {
    /// Returns the note at this place since the thread began; `None` if it is not whole (yet).
    fn parse(bytes: &[u8], place: u64) -> Option<Self> {
        let wide = |at: usize| number_of(&bytes[at..at + 8]);
        let half = |at: usize| number_of(&bytes[at..at + 4]) as u32;
        if wide(0) != place.wrapping_add(1) {
            return None;
        }
        let returned = u64::from(half(60)) << 32 | u64::from(half(44));
        Some(Self {
            start_ns: wide(8),
            end_ns: wide(16),
            before: wide(24).cast_signed(),
            after: wide(32).cast_signed(),
            requested: half(40),
            returned: returned.cast_signed(),
            storage_blocks: half(48),
            noting_ns: half(52),
            fd: number_of(&bytes[56..58]) as i32,
            call: number_of(&bytes[58..60]) as u16,
        })
    }

    /// Returns `true` for a call at the file's position.
    fn moves_position(&self) -> bool {
        matches!(self.call, READ | WRITE)
    }

    /// Returns `true` if the kernel can have made this call before now.
    fn is_possible(&self, now_ns: u64) -> bool {
        if self.start_ns > self.end_ns || self.end_ns > now_ns {
            return false;
        }
        let Ok(moved) = u64::try_from(self.returned) else { return self.returned >= -MOST_ERROR };
        let fits = self.before >= 0 && self.before.checked_add_unsigned(moved).is_some();
        match self.call {
            LSEEK => true,
            READ | WRITE => moved <= self.requested.into() && fits && self.after >= 0,
            PREAD | PWRITE => moved <= self.requested.into() && fits,
            // No other call is noted.
            _ => false,
        }
    }
}

impl Region {
    /// The calls of all descriptors stop again.
    fn withdraw(&mut self, tgid: u32) {
        self.released.drain().for_each(|fd| write_released(tgid.cast_signed(), fd, STOPS));
    }
}

/// Says in the memory of a task how a descriptor is released.
fn write_released(tid: Tid, fd: i32, how: u8) {
    write_memory(tid, RELEASED + u64::from(fd.cast_unsigned()), &[how]);
}

/// The processes that have the library, and what it noted in all.
#[derive(Debug, Default)]
pub(super) struct Interposed {
    regions: HashMap<u32, Region>,
    pub(super) calls: u64,
    /// The least that noting one of them took before the call, of those for which it was measured.
    least_noting_ns: Option<u32>,
}

impl Interposed {
    /// The calls of a descriptor stop again.
    pub(super) fn withdraw(&mut self, table: TableId, fd: i32) {
        for (tgid, region) in self.regions.iter_mut().filter(|(_, region)| region.table == table) {
            if region.released.remove(&fd) {
                write_released(tgid.cast_signed(), fd, STOPS);
            }
        }
    }

    /// The calls of all descriptors of a table stop again.
    pub(super) fn withdraw_table(&mut self, table: TableId) {
        let of_table = self.regions.iter_mut().filter(|(_, region)| region.table == table);
        of_table.for_each(|(tgid, region)| region.withdraw(*tgid));
    }

    /// The calls of all descriptors of a process stop again.
    pub(super) fn withdraw_process(&mut self, tgid: u32) {
        if let Some(region) = self.regions.get_mut(&tgid) {
            region.withdraw(tgid);
        }
    }

    /// Returns the least that noting took in all.
    pub(super) fn noting_ns(&self) -> u64 {
        self.least_noting_ns.map_or(0, |each_ns| self.calls.saturating_mul(each_ns.into()))
    }

    /// A process notes no more: its threads have different descriptors under the same numbers, or others write its memory.
    pub(super) fn disable(&mut self, tgid: u32) {
        if let Some(region) = self.regions.get_mut(&tgid) {
            region.withdraw(tgid);
            write_memory(tgid.cast_signed(), ENABLED, &0_u32.to_le_bytes());
        }
    }

    /// The memory of a task notes no more, whether it is its own or not.
    pub(super) fn disable_memory(&self, tid: Tid) {
        if !self.regions.is_empty() && memory::bytes(tid, TABLE) == Some(MAGIC.to_le_bytes()) {
            write_memory(tid, ENABLED, &0_u32.to_le_bytes());
        }
    }

    /// The memory of a process is another one.
    pub(super) fn forget(&mut self, tgid: u32) {
        self.regions.remove(&tgid);
    }

    /// Returns `true` if a process has the library.
    pub(super) fn is_in(&self, tgid: u32) -> bool {
        self.regions.contains_key(&tgid)
    }

    /// A process was made with a copy of the memory of another one, and its notes: they are those of the other.
    pub(super) fn copied(&mut self, from: u32, to: u32, table: TableId) {
        let Some(region) = self.regions.get(&from) else { return };
        let (to_tid, mut taken) = (to.cast_signed(), [0; THREADS]);
        let Some(threads) = read_threads(to_tid) else { return };
        for (place, thread) in threads.iter().enumerate().filter(|(_, thread)| thread.tid != 0 || thread.head != 0) {
            taken[place] = thread.head;
            // Only the thread that made it is there.
            write_thread(to_tid, place, TAIL, &thread.head.to_le_bytes());
            write_thread(to_tid, place, TID, &(if thread.tid == 0 { 0 } else { to_tid }).to_le_bytes());
        }
        // What the new process prints is looked at anew.
        let (printed, released) = region.released.iter().copied().partition::<HashSet<i32>, _>(is_printed);
        printed.into_iter().for_each(|fd| write_released(to_tid, fd, STOPS));
        let sample_due_ns = region.sample_due_ns;
        self.regions.insert(to, Region { table, taken, released, sample_due_ns });
    }

    /// A thread has ended, and its part of the table is free.
    pub(super) fn left(&self, tgid: u32, tid: Tid) {
        if !self.regions.contains_key(&tgid) {
            return;
        }
        for (place, _) in read_threads(tid).iter().flatten().enumerate().filter(|(_, thread)| thread.tid == tid) {
            write_thread(tid, place, TID, &[0; 4]);
        }
    }
}

/// Returns `true` for standard output and standard error.
fn is_printed(fd: &i32) -> bool {
    (1..=2).contains(fd)
}

/// A thread's part of the table.
#[derive(Clone, Copy, Debug)]
struct Part {
    tid: Tid,
    head: u64,
}

fn read_threads(tid: Tid) -> Option<Vec<Part>> {
    let bytes: [u8; THREADS * THREAD_BYTES] = memory::bytes(tid, OF_THREADS)?;
    let part =
        |bytes: &[u8]| Part { tid: number_of(&bytes[TID..TID + 4]) as i32, head: number_of(&bytes[HEAD..HEAD + 8]) };
    Some(bytes.chunks_exact(THREAD_BYTES).map(part).collect())
}

fn write_thread(tid: Tid, place: usize, at: usize, bytes: &[u8]) {
    write_memory(tid, OF_THREADS + (place * THREAD_BYTES + at) as u64, bytes);
}

/// What a task whose process's notes are read does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum At {
    /// It runs, or is not known to stand still.
    Running,
    /// It stands still, and goes on.
    Stop,
    /// It ends: what it has not noted by now will not be noted.
    End,
}

/// Notes of one thread that were read.
#[derive(Debug)]
struct Taken {
    notes: Vec<Note>,
    /// The place behind them.
    next: u64,
    lost: u64,
}

/// Reads the notes of a thread from one place on to its head, up to the first that is not whole. If `is_stuck` that one
/// will not be whole any more, and is lost.
fn read_notes(tid: Tid, place: usize, from: u64, head: u64, is_stuck: bool) -> Taken {
    let mut taken = Taken { notes: Vec::new(), next: from, lost: 0 };
    if head.wrapping_sub(from) > NOTES {
        // No thread has so many.
        return Taken { next: head, lost: NOTES, ..taken };
    }
    while taken.next != head {
        let run = head.wrapping_sub(taken.next).min(NOTES - taken.next % NOTES);
        let mut bytes = vec![0; run as usize * NOTE_BYTES];
        let address = RINGS + (place as u64 * NOTES + taken.next % NOTES) * NOTE_BYTES as u64;
        if read_memory(tid, address, &mut bytes) < bytes.len() {
            return taken;
        }
        for note in bytes.chunks_exact(NOTE_BYTES) {
            match Note::parse(note, taken.next) {
                Some(note) => taken.notes.push(note),
                None if is_stuck => taken.lost += 1,
                None => return taken,
            }
            taken.next = taken.next.wrapping_add(1);
        }
    }
    taken
}

impl Tracing {
    /// Handles the call by which the library hands its notes over, or says that it is there. `false` for another call.
    pub(super) fn hands_over(&mut self, tid: Tid, info: &EntryInfo) -> bool {
        if info.number != u64::from(HAND_OVER) || info.arch != ARCH_64_BIT {
            return false;
        }
        let Some((tgid, table)) = self.threads.get(&tid).map(|thread| (thread.tgid, thread.table)) else { return true };
        let is_ours = info.arguments[..2] == [MAGIC, TABLE] && memory::bytes(tid, TABLE) == Some(MAGIC.to_le_bytes());
        // Its notes were read when it stopped. A child that shares its parent's memory does not begin.
        if is_ours && info.arguments[2] == BEGINS && !self.interposed.regions.contains_key(&tgid) {
            let region = Region { table, taken: [0; THREADS], released: HashSet::new(), sample_due_ns: 0 };
            self.interposed.regions.insert(tgid, region);
            write_memory(tid, ENABLED, &1_u32.to_le_bytes());
        }
        true
    }

    /// Calls on a descriptor whose file is known need not stop.
    pub(super) fn release(&mut self, call: &CallRecord, table: TableId) {
        if !self.interposed.is_in(call.tgid) {
            return;
        }
        let never_waits = self.files.resolve(table, call.tid.cast_signed(), call.fd).never_waits;
        // What a process prints is looked at, up to a bound.
        let most = if call.file_kind == OTHER { MOST_OUTPUT } else { MOST_OUTPUT_TO_FILE };
        let is_looked_at = is_printed(&call.fd) && !self.processes.has_printed_more(call.tgid, call.fd, most);
        let Some(region) = self.interposed.regions.get_mut(&call.tgid) else { return };
        let is_there = (0..DESCRIPTORS).contains(&call.fd) && region.table == table;
        let may_be = never_waits && is_there && !is_looked_at;
        if may_be && region.released.insert(call.fd) {
            let how = if call.file_kind == OTHER { UNSAMPLED_DATA } else { SAMPLED_DATA };
            write_released(call.tid.cast_signed(), call.fd, how);
        }
    }

    /// Records the calls that the threads of a process noted; `at` is what this one of them does.
    pub(super) fn take_notes(&mut self, tid: Tid, at: At) {
        let Some((tgid, table)) = self.threads.get(&tid).map(|thread| (thread.tgid, thread.table)) else { return };
        let due_ns = if self.payload_period_ns > 0 { self.payload_due_ns } else { u64::MAX };
        let Some(region) = self.interposed.regions.get_mut(&tgid) else { return };
        if region.sample_due_ns != due_ns {
            region.sample_due_ns = due_ns;
            write_memory(tid, SAMPLE_DUE, &due_ns.to_le_bytes());
        }
        let Some(parts) = read_threads(tid) else { return };
        let before = region.taken;
        for (place, part) in parts.into_iter().enumerate().filter(|(place, part)| part.head != before[*place]) {
            let is_full = part.head.wrapping_sub(before[place]) >= FULL;
            let is_stuck = part.tid == tid && (at == At::End || at == At::Stop && is_full);
            let Taken { notes, next, lost } = read_notes(tid, place, before[place], part.head, is_stuck);
            self.lost_calls += lost;
            if let Some(region) = self.interposed.regions.get_mut(&tgid) {
                region.taken[place] = next;
            }
            write_thread(tid, place, TAIL, &next.to_le_bytes());
            let is_known = self.threads.get(&part.tid).is_some_and(|thread| thread.tgid == tgid);
            self.record_notes(&notes, (if is_known { part.tid } else { tid }, tgid, table));
        }
        let now_ns = monotonic_ns();
        if let Some(last) = self.last_noted.take() {
            let source = self.files.source(last);
            self.devices.read_sometimes(last, source, now_ns);
        }
    }

    /// The same of all processes, stopped or not.
    pub(super) fn take_all_notes(&mut self) {
        let with_library = self.threads.iter().filter(|(_, thread)| self.interposed.is_in(thread.tgid));
        let one_each: HashMap<u32, Tid> = with_library.map(|(tid, thread)| (thread.tgid, *tid)).collect();
        for tid in one_each.into_values() {
            self.take_notes(tid, At::Running);
        }
    }

    fn record_notes(&mut self, notes: &[Note], (tid, tgid, table): (Tid, u32, TableId)) {
        let (mut took_ns, mut from_storage) = (0_u64, 0_u64);
        let now_ns = monotonic_ns();
        for note in notes {
            let Some(record) = self.of_note(note, (tid, tgid, table)).filter(|_| note.is_possible(now_ns)) else {
                self.lost_calls += 1;
                continue;
            };
            took_ns = took_ns.saturating_add(note.end_ns - note.start_ns);
            from_storage = from_storage.saturating_add(u64::from(note.storage_blocks) * BLOCK_BYTES);
            let noting_ns = [self.interposed.least_noting_ns, (note.noting_ns > 0).then_some(note.noting_ns)];
            self.interposed.least_noting_ns = noting_ns.into_iter().flatten().min();
            if record.file_kind != OTHER {
                self.last_noted = Some(record.s_dev);
            }
            self.interposed.calls += 1;
            self.count_moved(&record);
            self.push_call(record);
        }
        if let Some(thread) = self.threads.get_mut(&tid) {
            thread.noted_storage_bytes = thread.noted_storage_bytes.saturating_add(from_storage);
            thread.time.noted(took_ns);
        }
    }

    /// Returns the record of a noted call; `None` for a number that no call has.
    fn of_note(&mut self, note: &Note, (tid, tgid, table): (Tid, u32, TableId)) -> Option<CallRecord> {
        let description = self.descriptions.get(usize::from(note.call)).copied().flatten()?;
        let op = Op::from_code(description.op.into())?;
        let requested = u64::from(note.requested);
        let arguments = match note.call {
            LSEEK => [0, note.before.cast_unsigned(), requested, 0, 0, 0],
            _ => [0, 0, requested, note.before.cast_unsigned(), 0, 0],
        };
        let mut record = CallRecord {
            start_ns: note.start_ns,
            end_ns: note.end_ns,
            tid: tid.cast_unsigned(),
            tgid,
            op: op as u16,
            fd: note.fd,
            requested: argument(&arguments, description.length_argument, false),
            returned: note.returned,
            ..empty_record()
        };
        self.resolve(&mut record, table, tid);
        let is_file = record.file_kind != OTHER;
        record.offset = match note.moves_position() {
            true if is_file => note.before,
            true => -1,
            false => argument(&arguments, description.offset_argument, false).cast_signed(),
        };
        if let Ok(moved) = u64::try_from(note.returned) {
            record.offset = match note.moves_position() && is_file {
                true => place_of(&record, op, moved, (note.before, Some(note.after))),
                false => place_given(&record, op, moved),
            };
        }
        if is_file {
            let bytes = u64::from(note.storage_blocks) * BLOCK_BYTES;
            record.storage_read_bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        }
        Some(record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes_of_note(place: u64, returned: i64) -> Vec<u8> {
        let mut bytes = Vec::new();
        for wide in [place + 1, 100, 200, 4096, 8192] {
            bytes.extend(wide.to_le_bytes());
        }
        bytes.extend(4096_u32.to_le_bytes());
        bytes.extend((returned as u32).to_le_bytes());
        bytes.extend(8_u32.to_le_bytes());
        bytes.extend(70_u32.to_le_bytes());
        bytes.extend(5_u16.to_le_bytes());
        bytes.extend(17_u16.to_le_bytes());
        bytes.extend(((returned >> 32) as u32).to_le_bytes());
        bytes
    }

    #[test]
    fn a_note_is_whole_or_none() {
        for returned in [4096, -5, 1 << 40] {
            let bytes = bytes_of_note(7, returned);
            let note = Note::parse(&bytes, 7).expect("it is whole");
            assert_eq!((note.returned, note.before, note.after), (returned, 4096, 8192));
            assert_eq!((note.fd, note.call, note.storage_blocks, note.noting_ns), (5, 17, 8, 70));
            assert_eq!(Note::parse(&bytes, 8), None);
        }
        assert_eq!(Note::parse(&bytes_of_note(7, 0), u64::MAX), None);
    }

    #[test]
    fn what_no_kernel_did_is_no_call() {
        let note = Note::parse(&bytes_of_note(7, 4096), 7).expect("it is whole");
        assert!(note.is_possible(1000));
        let with = |change: &dyn Fn(&mut Note)| {
            let mut other = note;
            change(&mut other);
            other.is_possible(1000)
        };
        let impossible: [&dyn Fn(&mut Note); 8] = [
            &|note| note.end_ns = 1001,
            &|note| note.start_ns = 201,
            &|note| note.returned = 4097,
            &|note| note.returned = -5000,
            &|note| note.before = i64::MAX,
            &|note| note.before = -1,
            &|note| note.call = 3,
            &|note| (note.call, note.after) = (READ, -1),
        ];
        for (number, change) in impossible.iter().enumerate() {
            assert!(!with(change), "{number}");
        }
        assert!(with(&|note| (note.before, note.returned) = (-1, -22)));
        assert!(with(&|note| (note.call, note.returned) = (LSEEK, i64::MAX)));
    }
}
