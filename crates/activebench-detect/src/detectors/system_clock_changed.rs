//! # What it finds
//! A system clock that was set, or a machine that was suspended, while the benchmark's clock ran.
//!
//! # Why it matters
//! Many tools take the time from the system clock (iozone, bonnie++: `gettimeofday`). When somebody sets it during a
//! pass, the tool divides the right bytes by a wrong time. The tool does not notice.
//!
//! # How it decides
//! The observation uses `CLOCK_MONOTONIC`, which nobody can set and which stops while the machine is suspended. The
//! system clock and the time since boot are compared with it ten times per second. It warns when `wall_clock_jumps_ns`
//! or `suspended_ns` is above 0.1 % of `window_ns`. It is undecided when the change may have been just before or after
//! the window.
//!
//! A figure that agrees with the observation stays confirmed: its tool used another clock. A figure of such a pass that
//! disagrees is unverifiable, because the tool's clock is not to blame (AB101, AB103 and AB104 are undecided then).
//!
//! # When it is wrong
//! Changes below 1 ms are not noticed. Daemons that only adjust the rate of the clock (NTP) change both clocks alike, and
//! are not found.
//!
//! # What to do
//! Repeat the run. Stop programs that set the clock (`chronyd` with `makestep`, `ntpdate`, tools of a hypervisor), and
//! forbid suspending: `systemd-inhibit activebench verify ...`.
//!
//! # References
//! clock_gettime(2); Documentation/timers/timekeeping.rst.

use activebench_model::fact::FactName;
use activebench_model::finding::{Effect, Finding, Threshold};
use activebench_model::phase::Phase;
use activebench_model::units::Quantity;

use crate::cases::run::{Case, Firing, Halt, Weight, fact_if_any, of_each_phase, seen};
use crate::detector::{Basis, Decides, Detector, Judge};
use crate::run::Run;

const FACTS: &[FactName] = &[FactName::WallClockJumps, FactName::Suspended, FactName::Window];

/// See the head of this file.
pub static DETECTOR: Detector = Detector {
    code: "AB607",
    name: "system-clock-changed",
    title: "The system clock was changed",
    explained_by: &[],
    source: include_str!("system_clock_changed.rs"),
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
        let case = case.concerning_rates()?;
        Ok(vec![judge(&case, phase)?])
    })
}

fn judge(case: &Case<'_>, phase: &Phase) -> Result<Finding, Halt> {
    let jumped = fact_if_any(phase, FactName::WallClockJumps)?;
    let suspended = fact_if_any(phase, FactName::Suspended)?;
    let (Some(jumped), Some(suspended)) = (jumped, suspended) else {
        return Err(Halt::not_applicable("This run did not record the clocks."));
    };
    let window = case.run.fact(phase, FactName::Window)?;
    let limit = &case.thresholds().ab607_change_warn_ratio;
    let changed = jumped.max(suspended);
    if changed <= limit.value.value * window {
        return Ok(case.silent(""));
    }
    let in_ns = |value| Quantity { value, ..Quantity::ns(0) };
    let message = match suspended > limit.value.value * window {
        true => format!("The machine was suspended for {} during a pass of {}.", in_ns(suspended), in_ns(window)),
        false => format!("The system clock was set by {} during a pass of {}.", in_ns(jumped), in_ns(window)),
    };
    Ok(case.fires(Firing {
        weight: Weight::Warn(Effect::Unverifiable),
        observed: Some(in_ns(changed)),
        threshold: Threshold { value: in_ns(limit.value.value * window), ..limit.clone() },
        message,
        meaning: "A tool that uses the system clock prints a wrong time and a wrong rate.".to_owned(),
        advice: "repeat the run without setting the clock or suspending the machine".to_owned(),
    }))
}
