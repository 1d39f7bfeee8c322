//! Parser of fio's report for people: 3 or 4 significant digits, which give the resolution.
//!
//! Both layouts: `read: IOPS=50.4k, BW=197MiB/s (207MB/s)(11.0MiB/56msec)` of fio 3 and
//! `read : io=241236KB, bw=24035KB/s, iops=6008, runt= 10037msec` of fio 2, whose KB is 1024.

use activebench_model::claim::SourceLine;

use super::filter::Section;
use super::report::{Entry, Figure, Head, Latencies, PERCENTILES, Report, Way, percentile_resolution, rate_resolution};

/// Reads one section of plain text; returns the entries of its last report.
pub(super) fn read(section: &Section<'_>, stream: &str) -> Report {
    let mut reader = Reader { stream, report: Report::default(), part: Part::Nothing, unit_ns: 1.0, ended: true };
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
}

impl Reader<'_> {
    fn line(&mut self, number: u64, line: &str) {
        // A progress line may precede the text.
        let words = line.rsplit('\r').next().unwrap_or(line);
        let text = words.trim();
        let source = || SourceLine { stream: self.stream.to_owned(), line: number, text: line.to_owned() };
        if let Some(version) = text.strip_prefix("fio-").filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit())) {
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
            self.ended = false;
            self.report.complete = false;
            self.report.entries.push(entry);
            self.part = Part::Nothing;
            return;
        }
        if text.starts_with("Run status group") {
            // The end of every report. The lines after it repeat the figures by group.
            self.report.complete = true;
            self.ended = true;
            self.part = Part::Nothing;
            return;
        }
        if self.ended && !self.begin_headless(text) {
            return;
        }
        let source = source();
        let again =
            |(way, _): &(Way, &str)| self.report.entries.last().is_some_and(|entry| entry.of(*way).bandwidth.is_some());
        if self.report.headless && way_of(text).as_ref().is_some_and(again) {
            self.report.entries.push(Entry::default());
        }
        let Some(entry) = self.report.entries.last_mut() else { return };
        if let Some((way, rest)) = way_of(text) {
            read_rates(entry, way, rest, &source);
            self.part = Part::Other(way);
        } else if text.starts_with("fsync/fdatasync/sync_file_range:") {
            self.part = Part::Sync;
        } else if let Some(rest) = text.strip_prefix("issued rwt") {
            read_issued(entry, rest, &source);
        } else if let Some(rest) = text.strip_prefix("cpu ") {
            entry.user = share(rest, "usr=", &source);
            entry.system = share(rest, "sys=", &source);
        } else if text.starts_with('|') {
            self.percentiles(text, &source);
        } else {
            self.latency_line(text, &source);
        }
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
        for pair in text.trim_start_matches('|').split("],") {
            let Some((at, value)) = pair.split_once("th=[") else { continue };
            let at = at.trim().parse::<f64>();
            let Some(slot) =
                PERCENTILES.iter().position(|wanted| at.as_ref().is_ok_and(|at| (at - wanted).abs() < 1e-9))
            else {
                continue;
            };
            let printed = value.trim().trim_end_matches(']').trim();
            let Ok(number) = printed.parse::<u64>() else { continue };
            let value = number as f64 * unit_ns;
            latencies.percentiles[slot] = Some(Figure {
                value,
                resolution: percentile_resolution(value) + unit_ns / 2.0,
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
    let stated = |key| value_after(rest, key).map(str::to_owned);
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
    let (pid, _) = rest.split_once("pid=")?.1.split_once(':')?;
    let error = error.split_whitespace().next()?.parse::<i64>().ok()?;
    Some(Entry {
        name: name.to_owned(),
        jobs: jobs.trim().parse().ok(),
        pid: pid.trim().parse().ok(),
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

fn read_rates(entry: &mut Entry, way: Way, text: &str, source: &SourceLine) {
    let is_fio_2 = !text.contains("IOPS=");
    let directed = entry.of_mut(way);
    let figure = |words: &str, unit: &str, value: f64, step: f64| Figure {
        value,
        resolution: step / 2.0,
        text: words.to_owned(),
        unit: unit.to_owned(),
        source: source.clone(),
    };
    let sized = |words: &str| {
        let (number, unit) = split_unit(words)?;
        let (value, step) = number_of(number)?;
        let unit_bytes = if is_fio_2 { unit_bytes_of_fio_2 } else { unit_bytes };
        let factor = unit_bytes(unit.trim_end_matches("/s"))?;
        Some(figure(number, unit, value * factor, step * factor))
    };
    let counted = |words: &str| number_of(words).map(|(value, step)| figure(words, "iops", value, step));
    let (bandwidth, rate, bytes, runtime) = if let Some(rate) = value_after(text, "IOPS=") {
        // `(11.0MiB/56msec)` ends the line.
        let (bytes, runtime) = text
            .split('(')
            .filter_map(|part| part.split(')').next()?.split_once('/'))
            .find(|(_, time)| time.ends_with("msec"))
            .unzip();
        (value_after(text, "BW="), Some(rate), bytes, runtime)
    } else {
        (value_after(text, "bw="), value_after(text, "iops="), value_after(text, "io="), value_after(text, "runt="))
    };
    directed.runtime_ms = runtime.and_then(|time| time.trim().trim_end_matches("msec").trim().parse().ok());
    // The printed digits are nearly always coarser than the clock; both are known here.
    let of_rate = |mut figure: Figure| {
        figure.resolution += directed.runtime_ms.map_or(0.0, |ms| rate_resolution(figure.value, ms));
        figure
    };
    directed.bandwidth = bandwidth.and_then(sized).map(of_rate);
    directed.rate = rate.and_then(counted).map(of_rate);
    directed.bytes = bytes.and_then(sized);
}

/// `issued rwts: total=2824,1272,0,0 short=...`; fio 2: `issued    : total=r=30720/w=0/d=0, ...`.
fn read_issued(entry: &mut Entry, rest: &str, source: &SourceLine) {
    let Some(totals) = value_of(rest, "total=") else { return };
    // If all directions are reported as one, their total is printed in place of the reads.
    let as_one = entry.of(Way::Mixed).bandwidth.is_some() && entry.of(Way::Read).bandwidth.is_none();
    for (way, printed) in Way::DIRECTIONS.into_iter().zip(totals.split(',')) {
        let way = if as_one && way == Way::Read { Way::Mixed } else { way };
        if let Ok(count) = printed.parse::<u64>() {
            entry.of_mut(way).operations = Some(count_of(count, printed, source));
        }
    }
    if let Some(printed) = totals.split(',').nth(3)
        && let Ok(count @ 1..) = printed.parse::<u64>()
    {
        entry.syncs = Some(count_of(count, printed, source));
    }
}

fn count_of(count: u64, printed: &str, source: &SourceLine) -> Figure {
    Figure {
        value: count as f64,
        resolution: 0.0,
        text: printed.to_owned(),
        unit: "issued".to_owned(),
        source: source.clone(),
    }
}

fn share(text: &str, key: &str, source: &SourceLine) -> Option<Figure> {
    let printed = value_after(text, key)?.trim_end_matches('%');
    let (number, step) = number_of(printed)?;
    Some(Figure {
        value: number / 100.0,
        resolution: step / 200.0,
        text: printed.to_owned(),
        unit: "%".to_owned(),
        source: source.clone(),
    })
}

/// Returns the word after a key, up to a comma, a blank or a bracket.
fn value_after<'t>(text: &'t str, key: &str) -> Option<&'t str> {
    let at = text.match_indices(key).find(|(at, _)| *at == 0 || text[..*at].ends_with([' ', ',', '(', ':']))?.0;
    let rest = text[at + key.len()..].trim_start();
    let end = rest.find([',', ' ', '(', ')', ';']).unwrap_or(rest.len());
    Some(&rest[..end]).filter(|word| !word.is_empty())
}

/// Returns the word after a key, commas included.
fn value_of<'t>(text: &'t str, key: &str) -> Option<&'t str> {
    let rest = text.split_once(key)?.1;
    rest.split_whitespace().next()
}

/// Splits `197MiB/s` into `197` and `MiB/s`.
fn split_unit(word: &str) -> Option<(&str, &str)> {
    let digits = word.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    Some(word.split_at(digits))
}

/// Parses a number with fio's suffix for thousands; returns it with the step of its last digit.
fn number_of(word: &str) -> Option<(f64, f64)> {
    let (digits, factor) = match word.as_bytes().last()? {
        b'k' | b'K' => (&word[..word.len() - 1], 1e3),
        b'M' => (&word[..word.len() - 1], 1e6),
        b'G' => (&word[..word.len() - 1], 1e9),
        _ => (word, 1.0),
    };
    let plain =
        digits.starts_with(|c: char| c.is_ascii_digit()) && digits.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let number = digits.parse::<f64>().ok().filter(|number| plain && number.is_finite())?;
    let decimals = digits.split_once('.').map_or(0, |(_, decimals)| decimals.len().min(300));
    Some((number * factor, factor * 10f64.powi(-(decimals as i32))))
}

/// Units of fio 3, which follow IEC 80000-13.
fn unit_bytes(unit: &str) -> Option<f64> {
    Some(match unit {
        "B" => 1.0,
        "KiB" => 1024.0,
        "MiB" => 1024.0 * 1024.0,
        "GiB" => 1024.0 * 1024.0 * 1024.0,
        "TiB" => 1024.0f64.powi(4),
        "kB" => 1e3,
        "MB" => 1e6,
        "GB" => 1e9,
        "TB" => 1e12,
        _ => return None,
    })
}

/// Units of fio 2, whose KB is 1024.
fn unit_bytes_of_fio_2(unit: &str) -> Option<f64> {
    unit_bytes(match unit {
        "KB" => "KiB",
        "MB" => "MiB",
        "GB" => "GiB",
        "TB" => "TiB",
        other => other,
    })
}
