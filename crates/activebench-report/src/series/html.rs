//! A series as one HTML file, like the page of a run. Details of each run are in its own report.

use activebench_model::finding::Severity;
use activebench_model::series::JudgedSeries;
use maud::{Markup, html};

use super::{
    RUN_HEADS, SeriesFormat, causes, extent, firing, head, heads, rows, run_rows, steady, stopping, title, undecided,
};
use crate::Style;
use crate::escape::terminal as shown;
use crate::html::{page, part, prose, rounds, table, verdict, visible};
use crate::surroundings::prepared;
use crate::wording::{count, shell_command};

/// Runs shown; the rest is counted.
const RUNS_SHOWN: usize = 1_000;
/// Findings shown; the rest is counted.
const FINDINGS_SHOWN: usize = 100;
/// Open questions shown; the rest is counted.
const OPEN_SHOWN: usize = 100;

/// Format `html`.
pub(super) struct Html;

impl SeriesFormat for Html {
    fn name(&self) -> &'static str {
        "html"
    }

    fn extension(&self) -> &'static str {
        "html"
    }

    fn render(&self, series: &JudgedSeries, _style: Style) -> String {
        let extent = shown(&extent(series));
        let name = format!("{}: {extent}", series.verdict.as_str().to_uppercase());
        let header = html! {
            h1 { (verdict(series.verdict)) " " (extent) }
            p.why { (shown(&series.because)) "." }
            @if let Some(sentence) = stopping(series) { p { (shown(&sentence)) "." } }
            p.command { code { (shown(&shell_command(&series.manifest.command.argv))) } }
        };
        let steady = steady::rule(series);
        let (causes, left_out) = causes(series);
        let contents = html! {
            ol {
                li { a href="#figures" { "Figures" } }
                @if steady.is_some() { li { a href="#steady" { "Steady state" } } }
                @if !causes.is_empty() { li { a href="#differences" { "What the runs differ by" } } }
                li { a href="#runs" { "Runs" } }
                li { a href="#findings" { "Findings" } }
                li { a href="#record" { "Record" } }
            }
        };
        let main = html! {
            (part("figures", "Figures", figures(series)))
            @if let Some(rule) = &steady {
                (part("steady", "Steady state", html! {
                    p { (shown(rule)) "." }
                    ul { @for sentence in steady::sentences(series) { li { (shown(&sentence)) } } }
                    (rounds(series))
                }))
            }
            @if !causes.is_empty() {
                (part("differences", "What the runs differ by", html! {
                    ul { @for cause in &causes { li { (shown(cause)) } } }
                    @if left_out > 0 { p { (count(left_out, "further cause")) " in the JSON report." } }
                }))
            }
            (part("runs", "Runs", runs(series)))
            (part("findings", "Findings", findings(series)))
            (part("record", "Record", html! {
                @if let Some(preparation) = series.preparation() { p { (shown(&prepared(preparation))) "." } }
                p { "Series directory: " code { (shown(&series.directory)) } }
            }))
        };
        visible(&page(&name, header, contents, main, &series.manifest.activebench).into_string())
    }
}

fn figures(series: &JudgedSeries) -> Markup {
    let (figures, left_out) = rows(series);
    html! {
        (table("Figures", heads(series), &figures))
        @if left_out > 0 { p { (count(left_out, "further figure")) " in the JSON report." } }
    }
}

fn runs(series: &JudgedSeries) -> Markup {
    let runs = run_rows(series);
    html! {
        (table("Runs", &RUN_HEADS, &runs[..runs.len().min(RUNS_SHOWN)]))
        @if runs.len() > RUNS_SHOWN { p { (count(runs.len() - RUNS_SHOWN, "further run")) "." } }
    }
}

fn findings(series: &JudgedSeries) -> Markup {
    let firing = firing(series);
    let open = undecided(series);
    html! {
        @if firing.is_empty() { p { "None." } }
        @for finding in firing.iter().take(FINDINGS_SHOWN) {
            @let tone = match finding.severity {
                Some(Severity::Fail) => "bad",
                Some(Severity::Warn) => "doubtful",
                Some(Severity::Note) | None => "neutral",
            };
            article.finding.(tone) {
                h3 { (shown(&head(finding))) (shown(&title(finding))) }
                p { (prose(&finding.message)) }
                @if !finding.meaning.is_empty() { p { (prose(&finding.meaning)) } }
                @if !finding.advice.is_empty() { p.advice { b { "What to do: " } (prose(&finding.advice)) } }
            }
        }
        @if firing.len() > FINDINGS_SHOWN { p { (count(firing.len() - FINDINGS_SHOWN, "further finding")) "." } }
        @if !open.is_empty() {
            h3 { "Undecided" }
            ul { @for line in open.iter().take(OPEN_SHOWN) { li { (shown(line)) } } }
        }
        @if open.len() > OPEN_SHOWN { p { (count(open.len() - OPEN_SHOWN, "further open question")) "." } }
    }
}
