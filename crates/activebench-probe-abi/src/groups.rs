//! Splits groups of fast calls, which the kernel programs merged, into one record per call.

use crate::layout::Record;
use crate::records::{CallGroup, CallRecord, GroupedCall};
use crate::tables::TaskState;

/// Set in the first word of a group: start times never reach this bit.
const GROUP_MARK: u64 = 1 << 63;
/// Shift of the number of calls in that word; it has 3 bits.
const COUNT_SHIFT: u32 = 60;
/// Mask of the bits below: the end of the last call.
const END_MASK: u64 = (1 << COUNT_SHIFT) - 1;

/// Adds the calls of a message to `calls`: the call of each record, the calls of each group. `None` if the message
/// is truncated, or has a group without a call before it; calls added up to there stay.
pub fn add_calls(mut records: &[u8], calls: &mut Vec<CallRecord>) -> Option<()> {
    let first = calls.len();
    while !records.is_empty() {
        let first_word = records.first_chunk().map(|word| u64::from_ne_bytes(*word))?;
        records = if first_word & GROUP_MARK == 0 {
            let (call, rest) = CallRecord::split_from(records)?;
            calls.push(call);
            rest
        } else {
            let (group, rest) = CallGroup::split_from(records)?;
            let before = *calls.get(first..)?.last()?;
            group.add_to(before, calls);
            rest
        };
    }
    Some(())
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

    /// Adds the calls of the group, which follow `call` of the same thread on the same descriptor.
    pub fn add_to(&self, mut call: CallRecord, calls: &mut Vec<CallRecord>) {
        let count = (self.count_and_end_ns >> COUNT_SHIFT & 7) as usize;
        let last_end_ns = self.count_and_end_ns & END_MASK;
        let mut left = count.min(self.calls.len());
        // The same for all calls: they were not timed. Reads from storage count for the last call alone.
        (call.stands_for, call.storage_read_bytes, call.cached_pages) = (0, 0, 0);
        for GroupedCall { offset_and_op, requested, returned } in self.calls.into_iter().take(left) {
            left -= 1;
            let end_before_ns = call.end_ns;
            call.end_ns = if left == 0 { last_end_ns } else { end_before_ns + u64::from(self.step_ns) };
            call.start_ns = call.end_ns.min(end_before_ns + u64::from(self.user_ns));
            call.user_before_ns = call.start_ns.saturating_sub(end_before_ns);
            call.cpu_ns = call.end_ns.saturating_sub(call.start_ns);
            call.offset = (offset_and_op >> 8) as i64;
            call.op = (offset_and_op & 0xff) as u16;
            call.requested = u64::from(requested);
            call.returned = i64::from(returned);
            if left == 0 {
                call.storage_read_bytes = self.storage_read_bytes;
            }
            calls.push(call);
        }
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
        group(0, 0).finished_by(&state).add_to(call(), &mut calls);
        let times: Vec<_> = calls.iter().map(|call| (call.start_ns, call.end_ns)).collect();
        assert_eq!(times, [(1020, 1200), (1220, 1400), (1420, 1600)]);
    }
}
