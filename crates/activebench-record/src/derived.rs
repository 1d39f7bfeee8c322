//! Derived files while they are made: those for programs are compressed where they are large.
//!
//! A run of a thousand phases has reports of dozens of mebibytes that repeat themselves phase by phase. zstd leaves a
//! fiftieth of them. Small files stay as they are, so that every program can read them; pages for people always do.

use std::io::{self, Read, Write};

use zstd::Encoder;

use crate::error::RecordError;
use crate::folder::RunFolder;
use crate::layout::{COMPRESSED, most_bytes};

/// A file for programs of more bytes than these is compressed.
pub const PLAIN_BYTES: usize = 1 << 20;
/// Level of zstd: its default.
const LEVEL: i32 = 3;

/// A derived file while it is made. Memory: its first [`PLAIN_BYTES`], or its compressed form.
pub struct DerivedFile {
    name: String,
    content: Content,
}

enum Content {
    Plain(Vec<u8>),
    Compressed(Encoder<'static, Vec<u8>>),
}

impl DerivedFile {
    /// Begins a file with this name.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), content: Content::Plain(Vec::new()) }
    }

    /// Returns its name and its bytes. A compressed file's name ends in `.zst`.
    ///
    /// # Errors
    /// When zstd fails.
    pub fn finish(self) -> io::Result<(String, Vec<u8>)> {
        match self.content {
            Content::Plain(bytes) => Ok((self.name, bytes)),
            Content::Compressed(encoder) => Ok((self.name + COMPRESSED, encoder.finish()?)),
        }
    }
}

impl Write for DerivedFile {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        if let Content::Plain(bytes) = &mut self.content
            && bytes.len() + piece.len() > PLAIN_BYTES
            && is_for_programs(&self.name)
        {
            let mut encoder = Encoder::new(Vec::new(), LEVEL)?;
            encoder.write_all(bytes)?;
            self.content = Content::Compressed(encoder);
        }
        match &mut self.content {
            Content::Plain(bytes) => bytes.extend_from_slice(piece),
            Content::Compressed(encoder) => encoder.write_all(piece)?,
        }
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// True if programs read the file. People open the others, and a table of figures is compressed anyway.
fn is_for_programs(name: &str) -> bool {
    [".json", ".csv", ".xml", ".sarif"].iter().any(|ending| name.ends_with(ending))
}

/// Reads a derived file, whether it is compressed or not; `None` if there is none.
///
/// # Errors
/// As [`RunFolder::read`], and when the unpacked bytes are more than a file of this name may have.
pub(crate) fn read(folder: &RunFolder, name: &str) -> Result<Option<Vec<u8>>, RecordError> {
    if let Some(bytes) = folder.read(name)? {
        return Ok(Some(bytes));
    }
    let packed_name = format!("{name}{COMPRESSED}");
    let Some(packed) = folder.read(&packed_name)? else { return Ok(None) };
    let path = folder.path().join(&packed_name);
    let most = most_bytes(name);
    let mut bytes = Vec::new();
    let unpacked =
        zstd::Decoder::new(packed.as_slice()).and_then(|decoder| decoder.take(most + 1).read_to_end(&mut bytes));
    match unpacked {
        Err(source) => Err(RecordError::Io { path, source }),
        Ok(_) if bytes.len() as u64 > most => Err(RecordError::TooLarge { path, bytes: bytes.len() as u64, most }),
        Ok(_) => Ok(Some(bytes)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(name: &str, bytes: usize) -> (String, Vec<u8>) {
        let mut file = DerivedFile::new(name);
        for piece in vec![b'7'; bytes].chunks(1000) {
            file.write_all(piece).unwrap();
        }
        file.finish().unwrap()
    }

    #[test]
    fn only_large_files_for_programs_are_compressed() {
        for (name, bytes, stored) in [
            ("report.json", PLAIN_BYTES, "report.json"),
            ("report.json", PLAIN_BYTES + 1, "report.json.zst"),
            ("report.facts.csv", 2 * PLAIN_BYTES, "report.facts.csv.zst"),
            ("report.html", 2 * PLAIN_BYTES, "report.html"),
        ] {
            let (name, content) = made(name, bytes);
            assert_eq!(name, stored);
            assert_eq!(content.len() == bytes, !stored.ends_with(".zst"), "{name}: {}", content.len());
            let root = tempfile::tempdir().unwrap();
            let folder = RunFolder::open(root.path()).unwrap();
            folder.replace(&name, &content).unwrap();
            assert_eq!(read(&folder, stored.trim_end_matches(".zst")).unwrap().unwrap().len(), bytes, "{name}");
        }
    }

    #[test]
    fn a_file_that_unpacks_to_too_much_is_refused() {
        let (name, content) = made("report.json", (most_bytes("report.json") + 1) as usize);
        assert!(content.len() < 1 << 20);
        let root = tempfile::tempdir().unwrap();
        let folder = RunFolder::open(root.path()).unwrap();
        folder.replace(&name, &content).unwrap();
        assert!(matches!(read(&folder, "report.json"), Err(RecordError::TooLarge { .. })));
        folder.replace(&name, b"7").unwrap();
        assert!(matches!(read(&folder, "report.json"), Err(RecordError::Io { .. })));
    }
}
