//! Counts which blocks of a file were hit, and how often. Exact for any number of calls.
//!
//! `docs/design/offsets.md` describes the alternatives that were measured, and why this one was chosen.

use std::collections::BTreeMap;

/// Blocks of one chunk. A chunk is a piece of the file with its own representation.
const CHUNK_BLOCKS: u64 = 1 << 12;
const WORDS: usize = CHUNK_BLOCKS as usize / 64;
/// Largest number of hits that wait to be counted.
const MOST_WAITING: usize = 1 << 9;
/// Chunks of one region.
const REGION_CHUNKS: u64 = 1 << 12;
/// Blocks that a chunk lists before it allocates room for all of them: a longer list costs more time to insert into
/// than it saves memory.
const LISTED_BLOCKS: usize = 1 << 8;

/// The blocks of one file with the number of hits of each. A call hits each block of which it
/// touches a byte, once per call.
///
/// Memory does not grow with the number of calls. A block takes about 4 bytes while at most 256 of its chunk
/// of 4096 are hit. Above that it takes an eighth of a byte until one of the 4096 is hit again, and then one byte for
/// each digit to the base 256 of the most hits. 96 GiB in blocks of 8 KiB, each hit up to 255 times, take 13 MB.
#[derive(Debug, Default)]
pub struct BlockHits {
    /// Regions by number, sorted: one is enough for 2^24 blocks.
    regions: Vec<(u64, Vec<Chunk>)>,
    /// Hits that are not counted yet. When hits are counted one right after another, their cache misses
    /// overlap. When they are counted between other work on each call, the CPU waits for every miss.
    waiting: Vec<u64>,
}

#[derive(Debug)]
enum Chunk {
    /// Blocks and their hits, sorted by block.
    Listed(Vec<(u16, u16)>),
    /// One bit for each block that was hit. No block was hit again.
    Once(Box<[u64; WORDS]>),
    Counted(Box<Counts>),
}

/// The hits of each block of a chunk as digits to the base 256.
///
/// The lowest digits are in the chunk itself, so that a hit costs one cache miss, not two in sequence.
#[derive(Debug)]
struct Counts {
    lowest: Digits,
    /// Higher digits, from lower to higher. Each exists when a block of the chunk needed it.
    others: Vec<Box<Digits>>,
}

type Digits = [u8; CHUNK_BLOCKS as usize];

impl BlockHits {
    /// Counts a hit of each block of a byte range.
    pub(super) fn touch(&mut self, grid: Grid, offset: u64, bytes: u64) {
        let Some(rest) = bytes.checked_sub(1) else { return };
        let last_byte = offset.saturating_add(rest);
        for block in grid.block_of(offset)..=grid.block_of(last_byte) {
            self.hit(block);
        }
    }

    /// Counts a hit of one block.
    pub fn hit(&mut self, block: u64) {
        self.waiting.push(block);
        if self.waiting.len() >= MOST_WAITING {
            self.count_waiting();
        }
    }

    fn count_waiting(&mut self) {
        let mut waiting = std::mem::take(&mut self.waiting);
        waiting.drain(..).for_each(|block| self.count(block));
        // Its allocation is reused.
        self.waiting = waiting;
    }

    fn count(&mut self, block: u64) {
        let (chunk, within) = (block / CHUNK_BLOCKS, (block % CHUNK_BLOCKS) as u16);
        let (region, chunk) = (chunk / REGION_CHUNKS, (chunk % REGION_CHUNKS) as usize);
        let at = match self.regions.binary_search_by_key(&region, |(number, _)| *number) {
            Ok(at) => at,
            Err(at) => {
                self.regions.insert(at, (region, Vec::new()));
                at
            }
        };
        let chunks = &mut self.regions[at].1;
        if chunks.len() <= chunk {
            chunks.resize_with(chunk + 1, || Chunk::Listed(Vec::new()));
        }
        chunks[chunk].hit(within);
    }

    /// Returns the number of blocks for each number of hits.
    pub fn distribution(&mut self) -> HitDistribution {
        self.count_waiting();
        let mut distribution = HitDistribution::default();
        for chunk in self.regions.iter().flat_map(|(_, chunks)| chunks) {
            match chunk {
                Chunk::Listed(blocks) => blocks.iter().for_each(|(_, hits)| distribution.add(u64::from(*hits), 1)),
                Chunk::Once(bits) => distribution.add(1, bits.iter().map(|word| u64::from(word.count_ones())).sum()),
                Chunk::Counted(counts) => counts.each().for_each(|hits| distribution.add(hits, 1)),
            }
        }
        distribution
    }
}

impl Chunk {
    fn hit(&mut self, block: u16) {
        match self {
            Chunk::Counted(counts) => counts.hit(usize::from(block)),
            Chunk::Once(bits) => {
                let (word, bit) = (&mut bits[usize::from(block) / 64], 1 << (block % 64));
                if *word & bit == 0 {
                    *word |= bit;
                } else {
                    let mut counts = Box::new(Counts::once(bits));
                    counts.hit(usize::from(block));
                    *self = Chunk::Counted(counts);
                }
            }
            Chunk::Listed(blocks) => match blocks.binary_search_by_key(&block, |(number, _)| *number) {
                Ok(at) if blocks[at].1 < u16::MAX => blocks[at].1 += 1,
                Err(at) if blocks.len() < LISTED_BLOCKS => blocks.insert(at, (block, 1)),
                _ => {
                    *self = Self::unlisted(blocks);
                    self.hit(block);
                }
            },
        }
    }

    /// Returns the form that replaces a list that has become too long, or whose numbers are too high.
    fn unlisted(blocks: &[(u16, u16)]) -> Self {
        let mut bits = [0; WORDS];
        blocks.iter().for_each(|(block, _)| bits[usize::from(*block) / 64] |= 1 << (block % 64));
        if blocks.iter().all(|(_, hits)| *hits == 1) {
            return Chunk::Once(Box::new(bits));
        }
        let mut counts = Box::new(Counts::once(&bits));
        blocks.iter().for_each(|(block, hits)| counts.add(usize::from(*block), u64::from(*hits) - 1));
        Chunk::Counted(counts)
    }
}

impl Counts {
    /// Creates counts with one hit of each block whose bit is set.
    fn once(bits: &[u64; WORDS]) -> Self {
        let lowest = std::array::from_fn(|block| u8::from(bits[block / 64] & 1 << (block % 64) != 0));
        Self { lowest, others: Vec::new() }
    }

    fn hit(&mut self, block: usize) {
        let digit = &mut self.lowest[block];
        *digit = digit.wrapping_add(1);
        if *digit == 0 {
            self.carry(block, 1);
        }
    }

    fn add(&mut self, block: usize, hits: u64) {
        let sum = u64::from(self.lowest[block]) + hits;
        self.lowest[block] = (sum % 256) as u8;
        self.carry(block, sum / 256);
    }

    /// Adds the part that did not fit the lowest digit of a block.
    fn carry(&mut self, block: usize, mut left: u64) {
        let mut place = 0;
        while left > 0 {
            if self.others.len() == place {
                self.others.push(Box::new([0; CHUNK_BLOCKS as usize]));
            }
            left += u64::from(self.others[place][block]);
            self.others[place][block] = (left % 256) as u8;
            left /= 256;
            place += 1;
        }
    }

    /// Returns the hits of each block that was hit.
    fn each(&self) -> impl Iterator<Item = u64> {
        let hits = |block: usize| {
            let high = self.others.iter().rev().fold(0, |value, digits| value * 256 + u64::from(digits[block]));
            high * 256 + u64::from(self.lowest[block])
        };
        (0..CHUNK_BLOCKS as usize).map(hits).filter(|hits| *hits > 0)
    }
}

/// The number of blocks for each number of hits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HitDistribution {
    blocks_by_hits: BTreeMap<u64, u64>,
}

impl HitDistribution {
    fn add(&mut self, hits: u64, blocks: u64) {
        *self.blocks_by_hits.entry(hits).or_default() += blocks;
    }

    /// Adds the blocks of another file.
    pub fn merge(&mut self, other: &Self) {
        other.blocks_by_hits.iter().for_each(|(hits, blocks)| self.add(*hits, *blocks));
    }

    /// Returns pairs of a number of hits and the number of blocks with exactly this many, fewest hits first.
    pub fn blocks_by_hits(&self) -> impl Iterator<Item = (u64, u64)> {
        self.blocks_by_hits.iter().map(|(hits, blocks)| (*hits, *blocks))
    }

    /// Returns the number of distinct blocks that were hit.
    pub fn unique(&self) -> u64 {
        self.blocks_by_hits.values().sum()
    }

    /// Returns the hits of all blocks together.
    pub fn hits(&self) -> u64 {
        self.blocks_by_hits().map(|(hits, blocks)| hits * blocks).sum()
    }

    /// Returns the fewest and the most hits of a block that was hit; `None` without hits.
    pub fn least_and_most(&self) -> Option<(u64, u64)> {
        Some((*self.blocks_by_hits.first_key_value()?.0, *self.blocks_by_hits.last_key_value()?.0))
    }

    /// Returns the most frequent number of hits, of equally frequent ones the larger, and the number
    /// of blocks with it; `None` without hits.
    pub fn modal(&self) -> Option<(u64, u64)> {
        self.blocks_by_hits().max_by_key(|(hits, blocks)| (*blocks, *hits))
    }

    /// Returns the hits of the most hit 1 % of the blocks, rounded up to whole blocks; 0 without hits.
    pub fn hottest_percent_hits(&self) -> u64 {
        let mut left = self.unique().div_ceil(100);
        let mut sum = 0;
        for (hits, blocks) in self.blocks_by_hits.iter().rev() {
            let taken = left.min(*blocks);
            sum += taken * hits;
            left -= taken;
        }
        sum
    }
}

/// The start and the length of the blocks of a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Grid {
    /// Length of a block, above 0.
    pub(super) block_bytes: u64,
    /// Offset at which a block begins, below `block_bytes`.
    pub(super) origin: u64,
}

impl Grid {
    /// Returns the block of a byte. Where a block begins at byte 0, its number is 0.
    fn block_of(self, offset: u64) -> u64 {
        let before_first = u64::from(self.origin > 0);
        match offset.checked_sub(self.origin) {
            Some(past) => past / self.block_bytes + before_first,
            None => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FOUR_KIB: Grid = Grid { block_bytes: 4096, origin: 0 };

    fn distribution(pairs: &[(u64, u64)]) -> HitDistribution {
        HitDistribution { blocks_by_hits: pairs.iter().copied().collect() }
    }

    #[test]
    fn blocks_are_counted_once_and_hits_each_time() {
        for (ranges, expected) in [
            (vec![], vec![]),
            (vec![(0, 0)], vec![]),
            (vec![(0, 4096), (4096, 4096)], vec![(1, 2)]),
            (vec![(0, 4096), (0, 4096), (0, 4096)], vec![(3, 1)]),
            (vec![(0, 8192), (4096, 1)], vec![(1, 1), (2, 1)]),
            (vec![(100, 4096)], vec![(1, 2)]),
            // Far apart: two regions, with nothing between them.
            (vec![(0, 4096), (u64::MAX - 4096, 4096)], vec![(1, 3)]),
        ] {
            let mut hits = BlockHits::default();
            for (offset, bytes) in &ranges {
                hits.touch(FOUR_KIB, *offset, *bytes);
            }
            assert_eq!(hits.distribution(), distribution(&expected), "{ranges:?}");
        }
    }

    #[test]
    fn a_grid_can_begin_anywhere() {
        let grid = Grid { block_bytes: 4096, origin: 512 };
        for (offset, block) in [(0, 0), (511, 0), (512, 1), (4607, 1), (4608, 2), (u64::MAX, 1 << 52)] {
            assert_eq!(grid.block_of(offset), block, "{offset}");
        }
        assert_eq!(FOUR_KIB.block_of(4096), 1);
    }

    /// Every form that a chunk can have, and every step from one to the next.
    #[test]
    fn hits_stay_exact_over_every_change_of_form() {
        for (what, blocks, rounds) in [
            ("listed", 100, 3),
            ("listed, past 16 bits", 1, 70_000),
            ("once each", 4096, 1),
            ("counted at the first hit again", 1025, 1),
            ("one digit, full", 1500, 256),
            ("two digits", 1500, 257),
            ("two digits, far", 1100, 1000),
            ("three digits", 1, 65_536 + 70_000),
            ("several chunks", 20_000, 2),
        ] {
            let mut hits = BlockHits::default();
            for _ in 0..rounds {
                (0..blocks).for_each(|block| hits.hit(7 + block));
            }
            hits.hit(7);
            let expected = match blocks {
                1 => vec![(rounds + 1, 1)],
                _ => vec![(rounds, blocks - 1), (rounds + 1, 1)],
            };
            assert_eq!(hits.distribution(), distribution(&expected), "{what}");
        }
    }

    #[test]
    fn random_hits_agree_with_a_plain_count() {
        let mut state = 1_u64;
        let mut plain: BTreeMap<u64, u64> = BTreeMap::new();
        let mut hits = BlockHits::default();
        for round in 0..200_000_u64 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            // A hot corner, a dense region, and a sparse one that spans several regions.
            let block = match round % 4 {
                0 => (state >> 33) % 7,
                1 | 2 => 4000 + (state >> 33) % 9000,
                _ => (state >> 20) % (1 << 30),
            };
            hits.hit(block);
            *plain.entry(block).or_default() += 1;
        }
        let mut expected = HitDistribution::default();
        plain.values().for_each(|hits| expected.add(*hits, 1));
        assert_eq!(hits.distribution(), expected);
    }

    #[test]
    fn a_distribution_says_what_the_set_is() {
        let none = distribution(&[]);
        assert_eq!((none.unique(), none.hits(), none.hottest_percent_hits()), (0, 0, 0));
        assert_eq!((none.least_and_most(), none.modal()), (None, None));
        // Each of 98,305 blocks was hit 800 times: the hottest 1 %, 984 blocks, is as hot as the rest.
        let even = distribution(&[(800, 98_305)]);
        assert_eq!((even.unique(), even.hits()), (98_305, 78_644_000));
        assert_eq!((even.least_and_most(), even.modal()), (Some((800, 800)), Some((800, 98_305))));
        assert_eq!(even.hottest_percent_hits(), 984 * 800);
        // 199 blocks were hit once, one block 801 times: the hottest 1 % is 2 blocks.
        let mut hot = distribution(&[(1, 199)]);
        hot.merge(&distribution(&[(801, 1)]));
        assert_eq!((hot.hottest_percent_hits(), hot.hits(), hot.modal()), (802, 1000, Some((1, 199))));
    }
}
