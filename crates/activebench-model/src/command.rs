//! The command that was asked for.

use serde::{Deserialize, Serialize};

/// A command line, as given after `--`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandLine {
    /// Program and arguments; lossily decoded where not UTF-8.
    pub argv: Vec<String>,
    /// Working directory, absolute.
    pub cwd: String,
}

impl CommandLine {
    /// The program's file name without its folder; empty for an empty command line.
    pub fn program(&self) -> &str {
        self.argv.first().map_or("", |path| path.rsplit('/').next().unwrap_or(path))
    }
}
