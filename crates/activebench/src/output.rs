//! Where reports go, and the files that every judgement leaves in the run directory.

use std::io::IsTerminal;

use activebench_host::{Gap, Mend};
use activebench_model::report::JudgedRun;
use activebench_record::{RecordError, RunReader};
use activebench_report::{FORMATS, Style, format_by_name};
use anyhow::{Context, anyhow};

use crate::arguments::Output;
use crate::exit::{ExitCode, Failure, OrExit};
use crate::print;

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

/// Renders to where the user asked: as text to standard output when nothing was asked.
pub(crate) fn render(judged: &JudgedRun, output: &Output) -> Result<(), Failure> {
    deliver(output, |format, style| Some(format_by_name(format)?.render(judged, style)))
}

/// Writes reports to where the user asked: as text to standard output when nothing was asked. `rendered` gives
/// nothing for a format that it does not have, see [`formats_exist`].
pub(crate) fn deliver(output: &Output, rendered: impl Fn(&str, Style) -> Option<String>) -> Result<(), Failure> {
    for request in &output.formats {
        match &request.file {
            None => print(&rendered(&request.format, terminal_style()).unwrap_or_default())?,
            Some(path) => std::fs::write(path, rendered(&request.format, Style::default()).unwrap_or_default())
                .with_context(|| format!("cannot write the {} report to {}", request.format, path.display()))
                .or_exit(ExitCode::Usage)?,
        }
    }
    match output.formats.is_empty() {
        true => print(&rendered("text", terminal_style()).unwrap_or_default()),
        false => Ok(()),
    }
}

/// Says before anything runs that a report `of` this kind is not to be had in a format that was asked for.
pub(crate) fn formats_exist(output: &Output, of: &str, known: &[&str]) -> Result<(), Failure> {
    let unknown = output.formats.iter().find(|request| !known.contains(&request.format.as_str()));
    let Some(request) = unknown else { return Ok(()) };
    let hint = format!("no report of {of} as {} (hint: one of {})", request.format, known.join(", "));
    Err(Failure::new(ExitCode::Usage, anyhow!(hint)))
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
