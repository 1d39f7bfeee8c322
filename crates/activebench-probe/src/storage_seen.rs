//! The mounts that the processes of the tree had when they executed a program, and what loop devices held then. A script
//! sets up storage and takes it away again, and a container has mounts of its own: at the end of the run none of it is
//! seen any more, or something else has its numbers. Reads `/proc/PID/mountinfo` and sysfs when the execution is seen, a
//! few milliseconds after it.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Maximum bytes that are read of one list: more are one of a machine with thousands of mounts, and are left out whole.
const MOST_LIST_BYTES: u64 = 1 << 20;
/// Maximum bytes that are read in all: a script may execute programs without end.
const MOST_READ_BYTES: u64 = 64 << 20;
/// Maximum bytes of distinct lines that are kept.
const MOST_KEPT_BYTES: usize = 4 << 20;
/// Maximum number of contents of attributes of loop devices that are kept.
const MOST_CONTENTS: usize = 1 << 12;

/// The folder of the loop devices.
const DEVICES: &str = "/sys/devices/virtual/block";
/// What is read of each. The kernel has these files only while the device has a backing file.
const ATTRIBUTES: &[&str] = &["loop/backing_file", "loop/dio", "loop/offset", "loop/sizelimit"];

/// What was seen of the storage below the tree while it ran, up to a bound.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StorageSeen {
    /// Distinct lines of `mountinfo` of the processes that still lived, with the times of the executions of the first and
    /// the last of them, in nanoseconds of the monotonic clock.
    #[serde(serialize_with = "as_pairs", deserialize_with = "from_pairs")]
    lines: BTreeMap<Vec<u8>, RangeInclusive<u64>>,
    /// Contents of files below `/sys`, each with the time from which it was seen.
    attributes: BTreeMap<PathBuf, Vec<(u64, Vec<u8>)>>,
    #[serde(skip)]
    kept_contents: usize,
    #[serde(skip)]
    read_bytes: u64,
    #[serde(skip)]
    kept_bytes: usize,
}

impl StorageSeen {
    /// Reads the mounts of a process that executed a program at this time, and the loop devices. The number is one of our
    /// own PID namespace.
    pub(crate) fn read(&mut self, tgid: u32, at_ns: u64) {
        if self.read_bytes < MOST_READ_BYTES {
            self.read_loops(Path::new(DEVICES), at_ns);
            self.read_mounts(Path::new(&format!("/proc/{tgid}/mountinfo")), at_ns);
        }
    }

    fn read_mounts(&mut self, list: &Path, at_ns: u64) {
        let mut text = Vec::new();
        let Ok(list) = File::open(list) else { return };
        let Ok(bytes) = list.take(MOST_LIST_BYTES + 1).read_to_end(&mut text) else { return };
        self.read_bytes += bytes as u64;
        if bytes as u64 <= MOST_LIST_BYTES {
            self.add(&text, at_ns);
        }
    }

    fn read_loops(&mut self, devices: &Path, at_ns: u64) {
        let devices = fs::read_dir(devices).into_iter().flatten().flatten();
        for device in devices.filter(|device| device.file_name().as_encoded_bytes().starts_with(b"loop")) {
            for attribute in ATTRIBUTES {
                let path = device.path().join(attribute);
                // A device without a backing file has none of them.
                let Ok(content) = fs::read(&path) else { break };
                self.read_bytes += content.len() as u64;
                let known = self.attributes.entry(path).or_default();
                if known.last().is_some_and(|(_, last)| *last == content) {
                    continue;
                }
                if self.kept_contents < MOST_CONTENTS {
                    self.kept_contents += 1;
                    known.push((at_ns, content));
                } else {
                    known.clear();
                }
            }
        }
    }

    fn add(&mut self, text: &[u8], at_ns: u64) {
        for line in text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            if let Some(seen) = self.lines.get_mut(line) {
                *seen = *seen.start().min(&at_ns)..=*seen.end().max(&at_ns);
            } else if self.kept_bytes + line.len() <= MOST_KEPT_BYTES {
                self.kept_bytes += line.len();
                self.lines.insert(line.to_owned(), at_ns..=at_ns);
            }
        }
    }

    /// Returns the contents of files below `/sys` within a span of time: the last one from before it, and those from
    /// within it. `None` where these differ.
    pub fn attributes(&self, span_ns: &RangeInclusive<u64>) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
        let within = self.attributes.iter().filter_map(|(path, contents)| {
            let begun = contents.partition_point(|(at_ns, _)| at_ns <= span_ns.end());
            let before = contents.partition_point(|(at_ns, _)| at_ns <= span_ns.start());
            let (_, first) = contents[..begun].get(before.saturating_sub(1))?;
            let is_same = contents[before..begun].iter().all(|(_, content)| content == first);
            Some((path.clone(), is_same.then(|| first.clone())))
        });
        within.collect()
    }

    /// Returns the mounts within a span of time, as the text of a `mountinfo`: those that were seen up to its end. Leaves
    /// out a mount of which nothing was seen any more when the last one with its device number from before the span was
    /// seen first: the number was given again.
    pub fn mounts(&self, span_ns: &RangeInclusive<u64>) -> Vec<u8> {
        let mut given_at: BTreeMap<&[u8], u64> = BTreeMap::new();
        for (line, seen) in self.lines.iter().filter(|(_, seen)| seen.start() <= span_ns.start()) {
            let at = given_at.entry(device_of(line)).or_default();
            *at = *seen.start().max(at);
        }
        let is_within = |(line, seen): &(&Vec<u8>, &RangeInclusive<u64>)| {
            let given_again = given_at.get(device_of(line)).is_some_and(|at| seen.end() < at);
            seen.start() <= span_ns.end() && !given_again
        };
        self.lines.iter().filter(is_within).flat_map(|(line, _)| line.iter().chain(b"\n")).copied().collect()
    }
}

/// Writes the lines as a list, because JSON has only text as keys.
fn as_pairs<S: Serializer>(lines: &BTreeMap<Vec<u8>, RangeInclusive<u64>>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(lines)
}

fn from_pairs<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<Vec<u8>, RangeInclusive<u64>>, D::Error> {
    Ok(Vec::deserialize(deserializer)?.into_iter().collect())
}

/// Returns the device number in a line of `mountinfo`.
fn device_of(line: &[u8]) -> &[u8] {
    line.split(|byte| *byte == b' ').nth(2).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALWAYS: RangeInclusive<u64> = 0..=u64::MAX;

    #[test]
    fn each_line_is_kept_once_and_those_of_ended_processes_are_missing() {
        let mut seen = StorageSeen::default();
        seen.add(b"2 1 0:45 / /mnt rw - tmpfs none rw\n1 0 8:0 / / rw - ext4 /dev/sda rw\n", 1);
        seen.add(b"1 0 8:0 / / rw - ext4 /dev/sda rw\n", 1);
        let both = b"1 0 8:0 / / rw - ext4 /dev/sda rw\n2 1 0:45 / /mnt rw - tmpfs none rw\n";
        assert_eq!(seen.mounts(&ALWAYS), both);
        seen.read(u32::MAX, 1);
        assert_eq!(seen.mounts(&ALWAYS), both);
        seen.read(std::process::id(), 1);
        assert!(seen.mounts(&ALWAYS).len() > both.len());
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
        seen.read_loops(folder.path(), 10);
        let held = |seen: &StorageSeen, span: RangeInclusive<u64>| -> Vec<Option<String>> {
            let contents = seen.attributes(&span).into_values();
            contents.map(|content| content.map(|content| String::from_utf8(content).expect("text"))).collect()
        };
        let [a, b, direct] = ["/a.img\n", "/b.img\n", "1\n"].map(|text| Some(text.to_owned()));
        assert_eq!(held(&seen, ALWAYS), [a.clone(), direct.clone()]);
        write("loop0/loop/backing_file", "/b.img\n");
        seen.read_loops(folder.path(), 20);
        assert_eq!(held(&seen, ALWAYS), [None, direct.clone()]);
        assert_eq!(held(&seen, 11..=19), [a, direct.clone()]);
        assert_eq!(held(&seen, 15..=20), [None, direct.clone()]);
        assert_eq!(held(&seen, 21..=30), [b, direct]);
        assert_eq!(held(&seen, 1..=9), []);
        // What has no room is not taken for what was there before.
        seen.kept_contents = MOST_CONTENTS;
        write("loop0/loop/dio", "0\n");
        seen.read_loops(folder.path(), 40);
        assert_eq!(held(&seen, 41..=42).len(), 1);
    }

    #[test]
    fn a_number_that_is_given_again_is_that_of_the_mount_before_its_use() {
        let mut seen = StorageSeen::default();
        let [old, new] = [&b"2 1 0:45 / /mnt rw - tmpfs none rw\n"[..], b"3 1 0:45 / /mnt rw - btrfs /dev/sda rw\n"];
        seen.add(old, 10);
        seen.add(old, 12);
        seen.add(new, 20);
        assert_eq!(seen.mounts(&(13..=19)), old);
        assert_eq!(seen.mounts(&(21..=30)), new);
        assert_eq!(seen.mounts(&(13..=30)), [old, new].concat());
        assert_eq!(seen.mounts(&(1..=9)), b"");
        // The observer hands it over as JSON.
        let text = serde_json::to_string(&seen).expect("it can be written");
        let handed_over: StorageSeen = serde_json::from_str(&text).expect("it can be read");
        assert_eq!(handed_over.mounts(&(21..=30)), new);
    }

    #[test]
    fn a_list_that_is_too_long_is_left_out_whole_and_counts_as_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let list = folder.path().join("mountinfo");
        fs::write(&list, vec![b'x'; MOST_LIST_BYTES as usize + 2]).expect("it can be written");
        let mut seen = StorageSeen::default();
        seen.read_mounts(&list, 1);
        assert_eq!(seen.mounts(&ALWAYS), b"");
        assert_eq!(seen.read_bytes, MOST_LIST_BYTES + 1);
    }

    #[test]
    fn what_is_read_in_all_is_bounded() {
        let mut seen = StorageSeen { read_bytes: MOST_READ_BYTES, ..StorageSeen::default() };
        seen.read(std::process::id(), 1);
        assert_eq!(seen.mounts(&ALWAYS), b"");
        seen.read_bytes = MOST_READ_BYTES - 1;
        seen.read(std::process::id(), 1);
        assert!(!seen.mounts(&ALWAYS).is_empty());
        let read_bytes = seen.read_bytes;
        seen.read(std::process::id(), 1);
        assert_eq!(seen.read_bytes, read_bytes);
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let mut seen = StorageSeen::default();
        let line = [b'x'; 1 << 10];
        for number in 0..8_u32 << 10 {
            seen.add(&[&number.to_le_bytes().map(|byte| byte.max(b' ')), line.as_slice()].concat(), 1);
        }
        assert!(
            seen.mounts(&ALWAYS).len() <= MOST_KEPT_BYTES + (MOST_KEPT_BYTES >> 10),
            "{}",
            seen.mounts(&ALWAYS).len()
        );
    }
}
