//! Number of requests in flight at once.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use activebench_model::phase::Window;

/// Requests held back to put their ends in order: completions come from several CPUs,
/// and adjacent ones can be out of order.
const HELD: usize = 1 << 10;

/// Requests in flight inside a window, computed from the span of each.
///
/// The mean needs only the sum of the spans. The maximum is the number of places that the
/// requests need when each one takes a place that is free at its start; of several free places, the one
/// that became free last. In the order of ends this is exact (a greedy colouring of an interval graph),
/// and only the times at which the places became free are kept.
/// Memory: 8 bytes per place, 16 bytes per request held back, at most [`HELD`] of these.
#[derive(Clone, Debug, Default)]
pub(super) struct QueueDepth {
    in_flight_ns: u128,
    /// Time when each place became free, sorted.
    free_ns: Vec<u64>,
    held: BinaryHeap<Reverse<(u64, u64)>>,
    /// Requests whose end arrived too late to be put in order.
    late: u64,
}

impl QueueDepth {
    /// Adds a request that was in flight from its issue to its completion; time outside
    /// the window does not count.
    pub(super) fn add(&mut self, window: Window, issued_ns: u64, completed_ns: u64) {
        let (start_ns, end_ns) = (issued_ns.max(window.start_ns), completed_ns.min(window.end_ns));
        if start_ns >= end_ns {
            return;
        }
        self.in_flight_ns += u128::from(end_ns - start_ns);
        self.held.push(Reverse((end_ns, start_ns)));
        if self.held.len() > HELD {
            self.place_first();
        }
    }

    fn place_first(&mut self) {
        let Some(Reverse((end_ns, start_ns))) = self.held.pop() else { return };
        // A request that completes at the moment of another's issue does not overlap with it.
        let free = self.free_ns.partition_point(|free_ns| *free_ns <= start_ns);
        if let Some(place) = free.checked_sub(1) {
            self.free_ns.remove(place);
        }
        let at = self.free_ns.partition_point(|free_ns| *free_ns <= end_ns);
        self.late += u64::from(at < self.free_ns.len());
        self.free_ns.insert(at, end_ns);
    }

    /// Returns the mean over the window; `None` for a window without length.
    pub(super) fn mean(&self, window: Window) -> Option<f64> {
        (window.duration_ns() > 0).then(|| self.in_flight_ns as f64 / window.duration_ns() as f64)
    }

    /// Returns the most requests in flight at once. `Err` when ends arrived too late to be put in order:
    /// the figure is then an upper bound.
    pub(super) fn most(mut self) -> Result<u64, u64> {
        while !self.held.is_empty() {
            self.place_first();
        }
        let places = self.free_ns.len() as u64;
        if self.late == 0 { Ok(places) } else { Err(places) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Window = Window { start_ns: 1000, end_ns: 2000 };

    fn check(what: &str, requests: &[(u64, u64)], mean: f64, most: u64) {
        let mut depth = QueueDepth::default();
        requests.iter().for_each(|(issued_ns, completed_ns)| depth.add(WINDOW, *issued_ns, *completed_ns));
        assert_eq!(depth.mean(WINDOW), Some(mean), "{what}");
        assert_eq!(depth.most(), Ok(most), "{what}");
    }

    #[test]
    fn requests_in_flight_are_counted_inside_the_window() {
        check("none", &[], 0.0, 0);
        check("one", &[(1100, 1200)], 0.1, 1);
        check("one all the time", &[(0, 5000)], 1.0, 1);
        check("one after another", &[(1000, 1500), (1500, 2000)], 1.0, 1);
        check("two at once", &[(1000, 1500), (1400, 1600)], 0.7, 2);
        check("outside", &[(100, 1000), (2000, 2100), (900, 950)], 0.0, 0);
        check("across both ends", &[(900, 1100), (1900, 2500)], 0.2, 1);
        // Two short requests inside a long one that completes last.
        check("around others", &[(1200, 1300), (1400, 1500), (1100, 1600)], 0.7, 2);
        // Of two free places the one freed last is taken, so that the long request finds the other.
        check("the right place", &[(1000, 1100), (1050, 1300), (1350, 1500), (1150, 1600)], 0.95, 2);
        check("no window", &[(1500, 1500)], 0.0, 0);
        assert_eq!(QueueDepth::default().mean(Window { start_ns: 5, end_ns: 5 }), None);
    }

    /// Returns the largest number of spans around any one point, by checking every end.
    fn plain_most(requests: &[(u64, u64)]) -> u64 {
        let around = |at: u64| requests.iter().filter(|(start, end)| *start < at && at <= *end).count();
        requests.iter().map(|(_, end)| around(*end)).max().unwrap_or(0) as u64
    }

    #[test]
    fn the_maximum_is_that_of_a_plain_count() {
        let mut state = 7_u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for longest in [2, 10, 100, 1000] {
            let mut requests: Vec<(u64, u64)> = (0..3000)
                .map(|_| {
                    let end = 1000 + random(1001);
                    (end.saturating_sub(1 + random(longest)).max(1000), end)
                })
                .filter(|(start, end)| start < end)
                .collect();
            requests.sort_unstable_by_key(|(_, end)| *end);
            // Adjacent requests are put out of order.
            requests.chunks_mut(50).for_each(|neighbours| neighbours.reverse());
            let mut depth = QueueDepth::default();
            requests.iter().for_each(|(issued_ns, completed_ns)| depth.add(WINDOW, *issued_ns, *completed_ns));
            assert_eq!(depth.most(), Ok(plain_most(&requests)), "latencies up to {longest}");
        }
    }

    #[test]
    fn an_end_that_comes_too_late_is_said_so() {
        let mut depth = QueueDepth::default();
        for request in 0..2 * HELD as u64 {
            depth.add(Window { start_ns: 0, end_ns: 1 << 40 }, 1000 * request + 5000, 1000 * request + 5001);
        }
        depth.add(Window { start_ns: 0, end_ns: 1 << 40 }, 1, 2);
        assert!(depth.most().is_err());
    }
}
