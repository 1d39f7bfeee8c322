//! The rows of iozone's table, and the column of each number.
//!
//! A row is written in pieces (one `write(2)` per number), cells have fixed widths, skipped
//! tests are blank, and a number may fill or overflow its cell. Therefore cells are read by
//! column, counted from the row's own record size: a table that was moved as a whole keeps its columns.
//! If that fails, the row is read by words and the set of known tests.

use super::catalogue::Kind;
use super::columns::{Cells, FILE_WIDTH, Header, RECORD_WIDTH, columns_under};

/// More digits than any rate has: a longer run of digits is two adjacent cells.
pub(super) const LONGEST_NUMBER: usize = 12;

/// A piece of a row: a line, or the text after debug lines that cut the row.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    /// Line number from 1.
    pub line: u64,
    /// Text without its line end.
    pub text: String,
    /// True if a line end follows.
    pub terminated: bool,
}

/// A number of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cell {
    /// The pass.
    pub kind: Kind,
    /// As printed.
    pub digits: String,
    /// Index of the piece that contains it.
    pub piece: usize,
}

/// A parsed row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Row {
    /// The first field.
    pub file_kib: u64,
    /// The second field.
    pub record_kib: u64,
    /// Numbers in the order of the columns, zeros included, blanks excluded.
    pub cells: Vec<Cell>,
    /// Reason why the cells could not be distinguished, or a remark that they were read by words.
    pub remark: Option<&'static str>,
}

/// The passes that a row without usable columns states, in order.
#[derive(Clone, Copy, Debug)]
pub(super) enum Expected<'a> {
    /// The command is known: a row that was cut short states the first of these.
    Of(&'a [Kind]),
    /// The command is not known: only a row with a number for each column of the header can be read.
    AllOf(&'a [Kind]),
}

/// The sizes that begin a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Leading {
    pub file_kib: u64,
    pub record_kib: u64,
    /// End of the record size in the line, in bytes.
    end: usize,
}

/// Returns the leading fields of a row; `None` if the line does not begin like one.
pub(super) fn leading_fields(text: &str, header: &Header) -> Option<Leading> {
    if header.layout.is_none() {
        return leading_words(text).filter(|leading| leading.fit_each_other());
    }
    at_header(text, header).or_else(|| {
        // A line that was moved by itself keeps the width of the record's field.
        let leading = leading_words(text)?;
        let before = text.get(..leading.end)?;
        let field = before.len().checked_sub(RECORD_WIDTH)?;
        let aligned = before.get(field..).is_some_and(|field| right_aligned(field) == Some(leading.record_kib));
        let follows = before.get(..field).is_some_and(|rest| rest.ends_with(|last: char| last.is_ascii_digit()));
        let has_numbers = !text[leading.end..].trim().is_empty();
        (aligned && follows && has_numbers && leading.fit_each_other()).then_some(leading)
    })
}

/// Reads the two fields in the columns of the header.
fn at_header(text: &str, header: &Header) -> Option<Leading> {
    let file_end = header.size_end;
    let end = file_end + RECORD_WIDTH;
    let file = text.get(file_end.saturating_sub(FILE_WIDTH)..file_end)?;
    let before = text.get(..file_end.saturating_sub(FILE_WIDTH))?;
    before.trim().is_empty().then_some(())?;
    let (file_kib, record_kib) = (right_aligned(file)?, right_aligned(text.get(file_end..end)?)?);
    Some(Leading { file_kib, record_kib, end })
}

fn leading_words(text: &str) -> Option<Leading> {
    if !text.bytes().all(|byte| byte.is_ascii_digit() || byte == b' ' || byte == b'\t') {
        return None;
    }
    let mut words = text.split_ascii_whitespace();
    let (file, record) = (words.next()?, words.next()?);
    let end = record.as_ptr() as usize - text.as_ptr() as usize + record.len();
    Some(Leading { file_kib: file.parse().ok()?, record_kib: record.parse().ok()?, end })
}

impl Leading {
    /// Returns true if the two may be the sizes of a file and of its records. A line that a mail wrapped begins with
    /// two rates, of which one is hardly ever a multiple of the other.
    fn fit_each_other(self) -> bool {
        self.record_kib > 0 && self.file_kib.is_multiple_of(self.record_kib)
    }
}

fn right_aligned(field: &str) -> Option<u64> {
    let digits = field.trim_start_matches([' ', '\t']);
    (!digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())).then(|| digits.parse().ok()).flatten()
}

/// Parses a row. `expected` are the passes that print a number, in order: it is used
/// if columns cannot be trusted.
pub(super) fn read_row(pieces: &[Piece], header: &Header, expected: Expected<'_>) -> Option<Row> {
    let leading = leading_fields(&pieces.first()?.text, header)?;
    let text: String = pieces.iter().map(|piece| piece.text.as_str()).collect();
    let terminated = pieces.last().is_some_and(|piece| piece.terminated);
    let numbers = text.get(leading.end..).unwrap_or_default();
    let by_columns = header.layout.as_ref().map(|layout| match &layout.cells {
        Cells::Widths(widths, skipped_freread) => read_columns(numbers, terminated, widths, *skipped_freread),
        Cells::Ends(ends) => Ok(columns_under(numbers, terminated, ends)),
    });
    let (spans, remark) = match by_columns {
        Some(Ok(read)) => (read.spans, read.remark),
        failed => match read_words(numbers, terminated, expected) {
            Some(spans) if failed.is_none() => (spans, None),
            Some(spans) => (spans, Some("the row was read by words, not by columns")),
            None => (Vec::new(), Some("the numbers of the row cannot be separated")),
        },
    };
    let cells = spans
        .into_iter()
        .map(|(kind, start, end)| Cell {
            kind,
            digits: numbers[start..end].to_owned(),
            piece: piece_at(pieces, leading.end + end),
        })
        .collect();
    Some(Row { file_kib: leading.file_kib, record_kib: leading.record_kib, cells, remark })
}

/// Returns the piece that contains the byte before `end`.
fn piece_at(pieces: &[Piece], end: usize) -> usize {
    let mut reached = 0;
    pieces
        .iter()
        .position(|piece| {
            reached += piece.text.len();
            end <= reached
        })
        .unwrap_or(0)
}

/// A number with its pass: the bytes of the number, counted from the end of the record size.
pub(super) type Span = (Kind, usize, usize);

/// The numbers of a row that stand in known columns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct InColumns {
    pub(super) spans: Vec<Span>,
    /// Why numbers behind these were not read.
    pub(super) remark: Option<&'static str>,
}

/// A number at the end of its line that does not reach the end of its column.
pub(super) const MAY_BE_CUT: &str = "the last number of the row may be cut: it is not claimed";

/// Reads the cells from left to right, as `printf("%9lld")` wrote them.
fn read_columns(
    text: &str,
    terminated: bool,
    widths: &[usize; Kind::COLUMNS.len()],
    skipped_freread: usize,
) -> Result<InColumns, ()> {
    let bytes = text.as_bytes();
    let mut spans = Vec::new();
    let mut position = 0;
    for (index, (kind, &width)) in Kind::COLUMNS.into_iter().zip(widths).enumerate() {
        let rest = bytes.get(position..).unwrap_or_default();
        if rest.iter().all(|&byte| byte == b' ') {
            return Ok(InColumns { spans, remark: None });
        }
        let blanks = rest.iter().take_while(|&&byte| byte == b' ').count();
        let run = rest[blanks..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let skipped = if kind == Kind::Freread { skipped_freread } else { width };
        let later = &widths[index + 1..];
        if skipped != width && blanks >= skipped && ends_a_cell(blanks + run, skipped, later) {
            position += skipped;
            continue;
        }
        if blanks >= width {
            position += width;
            continue;
        }
        let next_width = widths.get(index + 1).copied().unwrap_or(usize::MAX);
        let length = match (blanks, run) {
            (_, 0) => return Err(()),
            (0, run) if run > width && run == width.saturating_add(next_width) => width,
            (0, run) if (width..=LONGEST_NUMBER).contains(&run) => run,
            // A number cut off by the end of the output, or of a line that was wrapped.
            (blanks, run) if run < width - blanks && blanks + run == rest.len() => {
                return Ok(InColumns { spans, remark: terminated.then_some(MAY_BE_CUT) });
            }
            (0, _) => return Err(()),
            // Right-aligned: digits after the cell's end belong to the next cell.
            (blanks, run) if run >= width - blanks => width - blanks,
            _ => return Err(()),
        };
        let (start, end) = (position + blanks, position + blanks + length);
        if end == bytes.len() && !terminated {
            return Ok(InColumns { spans, remark: None });
        }
        spans.push((kind, start, end));
        position = end;
    }
    match bytes.get(position..).unwrap_or_default().iter().all(|&byte| byte == b' ') {
        true => Ok(InColumns { spans, remark: None }),
        false => Err(()),
    }
}

/// Returns true if a number that ends at `end` is right-aligned in one of the later cells when the
/// present one is `skipped` wide.
fn ends_a_cell(end: usize, skipped: usize, later: &[usize]) -> bool {
    let mut reached = skipped;
    later.iter().any(|width| {
        reached += width;
        reached == end
    })
}

/// Reads words in the order of the expected passes; `None` if their number does not fit or a word is not a number.
fn read_words(text: &str, terminated: bool, expected: Expected<'_>) -> Option<Vec<Span>> {
    let bytes = text.as_bytes();
    let mut spans = Vec::new();
    let mut position = 0;
    while position < bytes.len() {
        if bytes[position].is_ascii_whitespace() {
            position += 1;
            continue;
        }
        let length = bytes[position..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let end = position + length;
        let closed = match bytes.get(end) {
            Some(byte) => byte.is_ascii_whitespace(),
            None => true,
        };
        if length == 0 || length > LONGEST_NUMBER || !closed {
            return None;
        }
        if end < bytes.len() || terminated {
            spans.push((position, end));
        }
        position = end;
    }
    let kinds = match expected {
        Expected::Of(kinds) => kinds,
        Expected::AllOf(kinds) if kinds.len() == spans.len() => kinds,
        Expected::AllOf(_) => return None,
    };
    if spans.len() > kinds.len() {
        return None;
    }
    Some(spans.iter().zip(kinds).map(|(&(start, end), &kind)| (kind, start, end)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "              kB  reclen    write  rewrite    read    reread    read     write     read";
    const OLD_HEADER: &str = "              KB  reclen   write rewrite    read    reread    read   write    read";

    fn check_pieces(header: &str, pieces: &[&str], terminated: bool, expected: Option<&[(Kind, &str)]>) {
        let count = pieces.len();
        let pieces: Vec<_> = pieces
            .iter()
            .enumerate()
            .map(|(index, text)| Piece {
                line: 1,
                text: (*text).to_owned(),
                terminated: terminated || index + 1 < count,
            })
            .collect();
        let header = Header::read(header).expect("a header");
        let known = [Kind::Write, Kind::Rewrite, Kind::Read, Kind::Reread];
        let row = read_row(&pieces, &header, Expected::Of(&known));
        let cells: Option<Vec<_>> =
            row.as_ref().map(|row| row.cells.iter().map(|cell| (cell.kind, cell.digits.as_str())).collect());
        assert_eq!(cells.as_deref(), expected, "{row:?}");
    }

    fn check(row: &str, expected: &[(Kind, &str)]) {
        check_pieces(HEADER, &[row], true, Some(expected));
    }

    #[test]
    fn blank_columns_are_skipped_tests() {
        check(
            "            2048      64  2801852  2293214                   11706006  2240576                     11706006   ",
            &[
                (Kind::Write, "2801852"),
                (Kind::Rewrite, "2293214"),
                (Kind::RandomRead, "11706006"),
                (Kind::RandomWrite, "2240576"),
                (Kind::StrideRead, "11706006"),
            ],
        );
    }

    #[test]
    fn a_full_cell_touches_its_neighbour() {
        check(
            "            2048      64123456789987654321  1552946",
            &[(Kind::Write, "123456789"), (Kind::Rewrite, "987654321"), (Kind::Read, "1552946")],
        );
        check("            2048      64  2058551123456789", &[(Kind::Write, "2058551"), (Kind::Rewrite, "123456789")]);
    }

    #[test]
    fn an_overflowing_cell_shifts_the_rest_of_the_row() {
        check(
            "            2048      641234567890  2058551      100",
            &[(Kind::Write, "1234567890"), (Kind::Rewrite, "2058551"), (Kind::Read, "100")],
        );
        // Ten digits and a full neighbouring cell: the boundary cannot be determined.
        check("            2048      641234567890123456789 ", &[]);
    }

    #[test]
    fn a_row_that_is_out_of_step_is_read_by_words() {
        check("            2048      64 100 200 ", &[(Kind::Write, "100"), (Kind::Rewrite, "200")]);
        check("            2048      64 1 2 3 4 5", &[]);
    }

    #[test]
    fn the_old_layout_has_narrower_cells() {
        check_pieces(
            OLD_HEADER,
            &["         1048576    8192   66621   60917    30895    31054      "],
            true,
            Some(&[(Kind::Write, "66621"), (Kind::Rewrite, "60917"), (Kind::Read, "30895"), (Kind::Reread, "31054")]),
        );
    }

    #[test]
    fn an_unterminated_number_is_none() {
        let row = "            2048      64  2801852  2293214";
        check_pieces(HEADER, &[row], false, Some(&[(Kind::Write, "2801852")]));
        check_pieces(HEADER, &[&row[..30]], false, Some(&[]));
        check_pieces(HEADER, &[&row[..20]], false, None);
        check_pieces("kB reclen write rewrite", &["15360 4 204502 400301"], false, Some(&[(Kind::Write, "204502")]));
    }

    #[test]
    fn pieces_join_to_the_row_that_debug_lines_cut() {
        check_pieces(
            HEADER,
            &["             256      64   370536  1334162", "  1280084   299776      "],
            true,
            Some(&[
                (Kind::Write, "370536"),
                (Kind::Rewrite, "1334162"),
                (Kind::Read, "1280084"),
                (Kind::Reread, "299776"),
            ]),
        );
    }

    #[test]
    fn other_lines_are_no_rows() {
        for line in ["", "iozone test complete.", "\tRecord Size 64 kB", "                     2048      64", "\u{e9}"]
        {
            check_pieces(HEADER, &[line], true, None);
        }
    }
}
