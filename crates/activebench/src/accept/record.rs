//! Runs the suite of an acceptance file, each benchmark as a series, and judges what was recorded.

use std::path::Path;

use activebench_detect::acceptance::Benchmark;
use activebench_model::acceptance::{Acceptance, AcceptanceMark};
use activebench_model::run::Choices;
use activebench_model::series::{FORMAT, SeriesManifest};
use activebench_record::write_series;
use activebench_report::Style;
use activebench_report::acceptance::{ACCEPTANCE_FORMATS, extension, render};
use anyhow::{Context, anyhow};
use clap::Parser;

use super::check::{self, Ready};
use super::{AGREED, Agreed, show, stored};
use crate::arguments::{Accept, Cli, Command, Output, Verify};
use crate::destroy::{self, Unused};
use crate::exit::{ExitCode, Failure, INTERRUPTED, OrExit};
use crate::series::{self, Recording, Taken};
use crate::stop::{self, Stop};
use crate::{thresholds, verify};

/// Runs the suite; returns the exit code.
pub(super) fn main(arguments: &Accept, agreed: &Agreed, output: &Output) -> Result<i32, Failure> {
    let checked = check::check(agreed)?;
    for ready in &checked.benchmarks {
        verify::find_program(&ready.command.argv[0].clone().into())?;
    }
    let suite = Suite { arguments, agreed };
    for ready in &checked.benchmarks {
        suite.device(ready)?;
    }
    let out = arguments.out.clone().unwrap_or_else(|| verify::default_directory("accept"));
    create(&out, agreed)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the event loop")
        .or_exit(ExitCode::Bug)?;
    let interrupted = suite.record(&checked.benchmarks, &out, &runtime).inspect_err(|_| remove_unused(&out))?;
    // Everything from here on is only computed, and can be computed again.
    stop::release();
    let copy = Agreed::read(&out.join(AGREED))?;
    let judged = stored::judged(&copy, std::slice::from_ref(&out))?;
    write_reports(&out, &judged);
    show(&judged, output)?;
    Ok(if interrupted { INTERRUPTED } else { judged.exit_code })
}

/// Creates the directory with an exact copy of the file. An existing directory must be empty.
fn create(out: &Path, agreed: &Agreed) -> Result<(), Failure> {
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
fn remove_unused(out: &Path) {
    let removed = std::fs::read_dir(out).and_then(|entries| match entries.count() {
        1 => std::fs::remove_file(out.join(AGREED)).and_then(|()| std::fs::remove_dir(out)),
        _ => Ok(()),
    });
    if let Err(error) = removed {
        eprintln!("activebench: cannot remove {}: {error}", out.display());
    }
}

/// A suite to record.
struct Suite<'a> {
    arguments: &'a Accept,
    agreed: &'a Agreed,
}

impl Suite<'_> {
    /// Runs every benchmark in the target's directory; returns `true` if it was interrupted.
    fn record(&self, benchmarks: &[Ready], out: &Path, runtime: &tokio::runtime::Runtime) -> Result<bool, Failure> {
        let whole = std::path::absolute(out).context("cannot tell the working directory").or_exit(ExitCode::Usage)?;
        let before = std::env::current_dir().context("cannot tell the working directory").or_exit(ExitCode::Usage)?;
        let target = &self.agreed.file.target;
        if !target.is_device {
            let path = &target.path.value;
            std::env::set_current_dir(path)
                .with_context(|| format!("cannot work in {path}"))
                .or_exit(ExitCode::Usage)?;
        }
        let recorded = self.benchmarks(benchmarks, &whole, runtime);
        // The user's paths are relative to the directory that activebench was started in.
        let back = std::env::set_current_dir(&before).context("cannot go back to the working directory");
        back.or_exit(ExitCode::Usage).and(recorded)
    }

    /// Runs the benchmarks one after the other. If one cannot be recorded, the others still run.
    ///
    /// # Errors
    /// Returns an error if none could be recorded.
    fn benchmarks(&self, benchmarks: &[Ready], out: &Path, runtime: &tokio::runtime::Runtime) -> Result<bool, Failure> {
        let stop = Stop::on_signals().or_exit(ExitCode::Bug)?;
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
            if !self.arguments.quiet {
                eprintln!("activebench: {place}: {}", benchmark.repetition.words());
            }
            match self.series(benchmark, ready, &out.join(&ready.name), runtime) {
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
                    eprintln!("activebench: {place}: {:#}", failure.error);
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
        if directory.join(series::MANIFEST).is_file() {
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
        runtime: &tokio::runtime::Runtime,
    ) -> Result<Taken, Failure> {
        let choices = self.choices(benchmark);
        let prepares = thresholds::of(&choices).or_exit(ExitCode::Usage)?.requires_preconditioning;
        // Checked again before each benchmark: a device can change while a suite runs.
        let prepared = self.device(ready)?.filter(|_| prepares);
        let recording = Recording {
            arguments: &self.verify(ready)?,
            choices,
            command: ready.command.clone(),
            directory,
            planned: benchmark.repetition.most(),
            until: benchmark.repetition.until(),
            prepared,
        };
        series::record(recording, runtime)
    }

    /// Returns the device that may be written; `None` if none may.
    ///
    /// # Errors
    /// Returns an error if the target is not the agreed device, or if a benchmark would write a device that is in use,
    /// or that file and command line do not both permit.
    fn device(&self, ready: &Ready) -> Result<Option<Unused>, Failure> {
        let target = &self.agreed.file.target;
        check::still_permitted(target, ready)?;
        let path = Path::new(&target.path.value);
        let refused = |why: String| Err(Failure::new(ExitCode::Usage, anyhow!(why)));
        let shown = path.display();
        match (target.destroy, self.arguments.destroy.as_deref()) {
            (false, None) => {
                destroy::guard(&ready.command)?;
                Ok(None)
            }
            (true, Some(named)) if named == path => {
                destroy::guard_others(&ready.command, Some(path))?;
                destroy::unused(path).map(Some)
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

    /// Returns the arguments of `verify` with their defaults. Standard output is reserved for the report.
    fn verify(&self, ready: &Ready) -> Result<Verify, Failure> {
        let mut words: Vec<&str> = vec!["activebench", "verify", "--format", "json"];
        if self.arguments.quiet {
            words.push("--quiet");
        }
        words.extend(self.arguments.user.iter().flat_map(|user| ["--user", user]));
        words.push("--");
        words.extend(ready.command.argv.iter().map(String::as_str));
        match Cli::try_parse_from(words).map(|cli| cli.command) {
            Ok(Command::Verify(verify)) => Ok(*verify),
            Ok(_) => Err(Failure::new(ExitCode::Bug, anyhow!("`verify` was read as another command"))),
            Err(error) => Err(Failure::new(ExitCode::Bug, error)),
        }
    }
}

/// Writes every report of the acceptance beside its evidence.
fn write_reports(out: &Path, judged: &Acceptance) {
    for format in ACCEPTANCE_FORMATS {
        let Some(text) = render(format, judged, Style::default()) else { continue };
        let path = out.join(format!("acceptance.{}", extension(format)));
        if let Err(error) = std::fs::write(&path, text) {
            eprintln!("activebench: cannot write {}: {error}", path.display());
        }
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
