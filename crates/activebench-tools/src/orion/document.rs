//! Everything that a run printed and wrote, identified by content: a text is a matrix or lines of words,
//! whatever its name, so that each file can be given alone.

use activebench_model::claim::{Note, SourceLine};
use activebench_model::command::CommandLine;
use activebench_model::output::ToolOutput;
use activebench_model::phase::Direction;

use super::histogram::Histogram;
use super::matrix;
use super::options::Options;
use super::points::Which;
use super::settings::Settings;
use super::statements::{Gathered, Statement, TimeUnit};
use super::text::lines;
use super::words::Words;

/// Suffixes of the names of the result files; the prefix names the run.
const RESULTS: [&str; 5] = ["_summary.txt", "_iops.csv", "_mbps.csv", "_lat.csv", "_hist.txt"];

/// The statements read from a run's output.
#[derive(Clone, Debug)]
pub(super) struct Document {
    pub(super) version: Option<String>,
    pub(super) settings: Settings,
    /// Matrices first, standard output last; within a text in its order.
    pub(super) statements: Vec<Statement>,
    pub(super) histograms: Vec<Histogram>,
    pub(super) notes: Vec<Note>,
    pub(super) errors: Vec<Note>,
    /// The unit of latencies without a stated unit; `None` if unknown.
    pub(super) time_unit: Option<TimeUnit>,
    /// The volumes, as the tool names them.
    pub(super) volumes: Vec<String>,
}

impl Document {
    /// Returns the phase of a statement: if all requests have one direction, reads or writes are all requests.
    pub(super) fn phase_of(&self, statement: &Statement) -> String {
        let which = match (self.settings.direction, statement.which) {
            (Direction::Read, Which::Reads) | (Direction::Write, Which::Writes) => Which::All,
            (_, which) => which,
        };
        statement.point.id(statement.figure.size(), which)
    }

    pub(super) fn read(command: &CommandLine, output: &ToolOutput) -> Self {
        let mut gathered = Gathered::default();
        let mut lists = Vec::new();
        let mut texts: Vec<(&str, String)> = Vec::new();
        let mut first_run = None;
        for file in &output.files {
            let text = String::from_utf8_lossy(&file.bytes).into_owned();
            let run = RESULTS.iter().find_map(|end| file.name.strip_suffix(end));
            match run {
                _ if file.name.ends_with(".lun") => lists.push(text),
                Some(run) if run != *first_run.get_or_insert(run) => {
                    let source = SourceLine { stream: file.name.clone(), line: 1, text: String::new() };
                    let message = "results of a further run of orion are not read".to_owned();
                    gathered.notes.push(Note { source, message });
                }
                _ => texts.push((&file.name, text)),
            }
        }
        // With several runs, standard output states the figures of all of them without naming the run.
        let several = !gathered.notes.is_empty();
        texts.push(("stdout", String::from_utf8_lossy(&output.stdout).into_owned()));
        texts.push(("stderr", String::from_utf8_lossy(&output.stderr).into_owned()));
        for (stream, text) in &texts {
            match matrix::header(stream, text) {
                Some(header) => matrix::read(&header, stream, text, &mut gathered),
                None => {
                    let known = gathered.said.len();
                    let mut words = Words::new(&mut gathered);
                    lines(stream, text).for_each(|line| words.read(line));
                    words.close();
                    if several && *stream == "stdout" {
                        gathered.said.truncate(known);
                    }
                }
            }
        }
        if let Some(list) = lists.first() {
            let volumes = list.split(['\n', '\r']).map(str::trim).filter(|line| !line.is_empty());
            gathered.stated.volumes = volumes.map(str::to_owned).collect();
        }
        Self::new(command, gathered)
    }

    fn new(command: &CommandLine, gathered: Gathered) -> Self {
        let Gathered { version, stated, mut cells, said, histograms, notes, errors } = gathered;
        let settings = Settings::new(&Options::of(command), &stated);
        let stated_unit = cells.iter().chain(&said).find_map(|statement| statement.unit);
        let time_unit = version.as_deref().and_then(unit_of_version).or(stated_unit);
        cells.extend(said);
        Self { version, settings, statements: cells, histograms, notes, errors, time_unit, volumes: stated.volumes }
    }
}

/// 11.1 prints milliseconds, 11.2 and later microseconds.
fn unit_of_version(version: &str) -> Option<TimeUnit> {
    let release = release(version)?;
    Some(if release < (11, 2) { TimeUnit::Milliseconds } else { TimeUnit::Microseconds })
}

/// Returns the release in a version: (19, 3) of `RDBMS_19.3.0.0.0DBRU_LINUX.X64_190417`.
fn release(version: &str) -> Option<(u32, u32)> {
    version.split(|c: char| !c.is_ascii_digit() && c != '.').find_map(|number| {
        let mut parts = number.split('.').map(str::parse::<u32>);
        match (parts.next(), parts.next()) {
            (Some(Ok(major)), Some(Ok(minor))) => Some((major, minor)),
            _ => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_release_is_found_in_every_spelling() {
        for (version, expected) in [
            ("11.1.0.7.0", Some((11, 1))),
            ("RDBMS_19.3.0.0.0DBRU_LINUX.X64_190417", Some((19, 3))),
            ("orion-stand-in_12.2.0.1.0", Some((12, 2))),
            ("beta", None),
            ("", None),
        ] {
            assert_eq!(release(version), expected, "{version}");
        }
    }
}
