//! Reads a run directory that may come from anybody.

use std::collections::BTreeMap;
use std::io;
use std::marker::PhantomData;
use std::path::Path;

use activebench_model::call::{Place, PlainCall};
use activebench_model::coverage::Coverage;
use activebench_model::event::Event;
use activebench_model::event_kinds;
use activebench_model::library::LibraryCalls;
use activebench_model::log::Totals;
use activebench_model::output::{ToolFile, ToolOutput};
use activebench_model::run::{FORMAT, Manifest};
use activebench_model::sha256;
use activebench_model::source::{Batches, EventSource, Unreadable};
use activebench_model::table::ColumnAbout;
use activebench_model::thread_stacks::Stacks;
use serde::{Deserialize, Serialize};

use crate::error::RecordError;
use crate::figures::FigureRow;
use crate::folder::{EntryKind, RunFolder};
use crate::layout::{
    COMPRESSED, EVIDENCE, FILES, KeptFile, LIBRARY, MANIFEST, OUTPUT_BYTES, RUN, STACKS, TOTALS, is_derived, is_inside,
    measured_stream,
};
use crate::part::{Table, decode, described, stated_rows};
use crate::tables::CallClass;
use crate::writer::json;

/// A stored run. Its files are opened through one descriptor, and the bytes of each are compared with the manifest
/// before they are parsed.
#[derive(Clone, Debug)]
pub struct RunReader {
    folder: RunFolder,
    manifest: Manifest,
    manifest_sha256: String,
    is_sealed: bool,
}

/// A file whose content is not what the manifest says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// Its name relative to the run directory.
    pub name: String,
    /// The SHA-256 that the manifest states.
    pub expected: String,
    /// The SHA-256 that it has, or why it could not be read.
    pub found: Result<String, String>,
}

/// A run whose evidence was compared with the manifest.
#[derive(Debug)]
pub struct Checked {
    /// The run without the files that are not what was recorded.
    pub reader: RunReader,
    /// The files that it lacks; empty for a whole run.
    pub mismatches: Vec<Mismatch>,
    /// Rows of each table that are there.
    rows: BTreeMap<&'static str, u64>,
}

impl Checked {
    /// Corrects the account of records where tables have fewer rows than arrived: what is missing counts as lost, as if
    /// the observer had lost it. Returns what does not add up, as lower-case fragments.
    ///
    /// Rows are compared table by table. Of sampled payload only a part is kept, so that a shortage shows only where
    /// all samples were kept.
    pub fn settle(&self, coverage: &mut Coverage) -> Vec<String> {
        let mut faults = Vec::new();
        let cut = coverage.log.as_ref().and_then(|log| log.cut.as_ref()).map(|cut| cut.records.clone());
        for (table, rows) in &self.rows {
            let samples_all = coverage.payload.as_ref().is_some_and(|payload| payload.one_in == 1);
            let mut classes: Vec<_> =
                coverage.records.iter_mut().filter(|(class, _)| is_of_table(class.name(), table)).collect();
            if classes.is_empty() {
                continue;
            }
            let kept = |class, received: u64| {
                let added_up = cut.as_ref().and_then(|records| records.get(class)).copied().unwrap_or(0);
                received.saturating_sub(added_up)
            };
            let arrived =
                classes.iter().fold(0, |sum: u64, (class, account)| sum.saturating_add(kept(*class, account.received)));
            let is_sampled = *table == "payload" && !samples_all;
            // The birth of the tool itself is before the first record: it is a row of its own.
            if *rows > arrived.saturating_add(u64::from(*table == "tasks")) {
                faults
                    .push(format!("the table {table} has {rows} rows, and {arrived} records arrived: some were added"));
            } else if *rows < arrived && !is_sampled {
                let missing = arrived - rows;
                faults.push(format!("{missing} of {arrived} rows of the table {table} are not in the run directory"));
                for (_, account) in &mut classes {
                    // Which of two classes the rows were of is unknown.
                    let lost = missing.min(account.received);
                    account.received -= lost;
                    account.lost = account.lost.saturating_add(lost);
                }
            }
        }
        faults
    }
}

/// `true` if records of a class become rows of a table: both have one name, except that the block layer's two classes
/// share a table.
fn is_of_table(class: &str, table: &str) -> bool {
    class == table || (table == "block" && class == "block_queued")
}

/// The fields that the manifest of every version has.
#[derive(Deserialize)]
struct Head {
    format: u32,
    #[serde(default)]
    unfinished: bool,
}

impl RunReader {
    /// Reads the manifest, and checks its seal and which files are there. Contents are checked by
    /// [`RunReader::checked`] and on reading.
    ///
    /// # Errors
    /// Returns an error if this is not a run directory, the run was never finished, a later version wrote it, the
    /// manifest is damaged or was changed, a listed file is missing or not a regular file, or a file that would be
    /// evidence is not listed.
    pub fn open(directory: &Path) -> Result<Self, RecordError> {
        match RunFolder::open(directory) {
            Ok(folder) => Self::open_in(folder),
            Err(RecordError::Io { source, .. })
                if matches!(source.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
            {
                Err(RecordError::NotARun { path: directory.to_owned() })
            }
            Err(error) => Err(error),
        }
    }

    /// As [`RunReader::open`], for a run of a series: `name` is its folder in the directory, and not a link. An empty
    /// name is the directory itself.
    ///
    /// # Errors
    /// As there.
    pub fn open_inside(directory: &Path, name: &str) -> Result<Self, RecordError> {
        match name {
            "" => Self::open(directory),
            name => Self::open_in(RunFolder::open(directory)?.inner(name)?),
        }
    }

    pub(crate) fn open_in(folder: RunFolder) -> Result<Self, RecordError> {
        let directory = folder.path();
        let path = directory.join(MANIFEST);
        let bytes = folder.read(MANIFEST)?.ok_or_else(|| RecordError::NotARun { path: directory.to_owned() })?;
        // The version first: a later manifest need not have the fields of this one.
        let head: Head = parse(&path, &bytes)?;
        if head.format > FORMAT {
            return Err(RecordError::NewerFormat { path, found: head.format, supported: FORMAT });
        }
        if head.unfinished {
            return Err(RecordError::Unfinished { path: directory.to_owned() });
        }
        let is_sealed = RUN.check(&folder, &bytes)?;
        let manifest: Manifest = parse(&path, &bytes)?;
        for name in manifest.sha256.keys() {
            if !is_inside(name) {
                return Err(RecordError::OutsideName { name: name.clone() });
            }
            match folder.kind(name)? {
                Some(EntryKind::File) => {}
                Some(other) => return Err(RecordError::NotAFile { path: directory.join(name), what: other.noun() }),
                None => return Err(RecordError::MissingFile { path: directory.join(name) }),
            }
        }
        let reader = Self { manifest, manifest_sha256: sha256::of_bytes(&bytes), is_sealed, folder };
        reader.check_unlisted()?;
        Ok(reader)
    }

    /// Refuses a file that would be evidence and is not listed: whoever takes a file's line out of the manifest would
    /// otherwise take the file out of the run.
    fn check_unlisted(&self) -> Result<(), RecordError> {
        let unlisted = |name: &str| match self.manifest.sha256.contains_key(name) {
            true => Ok(()),
            false => Err(RecordError::UnlistedFile { path: self.folder.path().join(name) }),
        };
        for name in EVIDENCE {
            if self.folder.kind(name)?.is_some() {
                unlisted(name)?;
            }
        }
        if self.folder.kind("events")? == Some(EntryKind::Folder) {
            for (name, _) in self.folder.inner("events")?.entries()? {
                let name = format!("events/{}", name.to_string_lossy());
                if table_of(&name).is_some() {
                    unlisted(&name)?;
                }
            }
        }
        Ok(())
    }

    /// The manifest.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The SHA-256 of the manifest as it is stored, in lower-case hexadecimal.
    pub fn manifest_sha256(&self) -> &str {
        &self.manifest_sha256
    }

    /// `true` if a seal beside the manifest states its SHA-256. Runs of earlier versions have none: then nothing shows
    /// that the manifest is the one that was recorded.
    pub fn is_sealed(&self) -> bool {
        self.is_sealed
    }

    /// The directory.
    pub fn directory(&self) -> &Path {
        self.folder.path()
    }

    /// The open directory.
    pub fn folder(&self) -> &RunFolder {
        &self.folder
    }

    /// Every evidence file whose content is not what was recorded; empty when all are.
    pub fn verify_hashes(&self) -> Vec<Mismatch> {
        self.checked().mismatches
    }

    /// Compares every evidence file with the manifest, and counts the rows of the tables. What is parsed afterwards is
    /// compared again: a file can change meanwhile.
    pub fn checked(&self) -> Checked {
        let mut reader = self.clone();
        let mut mismatches = Vec::new();
        let mut rows = TABLES.iter().map(|table| (*table, 0)).collect::<BTreeMap<&'static str, u64>>();
        for (name, expected) in &self.manifest.sha256 {
            let table = table_of(name).map(|(table, _)| table);
            let found = match table {
                // Parts are bounded, and their rows are counted on the way.
                Some(_) => self
                    .folder
                    .read(name)
                    .map(|bytes| bytes.map(|bytes| (sha256::of_bytes(&bytes), stated_rows(&bytes).unwrap_or(0)))),
                None => self.folder.sha256(name).map(|sum| sum.map(|sum| (sum, 0))),
            };
            let found = match found {
                Ok(Some(found)) => Ok(found),
                Ok(None) => Err("it is missing".to_owned()),
                Err(error) => Err(error.to_string()),
            };
            match (found, table) {
                (Ok((sum, part)), Some(table)) if sum == *expected => {
                    rows.entry(table).and_modify(|rows| *rows = rows.saturating_add(part));
                }
                (Ok((sum, _)), None) if sum == *expected => {}
                (found, _) => {
                    let found = found.map(|(sum, _)| sum);
                    mismatches.push(Mismatch { name: name.clone(), expected: expected.clone(), found });
                    reader.manifest.sha256.remove(name);
                }
            }
        }
        Checked { reader, mismatches, rows }
    }

    /// Returns the tool's output, and the files that its adapter reads. A stream that was not recorded is empty here
    /// and absent from the manifest's hashes.
    ///
    /// # Errors
    /// When a recorded stream cannot be read.
    pub fn output(&self) -> Result<ToolOutput, RecordError> {
        let mut bytes_in_all = 0_u64;
        let mut bounded = |name: &str| {
            let bytes = self.file(name)?;
            bytes_in_all += bytes.as_ref().map_or(0, |bytes| bytes.len() as u64);
            match bytes_in_all > OUTPUT_BYTES {
                true => Err(RecordError::TooLarge {
                    path: self.directory().join(name),
                    bytes: bytes_in_all,
                    most: OUTPUT_BYTES,
                }),
                false => Ok(bytes),
            }
        };
        let (stdout, stderr) = (bounded("stdout.txt")?, bounded("stderr.txt")?);
        let kept: Vec<KeptFile> = match self.file(FILES)? {
            Some(bytes) => parse(&self.directory().join(FILES), &bytes)?,
            None => Vec::new(),
        };
        let mut files = Vec::with_capacity(kept.len());
        for KeptFile { name, stored } in kept {
            files.extend(bounded(&stored)?.map(|bytes| ToolFile { name, bytes }));
        }
        Ok(ToolOutput { stdout: stdout.unwrap_or_default(), stderr: stderr.unwrap_or_default(), files })
    }

    /// Returns what a measurement printed, by its number; empty for a number that the record does not have.
    ///
    /// # Errors
    /// When a recorded stream cannot be read.
    pub fn measured_output(&self, number: u32) -> Result<ToolOutput, RecordError> {
        let stream = |stream| Ok(self.file(&measured_stream(number, stream))?.unwrap_or_default());
        Ok(ToolOutput { stdout: stream("stdout")?, stderr: stream("stderr")?, files: Vec::new() })
    }

    /// Returns the bytes of an evidence file; `None` if the run does not have it.
    ///
    /// # Errors
    /// When it cannot be read, or is not what was recorded.
    pub fn file(&self, name: &str) -> Result<Option<Vec<u8>>, RecordError> {
        match self.manifest.sha256.contains_key(name) {
            true => self.evidence(name).map(Some),
            false => Ok(None),
        }
    }

    /// Reads a listed file, and compares the bytes with the manifest: nothing else is parsed.
    fn evidence(&self, name: &str) -> Result<Vec<u8>, RecordError> {
        let path = || self.directory().join(name);
        let bytes = self.folder.read(name)?.ok_or_else(|| RecordError::MissingFile { path: path() })?;
        match self.manifest.sha256.get(name) == Some(&sha256::of_bytes(&bytes)) {
            true => Ok(bytes),
            false => Err(RecordError::Changed { path: path() }),
        }
    }

    /// Returns the totals of the events past the log's cut; empty for a log that was not cut.
    ///
    /// # Errors
    /// When the recorded file cannot be read.
    pub fn totals(&self) -> Result<Totals, RecordError> {
        match self.file(TOTALS)? {
            Some(bytes) => parse(&self.directory().join(TOTALS), &bytes),
            None => Ok(Totals::default()),
        }
    }

    /// Returns the calls without their costs, part by part: without the columns of the costs.
    pub fn plain_calls(&self) -> Parts<'_, PlainCall> {
        self.parts()
    }

    /// Returns the calls for which [`PlainCall::is_structural`] returns `true`. Only two columns are read of a part
    /// without such calls.
    pub fn structural_calls(&self) -> impl Iterator<Item = Result<Vec<PlainCall>, RecordError>> {
        let classes = self.parts::<CallClass>();
        let names = classes.names.clone();
        classes.zip(names).filter_map(|(classes, name)| match classes {
            Ok(classes) if !classes.iter().any(|class| PlainCall::is_structural(class.op, class.kind)) => None,
            Ok(_) => Some(self.read_part(&name).map(|mut calls: Vec<PlainCall>| {
                calls.retain(|call| PlainCall::is_structural(call.op, call.kind));
                calls
            })),
            Err(error) => Some(Err(error)),
        })
    }

    /// Returns where the calls moved data, part by part: only a few of their columns, read in a fraction of the time.
    /// The next part is read while the caller works on one.
    pub fn places(&self) -> impl Iterator<Item = Result<Vec<Place>, RecordError>> + use<> {
        ahead::<Place>(self.clone())
    }

    /// The stacks that samples point into; empty in a run without samples.
    ///
    /// # Errors
    /// Returns an error if they cannot be read or decoded.
    pub fn stacks(&self) -> Result<Stacks, RecordError> {
        match self.file(STACKS)? {
            Some(bytes) => parse(&self.directory().join(STACKS), &bytes),
            None => Ok(Stacks::default()),
        }
    }

    /// The calls of library functions; `None` in a run that did not count them.
    ///
    /// # Errors
    /// Returns an error if they cannot be read or decoded.
    pub fn library(&self) -> Result<Option<LibraryCalls>, RecordError> {
        self.file(LIBRARY)?.map(|bytes| parse(&self.directory().join(LIBRARY), &bytes)).transpose()
    }

    /// Writes a derived stage or report beside the evidence, all or nothing. It replaces the file in its other form:
    /// compressed or not.
    ///
    /// # Errors
    /// When the name is not one of a derived file, or the file cannot be written.
    pub fn write_derived(&self, name: &str, bytes: &[u8]) -> Result<(), RecordError> {
        if !is_derived(name) || !is_inside(name) {
            return Err(RecordError::NotDerived { name: name.to_owned() });
        }
        self.folder.replace(name, bytes)?;
        let other = name.strip_suffix(COMPRESSED).map_or_else(|| format!("{name}{COMPRESSED}"), str::to_owned);
        if self.folder.kind(&other)? == Some(EntryKind::File) {
            let path = self.directory().join(&other);
            self.folder.remove(&other).map_err(|source| RecordError::Io { path, source })?;
        }
        Ok(())
    }

    /// As [`RunReader::write_derived`], for a value as indented JSON.
    ///
    /// # Errors
    /// As there, and when the value has no JSON form.
    pub fn write_derived_json<T: Serialize + ?Sized>(&self, name: &str, value: &T) -> Result<(), RecordError> {
        self.write_derived(name, &json(name, value)?)
    }

    fn parts<R: Table>(&self) -> Parts<'_, R> {
        Parts { reader: self, names: self.names_of_parts::<R>().into_iter(), row: PhantomData }
    }

    /// Returns the names of a table's parts in their order.
    fn names_of_parts<R: Table>(&self) -> Vec<String> {
        let number = |name: &str| table_of(name).filter(|(table, _)| *table == R::TABLE).map(|(_, number)| number);
        let mut numbered: Vec<(u64, &String)> =
            self.manifest.sha256.keys().filter_map(|name| Some((number(name)?, name))).collect();
        // By number: `calls-10000` comes before `calls-9999` in the order of names.
        numbered.sort_unstable();
        numbered.into_iter().map(|(_, name)| name.clone()).collect()
    }

    fn read_part<R: Table>(&self, name: &str) -> Result<Vec<R>, RecordError> {
        decode(&self.directory().join(name), self.evidence(name)?)
    }
}

/// Returns the table that a file is a part of, and the part's number; `None` for other files.
pub(crate) fn table_of(name: &str) -> Option<(&'static str, u64)> {
    let (table, number) = name.strip_prefix("events/")?.strip_suffix(".parquet")?.rsplit_once('-')?;
    let table = TABLES.iter().find(|known| **known == table)?;
    Some((table, number.parse().ok()?))
}

fn about_table<R: Table>(about: &'static str) -> TableAbout {
    let columns = described::<R>().into_iter().map(|column| column.about).collect();
    TableAbout { name: R::TABLE, about, columns }
}

/// Description of a table of a run directory.
#[derive(Clone, Debug)]
pub struct TableAbout {
    /// Prefix of its files.
    pub name: &'static str,
    /// What its rows are, as a fragment.
    pub about: &'static str,
    /// Its columns, in their order.
    pub columns: Vec<ColumnAbout>,
}

macro_rules! parts {
    ($(
        $(#[$doc:meta])* $kind:ident $method:ident from $from:ident: $event:ty, $table:literal, $class:expr, $about:literal;
    )*) => {
        impl RunReader {
            $(
                $(#[$doc])*
                /// Part by part.
                pub fn $method(&self) -> Parts<'_, $event> {
                    self.parts()
                }
            )*
        }

        /// The names of all tables.
        const TABLES: &[&str] = &[$(<$event as Event>::TABLE,)*];

        /// Describes the tables of a run directory: those of the events, and that of the figures.
        pub fn tables() -> Vec<TableAbout> {
            vec![$(about_table::<$event>($about),)* about_table::<FigureRow>("The figures of a run, one row each")]
        }

        impl EventSource for RunReader {
            $(
                fn $method(&self) -> Batches<'_, $event> {
                    Box::new(self.parts().map(|part| part.map_err(Unreadable::new)))
                }
            )*

            fn plain_calls(&self) -> Batches<'_, PlainCall> {
                Box::new(self.plain_calls().map(|part| part.map_err(Unreadable::new)))
            }

            fn structural_calls(&self) -> Batches<'_, PlainCall> {
                Box::new(self.structural_calls().map(|part| part.map_err(Unreadable::new)))
            }

            fn stacks(&self) -> Result<Stacks, Unreadable> {
                self.stacks().map_err(Unreadable::new)
            }

            fn library(&self) -> Result<Option<LibraryCalls>, Unreadable> {
                self.library().map_err(Unreadable::new)
            }

            fn totals(&self) -> Result<Totals, Unreadable> {
                self.totals().map_err(Unreadable::new)
            }
        }
    };
}

event_kinds!(parts);

fn parse<'a, T: Deserialize<'a>>(path: &Path, bytes: &'a [u8]) -> Result<T, RecordError> {
    serde_json::from_slice(bytes).map_err(|error| RecordError::Manifest {
        path: path.to_owned(),
        why: if error.is_eof() { format!("it ends in the middle ({error})") } else { error.to_string() },
    })
}

/// The rows of one table, a part at a time, at most [`crate::ROWS_PER_PART`] where this
/// version wrote them. Ends after the first error.
pub struct Parts<'a, R> {
    reader: &'a RunReader,
    names: std::vec::IntoIter<String>,
    row: PhantomData<R>,
}

/// The rows of a table, read one part ahead by a thread of its own. Ends after the first error.
fn ahead<R: Table + Send + 'static>(reader: RunReader) -> impl Iterator<Item = Result<Vec<R>, RecordError>> {
    let (sender, receiver) = std::sync::mpsc::sync_channel(1);
    std::thread::spawn(move || {
        for part in reader.parts::<R>() {
            // The caller dropped the iterator: nobody wants the rest.
            if sender.send(part).is_err() {
                break;
            }
        }
    });
    receiver.into_iter()
}

impl<R: Table> Iterator for Parts<'_, R> {
    type Item = Result<Vec<R>, RecordError>;

    fn next(&mut self) -> Option<Self::Item> {
        let rows = self.reader.read_part(&self.names.next()?);
        if rows.is_err() {
            self.names = Vec::new().into_iter();
        }
        Some(rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_column_of_every_table_says_what_it_means() {
        for table in tables() {
            for (place, column) in table.columns.iter().enumerate() {
                let at = format!("{}.{}", table.name, column.name);
                assert!(!table.columns[..place].iter().any(|other| other.name == column.name), "{at} is there twice");
                assert!(column.meaning.ends_with('.') && column.meaning.starts_with(char::is_uppercase), "{at}");
                // A unit in a name is the unit.
                for (ending, unit) in [("_ns", "ns"), ("_bytes", "bytes")] {
                    assert_eq!(
                        column.name.ends_with(ending),
                        column.name.ends_with(ending) && column.unit == unit,
                        "{at}"
                    );
                }
            }
        }
    }
}
