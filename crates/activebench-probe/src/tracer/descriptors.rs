//! The files behind the descriptors of traced processes, as `/proc` shows them to whoever may trace.

use std::collections::{HashMap, HashSet};
use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use activebench_model::call::{DeviceNumber, FileId};
use rustix::fs::{AtFlags, CWD, FileType, StatxFlags, statx};

use super::ptrace::Tid;
use crate::running::{Mounts, Proc};

/// `file_kind` of a call's record.
pub(super) const OTHER: u8 = 0;
/// See [`OTHER`].
pub(super) const REGULAR: u8 = 1;
/// See [`OTHER`].
pub(super) const BLOCK_DEVICE: u8 = 2;

/// `O_SYNC` on x86-64.
const OPENED_SYNC: u32 = 0o4010000;
/// Major number of `/dev/null`, `/dev/zero`, `/dev/urandom` and their like.
const MEMORY_DEVICES: u32 = 1;
/// Most descriptors of our own that are kept open to read positions.
const MOST_HANDLES: usize = 256;
/// More than the file that describes a descriptor has, without its locks.
const INFO_BYTES: usize = 512;

/// The file behind a descriptor.
#[derive(Debug, Default)]
pub(super) struct OpenFile {
    pub(super) ino: u64,
    pub(super) s_dev: u32,
    pub(super) kind: u8,
    /// `f_flags`.
    pub(super) flags: u32,
    /// `true` if a call on it never waits: files, block devices, and devices of memory such as `/dev/zero`.
    pub(super) never_waits: bool,
    /// `false` if it could not be read what it is.
    pub(super) is_known: bool,
    info: PathBuf,
    handle: Option<File>,
}

impl OpenFile {
    /// Returns the position of the open file; `None` if it cannot be read.
    pub(super) fn position(&mut self) -> Option<i64> {
        if self.kind == OTHER {
            return None;
        }
        if let Some(info) = self.handle.as_ref().and_then(read_info) {
            return field(&info, "pos:")?.parse().ok();
        }
        // The thread by which it was opened may have ended.
        let info = read_info(&File::open(&self.info).ok()?)?;
        field(&info, "pos:")?.parse().ok()
    }
}

fn read_info(file: &File) -> Option<String> {
    let mut bytes = [0; INFO_BYTES];
    let read = file.read_at(&mut bytes, 0).ok().filter(|read| *read > 0)?;
    Some(String::from_utf8_lossy(&bytes[..read]).into_owned())
}

fn field<'a>(info: &'a str, name: &str) -> Option<&'a str> {
    info.lines().find_map(|line| line.strip_prefix(name)).map(str::trim)
}

/// A descriptor table of the tree.
pub(super) type TableId = u32;

/// The descriptors of all traced processes, as far as they were used.
#[derive(Debug, Default)]
pub(super) struct Descriptors {
    tables: HashMap<TableId, HashMap<i32, OpenFile>>,
    last_table: TableId,
    handles: usize,
    mounts: Mounts,
    /// Mounts that no list of mounts has.
    unlisted: HashSet<u64>,
    /// Overlays with the file system below.
    overlays: HashMap<u32, u32>,
    /// The file of the interposer. The tool loads it, but does not measure with it.
    own: Option<FileId>,
}

impl Descriptors {
    pub(super) fn new(overlays: &[(DeviceNumber, DeviceNumber)], own: Option<FileId>) -> Self {
        let overlays = overlays.iter().map(|(overlay, below)| (overlay.0, below.0)).collect();
        Self { overlays, own, ..Self::default() }
    }

    /// Returns what is mounted as the file system of this device, as far as a file of it was used.
    pub(super) fn source(&self, s_dev: u32) -> Option<&str> {
        self.mounts.source(DeviceNumber(s_dev))
    }

    /// Returns a new table.
    pub(super) fn new_table(&mut self) -> TableId {
        self.last_table += 1;
        self.last_table
    }

    /// Forgets the files of a table: their descriptors were closed, or nobody has the table any more.
    pub(super) fn forget_table(&mut self, table: TableId) {
        let files = self.tables.remove(&table).unwrap_or_default();
        self.handles -= files.values().filter(|file| file.handle.is_some()).count();
    }

    /// Forgets the file of a descriptor, which is closed or replaced.
    pub(super) fn forget(&mut self, table: TableId, fd: i32) {
        let file = self.tables.get_mut(&table).and_then(|files| files.remove(&fd));
        self.handles -= usize::from(file.is_some_and(|file| file.handle.is_some()));
    }

    /// Forgets all files: the flags of one changed, which several descriptors and processes may have.
    pub(super) fn forget_all(&mut self) {
        self.tables.clear();
        self.handles = 0;
    }

    /// Reads the mounts again when they are needed: a process may have others.
    pub(super) fn forget_mounts(&mut self) {
        self.mounts = Mounts::default();
        self.unlisted.clear();
    }

    /// Returns the file behind a descriptor of a stopped thread.
    pub(super) fn resolve(&mut self, table: TableId, tid: Tid, fd: i32) -> &mut OpenFile {
        let is_kept = self.tables.get(&table).is_some_and(|files| files.contains_key(&fd));
        if !is_kept {
            let mut file = self.look_up(tid, fd);
            if file.kind != OTHER {
                self.keep_handle(&mut file);
            }
            self.tables.entry(table).or_default().insert(fd, file);
        }
        self.tables.entry(table).or_default().entry(fd).or_default()
    }

    fn keep_handle(&mut self, file: &mut OpenFile) {
        if self.handles >= MOST_HANDLES {
            self.tables.values_mut().flat_map(HashMap::values_mut).for_each(|file| file.handle = None);
            self.handles = 0;
        }
        file.handle = File::open(&file.info).ok();
        self.handles += usize::from(file.handle.is_some());
    }

    fn look_up(&mut self, tid: Tid, fd: i32) -> OpenFile {
        // A descriptor that is not there: its call fails.
        let none = OpenFile { is_known: true, ..OpenFile::default() };
        if fd < 0 {
            return none;
        }
        let folder = PathBuf::from(format!("/proc/{tid}"));
        let link = folder.join("fd").join(fd.to_string());
        // Without asking a server that may not answer.
        let found = match statx(CWD, &link, AtFlags::STATX_DONT_SYNC, StatxFlags::BASIC_STATS) {
            Ok(found) => found,
            Err(rustix::io::Errno::NOENT) => return none,
            Err(_) => return OpenFile::default(),
        };
        let info = folder.join("fdinfo").join(fd.to_string());
        let Some(text) = File::open(&info).ok().as_ref().and_then(read_info) else { return OpenFile::default() };
        let flags = field(&text, "flags:").and_then(|flags| u32::from_str_radix(flags, 8).ok());
        let Some(flags) = flags else { return OpenFile::default() };
        let mut file = OpenFile {
            ino: found.stx_ino,
            s_dev: DeviceNumber::new(found.stx_dev_major, found.stx_dev_minor).0,
            kind: OTHER,
            flags,
            never_waits: false,
            is_known: true,
            info,
            handle: None,
        };
        match FileType::from_raw_mode(found.stx_mode.into()) {
            FileType::RegularFile if self.own.is_some_and(|own| own.s_dev == file.s_dev && own.ino == file.ino) => {}
            FileType::RegularFile => {
                (file.kind, file.never_waits) = (REGULAR, true);
                self.identify(tid, &text, &mut file);
                if is_synchronous(&link, flags) {
                    file.flags |= OPENED_SYNC;
                }
            }
            FileType::BlockDevice => {
                (file.kind, file.never_waits) = (BLOCK_DEVICE, true);
                file.ino = 0;
                file.s_dev = DeviceNumber::new(found.stx_rdev_major, found.stx_rdev_minor).0;
            }
            FileType::CharacterDevice => file.never_waits = found.stx_rdev_major == MEMORY_DEVICES,
            _ => {}
        }
        file
    }

    /// Gives a regular file the numbers that the kernel has for it: `stat` shows others on btrfs and overlays.
    fn identify(&mut self, tid: Tid, info: &str, file: &mut OpenFile) {
        if let Some(ino) = field(info, "ino:").and_then(|ino| ino.parse().ok()) {
            file.ino = ino;
        }
        if let Some(mount) = field(info, "mnt_id:").and_then(|mount| mount.parse().ok()) {
            if self.mounts.device(mount).is_none() && !self.unlisted.contains(&mount) {
                self.mounts = Proc("/proc".into()).mounts(tid.cast_unsigned());
                if self.mounts.device(mount).is_none() {
                    self.unlisted.insert(mount);
                }
            }
            if let Some(device) = self.mounts.device(mount) {
                file.s_dev = device.0;
            }
            if self.mounts.is_synchronous(mount) {
                file.flags |= OPENED_SYNC;
            }
        }
        if let Some(below) = self.overlays.get(&file.s_dev) {
            file.s_dev = *below;
        }
    }
}

/// Returns `true` if each write to a file is synchronous because of an attribute (`chattr +S`).
fn is_synchronous(link: &Path, flags: u32) -> bool {
    const GET_FLAGS: u64 = 0x8008_6601;
    const SYNCHRONOUS: i32 = 0x8;
    if flags & 0o3 == 0 {
        return false;
    }
    // Whoever may only write the file cannot ask; then it counts as any other.
    let Ok(file) = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(link) else {
        return false;
    };
    let mut attributes: i32 = 0;
    // SAFETY: the call writes 4 bytes, on some file systems 8 would be declared but 4 are written.
    let done = unsafe { libc::ioctl(file.as_raw_fd(), GET_FLAGS as _, &raw mut attributes) };
    done == 0 && attributes & SYNCHRONOUS != 0
}

#[cfg(test)]
mod tests {
    use std::io::{Seek, SeekFrom, Write};
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn our_own_files_are_identified_with_their_positions() {
        let mut descriptors = Descriptors::default();
        let table = descriptors.new_table();
        let tid = std::process::id().cast_signed();
        let file = tempfile::tempfile().expect("a file");
        // A high number: tests beside this one open files, which take the lowest that is free.
        let mut file = File::from(rustix::io::fcntl_dupfd_cloexec(&file, 800).expect("a number that is free"));
        file.write_all(b"0123456789").expect("it is written");
        let fd = file.as_raw_fd();
        let open = descriptors.resolve(table, tid, fd);
        assert!(open.is_known);
        assert_eq!((open.kind, open.position()), (REGULAR, Some(10)));
        assert_eq!(open.ino, file.metadata().expect("its metadata").ino());
        file.seek(SeekFrom::Start(3)).expect("it is moved");
        assert_eq!(descriptors.resolve(table, tid, fd).position(), Some(3));
        descriptors.forget(table, fd);
        drop(file);
        let closed = descriptors.resolve(table, tid, fd);
        assert_eq!((closed.kind, closed.is_known, closed.position()), (OTHER, true, None));
        assert!(!descriptors.resolve(table, i32::MAX, 0).is_known || descriptors.handles == 0);
        descriptors.forget_table(table);
        assert_eq!(descriptors.handles, 0);
    }
}
