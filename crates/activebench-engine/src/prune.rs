//! Chooses the old runs of a folder, and removes them.

use std::path::Path;
use std::time::Duration;

use activebench_record::{KeptRun, RunFolder, kept_runs};
use anyhow::Context;

use crate::failure::{ExitCode, Failure, OrExit};
use crate::runs_folder::LATEST;

/// Which runs stay.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stays {
    /// This many of the newest; `None`: age alone decides.
    pub newest: Option<usize>,
    /// Those that are younger; `None`: the number alone decides.
    pub younger_than: Option<Duration>,
}

/// A run to remove, and the bytes that it takes on the disk.
#[derive(Debug)]
pub struct Old {
    run: KeptRun,
    /// Bytes on the disk.
    pub bytes: u64,
}

impl Old {
    /// Returns its name in the folder.
    pub fn name(&self) -> &str {
        &self.run.name
    }
}

/// What is to be removed from a folder of runs. Until it is dropped, nobody records into these runs.
#[derive(Debug)]
pub struct Pruning {
    folder: RunFolder,
    /// The runs to remove, the newest first.
    pub old: Vec<Old>,
    /// Number of finished runs that stay.
    pub stay: usize,
    /// Those that are not finished or cannot be read, which stay: names with the reason.
    pub others: Vec<(String, String)>,
    /// The newest run that stays.
    newest: Option<String>,
}

impl Pruning {
    /// Chooses the runs of a folder that go at a time, UTC, seconds since the epoch. A run goes if neither its place nor
    /// its age keeps it.
    ///
    /// # Errors
    /// Returns an error if the folder cannot be read.
    pub fn of(folder: &Path, stays: Stays, now_unix_s: i64) -> Result<Self, Failure> {
        let folder = RunFolder::open(folder).or_exit(ExitCode::Usage)?;
        let kept = kept_runs(&folder).or_exit(ExitCode::Usage)?;
        let mut pruning = Self { folder, old: Vec::new(), stay: 0, others: kept.others, newest: None };
        for (place, run) in kept.finished.into_iter().enumerate() {
            if is_old(place, now_unix_s - run.time_unix_s, stays) {
                match run.disk_bytes() {
                    Ok(bytes) => pruning.old.push(Old { run, bytes }),
                    Err(error) => pruning.others.push((run.name, error.to_string())),
                }
            } else {
                pruning.stay += 1;
                pruning.newest.get_or_insert(run.name);
            }
        }
        Ok(pruning)
    }

    /// Returns the bytes that are freed.
    pub fn bytes(&self) -> u64 {
        self.old.iter().map(|old| old.bytes).sum()
    }

    /// Removes the runs; `removed` hears of each. The link to the latest run goes to the newest that stays.
    ///
    /// # Errors
    /// Returns an error for the first run that cannot be removed: the others stay.
    pub fn remove(self, mut removed: impl FnMut(&str, u64)) -> Result<(), Failure> {
        for Old { run, bytes } in self.old {
            let name = run.name.clone();
            run.remove(&self.folder).with_context(|| format!("cannot remove {name}")).or_exit(ExitCode::Usage)?;
            if self.folder.pointed(LATEST).or_exit(ExitCode::Usage)?.is_some_and(|target| target == name) {
                let pointed = match &self.newest {
                    Some(newest) => self.folder.point(LATEST, newest),
                    None => self.folder.remove_link(LATEST),
                };
                pointed.or_exit(ExitCode::Usage)?;
            }
            removed(&name, bytes);
        }
        Ok(())
    }
}

/// Returns `true` if a run goes: its place counts from the newest, 0, and its age is in seconds.
fn is_old(place: usize, age_s: i64, stays: Stays) -> bool {
    let is_new = stays.newest.is_some_and(|newest| place < newest);
    // A run of the future is not old, whatever clock is wrong.
    let is_young = stays.younger_than.is_some_and(|young| age_s < 0 || age_s.cast_unsigned() < young.as_secs());
    let nothing_asked = stays.newest.is_none() && stays.younger_than.is_none();
    !(is_new || is_young || nothing_asked)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_goes_that_neither_place_nor_age_keeps() {
        let day = |days| Duration::from_secs(86_400 * days);
        let stays = |newest, days: Option<u64>| Stays { newest, younger_than: days.map(day) };
        for (place, age_s, stays, expected) in [
            (0, 1, stays(None, None), false),
            (0, 1, stays(Some(1), None), false),
            (1, 1, stays(Some(1), None), true),
            (0, 1, stays(Some(0), None), true),
            (5, 86_400 * 3, stays(None, Some(3)), true),
            (5, 86_400 * 3 - 1, stays(None, Some(3)), false),
            (5, -10, stays(None, Some(3)), false),
            // Both: the three newest stay however old they are, and the young ones however many.
            (2, 86_400 * 30, stays(Some(3), Some(7)), false),
            (9, 86_400, stays(Some(3), Some(7)), false),
            (9, 86_400 * 30, stays(Some(3), Some(7)), true),
        ] {
            assert_eq!(is_old(place, age_s, stays), expected, "{place}, {age_s} s, {stays:?}");
        }
    }
}
