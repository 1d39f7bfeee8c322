//! # What it finds
//! Buffered reads of less data than the memory can hold, where nothing shows where the data came from.
//!
//! # Why it matters
//! Data that fits in memory may have come from there. The figure then does not describe the storage.
//!
//! # How it decides
//! Observation takes precedence over arithmetic. If the pages that entered the cache were counted, it is silent and
//! AB201 judges. The same applies where a tracer observed what storage gave to the reads (`storage_read_bytes`). If the
//! pages were not counted, it compares the distinct bytes read (`unique_blocks` x `block_grid_bytes`) with
//! the memory. Less than twice the memory, or twice the limit of the control group, warns.
//!
//! Some profiles require a size (`mlperf`: five times the memory, `bonnie`: twice). Reading less makes the run a
//! discrepancy, whatever was observed.
//!
//! # When it is wrong
//! It is wrong when the cache was emptied before the pass in a way that was not observed.
//!
//! # What to do
//! Observe the page cache (`activebench doctor` says why it is not), or read at least twice the memory.
//!
//! # References
//! bonnie++ refuses sizes below twice the memory; MLPerf Storage asks for five times.

use activebench_model::advice::Improvement;
use activebench_model::coverage::Backend;
use activebench_model::fact::FactName;
use activebench_model::finding::{Effect, Finding, Threshold};
use activebench_model::phase::{Direction, Phase};
use activebench_model::units::Quantity;

use crate::advice::wording::advise;
use crate::cases::run::{Case, Firing, Halt, Observed, Weight, of_each_seen_phase};
use crate::detector::{Basis, Decides, Detector, Evidence, Inference, Judge};
use crate::run::Run;

const FACTS: &[FactName] = &[
    FactName::CacheInsertedBytes,
    FactName::StorageReadBytes,
    FactName::UniqueBlocks,
    FactName::BlockGrid,
    FactName::DirectShare,
];

const EVIDENCE: Evidence = Evidence {
    observed: &[FactName::CacheInsertedBytes],
    inferred: &[Inference::Fact(FactName::UniqueBlocks), Inference::Fact(FactName::BlockGrid), Inference::Memory],
};

/// See the head of this file.
pub static DETECTOR: Detector = Detector {
    code: "AB202",
    name: "working-set-fits-memory",
    title: "The data fits into memory",
    explained_by: &["AB201"],
    source: include_str!("working_set_fits_memory.rs"),
    judge: Judge::Run(judge_run),
    facts: FACTS,
    basis: Basis::ObservedFirst(EVIDENCE),
    decides: Decides::Nothing,
    correction: None,
    improvement: Some(Improvement::LargerFile),
    questions: &[],
};

fn judge_run(run: &Run<'_>) -> Vec<Finding> {
    of_each_seen_phase(&DETECTOR, run, judge)
}

fn judge(case: &Case<'_>, phase: &Phase) -> Result<Finding, Halt> {
    if !matches!(phase.direction, Direction::Read | Direction::Mixed) {
        return Err(Halt::not_applicable("The pass does not read."));
    }
    let case = &case.concerning_storage()?;
    let run = &case.run;
    let required = &case.thresholds().ab202_required_memory_ratio;
    if required.value.value > 0.0 {
        let (read, memory) = read_beside_memory(run, phase)?;
        if read.value < memory.value * required.value.value {
            return Ok(case.fires(Firing {
                weight: Weight::FailOfRun,
                observed: Some(Quantity::ratio(read.value / memory.value)),
                threshold: required.clone(),
                message: format!(
                    "{read} was read, and the memory is {memory}. The profile {} requires {} times as much.",
                    case.thresholds().profile,
                    required.value.value
                ),
                meaning: "The rules of the profile do not accept a data set of this size.".to_owned(),
                advice: format!("read at least {}", times(memory, required.value.value)),
            }));
        }
    }
    match run.manifest.coverage.backend {
        Backend::Bpf => {}
        Backend::Ptrace => {
            run.fact(phase, FactName::StorageReadBytes)?;
            return Ok(case.silent("What storage gave to the reads was observed. AB201 checks where they came from."));
        }
        Backend::None => return Err(Halt::undecided("Nothing was observed.")),
    }
    let seen = |case: &Case<'_>| match case.run.fact(phase, FactName::CacheInsertedBytes) {
        Ok(_) => Observed::Clean("The page cache was observed. AB201 checks where the reads came from.".to_owned()),
        Err(_) => Observed::Open,
    };
    case.observed_first(EVIDENCE, seen, |case| by_size(case, phase))
}

fn by_size(case: &Case<'_>, phase: &Phase) -> Result<Finding, Halt> {
    let run = &case.run;
    if run.fact(phase, FactName::DirectShare)? > 0.5 {
        return Err(Halt::not_applicable("The reads go past the page cache."));
    }
    let (read, memory) = read_beside_memory(run, phase)?;
    let factor = &case.thresholds().ab202_memory_warn_ratio;
    let limit = times(memory, factor.value.value);
    if read.value >= limit.value {
        return Ok(case.silent(""));
    }
    let holds = match read.value <= memory.value {
        true => format!("All of it fits into {memory} of memory."),
        false => format!("A part of it fits into {memory} of memory."),
    };
    Ok(case.fires(Firing {
        weight: Weight::Warn(Effect::Unverifiable),
        observed: Some(read),
        threshold: Threshold { value: limit, source: factor.source.clone() },
        message: format!("{read} was read. {holds} The page cache was not observed."),
        meaning: "The figure may be that of the page cache.".to_owned(),
        advice: advise(run, Some(phase), Improvement::ReadFromStorage),
    }))
}

/// Distinct bytes read, and the memory that could hold them: that of the machine, or the limit of the control group.
fn read_beside_memory(run: &Run<'_>, phase: &Phase) -> Result<(Quantity, Quantity), Halt> {
    let read = run.fact(phase, FactName::UniqueBlocks)? * run.fact(phase, FactName::BlockGrid)?;
    Ok((Quantity { value: read, ..Quantity::bytes(0) }, memory_of(run)?))
}

/// Memory of the machine, or the limit of the control group if that is less.
pub(crate) fn memory_of(run: &Run<'_>) -> Result<Quantity, Halt> {
    let host = &run.manifest.host;
    let memory = host.usable_memory_bytes();
    memory.map(Quantity::bytes).ok_or_else(|| Halt::undecided("The size of memory is not known."))
}

/// Multiplies a quantity by a factor.
pub(crate) fn times(quantity: Quantity, factor: f64) -> Quantity {
    Quantity { value: quantity.value * factor, ..quantity }
}
