//! The library that notes calls of a traced tool ([`interposer/interposer.c`](../interposer/interposer.c)), as a file that
//! the dynamic linker loads.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Permissions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use activebench_model::call::{DeviceNumber, FileId};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, fstat, major, memfd_create, minor};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use rustix::process::{DumpableBehavior, dumpable_behavior};
use tempfile::{Builder, NamedTempFile};

/// The variable by which the dynamic linker is told.
pub const VARIABLE: &str = "LD_PRELOAD";

const LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/interposer.so"));
/// A folder in memory: a file on a disk would be I/O of ours on what is measured.
const FOLDER: &str = "/dev/shm";

/// The library, as long as this process has it.
#[derive(Debug)]
pub struct Interposer {
    place: Place,
    id: FileId,
}

#[derive(Debug)]
enum Place {
    /// A file that every process can open, until it is dropped.
    Named(NamedTempFile),
    /// A file without a name, which processes of the same user can open.
    Unnamed(File),
}

impl Interposer {
    /// Makes the file. `for_others` says if processes of other users have to open it.
    ///
    /// # Errors
    /// Returns why the tool could not load it: on an architecture without it, and where neither a file in `/dev/shm` nor
    /// one without a name can be executed. Then all calls stop.
    pub fn new(for_others: bool) -> io::Result<Self> {
        if LIBRARY.is_empty() {
            return Err(io::ErrorKind::Unsupported.into());
        }
        Self::named(Path::new(FOLDER)).or_else(|error| if for_others { Err(error) } else { Self::unnamed() })
    }

    fn named(folder: &Path) -> io::Result<Self> {
        let mut builder = Builder::new();
        builder.prefix("activebench-").suffix(".so").permissions(Permissions::from_mode(0o755));
        let mut file = builder.tempfile_in(folder)?;
        file.write_all(LIBRARY)?;
        // The mask of this process takes rights away.
        file.as_file().set_permissions(Permissions::from_mode(0o555))?;
        can_be_executed(file.as_file())?;
        let id = id_of(file.as_file())?;
        Ok(Self { place: Place::Named(file), id })
    }

    fn unnamed() -> io::Result<Self> {
        if dumpable_behavior()? != DumpableBehavior::Dumpable {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let mut file = File::from(memfd_create("activebench-interposer", flags)?);
        file.write_all(LIBRARY)?;
        fcntl_add_seals(&file, SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL)?;
        can_be_executed(&file)?;
        let id = id_of(&file)?;
        Ok(Self { place: Place::Unnamed(file), id })
    }

    /// Returns what identifies the file.
    pub fn id(&self) -> FileId {
        self.id
    }

    /// Returns the value of [`VARIABLE`] for the tool: the library behind those that the user wants.
    pub fn behind(&self, wanted: Option<&OsStr>) -> OsString {
        let own = match &self.place {
            Place::Named(file) => file.path().as_os_str().to_owned(),
            Place::Unnamed(file) => format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd()).into(),
        };
        match wanted.filter(|wanted| !wanted.is_empty()) {
            None => own,
            Some(wanted) => {
                let mut all = wanted.to_owned();
                all.push(":");
                all.push(own);
                all
            }
        }
    }
}

fn id_of(file: &File) -> io::Result<FileId> {
    let found = fstat(file)?;
    let device = DeviceNumber::new(major(found.st_dev), minor(found.st_dev));
    Ok(FileId { s_dev: device.0, ino: found.st_ino })
}

/// Refuses a file on a file system whose files are not executed.
fn can_be_executed(file: &File) -> io::Result<()> {
    let protection = ProtFlags::READ | ProtFlags::EXEC;
    // SAFETY: a new mapping, which nobody else knows, of a file that only we write.
    unsafe {
        let mapped = mmap(std::ptr::null_mut(), LIBRARY.len(), protection, MapFlags::PRIVATE, file, 0)?;
        Ok(munmap(mapped, LIBRARY.len())?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(not(target_arch = "x86_64"), ignore = "there is no library for this architecture")]
    fn the_file_is_there_as_long_as_it_is_held_and_stands_behind_others() {
        // This test was executed from there.
        let executable = std::env::current_exe().expect("a program");
        let interposer = Interposer::named(executable.parent().expect("a folder")).expect("it is made");
        let own = interposer.behind(None);
        assert_eq!(std::fs::read(&own).expect("the library"), LIBRARY);
        assert_eq!(interposer.behind(Some(OsStr::new(""))), own);
        let both = interposer.behind(Some(OsStr::new("libeatmydata.so")));
        assert_eq!(both.to_str().expect("text"), format!("libeatmydata.so:{}", own.display()));
        assert!(interposer.id().ino > 0);
        drop(interposer);
        assert!(!Path::new(&own).exists());
        let unnamed = Interposer::unnamed().expect("it is made");
        assert_eq!(std::fs::read(unnamed.behind(None)).expect("the library"), LIBRARY);
    }
}
