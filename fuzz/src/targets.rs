//! The targets: one file each, and one line in the list.

mod acceptance;
mod adapters;
mod bundle;
mod elf;
mod fio_logs;
mod parquet_part;
mod ring_records;
mod run_json;
mod series_json;

use std::path::{Path, PathBuf};

/// What is called with each input.
pub(crate) type Feed = Box<dyn Fn(&[u8]) + Send + Sync>;
/// First inputs with their names.
pub(crate) type Seeds = Vec<(String, Vec<u8>)>;

/// A reader of bytes that somebody else wrote. `&Path` is the folder of samples.
pub(crate) struct Target {
    pub(crate) name: &'static str,
    /// Prepares the reader.
    pub(crate) feed: Box<dyn Fn(&Path) -> Feed>,
    /// Real inputs to begin with.
    pub(crate) seeds: Box<dyn Fn(&Path) -> Seeds>,
    /// The product catches panics of a library here.
    pub(crate) expects_panics: bool,
}

impl Target {
    fn new(
        name: &'static str,
        feed: impl Fn(&Path) -> Feed + 'static,
        seeds: impl Fn(&Path) -> Seeds + 'static,
    ) -> Self {
        Self { name, feed: Box::new(feed), seeds: Box::new(seeds), expects_panics: false }
    }
}

/// Returns every target: one for each adapter, and the others.
pub(crate) fn all() -> Vec<Target> {
    let mut targets = adapters::targets();
    targets.extend([
        acceptance::target(),
        bundle::target(),
        elf::target(),
        fio_logs::target(),
        parquet_part::target(),
        ring_records::target(),
        run_json::target(),
        series_json::target(),
    ]);
    targets
}

/// Returns the folder with the project's fixtures.
fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures")
}

/// Returns the content of a file that must be there.
fn content(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns the entries of a folder, sorted.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort_unstable();
    paths
}

/// Returns the last part of a path.
fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
