//! Pages: the frame of every page, and the sections of a run's page.
//!
//! All text goes through `maud`, which escapes it, and through [`shown`](crate::escape::terminal), which replaces
//! characters that affect a screen. Charts are in `chart`, and each section has a file. The sentences are shared with
//! the other formats.

mod chart;
mod claims;
mod figure;
mod findings;
pub(crate) mod history;
mod latency;
mod offsets;
mod phases;
mod prose;
mod quotes;
mod record;
mod rounds;
mod stack;
mod svg;
mod timeline;
mod units;

use activebench_model::report::JudgedRun;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::document::{Block, Section};
use crate::escape::{is_hidden, terminal as shown};
use crate::{findings as shared_findings, limiter, questions};

use findings::Anchors;
use phases::Phases;
pub(crate) use prose::prose;
use quotes::Quotes;
pub(crate) use rounds::charts as rounds;

/// Content security policy: nothing may be fetched or run, whatever text the report quotes.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";
/// Colours and print layout.
const STYLE_SHEET: &str = include_str!("html/style.css");
/// Maximum phases whose bottlenecks are shown beside the questions.
const LIMITS: usize = 12;

/// Replaces characters of the finished document that affect a screen. This is the last check, for text that escaped
/// earlier ones.
pub(crate) fn visible(document: &str) -> String {
    let mut safe = String::with_capacity(document.len());
    for character in document.chars() {
        match character {
            '\n' => safe.push('\n'),
            hidden if is_hidden(hidden) => safe.extend(hidden.escape_unicode()),
            plain => safe.push(plain),
        }
    }
    safe
}

/// Returns the sections of a run's page.
pub(crate) fn sections(run: &JudgedRun) -> Vec<Section> {
    let groups = shared_findings::firing(run);
    let anchors = Anchors::of(&groups);
    let quotes = Quotes::of(run);
    let phases = Phases::of(run);
    let part = |title: &str, content: Markup| Section::new(title, "", vec![Block::Chart(content)]);
    let mut sections = vec![
        part("Claims", claims::section(run, &quotes, &anchors)),
        part("Findings", findings::section(run, &groups)),
    ];
    if !run.questions.is_empty() {
        sections.push(part("Seven questions", seven(run)));
    }
    sections.extend([
        Section { places: phases.places(), ..part("Phases", phases.section()) },
        part("Device stack", stack::section(&run.manifest.host)),
        part("Observation and its cost", record::coverage(run)),
        part("Host and provenance", record::provenance(run)),
        part("The tool's own words", quotes.section(run)),
    ]);
    sections
}

/// A whole page. The title is already escaped; `version` is the version of activebench that made the recording.
pub(crate) fn page(title: &str, header: Markup, contents: Markup, main: Markup, version: &str) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) }
                style { (PreEscaped(STYLE_SHEET)) }
            }
            body {
                header { (header) }
                nav aria-label="Contents" { (contents) }
                main { (main) }
                footer { p { "Written by activebench " (shown(version)) ". This file is complete in itself." } }
            }
        }
    }
}

/// Section of a page.
pub(crate) fn part(id: &str, title: &str, content: impl maud::Render) -> Markup {
    html! {
        section id=(id) aria-labelledby={ (id) "-h" } {
            h2 id={ (id) "-h" } { (title) }
            (content)
        }
    }
}

/// The seven questions with their answers and evidence, and the bottlenecks of the phases that the answers do not
/// cover.
fn seven(run: &JudgedRun) -> Markup {
    html! {
        dl.questions {
            @for (question, answer) in questions::answered(run) {
                dt { (shown(question)) }
                dd {
                    p { (prose(&answer.answer)) }
                    @if !answer.evidence.is_empty() { p.evidence { "Evidence: " (shown(&answer.evidence.join("; "))) } }
                }
            }
        }
        @for line in limiter::lines_beside_answers(run, LIMITS) { p { b { "Limit of " } (shown(&line)) "." } }
    }
}

/// A table whose first column has the row heads.
pub(crate) fn table(name: &str, heads: &[&str], rows: &[Vec<String>]) -> Markup {
    html! {
        @if rows.is_empty() { p { "None." } } @else {
            div.wide tabindex="0" role="region" aria-label=(name) {
                table {
                    thead { tr { @for head in heads { th scope="col" { (head) } } } }
                    tbody {
                        @for row in rows {
                            tr {
                                @for (column, cell) in row.iter().enumerate() {
                                    @if column == 0 { th scope="row" { (shown(cell)) } } @else { td { (shown(cell)) } }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}
