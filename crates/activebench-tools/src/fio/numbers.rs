//! fio's numbers in options: sizes with suffixes, times, truth values.

/// A size in bytes: `4k`, `1g`, `512`. `None` for a percentage, a range and what is no number.
///
/// `kb_base` is 1024, or 1000 where the job says so: then `k` is 1000 and `ki` 1024.
pub(super) fn bytes(text: &str, kb_base: u64) -> Option<u64> {
    let text = text.trim().to_ascii_lowercase();
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let number: u64 = text[..digits].parse().ok()?;
    let suffix = &text[digits..];
    let suffix = suffix.strip_suffix('b').unwrap_or(suffix);
    let (letter, base) = match suffix.strip_suffix('i') {
        // With the traditional base the two are told apart the other way round, but 1024 is what `ki` says.
        Some(letter) => (letter, 1024),
        None => (suffix, kb_base),
    };
    let power = match letter {
        "" => 0,
        "k" => 1,
        "m" => 2,
        "g" => 3,
        "t" => 4,
        "p" => 5,
        _ => return None,
    };
    number.checked_mul(base.checked_pow(power)?)
}

/// A time in ns; without a unit it is in `unit_ns`.
pub(super) fn time_ns(text: &str, unit_ns: u64) -> Option<u64> {
    let text = text.trim();
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let number: u64 = text[..digits].parse().ok()?;
    let unit_ns = match text[digits..].trim().to_ascii_lowercase().as_str() {
        "" => unit_ns,
        "us" | "usec" => 1_000,
        "ms" | "msec" => 1_000_000,
        "s" | "sec" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        "d" => 86_400_000_000_000,
        _ => return None,
    };
    number.checked_mul(unit_ns)
}

/// Whether an option's value switches it on. One that stands without a value does.
pub(super) fn is_true(value: &str) -> bool {
    !matches!(value.trim().to_ascii_lowercase().as_str(), "0" | "false" | "no" | "none" | "off")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_fio_does() {
        for (text, base, expected) in [
            ("4096", 1024, Some(4096)),
            ("4k", 1024, Some(4096)),
            ("4K", 1000, Some(4000)),
            ("4kib", 1000, Some(4096)),
            ("4kb", 1024, Some(4096)),
            ("2g", 1024, Some(2 << 30)),
            ("50%", 1024, None),
            ("4k-16k", 1024, None),
            ("", 1024, None),
            ("99999999999999999999", 1024, None),
            ("9999999999p", 1024, None),
            ("\u{212a}", 1024, None),
        ] {
            assert_eq!(bytes(text, base), expected, "{text}");
        }
    }

    #[test]
    fn times_are_seconds_unless_they_say_otherwise() {
        for (text, expected) in [
            ("10", Some(10_000_000_000)),
            ("10s", Some(10_000_000_000)),
            ("250ms", Some(250_000_000)),
            ("2m", Some(120_000_000_000)),
            ("x", None),
            ("18446744073709551615", None),
        ] {
            assert_eq!(time_ns(text, 1_000_000_000), expected, "{text}");
        }
    }
}
