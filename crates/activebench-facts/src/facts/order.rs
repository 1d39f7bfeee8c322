//! The order in which the calls of one stream access a file.

use activebench_model::call::Call;

/// One task's calls of one direction through one descriptor on one file.
///
/// Fixed size. Calls that move nothing (failed ones, reads at the end of the file) do not count as
/// steps. A call at an unknown offset restarts the stream.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Stream {
    last: Option<Last>,
}

#[derive(Clone, Copy, Debug)]
struct Last {
    start: u64,
    end: u64,
    /// Distance from the end of the previous call to the start of this one, and `true` while this step still
    /// counts as random: if the same gap follows, both steps belong to a stride.
    gap: Option<(i64, bool)>,
}

/// The steps of one or more streams. A step leads from a call to the next one of its stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Order {
    pub(super) sequential: u64,
    pub(super) backward: u64,
    pub(super) repeated: u64,
    pub(super) strided: u64,
    pub(super) random: u64,
    /// Calls that moved data at an unknown offset.
    pub(super) unplaced: u64,
}

impl Order {
    pub(super) fn steps(&self) -> u64 {
        self.sequential + self.backward + self.repeated + self.strided + self.random
    }
}

impl Stream {
    /// Processes the next call of the stream.
    pub(super) fn feed(&mut self, call: &Call, order: &mut Order) {
        let Ok(bytes @ 1..) = u64::try_from(call.returned) else { return };
        let Ok(start) = u64::try_from(call.offset) else {
            order.unplaced += 1;
            self.last = None;
            return;
        };
        let end = start.saturating_add(bytes);
        let gap = self.last.map(|last| (start.wrapping_sub(last.end) as i64, self.step(last, start, end, order)));
        self.last = Some(Last { start, end, gap });
    }

    /// Counts a step; returns `true` when it counts as random.
    fn step(self, last: Last, start: u64, end: u64, order: &mut Order) -> bool {
        let gap = start.wrapping_sub(last.end) as i64;
        match last.gap {
            _ if start == last.end => order.sequential += 1,
            _ if start == last.start => order.repeated += 1,
            _ if end == last.start => order.backward += 1,
            Some((before, still_random)) if before == gap => {
                if still_random {
                    order.random -= 1;
                    order.strided += 1;
                }
                order.strided += 1;
            }
            _ => {
                order.random += 1;
                return true;
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use activebench_model::call::{FileKind, Op};

    use super::*;

    fn order(calls: &[(i64, i64)]) -> Order {
        let mut order = Order::default();
        let mut stream = Stream::default();
        for (offset, returned) in calls {
            let call = Call {
                start_ns: 0,
                end_ns: 1,
                tid: 1,
                tgid: 1,
                op: Op::Pread,
                fd: 3,
                file: None,
                kind: FileKind::Regular,
                open_flags: 0,
                offset: *offset,
                requested: 10,
                returned: *returned,
                storage_read_bytes: 0,
                cached_bytes: 0,
                cpu_ns: 0,
                user_before_ns: 0,
                stands_for: 1,
            };
            stream.feed(&call, &mut order);
        }
        order
    }

    fn check(what: &str, offsets: &[i64], expected: Order) {
        let calls: Vec<(i64, i64)> = offsets.iter().map(|offset| (*offset, 10)).collect();
        assert_eq!(order(&calls), expected, "{what}");
    }

    #[test]
    fn each_step_is_of_one_kind() {
        let none = Order::default();
        check("no call", &[], none);
        check("one call", &[50], none);
        check("ascending", &[0, 10, 20, 30], Order { sequential: 3, ..none });
        check("descending", &[30, 20, 10, 0], Order { backward: 3, ..none });
        check("one block", &[20, 20, 20], Order { repeated: 2, ..none });
        check("a stride", &[0, 50, 100, 150], Order { strided: 3, ..none });
        check("a stride downwards", &[150, 100, 50, 0], Order { strided: 3, ..none });
        check("jumps", &[0, 70, 20, 500], Order { random: 3, ..none });
        check("one jump is no stride", &[0, 70], Order { random: 1, ..none });
        check("round again", &[0, 10, 20, 0, 10, 20], Order { sequential: 4, random: 1, ..none });
        check("a stride that begins again", &[0, 50, 100, 0, 50, 100], Order { strided: 4, random: 1, ..none });
        check("pairs", &[0, 10, 50, 60, 100, 110], Order { sequential: 3, random: 2, ..none });
    }

    #[test]
    fn what_moved_nothing_is_no_step_and_an_unknown_offset_begins_anew() {
        let none = Order::default();
        assert_eq!(order(&[(0, 10), (10, -5), (10, 0), (10, 10)]), Order { sequential: 1, ..none });
        assert_eq!(order(&[(0, 10), (-1, 10), (20, 10), (30, 10)]), Order { sequential: 1, unplaced: 1, ..none });
        assert_eq!(order(&[(-1, -9)]), none);
        // After a short call, the next one begins where it ended.
        assert_eq!(order(&[(0, 3), (3, 10)]), Order { sequential: 1, ..none });
        assert_eq!(order(&[(i64::MAX, 10), (0, 10)]), Order { random: 1, ..none });
    }
}
