//! The lines of summaries, histograms and standard output.

use activebench_model::claim::Note;

use super::histogram::Histogram;
use super::points::{Point, Which};
use super::statements::{Figure, Gathered, Rank, Statement, TimeUnit};
use super::text::{Line, Number};

/// Beginnings of error lines, with their meaning. Orion's routines name themselves in them.
const ERRORS: [(&str, &str); 9] = [
    ("Failure in opening .lun file", "the list of volumes could not be opened: orion reads TESTNAME.lun"),
    ("Failure in ", "the tool reports an error"),
    ("SKGFR Returned Error", "the tool reports that a request failed"),
    ("OER ", "the tool reports the number of an error"),
    ("ORA-", "the tool reports an error"),
    ("rwbase_", "the tool reports an error of its own routine"),
    ("orion_", "the tool reports an error of its own routine"),
    ("storax_", "the tool reports an error of its own routine"),
    ("Parse error", "the tool reports an error"),
];

/// Lines that state the best points.
const EXTREMES: [(&str, Figure); 3] = [
    ("Maximum Large MBPS=", Figure::Mbps),
    ("Maximum Small IOPS=", Figure::Iops),
    ("Minimum Small Latency=", Figure::MeanLatency),
];

/// Latency lines beside a best point.
const DETAILS: [(&str, Which); 2] = [("Small Read Latency:", Which::Reads), ("Small Write Latency:", Which::Writes)];

/// Reads lines, one after another.
pub(super) struct Words<'a> {
    gathered: &'a mut Gathered,
    /// The histogram whose buckets are being read.
    histogram: Option<Histogram>,
    /// True if the next line is the echoed command line.
    command_line_follows: bool,
}

impl<'a> Words<'a> {
    pub(super) fn new(gathered: &'a mut Gathered) -> Self {
        Self { gathered, histogram: None, command_line_follows: false }
    }

    pub(super) fn read(&mut self, line: Line<'_>) {
        let text = line.text.trim();
        if let Some((_, message)) = ERRORS.iter().find(|(begin, _)| text.starts_with(begin)) {
            self.gathered.errors.push(Note { source: line.source(), message: (*message).to_owned() });
            return;
        }
        if let Some(histogram) = &mut self.histogram {
            if line.is_whole && histogram.read(text) {
                return;
            }
            histogram.is_whole |= line.is_whole;
            self.close();
        }
        if let Some(histogram) = Histogram::begin(text) {
            self.histogram = line.is_whole.then_some(histogram);
            return;
        }
        if std::mem::take(&mut self.command_line_follows) && text.starts_with('-') {
            self.gathered.stated.command_line.get_or_insert_with(|| text.to_owned());
            return;
        }
        for statement in statements(text) {
            match self.figures(line, statement) {
                Ok(true) => {}
                Ok(false) if line.is_whole => self.setting(statement),
                Ok(false) => {}
                Err(message) => self.gathered.notes.push(Note { source: line.source(), message }),
            }
        }
    }

    /// Ends the text or the histogram.
    pub(super) fn close(&mut self) {
        self.gathered.histograms.extend(self.histogram.take());
    }

    /// Returns true if the line states figures.
    fn figures(&mut self, line: Line<'_>, text: &str) -> Result<bool, String> {
        for (begin, figure) in EXTREMES {
            let Some(rest) = text.strip_prefix(begin) else { continue };
            let (rest, point) = at_point(line, rest)?;
            let (number, unit) = match figure {
                Figure::MeanLatency => latency(rest)?,
                _ => (Number::parse(rest).ok_or_else(|| format!("{rest} is not a figure"))?, None),
            };
            self.state(line, figure, Rank::Extreme, point, Which::All, number, unit);
            return Ok(true);
        }
        for (begin, which) in DETAILS {
            let Some(rest) = text.strip_prefix(begin) else { continue };
            let (rest, point) = at_point(line, rest)?;
            match which {
                Which::Writes => self.gathered.stated.writes = true,
                _ => self.gathered.stated.reads = true,
            }
            for part in rest.split(',') {
                let (name, value) = part.trim().split_once('=').ok_or_else(|| format!("{part} is not a figure"))?;
                let figure = match name {
                    "avg" => Figure::MeanLatency,
                    "max" => Figure::LongestLatency,
                    "min" => Figure::ShortestLatency,
                    _ => continue,
                };
                let (number, unit) = latency(value)?;
                self.state(line, figure, Rank::Detail, point, which, number, unit);
            }
            return Ok(true);
        }
        Ok(false)
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of a statement, given once")]
    fn state(
        &mut self,
        line: Line<'_>,
        figure: Figure,
        rank: Rank,
        point: Point,
        which: Which,
        number: Number,
        unit: Option<TimeUnit>,
    ) {
        let source = line.source();
        self.gathered.said.push(Statement { figure, rank, point, which, number, unit, source });
    }

    /// Reads versions and the settings that a summary echoes; 11.1 and 11.2 differ in capitals.
    fn setting(&mut self, text: &str) {
        if let Some(version) = text.strip_prefix("ORION VERSION ") {
            self.version(version);
        } else if let Some((_, version)) = text.split_once(" -- Version ") {
            self.version(version);
        }
        let Some((name, value)) = text.split_once(':') else { return };
        let stated = &mut self.gathered.stated;
        let value = value.trim();
        let number = value.split([' ', '%']).next().and_then(|number| number.parse::<u64>().ok());
        match name.to_ascii_lowercase().as_str() {
            "commandline" | "command line" => self.command_line_follows = value.is_empty(),
            "small io size" => stated.small_kb = stated.small_kb.or(number),
            "large io size" => stated.large_kb = stated.large_kb.or(number),
            "write" | "writes" => stated.write_percent = stated.write_percent.or(number),
            "duration for each data point" => stated.duration_s = stated.duration_s.or(number),
            "io types" => {
                stated.sequential.get_or_insert(value.to_ascii_lowercase().contains("large sequential"));
            }
            "name" => {
                let volume = value.split('\t').next().unwrap_or(value).trim().to_owned();
                stated.volumes.push(volume);
            }
            _ => {}
        }
    }

    fn version(&mut self, version: &str) {
        let version = version.trim();
        if !version.is_empty() {
            self.gathered.version.get_or_insert_with(|| version.to_owned());
        }
    }
}

/// Returns the beginnings of the statements of figures.
fn beginnings() -> impl Iterator<Item = &'static str> {
    EXTREMES.iter().map(|(begin, _)| *begin).chain(DETAILS.iter().map(|(begin, _)| *begin))
}

/// Returns the statements of a line: several if a page has joined the lines of a summary. A line that begins with
/// something else is one.
fn statements(text: &str) -> Vec<&str> {
    if !beginnings().any(|begin| text.starts_with(begin)) {
        return vec![text];
    }
    let mut starts: Vec<usize> =
        beginnings().flat_map(|begin| text.match_indices(begin).map(|(start, _)| start)).collect();
    starts.sort_unstable();
    let ends = starts.iter().copied().skip(1).chain([text.len()]);
    starts.iter().copied().zip(ends).map(|(start, end)| text[start..end].trim()).collect()
}

/// Splits a line into the text before the point, and the point: `... @ Small=16 and Large=0`.
fn at_point<'a>(line: Line<'_>, text: &'a str) -> Result<(&'a str, Point), String> {
    if !line.is_whole {
        return Err("the line is cut".to_owned());
    }
    let (figures, point) = text.rsplit_once('@').ok_or("no data point is named")?;
    Ok((figures.trim(), Point::parse(point).ok_or("the data point cannot be read")?))
}

/// Parses `81.81 usecs`, `1711 us`, and for 11.1 `0.26`, which is in milliseconds.
fn latency(text: &str) -> Result<(Number, Option<TimeUnit>), String> {
    let (number, unit) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
    let number = Number::parse(number).ok_or_else(|| format!("{text} is not a latency"))?;
    match unit {
        "usecs" | "us" => Ok((number, Some(TimeUnit::Microseconds))),
        "msecs" | "ms" => Ok((number, Some(TimeUnit::Milliseconds))),
        "" => Ok((number, None)),
        other => Err(format!("{other} is not a unit of time")),
    }
}
