//! # What it finds
//! A reading pass through the page cache over less data than the memory holds.
//!
//! # Why it matters
//! Data that was just written, or read before, is read from memory.
//!
//! # How it decides
//! From the command line, before the run. It judges passes for which no option asks for O_DIRECT or empties the page
//! cache. It warns when they request less than twice the memory (or the limit of the control group). After the run,
//! AB201 reports where the bytes came from.
//!
//! Some profiles require a size (`mlperf`: five times the memory, `bonnie`: twice). Less than that fails, with
//! O_DIRECT too.
//!
//! # When it is wrong
//! It is wrong when the cache is emptied in a way that no option shows.
//!
//! # What to do
//! Read past the page cache, or at least twice the memory.
//!
//! # References
//! bonnie++ refuses sizes below twice the memory.

use activebench_model::advice::Improvement;
use activebench_model::finding::{Effect, Finding, Threshold};
use activebench_model::phase::Phase;
use activebench_model::units::Quantity;

use crate::advice::wording::advise;
use crate::cases::plan::{is_direct, of_each_planned, reads};
use crate::cases::run::{Firing, Halt, Weight};
use crate::detector::{Basis, Decides, Detector, Judge};
use crate::detectors::working_set_fits_memory::{memory_of, times};
use crate::run::Run;

/// See the head of this file.
pub static DETECTOR: Detector = Detector {
    code: "AB804",
    name: "size-below-memory",
    title: "The data fits into memory",
    explained_by: &[],
    source: include_str!("size_below_memory.rs"),
    judge: Judge::CommandLine(judge_command),
    facts: &[],
    basis: Basis::Statements,
    decides: Decides::Nothing,
    correction: None,
    improvement: None,
    questions: &[],
};

fn judge_command(run: &Run<'_>) -> Vec<Finding> {
    of_each_planned(&DETECTOR, run, |case, phase| {
        if !reads(phase) {
            return Err(Halt::not_applicable("The pass does not read."));
        }
        if phase.block_bytes == Some(1) {
            return Err(Halt::not_applicable("A pass of one byte per call measures the CPU."));
        }
        let size = requested(phase);
        let limits = case.thresholds();
        let required = &limits.ab202_required_memory_ratio;
        if required.value.value > 0.0 {
            let (size, limit) = (Quantity::bytes(size.clone()?), times(memory_of(run)?, required.value.value));
            if size.value < limit.value {
                return Ok(case.fires(Firing {
                    weight: Weight::FailOfRun,
                    observed: Some(size),
                    threshold: Threshold { value: limit, source: required.source.clone() },
                    message: format!("{size} is read. The profile {} requires {limit}.", limits.profile),
                    meaning: "The rules of the profile do not accept a data set of this size.".to_owned(),
                    advice: format!("read at least {limit}"),
                }));
            }
        }
        if is_direct(phase) || phase.cold_by_design {
            return Ok(case.silent(""));
        }
        if run.manifest.choices.subject.is_some_and(|subject| !subject.is_storage()) {
            return Err(Halt::not_applicable("The figures are not about storage (`--subject`)."));
        }
        let (size, memory) = (Quantity::bytes(size?), memory_of(run)?);
        let factor = &limits.ab202_memory_warn_ratio;
        let limit = times(memory, factor.value.value);
        if size.value >= limit.value {
            return Ok(case.silent(""));
        }
        Ok(case.fires(Firing {
            weight: Weight::Warn(Effect::Misleading),
            observed: Some(size),
            threshold: Threshold { value: limit, source: factor.source.clone() },
            message: format!("{size} is read through a page cache of up to {memory}."),
            meaning: "Data that is still in memory will not be read from the storage.".to_owned(),
            advice: advise(run, Some(phase), Improvement::ReadFromStorage),
        }))
    })
}

fn requested(phase: &Phase) -> Result<u64, Halt> {
    phase.requested_bytes.ok_or_else(|| Halt::undecided("The command does not state the size of the reads."))
}
