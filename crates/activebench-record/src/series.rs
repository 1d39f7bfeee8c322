//! The directory of a series: `series.json` beside the directories of its runs, each of which stays complete on its
//! own.

use std::io;
use std::path::Path;

use activebench_model::series::{FORMAT, SeriesManifest};
use serde::Deserialize;

use crate::error::RecordError;
use crate::folder::RunFolder;
use crate::layout::is_inside;
use crate::writer::json;

/// The file that makes a directory one of a series.
const SERIES: &str = "series.json";

/// The fields that the file of every version has.
#[derive(Deserialize)]
struct Head {
    format: u32,
}

/// Writes `series.json`, over an earlier one: a series grows run by run.
///
/// # Errors
/// When the file cannot be written.
pub fn write_series(directory: &Path, manifest: &SeriesManifest) -> Result<(), RecordError> {
    RunFolder::open(directory)?.replace(SERIES, &json(SERIES, manifest)?)
}

/// Reads `series.json`; `None` if the directory is not that of a series.
///
/// # Errors
/// When the file is damaged, a later version wrote it, or it names a run outside the directory.
pub fn read_series(directory: &Path) -> Result<Option<SeriesManifest>, RecordError> {
    let path = directory.join(SERIES);
    let folder = match RunFolder::open(directory) {
        // A bundle, or nothing: whoever reads it as a run says so.
        Err(RecordError::Io { source, .. })
            if matches!(source.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
        {
            return Ok(None);
        }
        opened => opened?,
    };
    let Some(bytes) = folder.read(SERIES)? else { return Ok(None) };
    let damaged = |error: serde_json::Error| RecordError::Manifest { path: path.clone(), why: error.to_string() };
    let head: Head = serde_json::from_slice(&bytes).map_err(damaged)?;
    if head.format > FORMAT {
        return Err(RecordError::NewerFormat { path, found: head.format, supported: FORMAT });
    }
    let manifest: SeriesManifest = serde_json::from_slice(&bytes).map_err(damaged)?;
    match manifest.runs.iter().chain(&manifest.preconditioning).find(|name| !is_inside(name)) {
        Some(name) => Err(RecordError::OutsideName { name: name.clone() }),
        None => Ok(Some(manifest)),
    }
}
