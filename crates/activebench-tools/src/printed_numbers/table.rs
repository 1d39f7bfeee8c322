//! Heads of tables: what stands above a number in its column.
//!
//! A head has up to three lines. A number belongs to the cell above it in the last line. Where not all numbers of a row
//! stand below cells of their own, it belongs to the cell of its number, if head and row have as many cells. Of the lines before, what stands above that cell counts, too: a cell
//! framed by dashes (`------Sequential Output------`) spans all columns below it.

use std::ops::Range;

use activebench_model::units::Unit;

use super::units::{self, Found};
use super::{Numeral, cells, numerals, words};

/// Largest number of lines of a head.
const MOST_LINES: usize = 3;

/// The head of the present table.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    /// Its lines, consecutive.
    lines: Vec<String>,
    last_line: u64,
    /// Unit of its cells that a sentence before it states: `Output is in kBytes/sec`.
    stated: Option<Found>,
    /// Unit of the cells below a head whose first cell is only that: `MiB/s  4k  64k`.
    corner: Option<Found>,
    /// A line that is neither head nor row stands below: what follows may be of another table.
    is_doubtful: bool,
    /// A rule divides the head from the rows.
    is_ruled: bool,
}

/// What stands above a number.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Head {
    /// All of it, from above, in one line.
    pub(super) text: String,
    /// The cell of the last line alone.
    pub(super) own: String,
}

/// How the numbers of a row stand below the cells of a head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Alignment {
    EachBelowItsOwn,
    SomeBelowNone,
    /// Places say nothing of columns.
    SomeBelowTheSame,
}

impl Table {
    /// Takes a line without figures for a line of the head if it looks like one.
    pub(crate) fn read(&mut self, text: &str, line: u64) {
        if let Some(stated) = stated_unit(text) {
            self.stated = Some(stated);
        }
        // Behind what a logger puts before each line: `name: level: [123] `.
        let body = text.rsplit_once("] ").map_or(text, |(_, body)| body);
        // A line of dashes stands between the head of a table and its rows.
        if !body.contains(char::is_alphabetic) || body.contains(['"', '=']) || body.trim_end().ends_with(':') {
            return;
        }
        if body.contains(": ") {
            return;
        }
        if line > self.last_line + 1 {
            self.end();
        }
        let (cell, _) = divided(text);
        self.corner = units::unit_at(cell).filter(|found| found.length == cell.len() && units::is_rate(found));
        self.is_doubtful = false;
        self.lines.push(without_mark(text));
        let excess = self.lines.len().saturating_sub(MOST_LINES);
        self.lines.drain(..excess);
        self.last_line = line;
    }

    /// Takes the line above a rule for the head if the rule has as many cells.
    pub(super) fn rule(&mut self, head: &str, rule: &str, line: u64) -> bool {
        let bars = |text: &str| text.matches('|').count();
        if bars(head) != bars(rule) || !head.contains(char::is_alphabetic) {
            return false;
        }
        let (first, _) = divided(head);
        let corner = units::unit_at(first).filter(|found| found.length == first.len() && units::is_rate(found));
        *self = Self { lines: vec![head.to_owned()], last_line: line, corner, is_ruled: true, ..Self::default() };
        true
    }

    /// Returns the unit that the first cell of a row states for all of them: `| latency (us) | 12.3 | 45.6 |`, or
    /// `MB/s  12.3  45.6` below a head with a cell for each.
    pub(super) fn unit_of_row(&self, row: &str) -> Option<Found> {
        let head = self.lines.last()?;
        let (first, others) = divided(row);
        let are_numbers = others.iter().all(|cell| cell.starts_with(|c: char| c.is_ascii_digit()));
        let found = match self.is_ruled {
            true => {
                let is_same = head.matches('|').count() == row.matches('|').count();
                units::unit_of_label(first).filter(|_| is_same)?
            }
            false => {
                let is_same = cells(head, &[' ', '\t']).len() == others.len() && others.len() > 1;
                units::unit_at(first).filter(|found| is_same && found.length == first.len())?
            }
        };
        (are_numbers && (units::is_rate(&found) || found.unit == Unit::Ns)).then_some(found)
    }

    /// Takes a line that is no row. Lines of dashes are parts of a table.
    pub(super) fn interrupt(&mut self, text: &str, line: u64) {
        self.is_doubtful |= line != self.last_line && text.contains(char::is_alphanumeric);
    }

    /// Begins anew: a blank line.
    pub(crate) fn end(&mut self) {
        self.lines.clear();
        self.corner = None;
        self.is_ruled = false;
    }

    /// Returns the unit that a sentence states for the cells below this head, if the head names what it is about, or that
    /// of the first cell of the heads.
    pub(super) fn unit(&self, head: &Head) -> Option<Found> {
        self.stated.clone().filter(|_| words::direction_of_head(&head.text).is_some()).or_else(|| self.corner.clone())
    }

    /// Returns the unit of a column `Count`: the things of which another column states the rate, such as `Files/sec`.
    pub(super) fn count_of(&self, head: &Head) -> Option<Found> {
        let own = head.own.trim();
        if !["count", "number"].iter().any(|name| name.eq_ignore_ascii_case(own)) {
            return None;
        }
        let cells = self.lines.iter().flat_map(|line| framed_cells(line));
        let mut rates =
            cells.filter_map(|(_, cell)| units::unit_at(cell)).filter(|found| found.unit == Unit::OpsPerSec);
        let counted = rates.next()?.counted;
        Some(Found { unit: Unit::Count, factors: vec![1.0], counted, text: own.to_owned(), length: 0 })
    }

    /// Returns what stands above a number of a row.
    pub(super) fn head_of(&self, row: &str, numeral: &Numeral<'_>) -> Option<Head> {
        if let Some((group, own)) = self.grouped(row, numeral.start) {
            return Some(Head { text: format!("{group} {own}"), own: own.to_owned() });
        }
        let last = self.lines.len().checked_sub(1)?;
        let place = numeral.start..numeral.end;
        let of_place = || self.nearest(row, &place);
        let of_count = || by_count(&self.lines[last], row, numeral).map(|(span, own)| (last, span, own));
        let (line, span, own) = match self.alignment(row) {
            Alignment::EachBelowItsOwn => of_place()?,
            Alignment::SomeBelowNone => of_count().or_else(of_place)?,
            Alignment::SomeBelowTheSame => of_count()?,
        };
        let mut texts = Vec::new();
        if is_common(&span, &place) {
            let both = span.start.min(place.start)..span.end.max(place.end);
            let upper = self.lines[..line].iter().filter(|line| is_divided(line));
            texts.extend(upper.flat_map(|line| above(line, &both)).map(|(_, cell)| cell));
        }
        texts.push(own);
        Some(Head { text: texts.join(" "), own: own.to_owned() })
    }

    /// Returns the lowest words above a place, with their line and place; `None` where there are none, or where tabs and
    /// separators make places mean nothing.
    fn nearest(&self, row: &str, place: &Range<usize>) -> Option<(usize, Range<usize>, &str)> {
        if row.contains(NO_PLACES) {
            return None;
        }
        self.lines.iter().enumerate().rev().filter(|(_, line)| !line.contains(NO_PLACES)).find_map(|(number, line)| {
            let above = above(line, place);
            let span = above.first()?.0.start..above.last()?.0.end;
            let text = match &above[..] {
                [(_, cell)] => cell,
                // Below two units, either may be that of the number.
                _ if above.iter().filter_map(|(_, cell)| units::unit_of_label(cell)).nth(1).is_some() => return None,
                _ => line.get(span.clone())?,
            };
            Some((number, span, text))
        })
    }

    /// Returns the two lines of a number's head where the lower one repeats its cells below each cell of the upper one:
    /// `Read  Write` above `MB/s IOPS MB/s IOPS`. The row may have one cell more, its name.
    fn grouped(&self, row: &str, start: usize) -> Option<(&str, &str)> {
        let [.., upper, lower] = &self.lines[..] else { return None };
        if [upper, lower].iter().any(|line| line.contains(NO_PLACES)) {
            return None;
        }
        let (groups, heads) = (words::wide_cells(upper), cells(lower, &[' ', '\t']));
        let each = heads.len().checked_div(groups.len())?;
        let is_repeated = heads.iter().enumerate().all(|(place, (_, head))| *head == heads[place % each.max(1)].1);
        if groups.len() < 2 || heads.len() != each * groups.len() || !is_repeated {
            return None;
        }
        let columns: Vec<(usize, &str)> = words::wide_cells(row);
        let place = columns.iter().position(|(at, cell)| (*at..at + cell.len()).contains(&start))?;
        let names = columns.len().checked_sub(heads.len()).filter(|names| *names < 2)?;
        let place = place.checked_sub(names)?;
        Some((groups[place / each].1.trim(), heads[place].1))
    }

    /// Returns the head of a number's column where separators, or wide gaps, divide the head and the row into as many
    /// cells: places and single blanks would leave a doubt.
    pub(crate) fn column_of(&self, row: &str, start: usize) -> Option<String> {
        let last = self.lines.last().filter(|_| !self.is_doubtful)?;
        if let Some((group, own)) = self.grouped(row, start) {
            return Some(format!("{group} {own}"));
        }
        let Some(separator) = NO_PLACES.into_iter().find(|separator| last.contains(*separator)) else {
            return self.wide_column_of(row, start);
        };
        let number = |line: &str| line.matches(separator).count();
        let place = number(&row[..start]);
        let head = last.split(separator).nth(place).filter(|_| number(last) == number(row))?.trim();
        (!head.is_empty()).then(|| head.to_owned())
    }

    /// Returns the unit of a number in brackets, the second one of its cell, if the head of the column has a unit in its
    /// own brackets: `4k (IOPS)` above `154.61 MB/s (38.6k)`.
    pub(super) fn unit_in_brackets(&self, row: &str, numeral: &Numeral<'_>) -> Option<Found> {
        if !row[..numeral.start].ends_with('(') {
            return None;
        }
        let head = self.column_of(row, numeral.start)?;
        let (_, unit) = head.strip_suffix(')')?.rsplit_once('(')?;
        units::unit_at(unit).filter(|found| found.length == unit.len())
    }

    fn wide_column_of(&self, row: &str, start: usize) -> Option<String> {
        let (heads, cells) = (words::wide_cells(self.lines.last()?), words::wide_cells(row));
        // Any two texts below each other have gaps.
        if !heads.iter().any(|(_, head)| units::unit_of_label(head).is_some()) && self.unit_of_row(row).is_none() {
            return None;
        }
        same_cell(&heads, &cells, start).map(|(_, head)| head.trim().to_owned())
    }

    /// Returns `true` if commas divide the head and the row into as many cells.
    pub(super) fn is_divided_by_commas(&self, row: &str) -> bool {
        let commas = |line: &str| line.matches(',').count();
        self.lines.last().is_some_and(|head| commas(head) > 0 && commas(head) == commas(row))
    }

    /// Returns the cells of a row, each behind the head of its column, where both have as many.
    pub(super) fn described(&self, row: &str) -> Option<String> {
        let head = self.lines.last().filter(|_| !self.is_doubtful)?;
        let (heads, cells) = SPLITS
            .iter()
            .map(|split| (split(head), split(row)))
            .find(|(heads, cells)| heads.len() > 1 && heads.len() == cells.len())?;
        let described =
            heads.iter().zip(&cells).map(|((_, head), (_, cell))| format!("{} {}", head.trim(), cell.trim()));
        Some(described.collect::<Vec<_>>().join(", "))
    }

    /// Returns how the numbers of a row stand below the cells of the head.
    fn alignment(&self, row: &str) -> Alignment {
        let place =
            |numeral: Numeral<'_>| self.nearest(row, &(numeral.start..numeral.end)).map(|(line, span, _)| (line, span));
        let places: Vec<Option<(usize, Range<usize>)>> = numerals(row).map(place).collect();
        let share = |pair: &[Option<(usize, Range<usize>)>]| match pair {
            [Some((one, span)), Some((other, next))] => one == other && is_common(span, next),
            _ => false,
        };
        if places.windows(2).any(share) {
            Alignment::SomeBelowTheSame
        } else if places.contains(&None) {
            Alignment::SomeBelowNone
        } else {
            Alignment::EachBelowItsOwn
        }
    }
}

/// Returns a line with blanks for the mark of a comment at its begin: `# test  MB/s`.
fn without_mark(text: &str) -> String {
    let body = text.trim_start().trim_start_matches(['#', '%', ';']);
    format!("{}{body}", " ".repeat(text.len() - body.len()))
}

/// Returns `true` for the line between the head and the rows of a table in Markdown: `|:---|---:|`.
pub(super) fn is_rule(text: &str) -> bool {
    text.contains("--") && text.contains('|') && text.chars().all(|c| c.is_whitespace() || "|-:+".contains(c))
}

/// Returns `true` for the head of a table with a column for each of several sizes: `MiB/s  4k  64k  1m`. The sizes are
/// powers of two and grow: rates with a letter seldom are that.
pub(super) fn is_head_of_sizes(text: &str) -> bool {
    let size = |cell: &str| {
        let (word, rest) = cell.split_once(char::is_whitespace).unwrap_or((cell, ""));
        let letters = word.trim_start_matches(|c: char| c.is_ascii_digit());
        let number: u64 = word[..word.len() - letters.len()].parse().ok()?;
        let shift = match letters.to_ascii_lowercase().as_str() {
            "k" | "kb" | "kib" => 10,
            "m" | "mb" | "mib" => 20,
            _ => return None,
        };
        (number.is_power_of_two() && !rest.contains(|c: char| c.is_ascii_digit())).then(|| number.checked_shl(shift))?
    };
    let (first, others) = divided(text);
    let sizes: Option<Vec<u64>> = others.into_iter().map(size).collect();
    let grows = |sizes: Vec<u64>| sizes.len() > 1 && sizes.is_sorted_by(|one, next| one < next);
    !first.contains(|c: char| c.is_ascii_digit()) && sizes.is_some_and(grows)
}

/// Divides a line at separators or wide gaps: its first cell, and the others.
fn divided(text: &str) -> (&str, Vec<&str>) {
    let found = match text.contains(NO_PLACES) {
        true => cells(text, &NO_PLACES),
        false => words::wide_cells(text),
    };
    let mut found = found.into_iter().map(|(_, cell)| cell.trim());
    (found.next().unwrap_or(""), found.collect())
}

/// Characters of a line in which places say nothing of columns.
const NO_PLACES: [char; 4] = ['\t', ',', ';', '|'];

/// Divides a line into its cells.
type Split = fn(&str) -> Vec<(usize, &str)>;

/// At separators of all kinds or of one, at several blanks, at each blank.
const SPLITS: [Split; 5] = [
    |line| cells(line, &[',', '|', ';', '\t']),
    // `| 4k | 18,802 |`
    |line| cells(line, &['|']),
    |line| cells(line, &[';', '\t']),
    |line| words::wide_cells(line),
    |line| cells(line, &[' ', '\t']),
];

/// Returns the cell at the place of a number if a head and its row have as many cells, with its place.
fn by_count<'a>(head: &'a str, row: &'a str, numeral: &Numeral<'_>) -> Option<(Range<usize>, &'a str)> {
    SPLITS.iter().find_map(|split| same_cell(&split(head), &split(row), numeral.start))
}

/// Returns the head over the cell of a number, with its place, where heads and cells are as many.
fn same_cell<'a>(heads: &[(usize, &'a str)], row: &[(usize, &str)], start: usize) -> Option<(Range<usize>, &'a str)> {
    // Two numbers in a cell are two columns.
    let is_split = row.iter().all(|(_, cell)| numerals(cell).nth(1).is_none());
    if heads.len() < 2 || heads.len() != row.len() || !is_split {
        return None;
    }
    let place = row.iter().position(|(at, cell)| (*at..at + cell.len()).contains(&start))?;
    let (at, head) = heads[place];
    Some((at..at + head.len(), head))
}

/// Returns the cells of a line that a place touches.
fn above<'a>(line: &'a str, place: &Range<usize>) -> Vec<(Range<usize>, &'a str)> {
    framed_cells(line).into_iter().filter(|(span, _)| is_common(span, place)).collect()
}

fn is_common(one: &Range<usize>, other: &Range<usize>) -> bool {
    one.start < other.end && other.start < one.end
}

/// Returns true for a line of several cells, and not of a text.
fn is_divided(line: &str) -> bool {
    line.trim().contains("  ") || line.trim_start().starts_with('-')
}

/// Splits a line at blanks. What begins and ends with a dash or brackets is one cell, and its frame is left out.
fn framed_cells(line: &str) -> Vec<(Range<usize>, &str)> {
    let mut found: Vec<(Range<usize>, &str)> = Vec::new();
    let mut open: Option<(usize, char)> = None;
    for (at, word) in cells(line, &[' ', '\t']) {
        let end = at + word.len();
        let start = match open {
            Some((start, _)) => start,
            None => at,
        };
        if open.is_none() {
            open = match word.chars().next() {
                Some('-') => Some((at, '-')),
                Some('(') => Some((at, ')')),
                _ => None,
            };
        }
        if open.is_none_or(|(_, closing)| word.ends_with(closing)) {
            open = None;
            let cell = line[start..end].trim_matches('-');
            if !cell.is_empty() {
                found.push((start..end, cell));
            }
        }
    }
    found
}

/// Returns the unit of a sentence that ends with it: `Output is in kBytes/sec`, `all results in operations per second.`
fn stated_unit(text: &str) -> Option<Found> {
    let text = text.trim().trim_end_matches('.');
    let (_, unit) = text.rsplit_once(" in ")?;
    let found = units::unit_at(unit).filter(|found| found.length == unit.len())?;
    units::is_rate(&found).then_some(found)
}
