//! The evidence bundle: one file that carries a run to somebody who was not there.
//!
//! A tar in zstd with content checksums. Holds the archive, its manifest, the signed statement, and the reader, which
//! trusts none of them before it has checked them. Does not judge: the caller passes the verdict when a bundle is made,
//! and computes it anew from the evidence when one is checked. `docs/bundle.md` is for people.
//!
//! # Layout, schema `activebench.bundle/1`
//! ```text
//! bundle.json            first: verdict, exit code, tool, and size and SHA-256 of every file below run/
//! statement.dsse.json    second, in a signed bundle: an in-toto Statement in a DSSE envelope
//! run/...                the run directory; that of a series, or of two runs side by side
//! ```
//! **Chain.** The signature covers the statement, the statement names the sums of `bundle.json` and of every file,
//! and `bundle.json` names the sums of every file. Nothing else may be in the archive.
//!
//! **Plain.** Regular files in ustar headers, names of at most 255 bytes, ascending, owner 0, time 0. A reader needs
//! no extension headers, so none can be used against it.

mod archive;
mod envelope;
mod error;
mod hash;
mod manifest;
mod reader;
mod statement;

pub use archive::{Content, Source, Stored, write};
pub use envelope::{PrivateKey, PublicKey};
pub use error::{BundleError, Fault};
pub use manifest::{BundleKind, BundleManifest, BundledFile, BundledRun, BundledTool, SCHEMA};
pub use reader::{Limits, SignatureCheck, Unpacked, is_bundle, unpack};
pub use statement::{TestResult, Tests};

/// The manifest's name in the archive.
pub const MANIFEST: &str = "bundle.json";
/// The signed statement's name in the archive.
pub const STATEMENT: &str = "statement.dsse.json";
/// The folder of the run in the archive.
pub const RUN: &str = "run";
/// Ending of a bundle's file name.
pub const EXTENSION: &str = ".activebench.tar.zst";
