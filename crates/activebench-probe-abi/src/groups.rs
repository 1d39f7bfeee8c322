//! Splits groups of fast calls, which the kernel programs merged, into one record per call.

use std::ops::RangeInclusive;

use crate::layout::Record;
use crate::records::{CallGroup, CallRecord, GroupedCall};
use crate::tables::TaskState;

/// Set in the first word of a group: start times never reach this bit.
const GROUP_MARK: u64 = 1 << 63;
/// Shift of the number of calls in that word; it has 4 bits.
const COUNT_SHIFT: u32 = 59;
/// Set in that word of a narrow group.
const NARROW_MARK: u64 = 1 << 58;
/// Mask of the bits below: the end of the last call.
const END_MASK: u64 = NARROW_MARK - 1;

/// Codes of `activebench_model::call::Op`: of `io_uring_enter`, and of requests of io_uring and of libaio.
const OP_URING_ENTER: u16 = 30;
const OPS_OF_REQUESTS: RangeInclusive<u16> = 37..=41;
const OPS_OF_PAIRS: RangeInclusive<u16> = 33..=36;

/// The last records before a group, from which its calls take what they have in common.
#[derive(Clone, Copy, Debug, Default)]
struct Models<'a> {
    /// The last record of all.
    any: Option<Model<'a>>,
    /// The last `io_uring_enter`.
    enter: Option<Model<'a>>,
    /// The last request of io_uring.
    request: Option<Model<'a>>,
    /// The last record of a pair of libaio.
    pair: Option<Model<'a>>,
    /// The last record of all but `io_uring_enter`: it has the length of the calls of a narrow group.
    length: Option<Model<'a>>,
    /// End of the last call.
    end_ns: u64,
}

/// The bytes of a record: most fields are never looked at.
#[derive(Clone, Copy, Debug)]
struct Model<'a>(&'a [u8; size_of::<CallRecord>()]);

impl Model<'_> {
    fn record(self) -> Option<CallRecord> {
        CallRecord::split_from(self.0).map(|(record, _)| record)
    }
}

impl<'a> Models<'a> {
    fn learn(&mut self, bytes: &'a [u8; size_of::<CallRecord>()], record: &CallRecord) {
        let model = Some(Model(bytes));
        (self.any, self.end_ns) = (model, record.end_ns);
        match record.op {
            OP_URING_ENTER => return self.enter = model,
            op if OPS_OF_REQUESTS.contains(&op) => self.request = model,
            _ if record.cached_pages == PAIR_MARK => self.pair = model,
            _ => {}
        }
        self.length = model;
    }
}

/// What takes the parts of a message.
trait Parts {
    /// Takes a record.
    fn call(&mut self, record: &CallRecord);
    /// Takes a group, with the records before it: all that it depends on are there.
    fn group(&mut self, group: &CallGroup, models: &Models<'_>);
}

/// Passes on the parts of a message or of several. `None` at the first that is truncated, or that is a group without the
/// records before it that it depends on; returns the bytes before it.
fn each_part(records: &[u8], parts: &mut impl Parts) -> Result<(), usize> {
    let mut models = Models::default();
    let mut rest = records;
    while let Some((bytes, after)) = rest.split_first_chunk::<{ size_of::<CallRecord>() }>() {
        let first_word = rest.first_chunk().map_or(0, |word| u64::from_ne_bytes(*word));
        if first_word & GROUP_MARK == 0 {
            if let Some((record, _)) = CallRecord::split_from(bytes) {
                models.learn(bytes, &record);
                parts.call(&record);
            }
        } else if let Some((group, _)) = CallGroup::split_from(bytes) {
            if !group.is_told_by(&models) {
                break;
            }
            parts.group(&group, &models);
            models.end_ns = group.count_and_end_ns & END_MASK;
        }
        rest = after;
    }
    if rest.is_empty() { Ok(()) } else { Err(records.len() - rest.len()) }
}

/// Adds the calls of a message to `calls`: the call of each record, the calls of each group. `None` if the message
/// is truncated, or has a group without the calls before it that it depends on; calls added up to there stay.
pub fn add_calls(records: &[u8], calls: &mut Vec<CallRecord>) -> Option<()> {
    struct Adding<'a> {
        calls: &'a mut Vec<CallRecord>,
        /// `None` from the first group on that could not be added.
        whole: Option<()>,
    }
    impl Parts for Adding<'_> {
        fn call(&mut self, record: &CallRecord) {
            record.add_to(self.calls);
        }

        fn group(&mut self, group: &CallGroup, models: &Models<'_>) {
            self.whole = self.whole.and(group.add_to(models, self.calls));
        }
    }
    let mut adding = Adding { calls, whole: Some(()) };
    each_part(records, &mut adding).ok().and(adding.whole)
}

/// Data that a call, or the calls of a group that are alike, moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moved {
    /// Code of `activebench_model::call::Op`.
    pub op: u16,
    /// As in [`CallRecord`].
    pub file_kind: u8,
    /// As in [`CallRecord`].
    pub s_dev: u32,
    /// Bytes.
    pub bytes: u64,
}

/// What [`count_calls`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted {
    /// Calls.
    pub calls: u64,
    /// Bytes of the message up to where it makes no sense; all of them if it does.
    pub whole_bytes: usize,
}

/// Counts the calls of a message as [`add_calls`] adds them, without making them; passes on the data that they moved.
pub fn count_calls(records: &[u8], take: impl FnMut(Moved)) -> Counted {
    struct Counting<T> {
        calls: u64,
        take: T,
    }
    impl<T: FnMut(Moved)> Parts for Counting<T> {
        fn call(&mut self, record: &CallRecord) {
            self.calls += if record.cached_pages == PAIR_MARK { 3 } else { 1 };
            let CallRecord { op, file_kind, s_dev, returned, .. } = *record;
            if returned > 0 && file_kind != 0 {
                (self.take)(Moved { op, file_kind, s_dev, bytes: returned as u64 });
            }
        }

        fn group(&mut self, group: &CallGroup, models: &Models<'_>) {
            self.calls += group.calls_of(group.members() as u64);
            let Some(model) = models.of(group).and_then(Model::record) else { return };
            if model.file_kind == 0 {
                return;
            }
            let mut sum = Moved { op: model.op, file_kind: model.file_kind, s_dev: model.s_dev, bytes: 0 };
            for member in group.all(models.narrow_bytes()) {
                if member.op != sum.op {
                    (self.take)(sum);
                    (sum.op, sum.bytes) = (member.op, 0);
                }
                sum.bytes = sum.bytes.wrapping_add(u64::try_from(member.returned).unwrap_or(0));
            }
            (self.take)(sum);
        }
    }
    let mut counting = Counting { calls: 0, take };
    let end = each_part(records, &mut counting);
    Counted { calls: counting.calls, whole_bytes: end.err().unwrap_or(records.len()) }
}

impl<'a> Models<'a> {
    /// Returns the record whose file the calls of a group share.
    fn of(&self, group: &CallGroup) -> Option<Model<'a>> {
        match group.first_op() {
            op if OPS_OF_REQUESTS.contains(&op) => self.request,
            op if OPS_OF_PAIRS.contains(&op) => self.pair,
            _ => self.any,
        }
    }

    /// Returns the bytes that each call of a narrow group moved.
    fn narrow_bytes(&self) -> u32 {
        self.length.and_then(Model::record).map_or(0, |record| record.requested as u32)
    }
}

/// A call of a group.
struct Member {
    op: u16,
    offset: i64,
    requested: u64,
    returned: i64,
    /// Submission of a request of libaio, as in [`GroupedCall`].
    submission: i64,
}

/// In `cached_pages` of a request of libaio: the record stands for two calls too.
const PAIR_MARK: u32 = u32::MAX;
/// Codes of `activebench_model::call::Op`: of `io_submit` and of `io_getevents`.
const OP_IO_SUBMIT: u16 = 29;
const OP_IO_GETEVENTS: u16 = 32;

impl CallRecord {
    /// Adds the call of the record; that of a request of libaio may stand for the `io_submit` of one request before it
    /// and for the `io_getevents` that collected it, too.
    fn add_to(&self, calls: &mut Vec<CallRecord>) {
        if self.cached_pages != PAIR_MARK {
            return calls.push(*self);
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
            // The request alone may be a sample.
            stands_for: 0,
            ..*self
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
        calls.push(CallRecord { cpu_ns: 0, user_before_ns: 0, storage_read_bytes: 0, cached_pages: 0, ..*self });
    }
}

impl CallGroup {
    /// Finishes the group that a thread was still filling: its calls take as long as those before them.
    #[must_use]
    pub fn finished_by(mut self, thread: &TaskState) -> Self {
        let calls = u64::from(thread.grouped);
        let end_ns = thread.last_ns + calls * u64::from(thread.step_ns);
        let narrow = if thread.is_narrow != 0 { NARROW_MARK } else { 0 };
        self.count_and_end_ns = GROUP_MARK | calls << COUNT_SHIFT | narrow | end_ns;
        self.step_ns = thread.step_ns as u16;
        self.user_ns = thread.between_ns.min(thread.step_ns) as u16;
        self.storage_read_bytes = 0;
        self
    }

    /// Number of calls that `members` of the group stand for: a request of io_uring stands for the call that submitted
    /// it too, one of libaio for the call that collected it as well.
    pub fn calls_of(&self, members: u64) -> u64 {
        match self.first_op() {
            op if OPS_OF_REQUESTS.contains(&op) => 2 * members,
            op if OPS_OF_PAIRS.contains(&op) => 3 * members,
            _ => members,
        }
    }

    fn first_op(&self) -> u16 {
        (self.calls[0].offset_and_op & 0xff) as u16
    }

    fn is_narrow(&self) -> bool {
        self.count_and_end_ns & NARROW_MARK != 0
    }

    /// Returns the number of members; at most as many as there is room for.
    fn members(&self) -> usize {
        let most = if self.is_narrow() { 2 * self.calls.len() } else { self.calls.len() };
        ((self.count_and_end_ns >> COUNT_SHIFT & 15) as usize).min(most)
    }

    /// Returns `true` if the records before the group are those that it depends on.
    fn is_told_by(&self, models: &Models<'_>) -> bool {
        let enters = !OPS_OF_REQUESTS.contains(&self.first_op()) || models.enter.is_some();
        enters && models.of(self).is_some() && (!self.is_narrow() || models.length.is_some())
    }

    /// Returns the members.
    fn all(&self, narrow_bytes: u32) -> impl Iterator<Item = Member> {
        let is_narrow = self.is_narrow();
        let are_pairs = OPS_OF_PAIRS.contains(&self.first_op());
        let calls = self.calls;
        (0..self.members()).map(move |index| {
            let (offset_and_op, requested, returned) = if is_narrow {
                let GroupedCall { offset_and_op, requested, returned } = calls[index / 2];
                let second = u64::from(returned as u32) << 32 | u64::from(requested);
                (if index % 2 == 0 { offset_and_op } else { second }, narrow_bytes, narrow_bytes as i32)
            } else {
                let GroupedCall { offset_and_op, requested, returned } = calls[index];
                (offset_and_op, requested, returned)
            };
            Member {
                op: (offset_and_op & 0xff) as u16,
                offset: (offset_and_op >> 8) as i64,
                requested: u64::from(requested),
                returned: if are_pairs { i64::from(requested) } else { i64::from(returned) },
                submission: if are_pairs { i64::from(returned) } else { 0 },
            }
        })
    }

    /// Adds the calls of the group; `None` without a record before it that they depend on.
    fn add_to(&self, models: &Models<'_>, calls: &mut Vec<CallRecord>) -> Option<()> {
        let last_end_ns = self.count_and_end_ns & END_MASK;
        let begin_ns = models.end_ns;
        let mut left = self.members();
        let mut end_before_ns = begin_ns;
        let are_requests = OPS_OF_REQUESTS.contains(&self.first_op());
        let are_pairs = OPS_OF_PAIRS.contains(&self.first_op());
        let moving = models.of(self)?.record()?;
        // They were not timed. Reads from storage count for the last call alone.
        let untimed = CallRecord {
            stands_for: 0,
            storage_read_bytes: 0,
            cached_pages: 0,
            user_before_ns: 0,
            cpu_ns: 0,
            ..moving
        };
        let enter = if are_requests { models.enter?.record()? } else { moving };
        // Of the pairs of the group.
        let mut starts_ns = [0; 5];
        for (index, member) in self.all(models.narrow_bytes()).enumerate() {
            left -= 1;
            let end_ns = if left == 0 { last_end_ns } else { end_before_ns.saturating_add(u64::from(self.step_ns)) };
            let start_ns = end_ns.min(end_before_ns.saturating_add(u64::from(self.user_ns)));
            let in_calls_ns = end_ns.saturating_sub(start_ns);
            let mut call = CallRecord {
                start_ns,
                end_ns,
                offset: member.offset,
                op: member.op,
                requested: member.requested,
                returned: member.returned,
                user_before_ns: start_ns.saturating_sub(end_before_ns),
                cpu_ns: in_calls_ns,
                ..untimed
            };
            if left == 0 {
                call.storage_read_bytes = self.storage_read_bytes;
            }
            if are_pairs {
                starts_ns[index % starts_ns.len()] = start_ns;
                let submitted_ns = match usize::try_from(!member.submission) {
                    // No later than by this pair itself.
                    Ok(pair) => starts_ns[pair.min(index) % starts_ns.len()],
                    Err(_) => begin_ns.saturating_sub(member.submission.unsigned_abs()),
                };
                // What is known of the two calls is as in the record in front.
                let gap_ns = (moving.cpu_ns >> 16 & 0xffff).min(in_calls_ns);
                let events_ns = (moving.cpu_ns & 0xffff).min(in_calls_ns - gap_ns);
                call.start_ns = submitted_ns.min(start_ns);
                call.cpu_ns = in_calls_ns << 32 | gap_ns << 16 | events_ns;
                call.cached_pages = PAIR_MARK;
                call.add_to(calls);
            } else if are_requests {
                // Behind the entry of its call, so that it sorts behind it.
                calls.push(CallRecord {
                    start_ns: end_ns.min(start_ns.saturating_add(1)),
                    storage_read_bytes: 0,
                    user_before_ns: 0,
                    cpu_ns: 0,
                    ..call
                });
                let CallRecord { user_before_ns, cpu_ns, storage_read_bytes, .. } = call;
                calls.push(CallRecord {
                    start_ns,
                    end_ns,
                    requested: 1,
                    returned: 1,
                    stands_for: 0,
                    cached_pages: 0,
                    user_before_ns,
                    cpu_ns,
                    storage_read_bytes,
                    ..enter
                });
            } else {
                calls.push(call);
            }
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
    fn a_narrow_group_has_twice_as_many_calls_that_moved_what_they_asked_for() {
        let record = CallRecord { op: 1, requested: 512, returned: 512, ..call() };
        let mut narrow = group(10, 3000);
        narrow.count_and_end_ns |= NARROW_MARK;
        for (number, pair) in (0..).step_by(2).zip(&mut narrow.calls) {
            pair.offset_and_op = (number * 512) << 8 | 1;
            let second: u64 = ((number + 1) * 512) << 8 | 2;
            (pair.requested, pair.returned) = (second as u32, (second >> 32) as i32);
        }
        let mut calls = Vec::new();
        // The length is that of the last record; groups between change nothing about it.
        let message = [bytes_of(&record), bytes_of(&group(1, 1200)), bytes_of(&narrow)].concat();
        add_calls(&message, &mut calls).expect("whole");
        let moved: Vec<_> =
            calls[2..].iter().map(|call| (call.offset, call.op, call.requested, call.returned)).collect();
        let expected: Vec<_> = (0..10).map(|number| (number * 512, 1 + number as u16 % 2, 512, 512)).collect();
        assert_eq!(moved, expected);
        assert_eq!(calls.last().map(|call| call.end_ns), Some(3000));
    }

    #[test]
    fn a_request_of_libaio_in_a_group_stands_for_the_calls_around_it_too() {
        let mut pair = CallRecord { op: 33, fd: 5, start_ns: 500, returned: 100, stands_for: 0, ..call() };
        (pair.cpu_ns, pair.cached_pages) = (1000 << 32 | 10 << 16 | 20, PAIR_MARK);
        let mut group = group(2, 1250);
        for (member, (op, submitted)) in group.calls.iter_mut().zip([(33, 700), (34, -1)]) {
            member.offset_and_op = member.offset_and_op >> 8 << 8 | op;
            member.returned = submitted;
        }
        let mut calls = Vec::new();
        add_calls(&[bytes_of(&pair), bytes_of(&group)].concat(), &mut calls).expect("whole");
        let seen: Vec<_> = calls[3..]
            .iter()
            .map(|call| (call.op, call.fd, call.start_ns, call.end_ns, call.requested, call.returned))
            .collect();
        assert_eq!(
            seen,
            [
                (29, -1, 1030, 1070, 1, 1),
                (32, -1, 1080, 1100, 0, 1),
                (33, 5, 300, 1100, 100, 100),
                (29, -1, 1130, 1220, 1, 1),
                (32, -1, 1230, 1250, 0, 1),
                (34, 5, 1030, 1250, 100, 100),
            ]
        );
        assert_eq!(calls[5].offset, 0);
        assert_eq!(calls[8].offset, 1 << 40);
        // Without a pair in front of it, it cannot be told apart.
        pair.cached_pages = 0;
        assert_eq!(add_calls(&[bytes_of(&pair), bytes_of(&group)].concat(), &mut calls), None);
    }

    #[test]
    fn calls_are_counted_as_they_are_made() {
        let regular = CallRecord { file_kind: 1, s_dev: 9, op: 1, requested: 64, returned: 64, ..call() };
        let enter = CallRecord { op: OP_URING_ENTER, file_kind: 0, requested: 1, returned: 1, ..call() };
        let request = CallRecord { op: 37, ..regular };
        let pair = CallRecord { op: 33, cached_pages: PAIR_MARK, ..regular };
        let with_op = |mut group: CallGroup, op: u64| {
            group.calls.iter_mut().for_each(|call| call.offset_and_op = call.offset_and_op >> 8 << 8 | op);
            group
        };
        let mut narrow = with_op(group(7, 2000), 1);
        narrow.count_and_end_ns |= NARROW_MARK;
        for message in [
            [bytes_of(&regular), bytes_of(&group(3, 1300)), bytes_of(&narrow)].concat(),
            [bytes_of(&request), bytes_of(&enter), bytes_of(&with_op(group(4, 2000), 38))].concat(),
            [bytes_of(&pair), bytes_of(&with_op(group(5, 2000), 34))].concat(),
            [bytes_of(&regular), bytes_of(&with_op(group(2, 2000), 33))].concat(),
            bytes_of(&regular)[..50].to_vec(),
        ] {
            let mut calls = Vec::new();
            let is_whole = add_calls(&message, &mut calls).is_some();
            let mut moved = std::collections::BTreeMap::new();
            let counted = count_calls(&message, |data| *moved.entry((data.op, data.s_dev)).or_insert(0) += data.bytes);
            assert_eq!((counted.calls, counted.whole_bytes == message.len()), (calls.len() as u64, is_whole));
            let mut expected = std::collections::BTreeMap::new();
            for call in calls.iter().filter(|call| call.file_kind != 0 && call.returned > 0) {
                *expected.entry((call.op, call.s_dev)).or_insert(0) += call.returned as u64;
            }
            moved.retain(|_, bytes| *bytes > 0);
            assert_eq!(moved, expected);
        }
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
        add_calls(&[bytes_of(&call()), bytes_of(&group(0, 0).finished_by(&state))].concat(), &mut calls)
            .expect("whole");
        let times: Vec<_> = calls[1..].iter().map(|call| (call.start_ns, call.end_ns)).collect();
        assert_eq!(times, [(1020, 1200), (1220, 1400), (1420, 1600)]);
    }
}
