//! Reads a run directory that may come from anybody.

use std::fs;
use std::io;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use activebench_model::call::{Place, PlainCall};
use activebench_model::event_kinds;
use activebench_model::log::Totals;
use activebench_model::output::{ToolFile, ToolOutput};
use activebench_model::run::{FORMAT, Manifest};
use activebench_model::sha256;
use activebench_model::source::{Batches, EventSource, Unreadable};
use activebench_model::thread_stacks::Stacks;
use serde::{Deserialize, Serialize};

use crate::error::RecordError;
use crate::layout::{FILES, KeptFile, MANIFEST, STACKS, TOTALS, is_derived, is_inside};
use crate::part::{Table, decode};
use crate::storage::{Disk, Storage, sha256_of_file};
use crate::tables::CallClass;
use crate::writer::json;

/// A stored run. Only files that the manifest lists are read as evidence: one that was
/// added to the directory later changes nothing.
#[derive(Debug)]
pub struct RunReader {
    directory: PathBuf,
    manifest: Manifest,
    manifest_sha256: String,
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

/// The fields that the manifest of every version has.
#[derive(Deserialize)]
struct Head {
    format: u32,
    #[serde(default)]
    unfinished: bool,
}

impl RunReader {
    /// Reads the manifest and checks that every file that it lists exists. Contents are checked by
    /// [`RunReader::verify_hashes`] and on reading.
    ///
    /// # Errors
    /// Returns an error if this is not a run directory, the run was never finished, a later version wrote it, the
    /// manifest is damaged, or a listed file is missing.
    pub fn open(directory: &Path) -> Result<Self, RecordError> {
        let path = directory.join(MANIFEST);
        let bytes = fs::read(&path).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
                RecordError::NotARun { path: directory.to_owned() }
            }
            _ => RecordError::Io { path: path.clone(), source },
        })?;
        // The version first: a later manifest need not have the fields of this one.
        let head: Head = parse(&path, &bytes)?;
        if head.format > FORMAT {
            return Err(RecordError::NewerFormat { path, found: head.format, supported: FORMAT });
        }
        if head.unfinished {
            return Err(RecordError::Unfinished { path: directory.to_owned() });
        }
        let manifest: Manifest = parse(&path, &bytes)?;
        for name in manifest.sha256.keys() {
            if !is_inside(name) {
                return Err(RecordError::OutsideName { name: name.clone() });
            }
            let file = directory.join(name);
            if !file.is_file() {
                return Err(RecordError::MissingFile { path: file });
            }
        }
        Ok(Self { directory: directory.to_owned(), manifest, manifest_sha256: sha256::of_bytes(&bytes) })
    }

    /// The manifest.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The SHA-256 of the manifest as it is stored, in lower-case hexadecimal.
    pub fn manifest_sha256(&self) -> &str {
        &self.manifest_sha256
    }

    /// The directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Every evidence file whose content is not what was recorded; empty when all are.
    pub fn verify_hashes(&self) -> Vec<Mismatch> {
        let check = |(name, expected): (&String, &String)| {
            let found = sha256_of_file(&self.directory.join(name)).map_err(|error| error.to_string());
            (found.as_ref() != Ok(expected)).then(|| Mismatch { name: name.clone(), expected: expected.clone(), found })
        };
        self.manifest.sha256.iter().filter_map(check).collect()
    }

    /// Returns the tool's output, and the files that its adapter reads. A stream that was not recorded is empty here
    /// and absent from the manifest's hashes.
    ///
    /// # Errors
    /// When a recorded stream cannot be read.
    pub fn output(&self) -> Result<ToolOutput, RecordError> {
        let stream = |name| self.file(name).map(Option::unwrap_or_default);
        let kept: Vec<KeptFile> = match self.file(FILES)? {
            Some(bytes) => parse(&self.directory.join(FILES), &bytes)?,
            None => Vec::new(),
        };
        let mut files = Vec::with_capacity(kept.len());
        for KeptFile { name, stored } in kept {
            files.extend(self.file(&stored)?.map(|bytes| ToolFile { name, bytes }));
        }
        Ok(ToolOutput { stdout: stream("stdout.txt")?, stderr: stream("stderr.txt")?, files })
    }

    /// Returns the bytes of an evidence file; `None` if the run does not have it.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn file(&self, name: &str) -> Result<Option<Vec<u8>>, RecordError> {
        if !self.manifest.sha256.contains_key(name) {
            return Ok(None);
        }
        let path = self.directory.join(name);
        fs::read(&path).map(Some).map_err(|source| RecordError::Io { path, source })
    }

    /// Returns the totals of the events past the log's cut; empty for a log that was not cut.
    ///
    /// # Errors
    /// When the recorded file cannot be read.
    pub fn totals(&self) -> Result<Totals, RecordError> {
        match self.file(TOTALS)? {
            Some(bytes) => parse(&self.directory.join(TOTALS), &bytes),
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
            Ok(_) => Some(read_part(&self.directory, name).map(|mut calls: Vec<PlainCall>| {
                calls.retain(|call| PlainCall::is_structural(call.op, call.kind));
                calls
            })),
            Err(error) => Some(Err(error)),
        })
    }

    /// Returns where the calls moved data, part by part: only a few of their columns, read in a fraction of the time.
    /// The next part is read while the caller works on one.
    pub fn places(&self) -> impl Iterator<Item = Result<Vec<Place>, RecordError>> + use<> {
        let Parts { directory, names, .. } = self.parts::<Place>();
        ahead(directory.to_owned(), names.map(str::to_owned).collect())
    }

    /// The stacks that samples point into; empty in a run without samples.
    ///
    /// # Errors
    /// Returns an error if they cannot be read or decoded.
    pub fn stacks(&self) -> Result<Stacks, RecordError> {
        match self.file(STACKS)? {
            Some(bytes) => parse(&self.directory.join(STACKS), &bytes),
            None => Ok(Stacks::default()),
        }
    }

    /// Writes a derived stage or report beside the evidence, all or nothing.
    ///
    /// # Errors
    /// When the name is not one of a derived file, or the file cannot be written.
    pub fn write_derived(&self, name: &str, bytes: &[u8]) -> Result<(), RecordError> {
        if !is_derived(name) || !is_inside(name) {
            return Err(RecordError::NotDerived { name: name.to_owned() });
        }
        let path = self.directory.join(name);
        Disk.replace(&path, bytes).map_err(|source| RecordError::Io { path, source })
    }

    /// As [`RunReader::write_derived`], for a value as indented JSON.
    ///
    /// # Errors
    /// As there, and when the value has no JSON form.
    pub fn write_derived_json<T: Serialize + ?Sized>(&self, name: &str, value: &T) -> Result<(), RecordError> {
        self.write_derived(name, &json(name, value)?)
    }

    fn parts<R: Table>(&self) -> Parts<'_, R> {
        let number = |name: &str| -> Option<u64> {
            let rest = name.strip_prefix("events/")?.strip_prefix(R::TABLE)?.strip_prefix('-')?;
            rest.strip_suffix(".parquet")?.parse().ok()
        };
        let mut numbered: Vec<(u64, &str)> =
            self.manifest.sha256.keys().filter_map(|name| Some((number(name)?, name.as_str()))).collect();
        // By number: `calls-10000` comes before `calls-9999` in the order of names.
        numbered.sort_unstable();
        let names: Vec<&str> = numbered.into_iter().map(|(_, name)| name).collect();
        Parts { directory: &self.directory, names: names.into_iter(), row: PhantomData }
    }
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
    directory: &'a Path,
    names: std::vec::IntoIter<&'a str>,
    row: PhantomData<R>,
}

/// The rows of a table, read one part ahead by a thread of its own. Ends after the first error.
fn ahead<R: Table + Send + 'static>(
    directory: PathBuf,
    names: Vec<String>,
) -> impl Iterator<Item = Result<Vec<R>, RecordError>> {
    let (sender, receiver) = std::sync::mpsc::sync_channel(1);
    std::thread::spawn(move || {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        for part in (Parts { directory: &directory, names: names.into_iter(), row: PhantomData }) {
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
        let rows = read_part(self.directory, self.names.next()?);
        if rows.is_err() {
            self.names = Vec::new().into_iter();
        }
        Some(rows)
    }
}

fn read_part<R: Table>(directory: &Path, name: &str) -> Result<Vec<R>, RecordError> {
    let path = directory.join(name);
    match fs::read(&path) {
        Ok(bytes) => decode(&path, bytes),
        Err(source) => Err(RecordError::Io { path, source }),
    }
}
