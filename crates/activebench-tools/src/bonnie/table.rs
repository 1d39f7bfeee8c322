//! The table for people: the same figures as in the CSV row, rounded and without commas.
//!
//! A column that is too narrow for its figure shifts the others, and tests that were left out are
//! blank: cells are identified by their number, not by their position.

use std::collections::BTreeSet;

use super::catalogue::Kind;
use super::csv::Cell;
use super::figures::{chunk_bytes, file_bytes, number};

/// The tests of data without the per-character ones (`-f`).
const BLOCK_TESTS: [Kind; 4] = [Kind::PutBlock, Kind::Rewrite, Kind::GetBlock, Kind::Seeks];

/// A line of the output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    /// `stdout` or `stderr` (`-q` sends the table there).
    pub(super) stream: &'static str,
    /// Line number from 1.
    pub(super) line: u64,
    /// Text, lossily decoded.
    pub(super) text: String,
    /// True if a line feed ends it; a line without one may be cut.
    pub(super) terminated: bool,
}

/// One test's figures in the table, with their lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stated {
    pub(super) kind: Kind,
    pub(super) cell: Cell,
    /// Line of rate and %CP.
    pub(super) figures_at: Option<Piece>,
    /// Line of the latency.
    pub(super) latency_at: Option<Piece>,
}

/// The whole table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Table {
    pub(super) version: Option<String>,
    /// Figures in the order of the tests; each test at most once.
    pub(super) stated: Vec<Stated>,
    pub(super) file_bytes: Option<u64>,
    /// Chunk size, if it is not the default.
    pub(super) chunk_bytes: Option<u64>,
    /// Number of files in units of 1024.
    pub(super) files: Option<u64>,
    /// The row that states size and chunk.
    pub(super) data_row: Option<Piece>,
    /// Lines that were read as part of the table, by stream.
    pub(super) lines: BTreeSet<(&'static str, u64)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Half {
    Data,
    Files,
}

impl Table {
    /// Finds the table in the lines of a stream. A second table is not read.
    pub(super) fn read(&mut self, pieces: &[Piece]) {
        let mut half = None;
        for piece in pieces.iter().filter(|piece| piece.terminated) {
            let words: Vec<&str> = piece.text.split_whitespace().collect();
            if piece.text.contains("------Sequential Output------") {
                half = Some(Half::Data);
                self.take_version(&words);
            } else if piece.text.contains("------Sequential Create------") {
                half = Some(Half::Files);
                self.take_version(&words);
            } else if words.first() == Some(&"Latency") {
                match half {
                    Some(half) => self.take_latencies(half, &words[1..], piece),
                    None => continue,
                }
            } else {
                let row = match half {
                    Some(Half::Data) => self.take_data_row(&words, piece),
                    Some(Half::Files) => self.take_file_row(&words, piece),
                    None => continue,
                };
                if !row && !is_title(&piece.text) {
                    continue;
                }
            }
            self.lines.insert((piece.stream, piece.line));
        }
    }

    fn take_version(&mut self, words: &[&str]) {
        if let ["Version", version, ..] = words
            && self.version.is_none()
        {
            self.version = Some((*version).to_owned());
        }
    }

    fn take_data_row(&mut self, words: &[&str], piece: &Piece) -> bool {
        // The word before the figures is the size, possibly after a colon and with a chunk.
        let with_figures = |kinds: &[Kind]| {
            let (about, figures) = words.split_at(words.len().checked_sub(2 * kinds.len())?);
            let (size, rest) = about.last()?.split_once(':').unwrap_or((about.last()?, ""));
            let bytes = file_bytes(size)?;
            figures.iter().all(|word| is_figure(word)).then_some((bytes, rest.to_owned(), figures.to_vec()))
        };
        let all: &[Kind] = &Kind::ALL[..Kind::DATA];
        for kinds in [all, &BLOCK_TESTS] {
            if let Some((bytes, chunk, figures)) = with_figures(kinds) {
                if self.data_row.is_none() {
                    self.file_bytes = Some(bytes);
                    self.chunk_bytes = chunk_bytes(chunk.split(':').next().unwrap_or(""));
                    self.data_row = Some(piece.clone());
                    self.take_figures(kinds, &figures, piece);
                }
                return true;
            }
        }
        false
    }

    fn take_file_row(&mut self, words: &[&str], piece: &Piece) -> bool {
        let kinds = &Kind::ALL[Kind::DATA..];
        let [files, figures @ ..] = words else { return false };
        let files = number(files.split([':', '/']).next().unwrap_or(""));
        if files.is_none() || figures.len() != 2 * kinds.len() || !figures.iter().all(|word| is_figure(word)) {
            return false;
        }
        if self.files.is_none() {
            self.files = files;
            self.take_figures(kinds, figures, piece);
        }
        true
    }

    fn take_figures(&mut self, kinds: &[Kind], figures: &[&str], piece: &Piece) {
        for (kind, pair) in kinds.iter().zip(figures.chunks_exact(2)) {
            let cell = Cell { rate: pair[0].to_owned(), processor: pair[1].to_owned(), latency: String::new() };
            self.stated.push(Stated { kind: *kind, cell, figures_at: Some(piece.clone()), latency_at: None });
        }
    }

    fn take_latencies(&mut self, half: Half, words: &[&str], piece: &Piece) {
        let data = half == Half::Data;
        let of_half: Vec<&mut Stated> = self.stated.iter_mut().filter(|stated| stated.kind.is_data() == data).collect();
        if of_half.len() != words.len() || of_half.iter().any(|stated| stated.latency_at.is_some()) {
            return;
        }
        for (stated, word) in of_half.into_iter().zip(words) {
            stated.cell.latency = (*word).to_owned();
            stated.latency_at = Some(piece.clone());
        }
    }
}

/// Returns true for a rate or a %CP: `120581`, `118m`, `289.1`, `+++++`.
fn is_figure(word: &str) -> bool {
    let digits = word.strip_suffix(['k', 'm', 'g']).unwrap_or(word);
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    plain || word.bytes().all(|byte| byte == b'+')
}

fn is_title(text: &str) -> bool {
    ["-Per Chr-", "-Create--", "%CP"].iter().any(|title| text.contains(title))
}
