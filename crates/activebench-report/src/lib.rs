//! Documents, one file per kind, and their formats, one file per format.
//!
//! Renderers compute nothing: every number is in the document. The tool's own output is hostile text and is escaped in
//! every format (`escape`). To add a format: `format.rs`.
//!
//! The content of a run's report is in `run`; its sentences are in `headline`, `claims`, `findings`,
//! `similar_sentences` and `run_context`, which return raw text.

pub mod acceptance;
mod acceptance_batch;
mod bound;
pub mod ceiling;
mod claims;
pub mod compare;
mod cpu_time;
pub mod document;
mod envelope;
pub mod escape;
pub mod export;
mod findings;
pub mod format;
pub mod github;
mod headline;
pub mod history;
pub(crate) mod html;
mod library_calls;
mod limiter;
mod lookup;
pub mod page;
pub mod plan;
mod questions;
pub mod replication;
mod run;
mod run_context;
pub mod series;
mod serving;
mod side_by_side;
mod similar_sentences;
pub mod tables;
pub mod ticket;
mod unmatched;
mod wording;

pub use format::{FORMATS, Format, document_formats, format_by_name};

/// Options for rendering.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// ANSI colours; only for output to a terminal.
    pub colour: bool,
    /// Width of the terminal in columns; `None` if it is unknown: 100 is assumed, 80 for an answer at a glance.
    pub width: Option<u16>,
    /// How much of a run `text` shows.
    pub detail: Detail,
    /// Only ASCII characters, for terminals without UTF-8.
    pub ascii: bool,
}

/// How much of a run `text` shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Detail {
    /// Everything.
    #[default]
    Long,
    /// The answer, in at most 24 lines.
    Glance,
}

/// Returns the stack of devices below a file system in one line, as in reports. Raw text: the mount point comes from
/// the host.
pub fn target_line(target: &activebench_model::host::Target) -> String {
    run_context::target(target)
}
