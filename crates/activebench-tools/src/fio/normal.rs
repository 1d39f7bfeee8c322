//! Parser of fio's report for people: 3 or 4 significant digits, which give the resolution.
//!
//! Both layouts: `read: IOPS=50.4k, BW=197MiB/s (207MB/s)(11.0MiB/56msec)` of fio 3 and
//! `read : io=241236KB, bw=24035KB/s, iops=6008, runt= 10037msec` of fio 1 and 2, whose KB is 1024.
//!
//! A number is read if the sign that follows it in fio's own lines follows it: a line may have been wrapped in a number.
//! Figures belong to the job whose line is before them. Where the text repeats a kind of line within a job, the line of
//! another job is missing, and nothing is read up to the next one.

use activebench_model::claim::SourceLine;

use super::filter::Section;
use super::groups;
use super::normal_numbers::{
    count_of, decimal_or_thousands, number_of, share, sized, split_unit, value_after, word_after,
};
use super::report::{Entry, Figure, Head, Latencies, PERCENTILES, Report, Way, percentile_resolution, rate_resolution};

/// Reads one section of plain text; returns the entries of its last report. `kilobyte` are the bytes of fio 2's KB,
/// `None` if unknown.
pub(super) fn read(section: &Section<'_>, stream: &str, kilobyte: Option<f64>) -> Report {
    let report = Report::default();
    let mut reader = Reader {
        stream,
        report,
        part: Part::Nothing,
        unit_ns: 1.0,
        ended: true,
        orphaned: false,
        group: None,
        kilobyte,
    };
    for (number, line) in (section.first_line..).zip(section.text.split_inclusive('\n')) {
        // An unterminated line may lack digits.
        if let Some(line) = line.strip_suffix('\n') {
            reader.line(number, line.trim_end_matches('\r'));
        }
    }
    reader.report
}

/// The entry part to which the next percentiles belong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Nothing,
    Completion(Way),
    Total(Way),
    Sync,
    /// Percentiles that are not claimed (slat).
    Other(Way),
}

struct Reader<'s> {
    stream: &'s str,
    report: Report,
    part: Part,
    unit_ns: f64,
    /// True if the entries so far belong to a report that has ended.
    ended: bool,
    /// True behind lines of a job whose own line is missing.
    orphaned: bool,
    /// The group whose summary is being read.
    group: Option<u32>,
    /// Bytes of fio 2's KB: its `kb_base`; `None` if unknown.
    kilobyte: Option<f64>,
}

impl Reader<'_> {
    fn line(&mut self, number: u64, line: &str) {
        // A progress line may precede the text.
        let words = line.rsplit('\r').next().unwrap_or(line);
        let text = words.trim();
        let source = || SourceLine { stream: self.stream.to_owned(), line: number, text: line.to_owned() };
        let version = text.strip_prefix("fio-").or_else(|| text.strip_prefix("fio "));
        if let Some(version) = version.filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit())) {
            if !version.contains(' ') {
                self.report.version = Some(version.to_owned());
            }
            return;
        }
        if let Some(head) = head(words) {
            self.report.heads.push(head);
            return;
        }
        if let Some(entry) = header(words, source()) {
            if std::mem::take(&mut self.report.headless) {
                self.report.entries.clear();
            }
            // A repeated report names the same processes; another run of fio names others.
            if self.ended && self.report.entries.iter().any(|known| known.pid == entry.pid) {
                self.report.entries.clear();
            }
            (self.ended, self.orphaned, self.group) = (false, false, None);
            self.report.complete = false;
            self.report.entries.push(entry);
            self.part = Part::Nothing;
            return;
        }
        if words.contains(": (groupid=") {
            // The line of a job that cannot be read whole.
            return self.orphan(source());
        }
        if let Some(group) = text.strip_prefix("Run status group") {
            self.group = group.split_whitespace().next().and_then(|number| number.parse().ok());
            // The end of every report. The lines after it repeat the figures by group.
            self.report.complete = true;
            (self.ended, self.orphaned) = (true, false);
            self.part = Part::Nothing;
            return;
        }
        if let Some((way, figures)) = groups::read_line(text, self.kilobyte, &source()) {
            (self.ended, self.orphaned) = (true, false);
            groups::add(&mut self.report.groups, self.group, way, figures);
            return;
        }
        if self.orphaned {
            return;
        }
        if self.ended && !self.begin_headless(text) {
            return;
        }
        let source = source();
        let again =
            |(way, _): &(Way, &str)| self.report.entries.last().is_some_and(|entry| entry.of(*way).bandwidth.is_some());
        if way_of(text).as_ref().is_some_and(again) {
            if !self.report.headless {
                return self.orphan(source);
            }
            self.report.entries.push(Entry::default());
        }
        let kilobyte = self.kilobyte;
        let Some(entry) = self.report.entries.last_mut() else { return };
        if let Some((way, rest)) = way_of(text) {
            read_rates(entry, way, rest, kilobyte, &source);
            self.part = Part::Other(way);
        } else if text.starts_with("fsync/fdatasync/sync_file_range:") {
            self.part = Part::Sync;
        } else if let Some(rest) = text.strip_prefix("issued ") {
            read_issued(entry, rest, &source);
        } else if let Some(rest) = text.strip_prefix("cpu ") {
            if entry.user.is_some() && !self.report.headless {
                return self.orphan(source);
            }
            entry.user = share(rest, "usr=", &source);
            entry.system = share(rest, "sys=", &source);
        } else if text.starts_with('|') {
            self.percentiles(text, &source);
        } else {
            self.latency_line(text, &source);
        }
    }

    /// Ends a job before the lines of another one whose own line is missing or cut.
    fn orphan(&mut self, source: SourceLine) {
        (self.ended, self.orphaned) = (false, true);
        self.part = Part::Nothing;
        self.report.orphans.get_or_insert(source);
    }

    /// Starts an entry without a name at a line of rates without a job before it; returns true if lines of an entry may
    /// follow.
    fn begin_headless(&mut self, text: &str) -> bool {
        let rates = way_of(text).filter(|(_, rest)| rest.contains("IOPS=") && rest.contains("BW="));
        let Some((way, _)) = rates.filter(|_| self.report.entries.is_empty()) else { return false };
        (self.report.headless, self.ended) = (true, false);
        self.report.entries.push(Entry::default());
        self.part = Part::Other(way);
        true
    }

    fn latencies(&mut self) -> Option<&mut Latencies> {
        let entry = self.report.entries.last_mut()?;
        match self.part {
            Part::Completion(way) => Some(&mut entry.of_mut(way).completion),
            Part::Total(way) => Some(&mut entry.of_mut(way).total),
            Part::Sync => Some(&mut entry.sync_latencies),
            Part::Other(_) | Part::Nothing => None,
        }
    }

    /// `clat (usec): min=18, max=883, avg=94.89, stdev=50.46`, `clat percentiles (usec):`.
    fn latency_line(&mut self, text: &str, source: &SourceLine) {
        let Some((name, rest)) = text.split_once('(') else { return };
        let Some((unit, rest)) = rest.split_once(')') else { return };
        let unit_ns = match unit.trim() {
            "nsec" => 1.0,
            "usec" => 1e3,
            "msec" => 1e6,
            _ => return,
        };
        let way = match self.part {
            Part::Completion(way) | Part::Total(way) | Part::Other(way) => Some(way),
            Part::Sync | Part::Nothing => None,
        };
        let next = match (name.trim(), way) {
            ("clat" | "clat percentiles", Some(way)) => Part::Completion(way),
            ("lat" | "lat percentiles", Some(way)) => Part::Total(way),
            ("slat" | "slat percentiles", Some(way)) => Part::Other(way),
            ("sync" | "sync percentiles", None) if self.part == Part::Sync => Part::Sync,
            // `lat (usec) : 4=8.43%` is a histogram over both directions.
            _ => return,
        };
        if name.trim() == "lat" && !rest.contains("avg=") {
            return;
        }
        self.part = next;
        self.unit_ns = unit_ns;
        let Some(words) = value_after(rest, "avg=") else { return };
        if self.latencies().is_some_and(|latencies| latencies.mean.is_some()) {
            // The rates before it are missing.
            self.part = Part::Nothing;
            return;
        }
        if let Some((number, step)) = number_of(words)
            && let Some(latencies) = self.latencies()
        {
            latencies.mean = Some(Figure {
                value: number * unit_ns,
                resolution: step / 2.0 * unit_ns,
                text: words.to_owned(),
                unit: unit.trim().to_owned(),
                source: source.clone(),
            });
        }
    }

    /// `|  1.00th=[   50],  5.00th=[   65], ...`.
    fn percentiles(&mut self, text: &str, source: &SourceLine) {
        let unit_ns = self.unit_ns;
        let Some(latencies) = self.latencies() else { return };
        let pairs = text.trim_start_matches('|');
        let last = pairs.rsplit("],").next().unwrap_or_default();
        for pair in pairs.split("],") {
            let Some((at, value)) = pair.split_once("th=[") else { continue };
            let at = at.trim().parse::<f64>();
            let Some(slot) =
                PERCENTILES.iter().position(|wanted| at.as_ref().is_ok_and(|at| (at - wanted).abs() < 1e-9))
            else {
                continue;
            };
            // The last one ends with its bracket alone.
            let closed = value.trim().trim_end_matches(',').strip_suffix(']');
            let printed = closed.unwrap_or(value).trim();
            if closed.is_none() && pair == last || latencies.percentiles[slot].is_some() {
                continue;
            }
            let Ok(number) = printed.parse::<u64>() else { continue };
            let value = number as f64 * unit_ns;
            latencies.percentiles[slot] = Some(Figure {
                value,
                // fio rounds percentiles up to its unit.
                resolution: percentile_resolution(value) + unit_ns,
                text: printed.to_owned(),
                unit: match unit_ns {
                    1.0 => "nsec",
                    1e3 => "usec",
                    _ => "msec",
                }
                .to_owned(),
                source: source.clone(),
            });
        }
    }
}

/// `w: (g=0): rw=write, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=psync, iodepth=1`.
fn head(line: &str) -> Option<(String, Head)> {
    let (name, rest) = line.split_once(": (g=")?;
    let (_, rest) = rest.split_once("): ")?;
    let stated = |key| word_after(rest, key).map(str::to_owned);
    let mut head =
        Head { rw: stated("rw="), engine: stated("ioengine="), depth: stated("iodepth="), block_bytes: [None; 3] };
    // Smallest and largest block of reads, writes and trims; fio 2 prints no words beside them.
    let blocks = rest.split_once("bs=").map_or("", |(_, blocks)| blocks.split("ioengine=").next().unwrap_or(blocks));
    let sizes = blocks.split([' ', ',', '/', '-']).filter(|word| word.starts_with(|c: char| c.is_ascii_digit()));
    let sizes: Vec<Option<u64>> = sizes.map(block_bytes).collect();
    // With `bs_is_seq_rand` there are two, and they do not belong to directions.
    if let [a, b, c, d, e, f] = sizes[..] {
        let same = |smallest: Option<u64>, largest| smallest.filter(|_| smallest == largest);
        head.block_bytes = [same(a, b), same(c, d), same(e, f)];
    }
    Some((name.to_owned(), head))
}

/// Parses `4096B`, `64.0KiB`, `4K`. The digits of the larger units may be rounded: they are taken as exact only for
/// powers of two.
fn block_bytes(size: &str) -> Option<u64> {
    let (number, unit) = split_unit(size)?;
    let factor: u64 = match unit {
        "B" => return number.parse().ok().filter(|bytes| *bytes > 0),
        "KiB" | "K" => 1 << 10,
        "MiB" | "M" => 1 << 20,
        "GiB" | "G" => 1 << 30,
        _ => return None,
    };
    let (whole, decimals) = number.split_once('.').unwrap_or((number, "0"));
    let bytes = whole.parse::<u64>().ok()?.checked_mul(factor)?;
    (bytes.is_power_of_two() && decimals.bytes().all(|digit| digit == b'0')).then_some(bytes)
}

/// `w: (groupid=0, jobs=1): err= 0: pid=3654: Sat Nov 21 02:47:59 2026`.
fn header(line: &str, source: SourceLine) -> Option<Entry> {
    let (name, rest) = line.split_once(": (groupid=")?;
    let (group, rest) = rest.split_once(',')?;
    let (jobs, rest) = rest.split_once("jobs=")?.1.split_once(')')?;
    let (error, rest) = rest.split_once("err=")?.1.split_once(':')?;
    // fio 1 prints nothing behind the process.
    let pid = rest.split_once("pid=")?.1.trim_start();
    let pid = &pid[..pid.find(|sign: char| !sign.is_ascii_digit()).unwrap_or(pid.len())];
    let error = error.split_whitespace().next()?.parse::<i64>().ok()?;
    Some(Entry {
        name: name.trim_start().to_owned(),
        jobs: jobs.trim().parse().ok(),
        pid: Some(pid.parse().ok()?),
        group: group.trim().parse().ok(),
        error: (error != 0).then_some((error, source)),
        ..Entry::default()
    })
}

fn way_of(text: &str) -> Option<(Way, &str)> {
    Way::ALL.into_iter().find_map(|way| {
        let rest = text.strip_prefix(way.word())?.trim_start().strip_prefix(':')?;
        Some((way, rest.trim()))
    })
}

fn read_rates(entry: &mut Entry, way: Way, text: &str, kilobyte: Option<f64>, source: &SourceLine) {
    let is_fio_2 = !text.contains("IOPS=");
    let directed = entry.of_mut(way);
    let sized = |words| match is_fio_2 {
        true => sized(words, Some(kilobyte?), source),
        false => sized(words, None, source),
    };
    let counted = |words: &str| {
        let (value, step) = decimal_or_thousands(words)?;
        let (text, unit) = (words.to_owned(), "iops".to_owned());
        Some(Figure { value, resolution: step / 2.0, text, unit, source: source.clone() })
    };
    let (bandwidth, rate, bytes, runtime) = if let Some(rate) = value_after(text, "IOPS=") {
        // `(11.0MiB/56msec)` ends the line.
        let (bytes, runtime) = text
            .split('(')
            .filter_map(|part| part.split_once(')')?.0.split_once('/'))
            .find(|(_, time)| time.ends_with("msec"))
            .unzip();
        (value_after(text, "BW="), Some(rate), bytes, runtime)
    } else {
        let runtime = text.split_once("runt=").and_then(|(_, time)| time.trim().split_inclusive("msec").next());
        (value_after(text, "bw="), value_after(text, "iops="), value_after(text, "io="), runtime)
    };
    directed.runtime_ms = runtime.and_then(|time| time.trim().strip_suffix("msec")?.trim().parse().ok());
    // The printed digits are nearly always coarser than the clock; both are known here.
    let of_rate = |mut figure: Figure| {
        figure.resolution += directed.runtime_ms.map_or(0.0, |ms| rate_resolution(figure.value, ms));
        figure
    };
    directed.bandwidth = bandwidth.and_then(sized).map(of_rate);
    directed.rate = rate.and_then(counted).map(of_rate);
    directed.bytes = bytes.and_then(sized);
}

/// `rwts: total=2824,1272,0,0 short=...`; fio 2: `   : total=r=30720/w=0/d=0, ...`; fio 1: `r/w: total=256/0, short=...`.
fn read_issued(entry: &mut Entry, rest: &str, source: &SourceLine) {
    let Some((totals, _)) = rest.split_once("total=").and_then(|(_, totals)| totals.trim_start().split_once(' '))
    else {
        return;
    };
    let totals = totals.trim_end_matches(',');
    let is_listed = totals.contains(',');
    let counts: Vec<&str> = totals.split([',', '/']).collect();
    // If all directions are reported as one, their total is printed in place of the reads.
    let as_one = entry.of(Way::Mixed).bandwidth.is_some() && entry.of(Way::Read).bandwidth.is_none();
    for (way, counted) in Way::DIRECTIONS.into_iter().zip(&counts) {
        let way = if as_one && way == Way::Read { Way::Mixed } else { way };
        // fio 2 names the direction: `w=60309`.
        let printed = counted.split_once('=').map_or(*counted, |(_, printed)| printed);
        if let (Ok(count), None) = (printed.parse::<u64>(), &entry.of(way).operations) {
            entry.of_mut(way).operations = Some(count_of(count, printed, source));
        }
    }
    if let Some(printed) = counts.get(3).filter(|_| is_listed)
        && let Ok(count @ 1..) = printed.parse::<u64>()
    {
        entry.syncs = Some(count_of(count, printed, source));
    }
}
