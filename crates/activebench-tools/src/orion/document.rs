//! Everything that a run printed and wrote, read by content: a text is a matrix or lines of words,
//! whatever its name, so that each file can be given alone.

use activebench_model::claim::{Note, SourceLine};
use activebench_model::command::CommandLine;
use activebench_model::output::ToolOutput;

use super::histogram::Histogram;
use super::matrix;
use super::options::Options;
use super::points::{Point, Size, Which};
use super::settings::{Settings, Stated};
use super::text::{Number, lines};
use super::words::Words;

/// Ends of the names of the result files; what stands before them names the run.
const RESULTS: [&str; 5] = ["_summary.txt", "_iops.csv", "_mbps.csv", "_lat.csv", "_hist.txt"];

/// What a figure is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Figure {
    /// Small requests a second.
    Iops,
    /// MB of large requests a second.
    Mbps,
    /// Mean latency of small requests.
    MeanLatency,
    /// The longest of them.
    LongestLatency,
    /// The shortest of them: compared with the histogram only.
    ShortestLatency,
}

impl Figure {
    /// The requests that it is of.
    pub(super) fn size(self) -> Size {
        if self == Figure::Mbps { Size::Large } else { Size::Small }
    }
}

/// Unit of a latency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TimeUnit {
    /// As 11.1 prints them, without a word.
    Milliseconds,
    Microseconds,
}

impl TimeUnit {
    pub(super) fn ns(self) -> f64 {
        match self {
            TimeUnit::Milliseconds => 1e6,
            TimeUnit::Microseconds => 1e3,
        }
    }
}

/// What kind of statement a figure is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    /// A cell of a matrix.
    Cell,
    /// The best of all points, as it is called.
    Extreme,
    /// Said beside an extreme.
    Detail,
}

/// One figure of one data point.
#[derive(Clone, Debug)]
pub(super) struct Statement {
    pub(super) figure: Figure,
    pub(super) rank: Rank,
    pub(super) point: Point,
    pub(super) which: Which,
    pub(super) number: Number,
    /// Of a latency; `None` where the text alone does not tell.
    pub(super) unit: Option<TimeUnit>,
    pub(super) source: SourceLine,
}

/// What was read.
#[derive(Clone, Debug)]
pub(super) struct Document {
    pub(super) version: Option<String>,
    pub(super) settings: Settings,
    /// Matrices first, standard output last; inside a text in its order.
    pub(super) statements: Vec<Statement>,
    pub(super) histograms: Vec<Histogram>,
    pub(super) notes: Vec<Note>,
    pub(super) errors: Vec<Note>,
    /// The unit of latencies that do not state theirs; `None` when nothing tells it.
    pub(super) time_unit: Option<TimeUnit>,
    /// The volumes, as the tool names them.
    pub(super) volumes: Vec<String>,
}

/// What is gathered while the texts are read.
#[derive(Clone, Debug, Default)]
pub(super) struct Gathered {
    pub(super) version: Option<String>,
    pub(super) stated: Stated,
    pub(super) cells: Vec<Statement>,
    pub(super) said: Vec<Statement>,
    pub(super) histograms: Vec<Histogram>,
    pub(super) notes: Vec<Note>,
    pub(super) errors: Vec<Note>,
}

impl Document {
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
        // Of several runs it holds the figures of all, and does not say whose they are.
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

/// The release in a version: (19, 3) of `RDBMS_19.3.0.0.0DBRU_LINUX.X64_190417`.
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
