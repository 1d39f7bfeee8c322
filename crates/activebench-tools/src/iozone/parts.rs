//! The parts of a phase: one for each pass of a process over a file.

use activebench_model::activity::{Pass, StepKind};
use activebench_model::call::open_bits;
use activebench_model::phase::{Direction, Part, PartEnd, Window};

use super::files::Observed;
use super::plan::Planned;
use super::window::Clock;

/// Returns the direction in which a pass moves data; `None` for a mapped file, whose data moves without calls.
pub(super) fn moved_direction(pass: &Pass) -> Option<Direction> {
    if pass.steps.iter().any(|step| step.kind == StepKind::Map) {
        return None;
    }
    let moved = |kind| pass.steps.iter().any(|step| step.kind == kind && step.calls > 0);
    match (moved(StepKind::Read), moved(StepKind::Write)) {
        (true, false) => Some(Direction::Read),
        (false, true) => Some(Direction::Write),
        _ => Some(Direction::Mixed),
    }
}

pub(super) fn agrees(pass: &Pass, planned: &Planned) -> bool {
    let wanted = planned.kind.direction();
    match moved_direction(pass) {
        None => wanted != Direction::Write || pass.open_flags & open_bits::WRITABLE != 0,
        Some(direction) => wanted == Direction::Mixed || direction == wanted,
    }
}

/// Later syncs are searched from `stopped_ns` on.
pub(super) fn part(
    pass: &Pass,
    clock: &Clock,
    end: PartEnd,
    stopped_ns: u64,
    tids: Vec<u32>,
    observed: &Observed<'_>,
) -> Part {
    Part {
        tgid: pass.tgid,
        tids,
        fd: pass.fd,
        file: pass.file,
        start_ns: clock.start_ns,
        end,
        last_data_ns: clock.last_data_ns,
        sync_inside: clock.sync_inside.map(Box::new),
        sync_after: observed.sync_after(pass, stopped_ns).map(Box::new),
        close_ns: pass.close.map(|close| close.end_ns),
    }
}

pub(super) fn union(parts: &[Part]) -> Option<Window> {
    let mut window: Option<Window> = None;
    for part in parts {
        let PartEnd::At(end_ns) = part.end else { return None };
        let (start_ns, end_ns) = (part.start_ns, end_ns.max(part.start_ns));
        window = Some(match window {
            None => Window { start_ns, end_ns },
            Some(window) => Window { start_ns: window.start_ns.min(start_ns), end_ns: window.end_ns.max(end_ns) },
        });
    }
    window
}
