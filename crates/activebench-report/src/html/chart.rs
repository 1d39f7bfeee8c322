//! One chart: its data and its drawing.
//!
//! `plotters` computes the axis labels and the coordinates. A chart has a name, and a sentence with the same
//! information as the picture.

use std::fmt::Debug;
use std::ops::Range;

use maud::{Markup, PreEscaped, html};
use plotters::chart::{ChartBuilder, LabelAreaPosition};
use plotters::coord::combinators::IntoLogRange;
use plotters::coord::ranged1d::{AsRangedCoord, Ranged, ValueFormatter};
use plotters::drawing::IntoDrawingArea;
use plotters::element::{Circle, PathElement, Polygon, Rectangle, Text};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, IntoFont};

use super::svg::{Ink, Svg};

/// Height above the plot.
const TOP: u32 = 8;
/// Height of the labels of the horizontal axis.
const BOTTOM: u32 = 24;
/// Size of a label, used by the library for the layout. The style sheet sets the displayed size.
const LABEL_SIZE: f64 = 13.0;

/// Distance of words from their place.
const WORDS_APART: i32 = 6;
/// Radius of a round mark.
const DOT: i32 = 4;
/// Smallest length of a range, relative to its ends. A shorter range has no room for labels.
const LEAST_SPAN: f64 = 1e-9;

/// Size of the plot itself, and of the labels beside it, in the units of the drawing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Size {
    /// Width of the labels of the vertical axis.
    left: u32,
    /// Width of the plot: a whole number of units for each of the 120 steps of a time series.
    plot: u32,
    /// Width for half of the last label.
    right: u32,
    height: u32,
}

impl Size {
    /// A chart that takes the width of its column.
    pub(super) fn wide(height: u32) -> Self {
        Self { left: 58, plot: 600, right: 34, height }
    }

    /// A chart of which two stand side by side.
    pub(super) fn small(height: u32) -> Self {
        Self { left: 56, plot: 240, right: 24, height }
    }

    fn is_small(self) -> bool {
        self.plot < 300
    }
}

/// Mapping of values to positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scale {
    Linear,
    /// Powers of ten; the axis starts above 0.
    Log,
}

/// One axis.
pub(super) struct Axis<'a> {
    pub(super) range: Range<f64>,
    pub(super) scale: Scale,
    /// Approximate number of labels.
    pub(super) labels: usize,
    pub(super) label: &'a dyn Fn(f64) -> String,
}

/// A part of the drawing; later parts cover earlier ones.
pub(super) enum Shape {
    /// Filled down to a line, or along points that close it.
    Area(Ink, Vec<(f64, f64)>),
    Line(Ink, Vec<(f64, f64)>),
    /// Boxes, given by two corners each.
    Boxes(Ink, Vec<[(f64, f64); 2]>),
    /// Round marks.
    Dots(Ink, Vec<(f64, f64)>),
    /// Words beside a place: to its right, or to its left where there is no room.
    Words((f64, f64), String),
}

/// A chart before it is drawn.
pub(super) struct Chart<'a> {
    /// Id, unique on the page.
    pub(super) id: &'a str,
    /// Name, understandable on its own.
    pub(super) name: &'a str,
    /// Content of the chart in one sentence.
    pub(super) says: &'a str,
    pub(super) size: Size,
    pub(super) x: Axis<'a>,
    pub(super) y: Axis<'a>,
    pub(super) shapes: Vec<Shape>,
}

impl Chart<'_> {
    /// Draws the chart with its name and sentence. Returns only a sentence if the figures cannot be drawn.
    pub(super) fn draw(&self) -> Markup {
        if let Err(why) = self.check() {
            return html! { p { "No chart: " (why) "." } };
        }
        let Size { left, plot, right, height } = self.size;
        let size = (left + plot + right, TOP + height + BOTTOM);
        let mut drawing = String::new();
        let drawn = match (self.x.scale, self.y.scale) {
            (Scale::Linear, Scale::Linear) => {
                self.draw_on(&mut drawing, size, self.x.range.clone(), self.y.range.clone())
            }
            (Scale::Log, Scale::Log) => {
                self.draw_on(&mut drawing, size, self.x.range.clone().log_scale(), self.y.range.clone().log_scale())
            }
            (Scale::Linear, Scale::Log) => {
                self.draw_on(&mut drawing, size, self.x.range.clone(), self.y.range.clone().log_scale())
            }
            (Scale::Log, Scale::Linear) => {
                self.draw_on(&mut drawing, size, self.x.range.clone().log_scale(), self.y.range.clone())
            }
        };
        if let Err(why) = drawn {
            return html! { p { "No chart: " (why) "." } };
        }
        let (title, description) = (format!("{}-t", self.id), format!("{}-d", self.id));
        html! {
            svg.chart.small[self.size.is_small()] id=(self.id) role="img" viewBox={ "0 0 " (size.0) " " (size.1) }
                aria-labelledby=(title) aria-describedby=(description) {
                title id=(title) { (self.name) }
                desc id=(description) { (self.says) }
                // The only markup not made by `html!`. It consists of numbers, and of labels that the backend has
                // escaped.
                (PreEscaped(drawing))
            }
        }
    }

    /// Checks that both axes have a length, because the figures come from a file.
    fn check(&self) -> Result<(), &'static str> {
        let fits = |axis: &Axis<'_>| {
            let Range { start, end } = axis.range;
            let least = if axis.scale == Scale::Log { f64::MIN_POSITIVE } else { f64::MIN };
            start.is_finite()
                && end.is_finite()
                && start >= least
                && end - start > LEAST_SPAN * start.abs().max(end.abs())
        };
        if fits(&self.x) && fits(&self.y) { Ok(()) } else { Err("its figures span no range") }
    }

    /// Returns the nearest point of the plot. The library's arithmetic fails not far outside it.
    fn inside(&self, (x, y): (f64, f64)) -> (f64, f64) {
        let within = |value: f64, range: &Range<f64>| value.max(range.start).min(range.end);
        (within(x, &self.x.range), within(y, &self.y.range))
    }

    fn draw_on<X, Y>(&self, out: &mut String, size: (u32, u32), x: X, y: Y) -> Result<(), String>
    where
        X: AsRangedCoord<Value = f64>,
        Y: AsRangedCoord<Value = f64>,
        X::CoordDescType: ValueFormatter<f64> + Ranged<ValueType = f64>,
        Y::CoordDescType: ValueFormatter<f64> + Ranged<ValueType = f64>,
    {
        fn said<E: Debug>(error: E) -> String {
            format!("{error:?}")
        }
        let area = Svg::new(out, size).into_drawing_area();
        let mut chart = ChartBuilder::on(&area)
            .margin_top(TOP)
            .margin_right(self.size.right)
            .set_label_area_size(LabelAreaPosition::Left, self.size.left)
            .set_label_area_size(LabelAreaPosition::Bottom, BOTTOM)
            .build_cartesian_2d(x, y)
            .map_err(said)?;
        let is_below = |shape: &&Shape| matches!(shape, Shape::Boxes(Ink::Clock | Ink::Sync, _));
        for shape in self.shapes.iter().filter(is_below) {
            draw_shape(&mut chart, shape, |point| self.inside(point)).map_err(said)?;
        }
        let label = ("sans-serif", LABEL_SIZE).into_font().color(&Ink::Label.colour());
        chart
            .configure_mesh()
            .disable_x_mesh()
            .axis_style(Ink::Axis.colour())
            .bold_line_style(Ink::Grid.colour())
            .light_line_style(Ink::None.colour())
            .set_all_tick_mark_size(4)
            .label_style(label)
            .x_labels(self.x.labels)
            .y_labels(self.y.labels)
            .x_label_formatter(&|value| (self.x.label)(*value))
            .y_label_formatter(&|value| (self.y.label)(*value))
            .draw()
            .map_err(said)?;
        for shape in self.shapes.iter().filter(|shape| !is_below(shape)) {
            if let Shape::Words(place, words) = shape {
                let place = self.inside(*place);
                let (x, y) = chart.backend_coord(&place);
                let (start, end) = (self.size.left as i32, (self.size.left + self.size.plot) as i32);
                let is_left = x > (start + end) / 2;
                let h_pos = if is_left { HPos::Right } else { HPos::Left };
                let style = ("sans-serif", LABEL_SIZE).into_font().color(&Ink::Note.colour());
                let style = style.pos(Pos::new(h_pos, VPos::Center));
                let beside = if is_left { x - WORDS_APART } else { x + WORDS_APART };
                area.draw(&Text::new(words.as_str(), (beside, y), style)).map_err(said)?;
            } else {
                draw_shape(&mut chart, shape, |point| self.inside(point)).map_err(said)?;
            }
        }
        area.present().map_err(said)
    }
}

fn draw_shape<'a, 'b, X, Y>(
    chart: &mut plotters::chart::ChartContext<'a, Svg<'b>, plotters::coord::cartesian::Cartesian2d<X, Y>>,
    shape: &Shape,
    inside: impl Fn((f64, f64)) -> (f64, f64),
) -> Result<(), plotters::drawing::DrawingAreaErrorKind<std::convert::Infallible>>
where
    X: Ranged<ValueType = f64>,
    Y: Ranged<ValueType = f64>,
{
    let all = |points: &[(f64, f64)]| points.iter().map(|point| inside(*point)).collect::<Vec<_>>();
    match shape {
        Shape::Area(ink, points) => {
            chart.draw_series([Polygon::new(all(points), ink.colour())])?;
        }
        Shape::Line(ink, points) => {
            chart.draw_series([PathElement::new(all(points), ink.colour())])?;
        }
        Shape::Dots(ink, places) => {
            chart.draw_series(all(places).into_iter().map(|at| Circle::new(at, DOT, ink.colour().filled())))?;
        }
        // Words are drawn outside of the coordinates.
        Shape::Words(..) => {}
        Shape::Boxes(ink, boxes) => {
            chart
                .draw_series(boxes.iter().map(|corners| Rectangle::new(corners.map(&inside), ink.colour().filled())))?;
        }
    }
    Ok(())
}
