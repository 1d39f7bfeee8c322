//! What a judged run leaves for a history.

use activebench_model::claim::Claim;
use activebench_model::fact::FactName;
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
    let no_honest = || match &judged.no_correction {
        Some(why) => why.clone(),
        None if judged.corrected.is_some() => "the figure that stands for it is of another kind".to_owned(),
        None => "there is no honest figure".to_owned(),
    };
    RunFigure {
        phase: claim.phase.clone(),
        metric: claim.metric,
        place: 0,
        subject: run.manifest.choices.subject.unwrap_or(claim.subject),
        claimed: claim.value,
        honest,
        no_honest: honest.is_none().then(no_honest),
        verdict: judged.verdict,
        disk: Disk::below(&run.manifest.host, phase.iter().flat_map(|phase| &phase.parts).map(|part| part.file)),
        foreign_io_ratio: phase.and_then(foreign_io_ratio),
    }
}

fn foreign_io_ratio(phase: &Phase) -> Option<f64> {
    let fact = |name| phase.facts.complete(name).ok();
    let (foreign, total) = (fact(FactName::ForeignBytes)?, fact(FactName::DeviceTotalBytes)?);
    (total > 0.0).then_some(foreign / total)
}
