//! The rows of iozone's table, and the column of each number.
//!
//! A row is written in pieces (one `write(2)` per number), cells have fixed widths, skipped
//! tests are blank, and a number may fill or overflow its cell. Therefore cells are read by
//! column; if that fails, the row is read by words and the set of known tests.

use super::catalogue::Kind;

/// Widths of the two leading fields, the same in every known version.
const FILE_WIDTH: usize = 16;
const RECORD_WIDTH: usize = 8;
/// More digits than any rate has: a longer run of digits is two adjacent cells.
const LONGEST_NUMBER: usize = 12;

/// Widths of the cells of one version's table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    widths: [usize; Kind::COLUMNS.len()],
    /// Width of a skipped fread cell, which differs: 3.489 pads a skipped fread pair with 17.
    skipped_freread: usize,
}

/// 3.434 and later.
const WIDE: Layout = Layout { widths: [9, 9, 9, 9, 9, 9, 9, 10, 10, 9, 9, 9, 9, 9, 9, 8, 9], skipped_freread: 8 };
/// 3.263 to 3.420.
const NARROW: Layout = Layout { widths: [8, 8, 9, 9, 8, 8, 8, 8, 8, 9, 9, 8, 9, 8, 9, 8, 9], skipped_freread: 9 };

impl Layout {
    /// Returns the layout that the table's second header line announces; `None` if the line is not a
    /// header, `Some(None)` for a header with the spacing of no known version.
    pub(super) fn of_header(line: &str) -> Option<Option<Layout>> {
        let mut words = line.split_whitespace();
        let size = words.next()?;
        if !size.eq_ignore_ascii_case("kb") || words.next() != Some("reclen") {
            return None;
        }
        let ends_at = |word: &str, end: usize| {
            end.checked_sub(word.len()).and_then(|start| line.get(start..end)).is_some_and(|cell| cell == word)
        };
        let start = FILE_WIDTH + RECORD_WIDTH;
        Some(if !ends_at(size, FILE_WIDTH) || !ends_at("reclen", start) {
            None
        } else if ends_at("write", start + WIDE.widths[0]) {
            Some(WIDE)
        } else if ends_at("write", start + NARROW.widths[0]) {
            Some(NARROW)
        } else {
            None
        })
    }
}

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

/// Returns the leading fields of a row; `None` if the line does not begin like one.
pub(super) fn leading_fields(text: &str, layout: Option<Layout>) -> Option<(u64, u64)> {
    if layout.is_some() {
        let file = right_aligned(text.get(..FILE_WIDTH)?)?;
        let record = right_aligned(text.get(FILE_WIDTH..FILE_WIDTH + RECORD_WIDTH)?)?;
        return Some((file, record));
    }
    if !text.bytes().all(|byte| byte.is_ascii_digit() || byte == b' ' || byte == b'\t') {
        return None;
    }
    let mut words = text.split_whitespace();
    Some((words.next()?.parse().ok()?, words.next()?.parse().ok()?))
}

fn right_aligned(field: &str) -> Option<u64> {
    let digits = field.trim_start_matches(' ');
    (!digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())).then(|| digits.parse().ok()).flatten()
}

/// Parses a row. `expected` are the passes that print a number, in order: it is used
/// if columns cannot be trusted.
pub(super) fn read_row(pieces: &[Piece], layout: Option<Layout>, expected: &[Kind]) -> Option<Row> {
    let (file_kib, record_kib) = leading_fields(&pieces.first()?.text, layout)?;
    let text: String = pieces.iter().map(|piece| piece.text.as_str()).collect();
    let terminated = pieces.last().is_some_and(|piece| piece.terminated);
    let by_columns = layout.map(|layout| read_columns(&text, terminated, layout));
    let (cells, remark) = match by_columns {
        Some(Ok(cells)) => (cells, None),
        failed => match read_words(&text, terminated, expected) {
            Some(cells) if failed.is_none() => (cells, None),
            Some(cells) => (cells, Some("the row was read by words, not by columns")),
            None => (Vec::new(), Some("the numbers of the row cannot be separated")),
        },
    };
    let cells = cells
        .into_iter()
        .map(|(kind, start, end)| Cell { kind, digits: text[start..end].to_owned(), piece: piece_at(pieces, end) })
        .collect();
    Some(Row { file_kib, record_kib, cells, remark })
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

type Span = (Kind, usize, usize);

/// Reads the cells from left to right, as `printf("%9lld")` wrote them.
fn read_columns(text: &str, terminated: bool, layout: Layout) -> Result<Vec<Span>, ()> {
    let bytes = text.as_bytes();
    let mut cells = Vec::new();
    let mut position = FILE_WIDTH + RECORD_WIDTH;
    for (index, (kind, width)) in Kind::COLUMNS.into_iter().zip(layout.widths).enumerate() {
        let rest = bytes.get(position..).unwrap_or_default();
        if rest.iter().all(|&byte| byte == b' ') {
            return Ok(cells);
        }
        let blanks = rest.iter().take_while(|&&byte| byte == b' ').count();
        let run = rest[blanks..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let skipped = if kind == Kind::Freread { layout.skipped_freread } else { width };
        let later = &layout.widths[index + 1..];
        if skipped != width && blanks >= skipped && ends_a_cell(blanks + run, skipped, later) {
            position += skipped;
            continue;
        }
        if blanks >= width {
            position += width;
            continue;
        }
        let next_width = layout.widths.get(index + 1).copied().unwrap_or(usize::MAX);
        let length = match (blanks, run) {
            (_, 0) => return Err(()),
            (0, run) if run > width && run == width.saturating_add(next_width) => width,
            (0, run) if (width..=LONGEST_NUMBER).contains(&run) => run,
            (0, _) => return Err(()),
            // Right-aligned: digits after the cell's end belong to the next cell.
            (blanks, run) if run >= width - blanks => width - blanks,
            // A number cut off by the end of the output.
            (_, run) if blanks + run == rest.len() && !terminated => return Ok(cells),
            _ => return Err(()),
        };
        let (start, end) = (position + blanks, position + blanks + length);
        if end == bytes.len() && !terminated {
            return Ok(cells);
        }
        cells.push((kind, start, end));
        position = end;
    }
    if bytes.get(position..).unwrap_or_default().iter().all(|&byte| byte == b' ') { Ok(cells) } else { Err(()) }
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

/// Reads words in the order of the expected passes; `None` if there are more words than passes
/// or a word is not a number.
fn read_words(text: &str, terminated: bool, expected: &[Kind]) -> Option<Vec<Span>> {
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
    let numbers = spans.get(2..).unwrap_or_default();
    if numbers.len() > expected.len() {
        return None;
    }
    Some(numbers.iter().zip(expected).map(|(&(start, end), &kind)| (kind, start, end)).collect())
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
        let layout = Layout::of_header(header).flatten();
        let known = [Kind::Write, Kind::Rewrite, Kind::Read, Kind::Reread];
        let row = read_row(&pieces, layout, &known);
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
