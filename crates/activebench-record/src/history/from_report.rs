//! A run's figures from its `report.json`, for runs that were judged before there was a table of figures.

use std::collections::BTreeMap;

use activebench_model::call::FileId;
use activebench_model::claim::{Metric, Subject};
use activebench_model::fact::Completeness;
use activebench_model::figures::{Disk, RunFigure, RunFigures};
use activebench_model::run::Manifest;
use activebench_model::units::{Quantity, Unit};
use activebench_model::verdict::{ClaimVerdict, RunVerdict, why_no_honest};
use serde::Deserialize;

/// The schema that this version reads.
const SCHEMA: &str = "activebench.report/1";

/// The fields that are read of the report; the rest of it is skipped.
/// Hint that says how to fix a derived file.
pub(super) const RECHECK: &str = "`activebench recheck RUN` writes it again";

#[derive(Deserialize)]
struct Report {
    schema: String,
    verdict: RunVerdict,
    tool: Tool,
    profile: String,
    claims: Vec<ClaimEntry>,
    phases: Vec<PhaseEntry>,
    run: RunEntry,
}

#[derive(Deserialize)]
struct Tool {
    name: String,
    version: Option<String>,
}

#[derive(Deserialize)]
struct ClaimEntry {
    phase: String,
    metric: Metric,
    value: f64,
    unit: Unit,
    subject: Subject,
    verdict: Option<ClaimVerdict>,
    corrected: Option<Quantity>,
    no_correction: Option<String>,
}

#[derive(Deserialize)]
struct PhaseEntry {
    id: String,
    files: Vec<FileId>,
    facts: FactEntries,
}

#[derive(Deserialize)]
struct FactEntries {
    foreign_bytes: Option<FactEntry>,
    device_total_bytes: Option<FactEntry>,
}

#[derive(Deserialize)]
struct FactEntry {
    value: Option<f64>,
    completeness: Completeness,
}

impl FactEntry {
    fn complete(&self) -> Option<f64> {
        self.value.filter(|_| self.completeness == Completeness::Complete)
    }
}

#[derive(Deserialize)]
struct RunEntry {
    activebench: String,
    sha256: BTreeMap<String, String>,
    incomplete: Vec<String>,
}

/// Returns the figures that a report states.
///
/// # Errors
/// Returns the reason if the report is garbled, of another schema or of another run.
pub(super) fn figures(manifest: &[u8], report: &[u8]) -> Result<RunFigures, String> {
    let manifest: Manifest =
        serde_json::from_slice(manifest).map_err(|error| format!("run.json is not a manifest: {error}"))?;
    let garbled = |why: String| format!("report.json is garbled: {why} (hint: {})", RECHECK);
    let report: Report = serde_json::from_slice(report).map_err(|error| garbled(error.to_string()))?;
    if report.schema != SCHEMA {
        return Err(format!("report.json has the schema {:?}, not {SCHEMA} (hint: {})", report.schema, RECHECK));
    }
    if report.run.sha256 != manifest.sha256 {
        return Err(format!("report.json is that of another run, or run.json was changed (hint: {})", RECHECK));
    }
    let mut run = RunFigures {
        activebench: report.run.activebench,
        tool: report.tool.name,
        version: report.tool.version,
        profile: report.profile,
        verdict: report.verdict,
        incomplete: (!report.run.incomplete.is_empty()).then(|| report.run.incomplete.join("; ")),
        ..RunFigures::of(&manifest)
    };
    for claim in report.claims {
        let phase = report.phases.iter().find(|phase| phase.id == claim.phase);
        let claimed = Quantity { value: claim.value, unit: claim.unit };
        let verdict = claim.verdict.unwrap_or(ClaimVerdict::Unverifiable);
        let honest = verdict.honest(claimed, claim.corrected).map(|honest| honest.value);
        let no_honest = || why_no_honest(claim.no_correction.as_deref(), claim.corrected.is_some());
        run.push(RunFigure {
            phase: claim.phase,
            metric: claim.metric,
            place: 0,
            subject: manifest.choices.subject.unwrap_or(claim.subject),
            claimed,
            honest,
            no_honest: honest.is_none().then(no_honest),
            verdict,
            disk: Disk::below(&manifest.host, phase.iter().flat_map(|phase| &phase.files).copied()),
            foreign_io_ratio: phase.and_then(|phase| foreign_io_ratio(&phase.facts)),
        });
    }
    Ok(run)
}

fn foreign_io_ratio(facts: &FactEntries) -> Option<f64> {
    let foreign = facts.foreign_bytes.as_ref()?.complete()?;
    let total = facts.device_total_bytes.as_ref()?.complete()?;
    (total > 0.0).then_some(foreign / total)
}
