//! Converts statements to claims: the first statement of each figure is the claim, later ones restate it.

use std::collections::HashMap;

use activebench_model::claim::{Claim, Metric, Note, Parsed, Printed, Restated, Subject};
use activebench_model::units::{Quantity, Unit};

use super::contradictions;
use super::document::Document;
use super::statements::{Figure, Rank, Statement, TimeUnit};

/// Bytes of Orion's MB: 2^20. Its large requests are of `-size_large` KB, 1024 by default, which its
/// manual calls 1 MB, and the set of 98,305 blocks of 8 KB is 768 of its MB. The public figures agree:
/// with 2^20 each of the four printed MBPS results from a whole number of requests of 1024 KB in 60 s,
/// truncated to two decimals; with 10^6 only two do, truncated or rounded.
const MB_BYTES: f64 = 1_048_576.0;

/// Returns the claims of a run, with the other statements of its output.
pub(super) fn parsed(document: &Document, chosen: Option<Subject>) -> Parsed {
    let (subject, reason) = match chosen {
        Some(subject) => (subject, "--subject"),
        None => (Subject::Device, "orion reads and writes past the page cache: its figures are those of storage"),
    };
    let mut parsed = Parsed {
        tool: "orion".to_owned(),
        version: document.version.clone(),
        notes: document.notes.clone(),
        errors: document.errors.clone(),
        ..Parsed::default()
    };
    let mut first: HashMap<(String, Metric), usize> = HashMap::new();
    let mut unit_unknown = false;
    for statement in &document.statements {
        let Some(metric) = metric(statement.figure) else { continue };
        let Some((scale, unit, words)) = scale(document, statement) else {
            if !unit_unknown {
                let message = "the unit of the latency is not stated: orion 11.1 prints milliseconds, later versions \
                               microseconds";
                parsed.notes.push(Note { source: statement.source.clone(), message: message.to_owned() });
            }
            unit_unknown = true;
            continue;
        };
        let phase = document.phase_of(statement);
        let value = Quantity { value: statement.number.value * scale, unit };
        let printed = Printed { text: statement.number.text.clone(), unit: words.to_owned() };
        let resolution = statement.number.half_step * scale;
        let source = statement.source.clone();
        match first.get(&(phase.clone(), metric)) {
            Some(index) => {
                let claim = parsed.claims[*index].id.clone();
                parsed.restated.push(Restated {
                    claim,
                    value,
                    printed,
                    resolution,
                    shared_resolution: 0.0,
                    known_defect: None,
                    source,
                });
            }
            None => {
                first.insert((phase.clone(), metric), parsed.claims.len());
                parsed.claims.push(Claim {
                    id: format!("c{}", parsed.claims.len() + 1),
                    phase,
                    metric,
                    value,
                    printed,
                    resolution,
                    subject,
                    subject_reason: reason.to_owned(),
                    claimed_bytes: None,
                    source,
                });
            }
        }
    }
    let has_results = document.statements.iter().any(|statement| statement.rank == Rank::Extreme);
    parsed.complete = has_results && parsed.errors.is_empty();
    contradictions::find(document, &mut parsed);
    parsed
}

fn metric(figure: Figure) -> Option<Metric> {
    match figure {
        Figure::Iops => Some(Metric::OperationRate),
        Figure::Mbps => Some(Metric::Throughput),
        Figure::MeanLatency => Some(Metric::LatencyMean),
        Figure::LongestLatency => Some(Metric::LatencyMax),
        Figure::ShortestLatency => None,
    }
}

/// Returns the factor to the normalised unit, that unit, and the tool's own; `None` if it is unknown.
fn scale(document: &Document, statement: &Statement) -> Option<(f64, Unit, &'static str)> {
    match statement.figure {
        // In a matrix the file's name determines the figure.
        Figure::Iops => Some((1.0, Unit::OpsPerSec, "IOPS")),
        Figure::Mbps => Some((MB_BYTES, Unit::BytesPerSec, "MBPS")),
        Figure::MeanLatency | Figure::LongestLatency | Figure::ShortestLatency => {
            let unit = statement.unit.or(document.time_unit)?;
            // A matrix prints no unit beside its figures, nor does 11.1.
            let words = match (statement.rank, statement.unit) {
                (Rank::Cell, _) | (_, None) => "",
                (Rank::Detail, Some(TimeUnit::Microseconds)) => "us",
                (Rank::Extreme, Some(TimeUnit::Microseconds)) => "usecs",
                (_, Some(TimeUnit::Milliseconds)) => "ms",
            };
            Some((unit.ns(), Unit::Ns, words))
        }
    }
}
