//! # What it finds
//! Fewer active tasks than were asked for, or tasks that did not work at the same time.
//!
//! # Why it matters
//! The sum of the tasks' own rates describes the storage only while all of them run. Tasks that start late or stop
//! early each have the storage to themselves for a while.
//!
//! # How it decides
//! - `active_tasks` below the number asked for: it fails, and the phase's claims are misleading. In a mix that is
//!   reported apart, a task counts whichever direction it moved data in. Where less than 5 % are missing, it is
//!   undecided when the tasks waited for a CPU as long as the pass took: some may never have had their turn.
//! - The parent's claimed rate below 95 % of the children's claimed sum: it warns if the observation agrees. Both
//!   figures are the tool's own: all bytes over one clock, and the sum of the tasks' own rates. The parent's clock
//!   may include starting and joining the tasks. So the observed rate, from the first call of any task to the last,
//!   must also be below 95 % of the sum of the observed task rates.
//! - A rate that divides the work of all tasks by the time of the longest one (fio's groups): it warns when that time
//!   (`longest_task_window_ns`) is below 95 % of `window_ns`. The rate of all bytes over the whole window must also
//!   be below 95 % of the figure, allowing for its printed digits.
//!
//! Tasks ran at the same time if they began and ended within 10 ms of each other. The same is true within 100 ms if
//! they shared the larger part of the time. Starting tasks takes that long on a busy machine.
//!
//! It is undecided when waits explain the time for which the tasks were apart: the threads waited for a CPU
//! (`preempted_ns`), or the hypervisor took it (`steal_ns`), for as long. Then the tool or the machine may be the
//! cause. Where the tasks were apart for 100 ms at most, the waits of all tasks of the run count: the process that
//! starts the others waits too, and each of them before its first call.
//!
//! Where a tracer observed, it is undecided too when its own stops, or its own waits for a CPU, can have kept the tasks
//! apart, and where they were apart for 100 ms at most.
//!
//! # When it is wrong
//! A task that works on after the others are done makes the sum too high, by the share that the message states. The
//! reader has to judge how much that matters.
//!
//! # What to do
//! Quote the parent's figure. Let every task be timed to its own end (`iozone -x`).
//!
//! # References
//! A published iozone run states Children 1,672,475 and Parent 830,168 kB/s; elbencho prints first and last done;
//! Drishti calls 15 % stragglers.

use std::collections::BTreeSet;

use activebench_model::advice::Improvement;
use activebench_model::claim::{Claim, Metric};
use activebench_model::fact::FactName;
use activebench_model::finding::{Effect, Finding};
use activebench_model::phase::{Part, Phase};
use activebench_model::units::{Quantity, Unit};

use crate::advice::wording::advise;
use crate::cases::run::{Case, Firing, Halt, Weight, of_each_seen_phase};
use crate::detector::{Basis, Correction, Decides, Detector, Honest, Judge};
use crate::evidence::rebuilt_figure::{basis, operations, rate_window, time_at_most, waited_ns};
use crate::evidence::traced::{SHOWN_BY, is_traced};
use crate::run::Run;

const FACTS: &[FactName] = &[FactName::ActiveTasks];

/// The facts that show whether the tasks ran together.
const FACTS_OF_CLOCKS: [FactName; 5] =
    [FactName::ActiveTasks, FactName::Window, FactName::SumOfTaskRates, FactName::ReadBytes, FactName::WriteBytes];

/// See the head of this file.
pub static DETECTOR: Detector = Detector {
    code: "AB110",
    name: "workers-missing",
    title: "Fewer tasks worked at once",
    explained_by: &[],
    source: include_str!("workers_missing.rs"),
    judge: Judge::Run(judge_run),
    facts: FACTS,
    basis: Basis::Facts,
    decides: Decides::Nothing,
    correction: Some(Correction {
        rank: 120,
        honest: Honest::Together,
        measured_instead: |_, _| "fewer tasks at once than it is printed for",
    }),
    improvement: Some(Improvement::CountAllTasks),
    questions: &[],
};

fn judge_run(run: &Run<'_>) -> Vec<Finding> {
    of_each_seen_phase(&DETECTOR, run, |case, phase| {
        if phase.requested_tasks <= 1 {
            return Err(Halt::not_applicable("The command asks for one task."));
        }
        if case.run.maps_files(phase) {
            return Err(Halt::undecided("Data moves through a mapping, so the tasks that moved it are not known."));
        }
        let active = case.run.fact(phase, FactName::ActiveTasks)?;
        // In a mix, a task may have drawn only the other direction.
        let active = match case.run.other_direction(phase) {
            Some(other) => of_both(phase, active, other, case.run.fact(other, FactName::ActiveTasks)?),
            None => active,
        };
        let limit = &case.thresholds().ab110_parent_share_warn_ratio;
        let requested = f64::from(phase.requested_tasks);
        let kept_away = (active < requested && active >= limit.value.value * requested).then(|| {
            let case = case.resting_on([FACTS, &[FactName::Window]].concat());
            kept_apart_by_the_tool(&case, phase, case.run.fact(phase, FactName::Window)?)
        });
        let kept_away = kept_away.transpose()?;
        let case = kept_away.as_ref().unwrap_or(case);
        if active < requested {
            let counted = |claim: &&Claim| !matches!(claim.metric, Metric::BytesMoved | Metric::MinTaskBytes);
            let rates = case.concerning(case.claims().iter().copied().filter(counted).collect());
            return Ok(rates.fires(Firing {
                weight: Weight::Fail(Effect::Misleading),
                observed: Some(Quantity { value: active, ..Quantity::count(0) }),
                threshold: activebench_model::finding::Threshold {
                    value: Quantity::count(u64::from(phase.requested_tasks)),
                    source: "the tasks that the command asks for".to_owned(),
                },
                message: format!(
                    "The command asks for {} tasks. {active} moved data while the clock ran.",
                    phase.requested_tasks
                ),
                meaning: "The figure is that of fewer tasks than it is printed for.".to_owned(),
                advice: advise(run, None, Improvement::CountAllTasks),
            }));
        }
        if rate_window(phase) == FactName::LongestTask {
            return apart(case, phase);
        }
        let find = |metrics: [Metric; 2]| case.claims().iter().copied().find(|claim| metrics.contains(&claim.metric));
        let children = find([Metric::SumOfTaskThroughput, Metric::SumOfTaskOperationRate]);
        let parent = find([Metric::ParentThroughput, Metric::ParentOperationRate]);
        let (Some(children), Some(parent)) = (children, parent) else {
            return Ok(case.silent("All tasks moved data. The tool does not print both a sum and a parent's figure."));
        };
        if children.value.unit != parent.value.unit || children.value.value <= 0.0 {
            return Err(Halt::undecided("The figures of parent and children are in different units."));
        }
        let share = parent.value.value / children.value.value;
        if share >= limit.value.value {
            return Ok(case.silent(""));
        }
        let case = &case.resting_on(FACTS_OF_CLOCKS.to_vec());
        let (window, rates) =
            (case.run.fact(phase, FactName::Window)?, case.run.fact(phase, FactName::SumOfTaskRates)?);
        let own_ns = case.run.moved(phase)? * 1e9 / rates;
        if own_ns >= limit.value.value * window || began_together(own_ns, window) {
            return Ok(case.silent("The tasks ran together. The parent's clock covers more than their work."));
        }
        let case = &kept_apart_by_the_tool(case, phase, window - own_ns)?;
        Ok(case.concerning(vec![children]).fires(Firing {
            weight: Weight::Warn(Effect::Misleading),
            observed: Some(Quantity::ratio(share)),
            threshold: limit.clone(),
            message: format!(
                "The children's sum is {}. The parent measured {}, which is {} of it.",
                children.value,
                parent.value,
                Quantity::ratio(share)
            ),
            meaning: "The tasks did not all run at the same time, so the sum is above the rate of the storage."
                .to_owned(),
            advice: advise(run, None, Improvement::CountAllTasks),
        }))
    })
}

/// Largest number of tasks that can have moved data in either direction: the distinct tasks of both.
fn of_both(one: &Phase, active: f64, other: &Phase, active_in_other: f64) -> f64 {
    // A part without thread ids counts as its process.
    let tasks_of = |part: &Part| match part.tids.is_empty() {
        true => vec![part.tgid],
        false => part.tids.clone(),
    };
    let tasks: BTreeSet<u32> = [one, other].into_iter().flat_map(|phase| &phase.parts).flat_map(tasks_of).collect();
    let distinct = (tasks.len() as f64).max(active).max(active_in_other);
    distinct.min(active + active_in_other)
}

/// Longest time to start several tasks, even when others use most of the CPUs.
const START_UP_NS: f64 = 100e6;

/// Time that starting the jobs of a group may take even when they work for less: three processes of fio 3.33 took 7 ms
/// (measured).
const FORKS_NS: f64 = 10e6;

/// Returns `true` when only start-up separates tasks that worked for `own_ns` and were all done after `window_ns`.
fn began_together(own_ns: f64, window_ns: f64) -> bool {
    let apart_ns = window_ns - own_ns;
    apart_ns <= FORKS_NS || apart_ns <= START_UP_NS && own_ns >= 0.5 * window_ns
}

/// Returns the case with the facts on waits added, when waits do not explain the time for which the tasks were apart.
///
/// # Errors
/// When waits explain that time, or are only partly known.
fn kept_apart_by_the_tool<'a>(case: &Case<'a>, phase: &Phase, apart_ns: f64) -> Result<Case<'a>, Halt> {
    let starts = apart_ns <= START_UP_NS;
    let waited = match starts {
        _ if is_traced(&case.run) => held_at_most(case, phase, starts)?,
        true => waited_ns(phase)?.max(case.run.facts.complete(FactName::Preempted)?),
        false => waited_ns(phase)?,
    };
    if waited >= apart_ns {
        let in_ns = |value| Quantity { value, ..Quantity::ns(0) };
        return Err(Halt::undecided(format!(
            "The tasks were apart for {}, and waited for a CPU for up to {}. An idle machine would decide it{}.",
            in_ns(apart_ns),
            in_ns(waited),
            if is_traced(&case.run) { format!(" (hint: {SHOWN_BY})") } else { String::new() }
        )));
    }
    let waits: &[FactName] = match is_traced(&case.run) {
        true => &[FactName::ThreadWaitAtMost, FactName::Steal, FactName::StealError],
        false => &[FactName::Preempted, FactName::CpuTimesError, FactName::Steal, FactName::StealError],
    };
    Ok(case.resting_on([case.facts.as_slice(), waits].concat()))
}

/// Most time for which the tasks waited for a CPU, or for the tracer, which handles one stop at a time. Nanoseconds.
fn held_at_most(case: &Case<'_>, phase: &Phase, starts: bool) -> Result<f64, Halt> {
    if starts {
        // How long the process waited that starts the others is not among the facts.
        return Err(Halt::undecided(format!(
            "The tasks were apart for a short time. The stops of a tracer may be the cause (hint: {SHOWN_BY})."
        )));
    }
    let coverage = &case.run.manifest.coverage;
    let by_tracer_ns = coverage.traced.as_ref().and_then(|traced| {
        let (stopped_ns, waited_ns) = (traced.stopped_ns?, traced.waited_ns?);
        Some(stopped_ns.saturating_add(waited_ns).saturating_add(coverage.overhead.observer_cpu_ns?))
    });
    let by_tracer_ns = by_tracer_ns.ok_or_else(|| {
        Halt::undecided(format!("It is not known for how long the tasks waited for the tracer (hint: {SHOWN_BY})."))
    })?;
    let waited = case.run.fact(phase, FactName::ThreadWaitAtMost)? + time_at_most(phase, FactName::Steal)?;
    Ok(waited + by_tracer_ns as f64)
}

/// Judges whether a rate over the longest task's time is one that all tasks reached together.
fn apart(case: &Case<'_>, phase: &Phase) -> Result<Finding, Halt> {
    let case = case.resting_on([FACTS, &[FactName::LongestTask, FactName::Window]].concat());
    let limit = &case.thresholds().ab110_parent_share_warn_ratio;
    let (longest, window) = (case.run.fact(phase, FactName::LongestTask)?, case.run.fact(phase, FactName::Window)?);
    if longest >= limit.value.value * window || began_together(longest, window) {
        return Ok(case.silent("All tasks moved data at the same time."));
    }
    let rates = case.claims().iter().copied();
    let rates: Vec<&Claim> =
        rates.filter(|claim| matches!(claim.metric, Metric::Throughput | Metric::OperationRate)).collect();
    let case = case.resting_on(with_window(rates.iter().flat_map(|claim| basis(phase, claim)).collect()));
    let mut beyond = Vec::new();
    for claim in rates {
        let amount = match claim.value.unit {
            Unit::OpsPerSec => operations(&case.run, phase)?,
            _ => case.run.moved(phase)?,
        };
        let together = Quantity { value: amount * 1e9 / window, ..claim.value };
        // A truncated number can be up to a whole step, twice the resolution, from the true one.
        if together.value < limit.value.value * (claim.value.value - 2.0 * claim.resolution) {
            beyond.push((claim, together));
        }
    }
    let Some((claim, together)) = beyond.first().copied() else {
        return Ok(case.silent("The figure is that of all tasks together, as far as its digits go."));
    };
    let case = kept_apart_by_the_tool(&case, phase, window - longest)?;
    let in_ns = |value| Quantity { value, ..Quantity::ns(0) };
    let of_all = case.concerning(beyond.iter().map(|(claim, _)| *claim).collect());
    Ok(of_all.fires(Firing {
        weight: Weight::Warn(Effect::Misleading),
        observed: Some(Quantity::ratio(longest / window)),
        threshold: limit.clone(),
        message: format!(
            "{} divides the work of all tasks by the {} of the longest one. From first start to last end they took \
             {}: the rate is {together}.",
            claim.value,
            in_ns(longest),
            in_ns(window)
        ),
        meaning: "The tasks did not all run at the same time, so the figure is above the rate of the storage."
            .to_owned(),
        advice: advise(&case.run, None, Improvement::CountAllTasks),
    }))
}

/// Returns these facts, and those that every answer of this detector uses, sorted.
fn with_window(mut facts: Vec<FactName>) -> Vec<FactName> {
    facts.extend([FactName::ActiveTasks, FactName::Window]);
    facts.sort_unstable();
    facts.dedup();
    facts
}
