//! `figures.parquet`: the figures of a judged run for a history, one row per claim. A run that claims nothing has one
//! row without a figure.
//!
//! A derived file: `verify` and `recheck` write it, `history.rs` reads it. If it is missing or of another version, the
//! same rows are made from the run's `report.json`.

use activebench_model::claim::{Metric, Subject};
use activebench_model::figures::{Disk, RunFigure, RunFigures};
use activebench_model::units::{Quantity, Unit};
use activebench_model::verdict::{ClaimVerdict, RunVerdict};
use polars::prelude::ParquetCompression;
use serde::de::DeserializeOwned;

use crate::error::RecordError;
use crate::hash;
use crate::part::{ColumnsIn, ColumnsOut, Row, Table, encode_as};

/// The file's name.
pub const FIGURES: &str = "figures.parquet";
/// Version of its columns. A reader accepts no other one, and makes the rows anew.
pub(crate) const VERSION: u32 = 1;
/// The column of the version.
pub(crate) const VERSION_COLUMN: &str = "table_version";
/// The column with the SHA-256 of the run's manifest, which identifies the run.
pub(crate) const RUN_COLUMN: &str = "run_sha256";

/// The column with each row's own SHA-256.
const ROW_COLUMN: &str = "row_sha256";

/// Encodes a run's table of figures. `run_sha256` is the SHA-256 of its manifest.
///
/// # Errors
/// When they cannot be encoded.
pub fn encode_figures(run: &RunFigures, run_sha256: &str) -> Result<Vec<u8>, RecordError> {
    // Not compressed: each of its many columns has a few bytes, and to unpack them is more work than to read them.
    encode_as(&rows(run, run_sha256), ParquetCompression::Uncompressed)
}

/// Returns a run's rows.
pub(crate) fn rows(run: &RunFigures, run_sha256: &str) -> Vec<FigureRow> {
    let mut about = run.clone();
    let figures = std::mem::take(&mut about.figures);
    let row = |figure| FigureRow { run_sha256: run_sha256.to_owned(), run: about.clone(), figure };
    match figures.is_empty() {
        true => vec![row(None)],
        false => figures.into_iter().map(|figure| row(Some(figure))).collect(),
    }
}

/// One row: the run without its figures, and one of them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FigureRow {
    pub(crate) run_sha256: String,
    pub(crate) run: RunFigures,
    pub(crate) figure: Option<RunFigure>,
}

impl FigureRow {
    /// Returns the SHA-256 of the row's own contents. Pages that are not compressed have no checksum: a flipped bit
    /// would pass for a figure.
    fn sum(&self) -> String {
        let contents = serde_json::to_vec(&(&self.run_sha256, &self.run, &self.figure));
        hash::of_bytes(&contents.expect("it has text keys only and no serialiser of its own that fails"))
    }
}

/// Returns the value of a word; `None` for one that this version does not know.
fn of_word<T: DeserializeOwned>(word: &str) -> Option<T> {
    serde_json::from_value(serde_json::Value::String(word.to_owned())).ok()
}

impl Row for FigureRow {
    fn write(rows: &[Self], columns: &mut ColumnsOut) {
        macro_rules! of_run {
            ($field:ident) => {
                |row: &FigureRow| row.run.$field.clone()
            };
        }
        fn of<T>(row: &FigureRow, value: impl Fn(&RunFigure) -> T) -> Option<T> {
            row.figure.as_ref().map(value)
        }
        columns.u32(VERSION_COLUMN, rows, |_| VERSION);
        columns.text(RUN_COLUMN, rows, |row| &row.run_sha256);
        columns.optional_text(ROW_COLUMN, rows, |row| Some(row.sum()));
        columns.text("activebench", rows, |row| &row.run.activebench);
        columns.i64("started_unix_s", rows, |row| row.run.started_unix_s);
        columns.optional_text("host", rows, of_run!(host));
        columns.text("kernel", rows, |row| &row.run.kernel);
        columns.text("tool", rows, |row| &row.run.tool);
        columns.optional_text("tool_version", rows, of_run!(version));
        columns.text("command", rows, |row| &row.run.command);
        columns.text("load", rows, |row| &row.run.load);
        columns.text("profile", rows, |row| &row.run.profile);
        columns.optional_text("run_verdict", rows, |row| Some(row.run.verdict.as_str().to_owned()));
        columns.optional_text("incomplete", rows, of_run!(incomplete));
        columns.optional_text("phase", rows, |row| of(row, |figure| figure.phase.clone()));
        columns.optional_text("metric", rows, |row| of(row, |figure| figure.metric.as_str().to_owned()));
        columns.optional_u32("place", rows, |row| of(row, |figure| figure.place));
        columns.optional_text("subject", rows, |row| of(row, |figure| figure.subject.as_str().to_owned()));
        columns.optional_text("unit", rows, |row| of(row, |figure| figure.claimed.unit.as_str().to_owned()));
        columns.optional_f64("claimed", rows, |row| of(row, |figure| figure.claimed.value));
        columns.optional_f64("honest", rows, |row| of(row, |figure| figure.honest).flatten());
        columns.optional_text("no_honest", rows, |row| of(row, |figure| figure.no_honest.clone()).flatten());
        columns.optional_text("claim_verdict", rows, |row| of(row, |figure| figure.verdict.as_str().to_owned()));
        columns.optional_text("device", rows, |row| of(row, |figure| figure.disk.name.clone()).flatten());
        columns.optional_text("model", rows, |row| of(row, |figure| figure.disk.model.clone()).flatten());
        columns.optional_text("serial", rows, |row| of(row, |figure| figure.disk.serial.clone()).flatten());
        columns.optional_text("file_system", rows, |row| of(row, |figure| figure.disk.file_system.clone()).flatten());
        columns.optional_f64("foreign_io_ratio", rows, |row| of(row, |figure| figure.foreign_io_ratio).flatten());
    }
}

impl Table for FigureRow {
    const TABLE: &'static str = "figures";

    fn read(columns: &ColumnsIn<'_>) -> Result<Vec<Self>, RecordError> {
        fn known<T: DeserializeOwned>(
            columns: &ColumnsIn<'_>,
            name: &'static str,
        ) -> Result<Vec<Option<T>>, RecordError> {
            let mut values = Vec::new();
            for text in columns.optional_text(name)? {
                let value = text.as_deref().map(|text| {
                    let unknown = || columns.error(name, format!("{text:?} is nothing that this version knows"));
                    of_word(text).ok_or_else(unknown)
                });
                values.push(value.transpose()?);
            }
            Ok(values)
        }
        let (text, optional) = (|name| columns.text(name), |name| columns.optional_text(name));
        let (run_sha256, activebench, kernel) = (text(RUN_COLUMN)?, text("activebench")?, text("kernel")?);
        let row_sha256 = text(ROW_COLUMN)?;
        let (tool, command, load, profile) = (text("tool")?, text("command")?, text("load")?, text("profile")?);
        let (host, version, incomplete) = (optional("host")?, optional("tool_version")?, optional("incomplete")?);
        let (phase, no_honest) = (optional("phase")?, optional("no_honest")?);
        let (device, model) = (optional("device")?, optional("model")?);
        let (serial, file_system) = (optional("serial")?, optional("file_system")?);
        let started_unix_s = columns.i64("started_unix_s")?;
        let place = columns.optional_u32("place")?;
        let (claimed, honest) = (columns.optional_f64("claimed")?, columns.optional_f64("honest")?);
        let foreign_io_ratio = columns.optional_f64("foreign_io_ratio")?;
        let run_verdict = known::<RunVerdict>(columns, "run_verdict")?;
        let (metric, subject) = (known::<Metric>(columns, "metric")?, known::<Subject>(columns, "subject")?);
        let (unit, claim_verdict) = (known::<Unit>(columns, "unit")?, known::<ClaimVerdict>(columns, "claim_verdict")?);
        let mut rows = Vec::with_capacity(started_unix_s.len());
        // A frame's columns are of one length.
        for at in 0..started_unix_s.len() {
            let run = RunFigures {
                activebench: activebench[at].clone(),
                started_unix_s: started_unix_s[at],
                host: host[at].clone(),
                kernel: kernel[at].clone(),
                tool: tool[at].clone(),
                version: version[at].clone(),
                command: command[at].clone(),
                load: load[at].clone(),
                profile: profile[at].clone(),
                verdict: run_verdict[at].ok_or_else(|| columns.error("run_verdict", "a value is missing"))?,
                incomplete: incomplete[at].clone(),
                figures: Vec::new(),
            };
            let kind = metric[at].zip(subject[at]).zip(unit[at]).zip(place[at]);
            let figure = match (&phase[at], kind, claimed[at], claim_verdict[at]) {
                (Some(phase), Some((((metric, subject), unit), place)), Some(value), Some(verdict)) => {
                    let honest = honest[at].filter(|value| value.is_finite());
                    Some(RunFigure {
                        phase: phase.clone(),
                        metric,
                        place,
                        subject,
                        claimed: Quantity { value, unit },
                        honest,
                        no_honest: no_honest[at].clone(),
                        verdict,
                        disk: Disk {
                            name: device[at].clone(),
                            model: model[at].clone(),
                            serial: serial[at].clone(),
                            file_system: file_system[at].clone(),
                        },
                        foreign_io_ratio: foreign_io_ratio[at].filter(|value| value.is_finite()),
                    })
                }
                (None, None, None, None) => None,
                _ => return Err(columns.error("phase", "a figure lacks a part")),
            };
            let row = Self { run_sha256: run_sha256[at].clone(), run, figure };
            if row_sha256[at] != row.sum() {
                return Err(columns.error(ROW_COLUMN, "a row is not what was written"));
            }
            rows.push(row);
        }
        Ok(rows)
    }
}
