//! One Parquet file of one table: rows to bytes and back.

use std::io::Cursor;
use std::path::Path;

use activebench_model::run::FORMAT;
use activebench_model::table::ColumnAbout;
use polars::error::PolarsError;
use polars::prelude::{
    DataFrame, KeyValueMetadata, ParallelStrategy, ParquetCompression, ParquetReader, ParquetWriter, SerReader,
    StatisticsOptions,
};

use crate::columns::{About, ColumnsIn, ColumnsOut, Described, Stored};
use crate::error::RecordError;
use crate::footer;
use crate::panics::without_panic;

pub(crate) use crate::footer::stated_rows;

/// Maximum rows of one part.
///
/// Bounds the memory of a reader or writer: 2^15 calls are about 4 MiB of rows and as much again in columns.
pub const ROWS_PER_PART: usize = 1 << 15;

/// Maximum rows that are read of one file. A column of equal values compresses to almost nothing: a few bytes from a
/// stranger could state more rows than fit into memory. The first versions wrote as many.
const MOST_ROWS: usize = 8 * ROWS_PER_PART;

/// A row of a table, or a part of its columns.
pub trait Table: Stored {
    /// The table's name: prefix of its files.
    const TABLE: &'static str;
    /// `true` if the table has further columns, which need not be read.
    const IS_PART: bool = false;

    /// `false` for values that no observation gives, and that would take too much work.
    fn is_possible(&self) -> bool {
        true
    }
}

/// Converts rows to columns.
pub(crate) fn frame_of_rows<R: Table>(rows: &[R]) -> Result<DataFrame, PolarsError> {
    let mut columns = ColumnsOut::default();
    R::write(&mut columns, R::TABLE, rows, |row| row);
    columns.frame(rows.len())
}

/// Converts columns to rows. `path` is the file that they were read from.
pub(crate) fn rows_of_frame<R: Table>(frame: &DataFrame, path: &Path) -> Result<Vec<R>, RecordError> {
    R::read(&ColumnsIn::of(frame, path), R::TABLE)
}

/// Returns the columns of a table, in their order.
pub(crate) fn described<R: Table>() -> Vec<Described> {
    let mut columns = Vec::new();
    R::describe(R::TABLE, About::NONE, &mut columns);
    columns
}

/// Returns what a file says of itself: the format, its table, and each column's unit and meaning as JSON.
pub(crate) fn metadata<'a>(table: &str, columns: impl Iterator<Item = &'a ColumnAbout>) -> KeyValueMetadata {
    let of_file = [("activebench.format", FORMAT.to_string()), ("activebench.table", table.to_owned())];
    let of_columns = columns.map(|column| {
        let about = serde_json::json!({ "unit": column.unit, "meaning": column.meaning });
        (format!("activebench.column.{}", column.name), about.to_string())
    });
    KeyValueMetadata::from_static(
        of_file.into_iter().map(|(key, value)| (key.to_owned(), value)).chain(of_columns).collect(),
    )
}

/// Encodes rows as a Parquet file.
pub(crate) fn encode<R: Table>(rows: &[R]) -> Result<Vec<u8>, RecordError> {
    encode_as(rows, ParquetCompression::Zstd(None))
}

/// Like [`encode`], with another compression or none.
pub(crate) fn encode_as<R: Table>(rows: &[R], compression: ParquetCompression) -> Result<Vec<u8>, RecordError> {
    let failed = |error: PolarsError| RecordError::Encode { name: R::TABLE.to_owned(), why: error.to_string() };
    let mut frame = frame_of_rows(rows).map_err(failed)?;
    let mut bytes = Vec::new();
    let columns = described::<R>();
    ParquetWriter::new(&mut bytes)
        .with_compression(compression)
        .with_key_value_metadata(Some(metadata(R::TABLE, columns.iter().map(|column| &column.about))))
        // A part is small and is read whole: the room is better used for what the columns mean.
        .with_statistics(StatisticsOptions::empty())
        .with_row_group_size(Some(ROWS_PER_PART))
        // Parts are written while the benchmark runs: one thread, not every CPU.
        .set_parallel(false)
        .finish(&mut frame)
        .map_err(failed)?;
    Ok(bytes)
}

/// Decodes rows from a Parquet file.
pub(crate) fn decode<R: Table>(path: &Path, bytes: Vec<u8>) -> Result<Vec<R>, RecordError> {
    let damaged = |why: String| RecordError::Table { path: path.to_owned(), why };
    let columns = R::IS_PART.then(described::<R>);
    let frame = frame_of_bytes(bytes, columns, MOST_ROWS).map_err(damaged)?;
    let rows: Vec<R> = rows_of_frame(&frame, path)?;
    match rows.iter().position(|row| !row.is_possible()) {
        None => Ok(rows),
        Some(row) => Err(damaged(format!("row {row} states more bytes than a call can move"))),
    }
}

/// Decodes the columns of a Parquet file of at most `most_rows` rows: those of the described ones that it has, or all of
/// them. Returns the reason if it is damaged.
pub(crate) fn frame_of_bytes(
    bytes: Vec<u8>,
    columns: Option<Vec<Described>>,
    most_rows: usize,
) -> Result<DataFrame, String> {
    // First, because not every fault of a file leaves polars a way back: see there.
    let footer::Checked { bytes, rows, names } = footer::check(bytes, most_rows as u64)?;
    // A run of format 1 has other names. What is missing is named by whoever looks for the column.
    let has = |name: &String| names.contains(name);
    let columns = columns.map(|columns| {
        let names = columns
            .into_iter()
            .filter_map(|Described { about, earlier }| Some(about.name).filter(has).or_else(|| earlier.filter(has)));
        names.collect::<Vec<_>>()
    });
    let frame = without_panic(|| {
        let reader = ParquetReader::new(Cursor::new(bytes));
        reader.read_parallel(ParallelStrategy::None).with_columns(columns).finish()
    });
    // The message of a panic is for whoever mends polars.
    let frame = frame.map_err(|_| "its pages are damaged")?.map_err(|error| error.to_string())?;
    match frame.height() as u64 == rows {
        true => Ok(frame),
        false => Err(format!("it states {rows} rows, and {} can be read", frame.height())),
    }
}

#[cfg(test)]
mod tests {
    use activebench_model::event::StealEvent;

    use super::*;

    #[test]
    fn a_few_bytes_that_state_too_many_rows_are_refused() {
        let rows = |count| vec![StealEvent { at_ns: 1, cpu: 0, steal_ns: 0 }; count];
        let path = Path::new("events/steal-0000.parquet");
        let most = encode(&rows(MOST_ROWS)).unwrap();
        assert_eq!(decode::<StealEvent>(path, most).unwrap().len(), MOST_ROWS);
        let more = encode(&rows(MOST_ROWS + 1)).unwrap();
        assert!(more.len() < 1 << 20, "{}", more.len());
        let said = decode::<StealEvent>(path, more).unwrap_err().to_string();
        assert!(said.contains("at most 262144 are read"), "{said}");
    }
}
