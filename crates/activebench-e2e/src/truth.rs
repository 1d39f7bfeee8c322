//! The corpus of planted lies and honest twins, `fixtures/truth/ABNNN-name/{lie,honest}-*.toml`.
//!
//! A lie is a run that the detector of its folder must find. A twin is the nearest run that the detector must leave
//! alone. This module turns a case into one run and one outcome. [`case`] describes the format of a case, [`stage`]
//! prepares the environment, [`outcome`] decides what counts as found.
//! `cargo xtask truth` and the test `truth` run all of them.

use std::any::Any;
use std::collections::BTreeMap;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::ordinary::{is_ordinary, product};
use crate::truth::case::Drawn;
use crate::truth::case::{Case, How, Kind};
use crate::truth::outcome::Outcome;
use crate::truth::stage::Stage;
use crate::{Verified, binary, obstacle, recheck, small_memory, verify_in, verify_within};

pub mod advised;
pub mod case;
pub mod drawn;
pub mod outcome;
pub mod stage;

/// Time limit of a drawn run, which takes some seconds even on a busy machine. fio 3.33 hangs by itself under some
/// options.
const DRAWN_LIMIT: Duration = Duration::from_secs(150);

/// One case after its run.
#[derive(Debug)]
pub struct Ended {
    /// Outcome of the case.
    pub outcome: Outcome,
    /// Duration in seconds, including the preparation.
    pub seconds: f64,
    /// Full account of the run, to investigate the outcome; empty when the case did not run.
    pub story: String,
    /// Answers in the report of a drawn run, see [`drawn::check::answers`].
    pub answers: BTreeMap<String, String>,
    /// Figures that a lie is about and that are said to hold.
    pub falsely_confirmed: usize,
    /// The right that would settle a case that is undecided, as its report names it.
    pub right: Option<&'static str>,
}

/// The cases below a folder, by their detectors' codes, twins before lies.
///
/// # Errors
/// Describes the first file that is not a valid case, and its defect.
pub fn load(corpus: &Path) -> Result<Vec<Case>, String> {
    let mut cases = Vec::new();
    let of_the_machine = machine(&corpus.join("machine.toml"))?;
    for folder in entries(corpus)? {
        if folder.is_dir() {
            for file in entries(&folder)?.into_iter().filter(|file| file.extension().is_some_and(|end| end == "toml")) {
                cases.push(Case { of_the_machine: of_the_machine.clone(), ..Case::load(&file)? });
            }
        }
    }
    Ok(cases)
}

/// Codes that may be true of any run here, with the reason.
///
/// # Errors
/// Describes the defect of the file.
pub fn machine(file: &Path) -> Result<BTreeMap<String, String>, String> {
    let say = |what: &str| format!("{}: {what}", file.display());
    let text = fs::read_to_string(file).map_err(|error| say(&error.to_string()))?;
    toml::from_str(&text).map_err(|error| say(&error.to_string()))
}

/// Returns the paths in a folder, sorted by name.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let describe = |error: std::io::Error| format!("cannot list {}: {error}", folder.display());
    let entries = fs::read_dir(folder).map_err(describe)?.map(|entry| entry.map(|entry| entry.path()));
    let mut paths = entries.collect::<Result<Vec<_>, _>>().map_err(describe)?;
    paths.sort();
    Ok(paths)
}

/// The corpus of this source tree.
pub fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/truth")
}

/// Codes and names of all detectors, as the binary lists them.
pub fn detectors() -> Vec<(String, String)> {
    let output = Command::new(binary()).arg("detectors").output().expect("the binary runs");
    let text = String::from_utf8_lossy(&output.stdout);
    let names = text.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        Some((words.next()?.to_owned(), words.next()?.to_owned()))
    });
    names.filter(|(code, _)| code.starts_with("AB")).collect()
}

/// Runs one case; keeps its run directory below `keep` when that is given.
///
/// Every failure during the run is an outcome of the case, including a device that cannot be made.
pub fn run(case: &Case, keep: Option<&Path>) -> Ended {
    ended(|| play(case, keep))
}

/// Plays a case; a panic is its outcome.
fn ended(play: impl FnOnce() -> Played) -> Ended {
    let started = Instant::now();
    let ran = catch_unwind(AssertUnwindSafe(play));
    let played = ran.unwrap_or_else(|panic| Outcome::Broken(said(&*panic)).into());
    let Played { outcome, story, answers, falsely_confirmed, right } = played;
    Ended { outcome, seconds: started.elapsed().as_secs_f64(), story, answers, falsely_confirmed, right }
}

/// Runs the variant of a drawn case (another program around it, another format), and compares its answers with the
/// first's.
pub fn run_again(case: &Case, first: Ended, keep: Option<&Path>) -> Ended {
    let Some(again) = case.again.as_deref().filter(|_| !first.outcome.is_failure()) else { return first };
    let second = run(again, keep);
    let seconds = first.seconds + second.seconds;
    // A figure of which one of the two runs is too short to be printed has no answer there.
    let differs = first.answers.iter().find_map(|(figure, answer)| {
        let other = second.answers.get(figure).filter(|other| *other != answer)?;
        Some(format!("{figure} {answer} and, as `{}`, {other}", again.command.join(" ")))
    });
    match differs {
        Some(why) if !second.outcome.is_failure() => {
            let story = format!("{}\n{}", first.story, second.story);
            Ended { outcome: Outcome::Differs(why), seconds, story, ..second }
        }
        _ => Ended { seconds, ..second },
    }
}

/// Result of a case.
struct Played {
    outcome: Outcome,
    story: String,
    answers: BTreeMap<String, String>,
    falsely_confirmed: usize,
    right: Option<&'static str>,
}

impl Played {
    /// Adds what only the reports on an ordinary user's runs are asked for.
    fn with_reports(self, case: &Case, runs: &[Value]) -> Self {
        // A stored run may have been recorded by anybody.
        if is_ordinary() && case.how == How::Verify && !runs.iter().all(outcome::is_traced) {
            return Self { outcome: Outcome::Broken("no tracer observed for the user".to_owned()), ..self };
        }
        let falsely_confirmed = match case.kind() {
            Kind::Lie if self.outcome != Outcome::Hit => outcome::falsely_confirmed(case, runs),
            _ => 0,
        };
        Self { falsely_confirmed, right: outcome::right_that_settles(case, runs), ..self }
    }
}

impl From<(Outcome, String)> for Played {
    fn from((outcome, story): (Outcome, String)) -> Self {
        Self { outcome, story, answers: BTreeMap::new(), falsely_confirmed: 0, right: None }
    }
}

impl From<Outcome> for Played {
    fn from(outcome: Outcome) -> Self {
        (outcome, String::new()).into()
    }
}

fn said(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("it panicked without a word").to_owned()
}

fn play(case: &Case, keep: Option<&Path>) -> Played {
    if let Some(gap) = case.gap() {
        return Outcome::Broken(gap).into();
    }
    let programs = case.programs();
    let programs: Vec<&str> = programs.iter().map(String::as_str).collect();
    // Judging a stored or a planned run needs neither root nor a kernel.
    if (case.how == How::Verify || case.volume.is_some())
        && let Some(reason) = obstacle(&programs)
    {
        return Outcome::NotRun(reason).into();
    }
    let mut stage = match Stage::set(case, keep) {
        Ok(stage) => stage,
        Err(reason) => return Outcome::NotRun(reason).into(),
    };
    let command = stage.command(case);
    let command: Vec<&str> = command.iter().map(String::as_str).collect();
    let mut options: Vec<String> = case.options.iter().map(|option| stage.fill(option)).collect();
    if let Some(runs) = case.repeat {
        options.extend(["--repeat".to_owned(), runs.to_string()]);
    }
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    let played = play_on(&mut stage, case, &options, &command);
    match played.outcome {
        Outcome::Broken(_) if stage.lacked_memory() => {
            Played { outcome: Outcome::NotRun(small_memory::KILLED.to_owned()), ..played }
        }
        _ => played,
    }
}

fn play_on(stage: &mut Stage, case: &Case, options: &[&str], command: &[&str]) -> Played {
    match case.how {
        How::Verify => {
            if let Some(drawn) = &case.drawn {
                return play_drawn(case, drawn, stage, options, command);
            }
            let ran = verify_in(&stage.folder(), stage.run_folder(), options, command);
            stage.end_neighbours();
            match case.repeat {
                Some(_) => {
                    let runs = of_the_runs(&ran);
                    let played: Played = (outcome::of_series(case, &ran.report, &runs), ran.story()).into();
                    played.with_reports(case, &runs)
                }
                None => judged(case, &ran),
            }
        }
        How::Recheck => judged(case, &recheck(&stage.run_folder(), options)),
        How::Plan => {
            let output = product()
                .args(["verify", "--plan", "--format", "json"])
                .args(options)
                .arg("--")
                .args(command)
                .current_dir(stage.folder())
                .output()
                .expect("the binary runs");
            let plan: Value = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
            let story = format!("{plan:#}\n{}", String::from_utf8_lossy(&output.stderr));
            (outcome::of(case, &plan), story).into()
        }
    }
}

fn play_drawn(case: &Case, drawn: &Drawn, stage: &Stage, options: &[&str], command: &[&str]) -> Played {
    let before = stage.moved();
    let line = command.join(" ");
    let Some(ran) = verify_within(DRAWN_LIMIT, &stage.folder(), stage.run_folder(), options, command) else {
        return (Outcome::NotRun(format!("no end after {} s", DRAWN_LIMIT.as_secs())), line).into();
    };
    let moved = stage.moved().zip(before).map(|(after, before)| after.since(before));
    let outcome = match refused(&ran) {
        Some(why) => Outcome::NotRun(why),
        None => drawn::check::outcome(case, drawn, &ran.report, moved, stage.beside()),
    };
    let story = format!("{line}\n{}", ran.story());
    let played: Played = (outcome, story).into();
    let played = played.with_reports(case, std::slice::from_ref(&ran.report));
    Played { answers: drawn::check::answers(&ran.report), ..played }
}

/// Returns the reports of a series' runs, read from their own directories.
fn of_the_runs(series: &Verified) -> Vec<Value> {
    let runs = series.report["runs"].as_array().map_or(&[][..], Vec::as_slice);
    let directories = runs.iter().filter_map(|run| run["directory"].as_str());
    let report = |directory| {
        let text = fs::read(series.run.join(directory).join("report.json")).expect("a run has its report");
        serde_json::from_slice(&text).expect("a report is JSON")
    };
    directories.map(report).collect()
}

fn judged(case: &Case, ran: &Verified) -> Played {
    let outcome = match refused(ran) {
        Some(why) => Outcome::NotRun(why),
        None => outcome::of(case, &ran.report),
    };
    let played: Played = (outcome, ran.story()).into();
    played.with_reports(case, std::slice::from_ref(&ran.report))
}

/// Returns what the system refused to an ordinary user's command, so that it failed; `None` when nothing shows that.
fn refused(ran: &Verified) -> Option<String> {
    if !is_ordinary() || ran.report["verdict"] != "failed" {
        return None;
    }
    let errors = ran.stderr();
    let own = errors.lines().filter(|line| !line.starts_with("activebench: "));
    let line = own
        .into_iter()
        .find(|line| ["Operation not permitted", "Permission denied"].iter().any(|refusal| line.contains(refusal)))?;
    Some(format!("the command itself needs a right: {line}"))
}
