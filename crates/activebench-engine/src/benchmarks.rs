//! The benchmarks that can be verified: where they are, which version, how to install them.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use activebench_tools::{ADAPTERS, PackageManager, Program, VersionQuery};

/// Time limit for a benchmark to print its version.
const PATIENCE: Duration = Duration::from_secs(5);

/// Folders that hold benchmarks and that a user's `PATH` often lacks.
const FURTHER_FOLDERS: &[&str] = &["/usr/local/sbin", "/usr/sbin", "/sbin"];

/// A benchmark on this machine.
#[derive(Clone, Debug)]
pub struct Found {
    /// The program.
    pub program: &'static Program,
    /// Where it is; `None` when it is not installed.
    pub path: Option<PathBuf>,
    /// Its version; `None` if it does not print one.
    pub version: Option<String>,
}

/// Looks for every benchmark, and asks the installed ones for their version.
///
/// # Errors
/// When the event loop that bounds their time cannot be started.
pub fn look() -> std::io::Result<Vec<Found>> {
    ADAPTERS.iter().map(|adapter| find(adapter.program())).collect()
}

/// Looks for one of the benchmarks, as [`look`] does.
///
/// # Errors
/// As [`look`].
pub fn find(program: &'static Program) -> std::io::Result<Found> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let path = find_in(program.name, &std::env::var_os("PATH").unwrap_or_default(), FURTHER_FOLDERS);
    let query = path.as_deref().zip(program.version.as_ref());
    let version = query.and_then(|(path, query)| runtime.block_on(ask_version(path, query)));
    Ok(Found { program, path, version })
}

async fn ask_version(path: &Path, query: &VersionQuery) -> Option<String> {
    let mut command = tokio::process::Command::new(path);
    command.args(query.arguments).stdin(Stdio::null()).kill_on_drop(true);
    // A benchmark that does not answer in time is killed when the future is dropped.
    let output = tokio::time::timeout(PATIENCE, command.output()).await.ok()?.ok()?;
    let printed = [output.stdout, output.stderr].concat();
    query.version_in(&String::from_utf8_lossy(&printed))
}

/// Returns the command that installs a program with this machine's package manager; `None` if that has no package for
/// it.
pub fn install_command(program: &Program) -> Option<String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_here = |manager: &PackageManager| find_in(manager.program(), &path, FURTHER_FOLDERS).is_some();
    let manager = PackageManager::ALL.into_iter().find(is_here)?;
    Some(manager.install_command(program.packages.of(manager)?))
}

/// Returns a hint on how to install a missing program.
pub fn install_hint(name: &str) -> String {
    let program = ADAPTERS.iter().map(|adapter| adapter.program()).find(|program| program.is_named(name));
    match (program.and_then(install_command), program.and_then(|program| program.remark)) {
        (Some(command), None) => format!("`{command}`"),
        (Some(command), Some(remark)) => format!("`{command}`; {remark}"),
        (None, None) => "give its full path, or install it".to_owned(),
        (None, Some(remark)) => remark.to_owned(),
    }
}

/// Returns the first executable file of this name in the folders of a `PATH` and in further ones.
fn find_in(program: &str, path: &OsStr, further: &[&str]) -> Option<PathBuf> {
    let is_executable = |path: &PathBuf| {
        path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
    };
    std::env::split_paths(path)
        .filter(|folder| !folder.as_os_str().is_empty())
        .chain(further.iter().map(PathBuf::from))
        .map(|folder| folder.join(program))
        .find(is_executable)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_says_how_to_get_a_benchmark() {
        assert!(install_hint("orion").contains("Oracle Database"));
        assert!(install_hint("iozone3").contains("non-free"));
        assert_eq!(install_hint("no-such-benchmark"), "give its full path, or install it");
    }
}
