//! Runs the product as an ordinary user: not root, without a capability, and without a way to get one.
//!
//! What is set up for a run (devices, mounts, control groups, other processes) stays root's, as on any machine; the
//! user is given the folders and devices that the run is about.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use tempfile::TempDir;

use crate::{BINARY, binary, run};

/// Number of the user and of its group: `nobody`.
const NOBODY: u32 = 65534;
/// Beginning of the command that drops every right for good.
const DROP_RIGHTS: [&str; 6] =
    ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--bounding-set=-all", "--no-new-privs"];

/// The user's folder, when the product runs as one.
static HOME: OnceLock<PathBuf> = OnceLock::new();

/// From here on the product runs as an ordinary user. Returns its folder with a copy of the product, which is removed
/// when dropped.
///
/// # Errors
/// Describes what this host lacks.
///
/// # Safety
/// It sets an environment variable: no other thread may run.
pub unsafe fn become_ordinary() -> Result<TempDir, String> {
    let folder =
        TempDir::with_prefix("activebench-ordinary-").map_err(|error| format!("cannot make a folder: {error}"))?;
    let copy = folder.path().join("activebench");
    let made = fs::copy(binary(), &copy)
        .and_then(|_| fs::set_permissions(&copy, fs::Permissions::from_mode(0o755)))
        .and_then(|()| chown(folder.path(), Some(NOBODY), Some(NOBODY)));
    made.map_err(|error| format!("cannot copy the product for an ordinary user: {error}"))?;
    HOME.get_or_init(|| folder.path().to_owned());
    // SAFETY: the caller runs no other thread.
    unsafe { std::env::set_var(BINARY, &copy) };
    let status = product().arg("--version").output();
    match status {
        Ok(output) if output.status.success() => Ok(folder),
        Ok(output) => Err(format!("an ordinary user cannot start it: {}", String::from_utf8_lossy(&output.stderr))),
        Err(error) => Err(format!("cannot start {}: {error}", DROP_RIGHTS[0])),
    }
}

/// Returns `true` when the product runs as an ordinary user.
pub fn is_ordinary() -> bool {
    HOME.get().is_some()
}

/// Returns the name of the user who runs the product.
pub fn user() -> &'static str {
    if is_ordinary() { "nobody" } else { "root" }
}

/// Returns the words that start the product.
pub(crate) fn product_words() -> Vec<OsString> {
    let dropped = DROP_RIGHTS.iter().filter(|_| is_ordinary()).map(OsString::from);
    dropped.chain([binary().into_os_string()]).collect()
}

/// Returns the command that starts the product, ready for its arguments.
pub fn product() -> Command {
    of_words(&product_words())
}

/// Returns a command of these words, with the user's folder as its home.
pub(crate) fn of_words(words: &[impl AsRef<OsStr>]) -> Command {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    if let Some(home) = HOME.get() {
        command.env("HOME", home);
    }
    command
}

/// Gives a folder, and all that is in it, to the user; leaves it as it is when the product runs as root.
///
/// # Panics
/// When the system refuses.
pub fn give_folder(path: &Path) {
    if !is_ordinary() {
        return;
    }
    let owner = format!("{NOBODY}:{NOBODY}");
    run("chown", &["--recursive", "--no-dereference", &owner, path.to_str().expect("a UTF-8 path")]);
    // A temporary folder is closed to all others.
    let parent = path.parent().expect("a folder has a parent");
    let mode = fs::metadata(parent).expect("a folder").permissions().mode();
    fs::set_permissions(parent, fs::Permissions::from_mode(mode | 0o011)).expect("a folder can be opened");
}

/// A file of root's that the user was given; it is root's again when dropped.
#[derive(Debug)]
pub struct Given {
    path: PathBuf,
    owner: (u32, u32),
}

impl Given {
    /// Gives a device or a file of a control group to the user; `None` when the product runs as root.
    ///
    /// # Panics
    /// When the system refuses.
    pub fn new(path: &Path) -> Option<Self> {
        if !is_ordinary() {
            return None;
        }
        let of_file = fs::metadata(path).expect("it is there");
        chown(path, Some(NOBODY), Some(NOBODY)).expect("root can give it");
        Some(Self { path: path.to_owned(), owner: (of_file.uid(), of_file.gid()) })
    }
}

impl Drop for Given {
    fn drop(&mut self) {
        // A control group may be gone.
        if self.path.exists()
            && let Err(error) = chown(&self.path, Some(self.owner.0), Some(self.owner.1))
        {
            eprintln!("cleaning up: {}: {error}", self.path.display());
        }
    }
}
