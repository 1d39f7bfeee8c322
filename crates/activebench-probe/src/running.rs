//! A process that ran before it was watched, as `/proc` shows it: its threads, and the files that it has open or mapped.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use activebench_model::call::{DeviceNumber, FileId, FileKind};
use activebench_model::watch::{MappedFile, OpenFile};
use rustix::fs::{AtFlags, CWD, FileType, StatxFlags, statx};

/// `PF_IO_WORKER`, `PF_USER_WORKER` and `PF_KTHREAD` (include/linux/sched.h of Linux 6.1 to 6.18).
const NEVER_IN_USER_MODE: u64 = 0x10 | 0x4000;
const KERNEL_THREAD: u64 = 0x20_0000;
/// File systems whose files are memory.
const IN_MEMORY: [&str; 5] = ["tmpfs", "ramfs", "hugetlbfs", "devtmpfs", "proc"];

/// `/proc`, or a folder like it.
#[derive(Clone, Debug)]
pub(crate) struct Proc(pub(crate) PathBuf);

/// A line of `/proc/PID/stat`, as far as it is needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stat {
    pub(crate) comm: String,
    /// `R`, `S`, `D`, `T`, `Z` ...
    pub(crate) state: char,
    pub(crate) parent: u32,
    flags: u64,
}

impl Stat {
    fn parse(text: &str) -> Option<Self> {
        let (before, after) = text.rsplit_once(')')?;
        let fields: Vec<&str> = after.split_ascii_whitespace().collect();
        Some(Self {
            comm: before.split_once('(')?.1.to_owned(),
            state: fields.first()?.chars().next()?,
            parent: fields.get(1)?.parse().ok()?,
            flags: fields.get(6)?.parse().ok()?,
        })
    }

    /// Returns `true` for a thread of the kernel.
    pub(crate) fn is_of_the_kernel(&self) -> bool {
        self.flags & KERNEL_THREAD != 0
    }

    /// Returns `true` if the thread has ended.
    pub(crate) fn has_ended(&self) -> bool {
        matches!(self.state, 'Z' | 'X' | 'x')
    }

    /// Returns whether the thread is in the kernel, and the code of the reason why it is not on a CPU; 0 if it is on
    /// one. A thread that could run is taken to be in user mode on a CPU.
    pub(crate) fn mode(&self) -> (bool, u8) {
        let never_in_user_mode = self.flags & NEVER_IN_USER_MODE != 0;
        match self.state {
            'R' => (never_in_user_mode, 0),
            'T' | 't' => (true, 4),
            _ => (true, 1),
        }
    }
}

/// The mounts of a process.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mounts {
    by_id: HashMap<u64, DeviceNumber>,
    types: HashMap<DeviceNumber, String>,
    /// What is mounted: `/dev/vda1`.
    sources: HashMap<DeviceNumber, String>,
    /// Those on which each write is synchronous (`-o sync`).
    synchronous: HashSet<u64>,
}

impl Mounts {
    fn parse(text: &str) -> Self {
        let mut mounts = Self::default();
        for line in text.lines() {
            let (before, after) = line.split_once(" - ").unwrap_or((line, ""));
            let mut fields = before.split(' ');
            let id = fields.next().and_then(|id| id.parse().ok());
            let device = fields.nth(1).and_then(|device| device_of(device, 10));
            let (Some(id), Some(device)) = (id, device) else { continue };
            mounts.by_id.insert(id, device);
            let mut of_file_system = after.split(' ');
            mounts.types.insert(device, of_file_system.next().unwrap_or_default().to_owned());
            mounts.sources.insert(device, of_file_system.next().unwrap_or_default().to_owned());
            let mut options = of_file_system.next().unwrap_or_default().split(',');
            if options.any(|option| option == "sync") {
                mounts.synchronous.insert(id);
            }
        }
        mounts
    }

    /// Returns the device of a mount's file system; `None` for a mount that is not listed.
    pub(crate) fn device(&self, mount: u64) -> Option<DeviceNumber> {
        self.by_id.get(&mount).copied()
    }

    /// Returns what is mounted as the file system of this device.
    pub(crate) fn source(&self, device: DeviceNumber) -> Option<&str> {
        self.sources.get(&device).map(String::as_str)
    }

    /// Returns `true` if each write to the file system of a mount is synchronous.
    pub(crate) fn is_synchronous(&self, mount: u64) -> bool {
        self.synchronous.contains(&mount)
    }

    /// Returns `true` if files on this device are on a mounted file system that is not memory.
    fn is_storage(&self, device: DeviceNumber) -> bool {
        self.types.get(&device).is_some_and(|fs_type| !IN_MEMORY.contains(&fs_type.as_str()))
    }
}

/// Parses `fe:01` or `254:1`.
fn device_of(text: &str, radix: u32) -> Option<DeviceNumber> {
    let (major, minor) = text.split_once(':')?;
    let number = |digits| u32::from_str_radix(digits, radix).ok();
    Some(DeviceNumber::new(number(major)?, number(minor)?))
}

impl Proc {
    fn of(&self, pid: u32, name: &str) -> PathBuf {
        self.0.join(pid.to_string()).join(name)
    }

    fn numbers(folder: &Path) -> Vec<u32> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let mut numbers: Vec<u32> = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
        numbers.sort_unstable();
        numbers
    }

    /// Returns the threads of a process; none if it has ended.
    pub(crate) fn threads(&self, pid: u32) -> Vec<u32> {
        Self::numbers(&self.of(pid, "task"))
    }

    /// Returns a process or thread; `None` if it has ended.
    pub(crate) fn stat(&self, id: u32) -> Option<Stat> {
        // The name of a thread may be any bytes.
        Stat::parse(&String::from_utf8_lossy(&fs::read(self.of(id, "stat")).ok()?))
    }

    /// Returns the processes with their parents.
    pub(crate) fn parents(&self) -> Vec<(u32, u32)> {
        let processes = Self::numbers(&self.0).into_iter();
        processes.filter_map(|pid| Some((pid, self.stat(pid)?.parent))).collect()
    }

    /// Returns `true` if the process has this thread.
    pub(crate) fn has_thread(&self, pid: u32, tid: u32) -> bool {
        self.0.join(pid.to_string()).join("task").join(tid.to_string()).exists()
    }

    /// Returns the user that owns the folder of a process: root for one that is protected from its own user.
    pub(crate) fn owner(&self, pid: u32) -> Option<u32> {
        Some(fs::metadata(self.0.join(pid.to_string())).ok()?.uid())
    }

    /// Returns the arguments of a process; none where there are none, or they cannot be read.
    pub(crate) fn arguments(&self, pid: u32) -> Vec<String> {
        let bytes = fs::read(self.of(pid, "cmdline")).unwrap_or_default();
        let bytes = bytes.strip_suffix(b"\0").unwrap_or(&bytes);
        if bytes.is_empty() {
            return Vec::new();
        }
        bytes.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect()
    }

    /// Returns the file that a process executes.
    pub(crate) fn executable(&self, pid: u32) -> Option<String> {
        Some(fs::read_link(self.of(pid, "exe")).ok()?.to_string_lossy().into_owned())
    }

    pub(crate) fn mounts(&self, pid: u32) -> Mounts {
        Mounts::parse(&String::from_utf8_lossy(&fs::read(self.of(pid, "mountinfo")).unwrap_or_default()))
    }

    /// Returns the regular files and block devices that a process has open.
    ///
    /// # Errors
    /// Returns an error if its descriptors cannot be listed.
    pub(crate) fn open_files(&self, pid: u32, mounts: &Mounts) -> std::io::Result<Vec<OpenFile>> {
        fs::read_dir(self.of(pid, "fd"))?;
        let descriptors = Self::numbers(&self.of(pid, "fd")).into_iter();
        Ok(descriptors.filter_map(|fd| self.open_file(pid, fd, mounts)).collect())
    }

    fn open_file(&self, pid: u32, fd: u32, mounts: &Mounts) -> Option<OpenFile> {
        let link = self.of(pid, "fd").join(fd.to_string());
        let path = fs::read_link(&link).ok()?.to_string_lossy().into_owned();
        if !path.starts_with('/') {
            return None;
        }
        let text = fs::read_to_string(self.of(pid, "fdinfo").join(fd.to_string())).ok()?;
        let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        let flags = u32::from_str_radix(field("flags:")?, 8).ok()?;
        let position = field("pos:")?.parse().ok()?;
        // Without asking a server that may not answer.
        let found = statx(CWD, &link, AtFlags::STATX_DONT_SYNC, StatxFlags::BASIC_STATS).ok()?;
        let (kind, file) = match FileType::from_raw_mode(found.stx_mode.into()) {
            FileType::RegularFile => {
                let device = field("mnt_id:").and_then(|id| mounts.by_id.get(&id.parse().ok()?)).copied();
                let device = device.unwrap_or_else(|| DeviceNumber::new(found.stx_dev_major, found.stx_dev_minor));
                let ino = field("ino:").and_then(|ino| ino.parse().ok()).unwrap_or(found.stx_ino);
                (FileKind::Regular, FileId { s_dev: device.0, ino })
            }
            FileType::BlockDevice => {
                let device = DeviceNumber::new(found.stx_rdev_major, found.stx_rdev_minor);
                (FileKind::BlockDevice, FileId { s_dev: device.0, ino: 0 })
            }
            _ => return None,
        };
        Some(OpenFile { pid, fd: fd.cast_signed(), file, kind, path, position, flags })
    }

    /// Returns the shared mappings of files on storage.
    ///
    /// # Errors
    /// Returns an error if its mappings cannot be read.
    pub(crate) fn mapped_files(&self, pid: u32, mounts: &Mounts) -> std::io::Result<Vec<MappedFile>> {
        let text = fs::read(self.of(pid, "maps"))?;
        let text = String::from_utf8_lossy(&text);
        Ok(text.lines().filter_map(|line| mapped_file(pid, line, mounts)).collect())
    }
}

/// Parses `7f00-7f10 rw-s 00001000 fe:01 1234    /data/file`; `None` for what is private or no file on storage.
fn mapped_file(pid: u32, line: &str, mounts: &Mounts) -> Option<MappedFile> {
    let mut fields = line.splitn(6, ' ');
    let (range, rights, offset) = (fields.next()?, fields.next()?, fields.next()?);
    let device = device_of(fields.next()?, 16)?;
    let ino: u64 = fields.next()?.parse().ok()?;
    let path = fields.next()?.trim_start();
    if rights.as_bytes().get(3) != Some(&b's') || ino == 0 || !mounts.is_storage(device) {
        return None;
    }
    let number = |digits| u64::from_str_radix(digits, 16).ok();
    let (start, end) = range.split_once('-')?;
    Some(MappedFile {
        pid,
        file: FileId { s_dev: device.0, ino },
        path: path.to_owned(),
        offset: number(offset)?,
        bytes: number(end)?.checked_sub(number(start)?)?,
        writable: rights.as_bytes().get(1) == Some(&b'w'),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_stat_is_read_behind_any_name() {
        let line = |flags: &str, state: &str| format!("7 (a) b (c) {state} 12 7 7 0 -1 {flags} 1 2 3");
        let stat = Stat::parse(&line("4194304", "S")).expect("a line");
        assert_eq!((stat.comm.as_str(), stat.state, stat.parent), ("a) b (c", 'S', 12));
        assert!(!stat.is_of_the_kernel());
        assert!(Stat::parse(&line("2097216", "I")).expect("a line").is_of_the_kernel());
        assert_eq!(Stat::parse("7 (sh"), None);
        assert_eq!(Stat::parse(""), None);
        for (flags, state, mode) in [
            ("0", "R", (false, 0)),
            ("16", "R", (true, 0)),
            ("0", "S", (true, 1)),
            ("0", "D", (true, 1)),
            ("0", "t", (true, 4)),
        ] {
            assert_eq!(Stat::parse(&line(flags, state)).expect("a line").mode(), mode, "{flags} {state}");
        }
    }

    const MOUNTS: &str = "\
22 1 254:1 / / rw,relatime - ext4 /dev/vda1 rw
30 22 0:25 / /dev/shm rw - tmpfs tmpfs rw
broken
";

    #[test]
    fn shared_mappings_of_files_on_storage_are_listed() {
        let mounts = Mounts::parse(MOUNTS);
        let mapped = |line: &str| mapped_file(9, line, &mounts);
        let file = mapped("7f0000000000-7f0000002000 rw-s 00001000 fe:01 1234                       /data/my file")
            .expect("a file");
        assert_eq!((file.path.as_str(), file.offset, file.bytes, file.writable), ("/data/my file", 4096, 8192, true));
        assert_eq!(file.file, FileId { s_dev: 254 << 20 | 1, ino: 1234 });
        assert!(!mapped("7f00-7f10 r--s 00000000 fe:01 5   /data/b").expect("a file").writable);
        for other in [
            "7f00-7f10 rw-p 00000000 fe:01 1234   /lib/libc.so.6",
            "7f00-7f10 rw-s 00000000 00:19 7   /dev/shm/x",
            "7f00-7f10 rw-s 00000000 00:05 7   /[aio] (deleted)",
            "7f00-7f10 rw-s 00000000 00:00 0",
            "7f00-7f10 rw-p 00000000 00:00 0   [heap]",
            "garbage",
            "",
        ] {
            assert_eq!(mapped(other), None, "{other}");
        }
    }

    #[test]
    fn our_own_files_are_found() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let proc = Proc("/proc".into());
        let pid = std::process::id();
        let open = proc.open_files(pid, &proc.mounts(pid)).expect("our own descriptors");
        let found = open.iter().find(|open| Path::new(&open.path) == file.path()).expect("it is open");
        assert_eq!(found.kind, FileKind::Regular);
        assert_eq!(found.file.ino, file.as_file().metadata().expect("its metadata").ino());
        assert_eq!((found.position, found.flags & libc::O_RDWR as u32), (0, libc::O_RDWR as u32));
        assert!(proc.threads(pid).contains(&pid));
        assert_eq!(proc.arguments(pid), std::env::args().collect::<Vec<_>>());
        assert_eq!(proc.stat(u32::MAX), None);
        assert!(proc.threads(u32::MAX).is_empty());
        assert!(proc.open_files(u32::MAX, &Mounts::default()).is_err());
    }
}
