//! Tells the lines that a script's tools wrote from those that the script wrote itself, also where the script cut them
//! off, joined, quoted or capitalised them.

use std::collections::HashSet;
use std::ops::Range;

use activebench_model::claim::SourceLine;
use activebench_model::output::{ToolFile, ToolOutput};

use crate::printed_numbers::without_escapes;

/// The lines that tools wrote.
pub(super) struct ToolLines {
    lines: HashSet<String>,
    /// The same as [`normalised`], in order; then from their ends.
    ordered: Vec<String>,
    reversed: Vec<String>,
}

impl ToolLines {
    /// Shortest line that is known again inside another one, or cut off.
    const LEAST_LENGTH: usize = 12;

    /// Most lines with the same begin that a cut one is compared with.
    const MOST_ALIKE: usize = 16;

    /// `files` are those that the tools wrote.
    pub(super) fn of(outputs: &[ToolOutput], files: &[ToolFile]) -> Self {
        let printed = outputs.iter().flat_map(|output| [&output.stdout, &output.stderr]);
        let texts = printed.chain(files.iter().map(|file| &file.bytes));
        let lines = texts.flat_map(|bytes| bytes.split(|byte| matches!(byte, b'\n' | b'\r')));
        let lines = lines.map(|line| String::from_utf8_lossy(&without_escapes(line)).trim().to_owned());
        let lines: HashSet<String> = lines.filter(|line| !line.is_empty()).collect();
        let mut ordered: Vec<String> = lines.iter().map(|line| normalised(line).0).collect();
        let mut reversed: Vec<String> = ordered.iter().map(|line| line.chars().rev().collect()).collect();
        ordered.sort_unstable();
        reversed.sort_unstable();
        Self { lines, ordered, reversed }
    }

    /// Returns `true` for a line of a tool, for its begin or its end that cuts through no number, and for a line whose
    /// numbers all stand in lines of tools, behind words of the script: `12:30 disk1: READ: bw=...`.
    pub(super) fn include(&self, line: &str) -> bool {
        let places = self.places_in(line);
        let behind = places.first().map_or(line.len(), |first| first.start);
        let mut digits = line.char_indices().filter(|(at, c)| *at >= behind && c.is_ascii_digit());
        self.is_line(line) || !places.is_empty() && digits.all(|(at, _)| places.iter().any(|place| place.contains(&at)))
    }

    /// Returns `true` for a line of a tool, also one that was cut off.
    fn is_line(&self, line: &str) -> bool {
        let line = line.trim();
        let spelled = normalised(line).0;
        self.lines.contains(line) || self.ordered.binary_search(&spelled).is_ok() || self.has_cut(&spelled)
    }

    /// Returns the places of a line that are lines of a tool.
    fn places_in(&self, line: &str) -> Vec<Range<usize>> {
        let (text, places) = normalised(line);
        let (mut found, mut end) = (Vec::new(), 0);
        for (at, _) in text.char_indices() {
            let begins = !text[..at].ends_with(|c: char| c.is_alphanumeric() || matches!(c, '.' | ',' | '-'));
            let Some(length) = self.length_at(&text[at..]).filter(|_| at >= end && begins) else { continue };
            if !text[at + length..].starts_with(char::is_alphanumeric) {
                end = at + length;
                found.push(places[at]..places[end - 1] + 1);
            }
        }
        found
    }

    /// Returns the length of the longest line with which a text begins.
    fn length_at(&self, text: &str) -> Option<usize> {
        let mut begin = text;
        while begin.len() >= Self::LEAST_LENGTH {
            // A line with which the text begins is this one, or this one begins with it, too.
            let behind = self.ordered.partition_point(|line| line.as_str() <= begin);
            let line = &self.ordered[behind.checked_sub(1)?];
            let common = line.char_indices().zip(begin.chars()).find(|((_, one), other)| one != other);
            let Some(((length, _), _)) = common else {
                return (line.len() >= Self::LEAST_LENGTH).then_some(line.len());
            };
            begin = &begin[..length];
        }
        None
    }

    fn has_cut(&self, line: &str) -> bool {
        let is_digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
        // Of decimals, the last ones may be missing.
        let cuts_end = |rest: &str| is_digit(line.chars().next_back()) && is_digit(rest.chars().next());
        // Those at the begin may not: `.75 MB/s`.
        let cuts_begin = |rest: &str| {
            let joins = rest.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '.' | ',' | '-'));
            joins && line.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '.' | ','))
        };
        let is_begin_of = |lines: &[String], line: &str, cuts: &dyn Fn(&str) -> bool| {
            let first = lines.partition_point(|one| one.as_str() < line);
            let mut alike = lines[first..].iter().take(Self::MOST_ALIKE).map_while(|one| one.strip_prefix(line));
            alike.any(|rest| !cuts(rest))
        };
        let reversed: String = line.chars().rev().collect();
        line.len() >= Self::LEAST_LENGTH
            && (is_begin_of(&self.ordered, line, &cuts_end) || is_begin_of(&self.reversed, &reversed, &cuts_begin))
    }

    /// Returns those that the command printed, too.
    pub(super) fn shown(&self, of_command: &ToolOutput) -> HashSet<String> {
        let bytes = [&of_command.stdout, &of_command.stderr];
        let lines = bytes.into_iter().flat_map(|bytes| bytes.split(|byte| matches!(byte, b'\n' | b'\r')));
        lines
            .map(|line| String::from_utf8_lossy(line).trim().to_owned())
            .filter(|line| self.lines.contains(line))
            .collect()
    }
}

/// Returns a text in lower case with each run of blanks as one and none around a colon (`jq` and `json.tool` set other ones
/// than fio), and the place of each of its bytes in the text.
fn normalised(text: &str) -> (String, Vec<usize>) {
    let (mut single, mut places) = (String::with_capacity(text.len()), Vec::with_capacity(text.len()));
    for (at, c) in text.char_indices() {
        let c = if c.is_whitespace() { ' ' } else { c.to_ascii_lowercase() };
        if c == ':' && single.ends_with(' ') {
            single.pop();
            places.pop();
        }
        if c != ' ' || !single.ends_with([' ', ':']) {
            single.push(c);
            places.extend((0..c.len_utf8()).map(|byte| at + byte));
        }
    }
    (single, places)
}

/// Tells the script's own numbers from those in lines of its tools.
pub(super) struct OwnNumbers<'a> {
    of_tools: &'a ToolLines,
    is_of_a_helper: fn(&str) -> bool,
    /// The line of the number before, and what of it is of tools: all, or these places.
    last: Option<(SourceLine, bool, Vec<Range<usize>>)>,
}

impl<'a> OwnNumbers<'a> {
    pub(super) fn of(of_tools: &'a ToolLines, is_of_a_helper: fn(&str) -> bool) -> Self {
        Self { of_tools, is_of_a_helper, last: None }
    }

    /// Returns `true` for a number of the script. Numbers of one line come one after the other.
    pub(super) fn include(&mut self, source: &SourceLine, place: &Range<usize>) -> bool {
        if self.last.as_ref().is_none_or(|(last, ..)| last != source) {
            let is_all = self.of_tools.is_line(&source.text) || (self.is_of_a_helper)(&source.text);
            let places = if is_all { Vec::new() } else { self.of_tools.places_in(&source.text) };
            self.last = Some((source.clone(), is_all, places));
        }
        let is_inside = |(_, is_all, places): &(SourceLine, bool, Vec<Range<usize>>)| {
            *is_all || places.iter().any(|of_tool| of_tool.start <= place.start && place.end <= of_tool.end)
        };
        !self.last.as_ref().is_some_and(is_inside)
    }
}
