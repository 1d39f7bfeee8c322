//! # What it finds
//! A pass that the CPU limited, while the device was idle most of the time.
//!
//! # Why it matters
//! The figure then describes the benchmark's code and the kernel's copying. The storage could have delivered more, or
//! was not used at all.
//!
//! # How it decides
//! It fails, and rates claimed for storage are misleading, when both are true:
//!
//! - (`user_cpu_ns` + `kernel_cpu_ns`) / (`window_ns` x active threads, at most the online CPUs) is 90 % or more;
//! - `device_busy_ns` / `window_ns` is below 50 % (including `device_busy_error_ns`, where completions were not
//!   seen).
//!
//! It reports in addition to AB201 and AB302, which say why the device was idle.
//!
//! It is only a note when the storage did move those bytes in that time, and the kernel's I/O path kept the CPU busy.
//! That is, less than half of the CPU time was user mode. For writes, every byte must have been at the device and
//! durable before the clock stopped. For reads, every byte must have come from the device and none from the page
//! cache. If that is unknown, it is undecided.
//!
//! Data that moves through a mapping is copied in user mode. There it is a note when the device moved all of it while
//! the clock ran, and undecided when that is open.
//!
//! # When it is wrong
//! Busy means at least one request in flight. A device that serves many at once may be far from its maximum and still
//! count as busy.
//!
//! # What to do
//! Use larger blocks or several tasks; let the storage take part (direct or synced I/O).
//!
//! # References
//! Gregg's bonnie++ example (99 %CP); fio #608 (750 to 200 MB/s).

use activebench_model::fact::FactName;
use activebench_model::finding::{Effect, Finding};
use activebench_model::host::Tier;
use activebench_model::phase::{Direction, Phase};
use activebench_model::units::Quantity;

use crate::cases::run::{Case, Firing, Halt, Weight, of_each_seen_phase};
use crate::detector::{Basis, Correction, Decides, Detector, Honest, Judge, Question};
use crate::evidence::interval::Busy;
use crate::evidence::mapped_files::{self, Mapped};
use crate::run::Run;

const FACTS: &[FactName] = &[
    FactName::UserCpu,
    FactName::KernelCpu,
    FactName::Window,
    FactName::ActiveTasks,
    FactName::DeviceBusy,
    FactName::DeviceBusyError,
    FactName::DeviceWriteBytes,
    FactName::DurableSpan,
    FactName::WriteBytes,
    FactName::UnsyncedBytes,
    FactName::SyncsInside,
    FactName::ReadBytes,
    FactName::DirectShare,
    FactName::CacheInsertedBytes,
    FactName::DeviceReadBytes,
    FactName::Mappings,
    FactName::DeviceReadAtMost,
    FactName::DeviceWriteAtMost,
];

/// See the head of this file.
pub static DETECTOR: Detector = Detector {
    code: "AB501",
    name: "cpu-bound",
    title: "The CPU was the bottleneck",
    explained_by: &["AB106", "AB201", "AB202", "AB203", "AB204", "AB205", "AB207", "AB208", "AB301", "AB302", "AB502"],
    source: include_str!("cpu_bound.rs"),
    judge: Judge::Run(judge_run),
    facts: FACTS,
    basis: Basis::Facts,
    decides: Decides::RatesOfStorage,
    correction: Some(Correction {
        rank: 290,
        honest: Honest::None("the storage was not at its maximum, so its rate was not measured"),
        measured_instead: |_, _| "the CPU",
    }),
    improvement: None,
    questions: &[Question::WhyNotDouble],
};

fn judge_run(run: &Run<'_>) -> Vec<Finding> {
    of_each_seen_phase(&DETECTOR, run, judge)
}

/// CPU time that was available to the phase's threads, in nanoseconds: the window times the active threads, at most
/// the number of CPUs.
pub(crate) fn cpu_capacity(run: &Run<'_>, phase: &Phase) -> Result<f64, String> {
    let window = run.fact(phase, FactName::Window)?;
    if window <= 0.0 {
        return Err("the pass does not have a measurable duration".to_owned());
    }
    // Mapped data moves without calls, so no task counts as active; the task of the clock is active.
    let tasks = run.fact(phase, FactName::ActiveTasks)?.max(1.0);
    match run.manifest.host.cpus {
        0 if tasks > 1.0 => Err("the number of CPUs of this host is not known".to_owned()),
        0 => Ok(window),
        cpus => Ok(window * tasks.min(f64::from(cpus))),
    }
}

/// Returns `true` when the storage moved every byte while the clock ran.
///
/// # Errors
/// When that is unknown: the observed facts say yes, and a fact that could say no is missing.
fn moved_by_storage(run: &Run<'_>, phase: &Phase) -> Result<bool, String> {
    match phase.direction {
        Direction::Write => stored_inside_clock(run, phase),
        Direction::Read => came_from_storage(run, phase),
        _ => Ok(false),
    }
}

/// Returns `true` when every byte read came from the device, and none was in the page cache before.
fn came_from_storage(run: &Run<'_>, phase: &Phase) -> Result<bool, String> {
    let fact = |name| run.fact(phase, name);
    let nearly = 1.0 - run.thresholds.ab201_cache_share_warn_ratio.value.value;
    let read = fact(FactName::ReadBytes)?;
    let from_device = fact(FactName::DeviceReadBytes).map(|came| read > 0.0 && came >= read * nearly);
    // Readahead of unrequested data may hide what came from the cache.
    let uncached = fact(FactName::DirectShare).and_then(|direct| match direct >= 1.0 {
        true => Ok(true),
        false => fact(FactName::CacheInsertedBytes).map(|inserted| inserted >= read * (1.0 - direct) * nearly),
    });
    match (from_device, uncached) {
        (Ok(false), _) | (_, Ok(false)) => Ok(false),
        (from_device, uncached) => Ok(from_device? && uncached?),
    }
}

/// Returns `true` when every byte written was at the device and durable when the clock stopped.
fn stored_inside_clock(run: &Run<'_>, phase: &Phase) -> Result<bool, String> {
    let late = 1.0 + run.thresholds.ab302_late_sync_warn_ratio.value.value;
    let limit = run.thresholds.ab301_unsynced_warn_ratio.value.value;
    let fact = |name| run.fact(phase, name);
    let written = fact(FactName::WriteBytes)?;
    let reached = fact(FactName::DeviceWriteBytes).map(|reached| written > 0.0 && reached >= written * (1.0 - limit));
    let durable = match (fact(FactName::DurableSpan), fact(FactName::UnsyncedBytes)) {
        (Ok(span), _) => fact(FactName::Window).map(|window| span <= window * late),
        // No sync covered all bytes, so there is no durable span.
        (Err(_), Ok(unsynced)) if unsynced > written * limit => Ok(false),
        // All but the end was synced during the pass; AB301 judges that end.
        (Err(why), Ok(unsynced)) if unsynced > 0.0 => {
            fact(FactName::SyncsInside).and_then(|syncs| if syncs > 0.0 { Ok(true) } else { Err(why) })
        }
        (Err(why), _) => Err(why),
    };
    match (reached, durable) {
        (Ok(false), _) | (_, Ok(false)) => Ok(false),
        (reached, durable) => Ok(reached? && durable?),
    }
}

fn judge(case: &Case<'_>, phase: &Phase) -> Result<Finding, Halt> {
    let case = &case.concerning_storage()?;
    let (run, limits) = (&case.run, case.thresholds());
    if run.target_of(phase).is_some_and(|target| target.tier == Tier::Memory) {
        return Err(Halt::not_applicable("The file is in memory. See AB106."));
    }
    // fio spins on the CPU while it waits for its next request.
    if !phase.own_limits.is_empty() {
        return Err(Halt::not_applicable("The tool limits its own pace and may wait on the CPU. See AB506."));
    }
    let (user, kernel) = (run.fact(phase, FactName::UserCpu)?, run.fact(phase, FactName::KernelCpu)?);
    let share = (user + kernel) / cpu_capacity(run, phase)?;
    let limit = &limits.ab501_cpu_share_fail_ratio;
    if share < limit.value.value {
        return Ok(case.silent(""));
    }
    let busy = Busy::of(phase)?;
    let idled = busy.is_below(limits.ab501_device_busy_ceiling_ratio.value.value)?;
    let busy = busy.at_least;
    if !idled {
        return Ok(case.silent(format!(
            "The CPU was busy for {} of the time and the device for {}.",
            Quantity::ratio(share),
            Quantity::ratio(busy)
        )));
    }
    let window = run.fact(phase, FactName::Window)?;
    let in_ns = |value| Quantity { value, ..Quantity::ns(0) };
    let stored = match mapped_files::of(run, phase)? {
        // The copy to or from the mapping is time in user mode.
        Some(Mapped::Open) => {
            return Err(Halt::undecided(
                "The data moved through a mapping, and whether the disk moved all of it is not known.",
            ));
        }
        Some(mapped) => matches!(mapped, Mapped::AtDevice(_)),
        None => user < (user + kernel) / 2.0 && moved_by_storage(run, phase)?,
    };
    Ok(case.fires(Firing {
        weight: if stored { Weight::Note } else { Weight::Fail(Effect::Misleading) },
        observed: Some(Quantity::ratio(share)),
        threshold: limit.clone(),
        message: format!(
            "The threads used {} of the available CPU time (user {}, kernel {} in {}). The disk was busy for {}.",
            Quantity::ratio(share),
            in_ns(user),
            in_ns(kernel),
            in_ns(window),
            Quantity::ratio(busy)
        ),
        meaning: match (stored, phase.direction) {
            (true, Direction::Read) => "All of it came from the disk, which could have delivered it faster.",
            (true, _) => "The disk had all of it when the clock stopped, and could have stored it faster.",
            (false, _) => "The figure shows the speed of the CPU, not of the disk.",
        }
        .to_owned(),
        advice: match phase.direction {
            Direction::Read if stored => "use larger blocks or more tasks to reach the storage's maximum",
            Direction::Read => "use direct or uncached reads, with larger blocks or more tasks",
            _ => "use direct or synced writes, with larger blocks or more tasks",
        }
        .to_owned(),
    }))
}
