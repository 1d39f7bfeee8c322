//! Splits groups of fast calls, which the kernel programs merged, into one record per call.

use std::ops::RangeInclusive;

use crate::layout::Record;
use crate::records::{CallGroup, CallRecord, GroupedCall};
use crate::tables::TaskState;

/// Set in the first word of a group: start times never reach this bit.
const GROUP_MARK: u64 = 1 << 63;
/// Shift of the number of calls in that word; it has 3 bits.
const COUNT_SHIFT: u32 = 60;
/// Mask of the bits below: the end of the last call.
const END_MASK: u64 = (1 << COUNT_SHIFT) - 1;

/// Codes of `activebench_model::call::Op`: of `io_uring_enter`, and of requests of io_uring.
const OP_URING_ENTER: u16 = 30;
const OPS_OF_REQUESTS: RangeInclusive<u16> = 37..=41;

/// The last calls of a message, from which those of a group take what they have in common.
#[derive(Clone, Copy, Debug, Default)]
struct Models {
    /// The last call of all.
    any: Option<CallRecord>,
    /// The last `io_uring_enter`.
    enter: Option<CallRecord>,
    /// The last request of io_uring.
    request: Option<CallRecord>,
}

impl Models {
    fn learn(&mut self, call: CallRecord) {
        self.any = Some(call);
        match call.op {
            OP_URING_ENTER => self.enter = Some(call),
            op if OPS_OF_REQUESTS.contains(&op) => self.request = Some(call),
            _ => {}
        }
    }
}

/// Adds the calls of a message to `calls`: the call of each record, the calls of each group. `None` if the message
/// is truncated, or has a group without the calls before it that it depends on; calls added up to there stay.
pub fn add_calls(mut records: &[u8], calls: &mut Vec<CallRecord>) -> Option<()> {
    let mut models = Models::default();
    while !records.is_empty() {
        let first_word = records.first_chunk().map(|word| u64::from_ne_bytes(*word))?;
        records = if first_word & GROUP_MARK == 0 {
            let (call, rest) = CallRecord::split_from(records)?;
            call.add_to(calls);
            models.learn(call);
            rest
        } else {
            let (group, rest) = CallGroup::split_from(records)?;
            let first = calls.len();
            group.add_to(&models, calls)?;
            calls[first..].iter().for_each(|call| models.learn(*call));
            rest
        };
    }
    Some(())
}

/// In `cached_pages` of a request of libaio: the record stands for two calls too.
const PAIR_MARK: u32 = u32::MAX;
/// Codes of `activebench_model::call::Op`: of `io_submit` and of `io_getevents`.
const OP_IO_SUBMIT: u16 = 29;
const OP_IO_GETEVENTS: u16 = 32;

impl CallRecord {
    /// Adds the call of the record; that of a request of libaio may stand for the `io_submit` of one request before it
    /// and for the `io_getevents` that collected it, too.
    fn add_to(self, calls: &mut Vec<CallRecord>) {
        if self.cached_pages != PAIR_MARK {
            return calls.push(self);
        }
        let (in_calls_ns, gap_ns, events_ns) = (self.cpu_ns >> 32, self.cpu_ns >> 16 & 0xffff, self.cpu_ns & 0xffff);
        let call = CallRecord {
            ino: 0,
            offset: -1,
            requested: 0,
            returned: 1,
            s_dev: 0,
            open_flags: 0,
            storage_read_bytes: 0,
            cached_pages: 0,
            fd: -1,
            file_kind: 0,
            ..self
        };
        let submission_ns = in_calls_ns.saturating_sub(gap_ns + events_ns);
        let submitted_ns = self.end_ns.saturating_sub(in_calls_ns);
        calls.push(CallRecord {
            start_ns: submitted_ns,
            end_ns: submitted_ns.saturating_add(submission_ns).min(self.end_ns),
            op: OP_IO_SUBMIT,
            requested: 1,
            cpu_ns: submission_ns,
            storage_read_bytes: self.storage_read_bytes,
            ..call
        });
        calls.push(CallRecord {
            start_ns: self.end_ns.saturating_sub(events_ns),
            op: OP_IO_GETEVENTS,
            cpu_ns: events_ns,
            user_before_ns: gap_ns,
            ..call
        });
        calls.push(CallRecord { cpu_ns: 0, user_before_ns: 0, storage_read_bytes: 0, cached_pages: 0, ..self });
    }
}

impl CallGroup {
    /// Finishes the group that a thread was still filling: its calls take as long as those before them.
    #[must_use]
    pub fn finished_by(mut self, thread: &TaskState) -> Self {
        let calls = u64::from(thread.grouped);
        let end_ns = thread.last_ns + calls * u64::from(thread.step_ns);
        self.count_and_end_ns = GROUP_MARK | calls << COUNT_SHIFT | end_ns;
        self.step_ns = thread.step_ns as u16;
        self.user_ns = thread.between_ns.min(thread.step_ns) as u16;
        self.storage_read_bytes = 0;
        self
    }

    /// Number of calls that `members` of the group stand for: a request of io_uring stands for the call that submitted
    /// it too.
    pub fn calls_of(&self, members: u64) -> u64 {
        if self.is_of_requests() { 2 * members } else { members }
    }

    fn is_of_requests(&self) -> bool {
        OPS_OF_REQUESTS.contains(&((self.calls[0].offset_and_op & 0xff) as u16))
    }

    /// Adds the calls of the group; `None` without a call before it that they depend on.
    fn add_to(&self, models: &Models, calls: &mut Vec<CallRecord>) -> Option<()> {
        let count = (self.count_and_end_ns >> COUNT_SHIFT & 7) as usize;
        let last_end_ns = self.count_and_end_ns & END_MASK;
        let mut left = count.min(self.calls.len());
        let mut end_before_ns = models.any?.end_ns;
        let model = if self.is_of_requests() { models.enter? } else { models.any? };
        for GroupedCall { offset_and_op, requested, returned } in self.calls.into_iter().take(left) {
            left -= 1;
            let end_ns = if left == 0 { last_end_ns } else { end_before_ns.saturating_add(u64::from(self.step_ns)) };
            let start_ns = end_ns.min(end_before_ns.saturating_add(u64::from(self.user_ns)));
            // They were not timed. Reads from storage count for the last call alone.
            let untimed = |model: CallRecord| CallRecord {
                start_ns,
                end_ns,
                stands_for: 0,
                storage_read_bytes: 0,
                cached_pages: 0,
                user_before_ns: 0,
                cpu_ns: 0,
                ..model
            };
            let moved = |model: CallRecord| CallRecord {
                offset: (offset_and_op >> 8) as i64,
                op: (offset_and_op & 0xff) as u16,
                requested: u64::from(requested),
                returned: i64::from(returned),
                ..model
            };
            let mut call = untimed(model);
            if self.is_of_requests() {
                let request = moved(untimed(models.request?));
                // Behind the entry of its call, so that it sorts behind it.
                calls.push(CallRecord { start_ns: end_ns.min(start_ns.saturating_add(1)), ..request });
                (call.requested, call.returned) = (1, 1);
            } else {
                call = moved(call);
            }
            call.user_before_ns = start_ns.saturating_sub(end_before_ns);
            call.cpu_ns = end_ns.saturating_sub(start_ns);
            if left == 0 {
                call.storage_read_bytes = self.storage_read_bytes;
            }
            calls.push(call);
            end_before_ns = end_ns;
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::bytes_of;

    fn call() -> CallRecord {
        // SAFETY: all zeroes is a value of every `Record`.
        let mut call: CallRecord = unsafe { std::mem::zeroed() };
        (call.start_ns, call.end_ns, call.ino, call.tid, call.fd) = (900, 1000, 7, 3, 5);
        (call.storage_read_bytes, call.cached_pages, call.stands_for) = (4096, 1, 16);
        call
    }

    fn group(count: u64, end_ns: u64) -> CallGroup {
        let of_number = |number: u64| GroupedCall {
            offset_and_op: (number << 40) << 8 | (1 + number % 2),
            requested: 100,
            returned: if number == 1 { -5 } else { 100 },
        };
        CallGroup {
            count_and_end_ns: GROUP_MARK | count << COUNT_SHIFT | end_ns,
            step_ns: 100,
            user_ns: 30,
            storage_read_bytes: 8192,
            calls: std::array::from_fn(|number| of_number(number as u64)),
        }
    }

    #[test]
    fn a_group_becomes_calls_behind_that_before_it() {
        let mut calls = Vec::new();
        let message = [bytes_of(&call()), bytes_of(&group(2, 1250)), bytes_of(&group(1, 1300))].concat();
        add_calls(&message, &mut calls).expect("whole");
        let times: Vec<_> = calls.iter().map(|call| (call.start_ns, call.end_ns)).collect();
        assert_eq!(times, [(900, 1000), (1030, 1100), (1130, 1250), (1280, 1300)]);
        let sums: Vec<_> = calls.iter().map(|call| (call.user_before_ns, call.cpu_ns)).collect();
        assert_eq!(sums[1..], [(30, 70), (30, 120), (30, 20)]);
        let moved: Vec<_> = calls.iter().map(|call| (call.op, call.offset, call.returned)).collect();
        assert_eq!(moved[1..], [(1, 0, 100), (2, 1 << 40, -5), (1, 0, 100)]);
        assert!(calls.iter().all(|call| (call.ino, call.tid, call.fd) == (7, 3, 5)));
        let storage: Vec<_> = calls.iter().map(|call| (call.storage_read_bytes, call.stands_for)).collect();
        assert_eq!(storage, [(4096, 16), (0, 0), (8192, 0), (8192, 0)]);
        assert!(calls[1..].iter().all(|call| call.cached_pages == 0));
    }

    #[test]
    fn a_request_of_a_group_stands_for_its_io_uring_enter_too() {
        let enter = CallRecord { op: OP_URING_ENTER, fd: 9, ino: 0, requested: 1, returned: 1, offset: -1, ..call() };
        let request = CallRecord { op: 37, fd: 5, ino: 7, end_ns: 990, ..call() };
        let mut group = group(2, 1250);
        for (member, op) in group.calls.iter_mut().zip([37, 38]) {
            member.offset_and_op = member.offset_and_op >> 8 << 8 | op;
        }
        assert_eq!(group.calls_of(2), 4);
        let mut calls = Vec::new();
        add_calls(&[bytes_of(&request), bytes_of(&enter), bytes_of(&group)].concat(), &mut calls).expect("whole");
        let seen: Vec<_> = calls[2..]
            .iter()
            .map(|call| (call.op, call.fd, call.ino, call.start_ns, call.end_ns, call.offset, call.returned))
            .collect();
        assert_eq!(
            seen,
            [
                (37, 5, 7, 1031, 1100, 0, 100),
                (30, 9, 0, 1030, 1100, -1, 1),
                (38, 5, 7, 1131, 1250, 1 << 40, -5),
                (30, 9, 0, 1130, 1250, -1, 1),
            ]
        );
        let times: Vec<_> = calls[2..].iter().map(|call| (call.user_before_ns, call.cpu_ns)).collect();
        assert_eq!(times, [(0, 0), (30, 70), (0, 0), (30, 120)]);
        // Without a request or a call in front of it, it cannot be told apart.
        for before in [&enter, &request] {
            assert_eq!(add_calls(&[bytes_of(before), bytes_of(&group)].concat(), &mut calls), None);
        }
    }

    #[test]
    fn a_request_of_libaio_stands_for_the_calls_around_it() {
        let mut request = CallRecord { op: 33, start_ns: 500, end_ns: 9000, stands_for: 0, returned: 7, ..call() };
        (request.cpu_ns, request.user_before_ns) = (1000 << 32 | 100 << 16 | 50, 300);
        (request.cached_pages, request.storage_read_bytes) = (PAIR_MARK, 512);
        let mut calls = Vec::new();
        add_calls(bytes_of(&request), &mut calls).expect("whole");
        let seen: Vec<_> =
            calls.iter().map(|call| (call.op, call.start_ns, call.end_ns, call.requested, call.returned)).collect();
        assert_eq!(seen, [(29, 8000, 8850, 1, 1), (32, 8950, 9000, 0, 1), (33, 500, 9000, request.requested, 7)]);
        let times: Vec<_> =
            calls.iter().map(|call| (call.user_before_ns, call.cpu_ns, call.storage_read_bytes)).collect();
        assert_eq!(times, [(300, 850, 512), (100, 50, 0), (0, 0, 0)]);
        assert!(calls.iter().all(|call| call.cached_pages == 0 && call.stands_for == 0 && call.tid == 3));
        assert_eq!(calls.iter().map(|call| (call.ino, call.fd)).collect::<Vec<_>>(), [(0, -1), (0, -1), (7, 5)]);
        // Whatever the times are, no call ends before it starts.
        (request.cpu_ns, request.end_ns) = (u64::MAX, 10);
        add_calls(bytes_of(&request), &mut calls).expect("whole");
    }

    #[test]
    fn a_message_that_makes_no_sense_is_told() {
        let mut calls = vec![call()];
        assert_eq!(add_calls(bytes_of(&group(5, 1)), &mut calls), None, "the call in front is another message's");
        assert_eq!(add_calls(&bytes_of(&call())[1..], &mut calls), None);
        // An impossible count and impossible times: at most the calls of the group, and none goes back in time.
        let message = [bytes_of(&call()), bytes_of(&group(7, 1))].concat();
        calls.clear();
        add_calls(&message, &mut calls).expect("whole");
        assert_eq!(calls.len(), 6);
    }

    #[test]
    fn what_a_thread_was_still_filling_takes_as_long_as_before() {
        // SAFETY: all zeroes is a value of every `Record`.
        let mut state: TaskState = unsafe { std::mem::zeroed() };
        (state.grouped, state.last_ns, state.step_ns, state.between_ns) = (3, 1000, 200, 20);
        let mut calls = vec![];
        let mut models = Models::default();
        models.learn(call());
        group(0, 0).finished_by(&state).add_to(&models, &mut calls).expect("a call before it");
        let times: Vec<_> = calls.iter().map(|call| (call.start_ns, call.end_ns)).collect();
        assert_eq!(times, [(1020, 1200), (1220, 1400), (1420, 1600)]);
    }
}
