//! The run directory: written once by `verify`, read by everything after it.
//!
//! Holds the layout, its version, the Parquet tables and the hashes. Does not judge: `activebench-facts` computes what
//! the events mean.
//!
//! # Layout, format version 2
//! ```text
//! RUN/
//!   run.json                  the manifest, written last; until then a marked placeholder
//!   run.json.sha256           its SHA-256, for `sha256sum --check`; older runs have none
//!   stdout.txt stderr.txt     the tool's output, byte for byte
//!   output-lines.json         when each line of it arrived
//!   events/calls-0000.parquet events/names-*, tasks-*, block-*, page_cache-*, cpu-*, samples-*, steal-*, payload-*
//!   files.json files/*        files that the tool read its work from or wrote its figures to, and their names;
//!                             files/measurement-N-*.txt: what a tool that a script started printed
//!   stacks.json               the distinct stacks that the samples point into, with symbols
//!   library.json              calls of library functions, if they were counted
//!   payload.bin               samples of what was written, one behind the other; only where they were to be kept
//!   totals.json               what the events past the log's cut add up to; only where it was cut
//!   figures.parquet report.txt report.json report.md   derived, see below; in a bundle also the stages (claims.json,
//!                             phases.json, facts.json, profiles.json, findings.json) and every other report
//! ```
//! **Evidence and derived files.** Everything that was observed is evidence: its SHA-256 is in the manifest, and it is
//! never written again. The stages computed from it ([`is_derived`]) are not hashed, because `recheck` computes and
//! writes them anew: their proof is the evidence. A derived file for programs (JSON, CSV, XML, SARIF) of more than
//! [`PLAIN_BYTES`] is stored compressed, with the ending `.zst`.
//!
//! **Tables.** One row per event, at most [`ROWS_PER_PART`] rows per file, zstd. A part is encoded in memory and
//! written at once: a disk that fills up loses whole parts and never makes one unreadable. Column names carry units.
//! Enumerations, flags, errors and devices are stored as words (`words.rs`). A file identity is the two nullable columns
//! `file_s_dev` and `file_ino`. What is unknown is null. Each file says what its columns mean; `docs/tables.md` lists them.
//! Columns that this version does not know are ignored; a missing or differently typed one is an error that names it. The
//! tables `cpu`, `samples`, `steal`, `payload` and `stacks.json` came later than the others: a reader that does not know
//! them leaves them out, and a run without them has none of their facts.
//!
//! **Earlier formats.** Format 1 has numbers in the place of words, in columns that end in `_code`, and -1, 0 or a negative
//! errno in the place of null. It is read as before.
//!
//! **Order.** Rows come back in the order in which they were appended. The calls of one
//! thread are chronological; calls of different threads are *not* sorted among each other,
//! since each thread's records arrive in batches.

mod columns;
mod derived;
mod error;
mod figures;
mod folder;
mod footer;
#[doc(hidden)]
pub mod fuzzing;
mod history;
mod kept_runs;
mod layout;
mod panics;
mod parquet;
mod part;
mod reader;
mod redact;
mod seal;
mod series;
mod storage;
mod tables;
mod thrift;
mod words;
mod writer;

#[cfg(test)]
mod samples;

pub use activebench_model::sha256::of_bytes as sha256;
pub use derived::{DerivedFile, PLAIN_BYTES};
pub use error::RecordError;
pub use figures::{FIGURES, encode_figures};
pub use folder::{EntryKind, RunFolder};
pub use history::{FigureFilter, FiguresRead, Found, find_runs, read_figures};
pub use kept_runs::{KeptRun, KeptRuns, kept_runs};
pub use layout::{KEPT_PAYLOAD, LIBRARY, MANIFEST, SEAL, SERIES_MANIFEST, SERIES_SEAL, STACKS, TOTALS, is_derived};
pub use panics::without_panic;
pub use parquet::{event_table, parquet};
pub use part::ROWS_PER_PART;
pub use reader::{Checked, Mismatch, Parts, RunReader, TableAbout, tables};
pub use redact::{Given, Redactor, copy_series};
pub use series::{StoredSeries, read_series, write_series};
pub use writer::RunWriter;
