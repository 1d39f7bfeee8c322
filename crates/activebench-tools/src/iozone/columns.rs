//! The columns of iozone's table, as its header line shows them.
//!
//! Two layouts are known exactly, with the width of each cell. In any other (3.506 and later have wider cells) a number
//! belongs to the word of the header that ends where it ends.

use super::catalogue::Kind;
use super::rows::{InColumns, LONGEST_NUMBER, MAY_BE_CUT};

/// Widths of the two leading fields, the same in every known version.
pub(super) const FILE_WIDTH: usize = 16;
pub(super) const RECORD_WIDTH: usize = 8;

/// The header's words for the passes of [`Kind::COLUMNS`].
const WORDS: [&str; Kind::COLUMNS.len()] = [
    "write", "rewrite", "read", "reread", "read", "write", "read", "rewrite", "read", "fwrite", "frewrite", "fread",
    "freread", "pwrite", "repwrite", "pread", "repread",
];

/// A number ends this far behind the word of its column at most: in 3.506 one byte behind `write`.
const MOST_BEHIND: usize = 1;

/// The cells of one version's table, behind the record size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Cells {
    /// Width of each cell; and that of a skipped freread cell, which differs: 3.489 pads a skipped fread pair with 17.
    Widths([usize; Kind::COLUMNS.len()], usize),
    /// Ends of the header's words, in the order of the columns.
    Ends(Vec<(Kind, usize)>),
}

/// The layout of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) cells: Cells,
}

/// The table's second header line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Header {
    /// End of the column of the file size, in bytes from the start of the line.
    pub(super) size_end: usize,
    /// The named passes, in order.
    pub(super) kinds: Vec<Kind>,
    /// Behind them it has words of no known version, or known ones in another place.
    pub(super) has_other_words: bool,
    /// `None` if the spacing of the header is lost: rows are then read by words.
    pub(super) layout: Option<Layout>,
}

/// A layout that is known exactly, with the ends of its header's words behind the record size.
struct Known {
    ends: &'static [usize],
    widths: [usize; Kind::COLUMNS.len()],
    skipped_freread: usize,
}

/// 3.434 to 3.489.
const WIDE: Known = Known {
    ends: &[9, 18, 26, 36, 44, 54, 63, 73, 83, 92, 101, 110, 119, 127, 136, 144, 154],
    widths: [9, 9, 9, 9, 9, 9, 9, 10, 10, 9, 9, 9, 9, 9, 9, 8, 9],
    skipped_freread: 8,
};
/// 3.263 to 3.420.
const NARROW: Known = Known {
    ends: &[8, 16, 24, 34, 42, 50, 58, 66, 74, 83, 92, 100, 109],
    widths: [8, 8, 9, 9, 8, 8, 8, 8, 8, 9, 9, 8, 9, 8, 9, 8, 9],
    skipped_freread: 9,
};

impl Header {
    /// Reads a line; `None` if it is not the header.
    pub(super) fn read(line: &str) -> Option<Header> {
        let mut words = words(line);
        let (size, size_end) = words.next()?;
        let (record, record_end) = words.next()?;
        if !size.eq_ignore_ascii_case("kb") || record != "reclen" {
            return None;
        }
        let mut columns = Vec::new();
        let mut has_other_words = false;
        for ((word, end), (kind, known)) in words.zip(Kind::COLUMNS.into_iter().zip(WORDS)) {
            if word != known {
                // A wrapped line ends within a word.
                has_other_words = !known.starts_with(word) || end < line.trim_end().len();
                break;
            }
            columns.push((kind, end - record_end));
        }
        let kinds = columns.iter().map(|(kind, _)| *kind).collect();
        let layout = (record_end == size_end + RECORD_WIDTH).then(|| Layout::of(columns)).flatten();
        Some(Header { size_end, kinds, has_other_words, layout })
    }

    /// Returns true if a line consists of words of the header: the rest of a header that was wrapped.
    pub(super) fn is_rest(line: &str) -> bool {
        line.split_whitespace().next().is_some() && line.split_whitespace().all(|word| WORDS.contains(&word))
    }
}

impl Layout {
    fn of(columns: Vec<(Kind, usize)>) -> Option<Layout> {
        let fits = |known: &Known| {
            columns.len() >= 2 && columns.iter().zip(known.ends).all(|((_, end), expected)| end == expected)
        };
        let cells = match [WIDE, NARROW].into_iter().find(fits) {
            Some(known) => Cells::Widths(known.widths, known.skipped_freread),
            // Columns are apart by more than any number can be moved.
            None if columns.len() >= 2 && columns.windows(2).all(|pair| pair[1].1 >= pair[0].1 + RECORD_WIDTH) => {
                Cells::Ends(columns)
            }
            None => return None,
        };
        Some(Layout { cells })
    }
}

/// Reads the numbers of a row, each under the word of the header that ends where it ends. Nothing is read behind a
/// number that stands under no word.
pub(super) fn columns_under(text: &str, terminated: bool, ends: &[(Kind, usize)]) -> InColumns {
    let mut read = InColumns::default();
    let mut columns = ends.iter();
    for (word, end) in words(text) {
        let of_word = columns.find(|(_, column)| column + MOST_BEHIND >= end);
        let kind = of_word.filter(|(_, column)| *column <= end).map(|(kind, _)| *kind);
        let is_number = word.len() <= LONGEST_NUMBER && word.bytes().all(|byte| byte.is_ascii_digit());
        match kind {
            Some(kind) if is_number && (terminated || end < text.len()) => {
                read.spans.push((kind, end - word.len(), end))
            }
            _ if end == text.len() && !terminated => break,
            _ if end == text.len() && is_number => {
                read.remark = Some(MAY_BE_CUT);
                break;
            }
            _ => {
                read.remark = Some("a number of the row stands under no word of the header: the rest is not claimed");
                break;
            }
        }
    }
    read
}

/// Returns the words of a line with their ends.
fn words(line: &str) -> impl Iterator<Item = (&str, usize)> {
    line.split_ascii_whitespace().map(|word| (word, word.as_ptr() as usize - line.as_ptr() as usize + word.len()))
}
