//! The benchmarks that can be verified: where they are, which version, how to install them.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

/// Time limit for a benchmark to print its version.
const PATIENCE: Duration = Duration::from_secs(5);

/// Folders that hold benchmarks and that a user's `PATH` often lacks.
const FURTHER_FOLDERS: &[&str] = &["/usr/local/sbin", "/usr/sbin", "/sbin"];

/// A benchmark.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Benchmark {
    /// The program's file name.
    pub(crate) program: &'static str,
    /// Arguments that make it print its version and do nothing else; `None` if it has none.
    version_arguments: Option<&'static [&'static str]>,
    /// Text before the version in its output.
    version_after: &'static str,
    /// The package by manager, in the order of [`MANAGERS`]; `None` where a distribution lacks it.
    packages: [Option<&'static str>; MANAGERS.len()],
    /// How to get it if no package has it, or what else to do.
    remark: &'static str,
}

/// Package managers: the program by which each is known, and its command.
const MANAGERS: [(&str, &str); 5] = [
    ("apt-get", "apt-get install"),
    ("dnf", "dnf install"),
    ("apk", "apk add"),
    ("pacman", "pacman -S"),
    ("zypper", "zypper install"),
];

/// All benchmarks, listed by hand.
pub(crate) const BENCHMARKS: &[Benchmark] = &[
    Benchmark {
        program: "iozone",
        version_arguments: Some(&["-v"]),
        version_after: "$Revision: ",
        packages: [Some("iozone3"), Some("iozone"), Some("iozone"), Some("iozone"), Some("iozone")],
        remark: "in Debian it is in the component non-free, which apt's sources must name; `cargo xtask demo` installs it too",
    },
    Benchmark {
        program: "fio",
        version_arguments: Some(&["--version"]),
        version_after: "fio-",
        packages: [Some("fio"), Some("fio"), Some("fio"), Some("fio"), Some("fio")],
        remark: "",
    },
    Benchmark {
        program: "bonnie++",
        // Without an argument that it refuses, it would start to measure.
        version_arguments: Some(&["-h"]),
        version_after: "Version: ",
        packages: [Some("bonnie++"), Some("bonnie++"), Some("bonnie++"), Some("bonnie++"), Some("bonnie")],
        remark: "",
    },
    Benchmark {
        program: "orion",
        version_arguments: None,
        version_after: "",
        packages: [None; MANAGERS.len()],
        remark: "it comes with Oracle Database: $ORACLE_HOME/bin/orion",
    },
];

/// A benchmark on this machine.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) benchmark: &'static Benchmark,
    /// Where it is; `None` when it is not installed.
    pub(crate) path: Option<PathBuf>,
    /// Its version; `None` if it does not print one.
    pub(crate) version: Option<String>,
}

/// Looks for every benchmark, and asks the installed ones for their version.
///
/// # Errors
/// When the event loop that bounds their time cannot be started.
pub(crate) fn look() -> std::io::Result<Vec<Found>> {
    BENCHMARKS.iter().map(Benchmark::look).collect()
}

/// Looks for one of the benchmarks, as [`look`] does; `None` where none has this name.
///
/// # Errors
/// As [`look`].
pub(crate) fn find(program: &str) -> std::io::Result<Option<Found>> {
    BENCHMARKS.iter().find(|benchmark| benchmark.program == program).map(Benchmark::look).transpose()
}

impl Benchmark {
    fn look(&'static self) -> std::io::Result<Found> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let path = find_in(self.program, &std::env::var_os("PATH").unwrap_or_default(), FURTHER_FOLDERS);
        let version = path.as_deref().and_then(|path| runtime.block_on(self.ask_version(path)));
        Ok(Found { benchmark: self, path, version })
    }

    async fn ask_version(&self, path: &Path) -> Option<String> {
        let mut command = tokio::process::Command::new(path);
        command.args(self.version_arguments?).stdin(Stdio::null()).kill_on_drop(true);
        // A benchmark that does not answer in time is killed when the future is dropped.
        let output = tokio::time::timeout(PATIENCE, command.output()).await.ok()?.ok()?;
        let printed = [output.stdout, output.stderr].concat();
        self.version_in(&String::from_utf8_lossy(&printed))
    }

    /// Finds the version in its output.
    fn version_in(&self, printed: &str) -> Option<String> {
        let (_, rest) = printed.split_once(self.version_after)?;
        let version = rest.split_whitespace().next()?;
        let is_version =
            version.starts_with(|c: char| c.is_ascii_digit()) && version.chars().all(|c| c.is_ascii_graphic());
        is_version.then(|| version.to_owned())
    }

    /// Returns the command that installs it with this machine's package manager; `None` if that has no package for it.
    pub(crate) fn install_command(&self) -> Option<String> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let manager = MANAGERS.iter().position(|(program, _)| find_in(program, &path, FURTHER_FOLDERS).is_some())?;
        self.install_command_of(manager)
    }

    fn install_command_of(&self, manager: usize) -> Option<String> {
        let package = self.packages[manager]?;
        Some(format!("sudo {} {package}", MANAGERS[manager].1))
    }

    /// Returns a remark on the command; empty if it needs none.
    pub(crate) fn remark(&self) -> &'static str {
        self.remark
    }

    /// True if its program or one of its packages has this name.
    pub(crate) fn is_named(&self, name: &str) -> bool {
        self.program == name || self.packages.contains(&Some(name))
    }
}

/// Returns a hint on how to install a missing program.
pub(crate) fn install_hint(name: &str) -> String {
    let Some(benchmark) = BENCHMARKS.iter().find(|benchmark| benchmark.is_named(name)) else {
        return "give its full path, or install it".to_owned();
    };
    match (benchmark.install_command(), benchmark.remark()) {
        (Some(command), "") => format!("`{command}`"),
        (Some(command), remark) => format!("`{command}`; {remark}"),
        (None, "") => "give its full path, or install it".to_owned(),
        (None, remark) => remark.to_owned(),
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

    fn named(program: &str) -> &'static Benchmark {
        BENCHMARKS.iter().find(|benchmark| benchmark.program == program).expect("it is listed")
    }

    #[test]
    fn versions_are_read_from_what_the_benchmarks_print() {
        for (program, printed, expected) in [
            ("iozone", "\t'Iozone' Filesystem Benchmark Program\n\n\tVersion $Revision: 3.489 $\n", Some("3.489")),
            ("fio", "fio-3.33\n", Some("3.33")),
            ("bonnie++", "usage:\nbonnie++ [-d scratch-dir]\n\nVersion: 2.00a\n", Some("2.00a")),
            ("fio", "fio: command line\n", None),
            ("fio", "fio-", None),
            ("bonnie++", "Version: \x1b[31m", None),
            ("iozone", "", None),
        ] {
            assert_eq!(named(program).version_in(printed).as_deref(), expected, "{printed:?}");
        }
    }

    #[test]
    fn each_package_manager_has_its_command() {
        let apt = 0;
        assert_eq!(named("iozone").install_command_of(apt).as_deref(), Some("sudo apt-get install iozone3"));
        assert_eq!(named("bonnie++").install_command_of(4).as_deref(), Some("sudo zypper install bonnie"));
        assert_eq!(named("orion").install_command_of(apt), None);
        assert!(install_hint("orion").contains("Oracle Database"));
        assert!(install_hint("iozone3").contains("non-free"));
        assert_eq!(install_hint("no-such-benchmark"), "give its full path, or install it");
    }
}
