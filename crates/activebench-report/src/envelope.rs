//! The form of every JSON document: its schema, then its keys.

use std::io;

use serde::Serialize;

use crate::escape;

/// A document for programs. A consumer refuses a schema that it does not know.
#[derive(Debug, Serialize)]
pub(crate) struct Envelope<K> {
    /// Name and version of the form: `activebench.report/1`.
    pub(crate) schema: &'static str,
    /// The keys of the form.
    #[serde(flatten)]
    pub(crate) keys: K,
}

impl<K: Serialize> Envelope<K> {
    /// Writes the document as indented JSON that ends with a line break. Control characters are escaped.
    pub(crate) fn write_json(&self, to: &mut dyn io::Write) -> io::Result<()> {
        escape::write_json(self, to)
    }
}
