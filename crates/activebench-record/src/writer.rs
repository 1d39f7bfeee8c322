//! Writes a run directory, and keeps what was written when something stops it.

use std::collections::BTreeMap;
use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use activebench_model::event::RecordClass;
use activebench_model::event_kinds;
use activebench_model::output::{ToolFile, ToolOutput};
use activebench_model::run::{FORMAT, Manifest};
use activebench_model::sha256;
use activebench_model::source::EventSource;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::RunReader;
use crate::error::RecordError;
use crate::folder::RunFolder;
use crate::layout::{EVIDENCE, FILES, KeptFile, MANIFEST, RUN, SEAL, is_derived, is_inside, measured_stream};
use crate::part::{ROWS_PER_PART, Table, encode};
use crate::reader::table_of;
use crate::storage::{Stopped, Storage};
use crate::tables::Row;

/// Room that the placeholder manifest holds, so that the real one fits on a disk that has
/// filled up since: a hash line is about 110 bytes, so this is enough for 2,000 parts.
const RESERVED_BYTES: usize = 256 << 10;

/// The manifest of a run that is not finished.
#[derive(Deserialize)]
struct Placeholder {
    #[serde(default)]
    draft: serde_json::Value,
}

/// Writes one run.
///
/// A write error does not end the record: what was written stays, the reason is kept ([`RunWriter::incomplete`]), rows
/// that could not be stored are counted as lost in the manifest, and later writes are still tried. Memory: one part of
/// rows per table, and one more while it is encoded.
pub struct RunWriter {
    directory: PathBuf,
    folder: RunFolder,
    /// Says that the run is being recorded, for as long as this value lives.
    #[expect(dead_code, reason = "it is held")]
    lock: Option<OwnedFd>,
    storage: Box<dyn Storage>,
    rows_per_part: usize,
    tables: Tables,
    sha256: BTreeMap<String, String>,
    dropped_rows: BTreeMap<RecordClass, u64>,
    incomplete: Vec<String>,
}

/// Rows of a table that wait for a whole part, and the number of parts written.
pub struct Waiting<R> {
    rows: Vec<R>,
    parts: usize,
}

// Not derived: that would ask for `R: Default`.
impl<R> Default for Waiting<R> {
    fn default() -> Self {
        Self { rows: Vec::new(), parts: 0 }
    }
}

/// A kind of events with its place among the tables. Not exported: the kinds are those of this version.
pub trait Appended: Row {
    /// Returns the rows that wait.
    fn waiting(tables: &mut Tables) -> &mut Waiting<Self>;
}

macro_rules! tables {
    ($(
        $(#[$doc:meta])* $kind:ident $method:ident from $from:ident: $event:ty, $table:literal, $class:expr, $about:literal;
    )*) => {
        /// The rows that wait, by kind.
        #[derive(Default)]
        pub struct Tables { $($method: Waiting<$event>,)* }

        $(
            impl Appended for $event {
                fn waiting(tables: &mut Tables) -> &mut Waiting<Self> {
                    &mut tables.$method
                }
            }
        )*

        impl RunWriter {
            /// Adds the events of a source; returns why some are not there. `go_on` is called with the number of
            /// events of each batch, after it; where it returns `false`, no more are added.
            pub fn append_all(&mut self, source: &dyn EventSource, go_on: &mut dyn FnMut(u64) -> bool) -> Vec<String> {
                let mut unread = Vec::new();
                $(
                    for batch in source.$method() {
                        match batch {
                            Ok(events) => {
                                self.append(&events);
                                if !go_on(events.len() as u64) {
                                    unread.push("interrupted while the events were written".to_owned());
                                    return unread;
                                }
                            }
                            Err(error) => unread.push(error.to_string()),
                        }
                    }
                )*
                unread
            }

            fn finish_tables(&mut self) {
                $(self.finish_table::<$event>();)*
            }
        }
    };
}

event_kinds!(tables);

impl RunWriter {
    /// Creates the directory and its parents, and reserves room for the manifest.
    ///
    /// # Errors
    /// When the directory cannot be made, or exists and is not empty.
    pub fn create(directory: &Path) -> Result<Self, RecordError> {
        Self::create_with(directory, &())
    }

    /// As [`RunWriter::create`]. The draft is what [`RunWriter::resume`] gives to whoever completes the record if this
    /// process is killed.
    ///
    /// # Errors
    /// As there, and when the draft cannot be serialised.
    pub fn create_with(directory: &Path, draft: &impl Serialize) -> Result<Self, RecordError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| RecordError::Create { path, source }
        };
        if let Some(above) = directory.parent() {
            fs::create_dir_all(above).map_err(failed(above))?;
        }
        // What a benchmark printed and which files it opened is for its user alone.
        match fs::DirBuilder::new().mode(0o700).create(directory) {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            other => other.map_err(failed(directory))?,
        }
        let folder = RunFolder::open(directory).map_err(|error| match error {
            RecordError::Io { path, source } => RecordError::Create { path, source },
            other => other,
        })?;
        if !folder.entries()?.is_empty() {
            return Err(RecordError::NotEmpty { path: directory.to_owned() });
        }
        folder.create_folder("events").map_err(failed(&directory.join("events")))?;
        let draft = serde_json::to_value(draft)
            .map_err(|error| RecordError::Manifest { path: directory.join(MANIFEST), why: error.to_string() })?;
        let lock = folder.lock()?.ok_or_else(|| RecordError::InProgress { path: directory.to_owned() })?;
        let storage = Box::new(folder.clone());
        let writer = Self { lock: Some(lock), ..Self::with_storage(&folder, storage, ROWS_PER_PART, &draft)? };
        // Our writes so far must not be written back while the tool runs: on a shared device that would be foreign I/O.
        if let Some(manifest) = folder.file(MANIFEST)? {
            manifest.sync_all().map_err(failed(&directory.join(MANIFEST)))?;
        }
        if let Some(seal) = folder.file(SEAL)? {
            seal.sync_all().map_err(failed(&directory.join(SEAL)))?;
        }
        Ok(writer)
    }

    /// Opens the directory of a run whose recorder was killed, to write its record after all, and returns the draft with
    /// which it was created. Evidence that the recorder had written is removed: nothing lists it. Other files stay.
    ///
    /// # Errors
    /// When the directory has no such run, its recorder still lives, or it cannot be written.
    pub fn resume<D: DeserializeOwned>(directory: &Path) -> Result<(Self, D), RecordError> {
        let folder = RunFolder::open(directory)?;
        let lock = folder.lock()?.ok_or_else(|| RecordError::InProgress { path: directory.to_owned() })?;
        match RunReader::open(directory) {
            Err(RecordError::Unfinished { .. }) => {}
            Err(other) => return Err(other),
            Ok(_) => return Err(RecordError::NotEmpty { path: directory.to_owned() }),
        }
        let path = directory.join(MANIFEST);
        let unreadable =
            |error: serde_json::Error| RecordError::Manifest { path: path.clone(), why: error.to_string() };
        let placeholder = folder.read(MANIFEST)?.unwrap_or_default();
        let Placeholder { draft } = serde_json::from_slice(&placeholder).map_err(unreadable)?;
        let read = D::deserialize(&draft).map_err(unreadable)?;
        let removed =
            |name: &str| folder.remove(name).map_err(|source| RecordError::Io { path: directory.join(name), source });
        for (name, _) in folder.entries()? {
            match name.to_str() {
                Some("events") => {
                    for (inner, _) in folder.inner("events")?.entries()? {
                        let name = format!("events/{}", inner.to_string_lossy());
                        if table_of(&name).is_some() {
                            removed(&name)?;
                        }
                    }
                }
                Some(name) if EVIDENCE.contains(&name) || matches!(name, MANIFEST | SEAL) => removed(name)?,
                _ => {}
            }
        }
        let storage = Box::new(folder.clone());
        let writer = Self { lock: Some(lock), ..Self::with_storage(&folder, storage, ROWS_PER_PART, &draft)? };
        Ok((writer, read))
    }

    fn with_storage(
        folder: &RunFolder,
        mut storage: Box<dyn Storage>,
        rows_per_part: usize,
        draft: &serde_json::Value,
    ) -> Result<Self, RecordError> {
        let directory = folder.path();
        let mut placeholder = format!("{{\"format\":{FORMAT},\"unfinished\":true,\"draft\":{draft}}}\n").into_bytes();
        placeholder.resize(RESERVED_BYTES.max(placeholder.len()), b' ');
        for (name, bytes) in [(MANIFEST, placeholder), (SEAL, RUN.of(b"").into_bytes())] {
            let failed = |Stopped { source, .. }| RecordError::Create { path: directory.join(name), source };
            storage.create(name, &bytes).map_err(failed)?;
        }
        Ok(Self {
            directory: directory.to_owned(),
            folder: folder.clone(),
            lock: None,
            storage,
            rows_per_part,
            tables: Tables::default(),
            sha256: BTreeMap::new(),
            dropped_rows: BTreeMap::new(),
            incomplete: Vec::new(),
        })
    }

    /// The directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns the reasons why the record is not whole, so far; empty for a whole one.
    pub fn incomplete(&self) -> &[String] {
        &self.incomplete
    }

    /// Adds events. The calls of one thread must come in chronological order.
    pub fn append<R: Appended>(&mut self, rows: &[R]) {
        let mut rest = rows;
        while !rest.is_empty() {
            let waiting = R::waiting(&mut self.tables);
            let room = self.rows_per_part - waiting.rows.len();
            let (now, later) = rest.split_at(room.min(rest.len()));
            waiting.rows.extend_from_slice(now);
            rest = later;
            if waiting.rows.len() == self.rows_per_part {
                let (number, part) = (waiting.parts, std::mem::take(&mut waiting.rows));
                waiting.parts += 1;
                self.write_part(number, &part);
            }
        }
    }

    /// Writes a file whole: the tool's output, or a derived stage. When the disk fills up in a
    /// `.txt` its beginning is kept; of anything else a part would be worthless.
    ///
    /// # Errors
    /// Returns an error if the name leads out of the run directory, or is the manifest's. A failed write of evidence is
    /// not an error here, see [`RunWriter::incomplete`].
    pub fn write_file(&mut self, name: &str, bytes: &[u8]) -> Result<(), RecordError> {
        if !is_inside(name) || name == MANIFEST {
            return Err(RecordError::OutsideName { name: name.to_owned() });
        }
        self.store(name, bytes);
        Ok(())
    }

    /// As [`RunWriter::write_file`], for a value as indented JSON.
    ///
    /// # Errors
    /// As there, and when the value has no JSON form.
    pub fn write_json<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) -> Result<(), RecordError> {
        self.write_file(name, &json(name, value)?)
    }

    /// Keeps files that the tool read or wrote. Their names are the tool's and may be anything: they
    /// are stored under numbers.
    ///
    /// # Errors
    /// As [`RunWriter::write_json`].
    pub fn write_tool_files(&mut self, files: &[ToolFile]) -> Result<(), RecordError> {
        if files.is_empty() {
            return Ok(());
        }
        self.create_files()?;
        let mut kept = Vec::with_capacity(files.len());
        for (number, file) in files.iter().enumerate() {
            let stored = format!("files/{number:03}");
            self.write_file(&stored, &file.bytes)?;
            kept.push(KeptFile { name: file.name.clone(), stored });
        }
        self.write_json(FILES, &kept)
    }

    /// Keeps what a measurement printed, by its number.
    ///
    /// # Errors
    /// As [`RunWriter::write_json`].
    pub fn write_measured_output(&mut self, number: u32, output: &ToolOutput) -> Result<(), RecordError> {
        self.create_files()?;
        for (stream, bytes) in [("stdout", &output.stdout), ("stderr", &output.stderr)] {
            self.write_file(&measured_stream(number, stream), bytes)?;
        }
        Ok(())
    }

    /// Creates the folder of the tool's files.
    fn create_files(&self) -> Result<(), RecordError> {
        match self.folder.create_folder("files") {
            Err(source) if source.kind() != std::io::ErrorKind::AlreadyExists => {
                Err(RecordError::Create { path: self.directory.join("files"), source })
            }
            _ => Ok(()),
        }
    }

    /// Writes the remaining rows and the manifest, and returns the manifest as written: with the hashes, the reasons
    /// why the record is not whole, and the rows that could not be stored counted as lost.
    ///
    /// # Errors
    /// When the manifest could not be written.
    pub fn finish(mut self, mut manifest: Manifest) -> Result<Manifest, RecordError> {
        self.finish_tables();
        manifest.format = FORMAT;
        manifest.sha256 = self.sha256;
        for (class, dropped) in self.dropped_rows {
            let account = manifest.coverage.records.entry(class).or_default();
            // The rows had arrived. If the caller gave no account, they are at least known to have been made.
            match account.received.checked_sub(dropped) {
                Some(received) => account.received = received,
                None => account.made += dropped,
            }
            account.lost += dropped;
        }
        for reason in self.incomplete {
            if !manifest.incomplete.contains(&reason) {
                manifest.incomplete.push(reason);
            }
        }
        let bytes = json(MANIFEST, &manifest)?;
        // The seal first: until the manifest is there the run counts as unfinished, whatever the seal states.
        let sealed = RUN.of(&bytes);
        for (name, bytes) in [(SEAL, sealed.as_bytes()), (MANIFEST, &bytes)] {
            if self.storage.replace(name, bytes).is_err() {
                // There is no room for a second file: this uses the room of the placeholder.
                let failed = |source| RecordError::WriteManifest { path: self.directory.join(name), source };
                self.storage.overwrite(name, bytes).map_err(failed)?;
            }
        }
        Ok(manifest)
    }

    fn finish_table<R: Appended>(&mut self) {
        let rest = std::mem::take(R::waiting(&mut self.tables));
        if !rest.rows.is_empty() {
            self.write_part(rest.parts, &rest.rows);
        }
    }

    fn write_part<R: Appended>(&mut self, number: usize, rows: &[R]) {
        let name = format!("events/{}-{number:04}.parquet", <R as Table>::TABLE);
        let stored = match encode(rows) {
            Ok(bytes) => self.store(&name, &bytes),
            Err(error) => {
                self.remember(error.to_string());
                false
            }
        };
        if !stored {
            for row in rows {
                *self.dropped_rows.entry(row.class()).or_default() += 1;
            }
        }
    }

    /// Stores a file; returns `true` if all of it is on the disk.
    fn store(&mut self, name: &str, bytes: &[u8]) -> bool {
        let Err(Stopped { written, source }) = self.storage.create(name, bytes) else {
            self.account(name, bytes);
            return true;
        };
        if written > 0 && name.ends_with(".txt") {
            self.remember(format!("cannot write {name} whole: {source}; the first {written} bytes are kept"));
            self.account(name, &bytes[..written]);
            return false;
        }
        self.remember(format!("cannot write {name}: {source}"));
        match self.storage.remove(name) {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => self.remember(format!("cannot remove the unfinished {name}: {error}")),
        }
        false
    }

    fn account(&mut self, name: &str, bytes: &[u8]) {
        if !is_derived(name) {
            self.sha256.insert(name.to_owned(), sha256::of_bytes(bytes));
        }
    }

    fn remember(&mut self, reason: String) {
        self.incomplete.push(reason);
    }
}

pub(crate) fn json<T: Serialize + ?Sized>(name: &str, value: &T) -> Result<Vec<u8>, RecordError> {
    let mut bytes = serde_json::to_vec_pretty(value)
        .map_err(|error| RecordError::Encode { name: name.to_owned(), why: error.to_string() })?;
    bytes.push(b'\n');
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::io;

    use activebench_model::call::Call;
    use activebench_model::command::CommandLine;
    use activebench_model::coverage::RecordAccount;

    use super::*;
    use crate::RunReader;
    use crate::samples;

    /// A disk with this much room left.
    struct Full {
        disk: RunFolder,
        room: usize,
        may_replace: bool,
    }

    impl Storage for Full {
        fn create(&mut self, name: &str, bytes: &[u8]) -> Result<(), Stopped> {
            let fits = bytes.len().min(self.room);
            self.disk.create(name, &bytes[..fits])?;
            self.room -= fits;
            if fits < bytes.len() {
                return Err(Stopped { written: fits, source: io::ErrorKind::StorageFull.into() });
            }
            Ok(())
        }
        fn replace(&mut self, name: &str, bytes: &[u8]) -> Result<(), RecordError> {
            let full = RecordError::Io { path: name.into(), source: io::ErrorKind::StorageFull.into() };
            if self.may_replace { self.disk.replace(name, bytes) } else { Err(full) }
        }
        fn overwrite(&mut self, name: &str, bytes: &[u8]) -> io::Result<()> {
            self.disk.overwrite(name, bytes)
        }
        fn remove(&mut self, name: &str) -> io::Result<()> {
            self.room += fs::metadata(self.disk.path().join(name))?.len() as usize;
            self.disk.remove(name)
        }
    }

    fn writer_on(directory: &Path, room: usize, may_replace: bool) -> RunWriter {
        fs::create_dir_all(directory.join("events")).unwrap();
        let folder = RunFolder::open(directory).unwrap();
        let room = RESERVED_BYTES + RUN.of(b"").len() + room;
        let storage = Box::new(Full { disk: folder.clone(), room, may_replace });
        RunWriter::with_storage(&folder, storage, 100, &serde_json::Value::Null).unwrap()
    }

    #[test]
    fn a_full_disk_costs_the_rest_and_never_what_was_written() {
        let calls = samples::calls(1_000);
        let mut manifest = samples::manifest();
        let account = RecordAccount { made: 1_000, received: 1_000, lost: 0, ..RecordAccount::default() };
        manifest.coverage.records.insert(RecordClass::Calls, account);
        // Whole parts, no part at all, and manifests by both ways.
        for (room, may_replace) in [(30_000, false), (30_000, true), (0, false), (1, true)] {
            let directory = tempfile::tempdir().unwrap();
            let mut writer = writer_on(directory.path(), room, may_replace);
            writer.append(&calls);
            let written = writer.finish(manifest.clone()).unwrap();

            assert!(!written.incomplete.is_empty(), "{room}");
            let reader = RunReader::open(directory.path()).unwrap();
            assert_eq!(reader.manifest(), &written);
            assert_eq!(reader.verify_hashes(), []);
            let kept: Vec<Call> = reader.calls().flat_map(|part| part.unwrap()).collect();
            assert!(kept.len() < calls.len() && kept.len().is_multiple_of(100), "{}", kept.len());
            assert_eq!(kept, calls[..kept.len()]);
            assert_eq!(room > 1, !kept.is_empty());
            let lost = (calls.len() - kept.len()) as u64;
            let expected = RecordAccount { made: 1_000, received: 1_000 - lost, lost, ..RecordAccount::default() };
            assert_eq!(written.coverage.records[&RecordClass::Calls], expected);
        }
    }

    #[test]
    fn rows_without_an_account_are_still_counted_as_lost() {
        let directory = tempfile::tempdir().unwrap();
        let mut writer = writer_on(directory.path(), 0, true);
        writer.append(&samples::cache(7));
        let written = writer.finish(samples::manifest()).unwrap();
        let expected = RecordAccount { made: 7, received: 0, lost: 7, ..RecordAccount::default() };
        assert_eq!(written.coverage.records[&RecordClass::PageCache], expected);
    }

    #[test]
    fn the_beginning_of_the_output_is_kept_and_small_files_still_fit_later() {
        let directory = tempfile::tempdir().unwrap();
        let mut writer = writer_on(directory.path(), 1_000, false);
        writer.write_file("output-lines.json", &[b'x'; 2_000]).unwrap();
        writer.write_file("stderr.txt", b"short").unwrap();
        writer.write_file("stdout.txt", &[b'y'; 2_000]).unwrap();
        assert_eq!(writer.incomplete().len(), 2, "{:?}", writer.incomplete());
        let written = writer.finish(samples::manifest()).unwrap();
        assert_eq!(written.sha256.keys().collect::<Vec<_>>(), ["stderr.txt", "stdout.txt"]);
        let reader = RunReader::open(directory.path()).unwrap();
        let output = reader.output().unwrap();
        assert_eq!((output.stdout.len(), output.stderr.as_slice()), (995, b"short".as_slice()));
        assert_eq!(reader.verify_hashes(), []);
    }

    #[test]
    fn the_reserved_room_holds_a_long_manifest() {
        let mut manifest = samples::manifest();
        for part in 0..2_000 {
            manifest.sha256.insert(format!("events/calls-{part:04}.parquet"), sha256::of_bytes(b""));
        }
        assert!(json(MANIFEST, &manifest).unwrap().len() < RESERVED_BYTES);
    }

    #[test]
    fn names_outside_and_the_manifest_itself_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let mut writer = writer_on(directory.path(), 1_000, true);
        for name in ["../x", "/x", "run.json"] {
            assert!(matches!(writer.write_file(name, b""), Err(RecordError::OutsideName { .. })), "{name}");
        }
    }

    #[test]
    fn a_directory_in_use_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let run = directory.path().join("a/b");
        drop(RunWriter::create(&run).unwrap());
        assert!(matches!(RunWriter::create(&run), Err(RecordError::NotEmpty { .. })));
        fs::write(directory.path().join("file"), "").unwrap();
        assert!(matches!(RunWriter::create(&directory.path().join("file")), Err(RecordError::Create { .. })));
    }

    #[test]
    fn the_manifest_keeps_what_the_caller_put_into_it() {
        let directory = tempfile::tempdir().unwrap();
        let mut manifest = samples::manifest();
        manifest.command = CommandLine { argv: vec!["iozone".to_owned()], cwd: "/mnt".to_owned() };
        manifest.incomplete = vec!["interrupted".to_owned()];
        let writer = RunWriter::create(&directory.path().join("run")).unwrap();
        let written = writer.finish(manifest.clone()).unwrap();
        assert_eq!(written, manifest);
    }
}
