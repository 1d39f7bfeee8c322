//! Exports: the recorded I/O itself, for another program.
//!
//! A [`Format`](crate::Format) renders the judged run. An export writes the recorded events one by one, as it reads
//! them. To add an export: a file here and an entry in [`EXPORTS`].

mod chrome;
mod in_order;
mod iolog;
mod names;

use std::io;
use std::path::Path;

pub use self::iolog::passes;

use activebench_model::event::RecordClass;
use activebench_model::report::JudgedRun;
use activebench_model::source::{EventSource, Unreadable};
use activebench_model::units::Quantity;

/// Every export.
pub const EXPORTS: &[&dyn Export] =
    &[&iolog::FioIolog(iolog::Version::Three), &iolog::FioIolog(iolog::Version::Two), &chrome::ChromeTrace];

/// One export.
pub trait Export: Sync {
    /// Name, as given to `--format`.
    fn name(&self) -> &'static str;
    /// Returns `true` if it shows [`JudgedRun::timelines`], which are computed only for formats that show them.
    fn shows_timelines(&self) -> bool;
    /// Writes the whole export, or nothing if the run has nothing that the export can represent. Memory does not grow
    /// with the number of events. It grows with the number of names, tasks and open descriptors.
    ///
    /// Returns notes for the user, one sentence each: what is missing from the export, and how to use it. They are raw
    /// text, because they quote names. `file` is the path of `out`, for these notes; `None` for standard output.
    ///
    /// # Errors
    /// Returns an error if the events cannot be read, if the export cannot be written, or if the run has nothing to
    /// export.
    fn write(
        &self,
        run: &JudgedRun,
        events: &dyn EventSource,
        file: Option<&Path>,
        out: &mut dyn io::Write,
    ) -> Result<Vec<String>, ExportError>;
}

/// Returns the export with this name.
pub fn export_by_name(name: &str) -> Option<&'static dyn Export> {
    EXPORTS.iter().copied().find(|export| export.name() == name)
}

/// Reason why an export is incomplete.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The recorded events cannot be read.
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
    /// The export cannot be written.
    #[error("cannot write it")]
    Io(#[from] io::Error),
    /// The run has nothing to export, with the reason.
    #[error("{0}")]
    Nothing(String),
}

/// Gaps of the recording itself, which affect every export: one sentence each.
pub fn gaps_of_the_record(run: &JudgedRun) -> Vec<String> {
    let manifest = &run.manifest;
    let mut gaps: Vec<String> =
        manifest.incomplete.iter().map(|why| format!("the record is incomplete: {why}")).collect();
    if let Some(cut) = manifest.coverage.log.as_ref().and_then(|log| log.cut.as_ref()) {
        let after = Quantity::ns(cut.at_ns.saturating_sub(manifest.clocks.started_ns));
        let calls = cut.records.get(&RecordClass::Calls).copied().unwrap_or(0);
        gaps.push(format!("the event log was cut after {after}: {}; {calls} calls are not here", cut.why));
    }
    for (class, account) in manifest.coverage.records.iter().filter(|(_, account)| !account.is_whole()) {
        let lost = account.made.saturating_sub(account.received);
        gaps.push(format!("{lost} of {} records of {class} were lost: they are not here", account.made));
    }
    gaps.extend(manifest.coverage.blind_paths.iter().map(|blind| {
        format!("{} calls lead into {}: what moved there shows in no call and is not here", blind.calls, blind.path)
    }));
    gaps
}
