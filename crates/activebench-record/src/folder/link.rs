//! The one link that we write: from a fixed name in a folder of runs to a run beside it.

use std::hash::{BuildHasher, Hasher, RandomState};

use rustix::fs::AtFlags;
use rustix::io::Errno;

use super::{NAMES_TRIED, RunFolder};
use crate::error::RecordError;
use crate::layout::is_inside;

impl RunFolder {
    /// Makes `name` a link to the entry `target` of this directory, or replaces such a link, all or nothing.
    ///
    /// # Errors
    /// When something other than a link has the name (it stays as it is), `target` is not a plain name, or the directory
    /// cannot be written.
    pub fn point(&self, name: &str, target: &str) -> Result<(), RecordError> {
        let failed = |error: Errno| RecordError::Io { path: self.path.join(name), source: error.into() };
        if !is_inside(target) || target.contains('/') {
            return Err(RecordError::OutsideName { name: target.to_owned() });
        }
        self.only_a_link(name)?;
        let mut tried = 0;
        let temporary = loop {
            let random = RandomState::new().build_hasher().finish();
            let temporary = format!(".{name}.{random:016x}");
            match rustix::fs::symlinkat(target, &*self.descriptor, &temporary) {
                Ok(()) => break temporary,
                Err(Errno::EXIST) if tried < NAMES_TRIED => tried += 1,
                Err(error) => return Err(failed(error)),
            }
        };
        // Replaces the link itself, wherever it leads to.
        rustix::fs::renameat(&*self.descriptor, &temporary, &*self.descriptor, name).map_err(|error| {
            match rustix::fs::unlinkat(&*self.descriptor, &temporary, AtFlags::empty()) {
                Ok(()) | Err(_) => failed(error),
            }
        })
    }

    /// Returns where the link `name` leads to; `None` if there is no link of that name.
    ///
    /// # Errors
    /// When the system does not say.
    pub fn pointed(&self, name: &str) -> Result<Option<String>, RecordError> {
        match rustix::fs::readlinkat(&*self.descriptor, name, Vec::new()) {
            Ok(target) => Ok(Some(target.to_string_lossy().into_owned())),
            // What is there is not a link.
            Err(Errno::NOENT | Errno::INVAL) => Ok(None),
            Err(error) => Err(RecordError::Io { path: self.path.join(name), source: error.into() }),
        }
    }

    /// Removes the link `name`, if there is one.
    ///
    /// # Errors
    /// As [`RunFolder::point`].
    pub fn remove_link(&self, name: &str) -> Result<(), RecordError> {
        self.only_a_link(name)?;
        match rustix::fs::unlinkat(&*self.descriptor, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(RecordError::Io { path: self.path.join(name), source: error.into() }),
        }
    }

    fn only_a_link(&self, name: &str) -> Result<(), RecordError> {
        match (self.kind(name)?, self.pointed(name)?) {
            (None, _) | (Some(_), Some(_)) => Ok(()),
            (Some(other), None) => Err(RecordError::NotALink { path: self.path.join(name), what: other.noun() }),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_link_is_made_and_replaced_and_nothing_else_is() {
        let root = tempfile::tempdir().unwrap();
        let folder = RunFolder::open(root.path()).unwrap();
        folder.point("latest", "a").unwrap();
        folder.point("latest", "b").unwrap();
        assert_eq!(folder.pointed("latest").unwrap().unwrap(), "b");
        // A link of somebody else is replaced itself, and not what it leads to.
        let outside = tempfile::tempdir().unwrap();
        symlink(outside.path(), root.path().join("elsewhere")).unwrap();
        folder.point("elsewhere", "a").unwrap();
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
        assert_eq!(folder.pointed("elsewhere").unwrap().unwrap(), "a");

        fs::write(root.path().join("file"), "kept").unwrap();
        fs::create_dir(root.path().join("folder")).unwrap();
        for (name, part) in [("file", "a regular file"), ("folder", "a directory")] {
            let said = folder.point(name, "a").unwrap_err().to_string();
            assert!(said.contains(part), "{said}");
            assert!(folder.remove_link(name).is_err() && folder.pointed(name).unwrap().is_none());
        }
        for target in ["../outside", "/etc", "a/b", ""] {
            assert!(folder.point("latest", target).is_err(), "{target}");
        }
        folder.remove_link("latest").unwrap();
        folder.remove_link("latest").unwrap();
        let mut left: Vec<_> = fs::read_dir(root.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["elsewhere", "file", "folder"]);
    }
}
