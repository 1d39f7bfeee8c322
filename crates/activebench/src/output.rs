//! Writes documents to standard output and files.

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::Path;
use std::sync::OnceLock;

use activebench_engine::failure::{ExitCode, Failure, OrExit};
use activebench_engine::terminal::is_ascii_only;
use activebench_model::report::JudgedRun;
use activebench_record::RunReader;
use activebench_report::document::Document;
use activebench_report::{Detail, Style, document_formats, format_by_name};
use anyhow::{Context, anyhow};

use crate::arguments::{Colour, Output};
use crate::formats;
use crate::formats::FormatRequest;

/// True if standard output is reserved for a report that a program will read.
pub(crate) fn report_owns_stdout(formats: &[FormatRequest]) -> bool {
    formats.iter().any(|request| request.file.is_none() && request.format != "text")
}

/// What the command line says about colours.
static COLOUR: OnceLock<Colour> = OnceLock::new();

/// Decides about the colours on standard output, once.
pub(crate) fn choose_colour(colour: Colour) {
    COLOUR.get_or_init(|| colour);
}

/// Style of a report on standard output.
pub(crate) fn terminal_style(detail: Detail) -> Style {
    let terminal = std::io::stdout().is_terminal();
    let width = if terminal { terminal_width() } else { None };
    let colour = match COLOUR.get().copied().unwrap_or_default() {
        Colour::Auto => colour(terminal, |name| std::env::var(name).ok()),
        Colour::Always => true,
        Colour::Never => false,
    };
    Style { colour, width, detail, ascii: is_ascii_only() }
}

/// Returns `true` if colours are shown, by the conventions of no-color.org and bixense.com/clicolors.
fn colour(terminal: bool, variable: impl Fn(&str) -> Option<String>) -> bool {
    let is_set = |name: &str| variable(name).is_some_and(|value| !value.is_empty() && value != "0");
    if variable("NO_COLOR").is_some_and(|value| !value.is_empty()) {
        return false;
    }
    is_set("CLICOLOR_FORCE") || terminal && variable("TERM").as_deref() != Some("dumb")
}

fn terminal_width() -> Option<u16> {
    let (width, _) = terminal_size::terminal_size_of(io::stdout())?;
    Some(width.0)
}

/// What a command prints beside files that the user asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Beside {
    /// Nothing: it converts what is stored.
    Nothing,
    /// The answer as text on standard error: it measured. Standard output stays that of the tool.
    Answer,
}

/// Writes the reports of a run that the user asked for; by default one as text to standard output.
pub(crate) fn render(judged: &JudgedRun, reader: &RunReader, output: &Output, beside: Beside) -> Result<(), Failure> {
    annotate(judged);
    let detail = if output.verbose { Detail::Long } else { Detail::Glance };
    deliver_in(&output.formats, detail, beside, |request, style, out| {
        formats::write(request, judged, reader, style, out)
    })
}

/// Under GitHub Actions, annotates the workflow and adds the report to the summary of the step. That these cannot be
/// written changes nothing about the run.
fn annotate(judged: &JudgedRun) {
    if std::env::var_os("GITHUB_ACTIONS").is_none_or(|value| value != "true") {
        return;
    }
    let _ = io::stderr().write_all(activebench_report::github::annotations(judged).as_bytes());
    let Some(path) = std::env::var_os("GITHUB_STEP_SUMMARY").filter(|path| !path.is_empty()) else { return };
    let summary = format_by_name("markdown").map(|format| format.render(judged, Style::default())).unwrap_or_default();
    let file = File::options().append(true).create(true).open(&path);
    if let Err(error) = file.and_then(|mut file| file.write_all(summary.as_bytes())) {
        activebench_engine::say!("cannot add the report to the summary {}: {error}", Path::new(&path).display());
    }
}

/// Writes the reports that the user asked for; by default one as text to standard output. `write` refuses an unknown
/// format, see [`formats_exist`].
pub(crate) fn deliver(
    formats: &[FormatRequest],
    write: impl Fn(&FormatRequest, Style, &mut dyn Write) -> anyhow::Result<()>,
) -> Result<(), Failure> {
    deliver_in(formats, Detail::Long, Beside::Nothing, write)
}

/// As [`deliver`], with this much detail where no format is named.
fn deliver_in(
    formats: &[FormatRequest],
    detail: Detail,
    beside: Beside,
    write: impl Fn(&FormatRequest, Style, &mut dyn Write) -> anyhow::Result<()>,
) -> Result<(), Failure> {
    let to_stdout = |request: &FormatRequest, detail: Detail| {
        let mut out = BufWriter::new(std::io::stdout().lock());
        let written = write(request, terminal_style(detail), &mut out).and_then(|()| Ok(out.flush()?));
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
            // Whoever names the format wants all of it.
            None => to_stdout(request, Detail::Long)?,
            Some(path) => to_file(request, path)
                .with_context(|| format!("cannot write {} to {}", request.format, path.display()))
                .or_exit(ExitCode::Usage)?,
        }
    }
    let text = FormatRequest { format: "text".to_owned(), file: None };
    if formats.is_empty() {
        return to_stdout(&text, detail);
    }
    if beside == Beside::Answer && formats.iter().all(|request| request.file.is_some()) {
        let style = Style { detail, ascii: is_ascii_only(), ..Style::default() };
        // Nobody reads it, or its files are there all the same.
        let _ = write(&text, style, &mut io::stderr().lock());
    }
    Ok(())
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

/// Refuses, before anything runs, a file that cannot be written afterwards. What exists is left as it is.
pub(crate) fn destinations_can_be_written(formats: &[FormatRequest]) -> Result<(), Failure> {
    for path in formats.iter().filter_map(|request| request.file.as_deref()) {
        let tried = match std::fs::metadata(path) {
            // A pipe would see its end.
            Ok(known) if !known.is_file() && !known.is_dir() => continue,
            Ok(_) => File::options().append(true).open(path).map(drop),
            Err(_) => File::options().write(true).create_new(true).open(path).and_then(|_| std::fs::remove_file(path)),
        };
        tried
            .with_context(|| format!("cannot write {} (hint: nothing was run)", path.display()))
            .or_exit(ExitCode::Usage)?;
    }
    Ok(())
}

/// Writes a document in the requested formats; by default one as text to standard output.
pub(crate) fn deliver_document<D: Document>(formats: &[FormatRequest], document: &D) -> Result<(), Failure> {
    deliver_document_beside(formats, document, Beside::Nothing)
}

/// As [`deliver_document`], with the answer on standard error if all formats go to files.
pub(crate) fn deliver_answer<D: Document>(formats: &[FormatRequest], document: &D) -> Result<(), Failure> {
    deliver_document_beside(formats, document, Beside::Answer)
}

fn deliver_document_beside<D: Document>(
    formats: &[FormatRequest],
    document: &D,
    beside: Beside,
) -> Result<(), Failure> {
    document_formats_exist::<D>(formats)?;
    deliver_in(formats, Detail::Long, beside, |request, style, out| {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_follow_the_conventions() {
        let set = |pairs: &'static [(&'static str, &'static str)]| {
            move |name: &str| pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
        };
        for (terminal, variables, expected) in [
            (true, &[][..], true),
            (false, &[], false),
            (true, &[("NO_COLOR", "1")], false),
            (true, &[("NO_COLOR", "")], true),
            (true, &[("TERM", "dumb")], false),
            (false, &[("CLICOLOR_FORCE", "1")], true),
            (false, &[("CLICOLOR_FORCE", "0")], false),
            (true, &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")], false),
        ] {
            assert_eq!(colour(terminal, set(variables)), expected, "{terminal}: {variables:?}");
        }
    }

    #[test]
    fn a_destination_is_tried_and_left_as_it_was() {
        let folder = tempfile::tempdir().expect("a folder");
        let request = |path: &Path| FormatRequest { format: "json".to_owned(), file: Some(path.to_owned()) };
        let (new, old) = (folder.path().join("new"), folder.path().join("old"));
        std::fs::write(&old, "kept").expect("a file");
        destinations_can_be_written(&[request(&new), request(&old)]).expect("both can be written");
        assert!(!new.exists());
        assert_eq!(std::fs::read(&old).expect("it is there"), b"kept");
        for path in [folder.path().join("none/new"), folder.path().to_owned()] {
            assert!(destinations_can_be_written(&[request(&path)]).is_err(), "{}", path.display());
        }
    }
}
