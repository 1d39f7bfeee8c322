//! Finds the spans that overlap a time among thousands of spans.

use std::ops::Range;

use activebench_model::grouped::Grouped;

/// Spans, or blocks of the level below, in a block.
const OF_BLOCK: usize = 8;

/// Numbered spans by key. 16 bytes each where they come in order.
///
/// A look-up takes logarithmic time beside what it finds, also where one span lasts as long as thousands of others.
#[derive(Clone, Debug)]
pub(super) struct KeyedSpans<K> {
    spans: Grouped<K, (u64, u64)>,
    /// The spans' numbers; empty where each span's number is its place.
    numbers: Vec<u32>,
    /// The latest end of each block of spans, then of each block of blocks, and so on; empty where the ends of each key
    /// ascend. A block may have spans of several keys.
    blocks: Vec<Vec<u64>>,
    /// The key of the last look-up: finding it again costs more than the rest of a look-up.
    last: Option<(K, Option<usize>)>,
}

impl<K: Copy + Ord> KeyedSpans<K> {
    /// Creates the index of spans `(start, end, number)` with their keys, in any order.
    pub(super) fn new(spans: impl IntoIterator<Item = (K, (u64, u64, usize))>) -> Self {
        let spans = Grouped::new(spans, |span| *span);
        let mut of_keys = (0..spans.len()).map(|key| &spans.values()[spans.places(key)]);
        let ends_ascend = of_keys.all(|of_key| of_key.is_sorted_by_key(|(_, end, _)| *end));
        let blocks = if ends_ascend { Vec::new() } else { latest_of_blocks(spans.values()) };
        let are_places = spans.values().iter().enumerate().all(|(place, (.., number))| *number == place);
        let number = |(.., number): &(u64, u64, usize)| u32::try_from(*number).expect("fewer than 2^32 spans");
        let numbers = if are_places { Vec::new() } else { spans.values().iter().map(number).collect() };
        Self { spans: spans.map(|(start, end, _)| (start, end)), numbers, blocks, last: None }
    }

    /// Returns the number of a key, if it has spans. Keys are numbered in ascending order.
    pub(super) fn number(&self, key: &K) -> Option<usize> {
        self.spans.number(key)
    }

    /// Returns `true` if no key is left.
    pub(super) fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// Returns the number of keys.
    pub(super) fn len(&self) -> usize {
        self.spans.len()
    }

    /// Returns the numbers of the spans of a key that share at least one point with `start..=end`.
    pub(super) fn overlapping(&self, key: K, start_ns: u64, end_ns: u64) -> impl Iterator<Item = usize> {
        self.overlapping_of(self.number(&key), start_ns, end_ns)
    }

    /// As [`KeyedSpans::overlapping`], for calls of which consecutive ones mostly have the same key.
    pub(super) fn next_overlapping(&mut self, key: K, start_ns: u64, end_ns: u64) -> impl Iterator<Item = usize> {
        let number = match self.last {
            Some((last, number)) if last == key => number,
            _ => self.number(&key),
        };
        self.last = Some((key, number));
        self.overlapping_of(number, start_ns, end_ns)
    }

    fn overlapping_of(&self, number: Option<usize>, start_ns: u64, end_ns: u64) -> impl Iterator<Item = usize> {
        let spans = self.spans.values();
        let places = number.map_or(0..0, |number| self.spans.places(number));
        let begun = spans[places.clone()].partition_point(|(start, _)| *start <= end_ns);
        let mut open = places.start..places.start + begun;
        std::iter::from_fn(move || {
            while let Some(ended) = self.ended_at_the_end_of(&open, start_ns) {
                open.end -= ended;
            }
            let place = open.next_back()?;
            if self.blocks.is_empty() && spans[place].1 < start_ns {
                open.end = open.start;
                return None;
            }
            Some(self.numbers.get(place).map_or(place, |number| *number as usize))
        })
    }

    /// Returns the length of the largest block at the end of these places whose spans all ended before a time; `None` if
    /// the last span did not.
    fn ended_at_the_end_of(&self, places: &Range<usize>, start_ns: u64) -> Option<usize> {
        if self.blocks.is_empty() || self.spans.values()[places.clone()].last()?.1 >= start_ns {
            return None;
        }
        let mut ended = 1;
        for latest in &self.blocks {
            let length = ended * OF_BLOCK;
            let is_block = places.end.is_multiple_of(length) && places.len() >= length;
            if !is_block || latest[places.end / length - 1] >= start_ns {
                break;
            }
            ended = length;
        }
        Some(ended)
    }
}

/// Returns the latest end of each block of spans, then of each block of blocks, and so on, up to one block.
fn latest_of_blocks(spans: &[(u64, u64, usize)]) -> Vec<Vec<u64>> {
    let mut blocks: Vec<Vec<u64>> = Vec::new();
    let latest = |ends: &[u64]| ends.iter().copied().fold(0, u64::max);
    let mut next: Vec<u64> =
        spans.chunks(OF_BLOCK).map(|block| block.iter().map(|(_, end, _)| *end).fold(0, u64::max)).collect();
    while next.len() > 1 {
        let above = next.chunks(OF_BLOCK).map(latest).collect();
        blocks.push(std::mem::replace(&mut next, above));
    }
    blocks.push(next);
    blocks
}

/// Numbered spans without a key.
#[derive(Clone, Debug)]
pub(super) struct SpanIndex(KeyedSpans<()>);

impl SpanIndex {
    /// Creates an index of spans `(start, end, number)` in any order.
    pub(super) fn new(spans: impl IntoIterator<Item = (u64, u64, usize)>) -> Self {
        Self(KeyedSpans::new(spans.into_iter().map(|span| ((), span))))
    }

    /// Returns the numbers of the spans that share at least one point with `start..=end`.
    pub(super) fn overlapping(&self, start_ns: u64, end_ns: u64) -> impl Iterator<Item = usize> {
        self.0.overlapping((), start_ns, end_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlapping_spans_are_found_whatever_their_order() {
        let index = SpanIndex::new(vec![(50, 60, 2), (0, 100, 0), (10, 20, 1), (100, 100, 3)]);
        for (start, end, expected) in [
            (0, 0, vec![0]),
            (15, 15, vec![0, 1]),
            (20, 50, vec![0, 1, 2]),
            (21, 49, vec![0]),
            (100, 200, vec![0, 3]),
            (101, 200, vec![]),
        ] {
            let mut found: Vec<usize> = index.overlapping(start, end).collect();
            found.sort_unstable();
            assert_eq!(found, expected, "{start}..={end}");
        }
    }

    #[test]
    fn a_span_around_thousands_of_others_is_found_with_those_beside_it() {
        let short = (0..2000).map(|number| (number * 10, number * 10 + 5, number as usize));
        let long = [(3, 19_998, 2000), (0, 9000, 2001), (15_000, 15_030, 2002)];
        let of_keys = [(0, 100, 2003), (50, 60, 2004)].map(|span| ('z', span));
        let spans: Vec<(u64, u64, usize)> = short.chain(long).collect();
        let index = KeyedSpans::new(spans.iter().map(|span| ('m', *span)).chain(of_keys));
        for at in 0..2100 {
            let (start, end) = (at * 10, at * 10 + at % 23);
            let mut found: Vec<usize> = index.overlapping('m', start, end).collect();
            found.sort_unstable();
            let overlaps = |span: &&(u64, u64, usize)| span.0 <= end && span.1 >= start;
            let mut expected: Vec<usize> = spans.iter().filter(overlaps).map(|span| span.2).collect();
            expected.sort_unstable();
            assert_eq!(found, expected, "{start}..={end}");
        }
        assert_eq!(index.overlapping('z', 55, 55).count(), 2);
        assert_eq!(index.overlapping('z', 61, 61).count(), 1);
    }

    #[test]
    fn each_key_has_its_spans_in_whatever_order_it_is_asked_for() {
        let mut keyed = KeyedSpans::new([('a', (0, 10, 0)), ('b', (0, 10, 1)), ('a', (5, 6, 2))]);
        for (key, expected) in [('a', 2), ('a', 2), ('b', 1), ('c', 0), ('c', 0), ('a', 2)] {
            assert_eq!(keyed.next_overlapping(key, 5, 5).count(), expected, "{key}");
            assert_eq!(keyed.overlapping(key, 5, 5).count(), expected, "{key}");
        }
    }
}
