//! The contribution of a judged run to a history.

use activebench_model::claim::Claim;
use activebench_model::figures::{Disk, RunFigure, RunFigures};
use activebench_model::phase::Phase;
use activebench_model::report::JudgedRun;
use activebench_model::verdict::JudgedClaim;

/// A run's figures.
pub fn figures(run: &JudgedRun) -> RunFigures {
    let manifest = &run.manifest;
    let about = RunFigures::of(manifest);
    let mut figures = RunFigures {
        activebench: env!("CARGO_PKG_VERSION").to_owned(),
        tool: if run.parsed.tool.is_empty() { about.tool.clone() } else { run.parsed.tool.clone() },
        version: run.parsed.version.clone(),
        verdict: run.verdict,
        incomplete: (!manifest.incomplete.is_empty()).then(|| manifest.incomplete.join("; ")),
        ..about
    };
    for claim in &run.parsed.claims {
        if let Some(judged) = run.judged.iter().find(|judged| judged.claim == claim.id) {
            figures.push(figure(run, claim, judged));
        }
    }
    figures
}

fn figure(run: &JudgedRun, claim: &Claim, judged: &JudgedClaim) -> RunFigure {
    let phase = run.phases.iter().find(|phase| phase.id == claim.phase);
    let honest = judged.honest(claim).map(|honest| honest.value).filter(|value| value.is_finite());
    RunFigure {
        phase: claim.phase.clone(),
        metric: claim.metric,
        place: 0,
        subject: run.manifest.choices.subject.unwrap_or(claim.subject),
        claimed: claim.value,
        honest,
        no_honest: honest.is_none().then(|| judged.why_no_honest()),
        verdict: judged.verdict(),
        disk: Disk::below(&run.manifest.host, phase.iter().flat_map(|phase| &phase.parts).map(|part| part.file)),
        foreign_io_ratio: phase.and_then(Phase::foreign_io_ratio),
    }
}
