//! Detectors over their cases, and runs with the verdicts that they deserve.

mod bound;
mod cases;
mod confirmed;
mod detectors;
mod evidence;
mod limiter;
mod mutations;
mod questions;
mod series;
mod verdicts;
mod wording;
