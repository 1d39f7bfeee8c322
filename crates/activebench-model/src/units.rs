//! Units and quantities: a number always has a unit.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The unit of a normalised quantity. Serialised names include the full unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Bytes (never KiB or kB: renderers scale).
    Bytes,
    /// Nanoseconds of `CLOCK_MONOTONIC`.
    Ns,
    /// Bytes per second.
    BytesPerSec,
    /// Completed operations per second.
    OpsPerSec,
    /// A share; 0 to 1 unless the quantity is documented to exceed 1.
    Ratio,
    /// A plain count; the fact's name says what is counted.
    Count,
}

impl Unit {
    /// Returns the unit as written in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Unit::Bytes => "bytes",
            Unit::Ns => "ns",
            Unit::BytesPerSec => "bytes_per_sec",
            Unit::OpsPerSec => "ops_per_sec",
            Unit::Ratio => "ratio",
            Unit::Count => "count",
        }
    }
}

/// A number with its unit.
///
/// Whole numbers up to 2^53 (9 PB, 104 days in ns) are exact.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Quantity {
    /// The number, finite.
    pub value: f64,
    /// Its unit.
    pub unit: Unit,
}

impl Quantity {
    /// Creates a quantity of `value` bytes.
    pub fn bytes(value: u64) -> Self {
        Self { value: value as f64, unit: Unit::Bytes }
    }

    /// Creates a quantity of `value` nanoseconds.
    pub fn ns(value: u64) -> Self {
        Self { value: value as f64, unit: Unit::Ns }
    }

    /// Creates a quantity of `value` bytes per second.
    pub fn bytes_per_sec(value: f64) -> Self {
        Self { value, unit: Unit::BytesPerSec }
    }

    /// Creates a quantity of `value` operations per second.
    pub fn ops_per_sec(value: f64) -> Self {
        Self { value, unit: Unit::OpsPerSec }
    }

    /// Creates a share; not a percentage.
    pub fn ratio(value: f64) -> Self {
        Self { value, unit: Unit::Ratio }
    }

    /// Creates a count of `value`.
    pub fn count(value: u64) -> Self {
        Self { value: value as f64, unit: Unit::Count }
    }

    /// Computes a rate from bytes and a time; `None` when the time is zero.
    pub fn rate(bytes: f64, duration_ns: f64) -> Option<Self> {
        (duration_ns > 0.0).then(|| Self::bytes_per_sec(bytes * 1e9 / duration_ns))
    }

    /// Computes a rate from operations and a time; `None` when the time is zero.
    pub fn op_rate(operations: f64, duration_ns: f64) -> Option<Self> {
        (duration_ns > 0.0).then(|| Self::ops_per_sec(operations * 1e9 / duration_ns))
    }
}

/// Formats for people: powers of 1024 for bytes (`1.25 GiB`), decimal for the rest.
///
/// Three significant digits are enough to see 1 %, and few enough to read; JSON has all of them.
impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.unit {
            Unit::Bytes => write_scaled(f, self.value, 1024.0, &["B", "KiB", "MiB", "GiB", "TiB", "PiB"]),
            Unit::BytesPerSec => {
                write_scaled(f, self.value, 1024.0, &["B/s", "KiB/s", "MiB/s", "GiB/s", "TiB/s", "PiB/s"])
            }
            Unit::Ns => write_scaled(f, self.value, 1000.0, &["ns", "µs", "ms", "s"]),
            Unit::OpsPerSec => write_scaled(f, self.value, 1000.0, &["IOPS", "k IOPS", "M IOPS"]),
            Unit::Ratio => write!(f, "{} %", significant(self.value * 100.0)),
            Unit::Count if self.value.fract() == 0.0 => write!(f, "{}", self.value),
            Unit::Count => write!(f, "{}", significant(self.value)),
        }
    }
}

fn write_scaled(f: &mut fmt::Formatter<'_>, value: f64, base: f64, names: &[&str]) -> fmt::Result {
    let mut scaled = value;
    let mut index = 0;
    while scaled.abs() >= base && index + 1 < names.len() {
        scaled /= base;
        index += 1;
    }
    if index == 0 && scaled.fract() == 0.0 {
        write!(f, "{scaled} {}", names[0])
    } else {
        write!(f, "{} {}", significant(scaled), names[index])
    }
}

/// Formats `value` with three significant digits, whole numbers without decimals; never in scientific notation.
pub fn significant(value: f64) -> String {
    let magnitude = value.abs();
    // A number that is whole but for the error of its computation.
    let is_whole = (magnitude - magnitude.round()).abs() <= magnitude * 1e-9;
    let decimals = match magnitude {
        _ if is_whole => 0,
        m if m >= 99.95 => 0,
        m if m >= 9.995 => 1,
        m if m >= 0.9995 => 2,
        m if m >= 0.09995 => 3,
        m if m >= 0.009_995 => 4,
        _ => 5,
    };
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_read_as_a_person_writes_them() {
        for (quantity, expected) in [
            (Quantity::bytes(512), "512 B"),
            (Quantity::bytes(1 << 30), "1 GiB"),
            (Quantity::bytes_per_sec(1_536.0 * 1024.0 * 1024.0), "1.50 GiB/s"),
            (Quantity::ns(1_500_000), "1.50 ms"),
            (Quantity::ns(90_000_000_000), "90 s"),
            (Quantity::ratio(0.253), "25.3 %"),
            (Quantity::ops_per_sec(420_000.0), "420 k IOPS"),
            (Quantity::ratio(0.999_96), "100 %"),
            (Quantity::ratio(0.000_561), "0.0561 %"),
            (Quantity::ns(689), "689 ns"),
            (Quantity::ns(12_345), "12.3 µs"),
            (Quantity::bytes(1_073_000_000), "1023 MiB"),
            (Quantity::count(7), "7"),
        ] {
            assert_eq!(quantity.to_string(), expected);
        }
    }

    #[test]
    fn a_rate_over_no_time_does_not_exist() {
        assert_eq!(Quantity::rate(4096.0, 0.0), None);
        assert_eq!(Quantity::rate(4096.0, 1e9), Some(Quantity::bytes_per_sec(4096.0)));
    }
}
