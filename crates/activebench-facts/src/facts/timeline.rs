//! The timelines of the phases: the time series behind their charts.
//!
//! Every kind of event is read once, after the facts, and only for outputs that show time series. Memory: a fixed size
//! per phase and file, and the syncs of the phases' files. Nothing grows with the number of calls.

mod axis;
mod times;

use activebench_model::call::{Call, DeviceNumber, FileId};
use activebench_model::event::{BlockAction, BlockEvent, BlockEventKind};
use activebench_model::fact::Completeness;
use activebench_model::phase::{Part, Phase, Window};
use activebench_model::readings::Watched;
use activebench_model::run::Manifest;
use activebench_model::source::{EventSource, Unreadable};
use activebench_model::timeline::{
    LatencyHistogram, LatencyOf, OffsetMap, SyncMark, Timeline, TimelineFigure, TimelineSeries,
};
use foldhash::HashSet;

use super::Gaps;
use super::device::{ByKind, Devices, DevicesOfFiles, Request, Requests, Seen};
use super::index::Index;
use super::latency::{Latencies, Timing};
use super::record_losses::Gap;
use super::span_index::KeyedSpans;
use super::syncs::{Sync, SyncLog};
use super::windows::{end_of, has_size, is_of, is_on};
use crate::activity::Stub;
use axis::Axis;
use times::Times;

/// Number of steps of a timeline.
const STEPS: usize = 120;
/// Largest number of phases with a timeline.
const MOST_TIMELINES: usize = 64;
/// Largest number of syncs that are marked in a timeline.
const MOST_SYNCS: usize = 64;
/// Largest number of files of a phase with a map.
const MOST_MAPS: usize = 4;
/// Largest number of rows of a map.
const MAP_ROWS: u64 = 32;
/// Number of steps in a column of a map.
const COLUMN_STEPS: usize = 2;

/// Returns the timelines of the phases that have a window, in the order of the phases; of many phases only the first
/// ones. The windows must be resolved.
///
/// # Errors
/// Returns the errors of the source.
pub fn timelines(
    source: &dyn EventSource,
    manifest: &Manifest,
    index: &Index<'_>,
    phases: &[Phase],
) -> Result<Vec<Timeline>, Unreadable> {
    let with_window = phases.iter().enumerate().filter_map(|(number, phase)| Some((number, phase, phase.window?)));
    let mut plans: Vec<Plan<'_>> = with_window
        .take(MOST_TIMELINES)
        .map(|(number, phase, window)| Plan::new(number, phase, window, index))
        .collect();
    if plans.is_empty() {
        return Ok(Vec::new());
    }
    let syncs = SyncLog::new(index, phases);
    read_calls(source, index, &mut plans)?;
    let seen = read_block(source, manifest, &mut plans)?;
    read_cache(source, &mut plans)?;
    let axes: Vec<(usize, Axis)> = plans.iter().map(|plan| (plan.number, plan.axis)).collect();
    let times = times::read(source, index, phases, &axes)?;
    let timeline = |(plan, times): (Plan<'_>, Times)| plan.timeline(manifest, index, &seen, &syncs, times);
    Ok(plans.into_iter().zip(times).map(timeline).collect())
}

/// The data collected for one phase.
struct Plan<'a> {
    number: usize,
    phase: &'a Phase,
    window: Window,
    axis: Axis,
    files: HashSet<FileId>,
    read_bytes: Vec<f64>,
    write_bytes: Vec<f64>,
    calls: Vec<f64>,
    call_latencies: Latencies,
    devices: Result<HashSet<DeviceNumber>, String>,
    of_devices: ByKind<DeviceSums>,
    inserted_bytes: Vec<f64>,
    maps: Vec<OffsetMap>,
}

/// The device data of one phase.
#[derive(Clone)]
struct DeviceSums {
    read_bytes: Vec<f64>,
    write_bytes: Vec<f64>,
    /// Nanoseconds in flight.
    in_flight_ns: Vec<f64>,
    latencies: Latencies,
    /// Serial number of the last request that was in flight.
    last_request: Option<u64>,
}

impl<'a> Plan<'a> {
    fn new(number: usize, phase: &'a Phase, window: Window, index: &Index<'_>) -> Self {
        let last_ns = |part: &Part| {
            let syncs = part.sync_after.iter().chain(&part.sync_inside).map(|sync| sync.end_ns);
            syncs.fold(part.last_data_ns, u64::max)
        };
        let end_ns = phase.parts.iter().map(last_ns).fold(window.end_ns, u64::max);
        let axis = Axis::around(Window { start_ns: window.start_ns, end_ns }, STEPS);
        let mut files = HashSet::default();
        let mut mapped = Vec::new();
        for part in &phase.parts {
            if files.insert(part.file) && mapped.len() < MOST_MAPS {
                mapped.push(part.file);
            }
        }
        let map = |file: &FileId| OffsetMap {
            file: *file,
            name: None,
            row_bytes: index.file_end(*file).div_ceil(MAP_ROWS).max(1),
            column_steps: COLUMN_STEPS,
            hits: Vec::new(),
        };
        let nothing = || vec![0.0; STEPS];
        let of_devices = DeviceSums {
            read_bytes: nothing(),
            write_bytes: nothing(),
            in_flight_ns: nothing(),
            latencies: Latencies::default(),
            last_request: None,
        };
        Self {
            number,
            phase,
            window,
            axis,
            maps: mapped.iter().map(map).collect(),
            files,
            read_bytes: nothing(),
            write_bytes: nothing(),
            calls: nothing(),
            call_latencies: Latencies::default(),
            devices: Err("the phase has no files".to_owned()),
            of_devices: ByKind { completed: of_devices.clone(), queued: of_devices },
            inserted_bytes: nothing(),
        }
    }

    fn add_call(&mut self, call: &Call) {
        let bytes = u64::try_from(call.returned).unwrap_or(0);
        let sums = if call.op.is_read() { Some(&mut self.read_bytes) } else { None };
        let sums = if call.op.is_write() { Some(&mut self.write_bytes) } else { sums };
        if let Some(sums) = sums {
            self.axis.spread(sums, call.start_ns, call.end_ns, bytes as f64);
        }
        let Some(step) = self.axis.step_of(call.end_ns) else { return };
        self.calls[step] += 1.0;
        if self.window.contains(call.end_ns) {
            self.call_latencies.record(call.end_ns.saturating_sub(call.start_ns), Timing::of(call));
        }
        let (Ok(offset), Some(file), 1..) = (u64::try_from(call.offset), call.file, bytes) else { return };
        let Some(map) = self.maps.iter_mut().find(|map| map.file == file) else { return };
        let last_row = MAP_ROWS - 1;
        let rows = [offset, offset.saturating_add(bytes - 1)].map(|at| (at / map.row_bytes).min(last_row) as usize);
        map.hits.resize_with(map.hits.len().max(rows[1] + 1), || vec![0; STEPS.div_ceil(COLUMN_STEPS)]);
        map.hits[rows[0]..=rows[1]].iter_mut().for_each(|row| row[step / COLUMN_STEPS] += 1);
    }

    fn add_block(&mut self, event: &BlockEvent, request: Option<Request>) {
        let by_request = event.kind == BlockEventKind::Completed;
        let matches = self.devices.as_ref().is_ok_and(|devices| devices.contains(&event.device));
        let of_devices = self.of_devices.of(event);
        let sums = match event.action {
            BlockAction::Read => &mut of_devices.read_bytes,
            BlockAction::Write => &mut of_devices.write_bytes,
            _ => return,
        };
        if !matches || event.status != 0 {
            return;
        }
        let request = request.filter(|_| by_request);
        let issued_ns = event.at_ns.saturating_sub(request.map_or(0, |request| request.latency_ns));
        self.axis.spread(sums, issued_ns, event.at_ns, event.bytes as f64);
        let Some(request) = request.filter(|request| request.latency_ns > 0) else { return };
        // A request with data of several files has one event per file.
        if of_devices.last_request.replace(request.serial) == Some(request.serial) {
            return;
        }
        self.axis.spread(&mut of_devices.in_flight_ns, issued_ns, event.at_ns, request.latency_ns as f64);
        if self.window.contains(event.at_ns) {
            of_devices.latencies.record(request.latency_ns, Timing::ALONE);
        }
    }

    fn timeline(
        self,
        manifest: &Manifest,
        index: &Index<'_>,
        seen: &Seen,
        syncs: &SyncLog<'_>,
        times: Times,
    ) -> Timeline {
        let devices = seen.devices(self.devices);
        let of_devices = self.of_devices.at(&devices);
        let gaps = Gaps::of_log(manifest, self.axis.end_ns());
        let no_data = |gap: &Gap| match self.phase.parts.is_empty() {
            true => Gap::Missing("the pass moves no data".to_owned()),
            false => gap.clone(),
        };
        let (device_gap, depth_gap) = match &devices {
            Devices::Requests(_) => (no_data(&gaps.completed), no_data(&gaps.completed)),
            Devices::Bios(_) => (no_data(&gaps.queued), Gap::Missing("the device takes bios, no requests".to_owned())),
            Devices::None(why) => (Gap::Missing(why.clone()), Gap::Missing(why.clone())),
        };
        let calls_gap = no_data(&gaps.calls);
        let step_ns = self.axis.step_ns as f64;
        let a_second = |sums: &[f64]| sums.iter().map(|sum| Some(sum * 1e9 / step_ns)).collect();
        let in_flight = || of_devices.in_flight_ns.iter().map(|sum| Some(sum / step_ns)).collect();
        let one = |name: TimelineFigure| {
            let (gap, values): (Gap, Vec<Option<f64>>) = match name {
                TimelineFigure::CallReadRate => (calls_gap.clone(), a_second(&self.read_bytes)),
                TimelineFigure::CallWriteRate => (calls_gap.clone(), a_second(&self.write_bytes)),
                TimelineFigure::CallRate => (calls_gap.clone(), a_second(&self.calls)),
                TimelineFigure::DeviceReadRate => (device_gap.clone(), a_second(&of_devices.read_bytes)),
                TimelineFigure::DeviceWriteRate => (device_gap.clone(), a_second(&of_devices.write_bytes)),
                TimelineFigure::DeviceQueueDepth => (depth_gap.clone(), in_flight()),
                TimelineFigure::CacheInsertedRate => (no_data(&gaps.cache), a_second(&self.inserted_bytes)),
                TimelineFigure::HostDirtyBytes => dirty(manifest, self.axis),
                TimelineFigure::UserRatio => times.ratios(&gaps.cpu, 0),
                TimelineFigure::KernelRatio => times.ratios(&gaps.cpu, 1),
                TimelineFigure::IoWaitRatio => times.ratios(&gaps.cpu, 2),
                TimelineFigure::BlockedRatio => times.ratios(&gaps.cpu, 3),
                TimelineFigure::PreemptedRatio => times.ratios(&gaps.cpu, 4),
            };
            let values = if matches!(gap, Gap::Missing(_)) { Vec::new() } else { values };
            TimelineSeries { name, completeness: completeness(&gap), values }
        };
        let series = TimelineFigure::ALL.iter().map(|name| one(*name)).collect();
        let (marks, syncs_left_out) = marks(&self.files, syncs, self.axis);
        let latencies = vec![
            LatencyHistogram {
                of: LatencyOf::Calls,
                completeness: completeness(&calls_gap),
                buckets: self.call_latencies.buckets(),
            },
            LatencyHistogram {
                of: LatencyOf::Device,
                completeness: completeness(&depth_gap),
                buckets: of_devices.latencies.buckets(),
            },
        ];
        let named = |mut map: OffsetMap| {
            let seen = index.files.iter().find(|file| file.id == map.file);
            map.name = seen.and_then(|file| file.names.last().cloned());
            map
        };
        Timeline {
            phase: self.phase.id.clone(),
            start_ns: self.axis.start_ns,
            step_ns: self.axis.step_ns,
            steps: self.axis.steps,
            series,
            syncs: marks,
            syncs_left_out,
            latencies,
            files_left_out: self.files.len().saturating_sub(self.maps.len()),
            maps: self.maps.into_iter().map(named).collect(),
        }
    }
}

fn completeness(gap: &Gap) -> Completeness {
    match gap {
        Gap::None => Completeness::Complete,
        Gap::Partial(lost) => Completeness::Partial(lost.clone()),
        Gap::Missing(why) => Completeness::Missing(why.clone()),
    }
}

/// Adds the calls to their phases.
fn read_calls(source: &dyn EventSource, index: &Index<'_>, plans: &mut [Plan<'_>]) -> Result<(), Unreadable> {
    let stub = Stub::new(index.tasks, index.execs);
    let parts: Vec<(usize, &Part)> =
        plans.iter().enumerate().flat_map(|(plan, of)| of.phase.parts.iter().map(move |part| (plan, part))).collect();
    let span = |(number, (_, part)): (usize, &(usize, &Part))| {
        ((part.tgid, part.fd), (part.start_ns, end_of(part).max(part.last_data_ns), number))
    };
    let mut by_descriptor = KeyedSpans::new(parts.iter().enumerate().map(span));
    for batch in source.calls() {
        for call in batch?.iter().filter(|call| !stub.made(call.tgid, call.start_ns)) {
            let at_once = by_descriptor.next_overlapping((call.tgid, call.fd), call.start_ns, call.start_ns);
            for (plan, part) in at_once.map(|number| parts[number]) {
                let phase = plans[plan].phase;
                if is_on(part, call) && is_of(phase.direction, call) && has_size(phase.call_bytes, call) {
                    plans[plan].add_call(call);
                }
            }
        }
    }
    Ok(())
}

/// Returns the plans by their files, over their whole axes.
fn by_file(plans: &[Plan<'_>]) -> KeyedSpans<FileId> {
    let spans = plans.iter().enumerate().flat_map(|(number, plan)| {
        let span = (plan.axis.start_ns, plan.axis.end_ns(), number);
        plan.files.iter().map(move |file| (*file, span))
    });
    KeyedSpans::new(spans)
}

/// Adds the block events to their phases; returns the devices that had events.
fn read_block(source: &dyn EventSource, manifest: &Manifest, plans: &mut [Plan<'_>]) -> Result<Seen, Unreadable> {
    let mut devices_of_files = DevicesOfFiles::new(&manifest.host);
    for plan in plans.iter_mut().filter(|plan| !plan.files.is_empty()) {
        plan.devices = plan.files.iter().try_fold(HashSet::default(), |mut all, file| {
            all.extend(devices_of_files.of(*file)?.iter());
            Ok(all)
        });
    }
    let by_file = by_file(plans);
    let mut requests = Requests::default();
    let mut seen = Seen::default();
    for batch in source.block() {
        for event in &batch? {
            seen.feed(event);
            let request = requests.of(event);
            let Some(file) = event.file else { continue };
            let issued_ns = event.at_ns.saturating_sub(request.map_or(0, |request| request.latency_ns));
            for plan in by_file.overlapping(file, issued_ns, event.at_ns) {
                plans[plan].add_block(event, request);
            }
        }
    }
    Ok(seen)
}

fn read_cache(source: &dyn EventSource, plans: &mut [Plan<'_>]) -> Result<(), Unreadable> {
    let by_file = by_file(plans);
    for batch in source.cache() {
        for event in &batch? {
            for plan in by_file.overlapping(event.file, event.at_ns, event.at_ns) {
                let plan = &mut plans[plan];
                plan.axis.spread(&mut plan.inserted_bytes, event.at_ns, event.at_ns, event.bytes as f64);
            }
        }
    }
    Ok(())
}

/// Returns the host's dirty pages in the middle of each step, interpolated between the readings around it.
fn dirty(manifest: &Manifest, axis: Axis) -> (Gap, Vec<Option<f64>>) {
    let missing = |why: &str| (Gap::Missing(why.to_owned()), Vec::new());
    let Some(readings) = &manifest.host.readings else { return missing("this run has no readings of the host") };
    let series = match readings.find(Watched::DirtyBytes, "") {
        Ok(series) => series,
        Err(unread) => return missing(unread.map_or("it was not read", |unread| unread.why.as_str())),
    };
    let at = |step: usize| {
        let (start_ns, end_ns) = axis.bounds(step);
        let middle_ns = start_ns + (end_ns - start_ns) / 2;
        let after = series.readings.partition_point(|(at_ns, _)| *at_ns < middle_ns);
        let (before_ns, before) = *series.readings.get(after.checked_sub(1)?)?;
        let (after_ns, after) = *series.readings.get(after)?;
        let share = (middle_ns - before_ns) as f64 / (after_ns - before_ns) as f64;
        Some(before as f64 + (after as f64 - before as f64) * share)
    };
    (Gap::None, (0..axis.steps).map(at).collect())
}

/// Returns the syncs of files inside an axis, only the longest where there are many, and the number left out.
fn marks(files: &HashSet<FileId>, syncs: &SyncLog<'_>, axis: Axis) -> (Vec<SyncMark>, u64) {
    let in_time = |sync: &Sync| (sync.start_ns, sync.end_ns, sync.op);
    let only_longest = |longest: &mut Vec<Sync>| {
        longest.sort_by_key(|sync| (std::cmp::Reverse(sync.end_ns - sync.start_ns), in_time(sync)));
        longest.truncate(MOST_SYNCS);
    };
    let files: Vec<FileId> = files.iter().copied().collect();
    let mut longest: Vec<Sync> = Vec::new();
    let mut all = 0_u64;
    syncs.each_between(&files, axis.start_ns, axis.end_ns(), |sync| {
        all += 1;
        longest.push(sync);
        if longest.len() >= 4 * MOST_SYNCS {
            only_longest(&mut longest);
        }
    });
    only_longest(&mut longest);
    longest.sort_by_key(in_time);
    let mark = |sync: &Sync| SyncMark { call: sync.op.name().to_owned(), start_ns: sync.start_ns, end_ns: sync.end_ns };
    let marks: Vec<SyncMark> = longest.iter().map(mark).collect();
    let left_out = all - marks.len() as u64;
    (marks, left_out)
}
