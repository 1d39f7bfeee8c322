//! Ways for the fuzz targets into what reads the kernel's records and the tool's executables.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use activebench_model::coverage::Coverage;
use activebench_model::source::{EventSource, Unreadable};
use activebench_model::thread_stacks::Stacks;

use crate::chunk_storage::LogOptions;
use crate::mappings::Module;
use crate::observation::Observation;
use crate::payload::{Payload, PayloadStore};
use crate::store::{LiveFigures, RecordStore};
use crate::symbols;

/// A message of one of the rings.
#[derive(Clone, Copy, Debug)]
pub enum Message<'a> {
    /// Of the events.
    Event(&'a [u8]),
    /// Of the samples of what is written.
    Payload(&'a [u8]),
}

/// Takes messages as they come from the rings, and reads all events of the observation; returns the number of events.
///
/// # Errors
/// When there is not enough memory. A table that cannot be read is not an error.
pub fn observe(messages: &[Message<'_>]) -> io::Result<usize> {
    fn count<T>(batches: impl Iterator<Item = Result<Vec<T>, Unreadable>>) -> usize {
        batches.map(|batch| batch.map_or(0, |events| events.len())).sum()
    }
    let mut store = RecordStore::new(LogOptions::default())?;
    let mut payload = PayloadStore::new(Payload::Keep, 1)?;
    let live = LiveFigures::default();
    for message in messages {
        match message {
            Message::Event(message) => store.take(message, &live),
            Message::Payload(message) => payload.take(message),
        }
    }
    store.close();
    let observation = Observation::of(store, &payload, None, Stacks::default(), Coverage::default())?;
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
