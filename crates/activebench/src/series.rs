//! `verify --repeat`: the same command several times, each run recorded in a directory of its own below that of
//! the series, and what they say together. `recheck` and `report` read such a directory again.

use std::path::Path;
use std::time::Duration;

use activebench_detect::series::{contribution, judge};
use activebench_model::command::CommandLine;
use activebench_model::report::JudgedRun;
use activebench_model::run::Choices;
use activebench_model::series::{FORMAT, JudgedSeries, SeriesManifest};
use activebench_record::{RunReader, read_series, write_series};
use activebench_report::Style;
use activebench_report::series::{SERIES_FORMATS, series_format_by_name};
use anyhow::{Context, anyhow};
use tokio::signal::unix::{SignalKind, signal};

use crate::arguments::{Output, Verify};
use crate::exit::{ExitCode, Failure, INTERRUPTED, OrExit};
use crate::verify::{Recorded, record_run};
use crate::{judge, output, thresholds};

/// How long we look for a signal that came between two runs.
const GLANCE: Duration = Duration::from_millis(1);

/// Records and judges a series; gives the exit code.
pub(crate) fn main(
    arguments: &Verify,
    choices: Choices,
    command: CommandLine,
    directory: &Path,
    planned: u32,
    runtime: &tokio::runtime::Runtime,
) -> Result<i32, Failure> {
    formats_exist(&arguments.output)?;
    let thresholds = thresholds::of(&choices).or_exit(ExitCode::Usage)?;
    create(directory)?;
    let mut manifest = SeriesManifest {
        format: FORMAT,
        activebench: env!("CARGO_PKG_VERSION").to_owned(),
        command,
        planned_runs: planned,
        runs: Vec::new(),
        choices,
        incomplete: vec!["the series was never finished".to_owned()],
    };
    let mut interrupts = {
        // Signals of one kind wake every listener: the run that they end, and us.
        let _context = runtime.enter();
        signal(SignalKind::interrupt()).context("cannot listen for SIGINT").or_exit(ExitCode::Bug)?
    };
    let mut pending = || runtime.block_on(async { tokio::time::timeout(GLANCE, interrupts.recv()).await.is_ok() });
    let mut runs = Vec::new();
    let mut stopped = None;
    for number in 1..=planned {
        if !arguments.output.quiet {
            eprintln!("activebench: run {number} of {planned}");
        }
        let name = number.to_string();
        match record_run(arguments, &manifest.choices, &manifest.command, &directory.join(&name), runtime) {
            Ok(Recorded { judged, interrupted, .. }) => {
                runs.push(contribution(number, &name, &judged));
                manifest.runs.push(name);
                // From here on the run counts, whatever becomes of us.
                write_series(directory, &manifest).or_exit(ExitCode::Usage)?;
                if interrupted || pending() {
                    stopped = Some("interrupted".to_owned());
                    break;
                }
            }
            Err(failure) if runs.is_empty() => {
                remove_empty(directory);
                return Err(failure);
            }
            Err(failure) => {
                eprintln!("activebench: {:#}", failure.error);
                stopped = Some(format!("run {number} could not be recorded: {:#}", failure.error));
                break;
            }
        }
    }
    let interrupted = stopped.as_deref() == Some("interrupted");
    manifest.incomplete = stopped.into_iter().collect();
    write_series(directory, &manifest).or_exit(ExitCode::Usage)?;
    let judged = judge(manifest, directory.display().to_string(), runs, &thresholds);
    write_reports(directory, &judged);
    render(&judged, &arguments.output)?;
    Ok(if interrupted { INTERRUPTED } else { judged.exit_code })
}

/// The file that makes a directory one of a series.
pub(crate) const MANIFEST: &str = "series.json";

/// Judges a stored series again, its runs too; `None` when the directory is none of a series. Reports call the
/// directory `shown`.
pub(crate) fn stored(
    directory: &Path,
    shown: &Path,
    choose: impl Fn(&mut Choices),
) -> Result<Option<JudgedSeries>, Failure> {
    judged_each(directory, shown, choose, &mut |_, _, _| Ok(()))
}

/// The same; each run is shown to `each` with its folder's name.
pub(crate) fn judged_each(
    directory: &Path,
    shown: &Path,
    choose: impl Fn(&mut Choices),
    each: &mut dyn FnMut(&str, &RunReader, &JudgedRun) -> Result<(), Failure>,
) -> Result<Option<JudgedSeries>, Failure> {
    let Some(mut manifest) = read_series(directory).or_exit(ExitCode::Usage)? else { return Ok(None) };
    choose(&mut manifest.choices);
    let thresholds = thresholds::of(&manifest.choices).or_exit(ExitCode::Usage)?;
    let mut runs = Vec::new();
    for (number, name) in (1..).zip(&manifest.runs) {
        let path = directory.join(name);
        let reader = RunReader::open(&path).or_exit(ExitCode::Usage)?;
        let mut of_run = reader.manifest().clone();
        choose(&mut of_run.choices);
        let judged = judge::judge(&shown.join(name), &reader, of_run).or_exit(ExitCode::Usage)?;
        each(name, &reader, &judged)?;
        runs.push(contribution(number, name, &judged));
    }
    Ok(Some(judge(manifest, shown.display().to_string(), runs, &thresholds)))
}

/// Renders a series to where the user asked: as text to standard output when nothing was asked.
pub(crate) fn render(judged: &JudgedSeries, output: &Output) -> Result<(), Failure> {
    formats_exist(output)?;
    output::deliver(output, |request, style, out| {
        let text = series_format_by_name(&request.format).map(|format| format.render(judged, style));
        output::write_text(text, out)
    })
}

/// A format that single runs alone have is said before anything runs.
fn formats_exist(output: &Output) -> Result<(), Failure> {
    let known: Vec<_> = SERIES_FORMATS.iter().map(|format| format.name()).collect();
    output::formats_exist(output, "a series", &known)
}

/// Makes the directory of the series, which must not hold anything.
fn create(directory: &Path) -> Result<(), Failure> {
    let cannot =
        || format!("cannot create the series directory {} (hint: name another one with --out)", directory.display());
    std::fs::create_dir_all(directory).with_context(cannot).or_exit(ExitCode::Usage)?;
    let mut entries = std::fs::read_dir(directory).with_context(cannot).or_exit(ExitCode::Usage)?;
    match entries.next() {
        None => Ok(()),
        Some(_) => Err(Failure::new(
            ExitCode::Usage,
            anyhow!(
                "cannot use {} for a series: it is not empty (hint: name a new one with --out)",
                directory.display()
            ),
        )),
    }
}

/// Nothing was recorded: the directory has no use.
fn remove_empty(directory: &Path) {
    if let Err(error) = std::fs::remove_dir(directory) {
        eprintln!("activebench: cannot remove the empty {}: {error}", directory.display());
    }
}

/// Every report of the series with its file's name; they are computed anew by `recheck`.
pub(crate) fn reports(judged: &JudgedSeries) -> impl Iterator<Item = (String, Vec<u8>)> {
    SERIES_FORMATS
        .iter()
        .map(|format| (format!("{REPORT}{}", format.extension()), format.render(judged, Style::default()).into_bytes()))
}

/// How the files of the series' reports begin.
const REPORT: &str = "series-report.";

/// Whether a file's name is that of a report of a series.
pub(crate) fn is_report(name: &str) -> bool {
    name.starts_with(REPORT)
}

/// Writes the reports beside `series.json`.
fn write_reports(directory: &Path, judged: &JudgedSeries) {
    for (name, bytes) in reports(judged) {
        let path = directory.join(name);
        if let Err(error) = std::fs::write(&path, bytes) {
            eprintln!("activebench: cannot write {}: {error}", path.display());
        }
    }
}
