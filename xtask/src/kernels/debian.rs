//! Debian's kernels: the choice of their packages, and their download without installation.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::source_once::{APT_FOLDER, SourceOnce};
use crate::{apt_sources, packages};

/// A kernel of a Debian release.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Kernel {
    /// Its version as used on the command line: `6.1`.
    pub(crate) name: &'static str,
    /// The release that contains the kernel.
    pub(crate) release: &'static str,
    /// The release's name for people.
    pub(crate) title: &'static str,
}

/// The tested kernels, the oldest first.
pub(crate) const ALL: &[Kernel] = &[
    Kernel { name: "6.1", release: "bookworm", title: "Debian 12" },
    Kernel { name: "6.12", release: "trixie", title: "Debian 13" },
];

/// The package that depends on a release's newest kernel. It is built for virtual machines: small, but with the same
/// sources and otherwise the same options as the package for any machine.
const KERNEL_PACKAGE: &str = "linux-image-cloud-amd64";
/// The package of the programs of the emulated machine.
const BUSYBOX_PACKAGE: &str = "busybox-static";

/// A chosen package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Package {
    /// Its name.
    pub(crate) name: String,
    /// Its version.
    pub(crate) version: String,
}

impl Package {
    /// Returns the name of the file that `apt-get download` writes; a colon in the version is escaped.
    fn file_name(&self) -> String {
        format!("{}_{}_amd64.deb", self.name, self.version.replace(':', "%3a"))
    }
}

/// Downloaded and extracted packages.
#[derive(Debug)]
pub(crate) struct Brought {
    /// Each kernel.
    pub(crate) kernels: Vec<DebianKernel>,
    /// The static busybox.
    pub(crate) busybox: PathBuf,
}

/// A downloaded kernel.
#[derive(Debug)]
pub(crate) struct DebianKernel {
    /// The kernel.
    pub(crate) kernel: &'static Kernel,
    /// The package that contains it.
    pub(crate) package: Package,
    /// The folder into which it was extracted.
    pub(crate) folder: PathBuf,
}

/// Downloads the packages to `downloads` (existing files are not fetched again) and extracts them below `extracted`.
/// Nothing is installed, and apt's sources stay unchanged.
///
/// # Errors
/// When this system is not Debian, the mirror does not answer, or it lacks these packages.
pub(crate) fn bring(kernels: &[&'static Kernel], downloads: &Path, extracted: &Path) -> Result<Brought> {
    let os_release = fs::read_to_string("/etc/os-release").context("cannot read /etc/os-release")?;
    let distribution = apt_sources::distribution(&os_release).filter(|distribution| distribution.id == "debian");
    let Some(distribution) = distribution else {
        bail!(
            "the kernels are Debian's, and this system is another, which has no mirror of them \
             (hint: run this task on Debian, a virtual machine will do)"
        );
    };
    let releases: Vec<&str> = kernels.iter().map(|kernel| kernel.release).collect();
    let source = SourceOnce::of_the_system(|files| {
        apt_sources::derive_releases(files, &distribution, &releases).with_context(|| {
            format!(
                "no source in {APT_FOLDER} is Debian's own (hint: add the release's entry of the component main, \
                 see sources.list(5))"
            )
        })
    })?;
    let brought = bring_from(&source, kernels, downloads, extracted);
    source.assert_system_unchanged()?;
    brought
}

fn bring_from(source: &SourceOnce, kernels: &[&'static Kernel], downloads: &Path, extracted: &Path) -> Result<Brought> {
    eprintln!("fetching the package lists of {}, apart from the system's", releases(kernels));
    // The mirror's further indexes are not needed here.
    let mut update = packages::apt_get();
    update.args(source.options()).args(["-o", "Acquire::Languages=none"]);
    update.args(["-o", "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false", "update"]);
    packages::run_visibly(&mut update)
        .context("cannot fetch Debian's package lists (hint: apt-get update says whether the mirror answers)")?;
    let known = show(source, KERNEL_PACKAGE)?;
    let mut chosen = Vec::new();
    for kernel in kernels {
        let package = choose_kernel(&known, kernel.name).with_context(|| {
            format!(
                "{} of {} is not Linux {} any more (hint: name the release that has it in xtask/src/kernels/debian.rs)",
                KERNEL_PACKAGE, kernel.release, kernel.name
            )
        })?;
        chosen.push((*kernel, package));
    }
    let busybox = newest(&show(source, BUSYBOX_PACKAGE)?, BUSYBOX_PACKAGE)
        .with_context(|| format!("the releases have no {BUSYBOX_PACKAGE}"))?;
    let all: Vec<&Package> = chosen.iter().map(|(_, package)| package).chain([&busybox]).collect();
    download(source, &all, downloads)?;

    let busybox_folder = extract(&busybox, downloads, extracted)?;
    let busybox = ["usr/bin/busybox", "bin/busybox"]
        .iter()
        .map(|name| busybox_folder.join(name))
        .find(|path| path.is_file())
        .with_context(|| format!("{BUSYBOX_PACKAGE} holds no busybox"))?;
    let kernels = chosen
        .into_iter()
        .map(|(kernel, package)| {
            let folder = extract(&package, downloads, extracted)?;
            Ok(DebianKernel { kernel, package, folder })
        })
        .collect::<Result<_>>()?;
    Ok(Brought { kernels, busybox })
}

fn releases(kernels: &[&Kernel]) -> String {
    kernels.iter().map(|kernel| kernel.release).collect::<Vec<_>>().join(" and ")
}

/// Returns the source's records of a package, one stanza per version.
fn show(source: &SourceOnce, package: &str) -> Result<String> {
    let output = Command::new("apt-cache")
        .args(source.options())
        .args(["show", "--all-versions", package])
        .env("LC_ALL", "C")
        .output()
        .context("cannot start apt-cache")?;
    if !output.status.success() {
        bail!("apt-cache show {package}: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn download(source: &SourceOnce, wanted: &[&Package], folder: &Path) -> Result<()> {
    let absent: Vec<&&Package> = wanted.iter().filter(|package| !folder.join(package.file_name()).is_file()).collect();
    for package in wanted {
        let what = if absent.iter().any(|other| **other == *package) { "downloading" } else { "already here:" };
        eprintln!("{what} {} {}", package.name, package.version);
    }
    if absent.is_empty() {
        return Ok(());
    }
    // Root may write there, but apt's own user may not.
    let mut command = packages::apt_get();
    command.current_dir(folder).args(source.options()).args(["-o", "APT::Sandbox::User=root", "download"]);
    command.args(absent.iter().map(|package| format!("{}={}", package.name, package.version)));
    packages::run_visibly(&mut command)?;
    match absent.iter().find(|package| !folder.join(package.file_name()).is_file()) {
        Some(package) => bail!("apt-get downloaded no {}", package.file_name()),
        None => Ok(()),
    }
}

/// Extracts a package into a folder of its name.
fn extract(package: &Package, downloads: &Path, extracted: &Path) -> Result<PathBuf> {
    let (file, folder) = (downloads.join(package.file_name()), extracted.join(&package.name));
    let output =
        Command::new("dpkg-deb").arg("--extract").args([&file, &folder]).output().context("cannot start dpkg-deb")?;
    if !output.status.success() {
        bail!(
            "cannot extract {}: {} (hint: remove it, the next run downloads it again)",
            file.display(),
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    Ok(folder)
}

/// Returns the fields of each stanza that `apt-cache show` prints.
fn stanzas(shown: &str) -> impl Iterator<Item = Vec<(&str, &str)>> {
    shown.split("\n\n").map(|stanza| {
        stanza.lines().filter(|line| !line.starts_with(' ')).filter_map(|line| line.split_once(": ")).collect()
    })
}

fn field<'a>(stanza: &[(&str, &'a str)], name: &str) -> Option<&'a str> {
    stanza.iter().find(|(field, _)| *field == name).map(|(_, value)| *value)
}

/// Returns the newest version of a package; apt prints it first.
fn newest(shown: &str, package: &str) -> Option<Package> {
    let stanza = stanzas(shown).find(|stanza| field(stanza, "Package") == Some(package))?;
    Some(Package { name: package.to_owned(), version: field(&stanza, "Version")?.to_owned() })
}

/// Returns the kernel's own package, from the output on the package that depends on it: the newest with a version such
/// as `6.1`.
fn choose_kernel(shown: &str, version: &str) -> Option<Package> {
    let is_of = |found: &str| found.strip_prefix(version).is_some_and(|rest| rest.starts_with(['.', '-']));
    stanzas(shown).find_map(|stanza| {
        let found = field(&stanza, "Version").filter(|found| is_of(found))?;
        let name = field(&stanza, "Depends")?.split(['(', ',']).next()?.trim();
        name.starts_with("linux-image-").then(|| Package { name: name.to_owned(), version: found.to_owned() })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHOWN: &str = "\
Package: linux-image-cloud-amd64
Source: linux-signed-amd64 (6.12.107+1)
Version: 6.12.107-1
Depends: linux-image-6.12.107+deb13-cloud-amd64 (= 6.12.107-1)
Description-en: Linux for x86-64 cloud (meta-package)
 This package depends on the latest kernel.
 Version: 6.1.999

Package: linux-image-cloud-amd64
Version: 6.1.176-1
Depends: linux-image-6.1.0-50-cloud-amd64 (= 6.1.176-1), other

Package: linux-image-cloud-amd64
Version: 6.1.160-1
Depends: linux-image-6.1.0-42-cloud-amd64 (= 6.1.160-1)
";

    #[track_caller]
    fn check(version: &str, expected: Option<(&str, &str)>) {
        let found = choose_kernel(SHOWN, version);
        let found = found.as_ref().map(|package| (package.name.as_str(), package.version.as_str()));
        assert_eq!(found, expected, "{version}");
    }

    #[test]
    fn the_newest_kernel_of_a_version_is_chosen() {
        check("6.1", Some(("linux-image-6.1.0-50-cloud-amd64", "6.1.176-1")));
        check("6.12", Some(("linux-image-6.12.107+deb13-cloud-amd64", "6.12.107-1")));
        check("6.11", None);
        check("6", Some(("linux-image-6.12.107+deb13-cloud-amd64", "6.12.107-1")));
        assert_eq!(choose_kernel("", "6.1"), None);
    }

    #[test]
    fn a_file_is_named_as_apt_names_it() {
        let shown = "Package: busybox-static\nVersion: 1:1.37.0-6+b9\n\nPackage: busybox-static\nVersion: 1:1.35.0-4\n";
        let package = newest(shown, "busybox-static").expect("a package");
        assert_eq!(package.file_name(), "busybox-static_1%3a1.37.0-6+b9_amd64.deb");
        assert_eq!(newest(shown, "busybox"), None);
    }
}
