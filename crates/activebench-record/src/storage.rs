//! Storage for the bytes of a run directory that is being written. The disk is one implementation; the tests of the
//! writer use another one that fills up.

use std::io;

use crate::error::RecordError;

/// A write that stopped.
#[derive(Debug)]
pub(crate) struct Stopped {
    /// Bytes that are in the file.
    pub(crate) written: usize,
    /// The reason why no more are.
    pub(crate) source: io::Error,
}

/// The operations that the writer needs. Names are relative to the run directory.
pub(crate) trait Storage: Send {
    /// Creates the file with these bytes. When it stops half-way, the first `written` bytes stay.
    fn create(&mut self, name: &str, bytes: &[u8]) -> Result<(), Stopped>;
    /// Replaces the file, all or nothing.
    fn replace(&mut self, name: &str, bytes: &[u8]) -> Result<(), RecordError>;
    /// Writes over the first bytes of an existing file and cuts it there. Needs no new space if the file was at least
    /// as long before.
    fn overwrite(&mut self, name: &str, bytes: &[u8]) -> io::Result<()>;
    /// Removes a file.
    fn remove(&mut self, name: &str) -> io::Result<()>;
}
