//! The output of a tool: the input of an adapter's parser.

use serde::{Deserialize, Serialize};

/// All output of a tool that its adapter reads.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolOutput {
    /// Everything that it wrote to standard output.
    pub stdout: Vec<u8>,
    /// Everything that it wrote to standard error.
    pub stderr: Vec<u8>,
    /// Files that its adapter requested, in the order in which the tool first opened them.
    #[serde(default)]
    pub files: Vec<ToolFile>,
}

/// A file from which a tool read its work or to which it wrote its figures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolFile {
    /// The name as the tool opened it.
    pub name: String,
    /// Content after the tool had ended.
    pub bytes: Vec<u8>,
}

impl ToolFile {
    /// Returns the name without its folder.
    pub fn file_name(&self) -> &str {
        self.name.rsplit('/').next().unwrap_or(&self.name)
    }
}
