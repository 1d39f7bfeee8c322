//! Reads a bundle that may come from anybody. It checks while it unpacks, and returns the unpacked files only if all of
//! them are right. Later steps use exactly the bytes that were checked, never the archive again.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use tar::EntryType;

use crate::envelope::{self, PublicKey};
use crate::error::{BundleError, Fault};
use crate::hash::{self, Passed, Stopped};
use crate::manifest::{BundleManifest, check_name};
use crate::statement;
use crate::{MANIFEST, STATEMENT};

/// Maximum bytes read of `bundle.json`, and of the statement: they are held in memory.
const DOCUMENT_BYTES: u64 = 32 << 20;
/// First bytes of a zstd frame.
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Limits for unpacking an archive from somebody else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of all files together, with what the archive puts around them.
    pub unpacked_bytes: u64,
    /// Number of files.
    pub files: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { unpacked_bytes: 8 << 30, files: 1 << 16 }
    }
}

/// State of the signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SignatureCheck {
    /// There is none, and none was asked for.
    Absent,
    /// There is one, and no key was given: anybody may have made the bundle.
    NotChecked,
    /// It is right under the key with this id.
    Right(String),
}

/// A bundle that verifies, unpacked.
#[derive(Debug)]
pub struct Unpacked {
    /// Its manifest, with its claims.
    pub manifest: BundleManifest,
    /// State of its signature under the key that was given.
    pub signature: SignatureCheck,
}

/// True if a file begins as bundles do. A damaged bundle may begin otherwise.
///
/// # Errors
/// When it cannot be read.
pub fn is_bundle(path: &Path) -> io::Result<bool> {
    let mut magic = [0; ZSTD_MAGIC.len()];
    match File::open(path)?.read_exact(&mut magic) {
        Ok(()) => Ok(magic == ZSTD_MAGIC),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

/// Unpacks the bundle at `path` into an empty directory and checks all of it. With a key the signature must be there
/// and right.
///
/// # Errors
/// Returns [`BundleError::NotVerified`] with everything that is wrong with it; the files in `into` must then not be
/// used. Returns other errors if the system refuses an operation.
pub fn unpack(path: &Path, into: &Path, limits: Limits, key: Option<&PublicKey>) -> Result<Unpacked, BundleError> {
    let file = File::open(path).map_err(|source| BundleError::Read { path: path.to_owned(), source })?;
    read(file, into, limits, key)
}

/// Like [`unpack`], for any bytes.
pub(crate) fn read(
    packed: impl Read,
    into: &Path,
    limits: Limits,
    key: Option<&PublicKey>,
) -> Result<Unpacked, BundleError> {
    let compressed_bytes = Cell::new(0);
    let counted = Counted { from: packed, bytes: &compressed_bytes, limit: None };
    let at_start = |error: io::Error| {
        let why = error.to_string();
        BundleError::NotVerified(vec![Fault::Archive { compressed_bytes: 0, unpacked_bytes: 0, entry: None, why }])
    };
    let decoder = zstd::Decoder::with_buffer(BufReader::new(counted)).map_err(at_start)?.single_frame();
    let progress = Progress { compressed_bytes: &compressed_bytes, unpacked_bytes: Cell::new(0) };
    let (unpacked, decoder) = read_tar(decoder, into, limits, key, &progress)?;
    // Only one frame is allowed: nothing would protect bytes behind it.
    let mut rest = decoder.finish();
    match rest.fill_buf() {
        Ok([]) => Ok(unpacked),
        Ok(_) => Err(progress.fault(None, "bytes follow the end of the compressed data".to_owned()).into()),
        Err(error) => Err(progress.fault(None, error.to_string()).into()),
    }
}

impl From<Fault> for BundleError {
    fn from(fault: Fault) -> Self {
        Self::NotVerified(vec![fault])
    }
}

/// Progress of both sides of the decompression.
pub(crate) struct Progress<'a> {
    pub(crate) compressed_bytes: &'a Cell<u64>,
    pub(crate) unpacked_bytes: Cell<u64>,
}

impl Progress<'_> {
    fn fault(&self, entry: Option<&str>, why: String) -> Fault {
        Fault::Archive {
            compressed_bytes: self.compressed_bytes.get(),
            unpacked_bytes: self.unpacked_bytes.get(),
            entry: entry.map(str::to_owned),
            why,
        }
    }
}

/// Counts the bytes that pass, and stops past a limit.
struct Counted<'a, R> {
    from: R,
    bytes: &'a Cell<u64>,
    limit: Option<u64>,
}

/// Content of the `io::Error` when a limit was reached.
#[derive(Debug, thiserror::Error)]
#[error("the limit is reached")]
struct LimitReached;

impl<R: Read> Read for Counted<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.from.read(buffer)?;
        self.bytes.set(self.bytes.get() + read as u64);
        match self.limit {
            Some(limit) if self.bytes.get() > limit => Err(io::Error::other(LimitReached)),
            _ => Ok(read),
        }
    }
}

/// Reads a tar; returns its reader at its end.
fn read_tar<R: Read>(
    from: R,
    into: &Path,
    limits: Limits,
    key: Option<&PublicKey>,
    progress: &Progress<'_>,
) -> Result<(Unpacked, R), BundleError> {
    let limit = limits.unpacked_bytes;
    let stopped =
        |entry: Option<&str>, error: io::Error| match error.get_ref().is_some_and(|inner| inner.is::<LimitReached>()) {
            true => Fault::TooLarge { limit_bytes: limit, stated_bytes: None },
            false => progress.fault(entry, error.to_string()),
        };
    let mut archive = tar::Archive::new(Counted { from, bytes: &progress.unpacked_bytes, limit: Some(limit) });
    // Raw: no extension header is interpreted, so none can rename, link or inflate anything.
    let mut entries = archive.entries().map_err(|error| stopped(None, error))?.raw(true);

    let Some(first) = entries.next() else { return Err(Fault::Empty.into()) };
    let mut first = first.map_err(|error| stopped(None, error))?;
    let name = name_of(&first);
    if name != MANIFEST || first.header().entry_type() != EntryType::Regular {
        return Err(Fault::NoManifest { found: name }.into());
    }
    let manifest_json = document(&mut first, MANIFEST).map_err(|error| stopped(Some(MANIFEST), error))?;
    let manifest = BundleManifest::parse(&manifest_json)?;
    let stated_bytes = manifest.files.iter().fold(0_u64, |sum, file| sum.saturating_add(file.bytes));
    if stated_bytes > limit {
        return Err(Fault::TooLarge { limit_bytes: limit, stated_bytes: Some(stated_bytes) }.into());
    }
    if manifest.files.len() > limits.files {
        return Err(Fault::TooMany { limit: limits.files }.into());
    }

    let listed = manifest.by_name();
    let mut missing: BTreeSet<&str> = listed.keys().copied().collect();
    let mut faults = Vec::new();
    let mut signature = SignatureCheck::Absent;
    let mut number = 0;
    for entry in entries {
        let mut entry = entry.map_err(|error| stopped(None, error))?;
        number += 1;
        if number > limits.files + 1 {
            return Err(Fault::TooMany { limit: limits.files }.into());
        }
        let name = name_of(&entry);
        if entry.header().entry_type() != EntryType::Regular {
            let what = kind_of(entry.header().entry_type());
            faults.push(Fault::NotAFile { name, what });
            continue;
        }
        // Checked before any other file: the signed statement must be known first.
        if name == STATEMENT && number == 1 {
            let envelope = document(&mut entry, STATEMENT).map_err(|error| stopped(Some(STATEMENT), error))?;
            let statement = envelope::open(&envelope, key)?;
            statement::check(&statement, &manifest, &manifest_json)?;
            signature = match key {
                Some(key) => SignatureCheck::Right(key.id()?),
                None => SignatureCheck::NotChecked,
            };
            continue;
        }
        if number == 1 && key.is_some() {
            return Err(Fault::NotSigned.into());
        }
        let Some(file) = listed.get(name.as_str()) else {
            faults.push(match check_name(&name) {
                Err(outside) if name != MANIFEST && name != STATEMENT => outside,
                _ => Fault::Unlisted { name },
            });
            continue;
        };
        if !missing.remove(name.as_str()) {
            faults.push(Fault::Twice { name });
            continue;
        }
        if entry.size() != file.bytes {
            faults.push(Fault::Size { name, found_bytes: entry.size(), stated_bytes: file.bytes });
            continue;
        }
        let path = into.join(&name);
        let refused = |source| BundleError::Unpack { path: path.clone(), source };
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(refused)?;
        }
        let mut target = File::create_new(&path).map_err(refused)?;
        let Passed { bytes, sha256 } = hash::copy(&mut entry, &mut target).map_err(|error| match error {
            Stopped::Reading(error) => stopped(Some(&name), error).into(),
            Stopped::Writing(source) => refused(source),
        })?;
        if bytes != file.bytes {
            faults.push(Fault::Size { name, found_bytes: bytes, stated_bytes: file.bytes });
        } else if sha256 != file.sha256 {
            faults.push(Fault::Sum { name, found: sha256, stated: file.sha256.clone() });
        }
    }
    if number == 0 && key.is_some() {
        return Err(Fault::NotSigned.into());
    }
    faults.extend(missing.into_iter().map(|name| Fault::Missing { name: name.to_owned() }));
    drop(listed);

    // tar ends with zeros; reading on also makes zstd compare its checksum.
    let mut rest = archive.into_inner();
    let mut piece = [0; 1 << 13];
    loop {
        match rest.read(&mut piece) {
            Ok(0) => break,
            Ok(read) if piece[..read].iter().all(|byte| *byte == 0) => {}
            Ok(_) => {
                faults.push(progress.fault(None, "bytes follow the end of the archive".to_owned()));
                break;
            }
            Err(error) => {
                faults.push(stopped(None, error));
                break;
            }
        }
    }
    match faults.is_empty() {
        true => Ok((Unpacked { manifest, signature }, rest.from)),
        false => Err(BundleError::NotVerified(faults)),
    }
}

fn name_of<R: Read>(entry: &tar::Entry<'_, R>) -> String {
    String::from_utf8_lossy(&entry.path_bytes()).into_owned()
}

fn document<R: Read>(entry: &mut tar::Entry<'_, R>, name: &str) -> io::Result<Vec<u8>> {
    if entry.size() > DOCUMENT_BYTES {
        let bytes = entry.size();
        return Err(io::Error::other(format!("{name} has {bytes} bytes, at most {DOCUMENT_BYTES} are read")));
    }
    let mut bytes = Vec::new();
    entry.take(DOCUMENT_BYTES).read_to_end(&mut bytes)?;
    match bytes.len() as u64 == entry.size() {
        true => Ok(bytes),
        false => Err(io::Error::other("it ends in the middle")),
    }
}

fn kind_of(entry_type: EntryType) -> String {
    match entry_type {
        EntryType::Link => "a hard link".to_owned(),
        EntryType::Symlink => "a symbolic link".to_owned(),
        EntryType::Directory => "a directory".to_owned(),
        EntryType::Char | EntryType::Block => "a device".to_owned(),
        EntryType::Fifo => "a pipe".to_owned(),
        other => format!("an entry of type {:#04x}", other.as_byte()),
    }
}
