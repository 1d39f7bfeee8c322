//! Verdicts from findings, and the other conclusions of a report about a run.

pub(crate) mod bottleneck;
pub(crate) mod confirmation;
pub(crate) mod correction;
pub(crate) mod headroom;
pub(crate) mod seven_questions;
pub mod target_figure;
pub(crate) mod together;
pub(crate) mod unobserved;
pub mod verdicts;
