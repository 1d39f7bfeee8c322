//! Parser of single printed figures to numbers with units. Anything but a complete figure is rejected.

use activebench_model::units::{Quantity, Unit};

use super::catalogue::Kind;

/// bonnie++'s K is 1024 bytes in every version.
const KIB: f64 = 1024.0;
/// Maximum digits of a figure; more are beyond what a disk can reach.
const MOST_DIGITS: usize = 15;

/// A printed figure as a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Figure {
    pub(super) value: Quantity,
    /// Half a step of the printed number, in the unit of `value`.
    pub(super) resolution: f64,
}

/// Returns true for `+++++` and `+++`: the test took less than half a second.
pub(super) fn is_unmeasured(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte == b'+')
}

/// Parses the rate of a test. 2.00's table puts k, m or g (powers of 1024) after rates of data.
pub(super) fn rate(kind: Kind, text: &str) -> Option<Figure> {
    let (digits, unit) = match text.char_indices().last()? {
        (at, 'k') => (&text[..at], KIB),
        (at, 'm') => (&text[..at], KIB * KIB),
        (at, 'g') => (&text[..at], KIB * KIB * KIB),
        _ => (text, KIB),
    };
    let (number, half_step) = decimal(digits)?;
    let bytes = kind.is_data() && kind != Kind::Seeks;
    match bytes {
        true => Some(Figure { value: Quantity::bytes_per_sec(number * unit), resolution: half_step * unit }),
        false if digits.len() == text.len() => {
            Some(Figure { value: Quantity::ops_per_sec(number), resolution: half_step })
        }
        false => None,
    }
}

/// Parses `%CP` as a share.
pub(super) fn processor_share(text: &str) -> Option<Figure> {
    let (percent, half_step) = decimal(text)?;
    Some(Figure { value: Quantity::ratio(percent / 100.0), resolution: half_step / 100.0 })
}

/// Parses `704us`, `937ms`, `2s`; returns the unit separately.
pub(super) fn latency(text: &str) -> Option<(Figure, &str)> {
    let at = text.find(|letter: char| !letter.is_ascii_digit())?;
    let (digits, unit) = text.split_at(at);
    let ns = match unit {
        "us" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        _ => return None,
    };
    let (number, half_step) = decimal(digits)?;
    let value = Quantity { value: number * ns, unit: Unit::Ns };
    Some((Figure { value, resolution: half_step * ns }, unit))
}

/// Parses `64M`, `1G`, `2T` in bytes.
pub(super) fn file_bytes(text: &str) -> Option<u64> {
    let (at, letter) = text.char_indices().last()?;
    let shift = match letter {
        'M' => 20,
        'G' => 30,
        'T' => 40,
        _ => return None,
    };
    number(&text[..at])?.checked_mul(1 << shift)
}

/// Parses `64k`, `8192`, `1m` in bytes.
pub(super) fn chunk_bytes(text: &str) -> Option<u64> {
    let (at, letter) = text.char_indices().last()?;
    match letter {
        'k' => number(&text[..at])?.checked_mul(1 << 10),
        'm' => number(&text[..at])?.checked_mul(1 << 20),
        _ => number(text),
    }
}

/// Parses digits and nothing else.
pub(super) fn number(text: &str) -> Option<u64> {
    let plain = !text.is_empty() && text.len() <= MOST_DIGITS && text.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| text.parse().ok())?
}

/// Parses a plain decimal number; returns it with half a step of its last digit.
fn decimal(text: &str) -> Option<(f64, f64)> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let wellformed = number(whole).is_some() && (fraction.is_empty() || number(fraction).is_some());
    if !wellformed || text.ends_with('.') {
        return None;
    }
    let decimals = i32::try_from(fraction.len()).ok()?;
    Some((text.parse().ok()?, 0.5 * 10_f64.powi(-decimals)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_keep_their_units_and_steps() {
        let data = |text: &str| rate(Kind::PutBlock, text).map(|figure| (figure.value.value, figure.resolution));
        assert_eq!(data("120581"), Some((120_581.0 * KIB, 0.5 * KIB)));
        assert_eq!(data("1330k"), Some((1330.0 * KIB, 0.5 * KIB)));
        assert_eq!(data("1.5m"), Some((1.5 * KIB * KIB, 0.05 * KIB * KIB)));
        assert_eq!(data("2g"), Some((2.0 * KIB * KIB * KIB, 0.5 * KIB * KIB * KIB)));
        for none in ["", "+++++", "k", "1.", "-3", "1e9", "1k2", "nan", "99999999999999999999"] {
            assert_eq!(data(none), None, "{none}");
        }
        let seeks = rate(Kind::Seeks, "289.1").expect("a rate");
        assert_eq!((seeks.value, seeks.resolution), (Quantity::ops_per_sec(289.1), 0.05));
        assert_eq!(rate(Kind::Seeks, "289k"), None);
        assert_eq!(processor_share("337").map(|figure| figure.value), Some(Quantity::ratio(3.37)));
        for (text, expected) in [
            ("99999us", Some((99_999e3, 500.0, "us"))),
            ("937ms", Some((937e6, 5e5, "ms"))),
            ("2s", Some((2e9, 5e8, "s"))),
            ("2", None),
            ("us", None),
            ("1.5s", None),
        ] {
            let read = latency(text).map(|(figure, unit)| (figure.value.value, figure.resolution, unit));
            assert_eq!(read, expected, "{text}");
        }
        assert_eq!((file_bytes("64M"), file_bytes("2T"), file_bytes("64")), (Some(64 << 20), Some(2 << 40), None));
        assert_eq!((chunk_bytes("64k"), chunk_bytes("512"), chunk_bytes("")), (Some(65536), Some(512), None));
    }
}
