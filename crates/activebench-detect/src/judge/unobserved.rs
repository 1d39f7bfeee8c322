//! What a claimed figure would have been without the observation.
//!
//! The facts of the phase say which share of its window the observation took at least and at most, and by how much it
//! delayed a call at most. A rate would have been higher by that share. A latency would have been shorter: at least by
//! nothing, where the tool kept many requests in flight and waited for them anyway, and at most by the delay of a call
//! or by the share, whichever is more.

use activebench_model::claim::{Claim, Metric};
use activebench_model::fact::{FactName, Facts};
use activebench_model::phase::Phase;
use activebench_model::verdict::{Again, Unobserved};

/// A pass of data in fifths.
const FIFTHS: [FactName; 5] =
    [FactName::Fifth1Rate, FactName::Fifth2Rate, FactName::Fifth3Rate, FactName::Fifth4Rate, FactName::Fifth5Rate];
/// A pass over names in fifths.
const NAME_FIFTHS: [FactName; 5] = [
    FactName::NameFifth1Rate,
    FactName::NameFifth2Rate,
    FactName::NameFifth3Rate,
    FactName::NameFifth4Rate,
    FactName::NameFifth5Rate,
];

/// How far the means of two samples of five lie apart at most in 19 of 20 cases, in standard deviations of their values:
/// the 97.5 % quantile of Student's t with 4 degrees of freedom, times the root of 2/5.
const SCATTER: f64 = 2.776 * 0.632_455_5;

/// By how much more the rate of another pass may differ where a device served this one, as a share. A device drifts from
/// pass to pass more than within one, and the observed pass may be the faster one: in 20 pairs of runs on two virtual
/// CPUs, direct reads were 1 % slower without observation and fsyncs 4 % (medians), and 16 of the 22 figures beyond the
/// scatter within the observed pass were so by less than this.
const BETWEEN_PASSES: f64 = 0.05;

/// Returns the claimed figure without the observation.
///
/// # Errors
/// The reason if it is not known what the observation took, and for a figure that is neither a rate nor a latency.
pub(crate) fn unobserved(phase: &Phase, claim: &Claim) -> Result<Unobserved, String> {
    interval(&phase.facts, claim.metric, claim.value.value)
}

fn interval(facts: &Facts, metric: Metric, claimed: f64) -> Result<Unobserved, String> {
    // The traps that count calls of libraries are in no account.
    if facts.get(FactName::LibraryWriteCalls).is_some() {
        return Err("what it costs to count calls of libraries is not known".to_owned());
    }
    let least = facts.complete(FactName::ObserverShareLeast)?;
    let most = facts.complete(FactName::ObserverShareMost)?;
    let (low, high) = match metric {
        metric if metric.is_latency() => {
            let delay_ns = facts.complete(FactName::ObserverCallDelay)?;
            ((claimed - delay_ns).min(claimed * (1.0 - most)).max(0.0), claimed)
        }
        Metric::TimePerOperation => (claimed * (1.0 - most), claimed * (1.0 - least)),
        metric if metric.is_rate(false) => (claimed / (1.0 - least), claimed / (1.0 - most)),
        _ => return Err("the observation does not change it".to_owned()),
    };
    if !(low.is_finite() && high.is_finite()) {
        return Err("it is not a number".to_owned());
    }
    let again =
        scatter(facts).map(|scatter| Again { low: low * (1.0 - scatter).max(0.0), high: high * (1.0 + scatter) });
    Ok(Unobserved { value: f64::midpoint(low, high), low, high, again })
}

/// Returns by how much the rate of another pass may differ, as a share; `None` where the rates within this one are not
/// known.
fn scatter(facts: &Facts) -> Option<f64> {
    let of = |fifths: [FactName; 5]| fifths.into_iter().map(|name| facts.complete(name).ok()).collect::<Option<_>>();
    let rates: Vec<f64> = of(FIFTHS).or_else(|| of(NAME_FIFTHS))?;
    let mean = rates.iter().sum::<f64>() / rates.len() as f64;
    let squares: f64 = rates.iter().map(|rate| (rate - mean).powi(2)).sum();
    let deviation = (squares / (rates.len() - 1) as f64).sqrt();
    let is_without_device =
        [FactName::DeviceReadBytes, FactName::DeviceWriteBytes].into_iter().all(|name| facts.complete(name) == Ok(0.0));
    let between_passes = if is_without_device { 0.0 } else { BETWEEN_PASSES };
    (mean > 0.0).then(|| SCATTER * deviation / mean + between_passes)
}

#[cfg(test)]
mod tests {
    use activebench_model::fact::{Fact, Scope};
    use activebench_model::units::Quantity;

    use super::*;

    fn facts(of: &[(FactName, f64)]) -> Facts {
        let mut facts = Facts::default();
        for (name, value) in of {
            facts.insert(*name, Fact::complete(Quantity { value: *value, unit: name.unit() }, Scope::Tree, "test"));
        }
        facts
    }

    const TAKEN: [(FactName, f64); 3] =
        [(FactName::ObserverShareLeast, 0.1), (FactName::ObserverShareMost, 0.2), (FactName::ObserverCallDelay, 150.0)];

    #[track_caller]
    fn check(of: &[(FactName, f64)], metric: Metric, expected: Option<(f64, f64)>) {
        let found = interval(&facts(of), metric, 720.0).ok().map(|found| (found.low, found.high));
        match (found, expected) {
            (Some(found), Some(expected)) => {
                assert!((found.0 - expected.0).abs() < 1e-9 && (found.1 - expected.1).abs() < 1e-9, "{found:?}");
            }
            _ => assert_eq!(found, expected),
        }
    }

    #[test]
    fn a_rate_is_higher_and_a_time_shorter_without_the_observation() {
        check(&TAKEN, Metric::Throughput, Some((800.0, 900.0)));
        check(&TAKEN, Metric::TimePerOperation, Some((576.0, 648.0)));
        // The delay of one call is more than the share.
        check(&TAKEN, Metric::LatencyP99, Some((570.0, 720.0)));
        check(&TAKEN, Metric::OperationsDone, None);
        check(&TAKEN, Metric::CpuUser, None);
    }

    #[test]
    fn without_a_fact_it_is_not_known() {
        for missing in 0..2 {
            let others: Vec<_> =
                TAKEN.iter().enumerate().filter(|(number, _)| *number != missing).map(|(_, fact)| *fact).collect();
            check(&others, Metric::Throughput, None);
        }
        check(&TAKEN[..2], Metric::LatencyMean, None);
        let traps = [TAKEN[0], TAKEN[1], TAKEN[2], (FactName::LibraryWriteCalls, 7.0)];
        check(&traps, Metric::Throughput, None);
    }

    #[test]
    fn another_run_scatters_as_much_as_this_one_did() {
        let rates = [90.0, 110.0, 100.0, 95.0, 105.0];
        // The standard deviation is 7.9 %.
        for (read_bytes, scatter) in [(0.0, 0.138_8), (4096.0, 0.188_8)] {
            let device = [(FactName::DeviceReadBytes, read_bytes), (FactName::DeviceWriteBytes, 0.0)];
            let of: Vec<_> = TAKEN.into_iter().chain(FIFTHS.into_iter().zip(rates)).chain(device).collect();
            let found = interval(&facts(&of), Metric::Throughput, 720.0).expect("known");
            let again = found.again.expect("known");
            assert!((again.low - 800.0 * (1.0 - scatter)).abs() < 0.1, "{again:?}");
            assert!((again.high - 900.0 * (1.0 + scatter)).abs() < 0.1, "{again:?}");
        }
        assert_eq!(interval(&facts(&TAKEN), Metric::Throughput, 720.0).expect("known").again, None);
    }
}
