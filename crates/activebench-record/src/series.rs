//! The directory of a series: `series.json` beside the directories of its runs, each of which stays complete on its
//! own.

use std::io;
use std::path::Path;

use activebench_model::series::{FORMAT, SeriesManifest};
use serde::Deserialize;

use crate::error::RecordError;
use crate::folder::RunFolder;
use crate::layout::{SERIES, SERIES_MANIFEST, SERIES_SEAL, is_inside};
use crate::writer::json;

/// A series as it is stored.
#[derive(Debug)]
pub struct StoredSeries {
    /// `series.json`.
    pub manifest: SeriesManifest,
    /// `false` if no seal shows that it is the one that was recorded: earlier versions wrote none.
    pub is_sealed: bool,
}

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
    let folder = RunFolder::open(directory)?;
    let bytes = json(SERIES_MANIFEST, manifest)?;
    // Whenever the writing ends half-way, there is a manifest without a seal and none with a wrong one.
    match folder.remove(SERIES_SEAL) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            return Err(RecordError::Io { path: directory.join(SERIES_SEAL), source });
        }
        Ok(()) | Err(_) => {}
    }
    folder.replace(SERIES_MANIFEST, &bytes)?;
    folder.replace(SERIES_SEAL, SERIES.of(&bytes).as_bytes())
}

/// Reads `series.json`; `None` if the directory is not that of a series.
///
/// # Errors
/// When the file is damaged or not the sealed one, a later version wrote it, or it names a run outside the directory.
pub fn read_series(directory: &Path) -> Result<Option<StoredSeries>, RecordError> {
    let path = directory.join(SERIES_MANIFEST);
    let folder = match RunFolder::open(directory) {
        // A bundle, or nothing: whoever reads it as a run says so.
        Err(RecordError::Io { source, .. })
            if matches!(source.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
        {
            return Ok(None);
        }
        opened => opened?,
    };
    let Some(bytes) = folder.read(SERIES_MANIFEST)? else { return Ok(None) };
    let is_sealed = SERIES.check(&folder, &bytes)?;
    let damaged = |error: serde_json::Error| RecordError::Manifest { path: path.clone(), why: error.to_string() };
    let head: Head = serde_json::from_slice(&bytes).map_err(damaged)?;
    if head.format > FORMAT {
        return Err(RecordError::NewerFormat { path, found: head.format, supported: FORMAT });
    }
    let manifest: SeriesManifest = serde_json::from_slice(&bytes).map_err(damaged)?;
    match manifest.runs.iter().chain(&manifest.preconditioning).find(|name| !is_inside(name)) {
        Some(name) => Err(RecordError::OutsideName { name: name.clone() }),
        None => Ok(Some(StoredSeries { manifest, is_sealed })),
    }
}
