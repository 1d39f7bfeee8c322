//! Errors of run directories.

use std::io;
use std::path::PathBuf;

/// Why a run directory could not be written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The directory could not be made.
    #[error("cannot create the run directory {path}: {source} (hint: name another one with --out)", path = path.display())]
    Create {
        /// The directory, or the file in it.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// The directory is not empty.
    #[error("cannot use {path} as a run directory: it is not empty (hint: name a new one with --out)", path = path.display())]
    NotEmpty {
        /// The directory.
        path: PathBuf,
    },
    /// There is no manifest.
    #[error("{path} is not a run directory: it holds no run.json", path = path.display())]
    NotARun {
        /// The directory.
        path: PathBuf,
    },
    /// activebench ended before it could write the manifest.
    #[error("the run in {path} was never finished: activebench ended before it wrote the manifest (hint: `activebench recheck` completes it with what is there)", path = path.display())]
    Unfinished {
        /// The directory.
        path: PathBuf,
    },
    /// Another process is recording this run.
    #[error("the run in {path} is still being recorded", path = path.display())]
    InProgress {
        /// The directory.
        path: PathBuf,
    },
    /// The manifest is not readable.
    #[error("cannot read the manifest {path}: {why}", path = path.display())]
    Manifest {
        /// The manifest.
        path: PathBuf,
        /// The problem with it.
        why: String,
    },
    /// The manifest could not be written.
    #[error("cannot write the manifest {path}: {source}", path = path.display())]
    WriteManifest {
        /// The manifest.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// A later version wrote the directory.
    #[error(
        "{path} has format version {found}, this activebench reads up to {supported} (hint: use a newer activebench)",
        path = path.display()
    )]
    NewerFormat {
        /// The manifest.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// The newest version that we read.
        supported: u32,
    },
    /// The manifest, or a caller, names a file outside the run directory.
    #[error("the name {name:?} leads out of the run directory")]
    OutsideName {
        /// The name.
        name: String,
    },
    /// A file that the manifest lists is not there.
    #[error("{path} is missing though the manifest lists it", path = path.display())]
    MissingFile {
        /// The file.
        path: PathBuf,
    },
    /// A file that would be read is there, and the manifest does not list it.
    #[error(
        "{path} is there though the manifest does not list it: it was added, or its line was taken out of run.json",
        path = path.display()
    )]
    UnlistedFile {
        /// The file.
        path: PathBuf,
    },
    /// A file is not what the manifest says.
    #[error("{path} is not what was recorded: its SHA-256 differs", path = path.display())]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// The manifest is not the one that was recorded.
    #[error(
        "{path} was changed after the recording: {seal} beside it states another SHA-256 (hint: get the run again from \
         whoever recorded it)",
        path = path.display()
    )]
    BrokenSeal {
        /// The manifest.
        path: PathBuf,
        /// The name of the file with its sum.
        seal: &'static str,
    },
    /// The name of a file belongs to something else.
    #[error("cannot use {path}: it is {what}, and a run directory holds regular files", path = path.display())]
    NotAFile {
        /// The name.
        path: PathBuf,
        /// What has it, with an article.
        what: &'static str,
    },
    /// The name of a link belongs to something else.
    #[error("cannot make {path} a link: it is {what}", path = path.display())]
    NotALink {
        /// The name.
        path: PathBuf,
        /// What has it, with an article.
        what: &'static str,
    },
    /// A file is larger than ours are.
    #[error("cannot read {path}: it has {bytes} bytes, and at most {most} are read of it", path = path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Its size.
        bytes: u64,
        /// The limit.
        most: u64,
    },
    /// The system refused to read or write a file.
    #[error("cannot access {path}: {source}", path = path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// A table is truncated or damaged.
    #[error("cannot read the table {path}: {why}", path = path.display())]
    Table {
        /// The part.
        path: PathBuf,
        /// The problem with it.
        why: String,
    },
    /// A table lacks a column or holds it in another form.
    #[error("cannot read column {column} of {path}: {why}", path = path.display())]
    Column {
        /// The part.
        path: PathBuf,
        /// The column.
        column: String,
        /// The problem with it.
        why: String,
    },
    /// A value could not be put into JSON.
    #[error("cannot encode {name}: {why}")]
    Encode {
        /// The file that it was for.
        name: String,
        /// The reason.
        why: String,
    },
    /// A stage was to be written under the name of evidence.
    #[error("{name:?} is not the name of a derived file: evidence is written once")]
    NotDerived {
        /// The name.
        name: String,
    },
}
