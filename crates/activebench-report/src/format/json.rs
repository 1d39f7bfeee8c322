//! `json`: a document for programs. An unknown value is `null`, never 0, and its key is never left out.

use std::io;

use super::{Format, Rendering};
use crate::Style;
use crate::document::Shown;

/// Format `json`.
pub(crate) static FORMAT: Format = Format {
    name: "json",
    extension: "json",
    is_unasked: true,
    shows_timelines: false,
    rendering: Rendering::OfDocuments(write),
};

fn write(document: &dyn Shown, _style: Style, to: &mut dyn io::Write) -> io::Result<()> {
    document.write_json(to)
}
