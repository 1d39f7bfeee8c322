//! The observation of one run: its records and their account.

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
    /// Extent and losses of the observation.
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

    /// Returns the totals of the records past the log's cut.
    pub fn totals(&self) -> Totals {
        self.store.totals()
    }

    /// Returns the calls.
    ///
    /// # Errors
    /// Returns an error if a chunk does not unpack, or contains a record of an unknown kind.
    pub fn calls(&self) -> impl Iterator<Item = Result<Vec<Call>, DamagedChunk>> + '_ {
        self.store
            .chunks::<CallRecord>(RecordClass::Calls)
            .map(|chunk| decoded(RecordClass::Calls, chunk, decode::call))
    }

    /// Returns the names.
    ///
    /// # Errors
    /// Returns an error if a chunk does not unpack, or contains a record of an unknown kind.
    pub fn names(&self) -> impl Iterator<Item = Result<Vec<NameEvent>, DamagedChunk>> + '_ {
        self.store
            .chunks::<NameRecord>(RecordClass::Names)
            .map(|chunk| decoded(RecordClass::Names, chunk, decode::name))
    }

    /// Returns the tasks, starting with the creation of the first one.
    ///
    /// # Errors
    /// Returns an error if a chunk does not unpack, or contains a record of an unknown kind.
    pub fn tasks(&self) -> impl Iterator<Item = Result<Vec<TaskEvent>, DamagedChunk>> + '_ {
        let root = self.root.iter().map(|birth| Ok(vec![birth.clone()]));
        let followed = self
            .store
            .chunks::<TaskRecord>(RecordClass::Tasks)
            .map(|chunk| decoded(RecordClass::Tasks, chunk, decode::task));
        root.chain(followed)
    }

    /// Returns the block devices that the tree opened itself, by number.
    ///
    /// # Errors
    /// Returns an error if a chunk does not unpack, or contains a record of an unknown kind.
    pub fn block_devices_used(&self) -> Result<HashSet<u32>, DamagedChunk> {
        let mut devices = HashSet::new();
        for chunk in self.calls() {
            let used = chunk?.into_iter().filter(|call| call.kind == FileKind::BlockDevice);
            devices.extend(used.filter_map(|call| call.file).map(|file| file.s_dev));
        }
        Ok(devices)
    }

    /// Returns the block events, queued ones first, then completed ones.
    ///
    /// # Errors
    /// Returns an error if a chunk does not unpack, or contains a record of an unknown kind.
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

    /// Returns the page-cache insertions.
    ///
    /// # Errors
    /// Returns an error if a chunk does not unpack, or contains a record of an unknown kind.
    pub fn cache(&self) -> impl Iterator<Item = Result<Vec<CacheEvent>, DamagedChunk>> + '_ {
        self.store
            .chunks::<CacheRecord>(RecordClass::PageCache)
            .map(|chunk| chunk.map(|records| records.iter().map(decode::cache).collect()))
    }

    /// Returns the threads' running totals.
    ///
    /// # Errors
    /// Returns an error if a chunk does not unpack, or contains a record of an unknown kind.
    pub fn cpu(&self) -> impl Iterator<Item = Result<Vec<CpuEvent>, DamagedChunk>> + '_ {
        self.store.chunks::<CpuRecord>(RecordClass::Cpu).map(|chunk| decoded(RecordClass::Cpu, chunk, decode::cpu))
    }

    /// Returns the stack samples.
    ///
    /// # Errors
    /// Returns an error if a chunk does not unpack, or contains a record of an unknown kind.
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

    /// Returns the figures of the sampled writes.
    pub fn payload(&self) -> &[PayloadEvent] {
        self.payload.events()
    }

    /// Returns the sampled bytes that were kept, one sample after the other; empty if none were.
    pub fn kept_payload(&self) -> &[u8] {
        self.payload.kept()
    }

    /// Returns the stacks of the samples, with names.
    pub fn stacks(&self) -> &Stacks {
        &self.stacks
    }
}

/// Decodes the records of a chunk. One record of an unknown kind makes the whole chunk unreadable: it comes from
/// kernel programs that this version does not know, and no record is left out silently.
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
