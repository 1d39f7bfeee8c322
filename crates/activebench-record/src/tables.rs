//! The columns of each table. Changing one changes the format: see `run::FORMAT`.

use activebench_model::call::{Call, DeviceNumber, FileId, FileKind, Op, Place};
use activebench_model::event::{
    BlockAction, BlockEvent, BlockEventKind, CacheEvent, CpuEvent, NameEvent, Origin, PayloadEvent, SampleEvent,
    StealEvent, TaskEvent, TaskEventKind, ThreadState, ThreadTimes,
};

use crate::error::RecordError;
use crate::part::{ColumnsIn, ColumnsOut, Row, Table};

/// Both directions of an enumeration's numbers from one list. Numbers are never reused.
macro_rules! codes {
    ($to:ident, $from:ident: $type:ident { $($variant:ident = $code:literal,)* }) => {
        fn $to(value: $type) -> u32 {
            match value { $($type::$variant => $code,)* }
        }
        fn $from(code: u32) -> Option<$type> {
            match code { $($code => Some($type::$variant),)* _ => None }
        }
    };
}

codes! { file_kind_code, file_kind: FileKind { Other = 0, Regular = 1, BlockDevice = 2, } }
codes! { task_kind_code, task_kind: TaskEventKind { Born = 1, Executed = 2, Exited = 3, } }
codes! { block_kind_code, block_kind: BlockEventKind { Queued = 1, Completed = 2, Inferred = 3, } }
codes! { action_code, action: BlockAction { Read = 0, Write = 1, Flush = 2, Discard = 3, Other = 4, } }
codes! { origin_code, origin: Origin { Unknown = 0, Tree = 1, Observer = 2, Kernel = 3, Foreign = 4, } }

codes! { state_code, state: ThreadState { User = 0, Kernel = 1, Blocked = 2, IoWait = 3, Preempted = 4, } }

fn op_code(op: Op) -> u32 {
    u32::from(op as u16)
}

fn op(code: u32) -> Option<Op> {
    Op::from_code(u16::try_from(code).ok()?)
}

fn write_file<R>(columns: &mut ColumnsOut, rows: &[R], file: impl Fn(&R) -> Option<FileId>) {
    columns.optional_u32("file_s_dev", rows, |row| file(row).map(|id| id.s_dev));
    columns.optional_u64("file_ino", rows, |row| file(row).map(|id| id.ino));
}

fn read_files(columns: &ColumnsIn<'_>) -> Result<Vec<Option<FileId>>, RecordError> {
    // Mostly every row has a file.
    if let (Ok(devices), Ok(inodes)) = (columns.u32("file_s_dev"), columns.u64("file_ino")) {
        return Ok(devices.into_iter().zip(inodes).map(|(s_dev, ino)| Some(FileId { s_dev, ino })).collect());
    }
    let devices = columns.optional_u32("file_s_dev")?;
    let inodes = columns.optional_u64("file_ino")?;
    devices
        .into_iter()
        .zip(inodes)
        .map(|pair| match pair {
            (Some(s_dev), Some(ino)) => Ok(Some(FileId { s_dev, ino })),
            (None, None) => Ok(None),
            _ => Err(columns.error("file_ino", "half of a file's identity is missing")),
        })
        .collect()
}

impl Table for Call {
    const TABLE: &'static str = "calls";

    fn read(columns: &ColumnsIn<'_>) -> Result<Vec<Self>, RecordError> {
        let start_ns = columns.u64("start_ns")?;
        let end_ns = columns.u64("end_ns")?;
        let tid = columns.u32("tid")?;
        let tgid = columns.u32("tgid")?;
        let ops = columns.coded("op_code", op)?;
        let fd = columns.i32("fd")?;
        let files = read_files(columns)?;
        let kinds = columns.coded("file_kind_code", file_kind)?;
        let open_flags = columns.u32("open_flag_bits")?;
        let offset = columns.i64("offset")?;
        let requested = columns.u64("requested")?;
        let returned = columns.i64("returned")?;
        let storage_read_bytes = columns.u64("storage_read_bytes")?;
        let cached_bytes = columns.u64("cached_bytes")?;
        let cpu_ns = columns.u64("cpu_ns")?;
        let user_before_ns = columns.u64("user_before_ns")?;
        let stands_for = columns.coded("stands_for", |code| u8::try_from(code).ok())?;
        let row = |index: usize| Call {
            start_ns: start_ns[index],
            end_ns: end_ns[index],
            tid: tid[index],
            tgid: tgid[index],
            op: ops[index],
            fd: fd[index],
            file: files[index],
            kind: kinds[index],
            open_flags: open_flags[index],
            offset: offset[index],
            requested: requested[index],
            returned: returned[index],
            storage_read_bytes: storage_read_bytes[index],
            cached_bytes: cached_bytes[index],
            cpu_ns: cpu_ns[index],
            user_before_ns: user_before_ns[index],
            stands_for: stands_for[index],
        };
        Ok((0..start_ns.len()).map(row).collect())
    }
}

impl Row for Call {
    fn write(rows: &[Self], columns: &mut ColumnsOut) {
        columns.u64("start_ns", rows, |call| call.start_ns);
        columns.u64("end_ns", rows, |call| call.end_ns);
        columns.u32("tid", rows, |call| call.tid);
        columns.u32("tgid", rows, |call| call.tgid);
        columns.u32("op_code", rows, |call| op_code(call.op));
        columns.i32("fd", rows, |call| call.fd);
        write_file(columns, rows, |call| call.file);
        columns.u32("file_kind_code", rows, |call| file_kind_code(call.kind));
        columns.u32("open_flag_bits", rows, |call| call.open_flags);
        columns.i64("offset", rows, |call| call.offset);
        columns.u64("requested", rows, |call| call.requested);
        columns.i64("returned", rows, |call| call.returned);
        columns.u64("storage_read_bytes", rows, |call| call.storage_read_bytes);
        columns.u64("cached_bytes", rows, |call| call.cached_bytes);
        columns.u64("cpu_ns", rows, |call| call.cpu_ns);
        columns.u64("user_before_ns", rows, |call| call.user_before_ns);
        columns.u32("stands_for", rows, |call| u32::from(call.stands_for));
    }
}

impl Table for Place {
    const TABLE: &'static str = <Call as Table>::TABLE;
    const COLUMNS: Option<&'static [&'static str]> =
        Some(&["op_code", "file_s_dev", "file_ino", "offset", "requested", "returned"]);

    fn read(columns: &ColumnsIn<'_>) -> Result<Vec<Self>, RecordError> {
        let ops = columns.coded("op_code", op)?;
        let files = read_files(columns)?;
        let offset = columns.i64("offset")?;
        let requested = columns.u64("requested")?;
        let returned = columns.i64("returned")?;
        let row = |index: usize| Place {
            op: ops[index],
            file: files[index],
            offset: offset[index],
            requested: requested[index],
            returned: returned[index],
        };
        Ok((0..ops.len()).map(row).collect())
    }
}

impl Table for NameEvent {
    const TABLE: &'static str = "names";

    fn read(columns: &ColumnsIn<'_>) -> Result<Vec<Self>, RecordError> {
        let at_ns = columns.u64("at_ns")?;
        let tid = columns.u32("tid")?;
        let tgid = columns.u32("tgid")?;
        let ops = columns.coded("op_code", op)?;
        let returned = columns.i64("returned")?;
        let files = read_files(columns)?;
        let row = |(index, name)| NameEvent {
            at_ns: at_ns[index],
            tid: tid[index],
            tgid: tgid[index],
            op: ops[index],
            returned: returned[index],
            file: files[index],
            name,
        };
        Ok(columns.text("name")?.into_iter().enumerate().map(row).collect())
    }
}

impl Row for NameEvent {
    fn write(rows: &[Self], columns: &mut ColumnsOut) {
        columns.u64("at_ns", rows, |event| event.at_ns);
        columns.u32("tid", rows, |event| event.tid);
        columns.u32("tgid", rows, |event| event.tgid);
        columns.u32("op_code", rows, |event| op_code(event.op));
        columns.i64("returned", rows, |event| event.returned);
        write_file(columns, rows, |event| event.file);
        columns.text("name", rows, |event| &event.name);
    }
}

impl Table for TaskEvent {
    const TABLE: &'static str = "tasks";

    fn read(columns: &ColumnsIn<'_>) -> Result<Vec<Self>, RecordError> {
        let at_ns = columns.u64("at_ns")?;
        let kinds = columns.coded("kind_code", task_kind)?;
        let tid = columns.u32("tid")?;
        let tgid = columns.u32("tgid")?;
        let parent_tgid = columns.u32("parent_tgid")?;
        let exit_status = columns.i32("exit_status")?;
        let user_ns = columns.u64("user_ns")?;
        let kernel_ns = columns.u64("kernel_ns")?;
        let blocked_ns = columns.u64("blocked_ns")?;
        let iowait_ns = columns.u64("iowait_ns")?;
        let preempted_ns = columns.u64("preempted_ns")?;
        let texts = columns.text("comm")?.into_iter().zip(columns.text("filename")?);
        let row = |(index, (comm, filename))| TaskEvent {
            at_ns: at_ns[index],
            kind: kinds[index],
            tid: tid[index],
            tgid: tgid[index],
            parent_tgid: parent_tgid[index],
            exit_status: exit_status[index],
            comm,
            filename,
            user_ns: user_ns[index],
            kernel_ns: kernel_ns[index],
            blocked_ns: blocked_ns[index],
            iowait_ns: iowait_ns[index],
            preempted_ns: preempted_ns[index],
        };
        Ok(texts.enumerate().map(row).collect())
    }
}

impl Row for TaskEvent {
    fn write(rows: &[Self], columns: &mut ColumnsOut) {
        columns.u64("at_ns", rows, |event| event.at_ns);
        columns.u32("kind_code", rows, |event| task_kind_code(event.kind));
        columns.u32("tid", rows, |event| event.tid);
        columns.u32("tgid", rows, |event| event.tgid);
        columns.u32("parent_tgid", rows, |event| event.parent_tgid);
        columns.i32("exit_status", rows, |event| event.exit_status);
        columns.text("comm", rows, |event| &event.comm);
        columns.text("filename", rows, |event| &event.filename);
        columns.u64("user_ns", rows, |event| event.user_ns);
        columns.u64("kernel_ns", rows, |event| event.kernel_ns);
        columns.u64("blocked_ns", rows, |event| event.blocked_ns);
        columns.u64("iowait_ns", rows, |event| event.iowait_ns);
        columns.u64("preempted_ns", rows, |event| event.preempted_ns);
    }
}

impl Table for BlockEvent {
    const TABLE: &'static str = "block";

    fn read(columns: &ColumnsIn<'_>) -> Result<Vec<Self>, RecordError> {
        let at_ns = columns.u64("at_ns")?;
        let kinds = columns.coded("kind_code", block_kind)?;
        let device = columns.u32("device")?;
        let sector = columns.u64("sector")?;
        let bytes = columns.u64("bytes")?;
        let actions = columns.coded("action_code", action)?;
        let preflush = columns.bool("preflush")?;
        let fua = columns.bool("fua")?;
        let latency_ns = columns.u64("latency_ns")?;
        let first_of_request = columns.bool("first_of_request")?;
        let files = read_files(columns)?;
        let tgid = columns.u32("tgid")?;
        let origins = columns.coded("origin_code", origin)?;
        let status = columns.coded("status", |code| u8::try_from(code).ok())?;
        let row = |(index, comm)| BlockEvent {
            at_ns: at_ns[index],
            kind: kinds[index],
            device: DeviceNumber(device[index]),
            sector: sector[index],
            bytes: bytes[index],
            action: actions[index],
            preflush: preflush[index],
            fua: fua[index],
            latency_ns: latency_ns[index],
            first_of_request: first_of_request[index],
            file: files[index],
            tgid: tgid[index],
            comm,
            origin: origins[index],
            status: status[index],
        };
        Ok(columns.text("comm")?.into_iter().enumerate().map(row).collect())
    }
}

impl Row for BlockEvent {
    fn class(&self) -> &'static str {
        match self.kind {
            BlockEventKind::Queued | BlockEventKind::Inferred => "block_queued",
            BlockEventKind::Completed => "block",
        }
    }

    fn write(rows: &[Self], columns: &mut ColumnsOut) {
        columns.u64("at_ns", rows, |event| event.at_ns);
        columns.u32("kind_code", rows, |event| block_kind_code(event.kind));
        columns.u32("device", rows, |event| event.device.0);
        columns.u64("sector", rows, |event| event.sector);
        columns.u64("bytes", rows, |event| event.bytes);
        columns.u32("action_code", rows, |event| action_code(event.action));
        columns.bool("preflush", rows, |event| event.preflush);
        columns.bool("fua", rows, |event| event.fua);
        columns.u64("latency_ns", rows, |event| event.latency_ns);
        columns.bool("first_of_request", rows, |event| event.first_of_request);
        write_file(columns, rows, |event| event.file);
        columns.u32("tgid", rows, |event| event.tgid);
        columns.text("comm", rows, |event| &event.comm);
        columns.u32("origin_code", rows, |event| origin_code(event.origin));
        columns.u32("status", rows, |event| u32::from(event.status));
    }
}

impl Table for CacheEvent {
    const TABLE: &'static str = "page_cache";

    fn read(columns: &ColumnsIn<'_>) -> Result<Vec<Self>, RecordError> {
        let at_ns = columns.u64("at_ns")?;
        let s_dev = columns.u32("file_s_dev")?;
        let ino = columns.u64("file_ino")?;
        let offset = columns.u64("offset")?;
        let bytes = columns.u64("bytes")?;
        let tgid = columns.u32("tgid")?;
        let in_tree = columns.bool("in_tree")?;
        let row = |index: usize| CacheEvent {
            at_ns: at_ns[index],
            file: FileId { s_dev: s_dev[index], ino: ino[index] },
            offset: offset[index],
            bytes: bytes[index],
            tgid: tgid[index],
            in_tree: in_tree[index],
        };
        Ok((0..at_ns.len()).map(row).collect())
    }
}

fn write_cpu<R>(columns: &mut ColumnsOut, rows: &[R], cpu: impl Fn(&R) -> &CpuEvent) {
    columns.u64("at_ns", rows, |row| cpu(row).at_ns);
    columns.u64("since_ns", rows, |row| cpu(row).since_ns);
    columns.u32("state_code", rows, |row| state_code(cpu(row).state));
    columns.u32("tid", rows, |row| cpu(row).tid);
    columns.u32("tgid", rows, |row| cpu(row).tgid);
    columns.u64("user_ns", rows, |row| cpu(row).times.user_ns);
    columns.u64("kernel_ns", rows, |row| cpu(row).times.kernel_ns);
    columns.u64("blocked_ns", rows, |row| cpu(row).times.blocked_ns);
    columns.u64("iowait_ns", rows, |row| cpu(row).times.iowait_ns);
    columns.u64("preempted_ns", rows, |row| cpu(row).times.preempted_ns);
}

fn read_cpu(columns: &ColumnsIn<'_>) -> Result<Vec<CpuEvent>, RecordError> {
    let at_ns = columns.u64("at_ns")?;
    let since_ns = columns.u64("since_ns")?;
    let states = columns.coded("state_code", state)?;
    let tid = columns.u32("tid")?;
    let tgid = columns.u32("tgid")?;
    let user_ns = columns.u64("user_ns")?;
    let kernel_ns = columns.u64("kernel_ns")?;
    let blocked_ns = columns.u64("blocked_ns")?;
    let iowait_ns = columns.u64("iowait_ns")?;
    let preempted_ns = columns.u64("preempted_ns")?;
    let row = |index: usize| CpuEvent {
        at_ns: at_ns[index],
        since_ns: since_ns[index],
        state: states[index],
        tid: tid[index],
        tgid: tgid[index],
        times: ThreadTimes {
            user_ns: user_ns[index],
            kernel_ns: kernel_ns[index],
            blocked_ns: blocked_ns[index],
            iowait_ns: iowait_ns[index],
            preempted_ns: preempted_ns[index],
        },
    };
    Ok((0..at_ns.len()).map(row).collect())
}

impl Table for CpuEvent {
    const TABLE: &'static str = "cpu";

    fn read(columns: &ColumnsIn<'_>) -> Result<Vec<Self>, RecordError> {
        read_cpu(columns)
    }
}

impl Row for CpuEvent {
    fn write(rows: &[Self], columns: &mut ColumnsOut) {
        write_cpu(columns, rows, |event| event);
    }
}

impl Table for SampleEvent {
    const TABLE: &'static str = "samples";

    fn read(columns: &ColumnsIn<'_>) -> Result<Vec<Self>, RecordError> {
        let sampled_ns = columns.u64("sampled_ns")?;
        let in_user_mode = columns.bool("in_user_mode")?;
        let stacks = columns.optional_u32("stack")?;
        let row = |(index, cpu)| SampleEvent {
            at_ns: sampled_ns[index],
            in_user_mode: in_user_mode[index],
            stack: stacks[index],
            cpu,
        };
        Ok(read_cpu(columns)?.into_iter().enumerate().map(row).collect())
    }
}

impl Row for SampleEvent {
    fn write(rows: &[Self], columns: &mut ColumnsOut) {
        columns.u64("sampled_ns", rows, |event| event.at_ns);
        columns.bool("in_user_mode", rows, |event| event.in_user_mode);
        columns.optional_u32("stack", rows, |event| event.stack);
        write_cpu(columns, rows, |event| &event.cpu);
    }
}

impl Table for StealEvent {
    const TABLE: &'static str = "steal";

    fn read(columns: &ColumnsIn<'_>) -> Result<Vec<Self>, RecordError> {
        let at_ns = columns.u64("at_ns")?;
        let cpu = columns.u32("cpu")?;
        let steal_ns = columns.u64("steal_ns")?;
        let row = |index: usize| StealEvent { at_ns: at_ns[index], cpu: cpu[index], steal_ns: steal_ns[index] };
        Ok((0..at_ns.len()).map(row).collect())
    }
}

impl Row for StealEvent {
    fn write(rows: &[Self], columns: &mut ColumnsOut) {
        columns.u64("at_ns", rows, |event| event.at_ns);
        columns.u32("cpu", rows, |event| event.cpu);
        columns.u64("steal_ns", rows, |event| event.steal_ns);
    }
}

impl Table for PayloadEvent {
    const TABLE: &'static str = "payload";

    fn read(columns: &ColumnsIn<'_>) -> Result<Vec<Self>, RecordError> {
        let at_ns = columns.u64("at_ns")?;
        let tid = columns.u32("tid")?;
        let tgid = columns.u32("tgid")?;
        let ops = columns.coded("op_code", op)?;
        let fd = columns.i32("fd")?;
        let files = read_files(columns)?;
        let write_bytes = columns.u64("write_bytes")?;
        let sampled_bytes = columns.u32("sampled_bytes")?;
        let zero_bytes = columns.u32("zero_bytes")?;
        let compressed_bytes = columns.u32("compressed_bytes")?;
        let content = columns.optional_u32("content")?;
        let kept_offset = columns.optional_u64("kept_offset")?;
        let row = |index: usize| Self {
            at_ns: at_ns[index],
            tid: tid[index],
            tgid: tgid[index],
            op: ops[index],
            fd: fd[index],
            file: files[index],
            write_bytes: write_bytes[index],
            sampled_bytes: sampled_bytes[index],
            zero_bytes: zero_bytes[index],
            compressed_bytes: compressed_bytes[index],
            content: content[index],
            kept_offset: kept_offset[index],
        };
        Ok((0..at_ns.len()).map(row).collect())
    }
}

impl Row for PayloadEvent {
    fn write(rows: &[Self], columns: &mut ColumnsOut) {
        columns.u64("at_ns", rows, |event| event.at_ns);
        columns.u32("tid", rows, |event| event.tid);
        columns.u32("tgid", rows, |event| event.tgid);
        columns.u32("op_code", rows, |event| op_code(event.op));
        columns.i32("fd", rows, |event| event.fd);
        write_file(columns, rows, |event| event.file);
        columns.u64("write_bytes", rows, |event| event.write_bytes);
        columns.u32("sampled_bytes", rows, |event| event.sampled_bytes);
        columns.u32("zero_bytes", rows, |event| event.zero_bytes);
        columns.u32("compressed_bytes", rows, |event| event.compressed_bytes);
        columns.optional_u32("content", rows, |event| event.content);
        columns.optional_u64("kept_offset", rows, |event| event.kept_offset);
    }
}

impl Row for CacheEvent {
    fn write(rows: &[Self], columns: &mut ColumnsOut) {
        columns.u64("at_ns", rows, |event| event.at_ns);
        columns.u32("file_s_dev", rows, |event| event.file.s_dev);
        columns.u64("file_ino", rows, |event| event.file.ino);
        columns.u64("offset", rows, |event| event.offset);
        columns.u64("bytes", rows, |event| event.bytes);
        columns.u32("tgid", rows, |event| event.tgid);
        columns.bool("in_tree", rows, |event| event.in_tree);
    }
}
