//! Observes a process tree: loads the kernel programs, follows the tree, receives their records and accounts for
//! every one of them.
//!
//! Does not judge. The records are packed and bounded. While the child runs they are written to a file only if that
//! cannot disturb the device under test.

mod bpf_call;
mod calibration;
mod call_filter;
mod chunk_storage;
mod empty_programs;
mod error;
mod folders;
#[doc(hidden)]
pub mod fuzzing;
#[doc(hidden)]
pub mod generated;
mod hidden_completions;
mod hooks;
mod interposer;
mod joining;
mod kept_records;
mod kernel;
mod library;
mod live;
mod loading;
mod mappings;
mod maps;
mod message;
mod needed_types;
mod observation;
mod observer;
mod other_tracers;
mod pack;
mod payload;
mod printed;
mod ring;
mod run_time;
mod running;
mod sampling;
pub mod service;
mod serving;
mod stacks;
mod storage_seen;
mod store;
mod symbols;
mod tool_storage;
mod totals;
mod tracer;

pub use call_filter::{CallFilter, permit_tracer, tracing_refused};
pub use chunk_storage::{LogOptions, Spool};
pub use empty_programs::{Floor, FloorHooks, tracing_programs};
pub use error::ProbeError;
pub use folders::Folders;
pub use hooks::{KernelTypes, LEAST_KERNEL, Tracepoint, has_call_table, tracepoints};
pub use interposer::{Interposer, VARIABLE as PRELOAD_VARIABLE};
pub use kept_records::DamagedChunk;
pub use kernel::{Probe, ProbeOptions, Salvage};
pub use live::{LiveDetails, LiveFigures};
pub use observation::Observation;
pub use observer::{Observer, Observing};
pub use other_tracers::{NeighbourError, other_tracers};
pub use payload::Payload;
pub use printed::{Printed, Stream};
pub use storage_seen::StorageSeen;
