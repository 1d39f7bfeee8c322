//! Notes on a whole text: one for each kind, with the number of lines that it is about.

use std::collections::{BTreeMap, HashSet};

use activebench_model::claim::{Note, SourceLine};

use super::cleaned::Line;
use super::prefix;
use crate::adapter::Adapter;

/// A note before its line is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Remark {
    /// Index of its line.
    pub(super) index: usize,
    pub(super) message: String,
}

impl Remark {
    pub(super) fn note(&self, lines: &[Line]) -> Note {
        let line = lines.get(self.index);
        Note {
            source: SourceLine {
                stream: "stdout".to_owned(),
                line: line.map_or(1, |line| line.number),
                text: line.map_or_else(String::new, |line| line.original.clone()),
            },
            message: self.message.clone(),
        }
    }
}

/// Most lines into which a line of figures may be broken.
const MOST_BROKEN: usize = 4;

/// Returns a note on the lines that look like the tool's figures and that nothing was read from; `None` if there is no
/// such line. `read` has the numbers of the lines from which something was read, from 1. A line that was broken into
/// several, or that still has its prefix, counts as well.
pub(super) fn unread(read: &HashSet<u64>, lines: &[Line], adapter: &dyn Adapter) -> Option<Note> {
    let is_read = |index: usize| read.contains(&(index as u64 + 1));
    // Returns the number of lines that together state figures.
    let stated = |first: usize| {
        let mut text = String::new();
        let broken = (first..lines.len()).take(MOST_BROKEN).take_while(|index| !is_read(*index));
        broken.into_iter().position(|index| {
            let line = if text.is_empty() { lines[index].text.trim_end() } else { lines[index].text.trim() };
            if !text.is_empty() {
                text.push(' ');
            }
            text.push_str(line);
            prefix::rests(&text).any(adapter.forms().states_figures)
        })
    };
    let mut unread: Vec<usize> = Vec::new();
    let mut index = 0;
    while index < lines.len() {
        let is_written = !lines[index].text.trim().is_empty();
        match stated(index).filter(|_| is_written) {
            Some(more) => {
                unread.push(index);
                index += 1 + more;
            }
            None => index += 1,
        }
    }
    let (index, line) = unread.first().map(|index| (*index, &lines[*index]))?;
    let message = match unread.len() {
        1 => format!("a line that looks like figures of {} was not read", adapter.name()),
        count => format!("{count} lines that look like figures of {} were not read", adapter.name()),
    };
    // The line within the output, as in the notes of the adapter.
    let source = SourceLine { stream: "stdout".to_owned(), line: index as u64 + 1, text: line.original.clone() };
    Some(Note { source, message })
}

/// Returns one note for each message, with the first line that it is about and the number of the others.
pub(super) fn grouped(notes: Vec<Note>) -> Vec<Note> {
    let mut counts: BTreeMap<String, HashSet<u64>> = BTreeMap::new();
    let mut first: Vec<Note> = Vec::new();
    for note in notes {
        let lines = counts.entry(note.message.clone()).or_default();
        if lines.is_empty() {
            first.push(note.clone());
        }
        lines.insert(note.source.line);
    }
    for note in &mut first {
        match counts.get(&note.message).map_or(1, HashSet::len) {
            0 | 1 => {}
            2 => note.message.push_str(" (and 1 more line)"),
            count => note.message.push_str(&format!(" (and {} more lines)", count - 1)),
        }
    }
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_stated_once_with_the_number_of_its_lines() {
        let note = |line: u64, message: &str| Note {
            source: SourceLine { stream: "stdout".to_owned(), line, text: String::new() },
            message: message.to_owned(),
        };
        let notes = vec![note(1, "a"), note(2, "b"), note(3, "a"), note(3, "a"), note(4, "a")];
        assert_eq!(grouped(notes), [note(1, "a (and 2 more lines)"), note(2, "b")]);
    }
}
