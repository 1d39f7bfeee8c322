//! Runs the suite of an acceptance file, each benchmark as a series, and judges what was recorded.

use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use activebench_detect::acceptance::{Benchmark, Target};
use activebench_model::acceptance::{Acceptance, AcceptanceMark};
use activebench_model::run::Choices;
use activebench_model::series::{FORMAT, SeriesManifest};
use activebench_record::{SERIES_MANIFEST, write_series};
use activebench_report::escape::terminal;
use activebench_runner::Confinement;
use anyhow::{Context, anyhow};

use super::check::{self, Ready};
use super::{AGREED, Agreed, stored};
use crate::device_guard::{self, Unused};
use crate::failure::{ExitCode, Failure, OrExit};
use crate::interruption::{self, Stop};
use crate::recording::{ChildOutput, Observing, Recorder};
use crate::runs_folder::{default_directory, point_latest};
use crate::series::{self, RecordedSeries, SeriesToRecord};
use crate::{derived_files, thresholds};

/// How a suite is recorded.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Directory of the suite; `None`: a new one in the folder of runs.
    pub out: Option<&'a Path>,
    /// Folder of runs.
    pub runs_folder: &'a Path,
    /// Devices that may be written; the file must permit it too.
    pub destroy: &'a [PathBuf],
    /// User whose identity the benchmarks get; `None`: under sudo the invoking user, else our own.
    pub user: Option<&'a str>,
    /// True to print no progress.
    pub quiet: bool,
}

/// A suite that was recorded and judged.
#[derive(Debug)]
pub struct RecordedSuite {
    /// The judgement.
    pub judged: Acceptance,
    /// True if a signal ended it.
    pub interrupted: bool,
}

/// Runs the suite of one unit, judges it and writes its reports beside the evidence.
///
/// # Errors
/// Returns an error if nothing was recorded.
pub fn record(request: &Request<'_>, agreed: &Agreed, unit: &Target) -> Result<RecordedSuite, Failure> {
    let checked = check::check(agreed, unit)?;
    is_possible()?;
    let destroy = confirmed(request, unit);
    let suite = Suite { request, agreed, unit, destroy };
    suite.devices(&checked.benchmarks)?;
    let out = request.out.map_or_else(|| default_directory(request.runs_folder, "accept"), Path::to_owned);
    create(&out, agreed)?;
    is_apart(&out, unit).inspect_err(|_| remove_unused(&out))?;
    let mut recorder = Recorder::start()?;
    let stop = Stop::on_signals().or_exit(ExitCode::Bug)?;
    let recorded = suite.record(&checked.benchmarks, &out, &mut recorder, &stop);
    let interrupted = recorded.inspect_err(|_| remove_unused(&out))?;
    let again = format!("activebench accept {} {}", out.join(AGREED).display(), out.display());
    interruption::end_on_signals(&again).or_exit(ExitCode::Bug)?;
    let copy = Agreed::read(&out.join(AGREED))?;
    let judged = stored::judged(&copy, unit, std::slice::from_ref(&out))?;
    write_reports(&out, &judged);
    point_latest(request.runs_folder, &out);
    Ok(RecordedSuite { judged, interrupted })
}

/// Checks that the kernel can keep benchmarks to their unit.
///
/// # Errors
/// Returns an error if it cannot.
pub(super) fn is_possible() -> Result<(), Failure> {
    Confinement::is_possible().context("cannot keep the benchmarks to the target").or_exit(ExitCode::CannotObserve)
}

/// Returns the device that the command line permits to be written, or that is confirmed at the terminal: by its path,
/// after what is on it was shown. `None` if none may be written.
pub(super) fn confirmed(request: &Request<'_>, unit: &Target) -> Option<PathBuf> {
    let place = Path::new(&unit.path.value);
    let named = request.destroy.iter().find(|named| *named == place).cloned();
    if !unit.destroy {
        return named.or_else(|| request.destroy.first().cloned());
    }
    if named.is_none() && !request.destroy.is_empty() {
        return request.destroy.first().cloned();
    }
    // Why a device cannot be written is told by the checks that follow.
    let Ok(unused) = device_guard::unused(place) else { return named };
    for line in unused.words(&check::identity_words(place)) {
        say!("{}", terminal(&line));
    }
    if named.is_some() {
        return named;
    }
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return None;
    }
    say!("everything on {} is lost; type its path to go on:", terminal(&unit.path.value));
    let mut typed = String::new();
    match std::io::stdin().read_line(&mut typed) {
        Ok(_) if typed.trim() == unit.path.value => Some(place.to_owned()),
        Ok(_) | Err(_) => None,
    }
}

/// Checks that the record is not in the target, where the benchmarks write.
pub(super) fn is_apart(out: &Path, target: &Target) -> Result<(), Failure> {
    let whole = |path: &Path| {
        std::fs::canonicalize(path)
            .with_context(|| format!("cannot look at {}", path.display()))
            .or_exit(ExitCode::Usage)
    };
    // Benchmarks make files in directories only, and a unit that is not there is not tested.
    let place = Path::new(&target.path.value);
    if target.is_device || !place.exists() {
        return Ok(());
    }
    let (own, place) = (whole(out)?, whole(place)?);
    if !own.starts_with(&place) {
        return Ok(());
    }
    let error = anyhow!(
        "cannot record in {}: the benchmarks write there (hint: --out DIR names a directory outside of the target)",
        out.display()
    );
    Err(Failure::new(ExitCode::Usage, error))
}

/// Creates the directory with an exact copy of the file. An existing directory must be empty.
pub(super) fn create(out: &Path, agreed: &Agreed) -> Result<(), Failure> {
    let cannot = || format!("cannot record in {} (hint: name another directory with --out)", out.display());
    std::fs::create_dir_all(out).with_context(cannot).or_exit(ExitCode::Usage)?;
    let mut entries = std::fs::read_dir(out).with_context(cannot).or_exit(ExitCode::Usage)?;
    if entries.next().is_some() {
        let error = anyhow!(
            "cannot record in {0}: it is not empty (hint: name a new one with --out; `activebench accept {1} {0}` judges \
             what is in it)",
            out.display(),
            agreed.name()
        );
        return Err(Failure::new(ExitCode::Usage, error));
    }
    std::fs::write(out.join(AGREED), &agreed.text).with_context(cannot).or_exit(ExitCode::Usage)
}

/// Removes the directory after no run was recorded, unless it holds the record of a device's preparation. A copy of the
/// file alone is of no use.
pub(super) fn remove_unused(out: &Path) {
    let removed = std::fs::read_dir(out).and_then(|entries| match entries.count() {
        1 => std::fs::remove_file(out.join(AGREED)).and_then(|()| std::fs::remove_dir(out)),
        _ => Ok(()),
    });
    if let Err(error) = removed {
        say!("cannot remove {}: {error}", out.display());
    }
}

/// The suite of one unit, to record.
pub(super) struct Suite<'a> {
    pub(super) request: &'a Request<'a>,
    pub(super) agreed: &'a Agreed,
    pub(super) unit: &'a Target,
    /// The device that the command line, or the user at the terminal, permits to be written.
    pub(super) destroy: Option<PathBuf>,
}

impl Suite<'_> {
    /// Checks, before anything runs, that each benchmark may use the unit.
    pub(super) fn devices(&self, benchmarks: &[Ready]) -> Result<(), Failure> {
        benchmarks.iter().try_for_each(|ready| self.device(ready).map(drop))
    }

    /// Runs every benchmark in the target's directory; returns `true` if it was interrupted.
    pub(super) fn record(
        &self,
        benchmarks: &[Ready],
        out: &Path,
        recorder: &mut Recorder,
        stop: &Stop,
    ) -> Result<bool, Failure> {
        let whole =
            std::path::absolute(out).context("cannot determine the working directory").or_exit(ExitCode::Usage)?;
        let before =
            std::env::current_dir().context("cannot determine the working directory").or_exit(ExitCode::Usage)?;
        let target = self.unit;
        if !target.is_device {
            let path = &target.path.value;
            std::env::set_current_dir(path)
                .with_context(|| format!("cannot work in {path}"))
                .or_exit(ExitCode::Usage)?;
        }
        let recorded = self.benchmarks(benchmarks, &whole, recorder, stop);
        // The user's paths are relative to the directory that activebench was started in.
        let back = std::env::set_current_dir(&before).context("cannot go back to the working directory");
        back.or_exit(ExitCode::Usage).and(recorded)
    }

    /// Runs the benchmarks one after the other. If one cannot be recorded, the others still run.
    ///
    /// # Errors
    /// Returns an error if none could be recorded.
    fn benchmarks(
        &self,
        benchmarks: &[Ready],
        out: &Path,
        recorder: &mut Recorder,
        stop: &Stop,
    ) -> Result<bool, Failure> {
        let mut interrupted = false;
        let mut recorded = 0;
        let mut failed = Vec::new();
        for (number, ready) in (1..).zip(benchmarks) {
            let place = format!("{} (benchmark {number} of {})", ready.name, benchmarks.len());
            let Some(benchmark) = self.agreed.file.benchmark(&ready.name) else { continue };
            interrupted |= stop.is_set();
            if interrupted {
                self.not_recorded(benchmark, ready, out, "interrupted before it began")?;
                continue;
            }
            if !self.request.quiet {
                say!("{place}: {}", benchmark.repetition.words());
            }
            match self.series(benchmark, ready, &out.join(&ready.name), recorder) {
                Ok(taken) => {
                    recorded += 1;
                    interrupted |= taken.interrupted;
                }
                // There is nothing to judge. If nothing can be observed, the next benchmarks will not change that.
                Err(failure)
                    if recorded == 0 && (number == benchmarks.len() || failure.code == ExitCode::CannotObserve) =>
                {
                    return Err(failure);
                }
                Err(failure) => {
                    say!("{place}: {:#}", failure.error);
                    failed.push((benchmark, ready, failure));
                }
            }
        }
        interrupted |= stop.is_set();
        for (benchmark, ready, failure) in failed {
            self.not_recorded(benchmark, ready, out, &format!("it could not be recorded: {:#}", failure.error))?;
        }
        Ok(interrupted)
    }

    /// Records why a benchmark has no runs, unless its series already does. Judging the suite again then gives the same
    /// result.
    fn not_recorded(&self, benchmark: &Benchmark, ready: &Ready, out: &Path, why: &str) -> Result<(), Failure> {
        let directory = out.join(&ready.name);
        if directory.join(SERIES_MANIFEST).is_file() {
            return Ok(());
        }
        std::fs::create_dir_all(&directory)
            .with_context(|| format!("cannot create {}", directory.display()))
            .or_exit(ExitCode::Usage)?;
        let manifest = SeriesManifest {
            format: FORMAT,
            activebench: env!("CARGO_PKG_VERSION").to_owned(),
            command: ready.command.clone(),
            planned_runs: benchmark.repetition.most(),
            until: benchmark.repetition.until(),
            runs: Vec::new(),
            choices: self.choices(benchmark),
            preconditioning: None,
            incomplete: vec![why.to_owned()],
        };
        write_series(&directory, &manifest).or_exit(ExitCode::Usage)
    }

    /// Returns the choices of the file, with its mark.
    fn choices(&self, benchmark: &Benchmark) -> Choices {
        let mark = AcceptanceMark {
            file: self.agreed.path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            sha256: self.agreed.sha256.clone(),
            benchmark: benchmark.name.value.clone(),
        };
        self.agreed.file.choices(benchmark, Some(mark))
    }

    fn series(
        &self,
        benchmark: &Benchmark,
        ready: &Ready,
        directory: &Path,
        recorder: &mut Recorder,
    ) -> Result<RecordedSeries, Failure> {
        let choices = self.choices(benchmark);
        let prepares = thresholds::of(&choices).or_exit(ExitCode::Usage)?.requires_preconditioning;
        // Checked again before each benchmark: a device can change while a suite runs.
        let prepared = self.device(ready)?.filter(|_| prepares);
        let observing = &Observing {
            confinement: Some(ready.confinement.clone()),
            program: Some(ready.program.clone()),
            user: self.request.user.map(str::to_owned),
            // Standard output is reserved for the report.
            child_output: ChildOutput::Stderr,
            quiet: self.request.quiet,
            ..Observing::default()
        };
        let argv: Vec<OsString> = ready.command.argv.iter().map(OsString::from).collect();
        let series = SeriesToRecord {
            observing,
            argv: &argv,
            choices,
            command: ready.command.clone(),
            directory,
            planned: benchmark.repetition.most(),
            until: benchmark.repetition.until(),
            prepared,
        };
        series::record(series, recorder)
    }

    /// Returns the device that may be written; `None` if none may.
    ///
    /// # Errors
    /// Returns an error if the target is not the agreed device, or if a benchmark would write a device that is in use,
    /// or that file and command line do not both permit.
    fn device(&self, ready: &Ready) -> Result<Option<Unused>, Failure> {
        let target = self.unit;
        check::still_permitted(target, ready)?;
        let path = Path::new(&target.path.value);
        let refused = |why: String| Err(Failure::new(ExitCode::Usage, anyhow!(why)));
        let shown = path.display();
        match (target.destroy, self.destroy.as_deref()) {
            (false, None) => {
                device_guard::guard(&ready.command)?;
                Ok(None)
            }
            (true, Some(named)) if named == path => {
                device_guard::guard_others(&ready.command, Some(path))?;
                let unused = device_guard::unused(path)?;
                match ready.confinement.devices.contains(&unused.pin) {
                    true => Ok(Some(unused)),
                    false => refused(format!("{shown} is another device now: nothing was run")),
                }
            }
            (true, None) => refused(format!(
                "the file permits to destroy what is on {shown}, and the command line does not repeat it: nothing was \
                 run (hint: `--destroy {shown}`)"
            )),
            (true, Some(named)) => refused(format!(
                "--destroy names {}, and the file {shown}: nothing was run (hint: repeat the exact path of the file)",
                named.display()
            )),
            (false, Some(_)) => refused(format!(
                "--destroy is given, and the file does not permit it: nothing was run (hint: both parties agree on \
                 `destroy = true` in [target] of {})",
                self.agreed.name()
            )),
        }
    }
}

/// Writes every report of the acceptance beside its evidence.
pub(super) fn write_reports(out: &Path, judged: &Acceptance) {
    if let Err(error) = derived_files::write_every_format(out, "acceptance", judged) {
        say!("{error:#}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn evidence_is_never_removed() {
        let folder = tempfile::tempdir().expect("a folder");
        let out = folder.path().join("out");
        let inner = out.join("reads/preconditioning");
        std::fs::create_dir_all(&inner).expect("a folder");
        std::fs::write(out.join(AGREED), "format = 1\n").expect("a file");
        remove_unused(&out);
        assert!(out.join(AGREED).is_file() && inner.is_dir());
        std::fs::remove_dir_all(out.join("reads")).expect("our own folder");
        remove_unused(&out);
        assert!(!out.exists());
    }
}
