//! # What it finds
//! A pass that, while its clock ran, moved other bytes than the command asks for, or than the tool prints beside the
//! figure.
//!
//! # Why it matters
//! The figure is right for the bytes that moved. A reader who uses the printed size instead computes a wrong time, or
//! overlooks that a part of the file was moved untimed.
//!
//! # How it decides
//! It compares `read_bytes` or `write_bytes` inside the window with the requested size, and with the size that the
//! tool prints beside the figure. In a mix of reads and writes, both count together towards the requested size. It
//! also uses `untimed_bytes`, which the same pass moved after its clock had stopped.
//!
//! Any difference is a note and changes no verdict. All are exact counts.
//!
//! # When it is wrong
//! It only states two counts. Some tests differ by design: those that continue after their clock (a stonewalled
//! task), and those that a time limit ends before their size (fio `runtime`).
//!
//! # What to do
//! Choose a size that is a multiple of the block size; time every task to its end.
//!
//! # References
//! `iozone -s 100k -r 64k` prints 100 and moves 64 KiB; a stonewalled `iozone -t 2` counts 32768 and 17984 kB and
//! writes 65536 kB (both measured, 3.489). `fio --size=100k --bs=64k` moves 64 KiB (3.33).

use activebench_model::advice::Improvement;
use activebench_model::claim::{Claim, Metric};
use activebench_model::fact::FactName;
use activebench_model::finding::Finding;
use activebench_model::phase::{Direction, Phase};
use activebench_model::units::Quantity;

use crate::advice::wording::advise;
use crate::cases::plan::read_whole;
use crate::cases::run::{Case, Firing, Halt, Weight, fact_if_any, of_each_seen_phase};
use crate::detector::{Basis, Decides, Detector, Judge};
use crate::run::Run;

const FACTS: &[FactName] = &[FactName::ReadBytes, FactName::WriteBytes, FactName::UntimedBytes];

/// See the head of this file.
pub static DETECTOR: Detector = Detector {
    code: "AB113",
    name: "size-differs",
    title: "The pass moved another amount of data than asked",
    explained_by: &["AB105", "AB401"],
    source: include_str!("size_differs.rs"),
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

/// A size that the command or the tool's output states.
struct Stated {
    bytes: f64,
    words: &'static str,
    /// Bytes that moved.
    moved: f64,
}

/// The size that the tool prints beside the figure of the whole pass.
fn printed(run: &Run<'_>, phase: &Phase) -> Result<Option<Stated>, Halt> {
    let whole =
        |claim: &&Claim| matches!(claim.metric, Metric::Throughput | Metric::OperationRate | Metric::TimePerOperation);
    let bytes = run.claims_of(phase).filter(whole).find_map(|claim| claim.claimed_bytes);
    // The size beside a figure of one direction is in that direction's bytes.
    let stated = |bytes: u64| {
        let moved = run.moved(phase)?;
        Ok(Stated { bytes: bytes as f64, words: "is printed with the figure", moved })
    };
    bytes.map(stated).transpose()
}

/// Bytes that the pass moved in its own direction, or in both directions when they share one size.
fn moved_of_size(run: &Run<'_>, phase: &Phase) -> Result<f64, Halt> {
    let own = run.moved(phase)?;
    if phase.requested_bytes.is_some() || phase.mix.is_none() {
        return Ok(own);
    }
    match phase.direction {
        Direction::Read => match run.counterpart(phase, Direction::Write) {
            Some(writes) => Ok(own + run.moved(writes)?),
            None => Ok(own),
        },
        Direction::Write => match run.counterpart(phase, Direction::Read) {
            Some(reads) => Err(Halt::not_applicable(format!("The size is checked in the pass {}.", reads.id))),
            None => Ok(own),
        },
        _ => Ok(own),
    }
}

fn judge(case: &Case<'_>, phase: &Phase) -> Result<Finding, Halt> {
    let run = &case.run;
    let asked = match phase.requested_bytes.or(phase.size_bytes) {
        Some(bytes) => Some(Stated { bytes: bytes as f64, words: "was requested", moved: moved_of_size(run, phase)? }),
        None => None,
    };
    let printed = printed(run, phase)?;
    let stated = || asked.iter().chain(&printed);
    if stated().next().is_none() {
        read_whole(phase)?;
        return Err(Halt::not_applicable("Neither the command nor the output states a size for this pass."));
    }
    let untimed = fact_if_any(phase, FactName::UntimedBytes)?.unwrap_or(0.0);
    let limit = &case.thresholds().ab113_difference_bytes;
    let differs = |stated: &&Stated| (stated.bytes - stated.moved).abs() > limit.value.value;
    let first = stated().find(differs).or_else(|| stated().next().filter(|_| untimed > limit.value.value));
    let Some(stated) = first else { return Ok(case.silent("")) };
    read_whole(phase)?;
    let in_bytes = |value| Quantity { value, ..Quantity::bytes(0) };
    let after = if untimed > 0.0 { format!(" and {} after it had stopped", in_bytes(untimed)) } else { String::new() };
    let (meaning, advice) = reason(run, phase, stated.bytes - stated.moved, untimed);
    // Two sizes that look equal are printed in bytes.
    let (mut size, mut moved) = (in_bytes(stated.bytes).to_string(), in_bytes(stated.moved).to_string());
    if size == moved && stated.bytes != stated.moved {
        (size, moved) = (format!("{} B", stated.bytes), format!("{} B", stated.moved));
    }
    Ok(case.fires(Firing {
        weight: Weight::Note,
        observed: Some(in_bytes(stated.moved)),
        threshold: limit.clone(),
        message: format!("{size} {}. {moved} moved while the clock ran{after}.", stated.words),
        meaning: meaning.to_owned(),
        advice,
    }))
}

/// Returns the meaning of the difference and the advice.
fn reason(run: &Run<'_>, phase: &Phase, short: f64, untimed: f64) -> (&'static str, String) {
    let block = phase.block_bytes.unwrap_or(0) as f64;
    if untimed > 0.0 {
        let meaning = "The clock of a task stopped before its work was done. The figure is about the part before.";
        return (meaning, advise(run, None, Improvement::CountAllTasks));
    }
    if short > 0.0 && short < block * f64::from(phase.requested_tasks.max(1)) {
        return (
            "The size is not a multiple of the block. The tool and the figure leave out the rest.",
            format!("choose a size that is a multiple of {}", Quantity { value: block, ..Quantity::bytes(0) }),
        );
    }
    if let (true, Some(limit_ns)) = (short > 0.0, phase.time_limit_ns) {
        return (
            "The time limit ended the pass. The figure does not cover the rest of the file.",
            format!("quote the bytes that moved, or allow more time than {}", Quantity::ns(limit_ns)),
        );
    }
    (
        "The figure is about the bytes that moved, not about the stated size.",
        "check how the tool counts its size".to_owned(),
    )
}
