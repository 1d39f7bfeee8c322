//! Hand-built runs: a script of calls with a clock, so that a test reads like the run of a tool.
#![allow(dead_code, reason = "each test file uses its part")]

use std::borrow::Cow;

use activebench_facts::{Folded, Index, fold_activity, resolve_phases};
use activebench_model::activity::{Activity, CallSpan};
use activebench_model::call::{Call, DeviceNumber, FileId, FileKind, Op, open_bits};
use activebench_model::coverage::Backend;
use activebench_model::coverage::{ProbeStatus, RecordAccount};
use activebench_model::event::RecordClass;
use activebench_model::event::{
    BlockAction, BlockEvent, BlockEventKind, CacheEvent, NameEvent, Origin, TaskEvent, TaskEventKind,
};
use activebench_model::fact::{Completeness, FactName, Facts};
use activebench_model::hook::Hook;
use activebench_model::host::{Layer, Target, Tier};
use activebench_model::phase::{Direction, Part, PartEnd, Pattern, Phase};
use activebench_model::run::{FORMAT, Manifest};
use activebench_model::source::Events;

/// The tool's process.
pub(crate) const TOOL: u32 = 100;
/// The disk below [`FILE`].
pub(crate) const DISK: DeviceNumber = DeviceNumber(7 << 20);
pub(crate) const FILE: FileId = FileId { s_dev: 7 << 20, ino: 12 };
pub(crate) const OTHER_FILE: FileId = FileId { s_dev: 7 << 20, ino: 13 };
/// Each call takes this long, and as much again passes before the next one.
pub(crate) const CALL_NS: u64 = 100;
pub(crate) const BLOCK: u64 = 4096;

/// A run that a test builds call by call.
#[derive(Clone)]
pub(crate) struct Story {
    pub(crate) events: Events,
    pub(crate) manifest: Manifest,
    pub(crate) now: u64,
    /// Process and thread of the next calls.
    pub(crate) tgid: u32,
    pub(crate) tid: u32,
    /// Open flags and file of the next calls.
    pub(crate) flags: u32,
    pub(crate) file: FileId,
    pub(crate) kind: FileKind,
}

impl Story {
    /// Creates a tool that has just been executed, at 1000 ns.
    pub(crate) fn new() -> Self {
        let mut story = Self {
            events: Events::default(),
            manifest: manifest(),
            now: 0,
            tgid: TOOL,
            tid: TOOL,
            flags: 0,
            file: FILE,
            kind: FileKind::Regular,
        };
        story.task(TaskEventKind::Born, TOOL, TOOL, 1);
        // The stub reads its own configuration before it executes the tool.
        story.open(3, "stub");
        story.read(3, 0);
        story.now = 1000;
        story.task(TaskEventKind::Executed, TOOL, TOOL, 0);
        story
    }

    pub(crate) fn task(&mut self, kind: TaskEventKind, tid: u32, tgid: u32, parent_tgid: u32) {
        self.events.tasks.push(TaskEvent {
            at_ns: self.now,
            kind,
            tid,
            tgid,
            parent_tgid,
            exit_status: 0,
            comm: "tool".to_owned(),
            filename: if kind == TaskEventKind::Executed { "/usr/bin/tool".to_owned() } else { String::new() },
            user_ns: 0,
            kernel_ns: 0,
            blocked_ns: 0,
            iowait_ns: 0,
            preempted_ns: 0,
        });
    }

    /// Sets the process and the thread of the next calls.
    pub(crate) fn by(&mut self, tgid: u32, tid: u32) -> &mut Self {
        (self.tgid, self.tid) = (tgid, tid);
        self
    }

    pub(crate) fn call(&mut self, op: Op, fd: i32, offset: i64, requested: u64, returned: i64) -> CallSpan {
        let call = Call {
            start_ns: self.now,
            end_ns: self.now + CALL_NS,
            tid: self.tid,
            tgid: self.tgid,
            op,
            fd,
            file: (fd >= 0 || op == Op::Open).then_some(self.file),
            kind: self.kind,
            open_flags: self.flags,
            offset,
            requested,
            returned,
            storage_read_bytes: 0,
            cached_bytes: 0,
            cpu_ns: 60,
            user_before_ns: 30,
            stands_for: 1,
        };
        self.events.calls.push(call);
        self.now += 2 * CALL_NS;
        (&call).into()
    }

    pub(crate) fn last(&mut self) -> &mut Call {
        self.events.calls.last_mut().expect("a call was made")
    }

    pub(crate) fn open(&mut self, fd: i32, name: &str) -> CallSpan {
        let span = self.call(Op::Open, -1, -1, 0, i64::from(fd));
        self.name(&span, name, Some(self.file));
        span
    }

    pub(crate) fn unlink(&mut self, name: &str) -> CallSpan {
        let span = self.call(Op::Unlink, -1, -1, 0, 0);
        self.name(&span, name, None);
        span
    }

    fn name(&mut self, span: &CallSpan, name: &str, file: Option<FileId>) {
        self.events.names.push(NameEvent {
            at_ns: span.end_ns,
            tid: span.tid,
            tgid: self.tgid,
            op: span.op,
            returned: span.returned,
            file,
            name: name.to_owned(),
        });
    }

    pub(crate) fn close(&mut self, fd: i32) -> CallSpan {
        self.call(Op::Close, fd, -1, 0, 0)
    }

    pub(crate) fn fsync(&mut self, fd: i32) -> CallSpan {
        self.call(Op::Fsync, fd, -1, 0, 0)
    }

    /// Reads block number `block`.
    pub(crate) fn read(&mut self, fd: i32, block: u64) -> CallSpan {
        self.call(Op::Read, fd, (block * BLOCK) as i64, BLOCK, BLOCK as i64)
    }

    pub(crate) fn write(&mut self, fd: i32, block: u64) -> CallSpan {
        self.call(Op::Write, fd, (block * BLOCK) as i64, BLOCK, BLOCK as i64)
    }

    pub(crate) fn seek(&mut self, fd: i32, block: u64) -> CallSpan {
        self.call(Op::Lseek, fd, (block * BLOCK) as i64, 0, (block * BLOCK) as i64)
    }

    /// Writes blocks `0..count`; returns the span from the first entry to the last exit.
    pub(crate) fn writes(&mut self, fd: i32, count: u64) -> (u64, u64) {
        let spans: Vec<CallSpan> = (0..count).map(|block| self.write(fd, block)).collect();
        (spans[0].start_ns, spans[spans.len() - 1].end_ns)
    }

    pub(crate) fn reads(&mut self, fd: i32, count: u64) -> (u64, u64) {
        let spans: Vec<CallSpan> = (0..count).map(|block| self.read(fd, block)).collect();
        (spans[0].start_ns, spans[spans.len() - 1].end_ns)
    }

    /// Inserts pages of the current file into the page cache now.
    pub(crate) fn insert(&mut self, blocks: u64) {
        self.events.cache.push(CacheEvent {
            at_ns: self.now,
            file: self.file,
            offset: 0,
            bytes: blocks * BLOCK,
            tgid: self.tgid,
            in_tree: true,
        });
    }

    /// Adds a request on [`DISK`] that completes at a time.
    pub(crate) fn completed(
        &mut self,
        at_ns: u64,
        action: BlockAction,
        bytes: u64,
        file: Option<FileId>,
    ) -> &mut BlockEvent {
        self.events.block.push(BlockEvent {
            at_ns,
            kind: BlockEventKind::Completed,
            device: DISK,
            sector: 0,
            bytes,
            action,
            preflush: false,
            fua: false,
            latency_ns: 10,
            first_of_request: true,
            file,
            tgid: 0,
            comm: String::new(),
            origin: Origin::Unknown,
            status: 0,
        });
        self.events.block.last_mut().expect("it was just pushed")
    }

    pub(crate) fn folded(&self) -> Folded {
        fold_activity(&self.events).expect("events in memory")
    }

    pub(crate) fn activity(&self) -> Activity {
        self.folded().activity
    }

    /// Returns the phases with their facts, and the facts of the run.
    pub(crate) fn resolve(&self, phases: Vec<Phase>) -> (Vec<Phase>, Facts) {
        let mut manifest = self.manifest.clone();
        manifest.clocks.started_ns = 1000;
        manifest.clocks.ended_ns = self.now;
        let folded = self.folded();
        let index = Index::new(&folded, &folded.activity.passes, &phases);
        let passes = Cow::Borrowed(&folded.activity.passes[..]);
        resolve_phases(&self.events, &manifest, &index, passes, phases).expect("events in memory")
    }

    /// Returns the facts of the only phase.
    pub(crate) fn facts(&self, phase: Phase) -> Facts {
        let (mut phases, _) = self.resolve(vec![phase]);
        phases.remove(0).facts
    }

    /// Marks records of a class as lost.
    pub(crate) fn lose(&mut self, class: RecordClass) {
        self.manifest
            .coverage
            .records
            .insert(class, RecordAccount { made: 10, received: 7, lost: 3, ..RecordAccount::default() });
    }

    pub(crate) fn detach(&mut self, hook: Hook) {
        let probes = &mut self.manifest.coverage.probes;
        let probe = probes.iter_mut().find(|probe| probe.hook == hook).expect("a known hook");
        probe.attached = false;
        probe.why_not = Some("refused".to_owned());
    }
}

fn manifest() -> Manifest {
    let mut manifest = Manifest {
        format: FORMAT,
        activebench: "0.1.0".to_owned(),
        command: Default::default(),
        added_arguments: Vec::new(),
        tool_command: None,
        executed_tools: None,
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
    manifest.coverage.backend = Backend::Bpf;
    manifest.coverage.probes =
        hooks.into_iter().map(|hook| ProbeStatus { hook, attached: true, why_not: None, missed: 0 }).collect();
    for class in [
        RecordClass::Calls,
        RecordClass::Names,
        RecordClass::Tasks,
        RecordClass::BlockCompleted,
        RecordClass::BlockQueued,
        RecordClass::PageCache,
    ] {
        let whole = RecordAccount { made: 10, received: 10, lost: 0, ..RecordAccount::default() };
        manifest.coverage.records.insert(class, whole);
    }
    manifest.host.targets.push(target(DISK, vec![layer("disk", DISK)]));
    manifest
}

pub(crate) fn target(s_dev: DeviceNumber, layers: Vec<Layer>) -> Target {
    Target {
        s_dev,
        mount_point: "/mnt".to_owned(),
        fs_type: "ext4".to_owned(),
        options: String::new(),
        layers,
        tier: Tier::Block,
    }
}

pub(crate) fn layer(name: &str, device: DeviceNumber) -> Layer {
    Layer { name: name.to_owned(), device, kind: "virtio".to_owned(), ..Layer::default() }
}

/// Creates a part of the tool on [`FILE`], from a time until the clock stopped.
pub(crate) fn part(fd: i32, start_ns: u64, end_ns: u64) -> Part {
    Part {
        tgid: TOOL,
        tids: Vec::new(),
        fd,
        file: FILE,
        start_ns,
        end: PartEnd::At(end_ns),
        last_data_ns: end_ns,
        sync_inside: None,
        sync_after: None,
        close_ns: None,
    }
}

pub(crate) fn phase(direction: Direction, parts: Vec<Part>) -> Phase {
    Phase { pattern: Pattern::Sequential, parts, ..Phase::planned("p", "p", direction) }
}

pub(crate) fn write_phase(fd: i32, (start_ns, end_ns): (u64, u64)) -> Phase {
    phase(Direction::Write, vec![part(fd, start_ns, end_ns)])
}

pub(crate) fn read_phase(fd: i32, (start_ns, end_ns): (u64, u64)) -> Phase {
    phase(Direction::Read, vec![part(fd, start_ns, end_ns)])
}

/// The expected state of a fact.
#[derive(Clone, Debug)]
pub(crate) enum Is {
    /// Complete, with this value.
    Whole(f64),
    /// Partial, with this value, and these words in the description of the loss.
    Part(f64, &'static str),
    /// Missing, with these words in the reason.
    Missing(&'static str),
    /// Not computed.
    Absent,
}

/// Compares facts with the expected ones.
#[track_caller]
pub(crate) fn check(what: &str, facts: &Facts, expected: &[(FactName, Is)]) {
    for (name, expected) in expected {
        let fact = facts.get(*name);
        let value = fact.and_then(|fact| fact.value).map(|quantity| quantity.value);
        if let Some(quantity) = fact.and_then(|fact| fact.value) {
            assert_eq!(quantity.unit, name.unit(), "{what}: {}", name.as_str());
        }
        let close = |one: f64, other: f64| (one - other).abs() <= 1e-9 * other.abs();
        let right = match (expected, fact.map(|fact| &fact.completeness)) {
            (Is::Whole(wanted), Some(Completeness::Complete)) => value.is_some_and(|value| close(value, *wanted)),
            (Is::Part(wanted, words), Some(Completeness::Partial(lost))) => {
                value.is_some_and(|value| close(value, *wanted)) && lost.contains(words)
            }
            (Is::Missing(words), Some(Completeness::Missing(why))) => value.is_none() && why.contains(words),
            (Is::Absent, None) => true,
            _ => false,
        };
        assert!(right, "{what}: {} should be {expected:?}, is {fact:?}", name.as_str());
    }
}

/// Returns the bytes of a number of blocks.
pub(crate) fn blocks(count: u64) -> Is {
    Is::Whole((count * BLOCK) as f64)
}

pub(crate) fn count(value: u64) -> Is {
    Is::Whole(value as f64)
}

pub(crate) fn direct() -> u32 {
    open_bits::DIRECT | open_bits::WRITABLE
}
