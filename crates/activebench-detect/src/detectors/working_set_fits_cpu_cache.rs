//! # What it finds
//! Reads from the page cache of less data than the CPU's cache holds.
//!
//! # Why it matters
//! The figure is taken for the speed of the file system with its cache. Data that stays in the CPU's cache is copied
//! several times faster than data in memory.
//!
//! # How it decides
//! It judges figures of the file system with its cache. If at most half of the bytes read entered the page cache while
//! the clock ran (or came from storage, where a tracer observed), it compares the distinct bytes read (`unique_blocks` x `block_grid_bytes`) with the largest cache of
//! the first CPU. It is a note when they fit. Where the machine does not show its caches it does not apply: a note does
//! not change the verdict.
//!
//! # When it is wrong
//! Other programs use the cache too, and so do the tool's own buffers. A virtual machine can show a cache of another
//! size than it may use.
//!
//! # What to do
//! Read several times as much as the cache holds.
//!
//! # References
//! iozone's documentation: its surface plots show the CPU's cache, the page cache and the disk as three plateaus.

use activebench_model::claim::Subject;
use activebench_model::fact::FactName;
use activebench_model::finding::{Finding, Threshold};
use activebench_model::phase::{Direction, Phase};
use activebench_model::units::Quantity;

use crate::cases::run::{Case, Firing, Halt, Weight, of_each_seen_phase};
use crate::detector::{Basis, Decides, Detector, Inference, Judge};
use crate::run::Run;

const FACTS: &[FactName] = &[
    FactName::UniqueBlocks,
    FactName::BlockGrid,
    FactName::DirectShare,
    FactName::CacheInsertedBytes,
    FactName::ReadBytes,
];

/// The same where a tracer observed, which does not see the page cache.
const FACTS_OF_TRACER: &[FactName] = &[
    FactName::UniqueBlocks,
    FactName::BlockGrid,
    FactName::DirectShare,
    FactName::StorageReadBytes,
    FactName::ReadBytes,
];

/// See the head of this file.
pub static DETECTOR: Detector = Detector {
    code: "AB209",
    name: "working-set-fits-cpu-cache",
    title: "The data fits into the CPU's cache",
    explained_by: &["AB201"],
    source: include_str!("working_set_fits_cpu_cache.rs"),
    judge: Judge::Run(judge_run),
    facts: FACTS,
    basis: Basis::Circumstances(&[Inference::CpuCache]),
    decides: Decides::Nothing,
    correction: None,
    improvement: None,
    questions: &[],
};

fn judge_run(run: &Run<'_>) -> Vec<Finding> {
    of_each_seen_phase(&DETECTOR, run, judge)
}

fn judge(case: &Case<'_>, phase: &Phase) -> Result<Finding, Halt> {
    let run = &case.run;
    if phase.direction != Direction::Read {
        return Err(Halt::not_applicable("The pass does not only read."));
    }
    let is_cached = |claim: &&activebench_model::claim::Claim| {
        claim.metric.is_rate(false) && run.subject_of(claim) == Subject::CachedFilesystem
    };
    if !case.claims().iter().any(is_cached) {
        return Err(Halt::not_applicable(
            "No rate of this pass is judged as a figure of the file system with its cache.",
        ));
    }
    if run.fact(phase, FactName::DirectShare)? > 0.5 {
        return Err(Halt::not_applicable("The reads go past the page cache."));
    }
    let cache = run.manifest.host.cpu_cache_bytes.map(Quantity::bytes);
    let cache = cache.ok_or_else(|| Halt::not_applicable("The size of the CPU's cache is not known."))?;
    let (case, fetched) = match run.given_by_storage(phase) {
        Some(given) => (&case.resting_on(FACTS_OF_TRACER.to_vec()), given?.at_most),
        None => (case, run.fact(phase, FactName::CacheInsertedBytes)?),
    };
    let read = run.fact(phase, FactName::ReadBytes)?;
    let touched = run.fact(phase, FactName::UniqueBlocks)? * run.fact(phase, FactName::BlockGrid)?;
    if fetched * 2.0 > read || touched > cache.value {
        return Ok(case.silent(""));
    }
    let touched = Quantity { value: touched, ..Quantity::bytes(0) };
    Ok(case.fires(Firing {
        weight: Weight::Note,
        observed: Some(touched),
        threshold: Threshold { value: cache, source: "the largest cache of the first CPU (sysfs)".to_owned() },
        message: format!("The pass read {touched} of distinct data from the page cache. The CPU's cache has {cache}."),
        meaning: "The figure may be the speed of the CPU's cache. Larger files are read at the speed of memory."
            .to_owned(),
        advice: format!("read several times as much as the {cache} of the CPU's cache"),
    }))
}
