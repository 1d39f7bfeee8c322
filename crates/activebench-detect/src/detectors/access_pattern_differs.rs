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
//! A random pass with a share of 80 % or more is a sequential one: its rates and latencies are misleading. It is a
//! warning only where its calls are smaller than its blocks, or the command states no size of a call: a block in
//! several calls is sequential inside.
//!
//! In synchronous passes the tool itself sets the order of the calls. Asynchronous requests are observed in the order
//! in which they end: this order does not show that a pass is random, or that a sequential one jumps. A random pass that
//! ends in sequence was submitted so. Passes of fewer than 32 blocks show no pattern and are not judged. Nor are random
//! ones whose operations the tool divides into several calls (fio's `splice`): these follow each other by design.
//!
//! In a file of few blocks, the next block is a neighbour by chance. A random permutation of n blocks has about (1 +
//! ln n) / n such calls. A queue that serves d requests in the order of their offsets adds d / n. A random pass must
//! therefore also exceed three times that share.
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
use activebench_model::phase::{Direction, Division, Pattern, Phase, Submission};
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
    FactName::ModalRequest,
    FactName::ReadLatencyMean,
    FactName::WriteLatencyMean,
    FactName::ReadCalls,
    FactName::WriteCalls,
    FactName::Window,
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
    let out_of_order = || Halt::not_applicable("Asynchronous requests are observed in order of completion.");
    let is_synchronous = match phase.submission {
        Submission::Synchronous => true,
        Submission::Unknown => return Err(Halt::not_applicable("The submission mode of the requests is not known.")),
        Submission::Mapped => return Err(Halt::not_applicable("Data moves through a mapping. See AB901.")),
        Submission::Nothing => return Err(Halt::not_applicable("The engine moves no data. See AB106.")),
        Submission::Asynchronous | Submission::AsynchronousIfDirect if sequential => return Err(out_of_order()),
        Submission::Asynchronous | Submission::AsynchronousIfDirect => false,
    };
    let of = match phase.direction {
        Direction::Read => &READS,
        Direction::Write => &WRITES,
        Direction::Discard => return Err(Halt::not_applicable("The order of discards is not counted.")),
        Direction::Mixed | Direction::None => {
            return Err(Halt::not_applicable(
                "The pass does not have a single \
                                                                               direction.",
            ));
        }
    };
    if !sequential && phase.division != Division::OneCall {
        return Err(Halt::not_applicable("The tool divides its operations into calls that follow each other."));
    }
    let case = &case.concerning_storage()?;
    if case.run.moved(phase)? == 0.0 {
        return Err(Halt::not_applicable("No byte was moved. See AB106."));
    }
    if case.run.fact(phase, FactName::UniqueBlocks)? < LEAST_BLOCKS {
        return Err(Halt::not_applicable("There are too few blocks to have an order."));
    }
    let consecutive = case.run.fact(phase, of.sequential)?;
    let limits = case.thresholds();
    let (fires, threshold, claimed) = match sequential {
        true => {
            let least = &limits.ab109_sequential_least_ratio;
            (consecutive < least.value.value, least, "sequential")
        }
        false => {
            let most = &limits.ab109_random_most_ratio;
            (
                consecutive > most.value.value && !is_by_chance(case, phase, of, consecutive, is_synchronous)?,
                most,
                "random",
            )
        }
    };
    if !fires {
        // That requests end in another order does not show that they were submitted so.
        return if is_synchronous { Ok(case.silent("")) } else { Err(out_of_order()) };
    }
    read_whole(phase)?;
    let is_sequential = !sequential && consecutive >= limits.ab109_sequential_least_ratio.value.value;
    let block = phase.stated_call_bytes().filter(|_| is_sequential);
    let weight = match block {
        Some(block) if case.run.fact(phase, FactName::ModalRequest)? >= block as f64 => {
            Weight::Fail(Effect::Misleading)
        }
        _ => Weight::Warn(Effect::Misleading),
    };
    let share = Quantity::ratio(consecutive);
    Ok(case.fires(Firing {
        weight,
        observed: Some(share),
        threshold: threshold.clone(),
        message: format!("The pass is {claimed} by design. {share} of its calls begin where the previous one ended."),
        meaning: format!("The figure is not that of {claimed} I/O."),
        advice: "check the options that set the order of offsets, and files that tasks share".to_owned(),
    }))
}

/// The facts of one direction.
struct Facts {
    sequential: FactName,
    latency: FactName,
    calls: FactName,
}

const READS: Facts =
    Facts { sequential: FactName::ReadSequential, latency: FactName::ReadLatencyMean, calls: FactName::ReadCalls };

const WRITES: Facts =
    Facts { sequential: FactName::WriteSequential, latency: FactName::WriteLatencyMean, calls: FactName::WriteCalls };

impl Facts {
    /// Returns the mean number of requests in flight (Little's law).
    fn in_flight(&self, run: &Run<'_>, phase: &Phase) -> Result<f64, String> {
        let window_ns = run.fact(phase, FactName::Window)?.max(1.0);
        Ok(run.fact(phase, self.latency)? * run.fact(phase, self.calls)? / window_ns)
    }
}

/// Returns `true` if a share of calls that follow a neighbour can occur by chance, when each file's blocks are visited in a
/// random order and the requests in flight are sorted.
fn is_by_chance(
    case: &Case<'_>,
    phase: &Phase,
    of: &Facts,
    consecutive: f64,
    is_synchronous: bool,
) -> Result<bool, String> {
    let blocks = case.run.fact(phase, FactName::UniqueBlocks)?;
    let in_flight = if is_synchronous { 0.0 } else { of.in_flight(&case.run, phase)? };
    let files: HashSet<FileId> = phase.parts.iter().map(|part| part.file).collect();
    let of_a_file = (blocks / files.len().max(1) as f64).max(1.0);
    Ok(consecutive <= 3.0 * (1.0 + of_a_file.ln() + in_flight) / of_a_file)
}
