//! Runs the suite of an acceptance file, each benchmark as a series, and judges what was recorded.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use activebench_detect::acceptance::{Benchmark, Repetition};
use activebench_detect::series::contribution;
use activebench_detect::statistics::figures;
use activebench_model::acceptance::{Acceptance, AcceptanceMark};
use activebench_model::run::Choices;
use activebench_model::series::{FORMAT, RunOfSeries, SeriesManifest};
use activebench_record::write_series;
use activebench_report::Style;
use activebench_report::acceptance::{ACCEPTANCE_FORMATS, extension, render};
use anyhow::{Context, anyhow};
use clap::Parser;
use time::OffsetDateTime;
use time::macros::format_description;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::check::{self, Ready};
use super::{AGREED, Agreed, show, stored, unusable};
use crate::arguments::{Accept, Cli, Command, Output, Verify};
use crate::exit::{ExitCode, Failure, INTERRUPTED, OrExit};
use crate::verify::{self, Recorded, record_run};

/// How long we look for a signal that came between two runs.
const GLANCE: Duration = Duration::from_millis(1);
/// Fewer runs have no interval of the median.
const LEAST_FOR_AN_INTERVAL: usize = 6;

/// What a suite is recorded with.
struct Recording<'a> {
    arguments: &'a Accept,
    agreed: &'a Agreed,
    runtime: tokio::runtime::Runtime,
    interrupts: Signal,
}

/// Runs the suite; gives the exit code.
pub(super) fn main(arguments: &Accept, agreed: &Agreed, output: &Output) -> Result<i32, Failure> {
    let checked = check::check(agreed).map_err(unusable)?;
    for ready in &checked.benchmarks {
        verify::find_program(&ready.command.argv[0].clone().into())?;
    }
    refuse_to_write(agreed)?;
    let out = arguments.out.clone().unwrap_or_else(default_directory);
    create(&out, agreed)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the event loop")
        .or_exit(ExitCode::Bug)?;
    let interrupts = {
        // Signals of one kind wake every listener: the run that they end, and us.
        let _context = runtime.enter();
        signal(SignalKind::interrupt()).context("cannot listen for SIGINT").or_exit(ExitCode::Bug)?
    };
    let mut recording = Recording { arguments, agreed, runtime, interrupts };
    let interrupted = recording.suite(&checked.benchmarks, &out)?;
    let copy = Agreed::read(&out.join(AGREED))?;
    let judged = stored::judged(&copy, std::slice::from_ref(&out))?;
    write_reports(&out, &judged);
    show(&judged, output)?;
    Ok(if interrupted { INTERRUPTED } else { judged.exit_code })
}

/// A device is written to only behind the guard that `verify --destroy` has.
fn refuse_to_write(agreed: &Agreed) -> Result<(), Failure> {
    let target = &agreed.file.target;
    if target.is_device && target.destroy {
        let error = anyhow!("cannot write to {}: nothing guards it yet", target.path.value);
        return Err(Failure::new(ExitCode::Usage, error));
    }
    Ok(())
}

/// `./activebench-runs/20261121T040506Z-accept`, with a number behind it when that exists.
fn default_directory() -> PathBuf {
    let now = OffsetDateTime::now_utc();
    let stamp = now
        .format(format_description!("[year][month][day]T[hour][minute][second]Z"))
        .unwrap_or_else(|_| now.unix_timestamp().to_string());
    let base = PathBuf::from("activebench-runs").join(format!("{stamp}-accept"));
    let numbered = |number: u32| base.with_file_name(format!("{stamp}-accept-{number}"));
    std::iter::once(base.clone()).chain((2..).map(numbered)).find(|path| !path.exists()).unwrap_or(base)
}

/// Makes the directory, which must not hold anything, with an exact copy of the file.
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

impl Recording<'_> {
    /// Runs every benchmark in the target's directory; says whether it was interrupted.
    fn suite(&mut self, benchmarks: &[Ready], out: &Path) -> Result<bool, Failure> {
        let whole = std::path::absolute(out).context("cannot tell the working directory").or_exit(ExitCode::Usage)?;
        let before = std::env::current_dir().context("cannot tell the working directory").or_exit(ExitCode::Usage)?;
        let target = &self.agreed.file.target;
        if !target.is_device {
            let path = &target.path.value;
            std::env::set_current_dir(path)
                .with_context(|| format!("cannot work in {path}"))
                .or_exit(ExitCode::Usage)?;
        }
        let recorded = self.benchmarks(benchmarks, &whole);
        // Paths that the user gave are those of the directory that activebench was started in.
        let back = std::env::set_current_dir(&before).context("cannot go back to the working directory");
        back.or_exit(ExitCode::Usage).and(recorded)
    }

    fn benchmarks(&mut self, benchmarks: &[Ready], out: &Path) -> Result<bool, Failure> {
        let mut any = false;
        for (number, ready) in (1..).zip(benchmarks) {
            let place = format!("{} ({number} of {})", ready.name, benchmarks.len());
            let Some(benchmark) = self.agreed.file.benchmark(&ready.name) else { continue };
            match self.series(benchmark, ready, &out.join(&ready.name), &place) {
                Ok(true) => return Ok(true),
                Ok(false) => any = true,
                // Nothing could be observed at all: there is nothing to judge.
                Err(failure) if !any => return Err(failure),
                Err(failure) => eprintln!("activebench: {place}: {:#}", failure.error),
            }
        }
        Ok(false)
    }

    /// Records one benchmark; says whether it was interrupted.
    fn series(&mut self, benchmark: &Benchmark, ready: &Ready, directory: &Path, place: &str) -> Result<bool, Failure> {
        let mark = AcceptanceMark {
            file: self.agreed.path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            sha256: self.agreed.sha256.clone(),
            benchmark: ready.name.clone(),
        };
        let choices = self.agreed.file.choices(benchmark, Some(mark));
        let verify = self.verify(ready)?;
        let most = benchmark.repetition.most();
        std::fs::create_dir_all(directory)
            .with_context(|| format!("cannot make {}", directory.display()))
            .or_exit(ExitCode::Usage)?;
        let mut manifest = SeriesManifest {
            format: FORMAT,
            activebench: env!("CARGO_PKG_VERSION").to_owned(),
            command: ready.command.clone(),
            planned_runs: most,
            runs: Vec::new(),
            choices,
            incomplete: vec!["the series was never finished".to_owned()],
        };
        let mut runs: Vec<RunOfSeries> = Vec::new();
        let mut stopped = None;
        let started = Instant::now();
        for number in 1..=most {
            self.say(&format!(
                "{place}: run {number} of {}{most}{}",
                up_to(benchmark),
                time_left(started, number, most)
            ));
            match self.run(&verify, &manifest.choices, ready, directory, number) {
                Ok((run, interrupted)) => {
                    runs.push(run);
                    manifest.runs.push(number.to_string());
                    // From here on the run counts, whatever becomes of us.
                    write_series(directory, &manifest).or_exit(ExitCode::Usage)?;
                    if interrupted || self.is_interrupted() {
                        stopped = Some("interrupted".to_owned());
                        break;
                    }
                    if self.is_narrow(benchmark, &runs) {
                        break;
                    }
                }
                Err(failure) if runs.is_empty() => {
                    let _ = std::fs::remove_dir(directory);
                    return Err(failure);
                }
                Err(failure) => {
                    eprintln!("activebench: {place}: {:#}", failure.error);
                    stopped = Some(format!("run {number} could not be recorded: {:#}", failure.error));
                    break;
                }
            }
        }
        let interrupted = stopped.as_deref() == Some("interrupted");
        if stopped.is_none() {
            manifest.planned_runs = runs.len() as u32;
        }
        manifest.incomplete = stopped.into_iter().collect();
        write_series(directory, &manifest).or_exit(ExitCode::Usage)?;
        Ok(interrupted)
    }

    fn run(
        &self,
        verify: &Verify,
        choices: &Choices,
        ready: &Ready,
        directory: &Path,
        number: u32,
    ) -> Result<(RunOfSeries, bool), Failure> {
        let name = number.to_string();
        let Recorded { judged, interrupted, .. } =
            record_run(verify, choices, &ready.command, &directory.join(&name), &self.runtime)?;
        Ok((contribution(number, &name, &judged), interrupted))
    }

    /// The arguments of `verify` with its defaults. Standard output is the report's.
    fn verify(&self, ready: &Ready) -> Result<Verify, Failure> {
        let mut words: Vec<&str> = vec!["activebench", "verify", "--format", "json"];
        if self.arguments.quiet {
            words.push("--quiet");
        }
        words.extend(self.arguments.user.iter().flat_map(|user| ["--user", user]));
        words.push("--");
        words.extend(ready.command.argv.iter().map(String::as_str));
        match Cli::try_parse_from(words).map(|cli| cli.command) {
            Ok(Command::Verify(verify)) => Ok(verify),
            Ok(_) => Err(Failure::new(ExitCode::Bug, anyhow!("`verify` was read as another command"))),
            Err(error) => Err(Failure::new(ExitCode::Bug, error)),
        }
    }

    fn is_interrupted(&mut self) -> bool {
        let (runtime, interrupts) = (&self.runtime, &mut self.interrupts);
        runtime.block_on(async { tokio::time::timeout(GLANCE, interrupts.recv()).await.is_ok() })
    }

    /// Whether the interval of every figure that a limit names is as narrow as was asked for.
    fn is_narrow(&self, benchmark: &Benchmark, runs: &[RunOfSeries]) -> bool {
        let Repetition::Until { ratio, .. } = benchmark.repetition else { return false };
        if runs.len() < LEAST_FOR_AN_INTERVAL {
            return false;
        }
        let repeated = figures(runs);
        let mut limits = self.agreed.file.limits.iter().filter(|limit| limit.benchmark.value == benchmark.name.value);
        limits.all(|limit| {
            let is_meant = |phase: &str, metric| phase == limit.phase.value && metric == limit.metric.value;
            let figure = repeated.iter().find(|figure| is_meant(&figure.phase, figure.metric));
            let interval = figure.and_then(|figure| Some((figure.median.value, figure.median_interval?)));
            interval.is_some_and(|(median, interval)| interval.high.value - interval.low.value <= ratio * median)
        })
    }

    fn say(&self, words: &str) {
        if !self.arguments.quiet {
            eprintln!("activebench: {words}");
        }
    }
}

fn up_to(benchmark: &Benchmark) -> &'static str {
    match benchmark.repetition {
        Repetition::Runs(_) => "",
        Repetition::Until { .. } => "at most ",
    }
}

/// From how long the runs so far took.
fn time_left(started: Instant, number: u32, most: u32) -> String {
    let done = number - 1;
    if done == 0 {
        return String::new();
    }
    let left = started.elapsed() / done * (most - done);
    format!(", about {} left of this benchmark", humantime::format_duration(Duration::from_secs(left.as_secs().max(1))))
}

/// Every report of the acceptance beside its evidence.
fn write_reports(out: &Path, judged: &Acceptance) {
    for format in ACCEPTANCE_FORMATS {
        let Some(text) = render(format, judged, Style::default()) else { continue };
        let path = out.join(format!("acceptance.{}", extension(format)));
        if let Err(error) = std::fs::write(&path, text) {
            eprintln!("activebench: cannot write {}: {error}", path.display());
        }
    }
}
