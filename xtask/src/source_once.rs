//! A source of packages for one call of apt: a file and lists of its own in a temporary folder. The system's sources
//! are read, never written, and compared afterwards.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use tempfile::TempDir;

use crate::sha256_list;

/// Folder of apt's sources.
pub(crate) const APT_FOLDER: &str = "/etc/apt";

/// The system's source files: path and text.
pub(crate) type Files = Vec<(String, String)>;

/// The source; removed with its folder when dropped.
#[derive(Debug)]
pub(crate) struct SourceOnce {
    /// Contains the file and the lists.
    folder: TempDir,
    system_before: Files,
}

impl SourceOnce {
    /// Derives the text of the source, in `deb822` format, from the system's own files.
    ///
    /// # Errors
    /// When the system's files cannot be read, nothing can be derived, or the folder cannot be made.
    pub(crate) fn of_the_system(derive: impl FnOnce(&Files) -> Result<String>) -> Result<SourceOnce> {
        let system_before = read_sources(Path::new(APT_FOLDER))?;
        let text = derive(&system_before)?;
        let folder = tempfile::Builder::new().prefix("activebench-apt-").tempdir().context("cannot make a folder")?;
        // apt fetches as its own user, which must be able to enter the folder.
        fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755))
            .context("cannot open the folder to apt")?;
        let source = SourceOnce { folder, system_before };
        fs::write(source.file(), text).with_context(|| format!("cannot write {}", source.file().display()))?;
        let partial = source.lists().join("partial");
        fs::create_dir_all(&partial).with_context(|| format!("cannot make {}", partial.display()))?;
        Ok(source)
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("once.sources")
    }

    fn lists(&self) -> PathBuf {
        self.folder.path().join("lists")
    }

    /// Returns options that restrict apt to this source and keep its lists apart.
    ///
    /// The two package caches are disabled for the call: built from these lists, they would be wrong for the next one.
    pub(crate) fn options(&self) -> Vec<String> {
        [
            format!("Dir::Etc::sourcelist={}", self.file().display()),
            "Dir::Etc::sourceparts=-".to_owned(),
            format!("Dir::State::lists={}", self.lists().display()),
            "Dir::Cache::pkgcache=".to_owned(),
            "Dir::Cache::srcpkgcache=".to_owned(),
            // An unreachable source is a warning by default; here it is the only one.
            "APT::Update::Error-Mode=any".to_owned(),
        ]
        .into_iter()
        .flat_map(|option| ["-o".to_owned(), option])
        .collect()
    }

    /// Fails when the system's own sources have changed.
    ///
    /// # Errors
    /// In that case, and when they can no longer be read.
    pub(crate) fn assert_system_unchanged(&self) -> Result<()> {
        if fingerprint(&self.system_before) != fingerprint(&read_sources(Path::new(APT_FOLDER))?) {
            bail!("the files in {APT_FOLDER} changed while apt was at work for us; we did not change them, look why");
        }
        Ok(())
    }
}

/// Returns the system's source files, sorted by path.
///
/// # Errors
/// When an existing file cannot be read.
fn read_sources(apt_folder: &Path) -> Result<Files> {
    let mut paths: Vec<PathBuf> = vec![apt_folder.join("sources.list")];
    let parts = apt_folder.join("sources.list.d");
    if parts.is_dir() {
        for entry in fs::read_dir(&parts).with_context(|| format!("cannot list {}", parts.display()))? {
            paths.push(entry.with_context(|| format!("cannot list {}", parts.display()))?.path());
        }
    }
    paths.retain(|path| {
        path.extension().is_some_and(|suffix| suffix == "list" || suffix == "sources") && path.is_file()
    });
    paths.sort();
    paths
        .into_iter()
        .map(|path| {
            let bytes = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
            Ok((path.display().to_string(), String::from_utf8_lossy(&bytes).into_owned()))
        })
        .collect()
}

/// Returns one sum over the names and contents of the source files.
fn fingerprint(sources: &[(String, String)]) -> String {
    let mut bytes = Vec::new();
    for (name, text) in sources {
        for part in [name, text] {
            bytes.extend_from_slice(&(part.len() as u64).to_le_bytes());
            bytes.extend_from_slice(part.as_bytes());
        }
    }
    sha256_list::sum(&bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_read_as_apt_reads_them_and_every_change_shows() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let parts = folder.path().join("sources.list.d");
        fs::create_dir(&parts).expect("a folder");
        fs::write(folder.path().join("sources.list"), "deb a b main\n").expect("a file");
        fs::write(parts.join("b.sources"), "Types: deb\n").expect("a file");
        fs::write(parts.join("a.list"), "").expect("a file");
        fs::write(parts.join("a.list.save"), "ignored").expect("a file");
        let read = || read_sources(folder.path()).expect("readable sources");

        let names: Vec<String> =
            read().iter().map(|(name, _)| name.rsplit('/').next().unwrap_or(name).to_owned()).collect();
        assert_eq!(names, ["sources.list", "a.list", "b.sources"]);

        let before = fingerprint(&read());
        assert_eq!(fingerprint(&read()), before);
        fs::write(parts.join("a.list"), "deb a b non-free\n").expect("a file");
        assert_ne!(fingerprint(&read()), before);
    }
}
