//! An acceptance as one HTML file, to be printed and filed. It uses the parts of a run's page.

use activebench_model::acceptance::{Acceptance, AcceptanceOutcome};
use maud::{Markup, html};

use super::{
    CONDITION_HEADS, DEVICE_HEADS, EVIDENCE_HEADS, HOW_TO_CHECK, LIMIT_HEADS, agreement, condition_rows, device_rows,
    evidence_rows, headline, limit_name, limit_reasons, limit_rows, recheck, suite, tested,
};
use crate::escape::terminal as shown;
use crate::html::{page, part, prose, table, visible};

pub(super) fn render(acceptance: &Acceptance) -> String {
    let name = format!("{}: acceptance", headline(acceptance.outcome));
    let parties = &acceptance.parties;
    let header = html! {
        h1 { (outcome(acceptance.outcome)) " acceptance" }
        p.why { (shown(&acceptance.because)) "." }
        p { (shown(&parties.buyer)) " and " (shown(&parties.vendor)) }
        @for note in &acceptance.notes { p { b { "Note: " } (prose(note)) } }
    };
    let parts: [(&str, &str, Markup); 6] = [
        ("limits", "Limits", limits(acceptance)),
        ("conditions", "Conditions", conditions(acceptance)),
        ("tested", "What was tested", what(acceptance)),
        ("agreement", "Agreement", list(agreement(acceptance))),
        ("evidence", "Evidence", html! { (table("Recorded runs", &EVIDENCE_HEADS, &evidence_rows(acceptance))) }),
        (
            "recheck",
            "Check it again",
            html! {
                p { (HOW_TO_CHECK) }
                p.command { code { (shown(&recheck(acceptance))) } }
            },
        ),
    ];
    let contents = html! {
        ol { @for (id, title, _) in &parts { li { a href=(format!("#{id}")) { (title) } } } }
    };
    let main = html! { @for (id, title, content) in parts { (part(id, title, content)) } };
    visible(&page(&name, header, contents, main, &acceptance.activebench).into_string())
}

fn outcome(outcome: AcceptanceOutcome) -> Markup {
    let tone = match outcome {
        AcceptanceOutcome::Pass => "good",
        AcceptanceOutcome::ConditionalPass | AcceptanceOutcome::NotJudged => "doubtful",
        AcceptanceOutcome::ConditionalFail | AcceptanceOutcome::Fail => "bad",
    };
    html! { span.verdict.(tone) { (headline(outcome)) } }
}

fn limits(acceptance: &Acceptance) -> Markup {
    let rows = limit_rows(acceptance);
    html! {
        @if rows.is_empty() { p { "The file has no limit." } } @else { (table("Limits", &LIMIT_HEADS, &rows)) }
        @for limit in &acceptance.limits {
            h3 { (shown(&limit_name(limit))) }
            ul { @for reason in limit_reasons(limit) { li { (prose(&reason)) } } }
        }
    }
}

fn conditions(acceptance: &Acceptance) -> Markup {
    html! {
        @for benchmark in &acceptance.benchmarks {
            h3 { (shown(&benchmark.name)) }
            (table("Conditions", &CONDITION_HEADS, &condition_rows(benchmark)))
            (list(suite(benchmark)))
        }
    }
}

fn what(acceptance: &Acceptance) -> Markup {
    let devices = device_rows(acceptance);
    html! {
        (list(tested(acceptance)))
        @if !devices.is_empty() { (table("Devices", &DEVICE_HEADS, &devices)) }
    }
}

fn list(lines: Vec<(&'static str, String)>) -> Markup {
    html! {
        ul {
            @for (label, text) in lines {
                li { @if !label.is_empty() { b { (label) ": " } } (shown(&text)) }
            }
        }
    }
}
