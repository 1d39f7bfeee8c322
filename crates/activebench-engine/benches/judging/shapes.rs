//! The shapes: generators of runs in which one dimension grows.

use activebench_engine::most_judged::MOST_PHASES;
use activebench_model::call::{Call, DeviceNumber, FileId, FileKind, Op, open_bits};
use activebench_model::command::CommandLine;
use activebench_model::coverage::{Backend, ProbeStatus, RecordAccount};
use activebench_model::event::{
    BlockAction, BlockEvent, BlockEventKind, CpuEvent, NameEvent, Origin, RecordClass, TaskEvent, TaskEventKind,
    ThreadState, ThreadTimes,
};
use activebench_model::hook::Hook;
use activebench_model::host::{Layer, Target, Tier};
use activebench_model::output::ToolOutput;
use activebench_model::run::{ExecutedTools, FORMAT, Manifest};
use activebench_model::source::{Batches, EventSource};

/// The tool's process.
const TOOL: u32 = 100;
const DISK: DeviceNumber = DeviceNumber(7 << 20);
const BLOCK: u64 = 4096;
/// The tool is executed at this time.
const EXECUTED_NS: u64 = 1_000;
/// Calls begin at this time.
const FIRST_NS: u64 = 10_000;
/// Time from one call to the next.
const STEP_NS: u64 = 2_000;
const BATCH: u64 = 1 << 16;

/// A shape of a run.
pub(crate) struct Shape {
    pub(crate) name: &'static str,
    /// Calls of one unit, about.
    pub(crate) calls_per_unit: u64,
    /// Most units; `u64::MAX` where a run may have any number of them.
    pub(crate) most_units: u64,
    /// Makes the run of this many units.
    pub(crate) make: fn(u64) -> Made,
}

impl Shape {
    const fn new(name: &'static str, calls_per_unit: u64, make: fn(u64) -> Made) -> Self {
        Self { name, calls_per_unit, most_units: u64::MAX, make }
    }

    const fn up_to(self, most_units: u64) -> Self {
        Self { most_units, ..self }
    }
}

/// Every shape.
pub(crate) const SHAPES: &[Shape] = &[
    Shape::new("reads", 1, reads),
    Shape::new("overwrites", 1, overwrites),
    Shape::new("reopens", 3, reopens),
    Shape::new("files", 3, files),
    Shape::new("files-beside-a-list", 4, files_beside_a_list),
    Shape::new("fsyncs", 2, fsyncs),
    Shape::new("syncs-between-reopens", 4, syncs_between_reopens),
    Shape::new("threads", 100, threads),
    Shape::new("processes", 3, processes),
    Shape::new("processes-that-create", 3, processes_that_create),
    Shape::new("descriptors", 2, descriptors),
    Shape::new("dups", 3, dups),
    Shape::new("mappings", 2, mappings),
    Shape::new("mappings-unmapped", 2, mappings_unmapped),
    Shape::new("alternating", 2, alternating),
    Shape::new("create-delete", 4, create_delete),
    Shape::new("executions", 1, executions),
    Shape::new("uring", 2, uring),
    Shape::new("device-requests", 1, device_requests),
    Shape::new("iozone-rows", 12, iozone_rows).up_to(MOST_PHASES as u64 / 4),
    Shape::new("fio-jobs", 4, fio_jobs).up_to(MOST_PHASES as u64),
    Shape::new("fio-threads", 4, fio_threads).up_to(MOST_PHASES as u64),
    Shape::new("fio-files", 4, fio_files),
    Shape::new("postmark", 6, postmark),
];

/// A number of values, each made when it is read.
struct Generated<T> {
    count: u64,
    at: Box<dyn Fn(u64) -> T>,
}

impl<T> Default for Generated<T> {
    fn default() -> Self {
        Self { count: 0, at: Box::new(|_| unreachable!("there are none")) }
    }
}

impl<T: 'static> Generated<T> {
    fn new(count: u64, at: impl Fn(u64) -> T + 'static) -> Self {
        Self { count, at: Box::new(at) }
    }

    fn batches(&self) -> Batches<'_, T> {
        let range = |batch: u64| batch * BATCH..((batch + 1) * BATCH).min(self.count);
        Box::new((0..self.count.div_ceil(BATCH)).map(move |batch| Ok(range(batch).map(|at| (self.at)(at)).collect())))
    }
}

/// The events of a run.
#[derive(Default)]
pub(crate) struct MadeEvents {
    calls: Generated<Call>,
    names: Generated<NameEvent>,
    tasks: Generated<TaskEvent>,
    block: Generated<BlockEvent>,
    cpu: Generated<CpuEvent>,
}

impl MadeEvents {
    /// Returns the number of calls and block events.
    pub(crate) fn len(&self) -> u64 {
        self.calls.count + self.block.count
    }
}

impl EventSource for MadeEvents {
    fn calls(&self) -> Batches<'_, Call> {
        self.calls.batches()
    }

    fn names(&self) -> Batches<'_, NameEvent> {
        self.names.batches()
    }

    fn tasks(&self) -> Batches<'_, TaskEvent> {
        self.tasks.batches()
    }

    fn block(&self) -> Batches<'_, BlockEvent> {
        self.block.batches()
    }

    fn cpu(&self) -> Batches<'_, CpuEvent> {
        self.cpu.batches()
    }
}

/// A run that was never recorded.
pub(crate) struct Made {
    pub(crate) events: MadeEvents,
    pub(crate) output: ToolOutput,
    /// The tool's adapter and its command line; empty for a tool that no adapter knows.
    argv: Vec<String>,
    /// The devices from that of the file system down, beside [`DISK`].
    below: &'static [DeviceNumber],
}

impl Made {
    fn of_unknown_tool(events: MadeEvents) -> Self {
        Self { events, output: ToolOutput::default(), argv: Vec::new(), below: &[] }
    }

    /// Returns the manifest of a whole observation.
    pub(crate) fn manifest(&self) -> Manifest {
        let command = CommandLine { argv: self.argv.clone(), ..CommandLine::default() };
        let tool = self.argv.first().cloned();
        let mut manifest = Manifest {
            format: FORMAT,
            activebench: String::new(),
            command: command.clone(),
            added_arguments: Vec::new(),
            tool_command: Some(command),
            executed_tools: Some(ExecutedTools { measuring: tool.iter().cloned().collect(), tool }),
            measurements: Vec::new(),
            choices: Default::default(),
            child: Default::default(),
            clocks: Default::default(),
            host: Default::default(),
            coverage: Default::default(),
            incomplete: Vec::new(),
            ceilings: None,
            preparation: None,
            watch: None,
            redacted: None,
            sha256: Default::default(),
        };
        manifest.choices.profile = "default".to_owned();
        manifest.child.exit_code = Some(0);
        manifest.clocks.started_ns = 1;
        manifest.clocks.ended_ns = at(self.events.len() + 10);
        let coverage = &mut manifest.coverage;
        coverage.backend = Backend::Bpf;
        let attached = |hook: &Hook| ProbeStatus { hook: *hook, attached: true, why_not: None, missed: 0 };
        coverage.probes = Hook::ALL.iter().map(attached).collect();
        let whole = RecordAccount { made: 10, received: 10, lost: 0, ..RecordAccount::default() };
        for class in activebench_model::event::KernelClass::ALL {
            coverage.records.insert(class.class(), whole);
        }
        coverage.records.insert(RecordClass::Steal, whole);
        let layer =
            |name: &str, device| Layer { name: name.to_owned(), device, kind: "scsi".to_owned(), ..Layer::default() };
        let layers = [layer("disk", DISK)].into_iter();
        let layers = layers.chain(self.below.iter().map(|device| layer("below", *device))).collect();
        manifest.host.targets.push(Target {
            s_dev: DISK,
            mount_point: "/mnt".to_owned(),
            fs_type: "ext4".to_owned(),
            options: String::new(),
            layers,
            tier: Tier::Block,
        });
        manifest
    }
}

/// Returns the start of a call.
fn at(number: u64) -> u64 {
    FIRST_NS + number * STEP_NS
}

fn file(number: u64) -> FileId {
    FileId { s_dev: DISK.0, ino: 1_000 + number }
}

fn call(number: u64, op: Op, fd: i32) -> Call {
    Call {
        start_ns: at(number),
        end_ns: at(number) + STEP_NS / 2,
        tid: TOOL,
        tgid: TOOL,
        op,
        fd,
        file: Some(file(0)),
        kind: FileKind::Regular,
        open_flags: open_bits::WRITABLE,
        offset: -1,
        requested: 0,
        returned: 0,
        storage_read_bytes: 0,
        cached_bytes: 0,
        cpu_ns: 500,
        user_before_ns: 150,
        stands_for: 1,
    }
}

fn data(number: u64, op: Op, fd: i32, block: u64) -> Call {
    Call { offset: (block * BLOCK) as i64, requested: BLOCK, returned: BLOCK as i64, ..call(number, op, fd) }
}

fn open(number: u64, fd: i32) -> Call {
    Call { returned: i64::from(fd), ..call(number, Op::Open, -1) }
}

fn name_of(call: &Call, name: String) -> NameEvent {
    let file = (call.op == Op::Open).then_some(call.file).flatten();
    let Call { end_ns, tid, tgid, op, returned, .. } = *call;
    NameEvent { at_ns: end_ns, tid, tgid, op, returned, file, name }
}

fn task(at_ns: u64, kind: TaskEventKind, (tid, tgid, parent_tgid): (u32, u32, u32), filename: &str) -> TaskEvent {
    TaskEvent {
        at_ns,
        kind,
        tid,
        tgid,
        parent_tgid,
        exit_status: 0,
        comm: "tool".to_owned(),
        filename: filename.to_owned(),
        user_ns: 100,
        kernel_ns: 100,
        blocked_ns: 100,
        iowait_ns: 50,
        preempted_ns: 10,
    }
}

/// The births and ends of more tasks than the tool's first.
fn tasks(
    filename: &'static str,
    more: u64,
    of: impl Fn(u64) -> (u32, u32, u64, u64) + 'static,
) -> Generated<TaskEvent> {
    Generated::new(2 + 2 * more, move |number| match number {
        0 => task(0, TaskEventKind::Born, (TOOL, TOOL, 1), ""),
        1 => task(EXECUTED_NS, TaskEventKind::Executed, (TOOL, TOOL, 0), filename),
        _ => {
            let (tid, tgid, start_ns, end_ns) = of((number - 2) / 2);
            match number % 2 {
                0 => task(start_ns, TaskEventKind::Born, (tid, tgid, TOOL), ""),
                _ => task(end_ns, TaskEventKind::Exited, (tid, tgid, 0), ""),
            }
        }
    })
}

fn the_tool() -> Generated<TaskEvent> {
    tasks("/usr/bin/tool", 0, |_| (0, 0, 0, 0))
}

fn one_process(calls: u64, of: impl Fn(u64) -> Call + 'static) -> Made {
    let calls = Generated::new(calls, of);
    Made::of_unknown_tool(MadeEvents { calls, tasks: the_tool(), ..MadeEvents::default() })
}

fn reads(units: u64) -> Made {
    one_process(units + 1, |number| match number {
        0 => open(0, 3),
        _ => data(number, Op::Pread, 3, number.wrapping_mul(1_664_525) % (1 << 20)),
    })
}

/// Writes of one block.
fn overwrites(units: u64) -> Made {
    one_process(units + 1, |number| match number {
        0 => open(0, 3),
        _ => data(number, Op::Pwrite, 3, 0),
    })
}

/// One file, opened for each of its writes.
fn reopens(units: u64) -> Made {
    one_process(3 * units, |number| match number % 3 {
        0 => open(number, 3),
        1 => data(number, Op::Pwrite, 3, number / 3),
        _ => call(number, Op::Close, 3),
    })
}

/// A file for each write.
fn files(units: u64) -> Made {
    let of = |number: u64| {
        let call = match number % 3 {
            0 => open(number, 3),
            1 => data(number, Op::Pwrite, 3, 0),
            _ => call(number, Op::Close, 3),
        };
        Call { file: Some(file(number / 3)), ..call }
    };
    let mut made = one_process(3 * units, of);
    made.events.names = Generated::new(units, move |unit| name_of(&of(3 * unit), format!("/mnt/file{unit}")));
    made
}

/// A file for each write, and a read of a list of them before each: one pass lasts as long as all others.
fn files_beside_a_list(units: u64) -> Made {
    let of = |number: u64| {
        let call = match number % 4 {
            _ if number == 0 => open(0, 4),
            0 => data(number, Op::Read, 4, number / 4),
            1 => open(number, 3),
            2 => data(number, Op::Pwrite, 3, 0),
            _ => call(number, Op::Close, 3),
        };
        let which = if number.is_multiple_of(4) { 0 } else { number / 4 + 1 };
        Call { file: Some(file(which)), ..call }
    };
    let mut made = one_process(4 * units, of);
    made.events.names = Generated::new(units, move |unit| name_of(&of(4 * unit + 1), format!("/mnt/file{unit}")));
    made
}

/// A sync after each write.
fn fsyncs(units: u64) -> Made {
    one_process(2 * units + 1, |number| match number {
        0 => open(0, 3),
        _ if number % 2 == 1 => data(number, Op::Pwrite, 3, number / 2),
        _ => call(number, Op::Fsync, 3),
    })
}

/// One file, opened for each of its writes, and a sync of all file systems after each.
fn syncs_between_reopens(units: u64) -> Made {
    one_process(4 * units, |number| match number % 4 {
        0 => open(number, 3),
        1 => data(number, Op::Pwrite, 3, number / 4),
        2 => call(number, Op::Close, 3),
        _ => Call { file: None, kind: FileKind::Other, ..call(number, Op::Sync, -1) },
    })
}

/// Threads that write one file through one descriptor, in turns.
fn threads(units: u64) -> Made {
    let calls = Generated::new(100 * units + 1, move |number| match number {
        0 => open(0, 3),
        _ => Call { tid: TOOL + 1 + (number % units) as u32, ..data(number, Op::Pwrite, 3, number) },
    });
    let tid = |unit: u64| TOOL + 1 + unit as u32;
    let end_ns = at(100 * units + 2);
    let tasks = tasks("/usr/bin/tool", units, move |unit| (tid(unit), TOOL, FIRST_NS - 1, end_ns));
    let cpu = Generated::new(units, move |unit| CpuEvent {
        at_ns: at(50 * units + unit),
        since_ns: FIRST_NS,
        state: ThreadState::Kernel,
        tid: tid(unit),
        tgid: TOOL,
        times: ThreadTimes { kernel_ns: 50 * units, ..ThreadTimes::default() },
    });
    Made::of_unknown_tool(MadeEvents { calls, tasks, cpu, ..MadeEvents::default() })
}

/// The calls of processes that end behind their calls, each with a number of calls of `of`.
fn of_processes(units: u64, calls_of_unit: u64, of: impl Fn(u64) -> Call + 'static) -> MadeEvents {
    let tid = |unit: u64| TOOL + 1 + unit as u32;
    let calls = Generated::new(calls_of_unit * units, move |number| {
        let tid = tid(number / calls_of_unit);
        Call { tid, tgid: tid, ..of(number) }
    });
    let tasks = tasks("/usr/bin/tool", units, move |unit| {
        let (first, last) = (calls_of_unit * unit, calls_of_unit * (unit + 1) - 1);
        (tid(unit), tid(unit), at(first) - 100, at(last) + STEP_NS * 3 / 4)
    });
    MadeEvents { calls, tasks, ..MadeEvents::default() }
}

/// A process for each read.
fn processes(units: u64) -> Made {
    Made::of_unknown_tool(of_processes(units, 3, |number| match number % 3 {
        0 => open(number, 3),
        1 => data(number, Op::Pread, 3, number / 3),
        _ => call(number, Op::Close, 3),
    }))
}

/// A process for each file that is created, and their rate.
fn processes_that_create(units: u64) -> Made {
    let of = |number: u64| {
        let call = match number % 3 {
            0 => Call { open_flags: open_bits::WRITABLE | open_bits::CREATE, ..open(number, 3) },
            1 => data(number, Op::Pwrite, 3, 0),
            _ => call(number, Op::Close, 3),
        };
        Call { file: Some(file(number / 3)), ..call }
    };
    let mut events = of_processes(units, 3, of);
    events.names = Generated::new(units, move |unit| {
        let name = name_of(&of(3 * unit), format!("/mnt/file{unit}"));
        NameEvent { tid: TOOL + 1 + unit as u32, tgid: TOOL + 1 + unit as u32, ..name }
    });
    let mut made = Made::of_unknown_tool(events);
    // The pass over names has a span of each process.
    let rate = 1e9 / (3 * STEP_NS) as f64;
    made.output.stdout = format!("created {rate:.1} files/s\n").into_bytes();
    made
}

/// One file through as many descriptors as there are reads, all open at the end.
fn descriptors(units: u64) -> Made {
    one_process(2 * units, |number| {
        let fd = 3 + (number / 2) as i32;
        if number % 2 == 0 { open(number, fd) } else { data(number, Op::Pwrite, fd, number / 2) }
    })
}

/// A descriptor that is duplicated for each write.
fn dups(units: u64) -> Made {
    one_process(3 * units + 1, |number| match number {
        0 => open(0, 3),
        _ => match number % 3 {
            1 => Call { returned: 4, ..call(number, Op::Dup, 3) },
            2 => data(number, Op::Pwrite, 4, number / 3),
            _ => call(number, Op::Close, 4),
        },
    })
}

fn address(unit: u64) -> u64 {
    (1 << 40) + unit * BLOCK
}

fn mmap(number: u64, unit: u64) -> Call {
    let mapped = Call { requested: BLOCK, returned: address(unit) as i64, ..call(number, Op::Mmap, 3) };
    Call { offset: (unit * BLOCK) as i64, ..mapped }
}

/// Mappings of one file, then a sync of each.
fn mappings(units: u64) -> Made {
    one_process(2 * units + 2, move |number| match number {
        0 => open(0, 3),
        1 => data(1, Op::Pwrite, 3, 0),
        _ if number < units + 2 => mmap(number, number - 2),
        _ => {
            let unit = number - 2 - units;
            let synced = Call { file: None, kind: FileKind::Other, ..call(number, Op::Msync, -1) };
            Call { offset: address(unit) as i64, requested: BLOCK, ..synced }
        }
    })
}

/// Mappings of one file that are all removed at the end, the first one first.
fn mappings_unmapped(units: u64) -> Made {
    one_process(2 * units + 2, move |number| match number {
        0 => open(0, 3),
        1 => data(1, Op::Pwrite, 3, 0),
        _ if number < units + 2 => mmap(number, number - 2),
        _ => {
            let unit = number - 2 - units;
            let removed = Call { file: None, kind: FileKind::Other, ..call(number, Op::Munmap, -1) };
            Call { offset: address(unit) as i64, requested: BLOCK, ..removed }
        }
    })
}

/// Reads and writes of one descriptor in turns.
fn alternating(units: u64) -> Made {
    one_process(2 * units + 1, |number| match number {
        0 => open(0, 3),
        _ if number % 2 == 0 => data(number, Op::Pread, 3, number / 2),
        _ => data(number, Op::Pwrite, 3, number / 2),
    })
}

/// One name that is created and deleted again and again; half of the files get an inode number of before.
fn create_delete(units: u64) -> Made {
    let of = |number: u64| {
        let call = match number % 4 {
            0 => open(number, 3),
            1 => data(number, Op::Pwrite, 3, 0),
            2 => call(number, Op::Close, 3),
            _ => call(number, Op::Unlink, -1),
        };
        Call { file: Some(file(number / 8)), ..call }
    };
    let mut made = one_process(4 * units, of);
    made.events.names = Generated::new(2 * units, move |number| {
        let call = of(4 * (number / 2) + if number % 2 == 0 { 0 } else { 3 });
        name_of(&call, "/mnt/file".to_owned())
    });
    made
}

/// A process that executes program after program, with a read in each.
fn executions(units: u64) -> Made {
    let calls = Generated::new(units, |number| data(number, Op::Pwrite, 3, number));
    let tasks = Generated::new(units + 1, |number| match number {
        0 => task(0, TaskEventKind::Born, (TOOL, TOOL, 1), ""),
        _ => task(at(number - 1) - 500, TaskEventKind::Executed, (TOOL, TOOL, 0), "/usr/bin/tool"),
    });
    Made::of_unknown_tool(MadeEvents { calls, tasks, ..MadeEvents::default() })
}

/// Requests of io_uring of which half are in flight at once: then each further call submits one and collects one.
fn uring(units: u64) -> Made {
    let half = units / 2;
    one_process(2 * units + 1, move |number| {
        let submitted = |unit: u64| if unit < half { 1 + unit } else { 1 + half + unit };
        match number {
            0 => open(0, 3),
            _ if number <= half || number > 2 * half && number <= half + units => {
                let call = call(number, Op::IoUringEnter, 4);
                Call { requested: 1, returned: 1, file: None, kind: FileKind::Other, ..call }
            }
            _ => {
                let unit = if number <= 2 * half { number - 1 - half } else { number - 1 - units };
                let request = data(number, Op::UringWrite, 3, unit);
                Call { start_ns: at(submitted(unit)) + 10, ..request }
            }
        }
    })
}

/// A request of a block that ends behind a call.
fn request(call: u64, device: DeviceNumber, action: BlockAction, number: u64, file: FileId) -> BlockEvent {
    BlockEvent {
        at_ns: at(call) + 900,
        kind: BlockEventKind::Completed,
        device,
        sector: number * 8,
        bytes: BLOCK,
        action,
        preflush: false,
        fua: false,
        latency_ns: 700,
        first_of_request: true,
        file: Some(file),
        tgid: 0,
        comm: String::new(),
        origin: Origin::Tree,
        status: 0,
    }
}

/// Reads that pass the device, one request each.
fn device_requests(units: u64) -> Made {
    let mut made = reads(units);
    made.events.block = Generated::new(units, |number| request(number + 1, DISK, BlockAction::Read, number, file(0)));
    made
}

/// PostMark's files on a device over another one: two passes at once share them all, and none is synced.
fn postmark(units: u64) -> Made {
    const BELOW: DeviceNumber = DeviceNumber(8 << 20);
    let of = move |number: u64| {
        let call = match (number % 3, number / 3 < units) {
            (0, true) => Call { open_flags: open_bits::WRITABLE | open_bits::CREATE, ..open(number, 3) },
            (0, false) => Call { open_flags: 0, ..open(number, 3) },
            (1, true) => data(number, Op::Write, 3, 0),
            (1, false) => data(number, Op::Read, 3, 0),
            _ => call(number, Op::Close, 3),
        };
        Call { file: Some(file(number / 3 % units)), ..call }
    };
    let mut made = one_process(6 * units, of);
    made.events.tasks = tasks("/usr/bin/postmark", 0, |_| (0, 0, 0, 0));
    made.events.names = Generated::new(2 * units, move |pass| name_of(&of(3 * pass), format!("/mnt/{}", pass % units)));
    made.events.block = Generated::new(2 * units, move |number| {
        let device = if number % 2 == 0 { BELOW } else { DISK };
        request(3 * units + number / 2 * 3 + 1, device, BlockAction::Write, number / 2, file(number / 2))
    });
    made.below = &[BELOW];
    made.argv = ["postmark", "config.pm"].map(str::to_owned).to_vec();
    made.output.stdout = format!(
        "PostMark v1.51 : 8/14/01\nReading configuration from file 'config.pm'\nCreating files...Done\n\
         Performing transactions..........Done\nDeleting files...Done\nTime:\n\t27 seconds total\n\
         \t15 seconds of transactions (800 per second)\n\nFiles:\n\t{units} created (443 per second)\n\
         \t\tCreation alone: {units} files (857 per second)\n\t\tMixed with transactions: 10 files (398 per second)\n\
         \t{units} read (398 per second)\n\t10 appended (401 per second)\n\t{units} deleted (443 per second)\n\
         \t\tDeletion alone: {units} files (1192 per second)\n\t\tMixed with transactions: 10 files (401 per second)\n\n\
         Data:\n\t34.30 megabytes read (1.27 megabytes per second)\n\
         \t71.28 megabytes written (2.64 megabytes per second)\n"
    )
    .into_bytes();
    made
}

/// iozone's passes over its file, four a row of its table.
fn iozone_rows(units: u64) -> Made {
    let of = |number: u64| {
        let pass = number / 3;
        match (number % 3, pass % 4) {
            (0, _) => open(number, 3),
            (1, 0 | 1) => data(number, Op::Write, 3, 0),
            (1, _) => data(number, Op::Read, 3, 0),
            _ => call(number, Op::Close, 3),
        }
    };
    let mut made = one_process(12 * units, of);
    made.events.tasks = tasks("/usr/bin/iozone", 0, |_| (0, 0, 0, 0));
    made.events.names = Generated::new(1, move |_| name_of(&of(0), "iozone.tmp".to_owned()));
    made.argv = ["iozone", "-a", "-i", "0", "-i", "1"].map(str::to_owned).to_vec();
    let mut text = format!(
        "\tIozone: Performance Test of File I/O\n\t        Version $Revision: 3.489 $\n\n\tAuto Mode\n\
         \tCommand line used: {}\n\tOutput is in kBytes/sec\n\
         {:>62}{:>10}{:>8}{:>10}{:>9}\n\
         {:>16}{:>8}{:>9}{:>9}{:>8}{:>10}{:>8}{:>10}{:>8}{:>10}{:>10}{:>9}{:>9}{:>9}{:>9}\n",
        made.argv.join(" "),
        "random",
        "random",
        "bkwd",
        "record",
        "stride",
        "kB",
        "reclen",
        "write",
        "rewrite",
        "read",
        "reread",
        "read",
        "write",
        "read",
        "rewrite",
        "read",
        "fwrite",
        "frewrite",
        "fread",
        "freread",
    );
    for unit in 0..units {
        text.push_str(&format!(
            "{:>16}{:>8}{:>9}{:>9}{:>9}{:>9}\n",
            4 * (unit + 1),
            4,
            4_000_000,
            4_000_000,
            4_000_000,
            4_000_000
        ));
    }
    text.push_str("\niozone test complete.\n");
    made.output.stdout = text.into_bytes();
    made
}

/// The calls of fio's jobs: each opens a file of its own, writes a block and closes it.
fn fio(units: u64, is_thread: bool) -> Made {
    let tid = |unit: u64| TOOL + 1 + unit as u32;
    let of = move |number: u64| {
        let unit = number / 4;
        let call = match number % 4 {
            0 => open(number, 3 + if is_thread { unit as i32 } else { 0 }),
            1 | 2 => data(number, Op::Pwrite, 3 + if is_thread { unit as i32 } else { 0 }, number % 4 - 1),
            _ => call(number, Op::Close, 3 + if is_thread { unit as i32 } else { 0 }),
        };
        let tgid = if is_thread { TOOL } else { tid(unit) };
        Call { file: Some(file(unit)), tid: tid(unit), tgid, ..call }
    };
    let calls = Generated::new(4 * units, of);
    let names = Generated::new(units, move |unit| name_of(&of(4 * unit), format!("/mnt/w.{unit}.0")));
    let tasks = tasks("/usr/bin/fio", units, move |unit| {
        (tid(unit), if is_thread { TOOL } else { tid(unit) }, at(4 * unit) - 100, at(4 * unit + 3) + STEP_NS * 3 / 4)
    });
    let mut made = Made::of_unknown_tool(MadeEvents { calls, names, tasks, ..MadeEvents::default() });
    let mut argv = vec!["fio", "--name=w", "--directory=/mnt", "--rw=write", "--bs=4k", "--size=8k"];
    argv.extend(is_thread.then_some("--thread"));
    made.argv = argv.into_iter().map(str::to_owned).collect();
    made.argv.extend([format!("--numjobs={units}"), "--output-format=json".to_owned()]);
    let way = |bytes: u64| {
        format!(
            "{{\"io_bytes\":{bytes},\"io_kbytes\":{},\"bw_bytes\":{},\"bw\":{},\"iops\":{}.0,\"runtime\":1,\
             \"total_ios\":{},\"short_ios\":0,\"drop_ios\":0,\"lat_ns\":{{\"min\":1,\"max\":1000,\"mean\":1000.0,\
             \"stddev\":0.0,\"N\":{}}}}}",
            bytes / 1024,
            bytes * 1000,
            bytes * 1000 / 1024,
            bytes / BLOCK * 1000,
            bytes / BLOCK,
            bytes / BLOCK,
        )
    };
    let jobs: Vec<String> = (0..units)
        .map(|_| {
            format!(
                "{{\"jobname\":\"w\",\"groupid\":0,\"error\":0,\"eta\":0,\"elapsed\":1,\"job options\":{{\"name\":\"w\",\
                 \"rw\":\"write\",\"bs\":\"4k\",\"size\":\"8k\"}},\"read\":{},\"write\":{},\"trim\":{},\"job_runtime\":1}}",
                way(0), way(2 * BLOCK), way(0),
            )
        })
        .collect();
    let text = format!(
        "{{\"fio version\":\"fio-3.33\",\"timestamp\":1795229275,\"timestamp_ms\":1795229275644,\
         \"time\":\"Sat Nov 21 02:47:55 2026\",\"jobs\":[{}]}}\n",
        jobs.join(",")
    );
    made.output.stdout = text.into_bytes();
    made
}

fn fio_jobs(units: u64) -> Made {
    fio(units, false)
}

fn fio_threads(units: u64) -> Made {
    fio(units, true)
}

/// One job of fio over many files.
fn fio_files(units: u64) -> Made {
    let of = |number: u64| {
        let unit = number / 4;
        let call = match number % 4 {
            0 => open(number, 3),
            1 | 2 => data(number, Op::Pwrite, 3, number % 4 - 1),
            _ => call(number, Op::Close, 3),
        };
        Call { file: Some(file(unit)), tid: TOOL + 1, tgid: TOOL + 1, ..call }
    };
    let mut made = fio(1, false);
    made.events.calls = Generated::new(4 * units, of);
    made.events.names = Generated::new(units, move |unit| name_of(&of(4 * unit), format!("/mnt/w.0.{unit}")));
    let end_ns = at(4 * units);
    made.events.tasks = tasks("/usr/bin/fio", 1, move |_| (TOOL + 1, TOOL + 1, FIRST_NS - 100, end_ns));
    made.argv.retain(|word| !word.starts_with("--size"));
    made.argv.extend([format!("--nrfiles={units}"), format!("--size={}", units * 2 * BLOCK)]);
    made
}
