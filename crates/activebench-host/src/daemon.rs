//! Finds the process behind a FUSE mount, and the files that it has open.
//!
//! The processes belong to other users, who may be hostile. Only names, links and texts of `/proc` are read, and no link
//! is followed but those of the kernel to device nodes below `/dev`: a file on a server that does not answer would hang
//! us. Processes and descriptors are looked at up to a bound. What data a daemon moved is not known here: the block
//! events say it (`activebench-engine`).

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use activebench_model::call::{DeviceNumber, FileId};
use activebench_model::daemon::{Daemon, DaemonProcess, FoundBy};
use activebench_model::host::Target;
use rustix::fs::OFlags;

use crate::device_users::flags_of;
use crate::mounts::Mounts;
use crate::reader::Reader;
use crate::roots::{Process, Roots};
use crate::survey::{StorageRef, Survey};

/// Processes that are looked at: the largest number of processes of a Linux system (`PID_MAX_LIMIT`).
const MOST_PROCESSES: usize = 1 << 22;
/// Descriptors that are looked at, of all processes together.
const MOST_DESCRIPTORS: usize = 1 << 20;
/// Files that are kept of one daemon.
const MOST_FILES: usize = 4096;
/// The PID namespace whose numbers the kernel's records have: `PROC_PID_INIT_INO` of include/linux/proc_ns.h.
const FIRST_PID_NAMESPACE: &str = "pid:[4026531836]";
/// File systems that hold no data of a daemon: the kernel makes their files.
const OF_THE_KERNEL: [&str; 8] = ["proc", "sysfs", "devtmpfs", "devpts", "cgroup", "cgroup2", "mqueue", "fusectl"];

/// Returns what is known of the daemon behind a target, which is a FUSE file system, and the storage below the files that
/// it has open. `moved` are files whose data its processes moved to or from a device, by process.
pub fn daemon_of(roots: &Roots, target: &Target, moved: &dyn Fn(u32) -> BTreeSet<FileId>) -> Daemon {
    let mut reader = Reader::new(roots, Process::Own);
    let mut daemon = match processes(&mut reader, target) {
        Ok(processes) => Daemon {
            s_dev: target.s_dev,
            processes,
            unknown: None,
            files: Vec::new(),
            storage: Vec::new(),
            elsewhere: Vec::new(),
        },
        Err(why) => return Daemon::unknown(target.s_dev, why),
    };
    let mut survey = Survey::of(roots, Process::Own);
    let (mut files, mut storage) = (BTreeSet::new(), Vec::new());
    for process in &daemon.processes {
        match Opened::by(&reader, process.pid) {
            Ok(opened) => {
                files.extend(opened.files);
                for way in opened.elsewhere {
                    if !daemon.elsewhere.contains(&way) {
                        daemon.elsewhere.push(way);
                    }
                }
            }
            Err(why) => daemon.unknown = Some(why),
        }
        files.extend(moved(process.pid));
    }
    if files.len() > MOST_FILES {
        daemon.unknown = Some(format!("it has more than {MOST_FILES} files"));
    }
    daemon.files.extend(files.into_iter().take(MOST_FILES));
    for file in &daemon.files {
        let device = DeviceNumber(file.s_dev);
        let of_storage = match file.ino {
            // A block device is a file with the device's number.
            0 => StorageRef::Device(device),
            _ => StorageRef::FileSystem { s_dev: device, path: None },
        };
        // A file of the mount itself is served by the daemon, and no storage of its own.
        if device != target.s_dev && !storage.contains(&of_storage) {
            storage.push(of_storage);
        }
    }
    daemon.storage = survey.targets_of(&storage);
    daemon
}

/// Finds the processes that serve a FUSE file system.
///
/// # Errors
/// Returns why they are not known, as a lower-case fragment.
fn processes(reader: &mut Reader, target: &Target) -> Result<Vec<DaemonProcess>, String> {
    if target.s_dev.major() != 0 {
        return Err("it is mounted from a block device".to_owned());
    }
    let namespace = reader.target(Path::new("/proc/self/ns/pid"));
    if namespace.is_ok_and(|namespace| namespace.as_os_str() != FIRST_PID_NAMESPACE) {
        return Err("activebench runs in a PID namespace of its own, where processes have other numbers".to_owned());
    }
    let names = reader.names(Path::new("/proc")).map_err(|error| error.to_string())?;
    let pids = names.iter().filter_map(|name| name.to_str()?.parse::<u32>().ok()).take(MOST_PROCESSES);
    let (mut by_connection, mut holders, mut looked_at, mut hidden) = (Vec::new(), Vec::new(), 0, 0_u64);
    for pid in pids {
        let folder = Process::Id(pid).folder();
        let descriptors = match reader.names(&folder.join("fd")) {
            Ok(descriptors) => descriptors,
            Err(error) if error.is_gone() => continue,
            Err(_) => {
                hidden += 1;
                continue;
            }
        };
        looked_at += descriptors.len();
        if looked_at > MOST_DESCRIPTORS {
            return Err(format!("the processes of this host have more than {MOST_DESCRIPTORS} open files"));
        }
        let is_fuse = |name: &&std::ffi::OsString| {
            reader.target(&folder.join("fd").join(name)).is_ok_and(|target| target.as_os_str() == "/dev/fuse")
        };
        for name in descriptors.iter().filter(is_fuse) {
            // A descriptor that has been closed since serves nothing.
            let Ok(text) = reader.text(&folder.join("fdinfo").join(name)) else { continue };
            match field(&text, "fuse_connection:").and_then(|number| number.parse::<u32>().ok()) {
                Some(number) if number == target.s_dev.minor() => by_connection.push(pid),
                Some(_) => {}
                None => holders.push(pid),
            }
        }
    }
    by_connection.dedup();
    holders.dedup();
    let found_by = if by_connection.is_empty() { FoundBy::CommandLine } else { FoundBy::Connection };
    let found = match found_by {
        FoundBy::Connection => by_connection,
        FoundBy::CommandLine => {
            let mut named = Vec::new();
            for pid in holders {
                match reader.bytes(&Process::Id(pid).folder().join("cmdline")) {
                    Ok(words) if words.split(|byte| *byte == 0).any(|word| word == target.mount_point.as_bytes()) => {
                        named.push(pid);
                    }
                    Ok(_) => {}
                    Err(error) if error.is_gone() => {}
                    // It may be the one.
                    Err(_) => hidden += 1,
                }
            }
            named
        }
    };
    match (found.as_slice(), found_by, hidden) {
        ([], _, 0) => Err("no process has its connection open".to_owned()),
        ([], _, hidden @ 1..) | (_, FoundBy::CommandLine, hidden @ 1..) => {
            Err(format!("the files of {hidden} processes cannot be read (hint: run as root)"))
        }
        ([_, _, ..], FoundBy::CommandLine, _) => Err("several processes could be its daemon".to_owned()),
        (found, ..) => {
            let name = |pid: u32| reader.text(&Process::Id(pid).folder().join("comm"));
            let process = |pid: &u32| DaemonProcess {
                pid: *pid,
                name: name(*pid).unwrap_or_else(|_| "not known".to_owned()),
                found_by,
            };
            Ok(found.iter().map(process).collect())
        }
    }
}

/// What a process has open.
#[derive(Debug, Default)]
struct Opened {
    files: BTreeSet<FileId>,
    /// Ways by which data can come from somewhere else.
    elsewhere: BTreeSet<String>,
}

impl Opened {
    fn by(reader: &Reader, pid: u32) -> Result<Self, String> {
        let folder = Process::Id(pid).folder();
        let (mounts, _) = Mounts::parse(&reader.bytes(&folder.join("mountinfo")).map_err(|error| error.to_string())?);
        let names = reader.names(&folder.join("fd")).map_err(|error| error.to_string())?;
        // Where its own tools may ask it something. No data comes from there.
        let unix = reader.text(&folder.join("net/unix")).unwrap_or_default();
        let listening: BTreeSet<&str> = unix.lines().filter_map(listening_socket).collect();
        let mut opened = Self::default();
        let (mut read, mut written) = (BTreeSet::new(), BTreeSet::new());
        for name in names.iter().take(MOST_DESCRIPTORS) {
            let link = folder.join("fd").join(name);
            let Ok(target) = reader.target(&link) else { continue };
            let Ok(about) = reader.text(&folder.join("fdinfo").join(name)) else { continue };
            let access = flags_of(&about).unwrap_or(OFlags::RDWR) & OFlags::RWMODE;
            let bytes = target.as_os_str().as_bytes();
            if let Some(socket) = bytes.strip_prefix(b"socket:[") {
                let listens =
                    std::str::from_utf8(socket).is_ok_and(|inode| listening.contains(inode.trim_end_matches(']')));
                if !listens {
                    opened.elsewhere.insert("it has a socket open".to_owned());
                }
            } else if bytes.starts_with(b"pipe:") {
                if access != OFlags::WRONLY {
                    read.insert(target.clone());
                }
                if access != OFlags::RDONLY {
                    written.insert(target);
                }
            } else if target.starts_with("/dev")
                && let Ok(Some(device)) = reader.block_device(&link)
            {
                opened.files.insert(FileId { ino: 0, s_dev: device.0 });
            } else if target.is_absolute() {
                match file_of(&about, &mounts) {
                    Some(file) => opened.files.extend(file),
                    None => {
                        opened.elsewhere.insert("it has a file open whose file system is not known".to_owned());
                    }
                }
            }
        }
        // A pipe of which a process holds both ends is its own buffer.
        if read.difference(&written).next().is_some() {
            opened.elsewhere.insert("it reads from a pipe".to_owned());
        }
        Ok(opened)
    }
}

/// Returns the inode of a listening socket of this host in a line of `/proc/PID/net/unix`.
fn listening_socket(line: &str) -> Option<&str> {
    // __SO_ACCEPTCON of include/uapi/linux/net.h.
    const LISTENS: u32 = 1 << 16;
    let fields: Vec<&str> = line.split_ascii_whitespace().collect();
    let flags = u32::from_str_radix(fields.get(3)?, 16).ok()?;
    (flags & LISTENS != 0).then_some(*fields.get(6)?)
}

/// Returns the file of a descriptor; `Some(None)` for one that the kernel makes up. Does not ask the file itself.
fn file_of(about: &str, mounts: &Mounts) -> Option<Option<FileId>> {
    let mount: u64 = field(about, "mnt_id:")?.parse().ok()?;
    let mount = mounts.0.iter().find(|known| known.id == mount)?;
    if OF_THE_KERNEL.contains(&mount.fs_type.as_str()) {
        return Some(None);
    }
    let ino = field(about, "ino:")?.parse().ok()?;
    Some(Some(FileId { ino, s_dev: mount.device.0 }))
}

fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.strip_prefix(name)).map(str::trim)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use activebench_model::host::Tier;

    use super::*;

    const MOUNTS: &str = "27 1 253:0 / / rw - ext4 /dev/vda rw\n45 27 7:2 / /store rw - ext4 /dev/loop2 rw\n46 27 0:40 / \
                          /mnt rw - fuse /store rw\n47 27 0:41 / /tmp rw - tmpfs tmpfs rw\n48 27 0:6 / /dev rw - devtmpfs \
                          none rw\n";

    struct Tree(tempfile::TempDir);

    impl Tree {
        fn new() -> Self {
            let tree = Self(tempfile::tempdir().expect("a folder"));
            tree.process(1, "init", &["/sbin/init"]);
            tree.file("self/mountinfo", MOUNTS);
            tree
        }

        fn file(&self, path: &str, text: &str) {
            let path = self.0.path().join("proc").join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, text).expect("a file");
        }

        fn process(&self, pid: u32, name: &str, words: &[&str]) {
            self.file(&format!("{pid}/comm"), &format!("{name}\n"));
            self.file(&format!("{pid}/cmdline"), &words.join("\0"));
            self.file(&format!("{pid}/mountinfo"), MOUNTS);
            fs::create_dir_all(self.0.path().join(format!("proc/{pid}/fd"))).expect("a folder");
        }

        fn open(&self, pid: u32, fd: u32, target: &str, about: &str) {
            symlink(target, self.0.path().join(format!("proc/{pid}/fd/{fd}"))).expect("a link");
            self.file(&format!("{pid}/fdinfo/{fd}"), about);
        }

        fn daemon(&self) -> Daemon {
            let target = Target {
                s_dev: DeviceNumber::new(0, 40),
                mount_point: "/mnt".to_owned(),
                fs_type: "fuse".to_owned(),
                options: String::new(),
                layers: Vec::new(),
                tier: Tier::Fuse,
            };
            daemon_of(&Roots::at(self.0.path()), &target, &|_| BTreeSet::new())
        }
    }

    const FUSE: &str = "pos:\t0\nflags:\t0100002\nmnt_id:\t48\nino:\t90\n";

    fn connection(number: u32) -> String {
        format!("{FUSE}fuse_connection:\t{number}\n")
    }

    #[test]
    fn the_process_with_the_connection_is_the_daemon() {
        let tree = Tree::new();
        tree.process(7, "other", &["other", "/mnt"]);
        tree.open(7, 3, "/dev/fuse", &connection(41));
        tree.process(9, "bindfs", &["bindfs", "/store", "/mnt"]);
        tree.open(9, 3, "/store", "pos:\t0\nflags:\t0100000\nmnt_id:\t45\nino:\t12\n");
        tree.open(9, 4, "/dev/fuse", &connection(40));
        tree.open(9, 5, "pipe:[1]", "flags:\t01\n");
        let daemon = tree.daemon();
        assert_eq!(daemon.unknown, None);
        assert_eq!(daemon.name(), "bindfs (process 9)");
        assert_eq!(daemon.processes[0].found_by, FoundBy::Connection);
        assert_eq!(daemon.files, [FileId { ino: 12, s_dev: DeviceNumber::new(7, 2).0 }]);
        assert_eq!(daemon.storage.iter().map(|target| target.fs_type.as_str()).collect::<Vec<_>>(), ["ext4"]);
        assert_eq!(daemon.elsewhere, Vec::<String>::new());
    }

    #[test]
    fn a_file_that_is_named_like_the_device_is_not_a_connection() {
        let tree = Tree::new();
        tree.process(9, "liar", &["liar", "/mnt"]);
        tree.open(9, 4, "/dev/fuse (deleted)", &connection(40));
        assert_eq!(tree.daemon().unknown.as_deref(), Some("no process has its connection open"));
    }

    #[test]
    fn without_connections_the_command_line_decides_if_it_is_the_only_one() {
        let tree = Tree::new();
        tree.process(9, "old", &["old", "/mnt"]);
        tree.open(9, 4, "/dev/fuse", FUSE);
        tree.process(10, "elsewhere", &["elsewhere", "/mnt2"]);
        tree.open(10, 4, "/dev/fuse", FUSE);
        let daemon = tree.daemon();
        assert_eq!((daemon.name().as_str(), daemon.processes[0].found_by), ("old (process 9)", FoundBy::CommandLine));
        tree.process(11, "double", &["double", "/mnt"]);
        tree.open(11, 4, "/dev/fuse", FUSE);
        assert_eq!(tree.daemon().unknown.as_deref(), Some("several processes could be its daemon"));
    }

    #[test]
    fn sockets_and_pipes_of_others_are_other_sources() {
        let tree = Tree::new();
        tree.process(9, "sshfs", &["sshfs", "host:", "/mnt"]);
        tree.open(9, 4, "/dev/fuse", &connection(40));
        tree.file(
            "9/net/unix",
            "Num RefCount Protocol Flags Type St Inode Path\n0: 00000002 00000000 00010000 0001 01 70 /run/control\n",
        );
        tree.open(9, 10, "socket:[70]", "flags:\t02\n");
        assert_eq!(tree.daemon().elsewhere, Vec::<String>::new());
        tree.open(9, 5, "socket:[7]", "flags:\t02\n");
        tree.open(9, 6, "pipe:[8]", "flags:\t00\n");
        tree.open(9, 7, "pipe:[9]", "flags:\t00\n");
        tree.open(9, 8, "pipe:[9]", "flags:\t01\n");
        tree.open(9, 9, "/gone", "flags:\t00\nmnt_id:\t99\nino:\t5\n");
        let expected =
            ["it has a file open whose file system is not known", "it has a socket open", "it reads from a pipe"];
        assert_eq!(tree.daemon().elsewhere, expected);
    }

    #[test]
    fn files_in_memory_are_storage_too_and_those_of_the_kernel_are_not() {
        let tree = Tree::new();
        tree.process(9, "bindfs", &["bindfs"]);
        tree.open(9, 4, "/dev/fuse", &connection(40));
        tree.open(9, 5, "/tmp", "flags:\t0200000\nmnt_id:\t47\nino:\t1\n");
        tree.open(9, 6, "/dev/null", "flags:\t02\nmnt_id:\t48\nino:\t3\n");
        let daemon = tree.daemon();
        assert_eq!(daemon.storage.iter().map(|target| target.tier).collect::<Vec<_>>(), [Tier::Memory]);
        assert_eq!((daemon.unknown, daemon.elsewhere), (None, Vec::new()));
    }
}
