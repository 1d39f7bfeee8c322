//! # What it finds
//! A tool that limited itself, or idled, while the clock ran.
//!
//! # Why it matters
//! The figure then describes the tool's own pace; the storage could have delivered more.
//!
//! # How it decides
//! A task is idle while none of its calls on files or requests is in flight and it is not on a CPU: `task_windows_ns` -
//! `file_calls_in_flight_ns` - `user_cpu_ns` - `kernel_cpu_ns`. Idle time is at most `blocked_ns` - `iowait_ns` -
//! `preempted_ns`. A sync or an open is a call in flight, whatever file or file system it names. A task that waits for
//! requests of libaio or io_uring, or for the helper thread that makes its calls, is therefore never idle, and neither
//! is one that waits while that thread waits for a CPU.
//!
//! A task that was woken and waits for a CPU looks idle, too. Where no option limits the tool, it is therefore undecided
//! if the share is above the limit only with the time in which others wanted the CPUs: `cpu_waited_at_most_ns` and
//! `steal_ns`.
//!
//! A tracer gives bounds instead: the tasks idled for `thread_idle_at_least_ns` at least, and for `task_windows_ns` -
//! `file_calls_in_flight_ns` - `thread_cpu_at_least_ns` at most. It is undecided where the limit is between the two.
//!
//! It warns:
//!
//! - when an option of the tool limits it (fio `rate`, `rate_iops`, `thinktime`) and the tasks idled for 10 % of
//!   their time;
//! - without such an option, when the tasks idled for half of their time, for 20 ms at least, and the device was busy
//!   for less than half of the window.
//!
//! Options that wait by computing (iozone `-J`, fio `thinktime_spin`) are compared with the time outside calls, CPU
//! time included.
//!
//! # When it is wrong
//! A tool that waits for its input (a pipe, a network) idles too; then the input limited it. A figure that is meant
//! to be taken at a given rate (latencies) is right for that rate.
//!
//! # What to do
//! Remove the limit, or quote it beside the figure.
//!
//! # References
//! fio's manual on `rate` and `thinktime`; iozone's manual on `-J`, whose delay it takes out of its clock.

use activebench_model::advice::Improvement;
use activebench_model::claim::Claim;
use activebench_model::fact::FactName;
use activebench_model::finding::{Effect, Finding};
use activebench_model::host::Tier;
use activebench_model::phase::Phase;
use activebench_model::units::Quantity;

use crate::cases::plan::read_whole;
use crate::cases::run::{Case, Firing, Halt, Weight, fact_if_any, of_each_seen_phase};
use crate::detector::{Basis, Correction, Decides, Detector, Honest, Judge};
use crate::evidence::interval::Busy;
use crate::evidence::traced::{SHOWN_BY, is_traced};
use crate::run::Run;

const FACTS: &[FactName] = &[
    FactName::TaskWindows,
    FactName::InFileCalls,
    FactName::UserCpu,
    FactName::KernelCpu,
    FactName::Blocked,
    FactName::IoWait,
    FactName::Preempted,
    FactName::DeviceBusy,
    FactName::DeviceBusyError,
    FactName::Window,
    FactName::Mappings,
    FactName::CpuWaitedAtMost,
    FactName::Steal,
];

/// Facts by which a tracer bounds the idle time.
const FACTS_OF_TRACER: &[FactName] = &[
    FactName::TaskWindows,
    FactName::InFileCalls,
    FactName::ThreadCpuAtLeast,
    FactName::ThreadIdleAtLeast,
    FactName::Mappings,
];

/// See the head of this file.
pub static DETECTOR: Detector = Detector {
    code: "AB506",
    name: "rate-limited-by-tool",
    title: "The tool limited its own rate",
    explained_by: &["AB608"],
    source: include_str!("rate_limited_by_tool.rs"),
    judge: Judge::Run(judge_run),
    facts: FACTS,
    basis: Basis::Facts,
    decides: Decides::Nothing,
    correction: Some(Correction {
        rank: 250,
        honest: Honest::Reached {
            condition: "at the tool's own pace; the rate of the storage without that limit was not measured",
            otherwise: "the rate of the storage without the tool's own limit was not measured",
        },
        measured_instead: |_, _| "the tool's pace",
    }),
    improvement: Some(Improvement::LeaveOutPauses),
    questions: &[],
};

fn judge_run(run: &Run<'_>) -> Vec<Finding> {
    of_each_seen_phase(&DETECTOR, run, judge)
}

fn judge(case: &Case<'_>, phase: &Phase) -> Result<Finding, Halt> {
    let case = &case.concerning_storage()?;
    let run = &case.run;
    let rates: Vec<&Claim> = case.claims().iter().copied().filter(|claim| !claim.metric.is_latency()).collect();
    if rates.is_empty() && run.has_claims() {
        return Err(Halt::not_applicable("No rate is claimed for this pass."));
    }
    let case = &case.concerning(rates);
    if phase.names.is_some() {
        return Err(Halt::not_applicable("The pass works on file names and does not move data."));
    }
    if run.target_of(phase).is_some_and(|target| target.tier == Tier::Memory) {
        return Err(Halt::not_applicable("The file is in memory. See AB106."));
    }
    if fact_if_any(phase, FactName::Mappings)?.unwrap_or(0.0) > 0.0 {
        return Err(Halt::not_applicable("Data moved through a mapping, so calls do not show it in flight."));
    }
    match phase.own_limits.is_empty() {
        true => idled(case, phase),
        false if is_traced(run) => limited(&case.resting_on(FACTS_OF_TRACER.to_vec()), phase),
        false => limited(case, phase),
    }
}

/// Total time of the tasks, and the part of it in which none of their calls on files was in flight. Nanoseconds.
fn outside_calls(case: &Case<'_>, phase: &Phase) -> Result<(f64, f64), Halt> {
    let windows = case.run.fact(phase, FactName::TaskWindows)?;
    if windows <= 0.0 {
        return Err(Halt::undecided("The tasks do not have a measurable duration."));
    }
    Ok((windows, (windows - case.run.fact(phase, FactName::InFileCalls)?).max(0.0)))
}

/// Share of the tasks' time in which they idled. Where a simpler upper bound is already below `limit`, that bound.
fn idle_share(case: &Case<'_>, phase: &Phase, limit: f64) -> Result<f64, Halt> {
    let run = &case.run;
    let (windows, outside) = outside_calls(case, phase)?;
    if outside / windows < limit {
        return Ok(outside / windows);
    }
    if is_traced(run) {
        return idle_at_least(run, phase, (windows, outside), limit);
    }
    let on_cpu = run.fact(phase, FactName::UserCpu)? + run.fact(phase, FactName::KernelCpu)?;
    let without_cpu = (outside - on_cpu).max(0.0);
    if without_cpu / windows < limit {
        return Ok(without_cpu / windows);
    }
    let waits = run.fact(phase, FactName::IoWait)? + run.fact(phase, FactName::Preempted)?;
    let off_duty = (run.fact(phase, FactName::Blocked)? - waits).max(0.0);
    Ok(without_cpu.min(off_duty) / windows)
}

/// Checks that the tasks idled for `limit` of their time even if they waited for a CPU whenever others wanted one.
///
/// # Errors
/// When they may have waited instead, or when that is not known.
fn idled_and_did_not_wait(run: &Run<'_>, phase: &Phase, share: f64, limit: f64) -> Result<(), Halt> {
    let wanted = run.fact(phase, FactName::CpuWaitedAtMost)? + run.fact(phase, FactName::Steal)?;
    let wanted = (wanted / run.fact(phase, FactName::Window)?).min(1.0);
    if share - wanted >= limit {
        return Ok(());
    }
    Err(Halt::undecided(format!(
        "The tasks seemed idle for {} of their time. Others wanted the CPUs for up to {} of it, and a task that is woken \
         then waits for one.",
        Quantity::ratio(share),
        Quantity::ratio(wanted)
    )))
}

/// The least share of the tasks' time in which they idled, by what a tracer saw; an upper bound where that is below
/// `limit`.
///
/// # Errors
/// When the limit lies between the two.
fn idle_at_least(run: &Run<'_>, phase: &Phase, (windows, outside): (f64, f64), limit: f64) -> Result<f64, Halt> {
    let most = (outside - run.fact(phase, FactName::ThreadCpuAtLeast)?).max(0.0) / windows;
    if most < limit {
        return Ok(most);
    }
    let least = run.fact(phase, FactName::ThreadIdleAtLeast)?.min(outside) / windows;
    if least < limit {
        return Err(Halt::undecided(format!(
            "The tasks idled for {} to {} of their time. A tracer sees no more (hint: {SHOWN_BY}).",
            Quantity::ratio(least),
            Quantity::ratio(most)
        )));
    }
    Ok(least)
}

/// Judges a tool that an option limits: whether the limit had an effect.
fn limited(case: &Case<'_>, phase: &Phase) -> Result<Finding, Halt> {
    let limit = &case.thresholds().ab506_own_limit_idle_warn_ratio;
    let computes = phase.own_limits.iter().any(|own| own.computes);
    let share = match computes {
        true => {
            let (windows, outside) = outside_calls(case, phase)?;
            outside / windows
        }
        false => idle_share(case, phase, limit.value.value)?,
    };
    let options: Vec<String> = phase.own_limits.iter().map(|own| format!("`{}`", own.option)).collect();
    let options = options.join(" and ");
    if share < limit.value.value {
        return Ok(case.silent(format!("The pace was not limited by {options}.")));
    }
    let least = if !computes && is_traced(&case.run) { "at least " } else { "" };
    let how = if computes { "were not waiting for their I/O" } else { "idled" };
    Ok(case.fires(Firing {
        weight: Weight::Warn(Effect::Misleading),
        observed: Some(Quantity::ratio(share)),
        threshold: limit.clone(),
        message: format!(
            "{options} limited the tool. Its tasks {how} for {least}{} of their time.",
            Quantity::ratio(share)
        ),
        meaning: "The figure is the pace that the tool was configured to keep, not the rate of the storage.".to_owned(),
        advice: format!("drop {options}, or quote the limit with the figure"),
    }))
}

/// Judges a tool that no option limits: whether both its tasks and the device idled.
fn idled(case: &Case<'_>, phase: &Phase) -> Result<Finding, Halt> {
    let limits = case.thresholds();
    let limit = &limits.ab506_idle_warn_ratio;
    let share = idle_share(case, phase, limit.value.value)?;
    if share < limit.value.value {
        return Ok(case.silent(""));
    }
    let (idle, least) = (share * outside_calls(case, phase)?.0, &limits.ab506_least_idle_ns.value);
    if idle < least.value {
        let idle = Quantity { value: idle, ..Quantity::ns(0) };
        return Ok(case.silent(format!("The tasks idled for {idle}. A thread may take that long to start.")));
    }
    let busy = Busy::of(phase)?;
    let device_idled = busy.is_below(limits.ab506_device_busy_ceiling_ratio.value.value)?;
    let busy = busy.at_least;
    if !device_idled {
        return Ok(case.silent(format!(
            "The tasks idled for {} of their time, and the device was busy for {}.",
            Quantity::ratio(share),
            Quantity::ratio(busy)
        )));
    }
    if !is_traced(&case.run) {
        idled_and_did_not_wait(&case.run, phase, share, limit.value.value)?;
    }
    // An option that activebench did not read may limit the tool.
    read_whole(phase)?;
    Ok(case.fires(Firing {
        weight: Weight::Warn(Effect::Misleading),
        observed: Some(Quantity::ratio(share)),
        threshold: limit.clone(),
        message: format!(
            "The tasks were neither on a CPU nor waiting for I/O for {} of their time. The device was busy for {}.",
            Quantity::ratio(share),
            Quantity::ratio(busy)
        ),
        meaning: "The storage did not set the pace, so the figure is not about the storage.".to_owned(),
        advice: "find out why the tool waits: its input, a lock, or a configured pause".to_owned(),
    }))
}
