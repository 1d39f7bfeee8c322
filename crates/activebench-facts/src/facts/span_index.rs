//! Finds the spans that overlap a time among thousands of spans.

use activebench_model::grouped::Grouped;

/// Numbered spans by key. 16 bytes each where they come in order.
#[derive(Clone, Debug)]
pub(super) struct KeyedSpans<K> {
    spans: Grouped<K, (u64, u64)>,
    /// The spans' numbers; empty where each span's number is its place.
    numbers: Vec<u32>,
    /// Latest end of the spans of a key up to and including this one; empty where that is each span's own end.
    reach: Vec<u64>,
    /// The key of the last look-up: finding it again costs more than the rest of a look-up.
    last: Option<(K, Option<usize>)>,
}

impl<K: Copy + Ord> KeyedSpans<K> {
    /// Creates the index of spans `(start, end, number)` with their keys, in any order.
    pub(super) fn new(spans: impl IntoIterator<Item = (K, (u64, u64, usize))>) -> Self {
        let spans = Grouped::new(spans, |span| *span);
        let mut reach = Vec::new();
        let of_keys = || (0..spans.len()).map(|key| &spans.values()[spans.places(key)]);
        if !of_keys().all(|of_key| of_key.is_sorted_by_key(|(_, end, _)| *end)) {
            for of_key in of_keys() {
                let mut latest = 0;
                reach.extend(of_key.iter().map(|(_, end, _)| {
                    latest = latest.max(*end);
                    latest
                }));
            }
        }
        let are_places = spans.values().iter().enumerate().all(|(place, (.., number))| *number == place);
        let number = |(.., number): &(u64, u64, usize)| u32::try_from(*number).expect("fewer than 2^32 spans");
        let numbers = if are_places { Vec::new() } else { spans.values().iter().map(number).collect() };
        Self { spans: spans.map(|(start, end, _)| (start, end)), numbers, reach, last: None }
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
        let begun = places.start + spans[places.clone()].partition_point(|(start, _)| *start <= end_ns);
        (places.start..begun)
            .rev()
            .take_while(move |place| self.reach.get(*place).unwrap_or(&spans[*place].1) >= &start_ns)
            .filter(move |place| spans[*place].1 >= start_ns)
            .map(|place| self.numbers.get(place).map_or(place, |number| *number as usize))
    }
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
    fn each_key_has_its_spans_in_whatever_order_it_is_asked_for() {
        let mut keyed = KeyedSpans::new([('a', (0, 10, 0)), ('b', (0, 10, 1)), ('a', (5, 6, 2))]);
        for (key, expected) in [('a', 2), ('a', 2), ('b', 1), ('c', 0), ('c', 0), ('a', 2)] {
            assert_eq!(keyed.next_overlapping(key, 5, 5).count(), expected, "{key}");
            assert_eq!(keyed.overlapping(key, 5, 5).count(), expected, "{key}");
        }
    }
}
