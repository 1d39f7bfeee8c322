//! Records runs and judges stored ones: the work behind every subcommand.
//!
//! * [`recording`] runs a benchmark once under observation. [`series`], [`corrected_run`], [`replication`],
//!   [`acceptance`] and [`preparation`] call it.
//! * [`judge`] turns a stored run into a judged one, by the same path for every subcommand.
//! * [`device_guard`] protects disks that are in use; `named_devices` finds the devices that a command names.
//! * [`ceiling`], [`comparison`], [`doctor`], [`plan`], [`history`], [`bundle`] and [`prune`] are independent of a
//!   recording.
//!
//! The crate has no command line: each function takes what it needs as plain values and returns models. Progress and
//! warnings go to standard error; reports are rendered by the caller.

// They panic when standard error is a closed terminal or pipe; `say!` does not.
#![deny(clippy::print_stderr, clippy::print_stdout)]

// First: its macro is used by the others.
#[macro_use]
pub mod terminal;

pub mod acceptance;
mod allocator;
pub mod any_program;
pub mod benchmarks;
pub mod bundle;
pub mod ceiling;
pub mod check;
pub mod comparison;
pub mod corrected_run;
pub mod derived_files;
pub mod device_guard;
pub mod doctor;
pub mod failure;
pub mod free_space;
pub mod history;
pub mod interruption;
pub mod judge;
mod measured;
mod measurements;
pub mod most_judged;
mod named_devices;
pub mod plan;
pub mod preparation;
pub mod prune;
pub mod recording;
pub mod replication;
pub mod runs_folder;
pub mod series;
pub mod thresholds;
mod tool_files;
pub mod watched_processes;
