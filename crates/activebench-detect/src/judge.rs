//! From findings to verdicts, and what a report says of a run beside them.

pub(crate) mod bottleneck;
pub(crate) mod confirmation;
pub(crate) mod correction;
pub(crate) mod headroom;
pub(crate) mod seven_questions;
pub mod target_figure;
pub mod verdicts;
