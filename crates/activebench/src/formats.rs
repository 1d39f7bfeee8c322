//! Everything that `--format` takes for a single run: reports, and exports of the recorded I/O.

use std::io::Write;

use activebench_model::report::JudgedRun;
use activebench_record::RunReader;
use activebench_report::escape::terminal;
use activebench_report::export::{EXPORTS, Export, export_by_name};
use activebench_report::{FORMATS, Format, Style, format_by_name};
use anyhow::{Context, anyhow};

use crate::arguments::FormatRequest;
use crate::judge::Stored;

/// One of them.
#[derive(Clone, Copy)]
pub(crate) enum RunFormat {
    Report(&'static dyn Format),
    Export(&'static dyn Export),
}

/// The names of all, in the order in which help shows them.
pub(crate) fn names() -> Vec<&'static str> {
    let reports = FORMATS.iter().map(|format| format.name());
    reports.chain(EXPORTS.iter().map(|export| export.name())).collect()
}

/// The format of a name.
pub(crate) fn by_name(name: &str) -> Option<RunFormat> {
    let report = format_by_name(name).map(RunFormat::Report);
    report.or_else(|| export_by_name(name).map(RunFormat::Export))
}

/// Writes a run as was asked. What an export has to say beside itself goes to standard error, wherever it was written
/// to: its own format has no place for it.
pub(crate) fn write(
    request: &FormatRequest,
    judged: &JudgedRun,
    reader: &RunReader,
    style: Style,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let name = &request.format;
    match by_name(name).ok_or_else(|| anyhow!("no format `{name}`"))? {
        RunFormat::Report(format) => Ok(out.write_all(format.render(judged, style).as_bytes())?),
        RunFormat::Export(export) => {
            let file = request.file.as_deref().map(std::path::absolute).transpose()?;
            let notes = export
                .write(judged, &Stored(reader), file.as_deref(), out)
                .with_context(|| format!("cannot export the run as {name}"))?;
            out.flush()?;
            for note in notes {
                eprintln!("activebench: {name}: {}", terminal(&note));
            }
            Ok(())
        }
    }
}
