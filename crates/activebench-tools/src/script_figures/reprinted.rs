//! A tool's report that a script printed again with other numbers: `fio --output=FILE --output-format=json`, and then
//! `sed` of that file.
//!
//! What the script printed is read as an output of the tool. Where at least half of its figures are those of the
//! measurement, it is that report, and the others were changed. A report of another day has other figures throughout.

use std::collections::HashMap;

use activebench_model::claim::{Claim, Metric, Parsed};
use activebench_model::command::CommandLine;
use activebench_model::output::ToolOutput;
use activebench_model::script_figure::ScriptFigure;

use super::Measured;
use super::altered::{Other, ROUNDING_RATIO, alter, is_of_units};
use crate::registry::adapter_by_name;

/// Most measurements whose reports are looked for.
const MOST_MEASUREMENTS: usize = 64;

/// Fewest figures by which a report is known again.
const LEAST_FIGURES: usize = 4;

/// Marks the figures that differ from those of the measurement. `is_own` says whether a line is the script's.
pub(super) fn mark(
    of_command: &ToolOutput,
    measured: Measured<'_>,
    is_own: impl Fn(&str) -> bool,
    figures: &mut Vec<ScriptFigure>,
) {
    let printed = ToolOutput { files: Vec::new(), ..of_command.clone() };
    let lines = [&printed.stdout, &printed.stderr].into_iter().flat_map(|bytes| bytes.split(|byte| *byte == b'\n'));
    if !lines.filter(|line| !line.trim_ascii().is_empty()).any(|line| is_own(&String::from_utf8_lossy(line))) {
        return;
    }
    // The same command in a loop reads the same.
    let mut known: Vec<(&str, &CommandLine, Parsed)> = Vec::new();
    for measurement in measured.measurements.iter().take(MOST_MEASUREMENTS) {
        let Some(adapter) = adapter_by_name(&measurement.tool) else { continue };
        let prefix = measurement.prefix();
        let mut own: HashMap<(&str, Metric), &Claim> = HashMap::new();
        for claim in measured.claims {
            own.entry((claim.phase.strip_prefix(&prefix).unwrap_or(&claim.phase), claim.metric)).or_insert(claim);
        }
        let is_known = |(tool, command, _): &(&str, &CommandLine, _)| {
            *tool == measurement.tool && **command == measurement.command
        };
        let place = known.iter().position(is_known).unwrap_or_else(|| {
            let again = adapter.parse(&measurement.command, &printed, None);
            known.push((&measurement.tool, &measurement.command, again));
            known.len() - 1
        });
        let again = &known[place].2;
        let pairs: Vec<(&Claim, &Claim)> = again
            .claims
            .iter()
            .filter_map(|claim| Some((claim, *own.get(&(claim.phase.as_str(), claim.metric))?)))
            .filter(|(claim, own)| claim.value.value > 0.0 && own.value.value > 0.0)
            .collect();
        let changed: Vec<(&Claim, &Claim)> = pairs.iter().copied().filter(|(claim, own)| !agree(claim, own)).collect();
        if pairs.len() < LEAST_FIGURES || 2 * changed.len() > pairs.len() {
            continue;
        }
        for (claim, own) in changed {
            let ratio = claim.value.value / own.value.value;
            let is_of_another = measured.claims.iter().any(|other| other.metric == own.metric && agree(claim, other));
            if is_own(&claim.source.text) && !is_of_another && !is_of_units(ratio) {
                let other = Other { number: &claim.printed.text, ratio, behind: &claim.printed.unit, decimals: None };
                alter(&claim.source, other, Some(own), figures);
            }
        }
    }
}

/// Returns `true` for figures that are equal within their digits and rounding.
fn agree(one: &Claim, other: &Claim) -> bool {
    let apart = (one.value.value - other.value.value).abs();
    apart <= one.resolution + other.resolution + ROUNDING_RATIO * one.value.value.max(other.value.value)
}
