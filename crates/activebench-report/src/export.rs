//! Exports: the recorded I/O itself, for another program.
//!
//! A [`Format`](crate::Format) renders what was judged; an export writes what was recorded, event by event, as it is
//! read. To add one: a file here and a line in [`EXPORTS`].

use std::io;

use activebench_model::report::JudgedRun;
use activebench_model::source::{EventSource, Unreadable};

/// Every export.
pub const EXPORTS: &[&dyn Export] = &[];

/// One export.
pub trait Export: Sync {
    /// As given to `--format`.
    fn name(&self) -> &'static str;
    /// Writes the whole export. Memory does not grow with the number of events.
    ///
    /// # Errors
    /// When the events cannot be read, the export cannot be written, or the run holds nothing that it could say.
    fn write(&self, run: &JudgedRun, events: &dyn EventSource, out: &mut dyn io::Write) -> Result<(), ExportError>;
}

/// The export of a name.
pub fn export_by_name(name: &str) -> Option<&'static dyn Export> {
    EXPORTS.iter().copied().find(|export| export.name() == name)
}

/// Why an export is not whole.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The recorded events cannot be read.
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
    /// It cannot be written.
    #[error("cannot write it")]
    Io(#[from] io::Error),
    /// The run has nothing to export: why.
    #[error("{0}")]
    Nothing(String),
}
