//! Readers of the folder `fixtures/`, for tests only: recorded trees of hosts ([`host_tree`]) and stored outputs of
//! tools ([`tool_case`]). They panic with the file and the defect where a fixture is malformed.

use std::path::{Path, PathBuf};

pub mod host_tree;
pub mod tool_case;

/// Folder of the fixtures in this source tree.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures")
}
