//! # What it finds
//! A pass whose calls come in another order than stated: a sequential pass that jumps, or a random pass that does
//! not.
//!
//! # Why it matters
//! Sequential and random rates of disks, readahead and caches differ by large factors.
//!
//! # How it decides
//! It computes the share of calls that begin where the previous call in the same stream ended. It warns when:
//!
//! - a pass that is sequential by design has a share below 80 %;
//! - a random pass has a share above 20 %.
//!
//! Only synchronous passes are judged, because there the tool itself sets the order of the calls. Asynchronous
//! requests are observed in the order in which they end, which says nothing about the tool. Passes of fewer than 32
//! blocks show no pattern and are not judged.
//!
//! In a file of few blocks, the next block is a neighbour by chance. A random permutation of n blocks has about (1 +
//! ln n) / n such calls. A random pass must therefore also exceed three times that share.
//!
//! # When it is wrong
//! Several threads that share one file position look random.
//!
//! # What to do
//! Look at the options that choose the order of offsets, and at files that several tasks share.
//!
//! # References
//! Drishti warns from 20 % random operations on.

use std::collections::HashSet;

use activebench_model::call::FileId;
use activebench_model::fact::FactName;
use activebench_model::finding::{Effect, Finding};
use activebench_model::phase::{Direction, Pattern, Phase, Submission};
use activebench_model::units::Quantity;

use crate::cases::plan::read_whole;
use crate::cases::run::{Case, Firing, Halt, Weight, of_each_seen_phase};
use crate::detector::{Basis, Decides, Detector, Judge};
use crate::run::Run;

const FACTS: &[FactName] = &[
    FactName::ReadSequential,
    FactName::WriteSequential,
    FactName::UniqueBlocks,
    FactName::ReadBytes,
    FactName::WriteBytes,
];

/// Least number of blocks for which the order is judged.
const LEAST_BLOCKS: f64 = 32.0;

/// See the head of this file.
pub static DETECTOR: Detector = Detector {
    code: "AB109",
    name: "access-pattern-differs",
    title: "The access pattern differs",
    explained_by: &[],
    source: include_str!("access_pattern_differs.rs"),
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
    let sequential = match phase.pattern {
        Pattern::Sequential => true,
        Pattern::RandomPermutation | Pattern::RandomIndependent => false,
        _ => {
            read_whole(phase)?;
            return Err(Halt::not_applicable("Neither sequential nor random is claimed."));
        }
    };
    match phase.submission {
        Submission::Synchronous => {}
        Submission::Unknown => return Err(Halt::not_applicable("The submission mode of the requests is not known.")),
        _ => {
            return Err(Halt::not_applicable(
                "Asynchronous requests are observed in order of completion, not of \
                                              submission.",
            ));
        }
    }
    let name = match phase.direction {
        Direction::Read => FactName::ReadSequential,
        Direction::Write => FactName::WriteSequential,
        Direction::Discard => return Err(Halt::not_applicable("The order of discards is not counted.")),
        Direction::Mixed | Direction::None => {
            return Err(Halt::not_applicable(
                "The pass does not have a single \
                                                                               direction.",
            ));
        }
    };
    let case = &case.concerning_storage()?;
    if case.run.moved(phase)? == 0.0 {
        return Err(Halt::not_applicable("No byte was moved. See AB106."));
    }
    if case.run.fact(phase, FactName::UniqueBlocks)? < LEAST_BLOCKS {
        return Err(Halt::not_applicable("There are too few blocks to have an order."));
    }
    let consecutive = case.run.fact(phase, name)?;
    if !sequential && consecutive <= 3.0 * by_chance(case.run.fact(phase, FactName::UniqueBlocks)?, phase) {
        return Ok(case.silent(""));
    }
    let limits = case.thresholds();
    let (fires, threshold, claimed) = match sequential {
        true => {
            let least = &limits.ab109_sequential_least_ratio;
            (consecutive < least.value.value, least, "sequential")
        }
        false => {
            let most = &limits.ab109_random_most_ratio;
            (consecutive > most.value.value, most, "random")
        }
    };
    if !fires {
        return Ok(case.silent(""));
    }
    read_whole(phase)?;
    let share = Quantity::ratio(consecutive);
    Ok(case.fires(Firing {
        weight: Weight::Warn(Effect::Misleading),
        observed: Some(share),
        threshold: threshold.clone(),
        message: format!("The pass is {claimed} by design. {share} of its calls begin where the previous one ended."),
        meaning: format!("The figure is not that of {claimed} I/O."),
        advice: "check the options that set the order of offsets, and files that tasks share".to_owned(),
    }))
}

/// Share of calls that follow a neighbour by chance, when each file's blocks are visited in a random order.
fn by_chance(blocks: f64, phase: &Phase) -> f64 {
    let files: HashSet<FileId> = phase.parts.iter().map(|part| part.file).collect();
    let of_a_file = (blocks / files.len().max(1) as f64).max(1.0);
    (1.0 + of_a_file.ln()) / of_a_file
}
