//! Stored runs as the evidence of an acceptance: assigns each run to its benchmark and judges them. A suite that was
//! just recorded takes the same path.

use std::path::{Path, PathBuf};

use activebench_detect::acceptance::{Benchmark, Ran, Recorded, RunEvidence, Setting, Target, judge};
use activebench_model::acceptance::{Acceptance, AcceptanceMark, AgreedFile};
use activebench_model::command::CommandLine;
use activebench_model::series::{FORMAT, JudgedSeries, SeriesManifest};
use activebench_record::{EntryKind, RunFolder, RunReader, StoredSeries, read_series};
use anyhow::{Context, anyhow};

use super::check::target_as_written;
use super::{AGREED, Agreed};
use crate::bundle;
use crate::failure::{ExitCode, Failure, OrExit};
use crate::{judge as of_run, thresholds};

/// A stored run, not judged yet.
struct Found {
    reader: RunReader,
    /// SHA-256 of its `run.json`.
    sha256: String,
    /// Its path as reports show it.
    shown: PathBuf,
    /// Names of the folders that hold it and its series, the nearest first.
    folders: Vec<String>,
    /// Its index in [`Evidence::series`]; `None` for a run without a series.
    series: Option<usize>,
}

/// A stored series that found runs belong to.
struct OfRuns {
    directory: PathBuf,
    shown: PathBuf,
    folders: Vec<String>,
    stored: StoredSeries,
}

/// The runs and series that were found on disk.
#[derive(Default)]
struct Evidence {
    runs: Vec<Found>,
    series: Vec<OfRuns>,
    /// Directories of all runs that were found, including copies of the same run.
    directories: Vec<PathBuf>,
}

/// Judges the runs of a unit in these directories or bundles.
pub fn judged(agreed: &Agreed, unit: &Target, named: &[PathBuf]) -> Result<Acceptance, Failure> {
    let located = named.iter().map(|path| bundle::located(path)).collect::<Result<Vec<_>, _>>()?;
    let mut evidence = Evidence::default();
    for (located, shown) in located.iter().zip(named) {
        evidence.gather(&located.directory, shown, agreed)?;
    }
    // In the order of recording, whatever order the user named them in.
    evidence.runs.sort_by_key(|found| {
        let clocks = found.reader.manifest().clocks;
        (clocks.started_unix_s, clocks.started_ns)
    });
    let file = &agreed.file;
    let mut notes: Vec<String> = evidence.once().into_iter().collect();
    let mut suite: Vec<Recorded> = Vec::new();
    let mut taken = vec![false; evidence.runs.len()];
    for benchmark in &file.benchmarks {
        let name = &benchmark.name.value;
        let mut runs: Vec<RunEvidence> = Vec::new();
        let mut incomplete: Vec<String> = Vec::new();
        let mut alone = 0;
        let mut of_series: Vec<usize> =
            (0..evidence.series.len()).filter(|place| evidence.series[*place].belongs_to(name)).collect();
        for (found, taken) in evidence.runs.iter().zip(&mut taken).filter(|(_, taken)| !**taken) {
            // A cheap check before the run is judged, which is expensive.
            let by_name = found.belongs_to(name);
            let is_of_another = || file.benchmarks.iter().any(|other| found.belongs_to(&other.name.value));
            if !by_name && (is_of_another() || !may_match(found, benchmark)) {
                continue;
            }
            let number = runs.len() as u32 + 1;
            let run = evidence_of(agreed, benchmark, found, number)?;
            let marked = by_name && run.run.recorded_for_sha256.as_ref() == Some(&agreed.sha256);
            match run.ran(benchmark, &target_as_written(benchmark, &unit.path.value), marked) {
                Ran::It => {
                    incomplete.extend(elsewhere(agreed, unit, benchmark, &run));
                    match found.series {
                        Some(place) if !of_series.contains(&place) => of_series.push(place),
                        Some(_) => {}
                        None => alone += 1,
                    }
                    runs.push(run);
                }
                Ran::Another if by_name => incomplete.push(format!(
                    "the run {} is named as one of this benchmark and ran another command: {}",
                    run.run.directory,
                    run.argv.join(" ")
                )),
                Ran::Another => continue,
                Ran::NotKnown(why) => incomplete.push(format!(
                    "it is not known whether the run {} is one of this benchmark: {why}",
                    run.run.directory
                )),
            }
            *taken = true;
        }
        let short = of_series.iter().flat_map(|place| evidence.short(&evidence.series[*place]));
        incomplete = short.chain(incomplete).collect();
        if alone > 0 {
            notes.push(format!(
                "{name}: {alone} of {} runs are of no series: nothing shows that no other was left out",
                runs.len()
            ));
        }
        if runs.len() > benchmark.repetition.most() as usize {
            let agreed_on = benchmark.repetition.words();
            notes.push(format!(
                "{name}: {} runs were recorded, {agreed_on} were agreed on; all of them are judged",
                runs.len()
            ));
        }
        let series = series_of(agreed, benchmark, &runs)?;
        if let Some(stopping) = series.stopping.filter(|stopping| !stopping.reached && !runs.is_empty()) {
            let why = stopping.because;
            match runs.len() < benchmark.repetition.most() as usize {
                true => incomplete.push(format!("it ended before its target: {why}")),
                false => notes.push(format!("{name}: target not reached after {} runs: {why}", runs.len())),
            }
        }
        suite.push(Recorded { runs, findings: series.findings, steadiness: series.steadiness, incomplete });
    }
    for (found, _) in evidence.runs.iter().zip(&taken).filter(|(_, taken)| !**taken) {
        let command = found.reader.manifest().command.argv.join(" ");
        notes.push(format!("{} belongs to no benchmark of the file: {command}", found.shown.display()));
    }
    for found in evidence.runs.iter().filter(|found| !found.reader.is_sealed()) {
        let shown = found.shown.display();
        notes.push(format!("run.json of {shown} has no seal: nothing shows that it is the one that was recorded"));
    }
    for series in evidence.series.iter().filter(|series| !series.stored.is_sealed) {
        let shown = series.shown.display();
        notes.push(format!("series.json of {shown} has no seal: nothing shows that it is the one that was recorded"));
    }
    let words = ["activebench", "accept"].map(str::to_owned).into_iter();
    let paths = std::iter::once(&agreed.path).chain(named).map(|path| path.display().to_string());
    let setting = Setting {
        activebench: env!("CARGO_PKG_VERSION").to_owned(),
        agreed: AgreedFile { name: agreed.name(), sha256: agreed.sha256.clone() },
        notes,
        recheck: words.chain(paths).collect(),
    };
    Ok(judge(file, unit, &suite, setting))
}

impl Evidence {
    /// Adds the runs of a directory: that of a whole acceptance, of a series, or of a run.
    fn gather(&mut self, directory: &Path, shown: &Path, agreed: &Agreed) -> Result<(), Failure> {
        let folder = RunFolder::open(directory).or_exit(ExitCode::Usage)?;
        if folder.kind(AGREED).or_exit(ExitCode::Usage)? != Some(EntryKind::File) {
            return self.gather_series(directory, shown, &[]);
        }
        let mut any = false;
        for benchmark in &agreed.file.benchmarks {
            let name = &benchmark.name.value;
            let inner = directory.join(name);
            if folder.kind(name).or_exit(ExitCode::Usage)? == Some(EntryKind::Folder) {
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
        folders.extend(name_of(shown));
        let Some(stored) = read_series(directory).or_exit(ExitCode::Usage)? else {
            return self.gather_run(directory, shown, folders);
        };
        let place = self.series(directory, shown, folders.clone(), stored)?;
        for name in self.series[place].stored.manifest.runs.clone() {
            self.add(directory, &name, &shown.join(&name), folders.clone(), Some(place))?;
        }
        Ok(())
    }

    /// Adds a run that was named by itself, and the series that it belongs to.
    fn gather_run(&mut self, directory: &Path, shown: &Path, mut folders: Vec<String>) -> Result<(), Failure> {
        let whole = canonical(directory)?;
        let above = match whole.parent() {
            Some(above) => read_series(above).or_exit(ExitCode::Usage)?.map(|stored| (above, stored)),
            None => None,
        };
        let listed =
            above.filter(|(_, stored)| name_of(&whole).is_some_and(|name| stored.manifest.runs.contains(&name)));
        let place = match listed {
            Some((above, stored)) => {
                let shown = shown.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
                folders.extend(name_of(shown));
                Some(self.series(above, shown, folders.clone(), stored)?)
            }
            None => None,
        };
        self.add(directory, "", shown, folders, place)
    }

    /// Returns the index of a series; adds the series if it is new.
    fn series(
        &mut self,
        directory: &Path,
        shown: &Path,
        folders: Vec<String>,
        stored: StoredSeries,
    ) -> Result<usize, Failure> {
        let directory = canonical(directory)?;
        if let Some(place) = self.series.iter().position(|known| known.directory == directory) {
            return Ok(place);
        }
        self.series.push(OfRuns { directory, shown: shown.to_owned(), folders, stored });
        Ok(self.series.len() - 1)
    }

    /// Adds the run in a folder of a directory; without a name, that in the directory itself.
    fn add(
        &mut self,
        directory: &Path,
        name: &str,
        shown: &Path,
        folders: Vec<String>,
        series: Option<usize>,
    ) -> Result<(), Failure> {
        let reader = RunReader::open_inside(directory, name).or_exit(ExitCode::Usage)?;
        let sha256 = reader.manifest_sha256().to_owned();
        self.directories.push(canonical(reader.directory())?);
        self.runs.push(Found { reader, sha256, shown: shown.to_owned(), folders, series });
        Ok(())
    }

    /// Keeps each run once, even if it or a copy of it was named several times. Returns a note on those that were left
    /// out.
    fn once(&mut self) -> Option<String> {
        let mut again = Vec::new();
        let mut kept: Vec<Found> = Vec::new();
        for found in self.runs.drain(..) {
            match kept.iter().any(|known| known.is_same_run(&found)) {
                true => again.push(found.shown.display().to_string()),
                false => kept.push(found),
            }
        }
        self.runs = kept;
        (!again.is_empty())
            .then(|| format!("named twice, or copies of other runs, and not counted: {}", again.join(", ")))
    }

    /// Returns why a series is incomplete here: it was not run to its end, or not all of its runs were named.
    fn short(&self, series: &OfRuns) -> Vec<String> {
        let runs = &series.stored.manifest.runs;
        let is_missing = |name: &&String| !self.directories.contains(&series.directory.join(name));
        let missing = runs.iter().filter(is_missing).count();
        let left_out =
            format!("{missing} of {} runs of the series {} are left out", runs.len(), series.shown.display());
        series.stored.manifest.incomplete.iter().cloned().chain((missing > 0).then_some(left_out)).collect()
    }
}

impl Found {
    /// True if the run was recorded for a benchmark of this name, or is in a folder that is named after it.
    fn belongs_to(&self, benchmark: &str) -> bool {
        belongs_to(self.reader.manifest().choices.acceptance.as_ref(), &self.folders, benchmark)
    }

    /// True if both are the same run. A copy starts at the same nanosecond, redacted or not.
    fn is_same_run(&self, other: &Found) -> bool {
        let (clocks, others) = (self.reader.manifest().clocks, other.reader.manifest().clocks);
        self.sha256 == other.sha256 || (clocks == others && clocks.started_ns != 0)
    }
}

impl OfRuns {
    fn belongs_to(&self, benchmark: &str) -> bool {
        belongs_to(self.stored.manifest.choices.acceptance.as_ref(), &self.folders, benchmark)
    }
}

fn belongs_to(mark: Option<&AcceptanceMark>, folders: &[String], benchmark: &str) -> bool {
    match mark {
        Some(mark) => mark.benchmark == benchmark,
        None => folders.iter().any(|folder| folder == benchmark),
    }
}

fn name_of(path: &Path) -> Option<String> {
    path.file_name().map(|name| name.to_string_lossy().into_owned())
}

fn canonical(path: &Path) -> Result<PathBuf, Failure> {
    std::fs::canonicalize(path).with_context(|| format!("cannot find {}", path.display())).or_exit(ExitCode::Usage)
}

/// True if the run's command can be that of the benchmark: equally many words and the same program.
fn may_match(found: &Found, benchmark: &Benchmark) -> bool {
    let argv = &found.reader.manifest().command.argv;
    argv.len() == benchmark.command.len() && argv.first() == benchmark.command.first().map(|word| &word.text)
}

/// Returns a reason if the run was made in another directory than the target. A run that was recorded for this very
/// file is exempt, and so is one whose benchmark names the target.
fn elsewhere(agreed: &Agreed, unit: &Target, benchmark: &Benchmark, run: &RunEvidence) -> Option<String> {
    let recorded_for_it = run.run.recorded_for_sha256.as_ref() == Some(&agreed.sha256);
    let target = &unit.path.value;
    if recorded_for_it || benchmark.names_target() || Path::new(&run.cwd) == Path::new(target) {
        return None;
    }
    Some(match run.is_redacted {
        true => format!("where the run {} was made is not known: the copy is redacted", run.run.directory),
        false => format!("the run {} was made in {}, not in the target {target}", run.run.directory, run.cwd),
    })
}

/// Judges a run by the choices of the file, whatever its own were.
fn evidence_of(agreed: &Agreed, benchmark: &Benchmark, found: &Found, number: u32) -> Result<RunEvidence, Failure> {
    let mut manifest = found.reader.manifest().clone();
    manifest.choices = agreed.file.choices(benchmark, manifest.choices.acceptance);
    let judged =
        of_run::judge(&found.shown, &found.reader, manifest, of_run::Timelines::LeftOut).or_exit(ExitCode::Usage)?;
    let directory = found.shown.display().to_string();
    Ok(RunEvidence::of(number, &directory, &found.sha256, &judged))
}

/// Judges the runs of a benchmark together.
fn series_of(agreed: &Agreed, benchmark: &Benchmark, runs: &[RunEvidence]) -> Result<JudgedSeries, Failure> {
    let choices = agreed.file.choices_of_series(benchmark);
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

#[cfg(test)]
mod tests {
    use std::fs;

    use activebench_detect::acceptance::AcceptanceFile;
    use activebench_model::run::{Choices, Clocks, Manifest};
    use activebench_record::{RunWriter, write_series};

    use super::*;

    const FILE: &str = r#"format = 1
[parties]
buyer = "B"
vendor = "V"
[target]
path = "/mnt"
[[benchmark]]
name = "before"
command = ["fio", "--name=a", "--size={1 x device}"]
[[benchmark]]
name = "after"
command = ["fio", "--name=a", "--size={1 x device}"]
[decision]
rule = "guard-band"
"#;

    fn agreed(from: &str, to: &str) -> Agreed {
        let text = FILE.replace(from, to);
        let file = AcceptanceFile::parse("offer.toml", &text).unwrap_or_else(|faults| panic!("{faults}"));
        Agreed { path: "offer.toml".into(), text, sha256: "this".to_owned(), file }
    }

    /// Writes a run without figures that started at this second.
    fn run(directory: &Path, at: i64, size: &str, mark: Option<(&str, &str)>) {
        let writer = RunWriter::create(directory).expect("a new directory");
        let manifest = Manifest {
            command: CommandLine {
                argv: ["fio", "--name=a", &format!("--size={size}")].map(str::to_owned).to_vec(),
                cwd: "/mnt".to_owned(),
            },
            clocks: Clocks { started_unix_s: at, started_ns: at as u64, ended_ns: at as u64 + 1 },
            choices: choices(mark),
            ..Manifest::default()
        };
        writer.finish(manifest).expect("it is written");
    }

    fn choices(mark: Option<(&str, &str)>) -> Choices {
        let acceptance = mark.map(|(sha256, benchmark)| AcceptanceMark {
            file: "offer.toml".to_owned(),
            sha256: sha256.to_owned(),
            benchmark: benchmark.to_owned(),
        });
        Choices { profile: "default".to_owned(), acceptance, ..Choices::default() }
    }

    fn series(directory: &Path, runs: &[&str], incomplete: &[&str]) {
        let manifest = SeriesManifest {
            format: FORMAT,
            activebench: "0".to_owned(),
            command: CommandLine::default(),
            planned_runs: 5,
            until: None,
            runs: runs.iter().map(|run| (*run).to_owned()).collect(),
            choices: choices(None),
            preconditioning: None,
            incomplete: incomplete.iter().map(|why| (*why).to_owned()).collect(),
        };
        write_series(directory, &manifest).expect("it is written");
    }

    fn taken(agreed: &Agreed, named: &[PathBuf]) -> Acceptance {
        judged(agreed, &agreed.file.units_in_file()[0], named).unwrap_or_else(|failure| panic!("{:#}", failure.error))
    }

    fn counts(judged: &Acceptance) -> Vec<usize> {
        judged.benchmarks.iter().map(|benchmark| benchmark.runs.len()).collect()
    }

    #[test]
    fn a_run_counts_once_however_often_it_is_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        run(&at("out/before/1"), 1, "7", Some(("this", "before")));
        run(&at("out/before/2"), 2, "7", Some(("this", "before")));
        series(&at("out/before"), &["1", "2"], &[]);
        fs::write(at("out/acceptance.toml"), FILE).expect("a file");
        // The same start and other bytes: a redacted copy.
        run(&at("copy"), 2, "8", Some(("this", "before")));
        let agreed = agreed("", "");
        for named in [
            vec![at("out"), at("out/before")],
            vec![at("out/before/1"), at("out/before/1"), at("out/before/2")],
            vec![at("out"), at("copy")],
        ] {
            let judged = taken(&agreed, &named);
            assert_eq!(counts(&judged), [2, 0], "{named:?}");
            assert!(judged.notes.iter().any(|note| note.starts_with("named twice")), "{:?}", judged.notes);
            let left_out = judged.benchmarks[0].incomplete.iter().any(|why| why.contains("left out"));
            assert!(!left_out, "{:?}", judged.benchmarks[0].incomplete);
        }
        assert_eq!(taken(&agreed, &[at("out")]).notes, Vec::<String>::new());
    }

    #[test]
    fn of_equal_commands_the_name_decides() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        run(&at("1"), 1, "7", Some(("this", "after")));
        // The mark of another acceptance file names it too, and its size is not known here.
        run(&at("2"), 2, "7", Some(("other", "before")));
        let judged = taken(&agreed("", ""), &[at("1"), at("2")]);
        assert_eq!(counts(&judged), [0, 1]);
        assert!(judged.benchmarks[0].incomplete[0].contains("it is not known whether the run"), "{judged:?}");
    }

    #[test]
    fn a_size_that_is_not_known_accuses_nobody() {
        let folder = tempfile::tempdir().expect("a folder");
        let place = folder.path().join("1");
        run(&place, 1, "7", None);
        let unknown = taken(&agreed("", ""), std::slice::from_ref(&place));
        let why = &unknown.benchmarks[0].incomplete[0];
        assert!(why.ends_with("the size of the device below the target is not known"), "{why}");
        let other = taken(&agreed("--name=a", "--name=b"), std::slice::from_ref(&place));
        assert!(other.notes[0].contains("belongs to no benchmark"), "{:?}", other.notes);
        // Nothing of it is relative, and the run has no series.
        let known = taken(&agreed("{1 x device}", "{7 B}"), &[place]);
        assert_eq!(counts(&known), [1, 0]);
        assert!(known.notes.iter().any(|note| note.contains("1 of 1 runs are of no series")), "{:?}", known.notes);
    }

    #[test]
    fn what_is_left_out_of_a_series_is_told() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        for (number, name) in (1..).zip(["1", "2", "3"]) {
            run(&at("elsewhere").join(name), number, "7", None);
        }
        series(&at("elsewhere"), &["1", "2", "3"], &["interrupted"]);
        let agreed = agreed("{1 x device}", "{7 B}");
        let short = |named: &[PathBuf]| taken(&agreed, named).benchmarks[0].incomplete.clone();
        let some = short(&[at("elsewhere/3"), at("elsewhere/1")]);
        assert_eq!(some[0], "interrupted");
        assert!(some[1].starts_with("1 of 3 runs of the series") && some[1].ends_with("are left out"), "{some:?}");
        // No folder has the benchmark's name.
        assert_eq!(short(&[at("elsewhere")])[0], "interrupted");
        let all = short(&["1", "2", "3"].map(|name| at("elsewhere").join(name)));
        assert!(!all.iter().any(|why| why.contains("left out")), "{all:?}");
    }
}
