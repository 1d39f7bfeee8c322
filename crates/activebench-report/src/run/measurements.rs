//! The measurements of a command that started several: their commands and what became of their figures.

use std::collections::BTreeMap;

use activebench_model::claim::Claim;
use activebench_model::measurement::Measurement;
use activebench_model::report::JudgedRun;
use activebench_model::verdict::{ClaimVerdict, JudgedClaim};
use serde::Serialize;

use crate::escape;
use crate::wording::shell_command;

/// Longest command of a measurement in the notice, in characters.
const COMMAND_SHOWN: usize = 72;

/// A measurement in `report.json`.
#[derive(Serialize)]
pub(crate) struct MeasurementEntry<'run> {
    number: u32,
    tool: &'run str,
    command: &'run [String],
    started_ns: u64,
    ended_ns: Option<u64>,
    exit_status: Option<i32>,
    /// Numbers of those that ran at the same time.
    beside: Vec<u32>,
    claims_by_verdict: BTreeMap<&'static str, usize>,
}

/// The measurements of a run; empty for a command that made at most one.
pub(crate) fn entries(run: &JudgedRun) -> Vec<MeasurementEntry<'_>> {
    several(run).iter().map(|measurement| entry(run, measurement)).collect()
}

fn several(run: &JudgedRun) -> &[Measurement] {
    let all = run.manifest.measurements.as_slice();
    if all.len() > 1 { all } else { &[] }
}

fn entry<'run>(run: &'run JudgedRun, measurement: &'run Measurement) -> MeasurementEntry<'run> {
    let others = several(run).iter().filter(|other| other.number != measurement.number);
    let prefix = measurement.prefix();
    let is_own = |(claim, _): &(&Claim, &JudgedClaim)| claim.phase.starts_with(&prefix);
    let judged = || run.parsed.claims.iter().zip(&run.judged).filter(is_own);
    let count = |verdict: &ClaimVerdict| judged().filter(|(_, judged)| judged.verdict() == *verdict).count();
    MeasurementEntry {
        number: measurement.number,
        tool: &measurement.tool,
        command: &measurement.command.argv,
        started_ns: measurement.started_ns,
        ended_ns: measurement.ended_ns,
        exit_status: measurement.exit_status,
        beside: others.filter(|other| other.overlaps(measurement)).map(|other| other.number).collect(),
        claims_by_verdict: ClaimVerdict::ALL.iter().map(|verdict| (verdict.as_str(), count(verdict))).collect(),
    }
}

/// What to read before the figures: the number of each measurement stands behind the names of its passes. `None` for a
/// command that made at most one.
pub(crate) fn notice(run: &JudgedRun) -> Option<String> {
    let entries = entries(run);
    if entries.is_empty() {
        return None;
    }
    let described = entries.iter().map(|entry| {
        let command = escape::clipped(&shell_command(entry.command), COMMAND_SHOWN);
        let beside: Vec<String> = entry.beside.iter().map(u32::to_string).collect();
        match beside.is_empty() {
            true => format!("({}) {command}", entry.number),
            false => format!("({}) {command}, at the same time as {}", entry.number, beside.join(", ")),
        }
    });
    let described: Vec<String> = described.collect();
    Some(format!("{} commands measured, each is judged: {}.", entries.len(), described.join("; ")))
}
