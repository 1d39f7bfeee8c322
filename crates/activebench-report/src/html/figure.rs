//! A chart on the page: its name, legend and drawing, and the sentence with the same information.

use maud::{Markup, Render, html};

use super::svg::Ink;

/// Appearance of an ink in the legend.
#[derive(Clone, Copy, Debug)]
pub(super) enum Swatch {
    /// As a line over a faint area.
    Line(Ink),
    /// As an area below a line.
    Area(Ink),
    /// As a box.
    Box(Ink),
    /// As a dot.
    Dot(Ink),
}

impl Render for Swatch {
    fn render(&self) -> Markup {
        const BOX: &str = "M0 0h24v12h-24z";
        const DOT: &str = "M8 6a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z";
        let (fill, line) = match self {
            Swatch::Line(ink) => (None, Some((ink, "M0 6h24"))),
            Swatch::Area(ink) => (Some((ink, BOX)), Some((ink, "M0 1h24"))),
            Swatch::Box(ink) => (Some((ink, BOX)), None),
            Swatch::Dot(ink) => (Some((ink, DOT)), None),
        };
        html! {
            svg.swatch viewBox="0 0 24 12" aria-hidden="true" {
                @if let Some((ink, area)) = fill { path class={ "f " (ink.class()) } d=(area) {} }
                @if let Some((ink, line)) = line { path class={ "l " (ink.class()) } d=(line) {} }
            }
        }
    }
}

/// A chart with its explanation. All text is our own or already escaped.
pub(super) fn figure(name: &str, units: &str, legend: &[(Swatch, &str)], says: &str, drawing: Markup) -> Markup {
    html! {
        figure {
            figcaption {
                b { (name) } " " span.units { (units) }
                @if !legend.is_empty() {
                    " " span.legend { @for (swatch, word) in legend { span { (swatch) " " (word) } " " } }
                }
            }
            (drawing)
            p.says { (says) "." }
        }
    }
}
