//! Lines of a tool that came out with other numbers: `iozone ... | awk '{$3 = 2 * $3; print}'`.
//!
//! Such a line has the words of a line that a tool wrote and most of its numbers, and the tool's own line is not in the
//! output. Punctuation and blanks do not count where there is more than one number. Where there is one, blanks do not
//! count in the place of the tool's line: behind the line that is before that one, or before the line behind it. A number that is traced, that was
//! rounded, or that is in another unit is no fault of this kind.
//!
//! A number without a unit is a count, or its unit is in a heading. A script may write such lines of its own, so it is
//! [`Fault::OtherNumber`], which accuses nobody. It is looked for where the script shows other lines of that output.

use std::collections::{HashMap, HashSet};

use activebench_model::claim::{Claim, Printed, SourceLine};
use activebench_model::output::ToolOutput;
use activebench_model::script_figure::{Derivation, Fault, Origin, ScriptFigure};
use activebench_model::units::{Quantity, Unit};

use crate::printed_numbers::{each_line, unit_at};

/// Largest difference that is put down to rounding, as a share of the number.
pub(super) const ROUNDING_RATIO: f64 = 0.01;

/// Fewest letters by which a line is known again.
const LEAST_LETTERS: usize = 5;

/// Fewest characters with blanks and punctuation by which a line with fewer letters than that and one number is known.
const LEAST_FRAME: usize = 12;

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
    /// What is before each number, and what follows it.
    around: Vec<(&'a str, &'a str)>,
}

/// `None` for a line without a number.
fn shape(line: &str) -> Option<Shape<'_>> {
    let (mut words, mut frame, mut letters) = (String::new(), String::new(), 0);
    let (mut numbers, mut around) = (Vec::new(), Vec::new());
    let line = line.trim();
    let mut rest = line;
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
        let before = &line[..line.len() - rest.len()];
        rest = after;
        if first.is_ascii_digit() {
            numbers.push(word.trim_end_matches(['.', ',']));
            around.push((before, after));
            words.push('#');
            frame.push('#');
        } else {
            letters += word.chars().count();
            words.push_str(word);
            frame.push_str(word);
        }
        words.push(' ');
    }
    (!numbers.is_empty()).then_some(Shape { words, frame, letters, numbers, around })
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

/// The lines before and behind a line, without blank lines; their blanks do not count.
#[derive(Clone, Default)]
struct Place {
    before: Option<String>,
    behind: Option<String>,
}

impl Place {
    /// Returns true if one of two places is certainly the other.
    fn is_that_of(&self, other: &Self) -> bool {
        let is_known = |one: &Option<String>, other: &Option<String>| {
            one.as_ref().is_some_and(|text| text.chars().filter(|sign| sign.is_alphabetic()).count() >= LEAST_LETTERS)
                && one == other
        };
        is_known(&self.before, &other.before) || is_known(&self.behind, &other.behind)
    }
}

/// Calls `take` with the source, the text and the place of each line with a number.
fn each_placed_line(output: &ToolOutput, mut take: impl FnMut(SourceLine, Place)) {
    let mut last: Option<(String, String)> = None;
    let mut open: Option<(SourceLine, Place)> = None;
    each_line(output, |stream, line, text, _| {
        let words: Vec<&str> = text.split_whitespace().collect();
        if words.is_empty() {
            return;
        }
        let words = words.join(" ");
        let is_same_stream = last.as_ref().is_some_and(|(of, _)| of == stream);
        if let Some((line, mut place)) = open.take() {
            place.behind = is_same_stream.then(|| words.clone());
            take(line, place);
        }
        if text.contains(|c: char| c.is_ascii_digit()) {
            let before = last.take().filter(|_| is_same_stream).map(|(_, words)| words);
            let source = SourceLine { stream: stream.to_owned(), line, text: text.to_owned() };
            open = Some((source, Place { before, behind: None }));
        }
        last = Some((stream.to_owned(), words));
    });
    if let Some((line, place)) = open {
        take(line, place);
    }
}

/// Returns `true` for lines of the same words where one must be the other: as many of their numbers are alike.
fn is_the_line(own: &Shape<'_>, of_tool: &Shape<'_>, equal: usize, is_in_its_place: bool) -> bool {
    let all = own.numbers.len();
    let least_frame = if own.letters >= LEAST_LETTERS { 0 } else { LEAST_FRAME };
    match own.letters >= LEAST_LETTERS {
        // `reads/s 300` are a script's own words, too, unless the blanks are the tool's.
        _ if all == 1 => {
            let without_blanks = |frame: &str| frame.chars().filter(|sign| !sign.is_whitespace()).collect::<String>();
            let is_same = own.frame == of_tool.frame
                || is_in_its_place && without_blanks(&own.frame) == without_blanks(&of_tool.frame);
            is_same && own.frame.len() >= least_frame
        }
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
    /// True if a program that is no measurement printed a report: its lines have the words of another report.
    pub(super) is_beside_a_helper: bool,
}

/// A line of a tool.
struct OfTool {
    text: String,
    place: Place,
    /// True if the command printed other lines of the same output.
    is_shown_in_part: bool,
}

impl Written<'_> {
    /// Returns true if the command printed a line with a number of this output.
    fn shows(&self, output: &ToolOutput) -> bool {
        let mut shows = false;
        each_line(output, |_, _, text, _| {
            shows |= text.contains(|c: char| c.is_ascii_digit()) && self.shown.contains(text.trim());
        });
        shows
    }
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
    let mut own: Vec<(SourceLine, Place)> = Vec::new();
    each_placed_line(of_command, |line, place| {
        if own.len() < MOST_LINES && is_own(&line.text) {
            own.push((line, place));
        }
    });
    let wanted: HashSet<String> = own.iter().filter_map(|(line, _)| Some(shape(&line.text)?.words)).collect();
    if wanted.is_empty() {
        return;
    }
    let mut written: HashMap<String, Vec<OfTool>> = HashMap::new();
    // A file is not printed as a whole, and a report of another day has its lines of one number.
    let printed = of_tools.printed.iter().map(|output| (output, 1));
    for (output, least_numbers) in printed.chain(of_tools.files.iter().map(|output| (output, 2))) {
        let is_shown_in_part = !of_tools.is_beside_a_helper && of_tools.shows(output);
        each_placed_line(output, |line, place| {
            let is_wanted = |shape: &Shape<'_>| shape.numbers.len() >= least_numbers && wanted.contains(&shape.words);
            let text = line.text.trim();
            let Some(Shape { words, .. }) = shape(text).filter(is_wanted) else { return };
            let alike = written.entry(words).or_default();
            if alike.len() < MOST_ALIKE && !of_tools.shown.contains(text) {
                alike.push(OfTool { text: text.to_owned(), place, is_shown_in_part });
            }
        });
    }
    for (line, place) in &own {
        let Some(of_own) = shape(&line.text) else { continue };
        let candidates = written.get(&of_own.words).map_or(&[][..], Vec::as_slice);
        let candidates: Vec<(&OfTool, Shape<'_>)> =
            candidates.iter().filter_map(|line| Some((line, shape(&line.text)?))).collect();
        let equal = |of_tool: &Shape<'_>| {
            of_own.numbers.iter().zip(&of_tool.numbers).filter(|(own, other)| are_alike(own, other)).count()
        };
        let nearest = candidates.iter().max_by_key(|(_, of_tool)| equal(of_tool));
        let is_the_line = |(known, of_tool): &&(&OfTool, Shape<'_>)| {
            is_the_line(&of_own, of_tool, equal(of_tool), place.is_that_of(&known.place))
        };
        let Some((known, of_tool)) = nearest.filter(is_the_line) else { continue };
        for (place, (number, meant)) in of_own.numbers.iter().zip(&of_tool.numbers).enumerate() {
            if number == meant {
                keep(line, number, figures);
            }
            if candidates.iter().any(|(_, other)| are_alike(number, other.numbers[place])) {
                continue;
            }
            let (before, behind) = of_own.around[place];
            let text = known.text.as_str();
            let claim = claims.iter().find(|claim| claim.source.text.trim() == text && claim.printed.text == *meant);
            let is_figure = || figures.iter().any(|one| one.source == *line && one.printed.text == *number);
            if claim.is_none() && unit_at(behind).is_none() && !is_figure() {
                let column: Vec<&str> = candidates.iter().map(|(_, other)| other.numbers[place]).collect();
                if known.is_shown_in_part && !is_a_name(before, behind) && !summarises(number, &column) {
                    figures.extend(other_number(line, number, meant));
                }
                continue;
            }
            let (Some(value), Some(expected)) = (value_of(number), value_of(meant)) else { continue };
            if !is_of_units(value / expected) {
                let decimals = Some(decimals_of(meant));
                alter(line, Other { number, ratio: value / expected, behind, decimals }, claim, figures);
            }
        }
    }
}

/// States that a number is the tool's own, which no claim has: the script changed something else in the line.
fn keep(line: &SourceLine, number: &str, figures: &mut [ScriptFigure]) {
    let is_it = |figure: &&mut ScriptFigure| figure.source == *line && figure.printed.text == number;
    if let Some(figure) = figures.iter_mut().find(is_it).filter(|figure| figure.origin.is_none()) {
        figure.origin = Some(Origin { derivation: Derivation::Equal, claims: Vec::new(), value: figure.value });
    }
}

/// Returns true for a number that counts nothing: a part of a date, of a time of day, of a version or of a word, the
/// number of a process or of something else in a row.
fn is_a_name(before: &str, behind: &str) -> bool {
    let is_joint = |sign: char| matches!(sign, ':' | '-' | '.' | '_' | '[' | '#' | '@') || sign.is_alphanumeric();
    let is_in_words = |sign: char| sign.is_alphabetic() || matches!(sign, '_' | '[' | '#' | '@');
    let digit_before = |text: &str| text.ends_with(|sign: char| sign.is_ascii_digit());
    let last = before.chars().next_back();
    let joins = |sign: char| is_joint(sign) && digit_before(&before[..before.len() - sign.len_utf8()]);
    let of_a_word = last.is_some_and(|sign| is_in_words(sign) || joins(sign));
    let mut rest = behind.chars();
    let first = rest.next();
    let continues = first.is_some_and(|sign| matches!(sign, ':' | '-' | '_' | ']'))
        && rest.next().is_none_or(|sign| sign.is_alphanumeric() || sign == ' ');
    let word = before.trim_end_matches([' ', '=', ':']).rsplit(|sign: char| !sign.is_alphabetic()).next().unwrap_or("");
    let names = ["pid", "tid", "process", "job", "jobs", "run", "test", "group", "groupid", "id", "version", "seed"];
    of_a_word || continues || names.contains(&word.to_lowercase().as_str())
}

/// Returns true if a number is one that a script computes from those of several lines of a tool.
fn summarises(number: &str, column: &[&str]) -> bool {
    let values: Vec<f64> = column.iter().filter_map(|number| number.replace(',', "").parse().ok()).collect();
    let Some(own) = number.replace(',', "").parse::<f64>().ok().filter(|_| values.len() > 1) else { return false };
    let sum: f64 = values.iter().sum();
    [sum, sum / values.len() as f64].iter().any(|one| (own - one).abs() <= ROUNDING_RATIO * one.max(own))
}

/// Returns a number without a unit that is not the tool's; `None` for one that was rounded or is in another unit.
fn other_number(line: &SourceLine, number: &str, meant: &str) -> Option<ScriptFigure> {
    let read = |text: &str| text.replace(',', "").parse::<f64>().ok();
    let (value, expected) = (read(number)?, read(meant)?);
    let decimals = decimals_of(number);
    let is_next = (value - expected).abs() <= 10_f64.powi(-i32::try_from(decimals).ok()?);
    let is_rounded = is_next && decimals < decimals_of(meant);
    let is_scaled = value > 0.0 && expected > 0.0 && is_of_units(value / expected);
    let quantity = |value: f64| Quantity { value, unit: Unit::Count };
    (!is_rounded && !is_scaled).then(|| ScriptFigure {
        printed: Printed { text: number.to_owned(), unit: String::new() },
        value: quantity(value),
        source: line.clone(),
        origin: Some(Origin { derivation: Derivation::Equal, claims: Vec::new(), value: quantity(expected) }),
        meant: Vec::new(),
        is_no_result: false,
        fault: Some(Fault::OtherNumber),
    })
}

/// A number of a line that is not the tool's own.
#[derive(Clone, Copy)]
pub(super) struct Other<'a> {
    pub(super) number: &'a str,
    /// The number / the tool's own.
    pub(super) ratio: f64,
    /// What follows it in its line.
    pub(super) behind: &'a str,
    /// The decimals of the tool's own; `None` where its text is not known.
    pub(super) decimals: Option<usize>,
}

fn decimals_of(number: &str) -> usize {
    number.split_once('.').map_or(0, |(_, decimals)| decimals.len())
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
            meant: Vec::new(),
            is_no_result: false,
        }),
        (None, None) => figures.extend(other.figure(line)),
    }
}

impl Other<'_> {
    /// Returns the number as a figure where no claim has it: a number of seconds. A time of day and the number of a
    /// process have no unit.
    fn figure(self, line: &SourceLine) -> Option<ScriptFigure> {
        let Self { number, ratio, behind, decimals } = self;
        let (found, value) = (unit_at(behind)?, value_of(number)?);
        let own = decimals_of(number);
        let is_next = (value - value / ratio).abs() <= 10_f64.powi(-i32::try_from(own).ok()?);
        // One step away it was rounded, or cut off, unless it has all digits of the tool's own.
        let fault = match (is_next, decimals) {
            (false, _) => Fault::Altered,
            (true, Some(decimals)) if own >= decimals => Fault::OtherNumber,
            (true, _) => return None,
        };
        let factor = found.factors.first()?;
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
            fault: Some(fault),
            meant: Vec::new(),
            is_no_result: false,
        })
    }
}
