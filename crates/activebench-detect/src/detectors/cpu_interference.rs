//! # What it finds
//! Processors that were taken away while the clock ran: by the hypervisor, or by other tasks.
//!
//! # Why it matters
//! The figure holds time in which the tool wanted to go on and could not. Left alone it would have been
//! better, by an amount that nobody knows.
//!
//! # How it decides
//! - `steal_ratio`, time that the hypervisor gave to others while a processor of this machine had something to run:
//!   above 1 % it warns, above 5 % of a window of at least 10 s it fails and rates are unverifiable. In a shorter one it
//!   is one disturbance, which makes the figure worse and never better: it warns. The pass can have lost no more than the
//!   share of their time for which its threads were on a processor or waited for one; where that is less, it
//!   is what counts: a pass that waits for its device is not disturbed. Where that share is not known, steal above 1 % is
//!   undecided.
//! - `preempted_ns` / (`user_cpu_ns` + `kernel_cpu_ns` + `off_cpu_ns`), time in which threads of the pass could
//!   run and no processor took them: above 5 % it warns. A note where the pass has more threads than there are
//!   processors and its own threads kept these busy: they waited for one another.
//!
//! Both are known to within a bound (`steal_error_ns`, `cpu_times_error_ns`): undecided where a limit lies inside it.
//!
//! # When it is wrong
//! Steal is that of the whole host: other tasks on it may have borne it. On hosts without a hypervisor, and
//! under hypervisors that do not tell, it is 0. In the run queue the kernel's own workers may be before the tool,
//! those that write its data back among them: they are part of the storage stack, and a second processor helps all the same.
//!
//! # What to do
//! Stop what else runs (on this machine, on its hypervisor), or give the tool processors of its own (`taskset`,
//! cpusets, pinned virtual processors), and repeat the run.
//!
//! # References
//! proc_stat(5) on steal; Documentation/scheduler/sched-stats. hyperfine and the Phoronix Test Suite can only
//! infer interference from the variance between runs.

use activebench_model::fact::FactName;
use activebench_model::finding::{Effect, Finding};
use activebench_model::phase::Phase;
use activebench_model::units::Quantity;

use crate::cases::run::{Case, Firing, Halt, Question, Weight, of_each_phase, seen};
use crate::detector::{Basis, Decides, Detector, Judge};
use crate::detectors::cpu_bound::cpu_capacity;
use crate::evidence::interval::{Bounded, bounded};
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

/// What the hypervisor took, and what of it the pass can have lost.
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

/// Time in the run queue, and whose threads had the processors meanwhile.
const FACTS_OF_THE_RUN_QUEUE: &[FactName] = &[
    FactName::Preempted,
    FactName::CpuTimesError,
    FactName::UserCpu,
    FactName::KernelCpu,
    FactName::OffCpu,
    FactName::ActiveTasks,
    FactName::Window,
];

/// See the head of this file.
pub static DETECTOR: Detector = Detector {
    code: "AB602",
    name: "cpu-interference",
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
        let questions = [(FACTS_OF_STEAL, stolen as Question), (FACTS_OF_THE_RUN_QUEUE, waited)];
        Ok(case.concerning_rates()?.asked_both(phase, questions))
    })
}

/// What the pass can have lost to a processor that was not there: the share of its threads' time on a processor or
/// in wait for one.
///
/// # Errors
/// When one of the threads' times is missing or partial.
fn demand(phase: &Phase) -> Result<Bounded, String> {
    let preempted = bounded(phase, FactName::Preempted, FactName::CpuTimesError)?;
    let on_cpu = phase.facts.complete(FactName::UserCpu)? + phase.facts.complete(FactName::KernelCpu)?;
    let all = on_cpu + phase.facts.complete(FactName::OffCpu)?;
    if all <= 0.0 {
        return Err("the threads have no time".to_owned());
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
        return Err(Halt::undecided("it is not known how many processors the hypervisor could take"));
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
            "the hypervisor took {} of the processors' time, known to within {}",
            Quantity::ratio(share.value),
            Quantity::ratio(share.error)
        )));
    }
    let demand = demand(phase)?;
    let needed = format!("the hypervisor took {} of the processors' time, and the pass", Quantity::ratio(share.value));
    if demand.is_within(warn.value.value) {
        return Ok(Some(case.silent(format!("{needed} needed one for {} of its own", Quantity::ratio(demand.value)))));
    }
    if !demand.is_above(warn.value.value) {
        return Err(Halt::undecided(format!(
            "{needed} needed one for {} of its own, known to within {}",
            Quantity::ratio(demand.value),
            Quantity::ratio(demand.error)
        )));
    }
    // The least that it can have lost.
    let lost = (share.value - share.error).min(demand.value - demand.error);
    // One disturbance fills a short window; in a long one it is how the machine is.
    let lasts = window >= limits.ab602_steal_fail_window_ns.value.value;
    let (weight, threshold) = match lasts && lost > fail.value.value {
        true => (Weight::Fail(Effect::Unverifiable), fail),
        false => (Weight::Warn(Effect::Unverifiable), warn),
    };
    Ok(Some(case.fires(Firing {
        weight,
        observed: Some(Quantity::ratio(share.value)),
        threshold: threshold.clone(),
        message: format!(
            "the hypervisor gave {} of this machine's processor time to others while the clock ran ({} on {processors} \
             processors, /proc/stat)",
            Quantity::ratio(share.value),
            Quantity { value: stolen.value, ..Quantity::ns(0) },
        ),
        meaning: "left alone the machine would have given a better figure, by how much is not known".to_owned(),
        advice: "give the virtual machine processors of its own, or repeat the run when its neighbours are quiet"
            .to_owned(),
    })))
}

fn waited(case: &Case<'_>, phase: &Phase) -> Result<Option<Finding>, Halt> {
    let run = &case.run;
    let limit = &case.thresholds().ab602_run_queue_warn_ratio;
    let preempted = bounded(phase, FactName::Preempted, FactName::CpuTimesError)?;
    let on_cpu = run.fact(phase, FactName::UserCpu)? + run.fact(phase, FactName::KernelCpu)?;
    let all = on_cpu + run.fact(phase, FactName::OffCpu)?;
    if all <= 0.0 {
        return Err(Halt::undecided("the threads of the pass have no time"));
    }
    let share = preempted.of(all);
    if share.is_within(limit.value.value) {
        return Ok(None);
    }
    if !share.is_above(limit.value.value) {
        return Err(Halt::undecided(format!(
            "the threads waited for a processor for {} of their time, known to within {}",
            Quantity::ratio(share.value),
            Quantity::ratio(share.error)
        )));
    }
    let in_ns = |value| Quantity { value, ..Quantity::ns(0) };
    let tasks = run.fact(phase, FactName::ActiveTasks)?;
    // Of an unknown number there is one at least.
    let crowded = tasks > f64::from(run.manifest.host.cpus.max(1));
    let own = crowded && on_cpu / cpu_capacity(run, phase)? >= case.thresholds().ab602_own_share_ratio.value.value;
    Ok(Some(
        case.fires(Firing {
            weight: if own { Weight::Note } else { Weight::Warn(Effect::Unverifiable) },
            observed: Some(Quantity::ratio(share.value)),
            threshold: limit.clone(),
            message: format!(
                "the threads of the pass could run and waited for a processor for {} of their time ({} of {})",
                Quantity::ratio(share.value),
                in_ns(preempted.value),
                in_ns(all)
            ),
            meaning: match own {
                true => "they outnumber the processors and took turns: the figure is one of the processors too",
                false => {
                "something else had the processor (another program, or the kernel's workers): with one of its own the tool \
                 would have given a better figure"
            }
            }
            .to_owned(),
            advice: match own {
                true => "use no more tasks than processors, or asynchronous I/O from a few of them",
                false => "stop what else runs, or give the tool a processor of its own (`taskset`), and repeat the run",
            }
            .to_owned(),
        }),
    ))
}
