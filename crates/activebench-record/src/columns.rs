//! The columns of a table: how each type is stored, and the declaration of a row's columns, from which writing and
//! reading follow.
//!
//! Changing a name or a type changes the format: see `run::FORMAT`.

use std::path::Path;

use activebench_model::call::{DeviceNumber, FileId, Op};
use polars::prelude::{
    BooleanChunked, Column, DataFrame, Float64Chunked, Int32Chunked, Int64Chunked, IntoColumn, NewChunkedArray,
    StringChunked, UInt32Chunked, UInt64Chunked,
};

use crate::error::RecordError;

/// A value that every row has, in one column or several.
pub trait Stored: Sized {
    /// Adds the columns of the rows' values.
    fn write<R>(columns: &mut ColumnsOut, name: &str, rows: &[R], value: impl Fn(&R) -> &Self);
    /// Reads the values.
    fn read(columns: &ColumnsIn<'_>, name: &str) -> Result<Vec<Self>, RecordError>;
    /// Adds the names of the columns.
    fn names(name: &str, names: &mut Vec<String>) {
        names.push(name.to_owned());
    }
}

/// A value that a row may lack.
pub trait Optional: Sized {
    /// As [`Stored::write`].
    fn write<R>(columns: &mut ColumnsOut, name: &str, rows: &[R], value: impl Fn(&R) -> Option<&Self>);
    /// As [`Stored::read`].
    fn read(columns: &ColumnsIn<'_>, name: &str) -> Result<Vec<Option<Self>>, RecordError>;
    /// As [`Stored::names`].
    fn names(name: &str, names: &mut Vec<String>) {
        names.push(name.to_owned());
    }
}

impl<T: Optional> Stored for Option<T> {
    fn write<R>(columns: &mut ColumnsOut, name: &str, rows: &[R], value: impl Fn(&R) -> &Self) {
        T::write(columns, name, rows, |row| value(row).as_ref());
    }

    fn read(columns: &ColumnsIn<'_>, name: &str) -> Result<Vec<Self>, RecordError> {
        T::read(columns, name)
    }

    fn names(name: &str, names: &mut Vec<String>) {
        T::names(name, names);
    }
}

/// A value that may be missing in a row that itself may be missing: both are stored alike.
impl<T: Optional> Optional for Option<T> {
    fn write<R>(columns: &mut ColumnsOut, name: &str, rows: &[R], value: impl Fn(&R) -> Option<&Self>) {
        T::write(columns, name, rows, |row| value(row).and_then(Option::as_ref));
    }

    fn read(columns: &ColumnsIn<'_>, name: &str) -> Result<Vec<Option<Self>>, RecordError> {
        Ok(T::read(columns, name)?.into_iter().map(Some).collect())
    }

    fn names(name: &str, names: &mut Vec<String>) {
        T::names(name, names);
    }
}

/// Maximum bytes of text that are read of a column. The names in a part of [`crate::ROWS_PER_PART`] rows have 8 MiB at
/// most.
const TEXT_BYTES: u64 = 32 << 20;

/// Columns being made.
#[derive(Default)]
pub struct ColumnsOut(Vec<Column>);

impl ColumnsOut {
    /// Adds a column of numbers that stand for the values of an enumeration.
    pub(crate) fn codes(&mut self, name: &str, codes: impl Iterator<Item = u32>) {
        self.0.push(UInt32Chunked::from_iter_values(name.into(), codes).into_column());
    }

    /// Returns the columns as a frame.
    pub(crate) fn frame(self, rows: usize) -> Result<DataFrame, polars::error::PolarsError> {
        DataFrame::new(rows, self.0)
    }
}

/// Columns being read.
pub struct ColumnsIn<'a> {
    frame: &'a DataFrame,
    path: &'a Path,
}

impl<'a> ColumnsIn<'a> {
    /// Returns the columns of a frame; `path` is the file that they were read from, for error messages.
    pub(crate) fn of(frame: &'a DataFrame, path: &'a Path) -> Self {
        Self { frame, path }
    }

    /// Returns the number of rows: every column has as many.
    pub(crate) fn rows(&self) -> usize {
        self.frame.height()
    }

    /// Reads the numbers that stand for the values of an enumeration.
    pub(crate) fn coded<T: Copy>(&self, name: &str, meaning: impl Fn(u32) -> Option<T>) -> Result<Vec<T>, RecordError> {
        let unknown = |code| self.error(name, format!("this version does not know the code {code}"));
        let codes = <u32 as Stored>::read(self, name)?;
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

    pub(crate) fn error(&self, column: &str, why: impl Into<String>) -> RecordError {
        RecordError::Column { path: self.path.to_owned(), column: column.to_owned(), why: why.into() }
    }

    fn column(&self, name: &str) -> Result<&Column, RecordError> {
        self.frame.column(name).map_err(|_| self.error(name, "there is no such column"))
    }
}

macro_rules! numbers {
    ($($type:ident: $chunked:ident;)*) => {
        $(
            impl Stored for $type {
                fn write<R>(columns: &mut ColumnsOut, name: &str, rows: &[R], value: impl Fn(&R) -> &Self) {
                    let values = rows.iter().map(|row| *value(row));
                    columns.0.push($chunked::from_iter_values(name.into(), values).into_column());
                }

                fn read(columns: &ColumnsIn<'_>, name: &str) -> Result<Vec<Self>, RecordError> {
                    let chunked = columns.column(name)?.$type();
                    let chunked = chunked.map_err(|error| columns.error(name, error.to_string()))?;
                    if chunked.null_count() > 0 {
                        return Err(columns.error(name, "a value is missing"));
                    }
                    let mut values = Vec::with_capacity(chunked.len());
                    chunked.downcast_iter().for_each(|array| values.extend_from_slice(array.values()));
                    Ok(values)
                }
            }

            impl Optional for $type {
                fn write<R>(columns: &mut ColumnsOut, name: &str, rows: &[R], value: impl Fn(&R) -> Option<&Self>) {
                    let values = rows.iter().map(|row| value(row).copied());
                    columns.0.push($chunked::from_iter_options(name.into(), values).into_column());
                }

                fn read(columns: &ColumnsIn<'_>, name: &str) -> Result<Vec<Option<Self>>, RecordError> {
                    let chunked = columns.column(name)?.$type();
                    let chunked = chunked.map_err(|error| columns.error(name, error.to_string()))?;
                    // Mostly every row has a value, and reading them one by one takes many times as long.
                    if chunked.null_count() == 0 {
                        return Ok(<Self as Stored>::read(columns, name)?.into_iter().map(Some).collect());
                    }
                    Ok(chunked.iter().collect())
                }
            }
        )*
    };
}

numbers! {
    u32: UInt32Chunked;
    u64: UInt64Chunked;
    i32: Int32Chunked;
    i64: Int64Chunked;
    f64: Float64Chunked;
}

impl Stored for bool {
    fn write<R>(columns: &mut ColumnsOut, name: &str, rows: &[R], value: impl Fn(&R) -> &Self) {
        let values: Vec<bool> = rows.iter().map(|row| *value(row)).collect();
        columns.0.push(BooleanChunked::from_slice(name.into(), &values).into_column());
    }

    fn read(columns: &ColumnsIn<'_>, name: &str) -> Result<Vec<Self>, RecordError> {
        let chunked = columns.column(name)?.bool().map_err(|error| columns.error(name, error.to_string()))?;
        chunked.iter().collect::<Option<Vec<_>>>().ok_or_else(|| columns.error(name, "a value is missing"))
    }
}

impl Stored for String {
    fn write<R>(columns: &mut ColumnsOut, name: &str, rows: &[R], value: impl Fn(&R) -> &Self) {
        // Borrowed from the rows: a text is not copied on its way into the column.
        let values = rows.iter().map(|row| value(row).as_str());
        columns.0.push(StringChunked::from_iter_values(name.into(), values).into_column());
    }

    fn read(columns: &ColumnsIn<'_>, name: &str) -> Result<Vec<Self>, RecordError> {
        let missing = || columns.error(name, "a value is missing");
        <Self as Optional>::read(columns, name)?.into_iter().map(|value| value.ok_or_else(missing)).collect()
    }
}

impl Optional for String {
    fn write<R>(columns: &mut ColumnsOut, name: &str, rows: &[R], value: impl Fn(&R) -> Option<&Self>) {
        let values = rows.iter().map(|row| value(row).map(String::as_str));
        columns.0.push(StringChunked::from_iter_options(name.into(), values).into_column());
    }

    fn read(columns: &ColumnsIn<'_>, name: &str) -> Result<Vec<Option<Self>>, RecordError> {
        let chunked = columns.column(name)?.str().map_err(|error| columns.error(name, error.to_string()))?;
        // Rows of a column share a text that a dictionary holds once; here each gets its own.
        let bytes = chunked.iter().flatten().fold(0, |sum: u64, text| sum.saturating_add(text.len() as u64));
        if bytes > TEXT_BYTES {
            return Err(columns.error(name, format!("it has {bytes} bytes of text, at most {TEXT_BYTES} are read")));
        }
        Ok(chunked.iter().map(|value| value.map(str::to_owned)).collect())
    }
}

/// Stores a type as a number: the conversions to it and back, of which the second gives `None` for a number without a
/// meaning.
macro_rules! stored_as_number {
    ($type:ty: $to:expr, $from:expr) => {
        impl $crate::columns::Stored for $type {
            fn write<R>(
                columns: &mut $crate::columns::ColumnsOut,
                name: &str,
                rows: &[R],
                value: impl Fn(&R) -> &Self,
            ) {
                let to: fn(Self) -> u32 = $to;
                columns.codes(name, rows.iter().map(|row| to(*value(row))));
            }

            fn read(
                columns: &$crate::columns::ColumnsIn<'_>,
                name: &str,
            ) -> Result<Vec<Self>, $crate::error::RecordError> {
                columns.coded(name, $from)
            }
        }
    };
}

stored_as_number!(u8: u32::from, |number| u8::try_from(number).ok());
stored_as_number!(Op: |op| u32::from(op as u16), |code| Op::from_code(u16::try_from(code).ok()?));
stored_as_number!(DeviceNumber: |device| device.0, |device| Some(DeviceNumber(device)));

impl Stored for FileId {
    fn write<R>(columns: &mut ColumnsOut, name: &str, rows: &[R], value: impl Fn(&R) -> &Self) {
        <u32 as Stored>::write(columns, &format!("{name}_s_dev"), rows, |row| &value(row).s_dev);
        <u64 as Stored>::write(columns, &format!("{name}_ino"), rows, |row| &value(row).ino);
    }

    fn read(columns: &ColumnsIn<'_>, name: &str) -> Result<Vec<Self>, RecordError> {
        let devices = <u32 as Stored>::read(columns, &format!("{name}_s_dev"))?;
        let inodes = <u64 as Stored>::read(columns, &format!("{name}_ino"))?;
        Ok(devices.into_iter().zip(inodes).map(|(s_dev, ino)| FileId { s_dev, ino }).collect())
    }

    fn names(name: &str, names: &mut Vec<String>) {
        <Self as Optional>::names(name, names);
    }
}

impl Optional for FileId {
    fn write<R>(columns: &mut ColumnsOut, name: &str, rows: &[R], value: impl Fn(&R) -> Option<&Self>) {
        <u32 as Optional>::write(columns, &format!("{name}_s_dev"), rows, |row| value(row).map(|id| &id.s_dev));
        <u64 as Optional>::write(columns, &format!("{name}_ino"), rows, |row| value(row).map(|id| &id.ino));
    }

    fn read(columns: &ColumnsIn<'_>, name: &str) -> Result<Vec<Option<Self>>, RecordError> {
        // Mostly every row has a file.
        if let Ok(files) = <Self as Stored>::read(columns, name) {
            return Ok(files.into_iter().map(Some).collect());
        }
        let inode = format!("{name}_ino");
        let devices = <u32 as Optional>::read(columns, &format!("{name}_s_dev"))?;
        let inodes = <u64 as Optional>::read(columns, &inode)?;
        let pairs = devices.into_iter().zip(inodes);
        pairs
            .map(|pair| match pair {
                (Some(s_dev), Some(ino)) => Ok(Some(FileId { s_dev, ino })),
                (None, None) => Ok(None),
                _ => Err(columns.error(&inode, "half of a file's identity is missing")),
            })
            .collect()
    }

    fn names(name: &str, names: &mut Vec<String>) {
        names.extend([format!("{name}_s_dev"), format!("{name}_ino")]);
    }
}

/// The name of a field's column.
macro_rules! column_name {
    ($field:ident) => {
        stringify!($field)
    };
    ($field:ident $name:expr) => {
        $name
    };
}

/// Declares the columns of a type, in their order: each field once, with the column's name where it is not the
/// field's. Fields in the second braces are not stored and have a fixed value.
macro_rules! columns {
    ($row:ident { $($field:ident $(= $name:expr)?;)* } $({ $($rest:ident: $value:expr,)* })?) => {
        impl $crate::columns::Stored for $row {
            fn write<R>(
                columns: &mut $crate::columns::ColumnsOut,
                _name: &str,
                rows: &[R],
                value: impl Fn(&R) -> &Self,
            ) {
                $(
                    let name = $crate::columns::column_name!($field $($name)?);
                    $crate::columns::Stored::write(columns, name, rows, |row| &value(row).$field);
                )*
            }

            fn read(
                columns: &$crate::columns::ColumnsIn<'_>,
                _name: &str,
            ) -> Result<Vec<Self>, $crate::error::RecordError> {
                $(
                    let name = $crate::columns::column_name!($field $($name)?);
                    let mut $field = $crate::columns::Stored::read(columns, name)?.into_iter();
                )*
                let mut rows = Vec::with_capacity(columns.rows());
                // Every column of a frame has as many rows.
                rows.extend((0..columns.rows()).map_while(|_| {
                    Some(Self { $($field: $field.next()?,)* $($($rest: $value,)*)? })
                }));
                Ok(rows)
            }

            fn names(_name: &str, names: &mut Vec<String>) {
                // The type of a field is that of the reference to it.
                fn of<T: $crate::columns::Stored>(_: fn(&$row) -> &T, name: &str, names: &mut Vec<String>) {
                    T::names(name, names);
                }
                $(of(|row| &row.$field, $crate::columns::column_name!($field $($name)?), names);)*
            }
        }
    };
}

/// As [`columns`], for a value that a row may lack. It is missing where a field is missing that is not an option
/// itself.
macro_rules! optional_columns {
    ($group:ident { $($field:ident $(= $name:expr)?;)* }) => {
        impl $crate::columns::Optional for $group {
            fn write<R>(
                columns: &mut $crate::columns::ColumnsOut,
                _name: &str,
                rows: &[R],
                value: impl Fn(&R) -> Option<&Self>,
            ) {
                $(
                    let name = $crate::columns::column_name!($field $($name)?);
                    $crate::columns::Optional::write(columns, name, rows, |row| value(row).map(|group| &group.$field));
                )*
            }

            fn read(
                columns: &$crate::columns::ColumnsIn<'_>,
                _name: &str,
            ) -> Result<Vec<Option<Self>>, $crate::error::RecordError> {
                $(
                    let name = $crate::columns::column_name!($field $($name)?);
                    let mut $field = $crate::columns::Optional::read(columns, name)?.into_iter();
                )*
                let row = |_| {
                    // Every column takes part in every row, also where one before it has no value.
                    $(let $field = $field.next().flatten();)*
                    Some(Self { $($field: $field?,)* })
                };
                Ok((0..columns.rows()).map(row).collect())
            }
        }
    };
}

pub(crate) use {column_name, columns, optional_columns, stored_as_number};
