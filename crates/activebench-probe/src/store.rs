//! The records of a run while the tool runs: packed, bounded and counted; past the bound only totals are kept.

use std::collections::BTreeMap;

use activebench_model::call::{DeviceNumber, Op};
use activebench_model::event::{KernelClass, TaskEvent, TaskEventKind};
use activebench_model::log::{EventLog, LogCut, Totals};
use activebench_probe_abi::decode::{KernelEvent, Travel};
use activebench_probe_abi::{
    BatchHeader, CallGroup, CallRecord, Record, SampleRecord, StoredSample, TaskRecord, TaskState, add_calls, bytes_of,
    bytes_of_all, count_calls, with_kernel_event,
};

use crate::chunk_storage::{Log, LogOptions, Place};
use crate::folders::Folders;
use crate::kept_records::KeptRecords;
use crate::live::LiveCounters;
use crate::mappings::Mappings;
use crate::pack::{Packer, record_size, records_of};
use crate::stacks::StackTable;
use crate::storage_seen::StorageSeen;
use crate::tool_storage::Usage;
use crate::totals::Sums;

/// Unpacked bytes of one chunk: large enough to pack well, and small enough that packing does not delay the next
/// reading of the ring (2 ms) and that one chunk per class takes little memory.
const CHUNK_BYTES: usize = 1 << 19;

/// Largest number of calls in a chunk, so that a decoded chunk of calls is no larger than other chunks.
const CHUNK_CALLS: u64 = (CHUNK_BYTES / size_of::<CallRecord>()) as u64;

/// Packed records.
#[derive(Debug)]
struct Chunk {
    place: Place,
    /// Unpacked bytes.
    bytes: usize,
}

#[derive(Debug, Default)]
struct ClassStore {
    open: Vec<u8>,
    /// Records that `open` stands for.
    in_open: u64,
    chunks: Vec<Chunk>,
    received: u64,
    dropped: u64,
}

/// The records of one run, by class.
#[derive(Debug)]
pub(crate) struct RecordStore {
    pub(crate) stacks: StackTable,
    pub(crate) folders: Folders,
    pub(crate) storage_seen: StorageSeen,
    classes: [ClassStore; KernelClass::ALL.len()],
    packer: Packer,
    log: Log,
    usage: Usage,
    cut: Option<LogCut>,
    /// The tree has ended: few records still arrive, and they may be older than the cut.
    closing: bool,
    sums: Sums,
    malformed: u64,
    /// Buffer for the calls of one message.
    calls: Vec<CallRecord>,
}

impl RecordStore {
    /// Creates an empty store.
    ///
    /// # Errors
    /// Returns an error if there is not enough memory to pack.
    pub(crate) fn new(options: LogOptions) -> std::io::Result<Self> {
        Ok(Self {
            stacks: StackTable::new(Mappings::new("/proc".into())),
            folders: Folders::default(),
            storage_seen: StorageSeen::default(),
            classes: Default::default(),
            packer: Packer::new()?,
            log: Log::new(options),
            usage: Usage::default(),
            cut: None,
            closing: false,
            sums: Sums::default(),
            malformed: 0,
            calls: Vec::new(),
        })
    }

    /// Adds one message of the ring.
    pub(crate) fn take(&mut self, message: &[u8], live: &LiveCounters) {
        if self.try_take(message, live).is_none() {
            self.malformed += 1;
        }
    }

    /// As [`RecordStore::take`]; `None` if the message is too short, or its class is unknown or has another ring.
    fn try_take(&mut self, message: &[u8], live: &LiveCounters) -> Option<()> {
        let (header, records) = BatchHeader::split_from(message)?;
        let class = header.class()?;
        let (travel, record_bytes) = with_kernel_event!(
            class,
            E => (E::TRAVEL, size_of::<<E as KernelEvent>::Record>()),
            reduced => return None
        );
        let batched = || records.get(..record_bytes * header.count as usize);
        let payload = match travel {
            Travel::Merged => {
                self.take_calls(batched()?, live);
                return Some(());
            }
            Travel::WithStack => {
                self.take_sample(class, &SampleRecord::split_from(message)?.0);
                return Some(());
            }
            Travel::Alone => message.get(..record_bytes)?,
            Travel::Batched => batched()?,
        };
        if class == KernelClass::Tasks {
            self.follow_image(payload);
        }
        live.add_block(class, payload);
        self.push(class, payload, u64::from(header.count));
        Some(())
    }

    /// Adds the calls of a message, or of a batch in the kernel's memory with the same layout. They are kept as they
    /// came, which is up to ten times shorter than a record of each.
    pub(crate) fn take_calls(&mut self, records: &[u8], live: &LiveCounters) {
        let (mut read, mut written) = (0, 0);
        // Most calls of a message are on the same file system: their bytes are summed before the lookup.
        let (mut s_dev, mut bytes, mut found) = (None, 0_u64, None);
        let (usage, log) = (&mut self.usage, &self.log);
        let mut use_of = |s_dev, bytes| usage.add_called(s_dev, bytes, |device| log.is_apart(device));
        let counted = count_calls(records, |moved| {
            match Op::from_code(moved.op) {
                Some(op) if op.is_read() => read += moved.bytes,
                Some(op) if op.is_write() => written += moved.bytes,
                _ => return,
            }
            if s_dev != Some(moved.s_dev) {
                found = s_dev.and_then(|s_dev| use_of(s_dev, bytes)).or(found);
                (s_dev, bytes) = (Some(moved.s_dev), 0);
            }
            bytes = bytes.saturating_add(moved.bytes);
        });
        found = s_dev.and_then(|s_dev| use_of(s_dev, bytes)).or(found);
        self.used(found);
        live.add_moved(read, written);
        if counted.whole_bytes < records.len() {
            self.malformed += 1;
        }
        let records = &records[..counted.whole_bytes];
        live.add_calls(records);
        if self.is_kept(KernelClass::Calls) {
            return self.keep_records(KernelClass::Calls, records, counted.calls);
        }
        let mut calls = std::mem::take(&mut self.calls);
        calls.clear();
        // All of them: what makes no sense was cut off.
        self.malformed += u64::from(add_calls(records, &mut calls).is_none());
        self.add_up(KernelClass::Calls, bytes_of_all(&calls), counted.calls);
        self.calls = calls;
    }

    /// Adds the calls of a thread that have not left the kernel.
    pub(crate) fn take_unsent(&mut self, thread: &TaskState, live: &LiveCounters) {
        let mut records = bytes_of_all(&thread.records).to_vec();
        let open = thread.batch.count as usize * size_of::<CallRecord>();
        if thread.grouped == 0 {
            records.truncate(open);
        } else if let Some((group, _)) = records.get(open..).and_then(CallGroup::split_from) {
            records.truncate(open);
            records.extend_from_slice(bytes_of(&group.finished_by(thread)));
        }
        self.take_calls(&records, live);
        let unsent = [CallRecord::unsent_request(thread), CallRecord::unsent_submission(thread)];
        for call in unsent.iter().flatten() {
            self.take_calls(bytes_of(call), live);
        }
    }

    fn take_sample(&mut self, class: KernelClass, record: &SampleRecord) {
        let stack = self.stacks.intern(record).unwrap_or(StoredSample::NO_STACK);
        let sample = StoredSample { at_ns: record.at_ns, cpu: record.cpu, stack, user_mode: record.user_mode };
        self.push(class, bytes_of(&sample), 1);
    }

    /// Forgets the mappings of a process that executes a file or ends, and reads its folder and its storage.
    fn follow_image(&mut self, payload: &[u8]) {
        let Some((record, _)) = TaskRecord::split_from(payload) else { return };
        let kind = TaskEvent::decode(KernelClass::Tasks, &record, &|_| false).map(|task| task.kind);
        let leads = record.tid == record.tgid;
        if kind == Some(TaskEventKind::Executed) || kind == Some(TaskEventKind::Exited) && leads {
            self.stacks.mappings.forget(record.tgid);
        }
        if kind == Some(TaskEventKind::Executed) {
            self.folders.read(record.tgid, record.at_ns);
            if self.folders.can_be_read() {
                self.storage_seen.read(record.tgid, record.at_ns);
            }
        }
    }

    /// Keeps records of any class but that of calls. Adds them to the totals if there is no space.
    pub(crate) fn push(&mut self, class: KernelClass, payload: &[u8], count: u64) {
        let log = &self.log;
        let found = self.usage.take(class, payload, |device| log.is_apart(device));
        self.used(found);
        if self.is_kept(class) {
            self.keep_records(class, payload, count);
        } else {
            self.add_up(class, payload, count);
        }
    }

    /// Returns `true` if records of a class go into the log.
    fn is_kept(&self, class: KernelClass) -> bool {
        // Tasks are few, and the records of their ends have the CPU time of the whole run.
        self.cut.is_none() || self.closing || class == KernelClass::Tasks
    }

    fn add_up(&mut self, class: KernelClass, payload: &[u8], count: u64) {
        self.classes[class as usize].received += count;
        if let Some(cut) = &mut self.cut {
            *cut.records.entry(class.class()).or_default() += count;
            cut.at_ns = cut.at_ns.min(add_up(&mut self.sums, class, payload));
        }
    }

    fn keep_records(&mut self, class: KernelClass, payload: &[u8], count: u64) {
        let store = &mut self.classes[class as usize];
        store.received += count;
        // A tool that begins processes without end must not make the log grow without end.
        if self.cut.is_some() && !self.closing && self.log.is_overfull() {
            store.dropped += count;
            return;
        }
        store.in_open += count;
        if store.open.capacity() == 0 {
            store.open.reserve_exact(CHUNK_BYTES + payload.len());
        }
        store.open.extend_from_slice(payload);
        if store.open.len() >= CHUNK_BYTES || class == KernelClass::Calls && store.in_open >= CHUNK_CALLS {
            self.close_chunk(class);
        }
    }

    fn close_chunk(&mut self, class: KernelClass) {
        let record_bytes = record_size(class);
        let store = &mut self.classes[class as usize];
        let packed = match self.packer.pack(class, &store.open, record_bytes) {
            Ok(packed) => packed,
            Err(_) => {
                // Not enough memory. Records that cannot be kept are counted.
                store.dropped += std::mem::take(&mut store.in_open);
                store.open.clear();
                return;
            }
        };
        let (place, full) = self.log.take(packed);
        store.chunks.push(Chunk { place, bytes: store.open.len() });
        store.open.clear();
        store.in_open = 0;
        if let (Some(why), None) = (full, &self.cut) {
            self.cut = Some(LogCut { at_ns: u64::MAX, why, records: BTreeMap::new() });
        }
    }

    /// Stops spooling when the tool uses a device that the spool may share.
    fn used(&mut self, device: Option<u32>) {
        if let Some(device) = device {
            let device = DeviceNumber(device);
            self.log.hold(format!("the run directory may share a device with what the tool used ({device})"));
        }
    }

    /// Keeps records even past the limit from now on: those that waited in the kernel for a full batch, and those
    /// that are inferred only at the end.
    pub(crate) fn close(&mut self) {
        self.closing = true;
    }

    /// Waits for the chunks in flight to a file.
    fn settle(&mut self) {
        let unwritten: BTreeMap<u64, Vec<u8>> = self.log.settle().into_iter().collect();
        for chunk in self.classes.iter_mut().flat_map(|class| &mut class.chunks) {
            if let Place::Spooled { offset, .. } = chunk.place
                && let Some(packed) = unwritten.get(&offset)
            {
                chunk.place = Place::Held(packed.clone());
            }
        }
    }

    /// Returns how the log was kept.
    pub(crate) fn log(&self) -> EventLog {
        let cut = self.cut.clone().filter(|cut| !cut.records.is_empty());
        EventLog { cut, ..self.log.account().clone() }
    }

    /// Returns the totals of the records past the log's cut.
    pub(crate) fn totals(&self) -> Totals {
        self.sums.totals()
    }

    /// Returns the number of records of a class that arrived, in the log or only in the totals.
    pub(crate) fn received(&self, class: KernelClass) -> u64 {
        let store = &self.classes[class as usize];
        store.received - store.dropped
    }

    /// Returns the number of records of a class that arrived but could not be kept for lack of memory.
    pub(crate) fn dropped(&self, class: KernelClass) -> u64 {
        self.classes[class as usize].dropped
    }

    /// Returns the number of messages that could not be parsed: always a defect of ours.
    pub(crate) fn malformed(&self) -> u64 {
        self.malformed
    }

    /// Ends the store: moves its records into files without names, from which another process can read them too.
    ///
    /// # Errors
    /// Returns an error if there is not enough memory.
    pub(crate) fn keep(&mut self) -> std::io::Result<KeptRecords> {
        self.settle();
        let mut kept = KeptRecords::new(self.log.file())?;
        for class in KernelClass::ALL.iter().copied() {
            let store = &mut self.classes[class as usize];
            for Chunk { place, bytes } in std::mem::take(&mut store.chunks) {
                kept.add_chunk(class, place, bytes)?;
            }
            kept.add_open(class, &std::mem::take(&mut store.open))?;
        }
        Ok(kept)
    }
}

/// Adds records to the totals, if their class has any; returns the time of the earliest.
fn add_up(sums: &mut Sums, class: KernelClass, payload: &[u8]) -> u64 {
    fn earliest<R: Record>(payload: &[u8], mut add: impl FnMut(&R) -> Option<u64>) -> u64 {
        records_of::<R>(payload).iter().filter_map(&mut add).min().unwrap_or(u64::MAX)
    }
    match class {
        KernelClass::Calls => earliest(payload, |record| sums.call(record)),
        KernelClass::BlockQueued | KernelClass::BlockCompleted => earliest(payload, |record| sums.block(class, record)),
        KernelClass::PageCache => earliest(payload, |record| sums.cache(record)),
        _ => with_kernel_event!(
            class,
            E => earliest(payload, |record| Some(E::at_ns(record))),
            // Never in the log.
            reduced => u64::MAX
        ),
    }
}

#[cfg(test)]
mod tests {
    use activebench_model::event::RecordClass;
    use activebench_probe_abi::CacheRecord;

    use super::*;

    fn message(class: u32, records: &[CacheRecord]) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend_from_slice(&class.to_ne_bytes());
        bytes.extend_from_slice(&(records.len() as u32).to_ne_bytes());
        for record in records {
            for word in [record.at_ns, record.ino, record.index] {
                bytes.extend_from_slice(&word.to_ne_bytes());
            }
            for word in [record.s_dev, record.pages, record.tgid, record.in_tree] {
                bytes.extend_from_slice(&word.to_ne_bytes());
            }
        }
        bytes
    }

    fn record(index: u64) -> CacheRecord {
        CacheRecord { at_ns: index, ino: 7, index, s_dev: 1, pages: 1, tgid: 2, in_tree: 1 }
    }

    fn store(limit_bytes: u64) -> RecordStore {
        RecordStore::new(LogOptions { limit_bytes, ..LogOptions::default() }).expect("memory")
    }

    fn indices(store: &mut RecordStore) -> Vec<u64> {
        let kept = store.keep().expect("memory");
        let chunks = kept.chunks::<CacheRecord>(KernelClass::PageCache);
        chunks.flat_map(|chunk| chunk.expect("chunk unpacks")).map(|record| record.index).collect()
    }

    const PER_CHUNK: u64 = CHUNK_BYTES as u64 / size_of::<CacheRecord>() as u64 + 1;

    #[test]
    fn every_record_comes_back_in_order_across_chunks() {
        let mut store = store(u64::MAX);
        let live = LiveCounters::new(false);
        let total = 3 * PER_CHUNK - 5;
        for index in 0..total {
            store.take(&message(KernelClass::PageCache as u32, &[record(index)]), &live);
        }
        assert!(indices(&mut store).into_iter().eq(0..total));
        assert_eq!(store.received(KernelClass::PageCache), total);
        assert_eq!((store.log().cut, store.totals()), (None, Totals::default()));
    }

    #[test]
    fn past_the_limit_records_are_added_up_exactly() {
        let mut store = store(1);
        let live = LiveCounters::new(false);
        let total = 2 * PER_CHUNK;
        for index in 0..total {
            store.take(&message(KernelClass::PageCache as u32, &[record(index)]), &live);
        }
        assert!(indices(&mut store).into_iter().eq(0..PER_CHUNK), "the log is whole up to the cut");
        assert_eq!(store.received(KernelClass::PageCache), total);
        let cut = store.log().cut.expect("a cut");
        assert_eq!((cut.at_ns, cut.records[&RecordClass::PageCache]), (PER_CHUNK, total - PER_CHUNK));
        assert!(cut.why.contains("--events-limit"), "{}", cut.why);
        let totals = store.totals();
        assert_eq!(totals.cache.len(), 1);
        assert_eq!((totals.cache[0].folios, totals.cache[0].bytes), (total - PER_CHUNK, (total - PER_CHUNK) * 4096));
    }

    #[test]
    fn merged_calls_are_received_one_by_one_and_added_up_past_the_limit() {
        // SAFETY: all zeroes is a value of every `Record`.
        let (mut call, mut group): (CallRecord, CallGroup) = unsafe { std::mem::zeroed() };
        (call.file_kind, call.op, call.ino, call.s_dev, call.returned) = (1, 2, 7, 9, 100);
        group.count_and_end_ns = 1 << 63 | 3 << 59 | 5000;
        for merged in &mut group.calls {
            (merged.offset_and_op, merged.returned) = (2, 10);
        }
        let parts = [bytes_of(&call), bytes_of(&group)].concat();
        let header = BatchHeader { record_class: KernelClass::Calls as u32, count: 2 };
        let whole = [bytes_of(&header), &parts[..]].concat();
        let live = LiveCounters::new(false);
        let mut store = store(1);
        let messages = CHUNK_CALLS as usize / 4 + 2;
        for _ in 0..messages {
            store.take(&whole, &live);
        }
        assert_eq!(store.received(KernelClass::Calls), 4 * messages as u64);
        assert_eq!(live.read().read_bytes, 130 * messages as u64);
        let logged: u64 = store
            .keep()
            .expect("memory")
            .chunks::<CallRecord>(KernelClass::Calls)
            .map(|chunk| chunk.expect("whole").len() as u64)
            .sum();
        let summed: u64 = store.totals().calls.iter().map(|sum| sum.calls).sum();
        assert!(summed > 0 && logged + summed == 4 * messages as u64, "{logged} in the log, {summed} added up");
        // A group without a call before it in its message.
        store.take(&[bytes_of(&header), bytes_of(&group), bytes_of(&call)].concat(), &live);
        assert_eq!(store.malformed(), 1);
    }

    #[test]
    fn tasks_are_kept_past_the_limit_up_to_a_limit_of_their_own() {
        // SAFETY: all zeroes is a value of every `Record`.
        let mut task: TaskRecord = unsafe { std::mem::zeroed() };
        task.header = BatchHeader { record_class: KernelClass::Tasks as u32, count: 1 };
        task.kind = 1;
        let live = LiveCounters::new(false);
        let mut store = store(1);
        let mut made = 0_u64;
        while store.dropped(KernelClass::Tasks) < 1000 {
            // Numbers that do not pack.
            made += 1;
            task.at_ns = made.wrapping_mul(6_364_136_223_846_793_005) >> 8;
            task.user_ns = task.at_ns.wrapping_mul(2_862_933_555_777_941_757);
            store.take(bytes_of(&task), &live);
        }
        let packed_bytes = store.log().packed_bytes;
        assert!((4 << 20..5 << 20).contains(&packed_bytes), "{packed_bytes} bytes");
        assert_eq!(
            store.received(KernelClass::Tasks) + store.dropped(KernelClass::Tasks),
            made,
            "all are accounted for"
        );
        assert_eq!(store.log().cut, None, "none of them is only counted");
    }

    #[test]
    fn what_is_not_understood_is_counted() {
        let mut store = store(u64::MAX);
        let live = LiveCounters::new(false);
        store.take(&message(99, &[]), &live);
        store.take(&[1, 2, 3], &live);
        let mut cut = message(KernelClass::PageCache as u32, &[record(0)]);
        cut.pop();
        store.take(&cut, &live);
        assert_eq!(store.malformed(), 3);
    }
}
