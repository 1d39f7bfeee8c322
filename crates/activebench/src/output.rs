//! Where reports go, and the files that every judgement leaves in the run directory.

use std::io::{IsTerminal, Write};

use activebench_host::{Gap, Mend};
use activebench_model::report::JudgedRun;
use activebench_record::{RecordError, RunReader};
use activebench_report::{FORMATS, Style, format_by_name};
use anyhow::Context;

use crate::arguments::Output;
use crate::exit::{ExitCode, Failure, OrExit};

/// Whether standard output must hold nothing but a report that a program will read.
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

/// Renders to where the user asked: the text report to standard output when nothing was asked.
pub(crate) fn render(judged: &JudgedRun, output: &Output) -> Result<(), Failure> {
    let to_stdout = |text: &str| {
        let mut out = std::io::stdout().lock();
        match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            // The reader went away; the report is in the run directory.
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
            other => other.context("cannot write the report to standard output"),
        }
    };
    let mut shown = false;
    for request in &output.formats {
        let Some(format) = format_by_name(&request.format) else { continue };
        match &request.file {
            None => {
                shown = true;
                to_stdout(&format.render(judged, terminal_style())).or_exit(ExitCode::Usage)?;
            }
            Some(path) => std::fs::write(path, format.render(judged, Style::default()))
                .with_context(|| format!("cannot write the {} report to {}", format.name(), path.display()))
                .or_exit(ExitCode::Usage)?,
        }
    }
    if !shown && output.formats.is_empty() {
        let text = &activebench_report::text::Text;
        to_stdout(&activebench_report::Format::render(text, judged, terminal_style())).or_exit(ExitCode::Usage)?;
    }
    Ok(())
}

/// Writes the stages after the evidence, and a report in every format, into the run directory.
pub(crate) fn write_stages(reader: &RunReader, judged: &JudgedRun) -> Result<(), RecordError> {
    reader.write_derived_json("claims.json", &judged.parsed)?;
    reader.write_derived_json("phases.json", &judged.phases)?;
    reader.write_derived_json("facts.json", &judged.run_facts)?;
    reader.write_derived_json("profiles.json", &judged.profiles)?;
    reader.write_derived_json("findings.json", &judged.findings)?;
    for format in FORMATS {
        let name = format!("report.{}", format.extension());
        reader.write_derived(&name, format.render(judged, Style::default()).as_bytes())?;
    }
    Ok(())
}

/// What is missing on this host, with the command that mends it.
pub(crate) fn gap_text(gap: &Gap, program: &str) -> String {
    match &gap.mend {
        Mend::Command(command) => {
            format!("{} (hint: `{}`)", gap.what, command.replace("{program}", program))
        }
        Mend::Advice(advice) => format!("{} (hint: {advice})", gap.what),
    }
}
