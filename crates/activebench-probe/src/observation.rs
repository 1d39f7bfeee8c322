//! The observation of one run: its records and their account.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::rc::Rc;
use std::sync::Arc;

use activebench_model::call::FileKind;
use activebench_model::coverage::Coverage;
use activebench_model::event::{KernelClass, PayloadEvent, TaskEvent, TaskEventKind};
use activebench_model::event_kinds;
use activebench_model::library::LibraryCalls;
use activebench_model::log::Totals;
use activebench_model::source::{Batches, EventSource, Unreadable};
use activebench_model::thread_stacks::Stacks;
use activebench_model::watch::Watch;
use activebench_probe_abi::TaskRecord;
use activebench_probe_abi::decode::KernelEvent;
use serde::{Deserialize, Serialize};

use crate::folders::Folders;
use crate::kept_records::{DamagedChunk, Extent, KeptRecords, RecordIndex};
use crate::payload::PayloadStore;
use crate::printed::Printed;
use crate::storage_seen::StorageSeen;
use crate::store::RecordStore;

/// The observation of one run. Events come in chunks, in the order of arrival: the calls
/// of one thread are in order, those of different threads are not.
#[derive(Debug)]
pub struct Observation {
    records: KeptRecords,
    about: About,
    /// Sampled bytes, if they are kept.
    payload: Vec<u8>,
    /// What the processes printed.
    printed: Printed,
    /// Extent and losses of the observation.
    pub coverage: Coverage,
}

/// What an observation holds beside its records.
#[derive(Debug, Serialize, Deserialize)]
struct About {
    root: Option<TaskEvent>,
    stacks: Stacks,
    totals: Totals,
    samples: Vec<PayloadEvent>,
    payload: Extent,
    printed: Printed,
    printed_text: Extent,
    folders: Folders,
    storage_seen: StorageSeen,
    watch: Option<Watch>,
    library: Option<LibraryCalls>,
}

/// All of an observation but its bytes.
#[derive(Debug, Serialize, Deserialize)]
struct Index {
    records: RecordIndex,
    about: About,
    coverage: Coverage,
}

/// Returns the first task with the ids of the kernel's records, which are those of the initial PID namespace. In another
/// one ours differ, and the first record of the tree names its first process.
fn root_in_kernel_ids(root: TaskEvent, kept: &KeptRecords) -> TaskEvent {
    if has_kernel_ids() {
        return root;
    }
    let records = kept.chunks::<TaskRecord>(KernelClass::Tasks).filter_map(Result::ok).flatten();
    let Some(first) = records.min_by_key(|record| record.at_ns) else { return root };
    let is_birth = TaskEvent::decode(KernelClass::Tasks, &first, &|_| false)
        .is_some_and(|event| event.kind == TaskEventKind::Born);
    let tgid = if is_birth { first.parent_tgid } else { first.tgid };
    TaskEvent { tid: tgid, tgid, ..root }
}

/// Returns `true` if our process ids are those of the kernel's records: in the initial PID namespace.
pub(crate) fn has_kernel_ids() -> bool {
    // PROC_PID_INIT_INO of the kernel's include/linux/proc_ns.h.
    const INITIAL: &str = "pid:[4026531836]";
    fs::read_link("/proc/self/ns/pid").is_ok_and(|namespace| namespace.as_os_str() == INITIAL)
}

/// An observation on its way to another process: its index is at the end of the memory.
#[derive(Debug)]
pub(crate) struct Handover {
    pub(crate) index: Extent,
    pub(crate) memory: File,
    pub(crate) spool: Option<Arc<File>>,
}

impl Observation {
    /// Ends the stores of an observation.
    ///
    /// # Errors
    /// Returns an error if there is not enough memory.
    pub(crate) fn of(
        mut store: RecordStore,
        payload: &PayloadStore,
        root: Option<TaskEvent>,
        stacks: Stacks,
        watch: Option<Watch>,
        coverage: Coverage,
    ) -> io::Result<Self> {
        let mut records = store.keep()?;
        let root = root.map(|root| root_in_kernel_ids(root, &records));
        let (totals, samples) = (store.totals(), payload.events().to_vec());
        let printed = payload.printed.printed.clone();
        let (payload, printed_text) = (payload.kept().to_vec(), records.add(printed.text())?);
        let payload_place = records.add(&payload)?;
        let folders = std::mem::take(&mut store.folders);
        let storage_seen = std::mem::take(&mut store.storage_seen);
        let about = About {
            root,
            stacks,
            totals,
            samples,
            payload: payload_place,
            printed,
            printed_text,
            folders,
            storage_seen,
            watch,
            library: None,
        };
        let printed = about.printed.clone();
        Ok(Self { records, about, payload, printed, coverage })
    }

    /// Takes over the observation of a process that was killed: the arguments name inherited descriptors.
    ///
    /// # Errors
    /// Returns an error if they do not.
    pub fn inherited(arguments: &[OsString]) -> io::Result<Self> {
        let number = |place: usize| arguments.get(place)?.to_str()?.parse::<u64>().ok();
        let descriptor = |place: usize| {
            let number = i32::try_from(number(place)?).ok()?;
            // SAFETY: the descriptor was inherited for us alone, as our argument states.
            Some(File::from(unsafe { OwnedFd::from_raw_fd(number) }))
        };
        let missing = || io::Error::other("no observation was passed on");
        let extent = (number(0), number(1).and_then(|bytes| usize::try_from(bytes).ok()));
        let (Some(offset), Some(bytes)) = extent else { return Err(missing()) };
        let memory = descriptor(2).ok_or_else(missing)?;
        Self::taken_over(Extent { offset, bytes }, memory, descriptor(3))
    }

    /// Returns the observation of a run whose records were lost: it holds nothing, and says so.
    ///
    /// # Errors
    /// Returns an error if there is not enough memory.
    pub fn lost(run_ns: u64) -> io::Result<Self> {
        let about = About {
            root: None,
            stacks: Stacks::default(),
            totals: Totals::default(),
            samples: Vec::new(),
            payload: Extent::default(),
            printed: Printed::default(),
            printed_text: Extent::default(),
            folders: Folders::default(),
            storage_seen: StorageSeen::default(),
            watch: None,
            library: None,
        };
        let mut coverage = Coverage::default();
        coverage.overhead.run_ns = run_ns;
        Ok(Self { records: KeptRecords::new(None)?, about, payload: Vec::new(), printed: Printed::default(), coverage })
    }

    /// Returns the observation for another process.
    ///
    /// # Errors
    /// Returns an error if there is not enough memory.
    pub(crate) fn handed_over(self) -> io::Result<Handover> {
        let (records, memory, spool) = self.records.into_parts();
        let index = serde_json::to_vec(&Index { records, about: self.about, coverage: self.coverage })?;
        let offset = memory.metadata()?.len();
        memory.write_all_at(&index, offset)?;
        Ok(Handover { index: Extent { offset, bytes: index.len() }, memory, spool })
    }

    /// Takes over the observation of another process.
    ///
    /// # Errors
    /// Returns an error if its index cannot be read.
    pub(crate) fn taken_over(index: Extent, memory: File, spool: Option<File>) -> io::Result<Self> {
        let mut bytes = vec![0; index.bytes];
        memory.read_exact_at(&mut bytes, index.offset)?;
        let Index { records, mut about, coverage } = serde_json::from_slice(&bytes)?;
        let records = KeptRecords::open(records, memory, spool);
        let payload = records.read(about.payload)?;
        let printed = std::mem::take(&mut about.printed).with_text(records.read(about.printed_text)?);
        Ok(Self { records, about, payload, printed, coverage })
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
        let root = self.about.root.iter().filter_map(E::of_root).map(|first| Ok(vec![first]));
        let kept = E::CLASSES.iter().flat_map(move |class| {
            let devices = Rc::clone(&devices);
            let decode = move |record: &E::Record| E::decode(*class, record, &|device| devices.contains(&device));
            self.records.chunks::<E::Record>(*class).map(move |chunk| decoded(*class, chunk, &decode))
        });
        Box::new(root.chain(kept.map(|chunk| chunk.map_err(Unreadable::new))))
    }

    /// Takes what is known of the beginning of a watch; `None` for a tool that was started under observation.
    pub fn take_watch(&mut self) -> Option<Watch> {
        self.about.watch.take()
    }

    /// Adds the calls of library functions.
    pub(crate) fn with_library(mut self, library: Option<LibraryCalls>) -> Self {
        self.about.library = library;
        self
    }

    /// Returns the folders in which the processes executed programs.
    pub fn folders(&self) -> &Folders {
        &self.about.folders
    }

    /// Returns what was seen of the storage when the processes executed programs.
    pub fn storage_seen(&self) -> &StorageSeen {
        &self.about.storage_seen
    }

    /// Returns what the processes printed.
    pub fn printed(&self) -> &Printed {
        &self.printed
    }

    /// Returns the sampled bytes that were kept, one sample after the other; empty if none were.
    pub fn kept_payload(&self) -> &[u8] {
        &self.payload
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
                Ok(self.about.stacks.clone())
            }

            fn totals(&self) -> Result<Totals, Unreadable> {
                Ok(self.about.totals.clone())
            }

            fn library(&self) -> Result<Option<LibraryCalls>, Unreadable> {
                Ok(self.about.library.clone())
            }
        }
    };
    (@from kernel, $self:ident) => { $self.kept() };
    (@from digest, $self:ident) => { Box::new(std::iter::once(Ok($self.about.samples.clone()))) };
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
