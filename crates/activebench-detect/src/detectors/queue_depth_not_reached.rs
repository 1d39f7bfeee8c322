//! # What it finds
//! Fewer operations in flight than the queue depth that the figure is reported for.
//!
//! # Why it matters
//! Readers take "at depth 32" for what the device does with 32 operations at once. A device that received them one by
//! one was never tested that way.
//!
//! # How it decides
//! The claimed depth is the depth that the options promise for one task, times the tasks.
//!
//! | seen | outcome |
//! | --- | --- |
//! | each call ends before the next begins (a synchronous engine) | in flight: one per task. A share of the claimed depth below 0.5 warns, below 0.25 fails |
//! | libaio through the page cache, and 25 % or more of the tasks' time in `io_submit` | the requests were processed during submission: as above, one per task |
//! | the device busy for half of the window or more, with at most 1.5 operations in flight while it was busy, 8 or more claimed, and less than half of them between submission and completion | the operations were made one by one: fails |
//! | the same, with half of the claimed depth or more between submission and completion | a note: the depth was there, and the device, or what is above it, worked off one at a time (a disk with a short queue, large blocks, a lock of the file system) |
//! | fewer operations in flight at the device than half of the depth | a note: a fast device, slow submission, or a pause that the command asks for (`thinktime`, `rate`) empties the queue; the rate is still right |
//!
//! When it fails, the claims for storage are misleading.
//!
//! The last three rows are judged only when 90 % of the bytes passed the device and the operations fill the claimed
//! depth four times. Operations in flight there are `device_queue_depth_mean` times the bytes of a request over those
//! of an operation, because requests merge and split. If some requests were not seen, but the rest shows that they
//! did not go one by one, only the note could be missed. It is then not applicable. Operations between submission and
//! completion are their number times their mean latency over the window (Little's law).
//!
//! # When it is wrong
//! The depth at the device is a mean over the window, pauses included. Only the third and fourth row use the mean over
//! the time in which the device was busy.
//!
//! # What to do
//! Use an engine that is asynchronous for this kind of I/O (libaio needs O_DIRECT), or quote the figure as one of
//! depth 1.
//!
//! # References
//! fio #1388, #512, #875, PR #347. fio 3.33, libaio, depth 32: 1.07 in flight buffered, 7.1 direct (measured). A disk of
//! virtio with 254 segments a request: 0.8 to 3.0 of 16 direct operations of 1 MiB, 3.2 to 6.0 of 128 KiB (measured).

use activebench_model::advice::Improvement;
use activebench_model::fact::FactName;
use activebench_model::finding::{Effect, Finding, Threshold};
use activebench_model::phase::{Direction, Phase, Submission};
use activebench_model::sentence::as_sentence;
use activebench_model::units::Quantity;

use crate::cases::plan::read_whole;
use crate::cases::run::{Case, Firing, Halt, Weight, fact_if_any, of_each_seen_phase};
use crate::detector::{Basis, Correction, Decides, Detector, Honest, Judge};
use crate::evidence::rebuilt_figure::{operations, tasks_of};
use crate::run::Run;
use crate::thresholds::Thresholds;

const FACTS: &[FactName] = &[
    FactName::DeviceQueueDepthMean,
    FactName::DeviceRequests,
    FactName::DeviceBusy,
    FactName::DirectShare,
    FactName::SubmitTime,
    FactName::Window,
    FactName::ReadBytes,
    FactName::WriteBytes,
    FactName::DeviceReadBytes,
    FactName::DeviceWriteBytes,
    FactName::ModalRequest,
    FactName::ReadCalls,
    FactName::ReadLatencyMean,
    FactName::WriteCalls,
    FactName::WriteLatencyMean,
];

/// Least claimed depth at which a device that seems to work one by one is judged.
const DEEP: f64 = 8.0;

/// Times that a pass's operations must fill the claimed depth for the device to be judged: the queue is not full at the
/// beginning and the end.
const FULL_QUEUES: f64 = 4.0;

/// See the head of this file.
pub static DETECTOR: Detector = Detector {
    code: "AB403",
    name: "queue-depth-not-reached",
    title: "The queue depth was not reached",
    explained_by: &["AB201", "AB204", "AB205"],
    source: include_str!("queue_depth_not_reached.rs"),
    judge: Judge::Run(judge_run),
    facts: FACTS,
    basis: Basis::Facts,
    decides: Decides::RatesOfStorage,
    correction: Some(Correction {
        rank: 140,
        honest: Honest::Reached {
            condition: "with the operations made one after the other, not at the depth that the command asks for",
            otherwise: "the latency at the claimed depth was not measured",
        },
        measured_instead: |_, _| "operations made one after the other",
    }),
    improvement: Some(Improvement::ReachDepth),
    questions: &[],
};

fn judge_run(run: &Run<'_>) -> Vec<Finding> {
    of_each_seen_phase(&DETECTOR, run, judge)
}

fn judge(case: &Case<'_>, phase: &Phase) -> Result<Finding, Halt> {
    let promise = phase.promised_depth().map(|(depth, option)| (f64::from(depth), option));
    let Some((depth, option)) = promise.filter(|(depth, _)| *depth > 1.0) else {
        read_whole(phase)?;
        return Err(Halt::not_applicable("No depth above 1 is claimed."));
    };
    let case = &case.concerning_storage()?;
    let tasks = tasks_of(phase);
    let claimed = depth * tasks;
    let limits = case.thresholds();
    let one_by_one = |case: &Case<'_>, how: &str| {
        let share = tasks / claimed;
        let (weight, threshold) = match share {
            share if share < limits.ab403_depth_fail_ratio.value.value => {
                (Weight::Fail(Effect::Misleading), &limits.ab403_depth_fail_ratio)
            }
            share if share < limits.ab403_depth_warn_ratio.value.value => {
                (Weight::Warn(Effect::Misleading), &limits.ab403_depth_warn_ratio)
            }
            _ => return case.silent(""),
        };
        case.fires(firing(
            weight,
            threshold,
            share,
            format!("`{option}` asks for {claimed} operations in flight. {how}."),
        ))
    };
    if phase.submission == Submission::Synchronous {
        let case = &case.resting_on(Vec::new());
        return Ok(one_by_one(case, "Each call ended before the next one began"));
    }
    if let Some(submitting) = fact_if_any(phase, FactName::SubmitTime)? {
        let time = case.run.fact(phase, FactName::Window)? * tasks;
        let share = if time > 0.0 { submitting / time } else { 0.0 };
        let buffered = case.run.fact(phase, FactName::DirectShare)? < 0.5;
        if buffered && share >= limits.ab403_submit_share_ratio.value.value {
            return Ok(one_by_one(
                case,
                &format!(
                    "They used the page cache, and io_submit waited for each of them ({} of the time)",
                    Quantity::ratio(share)
                ),
            ));
        }
    }
    at_the_device(case, phase, claimed, option)
}

fn at_the_device(case: &Case<'_>, phase: &Phase, claimed: f64, option: &str) -> Result<Finding, Halt> {
    let run = &case.run;
    let limits = case.thresholds();
    if phase.direction == Direction::Write && run.fact(phase, FactName::DirectShare)? < 0.5 {
        return Err(Halt::not_applicable("The kernel decides when buffered writes reach the device."));
    }
    let requests = run.fact(phase, FactName::DeviceRequests)?;
    if requests == 0.0 {
        return Err(Halt::not_applicable("No request reached the device. See AB106 and AB201."));
    }
    let bytes = match phase.direction {
        Direction::Read => run.fact(phase, FactName::DeviceReadBytes)?,
        Direction::Write => run.fact(phase, FactName::DeviceWriteBytes)?,
        _ => run.fact(phase, FactName::DeviceReadBytes)? + run.fact(phase, FactName::DeviceWriteBytes)?,
    };
    // Operations that a cache or a hole answers are in flight at no device.
    if bytes < limits.ab403_device_share_ratio.value.value * run.moved(phase)? {
        return Err(Halt::not_applicable("Only a part of the operations reached the device. See AB201 and AB207."));
    }
    if operations(run, phase)? < FULL_QUEUES * claimed {
        return Err(Halt::not_applicable("There are too few operations to fill the queue."));
    }
    let block = match phase.block_bytes {
        Some(block) if block > 0 => block as f64,
        _ => run.fact(phase, FactName::ModalRequest)?,
    };
    let in_operations = |depth: f64| depth * bytes / requests / block.max(1.0);
    let window = run.fact(phase, FactName::Window)?;
    let whole = run
        .fact(phase, FactName::DeviceQueueDepthMean)
        .and_then(|depth| Ok((in_operations(depth), run.fact(phase, FactName::DeviceBusy)?)));
    let (in_flight, busy_ns) = match whole {
        Ok(whole) => whole,
        Err(why) => return Err(seen_in_part(phase, claimed, in_operations, limits, why)),
    };
    let busy = if window > 0.0 { busy_ns / window } else { 0.0 };
    let share = in_flight / claimed;
    let seen = format!(
        "`{option}` asks for {claimed} operations in flight. The disk had {:.2} on average and was busy for {} of the time.",
        in_flight,
        Quantity::ratio(busy)
    );
    // A mean over the window mixes bursts with pauses. The depth while the device is busy shows how much it got at once.
    let while_busy = if busy > 0.0 { in_flight / busy } else { 0.0 };
    let serial = while_busy <= limits.ab403_serial_count.value.value && claimed >= DEEP;
    if serial && busy >= limits.ab403_device_busy_ratio.value.value && phase.own_limits.is_empty() {
        let submitted = submitted(run, phase)?;
        if submitted / claimed >= limits.ab403_depth_warn_ratio.value.value {
            let mut firing = firing(Weight::Note, &limits.ab403_serial_count, share, seen);
            firing.observed = Some(Quantity { value: while_busy, ..Quantity::count(0) });
            firing.meaning = format!(
                "{submitted:.1} operations were between submission and completion on average. The disk, or what is above \
                 it, worked off one at a time."
            );
            firing.advice = "quote the depth that the disk had, or use smaller blocks".to_owned();
            return Ok(case.fires(firing));
        }
        let threshold = &limits.ab403_serial_count;
        let mut firing = firing(Weight::Fail(Effect::Misleading), threshold, share, seen);
        firing.observed = Some(Quantity { value: while_busy, ..Quantity::count(0) });
        return Ok(case.fires(firing));
    }
    if share >= limits.ab403_depth_warn_ratio.value.value {
        return Ok(case.silent(""));
    }
    let mut firing = firing(Weight::Note, &limits.ab403_depth_warn_ratio, share, seen);
    firing.meaning = "The rate is right, but it is not the device's rate at the claimed depth.".to_owned();
    firing.advice = "quote the depth that was reached, or add tasks until the device is always busy".to_owned();
    Ok(case.fires(firing))
}

/// Returns the operations between submission and completion on average, by Little's law.
fn submitted(run: &Run<'_>, phase: &Phase) -> Result<f64, Halt> {
    let window = run.fact(phase, FactName::Window)?;
    let mut time = 0.0;
    for (calls, latency) in
        [(FactName::ReadCalls, FactName::ReadLatencyMean), (FactName::WriteCalls, FactName::WriteLatencyMean)]
    {
        let calls = run.fact(phase, calls)?;
        if calls > 0.0 {
            time += calls * run.fact(phase, latency)?;
        }
    }
    Ok(if window > 0.0 { time / window } else { 0.0 })
}

/// Judges a pass of which some requests were not seen, so that the mean depth is a lower bound. If that bound shows that
/// the requests did not go one by one, only a note can be missed, and it is not applicable.
fn seen_in_part(
    phase: &Phase,
    claimed: f64,
    operations: impl Fn(f64) -> f64,
    limits: &Thresholds,
    why: String,
) -> Halt {
    let depth = phase.facts.get(FactName::DeviceQueueDepthMean).and_then(|depth| depth.value);
    let least = depth.map_or(0.0, |depth| operations(depth.value));
    if claimed < DEEP {
        return Halt::not_applicable(format!(
            "{} A queue as shallow as this would only cause a note.",
            as_sentence(&why)
        ));
    }
    match least > limits.ab403_serial_count.value.value {
        true => Halt::not_applicable(format!(
            "{} The other requests show that the device did not work one by one.",
            as_sentence(&why)
        )),
        false => Halt::undecided(why),
    }
}

fn firing(weight: Weight, threshold: &Threshold, share: f64, message: String) -> Firing {
    Firing {
        weight,
        observed: Some(Quantity::ratio(share)),
        threshold: threshold.clone(),
        message,
        meaning: "The figure is that of operations one after the other.".to_owned(),
        advice:
            "use an engine that is asynchronous for this I/O (libaio: with O_DIRECT), or quote the figure without the \
                 depth"
                .to_owned(),
    }
}
