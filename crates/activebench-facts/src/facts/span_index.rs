//! Finds the spans that overlap a time among thousands of spans.

use std::collections::HashMap;
use std::hash::Hash;

/// Numbered spans, sorted by start.
#[derive(Clone, Debug, Default)]
pub(super) struct SpanIndex {
    spans: Vec<(u64, u64, usize)>,
    /// Latest end of the spans up to and including this one; empty where that is each span's own end.
    reach: Vec<u64>,
}

impl SpanIndex {
    /// Creates an index of spans `(start, end, number)` in any order.
    pub(super) fn new(mut spans: Vec<(u64, u64, usize)>) -> Self {
        spans.sort_unstable();
        spans.shrink_to_fit();
        let reach = spans.iter().scan(0, |latest, (_, end, _)| {
            *latest = (*latest).max(*end);
            Some(*latest)
        });
        let reach = if spans.is_sorted_by_key(|(_, end, _)| *end) { Vec::new() } else { reach.collect() };
        Self { spans, reach }
    }

    /// Creates indexes of spans `(start, end, number)`, one per key.
    pub(super) fn by_key<K: Eq + Hash>(spans: impl IntoIterator<Item = (K, (u64, u64, usize))>) -> HashMap<K, Self> {
        let mut grouped: HashMap<K, Vec<(u64, u64, usize)>> = HashMap::new();
        for (key, span) in spans {
            grouped.entry(key).or_default().push(span);
        }
        grouped.into_iter().map(|(key, spans)| (key, Self::new(spans))).collect()
    }

    /// Returns the numbers of the spans that share at least one point with `start..=end`.
    pub(super) fn overlapping(&self, start_ns: u64, end_ns: u64) -> impl Iterator<Item = usize> {
        let begun = self.spans.partition_point(|(start, ..)| *start <= end_ns);
        (0..begun)
            .rev()
            .take_while(move |index| self.reach.get(*index).unwrap_or(&self.spans[*index].1) >= &start_ns)
            .map(|index| self.spans[index])
            .filter(move |(_, end, _)| *end >= start_ns)
            .map(|(.., number)| number)
    }
}

/// Indexes of spans by key, for calls of which consecutive ones mostly have the same key.
#[derive(Clone, Debug)]
pub(super) struct KeyedSpans<K> {
    indexes: Vec<SpanIndex>,
    numbers: HashMap<K, usize>,
    /// The key of the last look-up: hashing it again costs more than the rest of a look-up.
    last: Option<(K, Option<usize>)>,
}

impl<K: Copy + Eq + Hash> KeyedSpans<K> {
    /// Creates the indexes from spans `(start, end, number)` with their keys.
    pub(super) fn new(spans: impl IntoIterator<Item = (K, (u64, u64, usize))>) -> Self {
        let (mut indexes, mut numbers) = (Vec::new(), HashMap::new());
        for (key, index) in SpanIndex::by_key(spans) {
            numbers.insert(key, indexes.len());
            indexes.push(index);
        }
        Self { indexes, numbers, last: None }
    }

    /// Returns the spans of a key, if it has any.
    pub(super) fn get(&mut self, key: K) -> Option<&SpanIndex> {
        let number = match self.last {
            Some((last, number)) if last == key => number,
            _ => self.numbers.get(&key).copied(),
        };
        self.last = Some((key, number));
        number.map(|number| &self.indexes[number])
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
    fn each_key_has_its_spans_in_whatever_order_it_is_asked_for() {
        let mut keyed = KeyedSpans::new([('a', (0, 10, 0)), ('b', (0, 10, 1)), ('a', (5, 6, 2))]);
        for (key, expected) in [('a', 2), ('a', 2), ('b', 1), ('c', 0), ('c', 0), ('a', 2)] {
            assert_eq!(keyed.get(key).map_or(0, |index| index.overlapping(5, 5).count()), expected, "{key}");
        }
    }
}
