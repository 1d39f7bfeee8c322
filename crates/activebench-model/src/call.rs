//! One observed system call on a file, as the probes report it.

use serde::{Deserialize, Serialize};

/// A file's real identity: the inode number and the super block's device, both read
/// in the kernel. `stat` gives another device on btrfs and overlay; never mix the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FileId {
    /// Super block device, kernel encoding: `major << 20 | minor`.
    pub s_dev: u32,
    /// Inode number.
    pub ino: u64,
}

/// A block device number in kernel encoding: `major << 20 | minor`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct DeviceNumber(pub u32);

impl DeviceNumber {
    /// From the two numbers.
    pub fn new(major: u32, minor: u32) -> Self {
        Self(major << 20 | (minor & 0xf_ffff))
    }
    /// Major number.
    pub fn major(self) -> u32 {
        self.0 >> 20
    }
    /// Minor number.
    pub fn minor(self) -> u32 {
        self.0 & 0xf_ffff
    }
}

impl std::fmt::Display for DeviceNumber {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.major(), self.minor())
    }
}

/// What an open descriptor refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileKind {
    /// A regular file.
    Regular,
    /// A block device opened as a file.
    BlockDevice,
    /// Pipe, socket, terminal, directory, anything else.
    Other,
}

macro_rules! operations {
    ($($(#[$doc:meta])* $variant:ident = $code:literal, $name:literal;)*) => {
        /// A class of system call. The codes are the ones in the kernel records.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        #[repr(u16)]
        pub enum Op { $($(#[$doc])* $variant = $code,)* }

        impl Op {
            /// Every class, in the order of the codes.
            pub const ALL: &'static [Op] = &[$(Op::$variant,)*];

            /// The class of a code; `None` for a code that this version does not know.
            pub fn from_code(code: u16) -> Option<Op> {
                match code { $($code => Some(Op::$variant),)* _ => None }
            }

            /// The usual name of the call.
            pub fn name(self) -> &'static str {
                match self { $(Op::$variant => $name,)* }
            }
        }
    };
}

operations! {
    /// `read(2)`.
    Read = 1, "read";
    /// `pread64(2)`.
    Pread = 2, "pread";
    /// `readv(2)`.
    Readv = 3, "readv";
    /// `preadv(2)` and `preadv2(2)`.
    Preadv = 4, "preadv";
    /// `write(2)`.
    Write = 5, "write";
    /// `pwrite64(2)`.
    Pwrite = 6, "pwrite";
    /// `writev(2)`.
    Writev = 7, "writev";
    /// `pwritev(2)` and `pwritev2(2)`.
    Pwritev = 8, "pwritev";
    /// `lseek(2)`.
    Lseek = 9, "lseek";
    /// `fsync(2)`.
    Fsync = 10, "fsync";
    /// `fdatasync(2)`.
    Fdatasync = 11, "fdatasync";
    /// `sync_file_range(2)`.
    SyncFileRange = 12, "sync_file_range";
    /// `sync(2)`: every file system.
    Sync = 13, "sync";
    /// `syncfs(2)`.
    Syncfs = 14, "syncfs";
    /// `msync(2)`; the record's `offset` is the address.
    Msync = 15, "msync";
    /// `open(2)`, `openat(2)`, `openat2(2)`, `creat(2)`; `returned` is the descriptor.
    Open = 16, "open";
    /// `close(2)`.
    Close = 17, "close";
    /// `dup(2)` and its kin; `returned` is the new descriptor.
    Dup = 18, "dup";
    /// `ftruncate(2)`; `requested` is the new length.
    Ftruncate = 19, "ftruncate";
    /// `truncate(2)`.
    Truncate = 20, "truncate";
    /// `fallocate(2)`; `requested` is the length.
    Fallocate = 21, "fallocate";
    /// `fadvise64(2)`; `offset` and `requested` are the range.
    Fadvise = 22, "fadvise";
    /// `unlink(2)` and `unlinkat(2)`.
    Unlink = 23, "unlink";
    /// `mmap(2)` of a file; `requested` is the length, `returned` the address.
    Mmap = 24, "mmap";
    /// `munmap(2)`; `offset` is the address, `requested` the length.
    Munmap = 25, "munmap";
    /// `sendfile(2)`: the file that it reads.
    Sendfile = 26, "sendfile";
    /// `splice(2)`: the file, if it is one, that it reads.
    Splice = 27, "splice";
    /// `copy_file_range(2)`: the file that it reads.
    CopyFileRange = 28, "copy_file_range";
    /// `io_submit(2)`; `returned` is the number of requests taken, each has a record of its own.
    IoSubmit = 29, "io_submit";
    /// `io_uring_enter(2)`; the requests have records of their own.
    IoUringEnter = 30, "io_uring_enter";
    /// `rename(2)` and its kin.
    Rename = 31, "rename";
    /// `io_getevents(2)` and `io_pgetevents(2)`; `returned` is the number of events.
    IoGetevents = 32, "io_getevents";
    /// Read through libaio, from its submission to the call that collected it.
    AioRead = 33, "aio_read";
    /// Write through libaio.
    AioWrite = 34, "aio_write";
    /// `IOCB_CMD_FSYNC`.
    AioFsync = 35, "aio_fsync";
    /// `IOCB_CMD_FDSYNC`.
    AioFdatasync = 36, "aio_fdatasync";
    /// Read through io_uring, from its submission to its completion entry.
    UringRead = 37, "uring_read";
    /// Write through io_uring.
    UringWrite = 38, "uring_write";
    /// `IORING_OP_FSYNC`.
    UringFsync = 39, "uring_fsync";
    /// `IORING_OP_FSYNC` with `IORING_FSYNC_DATASYNC`.
    UringFdatasync = 40, "uring_fdatasync";
    /// A request of io_uring whose data is not followed: splice, multishot reads, commands of a device.
    UringOther = 41, "uring_other";
    /// `msync(2)` with `MS_ASYNC`: it promises nothing.
    MsyncAsync = 42, "msync_async";
    /// `sendfile(2)`: the file, if it is one, that it writes.
    SendfileTo = 43, "sendfile_to";
    /// `splice(2)`: the file, if it is one, that it writes.
    SpliceTo = 44, "splice_to";
    /// `copy_file_range(2)`: the file that it writes.
    CopyFileRangeTo = 45, "copy_file_range_to";
    /// `stat(2)`, `lstat(2)`, `fstatat(2)`, `statx(2)`: what a name refers to. Not `fstat(2)`.
    Stat = 46, "stat";
    /// `execve(2)`, as the arguments that it passed: names alone, no calls. The event's `name` is an argument (or
    /// the next 255 bytes of one), its `returned` the argument's number from 0.
    Execute = 47, "execve";
    /// A range of a file or block device given back: `fallocate(2)` with `FALLOC_FL_PUNCH_HOLE`,
    /// `ioctl(2)` with `BLKDISCARD`. `returned` is the number of bytes where it succeeded.
    Discard = 48, "discard";
    /// `link(2)`, `symlink(2)` and their kin: a name more.
    Link = 49, "link";
}

impl Op {
    /// Moves data out of a file.
    pub fn is_read(self) -> bool {
        matches!(self, Op::Read | Op::Pread | Op::Readv | Op::Preadv | Op::AioRead | Op::UringRead)
            || matches!(self, Op::Sendfile | Op::Splice | Op::CopyFileRange)
    }
    /// Moves data into a file.
    pub fn is_write(self) -> bool {
        matches!(self, Op::Write | Op::Pwrite | Op::Writev | Op::Pwritev | Op::AioWrite | Op::UringWrite)
            || matches!(self, Op::SendfileTo | Op::SpliceTo | Op::CopyFileRangeTo)
    }
    /// Moves data, or gives room back: what the operations of a pass are.
    pub fn is_data(self) -> bool {
        self.is_read() || self.is_write() || self == Op::Discard
    }
    /// Is submitted and completed apart: several can be on their way for one thread.
    pub fn is_asynchronous(self) -> bool {
        matches!(self, Op::AioRead | Op::AioWrite | Op::AioFsync | Op::AioFdatasync | Op::UringRead)
            || matches!(self, Op::UringWrite | Op::UringFsync | Op::UringFdatasync | Op::UringOther)
    }
    /// Asks that data already written becomes durable, for one file.
    pub fn is_file_sync(self) -> bool {
        matches!(self, Op::Fsync | Op::Fdatasync | Op::Msync | Op::SyncFileRange | Op::AioFsync | Op::AioFdatasync)
            || matches!(self, Op::UringFsync | Op::UringFdatasync)
    }
}

/// One observed call. Times are `CLOCK_MONOTONIC` nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// When the kernel entered the call.
    pub start_ns: u64,
    /// When it was about to return.
    pub end_ns: u64,
    /// The thread.
    pub tid: u32,
    /// The process.
    pub tgid: u32,
    /// What was called.
    pub op: Op,
    /// The descriptor argument, -1 where there is none; -2 and below are files registered
    /// with io_uring: -2 - their index.
    pub fd: i32,
    /// The file behind the descriptor; `None` where the call has none.
    pub file: Option<FileId>,
    /// What kind of file it is.
    pub kind: FileKind,
    /// How the file was opened: bits of [`open_bits`]. Also those that this call asked for itself (`RWF_DSYNC`,
    /// `RWF_SYNC`, `RWF_APPEND`), and [`open_bits::SYNC`] where the mount or the inode makes every write
    /// synchronous.
    pub open_flags: u32,
    /// File offset at which the data moved, or the op's own meaning (see [`Op`]); -1 when unknown.
    pub offset: i64,
    /// Bytes asked for.
    pub requested: u64,
    /// What the call returned; a negative errno on failure.
    pub returned: i64,
    /// Bytes that this call itself read from storage (`task->ioac.read_bytes`).
    pub storage_read_bytes: u64,
    /// Bytes that this call inserted into the page cache for its own file.
    pub cached_bytes: u64,
    /// On-CPU time inside the call.
    pub cpu_ns: u64,
    /// On-CPU time in user mode since this thread's previous record.
    pub user_before_ns: u64,
    /// Calls whose latency this one's is a sample of: 1 for itself alone. 0 when its times are
    /// estimates: of calls that follow one another within 8 us on one file, the entry of one in
    /// sixteen is timed, and the end of every fifth of the others. The rest lie between these, where
    /// calls like those before them would (`docs/design/call-path.md` says how far off that can be).
    pub stands_for: u8,
}

/// Where a call moved data: what is left of a [`Call`] when millions are counted by place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// What was called.
    pub op: Op,
    /// The file behind the descriptor; `None` where the call has none.
    pub file: Option<FileId>,
    /// As [`Call::offset`].
    pub offset: i64,
    /// Bytes asked for.
    pub requested: u64,
    /// Bytes moved, or a negative errno.
    pub returned: i64,
}

/// `O_DIRECT` on x86-64 and arm64 differ; the probe translates to these neutral bits.
pub mod open_bits {
    /// Opened with `O_DIRECT`.
    pub const DIRECT: u32 = 1 << 0;
    /// Opened with `O_SYNC` (both bits).
    pub const SYNC: u32 = 1 << 1;
    /// Opened with `O_DSYNC` and not `O_SYNC`.
    pub const DSYNC: u32 = 1 << 2;
    /// Opened with `O_APPEND`.
    pub const APPEND: u32 = 1 << 3;
    /// Opened for writing.
    pub const WRITABLE: u32 = 1 << 4;
    /// Opened with `O_CREAT`.
    pub const CREATE: u32 = 1 << 5;
    /// Opened with `O_TRUNC`.
    pub const TRUNCATE: u32 = 1 << 6;
}
