//! SHA-256 of bytes while they are copied.

use std::io::{self, Read, Write};

use activebench_model::sha256::Sha256;

/// Size and SHA-256 of the bytes that went through [`copy`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Passed {
    pub(crate) bytes: u64,
    pub(crate) sha256: String,
}

/// Why [`copy`] stopped.
pub(crate) enum Stopped {
    Reading(io::Error),
    Writing(io::Error),
}

/// Copies to the end of `from`.
pub(crate) fn copy(from: &mut dyn Read, to: &mut dyn Write) -> Result<Passed, Stopped> {
    let mut hasher = Sha256::default();
    let mut bytes = 0;
    let mut piece = vec![0; 1 << 16];
    loop {
        let read = match from.read(&mut piece) {
            Ok(0) => return Ok(Passed { bytes, sha256: hasher.finish() }),
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(Stopped::Reading(error)),
        };
        hasher.update(&piece[..read]);
        bytes += read as u64;
        to.write_all(&piece[..read]).map_err(Stopped::Writing)?;
    }
}
