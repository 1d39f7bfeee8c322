//! The folders in which the processes of the tree executed programs. Reads `/proc/PID/cwd` when the execution is seen, a
//! few milliseconds after it.

use std::fs::read_link;

use serde::{Deserialize, Serialize};

use crate::observation::has_kernel_ids;

/// Maximum number of executions whose folders are kept.
const MOST: usize = 1 << 14;

/// The folder of an execution.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Folder {
    tgid: u32,
    /// Time of the execution.
    at_ns: u64,
    path: String,
}

/// The folders of executions: of the first ones, of processes that still lived, and of names in UTF-8.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Folders {
    folders: Vec<Folder>,
    /// The processes have the numbers of our own PID namespace.
    #[serde(skip)]
    ids_are_ours: bool,
}

impl Folders {
    /// Returns the folder in which a process executed a program at a time; `None` where it is not known.
    pub fn of(&self, tgid: u32, at_ns: u64) -> Option<&str> {
        let folder = self.folders.iter().find(|folder| folder.tgid == tgid && folder.at_ns == at_ns)?;
        Some(&folder.path)
    }

    /// Says that the processes have the numbers of our own PID namespace.
    pub(crate) fn ids_are_ours(&mut self) {
        self.ids_are_ours = true;
    }

    /// Returns `true` if the numbers of the processes are ours. In another PID namespace than the kernel's records, another
    /// process has this number.
    pub(crate) fn can_be_read(&self) -> bool {
        self.ids_are_ours || has_kernel_ids()
    }

    /// Reads the folder of a process that has just executed a program.
    pub(crate) fn read(&mut self, tgid: u32, at_ns: u64) {
        if self.folders.len() == MOST || !self.can_be_read() {
            return;
        }
        let path =
            read_link(format!("/proc/{tgid}/cwd")).ok().and_then(|path| path.into_os_string().into_string().ok());
        self.folders.extend(path.map(|path| Folder { tgid, at_ns, path }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_of_an_execution_is_known_while_its_process_lives() {
        let own = std::env::current_dir().expect("a folder").into_os_string().into_string().expect("UTF-8");
        let mut folders = Folders::default();
        folders.read(std::process::id(), 5);
        folders.read(u32::MAX, 6);
        let expected = has_kernel_ids().then_some(own.as_str());
        assert_eq!(folders.of(std::process::id(), 5), expected);
        assert_eq!(folders.of(std::process::id(), 6), None);
        assert_eq!(folders.of(u32::MAX, 6), None);
    }
}
