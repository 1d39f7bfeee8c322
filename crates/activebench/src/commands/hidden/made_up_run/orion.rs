//! The study of Orion 11.2.0.1 as a run: random reads of 8 KiB through libaio, 16 outstanding, whose
//! offsets come from a small set of blocks spread over a large file. The device delivered every byte.
//!
//! The study's command ran 25 data points (`-matrix row`); here all reads are one point of 16, at the study's 62,700
//! IOPS, so that one finding shows them all. Times follow from that rate and the depth (Little's law). The run itself
//! states that it is made up.

use std::collections::BTreeMap;
use std::path::Path;

use activebench_model::call::{Call, DeviceNumber, FileId, FileKind, Op, open_bits};
use activebench_model::command::CommandLine;
use activebench_model::coverage::{Backend, Coverage, ProbeStatus, RecordAccount};
use activebench_model::event::{
    BlockAction, BlockEvent, BlockEventKind, NameEvent, Origin, RecordClass, TaskEvent, TaskEventKind,
};
use activebench_model::hook::Hook;
use activebench_model::host::{Host, Layer, Target, Tier};
use activebench_model::run::{ChildEnd, Choices, Clocks, FORMAT, Manifest};
use activebench_record::RunWriter;
use activebench_tools::orion::{MadeUpOutput, PROGRAM, made_up_arguments};

use super::{BATCH, BLOCK_BYTES, SEED, random};

const TGID: u32 = 100;
const FD: i32 = 3;
const DEVICE: DeviceNumber = DeviceNumber(8 << 20);
const FILE: FileId = FileId { s_dev: DEVICE.0, ino: 12 };
const VOLUME: &str = "/domain0/group0/external/lun96g";
/// Requests outstanding at the study's best point.
const DEPTH: u64 = 16;
/// Reads per second at that point.
const STUDY_IOPS: u64 = 62_700;
/// `CLOCK_MONOTONIC` at the release of the child.
const STARTED_NS: u64 = 1_000_000_000;
/// Submission time of the first reads.
const FIRST_NS: u64 = STARTED_NS + 20_000_000;
const SECOND_NS: u64 = 1_000_000_000;

/// Timing of the reads.
struct Pace {
    reads: u64,
    /// Duration of the data point in whole seconds, as in the option.
    seconds: u64,
}

impl Pace {
    fn new(reads: u64) -> Self {
        Self { reads, seconds: reads.div_ceil(STUDY_IOPS).max(1) }
    }

    /// Returns the completion time of the read with this number: evenly spaced, the last one at the end of the
    /// duration.
    fn end_ns(&self, number: u64) -> u64 {
        let duration_ns = u128::from(self.seconds * SECOND_NS);
        FIRST_NS + (duration_ns * u128::from(number + 1) / u128::from(self.reads)) as u64
    }

    /// Returns its submission time: the completion of the read `DEPTH` numbers before it.
    fn start_ns(&self, number: u64) -> u64 {
        number.checked_sub(DEPTH).map_or(FIRST_NS, |before| self.end_ns(before))
    }
}

pub(super) fn write(directory: &Path, reads: u64, blocks: u64, set: u64) -> anyhow::Result<()> {
    let mut writer = RunWriter::create(directory)?;
    let pace = Pace::new(reads);
    writer.append(&[executed()]);
    writer.append(&[opened()]);
    writer.append(&[descriptor(Op::Open, FIRST_NS - 2000, -1, i64::from(FD))]);
    let (mut state, mut latency_ns) = (SEED, 0_u128);
    for first in (0..reads).step_by(BATCH as usize) {
        let mut calls = Vec::with_capacity(BATCH as usize);
        let mut requests = Vec::with_capacity(BATCH as usize);
        for number in first..reads.min(first + BATCH) {
            let member = random(&mut state, set);
            // Evenly from the first block to the last.
            let block = if set > 1 { member * (blocks - 1) / (set - 1) } else { 0 };
            let call = read(pace.start_ns(number), pace.end_ns(number), block * BLOCK_BYTES);
            latency_ns += u128::from(call.end_ns - call.start_ns);
            requests.push(completed(&call));
            calls.push(call);
        }
        writer.append(&calls);
        writer.append(&requests);
    }
    let end_ns = pace.end_ns(reads.max(1) - 1);
    writer.append(&[descriptor(Op::Close, end_ns + 1000, FD, 0)]);
    writer.append(&[exited(end_ns + 10_000)]);
    let mean_us = latency_ns as f64 / reads.max(1) as f64 / 1000.0;
    let output = MadeUpOutput {
        volume: VOLUME.to_owned(),
        volume_bytes: blocks * BLOCK_BYTES,
        depth: DEPTH,
        seconds: pace.seconds,
        iops: reads / pace.seconds,
        mean_us,
    };
    writer.write_file("stdout.txt", output.stdout().as_bytes())?;
    writer.write_file("stderr.txt", b"")?;
    writer.write_tool_files(&output.files())?;
    let written = writer.finish(manifest(&pace, end_ns + 20_000))?;
    anyhow::ensure!(written.incomplete.is_empty(), "{}", written.incomplete.join("; "));
    Ok(())
}

fn read(start_ns: u64, end_ns: u64, offset: u64) -> Call {
    Call {
        start_ns,
        end_ns,
        offset: offset as i64,
        requested: BLOCK_BYTES,
        storage_read_bytes: BLOCK_BYTES,
        ..descriptor(Op::AioRead, start_ns, FD, BLOCK_BYTES as i64)
    }
}

/// Returns a call on the volume's descriptor.
fn descriptor(op: Op, start_ns: u64, fd: i32, returned: i64) -> Call {
    Call {
        start_ns,
        end_ns: start_ns + 500,
        tid: TGID,
        tgid: TGID,
        op,
        fd,
        file: Some(FILE),
        kind: FileKind::Regular,
        open_flags: open_bits::DIRECT,
        offset: -1,
        requested: 0,
        returned,
        storage_read_bytes: 0,
        cached_bytes: 0,
        cpu_ns: 0,
        user_before_ns: 0,
        stands_for: 1,
    }
}

/// Returns the device's event for a read, just inside its time.
fn completed(call: &Call) -> BlockEvent {
    let at_ns = call.end_ns - 1000;
    BlockEvent {
        at_ns,
        kind: BlockEventKind::Completed,
        device: DEVICE,
        sector: call.offset as u64 / 512,
        bytes: BLOCK_BYTES,
        action: BlockAction::Read,
        preflush: false,
        fua: false,
        latency_ns: at_ns.saturating_sub(call.start_ns + 500),
        first_of_request: true,
        file: Some(FILE),
        tgid: TGID,
        comm: PROGRAM.name.to_owned(),
        origin: Origin::Tree,
        status: 0,
    }
}

fn task(kind: TaskEventKind, at_ns: u64) -> TaskEvent {
    TaskEvent {
        at_ns,
        kind,
        tid: TGID,
        tgid: TGID,
        parent_tgid: 0,
        exit_status: 0,
        comm: PROGRAM.name.to_owned(),
        filename: String::new(),
        user_ns: 0,
        kernel_ns: 0,
        blocked_ns: 0,
        iowait_ns: 0,
        preempted_ns: 0,
    }
}

fn executed() -> TaskEvent {
    TaskEvent { filename: format!("./{}", PROGRAM.name), ..task(TaskEventKind::Executed, STARTED_NS + 1000) }
}

fn exited(at_ns: u64) -> TaskEvent {
    task(TaskEventKind::Exited, at_ns)
}

fn opened() -> NameEvent {
    NameEvent {
        at_ns: FIRST_NS - 1500,
        tid: TGID,
        tgid: TGID,
        op: Op::Open,
        returned: i64::from(FD),
        file: Some(FILE),
        name: VOLUME.to_owned(),
    }
}

fn manifest(pace: &Pace, ended_ns: u64) -> Manifest {
    let argv = std::iter::once(format!("./{}", PROGRAM.name)).chain(made_up_arguments(DEPTH, pace.seconds)).collect();
    Manifest {
        format: FORMAT,
        activebench: env!("CARGO_PKG_VERSION").to_owned(),
        command: CommandLine { argv, cwd: "/".to_owned() },
        added_arguments: Vec::new(),
        tool_command: None,
        executed_tools: None,
        measurements: Vec::new(),
        choices: Choices { profile: "default".to_owned(), ..Choices::default() },
        child: ChildEnd { pid: Some(TGID), exit_code: Some(0), ..ChildEnd::default() },
        clocks: Clocks { started_unix_s: 0, started_ns: STARTED_NS, ended_ns },
        host: host(),
        ceilings: None,
        coverage: coverage(pace.reads),
        incomplete: Vec::new(),
        preparation: None,
        watch: None,
        redacted: None,
        sha256: BTreeMap::new(),
    }
}

fn host() -> Host {
    let layer = Layer {
        name: "sda".to_owned(),
        device: DEVICE,
        kind: "scsi".to_owned(),
        logical_block_bytes: Some(512),
        ..Layer::default()
    };
    let target = Target {
        s_dev: DEVICE,
        mount_point: "/domain0/group0/external".to_owned(),
        fs_type: "ext4".to_owned(),
        options: String::new(),
        layers: vec![layer],
        tier: Tier::Block,
    };
    Host {
        kernel: "none: nobody made these reads, they were written to measure their analysis".to_owned(),
        memory_bytes: None,
        targets: vec![target],
        ..Host::default()
    }
}

/// Returns the coverage of a whole observation: gaps in a made-up run would be reported as missing.
fn coverage(reads: u64) -> Coverage {
    let hooks = [
        Hook::SysEnter,
        Hook::SysExit,
        Hook::Switch,
        Hook::NewTask,
        Hook::ProcessExit,
        Hook::RequestComplete,
        Hook::BioQueue,
        Hook::AddToPageCache,
    ];
    let attached = |hook| ProbeStatus { hook, attached: true, why_not: None, missed: 0 };
    let records = [
        (RecordClass::Calls, reads + 2),
        (RecordClass::Names, 1),
        (RecordClass::Tasks, 2),
        (RecordClass::BlockCompleted, reads),
        (RecordClass::BlockQueued, 0),
        (RecordClass::PageCache, 0),
    ];
    let account = |made| RecordAccount { made, received: made, ..RecordAccount::default() };
    Coverage {
        backend: Backend::Bpf,
        probes: hooks.into_iter().map(attached).collect(),
        records: records.into_iter().map(|(class, made)| (class, account(made))).collect(),
        other_tracers: Some(Vec::new()),
        ..Coverage::default()
    }
}
