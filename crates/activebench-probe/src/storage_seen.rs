//! The mounts that the processes of the tree had when they executed a program, and what loop devices held then. A script
//! sets up storage and takes it away again, and a container has mounts of its own: at the end of the run none of it is
//! seen any more. Reads `/proc/PID/mountinfo` and sysfs when the execution is seen, a few milliseconds after it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// Maximum bytes that are read of one list: more are one of a machine with thousands of mounts, and are left out whole.
const MOST_LIST_BYTES: u64 = 1 << 20;
/// Maximum bytes that are read in all: a script may execute programs without end.
const MOST_READ_BYTES: u64 = 64 << 20;
/// Maximum bytes of distinct lines that are kept.
const MOST_KEPT_BYTES: usize = 4 << 20;
/// Maximum number of attributes of loop devices that are kept.
const MOST_ATTRIBUTES: usize = 1 << 12;

/// The folder of the loop devices.
const DEVICES: &str = "/sys/devices/virtual/block";
/// What is read of each. The kernel has these files only while the device has a backing file.
const ATTRIBUTES: &[&str] = &["loop/backing_file", "loop/dio", "loop/offset", "loop/sizelimit"];

/// What was seen of the storage below the tree while it ran, up to a bound.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StorageSeen {
    /// Distinct lines of `mountinfo` of the processes that still lived.
    lines: BTreeSet<Vec<u8>>,
    /// Contents of files below `/sys`; `None` where they changed.
    attributes: BTreeMap<PathBuf, Option<Vec<u8>>>,
    #[serde(skip)]
    read_bytes: u64,
    #[serde(skip)]
    kept_bytes: usize,
}

impl StorageSeen {
    /// Reads the mounts of a process that has just executed a program, and the loop devices. The number is one of our own
    /// PID namespace.
    pub(crate) fn read(&mut self, tgid: u32) {
        if self.read_bytes < MOST_READ_BYTES {
            self.read_loops(Path::new(DEVICES));
            self.read_mounts(Path::new(&format!("/proc/{tgid}/mountinfo")));
        }
    }

    fn read_mounts(&mut self, list: &Path) {
        let mut text = Vec::new();
        let Ok(list) = File::open(list) else { return };
        let Ok(bytes) = list.take(MOST_LIST_BYTES + 1).read_to_end(&mut text) else { return };
        self.read_bytes += bytes as u64;
        if bytes as u64 <= MOST_LIST_BYTES {
            self.add(&text);
        }
    }

    fn read_loops(&mut self, devices: &Path) {
        let devices = fs::read_dir(devices).into_iter().flatten().flatten();
        for device in devices.filter(|device| device.file_name().as_encoded_bytes().starts_with(b"loop")) {
            for attribute in ATTRIBUTES {
                let path = device.path().join(attribute);
                // A device without a backing file has none of them.
                let Ok(content) = fs::read(&path) else { break };
                self.read_bytes += content.len() as u64;
                let has_room = self.attributes.len() < MOST_ATTRIBUTES;
                match self.attributes.get_mut(&path) {
                    Some(known) if known.as_deref() != Some(&content) => *known = None,
                    Some(_) => {}
                    None if has_room => {
                        self.attributes.insert(path, Some(content));
                    }
                    None => return,
                }
            }
        }
    }

    fn add(&mut self, text: &[u8]) {
        for line in text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let fits = self.kept_bytes + line.len() <= MOST_KEPT_BYTES;
            if fits && !self.lines.contains(line) {
                self.kept_bytes += line.len();
                self.lines.insert(line.to_owned());
            }
        }
    }

    /// Returns the contents of files below `/sys` that were the same whenever they were there.
    pub fn attributes(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        self.attributes.iter().filter_map(|(path, content)| Some((path.clone(), content.clone()?))).collect()
    }

    /// Returns the lines as the text of a `mountinfo`.
    pub fn mounts(&self) -> Vec<u8> {
        self.lines.iter().flat_map(|line| line.iter().chain(b"\n")).copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_is_kept_once_and_those_of_ended_processes_are_missing() {
        let mut seen = StorageSeen::default();
        seen.add(b"2 1 0:45 / /mnt rw - tmpfs none rw\n1 0 8:0 / / rw - ext4 /dev/sda rw\n");
        seen.add(b"1 0 8:0 / / rw - ext4 /dev/sda rw\n");
        let both = b"1 0 8:0 / / rw - ext4 /dev/sda rw\n2 1 0:45 / /mnt rw - tmpfs none rw\n";
        assert_eq!(seen.mounts(), both);
        seen.read(u32::MAX);
        assert_eq!(seen.mounts(), both);
        seen.read(std::process::id());
        assert!(seen.mounts().len() > both.len());
    }

    #[test]
    fn what_a_loop_device_held_is_known_unless_it_changed() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, content: &str| {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("it can be made");
            fs::write(path, content).expect("it can be written");
        };
        write("loop0/loop/backing_file", "/a.img\n");
        write("loop0/loop/dio", "1\n");
        write("loop1/size", "0\n");
        write("zram0/loop/dio", "1\n");
        let mut seen = StorageSeen::default();
        seen.read_loops(folder.path());
        let known: Vec<_> = seen.attributes().into_values().collect();
        assert_eq!(known, [b"/a.img\n".to_vec(), b"1\n".to_vec()]);
        write("loop0/loop/backing_file", "/b.img\n");
        seen.read_loops(folder.path());
        write("loop0/loop/backing_file", "/a.img\n");
        seen.read_loops(folder.path());
        assert_eq!(seen.attributes().into_values().collect::<Vec<_>>(), [b"1\n".to_vec()]);
    }

    #[test]
    fn a_list_that_is_too_long_is_left_out_whole_and_counts_as_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let list = folder.path().join("mountinfo");
        fs::write(&list, vec![b'x'; MOST_LIST_BYTES as usize + 2]).expect("it can be written");
        let mut seen = StorageSeen::default();
        seen.read_mounts(&list);
        assert_eq!(seen.mounts(), b"");
        assert_eq!(seen.read_bytes, MOST_LIST_BYTES + 1);
    }

    #[test]
    fn what_is_read_in_all_is_bounded() {
        let mut seen = StorageSeen { read_bytes: MOST_READ_BYTES, ..StorageSeen::default() };
        seen.read(std::process::id());
        assert_eq!(seen.mounts(), b"");
        seen.read_bytes = MOST_READ_BYTES - 1;
        seen.read(std::process::id());
        assert!(!seen.mounts().is_empty());
        let read_bytes = seen.read_bytes;
        seen.read(std::process::id());
        assert_eq!(seen.read_bytes, read_bytes);
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let mut seen = StorageSeen::default();
        let line = [b'x'; 1 << 10];
        for number in 0..8_u32 << 10 {
            seen.add(&[&number.to_le_bytes().map(|byte| byte.max(b' ')), line.as_slice()].concat());
        }
        assert!(seen.mounts().len() <= MOST_KEPT_BYTES + (MOST_KEPT_BYTES >> 10), "{}", seen.mounts().len());
    }
}
