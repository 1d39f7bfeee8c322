//! The process behind a FUSE file system, and the storage on which it keeps the data.

use serde::{Deserialize, Serialize};

use crate::call::{DeviceNumber, FileId};
use crate::host::Target;

/// What is known of the daemon of a FUSE file system. It is read when the run has ended, while the file system is still
/// mounted. Source: `/proc` and the block probe.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Daemon {
    /// The super block's device of the FUSE file system. Its minor number is the number of the FUSE connection.
    pub s_dev: DeviceNumber,
    /// The processes that answer its requests; empty when they are not known.
    pub processes: Vec<DaemonProcess>,
    /// Why the processes or their files are not known, as a lower-case fragment; `None` when they are.
    pub unknown: Option<String>,
    /// Files, folders and block devices that the processes had open, and files whose data they moved to or from a device.
    pub files: Vec<FileId>,
    /// The storage below `files`.
    pub storage: Vec<Target>,
    /// Ways by which data can come from somewhere else, as lower-case fragments: `it has a socket open`.
    pub elsewhere: Vec<String>,
}

/// One process of a daemon.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DaemonProcess {
    /// Its id, in the numbers of the kernel's records.
    pub pid: u32,
    /// Its name: `/proc/PID/comm`.
    pub name: String,
    /// How it was found.
    pub found_by: FoundBy,
}

/// How the process behind a mount was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FoundBy {
    /// The kernel shows the connection of its descriptor (`fuse_connection` in `/proc/PID/fdinfo`).
    Connection,
    /// It is the only process with a FUSE descriptor whose command line names the mount point. Older kernels do not show
    /// the connection.
    CommandLine,
}

impl Daemon {
    /// Returns a daemon of which nothing is known, with the reason.
    pub fn unknown(s_dev: DeviceNumber, why: impl Into<String>) -> Self {
        let (processes, files, storage, elsewhere) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { s_dev, processes, unknown: Some(why.into()), files, storage, elsewhere }
    }

    /// Returns its name with its process id: `bindfs (process 4711)`.
    pub fn name(&self) -> String {
        match self.processes.as_slice() {
            [] => "the daemon".to_owned(),
            [only] => format!("{} (process {})", only.name, only.pid),
            [first, others @ ..] => format!("{} (process {} and {} more)", first.name, first.pid, others.len()),
        }
    }
}
