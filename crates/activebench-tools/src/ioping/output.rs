//! ioping's statistics as claims.
//!
//! The line `completed` counts the requests without the warm-up, over the sum of their times: its rates are 1 / mean
//! latency, and restate that. The line `generated` counts all requests over the time that passed.

use activebench_model::claim::{Metric, Parsed, Printed, Restated, Subject};
use activebench_model::output::ToolOutput;
use activebench_model::units::Quantity;

use super::figures::{self, Figure};
use super::json;
use super::options::Options;
use super::phases::{ALL, COUNTED};
use super::texts::is_header;
use crate::printed::{About, Claims, Line, Number, lines};

/// Bytes and requests of the statistics, exact or as printed.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Statistics {
    /// Requests without the warm-up.
    pub(super) counted: Figure,
    pub(super) mean: Figure,
    pub(super) longest: Figure,
    /// Rates of the counted requests, by the sum of their times.
    pub(super) of_mean: Vec<(Figure, Of)>,
    pub(super) all: All,
}

/// What a rate counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Of {
    Requests,
    Bytes,
}

/// All requests, over the time that passed.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct All {
    pub(super) requests: Figure,
    pub(super) bytes: Option<Figure>,
    pub(super) rate: Option<Figure>,
    pub(super) throughput: Option<Figure>,
}

/// Returns the claims of an output.
pub(super) fn parse(options: &Options, output: &ToolOutput, chosen: Option<Subject>) -> Parsed {
    let mut parsed = Parsed { tool: super::PROGRAM.name.to_owned(), ..Parsed::default() };
    let lines = lines(output);
    let mut maker = Maker { options, chosen, claims: Claims::default() };
    for line in lines.iter().filter(|line| line.stream == "stderr" && !line.text.trim().is_empty()) {
        parsed.errors.push(line.note("the tool reports an error"));
    }
    let stdout: Vec<&Line> = lines.iter().filter(|line| line.stream == "stdout").collect();
    let version = stdout.iter().find_map(|line| line.text.strip_prefix("ioping ").filter(|_| line.is_whole));
    parsed.version = version.map(str::to_owned);
    if let Some(place) = stdout.iter().position(|line| is_header(&line.text)) {
        maker.table(&stdout[place..], &mut parsed);
    } else if stdout.first().is_some_and(|line| line.text.starts_with("[{")) {
        let group = |key: &str| {
            let begin = stdout.iter().rposition(|line| line.text.trim_start().starts_with(key))?;
            Some(&stdout[begin..])
        };
        match (json::statistics(&output.stdout), group("\"stat\""), group("\"load\"")) {
            (Some(found), Some(counted), Some(all)) => maker.state(&found, &From { counted, all }, &mut parsed),
            _ => parsed.notes.extend(stdout.last().map(|line| line.note("the statistics of the JSON cannot be read"))),
        }
    } else {
        maker.raw(&stdout, &mut parsed);
    }
    parsed.complete = !maker.claims.made.is_empty() && parsed.errors.is_empty();
    parsed.claims = maker.claims.made;
    parsed
}

/// The lines of the figures.
struct From<'a> {
    counted: &'a [&'a Line],
    all: &'a [&'a Line],
}

/// Returns the line that states a figure.
fn line_of<'a>(lines: &[&'a Line], figure: &Figure) -> Option<&'a Line> {
    let states = |line: &&&Line| {
        let mut words = line.text.split([' ', ',', ':']);
        words.any(|word| word == figure.number.text)
    };
    lines.iter().find(states).copied()
}

struct Maker<'a> {
    options: &'a Options,
    chosen: Option<Subject>,
    claims: Claims,
}

impl Maker<'_> {
    /// Reads the lines from the header of the statistics on.
    fn table(&mut self, lines: &[&Line], parsed: &mut Parsed) {
        // A cut line is not read.
        let [_, completed, generated, times, rest @ ..] = lines else { return };
        if !times.is_whole {
            return;
        }
        if let Some(other) = rest.iter().find(|line| is_header(&line.text)) {
            parsed.notes.push(other.note("a further run is not read"));
        }
        let found = table(&completed.text, &generated.text, &times.text);
        match found {
            Some(found) => {
                self.state(&found, &From { counted: &[completed, times], all: &[generated] }, parsed);
            }
            None => parsed.notes.push(completed.note("the statistics cannot be read")),
        }
    }

    /// Reads a line of integers (`-B`).
    fn raw(&mut self, lines: &[&Line], parsed: &mut Parsed) {
        let is_raw = |line: &&&Line| {
            let words: Vec<&str> = line.text.split_whitespace().collect();
            words.len() == 10 && words.iter().all(|word| Number::parse(word).is_some()) && line.is_whole
        };
        let rows: Vec<&Line> = lines.iter().filter(is_raw).copied().collect();
        let Some(row) = rows.first() else { return };
        if self.options.periods || rows.len() > 1 {
            let message = "figures of single periods are not read: their requests cannot be distinguished";
            parsed.notes.push(row.note(message));
            return;
        }
        let numbers: Vec<Number> = row.text.split_whitespace().filter_map(Number::parse).collect();
        let figure =
            |place: usize, unit: &str| Figure { number: numbers[place].clone(), scale: 1.0, unit: unit.to_owned() };
        let found = Statistics {
            counted: figure(0, ""),
            mean: figure(5, "ns"),
            longest: figure(6, "ns"),
            of_mean: vec![(figure(2, "iops"), Of::Requests), (figure(3, "B/s"), Of::Bytes)],
            all: All { requests: figure(8, ""), bytes: None, rate: None, throughput: None },
        };
        self.state(&found, &From { counted: &[row], all: &[row] }, parsed);
    }

    fn state(&mut self, found: &Statistics, from: &From<'_>, parsed: &mut Parsed) {
        // Zero means that there was no such request.
        if self.options.filters {
            let message = "-t and -T leave requests out, so the latencies are not read";
            parsed.notes.extend(from.counted.first().map(|line| line.note(message)));
        } else if found.counted.number.value > 0.0 {
            self.add(COUNTED, Metric::OperationsDone, &found.counted, from.counted);
            let mean = self.add(COUNTED, Metric::LatencyMean, &found.mean, from.counted);
            self.add(COUNTED, Metric::LatencyMax, &found.longest, from.counted);
            if let Some(mean) = mean.map(|place| self.claims.made[place].id.clone()) {
                let restated = found.of_mean.iter();
                let restated = restated.filter_map(|(rate, of)| self.restated(&mean, rate, *of, from.counted));
                parsed.restated.extend(restated);
            }
        }
        let All { requests, bytes, rate, throughput } = &found.all;
        if requests.number.value <= 0.0 {
            return;
        }
        self.add(ALL, Metric::OperationsDone, requests, from.all);
        if let Some(bytes) = bytes {
            self.add(ALL, Metric::BytesMoved, bytes, from.all);
        }
        if self.options.waits && rate.is_some() {
            let message = "ioping waits between requests: the rates of this line are those of its waits, and not read";
            parsed.notes.extend(from.all.first().map(|line| line.note(message)));
            return;
        }
        for (metric, rate) in [(Metric::OperationRate, rate), (Metric::Throughput, throughput)] {
            if let Some(rate) = rate {
                self.add(ALL, metric, rate, from.all);
            }
        }
    }

    /// Adds a claim; `None` where no line states it.
    fn add(&mut self, phase: &str, metric: Metric, figure: &Figure, lines: &[&Line]) -> Option<usize> {
        let line = line_of(lines, figure)?;
        let about = About { phase, subject: self.subject() };
        let place = self.claims.add(&about, metric, &figure.number, (figure.scale, &figure.unit), line);
        if metric.is_count() && figure.scale == 1.0 {
            self.claims.made[place].resolution = 0.0;
        }
        Some(place)
    }

    /// Returns a rate of the counted requests as their mean latency.
    fn restated(&self, mean: &str, rate: &Figure, of: Of, lines: &[&Line]) -> Option<Restated> {
        let amount = match of {
            Of::Requests => 1.0,
            Of::Bytes => self.options.size? as f64,
        };
        let line = line_of(lines, rate)?;
        let lowest = rate.value() - rate.resolution();
        let latency_ns = |rate: f64| amount * 1e9 / rate;
        (lowest > 0.0).then(|| Restated {
            claim: mean.to_owned(),
            value: Quantity { value: latency_ns(rate.value()), ..Quantity::ns(0) },
            printed: Printed { text: rate.number.text.clone(), unit: rate.unit.clone() },
            resolution: latency_ns(lowest) - latency_ns(rate.value()),
            shared_resolution: 0.0,
            known_defect: None,
            source: line.source(),
        })
    }

    fn subject(&self) -> (Subject, String) {
        let (subject, reason) = match self.chosen {
            Some(subject) => (subject, "--subject"),
            None if self.options.write && !self.options.cached => {
                (Subject::DurableWrite, "each write is followed by an fdatasync inside the clock")
            }
            None if self.options.direct => (Subject::Device, "-D asks for direct I/O"),
            None if self.options.write => {
                (Subject::Device, "a latency of writes without further words is taken for the storage")
            }
            None => (Subject::Device, "a latency of reads without further words is taken for the storage"),
        };
        (subject, reason.to_owned())
    }
}

/// Reads the three lines of the statistics.
fn table(completed: &str, generated: &str, times: &str) -> Option<Statistics> {
    let (counted, rest) = completed.split_once(" requests completed in ")?;
    let parts: Vec<&str> = rest.split(", ").collect();
    let [_, _, own_iops, rate] = parts.as_slice() else { return None };
    let generated = generated.split_once("generated ")?.1;
    let (requests, rest) = generated.split_once(" requests in ")?;
    let all: Vec<&str> = rest.split(", ").collect();
    let [_, bytes, all_iops, all_rate] = all.as_slice() else { return None };
    let times = times.strip_prefix("min/avg/max/mdev = ")?;
    let times: Vec<&str> = times.split(" / ").collect();
    let [_, mean, longest, _] = times.as_slice() else { return None };
    let iops = |text: &str| {
        let figure = figures::count(text.trim().strip_suffix("iops")?.trim_end())?;
        Some(Figure { unit: format!("{} iops", figure.unit).trim_start().to_owned(), ..figure })
    };
    Some(Statistics {
        counted: figures::count(counted)?,
        mean: figures::time(mean)?,
        longest: figures::time(longest)?,
        of_mean: vec![(iops(own_iops)?, Of::Requests), (figures::throughput(rate)?, Of::Bytes)],
        all: All {
            requests: figures::count(requests)?,
            bytes: Some(figures::size(bytes)?),
            rate: Some(iops(all_iops)?),
            throughput: Some(figures::throughput(all_rate)?),
        },
    })
}
