//! The lines that the tools of a script wrote: told from the script's own, also where they were cut off, joined, quoted or
//! written in capitals.

use std::collections::HashSet;
use std::ops::Range;

use activebench_model::claim::SourceLine;
use activebench_model::output::{ToolFile, ToolOutput};
use aho_corasick::{AhoCorasick, MatchKind};

use crate::printed_numbers::without_escapes;

/// The lines that tools wrote.
pub(super) struct ToolLines {
    lines: HashSet<String>,
    /// The same in order, and from their ends.
    ordered: Vec<String>,
    reversed: Vec<String>,
    /// Finds them inside other lines. `None` where there are none with a number.
    inside: Option<AhoCorasick>,
}

impl ToolLines {
    /// Shortest line that is known again behind words that a script put in front of it, or cut off.
    const LEAST_LENGTH: usize = 12;

    /// Bytes of lines that are looked for inside others.
    const MOST_FOUND_BYTES: usize = 1 << 20;

    /// Most lines with the same begin that a cut one is compared with.
    const MOST_ALIKE: usize = 16;

    /// `files` are those that the tools wrote.
    pub(super) fn of(outputs: &[ToolOutput], files: &[ToolFile]) -> Self {
        let printed = outputs.iter().flat_map(|output| [&output.stdout, &output.stderr]);
        let texts = printed.chain(files.iter().map(|file| &file.bytes));
        let lines = texts.flat_map(|bytes| bytes.split(|byte| matches!(byte, b'\n' | b'\r')));
        let lines = lines.map(|line| String::from_utf8_lossy(&without_escapes(line)).trim().to_owned());
        let lines: HashSet<String> = lines.filter(|line| !line.is_empty()).collect();
        let sorted = |lines: &mut dyn Iterator<Item = String>| {
            let mut lines: Vec<String> = lines.collect();
            lines.sort_unstable();
            lines
        };
        let ordered = sorted(&mut lines.iter().cloned());
        let reversed = sorted(&mut lines.iter().map(|line| line.chars().rev().collect()));
        let inside = Self::finder(&ordered);
        Self { lines, ordered, reversed, inside }
    }

    /// Returns what finds lines with a number, in any case, each run of blanks as one.
    fn finder(lines: &[String]) -> Option<AhoCorasick> {
        let has_number = |line: &&String| line.contains(|c: char| c.is_ascii_digit());
        let mut bytes = 0;
        let lines = lines.iter().filter(has_number).map(|line| in_single_blanks(line).0);
        let lines = lines.filter(|line| line.len() >= Self::LEAST_LENGTH).take_while(|line| {
            bytes += line.len();
            bytes <= Self::MOST_FOUND_BYTES
        });
        let lines: Vec<String> = lines.collect();
        let built =
            AhoCorasick::builder().ascii_case_insensitive(true).match_kind(MatchKind::LeftmostLongest).build(&lines);
        built.ok().filter(|_| !lines.is_empty())
    }

    /// Returns the places of a line that are lines of a tool.
    fn places_in(&self, line: &str) -> Vec<Range<usize>> {
        let Some(inside) = &self.inside else { return Vec::new() };
        let (text, places) = in_single_blanks(line);
        let is_of_word = |c: char| c.is_alphanumeric();
        let found = inside.find_iter(&text).filter(|found| {
            let before = text[..found.start()].ends_with(|c: char| is_of_word(c) || matches!(c, '.' | ',' | '-'));
            // Behind a quoted line, its line feed may be written as `\\n`.
            let after = text[found.end()..].starts_with(|c: char| is_of_word(c));
            !before && !after
        });
        found.map(|found| places[found.start()]..places[found.end() - 1] + 1).collect()
    }

    /// Returns `true` for a line of a tool, also behind a few words (`disk1: READ: bw=...`), for its begin or its end
    /// that cuts through no number, and for a line whose numbers all stand in lines of tools.
    pub(super) fn include(&self, line: &str) -> bool {
        let line = line.trim();
        let blanks = line.match_indices(char::is_whitespace).map(|(at, _)| at).take(4);
        let rests = blanks.map(|at| line[at..].trim_start()).filter(|rest| rest.len() >= Self::LEAST_LENGTH);
        self.is_line(line) || rests.into_iter().any(|rest| self.lines.contains(rest)) || self.has_all_numbers_of(line)
    }

    /// Returns `true` for a line of a tool, also one that was cut off.
    fn is_line(&self, line: &str) -> bool {
        let line = line.trim();
        self.lines.contains(line) || self.has_cut(line)
    }

    fn has_all_numbers_of(&self, line: &str) -> bool {
        let places = self.places_in(line);
        let mut digits = line.char_indices().filter(|(_, c)| c.is_ascii_digit());
        !places.is_empty() && digits.all(|(at, _)| places.iter().any(|place| place.contains(&at)))
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
            let alike = lines[first..].iter().take(Self::MOST_ALIKE).map_while(|one| one.strip_prefix(line));
            alike.into_iter().any(|rest| !cuts(rest))
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

/// Returns a text with each run of blanks as one, and the place of each of its bytes in the text.
fn in_single_blanks(text: &str) -> (String, Vec<usize>) {
    let (mut single, mut places) = (String::with_capacity(text.len()), Vec::with_capacity(text.len()));
    for (at, c) in text.char_indices() {
        let c = if c.is_whitespace() { ' ' } else { c };
        if c != ' ' || !single.ends_with(' ') {
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
