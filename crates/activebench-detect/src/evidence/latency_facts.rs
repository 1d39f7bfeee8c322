//! The facts about the latencies of one direction, by metric.

use activebench_model::claim::Metric;
use activebench_model::direction::Direction;
use activebench_model::fact::FactName;

/// The facts for one latency.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LatencyFact {
    pub(crate) observed: FactName,
    /// The least that it can be where only a sample of fast calls was timed. `None` for p99.9, which the percentile below
    /// bounds.
    pub(crate) least: Option<FactName>,
}

/// The facts about the latencies of one direction.
#[derive(Debug)]
pub(crate) struct LatencyFacts {
    /// Number of the calls.
    pub(crate) calls: FactName,
    /// Number of those that were timed.
    pub(crate) timed: FactName,
    mean: LatencyFact,
    p50: LatencyFact,
    p95: LatencyFact,
    p99: LatencyFact,
    p999: LatencyFact,
    longest: LatencyFact,
}

const fn bounded(observed: FactName, least: FactName) -> LatencyFact {
    LatencyFact { observed, least: Some(least) }
}

const READS: LatencyFacts = LatencyFacts {
    calls: FactName::ReadCalls,
    timed: FactName::ReadLatencyTimed,
    mean: bounded(FactName::ReadLatencyMean, FactName::ReadLatencyMeanLeast),
    p50: bounded(FactName::ReadLatencyP50, FactName::ReadLatencyP50Least),
    p95: bounded(FactName::ReadLatencyP95, FactName::ReadLatencyP95Least),
    p99: bounded(FactName::ReadLatencyP99, FactName::ReadLatencyP99Least),
    p999: LatencyFact { observed: FactName::ReadLatencyP999, least: None },
    longest: bounded(FactName::ReadLatencyMax, FactName::ReadLatencyMaxLeast),
};

const WRITES: LatencyFacts = LatencyFacts {
    calls: FactName::WriteCalls,
    timed: FactName::WriteLatencyTimed,
    mean: bounded(FactName::WriteLatencyMean, FactName::WriteLatencyMeanLeast),
    p50: bounded(FactName::WriteLatencyP50, FactName::WriteLatencyP50Least),
    p95: bounded(FactName::WriteLatencyP95, FactName::WriteLatencyP95Least),
    p99: bounded(FactName::WriteLatencyP99, FactName::WriteLatencyP99Least),
    p999: LatencyFact { observed: FactName::WriteLatencyP999, least: None },
    longest: bounded(FactName::WriteLatencyMax, FactName::WriteLatencyMaxLeast),
};

const DISCARDS: LatencyFacts = LatencyFacts {
    calls: FactName::DiscardCalls,
    timed: FactName::DiscardLatencyTimed,
    mean: bounded(FactName::DiscardLatencyMean, FactName::DiscardLatencyMeanLeast),
    p50: bounded(FactName::DiscardLatencyP50, FactName::DiscardLatencyP50Least),
    p95: bounded(FactName::DiscardLatencyP95, FactName::DiscardLatencyP95Least),
    p99: bounded(FactName::DiscardLatencyP99, FactName::DiscardLatencyP99Least),
    p999: LatencyFact { observed: FactName::DiscardLatencyP999, least: None },
    longest: bounded(FactName::DiscardLatencyMax, FactName::DiscardLatencyMaxLeast),
};

impl LatencyFacts {
    /// Returns those of each direction in which a pass moves data.
    pub(crate) fn of(direction: Direction) -> &'static [&'static Self] {
        match direction {
            Direction::Read => &[&READS],
            Direction::Write => &[&WRITES],
            Direction::Discard => &[&DISCARDS],
            Direction::Mixed => &[&READS, &WRITES],
            Direction::None => &[],
        }
    }

    /// Returns the facts for a latency of calls, or of the completions of requests.
    ///
    /// # Errors
    /// When the metric is none.
    pub(crate) fn fact(&self, metric: Metric) -> Result<LatencyFact, String> {
        match metric {
            Metric::LatencyMean | Metric::CompletionLatencyMean => Ok(self.mean),
            Metric::LatencyP50 | Metric::CompletionLatencyP50 => Ok(self.p50),
            Metric::LatencyP95 | Metric::CompletionLatencyP95 => Ok(self.p95),
            Metric::LatencyP99 | Metric::CompletionLatencyP99 => Ok(self.p99),
            Metric::LatencyP999 | Metric::CompletionLatencyP999 => Ok(self.p999),
            Metric::LatencyMax => Ok(self.longest),
            other => Err(format!("{} is not a latency of calls", other.as_str())),
        }
    }
}
