//! The table of claims: printed figure, observed figure, and what the figure measured.

use activebench_model::claim::Claim;
use activebench_model::report::JudgedRun;
use activebench_model::verdict::{ClaimVerdict, JudgedClaim};
use maud::{Markup, html};

use super::findings::Anchors;
use super::prose::prose;
use super::quotes::Quotes;
use crate::claims::{self, Row, SCREEN_ROWS};
use crate::escape::terminal as shown;
use crate::lookup::Lookup;
use crate::{headline, run_context, unmatched};

/// Maximum rows. Confirmed claims come last; the rest is counted.
const ROWS: usize = 200;
/// Prefixes of remarks that the table already shows row by row.
const SAID_IN_THE_TABLE: [&str; 3] = ["honest: ", "not checked: ", "measured: "];

/// A row of the shared table, with the parts that only this format shows.
struct Shown<'run> {
    row: Row,
    judged: Option<&'run JudgedClaim>,
    anchor: Option<String>,
    measured: String,
}

/// The claims; the observed facts for a run without claims.
pub(super) fn section(run: &JudgedRun, quotes: &Quotes<'_>, anchors: &Anchors) -> Markup {
    if run.parsed.claims.is_empty() {
        return html! {
            p { (shown(&headline::no_claims(run))) }
            p { (shown(&headline::phases(run))) @if !run.phases.is_empty() { " The facts of each are below." } }
            (unmatched_numbers(run))
        };
    }
    let table = claims::table(run);
    let lookup = Lookup::of(run);
    let mut rows: Vec<Shown<'_>> = table
        .rows
        .into_iter()
        .zip(&run.parsed.claims)
        .map(|(row, claim)| {
            let judged = lookup.judged(claim);
            Shown { row, judged, anchor: quotes.anchor(&claim.source), measured: measured(claim, judged) }
        })
        .collect();
    let all = rows.len();
    let is_sorted = all > SCREEN_ROWS && rows.iter().any(|shown| !is_confirmed(shown));
    if is_sorted {
        rows.sort_by_key(is_confirmed);
    }
    rows.truncate(ROWS);
    html! {
        @if is_sorted { p { "Claims that do not hold come first." } }
        div.wide tabindex="0" role="region" aria-label="Claims" {
            // The roles keep it a table where the style sheet turns its rows into cards.
            table.claims role="table" {
                thead role="rowgroup" {
                    tr role="row" {
                        @for head in &table.heads {
                            th scope="col" role="columnheader" class=(class(head)) { (head) }
                        }
                        th scope="col" role="columnheader" { "what it measured" }
                        th scope="col" role="columnheader" { "findings" }
                    }
                }
                tbody role="rowgroup" {
                    @for shown in &rows { (row(&table.heads, shown, anchors)) }
                }
            }
        }
        @if all > rows.len() {
            p {
                (all - rows.len()) " of " (all) " claims are left out: "
                code { (shown(&run_context::show(run))) " --stage claims" }
            }
        }
        @for remark in claims::remarks(run) {
            @if !SAID_IN_THE_TABLE.iter().any(|said| remark.starts_with(said)) { p.remark { (prose(&remark)) } }
        }
        (unmatched_numbers(run))
    }
}

/// The numbers of the output that are about no known I/O, folded.
fn unmatched_numbers(run: &JudgedRun) -> Markup {
    let lines = unmatched::lines(run);
    html! {
        @if !lines.is_empty() {
            details {
                summary { "Numbers of the output that are not verified" }
                ul { @for line in &lines { li { (shown(line)) } } }
            }
        }
    }
}

fn is_confirmed(shown: &Shown<'_>) -> bool {
    shown.row.verdict == Some(ClaimVerdict::Confirmed)
}

fn row(heads: &[&'static str], claim: &Shown<'_>, anchors: &Anchors) -> Markup {
    html! {
        tr role="row" {
            @for (head, cell) in heads.iter().zip(&claim.row.cells) {
                @match *head {
                    "phase" => th scope="row" role="rowheader" { (shown(cell)) },
                    "verdict" => td role="cell" data-label=(head) { (verdict(claim.row.verdict, cell)) },
                    "as printed" => td role="cell" data-label=(head) class="printed" {
                        @if let Some(anchor) = &claim.anchor {
                            a href={ "#" (anchor) } { (shown(cell)) }
                        } @else { (shown(cell)) }
                    },
                    "honest" => td role="cell" data-label=(head) class="figure" {
                        (shown(cell))
                        @if let Some(why) = honest(claim.judged) { " " small { (prose(why)) } }
                    },
                    _ => td role="cell" data-label=(head) class=(class(head)) { (shown(cell)) },
                }
            }
            td role="cell" data-label="measured" class="words" { (prose(&claim.measured)) }
            td role="cell" data-label="findings" class="codes" { span { (anchors.links(&claim.row.codes)) } }
        }
    }
}

fn class(head: &str) -> &'static str {
    match head {
        "claimed" | "observed" | "honest" => "figure",
        "as printed" => "printed",
        _ => "words",
    }
}

/// The verdict as a coloured word.
pub(super) fn verdict(verdict: Option<ClaimVerdict>, word: &str) -> Markup {
    let tone = match verdict {
        Some(ClaimVerdict::Confirmed) => "good",
        Some(ClaimVerdict::Misleading | ClaimVerdict::Refuted) => "bad",
        Some(ClaimVerdict::Unverifiable | ClaimVerdict::NotChecked) | None => "doubtful",
    };
    html! { span.tag.(tone) { (word) } }
}

/// Meaning of the honest figure, or the reason why there is none.
fn honest(judged: Option<&JudgedClaim>) -> Option<&str> {
    let judged = judged?;
    match &judged.corrected {
        Some(corrected) => Some(corrected.meaning.as_str()),
        None => judged.no_correction.as_deref(),
    }
    .filter(|text| !text.is_empty())
}

/// Returns what the figure measured; for a confirmed claim its subject.
fn measured(claim: &Claim, judged: Option<&JudgedClaim>) -> String {
    match judged {
        Some(JudgedClaim { measured_instead: Some(instead), .. }) => instead.clone(),
        Some(judged) if judged.verdict() == ClaimVerdict::Confirmed => {
            format!("as labelled ({})", claim.subject.as_str())
        }
        _ => "not known".to_owned(),
    }
}
