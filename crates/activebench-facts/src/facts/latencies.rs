//! How long calls and requests took, as percentiles.

use activebench_model::fact::{FactName, Facts, Scope};
use activebench_model::units::Quantity;
use hdrhistogram::Histogram;

use super::gaps::Gap;

/// Percentiles keep three significant digits: at most 0.1 % off.
const DIGITS: u8 = 3;

/// The names of one kind of latency: 50 %, 95 %, 99 %, 99.9 %, longest.
pub(super) type Names = [FactName; 5];

/// Of data calls.
pub(super) const OF_CALLS: Names = [
    FactName::CallLatencyP50,
    FactName::CallLatencyP95,
    FactName::CallLatencyP99,
    FactName::CallLatencyP999,
    FactName::CallLatencyMax,
];

/// Of requests at the device.
pub(super) const OF_REQUESTS: Names = [
    FactName::DeviceLatencyP50,
    FactName::DeviceLatencyP95,
    FactName::DeviceLatencyP99,
    FactName::DeviceLatencyP999,
    FactName::DeviceLatencyMax,
];

/// Latencies in nanoseconds. Memory: 8 KiB for each doubling of the longest, whatever their number.
#[derive(Clone, Debug, Default)]
pub(super) struct Latencies(Option<Histogram<u64>>);

impl Latencies {
    /// Adds one; 0 stands for a latency that is not known and is left out.
    pub(super) fn add(&mut self, ns: u64) {
        if ns == 0 {
            return;
        }
        let histogram = self.0.get_or_insert_with(|| {
            let mut histogram = Histogram::new(DIGITS).expect("three digits are allowed");
            histogram.auto(true);
            histogram
        });
        histogram.record(ns).expect("the range grows by itself");
    }

    /// The percentiles as facts; missing with these words where nothing was added.
    pub(super) fn insert(&self, names: Names, gap: &Gap, scope: Scope, source: &str, none: &str, facts: &mut Facts) {
        let shares = [Some(0.5), Some(0.95), Some(0.99), Some(0.999), None];
        for (name, share) in names.into_iter().zip(shares) {
            let fact = match &self.0 {
                Some(histogram) => {
                    let ns = share.map_or_else(|| histogram.max(), |share| histogram.value_at_quantile(share));
                    gap.fact(Quantity::ns(ns), scope, source)
                }
                None => activebench_model::fact::Fact::missing(none, scope, source),
            };
            facts.insert(name, fact);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_a_thousandth_off_at_most() {
        let mut latencies = Latencies::default();
        for microseconds in 1..=10_000 {
            latencies.add(microseconds * 1000);
        }
        latencies.add(0);
        let mut facts = Facts::default();
        latencies.insert(OF_CALLS, &Gap::None, Scope::Tree, "calls", "none", &mut facts);
        for (name, expected) in OF_CALLS.into_iter().zip([5e6, 9.5e6, 9.9e6, 9.99e6, 10e6]) {
            let value = facts.complete(name).unwrap();
            assert!((value - expected).abs() <= expected / 1000.0, "{name:?}: {value}");
        }
    }

    #[test]
    fn no_latency_is_missing_and_not_zero() {
        let mut facts = Facts::default();
        Latencies::default().insert(OF_REQUESTS, &Gap::None, Scope::Device, "block", "no requests", &mut facts);
        assert_eq!(
            facts.complete(FactName::DeviceLatencyP99),
            Err("device_latency_p99_ns is missing: no requests".into())
        );
    }
}
