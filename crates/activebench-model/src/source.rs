//! Sources of the events of a run.

use std::error::Error;
use std::fmt;

use crate::call::Call;
use crate::event::{BlockEvent, CacheEvent, CpuEvent, NameEvent, PayloadEvent, SampleEvent, StealEvent, TaskEvent};
use crate::log::Totals;
use crate::profile::Stacks;

/// Error: events could not be read, with the reason from the code that read them.
#[derive(Debug)]
pub struct Unreadable(Box<dyn Error + Send + Sync>);

impl Unreadable {
    /// Creates the error for a reason.
    pub fn new(reason: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self(reason.into())
    }
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Error for Unreadable {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source()
    }
}

/// Events in batches.
pub type Batches<'a, T> = Box<dyn Iterator<Item = Result<Vec<T>, Unreadable>> + 'a>;

/// The events of one run, in batches, which can be read any number of times. A source implements only the kinds that
/// it has.
///
/// The calls of one thread are chronological. The calls of different threads and all other
/// events can be in any order.
pub trait EventSource {
    /// The system calls.
    fn calls(&self) -> Batches<'_, Call> {
        none()
    }
    /// The names of calls that took one.
    fn names(&self) -> Batches<'_, NameEvent> {
        none()
    }
    /// Births, executions and ends of tasks.
    fn tasks(&self) -> Batches<'_, TaskEvent> {
        none()
    }
    /// The events of the block layer.
    fn block(&self) -> Batches<'_, BlockEvent> {
        none()
    }
    /// The pages that entered the page cache.
    fn cache(&self) -> Batches<'_, CacheEvent> {
        none()
    }
    /// The threads' running totals.
    fn cpu(&self) -> Batches<'_, CpuEvent> {
        none()
    }
    /// The stack samples.
    fn samples(&self) -> Batches<'_, SampleEvent> {
        none()
    }
    /// Returns the stacks that the samples refer to.
    ///
    /// # Errors
    /// Returns an error if they cannot be read.
    fn stacks(&self) -> Result<Stacks, Unreadable> {
        Ok(Stacks::default())
    }
    /// Readings of the host's steal time; those of one CPU are in order.
    fn steal(&self) -> Batches<'_, StealEvent> {
        none()
    }
    /// The figures of sampled writes.
    fn payload(&self) -> Batches<'_, PayloadEvent> {
        none()
    }
    /// Returns the sums of the events past the log's cut; empty for a log that was not cut.
    ///
    /// # Errors
    /// Returns an error if they cannot be read.
    fn totals(&self) -> Result<Totals, Unreadable> {
        Ok(Totals::default())
    }
}

fn none<'a, T: 'a>() -> Batches<'a, T> {
    Box::new(std::iter::empty())
}

/// Events in memory: for tests, and for runs that are not stored.
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

fn batches<T: Clone>(rows: &[T]) -> Batches<'_, T> {
    Box::new(rows.chunks(BATCH).map(|batch| Ok(batch.to_vec())))
}

impl EventSource for Events {
    fn calls(&self) -> Batches<'_, Call> {
        batches(&self.calls)
    }
    fn names(&self) -> Batches<'_, NameEvent> {
        batches(&self.names)
    }
    fn tasks(&self) -> Batches<'_, TaskEvent> {
        batches(&self.tasks)
    }
    fn block(&self) -> Batches<'_, BlockEvent> {
        batches(&self.block)
    }
    fn cache(&self) -> Batches<'_, CacheEvent> {
        batches(&self.cache)
    }
    fn cpu(&self) -> Batches<'_, CpuEvent> {
        batches(&self.cpu)
    }
    fn samples(&self) -> Batches<'_, SampleEvent> {
        batches(&self.samples)
    }
    fn stacks(&self) -> Result<Stacks, Unreadable> {
        Ok(self.stacks.clone())
    }
    fn steal(&self) -> Batches<'_, StealEvent> {
        batches(&self.steal)
    }
    fn payload(&self) -> Batches<'_, PayloadEvent> {
        batches(&self.payload)
    }
}
