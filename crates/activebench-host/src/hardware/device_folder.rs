//! The folder of a device in sysfs, the folders above it, and texts in them.

use std::path::{Path, PathBuf};

use crate::reader::{ReadError, Reader};

/// Iterates over the folders from a device's own up to `/sys/devices`, the nearest first.
pub(super) fn upwards(folder: &Path) -> impl Iterator<Item = &Path> {
    folder.ancestors().take_while(|folder| *folder != Path::new("/sys/devices") && folder.parent().is_some())
}

/// Returns the folder behind `device`, which is a link in sysfs and a folder in recorded trees.
pub(super) fn device_folder(reader: &Reader, folder: &Path) -> PathBuf {
    let device = folder.join("device");
    reader.link(&device).unwrap_or(device)
}

/// Reads a file's text if the file exists; adds a note to `unread` if it cannot be read.
pub(super) fn text_if_any(reader: &mut Reader, path: &Path) -> Option<String> {
    let text: Result<String, ReadError> = reader.text(path);
    reader.optional(text)
}
