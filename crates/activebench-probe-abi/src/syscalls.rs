//! The system calls that are recorded, and the positions of their arguments.
//!
//! One table per architecture; the kernel programs know system call numbers only from it.

use activebench_model::call::Op;

use crate::tables::CallDescription;

/// The length argument counts iovecs.
pub const VECTOR: u8 = 1;
/// Data moves at the file position.
pub const FILE_POSITION: u8 = 2;
/// The file is that of the returned descriptor.
pub const RETURNS_FD: u8 = 4;
/// `fcntl` and `ioctl`: recorded only when the call duplicates a descriptor or discards a range.
pub const BY_COMMAND: u8 = 8;
/// Remembered descriptors are stale afterwards.
pub const CHANGES_FDS: u8 = 16;
/// The offset arguments are addresses of offsets; if they are NULL, data moves at the file position.
pub const OFFSET_POINTERS: u8 = 32;

/// Data goes to a second file: the `second_` fields are set.
pub const TWO_FILES: u8 = 64;

/// Moves data with the descriptor in argument 1, the length in 3 and the offset, if it has one, in 4.
pub const PLAIN: u8 = 128;

/// Size of the kernel's table; calls with higher numbers are not recorded.
pub const TABLE_SIZE: usize = 512;

const fn call(op: Op) -> CallDescription {
    CallDescription {
        op: op as u8,
        fd_argument: 0,
        length_argument: 0,
        offset_argument: 0,
        name_argument: 0,
        vector_argument: 0,
        flags: 0,
        second_op: 0,
        second_fd_argument: 0,
        second_offset_argument: 0,
        asked_argument: 0,
        padding: 0,
    }
}

const fn on_fd(op: Op, fd_argument: u8) -> CallDescription {
    CallDescription { fd_argument, ..call(op) }
}

/// Returns the table of this architecture: number and meaning; `None` if it has no table yet.
pub fn table() -> Option<Vec<(u32, CallDescription)>> {
    cfg!(target_arch = "x86_64").then(x86_64)
}

/// Returns the numbers of `arch/x86/entry/syscalls/syscall_64.tbl`.
fn x86_64() -> Vec<(u32, CallDescription)> {
    let plain = |op| CallDescription { length_argument: 3, flags: FILE_POSITION | PLAIN, ..on_fd(op, 1) };
    let plain_at = |op| CallDescription { length_argument: 3, offset_argument: 4, flags: PLAIN, ..on_fd(op, 1) };
    let vectored = |op, offset_argument, flags| CallDescription {
        length_argument: 3,
        vector_argument: 2,
        offset_argument,
        flags: flags | VECTOR,
        ..on_fd(op, 1)
    };
    let opening = |name_argument, flags_argument| CallDescription {
        name_argument,
        // The record's length contains the requested O_* flags.
        length_argument: flags_argument,
        flags: RETURNS_FD | CHANGES_FDS,
        ..call(Op::Open)
    };
    let named = |op, name_argument| CallDescription { name_argument, ..call(op) };
    let ranged =
        |op, offset_argument, length_argument| CallDescription { offset_argument, length_argument, ..on_fd(op, 1) };
    // Descriptor and address of the offset, first of the file that is read, then of the file that is written.
    let two_files = |op, second_op: Op, [fd_argument, offset_argument]: [u8; 2], second: [u8; 2], length_argument| {
        CallDescription {
            offset_argument,
            length_argument,
            flags: OFFSET_POINTERS | FILE_POSITION | TWO_FILES,
            second_op: second_op as u8,
            second_fd_argument: second[0],
            second_offset_argument: second[1],
            ..on_fd(op, fd_argument)
        }
    };
    vec![
        (0, plain(Op::Read)),
        (1, plain(Op::Write)),
        (2, opening(1, 2)),
        (3, CallDescription { flags: CHANGES_FDS, ..on_fd(Op::Close, 1) }),
        (4, call(Op::Stat)),
        (6, call(Op::Stat)),
        (8, ranged(Op::Lseek, 2, 3)),
        (9, CallDescription { length_argument: 2, offset_argument: 6, ..on_fd(Op::Mmap, 5) }),
        (11, CallDescription { offset_argument: 1, length_argument: 2, ..call(Op::Munmap) }),
        (16, CallDescription { flags: BY_COMMAND, ..on_fd(Op::Discard, 1) }),
        (17, plain_at(Op::Pread)),
        (18, plain_at(Op::Pwrite)),
        (19, vectored(Op::Readv, 0, FILE_POSITION)),
        (20, vectored(Op::Writev, 0, FILE_POSITION)),
        (26, CallDescription { offset_argument: 1, length_argument: 2, ..call(Op::Msync) }),
        (32, CallDescription { flags: CHANGES_FDS, ..on_fd(Op::Dup, 1) }),
        (33, CallDescription { flags: CHANGES_FDS, ..on_fd(Op::Dup, 1) }),
        (40, two_files(Op::Sendfile, Op::SendfileTo, [2, 3], [1, 0], 4)),
        (72, CallDescription { flags: BY_COMMAND | CHANGES_FDS, ..on_fd(Op::Dup, 1) }),
        (74, on_fd(Op::Fsync, 1)),
        (75, on_fd(Op::Fdatasync, 1)),
        (76, CallDescription { length_argument: 2, ..named(Op::Truncate, 1) }),
        (77, CallDescription { length_argument: 2, ..on_fd(Op::Ftruncate, 1) }),
        (82, named(Op::Rename, 1)),
        (85, opening(1, 0)),
        (86, call(Op::Link)),
        (87, named(Op::Unlink, 1)),
        (88, call(Op::Link)),
        (162, call(Op::Sync)),
        (208, call(Op::IoGetevents)),
        (209, CallDescription { length_argument: 2, ..call(Op::IoSubmit) }),
        (221, ranged(Op::Fadvise, 2, 3)),
        (257, opening(2, 3)),
        (262, call(Op::Stat)),
        (263, named(Op::Unlink, 2)),
        (264, named(Op::Rename, 2)),
        (265, call(Op::Link)),
        (266, call(Op::Link)),
        (275, two_files(Op::Splice, Op::SpliceTo, [1, 2], [3, 4], 5)),
        (277, ranged(Op::SyncFileRange, 2, 3)),
        (285, ranged(Op::Fallocate, 3, 4)),
        (292, CallDescription { flags: CHANGES_FDS, ..on_fd(Op::Dup, 1) }),
        (295, vectored(Op::Preadv, 4, 0)),
        (296, vectored(Op::Pwritev, 4, 0)),
        (306, on_fd(Op::Syncfs, 1)),
        (316, named(Op::Rename, 2)),
        (326, two_files(Op::CopyFileRange, Op::CopyFileRangeTo, [1, 2], [3, 4], 5)),
        (327, CallDescription { asked_argument: 6, ..vectored(Op::Preadv, 4, FILE_POSITION) }),
        (328, CallDescription { asked_argument: 6, ..vectored(Op::Pwritev, 4, FILE_POSITION) }),
        (332, call(Op::Stat)),
        (333, call(Op::IoGetevents)),
        (426, CallDescription { length_argument: 2, ..on_fd(Op::IoUringEnter, 1) }),
        (436, CallDescription { flags: CHANGES_FDS, ..call(Op::Close) }),
        (437, opening(2, 0)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_covers_every_class_once_a_number() {
        let table = x86_64();
        let mut numbers: Vec<u32> = table.iter().map(|(number, _)| *number).collect();
        numbers.dedup();
        assert_eq!(numbers.len(), table.len(), "a number stands twice or out of order");
        assert!(numbers.is_sorted());
        assert!(numbers.iter().all(|number| (*number as usize) < TABLE_SIZE));
        for op in Op::ALL {
            let made = |description: &CallDescription| [description.op, description.second_op].contains(&(*op as u8));
            assert!(
                op.is_asynchronous()
                    || matches!(op, Op::MsyncAsync | Op::Execute)
                    || table.iter().any(|(_, call)| made(call)),
                "{} has no system call",
                op.name()
            );
        }
    }
}
