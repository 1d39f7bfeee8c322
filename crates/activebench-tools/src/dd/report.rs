//! The lines that dd prints at its end.
//!
//! With `status=progress`, lines that look like the last one come before it, and one of them before the sync that the
//! last one counts. Only a line behind `records out` states the figures of the whole copy.

/// Digits that `%g` prints.
const DIGITS: i32 = 6;

/// What the last report says.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Report<'a> {
    /// Its line, from 1.
    pub(super) line: u64,
    pub(super) text: &'a str,
    /// The bytes as printed, and as a number.
    pub(super) bytes_text: &'a str,
    pub(super) bytes: u64,
    pub(super) seconds: f64,
    /// Whole and partial blocks that were written.
    pub(super) records_out: Option<(u64, u64)>,
    /// Half a step of the seconds.
    pub(super) seconds_half_step: f64,
    /// The rate as printed, with its unit; `None` where the clock did not move.
    pub(super) rate: Option<Rate<'a>>,
    pub(super) maker: Maker,
}

/// A printed rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rate<'a> {
    pub(super) text: &'a str,
    pub(super) unit: &'a str,
    pub(super) bytes_per_sec: f64,
    /// Largest distance that rounding can cause, in bytes per second.
    pub(super) resolution: f64,
}

/// Whose dd it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Maker {
    /// Prefixes of powers of 1000; the clock starts behind the opens.
    Gnu,
    /// Prefixes of powers of 1024; the clock starts before the opens.
    BusyBox,
}

/// Returns the lines of a stream, each with its number from 1. A carriage return ends one, too.
pub(super) fn lines(text: &str) -> impl Iterator<Item = (u64, &str)> {
    text.split('\n').zip(1..).flat_map(|(line, number)| line.split('\r').map(move |part| (number, part)))
}

/// Returns true for `64+0 records in`, in any language.
pub(super) fn is_records(line: &str) -> bool {
    let Some((whole, rest)) = line.split_once('+') else { return false };
    let Some((partial, words)) = rest.split_once(' ') else { return false };
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number(whole) && is_number(partial) && !words.is_empty()
}

fn records(line: &str) -> Option<(u64, u64)> {
    let (whole, rest) = line.split_once('+')?;
    Some((whole.parse().ok()?, rest.split_once(' ')?.0.parse().ok()?))
}

/// Returns the report of the whole copy: the last one. A report before it was asked for by a signal.
pub(super) fn last(text: &str) -> Option<Report<'_>> {
    let mut is_end = false;
    let mut records_out = None;
    let mut last = None;
    for (number, line) in lines(text) {
        if is_records(line) {
            is_end = line.ends_with(" records out");
            records_out = records(line).filter(|_| is_end);
            // The copy went on behind an earlier report.
            last = None;
        } else if is_end && let Some(report) = report(number, line) {
            (is_end, last) = (false, Some(Report { records_out, ..report }));
        }
    }
    last
}

/// Reads `67108864 bytes (67 MB, 64 MiB) copied, 0.0649255 s, 1.0 GB/s`, or BusyBox's form of it.
pub(super) fn report(line: u64, text: &str) -> Option<Report<'_>> {
    let (amount, figures) = text.split_once(" copied, ")?;
    let (bytes_text, unit) = amount.split_once(' ')?;
    let is_unit = unit.strip_prefix("bytes").or_else(|| unit.strip_prefix("byte"));
    is_unit.filter(|rest| rest.is_empty() || rest.starts_with(" (") && rest.ends_with(')'))?;
    if bytes_text.len() > 20 || !bytes_text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let bytes = bytes_text.parse().ok()?;
    let (maker, seconds_text, rate) = match figures.split_once(" seconds, ") {
        Some((seconds, rate)) => (Maker::BusyBox, seconds, rate),
        None => figures.split_once(" s, ").map(|(seconds, rate)| (Maker::Gnu, seconds, rate))?,
    };
    let seconds = number(seconds_text)?;
    let seconds_half_step = match maker {
        Maker::Gnu => {
            let places = if seconds > 0.0 { DIGITS - 1 - seconds.log10().floor() as i32 } else { DIGITS };
            0.5 * 10_f64.powi(-places)
        }
        Maker::BusyBox => 0.5e-6,
    };
    let rate = rate.trim_end().strip_suffix("B/s")?;
    let rate = match maker {
        Maker::Gnu => gnu_rate(rate, text)?,
        Maker::BusyBox => Some(busybox_rate(rate, text)?),
    };
    Some(Report { line, text, bytes_text, bytes, seconds, records_out: None, seconds_half_step, rate, maker })
}

/// Reads `1.0 G`; an inner `None` for `Infinity `.
#[allow(clippy::option_option, reason = "a clock that did not move is not an unreadable line")]
fn gnu_rate<'a>(rate: &'a str, text: &'a str) -> Option<Option<Rate<'a>>> {
    let (number_text, prefix) = rate.split_once(' ')?;
    if number_text == "Infinity" {
        return Some(None);
    }
    let factor = 1000_f64.powi(power(prefix)?);
    let unit = &text[text.trim_end().len() - prefix.len() - 3..text.trim_end().len()];
    let bytes_per_sec = number(number_text)? * factor;
    Some(Some(Rate { text: number_text, unit, bytes_per_sec, resolution: half_step(number_text) * factor }))
}

/// Reads `2.1G`. BusyBox cuts where GNU rounds.
fn busybox_rate<'a>(rate: &'a str, text: &'a str) -> Option<Rate<'a>> {
    let number_text = rate.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let prefix = &rate[number_text.len()..];
    let factor = 1024_f64.powi(power(prefix)?);
    let unit = &text[text.trim_end().len() - prefix.len() - 3..text.trim_end().len()];
    let bytes_per_sec = number(number_text)? * factor;
    Some(Rate { text: number_text, unit, bytes_per_sec, resolution: 2.0 * half_step(number_text) * factor })
}

fn power(prefix: &str) -> Option<i32> {
    match prefix {
        "" => Some(0),
        // GNU writes a small k, BusyBox a large one in some versions.
        prefix => ["k", "M", "G", "T", "P", "E"]
            .iter()
            .position(|name| name.eq_ignore_ascii_case(prefix))
            .and_then(|place| i32::try_from(place + 1).ok()),
    }
}

fn half_step(text: &str) -> f64 {
    let decimals = text.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    0.5 * 10_f64.powi(-i32::try_from(decimals).unwrap_or(0))
}

/// Reads a number that is not negative: `0.0649255`, `4.678e-05`.
fn number(text: &str) -> Option<f64> {
    let is_number = text.starts_with(|first: char| first.is_ascii_digit())
        && text.len() <= 24
        && text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'-' | b'+'));
    is_number.then(|| text.parse::<f64>().ok())?.filter(|value| value.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(text: &str) -> Option<(u64, f64, f64, f64)> {
        let report = report(1, text)?;
        let rate = report.rate?;
        Some((report.bytes, report.seconds, rate.bytes_per_sec, rate.resolution))
    }

    #[test]
    fn a_prefix_is_one_of_the_maker() {
        assert_eq!(
            rate("67108864 bytes (67 MB, 64 MiB) copied, 0.0649255 s, 1.0 GB/s"),
            Some((67_108_864, 0.064_925_5, 1e9, 5e7))
        );
        assert_eq!(
            rate("67108864 bytes (64.0MB) copied, 0.030000 seconds, 2.0GB/s"),
            Some((67_108_864, 0.03, 2.0 * 1024.0 * 1024.0 * 1024.0, 0.1 * 1024.0 * 1024.0 * 1024.0))
        );
        assert_eq!(rate("1 byte copied, 0.000116706 s, 8.6 kB/s"), Some((1, 0.000_116_706, 8600.0, 50.0)));
        assert_eq!(rate("512 bytes copied, 4.678e-05 s, 11 MB/s"), Some((512, 4.678e-05, 11e6, 5e5)));
        for none in [
            "67108864 bytes (67 MB, 64 MiB) copied, 0.0649255 s, 1.0 GB",
            "67108864 octets (67 MB, 64 MiB) copiés, 0,0649255 s, 1,0 GB/s",
            "67108864 bytes (67 MB, 64 MiB) copied, 0,0649255 s, 1,0 GB/s",
            "67108864 bytes (67 MB, 64 MiB) copied, nan s, 1.0 GB/s",
            "x67108864 bytes (67 MB, 64 MiB) copied, 1 s, 1.0 GB/s",
        ] {
            assert_eq!(rate(none), None, "{none}");
        }
        let still = report(1, "1024 bytes (1.0 kB, 1.0 KiB) copied, 0 s, Infinity B/s").expect("a report");
        assert_eq!((still.rate, still.bytes), (None, 1024));
        assert!(
            report(1, "1258291200 bytes (1.3 GB, 1.2 GiB) copied, 2 s, 609 MB/s").expect("it").seconds_half_step < 1e-5
        );
    }

    #[test]
    fn only_the_report_behind_the_records_counts() {
        let text = "\r97 bytes copied, 1 s, 9 MB/s125 bytes (1) copied, 1.4 s, 858 MB/s\n\n3+0 records in\n3+0 records out\n\
                    125 bytes copied, 2.06535 s, 609 MB/s\n";
        assert_eq!(last(text).map(|report| report.seconds), Some(2.065_35));
        // A signal asked for a report, and another one ended dd.
        let cut = "3+0 records in\n3+0 records out\n125 bytes copied, 2.0 s, 609 MB/s\n4+0 records in\n";
        assert_eq!(last(cut), None);
        assert_eq!(last("125 bytes copied, 2.0 s, 609 MB/s\n"), None);
    }
}
