//! Reads the machine and the storage below the files of a run.
//!
//! Holds readers of `/proc` and `/sys`: the machine, the mounts, the device stack below a file system, and the
//! observation rights of this process. Every reader takes the two folders as [`Roots`], so that tests run on recorded
//! trees. Does not open the benchmark's files or devices, and runs nothing. A reader of several values does not fail:
//! what cannot be read is missing, and listed in `unread`. A reader of one answer ([`block_devices_behind`],
//! [`io_limits`], [`traffic`], [`Survey::apart_from`]) returns an error. The types are in `activebench_model::host`;
//! `activebench-detect` judges them.

mod block;
mod cgroup;
mod daemon;
mod device_users;
mod hardware;
mod identity;
mod interfaces;
mod machine;
mod mounts;
mod observability;
mod pin;
mod reader;
mod roots;
mod stack;
mod steal;
mod survey;
mod watch;

pub use cgroup::{IoLimits, io_limits};
pub use daemon::daemon_of;
pub use device_users::{Opener, Usage, block_devices_behind, usage_of};
pub use hardware::read_hardware;
pub use interfaces::{Traffic, traffic};
pub use machine::{read_host, read_host_of_run};
pub use mounts::{Mount, Mounts};
pub use observability::{About, Gap, Mend, Observability};
pub use pin::Pin;
pub use reader::device_number;
pub use roots::{Process, Roots};
pub use steal::StealWatch;
pub use survey::{Seen, StorageRef, Survey, shares_device};
pub use watch::HostWatch;
