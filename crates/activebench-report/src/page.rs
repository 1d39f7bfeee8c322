//! A page for a terminal: escaped, wrapped at its width, and coloured where that is wanted.
//!
//! Every text that enters is escaped here, before any colour is added, so that the only
//! control sequences on a page are ours. Holds no words of the report: those are in `text`.

use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Table, Width, presets};
use textwrap::core::display_width;
use textwrap::{Options, WordSplitter};

use crate::Style;
use crate::escape;

/// Columns where the output has no width of its own.
const DEFAULT_WIDTH: u16 = 100;
/// Below this a table of figures cannot be read; a narrower terminal wraps by itself.
const LEAST_WIDTH: u16 = 60;
/// Room for the label of a line.
const LABEL_COLUMNS: usize = 10;
/// Columns between two columns of a table.
const GAP: u16 = 2;
/// A longer word is broken all the same: `unverifiable` has 12.
const LONGEST_WHOLE: u16 = 14;
/// What a column of words keeps when figures take their room first.
const LEAST_LEFT: u16 = 10;
/// Indent of everything that belongs to a head.
pub(crate) const INDENT: &str = "  ";

/// What a piece of text is, for its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    /// Not set off.
    Plain,
    /// A head.
    Head,
    /// Background that may be skipped.
    Aside,
    /// Holds.
    Good,
    /// To be taken with care.
    Doubtful,
    /// Does not hold.
    Bad,
}

impl Tone {
    fn sequence(self) -> &'static str {
        match self {
            Tone::Plain => "",
            Tone::Head => "\x1b[1m",
            Tone::Aside => "\x1b[2m",
            Tone::Good => "\x1b[1;32m",
            Tone::Doubtful => "\x1b[1;33m",
            Tone::Bad => "\x1b[1;31m",
        }
    }
}

/// How a column of a table is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Set {
    /// Words.
    Left,
    /// Figures, which stay on one line where there is room.
    Right,
    /// Words, of which none is broken.
    Whole,
    /// Words a single blank behind the column before.
    Close,
}

impl Set {
    /// Blanks before the column.
    fn gap(self) -> u16 {
        if self == Set::Close { 1 } else { GAP }
    }
}

/// The lines so far.
pub(crate) struct Page {
    lines: Vec<String>,
    colour: bool,
    width: u16,
}

impl Page {
    /// An empty page.
    pub(crate) fn new(style: Style) -> Self {
        let width = style.width.unwrap_or(DEFAULT_WIDTH).max(LEAST_WIDTH);
        Self { lines: Vec::new(), colour: style.colour, width }
    }

    /// The page, with a line break at its end.
    pub(crate) fn finish(self) -> String {
        self.lines.into_iter().map(|line| line.trim_end().to_owned() + "\n").collect()
    }

    /// An empty line, but never two.
    pub(crate) fn blank(&mut self) {
        if self.lines.last().is_some_and(|line| !line.is_empty()) {
            self.lines.push(String::new());
        }
    }

    /// A text of its own, indented.
    pub(crate) fn paragraph(&mut self, text: &str, tone: Tone) {
        self.marked("", text, tone);
    }

    /// A text behind a mark of ours, its further lines indented below the text.
    pub(crate) fn marked(&mut self, mark: &str, text: &str, tone: Tone) {
        let hang = format!("{INDENT}{}", " ".repeat(display_width(mark)));
        for line in self.wrapped(&escape::terminal(text), &format!("{INDENT}{mark}"), &hang) {
            let painted = self.painted(&line, tone);
            self.lines.push(painted);
        }
    }

    /// A head of one word in its tone, and the rest of the sentence.
    pub(crate) fn headed(&mut self, head: &str, tone: Tone, rest: &str) {
        let head = escape::terminal(head);
        let lines = self.wrapped(&format!("{head}{}", escape::terminal(rest)), "", INDENT);
        for (index, line) in lines.into_iter().enumerate() {
            let painted = match line.strip_prefix(head.as_str()) {
                Some(rest) if index == 0 => format!("{}{rest}", self.painted(&head, tone)),
                _ => line,
            };
            self.lines.push(painted);
        }
    }

    /// A label of ours and its text, aligned with the other labels.
    pub(crate) fn labelled(&mut self, label: &str, text: &str) {
        let indent = format!("{label:<LABEL_COLUMNS$}");
        let lines = self.wrapped(&escape::terminal(text), &indent, &" ".repeat(LABEL_COLUMNS));
        self.push_labelled(&indent, lines);
    }

    /// As [`Page::labelled`], for what a reader copies: never broken.
    pub(crate) fn labelled_verbatim(&mut self, label: &str, text: &str) {
        let indent = format!("{label:<LABEL_COLUMNS$}");
        let line = format!("{indent}{}", escape::terminal(text));
        self.push_labelled(&indent, vec![line]);
    }

    fn push_labelled(&mut self, indent: &str, lines: Vec<String>) {
        for (index, line) in lines.into_iter().enumerate() {
            let painted = match line.strip_prefix(indent) {
                Some(text) if index == 0 => format!("{}{text}", self.painted(indent, Tone::Aside)),
                _ => line,
            };
            self.lines.push(painted);
        }
    }

    /// Whether a table needs no line break in a cell.
    pub(crate) fn has_room(&self, heads: &[&str], sets: &[Set], rows: &[Vec<String>]) -> bool {
        let cell =
            |row: &[String], index: usize| row.get(index).map_or(0, |cell| display_width(&escape::terminal(cell)));
        let column =
            |index: usize| rows.iter().map(|row| cell(row, index)).chain([heads[index].len()]).max().unwrap_or(0);
        (0..heads.len()).map(|index| column(index) + usize::from(sets[index].gap())).sum::<usize>()
            <= usize::from(self.width)
    }

    /// A table with heads; `tone` paints the first word of a row's column of whole words.
    pub(crate) fn table(&mut self, heads: &[&str], sets: &[Set], rows: &[Vec<String>], tone: fn(&str) -> Tone) {
        let mut table = Table::new();
        table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic).set_width(self.width);
        table.set_header(heads.iter().map(|head| escape::terminal(head)));
        for row in rows {
            table.add_row(row.iter().map(|cell| escape::terminal(cell)));
        }
        let widths = table.column_max_content_widths();
        let least: Vec<u16> = (0..sets.len())
            .map(|index| match sets[index] {
                Set::Left | Set::Close => LEAST_LEFT.min(widths[index]) + GAP,
                Set::Right => widths[index] + GAP,
                Set::Whole => longest_word(heads[index], rows.iter().map(|row| row[index].as_str())) + GAP,
            })
            .collect();
        let has_room = least.iter().sum::<u16>() <= self.width;
        for ((column, set), least) in table.column_iter_mut().zip(sets).zip(least) {
            column.set_padding((set.gap(), 0));
            if *set == Set::Right {
                column.set_cell_alignment(CellAlignment::Right);
            }
            if *set == Set::Whole || (*set == Set::Right && has_room) {
                column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(least)));
            }
        }
        let lines: Vec<String> = table.lines().collect();
        // Its head is set left, so it stands where the column begins.
        let whole = sets.iter().position(|set| *set == Set::Whole).map(|index| heads[index]);
        let painted_column = lines.first().zip(whole).and_then(|(line, head)| line.rfind(head));
        for (index, line) in lines.into_iter().enumerate() {
            let painted = match painted_column {
                _ if !self.colour => line,
                _ if index == 0 => self.painted(&line, Tone::Head),
                Some(start) => self.painted_from(&line, start, tone),
                None => line,
            };
            self.lines.push(painted);
        }
    }

    /// The line with the first word at or past a column painted.
    fn painted_from(&self, line: &str, column: usize, tone: fn(&str) -> Tone) -> String {
        let start = line.char_indices().map(|(index, _)| index).find(|index| display_width(&line[..*index]) >= column);
        let Some(start) = start else { return line.to_owned() };
        let (before, cell) = line.split_at(start);
        let word = cell.split(' ').next().unwrap_or("");
        format!("{before}{}{}", self.painted(word, tone(word)), &cell[word.len()..])
    }

    fn painted(&self, text: &str, tone: Tone) -> String {
        // Blanks stay outside, so that those at the end of a line can be cut off.
        let shown = text.trim_end();
        if !self.colour || tone == Tone::Plain || shown.is_empty() {
            return text.to_owned();
        }
        format!("{}{shown}\x1b[0m{}", tone.sequence(), &text[shown.len()..])
    }

    fn wrapped(&self, text: &str, first: &str, further: &str) -> Vec<String> {
        let options = Options::new(usize::from(self.width))
            .initial_indent(first)
            .subsequent_indent(further)
            // `--stage` and `page-cache-served-reads` are single words.
            .word_splitter(WordSplitter::NoHyphenation);
        textwrap::wrap(text, options).into_iter().map(|line| line.into_owned()).collect()
    }
}

/// Columns of the longest word, of at most [`LONGEST_WHOLE`].
fn longest_word<'text>(head: &str, cells: impl Iterator<Item = &'text str>) -> u16 {
    let longest = cells.flat_map(|cell| cell.split(' ')).chain([head]).map(display_width).max().unwrap_or(0);
    u16::try_from(longest).map_or(LONGEST_WHOLE, |longest| longest.min(LONGEST_WHOLE))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(colour: bool, width: u16) -> Page {
        Page::new(Style { colour, width: Some(width) })
    }

    #[test]
    fn a_table_is_aligned_whatever_the_script() {
        let mut page = page(false, 80);
        let rows = [["写入", "1 B", "ok"], ["rewrite", "22 B", "ok"]].map(|row| row.map(str::to_owned).to_vec());
        page.table(&["phase", "size", "verdict"], &[Set::Left, Set::Right, Set::Whole], &rows, |_| Tone::Plain);
        let text = page.finish();
        let starts: Vec<usize> =
            text.lines().skip(1).map(|line| display_width(&line[..line.rfind("ok").expect("verdict")])).collect();
        assert_eq!(starts[0], starts[1], "{text}");
    }

    #[test]
    fn colour_adds_sequences_and_changes_nothing_else() {
        let draw = |colour| {
            let mut page = page(colour, 60);
            page.headed(
                "fail[AB302]",
                Tone::Bad,
                " sync-outside-clock: write and a long list of further phases after it",
            );
            page.marked("→ ", "iozone -e -c", Tone::Head);
            page.labelled("target", "ext4 < vda");
            let rows = [vec!["写".to_owned(), "confirmed".to_owned()]];
            page.table(&["phase", "verdict"], &[Set::Left, Set::Whole], &rows, |_| Tone::Good);
            page.finish()
        };
        let (plain, coloured) = (draw(false), draw(true));
        assert!(!plain.contains('\x1b'));
        assert!(coloured.contains("\x1b[1;31mfail[AB302]\x1b[0m sync"), "{coloured}");
        assert!(coloured.contains("\x1b[1;32mconfirmed\x1b[0m"), "{coloured}");
        let mut stripped = coloured;
        for tone in [Tone::Head, Tone::Aside, Tone::Good, Tone::Doubtful, Tone::Bad] {
            stripped = stripped.replace(tone.sequence(), "");
        }
        assert_eq!(stripped.replace("\x1b[0m", ""), plain);
    }
}
