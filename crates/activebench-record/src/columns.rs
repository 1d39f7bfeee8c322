//! The columns of a table: how each type is stored, and the declaration of a row's columns with unit and meaning, from
//! which writing, reading, the metadata of the files and `docs/tables.md` follow. Words are in `words.rs`.
//!
//! Changing a name or a type changes the format: see `run::FORMAT`.

use std::path::Path;

use activebench_model::call::{DeviceNumber, FileId};
use activebench_model::table::ColumnAbout;
use polars::prelude::{
    BooleanChunked, Column, DataFrame, Float64Chunked, Int32Chunked, Int64Chunked, IntoColumn, NewChunkedArray,
    StringChunked, UInt32Chunked, UInt64Chunked,
};

use crate::error::RecordError;

/// What a table's declaration says of a field.
#[derive(Clone, Copy)]
pub struct About {
    /// Unit of the numbers; empty for words, text and truth values.
    pub(crate) unit: &'static str,
    /// One sentence or more.
    pub(crate) meaning: &'static str,
}

impl About {
    /// Of a group of columns, each of which has its own.
    pub(crate) const NONE: Self = Self { unit: "", meaning: "" };

    /// Describes a column.
    pub(crate) fn column(self, name: &str) -> Described {
        let about = ColumnAbout::new(name, self.unit, self.meaning);
        Described { about, earlier: None }
    }
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Described {
    pub(crate) about: ColumnAbout,
    /// Its name in runs of format 1, where that is another one.
    pub(crate) earlier: Option<String>,
}

/// A value that every row has, in one column or several.
pub trait Stored: Sized {
    /// Adds the columns of the rows' values.
    fn write<R>(columns: &mut ColumnsOut, name: &str, rows: &[R], value: impl Fn(&R) -> &Self);
    /// Reads the values.
    fn read(columns: &ColumnsIn<'_>, name: &str) -> Result<Vec<Self>, RecordError>;
    /// Adds the descriptions of the columns.
    fn describe(name: &str, about: About, into: &mut Vec<Described>) {
        into.push(about.column(name));
    }
}

/// A value that a row may lack.
pub trait Optional: Sized {
    /// As [`Stored::write`].
    fn write<R>(columns: &mut ColumnsOut, name: &str, rows: &[R], value: impl Fn(&R) -> Option<&Self>);
    /// As [`Stored::read`].
    fn read(columns: &ColumnsIn<'_>, name: &str) -> Result<Vec<Option<Self>>, RecordError>;
    /// As [`Stored::describe`].
    fn describe(name: &str, about: About, into: &mut Vec<Described>) {
        into.push(about.column(name));
    }
}

impl<T: Optional> Stored for Option<T> {
    fn write<R>(columns: &mut ColumnsOut, name: &str, rows: &[R], value: impl Fn(&R) -> &Self) {
        T::write(columns, name, rows, |row| value(row).as_ref());
    }

    fn read(columns: &ColumnsIn<'_>, name: &str) -> Result<Vec<Self>, RecordError> {
        T::read(columns, name)
    }

    fn describe(name: &str, about: About, into: &mut Vec<Described>) {
        T::describe(name, about, into);
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

    fn describe(name: &str, about: About, into: &mut Vec<Described>) {
        T::describe(name, about, into);
    }
}

/// Maximum bytes of text that are read of a column. The names in a part of [`crate::ROWS_PER_PART`] rows have 8 MiB at
/// most.
const TEXT_BYTES: u64 = 32 << 20;

/// Words of a column that are kept while it is read.
const MOST_SEEN: usize = 64;
/// Characters of an unknown word that an error quotes.
const LONGEST_NAMED: usize = 40;

/// The words of a column that were met.
///
/// A dictionary's word has one view in all rows of a part, so that equal words are found by comparing 16 bytes. A part
/// has few words.
struct Seen<T> {
    words: Vec<(u128, T)>,
    /// Index of the last one: words come in runs.
    last: usize,
}

impl<T: Copy> Seen<T> {
    #[inline]
    fn value<E>(&mut self, view: u128, of: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        match self.words.get(self.last) {
            Some((known, value)) if *known == view => Ok(*value),
            _ => self.another(view, of),
        }
    }

    fn another<E>(&mut self, view: u128, of: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        self.last = match self.words.iter().position(|(known, _)| *known == view) {
            Some(place) => place,
            None => {
                let value = of()?;
                // They are searched one by one, and a stranger's file may have a word for every row.
                if self.words.len() == MOST_SEEN {
                    self.words.clear();
                }
                self.words.push((view, value));
                self.words.len() - 1
            }
        };
        Ok(self.words[self.last].1)
    }
}

/// Columns being made.
#[derive(Default)]
pub struct ColumnsOut(Vec<Column>);

impl ColumnsOut {
    /// Adds a column of whole numbers.
    pub(crate) fn numbers(&mut self, name: &str, numbers: impl Iterator<Item = u32>) {
        self.0.push(UInt32Chunked::from_iter_values(name.into(), numbers).into_column());
    }

    /// Adds a column of text.
    pub(crate) fn texts<'a>(&mut self, name: &str, texts: impl Iterator<Item = Option<&'a str>>) {
        self.0.push(StringChunked::from_iter_options(name.into(), texts).into_column());
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

    /// Returns `true` if there is a column of this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.frame.column(name).is_ok()
    }

    /// Returns `true` if there is a column of this name with a value in any row.
    pub(crate) fn has_value(&self, name: &str) -> bool {
        self.frame.column(name).is_ok_and(|column| column.null_count() < column.len())
    }

    /// Returns `true` if the column of this name holds text.
    pub(crate) fn is_text(&self, name: &str) -> bool {
        self.frame.column(name).is_ok_and(|column| column.str().is_ok())
    }

    /// Reads numbers that stand for something else.
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

    /// Reads text that stands for something else; `None` where a row has none.
    pub(crate) fn worded<T: Copy>(
        &self,
        name: &str,
        meaning: impl Fn(&str) -> Option<T>,
    ) -> Result<Vec<Option<T>>, RecordError> {
        let unknown = |text: &str| {
            let text: String = text.chars().take(LONGEST_NAMED).collect();
            self.error(name, format!("this version does not know the word {text:?}"))
        };
        let chunked = self.column(name)?.str().map_err(|error| self.error(name, error.to_string()))?;
        if chunked.null_count() == chunked.len() {
            return Ok(vec![None; chunked.len()]);
        }
        let is_whole = chunked.null_count() == 0;
        let mut values = Vec::with_capacity(chunked.len());
        for array in chunked.downcast_iter() {
            let mut seen = Seen { words: Vec::new(), last: 0 };
            let mut value_of = |view: u128, row: usize| {
                seen.value(view, || meaning(array.value(row)).ok_or_else(|| unknown(array.value(row))))
            };
            let views = array.views().iter().map(|view| view.as_u128()).enumerate();
            if is_whole {
                for (row, view) in views {
                    values.push(Some(value_of(view, row)?));
                }
            } else {
                for ((row, view), text) in views.zip(array.iter()) {
                    values.push(match text {
                        Some(_) => Some(value_of(view, row)?),
                        None => None,
                    });
                }
            }
        }
        Ok(values)
    }

    /// As [`ColumnsIn::worded`], where every row has a text.
    pub(crate) fn worded_whole<T: Copy>(
        &self,
        name: &str,
        meaning: impl Fn(&str) -> Option<T>,
    ) -> Result<Vec<T>, RecordError> {
        let missing = || self.error(name, "a value is missing");
        self.worded(name, meaning)?.into_iter().map(|value| value.ok_or_else(missing)).collect()
    }

    pub(crate) fn error(&self, column: &str, why: impl Into<String>) -> RecordError {
        RecordError::Column { path: self.path.to_owned(), column: column.to_owned(), why: why.into() }
    }

    fn column(&self, name: &str) -> Result<&Column, RecordError> {
        self.frame.column(name).map_err(|_| self.error(name, "there is no such column"))
    }
}

/// A number that stands for null in memory.
pub(crate) trait OrNull: Sized {
    /// Reads the values, with this number in the place of null. Without the vector of options between, which is twice as
    /// large.
    fn read_or(columns: &ColumnsIn<'_>, name: &str, null: Self) -> Result<Vec<Self>, RecordError>;
}

macro_rules! numbers {
    ($($type:ident: $chunked:ident;)*) => {
        $(
            impl OrNull for $type {
                fn read_or(columns: &ColumnsIn<'_>, name: &str, null: Self) -> Result<Vec<Self>, RecordError> {
                    let chunked = columns.column(name)?.$type();
                    let chunked = chunked.map_err(|error| columns.error(name, error.to_string()))?;
                    let mut values = Vec::with_capacity(chunked.len());
                    for array in chunked.downcast_iter() {
                        match array.validity() {
                            None => values.extend_from_slice(array.values()),
                            Some(valid) => {
                                let all = array.values().iter().zip(valid.iter());
                                values.extend(all.map(|(value, is)| if is { *value } else { null }));
                            }
                        }
                    }
                    Ok(values)
                }
            }

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
                    let mut values = Vec::with_capacity(chunked.len());
                    for array in chunked.downcast_iter() {
                        let all = array.values().iter();
                        match array.validity() {
                            None => values.extend(all.map(|value| Some(*value))),
                            Some(valid) => values.extend(all.zip(valid.iter()).map(|(value, is)| is.then_some(*value))),
                        }
                    }
                    Ok(values)
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

impl Stored for u8 {
    fn write<R>(columns: &mut ColumnsOut, name: &str, rows: &[R], value: impl Fn(&R) -> &Self) {
        columns.numbers(name, rows.iter().map(|row| u32::from(*value(row))));
    }

    fn read(columns: &ColumnsIn<'_>, name: &str) -> Result<Vec<Self>, RecordError> {
        columns.coded(name, |number| u8::try_from(number).ok())
    }
}

impl Stored for FileId {
    fn write<R>(columns: &mut ColumnsOut, name: &str, rows: &[R], value: impl Fn(&R) -> &Self) {
        <Self as Optional>::write(columns, name, rows, |row| Some(value(row)));
    }

    fn read(columns: &ColumnsIn<'_>, name: &str) -> Result<Vec<Self>, RecordError> {
        let missing = || columns.error(name, "a value is missing");
        <Self as Optional>::read(columns, name)?.into_iter().map(|file| file.ok_or_else(missing)).collect()
    }

    fn describe(name: &str, about: About, into: &mut Vec<Described>) {
        <Self as Optional>::describe(name, about, into);
    }
}

impl Optional for FileId {
    fn write<R>(columns: &mut ColumnsOut, name: &str, rows: &[R], value: impl Fn(&R) -> Option<&Self>) {
        let devices: Vec<_> = rows.iter().map(|row| value(row).map(|file| DeviceNumber(file.s_dev))).collect();
        Optional::write(columns, &format!("{name}_s_dev"), &devices, |device| device.as_ref());
        <u64 as Optional>::write(columns, &format!("{name}_ino"), rows, |row| value(row).map(|id| &id.ino));
    }

    fn read(columns: &ColumnsIn<'_>, name: &str) -> Result<Vec<Option<Self>>, RecordError> {
        let inode = format!("{name}_ino");
        let devices = <DeviceNumber as Optional>::read(columns, &format!("{name}_s_dev"))?;
        let inodes = <u64 as Optional>::read(columns, &inode)?;
        let pairs = devices.into_iter().zip(inodes);
        pairs
            .map(|pair| match pair {
                (Some(DeviceNumber(s_dev)), Some(ino)) => Ok(Some(FileId { s_dev, ino })),
                (None, None) => Ok(None),
                _ => Err(columns.error(&inode, "half of a file's identity is missing")),
            })
            .collect()
    }

    fn describe(name: &str, about: About, into: &mut Vec<Described>) {
        let mut device = about.column(&format!("{name}_s_dev"));
        device.about.unit = "major:minor";
        device.about.meaning.push_str(" Device of its super block, as in /proc/self/mountinfo.");
        let mut inode = about.column(&format!("{name}_ino"));
        inode.about.unit = "";
        inode.about.meaning.push_str(" Its inode number. Both together identify a file.");
        into.extend([device, inode]);
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

/// Writes a field: by its type, or as a type of [`crate::words`] keeps it.
macro_rules! write_field {
    ($columns:ident, $rows:ident, $value:ident, $row:ident, $name:expr, $field:ident) => {
        $crate::columns::Stored::write($columns, $name, $rows, |row| &$value(row).$field)
    };
    ($columns:ident, $rows:ident, $value:ident, $row:ident, $name:expr, $field:ident $as:ident) => {
        $crate::words::write_kept::<$as, $row, _, _>($columns, $name, $rows, |row| $value(row), |row| &row.$field)
    };
}

/// Reads a field.
macro_rules! read_field {
    ($columns:ident, $row:ident, $name:expr) => {
        $crate::columns::Stored::read($columns, $name)
    };
    ($columns:ident, $row:ident, $name:expr, $as:ident) => {
        $crate::words::read_kept::<$as, $row, _>($columns, $name)
    };
}

/// Describes a field. Its type is that of the reference to it.
macro_rules! describe_field {
    ($into:ident, $row:ident, $name:expr, $about:expr, $field:ident) => {{
        fn of<T: $crate::columns::Stored>(
            _: fn(&$row) -> &T,
            name: &str,
            about: $crate::columns::About,
            into: &mut Vec<$crate::columns::Described>,
        ) {
            T::describe(name, about, into);
        }
        of(|row| &row.$field, $name, $about, $into);
    }};
    ($into:ident, $row:ident, $name:expr, $about:expr, $field:ident $as:ident) => {{
        fn of<T>(
            _: fn(&$row) -> &T,
            name: &str,
            about: $crate::columns::About,
            into: &mut Vec<$crate::columns::Described>,
        ) where
            $as: $crate::words::Kept<$row, T>,
        {
            $crate::words::describe_kept::<$as, $row, T>(name, about, into);
        }
        of(|row| &row.$field, $name, $about, $into);
    }};
}

/// What the declaration says of a field. A group says nothing of its own, nor does a part of a table.
macro_rules! about {
    () => {
        $crate::columns::About::NONE
    };
    ($unit:literal, $meaning:literal) => {
        $crate::columns::About { unit: $unit, meaning: $meaning }
    };
}

/// Declares the columns of a type, in their order: each field once, with how it is kept where its type does not say it,
/// the column's name where it is not the field's, its unit and its meaning. Fields in the second braces are not stored
/// and have a fixed value.
macro_rules! columns {
    (
        $row:ident { $($field:ident $(as $as:ident)? $(= $name:expr)? $(=> $unit:literal, $meaning:literal)?;)* }
        $({ $($rest:ident: $value:expr,)* })?
    ) => {
        impl $crate::columns::Stored for $row {
            fn write<R>(
                columns: &mut $crate::columns::ColumnsOut,
                _name: &str,
                rows: &[R],
                value: impl Fn(&R) -> &Self,
            ) {
                $(
                    let name = $crate::columns::column_name!($field $($name)?);
                    $crate::columns::write_field!(columns, rows, value, $row, name, $field $($as)?);
                )*
            }

            fn read(
                columns: &$crate::columns::ColumnsIn<'_>,
                _name: &str,
            ) -> Result<Vec<Self>, $crate::error::RecordError> {
                $(
                    let name = $crate::columns::column_name!($field $($name)?);
                    let mut $field = $crate::columns::read_field!(columns, $row, name $(, $as)?)?.into_iter();
                )*
                let mut rows = Vec::with_capacity(columns.rows());
                // Every column of a frame has as many rows.
                rows.extend((0..columns.rows()).map_while(|_| {
                    Some(Self { $($field: $field.next()?,)* $($($rest: $value,)*)? })
                }));
                Ok(rows)
            }

            fn describe(
                _name: &str,
                _about: $crate::columns::About,
                into: &mut Vec<$crate::columns::Described>,
            ) {
                $(
                    let name = $crate::columns::column_name!($field $($name)?);
                    let about = $crate::columns::about!($($unit, $meaning)?);
                    $crate::columns::describe_field!(into, $row, name, about, $field $($as)?);
                )*
            }
        }
    };
}

/// As [`columns`], for a value that a row may lack. It is missing where a field is missing that is not an option
/// itself.
macro_rules! optional_columns {
    ($group:ident { $($field:ident $(= $name:expr)? $(=> $unit:literal, $meaning:literal)?;)* }) => {
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

            fn describe(
                _name: &str,
                _about: $crate::columns::About,
                into: &mut Vec<$crate::columns::Described>,
            ) {
                fn of<T: $crate::columns::Optional>(
                    _: fn(&$group) -> &T,
                    name: &str,
                    about: $crate::columns::About,
                    into: &mut Vec<$crate::columns::Described>,
                ) {
                    T::describe(name, about, into);
                }
                $(
                    let name = $crate::columns::column_name!($field $($name)?);
                    of(|group| &group.$field, name, $crate::columns::about!($($unit, $meaning)?), into);
                )*
            }
        }
    };
}

pub(crate) use {about, column_name, columns, describe_field, optional_columns, read_field, write_field};
