//! The formats, one file per format, and their list. To add a format: a file in `format/`, its module and its entry in
//! [`FORMATS`].

pub(crate) mod csv;
mod html;
mod json;
mod junit;
mod markdown;
pub mod sarif;
mod text;

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
    &sarif::FORMAT,
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
    /// `true` if it shows [`JudgedRun::timelines`], which are computed only for formats that show them.
    pub shows_timelines: bool,
    /// Function that renders.
    pub rendering: Rendering,
}

/// Function that renders, by what it can render.
#[derive(Clone, Copy, Debug)]
pub enum Rendering {
    /// Every document.
    OfDocuments(fn(&dyn Shown, Style) -> String),
    /// Only a run.
    OfRuns(fn(&JudgedRun) -> String),
}

impl Format {
    /// Renders a run.
    pub fn render(&self, run: &JudgedRun, style: Style) -> String {
        match self.rendering {
            Rendering::OfDocuments(render) => render(run, style),
            Rendering::OfRuns(render) => render(run),
        }
    }

    /// Renders a document; `None` if the format has only runs.
    pub fn render_document(&self, document: &dyn Shown, style: Style) -> Option<String> {
        match self.rendering {
            Rendering::OfDocuments(render) => Some(render(document, style)),
            Rendering::OfRuns(_) => None,
        }
    }
}

/// Returns the formats of every document.
pub fn document_formats() -> impl Iterator<Item = &'static Format> {
    FORMATS.iter().copied().filter(|format| matches!(format.rendering, Rendering::OfDocuments(_)))
}

/// Returns the format with this name.
pub fn format_by_name(name: &str) -> Option<&'static Format> {
    FORMATS.iter().copied().find(|format| format.name == name)
}
