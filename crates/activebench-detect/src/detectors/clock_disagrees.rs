//! # What it finds
//! A tool whose clock ran shorter or longer than the calls that it timed, although its byte count is right.
//!
//! # Why it matters
//! A clock that stops early or starts late makes the same bytes look faster.
//!
//! # How it decides
//! When the byte counts match, the claim differs from the rebuilt figure only by the time. It compares the tool's
//! elapsed time with the window (`window_ns`, from the first timed call to the last). Some tools divide the work of
//! all tasks by the time of the longest task (fio's groups); that time (`longest_task_window_ns`) is then the window.
//! AB110 judges whether the tasks ran at the same time.
//!
//! The difference, less the resolution of the printed number, warns above 1 % and fails above 5 %. In a short window
//! both thresholds are raised to the noise: the step of the tool's clock and 100 us (measured). The one for failing
//! is raised to twice the noise.
//!
//! A clock that ran longer than the calls has further allowances:
//!
//! - The time in which threads waited for a CPU or the hypervisor took one, at most 100 ms at either end. No call
//!   shows a wait between the tool's clock and the nearest call. Waits of the whole run count, because those at the
//!   ends are outside the window.
//! - 5 ms in which the tool opens its files and allocates its buffers.
//! - Two operations per task, for the work before the first call and after the last one.
//!
//! A clock that ran shorter has one: where no call shows when it began (`iozone -B`, `-k`), the tool may have filled its
//! record inside the window and before its clock, 1 ns for each byte at most.
//!
//! A claim that overstates and fails is refuted: an honest clock cannot run shorter than the calls inside it. One
//! that understates is unverifiable: the tool's clock may cover work that makes no call.
//!
//! # When it is wrong
//! It is wrong when the tool waited more than 100 ms for a CPU between its clock and its first call. When an option
//! takes time out of the clock (`iozone -J`) it is undecided, and so it is when the system clock was changed during the
//! pass (AB607).
//!
//! # What to do
//! Quote the rebuilt figure, and make the pass longer.
//!
//! # References
//! fio #902 and fio's clocksource checks. Rebuilt windows of iozone 3.489 agree to 0.1 %.

use activebench_model::fact::FactName;
use activebench_model::finding::{Effect, Finding};
use activebench_model::units::Quantity;

use crate::advice::wording::longer;
use crate::cases::run::{Firing, Weight, of_each_phase};
use crate::detector::{Basis, Decides, Detector, Judge};
use crate::evidence::rebuilt_figure::{Agreement, of_each_claim, rate_window};
use crate::run::Run;

const FACTS: &[FactName] = &[
    FactName::Window,
    FactName::ReadBytes,
    FactName::WriteBytes,
    FactName::SumOfTaskRates,
    FactName::MinTaskRate,
    FactName::MaxTaskRate,
];

/// See the head of this file.
pub static DETECTOR: Detector = Detector {
    code: "AB104",
    name: "clock-disagrees",
    title: "The tool's clock is wrong",
    explained_by: &["AB103", "AB607", "AB608"],
    source: include_str!("clock_disagrees.rs"),
    judge: Judge::Run(judge_run),
    facts: FACTS,
    basis: Basis::Facts,
    decides: Decides::RatesAndCounts,
    correction: None,
    improvement: None,
    questions: &[],
};

fn judge_run(run: &Run<'_>) -> Vec<Finding> {
    of_each_phase(&DETECTOR, run, |case, phase| {
        let (limits, tool) = (case.thresholds(), case.run.tool());
        of_each_claim(case, phase, |claim, agreement| {
            let Agreement::Clock(difference) = agreement else { return None };
            let effect = if difference.overstates() { Effect::Refuted } else { Effect::Unverifiable };
            let (weight, threshold, limit) = match difference.fails() {
                true => (Weight::Fail(effect), &limits.ab104_difference_fail_ratio, difference.fail),
                false => (Weight::Warn(effect), &limits.ab104_difference_warn_ratio, difference.warn),
            };
            let window = case.run.fact(phase, rate_window(phase)).ok()?;
            let elapsed = window / (1.0 + difference.excess);
            let in_ns = |value| Quantity { value, ..Quantity::ns(0) };
            Some(Firing {
                weight,
                observed: Some(difference.observed),
                threshold: difference.threshold(threshold, limit),
                message: format!(
                    "{tool} claims {}, and the calls show {}. Its clock measured about {}, and the calls took {}.",
                    claim.value,
                    difference.observed,
                    in_ns(elapsed),
                    in_ns(window)
                ),
                meaning: match difference.overstates() {
                    true => "The figure divides the right bytes by too short a time.".to_owned(),
                    false => "The figure divides the right bytes by more time than the calls took.".to_owned(),
                },
                advice: match window < limits.ab701_window_note_ns.value.value {
                    true => longer(run, phase, limits.ab701_window_note_ns.value.value / window),
                    false => format!("quote {}, the observed figure", difference.observed),
                },
            })
        })
    })
}
