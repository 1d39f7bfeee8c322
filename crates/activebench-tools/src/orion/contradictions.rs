//! Statements of one output that contradict each other: a best point that another one beats, a longest
//! latency outside the histogram.

use activebench_model::claim::{Contradiction, Parsed};

use super::document::Document;
use super::points::{Size, Which};
use super::statements::{Figure, Rank, Statement, TimeUnit};

pub(super) fn find(document: &Document, parsed: &mut Parsed) {
    for statement in &document.statements {
        let found = match statement.rank {
            Rank::Extreme => beaten(document, statement),
            Rank::Detail => outside(document, statement),
            Rank::Cell => None,
        };
        let Some((phase, message)) = found else { continue };
        // Summaries are printed too: the repeated statement is one contradiction.
        if parsed.contradictions.iter().any(|known| known.message == message) {
            continue;
        }
        let claims = parsed.claims.iter().filter(|claim| claim.phase == phase).map(|claim| claim.id.clone()).collect();
        parsed.contradictions.push(Contradiction { source: statement.source.clone(), message, claims, apart: None });
    }
}

/// Returns a cell that is better than the best, both rounded in the tool's favour.
fn beaten(document: &Document, best: &Statement) -> Option<(String, String)> {
    let beats = |cell: &&Statement| {
        let slack = 2.0 * (cell.number.half_step + best.number.half_step);
        let ahead = match best.figure {
            Figure::MeanLatency => best.number.value - cell.number.value,
            _ => cell.number.value - best.number.value,
        };
        cell.rank == Rank::Cell && cell.figure == best.figure && ahead > slack
    };
    let cell = document.statements.iter().find(beats)?;
    let word = if best.figure == Figure::MeanLatency { "least" } else { "most" };
    let (small, large) = (cell.point.small, cell.point.large);
    let message = format!(
        "{} is called the {word}, and the matrix holds {} at Small={small} and Large={large}",
        best.number.text, cell.number.text
    );
    Some((document.phase_of(cell), message))
}

/// Returns a shortest or longest latency that is outside the histogram's bucket for it.
fn outside(document: &Document, detail: &Statement) -> Option<(String, String)> {
    let longest = detail.figure == Figure::LongestLatency;
    let fitting = document.histograms.iter().filter(|histogram| {
        // Rows missing at the end may contain longer latencies, never shorter ones.
        histogram.size == Size::Small && histogram.point == detail.point && (histogram.is_whole || !longest)
    });
    let counted = fitting
        .map(|histogram| if detail.which == Which::Writes { histogram.writes } else { histogram.reads })
        .next()?;
    let (word, (low_us, high_us)) = match detail.figure {
        Figure::LongestLatency => ("longest", counted.highest?),
        Figure::ShortestLatency => ("shortest", counted.lowest?),
        _ => return None,
    };
    let unit = detail.unit.or(document.time_unit)?;
    let slack = 2.0 * detail.number.half_step;
    let fits = (low_us as f64 - slack..=high_us as f64 + slack).contains(&detail.number.value);
    let message = format!(
        "the {word} latency is {} us, and the histogram has the {word} ones between {low_us} and {high_us} us",
        detail.number.text
    );
    (unit == TimeUnit::Microseconds && !fits).then(|| (document.phase_of(detail), message))
}
