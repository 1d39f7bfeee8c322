//! The formats that `--format` accepts for a single run: reports, tables as Parquet, and exports of the recorded I/O.

use std::borrow::Borrow;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::sync::LazyLock;

use activebench_engine::judge::Timelines;
use activebench_engine::say;
use activebench_model::report::JudgedRun;
use activebench_record::RunReader;
use activebench_report::escape::terminal;
use activebench_report::export::{EXPORTS, Export, export_by_name};
use activebench_report::tables::{RunTable, TABLES, shown};
use activebench_report::{FORMATS, Format, Style, document_formats, format_by_name};
use anyhow::{Context, anyhow};

/// `FORMAT` or `FORMAT=FILE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FormatRequest {
    pub(crate) format: String,
    pub(crate) file: Option<PathBuf>,
}

impl std::str::FromStr for FormatRequest {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse(text, &names(), is_binary)
    }
}

impl FormatRequest {
    /// One of the formats that are known; `is_binary` says which of them nobody could read at a terminal.
    pub(crate) fn parse(
        text: &str,
        known: &[impl Borrow<str>],
        is_binary: impl Fn(&str) -> bool,
    ) -> Result<Self, String> {
        let (format, file) = match text.split_once('=') {
            // As in other tools, a dash is standard output.
            Some((format, "-")) => (format, None),
            Some((format, file)) => (format, Some(PathBuf::from(file))),
            None => (text, None),
        };
        if !known.iter().any(|known| known.borrow() == format) {
            return Err(format!("no format `{format}` (hint: one of {})", known.join(", ")));
        }
        if file.as_ref().is_some_and(|file| file.as_os_str().is_empty()) {
            return Err(format!("no file after `{format}=`"));
        }
        // Reported before anything runs.
        if file.is_none() && is_binary(format) && std::io::stdout().is_terminal() {
            return Err(format!("{format} is not for a terminal (hint: `{format}=FILE`, or pipe it to a program)"));
        }
        Ok(Self { format: format.to_owned(), file })
    }
}

/// One of these formats.
#[derive(Clone, Copy)]
pub(crate) enum RunFormat {
    Report(&'static Format),
    /// Defined here, because only the crate of the run directory knows Parquet.
    Parquet(&'static RunTable),
    Export(&'static dyn Export),
}

/// Suffix of a table's name for Parquet: `facts-parquet`.
const PARQUET: &str = "-parquet";

fn reports() -> Vec<String> {
    let reports = FORMATS.iter().map(|format| format.name.to_owned());
    reports.chain(TABLES.iter().map(|table| format!("{}{PARQUET}", table.name))).collect()
}

fn exports() -> Vec<String> {
    EXPORTS.iter().map(|export| export.name().to_owned()).collect()
}

/// Returns all names, in the order in which the help shows them.
pub(crate) fn names() -> Vec<String> {
    [reports(), exports()].concat()
}

/// The help of `--format`.
pub(crate) static HELP: LazyLock<String> = LazyLock::new(|| {
    let of_several: Vec<&str> = document_formats().map(|format| format.name).collect();
    format!(
        "Report format, with a file to write it to: `json`, `markdown=ticket.md`. May be given several times. A \
         command that measures prints its answer on standard error where all go to files. A run has {}, and exports of its recorded I/O: {} (`fio-iolog-v2` for a fio \
         before 3.31); several runs have {}",
        reports().join(", "),
        exports().join(", "),
        of_several.join(", ")
    )
});

/// True if the format is binary and cannot be read at a terminal.
pub(crate) fn is_binary(name: &str) -> bool {
    matches!(by_name(name), Some(RunFormat::Parquet(_)))
}

/// Returns the format of a name.
pub(crate) fn by_name(name: &str) -> Option<RunFormat> {
    let table = || TABLES.iter().find(|table| name.strip_suffix(PARQUET) == Some(table.name));
    let report = format_by_name(name).map(RunFormat::Report);
    report.or_else(|| table().map(RunFormat::Parquet)).or_else(|| export_by_name(name).map(RunFormat::Export))
}

/// Returns whether a requested format needs the time series of the phases.
pub(crate) fn timelines_of(requests: &[FormatRequest]) -> Timelines {
    let shown = requests.iter().filter_map(|request| by_name(&request.format)).any(|format| match format {
        RunFormat::Report(format) => format.shows_timelines,
        RunFormat::Parquet(table) => table.shows_timelines,
        RunFormat::Export(export) => export.shows_timelines(),
    });
    if shown { Timelines::Computed } else { Timelines::LeftOut }
}

/// Writes a run in the requested format. Notes of an export go to standard error, wherever it is written to: its own
/// format has no place for them.
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
        RunFormat::Parquet(table) => {
            let bytes = activebench_record::parquet(table.name, &shown((table.of)(judged)))
                .with_context(|| format!("cannot write the run as {name}"))?;
            Ok(out.write_all(&bytes)?)
        }
        RunFormat::Export(export) => {
            let file = request.file.as_deref().map(std::path::absolute).transpose()?;
            let notes = export
                .write(judged, reader, file.as_deref(), out)
                .with_context(|| format!("cannot export the run as {name}"))?;
            out.flush()?;
            for note in notes {
                say!("{name}: {}", terminal(&note));
            }
            Ok(())
        }
    }
}
