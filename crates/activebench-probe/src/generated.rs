//! An observation of messages that no kernel made: what a run would leave that is too long to wait for.
//!
//! The messages pass through the same store as those of the ring, with its bounds, and become the same observation.

use std::io;

use activebench_model::coverage::Coverage;
use activebench_model::event::KernelClass;
use activebench_model::thread_stacks::Stacks;

use crate::chunk_storage::LogOptions;
use crate::live::LiveCounters;
use crate::observation::Observation;
use crate::payload::{Payload, PayloadStore};
use crate::store::RecordStore;

/// The records of a generated run.
#[derive(Debug)]
pub struct Generated {
    store: RecordStore,
    live: LiveCounters,
}

impl Generated {
    /// Creates one without records.
    ///
    /// # Errors
    /// Returns an error if there is not enough memory.
    pub fn new(options: LogOptions) -> io::Result<Self> {
        Ok(Self { store: RecordStore::new(options)?, live: LiveCounters::new(false) })
    }

    /// Takes a message as the ring delivers it.
    pub fn take(&mut self, message: &[u8]) {
        self.store.take(message, &self.live);
    }

    /// Returns `true` if the log has ended, so that later records are only counted.
    pub fn is_cut(&self) -> bool {
        self.store.log().cut.is_some()
    }

    /// Ends the run. `coverage` states what the kernel would: the probes, and the records made of each class; what was
    /// received and how the log was kept is added.
    ///
    /// # Errors
    /// Returns an error if there is not enough memory.
    pub fn finish(mut self, mut coverage: Coverage) -> io::Result<Observation> {
        self.store.close();
        for class in KernelClass::ALL.iter().copied() {
            let account = coverage.records.entry(class.class()).or_default();
            account.received = self.store.received(class);
            account.lost += self.store.dropped(class) + self.store.malformed();
        }
        coverage.log = Some(self.store.log());
        let payload = PayloadStore::new(Payload::Off, 1)?;
        Observation::of(self.store, &payload, None, Stacks::default(), None, coverage)
    }
}
