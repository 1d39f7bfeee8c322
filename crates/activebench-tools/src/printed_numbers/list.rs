//! Numbers that share the unit behind the last of them: `812.4 / 640.1 MB/s (read / write)`.

use std::sync::LazyLock;

use activebench_model::units::Unit;
use regex::Regex;

use super::number_at;
use super::units::{Found, is_rate, scale_at, unit_at};

/// A list of numbers while its members are read.
#[derive(Clone, Debug)]
pub(super) struct List {
    /// The unit behind its last member.
    pub(super) unit: Found,
    /// What its members are, in their order; empty where no words of as many parts stand around it.
    names: Vec<String>,
    /// Members that were read.
    taken: usize,
    count: usize,
}

impl List {
    /// Reads the list whose first member ends at a place of a line, with the words before it. `None` where no list of
    /// rates or times is there.
    pub(super) fn at(line: &str, label: &str, end: usize) -> Option<Self> {
        let rest = &line[end..];
        let (mut at, mut count) = (0, 1);
        while let Some(length) = member(&rest[at..]) {
            at += length;
            count += 1;
        }
        if count < 2 {
            return None;
        }
        // `60.2k / 1.5k IOPS`: each has its own letter.
        at += letter_at(&rest[at..]);
        let unit = unit_at(&rest[at..]).filter(|found| is_rate(found) || found.unit == Unit::Ns)?;
        let behind = &rest[at + unit.length..];
        let behind = &behind[..behind.find(|c: char| c.is_ascii_digit()).unwrap_or(behind.len())];
        let names = parts(label, count).last().or_else(|| parts(behind, count).next()).unwrap_or_default();
        let unit = Found { length: 0, ..unit };
        Some(Self { unit, names, taken: 0, count })
    }

    /// Takes the next member and returns what it is, if words say so.
    pub(super) fn take(&mut self) -> Option<String> {
        self.taken += 1;
        self.names.get(self.taken - 1).cloned()
    }

    /// Returns `true` when all members were taken.
    pub(super) fn is_read(&self) -> bool {
        self.taken >= self.count
    }
}

/// Returns `true` for the end of a number behind which a list goes on without blanks, `812/640 MB/s`. Of times, it needs
/// words of as many parts: `3/4 s` is a fraction.
pub(super) fn begins(line: &str, end: usize) -> bool {
    let list = || List::at(line, &line[..end], end);
    let rest = &line[end..];
    rest[letter_at(rest)..].starts_with('/') && list().is_some_and(|list| is_rate(&list.unit) || !list.names.is_empty())
}

/// Returns `true` for the begin of a member behind others without blanks.
pub(super) fn continues(line: &str, start: usize) -> bool {
    let mut first = start;
    while let Some(before) = member_before(&line[..first]) {
        first = before;
    }
    first < start && begins(line, number_at(line, first).0)
}

/// Returns the place of the number that stands at the end of a text, with a stroke behind it.
fn member_before(text: &str) -> Option<usize> {
    let before = text.strip_suffix('/')?;
    let before = before.strip_suffix(['k', 'K', 'M', 'G']).unwrap_or(before);
    let rest = before.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let is_number = before[rest.len()..].starts_with(|c: char| c.is_ascii_digit());
    let is_free = rest.is_empty() || rest.ends_with(|c: char| c.is_whitespace() || "/(:=".contains(c));
    (is_number && is_free).then_some(rest.len())
}

/// Returns the length of the letter directly behind a number that scales it.
fn letter_at(rest: &str) -> usize {
    scale_at(rest).filter(|scale| scale.length == 1).map_or(0, |scale| scale.length)
}

/// Returns the length of a stroke and the number behind it, with the letter in front of the stroke.
fn member(rest: &str) -> Option<usize> {
    let stroke = rest[letter_at(rest)..].trim_start_matches(' ').strip_prefix('/')?.trim_start_matches(' ');
    let start = rest.len() - stroke.len();
    stroke.starts_with(|c: char| c.is_ascii_digit()).then(|| number_at(rest, start).0)
}

/// Returns the words with strokes between them in a text, of as many parts: `read/write`, `min / avg / max`.
fn parts(text: &str, count: usize) -> impl Iterator<Item = Vec<String>> {
    static PARTS: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"\p{L}[\p{L}0-9.]*(?: ?/ ?\p{L}[\p{L}0-9.]*)+").expect("the expression is right"));
    let found = PARTS.find_iter(text);
    let divided = found.map(|found| found.as_str().split('/').map(|part| part.trim().to_owned()).collect());
    divided.filter(move |parts: &Vec<String>| parts.len() == count)
}
