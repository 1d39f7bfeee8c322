//! A loop device that is detached when dropped.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::tools;

/// The device.
#[derive(Debug)]
pub(crate) struct LoopDevice {
    path: String,
}

impl LoopDevice {
    /// Makes a device over a file, which is read and written past the page cache.
    ///
    /// # Errors
    /// When losetup refuses, or the file's file system does not support direct I/O.
    pub(crate) fn new(backing: &Path) -> Result<LoopDevice> {
        let output = losetup()?
            .args(["--find", "--show", "--direct-io=on"])
            .arg(backing)
            .output()
            .context("cannot start losetup")?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            bail!("cannot set up a loop device: losetup ended with {}: {said}", output.status);
        }
        let device = LoopDevice { path: String::from_utf8_lossy(&output.stdout).trim().to_owned() };
        let name = device.path.trim_start_matches("/dev/");
        let dio = fs::read_to_string(format!("/sys/block/{name}/loop/dio")).context("cannot read its dio flag")?;
        if dio.trim() != "1" {
            bail!("the file system below refuses direct I/O to a loop device");
        }
        Ok(device)
    }

    /// Returns the device's path, such as `/dev/loop7`.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        let outcome = losetup()
            .and_then(|mut losetup| losetup.arg("--detach").arg(&self.path).status().context("cannot start losetup"));
        match outcome {
            Ok(status) if status.success() => {}
            Ok(status) => eprintln!("losetup --detach {} ended with {status}", self.path),
            Err(error) => eprintln!("cannot detach {}: {error:#}", self.path),
        }
    }
}

fn losetup() -> Result<Command> {
    Ok(Command::new(tools::LOSETUP.find().context("losetup is not installed")?))
}
