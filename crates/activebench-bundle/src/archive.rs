//! Writes a bundle: the same bytes for the same files. Nothing has its name until it is complete.

use std::fmt;
use std::fs::{File, Permissions};
use std::io::{self, BufWriter, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tar::{EntryType, Header};

use crate::envelope::PrivateKey;
use crate::error::BundleError;
use crate::hash::{self, Passed, Stopped};
use crate::manifest::{BundleManifest, BundledFile, check_name};
use crate::statement::{self, Tests};
use crate::{MANIFEST, STATEMENT};

/// zstd's default level; tables are compressed already.
const LEVEL: i32 = 3;
/// Mode of a new file before the umask.
const MODE: u32 = 0o666;

/// A file that goes into a bundle.
#[derive(Debug)]
pub struct Source {
    /// Its path in the archive, below `run/`.
    pub name: String,
    /// Its content.
    pub content: Content,
}

/// Where a file's content comes from.
#[derive(Debug)]
pub enum Content {
    /// A stored file.
    Stored(Stored),
    /// Bytes.
    Given(Vec<u8>),
}

/// A stored file, read twice: for its sum and for the archive. How it is opened is its owner's to know: a folder from
/// somebody else may hold links.
pub struct Stored {
    /// Its path, for messages.
    pub path: PathBuf,
    /// Its SHA-256 as its owner checked it; `None` where it was not checked.
    pub sha256: Option<String>,
    /// Opens it.
    pub open: Box<dyn Fn() -> io::Result<File>>,
}

impl fmt::Debug for Stored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stored").field("path", &self.path).field("sha256", &self.sha256).finish_non_exhaustive()
    }
}

impl Source {
    fn open(&self) -> Result<Box<dyn Read + '_>, BundleError> {
        match &self.content {
            Content::Stored(stored) => match (stored.open)() {
                Ok(file) => Ok(Box::new(file)),
                Err(source) => Err(BundleError::Read { path: stored.path.clone(), source }),
            },
            Content::Given(bytes) => Ok(Box::new(bytes.as_slice())),
        }
    }

    fn path(&self) -> PathBuf {
        match &self.content {
            Content::Stored(stored) => stored.path.clone(),
            Content::Given(_) => PathBuf::from(&self.name),
        }
    }

    /// Returns the sum that it must have, if that is known.
    fn expected(&self) -> Option<&String> {
        match &self.content {
            Content::Stored(stored) => stored.sha256.as_ref(),
            Content::Given(_) => None,
        }
    }

    fn pass(&self, to: &mut dyn Write, bundle: &Path) -> Result<Passed, BundleError> {
        hash::copy(&mut *self.open()?, to).map_err(|stopped| match stopped {
            Stopped::Reading(source) => BundleError::Read { path: self.path(), source },
            Stopped::Writing(source) => BundleError::Write { path: bundle.to_owned(), source },
        })
    }
}

/// Writes the bundle of `sources` to `path`; returns its manifest. `described` is the manifest without its files. With
/// a key, a statement of `tests` is signed.
///
/// # Errors
/// Returns an error if something is at `path` and `replace` is false, a source cannot be read or changes meanwhile, a
/// name cannot be stored, or the bundle cannot be written. No partial file stays.
pub fn write(
    path: &Path,
    replace: bool,
    described: BundleManifest,
    mut sources: Vec<Source>,
    signing: Option<(&PrivateKey, Tests)>,
) -> Result<BundleManifest, BundleError> {
    // Checked before the work, and again at the end for what came since.
    if !replace && path.symlink_metadata().is_ok() {
        return Err(BundleError::Exists { path: path.to_owned() });
    }
    sources.sort_by(|one, other| one.name.cmp(&other.name));
    let mut manifest = BundleManifest { files: Vec::with_capacity(sources.len()), ..described };
    for source in &sources {
        check_name(&source.name).map_err(|_| BundleError::Name { name: source.name.clone() })?;
        let Passed { bytes, sha256 } = source.pass(&mut io::sink(), path)?;
        if source.expected().is_some_and(|expected| *expected != sha256) {
            return Err(BundleError::Changed { path: source.path() });
        }
        manifest.files.push(BundledFile { name: source.name.clone(), bytes, sha256 });
    }
    let json = manifest.to_json().map_err(|error| BundleError::Encode { name: MANIFEST, why: error.to_string() })?;
    let envelope = match signing {
        Some((key, tests)) => Some(key.sign(&statement::make(&manifest, &json, tests)?)?),
        None => None,
    };

    let failed = |source: io::Error| BundleError::Write { path: path.to_owned(), source };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let unfinished = tempfile::Builder::new()
        .prefix(".activebench-bundle-")
        .permissions(Permissions::from_mode(MODE))
        .tempfile_in(folder)
        .map_err(failed)?;
    let mut packed = zstd::Encoder::new(BufWriter::new(unfinished.as_file()), LEVEL).map_err(failed)?;
    packed.include_checksum(true).map_err(failed)?;
    let mut tar = tar::Builder::new(packed);
    append(&mut tar, MANIFEST, &json).map_err(failed)?;
    if let Some(envelope) = &envelope {
        append(&mut tar, STATEMENT, envelope).map_err(failed)?;
    }
    for (source, file) in sources.iter().zip(&manifest.files) {
        let mut header = header(&file.name, file.bytes).map_err(failed)?;
        header.set_cksum();
        tar.get_mut().write_all(header.as_bytes()).map_err(failed)?;
        let mut limited = Exactly { to: tar.get_mut(), left: file.bytes, overrun: false };
        let passed = source.pass(&mut limited, path);
        if limited.overrun {
            return Err(BundleError::Changed { path: source.path() });
        }
        let passed = passed?;
        if (passed.bytes, &passed.sha256) != (file.bytes, &file.sha256) {
            return Err(BundleError::Changed { path: source.path() });
        }
        let padding = file.bytes.next_multiple_of(BLOCK) - file.bytes;
        tar.get_mut().write_all(&[0; BLOCK as usize][..padding as usize]).map_err(failed)?;
    }
    let packed = tar.into_inner().map_err(failed)?;
    let mut buffered = packed.finish().map_err(failed)?;
    buffered.flush().map_err(failed)?;
    drop(buffered);
    unfinished.as_file().sync_all().map_err(failed)?;
    let persisted = if replace { unfinished.persist(path) } else { unfinished.persist_noclobber(path) };
    match persisted {
        Ok(_) => Ok(manifest),
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {
            Err(BundleError::Exists { path: path.to_owned() })
        }
        Err(error) => Err(failed(error.error)),
    }
}

/// tar's unit.
const BLOCK: u64 = 512;

/// Returns the header of a regular file with owner 0 and time 0.
fn header(name: &str, bytes: u64) -> io::Result<Header> {
    let mut header = Header::new_ustar();
    header.set_path(name)?;
    header.set_entry_type(EntryType::Regular);
    header.set_size(bytes);
    header.set_mode(0o644);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    Ok(header)
}

fn append<W: Write>(tar: &mut tar::Builder<W>, name: &str, bytes: &[u8]) -> io::Result<()> {
    let mut header = header(name, bytes.len() as u64)?;
    header.set_cksum();
    tar.append(&header, bytes)
}

/// Accepts `left` bytes and no more: a file that grows must not exceed its header's size.
struct Exactly<W> {
    to: W,
    left: u64,
    overrun: bool,
}

impl<W: Write> Write for Exactly<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() as u64 > self.left {
            self.overrun = true;
            return Err(io::Error::other("the file grew"));
        }
        let written = self.to.write(bytes)?;
        self.left -= written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}
