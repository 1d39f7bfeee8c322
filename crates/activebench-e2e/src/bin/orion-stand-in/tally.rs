//! Sums over the requests of one kind.

use std::time::Duration;

/// Upper bounds of the histogram's buckets, in microseconds; the last bucket also takes all longer latencies.
pub(crate) const BORDERS_US: [u64; 24] = {
    let mut borders = [0; 24];
    let mut at = 0;
    while at < borders.len() {
        borders[at] = 32 << at;
        at += 1;
    }
    borders
};

/// Latencies of one kind of requests.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) count: u64,
    sum_us: f64,
    sum_of_squares: f64,
    pub(crate) min_us: f64,
    pub(crate) max_us: f64,
    pub(crate) buckets: [u64; BORDERS_US.len()],
}

impl Tally {
    pub(crate) fn add(&mut self, latency: Duration) {
        let latency_us = latency.as_secs_f64() * 1e6;
        self.min_us = if self.count == 0 { latency_us } else { self.min_us.min(latency_us) };
        self.max_us = self.max_us.max(latency_us);
        self.count += 1;
        self.sum_us += latency_us;
        self.sum_of_squares += latency_us * latency_us;
        let bucket = BORDERS_US.iter().position(|border| latency_us < *border as f64);
        self.buckets[bucket.unwrap_or(BORDERS_US.len() - 1)] += 1;
    }

    /// Returns the mean over one or more kinds together; `None` without a request.
    pub(crate) fn mean_us(of: &[&Tally]) -> Option<f64> {
        let count: u64 = of.iter().map(|tally| tally.count).sum();
        (count > 0).then(|| of.iter().map(|tally| tally.sum_us).sum::<f64>() / count as f64)
    }

    pub(crate) fn deviation_us(&self) -> f64 {
        let mean = self.sum_us / self.count as f64;
        (self.sum_of_squares / self.count as f64 - mean * mean).max(0.0).sqrt()
    }
}
