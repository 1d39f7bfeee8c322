//! The decoder of one part of a table, for the fuzz targets: a run directory shows it only what has the right sum.

use std::path::Path;

use activebench_model::event_kinds;
use polars::prelude::ParquetCompression;

use crate::error::RecordError;
use crate::part::{decode, encode_as};

macro_rules! parts {
    ($(
        $(#[$doc:meta])* $kind:ident $method:ident from $from:ident: $event:ty, $table:literal, $class:expr, $about:literal;
    )*) => {
        /// The names of all tables.
        pub const TABLES: &[&str] = &[$($table,)*];

        /// Decodes a file as a part of a table; returns its number of rows.
        ///
        /// # Errors
        /// When the file is refused, or there is no such table.
        pub fn read_part(table: &str, bytes: Vec<u8>) -> Result<usize, RecordError> {
            let path = Path::new(table);
            match table {
                $($table => decode::<$event>(path, bytes).map(|rows| rows.len()),)*
                _ => Err(RecordError::NotARun { path: path.to_owned() }),
            }
        }

        /// Returns a part of a table without compression, so that a changed byte is a changed value.
        ///
        /// # Errors
        /// As [`read_part`].
        pub fn uncompressed(table: &str, bytes: Vec<u8>) -> Result<Vec<u8>, RecordError> {
            let path = Path::new(table);
            match table {
                $($table => encode_as(&decode::<$event>(path, bytes)?, ParquetCompression::Uncompressed),)*
                _ => Err(RecordError::NotARun { path: path.to_owned() }),
            }
        }
    };
}

event_kinds!(parts);
