//! How often a whole run hit the blocks of each file, computed only from the places of its calls.

use activebench_model::call::{FileId, Place};
use activebench_model::fact::FileHits;
use activebench_model::phase::Direction;
use foldhash::HashMap;

use super::blocks::{BlockHits, Grid};
use super::requests::Sizes;

/// The calls of one direction on one file.
type Key = (FileId, Direction);

/// One value per key.
struct ByKey<T> {
    numbers: HashMap<Key, usize>,
    /// Consecutive calls are mostly on one file, so that hashing is rarely needed.
    last: Option<(Key, usize)>,
    values: Vec<T>,
}

impl<T: Default> ByKey<T> {
    fn new() -> Self {
        Self { numbers: HashMap::default(), last: None, values: Vec::new() }
    }

    fn at(&mut self, key: Key) -> usize {
        if let Some((last, number)) = self.last
            && last == key
        {
            return number;
        }
        let number = *self.numbers.entry(key).or_insert_with(|| {
            self.values.push(T::default());
            self.values.len() - 1
        });
        self.last = Some((key, number));
        number
    }
}

/// The collected data of the calls of one key.
#[derive(Default)]
struct OfKey {
    sizes: Sizes,
    /// Grid of the blocks that are being counted; `None` until the first batch was processed.
    grid: Option<Grid>,
    counted: Counted,
}

impl OfKey {
    /// Counts a place if the grid is known.
    fn count(&mut self, place: &Place) {
        if let Some(grid) = self.grid {
            self.counted.add(grid, place);
        }
    }
}

/// The counts for one grid.
#[derive(Default)]
struct Counted {
    calls: u64,
    bytes: u64,
    unplaced: u64,
    hits: BlockHits,
}

impl Counted {
    fn add(&mut self, grid: Grid, place: &Place) {
        let moved = u64::try_from(place.returned).unwrap_or(0);
        self.calls += 1;
        self.bytes += moved;
        match u64::try_from(place.offset) {
            Ok(offset) => self.hits.touch(grid, offset, moved),
            Err(_) => self.unplaced += 1,
        }
    }
}

/// Returns the hits of each file and direction, in the order in which they were first used. Each call of `read`
/// returns the places from the start. The blocks are known for certain only after all places were read. Mostly
/// the first batch already shows them, and then the places are read once, otherwise twice.
///
/// Memory: that of [`BlockHits`] and of the distinct sizes; it does not grow with the calls.
///
/// # Errors
/// Returns the errors of `read`.
pub fn hits_by_file<E, I: Iterator<Item = Result<Vec<Place>, E>>>(read: impl Fn() -> I) -> Result<Vec<FileHits>, E> {
    let mut keys = ByKey::<OfKey>::new();
    let mut waiting = Vec::new();
    for batch in read() {
        for place in batch? {
            let Some(key) = key_of(&place) else { continue };
            let number = keys.at(key);
            let OfKey { sizes, grid, counted } = &mut keys.values[number];
            sizes.feed(place.requested, place.offset);
            match grid {
                Some(grid) => counted.add(*grid, &place),
                None => waiting.push((number, place)),
            }
        }
        for of_key in keys.values.iter_mut().filter(|of_key| of_key.grid.is_none()) {
            of_key.grid = of_key.sizes.blocks().and_then(|blocks| blocks.grid);
        }
        for (number, place) in waiting.drain(..) {
            keys.values[number].count(&place);
        }
    }
    let mut again = Vec::with_capacity(keys.values.len());
    for of_key in &mut keys.values {
        let grid = of_key.sizes.blocks().and_then(|blocks| blocks.grid);
        again.push(grid != of_key.grid);
        if grid != of_key.grid {
            (of_key.grid, of_key.counted) = (grid, Counted::default());
        }
    }
    if again.contains(&true) {
        for batch in read() {
            for place in &batch? {
                let Some(key) = key_of(place) else { continue };
                let number = keys.at(key);
                if again.get(number) == Some(&true) {
                    keys.values[number].count(place);
                }
            }
        }
    }
    let mut numbers: Vec<(Key, usize)> = keys.numbers.into_iter().collect();
    numbers.sort_unstable_by_key(|(_, number)| *number);
    Ok(numbers.into_iter().filter_map(|(key, number)| row(key, &mut keys.values[number])).collect())
}

/// Returns the key of a call; `None` for a call that did not move data of a file.
fn key_of(place: &Place) -> Option<Key> {
    let direction = match (place.op.is_read(), place.op.is_write()) {
        (true, _) => Direction::Read,
        (_, true) => Direction::Write,
        _ => return None,
    };
    (place.returned > 0).then_some((place.file?, direction))
}

fn row((file, direction): Key, of_key: &mut OfKey) -> Option<FileHits> {
    let (block_bytes, counted) = (of_key.grid?.block_bytes, &mut of_key.counted);
    let distribution = counted.hits.distribution();
    let (least, most) = distribution.least_and_most()?;
    let (usual, blocks_with_usual) = distribution.modal()?;
    let (blocks, hits) = (distribution.unique(), distribution.hits());
    Some(FileHits {
        file,
        direction,
        calls: counted.calls,
        bytes: counted.bytes,
        unplaced_calls: counted.unplaced,
        block_bytes,
        blocks,
        hits_least: least,
        hits_mean: hits as f64 / blocks as f64,
        hits_most: most,
        hits_usual: usual,
        blocks_with_usual,
        hottest_percent_share: distribution.hottest_percent_hits() as f64 / hits as f64,
    })
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use activebench_model::call::Op;

    use super::*;

    const FILE: FileId = FileId { s_dev: 1, ino: 2 };
    const OTHER: FileId = FileId { s_dev: 1, ino: 3 };

    fn place(op: Op, file: FileId, block: i64) -> Place {
        Place { op, file: Some(file), offset: block * 8192, requested: 8192, returned: 8192 }
    }

    fn hits(places: &[Place]) -> Vec<FileHits> {
        hits_by_file(|| places.chunks(3).map(|batch| Ok::<_, Infallible>(batch.to_vec()))).expect("no error")
    }

    #[test]
    fn a_small_set_that_is_read_again_and_again_shows() {
        // 98 blocks are read 800 times each, and 4 other blocks are written once.
        let mut places: Vec<Place> = (0..78_400).map(|call| place(Op::Pread, FILE, call % 98)).collect();
        places.extend((0..4).map(|block| place(Op::Pwrite, FILE, 200 + block)));
        places.push(place(Op::Pread, OTHER, 7));
        let found = hits(&places);
        assert_eq!(found.len(), 3);
        let read = &found[0];
        assert_eq!((read.file, read.direction, read.calls, read.block_bytes), (FILE, Direction::Read, 78_400, 8192));
        assert_eq!((read.blocks, read.hits_least, read.hits_most, read.hits_usual), (98, 800, 800, 800));
        assert_eq!(read.bytes, 78_400 * 8192);
        assert_eq!((found[1].direction, found[1].blocks, found[1].hits_most), (Direction::Write, 4, 1));
        assert_eq!((found[2].file, found[2].blocks), (OTHER, 1));
    }

    #[test]
    fn blocks_that_later_calls_divide_are_counted_again() {
        // First calls of 16 KiB; then calls of half this size, which make smaller blocks.
        let whole = |block| Place { requested: 16_384, returned: 16_384, ..place(Op::Pread, FILE, block) };
        let mut places: Vec<Place> = (0..30).map(|call| whole(call % 10 * 2)).collect();
        places.extend((0..20).map(|block| place(Op::Pread, FILE, block)));
        let found = hits(&places);
        assert_eq!((found[0].block_bytes, found[0].calls, found[0].blocks), (8192, 50, 20));
        assert_eq!((found[0].hits_least, found[0].hits_most), (4, 4));
    }

    #[test]
    fn what_moved_nothing_or_is_no_data_call_is_left_out_and_what_has_no_place_is_counted() {
        let failed = Place { returned: -5, ..place(Op::Pread, FILE, 1) };
        let somewhere = Place { offset: -1, ..place(Op::Read, FILE, 0) };
        let found = hits(&[failed, place(Op::Fsync, FILE, 0), somewhere, place(Op::Pread, FILE, 3)]);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].calls, found[0].unplaced_calls, found[0].blocks), (2, 1, 1));
        assert_eq!(hits(&[failed]), []);
    }
}
