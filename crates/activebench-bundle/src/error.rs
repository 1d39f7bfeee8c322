//! What can go wrong with a bundle.

use std::io;
use std::path::PathBuf;

/// Why a bundle could not be written, or not be looked at. What is wrong with one that could be, is a [`Fault`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BundleError {
    /// Something is there already.
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
        /// What it was for.
        name: &'static str,
        /// Why not.
        why: String,
    },
    /// A key is none that we can use.
    #[error("cannot use the key: {why}")]
    Key {
        /// What is wrong with it, and what to do.
        why: String,
    },
    /// The statement could not be signed.
    #[error("cannot sign the statement: {why}")]
    Sign {
        /// Why not.
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

/// One thing that is wrong with a bundle. Names in it may be hostile text; they are quoted with controls escaped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// The archive cannot be read on.
    #[error("it cannot be read past byte {compressed_bytes} ({unpacked_bytes} bytes unpacked, {}): {why}", place(.entry))]
    Archive {
        /// How far the file was read. The damage lies before it.
        compressed_bytes: u64,
        /// How far its content was unpacked.
        unpacked_bytes: u64,
        /// The file in it that was being read; `None` between files.
        entry: Option<String>,
        /// What is wrong.
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
        /// What its manifest says; `None` when it unpacks to more than that.
        stated_bytes: Option<u64>,
    },
    /// It holds more files than a bundle can have.
    #[error("it holds more than {limit} files")]
    TooMany {
        /// How many there may be.
        limit: usize,
    },
    /// The first file is another one.
    #[error("it begins with {found:?} instead of bundle.json: this is no bundle of activebench")]
    NoManifest {
        /// What it begins with.
        found: String,
    },
    /// There is nothing in it.
    #[error("it is empty: this is no bundle of activebench")]
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
        /// What is wrong with it.
        why: String,
    },
    /// A name leads elsewhere.
    #[error("the name {name:?} leads out of the bundle's folder run/")]
    Outside {
        /// The name.
        name: String,
    },
    /// Something that is no regular file.
    #[error("{name:?} is no regular file but {what}: bundles hold nothing else")]
    NotAFile {
        /// Its name.
        name: String,
        /// What it is.
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
        /// What it has.
        found_bytes: u64,
        /// What the manifest says.
        stated_bytes: u64,
    },
    /// A file that was changed.
    #[error("{name:?} was changed: its SHA-256 is {found}, bundle.json says {stated}")]
    Sum {
        /// Its name.
        name: String,
        /// What it has.
        found: String,
        /// What the manifest says.
        stated: String,
    },
    /// A signature was required.
    #[error("it is not signed: there is no statement.dsse.json, though a key was given")]
    NotSigned,
    /// The signature is not that of the key.
    #[error("the signature of statement.dsse.json is not right under the key that was given: {why}")]
    Signature {
        /// What was found.
        why: String,
    },
    /// The envelope or the statement in it is damaged.
    #[error("statement.dsse.json cannot be read: {why}")]
    Statement {
        /// What is wrong with it.
        why: String,
    },
    /// The statement speaks of something else than what is there.
    #[error("statement.dsse.json does not fit: {why}")]
    Subject {
        /// What differs.
        why: String,
    },
}

fn place(entry: &Option<String>) -> String {
    entry.as_ref().map_or_else(|| "between files".to_owned(), |name| format!("in {name:?}"))
}

fn stated(bytes: &Option<u64>) -> String {
    bytes.map_or_else(String::new, |bytes| format!(": its manifest says {bytes}"))
}

/// Faults that are named; the rest is counted.
const NAMED: usize = 20;

fn join(faults: &[Fault]) -> String {
    let mut named: Vec<String> = faults.iter().take(NAMED).map(Fault::to_string).collect();
    if faults.len() > NAMED {
        named.push(format!("and {} more", faults.len() - NAMED));
    }
    named.join("; ")
}
