//! Limits of a process that works on a stranger's words, or on a device with our permission: what it may write.
//!
//! Landlock (landlock(7)) holds for the process and for all that it starts. What the command line says, and what a
//! tool makes of it, does not matter: another file is not written, another device is not written, and no device node
//! is made. Reading is not limited.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use activebench_host::{Pin, Roots, device_number};
use landlock::{
    ABI, AccessFs, BitFlags, CompatLevel, Compatible, PathBeneath, Ruleset, RulesetAttr, RulesetCreatedAttr,
};
use rustix::fs::{CWD, FileType, Gid, Mode, OFlags, Uid, chown, fstat, mknodat, open};
use rustix::io::Errno;
use rustix::mount::{MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_bind, mount_change, unmount};
use rustix::thread::{
    CapabilitySet, CapabilitySets, UnshareFlags, remove_capability_from_bounding_set, set_capabilities, unshare_unsafe,
};
use serde::{Deserialize, Serialize};

use crate::identity::Identity;

/// Rights of this version are limited where the kernel knows them (Linux 6.10); those of the first version (Linux
/// 5.13), which every write needs, always.
const ABI_WANTED: ABI = ABI::V5;

/// A folder of every system, over which a file system lies for a moment.
const WORKSHOP: &str = "/proc";

/// Devices that every program may write: nothing is stored in them.
const SINKS: &[&str] = &["/dev/null", "/dev/zero", "/dev/full", "/dev/tty"];

/// Capabilities that root keeps: to reach the files of others in the permitted place, to become
/// another user, to lock memory, to set priorities.
/// Without the others it makes no device node, sends no command to a disk, mounts nothing and loads nothing.
const KEPT: CapabilitySet = CapabilitySet::DAC_OVERRIDE
    .union(CapabilitySet::DAC_READ_SEARCH)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::CHOWN)
    .union(CapabilitySet::SETUID)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::IPC_LOCK)
    .union(CapabilitySet::SYS_NICE);

/// What a process may write.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confinement {
    /// Folders with all that is in them, except device nodes.
    pub folders: Vec<PathBuf>,
    /// Regular files that exist.
    pub files: Vec<PathBuf>,
    /// Devices, as they were when the user permitted to write them.
    pub devices: Vec<Pin>,
    /// Devices that are measured and not written.
    pub read_devices: Vec<Pin>,
}

impl Confinement {
    /// Tells whether this kernel can confine a process.
    ///
    /// # Errors
    /// Returns why it cannot.
    pub fn is_possible() -> io::Result<()> {
        ruleset()
            .map(drop)
            .map_err(|_| io::Error::other("this kernel has no Landlock (hint: Linux 5.13, `lsm=landlock`)"))
    }

    /// Checks that the permitted devices are still those that were permitted.
    ///
    /// # Errors
    /// Returns what differs, with the node's name.
    pub fn check(&self) -> Result<(), String> {
        let differs = |pin: &Pin| pin.check(&Roots::default()).map_err(|why| format!("{} {why}", pin.node.display()));
        self.devices.iter().chain(&self.read_devices).try_for_each(differs)
    }

    /// Makes the permitted devices the user's, for the calling process and all that it executes: in a mount namespace of
    /// its own, a node of the user's lies over each device's node. The node that everybody sees stays as it is.
    ///
    /// # Errors
    /// Returns an error if another device has the number now, or the system refuses a step.
    pub(crate) fn grant_devices(&self, to: &Identity) -> io::Result<()> {
        let written = self.devices.iter().map(|pin| (pin, Mode::RUSR | Mode::WUSR));
        let granted: Vec<_> = written.chain(self.read_devices.iter().map(|pin| (pin, Mode::RUSR))).collect();
        if granted.is_empty() {
            return Ok(());
        }
        let step = |what: &'static str| move |error: Errno| io::Error::other(format!("cannot {what}: {error}"));
        // SAFETY: this process has one thread, and no descriptor is shared.
        unsafe { unshare_unsafe(UnshareFlags::NEWNS) }.map_err(step("make a mount namespace"))?;
        let alone = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
        mount_change("/", alone).map_err(step("make mounts private"))?;
        let node = Path::new(WORKSHOP).join("device");
        for (pin, mode) in granted {
            pin.check(&Roots::default()).map_err(io::Error::other)?;
            let number = rustix::fs::makedev(pin.number.major(), pin.number.minor());
            mount("tmpfs", WORKSHOP, "tmpfs", MountFlags::NOSUID | MountFlags::NOEXEC, None)
                .map_err(step("mount a place for a node"))?;
            mknodat(CWD, &node, FileType::BlockDevice, mode, number).map_err(step("make a node"))?;
            chown(&node, Some(Uid::from_raw(to.uid)), Some(Gid::from_raw(to.gid))).map_err(step("give a node away"))?;
            mount_bind(&node, &pin.node).map_err(step("put a node over the device's"))?;
            unmount(WORKSHOP, UnmountFlags::DETACH).map_err(step("take the place away"))?;
        }
        Ok(())
    }

    /// Confines the calling thread, and all that it executes, for good.
    pub(crate) fn take(&self) -> io::Result<()> {
        let mut rules = ruleset()?;
        let in_folders = AccessFs::from_write(ABI_WANTED) & !made_nodes() & !AccessFs::IoctlDev;
        let of_file = AccessFs::WriteFile | AccessFs::Truncate;
        for (paths, access, is) in
            [(&self.folders, in_folders, FileType::Directory), (&self.files, of_file, FileType::RegularFile)]
        {
            for path in paths {
                rules = allow(rules, path, access, |stat| FileType::from_raw_mode(stat.st_mode) == is)?;
            }
        }
        let of_device = of_file | AccessFs::IoctlDev;
        // Its size is asked for by an ioctl. Those that write need a descriptor that may.
        let of_read_device = BitFlags::from(AccessFs::IoctlDev);
        for (pins, access) in [(&self.devices, of_device), (&self.read_devices, of_read_device)] {
            for pin in pins {
                // The node that is opened here is the one that is used, whatever its name leads to later.
                pin.check(&Roots::default()).map_err(io::Error::other)?;
                rules = allow(rules, &pin.node, access, |stat| {
                    FileType::from_raw_mode(stat.st_mode) == FileType::BlockDevice
                        && device_number(stat.st_rdev) == pin.number
                })?;
            }
        }
        let is_sink = |stat: &rustix::fs::Stat| FileType::from_raw_mode(stat.st_mode) == FileType::CharacterDevice;
        for sink in SINKS.iter().map(Path::new).filter(|sink| sink.exists()) {
            rules = allow(rules, sink, of_file | AccessFs::IoctlDev, is_sink)?;
        }
        rules.restrict_self().map_err(io::Error::other)?;
        drop_capabilities()
    }
}

type Rules = landlock::RulesetCreated;

/// Returns rules that forbid every write.
fn ruleset() -> io::Result<Rules> {
    let all = AccessFs::from_write(ABI_WANTED);
    let needed = AccessFs::from_write(ABI::V1);
    Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(needed)
        .and_then(|rules| rules.set_compatibility(CompatLevel::BestEffort).handle_access(all))
        .and_then(Ruleset::create)
        .map_err(io::Error::other)
}

fn made_nodes() -> BitFlags<AccessFs> {
    AccessFs::MakeChar | AccessFs::MakeBlock
}

/// Permits a file or folder, without following a link to it.
fn allow(
    rules: Rules,
    path: &Path,
    access: BitFlags<AccessFs>,
    is_expected: impl Fn(&rustix::fs::Stat) -> bool,
) -> io::Result<Rules> {
    let told = |error: io::Error| io::Error::other(format!("{}: {error}", path.display()));
    let file: OwnedFd =
        open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).map_err(|error| told(error.into()))?;
    if !is_expected(&fstat(&file)?) {
        return Err(told(io::Error::other("it is not what was permitted to be written")));
    }
    rules.add_rule(PathBeneath::new(file.as_fd(), access)).map_err(io::Error::other)
}

/// Gives up the capabilities of root that are not needed to write the permitted places. For a user without
/// capabilities nothing changes.
fn drop_capabilities() -> io::Result<()> {
    let given_up = CapabilitySet::all() & !KEPT;
    for capability in given_up.iter() {
        match remove_capability_from_bounding_set(capability) {
            // A user without rights cannot, and needs not: `no_new_privs` holds. An older kernel has fewer.
            Ok(()) | Err(rustix::io::Errno::PERM | rustix::io::Errno::INVAL) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let now = rustix::thread::capabilities(None)?;
    let kept = CapabilitySets {
        effective: now.effective & KEPT,
        permitted: now.permitted & KEPT,
        inheritable: CapabilitySet::empty(),
    };
    Ok(set_capabilities(None, kept)?)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Returns what `writes` gives in a thread that is confined: Landlock holds for a thread.
    fn confined<T: Send + 'static>(confinement: Confinement, writes: impl FnOnce() -> T + Send + 'static) -> T {
        let thread = std::thread::spawn(move || {
            confinement.take().expect("it is confined");
            writes()
        });
        thread.join().expect("it ended")
    }

    #[test]
    fn only_what_was_permitted_is_written() {
        if let Err(why) = Confinement::is_possible() {
            eprintln!("ACTIVEBENCH-SKIP {}: {why}", module_path!());
            return;
        }
        let (own, other) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
        let file = other.path().join("file");
        fs::write(&file, "kept").expect("a file");
        std::os::unix::fs::symlink(&file, own.path().join("link")).expect("a link");
        let (own_path, other_path) = (own.path().to_owned(), other.path().to_owned());
        let confinement = Confinement { folders: vec![own_path.clone()], ..Confinement::default() };
        let refused = confined(confinement, move || {
            fs::write(own_path.join("new"), "written").expect("its own folder");
            fs::rename(own_path.join("new"), own_path.join("renamed")).expect("its own folder");
            fs::write("/dev/null", "nothing").expect("a sink");
            vec![
                fs::write(other_path.join("file"), "lost").is_err(),
                fs::write(other_path.join("new"), "new").is_err(),
                fs::write(own_path.join("link"), "lost").is_err(),
                fs::remove_file(other_path.join("file")).is_err(),
                fs::hard_link(other_path.join("file"), own_path.join("file")).is_err(),
                rustix::fs::mknodat(
                    rustix::fs::CWD,
                    own_path.join("node"),
                    FileType::BlockDevice,
                    Mode::RUSR | Mode::WUSR,
                    rustix::fs::makedev(7, 0),
                )
                .is_err(),
            ]
        });
        assert_eq!(refused, [true; 6]);
        assert_eq!(fs::read_to_string(&file).expect("a file"), "kept");
        assert_eq!(fs::read_to_string(own.path().join("renamed")).expect("a file"), "written");
    }

    #[test]
    fn a_single_file_is_permitted_without_its_folder() {
        if let Err(why) = Confinement::is_possible() {
            eprintln!("ACTIVEBENCH-SKIP {}: {why}", module_path!());
            return;
        }
        let folder = tempfile::tempdir().expect("a folder");
        let (file, beside) = (folder.path().join("file"), folder.path().join("beside"));
        fs::write(&file, "").expect("a file");
        let confinement = Confinement { files: vec![file.clone()], ..Confinement::default() };
        let done = confined(confinement, move || (fs::write(file, "new").is_ok(), fs::write(beside, "new").is_ok()));
        assert_eq!(done, (true, false));
    }

    #[test]
    fn what_is_no_block_device_is_not_permitted_as_one() {
        let pin = Pin {
            node: PathBuf::from("/dev/null"),
            number: activebench_model::call::DeviceNumber::new(1, 3),
            sequence: None,
            unit: None,
            sectors: None,
        };
        let confinement = Confinement { devices: vec![pin], ..Confinement::default() };
        assert!(confinement.check().is_err_and(|why| why.starts_with("/dev/null cannot be looked at")));
        let taken = std::thread::spawn(move || confinement.take().is_err());
        assert!(taken.join().expect("it ended"));
    }
}
