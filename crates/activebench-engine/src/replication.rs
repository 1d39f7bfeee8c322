//! Replays a stored run's I/O with fio, under our own observation.
//!
//! `activebench_report::export::passes` reads from the record what is replayed; `activebench_detect::replication`
//! judges the outcome. This module makes the files, starts fio, and removes everything again.

mod engine;
mod scratch;
mod target;

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use activebench_detect::replication::{cache_state, device_read_bytes, engine_claims, judge, same_cache, think_time};
use activebench_model::command::CommandLine;
use activebench_model::phase::Phase;
use activebench_model::replication::{CacheState, Replay, ReplicatedPass, Replication, ReplicationOutcome};
use activebench_model::report::JudgedRun;
use activebench_model::run::{Choices, FailOn};
use activebench_model::units::Quantity;
use activebench_record::{RunReader, read_series};
use activebench_report::escape::terminal;
use activebench_report::export::gaps_of_the_record;
use activebench_report::export::passes::{Devices, Pass, replayed, write_passes};
use activebench_report::target_line;
use activebench_runner::Confinement;
use anyhow::{Context, anyhow};

use self::engine::Engine;
use self::scratch::{Scratch, check_room};
use self::target::Target;
use crate::failure::{ExitCode, Failure, INTERRUPTED, OrExit};
use crate::interruption::Stop;
use crate::recording::{self, Observing, Recorded, Recorder, RunToRecord};
use crate::runs_folder::{default_directory, point_latest};
use crate::{bundle, derived_files, device_guard, judge as judgement};

/// Folder of the logs, inside that of the replication.
const LOGS: &str = "logs";
/// Bytes from which preparing files takes long enough for a message.
const LONG_BYTES: u64 = 1 << 30;

/// A run to replay.
#[derive(Debug)]
pub struct Request<'a> {
    /// The directory of the run, or a bundle of it.
    pub run: &'a Path,
    /// Folder or device to replay on; `None`: where the recorded files were.
    pub target: Option<&'a Path>,
    /// Device that may be written.
    pub destroy: Option<&'a Path>,
    /// Number of replays of each pass.
    pub runs: u32,
    /// Maximum distance of the median from the observed rate, as a share of it.
    pub tolerance_ratio: f64,
    /// Directory of the replays; `None`: a new one in the folder of runs.
    pub out: Option<&'a Path>,
    /// Folder of runs.
    pub runs_folder: &'a Path,
    /// True to print no progress.
    pub quiet: bool,
}

/// The result of a replication.
#[derive(Debug)]
pub struct Replicated {
    /// The claimed, observed and replicated figures.
    pub replication: Replication,
    /// Exit code of what ended it early.
    pub ended: Option<i32>,
    /// Directory of the replays, the logs and the reports.
    pub out: PathBuf,
    /// Result of writing the reports there.
    pub written: anyhow::Result<()>,
}

/// Replays a run.
///
/// # Errors
/// Returns an error if no replay was recorded.
pub fn replicate(request: &Request<'_>) -> Result<Replicated, Failure> {
    let engine = Engine::find()?;
    let located = bundle::located(request.run)?;
    if read_series(&located.directory).or_exit(ExitCode::Usage)?.is_some() {
        let run = request.run.display();
        return Err(Failure::new(
            ExitCode::Usage,
            anyhow!("{run} is a series, and one run is replayed (hint: `activebench replicate {run}/1`)"),
        ));
    }
    let directory = std::path::absolute(&located.directory).or_exit(ExitCode::Usage)?;
    let reader = RunReader::open(&directory).or_exit(ExitCode::Usage)?;
    let run = judgement::judge(request.run, &reader, reader.manifest().clone(), judgement::Timelines::LeftOut)
        .or_exit(ExitCode::Usage)?;
    let mut recorder = Recorder::start()?;
    let stop = Stop::on_signals().or_exit(ExitCode::Bug)?;
    let (out, is_new) = out_directory(request)?;
    let mut work = Work { stop, out, request, engine, run: &run, recorder: &mut recorder, recorded: false };
    match work.replicate(&reader) {
        Ok((replication, ended)) => {
            let written = derived_files::write_every_format(&work.out, "replication", &replication);
            if let Ok(runs) = std::path::absolute(request.runs_folder) {
                point_latest(&runs, &work.out);
            }
            Ok(Replicated { replication, ended, out: work.out, written })
        }
        Err(failure) => {
            // No replay was recorded: logs alone are of no use.
            discard(&work.out, is_new);
            Err(failure)
        }
    }
}

/// All that a replication needs.
struct Work<'a> {
    request: &'a Request<'a>,
    engine: Engine,
    run: &'a JudgedRun,
    recorder: &'a mut Recorder,
    stop: Stop,
    /// Absolute: the engine works in the folder of its files.
    out: PathBuf,
    /// `true` if `out` holds anything of a replay.
    recorded: bool,
}

impl Work<'_> {
    /// Returns the whole replication, and the exit code of what ended it early.
    fn replicate(&mut self, reader: &RunReader) -> Result<(Replication, Option<i32>), Failure> {
        let named = self.named_target()?;
        let device = target::device(named)?;
        let devices = Devices { name: device.as_deref(), may_be_written: self.request.destroy.is_some() };
        let mut passes = self.write_logs(reader, devices)?;
        let target = Target::of(named, self.run, &passes)?;
        let mut replicated: Vec<ReplicatedPass> =
            (1..).zip(&mut passes).map(|(number, pass)| self.planned(number, pass)).collect();
        let mut replication = self.begun(&target);
        let mut ended = None;
        let can: Vec<usize> = (0..passes.len()).filter(|place| replicated[*place].not_replayed.is_none()).collect();
        if !can.is_empty() {
            check_room(target.folder(), &passes).or_exit(ExitCode::Usage)?;
            let below = target.cached_below();
            for place in &can {
                say_below(&below, &mut replicated[*place]);
            }
            let mut scratch = Scratch::in_folder(target.folder(), below).or_exit(ExitCode::Usage)?;
            let stopped = self.replays(&can, &passes, &mut replicated, &mut scratch, &mut replication.replayed_on);
            if let Err(error) = scratch.remove() {
                say!("{}", terminal(&format!("{error:#}")));
            }
            match stopped {
                Err(failure) if !self.recorded => return Err(failure),
                Err(failure) => {
                    say!("{}", failure.shown());
                    replication.incomplete.push(format!("{:#}", failure.error));
                    ended = Some(failure.code as i32);
                }
                Ok(false) => {
                    replication.incomplete.push("interrupted".to_owned());
                    ended = Some(INTERRUPTED);
                }
                Ok(true) => {}
            }
        }
        replication.passes = replicated;
        Ok((judge(self.run, replication), ended))
    }

    /// Returns the target that the user names: with `--destroy` the device, which must then be free to be written.
    fn named_target(&self) -> Result<Option<&Path>, Failure> {
        let (target, destroyed) = (self.request.target, self.request.destroy);
        let Some(device) = destroyed else { return Ok(target) };
        if let Some(target) = target.filter(|target| *target != device) {
            return Err(Failure::new(
                ExitCode::Usage,
                anyhow!(
                    "--destroy {} is not the target {} (hint: both name the same device, or leave --target away)",
                    device.display(),
                    target.display()
                ),
            ));
        }
        device_guard::blank(device)?;
        Ok(Some(device))
    }

    /// Writes the logs of every pass.
    fn write_logs(&self, reader: &RunReader, devices: Devices<'_>) -> Result<Vec<Pass>, Failure> {
        let logs = self.out.join(LOGS);
        let cannot = || format!("cannot write the logs to {}", logs.display());
        fs::create_dir_all(&logs).with_context(cannot).or_exit(ExitCode::Usage)?;
        let mut open =
            |name: &str| -> io::Result<Box<dyn Write>> { Ok(Box::new(BufWriter::new(File::create(logs.join(name))?))) };
        write_passes(self.run, reader, devices, &mut open).with_context(cannot).or_exit(ExitCode::Usage)
    }

    /// Returns a pass before its replays; one that cannot be replayed states why.
    fn planned(&self, number: u32, pass: &mut Pass) -> ReplicatedPass {
        let phases: Vec<&Phase> = pass.phases.iter().filter_map(|place| self.run.phases.get(*place)).collect();
        let cache = cache_state(&phases);
        if pass.obstacle.is_none() {
            pass.obstacle = match &cache {
                CacheState::Mixed { .. } => Some(format!(
                    "of what it read {} was in the cache: which part is not recorded, so no replay finds the same",
                    cache.words().trim_end_matches(" there")
                )),
                CacheState::Unknown { why } => Some(format!("the state of the cache is not known: {why}")),
                _ if pass.paced && !self.engine.keeps_times() => {
                    Some("the tool limited its own pace, and times in a log need fio 3.31".to_owned())
                }
                _ => None,
            };
        }
        if let (Some(think), false) = (think_time(&phases), pass.paced) {
            pass.notes.push(think);
        }
        let mut asked: Vec<(String, usize)> = Vec::new();
        for task in &pass.tasks {
            match asked.iter_mut().find(|(words, _)| *words == task.asked) {
                Some((_, tasks)) => *tasks += 1,
                None => asked.push((task.asked.clone(), 1)),
            }
        }
        let asked = asked
            .iter()
            .map(|(words, tasks)| format!("{tasks} task{} {words}", if *tasks == 1 { "," } else { "s, each" }));
        ReplicatedPass {
            number,
            phases: phases.iter().map(|phase| phase.id.clone()).collect(),
            recorded: pass.moved(),
            device_read_bytes: device_read_bytes(&phases),
            cache,
            replayed_as: if pass.obstacle.is_none() { asked.collect::<Vec<_>>().join("; ") } else { String::new() },
            not_replayed: pass.obstacle.clone(),
            left_out: pass.left_out.clone(),
            notes: pass.notes.clone(),
            replays: Vec::new(),
            figures: Vec::new(),
        }
    }

    /// Returns what is known before the first replay.
    fn begun(&self, target: &Target) -> Replication {
        let run = self.run;
        let tool = match &run.parsed.version {
            Some(version) => format!("{} {version}", run.parsed.tool),
            None if run.parsed.tool.is_empty() => run.manifest.command.program().to_owned(),
            None => run.parsed.tool.clone(),
        };
        let files = run.phases.iter().flat_map(|phase| &phase.parts).map(|part| part.file);
        let mut recorded_on: Vec<String> =
            files.filter_map(|file| run.manifest.host.target_of(file)).map(target_line).collect();
        recorded_on.dedup();
        Replication {
            activebench: env!("CARGO_PKG_VERSION").to_owned(),
            run: run.directory.clone(),
            verdict: run.verdict,
            tool,
            command: run.manifest.command.argv.clone(),
            recorded_on,
            target: target.shown(),
            replayed_on: Vec::new(),
            engine: self.engine.version.clone(),
            planned_runs: self.request.runs,
            tolerance_ratio: self.request.tolerance_ratio,
            passes: Vec::new(),
            gaps: gaps_of_the_record(run),
            incomplete: Vec::new(),
            outcome: ReplicationOutcome::Incomplete,
            because: String::new(),
            exit_code: 3,
        }
    }

    /// Replays every pass as often as requested; returns `true` if all replays were made.
    fn replays(
        &mut self,
        can: &[usize],
        passes: &[Pass],
        replicated: &mut [ReplicatedPass],
        scratch: &mut Scratch,
        replayed_on: &mut Vec<String>,
    ) -> Result<bool, Failure> {
        for turn in 1..=self.request.runs {
            for place in can {
                let (pass, of_pass) = (&passes[*place], &mut replicated[*place]);
                let name = of_pass.phases.join(", ");
                self.say(&format!(
                    "pass {} of {} ({name}), replay {turn} of {}",
                    place + 1,
                    passes.len(),
                    self.request.runs
                ));
                let bytes: u64 = pass.files.values().map(|file| file.before.written_bytes).sum();
                if bytes >= LONG_BYTES {
                    self.say(&format!("preparing files of {}", Quantity::bytes(bytes)));
                }
                let ready = scratch.prepare(pass, &of_pass.cache, &self.stop);
                if !ready.or_exit(ExitCode::Usage)? || self.stop.is_set() {
                    return Ok(false);
                }
                let below = format!("pass-{}/{turn}", place + 1);
                let (replay, on) = self.replay(pass, of_pass, &below, scratch.path())?;
                scratch.replayed(pass);
                if replayed_on.is_empty() {
                    *replayed_on = on;
                }
                let Some(replay) = replay else { return Ok(false) };
                of_pass.replays.push(replay);
                if self.stop.is_set() {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Records one replay of a pass; `None` if a signal ended it. Also returns the storage of its files.
    fn replay(
        &mut self,
        pass: &Pass,
        of_pass: &ReplicatedPass,
        below: &str,
        folder: &Path,
    ) -> Result<(Option<Replay>, Vec<String>), Failure> {
        let directory = self.out.join(below);
        let words = self.out.join(below.replace('/', "-") + "-fio.txt");
        let hint = engine::hint(self.run, pass);
        let argv = self.engine.command(pass, &self.out.join(LOGS), &words, hint);
        // The folder is ours: under sudo fio must not become the invoking user.
        let user = std::env::var_os("SUDO_USER").map(|_| "root".to_owned());
        let confinement = Some(self.confinement(pass, folder, &words)?);
        let observing = &Observing { user, confinement, quiet: true, ..Observing::default() };
        let choices = Choices { profile: "default".to_owned(), fail_on: FailOn::Never, ..Choices::default() };
        let command = CommandLine {
            argv: argv.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
            cwd: folder.display().to_string(),
        };
        // The names in the logs are relative: a path can have blanks, a name in a log cannot.
        let home =
            std::env::current_dir().context("cannot determine the working directory").or_exit(ExitCode::Usage)?;
        std::env::set_current_dir(folder).context("cannot enter the folder of the replay").or_exit(ExitCode::Bug)?;
        let run = RunToRecord {
            observing,
            argv: &argv,
            command: &command,
            choices: &choices,
            directory: &directory,
            preparation: None,
        };
        let recorded = recording::record(run, self.recorder);
        std::env::set_current_dir(home).context("cannot go back to the working directory").or_exit(ExitCode::Bug)?;
        let Recorded { judged, reader, interrupted } = recorded?;
        self.recorded = true;
        if interrupted {
            return Ok((None, Vec::new()));
        }
        if judged.manifest.child.exit_code != Some(0) {
            return Err(Failure::new(
                ExitCode::BenchmarkFailed,
                anyhow!(
                    "fio failed on {} (hint: its own words are in {} and {}): {}",
                    of_pass.phases.join(", "),
                    words.display(),
                    directory.join("stderr.txt").display(),
                    engine::last_words(&directory)
                ),
            ));
        }
        let did = replayed(pass, &reader).or_exit(ExitCode::Bug)?;
        let phases: Vec<&Phase> = judged.phases.iter().collect();
        let cache = cache_state(&phases);
        let (engine_claimed, engine_refuted) = engine_claims(&judged);
        let since_first = |end_ns: Option<u64>| Some(end_ns?.saturating_sub(did.first_ns?));
        let durable = pass.files.values().any(|file| file.work.syncs_after > 0);
        let replay = Replay {
            directory: below.to_owned(),
            moved: did.moved(),
            differs: did.differs(pass),
            incomplete: gaps_of_the_record(&judged),
            same_cache: same_cache(&of_pass.cache, &cache),
            cache,
            device_read_bytes: device_read_bytes(&phases),
            clock_ns: since_first(did.clock_end_ns),
            durable_ns: since_first(did.end_ns).filter(|_| durable),
            engine_claimed,
            engine_refuted,
        };
        let files = judged.phases.iter().flat_map(|phase| &phase.parts).map(|part| part.file);
        let mut on: Vec<String> =
            files.filter_map(|file| judged.manifest.host.target_of(file)).map(target_line).collect();
        on.dedup();
        Ok((Some(replay), on))
    }

    /// Returns what a replay may write, whatever the logs of a stranger's run say: our folder in the target, fio's words,
    /// and the device that `--destroy` names.
    fn confinement(&self, pass: &Pass, folder: &Path, words: &Path) -> Result<Confinement, Failure> {
        Confinement::is_possible().context("cannot keep the replay to the target").or_exit(ExitCode::CannotObserve)?;
        File::create(words).with_context(|| format!("cannot write {}", words.display())).or_exit(ExitCode::Usage)?;
        let mut confinement =
            Confinement { folders: vec![folder.to_owned()], files: vec![words.to_owned()], ..Confinement::default() };
        let named = self.request.destroy;
        for device in pass.files.values().filter(|file| file.is_device).map(|file| Path::new(&file.log_name)) {
            let pins = match named == Some(device) {
                true => &mut confinement.devices,
                false => &mut confinement.read_devices,
            };
            pins.push(device_guard::pinned(device)?);
        }
        Ok(confinement)
    }

    fn say(&self, words: &str) {
        if !self.request.quiet {
            say!("{}", terminal(words));
        }
    }
}

/// Adds a note on the page cache that is emptied besides that of the files.
fn say_below(below: &[PathBuf], pass: &mut ReplicatedPass) {
    if matches!(pass.cache, CacheState::Cold | CacheState::PassedBy) && !below.is_empty() {
        let files: Vec<String> = below.iter().map(|path| path.display().to_string()).collect();
        pass.notes.push(format!(
            "the page cache of {}, through which a loop device goes, was emptied before each replay: what it held for \
             the recorded pass is not known",
            files.join(", ")
        ));
    }
}

/// Returns the directory for the replays, absolute and empty, and `true` if it was created for them.
fn out_directory(request: &Request<'_>) -> Result<(PathBuf, bool), Failure> {
    let out = request.out.map_or_else(|| default_directory(request.runs_folder, "replicate"), Path::to_owned);
    let out = std::path::absolute(&out).or_exit(ExitCode::Usage)?;
    let cannot = || format!("cannot create {} (hint: name another one with --out)", out.display());
    let is_new = !out.exists();
    fs::create_dir_all(&out).with_context(cannot).or_exit(ExitCode::Usage)?;
    match fs::read_dir(&out).with_context(cannot).or_exit(ExitCode::Usage)?.next() {
        None => Ok((out, is_new)),
        Some(_) => Err(Failure::new(
            ExitCode::Usage,
            anyhow!("cannot replay into {}: it is not empty (hint: name a new one with --out)", out.display()),
        )),
    }
}

/// Empties the folder, which was empty before, and removes it if it was created for the replays.
fn discard(out: &Path, is_new: bool) {
    let empty = |out: &Path| -> io::Result<()> {
        fs::read_dir(out)?.try_for_each(|entry| {
            let entry = entry?;
            match entry.file_type()?.is_dir() {
                true => fs::remove_dir_all(entry.path()),
                false => fs::remove_file(entry.path()),
            }
        })
    };
    let removed = if is_new { fs::remove_dir_all(out) } else { empty(out) };
    if let Err(error) = removed {
        say!("cannot remove {}: {error}", out.display());
    }
}

/// Returns the words of a command line.
fn words(words: impl IntoIterator<Item = impl Into<OsString>>) -> Vec<OsString> {
    words.into_iter().map(Into::into).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_of_the_users_stays() {
        for is_new in [true, false] {
            let place = tempfile::tempdir().expect("a folder");
            let out = place.path().join("out");
            fs::create_dir_all(out.join(LOGS)).expect("a folder");
            fs::write(out.join("pass-1-1-fio.txt"), "words").expect("a file");
            discard(&out, is_new);
            assert_eq!(out.exists(), !is_new);
            assert_eq!(fs::read_dir(&out).map_or(0, Iterator::count), 0);
        }
    }
}
