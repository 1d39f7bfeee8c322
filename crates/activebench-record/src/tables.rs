//! The tables of events. Changing one changes the format: see `run::FORMAT`. The kinds of events are listed in
//! `activebench-model/src/event.rs`.

use activebench_model::call::{Call, DeviceNumber, FileId, FileKind, Op, Place, PlainCall};
use activebench_model::event::{
    BlockAction, BlockEvent, BlockEventKind, CacheEvent, CpuEvent, Event, NameEvent, Origin, PayloadEvent, SampleEvent,
    StealEvent, TaskEvent, TaskEventKind, ThreadState, ThreadTimes,
};

use crate::columns::{columns, stored_as_number};
use crate::part::Table;

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
    BlockEventKind, BlockAction, Origin, ThreadState, ThreadTimes, CpuEvent,
}

/// Declares the table of an event: its columns, as [`columns`] does. A field that is not [`Harmless`] has the method of
/// [`Visitor`] for it in brackets.
macro_rules! table {
    ($row:ident $(if $is_possible:expr, )? { $($field:ident $([$visit:ident])? $(= $name:literal)?;)* }) => {
        columns! { $row { $($field $(= $name)?;)* } }

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

/// Stores an enumeration as the numbers of a list. Numbers are never reused.
macro_rules! codes {
    ($type:ident { $($variant:ident = $code:literal,)* }) => {
        stored_as_number!(
            $type: |value| match value { $($type::$variant => $code,)* },
            |code| match code { $($code => Some($type::$variant),)* _ => None }
        );
    };
}

codes! { FileKind { Other = 0, Regular = 1, BlockDevice = 2, } }
codes! { TaskEventKind { Born = 1, Executed = 2, Exited = 3, } }
codes! { BlockEventKind { Queued = 1, Completed = 2, Inferred = 3, } }
codes! { BlockAction { Read = 0, Write = 1, Flush = 2, Discard = 3, Other = 4, } }
codes! { Origin { Unknown = 0, Tree = 1, Observer = 2, Kernel = 3, Foreign = 4, } }
codes! { ThreadState { User = 0, Kernel = 1, Blocked = 2, IoWait = 3, Preempted = 4, Stopped = 5, } }

/// Most bytes that one call reads or writes (`MAX_RW_COUNT`, include/linux/fs.h of Linux 6.12), with pages of 64 KiB.
const MOST_MOVED_BYTES: i64 = i32::MAX as i64;

/// `true` if a call can have moved so many bytes. Each block of a call is counted, so that one call from a stranger that
/// states all the bytes there are would take all the time there is.
fn is_moved_by_a_call(op: Op, returned: i64) -> bool {
    returned <= MOST_MOVED_BYTES || !(op.is_read() || op.is_write())
}

table! {
    Call if |call| is_moved_by_a_call(call.op, call.returned), {
        start_ns;
        end_ns;
        tid;
        tgid;
        op = "op_code";
        fd;
        file;
        kind = "file_kind_code";
        open_flags = "open_flag_bits";
        offset;
        requested;
        returned;
        storage_read_bytes;
        cached_bytes;
        cpu_ns;
        user_before_ns;
        stands_for;
    }
}

columns! {
    PlainCall {
        start_ns;
        end_ns;
        tid;
        tgid;
        op = "op_code";
        fd;
        file;
        kind = "file_kind_code";
        open_flags = "open_flag_bits";
        offset;
        requested;
        returned;
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
        op = "op_code";
        kind = "file_kind_code";
    }
}

impl Table for CallClass {
    const TABLE: &'static str = <Call as Table>::TABLE;
    const IS_PART: bool = true;
}

columns! {
    Place {
        op = "op_code";
        file;
        offset;
        requested;
        returned;
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
        at_ns;
        tid;
        tgid;
        op = "op_code";
        returned;
        file;
        name [names];
    }
}

table! {
    TaskEvent {
        at_ns;
        kind = "kind_code";
        tid;
        tgid;
        parent_tgid;
        exit_status;
        comm [comm];
        filename [path];
        user_ns;
        kernel_ns;
        blocked_ns;
        iowait_ns;
        preempted_ns;
    }
}

table! {
    BlockEvent {
        at_ns;
        kind = "kind_code";
        device;
        sector;
        bytes;
        action = "action_code";
        preflush;
        fua;
        latency_ns;
        first_of_request;
        file;
        tgid;
        comm [comm];
        origin = "origin_code";
        status;
    }
}

table! {
    CacheEvent {
        at_ns;
        file;
        offset;
        bytes;
        tgid;
        in_tree;
    }
}

columns! {
    ThreadTimes {
        user_ns;
        kernel_ns;
        blocked_ns;
        iowait_ns;
        preempted_ns;
    }
}

table! {
    CpuEvent {
        at_ns;
        since_ns;
        state = "state_code";
        tid;
        tgid;
        times;
    }
}

table! {
    SampleEvent {
        at_ns = "sampled_ns";
        in_user_mode;
        stack;
        cpu;
    }
}

table! {
    StealEvent {
        at_ns;
        cpu;
        steal_ns;
    }
}

table! {
    PayloadEvent {
        at_ns;
        tid;
        tgid;
        op = "op_code";
        fd;
        file;
        write_bytes;
        sampled_bytes;
        zero_bytes;
        compressed_bytes;
        content;
        kept_offset [kept_offset];
    }
}
