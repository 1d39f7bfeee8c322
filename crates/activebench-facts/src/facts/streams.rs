//! What the tasks of a phase have in common in one file: offsets that more than one of them uses, and equal starts.
//!
//! Tasks that begin at one offset and go the same way read what the first of them has just brought into a cache.

use foldhash::HashMap;

/// Largest number of offsets of a file that are kept. Each time that there are more, half of them is left out, by a hash of
/// the offset. The share of common ones is then an estimate with a standard error of at most 0.3 %.
const MOST_OFFSETS: usize = 1 << 16;
/// The task of an offset that more than one task used.
const SEVERAL: u32 = u32::MAX;

/// The calls of several tasks in one file.
///
/// Memory: at most [`MOST_OFFSETS`] offsets, and a start for each task.
#[derive(Debug, Default)]
pub(super) struct Streams {
    /// The task of each offset.
    tasks: HashMap<u64, u32>,
    /// Bits of the hash that are 0 in each kept offset.
    left_out_bits: u32,
    /// When the first call of each task began, and where.
    starts: HashMap<u32, (u64, u64)>,
}

/// The same of all files of a phase.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct StreamSums {
    /// Distinct offsets, estimated where there are too many.
    pub(super) offsets: f64,
    /// Those of them that more than one task used.
    pub(super) common: f64,
    /// Tasks that began where another one of the same file began.
    pub(super) equal_starts: u64,
}

impl Streams {
    /// Counts a call of a task that moved data at an offset.
    pub(super) fn feed(&mut self, task: u32, start_ns: u64, offset: u64) {
        let start = self.starts.entry(task).or_insert((start_ns, offset));
        *start = (*start).min((start_ns, offset));
        if !is_kept(offset, self.left_out_bits) {
            return;
        }
        let known = *self.tasks.entry(offset).or_insert(task);
        if known != task && known != SEVERAL {
            self.tasks.insert(offset, SEVERAL);
        }
        while self.tasks.len() > MOST_OFFSETS {
            self.left_out_bits += 1;
            self.tasks.retain(|offset, _| is_kept(*offset, self.left_out_bits));
        }
    }

    /// Returns what is common.
    pub(super) fn sums(&self) -> StreamSums {
        let scale = f64::from(self.left_out_bits).exp2();
        let mut starts: Vec<u64> = self.starts.values().map(|(_, offset)| *offset).collect();
        starts.sort_unstable();
        let equal = starts.chunk_by(|one, other| one == other).filter(|equal| equal.len() > 1);
        StreamSums {
            offsets: self.tasks.len() as f64 * scale,
            common: self.tasks.values().filter(|task| **task == SEVERAL).count() as f64 * scale,
            equal_starts: equal.map(|equal| equal.len() as u64).sum(),
        }
    }
}

impl StreamSums {
    /// Adds those of another file.
    pub(super) fn add(&mut self, other: Self) {
        self.offsets += other.offsets;
        self.common += other.common;
        self.equal_starts += other.equal_starts;
    }
}

/// Returns true if an offset is one of the part that is kept. Offsets are multiples of a block: their lowest bits are
/// mixed into all others.
fn is_kept(offset: u64, left_out_bits: u32) -> bool {
    let mixed = offset.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    left_out_bits == 0 || mixed >> (64 - left_out_bits) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCK: u64 = 4096;

    fn of(calls: impl IntoIterator<Item = (u32, u64)>) -> StreamSums {
        let mut streams = Streams::default();
        for (at_ns, (task, block)) in (0..).zip(calls) {
            streams.feed(task, at_ns, block * BLOCK);
        }
        streams.sums()
    }

    #[test]
    fn offsets_of_more_than_one_task_are_common() {
        let apart = of((0..8).map(|block| (block as u32 / 4, block)));
        assert_eq!(apart, StreamSums { offsets: 8.0, common: 0.0, equal_starts: 0 });
        let same = of((0..8).flat_map(|block| [(0, block), (1, block), (2, block)]));
        assert_eq!(same, StreamSums { offsets: 8.0, common: 8.0, equal_starts: 3 });
        // One task that comes again is one task.
        assert_eq!(of([(0, 5), (0, 5), (0, 6)]).common, 0.0);
        let half = of([(0, 0), (0, 1), (1, 1), (1, 2)]);
        assert_eq!((half.offsets, half.common, half.equal_starts), (3.0, 1.0, 0));
    }

    #[test]
    fn the_start_is_that_of_the_earliest_call_whatever_completes_first() {
        let mut streams = Streams::default();
        streams.feed(0, 20, 2 * BLOCK);
        streams.feed(0, 10, 0);
        streams.feed(1, 15, 0);
        assert_eq!(streams.sums().equal_starts, 2);
    }

    #[test]
    fn of_many_offsets_a_part_is_kept_and_the_share_stays() {
        // A million offsets, every third of them common.
        let calls = (0..1_000_000_u64).flat_map(|block| {
            let other = block.is_multiple_of(3).then_some((1, block));
            std::iter::once((0, block)).chain(other)
        });
        let mut streams = Streams::default();
        for (task, block) in calls {
            streams.feed(task, block, block * BLOCK);
        }
        assert!(streams.tasks.len() <= MOST_OFFSETS && streams.tasks.len() > MOST_OFFSETS / 3);
        let StreamSums { offsets, common, .. } = streams.sums();
        assert!((offsets / 1e6 - 1.0).abs() < 0.02, "{offsets}");
        assert!((common / offsets - 1.0 / 3.0).abs() < 0.01, "{common} of {offsets}");
    }
}
