//! Findings by cause: failures open, warnings and notes folded, each with links to its evidence. Then the checks that
//! passed or could not be decided.

use std::collections::BTreeMap;

use activebench_model::finding::{Finding, Outcome, Severity};
use activebench_model::report::JudgedRun;
use maud::{Markup, html};

use super::phases::{PhaseAnchors, Phases};
use super::prose::prose;
use super::quotes::Quotes;
use crate::escape::terminal as shown;
use crate::findings::{self, Group, severity_name};
use crate::lookup::Lookup;
use crate::run::causes::{Cause, title_of_code};
use crate::wording::{count, list};

/// Findings shown; the rest is counted.
const FINDINGS: usize = 100;
/// Links to lines of the output, and to phases, per finding.
const LINKS: usize = 4;

/// Positions of the findings on the page.
pub(super) struct Anchors {
    /// Codes in the order of the findings.
    codes: Vec<String>,
}

impl Anchors {
    pub(super) fn of(groups: &[Group]) -> Self {
        Self { codes: groups.iter().take(FINDINGS).map(|group| group.code.clone()).collect() }
    }

    fn id(place: usize) -> String {
        format!("finding-{}", place + 1)
    }

    /// The codes, linked to their findings.
    pub(super) fn links(&self, codes: &[String]) -> Markup {
        html! {
            @for (index, code) in codes.iter().enumerate() {
                @if index > 0 { " " }
                @match self.codes.iter().position(|known| known == code) {
                    Some(place) => a href={ "#" (Self::id(place)) } { (shown(code)) },
                    None => (shown(code)),
                }
            }
        }
    }
}

/// What a finding's links lead to.
pub(super) struct Evidence<'page> {
    pub(super) run: &'page JudgedRun,
    pub(super) quotes: &'page Quotes<'page>,
    pub(super) phases: &'page Phases<'page>,
    pub(super) lookup: &'page Lookup<'page>,
}

/// A finding at its place on the page.
type Placed<'page> = (usize, &'page Group);

/// The groups of one cause, and those that it explains.
struct OfCause<'page> {
    severity: Severity,
    own: Vec<Placed<'page>>,
    explained: Vec<Placed<'page>>,
}

/// Renders the findings of a run.
pub(super) fn section(page: &Evidence<'_>, groups: &[Group]) -> Markup {
    let (causes, notes) = by_cause(page.run, groups);
    let (failures, warnings): (Vec<_>, Vec<_>) = causes.into_iter().partition(|cause| cause.severity == Severity::Fail);
    let checks = html! {
        (folded(page, "notes", &count(notes.len(), "note"), &notes))
        (passed(page.run))
        @if let Some(undecided) = findings::undecided(page.run) {
            p { b { "Undecided: " } (prose(&undecided)) "." }
        }
        @if groups.len() > FINDINGS {
            p { (count(groups.len() - FINDINGS, "further finding")) ": " code { "activebench show --stage findings" } "." }
        }
    };
    let warned = html! { @for cause in &warnings { (warning(page, cause)) } };
    html! {
        @if failures.is_empty() {
            @if warnings.is_empty() { p { "Nothing contradicts the figures." } }
            div.columns { div { (warned) } div { (checks) } }
        } @else {
            div.columns {
                div { @for cause in &failures { (failure(page, cause)) } }
                div { (warned) (checks) }
            }
        }
    }
}

/// Returns the findings by cause, in the order of the causes, and the notes.
fn by_cause<'page>(run: &JudgedRun, groups: &'page [Group]) -> (Vec<OfCause<'page>>, Vec<Placed<'page>>) {
    let (notes, mut open): (Vec<Placed<'_>>, Vec<Placed<'_>>) =
        groups.iter().enumerate().take(FINDINGS).partition(|(_, group)| group.severity == Severity::Note);
    let mut causes = Vec::new();
    for cause in Cause::of(run) {
        let mut taken = |wanted: &dyn Fn(&str) -> bool| {
            let (taken, rest) = std::mem::take(&mut open).into_iter().partition(|(_, group)| wanted(&group.code));
            open = rest;
            taken
        };
        let own: Vec<Placed<'_>> = taken(&|code| code == cause.code);
        let explained = taken(&|code| cause.explains.contains(&code));
        if !own.is_empty() {
            causes.push(OfCause { severity: cause.severity, own, explained });
        }
    }
    // What is explained by something that is explained itself.
    causes.extend(open.into_iter().map(|placed| OfCause {
        severity: placed.1.severity,
        own: vec![placed],
        explained: Vec::new(),
    }));
    (causes, notes)
}

fn failure(page: &Evidence<'_>, cause: &OfCause<'_>) -> Markup {
    html! {
        @for (place, group) in &cause.own { (finding(page, *place, group)) }
        @if !cause.explained.is_empty() {
            (folded(page, "explained", &format!("It explains {}", list(&codes(&cause.explained), 4)), &cause.explained))
        }
    }
}

/// A warning is folded under its title.
fn warning(page: &Evidence<'_>, cause: &OfCause<'_>) -> Markup {
    let Some((_, first)) = cause.own.first() else { return html! {} };
    html! {
        details.warning {
            summary {
                (tag(first.severity)) " " (shown(&first.code)) " " (shown(&title(page.run, first))) " "
                span.phases { "(" (shown(&first.phases)) ")" }
            }
            (failure(page, cause))
        }
    }
}

fn codes<'page>(placed: &[Placed<'page>]) -> Vec<&'page str> {
    placed.iter().map(|(_, group)| group.code.as_str()).collect()
}

fn folded(page: &Evidence<'_>, class: &str, title: &str, findings: &[Placed<'_>]) -> Markup {
    html! {
        @if !findings.is_empty() {
            details.(class) {
                summary { (shown(title)) }
                @for (place, group) in findings { (finding(page, *place, group)) }
            }
        }
    }
}

fn tag(severity: Severity) -> Markup {
    html! { span.tag.(tone(severity)) { (severity_name(severity)) } }
}

fn tone(severity: Severity) -> &'static str {
    match severity {
        Severity::Fail => "bad",
        Severity::Warn => "doubtful",
        Severity::Note => "neutral",
    }
}

fn title(run: &JudgedRun, group: &Group) -> String {
    title_of_code(run, &group.code).unwrap_or_else(|| group.name.replace('-', " "))
}

fn finding(page: &Evidence<'_>, place: usize, group: &Group) -> Markup {
    html! {
        article.finding.(tone(group.severity)) id=(Anchors::id(place)) {
            h3 {
                (tag(group.severity)) " " (shown(&group.code)) " " (shown(&title(page.run, group))) " "
                span.phases { "(" (shown(&group.phases)) ")" }
            }
            @for statement in &group.statements { @if !statement.is_empty() { p { (prose(statement)) } } }
            @if !group.meaning.is_empty() { p { (prose(&group.meaning)) } }
            @if !group.advice.is_empty() { p.advice { b { "What to do: " } (prose(&group.advice)) } }
            (evidence(page, group))
        }
    }
}

/// Thresholds and facts in words, and links to the lines, charts and facts behind the finding.
fn evidence(page: &Evidence<'_>, group: &Group) -> Markup {
    let is_of_it = |finding: &&Finding| finding.outcome == Outcome::Fires && finding.code == group.code;
    let found: Vec<&Finding> = page.run.findings.iter().filter(is_of_it).collect();
    let mut links: Vec<(String, String)> = Vec::new();
    let add = |links: &mut Vec<(String, String)>, anchor: String, words: String| {
        if !links.iter().any(|(known, _)| *known == anchor) {
            links.push((anchor, words));
        }
    };
    let claims = found.iter().flat_map(|finding| {
        let of_phase = finding.phase.as_deref().filter(|_| finding.claims.is_empty());
        let named = finding.claims.iter().filter_map(|id| page.lookup.claim(id));
        named.chain(of_phase.and_then(|phase| page.lookup.first_claim_of(phase)))
    });
    for claim in claims {
        if links.len() < LINKS
            && let Some(anchor) = page.quotes.anchor(&claim.source)
        {
            add(&mut links, anchor, format!("{} line {}", claim.source.stream, claim.source.line));
        }
    }
    let most = links.len() + 2 * LINKS;
    for phase in found.iter().filter_map(|finding| finding.phase.as_deref()) {
        if links.len() < most
            && let Some(PhaseAnchors { charts, facts, name }) = page.phases.anchors(phase)
        {
            charts.into_iter().for_each(|charts| add(&mut links, charts, format!("charts of {name}")));
            facts.into_iter().for_each(|facts| add(&mut links, facts, format!("facts of {name}")));
        }
    }
    html! {
        @if !group.evidence.is_empty() || !links.is_empty() {
            p.evidence {
                "Evidence: " (prose(&group.evidence))
                @if !group.evidence.is_empty() && !links.is_empty() { ". See " }
                @for (place, (anchor, words)) in links.iter().enumerate() {
                    @if place > 0 { ", " }
                    a href={ "#" (anchor) } { (shown(words)) }
                }
                "."
            }
        }
    }
}

/// The checks that found nothing, each once.
fn passed(run: &JudgedRun) -> Markup {
    let mut passed: BTreeMap<&str, &str> = BTreeMap::new();
    for finding in run.findings.iter().filter(|finding| finding.outcome == Outcome::Silent) {
        passed.insert(&finding.code, &finding.name);
    }
    // A check that found something in one phase and nothing in another did not pass.
    for finding in run.findings.iter().filter(|finding| finding.outcome == Outcome::Fires) {
        passed.remove(finding.code.as_str());
    }
    html! {
        @if !passed.is_empty() {
            details.passed {
                summary { (count(passed.len(), "check")) " passed" }
                ul {
                    @for (code, name) in &passed {
                        li { (shown(code)) " " (shown(&title_of_code(run, code).unwrap_or_else(|| name.replace('-', " ")))) ": not found" }
                    }
                }
            }
        }
    }
}
