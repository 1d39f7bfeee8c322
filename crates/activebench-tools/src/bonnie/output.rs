//! Converts bonnie++'s standard output and standard error to claims.
//!
//! The CSV rows are the claims: they are in whole K/sec in every version, while the table
//! rounds. The table restates them; it provides the claims if no row was printed (a
//! figure quoted from a page). A line without its line feed is never read: it may be cut.

use std::collections::BTreeSet;

use activebench_model::claim::{Claim, Contradiction, Metric, Note, Parsed, Printed, Restated, SourceLine, Subject};
use activebench_model::output::ToolOutput;
use activebench_model::units::Unit;

use super::catalogue::{Kind, phase_id};
use super::csv::{self, Generation, Row};
use super::figures::{self, Figure};
use super::messages::{self, Kept};
use super::options::Options;
use super::subject::{of_processor_share, subject};
use super::table::{Piece, Stated, Table, Tables};

/// Returns the default number of seekers.
pub(super) fn default_seekers(generation: Generation) -> u32 {
    match generation {
        Generation::Old => 3,
        Generation::Modern => 5,
    }
}

/// Default chunk size in bytes.
pub(super) const DEFAULT_CHUNK: u64 = 8192;

/// Returns the CSV rows of an output, in order.
pub(super) fn rows(output: &ToolOutput) -> Vec<Row> {
    let read = |piece: &Piece| match csv::read_line(piece.line, &piece.text) {
        Some(csv::Line::Row(row)) => Some(row),
        _ => None,
    };
    split_lines("stdout", &output.stdout).iter().filter(|piece| piece.terminated).filter_map(read).collect()
}

/// Returns the table of the first run; empty if none was printed.
pub(super) fn table(output: &ToolOutput) -> Table {
    tables(output).first()
}

fn tables(output: &ToolOutput) -> Tables {
    let mut tables = Tables::default();
    tables.read(&split_lines("stdout", &output.stdout));
    tables.read(&split_lines("stderr", &output.stderr));
    tables
}

/// Reads everything. Never fails; see [`crate::Adapter::parse`].
pub(super) fn parse(options: &Options, output: &ToolOutput, chosen: Option<Subject>) -> Parsed {
    let (rows, tables) = (rows(output), tables(output));
    let table = tables.first();
    let parsed = Parsed { tool: "bonnie++".to_owned(), ..Parsed::default() };
    let mut reader = Reader { options, chosen, parsed, table: &table, lines: &tables.lines };
    reader.parsed.version = table.version.clone().or_else(|| rows.first()?.version.clone());
    for (row, run) in rows.iter().zip(1..) {
        reader.claim_row(row, run);
    }
    if rows.is_empty() {
        for (table, run) in tables.runs.iter().zip(1..) {
            reader.claim_table(table, run);
        }
    }
    reader.read_stdout(&split_lines("stdout", &output.stdout), &rows);
    reader.read_stderr(&split_lines("stderr", &output.stderr));
    let expected = options.runs.map_or(1, |runs| runs as usize);
    reader.parsed.complete = !rows.is_empty() && rows.len() >= expected && reader.parsed.errors.is_empty();
    reader.parsed
}

fn split_lines(stream: &'static str, bytes: &[u8]) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = bytes
        .split(|&byte| byte == b'\n')
        .zip(1..)
        .map(|(line, number)| {
            // A pseudo-terminal turns line feeds into CR LF.
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            Piece { stream, line: number, text: String::from_utf8_lossy(line).into_owned(), terminated: true }
        })
        .collect();
    if let Some(last) = pieces.last_mut() {
        last.terminated = false;
    }
    pieces
}

struct Reader<'a> {
    options: &'a Options,
    chosen: Option<Subject>,
    parsed: Parsed,
    /// The first run's.
    table: &'a Table,
    /// Lines of the tables, by stream.
    lines: &'a BTreeSet<(&'static str, u64)>,
}

/// Source and owner of a test's figures.
struct Place<'a> {
    kind: Kind,
    run: usize,
    /// `None` if the version is not known.
    generation: Option<Generation>,
    /// Bytes that a test of the whole file moved, as the tool states.
    file_bytes: Option<u64>,
    source: &'a SourceLine,
}

impl Reader<'_> {
    fn claim_row(&mut self, row: &Row, run: usize) {
        let source = SourceLine { stream: "stdout".to_owned(), line: row.line, text: row.text.clone() };
        let first_claim = self.parsed.claims.len();
        let mut unmeasured = Vec::new();
        for (kind, cell) in Kind::ALL.into_iter().zip(&row.cells) {
            let place =
                Place { kind, run, generation: Some(row.generation), file_bytes: row.file_bytes, source: &source };
            if figures::is_unmeasured(&cell.rate) {
                unmeasured.push(kind.name());
            } else {
                self.claim_rate(&place, &cell.rate);
                self.claim_processor(&place, &cell.processor);
            }
        }
        for (kind, cell) in Kind::ALL.into_iter().zip(&row.cells) {
            let place =
                Place { kind, run, generation: Some(row.generation), file_bytes: row.file_bytes, source: &source };
            self.claim_latency(&place, &cell.latency);
        }
        self.note_unmeasured(&unmeasured, &source);
        self.note_seekers_processor(row, first_claim, &source);
        if run == 1 {
            for stated in &self.table.stated {
                self.restate(stated, first_claim);
            }
            self.compare_chunks(row, &source);
        }
    }

    /// Makes the claims of an output that only contains the table.
    fn claim_table(&mut self, table: &Table, run: usize) {
        let version = table.version.clone().unwrap_or_default();
        let generation = table.generation();
        let file_bytes = table.file_bytes;
        // In 2.00 alone the letters of the units leave no column for a rate of files.
        let is_2 = version.starts_with("2.") || version.is_empty() && table.has_letters;
        let of_2 = table.files.map(|files| files.saturating_mul(1024).to_string());
        let of_2 = of_2.as_deref();
        let mut unmeasured: Vec<(&str, SourceLine)> = Vec::new();
        for stated in &table.stated {
            let kind = stated.kind;
            if let Some(piece) = &stated.figures_at {
                let source = source(piece);
                let place = Place { kind, run, generation, file_bytes, source: &source };
                if figures::is_unmeasured(&stated.cell.rate) {
                    unmeasured.push((kind.name(), source));
                } else if table.lacks_letter(kind, &stated.cell.rate) {
                    self.note(&source, "a rate without the letter of its unit: it is not claimed");
                } else if !kind.is_data() && is_2 {
                    self.note(&source, "2.00's table prints N x 1024 for every rate of files: none is claimed");
                } else if !kind.is_data() && version.is_empty() && of_2 == Some(stated.cell.rate.as_str()) {
                    self.note(&source, "N x 1024, which 2.00's table prints for every rate of files: not claimed");
                } else {
                    self.claim_rate(&place, &stated.cell.rate);
                    self.claim_processor(&place, &stated.cell.processor);
                }
            }
            if let Some(piece) = &stated.latency_at {
                let source = source(piece);
                self.claim_latency(&Place { kind, run, generation, file_bytes, source: &source }, &stated.cell.latency);
            }
        }
        let lines: BTreeSet<u64> = unmeasured.iter().map(|(_, source)| source.line).collect();
        for line in lines {
            let of_line: Vec<_> = unmeasured.iter().filter(|(_, source)| source.line == line).collect();
            let names: Vec<&str> = of_line.iter().map(|(name, _)| *name).collect();
            self.note_unmeasured(&names, &of_line[0].1);
        }
    }

    fn claim_rate(&mut self, place: &Place<'_>, text: &str) {
        if text.is_empty() {
            return;
        }
        let Some(figure) = figures::rate(place.kind, text) else {
            return self.note(place.source, "a rate that is not a number");
        };
        if figure.value.value == 0.0 {
            return self.note(place.source, "0 is below the tool's resolution: not a measurement");
        }
        let (metric, unit) = match figure.value.unit {
            Unit::BytesPerSec if !text.ends_with(['k', 'm', 'g']) => (Metric::Throughput, "K/sec"),
            Unit::BytesPerSec => (Metric::Throughput, "/sec"),
            _ => (Metric::OperationRate, "/sec"),
        };
        let whole_file = matches!(place.kind, Kind::PutBlock | Kind::Rewrite | Kind::GetBlock);
        let claimed_bytes = place.file_bytes.filter(|_| whole_file);
        let about = subject(place.kind, place.generation, self.options, self.chosen);
        self.push(
            place,
            metric,
            figure,
            Printed { text: text.to_owned(), unit: unit.to_owned() },
            about,
            claimed_bytes,
        );
    }

    fn claim_processor(&mut self, place: &Place<'_>, text: &str) {
        if text.is_empty() || figures::is_unmeasured(text) {
            return;
        }
        let Some(figure) = figures::processor_share(text) else {
            return self.note(place.source, "a share of CPU time that is not a number");
        };
        let printed = Printed { text: text.to_owned(), unit: "%CP".to_owned() };
        self.push(place, Metric::CpuTotal, figure, printed, of_processor_share(), None);
    }

    fn claim_latency(&mut self, place: &Place<'_>, text: &str) {
        if text.is_empty() {
            return;
        }
        let Some((figure, unit)) = figures::latency(text) else {
            return self.note(place.source, "a latency that is not a time");
        };
        let printed = Printed { text: without_unit(text, unit), unit: unit.to_owned() };
        let about = subject(place.kind, place.generation, self.options, self.chosen);
        self.push(place, Metric::LatencyMax, figure, printed, about, None);
    }

    fn push(
        &mut self,
        place: &Place<'_>,
        metric: Metric,
        figure: Figure,
        printed: Printed,
        (subject, subject_reason): (Subject, String),
        claimed_bytes: Option<u64>,
    ) {
        self.parsed.claims.push(Claim {
            id: format!("c{}", self.parsed.claims.len() + 1),
            phase: phase_id(place.kind, place.run),
            metric,
            value: figure.value,
            printed,
            resolution: figure.resolution,
            subject,
            subject_reason,
            claimed_bytes,
            source: place.source.clone(),
        });
    }

    /// Restates the figures that the row claims in the table's words.
    fn restate(&mut self, stated: &Stated, first_claim: usize) {
        let phase = phase_id(stated.kind, 1);
        let cell = &stated.cell;
        // A double is passed for an integer format, which prints the register's content: the number of files.
        let defect = (!stated.kind.is_data() && self.parsed.version.as_deref().is_some_and(|v| v.starts_with("2.00")))
            .then_some("2.00 prints the number of files in these columns of its table");
        let mut restated = Vec::new();
        let mut again = |metrics: &[Metric], text: &str, unit: &str, figure: Option<Figure>, piece: &Option<Piece>| {
            let claim = self.parsed.claims[first_claim..]
                .iter()
                .find(|claim| claim.phase == phase && metrics.contains(&claim.metric));
            if let (Some(claim), Some(figure), Some(piece)) = (claim, figure, piece) {
                restated.push(Restated {
                    claim: claim.id.clone(),
                    value: figure.value,
                    printed: Printed { text: text.to_owned(), unit: unit.to_owned() },
                    resolution: figure.resolution,
                    shared_resolution: 0.0,
                    known_defect: defect.filter(|_| claim.metric == Metric::OperationRate).map(str::to_owned),
                    source: source(piece),
                });
            }
        };
        let rate_unit = if stated.kind.is_data() && stated.kind != Kind::Seeks { "K/sec" } else { "/sec" };
        let rate_unit = if cell.rate.ends_with(['k', 'm', 'g']) { "/sec" } else { rate_unit };
        let rate = figures::rate(stated.kind, &cell.rate);
        again(&[Metric::Throughput, Metric::OperationRate], &cell.rate, rate_unit, rate, &stated.figures_at);
        let share = figures::processor_share(&cell.processor);
        again(&[Metric::CpuTotal], &cell.processor, "%CP", share, &stated.figures_at);
        if let Some((figure, unit)) = figures::latency(&cell.latency) {
            let text = without_unit(&cell.latency, unit);
            again(&[Metric::LatencyMax], &text, unit, Some(figure), &stated.latency_at);
        }
        self.parsed.restated.append(&mut restated);
    }

    fn note_unmeasured(&mut self, names: &[&str], source: &SourceLine) {
        if !names.is_empty() {
            let message = format!("+++++ is not a figure, the test took less than half a second: {}", names.join(", "));
            self.note(source, &message);
        }
    }

    /// Notes that each thread of one process adds the CPU time of all of them.
    fn note_seekers_processor(&mut self, row: &Row, first_claim: usize, source: &SourceLine) {
        if row.generation == Generation::Old {
            return;
        }
        let seekers = row.seekers.or(self.options.seekers).unwrap_or(default_seekers(row.generation));
        let of_seeks = |claim: &&Claim| claim.metric == Metric::CpuTotal && claim.phase.starts_with(Kind::Seeks.slug());
        let Some(claim) = self.parsed.claims[first_claim..].iter().find(of_seeks) else { return };
        let (id, share, printed) = (claim.id.clone(), claim.value.value, claim.printed.text.clone());
        if seekers > 1 {
            self.note(
                source,
                &format!("the %CP of the seeks counts the process once for each of its {seekers} threads"),
            );
        }
        if share > f64::from(seekers) {
            self.parsed.contradictions.push(Contradiction {
                source: source.clone(),
                message: format!("{seekers} seekers cannot use {printed} % of a CPU"),
                claims: vec![id],
                apart: None,
            });
        }
    }

    /// Compares chunk sizes. 2.00 omits the chunk from its row if it is the default.
    fn compare_chunks(&mut self, row: &Row, row_source: &SourceLine) {
        let asked = self.table.chunk_bytes.or(self.options.chunk_bytes);
        let states_chunk = row.generation == Generation::Modern && row.file_bytes.is_some();
        if let Some(asked) = asked.filter(|asked| states_chunk && row.chunk_bytes.is_none() && *asked != DEFAULT_CHUNK)
        {
            self.parsed.contradictions.push(Contradiction {
                source: row_source.clone(),
                message: format!(
                    "the chunks are of {asked} bytes, and the row leaves their size empty, which means {DEFAULT_CHUNK}"
                ),
                claims: Vec::new(),
                apart: None,
            });
        }
    }

    fn read_stdout(&mut self, pieces: &[Piece], rows: &[Row]) {
        for piece in pieces.iter().filter(|piece| piece.terminated) {
            match csv::read_line(piece.line, &piece.text) {
                Some(csv::Line::Header(names)) => self.compare_header(names, rows),
                Some(csv::Line::Unknown(values)) => {
                    self.note(&source(piece), &format!("a row of {values} values that no known version prints"));
                }
                _ if messages::classify(&piece.text) == Kept::Error => self.error(piece),
                _ => {}
            }
        }
    }

    /// Compares the header: 2.00's names two columns fewer than its rows have.
    fn compare_header(&mut self, names: usize, rows: &[Row]) {
        let Some(row) = rows.iter().find(|row| row.values != names) else { return };
        let concerned: BTreeSet<u64> = rows.iter().filter(|row| row.values != names).map(|row| row.line).collect();
        let claims = self.parsed.claims.iter().filter(|claim| concerned.contains(&claim.source.line));
        let contradiction = Contradiction {
            source: SourceLine { stream: "stdout".to_owned(), line: row.line, text: row.text.clone() },
            message: format!(
                "the header names {names} columns and the row has {} values: they stand under other names",
                row.values
            ),
            claims: claims.map(|claim| claim.id.clone()).collect(),
            apart: None,
        };
        self.parsed.contradictions.push(contradiction);
    }

    fn read_stderr(&mut self, pieces: &[Piece]) {
        let mut in_usage = false;
        for piece in pieces {
            if in_usage {
                in_usage = !piece.text.starts_with("Version:");
                if let Some(version) = piece.text.strip_prefix("Version:").filter(|_| self.parsed.version.is_none()) {
                    self.parsed.version = Some(version.trim().to_owned()).filter(|version| !version.is_empty());
                }
                continue;
            }
            if self.lines.contains(&(piece.stream, piece.line)) {
                continue;
            }
            match messages::classify(&piece.text) {
                Kept::Nothing => {}
                Kept::Usage => {
                    in_usage = true;
                    self.note(&source(piece), "the tool printed its usage");
                }
                Kept::Error => self.error(piece),
                Kept::Other => self.note(&source(piece), "line on standard error that is not read"),
            }
        }
    }

    fn error(&mut self, piece: &Piece) {
        self.parsed.errors.push(Note { source: source(piece), message: "error of the tool".to_owned() });
    }

    fn note(&mut self, source: &SourceLine, message: &str) {
        let note = Note { source: source.clone(), message: message.to_owned() };
        if self.parsed.notes.last() != Some(&note) {
            self.parsed.notes.push(note);
        }
    }
}

fn without_unit(text: &str, unit: &str) -> String {
    text.strip_suffix(unit).unwrap_or(text).to_owned()
}

fn source(piece: &Piece) -> SourceLine {
    SourceLine { stream: piece.stream.to_owned(), line: piece.line, text: piece.text.clone() }
}

#[cfg(test)]
mod tests {
    use activebench_model::units::Quantity;

    use super::*;

    #[test]
    fn the_machine_of_a_row_is_known_in_every_version() {
        for version in ["v1.97-default", "default-64m-r0-n1", "v1.03e-default"] {
            let path = format!("{}/../../fixtures/bonnie++/{version}/stdout.txt", env!("CARGO_MANIFEST_DIR"));
            let stdout = std::fs::read_to_string(path).expect("a fixture");
            let named: Vec<&str> = stdout.lines().filter_map(csv::machine).collect();
            assert!(!named.is_empty() && named.iter().all(|name| *name == "testhost"), "{version}: {named:?}");
            let row =
                stdout.lines().find(|line| csv::machine(line).is_some()).expect("a row").replace("testhost", "a,b");
            assert_eq!(csv::machine(&row), Some("a,b"), "{version}");
        }
    }

    #[test]
    fn a_machine_may_have_commas_in_its_name() {
        let row = include_str!("../../../../fixtures/bonnie++/direct-D-f/stdout.txt").lines().last().expect("a row");
        let stdout = format!("{}\n", row.replace("testhost", "a,b")).into_bytes();
        let output = ToolOutput { stdout, ..ToolOutput::default() };
        let parsed = parse(&Options::default(), &output, None);
        let rate = parsed.claims.first().expect("a claim");
        assert_eq!((rate.phase.as_str(), rate.value), ("put-block", Quantity::bytes_per_sec(120_581.0 * 1024.0)));
        assert_eq!(rate.claimed_bytes, Some(64 << 20));
    }
}
