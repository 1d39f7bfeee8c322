//! The files of a replay: fresh ones in a folder of their own, which is removed at the end.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use activebench_model::replication::CacheState;
use activebench_report::export::passes::{Before, Pass, PassFile};
use anyhow::{Context, anyhow};
use fastrand::Rng;
use rustix::fs::{Advice, fadvise, syncfs};
use tempfile::TempDir;

use crate::free_space::room;
use crate::interruption::Stop;

/// Bytes written and read at a time.
const CHUNK: usize = 1 << 20;
/// Chunks between two checks for a signal.
const UNTIL_LOOK: u64 = 16;
/// Bytes that a file system needs besides the data.
const ROOM_BESIDE: u64 = 16 << 20;

/// The folder, and the state of its files.
#[derive(Debug)]
pub(super) struct Scratch {
    folder: TempDir,
    made: HashMap<usize, Made>,
    /// Files of this host whose page cache also holds the target's data.
    below: Vec<PathBuf>,
    /// Source of the data of all files: storage that deduplicates finds no equal bytes, in any file or run.
    data: Rng,
}

/// State of a file of ours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Made {
    written_bytes: u64,
    allocated_bytes: u64,
    size_bytes: u64,
}

impl Scratch {
    /// Makes the folder beside the recorded files.
    pub(super) fn in_folder(target: &Path, below: Vec<PathBuf>) -> anyhow::Result<Self> {
        let folder =
            tempfile::Builder::new().prefix("activebench-replicate-").tempdir_in(target).with_context(|| {
                format!(
                    "cannot make a folder for the replay in {} (hint: --target DIR names another)",
                    target.display()
                )
            })?;
        Ok(Self { folder, made: HashMap::new(), below, data: Rng::new() })
    }

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Removes the folder; returns an error if that fails.
    pub(super) fn remove(self) -> anyhow::Result<()> {
        let path = self.path().to_owned();
        self.folder.close().with_context(|| format!("cannot remove {} (hint: remove it yourself)", path.display()))
    }

    /// Restores the files of a pass to their state before it; returns `false` if `stop` was set.
    pub(super) fn prepare(&mut self, pass: &Pass, cache: &CacheState, stop: &Stop) -> anyhow::Result<bool> {
        for (number, file) in pass.files.iter().filter(|(_, file)| !file.is_device) {
            let path = self.path().join(&file.log_name);
            let wanted = Made::of(&file.before);
            if file.before.is_there() {
                if self.made.get(number) != Some(&wanted) {
                    remove(&path)?;
                    self.made.remove(number);
                    let made = make(&path, wanted, &mut self.data, stop)
                        .with_context(|| format!("cannot prepare {}", path.display()))?;
                    if !made {
                        return Ok(false);
                    }
                }
            } else {
                remove(&path)?;
            }
            // Its state is not known until the replay has ended.
            self.made.remove(number);
        }
        settle(self.path())?;
        for file in pass.files.values() {
            let path = if file.is_device { PathBuf::from(&file.log_name) } else { self.path().join(&file.log_name) };
            let about = || format!("cannot prepare {}", path.display());
            if path.exists() && !set_cache(&path, file, cache, stop).with_context(about)? {
                return Ok(false);
            }
        }
        if matches!(cache, CacheState::Cold | CacheState::PassedBy) {
            for path in &self.below {
                drop_cache(path).with_context(|| format!("cannot empty the cache of {}", path.display()))?;
            }
        }
        Ok(true)
    }

    /// Notes that the files are now in the state after the pass.
    pub(super) fn replayed(&mut self, pass: &Pass) {
        for (number, file) in &pass.files {
            let mut made = Made::of(&file.before);
            if file.work.moved.writes > 0 {
                made.written_bytes = made.written_bytes.max(file.end_bytes);
                made.size_bytes = made.size_bytes.max(file.end_bytes);
            }
            self.made.insert(*number, made.settled());
        }
    }
}

impl Made {
    fn of(before: &Before) -> Self {
        Self {
            written_bytes: before.written_bytes,
            allocated_bytes: before.allocated_bytes,
            size_bytes: before.size_bytes,
        }
        .settled()
    }

    /// Forgets the reserved blocks if data fills all of them: then they make no difference.
    fn settled(mut self) -> Self {
        if self.allocated_bytes <= self.written_bytes {
            self.allocated_bytes = 0;
        }
        self
    }
}

/// Checks that a file system has room for the files of every pass.
pub(super) fn check_room(target: &Path, passes: &[Pass]) -> anyhow::Result<()> {
    let mut of_file: HashMap<usize, u64> = HashMap::new();
    for pass in passes.iter().filter(|pass| pass.obstacle.is_none()) {
        for (number, file) in pass.files.iter().filter(|(_, file)| !file.is_device) {
            let most = of_file.entry(*number).or_default();
            *most = (*most).max(file.bytes_on_disk());
        }
    }
    let needed: u64 = of_file.values().sum();
    if needed == 0 {
        return Ok(());
    }
    let room = room(target).with_context(|| format!("cannot determine the free space of {}", target.display()))?;
    let free = room.free_bytes;
    let quantity = activebench_model::units::Quantity::bytes;
    // Metadata that the file system keeps for each file: extents, indirect blocks.
    let needed = needed + needed / 64 + ROOM_BESIDE;
    if free >= needed {
        return Ok(());
    }
    Err(anyhow!(
        "the replay needs {} in {}, and {} are free (hint: make room, or name a folder on another disk with --target)",
        quantity(needed),
        target.display(),
        quantity(free)
    ))
}

fn remove(path: &Path) -> anyhow::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", path.display()))
        }
        _ => Ok(()),
    }
}

/// Makes a durable file of incompressible data; returns `true` if it is complete.
fn make(path: &Path, wanted: Made, data: &mut Rng, stop: &Stop) -> anyhow::Result<bool> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    if wanted.allocated_bytes > 0 {
        let bytes = i64::try_from(wanted.allocated_bytes).context("a file of this size is not possible")?;
        // Unlike fallocate(2), which rustix has, this one writes the blocks where a file system has no such call.
        // SAFETY: the descriptor is open.
        match unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, bytes) } {
            0 | libc::EOPNOTSUPP | libc::EINVAL => {}
            error => return Err(io::Error::from_raw_os_error(error).into()),
        }
    }
    let mut chunk = vec![0_u8; CHUNK];
    let mut left = wanted.written_bytes;
    while left > 0 {
        if (left / CHUNK as u64).is_multiple_of(UNTIL_LOOK) && stop.is_set() {
            return Ok(false);
        }
        data.fill(&mut chunk);
        let part = usize::try_from(left).unwrap_or(CHUNK).min(CHUNK);
        file.write_all(&chunk[..part])?;
        left -= part as u64;
    }
    file.set_len(wanted.size_bytes.max(wanted.written_bytes))?;
    file.sync_all()?;
    Ok(true)
}

/// Writes back the data that was just made, so that the replay does not wait for it.
fn settle(folder: &Path) -> anyhow::Result<()> {
    let folder = File::open(folder)?;
    syncfs(&folder).map_err(io::Error::from).context("cannot write back what the target's file system holds")
}

/// Removes a file from the page cache.
fn drop_cache(path: &Path) -> anyhow::Result<()> {
    let file = File::open(path)?;
    // Dirty pages would stay.
    file.sync_data()?;
    Ok(fadvise(&file, 0, None, Advice::DontNeed).map_err(io::Error::from)?)
}

/// Removes a file from the page cache or reads it in, as the recorded pass found it; returns `false` if `stop` was set.
fn set_cache(path: &Path, file: &PassFile, cache: &CacheState, stop: &Stop) -> anyhow::Result<bool> {
    match cache {
        CacheState::Cold | CacheState::PassedBy => {
            drop_cache(path)?;
            Ok(true)
        }
        CacheState::Warm => {
            let mut open = File::open(path)?;
            let mut chunk = vec![0_u8; CHUNK];
            let mut done = 0;
            while done < file.end_bytes {
                if (done / CHUNK as u64).is_multiple_of(UNTIL_LOOK) && stop.is_set() {
                    return Ok(false);
                }
                match open.read(&mut chunk)? {
                    0 => break,
                    read => done += read as u64,
                }
            }
            Ok(true)
        }
        _ => Ok(true),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_block_of_any_file_is_there_twice() {
        let wanted = Made { written_bytes: 3 << 20, ..Made::default() };
        let mut blocks = HashSet::new();
        // Two runs of two files.
        for _ in 0..2 {
            let target = tempfile::tempdir().expect("a folder");
            let mut scratch = Scratch::in_folder(target.path(), Vec::new()).expect("a folder");
            for name in ["f0", "f1"] {
                let path = scratch.path().join(name);
                assert!(make(&path, wanted, &mut scratch.data, &Stop::default()).expect("it is made"));
                let data = fs::read(&path).expect("it is there");
                blocks.extend(data.chunks(4096).map(<[u8]>::to_vec));
            }
        }
        assert_eq!(blocks.len(), 4 * (3 << 20) / 4096);
    }
}
