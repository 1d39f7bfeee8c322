//! Computes activity, phases and facts from observed events: pure functions of a stored run.
//!
//! * [`fold_activity`] aggregates the calls of a run to what an adapter needs to find its passes.
//! * [`executions`] returns what a tree executed, and with which arguments.
//! * [`resolve_phases`] takes the phases that the adapter found and computes their facts,
//!   and the facts of the whole run.
//! * [`profile_phases`] adds how the threads spent their time, and in which functions.
//! * [`courses`] computes the time series of each phase, for charts.
//! * [`evidence_phases`] creates phases for a tool that no adapter knows.
//! * [`BlockHits`] counts how often each block of a file was hit.
//! * [`hits_by_file`] does so for a whole run, only from the places of its calls.
//! * [`blind_paths`] counts the I/O that was done and is not decoded.
//!
//! This crate does not judge, read files or know how a run is stored. Events come from an
//! [`EventSource`](activebench_model::source::EventSource), as often as needed. The activity reads the calls twice and the
//! facts two or three times; they are never kept.

mod activity;
mod blind;
mod evidence;
mod facts;

pub use activity::{executions, fold_activity};
pub use blind::blind_paths;
pub use evidence::evidence_phases;
pub use facts::{BlockHits, HitDistribution, courses, hits_by_file, profile_phases, resolve_phases};
