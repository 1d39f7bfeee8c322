//! Where the events of a run come from.

use std::convert::Infallible;

use activebench_model::call::Call;
use activebench_model::event::{
    BlockEvent, CacheEvent, CpuEvent, NameEvent, PayloadEvent, SampleEvent, StealEvent, TaskEvent,
};
use activebench_model::log::Totals;
use activebench_model::profile::Stacks;

/// The events of one run, in batches, any number of times.
///
/// The calls of one thread are chronological. Nothing is assumed of the order between
/// threads, nor of the order of the other events.
pub trait EventSource {
    /// Why reading failed.
    type Error;

    /// The system calls.
    fn calls(&self) -> impl Iterator<Item = Result<Vec<Call>, Self::Error>>;
    /// The names of calls that took one.
    fn names(&self) -> impl Iterator<Item = Result<Vec<NameEvent>, Self::Error>>;
    /// Births, executions and ends of tasks.
    fn tasks(&self) -> impl Iterator<Item = Result<Vec<TaskEvent>, Self::Error>>;
    /// What the block layer did.
    fn block(&self) -> impl Iterator<Item = Result<Vec<BlockEvent>, Self::Error>>;
    /// What entered the page cache.
    fn cache(&self) -> impl Iterator<Item = Result<Vec<CacheEvent>, Self::Error>>;
    /// The threads' running totals.
    fn cpu(&self) -> impl Iterator<Item = Result<Vec<CpuEvent>, Self::Error>>;
    /// The stack samples.
    fn samples(&self) -> impl Iterator<Item = Result<Vec<SampleEvent>, Self::Error>>;
    /// What the samples point into.
    fn stacks(&self) -> Result<Stacks, Self::Error>;
    /// Readings of the host's steal time, those of one processor in order.
    fn steal(&self) -> impl Iterator<Item = Result<Vec<StealEvent>, Self::Error>>;
    /// The figures of sampled writes.
    fn payload(&self) -> impl Iterator<Item = Result<Vec<PayloadEvent>, Self::Error>>;
    /// What the events past the log's cut add up to; empty for a log that was not cut.
    ///
    /// # Errors
    /// Those of the source.
    fn totals(&self) -> Result<Totals, Self::Error> {
        Ok(Totals::default())
    }
}

/// Events held in memory: for tests, and for runs that are not stored.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Events {
    /// See [`EventSource::calls`].
    pub calls: Vec<Call>,
    /// See [`EventSource::names`].
    pub names: Vec<NameEvent>,
    /// See [`EventSource::tasks`].
    pub tasks: Vec<TaskEvent>,
    /// See [`EventSource::block`].
    pub block: Vec<BlockEvent>,
    /// See [`EventSource::cache`].
    pub cache: Vec<CacheEvent>,
    /// See [`EventSource::cpu`].
    pub cpu: Vec<CpuEvent>,
    /// See [`EventSource::samples`].
    pub samples: Vec<SampleEvent>,
    /// See [`EventSource::stacks`].
    pub stacks: Stacks,
    /// See [`EventSource::steal`].
    pub steal: Vec<StealEvent>,
    /// See [`EventSource::payload`].
    pub payload: Vec<PayloadEvent>,
}

/// Rows of one batch.
const BATCH: usize = 1 << 16;

fn batches<T: Clone>(rows: &[T]) -> impl Iterator<Item = Result<Vec<T>, Infallible>> {
    rows.chunks(BATCH).map(|batch| Ok(batch.to_vec()))
}

impl EventSource for Events {
    type Error = Infallible;

    fn calls(&self) -> impl Iterator<Item = Result<Vec<Call>, Infallible>> {
        batches(&self.calls)
    }
    fn names(&self) -> impl Iterator<Item = Result<Vec<NameEvent>, Infallible>> {
        batches(&self.names)
    }
    fn tasks(&self) -> impl Iterator<Item = Result<Vec<TaskEvent>, Infallible>> {
        batches(&self.tasks)
    }
    fn block(&self) -> impl Iterator<Item = Result<Vec<BlockEvent>, Infallible>> {
        batches(&self.block)
    }
    fn cache(&self) -> impl Iterator<Item = Result<Vec<CacheEvent>, Infallible>> {
        batches(&self.cache)
    }
    fn cpu(&self) -> impl Iterator<Item = Result<Vec<CpuEvent>, Infallible>> {
        batches(&self.cpu)
    }
    fn samples(&self) -> impl Iterator<Item = Result<Vec<SampleEvent>, Infallible>> {
        batches(&self.samples)
    }
    fn stacks(&self) -> Result<Stacks, Infallible> {
        Ok(self.stacks.clone())
    }
    fn steal(&self) -> impl Iterator<Item = Result<Vec<StealEvent>, Infallible>> {
        batches(&self.steal)
    }
    fn payload(&self) -> impl Iterator<Item = Result<Vec<PayloadEvent>, Infallible>> {
        batches(&self.payload)
    }
}
