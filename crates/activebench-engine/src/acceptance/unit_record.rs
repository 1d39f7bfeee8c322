//! `unit.json`: which unit a folder of an acceptance of several units is about. It is written before the unit's suite
//! runs, so that every folder can be judged by itself.

use std::path::{Path, PathBuf};

use activebench_detect::acceptance::{Placed, Target};
use activebench_model::acceptance::DeviceIdentity;
use activebench_model::acceptance_batch::{UNIT_FORMAT, UnitRecord};
use activebench_record::{EntryKind, RunFolder};
use anyhow::{Context, anyhow};

use crate::failure::{ExitCode, Failure, OrExit};

/// Its name.
const FILE: &str = "unit.json";

/// A folder with its unit.
#[derive(Clone, Debug)]
pub(super) struct OfUnit {
    /// The folder.
    pub(super) directory: PathBuf,
    /// Its name.
    pub(super) name: String,
    /// The unit.
    pub(super) record: UnitRecord,
}

impl OfUnit {
    /// Returns the unit that the folder is about.
    pub(super) fn unit(&self, destroy: bool) -> Target {
        let record = &self.record;
        Target {
            path: Placed { value: record.path.clone(), span: 0..0 },
            is_device: record.is_device,
            destroy: destroy && record.is_device,
            model: record.model.clone(),
            serial: record.serial.clone(),
            firmware: record.firmware.clone(),
        }
    }
}

/// Returns the record of a unit; `number` counts from 1.
pub(super) fn record_of(number: usize, unit: &Target, found: Option<DeviceIdentity>) -> UnitRecord {
    UnitRecord {
        format: UNIT_FORMAT,
        number: u32::try_from(number).unwrap_or(u32::MAX),
        path: unit.path.value.clone(),
        is_device: unit.is_device,
        model: unit.model.clone(),
        serial: unit.serial.clone(),
        firmware: unit.firmware.clone(),
        found,
        not_tested: None,
    }
}

/// Writes the record into the folder of its unit.
pub(super) fn write(directory: &Path, record: &UnitRecord) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(record).context("cannot write a unit as JSON").or_exit(ExitCode::Bug)?;
    RunFolder::open(directory)
        .and_then(|folder| folder.replace(FILE, (text + "\n").as_bytes()))
        .with_context(|| format!("cannot write {}", directory.join(FILE).display()))
        .or_exit(ExitCode::Usage)
}

/// Returns the unit of a folder; `None` if it is not that of a unit.
pub(super) fn read(directory: &Path) -> Result<Option<OfUnit>, Failure> {
    let shown = directory.join(FILE);
    let folder = RunFolder::open(directory).or_exit(ExitCode::Usage)?;
    let Some(bytes) = folder.read(FILE).or_exit(ExitCode::Usage)? else { return Ok(None) };
    let about = || format!("cannot read {}", shown.display());
    let record: UnitRecord = serde_json::from_slice(&bytes).with_context(about).or_exit(ExitCode::Usage)?;
    if record.format > UNIT_FORMAT {
        let error = anyhow!("{}: its format is {}, known is {UNIT_FORMAT}", about(), record.format);
        return Err(Failure::new(ExitCode::Usage, error));
    }
    let whole = std::fs::canonicalize(directory).with_context(about).or_exit(ExitCode::Usage)?;
    let name = whole.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(Some(OfUnit { directory: directory.to_owned(), name, record }))
}

/// Returns the units in the folders of a directory, in the order in which they were tested; none if it is not that of
/// an acceptance of several units.
pub(super) fn inside(directory: &Path) -> Result<Vec<OfUnit>, Failure> {
    if !directory.is_dir() {
        return Ok(Vec::new());
    }
    let folder = RunFolder::open(directory).or_exit(ExitCode::Usage)?;
    let mut units = Vec::new();
    for (name, kind) in folder.entries().or_exit(ExitCode::Usage)? {
        if kind == EntryKind::Folder {
            units.extend(read(&directory.join(name))?);
        }
    }
    units.sort_by_key(|unit| unit.record.number);
    Ok(units)
}
