//! # What it finds
//! Figures that the medium cannot reach: more random operations per second than a rotating disk can do, or a mean
//! latency below that of the device's own requests.
//!
//! # Why it matters
//! Something other than the medium answered, for example a cache.
//!
//! # How it decides
//! - Latency: it fails, and the claim is refuted, when the claimed mean latency is below 1 / 1.05 of
//!   `device_latency_mean_ns`. No operation ends before its request does. The rule applies to passes whose bytes all
//!   went past the page cache to the device, which moved nothing else for them. A file system that serves direct I/O
//!   through its cache (`direct_cached_bytes`) reads ahead of the operations.
//! - Rotating disks: it fails, and rates claimed for storage are misleading, when a device that reports itself as
//!   rotating completes more than 500 random operations per second. A cache answered.
//!
//! Where a tracer observed, random reads past the page cache count as requests if storage gave every byte of them.
//!
//! The latency rule makes two allowances. When operations of several sizes are split into more requests than there
//! are operations, large operations weigh more in the mean of the requests; then nothing follows. After a ramp, the
//! longest requests (one for each operation in flight) may have begun before the tool's clock. They are left out of
//! the mean.
//!
//! # When it is wrong
//! Virtual disks can report themselves as rotating when they are not. The second rule is therefore not applied to a
//! disk that is known to be virtual (virtio).
//!
//! # What to do
//! Look at the caches of controller and disk, and at `/sys/block/*/queue/rotational`.
//!
//! # References
//! fio #41 (a disk of 7,200 rpm, 20,000 operations per second), fio #719.

use activebench_model::claim::{Claim, Metric};
use activebench_model::fact::FactName;
use activebench_model::finding::{Effect, Finding, Outcome};
use activebench_model::host::Tier;
use activebench_model::phase::{Direction, Pattern, Phase};
use activebench_model::units::Quantity;

use crate::cases::run::{Case, Firing, Halt, Weight, of_each_seen_phase, what_lies_below};
use crate::detector::{Basis, Correction, Decides, Detector, Honest, Judge, Question};
use crate::evidence::rebuilt_figure::calls;
use crate::evidence::traced::{SHOWN_BY, is_traced};
use crate::run::Run;

const FACTS: &[FactName] = &[
    FactName::DirectShare,
    FactName::DirectCachedBytes,
    FactName::DeviceLatencyMean,
    FactName::DeviceReadBytes,
    FactName::DeviceWriteBytes,
    FactName::DeviceRequests,
    FactName::ReadBytes,
    FactName::WriteBytes,
    FactName::ReadCalls,
    FactName::WriteCalls,
    FactName::Window,
];

/// The same for the rule on rotating disks, where a tracer observed.
const FACTS_OF_TRACER: &[FactName] =
    &[FactName::StorageReadBytes, FactName::DirectShare, FactName::ReadBytes, FactName::ReadSizeMax, FactName::Window];

/// See the head of this file.
pub static DETECTOR: Detector = Detector {
    code: "AB504",
    name: "below-media-floor",
    title: "The medium is slower than the figure",
    explained_by: &["AB106", "AB201", "AB203", "AB204", "AB205", "AB206", "AB208", "AB301", "AB302", "AB407"],
    source: include_str!("below_media_floor.rs"),
    judge: Judge::Run(judge_run),
    facts: FACTS,
    basis: Basis::Facts,
    decides: Decides::Nothing,
    correction: Some(Correction {
        rank: 230,
        honest: Honest::None("the rate of the medium alone was not measured"),
        measured_instead: |_, _| "a cache of the disk or controller",
    }),
    improvement: None,
    questions: &[Question::DidItBreakLimits],
};

fn judge_run(run: &Run<'_>) -> Vec<Finding> {
    of_each_seen_phase(&DETECTOR, run, judge)
}

fn judge(case: &Case<'_>, phase: &Phase) -> Result<Finding, Halt> {
    let case = &case.concerning_storage()?;
    let bytes = match phase.direction {
        Direction::Read => FactName::DeviceReadBytes,
        Direction::Write => FactName::DeviceWriteBytes,
        Direction::Discard => return Err(Halt::not_applicable("A discard does not use the medium.")),
        Direction::Mixed | Direction::None => {
            return Err(Halt::not_applicable(
                "The pass does not have a single \
                                                                               direction.",
            ));
        }
    };
    let latency = case.claims().iter().copied().find(|claim| claim.metric == Metric::LatencyMean);
    let rotates = rotating_operations(case, phase);
    if latency.is_none() && matches!(rotates, Err(Halt::NotApplicable(_))) {
        return Err(Halt::not_applicable("Neither a latency nor random operations of a rotating disk are claimed."));
    }
    let of_latency = match latency {
        Some(claim) => faster_than_the_device(case, phase, claim, bytes),
        None => Ok(case.silent("")),
    };
    let fires = |answer: &Result<Finding, Halt>| answer.as_ref().is_ok_and(|finding| finding.outcome == Outcome::Fires);
    match rotates {
        _ if fires(&of_latency) => of_latency,
        Err(Halt::NotApplicable(_)) => of_latency,
        // What is not known of the one does not excuse the other.
        other if of_latency.is_ok() || fires(&other) => other,
        _ => of_latency,
    }
}

fn faster_than_the_device(case: &Case<'_>, phase: &Phase, claim: &Claim, bytes: FactName) -> Result<Finding, Halt> {
    let (run, limits) = (&case.run, case.thresholds());
    let moved = run.moved(phase)?;
    let direct = run.fact(phase, FactName::DirectShare)? >= limits.ab112_promised_share_ratio.value.value;
    // The page cache and holes answer without a request, and a latency of 0 was not measured.
    if claim.value.value <= 0.0 || !direct || moved == 0.0 {
        return Ok(case.silent(""));
    }
    // Where the file system serves direct I/O through its cache, one request answers many operations, ahead of them.
    let cached = run.fact(phase, FactName::DirectCachedBytes)?;
    if cached > (1.0 - limits.ab112_promised_share_ratio.value.value) * moved {
        return Ok(case.silent("The file system served direct I/O through its cache."));
    }
    // Bytes that were read ahead belong to no operation.
    let at_device = run.fact(phase, bytes)?;
    if at_device < moved || at_device > (1.0 + limits.confirmed_count_ratio.value.value) * moved {
        return Ok(case.silent(""));
    }
    let device = run.fact(phase, FactName::DeviceLatencyMean)?;
    let limit = &limits.ab504_latency_fail_ratio;
    let claimed = claim.value.value + 2.0 * claim.resolution;
    if claimed * limit.value.value >= device {
        return Ok(case.silent(""));
    }
    let longest: &[FactName] = if phase.after_ramp { &[FactName::DeviceLatencyMax] } else { &[] };
    let case = &case.resting_on([FACTS, longest].concat());
    if phase.after_ramp && claimed * limit.value.value >= without_the_ramp(run, phase, device)? {
        return Ok(case.silent("The tool does not count requests in flight at the end of the ramp."));
    }
    let sizes = sizes(phase);
    let case = &case.resting_on([&case.facts[..], &sizes].concat());
    if divided_unequally(run, phase, sizes)? {
        return Ok(case.silent("Large operations were split, so the means of requests and operations differ."));
    }
    let owned = case.claims().iter().copied().filter(|other| other.id == claim.id).collect();
    Ok(case.concerning(owned).fires(Firing {
        weight: Weight::Fail(Effect::Refuted),
        observed: Some(Quantity::ratio(device / claim.value.value)),
        threshold: limit.clone(),
        message: format!(
            "The claimed mean latency is {}. The requests at the device took {} on average.",
            claim.value,
            Quantity { value: device, ..Quantity::ns(0) }
        ),
        meaning: "An operation cannot end before its request, so the latency is not that of these operations."
            .to_owned(),
        advice: "quote the latency of the device, or check what the tool's clock excludes".to_owned(),
    }))
}

/// Returns the least possible mean latency of the requests that began after the ramp, in nanoseconds. It assumes that
/// the requests in flight at the ramp's end, one per operation in flight, were the longest ones.
fn without_the_ramp(run: &Run<'_>, phase: &Phase, mean_ns: f64) -> Result<f64, String> {
    let requests = run.fact(phase, FactName::DeviceRequests)?;
    let at_once = f64::from(phase.requested_tasks) * phase.promised_depth().map_or(1.0, |(depth, _)| f64::from(depth));
    let longest_ns = run.fact(phase, FactName::DeviceLatencyMax)?;
    Ok(match requests > at_once {
        true => (mean_ns * requests - at_once * longest_ns) / (requests - at_once),
        false => 0.0,
    })
}

/// The facts for the sizes of the smallest and of the largest operation.
fn sizes(phase: &Phase) -> [FactName; 2] {
    match phase.direction {
        Direction::Write => [FactName::WriteSizeMin, FactName::WriteSizeMax],
        _ => [FactName::ReadSizeMin, FactName::ReadSizeMax],
    }
}

/// Returns `true` when operations of several sizes were split into more requests than there were calls.
fn divided_unequally(run: &Run<'_>, phase: &Phase, [smallest, largest]: [FactName; 2]) -> Result<bool, String> {
    let divided = run.fact(phase, FactName::DeviceRequests)? > calls(run, phase)?;
    Ok(divided && run.fact(phase, smallest)? < run.fact(phase, largest)?)
}

/// The least number of requests that the device answered, by what a tracer saw: a random read past the page cache that
/// storage answered is a request of its own.
fn traced_requests(run: &Run<'_>, phase: &Phase) -> Result<f64, String> {
    let unknown = || format!("a tracer does not see the requests of the device (hint: {SHOWN_BY})");
    if phase.direction != Direction::Read {
        return Err(unknown());
    }
    let read = run.fact(phase, FactName::ReadBytes)?;
    let answered = run.fact(phase, FactName::DirectShare)? >= 1.0
        && read > 0.0
        && run.fact(phase, FactName::StorageReadBytes)? >= read;
    // Calls that failed read nothing.
    if answered { Ok(read / run.fact(phase, FactName::ReadSizeMax)?.max(1.0)) } else { Err(unknown()) }
}

fn rotating_operations(case: &Case<'_>, phase: &Phase) -> Result<Finding, Halt> {
    if !matches!(phase.pattern, Pattern::RandomIndependent | Pattern::RandomPermutation) {
        return Err(Halt::not_applicable("The pass is not random."));
    }
    let target = case.run.known_target(phase)?;
    if target.tier == Tier::Unknown || (target.tier == Tier::Block && target.layers.is_empty()) {
        return Err(what_lies_below(target));
    }
    let disk = target.layers.last().filter(|disk| disk.rotational == Some(true));
    let disk = disk.ok_or_else(|| Halt::not_applicable("No device below the file reports that it rotates."))?;
    if !matches!(disk.kind.as_str(), "scsi") {
        return Err(Halt::not_applicable("The device is virtual, so its rotational flag is not reliable."));
    }
    let (case, requests) = match is_traced(&case.run) {
        true => (&case.resting_on(FACTS_OF_TRACER.to_vec()), traced_requests(&case.run, phase)?),
        false => (case, case.run.fact(phase, FactName::DeviceRequests)?),
    };
    let window = case.run.fact(phase, FactName::Window)?;
    let rate = if window > 0.0 { requests * 1e9 / window } else { 0.0 };
    let limit = &case.thresholds().ab504_rotating_fail_per_sec;
    if rate <= limit.value.value {
        return Ok(case.silent(""));
    }
    Ok(case.fires(Firing {
        weight: Weight::Fail(Effect::Misleading),
        observed: Some(Quantity::ops_per_sec(rate)),
        threshold: limit.clone(),
        message: format!("The rotating disk {} completed {} at random.", disk.name, Quantity::ops_per_sec(rate)),
        meaning: "A cache answered, not the medium.".to_owned(),
        advice: "check the caches of controller and disk (`hdparm -W`, the controller's own tool)".to_owned(),
    }))
}
