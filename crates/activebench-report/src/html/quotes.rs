//! Lines of the tool's output that support the claims and notes, each with an anchor.

use std::collections::BTreeMap;

use activebench_model::claim::SourceLine;
use activebench_model::report::JudgedRun;
use maud::{Markup, html};

use crate::escape::terminal as shown;
use crate::wording::{count, quoted};

/// Lines quoted; the rest is counted.
const LINES: usize = 300;
/// Maximum notes shown; the rest is counted.
const NOTES: usize = 50;

/// The quoted lines, in the order of the output.
pub(super) struct Quotes<'run> {
    lines: BTreeMap<(&'run str, u64), &'run str>,
}

impl<'run> Quotes<'run> {
    pub(super) fn of(run: &'run JudgedRun) -> Self {
        let claims = run.parsed.claims.iter().map(|claim| &claim.source);
        let notes = run.parsed.notes.iter().chain(&run.parsed.errors).map(|note| &note.source);
        let restated = run.parsed.restated.iter().map(|restated| &restated.source);
        let all = claims.chain(notes).chain(restated);
        Self { lines: all.map(|line| ((line.stream.as_str(), line.line), line.text.as_str())).collect() }
    }

    /// Returns the anchor of a line; `None` for a line that is left out.
    pub(super) fn anchor(&self, source: &SourceLine) -> Option<String> {
        let key = (source.stream.as_str(), source.line);
        let place = self.lines.keys().position(|known| *known == key)?;
        (place < LINES).then(|| format!("line-{}", place + 1))
    }

    /// Renders the lines, and the parser's notes.
    pub(super) fn section(&self, run: &JudgedRun) -> Markup {
        let notes = &run.parsed.notes;
        html! {
            @if self.lines.is_empty() {
                p { "No claim has a line of its output. The whole output is in the run directory." }
            } @else {
                p { "The lines that the claims stand on, as the tool printed them. The whole output is in the run directory." }
                div.wide tabindex="0" role="region" aria-label="Lines of the tool's output" {
                    table.lines {
                        thead { tr { th scope="col" { "stream" } th scope="col" { "line" } th scope="col" { "text" } } }
                        tbody {
                            @for (place, ((stream, line), text)) in self.lines.iter().take(LINES).enumerate() {
                                tr id={ "line-" (place + 1) } {
                                    td { (shown(stream)) }
                                    td { (line) }
                                    td { code { (shown(text)) } }
                                }
                            }
                        }
                    }
                }
                @if self.lines.len() > LINES {
                    p { (count(self.lines.len() - LINES, "further line")) " in the run directory." }
                }
            }
            @if !notes.is_empty() {
                details {
                    summary { (count(notes.len(), "note")) " of the parser" }
                    ul { @for note in notes.iter().take(NOTES) { li { (shown(&quoted(note))) } } }
                    @if notes.len() > NOTES {
                        p { (count(notes.len() - NOTES, "further note")) ": " code { "activebench report --format sarif" } "." }
                    }
                }
            }
        }
    }
}
