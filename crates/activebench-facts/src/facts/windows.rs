//! The end of the tool's clock, where it must be computed from bytes, and the phases' windows.

use std::borrow::Cow;

use activebench_model::call::{Call, Op};
use activebench_model::phase::{Direction, Part, PartEnd, Phase, TaskSpan, Window};
use foldhash::HashMap;

use activebench_model::source::{EventSource, Unreadable};

use super::index::Index;

/// Returns `true` when a call moves data in the phase's direction.
pub(super) fn is_of(direction: Direction, call: &Call) -> bool {
    match direction {
        Direction::Read => call.op.is_read(),
        Direction::Write => call.op.is_write(),
        Direction::Discard => call.op == Op::Discard,
        Direction::Mixed | Direction::None => call.op.is_read() || call.op.is_write(),
    }
}

/// Returns `true` when a call requests the size of the phase's calls, see [`Phase::call_bytes`].
pub(super) fn has_size(call_bytes: Option<u64>, call: &Call) -> bool {
    call_bytes.is_none_or(|bytes| bytes == call.requested)
}

/// Returns `true` when a call is one of a part's, at any time.
pub(super) fn is_on(part: &Part, call: &Call) -> bool {
    call.tgid == part.tgid
        && call.fd == part.fd
        && call.file == Some(part.file)
        && (part.tids.is_empty() || part.tids.contains(&call.tid))
}

/// Returns the time when a resolved part's clock stopped.
///
/// Every part is resolved before anything else reads it, see [`resolve`].
pub(super) fn end_of(part: &Part) -> u64 {
    match part.end {
        PartEnd::At(end_ns) => end_ns,
        PartEnd::AfterBytes(_) => part.last_data_ns,
    }
}

/// Returns the threads that made a part's calls.
pub(super) fn threads_of<'a>(index: &Index<'_>, part: &'a Part) -> Cow<'a, [u32]> {
    match part.tids.as_slice() {
        [] => index.threads_between(part, part.start_ns, end_of(part)).into(),
        tids => tids.into(),
    }
}

/// Returns the threads whose time counts in a span of a pass over names.
pub(super) fn threads_of_span(index: &Index<'_>, span: &TaskSpan) -> Vec<u32> {
    if !span.tids.is_empty() {
        return span.tids.clone();
    }
    let lived = index.threads_of_process(span.tgid, span.start_ns, span.end_ns);
    if lived.is_empty() { vec![span.tgid] } else { lived }
}

/// Finds the ends of the parts whose clock stopped after a number of bytes.
///
/// Memory: none for a part of one thread; 16 bytes per data call for a part of several threads, whose
/// calls arrive unsorted.
struct EndSeekers {
    by_descriptor: HashMap<(u32, i32), Vec<Seeker>>,
}

struct Seeker {
    phase: usize,
    index: usize,
    part: Part,
    direction: Direction,
    call_bytes: Option<u64>,
    wanted: u64,
    moved: u64,
    end_ns: Option<u64>,
    last_end_ns: u64,
    /// `(end, bytes)` of each call, where several threads make the calls.
    unsorted: Option<Vec<(u64, u64)>>,
}

/// Finds where the clocks of the parts stopped, and writes the ends to the parts and the windows to the phases.
///
/// Reads the calls once if a clock stopped after a number of bytes, otherwise not at all.
pub(super) fn resolve(
    source: &dyn EventSource,
    own: impl Fn(&Call) -> bool,
    index: &Index<'_>,
    phases: &mut [Phase],
) -> Result<(), Unreadable> {
    let mut ends = EndSeekers::new(index, phases);
    if !ends.by_descriptor.is_empty() {
        for batch in source.calls() {
            batch?.iter().filter(|call| own(call)).for_each(|call| ends.feed(call));
        }
    }
    ends.resolve(phases);
    Ok(())
}

impl EndSeekers {
    fn new(index: &Index<'_>, phases: &[Phase]) -> Self {
        let mut by_descriptor: HashMap<(u32, i32), Vec<Seeker>> = HashMap::default();
        for (phase_index, phase) in phases.iter().enumerate() {
            for (part_index, part) in phase.parts.iter().enumerate() {
                let PartEnd::AfterBytes(wanted) = part.end else { continue };
                let one_thread = threads_of(index, part).len() == 1;
                by_descriptor.entry((part.tgid, part.fd)).or_default().push(Seeker {
                    phase: phase_index,
                    index: part_index,
                    part: part.clone(),
                    direction: phase.direction,
                    call_bytes: phase.call_bytes,
                    wanted,
                    moved: 0,
                    end_ns: (wanted == 0).then_some(part.start_ns),
                    last_end_ns: part.start_ns,
                    unsorted: (!one_thread).then(Vec::new),
                });
            }
        }
        Self { by_descriptor }
    }

    fn feed(&mut self, call: &Call) {
        let Some(seekers) = self.by_descriptor.get_mut(&(call.tgid, call.fd)) else { return };
        for seeker in seekers {
            let inside = call.start_ns >= seeker.part.start_ns && call.end_ns <= seeker.part.last_data_ns;
            let counts = has_size(seeker.call_bytes, call) && is_of(seeker.direction, call);
            if inside && counts && is_on(&seeker.part, call) {
                let bytes = u64::try_from(call.returned).unwrap_or(0);
                match &mut seeker.unsorted {
                    Some(calls) => calls.push((call.end_ns, bytes)),
                    None => seeker.add(call.end_ns, bytes),
                }
            }
        }
    }

    /// Writes the ends to the parts, and the windows to the phases.
    fn resolve(self, phases: &mut [Phase]) {
        for mut seeker in self.by_descriptor.into_values().flatten() {
            if let Some(mut calls) = seeker.unsorted.take() {
                calls.sort_unstable();
                calls.into_iter().for_each(|(end_ns, bytes)| seeker.add(end_ns, bytes));
            }
            let phase = &mut phases[seeker.phase];
            // Fewer bytes than the tool counted: its clock cannot have stopped before the last call.
            let end_ns = seeker.end_ns.unwrap_or(seeker.last_end_ns);
            phase.parts[seeker.index].end = PartEnd::At(end_ns);
            if seeker.end_ns.is_none() && phase.incomplete.is_none() {
                phase.incomplete = Some(format!(
                    "process {} counted {} bytes and {} were observed",
                    seeker.part.tgid, seeker.wanted, seeker.moved
                ));
            }
        }
        for phase in phases {
            phase.window = union(phase);
        }
    }
}

impl Seeker {
    fn add(&mut self, end_ns: u64, bytes: u64) {
        self.moved += bytes;
        self.last_end_ns = self.last_end_ns.max(end_ns);
        if self.end_ns.is_none() && self.moved >= self.wanted {
            self.end_ns = Some(end_ns);
        }
    }
}

/// Returns the union of the parts' windows; a part whose clock never ran does not extend it.
fn union(phase: &Phase) -> Option<Window> {
    let of_parts = phase.parts.iter().map(|part| (part.start_ns, end_of(part)));
    let of_names = phase.names.iter().flat_map(|names| &names.spans).map(|span| (span.start_ns, span.end_ns));
    let mut ran = of_parts.chain(of_names).filter(|(start_ns, end_ns)| end_ns > start_ns);
    let (start_ns, end_ns) = ran.next()?;
    let mut window = Window { start_ns, end_ns };
    for (start_ns, end_ns) in ran {
        window.start_ns = window.start_ns.min(start_ns);
        window.end_ns = window.end_ns.max(end_ns);
    }
    Some(window)
}
