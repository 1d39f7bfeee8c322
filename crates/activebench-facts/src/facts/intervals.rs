//! A union of spans of time.

/// A set of spans, for computing their union.
///
/// Memory: 16 bytes per span. Spans are merged whenever their number has doubled, so that overlapping or
/// touching spans take memory only for a short time.
#[derive(Clone, Debug, Default)]
pub(super) struct Intervals {
    spans: Vec<(u64, u64)>,
    merged: usize,
}

impl Intervals {
    const MERGE_FROM: usize = 1 << 12;

    /// Adds a span; a span without length adds nothing.
    pub(super) fn add(&mut self, start_ns: u64, end_ns: u64) {
        if start_ns >= end_ns {
            return;
        }
        // Many sets have one span.
        if self.spans.is_empty() {
            self.spans.reserve_exact(1);
        }
        self.spans.push((start_ns, end_ns));
        if self.spans.len() > 2 * self.merged.max(Self::MERGE_FROM) {
            self.merge();
        }
    }

    /// Returns the union as disjoint spans in order.
    pub(super) fn spans(&mut self) -> &[(u64, u64)] {
        self.merge();
        &self.spans
    }

    /// Returns the length of the union.
    pub(super) fn length(&mut self) -> u64 {
        self.spans().iter().map(|(start, end)| end - start).sum()
    }

    fn merge(&mut self) {
        self.spans.sort_unstable();
        let mut merged: Vec<(u64, u64)> = Vec::with_capacity(self.spans.len());
        for (start, end) in self.spans.drain(..) {
            match merged.last_mut() {
                Some((_, last_end)) if start <= *last_end => *last_end = end.max(*last_end),
                _ => merged.push((start, end)),
            }
        }
        self.merged = merged.len();
        self.spans = merged;
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
        for start in 0..100_000 {
            intervals.add(start, start + 1);
        }
        assert!(intervals.spans.len() <= 2 * Intervals::MERGE_FROM + 1);
        assert_eq!(intervals.length(), 100_000);
    }
}
