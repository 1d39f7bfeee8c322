//! The mounts that the processes of the tree had when they executed a program. A script mounts a file system and takes it
//! away again, and a container has mounts of its own: at the end of the run neither is in our own list. Reads
//! `/proc/PID/mountinfo` when the execution is seen, a few milliseconds after it.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;

use serde::{Deserialize, Serialize};

/// Maximum bytes that are read of one list: more are one of a machine with thousands of mounts, and are left out whole.
const MOST_LIST_BYTES: u64 = 1 << 20;
/// Maximum bytes that are read in all: a script may execute programs without end.
const MOST_READ_BYTES: u64 = 64 << 20;
/// Maximum bytes of distinct lines that are kept.
const MOST_KEPT_BYTES: usize = 4 << 20;

/// Distinct lines of `mountinfo` of the processes of the tree: of those that still lived, up to a bound.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MountsSeen {
    lines: BTreeSet<Vec<u8>>,
    #[serde(skip)]
    read_bytes: u64,
    #[serde(skip)]
    kept_bytes: usize,
}

impl MountsSeen {
    /// Reads the mounts of a process that has just executed a program. The number is one of our own PID namespace.
    pub(crate) fn read(&mut self, tgid: u32) {
        if self.read_bytes >= MOST_READ_BYTES {
            return;
        }
        let mut text = Vec::new();
        let Ok(list) = File::open(format!("/proc/{tgid}/mountinfo")) else { return };
        let Ok(bytes) = list.take(MOST_LIST_BYTES + 1).read_to_end(&mut text) else { return };
        self.read_bytes += bytes as u64;
        if bytes as u64 <= MOST_LIST_BYTES {
            self.add(&text);
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

    /// Returns the lines as the text of a `mountinfo`.
    pub fn text(&self) -> Vec<u8> {
        self.lines.iter().flat_map(|line| line.iter().chain(b"\n")).copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_is_kept_once_and_those_of_ended_processes_are_missing() {
        let mut seen = MountsSeen::default();
        seen.add(b"2 1 0:45 / /mnt rw - tmpfs none rw\n1 0 8:0 / / rw - ext4 /dev/sda rw\n");
        seen.add(b"1 0 8:0 / / rw - ext4 /dev/sda rw\n");
        let both = b"1 0 8:0 / / rw - ext4 /dev/sda rw\n2 1 0:45 / /mnt rw - tmpfs none rw\n";
        assert_eq!(seen.text(), both);
        seen.read(u32::MAX);
        assert_eq!(seen.text(), both);
        seen.read(std::process::id());
        assert!(seen.text().len() > both.len());
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let mut seen = MountsSeen::default();
        let line = [b'x'; 1 << 10];
        for number in 0..8_u32 << 10 {
            seen.add(&[&number.to_le_bytes().map(|byte| byte.max(b' ')), line.as_slice()].concat());
        }
        assert!(seen.text().len() <= MOST_KEPT_BYTES + (MOST_KEPT_BYTES >> 10), "{}", seen.text().len());
    }
}
