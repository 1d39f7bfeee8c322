//! Numbers with units in the output of any program: candidates for claims where no adapter knows the tool.
//!
//! A number is a candidate if it has a unit of rate, time, size or count: behind it (`609 MB/s`), in its label
//! (`written, MiB/s: 465.51`, `"iops": 120`), in the head of its column, in a heading above it (`Latency (ms):`), or in a
//! sentence about all that follows (`Output is in kBytes/sec`). A letter behind it (`7.5k`) scales the unit.
//! Options, versions, dates, percentages, process ids, settings and zeros are not. Of a line that was overwritten by
//! carriage returns, only the last text counts.

mod list;
mod table;
mod units;
mod words;

use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

use activebench_model::claim::{Printed, SourceLine};
use activebench_model::direction::Direction;
use activebench_model::output::ToolOutput;
use activebench_model::units::Unit;
use regex::bytes::{Captures, Regex};

use list::List;
pub(crate) use table::Table;
use table::{Head, is_head_of_sizes};
pub use units::Counted;
use units::Found;
use units::is_rate;
pub(crate) use units::unit_at;
pub use words::Order;
use words::{Heading, Words};
pub(crate) use words::{STATISTICS, direction_of, order_of, words};

/// Largest number of candidates that are kept: the last ones, because a program prints its summary at its end.
pub const MOST_NUMBERS: usize = 512;

/// Largest number of numbers without a unit that are kept.
pub const MOST_BARE: usize = 64;

/// Fewest cells of a line for a machine.
const LEAST_CELLS: usize = 8;

/// Seconds since 1970 of the years 2001 to 2065: a date.
pub(crate) const SECONDS_OF_TODAY: std::ops::Range<f64> = 1e9..3e9;

/// Bytes of a stream that are read, from its end.
const MOST_BYTES: usize = 4 << 20;

/// Bytes of a line that are read.
const MOST_LINE_BYTES: usize = 4096;

/// The candidates of an output.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PrintedNumbers {
    /// The candidates: those of standard output, then those of standard error, in their order.
    pub numbers: Vec<PrintedNumber>,
    /// Candidates before them that are not kept.
    pub left_out: u64,
    /// Sizes that are settings and not figures: `Block size 16 kB`. They show what the output's units mean.
    pub settings: Vec<Vec<Reading>>,
    /// Numbers without a unit in lines for a machine: `1.98,2.00a,host,,,1211,6`. At most [`MOST_BARE`].
    pub bare: Vec<BareNumber>,
}

/// A number without a unit.
#[derive(Clone, Debug, PartialEq)]
pub struct BareNumber {
    /// The number, verbatim.
    pub text: String,
    /// Its value; above 0.
    pub value: f64,
    /// Half of the last printed step.
    pub resolution: f64,
    /// Its line in the output.
    pub source: SourceLine,
    /// Its place in that line, in bytes.
    pub place: Range<usize>,
    /// Bytes of its stream up to its end.
    pub printed_bytes: u64,
}

/// A number with a unit.
#[derive(Clone, Debug, PartialEq)]
pub struct PrintedNumber {
    /// Unit of its readings: bytes, bytes per second, operations per second, ns or a count.
    pub unit: Unit,
    /// The possible values, at least one. Several where the printed unit is ambiguous (`MB` is 10^6 or 2^20 bytes).
    pub readings: Vec<Reading>,
    /// What a count, a rate of operations or a time is about.
    pub counted: Counted,
    /// The number and its unit, verbatim.
    pub printed: Printed,
    /// Direction that the words around it name; `Mixed` for reads and writes together, `None` where they name none.
    pub direction: Option<Direction>,
    /// What one operation is, where words describe it.
    pub operation: Option<Operation>,
    /// Order of offsets that the words around it name; `None` where they name none.
    pub order: Option<Order>,
    /// True if the words around it name a latency or a statistic of several values (mean, percentile, maximum).
    pub is_statistic: bool,
    /// True if they name a statistic that is not the figure of a whole pass: the largest, smallest or a deviation.
    pub is_extreme: bool,
    /// True if they say that it is a mean of several: `mean of 2 instances`.
    pub is_mean_of_several: bool,
    /// The statistic of the tasks that they name.
    pub of_task: Option<OfTask>,
    /// True if they say that nothing was synced: `non-sync'ed writes`.
    pub is_unsynced: bool,
    /// The head of its column in a table whose separators leave no doubt.
    pub column: Option<String>,
    /// The cells of its row, each behind the head of its column: `threads 4, MB/s 61.2`. `None` where head and row have
    /// other numbers of cells, and for all numbers of a row but the first.
    pub row: Option<String>,
    /// Its line in the output.
    pub source: SourceLine,
    /// Its place in that line, in bytes, without its unit.
    pub place: Range<usize>,
    /// Where the unit or the letter behind it ends, in bytes of the line.
    pub end: usize,
    /// Bytes of its stream up to its end.
    pub printed_bytes: u64,
}

/// One meaning of a printed number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading {
    /// The value in the unit of the number; finite and above 0.
    pub value: f64,
    /// Half of the last printed step.
    pub resolution: f64,
    /// True if the unit is taken for a power of 1024, `None` where it has one meaning only.
    pub is_binary: Option<bool>,
}

impl Reading {
    /// Returns the readings of a number by the factors of its unit; none that is not finite or not above 0.
    pub(crate) fn all(value: f64, step: f64, factors: &[f64]) -> Vec<Self> {
        let is_binary = |factor: f64| (factor.log2() / 10.0).fract() == 0.0;
        let reading = |factor: &f64| Self {
            value: value * factor,
            resolution: step * factor / 2.0,
            is_binary: (factors.len() > 1).then(|| is_binary(*factor)),
        };
        factors.iter().map(reading).filter(|reading| reading.value.is_finite() && reading.value > 0.0).collect()
    }
}

/// A statistic of the tasks of a pass, each over its own time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OfTask {
    /// The slowest.
    Min,
    /// The fastest.
    Max,
    /// Their mean.
    Mean,
}

/// An operation of several calls that words describe: `using two 8kB writes`, `16 *  1kB`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Calls of one operation.
    pub calls: u64,
    /// Bytes of a call, with powers of 1000 and of 1024.
    pub call_bytes: [u64; 2],
}

/// Finds the numbers with units in an output. Never fails; time grows linearly with the output.
pub fn printed_numbers(output: &ToolOutput) -> PrintedNumbers {
    let mut numbers = Vec::new();
    let mut heading = Heading::default();
    let mut table = Table::default();
    let mut settings = Vec::new();
    let mut bare = Vec::new();
    let mut of_stream = String::new();
    // The line before, and the numbers up to it: a rule below makes it a head, whatever it contains.
    let mut before = (String::new(), 0);
    each_line(output, |stream, line, text, begin| {
        if of_stream != stream {
            (of_stream, heading, table) = (stream.to_owned(), Heading::default(), Table::default());
            before = (String::new(), numbers.len());
        }
        if table::is_rule(text) && table.rule(&before.0, text, line) {
            numbers.truncate(before.1);
            return;
        }
        before = (text.to_owned(), numbers.len());
        // Separators without anything between them end a table, too.
        if text.chars().all(|c| c.is_whitespace() || c == '|') {
            heading.end_block();
            table.end();
            return;
        }
        if is_command(text) {
            return;
        }
        if is_head_of_sizes(text) {
            return table.read(text, line);
        }
        heading.leave(text);
        let before = numbers.len();
        let source = SourceLine { stream: stream.to_owned(), line, text: text.to_owned() };
        read_line(&source, &heading, &table, &mut numbers, &mut settings);
        for number in &mut numbers[before..] {
            number.printed_bytes += begin;
        }
        let of_line = bare_numbers(&source, &table).into_iter();
        let is_read = |one: &BareNumber| numbers[before..].iter().any(|number| number.printed.text == one.text);
        let of_line = of_line.filter(|one| !is_read(one));
        bare.extend(of_line.map(|one| BareNumber { printed_bytes: one.printed_bytes + begin, ..one }));
        if numbers.len() > before {
            heading.read_block(text);
        }
        let is_heading = text.trim_end().ends_with(':');
        if numbers.len() == before || is_heading {
            let has_number = has_figure(text) && !is_heading;
            heading.read(text, has_number);
            if !has_number {
                table.read(text, line);
            }
            table.interrupt(text, line);
        }
    });
    let excess = numbers.len().saturating_sub(MOST_NUMBERS);
    numbers.drain(..excess);
    settings.truncate(MOST_NUMBERS);
    bare.truncate(MOST_BARE);
    PrintedNumbers { numbers, left_out: excess as u64, settings, bare }
}

/// Returns the numbers that are cells of a line for a machine, of which no head says what they are.
fn bare_numbers(source: &SourceLine, table: &Table) -> Vec<BareNumber> {
    let text = source.text.as_str();
    let separator = [',', ';', '|', '\t'].into_iter().find(|one| text.split(*one).count() >= LEAST_CELLS);
    let Some(separator) = separator else { return Vec::new() };
    let mut found = Vec::new();
    let mut start = 0;
    for cell in text.split(separator) {
        let (from, end) = (start, start + cell.len());
        start = end + separator.len_utf8();
        let is_figure =
            |(value, _): &(f64, f64)| value.is_finite() && *value > 0.0 && !SECONDS_OF_TODAY.contains(value);
        let Some((value, step)) = number_of(cell).filter(is_figure) else { continue };
        if table.head_of(text, &Numeral { text: cell, start: from, end, value, step }).is_some() {
            return Vec::new();
        }
        found.push(BareNumber {
            text: cell.trim().to_owned(),
            value,
            resolution: step / 2.0,
            source: source.clone(),
            place: from..end,
            printed_bytes: end as u64,
        });
    }
    found
}

/// Passes on the lines of an output as a terminal shows them at the end, bounded, with their stream, their number and the
/// bytes before them.
pub(crate) fn each_line(output: &ToolOutput, mut take: impl FnMut(&str, u64, &str, u64)) {
    for (stream, bytes) in [("stdout", &output.stdout), ("stderr", &output.stderr)] {
        let skipped = bytes.len().saturating_sub(MOST_BYTES);
        let first_line = bytes[..skipped].iter().filter(|byte| **byte == b'\n').count() as u64 + 1;
        let mut begin = skipped;
        for (place, line) in bytes[skipped..].split(|byte| *byte == b'\n').enumerate() {
            // The start of the first line may be missing.
            if skipped == 0 || place > 0 {
                let (before, line) = shown(line);
                let line = &line[..line.len().min(MOST_LINE_BYTES)];
                let visible = without_escapes(line);
                let visible = without_tags(&visible);
                // Where in the line they were is not kept: what stands in it was printed when all of them were.
                let escapes = line.len() - visible.len();
                let text = String::from_utf8_lossy(&visible);
                take(stream, first_line + place as u64, &text, (begin + before + escapes) as u64);
            }
            begin += line.len() + 1;
        }
    }
}

/// Sequences by which a terminal sets colours, moves its cursor, or changes its title or character set.
static ESCAPES: LazyLock<Regex> = LazyLock::new(|| {
    let sequences = r"(?-u)\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[()][0-9A-Z])";
    Regex::new(sequences).expect("the expression is right")
});

/// Returns a line without what a terminal does not show.
pub(crate) fn without_escapes(line: &[u8]) -> Cow<'_, [u8]> {
    ESCAPES.replace_all(line, b"".as_slice())
}

/// Returns a row of an HTML table with bars behind its cells and blanks in place of other tags: as many bytes.
fn without_tags(line: &[u8]) -> Cow<'_, [u8]> {
    static TAGS: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"(?i)(?-u)<(/t[dh])>|<[a-z/][^<>]{0,256}>").expect("the expression is right"));
    static CELL: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"(?i)(?-u)</t[dh]>").expect("the expression is right"));
    if !CELL.is_match(line) {
        return Cow::Borrowed(line);
    }
    TAGS.replace_all(line, |tag: &Captures<'_>| {
        let mut blanks = vec![b' '; tag[0].len()];
        if tag.get(1).is_some() {
            blanks[0] = b'|';
        }
        blanks
    })
}

/// Reads a number alone: its value, and the distance between two numbers with as many digits.
pub(crate) fn number_of(text: &str) -> Option<(f64, f64)> {
    let text = text.trim();
    let begins = text.starts_with(|c: char| c.is_ascii_digit());
    let (end, value, step) = begins.then(|| number_at(text, 0))?;
    (end == text.len()).then_some((value, step))
}

/// Returns the part of a line that a terminal still shows at its end, with the number of bytes before it.
fn shown(line: &[u8]) -> (usize, &[u8]) {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let mut end = line.len();
    for part in line.rsplit(|byte| *byte == b'\r') {
        let begin = end - part.len();
        if !part.iter().all(u8::is_ascii_whitespace) {
            return (begin, part);
        }
        end = begin.saturating_sub(1);
    }
    (0, &[])
}

/// Returns true for a line with a number that is not a part of a word, and not an identifier.
pub(crate) fn has_figure(text: &str) -> bool {
    let is_figure = |numeral: &Numeral<'_>| {
        !text[numeral.end..].starts_with(char::is_alphanumeric) && !words::is_identifier(&text[..numeral.start])
    };
    numerals(text).any(|numeral| is_figure(&numeral))
}

/// Returns true for a line that repeats a command line: its numbers are options.
fn is_command(text: &str) -> bool {
    text.split_whitespace().filter(|word| is_long_option(word) || is_short_option(word)).count() > 1
}

/// Returns true for `--size=4k`, and not for a cell of a head that dashes frame.
fn is_long_option(word: &str) -> bool {
    let name = word.strip_prefix("--").unwrap_or_default();
    name.len() > 1 && name.starts_with(char::is_alphabetic) && !name.ends_with('-')
}

fn is_short_option(word: &str) -> bool {
    let mut characters = word.chars();
    characters.next() == Some('-') && characters.next().is_some_and(char::is_alphabetic) && word.len() == 2
}

fn read_line(
    source: &SourceLine,
    heading: &Heading,
    table: &Table,
    numbers: &mut Vec<PrintedNumber>,
    settings: &mut Vec<Vec<Reading>>,
) {
    let text = source.text.as_str();
    // Where the text before a number is its own, behind the unit of the number before it.
    let mut label_start = 0;
    let mut list: Option<List> = None;
    for numeral in numerals_of(text, table.is_divided_by_commas(text)) {
        if numeral.start < label_start || is_of_metric(text, numeral.start) {
            continue;
        }
        let own = unit_at(&text[numeral.end..]).or_else(|| unit_behind_deviation(&text[numeral.end..])).filter(|own| {
            own.unit != Unit::Count || !begins_label(&text[label_start..numeral.start], &text[numeral.end..])
        });
        if is_of_label(&text[numeral.end..], own.as_ref()) {
            continue;
        }
        let label = &text[label_start..numeral.start];
        // The rest of a clause is about the number in it.
        let label = match label.find([',', ';', '|']) {
            Some(at) if label_start > 0 => &label[at + 1..],
            _ => label,
        };
        // What stands in an object that ends before the number is not about it.
        let label = label.rsplit_once('}').map(|(_, rest)| rest).filter(|rest| rest.contains('{')).unwrap_or(label);
        label_start = numeral.end + own.as_ref().map_or(0, |own| own.length);
        if list.as_ref().is_none_or(List::is_read) {
            list = List::at(text, label, numeral.end);
        }
        let of_list = list.as_ref().map(|list| list.unit.clone());
        let name = list.as_mut().and_then(List::take);
        let rest = &text[numeral.end..];
        if numeral.value <= 0.0 || is_percentage(rest) || words::is_identifier(label) {
            continue;
        }
        let own = own.or_else(|| units::per_second_of(rest, label));
        let scale = if own.is_none() { units::scale_at(rest) } else { None };
        // `95th`, `12x`, and the bound of a class in a histogram: `50=4.49%`.
        if rest.starts_with('=') || own.is_none() && scale.is_none() && rest.starts_with(char::is_alphanumeric) {
            continue;
        }
        // `IOPS: 12` is what it says, whatever stands above it.
        let is_labelled = label.trim_end().ends_with([':', '=', '}']);
        let labelled = units::unit_of_label(label).filter(|_| is_labelled);
        let has_unit = own.is_some() || of_list.is_some() || labelled.is_some();
        let head = if has_unit { None } else { table.head_of(text, &numeral) };
        let head = head.filter(|_| begins_cell(text, numeral.start));
        let of_head = head.as_ref().and_then(|head| units::unit_of_head(&head.text, &head.own, scale));
        // `write` alone is a count of writes, unless all the table has another unit.
        let of_table = |head: &Head| table.unit(head).or_else(|| table.unit_of_row(text));
        let stated = head.as_ref().and_then(of_table).filter(|_| !of_head.as_ref().is_some_and(is_rate));
        let own_length = own.as_ref().map(|own| own.length);
        let unit = own
            .or_else(|| units::scaled(of_list?, scale))
            .or_else(|| units::unit_member(text, numeral.start))
            .or_else(|| units::scaled(table.unit_in_brackets(text, &numeral)?, scale))
            .or_else(|| units::scaled(labelled?, scale))
            .or_else(|| units::scaled(stated?, scale))
            .or(of_head)
            .or_else(|| units::scaled(table.count_of(head.as_ref()?)?, scale))
            .or_else(|| units::scaled(units::unit_of_label(label)?, scale))
            .or_else(|| units::scaled(units::in_brackets_before_numbers(text)?, scale))
            .or_else(|| units::scaled(table.unit_of_row(text)?, scale))
            .or_else(|| units::scaled(heading.unit(text)?, scale));
        let end = numeral.end + own_length.unwrap_or_else(|| scale.map_or(0, |scale| scale.length));
        let Some(Found { unit, factors, counted, text: unit_text, .. }) = unit else { continue };
        let head = head.as_ref().map(|head| head.text.as_str()).or(name.as_deref());
        let words = Words::around(text, numeral.start, numeral.end, label, head, heading);
        // A count is whole.
        let readings = Reading::all(numeral.value, numeral.step, &factors);
        let is_setting = words.is_setting(unit) && !is_over_time(&text[label_start..]);
        if is_setting || unit == Unit::Count && numeral.step < 1.0 {
            if unit == Unit::Bytes && readings.len() > 1 {
                settings.push(readings);
            }
            continue;
        }
        if readings.is_empty() {
            continue;
        }
        let is_first = numbers.last().is_none_or(|last| last.source != *source);
        numbers.push(PrintedNumber {
            unit,
            readings,
            counted: words.counted(counted),
            printed: Printed { text: numeral.text.to_owned(), unit: unit_text },
            direction: counted.direction().or(words.direction),
            operation: words.operation,
            order: words.order,
            is_statistic: words.is_statistic,
            is_extreme: words.is_extreme,
            is_mean_of_several: words.is_mean_of_several,
            of_task: words.of_task,
            is_unsynced: words.is_unsynced,
            column: name.or_else(|| table.column_of(text, numeral.start)),
            row: if is_first { table.described(text) } else { None },
            source: source.clone(),
            place: numeral.start..numeral.end,
            end,
            printed_bytes: numeral.end as u64,
        });
    }
}

/// Reads the unit of a number with its deviation, `142.3 ± 11.5 MB/s`: its length is up to its end.
fn unit_behind_deviation(rest: &str) -> Option<Found> {
    let behind = rest.trim_start();
    let number = ["±", "+/-", "+-"].iter().find_map(|sign| behind.strip_prefix(sign))?.trim_start();
    if !number.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let (end, ..) = number_at(number, 0);
    let found = unit_at(&number[end..])?;
    Some(Found { length: rest.len() - number.len() + end + found.length, ..found })
}

/// Returns `true` for a quoted value in the braces of a metric's name: the 4 of `read_iops{bs="4k"} 12` (Prometheus).
fn is_of_metric(text: &str, place: usize) -> bool {
    let before = &text[..place];
    let Some(begin) = before.rfind(['{', '}']).filter(|at| before[*at..].starts_with('{')) else { return false };
    let is_quoted = before[begin..].matches('"').count() % 2 == 1;
    is_quoted && before[..begin].ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
}

/// Returns `true` for a number that no words stand before in its cell: with words, the cell may be that of another head.
fn begins_cell(text: &str, start: usize) -> bool {
    let before = &text[..start];
    !before.rsplit_once(['|', '\t', ';']).is_some_and(|(_, own)| own.contains(char::is_alphabetic))
}

/// A number in a line, without its unit.
#[derive(Clone, Copy, Debug)]
struct Numeral<'a> {
    text: &'a str,
    start: usize,
    end: usize,
    value: f64,
    /// The distance between two numbers with as many digits.
    step: f64,
}

/// Reads a time as shells print it, `1m2.345s`, up to its `s`: its end, its seconds and its step. Its comma is that of
/// a decimal fraction.
fn minutes_at(text: &str, start: usize) -> Option<(usize, f64, f64)> {
    let is_digit = |c: char| c.is_ascii_digit();
    let here = &text[start..];
    let (minutes, rest) = here.split_at(here.len() - here.trim_start_matches(is_digit).len());
    let rest = rest.strip_prefix('m')?;
    let length = rest.len() - rest.trim_start_matches(|c: char| is_digit(c) || c == '.' || c == ',').len();
    let (seconds, behind) = rest.split_at(length);
    let behind = behind.strip_prefix('s')?;
    let (whole, decimals) = seconds.split_once(['.', ',']).unwrap_or((seconds, "0"));
    let is_number = |text: &str| !text.is_empty() && text.chars().all(is_digit);
    if ![minutes, whole, decimals].into_iter().all(is_number) || behind.starts_with(char::is_alphanumeric) {
        return None;
    }
    let value: f64 = format!("{whole}.{decimals}").parse().ok()?;
    let minutes: f64 = minutes.parse().ok()?;
    let step = if whole.len() == seconds.len() { 1.0 } else { 0.1_f64.powi(i32::try_from(decimals.len()).ok()?) };
    let end = text.len() - behind.len() - 1;
    (value < 60.0).then_some((end, minutes * 60.0 + value, step))
}

/// Finds the numbers of a line: not those that are a part of a name, a version, a date, a time of day, an option or a
/// fraction, and no negative ones.
fn numerals(text: &str) -> impl Iterator<Item = Numeral<'_>> {
    numerals_of(text, false)
}

/// Finds the numbers of a line. `separated` says that commas stand between its cells, and in no number.
fn numerals_of(text: &str, separated: bool) -> impl Iterator<Item = Numeral<'_>> {
    let bytes = text.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        while at < bytes.len() {
            if !bytes[at].is_ascii_digit() {
                at += 1;
                continue;
            }
            let start = at;
            let cell = match text[start..].find(',').filter(|_| separated) {
                Some(comma) => &text[..start + comma],
                None => text,
            };
            let (end, value, step) = minutes_at(cell, start).unwrap_or_else(|| number_at(cell, start));
            at = end;
            let is_member = list::continues(text, start);
            let begins = is_member || is_free(bytes, start);
            let ends = is_member || !continues(bytes, end) || list::begins(text, end);
            if begins && ends && !is_in_brackets(bytes, start, end) {
                return Some(Numeral { text: &text[start..end], start, end, value, step });
            }
            // The rest of the word belongs to it.
            while at < bytes.len() && (bytes[at].is_ascii_alphanumeric() || b".:-/+_".contains(&bytes[at])) {
                at += 1;
            }
        }
        None
    })
}

/// Returns true if a number may begin here.
fn is_free(bytes: &[u8], start: usize) -> bool {
    let before = |distance: usize| start.checked_sub(distance).map(|place| bytes[place]);
    match before(1) {
        Some(byte) if byte.is_ascii_alphanumeric() || b"_.-+/#@\\".contains(&byte) || !byte.is_ascii() => false,
        // An option such as `--size=4k`, `bs=1M`.
        Some(b'=') => !is_option(bytes, start),
        Some(b':') => !before(2).is_some_and(|byte| byte.is_ascii_digit()),
        _ => true,
    }
}

/// Returns true for `[123]`: the process that wrote a line of a log.
fn is_in_brackets(bytes: &[u8], start: usize, end: usize) -> bool {
    start > 0 && bytes[start - 1] == b'[' && bytes.get(end) == Some(&b']')
}

/// Returns true if the word before `=` is an option.
fn is_option(bytes: &[u8], start: usize) -> bool {
    let word = bytes[..start].iter().rposition(u8::is_ascii_whitespace).map_or(0, |place| place + 1);
    bytes[word..start].starts_with(b"-")
}

/// Returns true if the text behind a number makes it a part of something else.
fn continues(bytes: &[u8], end: usize) -> bool {
    let is_digit = |place: usize| bytes.get(place).is_some_and(u8::is_ascii_digit);
    match bytes.get(end) {
        Some(b'.') => bytes.get(end + 1).is_some_and(u8::is_ascii_alphanumeric),
        Some(b':' | b'-' | b'/' | b'+') => is_digit(end + 1),
        Some(b'_') => true,
        _ => false,
    }
}

/// Reads the number that begins at a digit: `1200`, `1,258,291,200`, `0.5`, `0,5`, `4.678e-05`. Returns its end, its
/// value and its step.
fn number_at(text: &str, start: usize) -> (usize, f64, f64) {
    if let Some(found) = continental_at(text, start) {
        return found;
    }
    let bytes = text.as_bytes();
    let digits = |from: usize| bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mut end = start + digits(start);
    let mut plain = text[start..end].to_owned();
    let is_group = |at: usize| bytes.get(at) == Some(&b',') && digits((at + 1).min(bytes.len())) == 3;
    let is_grouped = end - start <= 3 && is_group(end);
    while is_grouped && is_group(end) {
        plain.push_str(&text[end + 1..end + 4]);
        end += 4;
    }
    let mut decimals = 0_i32;
    let decimal_sign = match bytes.get(end) {
        Some(b'.') => true,
        // `4096,1234.57` are two numbers.
        Some(b',') => !is_grouped && bytes.get(end + 1 + digits(end + 1)) != Some(&b'.'),
        _ => false,
    };
    if decimal_sign {
        let length = digits(end + 1);
        if length > 0 {
            plain.push('.');
            plain.push_str(&text[end + 1..end + 1 + length]);
            decimals = i32::try_from(length).unwrap_or(i32::MAX);
            end += 1 + length;
        }
    }
    let mut exponent = 0_i32;
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let from = (end + 1 + sign).min(bytes.len());
        let length = digits(from);
        let ends_there = !bytes.get(from + length).is_some_and(u8::is_ascii_alphabetic);
        if (1..=3).contains(&length) && ends_there {
            exponent = text[end + 1..from + length].parse().unwrap_or(0);
            end = from + length;
        }
    }
    let scale = 10_f64.powi(exponent);
    let value = plain.parse().unwrap_or(0.0) * scale;
    (end, value, 10_f64.powi(decimals.saturating_neg()) * scale)
}

/// Reads `1.258.291,5`: points between groups of three digits, and a comma before one or two decimals, with blanks or
/// brackets around it. With three decimals it may be two numbers.
fn continental_at(text: &str, start: usize) -> Option<(usize, f64, f64)> {
    let here = &text[start..];
    let is_sign = |c: char| c == '.' || c == ',';
    let length = here.len() - here.trim_start_matches(|c: char| c.is_ascii_digit() || is_sign(c)).len();
    let (whole, decimals) = here[..length].split_once(',')?;
    let mut groups = whole.split('.');
    let first = groups.next().filter(|first| (1..=3).contains(&first.len()))?;
    let groups: Vec<&str> = groups.collect();
    let is_grouped = !groups.is_empty() && groups.iter().all(|group| group.len() == 3);
    let is_decimal = matches!(decimals.len(), 1 | 2) && !decimals.contains(is_sign);
    let is_alone = !text[..start].ends_with(is_sign) && !here[length..].starts_with(|c: char| c.is_alphanumeric());
    if !is_grouped || !is_decimal || !is_alone {
        return None;
    }
    let plain = format!("{first}{}.{decimals}", groups.concat());
    let step = if decimals.len() == 1 { 0.1 } else { 0.01 };
    Some((start + length, plain.parse().ok()?, step))
}

/// Returns true if what follows a number is the label of the next one: `read iops: 571  write iops: 243`.
fn begins_label(label: &str, rest: &str) -> bool {
    let ends_label = |text: &str| text.trim_end().ends_with([':', '=']);
    let next = rest.find(|c: char| c.is_ascii_digit());
    ends_label(label) && next.is_some_and(|next| ends_label(&rest[..next]))
}

/// Returns true for a number that belongs to the label of the next one: `random read 4k: 698.3 MiB/s`, `64 KiB: 12`.
fn is_of_label(rest: &str, own: Option<&Found>) -> bool {
    let is_size = own.is_none_or(|own| matches!(own.unit, Unit::Bytes | Unit::Count));
    let length = own.map_or_else(|| units::scale_at(rest).map_or(0, |scale| scale.length), |own| own.length);
    is_size && rest[length..].starts_with(": ")
}

/// Returns true if a time follows an amount: `Timing cached reads: 34692 MB in  1.98 seconds`.
fn is_over_time(rest: &str) -> bool {
    let time = rest.trim_start().strip_prefix("in ");
    time.is_some_and(|time| time.trim_start().starts_with(|c: char| c.is_ascii_digit()))
}

fn is_percentage(rest: &str) -> bool {
    let rest = rest.trim_start();
    rest.starts_with('%') || rest.starts_with("percent")
}

/// Splits a line into its cells, which are not empty, with their places.
fn cells<'a>(line: &'a str, separators: &[char]) -> Vec<(usize, &'a str)> {
    let mut at = 0;
    let mut cells = Vec::new();
    for cell in line.split(separators) {
        if !cell.trim().is_empty() {
            cells.push((at, cell));
        }
        at += cell.len() + 1;
    }
    cells
}

#[cfg(test)]
mod tests;
