//! db_bench's lines as claims: operations, and operations per second, of each benchmark.
//!
//! `MB/s` (MiB per second) counts the bytes of keys and values. Where each operation writes a key and a value of the
//! stated sizes, it restates the operations per second. Otherwise no calls show it: RocksDB writes records of its own,
//! and reads blocks.

use std::collections::HashMap;

use activebench_model::claim::{Metric, Parsed, Printed, Restated, Subject};
use activebench_model::output::ToolOutput;
use activebench_model::units::Quantity;

use super::options::Options;
use super::texts::{Figures, result, size_each};
use crate::printed::{About, Claims, Line, Number, lines};

/// Bytes of a `MB`.
const MEBIBYTE: f64 = 1_048_576.0;
/// Name of the benchmark that always syncs.
pub(super) const FILLSYNC: &str = "fillsync";
/// Name of the benchmark with values of a size of its own.
const LARGE_VALUES: &str = "fill100K";

/// A line of results in its place.
#[derive(Clone, Debug)]
pub(super) struct Result {
    /// Id of its phase; unique in the output.
    pub(super) id: String,
    /// The benchmark.
    pub(super) name: String,
    /// True if each write of a key is synced.
    pub(super) is_synced: bool,
    pub(super) line: Line,
}

impl Result {
    /// The id of the phase of the bytes of keys and values.
    pub(super) fn data_id(&self) -> String {
        format!("{}-data", self.id)
    }
}

/// Returns the results of an output, in order.
pub(super) fn results(options: &Options, output: &ToolOutput) -> Vec<Result> {
    let mut count: HashMap<String, usize> = HashMap::new();
    let own = lines(output).into_iter().filter(|line| line.stream == "stdout" && line.is_whole);
    let with_name = own.filter_map(|line| Some((result(&line.text)?.name.to_owned(), line)));
    let numbered = |(name, line): (String, Line)| {
        let count = count.entry(name.clone()).or_default();
        *count += 1;
        let id = if *count == 1 { name.clone() } else { format!("{name}-{count}") };
        Result { id, is_synced: options.sync || name == FILLSYNC, name, line }
    };
    with_name.map(numbered).collect()
}

/// Returns true for a benchmark that writes one key after the other.
pub(super) fn is_of_writes(name: &str) -> bool {
    matches!(name, "fillseq" | "fillrandom" | "filluniquerandom" | "overwrite" | LARGE_VALUES | FILLSYNC)
}

/// Returns the claims of an output.
pub(super) fn parse(options: &Options, output: &ToolOutput, chosen: Option<Subject>) -> Parsed {
    let mut parsed = Parsed { tool: super::PROGRAM.name.to_owned(), ..Parsed::default() };
    for line in lines(output).iter().filter(|line| line.is_whole) {
        let text = line.text.trim();
        if let Some(version) = text.strip_prefix("RocksDB:").and_then(|rest| rest.trim().strip_prefix("version ")) {
            parsed.version = Some(version.to_owned());
        } else if text.starts_with("unknown benchmark")
            || text.contains(" error: ")
            || text.contains("Invalid argument:")
        {
            parsed.errors.push(line.note("the tool reports an error"));
        } else if text.starts_with("Percentiles: ") || text.starts_with("Count: ") || text.starts_with("Min: ") {
            parsed.notes.push(line.note("latencies of single operations (--histogram) are not read"));
        }
    }
    let mut claims = Claims::default();
    let bytes_each = bytes_each(options, output);
    for own in results(options, output) {
        if let Some(figures) = result(&own.line.text) {
            let bytes = bytes_each.filter(|_| is_of_writes(&own.name) && own.name != LARGE_VALUES);
            parsed.restated.extend(add(&mut claims, options, &own, &figures, (bytes, chosen)));
            parsed.notes.push(own.line.note("micros/op and seconds restate the rate of each thread, and are not read"));
        }
    }
    // It prints nothing behind its last result.
    parsed.complete = !claims.made.is_empty() && parsed.errors.is_empty();
    parsed.claims = claims.made;
    parsed
}

/// Returns the bytes of a key and its value, as the output states them; `None` where options can give them others.
fn bytes_each(options: &Options, output: &ToolOutput) -> Option<f64> {
    if options.is_unknown || !options.unread.is_empty() {
        return None;
    }
    let all = lines(output);
    let mut sizes = [None; 2];
    for line in all.iter().filter(|line| line.stream == "stdout" && line.is_whole) {
        for (size, name) in sizes.iter_mut().zip(["Keys:", "Values:"]) {
            if let Some(found) = size_each(&line.text, name) {
                // Two runs in a text may differ.
                *size = if size.is_none_or(|known| known == found) { Some(found) } else { return None };
            }
        }
    }
    sizes.into_iter().sum::<Option<f64>>().filter(|bytes| *bytes > 0.0)
}

/// Adds the claims of a line; returns the figure that restates one of them.
fn add(
    claims: &mut Claims,
    options: &Options,
    own: &Result,
    figures: &Figures<'_>,
    (bytes_each, chosen): (Option<f64>, Option<Subject>),
) -> Option<Restated> {
    let subject = match chosen {
        Some(subject) => (subject, "--subject".to_owned()),
        None if own.is_synced && is_of_writes(&own.name) => {
            (Subject::DurableWrite, "each write of a key is synced".to_owned())
        }
        None if options.is_unknown && is_of_writes(&own.name) => {
            (Subject::Unknown, "the command, which can ask for syncs, is not known".to_owned())
        }
        None => {
            (Subject::Device, "a rate of a storage engine without further words is taken for the storage".to_owned())
        }
    };
    let about = About { phase: &own.id, subject: subject.clone() };
    let line = &own.line;
    let rate = claims.add(&about, Metric::OperationRate, &figures.rate, (1.0, "ops/sec"), line);
    // It is cut off, not rounded.
    claims.made[rate].resolution = 1.0;
    let place = claims.add(&about, Metric::OperationsDone, &figures.operations, (1.0, "operations"), line);
    claims.made[place].resolution = 0.0;
    match (&figures.data, bytes_each) {
        (Some(data), Some(bytes)) => Some(restated(&claims.made[rate].id, data, bytes, line)),
        (Some(data), None) => {
            let phase = own.data_id();
            claims.add(&About { phase: &phase, subject }, Metric::Throughput, data, (MEBIBYTE, "MB/s"), line);
            None
        }
        (None, _) => None,
    }
}

/// Returns the bytes of keys and values as a rate of operations.
fn restated(claim: &str, data: &Number, bytes_each: f64, line: &Line) -> Restated {
    let rate = |megabytes: f64| megabytes * MEBIBYTE / bytes_each;
    Restated {
        claim: claim.to_owned(),
        value: Quantity::ops_per_sec(rate(data.value)),
        printed: Printed { text: data.text.clone(), unit: "MB/s".to_owned() },
        resolution: rate(data.half_step),
        shared_resolution: 0.0,
        known_defect: None,
        source: line.source(),
    }
}
