//! One observed system call on a file, as the probes report it.

use serde::{Deserialize, Serialize};

/// A file's real identity: the inode number and the super block's device, both read
/// in the kernel. `stat` reports another device on btrfs and overlay; never mix the two.
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

/// The kind of file behind an open descriptor.
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
        /// A class of system call. The codes are those of the kernel records.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        #[repr(u16)]
        pub enum Op { $($(#[$doc])* $variant = $code,)* }

        impl Op {
            /// Every class, in the order of the codes.
            pub const ALL: &'static [Op] = &[$(Op::$variant,)*];

            /// Returns the class of a code; `None` for a code that this version does not know.
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
    /// `dup(2)` and its variants; `returned` is the new descriptor.
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
    /// `splice(2)`: the file that it reads, if the source is a file.
    Splice = 27, "splice";
    /// `copy_file_range(2)`: the file that it reads.
    CopyFileRange = 28, "copy_file_range";
    /// `io_submit(2)`; `returned` is the number of requests accepted. Each request has its own record.
    IoSubmit = 29, "io_submit";
    /// `io_uring_enter(2)`; the requests have their own records.
    IoUringEnter = 30, "io_uring_enter";
    /// `rename(2)` and its variants.
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
    /// An io_uring request whose data is not tracked: splice, multishot reads, device commands.
    UringOther = 41, "uring_other";
    /// `msync(2)` with `MS_ASYNC`: it guarantees nothing.
    MsyncAsync = 42, "msync_async";
    /// `sendfile(2)`: the file that it writes, if the destination is a file.
    SendfileTo = 43, "sendfile_to";
    /// `splice(2)`: the file that it writes, if the destination is a file.
    SpliceTo = 44, "splice_to";
    /// `copy_file_range(2)`: the file that it writes.
    CopyFileRangeTo = 45, "copy_file_range_to";
    /// `stat(2)`, `lstat(2)`, `fstatat(2)`, `statx(2)`: what a name refers to. Not `fstat(2)`.
    Stat = 46, "stat";
    /// `execve(2)`, for its arguments: there are only name events, not calls. The event's `name` is an argument (or
    /// the next 255 bytes of one). Its `returned` is the number of the argument, from 0.
    Execute = 47, "execve";
    /// Releases a range of a file or block device: `fallocate(2)` with `FALLOC_FL_PUNCH_HOLE`,
    /// `ioctl(2)` with `BLKDISCARD`. `returned` is the number of bytes on success.
    Discard = 48, "discard";
    /// `link(2)`, `symlink(2)` and their variants: they add a name.
    Link = 49, "link";
}

impl Op {
    /// Returns `true` when the call moves data out of a file.
    pub fn is_read(self) -> bool {
        matches!(self, Op::Read | Op::Pread | Op::Readv | Op::Preadv | Op::AioRead | Op::UringRead)
            || matches!(self, Op::Sendfile | Op::Splice | Op::CopyFileRange)
    }
    /// Returns `true` when the call moves data into a file.
    pub fn is_write(self) -> bool {
        matches!(self, Op::Write | Op::Pwrite | Op::Writev | Op::Pwritev | Op::AioWrite | Op::UringWrite)
            || matches!(self, Op::SendfileTo | Op::SpliceTo | Op::CopyFileRangeTo)
    }
    /// Returns `true` when the call copies between two descriptors inside the kernel. How much of it one call does is
    /// the kernel's choice: the source ends, a pipe is full.
    pub fn is_copy(self) -> bool {
        matches!(self, Op::Sendfile | Op::Splice | Op::CopyFileRange)
            || matches!(self, Op::SendfileTo | Op::SpliceTo | Op::CopyFileRangeTo)
    }
    /// Returns `true` when the call moves data or discards it. These are the operations of a pass.
    pub fn is_data(self) -> bool {
        self.is_read() || self.is_write() || self == Op::Discard
    }
    /// Returns `true` when submission and completion are separate: one thread can have several in flight.
    pub fn is_asynchronous(self) -> bool {
        matches!(self, Op::AioRead | Op::AioWrite | Op::AioFsync | Op::AioFdatasync | Op::UringRead)
            || matches!(self, Op::UringWrite | Op::UringFsync | Op::UringFdatasync | Op::UringOther)
    }
    /// Returns `true` when the call waits until data of one file that was written before is at the storage.
    pub fn is_file_sync(self) -> bool {
        matches!(self, Op::Fsync | Op::Fdatasync | Op::Msync | Op::SyncFileRange | Op::AioFsync | Op::AioFdatasync)
            || matches!(self, Op::UringFsync | Op::UringFdatasync)
    }
    /// Returns `true` when the call, where it succeeds, makes data of one file durable that was written before.
    /// `sync_file_range` does not: it writes no metadata, and the device keeps the data in its cache.
    pub fn makes_durable(self) -> bool {
        self.is_file_sync() && self != Op::SyncFileRange
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
    /// Class of the call.
    pub op: Op,
    /// The descriptor argument; -1 where there is none. -2 and below are files registered
    /// with io_uring: -2 - their index.
    pub fd: i32,
    /// The file behind the descriptor; `None` where there is none.
    pub file: Option<FileId>,
    /// Kind of file.
    pub kind: FileKind,
    /// How the file was opened: bits of [`open_bits`]. Includes the flags of this call itself (`RWF_DSYNC`,
    /// `RWF_SYNC`, `RWF_APPEND`), and [`open_bits::SYNC`] where the mount or the inode makes every write
    /// synchronous.
    pub open_flags: u32,
    /// File offset at which the data moved, or the op's own meaning (see [`Op`]); -1 when unknown.
    pub offset: i64,
    /// Requested bytes.
    pub requested: u64,
    /// Return value of the call; a negative errno on failure.
    pub returned: i64,
    /// Bytes that this call itself read from storage (`task->ioac.read_bytes`).
    pub storage_read_bytes: u64,
    /// Bytes that this call inserted into the page cache for its own file.
    pub cached_bytes: u64,
    /// On-CPU time inside the call.
    pub cpu_ns: u64,
    /// On-CPU time in user mode since this thread's previous record.
    pub user_before_ns: u64,
    /// Number of calls whose latency this call's latency represents: 1 for this call alone. 0 when its times are
    /// estimates. Of calls that follow one another within 8 us on one file, the entry of one in sixteen is timed,
    /// and the end of every fifth of the others. The times of the rest are estimated between
    /// these, where calls like those before them would be (`docs/design/call-path.md` gives the error).
    pub stands_for: u8,
}

/// A [`Call`] without what it cost: when it was made, by whom, on what, and with which result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlainCall {
    /// See [`Call::start_ns`].
    pub start_ns: u64,
    /// See [`Call::end_ns`].
    pub end_ns: u64,
    /// The thread.
    pub tid: u32,
    /// The process.
    pub tgid: u32,
    /// Class of the call.
    pub op: Op,
    /// See [`Call::fd`].
    pub fd: i32,
    /// The file behind the descriptor; `None` where there is none.
    pub file: Option<FileId>,
    /// Kind of file.
    pub kind: FileKind,
    /// See [`Call::open_flags`].
    pub open_flags: u32,
    /// See [`Call::offset`].
    pub offset: i64,
    /// Requested bytes.
    pub requested: u64,
    /// Return value of the call; a negative errno on failure.
    pub returned: i64,
}

impl From<&Call> for PlainCall {
    fn from(call: &Call) -> Self {
        Self {
            start_ns: call.start_ns,
            end_ns: call.end_ns,
            tid: call.tid,
            tgid: call.tgid,
            op: call.op,
            fd: call.fd,
            file: call.file,
            kind: call.kind,
            open_flags: call.open_flags,
            offset: call.offset,
            requested: call.requested,
            returned: call.returned,
        }
    }
}

impl PlainCall {
    /// Returns `true` for a call of this operation on this kind of file that can begin, end or divide a pass over a
    /// file. Calls that move data or the position in a file do not, nor do most calls on files of other kinds.
    pub fn is_structural(op: Op, kind: FileKind) -> bool {
        match op {
            Op::Open | Op::Unlink | Op::Link | Op::Sync | Op::Syncfs | Op::Munmap | Op::Msync | Op::MsyncAsync => true,
            op => kind != FileKind::Other && !op.is_data() && op != Op::Lseek,
        }
    }
}

/// Where a call moved data: the part of a [`Call`] that is kept when millions are counted by place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Class of the call.
    pub op: Op,
    /// The file behind the descriptor; `None` where there is none.
    pub file: Option<FileId>,
    /// As [`Call::offset`].
    pub offset: i64,
    /// Requested bytes.
    pub requested: u64,
    /// Bytes moved, or a negative errno.
    pub returned: i64,
}

/// Neutral bits to which the probe translates open flags: `O_DIRECT` differs between x86-64 and arm64.
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
