//! A row of dots, one for each run or unit, with the interval of their median and the limit that they have to meet.
//!
//! The figures stand beside the drawing, which is hidden from assistive technology.

use maud::{Markup, html};

use super::bars::hatched;
use super::marks::Mark;
use super::row_axis::{RowAxis, anchor, percent, upright};

/// Height of a row without names, in pixels.
const HEIGHT: u32 = 34;
/// Height of the names above the dots.
const NAMES: u32 = 16;
/// Radius of a dot.
const RADIUS: u32 = 4;
/// Width of a dot in a narrow window, in percent of the row. Closer dots are drawn above each other.
const DOT: f64 = 2.2;
/// Offsets of dots that would cover each other, in pixels. Beyond them, dots do cover each other.
const LANES: [i32; 5] = [0, -7, 7, -13, 13];
/// Width of a character of a name, in percent of the row.
const CHARACTER: f64 = 1.7;
/// Longest name above a dot, in characters.
const NAME: usize = 18;

/// One dot.
#[derive(Clone, Debug, Default)]
pub(super) struct Dot {
    /// The value, in the unit of the axis.
    pub(super) at: f64,
    /// Class for the colour: `good`, `bad`, `doubtful`, `hollow`, or empty.
    pub(super) class: &'static str,
    /// Name above the dot, already escaped; empty for a dot that is not named.
    pub(super) name: String,
}

/// A limit with its bad side.
#[derive(Clone, Copy, Debug)]
pub(super) struct LimitLine {
    /// The limit, in the unit of the axis.
    pub(super) at: f64,
    /// `true` if values below it miss it.
    pub(super) is_least: bool,
    /// Width of the guard band on each side; 0 where there is none.
    pub(super) guard: f64,
}

/// One row.
#[derive(Clone, Debug, Default)]
pub(super) struct DotRow {
    pub(super) dots: Vec<Dot>,
    /// The median; `None` where it is not known.
    pub(super) median: Option<f64>,
    /// Both ends of the interval of the median; `None` where there is none.
    pub(super) interval: Option<(f64, f64)>,
    /// `None` for values that have no limit.
    pub(super) limit: Option<LimitLine>,
    /// `true` if the honest figures are not known: the dots are those of the claims.
    pub(super) is_unknown: bool,
}

impl DotRow {
    /// Returns every value of the row, for its axis.
    pub(super) fn values(&self) -> Vec<f64> {
        let of_interval = self.interval.into_iter().flat_map(|(low, high)| [low, high]);
        let of_limit = self.limit.map(|limit| limit.at);
        self.dots.iter().map(|dot| dot.at).chain(self.median).chain(of_interval).chain(of_limit).collect()
    }

    /// Returns an axis for this row alone, in a unit with this name, already escaped, and size.
    pub(super) fn axis(&self, unit: &str, size: f64) -> Option<RowAxis> {
        RowAxis::around(unit, size, self.values())
    }

    /// Draws the row.
    pub(super) fn draw(&self, axis: &RowAxis) -> Markup {
        let placed = placed(&self.dots, axis);
        let names = names(&placed);
        let top = if names.is_empty() { 0 } else { NAMES };
        let (height, middle) = (top + HEIGHT, top + HEIGHT / 2);
        html! {
            svg.bar aria-hidden="true" width="100%" height=(height) {
                @if let Some(limit) = self.limit { (bad_side(limit, axis, height)) }
                (axis.draw_grid(height))
                @if self.is_unknown && let Some(last) = placed.iter().map(|dot| dot.at).reduce(f64::max) {
                    (hatched(last, middle - 8, 16))
                }
                @if let Some((low, high)) = self.interval { (span(axis.place(low), axis.place(high), middle - 11, 22, "band")) }
                @if let Some(limit) = self.limit { (upright(axis.place(limit.at), height, "limit")) }
                @if let Some(median) = self.median { (median_line(axis.place(median), middle)) }
                @for dot in &placed {
                    circle class={ "dot " (dot.of.class) } cx=(percent(dot.at)) cy=(middle.saturating_add_signed(dot.offset)) r=(RADIUS) {}
                }
                @for (at, name) in &names { text.name x=(percent(*at)) y="12" text-anchor=(anchor(*at)) { (name) } }
            }
        }
    }
}

/// Returns the marks of these rows, with their meaning. `dot` says what a dot is.
pub(super) fn marks<'a>(rows: &[DotRow], dot: &'a str) -> Vec<(Mark, &'a str)> {
    let any = |is: &dyn Fn(&DotRow) -> bool| rows.iter().any(is);
    let has_dot = |is_hollow: bool| any(&|row| row.dots.iter().any(|dot| (dot.class == "hollow") == is_hollow));
    let marks = [
        (has_dot(false), Mark::Dot, dot),
        (has_dot(true), Mark::Hollow, "claimed, not honest"),
        (any(&|row| row.median.is_some()), Mark::Median, "median"),
        (any(&|row| row.interval.is_some()), Mark::Band, "interval of the median"),
        (any(&|row| row.limit.is_some()), Mark::Limit, "limit"),
        (any(&|row| row.limit.is_some()), Mark::Missed, "misses the limit"),
        (any(&|row| row.limit.is_some_and(|limit| limit.guard > 0.0)), Mark::Guard, "guard band"),
        (any(&|row| row.is_unknown), Mark::Unknown, "not known"),
    ];
    marks.into_iter().filter(|(is_shown, ..)| *is_shown).map(|(_, mark, words)| (mark, words)).collect()
}

/// A dot with its place in percent and its offset in pixels.
struct Placed<'a> {
    of: &'a Dot,
    at: f64,
    offset: i32,
}

fn placed<'a>(dots: &'a [Dot], axis: &RowAxis) -> Vec<Placed<'a>> {
    let known = dots.iter().filter(|dot| dot.at.is_finite() && axis.shows(dot.at));
    let mut placed: Vec<Placed<'_>> = known.map(|of| Placed { of, at: axis.place(of.at), offset: 0 }).collect();
    placed.sort_by(|one, other| one.at.total_cmp(&other.at));
    let mut ends = [f64::NEG_INFINITY; LANES.len()];
    for dot in &mut placed {
        let free = ends.iter().position(|end| *end <= dot.at);
        // Where no lane is free, the one that is free first.
        let lane = free.unwrap_or_else(|| (0..ends.len()).min_by(|a, b| ends[*a].total_cmp(&ends[*b])).unwrap_or(0));
        ends[lane] = dot.at + DOT;
        dot.offset = LANES[lane];
    }
    placed
}

/// Returns the names that have room, with their places.
fn names(placed: &[Placed<'_>]) -> Vec<(f64, String)> {
    let mut end = f64::NEG_INFINITY;
    let mut names = Vec::new();
    for dot in placed.iter().filter(|dot| !dot.of.name.is_empty()) {
        let name = crate::escape::clipped(&dot.of.name, NAME);
        let width = name.chars().count() as f64 * CHARACTER;
        let (from, to) = match anchor(dot.at) {
            "start" => (dot.at, dot.at + width),
            "end" => (dot.at - width, dot.at),
            _ => (dot.at - width / 2.0, dot.at + width / 2.0),
        };
        if from >= end && from >= 0.0 - width / 4.0 {
            names.push((dot.at, name));
            end = to + CHARACTER;
        }
    }
    names
}

fn span(from: f64, to: f64, y: u32, height: u32, class: &str) -> Markup {
    html! { rect.(class) x=(percent(from)) width=(percent((to - from).max(0.0))) y=(y) height=(height) {} }
}

fn median_line(at: f64, middle: u32) -> Markup {
    html! { line.median x1=(percent(at)) x2=(percent(at)) y1=(middle - 13) y2=(middle + 13) {} }
}

fn bad_side(limit: LimitLine, axis: &RowAxis, height: u32) -> Markup {
    let at = axis.place(limit.at);
    let (from, to) = if limit.is_least { (0.0, at) } else { (at, 100.0) };
    html! {
        (span(from, to, 0, height, "missed"))
        @if limit.guard > 0.0 {
            (span(axis.place(limit.at - limit.guard), axis.place(limit.at + limit.guard), 0, height, "guard"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(values: &[f64]) -> DotRow {
        let dots = values.iter().map(|at| Dot { at: *at, name: format!("disk {at}"), ..Dot::default() }).collect();
        DotRow { dots, ..DotRow::default() }
    }

    #[test]
    fn equal_dots_do_not_cover_each_other() {
        let row = row(&[10.0; 5]);
        let axis = row.axis("B/s", 1.0).expect("an axis");
        let offsets: std::collections::BTreeSet<i32> =
            placed(&row.dots, &axis).into_iter().map(|dot| dot.offset).collect();
        assert_eq!(offsets.len(), 5);
    }

    #[test]
    fn names_do_not_cover_each_other() {
        let row = row(&[10.0, 10.1, 50.0]);
        let axis = row.axis("B/s", 1.0).expect("an axis");
        let names: Vec<String> = names(&placed(&row.dots, &axis)).into_iter().map(|(_, name)| name).collect();
        assert_eq!(names, ["disk 10", "disk 50"]);
    }
}
