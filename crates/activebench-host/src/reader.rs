//! Reads small files of `/proc` and `/sys` by their usual names, and keeps a list of what could not be read
//! (`unread`).
//!
//! Callers write `/sys/dev/block/8:0/size`; [`Reader`] finds it below its [`Roots`]. Messages name the usual path, so
//! that a recorded tree gives the same messages as the machine.

use std::collections::{BTreeMap, VecDeque};
use std::ffi::{OsStr, OsString};
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Component, Path, PathBuf};
use std::{fs, str};

use activebench_model::call::DeviceNumber;
use rustix::io::Errno;

use crate::roots::{Process, Roots};

/// The reason why a file gave no value.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReadError {
    #[error("cannot read {}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("cannot read {}: {text:?} is not {expected}", path.display())]
    Content { path: PathBuf, text: String, expected: &'static str },
    #[error("cannot resolve {}: more than {LINK_LIMIT} symbolic links", path.display())]
    Links { path: PathBuf },
    #[error("cannot tell what {} held: it changed during the run", path.display())]
    Changed { path: PathBuf },
}

/// Returns a device number as `stat(2)` reports it (`st_dev`, `st_rdev`) as major and minor number.
pub fn device_number(number: u64) -> DeviceNumber {
    DeviceNumber::new(rustix::fs::major(number), rustix::fs::minor(number))
}

impl ReadError {
    /// Returns `true` when the kernel does not have the file, as opposed to a file that could not be read.
    pub(crate) fn is_absent(&self) -> bool {
        matches!(self, ReadError::Io { source, .. } if source.kind() == ErrorKind::NotFound)
    }

    /// Returns `true` when the process or descriptor that the file describes has ended meanwhile.
    pub(crate) fn is_gone(&self) -> bool {
        self.is_absent()
            || matches!(self, ReadError::Io { source, .. } if Errno::from_io_error(source) == Some(Errno::SRCH))
    }
}

/// The number of links that the kernel follows (`MAXSYMLINKS`, include/linux/namei.h of Linux 6.12).
const LINK_LIMIT: usize = 40;

/// Reads below the roots, for one process.
#[derive(Debug)]
pub(crate) struct Reader {
    roots: Roots,
    process: Process,
    /// Contents of files at an earlier time, by their usual paths. `None` where they changed.
    remembered: BTreeMap<PathBuf, Option<Vec<u8>>>,
    unread: Vec<String>,
}

impl Reader {
    pub(crate) fn new(roots: &Roots, process: Process) -> Self {
        Self { roots: roots.clone(), process, remembered: BTreeMap::new(), unread: Vec::new() }
    }

    pub(crate) fn process(&self) -> Process {
        self.process
    }

    pub(crate) fn unread(&self) -> &[String] {
        &self.unread
    }

    /// Adds an entry to `unread`, once.
    pub(crate) fn note(&mut self, what: impl ToString) {
        let what = what.to_string();
        if !self.unread.contains(&what) {
            self.unread.push(what);
        }
    }

    /// Returns the real location of a usual path: below the two roots, or else below the process's own root, which a
    /// container or `chroot` may have moved.
    fn real(&self, path: &Path) -> PathBuf {
        if let Ok(rest) = path.strip_prefix("/proc") {
            self.roots.proc.join(rest)
        } else if let Ok(rest) = path.strip_prefix("/sys") {
            self.roots.sys.join(rest)
        } else {
            self.real(&self.process.folder()).join("root").join(path.strip_prefix("/").unwrap_or(path))
        }
    }

    /// Takes contents of files at an earlier time, in place of others. They count where a file is not there any more. Where it is there and
    /// has other contents, it has none: which of both are meant is not known.
    pub(crate) fn remember(&mut self, contents: BTreeMap<PathBuf, Option<Vec<u8>>>) {
        self.remembered = contents;
    }

    /// Returns `true` if only the contents at an earlier time are known.
    pub(crate) fn is_remembered(&self, path: &Path) -> bool {
        self.remembered.contains_key(path) && matches!(self.exists(path), Ok(false))
    }

    pub(crate) fn bytes(&self, path: &Path) -> Result<Vec<u8>, ReadError> {
        let read = fs::read(self.real(path)).map_err(|source| ReadError::Io { path: path.to_owned(), source });
        let Some(then) = self.remembered.get(path) else { return read };
        match (read, then) {
            (Err(error), _) if !error.is_absent() => Err(error),
            (Ok(now), Some(then)) if now == *then => Ok(now),
            (Err(_), Some(then)) => Ok(then.clone()),
            (Ok(_), Some(_)) | (_, None) => Err(ReadError::Changed { path: path.to_owned() }),
        }
    }

    /// Reads the text without surrounding white space; replaces bytes that are not UTF-8.
    pub(crate) fn text(&self, path: &Path) -> Result<String, ReadError> {
        Ok(String::from_utf8_lossy(&self.bytes(path)?).trim().to_owned())
    }

    pub(crate) fn number(&self, path: &Path) -> Result<u64, ReadError> {
        let text = self.text(path)?;
        text.parse().map_err(|_| ReadError::Content { path: path.to_owned(), text, expected: "a number" })
    }

    pub(crate) fn flag(&self, path: &Path) -> Result<bool, ReadError> {
        let text = self.text(path)?;
        match text.as_str() {
            "0" => Ok(false),
            "1" => Ok(true),
            _ => Err(ReadError::Content { path: path.to_owned(), text, expected: "0 or 1" }),
        }
    }

    /// Reads a path as the kernel printed it, without the final newline. The path is not trimmed, because a name may
    /// end in spaces.
    pub(crate) fn path(&self, path: &Path) -> Result<PathBuf, ReadError> {
        let mut bytes = self.bytes(path)?;
        if bytes.last() == Some(&b'\n') {
            bytes.pop();
        }
        Ok(PathBuf::from(OsString::from_vec(bytes)))
    }

    /// Returns the value, or `None` with an entry in `unread`.
    pub(crate) fn wanted<T>(&mut self, read: Result<T, ReadError>) -> Option<T> {
        read.map_err(|error| self.note(error)).ok()
    }

    /// As [`Reader::wanted`], but a file that this kernel does not have adds no entry.
    pub(crate) fn optional<T>(&mut self, read: Result<T, ReadError>) -> Option<T> {
        match read {
            Err(error) if error.is_absent() => None,
            other => self.wanted(other),
        }
    }

    /// Returns the target of a symbolic link, made absolute.
    pub(crate) fn link(&self, path: &Path) -> Result<PathBuf, ReadError> {
        let target =
            fs::read_link(self.real(path)).map_err(|source| ReadError::Io { path: path.to_owned(), source })?;
        let folder = path.parent().unwrap_or(Path::new("/"));
        Ok(without_dots(&folder.join(target)))
    }

    /// Returns the text of a symbolic link, as the kernel shows it.
    pub(crate) fn target(&self, path: &Path) -> Result<PathBuf, ReadError> {
        fs::read_link(self.real(path)).map_err(|source| ReadError::Io { path: path.to_owned(), source })
    }

    /// Returns the block device of a device node, following links; `None` for any other file.
    pub(crate) fn block_device(&self, path: &Path) -> Result<Option<DeviceNumber>, ReadError> {
        let metadata =
            fs::metadata(self.real(path)).map_err(|source| ReadError::Io { path: path.to_owned(), source })?;
        let number = metadata.rdev();
        let is_block = metadata.file_type().is_block_device();
        Ok(is_block.then(|| device_number(number)))
    }

    /// Returns the inode number of a file, following links.
    pub(crate) fn inode(&self, path: &Path) -> Result<u64, ReadError> {
        let metadata = fs::metadata(self.real(path));
        metadata.map(|metadata| metadata.ino()).map_err(|source| ReadError::Io { path: path.to_owned(), source })
    }

    /// Returns the names in a folder, sorted.
    pub(crate) fn names(&self, path: &Path) -> Result<Vec<OsString>, ReadError> {
        let read = || {
            let mut names =
                fs::read_dir(self.real(path))?.map(|entry| Ok(entry?.file_name())).collect::<io::Result<Vec<_>>>()?;
            names.sort();
            Ok(names)
        };
        read().map_err(|source| ReadError::Io { path: path.to_owned(), source })
    }

    pub(crate) fn exists(&self, path: &Path) -> Result<bool, ReadError> {
        match fs::symlink_metadata(self.real(path)) {
            Ok(_) => Ok(true),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(false),
            Err(source) => Err(ReadError::Io { path: path.to_owned(), source }),
        }
    }

    /// Returns `true` if the process sees a file of this name; `None` where its root is not accessible (a recorded
    /// tree, another user's process).
    pub(crate) fn sees(&self, path: &Path) -> Option<bool> {
        let root = self.real(&self.process.folder()).join("root");
        match (fs::metadata(root), self.exists(path)) {
            (Ok(_), Ok(exists)) => Some(exists),
            _ => None,
        }
    }

    /// Resolves a name as the process would reach it: absolute, without `.`, `..` and symbolic links.
    ///
    /// Parts that do not exist (a file deleted since) or are not accessible are kept as written.
    pub(crate) fn resolve(&self, path: &Path) -> Result<PathBuf, ReadError> {
        let start = if path.is_absolute() {
            path.to_owned()
        } else {
            self.link(&self.process.folder().join("cwd"))?.join(path)
        };
        let mut pending: VecDeque<OsString> = start.components().map(|part| part.as_os_str().to_owned()).collect();
        let mut resolved = PathBuf::from("/");
        let mut links = 0;
        while let Some(part) = pending.pop_front() {
            match part.as_os_str().to_str() {
                Some("/") => resolved = PathBuf::from("/"),
                Some("..") => {
                    resolved.pop();
                }
                _ => {
                    let next = resolved.join(&part);
                    match fs::read_link(self.real(&next)) {
                        Ok(_) if links == LINK_LIMIT => return Err(ReadError::Links { path: path.to_owned() }),
                        Ok(target) => {
                            links += 1;
                            for part in target.components().rev() {
                                pending.push_front(part.as_os_str().to_owned());
                            }
                        }
                        Err(_) => resolved = next,
                    }
                }
            }
        }
        Ok(resolved)
    }
}

/// Removes `.` and `..` from a path by its text alone. Correct for sysfs, whose links lead to folders that are not
/// links.
fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            other => plain.push(other),
        }
    }
    plain
}

/// Returns the last part of a sysfs path as a device name: sysfs writes `!` for `/`.
pub(crate) fn device_name(path: &Path) -> String {
    path.file_name().unwrap_or(OsStr::new("")).to_string_lossy().replace('!', "/")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn names_resolve_as_the_process_sees_them() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("proc/self/root");
        fs::create_dir_all(root.join("disk/data")).unwrap();
        symlink("/disk", root.join("absolute")).unwrap();
        symlink("disk/data", root.join("relative")).unwrap();
        symlink("../absolute", root.join("disk/up")).unwrap();
        symlink("turn", root.join("turn")).unwrap();
        symlink("/disk/data", folder.path().join("proc/self/cwd")).unwrap();
        let reader = Reader::new(&Roots::at(folder.path()), Process::Own);

        let check = |name: &str, expected: &str| {
            assert_eq!(reader.resolve(Path::new(name)).unwrap(), Path::new(expected), "{name}");
        };
        check("/disk/data/f", "/disk/data/f");
        check("/absolute/data/f", "/disk/data/f");
        check("/relative/f", "/disk/data/f");
        check("/disk/up/data/../f", "/disk/f");
        check("f", "/disk/data/f");
        check("../f", "/disk/f");
        check("/gone/../gone/f", "/gone/f");
        check("/../../f", "/f");
        let error = reader.resolve(Path::new("/turn/f")).unwrap_err();
        assert_eq!(error.to_string(), "cannot resolve /turn/f: more than 40 symbolic links");
    }

    #[test]
    fn a_value_that_is_not_understood_is_missing_and_said() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("sys")).unwrap();
        fs::write(folder.path().join("sys/size"), "many\n").unwrap();
        let mut reader = Reader::new(&Roots::at(folder.path()), Process::Own);
        let (number, flag) = (reader.number(Path::new("/sys/size")), reader.flag(Path::new("/sys/size")));
        assert_eq!(reader.wanted(number), None);
        assert_eq!(reader.wanted(flag), None);
        let absent = reader.number(Path::new("/sys/absent"));
        assert_eq!(reader.optional(absent), None);
        assert_eq!(
            reader.unread(),
            ["cannot read /sys/size: \"many\" is not a number", "cannot read /sys/size: \"many\" is not 0 or 1"]
        );
    }
}
