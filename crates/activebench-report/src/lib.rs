//! One file a report format.
//!
//! Renderers compute nothing: every number stands in the [`JudgedRun`]. The tool's own
//! output is hostile text and is escaped in every format (`escape`). To add a format: a
//! file here and a line in [`FORMATS`].
//!
//! What the formats for people have in common (which sentence, which order, what is
//! merged) is in `headline`, `claims`, `findings`, `likeness` and `surroundings`, which return raw
//! text; `text` and `markdown` only lay it out and escape it.

pub mod acceptance;
mod bound;
mod claims;
pub mod compare;
pub mod csv;
pub mod escape;
pub mod export;
mod findings;
mod headline;
pub mod history;
pub mod html;
pub mod json;
pub mod junit;
mod likeness;
mod limiter;
pub mod markdown;
mod page;
pub mod plan;
mod processor;
mod questions;
pub mod replication;
pub mod sarif;
pub mod series;
pub mod side_by_side;
mod surroundings;
pub mod tables;
pub mod text;
pub mod ticket;
mod wording;

use activebench_model::report::JudgedRun;

/// Every format.
pub const FORMATS: &[&dyn Format] = &[
    &text::Text,
    &json::Json,
    &markdown::Markdown,
    &html::Html,
    &junit::Junit,
    &sarif::Sarif,
    &csv::CLAIMS,
    &csv::FACTS,
    &csv::TIMELINE,
];

/// How to render.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// ANSI colours: only when the output is a terminal.
    pub colour: bool,
    /// Columns of the terminal; `None` where there is none (100 is assumed).
    pub width: Option<u16>,
}

/// One report format.
pub trait Format: Sync {
    /// As given to `--format`.
    fn name(&self) -> &'static str;
    /// Ending of its default file, without dot.
    fn extension(&self) -> &'static str;
    /// The whole report.
    fn render(&self, run: &JudgedRun, style: Style) -> String;
}

/// The stack of devices below a file system in one line, as reports show it. Raw text: the
/// mount point is the host's own word.
pub fn target_line(target: &activebench_model::host::Target) -> String {
    surroundings::target(target)
}

/// The format of a name.
pub fn format_by_name(name: &str) -> Option<&'static dyn Format> {
    FORMATS.iter().copied().find(|format| format.name() == name)
}
