//! The formats, one file per format, and their list. To add a format: a file in `format/`, its module and its entry in
//! [`FORMATS`].

pub(crate) mod csv;
mod html;
mod json;
mod junit;
mod markdown;
mod openmetrics;
pub mod sarif;
mod text;

use std::io;

use activebench_model::report::JudgedRun;

use crate::Style;
use crate::document::Shown;

/// Every format, in the order in which messages list them.
pub static FORMATS: &[&Format] = &[
    &text::FORMAT,
    &json::FORMAT,
    &markdown::FORMAT,
    &html::FORMAT,
    &junit::FORMAT,
    &junit::FULL,
    &sarif::FORMAT,
    &openmetrics::FORMAT,
    &csv::CLAIMS,
    &csv::FACTS,
    &csv::TIMELINE,
];

/// A format.
#[derive(Debug)]
pub struct Format {
    /// Name, as given to `--format`.
    pub name: &'static str,
    /// File name extension of the default file, without the dot.
    pub extension: &'static str,
    /// `true` if every run directory gets it; the others are rendered where somebody asks for them.
    pub is_unasked: bool,
    /// `true` if it shows [`JudgedRun::timelines`], which are computed only for formats that show them.
    pub shows_timelines: bool,
    /// Function that renders.
    pub rendering: Rendering,
}

/// Function that renders, by what it can render.
#[derive(Clone, Copy, Debug)]
pub enum Rendering {
    /// Every document.
    OfDocuments(fn(&dyn Shown, Style, &mut dyn io::Write) -> io::Result<()>),
    /// Only a run.
    OfRuns(fn(&JudgedRun, &mut dyn io::Write) -> io::Result<()>),
}

impl Format {
    /// Renders a run.
    pub fn render(&self, run: &JudgedRun, style: Style) -> String {
        text(|to| self.write(run, style, to))
    }

    /// Writes a run piece by piece: the report of a run with many phases is large.
    ///
    /// # Errors
    /// Only those of `to`.
    pub fn write(&self, run: &JudgedRun, style: Style, to: &mut dyn io::Write) -> io::Result<()> {
        match self.rendering {
            Rendering::OfDocuments(write) => write(run, style, to),
            Rendering::OfRuns(write) => write(run, to),
        }
    }

    /// Renders a document; `None` if the format has only runs.
    pub fn render_document(&self, document: &dyn Shown, style: Style) -> Option<String> {
        match self.rendering {
            Rendering::OfDocuments(write) => Some(text(|to| write(document, style, to))),
            Rendering::OfRuns(_) => None,
        }
    }
}

/// Returns what is written to memory.
pub(crate) fn text(write: impl FnOnce(&mut dyn io::Write) -> io::Result<()>) -> String {
    let mut bytes = Vec::new();
    write(&mut bytes).expect("memory takes everything, and a report has text keys only");
    String::from_utf8(bytes).expect("a report is text")
}

/// Returns the formats of every document.
pub fn document_formats() -> impl Iterator<Item = &'static Format> {
    FORMATS.iter().copied().filter(|format| matches!(format.rendering, Rendering::OfDocuments(_)))
}

/// Returns the format with this name.
pub fn format_by_name(name: &str) -> Option<&'static Format> {
    FORMATS.iter().copied().find(|format| format.name == name)
}
