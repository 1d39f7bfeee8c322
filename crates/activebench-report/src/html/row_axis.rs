//! The axis that rows of a table share, such as bars and dots.
//!
//! All places are percentages of the width, so that lines and labels keep their size in every window.

use maud::{Markup, html};

use super::units::plain;

/// Approximate number of steps; the margin of the axis is not one.
const STEPS: f64 = 4.1;
/// Space beside the outermost value, as a share of the axis.
const MARGIN: f64 = 0.02;
/// Dots may have an axis that does not begin at zero if they are this close together, as a share of the largest.
const CLOSE: f64 = 0.3;
/// Largest number that is drawn.
const LARGEST: f64 = 1e300;

/// An axis with a unit.
#[derive(Debug)]
pub(super) struct RowAxis {
    /// Name of the unit, already escaped.
    unit: String,
    /// Size of the unit, in the unit of the values.
    size: f64,
    /// Value at the left end, at least zero.
    start: f64,
    /// Value at the right end, above `start`.
    end: f64,
    /// Distance of two labels, in the unit of the values.
    step: f64,
}

impl RowAxis {
    /// Returns an axis from zero; `None` if no value is above zero.
    pub(super) fn from_zero(unit: &str, size: f64, values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let most = values.into_iter().filter(|value| value.is_finite()).fold(0.0, f64::max);
        Self::between(unit, size, 0.0, most * (1.0 + MARGIN))
    }

    /// Returns an axis for dots: from zero, unless they are so close together that they would not be distinguishable.
    pub(super) fn around(unit: &str, size: f64, values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let known = values.into_iter().filter(|value| value.is_finite() && *value >= 0.0);
        let (mut least, mut most) = (f64::INFINITY, 0.0);
        known.for_each(|value| {
            least = value.min(least);
            most = value.max(most);
        });
        let span = most - least;
        if !(span > 0.0 && span < most * CLOSE) {
            return Self::between(unit, size, 0.0, most * (1.0 + MARGIN));
        }
        let side = span * 0.15;
        Self::between(unit, size, (least - side).max(0.0), most + side)
    }

    fn between(unit: &str, size: f64, start: f64, end: f64) -> Option<Self> {
        if !(f64::MIN_POSITIVE..LARGEST).contains(&end) || !(f64::MIN_POSITIVE..LARGEST).contains(&size) {
            return None;
        }
        let rough = (end - start) / size / STEPS;
        let power = 10_f64.powf(rough.log10().floor());
        let factor = [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().find(|factor| factor * power >= rough).unwrap_or(10.0);
        let step = factor * power * size;
        (step > 0.0 && step.is_finite()).then_some(Self { unit: unit.to_owned(), size, start, end, step })
    }

    /// Returns the unit of the labels, and that the axis does not begin at zero.
    pub(super) fn says(&self) -> String {
        match self.start > 0.0 {
            true => format!("{}, not from zero", self.unit),
            false => self.unit.clone(),
        }
    }

    /// Returns `true` if the value is within the axis.
    pub(super) fn shows(&self, value: f64) -> bool {
        (self.start..=self.end).contains(&value)
    }

    /// Returns the place of a value, in percent of the width. A value outside is at the end.
    pub(super) fn place(&self, value: f64) -> f64 {
        ((value - self.start) / (self.end - self.start) * 100.0).clamp(0.0, 100.0)
    }

    /// Places of the labels, in percent, and their texts.
    fn labels(&self) -> Vec<(f64, String)> {
        let first = (self.start / self.step).ceil();
        let number = ((self.end / self.step).floor() - first).clamp(0.0, 12.0) as usize;
        let at = |step: usize| (first + step as f64) * self.step;
        (0..=number).map(at).map(|at| (self.place(at), plain(at / self.size))).collect()
    }

    /// Draws the lines at the labels, for a row of this height in pixels.
    pub(super) fn draw_grid(&self, height: u32) -> Markup {
        html! { @for (at, _) in self.labels() { (upright(at, height, "grid")) } }
    }

    /// Draws the labels below the rows.
    pub(super) fn draw_labels(&self) -> Markup {
        html! {
            svg.bar aria-hidden="true" width="100%" height="20" {
                @for (at, label) in self.labels() {
                    text x=(percent(at)) y="14" text-anchor=(anchor(at)) { (label) }
                }
            }
        }
    }
}

/// Alignment of a text at this place, so that it stays within the drawing.
pub(super) fn anchor(at: f64) -> &'static str {
    if at < 4.0 {
        "start"
    } else if at > 94.0 {
        "end"
    } else {
        "middle"
    }
}

/// Draws an upright line over the height of a row.
pub(super) fn upright(at: f64, height: u32, class: &str) -> Markup {
    html! { line.(class) x1=(percent(at)) x2=(percent(at)) y1="0" y2=(height) {} }
}

/// Formats a place as an attribute.
pub(super) fn percent(value: f64) -> String {
    format!("{}%", plain((value * 100.0).round() / 100.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: f64 = 1024.0 * 1024.0;

    fn labels(axis: &RowAxis) -> Vec<String> {
        axis.labels().into_iter().map(|(_, label)| label).collect()
    }

    #[test]
    fn an_axis_has_round_labels_from_zero() {
        let axis = RowAxis::from_zero("MiB/s", MIB, [819.0 * MIB, 984.0 * MIB]).expect("an axis");
        assert_eq!(labels(&axis), ["0", "250", "500", "750", "1000"]);
        assert_eq!(axis.says(), "MiB/s");
        assert!(!axis.shows(5000.0 * MIB));
    }

    #[test]
    fn dots_that_are_close_have_an_axis_that_says_where_it_begins() {
        let axis = RowAxis::around("MB/s", 1e6, [200e6, 203e6, 205e6]).expect("an axis");
        assert_eq!(labels(&axis), ["200", "202", "204"]);
        assert_eq!(axis.says(), "MB/s, not from zero");
        let axis = RowAxis::around("MB/s", 1e6, [20e6, 203e6]).expect("an axis");
        assert_eq!((labels(&axis)[0].as_str(), axis.says().as_str()), ("0", "MB/s"));
    }

    #[test]
    fn figures_without_a_range_have_no_axis() {
        for figure in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e305] {
            assert!(RowAxis::from_zero("B/s", 1.0, [figure]).is_none(), "{figure}");
            assert!(RowAxis::around("B/s", 1.0, [figure]).is_none(), "{figure}");
        }
        assert!(RowAxis::around("B/s", 1.0, [1e305, 1.0]).is_none());
    }
}
