//! What the daemon of a FUSE file system moved at its own devices while a phase ran on its files.
//!
//! The tool's calls end at the daemon. The device knows the daemon's files and processes, so its requests are
//! separated from those of others. Which user of the mount they served is not known.

use activebench_model::call::{DeviceNumber, FileId};
use activebench_model::daemon::Daemon;
use activebench_model::event::{BlockAction, BlockEvent, BlockEventKind};
use activebench_model::fact::{Fact, FactName, Scope};
use activebench_model::host::Tier;
use activebench_model::phase::{Phase, Window};
use activebench_model::run::Manifest;
use activebench_model::source::{EventSource, Unreadable};
use activebench_model::units::Quantity;
use foldhash::HashSet;

use super::Gaps;
use super::device::{ByKind, Devices, Seen};
use super::span_index::SpanIndex;

const SOURCE: &str = "tp_btf/block_rq_complete, /proc/PID/fd";
const FACTS: [FactName; 5] = [
    FactName::DaemonDeviceReadBytes,
    FactName::DaemonDeviceWriteBytesDurable,
    FactName::DaemonFlushes,
    FactName::DaemonSubmittedBytes,
    FactName::DaemonTotalWriteBytes,
];

/// A phase on FUSE whose daemon is known.
struct Served {
    /// Its place among the phases.
    phase: usize,
    window: Window,
    /// Until when its bytes were to be durable.
    durable_ns: u64,
    processes: HashSet<u32>,
    files: HashSet<FileId>,
    devices: HashSet<DeviceNumber>,
    moved: ByKind<Moved>,
    /// Bytes of writes that the daemon's threads queued.
    submitted_bytes: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Moved {
    read_bytes: u64,
    write_bytes: u64,
    total_write_bytes: u64,
    flushes: u64,
}

/// Adds the facts to the phases on FUSE. Their windows and the facts of their calls must be there.
pub(super) fn add(
    source: &dyn EventSource,
    manifest: &Manifest,
    gaps: &[Gaps],
    phases: &mut [Phase],
) -> Result<(), Unreadable> {
    let mut served = Vec::new();
    for (number, phase) in phases.iter_mut().enumerate() {
        let Some(window) = phase.window else { continue };
        let on_fuse = |file: FileId| manifest.host.target_of(file).is_some_and(|target| target.tier == Tier::Fuse);
        if !phase.parts.first().is_some_and(|part| on_fuse(part.file)) {
            continue;
        }
        match known(manifest, phase) {
            Ok(daemons) => served.push(Served::new(number, window, phase, &daemons)),
            Err(why) => {
                for name in FACTS {
                    phase.facts.insert(name, Fact::missing(why.clone(), Scope::Device, SOURCE));
                }
            }
        }
    }
    if served.is_empty() {
        return Ok(());
    }
    let spans = served.iter().enumerate();
    let index =
        SpanIndex::new(spans.map(|(place, of)| (of.window.start_ns, of.window.end_ns.max(of.durable_ns), place)));
    let mut seen = Seen::default();
    for batch in source.block() {
        for event in &batch? {
            seen.feed(event);
            for place in index.overlapping(event.at_ns, event.at_ns) {
                served[place].feed(event);
            }
        }
    }
    for of in served {
        let devices = seen.devices(Ok(of.devices));
        let moved = of.moved.at(&devices);
        let gap = match &devices {
            Devices::Bios(_) => &gaps[of.phase].queued,
            Devices::Requests(_) | Devices::None(_) => &gaps[of.phase].completed,
        };
        let values = [
            Quantity::bytes(moved.read_bytes),
            Quantity::bytes(moved.write_bytes),
            Quantity::count(moved.flushes),
            Quantity::bytes(of.submitted_bytes),
            Quantity::bytes(moved.total_write_bytes),
        ];
        for (name, value) in FACTS.into_iter().zip(values) {
            // Who submitted a write is seen when it is queued.
            let gap = if name == FactName::DaemonSubmittedBytes { &gaps[of.phase].queued } else { gap };
            phases[of.phase].facts.insert(name, gap.fact(value, Scope::Device, SOURCE));
        }
    }
    Ok(())
}

/// Returns the daemons behind the files of a phase.
///
/// # Errors
/// Returns why one of them, or its storage, is not known.
fn known<'a>(manifest: &'a Manifest, phase: &Phase) -> Result<Vec<&'a Daemon>, String> {
    let mut daemons: Vec<&Daemon> = Vec::new();
    for part in &phase.parts {
        let daemon = manifest.host.daemon_of(part.file);
        let daemon = daemon.ok_or_else(|| "the daemon behind the file system was not looked for".to_owned())?;
        if let Some(why) = &daemon.unknown {
            return Err(format!("the daemon behind the file system is not known: {why}"));
        }
        if daemon.storage.iter().all(|target| target.devices().next().is_none()) {
            let name = daemon.name();
            return Err(match daemon.elsewhere.as_slice() {
                [] => format!("{name} has no file on a block device open"),
                ways => format!("{name} has no file on a block device open, and {}", ways.join(", ")),
            });
        }
        if !daemons.iter().any(|known| known.s_dev == daemon.s_dev) {
            daemons.push(daemon);
        }
    }
    Ok(daemons)
}

impl Served {
    fn new(number: usize, window: Window, phase: &Phase, daemons: &[&Daemon]) -> Self {
        let span = phase.facts.complete(FactName::DurableSpan).map_or(0, |span| span as u64);
        let storage = daemons.iter().flat_map(|daemon| &daemon.storage);
        Self {
            phase: number,
            window,
            durable_ns: window.end_ns.max(window.start_ns.saturating_add(span)),
            processes: daemons.iter().flat_map(|daemon| &daemon.processes).map(|process| process.pid).collect(),
            files: daemons.iter().flat_map(|daemon| &daemon.files).copied().collect(),
            devices: storage.flat_map(|target| target.devices()).map(|layer| layer.device).collect(),
            moved: ByKind::default(),
            submitted_bytes: 0,
        }
    }

    fn feed(&mut self, event: &BlockEvent) {
        if event.status != 0 || !self.devices.contains(&event.device) {
            return;
        }
        let (in_window, until_durable) = (self.window.contains(event.at_ns), event.at_ns <= self.durable_ns);
        let is_flush = event.action == BlockAction::Flush
            || event.kind == BlockEventKind::Queued && event.preflush
            || event.action == BlockAction::Write && event.fua && event.first_of_request;
        let is_own = self.processes.contains(&event.tgid) || event.file.is_some_and(|file| self.files.contains(&file));
        let is_submitted = event.kind == BlockEventKind::Queued && self.processes.contains(&event.tgid);
        if is_submitted && event.action == BlockAction::Write && until_durable {
            self.submitted_bytes += event.bytes;
        }
        let moved = self.moved.of(event);
        if is_flush && until_durable {
            moved.flushes += 1;
        }
        if event.action == BlockAction::Write && until_durable {
            moved.total_write_bytes += event.bytes;
        }
        match event.action {
            BlockAction::Read if is_own && in_window => moved.read_bytes += event.bytes,
            BlockAction::Write if is_own && until_durable => moved.write_bytes += event.bytes,
            _ => {}
        }
    }
}
