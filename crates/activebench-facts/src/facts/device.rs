//! Reads the block events: the device activity of each phase.
//!
//! Data passes a device as completed requests or, where its driver takes bios without requests, as queued bios. Which
//! of the two follows from all events. So that they are read once, both are counted, and one is chosen at the end.

use std::rc::Rc;

use activebench_model::call::{DeviceNumber, FileId};
use activebench_model::event::{BlockAction, BlockEvent, BlockEventKind, Origin};
use activebench_model::host::{Host, Layer, Target};
use activebench_model::phase::{Direction, Window};
use foldhash::{HashMap, HashSet};

use super::depth::QueueDepth;
use super::intervals::Intervals;
use super::latency::{Latencies, Timing};
use super::rate_in_fifths::Fifths;
use super::span_index::{KeyedSpans, SpanIndex};
use activebench_model::source::{EventSource, Unreadable};

/// Which events count for one phase.
#[derive(Clone, Debug)]
pub(super) struct DevicePlan {
    pub(super) window: Window,
    /// The phase's files.
    pub(super) files: HashMap<FileId, FilePlan>,
    /// The devices of all files; `Err` has the reason when there are none.
    pub(super) devices: Result<HashSet<DeviceNumber>, String>,
    /// End of the span for the device's own totals and its flushes.
    pub(super) span_end_ns: u64,
    /// Direction of the phase's data.
    pub(super) direction: Direction,
    /// The time that is divided into fifths; `Err` has the reason why there is none, `None` leaves the fifths out.
    pub(super) together: Option<Result<Window, String>>,
    /// The layers below the devices of the files.
    pub(super) below: Below,
}

/// The devices below those at which a phase is judged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Below {
    /// Levels from the topmost to the disks; all data passes each of them.
    pub(super) levels: Vec<HashSet<DeviceNumber>>,
    /// The files behind loop devices. Their pages carry the data down where it goes through the page cache.
    pub(super) backing_files: HashSet<FileId>,
    /// True if there are other files behind loop devices, whose numbers are not known.
    pub(super) has_unidentified_files: bool,
}

impl Below {
    /// Returns the layers below several targets together.
    pub(super) fn of<'a>(targets: impl IntoIterator<Item = &'a Target>) -> Self {
        let mut below = Self::default();
        let targets: Vec<&Target> = targets.into_iter().collect();
        let numbers = |layers: &[&Layer]| layers.iter().map(|layer| layer.device).collect::<HashSet<_>>();
        let of_each: Vec<Vec<HashSet<DeviceNumber>>> =
            targets.iter().map(|target| target.levels_below().iter().map(|level| numbers(level)).collect()).collect();
        let deepest = of_each.iter().map(Vec::len).max().unwrap_or(0);
        for depth in 0..deepest {
            let at_depth = targets.iter().zip(&of_each).flat_map(|(target, levels)| {
                // A target with fewer levels keeps its bytes at its lowest one.
                let lowest = levels.get(depth).or(levels.last()).cloned();
                lowest.unwrap_or_else(|| target.devices().map(|layer| layer.device).collect())
            });
            below.levels.push(at_depth.collect());
        }
        below.backing_files = targets.iter().flat_map(|target| target.backing_files()).collect();
        below.has_unidentified_files = targets.iter().any(|target| target.has_unidentified_backing_file());
        below
    }
}

/// Bytes that one level below moved for a phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct BelowTally {
    /// Inside the window.
    pub(super) read_bytes: u64,
    pub(super) write_bytes: u64,
    pub(super) durable_write_bytes: u64,
    /// Bytes among them of files that may be the ones behind loop devices, or others.
    pub(super) uncertain_bytes: u64,
}

impl BelowTally {
    fn and(self, other: Self) -> Self {
        Self {
            read_bytes: self.read_bytes + other.read_bytes,
            write_bytes: self.write_bytes + other.write_bytes,
            durable_write_bytes: self.durable_write_bytes + other.durable_write_bytes,
            uncertain_bytes: self.uncertain_bytes + other.uncertain_bytes,
        }
    }
}

/// One file of a phase.
#[derive(Clone, Debug)]
pub(super) struct FilePlan {
    /// End of its durable span, or the time until which its data may still be in flight.
    pub(super) durable_ns: u64,
    /// Devices at which its data is judged. With direct I/O through a loop device, the layer below
    /// has events for the same pages.
    pub(super) devices: Rc<HashSet<DeviceNumber>>,
}

/// The device activity of one phase.
#[derive(Clone, Debug, Default)]
pub(super) struct DeviceTally {
    pub(super) read_bytes: u64,
    pub(super) write_bytes: u64,
    /// Discarded bytes, except those of processes outside the tree.
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
    /// Part of `requests`: those whose completion was not seen.
    pub(super) inferred: u64,
    /// Times from issue to completion of `requests`, where the issue was seen.
    pub(super) latencies: Latencies,
    /// Requests with the files' data that were in flight in the window, regardless of when they completed.
    pub(super) depth: QueueDepth,
    /// The files' data in the phase's direction over time.
    pub(super) fifths: Option<Fifths>,
    /// Bytes of reads of the files' data in progress in the window, regardless of when they completed.
    pub(super) read_begun_bytes: u64,
    /// Serial number of the last request that was counted.
    counted: Option<u64>,
    /// Serial number of the last request that was in flight.
    in_flight: Option<u64>,
}

/// The devices of a phase, and the kind of their events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Devices {
    /// There are no devices, with the reason.
    None(String),
    /// Requests complete.
    Requests(HashSet<DeviceNumber>),
    /// Only bios are queued: the driver takes them without requests (zram, brd).
    Bios(HashSet<DeviceNumber>),
}

impl Devices {
    /// Returns their number.
    pub(super) fn count(&self) -> usize {
        match self {
            Self::None(_) => 0,
            Self::Requests(devices) | Self::Bios(devices) => devices.len(),
        }
    }
}

/// Returns the numbers of the devices at which a file is judged; `Err` has the reason when there are none.
fn devices_of(host: &Host, file: FileId) -> Result<HashSet<DeviceNumber>, String> {
    let Some(target) = host.target_of(file) else {
        return Err(format!("nothing is known of the storage below device {}", DeviceNumber(file.s_dev)));
    };
    let devices: HashSet<DeviceNumber> = target.devices().map(|layer| layer.device).collect();
    if devices.is_empty() {
        return Err(format!("there is no block device below {} ({})", target.mount_point, target.fs_type));
    }
    Ok(devices)
}

/// The devices of files, found once per file system: a run can have a million files.
pub(super) struct DevicesOfFiles<'a> {
    host: &'a Host,
    by_file_system: HashMap<u32, Result<Rc<HashSet<DeviceNumber>>, String>>,
}

impl<'a> DevicesOfFiles<'a> {
    pub(super) fn new(host: &'a Host) -> Self {
        Self { host, by_file_system: HashMap::default() }
    }

    /// Returns what [`devices_of`] returns.
    pub(super) fn of(&mut self, file: FileId) -> Result<Rc<HashSet<DeviceNumber>>, String> {
        let found = self.by_file_system.entry(file.s_dev);
        found.or_insert_with(|| devices_of(self.host, file).map(Rc::new)).clone()
    }
}

/// The same sums of two kinds of events. A device shows its data by one of them; all events must be seen to know which
/// ([`Seen`]).
#[derive(Clone, Debug, Default)]
pub(super) struct ByKind<T> {
    /// Of completed requests, seen or inferred.
    pub(super) completed: T,
    /// Of queued bios.
    pub(super) queued: T,
}

impl<T> ByKind<T> {
    /// Returns the sums to which an event belongs.
    pub(super) fn of(&mut self, event: &BlockEvent) -> &mut T {
        match event.kind {
            BlockEventKind::Completed | BlockEventKind::Inferred => &mut self.completed,
            BlockEventKind::Queued => &mut self.queued,
        }
    }

    /// Returns the sums by which devices are judged.
    pub(super) fn at(self, devices: &Devices) -> T {
        match devices {
            Devices::Bios(_) => self.queued,
            Devices::Requests(_) | Devices::None(_) => self.completed,
        }
    }
}

/// The devices with events at any time of the run.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    devices: ByKind<HashSet<DeviceNumber>>,
    /// The last event of each kind: consecutive events are mostly of one device.
    last: ByKind<Option<DeviceNumber>>,
}

impl Seen {
    pub(super) fn feed(&mut self, event: &BlockEvent) {
        if self.last.of(event).replace(event.device) != Some(event.device) {
            self.devices.of(event).insert(event.device);
        }
    }

    /// Returns `true` when a device only queues bios: its driver takes them without requests (dm, md, zram).
    fn takes_bios(&self, device: DeviceNumber) -> bool {
        !self.devices.completed.contains(&device) && self.devices.queued.contains(&device)
    }

    /// Returns the kind of events of the devices, assuming that completions were observed at all.
    pub(super) fn devices(&self, devices: Result<HashSet<DeviceNumber>, String>) -> Devices {
        match devices {
            Err(why) => Devices::None(why),
            Ok(devices)
                if self.devices.completed.is_disjoint(&devices) && !self.devices.queued.is_disjoint(&devices) =>
            {
                Devices::Bios(devices)
            }
            Ok(devices) => Devices::Requests(devices),
        }
    }
}

/// The device activity of one phase, and the plan by which it was counted.
pub(super) struct DeviceSeen {
    pub(super) plan: DevicePlan,
    pub(super) devices: Devices,
    pub(super) tally: DeviceTally,
    /// One entry for each level of [`DevicePlan::below`].
    pub(super) below: Vec<BelowTally>,
    /// True if one of the devices below completes no requests.
    pub(super) below_takes_bios: bool,
}

/// The sums of one phase while events are read.
struct Counting {
    plan: DevicePlan,
    /// The last time at which an event of the phase's files can count.
    last_ns: u64,
    /// The last time at which an event of any file can count: with layers below, the owner of an event may be unknown.
    last_of_any_file_ns: u64,
    tallies: ByKind<DeviceTally>,
    /// By level and device.
    below: Vec<HashMap<DeviceNumber, ByKind<BelowTally>>>,
}

/// Counts the block events of every phase that has devices.
pub(super) fn read(
    source: &dyn EventSource,
    plans: Vec<DevicePlan>,
    own_files: &HashSet<FileId>,
) -> Result<Vec<DeviceSeen>, Unreadable> {
    let mut phases: Vec<Counting> = plans.into_iter().map(Counting::new).collect();
    let spans = phases.iter().enumerate();
    let spans = spans.map(|(number, phase)| (phase.plan.window.start_ns, phase.last_of_any_file_ns, number));
    let index = SpanIndex::new(spans);
    // Behind them only the data of the phase's own files counts: there may be thousands of phases whose data was never
    // made durable.
    let later = phases.iter().enumerate().flat_map(|(number, phase)| {
        let from_ns = phase.last_of_any_file_ns;
        let of_file = move |(file, of): (&FileId, &FilePlan)| (*file, (from_ns, of.durable_ns, number));
        phase.plan.files.iter().map(of_file).filter(|(_, (from_ns, until_ns, _))| from_ns < until_ns)
    });
    let later = KeyedSpans::new(later);
    let mut requests = Requests::default();
    let mut seen = Seen::default();
    for batch in source.block() {
        for event in &batch? {
            seen.feed(event);
            let request = requests.of(event);
            // Only the first event of a request has its latency.
            let latency_ns = match event.kind {
                BlockEventKind::Completed => request.map_or(event.latency_ns, |request| request.latency_ns),
                _ => event.latency_ns,
            };
            let begun_ns = event.at_ns.saturating_sub(latency_ns);
            let later = event.file.into_iter().flat_map(|file| later.overlapping(file, begun_ns, event.at_ns));
            let later = later.filter(|number| begun_ns > phases[*number].last_of_any_file_ns);
            let later: Vec<usize> = later.collect();
            for number in index.overlapping(begun_ns, event.at_ns).chain(later) {
                let Counting { plan, tallies, .. } = &mut phases[number];
                if plan.devices.as_ref().is_ok_and(|devices| devices.contains(&event.device)) {
                    tallies.of(event).add(plan, event, request, own_files);
                }
                phases[number].add_below(event);
            }
        }
    }
    Ok(phases.into_iter().map(|phase| phase.close(&seen)).collect())
}

/// A completed request. It has one event for each file whose data it carries.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    pub(super) serial: u64,
    pub(super) latency_ns: u64,
}

/// The request of each event. The events of one request follow one another on its device, and only the first of
/// them has its latency.
#[derive(Debug, Default)]
pub(super) struct Requests {
    latest: HashMap<DeviceNumber, Request>,
    made: u64,
}

impl Requests {
    /// Returns the request of an event, or the last one that its device completed; `None` before the first one.
    pub(super) fn of(&mut self, event: &BlockEvent) -> Option<Request> {
        if event.kind == BlockEventKind::Completed && event.first_of_request {
            self.made += 1;
            self.latest.insert(event.device, Request { serial: self.made, latency_ns: event.latency_ns });
        }
        self.latest.get(&event.device).copied()
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
        // Data in the other direction of a mix does not count for this phase.
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
                        self.latencies.record(request.latency_ns, Timing::ALONE);
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

impl Counting {
    fn new(plan: DevicePlan) -> Self {
        let fifths = plan.together.iter().flatten().next().map(|span| Fifths::new(*span));
        let tally = DeviceTally { fifths, ..DeviceTally::default() };
        let below = vec![HashMap::default(); plan.below.levels.len()];
        let span_end_ns = plan.window.end_ns.max(plan.span_end_ns);
        let last_ns = plan.files.values().map(|file| file.durable_ns).fold(span_end_ns, u64::max);
        let last_of_any_file_ns = if below.is_empty() { span_end_ns } else { last_ns };
        Self { plan, last_ns, last_of_any_file_ns, tallies: ByKind { completed: tally.clone(), queued: tally }, below }
    }

    fn close(self, seen: &Seen) -> DeviceSeen {
        let Self { mut plan, tallies, below, .. } = self;
        let devices = seen.devices(std::mem::replace(&mut plan.devices, Ok(HashSet::default())));
        let of_level = |devices: HashMap<DeviceNumber, ByKind<BelowTally>>| {
            let shown = |(device, tallies): (DeviceNumber, ByKind<BelowTally>)| match seen.takes_bios(device) {
                true => tallies.queued,
                false => tallies.completed,
            };
            devices.into_iter().map(shown).fold(BelowTally::default(), BelowTally::and)
        };
        let below = below.into_iter().map(of_level).collect();
        let below_takes_bios = plan.below.levels.iter().flatten().any(|device| seen.takes_bios(*device));
        let tally = tallies.at(&devices);
        DeviceSeen { plan, devices, tally, below, below_takes_bios }
    }

    /// Counts an event at the levels below. A request of unknown owner comes from a kernel worker that carries data
    /// down, or is metadata: it can belong to the phase. One of another process, or of a file outside the phase, does
    /// not. Where a backing file is not identified, that of a kernel worker can belong to it whatever the file.
    fn add_below(&mut self, event: &BlockEvent) {
        let plan = &self.plan;
        let moves_data = matches!(event.action, BlockAction::Read | BlockAction::Write) && event.status == 0;
        let in_time = event.at_ns >= plan.window.start_ns && event.at_ns <= self.last_ns;
        if self.below.is_empty() || !moves_data || !in_time {
            return;
        }
        let is_of_phase = match event.file {
            Some(file) => plan.files.contains_key(&file) || plan.below.backing_files.contains(&file),
            None => !matches!(event.origin, Origin::Foreign | Origin::Observer),
        };
        let may_be = plan.below.has_unidentified_files && event.origin == Origin::Kernel;
        if !is_of_phase && !may_be {
            return;
        }
        let in_window = plan.window.contains(event.at_ns);
        for (level, tallies) in plan.below.levels.iter().zip(&mut self.below) {
            if !level.contains(&event.device) {
                continue;
            }
            let tally = tallies.entry(event.device).or_default().of(event);
            let (bytes, now) = (event.bytes, if in_window { event.bytes } else { 0 });
            if !is_of_phase {
                tally.uncertain_bytes += bytes;
            }
            match event.action {
                BlockAction::Write => {
                    tally.write_bytes += now;
                    tally.durable_write_bytes += bytes;
                }
                _ => tally.read_bytes += now,
            }
        }
    }
}

impl DeviceTally {
    /// Adds a request to the queue depth. Failed requests, and those that complete after the window, were in flight too.
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

/// btrfs keeps its metadata in its own inode; no file system gives this number to a user's file.
const METADATA_INODE: u64 = 1;

/// Returns `true` for data of another process. A completion has no submitter, so its file decides: a file that
/// the tree never used is foreign. Without a file it is metadata or journal, which counts for nobody.
fn is_foreign(event: &BlockEvent, own_files: &HashSet<FileId>) -> bool {
    match (event.origin, event.file) {
        (Origin::Tree | Origin::Observer, _) => false,
        // Any process that needs memory may write it back.
        (_, Some(file)) if file.ino == METADATA_INODE => false,
        (_, Some(file)) => !own_files.contains(&file),
        (origin, None) => origin == Origin::Foreign,
    }
}
