//! The program of a benchmark: its name, its version, the packages that contain it.

/// A benchmark's program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Program {
    /// Its name in lower case, also its file name where a package installs it: `iozone`.
    pub name: &'static str,
    /// Query for its version; `None` if it does not print one.
    pub version: Option<VersionQuery>,
    /// The packages that contain it.
    pub packages: Packages,
    /// How to get it if no package contains it, or another remark; `None` if a package is enough.
    pub remark: Option<&'static str>,
}

impl Program {
    /// Returns true if the program or one of its packages has this name.
    pub fn is_named(&self, name: &str) -> bool {
        self.name == name || PackageManager::ALL.iter().any(|manager| self.packages.of(*manager) == Some(name))
    }
}

/// The arguments and output with which a program states its version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VersionQuery {
    /// Arguments that make it print its version and do nothing else.
    pub arguments: &'static [&'static str],
    /// The text before the version in its output.
    pub printed_after: &'static str,
}

impl VersionQuery {
    /// Returns the version in the program's output; `None` if it does not state one.
    pub fn version_in(&self, printed: &str) -> Option<String> {
        let (_, rest) = printed.split_once(self.printed_after)?;
        let version = rest.split_whitespace().next()?;
        let is_version =
            version.starts_with(|c: char| c.is_ascii_digit()) && version.chars().all(|c| c.is_ascii_graphic());
        is_version.then(|| version.to_owned())
    }
}

/// A package manager.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PackageManager {
    /// Debian, Ubuntu.
    Apt,
    /// Fedora, RHEL.
    Dnf,
    /// Alpine.
    Apk,
    /// Arch.
    Pacman,
    /// SUSE.
    Zypper,
}

impl PackageManager {
    /// Every package manager, in the order in which they are tried.
    pub const ALL: [Self; 5] = [Self::Apt, Self::Dnf, Self::Apk, Self::Pacman, Self::Zypper];

    /// Returns the program by which it is recognized.
    pub fn program(self) -> &'static str {
        match self {
            Self::Apt => "apt-get",
            Self::Dnf => "dnf",
            Self::Apk => "apk",
            Self::Pacman => "pacman",
            Self::Zypper => "zypper",
        }
    }

    /// Returns the command that installs a package and asks the user first.
    pub fn install_command(self, package: &str) -> String {
        let install = match self {
            Self::Apt | Self::Dnf | Self::Zypper => "install",
            Self::Apk => "add",
            Self::Pacman => "-S",
        };
        format!("sudo {} {install} {package}", self.program())
    }
}

/// The package that contains a program, by package manager; `None` if its distributions lack it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packages {
    /// See [`PackageManager::Apt`].
    pub apt: Option<&'static str>,
    /// See [`PackageManager::Dnf`].
    pub dnf: Option<&'static str>,
    /// See [`PackageManager::Apk`].
    pub apk: Option<&'static str>,
    /// See [`PackageManager::Pacman`].
    pub pacman: Option<&'static str>,
    /// See [`PackageManager::Zypper`].
    pub zypper: Option<&'static str>,
}

impl Packages {
    /// No package.
    pub const NONE: Self = Self { apt: None, dnf: None, apk: None, pacman: None, zypper: None };

    /// Returns packages of the same name in all distributions.
    pub const fn everywhere(name: &'static str) -> Self {
        Self { apt: Some(name), dnf: Some(name), apk: Some(name), pacman: Some(name), zypper: Some(name) }
    }

    /// Returns the package for one manager.
    pub fn of(&self, manager: PackageManager) -> Option<&'static str> {
        match manager {
            PackageManager::Apt => self.apt,
            PackageManager::Dnf => self.dnf,
            PackageManager::Apk => self.apk,
            PackageManager::Pacman => self.pacman,
            PackageManager::Zypper => self.zypper,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{bonnie, fio, iozone, orion};

    use super::*;

    #[test]
    fn versions_are_read_from_what_the_programs_print() {
        for (program, printed, expected) in [
            (
                iozone::PROGRAM,
                "\t'Iozone' Filesystem Benchmark Program\n\n\tVersion $Revision: 3.489 $\n",
                Some("3.489"),
            ),
            (fio::PROGRAM, "fio-3.33\n", Some("3.33")),
            (bonnie::PROGRAM, "usage:\nbonnie++ [-d scratch-dir]\n\nVersion: 2.00a\n", Some("2.00a")),
            (fio::PROGRAM, "fio: command line\n", None),
            (fio::PROGRAM, "fio-", None),
            (bonnie::PROGRAM, "Version: \x1b[31m", None),
            (iozone::PROGRAM, "", None),
        ] {
            let version = program.version.and_then(|query| query.version_in(printed));
            assert_eq!(version.as_deref(), expected, "{printed:?}");
        }
    }

    #[test]
    fn each_package_manager_has_its_package_and_its_command() {
        let command = |program: Program, manager: PackageManager| {
            program.packages.of(manager).map(|package| manager.install_command(package))
        };
        for (program, manager, expected) in [
            (iozone::PROGRAM, PackageManager::Apt, Some("sudo apt-get install iozone3")),
            (iozone::PROGRAM, PackageManager::Apk, Some("sudo apk add iozone")),
            (fio::PROGRAM, PackageManager::Pacman, Some("sudo pacman -S fio")),
            (bonnie::PROGRAM, PackageManager::Zypper, Some("sudo zypper install bonnie")),
            (orion::PROGRAM, PackageManager::Apt, None),
        ] {
            assert_eq!(command(program, manager).as_deref(), expected, "{}", program.name);
        }
        assert!(iozone::PROGRAM.is_named("iozone3") && !iozone::PROGRAM.is_named("fio"));
    }
}
