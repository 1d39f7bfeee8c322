//! # What it finds
//! I/O by other programs at the device while the clock ran.
//!
//! # Why it matters
//! The device shared its time. The figure is below what the device could have delivered, by an unknown amount.
//!
//! # How it decides
//! It computes `foreign_bytes` / `device_total_bytes`. Above 2 % it warns. Above 10 % it fails, and rates claimed for
//! storage are unverifiable. Less than 1 MiB from others is the host's own housekeeping. The file system's metadata
//! and journal and activebench's own I/O are not foreign.
//!
//! # When it is wrong
//! Writeback of data that was written before the run counts as foreign, as it should. Who wrote it may be unknown.
//!
//! # What to do
//! Stop other programs that use the device, and repeat the run.
//!
//! # References
//! hyperfine asks for a quiet system; Gregg on perturbations.

use activebench_model::fact::FactName;
use activebench_model::finding::{Effect, Finding};
use activebench_model::units::Quantity;

use crate::cases::run::{Firing, Halt, Weight, device_below, of_each_seen_phase};
use crate::detector::{Basis, Decides, Detector, Judge};
use crate::run::Run;

const FACTS: &[FactName] = &[FactName::ForeignBytes, FactName::DeviceTotalBytes];

/// See the head of this file.
pub static DETECTOR: Detector = Detector {
    code: "AB601",
    name: "foreign-io",
    title: "Other programs used the device",
    explained_by: &[],
    source: include_str!("foreign_io.rs"),
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
        let case = &case.concerning_storage()?;
        let (run, limits) = (&case.run, case.thresholds());
        let target = run.known_target(phase)?;
        let device = device_below(target)?;
        let total = run.fact(phase, FactName::DeviceTotalBytes)?;
        if total == 0.0 {
            return Err(Halt::not_applicable(format!(
                "The device {} did not move data while the clock ran.",
                device.name
            )));
        }
        let foreign = run.fact(phase, FactName::ForeignBytes)?;
        let share = foreign / total;
        let in_bytes = |value| Quantity { value, ..Quantity::bytes(0) };
        if share <= limits.ab601_foreign_warn_ratio.value.value {
            return Ok(case.silent(""));
        }
        if foreign < limits.ab601_foreign_floor_bytes.value.value {
            return Ok(case.silent(format!("Other programs moved {} of {}.", in_bytes(foreign), in_bytes(total))));
        }
        let (weight, threshold) = match share > limits.ab601_foreign_fail_ratio.value.value {
            true => (Weight::Fail(Effect::Unverifiable), &limits.ab601_foreign_fail_ratio),
            false => (Weight::Warn(Effect::Unverifiable), &limits.ab601_foreign_warn_ratio),
        };
        Ok(case.fires(Firing {
            weight,
            observed: Some(Quantity::ratio(share)),
            threshold: threshold.clone(),
            message: format!(
                "The device {} moved {} during the pass, {} of it for other programs.",
                device.name,
                in_bytes(total),
                in_bytes(foreign)
            ),
            meaning: "The device was shared. Alone it would have been faster.".to_owned(),
            advice: format!("stop other programs that use {}, and repeat the run", device.name),
        }))
    })
}
