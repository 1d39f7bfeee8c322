//! Observed events to activity, phases and facts: pure functions of a stored run.
//!
//! * [`fold_activity`] folds the calls of a run to what an adapter needs to find its passes.
//! * [`executions`] says what a tree executed, and with which arguments.
//! * [`resolve_phases`] takes the phases that the adapter found and computes their facts,
//!   and the facts of the whole run.
//! * [`profile_phases`] adds where the threads' time went, and says in which functions.
//! * [`courses`] follows each phase over time, for charts.
//! * [`evidence_phases`] makes phases for a tool that no adapter knows.
//! * [`BlockHits`] counts how often each block of a file was hit.
//! * [`hits_by_file`] does so for a whole run, from the places of its calls alone.
//! * [`blind_paths`] counts the I/O that was done and is not decoded.
//!
//! Nothing here judges, reads files or knows how a run is stored: events come from an
//! [`EventSource`](activebench_model::source::EventSource), as often as needed (the calls are read twice by the fold and two or
//! three times by the facts, never held).

mod activity;
mod blind;
mod evidence;
mod facts;

pub use activity::{executions, fold_activity};
pub use blind::blind_paths;
pub use evidence::evidence_phases;
pub use facts::{BlockHits, HitDistribution, courses, hits_by_file, profile_phases, resolve_phases};
