//! Statements of one output that cannot all hold: a best point that another one beats, a longest
//! latency outside the histogram.

use activebench_model::claim::{Contradiction, Parsed};

use super::claims::phase_of;
use super::document::{Document, Figure, Rank, Statement, TimeUnit};
use super::histogram::{Counted, Histogram};
use super::points::{Size, Which};

pub(super) fn find(document: &Document, parsed: &mut Parsed) {
    for statement in &document.statements {
        if statement.rank == Rank::Extreme {
            let beaten = document.statements.iter().find(|cell| cell.rank == Rank::Cell && beats(cell, statement));
            let Some(cell) = beaten else { continue };
            let id = phase_of(document, cell);
            state(
                parsed,
                statement,
                &id,
                format!(
                    "{} is called the best, and the matrix holds {} at Small={} and \
                Large={}",
                    statement.number.text, cell.number.text, cell.point.small, cell.point.large
                ),
            );
        } else if statement.rank == Rank::Detail {
            let of_point = |histogram: &&Histogram| histogram.size == Size::Small && histogram.point == statement.point;
            let Some(histogram) = document.histograms.iter().find(of_point) else { continue };
            let counted = if statement.which == Which::Writes { histogram.writes } else { histogram.reads };
            let Some((low, high)) = misfit(document, statement, counted) else { continue };
            let end = if statement.figure == Figure::LongestLatency { "longest" } else { "shortest" };
            let id = phase_of(document, statement);
            state(
                parsed,
                statement,
                &id,
                format!(
                    "the {end} latency is {} us, and the histogram has the {end} ones \
                between {low} and {high} us",
                    statement.number.text
                ),
            );
        }
    }
}

fn state(parsed: &mut Parsed, statement: &Statement, phase: &str, message: String) {
    let claims = parsed.claims.iter().filter(|claim| claim.phase == phase).map(|claim| claim.id.clone()).collect();
    parsed.contradictions.push(Contradiction { source: statement.source.clone(), message, claims });
}

/// Whether a cell is better than the best, both rounded in the tool's disfavour.
fn beats(cell: &Statement, best: &Statement) -> bool {
    let slack = 2.0 * (cell.number.half_step + best.number.half_step);
    let ahead = match best.figure {
        Figure::MeanLatency => best.number.value - cell.number.value,
        _ => cell.number.value - best.number.value,
    };
    cell.figure == best.figure && ahead > slack
}

/// The bucket that a shortest or longest latency lies outside of.
fn misfit(document: &Document, statement: &Statement, counted: Counted) -> Option<(u64, u64)> {
    let unit = statement.unit.or(document.time_unit)?;
    let (low, high) = match statement.figure {
        Figure::LongestLatency => counted.highest,
        Figure::ShortestLatency => counted.lowest,
        _ => None,
    }?;
    let slack = 2.0 * statement.number.half_step;
    let (low_us, high_us) = (low as f64 - slack, high as f64 + slack);
    let fits = (low_us..=high_us).contains(&statement.number.value);
    (counted.is_whole && unit == TimeUnit::Microseconds && !fits).then_some((low, high))
}
