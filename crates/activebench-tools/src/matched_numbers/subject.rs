//! The subject of a number that a program without adapter printed.
//!
//! A benchmark's figure without further words is taken for the storage. The program may be none, and an honest figure of
//! a file system with its cache is not to be accused: without a word, the subject is not known.

use activebench_model::claim::Subject;
use activebench_model::direction::Direction;
use activebench_model::observed_pass::{ObservedPass, ObservedWindow};
use activebench_model::units::Unit;

use super::Known;
use crate::printed_numbers::PrintedNumber;

/// Benchmarks of storage, by their programs.
const BENCHMARKS: &[&str] = &[
    "sysbench",
    "fs_mark",
    "ioping",
    "hdparm",
    "f3write",
    "f3read",
    "dbench",
    "tiobench",
    "tiotest",
    "diskspd",
    "vdbench",
    "elbencho",
    "ior",
    "pg_test_fsync",
    "filebench",
    "stress-ng",
    "xdd",
    "spew",
    "postmark",
];

/// Words for the storage.
const STORAGE: &[&str] = &["disk", "device", "drive", "storage", "ssd", "hdd", "nvme"];

/// Words for durable data.
const DURABLE: &[&str] = &["durable", "fsync", "fdatasync", "synced", "flushed", "persistent"];

/// Words for the cache.
const CACHED: &[&str] = &["cache", "cached", "memory", "buffered"];

/// Returns the subject, with the reason as a fragment.
pub(super) fn of(
    number: &PrintedNumber,
    pass: &ObservedPass,
    window: &ObservedWindow,
    known: Known<'_>,
) -> (Subject, String) {
    if let Some(subject) = known.subject {
        return (subject, "--subject".to_owned());
    }
    let line = number.source.text.to_ascii_lowercase();
    let word_of = |words: &[&'static str]| {
        let mut own = line.split(|c: char| !c.is_ascii_alphanumeric());
        own.find_map(|word| words.iter().copied().find(|known| *known == word))
    };
    let program = known.program.rsplit('/').next().unwrap_or(known.program);
    let writes = matches!(pass.direction, Direction::Write | Direction::Mixed);
    if matches!(number.unit, Unit::Bytes | Unit::Count) {
        return (Subject::CachedFilesystem, "an amount says nothing of the storage".to_owned());
    }
    if pass.names.is_some() {
        return (Subject::Metadata, "it is about the names of files".to_owned());
    }
    if number.is_unsynced {
        return (Subject::CachedFilesystem, "its words say that nothing is synced".to_owned());
    }
    // One figure of what was synced and of what may come from the cache: whoever prints it says nothing of either.
    if pass.direction == Direction::Mixed && !pass.is_direct {
        let why = "it counts reads and writes together, and nothing says which";
        return (Subject::Unknown, why.to_owned());
    }
    if let Some(word) = word_of(CACHED) {
        return (Subject::CachedFilesystem, format!("its line says `{word}`"));
    }
    if let Some(word) = word_of(DURABLE).filter(|_| writes) {
        return (Subject::DurableWrite, format!("its line says `{word}`"));
    }
    if let Some(word) = word_of(STORAGE) {
        return (Subject::Device, format!("its line says `{word}`"));
    }
    if BENCHMARKS.contains(&program) {
        return (Subject::Device, format!("{program} is a benchmark of storage"));
    }
    if pass.is_direct {
        return (Subject::Device, "the files were opened with O_DIRECT".to_owned());
    }
    if writes && (window.has_sync || pass.is_synchronous) {
        return (Subject::DurableWrite, "all that was written was synced inside the time".to_owned());
    }
    (Subject::Unknown, "nothing says which".to_owned())
}
