//! Puts every data call and seek into the slot of its descriptor.

use std::collections::HashMap;

use activebench_model::activity::{CallBrief, Exec, Step, StepKind};
use activebench_model::call::{FileId, FileKind, Op, PlainCall};

use super::{mappings, moves_data_or_position, on_followed_file};

/// Largest number of runs of one slot that are kept separately.
pub(super) const MOST_RUNS: usize = 4096;

/// A pass with fewer steps has room for no others.
const MOST_EXACT_STEPS: usize = 4;

/// A descriptor of a process, over the whole run.
pub(super) type Key = (u32, i32);

/// A structural call on a descriptor's timeline.
#[derive(Clone, Copy, Debug)]
pub(super) struct Event {
    /// Index in [`Timelines::calls`].
    pub(super) call: u32,
    /// For `munmap` and `msync`: the index of the `mmap` in the same list.
    pub(super) mapped_by: Option<u32>,
    /// True if a dup assigned this descriptor's number.
    pub(super) given: bool,
}

/// The calls on each descriptor over time.
#[derive(Default)]
pub(super) struct Timelines {
    pub(super) calls: Vec<PlainCall>,
    /// Number of syncs that a sync stands for besides itself, by its thread and start.
    pub(super) merged: HashMap<(u32, u64), u64>,
    pub(super) events: HashMap<Key, Vec<Event>>,
    /// Runs by descriptor and slot; slot 0 is before the first event.
    pub(super) runs: HashMap<Key, Vec<Vec<Run>>>,
}

/// Consecutive calls of one kind by one thread on one file, inside one slot.
#[derive(Clone, Debug)]
pub(super) struct Run {
    pub(super) file: FileId,
    pub(super) file_kind: FileKind,
    pub(super) open_flags: u32,
    pub(super) step: Step,
}

impl Timelines {
    /// Creates the timelines from the structural calls, sorted by time.
    pub(super) fn new(calls: Vec<PlainCall>, merged: HashMap<(u32, u64), u64>, execs: &[Exec]) -> Self {
        let mapped_by = mappings::resolve(&calls, execs);
        let mut events: HashMap<Key, Vec<Event>> = HashMap::new();
        for (index, call) in (0..).zip(&calls) {
            let mut add = |fd: i32, mapped_by, given| {
                events.entry((call.tgid, fd)).or_default().push(Event { call: index, mapped_by, given });
            };
            match call.op {
                Op::Open => {
                    if let Ok(fd @ 0..) = i32::try_from(call.returned) {
                        add(fd, None, false);
                    }
                }
                Op::Msync | Op::MsyncAsync | Op::Munmap => {
                    if let Some(mmap) = mapped_by.get(&index) {
                        add(calls[*mmap as usize].fd, Some(*mmap), false);
                    }
                }
                Op::Dup => {
                    add(call.fd, None, false);
                    if let Ok(fd @ 0..) = i32::try_from(call.returned)
                        && fd != call.fd
                    {
                        add(fd, None, true);
                    }
                }
                _ => add(call.fd, None, false),
            }
        }
        Self { calls, merged, events, runs: HashMap::new() }
    }

    /// Returns the slot of a time, and the span of starts that belong to it.
    fn slot_at(&self, key: Key, start_ns: u64) -> (usize, u64, u64) {
        let Some(events) = self.events.get(&key) else { return (0, 0, u64::MAX) };
        let start_of = |event: &Event| self.calls[event.call as usize].start_ns;
        let slot = events.partition_point(|event| start_of(event) <= start_ns);
        let from = if slot == 0 { 0 } else { start_of(&events[slot - 1]) };
        (slot, from, events.get(slot).map_or(u64::MAX, start_of))
    }
}

/// The place of a thread's last call; the next call usually goes to the same place.
struct Cursor {
    key: Key,
    /// Index of the descriptor in [`Slots::runs`].
    number: usize,
    slot: usize,
    from_ns: u64,
    to_ns: u64,
    /// `None` before its first call.
    run: Option<usize>,
}

/// The slots while they are filled.
pub(super) struct Slots {
    timelines: Timelines,
    /// The descriptors with data calls or seeks, and the runs of each by slot.
    runs: Vec<(Key, Vec<Vec<Run>>)>,
    /// Index of each descriptor in `runs`.
    numbers: HashMap<Key, usize>,
    cursors: HashMap<u32, Cursor>,
    /// The cursor of the thread that called last; it is not in `cursors`.
    current: Option<(u32, Cursor)>,
}

impl Slots {
    pub(super) fn new(timelines: Timelines) -> Self {
        Self { timelines, runs: Vec::new(), numbers: HashMap::new(), cursors: HashMap::new(), current: None }
    }

    /// Puts a data call or seek into its slot; other calls are left out.
    pub(super) fn feed(&mut self, call: &PlainCall) {
        if !moves_data_or_position(call.op) {
            return;
        }
        let Some(file) = on_followed_file(call) else { return };
        let key = (call.tgid, call.fd);
        // Mostly the thread goes on where it was.
        if let Some((tid, cursor)) = &mut self.current
            && *tid == call.tid
            && cursor.leads_to(key, call)
        {
            let runs = &mut self.runs[cursor.number].1[cursor.slot];
            cursor.run = Some(add_to_slot(runs, cursor.run, file, call));
            return;
        }
        let own = match self.current.take() {
            Some((tid, cursor)) if tid == call.tid => Some(cursor),
            other => {
                self.cursors.extend(other);
                self.cursors.remove(&call.tid)
            }
        };
        let mut cursor = match own.filter(|cursor| cursor.leads_to(key, call)) {
            Some(cursor) => cursor,
            None => self.cursor_at(key, call.start_ns),
        };
        let runs = &mut self.runs[cursor.number].1[cursor.slot];
        cursor.run = Some(add_to_slot(runs, cursor.run, file, call));
        self.current = Some((call.tid, cursor));
    }

    /// Returns a cursor at the slot of a time that is in none of its runs.
    fn cursor_at(&mut self, key: Key, start_ns: u64) -> Cursor {
        let (slot, from_ns, to_ns) = self.timelines.slot_at(key, start_ns);
        let number = *self.numbers.entry(key).or_insert_with(|| {
            self.runs.push((key, Vec::new()));
            self.runs.len() - 1
        });
        let slots = &mut self.runs[number].1;
        if slots.len() <= slot {
            // A slot per event at most.
            let most = self.timelines.events.get(&key).map_or(0, Vec::len) + 1;
            slots.reserve_exact(most.saturating_sub(slots.len()));
            slots.resize_with(slot + 1, Vec::new);
        }
        Cursor { key, number, slot, from_ns, to_ns, run: None }
    }

    pub(super) fn into_timelines(self) -> Timelines {
        Timelines { runs: self.runs.into_iter().collect(), ..self.timelines }
    }
}

impl Cursor {
    /// Returns `true` if a call on a descriptor belongs to the cursor's slot.
    fn leads_to(&self, key: Key, call: &PlainCall) -> bool {
        self.key == key && (self.from_ns..self.to_ns).contains(&call.start_ns)
    }
}

/// Adds a call to the thread's current run, or to a new one; returns the run's index.
fn add_to_slot(runs: &mut Vec<Run>, current: Option<usize>, file: FileId, call: &PlainCall) -> usize {
    let kind = match call.op {
        op if op.is_read() => StepKind::Read,
        op if op.is_write() => StepKind::Write,
        Op::Discard => StepKind::Discard,
        _ => StepKind::Seek,
    };
    // A seek after data belongs to the data: it is between data calls or after them.
    let takes = |run: &Run| run.file == file && (run.step.kind == kind || kind == StepKind::Seek);
    let taken = current.filter(|index| takes(&runs[*index])).or_else(|| {
        let same = |run: &Run| run.file == file && run.step.kind == kind && run.step.tids == [call.tid];
        if runs.len() < MOST_RUNS { None } else { runs.iter().rposition(same) }
    });
    let Some(index) = taken else {
        // Where a sync follows every write, a slot has one run.
        if runs.is_empty() {
            runs.reserve_exact(1);
        }
        runs.push(Run { file, file_kind: call.kind, open_flags: call.open_flags, step: first(kind, call) });
        return runs.len() - 1;
    };
    extend(&mut runs[index].step, kind, call);
    index
}

/// Creates a step of one call.
pub(super) fn first(kind: StepKind, call: &PlainCall) -> Step {
    let (min_offset, max_offset) = touched(call);
    Step {
        kind,
        start_ns: call.start_ns,
        end_ns: call.end_ns,
        last_end_ns: call.end_ns,
        calls: 1,
        bytes: moved(call),
        seeks: 0,
        tids: vec![call.tid],
        head: vec![call.into()],
        min_offset,
        max_offset,
    }
}

fn extend(step: &mut Step, kind: StepKind, call: &PlainCall) {
    if step.head.len() < Step::HEAD {
        step.head.push(call.into());
    }
    step.last_end_ns = step.last_end_ns.max(call.end_ns);
    if step.kind != kind {
        step.seeks += 1;
        return;
    }
    let (min_offset, max_offset) = touched(call);
    // Asynchronous requests arrive in the order in which they end.
    step.start_ns = step.start_ns.min(call.start_ns);
    step.end_ns = step.end_ns.max(call.end_ns);
    step.calls += 1;
    step.bytes += moved(call);
    step.min_offset = lower(step.min_offset, min_offset);
    step.max_offset = step.max_offset.max(max_offset);
}

/// Appends a step to those of a pass: to the last one where it is of the same kind.
pub(super) fn append(steps: &mut Vec<Step>, next: Step) {
    let trails = |step: &Step| next.kind == StepKind::Seek && matches!(step.kind, StepKind::Read | StepKind::Write);
    let Some(step) = steps.last_mut().filter(|step| step.kind == next.kind || trails(step)) else {
        // Most passes of a run with many have one or two steps.
        if steps.len() < MOST_EXACT_STEPS {
            steps.reserve_exact(1);
        }
        steps.push(next);
        return;
    };
    step.last_end_ns = step.last_end_ns.max(next.last_end_ns);
    step.head.extend(next.head);
    step.head.sort_by_key(|brief: &CallBrief| brief.span.start_ns);
    step.head.truncate(Step::HEAD);
    for tid in next.tids {
        if let Err(at) = step.tids.binary_search(&tid) {
            step.tids.insert(at, tid);
        }
    }
    if step.kind != next.kind {
        step.seeks += next.calls;
        return;
    }
    step.end_ns = step.end_ns.max(next.end_ns);
    step.calls += next.calls;
    step.bytes += next.bytes;
    step.seeks += next.seeks;
    step.min_offset = lower(step.min_offset, next.min_offset);
    step.max_offset = step.max_offset.max(next.max_offset);
}

/// Returns the lower of two offsets, where -1 means unknown.
fn lower(one: i64, other: i64) -> i64 {
    match (one, other) {
        (-1, known) | (known, -1) => known,
        (one, other) => one.min(other),
    }
}

/// Returns the bytes of the file that a call moved; an address or a position does not count as bytes.
fn moved(call: &PlainCall) -> u64 {
    if call.op.is_data() { u64::try_from(call.returned).unwrap_or(0) } else { 0 }
}

/// Returns the first byte and the end of the range of the file that a call touched; (-1, -1) when unknown.
fn touched(call: &PlainCall) -> (i64, i64) {
    let range = |start: i64, length: u64| match i64::try_from(length).ok().and_then(|len| start.checked_add(len)) {
        Some(end) if start >= 0 => (start, end),
        _ => (-1, -1),
    };
    match call.op {
        op if op.is_data() => match u64::try_from(call.returned) {
            Ok(length) => range(call.offset, length),
            Err(_) => (-1, -1),
        },
        Op::Lseek if call.returned >= 0 => (call.returned, call.returned),
        Op::Mmap if call.returned > 0 => range(call.offset, call.requested),
        Op::Fallocate | Op::Fadvise | Op::SyncFileRange => range(call.offset, call.requested),
        _ => (-1, -1),
    }
}
