//! Layouts of the records and tables shared with the kernel programs.
//!
//! The C counterparts are in `activebench-ebpf/src/records.h`. A test compares size and offset of every field with
//! the BTF of the built object, so a change on one side alone fails. The conversion of records into the model's
//! events is here too ([`decode`]); reading them from the kernel is in `activebench-probe`. How to add a class of
//! records: `activebench-model/src/event.rs`.

pub mod decode;
mod groups;
mod inferred;
mod layout;
mod records;
pub mod syscalls;
mod tables;

pub use groups::{Counted, Moved, add_calls, count_calls};
pub use layout::{Layout, Record, bytes_of, bytes_of_all};
pub use records::{
    BatchHeader, BlockRecord, CacheRecord, CallGroup, CallRecord, CpuRecord, FuseRecord, GroupedCall, MOST_FRAMES,
    NameRecord, OutputRecord, PAYLOAD_BYTES, PayloadRecord, SampleRecord, ServingRecord, StoredSample, TaskRecord,
};
pub use tables::{
    AsyncCall, AsyncKey, AsyncSlot, BioOwner, BlockBatch, CacheBatch, CallDescription, FuseBatch, IssuedRequest,
    LIBRARY_LOST, LibraryCount, LibraryKey, Membership, RecordCounters, ServingKey, TaskState, UNDECODED_PATHS,
};

/// Returns the name of the C struct, the size, and each field's name and offset, of every layout.
pub fn layouts() -> impl Iterator<Item = &'static Layout> {
    records::LAYOUTS.iter().chain(tables::LAYOUTS)
}
