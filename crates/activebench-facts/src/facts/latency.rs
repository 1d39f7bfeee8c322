//! Distributions of the durations of calls and requests.

use std::collections::BTreeMap;

use activebench_model::call::Call;
use activebench_model::fact::FactName;
use activebench_model::timeline::LatencyBucket;
use activebench_model::units::Quantity;
use hdrhistogram::Histogram;

/// Significant decimal digits of a figure: a returned figure is at most 0.1 % above the true one.
const SIGNIFICANT_DIGITS: u8 = 3;
/// Number of latencies kept individually before a histogram takes over: a run can have thousands of
/// phases with few calls each.
const KEPT: u64 = 1 << 11;

/// Estimates from this value on count as measured: the error from the fast calls around them is small in comparison.
pub(super) const SURE_FROM_NS: u64 = 64_000;

/// How well a latency is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Timing {
    /// It was measured, for as many calls like it.
    Timed { stands_for: u8 },
    /// A request whose start is an estimate. It has its own completion, so a long one is one request.
    Estimated,
    /// A fast call between two readings of the clock. What looks like a long one may be a pause of the program or of its
    /// virtual machine, or the time of several calls together.
    Guessed,
}

impl Timing {
    /// Measured, for itself alone.
    pub(super) const ALONE: Self = Self::Timed { stands_for: 1 };

    pub(super) fn of(call: &Call) -> Self {
        match call.stands_for {
            0 if call.op.is_asynchronous() => Self::Estimated,
            0 => Self::Guessed,
            stands_for => Self::Timed { stands_for },
        }
    }
}

/// A distribution of latencies, all of them counted.
///
/// Memory: 8 bytes per latency up to [`KEPT`]. Above that, 8 KiB of the histogram for each
/// doubling of the longest latency past 1 us, for any number of latencies.
#[derive(Clone, Debug, Default)]
pub(super) struct Latencies {
    /// All but those that are guessed, each for itself alone.
    known: Distribution,
    /// What the calls of a sample stand for beside themselves.
    others: Distribution,
    guessed: Distribution,
    /// Fast calls that were not timed: those that a sample stands for. It may stand for fewer than it was to, where slower
    /// calls followed, each of which was timed.
    untimed: u64,
    /// Sum of their latencies, as far as they were guessed.
    untimed_ns: u128,
    longest_ns: u64,
    /// `None` while none was timed.
    longest_timed_ns: Option<u64>,
    /// Latencies that are known: measured, or of requests whose start is an estimate with a small error beside them.
    timed: u64,
    /// True if calls went untimed. One of them that left the processor is timed from then on: its start is an estimate.
    is_sample: bool,
    sample: Sample,
}

/// What the calls of a sample that stand for others leave open, as if each had been drawn independently.
#[derive(Clone, Copy, Debug, Default)]
struct Sample {
    /// Variance of the rank of a latency.
    rank_variance: u64,
    /// Sums of the latencies and of their squares, each with its share of that variance.
    weighted_ns: f64,
    weighted_squares: f64,
    standing_for_others: u64,
    /// Sum of the timed latencies, each once.
    once_ns: u128,
}

impl Sample {
    /// Adds a timed latency that stands for `times` calls.
    fn record(&mut self, latency_ns: u64, times: u64) {
        let variance = times * times.saturating_sub(1);
        self.standing_for_others += u64::from(variance > 0);
        self.rank_variance += variance;
        self.weighted_ns += variance as f64 * latency_ns as f64;
        self.weighted_squares += variance as f64 * (latency_ns as f64).powi(2);
        self.once_ns += if times > 0 { u128::from(latency_ns) } else { 0 };
    }

    /// Returns the standard error of a rank, as a share of all. `share` is how much of the others it stands for.
    fn rank_error(&self, share: f64, of: f64) -> f64 {
        (self.rank_variance as f64 * share).sqrt() / of
    }

    /// Returns the least that the mean of all calls can be: a slow call of a small sample stands for others that may all
    /// have been fast.
    fn least_mean_ns(&self, mean_ns: f64, share: f64, of: f64) -> f64 {
        let own_mean_ns = self.weighted_ns / self.rank_variance as f64;
        // Sum of the squares of the distances from the mean of those that stand for others.
        let squares = (self.weighted_squares - own_mean_ns * self.weighted_ns).max(0.0) * share;
        let error_ns = match self.standing_for_others {
            _ if share == 0.0 => 0.0,
            ..LEAST_SAMPLE => f64::INFINITY,
            count => (squares * count as f64 / (count - 1) as f64).sqrt() / of,
        };
        let seen_ns = self.once_ns as f64 / of;
        (mean_ns - STANDARD_ERRORS * error_ns).max(seen_ns)
    }
}

/// Latencies and their sum.
#[derive(Clone, Debug, Default)]
struct Distribution {
    kept: Vec<u64>,
    histogram: Option<Histogram<u64>>,
    /// Sum of all latencies, each multiplied by the number of calls that it represents.
    sum_ns: u128,
    stood_for: u64,
}

impl Distribution {
    /// Adds a latency that stands for `times` calls.
    fn record(&mut self, latency_ns: u64, times: u64) {
        self.sum_ns += u128::from(latency_ns) * u128::from(times);
        self.stood_for += times;
        match &mut self.histogram {
            Some(histogram) => record(histogram, latency_ns, times),
            None if self.kept.len() as u64 + times <= KEPT => {
                self.kept.extend((0..times).map(|_| latency_ns));
            }
            None => {
                let mut histogram = self.histogram();
                record(&mut histogram, latency_ns, times);
                self.histogram = Some(histogram);
                self.kept = Vec::new();
            }
        }
    }

    fn histogram(&self) -> Histogram<u64> {
        if let Some(histogram) = &self.histogram {
            return histogram.clone();
        }
        let mut histogram = Histogram::new(SIGNIFICANT_DIGITS).expect("at most 5 digits are allowed");
        histogram.auto(true);
        self.kept.iter().for_each(|latency_ns| record(&mut histogram, *latency_ns, 1));
        histogram
    }
}

/// Number of standard errors by which a median's rank and a mean can be wrong; other quantiles in proportion.
const STANDARD_ERRORS: f64 = 8.0;

/// Fewest calls of a sample by which the error of their mean is known.
const LEAST_SAMPLE: u64 = 8;

/// Names of the facts of one distribution.
pub(super) struct LatencyNames {
    /// The quantiles, each from 0 to 1.
    pub(super) quantiles: [(f64, FactName); 4],
    /// The least that they can be. `None` where no fact needs it.
    pub(super) least: Option<LeastNames>,
    pub(super) longest: FactName,
    /// `None` where no fact needs it.
    pub(super) mean: Option<FactName>,
    /// `None` where no fact needs it.
    pub(super) timed: Option<FactName>,
}

/// Names of the least that the figures of a distribution can be: those of what was timed.
#[derive(Clone, Copy)]
pub(super) struct LeastNames {
    /// The quantiles, each from 0 to 1.
    quantiles: [(f64, FactName); 3],
    mean: FactName,
    longest: FactName,
}

impl LatencyNames {
    pub(super) const READS: Self = Self {
        quantiles: [
            (0.5, FactName::ReadLatencyP50),
            (0.95, FactName::ReadLatencyP95),
            (0.99, FactName::ReadLatencyP99),
            (0.999, FactName::ReadLatencyP999),
        ],
        least: Some(LeastNames {
            quantiles: [
                (0.5, FactName::ReadLatencyP50Least),
                (0.95, FactName::ReadLatencyP95Least),
                (0.99, FactName::ReadLatencyP99Least),
            ],
            mean: FactName::ReadLatencyMeanLeast,
            longest: FactName::ReadLatencyMaxLeast,
        }),
        longest: FactName::ReadLatencyMax,
        mean: Some(FactName::ReadLatencyMean),
        timed: Some(FactName::ReadLatencyTimed),
    };
    pub(super) const WRITES: Self = Self {
        quantiles: [
            (0.5, FactName::WriteLatencyP50),
            (0.95, FactName::WriteLatencyP95),
            (0.99, FactName::WriteLatencyP99),
            (0.999, FactName::WriteLatencyP999),
        ],
        least: Some(LeastNames {
            quantiles: [
                (0.5, FactName::WriteLatencyP50Least),
                (0.95, FactName::WriteLatencyP95Least),
                (0.99, FactName::WriteLatencyP99Least),
            ],
            mean: FactName::WriteLatencyMeanLeast,
            longest: FactName::WriteLatencyMaxLeast,
        }),
        longest: FactName::WriteLatencyMax,
        mean: Some(FactName::WriteLatencyMean),
        timed: Some(FactName::WriteLatencyTimed),
    };
    pub(super) const DISCARDS: Self = Self {
        quantiles: [
            (0.5, FactName::DiscardLatencyP50),
            (0.95, FactName::DiscardLatencyP95),
            (0.99, FactName::DiscardLatencyP99),
            (0.999, FactName::DiscardLatencyP999),
        ],
        least: Some(LeastNames {
            quantiles: [
                (0.5, FactName::DiscardLatencyP50Least),
                (0.95, FactName::DiscardLatencyP95Least),
                (0.99, FactName::DiscardLatencyP99Least),
            ],
            mean: FactName::DiscardLatencyMeanLeast,
            longest: FactName::DiscardLatencyMaxLeast,
        }),
        longest: FactName::DiscardLatencyMax,
        mean: Some(FactName::DiscardLatencyMean),
        timed: Some(FactName::DiscardLatencyTimed),
    };
    pub(super) const DEVICE: Self = Self {
        quantiles: [
            (0.5, FactName::DeviceLatencyP50),
            (0.95, FactName::DeviceLatencyP95),
            (0.99, FactName::DeviceLatencyP99),
            (0.999, FactName::DeviceLatencyP999),
        ],
        least: None,
        longest: FactName::DeviceLatencyMax,
        mean: None,
        timed: None,
    };
    pub(super) const COMPLETIONS: Self = Self {
        quantiles: [
            (0.5, FactName::CompletionLatencyP50),
            (0.95, FactName::CompletionLatencyP95),
            (0.99, FactName::CompletionLatencyP99),
            (0.999, FactName::CompletionLatencyP999),
        ],
        least: None,
        longest: FactName::CompletionLatencyMax,
        mean: Some(FactName::CompletionLatencyMean),
        timed: None,
    };
    pub(super) const SYNCS: Self = Self {
        quantiles: [
            (0.5, FactName::SyncLatencyP50),
            (0.95, FactName::SyncLatencyP95),
            (0.99, FactName::SyncLatencyP99),
            (0.999, FactName::SyncLatencyP999),
        ],
        least: None,
        longest: FactName::SyncLatencyMax,
        mean: Some(FactName::SyncLatencyMean),
        timed: None,
    };

    pub(super) fn all(&self) -> impl Iterator<Item = FactName> {
        let quantiles = self.quantiles.iter().map(|(_, name)| *name);
        let least = self
            .least
            .into_iter()
            .flat_map(|least| least.quantiles.map(|(_, name)| name).into_iter().chain([least.mean, least.longest]));
        quantiles.chain([self.longest]).chain(self.mean).chain(self.timed).chain(least)
    }
}

impl Latencies {
    /// Adds the latency of a call or request. An estimate can be the longest. One that is long compared with the error of
    /// an estimate represents itself alone, timed or not: a slow call after fast ones is not one of those that the sample
    /// represents.
    pub(super) fn record(&mut self, latency_ns: u64, timing: Timing) {
        let is_long = latency_ns >= SURE_FROM_NS;
        let times = match timing {
            _ if is_long => 1,
            Timing::Timed { stands_for } => u64::from(stands_for),
            Timing::Estimated | Timing::Guessed => 0,
        };
        self.longest_ns = self.longest_ns.max(latency_ns);
        if matches!(timing, Timing::Timed { .. }) {
            self.longest_timed_ns = self.longest_timed_ns.max(Some(latency_ns));
        } else {
            self.is_sample = true;
        }
        self.timed += u64::from(times > 0 && timing != Timing::Guessed);
        if timing != Timing::Guessed {
            self.sample.record(latency_ns, times);
        }
        if times == 0 {
            self.untimed += 1;
            self.untimed_ns += u128::from(latency_ns);
        }
        if times > 0 {
            let part = if timing == Timing::Guessed { &mut self.guessed } else { &mut self.known };
            part.record(latency_ns, 1);
        }
        if times > 1 {
            self.others.record(latency_ns, times - 1);
        }
    }

    /// Returns the number of calls that are known or that the sample stands for, and the sum of their latencies.
    fn known(&self) -> (f64, f64) {
        let share = self.share_of_others();
        let sum = |of: fn(&Distribution) -> f64| of(&self.known) + share * of(&self.others);
        (sum(|part| part.stood_for as f64), sum(|part| part.sum_ns as f64))
    }

    /// Returns how much of the calls for which the sample was to stand went untimed.
    fn share_of_others(&self) -> f64 {
        match self.others.stood_for {
            0 => 0.0,
            of => (self.untimed as f64 / of as f64).min(1.0),
        }
    }

    /// Returns the number of fast calls that no timed call stands for.
    fn alone(&self) -> u64 {
        self.untimed.saturating_sub(self.others.stood_for)
    }

    /// Returns the mean of the fast calls, as guessed.
    fn guessed_ns(&self) -> f64 {
        self.untimed_ns as f64 / self.untimed.max(1) as f64
    }

    fn is_empty(&self) -> bool {
        self.known.stood_for + self.guessed.stood_for == 0
    }

    /// Of what is known or what the sample stands for.
    fn known_histogram(&self) -> Histogram<u64> {
        let mut histogram = self.known.histogram();
        let share = self.share_of_others();
        if share > 0.0 {
            for step in self.others.histogram().iter_recorded() {
                let times = (step.count_since_last_iteration() as f64 * share).round();
                record(&mut histogram, step.value_iterated_to(), times as u64);
            }
        }
        histogram
    }

    /// Of all latencies.
    fn histogram(&self) -> Histogram<u64> {
        let mut histogram = self.known_histogram();
        record(&mut histogram, self.guessed_ns() as u64, self.alone());
        if self.guessed.stood_for > 0 {
            histogram.add(self.guessed.histogram()).expect("a histogram that grows takes every other");
        }
        histogram
    }

    /// Returns the number of latencies per bucket, ten buckets per decade from 100 ns on; empty when there are no
    /// latencies.
    pub(super) fn buckets(&self) -> Vec<LatencyBucket> {
        let histogram = self.histogram();
        let border = |number: u32| (100.0 * 10_f64.powf(f64::from(number) / 10.0)).round() as u64;
        let mut counts: BTreeMap<u32, u64> = BTreeMap::new();
        let mut number = 0;
        for step in histogram.iter_recorded() {
            while border(number) < u64::MAX && step.value_iterated_to() >= border(number) {
                number += 1;
            }
            *counts.entry(number).or_default() += step.count_since_last_iteration();
        }
        let (Some((first, _)), Some((last, _))) = (counts.first_key_value(), counts.last_key_value()) else {
            return Vec::new();
        };
        let bucket = |number: u32| LatencyBucket {
            from_ns: number.checked_sub(1).map_or(0, border),
            to_ns: border(number),
            count: counts.get(&number).copied().unwrap_or(0),
        };
        (*first..=*last).map(bucket).collect()
    }

    /// Returns the latency that a share of the latencies do not exceed; `None` when there are no latencies.
    pub(super) fn at_most(&self, share: f64) -> Option<Quantity> {
        (!self.is_empty()).then(|| Quantity::ns(value_at(&self.histogram(), share).min(self.longest_ns)))
    }

    /// Returns the mean and the longest; `None` when there are no latencies.
    pub(super) fn mean_and_longest(&self) -> Option<(Quantity, Quantity)> {
        (!self.is_empty()).then(|| (self.mean(), Quantity::ns(self.longest_ns)))
    }

    fn mean(&self) -> Quantity {
        let (known, sum_ns) = self.known();
        let alone = self.alone() as f64;
        let all = known + self.guessed.stood_for as f64 + alone;
        let mean_ns = (sum_ns + self.guessed.sum_ns as f64 + alone * self.guessed_ns()) / all;
        Quantity { value: mean_ns, ..Quantity::ns(0) }
    }

    /// Returns the facts of this distribution; `None` when there are no latencies.
    ///
    /// A quantile is that of [`value_at`], to 0.1 %; the longest latency is exact.
    pub(super) fn quantities(
        &self,
        names: &LatencyNames,
    ) -> Option<impl Iterator<Item = (FactName, Quantity)> + use<>> {
        if self.is_empty() {
            return None;
        }
        let histogram = self.histogram();
        let longest_ns = self.longest_ns;
        let at = |quantile| value_at(&histogram, quantile).min(longest_ns);
        let mut facts: Vec<_> = names.quantiles.map(|(quantile, name)| (name, Quantity::ns(at(quantile)))).into();
        facts.push((names.longest, Quantity::ns(longest_ns)));
        facts.extend(names.mean.map(|name| (name, self.mean())));
        facts.extend(names.timed.map(|name| (name, Quantity::count(self.timed))));
        if let (Some(least), Some(longest_timed_ns)) = (names.least, self.longest_timed_ns) {
            let mut histogram = self.known_histogram();
            record(&mut histogram, 0, self.alone());
            let ((known, sum_ns), share) = (self.known(), self.share_of_others());
            let known = known + self.alone() as f64;
            let error = STANDARD_ERRORS * self.sample.rank_error(share, known);
            facts.extend(least.quantiles.map(|(quantile, name)| {
                let rank = quantile - error * (quantile * (1.0 - quantile)).sqrt();
                (name, Quantity::ns(value_at(&histogram, rank.max(0.0)).min(longest_ns)))
            }));
            let mean_ns = self.sample.least_mean_ns(sum_ns / known, share, known);
            facts.push((least.mean, Quantity { value: mean_ns, ..Quantity::ns(0) }));
            let error_ns = if self.is_sample { SURE_FROM_NS } else { 0 };
            facts.push((least.longest, Quantity::ns(longest_timed_ns.saturating_sub(error_ns))));
        }
        Some(facts.into_iter())
    }
}

/// Returns a quantile. Its rank is rounded to the nearest. Some tools round it up (fio), some to the nearest (sysbench):
/// a figure that is right by either rule is not below this one.
fn value_at(histogram: &Histogram<u64>, quantile: f64) -> u64 {
    let all = histogram.len() as f64;
    let rank = (quantile * all).round().max(1.0);
    histogram.value_at_quantile((rank - 0.5) / all)
}

fn record(histogram: &mut Histogram<u64>, latency_ns: u64, times: u64) {
    histogram.record_n(latency_ns, times).expect("a histogram that grows takes every u64");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timed(stands_for: u8) -> Timing {
        Timing::Timed { stands_for }
    }

    fn figures(latencies: impl IntoIterator<Item = u64>) -> Option<Vec<f64>> {
        let mut all = Latencies::default();
        latencies.into_iter().for_each(|latency_ns| all.record(latency_ns, timed(1)));
        Some(all.quantities(&LatencyNames::READS)?.map(|(_, quantity)| quantity.value).take(5).collect())
    }

    #[test]
    fn without_latencies_there_are_no_figures() {
        assert_eq!(figures([]), None);
        assert_eq!(figures([7]), Some(vec![7.0; 5]));
        assert_eq!(figures([0]), Some(vec![0.0; 5]));
    }

    #[test]
    fn figures_are_within_a_thousandth_and_the_longest_is_exact() {
        for scale in [1, 1_000, 1_000_000, 1_000_000_007] {
            // One thousand latencies are kept individually, a hundred thousand are in the histogram.
            for count in [1_000_u64, 100_000] {
                let found = figures((1..=count).rev().map(|rank| rank * scale)).expect("there are some");
                for (quantile, found) in [0.5, 0.95, 0.99, 0.999].into_iter().zip(&found) {
                    let exact = (quantile * count as f64).ceil() * scale as f64;
                    let error = found / exact - 1.0;
                    assert!((0.0..=0.001).contains(&error), "{quantile} of {count} times {scale}: {found}");
                }
                assert_eq!(found[4], (count * scale) as f64);
            }
        }
    }

    #[test]
    fn the_rank_of_a_quantile_is_the_nearest() {
        // 0.95 of 512 is 486.4: the latency of rank 486 for sysbench, of rank 487 for fio.
        for (fast, expected) in [(486, 600.0), (485, 1200.0)] {
            let latencies = (1..=512).map(|rank| if rank <= fast { 600 } else { 1200 });
            assert_eq!(figures(latencies).expect("there are some")[1], expected, "{fast}");
        }
        assert_eq!(figures([1, 2, 3]).expect("there are some")[..4], [2.0, 3.0, 3.0, 3.0]);
    }

    #[test]
    fn a_sample_counts_for_those_that_it_stands_for() {
        for calls in [10, 10_000] {
            let mut all = Latencies::default();
            for index in 0..calls {
                // One slow call in ten is timed and represents itself; of sixteen fast ones, one represents all.
                all.record(50_000, timed(1));
                (0..9).for_each(|fast| {
                    all.record(2_000, if (index * 9 + fast) % 16 == 0 { timed(16) } else { Timing::Guessed })
                });
            }
            let found: Vec<f64> =
                all.quantities(&LatencyNames::READS).expect("some").map(|(_, quantity)| quantity.value).collect();
            assert!((2_000.0..2_003.0).contains(&found[0]), "{calls}: {found:?}");
            assert!((50_000.0..50_051.0).contains(&found[1]), "{calls}: {found:?}");
            let mean = (50_000.0 + 9.0 * 2_000.0) / 10.0;
            assert!((found[5] / mean - 1.0).abs() < 0.5, "{calls}: {found:?}");
            assert!((found[6] as u64) < 2 * calls, "most were estimated: {calls}: {found:?}");
        }
        // A slow one of the sample is none of those that it stands for.
        let mut slow = Latencies::default();
        slow.record(2_000, timed(31));
        (0..30).for_each(|_| slow.record(1_900, Timing::Guessed));
        slow.record(31_000_000, timed(31));
        let (mean, _) = slow.mean_and_longest().expect("some");
        assert_eq!(mean.value, f64::from(31 * 2_000 + 31_000_000) / 32.0);
        let mut estimates = Latencies::default();
        estimates.record(900, Timing::Guessed);
        assert!(estimates.quantities(&LatencyNames::READS).is_none(), "an estimate is no sample");
        estimates.record(2_000_000, Timing::Guessed);
        let found = estimates.quantities(&LatencyNames::READS).expect("a long one is").nth(1).expect("the p95").1;
        assert!((2_000_000.0..2_002_000.0).contains(&found.value), "{found:?}");
    }

    #[test]
    fn a_median_on_a_step_can_be_on_its_lower_side() {
        // Half of the calls are slow, and one fast call in 16 stands for the others.
        for (fast, calls) in [(4_990, 10_000), (5_010, 10_000)] {
            let mut all = Latencies::default();
            (0..calls - fast).for_each(|_| all.record(80_000, timed(1)));
            (0..fast).for_each(|number| all.record(600, if number % 16 == 0 { timed(16) } else { Timing::Guessed }));
            let found: Vec<_> = all.quantities(&LatencyNames::READS).expect("some").collect();
            let least = found.iter().find(|(name, _)| *name == FactName::ReadLatencyP50Least).expect("it is a fact");
            assert_eq!(least.1.value, 600.0, "{fast} of {calls}");
        }
        // Where all were timed it is the median.
        let mut all = Latencies::default();
        (0..5_000).for_each(|_| all.record(600, timed(1)));
        (0..5_001).for_each(|_| all.record(80_000, timed(1)));
        let found: Vec<_> = all.quantities(&LatencyNames::READS).expect("some").collect();
        let of = |name| found.iter().find(|(of, _)| *of == name).expect("it is a fact").1.value;
        assert_eq!(of(FactName::ReadLatencyP50Least), of(FactName::ReadLatencyP50));
        assert!(of(FactName::ReadLatencyP50) >= 80_000.0);
    }

    #[test]
    fn a_slow_call_of_a_small_sample_may_stand_for_fast_ones() {
        let least = |fast: u64, slow: u64| {
            let mut all = Latencies::default();
            (0..fast).for_each(|number| all.record(2_000 + number % 7 * 100, timed(31)));
            (0..slow).for_each(|_| all.record(50_000, timed(31)));
            (0..30 * (fast + slow)).for_each(|_| all.record(2_000, Timing::Guessed));
            let found: BTreeMap<_, _> = all.quantities(&LatencyNames::READS).expect("some").collect();
            (found[&FactName::ReadLatencyMean].value, found[&FactName::ReadLatencyMeanLeast].value)
        };
        // 256 calls of 3.6 us in the mean, of which nine were timed, one of them slow.
        let (mean, least_mean) = least(8, 1);
        assert!(mean > 7_000.0 && least_mean < 2_500.0, "{mean} {least_mean}");
        // What was seen was seen: each timed call is one of all.
        assert!(least_mean * 9.0 * 31.0 >= 8.0 * 2_000.0 + 50_000.0, "{least_mean}");
        let (mean, least_mean) = least(8, 0);
        assert!((0.7..1.0).contains(&(least_mean / mean)), "{mean} {least_mean}");
        // A few that agree by chance show nothing of the others.
        let (mean, least_mean) = least(0, 7);
        assert!(mean == 50_000.0 && least_mean < 2_000.0, "{mean} {least_mean}");
        let (mean, least_mean) = least(80_000, 10_000);
        assert!((0.9..1.0).contains(&(least_mean / mean)), "{mean} {least_mean}");
    }

    #[test]
    fn a_sample_stands_for_those_that_went_untimed() {
        // A call of a sample was to stand for 31. Slower ones followed, and each was timed.
        let mut all = Latencies::default();
        (0..12).for_each(|_| all.record(8_000, timed(1)));
        all.record(32_000, timed(31));
        (0..3).for_each(|_| all.record(8_000, timed(1)));
        let found: BTreeMap<_, _> = all.quantities(&LatencyNames::WRITES).expect("some").collect();
        let of = |name| found[&name].value;
        assert_eq!(of(FactName::WriteLatencyMean), (15.0 * 8_000.0 + 32_000.0) / 16.0);
        assert_eq!(of(FactName::WriteLatencyMeanLeast), of(FactName::WriteLatencyMean));
        assert!((8_000.0..8_008.0).contains(&of(FactName::WriteLatencyP50)), "{found:?}");
        // Fast calls that none stands for count as well.
        let mut slow = Latencies::default();
        (0..7).for_each(|_| slow.record(3_000_000, timed(1)));
        (0..9).for_each(|_| slow.record(2_000, Timing::Guessed));
        let found: BTreeMap<_, _> = slow.quantities(&LatencyNames::WRITES).expect("some").collect();
        assert_eq!(found[&FactName::WriteLatencyMean].value, (7.0 * 3_000_000.0 + 9.0 * 2_000.0) / 16.0);
        assert_eq!(found[&FactName::WriteLatencyMeanLeast].value, 7.0 * 3_000_000.0 / 16.0);
        assert!(found[&FactName::WriteLatencyP50].value < 2_010.0, "{found:?}");
        assert_eq!(found[&FactName::WriteLatencyP50Least].value, 0.0);
        // Ten of thirty went untimed.
        (0..10).for_each(|_| all.record(8_000, Timing::Guessed));
        let found: BTreeMap<_, _> = all.quantities(&LatencyNames::WRITES).expect("some").collect();
        assert_eq!(found[&FactName::WriteLatencyMean].value, (15.0 * 8_000.0 + 11.0 * 32_000.0) / 26.0);
    }

    #[test]
    fn what_is_guessed_is_no_part_of_the_least() {
        for times in [1, 100] {
            let mut all = Latencies::default();
            for _ in 0..times {
                for _ in 0..10 {
                    all.record(2_000, timed(16));
                    (0..15).for_each(|_| all.record(1_500, Timing::Guessed));
                }
                // A pause of the program, or eleven calls of a slow virtual machine.
                (0..30).for_each(|_| all.record(1_000_000, Timing::Guessed));
            }
            let found: BTreeMap<_, _> = all.quantities(&LatencyNames::READS).expect("some").collect();
            let of = |name| found[&name].value;
            assert_eq!(of(FactName::ReadLatencyMax), 1_000_000.0);
            assert!((1_000_000.0..1_001_000.0).contains(&of(FactName::ReadLatencyP95)), "{found:?}");
            assert_eq!(of(FactName::ReadLatencyMean), (160.0 * 2_000.0 + 30.0 * 1_000_000.0) / 190.0);
            assert_eq!(of(FactName::ReadLatencyMeanLeast), 2_000.0, "{times}");
            assert_eq!(of(FactName::ReadLatencyMaxLeast), 0.0, "its start can be off by more: {times}");
            for least in [FactName::ReadLatencyP50Least, FactName::ReadLatencyP95Least, FactName::ReadLatencyP99Least] {
                assert!((2_000.0..2_002.0).contains(&of(least)), "{times}: {least:?}");
            }
        }
        // A request has a completion of its own.
        let mut requests = Latencies::default();
        requests.record(2_000, timed(16));
        (0..15).for_each(|_| requests.record(2_000, Timing::Estimated));
        (0..84).for_each(|_| requests.record(100_000, Timing::Estimated));
        let found: BTreeMap<_, _> = requests.quantities(&LatencyNames::READS).expect("some").collect();
        let of = |name| found[&name].value;
        assert_eq!(of(FactName::ReadLatencyMeanLeast), (2_000.0 + 84.0 * 100_000.0) / 100.0);
        assert_eq!(of(FactName::ReadLatencyMaxLeast), 0.0, "its end may be that of a group");
        requests.record(500_000, timed(1));
        let found: BTreeMap<_, _> = requests.quantities(&LatencyNames::READS).expect("some").collect();
        assert_eq!(found[&FactName::ReadLatencyMaxLeast].value, 436_000.0);
        let mut guessed = Latencies::default();
        guessed.record(100_000, Timing::Guessed);
        let found: BTreeMap<_, _> = guessed.quantities(&LatencyNames::READS).expect("some").collect();
        assert_eq!(found[&FactName::ReadLatencyTimed].value, 0.0, "a guess makes a sample of the others");
        assert!(!found.contains_key(&FactName::ReadLatencyMaxLeast), "none was timed: {found:?}");
    }

    #[test]
    fn buckets_hold_every_latency_and_leave_no_gap() {
        let mut all = Latencies::default();
        assert_eq!(all.buckets(), []);
        [50, 99, 100, 125, 126, 1_000, 1_000].into_iter().for_each(|latency_ns| all.record(latency_ns, timed(1)));
        let buckets = all.buckets();
        let counts: Vec<u64> = buckets.iter().map(|bucket| bucket.count).collect();
        assert_eq!(counts, [2, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 2]);
        assert!(buckets.windows(2).all(|pair| pair[0].to_ns == pair[1].from_ns), "{buckets:?}");
        assert_eq!((buckets[0].from_ns, buckets[1].from_ns, buckets[11].to_ns), (0, 100, 1_259));
    }

    #[test]
    fn the_longest_time_that_fits_is_no_trouble() {
        assert_eq!(figures([1, 1, u64::MAX]).expect("there are some")[4], u64::MAX as f64);
    }
}
