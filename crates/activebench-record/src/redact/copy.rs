//! Writes the copy: a run directory like any other, with hashes of its own.

use std::collections::BTreeMap;
use std::path::Path;

use activebench_model::call::Op;
use activebench_model::event::NameEvent;
use activebench_model::event_kinds;
use activebench_model::library::LibraryCalls;
use activebench_model::output::ToolFile;
use activebench_model::run::Manifest;
use activebench_model::series::SeriesManifest;
use activebench_model::thread_stacks::Stacks;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::learn::executed as executed_of;
use super::redactor::Redactor;
use crate::error::RecordError;
use crate::layout::{FILES, KEPT_PAYLOAD, LIBRARY, MANIFEST, STACKS, TOTALS};
use crate::reader::RunReader;
use crate::series::write_series;
use crate::tables::{Row, Visitor};
use crate::writer::RunWriter;

/// Maximum bytes of the kernel's names of tasks.
const COMM_BYTES: usize = 15;
/// Bytes at which names of files are cut.
const NAME_BYTES: usize = 255;

macro_rules! tables {
    ($(
        $(#[$doc:meta])* $kind:ident $method:ident from $from:ident: $event:ty, $table:literal, $class:expr, $about:literal;
    )*) => {
        /// Returns `true` for a table whose files the copy keeps as they are, `false` for one that is written anew;
        /// `None` for a table that this version does not know.
        fn is_harmless(table: &str) -> Option<bool> {
            match table { $($table => Some(<$event>::IS_HARMLESS),)* _ => None }
        }

        impl Redactor {
            /// Writes the tables anew that the copy does not keep as they are.
            fn copy_tables(&self, from: &RunReader, writer: &mut RunWriter) -> Result<(), RecordError> {
                $(
                    if !<$event>::IS_HARMLESS {
                        for part in from.$method() {
                            let mut rows = part?;
                            <$event>::visit(&mut rows, &mut Cleaner(self));
                            writer.append(&rows);
                        }
                    }
                )*
                Ok(())
            }
        }
    };
}

event_kinds!(tables);

/// Replaces the values that a copy cannot keep.
struct Cleaner<'a>(&'a Redactor);

impl Visitor for Cleaner<'_> {
    fn comm(&mut self, comm: &mut String) {
        *comm = self.0.cut_text(comm, COMM_BYTES);
    }

    fn path(&mut self, path: &mut String) {
        *path = self.0.cut_text(path, NAME_BYTES);
    }

    fn names(&mut self, rows: &mut [NameEvent]) {
        self.0.names(rows);
    }

    fn kept_offset(&mut self, offset: &mut Option<u64>) {
        *offset = None;
    }
}

impl Redactor {
    /// Writes a redacted copy of a run into a new directory; returns its manifest. If the run of its preconditioning is
    /// copied too, `preconditioning_sha256` is that of the copy's manifest.
    ///
    /// # Errors
    /// Returns an error if the run cannot be read or the copy cannot be written whole.
    pub fn copy_run(
        &self,
        from: &RunReader,
        to: &Path,
        preconditioning_sha256: Option<&str>,
    ) -> Result<Manifest, RecordError> {
        let mut writer = RunWriter::create(to)?;
        let mut redaction = self.account();
        // The manifest lists it: without it the copy would not be that of the run.
        let evidence =
            |name: &str| from.file(name)?.ok_or_else(|| RecordError::MissingFile { path: from.directory().join(name) });
        for name in from.manifest().sha256.keys() {
            let table = name.strip_prefix("events/").and_then(|name| name.split_once('-')).map(|(table, _)| table);
            match (name.as_str(), table.and_then(is_harmless)) {
                (FILES | STACKS | LIBRARY, _) | (_, Some(false)) => {}
                (_, Some(true)) => writer.write_file(name, &evidence(name)?)?,
                (KEPT_PAYLOAD, _) => {
                    let why = "what the tool wrote can hold anything";
                    redaction.left_out.insert(name.clone(), why.to_owned());
                }
                (TOTALS | "output-lines.json", _) => {
                    let bytes = evidence(name)?;
                    let value: Value = serde_json::from_slice(&bytes).map_err(|error| RecordError::Manifest {
                        path: from.directory().join(name),
                        why: error.to_string(),
                    })?;
                    writer.write_json(name, &self.value(value))?;
                }
                ("stdout.txt" | "stderr.txt", _) => {
                    writer.write_file(name, &self.bytes(&evidence(name)?))?;
                }
                (name, _) if name.starts_with("files/") => {}
                _ => {
                    let why = "this version does not know how to redact it";
                    redaction.left_out.insert(self.text(name), why.to_owned());
                }
            }
        }
        let files = from
            .output()?
            .files
            .into_iter()
            .map(|file| ToolFile { name: self.cut_text(&file.name, NAME_BYTES), bytes: self.bytes(&file.bytes) });
        writer.write_tool_files(&files.collect::<Vec<_>>())?;
        for measurement in &from.manifest().measurements {
            let mut output = from.measured_output(measurement.number)?;
            (output.stdout, output.stderr) = (self.bytes(&output.stdout), self.bytes(&output.stderr));
            writer.write_measured_output(measurement.number, &output)?;
        }
        if from.manifest().sha256.contains_key(STACKS) {
            writer.write_json(STACKS, &self.json::<Stacks>(&from.stacks()?, STACKS)?)?;
        }
        if let Some(library) = from.library()? {
            writer.write_json(LIBRARY, &self.json::<LibraryCalls>(&library, LIBRARY)?)?;
        }
        self.copy_tables(from, &mut writer)?;
        // The writer goes on when the disk is full; an incomplete copy is not a copy.
        if let Some(why) = writer.incomplete().first() {
            return Err(RecordError::Encode { name: "the redacted copy".to_owned(), why: why.clone() });
        }
        let mut manifest: Manifest = self.json(from.manifest(), MANIFEST)?;
        if let Some(payload) = &mut manifest.coverage.payload {
            payload.kept_bytes = 0;
        }
        if let (Some(preparation), Some(sha256)) = (&mut manifest.preparation, preconditioning_sha256) {
            preparation.preconditioning.sha256 = sha256.to_owned();
        }
        // A copy of a copy has both redactions.
        if let Some(earlier) = manifest.redacted.take() {
            for (kind, words) in earlier.replaced {
                *redaction.replaced.entry(kind).or_default() += words;
            }
            redaction.left_out.extend(earlier.left_out);
        }
        manifest.redacted = Some(redaction);
        let incomplete = manifest.incomplete.len();
        let written = writer.finish(manifest)?;
        match written.incomplete.get(incomplete) {
            None => Ok(written),
            Some(why) => Err(RecordError::Encode { name: "the redacted copy".to_owned(), why: why.clone() }),
        }
    }

    /// Redacts names of files, and arguments: a word of these can be split over two pieces.
    fn names(&self, names: &mut [NameEvent]) {
        let mut executed: BTreeMap<_, BTreeMap<i64, Vec<u8>>> = BTreeMap::new();
        for (execution, argv) in executed_of(names) {
            let argv = argv.into_iter().map(|(number, argument)| (number, self.bytes(argument.as_bytes())));
            executed.insert(execution, argv.collect());
        }
        for event in names {
            let argument = executed.get_mut(&(event.tgid, event.at_ns)).and_then(|argv| argv.get_mut(&event.returned));
            event.name = match (event.op, argument) {
                // As many bytes as this piece had.
                (Op::Execute, Some(rest)) => {
                    let piece: Vec<u8> = rest.drain(..event.name.len().min(rest.len())).collect();
                    String::from_utf8_lossy(&piece).into_owned()
                }
                _ => self.cut_text(&event.name, NAME_BYTES),
            };
        }
    }

    /// Redacts every string of a value of ours; the keys are ours and stay.
    fn json<T: Serialize + DeserializeOwned>(&self, value: &T, name: &str) -> Result<T, RecordError> {
        let failed = |error: serde_json::Error| RecordError::Encode { name: name.to_owned(), why: error.to_string() };
        let value = serde_json::to_value(value).map_err(failed)?;
        serde_json::from_value(self.value(value)).map_err(failed)
    }

    fn value(&self, value: Value) -> Value {
        match value {
            // The kernel's names of tasks are in the manifest, too.
            Value::String(text) if text.len() == COMM_BYTES => Value::String(self.cut_text(&text, COMM_BYTES)),
            Value::String(text) => Value::String(self.text(&text)),
            Value::Array(values) => values.into_iter().map(|value| self.value(value)).collect(),
            Value::Object(fields) => fields.into_iter().map(|(key, value)| (key, self.value(value))).collect(),
            other => other,
        }
    }
}

/// Writes a redacted copy of `series.json`.
///
/// # Errors
/// When it cannot be written.
pub fn copy_series(redactor: &Redactor, manifest: &SeriesManifest, to: &Path) -> Result<(), RecordError> {
    // We name the folders, and the copies have the same names.
    let (runs, preconditioning) = (manifest.runs.clone(), manifest.preconditioning.clone());
    write_series(to, &SeriesManifest { runs, preconditioning, ..redactor.json(manifest, "series.json")? })
}
