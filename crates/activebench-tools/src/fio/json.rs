//! Parser of fio's JSON: values by serde, their positions in the output by a scan of the lines.

use std::cell::RefCell;
use std::collections::HashMap;

use activebench_model::claim::SourceLine;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::filter::Section;
use super::report::{
    Directed, Entry, Figure, Latencies, PERCENTILES, Report, Told, Unread, Way, percentile_resolution, rate_resolution,
};

/// Reads one object; the error says why it is not a report.
pub(super) fn read(section: &Section<'_>, stream: &str) -> Result<Report, String> {
    let value: Value = serde_json::from_str(section.text).map_err(|error| error.to_string())?;
    let places = Places { lines: scan(section), stream, first_line: section.first_line, unread: RefCell::default() };
    let version = value.get("fio version").and_then(Value::as_str);
    // The parsed values lose the order of options, and keep one option per name.
    let stated: Stated = serde_json::from_str(section.text).map_err(|error| error.to_string())?;
    let jobs = value.get("jobs").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let entries = jobs.iter().enumerate();
    let entries: Vec<Entry> = entries
        .map(|(index, job)| read_job(job, &format!("/jobs/{index}"), stated.of(index, section), &places))
        .collect();
    let version = version.map(|version| version.trim_start_matches("fio-").to_owned());
    let unread = places.unread.into_inner();
    Ok(Report { version, entries, complete: true, unread, ..Report::default() })
}

/// Line of each scalar.
struct Places<'t> {
    lines: HashMap<String, (u64, &'t str)>,
    stream: &'t str,
    first_line: u64,
    unread: RefCell<Vec<Unread>>,
}

impl Places<'_> {
    /// Returns the number as printed and its line.
    fn of(&self, path: &str, value: &Value) -> (String, SourceLine) {
        let source = |line: u64, text: &str| SourceLine { stream: self.stream.to_owned(), line, text: text.to_owned() };
        if let Some((line, text)) = self.lines.get(path) {
            let printed = text.split_once(" : ").map_or("", |(_, printed)| printed.trim().trim_end_matches(','));
            if printed.parse::<f64>().ok() == value.as_f64() {
                return (printed.to_owned(), source(*line, text));
            }
        }
        // The layout is not fio's: the object's first line is given as the source of all values.
        (value.to_string(), source(self.first_line, &value.to_string()))
    }
}

/// Maps paths of scalars to their lines in fio's layout: one per line.
fn scan<'t>(section: &Section<'t>) -> HashMap<String, (u64, &'t str)> {
    let mut lines = HashMap::new();
    // Each open bracket's own path part, and for an array the number of its next element.
    let mut open: Vec<(String, Option<usize>)> = Vec::new();
    for (number, line) in (section.first_line..).zip(section.text.lines()) {
        let text = line.trim();
        let (key, rest) = match text.strip_prefix('"').and_then(|text| text.split_once("\" : ")) {
            Some((key, rest)) => (Some(key), rest),
            None => (None, text),
        };
        if rest.starts_with(['}', ']']) {
            open.pop();
            continue;
        }
        let part = match (key, open.last_mut()) {
            (Some(key), _) => key.to_owned(),
            (None, Some((_, Some(next)))) => {
                *next += 1;
                (*next - 1).to_string()
            }
            (None, _) => String::new(),
        };
        match rest {
            "{" => open.push((part, None)),
            "[" => open.push((part, Some(0))),
            _ => {
                let path: Vec<&str> = open.iter().map(|(part, _)| part.as_str()).chain([part.as_str()]).collect();
                lines.insert(path.join("/"), (number, line));
            }
        }
    }
    lines
}

/// The options of a report and of its jobs.
#[derive(Default, Deserialize)]
struct Stated {
    #[serde(rename = "global options", default)]
    globals: Options,
    #[serde(default)]
    jobs: Vec<StatedJob>,
}

#[derive(Default, Deserialize)]
struct StatedJob {
    #[serde(rename = "job options", default)]
    own: Options,
}

impl Stated {
    /// Returns the options of an entry; `None` if this version of fio states none.
    fn of(&self, index: usize, section: &Section<'_>) -> Option<Told> {
        // The order of options matters, and one may occur twice.
        if !section.is_as_printed() {
            return None;
        }
        let any = !self.globals.0.is_empty() || self.jobs.iter().any(|job| !job.own.0.is_empty());
        let own = self.jobs.get(index).filter(|_| any)?.own.0.clone();
        Some(Told { globals: self.globals.0.clone(), own })
    }
}

/// An object of strings, in its order: `filename` may occur more than once.
#[derive(Default)]
struct Options(Vec<(String, String)>);

impl<'de> Deserialize<'de> for Options {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OptionsVisitor)
    }
}

struct OptionsVisitor;

impl<'de> Visitor<'de> for OptionsVisitor {
    type Value = Options;

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("an object of options")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Options, A::Error> {
        let mut options = Vec::new();
        while let Some((name, value)) = map.next_entry::<String, Value>()? {
            if let Value::String(value) = value {
                options.push((name, value));
            }
        }
        Ok(Options(options))
    }
}

/// Reads figures below one path.
struct Reader<'a, 't> {
    value: &'a Value,
    path: String,
    places: &'a Places<'t>,
}

impl<'a, 't> Reader<'a, 't> {
    fn at(&self, key: &str) -> Option<Reader<'a, 't>> {
        Some(Reader { value: self.value.get(key)?, path: format!("{}/{key}", self.path), places: self.places })
    }

    /// Returns a finite, non-negative number, multiplied by a factor.
    fn figure(&self, key: &str, factor: f64, resolution: f64, unit: &str) -> Option<Figure> {
        let value = self.value.get(key)?;
        let (text, source) = self.places.of(&format!("{}/{key}", self.path), value);
        let Some(number) = value.as_f64().filter(|number| number.is_finite() && *number >= 0.0) else {
            self.places.unread.borrow_mut().push(Unread { text, unit: unit.to_owned(), source });
            return None;
        };
        Some(Figure { value: number * factor, resolution, text, unit: unit.to_owned(), source })
    }

    fn whole(&self, key: &str) -> Option<u64> {
        self.value.get(key)?.as_u64()
    }

    /// Reads `clat_ns`, or `clat` in us of fio 2.
    fn latencies(&self, key: &str) -> Latencies {
        let found = self.at(&format!("{key}_ns")).map(|found| (found, 1.0, "ns"));
        let Some((found, factor, unit)) = found.or_else(|| self.at(key).map(|found| (found, 1000.0, "us"))) else {
            return Latencies::default();
        };
        // fio 2 does not state the number of samples.
        if found.whole("N") == Some(0) || (found.whole("N").is_none() && found.value.get("max").is_none()) {
            return Latencies::default();
        }
        let of = found.at("percentile");
        let percentile = |wanted: f64| {
            let of = of.as_ref()?;
            let keys = of.value.as_object()?.keys();
            let key = keys.clone().find(|key| key.parse::<f64>().is_ok_and(|at| (at - wanted).abs() < 1e-9))?;
            let mut figure = of.figure(key, factor, 0.0, unit)?;
            figure.resolution = percentile_resolution(figure.value) + if factor > 1.0 { factor / 2.0 } else { 0.0 };
            Some(figure)
        };
        Latencies {
            mean: found.figure("mean", factor, if factor > 1.0 { 5.0 } else { 5e-7 }, unit),
            percentiles: PERCENTILES.map(percentile),
        }
    }
}

fn read_job(job: &Value, path: &str, told: Option<Told>, places: &Places<'_>) -> Entry {
    let reader = Reader { value: job, path: path.to_owned(), places };
    let name = job.get("jobname").and_then(Value::as_str).unwrap_or("").to_owned();
    let error = job.get("error").and_then(Value::as_i64).filter(|error| *error != 0);
    let mut entry = Entry {
        name,
        group: reader.whole("groupid").and_then(|group| u32::try_from(group).ok()),
        error: error.map(|error| (error, places.of(&format!("{path}/error"), &job["error"]).1)),
        job_runtime_ms: reader.whole("job_runtime"),
        told,
        ..Entry::default()
    };
    for way in Way::ALL {
        if let Some(of_way) = reader.at(way.word()) {
            *entry.of_mut(way) = read_way(&of_way);
        }
    }
    if let Some(sync) = reader.at("sync") {
        entry.syncs = sync.figure("total_ios", 1.0, 0.0, "total_ios").filter(|syncs| syncs.value > 0.0);
        entry.sync_latencies = sync.latencies("lat");
    }
    // The kernel's times in whole milliseconds, over a clock in whole milliseconds.
    let step = entry.job_runtime_ms.filter(|ms| *ms > 0).map_or(0.005, |ms| 1.0 / ms as f64);
    let share = |key| {
        let mut figure = reader.figure(key, 0.01, step, "%")?;
        figure.resolution += figure.value * step;
        Some(figure)
    };
    entry.user = share("usr_cpu");
    entry.system = share("sys_cpu");
    entry
}

fn read_way(reader: &Reader<'_, '_>) -> Directed {
    let runtime_ms = reader.whole("runtime");
    let of_rate = |mut figure: Figure, step: f64| {
        figure.resolution = step + runtime_ms.map_or(0.0, |ms| rate_resolution(figure.value, ms));
        figure
    };
    // fio 2 has no `io_kbytes`; its `io_bytes` is in KiB.
    let (bytes, unit, step) = if reader.value.get("io_kbytes").is_some() {
        (1.0, "io_bytes", 0.0)
    } else {
        (1024.0, "io_bytes (KiB)", 512.0)
    };
    let exact = reader.figure("bw_bytes", 1.0, 0.0, "bw_bytes").map(|figure| of_rate(figure, 0.5));
    let in_kib = reader.figure("bw", 1024.0, 0.0, "bw").map(|figure| of_rate(figure, 512.0));
    let (bandwidth, bandwidth_again) = match exact {
        Some(exact) => (Some(exact), in_kib),
        None => (in_kib, None),
    };
    Directed {
        bandwidth,
        bandwidth_again,
        rate: reader.figure("iops", 1.0, 0.0, "iops").map(|figure| of_rate(figure, 0.005)),
        bytes: reader.figure("io_bytes", bytes, step, unit),
        operations: reader.figure("total_ios", 1.0, 0.0, "total_ios"),
        runtime_ms,
        total: reader.latencies("lat"),
        completion: reader.latencies("clat"),
    }
}
