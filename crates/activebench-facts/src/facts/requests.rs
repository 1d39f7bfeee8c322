//! The request sizes of calls, and the grid of their blocks.

use std::collections::BTreeMap;

use super::blocks::Grid;

/// Smallest block into which a phase is divided when no call requests less: a sector, the smallest unit
/// of device I/O.
const SECTOR_BYTES: u64 = 512;
/// Most blocks in a request of the usual size. It limits the cost of counting the blocks of a call.
const MOST_BLOCKS: u64 = 1 << 10;
/// Share of the calls, in percent, that must fit the grid: one odd tail does not divide all blocks.
const FITTING_PERCENT: u64 = 99;
/// Largest number of distinct sizes that are recorded; each takes about 60 bytes.
const MOST_SIZES: usize = 1 << 16;

/// The division of a phase into blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Blocks {
    /// The most frequent requested size; of equally frequent ones the larger.
    pub(super) modal_bytes: u64,
    /// `None` when no call requested any data.
    pub(super) grid: Option<Grid>,
}

/// Calls of one kind by requested bytes.
#[derive(Debug, Default)]
pub(super) struct Sizes {
    sizes: Vec<OfSize>,
    /// Index of each size in `sizes`.
    numbers: BTreeMap<u64, usize>,
    /// The last size with its index: consecutive calls mostly have the same one.
    last: Option<(u64, usize)>,
}

/// The calls with one requested size.
#[derive(Debug)]
struct OfSize {
    requested: u64,
    calls: u64,
    /// Offset of the first call whose offset is known.
    first: Option<u64>,
    /// Greatest common divisor of the distances of all other calls from it; 0 without others.
    step: u64,
}

impl Sizes {
    /// Adds a call; a negative offset is unknown.
    pub(super) fn feed(&mut self, requested: u64, offset: i64) {
        let Some(number) = self.number_of(requested) else { return };
        let of_size = &mut self.sizes[number];
        of_size.calls += 1;
        let Ok(offset) = u64::try_from(offset) else { return };
        let distance = offset.abs_diff(*of_size.first.get_or_insert(offset));
        // Mostly the step is known already, and this takes one division.
        if of_size.step == 0 || !distance.is_multiple_of(of_size.step) {
            of_size.step = common_divisor(of_size.step, distance);
        }
    }

    /// Returns the index of a size; `None` for a new one when there is no room for it.
    fn number_of(&mut self, requested: u64) -> Option<usize> {
        if let Some((last, number)) = self.last
            && last == requested
        {
            return Some(number);
        }
        let number = match self.numbers.get(&requested) {
            Some(number) => *number,
            None if self.sizes.len() >= MOST_SIZES => return None,
            None => {
                self.sizes.push(OfSize { requested, calls: 0, first: None, step: 0 });
                self.numbers.insert(requested, self.sizes.len() - 1);
                self.sizes.len() - 1
            }
        };
        self.last = Some((requested, number));
        Some(number)
    }

    /// Returns the largest blocks of which the calls move whole ones, if these are not too small.
    /// Otherwise returns blocks of the modal size, of which a call touches one more than it moves.
    pub(super) fn blocks(&self) -> Option<Blocks> {
        let modal = self.sizes.iter().max_by_key(|of_size| (of_size.calls, of_size.requested))?;
        let modal_bytes = modal.requested;
        if modal_bytes == 0 {
            return Some(Blocks { modal_bytes, grid: None });
        }
        let mut by_calls: Vec<&OfSize> = self.sizes.iter().filter(|of_size| of_size.requested > 0).collect();
        by_calls.sort_by_key(|of_size| (std::cmp::Reverse(of_size.calls), of_size.requested));
        let calls: u64 = by_calls.iter().map(|of_size| of_size.calls).sum();
        let origin = modal.first.unwrap_or(0);
        let (mut divisor, mut fitting) = (modal_bytes, 0);
        for of_size in by_calls {
            if fitting * 100 >= calls * FITTING_PERCENT {
                break;
            }
            fitting += of_size.calls;
            let away = of_size.first.map_or(0, |first| first.abs_diff(origin));
            divisor = [of_size.requested, of_size.step, away].into_iter().fold(divisor, common_divisor);
        }
        let grid = if divisor == modal_bytes || (divisor >= SECTOR_BYTES && modal_bytes / divisor <= MOST_BLOCKS) {
            Grid { block_bytes: divisor, origin: origin % divisor }
        } else {
            Grid { block_bytes: modal_bytes, origin: 0 }
        };
        Some(Blocks { modal_bytes, grid: Some(grid) })
    }
}

/// Returns the greatest common divisor; that of 0 and a number is the number.
fn common_divisor(one: u64, other: u64) -> u64 {
    let (mut one, mut other) = (one, other);
    while other != 0 {
        (one, other) = (other, one % other);
    }
    one
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(what: &str, calls: &[(i64, u64)], expected: Option<(u64, u64, u64)>) {
        let mut sizes = Sizes::default();
        for (offset, requested) in calls {
            sizes.feed(*requested, *offset);
        }
        let found = sizes.blocks().map(|blocks| {
            let grid = blocks.grid.unwrap_or(Grid { block_bytes: 0, origin: 0 });
            (blocks.modal_bytes, grid.block_bytes, grid.origin)
        });
        assert_eq!(found, expected, "{what}");
    }

    #[test]
    fn blocks_fit_the_calls() {
        check("no call", &[], None);
        check("nothing asked for", &[(0, 0)], Some((0, 0, 0)));
        check("one call", &[(8192, 4096)], Some((4096, 4096, 0)));
        check("one call past a header", &[(100, 4096)], Some((4096, 4096, 100)));
        check("one size, in order", &[(0, 4096), (4096, 4096), (8192, 4096)], Some((4096, 4096, 0)));
        check("one size, anywhere on the grid", &[(40_960, 4096), (0, 4096)], Some((4096, 4096, 0)));
        check("shifted by a header", &[(600, 4096), (600 + 8192, 4096)], Some((4096, 4096, 600)));
        check("no power of two", &[(0, 47_008), (47_008 * 3, 47_008)], Some((47_008, 47_008, 0)));
        check("small records", &[(0, 100), (100, 100), (900, 100)], Some((100, 100, 0)));
        check("by sectors", &[(0, 4096), (512 * 3, 4096)], Some((4096, 512, 0)));
        check("two sizes", &[(0, 65_536), (65_536, 65_536), (4096, 4096)], Some((65_536, 4096, 0)));
        check("small ones between", &[(0, 4096), (4096, 4096), (8192, 65_536)], Some((4096, 4096, 0)));
        check("anywhere", &[(0, 4096), (77, 4096), (5000, 4096)], Some((4096, 4096, 0)));
        check("too many blocks in a call", &[(0, 1 << 20), (512, 1 << 20)], Some((1 << 20, 1 << 20, 0)));
        check("unknown offset", &[(-1, 4096), (-1, 4096)], Some((4096, 4096, 0)));
    }

    #[test]
    fn a_rare_size_does_not_divide_the_blocks_of_all() {
        let mut calls: Vec<(i64, u64)> = (0..99).map(|block| (block * 65_536, 65_536)).collect();
        calls.push((99 * 65_536, 512));
        check("1 in 100", &calls, Some((65_536, 65_536, 0)));
        calls.push((99 * 65_536 + 512, 512));
        check("2 in 101", &calls, Some((65_536, 512, 0)));
    }
}
