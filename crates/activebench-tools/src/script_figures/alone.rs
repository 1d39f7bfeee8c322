//! Numbers that stand alone, without a unit: `dd ... | awk '{print $(NF-1)}'`.
//!
//! Nothing says what such a number is about. It is a figure of the run only if it has the very digits of one, and if it is
//! unlikely that any of the numbers of the output has those of any figure by chance.

use std::collections::BTreeSet;
use std::ops::Range;

use activebench_model::claim::{Claim, SourceLine};
use activebench_model::output::ToolOutput;
use activebench_model::units::Unit;

use super::{DECADES, MOST_CHANCE};
use crate::printed_numbers::{
    PrintedNumber, Reading, SECONDS_OF_TODAY, Table, each_line, has_figure, number_of, printed_numbers, unit_at,
};

/// Fewest digits of such a number.
const LEAST_DIGITS: usize = 3;

/// Characters that end a word, beside blanks.
const SEPARATORS: [char; 7] = ['=', ':', ',', ';', '|', '(', ')'];

/// Largest number of them that are read.
const MOST: usize = 512;

/// A number without a unit.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Alone {
    pub(super) text: String,
    pub(super) source: SourceLine,
    /// Its place in that line, in bytes.
    pub(super) place: Range<usize>,
    /// The head of its column, where head and row have as many cells.
    pub(super) column: Option<String>,
    /// Above 0.
    value: f64,
    /// The distance between two numbers with as many digits, as a share of it.
    step_ratio: f64,
}

impl Alone {
    /// Returns `true` if it is neither a year nor a number of seconds since 1970.
    pub(super) fn may_be_figure(&self) -> bool {
        let is_year = YEARS.contains(&self.value) && self.text.len() == 4;
        !is_year && !SECONDS_OF_TODAY.contains(&self.value)
    }
}

/// Years of dates.
const YEARS: Range<f64> = 1990.0..2100.0;

/// Returns the numbers of an output that are words of their own.
pub(super) fn numbers_alone(output: &ToolOutput) -> Vec<Alone> {
    let mut found = Vec::new();
    let (mut table, mut of_stream) = (Table::default(), String::new());
    each_line(output, |stream, line, text, _| {
        if of_stream != stream || text.trim().is_empty() {
            (table, of_stream) = (Table::default(), stream.to_owned());
        }
        if !has_figure(text) {
            table.read(text, line);
        }
        let mut end = 0;
        for word in text.split_inclusive(|c: char| c.is_whitespace() || SEPARATORS.contains(&c)) {
            let start = end;
            end += word.len();
            let word = word.trim_end_matches(|c: char| c.is_whitespace() || SEPARATORS.contains(&c));
            let digits = word.chars().filter(char::is_ascii_digit).count();
            let Some((value, step)) = number_of(word).filter(|(value, _)| *value > 0.0) else { continue };
            if digits >= LEAST_DIGITS && found.len() < MOST {
                let source = SourceLine { stream: stream.to_owned(), line, text: text.to_owned() };
                let place = start..start + word.len();
                let column = table.column_of(text, start);
                found.push(Alone { text: word.to_owned(), source, place, column, value, step_ratio: step / value });
            }
        }
    });
    found
}

/// Returns the claim of which a number has the digits; `None` where several have them, or where as many numbers and
/// figures may agree by chance.
pub(super) fn origin<'a>(alone: &Alone, numbers: usize, claims: &'a [Claim]) -> Option<&'a Claim> {
    let is_figure = |claim: &&Claim| claim.metric.is_rate(true) || claim.metric.is_latency();
    let figures = || claims.iter().filter(is_figure);
    let mut alike = figures().filter(|claim| claim.printed.text == alone.text);
    let claim = alike.next().filter(|_| alike.next().is_none())?;
    let distinct: BTreeSet<&str> = figures().map(|claim| claim.printed.text.as_str()).collect();
    let chance = (numbers * distinct.len()) as f64 * alone.step_ratio / (DECADES * std::f64::consts::LN_10);
    (chance < MOST_CHANCE).then_some(claim)
}

/// The numbers of an output that are words of their own.
pub(crate) struct NumbersAlone(Vec<Alone>);

impl NumbersAlone {
    pub(crate) fn of(output: &ToolOutput) -> Self {
        Self(numbers_alone(output))
    }

    /// Returns true if a number without a unit is one of these figures, and not by chance.
    pub(crate) fn show(&self, claims: &[Claim], counts: impl Fn(&SourceLine) -> bool) -> bool {
        let mut counted = self.0.iter().filter(|number| counts(&number.source));
        counted.any(|number| origin(number, self.0.len(), claims).is_some())
    }
}

/// Returns the rates in bytes of an output.
pub(crate) fn rates_of(output: &ToolOutput) -> Vec<PrintedNumber> {
    let mut numbers = printed_numbers(output).numbers;
    numbers.retain(|number| number.unit == Unit::BytesPerSec);
    numbers
}

/// Returns true if a rate is one of these figures in another unit, and not by chance: `775.34 MiB/s` for 813 MB/s.
pub(crate) fn restates(rates: &[PrintedNumber], claims: &[Claim], counts: impl Fn(&SourceLine) -> bool) -> bool {
    let mut figures = claims.iter().filter(|claim| claim.value.unit == Unit::BytesPerSec);
    figures.any(|claim| {
        let printed = number_of(&claim.printed.text).zip(unit_at(&claim.printed.unit));
        let printed = printed.map_or_else(Vec::new, |((value, step), unit)| Reading::all(value, step, &unit.factors));
        let values: Vec<f64> = printed.iter().map(|reading| reading.value).chain([claim.value.value]).collect();
        let counted = rates.iter().filter(|number| counts(&number.source));
        counted.flat_map(|number| &number.readings).any(|reading| {
            // A script may cut off instead of rounding.
            let most = 2.0 * reading.resolution;
            let tries = (rates.len() * values.len() * claims.len()) as f64;
            let chance = tries * 2.0 * most / reading.value / (DECADES * std::f64::consts::LN_10);
            chance < MOST_CHANCE && values.iter().any(|value| (value - reading.value).abs() <= most)
        })
    })
}
