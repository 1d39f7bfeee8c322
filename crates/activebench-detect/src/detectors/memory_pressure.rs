//! # What it finds
//! A host that was short of memory while the clock ran: it swapped, or its tasks stopped to wait for memory.
//!
//! # Why it matters
//! Swapping uses the devices and the CPUs, and the kernel drops cached pages before they are read again. The figure
//! then describes a machine short of memory.
//!
//! # How it decides
//! It warns in two cases:
//!
//! - `swapped_pages` (in and out) is above 0.
//! - `memory_stalled_ns` / `window_ns` is above 0.1 %: the share of the window in which all tasks with something to
//!   do (of the host, or of the tool's control group) waited for memory.
//!
//! Both are read ten times per second. It is undecided when the deciding part may have been before or after the
//! window (`memory_stalled_error_ns`).
//!
//! # When it is wrong
//! Swapping is counted for the whole host. Pages of a sleeping program, which disturbed nothing, count too.
//!
//! # What to do
//! Stop other programs that need memory, raise the control group's limit, or turn swap off for the measurement.
//!
//! # References
//! Documentation/accounting/psi.rst; `pswpin`, `pswpout` in proc_vmstat(5).

use activebench_model::fact::FactName;
use activebench_model::finding::{Effect, Finding};
use activebench_model::phase::Phase;
use activebench_model::units::Quantity;

use crate::cases::run::{Case, Firing, Halt, Question, Weight, of_each_phase, seen};
use crate::detector::{Basis, Decides, Detector, Judge};
use crate::evidence::interval::bounded;
use crate::run::Run;

const FACTS: &[FactName] =
    &[FactName::SwappedPages, FactName::MemoryStall, FactName::MemoryStallError, FactName::Window];
const FACTS_OF_STALLS: &[FactName] = &[FactName::MemoryStall, FactName::MemoryStallError, FactName::Window];

/// See the head of this file.
pub static DETECTOR: Detector = Detector {
    code: "AB605",
    name: "memory-pressure",
    title: "The machine was short of memory",
    explained_by: &[],
    source: include_str!("memory_pressure.rs"),
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
        let questions = [(&[FactName::SwappedPages][..], swapped as Question), (FACTS_OF_STALLS, stalled)];
        Ok(case.concerning_rates()?.asked_both(phase, questions))
    })
}

const ADVICE: &str = "stop other programs that need memory, raise the memory limit of the tool's control group, and \
                      repeat the run";

fn swapped(case: &Case<'_>, phase: &Phase) -> Result<Option<Finding>, Halt> {
    let pages = case.run.fact(phase, FactName::SwappedPages)?;
    let limit = &case.thresholds().ab605_swapped_warn_count;
    if pages <= limit.value.value {
        return Ok(None);
    }
    Ok(Some(case.fires(Firing {
        weight: Weight::Warn(Effect::Unverifiable),
        observed: Some(Quantity { value: pages, ..Quantity::count(0) }),
        threshold: limit.clone(),
        message: format!("The host swapped {pages:.0} pages in and out while the clock ran (/proc/vmstat)."),
        meaning: "Swapping used a device and CPU time. The figure is that of a machine short of memory.".to_owned(),
        advice: ADVICE.to_owned(),
    })))
}

fn stalled(case: &Case<'_>, phase: &Phase) -> Result<Option<Finding>, Halt> {
    let window = case.run.fact(phase, FactName::Window)?;
    if window <= 0.0 {
        return Err(Halt::undecided("The pass does not have a measurable duration."));
    }
    let stalled = bounded(phase, FactName::MemoryStall, FactName::MemoryStallError)?.of(window);
    let limit = &case.thresholds().ab605_stall_warn_ratio;
    if stalled.is_within(limit.value.value) {
        return Ok(None);
    }
    if !stalled.is_above(limit.value.value) {
        return Err(Halt::undecided(format!(
            "Every task waited for memory for {} of the pass, ± {}. A longer pass would decide it.",
            Quantity::ratio(stalled.value),
            Quantity::ratio(stalled.error)
        )));
    }
    let share = stalled.value;
    let source = phase.facts.get(FactName::MemoryStall).map_or("", |fact| fact.source.as_str());
    Ok(Some(case.fires(Firing {
        weight: Weight::Warn(Effect::Unverifiable),
        observed: Some(Quantity::ratio(share)),
        threshold: limit.clone(),
        message: format!("Every active task waited for memory for {} of the pass ({source}).", Quantity::ratio(share)),
        meaning: "The figure is that of a machine short of memory.".to_owned(),
        advice: ADVICE.to_owned(),
    })))
}
