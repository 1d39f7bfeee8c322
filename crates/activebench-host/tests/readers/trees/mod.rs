//! Recorded and synthetic trees (`fixtures/host`), and changed copies of them.

use std::fs;
use std::path::{Path, PathBuf};

pub(crate) fn tree(case: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/host").join(case)
}

pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder").map(|entry| entry.expect("an entry")) {
        let place = to.join(entry.file_name());
        let of = entry.file_type().expect("a type");
        if of.is_symlink() {
            std::os::unix::fs::symlink(fs::read_link(entry.path()).expect("a link"), place).expect("a link");
        } else if of.is_dir() {
            copy(&entry.path(), &place);
        } else {
            fs::copy(entry.path(), place).expect("a copy");
        }
    }
}

pub(crate) fn write(root: &Path, file: &str, text: &str) {
    let path = root.join(file);
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    fs::write(path, text).expect("the file is written");
}
