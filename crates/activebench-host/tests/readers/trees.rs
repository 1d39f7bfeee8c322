//! Recorded and synthetic trees (`fixtures/host`) with changed files.

use std::fs;
use std::path::Path;

pub(crate) fn write(root: &Path, file: &str, text: &str) {
    let path = root.join(file);
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    fs::write(path, text).expect("the file is written");
}
