//! The figures of a run, a row each: what the tool says, what is honest, the difference, and the cause.
//!
//! A phase has a row for its rate and, where there is room, one for its latency. A figure that is contradicted always
//! has a row or is counted below the table.

use activebench_model::claim::{Claim, Metric};
use activebench_model::fact::{Completeness, FactName, Facts};
use activebench_model::finding::FindingsByClaim;
use activebench_model::report::JudgedRun;
use activebench_model::units::{Quantity, Unit};
use activebench_model::verdict::ClaimVerdict;

use super::named;
use crate::document::{Block, Glance, Table};
use crate::headline;
use crate::page::{Set, Tone};
use crate::run::figures::{Figure, Scale, Selection, cause, difference, heads, short_metric};
use crate::wording::{PhaseNames, count};

/// Rows, by tightness.
const ROWS: [usize; Glance::TIGHTEST + 1] = [10, 8, 7, 6, 4];
/// Least and largest number of columns of a bar; with less room there is none.
const BAR: (usize, usize) = (6, 24);

/// Returns the table, and what it leaves out.
pub(super) fn blocks(run: &JudgedRun, glance: Glance) -> Vec<Block> {
    if run.parsed.claims.is_empty() {
        return without_claims(run, glance);
    }
    let Selection { figures, left_out, left_out_wrong } = Selection::of(run, ROWS[glance.tightness]);
    let mut blocks = vec![Block::Table(table(run, &figures, glance))];
    if left_out > 0 {
        let wrong = match left_out_wrong {
            0 => String::new(),
            wrong => format!(", {wrong} of them not what they seem"),
        };
        let text =
            format!("and {}{wrong}: activebench show{} --stage claims", count(left_out, "more figure"), named(run));
        blocks.push(Block::Remark(glance.in_lines(2, 2, 2, &text)));
    }
    blocks
}

fn table(run: &JudgedRun, figures: &[Figure<'_>], glance: Glance) -> Table {
    let names = PhaseNames::of(run);
    let findings = FindingsByClaim::new(&run.findings);
    let honest: Vec<Option<Quantity>> =
        figures.iter().map(|figure| figure.judged.and_then(|judged| judged.honest(figure.claim))).collect();
    let scale = Scale::of(figures.iter().map(|f| f.claim.value).chain(honest.iter().flatten().copied()));
    let mut metrics: Vec<Metric> = figures.iter().map(|figure| figure.claim.metric).collect();
    metrics.dedup();
    let mut rows: Vec<Vec<String>> = figures
        .iter()
        .zip(&honest)
        .map(|(figure, honest)| {
            let claim = figure.claim;
            let concerning = findings.concerning(claim);
            vec![
                String::new(),
                scale.show(claim.value),
                honest.map_or_else(|| "not known".to_owned(), |value| scale.show(value)),
                difference(claim, figure.judged, *honest),
                cause(run, figure, &concerning),
            ]
        })
        .collect();
    let [says, honest_head] = heads(run, figures);
    let mut heads = vec![String::new(), says, honest_head, String::new(), "cause".to_owned()];
    let mut sets = vec![Set::Left, Set::Right, Set::Right, Set::Right, Set::Whole];
    let width = |column: usize, heads: &[String]| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        // An empty column takes one.
        cells.chain([heads[column].chars().count(), 1]).max().unwrap_or(1)
    };
    // What the figures leave is for the names, and the rest for the bars.
    let of_figures: usize = (1..heads.len()).map(|column| width(column, &heads) + 2).sum();
    let most = glance.columns.saturating_sub(of_figures).clamp(8, 30);
    for (row, figure) in rows.iter_mut().zip(figures) {
        let kind = if metrics.len() > 1 { short_metric(figure.claim) } else { "" };
        let name = Glance::cell(names.get(&figure.claim.phase), most.saturating_sub(kind.len() + 2).max(6));
        row[0] = format!("{name}{kind}");
    }
    let names_width = rows.iter().map(|row| row[0].chars().count()).max().unwrap_or(0);
    let used = of_figures + names_width + 2;
    let bar = glance.columns.saturating_sub(used + 2).min(BAR.1);
    if bar >= BAR.0 && glance.tightness < Glance::TIGHTEST {
        for (row, (figure, honest)) in rows.iter_mut().zip(figures.iter().zip(&honest)) {
            let is_checked = figure.judged.is_none_or(|judged| judged.verdict() != ClaimVerdict::NotChecked);
            row.insert(3, if is_checked { drawn(figure.claim, *honest, bar) } else { String::new() });
        }
        heads.insert(3, String::new());
        sets.insert(3, Set::Left);
    }
    Table { name: "Figures", heads, sets, rows, tone: cause_tone, dispensable: None }
}

/// The claimed figure as a bar, of which the honest one is a part; question marks where it is not known.
fn drawn(claim: &Claim, honest: Option<Quantity>, columns: usize) -> String {
    let Some(honest) = honest else { return "?".repeat(columns) };
    // A longer time is worse: the share of the claim then is how much of the honest time it admits.
    let share = match claim.metric.is_latency() || claim.value.unit == Unit::Ns {
        true => claim.value.value / honest.value,
        false => honest.value / claim.value.value,
    };
    if !share.is_finite() {
        return "?".repeat(columns);
    }
    let full = ((share.clamp(0.0, 1.0) * columns as f64).round() as usize).min(columns);
    format!("{}{}", "█".repeat(full), "·".repeat(columns - full))
}

fn cause_tone(word: &str) -> Tone {
    match word.trim_end_matches(',') {
        "confirmed" => Tone::Good,
        word if word.starts_with("AB") || word == "refuted" || word == "misleading" => Tone::Bad,
        _ => Tone::Doubtful,
    }
}

/// The observed amounts of a run without claims.
fn without_claims(run: &JudgedRun, glance: Glance) -> Vec<Block> {
    let mut blocks = vec![Block::Paragraph(glance.in_lines(2, 2, 2, &headline::no_claims(run)))];
    let names = PhaseNames::of(run);
    let mut rows = Vec::new();
    let mut add = |name: &str, facts: &Facts| {
        let shown = |fact: FactName| {
            let found = facts.0.get(&fact);
            let value = found.and_then(|found| found.value.filter(|_| found.completeness == Completeness::Complete));
            value.map_or_else(|| "not known".to_owned(), |value| value.to_string())
        };
        rows.push(vec![
            Glance::cell(name, 24),
            shown(FactName::ReadBytes),
            shown(FactName::WriteBytes),
            shown(FactName::DeviceReadBytes),
            shown(FactName::DeviceWriteBytes),
        ]);
    };
    if run.phases.is_empty() {
        add("the whole run", &run.run_facts);
    }
    for phase in run.phases.iter().take(ROWS[glance.tightness]) {
        add(names.get(&phase.id), &phase.facts);
    }
    let heads = ["", "calls read", "calls wrote", "device read", "device wrote"];
    blocks.push(Block::Table(Table::new(
        "Observed",
        &heads,
        &[Set::Left, Set::Right, Set::Right, Set::Right, Set::Right],
        rows,
    )));
    blocks
}
