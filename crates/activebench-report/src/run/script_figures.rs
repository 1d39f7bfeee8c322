//! The numbers that a script printed itself: what each comes from, and what became of that figure.

use activebench_model::claim::Printed;
use activebench_model::report::JudgedRun;
use activebench_model::script_figure::{Derivation, Fault, Origin, ScriptFigure};
use activebench_model::units::Quantity;
use activebench_model::verdict::ClaimVerdict;
use serde::Serialize;

use crate::escape;
use crate::wording::count;

/// Most numbers that the notice lists.
const MOST_LISTED: usize = 6;

/// A number of a script in `report.json`.
#[derive(Serialize)]
pub(crate) struct ScriptFigureEntry<'run> {
    printed: &'run Printed,
    value: Quantity,
    stream: &'run str,
    line: u64,
    text: &'run str,
    origin: Option<&'run Origin>,
    fault: Option<Fault>,
    verdict: Option<ClaimVerdict>,
}

/// The numbers that a script printed; empty for a command that is no script.
pub(crate) fn entries(run: &JudgedRun) -> Vec<ScriptFigureEntry<'_>> {
    run.parsed
        .script_figures
        .iter()
        .map(|figure| ScriptFigureEntry {
            printed: &figure.printed,
            value: figure.value,
            stream: &figure.source.stream,
            line: figure.source.line,
            text: &figure.source.text,
            origin: figure.origin.as_ref(),
            fault: figure.fault,
            verdict: verdict(run, figure),
        })
        .collect()
}

/// The worst verdict of the figures that a number comes from; `None` where it is not traced.
fn verdict(run: &JudgedRun, figure: &ScriptFigure) -> Option<ClaimVerdict> {
    let origin = figure.origin.as_ref()?;
    let judged = run.parsed.claims.iter().zip(&run.judged);
    let own = judged.filter(|(claim, _)| origin.claims.contains(&claim.id)).map(|(_, judged)| judged.verdict());
    own.max_by_key(|verdict| match verdict {
        ClaimVerdict::Confirmed => 0,
        ClaimVerdict::NotChecked => 1,
        ClaimVerdict::Unverifiable => 2,
        ClaimVerdict::Misleading => 3,
        ClaimVerdict::Refuted => 4,
    })
}

/// What to read before the figures. `None` where the script printed no number of its own.
pub(crate) fn notice(run: &JudgedRun) -> Option<String> {
    let figures = &run.parsed.script_figures;
    if figures.is_empty() {
        return None;
    }
    let described = figures.iter().take(MOST_LISTED).map(|figure| describe(run, figure));
    let mut described: Vec<String> = described.collect();
    if figures.len() > MOST_LISTED {
        described.push(format!("and {} more in report.json", figures.len() - MOST_LISTED));
    }
    Some(format!("The script prints {} itself: {}.", count(figures.len(), "number"), described.join("; ")))
}

fn describe(run: &JudgedRun, figure: &ScriptFigure) -> String {
    let printed = escape::clipped(&format!("{} {}", figure.printed.text, figure.printed.unit), 40);
    let Some(origin) = &figure.origin else {
        return format!("{printed} (line {}) comes from no figure of the run", figure.source.line);
    };
    let name = |id: &String| {
        let claim = run.parsed.claims.iter().find(|claim| claim.id == *id)?;
        let phase = run.phases.iter().find(|phase| phase.id == claim.phase);
        Some(phase.map_or(claim.phase.as_str(), |phase| phase.name.as_str()))
    };
    let what = match (origin.derivation, origin.claims.first().and_then(name)) {
        (Derivation::Equal, Some(name)) => name.to_owned(),
        (derivation, _) => format!("{} of {} figures", derivation.as_str(), origin.claims.len()),
    };
    let verdict = verdict(run, figure).map_or_else(String::new, |verdict| format!(", {}", verdict.as_str()));
    let differs = if figure.fault.is_some() { ", but says something else" } else { "" };
    format!("{printed} (line {}) is {what}{verdict}{differs}", figure.source.line)
}
