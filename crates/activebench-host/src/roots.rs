//! The locations of `/proc` and `/sys`, and the process whose mounts are read.

use std::path::{Path, PathBuf};

/// The two folders from which all readers start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Roots {
    /// `/proc`, or a recorded copy of part of it.
    pub proc: PathBuf,
    /// `/sys`, or a recorded copy of part of it.
    pub sys: PathBuf,
}

impl Default for Roots {
    fn default() -> Self {
        Self { proc: PathBuf::from("/proc"), sys: PathBuf::from("/sys") }
    }
}

impl Roots {
    /// Returns the roots `proc` and `sys` inside a folder.
    pub fn at(root: impl AsRef<Path>) -> Self {
        Self { proc: root.as_ref().join("proc"), sys: root.as_ref().join("sys") }
    }
}

/// The process whose mounts, root, working directory and cgroup are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Process {
    /// The calling process.
    #[default]
    Own,
    /// Another process, by its id in the pid namespace of `/proc`.
    Id(u32),
}

impl Process {
    /// Returns the folder of the process, `/proc/self` or `/proc/4711`.
    pub(crate) fn folder(self) -> PathBuf {
        match self {
            Process::Own => PathBuf::from("/proc/self"),
            Process::Id(id) => PathBuf::from(format!("/proc/{id}")),
        }
    }
}
