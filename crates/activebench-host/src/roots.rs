//! Where `/proc` and `/sys` are, and whose view of the mounts counts.

use std::path::{Path, PathBuf};

/// The two folders that all readers start from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Roots {
    /// `/proc`, or a recorded copy of a part of it.
    pub proc: PathBuf,
    /// `/sys`, or a recorded copy of a part of it.
    pub sys: PathBuf,
}

impl Default for Roots {
    fn default() -> Self {
        Self { proc: PathBuf::from("/proc"), sys: PathBuf::from("/sys") }
    }
}

impl Roots {
    /// `proc` and `sys` inside a folder.
    pub fn at(root: impl AsRef<Path>) -> Self {
        Self { proc: root.as_ref().join("proc"), sys: root.as_ref().join("sys") }
    }
}

/// The process whose mounts, root, working directory and cgroup are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Process {
    /// The calling one.
    #[default]
    Own,
    /// Another one, by its id in the pid namespace of `/proc`.
    Id(u32),
}

impl Process {
    /// Its folder, `/proc/self` or `/proc/4711`.
    pub(crate) fn folder(self) -> PathBuf {
        match self {
            Process::Own => PathBuf::from("/proc/self"),
            Process::Id(id) => PathBuf::from(format!("/proc/{id}")),
        }
    }
}
