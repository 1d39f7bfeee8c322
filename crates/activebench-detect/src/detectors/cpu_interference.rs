//! # What it finds
//! CPUs that the hypervisor or other tasks took away while the clock ran.
//!
//! # Why it matters
//! The figure includes time in which the tool could have run but had no CPU. Undisturbed it would have been better,
//! by an unknown amount.
//!
//! # How it decides
//! - `steal_ratio` is the share of CPU time that the hypervisor gave to others while a CPU of this machine had
//!   something to run. Above 1 % it warns. Above 5 % of a window of at least 10 s it fails, and rates are
//!   unverifiable. In a shorter window it only warns: that is one disturbance, which makes the figure worse and never
//!   better.
//! - `preempted_ns` / (`user_cpu_ns` + `kernel_cpu_ns` + `off_cpu_ns`) is the share of time in which threads of the
//!   pass could run and had no CPU. Above 5 % it warns. It is a note when the pass has more threads than there are
//!   CPUs and its own threads kept these busy: they waited for one another.
//!
//! Where a tracer observed, only bounds are known, as shares of `task_windows_ns`: the wait is `thread_wait_at_most_ns` at
//! most, and `thread_wait_at_least_ns` without what the tracer may have caused. It is undecided when 5 % is between the
//! two, and when the tasks and the tracer together are more than the CPUs: then they may have waited for one another.
//!
//! A pass cannot lose more to steal than the share of time for which its threads were on a CPU or waited for one. If
//! that share is smaller, it counts instead: a pass that waits for its device is not disturbed. If it is unknown,
//! steal above 1 % is undecided.
//!
//! Both figures have an error bound (`steal_error_ns`, `cpu_times_error_ns`). It is undecided when a threshold is
//! inside it.
//!
//! # When it is wrong
//! Steal is measured for the whole host, so other tasks may have lost the time. It is 0 without a hypervisor, and
//! under hypervisors that do not report it.
//!
//! In the run queue, the kernel's own workers may come before the tool, including those that write its data back.
//! They are part of the storage stack, but a second CPU still helps.
//!
//! # What to do
//! Stop other programs (on this machine, on its hypervisor), or give the tool CPUs of its own (`taskset`, cpusets,
//! pinned virtual CPUs), and repeat the run.
//!
//! # References
//! proc_stat(5) on steal; Documentation/scheduler/sched-stats. hyperfine and the Phoronix Test Suite can only infer
//! interference from the variance between runs.

use activebench_model::fact::FactName;
use activebench_model::finding::{Effect, Finding};
use activebench_model::phase::Phase;
use activebench_model::units::Quantity;

use crate::cases::run::{Case, Firing, Halt, Question, Weight, of_each_phase, seen};
use crate::detector::{Basis, Decides, Detector, Judge};
use crate::detectors::cpu_bound::cpu_capacity;
use crate::evidence::interval::{Bounded, bounded};
use crate::evidence::traced::{SHOWN_BY, is_traced};
use crate::run::Run;

const FACTS: &[FactName] = &[
    FactName::Steal,
    FactName::StealShare,
    FactName::StealError,
    FactName::Preempted,
    FactName::CpuTimesError,
    FactName::UserCpu,
    FactName::KernelCpu,
    FactName::OffCpu,
    FactName::ActiveTasks,
    FactName::Window,
];

/// Facts on the time that the hypervisor took, and on how much of it the pass can have lost.
const FACTS_OF_STEAL: &[FactName] = &[
    FactName::Steal,
    FactName::StealShare,
    FactName::StealError,
    FactName::Preempted,
    FactName::CpuTimesError,
    FactName::UserCpu,
    FactName::KernelCpu,
    FactName::OffCpu,
    FactName::Window,
];

/// Facts on the time in the run queue, and on whose threads had the CPUs meanwhile.
const FACTS_OF_THE_RUN_QUEUE: &[FactName] = &[
    FactName::Preempted,
    FactName::CpuTimesError,
    FactName::UserCpu,
    FactName::KernelCpu,
    FactName::OffCpu,
    FactName::ActiveTasks,
    FactName::Window,
];

/// The same by what a tracer saw.
const FACTS_OF_TRACER: &[FactName] =
    &[FactName::ThreadWaitAtMost, FactName::ThreadWaitAtLeast, FactName::TaskWindows, FactName::ActiveTasks];

/// See the head of this file.
pub static DETECTOR: Detector = Detector {
    code: "AB602",
    name: "cpu-interference",
    title: "Other programs used the CPU",
    explained_by: &[],
    source: include_str!("cpu_interference.rs"),
    judge: Judge::Run(judge_run),
    facts: FACTS,
    basis: Basis::Facts,
    decides: Decides::Nothing,
    correction: None,
    improvement: None,
    questions: &[],
};

fn judge_run(run: &Run<'_>) -> Vec<Finding> {
    of_each_phase(&DETECTOR, run, |case, phase| {
        seen(phase)?;
        let of_the_run_queue = match is_traced(run) {
            true => (FACTS_OF_TRACER, waited_at_least as Question),
            false => (FACTS_OF_THE_RUN_QUEUE, waited as Question),
        };
        let questions = [(FACTS_OF_STEAL, stolen as Question), of_the_run_queue];
        let case = case.concerning_rates()?;
        // What both rest on.
        let case = match is_traced(run) {
            true => case.resting_on([FACTS_OF_STEAL, FACTS_OF_TRACER].concat()),
            false => case,
        };
        Ok(case.asked_both(phase, questions))
    })
}

/// Returns the share of its threads' time on a CPU or waiting for one: the most that the pass can have lost to a missing
/// CPU.
///
/// # Errors
/// When one of the threads' times is missing or partial.
fn demand(phase: &Phase) -> Result<Bounded, String> {
    let preempted = bounded(phase, FactName::Preempted, FactName::CpuTimesError)?;
    let on_cpu = phase.facts.complete(FactName::UserCpu)? + phase.facts.complete(FactName::KernelCpu)?;
    let all = on_cpu + phase.facts.complete(FactName::OffCpu)?;
    if all <= 0.0 {
        return Err("the threads of the pass do not have any recorded time".to_owned());
    }
    let wanted = Bounded { value: on_cpu + preempted.value, error: preempted.error };
    Ok(wanted.of(all))
}

fn stolen(case: &Case<'_>, phase: &Phase) -> Result<Option<Finding>, Halt> {
    let limits = case.thresholds();
    let (warn, fail) = (&limits.ab602_steal_warn_ratio, &limits.ab602_steal_fail_ratio);
    let window = case.run.fact(phase, FactName::Window)?;
    let stolen = bounded(phase, FactName::Steal, FactName::StealError)?;
    let processors = case.run.manifest.host.cpus;
    if processors == 0 {
        return Err(Halt::undecided("The number of CPUs of this host is not known."));
    }
    let share = match case.run.fact(phase, FactName::StealShare) {
        Ok(value) => Bounded { value, error: 0.0 },
        Err(why) if window <= 0.0 => return Err(why.into()),
        Err(_) => stolen.of(window * f64::from(processors)),
    };
    if share.is_within(warn.value.value) {
        return Ok(None);
    }
    if !share.is_above(warn.value.value) {
        return Err(Halt::undecided(format!(
            "The hypervisor took {} of the CPU time, ± {}. A longer pass would decide it.",
            Quantity::ratio(share.value),
            Quantity::ratio(share.error)
        )));
    }
    let demand = demand(phase)?;
    let needed = format!("The hypervisor took {} of the CPU time.", Quantity::ratio(share.value));
    if demand.is_within(warn.value.value) {
        return Ok(Some(case.silent(format!(
            "{needed} The pass needed a CPU for {} of its own time.",
            Quantity::ratio(demand.value)
        ))));
    }
    if !demand.is_above(warn.value.value) {
        return Err(Halt::undecided(format!(
            "{needed} The pass needed a CPU for {} of its own time, ± {}. A longer pass would decide it.",
            Quantity::ratio(demand.value),
            Quantity::ratio(demand.error)
        )));
    }
    // The least that the pass can have lost.
    let lost = (share.value - share.error).min(demand.value - demand.error);
    // One disturbance fills a short window; in a long one, steal is the machine's normal state.
    let lasts = window >= limits.ab602_steal_fail_window_ns.value.value;
    let (weight, threshold) = match lasts && lost > fail.value.value {
        true => (Weight::Fail(Effect::Unverifiable), fail),
        false => (Weight::Warn(Effect::Unverifiable), warn),
    };
    Ok(Some(
        case.fires(Firing {
            weight,
            observed: Some(Quantity::ratio(share.value)),
            threshold: threshold.clone(),
            message: format!(
                "The hypervisor took {} of this machine's CPU time for others ({} on {processors} CPUs).",
                Quantity::ratio(share.value),
                Quantity { value: stolen.value, ..Quantity::ns(0) },
            ),
            meaning: "On a machine of its own the figure would be higher.".to_owned(),
            advice: "give the virtual machine its own CPUs, or repeat the run when other machines on the host are idle"
                .to_owned(),
        }),
    ))
}

fn waited(case: &Case<'_>, phase: &Phase) -> Result<Option<Finding>, Halt> {
    let run = &case.run;
    let limit = &case.thresholds().ab602_run_queue_warn_ratio;
    let preempted = bounded(phase, FactName::Preempted, FactName::CpuTimesError)?;
    let on_cpu = run.fact(phase, FactName::UserCpu)? + run.fact(phase, FactName::KernelCpu)?;
    let all = on_cpu + run.fact(phase, FactName::OffCpu)?;
    if all <= 0.0 {
        return Err(Halt::undecided("The threads of the pass do not have any recorded time."));
    }
    let share = preempted.of(all);
    if share.is_within(limit.value.value) {
        return Ok(None);
    }
    if !share.is_above(limit.value.value) {
        return Err(Halt::undecided(format!(
            "The threads waited for a CPU for {} of their time, ± {}. A longer pass would decide it.",
            Quantity::ratio(share.value),
            Quantity::ratio(share.error)
        )));
    }
    let in_ns = |value| Quantity { value, ..Quantity::ns(0) };
    let tasks = run.fact(phase, FactName::ActiveTasks)?;
    // If the number is unknown, there is at least one.
    let crowded = tasks > f64::from(run.manifest.host.cpus.max(1));
    let own = crowded && on_cpu / cpu_capacity(run, phase)? >= case.thresholds().ab602_own_share_ratio.value.value;
    Ok(Some(
        case.fires(Firing {
            weight: if own { Weight::Note } else { Weight::Warn(Effect::Unverifiable) },
            observed: Some(Quantity::ratio(share.value)),
            threshold: limit.clone(),
            message: format!(
                "The threads were ready to run and waited for a CPU for {} of their time ({} of {}).",
                Quantity::ratio(share.value),
                in_ns(preempted.value),
                in_ns(all)
            ),
            meaning: match own {
                true => "There are more threads than CPUs, so the figure depends on the CPUs too.",
                false => {
                    "Other programs or kernel threads used the CPU. On an idle machine the figure would be higher."
                }
            }
            .to_owned(),
            advice: match own {
                true => "use no more tasks than CPUs, or asynchronous I/O from a few tasks",
                false => "stop other programs, or give the tool its own CPU (`taskset`), and repeat the run",
            }
            .to_owned(),
        }),
    ))
}

/// The same by what a tracer saw: it makes the threads wait too, so that only bounds are known.
fn waited_at_least(case: &Case<'_>, phase: &Phase) -> Result<Option<Finding>, Halt> {
    let run = &case.run;
    let limit = &case.thresholds().ab602_run_queue_warn_ratio;
    let all = run.fact(phase, FactName::TaskWindows)?;
    if all <= 0.0 {
        return Err(Halt::undecided("The threads of the pass do not have any recorded time."));
    }
    let (most, least) =
        (run.fact(phase, FactName::ThreadWaitAtMost)? / all, run.fact(phase, FactName::ThreadWaitAtLeast)? / all);
    if most <= limit.value.value {
        return Ok(None);
    }
    let between = format!("between {} and {}", Quantity::ratio(least.min(1.0)), Quantity::ratio(most.min(1.0)));
    if least <= limit.value.value {
        return Err(Halt::undecided(format!(
            "The threads waited for a CPU for {between} of their time. A tracer makes them wait too (hint: {SHOWN_BY})."
        )));
    }
    if run.fact(phase, FactName::ActiveTasks)? + 1.0 > f64::from(run.manifest.host.cpus.max(1)) {
        return Err(Halt::undecided(format!(
            "The threads waited for a CPU for {between} of their time. With the tracer they are more than the CPUs \
             (hint: {SHOWN_BY})."
        )));
    }
    Ok(Some(case.fires(Firing {
        weight: Weight::Warn(Effect::Unverifiable),
        observed: Some(Quantity::ratio(least.min(1.0))),
        threshold: limit.clone(),
        message: format!("The threads were ready to run and waited for a CPU for {between} of their time."),
        meaning:
            "Other programs or kernel threads used the CPU. On an idle machine the figure would be higher.".to_owned(),
        advice: "stop other programs, or give the tool its own CPU (`taskset`), and repeat the run".to_owned(),
    })))
}
