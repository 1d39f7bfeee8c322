//! # What it finds
//! Figures in the tool's own output that contradict each other.
//!
//! # Why it matters
//! Two figures that contradict each other cannot both be true. Whoever copies the false one into a table spreads it.
//!
//! # How it decides
//! No probe is needed. It checks:
//!
//! - A figure that is printed in two places (table and CSV, matrix and maximum) with different values, beyond what
//!   the printed digits allow. From 1 % on it warns; from 5 % on it fails, unless it is a known defect of this
//!   version of the tool. The other detectors decide which of the two is true.
//! - A summary of several figures (fio's `READ:` line of a group) that is not that of its parts: as for the first check.
//! - Statements that cannot both be true (a header that names fewer columns than there are values): it warns.
//! - Operations per second times the bytes of an operation, against bytes per second: as for the first check.
//! - Little's law: operations per second times their mean latency is the number in flight. More than 1.5 times the
//!   claimed depth warns, because no more can have been in flight.
//! - More CPU time than the host's CPUs have: it fails, and the share is refuted.
//!
//! If the output broke off, it is undecided.
//!
//! # When it is wrong
//! The mean latency of a pass with very uneven tasks can break the bound of Little's law.
//!
//! # What to do
//! Quote the figure that the observation confirms.
//!
//! # References
//! bonnie++ 2.00a prints N x 1024 in every create column of its table where the CSV is right, and counts the CPU time
//! of seeks once per thread (measured).

use activebench_model::claim::{Claim, Metric, Restated};
use activebench_model::finding::{Effect, Finding, Threshold};
use activebench_model::phase::Phase;
use activebench_model::units::Quantity;

use crate::cases::run::{Case, Firing, Halt, Weight, of_each_phase};
use crate::detector::{Basis, Decides, Detector, Judge};
use crate::evidence::rebuilt_figure::{buffers_bytes, tasks_of};
use crate::run::Run;
use crate::thresholds::Thresholds;

/// See the head of this file.
pub static DETECTOR: Detector = Detector {
    code: "AB111",
    name: "output-inconsistent",
    title: "The tool's figures contradict each other",
    explained_by: &[],
    source: include_str!("output_inconsistent.rs"),
    judge: Judge::Run(judge_run),
    facts: &[],
    basis: Basis::Statements,
    decides: Decides::Nothing,
    correction: None,
    improvement: None,
    questions: &[],
};

fn judge_run(run: &Run<'_>) -> Vec<Finding> {
    let mut findings = of_each_phase(&DETECTOR, run, |case, phase| of_phase(case, phase));
    let case = Case::of_run(&DETECTOR, run);
    findings.extend(run.parsed.contradictions.iter().filter_map(|contradiction| {
        let (weight, observed, threshold) = contradicted(&case, contradiction.apart)?;
        let concerned: Vec<&Claim> =
            run.parsed.claims.iter().filter(|claim| contradiction.claims.contains(&claim.id)).collect();
        Some(case.concerning(concerned).fires(Firing {
            weight,
            observed,
            threshold,
            message: format!(
                "The output contradicts itself at {} line {}: {}.",
                contradiction.source.stream, contradiction.source.line, contradiction.message
            ),
            meaning: "A reader of this line takes one figure for another.".to_owned(),
            advice: "read the figures from this report, or from the tool's other formats".to_owned(),
        }))
    }));
    findings
}

/// The weight of a contradiction whose numbers differ by this share, what was observed, and the threshold; `None` where
/// they differ too little for a warning.
fn contradicted(case: &Case<'_>, apart: Option<f64>) -> Option<(Weight, Option<Quantity>, Threshold)> {
    let Some(apart) = apart else { return Some((Weight::WarnOfRun, None, nothing_left_open())) };
    let (weight, threshold) = weighed(case, apart)?;
    Some((weight, Some(Quantity::ratio(apart)), threshold))
}

/// Weighs two numbers for one figure that differ by this share; `None` where it is too little for a warning.
fn weighed(case: &Case<'_>, apart: f64) -> Option<(Weight, Threshold)> {
    let Thresholds { ab111_difference_warn_ratio: warn, ab111_difference_fail_ratio: fail, .. } = case.thresholds();
    match apart {
        apart if apart > fail.value.value => Some((Weight::FailOfRun, fail.clone())),
        apart if apart > warn.value.value => Some((Weight::WarnOfRun, warn.clone())),
        _ => None,
    }
}

fn nothing_left_open() -> Threshold {
    Threshold { value: Quantity::count(0), source: "both are the tool's own words".to_owned() }
}

fn of_phase(case: &Case<'_>, phase: &Phase) -> Result<Vec<Finding>, Halt> {
    if !case.run.has_adapter() {
        return Err(Halt::not_applicable("No adapter reads the output."));
    }
    let mut compared = 0;
    let mut fired = Vec::new();
    for claim in case.claims() {
        for restated in case.run.restated_of(claim) {
            compared += 1;
            fired.extend(restatement(case, claim, restated));
        }
        // If the number of CPUs is unknown, nothing bounds their time.
        if claim.metric.is_cpu() && case.run.manifest.host.cpus > 0 {
            compared += 1;
            fired.extend(too_much_processor(case, claim));
        }
    }
    for check in [rate_and_bytes, little] {
        if let Some(finding) = check(case, phase) {
            compared += 1;
            fired.extend(finding);
        }
    }
    if fired.is_empty() && !case.run.parsed.complete {
        return Err(Halt::undecided("The output is incomplete, so contradictions may be missing from it."));
    }
    match (fired.is_empty(), compared) {
        (true, 0) => Err(Halt::not_applicable("The output has each figure of this pass once.")),
        (true, _) => Ok(vec![case.silent("")]),
        _ => Ok(fired),
    }
}

/// Difference of two figures beyond `open`, the part that their printed digits leave open, as a share of the first.
fn apart(one: f64, other: f64, open: f64) -> f64 {
    let apart = ((one - other).abs() - open).max(0.0);
    if one == 0.0 { if apart > 0.0 { 1.0 } else { 0.0 } } else { apart / one.abs() }
}

fn restatement(case: &Case<'_>, claim: &Claim, restated: &Restated) -> Option<Finding> {
    // A truncated number can be up to a whole step, twice the resolution, from the true one.
    let open = 2.0 * (claim.resolution - restated.shared_resolution + restated.resolution);
    let share = apart(claim.value.value, restated.value.value, open);
    let (weight, threshold) = match (weighed(case, share)?, &restated.known_defect) {
        (_, Some(_)) => (Weight::WarnOfRun, case.thresholds().ab111_difference_warn_ratio.clone()),
        (weighed, None) => weighed,
    };
    let why = restated.known_defect.as_ref().map_or_else(String::new, |defect| format!(" ({defect})"));
    Some(case.fires(Firing {
        weight,
        observed: Some(Quantity::ratio(share)),
        threshold,
        message: format!(
            "The tool prints one figure twice: {} line {} shows {} {}, and {} line {} shows {} {}{why}.",
            claim.source.stream,
            claim.source.line,
            claim.printed.text,
            claim.printed.unit,
            restated.source.stream,
            restated.source.line,
            restated.printed.text,
            restated.printed.unit,
        ),
        meaning: "One of the two is false.".to_owned(),
        advice: format!("quote the figure of {} line {}, and name the line", claim.source.stream, claim.source.line),
    }))
}

fn number(claims: &[&Claim], metric: Metric) -> Option<(f64, f64)> {
    let mut of_metric = claims.iter().filter(|claim| claim.metric == metric);
    let claim = of_metric.next()?;
    // If several tasks print figures of their own, it is unknown which belong together.
    of_metric.next().is_none().then_some((claim.value.value, 2.0 * claim.resolution))
}

/// Compares operations per second times their size with bytes per second.
fn rate_and_bytes(case: &Case<'_>, phase: &Phase) -> Option<Option<Finding>> {
    let block = phase.block_bytes.filter(|block| *block > 0)? as f64;
    let (operations, of_operations) = number(case.claims(), Metric::OperationRate)?;
    let (bytes, of_bytes) = number(case.claims(), Metric::Throughput)?;
    // For operations in flight when the ramp ends, fio counts the bytes but not the operations.
    let begun_before = match phase.after_ramp {
        false => 0.0,
        true => {
            let (moved, _) = number(case.claims(), Metric::BytesMoved).filter(|(moved, _)| *moved > 0.0)?;
            buffers_bytes(phase) / moved * bytes
        }
    };
    let share = apart(bytes, operations * block, of_bytes + of_operations * block + begun_before);
    let Some((weight, threshold)) = weighed(case, share) else { return Some(None) };
    Some(Some(case.fires(Firing {
        weight,
        observed: Some(Quantity::ratio(share)),
        threshold,
        message: format!(
            "{} of {} are {}. The tool prints {}.",
            Quantity::ops_per_sec(operations),
            Quantity { value: block, ..Quantity::bytes(0) },
            Quantity::bytes_per_sec(operations * block),
            Quantity::bytes_per_sec(bytes)
        ),
        meaning: "One of the two is false, or the operations have another size.".to_owned(),
        advice: "quote the figure that the calls confirm".to_owned(),
    })))
}

/// Checks Little's law: the operations in flight are the rate times the latency.
fn little(case: &Case<'_>, phase: &Phase) -> Option<Option<Finding>> {
    let claimed = f64::from(phase.promised_depth()?.0) * tasks_of(phase);
    let (operations, _) = number(case.claims(), Metric::OperationRate)?;
    let (latency_ns, open_ns) = number(case.claims(), Metric::LatencyMean)?;
    let in_flight = operations * (latency_ns - open_ns).max(0.0) / 1e9;
    let limit = &case.thresholds().ab111_depth_factor_ratio;
    if in_flight <= claimed * limit.value.value {
        return Some(None);
    }
    Some(Some(case.fires(Firing {
        weight: Weight::WarnOfRun,
        observed: Some(Quantity::ratio(in_flight / claimed)),
        threshold: limit.clone(),
        message: format!(
            "{} at {} each need {in_flight:.1} operations in flight. The command asks for {claimed}.",
            Quantity::ops_per_sec(operations),
            Quantity { value: latency_ns, ..Quantity::ns(0) },
        ),
        meaning: "Rate, latency and depth cannot all be true.".to_owned(),
        advice: "quote the rate that the calls confirm, and the latency of the device".to_owned(),
    })))
}

/// Returns a finding when a claim states more CPU time than the host's CPUs have.
fn too_much_processor(case: &Case<'_>, claim: &Claim) -> Option<Finding> {
    let most = f64::from(case.run.manifest.host.cpus);
    let slack = case.thresholds().ab101_cpu_slack_ratio.value.value * most;
    if claim.value.value - 2.0 * claim.resolution <= most + slack {
        return None;
    }
    Some(case.concerning(vec![claim]).fires(Firing {
        weight: Weight::Fail(Effect::Refuted),
        observed: Some(claim.value),
        threshold: Threshold { value: Quantity::ratio(most), source: "the host's CPUs".to_owned() },
        message: format!(
            "The tool prints a CPU time of {}{}. The host has {most} CPUs.",
            claim.printed.text, claim.printed.unit
        ),
        meaning: "The tool counts the same CPU time several times.".to_owned(),
        advice: "do not quote this share. The pass used `user_cpu_ns` and `kernel_cpu_ns`".to_owned(),
    }))
}
