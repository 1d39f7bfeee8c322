//! The library that notes calls of a traced tool ([`interposer/interposer.c`](../interposer/interposer.c)), as a file that
//! the dynamic linker loads.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsRawFd;

use activebench_model::call::{DeviceNumber, FileId};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, fstat, major, memfd_create, minor};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use rustix::process::{DumpableBehavior, dumpable_behavior};

/// The variable by which the dynamic linker is told.
pub const VARIABLE: &str = "LD_PRELOAD";

const LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/interposer.so"));

/// The library, as long as this process has it: a file in memory, of which nothing is left behind.
#[derive(Debug)]
pub struct Interposer(File);

impl Interposer {
    /// Makes the file.
    ///
    /// # Errors
    /// Returns why the tool could not load it: on an architecture without it, where files in memory are not executed, or
    /// where processes of the same user cannot open the files of this one. Then all calls stop.
    pub fn new() -> io::Result<Self> {
        if LIBRARY.is_empty() || dumpable_behavior()? != DumpableBehavior::Dumpable {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let mut file =
            File::from(memfd_create("activebench-interposer", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?);
        file.write_all(LIBRARY)?;
        fcntl_add_seals(&file, SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL)?;
        let protection = ProtFlags::READ | ProtFlags::EXEC;
        // SAFETY: a new mapping of a file that does not change, which nobody else knows.
        unsafe {
            let mapped = mmap(std::ptr::null_mut(), LIBRARY.len(), protection, MapFlags::PRIVATE, &file, 0)?;
            munmap(mapped, LIBRARY.len())?;
        }
        Ok(Self(file))
    }

    /// Returns what identifies the file.
    ///
    /// # Errors
    /// Returns the system's answer if it says nothing of the file.
    pub fn id(&self) -> io::Result<FileId> {
        let found = fstat(&self.0)?;
        let device = DeviceNumber::new(major(found.st_dev), minor(found.st_dev));
        Ok(FileId { s_dev: device.0, ino: found.st_ino })
    }

    /// Returns the value of [`VARIABLE`] for the tool: the library behind those that the user wants.
    pub fn behind(&self, wanted: Option<&OsStr>) -> OsString {
        let own = format!("/proc/{}/fd/{}", std::process::id(), self.0.as_raw_fd());
        match wanted.filter(|wanted| !wanted.is_empty()) {
            None => own.into(),
            Some(wanted) => {
                let mut all = wanted.to_owned();
                all.push(":");
                all.push(own);
                all
            }
        }
    }
}
