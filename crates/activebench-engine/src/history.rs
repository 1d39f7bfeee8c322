//! Finds stored runs, and reads their figures for a history.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use activebench_detect::history::Placed;
use activebench_model::history::{LeftOut, Reading};
use activebench_record::{FigureFilter, Found, find_runs, read_figures};
use anyhow::{Context, anyhow};
use time::macros::format_description;
use time::{Date, Time};

use crate::bundle::{self, Located};
use crate::failure::{ExitCode, Failure, OrExit};

/// Number of runs from which reading takes long enough to be announced.
const MANY: usize = 4_000;

/// Finds and reads the runs in these folders. `baseline` is what the user named: a run, a folder, a bundle, or dates.
///
/// # Errors
/// Returns an error if there are no runs, or none of the baseline.
pub fn runs(
    folders: &[PathBuf],
    baseline: Option<&str>,
    filter: &FigureFilter,
) -> Result<(Reading, Vec<Placed>), Failure> {
    let base = baseline.map(Base::parse).transpose()?;
    let places = Places::of(folders, base.as_ref())?;
    if places.runs.is_empty() {
        return Err(nothing_found(folders, &places));
    }
    if places.runs.len() >= MANY {
        say!("reading the figures of {} runs", places.runs.len());
    }
    let (reading, runs) = read(places, filter, base.as_ref())?;
    if let Some(named) = baseline
        && !runs.iter().any(|run| run.in_baseline)
    {
        let hint = "hint: name a run or a folder of runs, or dates of which there are runs; filters apply to it, too";
        return Err(Failure::new(ExitCode::Usage, anyhow!("no run of the baseline {named} was read ({hint})")));
    }
    Ok((reading, runs))
}

/// The baseline that later runs are compared with.
enum Base {
    Folder(PathBuf),
    /// Seconds since the epoch: start, and end (exclusive).
    Dates(i64, i64),
}

impl Base {
    /// Parses the path of something that exists, or else dates.
    fn parse(text: &str) -> Result<Self, Failure> {
        let path = Path::new(text);
        if path.exists() {
            return Ok(Base::Folder(path.to_owned()));
        }
        let usage = |error: String| Failure::new(ExitCode::Usage, anyhow!("cannot use the baseline {text}: {error}"));
        let Some((from, to)) = text.split_once("..") else {
            return Err(usage(
                "there is no such run or folder (hint: dates are written 2026-01-01..2026-01-31)".to_owned(),
            ));
        };
        let begin = |day: &str| parse_day(day).map(midnight);
        let from = if from.is_empty() { i64::MIN } else { begin(from).map_err(usage)? };
        let to = if to.is_empty() { i64::MAX } else { begin(to).map_err(usage)?.saturating_add(DAY_S) };
        match from < to {
            true => Ok(Base::Dates(from, to)),
            false => Err(usage("it ends before it begins".to_owned())),
        }
    }
}

const DAY_S: i64 = 86_400;

/// Parses a day such as `2026-01-31`.
///
/// # Errors
/// Returns an error if it is not one.
pub fn parse_day(text: &str) -> Result<Date, String> {
    Date::parse(text, format_description!("[year]-[month]-[day]"))
        .map_err(|_| format!("no date: `{text}` (hint: 2026-01-31)"))
}

/// Returns the start of a day, UTC, in seconds since the epoch.
pub fn midnight(day: Date) -> i64 {
    day.with_time(Time::MIDNIGHT).assume_utc().unix_timestamp()
}

/// A run that was found.
struct RunFound {
    directory: PathBuf,
    /// Its path as the user would name it.
    shown: String,
    /// `true` if it was found in the folder, run or bundle that is the baseline.
    in_baseline: bool,
}

/// The runs and bundles found in the folders that the user named.
#[derive(Default)]
struct Places {
    runs: Vec<RunFound>,
    /// Paths found already, with links resolved.
    known: BTreeSet<PathBuf>,
    bundles: usize,
    left_out: Vec<LeftOut>,
    /// Unpacked bundles; dropping them removes their folders.
    _unpacked: Vec<Located>,
}

impl Places {
    /// Looks into the baseline first: of a run and its copies the first one is read. So the run belongs to the baseline
    /// wherever else it is.
    fn of(folders: &[PathBuf], baseline: Option<&Base>) -> Result<Self, Failure> {
        let mut places = Self::default();
        if let Some(Base::Folder(folder)) = baseline {
            places.look(folder, true)?;
        }
        for folder in folders {
            places.look(folder, false)?;
        }
        Ok(places)
    }

    fn look(&mut self, named: &Path, in_baseline: bool) -> Result<(), Failure> {
        fs::metadata(named)
            .with_context(|| format!("cannot read {} (hint: name folders of runs)", named.display()))
            .or_exit(ExitCode::Usage)?;
        let located = bundle::located(named)?;
        if located.directory.is_file() {
            let error = anyhow!("{} is neither a folder nor a bundle", named.display());
            return Err(Failure::new(ExitCode::Usage, error));
        }
        let Found { runs, bundles, left_out } = find_runs(&located.directory);
        // Runs in a bundle are shown under the bundle's name.
        let shown = |path: &Path| match path.strip_prefix(&located.directory) {
            Ok(inside) if inside.as_os_str().is_empty() => named.display().to_string(),
            Ok(inside) => named.join(inside).display().to_string(),
            Err(_) => path.display().to_string(),
        };
        // A path that cannot be resolved is reported when it is read.
        let mut is_new = |path: &Path| self.known.insert(fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()));
        self.bundles += bundles.iter().filter(|bundle| is_new(bundle)).count();
        for (path, why) in left_out {
            if is_new(&path) {
                self.left_out.push(LeftOut { directory: shown(&path), why });
            }
        }
        for directory in runs {
            if is_new(&directory) {
                self.runs.push(RunFound { shown: shown(&directory), directory, in_baseline });
            }
        }
        self._unpacked.push(located);
        Ok(())
    }
}

fn nothing_found(folders: &[PathBuf], places: &Places) -> Failure {
    let named: Vec<String> = folders.iter().map(|folder| folder.display().to_string()).collect();
    let more = match (places.bundles, places.left_out.first()) {
        (0, None) => "hint: `verify` puts runs into ./activebench-runs unless --out names another place".to_owned(),
        (0, Some(left)) => format!("{}: {}", left.directory, left.why),
        (bundles, _) => format!("{bundles} bundles are there: name each of them to read it"),
    };
    Failure::new(ExitCode::Usage, anyhow!("there is no run directory in {} ({more})", named.join(", ")))
}

/// Reads the runs; returns an account of the reading, and the runs with their relation to the baseline.
fn read(places: Places, filter: &FigureFilter, baseline: Option<&Base>) -> Result<(Reading, Vec<Placed>), Failure> {
    let directories: Vec<PathBuf> = places.runs.iter().map(|run| run.directory.clone()).collect();
    let read = read_figures(&directories, filter).or_exit(ExitCode::Bug)?;
    let mut left_out = places.left_out;
    left_out
        .extend(read.left_out.into_iter().map(|(at, why)| LeftOut { directory: places.runs[at].shown.clone(), why }));
    let reading = Reading {
        found: places.runs.len(),
        from_table: read.from_table,
        from_report: read.from_report,
        copies: read.copies,
        filtered: read.filtered,
        without_figures: 0,
        left_out,
        bundles: places.bundles,
    };
    let runs = read.runs.into_iter().map(|(at, run)| {
        let found = &places.runs[at];
        let (in_baseline, is_later) = match baseline {
            Some(Base::Dates(from, to)) => ((*from..*to).contains(&run.started_unix_s), run.started_unix_s >= *to),
            Some(Base::Folder(_)) => (found.in_baseline, !found.in_baseline),
            None => (false, false),
        };
        Placed { directory: found.shown.clone(), run, in_baseline, is_later }
    });
    Ok((reading, runs.collect()))
}

#[cfg(test)]
mod tests {
    use activebench_bundle::{BundleKind, BundleManifest, BundledRun, BundledTool, Content, SCHEMA, Source};
    use activebench_model::figures::RunFigures;
    use activebench_model::run::Manifest;
    use activebench_model::verdict::RunVerdict;
    use activebench_record::{FIGURES, encode_figures, sha256};

    use super::*;

    /// Writes the two files of a run that a history reads.
    fn store(directory: &Path, started_unix_s: i64) {
        let mut manifest = Manifest::default();
        manifest.clocks.started_unix_s = started_unix_s;
        let bytes = serde_json::to_vec(&manifest).expect("JSON");
        let table = encode_figures(&RunFigures::of(&manifest), &sha256(&bytes)).expect("a table");
        fs::create_dir_all(directory).expect("a folder");
        fs::write(directory.join("run.json"), bytes).expect("it can be written");
        fs::write(directory.join(FIGURES), table).expect("it can be written");
    }

    #[test]
    fn a_run_of_the_baseline_is_none_of_the_later_ones_wherever_it_lies() {
        let root = tempfile::tempdir().expect("a folder");
        let at = |name: &str| root.path().join(name);
        for (name, started_unix_s) in [("runs/a", 1), ("runs/b", 2), ("copies/a", 1), ("runs/accepted/c", 3)] {
            store(&at(name), started_unix_s);
        }
        let bundle = at("a.activebench.tar.zst");
        let described = BundleManifest {
            schema: SCHEMA.to_owned(),
            activebench: String::new(),
            kind: BundleKind::Run,
            verdict: RunVerdict::Inconclusive,
            exit_code: 3,
            profile: String::new(),
            tool: BundledTool::default(),
            runs: vec![BundledRun { directory: "run".to_owned(), verdict: RunVerdict::Inconclusive, exit_code: 3 }],
            redacted: None,
            files: Vec::new(),
        };
        let file = |name: &str| {
            let bytes = fs::read(at("runs/a").join(name)).expect("it is there");
            Source { name: format!("run/{name}"), content: Content::Given(bytes) }
        };
        activebench_bundle::write(&bundle, false, described, vec![file("run.json"), file(FIGURES)], None)
            .expect("a bundle");
        for (baseline, copies, expected) in [
            // A copy of the run, the run itself, a folder of those that are looked at, and one packed.
            (at("copies"), 1, [(1, true), (2, false), (3, false)]),
            (at("runs/a"), 0, [(1, true), (2, false), (3, false)]),
            (at("runs/accepted"), 0, [(1, false), (2, false), (3, true)]),
            (bundle, 1, [(1, true), (2, false), (3, false)]),
        ] {
            let named = baseline.display().to_string();
            let baseline = Some(Base::Folder(baseline));
            let places = Places::of(&[at("runs")], baseline.as_ref()).expect("they are there");
            let (reading, runs) = read(places, &FigureFilter::default(), baseline.as_ref()).expect("they can be read");
            assert_eq!((reading.copies, &reading.left_out), (copies, &Vec::new()), "{named}");
            let mut found: Vec<(i64, bool)> =
                runs.iter().map(|placed| (placed.run.started_unix_s, placed.in_baseline)).collect();
            found.sort_unstable();
            assert_eq!(found, expected, "{named}");
            assert!(runs.iter().all(|placed| placed.is_later != placed.in_baseline), "{named}");
        }
    }

    #[test]
    fn a_baseline_is_a_path_that_is_there_or_dates() {
        for (text, expected) in [
            ("/", Ok(None)),
            ("1970-01-02..1970-01-03", Ok(Some((86_400, 3 * 86_400)))),
            ("1970-01-02..", Ok(Some((86_400, i64::MAX)))),
            ("..1970-01-01", Ok(Some((i64::MIN, 86_400)))),
            ("1970-01-03..1970-01-01", Err("it ends before it begins")),
            ("1970-01-03..yesterday", Err("no date: `yesterday` (hint: 2026-01-31)")),
            ("gone", Err("there is no such run or folder (hint: dates are written 2026-01-01..2026-01-31)")),
        ] {
            let found = match Base::parse(text) {
                Ok(Base::Folder(_)) => Ok(None),
                Ok(Base::Dates(from, to)) => Ok(Some((from, to))),
                Err(failure) => Err(failure.error.to_string()),
            };
            let expected = expected.map_err(|why| format!("cannot use the baseline {text}: {why}"));
            assert_eq!(found, expected, "{text}");
        }
    }
}
