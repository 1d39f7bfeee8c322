//! The threads' times between two moments, from running totals that are known only at some moments.

use activebench_model::activity::Task;
use activebench_model::event::{CpuEvent, ThreadState, ThreadTimes};
use foldhash::HashMap;

use super::span_index::KeyedSpans;

/// Largest error of a figure that still counts as complete, as a share of the time considered.
pub(super) const NEAR_ENOUGH: f64 = 0.01;

/// Number of a thread's stretches from which they are merged before its last record.
const MERGED_FROM: usize = 1 << 10;

/// The totals of one thread at one moment.
#[derive(Clone, Copy, Debug)]
struct Point {
    at_ns: u64,
    times: ThreadTimes,
}

/// The totals of threads around the moments at which they are cut.
///
/// Memory: 8 bytes per moment, 28 bytes per thread, and at most 210 bytes per stretch between two moments that has
/// records, for any number of records. There may be a million threads without one.
pub(super) struct Cuts<'a> {
    tasks: &'a [Task],
    /// Moments of all threads, ascending for each.
    moments: Vec<u64>,
    /// Of each thread the place of its first moment; at the end the number of moments.
    starts: Vec<u32>,
    /// Of the threads that have records, by their numbers.
    stretches: HashMap<u32, Stretches>,
    /// Lives of each thread id, which several threads can have had, by their numbers.
    by_tid: KeyedSpans<u32>,
}

/// The totals of threads after the last record was read.
pub(super) struct Totals<'a>(Cuts<'a>);

/// The stretches of a thread that have points: a thread that is seldom switched has many without any record between
/// them.
#[derive(Default)]
struct Stretches {
    /// Sorted and distinct up to `merged`, then in the order of arrival.
    all: Vec<Stretch>,
    merged: usize,
}

/// The first and the last point between two moments.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    /// Number of the moment at its end.
    number: usize,
    first: Point,
    last: Point,
}

/// How the time of a span was spent, and the largest error of each figure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct SpanTimes {
    pub(super) times: ThreadTimes,
    pub(super) error_ns: u64,
}

impl<'a> Cuts<'a> {
    /// Creates the cuts for spans `(tid, start, end)`.
    pub(super) fn new(tasks: &'a [Task], spans: impl IntoIterator<Item = (u32, u64, u64)>) -> Self {
        let life =
            |(number, task): (usize, &Task)| (task.tid, (task.start_ns, task.end_ns.unwrap_or(u64::MAX), number));
        let by_tid = KeyedSpans::new(tasks.iter().enumerate().map(life));
        let mut by_thread: Vec<(u32, u64)> = Vec::new();
        for (tid, start_ns, end_ns) in spans {
            if let Some(thread) = by_tid.overlapping(tid, start_ns, start_ns).next() {
                let thread = number_of(thread);
                by_thread.extend([(thread, start_ns), (thread, end_ns)]);
            }
        }
        by_thread.sort_unstable();
        by_thread.dedup();
        let mut starts = Vec::with_capacity(tasks.len() + 1);
        for (place, (thread, _)) in by_thread.iter().enumerate() {
            // Threads without moments begin where the next one does.
            let known = starts.len().max(*thread as usize + 1);
            starts.resize(known, number_of(place));
        }
        starts.resize(tasks.len() + 1, number_of(by_thread.len()));
        let mut moments: Vec<u64> = by_thread.into_iter().map(|(_, at_ns)| at_ns).collect();
        moments.shrink_to_fit();
        Self { tasks, moments, starts, stretches: HashMap::default(), by_tid }
    }

    /// Returns the thread that had an id at some time.
    fn thread_at(&self, tid: u32, at_ns: u64) -> Option<usize> {
        self.by_tid.overlapping(tid, at_ns, at_ns).next()
    }

    fn moments_of(&self, thread: usize) -> &[u64] {
        &self.moments[self.starts[thread] as usize..self.starts[thread + 1] as usize]
    }

    /// Processes a record of totals.
    pub(super) fn feed(&mut self, event: &CpuEvent) {
        let Some(thread) = self.thread_at(event.tid, event.at_ns) else { return };
        if self.moments_of(thread).is_empty() {
            return;
        }
        let at_end = Point { at_ns: event.at_ns, times: event.times };
        if !at_end.is_whole(&self.tasks[thread]) {
            return;
        }
        self.add(thread, at_end);
        if let Some(passed_ns) = event.at_ns.checked_sub(event.since_ns)
            && let Some(times) = before(event.times, event.state, passed_ns)
        {
            let at_start = Point { at_ns: event.since_ns, times };
            if at_start.is_whole(&self.tasks[thread]) {
                self.add(thread, at_start);
            }
        }
    }

    fn add(&mut self, thread: usize, point: Point) {
        // A point at a moment belongs to the stretch before it, where it is exact.
        let number = self.moments_of(thread).partition_point(|moment| *moment < point.at_ns);
        self.stretches.entry(number_of(thread)).or_default().add(Stretch { number, first: point, last: point });
    }

    /// Ends the reading of records.
    pub(super) fn close(mut self) -> Totals<'a> {
        self.stretches.values_mut().for_each(Stretches::merge);
        Totals(self)
    }
}

fn number_of(index: usize) -> u32 {
    u32::try_from(index).expect("fewer than 2^32 threads and moments fit into memory")
}

impl Point {
    /// Returns `true` if its totals add up to the thread's age. They do not when a sample read them in the middle of an
    /// update.
    fn is_whole(&self, task: &Task) -> bool {
        let times = self.times;
        let sum = [times.user_ns, times.kernel_ns, times.blocked_ns, times.preempted_ns]
            .into_iter()
            .try_fold(0_u64, u64::checked_add);
        sum.is_some() && self.at_ns.checked_sub(task.start_ns) == sum && times.iowait_ns <= times.blocked_ns
    }

    fn of_birth(task: &Task) -> Self {
        Self { at_ns: task.start_ns, times: ThreadTimes::default() }
    }

    /// Returns the totals at the end of a task; `None` if it outlived the observation, or if they do not add up.
    fn of_end(task: &Task) -> Option<Self> {
        let times = ThreadTimes {
            user_ns: task.user_ns,
            kernel_ns: task.kernel_ns,
            blocked_ns: task.blocked_ns,
            iowait_ns: task.iowait_ns,
            preempted_ns: task.preempted_ns,
        };
        Some(Self { at_ns: task.end_ns?, times }).filter(|point| point.is_whole(task))
    }
}

impl Totals<'_> {
    /// Returns how the time of a span was spent; `None` when the thread's totals around it are unknown.
    pub(super) fn between(&self, tid: u32, start_ns: u64, end_ns: u64) -> Option<SpanTimes> {
        let thread = self.0.thread_at(tid, start_ns)?;
        let (start, end) = (self.cut(thread, start_ns)?, self.cut(thread, end_ns)?);
        let mut parts = [0; 5];
        let mut backwards_ns = 0;
        for (part, (from, to)) in parts.iter_mut().zip(parts_of(start.times).into_iter().zip(parts_of(end.times))) {
            *part = to.saturating_sub(from);
            backwards_ns = backwards_ns.max(from.saturating_sub(to));
        }
        Some(SpanTimes { times: of_parts(parts), error_ns: start.error_ns + end.error_ns + backwards_ns })
    }

    /// Returns a thread's totals at a moment, interpolated between the points around it.
    fn cut(&self, thread: usize, moment_ns: u64) -> Option<SpanTimes> {
        let number = self.0.moments_of(thread).binary_search(&moment_ns).ok()?;
        let stretches = self.0.stretches.get(&number_of(thread)).map_or(&[][..], |of_thread| &of_thread.all);
        let (until, later) = stretches.split_at(stretches.partition_point(|stretch| stretch.number <= number));
        let task = &self.0.tasks[thread];
        let birth = Some(Point::of_birth(task)).filter(|birth| birth.at_ns <= moment_ns);
        let (ended, ends) = match Point::of_end(task) {
            Some(end) if end.at_ns <= moment_ns => (Some(end), None),
            end => (None, end),
        };
        let until = until.last().map(|stretch| stretch.last);
        let before = until.into_iter().chain(birth).chain(ended).max_by_key(|point| point.at_ns)?;
        if before.at_ns == moment_ns {
            return Some(SpanTimes { times: before.times, error_ns: 0 });
        }
        let later = later.first().map(|stretch| stretch.first);
        let Some(after) = ends.into_iter().chain(later).min_by_key(|point| point.at_ns) else {
            // A thread that outlives the observation. No total has grown by more than the time since.
            let is_known = before.at_ns > task.start_ns;
            return is_known.then(|| SpanTimes { times: before.times, error_ns: moment_ns - before.at_ns });
        };
        let (passed, whole) = (moment_ns - before.at_ns, after.at_ns - before.at_ns);
        let mut parts = [0; 5];
        let mut error_ns = 0;
        for (part, (from, to)) in parts.iter_mut().zip(parts_of(before.times).into_iter().zip(parts_of(after.times))) {
            let gained = to.saturating_sub(from);
            // A sample between a mode change and its accounting counts an instant for the previous
            // mode; the later totals are then smaller by this amount.
            error_ns = error_ns.max(from.saturating_sub(to));
            *part = from + (u128::from(gained) * u128::from(passed) / u128::from(whole)) as u64;
            // No total grows faster than the clock: where all time was spent in one state, the cut is exact.
            let least = from.max(to.saturating_sub(whole - passed));
            let most = to.min(from + passed).max(from);
            error_ns = error_ns.max(part.abs_diff(least)).max(part.abs_diff(most));
        }
        Some(SpanTimes { times: of_parts(parts), error_ns })
    }
}

impl Stretch {
    /// Adds the points of a stretch between the same moments.
    fn add(&mut self, other: &Stretch) {
        if other.first.at_ns < self.first.at_ns {
            self.first = other.first;
        }
        if other.last.at_ns > self.last.at_ns {
            self.last = other.last;
        }
    }
}

impl Stretches {
    fn add(&mut self, added: Stretch) {
        // A thread's records are mostly in order.
        if let Some(latest) = self.all.last_mut().filter(|latest| latest.number == added.number) {
            latest.add(&added);
            return;
        }
        if self.all.len() >= 2 * self.merged.max(MERGED_FROM) {
            self.merge();
        }
        // Most threads have one or two.
        if self.all.len() < 2 {
            self.all.reserve_exact(1);
        }
        self.all.push(added);
    }

    /// Sorts the stretches, and makes one of those between the same moments.
    fn merge(&mut self) {
        self.all.sort_by_key(|stretch| stretch.number);
        self.all.dedup_by(|later, earlier| {
            let same = later.number == earlier.number;
            if same {
                earlier.add(later);
            }
            same
        });
        self.merged = self.all.len();
    }
}

/// Returns the totals some time earlier, when all of that time was spent in one state.
fn before(mut times: ThreadTimes, state: ThreadState, passed_ns: u64) -> Option<ThreadTimes> {
    let total = match state {
        ThreadState::User => &mut times.user_ns,
        ThreadState::Kernel => &mut times.kernel_ns,
        ThreadState::Blocked | ThreadState::IoWait | ThreadState::Stopped => &mut times.blocked_ns,
        ThreadState::Preempted => &mut times.preempted_ns,
    };
    *total = total.checked_sub(passed_ns)?;
    if state == ThreadState::IoWait {
        times.iowait_ns = times.iowait_ns.checked_sub(passed_ns)?;
    }
    Some(times)
}

fn parts_of(times: ThreadTimes) -> [u64; 5] {
    [times.user_ns, times.kernel_ns, times.blocked_ns, times.iowait_ns, times.preempted_ns]
}

fn of_parts([user_ns, kernel_ns, blocked_ns, iowait_ns, preempted_ns]: [u64; 5]) -> ThreadTimes {
    ThreadTimes { user_ns, kernel_ns, blocked_ns, iowait_ns, preempted_ns }
}

impl SpanTimes {
    /// Adds another span's times.
    pub(super) fn add(&mut self, other: SpanTimes) {
        let mut parts = parts_of(self.times);
        parts.iter_mut().zip(parts_of(other.times)).for_each(|(sum, part)| *sum += part);
        *self = Self { times: of_parts(parts), error_ns: self.error_ns + other.error_ns };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Creates a task born at 1000.
    fn task(end: Option<(u64, [u64; 5])>) -> Task {
        let times = of_parts(end.map_or([0; 5], |(_, parts)| parts));
        Task {
            tid: 7,
            tgid: 7,
            parent_tgid: 1,
            comm: String::new(),
            start_ns: 1_000,
            end_ns: end.map(|(at_ns, _)| at_ns),
            exit_status: None,
            user_ns: times.user_ns,
            kernel_ns: times.kernel_ns,
            blocked_ns: times.blocked_ns,
            iowait_ns: times.iowait_ns,
            preempted_ns: times.preempted_ns,
        }
    }

    fn event(at_ns: u64, since_ns: u64, state: ThreadState, parts: [u64; 5]) -> CpuEvent {
        CpuEvent { at_ns, since_ns, state, tid: 7, tgid: 7, times: of_parts(parts) }
    }

    fn check(tasks: &[Task], events: &[CpuEvent], (start, end): (u64, u64), expected: Option<([u64; 5], u64)>) {
        let mut cuts = Cuts::new(tasks, [(7, start, end)]);
        events.iter().for_each(|event| cuts.feed(event));
        let expected = expected.map(|(parts, error_ns)| SpanTimes { times: of_parts(parts), error_ns });
        assert_eq!(cuts.close().between(7, start, end), expected, "{start}..{end}");
        // The order of arrival does not matter.
        let mut cuts = Cuts::new(tasks, [(7, start, end)]);
        events.iter().rev().for_each(|event| cuts.feed(event));
        assert_eq!(cuts.close().between(7, start, end), expected, "{start}..{end}");
    }

    #[test]
    fn a_cut_inside_one_state_is_exact_and_another_says_its_error() {
        // 100 in user mode and 100 in the kernel in unknown order, 300 in I/O wait, 100 preempted.
        let tasks = [task(Some((1_600, [100, 100, 300, 300, 100])))];
        let wait = event(1_500, 1_200, ThreadState::IoWait, [100, 100, 300, 300, 0]);
        for (span, expected) in [
            ((1_000, 1_600), ([100, 100, 300, 300, 100], 0)),
            ((1_200, 1_500), ([0, 0, 300, 300, 0], 0)),
            ((1_250, 1_550), ([0, 0, 250, 250, 50], 0)),
            ((1_100, 1_600), ([50, 50, 300, 300, 100], 50)),
            // A tenth of the way: at most 20 of either.
            ((1_020, 1_180), ([80, 80, 0, 0, 0], 20)),
        ] {
            check(&tasks, &[wait], span, Some(expected));
        }
    }

    #[test]
    fn totals_that_do_not_add_up_are_left_out() {
        let tasks = [task(Some((1_200, [100, 100, 0, 0, 0])))];
        let torn = event(1_100, 1_090, ThreadState::Kernel, [100, 20, 0, 0, 0]);
        check(&tasks, &[torn], (1_100, 1_200), Some(([50, 50, 0, 0, 0], 50)));
        let whole = event(1_100, 1_090, ThreadState::Kernel, [80, 20, 0, 0, 0]);
        check(&tasks, &[torn, whole], (1_100, 1_200), Some(([20, 80, 0, 0, 0], 0)));
    }

    #[test]
    fn an_instant_in_the_wrong_mode_is_an_error_of_its_length() {
        let tasks = [task(None)];
        let early = event(1_200, 1_200, ThreadState::User, [103, 97, 0, 0, 0]);
        let late = event(1_400, 1_400, ThreadState::Kernel, [100, 300, 0, 0, 0]);
        check(&tasks, &[early, late], (1_200, 1_400), Some(([0, 203, 0, 0, 0], 3)));
        check(&tasks, &[early, late], (1_200, 1_300), Some(([0, 101, 0, 0, 0], 3)));
    }

    #[test]
    fn a_thread_of_which_nothing_is_known_has_no_times() {
        check(&[task(None)], &[], (1_100, 1_200), None);
        check(&[], &[], (1_100, 1_200), None);
        let last = event(1_300, 1_250, ThreadState::User, [300, 0, 0, 0, 0]);
        check(&[task(None)], &[last], (1_100, 1_200), Some(([100, 0, 0, 0, 0], 0)));
    }

    #[test]
    fn a_thread_that_lives_on_has_the_times_that_are_known_and_says_their_error() {
        let last = event(1_300, 1_250, ThreadState::User, [300, 0, 0, 0, 0]);
        check(&[task(None)], &[last], (1_100, 1_400), Some(([200, 0, 0, 0, 0], 100)));
        check(&[task(None)], &[last], (1_350, 1_400), Some(([0, 0, 0, 0, 0], 150)));
    }

    #[test]
    fn an_id_that_was_used_again_is_another_thread() {
        let second = Task { start_ns: 5_000, ..task(None) };
        let tasks = [task(Some((1_500, [500, 0, 0, 0, 0]))), second];
        let later = event(5_400, 5_000, ThreadState::Kernel, [0, 400, 0, 0, 0]);
        check(&tasks, &[later], (1_100, 1_200), Some(([100, 0, 0, 0, 0], 0)));
        check(&tasks, &[later], (5_100, 5_200), Some(([0, 100, 0, 0, 0], 0)));
    }
}
