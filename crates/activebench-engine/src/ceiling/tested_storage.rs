//! The storage that is measured: an unnamed file of our own, a file of the user, or a device.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use activebench_model::units::Quantity;
use anyhow::{Context, anyhow, bail};
use rustix::fs::{Advice, OFlags, fadvise};

use crate::device_guard::open_device;
use crate::free_space::room;
use crate::interruption::Stop;

/// Minimum bytes for a meaningful measurement of a device.
const LEAST: u64 = 16 << 20;
/// Bytes from which a slow layout is cut short.
const ENOUGH: u64 = 64 << 20;
/// Share of a file system that stays free: one in this number.
const LEFT_FREE: u64 = 20;

/// Where storage is measured.
pub(super) struct Place {
    /// Kept open as long as it is needed: closing it deletes an unnamed file.
    pub(super) file: File,
    /// Its size in bytes.
    pub(super) bytes: u64,
    /// `true` if it is our own file, which may be written.
    pub(super) own: bool,
}

/// Kind of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Directory,
    File,
    Device,
}

/// Returns the kind of a path, and the number of the device behind a node.
pub(super) fn kind(path: &Path) -> anyhow::Result<(Kind, u64)> {
    let metadata = std::fs::metadata(path).map_err(|error| {
        anyhow!("cannot look at {}: {error} (hint: name a directory, file or block device that exists)", path.display())
    })?;
    let kind = match metadata.file_type() {
        of if of.is_block_device() => Kind::Device,
        of if of.is_dir() => Kind::Directory,
        of if of.is_file() => Kind::File,
        _ => bail!("{} is not a directory, a file or a block device (hint: name one of these)", path.display()),
    };
    Ok((kind, metadata.rdev()))
}

impl Place {
    /// Returns a path by which another process of ours finds it.
    pub(super) fn path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd()))
    }

    /// Opens an existing file or device for reading.
    pub(super) fn existing(path: &Path) -> anyhow::Result<Self> {
        use std::io::Seek;
        // A device is root's; a file is measured where the user may read it.
        let is_device = std::fs::metadata(path).is_ok_and(|found| found.file_type().is_block_device());
        let opened = if is_device { open_device(path, OFlags::empty()) } else { File::open(path) };
        let mut file =
            opened.with_context(|| format!("cannot read {} (hint: run as root, or as who owns it)", path.display()))?;
        // A device's metadata has no length.
        let bytes = file.seek(io::SeekFrom::End(0)).with_context(|| format!("cannot measure {}", path.display()))?;
        if bytes < LEAST {
            bail!(
                "{} has {}, too little to measure (hint: name a file of at least {}, or the directory)",
                path.display(),
                Quantity::bytes(bytes),
                Quantity::bytes(ENOUGH)
            );
        }
        Ok(Self { file, bytes, own: false })
    }

    /// Creates an unnamed file in a directory, full of random data and durable. `Ok(None)` if `stop` was set.
    pub(super) fn lay_out(
        folder: &Path,
        wanted: u64,
        patience: Duration,
        stop: &Stop,
        mut progress: impl FnMut(u64),
    ) -> anyhow::Result<Option<Self>> {
        let bytes = size(folder, wanted)?;
        let mut file = unnamed(folder).with_context(|| {
            format!("cannot make a file in {} (hint: run as root, or name a file to read)", folder.display())
        })?;
        // Random data: it cannot be compressed, and no two runs have the same.
        let mut data = fastrand::Rng::new();
        let mut block = vec![0; 1 << 20];
        let begin = Instant::now();
        let mut written = 0;
        while written < bytes && !(written >= ENOUGH && begin.elapsed() >= patience) {
            if stop.is_set() {
                return Ok(None);
            }
            data.fill(&mut block);
            file.write_all(&block).with_context(|| {
                format!("cannot lay out {} in {} (hint: --size)", Quantity::bytes(bytes), folder.display())
            })?;
            written += block.len() as u64;
            progress(written);
            if written.is_multiple_of(ENOUGH) {
                // Otherwise the sync at the end takes all of the time, without any progress shown.
                file.sync_data().context("cannot make the file durable")?;
            }
        }
        file.sync_all().context("cannot make the file durable")?;
        match fadvise(&file, 0, None, Advice::DontNeed) {
            // If the advice is not followed, no figure changes: reads bypass the cache.
            Ok(()) | Err(_) => {}
        }
        Ok(Some(Self { file, bytes: written, own: true }))
    }
}

/// Returns the size for the file: at most half of the free space, and a part of the file system stays free.
fn size(folder: &Path, wanted: u64) -> anyhow::Result<u64> {
    let room = room(folder).with_context(|| format!("cannot ask for the room in {}", folder.display()))?;
    let (free, all) = (room.free_bytes, room.all_bytes);
    sized(free, all, wanted).ok_or_else(|| {
        anyhow!(
            "{} has {} free of {}: a file of {} would leave less than a {LEFT_FREE}th (hint: make room, or name a file \
             of at least {} that is there already: it is only read)",
            folder.display(),
            Quantity::bytes(free),
            Quantity::bytes(all),
            Quantity::bytes(LEAST.max(wanted.min(free / 2))),
            Quantity::bytes(ENOUGH),
        )
    })
}

fn sized(free: u64, all: u64, wanted: u64) -> Option<u64> {
    let bytes = wanted.min(free / 2) >> 20 << 20;
    (bytes >= LEAST && free - bytes >= all / LEFT_FREE).then_some(bytes)
}

/// Opens a file without a name, or one whose name is removed at once. It disappears with its last descriptor, however
/// we end.
fn unnamed(folder: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(0o600);
    match options.clone().custom_flags(OFlags::TMPFILE.bits().cast_signed()).open(folder) {
        Ok(file) => Ok(file),
        // File systems without `O_TMPFILE` (NFS, 9p, some of FUSE).
        Err(_) => {
            let path = folder.join(format!(".activebench-ceiling-{}", std::process::id()));
            let file = options.create_new(true).open(&path)?;
            std::fs::remove_file(&path)?;
            Ok(file)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_refused() {
        const GIB: u64 = 1 << 30;
        for (free, all, wanted, expected) in [
            (100 * GIB, 200 * GIB, GIB, Some(GIB)),
            // Half of the free space.
            (GIB, 4 * GIB, GIB, Some(GIB / 2)),
            // A twentieth stays free.
            (GIB, 20 * GIB, GIB, None),
            (GIB, 10 * GIB, GIB, Some(GIB / 2)),
            (30 << 20, 100 << 20, GIB, None),
            (0, GIB, GIB, None),
        ] {
            assert_eq!(sized(free, all, wanted), expected, "{free} of {all}");
        }
    }

    #[test]
    fn a_file_without_a_name_leaves_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = unnamed(folder.path()).expect("a file");
        file.set_len(1 << 20).expect("it takes a length");
        assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 0);
    }
}
