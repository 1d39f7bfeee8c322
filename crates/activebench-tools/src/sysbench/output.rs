//! The output of sysbench fileio as claims. All of it is on standard output, errors too.

use activebench_model::claim::{Claim, Metric, Note, Parsed, Printed, Restated, SourceLine, Subject};
use activebench_model::output::ToolOutput;
use activebench_model::units::{Quantity, Unit};

use super::options::{Mode, Options, Task};
use super::plan::{PREPARE, READ, WRITE};

const MIB: f64 = 1_048_576.0;
/// Steps of the histogram of latencies: 1024 from 0.001 ms to 100 s, on a logarithmic scale (sysbench 1.0.20,
/// `sb_logger.c`): each is 1.8 % above the one before it.
const HISTOGRAM_STEP: f64 = 0.0182;
/// sysbench reads the time of its rates after the total time: 0.7 ms later, 13 ms on a busy machine (measured). This
/// bound is a guess above both.
const BETWEEN_CLOCKS_S: f64 = 0.05;

/// Returns true if a text is certainly of this test.
pub(super) fn names_itself(output: &ToolOutput) -> bool {
    let text = String::from_utf8_lossy(&output.stdout);
    let has = |words: &str| text.lines().any(|line| line.trim_end() == words);
    let named = text.lines().any(|line| version(line).is_some());
    named && (has("File operations:") || has("Creating files for the test..."))
}

/// Returns the version in `sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)`.
pub(super) fn version(line: &str) -> Option<&str> {
    let (version, rest) =
        line.strip_prefix("sysbench ")?.split_once(' ').unwrap_or((line.strip_prefix("sysbench ")?, ""));
    let is_version = version.starts_with(|first: char| first.is_ascii_digit()) && version.contains('.');
    (is_version && (rest.is_empty() || rest.starts_with('('))).then_some(version)
}

/// Reads everything. Never fails; see [`crate::Adapter::parse`].
pub(super) fn parse(options: &Options, output: &ToolOutput, chosen: Option<Subject>) -> Parsed {
    let text = String::from_utf8_lossy(&output.stdout);
    let mut reader = Reader {
        options,
        chosen,
        parsed: Parsed { tool: "sysbench".to_owned(), ..Parsed::default() },
        total_time: None,
    };
    // Statistics that were reset before belong to an earlier part of the run.
    let begin = text.lines().enumerate().filter(|(_, line)| line.trim_end() == "File operations:").last();
    let begin = begin.map_or(usize::MAX, |(place, _)| place);
    let mut section = "";
    for (place, line) in text.lines().enumerate() {
        let line = line.trim_end();
        let source = SourceLine { stream: "stdout".to_owned(), line: place as u64 + 1, text: line.to_owned() };
        if let Some(version) = version(line) {
            reader.parsed.version.get_or_insert_with(|| version.to_owned());
        }
        if line.starts_with("FATAL: ") || line.starts_with("ERROR: ") {
            reader.parsed.errors.push(Note { source, message: "sysbench reports an error".to_owned() });
        } else if line.starts_with("WARNING: ") {
            reader.parsed.notes.push(Note { source, message: "sysbench warns".to_owned() });
        } else if line == "No bytes written." {
            let message = "the files were there already: nothing was written, and nothing is claimed";
            reader.parsed.notes.push(Note { source, message: message.to_owned() });
            reader.parsed.complete = true;
        } else if place < begin {
            reader.prepared(line, &source);
        } else if line.is_empty() {
            // Between two sections.
        } else if !line.starts_with(' ') {
            section = line;
        } else if let Some((name, value)) = line.trim_start().split_once(':') {
            reader.figure(section, name, value.trim(), &source);
        }
    }
    if begin != usize::MAX {
        reader.parsed.complete = section == "Threads fairness:";
    }
    reader.parsed.complete &= reader.parsed.errors.is_empty();
    reader.parsed
}

struct Reader<'a> {
    options: &'a Options,
    chosen: Option<Subject>,
    parsed: Parsed,
    /// Seconds of the whole test, with half a step.
    total_time: Option<(f64, f64)>,
}

impl Reader<'_> {
    /// Reads `67108864 bytes written in 0.19 seconds (329.79 MiB/sec).`
    fn prepared(&mut self, line: &str, source: &SourceLine) {
        let read = || {
            let (bytes, rest) = line.split_once(" bytes written in ")?;
            let (_, rest) = rest.split_once(" seconds (")?;
            let rate = rest.strip_suffix(" MiB/sec).")?;
            Some((bytes, bytes.parse::<u64>().ok()?, rate, number(rate)?))
        };
        let Some((bytes_text, bytes, rate_text, (rate, half_step))) = read().filter(|(_, bytes, ..)| *bytes > 0) else {
            return;
        };
        self.parsed.complete = true;
        if rate > 0.0 {
            let printed = Printed { text: rate_text.to_owned(), unit: "MiB/sec".to_owned() };
            let value = Quantity::bytes_per_sec(rate * MIB);
            self.claim(PREPARE, Metric::Throughput, value, printed, half_step * MIB, Some(bytes), source);
        }
        let printed = Printed { text: bytes_text.to_owned(), unit: "bytes".to_owned() };
        self.claim(PREPARE, Metric::BytesMoved, Quantity::bytes(bytes), printed, 0.5, Some(bytes), source);
    }

    /// Reads one line of the report.
    fn figure(&mut self, section: &str, name: &str, text: &str, source: &SourceLine) {
        if (section, name) == ("General statistics:", "total time") {
            self.total_time = text.strip_suffix('s').and_then(number);
            return;
        }
        let Some((value, half_step)) = number(text) else { return };
        // Zero is "none", not a rate.
        if value <= 0.0 {
            return;
        }
        let printed = |unit: &str| Printed { text: text.to_owned(), unit: unit.to_owned() };
        let requests = self.options.events_are_requests();
        match (section, name) {
            ("File operations:", "reads/s" | "writes/s") => {
                let phase = if name == "reads/s" { READ } else { WRITE };
                let value = Quantity::ops_per_sec(value);
                self.claim(phase, Metric::OperationRate, value, printed(name), half_step, None, source);
            }
            ("Throughput:", "read, MiB/s" | "written, MiB/s") => {
                let phase = if name.starts_with("read") { READ } else { WRITE };
                let value = Quantity::bytes_per_sec(value * MIB);
                self.claim(phase, Metric::Throughput, value, printed("MiB/s"), half_step * MIB, None, source);
                self.restate(phase);
            }
            ("General statistics:", "total number of events") if requests => {
                if let Some(phase) = self.only_phase() {
                    let count = Quantity { value, unit: Unit::Count };
                    self.claim(phase, Metric::OperationsDone, count, printed(""), 0.5, None, source);
                    self.divide(phase, value, text, source);
                }
            }
            ("Latency (ms):", name) if requests && self.options.rate.is_none() => {
                let metric = match name {
                    "avg" => Metric::LatencyMean,
                    "max" => Metric::LatencyMax,
                    "50th percentile" => Metric::LatencyP50,
                    "95th percentile" => Metric::LatencyP95,
                    "99th percentile" => Metric::LatencyP99,
                    _ => return,
                };
                if let Some(phase) = self.only_phase() {
                    let step = if name.ends_with("percentile") { HISTOGRAM_STEP * value } else { 0.0 };
                    let value = Quantity { value: value * 1e6, unit: Unit::Ns };
                    self.claim(phase, metric, value, printed("ms"), (half_step + step) * 1e6, None, source);
                }
            }
            _ => {}
        }
    }

    /// States the rate of a test that only reads as its events over the time of the test: of other tests syncs are events,
    /// too.
    fn divide(&mut self, phase: &str, events: f64, text: &str, source: &SourceLine) {
        let is_rate = |claim: &&Claim| claim.phase == phase && claim.metric == Metric::OperationRate;
        let Some(rate) = self.parsed.claims.iter().find(is_rate).filter(|_| phase == READ) else { return };
        let Some((seconds, half_step)) = self.total_time.filter(|(seconds, _)| *seconds > 0.0) else { return };
        let value = events / seconds;
        self.parsed.restated.push(Restated {
            claim: rate.id.clone(),
            value: Quantity::ops_per_sec(value),
            printed: Printed { text: format!("{text} events in {seconds}"), unit: "s".to_owned() },
            resolution: value * (half_step + BETWEEN_CLOCKS_S) / seconds,
            shared_resolution: 0.0,
            known_defect: None,
            source: source.clone(),
        });
    }

    /// Requests per second and bytes per second are one figure where every request has the same bytes.
    fn restate(&mut self, phase: &str) {
        let find = |metric| self.parsed.claims.iter().find(|claim| claim.phase == phase && claim.metric == metric);
        let (Some(block), Some(bytes), Some(requests)) =
            (self.options.request_bytes(self.options.mode), find(Metric::Throughput), find(Metric::OperationRate))
        else {
            return;
        };
        let block = block as f64;
        let restated = Restated {
            claim: bytes.id.clone(),
            value: Quantity::bytes_per_sec(requests.value.value * block),
            printed: requests.printed.clone(),
            resolution: requests.resolution * block,
            shared_resolution: 0.0,
            known_defect: None,
            source: requests.source.clone(),
        };
        self.parsed.restated.push(restated);
    }

    /// Returns the phase of a test that only reads or only writes.
    fn only_phase(&self) -> Option<&'static str> {
        match self.options.mode? {
            Mode::SeqRead | Mode::RandomRead => Some(READ),
            Mode::SeqWrite | Mode::SeqRewrite | Mode::RandomWrite => Some(WRITE),
            Mode::RandomMixed => None,
        }
    }

    #[allow(clippy::too_many_arguments, reason = "each is a field of the claim")]
    fn claim(
        &mut self,
        phase: &str,
        metric: Metric,
        value: Quantity,
        printed: Printed,
        resolution: f64,
        claimed_bytes: Option<u64>,
        source: &SourceLine,
    ) {
        let (subject, reason) = subject(self.options, phase, self.chosen);
        self.parsed.claims.push(Claim {
            id: format!("c{}", self.parsed.claims.len() + 1),
            phase: phase.to_owned(),
            metric,
            value,
            printed,
            resolution,
            subject,
            subject_reason: reason.to_owned(),
            claimed_bytes,
            source: source.clone(),
        });
    }
}

fn subject(options: &Options, phase: &str, chosen: Option<Subject>) -> (Subject, &'static str) {
    if let Some(subject) = chosen {
        return (subject, "--subject");
    }
    match phase {
        PREPARE => (Subject::DurableWrite, "prepare syncs each file before it closes it"),
        READ => (Subject::Device, "a read figure without further words is taken for the storage"),
        _ if options.has_flag("sync") || options.has_flag("dsync") => {
            (Subject::DurableWrite, "--file-extra-flags makes every write synchronous")
        }
        _ if options.fsync_all => (Subject::DurableWrite, "--file-fsync-all syncs after every write"),
        _ if options.fsync_end && options.task != Some(Task::Prepare) => {
            (Subject::DurableWrite, "the syncs at the end are inside the clock")
        }
        _ => (Subject::Device, "a write figure without further words is taken for the storage"),
    }
}

/// Reads `12413.82`; returns it with half a step of its last digit.
fn number(text: &str) -> Option<(f64, f64)> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    let is_number = !whole.is_empty() && text.len() <= 24 && !text.ends_with('.');
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number || !digits(whole) || !digits(decimals) {
        return None;
    }
    Some((text.parse().ok()?, 0.5 * 10_f64.powi(-i32::try_from(decimals.len()).ok()?)))
}
