//! Observes a process tree: loads the kernel programs, follows the tree, receives their records and accounts for
//! every one of them.
//!
//! Does not judge. The records are packed and bounded. While the child runs they are written to a file only if that
//! cannot disturb the device under test.

mod bpf_call;
mod floor;
mod hooks;
mod kernel;
mod log;
mod mappings;
mod neighbours;
mod observation;
mod pack;
mod payload;
mod ring;
mod run_time;
mod sampling;
mod stacks;
mod store;
mod symbols;
mod totals;
mod unseen;
mod usage;

pub use floor::{Floor, FloorHooks, tracing_programs};
pub use hooks::{Hook, KernelTypes, LEAST_KERNEL, has_call_table, hooks};
pub use kernel::{Probe, ProbeError, ProbeOptions};
pub use log::{LogOptions, Spool};
pub use neighbours::{NeighbourError, other_tracers};
pub use observation::Observation;
pub use payload::Payload;
pub use sampling::HOOK as SAMPLING_HOOK;
pub use store::{DamagedChunk, LiveFigures};
