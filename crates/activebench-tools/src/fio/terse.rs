//! fio's terse lines, versions 3 to 5: fields by position, separated by semicolons.

use std::cell::RefCell;

use activebench_model::claim::SourceLine;

use super::filter::Section;
use super::report::{
    Directed, Entry, Figure, Latencies, PERCENTILES, Report, Unread, Way, percentile_resolution, rate_resolution,
};

/// Reads the terse lines of a section; `None` if it has none.
pub(super) fn read(section: &Section<'_>, stream: &str) -> Option<Report> {
    let mut report = Report::default();
    for (number, line) in (section.first_line..).zip(section.text.split_inclusive('\n')) {
        let Some(line) = line.strip_suffix('\n') else { continue };
        let line = line.trim_end_matches('\r');
        let source = SourceLine { stream: stream.to_owned(), line: number, text: line.to_owned() };
        if let Some((version, entry)) = read_line(line, &source, &mut report.unread) {
            report.version = Some(version);
            report.entries.push(entry);
        }
    }
    report.complete = !report.entries.is_empty();
    report.complete.then_some(report)
}

/// Positions of the fields in one version.
struct Layout {
    /// Number of fields of one direction.
    directed: usize,
    /// Number of directions that are reported separately.
    ways: usize,
}

fn read_line(line: &str, source: &SourceLine, unread: &mut Vec<Unread>) -> Option<(String, Entry)> {
    let fields: Vec<&str> = line.split(';').collect();
    let layout = match *fields.first()? {
        "3" => Layout { directed: 41, ways: 2 },
        // Version 4 adds trims, version 5 also the number of samples and five fields of IOPS.
        "4" => Layout { directed: 41, ways: 3 },
        "5" => Layout { directed: 47, ways: 3 },
        _ => return None,
    };
    let version = fields.get(1)?.strip_prefix("fio-")?.to_owned();
    // The combined figures of all directions are printed alone if requested, or after the others. The field after the
    // last group has a percent sign, and no group begins with one.
    let at_cpu_behind = |groups: usize| 5 + layout.directed * groups;
    let ends = |groups: &usize| fields.get(at_cpu_behind(*groups)).is_some_and(|field| field.ends_with('%'));
    let groups = [1, layout.ways, layout.ways + 1].into_iter().find(ends)?;
    let at_cpu = at_cpu_behind(groups);
    // A complete line has every field up to the CPU times.
    let (user, system) = (fields.get(at_cpu)?, fields.get(at_cpu + 1)?);
    let error = fields[4].parse::<i64>().ok()?;
    let mut entry = Entry {
        name: fields[2].to_owned(),
        is_terse: true,
        group: fields[3].parse().ok(),
        error: (error != 0).then(|| (error, source.clone())),
        user: share(user, source),
        system: share(system, source),
        ..Entry::default()
    };
    let of_all = (groups > layout.ways).then_some(Way::Mixed);
    let apart = Way::ALL.into_iter().take(layout.ways.min(groups));
    for (group, way) in apart.chain(of_all).enumerate() {
        let begin = at_cpu_behind(group);
        *entry.of_mut(way) = read_way(&fields[begin..begin + layout.directed], source, unread);
    }
    Some((version, entry))
}

fn read_way(fields: &[&str], source: &SourceLine, unread: &mut Vec<Unread>) -> Directed {
    let unread = RefCell::new(unread);
    let figure = |field: &str, factor: f64, step: f64, unit: &str| {
        let Some(number) = number_of(field) else {
            let (text, unit, source) = (field.to_owned(), unit.to_owned(), source.clone());
            unread.borrow_mut().push(Unread { text, unit, source });
            return None;
        };
        Some(Figure {
            value: number * factor,
            resolution: step / 2.0,
            text: field.to_owned(),
            unit: unit.to_owned(),
            source: source.clone(),
        })
    };
    let runtime_ms = fields[3].parse::<u64>().ok();
    let of_rate = |mut figure: Figure| {
        figure.resolution += runtime_ms.map_or(0.0, |ms| rate_resolution(figure.value, ms));
        figure
    };
    let happened = fields[0] != "0";
    let mean = |field: &str| figure(field, 1e3, 1e-3, "us");
    let percentile = |wanted: f64| {
        let mut pairs = fields[12..32].iter().filter_map(|pair| pair.split_once("%="));
        let (_, printed) = pairs.find(|(at, _)| at.parse::<f64>().is_ok_and(|at| (at - wanted).abs() < 1e-9))?;
        let mut figure = figure(printed, 1e3, 1e3, "us")?;
        figure.resolution += percentile_resolution(figure.value);
        Some(figure)
    };
    Directed {
        bytes: figure(fields[0], 1024.0, 1024.0, "KiB"),
        bandwidth: figure(fields[1], 1024.0, 1024.0, "KiB/s").map(of_rate),
        rate: figure(fields[2], 1.0, 1.0, "IOPS").map(of_rate),
        operations: None,
        runtime_ms,
        completion: match happened {
            true => Latencies { mean: mean(fields[10]), percentiles: PERCENTILES.map(percentile) },
            false => Latencies::default(),
        },
        total: match happened {
            true => Latencies { mean: mean(fields[34]), percentiles: Default::default() },
            false => Latencies::default(),
        },
        ..Directed::default()
    }
}

fn share(field: &str, source: &SourceLine) -> Option<Figure> {
    let printed = field.strip_suffix('%')?;
    Some(Figure {
        value: number_of(printed)? / 100.0,
        resolution: 0.00005,
        text: printed.to_owned(),
        unit: "%".to_owned(),
        source: source.clone(),
    })
}

fn number_of(field: &str) -> Option<f64> {
    let plain = field.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') && !field.is_empty();
    field.parse::<f64>().ok().filter(|number| plain && number.is_finite())
}
