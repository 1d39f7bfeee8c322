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
    /// When a chunk does not unpack, or holds a record of an unknown kind.
    pub fn calls(&self) -> impl Iterator<Item = Result<Vec<Call>, DamagedChunk>> + '_ {
        self.store
            .chunks::<CallRecord>(RecordClass::Calls)
            .map(|chunk| decoded(RecordClass::Calls, chunk, decode::call))
    }

    /// The names.
    ///
    /// # Errors
    /// When a chunk does not unpack, or holds a record of an unknown kind.
    pub fn names(&self) -> impl Iterator<Item = Result<Vec<NameEvent>, DamagedChunk>> + '_ {
        self.store
            .chunks::<NameRecord>(RecordClass::Names)
            .map(|chunk| decoded(RecordClass::Names, chunk, decode::name))
    }

    /// The tasks, with the birth of the first one in front.
    ///
    /// # Errors
    /// When a chunk does not unpack, or holds a record of an unknown kind.
    pub fn tasks(&self) -> impl Iterator<Item = Result<Vec<TaskEvent>, DamagedChunk>> + '_ {
        let root = self.root.iter().map(|birth| Ok(vec![birth.clone()]));
        let followed = self
            .store
            .chunks::<TaskRecord>(RecordClass::Tasks)
            .map(|chunk| decoded(RecordClass::Tasks, chunk, decode::task));
        root.chain(followed)
    }

    /// Block devices that the tree opened itself, by number.
    ///
    /// # Errors
    /// When a chunk does not unpack, or holds a record of an unknown kind.
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
    /// When a chunk does not unpack, or holds a record of an unknown kind.
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
    /// When a chunk does not unpack, or holds a record of an unknown kind.
    pub fn cache(&self) -> impl Iterator<Item = Result<Vec<CacheEvent>, DamagedChunk>> + '_ {
        self.store
            .chunks::<CacheRecord>(RecordClass::PageCache)
            .map(|chunk| chunk.map(|records| records.iter().map(decode::cache).collect()))
    }

    /// The threads' running totals.
    ///
    /// # Errors
    /// When a chunk does not unpack, or holds a record of an unknown kind.
    pub fn cpu(&self) -> impl Iterator<Item = Result<Vec<CpuEvent>, DamagedChunk>> + '_ {
        self.store.chunks::<CpuRecord>(RecordClass::Cpu).map(|chunk| decoded(RecordClass::Cpu, chunk, decode::cpu))
    }

    /// The stack samples.
    ///
    /// # Errors
    /// When a chunk does not unpack, or holds a record of an unknown kind.
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
            .map(move |chunk| decoded(RecordClass::Samples, chunk, sample))
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

/// The records of a chunk as events. One record of an unknown kind makes the whole chunk unreadable: it comes from kernel
/// programs that this version does not know, and nothing of it is left out in silence.
fn decoded<R, T>(
    class: RecordClass,
    chunk: Result<Vec<R>, DamagedChunk>,
    decode: impl Fn(&R) -> Option<T>,
) -> Result<Vec<T>, DamagedChunk> {
    chunk?.iter().map(decode).collect::<Option<Vec<T>>>().ok_or_else(|| DamagedChunk::of_unknown_kind(class))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_of_an_unknown_kind_is_an_error_and_never_left_out() {
        let odd = |number: &u32| (number % 2 == 1).then_some(*number);
        assert_eq!(decoded(RecordClass::Calls, Ok(vec![1, 3]), odd).expect("all are known"), [1, 3]);
        let error = decoded(RecordClass::Calls, Ok(vec![1, 2, 3]), odd).expect_err("one is not known");
        assert_eq!(error.to_string(), "a chunk of calls records cannot be read: it holds a record of an unknown kind");
    }
}
