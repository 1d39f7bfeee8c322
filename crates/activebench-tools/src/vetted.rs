//! What a command that a stranger wrote may ask of a tool: I/O on files that the command names, and nothing else.
//!
//! Each adapter has a list of the options that ask for no more (`vetted.rs` in its folder). An option that is not in
//! it is refused, also one that a later version of the tool adds.

/// A command as its tool reads it, by the options that are known to ask for I/O alone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Vetted {
    /// Words that may ask for more, each with the reason: lower-case fragments.
    pub refused: Vec<String>,
    /// Files, folders and devices that the I/O goes to, as the tool would open them.
    pub files: Vec<String>,
    /// True if the tool leaves its results in files of its working directory.
    pub leaves_files: bool,
}

impl Vetted {
    /// Refuses a word.
    pub(crate) fn refuse(&mut self, word: &str, why: &str) {
        self.refused.push(format!("{word}: {why}"));
    }

    /// Refuses a word that is not in the list.
    pub(crate) fn refuse_unlisted(&mut self, word: &str) {
        self.refuse(word, "not among the options that ask for I/O alone");
    }
}
