//! Faults of an acceptance file: the message, the position, and the text to write instead.

use std::fmt;
use std::ops::Range;

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The bytes of the file that it is about.
    pub span: Range<usize>,
    /// The message, a fragment.
    pub message: String,
    /// The text to write instead; may be empty.
    pub hint: String,
}

impl Fault {
    /// A fault with its hint.
    pub fn new(span: Range<usize>, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { span, message: message.into(), hint: hint.into() }
    }
}

/// All that is wrong with a file, each with its line and a caret below what it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Faults {
    /// The file, as the user named it.
    pub file: String,
    /// The text of the file.
    pub text: String,
    /// In the order of the file.
    pub faults: Vec<Fault>,
}

impl Faults {
    /// The faults in their order.
    pub fn new(file: &str, text: &str, mut faults: Vec<Fault>) -> Self {
        faults.sort_by_key(|fault| (fault.span.start, fault.span.end));
        faults.dedup();
        Self { file: file.to_owned(), text: text.to_owned(), faults }
    }
}

impl std::error::Error for Faults {}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.faults.len();
        let fault = if count == 1 { "fault" } else { "faults" };
        write!(f, "cannot use the acceptance file {}: {count} {fault}", self.file)?;
        for fault in &self.faults {
            let place = AnnotationKind::Primary.span(within(&self.text, &fault.span));
            let snippet = Snippet::source(self.text.as_str()).path(self.file.as_str()).annotation(place);
            let mut group = Level::ERROR.primary_title(fault.message.as_str()).element(snippet);
            if !fault.hint.is_empty() {
                group = group.element(Level::HELP.with_name("hint").message(fault.hint.as_str()));
            }
            write!(f, "\n\n{}", Renderer::plain().render(&[group]))?;
        }
        Ok(())
    }
}

/// The span cut to whole characters of the text, and never empty where there is a character.
fn within(text: &str, span: &Range<usize>) -> Range<usize> {
    let is_boundary = |at: &usize| text.is_char_boundary(*at);
    let start = (0..=span.start.min(text.len())).rev().find(is_boundary).unwrap_or(0);
    let end = (span.end.clamp(start, text.len())..=text.len()).find(is_boundary).unwrap_or(start);
    start..end
}
