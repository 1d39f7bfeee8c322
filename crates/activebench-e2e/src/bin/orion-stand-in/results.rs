//! The result files, in the formats of Orion 12.2.

use std::fmt::Write as _;
use std::io;

use time::OffsetDateTime;
use time::macros::format_description;

use crate::options::{Options, Point};
use crate::point::Outcome;
use crate::tally::{BORDERS_US, Tally};
use crate::volumes::Volumes;

/// Our name, with the version whose formats these are.
pub(crate) const VERSION: &str = "orion-stand-in_12.2.0.1.0";

const IOPS: &str = "This file was written by orion-stand-in.
It contains the rates sustained by small I/Os in IOPS. Each value is that of a data point
with a fixed number of small and large I/Os outstanding.

";
const MBPS: &str = "This file was written by orion-stand-in.
It contains the rates sustained by large I/Os in MBPS. Each value is that of a data point
with a fixed number of small and large I/Os outstanding.

";
const LATENCY: &str = "This file was written by orion-stand-in.
It contains the average latency sustained by small I/Os in microseconds. Each value is that of a data point
with a fixed number of small and large I/Os outstanding.

";
const HISTOGRAM: &str = "This file was written by orion-stand-in.
It contains histograms of the latencies of each data point.

";

/// Returns the common beginning of the names of a run's files.
pub(crate) fn stem(test_name: &str) -> String {
    let minute = format_description!("[year][month][day]_[hour][minute]");
    let now = OffsetDateTime::now_utc().format(minute).expect("a date of this format");
    format!("{test_name}_{now}")
}

pub(crate) fn write(
    stem: &str,
    options: &Options,
    arguments: &[String],
    volumes: &Volumes,
    outcomes: &[(Point, Outcome)],
) -> io::Result<()> {
    let seconds = options.duration.as_secs_f64();
    let (small, large) = options.loads(volumes.count());
    let measured = Measured { outcomes, seconds, large_bytes: options.large_bytes };
    let loaded = |loads: &[u32]| loads.iter().copied().filter(|load| *load > 0).collect::<Vec<_>>();
    let of_small = |cell: &dyn Fn(&Outcome) -> Option<String>| {
        matrix(&large, &loaded(&small), |point| measured.of(point).and_then(cell))
    };
    let iops = of_small(&|outcome| measured.iops(outcome).map(|iops| format!("{iops:.0}")));
    let latency = of_small(&|outcome| outcome.small_latency_us().map(|us| format!("{us:.2}")));
    let mbps = matrix(&loaded(&large), &small, |point| {
        measured.of(point).and_then(|outcome| measured.mbps(outcome)).map(|mbps| format!("{mbps:.2}"))
    });
    let results = measured.results();
    std::fs::write(format!("{stem}_iops.csv"), format!("{IOPS}{iops}"))?;
    std::fs::write(format!("{stem}_lat.csv"), format!("{LATENCY}{latency}"))?;
    std::fs::write(format!("{stem}_mbps.csv"), format!("{MBPS}{mbps}"))?;
    std::fs::write(format!("{stem}_hist.txt"), measured.histograms())?;
    let summary = format!("{}{results}", head(options, arguments, volumes, &small, &large, outcomes.len()));
    std::fs::write(format!("{stem}_summary.txt"), summary)?;
    print!("{results}");
    Ok(())
}

/// Returns the matrix: a row for each load of large requests, a column for each of small ones. Cells of points that
/// were not run are empty.
fn matrix(rows: &[u32], columns: &[u32], cell: impl Fn(Point) -> Option<String>) -> String {
    let mut text = format!("Large/Small{}\n", columns.iter().map(|small| format!(",{small:>7}")).collect::<String>());
    for large in rows {
        let mut row = format!("{large:>11}");
        let cells: Vec<_> = columns.iter().map(|small| cell(Point { small: *small, large: *large })).collect();
        let last = cells.iter().rposition(Option::is_some).map_or(0, |at| at + 1);
        for cell in &cells[..last] {
            write!(row, ",{:>7}", cell.as_deref().unwrap_or("")).expect("a String takes everything");
        }
        text.push_str(&row);
        text.push('\n');
    }
    text
}

fn head(
    options: &Options,
    arguments: &[String],
    volumes: &Volumes,
    small: &[u32],
    large: &[u32],
    points: usize,
) -> String {
    let columns = |loads: &[u32]| loads.iter().map(|load| format!(",{load:>7}")).collect::<String>();
    let types = if options.sequential { "large sequential streams" } else { "large random IOs" };
    let simulated = if options.raid0 { "RAID-0 striping for all streams" } else { "CONCAT" };
    let cache = options.cache_megabytes.map_or("not entered".to_owned(), |megabytes| format!("{megabytes} MB"));
    let mut text = format!(
        "ORION VERSION {VERSION}\n\nCommand line:\n{}\n\nThese options enable these settings:\nTest: {}\n\
         Small IO size: {} KB\nLarge IO size: {} KB\nIO types: small random IOs, {types}\n\
         Sequential stream pattern: {simulated}\nWrites: {}%\nCache size: {cache}\n\
         Duration for each data point: {} seconds\nSmall Columns:{}\nLarge Columns:{}\nTotal Data Points: {points}\n\n",
        arguments.join(" "),
        options.test_name,
        options.small_bytes >> 10,
        options.large_bytes >> 10,
        options.write_percent,
        options.duration.as_secs(),
        columns(small),
        columns(large),
    );
    for volume in volumes.iter() {
        writeln!(text, "Name: {}\tSize: {}", volume.name, volume.bytes).expect("a String takes everything");
    }
    writeln!(text, "{} files found.\n", volumes.count()).expect("a String takes everything");
    text
}

impl Outcome {
    /// Returns the mean over small reads and writes; `None` without one.
    fn small_latency_us(&self) -> Option<f64> {
        Tally::mean_us(&[&self.small_reads, &self.small_writes])
    }
}

struct Measured<'a> {
    outcomes: &'a [(Point, Outcome)],
    seconds: f64,
    large_bytes: u64,
}

impl Measured<'_> {
    fn of(&self, point: Point) -> Option<&Outcome> {
        self.outcomes.iter().find(|(other, _)| *other == point).map(|(_, outcome)| outcome)
    }

    /// Returns small requests per second; `None` when there were none.
    fn iops(&self, outcome: &Outcome) -> Option<f64> {
        let count = outcome.small_reads.count + outcome.small_writes.count;
        (count > 0).then(|| count as f64 / self.seconds)
    }

    /// Returns MiB of large requests per second, which Orion calls MBPS; `None` when there were none.
    fn mbps(&self, outcome: &Outcome) -> Option<f64> {
        let count = outcome.large_reads.count + outcome.large_writes.count;
        (count > 0).then(|| (count * self.large_bytes) as f64 / f64::from(1 << 20) / self.seconds)
    }

    /// Returns the points with the most large MB/s, the most small IOPS and the lowest small latency.
    fn results(&self) -> String {
        let best = |figure: &dyn Fn(&Outcome) -> Option<f64>| {
            let figures = self.outcomes.iter().filter_map(|(point, outcome)| Some((*point, outcome, figure(outcome)?)));
            figures.max_by(|(.., one), (.., other)| one.total_cmp(other))
        };
        let mut text = String::new();
        if let Some((point, _, mbps)) = best(&|outcome| self.mbps(outcome)) {
            writeln!(text, "Maximum Large MBPS={mbps:.2} @ {}\n", at(point)).expect("a String takes everything");
        }
        if let Some((point, outcome, iops)) = best(&|outcome| self.iops(outcome)) {
            writeln!(text, "Maximum Small IOPS={iops:.0} @ {}", at(point)).expect("a String takes everything");
            text.push_str(&details(point, outcome));
            text.push('\n');
        }
        if let Some((point, outcome, negative)) = best(&|outcome| outcome.small_latency_us().map(|us| -us)) {
            writeln!(text, "Minimum Small Latency={:.3} usecs @ {}", -negative, at(point))
                .expect("a String takes everything");
            text.push_str(&details(point, outcome));
            text.push_str(&histogram("Small", point, &outcome.small_reads, &outcome.small_writes));
        }
        text
    }

    fn histograms(&self) -> String {
        let mut text = HISTOGRAM.to_owned();
        for (point, outcome) in self.outcomes {
            let kinds = [
                ("Small", &outcome.small_reads, &outcome.small_writes),
                ("Large", &outcome.large_reads, &outcome.large_writes),
            ];
            for (kind, reads, writes) in kinds {
                if reads.count + writes.count > 0 {
                    text.push_str(&histogram(kind, *point, reads, writes));
                    text.push('\n');
                }
            }
        }
        text
    }
}

fn at(point: Point) -> String {
    format!("Small={} and Large={}", point.small, point.large)
}

/// Returns the lines after a point's figure, on the latencies of its small requests.
fn details(point: Point, outcome: &Outcome) -> String {
    let mut text = String::new();
    for (kind, tally) in [("Read", &outcome.small_reads), ("Write", &outcome.small_writes)] {
        let Some(mean_us) = Tally::mean_us(&[tally]) else { continue };
        writeln!(
            text,
            "Small {kind} Latency: avg={mean_us:.3} us, min={:.3} us, max={:.3} us, std dev={:.3} us @ {}",
            tally.min_us,
            tally.max_us,
            tally.deviation_us(),
            at(point)
        )
        .expect("a String takes everything");
    }
    text
}

fn histogram(kind: &str, point: Point, reads: &Tally, writes: &Tally) -> String {
    let mut text = format!(
        "{kind} Read / Write Latency Histogram @ {}\n        Latency:                         # of IOs (read)          \
         # of IOs (write)\n",
        at(point)
    );
    let last = (0..BORDERS_US.len()).rev().find(|at| reads.buckets[*at] + writes.buckets[*at] > 0).unwrap_or(0);
    // One more row counts all longer latencies; it is empty.
    let borders = BORDERS_US[..=last].iter().chain(BORDERS_US.last().filter(|_| last + 1 < BORDERS_US.len()));
    let (mut low, mut read, mut written) = (0, 0, 0);
    for (row, border) in borders.enumerate() {
        let counts = if row <= last { (reads.buckets[row], writes.buckets[row]) } else { (0, 0) };
        read += counts.0;
        written += counts.1;
        let share = |sum: u64, all: u64| if all == 0 { 0.0 } else { 100.0 * sum as f64 / all as f64 };
        writeln!(
            text,
            "{low:>9} - {border:<10} us: {:>15} ({:>6.2}%) {:>14} ({:>6.2}%)",
            counts.0,
            share(read, reads.count),
            counts.1,
            share(written, writes.count)
        )
        .expect("a String takes everything");
        low = *border;
    }
    text
}
