//! Which blocks of a file were touched, and how often.

use std::collections::HashMap;

/// Blocks covered by one piece of the bitmap.
const CHUNK_BLOCKS: u64 = 1 << 16;
const WORDS: usize = (CHUNK_BLOCKS / 64) as usize;

/// Touched blocks of one file.
///
/// Memory: a bit a block in 8 KiB pieces, only where something was touched, so at most an
/// eighth of a byte for each block of the region; and about 24 bytes for each block that was
/// touched more than once.
#[derive(Debug, Default)]
pub(super) struct BlockSet {
    chunks: HashMap<u64, Box<[u64; WORDS]>>,
    /// Hits after the first.
    repeats: HashMap<u64, u32>,
    unique: u64,
    most_repeats: u32,
}

impl BlockSet {
    /// Touches the blocks of a byte range.
    pub(super) fn touch(&mut self, offset: u64, bytes: u64, block_bytes: u64) {
        let (Some(last_byte), true) = (bytes.checked_sub(1).map(|rest| offset.saturating_add(rest)), block_bytes > 0)
        else {
            return;
        };
        for block in offset / block_bytes..=last_byte / block_bytes {
            self.hit(block);
        }
    }

    fn hit(&mut self, block: u64) {
        let chunk = self.chunks.entry(block / CHUNK_BLOCKS).or_insert_with(|| Box::new([0; WORDS]));
        let word = &mut chunk[(block % CHUNK_BLOCKS / 64) as usize];
        let bit = 1 << (block % 64);
        if *word & bit == 0 {
            *word |= bit;
            self.unique += 1;
        } else {
            let repeats = self.repeats.entry(block).or_default();
            *repeats = repeats.saturating_add(1);
            self.most_repeats = self.most_repeats.max(*repeats);
        }
    }

    /// Distinct blocks.
    pub(super) fn unique(&self) -> u64 {
        self.unique
    }

    /// Hits of the most visited block.
    pub(super) fn most_hits(&self) -> u64 {
        if self.unique == 0 { 0 } else { u64::from(self.most_repeats) + 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_counted_once_and_hits_each_time() {
        for (ranges, unique, most_hits) in [
            (vec![], 0, 0),
            (vec![(0, 0)], 0, 0),
            (vec![(0, 4096), (4096, 4096)], 2, 1),
            (vec![(0, 4096), (0, 4096), (0, 4096)], 1, 3),
            (vec![(0, 8192), (4096, 1)], 2, 2),
            (vec![(100, 4096)], 2, 1),
            // Far apart: two pieces, not one bitmap up to there.
            (vec![(0, 4096), (u64::MAX - 4096, 4096)], 3, 1),
        ] {
            let mut set = BlockSet::default();
            for (offset, bytes) in &ranges {
                set.touch(*offset, *bytes, 4096);
            }
            assert_eq!((set.unique(), set.most_hits()), (unique, most_hits), "{ranges:?}");
        }
    }
}
