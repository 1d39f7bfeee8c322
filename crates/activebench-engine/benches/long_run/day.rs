//! A run of 24 hours that nobody waited for: its records pass through the recorder's own store and writer at a virtual
//! clock, and the run directory is judged as any other.
//!
//! fio reads 16 MiB, and then for a day. The second job makes a million calls per virtual second until the log is cut,
//! and the calls of the rest of the day in equal steps: past the cut each record is added to sums, whatever its time, so
//! that some millions show what 86,400 million do.

use std::collections::HashSet;
use std::path::Path;

use activebench_engine::judge::{self, Timelines};
use activebench_model::call::{Call, DeviceNumber, Op};
use activebench_model::command::CommandLine;
use activebench_model::coverage::{Backend, Coverage, ProbeStatus, RecordAccount};
use activebench_model::event::{KernelClass, RecordClass, StealEvent};
use activebench_model::hook::Hook;
use activebench_model::host::{Layer, Target, Tier};
use activebench_model::log::Totals;
use activebench_model::report::JudgedRun;
use activebench_model::run::{Choices, ExecutedTools, FORMAT, Manifest};
use activebench_model::source::EventSource;
use activebench_probe::generated::Generated;
use activebench_probe::{LogOptions, Observation, Spool};
use activebench_probe_abi::{
    BatchHeader, BlockRecord, CacheRecord, CallRecord, CpuRecord, NameRecord, Record, TaskRecord, bytes_of,
    bytes_of_all,
};
use activebench_record::{RunReader, RunWriter, TOTALS};

const DISK: DeviceNumber = DeviceNumber(7 << 20);
const BLOCK: u64 = 4096;
/// Calls of the short job.
const SHORT_CALLS: u64 = (16 << 20) / BLOCK;
/// The file of the long job is read again and again.
const LONG_BLOCKS: u64 = (4 << 30) / BLOCK;
/// fio's process, and those of its jobs.
const FIO: u32 = 100;
const SHORT: u32 = 101;
const LONG: u32 = 102;
const FD: i32 = 3;
/// Calls of a message, and calls per record of each other class.
const BATCH: u64 = 64;
const STARTED_NS: u64 = 1_000_000_000;
/// Time from one call to the next before the cut.
const STEP_NS: u64 = 1_000;
const DAY_NS: u64 = 24 * 3600 * 1_000_000_000;

/// A recorded day.
pub(crate) struct Day {
    /// Read calls of both jobs.
    pub(crate) calls: u64,
    /// Read calls of the long job before the cut; a few of them are in the sums.
    pub(crate) before_cut: u64,
    /// Time from the start to the first call that is only counted.
    pub(crate) cut_after_ns: u64,
    /// Bytes of the log as it was packed.
    pub(crate) packed_bytes: u64,
    /// Bytes of the run directory.
    pub(crate) directory_bytes: u64,
}

/// Records a day whose log ends at a limit, with this many calls after the cut.
pub(crate) fn record(directory: &Path, limit_bytes: u64, calls_after_cut: u64) -> Day {
    let mut writer = RunWriter::create(directory).expect("a new directory");
    // The directory is on a device of its own, so that the log is spooled.
    let spool = Spool::inside(directory, HashSet::from([DISK.0])).expect("a file");
    let mut messages = Messages::new(LogOptions { limit_bytes, memory_bytes: limit_bytes, spool: Ok(spool) });
    let (calls, before_cut, ended_ns) = messages.day(calls_after_cut);
    let observation = messages.finish();
    let written = writer.append_all(&observation, &mut |_| true);
    assert!(written.is_empty(), "{written:?}");
    let totals = observation.totals().expect("totals");
    writer.write_json(TOTALS, &totals).expect("room");
    writer.append(&[STARTED_NS - 1, ended_ns + 1].map(|at_ns| StealEvent { at_ns, cpu: 0, steal_ns: 0 }));
    let output = output(calls - SHORT_CALLS);
    for (name, bytes) in [("stdout.txt", output.as_bytes()), ("stderr.txt", b"")] {
        writer.write_file(name, bytes).expect("room");
    }
    writer.write_json("output-lines.json", &[(); 0]).expect("room");
    let log = observation.coverage.log.clone().expect("an account of the log");
    let cut = log.cut.expect("a cut log");
    assert_sums(&observation, &totals, calls);
    writer.finish(manifest(observation.coverage, ended_ns)).expect("room");
    Day {
        calls,
        before_cut,
        cut_after_ns: cut.at_ns - STARTED_NS,
        packed_bytes: log.packed_bytes,
        directory_bytes: bytes_in(directory),
    }
}

fn bytes_in(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry"));
    let bytes = entries.map(|entry| match entry.metadata().expect("metadata") {
        about if about.is_dir() => bytes_in(&entry.path()),
        about => about.len(),
    });
    bytes.sum()
}

/// Judges a recorded day.
pub(crate) fn judge(directory: &Path) -> JudgedRun {
    let reader = RunReader::open(directory).expect("a run directory");
    let manifest = reader.manifest().clone();
    judge::judge(directory, &reader, manifest, Timelines::Computed).expect("a run that can be judged")
}

/// Checks that no call is missing: each is a row or in the sums.
fn assert_sums(observation: &Observation, totals: &Totals, calls: u64) {
    let rows: usize = observation.calls().map(|batch| batch.expect("a chunk").iter().filter(is_read).count()).sum();
    let sums = totals.calls.iter().filter(|sum| sum.op == Op::Pread);
    let (mut added, mut bytes) = (0, 0);
    sums.for_each(|sum| (added, bytes) = (added + sum.calls, bytes + sum.returned));
    assert_eq!((rows as u64 + added, bytes), (calls, added * BLOCK));
}

fn is_read(call: &&Call) -> bool {
    call.op == Op::Pread
}

/// The messages of the rings.
struct Messages {
    taken: Generated,
    coverage: Coverage,
    buffer: Vec<u8>,
    calls: Vec<CallRecord>,
    /// The calls vary in length, as those of a kernel do: records that are all alike take no room in the log.
    random: u64,
}

impl Messages {
    fn new(options: LogOptions) -> Self {
        let attached = |hook: &Hook| ProbeStatus { hook: *hook, attached: true, why_not: None, missed: 0 };
        let coverage =
            Coverage { backend: Backend::Bpf, probes: Hook::ALL.iter().map(attached).collect(), ..Coverage::default() };
        Self {
            taken: Generated::new(options).expect("memory"),
            coverage,
            buffer: Vec::new(),
            calls: Vec::new(),
            random: 1,
        }
    }

    /// Makes the messages of the whole run. Returns the number of reads, that of the long job's reads before the cut, and
    /// the end of the run.
    fn day(&mut self, calls_after_cut: u64) -> (u64, u64, u64) {
        let mut now = STARTED_NS;
        self.task(now, 1, FIO, FIO, 1);
        self.task(now + 1_000, 2, FIO, FIO, 1);
        for (job, pid) in [(0, SHORT), (1, LONG)] {
            now += 1_000_000;
            self.task(now, 1, pid, pid, FIO);
            self.open(now + 10_000, pid, job);
            now += 1_000_000;
            if pid == SHORT {
                self.reads(pid, 0..SHORT_CALLS, now, STEP_NS);
                now += SHORT_CALLS * STEP_NS;
                self.call(CallRecord { op: Op::Close as u16, ..call(now, pid) });
                self.task(now + 1_000_000, 3, pid, pid, 0);
                now += 2_000_000;
            }
        }
        let mut before_cut = 0;
        while !self.taken.is_cut() {
            self.reads(LONG, before_cut..before_cut + BATCH, now, STEP_NS);
            now += BATCH * STEP_NS;
            before_cut += BATCH;
        }
        let last = before_cut + calls_after_cut;
        let ended_ns = STARTED_NS + DAY_NS;
        self.reads(LONG, before_cut..last, now, (ended_ns - now) / calls_after_cut);
        self.call(CallRecord { op: Op::Close as u16, ..call(ended_ns, LONG) });
        self.task(ended_ns + 1_000_000, 3, LONG, LONG, 0);
        self.task(ended_ns + 2_000_000, 3, FIO, FIO, 0);
        (SHORT_CALLS + last, before_cut, ended_ns + 3_000_000)
    }

    fn finish(self) -> Observation {
        self.taken.finish(self.coverage).expect("memory")
    }

    /// Makes reads, and with each batch of them a request, an insertion into the page cache, and the thread's totals.
    fn reads(&mut self, pid: u32, numbers: std::ops::Range<u64>, mut at_ns: u64, step_ns: u64) {
        let mut first = numbers.start;
        while first < numbers.end {
            let last = (first + BATCH).min(numbers.end);
            self.calls.clear();
            for number in first..last {
                at_ns += step_ns;
                let offset = (number % LONG_BLOCKS * BLOCK) as i64;
                let end_ns = at_ns - self.jitter_ns();
                let (start_ns, cpu_ns) = (end_ns - STEP_NS / 2, STEP_NS / 4 + self.jitter_ns());
                let moved = CallRecord { offset, requested: BLOCK, returned: BLOCK as i64, ..call(at_ns, pid) };
                self.calls.push(CallRecord { op: Op::Pread as u16, start_ns, end_ns, cpu_ns, ..moved });
            }
            let calls = std::mem::take(&mut self.calls);
            self.batch(KernelClass::Calls, &calls);
            self.calls = calls;
            let bytes = (last - first) * BLOCK;
            self.batch(KernelClass::BlockCompleted, &[block(at_ns, first, bytes, pid)]);
            let pages = (bytes / 4096) as u32;
            let index = first % LONG_BLOCKS;
            let ino = file_of(pid);
            self.batch(
                KernelClass::PageCache,
                &[CacheRecord { at_ns, ino, index, s_dev: DISK.0, pages, tgid: pid, in_tree: 1 }],
            );
            self.batch(KernelClass::Cpu, &[cpu(at_ns, pid)]);
            first = last;
        }
    }

    /// Returns a part of the time between two calls, up to a quarter of it.
    fn jitter_ns(&mut self) -> u64 {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.random >> 33) % (STEP_NS / 4)
    }

    fn call(&mut self, call: CallRecord) {
        self.batch(KernelClass::Calls, &[call]);
    }

    fn open(&mut self, at_ns: u64, pid: u32, job: u32) {
        let opened = CallRecord { fd: -1, returned: i64::from(FD), offset: -1, ..call(at_ns, pid) };
        self.call(CallRecord { op: Op::Open as u16, ..opened });
        let mut name: NameRecord = zeroed();
        name.header = header(KernelClass::Names, 1);
        (name.at_ns, name.ino, name.s_dev, name.returned) = (at_ns, file_of(pid), DISK.0, i64::from(FD));
        (name.tid, name.tgid, name.op, name.file_kind) = (pid, pid, Op::Open as u16, 1);
        fill(&mut name.name, &format!("/mnt/{}.{job}.0", if pid == SHORT { "short" } else { "long" }));
        self.alone(KernelClass::Names, &name);
    }

    fn task(&mut self, at_ns: u64, kind: u32, tid: u32, tgid: u32, parent_tgid: u32) {
        let mut task: TaskRecord = zeroed();
        task.header = header(KernelClass::Tasks, 1);
        (task.at_ns, task.kind, task.tid, task.tgid, task.parent_tgid) = (at_ns, kind, tid, tgid, parent_tgid);
        fill(&mut task.comm, "fio");
        fill(&mut task.filename, "/usr/bin/fio");
        self.alone(KernelClass::Tasks, &task);
    }

    fn batch<R: Record>(&mut self, class: KernelClass, records: &[R]) {
        self.buffer.clear();
        self.buffer.extend_from_slice(bytes_of(&header(class, records.len() as u32)));
        self.buffer.extend_from_slice(bytes_of_all(records));
        self.send(class, records.len() as u64);
    }

    fn alone<R: Record>(&mut self, class: KernelClass, record: &R) {
        self.buffer.clear();
        self.buffer.extend_from_slice(bytes_of(record));
        self.send(class, 1);
    }

    fn send(&mut self, class: KernelClass, records: u64) {
        self.coverage.records.entry(class.class()).or_default().made += records;
        self.taken.take(&self.buffer);
    }
}

fn zeroed<R: Record>() -> R {
    // SAFETY: all zeroes is a value of every `Record`.
    unsafe { std::mem::zeroed() }
}

fn header(class: KernelClass, count: u32) -> BatchHeader {
    BatchHeader { record_class: class as u32, count }
}

fn fill(text: &mut [u8], with: &str) {
    text[..with.len()].copy_from_slice(with.as_bytes());
}

fn file_of(pid: u32) -> u64 {
    u64::from(pid)
}

fn call(at_ns: u64, pid: u32) -> CallRecord {
    CallRecord {
        start_ns: at_ns - STEP_NS / 2,
        end_ns: at_ns,
        ino: file_of(pid),
        s_dev: DISK.0,
        tid: pid,
        tgid: pid,
        fd: FD,
        offset: -1,
        cpu_ns: 400,
        user_before_ns: 200,
        file_kind: 1,
        stands_for: 1,
        ..zeroed()
    }
}

fn block(at_ns: u64, number: u64, bytes: u64, pid: u32) -> BlockRecord {
    /// `BLOCK_FIRST_OF_REQUEST` and `BLOCK_OWNED` of `records.h`.
    const FLAGS: u8 = 4 | 8;
    BlockRecord {
        at_ns,
        sector: number % LONG_BLOCKS * 8,
        latency_ns: 300,
        ino: file_of(pid),
        s_dev: DISK.0,
        device: DISK.0,
        bytes: bytes as u32,
        tgid: pid,
        flags: FLAGS,
        origin: 1,
        ..zeroed()
    }
}

fn cpu(at_ns: u64, pid: u32) -> CpuRecord {
    let run_ns = at_ns - STARTED_NS;
    CpuRecord {
        at_ns,
        since_ns: at_ns,
        user_ns: run_ns / 2,
        kernel_ns: run_ns - run_ns / 2,
        tid: pid,
        tgid: pid,
        ..zeroed()
    }
}

const ARGUMENTS: &[&str] = &[
    "fio",
    "--output-format=json",
    "--name=short",
    "--directory=/mnt",
    "--rw=read",
    "--bs=4k",
    "--size=16m",
    "--name=long",
    "--stonewall",
    "--directory=/mnt",
    "--rw=read",
    "--bs=4k",
    "--size=4g",
    "--time_based",
    "--runtime=86400",
];

/// Returns the output of fio for a number of reads of the long job.
fn output(long_calls: u64) -> String {
    let way = |calls: u64, ms: u64| {
        let bytes = calls * BLOCK;
        let (rate, per_s) = (u128::from(bytes) * 1000 / u128::from(ms.max(1)), calls as f64 * 1e3 / ms.max(1) as f64);
        format!(
            "{{\"io_bytes\":{bytes},\"io_kbytes\":{},\"bw_bytes\":{rate},\"bw\":{},\"iops\":{per_s},\"runtime\":{ms},\
             \"total_ios\":{calls},\"short_ios\":0,\"drop_ios\":0,\"lat_ns\":{{\"min\":1,\"max\":1000,\"mean\":500.0,\
             \"stddev\":0.0,\"N\":{calls}}}}}",
            bytes / 1024,
            rate / 1024,
        )
    };
    let job = |group: u32, name: &str, calls: u64, ms: u64| {
        format!(
            "{{\"jobname\":\"{name}\",\"groupid\":{group},\"error\":0,\"eta\":0,\"elapsed\":1,\"job options\":{{\
             \"name\":\"{name}\",\"rw\":\"read\",\"bs\":\"4k\"}},\"read\":{},\"write\":{},\"trim\":{},\
             \"job_runtime\":{ms}}}",
            way(calls, ms),
            way(0, 0),
            way(0, 0),
        )
    };
    format!(
        "{{\"fio version\":\"fio-3.33\",\"timestamp\":1795229275,\"timestamp_ms\":1795229275644,\
         \"time\":\"Sat Nov 21 02:47:55 2026\",\"jobs\":[{},{}]}}\n",
        job(0, "short", SHORT_CALLS, SHORT_CALLS * STEP_NS / 1_000_000),
        job(1, "long", long_calls, DAY_NS / 1_000_000),
    )
}

fn manifest(mut coverage: Coverage, ended_ns: u64) -> Manifest {
    coverage.records.insert(RecordClass::Steal, RecordAccount { made: 2, received: 2, ..RecordAccount::default() });
    let argv = ARGUMENTS.iter().map(|word| (*word).to_owned()).collect();
    let command = CommandLine { argv, ..CommandLine::default() };
    let disk = Layer { name: "disk".to_owned(), device: DISK, kind: "scsi".to_owned(), ..Layer::default() };
    let mut manifest = Manifest {
        format: FORMAT,
        activebench: String::new(),
        command: command.clone(),
        added_arguments: Vec::new(),
        tool_command: Some(command),
        executed_tools: Some(ExecutedTools { measuring: vec!["fio".to_owned()], tool: Some("fio".to_owned()) }),
        measurements: Vec::new(),
        choices: Choices::default(),
        child: Default::default(),
        clocks: Default::default(),
        host: Default::default(),
        coverage,
        incomplete: Vec::new(),
        ceilings: None,
        preparation: None,
        watch: None,
        redacted: None,
        sha256: Default::default(),
    };
    manifest.choices.profile = "default".to_owned();
    manifest.child.exit_code = Some(0);
    (manifest.clocks.started_ns, manifest.clocks.ended_ns) = (STARTED_NS, ended_ns);
    manifest.host.targets.push(Target {
        s_dev: DISK,
        mount_point: "/mnt".to_owned(),
        fs_type: "ext4".to_owned(),
        options: String::new(),
        layers: vec![disk],
        tier: Tier::Block,
    });
    manifest
}
