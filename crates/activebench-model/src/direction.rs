//! The direction in which data moves.

use serde::{Deserialize, Serialize};

/// Direction of the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// From storage.
    Read,
    /// To storage.
    Write,
    /// Both.
    Mixed,
    /// No data moves; space is released.
    Discard,
    /// Neither (metadata).
    None,
}
