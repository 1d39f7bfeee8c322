//! The summary of each group of jobs, at the end of a report for people: `READ: bw=197MiB/s (207MB/s), ...`, in fio 1 and 2
//! `READ: io=1024KB, aggrb=5752KB/s, ...`.
//!
//! It repeats the figures of the jobs; where the text has those of no job, it is all that is claimed.

use activebench_model::claim::SourceLine;

use super::normal_numbers::{sized, value_after, word_after};
use super::report::{Directed, Entry, Figure, Way, rate_resolution};

/// Reads a line of a summary; `None` if it is none. `kilobyte` are the bytes of fio 2's KB, `None` if unknown.
pub(super) fn read_line(text: &str, kilobyte: Option<f64>, source: &SourceLine) -> Option<(Way, Directed)> {
    let (way, rest) = Way::ALL.into_iter().find_map(|way| {
        Some((way, text.strip_prefix(&way.word().to_ascii_uppercase())?.trim_start().strip_prefix(':')?.trim_start()))
    })?;
    let of_fio_2 = value_after(rest, "aggrb=");
    let rate = of_fio_2.or_else(|| value_after(rest, "bw="))?;
    let unit = |words| match of_fio_2 {
        Some(_) => sized(words, Some(kilobyte?), source),
        None => sized(words, None, source),
    };
    // The shortest and the longest job: `run=56-57msec`; the rate is over the longest.
    let time = word_after(rest, "maxt=").or_else(|| word_after(rest, "run=")?.split('-').nth(1));
    let runtime_ms = time.and_then(|time| time.strip_suffix("msec")?.parse().ok());
    let of_rate = |mut figure: Figure| {
        figure.resolution += runtime_ms.map_or(0.0, |ms| rate_resolution(figure.value, ms));
        figure
    };
    let bandwidth = unit(rate).map(of_rate)?;
    let bytes = value_after(rest, "io=").and_then(unit);
    Some((way, Directed { bandwidth: Some(bandwidth), bytes, runtime_ms, ..Directed::default() }))
}

/// Adds a line to the summaries. A summary that is repeated takes the place of the earlier one.
pub(super) fn add(groups: &mut Vec<Entry>, group: Option<u32>, way: Way, figures: Directed) {
    let name = group.map_or_else(|| "group".to_owned(), |number| format!("group-{number}"));
    let place = groups.iter().position(|entry| entry.name == name).unwrap_or_else(|| {
        groups.push(Entry { name, group, ..Entry::default() });
        groups.len() - 1
    });
    *groups[place].of_mut(way) = figures;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summaries_of_every_version_are_read() {
        let source = SourceLine { stream: "stdout".to_owned(), line: 1, text: String::new() };
        for (line, expected) in [
            (
                "READ: bw=197MiB/s (207MB/s), 197MiB/s-197MiB/s (207MB/s-207MB/s), io=11.0MiB (11.5MB), run=56-56msec",
                Some((Way::Read, 197.0 * 1_048_576.0, Some(11.0 * 1_048_576.0), Some(56))),
            ),
            (
                "WRITE: io=1024KB, aggrb=5752KB/s, minb=5890KB/s, maxb=5890KB/s, mint=178msec, maxt=178msec",
                Some((Way::Write, 5752.0 * 1024.0, Some(1_048_576.0), Some(178))),
            ),
            ("READ: bw=197MiB", None),
            ("read: IOPS=1, BW=197MiB/s (207MB/s)(11.0MiB/56msec)", None),
        ] {
            let read = read_line(line, Some(1024.0), &source).map(|(way, read)| {
                let value = |figure: Option<Figure>| figure.map(|figure| figure.value);
                (way, value(read.bandwidth).unwrap_or(0.0), value(read.bytes), read.runtime_ms)
            });
            assert_eq!(read, expected, "{line}");
        }
    }
}
