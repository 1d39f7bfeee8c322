//! The reading of the block events: what each phase made the device do.

use std::collections::{HashMap, HashSet};

use activebench_model::call::{DeviceNumber, FileId};
use activebench_model::event::{BlockAction, BlockEvent, BlockEventKind, Origin};
use activebench_model::host::{Host, Layer, Target};
use activebench_model::phase::{Direction, Window};

use super::depth::QueueDepth;
use super::fifths::Fifths;
use super::intervals::Intervals;
use super::latency::Latencies;
use super::span_index::SpanIndex;
use activebench_model::source::{EventSource, Unreadable};

/// What is to be counted for one phase.
#[derive(Clone, Debug)]
pub(super) struct DevicePlan {
    pub(super) window: Window,
    /// The phase's files.
    pub(super) files: HashMap<FileId, FilePlan>,
    /// End of the span for the device's own totals and its flushes.
    pub(super) span_end_ns: u64,
    /// Which way the phase moves data.
    pub(super) direction: Direction,
    /// The time whose fifths are looked at; `Err` says why there is none, `None` leaves them out.
    pub(super) together: Option<Result<Window, String>>,
    /// What lies below the devices of the files.
    pub(super) below: Below,
}

/// The devices below those at which a phase is judged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Below {
    /// From the topmost to the disks; all data pass each of them.
    pub(super) levels: Vec<HashSet<DeviceNumber>>,
    /// Of all of them: those that complete no requests.
    pub(super) bios_only: HashSet<DeviceNumber>,
    /// The files behind loop devices: through the page cache, their pages carry the data down.
    pub(super) backing_files: HashSet<FileId>,
}

impl Below {
    /// What lies below several targets together.
    pub(super) fn of<'a>(targets: impl IntoIterator<Item = &'a Target>, seen: &Seen) -> Self {
        let mut below = Self::default();
        let targets: Vec<&Target> = targets.into_iter().collect();
        let numbers = |layers: &[&Layer]| layers.iter().map(|layer| layer.device).collect::<HashSet<_>>();
        let of_each: Vec<Vec<HashSet<DeviceNumber>>> =
            targets.iter().map(|target| target.levels_below().iter().map(|level| numbers(level)).collect()).collect();
        let deepest = of_each.iter().map(Vec::len).max().unwrap_or(0);
        for depth in 0..deepest {
            let at_depth = targets.iter().zip(&of_each).flat_map(|(target, levels)| {
                // A target that ends further up keeps its bytes there.
                let lowest = levels.get(depth).or(levels.last()).cloned();
                lowest.unwrap_or_else(|| target.devices().map(|layer| layer.device).collect())
            });
            below.levels.push(at_depth.collect());
        }
        below.bios_only = below.levels.iter().flatten().copied().filter(|device| seen.takes_bios(*device)).collect();
        below.backing_files = targets.iter().flat_map(|target| target.backing_files()).collect();
        below
    }

    /// Whether an event shows data of a device: its completion, or its queueing where the device completes no requests.
    fn shows(&self, event: &BlockEvent) -> bool {
        match event.kind {
            BlockEventKind::Completed | BlockEventKind::Inferred => !self.bios_only.contains(&event.device),
            BlockEventKind::Queued => self.bios_only.contains(&event.device),
        }
    }
}

/// What one level below moved for a phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct BelowTally {
    /// In the window.
    pub(super) read_bytes: u64,
    pub(super) write_bytes: u64,
    pub(super) durable_write_bytes: u64,
}

/// One file of a phase.
#[derive(Clone, Debug)]
pub(super) struct FilePlan {
    /// End of its durable span, or until when its data may still be on the way.
    pub(super) durable_ns: u64,
    /// Where its data is judged. With direct I/O through a loop device the same pages show
    /// themselves on the layer below too.
    pub(super) devices: HashSet<DeviceNumber>,
}

/// What the device did for one phase.
#[derive(Clone, Debug, Default)]
pub(super) struct DeviceTally {
    pub(super) read_bytes: u64,
    pub(super) write_bytes: u64,
    /// Given back, by anybody but processes outside the tree.
    pub(super) discard_bytes: u64,
    pub(super) durable_write_bytes: u64,
    pub(super) total_bytes: u64,
    pub(super) foreign_bytes: u64,
    pub(super) requests: u64,
    pub(super) latency_ns: u64,
    pub(super) timed_requests: u64,
    pub(super) flushes: u64,
    pub(super) fua_writes: u64,
    pub(super) busy: Intervals,
    /// Requests of any file inside the window whose issue was not seen.
    pub(super) unissued: u64,
    /// Of the requests: those whose completion was not seen.
    pub(super) inferred: u64,
    /// Of the requests: their times from issue to completion, where the issue was seen.
    pub(super) latencies: Latencies,
    /// Requests with the files' data that were in flight in the window, whenever they completed.
    pub(super) depth: QueueDepth,
    /// The files' data of the phase's direction over its time.
    pub(super) fifths: Option<Fifths>,
    /// Reads of the files' data in progress in the window, whenever they completed.
    pub(super) read_begun_bytes: u64,
    /// For each level of [`DevicePlan::below`].
    pub(super) below: Vec<BelowTally>,
    /// Serial number of the last request that was counted.
    counted: Option<u64>,
    /// Serial number of the last request that was in flight.
    in_flight: Option<u64>,
}

/// The devices of a phase, and how they show themselves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Devices {
    /// There is nothing to look at: why.
    None(String),
    /// Requests complete.
    Requests(HashSet<DeviceNumber>),
    /// Only bios are queued: the driver takes them without requests (zram, brd).
    Bios(HashSet<DeviceNumber>),
}

/// Numbers of the devices at which a file is judged; `Err` says why there is none.
pub(super) fn devices_of(host: &Host, file: FileId) -> Result<HashSet<DeviceNumber>, String> {
    let Some(target) = host.target_of(file) else {
        return Err(format!("nothing is known of the storage below device {}", DeviceNumber(file.s_dev)));
    };
    let devices: HashSet<DeviceNumber> = target.devices().map(|layer| layer.device).collect();
    if devices.is_empty() {
        return Err(format!("there is no block device below {} ({})", target.mount_point, target.fs_type));
    }
    Ok(devices)
}

/// Which devices were seen, at any time of the run.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    completed: HashSet<DeviceNumber>,
    queued: HashSet<DeviceNumber>,
}

impl Seen {
    pub(super) fn read(source: &dyn EventSource) -> Result<Self, Unreadable> {
        let mut seen = Self::default();
        for batch in source.block() {
            for event in &batch? {
                match event.kind {
                    BlockEventKind::Completed | BlockEventKind::Inferred => seen.completed.insert(event.device),
                    BlockEventKind::Queued => seen.queued.insert(event.device),
                };
            }
        }
        Ok(seen)
    }

    /// Whether a device only queues bios: its driver takes them without requests (dm, md, zram).
    fn takes_bios(&self, device: DeviceNumber) -> bool {
        !self.completed.contains(&device) && self.queued.contains(&device)
    }

    /// How the devices show themselves, given that completions were looked for at all.
    pub(super) fn devices(&self, devices: HashSet<DeviceNumber>) -> Devices {
        if self.completed.is_disjoint(&devices) && !self.queued.is_disjoint(&devices) {
            Devices::Bios(devices)
        } else {
            Devices::Requests(devices)
        }
    }
}

/// Counts the block events of every phase that has devices.
pub(super) fn read(
    source: &dyn EventSource,
    plans: &[(DevicePlan, Devices)],
    own_files: &HashSet<FileId>,
) -> Result<Vec<DeviceTally>, Unreadable> {
    let tally = |(plan, _): &(DevicePlan, Devices)| DeviceTally {
        fifths: plan.together.iter().flatten().next().map(|span| Fifths::new(*span)),
        below: vec![BelowTally::default(); plan.below.levels.len()],
        ..DeviceTally::default()
    };
    let mut tallies: Vec<DeviceTally> = plans.iter().map(tally).collect();
    let spans = plans.iter().enumerate().map(|(number, (plan, _))| (plan.window.start_ns, plan.last_ns(), number));
    let index = SpanIndex::new(spans.collect());
    let mut requests = Requests::default();
    for batch in source.block() {
        for event in &batch? {
            let request = requests.of(event);
            // Only the first event of a request has its latency.
            let latency_ns = match event.kind {
                BlockEventKind::Completed => request.map_or(event.latency_ns, |request| request.latency_ns),
                _ => event.latency_ns,
            };
            for number in index.overlapping(event.at_ns.saturating_sub(latency_ns), event.at_ns) {
                let (plan, devices) = &plans[number];
                match (devices, event.kind) {
                    (Devices::Requests(devices), BlockEventKind::Completed | BlockEventKind::Inferred)
                    | (Devices::Bios(devices), BlockEventKind::Queued)
                        if devices.contains(&event.device) =>
                    {
                        tallies[number].add(plan, event, request, own_files);
                    }
                    _ => {}
                }
                tallies[number].add_below(plan, event);
            }
        }
    }
    Ok(tallies)
}

/// A completed request, of which each file whose data it carries has an event.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    pub(super) serial: u64,
    pub(super) latency_ns: u64,
}

/// The request that each event is of: those of one request follow one another on its device, and only the first of
/// them has its latency.
#[derive(Debug, Default)]
pub(super) struct Requests {
    latest: HashMap<DeviceNumber, Request>,
    made: u64,
}

impl Requests {
    /// The request of an event, or the one that its device completed last; `None` before the first one.
    pub(super) fn of(&mut self, event: &BlockEvent) -> Option<Request> {
        if event.kind == BlockEventKind::Completed && event.first_of_request {
            self.made += 1;
            self.latest.insert(event.device, Request { serial: self.made, latency_ns: event.latency_ns });
        }
        self.latest.get(&event.device).copied()
    }
}

impl DevicePlan {
    fn last_ns(&self) -> u64 {
        let files = self.files.values().map(|file| file.durable_ns).max().unwrap_or(0);
        self.window.end_ns.max(self.span_end_ns).max(files)
    }
}

impl DeviceTally {
    fn add(&mut self, plan: &DevicePlan, event: &BlockEvent, request: Option<Request>, own_files: &HashSet<FileId>) {
        let at_ns = event.at_ns;
        let window = plan.window;
        if event.kind == BlockEventKind::Completed && event.first_of_request {
            if event.latency_ns == 0 {
                self.unissued += u64::from(window.contains(at_ns));
            } else {
                let issued_ns = at_ns.saturating_sub(event.latency_ns);
                self.busy.add(issued_ns.max(window.start_ns), at_ns.min(window.end_ns));
            }
        }
        self.add_in_flight(plan, event, request);
        if at_ns < window.start_ns || event.status != 0 {
            return;
        }
        let in_span = at_ns <= plan.span_end_ns;
        let is_flush = event.action == BlockAction::Flush || (event.kind == BlockEventKind::Queued && event.preflush);
        if in_span && is_flush {
            self.flushes += 1;
        }
        if event.action == BlockAction::Discard && window.contains(at_ns) && !is_foreign(event, own_files) {
            self.discard_bytes += event.bytes;
        }
        if !matches!(event.action, BlockAction::Read | BlockAction::Write) {
            return;
        }
        let is_write = event.action == BlockAction::Write;
        if in_span {
            self.total_bytes += event.bytes;
            if is_foreign(event, own_files) {
                self.foreign_bytes += event.bytes;
            }
            self.fua_writes += u64::from(is_write && event.fua && event.first_of_request);
        }
        let Some(file) = event.file.and_then(|file| plan.files.get(&file)) else { return };
        if !file.devices.contains(&event.device) {
            return;
        }
        let is_of_phase = match plan.direction {
            Direction::Read => !is_write,
            Direction::Write => is_write,
            Direction::Mixed | Direction::None => true,
            Direction::Discard => false,
        };
        if let Some(fifths) = self.fifths.as_mut().filter(|_| is_of_phase) {
            let latency_ns = request.map_or(event.latency_ns, |request| request.latency_ns);
            fifths.add(at_ns.saturating_sub(latency_ns), at_ns, event.bytes);
        }
        if !is_write {
            let latency_ns = request.map_or(event.latency_ns, |request| request.latency_ns);
            let begun_ns = at_ns.saturating_sub(latency_ns);
            self.read_begun_bytes += if begun_ns <= window.end_ns { event.bytes } else { 0 };
        }
        if is_write && at_ns <= file.durable_ns {
            self.durable_write_bytes += event.bytes;
        }
        if !window.contains(at_ns) {
            return;
        }
        if is_write {
            self.write_bytes += event.bytes;
        } else {
            self.read_bytes += event.bytes;
        }
        // What a mix's other direction did is no figure of this one.
        if !is_of_phase {
            return;
        }
        match request {
            Some(request) if event.kind == BlockEventKind::Completed => {
                if self.counted.replace(request.serial) != Some(request.serial) {
                    self.requests += 1;
                    if request.latency_ns > 0 {
                        self.latency_ns += request.latency_ns;
                        self.timed_requests += 1;
                        self.latencies.record(request.latency_ns, 1);
                    }
                }
            }
            _ if event.kind == BlockEventKind::Inferred => {
                self.requests += 1;
                self.inferred += 1;
            }
            _ => self.requests += u64::from(event.first_of_request),
        }
    }
}

impl DeviceTally {
    /// Counts an event at the levels below. A request of unknown owner is one of a kernel worker that carries data down,
    /// or metadata: it can be the phase's. One of another process, or of a file that is not the phase's, is not.
    fn add_below(&mut self, plan: &DevicePlan, event: &BlockEvent) {
        let moves_data = matches!(event.action, BlockAction::Read | BlockAction::Write) && event.status == 0;
        let in_time = event.at_ns >= plan.window.start_ns && event.at_ns <= plan.last_ns();
        if self.below.is_empty() || !moves_data || !in_time || !plan.below.shows(event) {
            return;
        }
        let is_of_phase = match event.file {
            Some(file) => plan.files.contains_key(&file) || plan.below.backing_files.contains(&file),
            None => !matches!(event.origin, Origin::Foreign | Origin::Observer),
        };
        if !is_of_phase {
            return;
        }
        let in_window = plan.window.contains(event.at_ns);
        for (level, tally) in plan.below.levels.iter().zip(&mut self.below) {
            if !level.contains(&event.device) {
                continue;
            }
            let (bytes, now) = (event.bytes, if in_window { event.bytes } else { 0 });
            match event.action {
                BlockAction::Write => {
                    tally.write_bytes += now;
                    tally.durable_write_bytes += bytes;
                }
                _ => tally.read_bytes += now,
            }
        }
    }

    /// A failed request was in flight too, and one that completes after the window was in it.
    fn add_in_flight(&mut self, plan: &DevicePlan, event: &BlockEvent, request: Option<Request>) {
        let (Some(request), BlockEventKind::Completed) = (request, event.kind) else { return };
        let file = event.file.and_then(|file| plan.files.get(&file));
        let is_data = matches!(event.action, BlockAction::Read | BlockAction::Write);
        if !is_data || !file.is_some_and(|file| file.devices.contains(&event.device)) {
            return;
        }
        if self.in_flight.replace(request.serial) != Some(request.serial) {
            self.depth.add(plan.window, event.at_ns.saturating_sub(request.latency_ns), event.at_ns);
        }
    }
}

/// btrfs keeps its metadata in an inode of its own; no file system gives this number to a user's file.
const METADATA_INODE: u64 = 1;

/// Another process's data. A completion carries no submitter, so its file decides: one that
/// the tree never used. Without a file it is metadata or journal, which nobody is blamed for.
fn is_foreign(event: &BlockEvent, own_files: &HashSet<FileId>) -> bool {
    match (event.origin, event.file) {
        (Origin::Tree | Origin::Observer, _) => false,
        // Whoever needs memory writes it back.
        (_, Some(file)) if file.ino == METADATA_INODE => false,
        (_, Some(file)) => !own_files.contains(&file),
        (origin, None) => origin == Origin::Foreign,
    }
}
