//! The observation of one run: its records and their account.

use std::collections::HashSet;
use std::rc::Rc;

use activebench_model::call::FileKind;
use activebench_model::coverage::Coverage;
use activebench_model::event::{KernelClass, TaskEvent};
use activebench_model::event_kinds;
use activebench_model::log::Totals;
use activebench_model::source::{Batches, EventSource, Unreadable};
use activebench_model::thread_stacks::Stacks;
use activebench_probe_abi::decode::KernelEvent;

use crate::payload::PayloadStore;
use crate::store::{DamagedChunk, RecordStore};

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

    /// Returns the block devices that the tree opened itself, by number.
    fn block_devices_used(&self) -> Result<HashSet<u32>, Unreadable> {
        let mut devices = HashSet::new();
        for chunk in self.calls() {
            let used = chunk?.into_iter().filter(|call| call.kind == FileKind::BlockDevice);
            devices.extend(used.filter_map(|call| call.file).map(|file| file.s_dev));
        }
        Ok(devices)
    }

    /// Returns the events of one kind, class by class.
    fn kept<E: KernelEvent>(&self) -> Batches<'_, E> {
        let devices = match E::NEEDS_DEVICES {
            true => match self.block_devices_used() {
                Ok(devices) => devices,
                Err(error) => return Box::new(std::iter::once(Err(error))),
            },
            false => HashSet::new(),
        };
        let devices = Rc::new(devices);
        let root = self.root.iter().filter_map(E::of_root).map(|first| Ok(vec![first]));
        let kept = E::CLASSES.iter().flat_map(move |class| {
            let devices = Rc::clone(&devices);
            let decode = move |record: &E::Record| E::decode(*class, record, &|device| devices.contains(&device));
            self.store.chunks::<E::Record>(*class).map(move |chunk| decoded(*class, chunk, &decode))
        });
        Box::new(root.chain(kept.map(|chunk| chunk.map_err(Unreadable::new))))
    }

    /// Returns the sampled bytes that were kept, one sample after the other; empty if none were.
    pub fn kept_payload(&self) -> &[u8] {
        self.payload.kept()
    }
}

macro_rules! observed {
    ($(
        $(#[$doc:meta])* $kind:ident $method:ident from $from:ident: $event:ty, $table:literal, $class:expr, $about:literal;
    )*) => {
        /// A chunk that does not unpack, or contains a record of an unknown kind, is an error; the next chunk follows.
        impl EventSource for Observation {
            $(
                fn $method(&self) -> Batches<'_, $event> {
                    observed!(@from $from, self)
                }
            )*

            fn stacks(&self) -> Result<Stacks, Unreadable> {
                Ok(self.stacks.clone())
            }

            fn totals(&self) -> Result<Totals, Unreadable> {
                Ok(self.store.totals())
            }
        }
    };
    (@from kernel, $self:ident) => { $self.kept() };
    (@from digest, $self:ident) => { Box::new(std::iter::once(Ok($self.payload.events().to_vec()))) };
    (@from host, $self:ident) => { Box::new(std::iter::empty()) };
}

event_kinds!(observed);

/// Decodes the records of a chunk. One record of an unknown kind makes the whole chunk unreadable: it comes from
/// kernel programs that this version does not know, and no record is left out silently.
fn decoded<R, T>(
    class: KernelClass,
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
        assert_eq!(decoded(KernelClass::Calls, Ok(vec![1, 3]), odd).expect("all are known"), [1, 3]);
        let error = decoded(KernelClass::Calls, Ok(vec![1, 2, 3]), odd).expect_err("one is not known");
        assert_eq!(error.to_string(), "a chunk of calls records cannot be read: it holds a record of an unknown kind");
    }
}
