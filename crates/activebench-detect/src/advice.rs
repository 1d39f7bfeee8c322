//! Advice for a command: in words, and applied to it.

pub mod corrected_command;
pub(crate) mod wording;
