//! A phase's facts from the block layer.

use std::collections::BTreeMap;

use activebench_model::call::FileId;
use activebench_model::fact::{Fact, FactName, Facts, Scope};
use activebench_model::hook::Hook;
use activebench_model::phase::{Direction, Phase, Window};
use activebench_model::run::Manifest;
use activebench_model::units::Quantity;
use foldhash::{HashMap, HashSet};

use super::Gaps;
use super::call_facts::DurableEnds;
use super::depth::QueueDepth;
use super::device::{Below, BelowTally, DevicePlan, DeviceSeen, Devices, DevicesOfFiles, FilePlan};
use super::index::Index;
use super::latency::LatencyNames;
use super::rate_in_fifths::FifthNames;
use super::record_losses::Gap;
use super::windows::end_of;

/// Source of completions.
pub(super) const COMPLETED_HOOK: &str = Hook::RequestComplete.name();
/// Source of queued bios.
pub(super) const QUEUED_HOOK: &str = Hook::BioQueue.name();

const OF_DEVICE: [FactName; 19] = [
    FactName::DeviceReadBytes,
    FactName::DeviceReadBegunBytes,
    FactName::DeviceWriteBytes,
    FactName::DeviceWriteBytesDurable,
    FactName::DeviceTotalBytes,
    FactName::ForeignBytes,
    FactName::DeviceBusy,
    FactName::DeviceBusyError,
    FactName::DeviceRequests,
    FactName::DeviceLatencyMean,
    FactName::DeviceLatencyP50,
    FactName::DeviceLatencyP95,
    FactName::DeviceLatencyP99,
    FactName::DeviceLatencyP999,
    FactName::DeviceLatencyMax,
    FactName::DeviceQueueDepthMean,
    FactName::DeviceQueueDepthMax,
    FactName::Flushes,
    FactName::FuaWrites,
];

/// Facts of `OF_DEVICE` that need the time from issue to completion.
const OF_REQUESTS: [FactName; 10] = [
    FactName::DeviceBusy,
    FactName::DeviceBusyError,
    FactName::DeviceLatencyMean,
    FactName::DeviceLatencyP50,
    FactName::DeviceLatencyP95,
    FactName::DeviceLatencyP99,
    FactName::DeviceLatencyP999,
    FactName::DeviceLatencyMax,
    FactName::DeviceQueueDepthMean,
    FactName::DeviceQueueDepthMax,
];

/// Plans which events count for a phase, and at which devices. `together` is when all its tasks were at work.
pub(super) fn plan(
    manifest: &Manifest,
    index: &Index<'_>,
    phase: &Phase,
    durable: &DurableEnds,
    together: Result<Window, String>,
) -> DevicePlan {
    let window = phase.window.unwrap_or(Window { start_ns: 0, end_ns: 0 });
    let mut files = HashMap::default();
    let mut all = HashSet::default();
    let mut why_none = None;
    let mut over_ns: BTreeMap<FileId, u64> = BTreeMap::new();
    for part in &phase.parts {
        let over = over_ns.entry(part.file).or_default();
        *over = end_of(part).max(part.last_data_ns).max(*over);
    }
    let mut devices_of_files = DevicesOfFiles::new(&manifest.host);
    for (file, over_ns) in over_ns {
        let devices = match devices_of_files.of(file) {
            Ok(devices) => devices,
            Err(why) => {
                why_none = Some(why);
                continue;
            }
        };
        all.extend(devices.iter().copied());
        let durable_ns = match durable.get(&file) {
            Some(Ok(end_ns)) => *end_ns,
            Some(Err(_)) => index.opened_from(file, over_ns).unwrap_or(if manifest.clocks.ended_ns > 0 {
                manifest.clocks.ended_ns
            } else {
                u64::MAX
            }),
            None => window.end_ns,
        };
        files.insert(file, FilePlan { durable_ns, devices });
    }
    let all_durable = durable.values().copied().collect::<Result<Vec<u64>, u64>>();
    let until_durable = all_durable.ok().and_then(|ends| ends.into_iter().max());
    let span_end_ns = until_durable.map_or(window.end_ns, |end_ns| end_ns.max(window.end_ns));
    let devices = match why_none {
        // Figures of only a part of the files would look complete.
        Some(why) => Err(why),
        None if all.is_empty() => Err("the phase has no files".to_owned()),
        None => Ok(all),
    };
    let together = Some(together);
    let targets = manifest.host.targets_of(phase.parts.iter().map(|part| part.file));
    let below = Below::of(targets);
    DevicePlan { window, files, devices, span_end_ns, direction: phase.direction, together, below }
}

/// Adds the facts on the device activity of a phase.
pub(super) fn add(gaps: &Gaps, seen: DeviceSeen, facts: &mut Facts) {
    let DeviceSeen { plan, devices, tally: mut device, below, below_takes_bios } = seen;
    let window = plan.window;
    let (gap, source, by_requests) = match &devices {
        Devices::Requests(_) => (&gaps.completed, COMPLETED_HOOK.to_owned(), true),
        Devices::Bios(_) => (&gaps.queued, format!("{QUEUED_HOOK} (the device takes bios, no requests)"), false),
        Devices::None(why) => {
            for name in OF_DEVICE {
                facts.insert(name, Fact::missing(why.clone(), Scope::Device, COMPLETED_HOOK));
            }
            if plan.direction == Direction::Discard {
                let missing = Fact::missing(why.clone(), Scope::Device, COMPLETED_HOOK);
                facts.insert(FactName::DeviceDiscardBytes, missing);
            }
            if plan.together.is_some() {
                FifthNames::DEVICE.missing(why, Scope::Device, COMPLETED_HOOK, facts);
            }
            return;
        }
    };
    match (&device.fifths, &plan.together) {
        (Some(fifths), _) => fifths.add_facts(&FifthNames::DEVICE, gap, Scope::Device, &source, facts),
        (None, Some(Err(why))) => FifthNames::DEVICE.missing(why, Scope::Device, &source, facts),
        (None, _) => {}
    }
    let mut put = |name, quantity| facts.insert(name, gap.fact(quantity, Scope::Device, &source));
    put(FactName::DeviceReadBytes, Quantity::bytes(device.read_bytes));
    if plan.together.is_some() {
        put(FactName::DeviceReadBegunBytes, Quantity::bytes(device.read_begun_bytes));
    }
    put(FactName::DeviceWriteBytes, Quantity::bytes(device.write_bytes));
    put(FactName::DeviceWriteBytesDurable, Quantity::bytes(device.durable_write_bytes));
    put(FactName::DeviceTotalBytes, Quantity::bytes(device.total_bytes));
    put(FactName::ForeignBytes, Quantity::bytes(device.foreign_bytes));
    put(FactName::DeviceRequests, Quantity::count(device.requests));
    if plan.direction == Direction::Discard {
        put(FactName::DeviceDiscardBytes, Quantity::bytes(device.discard_bytes));
    }
    put(FactName::Flushes, Quantity::count(device.flushes));
    put(FactName::FuaWrites, Quantity::count(device.fua_writes));
    add_below(gaps, &below, below_takes_bios, facts);
    if !by_requests {
        let why = "the device takes bios and reports no completions";
        for name in OF_REQUESTS {
            facts.insert(name, Fact::missing(why, Scope::Device, &source));
        }
        return;
    }
    let unissued = |count: u64| (count > 0).then(|| format!("the issue of {count} requests was not seen"));
    // Up to 1 % of completions may be inferred from later events: neither figure changes noticeably.
    let inferred = (device.inferred * 100 > device.requests)
        .then(|| format!("the completion of {} of {} requests was not seen", device.inferred, device.requests));
    let untimed = device.requests - device.inferred - device.timed_requests;
    let timed = gap.clone().and_lost(inferred.clone());
    let issued = gap.clone().and_lost(unissued(device.unissued));
    let busy_ns = device.busy.length();
    let busy = timed.clone().and_lost(unissued(device.unissued));
    facts.insert(FactName::DeviceBusy, busy.fact(Quantity::ns(busy_ns), Scope::Device, &source));
    let error = match (device.inferred, most_unseen(facts)) {
        (0, _) => issued.fact(Quantity::ns(0), Scope::Device, &source),
        (_, Ok(most_ns)) => {
            let rest_ns = window.duration_ns().saturating_sub(busy_ns);
            issued.fact(Quantity::ns((most_ns as u64).min(rest_ns)), Scope::Device, &source)
        }
        (_, Err(why)) => Fact::missing(why, Scope::Device, &source),
    };
    facts.insert(FactName::DeviceBusyError, error);
    if device.timed_requests == 0 {
        for name in LatencyNames::DEVICE.all().chain([FactName::DeviceLatencyMean]) {
            let why = "no request of the phase's files was timed in the pass";
            facts.insert(name, Fact::missing(why, Scope::Device, &source));
        }
    } else {
        let mean = device.latency_ns as f64 / device.timed_requests as f64;
        let mean = (FactName::DeviceLatencyMean, Quantity { value: mean, ..Quantity::ns(0) });
        let gap = timed.and_lost(unissued(untimed));
        for (name, latency) in device.latencies.quantities(&LatencyNames::DEVICE).into_iter().flatten().chain([mean]) {
            facts.insert(name, gap.fact(latency, Scope::Device, &source));
        }
    }
    // Both kinds are missing from the requests in flight.
    let unseen = untimed + device.inferred;
    let unseen = (unseen * 100 > device.requests)
        .then(|| format!("the issue or completion of {unseen} of {} requests was not seen", device.requests));
    add_depth(&gap.clone().and_lost(unseen), &source, window, device.depth, facts);
}

/// Adds the bytes that the devices below moved, at the level that moved least.
fn add_below(gaps: &Gaps, levels: &[BelowTally], takes_bios: bool, facts: &mut Facts) {
    let gap = match takes_bios {
        false => gaps.completed.clone(),
        true => gaps.completed.clone().and(&gaps.queued),
    };
    let is_uncertain = levels.iter().any(|level| level.uncertain_bytes > 0);
    let gap = gap.and_lost(
        is_uncertain.then(|| "the backing file of a loop device is not identified: an upper bound".to_owned()),
    );
    let source = format!("{COMPLETED_HOOK}, {QUEUED_HOOK}");
    let mut put = |name, least: Option<u64>| {
        if let Some(least) = least {
            facts.insert(name, gap.fact(Quantity::bytes(least), Scope::Device, &source));
        }
    };
    put(FactName::BelowReadBytes, levels.iter().map(|level| level.read_bytes).min());
    put(FactName::BelowWriteBytes, levels.iter().map(|level| level.write_bytes).min());
    put(FactName::BelowWriteBytesDurable, levels.iter().map(|level| level.durable_write_bytes).min());
}

/// Returns how much of the window requests of the phase can have been in flight, seen or not.
///
/// # Errors
/// Returns the reason when they may be in flight outside its calls, or when the calls' times are unknown.
fn most_unseen(facts: &Facts) -> Result<f64, String> {
    match facts.complete(FactName::DirectShare)? {
        direct if direct >= 1.0 => facts.complete(FactName::InFlight),
        _ => Err("readahead and writeback go on between the calls".to_owned()),
    }
}

fn add_depth(gap: &Gap, source: &str, window: Window, depth: QueueDepth, facts: &mut Facts) {
    let mean = match depth.mean(window) {
        Some(mean) => gap.fact(Quantity { value: mean, ..Quantity::count(0) }, Scope::Device, source),
        None => Fact::missing("the pass does not have a measurable duration", Scope::Device, source),
    };
    facts.insert(FactName::DeviceQueueDepthMean, mean);
    let most = match depth.most() {
        Ok(most) => gap.fact(Quantity::count(most), Scope::Device, source),
        Err(most) => {
            let gap = gap.clone().and_lost(Some("completions came out of order: an upper bound".to_owned()));
            gap.fact(Quantity::count(most), Scope::Device, source)
        }
    };
    facts.insert(FactName::DeviceQueueDepthMax, most);
}
