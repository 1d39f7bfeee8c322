//! The tables of events: each column with its unit and its meaning, which the files and `docs/tables.md` state. Changing
//! one changes the format: see `run::FORMAT`. The kinds of events are listed in `activebench-model/src/event.rs`.

use activebench_model::call::{Call, DeviceNumber, FileId, FileKind, Op, Place, PlainCall};
use activebench_model::event::{
    BlockAction, BlockEvent, BlockEventKind, CacheEvent, CpuEvent, Event, FuseEvent, FuseOperation, NameEvent, Origin,
    PayloadEvent, SampleEvent, ServingEvent, StealEvent, TaskEvent, TaskEventKind, ThreadState, ThreadTimes,
};

use crate::columns::columns;
use crate::part::Table;
use crate::words::{AtExit, BlockStatus, OpenFlags, Returned, UnlessEmpty, UnlessMinusOne, UnlessZero};

/// An event with its table.
pub trait Row: Event + Table {
    /// `true` if a redacted copy keeps the whole table as it is.
    const IS_HARMLESS: bool;

    /// Visits every value that a redacted copy cannot keep as it is.
    fn visit(rows: &mut [Self], visitor: &mut dyn Visitor);
}

/// Visits the values that a redacted copy cannot keep as they are.
pub trait Visitor {
    /// Visits the kernel's name of a task.
    fn comm(&mut self, comm: &mut String);
    /// Visits a path.
    fn path(&mut self, path: &mut String);
    /// Visits names of files and arguments, all at once: an argument can be split over several.
    fn names(&mut self, rows: &mut [NameEvent]);
    /// Visits an offset in the file of kept payload, which a copy does not have.
    fn kept_offset(&mut self, offset: &mut Option<u64>);
}

/// A type whose values name nobody. Text is not one: its column says what it holds.
trait Harmless {}

macro_rules! harmless {
    ($($type:ty,)*) => { $(impl Harmless for $type {})* };
}

harmless! {
    u8, u32, u64, i32, i64, bool, Option<u32>, Op, DeviceNumber, FileId, Option<FileId>, FileKind, TaskEventKind,
    BlockEventKind, BlockAction, Origin, ThreadState, ThreadTimes, CpuEvent, FuseOperation,
}

/// Declares the table of an event: its columns, as [`columns`] does. A field that is not [`Harmless`] has the method of
/// [`Visitor`] for it in brackets.
macro_rules! table {
    (
        $row:ident $(if $is_possible:expr, )? {
            $($field:ident $([$visit:ident])? $(as $as:ident)? $(= $name:literal)? $(=> $unit:literal, $meaning:literal)?;)*
        }
    ) => {
        columns! { $row { $($field $(as $as)? $(= $name)? $(=> $unit, $meaning)?;)* } }

        impl Table for $row {
            const TABLE: &'static str = <$row as Event>::TABLE;
            $(
                fn is_possible(&self) -> bool {
                    let is_possible: fn(&Self) -> bool = $is_possible;
                    is_possible(self)
                }
            )?
        }

        impl Row for $row {
            const IS_HARMLESS: bool = $(table!(@is_harmless $($visit)?) &&)* true;

            fn visit(rows: &mut [Self], visitor: &mut dyn Visitor) {
                // Most tables have nothing to visit.
                let (_, _) = (&rows, &visitor);
                $(table!(@visit rows, visitor, $row, $field $($visit)?);)*
            }
        }
    };
    (@is_harmless) => { true };
    (@is_harmless $visit:ident) => { false };
    (@visit $rows:ident, $visitor:ident, $row:ident, $field:ident) => {
        const _: fn(&$row) = |row| {
            fn check<T: Harmless>(_: &T) {}
            check(&row.$field);
        };
    };
    (@visit $rows:ident, $visitor:ident, $row:ident, $field:ident names) => {
        $visitor.names($rows);
    };
    (@visit $rows:ident, $visitor:ident, $row:ident, $field:ident $visit:ident) => {
        $rows.iter_mut().for_each(|row| $visitor.$visit(&mut row.$field));
    };
}

/// Most bytes that one call reads or writes (`MAX_RW_COUNT`, include/linux/fs.h of Linux 6.12), with pages of 64 KiB.
const MOST_MOVED_BYTES: i64 = i32::MAX as i64;

/// `true` if a call can have moved so many bytes. Each block of a call is counted, so that one call from a stranger that
/// states all the bytes there are would take all the time there is.
fn is_moved_by_a_call(op: Op, returned: i64) -> bool {
    returned <= MOST_MOVED_BYTES || !(op.is_read() || op.is_write())
}

table! {
    Call if |call| is_moved_by_a_call(call.op, call.returned), {
        start_ns => "ns", "When the kernel entered the call (CLOCK_MONOTONIC).";
        end_ns => "ns", "When the call was about to return.";
        tid => "", "The thread.";
        tgid => "", "The process.";
        op => "", "The call.";
        fd as UnlessMinusOne => "", "The descriptor; null where the call has none. -2 and below is a file that is registered with an io_uring: -2 - its index.";
        file => "", "The file behind the descriptor; null where there is none.";
        kind = "file_kind" => "", "Kind of file. `other` is a pipe, a socket, a terminal, a directory, or no file.";
        open_flags as OpenFlags => "", "How the file was opened, with the flags of this call: `direct`, `sync`, `dsync`, `append`, `writable`, `create`, `truncate`, joined by `+`; `none` without any. `sync` also where the mount makes every write synchronous.";
        offset as UnlessMinusOne => "bytes", "File offset at which data moved; null where it is unknown. For msync and munmap the address.";
        requested => "bytes", "Bytes that were asked for. For ftruncate the new length, for io_submit and io_uring_enter the number of requests.";
        returned as Returned => "bytes", "What the call returned: bytes that moved, or the descriptor of open and dup; null where the call failed.";
        storage_read_bytes => "bytes", "Bytes that the call itself read from storage.";
        cached_bytes => "bytes", "Bytes that the call brought into the page cache for its file.";
        cpu_ns => "ns", "CPU time inside the call.";
        user_before_ns => "ns", "CPU time in user mode since the last call of the thread.";
        stands_for => "calls", "Number of calls whose latency this one represents. 1 for this call alone; 0 where its times are estimates.";
    }
}

columns! {
    PlainCall {
        start_ns;
        end_ns;
        tid;
        tgid;
        op;
        fd as UnlessMinusOne;
        file;
        kind = "file_kind";
        open_flags as OpenFlags;
        offset as UnlessMinusOne;
        requested;
        returned as Returned;
    }
}

impl Table for PlainCall {
    const TABLE: &'static str = <Call as Table>::TABLE;
    const IS_PART: bool = true;

    fn is_possible(&self) -> bool {
        is_moved_by_a_call(self.op, self.returned)
    }
}

/// The columns of a call that decide whether it is structural.
pub(crate) struct CallClass {
    pub(crate) op: Op,
    pub(crate) kind: FileKind,
}

columns! {
    CallClass {
        op;
        kind = "file_kind";
    }
}

impl Table for CallClass {
    const TABLE: &'static str = <Call as Table>::TABLE;
    const IS_PART: bool = true;
}

columns! {
    Place {
        op;
        file;
        offset as UnlessMinusOne;
        requested;
        returned as Returned;
    }
}

impl Table for Place {
    const TABLE: &'static str = <Call as Table>::TABLE;
    const IS_PART: bool = true;

    fn is_possible(&self) -> bool {
        is_moved_by_a_call(self.op, self.returned)
    }
}

table! {
    NameEvent {
        at_ns => "ns", "When the call returned.";
        tid => "", "The thread.";
        tgid => "", "The process.";
        op => "", "The call.";
        returned as Returned => "", "What the call returned, such as the descriptor of an open; null where it failed. For execve the number of the argument in `name`, from 0.";
        file => "", "The file that an open returned; null for other calls and failed opens.";
        name [names] => "", "The name as the tool wrote it, cut at 255 bytes. For execve an argument, or the next 255 bytes of one.";
    }
}

table! {
    TaskEvent {
        at_ns => "ns", "When it happened.";
        kind => "", "A task of the tree was created (`born`), executed a file, or ended.";
        tid => "", "The thread.";
        tgid => "", "Its process.";
        parent_tgid as UnlessZero => "", "The process that created it; null in events of other kinds.";
        exit_status as AtExit => "", "How it ended: `exited 0`, `SIGKILL`, `SIGSEGV+core`; null in events of other kinds.";
        comm [comm] as UnlessEmpty => "", "The kernel's name of the task; null before it has one.";
        filename [path] as UnlessEmpty => "", "The file that was executed, cut at 255 bytes; null in events of other kinds.";
        user_ns as AtExit => "ns", "At its end: CPU time in user mode since its observation began; null in events of other kinds.";
        kernel_ns as AtExit => "ns", "At its end: CPU time in the kernel; null in events of other kinds.";
        blocked_ns as AtExit => "ns", "At its end: time without a CPU in which it could not run, I/O wait included; null in events of other kinds.";
        iowait_ns as AtExit => "ns", "At its end: the part of `blocked_ns` in I/O wait; null in events of other kinds.";
        preempted_ns as AtExit => "ns", "At its end: time without a CPU in which it could run; null in events of other kinds.";
    }
}

table! {
    BlockEvent {
        at_ns => "ns", "When it happened. For `inferred` the earliest time possible.";
        kind => "", "A bio was queued (on stacked devices once per layer), or a request was completed by the device. `inferred`: a completion that no probe saw.";
        device => "major:minor", "The whole disk, as in /proc/diskstats and lsblk.";
        sector => "sectors of 512 bytes", "First sector, from the start of the disk.";
        bytes => "bytes", "Data of this event; 0 for a FLUSH.";
        action => "", "What the request does.";
        preflush => "", "The device must empty its cache first (REQ_PREFLUSH).";
        fua => "", "The data must be durable when the request completes (REQ_FUA).";
        latency_ns as UnlessZero => "ns", "From issue to completion. Null for events of other kinds, where the issue was not seen, and in all rows of a request but the first.";
        first_of_request => "", "The first row of its request. Requests are counted by these: one with data of several files has a row for each.";
        file => "", "The file whose data it carries; null for metadata, a journal, and data of an unknown owner.";
        tgid as UnlessZero => "", "The process that submitted it; null where it is unknown. Writeback is submitted by kernel threads.";
        comm [comm] as UnlessEmpty => "", "Name of that process; null where it is unknown.";
        origin => "", "Who submitted it: the benchmark (`tree`), activebench (`observer`), a kernel thread (`kernel`), or another process (`foreign`).";
        status as BlockStatus => "", "The block layer's status of a failed request, such as `BLK_STS_IOERR`; null where it succeeded.";
    }
}

table! {
    CacheEvent {
        at_ns => "ns", "When pages entered the page cache.";
        file => "", "Their file.";
        offset => "bytes", "First byte in the file.";
        bytes => "bytes", "Bytes that entered at once (a folio).";
        tgid => "", "The process in whose context it happened.";
        in_tree => "", "True if that process is one of the benchmark's.";
    }
}

columns! {
    ThreadTimes {
        user_ns => "ns", "CPU time in user mode since observation of the thread began.";
        kernel_ns => "ns", "CPU time in the kernel.";
        blocked_ns => "ns", "Time without a CPU in which the thread could not run, I/O wait included.";
        iowait_ns => "ns", "The part of `blocked_ns` in I/O wait.";
        preempted_ns => "ns", "Time without a CPU in which the thread could run.";
    }
}

table! {
    CpuEvent {
        at_ns => "ns", "When the totals were read: the thread got a CPU again, or was sampled.";
        since_ns => "ns", "Start of the time in `state`.";
        state => "", "State of the thread from `since_ns` to `at_ns`.";
        tid => "", "The thread.";
        tgid => "", "Its process.";
        times;
    }
}

table! {
    SampleEvent {
        at_ns = "sampled_ns" => "ns", "When the sampling clock of a CPU interrupted the thread.";
        in_user_mode => "", "True in user mode; otherwise the thread was in the kernel.";
        stack => "", "Index of its stack in stacks.json; null when the table of stacks was full.";
        cpu;
    }
}

table! {
    ServingEvent if |event| event.since_ns <= event.until_ns, {
        since_ns => "ns", "Start of the time in which all of this row happened.";
        until_ns => "ns", "End of that time.";
        tgid as UnlessZero => "", "The process of a FUSE daemon that ran before the benchmark; null for the kernel.";
        name [comm] as UnlessEmpty => "", "Threads of the kernel of one name, or its workers at one kind of work: the name of the queue, or what the work calls itself; null for a daemon.";
        cpu_ns => "ns", "CPU time on one CPU.";
        read_calls => "calls", "Calls of a daemon that read data: read, pread, readv, preadv, also of requests from the kernel. 0 for the kernel, as below.";
        write_calls => "calls", "Its calls that write data: write, pwrite, writev, pwritev, also of answers.";
        sync_calls => "calls", "Its calls that sync.";
        other_calls => "calls", "Its other calls.";
    }
}

table! {
    FuseEvent {
        at_ns => "ns", "When the daemon answered the request.";
        sent_ns as UnlessZero => "ns", "When the kernel handed it to the daemon; null where that was not seen.";
        s_dev => "major:minor", "The FUSE file system; its minor number is that of the connection.";
        operation => "", "What was asked for, as in fuse.h.";
        tgid as UnlessZero => "", "The process that sent it; null where that was not seen.";
        daemon => "", "The process in whose context it was answered.";
        request_bytes => "bytes", "Bytes of the request, with its header.";
        returned as Returned => "bytes", "Bytes of the answer, with its header; null where it is an error.";
        writeback_cache => "", "True where the mount uses FUSE's writeback cache.";
        passthrough => "", "True where the daemon may have files read and written by the kernel in the files below.";
    }
}

table! {
    StealEvent {
        at_ns => "ns", "When it was read.";
        cpu => "", "Number of the CPU.";
        steal_ns => "ns", "Time since boot in which the hypervisor ran others while this CPU had something to run. Counted in ticks, usually of 10 ms.";
    }
}

table! {
    PayloadEvent {
        at_ns => "ns", "Start of the call, or submission of the request.";
        tid => "", "The thread.";
        tgid => "", "The process.";
        op => "", "The call.";
        fd => "", "Its descriptor. -2 and below is a file that is registered with an io_uring: -2 - its index.";
        file => "", "The file; null where it is registered with an io_uring.";
        write_bytes => "bytes", "Bytes that the call was to write.";
        sampled_bytes => "bytes", "First bytes of the write that were examined, at most 4096; 0 where memory could not be read.";
        zero_bytes => "bytes", "Zero bytes among those.";
        compressed_bytes => "bytes", "Size of those bytes after zstd at its lowest level.";
        content => "", "Number of the content: equal bytes have equal numbers within a run; null for no bytes.";
        kept_offset [kept_offset] => "bytes", "Offset in payload.bin; null unless the bytes were kept.";
    }
}
