//! Where a run is replayed: the folder of its files, the device that it read, or what the user names.

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use activebench_host::{Process, Roots, StorageRef, device_number};
use activebench_model::call::DeviceNumber;
use activebench_model::report::JudgedRun;
use activebench_report::export::passes::{Pass, PassFile};
use anyhow::{Context, anyhow};
use rustix::fs::OFlags;

use crate::device_guard::open_device;
use crate::failure::{ExitCode, Failure, OrExit};

/// A folder, or block devices with a folder that only fio itself uses.
pub(super) struct Target {
    folder: PathBuf,
    devices: Vec<String>,
}

impl Target {
    /// Returns the place where the passes are replayed.
    pub(super) fn of(named: Option<&Path>, run: &JudgedRun, passes: &[Pass]) -> Result<Self, Failure> {
        let can = || passes.iter().filter(|pass| pass.obstacle.is_none());
        let files: Vec<&PassFile> = can().flat_map(|pass| pass.files.values()).collect();
        let mut devices: Vec<String> =
            files.iter().filter(|file| file.is_device).map(|file| file.log_name.clone()).collect();
        devices.sort();
        devices.dedup();
        let on_files: Vec<&&PassFile> = files.iter().filter(|file| !file.is_device).collect();
        let named_device = device(named)?;
        if !devices.is_empty() {
            if !on_files.is_empty() {
                return Err(usage("the run used files and a block device: a replay is on one of both"));
            }
            if named.is_some() && named_device.is_none() {
                return Err(usage(&format!(
                    "the run read the block device {} (hint: name a device with --target /dev/NAME)",
                    devices.join(", ")
                )));
            }
            for file in files {
                check_device(file, named_device.is_some())?;
            }
            return Ok(Self { folder: std::env::temp_dir(), devices });
        }
        if named_device.is_some() && !on_files.is_empty() {
            return Err(usage("the run used files: --target must be a folder, and no raw device is written for them"));
        }
        let folder = match named {
            Some(folder) => folder.to_owned(),
            // The record may be a stranger's: nothing is written to a place that only it names.
            None if !on_files.is_empty() => {
                let folder = recorded_folder(run, &on_files)?;
                return Err(usage(&format!(
                    "nothing is written where only the record says so (hint: --target {} names the folder of the \
                     recorded files)",
                    folder.display()
                )));
            }
            None => std::env::temp_dir(),
        };
        if !on_files.is_empty() && !folder.is_dir() {
            return Err(usage(&format!(
                "there is no folder {} (hint: name one on the disk with --target DIR)",
                folder.display()
            )));
        }
        let folder = std::path::absolute(folder).or_exit(ExitCode::Usage)?;
        Ok(Self { folder, devices })
    }

    /// The folder in which files are made.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the target as reports name it.
    pub(super) fn shown(&self) -> String {
        if self.devices.is_empty() { self.folder.display().to_string() } else { self.devices.join(", ") }
    }

    /// Returns files behind loop devices below that go through the page cache of this host. Reads that bypass the cache
    /// of the file system above are served from there.
    pub(super) fn cached_below(&self) -> Vec<PathBuf> {
        let storage = |path: &Path| {
            let found = fs::metadata(path).ok()?;
            Some(match found.file_type().is_block_device() {
                true => StorageRef::Device(device_number(found.rdev())),
                false => StorageRef::FileSystem { s_dev: device_number(found.dev()), path: Some(path.to_owned()) },
            })
        };
        let used: Vec<StorageRef> = match self.devices.is_empty() {
            true => storage(&self.folder).into_iter().collect(),
            false => self.devices.iter().filter_map(|device| storage(Path::new(device))).collect(),
        };
        let host = activebench_host::read_host(&Roots::default(), Process::Own, &used);
        let layers = host.targets.into_iter().flat_map(|target| target.layers);
        let cached = layers.filter(|layer| layer.loop_direct_io == Some(false));
        cached.filter_map(|layer| layer.backing_file).map(PathBuf::from).filter(|path| path.is_file()).collect()
    }
}

fn usage(words: &str) -> Failure {
    Failure::new(ExitCode::Usage, anyhow!(words.to_owned()))
}

/// Returns the block device that was named; `None` if it is not one.
pub(super) fn device(named: Option<&Path>) -> Result<Option<String>, Failure> {
    let Some(path) = named else { return Ok(None) };
    let is_device = fs::metadata(path)
        .with_context(|| format!("cannot use {} as a target", path.display()))
        .or_exit(ExitCode::Usage)?
        .file_type()
        .is_block_device();
    Ok(is_device.then(|| path.display().to_string()))
}

/// Returns the folder of the recorded files.
fn recorded_folder(run: &JudgedRun, files: &[&&PassFile]) -> Result<PathBuf, Failure> {
    let Some(first) = files.first() else { return Ok(std::env::temp_dir()) };
    if files.iter().any(|file| file.file.s_dev != first.file.s_dev) {
        return Err(usage(
            "the run's files lay on several file systems (hint: name a folder on one with --target DIR)",
        ));
    }
    let path = Path::new(&run.manifest.command.cwd).join(&first.name);
    let folder = path.parent().map_or_else(|| PathBuf::from("/"), Path::to_owned);
    // A tool that changed its folder itself (bonnie++ with -d) names its files relative to that.
    let mount = run.manifest.host.target_of(first.file).map(|target| PathBuf::from(&target.mount_point));
    match mount {
        Some(mount) if !folder.starts_with(&mount) => Ok(mount),
        _ => Ok(folder),
    }
}

/// Checks that a device exists, is large enough, and is the recorded one unless the user named another.
fn check_device(file: &PassFile, is_named: bool) -> Result<(), Failure> {
    let name = &file.log_name;
    let about = || format!("cannot read the device {name} (hint: --target /dev/NAME names another)");
    let found = fs::metadata(name).with_context(about).or_exit(ExitCode::Usage)?;
    if !found.file_type().is_block_device() {
        return Err(usage(&format!("{name} is not a block device now (hint: --target /dev/NAME names one)")));
    }
    let number = device_number(found.rdev());
    if !is_named && number != DeviceNumber(file.file.s_dev) {
        return Err(usage(&format!(
            "{name} is the device {number}, and the run read {} (hint: --target /dev/NAME says which is meant)",
            DeviceNumber(file.file.s_dev)
        )));
    }
    let bytes = open_device(Path::new(name), OFlags::empty())
        .and_then(|mut device| std::io::Seek::seek(&mut device, std::io::SeekFrom::End(0)))
        .with_context(about)
        .or_exit(ExitCode::Usage)?;
    match bytes >= file.end_bytes {
        true => Ok(()),
        false => Err(usage(&format!("{name} has {bytes} bytes, and the run read up to {}", file.end_bytes))),
    }
}
