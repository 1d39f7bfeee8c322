//! `chrome-trace`: every recorded call and device request on a timeline, for the Perfetto UI or `chrome://tracing`.
//!
//! The format is Chrome's *Trace Event Format*, one object with `traceEvents`. Times are microseconds since the start
//! of the run. A system call is a complete event (`X`) on its thread. A request of libaio, io_uring or a device
//! overlaps others, so it is a pair of asynchronous events (`b`, `e`) with an id of its own. Events of one kind are in
//! the order in which they were recorded; viewers sort them.

mod calls;
mod devices;
mod event;
mod levels;

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::Path;

use activebench_model::phase::Window;
use activebench_model::report::JudgedRun;
use activebench_model::source::{EventSource, Unreadable};

use self::event::{Args, Event, Trace};
use super::names::FileNames;
use super::{Export, ExportError, gaps_of_the_record};
use crate::wording::shell_command;

/// Process ids that no real process has: Linux assigns none above 2^22.
const PHASES: u32 = 1 << 23;
const HOST: u32 = PHASES + 1;
const FIRST_DEVICE: u32 = PHASES + 2;
/// The thread of the phases' group that shows syncs. Its other threads are lanes of phases.
const SYNCS: u32 = 1 << 16;

/// A trace for the Perfetto UI.
pub(super) struct ChromeTrace;

impl Export for ChromeTrace {
    fn name(&self) -> &'static str {
        "chrome-trace"
    }

    fn shows_timelines(&self) -> bool {
        true
    }

    fn write(
        &self,
        run: &JudgedRun,
        events: &dyn EventSource,
        _file: Option<&Path>,
        out: &mut dyn io::Write,
    ) -> Result<Vec<String>, ExportError> {
        let gaps = gaps_of_the_record(run);
        if !has_any(events.calls())? && !has_any(events.block())? {
            return Err(ExportError::Nothing(
                std::iter::once("the run has no recorded call or device request".to_owned())
                    .chain(gaps)
                    .collect::<Vec<_>>()
                    .join("; "),
            ));
        }
        let names = FileNames::read(events)?;
        let mut trace = Trace::begin(out, run.manifest.clocks.started_ns, &other_data(run, &gaps))?;
        phases(run, &mut trace)?;
        tasks(events, &mut trace)?;
        calls::write(events, &names, &mut trace)?;
        devices::write(run, events, &names, &mut trace)?;
        levels::write(run, &mut trace)?;
        trace.end()?;
        Ok(gaps)
    }
}

fn has_any<T>(batches: impl Iterator<Item = Result<Vec<T>, Unreadable>>) -> Result<bool, Unreadable> {
    for batch in batches {
        if !batch?.is_empty() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Metadata of the trace.
fn other_data(run: &JudgedRun, gaps: &[String]) -> BTreeMap<&'static str, String> {
    let manifest = &run.manifest;
    let whole = "every recorded call and device request is here".to_owned();
    BTreeMap::from([
        ("activebench", manifest.activebench.clone()),
        ("command", shell_command(&manifest.command.argv)),
        ("kernel", manifest.host.kernel.clone()),
        ("started_unix_s", manifest.clocks.started_unix_s.to_string()),
        ("verdict", run.verdict.as_str().to_owned()),
        ("record", if gaps.is_empty() { whole } else { gaps.join("; ") }),
    ])
}

/// Writes the passes by the tool's clock. Overlapping passes get separate lanes.
fn phases(run: &JudgedRun, trace: &mut Trace<'_>) -> io::Result<()> {
    trace.process(PHASES, "passes, by the tool's clock", 0)?;
    trace.thread(PHASES, SYNCS, "syncs")?;
    let mut windows: Vec<(Window, usize)> =
        run.phases.iter().enumerate().filter_map(|(number, phase)| Some((phase.window?, number))).collect();
    windows.sort_by_key(|(window, number)| (window.start_ns, window.end_ns, *number));
    let mut free_ns: Vec<u64> = Vec::new();
    for (window, number) in windows {
        let lane = match free_ns.iter().position(|free_ns| *free_ns <= window.start_ns) {
            Some(lane) => lane,
            None => {
                free_ns.push(0);
                trace.thread(PHASES, free_ns.len() as u32, "passes")?;
                free_ns.len() - 1
            }
        };
        free_ns[lane] = window.end_ns;
        let phase = &run.phases[number];
        let args = Args { phase: Some(&phase.id), clock: Some(&phase.clock), ..Args::default() };
        let event = Event { name: &phase.name, cat: "phase", pid: PHASES, tid: lane as u32 + 1, args };
        trace.complete(&event, window.start_ns, window.end_ns)?;
    }
    Ok(())
}

/// Writes the last seen names of processes and threads, in the order in which they were created.
fn tasks(events: &dyn EventSource, trace: &mut Trace<'_>) -> Result<(), ExportError> {
    let mut order: Vec<(u32, u32)> = Vec::new();
    let mut named: HashMap<(u32, u32), (u64, String)> = HashMap::new();
    for batch in events.tasks() {
        for event in batch? {
            let task = (event.tgid, event.tid);
            let name = named.entry(task).or_insert_with(|| {
                order.push(task);
                (0, String::new())
            });
            if !event.comm.is_empty() && event.at_ns >= name.0 {
                *name = (event.at_ns, event.comm);
            }
        }
    }
    for (place, (tgid, tid)) in order.into_iter().enumerate() {
        let name = named.get(&(tgid, tid)).map_or("", |(_, name)| name.as_str());
        if tgid == tid {
            trace.process(tgid, name, place as u32 + 1)?;
        }
        trace.thread(tgid, tid, name)?;
    }
    Ok(())
}
