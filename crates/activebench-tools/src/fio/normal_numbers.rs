//! Numbers in fio's report for people, with the step of their last digit.

use activebench_model::claim::SourceLine;

use super::report::Figure;

/// fio 2's KB without `kb_base`, in bytes.
pub(super) const KILOBYTE: f64 = 1024.0;

/// Returns the word after a key, up to a comma, a blank or a bracket.
pub(super) fn word_after<'t>(text: &'t str, key: &str) -> Option<&'t str> {
    let rest = after(text, key)?;
    let end = rest.find([',', ' ', '(', ')', ';']).unwrap_or(rest.len());
    Some(&rest[..end]).filter(|word| !word.is_empty())
}

/// Returns the number after a key with its unit: `521296 B/s`, `1,024MB`. `None` if nothing follows it: the line may
/// have been wrapped in the number.
pub(super) fn value_after<'t>(text: &'t str, key: &str) -> Option<&'t str> {
    let rest = after(text, key)?;
    let digits = |behind: &str| behind.bytes().take_while(u8::is_ascii_digit).count();
    let ends = |(at, sign): (usize, char)| match sign {
        // Thousands.
        ',' => digits(&rest[at + 1..]) != 3,
        ' ' | '(' | ')' | ';' => true,
        _ => false,
    };
    let mut end = rest.char_indices().find(|found| ends(*found))?.0;
    // The decimals of another language, `51,8k`: not what fio prints.
    if rest[end..].strip_prefix(',').is_some_and(|behind| digits(behind) > 0) {
        return None;
    }
    // fio 1 and 2 print small rates with a blank before the unit.
    if rest[end..].starts_with(" B/s") {
        end += " B/s".len();
        rest[end..].starts_with([',', ' ']).then_some(())?;
    }
    Some(&rest[..end]).filter(|word| !word.is_empty())
}

fn after<'t>(text: &'t str, key: &str) -> Option<&'t str> {
    let at = text.match_indices(key).find(|(at, _)| *at == 0 || text[..*at].ends_with([' ', ',', '(', ':']))?.0;
    Some(text[at + key.len()..].trim_start())
}

/// Parses an amount or a rate of data. `kilobyte` are the bytes of KB in a report of fio 1 or 2; `None` in one of fio 3,
/// which has units of its own for 1000 and 1024.
pub(super) fn sized(words: &str, kilobyte: Option<f64>, source: &SourceLine) -> Option<Figure> {
    let (number, unit) = split_unit(words)?;
    let (value, step) = decimal_or_thousands(number)?;
    let unit = unit.trim_start();
    let name = unit.trim_end_matches("/s");
    let factor = match kilobyte {
        Some(kilobyte) => unit_bytes_of_fio_2(name, kilobyte)?,
        None => unit_bytes(name)?,
    };
    Some(Figure {
        value: value * factor,
        resolution: step * factor / 2.0,
        text: number.to_owned(),
        unit: unit.to_owned(),
        source: source.clone(),
    })
}

pub(super) fn count_of(count: u64, printed: &str, source: &SourceLine) -> Figure {
    Figure {
        value: count as f64,
        resolution: 0.0,
        text: printed.to_owned(),
        unit: "issued".to_owned(),
        source: source.clone(),
    }
}

/// Parses `usr=0.91%`.
pub(super) fn share(text: &str, key: &str, source: &SourceLine) -> Option<Figure> {
    let printed = value_after(text, key)?.strip_suffix('%')?;
    let (number, step) = number_of(printed)?;
    Some(Figure {
        value: number / 100.0,
        resolution: step / 200.0,
        text: printed.to_owned(),
        unit: "%".to_owned(),
        source: source.clone(),
    })
}

/// Splits `197MiB/s` into `197` and `MiB/s`. The number may have commas.
pub(super) fn split_unit(word: &str) -> Option<(&str, &str)> {
    let digits = word.find(|c: char| !c.is_ascii_digit() && c != '.' && c != ',')?;
    Some(word.split_at(digits))
}

/// Parses a number as [`number_of`], or one with commas between its thousands.
pub(super) fn decimal_or_thousands(word: &str) -> Option<(f64, f64)> {
    let Some((first, groups)) = word.split_once(',') else { return number_of(word) };
    let of_three = groups.split(',').all(|group| group.len() == 3 && group.bytes().all(|byte| byte.is_ascii_digit()));
    let plain = (1..=3).contains(&first.len()) && first.bytes().all(|byte| byte.is_ascii_digit());
    (of_three && plain).then(|| number_of(&word.replace(',', ""))).flatten()
}

/// Parses a number with fio's suffix for thousands; returns it with the step of its last digit.
pub(super) fn number_of(word: &str) -> Option<(f64, f64)> {
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

/// Units of fio 1 and 2, whose KB is what `kb_base` says.
fn unit_bytes_of_fio_2(unit: &str, kilobyte: f64) -> Option<f64> {
    Some(match unit {
        "KB" => kilobyte,
        "MB" => kilobyte.powi(2),
        "GB" => kilobyte.powi(3),
        "TB" => kilobyte.powi(4),
        other => return unit_bytes(other),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_without_what_follows_it_is_none() {
        for (text, expected) in [
            ("io=1024KB, bw=521296 B/s, iops=127, runt=1msec", Some("521296 B/s")),
            ("io=1024KB, bw=521296 B/s", None),
            ("bw=5753KB/s, iops=1", Some("5753KB/s")),
            ("bw=5753KB", None),
            ("bw=57,5KB/s, iops=1", None),
            ("bw=69,413KiB/s, iops=1,084 , runt=", Some("69,413KiB/s")),
            ("minb=1KB/s, aggrbw=2KB/s, x", None),
        ] {
            assert_eq!(value_after(text, "bw="), expected, "{text}");
        }
    }

    #[test]
    fn units_are_those_of_the_version() {
        let source = SourceLine { stream: "stdout".to_owned(), line: 1, text: String::new() };
        let bytes = |text: &str, kilobyte| sized(text, kilobyte, &source).map(|figure| figure.value);
        assert_eq!(bytes("521296 B/s", Some(KILOBYTE)), Some(521_296.0));
        assert_eq!(bytes("24035KB/s", Some(KILOBYTE)), Some(24_035.0 * 1024.0));
        assert_eq!(bytes("24035KB/s", Some(1000.0)), Some(24_035_000.0));
        assert_eq!(bytes("69,413KiB/s", Some(1000.0)), Some(69_413.0 * 1024.0));
        assert_eq!(bytes("207MB/s", None), Some(207e6));
        assert_eq!(bytes("24035KB/s", None), None);
        assert_eq!(bytes("6,94KB/s", Some(KILOBYTE)), None);
    }
}
