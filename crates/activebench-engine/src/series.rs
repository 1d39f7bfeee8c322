//! Series: runs the same command several times and judges the runs together. Each run is recorded in a directory of its
//! own below that of the series. A stored series is judged again by the same path.

mod evidence;
#[cfg(test)]
pub(crate) mod samples;

use std::ffi::OsString;
use std::path::Path;
use std::time::{Duration, Instant};

use activebench_detect::series::stopping::stopping;
use activebench_detect::series::{computed, contribution, judge};
use activebench_detect::thresholds::Thresholds;
use activebench_model::command::CommandLine;
use activebench_model::report::JudgedRun;
use activebench_model::run::Choices;
use activebench_model::series::{FORMAT, JudgedSeries, RunOfSeries, SeriesManifest, Until};
use activebench_record::{RunReader, SERIES_MANIFEST, SERIES_SEAL, StoredSeries, read_series, write_series};
use activebench_report::escape::terminal;
use anyhow::{Context, anyhow};

use crate::device_guard::Unused;
use crate::failure::{ExitCode, Failure, OrExit};
use crate::interruption::Stop;
use crate::preparation::{DIRECTORY, prepare};
use crate::recording::{self, Observing, Recorded, Recorder, RunToRecord};
use crate::{derived_files, device_guard, judge, thresholds};

/// A series to record: the command, and how often it runs.
#[derive(Debug)]
pub struct SeriesToRecord<'a> {
    /// How each run is observed, and which messages are printed meanwhile.
    pub observing: &'a Observing,
    /// The benchmark and its arguments, as they are executed.
    pub argv: &'a [OsString],
    /// The same words as text, with the working directory.
    pub command: CommandLine,
    /// How the runs are judged.
    pub choices: Choices,
    /// The directory of the series: new, or empty.
    pub directory: &'a Path,
    /// Number of runs; with `until` the maximum.
    pub planned: u32,
    /// Ends the series earlier; `None`: all planned runs are made.
    pub until: Option<Until>,
    /// The device that is purged and preconditioned before the first run.
    pub prepared: Option<Unused>,
}

/// A series that was recorded and judged.
#[derive(Debug)]
pub struct RecordedSeries {
    /// The judged series.
    pub judged: JudgedSeries,
    /// `true` if a signal ended it.
    pub interrupted: bool,
}

/// Records a series run by run, and judges it. What was recorded counts, whatever ends the series.
///
/// # Errors
/// Returns an error if nothing was recorded.
pub fn record(series: SeriesToRecord<'_>, recorder: &mut Recorder) -> Result<RecordedSeries, Failure> {
    let SeriesToRecord { observing, argv, command, choices, directory, planned, until, prepared: device } = series;
    let thresholds = thresholds::of(&choices).or_exit(ExitCode::Usage)?;
    create(directory)?;
    let mut manifest = SeriesManifest {
        format: FORMAT,
        activebench: env!("CARGO_PKG_VERSION").to_owned(),
        command,
        planned_runs: planned,
        until,
        runs: Vec::new(),
        preconditioning: None,
        choices,
        incomplete: vec![SeriesManifest::UNFINISHED.to_owned()],
    };
    let stop = Stop::on_signals().or_exit(ExitCode::Bug)?;
    let mut prepared = |device: Unused| prepare(observing, &manifest.command, &device, directory, recorder, &stop);
    let preparation = match device.map(&mut prepared) {
        None => None,
        Some(Ok(Some(preparation))) => Some(preparation),
        Some(Ok(None)) => return interrupted_before(manifest, directory, &thresholds),
        Some(Err(failure)) => return Err(without_runs(manifest, directory, failure)),
    };
    manifest.preconditioning = preparation.as_ref().map(|done| done.preconditioning.directory.clone());
    let mut runs = Vec::new();
    let (mut stopped, mut was_interrupted) = (None, false);
    let began = Instant::now();
    for number in 1..=planned {
        if !observing.quiet {
            let most = if until.is_some() { "at most " } else { "" };
            let left =
                time_left(began, number, planned).map_or_else(String::new, |left| format!(" ({most}{left} left)"));
            say!("run {number} of {most}{planned}{left}");
        }
        let name = number.to_string();
        let (choices, command) = (&manifest.choices, &manifest.command);
        let of_run = directory.join(&name);
        // The device may have come into use since the last run.
        let run = device_guard::guard_again(command).and_then(|()| {
            let preparation = preparation.as_ref();
            let directory = &of_run;
            recording::record(RunToRecord { observing, argv, command, choices, directory, preparation }, recorder)
        });
        match run {
            Ok(Recorded { judged, interrupted, .. }) => {
                runs.push(contribution(number, &name, &judged));
                manifest.runs.push(name);
                // From here on the run counts, even if activebench ends.
                write_series(directory, &manifest).or_exit(ExitCode::Usage)?;
                if interrupted || stop.is_set() {
                    (stopped, was_interrupted) = (Some("interrupted".to_owned()), true);
                    break;
                }
                if until.is_some_and(|until| is_enough(until, &runs, &thresholds, observing.quiet)) {
                    break;
                }
            }
            Err(failure) if runs.is_empty() => return Err(without_runs(manifest, directory, failure)),
            Err(failure) => {
                say!("{:#}", failure.error);
                stopped = Some(format!("run {number} could not be recorded: {:#}", failure.error));
                break;
            }
        }
    }
    manifest.incomplete = stopped.into_iter().collect();
    write_series(directory, &manifest).or_exit(ExitCode::Usage)?;
    let judged = judge(manifest, directory.display().to_string(), runs, &thresholds);
    write_reports(directory, &judged);
    Ok(RecordedSeries { judged, interrupted: was_interrupted })
}

/// Estimates the time for the runs from this one on, from the runs before it; `None` for the first.
fn time_left(began: Instant, number: u32, planned: u32) -> Option<String> {
    let done = number.checked_sub(1).filter(|done| *done > 0)?;
    let left = began.elapsed().as_secs_f64() / f64::from(done) * f64::from(planned.saturating_sub(done));
    Some(humantime::format_duration(Duration::from_secs(left.ceil() as u64)).to_string())
}

/// Finishes a series whose preparation was ended by a signal: there is no run.
fn interrupted_before(
    mut manifest: SeriesManifest,
    directory: &Path,
    thresholds: &Thresholds,
) -> Result<RecordedSeries, Failure> {
    manifest.preconditioning = preparation_in(directory);
    manifest.incomplete = vec!["interrupted while the device was prepared".to_owned()];
    write_series(directory, &manifest).or_exit(ExitCode::Usage)?;
    let judged = judge(manifest, directory.display().to_string(), Vec::new(), thresholds);
    write_reports(directory, &judged);
    Ok(RecordedSeries { judged, interrupted: true })
}

/// Finishes a series without any run. Removes the directory, unless a device was prepared: then the series records why
/// it has no runs.
fn without_runs(mut manifest: SeriesManifest, directory: &Path, failure: Failure) -> Failure {
    manifest.preconditioning = preparation_in(directory);
    if manifest.preconditioning.is_none() {
        remove_empty(directory);
        return failure;
    }
    manifest.incomplete = vec![format!("{:#}", failure.error)];
    if let Err(error) = write_series(directory, &manifest) {
        say!("cannot write the record of the series: {error}");
    }
    failure
}

/// Returns the folder of the preparation if it was recorded.
fn preparation_in(directory: &Path) -> Option<String> {
    directory.join(DIRECTORY).join("run.json").is_file().then(|| DIRECTORY.to_owned())
}

/// True if the runs so far reach the target of the series, or never will; prints how far they came.
fn is_enough(until: Until, runs: &[RunOfSeries], thresholds: &Thresholds, quiet: bool) -> bool {
    let (figures, steadiness) = computed(runs, thresholds);
    let so_far = stopping(until, &figures, &steadiness);
    if !quiet {
        let word = if so_far.reached { "target reached" } else { "not yet" };
        say!("{word}: {}", terminal(&so_far.because));
    }
    // Without a rate, no number of runs reaches the target.
    so_far.reached || steadiness.is_empty()
}

/// Judges a stored series again, with its runs; `None` if the directory is not that of a series. Reports call the
/// directory `shown`.
pub fn stored(directory: &Path, shown: &Path, choose: impl Fn(&mut Choices)) -> Result<Option<JudgedSeries>, Failure> {
    judged_each(directory, shown, choose, &mut |_, _, _| Ok(()), None, judge::Timelines::LeftOut)
}

/// Callback that receives a judged run with its folder's name.
pub type Each<'a> = &'a mut dyn FnMut(&str, &RunReader, &JudgedRun) -> Result<(), Failure>;

/// Like [`stored`]; also passes each run to `each`.
///
/// The preconditioning is not one of the runs. By default only its hashes are compared with the runs' statements,
/// because it can be long. If `preconditioning` is given, it is judged too, and what it wrote is counted anew.
pub fn judged_each(
    directory: &Path,
    shown: &Path,
    choose: impl Fn(&mut Choices),
    each: Each<'_>,
    preconditioning: Option<Each<'_>>,
    timelines: judge::Timelines,
) -> Result<Option<JudgedSeries>, Failure> {
    let Some(StoredSeries { mut manifest, is_sealed }) = read_series(directory).or_exit(ExitCode::Usage)? else {
        return Ok(None);
    };
    if !is_sealed {
        judge::say_unsealed(directory, SERIES_MANIFEST, SERIES_SEAL);
    }
    choose(&mut manifest.choices);
    let thresholds = thresholds::of(&manifest.choices).or_exit(ExitCode::Usage)?;
    let judged_run = |name: &str, reader: &RunReader, choose: &dyn Fn(&mut Choices), each: Each<'_>| {
        let mut of_run = reader.manifest().clone();
        choose(&mut of_run.choices);
        let judged = judge::judge(&shown.join(name), reader, of_run, timelines).or_exit(ExitCode::Usage)?;
        each(name, reader, &judged)?;
        Ok::<_, Failure>(judged)
    };
    let open = |name: &str| RunReader::open_inside(directory, name).or_exit(ExitCode::Usage);
    let mut runs = Vec::new();
    for (number, name) in (1..).zip(&manifest.runs) {
        runs.push(contribution(number, name, &judged_run(name, &open(name)?, &choose, &mut *each)?));
    }
    let faults = match &manifest.preconditioning {
        None => Vec::from_iter(evidence::without_record(&runs)),
        Some(name) => {
            let reader = open(name)?;
            let judged = preconditioning.map(|each| judged_run(name, &reader, &|_| {}, each)).transpose()?;
            evidence::faults(name, &reader, judged.as_ref(), &runs)
        }
    };
    manifest.incomplete.extend(faults);
    Ok(Some(judge(manifest, shown.display().to_string(), runs, &thresholds)))
}

/// Creates the directory of the series. An existing directory must be empty.
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

/// Removes the directory after nothing was recorded: it is of no use.
fn remove_empty(directory: &Path) {
    if let Err(error) = std::fs::remove_dir(directory) {
        say!("cannot remove the empty {}: {error}", directory.display());
    }
}

/// Returns every report of the series with its file's name; `recheck` computes them anew.
pub fn reports(judged: &JudgedSeries) -> Vec<(String, Vec<u8>)> {
    derived_files::every_format(REPORT, judged)
}

/// Name of the files of the series' reports, without extension.
const REPORT: &str = "series-report";

/// True if a file's name is that of a report of a series.
pub fn is_report(name: &str) -> bool {
    name.strip_prefix(REPORT).is_some_and(|rest| rest.starts_with('.'))
}

/// Writes the reports beside `series.json`.
fn write_reports(directory: &Path, judged: &JudgedSeries) {
    if let Err(error) = derived_files::write_every_format(directory, REPORT, judged) {
        say!("{error:#}");
    }
}
