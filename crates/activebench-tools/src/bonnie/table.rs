//! The table for people: the same figures as in the CSV row, rounded and without commas.
//!
//! A column that is too narrow for its figure shifts the others, and tests that were left out are
//! blank: cells are identified by their number, not by their position. One header may have rows of several machines,
//! each of which is a run of its own.

use std::collections::BTreeSet;

use super::catalogue::Kind;
use super::csv::{Cell, Generation};
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

/// The figures of one run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Table {
    pub(super) version: Option<String>,
    /// The machine, if the row of its figures names it.
    pub(super) machine: Option<String>,
    /// Figures in the order of the tests; each test at most once.
    pub(super) stated: Vec<Stated>,
    pub(super) file_bytes: Option<u64>,
    /// Chunk size, if it is not the default.
    pub(super) chunk_bytes: Option<u64>,
    /// Number of files in units of 1024.
    pub(super) files: Option<u64>,
    /// The row that states size and chunk.
    pub(super) data_row: Option<Piece>,
    /// True if the rates of data have a letter for their unit, as in 2.00.
    pub(super) has_letters: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Half {
    Data,
    Files,
}

/// All tables of an output.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Tables {
    /// One entry for each run, in the order of the output.
    pub(super) runs: Vec<Table>,
    /// Lines that were read as part of a table, by stream.
    pub(super) lines: BTreeSet<(&'static str, u64)>,
    half: Option<Half>,
    version: Option<String>,
    has_letters: bool,
    /// Index of the first run below the last header of data.
    block: usize,
    /// Index of the run whose row was the last one; latencies follow it.
    last: Option<usize>,
}

impl Tables {
    /// Finds the tables in the lines of a stream.
    pub(super) fn read(&mut self, pieces: &[Piece]) {
        (self.half, self.last) = (None, None);
        for piece in pieces.iter().filter(|piece| piece.terminated) {
            let words: Vec<&str> = piece.text.split_whitespace().collect();
            if piece.text.contains("------Sequential Output------") {
                self.begin(Half::Data, &words);
                self.block = self.runs.len();
            } else if piece.text.contains("------Sequential Create------") {
                self.begin(Half::Files, &words);
            } else if words.first() == Some(&"Latency") {
                let (Some(half), Some(run)) = (self.half, self.last) else { continue };
                self.runs[run].take_latencies(half, &words[1..], piece);
            } else {
                let row = match self.half {
                    Some(Half::Data) => self.take_data_row(&words, piece),
                    Some(Half::Files) => self.take_file_row(&words, piece),
                    None => continue,
                };
                if !row && !is_title(&piece.text) {
                    continue;
                }
                self.has_letters |= piece.text.contains("Name:Size");
            }
            self.lines.insert((piece.stream, piece.line));
        }
    }

    /// Returns the first run's table; an empty one if none was printed.
    pub(super) fn first(&self) -> Table {
        self.runs.first().cloned().unwrap_or_default()
    }

    fn begin(&mut self, half: Half, words: &[&str]) {
        if half == Half::Data {
            (self.version, self.has_letters) = (None, false);
        }
        if let ["Version", version, ..] = words {
            self.version.get_or_insert_with(|| (*version).to_owned());
        }
        (self.half, self.last) = (Some(half), None);
    }

    /// Returns the index of a new run, whose version is that of the present table.
    fn add(&mut self) -> usize {
        let (version, has_letters) = (self.version.clone(), self.has_letters);
        self.runs.push(Table { version, has_letters, ..Table::default() });
        self.runs.len() - 1
    }

    fn take_data_row(&mut self, words: &[&str], piece: &Piece) -> bool {
        // The word before the figures is the size, possibly after a colon and with a chunk.
        let with_figures = |kinds: &[Kind]| {
            let (about, figures) = words.split_at(words.len().checked_sub(2 * kinds.len())?);
            let (size, rest) = about.last()?.split_once(':').unwrap_or((about.last()?, ""));
            let bytes = file_bytes(size)?;
            let machine = about.split_last()?.1.first().map(|name| (*name).to_owned());
            figures.iter().all(|word| is_figure(word)).then(|| (bytes, rest.to_owned(), figures.to_vec(), machine))
        };
        let all: &[Kind] = &Kind::ALL[..Kind::DATA];
        for kinds in [all, &BLOCK_TESTS] {
            if let Some((bytes, chunk, figures, machine)) = with_figures(kinds) {
                let place = self.add();
                let run = &mut self.runs[place];
                run.file_bytes = Some(bytes);
                run.chunk_bytes = chunk_bytes(chunk.split(':').next().unwrap_or(""));
                run.data_row = Some(piece.clone());
                run.machine = machine;
                run.take_figures(kinds, &figures, piece);
                self.last = Some(place);
                return true;
            }
        }
        self.last = None;
        false
    }

    fn take_file_row(&mut self, words: &[&str], piece: &Piece) -> bool {
        let kinds = &Kind::ALL[Kind::DATA..];
        // Below a header of several machines each row names its own.
        let (machine, words) = match words.len() - usize::from(!words.is_empty()) == 2 * kinds.len() + 1 {
            true => (Some(words[0]), &words[1..]),
            false => (None, words),
        };
        let [files, figures @ ..] = words else { return false };
        let files = number(files.split([':', '/']).next().unwrap_or(""));
        self.last = None;
        if files.is_none() || figures.len() != 2 * kinds.len() || !figures.iter().all(|word| is_figure(word)) {
            return false;
        }
        let Some(place) = self.run_of_files(machine) else { return false };
        self.runs[place].files = files;
        self.runs[place].take_figures(kinds, figures, piece);
        self.last = Some(place);
        true
    }

    /// Returns the run that a row of files belongs to; `None` if that is not sure.
    fn run_of_files(&mut self, machine: Option<&str>) -> Option<usize> {
        let open = |run: &Table| run.files.is_none() && machine.is_none_or(|name| run.machine.as_deref() == Some(name));
        let mut fitting = (self.block..self.runs.len()).filter(|place| open(&self.runs[*place]));
        match (fitting.next(), fitting.next()) {
            (Some(place), None) => Some(place),
            (None, _) if self.block == self.runs.len() || machine.is_none() => Some(self.add()),
            _ => None,
        }
    }
}

impl Table {
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

    /// Returns true if a rate of data lacks the letter of its unit.
    pub(super) fn lacks_letter(&self, kind: Kind, rate: &str) -> bool {
        self.has_letters && kind.is_data() && kind != Kind::Seeks && !rate.ends_with(['k', 'm', 'g'])
    }

    /// Returns the generation of the version that printed it; `None` if nothing shows it.
    pub(super) fn generation(&self) -> Option<Generation> {
        let lettered = |stated: &Stated| stated.kind.is_data() && stated.cell.rate.ends_with(['k', 'm', 'g']);
        let timed = |stated: &Stated| stated.latency_at.is_some();
        match &self.version {
            Some(version) => Some(Generation::of_version(version)),
            // Older versions print neither letters nor latencies.
            None if self.has_letters || self.stated.iter().any(|stated| lettered(stated) || timed(stated)) => {
                Some(Generation::Modern)
            }
            None => None,
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
