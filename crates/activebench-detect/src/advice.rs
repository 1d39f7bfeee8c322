//! Advice for a command: in words, and applied to it.

pub mod corrected_command;
mod far_figure;
pub(crate) mod wording;
