//! Reads the figures of many runs as one lazy frame.
//!
//! A scan of our own goes from run to run in the place of polars' scan of Parquet files: each file is checked before it
//! is taken and a run without a table gives the same rows from its report, so one bad file costs itself and not the rest.
//! (That scan comes with polars' streaming engine, which brings an HTTP client and TLS into a program that runs as root.)
//! Filters are the frame's own; nothing is written, so a read-only folder will do.

mod find;
mod from_report;

use std::any::Any;
use std::collections::HashSet;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use activebench_model::figures::RunFigures;
use polars::error::{PolarsError, PolarsResult};
use polars::prelude::{Column, DataFrame, IntoColumn, NewChunkedArray, Schema, SchemaRef, UInt32Chunked};
use polars_lazy::prelude::{AnonymousScan, AnonymousScanArgs, Expr, LazyFrame, ScanArgsAnonymous, col, lit};
use serde::Deserialize;

use crate::error::RecordError;
use crate::figures::{FIGURES, FigureRow, RUN_COLUMN, VERSION, VERSION_COLUMN, rows};
use crate::part::{ColumnsIn, Table, frame_of_bytes, frame_of_rows};
use crate::{MANIFEST, hash};

pub use find::{Found, find_runs};

/// Runs that are one frame: bounds what is held before it is filtered.
const RUNS_AT_ONCE: usize = 512;
/// No manifest, report or table of figures is larger; more is not read into memory.
const MOST_BYTES: u64 = 256 << 20;
/// The report that stands in for a table.
const REPORT: &str = "report.json";
/// Which run of the scan a row belongs to.
const PLACE_COLUMN: &str = "run";

/// Rows that are read; an empty list leaves a column alone.
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

/// What was read of a list of runs; numbers are places in that list.
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

/// Reads the figures of runs. What cannot be read is told, not an error.
///
/// # Errors
/// When the frame of what was read cannot be computed: a bug.
pub fn read_figures(directories: &[PathBuf], filter: &FigureFilter) -> Result<FiguresRead, RecordError> {
    let failed = |error: PolarsError| RecordError::Encode { name: FIGURES.to_owned(), why: error.to_string() };
    let schema = schema().map_err(failed)?;
    let mut read = FiguresRead::default();
    let mut seen = HashSet::new();
    for (number, part) in directories.chunks(RUNS_AT_ONCE).enumerate() {
        let first = number * RUNS_AT_ONCE;
        let scan = Arc::new(Runs { directories: part.to_vec(), schema: schema.clone(), told: Mutex::default() });
        let arguments = ScanArgsAnonymous { schema: Some(schema.clone()), name: "RUNS", ..Default::default() };
        let mut frame = LazyFrame::anonymous_scan(scan.clone(), arguments).map_err(failed)?;
        if let Some(passes) = passes(filter) {
            frame = frame.filter(passes);
        }
        let mut frame = frame.collect().map_err(failed)?;
        frame.rechunk_mut();
        let told = std::mem::take(&mut *scan.told.lock().unwrap_or_else(PoisonError::into_inner));
        let mut found = by_run(&frame, part).map_err(failed)?.into_iter().peekable();
        for (place, told) in told.into_iter().enumerate() {
            let rows = found.next_if(|(of, _)| *of == place).map(|(_, rows)| rows);
            let of_table = match told {
                Told::LeftOut(why) => {
                    read.left_out.push((first + place, why));
                    continue;
                }
                Told::Table { run_sha256 } if seen.insert(run_sha256.clone()) => true,
                Told::Report { run_sha256 } if seen.insert(run_sha256.clone()) => false,
                Told::Table { .. } | Told::Report { .. } => {
                    read.copies += 1;
                    continue;
                }
            };
            match rows {
                Some(Err(why)) => {
                    read.left_out.push((first + place, format!("{FIGURES} is garbled: {why} (hint: {RECHECK})")));
                    continue;
                }
                None => read.filtered += 1,
                Some(Ok(run)) => read.runs.push((first + place, run)),
            }
            match of_table {
                true => read.from_table += 1,
                false => read.from_report += 1,
            }
        }
    }
    Ok(read)
}

/// The rows of each run, which lie together, with its place.
type RunRows = (usize, Result<RunFigures, RecordError>);

fn by_run(frame: &DataFrame, directories: &[PathBuf]) -> PolarsResult<Vec<RunRows>> {
    let places: Vec<u32> = frame.column(PLACE_COLUMN)?.u32()?.iter().flatten().collect();
    let mut runs = Vec::new();
    let mut begin = 0;
    for rows in places.chunk_by(|one, other| one == other) {
        let place = rows[0] as usize;
        let slice = frame.slice(begin as i64, rows.len());
        begin += rows.len();
        let path = directories.get(place).map_or_else(PathBuf::new, |directory| directory.join(FIGURES));
        let run = FigureRow::read(&ColumnsIn::of(&slice, &path)).map(together);
        runs.push((place, run.and_then(|run| run.ok_or(RecordError::MissingFile { path }))));
    }
    Ok(runs)
}

/// A run from its rows; `None` without any.
fn together(rows: Vec<FigureRow>) -> Option<RunFigures> {
    let mut rows = rows.into_iter();
    let first = rows.next()?;
    let figures = first.figure.into_iter().chain(rows.filter_map(|row| row.figure)).collect();
    Some(RunFigures { figures, ..first.run })
}

/// The filter as an expression; `None` where everything passes.
fn passes(filter: &FigureFilter) -> Option<Expr> {
    let any = |columns: &[&'static str], values: &[String]| {
        let equal =
            values.iter().flat_map(|value| columns.iter().map(move |column| col(*column).eq(lit(value.clone()))));
        equal.reduce(Expr::or)
    };
    let since = filter.since_unix_s.map(|since| col("started_unix_s").gt_eq(lit(since)));
    let all = [
        any(&["tool"], &filter.tools),
        any(&["device", "model", "serial"], &filter.devices),
        any(&["host"], &filter.hosts),
        since,
    ];
    all.into_iter().flatten().reduce(Expr::and)
}

fn schema() -> PolarsResult<SchemaRef> {
    let empty: &[FigureRow] = &[];
    Ok(with_place(frame_of_rows(empty)?, 0)?.schema().clone())
}

fn with_place(mut frame: DataFrame, place: usize) -> PolarsResult<DataFrame> {
    let place = u32::try_from(place).unwrap_or(u32::MAX);
    let places: Column =
        UInt32Chunked::from_iter_values(PLACE_COLUMN.into(), std::iter::repeat_n(place, frame.height())).into_column();
    frame.with_column(places)?;
    Ok(frame)
}

/// The scan of a list of runs.
struct Runs {
    directories: Vec<PathBuf>,
    schema: SchemaRef,
    told: Mutex<Vec<Told>>,
}

/// What became of a run.
enum Told {
    Table { run_sha256: String },
    Report { run_sha256: String },
    LeftOut(String),
}

impl AnonymousScan for Runs {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn allows_projection_pushdown(&self) -> bool {
        true
    }

    fn scan(&self, arguments: AnonymousScanArgs) -> PolarsResult<DataFrame> {
        let workers = thread::available_parallelism().map_or(1, usize::from).min(self.directories.len().max(1));
        let each = self.directories.len().div_ceil(workers).max(1);
        let loaded: Vec<Result<(DataFrame, Told), String>> = thread::scope(|scope| {
            let begun = self.directories.chunks(each).map(|part| (part.len(), scope.spawn(|| self.load(part))));
            let parts: Vec<_> = begun.collect();
            let failed = |_| Err("its reading ended in a panic: a bug".to_owned());
            let loaded = |(runs, part): (usize, thread::ScopedJoinHandle<'_, _>)| {
                part.join().unwrap_or_else(|_| (0..runs).map(failed).collect())
            };
            parts.into_iter().flat_map(loaded).collect()
        });
        let mut all = with_place(frame_of_rows::<FigureRow>(&[])?, 0)?;
        let mut told = Vec::with_capacity(loaded.len());
        for (place, loaded) in loaded.into_iter().enumerate() {
            match loaded {
                Ok((frame, how)) => {
                    all.vstack_mut_owned(with_place(frame, place)?)?;
                    told.push(how);
                }
                Err(why) => told.push(Told::LeftOut(why)),
            }
        }
        *self.told.lock().unwrap_or_else(PoisonError::into_inner) = told;
        match &arguments.with_columns {
            Some(columns) => all.select(columns.iter().cloned()),
            None => Ok(all),
        }
    }
}

impl Runs {
    fn load(&self, directories: &[PathBuf]) -> Vec<Result<(DataFrame, Told), String>> {
        directories.iter().map(|directory| load(directory, &self.schema)).collect()
    }
}

/// What every version's manifest begins with.
#[derive(Deserialize)]
struct Head {
    format: u32,
    #[serde(default)]
    unfinished: bool,
}

/// A run's rows, from its table or its report.
fn load(directory: &Path, schema: &Schema) -> Result<(DataFrame, Told), String> {
    let manifest = bounded(&directory.join(MANIFEST))?.ok_or("its run.json is gone")?;
    let head: Head = serde_json::from_slice(&manifest).map_err(|error| format!("run.json is no manifest: {error}"))?;
    if head.format > activebench_model::run::FORMAT {
        return Err(format!("its format version is {}: a newer activebench wrote it", head.format));
    }
    if head.unfinished {
        return Err("it was never finished".to_owned());
    }
    let run_sha256 = hash::of_bytes(&manifest);
    if let Some(bytes) = bounded(&directory.join(FIGURES))?
        && let Some(frame) = table(bytes, schema, &run_sha256)?
    {
        return Ok((frame, Told::Table { run_sha256 }));
    }
    let Some(report) = bounded(&directory.join(REPORT))? else {
        return Err(format!("it has neither {FIGURES} nor {REPORT} (hint: {RECHECK})"));
    };
    let run = from_report::figures(&manifest, &report)?;
    let frame = frame_of_rows(&rows(&run, &run_sha256)).map_err(|error| error.to_string())?;
    Ok((frame, Told::Report { run_sha256 }))
}

/// What mends a derived file.
const RECHECK: &str = "`activebench recheck RUN` writes it anew";

/// The rows of a table; `None` for one of another version.
fn table(bytes: Vec<u8>, schema: &Schema, run_sha256: &str) -> Result<Option<DataFrame>, String> {
    let garbled = |why: String| format!("{FIGURES} is garbled: {why} (hint: {RECHECK})");
    let frame = frame_of_bytes(bytes, None).map_err(garbled)?;
    let lacks = |name: &str| garbled(format!("it has no column {name} of its kind"));
    let versions = frame.column(VERSION_COLUMN).ok().and_then(|column| column.u32().ok());
    let versions = versions.ok_or_else(|| lacks(VERSION_COLUMN))?;
    match versions.first() {
        Some(VERSION) => {}
        Some(_) => return Ok(None),
        None => return Err(garbled("it has no rows".to_owned())),
    }
    let wanted = || schema.iter().filter(|(name, _)| name.as_str() != PLACE_COLUMN);
    for (name, kind) in wanted() {
        if !frame.column(name).is_ok_and(|column| column.dtype() == kind) {
            return Err(lacks(name));
        }
    }
    let runs = frame.column(RUN_COLUMN).and_then(|column| column.str()).map_err(|_| lacks(RUN_COLUMN))?;
    if !runs.iter().all(|of| of == Some(run_sha256)) {
        return Err(format!("{FIGURES} is that of another run, or run.json was changed (hint: {RECHECK})"));
    }
    frame.select(wanted().map(|(name, _)| name.clone())).map(Some).map_err(|error| garbled(error.to_string()))
}

/// A file's bytes; `None` where there is none. A pipe in its place would never end, and what is too large is not ours.
fn bounded(path: &Path) -> Result<Option<Vec<u8>>, String> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let failed = |error: io::Error| format!("cannot read {name}: {error}");
    let about = match fs::metadata(path) {
        Ok(about) => about,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    if !about.is_file() || about.len() > MOST_BYTES {
        return Err(format!("{name} is no file of at most {MOST_BYTES} bytes"));
    }
    let mut bytes = Vec::with_capacity(about.len() as usize);
    let file = fs::File::open(path).map_err(failed)?;
    file.take(MOST_BYTES).read_to_end(&mut bytes).map_err(failed)?;
    Ok(Some(bytes))
}

#[cfg(test)]
mod tests;
