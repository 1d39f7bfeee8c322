//! Acceptance: a suite of benchmarks against limits that two parties agreed on.
//!
//! `activebench-detect` reads the file and judges. This module touches the machine: it checks the file against the
//! machine, runs the suite, and finds stored runs.

pub mod batch;
pub mod check;
pub mod check_summary;
mod estimate;
pub mod record;
pub mod stored;
pub mod template;
mod unit_record;
pub mod units;
mod vetting;

use std::path::{Path, PathBuf};

use activebench_detect::acceptance::{AcceptanceFile, Faults};
use activebench_report::escape::terminal;
use anyhow::{Context, anyhow};

use crate::failure::{ExitCode, Failure, OrExit};

/// Maximum size of an acceptance file in bytes.
const MOST_BYTES: u64 = 1 << 20;
/// The copy of the file in the directory of a recorded suite.
const AGREED: &str = "acceptance.toml";

/// An acceptance file that was read.
#[derive(Debug)]
pub struct Agreed {
    /// Its path as the user named it.
    pub path: PathBuf,
    /// Its text.
    pub text: String,
    /// SHA-256 of its bytes, hexadecimal.
    pub sha256: String,
    /// Its content.
    pub file: AcceptanceFile,
}

impl Agreed {
    /// Reads and checks an acceptance file.
    ///
    /// # Errors
    /// Returns an error if it cannot be read, is too long, or has faults.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let text = read_text(path, "the acceptance file")?;
        let sha256 = activebench_record::sha256(text.as_bytes());
        let file = AcceptanceFile::parse(&path.display().to_string(), &text).map_err(unusable)?;
        Ok(Self { path: path.to_owned(), text, sha256, file })
    }

    fn name(&self) -> String {
        self.path.display().to_string()
    }
}

/// Reads a text that the user named. `what` is its name for messages.
fn read_text(path: &Path, what: &str) -> Result<String, Failure> {
    let about = || format!("cannot read {what} {}", path.display());
    let length = std::fs::metadata(path).with_context(about).or_exit(ExitCode::Usage)?.len();
    if length > MOST_BYTES {
        let error = anyhow!("{}: it has {length} bytes, more than {MOST_BYTES}", about());
        return Err(Failure::new(ExitCode::Usage, error));
    }
    let bytes = std::fs::read(path).with_context(about).or_exit(ExitCode::Usage)?;
    String::from_utf8(bytes).with_context(about).or_exit(ExitCode::Usage)
}

/// Turns the faults of a file into an error. The text of its authors is escaped line by line.
fn unusable(faults: Faults) -> Failure {
    let shown: Vec<String> = faults.to_string().lines().map(terminal).collect();
    let hint = "(hint: `activebench accept --init TARGET` writes a file to begin with)";
    Failure::new(ExitCode::Usage, anyhow!("{}\n\n{hint}", shown.join("\n")))
}
