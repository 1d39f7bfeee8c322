//! # What it finds
//! A benchmark that was stopped while its clock ran: by a signal (SIGSTOP, SIGTSTP, job control) or by a debugger.
//!
//! # Why it matters
//! The tool's clock goes on while the tool is stopped. The rate is too low by this pause, and says nothing about the
//! storage.
//!
//! # How it decides
//! The scheduler says when a thread leaves the CPU because it was stopped. It warns when `stopped_ns`, the longest such
//! time of one thread of the phase, is above 1 % of `window_ns`. The figure itself stays as it is: it is the rate of the
//! stopped run.
//!
//! # When it is wrong
//! Stops below 2 ms are not counted. A tracer that stops the tool at every system call (`strace`) makes many of them.
//!
//! # What to do
//! Repeat the run without a debugger, in the foreground, and without what sent the signal.
//!
//! # References
//! signal(7), ptrace(2); `__TASK_STOPPED` and `__TASK_TRACED` in include/linux/sched.h of Linux 6.12.

use activebench_model::fact::FactName;
use activebench_model::finding::{Effect, Finding};
use activebench_model::units::Quantity;

use crate::cases::run::{Firing, Halt, Weight, fact_if_any, of_each_seen_phase};
use crate::detector::{Basis, Decides, Detector, Judge};
use crate::run::Run;

const FACTS: &[FactName] = &[FactName::Stopped, FactName::Window];

/// See the head of this file.
pub static DETECTOR: Detector = Detector {
    code: "AB608",
    name: "benchmark-stopped",
    title: "The benchmark was stopped while it ran",
    explained_by: &[],
    source: include_str!("benchmark_stopped.rs"),
    judge: Judge::Run(judge_run),
    facts: FACTS,
    basis: Basis::Facts,
    decides: Decides::Nothing,
    correction: None,
    improvement: None,
    questions: &[],
};

fn judge_run(run: &Run<'_>) -> Vec<Finding> {
    of_each_seen_phase(&DETECTOR, run, |case, phase| {
        let case = case.concerning_rates()?;
        let Some(stopped) = fact_if_any(phase, FactName::Stopped)? else {
            return Err(Halt::not_applicable("This run did not record stopped threads."));
        };
        let window = case.run.fact(phase, FactName::Window)?;
        let limit = &case.thresholds().ab608_stopped_warn_ratio;
        if stopped <= limit.value.value * window {
            return Ok(case.silent(""));
        }
        let share = stopped / window;
        let in_ns = |value| Quantity { value, ..Quantity::ns(0) };
        Ok(case.fires(Firing {
            weight: Weight::Warn(Effect::Unverifiable),
            observed: Some(Quantity::ratio(share)),
            threshold: limit.clone(),
            message: format!(
                "A signal or a debugger stopped the benchmark for {} of {} ({} of the pass).",
                in_ns(stopped),
                in_ns(window),
                Quantity::ratio(share)
            ),
            meaning: "Its clock kept running. The rate includes a pause in which the storage was idle.".to_owned(),
            advice: "repeat the run without a debugger and without signals that stop it".to_owned(),
        }))
    })
}
