//! # What it finds
//! Unwritten data of other programs that was still in memory when a writing pass began.
//!
//! # Why it matters
//! The kernel may write it back at any time, between the pass's own writes or during its sync. It also makes writers
//! wait sooner when more memory is dirty. The figure then depends on what happened before the run.
//!
//! # How it decides
//! It reads `foreign_dirty_at_start_bytes` (`Dirty` and `Writeback` of `/proc/meminfo`, before the tool had written
//! anything). Above 1 % of `write_bytes` and above 8 MiB it warns. If the tool had written before the pass, the dirty
//! pages may be its own. A figure below the thresholds is still silent then; one above them is undecided.
//!
//! # When it is wrong
//! The kernel counts the whole host, including data for other devices, which disturbs little. AB601 counts the bytes
//! of others that really passed the device.
//!
//! # What to do
//! Run `sync` before the run.
//!
//! # References
//! Documentation/admin-guide/sysctl/vm on `dirty_background_ratio` and `dirty_ratio`; proc_meminfo(5).

use activebench_model::fact::{Completeness, FactName};
use activebench_model::finding::{Effect, Finding};
use activebench_model::host::Tier;
use activebench_model::phase::{Direction, Phase};
use activebench_model::units::Quantity;

use crate::cases::run::{Case, Firing, Halt, Weight, of_each_seen_phase};
use crate::detector::{Basis, Decides, Detector, Judge};
use crate::run::Run;

const FACTS: &[FactName] = &[FactName::ForeignDirtyAtStart, FactName::WriteBytes, FactName::ForeignBytes];

/// See the head of this file.
pub static DETECTOR: Detector = Detector {
    code: "AB603",
    name: "foreign-dirty-pages",
    title: "Other programs had unwritten data in memory",
    explained_by: &[],
    source: include_str!("foreign_dirty_pages.rs"),
    judge: Judge::Run(judge_run),
    facts: FACTS,
    basis: Basis::Facts,
    decides: Decides::Nothing,
    correction: None,
    improvement: None,
    questions: &[],
};

fn judge_run(run: &Run<'_>) -> Vec<Finding> {
    of_each_seen_phase(&DETECTOR, run, judge)
}

fn judge(case: &Case<'_>, phase: &Phase) -> Result<Finding, Halt> {
    if !matches!(phase.direction, Direction::Write | Direction::Mixed) {
        return Err(Halt::not_applicable("The pass does not write."));
    }
    let case = &case.concerning_storage()?;
    let (run, limits) = (&case.run, case.thresholds());
    if run.target_of(phase).is_some_and(|target| target.tier == Tier::Memory) {
        return Err(Halt::not_applicable("The file is in memory, so nothing is written back."));
    }
    let written = run.fact(phase, FactName::WriteBytes)?;
    if written == 0.0 {
        return Err(Halt::not_applicable("No write call moved a byte."));
    }
    let (share, floor) = (&limits.ab603_dirty_warn_ratio, limits.ab603_dirty_floor_bytes.value.value);
    // Pages that may be the tool's own are an upper bound for those of others.
    let fact = phase.facts.get(FactName::ForeignDirtyAtStart);
    let at_most = fact.and_then(|fact| fact.value).map(|value| value.value);
    if at_most.is_some_and(|most| most <= floor || most <= written * share.value.value) {
        return Ok(case.silent(""));
    }
    if let Some(Completeness::Partial(why)) = fact.map(|fact| &fact.completeness) {
        let most = Quantity { value: at_most.unwrap_or(0.0), ..Quantity::bytes(0) };
        return Err(Halt::undecided(format!(
            "Up to {most} of unwritten data was in memory when the pass began: {why}."
        )));
    }
    let dirty = run.fact(phase, FactName::ForeignDirtyAtStart)?;
    let in_bytes = |value| Quantity { value, ..Quantity::bytes(0) };
    let passed = match run.fact(phase, FactName::ForeignBytes) {
        Ok(foreign) => format!(" The disk wrote {} for others meanwhile.", in_bytes(foreign)),
        Err(_) => String::new(),
    };
    Ok(case.fires(Firing {
        weight: Weight::Warn(Effect::Unverifiable),
        observed: Some(Quantity::ratio(dirty / written)),
        threshold: share.clone(),
        message: format!(
            "Other programs had {} of unwritten data in memory when the pass began ({} of what it wrote).{passed}",
            in_bytes(dirty),
            Quantity::ratio(dirty / written)
        ),
        meaning: "The kernel may write it during the pass, so earlier activity affects the figure.".to_owned(),
        advice: "run `sync` before the benchmark".to_owned(),
    }))
}
