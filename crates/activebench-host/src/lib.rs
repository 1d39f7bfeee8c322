//! Reads the machine and the storage below the files of a run.
//!
//! Holds readers of `/proc` and `/sys`: the machine, the mounts, the device stack below a file system, and the
//! observation rights of this process. Every reader takes the two folders as [`Roots`], so that tests run on recorded
//! trees. Does not open the benchmark's files or devices, runs nothing and never fails: what cannot be read is
//! missing, and listed in `unread`. The types are in `activebench_model::host`; `activebench-detect` judges them.

mod block;
mod cgroup;
mod hardware;
mod identity;
mod interfaces;
mod machine;
mod mounts;
mod observability;
mod reader;
mod roots;
mod stack;
mod steal;
mod survey;
mod usage;
mod watch;

pub use cgroup::{IoLimits, io_limits};
pub use hardware::read_hardware;
pub use interfaces::{Traffic, traffic};
pub use machine::read_host;
pub use mounts::{Mount, Mounts};
pub use observability::{About, Gap, Mend, Observability};
pub use roots::{Process, Roots};
pub use steal::StealWatch;
pub use survey::{StorageRef, Survey, shares_device};
pub use usage::{Opener, Usage, block_devices_behind, usage_of};
pub use watch::HostWatch;
