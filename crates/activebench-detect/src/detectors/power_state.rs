//! # What it finds
//! CPUs that may save power, or that became slower while the clock ran.
//!
//! # Why it matters
//! On fast storage, the CPU's part of each operation limits the rate. A figure measured at another CPU frequency is
//! another figure.
//!
//! # How it decides
//! A governor other than `performance` is a note for the run. `frequency_drop_ratio` above 10 % is a note for the
//! phase: it compares the mean frequency of the CPUs between one reading in the window and a later one. Not
//! applicable where the host does not scale frequencies, as in most virtual machines.
//!
//! # When it is wrong
//! An idle CPU is slow on purpose. Under a governor that saves power, the frequency follows the load and falls when
//! the pass waits for its device.
//!
//! # What to do
//! `cpupower frequency-set --governor performance` for the measurement.
//!
//! # References
//! Documentation/admin-guide/pm/cpufreq.rst.

use activebench_model::fact::FactName;
use activebench_model::finding::{Finding, Threshold};
use activebench_model::phase::Phase;
use activebench_model::units::Quantity;

use crate::cases::run::{Case, Firing, Halt, Weight};
use crate::detector::{Basis, Decides, Detector, Inference, Judge};
use crate::run::Run;

const FACTS: &[FactName] = &[FactName::FrequencyDrop];
/// The governor that keeps CPUs at their highest frequency.
const FAST: &str = "performance";

/// See the head of this file.
pub static DETECTOR: Detector = Detector {
    code: "AB604",
    name: "power-state",
    title: "CPUs changed their speed",
    explained_by: &[],
    source: include_str!("power_state.rs"),
    judge: Judge::Run(judge_run),
    facts: FACTS,
    basis: Basis::Circumstances(&[Inference::HostSettings]),
    decides: Decides::Nothing,
    correction: None,
    improvement: None,
    questions: &[],
};

fn judge_run(run: &Run<'_>) -> Vec<Finding> {
    // The governors come from the host's own files.
    let whole = Case::of_run(&DETECTOR, run);
    let mut findings = vec![governors(&whole).unwrap_or_else(|halt| whole.halted(halt))];
    for phase in run.phases.iter().filter(|phase| phase.facts.get(FactName::FrequencyDrop).is_some()) {
        let case = Case::of_phase(&DETECTOR, run, phase);
        findings.push(dropped(&case, phase).unwrap_or_else(|halt| case.halted(halt)));
    }
    findings
}

fn governors(case: &Case<'_>) -> Result<Finding, Halt> {
    let hardware = case.run.manifest.host.hardware.as_ref();
    let hardware = hardware.ok_or_else(|| Halt::undecided("This run did not record the governors of the CPUs."))?;
    if let Some(why) = hardware.unread_of(&["cpufreq"]) {
        return Err(Halt::undecided(format!("A governor was not read: {why}.")));
    }
    if hardware.governors.is_empty() {
        return Err(Halt::not_applicable("This host does not scale the frequencies of its CPUs."));
    }
    let saving: Vec<&str> =
        hardware.governors.iter().map(String::as_str).filter(|governor| *governor != FAST).collect();
    if saving.is_empty() {
        return Ok(case.silent(""));
    }
    Ok(case.fires(Firing {
        weight: Weight::Note,
        observed: Some(Quantity::count(saving.len() as u64)),
        threshold: Threshold { value: Quantity::count(0), source: "any governor but performance".to_owned() },
        message: format!(
            "The governor of the CPUs is {} (/sys/devices/system/cpu/cpufreq/policy*/scaling_governor).",
            saving.join(", ")
        ),
        meaning: "The CPUs may have run below their maximum speed. Figures of fast storage depend on it.".to_owned(),
        advice: "run `cpupower frequency-set --governor performance` before the benchmark".to_owned(),
    }))
}

fn dropped(case: &Case<'_>, phase: &Phase) -> Result<Finding, Halt> {
    let drop = case.run.fact(phase, FactName::FrequencyDrop)?;
    let limit = &case.thresholds().ab604_frequency_drop_note_ratio;
    if drop <= limit.value.value {
        return Ok(case.silent(""));
    }
    Ok(case.fires(Firing {
        weight: Weight::Note,
        observed: Some(Quantity::ratio(drop)),
        threshold: limit.clone(),
        message: format!("The mean frequency of the CPUs fell by {} during the pass.", Quantity::ratio(drop)),
        meaning: "A part of the pass ran on slower CPUs than the rest.".to_owned(),
        advice: "check temperatures and power limits, and run at a fixed frequency".to_owned(),
    }))
}
