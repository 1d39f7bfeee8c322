//! What a tool wrote: the input of an adapter's parser.

use serde::{Deserialize, Serialize};

/// Everything that a tool wrote and that its adapter reads.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolOutput {
    /// Everything that it wrote to standard output.
    pub stdout: Vec<u8>,
    /// Everything that it wrote to standard error.
    pub stderr: Vec<u8>,
    /// Files that its adapter asked for, in the order in which the tool first opened them.
    #[serde(default)]
    pub files: Vec<ToolFile>,
}

/// A file that a tool read its work from or wrote its figures to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolFile {
    /// The name as the tool opened it.
    pub name: String,
    /// As it was when the tool had ended.
    pub bytes: Vec<u8>,
}

impl ToolFile {
    /// The name without its folder.
    pub fn file_name(&self) -> &str {
        self.name.rsplit('/').next().unwrap_or(&self.name)
    }
}
