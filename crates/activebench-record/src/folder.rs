//! Opens the files of a run directory: the only place that does.
//!
//! A run directory can come from anybody. Its files may be links, pipes or devices, and they may change while they are
//! read. So a directory is opened once, and every file in it relative to that descriptor: nothing inside is followed,
//! nothing outside is reached, and only regular files are read or replaced.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Read, Take, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use activebench_model::sha256;
use rustix::fs::{AtFlags, Dir, FileType, FlockOperation, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use crate::error::RecordError;
use crate::layout::{KEPT_PAYLOAD, is_inside, most_bytes};
use crate::storage::{Stopped, Storage};

mod link;
mod removal;

/// Tries for a temporary name that nobody has: each is random.
const NAMES_TRIED: u32 = 16;
/// Tries to open a file while others rename in the directory (`openat2(2)`, `EAGAIN`).
const OPENS_TRIED: u32 = 16;

/// An open directory of a run or a series.
#[derive(Clone, Debug)]
pub struct RunFolder {
    path: PathBuf,
    descriptor: Arc<OwnedFd>,
}

/// Kind of an entry of a directory; links are not followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A directory.
    Folder,
    /// Anything else, with its noun: `a symbolic link`.
    Other(&'static str),
}

impl EntryKind {
    fn of(kind: FileType) -> Self {
        match kind {
            FileType::RegularFile => EntryKind::File,
            FileType::Directory => EntryKind::Folder,
            FileType::Symlink => EntryKind::Other("a symbolic link"),
            FileType::Fifo => EntryKind::Other("a pipe"),
            FileType::Socket => EntryKind::Other("a socket"),
            FileType::CharacterDevice | FileType::BlockDevice => EntryKind::Other("a device"),
            FileType::Unknown => EntryKind::Other("of an unknown kind"),
        }
    }

    /// Returns its noun with an article.
    pub(crate) fn noun(self) -> &'static str {
        match self {
            EntryKind::File => "a regular file",
            EntryKind::Folder => "a directory",
            EntryKind::Other(noun) => noun,
        }
    }
}

impl RunFolder {
    /// Opens a directory. The path itself may be a link: the user named it.
    ///
    /// # Errors
    /// When it is not a directory or cannot be opened.
    pub fn open(path: &Path) -> Result<Self, RecordError> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        match rustix::fs::open(path, flags, Mode::empty()) {
            Ok(descriptor) => Ok(Self { path: path.to_owned(), descriptor: Arc::new(descriptor) }),
            Err(error) => Err(RecordError::Io { path: path.to_owned(), source: error.into() }),
        }
    }

    /// Opens a directory inside.
    ///
    /// # Errors
    /// When it is not a directory, or is reached through a link.
    pub fn inner(&self, name: &str) -> Result<Self, RecordError> {
        let descriptor = self.resolve(name, OFlags::PATH | OFlags::DIRECTORY, Mode::empty());
        let descriptor = descriptor.map_err(|error| self.refused(name, error))?;
        Ok(Self { path: self.path.join(name), descriptor: Arc::new(descriptor) })
    }

    /// Takes the directory for this process, until the descriptor is closed; `None` if another process has it. A file
    /// system without locks gives it to everybody.
    ///
    /// # Errors
    /// When the directory cannot be read.
    pub(crate) fn lock(&self) -> Result<Option<OwnedFd>, RecordError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = rustix::fs::openat(&*self.descriptor, ".", flags, Mode::empty())
            .map_err(|error| RecordError::Io { path: self.path.clone(), source: error.into() })?;
        match rustix::fs::flock(&directory, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => Ok(None),
            Ok(()) | Err(_) => Ok(Some(directory)),
        }
    }

    /// The path that it was opened by, for messages.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the kind of an entry; `None` if there is none.
    ///
    /// # Errors
    /// When it is reached through a link, or the system does not say.
    pub fn kind(&self, name: &str) -> Result<Option<EntryKind>, RecordError> {
        match self.located(name) {
            Ok((_, kind)) => Ok(Some(kind)),
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
            Err(error) => Err(self.refused(name, error)),
        }
    }

    /// Returns the entries with their kinds, by name.
    ///
    /// # Errors
    /// When the directory cannot be read.
    pub fn entries(&self) -> Result<Vec<(OsString, EntryKind)>, RecordError> {
        let failed = |error: Errno| RecordError::Io { path: self.path.clone(), source: error.into() };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let readable = rustix::fs::openat(&*self.descriptor, ".", flags, Mode::empty()).map_err(failed)?;
        let mut entries = Vec::new();
        for entry in Dir::read_from(&readable).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let kind = match entry.file_type() {
                FileType::Unknown => {
                    let about = rustix::fs::statat(&readable, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW);
                    FileType::from_raw_mode(about.map_err(failed)?.st_mode)
                }
                known => known,
            };
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name != "." && name != ".." {
                entries.push((name.to_owned(), EntryKind::of(kind)));
            }
        }
        entries.sort_unstable_by(|one, other| one.0.cmp(&other.0));
        Ok(entries)
    }

    /// Opens a regular file for reading; `None` if there is none.
    ///
    /// # Errors
    /// When it is not a regular file, is reached through a link, or cannot be opened.
    pub fn file(&self, name: &str) -> Result<Option<File>, RecordError> {
        // Without opening it: the opening of a device or a pipe has effects.
        match self.kind(name)? {
            None => return Ok(None),
            Some(EntryKind::File) => {}
            Some(other) => return Err(self.not_a_file(name, other)),
        }
        // Somebody may have replaced it since: a pipe does not hold us up, and is refused.
        let file = match self.resolve(name, OFlags::RDONLY | OFlags::NONBLOCK, Mode::empty()) {
            Ok(file) => file,
            Err(Errno::NOENT) => return Ok(None),
            Err(error) => return Err(self.refused(name, error)),
        };
        match kind_of(&file).map_err(|error| self.refused(name, error))? {
            EntryKind::File => Ok(Some(File::from(file))),
            other => Err(self.not_a_file(name, other)),
        }
    }

    /// Reads a regular file into memory; `None` if there is none.
    ///
    /// # Errors
    /// As [`RunFolder::file`], and when it has more bytes than a file of its name may have.
    pub fn read(&self, name: &str) -> Result<Option<Vec<u8>>, RecordError> {
        let Some((file, stated)) = self.bounded(name)? else { return Ok(None) };
        let mut bytes = Vec::with_capacity(stated as usize);
        // One byte more than allowed shows that the file grew.
        let most = file.limit() - 1;
        let read = { file }.read_to_end(&mut bytes);
        read.map_err(|source| RecordError::Io { path: self.path.join(name), source })?;
        match bytes.len() as u64 {
            length if length > most => Err(self.too_large(name, length)),
            _ => Ok(Some(bytes)),
        }
    }

    /// Returns the SHA-256 of a regular file, read in pieces; `None` if there is none.
    ///
    /// # Errors
    /// As [`RunFolder::read`]: a file with a hole may have any size, and reading it would take days.
    pub fn sha256(&self, name: &str) -> Result<Option<String>, RecordError> {
        let Some((file, _)) = self.bounded(name)? else { return Ok(None) };
        let sum = sha256::of_reader(file);
        sum.map(Some).map_err(|source| RecordError::Io { path: self.path.join(name), source })
    }

    /// Opens a regular file for reading, with its size, to at most one byte more than a file of its name may have.
    fn bounded(&self, name: &str) -> Result<Option<(Take<File>, u64)>, RecordError> {
        let Some(file) = self.file(name)? else { return Ok(None) };
        let about = file.metadata().map_err(|source| RecordError::Io { path: self.path.join(name), source })?;
        let most = most_bytes(name);
        match about.len() {
            bytes if bytes > most => Err(self.too_large(name, bytes)),
            bytes => Ok(Some((file.take(most + 1), bytes))),
        }
    }

    fn too_large(&self, name: &str, bytes: u64) -> RecordError {
        RecordError::TooLarge { path: self.path.join(name), bytes, most: most_bytes(name) }
    }

    /// Replaces a regular file or creates it, all or nothing.
    ///
    /// # Errors
    /// When something else has the name (it stays as it is), or the file cannot be written.
    pub fn replace(&self, name: &str, bytes: &[u8]) -> Result<(), RecordError> {
        let failed = |source| RecordError::Io { path: self.path.join(name), source };
        match self.kind(name)? {
            None | Some(EntryKind::File) => {}
            Some(other) => return Err(self.not_a_file(name, other)),
        }
        let (folder, last) = match name.rsplit_once('/') {
            Some((folder, last)) => (self.inner(folder)?, last),
            None => (self.clone(), name),
        };
        let (temporary, file) = folder.temporary(last).map_err(|error| failed(error.into()))?;
        let descriptor = &*folder.descriptor;
        let written = File::from(file)
            .write_all(bytes)
            .and_then(|()| Ok(rustix::fs::renameat(descriptor, &temporary, descriptor, last)?));
        written.map_err(|source| {
            // The half-written file takes space that the caller may need now. That it could not be removed matters
            // less than why it is there.
            match rustix::fs::unlinkat(descriptor, &temporary, AtFlags::empty()) {
                Ok(()) | Err(_) => failed(source),
            }
        })
    }

    /// Creates a file that is not there yet. When the writing stops half-way, the bytes written so far stay.
    pub(crate) fn create(&self, name: &str, bytes: &[u8]) -> Result<(), Stopped> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
        // What was written may be anybody's data: it stays its owner's also where the directory is shared.
        let mode = if name == KEPT_PAYLOAD { OWNERS_FILE } else { NEW_FILE };
        let file = self.resolve(name, flags, mode);
        let mut file = File::from(file.map_err(|error| Stopped { written: 0, source: error.into() })?);
        let mut written = 0;
        while written < bytes.len() {
            match file.write(&bytes[written..]) {
                Ok(0) => return Err(Stopped { written, source: io::ErrorKind::WriteZero.into() }),
                Ok(count) => written += count,
                Err(source) if source.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => return Err(Stopped { written, source }),
            }
        }
        Ok(())
    }

    /// Writes over the first bytes of an existing regular file and cuts it there.
    pub(crate) fn overwrite(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let file = self.resolve(name, OFlags::WRONLY | OFlags::NONBLOCK, Mode::empty())?;
        if kind_of(&file)? != EntryKind::File {
            return Err(io::Error::other("it is not a regular file"));
        }
        let mut file = File::from(file);
        file.write_all(bytes)?;
        file.set_len(bytes.len() as u64)
    }

    /// Removes a file.
    pub(crate) fn remove(&self, name: &str) -> io::Result<()> {
        let (folder, last) = match name.rsplit_once('/') {
            Some((folder, last)) => (&self.resolve(folder, OFlags::PATH | OFlags::DIRECTORY, Mode::empty())?, last),
            None => (&*self.descriptor, name),
        };
        Ok(rustix::fs::unlinkat(folder, last, AtFlags::empty())?)
    }

    /// Creates a directory inside.
    pub(crate) fn create_folder(&self, name: &str) -> io::Result<()> {
        Ok(rustix::fs::mkdirat(&*self.descriptor, name, NEW_FOLDER)?)
    }

    /// Creates a file under a new random name beside `name`.
    fn temporary(&self, name: &str) -> Result<(String, OwnedFd), Errno> {
        let mut tried = 0;
        loop {
            let random = RandomState::new().build_hasher().finish();
            let temporary = format!(".{name}.{random:016x}");
            match self.resolve(&temporary, OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL, NEW_FILE) {
                Ok(file) => return Ok((temporary, file)),
                Err(Errno::EXIST) if tried < NAMES_TRIED => tried += 1,
                Err(error) => return Err(error),
            }
        }
    }

    /// Returns a handle of an entry that cannot be read through, and the entry's kind.
    fn located(&self, name: &str) -> Result<(OwnedFd, EntryKind), Errno> {
        let handle = self.resolve(name, OFlags::PATH, Mode::empty())?;
        let kind = kind_of(&handle)?;
        Ok((handle, kind))
    }

    /// Opens an entry. Fails on a link, on the way and at the end, except that a handle (`O_PATH`) of a link at the end
    /// is a handle of the link itself.
    fn resolve(&self, name: &str, flags: OFlags, mode: Mode) -> Result<OwnedFd, Errno> {
        if !is_inside(name) {
            return Err(Errno::XDEV);
        }
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let within =
            ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_XDEV;
        for _ in 0..OPENS_TRIED {
            match rustix::fs::openat2(&*self.descriptor, name, flags, mode, within) {
                // Somebody renames in the directory; the kernel asks to try again.
                Err(Errno::AGAIN) => {}
                // Before Linux 5.6, and where a filter of system calls forbids it.
                Err(Errno::NOSYS | Errno::PERM) => return step_by_step(&self.descriptor, name, flags, mode),
                opened => return opened,
            }
        }
        Err(Errno::AGAIN)
    }

    fn refused(&self, name: &str, error: Errno) -> RecordError {
        let path = self.path.join(name);
        match error {
            Errno::LOOP => RecordError::NotAFile { path, what: "reached through a symbolic link" },
            Errno::XDEV if is_inside(name) => RecordError::NotAFile { path, what: "on another file system" },
            Errno::XDEV => RecordError::OutsideName { name: name.to_owned() },
            error => RecordError::Io { path, source: error.into() },
        }
    }

    fn not_a_file(&self, name: &str, kind: EntryKind) -> RecordError {
        RecordError::NotAFile { path: self.path.join(name), what: kind.noun() }
    }
}

/// Permissions of a new file before the umask.
const NEW_FILE: Mode = Mode::from_raw_mode(0o666);
/// Permissions of a new file for its owner alone.
const OWNERS_FILE: Mode = Mode::from_raw_mode(0o600);
/// Permissions of a new directory before the umask.
const NEW_FOLDER: Mode = Mode::from_raw_mode(0o777);

fn kind_of(descriptor: impl AsFd) -> Result<EntryKind, Errno> {
    Ok(EntryKind::of(FileType::from_raw_mode(rustix::fs::fstat(descriptor)?.st_mode)))
}

/// As `openat2` with the flags of [`RunFolder::resolve`], except that a mount inside is entered.
fn step_by_step(from: &OwnedFd, name: &str, flags: OFlags, mode: Mode) -> Result<OwnedFd, Errno> {
    let handle = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut folder = None;
    let mut names = name.split('/').filter(|name| !name.is_empty() && *name != ".").peekable();
    while let Some(name) = names.next() {
        let at = folder.as_ref().unwrap_or(from);
        if names.peek().is_none() {
            return rustix::fs::openat(at, name, flags, mode);
        }
        folder = Some(match rustix::fs::openat(at, name, handle, Mode::empty()) {
            // `O_DIRECTORY` reports a link as something that is not a directory.
            Err(Errno::NOTDIR) => match rustix::fs::statat(at, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(about) if FileType::from_raw_mode(about.st_mode) == FileType::Symlink => return Err(Errno::LOOP),
                Ok(_) => return Err(Errno::NOTDIR),
                Err(error) => return Err(error),
            },
            opened => opened?,
        });
    }
    Err(Errno::NOENT)
}

/// The real disk.
impl Storage for RunFolder {
    fn create(&mut self, name: &str, bytes: &[u8]) -> Result<(), Stopped> {
        RunFolder::create(self, name, bytes)
    }

    fn replace(&mut self, name: &str, bytes: &[u8]) -> Result<(), RecordError> {
        RunFolder::replace(self, name, bytes)
    }

    fn overwrite(&mut self, name: &str, bytes: &[u8]) -> io::Result<()> {
        RunFolder::overwrite(self, name, bytes)
    }

    fn remove(&mut self, name: &str) -> io::Result<()> {
        RunFolder::remove(self, name)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    /// A run directory with every kind of entry, and a file outside it.
    fn hostile() -> (tempfile::TempDir, RunFolder) {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        fs::create_dir_all(at("run/events")).unwrap();
        fs::create_dir(at("outside")).unwrap();
        fs::write(at("outside/secret"), "secret").unwrap();
        fs::write(at("run/stdout.txt"), "output").unwrap();
        fs::write(at("run/events/calls"), "rows").unwrap();
        symlink("../outside/secret", at("run/report.md")).unwrap();
        symlink("../outside", at("run/files")).unwrap();
        symlink("/proc/self", at("run/proc")).unwrap();
        symlink("events", at("run/inside")).unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, at("run/report.txt"), FileType::Fifo, NEW_FILE, 0).unwrap();
        symlink(at("run"), at("named")).unwrap();
        let folder = RunFolder::open(&at("named")).unwrap();
        (root, folder)
    }

    #[test]
    fn a_regular_file_is_read_also_where_the_directory_itself_is_named_by_a_link() {
        let (_root, folder) = hostile();
        assert_eq!(folder.read("stdout.txt").unwrap().unwrap(), b"output");
        assert_eq!(folder.read("events/calls").unwrap().unwrap(), b"rows");
        assert_eq!(folder.sha256("stdout.txt").unwrap().unwrap(), sha256::of_bytes(b"output"));
        assert!(folder.read("stderr.txt").unwrap().is_none() && folder.kind("a/b").unwrap().is_none());
        assert_eq!(folder.inner("events").unwrap().read("calls").unwrap().unwrap(), b"rows");
    }

    #[test]
    fn links_pipes_and_directories_are_neither_read_nor_replaced() {
        let (root, folder) = hostile();
        for (name, part) in [
            ("report.md", "a symbolic link"),
            ("files/secret", "reached through a symbolic link"),
            ("proc/environ", "reached through a symbolic link"),
            ("inside/calls", "reached through a symbolic link"),
            ("report.txt", "a pipe"),
            ("events", "a directory"),
            ("../outside/secret", "leads out of the run directory"),
            ("/etc/passwd", "leads out of the run directory"),
        ] {
            let read = folder.read(name).unwrap_err().to_string();
            assert!(read.contains(part), "{name}: {read}");
            let replaced = folder.replace(name, b"ours").unwrap_err().to_string();
            assert!(replaced.contains(part), "{name}: {replaced}");
        }
        assert!(folder.inner("files").is_err() && folder.inner("inside").is_err());
        assert_eq!(fs::read(root.path().join("outside/secret")).unwrap(), b"secret");
        let left: Vec<OsString> = folder.entries().unwrap().into_iter().map(|(name, _)| name).collect();
        assert_eq!(left, ["events", "files", "inside", "proc", "report.md", "report.txt", "stdout.txt"]);
    }

    #[test]
    fn a_file_is_replaced_through_a_name_that_nobody_can_prepare() {
        let (root, folder) = hostile();
        // What once was the name of the new file.
        symlink("../outside/secret", root.path().join("run/figures.parquet.new")).unwrap();
        fs::hard_link(root.path().join("outside/secret"), root.path().join("run/figures.parquet")).unwrap();
        folder.replace("figures.parquet", b"ours").unwrap();
        assert_eq!(folder.read("figures.parquet").unwrap().unwrap(), b"ours");
        assert_eq!(fs::read(root.path().join("outside/secret")).unwrap(), b"secret");
    }

    #[test]
    fn without_openat2_the_same_entries_are_refused() {
        let (_root, folder) = hostile();
        let open = |name| step_by_step(&folder.descriptor, name, OFlags::RDONLY | OFlags::NOFOLLOW, Mode::empty());
        assert!(open("events/calls").is_ok() && open("stdout.txt").is_ok());
        for name in ["report.md", "files/secret", "proc/environ", "inside/calls"] {
            assert_eq!(open(name).unwrap_err(), Errno::LOOP, "{name}");
        }
        assert_eq!(open("stdout.txt/x").unwrap_err(), Errno::NOTDIR);
    }

    #[test]
    fn a_file_is_bounded_before_memory_is_taken() {
        let (root, folder) = hostile();
        let large = fs::File::create(root.path().join("run/run.json")).unwrap();
        large.set_len(1 << 40).unwrap();
        let said = folder.read("run.json").unwrap_err().to_string();
        assert!(said.contains("1099511627776 bytes"), "{said}");
    }
}
