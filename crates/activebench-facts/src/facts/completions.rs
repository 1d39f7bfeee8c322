//! Latency of asynchronous requests from the end of the submitting call to their collection.
//!
//! This is fio's `clat`: fio reads its clock after `io_submit` or `io_uring_enter` has returned, and again when it has
//! collected the request. A libaio request is collected by a call and ends when that call returns. An io_uring request
//! ends when the kernel posts its completion. Its thread takes it from the ring without a call, in the order of posting.
//! This shows when the thread submits more than the queue depth leaves room for: the request was collected between that
//! call and the one before it (fio takes one at a time). The queue depth is what the command requests, or the most that
//! was in flight before.
//!
//! Where calls follow one another fast, the kernel programs read the clock for some of them; the times of the others,
//! and the submission of a request that such a call made, are estimates, each by itself. A request whose submission is
//! an estimate belongs to the nearest submitting call, and counts in a distribution only where it took much longer than
//! the estimate may be off ([`Latencies::record`]).

use std::collections::VecDeque;

use activebench_model::call::{Call, Op};
use activebench_model::phase::{Mechanism, Phase};
use foldhash::HashMap;

use super::latency::{Latencies, SURE_FROM_NS, Timing};

/// Submitting calls remembered for each thread: more than any queue depth, because the search goes back that far.
const REMEMBERED: usize = 1 << 13;
/// Largest share of requests that may be missing: a tenth of those beyond the 99.9th percentile.
const MOST_UNPLACED: f64 = 1e-4;

/// Completion latencies of every phase, updated with every call.
///
/// Memory: 16 bytes per remembered call and thread, and 24 bytes for each io_uring request that waits for the next call.
pub(super) struct Completions {
    threads: HashMap<u32, Thread>,
    phases: Vec<OfPhase>,
    /// Queue depth that the command requests, by phase.
    depths: Vec<Option<u64>>,
}

/// Latencies of the requests of one phase's direction.
#[derive(Debug, Default)]
pub(super) struct OfPhase {
    /// From the end of the submitting call to the collection.
    pub(super) completion: Latencies,
    /// From the submission to the collection.
    pub(super) total: Latencies,
    /// Requests whose submitting call was not seen; they are in neither.
    unknown: u64,
    /// The same of requests whose submission is an estimate: it was off because the thread did not run meanwhile.
    unplaced: u64,
    requests: u64,
}

#[derive(Debug, Default)]
struct Thread {
    /// Start and end of its calls that submit requests or wait for them, in order.
    calls: VecDeque<(u64, u64)>,
    /// io_uring requests that were posted and not collected yet.
    posted: VecDeque<Posted>,
    /// Number of io_uring requests that were submitted and not collected yet.
    in_flight: u64,
    /// Largest value of `in_flight` so far.
    deepest: u64,
    /// Largest number that the command allows.
    depth: Option<u64>,
}

#[derive(Clone, Copy, Debug)]
struct Posted {
    /// `None` for a request that no phase counts.
    phase: Option<usize>,
    /// True if the same request counts for a second phase.
    again: bool,
    timing: Timing,
    start_ns: u64,
    end_ns: u64,
}

impl Completions {
    pub(super) fn new(phases: &[Phase]) -> Self {
        let depth = |phase: &Phase| {
            phase.promises.iter().find_map(|promise| match promise.mechanism {
                Mechanism::QueueDepth(depth) => Some(u64::from(depth)),
                _ => None,
            })
        };
        Self {
            threads: HashMap::default(),
            phases: phases.iter().map(|_| OfPhase::default()).collect(),
            depths: phases.iter().map(depth).collect(),
        }
    }

    /// Processes a call of any kind.
    pub(super) fn feed(&mut self, call: &Call) {
        match call.op {
            Op::IoSubmit | Op::IoUringEnter => {}
            Op::UringRead | Op::UringWrite | Op::UringFsync | Op::UringFdatasync | Op::UringOther => {
                let thread = self.threads.entry(call.tid).or_default();
                return thread.posted.push_back(Posted::of(call, None));
            }
            _ => return,
        }
        let thread = self.threads.entry(call.tid).or_default();
        let before_ns = thread.calls.back().map_or(0, |(_, end_ns)| *end_ns);
        if thread.calls.len() == REMEMBERED {
            thread.calls.pop_front();
        }
        thread.calls.push_back((call.start_ns, call.end_ns));
        if call.op == Op::IoSubmit {
            return;
        }
        if call.requested > 0 {
            let most = thread.depth.unwrap_or(thread.deepest);
            let excess = (thread.in_flight + call.requested).saturating_sub(most);
            thread.collect(call.start_ns, excess, |posted| posted.end_ns.max(before_ns), &mut self.phases);
            thread.in_flight += u64::try_from(call.returned).unwrap_or(0);
            thread.deepest = thread.deepest.max(thread.in_flight);
        }
    }

    /// Processes a data request of a phase's direction, after [`Self::feed`] processed it.
    pub(super) fn request(&mut self, phase: usize, call: &Call) {
        // The others are collected by the call itself.
        if !call.op.is_asynchronous() {
            return;
        }
        let thread = self.threads.entry(call.tid).or_default();
        thread.depth = thread.depth.or(self.depths[phase]);
        match (call.op, thread.posted.back_mut()) {
            (Op::AioRead | Op::AioWrite, _) => {
                self.phases[phase].add(thread, call.start_ns, call.end_ns, Timing::of(call));
            }
            (Op::UringRead | Op::UringWrite, Some(posted)) if posted.phase.is_none() => posted.phase = Some(phase),
            (Op::UringRead | Op::UringWrite, _) => {
                thread.posted.push_back(Posted { again: true, ..Posted::of(call, Some(phase)) });
            }
            _ => {}
        }
    }

    /// Ends the count; call it after the last call.
    pub(super) fn close(&mut self) {
        for thread in self.threads.values_mut() {
            let last_ns = thread.calls.back().map_or(0, |(_, end_ns)| *end_ns);
            thread.collect(u64::MAX, u64::MAX, |posted| posted.end_ns.max(last_ns), &mut self.phases);
        }
    }

    pub(super) fn of(&self, phase: usize) -> &OfPhase {
        &self.phases[phase]
    }
}

impl Thread {
    /// Returns the end of the call that submitted a request; `None` if it was not seen.
    fn handed_over_ns(&self, start_ns: u64, is_estimate: bool) -> Option<u64> {
        let after = self.calls.partition_point(|(called_ns, _)| *called_ns <= start_ns);
        let before = after.checked_sub(1).and_then(|number| self.calls.get(number));
        let around = before.into_iter().chain(self.calls.get(after).filter(|_| is_estimate));
        let apart = |(called_ns, ended_ns): &(u64, u64)| {
            start_ns.saturating_sub(*ended_ns).max(called_ns.saturating_sub(start_ns))
        };
        let most_ns = if is_estimate { SURE_FROM_NS } else { 0 };
        let nearest = around.min_by_key(|call| apart(call)).filter(|call| apart(call) <= most_ns);
        nearest.map(|(_, ended_ns)| *ended_ns)
    }

    /// Collects requests that were posted until a time, in the order of posting, and at most `most`.
    fn collect(&mut self, until_ns: u64, most: u64, at_ns: impl Fn(&Posted) -> u64, phases: &mut [OfPhase]) {
        let mut left = most;
        let mut later: Vec<Posted> = Vec::new();
        // A request that counts for a second phase is collected with its first entry.
        while self.posted.front().is_some_and(|posted| left > 0 || posted.again && most > 0)
            && let Some(posted) = self.posted.pop_front()
        {
            if posted.end_ns > until_ns {
                later.push(posted);
                continue;
            }
            left = left.saturating_sub(u64::from(!posted.again));
            self.in_flight = self.in_flight.saturating_sub(u64::from(!posted.again));
            if let Some(phase) = posted.phase {
                phases[phase].add(self, posted.start_ns, at_ns(&posted), posted.timing);
            }
        }
        later.into_iter().rev().for_each(|posted| self.posted.push_front(posted));
    }
}

impl Posted {
    fn of(call: &Call, phase: Option<usize>) -> Self {
        let &Call { start_ns, end_ns, .. } = call;
        Self { phase, again: false, timing: Timing::of(call), start_ns, end_ns }
    }
}

impl OfPhase {
    fn add(&mut self, thread: &Thread, start_ns: u64, collected_ns: u64, timing: Timing) {
        self.requests += 1;
        let is_estimate = timing == Timing::Estimated;
        match thread.handed_over_ns(start_ns, is_estimate) {
            // A request that was complete before the call returned took no time after it.
            Some(handed_over_ns) => {
                self.completion.record(collected_ns.saturating_sub(handed_over_ns), timing);
                self.total.record(collected_ns.saturating_sub(start_ns), timing);
            }
            None if is_estimate => self.unplaced += 1,
            None => self.unknown += 1,
        }
    }

    /// Returns the number of requests whose latencies are missing; 0 where these are too few to move a percentile.
    pub(super) fn missing(&self) -> u64 {
        let too_few = self.unplaced as f64 <= MOST_UNPLACED * self.requests as f64;
        self.unknown + if too_few { 0 } else { self.unplaced }
    }
}

#[cfg(test)]
mod tests {
    use activebench_model::call::FileKind;
    use activebench_model::phase::Direction;

    use super::*;

    fn call(op: Op, start_ns: u64, end_ns: u64) -> Call {
        Call {
            start_ns,
            end_ns,
            tid: 7,
            tgid: 7,
            op,
            fd: 3,
            file: None,
            kind: FileKind::Regular,
            open_flags: 0,
            offset: 0,
            requested: 1,
            returned: 1,
            storage_read_bytes: 0,
            cached_bytes: 0,
            cpu_ns: 0,
            user_before_ns: 0,
            stands_for: 1,
        }
    }

    /// Checks the longest completion and total latency, and the number of unknown ones.
    fn check(calls: &[Call], completion: Option<u64>, total: Option<u64>, unknown: u64) {
        let mut completions = Completions::new(&[Phase::planned("p", "p", Direction::Read)]);
        for call in calls {
            completions.feed(call);
            if call.op.is_data() {
                completions.request(0, call);
            }
        }
        completions.close();
        let of = completions.of(0);
        let longest = |latencies: &Latencies| latencies.at_most(1.0).map(|longest| longest.value as u64);
        assert_eq!(
            (longest(&of.completion), longest(&of.total), of.missing()),
            (completion, total, unknown),
            "{calls:?}"
        );
    }

    #[test]
    fn handing_over_is_left_out_and_waiting_for_the_completion_is_not() {
        use Op::{AioRead, AioWrite, IoSubmit, IoUringEnter, UringRead};
        // libaio: submitted at the entry of its call, collected at the end of another.
        check(&[call(IoSubmit, 100, 130), call(AioRead, 100, 500)], Some(370), Some(400), 0);
        // Two requests of one call, the second collected later.
        let calls = [call(IoSubmit, 100, 130), call(AioWrite, 100, 200), call(AioWrite, 100, 900)];
        check(&calls, Some(770), Some(800), 0);
        // Calls before or after the submitting one do not count as it.
        let calls =
            [call(IoSubmit, 10, 20), call(IoSubmit, 100, 130), call(IoSubmit, 200, 230), call(AioRead, 100, 500)];
        check(&calls, Some(370), Some(400), 0);
        // io_uring: completion posted while the thread waited.
        let wait = |start_ns, end_ns| Call { requested: 0, ..call(IoUringEnter, start_ns, end_ns) };
        let calls = [call(IoUringEnter, 100, 130), call(UringRead, 110, 400), wait(140, 420)];
        check(&calls, Some(290), Some(310), 0);
        // Completion posted while the thread did something else; the next request is submitted after the collection.
        let calls = [call(IoUringEnter, 100, 130), call(UringRead, 110, 400), call(IoUringEnter, 450, 480)];
        check(&calls, Some(270), Some(290), 0);
        // At most two in flight, collected one by one: the second is collected after the first was submitted again.
        let calls = [
            call(IoUringEnter, 0, 10),
            call(IoUringEnter, 20, 30),
            call(UringRead, 5, 50),
            call(UringRead, 25, 55),
            wait(40, 60),
            call(IoUringEnter, 100, 110),
            call(IoUringEnter, 300, 310),
        ];
        check(&calls, Some(80), Some(85), 0);
        // Complete before the submitting call returned.
        check(&[call(UringRead, 110, 120), call(IoUringEnter, 100, 130)], Some(0), Some(20), 0);
        // The last request, which no call follows.
        check(&[call(IoUringEnter, 100, 130), call(UringRead, 110, 400)], Some(270), Some(290), 0);
        // A submitting call that was not seen.
        check(&[call(AioRead, 100, 500)], None, None, 1);
        check(&[call(IoSubmit, 10, 20), call(AioRead, 100, 500)], None, None, 1);
    }

    #[test]
    fn a_submission_that_is_an_estimate_belongs_to_the_nearest_call() {
        use Op::{AioRead, IoSubmit};
        let estimate = |op, start_ns, end_ns| Call { stands_for: 0, ..call(op, start_ns, end_ns) };
        // Estimates of a call and of the request that it submitted do not agree; the call behind is nearer.
        let calls = [estimate(IoSubmit, 100, 100), estimate(IoSubmit, 1_000, 1_100), estimate(AioRead, 900, 200_000)];
        check(&calls, Some(198_900), Some(199_100), 0);
        let calls = [estimate(IoSubmit, 100, 100), estimate(IoSubmit, 1_000, 1_100), estimate(AioRead, 300, 200_000)];
        check(&calls, Some(199_900), Some(199_700), 0);
        // Too far from any.
        check(&[estimate(IoSubmit, 100, 100), estimate(AioRead, 100 + SURE_FROM_NS + 1, 900_000)], None, None, 1);
        // Not much longer than an estimate is off: no sample.
        check(&[estimate(IoSubmit, 100, 100), estimate(AioRead, 90, 5_000)], None, None, 0);
        // One that was timed stands for others.
        let timed = Call { stands_for: 31, ..call(AioRead, 100, 5_000) };
        check(&[call(IoSubmit, 100, 130), timed], Some(4_870), Some(4_900), 0);
    }

    #[test]
    fn a_request_in_ten_thousand_without_a_call_leaves_the_latencies_whole() {
        let missing = |unplaced, requests| OfPhase { unplaced, requests, ..OfPhase::default() }.missing();
        assert_eq!((missing(1, 10_000), missing(1, 9_999), missing(2, 10_000)), (0, 1, 2));
        assert_eq!(OfPhase { unknown: 1, requests: 1 << 30, ..OfPhase::default() }.missing(), 1);
    }

    #[test]
    fn calls_are_forgotten_past_the_deepest_queue() {
        let mut completions = Completions::new(&[Phase::planned("p", "p", Direction::Read)]);
        for number in 0..=REMEMBERED as u64 {
            completions.feed(&call(Op::IoSubmit, 100 * number, 100 * number + 10));
        }
        completions.request(0, &call(Op::AioRead, 0, 5));
        completions.request(0, &call(Op::AioRead, 100, 150));
        assert_eq!(completions.of(0).missing(), 1);
        assert_eq!(completions.of(0).completion.at_most(1.0).map(|longest| longest.value), Some(40.0));
    }
}
