//! Checks a Parquet file before it is decoded.
//!
//! polars trusts what a file states of itself: a few bytes can make it ask for more memory than there is, which ends
//! the process, and a file's Arrow schema can ask for any conversion. So the description at the end of a file is read
//! here first, compared with the pages that are really there, and written again with only what was checked. polars
//! reads the new one.
//!
//! Only what this crate writes is accepted: flat columns of five types, three encodings, zstd or no compression.
//! Source: `src/main/thrift/parquet.thrift` of apache/parquet-format, 2.10.

use crate::thrift::{self, Fields, Value};

/// Maximum bytes of all unpacked pages of a file together. A part of [`crate::ROWS_PER_PART`] rows has 8 MiB at most;
/// earlier versions wrote eight times as many rows.
const UNPACKED_BYTES: u64 = 64 << 20;
/// Maximum columns: no table has half as many.
const MOST_COLUMNS: usize = 128;
/// Maximum row groups of a file.
const MOST_GROUPS: usize = 64;
/// Maximum values of a file's description.
const FOOTER_VALUES: u32 = 1 << 16;
/// Maximum values of a page's header.
const HEADER_VALUES: u32 = 64;
/// The mark at both ends of a file.
const MARK: &[u8] = b"PAR1";

/// A Parquet file that was checked.
pub(crate) struct Checked {
    /// The pages as they were, and a description of our own.
    pub(crate) bytes: Vec<u8>,
    pub(crate) rows: u64,
    /// Names of its columns.
    pub(crate) names: Vec<String>,
}

/// Checks a file of at most `most_rows` rows; returns the reason if it is refused.
pub(crate) fn check(bytes: Vec<u8>, most_rows: u64) -> Result<Checked, String> {
    let footer = Footer::read(&bytes)?;
    let rows = footer.rows()?;
    if rows > most_rows {
        return Err(format!("it states {rows} rows, at most {most_rows} are read of one file"));
    }
    let mut unpacked = 0_u64;
    for group in &footer.groups {
        for (column, chunk) in footer.columns.iter().zip(&group.chunks) {
            let pages = bytes.get(chunk.range(footer.at)?).ok_or(OUTSIDE)?;
            unpacked = unpacked.saturating_add(check_pages(pages, column, chunk, group.rows)?);
            if unpacked > UNPACKED_BYTES {
                return Err(format!("its pages unpack to more than {UNPACKED_BYTES} bytes"));
            }
        }
    }
    let mut description = Vec::new();
    thrift::write(&footer.described(), &mut description);
    let length = u32::try_from(description.len()).map_err(|_| OUTSIDE)?;
    let at = footer.at;
    let mut bytes = bytes;
    bytes.truncate(at);
    bytes.extend_from_slice(&description);
    bytes.extend_from_slice(&length.to_le_bytes());
    bytes.extend_from_slice(MARK);
    let names = footer.columns.into_iter().map(|column| String::from_utf8_lossy(&column.name).into_owned()).collect();
    Ok(Checked { bytes, rows, names })
}

/// Returns the number of rows that a file states; the reason if its description cannot be read.
pub(crate) fn stated_rows(bytes: &[u8]) -> Result<u64, String> {
    Footer::read(bytes)?.rows()
}

const GARBLED: &str = "its description is garbled";
const OUTSIDE: &str = "its inner offsets are damaged";

/// A type of values with its number of bytes; `None` where it varies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Physical {
    Boolean,
    Fixed(u64),
    Bytes,
}

struct Column {
    /// Its description as stated, without what we do not write.
    described: Vec<(i16, i64)>,
    name: Vec<u8>,
    physical: Physical,
}

struct Chunk {
    codec: i64,
    compressed_bytes: u64,
    unpacked_bytes: u64,
    values: u64,
    first_page: u64,
    dictionary: Option<u64>,
}

struct Group {
    rows: u64,
    chunks: Vec<Chunk>,
}

struct Footer {
    /// Its place in the file: everything before is pages.
    at: usize,
    stated_rows: u64,
    columns: Vec<Column>,
    groups: Vec<Group>,
}

impl Footer {
    fn read(bytes: &[u8]) -> Result<Self, String> {
        let cut = || format!("it ends in the middle: {} bytes without the closing mark", bytes.len());
        let inner = bytes.strip_suffix(MARK).filter(|inner| inner.len() >= 8 && inner.starts_with(MARK));
        let (inner, length) = inner.and_then(|inner| inner.split_last_chunk::<4>()).ok_or_else(cut)?;
        let at = inner.len().checked_sub(u32::from_le_bytes(*length) as usize).filter(|at| *at >= 4).ok_or(OUTSIDE)?;
        let description = &inner[at..];
        let (fields, read) = thrift::read(description, FOOTER_VALUES).ok_or(GARBLED)?;
        if read != description.len() {
            return Err(GARBLED.to_owned());
        }
        Self::of(&fields, at).ok_or_else(|| GARBLED.to_owned())
    }

    fn of(fields: &Fields<'_>, at: usize) -> Option<Self> {
        let (root, columns) = fields.list(2)?.split_first()?;
        let columns = columns.iter().map(Column::of).collect::<Option<Vec<_>>>()?;
        let Value::Struct(root) = root else { return None };
        let groups = fields.list(4)?;
        if root.count(5)? != columns.len() as u64 || columns.len() > MOST_COLUMNS || groups.len() > MOST_GROUPS {
            return None;
        }
        let groups = groups.iter().map(|group| Group::of(group, columns.len())).collect::<Option<Vec<_>>>()?;
        Some(Self { at, stated_rows: fields.count(3)?, columns, groups })
    }

    /// Returns the number of rows: that of its groups, and the stated one.
    fn rows(&self) -> Result<u64, String> {
        let rows = self.groups.iter().fold(0, |sum: u64, group| sum.saturating_add(group.rows));
        match rows == self.stated_rows {
            true => Ok(rows),
            false => Err(format!("it states {} rows, and its groups have {rows}", self.stated_rows)),
        }
    }

    /// Returns the description that polars reads.
    fn described(&self) -> Fields<'_> {
        let int = |value: u64| Value::Int(value as i64);
        let root = Fields(vec![(4, Value::Bytes(b"root")), (5, int(self.columns.len() as u64))]);
        let column = |column: &'_ Column| {
            let mut fields: Vec<(i16, Value<'_>)> =
                column.described.iter().map(|(id, value)| (*id, Value::Int(*value))).collect();
            fields.sort_unstable_by_key(|(id, _)| *id);
            fields
        };
        let columns = self.columns.iter().map(|of| {
            let mut fields = column(of);
            let place = fields.partition_point(|(id, _)| *id < 4);
            fields.insert(place, (4, Value::Bytes(&of.name)));
            Value::Struct(Fields(fields))
        });
        let chunk = |chunk: &Chunk| {
            let mut about = vec![
                (4, Value::Int(chunk.codec)),
                (5, int(chunk.values)),
                (6, int(chunk.unpacked_bytes)),
                (7, int(chunk.compressed_bytes)),
                (9, int(chunk.first_page)),
            ];
            about.extend(chunk.dictionary.map(|at| (11, int(at))));
            Value::Struct(Fields(vec![(2, int(chunk.first_page)), (3, Value::Struct(Fields(about)))]))
        };
        let groups = self.groups.iter().map(|group| {
            let unpacked = group.chunks.iter().fold(0, |sum: u64, chunk| sum.saturating_add(chunk.unpacked_bytes));
            let chunks = group.chunks.iter().map(chunk).collect();
            Value::Struct(Fields(vec![(1, Value::List(chunks)), (2, int(unpacked)), (3, int(group.rows))]))
        });
        Fields(vec![
            (1, Value::Int(1)),
            (2, Value::List(std::iter::once(Value::Struct(root)).chain(columns).collect())),
            (3, int(self.stated_rows)),
            (4, Value::List(groups.collect())),
        ])
    }
}

impl Column {
    /// Reads a column of a flat table.
    fn of(value: &Value<'_>) -> Option<Self> {
        let Value::Struct(fields) = value else { return None };
        let physical = match fields.int(1)? {
            0 => Physical::Boolean,
            1 => Physical::Fixed(4),
            2 | 5 => Physical::Fixed(8),
            6 => Physical::Bytes,
            _ => return None,
        };
        let Some(Value::Bytes(name)) = fields.get(4) else { return None };
        let is_flat = fields.count(5).unwrap_or(0) == 0 && matches!(fields.int(3)?, 0 | 1);
        // UTF8, UINT_32 and UINT_64, INT_32 and INT_64: what this crate's types are.
        let is_known = matches!(fields.int(6), None | Some(0 | 13 | 14 | 17 | 18));
        let described = [1, 3, 6].into_iter().filter_map(|id| Some((id, fields.int(id)?))).collect();
        (is_flat && is_known).then(|| Self { described, name: name.to_vec(), physical })
    }
}

impl Group {
    fn of(value: &Value<'_>, columns: usize) -> Option<Self> {
        let Value::Struct(fields) = value else { return None };
        let rows = fields.count(3)?;
        let chunks = fields.list(1)?.iter().map(Chunk::of).collect::<Option<Vec<_>>>()?;
        let is_whole = chunks.len() == columns && chunks.iter().all(|chunk| chunk.values == rows);
        is_whole.then_some(Self { rows, chunks })
    }
}

impl Chunk {
    fn of(value: &Value<'_>) -> Option<Self> {
        let Value::Struct(fields) = value else { return None };
        let about = fields.fields(3)?;
        // A chunk with a path is in another file.
        let chunk = Self {
            codec: about.int(4).filter(|codec| matches!(*codec, UNCOMPRESSED | ZSTD))?,
            values: about.count(5)?,
            unpacked_bytes: about.count(6)?,
            compressed_bytes: about.count(7)?,
            first_page: about.count(9)?,
            dictionary: match about.get(11) {
                Some(_) => Some(about.count(11)?),
                None => None,
            },
        };
        fields.get(1).is_none().then_some(chunk)
    }

    /// Returns its place among the pages, which end where the description begins.
    fn range(&self, end: usize) -> Result<std::ops::Range<usize>, String> {
        let from = self.dictionary.unwrap_or(self.first_page);
        let to = from.checked_add(self.compressed_bytes);
        match to {
            Some(to) if from >= MARK.len() as u64 && to <= end as u64 && (from..=to).contains(&self.first_page) => {
                Ok(from as usize..to as usize)
            }
            _ => Err(OUTSIDE.to_owned()),
        }
    }
}

const UNCOMPRESSED: i64 = 0;
const ZSTD: i64 = 6;

/// Kinds of fields of a page's header.
enum Kind {
    Bool,
    Int,
    Bytes,
    Fields(&'static [(i16, Kind)]),
}

const STATISTICS: &[(i16, Kind)] = &[
    (1, Kind::Bytes),
    (2, Kind::Bytes),
    (3, Kind::Int),
    (4, Kind::Int),
    (5, Kind::Bytes),
    (6, Kind::Bytes),
    (7, Kind::Bool),
    (8, Kind::Bool),
];

/// The header of a page. polars reads a field by its number, whatever kind it has.
const HEADER: &[(i16, Kind)] = &[
    (1, Kind::Int),
    (2, Kind::Int),
    (3, Kind::Int),
    (4, Kind::Int),
    (5, Kind::Fields(&[(1, Kind::Int), (2, Kind::Int), (3, Kind::Int), (4, Kind::Int), (5, Kind::Fields(STATISTICS))])),
    (7, Kind::Fields(&[(1, Kind::Int), (2, Kind::Int), (3, Kind::Bool)])),
    (
        8,
        Kind::Fields(&[
            (1, Kind::Int),
            (2, Kind::Int),
            (3, Kind::Int),
            (4, Kind::Int),
            (5, Kind::Int),
            (6, Kind::Int),
            (7, Kind::Bool),
            (8, Kind::Fields(STATISTICS)),
        ]),
    ),
];

/// `true` if every field is known and of its kind.
fn fits(fields: &Fields<'_>, kinds: &[(i16, Kind)]) -> bool {
    fields.0.iter().all(|(id, value)| {
        let kind = kinds.iter().find(|(known, _)| known == id).map(|(_, kind)| kind);
        match (kind, value) {
            (Some(Kind::Bool), Value::Bool(_)) | (Some(Kind::Int), Value::Int(_)) => true,
            (Some(Kind::Bytes), Value::Bytes(_)) => true,
            (Some(Kind::Fields(kinds)), Value::Struct(fields)) => fits(fields, kinds),
            _ => false,
        }
    })
}

/// Checks the pages of a chunk; returns the bytes that they unpack to.
fn check_pages(mut pages: &[u8], column: &Column, chunk: &Chunk, rows: u64) -> Result<u64, String> {
    let (mut values, mut unpacked, mut first) = (0_u64, 0_u64, true);
    // Without rows polars reads no page.
    while !pages.is_empty() {
        let (header, length) = thrift::read(pages, HEADER_VALUES).ok_or(GARBLED)?;
        let page = Page::of(&header, column).ok_or(GARBLED)?;
        if page.is_dictionary && !(first && chunk.dictionary.is_some()) {
            return Err(GARBLED.to_owned());
        }
        let is_packed = chunk.codec == ZSTD && page.is_packed;
        if !is_packed && page.compressed_bytes != page.unpacked_bytes {
            return Err(GARBLED.to_owned());
        }
        values = values.saturating_add(if page.is_dictionary { 0 } else { page.values });
        unpacked = unpacked.saturating_add(page.unpacked_bytes);
        if unpacked > UNPACKED_BYTES || values > rows {
            return Err(format!("a column unpacks to more than {UNPACKED_BYTES} bytes or {rows} values"));
        }
        let end = usize::try_from(page.compressed_bytes).ok().and_then(|bytes| length.checked_add(bytes));
        pages = end.and_then(|end| pages.get(end..)).ok_or(OUTSIDE)?;
        first = false;
    }
    match values == rows {
        true => Ok(unpacked),
        false => Err(format!("a column has {values} values in {rows} rows")),
    }
}

struct Page {
    is_dictionary: bool,
    is_packed: bool,
    values: u64,
    compressed_bytes: u64,
    unpacked_bytes: u64,
}

impl Page {
    fn of(header: &Fields<'_>, column: &Column) -> Option<Self> {
        let in_32_bits = |id| header.count(id).filter(|count| *count <= i32::MAX as u64);
        let (unpacked_bytes, compressed_bytes) = (in_32_bits(2)?, in_32_bits(3)?);
        if !fits(header, HEADER) {
            return None;
        }
        let page = |is_dictionary, values, is_packed| {
            Some(Self { is_dictionary, is_packed, values, compressed_bytes, unpacked_bytes })
        };
        match header.int(1)? {
            0 => {
                let about = header.fields(5)?;
                let is_known = matches!(about.int(2)?, PLAIN | PLAIN_DICTIONARY | RLE | RLE_DICTIONARY)
                    && about.int(3)? == RLE
                    && about.int(4)? == RLE;
                is_known.then_some(())?;
                page(false, about.count(1)?, true)
            }
            2 => {
                let about = header.fields(7)?;
                let values = about.count(1)?;
                let least = match column.physical {
                    Physical::Boolean => return None,
                    Physical::Fixed(bytes) => values.checked_mul(bytes)?,
                    // Each has its length before it.
                    Physical::Bytes => values.checked_mul(4)?,
                };
                let is_known = matches!(about.int(2)?, PLAIN | PLAIN_DICTIONARY) && least <= unpacked_bytes;
                is_known.then_some(())?;
                page(true, values, true)
            }
            3 => {
                let about = header.fields(8)?;
                let values = about.count(1)?;
                let levels = about.count(5)?;
                let is_known = matches!(about.int(4)?, PLAIN | PLAIN_DICTIONARY | RLE | RLE_DICTIONARY)
                    && about.count(2)? <= values
                    && about.count(3)? == values
                    && about.count(6)? == 0
                    && levels <= unpacked_bytes
                    && levels <= compressed_bytes;
                is_known.then_some(())?;
                page(false, values, !matches!(about.get(7), Some(Value::Bool(false))))
            }
            _ => None,
        }
    }
}

const PLAIN: i64 = 0;
const PLAIN_DICTIONARY: i64 = 2;
const RLE: i64 = 3;
const RLE_DICTIONARY: i64 = 8;

#[cfg(test)]
mod tests {
    use std::path::Path;

    use activebench_model::call::{Call, Op};
    use activebench_model::event::{BlockEvent, NameEvent};
    use polars::prelude::ParquetCompression;

    use super::*;
    use crate::part::{ROWS_PER_PART, decode, encode, encode_as};
    use crate::samples;

    fn read(bytes: Vec<u8>) -> Result<Vec<Call>, String> {
        decode(Path::new("events/calls-0000.parquet"), bytes).map_err(|error| error.to_string())
    }

    /// Writes a file's description anew after a change of its values.
    fn with(bytes: &[u8], change: impl FnOnce(&mut Fields<'_>)) -> Vec<u8> {
        let length = u32::from_le_bytes(bytes[bytes.len() - 8..bytes.len() - 4].try_into().unwrap()) as usize;
        let at = bytes.len() - 8 - length;
        let (mut fields, _) = thrift::read(&bytes[at..bytes.len() - 8], FOOTER_VALUES).unwrap();
        change(&mut fields);
        let mut description = Vec::new();
        thrift::write(&fields, &mut description);
        let mark = (description.len() as u32).to_le_bytes();
        [&bytes[..at], &description, &mark, MARK].concat()
    }

    fn field<'f, 'a>(fields: &'f mut Fields<'a>, id: i16) -> &'f mut Value<'a> {
        &mut fields.0.iter_mut().find(|(known, _)| *known == id).unwrap().1
    }

    fn inner<'f, 'a>(value: &'f mut Value<'a>, place: usize) -> &'f mut Fields<'a> {
        match value {
            Value::List(values) => inner(&mut values[place], 0),
            Value::Struct(fields) => fields,
            other => panic!("{other:?}"),
        }
    }

    /// The first row group, and its chunk of a column.
    fn chunk<'f, 'a>(fields: &'f mut Fields<'a>, column: usize) -> &'f mut Fields<'a> {
        let group = inner(field(fields, 4), 0);
        inner(field(inner(field(group, 1), column), 3), 0)
    }

    #[test]
    fn a_description_is_replaced_and_its_values_stay() {
        let calls = samples::calls(1_000);
        for compression in [ParquetCompression::Zstd(None), ParquetCompression::Uncompressed] {
            let bytes = encode_as(&calls, compression).unwrap();
            let checked = check(bytes.clone(), 1_000).unwrap();
            assert_eq!((checked.rows, stated_rows(&bytes).unwrap()), (1_000, 1_000));
            assert!(!checked.bytes.windows(12).any(|bytes| bytes == b"ARROW:schema"));
            assert_eq!(read(bytes).unwrap(), calls);
        }
        let none = encode::<BlockEvent>(&[]).unwrap();
        assert_eq!(check(none, 10).unwrap().rows, 0);
    }

    #[test]
    fn numbers_that_cannot_be_are_refused_before_memory_is_taken() {
        let bytes = encode(&samples::calls(1_000)).unwrap();
        type Change = fn(&mut Fields<'_>);
        let cases: [(&str, Change, &str); 9] = [
            ("rows of the file", |all| *field(all, 3) = Value::Int(1 << 58), "its groups have 1000"),
            ("rows of a group", |all| *field(inner(field(all, 4), 0), 3) = Value::Int(1 << 58), "garbled"),
            (
                "rows everywhere",
                |all| {
                    *field(all, 3) = Value::Int(1 << 58);
                    let group = inner(field(all, 4), 0);
                    *field(group, 3) = Value::Int(1 << 58);
                    let Value::List(chunks) = field(group, 1) else { panic!("chunks") };
                    for chunk in chunks {
                        let about = inner(field(inner(chunk, 0), 3), 0);
                        *field(about, 5) = Value::Int(1 << 58);
                    }
                },
                "it states 288230376151711744 rows, at most 262144 are read",
            ),
            ("values of a column", |all| *field(chunk(all, 3), 5) = Value::Int(999), "garbled"),
            ("bytes of a column", |all| *field(chunk(all, 3), 7) = Value::Int(i64::MAX), "offsets are damaged"),
            ("place of a column", |all| *field(chunk(all, 3), 9) = Value::Int(i64::MAX), "damaged"),
            ("a negative place", |all| *field(chunk(all, 3), 9) = Value::Int(-1), "garbled"),
            ("compression", |all| *field(chunk(all, 3), 4) = Value::Int(2), "garbled"),
            ("a nested column", |all| *field(inner(field(all, 2), 3), 3) = Value::Int(2), "garbled"),
        ];
        for (what, change, expected) in cases {
            let said = read(with(&bytes, change)).map(|calls| calls.len()).unwrap_err();
            assert!(said.contains(expected), "{what}: {said}");
        }
        assert_eq!(read(with(&bytes, |_| {})).unwrap(), samples::calls(1_000), "unchanged");
    }

    #[test]
    fn a_text_that_a_dictionary_holds_once_is_counted_in_every_row() {
        // A few KB that stand for 64 MiB.
        let name =
            NameEvent { at_ns: 0, tid: 0, tgid: 0, op: Op::Open, returned: 0, file: None, name: "x".repeat(256) };
        let bytes = encode(&vec![name; 8 * ROWS_PER_PART]).unwrap();
        assert!(bytes.len() < 64 << 10, "{}", bytes.len());
        let said = decode::<NameEvent>(Path::new("names"), bytes).unwrap_err().to_string();
        assert!(said.contains("67108864 bytes of text, at most 33554432 are read"), "{said}");
    }

    #[test]
    fn any_changed_byte_is_an_error_or_other_values_and_never_the_end() {
        let bytes = encode_as(&samples::calls(300), ParquetCompression::Uncompressed).unwrap();
        let mut refused = 0;
        let tried: Vec<usize> = (0..bytes.len() - 4_000).step_by(11).chain(bytes.len() - 4_000..bytes.len()).collect();
        for place in &tried {
            let mut changed = bytes.clone();
            changed[*place] ^= 1 << (place % 8);
            refused += usize::from(read(changed).is_err());
        }
        assert!(refused > tried.len() / 20, "{refused} of {}", tried.len());
    }
}
