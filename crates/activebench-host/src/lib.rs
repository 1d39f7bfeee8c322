//! What the machine is, and what lies below the files of a run.
//!
//! Holds readers of `/proc` and `/sys`: the machine, the mounts, the device stack below a
//! file system, and what this process may observe. Every reader takes the two folders as
//! [`Roots`], so that tests run on recorded trees. Opens neither the benchmark's files nor its
//! devices, runs nothing and never fails: what cannot be read is missing, and said in `unread`.
//! The nouns are in `activebench_model::host`; judging them is `activebench-detect`'s part.

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
