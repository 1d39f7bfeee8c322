//! Storage for the bytes of a run directory. The disk is one implementation; the tests of the writer use another one
//! that fills up.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use activebench_model::sha256;

/// Returns the SHA-256 of a file, read in pieces, in lower-case hexadecimal.
///
/// # Errors
/// When it cannot be read.
pub fn sha256_of_file(path: &Path) -> io::Result<String> {
    sha256::of_reader(File::open(path)?)
}

/// A write that stopped.
#[derive(Debug)]
pub(crate) struct Stopped {
    /// Bytes that are in the file.
    pub(crate) written: usize,
    /// The reason why no more are.
    pub(crate) source: io::Error,
}

/// The operations that the writer needs.
pub(crate) trait Storage: Send {
    /// Creates the file with these bytes. When it stops half-way, the first `written` bytes stay.
    fn create(&mut self, path: &Path, bytes: &[u8]) -> Result<(), Stopped>;
    /// Replaces the file, all or nothing.
    fn replace(&mut self, path: &Path, bytes: &[u8]) -> io::Result<()>;
    /// Writes over the first bytes of an existing file and cuts it there. Needs no new space if the file was at least
    /// as long before.
    fn overwrite(&mut self, path: &Path, bytes: &[u8]) -> io::Result<()>;
    /// Removes a file.
    fn remove(&mut self, path: &Path) -> io::Result<()>;
}

/// The real disk.
pub(crate) struct Disk;

impl Storage for Disk {
    fn create(&mut self, path: &Path, bytes: &[u8]) -> Result<(), Stopped> {
        let mut file = File::create(path).map_err(|source| Stopped { written: 0, source })?;
        let mut written = 0;
        while written < bytes.len() {
            match file.write(&bytes[written..]) {
                Ok(0) => return Err(Stopped { written, source: io::ErrorKind::WriteZero.into() }),
                Ok(count) => written += count,
                Err(source) if source.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => return Err(Stopped { written, source }),
            }
        }
        Ok(())
    }

    fn replace(&mut self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let mut name = path.as_os_str().to_owned();
        name.push(".new");
        let new = Path::new(&name);
        let moved = fs::write(new, bytes).and_then(|()| fs::rename(new, path));
        if let Err(source) = moved {
            // The half-written file takes space that the caller may need now. That it could not be removed matters less
            // than why it is there.
            return match fs::remove_file(new) {
                Ok(()) | Err(_) => Err(source),
            };
        }
        Ok(())
    }

    fn overwrite(&mut self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let mut file = File::options().write(true).open(path)?;
        file.write_all(bytes)?;
        file.set_len(bytes.len() as u64)
    }

    fn remove(&mut self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }
}
