//! Records in memory until the child has ended: compressed, bounded, counted.

use std::sync::atomic::{AtomicU64, Ordering};

use activebench_model::call::Op;
use activebench_model::event::TaskEventKind;
use activebench_probe_abi::{
    BatchHeader, BlockRecord, CallRecord, CpuRecord, Record, RecordClass, SampleRecord, TaskRecord, decode,
};

use crate::kernel::bytes_of;
use crate::mappings::Mappings;
use crate::stacks::StackTable;

/// Uncompressed bytes of one chunk: large enough to compress well, small enough that
/// compressing it does not delay the ring's next reading.
const CHUNK_BYTES: usize = 1 << 20;

/// Figures for a progress line; they lag by one reading of the ring.
#[derive(Debug, Default)]
pub struct LiveFigures {
    read_bytes: AtomicU64,
    write_bytes: AtomicU64,
    device_bytes: AtomicU64,
}

impl LiveFigures {
    /// Bytes that read calls of the tree returned so far.
    pub fn read_bytes(&self) -> u64 {
        self.read_bytes.load(Ordering::Relaxed)
    }
    /// Bytes that write calls of the tree accepted so far.
    pub fn write_bytes(&self) -> u64 {
        self.write_bytes.load(Ordering::Relaxed)
    }
    /// Bytes that block devices completed so far, on all devices and for everybody.
    pub fn device_bytes(&self) -> u64 {
        self.device_bytes.load(Ordering::Relaxed)
    }
}

#[derive(Debug, Default)]
struct ClassStore {
    open: Vec<u8>,
    chunks: Vec<Vec<u8>>,
    received: u64,
    dropped: u64,
}

/// A sample as it is kept: its stack by number.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct StoredSample {
    pub(crate) at_ns: u64,
    pub(crate) cpu: CpuRecord,
    /// [`StoredSample::NO_STACK`] when there was no room for it.
    pub(crate) stack: u32,
    pub(crate) user_mode: u32,
}

impl StoredSample {
    pub(crate) const NO_STACK: u32 = u32::MAX;
}

// SAFETY: `repr(C)` and integers only.
unsafe impl Record for StoredSample {}

/// The records of one run, by class.
#[derive(Debug)]
pub(crate) struct RecordStore {
    pub(crate) stacks: StackTable,
    classes: [ClassStore; RecordClass::ALL.len()],
    limit_bytes: usize,
    held_bytes: usize,
    malformed: u64,
}

/// A chunk that does not unpack: memory was damaged, nothing else can cause it.
#[derive(Debug, thiserror::Error)]
#[error("a chunk of {class} records does not unpack: {source}")]
pub struct DamagedChunk {
    class: &'static str,
    source: lz4_flex::block::DecompressError,
}

impl RecordStore {
    /// Holds at most about `limit_bytes` of compressed records; later ones are counted as dropped.
    pub(crate) fn new(limit_bytes: usize) -> Self {
        let stacks = StackTable::new(Mappings::new("/proc".into()));
        Self { stacks, classes: Default::default(), limit_bytes, held_bytes: 0, malformed: 0 }
    }

    /// Takes in one message of the ring.
    pub(crate) fn take(&mut self, message: &[u8], live: &LiveFigures) {
        let Some((header, records)) = BatchHeader::split_from(message) else {
            self.malformed += 1;
            return;
        };
        let Some(class) = RecordClass::from_number(header.record_class) else {
            self.malformed += 1;
            return;
        };
        count_live(class, header.count, records, live);
        let record_bytes = record_size(class);
        if class == RecordClass::Samples {
            match SampleRecord::split_from(message) {
                Some((record, _)) => self.take_sample(&record),
                None => self.malformed += 1,
            }
            return;
        }
        // Names and tasks are messages of their own, header included.
        let payload = match class {
            RecordClass::Names | RecordClass::Tasks => message.get(..record_bytes),
            _ => records.get(..record_bytes * header.count as usize),
        };
        let Some(payload) = payload else {
            self.malformed += 1;
            return;
        };
        if class == RecordClass::Tasks {
            self.follow_image(payload);
        }
        self.push(class, payload, u64::from(header.count));
    }

    fn take_sample(&mut self, record: &SampleRecord) {
        let stack = self.stacks.intern(record).unwrap_or(StoredSample::NO_STACK);
        let sample = StoredSample { at_ns: record.at_ns, cpu: record.cpu, stack, user_mode: record.user_mode };
        self.push(RecordClass::Samples, bytes_of(&sample), 1);
    }

    /// A process that executes a file or ends has other mappings from there on.
    fn follow_image(&mut self, payload: &[u8]) {
        let Some((record, _)) = TaskRecord::split_from(payload) else { return };
        let kind = decode::task(&record).map(|task| task.kind);
        let leads = record.tid == record.tgid;
        if kind == Some(TaskEventKind::Executed) || kind == Some(TaskEventKind::Exited) && leads {
            self.stacks.mappings.forget(record.tgid);
        }
    }

    /// Keeps records of a class, or counts them as dropped when there is no room.
    pub(crate) fn push(&mut self, class: RecordClass, payload: &[u8], count: u64) {
        let full = self.held_bytes >= self.limit_bytes;
        let store = &mut self.classes[class as usize];
        if full {
            store.dropped += count;
            return;
        }
        store.received += count;
        store.open.extend_from_slice(payload);
        if store.open.len() >= CHUNK_BYTES {
            let chunk = lz4_flex::block::compress_prepend_size(&store.open);
            self.held_bytes += chunk.len();
            store.chunks.push(chunk);
            store.open.clear();
        }
    }

    /// Records of a class that arrived and were kept.
    pub(crate) fn received(&self, class: RecordClass) -> u64 {
        self.classes[class as usize].received
    }

    /// Records of a class that arrived and were dropped for want of room.
    pub(crate) fn dropped(&self, class: RecordClass) -> u64 {
        self.classes[class as usize].dropped
    }

    /// Messages that were not understood: always a defect of ours.
    pub(crate) fn malformed(&self) -> u64 {
        self.malformed
    }

    /// Unpacks a class chunk by chunk, in the order of arrival.
    pub(crate) fn chunks<R: Record>(
        &self,
        class: RecordClass,
    ) -> impl Iterator<Item = Result<Vec<R>, DamagedChunk>> + '_ {
        let store = &self.classes[class as usize];
        let packed = store.chunks.iter().map(move |chunk| {
            lz4_flex::block::decompress_size_prepended(chunk)
                .map(|bytes| records_of(&bytes))
                .map_err(|source| DamagedChunk { class: class.name(), source })
        });
        packed.chain(std::iter::once_with(|| Ok(records_of(&store.open))))
    }
}

fn record_size(class: RecordClass) -> usize {
    use activebench_probe_abi::{CacheRecord, NameRecord};
    match class {
        RecordClass::Calls => size_of::<CallRecord>(),
        RecordClass::Names => size_of::<NameRecord>(),
        RecordClass::Tasks => size_of::<TaskRecord>(),
        RecordClass::BlockQueued | RecordClass::BlockCompleted => size_of::<BlockRecord>(),
        RecordClass::PageCache => size_of::<CacheRecord>(),
        RecordClass::Cpu => size_of::<CpuRecord>(),
        RecordClass::Samples => size_of::<StoredSample>(),
    }
}

fn records_of<R: Record>(mut bytes: &[u8]) -> Vec<R> {
    let mut records = Vec::with_capacity(bytes.len() / size_of::<R>());
    while let Some((record, rest)) = R::split_from(bytes) {
        records.push(record);
        bytes = rest;
    }
    records
}

fn count_live(class: RecordClass, count: u32, mut records: &[u8], live: &LiveFigures) {
    match class {
        RecordClass::Calls => {
            let (mut read, mut written) = (0, 0);
            for _ in 0..count {
                let Some((record, rest)) = CallRecord::split_from(records) else { break };
                records = rest;
                if record.returned > 0 && record.file_kind != 0 {
                    match Op::from_code(record.op) {
                        Some(op) if op.is_read() => read += record.returned as u64,
                        Some(op) if op.is_write() => written += record.returned as u64,
                        _ => {}
                    }
                }
            }
            live.read_bytes.fetch_add(read, Ordering::Relaxed);
            live.write_bytes.fetch_add(written, Ordering::Relaxed);
        }
        RecordClass::BlockCompleted => {
            let mut bytes = 0;
            for _ in 0..count {
                let Some((record, rest)) = BlockRecord::split_from(records) else { break };
                records = rest;
                bytes += u64::from(record.bytes);
            }
            live.device_bytes.fetch_add(bytes, Ordering::Relaxed);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use activebench_probe_abi::CacheRecord;

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

    #[test]
    fn every_record_comes_back_in_order_across_chunks() {
        let mut store = RecordStore::new(usize::MAX);
        let live = LiveFigures::default();
        let total = 3 * CHUNK_BYTES as u64 / size_of::<CacheRecord>() as u64;
        for index in 0..total {
            store.take(&message(RecordClass::PageCache as u32, &[record(index)]), &live);
        }
        let mut next = 0;
        for chunk in store.chunks::<CacheRecord>(RecordClass::PageCache) {
            for record in chunk.expect("chunk unpacks") {
                assert_eq!(record.index, next);
                next += 1;
            }
        }
        assert_eq!((next, store.received(RecordClass::PageCache)), (total, total));
    }

    #[test]
    fn what_does_not_fit_is_counted_and_what_is_not_understood_too() {
        let mut store = RecordStore::new(0);
        let live = LiveFigures::default();
        store.take(&message(RecordClass::PageCache as u32, &[record(0), record(1)]), &live);
        assert_eq!((store.received(RecordClass::PageCache), store.dropped(RecordClass::PageCache)), (0, 2));
        store.take(&message(99, &[]), &live);
        store.take(&[1, 2, 3], &live);
        let mut cut = message(RecordClass::PageCache as u32, &[record(0)]);
        cut.pop();
        store.take(&cut, &live);
        assert_eq!(store.malformed(), 3);
    }
}
