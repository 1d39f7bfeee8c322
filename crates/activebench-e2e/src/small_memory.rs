//! A control group whose page cache is as small as its memory.

use std::fs;
use std::path::{Path, PathBuf};

/// Said of what the kernel killed in such a group.
pub const KILLED: &str = "the kernel killed a process of it: no memory was left in its control group";

/// The group; removed when dropped.
#[derive(Debug)]
pub struct SmallMemory(PathBuf);

impl SmallMemory {
    /// Uses either version of control groups; `None` when neither permits it.
    pub fn new(bytes: u64) -> Option<Self> {
        let name = format!("activebench-e2e-{}", std::process::id());
        [("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")].into_iter().find_map(
            |(root, limit)| {
                let folder = Path::new(root).join(&name);
                if !Path::new(root).join("cgroup.procs").exists() {
                    return None;
                }
                fs::create_dir(&folder).ok()?;
                let group = Self(folder);
                fs::write(group.0.join(limit), bytes.to_string()).ok()?;
                Some(group)
            },
        )
    }

    /// The file by which a process joins.
    pub fn joined_by(&self) -> PathBuf {
        self.0.join("cgroup.procs")
    }

    /// Returns `true` if the kernel killed a process of the group for lack of memory. Pages under writeback are not
    /// freed: where the device is slow, that may happen to a program that only writes files.
    pub fn has_killed(&self) -> bool {
        has_killed(&self.0)
    }
}

impl Drop for SmallMemory {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir(&self.0) {
            eprintln!("cleaning up: {}: {error}", self.0.display());
        }
    }
}

/// Returns `true` if the kernel killed a process of the control group in this folder for lack of memory.
pub(crate) fn has_killed(folder: &Path) -> bool {
    // Version 1, then version 2.
    let files = ["memory.oom_control", "memory.events"].map(|file| fs::read_to_string(folder.join(file)));
    let mut lines = files.iter().flatten().flat_map(|text| text.lines());
    lines.any(|line| line.strip_prefix("oom_kill ").is_some_and(|kills| kills.trim() != "0"))
}
