//! The comma-separated rows of each version.
//!
//! 27 values in 1.03, 48 from 1.93 on, 50 in 2.00. The header of `-x` has 48 names in 2.00 too.

use super::catalogue::Kind;
use super::figures::{chunk_bytes, file_bytes, number};

/// Versions that differ in the interval that the tool's clock covers and in what it prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Generation {
    /// 1.00 to 1.03: stdio for the per-character tests, forked seekers, no sync unless `-b` is given.
    Old,
    /// From 1.93 on: one call per byte, threads, an fsync before each close, a sync after files are made
    /// or deleted, all inside the clock.
    Modern,
}

impl Generation {
    /// Returns the generation of a version as the tool prints it.
    pub(super) fn of_version(version: &str) -> Self {
        if version.starts_with("1.0") { Generation::Old } else { Generation::Modern }
    }
}

/// Printed figures of one test; empty if it was not run or the version has no such figure.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Cell {
    pub(super) rate: String,
    pub(super) processor: String,
    pub(super) latency: String,
}

/// One run's figures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Row {
    /// Line number from 1.
    pub(super) line: u64,
    /// The line as printed.
    pub(super) text: String,
    /// The program's version, if the row states it.
    pub(super) version: Option<String>,
    pub(super) generation: Generation,
    /// Number of values in the row.
    pub(super) values: usize,
    /// Size of the large file in bytes; `None` if no such test was run.
    pub(super) file_bytes: Option<u64>,
    /// Size of a chunk, if the row states one that is not the default.
    pub(super) chunk_bytes: Option<u64>,
    pub(super) seeks: Option<u64>,
    pub(super) seekers: Option<u32>,
    /// Number of files in units of 1024.
    pub(super) files: Option<u64>,
    /// In the order of [`Kind::ALL`].
    pub(super) cells: Vec<Cell>,
}

impl Row {
    /// Returns true if a test was run, measured or not.
    pub(super) fn ran(&self, kind: Kind) -> bool {
        self.cells.get(kind.index()).is_some_and(|cell| !cell.rate.is_empty())
    }
}

/// Content of a line of standard output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Line {
    Row(Row),
    /// The names of the columns, with their number.
    Header(usize),
    /// Looks like a row, but of no known version.
    Unknown(usize),
}

/// Columns of a version: the end of the fields before the figures, and the number of columns.
struct Layout {
    values: usize,
    first_rate: usize,
    /// Fields between the figures of data and those of files.
    about_files: usize,
    latencies: bool,
}

const OLD: Layout = Layout { values: 27, first_rate: 2, about_files: 1, latencies: false };
const FROM_1_93: Layout = Layout { values: 48, first_rate: 7, about_files: 5, latencies: true };
const FROM_1_98: Layout = Layout { values: 50, first_rate: 9, about_files: 5, latencies: true };

/// Minimum number of values for a line to count as a row.
const LIKE_A_ROW: usize = 20;

/// Parses a whole line; `None` if it is neither a row nor a header.
pub(super) fn read_line(number: u64, text: &str) -> Option<Line> {
    let values: Vec<&str> = text.trim_end().split(',').collect();
    if values.len() < LIKE_A_ROW {
        return None;
    }
    if matches!(values[0], "name" | "format_version") {
        return Some(Line::Header(values.len()));
    }
    let row = match format_version(values[0]) {
        Some(98..) => read_modern(number, text, &values, &FROM_1_98),
        Some(_) => read_modern(number, text, &values, &FROM_1_93),
        None => read_old(number, text, &values),
    };
    Some(row.map_or(Line::Unknown(values.len()), Line::Row))
}

/// Returns the machine's name in a row; `None` if the line is not a row.
pub(super) fn machine(text: &str) -> Option<&str> {
    let Some(Line::Row(row)) = read_line(0, text) else { return None };
    let (before, whole) = match (row.generation, format_version(text)) {
        (Generation::Old, _) => (0, OLD.values),
        (Generation::Modern, Some(98..)) => (2, FROM_1_98.values),
        (Generation::Modern, _) => (2, FROM_1_93.values),
    };
    // The name may contain commas; the fields before and after it do not.
    let name = text.trim_end().splitn(before + 1, ',').nth(before)?;
    let behind = whole - before - 1;
    name.rmatch_indices(',').nth(behind - 1).map(|(end, _)| &name[..end])
}

/// Returns N of `1.N`, from 93 on.
fn format_version(text: &str) -> Option<u64> {
    let minor = text.strip_prefix("1.")?;
    number(minor.get(..2)?).filter(|minor| *minor >= 93)
}

fn read_modern(line: u64, text: &str, values: &[&str], layout: &Layout) -> Option<Row> {
    // A machine's name may contain commas.
    let surplus = values.len().checked_sub(layout.values)?;
    let version = values.get(1).filter(|version| is_version(version))?;
    let value = |place: usize| values.get(place + surplus).copied().unwrap_or("");
    let first_rate = layout.first_rate;
    let stated = first_rate == FROM_1_98.first_rate;
    let cells = cells(layout, value)?;
    Some(Row {
        line,
        text: text.to_owned(),
        version: Some((*version).to_owned()),
        generation: Generation::Modern,
        values: values.len(),
        file_bytes: file_bytes(value(5)),
        chunk_bytes: chunk_bytes(value(6)),
        seeks: number(value(7)).filter(|_| stated),
        seekers: number(value(8)).filter(|_| stated).and_then(|seekers| u32::try_from(seekers).ok()),
        files: number(value(first_rate + 2 * Kind::DATA)),
        cells,
    })
}

fn read_old(line: u64, text: &str, values: &[&str]) -> Option<Row> {
    let surplus = values.len().checked_sub(OLD.values)?;
    let value = |place: usize| values.get(place + surplus).copied().unwrap_or("");
    let cells = cells(&OLD, value)?;
    let (size, chunk) = value(1).split_once(':').unwrap_or((value(1), ""));
    // `16:1024:512/4`
    let files = value(OLD.first_rate + 2 * Kind::DATA).split([':', '/']).next().unwrap_or("");
    let row = Row {
        line,
        text: text.to_owned(),
        version: None,
        generation: Generation::Old,
        values: values.len(),
        file_bytes: file_bytes(size),
        chunk_bytes: chunk_bytes(chunk),
        seeks: None,
        seekers: None,
        files: number(files),
        cells,
    };
    // A row does not name its tool: sizes and figures must be in their places.
    let sized = row.file_bytes.is_some() || size.is_empty();
    (sized && (row.file_bytes.is_some() || row.files.is_some())).then_some(row)
}

fn is_version(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_digit()) && text.contains('.')
}

/// Returns the figures of each test; `None` if bonnie++ would not print one of them.
fn cells<'a>(layout: &Layout, value: impl Fn(usize) -> &'a str) -> Option<Vec<Cell>> {
    let first_latency = layout.values - Kind::ALL.len();
    let cells: Vec<Cell> = Kind::ALL
        .into_iter()
        .map(|kind| {
            let about_files = if kind.is_data() { 0 } else { layout.about_files };
            let place = layout.first_rate + about_files + 2 * kind.index();
            let latency = if layout.latencies { value(first_latency + kind.index()) } else { "" };
            Cell { rate: value(place).to_owned(), processor: value(place + 1).to_owned(), latency: latency.to_owned() }
        })
        .collect();
    let figure = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'+'));
    cells.iter().all(|cell| figure(&cell.rate) && figure(&cell.processor)).then_some(cells)
}
