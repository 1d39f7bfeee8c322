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

/// Numbers of 32-bit calls are in the kernel's table from here on.
pub const OF_32_BIT: u32 = 512;

/// Size of the kernel's table: 512 numbers of 64-bit calls, 512 of 32-bit calls. Calls with higher numbers are not
/// recorded.
pub const TABLE_SIZE: usize = 1024;

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
        offset_high_argument: 0,
        length_high_argument: 0,
        pointed_bytes: 0,
        undecoded: 0,
        padding: 0,
    }
}

const fn on_fd(op: Op, fd_argument: u8) -> CallDescription {
    CallDescription { fd_argument, ..call(op) }
}

/// Returns the table of this architecture: number and meaning; `None` if it has no table yet.
pub fn table() -> Option<Vec<(u32, CallDescription)>> {
    cfg!(target_arch = "x86_64").then(|| {
        let of_32_bit = i386().into_iter().map(|(number, description)| (OF_32_BIT + number, description));
        x86_64().into_iter().chain(of_32_bit).collect()
    })
}

/// Returns the numbers of `arch/x86/entry/syscalls/syscall_32.tbl`, with the arguments of the entries for 64-bit
/// kernels: a 64-bit value takes two arguments, its lower half first.
///
/// None is plain: each call is timed, because the kernel side reads the arguments of untimed calls where 64-bit calls
/// have them.
fn i386() -> Vec<(u32, CallDescription)> {
    let moving = |op, [offset_argument, offset_high_argument]: [u8; 2]| CallDescription {
        length_argument: 3,
        offset_argument,
        offset_high_argument,
        flags: if offset_argument == 0 { FILE_POSITION } else { 0 },
        ..on_fd(op, 1)
    };
    let vectored = |op, offset: [u8; 2]| {
        let call = moving(op, offset);
        CallDescription { vector_argument: 2, flags: call.flags | VECTOR, ..call }
    };
    // With -1 for an offset, data moves at the file position.
    let vectored_with_flags = |op| {
        let call = vectored(op, [4, 5]);
        CallDescription { asked_argument: 6, flags: call.flags | FILE_POSITION, ..call }
    };
    let opening = |name_argument, flags_argument| CallDescription {
        name_argument,
        length_argument: flags_argument,
        flags: RETURNS_FD | CHANGES_FDS,
        ..call(Op::Open)
    };
    let named = |op, name_argument| CallDescription { name_argument, ..call(op) };
    let ranged = |op, offset: [u8; 2], length: [u8; 2]| CallDescription {
        offset_argument: offset[0],
        offset_high_argument: offset[1],
        length_argument: length[0],
        length_high_argument: length[1],
        ..on_fd(op, 1)
    };
    let copying = |op, second_op: Op, [fd_argument, offset_argument]: [u8; 2], second: [u8; 2], length_argument| {
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
    let changing = |op| CallDescription { flags: CHANGES_FDS, ..on_fd(op, 1) };
    let sendfile = copying(Op::Sendfile, Op::SendfileTo, [2, 3], [1, 0], 4);
    let duplicating = CallDescription { flags: BY_COMMAND | CHANGES_FDS, ..on_fd(Op::Dup, 1) };
    vec![
        (3, moving(Op::Read, [0, 0])),
        (4, moving(Op::Write, [0, 0])),
        (5, opening(1, 2)),
        (6, changing(Op::Close)),
        (8, opening(1, 0)),
        (9, call(Op::Link)),
        (10, named(Op::Unlink, 1)),
        (18, call(Op::Stat)),
        (19, ranged(Op::Lseek, [2, 0], [3, 0])),
        (36, call(Op::Sync)),
        (38, named(Op::Rename, 1)),
        (41, changing(Op::Dup)),
        (54, CallDescription { flags: BY_COMMAND, ..on_fd(Op::Discard, 1) }),
        (55, duplicating),
        (63, changing(Op::Dup)),
        (83, call(Op::Link)),
        // Its arguments are in memory.
        (90, CallDescription { op: 0, undecoded: 1, ..call(Op::Mmap) }),
        (91, CallDescription { offset_argument: 1, length_argument: 2, ..call(Op::Munmap) }),
        (92, CallDescription { length_argument: 2, ..named(Op::Truncate, 1) }),
        (93, CallDescription { length_argument: 2, ..on_fd(Op::Ftruncate, 1) }),
        (106, call(Op::Stat)),
        (107, call(Op::Stat)),
        (118, on_fd(Op::Fsync, 1)),
        (140, ranged(Op::Lseek, [3, 2], [5, 0])),
        (144, CallDescription { offset_argument: 1, length_argument: 2, ..call(Op::Msync) }),
        (145, vectored(Op::Readv, [0, 0])),
        (146, vectored(Op::Writev, [0, 0])),
        (148, on_fd(Op::Fdatasync, 1)),
        (180, moving(Op::Pread, [4, 5])),
        (181, moving(Op::Pwrite, [4, 5])),
        (187, CallDescription { pointed_bytes: 4, ..sendfile }),
        // The offset is in pages, and is not recorded.
        (192, CallDescription { length_argument: 2, ..on_fd(Op::Mmap, 5) }),
        (193, CallDescription { length_argument: 2, length_high_argument: 3, ..named(Op::Truncate, 1) }),
        (194, CallDescription { length_argument: 2, length_high_argument: 3, ..on_fd(Op::Ftruncate, 1) }),
        (195, call(Op::Stat)),
        (196, call(Op::Stat)),
        (221, duplicating),
        (239, sendfile),
        (247, call(Op::IoGetevents)),
        (248, CallDescription { length_argument: 2, ..call(Op::IoSubmit) }),
        (250, ranged(Op::Fadvise, [2, 3], [4, 0])),
        (272, ranged(Op::Fadvise, [2, 3], [4, 5])),
        (295, opening(2, 3)),
        (300, call(Op::Stat)),
        (301, named(Op::Unlink, 2)),
        (302, named(Op::Rename, 2)),
        (303, call(Op::Link)),
        (304, call(Op::Link)),
        (313, copying(Op::Splice, Op::SpliceTo, [1, 2], [3, 4], 5)),
        (314, ranged(Op::SyncFileRange, [2, 3], [4, 5])),
        (324, ranged(Op::Fallocate, [3, 4], [5, 6])),
        (330, changing(Op::Dup)),
        (333, vectored(Op::Preadv, [4, 5])),
        (334, vectored(Op::Pwritev, [4, 5])),
        (344, on_fd(Op::Syncfs, 1)),
        (353, named(Op::Rename, 2)),
        (377, copying(Op::CopyFileRange, Op::CopyFileRangeTo, [1, 2], [3, 4], 5)),
        (378, vectored_with_flags(Op::Preadv)),
        (379, vectored_with_flags(Op::Pwritev)),
        (383, call(Op::Stat)),
        (385, call(Op::IoGetevents)),
        (416, call(Op::IoGetevents)),
        (426, CallDescription { length_argument: 2, ..on_fd(Op::IoUringEnter, 1) }),
        (436, CallDescription { flags: CHANGES_FDS, ..call(Op::Close) }),
        (437, opening(2, 0)),
    ]
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
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_table_covers_every_class_once_a_number() {
        let table = x86_64();
        let mut numbers: Vec<u32> = table.iter().map(|(number, _)| *number).collect();
        numbers.dedup();
        assert_eq!(numbers.len(), table.len(), "a number stands twice or out of order");
        assert!(numbers.is_sorted());
        assert!(numbers.iter().all(|number| *number < OF_32_BIT));
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

    #[test]
    fn each_operation_of_64_bit_calls_has_a_32_bit_call() {
        let table = i386();
        let numbers: Vec<u32> = table.iter().map(|(number, _)| *number).collect();
        assert!(numbers.is_sorted_by(|one, next| one < next), "a number stands twice or out of order");
        assert!(numbers.iter().all(|number| ((OF_32_BIT + number) as usize) < TABLE_SIZE));
        // The kernel side reads the arguments of untimed calls where 64-bit calls have them.
        assert!(table.iter().all(|(_, call)| call.flags & PLAIN == 0));
        let ops = |table: &[(u32, CallDescription)]| -> BTreeSet<(u8, u8)> {
            table.iter().filter(|(_, call)| call.op > 0).map(|(_, call)| (call.op, call.second_op)).collect()
        };
        assert_eq!(ops(&table), ops(&x86_64()));
    }
}
