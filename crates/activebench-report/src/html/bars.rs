//! Horizontal bars on one axis from zero: an outline for what was claimed, a filled bar for what is honest.
//!
//! The figures stand beside the bars; the drawing repeats them and is hidden from assistive technology.

use maud::{Markup, html};

use super::row_axis::{RowAxis, percent, upright};
use super::units::Unitary;

/// Height of a row, in pixels.
const HEIGHT: u32 = 24;
/// A ceiling that is this many times the longest bar would leave no room for the bars. It is not drawn.
const FARTHEST_CEILING: f64 = 2.0;
/// Id of the pattern for figures that are not known.
pub(super) const HATCH: &str = "hatch";

/// One row.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bar {
    /// The claimed figure, in the unit of the axis; `None` where nothing was claimed.
    pub(super) claimed: Option<f64>,
    /// The honest figure; `None` where it is not known.
    pub(super) honest: Option<f64>,
    /// The maximum of this figure; `None` where it is not known.
    pub(super) ceiling: Option<f64>,
    /// Both ends of an interval around the honest figure; `None` where there is none.
    pub(super) interval: Option<(f64, f64)>,
    /// `true` for the row of a claim whose honest figure has a row of its own.
    pub(super) is_only_claimed: bool,
}

impl Bar {
    /// Returns an axis for these rows; `None` if no figure of them can be drawn.
    pub(super) fn axis(unit: Unitary, bars: &[Bar]) -> Option<RowAxis> {
        let lengths = bars
            .iter()
            .flat_map(|bar| bar.claimed.into_iter().chain(bar.honest).chain(bar.interval.map(|(_, high)| high)));
        let lengths: Vec<f64> = lengths.collect();
        let most = lengths.iter().copied().filter(|length| length.is_finite()).fold(0.0, f64::max);
        let near = bars.iter().filter_map(|bar| bar.ceiling).filter(|ceiling| *ceiling <= most * FARTHEST_CEILING);
        RowAxis::from_zero(unit.name, unit.size, lengths.iter().copied().chain(near))
    }

    /// Draws the row.
    pub(super) fn draw(&self, axis: &RowAxis) -> Markup {
        let width = |value: Option<f64>| value.filter(|value| value.is_finite()).map(|value| axis.place(value));
        let (claimed, honest) = (width(self.claimed), width(self.honest));
        let ceiling = self.ceiling.filter(|ceiling| *ceiling > 0.0 && axis.shows(*ceiling));
        html! {
            svg.bar aria-hidden="true" width="100%" height=(HEIGHT) {
                (axis.draw_grid(HEIGHT))
                @if let Some(honest) = honest { rect.honest x="0" y="7" width=(percent(honest)) height="10" {} }
                @if !self.is_only_claimed && let (Some(claimed), None) = (claimed, honest) { (hatched(claimed, 3, 18)) }
                @if let Some(claimed) = claimed { rect.claimed x="0" y="3" width=(percent(claimed)) height="18" {} }
                @if let Some((low, high)) = self.interval { (whisker(axis.place(low), axis.place(high), HEIGHT / 2)) }
                @if let Some(ceiling) = ceiling { (upright(axis.place(ceiling), HEIGHT, "ceiling")) }
            }
        }
    }
}

/// Draws an interval as a line with ends, at this height.
fn whisker(low: f64, high: f64, y: u32) -> Markup {
    html! {
        line.interval x1=(percent(low)) x2=(percent(high)) y1=(y) y2=(y) {}
        @for end in [low, high] { line.interval x1=(percent(end)) x2=(percent(end)) y1=(y - 4) y2=(y + 4) {} }
    }
}

/// Draws the hatching of what is not known, from the left end to this place.
pub(super) fn hatched(to: f64, y: u32, height: u32) -> Markup {
    html! { rect x="0" y=(y) width=(percent(to)) height=(height) fill={ "url(#" (HATCH) ")" } {} }
}

/// The pattern of figures that are not known. A page has it once.
pub(super) fn hatch() -> Markup {
    html! {
        svg.defs aria-hidden="true" width="0" height="0" {
            pattern id=(HATCH) width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)" {
                line.hatched x1="0" x2="0" y1="0" y2="6" {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_far_ceiling_does_not_squeeze_the_bars() {
        let bar = |claimed, honest, ceiling| Bar { claimed: Some(claimed), honest, ceiling, ..Bar::default() };
        let bars = [bar(819.0, Some(566.0), Some(1200.0)), bar(984.0, None, Some(5000.0))];
        let axis = Bar::axis(Unitary { name: "MiB/s", size: 1.0 }, &bars).expect("an axis");
        assert!(axis.shows(1200.0) && !axis.shows(5000.0), "{axis:?}");
    }

    #[test]
    fn a_figure_that_is_not_known_is_hatched() {
        let bar = Bar { claimed: Some(2.0), ..Bar::default() };
        let axis = Bar::axis(Unitary { name: "B/s", size: 1.0 }, &[bar]).expect("an axis");
        let drawn = bar.draw(&axis).into_string();
        assert!(drawn.contains("url(#hatch)") && !drawn.contains("class=\"honest\""), "{drawn}");
    }
}
