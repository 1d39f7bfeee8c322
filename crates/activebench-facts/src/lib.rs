//! Computes activity, phases and facts from observed events: pure functions of a stored run.
//!
//! * [`fold_activity`] aggregates the calls of a run to what an adapter needs to find its passes.
//! * [`executions`] returns what a tree executed, and with which arguments.
//! * [`Index`] finds the passes of the phases' files; it is built once, and the next three share it.
//! * [`resolve_phases`] takes the phases that the adapter found and computes their facts,
//!   and the facts of the whole run.
//! * [`profile_phases`] adds how the threads spent their time, and in which functions.
//! * [`timelines`] computes the time series of each phase, for charts.
//! * [`evidence_phases`] creates phases for a tool that no adapter knows.
//! * [`ObservedPasses`] finds the passes of such a tool that a printed number can be about.
//! * [`BlockHits`] counts how often each block of a file was hit.
//! * [`hits_by_file`] does so for a whole run, only from the places of its calls.
//! * [`Folded::blind_paths`] counts the I/O that was done and is not decoded.
//!
//! This crate does not judge, read files or know how a run is stored. Events come from an
//! [`EventSource`](activebench_model::source::EventSource). They are never kept: the activity reads the calls once, and
//! the facts read every table once more; `docs/architecture.md` says which other readings there are and why.

mod activity;
mod address_map;
mod evidence;
mod facts;
mod observed_passes;
mod undecoded_io;

pub use activity::{Folded, executions, fold_activity};
pub use evidence::evidence_phases;
pub use facts::{BlockHits, HitDistribution, Index, hits_by_file, profile_phases, resolve_phases, timelines};
pub use observed_passes::ObservedPasses;
