//! The packed records of an ended observation, in files without names: chunks that were spooled in the spool file, all
//! others in memory. Two processes can read them: the index is a value, and the files are descriptors.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use activebench_model::event::KernelClass;
use activebench_probe_abi::{Record, add_calls, bytes_of_all};
use rustix::fs::{MemfdFlags, memfd_create};
use serde::{Deserialize, Serialize};

use crate::chunk_storage::Place;
use crate::pack::{record_size, records_of, unpack};

/// Part of a file.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Extent {
    pub(crate) offset: u64,
    pub(crate) bytes: usize,
}

/// A chunk that cannot be read: memory was damaged, the spool file cannot be read, or a record is of an unknown kind.
#[derive(Debug, thiserror::Error)]
#[error("a chunk of {class} records cannot be read: {source}")]
pub struct DamagedChunk {
    class: &'static str,
    source: io::Error,
}

impl DamagedChunk {
    pub(crate) fn of_unknown_kind(class: KernelClass) -> Self {
        let source = io::Error::new(io::ErrorKind::InvalidData, "it holds a record of an unknown kind");
        Self { class: class.name(), source }
    }
}

/// A packed chunk.
#[derive(Debug, Serialize, Deserialize)]
struct KeptChunk {
    is_spooled: bool,
    packed: Extent,
    /// Unpacked bytes.
    bytes: usize,
}

/// The chunks of a class, in the order of arrival, and the records after the last one.
#[derive(Debug, Default, Serialize, Deserialize)]
struct KeptClass {
    chunks: Vec<KeptChunk>,
    open: Extent,
}

/// Where the records are.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct RecordIndex {
    classes: Vec<KeptClass>,
}

/// The records.
#[derive(Debug)]
pub(crate) struct KeptRecords {
    index: RecordIndex,
    memory: File,
    end: u64,
    spool: Option<Arc<File>>,
}

impl KeptRecords {
    /// Creates an empty one.
    pub(crate) fn new(spool: Option<Arc<File>>) -> io::Result<Self> {
        let memory = memfd_create("activebench-records", MemfdFlags::CLOEXEC)?.into();
        let classes = KernelClass::ALL.iter().map(|_| KeptClass::default()).collect();
        Ok(Self { index: RecordIndex { classes }, memory, end: 0, spool })
    }

    /// Opens those that another process kept.
    pub(crate) fn open(index: RecordIndex, memory: File, spool: Option<File>) -> Self {
        Self { index, memory, end: 0, spool: spool.map(Arc::new) }
    }

    /// Returns the parts that another process needs to open them.
    pub(crate) fn into_parts(self) -> (RecordIndex, File, Option<Arc<File>>) {
        (self.index, self.memory, self.spool)
    }

    /// Adds bytes of any kind behind what is there.
    pub(crate) fn add(&mut self, bytes: &[u8]) -> io::Result<Extent> {
        let extent = Extent { offset: self.end, bytes: bytes.len() };
        self.memory.write_all_at(bytes, self.end)?;
        self.end += bytes.len() as u64;
        Ok(extent)
    }

    pub(crate) fn add_chunk(&mut self, class: KernelClass, place: Place, bytes: usize) -> io::Result<()> {
        let (is_spooled, packed) = match place {
            Place::Held(packed) => (false, self.add(&packed)?),
            Place::Spooled { offset, bytes } => (true, Extent { offset, bytes }),
        };
        self.index.classes[class as usize].chunks.push(KeptChunk { is_spooled, packed, bytes });
        Ok(())
    }

    /// Adds the unpacked records after the last chunk.
    pub(crate) fn add_open(&mut self, class: KernelClass, records: &[u8]) -> io::Result<()> {
        self.index.classes[class as usize].open = self.add(records)?;
        Ok(())
    }

    /// Returns bytes that were added.
    pub(crate) fn read(&self, extent: Extent) -> io::Result<Vec<u8>> {
        read(&self.memory, extent)
    }

    /// Unpacks a class chunk by chunk, in the order of arrival.
    pub(crate) fn chunks<R: Record>(
        &self,
        class: KernelClass,
    ) -> impl Iterator<Item = Result<Vec<R>, DamagedChunk>> + '_ {
        let kept = self.index.classes.get(class as usize);
        let damaged = move |source| DamagedChunk { class: class.name(), source };
        let packed = kept.into_iter().flat_map(|kept| &kept.chunks).map(move |chunk| {
            let bytes = self
                .read_packed(chunk)
                .and_then(|packed| unpack(class, &packed, record_size(class), chunk.bytes))
                .map_err(damaged)?;
            records_in(class, &bytes).map_err(damaged)
        });
        let open = kept
            .into_iter()
            .map(move |kept| self.read(kept.open).and_then(|bytes| records_in(class, &bytes)).map_err(damaged));
        packed.chain(open)
    }

    fn read_packed(&self, chunk: &KeptChunk) -> io::Result<Vec<u8>> {
        match (chunk.is_spooled, &self.spool) {
            (false, _) => self.read(chunk.packed),
            (true, Some(spool)) => read(spool, chunk.packed),
            (true, None) => Err(io::Error::other("there is no spool file")),
        }
    }
}

/// Returns the records of unpacked bytes; calls are kept as the kernel programs merged them.
fn records_in<R: Record>(class: KernelClass, bytes: &[u8]) -> io::Result<Vec<R>> {
    if class != KernelClass::Calls {
        return Ok(records_of(bytes));
    }
    let mut calls = Vec::new();
    add_calls(bytes, &mut calls)
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "its groups make no sense"))?;
    Ok(records_of(bytes_of_all(&calls)))
}

fn read(file: &File, extent: Extent) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; extent.bytes];
    file.read_exact_at(&mut bytes, extent.offset)?;
    Ok(bytes)
}
