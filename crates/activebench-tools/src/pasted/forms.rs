//! What an adapter knows of its tool's output as a text among others.

/// How the lines of a tool's output look.
#[derive(Clone, Copy, Debug)]
pub struct Forms {
    /// Returns the indices of the lines with which a further output begins, after the first.
    pub begins: fn(&[&str]) -> Vec<usize>,
    /// Returns true if a line states figures that are claimed where they can be read.
    pub states_figures: fn(&str) -> bool,
    /// Returns true if a line states the command of its output.
    pub states_command: fn(&str) -> bool,
}

impl Forms {
    /// A tool of which nothing of this is known: a text is one output.
    pub const UNKNOWN: Forms = Forms { begins: |_| Vec::new(), states_figures: |_| false, states_command: |_| false };
}
