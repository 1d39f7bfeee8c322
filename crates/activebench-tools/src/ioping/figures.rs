//! Numbers with prefixes as ioping prints them: `8.08 k`, `31.6 MiB/s`, `247.5 us`.

use crate::printed::Number;

/// A printed number with its unit.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Figure {
    pub(super) number: Number,
    /// Factor to the base unit: one, bytes, nanoseconds.
    pub(super) scale: f64,
    /// The unit as printed, without what counts: `k`, `MiB/s`.
    pub(super) unit: String,
}

const DECIMAL: [(&str, f64); 5] = [("", 1.0), ("k", 1e3), ("M", 1e6), ("G", 1e9), ("T", 1e12)];
const BINARY: [(&str, f64); 5] =
    [("B", 1.0), ("KiB", 1024.0), ("MiB", 1_048_576.0), ("GiB", 1_073_741_824.0), ("TiB", 1_099_511_627_776.0)];
const TIME: [(&str, f64); 6] = [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9), ("min", 60e9), ("hour", 3600e9)];

impl Figure {
    /// Returns half a step of the last digit in the base unit. ioping prints about three digits, and cuts the rest off.
    pub(super) fn resolution(&self) -> f64 {
        self.number.half_step * self.scale
    }

    pub(super) fn value(&self) -> f64 {
        self.number.value * self.scale
    }
}

fn of(text: &str, units: &[(&str, f64)]) -> Option<Figure> {
    let (number, unit) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
    let (_, scale) = units.iter().find(|(known, _)| *known == unit)?;
    Some(Figure { number: Number::parse(number)?, scale: *scale, unit: unit.to_owned() })
}

/// Reads a count: `501`, `70.6 k`.
pub(super) fn count(text: &str) -> Option<Figure> {
    of(text, &DECIMAL)
}

/// Reads a size: `275.9 MiB`.
pub(super) fn size(text: &str) -> Option<Figure> {
    of(text, &BINARY)
}

/// Reads a throughput: `98.1 MiB/s`.
pub(super) fn throughput(text: &str) -> Option<Figure> {
    let figure = size(text.trim().strip_suffix("/s")?)?;
    Some(Figure { unit: format!("{}/s", figure.unit), ..figure })
}

/// Reads a time: `39.8 us`.
pub(super) fn time(text: &str) -> Option<Figure> {
    of(text, &TIME)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_are_decimal_for_counts_and_binary_for_bytes() {
        let value = |figure: Option<Figure>| figure.map(|figure| (figure.value(), figure.resolution()));
        assert_eq!(value(count("70.6 k")), Some((70_600.0, 50.0)));
        assert_eq!(value(count("501")), Some((501.0, 0.5)));
        assert_eq!(value(throughput("1.5 KiB/s")), Some((1536.0, 51.2)));
        assert_eq!(value(time("7.5 ms")), Some((7_500_000.0, 50_000.0)));
        assert_eq!((value(size("1.5 k")), value(time("3")), value(throughput("3 MiB"))), (None, None, None));
    }
}
