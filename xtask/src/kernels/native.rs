//! Runs the same smoke set on this machine, on a loop device with a file system of its own.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::kernels::machine::make_ext4;
use crate::kernels::steps::MARK;
use crate::loop_device::LoopDevice;

/// The file behind the loop device.
pub(crate) const IMAGE: &str = "volume.img";
/// Size of the volume, in bytes.
const VOLUME_BYTES: u64 = 2 << 30;

/// Runs the script; its results are written to `out`.
///
/// # Errors
/// When there is no loop device, or the script cannot be run.
pub(crate) fn run(folder: &Path, activebench: &Path, script: &str, out: &Path) -> Result<()> {
    let image = folder.join(IMAGE);
    make_ext4(&image, VOLUME_BYTES, None)?;
    let device = LoopDevice::new(&image)?;
    let volume = Mounted::new(&device, folder.join("volume"))?;
    fs::create_dir_all(out).with_context(|| format!("cannot make {}", out.display()))?;
    let steps = folder.join("steps");
    fs::write(&steps, script).with_context(|| format!("cannot write {}", steps.display()))?;
    let mut child = Command::new("sh")
        .args([&steps, &activebench.to_owned(), &out.to_owned(), &volume.folder])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start the script")?;
    if let Some(pipe) = child.stdout.take() {
        for line in BufReader::new(pipe).lines() {
            let line = line.context("cannot read what the script says")?;
            eprintln!("host: {}", line.trim_start_matches(MARK));
        }
    }
    let status = child.wait().context("cannot wait for the script")?;
    if !status.success() {
        bail!("the script ended with {status}");
    }
    Ok(())
}

/// A mounted file system; unmounted when dropped, before its device goes.
struct Mounted<'a> {
    folder: PathBuf,
    device: &'a LoopDevice,
}

impl Mounted<'_> {
    fn new(device: &LoopDevice, folder: PathBuf) -> Result<Mounted<'_>> {
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let status = Command::new("mount")
            .args(["-t", "ext4", "-o", "noatime", device.path()])
            .arg(&folder)
            .status()
            .context("cannot start mount")?;
        if !status.success() {
            bail!("mount {} ended with {status}", device.path());
        }
        let mounted = Mounted { folder, device };
        mounted.set_dirty_share(30)?;
        Ok(mounted)
    }

    /// Sets the device's guaranteed share of the dirty-page limit, in percent. A new device has none, so the kernel
    /// writes back at once and leaves little work to a later sync.
    fn set_dirty_share(&self, percent: u32) -> Result<()> {
        let name = self.device.path().trim_start_matches("/dev/");
        let number = format!("/sys/block/{name}/dev");
        let number = fs::read_to_string(&number).with_context(|| format!("cannot read {number}"))?;
        let share = format!("/sys/class/bdi/{}/min_ratio", number.trim());
        fs::write(&share, percent.to_string()).with_context(|| format!("cannot write {share}"))
    }
}

impl Drop for Mounted<'_> {
    fn drop(&mut self) {
        if let Err(error) = self.set_dirty_share(0) {
            eprintln!("{error:#}");
        }
        match Command::new("umount").arg(&self.folder).status() {
            Ok(status) if status.success() => {
                if let Err(error) = fs::remove_dir(&self.folder) {
                    eprintln!("cannot remove {}: {error}", self.folder.display());
                }
            }
            other => eprintln!("{} stays mounted: umount: {other:?}", self.folder.display()),
        }
    }
}
