//! Tables of a report as Parquet, for other programs. The run directory's own tables are in `tables.rs`.

use activebench_model::table::{Table, Values};
use polars::error::PolarsError;
use polars::prelude::{
    Column, DataFrame, DataType, Float64Chunked, Int64Chunked, IntoColumn, NewChunkedArray, ParquetCompression,
    ParquetWriter, StringChunked, UInt64Chunked,
};

use crate::columns::Described;
use crate::error::RecordError;
use crate::part::{Table as Rows, described, frame_of_rows, metadata};
use crate::writer::Appended;

/// Encodes a table as a Parquet file (zstd). A missing value is null. The file states the table's name, and each column's
/// unit and meaning.
///
/// # Errors
/// When columns differ in length or two have one name.
pub fn parquet(name: &str, table: &Table) -> Result<Vec<u8>, RecordError> {
    let failed =
        |error: polars::error::PolarsError| RecordError::Encode { name: "parquet".to_owned(), why: error.to_string() };
    let rows = table.columns.first().map_or(0, |column| column.values.len());
    let columns: Vec<Column> = table
        .columns
        .iter()
        .map(|column| {
            let name = column.about.name.as_str().into();
            match &column.values {
                Values::Integers(values) => {
                    UInt64Chunked::from_iter_options(name, values.iter().copied()).into_column()
                }
                Values::Signed(values) => Int64Chunked::from_iter_options(name, values.iter().copied()).into_column(),
                Values::Numbers(values) => {
                    Float64Chunked::from_iter_options(name, values.iter().copied()).into_column()
                }
                Values::Texts(values) => {
                    StringChunked::from_iter_options(name, values.iter().map(Option::as_deref)).into_column()
                }
            }
        })
        .collect();
    let mut frame = DataFrame::new(rows, columns).map_err(failed)?;
    let mut bytes = Vec::new();
    ParquetWriter::new(&mut bytes)
        .with_compression(ParquetCompression::Zstd(None))
        .with_key_value_metadata(Some(metadata(name, table.columns.iter().map(|column| &column.about))))
        .set_parallel(false)
        .finish(&mut frame)
        .map_err(failed)?;
    Ok(bytes)
}

/// Returns events as a table with the columns of the run directory.
///
/// # Errors
/// When they cannot be converted: a bug.
pub fn event_table<R: Appended>(rows: &[R]) -> Result<Table, RecordError> {
    let failed =
        |error: PolarsError| RecordError::Encode { name: <R as Rows>::TABLE.to_owned(), why: error.to_string() };
    let frame = frame_of_rows(rows).map_err(failed)?;
    let columns = described::<R>().into_iter().map(|Described { about, .. }| {
        let column = frame.column(&about.name).map_err(failed)?;
        let values = match column.dtype() {
            DataType::UInt32 => {
                Values::Integers(column.u32().map_err(failed)?.iter().map(|v| v.map(u64::from)).collect())
            }
            DataType::UInt64 => Values::Integers(column.u64().map_err(failed)?.iter().collect()),
            DataType::Int32 => Values::Signed(column.i32().map_err(failed)?.iter().map(|v| v.map(i64::from)).collect()),
            DataType::Int64 => Values::Signed(column.i64().map_err(failed)?.iter().collect()),
            DataType::Boolean => {
                let texts = column.bool().map_err(failed)?.iter().map(|value| value.map(|value| value.to_string()));
                Values::Texts(texts.collect())
            }
            _ => Values::Texts(column.str().map_err(failed)?.iter().map(|text| text.map(str::to_owned)).collect()),
        };
        Ok(activebench_model::table::Column { about, values })
    });
    Ok(Table { columns: columns.collect::<Result<_, RecordError>>()? })
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use activebench_model::table::{Column, ColumnAbout};
    use polars::prelude::{ParquetReader, SerReader};

    use super::*;

    fn table(columns: Vec<(&str, Values)>) -> Table {
        let column = |(name, values): (&str, Values)| Column { about: ColumnAbout::new(name, "", ""), values };
        Table { columns: columns.into_iter().map(column).collect() }
    }

    #[test]
    fn what_is_written_is_read_again_and_a_missing_value_is_no_zero() {
        let written = table(vec![
            ("count", Values::Integers(vec![Some(0), None, Some(u64::MAX)])),
            ("start_ns", Values::Signed(vec![Some(-5), Some(0), None])),
            ("rate", Values::Numbers(vec![None, Some(0.0), Some(0.1)])),
            ("phase", Values::Texts(vec![Some("write".into()), Some(String::new()), None])),
        ]);
        let bytes = parquet("claims", &written).expect("it can be written");
        let frame = ParquetReader::new(Cursor::new(bytes)).finish().expect("it can be read");
        assert_eq!(frame.height(), 3);
        let column = |name: &str| frame.column(name).expect("it is there");
        assert_eq!(column("count").u64().expect("whole").iter().collect::<Vec<_>>(), [Some(0), None, Some(u64::MAX)]);
        assert_eq!(column("start_ns").i64().expect("whole").iter().collect::<Vec<_>>(), [Some(-5), Some(0), None]);
        assert_eq!(column("rate").f64().expect("a number").iter().collect::<Vec<_>>(), [None, Some(0.0), Some(0.1)]);
        assert_eq!(column("phase").str().expect("text").iter().collect::<Vec<_>>(), [Some("write"), Some(""), None]);
    }

    #[test]
    fn a_table_without_rows_keeps_its_columns() {
        let bytes = parquet("claims", &table(vec![("phase", Values::Texts(Vec::new()))])).expect("it can be written");
        let frame = ParquetReader::new(Cursor::new(bytes)).finish().expect("it can be read");
        assert_eq!((frame.height(), frame.width()), (0, 1));
    }

    #[test]
    fn columns_of_different_length_are_an_error() {
        let ragged =
            table(vec![("a", Values::Integers(vec![Some(1)])), ("b", Values::Integers(vec![Some(1), Some(2)]))]);
        assert!(parquet("claims", &ragged).is_err());
    }
}
