//! Stored runs as the evidence of an acceptance: which belongs to which benchmark, and what they come to. The same path
//! serves a suite that was recorded a moment ago.

use std::path::{Path, PathBuf};

use activebench_detect::acceptance::{Benchmark, Recorded, RunEvidence, Setting, judge};
use activebench_model::acceptance::{Acceptance, AgreedFile};
use activebench_model::command::CommandLine;
use activebench_model::series::{FORMAT, JudgedSeries, SeriesManifest};
use activebench_record::{RunReader, read_series};
use anyhow::{Context, anyhow};

use super::{AGREED, Agreed};
use crate::bundle;
use crate::exit::{ExitCode, Failure, OrExit};
use crate::{judge as of_run, thresholds};

/// A stored run, not judged yet.
struct Found {
    reader: RunReader,
    /// As reports call it.
    shown: PathBuf,
    /// The folders that it and its series lie in, the nearest first.
    folders: Vec<String>,
}

/// What was found on disk.
#[derive(Default)]
struct Evidence {
    runs: Vec<Found>,
    /// Why a series is short, with the folders that it lies in.
    incomplete: Vec<(Vec<String>, String)>,
}

/// Judges what lies in these directories or bundles.
pub(super) fn judged(agreed: &Agreed, named: &[PathBuf]) -> Result<Acceptance, Failure> {
    let located = named.iter().map(|path| bundle::located(path)).collect::<Result<Vec<_>, _>>()?;
    let mut evidence = Evidence::default();
    for (located, shown) in located.iter().zip(named) {
        evidence.gather(&located.directory, shown, agreed)?;
    }
    // In the order in which they were made, whatever order they were named in.
    evidence.runs.sort_by_key(|found| {
        let clocks = found.reader.manifest().clocks;
        (clocks.started_unix_s, clocks.started_ns)
    });
    let file = &agreed.file;
    let mut notes = Vec::new();
    let mut suite: Vec<Recorded> = Vec::new();
    let mut taken = vec![false; evidence.runs.len()];
    for benchmark in &file.benchmarks {
        let mut runs: Vec<RunEvidence> = Vec::new();
        let mut incomplete: Vec<String> = evidence
            .incomplete
            .iter()
            .filter(|(folders, _)| folders.contains(&benchmark.name.value))
            .map(|(_, why)| why.clone())
            .collect();
        for (found, taken) in evidence.runs.iter().zip(&mut taken).filter(|(_, taken)| !**taken) {
            // Cheap to ask before the run is judged, which is not.
            let by_name = belongs_by_name(found, benchmark);
            if !by_name && !may_match(found, benchmark) {
                continue;
            }
            let number = runs.len() as u32 + 1;
            let run = evidence_of(agreed, benchmark, found, number)?;
            let is_the_command = benchmark.resolved(&run.sizes(&file.target.path.value)).as_ref() == Ok(&run.argv);
            match (is_the_command, by_name) {
                (true, _) => {
                    incomplete.extend(elsewhere(agreed, benchmark, &run));
                    runs.push(run);
                }
                (false, true) => incomplete.push(format!(
                    "the run {} is named as one of this benchmark and ran another command: {}",
                    run.run.directory,
                    run.argv.join(" ")
                )),
                (false, false) => continue,
            }
            *taken = true;
        }
        if runs.len() > benchmark.repetition.most() as usize {
            let agreed_on = benchmark.repetition.words();
            notes.push(format!(
                "{}: {} runs were recorded, {agreed_on} were agreed on; all of them are judged",
                benchmark.name.value,
                runs.len()
            ));
        }
        let series = series_of(agreed, benchmark, &runs)?;
        if let Some(stopping) = series.stopping.filter(|stopping| !stopping.reached && !runs.is_empty()) {
            let (name, why) = (&benchmark.name.value, stopping.because);
            match runs.len() < benchmark.repetition.most() as usize {
                true => incomplete.push(format!("it ended before its target: {why}")),
                false => notes.push(format!("{name}: target not reached after {} runs: {why}", runs.len())),
            }
        }
        suite.push(Recorded { runs, findings: series.findings, incomplete });
    }
    for (found, _) in evidence.runs.iter().zip(&taken).filter(|(_, taken)| !**taken) {
        let command = found.reader.manifest().command.argv.join(" ");
        notes.push(format!("{} belongs to no benchmark of the file: {command}", found.shown.display()));
    }
    let words = ["activebench", "accept"].map(str::to_owned).into_iter();
    let paths = std::iter::once(&agreed.path).chain(named).map(|path| path.display().to_string());
    let setting = Setting {
        activebench: env!("CARGO_PKG_VERSION").to_owned(),
        agreed: AgreedFile { name: agreed.name(), sha256: agreed.sha256.clone() },
        notes,
        recheck: words.chain(paths).collect(),
    };
    Ok(judge(file, &suite, setting))
}

impl Evidence {
    /// Adds the runs of a directory: that of a whole acceptance, of a series, or of a run.
    fn gather(&mut self, directory: &Path, shown: &Path, agreed: &Agreed) -> Result<(), Failure> {
        if !directory.join(AGREED).is_file() {
            return self.gather_series(directory, shown, &[]);
        }
        let mut any = false;
        for benchmark in &agreed.file.benchmarks {
            let name = &benchmark.name.value;
            let inner = directory.join(name);
            if inner.is_dir() {
                any = true;
                self.gather_series(&inner, &shown.join(name), std::slice::from_ref(name))?;
            }
        }
        match any {
            true => Ok(()),
            false => {
                let error = anyhow!(
                    "{} holds no run of a benchmark of {} (hint: it was recorded for other benchmarks; its own file is \
                     {})",
                    shown.display(),
                    agreed.name(),
                    shown.join(AGREED).display()
                );
                Err(Failure::new(ExitCode::Usage, error))
            }
        }
    }

    fn gather_series(&mut self, directory: &Path, shown: &Path, above: &[String]) -> Result<(), Failure> {
        let mut folders = above.to_vec();
        folders.extend(shown.file_name().map(|name| name.to_string_lossy().into_owned()));
        let Some(series) = read_series(directory).or_exit(ExitCode::Usage)? else {
            return self.add(directory, shown, folders);
        };
        self.incomplete.extend(series.incomplete.into_iter().map(|why| (folders.clone(), why)));
        for name in &series.runs {
            self.add(&directory.join(name), &shown.join(name), folders.clone())?;
        }
        Ok(())
    }

    fn add(&mut self, directory: &Path, shown: &Path, folders: Vec<String>) -> Result<(), Failure> {
        let reader = RunReader::open(directory).or_exit(ExitCode::Usage)?;
        self.runs.push(Found { reader, shown: shown.to_owned(), folders });
        Ok(())
    }
}

/// Whether a run was recorded for a benchmark of this name, or lies in a folder that is named after it.
fn belongs_by_name(found: &Found, benchmark: &Benchmark) -> bool {
    let name = &benchmark.name.value;
    match &found.reader.manifest().choices.acceptance {
        Some(mark) => mark.benchmark == *name,
        None => found.folders.contains(name),
    }
}

/// Whether the words can be those of a benchmark: as many, and the same program.
fn may_match(found: &Found, benchmark: &Benchmark) -> bool {
    let argv = &found.reader.manifest().command.argv;
    argv.len() == benchmark.command.len() && argv.first() == benchmark.command.first().map(|word| &word.text)
}

/// A run of a directory needs to have been made there; one that was recorded for this very file was.
fn elsewhere(agreed: &Agreed, benchmark: &Benchmark, run: &RunEvidence) -> Option<String> {
    let recorded_for_it = run.run.recorded_for_sha256.as_ref() == Some(&agreed.sha256);
    let target = &agreed.file.target.path.value;
    let is_there = Path::new(&run.cwd) == Path::new(target);
    (!recorded_for_it && !benchmark.names_target() && !is_there)
        .then(|| format!("the run {} was made in {}, not in the target {target}", run.run.directory, run.cwd))
}

/// Judges a run by the choices of the file, whatever its own were.
fn evidence_of(agreed: &Agreed, benchmark: &Benchmark, found: &Found, number: u32) -> Result<RunEvidence, Failure> {
    let path = found.reader.directory().join("run.json");
    let bytes =
        std::fs::read(&path).with_context(|| format!("cannot read {}", path.display())).or_exit(ExitCode::Usage)?;
    let mut manifest = found.reader.manifest().clone();
    manifest.choices = agreed.file.choices(benchmark, manifest.choices.acceptance);
    let judged = of_run::judge(&found.shown, &found.reader, manifest).or_exit(ExitCode::Usage)?;
    let directory = found.shown.display().to_string();
    Ok(RunEvidence::of(number, &directory, &activebench_record::sha256(&bytes), &judged))
}

/// The runs of a benchmark judged together.
fn series_of(agreed: &Agreed, benchmark: &Benchmark, runs: &[RunEvidence]) -> Result<JudgedSeries, Failure> {
    let choices = agreed.file.choices(benchmark, None);
    let thresholds = thresholds::of(&choices).or_exit(ExitCode::Usage)?;
    let manifest = SeriesManifest {
        format: FORMAT,
        activebench: env!("CARGO_PKG_VERSION").to_owned(),
        command: CommandLine::default(),
        planned_runs: benchmark.repetition.most(),
        until: benchmark.repetition.until(),
        runs: runs.iter().map(|run| run.run.directory.clone()).collect(),
        choices,
        preconditioning: None,
        incomplete: Vec::new(),
    };
    let contributions = runs.iter().map(|run| run.of_series.clone()).collect();
    Ok(activebench_detect::series::judge(manifest, String::new(), contributions, &thresholds))
}
