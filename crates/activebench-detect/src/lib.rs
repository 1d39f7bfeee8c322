//! Judges a run: detectors make findings, findings make verdicts.
//!
//! Everything here is a pure function of the stored run: no I/O, no clock, no
//! environment. To add a detector: a file in `detectors/`, a line in
//! [`registry::DETECTORS`], cases below `fixtures/detectors/`.

pub mod acceptance;
mod advice;
mod amount;
mod bound;
mod bounds;
mod case;
mod causes;
pub mod compare;
mod comparison;
mod confirmation;
pub mod context;
mod correction;
pub mod detector;
pub mod detectors;
pub mod goal;
pub mod history;
mod layers;
mod limiter;
mod link;
mod lint;
pub mod manual;
mod mapped;
mod packing;
pub mod profiles;
pub mod questions;
pub mod registry;
pub mod remedy;
pub mod replication;
pub mod series;
mod series_case;
pub mod statistics;
mod steady;
pub mod stopping;
pub mod thresholds;
pub mod verdicts;
