//! `figures.parquet`: the figures of a judged run for a history, one row per claim. A run that claims nothing has one
//! row without a figure.
//!
//! A derived file: `verify` and `recheck` write it, `history.rs` reads it. If it is missing or of another version, the
//! same rows are made from the run's `report.json`.

use std::path::Path;

use activebench_model::claim::{Metric, Subject};
use activebench_model::figures::{Disk, RunFigure, RunFigures};
use activebench_model::sha256;
use activebench_model::units::{Quantity, Unit};
use activebench_model::verdict::{ClaimVerdict, RunVerdict};
use polars::prelude::{DataFrame, ParquetCompression};
use serde::de::DeserializeOwned;

use crate::columns::{ColumnsIn, ColumnsOut, Optional, Stored, columns, optional_columns};
use crate::error::RecordError;
use crate::part::{Table, encode_as, rows_of_frame};

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
    let row = |figure| {
        let (run_sha256, run) = (run_sha256.to_owned(), about.clone());
        let row = FigureRow { table_version: VERSION, run_sha256, row_sha256: String::new(), run, figure };
        FigureRow { row_sha256: row.sum(), ..row }
    };
    match figures.is_empty() {
        true => vec![row(None)],
        false => figures.into_iter().map(|figure| row(Some(figure))).collect(),
    }
}

/// One row: the run without its figures, and one of them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FigureRow {
    pub(crate) table_version: u32,
    pub(crate) run_sha256: String,
    pub(crate) row_sha256: String,
    pub(crate) run: RunFigures,
    pub(crate) figure: Option<RunFigure>,
}

impl FigureRow {
    /// Returns the SHA-256 of the row's own contents. Pages that are not compressed have no checksum: a flipped bit
    /// would pass for a figure.
    fn sum(&self) -> String {
        let contents = serde_json::to_vec(&(&self.run_sha256, &self.run, &self.figure));
        sha256::of_bytes(&contents.expect("it has text keys only and no serialiser of its own that fails"))
    }
}

impl Table for FigureRow {
    const TABLE: &'static str = "figures";
}

/// Returns the rows of a table. `path` is the file that it was read from.
///
/// # Errors
/// Returns an error if a column is missing or of another type, or a row is not what was written.
pub(crate) fn rows_of_table(frame: &DataFrame, path: &Path) -> Result<Vec<FigureRow>, RecordError> {
    let mut rows: Vec<FigureRow> = rows_of_frame(frame, path)?;
    for row in &mut rows {
        if let Some(figure) = &mut row.figure {
            figure.honest = figure.honest.filter(|value| value.is_finite());
            figure.foreign_io_ratio = figure.foreign_io_ratio.filter(|value| value.is_finite());
        }
        if row.row_sha256 != row.sum() {
            return Err(ColumnsIn::of(frame, path).error(ROW_COLUMN, "a row is not what was written"));
        }
    }
    Ok(rows)
}

columns! {
    FigureRow {
        table_version = VERSION_COLUMN => "", "Version of this table's columns.";
        run_sha256 = RUN_COLUMN => "", "SHA-256 of run.json, which identifies the run.";
        row_sha256 = ROW_COLUMN => "", "SHA-256 of the row's contents.";
        run;
        figure;
    }
}

columns! {
    RunFigures {
        activebench => "", "Version of activebench that judged the run.";
        started_unix_s => "s since 1970-01-01 UTC", "Start of the run.";
        host => "", "Name of the machine; null where the record does not have it.";
        kernel => "", "Release of the kernel.";
        tool => "", "The benchmark, or the program of the command where no adapter knows it.";
        version = "tool_version" => "", "Version that the benchmark prints; null where it prints none.";
        command => "", "The command line.";
        load => "", "The command with `TARGET` in the place of the disk: equal for the same load on two disks.";
        profile => "", "The profile of thresholds.";
        verdict = "run_verdict" => "", "The verdict on the run.";
        incomplete => "", "Why the record is not complete; null for a complete one.";
    }
    { figures: Vec::new(), }
}

optional_columns! {
    RunFigure {
        phase => "", "Phase of the figure. Null, like all columns of the figure, in a run without figures.";
        metric => "", "Kind of figure.";
        place => "", "Number of the figure among those of this phase and metric, from 0.";
        subject => "", "What the figure is taken to describe.";
        claimed;
        honest => "see `unit`", "The honest figure; null where there is none.";
        no_honest => "", "Why there is no honest figure; null where there is one.";
        verdict = "claim_verdict" => "", "The verdict on the claim.";
        disk;
        foreign_io_ratio => "ratio, 0 to 1", "Part of the bytes at the device that other programs moved during the phase; null where it is unknown.";
    }
}

optional_columns! {
    Quantity {
        unit => "", "Unit of `claimed` and `honest`.";
        value = "claimed" => "see `unit`", "The printed figure, in base units.";
    }
}

optional_columns! {
    Disk {
        name = "device" => "", "The kernel's name of the disk; null where it is unknown.";
        model => "", "Model of the disk; null where the kernel does not report one.";
        serial => "", "Serial number of the disk; null where the record has none.";
        file_system => "", "File system, or `block-device`; null where it is unknown.";
    }
}

/// Stores enumerations by their words in JSON.
macro_rules! words {
    ($($type:ty,)*) => {
        $(
            impl Optional for $type {
                fn write<R>(columns: &mut ColumnsOut, name: &str, rows: &[R], value: impl Fn(&R) -> Option<&Self>) {
                    let words: Vec<_> = rows.iter().map(|row| value(row).map(|value| value.as_str().to_owned())).collect();
                    <String as Optional>::write(columns, name, &words, Option::as_ref);
                }

                fn read(columns: &ColumnsIn<'_>, name: &str) -> Result<Vec<Option<Self>>, RecordError> {
                    let unknown = |word| columns.error(name, format!("{word:?} is nothing that this version knows"));
                    let value = |word: String| of_word(&word).ok_or_else(|| unknown(word));
                    let words = <String as Optional>::read(columns, name)?;
                    words.into_iter().map(|word| word.map(value).transpose()).collect()
                }
            }
        )*
    };
}

words! { RunVerdict, Metric, Subject, Unit, ClaimVerdict, }

impl Stored for RunVerdict {
    fn write<R>(columns: &mut ColumnsOut, name: &str, rows: &[R], value: impl Fn(&R) -> &Self) {
        <Self as Optional>::write(columns, name, rows, |row| Some(value(row)));
    }

    fn read(columns: &ColumnsIn<'_>, name: &str) -> Result<Vec<Self>, RecordError> {
        let missing = || columns.error(name, "a value is missing");
        <Self as Optional>::read(columns, name)?.into_iter().map(|value| value.ok_or_else(missing)).collect()
    }
}

/// Returns the value of a word; `None` for one that this version does not know.
fn of_word<T: DeserializeOwned>(word: &str) -> Option<T> {
    serde_json::from_value(serde_json::Value::String(word.to_owned())).ok()
}
