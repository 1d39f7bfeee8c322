//! Removes whole directories, relative to descriptors: a link inside is removed and never followed.

use std::os::fd::OwnedFd;

use rustix::fs::AtFlags;
use rustix::io::Errno;

use super::{EntryKind, RunFolder};
use crate::error::RecordError;

/// Maximum depth of nested directories below one that is measured or removed. Our deepest has four.
const DEEPEST: usize = 16;
/// Bytes of a block in `st_blocks`.
const BLOCK_BYTES: u64 = 512;

impl RunFolder {
    /// Takes the directory for this process, as the recorder of a run does, until the descriptor is closed; `None` if
    /// another process has it.
    ///
    /// # Errors
    /// When the directory cannot be read.
    pub fn taken(&self) -> Result<Option<OwnedFd>, RecordError> {
        self.lock()
    }

    /// Returns the bytes that the directory and everything in it take on the disk.
    ///
    /// # Errors
    /// When a directory inside cannot be read, or they are nested too deeply.
    pub fn disk_bytes(&self) -> Result<u64, RecordError> {
        self.disk_bytes_from(0)
    }

    fn disk_bytes_from(&self, depth: usize) -> Result<u64, RecordError> {
        let mut bytes = 0_u64;
        for (name, kind) in self.entries()? {
            let about = rustix::fs::statat(&*self.descriptor, &*name, AtFlags::SYMLINK_NOFOLLOW);
            let about = about.map_err(|error| self.at(&name.to_string_lossy(), error))?;
            bytes = bytes.saturating_add(u64::try_from(about.st_blocks).unwrap_or(0) * BLOCK_BYTES);
            if kind == EntryKind::Folder {
                bytes = bytes.saturating_add(self.deeper(&name.to_string_lossy(), depth)?.disk_bytes_from(depth + 1)?);
            }
        }
        Ok(bytes)
    }

    /// Returns when an entry was last changed, UTC, seconds since the epoch; `None` if there is none.
    ///
    /// # Errors
    /// When the system does not say.
    pub fn changed_unix_s(&self, name: &str) -> Result<Option<i64>, RecordError> {
        match rustix::fs::statat(&*self.descriptor, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(about) => Ok(Some(about.st_mtime)),
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
            Err(error) => Err(self.at(name, error)),
        }
    }

    /// Removes an opened directory of this one with everything in it. The files of these names are removed last: what is
    /// left of a removal that stops half-way is still known for what it was.
    ///
    /// # Errors
    /// When something cannot be removed: the rest stays.
    pub fn remove_folder(&self, name: &str, opened: &RunFolder, last: &[&str]) -> Result<(), RecordError> {
        opened.remove_all(last, 0)?;
        rustix::fs::unlinkat(&*self.descriptor, name, AtFlags::REMOVEDIR).map_err(|error| self.at(name, error))
    }

    fn remove_all(&self, last: &[&str], depth: usize) -> Result<(), RecordError> {
        let mut entries = self.entries()?;
        entries.sort_by_key(|(name, _)| last.iter().any(|last| *name == **last));
        for (name, kind) in entries {
            let text = name.to_string_lossy();
            let flags = match kind {
                EntryKind::Folder => {
                    self.deeper(&text, depth)?.remove_all(last, depth + 1)?;
                    AtFlags::REMOVEDIR
                }
                EntryKind::File | EntryKind::Other(_) => AtFlags::empty(),
            };
            rustix::fs::unlinkat(&*self.descriptor, &*name, flags).map_err(|error| self.at(&text, error))?;
        }
        Ok(())
    }

    fn deeper(&self, name: &str, depth: usize) -> Result<RunFolder, RecordError> {
        match depth < DEEPEST {
            true => self.inner(name),
            false => Err(self.at(name, Errno::NAMETOOLONG)),
        }
    }

    fn at(&self, name: &str, error: Errno) -> RecordError {
        RecordError::Io { path: self.path.join(name), source: error.into() }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_directory_is_removed_and_no_link_is_followed() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        fs::create_dir_all(at("runs/a/events")).unwrap();
        fs::create_dir(at("outside")).unwrap();
        fs::write(at("outside/kept"), "kept").unwrap();
        fs::write(at("runs/a/run.json"), vec![b'x'; 100_000]).unwrap();
        fs::write(at("runs/a/events/calls"), "rows").unwrap();
        symlink(at("outside"), at("runs/a/files")).unwrap();
        symlink(at("outside/kept"), at("runs/a/report.txt")).unwrap();
        let runs = RunFolder::open(&at("runs")).unwrap();
        let run = runs.inner("a").unwrap();
        assert!((100_000..300_000).contains(&run.disk_bytes().unwrap()), "{}", run.disk_bytes().unwrap());
        // What takes its name meanwhile stays: the opened directory is emptied.
        fs::rename(at("runs/a"), at("runs/b")).unwrap();
        symlink(at("outside"), at("runs/a")).unwrap();
        assert!(runs.remove_folder("a", &run, &["run.json"]).is_err());
        assert_eq!(fs::read(at("outside/kept")).unwrap(), b"kept");
        assert_eq!(fs::read_dir(at("runs/b")).unwrap().count(), 0);
        runs.remove_folder("b", &runs.inner("b").unwrap(), &[]).unwrap();
        assert!(!at("runs/b").exists());
    }

    #[test]
    fn folders_without_end_are_not_entered_without_end() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("d/".repeat(40))).unwrap();
        assert!(RunFolder::open(root.path()).unwrap().disk_bytes().is_err());
    }
}
