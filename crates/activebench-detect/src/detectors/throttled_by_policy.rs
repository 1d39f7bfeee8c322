//! # What it finds
//! A control group that limited the tool's I/O to the device.
//!
//! # Why it matters
//! The figure then describes the quota, not the device.
//!
//! # How it decides
//! activebench reads the control groups of the process tree, and those above them, while it runs (`blkio.throttle.*`,
//! `io.max`). It considers quotas on bytes or operations per second of a device below the file, in the direction of
//! the pass. If the device reached 80 % of such a quota inside the window it fails, and rates claimed for storage are
//! misleading. A lower share is silent.
//!
//! Writes that a sync made durable count until the end of that sync. It is undecided when the time of that sync, or
//! the I/O of others, is unknown. It is also undecided when the groups could not be read, because there may be an
//! unknown quota.
//!
//! Where a tracer observed, direct reads count that storage gave to the pass's own calls (`storage_read_bytes`), against
//! quotas on bytes per second of the device that holds the file: the device moved no less. It is silent when the device
//! moved less for everybody together (`device_read_at_most_bytes`), and undecided between the two.
//!
//! # When it is wrong
//! The kernel writes back buffered writes of version 1 groups outside the quota. Groups of processes that lived less
//! than half a second can be missed.
//!
//! # What to do
//! Run the tool in a group without quotas, or quote the quota beside the figure.
//!
//! # References
//! Documentation/admin-guide/cgroup-v1/blkio-controller, cgroup-v2 `io.max`.

use activebench_model::fact::FactName;
use activebench_model::finding::{Effect, Finding};
use activebench_model::host::IoLimit;
use activebench_model::phase::{Direction, Phase};
use activebench_model::units::{Quantity, Unit};

use crate::cases::run::{Case, Firing, Halt, Weight, of_each_seen_phase};
use crate::detector::{Basis, Correction, Decides, Detector, Honest, Judge, Question};
use crate::evidence::traced::{SHOWN_BY, is_traced};
use crate::run::Run;

const FACTS: &[FactName] = &[
    FactName::DeviceReadBytes,
    FactName::DeviceWriteBytes,
    FactName::DeviceWriteBytesDurable,
    FactName::DurableSpan,
    FactName::UnsyncedBytes,
    FactName::DeviceTotalBytes,
    FactName::ForeignBytes,
    FactName::DeviceRequests,
    FactName::Window,
];

/// The same where a tracer observed.
const FACTS_OF_TRACER: &[FactName] = &[
    FactName::StorageReadBytes,
    FactName::DirectShare,
    FactName::ReadBytes,
    FactName::DeviceReadAtMost,
    FactName::Window,
];

/// See the head of this file.
pub static DETECTOR: Detector = Detector {
    code: "AB505",
    name: "throttled-by-policy",
    title: "A control group limited the I/O",
    explained_by: &[],
    source: include_str!("throttled_by_policy.rs"),
    judge: Judge::Run(judge_run),
    facts: FACTS,
    basis: Basis::Facts,
    decides: Decides::Nothing,
    correction: Some(Correction {
        rank: 220,
        honest: Honest::None("the rate of the device without the quota was not measured"),
        measured_instead: |_, _| "a control group's quota",
    }),
    improvement: None,
    questions: &[Question::WhyNotDouble, Question::DidItBreakLimits],
};

fn judge_run(run: &Run<'_>) -> Vec<Finding> {
    of_each_seen_phase(&DETECTOR, run, judge)
}

fn judge(case: &Case<'_>, phase: &Phase) -> Result<Finding, Halt> {
    let case = &case.concerning_storage()?;
    let run = &case.run;
    let case = match is_traced(run) && phase.direction == Direction::Read {
        true => &case.resting_on(FACTS_OF_TRACER.to_vec()),
        false => case,
    };
    // Known quotas are judged before an unread file makes others possible.
    let unread = run.manifest.host.io_limits_unread.as_ref();
    let others = || unread.map_or(Ok(()), |why| Err(Halt::undecided(format!("There may be quotas: {why}."))));
    if run.manifest.host.io_limits.is_empty() {
        others()?;
        return Err(Halt::not_applicable("No control group limits the tool's I/O."));
    }
    let threshold = &case.thresholds().ab505_limit_share_fail_ratio;
    let Some((share, limit)) = nearest_limit(run, phase)? else {
        others()?;
        return Err(Halt::not_applicable(
            "No quota of the tool's control groups applies to this device and direction.",
        ));
    };
    if share < threshold.value.value {
        others()?;
        return Ok(
            case.silent(format!("The quota in {} is {}. The pass stayed far below it.", limit.file, limit.per_second))
        );
    }
    Ok(case.fires(Firing {
        weight: Weight::Fail(Effect::Misleading),
        observed: Some(Quantity::ratio(share)),
        threshold: threshold.clone(),
        message: format!(
            "The quota in {} of the control group {} is {} on {}. The pass reached {} of it.",
            limit.file,
            limit.group,
            limit.per_second,
            limit.device,
            Quantity::ratio(share)
        ),
        meaning: "The figure is that of the quota, not of the device.".to_owned(),
        advice: "run the tool in a control group without quotas, or quote the quota with the figure".to_owned(),
    }))
}

/// The control group's quota of which the phase used the largest share, with that share. `None` when no quota applies to
/// its device and direction.
pub(crate) fn nearest_limit<'a>(run: &Run<'a>, phase: &Phase) -> Result<Option<(f64, &'a IoLimit)>, String> {
    let limits = &run.manifest.host.io_limits;
    if limits.is_empty() {
        return Ok(None);
    }
    let target = run.target_of(phase).ok_or("the storage below the file is not known")?;
    let concerns = |limit: &&IoLimit| {
        let of_the_pass = phase.direction == Direction::Mixed || phase.direction == limit.direction;
        of_the_pass && target.layers.iter().any(|layer| layer.device == limit.device)
    };
    let mut reached = Vec::new();
    for limit in limits.iter().filter(concerns) {
        let rate = rate(run, phase, limit)?;
        let share = if limit.per_second.value > 0.0 { rate / limit.per_second.value } else { f64::INFINITY };
        reached.push((share, limit));
    }
    Ok(reached.into_iter().max_by(|(one, _), (other, _)| one.total_cmp(other)))
}

/// Rate of the pass at the device, in the unit of the quota: bytes or operations per second.
fn rate(run: &Run<'_>, phase: &Phase, limit: &IoLimit) -> Result<f64, String> {
    if let Some(traced) = traced_rate(run, phase, limit) {
        return traced;
    }
    let (bytes, span) = match limit.direction {
        Direction::Read => (FactName::DeviceReadBytes, run.fact(phase, FactName::Window)?),
        _ => match run.fact(phase, FactName::DurableSpan) {
            // The bytes until durable include what a sync after the clock wrote; the durable span includes its time.
            Ok(span) => (FactName::DeviceWriteBytesDurable, span),
            // There is no durable span without a write call, or without a sync that covered all bytes.
            Err(why) => match phase.facts.get(FactName::DurableSpan) {
                Some(_) if run.fact(phase, FactName::UnsyncedBytes)? <= 0.0 => return Err(why),
                _ => (FactName::DeviceWriteBytes, run.fact(phase, FactName::Window)?),
            },
        },
    };
    if span <= 0.0 {
        return Err("the pass does not have a measurable duration".to_owned());
    }
    let of_files = run.fact(phase, bytes)?;
    // A kernel worker issues requests that a quota held back later, without their file.
    let total = run.fact(phase, FactName::DeviceTotalBytes)?;
    let foreign = run.fact(phase, FactName::ForeignBytes)?;
    let own = of_files.max(total - foreign);
    let amount = match limit.per_second.unit {
        Unit::OpsPerSec if of_files > 0.0 => run.fact(phase, FactName::DeviceRequests)? * own / of_files,
        Unit::OpsPerSec => run.fact(phase, FactName::DeviceRequests)?,
        _ => own,
    };
    Ok(amount * 1e9 / span)
}

/// The same by what a tracer saw: the least rate where that is near the quota, the most where that is far below it. `None`
/// for quotas of which it sees nothing.
fn traced_rate(run: &Run<'_>, phase: &Phase, limit: &IoLimit) -> Option<Result<f64, String>> {
    // Between the layers further below there may be a cache.
    let is_at_the_top = run.target_of(phase)?.layers.first()?.device == limit.device;
    let of_bytes = limit.per_second.unit == Unit::BytesPerSec && limit.direction == Direction::Read;
    if !is_traced(run) || !is_at_the_top || !of_bytes || phase.direction != Direction::Read {
        return None;
    }
    let bounds = || {
        let window = run.fact(phase, FactName::Window)?;
        if window <= 0.0 {
            return Err("the pass does not have a measurable duration".to_owned());
        }
        let share = |bytes: f64| bytes * 1e9 / window / limit.per_second.value;
        let near = run.thresholds.ab505_limit_share_fail_ratio.value.value;
        // Bytes that were read ahead may have come after the clock.
        let direct = run.fact(phase, FactName::DirectShare)? * run.fact(phase, FactName::ReadBytes)?;
        let least = run.fact(phase, FactName::StorageReadBytes)?.min(direct);
        if share(least) >= near {
            return Ok(least * 1e9 / window);
        }
        let most = run.at_most(phase, FactName::DeviceReadBytes)?;
        if share(most) < near {
            return Ok(most * 1e9 / window);
        }
        Err(format!(
            "the device reached {} to {} of the quota (hint: {SHOWN_BY})",
            Quantity::ratio(share(least)),
            Quantity::ratio(share(most))
        ))
    };
    Some(bounds())
}
