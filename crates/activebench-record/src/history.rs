//! Reads the figures of many runs.
//!
//! Each run is one small frame, checked before it is used. A run without a table gives the same rows from its report.
//! So one bad file affects only its own run, and rows are filtered once they are read. Nothing is written: a read-only
//! folder is enough.

mod find;
mod from_report;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::thread;

use activebench_model::figures::RunFigures;
use activebench_model::sha256;
use polars::prelude::{DataFrame, Schema};
use serde::Deserialize;

use crate::derived;
use crate::error::RecordError;
use crate::figures::{FIGURES, FigureRow, RUN_COLUMN, VERSION, VERSION_COLUMN, rows, rows_of_table};
use crate::folder::RunFolder;
use crate::layout::{MANIFEST, RUN};
use crate::panics::without_panic;
use crate::part::{frame_of_bytes, frame_of_rows};

use from_report::RECHECK;

pub use find::{Found, find_runs};

/// Maximum rows that are read of a run's table of figures: no tool prints as many figures.
const MOST_FIGURES: usize = 1 << 14;
/// The report that stands in for a table.
const REPORT: &str = "report.json";

/// Selects the rows that are read; an empty list does not filter its column.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FigureFilter {
    /// Tools by their names.
    pub tools: Vec<String>,
    /// Disks by name, model or serial number.
    pub devices: Vec<String>,
    /// Hosts by their names.
    pub hosts: Vec<String>,
    /// Runs that started at this time or later, UTC, seconds since the epoch.
    pub since_unix_s: Option<i64>,
}

/// Figures read from a list of runs; numbers are places in that list.
#[derive(Debug, Default)]
pub struct FiguresRead {
    /// The runs with the figures that pass the filter, in the list's order.
    pub runs: Vec<(usize, RunFigures)>,
    /// Runs read from their table.
    pub from_table: usize,
    /// Runs read from their report: they have no table, or one of another version.
    pub from_report: usize,
    /// Runs that the list holds twice, in two places.
    pub copies: usize,
    /// Runs of which nothing passes the filter.
    pub filtered: usize,
    /// Runs that could not be read, each with the reason.
    pub left_out: Vec<(usize, String)>,
}

/// Reads the figures of runs. A run that cannot be read is listed in `left_out`, which is not an error.
///
/// # Errors
/// Returns an error if the schema to check them against cannot be made: a bug.
pub fn read_figures(directories: &[PathBuf], filter: &FigureFilter) -> Result<FiguresRead, RecordError> {
    let schema = frame_of_rows::<FigureRow>(&[])
        .map_err(|error| RecordError::Encode { name: FIGURES.to_owned(), why: error.to_string() })?
        .schema()
        .clone();
    let mut read = FiguresRead::default();
    let mut seen = HashSet::new();
    let loaded = each(directories, |directory| load(directory, &schema, filter));
    for (place, loaded) in loaded.into_iter().enumerate() {
        let run = match loaded {
            // Not counted as seen: a copy elsewhere can be whole.
            Err(why) => {
                read.left_out.push((place, why));
                continue;
            }
            Ok(run) if !seen.insert(run.run_sha256.clone()) => {
                read.copies += 1;
                continue;
            }
            Ok(run) => run,
        };
        match run.of_table {
            true => read.from_table += 1,
            false => read.from_report += 1,
        }
        match run.figures {
            Some(figures) => read.runs.push((place, figures)),
            None => read.filtered += 1,
        }
    }
    Ok(read)
}

/// Applies `of` to each run, with as many threads as CPUs; returns the results in their order. A panic affects only its
/// own run.
fn each<T: Send>(directories: &[PathBuf], of: impl Fn(&Path) -> Result<T, String> + Sync) -> Vec<Result<T, String>> {
    let one = |directory: &PathBuf| {
        let failed = |_| Err("its reading ended in a panic: a bug".to_owned());
        without_panic(|| of(directory)).unwrap_or_else(failed)
    };
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let parts = directories.chunks(directories.len().div_ceil(workers).max(1));
    thread::scope(|scope| {
        let begun: Vec<_> = parts.map(|part| scope.spawn(move || part.iter().map(one).collect::<Vec<_>>())).collect();
        begun.into_iter().flat_map(|part| part.join().expect("panics are caught run by run")).collect()
    })
}

/// Returns a run from its rows; `None` without any.
fn together(rows: Vec<FigureRow>) -> Option<RunFigures> {
    let mut rows = rows.into_iter();
    let first = rows.next()?;
    let figures = first.figure.into_iter().chain(rows.filter_map(|row| row.figure)).collect();
    Some(RunFigures { figures, ..first.run })
}

impl FigureFilter {
    /// True if a row passes. An unknown value of a row equals no wanted value.
    fn admits(&self, row: &FigureRow) -> bool {
        let any = |wanted: &[String], known: &[Option<&str>]| {
            wanted.is_empty() || known.iter().flatten().any(|known| wanted.iter().any(|wanted| wanted == known))
        };
        let disk = row.figure.as_ref().map(|figure| &figure.disk);
        let (name, model, serial) = disk
            .map_or((None, None, None), |disk| (disk.name.as_deref(), disk.model.as_deref(), disk.serial.as_deref()));
        any(&self.tools, &[Some(&row.run.tool)])
            && any(&self.devices, &[name, model, serial])
            && any(&self.hosts, &[row.run.host.as_deref()])
            && self.since_unix_s.is_none_or(|since| row.run.started_unix_s >= since)
    }
}

/// The fields that the manifest of every version has.
#[derive(Deserialize)]
struct Head {
    format: u32,
    #[serde(default)]
    unfinished: bool,
}

/// A run that was read.
struct Loaded {
    run_sha256: String,
    /// `true` if it was read from its table.
    of_table: bool,
    /// `None` where nothing passes the filter.
    figures: Option<RunFigures>,
}

/// Reads a run from its table or its report, with the rows that pass.
fn load(directory: &Path, schema: &Schema, filter: &FigureFilter) -> Result<Loaded, String> {
    let folder = RunFolder::open(directory).map_err(|error| error.to_string())?;
    let bounded = |name: &str| folder.read(name).map_err(|error| error.to_string());
    let manifest = bounded(MANIFEST)?.ok_or("its run.json is gone")?;
    let head: Head =
        serde_json::from_slice(&manifest).map_err(|error| format!("run.json is not a manifest: {error}"))?;
    if head.format > activebench_model::run::FORMAT {
        return Err(format!("its format version is {}: a newer activebench wrote it", head.format));
    }
    if head.unfinished {
        return Err("it was never finished".to_owned());
    }
    RUN.check(&folder, &manifest).map_err(|error| error.to_string())?;
    let run_sha256 = sha256::of_bytes(&manifest);
    let path = directory.join(FIGURES);
    let table = match bounded(FIGURES)? {
        Some(bytes) => table(bytes, schema, &run_sha256)?,
        None => None,
    };
    let of_table = table.is_some();
    let frame = match table {
        Some(frame) => frame,
        None => {
            let Some(report) = derived::read(&folder, REPORT).map_err(|error| error.to_string())? else {
                return Err(format!("it has neither {FIGURES} nor {REPORT} (hint: {RECHECK})"));
            };
            let run = from_report::figures(&manifest, &report)?;
            frame_of_rows(&rows(&run, &run_sha256)).map_err(|error| error.to_string())?
        }
    };
    let mut rows = rows_of_table(&frame, &path).map_err(|why| garbled(&why.to_string()))?;
    rows.retain(|row| filter.admits(row));
    Ok(Loaded { run_sha256, of_table, figures: together(rows) })
}

fn garbled(why: &str) -> String {
    format!("{FIGURES} is garbled: {why} (hint: {RECHECK})")
}

/// Returns the rows of a table; `None` for one of another version.
fn table(bytes: Vec<u8>, schema: &Schema, run_sha256: &str) -> Result<Option<DataFrame>, String> {
    let frame = frame_of_bytes(bytes, None, MOST_FIGURES).map_err(|why| garbled(&why))?;
    let lacks = |name: &str| garbled(&format!("it has no column {name} of its kind"));
    let versions = frame.column(VERSION_COLUMN).ok().and_then(|column| column.u32().ok());
    let versions = versions.ok_or_else(|| lacks(VERSION_COLUMN))?;
    match versions.first() {
        Some(VERSION) => {}
        Some(_) => return Ok(None),
        None => return Err(garbled("it has no rows")),
    }
    for (name, kind) in schema.iter() {
        if !frame.column(name).is_ok_and(|column| column.dtype() == kind) {
            return Err(lacks(name));
        }
    }
    let runs = frame.column(RUN_COLUMN).and_then(|column| column.str()).map_err(|_| lacks(RUN_COLUMN))?;
    if !runs.iter().all(|of| of == Some(run_sha256)) {
        return Err(format!("{FIGURES} is that of another run, or run.json was changed (hint: {RECHECK})"));
    }
    Ok(Some(frame))
}

#[cfg(test)]
mod tests;
