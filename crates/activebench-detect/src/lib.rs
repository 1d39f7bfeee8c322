//! Judges a run: detectors make findings, findings make verdicts.
//!
//! Everything here is a pure function of the stored run: no I/O, no clock, no
//! environment. To add a detector: a file in `detectors/`, a line in
//! [`registry::DETECTORS`], cases below `fixtures/detectors/`.

pub mod acceptance;
pub mod advice;
mod cases;
pub mod compare;
pub mod detector;
pub mod detectors;
mod evidence;
pub mod history;
pub mod judge;
pub mod manual;
pub mod registry;
pub mod replication;
pub mod run;
pub mod series;
pub mod thresholds;
