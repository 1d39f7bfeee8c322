//! Report formats, one file per format.
//!
//! Renderers compute nothing: every number is in the [`JudgedRun`]. The tool's own output is hostile text and is
//! escaped in every format (`escape`). To add a format: a file here and an entry in [`FORMATS`].
//!
//! The formats for people share their sentences, their order and their merging. These are in `headline`, `claims`,
//! `findings`, `similar_sentences` and `run_context`, which return raw text; `text` and `markdown` only lay it out and
//! escape it.

pub mod acceptance;
mod bound;
pub mod ceiling;
mod claims;
pub mod compare;
mod cpu_time;
pub mod csv;
pub mod document;
mod envelope;
pub mod escape;
pub mod export;
mod findings;
mod headline;
pub mod history;
pub mod html;
pub mod json;
pub mod junit;
mod limiter;
pub mod markdown;
pub mod page;
pub mod plan;
mod questions;
pub mod replication;
mod run_context;
pub mod sarif;
pub mod series;
pub mod side_by_side;
mod similar_sentences;
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

/// Options for rendering.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// ANSI colours; only for output to a terminal.
    pub colour: bool,
    /// Width of the terminal in columns; `None` if it is unknown (100 is assumed).
    pub width: Option<u16>,
}

/// One report format.
pub trait Format: Sync {
    /// Name, as given to `--format`.
    fn name(&self) -> &'static str;
    /// File name extension of the default file, without the dot.
    fn extension(&self) -> &'static str;
    /// Returns `true` if it shows [`JudgedRun::timelines`], which are computed only for formats that show them.
    fn shows_timelines(&self) -> bool;
    /// Renders the whole report.
    fn render(&self, run: &JudgedRun, style: Style) -> String;
}

/// Returns the stack of devices below a file system in one line, as in reports. Raw text: the mount point comes from
/// the host.
pub fn target_line(target: &activebench_model::host::Target) -> String {
    run_context::target(target)
}

/// Returns the format with this name.
pub fn format_by_name(name: &str) -> Option<&'static dyn Format> {
    FORMATS.iter().copied().find(|format| format.name() == name)
}
