//! Converts iozone's standard output and standard error to claims.
//!
//! The table's rows and the throughput blocks are the claims. The output is read line by
//! line; a number is claimed only if the output continues after it, so that a cut output
//! never yields a part of a number. `rows`, `report` and `throughput` know the formats.

use std::collections::{BTreeMap, BTreeSet};

use activebench_model::claim::{Claim, Metric, Note, Parsed, Printed, SourceLine, Subject, UnmatchedNumber};
use activebench_model::output::ToolOutput;
use activebench_model::units::Quantity;

use super::catalogue::{Kind, THROUGHPUT_TESTS, single_id, throughput_id};
use super::columns::Header;
use super::messages;
use super::options::Options;
use super::report::Report;
use super::rows::{Expected, Piece, leading_fields, read_row};
use super::subject::subject;
use super::throughput::{self, Figure};

/// A KiB: iozone's `kB` and `KB` mean 1024 bytes in every version.
const KIB: f64 = 1024.0;

/// The unit of the numbers in the table.
#[derive(Clone, Copy, Debug, PartialEq)]
enum TableUnit {
    /// So many bytes per second.
    Bytes(f64),
    OpsPerSec,
    MicrosPerOp,
    /// The output states another unit.
    Unknown,
}

/// Returns the bytes of a unit such as `kBytes` or `kB`, whose prefixes are powers of 1024; `None` for other words.
fn bytes_of(unit: &str) -> Option<f64> {
    let unit = unit.to_ascii_lowercase();
    let prefix = unit.strip_suffix("bytes").or_else(|| unit.strip_suffix('b'))?;
    let power = ["", "k", "m", "g", "t"].iter().position(|known| *known == prefix)?;
    Some(KIB.powi(i32::try_from(power).ok()?))
}

/// Returns the bytes per second of a unit such as `kBytes/sec`.
fn bytes_per_sec_of(unit: &str) -> Option<f64> {
    bytes_of(unit.strip_suffix("/sec")?)
}

/// Parses the output. Never fails; see [`crate::Adapter::parse`].
pub(super) fn parse(options: &Options, output: &ToolOutput, chosen: Option<Subject>) -> Parsed {
    let lines = split_lines(&output.stdout);
    let echoed;
    let options = if options.known {
        options
    } else {
        echoed = echoed_options(&lines);
        &echoed
    };
    let mut reader = Reader::new(options, chosen);
    reader.read_stdout(&lines);
    reader.read_stderr(&split_lines(&output.stderr));
    reader.parsed
}

/// The line in which the output states its own command.
pub(super) const COMMAND: &str = "Command line used:";

/// Lines that may follow the command. Any other line is the rest of a command that was wrapped.
const BEHIND_THE_COMMAND: [&str; 4] = ["Output is in ", "Time Resolution", "OPS Mode", "Microseconds/op Mode"];
/// A command is wrapped into this many lines at most.
const MOST_LINES_OF_COMMAND: usize = 4;

/// Returns the options that the output itself states, for an output without its command line.
fn echoed_options(lines: &[Piece]) -> Options {
    let whole = || lines.iter().filter(|line| line.terminated).map(|line| line.text.trim());
    let Some(place) = whole().position(|line| line.starts_with(COMMAND)) else { return Options::default() };
    let is_rest = |line: &&str| !line.is_empty() && !BEHIND_THE_COMMAND.iter().any(|known| line.starts_with(known));
    let rest = whole().skip(place + 1).take_while(is_rest).take(MOST_LINES_OF_COMMAND);
    let first = whole().nth(place).and_then(|line| line.strip_prefix(COMMAND));
    let words = first.into_iter().chain(rest).flat_map(str::split_whitespace);
    Options::parse(&words.map(str::to_owned).collect::<Vec<_>>())
}

fn split_lines(bytes: &[u8]) -> Vec<Piece> {
    let mut lines: Vec<Piece> = bytes
        .split(|&byte| byte == b'\n')
        .zip(1..)
        .map(|(line, number)| {
            // A pseudo-terminal turns line feeds into CR LF.
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            Piece { line: number, text: String::from_utf8_lossy(line).into_owned(), terminated: true }
        })
        .collect();
    if let Some(last) = lines.last_mut() {
        last.terminated = false;
    }
    lines
}

/// The current throughput block.
struct Block {
    phase: String,
    kind: Kind,
    /// Number of its tasks and name of its test, as printed.
    tasks: u32,
    test: String,
    /// Lines of the block so far. None occurs twice.
    seen: BTreeSet<String>,
}

struct Reader<'a> {
    options: &'a Options,
    chosen: Option<Subject>,
    parsed: Parsed,
    unit: TableUnit,
    unit_text: String,
    /// True if the output states the unit.
    unit_stated: bool,
    /// Set once the table's header was read, until the table ends.
    header: Option<Header>,
    /// Sizes of the rows so far.
    rows: BTreeSet<(u64, u64)>,
    block: Option<Block>,
    /// Number of times that a test with this number of tasks was seen.
    repeats: BTreeMap<(u32, String), usize>,
    report: Report,
}

impl<'a> Reader<'a> {
    fn new(options: &'a Options, chosen: Option<Subject>) -> Self {
        let (unit, unit_text) = if options.microseconds {
            (TableUnit::MicrosPerOp, "microseconds per operation")
        } else if options.operations {
            (TableUnit::OpsPerSec, "operations per second")
        } else {
            (TableUnit::Bytes(KIB), "kBytes/sec")
        };
        Reader {
            options,
            chosen,
            parsed: Parsed { tool: "iozone".to_owned(), ..Parsed::default() },
            unit,
            unit_text: unit_text.to_owned(),
            unit_stated: false,
            header: None,
            rows: BTreeSet::new(),
            block: None,
            repeats: BTreeMap::new(),
            report: Report::default(),
        }
    }

    fn read_stdout(&mut self, lines: &[Piece]) {
        let mut index = 0;
        let mut in_report = false;
        while let Some(line) = lines.get(index) {
            index += 1;
            if in_report && line.terminated && self.report.take(line.line, &line.text) {
                if self.report.in_other_block() && line.text.contains("CPU utilization report") {
                    self.note(line, "CPU time is printed and not claimed");
                }
                continue;
            }
            if self.begins_row(&line.text) {
                let (pieces, next) = self.collect_row(lines, index - 1);
                index = next;
                self.read_row(&pieces);
            } else if let Some(header) = Header::read(&line.text).filter(|_| line.terminated) {
                self.header = Some(self.whole_header(header, &lines[index..]));
            } else if line.text.trim() == "Excel output is below:" {
                in_report = true;
            } else if Report::begins(&line.text) {
                in_report = true;
                self.report.take(line.line, &line.text);
            } else {
                self.read_plain_line(line);
            }
        }
        if self.parsed.claims.is_empty() {
            self.claim_report();
        }
    }

    fn begins_row(&self, text: &str) -> bool {
        self.header.as_ref().is_some_and(|header| leading_fields(text, header).is_some())
    }

    /// Returns a header as far as its words say which numbers a row has: a part of a wrapped one does not.
    fn whole_header(&self, header: Header, behind: &[Piece]) -> Header {
        let next = behind.iter().find(|line| !line.text.trim().is_empty());
        let is_part = !self.options.known && next.is_some_and(|line| Header::is_rest(&line.text));
        if is_part { Header { kinds: Vec::new(), ..header } } else { header }
    }

    /// Returns the pieces of the row that begins at `first`, and the index of the line after it.
    ///
    /// With -H and -k, 3.489 prints debug lines into the row: removing them with their
    /// line ends restores the row exactly.
    fn collect_row(&self, lines: &[Piece], first: usize) -> (Vec<Piece>, usize) {
        let mut pieces = vec![lines[first].clone()];
        let mut next = first + 1;
        let mut index = next;
        let mut cut = false;
        while let Some(line) = lines.get(index) {
            let text = line.text.trim();
            if text.starts_with("Allocate buffer2") {
                cut = true;
                next = index + 1;
            } else if cut && is_rest_of_row(&line.text) && !self.begins_row(&line.text) {
                pieces.push(line.clone());
                cut = false;
                next = index + 1;
            } else if !text.is_empty() {
                break;
            }
            index += 1;
        }
        // The next line may begin with the digits that a wrapped line lacks.
        let wrapped = lines.get(next).is_some_and(|line| {
            line.text.starts_with(|first: char| first.is_ascii_digit()) && !self.begins_row(&line.text)
        });
        if let Some(last) = pieces.last_mut().filter(|_| wrapped) {
            last.terminated = false;
        }
        (pieces, next)
    }

    fn read_row(&mut self, pieces: &[Piece]) {
        let Some(header) = &self.header else { return };
        let asked = expected_columns(self.options);
        let expected = if self.options.known { Expected::Of(&asked) } else { Expected::AllOf(&header.kinds) };
        let Some(row) = read_row(pieces, header, expected) else { return };
        let named = header.has_other_words.then(|| header.kinds.clone());
        if let Some(remark) = row.remark {
            self.note(&pieces[0], remark);
        }
        let sizes = (row.file_kib, row.record_kib);
        if self.rows.contains(&sizes) {
            return self.note(&pieces[0], "a second row of the same sizes: its figures are not claimed");
        }
        // Without a command line the run may loop: the id then always contains the sizes.
        let loops = self.options.loops() || !self.options.known || !self.rows.is_empty();
        let sizes_kib = loops.then_some(sizes);
        self.rows.insert(sizes);
        for cell in row.cells {
            let piece = &pieces[cell.piece];
            if named.as_ref().is_some_and(|named| !named.contains(&cell.kind)) {
                let printed = Printed { text: cell.digits.clone(), unit: self.unit_text.clone() };
                self.unread(printed, "its column has a name that iozone does not print there", piece);
                continue;
            }
            self.claim_cell(cell.kind, sizes_kib, row.file_kib, &cell.digits, piece);
        }
    }

    /// Keeps a figure whose unit or name is not the tool's.
    fn unread(&mut self, printed: Printed, why: &str, line: &Piece) {
        self.parsed.unmatched.numbers.push(UnmatchedNumber {
            printed,
            is_rate: true,
            is_stated: false,
            reason: why.to_owned(),
            nearest: None,
            source: source("stdout", line),
        });
    }

    fn claim_cell(&mut self, kind: Kind, sizes: Option<(u64, u64)>, file_kib: u64, digits: &str, line: &Piece) {
        let Ok(number) = digits.parse::<u64>() else {
            return self.note(line, "a number of the row is too long to be one");
        };
        if number == 0 {
            let why = if self.options.no_retest && kind.is_retest() {
                "0 is not a measurement: -+n leaves the second pass out"
            } else {
                "0 is below the tool's resolution: not a measurement"
            };
            return self.note(line, why);
        }
        let number = number as f64;
        // The tool truncates: the computed value is up to one whole step above the figure.
        let (metric, value, resolution) = match self.unit {
            TableUnit::Bytes(factor) => (Metric::Throughput, Quantity::bytes_per_sec(number * factor), factor),
            TableUnit::Unknown => {
                let why = "the output states a unit that iozone does not print";
                return self.unread(Printed { text: digits.to_owned(), unit: self.unit_text.clone() }, why, line);
            }
            TableUnit::OpsPerSec => (Metric::OperationRate, Quantity::ops_per_sec(number), 1.0),
            TableUnit::MicrosPerOp => (
                Metric::TimePerOperation,
                Quantity { value: number * 1e3, unit: activebench_model::units::Unit::Ns },
                1e3,
            ),
        };
        let (subject, subject_reason) = subject(kind, self.options, self.chosen);
        self.push(Claim {
            id: String::new(),
            phase: single_id(kind, sizes),
            metric,
            value,
            printed: Printed { text: digits.to_owned(), unit: self.unit_text.clone() },
            resolution,
            subject,
            subject_reason,
            claimed_bytes: file_kib.checked_mul(1024),
            source: source("stdout", line),
        });
    }

    fn claim_report(&mut self) {
        let cells = std::mem::take(&mut self.report.cells);
        let loops = self.options.loops()
            || cells.iter().any(|cell| (cell.file_kib, cell.record_kib) != (cells[0].file_kib, cells[0].record_kib));
        if let Some(first) = cells.first().filter(|_| !self.unit_stated && !self.options.known) {
            let line = Piece { line: first.line, text: first.digits.clone(), terminated: true };
            self.note(&line, "the report states no unit: its figures are read in kBytes/sec, the tool's own");
        }
        for cell in cells {
            // The report pads sizes that were not run with zeros.
            if cell.digits.bytes().all(|byte| byte == b'0') {
                continue;
            }
            let sizes = loops.then_some((cell.file_kib, cell.record_kib));
            let line = Piece { line: cell.line, text: cell.digits.clone(), terminated: true };
            self.claim_cell(cell.kind, sizes, cell.file_kib, &cell.digits, &line);
        }
    }

    fn read_plain_line(&mut self, line: &Piece) {
        let text = line.text.trim();
        if text.is_empty() || !line.terminated {
            return;
        }
        if let Some(read) = throughput::read_line(&line.text) {
            return self.claim_throughput(read, line);
        }
        if text.starts_with("Children see throughput") {
            // The lines behind it belong to a test whose name is cut.
            self.block = None;
            self.note(line, "the line of a test is cut: the figures behind it are not claimed");
        } else if text.starts_with(COMMAND) {
            // The user's words are not the tool's.
        } else if let Some(rest) = text.strip_prefix("Version $Revision:") {
            let version = rest.trim().trim_end_matches('$').trim();
            if !version.is_empty() {
                self.parsed.version = Some(version.to_owned());
            }
        } else if let Some(rest) = text.strip_prefix("Time Resolution =") {
            self.parsed.clock_step_ns = seconds_as_ns(rest.trim().trim_end_matches("seconds.").trim());
        } else if let Some(unit) = text.strip_prefix("Output is in ") {
            self.unit_stated = true;
            self.unit = bytes_per_sec_of(unit.trim()).map_or(TableUnit::Unknown, TableUnit::Bytes);
            self.unit_text = unit.to_owned();
        } else if let Some(rest) = text.strip_prefix("OPS Mode. Output is in ") {
            self.unit_stated = true;
            // With both -N and -O the numbers are microseconds, in any order.
            if self.unit != TableUnit::MicrosPerOp {
                self.unit_text = rest.trim_end_matches('.').to_owned();
                self.unit = match self.unit_text.as_str() {
                    "operations per second" => TableUnit::OpsPerSec,
                    _ => TableUnit::Unknown,
                };
            }
        } else if let Some(rest) = text.strip_prefix("Microseconds/op Mode. Output is in ") {
            self.unit_stated = true;
            self.unit_text = rest.trim_end_matches('.').to_owned();
            self.unit = match self.unit_text.as_str() {
                "microseconds per operation" => TableUnit::MicrosPerOp,
                _ => TableUnit::Unknown,
            };
        } else if text == "iozone test complete." {
            self.parsed.complete = true;
            self.header = None;
        } else if messages::is_error(text) {
            self.parsed.errors.push(Note { source: source("stdout", line), message: "error of the tool".to_owned() });
        } else if let Some(message) = messages::remark(text) {
            self.note(line, message);
        }
    }

    fn claim_throughput(&mut self, read: throughput::Line<'_>, line: &Piece) {
        use throughput::Line;
        self.leave_other_block(&read);
        match read {
            Line::Children { tasks, test, rate } => {
                let repeat = self.repeats.entry((tasks, test.to_owned())).or_default();
                *repeat += 1;
                let phase = throughput_id(tasks, test, *repeat);
                let kind = THROUGHPUT_TESTS.iter().find(|(name, _)| *name == test).map(|&(_, kind)| kind);
                if kind.is_none() {
                    self.note(line, "a test of the throughput mode that is not known");
                }
                let (test, seen) = (test.to_owned(), BTreeSet::new());
                self.block = Some(Block { phase, kind: kind.unwrap_or(Kind::Mixed), tasks, test, seen });
                self.claim_rate(Metric::SumOfTaskThroughput, rate, None, line);
            }
            Line::Parent { rate, .. } => self.claim_rate(Metric::ParentThroughput, rate, None, line),
            Line::Min(rate) => self.claim_rate(Metric::MinTaskThroughput, rate, None, line),
            Line::Max(rate) => self.claim_rate(Metric::MaxTaskThroughput, rate, None, line),
            Line::Mean(rate) => self.claim_rate(Metric::MeanTaskThroughput, rate, None, line),
            Line::MinMoved(moved) => self.claim_bytes(Metric::MinTaskBytes, moved, line),
            Line::Child { moved, rate, .. } => {
                let bytes = self.moved_bytes(moved);
                self.claim_bytes(Metric::BytesMoved, moved, line);
                self.claim_rate(Metric::TaskThroughput, rate, bytes, line);
            }
        }
    }

    /// Leaves the block at a line of another one, whose first line is missing.
    fn leave_other_block(&mut self, read: &throughput::Line<'_>) {
        use throughput::Line;
        let Some(block) = &mut self.block else { return };
        let name = match read {
            Line::Children { .. } => return,
            Line::Parent { .. } => "parent".to_owned(),
            Line::Min(_) => "min".to_owned(),
            Line::Max(_) => "max".to_owned(),
            Line::Mean(_) => "mean".to_owned(),
            Line::MinMoved(_) => "moved".to_owned(),
            Line::Child { index, .. } => format!("child {index}"),
        };
        let is_other =
            matches!(read, Line::Parent { tasks, test, .. } if (*tasks, *test) != (block.tasks, block.test.as_str()));
        if is_other || !block.seen.insert(name) {
            self.block = None;
        }
    }

    fn claim_rate(&mut self, metric: Metric, rate: Figure<'_>, claimed_bytes: Option<u64>, line: &Piece) {
        let Some(number) = decimal(rate.number) else { return self.note(line, "the rate is not a number") };
        // "%10.2f": half of the last digit in either direction.
        let (metric, value, resolution) = match rate.unit {
            "ops/sec" => (in_operations(metric), Quantity::ops_per_sec(number), 0.005),
            unit => match bytes_per_sec_of(unit) {
                Some(factor) => (metric, Quantity::bytes_per_sec(number * factor), 0.005 * factor),
                None => {
                    let printed = Printed { text: rate.number.to_owned(), unit: unit.to_owned() };
                    return self.unread(printed, "a unit that iozone does not print", line);
                }
            },
        };
        self.claim_in_block(metric, value, resolution, rate, claimed_bytes, line);
    }

    fn claim_bytes(&mut self, metric: Metric, moved: Figure<'_>, line: &Piece) {
        let Some(bytes) = self.moved_bytes(moved) else {
            return self.note(line, "the count is not a number of a known unit");
        };
        let resolution = 0.005 * self.bytes_of_unit(moved.unit).unwrap_or(0) as f64;
        self.claim_in_block(metric, Quantity::bytes(bytes), resolution, moved, Some(bytes), line);
    }

    /// Returns a count in bytes. One counted operation moves one record.
    fn moved_bytes(&self, moved: Figure<'_>) -> Option<u64> {
        let bytes = decimal(moved.number)? * self.bytes_of_unit(moved.unit)? as f64;
        // Beyond 2^53 a figure is not exact.
        (bytes < 9.0e15).then_some(bytes.round() as u64)
    }

    fn bytes_of_unit(&self, unit: &str) -> Option<u64> {
        match unit {
            "ops" => Some(self.options.single_record_bytes()),
            unit => bytes_of(unit).map(|bytes| bytes as u64),
        }
    }

    fn claim_in_block(
        &mut self,
        metric: Metric,
        value: Quantity,
        resolution: f64,
        figure: Figure<'_>,
        claimed_bytes: Option<u64>,
        line: &Piece,
    ) {
        let Some(block) = &self.block else {
            return self.note(line, "a figure of the throughput mode outside of a test");
        };
        let (subject, subject_reason) = subject(block.kind, self.options, self.chosen);
        let phase = block.phase.clone();
        self.push(Claim {
            id: String::new(),
            phase,
            metric,
            value,
            printed: Printed { text: figure.number.to_owned(), unit: figure.unit.to_owned() },
            resolution,
            subject,
            subject_reason,
            claimed_bytes,
            source: source("stdout", line),
        });
    }

    fn push(&mut self, mut claim: Claim) {
        claim.id = format!("c{}", self.parsed.claims.len() + 1);
        self.parsed.claims.push(claim);
    }

    fn note(&mut self, line: &Piece, message: &str) {
        let note = Note { source: source("stdout", line), message: message.to_owned() };
        // A row of several zeros gives one remark.
        if self.parsed.notes.last() != Some(&note) {
            self.parsed.notes.push(note);
        }
    }

    /// Reads standard error, to which iozone only writes `perror(3)` lines.
    fn read_stderr(&mut self, lines: &[Piece]) {
        for line in lines.iter().filter(|line| !line.text.trim().is_empty()) {
            let source = source("stderr", line);
            if line.text.contains(": ") {
                self.parsed.errors.push(Note { source, message: "error of the tool".to_owned() });
            } else {
                self.parsed.notes.push(Note { source, message: "line on standard error that is not read".to_owned() });
            }
        }
    }
}

/// Returns the same quantity of the throughput mode under -O.
fn in_operations(metric: Metric) -> Metric {
    match metric {
        Metric::SumOfTaskThroughput => Metric::SumOfTaskOperationRate,
        Metric::ParentThroughput => Metric::ParentOperationRate,
        other => other,
    }
}

fn source(stream: &str, line: &Piece) -> SourceLine {
    SourceLine { stream: stream.to_owned(), line: line.line, text: line.text.clone() }
}

/// Returns the passes that print a number in a row, in the order of the columns.
fn expected_columns(options: &Options) -> Vec<Kind> {
    Kind::COLUMNS.into_iter().filter(|&kind| runs_alone(kind, options)).collect()
}

/// Returns true if a pass exists in the single-stream mode; a pass omitted by -+n prints a 0.
pub(super) fn runs_alone(kind: Kind, options: &Options) -> bool {
    let test = kind.test();
    let short_table = options.mapping.active() || options.is_asynchronous();
    options.wants(test)
        && match test {
            0..=5 => true,
            6 | 7 => !short_table,
            9 | 10 => options.extended && !short_table,
            _ => false,
        }
}

fn is_rest_of_row(text: &str) -> bool {
    !text.trim().is_empty() && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b' ')
}

/// Parses a printed decimal number; `None` for anything else, `inf` and `nan` included.
fn decimal(text: &str) -> Option<f64> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    if !plain || !text.starts_with(|first: char| first.is_ascii_digit()) {
        return None;
    }
    text.parse::<f64>().ok().filter(|number| number.is_finite())
}

/// Parses `0.000001` as nanoseconds; `None` if it is not a positive number.
fn seconds_as_ns(text: &str) -> Option<u64> {
    let ns = (decimal(text)? * 1e9).round();
    (1.0..1e18).contains(&ns).then_some(ns as u64)
}
