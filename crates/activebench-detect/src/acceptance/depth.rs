//! The queue depth behind a rate. Both parties agreed on the command and on a rate. The rate is what was reached,
//! whatever the depth was: a depth that was not reached, or is not known, is a warning on the limit. A latency at a depth
//! that was not reached stays without an honest figure.

use activebench_model::claim::Claim;
use activebench_model::finding::{Finding, Outcome};
use activebench_model::report::JudgedRun;
use activebench_model::units::Quantity;
use activebench_model::verdict::JudgedClaim;

use super::evidence::Stated;
use super::plain::first_sentence;
use super::{Limit, Recorded};
use crate::detectors::queue_depth_not_reached::DETECTOR;

/// What is wrong with the depth of a figure in one run.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Depth {
    /// `false` if whether it was reached is not known.
    pub(super) is_known: bool,
    /// The detector's first sentences.
    pub(super) message: String,
}

/// Returns what is wrong with the depth of a claimed rate; `None` if nothing is, and for other figures.
pub(super) fn of_claim(run: &JudgedRun, claim: &Claim) -> Option<Depth> {
    if !is_rate(claim) {
        return None;
    }
    let is_of_claim = |finding: &&Finding| DETECTOR.made(finding) && finding.claims.contains(&claim.id);
    let found = run.findings.iter().filter(is_of_claim);
    found.into_iter().find_map(|finding| {
        let message = finding.message.to_string();
        match finding.outcome {
            Outcome::Fires => Some(Depth { is_known: true, message }),
            Outcome::Undecided => Some(Depth { is_known: false, message }),
            Outcome::Silent | Outcome::NotApplicable => None,
        }
    })
}

/// Returns the observed rate of a claim that nothing keeps from being confirmed but a depth that is not known.
pub(super) fn rate_at_unknown_depth(claim: &Claim, judged: &JudgedClaim) -> Option<Quantity> {
    let is_left_open_by_depth = judged.left_open_by() == [DETECTOR.code];
    let is_usable = |observed: &Quantity| observed.value.is_finite() && observed.unit == claim.value.unit;
    judged.observed().filter(|observed| is_rate(claim) && is_left_open_by_depth && is_usable(observed))
}

fn is_rate(claim: &Claim) -> bool {
    let metric = claim.metric;
    !metric.is_latency() && !metric.is_count() && !metric.is_cpu()
}

/// Returns the warnings on a limit: a depth that was not reached, or is not known.
pub(super) fn warnings(limit: &Limit, recorded: &Recorded) -> Vec<String> {
    let all = recorded.runs.len();
    let is_meant = |stated: &&Stated| stated.phase == limit.phase.value && stated.metric == limit.metric.value;
    let depths: Vec<&Depth> = recorded
        .runs
        .iter()
        .filter_map(|run| run.figures.iter().find(is_meant))
        .filter_map(|stated| stated.depth.as_ref())
        .collect();
    let of = |is_known: bool| -> Vec<&&Depth> { depths.iter().filter(|depth| depth.is_known == is_known).collect() };
    let mut warnings = Vec::new();
    if let missed @ [first, ..] = &of(true)[..] {
        let count = missed.len();
        warnings.push(format!(
            "the queue depth was not reached in {count} of {all} runs, and the rate is that of the depth that was: {}",
            first.message.trim_end_matches('.')
        ));
    }
    if let unknown @ [first, ..] = &of(false)[..] {
        let count = unknown.len();
        warnings.push(format!(
            "whether the queue depth was reached in {count} of {all} runs is not known: {}",
            first_sentence(&first.message)
        ));
    }
    warnings
}

#[cfg(test)]
mod tests {
    use activebench_model::claim::{Metric, Printed, SourceLine, Subject};
    use activebench_model::units::Unit;

    use super::*;
    use crate::detectors::missing_fsync;

    #[test]
    fn a_rate_that_only_an_unknown_depth_leaves_open_is_the_observed_one() {
        let observed = Quantity::bytes_per_sec(2e8);
        let depth = DETECTOR.code;
        for (metric, left_open_by, expected) in [
            (Metric::Throughput, vec![depth], Some(observed)),
            (Metric::Throughput, vec![], None),
            (Metric::Throughput, vec![depth, missing_fsync::DETECTOR.code], None),
            (Metric::Throughput, vec![missing_fsync::DETECTOR.code], None),
            // Another unit, and a figure at a depth.
            (Metric::OperationRate, vec![depth], None),
            (Metric::LatencyP99, vec![depth], None),
        ] {
            let unit = if metric == Metric::OperationRate { Unit::OpsPerSec } else { Unit::BytesPerSec };
            let claim = Claim {
                id: "c".to_owned(),
                phase: "p".to_owned(),
                metric,
                value: Quantity { value: 1.0, unit },
                printed: Printed { text: String::new(), unit: String::new() },
                resolution: 0.0,
                subject: Subject::Device,
                subject_reason: String::new(),
                claimed_bytes: None,
                source: SourceLine { stream: "stdout".to_owned(), line: 1, text: String::new() },
            };
            let left_open_by: Vec<String> = left_open_by.into_iter().map(str::to_owned).collect();
            let judged = JudgedClaim::left_open(&claim.id, Some(observed), left_open_by, "why");
            assert_eq!(rate_at_unknown_depth(&claim, &judged), expected, "{metric:?}");
        }
    }
}
