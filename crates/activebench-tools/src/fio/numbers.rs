//! fio's numbers in options: sizes with suffixes, times, booleans.

/// Parses a size in bytes: `4k`, `1g`, `512`. `None` for a percentage, a range and text that is not a number, and for a
/// suffix if the base is unknown.
///
/// fio's `kb_base` is the base of `k`, `kb`, `ki` and similar suffixes. The long forms (`kib`) have the other base:
/// with 1000 they are powers of 1024, and with 1024, the default, powers of 1000. After a blank no suffix counts: `bs =
/// 64k` in a job file is a block of 64 bytes (measured with 3.33).
pub(super) fn bytes(text: &str, kb_base: Option<u64>) -> Option<u64> {
    let text = text.trim_end().to_ascii_lowercase();
    let plain = text.trim_start();
    let digits = plain.len() - plain.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let number: u64 = plain[..digits].parse().ok()?;
    if plain.len() != text.len() {
        return Some(number);
    }
    let power = match text[digits..].chars().next() {
        None | Some('b') => return Some(number),
        Some('k') => 1,
        Some('m') => 2,
        Some('g') => 3,
        Some('t') => 4,
        Some('p') => 5,
        _ => return None,
    };
    let base = match (&text[digits + 1..], kb_base?) {
        ("" | "b" | "i", base) => base,
        ("ib", 1000) => 1024,
        ("ib", _) => 1000,
        _ => return None,
    };
    number.checked_mul(base.checked_pow(power)?)
}

/// Parses a time in ns; without a unit it is in `unit_ns`. fio takes an unknown unit, `sec` among them, for us: `None`.
/// After a blank no unit counts, as with sizes.
pub(super) fn time_ns(text: &str, unit_ns: u64) -> Option<u64> {
    let has_blank = text.starts_with(char::is_whitespace);
    let text = text.trim();
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let number: u64 = text[..digits].parse().ok()?;
    if has_blank {
        return number.checked_mul(unit_ns);
    }
    let unit_ns = match text[digits..].trim().to_ascii_lowercase().as_str() {
        "" => unit_ns,
        "us" | "usec" => 1_000,
        "ms" | "msec" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        "d" => 86_400_000_000_000,
        _ => return None,
    };
    number.checked_mul(unit_ns)
}

/// Returns true if an option's value switches it on, as an option without a value does.
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
            ("4ki", 1000, Some(4000)),
            ("4kib", 1000, Some(4096)),
            ("4kib", 1024, Some(4000)),
            ("4MiB", 1024, Some(4_000_000)),
            ("4kb", 1024, Some(4096)),
            ("512b", 1024, Some(512)),
            ("1.5g", 1024, None),
            ("4kx", 1024, None),
            (" 64k", 1024, Some(64)),
            (" ", 1024, None),
            ("2g", 1024, Some(2 << 30)),
            ("50%", 1024, None),
            ("4k-16k", 1024, None),
            ("", 1024, None),
            ("99999999999999999999", 1024, None),
            ("9999999999p", 1024, None),
            ("\u{212a}", 1024, None),
        ] {
            assert_eq!(bytes(text, Some(base)), expected, "{text}");
        }
        assert_eq!((bytes("4096", None), bytes("4k", None)), (Some(4096), None));
    }

    #[test]
    fn times_are_seconds_unless_they_say_otherwise() {
        for (text, expected) in [
            ("10", Some(10_000_000_000)),
            ("10s", Some(10_000_000_000)),
            ("250ms", Some(250_000_000)),
            ("2m", Some(120_000_000_000)),
            ("10sec", None),
            (" 250ms", Some(250_000_000_000)),
            ("x", None),
            ("18446744073709551615", None),
        ] {
            assert_eq!(time_ns(text, 1_000_000_000), expected, "{text}");
        }
    }
}
