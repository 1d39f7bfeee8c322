//! The marks in the rows of a table, and their legend.

use maud::{Markup, Render, html};

use super::bars::HATCH;

/// A mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    /// A figure that was claimed.
    Claimed,
    /// A figure that is honest.
    Honest,
    /// A claim whose honest figure is not known.
    Unknown,
    /// A maximum.
    Ceiling,
    /// An interval around a bar.
    Interval,
    /// An interval behind dots.
    Band,
    /// A dot for each run or unit.
    Dot,
    /// A dot for a figure that was only claimed.
    Hollow,
    /// A median.
    Median,
    /// An agreed limit.
    Limit,
    /// The side of a limit on which a figure misses it.
    Missed,
    /// The guard band of a limit.
    Guard,
}

impl Render for Mark {
    fn render(&self) -> Markup {
        html! {
            svg.swatch aria-hidden="true" viewBox="0 0 24 12" {
                @match self {
                    Mark::Claimed => rect.claimed x="1" y="1" width="22" height="10" {},
                    Mark::Honest => rect.honest x="0" y="2" width="24" height="8" {},
                    Mark::Unknown => {
                        rect x="1" y="1" width="22" height="10" fill={ "url(#" (HATCH) ")" } {}
                        rect.claimed x="1" y="1" width="22" height="10" {}
                    },
                    Mark::Ceiling => line.ceiling x1="12" x2="12" y1="0" y2="12" {},
                    Mark::Interval => {
                        line.interval x1="2" x2="22" y1="6" y2="6" {}
                        @for end in [2, 22] { line.interval x1=(end) x2=(end) y1="2" y2="10" {} }
                    },
                    Mark::Band => rect.band x="0" y="0" width="24" height="12" {},
                    Mark::Dot => circle.dot cx="12" cy="6" r="4" {},
                    Mark::Hollow => circle.dot.hollow cx="12" cy="6" r="4" {},
                    Mark::Median => line.median x1="12" x2="12" y1="0" y2="12" {},
                    Mark::Limit => line.limit x1="12" x2="12" y1="0" y2="12" {},
                    Mark::Missed => rect.missed x="0" y="0" width="24" height="12" {},
                    Mark::Guard => rect.guard x="0" y="0" width="24" height="12" {},
                }
            }
        }
    }
}

/// What the marks mean.
pub(super) fn legend<'a>(marks: impl IntoIterator<Item = (Mark, &'a str)>) -> Markup {
    html! { p.legend { @for (mark, words) in marks { span { (mark) " " (words) } " " } } }
}
