//! Installs packages: prints the package and the command, then uses the system's own package manager.
//!
//! A package that cannot be installed is not an error here: the caller gets the tools that are still missing with the
//! reasons, and decides. Where apt's enabled sources lack a package (iozone, in Debian's `non-free`), one install uses
//! a source of its own ([`SourceOnce`]).

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use activebench_tools::PackageManager;
use anyhow::{Context, Result, bail};

use crate::source_once::{APT_FOLDER, SourceOnce};
use crate::tools::{self, Tool};
use crate::{apt_sources, process};

/// Folder of apt's lists of known packages.
const APT_LISTS: &str = "/var/lib/apt/lists";
/// Longest wait for another apt to end, in seconds.
const LOCK_TIMEOUT: &str = "DPkg::Lock::Timeout=300";

/// Returns this machine's package manager.
fn detect() -> Option<PackageManager> {
    let path = tools::search_path();
    let folders = ["/usr/bin", "/sbin", "/usr/sbin"];
    PackageManager::ALL.into_iter().find(|manager| tools::find_in(manager.program(), &path, &folders).is_some())
}

/// Returns arguments that install packages without a question.
fn install_arguments(manager: PackageManager) -> &'static [&'static str] {
    match manager {
        PackageManager::Apt => &["install", "-y", "--no-install-recommends", "-o", LOCK_TIMEOUT],
        PackageManager::Dnf => &["install", "-y"],
        PackageManager::Apk => &["add"],
        PackageManager::Pacman => &["-S", "--needed", "--noconfirm"],
        PackageManager::Zypper => &["--non-interactive", "install"],
    }
}

/// A missing tool, and the reason why it could not be installed.
#[derive(Debug)]
pub(crate) struct Missing {
    /// The tool.
    pub(crate) tool: &'static Tool,
    /// The reason: a lower-case fragment.
    pub(crate) why: String,
}

/// Returns those of these tools that are not installed.
pub(crate) fn missing(wanted: &[&'static Tool]) -> Vec<&'static Tool> {
    wanted.iter().copied().filter(|tool| tool.find().is_none()).collect()
}

/// Installs those of the wanted tools that are missing; returns those that are still missing.
pub(crate) fn ensure(wanted: &[&'static Tool]) -> Vec<Missing> {
    let absent = missing(wanted);
    if absent.is_empty() {
        return Vec::new();
    }
    eprintln!("missing: {}", names(&absent));
    let because = |why: &str| absent.iter().map(|tool| Missing { tool, why: why.to_owned() }).collect::<Vec<Missing>>();
    if !process::is_root() {
        return because("installing packages needs root");
    }
    let Some(manager) = detect() else {
        return because("no package manager that we know is here (apt-get, dnf, apk, pacman, zypper)");
    };
    let mut still_missing = Vec::new();
    let mut wanted_packages = Vec::new();
    for tool in absent {
        match tool.packages.of(manager) {
            Some(package) => wanted_packages.push((tool, package)),
            None => {
                let why = format!("{} has no package of it that we know", manager.program());
                still_missing.push(Missing { tool, why });
            }
        }
    }
    let outcome = match manager {
        PackageManager::Apt => install_with_apt(&wanted_packages),
        other => install_one_by_one(other, &wanted_packages),
    };
    for (tool, _) in wanted_packages {
        if tool.find().is_none() {
            let why = match &outcome {
                Ok(()) => format!("{} installed its package, but the program is not there", manager.program()),
                Err(error) => format!("{error:#}"),
            };
            still_missing.push(Missing { tool, why });
        }
    }
    still_missing
}

/// Prints one line for each tool that is still missing.
pub(crate) fn report_missing(missing: &[Missing]) {
    for entry in missing {
        eprintln!("cannot install {}: {}", entry.tool.command, entry.why);
    }
}

fn names(tools: &[&Tool]) -> String {
    tools.iter().map(|tool| tool.command).collect::<Vec<_>>().join(", ")
}

/// Runs a command with its output visible.
///
/// # Errors
/// When it cannot be started or does not end with success.
pub(crate) fn run_visibly(command: &mut Command) -> Result<()> {
    let shown = format!("{command:?}").replace('"', "");
    eprintln!("running: {shown}");
    let status = command.stdin(Stdio::null()).status().with_context(|| format!("cannot start {shown}"))?;
    if !status.success() {
        bail!("{} ended with {status}", command.get_program().to_string_lossy());
    }
    Ok(())
}

/// Makes one call per package, because dnf, apk, pacman and zypper install nothing from a list with one unknown name.
fn install_one_by_one(manager: PackageManager, wanted: &[(&'static Tool, &'static str)]) -> Result<()> {
    let mut failures = Vec::new();
    for (_, package) in wanted {
        eprintln!("installing the package {package} with {}", manager.program());
        if let Err(error) = run_visibly(Command::new(manager.program()).args(install_arguments(manager)).arg(package)) {
            failures.push(format!("{package}: {error:#}"));
        }
    }
    if !failures.is_empty() {
        bail!("{}", failures.join("; "));
    }
    Ok(())
}

/// Returns an `apt-get` command that asks nothing.
pub(crate) fn apt_get() -> Command {
    let mut command = Command::new(PackageManager::Apt.program());
    // Package scripts must not ask either. dpkg draws its progress only on a terminal of its own, not on one that apt
    // makes for it.
    command.env("DEBIAN_FRONTEND", "noninteractive").args(["-o", "Acquire::Retries=2", "-o", "Dpkg::Use-Pty=0"]);
    command
}

fn install_with_apt(wanted: &[(&'static Tool, &'static str)]) -> Result<()> {
    if wanted.is_empty() {
        return Ok(());
    }
    let lists_were_there = has_lists(Path::new(APT_LISTS));
    if !lists_were_there {
        eprintln!("apt knows no packages yet: fetching its lists first");
        update_apt();
    }
    let (mut enabled, further): (Vec<&str>, Vec<&str>) =
        wanted.iter().map(|(_, package)| *package).partition(|package| has_candidate(package));
    enabled.dedup();
    let mut failures = Vec::new();
    if !enabled.is_empty() {
        eprintln!("installing with apt-get from the enabled sources: {}", enabled.join(", "));
        let install = || run_visibly(apt_get().args(install_arguments(PackageManager::Apt)).args(&enabled));
        let mut outcome = install();
        if outcome.is_err() && lists_were_there {
            eprintln!("this failed; old package lists are the usual reason: fetching them again, then once more");
            update_apt();
            outcome = install();
        }
        if let Err(error) = outcome {
            failures.push(format!("{error:#}"));
        }
    }
    if !further.is_empty()
        && let Err(error) = install_from_further_component(&further)
    {
        failures.push(format!("{error:#}"));
    }
    if !failures.is_empty() {
        bail!("{}", failures.join("; "));
    }
    Ok(())
}

/// Updates apt's lists. An unreachable source must not prevent the installation of packages from the others: the
/// installation shows what is really missing.
fn update_apt() {
    if let Err(error) = run_visibly(apt_get().args(["update", "-o", LOCK_TIMEOUT])) {
        eprintln!("fetching the lists failed: {error:#}; going on with those that there are");
    }
}

/// Returns `true` when apt has fetched any list of packages. In an unreadable folder there is none that apt could use.
fn has_lists(folder: &Path) -> bool {
    let is_list =
        |entry: fs::DirEntry| entry.file_name().to_string_lossy().rsplit('_').next().is_some_and(is_package_list);
    fs::read_dir(folder).is_ok_and(|mut entries| entries.any(|entry| entry.is_ok_and(is_list)))
}

fn is_package_list(last_part: &str) -> bool {
    last_part == "Packages" || last_part.starts_with("Packages.")
}

/// Returns `true` when apt would install this package from the enabled sources.
fn has_candidate(package: &str) -> bool {
    let output = Command::new("apt-cache").args(["policy", package]).env("LC_ALL", "C").output();
    output.is_ok_and(|output| names_candidate(&String::from_utf8_lossy(&output.stdout)))
}

/// Returns `true` when the answer of `apt-cache policy` names a version that can be installed.
fn names_candidate(policy: &str) -> bool {
    policy.lines().filter_map(|line| line.trim().strip_prefix("Candidate:")).any(|version| version.trim() != "(none)")
}

/// Installs packages from the component that the enabled sources omit.
fn install_from_further_component(packages: &[&str]) -> Result<()> {
    let os_release = fs::read_to_string("/etc/os-release").context("cannot read /etc/os-release")?;
    let distribution = apt_sources::distribution(&os_release)
        .context("the enabled sources lack the package, and /etc/os-release names no release of Debian or Ubuntu")?;
    let sources = SourceOnce::of_the_system(|files| {
        apt_sources::derive(files, &distribution).with_context(|| {
            format!(
                "no source in {APT_FOLDER} is {}'s own, so its non-free component cannot be derived",
                distribution.id
            )
        })
    })?;
    eprintln!(
        "installing with apt-get from {}'s component {}, which the enabled sources leave out: {}\n\
         a temporary source is used for this; the files in {APT_FOLDER} stay as they are",
        distribution.id,
        distribution.non_free_component,
        packages.join(", ")
    );
    let outcome = run_visibly(apt_get().args(sources.options()).arg("update")).and_then(|()| {
        run_visibly(apt_get().args(sources.options()).args(install_arguments(PackageManager::Apt)).args(packages))
    });
    sources.assert_system_unchanged()?;
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_candidate_is_told_from_none() {
        for (policy, expected) in [
            ("fio:\n  Installed: (none)\n  Candidate: 3.33-3\n  Version table:\n", true),
            ("iozone3:\n  Installed: (none)\n  Candidate: (none)\n  Version table:\n     489-1 -1\n", false),
            ("", false),
        ] {
            assert_eq!(names_candidate(policy), expected, "{policy}");
        }
    }

    #[test]
    fn fetched_lists_are_told_from_an_empty_folder() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let check = |expected: bool| assert_eq!(has_lists(folder.path()), expected);
        check(false);
        fs::write(folder.path().join("mirror.example_dists_bookworm_InRelease"), "").expect("a file");
        check(false);
        fs::write(folder.path().join("mirror.example_dists_bookworm_main_binary-amd64_Packages.lz4"), "")
            .expect("a file");
        check(true);
        assert!(!has_lists(Path::new("/no/such/folder")));
    }

    #[test]
    fn every_tool_has_a_package_for_apt() {
        for tool in tools::FOR_DEMO
            .iter()
            .chain(tools::FOR_TESTS)
            .chain(tools::FOR_BPF)
            .chain(tools::FOR_OVERHEAD)
            .chain(tools::FOR_KERNELS)
        {
            assert!(tool.packages.apt.is_some(), "{}", tool.command);
        }
    }
}
