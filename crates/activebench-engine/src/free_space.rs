//! Free and total space of a file system.

use std::io;
use std::path::Path;

/// Space of a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Bytes that a user without privileges can still use.
    pub free_bytes: u64,
    /// Bytes in total.
    pub all_bytes: u64,
}

/// Returns the space of the file system of a path (statvfs).
///
/// # Errors
/// Returns the system's error, or an error if a number of bytes does not fit into 64 bits.
pub fn room(path: &Path) -> io::Result<Room> {
    let answer = rustix::fs::statvfs(path)?;
    let bytes = |blocks: u64| {
        blocks.checked_mul(answer.f_frsize).ok_or_else(|| io::Error::other(format!("{blocks} blocks are too many")))
    };
    Ok(Room { free_bytes: bytes(answer.f_bavail)?, all_bytes: bytes(answer.f_blocks)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_system_tells_its_room() {
        let room = room(&std::env::temp_dir()).expect("there is one");
        assert!(room.all_bytes > 0 && room.free_bytes <= room.all_bytes, "{room:?}");
    }

    #[test]
    fn where_nothing_is_there_is_no_room() {
        assert_eq!(room(Path::new("/proc/no-such-folder")).map_err(|error| error.kind()), Err(io::ErrorKind::NotFound));
    }
}
