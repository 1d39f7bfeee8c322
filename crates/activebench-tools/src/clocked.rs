//! The parts of a tool's files inside the time that its clock covered, where its messages show that time.

use activebench_model::activity::{Pass, StepKind};
use activebench_model::phase::{Part, PartEnd, Window};

/// The descriptor of no call.
const NO_DESCRIPTOR: i32 = -1;

/// Returns when a pass began: its open, or its first call on a descriptor that was open already.
pub(crate) fn began_ns(pass: &Pass) -> u64 {
    pass.open.map(|open| open.start_ns).or(pass.steps.first().map(|step| step.start_ns)).unwrap_or(u64::MAX)
}

/// Returns when the last call of a pass ended.
pub(crate) fn ended_ns(pass: &Pass) -> u64 {
    let steps = pass.steps.iter().map(|step| step.last_end_ns);
    pass.close.map(|close| close.end_ns).into_iter().chain(steps).max().unwrap_or(0)
}

/// Returns the part of a pass inside a window; `None` where it has none.
pub(crate) fn part_within(pass: &Pass, window: Window) -> Option<Part> {
    let start_ns = began_ns(pass).max(window.start_ns);
    let end_ns = ended_ns(pass).min(window.end_ns);
    if start_ns >= end_ns {
        return None;
    }
    let moved = pass.steps.iter().filter(|step| matches!(step.kind, StepKind::Read | StepKind::Write));
    let last_data_ns = moved.map(|step| step.end_ns).max().unwrap_or(start_ns).clamp(start_ns, end_ns);
    let syncs = pass.steps.iter().filter(|step| step.kind == StepKind::Sync).flat_map(|step| &step.head);
    let sync_inside = syncs
        .map(|call| call.span)
        .rfind(|span| span.returned >= 0 && span.start_ns >= start_ns && span.end_ns <= end_ns);
    Some(Part {
        tgid: pass.tgid,
        tids: Vec::new(),
        fd: pass.fd,
        file: pass.file,
        start_ns,
        end: PartEnd::At(end_ns),
        last_data_ns,
        sync_inside: sync_inside.map(Box::new),
        sync_after: None,
        close_ns: pass.close.map(|close| close.end_ns),
    })
}

/// Returns a part without calls that has the length of the clock: the clock runs whichever files move data.
pub(crate) fn clock(of: &Part, window: Window) -> Part {
    Part {
        fd: NO_DESCRIPTOR,
        start_ns: window.start_ns,
        end: PartEnd::At(window.end_ns),
        last_data_ns: of.last_data_ns.clamp(window.start_ns, window.end_ns),
        sync_inside: None,
        ..of.clone()
    }
}

/// Returns when the clock of a part stopped, as far as it is known.
pub(crate) fn end_ns(part: &Part) -> u64 {
    match part.end {
        PartEnd::At(end_ns) => end_ns,
        PartEnd::AfterBytes(_) => part.last_data_ns,
    }
}
