//! Preparation of a device before the runs that measure it.

use serde::{Deserialize, Serialize};

use crate::call::DeviceNumber;

/// A purged and preconditioned device (SNIA PTS): what was done, and what was observed of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Preparation {
    /// The device, as the user named it.
    pub device: String,
    /// Its number.
    pub number: DeviceNumber,
    /// Its size.
    pub size_bytes: u64,
    /// How it was purged.
    pub purge: Purge,
    /// Workload-independent preconditioning: the writes over all of it.
    pub preconditioning: Preconditioning,
}

/// How a device was brought into a state as if it had never been written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "how")]
pub enum Purge {
    /// All of it was discarded.
    Discard,
    /// It was not purged.
    Not {
        /// The reason, as a lower-case fragment.
        why: String,
    },
}

/// Sequential writes over the whole device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Preconditioning {
    /// The command that ran.
    pub command: Vec<String>,
    /// Bytes that the device completed for it, as observed; `None` where the observation was incomplete.
    pub written_bytes: Option<f64>,
    /// Directory of its recorded run, relative to that of the series.
    pub directory: String,
    /// SHA-256 of that run's `run.json`.
    pub sha256: String,
}
