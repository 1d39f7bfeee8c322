//! Detectors over their cases, and runs with the verdicts that they deserve.

mod cases;
mod detectors;
mod limiter;
mod questions;
mod verdicts;
