//! # What it finds
//! A pass that the command calls cold, although its data was in memory when it began.
//!
//! # Why it matters
//! Dropping caches can fail silently: it needs rights, and the kernel may ignore advice.
//!
//! # How it decides
//! It judges storage rates of a pass that is cold by design: the command asks for a purge or an unmount. When
//! `resident_at_start_bytes` is above 1 % of the bytes read it fails, and the claim is misleading. It does not judge
//! direct reads, which do not use the cache, or passes that are not called cold.
//!
//! # When it is wrong
//! A block read twice in one pass counts as read once; residency is a lower bound.
//!
//! # What to do
//! Look at the messages of the purge; unmount and mount the file system before the pass.
//!
//! # References
//! fio prints "Cache flush bypassed" for users without rights; the IOR tutorial on FADV_DONTNEED, which is a hint and
//! asynchronous.

use activebench_model::advice::Improvement;
use activebench_model::fact::FactName;
use activebench_model::finding::{Effect, Finding};
use activebench_model::host::Tier;
use activebench_model::phase::Direction;
use activebench_model::units::Quantity;

use crate::cases::run::{Firing, Halt, Weight, of_each_seen_phase};
use crate::detector::{Basis, Correction, Decides, Detector, Honest, Judge};
use crate::run::Run;

const FACTS: &[FactName] = &[FactName::ResidentAtStart, FactName::ReadBytes, FactName::DirectShare];

/// See the head of this file.
pub static DETECTOR: Detector = Detector {
    code: "AB203",
    name: "warm-start",
    title: "The data was in memory at the start",
    explained_by: &["AB201"],
    source: include_str!("warm_start.rs"),
    judge: Judge::Run(judge_run),
    facts: FACTS,
    basis: Basis::Facts,
    decides: Decides::RatesOfStorage,
    correction: Some(Correction {
        rank: 90,
        honest: Honest::FromDevice,
        measured_instead: |_, _| "copying from the page cache, in part",
    }),
    improvement: Some(Improvement::ReadFromStorage),
    questions: &[],
};

fn judge_run(run: &Run<'_>) -> Vec<Finding> {
    of_each_seen_phase(&DETECTOR, run, |case, phase| {
        if !phase.cold_by_design || !matches!(phase.direction, Direction::Read | Direction::Mixed) {
            return Err(Halt::not_applicable("The command does not request a cold pass."));
        }
        let case = &case.concerning_storage()?;
        let run = &case.run;
        if run.target_of(phase).is_some_and(|target| target.tier == Tier::Memory) {
            return Err(Halt::not_applicable("The file is in memory. See AB106."));
        }
        run.moved(phase)?;
        let read = run.fact(phase, FactName::ReadBytes)?;
        let direct = run.fact(phase, FactName::DirectShare)?;
        if direct >= 1.0 || read == 0.0 {
            return Err(Halt::not_applicable("No byte was read through the page cache."));
        }
        if direct > 0.0 {
            return Err(Halt::undecided("A part of the reads was direct, so the resident share is not known."));
        }
        let resident = run.fact(phase, FactName::ResidentAtStart)?;
        let share = resident / read;
        let limit = &case.thresholds().ab203_resident_fail_ratio;
        if share <= limit.value.value {
            return Ok(case.silent(""));
        }
        let in_bytes = |value| Quantity { value, ..Quantity::bytes(0) };
        Ok(case.fires(Firing {
            weight: Weight::Fail(Effect::Misleading),
            observed: Some(Quantity::ratio(share)),
            threshold: limit.clone(),
            message: format!(
                "{} for a cold pass. {} of the {} read was in the page cache when it began.",
                case.claimed(),
                in_bytes(resident),
                in_bytes(read)
            ),
            meaning: "The pass was not cold. A part of the figure is the rate of copying from memory.".to_owned(),
            advice: "check the messages of the purge, which needs root rights, or mount the file system again \
                     before the pass"
                .to_owned(),
        }))
    })
}
