//! # What it finds
//! A figure that does not match the bytes that the calls moved. The tool's byte count is wrong, not its clock; or the
//! tool prints no byte count, so that the two cannot be distinguished.
//!
//! # Why it matters
//! A rate is bytes over time. Bytes that no call moved were not read or written.
//!
//! # How it decides
//! The figure is rebuilt from the calls inside the window: `read_bytes` or `write_bytes` over `window_ns`. For
//! figures of several tasks it uses `sum_of_task_rates`, `min_` and `max_task_rate`. The difference, less the
//! resolution of the printed number, is a share of the rebuilt figure. Above 1 % it warns, above 5 % it fails.
//!
//! In a short window both thresholds are raised to the noise: the step of the tool's clock and 100 us. A figure below
//! the calls may in addition lack the time of two operations per task.
//!
//! This detector reports a difference only when the tool's byte count is off by more than 1 % or is not printed. With
//! matching bytes AB104 reports it; if it is a conversion factor, AB103 does.
//!
//! A failing claim above the calls is refuted. One below them becomes unverifiable: it makes nothing look better, and
//! a window that activebench placed wrongly would look the same.
//!
//! Three kinds of figure have rules of their own:
//!
//! - CPU time: a share below the observed one is a note. The kernel's accounting omits interrupts, time that the
//!   hypervisor took, and time between two of its ticks. It samples how the time divides into user and system, so
//!   either share is refuted only above the sum of both.
//! - Latency of a tool that does not count its last calls (fio's `vsync`): these may be its slowest. Its tail and its mean
//!   are refuted only where that does not explain them.
//! - Latency of fast calls, of which a sample is timed: an untimed call that looks long may be a pause of the program or
//!   of its virtual machine. The shortest time that the timed calls allow bounds the figure, and the longest of the
//!   others is not known.
//! - Completion latency (fio's `clat`): it is not refuted where the threads waited for a CPU in more than 1 % of the
//!   window, because the tool reads its clock after such waits. Nor is it where their waits are as long as what the
//!   requests above a percentile would have to take less: a single wait is the tail of a few requests.
//!
//! # When it is wrong
//! It is wrong when activebench assigned calls to the pass wrongly (a priming read counted, a part missed). For data
//! that moves without calls it is undecided. A parent's figure is compared only with the shortest time that its clock
//! can have covered.
//!
//! # What to do
//! Quote the rebuilt figure; compare the tool's byte count with the file's size.
//!
//! # References
//! IOR prints expected, `stat()` and moved bytes when they differ (`ior.c`); fio #752.

use activebench_model::claim::Metric;
use activebench_model::fact::FactName;
use activebench_model::finding::{Effect, Finding};
use activebench_model::units::Quantity;

use crate::cases::run::{Firing, Weight, of_each_phase};
use crate::detector::{Basis, Decides, Detector, Judge};
use crate::evidence::rebuilt_figure::{Agreement, of_each_claim};
use crate::run::Run;

const FACTS: &[FactName] = &[FactName::ReadBytes, FactName::WriteBytes, FactName::Window, FactName::SumOfTaskRates];

/// See the head of this file.
pub static DETECTOR: Detector = Detector {
    code: "AB101",
    name: "claim-exceeds-calls",
    title: "The calls moved another amount of data",
    explained_by: &["AB103", "AB104"],
    source: include_str!("claim_exceeds_calls.rs"),
    judge: Judge::Run(judge_run),
    facts: FACTS,
    basis: Basis::Facts,
    decides: Decides::RatesAndCounts,
    correction: None,
    improvement: None,
    questions: &[],
};

fn judge_run(run: &Run<'_>) -> Vec<Finding> {
    of_each_phase(&DETECTOR, run, |case, phase| {
        let (limits, tool) = (case.thresholds(), case.run.tool());
        of_each_claim(case, phase, |claim, agreement| {
            let Agreement::Bytes(difference) = agreement else { return None };
            let effect = if difference.overstates() { Effect::Refuted } else { Effect::Unverifiable };
            let (weight, threshold, limit) = match difference.fails() {
                // The kernel's accounting omits an unknown amount, so a low share is only a note.
                _ if claim.metric.is_cpu() && !difference.overstates() => {
                    (Weight::Note, &limits.ab101_cpu_below_ratio, difference.fail)
                }
                true => (Weight::Fail(effect), &limits.ab101_difference_fail_ratio, difference.fail),
                false => (Weight::Warn(effect), &limits.ab101_difference_warn_ratio, difference.warn),
            };
            // A shorter time is a better figure: a claim below the observation overstates.
            let is_time = claim.metric == Metric::TimePerOperation || claim.metric.is_latency();
            let side = if difference.overstates() != is_time { "above" } else { "below" };
            let apart = if is_time { 1.0 / (1.0 + difference.excess) - 1.0 } else { difference.excess }.abs();
            let is_bound = claim.metric.is_completion_latency() || claim.metric.is_latency() && difference.is_bound;
            let (at_least, than) = match (is_bound, claim.metric.is_latency()) {
                (true, _) => ("at least ", "that"),
                (false, true) => ("", "the range that this allows"),
                (false, false) if claim.metric.is_cpu() => ("", "the range that this allows"),
                (false, false) => ("", "that"),
            };
            let counted = match (claim.claimed_bytes, run.moved(phase)) {
                (Some(bytes), Ok(moved)) => format!(
                    " It counts {}, and the calls moved {}.",
                    Quantity::bytes(bytes),
                    Quantity { value: moved, ..Quantity::bytes(0) }
                ),
                _ => String::new(),
            };
            Some(Firing {
                weight,
                observed: Some(difference.observed),
                threshold: difference.threshold(threshold, limit),
                message: format!(
                    "{tool} claims {}. The calls inside the clock show {at_least}{}. The claim is {} {side} {than}.{counted}",
                    claim.value,
                    difference.observed,
                    Quantity::ratio(apart)
                ),
                meaning: match (difference.overstates(), claim.claimed_bytes) {
                    (true, _) if claim.metric.is_cpu() => {
                        "The figure counts CPU time that no thread of the pass used while the clock ran."
                    }
                    (false, _) if claim.metric.is_cpu() => {
                        "The figure leaves out CPU time that the threads of the pass used."
                    }
                    (true, _) if claim.metric.is_latency() => {
                        "The figure leaves out a part of the time that the calls took."
                    }
                    (true, _) if counts_operations(claim.metric) => {
                        "The figure counts operations that no call did, or that failed."
                    }
                    (true, Some(_)) => "The figure counts bytes that no call moved while the clock ran.",
                    (true, None) => {
                        "The figure counts bytes that no call moved, or too short a time. The tool does not print a \
                         byte count to distinguish them."
                    }
                    (false, _) if counts_operations(claim.metric) => "The figure leaves out operations that calls did.",
                    (false, _) => "The figure leaves out bytes that calls moved, or includes time outside the calls.",
                }
                .to_owned(),
                advice: match is_bound {
                    true if claim.metric.is_completion_latency() => {
                        "check what the tool's clock excludes, and quote the total latency".to_owned()
                    }
                    true => format!("quote no latency below {}", difference.observed),
                    false => format!("quote {}, the observed figure", difference.observed),
                },
            })
        })
    })
}

fn counts_operations(metric: Metric) -> bool {
    matches!(metric, Metric::OperationsDone | Metric::SyncsDone)
}
