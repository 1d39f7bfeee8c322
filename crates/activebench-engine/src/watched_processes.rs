//! Finds what a watch names: a process, a control group, a unit of systemd.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use activebench_model::command::CommandLine;
use activebench_model::watch::WatchTarget;
use activebench_runner::Watched;
use anyhow::{Context, bail};

/// Where to look: `/`, or a folder like it.
#[derive(Clone, Debug)]
pub struct Places {
    root: PathBuf,
    systemctl: PathBuf,
}

impl Default for Places {
    fn default() -> Self {
        Self { root: PathBuf::from("/"), systemctl: PathBuf::from("systemctl") }
    }
}

/// The processes of a target, and the command line that stands for them.
#[derive(Debug)]
pub struct Found {
    /// The processes.
    pub watched: Watched,
    /// The command line of the process; the target in words where there may be several.
    pub command: CommandLine,
}

impl Places {
    /// Finds the processes of a target.
    ///
    /// # Errors
    /// Returns an error if there is no such target, or it cannot be read.
    pub fn find(&self, target: &WatchTarget) -> anyhow::Result<Found> {
        let of_several = || CommandLine { argv: vec![target.to_string()], cwd: "/".to_owned() };
        Ok(match target {
            WatchTarget::Pid(pid) => {
                // Opened first: what is read of it afterwards is of this process, or it has ended.
                let watched = match Watched::process(*pid) {
                    Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {
                        bail!("there is no process {pid} (hint: `pgrep -a NAME` lists processes)")
                    }
                    Err(error) if matches!(error.raw_os_error(), Some(libc::EINVAL | libc::ENOENT)) => {
                        bail!(
                            "{pid} is a thread of another process (hint: name the process, `Tgid` in /proc/{pid}/status)"
                        )
                    }
                    other => other.with_context(|| format!("cannot watch process {pid}"))?,
                };
                Found { watched, command: self.command_of(*pid) }
            }
            WatchTarget::Cgroup(path) => Found { watched: self.group(path)?, command: of_several() },
            WatchTarget::Unit(name) => {
                Found { watched: self.group(&self.group_of_unit(name)?)?, command: of_several() }
            }
        })
    }

    fn command_of(&self, pid: u32) -> CommandLine {
        let folder = self.root.join("proc").join(pid.to_string());
        let bytes = std::fs::read(folder.join("cmdline")).unwrap_or_default();
        let words = bytes.strip_suffix(b"\0").unwrap_or(&bytes).split(|byte| *byte == 0);
        let mut argv: Vec<String> = words.map(|word| String::from_utf8_lossy(word).into_owned()).collect();
        if bytes.is_empty() {
            let name = std::fs::read_to_string(folder.join("comm")).unwrap_or_default();
            argv = vec![name.trim_end().to_owned()];
        }
        let cwd = std::fs::read_link(folder.join("cwd")).unwrap_or_else(|_| PathBuf::from("/"));
        CommandLine { argv, cwd: cwd.display().to_string() }
    }

    /// Opens a control group by its folder, or by its path inside a hierarchy.
    fn group(&self, path: &str) -> anyhow::Result<Watched> {
        let mut tried = Vec::new();
        let hierarchies = self.hierarchies()?;
        let inside = path.trim_start_matches('/');
        let as_given = Path::new(path).to_owned();
        let below = hierarchies.iter().map(|hierarchy| hierarchy.join(inside));
        for folder in std::iter::once(as_given).chain(below) {
            match Watched::group(&folder) {
                Ok(watched) => return Ok(watched),
                Err(error) => tried.push((folder, error)),
            }
        }
        let denied = tried.iter().find(|(_, error)| error.kind() != io::ErrorKind::NotFound);
        match denied.or(tried.first()) {
            Some((folder, error)) if error.kind() != io::ErrorKind::NotFound => {
                bail!("cannot read the processes of the control group {}: {error}", folder.display())
            }
            _ if hierarchies.is_empty() => bail!("no control groups are mounted on this machine"),
            _ => bail!(
                "there is no control group {path} (hint: its folder below {}, or the path in /proc/PID/cgroup)",
                hierarchies[0].display()
            ),
        }
    }

    /// Returns where hierarchies of control groups are mounted, that of version 2 first.
    fn hierarchies(&self) -> anyhow::Result<Vec<PathBuf>> {
        let mounts = self.root.join("proc/self/mountinfo");
        let text = std::fs::read_to_string(&mounts).with_context(|| format!("cannot read {}", mounts.display()))?;
        let mut found: Vec<(bool, PathBuf)> = Vec::new();
        for line in text.lines() {
            let Some((before, after)) = line.split_once(" - ") else { continue };
            let is_v1 = match after.split(' ').next() {
                Some("cgroup2") => false,
                Some("cgroup") => true,
                _ => continue,
            };
            let Some(place) = before.split(' ').nth(4) else { continue };
            found.push((is_v1, self.root.join(place.trim_start_matches('/'))));
        }
        found.sort_by_key(|(is_v1, _)| *is_v1);
        Ok(found.into_iter().map(|(_, place)| place).collect())
    }

    /// Asks systemd for the control group of a unit.
    fn group_of_unit(&self, name: &str) -> anyhow::Result<String> {
        let hint = "hint: --pid, or --cgroup with the path in /proc/PID/cgroup";
        if name.starts_with('-') {
            bail!("{name} is not the name of a unit");
        }
        let answer = Command::new(&self.systemctl).args(["show", "-p", "ControlGroup", "--", name]).output();
        let answer = match answer {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                bail!("cannot find the unit {name}: this machine has no systemctl, so it does not run systemd ({hint})")
            }
            other => other.with_context(|| format!("cannot start {}", self.systemctl.display()))?,
        };
        if !answer.status.success() {
            let why = String::from_utf8_lossy(&answer.stderr);
            bail!("cannot find the unit {name}: systemctl says: {} ({hint})", why.trim());
        }
        let text = String::from_utf8_lossy(&answer.stdout);
        let group = text.lines().find_map(|line| line.strip_prefix("ControlGroup=")).unwrap_or_default().trim();
        if group.is_empty() {
            bail!(
                "the unit {name} has no control group: it does not run, or does not exist (hint: `systemctl status {name}`)"
            );
        }
        Ok(group.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    struct Machine {
        folder: tempfile::TempDir,
        places: Places,
    }

    /// A machine with both versions of control groups, and a systemctl that answers so.
    fn machine(answer: &str) -> Machine {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path();
        fs::create_dir_all(root.join("proc/self")).expect("a folder");
        let mounts = "1 0 0:1 / / rw - ext4 /dev/vda rw\n\
                      2 1 0:2 / /sys/fs/cgroup/systemd rw shared:1 - cgroup cgroup rw,name=systemd\n\
                      3 1 0:3 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
        fs::write(root.join("proc/self/mountinfo"), mounts).expect("a file");
        let unit = root.join("sys/fs/cgroup/unified/system.slice/db.service");
        fs::create_dir_all(&unit).expect("a folder");
        fs::write(unit.join("cgroup.procs"), format!("{}\n", std::process::id())).expect("a file");
        let (draft, systemctl) = (root.join("draft"), root.join("systemctl"));
        fs::write(&draft, format!("#!/bin/sh\n{answer}\n")).expect("a file");
        // A process that another test forks meanwhile would have the file open for writing, and it could not be executed.
        let copied = Command::new("cp").args([&draft, &systemctl]).status().expect("cp starts");
        assert!(copied.success(), "{copied}");
        fs::set_permissions(&systemctl, Permissions::from_mode(0o755)).expect("it is executable");
        let places = Places { root: root.to_owned(), systemctl };
        Machine { folder, places }
    }

    fn error_of(places: &Places, target: WatchTarget) -> String {
        format!("{:#}", places.find(&target).expect_err("an error"))
    }

    #[test]
    fn a_unit_is_found_by_what_systemd_says() {
        let machine = machine("[ \"$5\" = db.service ] && echo ControlGroup=/system.slice/db.service");
        let found = machine.places.find(&WatchTarget::Unit("db.service".into())).expect("the unit");
        assert_eq!(found.command.argv, ["unit db.service"]);
        drop(machine.folder);
    }

    #[test]
    fn a_unit_without_a_control_group_or_systemd_is_explained() {
        let unit = || WatchTarget::Unit("db.service".into());
        let said = error_of(&machine("echo ControlGroup=").places, unit());
        assert!(said.contains("has no control group"), "{said}");
        let said = error_of(&machine("echo no bus >&2; exit 1").places, unit());
        assert!(said.contains("systemctl says: no bus") && said.contains("--cgroup"), "{said}");
        let none = Places { systemctl: "/nowhere/systemctl".into(), ..machine("").places };
        let said = error_of(&none, unit());
        assert!(said.contains("has no systemctl") && said.contains("--pid"), "{said}");
        let said = error_of(&none, WatchTarget::Unit("--help".into()));
        assert!(said.contains("not the name of a unit"), "{said}");
    }

    #[test]
    fn a_control_group_is_found_by_its_folder_and_by_its_path() {
        let machine = machine("");
        let full = machine.folder.path().join("sys/fs/cgroup/unified/system.slice/db.service");
        for path in ["/system.slice/db.service", "system.slice/db.service", full.to_str().expect("text")] {
            machine.places.find(&WatchTarget::Cgroup(path.to_owned())).expect(path);
        }
        let said = error_of(&machine.places, WatchTarget::Cgroup("/none".into()));
        assert!(said.contains("no control group /none") && said.contains("unified"), "{said}");
    }

    #[test]
    fn a_process_is_named_by_its_command_line() {
        let own = Places::default().find(&WatchTarget::Pid(std::process::id())).expect("our own");
        assert_eq!(own.command.argv, std::env::args().collect::<Vec<_>>());
        for none in [0, u32::MAX] {
            let said = error_of(&Places::default(), WatchTarget::Pid(none));
            assert!(said.contains(&format!("no process {none}")), "{said}");
        }
    }
}
