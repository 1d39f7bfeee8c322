//! The window of iozone's clock inside one pass of its file.
//!
//! One pass is from one open to its close. Excluded are the priming record of read and
//! reread, and everything that the options leave outside the clock.

use activebench_model::activity::{CallBrief, CallSpan, Pass, Step, StepKind};
use activebench_model::call::Op;

use super::catalogue::Kind;
use super::options::Options;
use super::plan::Planned;

/// The window of the clock in a pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Clock {
    /// Entry of the first call inside the clock.
    pub start_ns: u64,
    /// End of the clock, unless something stopped it early.
    pub end_ns: u64,
    /// Exit of the last data call.
    pub last_data_ns: u64,
    /// Bytes moved inside, without the priming record; `None` for a mapped file.
    pub bytes: Option<u64>,
    /// The sync inside the clock.
    pub sync_inside: Option<CallSpan>,
    /// The sync of a stonewalled writer under -e: it syncs when it stops its clock, then writes on.
    /// The clock ends with this sync.
    pub stopped_by: Option<CallSpan>,
    /// Reason why `end_ns` is not exact.
    pub doubt: Option<String>,
}

/// Returns true if a pass moves data. iozone also opens its file to test that it can, to
/// create it, and once more before fread: those opens carry no data.
pub(super) fn moves_data(pass: &Pass) -> bool {
    pass.steps.iter().any(|step| match step.kind {
        StepKind::Read | StepKind::Write => step.calls > 0,
        StepKind::Map => true,
        _ => false,
    })
}

/// Finds the clock's window; the error says why there is none.
pub(super) fn clock(pass: &Pass, planned: &Planned, options: &Options) -> Result<Clock, String> {
    let mapped = options.mapping.active() && pass.steps.iter().any(|step| step.kind == StepKind::Map);
    let mut clock = if mapped { mapped_clock(pass, options)? } else { call_clock(pass, planned, options)? };
    if options.include_close {
        match pass.close {
            Some(close) => clock.end_ns = clock.end_ns.max(close.end_ns),
            None => clock.doubt = Some("the close that the clock covers was not seen".to_owned()),
        }
    }
    Ok(clock)
}

/// Returns how much of the phase's `untimed_start_ns` this pass may contain: its clock has begun by its first data call.
/// A mapped file has none.
pub(super) fn untimed_start_ns(pass: &Pass, start_ns: u64, most_ns: u64) -> u64 {
    let heads = pass.steps.iter().filter(|step| is_data(step)).flat_map(|step| {
        let calls = step.head.iter().filter(|call| call.span.op.is_data()).map(|call| call.span.start_ns);
        calls.chain([step.start_ns])
    });
    let first_ns = heads.filter(|at_ns| *at_ns >= start_ns).min();
    first_ns.map_or(most_ns, |first_ns| most_ns.min(first_ns - start_ns))
}

/// Returns true if a step consists of calls that move data.
pub(super) fn is_data(step: &Step) -> bool {
    matches!(step.kind, StepKind::Read | StepKind::Write) && step.calls > 0
}

fn call_clock(pass: &Pass, planned: &Planned, options: &Options) -> Result<Clock, String> {
    let steps = &pass.steps;
    let nothing = || "the pass moved no data by calls".to_owned();
    let mut first = steps.iter().position(is_data).ok_or_else(nothing)?;
    let last = steps.iter().rposition(is_data).ok_or_else(nothing)?;
    let mut start_ns = steps[first].start_ns;
    let mut untimed = 0;
    // With -Z a writer begins with an untimed page too.
    let written_first = options.mixed_mapping && matches!(planned.kind, Kind::Write | Kind::Rewrite);
    if !planned.throughput && (planned.kind.is_primed() || written_first) {
        match priming(&steps[first]) {
            Priming::None => {}
            Priming::Inside { bytes, next_start_ns } => {
                untimed = bytes;
                start_ns = next_start_ns;
            }
            // Another call separates the untimed record from the timed ones.
            Priming::Alone { bytes } => {
                untimed = bytes;
                first = (first + 1..steps.len())
                    .find(|&index| is_data(&steps[index]))
                    .ok_or("only the untimed record was read")?;
                start_ns = steps[first].start_ns;
            }
        }
    } else if planned.kind.seeks_first()
        && let Some(seek) = first.checked_sub(1).map(|before| &steps[before])
        && seek.kind == StepKind::Seek
    {
        start_ns = seek.start_ns;
    }
    let last_data_ns = steps[last].end_ns;
    let mut end_ns = if planned.kind.seeks_last() { steps[last].last_end_ns } else { last_data_ns };
    let mut sync_inside = None;
    let mut stopped_by = None;
    if options.include_flush {
        let earliest = steps.iter().enumerate().skip(first).find_map(|(index, step)| Some((index, first_sync(step)?)));
        match earliest {
            Some((index, sync)) if index < last && planned.throughput => {
                stopped_by = Some(sync);
                sync_inside = Some(sync);
                end_ns = sync.end_ns;
            }
            _ => {
                sync_inside = steps[last + 1..].iter().find_map(first_sync);
                end_ns = sync_inside.map_or(end_ns, |sync| sync.end_ns);
            }
        }
    }
    if options.is_asynchronous() {
        // The helper thread's calls are inside the clock, which also covers the submission of the
        // requests: the adjacent calls of the tool itself bound it more closely.
        let begun_ns = match priming_end_ns(&steps[first], planned) {
            Some(end_ns) => Some(end_ns),
            None => first.checked_sub(1).map(|before| steps[before].last_end_ns).or(pass.open.map(|open| open.end_ns)),
        };
        start_ns = begun_ns.unwrap_or(start_ns).min(start_ns);
        if sync_inside.is_none() {
            let next = steps.get(last + 1).map(|step| step.start_ns).or(pass.close.map(|close| close.start_ns));
            end_ns = next.unwrap_or(end_ns).max(end_ns);
        }
    }
    let moved: u64 = steps.iter().filter(|step| is_data(step)).map(|step| step.bytes).sum();
    Ok(Clock {
        start_ns,
        end_ns: end_ns.max(start_ns),
        last_data_ns,
        bytes: Some(moved.saturating_sub(untimed)),
        sync_inside,
        stopped_by,
        doubt: None,
    })
}

enum Priming {
    /// The step does not begin with a read and a seek to the start of the file.
    None,
    /// The timed reads follow in the same step.
    Inside { bytes: u64, next_start_ns: u64 },
    /// The step contains only the untimed record.
    Alone { bytes: u64 },
}

/// Finds the untimed record: iozone reads one record, seeks back to 0 and starts its clock.
fn priming(step: &Step) -> Priming {
    let [first, back, rest @ ..] = &*step.head else {
        // A seek after the only read is counted although it may not be in the head.
        return Priming::None;
    };
    let seeks_back = back.span.op == Op::Lseek && back.span.returned == 0;
    if !first.span.op.is_data() || !seeks_back {
        return Priming::None;
    }
    let bytes = bytes_of(first);
    match rest.iter().find(|call| call.span.op.is_data()) {
        Some(next) => Priming::Inside { bytes, next_start_ns: next.span.start_ns },
        None if step.calls <= 1 => Priming::Alone { bytes },
        // More seeks than the head can store: the clock began right after the last one known.
        None => Priming::Inside { bytes, next_start_ns: rest.last().unwrap_or(back).span.end_ns },
    }
}

/// Returns the end of the seek after the untimed record.
fn priming_end_ns(step: &Step, planned: &Planned) -> Option<u64> {
    if !planned.kind.is_primed() || planned.throughput || matches!(priming(step), Priming::None) {
        return None;
    }
    step.head.get(1).map(|back| back.span.end_ns)
}

fn bytes_of(call: &CallBrief) -> u64 {
    u64::try_from(call.span.returned).unwrap_or(0)
}

/// Returns the first successful sync of a step.
pub(super) fn first_sync(step: &Step) -> Option<CallSpan> {
    if step.kind != StepKind::Sync {
        return None;
    }
    step.head.iter().map(|call| call.span).find(|span| span.op.is_file_sync() && span.returned >= 0)
}

fn is_msync(op: Op) -> bool {
    matches!(op, Op::Msync | Op::MsyncAsync)
}

/// Finds the clock of a mapped file: it starts after the last preparing call (mmap, fsync, the
/// untimed record) and stops at the msync of the whole map, or at the call in its place.
fn mapped_clock(pass: &Pass, options: &Options) -> Result<Clock, String> {
    let map = pass.steps.iter().position(|step| step.kind == StepKind::Map).ok_or("the file was not mapped")?;
    let mut start_ns = pass.steps[map].end_ns;
    let mut msync: Option<CallSpan> = None;
    let mut stop_ns = None;
    let per_record = options.mapping.msync_async || options.mapping.msync_sync;
    for step in &pass.steps[map + 1..] {
        match step.kind {
            StepKind::Sync => {
                let first = step.head.iter().map(|call| call.span).find(|span| is_msync(span.op));
                // iozone syncs the map once more after its clock, unless the clock covers the close, too.
                let closing = options.include_flush && !options.include_close;
                let last = if closing { step.sync_before_last() } else { step.last_sync() };
                let last = last.filter(|span| is_msync(span.op));
                if let Some(prepared) =
                    step.head.iter().map(|call| call.span).take_while(|span| !is_msync(span.op)).last()
                {
                    start_ns = start_ns.max(prepared.end_ns);
                }
                // The records' own msyncs come before that of the whole file.
                if let Some(whole) = if per_record { last } else { first } {
                    msync = Some(whole);
                    stop_ns = Some(whole.start_ns);
                }
            }
            StepKind::Unmap => {
                stop_ns = stop_ns.or(Some(step.start_ns));
                break;
            }
            _ if stop_ns.is_none() => start_ns = start_ns.max(step.last_end_ns),
            _ => {}
        }
    }
    let stop_ns = stop_ns
        .or(pass.close.map(|close| close.start_ns))
        .ok_or("neither an msync nor an munmap nor a close ends the pass")?;
    let sync_inside = msync.filter(|_| options.include_flush);
    let end_ns = sync_inside.map_or(stop_ns, |sync| sync.end_ns).max(start_ns);
    Ok(Clock {
        start_ns: start_ns.min(end_ns),
        end_ns,
        last_data_ns: stop_ns.max(start_ns),
        bytes: None,
        sync_inside,
        stopped_by: None,
        doubt: None,
    })
}
