//! The units that an acceptance is about: those of the file, of a list beside it, or of the command line.

use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use activebench_detect::acceptance::{Target, Units};
use anyhow::{Context, anyhow};

use super::{Agreed, read_text, unusable};
use crate::failure::{ExitCode, Failure, OrExit};

/// Units that the user names beside the acceptance file.
#[derive(Clone, Debug, Default)]
pub struct Named {
    /// Directories or devices.
    pub paths: Vec<PathBuf>,
    /// A file with sections `[[unit]]`.
    pub list: Option<PathBuf>,
}

/// The units of an acceptance.
#[derive(Clone, Debug, PartialEq)]
pub enum Chosen {
    /// The one that the acceptance file is for.
    One(Target),
    /// Units that are tested one after the other under one agreement.
    Several(Vec<Target>),
    /// Nobody names one.
    Open,
}

impl Named {
    /// Returns the units of an acceptance.
    ///
    /// # Errors
    /// Returns an error if file and user both name units, if a unit is named twice, or if the list has faults.
    pub fn chosen(&self, agreed: &Agreed) -> Result<Chosen, Failure> {
        let file = &agreed.file;
        let refused = |why: String| Err(Failure::new(ExitCode::Usage, anyhow!(why)));
        let mut units = match &self.list {
            Some(path) => {
                let text = read_text(path, "the list of units")?;
                file.units_of(&path.display().to_string(), &text).map_err(unusable)?
            }
            None => Vec::new(),
        };
        for path in &self.paths {
            let path =
                std::path::absolute(path).context("cannot determine the working directory").or_exit(ExitCode::Usage)?;
            let Some(name) = path.to_str() else {
                return refused(format!("the path {} is not UTF-8: no acceptance can name it", path.display()));
            };
            if units.iter().any(|unit| unit.path.value == name) {
                return refused(format!("the unit {name} is named twice"));
            }
            units.push(Target::named(name, is_device(&path), &file.terms));
        }
        match (&file.units, units.is_empty()) {
            (Units::One(unit), true) => Ok(Chosen::One((**unit).clone())),
            (Units::Several(units), true) => Ok(Chosen::Several(units.clone())),
            (Units::Open, true) => Ok(Chosen::Open),
            (Units::Open, false) => Ok(Chosen::Several(units)),
            (Units::One(_) | Units::Several(_), false) => refused(format!(
                "{} names its units already (hint: leave `path`, `device` and [[unit]] out of it, and it serves any unit)",
                agreed.name()
            )),
        }
    }
}

/// Returns `true` if a path is a device. One that is not there is, if it is in `/dev`: stored runs are judged on any
/// machine.
fn is_device(path: &Path) -> bool {
    match std::fs::metadata(path) {
        Ok(metadata) => metadata.file_type().is_block_device(),
        Err(_) => path.starts_with("/dev"),
    }
}

/// The error for an acceptance that names no unit.
pub fn no_unit(agreed: &Agreed) -> Failure {
    let error = anyhow!(
        "{} names no unit (hint: `--unit DEVICE` for each disk, or `--units FILE.toml` with a section [[unit]] for each)",
        agreed.name()
    );
    Failure::new(ExitCode::Usage, error)
}
