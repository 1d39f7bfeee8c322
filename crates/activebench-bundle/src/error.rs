//! Errors and faults of bundles.

use std::io;
use std::path::PathBuf;

/// Why a bundle could not be written or examined. A [`Fault`] is what is wrong with one that was examined.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BundleError {
    /// Something is at the path already.
    #[error("{path} is there already (hint: --force replaces it, --out FILE names another one)", path = path.display())]
    Exists {
        /// The bundle.
        path: PathBuf,
    },
    /// The bundle could not be written.
    #[error("cannot write the bundle {path}: {source} (hint: --out FILE names another place)", path = path.display())]
    Write {
        /// The bundle.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// A file of the run could not be read, or the archive could not be opened.
    #[error("cannot read {path}: {source}", path = path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// A file of the run changed between its sum and its copy.
    #[error("{path} changed while it was bundled (hint: bundle a run that nobody writes to)", path = path.display())]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// A name that an archive or a manifest cannot hold.
    #[error("cannot bundle a file named {name:?}: names are plain paths of at most 255 bytes without controls")]
    Name {
        /// The name.
        name: String,
    },
    /// A value could not be put into JSON.
    #[error("cannot encode {name}: {why}")]
    Encode {
        /// The document that it was for.
        name: &'static str,
        /// The reason.
        why: String,
    },
    /// A key cannot be used.
    #[error("cannot use the key: {why}")]
    Key {
        /// The problem with the key, and what to do.
        why: String,
    },
    /// The statement could not be signed.
    #[error("cannot sign the statement: {why}")]
    Sign {
        /// The reason.
        why: String,
    },
    /// A file could not be unpacked.
    #[error("cannot unpack to {path}: {source} (hint: TMPDIR=DIR names a place with more room)", path = path.display())]
    Unpack {
        /// The file.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// The bundle does not verify.
    #[error("the bundle does not verify: {}", join(.0))]
    NotVerified(Vec<Fault>),
}

/// One fault of a bundle. Names in it may be hostile text; they are quoted with controls escaped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// The archive cannot be read further.
    #[error("it cannot be read past byte {compressed_bytes} ({unpacked_bytes} bytes unpacked, {}): {why}", place(.entry))]
    Archive {
        /// Compressed bytes read so far. The damage is before this place.
        compressed_bytes: u64,
        /// Bytes unpacked so far.
        unpacked_bytes: u64,
        /// The file in it that was being read; `None` between files.
        entry: Option<String>,
        /// The problem.
        why: String,
    },
    /// It unpacks to more than was allowed.
    #[error(
        "it unpacks to more than the limit of {limit_bytes} bytes{} (hint: --max-size SIZE allows more)",
        stated(.stated_bytes)
    )]
    TooLarge {
        /// The limit.
        limit_bytes: u64,
        /// Bytes that its manifest states; `None` if it unpacks to more than that.
        stated_bytes: Option<u64>,
    },
    /// It holds more files than a bundle can have.
    #[error("it holds more than {limit} files")]
    TooMany {
        /// Maximum number of files.
        limit: usize,
    },
    /// The first file is not the manifest.
    #[error("it begins with {found:?} instead of bundle.json: this is not a bundle of activebench")]
    NoManifest {
        /// Name of the first file.
        found: String,
    },
    /// The archive is empty.
    #[error("it is empty: this is not a bundle of activebench")]
    Empty,
    /// Another version wrote it.
    #[error(
        "bundle.json has the schema {found:?}, this activebench reads activebench.bundle/1 (hint: use the activebench that made it)"
    )]
    Schema {
        /// Its schema.
        found: String,
    },
    /// `bundle.json` is damaged.
    #[error("bundle.json cannot be read: {why}")]
    Manifest {
        /// The problem with it.
        why: String,
    },
    /// A name leads out of the bundle's folder.
    #[error("the name {name:?} leads out of the bundle's folder run/")]
    Outside {
        /// The name.
        name: String,
    },
    /// An entry that is not a regular file.
    #[error("{name:?} is not a regular file but {what}: bundles hold nothing else")]
    NotAFile {
        /// Its name.
        name: String,
        /// The kind of entry that it is.
        what: String,
    },
    /// A file that the manifest does not list.
    #[error("{name:?} is in the archive though bundle.json does not list it")]
    Unlisted {
        /// Its name.
        name: String,
    },
    /// A file that is in the archive twice.
    #[error("{name:?} is in the archive twice")]
    Twice {
        /// Its name.
        name: String,
    },
    /// A file that the manifest lists and that is not there.
    #[error("{name:?} is missing though bundle.json lists it")]
    Missing {
        /// Its name.
        name: String,
    },
    /// A file of another size.
    #[error("{name:?} has {found_bytes} bytes, bundle.json says {stated_bytes}")]
    Size {
        /// Its name.
        name: String,
        /// Its size.
        found_bytes: u64,
        /// The size that the manifest states.
        stated_bytes: u64,
    },
    /// A file that was changed.
    #[error("{name:?} was changed: its SHA-256 is {found}, bundle.json says {stated}")]
    Sum {
        /// Its name.
        name: String,
        /// Its SHA-256.
        found: String,
        /// The SHA-256 that the manifest states.
        stated: String,
    },
    /// A signature was required.
    #[error("it is not signed: there is no statement.dsse.json, though a key was given")]
    NotSigned,
    /// The signature is not that of the key.
    #[error("the signature of statement.dsse.json is not right under the key that was given: {why}")]
    Signature {
        /// The reason why it is not right.
        why: String,
    },
    /// The envelope or the statement in it is damaged.
    #[error("statement.dsse.json cannot be read: {why}")]
    Statement {
        /// The problem with it.
        why: String,
    },
    /// The statement does not describe what is in the bundle.
    #[error("statement.dsse.json does not fit: {why}")]
    Subject {
        /// The difference.
        why: String,
    },
}

fn place(entry: &Option<String>) -> String {
    entry.as_ref().map_or_else(|| "between files".to_owned(), |name| format!("in {name:?}"))
}

fn stated(bytes: &Option<u64>) -> String {
    bytes.map_or_else(String::new, |bytes| format!(": its manifest says {bytes}"))
}

/// Maximum number of faults listed; the rest is counted.
const NAMED: usize = 20;

fn join(faults: &[Fault]) -> String {
    let mut named: Vec<String> = faults.iter().take(NAMED).map(Fault::to_string).collect();
    if faults.len() > NAMED {
        named.push(format!("and {} more", faults.len() - NAMED));
    }
    named.join("; ")
}
