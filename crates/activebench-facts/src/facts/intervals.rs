//! Unions of spans of time.

/// Sets of spans, one for each key, for computing their unions.
///
/// Memory: 16 bytes and the key per span. Spans are merged whenever their number has doubled, so that overlapping or
/// touching spans take memory only for a short time.
#[derive(Clone, Debug, Default)]
pub(super) struct KeyedIntervals<K> {
    spans: Vec<(K, u64, u64)>,
    merged: usize,
}

impl<K: Copy + Ord> KeyedIntervals<K> {
    const MERGE_FROM: usize = 1 << 12;

    /// Adds a span; a span without length adds nothing.
    pub(super) fn add(&mut self, key: K, start_ns: u64, end_ns: u64) {
        if start_ns >= end_ns {
            return;
        }
        // Mostly the one before goes on.
        if let Some((last, begun, ended)) = self.spans.last_mut()
            && *last == key
            && (*begun..=*ended).contains(&start_ns)
        {
            *ended = end_ns.max(*ended);
            return;
        }
        self.spans.push((key, start_ns, end_ns));
        if self.spans.len() > 2 * self.merged.max(Self::MERGE_FROM) {
            self.merge();
        }
    }

    /// Returns the unions as disjoint spans, in the order of their keys and times.
    pub(super) fn spans(&mut self) -> &[(K, u64, u64)] {
        self.merge();
        &self.spans
    }

    fn merge(&mut self) {
        self.spans.sort_unstable();
        self.spans.dedup_by(|(key, start_ns, end_ns), (last, _, last_end_ns)| {
            let goes_on = key == last && start_ns <= last_end_ns;
            if goes_on {
                *last_end_ns = (*end_ns).max(*last_end_ns);
            }
            goes_on
        });
        self.merged = self.spans.len();
    }
}

/// A set of spans, for computing their union.
#[derive(Clone, Debug, Default)]
pub(super) struct Intervals(KeyedIntervals<()>);

impl Intervals {
    /// Adds a span; a span without length adds nothing.
    pub(super) fn add(&mut self, start_ns: u64, end_ns: u64) {
        self.0.add((), start_ns, end_ns);
    }

    /// Returns the length of the union.
    pub(super) fn length(&mut self) -> u64 {
        self.0.spans().iter().map(|((), start, end)| end - start).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlapping_time_counts_once() {
        for (spans, expected) in [
            (vec![], 0),
            (vec![(5, 5), (7, 3)], 0),
            (vec![(0, 10), (5, 15), (20, 30)], 25),
            (vec![(20, 30), (0, 40)], 40),
            (vec![(0, 1), (1, 2)], 2),
        ] {
            let mut intervals = Intervals::default();
            for (start, end) in &spans {
                intervals.add(*start, *end);
            }
            assert_eq!(intervals.length(), expected, "{spans:?}");
        }
    }

    #[test]
    fn touching_spans_do_not_pile_up() {
        let mut intervals = Intervals::default();
        for start in (0..100_000).rev() {
            intervals.add(start, start + 1);
        }
        assert!(intervals.0.spans.len() <= 2 * KeyedIntervals::<()>::MERGE_FROM + 1);
        assert_eq!(intervals.length(), 100_000);
    }

    #[test]
    fn each_key_has_a_union_of_its_own() {
        let mut intervals = KeyedIntervals::default();
        for (key, start, end) in [(2, 0, 10), (1, 5, 15), (1, 15, 20), (2, 30, 40), (1, 0, 6), (2, 4, 8)] {
            intervals.add(key, start, end);
        }
        assert_eq!(intervals.spans(), [(1, 0, 20), (2, 0, 10), (2, 30, 40)]);
    }
}
