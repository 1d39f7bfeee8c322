//! Units that keep axis labels short, and figures in few characters.

use activebench_model::units::Unit;

use crate::run::figures::Scale;

/// A unit for people, with its size in the model's unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Unitary {
    pub(super) name: &'static str,
    pub(super) size: f64,
}

impl Unitary {
    /// Returns the unit of a table's figures; of a kind without a common unit, the one for its largest figure.
    pub(super) fn of_scale(scale: &Scale, unit: Unit, most: f64) -> Self {
        scale.unit(unit).map_or_else(|| unit_for(unit, most), |(size, name)| Self { name, size })
    }
}

/// Returns each kind of unit once, rates first.
pub(super) fn kinds(units: impl IntoIterator<Item = Unit>) -> Vec<Unit> {
    let mut kinds: Vec<Unit> = Vec::new();
    for unit in units {
        if !kinds.contains(&unit) {
            kinds.push(unit);
        }
    }
    kinds.sort_by_key(|unit| *unit == Unit::Ns);
    kinds
}

/// Returns the largest unit in which `most` is at least 1.
pub(super) fn unit_for(unit: Unit, most: f64) -> Unitary {
    let (base, names): (f64, &[&'static str]) = match unit {
        Unit::Bytes => (1024.0, &["B", "KiB", "MiB", "GiB", "TiB", "PiB"]),
        Unit::BytesPerSec => (1024.0, &["B/s", "KiB/s", "MiB/s", "GiB/s", "TiB/s", "PiB/s"]),
        Unit::Ns => (1000.0, &["ns", "µs", "ms", "s"]),
        Unit::OpsPerSec => (1000.0, &["IOPS", "k IOPS", "M IOPS"]),
        Unit::Ratio => return Unitary { name: "%", size: 0.01 },
        Unit::Count => return Unitary { name: "", size: 1.0 },
    };
    let mut size = 1.0;
    for name in &names[..names.len() - 1] {
        if most < size * base {
            return Unitary { name, size };
        }
        size *= base;
    }
    Unitary { name: names[names.len() - 1], size }
}

/// Formats a figure of an axis, without trailing zeros or superfluous digits.
pub(super) fn plain(value: f64) -> String {
    // Adding 0 turns a negative zero into zero.
    format!("{}", (value * 1e6).round() / 1e6 + 0.0)
}

/// Formats a quantity as in reports, without trailing zeros: `10 us`.
pub(super) fn short(value: f64, unit: Unit) -> String {
    let shown = activebench_model::units::Quantity { value, unit }.to_string();
    match shown.split_once(' ') {
        Some((figure, unit)) if figure.contains('.') => {
            format!("{} {unit}", figure.trim_end_matches('0').trim_end_matches('.'))
        }
        _ => shown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_has_a_unit_of_which_it_shows_at_least_one() {
        for (unit, most, expected) in [
            (Unit::BytesPerSec, 0.0, "B/s"),
            (Unit::BytesPerSec, 3.2e9, "GiB/s"),
            (Unit::BytesPerSec, 1e30, "PiB/s"),
            (Unit::Bytes, 1024.0, "KiB"),
            (Unit::Ns, 999_999.0, "µs"),
            (Unit::Ns, 1e12, "s"),
        ] {
            assert_eq!(unit_for(unit, most).name, expected, "{most} {unit:?}");
        }
    }

    #[test]
    fn figures_are_short() {
        assert_eq!([plain(0.30000000000000004), plain(-0.0), plain(12.0)], ["0.3", "0", "12"]);
        assert_eq!(short(10_000.0, Unit::Ns), "10 µs");
        assert_eq!(short(1_500_000.0, Unit::Ns), "1.5 ms");
        assert_eq!(short(100.0, Unit::Ns), "100 ns");
        assert_eq!(short(0.0, Unit::Ratio), "0 %");
    }
}
