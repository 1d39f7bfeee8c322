//! Seals: a file beside a manifest states its SHA-256, as a line that `sha256sum --check` reads.

use activebench_model::sha256;

use crate::error::RecordError;
use crate::folder::RunFolder;

/// A manifest, and the file that seals it.
pub(crate) struct Sealed {
    pub(crate) manifest: &'static str,
    pub(crate) seal: &'static str,
}

impl Sealed {
    /// Returns the seal of the manifest's bytes.
    pub(crate) fn of(&self, bytes: &[u8]) -> String {
        format!("{}  {}\n", sha256::of_bytes(bytes), self.manifest)
    }

    /// Returns `true` if the manifest has a seal, `false` if it has none.
    ///
    /// # Errors
    /// When the seal states another sum than the manifest has.
    pub(crate) fn check(&self, folder: &RunFolder, bytes: &[u8]) -> Result<bool, RecordError> {
        let Some(seal) = folder.read(self.seal)? else { return Ok(false) };
        let sum = |line: &str| line.split_ascii_whitespace().next().map(str::to_owned);
        match sum(&String::from_utf8_lossy(&seal)) == sum(&self.of(bytes)) {
            true => Ok(true),
            false => Err(RecordError::BrokenSeal { path: folder.path().join(self.manifest), seal: self.seal }),
        }
    }
}
