//! `json`: a document for programs. An unknown value is `null`, never 0, and its key is never left out.

use super::{Format, Rendering};
use crate::Style;
use crate::document::Shown;

/// Format `json`.
pub(crate) static FORMAT: Format =
    Format { name: "json", extension: "json", shows_timelines: false, rendering: Rendering::OfDocuments(render) };

fn render(document: &dyn Shown, _style: Style) -> String {
    document.json()
}
