//! Observes a process tree: loads the kernel programs, follows the tree, takes in their
//! records and accounts for every one of them.
//!
//! Holds no judgement and no file: the records stay in memory, compressed and bounded,
//! until the child has ended (writing them earlier would disturb the device under test).

mod floor;
mod hooks;
mod kernel;
mod mappings;
mod neighbours;
mod observation;
mod run_time;
mod sampling;
mod stacks;
mod store;
mod symbols;
mod unseen;

pub use floor::{Floor, FloorHooks, tracing_programs};
pub use hooks::{Hook, KernelTypes, LEAST_KERNEL, has_call_table, hooks};
pub use kernel::{Probe, ProbeError, ProbeOptions};
pub use neighbours::{NeighbourError, other_tracers};
pub use observation::Observation;
pub use sampling::HOOK as SAMPLING_HOOK;
pub use store::{DamagedChunk, LiveFigures};
