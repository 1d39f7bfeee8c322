//! Findings with their advice, most severe first, and findings that are undecided.

use activebench_model::finding::Severity;
use activebench_model::report::JudgedRun;
use maud::{Markup, html};

use super::prose::prose;
use crate::escape::terminal as shown;
use crate::findings::{self, Group, severity_name};
use crate::wording::count;

/// Findings shown; the rest is counted.
const FINDINGS: usize = 100;

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

/// The findings that fire; notes are collapsed.
pub(super) fn section(run: &JudgedRun, groups: &[Group]) -> Markup {
    let numbered = || groups.iter().enumerate().take(FINDINGS);
    let notes = numbered().filter(|(_, group)| group.severity == Severity::Note).count();
    html! {
        @if groups.is_empty() { p { "None." } }
        @for (place, group) in numbered().filter(|(_, group)| group.severity != Severity::Note) {
            (finding(place, group))
        }
        @if notes > 0 {
            details {
                summary { (count(notes, "note")) }
                @for (place, group) in numbered().filter(|(_, group)| group.severity == Severity::Note) {
                    (finding(place, group))
                }
            }
        }
        @if groups.len() > FINDINGS {
            p { (count(groups.len() - FINDINGS, "further finding")) ": " code { "activebench show --stage findings" } "." }
        }
        @if let Some(undecided) = findings::undecided(run) {
            p { b { "Undecided: " } (shown(&undecided)) "." }
        }
    }
}

fn finding(place: usize, group: &Group) -> Markup {
    let severity = severity_name(group.severity);
    let tone = match group.severity {
        Severity::Fail => "bad",
        Severity::Warn => "doubtful",
        Severity::Note => "neutral",
    };
    html! {
        article.finding.(tone) id=(Anchors::id(place)) {
            h3 {
                span.tag.(tone) { (severity) } " "
                (shown(&group.code)) " " (shown(&group.name)) " "
                span.phases { "(" (shown(&group.phases)) ")" }
            }
            @for statement in &group.statements { @if !statement.is_empty() { p { (prose(statement)) } } }
            @if !group.meaning.is_empty() { p { (prose(&group.meaning)) } }
            @if !group.advice.is_empty() { p.advice { b { "What to do: " } (prose(&group.advice)) } }
            @if !group.evidence.is_empty() { p.evidence { "Evidence: " (shown(&group.evidence)) } }
        }
    }
}
