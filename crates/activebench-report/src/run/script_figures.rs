//! The numbers that a script printed itself: what each comes from, and what became of that figure.

use activebench_model::claim::Printed;
use activebench_model::report::JudgedRun;
use activebench_model::script_figure::{Derivation, Fault, Origin, ScriptFigure};
use activebench_model::units::Quantity;
use activebench_model::verdict::ClaimVerdict;
use serde::Serialize;

use crate::document::{Block, Section, Table};
use crate::escape;
use crate::page::{Set, Tone};
use crate::wording::count;

/// Most numbers that the notice lists.
const MOST_LISTED: usize = 6;
/// Most numbers with a line each.
const ROWS: usize = 100;
/// Longest line of a script that is quoted, in characters.
const TEXT_SHOWN: usize = 60;

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
    // What is wrong comes first, then what is not traced.
    let mut ordered: Vec<&ScriptFigure> = figures.iter().collect();
    ordered.sort_by_key(|figure| (figure.fault.is_none(), figure.origin.is_some()));
    let described = ordered.into_iter().take(MOST_LISTED).map(|figure| describe(run, figure));
    let mut described: Vec<String> = described.collect();
    if figures.len() > MOST_LISTED {
        described.push(format!("and {} more in report.json", figures.len() - MOST_LISTED));
    }
    Some(format!("The script prints {} itself: {}.", count(figures.len(), "number"), described.join("; ")))
}

/// A line for each number. `None` where the script printed none of its own.
pub(crate) fn section(run: &JudgedRun) -> Option<Section> {
    let figures = &run.parsed.script_figures;
    if figures.is_empty() {
        return None;
    }
    let row = |figure: &ScriptFigure| {
        let verdict = match (&figure.origin, figure.fault) {
            (None, _) => "not traced",
            (Some(_), Some(_)) => "differs",
            (Some(_), None) => verdict(run, figure).map_or("not judged", |verdict| verdict.words()),
        };
        let from = figure.origin.as_ref().map_or_else(
            || "no figure of the run".to_owned(),
            |origin| format!("{}: {}", from(run, origin), origin.value),
        );
        vec![
            format!("{} line {}", figure.source.stream, figure.source.line),
            verdict.to_owned(),
            printed(figure),
            from,
            escape::clipped(figure.source.text.trim(), TEXT_SHOWN),
        ]
    };
    let mut rows: Vec<Vec<String>> = figures.iter().take(ROWS).map(row).collect();
    rows.sort_by_key(|row| row[1] != "differs");
    let heads = ["where", "verdict", "as printed", "comes from", "its line"];
    let sets = [Set::Left, Set::Whole, Set::Close, Set::Left, Set::Left];
    let mut table = Table::new("Numbers of the script", &heads, &sets, rows);
    table.tone = |word| match word {
        "confirmed" => Tone::Good,
        "differs" | "misleading" | "refuted" => Tone::Bad,
        _ => Tone::Doubtful,
    };
    let mut blocks = vec![Block::Table(table)];
    if figures.len() > ROWS {
        blocks.push(Block::Paragraph(format!("{} more are in report.json.", figures.len() - ROWS)));
    }
    Some(Section::new("Numbers of the script", "numbers", blocks))
}

fn printed(figure: &ScriptFigure) -> String {
    escape::clipped(format!("{} {}", figure.printed.text, figure.printed.unit).trim_end(), 40)
}

/// What a number comes from, in a few words.
fn from(run: &JudgedRun, origin: &Origin) -> String {
    let name = |id: &String| {
        let claim = run.parsed.claims.iter().find(|claim| claim.id == *id)?;
        let phase = run.phases.iter().find(|phase| phase.id == claim.phase);
        Some(phase.map_or(claim.phase.as_str(), |phase| phase.name.as_str()))
    };
    match (origin.derivation, origin.claims.first().and_then(name)) {
        (Derivation::Equal, Some(name)) => name.to_owned(),
        (Derivation::Equal, None) => "a line of the tool".to_owned(),
        (derivation, _) => format!("{} of {} figures", derivation.as_str(), origin.claims.len()),
    }
}

fn describe(run: &JudgedRun, figure: &ScriptFigure) -> String {
    let printed = printed(figure);
    let Some(origin) = &figure.origin else {
        return format!("{printed} (line {}) comes from no figure of the run", figure.source.line);
    };
    let verdict = verdict(run, figure).map_or_else(String::new, |verdict| format!(", {}", verdict.as_str()));
    let differs = if figure.fault.is_some() { ", but says something else" } else { "" };
    format!("{printed} (line {}) is {}{verdict}{differs}", figure.source.line, from(run, origin))
}
