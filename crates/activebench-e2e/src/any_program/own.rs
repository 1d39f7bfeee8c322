//! Two programs of our own, which print rates in their own ways. Each states on standard error what each rate is about.

use std::fs;
use std::path::Path;

/// The file name of the Python program.
pub(super) const PYTHON: &str = "pace.py";
/// The file name of the source of the C program.
pub(super) const C: &str = "pace.c";

/// Writes both into a folder.
///
/// # Panics
/// When the folder cannot be written.
pub(super) fn write(folder: &Path) {
    for (name, text) in [(PYTHON, include_str!("programs/pace.py")), (C, include_str!("programs/pace.c"))] {
        fs::write(folder.join(name), text).expect("a folder beside the volume can be written");
    }
}
