//! One Parquet file of one table: rows to bytes and back.

use std::io::Cursor;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use polars::error::PolarsError;
use polars::prelude::{
    BooleanChunked, Column, DataFrame, Float64Chunked, Int32Chunked, Int64Chunked, IntoColumn, NewChunkedArray,
    ParallelStrategy, ParquetCompression, ParquetReader, ParquetWriter, SerReader, StringChunked, UInt32Chunked,
    UInt64Chunked,
};

use crate::error::RecordError;

/// Maximum rows of one part.
///
/// Bounds the memory of a reader or writer: 2^15 calls are about 4 MiB of rows and as much again in columns.
pub const ROWS_PER_PART: usize = 1 << 15;

/// Maximum rows that are read of one file. A column of equal values compresses to almost nothing: a few bytes from a
/// stranger could state more rows than fit into memory.
const MOST_ROWS: usize = 32 * ROWS_PER_PART;

/// A row of a table, or a part of its columns, as it is read.
pub(crate) trait Table: Sized {
    /// The table's name: prefix of its files.
    const TABLE: &'static str;
    /// The columns that are read; all of them when `None`.
    const COLUMNS: Option<&'static [&'static str]> = None;
    /// Makes the rows from columns.
    fn read(columns: &ColumnsIn<'_>) -> Result<Vec<Self>, RecordError>;
}

/// A row of a table, as it is written.
pub(crate) trait Row: Table {
    /// The class in the manifest's account of records that this row belongs to.
    fn class(&self) -> &'static str {
        Self::TABLE
    }
    /// Puts the rows into columns.
    fn write(rows: &[Self], columns: &mut ColumnsOut);
}

/// Columns being made.
#[derive(Default)]
pub(crate) struct ColumnsOut {
    columns: Vec<Column>,
}

macro_rules! columns_out {
    ($($method:ident: $item:ty => $chunked:ident :: $from:ident;)*) => {
        $(
            pub(crate) fn $method<R>(&mut self, name: &'static str, rows: &[R], value: impl Fn(&R) -> $item) {
                self.columns.push($chunked::$from(name.into(), rows.iter().map(value)).into_column());
            }
        )*
    };
}

impl ColumnsOut {
    columns_out! {
        u32: u32 => UInt32Chunked::from_iter_values;
        u64: u64 => UInt64Chunked::from_iter_values;
        i32: i32 => Int32Chunked::from_iter_values;
        i64: i64 => Int64Chunked::from_iter_values;
        optional_u32: Option<u32> => UInt32Chunked::from_iter_options;
        optional_u64: Option<u64> => UInt64Chunked::from_iter_options;
        optional_f64: Option<f64> => Float64Chunked::from_iter_options;
        optional_text: Option<String> => StringChunked::from_iter_options;
    }

    pub(crate) fn bool<R>(&mut self, name: &'static str, rows: &[R], value: impl Fn(&R) -> bool) {
        let values: Vec<bool> = rows.iter().map(value).collect();
        self.columns.push(BooleanChunked::from_slice(name.into(), &values).into_column());
    }

    pub(crate) fn text<'a, R>(&mut self, name: &'static str, rows: &'a [R], value: impl Fn(&'a R) -> &'a str) {
        let chunked = StringChunked::from_iter_values(name.into(), rows.iter().map(value));
        self.columns.push(chunked.into_column());
    }
}

/// Columns being read.
pub(crate) struct ColumnsIn<'a> {
    frame: &'a DataFrame,
    path: &'a Path,
}

macro_rules! columns_in {
    ($($method:ident: $type:ty;)*) => {
        $(
            pub(crate) fn $method(&self, name: &'static str) -> Result<Vec<$type>, RecordError> {
                let chunked = self.column(name)?.$method().map_err(|error| self.error(name, error.to_string()))?;
                if chunked.null_count() > 0 {
                    return Err(self.error(name, "a value is missing"));
                }
                let mut values = Vec::with_capacity(chunked.len());
                chunked.downcast_iter().for_each(|array| values.extend_from_slice(array.values()));
                Ok(values)
            }
        )*
    };
}

macro_rules! optional_columns_in {
    ($($method:ident: $plain:ident: $type:ty;)*) => {
        $(
            pub(crate) fn $method(&self, name: &'static str) -> Result<Vec<Option<$type>>, RecordError> {
                let chunked = self.column(name)?.$plain().map_err(|error| self.error(name, error.to_string()))?;
                // Mostly every row has a value, and reading them one by one takes many times as long.
                if chunked.null_count() == 0 {
                    return Ok(self.$plain(name)?.into_iter().map(Some).collect());
                }
                Ok(chunked.iter().collect())
            }
        )*
    };
}

impl<'a> ColumnsIn<'a> {
    /// Returns the columns of a frame; `path` is the file that they were read from, for error messages.
    pub(crate) fn of(frame: &'a DataFrame, path: &'a Path) -> Self {
        Self { frame, path }
    }
}

impl ColumnsIn<'_> {
    columns_in! {
        u32: u32;
        u64: u64;
        i32: i32;
        i64: i64;
        f64: f64;
    }
    optional_columns_in! {
        optional_u32: u32: u32;
        optional_u64: u64: u64;
        optional_f64: f64: f64;
    }

    pub(crate) fn optional_text(&self, name: &'static str) -> Result<Vec<Option<String>>, RecordError> {
        let chunked = self.column(name)?.str().map_err(|error| self.error(name, error.to_string()))?;
        Ok(chunked.iter().map(|value| value.map(str::to_owned)).collect())
    }

    pub(crate) fn bool(&self, name: &'static str) -> Result<Vec<bool>, RecordError> {
        let chunked = self.column(name)?.bool().map_err(|error| self.error(name, error.to_string()))?;
        chunked.iter().collect::<Option<Vec<_>>>().ok_or_else(|| self.error(name, "a value is missing"))
    }

    pub(crate) fn text(&self, name: &'static str) -> Result<Vec<String>, RecordError> {
        let column = self.column(name)?;
        let chunked = column.str().map_err(|error| self.error(name, error.to_string()))?;
        chunked
            .iter()
            .map(|value| value.map(str::to_owned).ok_or_else(|| self.error(name, "a value is missing")))
            .collect()
    }

    /// Numbers that stand for the values of an enumeration.
    pub(crate) fn coded<T: Copy>(
        &self,
        name: &'static str,
        meaning: impl Fn(u32) -> Option<T>,
    ) -> Result<Vec<T>, RecordError> {
        let unknown = |code| self.error(name, format!("{code} stands for nothing that this version knows"));
        let codes = self.u32(name)?;
        let mut values = Vec::with_capacity(codes.len());
        // Codes come in runs: mostly the last one repeats.
        let mut last = None;
        for code in codes {
            let value = match last {
                Some((known, value)) if known == code => value,
                _ => meaning(code).ok_or_else(|| unknown(code))?,
            };
            last = Some((code, value));
            values.push(value);
        }
        Ok(values)
    }

    pub(crate) fn error(&self, column: &'static str, why: impl Into<String>) -> RecordError {
        RecordError::Column { path: self.path.to_owned(), column, why: why.into() }
    }

    fn column(&self, name: &'static str) -> Result<&Column, RecordError> {
        self.frame.column(name).map_err(|_| self.error(name, "there is no such column"))
    }
}

/// Converts rows to columns.
pub(crate) fn frame_of_rows<R: Row>(rows: &[R]) -> Result<DataFrame, PolarsError> {
    let mut columns = ColumnsOut::default();
    R::write(rows, &mut columns);
    DataFrame::new(rows.len(), columns.columns)
}

/// Encodes rows as a Parquet file.
pub(crate) fn encode<R: Row>(rows: &[R]) -> Result<Vec<u8>, RecordError> {
    encode_as(rows, ParquetCompression::Zstd(None))
}

/// Like [`encode`], with another compression or none.
pub(crate) fn encode_as<R: Row>(rows: &[R], compression: ParquetCompression) -> Result<Vec<u8>, RecordError> {
    let failed = |error: PolarsError| RecordError::Encode { name: R::TABLE.to_owned(), why: error.to_string() };
    let mut frame = frame_of_rows(rows).map_err(failed)?;
    let mut bytes = Vec::new();
    ParquetWriter::new(&mut bytes)
        .with_compression(compression)
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
    let frame = frame_of_bytes(bytes, R::COLUMNS).map_err(damaged)?;
    R::read(&ColumnsIn { frame: &frame, path })
}

/// Decodes the columns of a Parquet file, all of them if none are named; returns the reason if it is damaged.
pub(crate) fn frame_of_bytes(bytes: Vec<u8>, columns: Option<&[&str]>) -> Result<DataFrame, String> {
    if bytes.len() < 12 || !bytes.ends_with(b"PAR1") {
        return Err(format!("it ends in the middle: {} bytes without the closing mark", bytes.len()));
    }
    // polars slices by the offsets that a file states, and panics when they are outside it. A run directory may come
    // from anybody, so a damaged table must give an error and not end the process.
    catch_unwind(AssertUnwindSafe(|| {
        let mut reader = ParquetReader::new(Cursor::new(bytes));
        let rows = reader.num_rows()?;
        if rows > MOST_ROWS {
            let why = format!("it states {rows} rows, at most {MOST_ROWS} are read of one file");
            return Err(PolarsError::ComputeError(why.into()));
        }
        reader
            .read_parallel(ParallelStrategy::None)
            .with_columns(columns.map(|names| names.iter().map(|name| (*name).to_owned()).collect()))
            .finish()
    }))
    .map_err(|_| "its inner offsets are damaged".to_owned())?
    .map_err(|error| error.to_string())
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
        assert!(said.contains("at most 1048576 are read"), "{said}");
    }
}
