//! What was observed of one run: its records and the account of them.

use std::collections::HashSet;

use activebench_model::call::{Call, FileKind};
use activebench_model::coverage::Coverage;
use activebench_model::event::{BlockEvent, CacheEvent, CpuEvent, NameEvent, PayloadEvent, SampleEvent, TaskEvent};
use activebench_model::log::Totals;
use activebench_model::profile::Stacks;
use activebench_probe_abi::{
    BlockRecord, CacheRecord, CallRecord, CpuRecord, NameRecord, RecordClass, TaskRecord, decode,
};

use crate::payload::PayloadStore;
use crate::store::{DamagedChunk, RecordStore, StoredSample};

/// The observation of one run. Events come in chunks, in the order of arrival: the calls
/// of one thread are in order, those of different threads are not.
#[derive(Debug)]
pub struct Observation {
    store: RecordStore,
    payload: PayloadStore,
    root: Option<TaskEvent>,
    stacks: Stacks,
    /// How much was seen.
    pub coverage: Coverage,
}

impl Observation {
    pub(crate) fn new(
        store: RecordStore,
        payload: PayloadStore,
        root: Option<TaskEvent>,
        stacks: Stacks,
        coverage: Coverage,
    ) -> Self {
        Self { store, payload, root, stacks, coverage }
    }

    /// What the records past the log's cut add up to.
    pub fn totals(&self) -> Totals {
        self.store.totals()
    }

    /// The calls.
    ///
    /// # Errors
    /// When a chunk does not unpack.
    pub fn calls(&self) -> impl Iterator<Item = Result<Vec<Call>, DamagedChunk>> + '_ {
        self.store
            .chunks::<CallRecord>(RecordClass::Calls)
            .map(|chunk| chunk.map(|records| records.iter().filter_map(decode::call).collect()))
    }

    /// The names.
    ///
    /// # Errors
    /// When a chunk does not unpack.
    pub fn names(&self) -> impl Iterator<Item = Result<Vec<NameEvent>, DamagedChunk>> + '_ {
        self.store
            .chunks::<NameRecord>(RecordClass::Names)
            .map(|chunk| chunk.map(|records| records.iter().filter_map(decode::name).collect()))
    }

    /// The tasks, with the birth of the first one in front.
    ///
    /// # Errors
    /// When a chunk does not unpack.
    pub fn tasks(&self) -> impl Iterator<Item = Result<Vec<TaskEvent>, DamagedChunk>> + '_ {
        let root = self.root.iter().map(|birth| Ok(vec![birth.clone()]));
        let followed = self
            .store
            .chunks::<TaskRecord>(RecordClass::Tasks)
            .map(|chunk| chunk.map(|records| records.iter().filter_map(decode::task).collect()));
        root.chain(followed)
    }

    /// Block devices that the tree opened itself, by number.
    ///
    /// # Errors
    /// When a chunk does not unpack.
    pub fn block_devices_used(&self) -> Result<HashSet<u32>, DamagedChunk> {
        let mut devices = HashSet::new();
        for chunk in self.calls() {
            let used = chunk?.into_iter().filter(|call| call.kind == FileKind::BlockDevice);
            devices.extend(used.filter_map(|call| call.file).map(|file| file.s_dev));
        }
        Ok(devices)
    }

    /// The block events, queued ones first, then completed ones.
    ///
    /// # Errors
    /// When a chunk does not unpack.
    pub fn block<'a>(
        &'a self,
        devices_used: &'a HashSet<u32>,
    ) -> impl Iterator<Item = Result<Vec<BlockEvent>, DamagedChunk>> + 'a {
        [RecordClass::BlockQueued, RecordClass::BlockCompleted].into_iter().flat_map(move |class| {
            self.store.chunks::<BlockRecord>(class).map(move |chunk| {
                chunk.map(|records| {
                    let decode = |record| decode::block(class, record, |device| devices_used.contains(&device));
                    records.iter().map(decode).collect()
                })
            })
        })
    }

    /// The page-cache insertions.
    ///
    /// # Errors
    /// When a chunk does not unpack.
    pub fn cache(&self) -> impl Iterator<Item = Result<Vec<CacheEvent>, DamagedChunk>> + '_ {
        self.store
            .chunks::<CacheRecord>(RecordClass::PageCache)
            .map(|chunk| chunk.map(|records| records.iter().map(decode::cache).collect()))
    }

    /// The threads' running totals.
    ///
    /// # Errors
    /// When a chunk does not unpack.
    pub fn cpu(&self) -> impl Iterator<Item = Result<Vec<CpuEvent>, DamagedChunk>> + '_ {
        self.store
            .chunks::<CpuRecord>(RecordClass::Cpu)
            .map(|chunk| chunk.map(|records| records.iter().filter_map(decode::cpu).collect()))
    }

    /// The stack samples.
    ///
    /// # Errors
    /// When a chunk does not unpack.
    pub fn samples(&self) -> impl Iterator<Item = Result<Vec<SampleEvent>, DamagedChunk>> + '_ {
        let sample = |stored: &StoredSample| {
            Some(SampleEvent {
                at_ns: stored.at_ns,
                in_user_mode: stored.user_mode != 0,
                stack: (stored.stack != StoredSample::NO_STACK).then_some(stored.stack),
                cpu: decode::cpu(&stored.cpu)?,
            })
        };
        self.store
            .chunks::<StoredSample>(RecordClass::Samples)
            .map(move |chunk| chunk.map(|records| records.iter().filter_map(sample).collect()))
    }

    /// The figures of the sampled writes.
    pub fn payload(&self) -> &[PayloadEvent] {
        self.payload.events()
    }

    /// The sampled bytes that were to be kept, one sample behind the other; empty otherwise.
    pub fn kept_payload(&self) -> &[u8] {
        self.payload.kept()
    }

    /// The stacks of the samples, with names.
    pub fn stacks(&self) -> &Stacks {
        &self.stacks
    }
}
