//! Writes reports, and the files that every judgement leaves in the run directory.

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::Path;

use activebench_detect::history::figures;
use activebench_host::{Gap, Mend};
use activebench_model::report::JudgedRun;
use activebench_record::{FIGURES, RecordError, RunReader, encode_figures};
use activebench_report::{FORMATS, Style};
use anyhow::{Context, anyhow};
use serde::Serialize;

use crate::arguments::{FormatRequest, Output};
use crate::exit::{ExitCode, Failure, OrExit};
use crate::formats;

/// True if standard output is reserved for a report that a program will read.
pub(crate) fn report_owns_stdout(output: &Output) -> bool {
    output.formats.iter().any(|request| request.file.is_none() && request.format != "text")
}

/// Style of a report on standard output.
pub(crate) fn terminal_style() -> Style {
    let terminal = std::io::stdout().is_terminal();
    let colour = terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let width = if terminal { terminal_width() } else { None };
    Style { colour, width }
}

fn terminal_width() -> Option<u16> {
    let mut size = libc::winsize { ws_row: 0, ws_col: 0, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: fills a local of the type that this request asks for.
    let result = unsafe { libc::ioctl(libc::STDOUT_FILENO, libc::TIOCGWINSZ, &raw mut size) };
    (result == 0 && size.ws_col > 0).then_some(size.ws_col)
}

/// Writes the reports of a run that the user asked for; by default one as text to standard output.
pub(crate) fn render(judged: &JudgedRun, reader: &RunReader, output: &Output) -> Result<(), Failure> {
    deliver(output, |request, style, out| formats::write(request, judged, reader, style, out))
}

/// Writes the reports that the user asked for; by default one as text to standard output. `write` refuses an unknown
/// format, see [`formats_exist`].
pub(crate) fn deliver(
    output: &Output,
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
    for request in &output.formats {
        match &request.file {
            None => to_stdout(request)?,
            Some(path) => to_file(request, path)
                .with_context(|| format!("cannot write {} to {}", request.format, path.display()))
                .or_exit(ExitCode::Usage)?,
        }
    }
    match output.formats.is_empty() {
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

/// Writes the text of a report; fails if there is none in this format.
pub(crate) fn write_text(text: Option<String>, out: &mut dyn Write) -> anyhow::Result<()> {
    let text = text.context("there is no such format")?;
    Ok(out.write_all(text.as_bytes())?)
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let io =
        |cause: &(dyn std::error::Error + 'static)| cause.downcast_ref::<std::io::Error>().map(|error| error.kind());
    error.chain().any(|cause| io(cause) == Some(std::io::ErrorKind::BrokenPipe))
}

/// Refuses, before anything runs, a requested format that a report `of` this kind does not have.
pub(crate) fn formats_exist(output: &Output, of: &str, known: &[&str]) -> Result<(), Failure> {
    let unknown = output.formats.iter().find(|request| !known.contains(&request.format.as_str()));
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

/// Writes the stages after the evidence, and a report in every format, into the run directory.
pub(crate) fn write_stages(reader: &RunReader, judged: &JudgedRun) -> anyhow::Result<()> {
    for (name, bytes) in stages(reader, judged)? {
        reader.write_derived(&name, &bytes)?;
    }
    Ok(())
}

/// Returns the files of the stages after the evidence, and a report in every format, each with its name.
pub(crate) fn stages(reader: &RunReader, judged: &JudgedRun) -> anyhow::Result<Vec<(String, Vec<u8>)>> {
    let mut files = vec![
        ("claims.json".to_owned(), json(&judged.parsed)?),
        ("phases.json".to_owned(), json(&judged.phases)?),
        ("facts.json".to_owned(), json(&judged.run_facts)?),
        ("profiles.json".to_owned(), json(&judged.profiles)?),
        ("findings.json".to_owned(), json(&judged.findings)?),
        (FIGURES.to_owned(), encode_figures(&figures(judged), reader.manifest_sha256())?),
    ];
    for format in FORMATS {
        let text = format.render(judged, Style::default());
        files.push((format!("report.{}", format.extension()), text.into_bytes()));
    }
    Ok(files)
}

/// Writes the run's table of figures anew, for `history`. A folder that cannot be written is not an error: the
/// judgement does not need the table.
pub(crate) fn renew_figures(reader: &RunReader, judged: &JudgedRun) {
    let written = encode_figures(&figures(judged), reader.manifest_sha256())
        .and_then(|bytes| reader.write_derived(FIGURES, &bytes));
    match written {
        Ok(()) => {}
        Err(RecordError::Io { source, .. })
            if matches!(source.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem) => {}
        Err(error) => eprintln!("activebench: cannot write the run's {FIGURES}: {error}"),
    }
}

fn json<T: Serialize>(value: &T) -> anyhow::Result<Vec<u8>> {
    let mut bytes = serde_json::to_vec_pretty(value).context("cannot serialise a stage")?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// Describes a gap of this host, with the command that fixes it.
pub(crate) fn gap_text(gap: &Gap, program: &str) -> String {
    match &gap.mend {
        Mend::Command(command) => {
            format!("{} (hint: `{}`)", gap.what, command.replace("{program}", program))
        }
        Mend::Advice(advice) => format!("{} (hint: {advice})", gap.what),
    }
}
