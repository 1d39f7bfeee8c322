//! Lines of a tool that came out with other numbers: `iozone ... | awk '{$3 = 2 * $3; print}'`.
//!
//! Such a line has the words of a line that a tool wrote and most of its numbers, and the tool's own line is not in the
//! output. Punctuation and blanks do not count where there is more than one number. A number that is traced, that was rounded, or that is in another unit is
//! no fault of this kind.

use std::collections::{HashMap, HashSet};

use activebench_model::claim::{Claim, Printed, SourceLine};
use activebench_model::output::ToolOutput;
use activebench_model::script_figure::{Derivation, Fault, Origin, ScriptFigure};
use activebench_model::units::Quantity;

use crate::printed_numbers::{each_line, unit_at};

/// Largest difference that is put down to rounding, as a share of the number.
pub(super) const ROUNDING_RATIO: f64 = 0.01;

/// Fewest letters by which a line is known again.
const LEAST_LETTERS: usize = 5;

/// Fewest equal numbers that identify a line with fewer letters than [`LEAST_LETTERS`].
const LEAST_EQUAL: usize = 3;

/// Most lines of the script, and of the tools with the same words, that are compared.
const MOST_LINES: usize = 1024;
const MOST_ALIKE: usize = 64;

/// The words of a line, `#` for each number, and its numbers.
struct Shape<'a> {
    words: String,
    /// The same with all that is between them.
    frame: String,
    letters: usize,
    numbers: Vec<&'a str>,
    /// What follows each number.
    behind: Vec<&'a str>,
}

/// `None` for a line without a number.
fn shape(line: &str) -> Option<Shape<'_>> {
    let (mut words, mut frame, mut letters) = (String::new(), String::new(), 0);
    let (mut numbers, mut behind) = (Vec::new(), Vec::new());
    let mut rest = line.trim();
    while let Some(first) = rest.chars().next() {
        let is_part: fn(char) -> bool = match first {
            first if first.is_ascii_digit() => |c| c.is_ascii_digit() || matches!(c, '.' | ','),
            first if first.is_alphabetic() => char::is_alphabetic,
            _ => {
                frame.push(first);
                rest = &rest[first.len_utf8()..];
                continue;
            }
        };
        let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        rest = after;
        if first.is_ascii_digit() {
            numbers.push(word.trim_end_matches(['.', ',']));
            behind.push(after);
            words.push('#');
            frame.push('#');
        } else {
            letters += word.chars().count();
            words.push_str(word);
            frame.push_str(word);
        }
        words.push(' ');
    }
    (!numbers.is_empty()).then_some(Shape { words, frame, letters, numbers, behind })
}

fn value_of(number: &str) -> Option<f64> {
    number.replace(',', "").parse::<f64>().ok().filter(|value| *value > 0.0)
}

/// Returns `true` for numbers that are alike: one is the other in the notation of another language, or rounded.
fn are_alike(one: &str, other: &str) -> bool {
    let digits = |text: &str| text.chars().filter(char::is_ascii_digit).collect::<String>();
    if digits(one) == digits(other) {
        return true;
    }
    match (value_of(one), value_of(other)) {
        (Some(one), Some(other)) => (one - other).abs() <= ROUNDING_RATIO * one.max(other),
        _ => false,
    }
}

/// Returns `true` for a ratio by which units differ.
pub(super) fn is_of_units(ratio: f64) -> bool {
    let scales = [8.0, 1e3, 1024.0, 1e6, 1024.0 * 1024.0, 1024e3, 1e9];
    scales
        .iter()
        .any(|scale| [ratio * scale, ratio / scale].iter().any(|one| (one - 1.0).abs() <= 2.0 * ROUNDING_RATIO))
}

/// Returns `true` for lines of the same words where one must be the other: as many of their numbers are alike.
fn is_the_line(own: &Shape<'_>, of_tool: &Shape<'_>, equal: usize) -> bool {
    let all = own.numbers.len();
    match own.letters >= LEAST_LETTERS {
        // `reads/s 300` are a script's own words, too.
        true if all == 1 => own.frame == of_tool.frame,
        true => 2 * equal >= all,
        false => equal >= LEAST_EQUAL && 2 * equal > all || equal > 0 && own.frame == of_tool.frame,
    }
}

/// What the tools wrote.
#[derive(Clone, Copy)]
pub(super) struct Written<'a> {
    pub(super) printed: &'a [ToolOutput],
    /// Their files, each as an output.
    pub(super) files: &'a [ToolOutput],
    /// Their lines that the command printed.
    pub(super) shown: &'a HashSet<String>,
}

/// Marks the numbers that differ from those of the tool's own line, and adds those that are not among the figures.
/// `is_own` says whether a line is the script's.
pub(super) fn mark(
    of_command: &ToolOutput,
    of_tools: Written<'_>,
    is_own: impl Fn(&str) -> bool,
    claims: &[Claim],
    figures: &mut Vec<ScriptFigure>,
) {
    let mut own: Vec<SourceLine> = Vec::new();
    each_line(of_command, |stream, line, text, _| {
        if own.len() < MOST_LINES && text.contains(|c: char| c.is_ascii_digit()) && is_own(text) {
            own.push(SourceLine { stream: stream.to_owned(), line, text: text.to_owned() });
        }
    });
    let wanted: HashSet<String> = own.iter().filter_map(|line| Some(shape(&line.text)?.words)).collect();
    if wanted.is_empty() {
        return;
    }
    let mut written: HashMap<String, Vec<String>> = HashMap::new();
    // A file is not printed as a whole, and a report of another day has its lines of one number.
    let printed = of_tools.printed.iter().map(|output| (output, 1));
    for (output, least_numbers) in printed.chain(of_tools.files.iter().map(|output| (output, 2))) {
        each_line(output, |_, _, text, _| {
            let is_wanted = |shape: &Shape<'_>| shape.numbers.len() >= least_numbers && wanted.contains(&shape.words);
            let Some(Shape { words, .. }) = shape(text).filter(is_wanted) else { return };
            let alike = written.entry(words).or_default();
            if alike.len() < MOST_ALIKE && !of_tools.shown.contains(text.trim()) {
                alike.push(text.trim().to_owned());
            }
        });
    }
    for line in &own {
        let Some(of_own) = shape(&line.text) else { continue };
        let candidates = written.get(&of_own.words).map_or(&[][..], Vec::as_slice);
        let candidates: Vec<(&str, Shape<'_>)> =
            candidates.iter().filter_map(|text| Some((text.as_str(), shape(text)?))).collect();
        let equal = |of_tool: &Shape<'_>| {
            of_own.numbers.iter().zip(&of_tool.numbers).filter(|(own, other)| are_alike(own, other)).count()
        };
        let nearest = candidates.iter().max_by_key(|(_, of_tool)| equal(of_tool));
        let Some((text, of_tool)) = nearest.filter(|(_, of_tool)| is_the_line(&of_own, of_tool, equal(of_tool))) else {
            continue;
        };
        for (place, (number, meant)) in of_own.numbers.iter().zip(&of_tool.numbers).enumerate() {
            let is_of_any = candidates.iter().any(|(_, other)| are_alike(number, other.numbers[place]));
            let (Some(value), Some(expected)) = (value_of(number), value_of(meant)) else { continue };
            if !is_of_any && !is_of_units(value / expected) {
                let claim =
                    claims.iter().find(|claim| claim.source.text.trim() == *text && claim.printed.text == *meant);
                let ratio = value / expected;
                alter(line, Other { number, ratio, behind: of_own.behind[place] }, claim, figures);
            }
        }
    }
}

/// A number of a line that is not the tool's own.
#[derive(Clone, Copy)]
pub(super) struct Other<'a> {
    pub(super) number: &'a str,
    /// The number / the tool's own.
    pub(super) ratio: f64,
    /// What follows it in its line.
    pub(super) behind: &'a str,
}

/// States a number of a line that is not the tool's own.
pub(super) fn alter(line: &SourceLine, other: Other<'_>, claim: Option<&Claim>, figures: &mut Vec<ScriptFigure>) {
    let Other { number, ratio, .. } = other;
    let origin = |value: Quantity| Origin {
        derivation: Derivation::Equal,
        claims: claim.iter().map(|claim| claim.id.clone()).collect(),
        value,
    };
    let known = figures.iter_mut().find(|figure| figure.source == *line && figure.printed.text == number);
    match (known, claim) {
        (Some(figure), _) if figure.origin.is_some() => {}
        (Some(figure), _) => {
            let as_written = Quantity { value: figure.value.value / ratio, ..figure.value };
            figure.origin = Some(origin(claim.map_or(as_written, |claim| claim.value)));
            figure.fault = Some(Fault::Altered);
        }
        (None, Some(claim)) => figures.push(ScriptFigure {
            printed: Printed { text: number.to_owned(), unit: claim.printed.unit.clone() },
            value: Quantity { value: claim.value.value * ratio, ..claim.value },
            source: line.clone(),
            origin: Some(origin(claim.value)),
            fault: Some(Fault::Altered),
            phases: Vec::new(),
        }),
        (None, None) => figures.extend(other.figure(line)),
    }
}

impl Other<'_> {
    /// Returns the number as a figure where no claim has it: a number of seconds. A time of day and the number of a
    /// process have no unit.
    fn figure(self, line: &SourceLine) -> Option<ScriptFigure> {
        let Self { number, ratio, behind } = self;
        let (found, value) = (unit_at(behind)?, value_of(number)?);
        let decimals = number.split_once('.').map_or(0, |(_, decimals)| decimals.len());
        let is_rounded = (value - value / ratio).abs() <= 10_f64.powi(-i32::try_from(decimals).ok()?);
        let factor = found.factors.first().filter(|_| !is_rounded)?;
        let value = Quantity { value: value * factor, unit: found.unit };
        Some(ScriptFigure {
            printed: Printed { text: number.to_owned(), unit: found.text },
            value,
            source: line.clone(),
            origin: Some(Origin {
                derivation: Derivation::Equal,
                claims: Vec::new(),
                value: Quantity { value: value.value / ratio, ..value },
            }),
            fault: Some(Fault::Altered),
            phases: Vec::new(),
        })
    }
}
