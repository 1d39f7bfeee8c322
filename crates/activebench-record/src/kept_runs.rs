//! The runs in a folder of runs, and which of them are finished.

use std::os::fd::OwnedFd;

use time::PrimitiveDateTime;
use time::format_description::StaticFormatDescription;
use time::macros::format_description;

use crate::error::RecordError;
use crate::folder::{EntryKind, RunFolder};
use crate::layout::{MANIFEST, SEAL, SERIES_MANIFEST, SERIES_SEAL};
use crate::reader::RunReader;
use crate::series::read_series;

/// How the names of runs begin that were given none.
const STAMP: StaticFormatDescription = format_description!("[year][month][day]T[hour][minute][second]Z");
/// Characters of it.
const STAMP_LENGTH: usize = "20261121T040506Z".len();
/// Files that make a directory one of several runs, each with the file that is there when it is finished.
const OF_SEVERAL: [(&str, &str); 2] =
    [("acceptance.toml", "acceptance.json"), ("replication.json", "replication.json")];
/// What ends an acceptance of several units: those that were not tested have no `acceptance.json`.
const SUMMARY: &str = "summary.json";
/// The directory of a command's run beside that of the corrected command.
const AS_GIVEN: &str = "as-given";
/// Maximum depth at which a run is below the directory that is listed: the runs of the benchmarks of a suite.
const DEEPEST: usize = 6;
/// Files that are removed last of a run.
const MARKS: [&str; 8] =
    [SEAL, MANIFEST, SERIES_SEAL, SERIES_MANIFEST, "acceptance.toml", "acceptance.json", "replication.json", SUMMARY];

/// What a folder of runs holds under one name: a run, or a series, suite, replication or pair with all its runs.
#[derive(Debug)]
pub struct KeptRun {
    /// Name in the folder.
    pub name: String,
    /// When it was begun by its name, else when it was last written; UTC, seconds since the epoch.
    pub time_unix_s: i64,
    folder: RunFolder,
    /// Held so that nobody records into it.
    #[expect(dead_code, reason = "they are held")]
    locks: Vec<OwnedFd>,
}

impl KeptRun {
    /// Returns the bytes that it takes on the disk.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn disk_bytes(&self) -> Result<u64, RecordError> {
        self.folder.disk_bytes()
    }

    /// Removes it from the folder that it was listed in.
    ///
    /// # Errors
    /// When something of it cannot be removed.
    pub fn remove(self, runs: &RunFolder) -> Result<(), RecordError> {
        runs.remove_folder(&self.name, &self.folder, &MARKS)
    }
}

/// The runs of a folder.
#[derive(Debug, Default)]
pub struct KeptRuns {
    /// The finished ones, the newest first. They are held until they are dropped.
    pub finished: Vec<KeptRun>,
    /// Those that are recorded now, were never finished or cannot be read: names with the reason.
    pub others: Vec<(String, String)>,
}

/// Lists the runs that lie directly in a folder. Links are not followed; what is not a run is left out.
///
/// # Errors
/// When the folder cannot be read.
pub fn kept_runs(runs: &RunFolder) -> Result<KeptRuns, RecordError> {
    let mut kept = KeptRuns::default();
    for (name, kind) in runs.entries()? {
        // Ours have plain names.
        let (EntryKind::Folder, Ok(name)) = (kind, name.into_string()) else { continue };
        match look_at(runs, &name) {
            Ok(run) => kept.finished.extend(run),
            Err(why) => kept.others.push((name, why)),
        }
    }
    kept.finished.sort_by(|one, other| (other.time_unix_s, &other.name).cmp(&(one.time_unix_s, &one.name)));
    Ok(kept)
}

/// Returns the run of this name; `None` if it is none.
fn look_at(runs: &RunFolder, name: &str) -> Result<Option<KeptRun>, String> {
    let said = |error: RecordError| error.to_string();
    let folder = runs.inner(name).map_err(said)?;
    let Some(mark) = mark(&folder).map_err(said)? else { return Ok(None) };
    let mut locks = Vec::new();
    finished(&folder, &mut locks, 0, false)?;
    let stamp = name.get(..STAMP_LENGTH).and_then(|stamp| PrimitiveDateTime::parse(stamp, STAMP).ok());
    let time_unix_s = match stamp {
        Some(stamp) => stamp.assume_utc().unix_timestamp(),
        None => folder.changed_unix_s(mark).map_err(said)?.ok_or("its age is not known")?,
    };
    Ok(Some(KeptRun { name: name.to_owned(), time_unix_s, folder, locks }))
}

/// Returns the entry that makes a directory one of runs.
fn mark(folder: &RunFolder) -> Result<Option<&'static str>, RecordError> {
    for mark in [MANIFEST, SERIES_MANIFEST].into_iter().chain(OF_SEVERAL.map(|(mark, _)| mark)) {
        if folder.kind(mark)?.is_some() {
            return Ok(Some(mark));
        }
    }
    let is_pair = folder.kind(AS_GIVEN)? == Some(EntryKind::Folder)
        && folder.inner(AS_GIVEN)?.kind(MANIFEST)? == Some(EntryKind::File);
    Ok(is_pair.then_some(AS_GIVEN))
}

/// Checks that a directory and the runs in it are finished, and takes them; returns why not. `is_of_ended` is true in an
/// acceptance of several units that has ended.
fn finished(folder: &RunFolder, locks: &mut Vec<OwnedFd>, depth: usize, is_of_ended: bool) -> Result<(), String> {
    let said = |error: RecordError| error.to_string();
    if folder.kind(MANIFEST).map_err(said)?.is_some() {
        locks.push(folder.taken().map_err(said)?.ok_or("it is being recorded")?);
        // A run's own folders hold no runs.
        return RunReader::open_in(folder.clone()).map(drop).map_err(said);
    }
    let series = read_series(folder.path()).map_err(said)?;
    if series.is_some_and(|series| !series.manifest.is_finished()) {
        return Err("the series was never finished, or is being recorded".to_owned());
    }
    let there = |name: &str| folder.kind(name).map_err(said);
    let is_of_ended = is_of_ended || there(SUMMARY)?.is_some();
    for (mark, at_the_end) in OF_SEVERAL {
        if !is_of_ended
            && there(mark)?.is_some()
            && there(at_the_end)?.is_none()
            && there(&format!("{at_the_end}.zst"))?.is_none()
        {
            return Err("it was never finished, or is being recorded".to_owned());
        }
    }
    for (name, kind) in folder.entries().map_err(said)? {
        match (kind, name.to_str()) {
            (EntryKind::Folder, _) if depth == DEEPEST => return Err("its folders are too deep".to_owned()),
            (EntryKind::Folder, Some(name)) => {
                finished(&folder.inner(name).map_err(said)?, locks, depth + 1, is_of_ended)?
            }
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use activebench_model::series::SeriesManifest;

    use super::*;
    use crate::samples::manifest;
    use crate::{RunWriter, write_series};

    fn finished(path: &Path) {
        RunWriter::create(path).unwrap().finish(manifest()).unwrap();
    }

    fn series(path: &Path, incomplete: &str) {
        finished(&path.join("1"));
        let manifest = SeriesManifest {
            format: activebench_model::series::FORMAT,
            activebench: "0.1.0".to_owned(),
            command: Default::default(),
            planned_runs: 2,
            until: None,
            runs: vec!["1".to_owned()],
            preconditioning: None,
            choices: Default::default(),
            incomplete: vec![incomplete.to_owned()],
        };
        write_series(path, &manifest).unwrap();
    }

    #[test]
    fn finished_runs_are_listed_and_removed_whole_and_all_others_stay() {
        let root = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        finished(&at("20260101T000000Z-old"));
        series(&at("20260102T000000Z-series"), "interrupted");
        finished(&outside.path().join("run"));
        symlink(outside.path().join("run"), at("20260103T000000Z-link")).unwrap();
        symlink(outside.path(), at("20260101T000000Z-old/files")).unwrap();
        series(&at("open-series"), SeriesManifest::UNFINISHED);
        let recorder = RunWriter::create(&at("recorded")).unwrap();
        drop(RunWriter::create(&at("killed")).unwrap());
        fs::create_dir_all(at("suite/benchmark")).unwrap();
        fs::write(at("suite/acceptance.toml"), "").unwrap();
        finished(&at("20260104T000000Z-units/tested/benchmark"));
        for unit in ["tested", "untested"] {
            fs::create_dir_all(at("20260104T000000Z-units").join(unit)).unwrap();
            fs::write(at("20260104T000000Z-units").join(unit).join("acceptance.toml"), "").unwrap();
        }
        fs::write(at("20260104T000000Z-units/acceptance.toml"), "").unwrap();
        fs::write(at("20260104T000000Z-units/summary.json"), "").unwrap();
        finished(&at("named"));
        fs::create_dir(at("no-run")).unwrap();
        fs::write(at("no-run/notes"), "kept").unwrap();

        let folder = RunFolder::open(root.path()).unwrap();
        let kept = kept_runs(&folder).unwrap();
        let names: Vec<&str> = kept.finished.iter().map(|run| run.name.as_str()).collect();
        // A name without a time counts by its file: written just now.
        assert_eq!(names, ["named", "20260104T000000Z-units", "20260102T000000Z-series", "20260101T000000Z-old"]);
        let others: Vec<(&str, bool)> = kept
            .others
            .iter()
            .map(|(name, why)| (name.as_str(), why.contains("recorded") || why.contains("never finished")))
            .collect();
        assert_eq!(others, [("killed", true), ("open-series", true), ("recorded", true), ("suite", true)]);
        for run in kept.finished {
            assert!(run.disk_bytes().unwrap() > 0);
            run.remove(&folder).unwrap();
        }
        drop(recorder);
        let left: Vec<_> = folder.entries().unwrap().into_iter().map(|(name, _)| name).collect();
        assert_eq!(left, ["20260103T000000Z-link", "killed", "no-run", "open-series", "recorded", "suite"]);
        assert!(outside.path().join("run/run.json").is_file());
    }
}
