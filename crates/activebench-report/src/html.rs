//! Pages: the frame of every page, and the sections of a run's page.
//!
//! All text goes through `maud`, which escapes it, and through [`shown`](crate::escape::terminal), which replaces
//! characters that affect a screen. Charts are in `chart`, and each section has a file. The sentences are shared with
//! the other formats.

pub(crate) mod accepted;
pub(crate) mod accepted_units;
mod answer;
mod bar_table;
mod bars;
mod chart;
mod claims;
pub(crate) mod compared;
mod dots;
mod environment;
mod figure;
mod findings;
mod flow;
pub(crate) mod history;
mod latency;
mod marks;
mod offsets;
mod phases;
mod picture;
mod prose;
mod quotes;
mod record;
pub(crate) mod repeated;
pub(crate) mod replicated;
pub(crate) mod rounds;
mod row_axis;
pub(crate) mod side_by_side;
mod stack;
mod svg;
mod tiles;
mod timeline;
mod units;

use activebench_model::report::JudgedRun;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::document::{Block, Section};
use crate::escape::{is_hidden, terminal as shown};
use crate::lookup::Lookup;
use crate::{findings as shared_findings, limiter, questions};

pub(crate) use environment::strip;
use findings::{Anchors, Evidence};
use phases::Phases;
pub(crate) use prose::prose;
use quotes::Quotes;

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

/// Returns the sections of a run's page: the first screen, which has no title, the picture of the worst phase, findings
/// and phases, and folded all the rest.
pub(crate) fn sections(run: &JudgedRun) -> Vec<Section> {
    let groups = shared_findings::firing(run);
    let anchors = Anchors::of(&groups);
    let quotes = Quotes::of(run);
    let phases = Phases::of(run);
    let lookup = Lookup::of(run);
    let part = |title: &str, content: Markup| Section::new(title, "", vec![Block::Chart(content)]);
    let folded = |title: &str, content: Markup| Section { is_folded: true, ..part(title, content) };
    let evidence = Evidence { run, quotes: &quotes, phases: &phases, lookup: &lookup };
    let mut sections = vec![part("", answer::section(run, &anchors))];
    let picture = picture::section(run, &phases, &lookup, &anchors);
    sections.extend(picture.map(|(title, content)| part(&title, content)));
    sections.push(part("Findings", findings::section(&evidence, &groups)));
    if !run.phases.is_empty() {
        sections.push(part("Phases", tiles::section(&phases)));
    }
    sections.push(folded("All figures", claims::section(run, &quotes, &anchors)));
    sections.push(folded("All charts and facts", phases.section()));
    if !run.questions.is_empty() {
        sections.push(folded("Seven questions", seven(run)));
    }
    sections.extend([
        folded("Device stack", stack::section(&run.manifest.host)),
        folded("Observation and its cost", record::coverage(run)),
        folded("Host and provenance", record::provenance(run)),
        folded("The tool's own words", quotes.section(run)),
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
                (bars::hatch())
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

/// Folded section of a page. A link to its id opens it.
pub(crate) fn fold(id: &str, title: &str, content: impl maud::Render) -> Markup {
    html! {
        details.fold {
            summary { h2 id={ (id) "-h" } { (title) } }
            section id=(id) aria-labelledby={ (id) "-h" } { (content) }
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
                    @if !answer.evidence.is_empty() { p.evidence { "Evidence: " (prose(&answer.evidence.join("; "))) } }
                }
            }
        }
        @for line in limiter::lines_beside_answers(run, LIMITS) { p { b { "Limit of " } (prose(&line)) } }
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
                                    @if column == 0 { th scope="row" { (prose(cell)) } } @else { td { (prose(cell)) } }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}
