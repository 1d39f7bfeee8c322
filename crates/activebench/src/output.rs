//! Writes documents to standard output and files.

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::Path;

use activebench_engine::failure::{ExitCode, Failure, OrExit};
use activebench_model::report::JudgedRun;
use activebench_record::RunReader;
use activebench_report::document::Document;
use activebench_report::{Style, document_formats, format_by_name};
use anyhow::{Context, anyhow};

use crate::arguments::Output;
use crate::formats;
use crate::formats::FormatRequest;

/// True if standard output is reserved for a report that a program will read.
pub(crate) fn report_owns_stdout(formats: &[FormatRequest]) -> bool {
    formats.iter().any(|request| request.file.is_none() && request.format != "text")
}

/// Style of a report on standard output.
pub(crate) fn terminal_style() -> Style {
    let terminal = std::io::stdout().is_terminal();
    let colour = terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let width = if terminal { terminal_width() } else { None };
    Style { colour, width }
}

fn terminal_width() -> Option<u16> {
    let (width, _) = terminal_size::terminal_size_of(io::stdout())?;
    Some(width.0)
}

/// Writes the reports of a run that the user asked for; by default one as text to standard output.
pub(crate) fn render(judged: &JudgedRun, reader: &RunReader, output: &Output) -> Result<(), Failure> {
    deliver(&output.formats, |request, style, out| formats::write(request, judged, reader, style, out))
}

/// Writes the reports that the user asked for; by default one as text to standard output. `write` refuses an unknown
/// format, see [`formats_exist`].
pub(crate) fn deliver(
    formats: &[FormatRequest],
    write: impl Fn(&FormatRequest, Style, &mut dyn Write) -> anyhow::Result<()>,
) -> Result<(), Failure> {
    let to_stdout = |request: &FormatRequest| {
        let mut out = BufWriter::new(std::io::stdout().lock());
        let written = write(request, terminal_style(), &mut out).and_then(|()| Ok(out.flush()?));
        match written {
            // The consumer closed standard output: the reports are in the run directory.
            Err(error) if is_broken_pipe(&error) => Ok(()),
            other => other.context("cannot write the report to standard output").or_exit(ExitCode::Usage),
        }
    };
    let to_file = |request: &FormatRequest, path: &Path| {
        let mut file = BufWriter::new(OnFirstWrite { path, file: None });
        write(request, Style::default(), &mut file)?;
        Ok::<_, anyhow::Error>(file.flush()?)
    };
    for request in formats {
        match &request.file {
            None => to_stdout(request)?,
            Some(path) => to_file(request, path)
                .with_context(|| format!("cannot write {} to {}", request.format, path.display()))
                .or_exit(ExitCode::Usage)?,
        }
    }
    match formats.is_empty() {
        true => to_stdout(&FormatRequest { format: "text".to_owned(), file: None }),
        false => Ok(()),
    }
}

/// A file that is created on the first write: an export without output leaves an existing file as it was.
struct OnFirstWrite<'a> {
    path: &'a Path,
    file: Option<File>,
}

impl Write for OnFirstWrite<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(File::create(self.path)?),
        };
        file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.as_mut().map_or(Ok(()), File::flush)
    }
}

/// Writes a document in the requested formats; by default one as text to standard output.
pub(crate) fn deliver_document<D: Document>(formats: &[FormatRequest], document: &D) -> Result<(), Failure> {
    document_formats_exist::<D>(formats)?;
    deliver(formats, |request, style, out| {
        let format = format_by_name(&request.format);
        let text = format.and_then(|format| format.render_document(document, style));
        Ok(out.write_all(text.context("there is no such format")?.as_bytes())?)
    })
}

/// Refuses, before anything runs, a format that only single runs have.
pub(crate) fn document_formats_exist<D: Document>(formats: &[FormatRequest]) -> Result<(), Failure> {
    formats_exist(formats, D::NOUN, &document_formats().map(|format| format.name).collect::<Vec<_>>())
}

/// Prints a text to standard output.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        // The consumer closed standard output.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other.context("cannot write to standard output").or_exit(ExitCode::Usage),
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let io =
        |cause: &(dyn std::error::Error + 'static)| cause.downcast_ref::<std::io::Error>().map(|error| error.kind());
    error.chain().any(|cause| io(cause) == Some(std::io::ErrorKind::BrokenPipe))
}

/// Refuses, before anything runs, a requested format that a report `of` this kind does not have.
pub(crate) fn formats_exist(formats: &[FormatRequest], of: &str, known: &[&str]) -> Result<(), Failure> {
    let unknown = formats.iter().find(|request| !known.contains(&request.format.as_str()));
    let Some(request) = unknown else { return Ok(()) };
    let name = &request.format;
    let hint = match formats::by_name(name) {
        Some(formats::RunFormat::Export(_)) => format!(
            "cannot export {of} as {name}: an export is of one run (hint: name one of the run directories inside, \
             `activebench report DIR/1 --format {name}=FILE`)"
        ),
        _ => format!("no report of {of} as {name} (hint: one of {})", known.join(", ")),
    };
    Err(Failure::new(ExitCode::Usage, anyhow!(hint)))
}
