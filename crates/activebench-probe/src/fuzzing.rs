//! Ways for the fuzz targets and the benchmark into what reads the kernel's records and the tool's executables.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use activebench_model::coverage::Coverage;
use activebench_model::event::KernelClass;
use activebench_model::source::{EventSource, Unreadable};
use activebench_model::thread_stacks::Stacks;

use crate::chunk_storage::LogOptions;
use crate::live::LiveCounters;
use crate::mappings::Module;
use crate::observation::Observation;
use crate::payload::{Payload, PayloadStore};
use crate::store::RecordStore;
use crate::symbols;

/// A message of one of the rings.
#[derive(Clone, Copy, Debug)]
pub enum Message<'a> {
    /// Of the events.
    Event(&'a [u8]),
    /// Of the samples of what is written.
    Payload(&'a [u8]),
}

/// What receives the messages while the tool runs.
#[derive(Debug)]
pub struct Receiver {
    store: RecordStore,
    payload: PayloadStore,
    live: LiveCounters,
}

impl Receiver {
    /// Creates one that has received nothing.
    ///
    /// # Errors
    /// When there is not enough memory.
    pub fn new() -> io::Result<Self> {
        let store = RecordStore::new(LogOptions::default())?;
        Ok(Self { store, payload: PayloadStore::new(Payload::Keep, 1)?, live: LiveCounters::new(false) })
    }

    /// Takes a message.
    pub fn take(&mut self, message: &Message<'_>) {
        match message {
            Message::Event(message) => self.store.take(message, &self.live),
            Message::Payload(message) => self.payload.take(message),
        }
    }

    /// Returns the number of records of a class that arrived.
    pub fn received(&self, class: KernelClass) -> u64 {
        self.store.received(class)
    }
}

/// Takes messages as they come from the rings, and reads all events of the observation; returns the number of events.
///
/// # Errors
/// When there is not enough memory. A table that cannot be read is not an error.
pub fn observe(messages: &[Message<'_>]) -> io::Result<usize> {
    fn count<T>(batches: impl Iterator<Item = Result<Vec<T>, Unreadable>>) -> usize {
        batches.map(|batch| batch.map_or(0, |events| events.len())).sum()
    }
    let mut receiver = Receiver::new()?;
    messages.iter().for_each(|message| receiver.take(message));
    let Receiver { mut store, payload, .. } = receiver;
    store.close();
    let observation = Observation::of(store, &payload, None, Stacks::default(), None, Coverage::default())?;
    Ok(count(observation.calls())
        + count(observation.names())
        + count(observation.tasks())
        + count(observation.block())
        + count(observation.cache())
        + count(observation.cpu())
        + count(observation.samples())
        + count(observation.payload()))
}

/// Looks up the names of places in an executable.
///
/// # Errors
/// When the file is not there.
pub fn names_of_places(executable: &Path, offsets: &[u64]) -> io::Result<Vec<Option<String>>> {
    let module = Module { name: executable.display().to_string(), ino: executable.metadata()?.ino() };
    Ok(symbols::names_in_file(&module, &offsets.iter().copied().enumerate().collect::<Vec<_>>()))
}
