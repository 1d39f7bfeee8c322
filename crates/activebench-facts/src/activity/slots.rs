//! Puts every data call and seek into the slot of its descriptor.

use std::cmp::Reverse;
use std::num::NonZeroU32;

use activebench_model::activity::{CallBrief, Exec, Shifts, Step, StepKind, Task};
use activebench_model::call::{FileId, FileKind, Op, PlainCall};
use foldhash::HashMap;

use super::{mappings, moves_data_or_position, on_followed_file};

/// Largest number of runs of one slot that are kept separately.
pub(super) const MOST_RUNS: u32 = 4096;

/// A pass with fewer steps has room for no others.
const MOST_EXACT_STEPS: usize = 4;

/// A descriptor of a process, over the whole run.
pub(super) type Key = (u32, i32);

/// A structural call on a descriptor's timeline: its index in [`Timelines::calls`].
pub(super) type Event = (Key, u32);

/// A thread, and what it does to which file.
type Owner = (u32, FileId, StepKind);

/// Number of a run in [`Slots::runs`], from one.
type RunNumber = NonZeroU32;

/// Number of taken runs after which their memory is given back.
const LET_GO: usize = 1 << 14;

/// Number of cursors from which those of ended threads are let go of.
const MOST_CURSORS: usize = 1 << 11;

/// The calls on each descriptor over time. Plain lists: a run may have a million descriptors with one call each.
#[derive(Default)]
pub(super) struct Timelines {
    pub(super) calls: Vec<PlainCall>,
    /// Number of syncs that a sync stands for besides itself, by its thread and start.
    pub(super) merged: HashMap<(u32, u64), u64>,
    /// For each `munmap` and `msync` that belongs to an `mmap`: the indices of both, ascending.
    pub(super) mapped_by: Vec<(u32, u32)>,
    /// By descriptor, and in order of time.
    pub(super) events: Vec<Event>,
    /// By descriptor, slot and time, the last one first.
    runs: Vec<Placed>,
}

/// Consecutive calls of one kind by one thread on one file, inside one slot. A run of one call is that call.
pub(super) enum Run {
    One(PlainCall),
    Several(Box<Several>),
}

pub(super) struct Several {
    key: Key,
    file: FileId,
    file_kind: FileKind,
    open_flags: u32,
    step: Step,
}

/// A run and its place. 104 bytes.
struct Placed {
    run: Run,
    /// Number of events up to its slot, those of other descriptors included; 0 before the first one of its own.
    slot: u32,
    /// Number of the run among those of its slot.
    number: u32,
    /// The run before it in its slot.
    previous: Option<RunNumber>,
}

impl Timelines {
    /// Creates the timelines from the structural calls, sorted by time.
    pub(super) fn new(calls: Vec<PlainCall>, merged: HashMap<(u32, u64), u64>, execs: &[Exec]) -> Self {
        let mapped_by = mappings::resolve(&calls, execs);
        let mut events: Vec<Event> = Vec::with_capacity(calls.len());
        for (index, call) in (0..).zip(&calls) {
            let mut add = |fd: i32| events.push(((call.tgid, fd), index));
            match call.op {
                Op::Open => {
                    if let Ok(fd @ 0..) = i32::try_from(call.returned) {
                        add(fd);
                    }
                }
                Op::Msync | Op::MsyncAsync | Op::Munmap => {
                    if let Some(mmap) = mapping_of(&mapped_by, index) {
                        add(calls[mmap as usize].fd);
                    }
                }
                Op::Dup => {
                    add(call.fd);
                    if let Ok(fd @ 0..) = i32::try_from(call.returned)
                        && fd != call.fd
                    {
                        add(fd);
                    }
                }
                _ => add(call.fd),
            }
        }
        events.shrink_to_fit();
        events.sort_unstable();
        // A slow open of one thread may give a number that another thread has used until then.
        let place = |event: &Event| (event.0, takes_effect_ns(&calls, event));
        if !events.is_sorted_by_key(place) {
            events.sort_by_key(place);
        }
        Self { calls, merged, mapped_by, events, runs: Vec::new() }
    }

    /// Returns the slot of a time, and the span of starts that belong to it.
    fn slot_at(&self, key: Key, start_ns: u64) -> (u32, u64, u64) {
        let start_of = |event: &Event| takes_effect_ns(&self.calls, event);
        let is_before = |event: &Event| event.0 < key || event.0 == key && start_of(event) <= start_ns;
        let until_then = self.events.partition_point(is_before);
        let own = |event: &&Event| event.0 == key;
        let from = until_then.checked_sub(1).map(|last| &self.events[last]).filter(own);
        let to = self.events.get(until_then).filter(own);
        // There are at most two for each call.
        let slot = if from.is_some() { until_then as u32 } else { 0 };
        (slot, from.map_or(0, start_of), to.map_or(u64::MAX, start_of))
    }

    /// Returns the descriptor of the next run.
    pub(super) fn next_descriptor(&self) -> Option<Key> {
        self.runs.last().map(|placed| placed.run.key())
    }

    /// Takes the next run of a slot, in order of time, if there is another one.
    pub(super) fn next_run(&mut self, key: Key, slot: u32) -> Option<Run> {
        let placed = self.runs.pop_if(|placed| placed.slot == slot && placed.run.key() == key)?;
        if self.runs.len().is_multiple_of(LET_GO) {
            self.runs.shrink_to_fit();
        }
        Some(placed.run)
    }
}

/// Returns the time from which on a structural call counts for its descriptor: a number that it gives is valid when it
/// returns.
fn takes_effect_ns(calls: &[PlainCall], ((_, fd), call): &Event) -> u64 {
    let call = &calls[*call as usize];
    match call.op {
        Op::Open => call.end_ns,
        Op::Dup if call.fd != *fd => call.end_ns,
        _ => call.start_ns,
    }
}

/// Returns the `mmap` that a `munmap` or `msync` belongs to.
pub(super) fn mapping_of(mapped_by: &[(u32, u32)], call: u32) -> Option<u32> {
    mapped_by.binary_search_by_key(&call, |(call, _)| *call).ok().map(|place| mapped_by[place].1)
}

/// The place of a thread's last call; the next call usually goes to the same place.
struct Cursor {
    key: Key,
    slot: u32,
    /// `None` before its first call.
    run: Option<RunNumber>,
    from_ns: u64,
    to_ns: u64,
}

/// The slots while they are filled.
pub(super) struct Slots {
    timelines: Timelines,
    /// In the order in which they began.
    runs: Vec<Placed>,
    /// The latest run of each slot.
    latest: Vec<Option<RunNumber>>,
    /// The latest run of the slots before a descriptor's first event.
    latest_before: HashMap<Key, RunNumber>,
    /// The latest run of a thread, file and kind in the slots that have [`MOST_RUNS`] or more.
    crowded: HashMap<(Key, u32), HashMap<Owner, RunNumber>>,
    cursors: HashMap<u32, Cursor>,
    /// Number of cursors after those of ended threads were last let go of.
    kept_cursors: usize,
    /// Ends of the threads, ascending.
    ends: Vec<(u32, u64)>,
    /// The cursor of the thread that called last; it is not in `cursors`.
    current: Option<(u32, Cursor)>,
}

impl Slots {
    pub(super) fn new(timelines: Timelines, tasks: &[Task]) -> Self {
        let mut ends: Vec<(u32, u64)> = tasks.iter().filter_map(|task| Some((task.tid, task.end_ns?))).collect();
        ends.shrink_to_fit();
        ends.sort_unstable();
        Self {
            latest: vec![None; timelines.events.len() + 1],
            timelines,
            runs: Vec::new(),
            latest_before: HashMap::default(),
            crowded: HashMap::default(),
            cursors: HashMap::default(),
            kept_cursors: 0,
            ends,
            current: None,
        }
    }

    /// Puts a data call or seek into its slot; other calls are left out.
    pub(super) fn feed(&mut self, call: &PlainCall) {
        if !moves_data_or_position(call.op) {
            return;
        }
        let Some(file) = on_followed_file(call) else { return };
        let key = (call.tgid, call.fd);
        let kind = kind_of_data(call.op);
        // Mostly the thread goes on where it was.
        if let Some((tid, cursor)) = &self.current
            && *tid == call.tid
            && cursor.leads_to(key, call)
            && let Some(run) = cursor.run
            && run_at(&mut self.runs, run).takes(file, kind)
        {
            run_at(&mut self.runs, run).extend(kind, call);
            return;
        }
        let own = match self.current.take() {
            Some((tid, cursor)) if tid == call.tid => Some(cursor),
            other => {
                self.cursors.extend(other);
                if self.cursors.len() >= MOST_CURSORS.max(2 * self.kept_cursors) {
                    self.let_go_of_ended(call.start_ns);
                }
                self.cursors.remove(&call.tid)
            }
        };
        let mut cursor = own.filter(|cursor| cursor.leads_to(key, call)).unwrap_or_else(|| {
            let (slot, from_ns, to_ns) = self.timelines.slot_at(key, call.start_ns);
            Cursor { key, slot, run: None, from_ns, to_ns }
        });
        cursor.run = self.add(&cursor, file, kind, call);
        self.current = Some((call.tid, cursor));
    }

    /// Adds a call to the thread's current run, or to a new one; returns the run's number.
    fn add(&mut self, cursor: &Cursor, file: FileId, kind: StepKind, call: &PlainCall) -> Option<RunNumber> {
        let latest = match cursor.slot {
            0 => self.latest_before.get(&cursor.key).copied(),
            slot => self.latest[slot as usize],
        };
        let of_slot = latest.map_or(0, |latest| placed(&self.runs, latest).number + 1);
        let own = (call.tid, file, kind);
        let taken = cursor.run.filter(|run| placed(&self.runs, *run).run.takes(file, kind)).or_else(|| {
            let latest = latest.filter(|_| of_slot >= MOST_RUNS)?;
            let place = (cursor.key, cursor.slot);
            self.crowded.entry(place).or_insert_with(|| latest_by_owner(&self.runs, latest)).get(&own).copied()
        });
        if let Some(run) = taken {
            run_at(&mut self.runs, run).extend(kind, call);
            return taken;
        }
        self.runs.push(Placed { run: Run::One(*call), slot: cursor.slot, number: of_slot, previous: latest });
        // Memory ends long before these numbers do.
        let added = RunNumber::new(u32::try_from(self.runs.len()).unwrap_or(u32::MAX));
        match (cursor.slot, added) {
            (0, Some(added)) => drop(self.latest_before.insert(cursor.key, added)),
            (slot, _) => self.latest[slot as usize] = added,
        }
        if let Some(of_slot) = self.crowded.get_mut(&(cursor.key, cursor.slot)) {
            of_slot.extend(added.map(|added| (own, added)));
        }
        added
    }

    /// Lets go of the cursors of the threads that ended before a time: a run may have a million processes.
    fn let_go_of_ended(&mut self, now_ns: u64) {
        let Self { cursors, runs, ends, .. } = self;
        cursors.retain(|tid, cursor| {
            let last_ns = cursor.run.map_or(0, |run| placed(runs, run).run.start_ns());
            let end = ends.get(ends.partition_point(|end| *end < (*tid, last_ns)));
            !end.is_some_and(|(of, end_ns)| of == tid && *end_ns < now_ns)
        });
        self.kept_cursors = self.cursors.len();
    }

    pub(super) fn into_timelines(self) -> Timelines {
        let Self { timelines, mut runs, latest, latest_before, crowded, cursors, ends, .. } = self;
        drop((latest, latest_before, crowded, cursors, ends));
        runs.shrink_to_fit();
        // They leave from the end.
        let place = |placed: &Placed| (placed.run.key(), placed.slot, placed.run.start_ns(), placed.number);
        runs.sort_unstable_by_key(|placed| Reverse(place(placed)));
        Timelines { runs, ..timelines }
    }
}

fn placed(runs: &[Placed], number: RunNumber) -> &Placed {
    &runs[number.get() as usize - 1]
}

/// Returns the latest run of each thread, file and kind among a slot's runs, of which the latest one is given.
fn latest_by_owner(runs: &[Placed], latest: RunNumber) -> HashMap<Owner, RunNumber> {
    let mut by_owner = HashMap::default();
    for number in std::iter::successors(Some(latest), |run| placed(runs, *run).previous) {
        if let Some(owner) = placed(runs, number).run.owner() {
            by_owner.entry(owner).or_insert(number);
        }
    }
    by_owner
}

fn run_at(runs: &mut [Placed], number: RunNumber) -> &mut Run {
    &mut runs[number.get() as usize - 1].run
}

impl Cursor {
    /// Returns `true` if a call on a descriptor belongs to the cursor's slot.
    fn leads_to(&self, key: Key, call: &PlainCall) -> bool {
        self.key == key && (self.from_ns..self.to_ns).contains(&call.start_ns)
    }
}

impl Run {
    fn key(&self) -> Key {
        match self {
            Self::One(call) => (call.tgid, call.fd),
            Self::Several(several) => several.key,
        }
    }

    /// Returns the file with its kind and how it was opened.
    pub(super) fn file(&self) -> Option<(FileId, FileKind, u32)> {
        match self {
            Self::One(call) => Some((call.file?, call.kind, call.open_flags)),
            Self::Several(several) => Some((several.file, several.file_kind, several.open_flags)),
        }
    }

    fn kind(&self) -> StepKind {
        match self {
            Self::One(call) => kind_of_data(call.op),
            Self::Several(several) => several.step.kind,
        }
    }

    fn start_ns(&self) -> u64 {
        match self {
            Self::One(call) => call.start_ns,
            Self::Several(several) => several.step.start_ns,
        }
    }

    /// Returns `true` if the next call of the run's thread belongs to it. A seek after data belongs to the data: it is
    /// between data calls or after them.
    fn takes(&self, file: FileId, kind: StepKind) -> bool {
        self.file().is_some_and(|(own, ..)| own == file) && (kind == StepKind::Seek || kind == self.kind())
    }

    /// Returns its thread, file and kind; a run of several calls is of one thread.
    fn owner(&self) -> Option<Owner> {
        match self {
            Self::One(call) => Some((call.tid, call.file?, self.kind())),
            Self::Several(several) => Some((*several.step.tids.first()?, several.file, self.kind())),
        }
    }

    fn extend(&mut self, kind: StepKind, call: &PlainCall) {
        if let Self::One(only) = self {
            let (key, step) = ((only.tgid, only.fd), first(kind_of_data(only.op), only));
            let PlainCall { kind: file_kind, open_flags, .. } = *only;
            let Some(file) = only.file else { return };
            *self = Self::Several(Box::new(Several { key, file, file_kind, open_flags, step }));
        }
        if let Self::Several(several) = self {
            extend(&mut several.step, kind, call);
        }
    }

    pub(super) fn into_step(self) -> Step {
        match self {
            Self::One(call) => first(kind_of_data(call.op), &call),
            Self::Several(several) => several.step,
        }
    }
}

fn kind_of_data(op: Op) -> StepKind {
    match op {
        op if op.is_read() => StepKind::Read,
        op if op.is_write() => StepKind::Write,
        Op::Discard => StepKind::Discard,
        _ => StepKind::Seek,
    }
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
        tids: Box::new([call.tid]),
        head: Box::new([call.into()]),
        last_syncs: Box::default(),
        shifts: None,
        min_offset,
        max_offset,
    }
}

fn extend(step: &mut Step, kind: StepKind, call: &PlainCall) {
    step.add_to_head(call);
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
    let mut head: Vec<CallBrief> = step.head.iter().chain(&next.head).copied().collect();
    head.sort_by_key(|brief| brief.span.start_ns);
    let more = head.split_off(head.len().min(Step::HEAD));
    step.head = head.into_boxed_slice();
    if step.kind == StepKind::Sync && next.kind == StepKind::Sync {
        step.add_to_last_syncs(more.iter().map(|call| call.span).chain(next.last_syncs.iter().copied()));
    }
    add_shift(step, &next);
    next.tids.iter().for_each(|tid| step.add_thread(*tid));
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

/// Notes where other threads than before go on with a step.
fn add_shift(step: &mut Step, next: &Step) {
    if !matches!(next.kind, StepKind::Read | StepKind::Write) || step.kind != next.kind {
        return;
    }
    let is_another = next.start_ns >= step.end_ns && next.tids.iter().all(|tid| !step.tids.contains(tid));
    if step.shifts.is_some() || is_another {
        let before = step.as_shift();
        step.shifts.get_or_insert_with(|| Box::new(Shifts(vec![before]))).add(next.as_shift());
    }
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
