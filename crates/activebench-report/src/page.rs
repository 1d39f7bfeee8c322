//! A page for a terminal: escaped, wrapped at the terminal's width, and coloured on request.
//!
//! Every text is escaped here before colours are added, so all control sequences on a page are our own. The wording of
//! the report is in `text`.

use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Table, Width, presets};
use textwrap::core::display_width;
use textwrap::{Options, WordSplitter};

use crate::Style;
use crate::escape;

/// Width in columns if the output has none.
const DEFAULT_WIDTH: u16 = 100;
/// Minimum width of a readable table of figures; a narrower terminal wraps by itself.
pub(crate) const LEAST_WIDTH: u16 = 60;
/// Width of the label of a line.
const LABEL_COLUMNS: usize = 12;
/// Columns between two columns of a table.
const GAP: u16 = 2;
/// Longest word that is not broken: `unverifiable` has 12 characters.
const LONGEST_WHOLE: u16 = 14;
/// Minimum width of a column of words, after the columns of figures have their width.
const LEAST_LEFT: u16 = 10;
/// Indentation of the text below a head.
pub(crate) const INDENT: &str = "  ";

/// Kind of a piece of text, which decides its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// Normal text.
    Plain,
    /// A head.
    Head,
    /// Background information.
    Aside,
    /// Confirmed.
    Good,
    /// Doubtful.
    Doubtful,
    /// Contradicted or failed.
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

/// Layout of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Set {
    /// Words.
    Left,
    /// Figures, which are kept on one line if there is room.
    Right,
    /// Words that are never broken.
    Whole,
    /// Words, one blank after the previous column.
    Close,
}

impl Set {
    /// Returns the number of blanks before the column.
    fn gap(self) -> u16 {
        if self == Set::Close { 1 } else { GAP }
    }
}

/// The lines so far.
pub(crate) struct Page {
    lines: Vec<String>,
    colour: bool,
    ascii: bool,
    width: u16,
}

impl Page {
    /// Creates an empty page.
    pub(crate) fn new(style: Style) -> Self {
        let width = style.width.unwrap_or(DEFAULT_WIDTH).max(LEAST_WIDTH);
        Self { lines: Vec::new(), colour: style.colour, ascii: style.ascii, width }
    }

    /// Returns the page, with a line break at its end.
    pub(crate) fn finish(self) -> String {
        let text: String = self.lines.into_iter().map(|line| line.trim_end().to_owned() + "\n").collect();
        if self.ascii { text.chars().map(in_ascii).collect() } else { text }
    }

    /// Adds an empty line, unless the last one is empty.
    pub(crate) fn blank(&mut self) {
        if self.lines.last().is_some_and(|line| !line.is_empty()) {
            self.lines.push(String::new());
        }
    }

    /// Adds an indented paragraph.
    pub(crate) fn paragraph(&mut self, text: &str, tone: Tone) {
        self.marked("", text, tone);
    }

    /// Adds a text after a mark; further lines are aligned with the text.
    pub(crate) fn marked(&mut self, mark: &str, text: &str, tone: Tone) {
        let hang = format!("{INDENT}{}", " ".repeat(display_width(mark)));
        for line in self.wrapped(&escape::terminal(text), &format!("{INDENT}{mark}"), &hang) {
            let painted = self.painted(&line, tone);
            self.lines.push(painted);
        }
    }

    /// Adds a head in its tone, followed by the rest of the sentence.
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

    /// Adds a label and its text, aligned with the other labels.
    pub(crate) fn labelled(&mut self, label: &str, text: &str) {
        self.labelled_in(label, Tone::Aside, text);
    }

    /// Like [`Page::labelled`], with a tone for the label.
    pub(crate) fn labelled_in(&mut self, label: &str, tone: Tone, text: &str) {
        let indent = format!("{:<LABEL_COLUMNS$}", escape::terminal(label));
        let lines = self.wrapped(&escape::terminal(text), &indent, &" ".repeat(LABEL_COLUMNS));
        self.push_labelled(&indent, tone, lines);
    }

    /// Like [`Page::labelled`], for text that people copy: it is never wrapped.
    pub(crate) fn labelled_verbatim(&mut self, label: &str, text: &str) {
        let indent = format!("{label:<LABEL_COLUMNS$}");
        let line = format!("{indent}{}", escape::terminal(text));
        self.push_labelled(&indent, Tone::Aside, vec![line]);
    }

    fn push_labelled(&mut self, indent: &str, tone: Tone, lines: Vec<String>) {
        for (index, line) in lines.into_iter().enumerate() {
            let painted = match line.strip_prefix(indent) {
                Some(text) if index == 0 => format!("{}{text}", self.painted(indent, tone)),
                _ => line,
            };
            self.lines.push(painted);
        }
    }

    /// Returns `true` if no cell of the table needs a line break.
    pub(crate) fn has_room(&self, heads: &[&str], sets: &[Set], rows: &[Vec<String>]) -> bool {
        let cell =
            |row: &[String], index: usize| row.get(index).map_or(0, |cell| display_width(&escape::terminal(cell)));
        let column =
            |index: usize| rows.iter().map(|row| cell(row, index)).chain([heads[index].len()]).max().unwrap_or(0);
        (0..heads.len()).map(|index| column(index) + usize::from(sets[index].gap())).sum::<usize>()
            <= usize::from(self.width)
    }

    /// Adds a table with heads; `tone` colours the first word in the column of unbroken words.
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
        // The head is aligned left, so it starts where the column starts.
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

    /// Returns the line with the first word at or after a column coloured.
    fn painted_from(&self, line: &str, column: usize, tone: fn(&str) -> Tone) -> String {
        let start = line.char_indices().map(|(index, _)| index).find(|index| display_width(&line[..*index]) >= column);
        let Some(start) = start else { return line.to_owned() };
        let (before, cell) = line.split_at(start);
        let word = cell.split(' ').next().unwrap_or("");
        format!("{before}{}{}", self.painted(word, tone(word)), &cell[word.len()..])
    }

    fn painted(&self, text: &str, tone: Tone) -> String {
        // Blanks are not coloured, so that they can be trimmed at the end of a line.
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

/// Returns an ASCII character of the same width, so that what is aligned stays so.
fn in_ascii(character: char) -> char {
    match character {
        ascii if ascii.is_ascii() => ascii,
        'µ' => 'u',
        '✗' => 'x',
        '█' => '#',
        '·' => '.',
        '→' => '>',
        '…' => '~',
        '“' | '”' => '"',
        '‘' | '’' => '\'',
        '–' | '—' | '−' => '-',
        '≥' => '>',
        '≤' => '<',
        _ => '?',
    }
}

/// Returns the width of the longest word in columns, at most [`LONGEST_WHOLE`].
fn longest_word<'text>(head: &str, cells: impl Iterator<Item = &'text str>) -> u16 {
    let longest = cells.flat_map(|cell| cell.split(' ')).chain([head]).map(display_width).max().unwrap_or(0);
    u16::try_from(longest).map_or(LONGEST_WHOLE, |longest| longest.min(LONGEST_WHOLE))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(colour: bool, width: u16) -> Page {
        Page::new(Style { colour, width: Some(width), ..Style::default() })
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
