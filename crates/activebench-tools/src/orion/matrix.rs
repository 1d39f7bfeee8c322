//! `_iops.csv`, `_lat.csv` and `_mbps.csv`: a row for each large load, a column for each small one.

use activebench_model::claim::Note;

use super::points::{Point, Which};
use super::statements::{Figure, Gathered, Rank, Statement, TimeUnit};
use super::text::{Line, Number, lines};

/// Start of the first line of every matrix. 12c puts words before it.
pub(super) const HEADER: &str = "Large/Small";

/// The content before the cells.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Header {
    figure: Figure,
    unit: Option<TimeUnit>,
    /// Small loads.
    columns: Vec<u32>,
    /// Number of its line.
    line: u64,
}

/// Returns the header of a matrix; `None` if the text is not a matrix.
pub(super) fn header(stream: &str, text: &str) -> Option<Header> {
    let found = lines(stream, text).find(|line| line.text.starts_with(HEADER))?;
    let columns: Vec<u32> = cells(found.text).skip(1).map_while(|cell| cell.parse().ok()).collect();
    let words = text.lines().take_while(|line| !line.starts_with(HEADER)).collect::<Vec<_>>().join("\n");
    let words = words.to_ascii_lowercase();
    let says = |word: &str| words.contains(word);
    let named = |end: &str| stream.ends_with(end);
    let rows = || lines(stream, text).skip(found.number as usize);
    let figure = match () {
        () if named("_iops.csv") => Figure::Iops,
        () if named("_lat.csv") => Figure::MeanLatency,
        () if named("_mbps.csv") => Figure::Mbps,
        () if says("latency") => Figure::MeanLatency,
        () if says("mbps") => Figure::Mbps,
        () if says("iops") => Figure::Iops,
        // The figure is not named: only the matrix of large requests has a column without small ones, and
        // only rates of small ones are whole numbers.
        () if columns.first() == Some(&0) => Figure::Mbps,
        () if rows().any(|row| row.text.contains('.')) => Figure::MeanLatency,
        () => Figure::Iops,
    };
    let unit = match figure {
        Figure::MeanLatency if says("microsecond") || says("usec") => Some(TimeUnit::Microseconds),
        Figure::MeanLatency if says("millisecond") || says("msec") => Some(TimeUnit::Milliseconds),
        _ => None,
    };
    Some(Header { figure, unit, columns: if found.is_whole { columns } else { Vec::new() }, line: found.number })
}

fn cells(line: &str) -> impl Iterator<Item = &str> {
    line.split(',').map(str::trim)
}

/// Reads the rows. An empty cell is a point that was not run.
pub(super) fn read(header: &Header, stream: &str, text: &str, gathered: &mut Gathered) {
    for line in lines(stream, text).skip(header.line as usize) {
        if line.text.trim().is_empty() {
            continue;
        }
        if let Err(message) = read_row(header, line, gathered) {
            gathered.notes.push(Note { source: line.source(), message });
        }
    }
}

fn read_row(header: &Header, line: Line<'_>, gathered: &mut Gathered) -> Result<(), String> {
    let mut row = cells(line.text);
    let large: u32 = row.next().unwrap_or("").parse().map_err(|_| "the row begins with no number of large requests")?;
    let mut columns = header.columns.iter();
    let mut fault = Ok(());
    for cell in row {
        let column = columns.next();
        if cell.is_empty() {
            continue;
        }
        match (column, Number::parse(cell)) {
            _ if !line.is_whole => fault = Err("the line is cut".to_owned()),
            (None, _) => fault = Err("the row has more cells than the header has columns".to_owned()),
            (_, None) => fault = Err(format!("{cell} is not a figure")),
            (Some(small), Some(number)) => gathered.cells.push(Statement {
                figure: header.figure,
                rank: Rank::Cell,
                point: Point::new(*small, large),
                which: Which::All,
                number,
                unit: header.unit,
                source: line.source(),
            }),
        }
    }
    fault
}
