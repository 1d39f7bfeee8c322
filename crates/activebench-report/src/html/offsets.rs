//! Offsets at which a phase moved data over time: one map per file.

use activebench_model::timeline::{OffsetMap, Timeline};
use activebench_model::units::{Quantity, Unit};
use maud::{Markup, html};

use super::chart::{Axis, Chart, Scale, Shape, Size};
use super::figure::{Swatch, figure};
use super::svg::Ink;
use super::timeline::TimeAxis;
use super::units::{plain, unit_for};
use crate::escape::{clipped, terminal};
use crate::wording::count;

/// Height of a row in the units of the drawing.
const ROW_HEIGHT: u32 = 5;
/// Minimum height of a map.
const LEAST_HEIGHT: u32 = 40;
/// Longest name of a file, in characters.
const NAME_SHOWN: usize = 120;

/// The maps of a phase.
pub(super) fn charts(id: &str, phase: &str, timeline: &Timeline, axis: &TimeAxis<'_>) -> Markup {
    html! {
        @for (number, map) in timeline.maps.iter().enumerate() {
            (draw(&format!("{id}-offsets-{}", number + 1), phase, map, axis))
        }
        @if timeline.maps.is_empty() { p { b { "Offsets" } ": no file of the phase is known." } }
        @if timeline.files_left_out > 0 {
            p { b { "Offsets" } ": " (count(timeline.files_left_out, "further file")) " without a map here." }
        }
    }
}

fn draw(id: &str, phase: &str, map: &OffsetMap, axis: &TimeAxis<'_>) -> Markup {
    let file = map
        .name
        .as_deref()
        .map_or_else(|| "a file without a known name".to_owned(), |name| terminal(&clipped(name, NAME_SHOWN)));
    let cells = || map.hits.iter().flatten().copied().filter(|hits| *hits > 0);
    let Some(most) = cells().max() else {
        return html! { p { b { "Offsets" } " in " (file) ": no call of the phase moved data there." } };
    };
    let least = cells().min().unwrap_or(most);
    let levels = Levels::new(least, most);
    let end = map.row_bytes as f64 * map.hits.len() as f64;
    let unit = unit_for(Unit::Bytes, end);
    let row_size = map.row_bytes as f64 / unit.size;
    let mut shapes = axis.marks(0.0, end / unit.size);
    for (level, ink) in Ink::HEAT.into_iter().enumerate() {
        let of_row = |(row, columns): (usize, &Vec<u64>)| {
            boxes(axis, map, row, row_size, columns, |hits| hits > 0 && levels.of(hits) == level)
        };
        let boxes: Vec<_> = map.hits.iter().enumerate().flat_map(of_row).collect();
        if !boxes.is_empty() {
            shapes.push(Shape::Boxes(ink, boxes));
        }
    }
    let touched = map.hits.iter().filter(|row| row.iter().any(|hits| *hits > 0)).count();
    let says = format!(
        "calls touched {touched} of {} parts of {} each, from {} in one part and step",
        map.hits.len(),
        Quantity::bytes(map.row_bytes),
        if least == most { count_hits(most) } else { format!("{least} to {}", count_hits(most)) },
    );
    let name = format!("Offsets of {phase} in {file} over time");
    let rows = u32::try_from(map.hits.len()).unwrap_or(u32::MAX);
    let chart = Chart {
        id,
        name: &name,
        says: &says,
        size: Size::wide(rows.saturating_mul(ROW_HEIGHT).clamp(LEAST_HEIGHT, 200)),
        x: axis.axis(),
        y: Axis { range: 0.0..end / unit.size, scale: Scale::Linear, labels: 4, label: &plain },
        shapes,
    };
    let legend = levels.legend();
    let legend: Vec<(Swatch, &str)> =
        legend.iter().map(|(level, word)| (Swatch::Box(Ink::HEAT[*level]), word.as_str())).collect();
    let units = format!("{} of {file} over {}, calls in each cell", unit.name, axis.unit_name());
    figure("Offsets", &units, &legend, &says, chart.draw())
}

fn count_hits(hits: u64) -> String {
    count(usize::try_from(hits).unwrap_or(usize::MAX), "call")
}

/// Joins adjacent columns of a row that are wanted into one box.
fn boxes(
    axis: &TimeAxis<'_>,
    map: &OffsetMap,
    row: usize,
    row_size: f64,
    columns: &[u64],
    is_wanted: impl Fn(u64) -> bool,
) -> Vec<[(f64, f64); 2]> {
    let mut boxes = Vec::new();
    let mut from = None;
    let place = |column: usize| axis.start_of(column.saturating_mul(map.column_steps));
    for column in 0..=columns.len() {
        let wanted = columns.get(column).is_some_and(|hits| is_wanted(*hits));
        match (from, wanted) {
            (None, true) => from = Some(column),
            (Some(first), false) => {
                boxes.push([(place(first), row_size * row as f64), (place(column), row_size * (row + 1) as f64)]);
                from = None;
            }
            _ => {}
        }
    }
    boxes
}

/// Shades for numbers of hits. The upper ends of the levels grow by a constant factor.
struct Levels {
    /// The fewest hits that are shown.
    least: u64,
    /// Upper end of each level, ascending. There are fewer levels than shades if there are few hits.
    most: Vec<u64>,
}

impl Levels {
    /// Creates the levels; both numbers are above 0.
    fn new(least: u64, most: u64) -> Self {
        let shades = Ink::HEAT.len();
        let step = (most as f64 / least as f64).powf(1.0 / shades as f64);
        let end = |level: usize| (least as f64 * step.powi(level as i32)).round() as u64;
        let mut ends: Vec<u64> = (1..=shades).map(|level| end(level).clamp(least, most)).collect();
        if let Some(last) = ends.last_mut() {
            *last = most;
        }
        ends.dedup();
        Self { least, most: ends }
    }

    /// Returns the shade; only the darkest shades are used if there are fewer levels than shades.
    fn of(&self, hits: u64) -> usize {
        let level = self.most.iter().position(|most| hits <= *most).unwrap_or(self.most.len() - 1);
        Ink::HEAT.len() - self.most.len() + level
    }

    /// Returns the shades with their ranges of hits.
    fn legend(&self) -> Vec<(usize, String)> {
        let mut from = self.least;
        self.most
            .iter()
            .map(|most| {
                let word = if from == *most { format!("{most}") } else { format!("{from} to {most}") };
                from = most.saturating_add(1);
                (self.of(*most), word)
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_of_hits_has_the_shade_that_the_legend_says() {
        for (least, most, expected) in [
            (1, 1, vec![(4, "1")]),
            (1, 3, vec![(2, "1"), (3, "2"), (4, "3")]),
            (1, 1000, vec![(0, "1 to 4"), (1, "5 to 16"), (2, "17 to 63"), (3, "64 to 251"), (4, "252 to 1000")]),
            (90, 110, vec![(0, "90 to 94"), (1, "95 to 98"), (2, "99 to 102"), (3, "103 to 106"), (4, "107 to 110")]),
        ] {
            let levels = Levels::new(least, most);
            let legend = levels.legend();
            let shown: Vec<(usize, &str)> = legend.iter().map(|(level, word)| (*level, word.as_str())).collect();
            assert_eq!(shown, expected);
            assert_eq!((levels.of(least), levels.of(most)), (expected[0].0, 4));
        }
    }
}
