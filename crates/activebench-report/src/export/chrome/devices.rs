//! Requests of each block device of the host, and the number of requests in flight. Requests issued before the start of
//! the run are left out.

use std::collections::HashMap;

use activebench_model::call::DeviceNumber;
use activebench_model::event::{BlockAction, BlockEvent, BlockEventKind, Origin};
use activebench_model::report::JudgedRun;
use activebench_model::source::EventSource;

use super::FIRST_DEVICE;
use super::event::{Args, Event, Trace};
use crate::export::ExportError;
use crate::export::in_order::Late;
use crate::export::names::FileNames;

/// A device of the trace.
struct Device {
    pid: u32,
    /// Completions were seen, so the device's bios are not needed.
    takes_requests: bool,
    /// The request to which the current events belong.
    request: Request,
    in_flight: i64,
}

/// Time span of a request in flight.
#[derive(Clone, Copy)]
enum Request {
    /// From its issue to its completion, in ns.
    Timed(u64, u64),
    /// Its issue was not seen.
    Unseen,
    /// It was issued before the run began.
    BeforeRun,
}

/// The thread of a device's group that shows events without a duration.
const SINGLE: u32 = 1;

pub(super) fn write(
    run: &JudgedRun,
    events: &dyn EventSource,
    names: &FileNames,
    trace: &mut Trace<'_>,
) -> Result<(), ExportError> {
    let mut devices: HashMap<DeviceNumber, Device> = HashMap::new();
    let mut late = Late::new();
    let started_ns = run.manifest.clocks.started_ns;
    let of_run = |event: &BlockEvent| issued_ns(event) >= started_ns;
    for batch in events.block() {
        for event in batch?.iter().filter(|event| of_run(event)) {
            let next = FIRST_DEVICE + devices.len() as u32;
            let device = devices.entry(event.device).or_insert(Device {
                pid: next,
                takes_requests: false,
                request: Request::Unseen,
                in_flight: 0,
            });
            device.takes_requests |= event.kind == BlockEventKind::Completed;
            steps(event).into_iter().flatten().for_each(|(at_ns, step)| late.look(at_ns, (event.device, step)));
        }
    }
    let mut by_pid: Vec<(&DeviceNumber, &Device)> = devices.iter().collect();
    by_pid.sort_unstable_by_key(|(_, device)| device.pid);
    for (number, device) in by_pid {
        trace.process(device.pid, &format!("block device {}", name_of(run, *number)), device.pid)?;
        trace.thread(device.pid, SINGLE, "without a length")?;
    }
    for batch in events.block() {
        for event in &batch? {
            if let Some(device) = devices.get_mut(&event.device) {
                one(event, device, started_ns, names, trace)?;
            }
        }
    }
    let mut in_order = late.again();
    let mut take = |at_ns, (number, step): (DeviceNumber, i64)| -> Result<(), ExportError> {
        let Some(device) = devices.get_mut(&number) else { return Ok(()) };
        device.in_flight += step;
        Ok(trace.counter(device.pid, "queue depth", "requests", at_ns, device.in_flight as f64)?)
    };
    for batch in events.block() {
        for event in batch?.iter().filter(|event| of_run(event)) {
            for (at_ns, step) in steps(event).into_iter().flatten() {
                in_order.push(at_ns, (event.device, step), &mut take)?;
            }
        }
    }
    in_order.finish(&mut take)
}

/// The changes of the queue depth when a request is issued and completed; nothing if its issue was not seen.
fn steps(event: &BlockEvent) -> [Option<(u64, i64)>; 2] {
    let timed = event.kind == BlockEventKind::Completed && event.first_of_request && event.latency_ns > 0;
    match timed {
        true => [Some((issued_ns(event), 1)), Some((event.at_ns, -1))],
        false => [None, None],
    }
}

fn issued_ns(event: &BlockEvent) -> u64 {
    event.at_ns.saturating_sub(event.latency_ns)
}

fn one(
    event: &BlockEvent,
    device: &mut Device,
    started_ns: u64,
    names: &FileNames,
    trace: &mut Trace<'_>,
) -> Result<(), ExportError> {
    let name = match event.action {
        BlockAction::Read => "read",
        BlockAction::Write => "write",
        BlockAction::Flush => "flush",
        BlockAction::Discard => "discard",
        BlockAction::Other => "other",
    };
    let args = Args {
        file: event.file.and_then(|file| names.at(file, event.at_ns)),
        sector: Some(event.sector),
        bytes: Some(event.bytes),
        result: (event.status != 0).then_some(i64::from(event.status)),
        by: (!event.comm.is_empty()).then_some(event.comm.as_str()).or(match event.origin {
            Origin::Unknown => None,
            Origin::Tree => Some("the benchmark"),
            Origin::Observer => Some("activebench"),
            Origin::Kernel => Some("the kernel"),
            Origin::Foreign => Some("another process"),
        }),
        flags: match (event.preflush, event.fua) {
            (true, true) => Some("PREFLUSH FUA"),
            (true, false) => Some("PREFLUSH"),
            (false, true) => Some("FUA"),
            (false, false) => None,
        },
        ..Args::default()
    };
    let mut event_of = Event { name, cat: "request", pid: device.pid, tid: SINGLE, args };
    match event.kind {
        BlockEventKind::Completed => {
            // Further events of a request carry the data of its other files, without a latency.
            if event.first_of_request {
                device.request = match issued_ns(event) {
                    before if before < started_ns => Request::BeforeRun,
                    issued_ns if event.latency_ns > 0 => Request::Timed(issued_ns, event.at_ns),
                    _ => Request::Unseen,
                };
            }
            match device.request {
                Request::Timed(issued_ns, completed_ns) => {
                    event_of.tid = 0;
                    trace.overlapping(&event_of, issued_ns, completed_ns)?;
                }
                Request::Unseen => {
                    event_of.args.start = Some("not seen");
                    trace.instant(&event_of, event.at_ns)?;
                }
                Request::BeforeRun => {}
            }
        }
        _ if event.at_ns < started_ns => {}
        BlockEventKind::Inferred => {
            event_of.cat = "inferred completion";
            trace.instant(&event_of, event.at_ns)?;
        }
        BlockEventKind::Queued if !device.takes_requests => {
            event_of.cat = "bio";
            trace.instant(&event_of, event.at_ns)?;
        }
        BlockEventKind::Queued => {}
    }
    Ok(())
}

fn name_of(run: &JudgedRun, number: DeviceNumber) -> String {
    let layers = run.manifest.host.targets.iter().flat_map(|target| &target.layers);
    let known = layers.filter(|layer| layer.device == number).map(|layer| layer.name.as_str()).next();
    known.map_or_else(|| number.to_string(), |name| format!("{name} ({number})"))
}
