//! # What it finds
//! Calls of another size than the block size that the figure is reported for.
//!
//! # Why it matters
//! Operations per second, and the rate that a device reaches, depend on the block size. A "4 KiB" test that moves 64
//! KiB per call is another test.
//!
//! # How it decides
//! It compares `modal_request_bytes`, the size that most data calls asked for, with the block size that the tool was
//! given. If they differ it fails, and rates claimed for storage are misleading. Where the tool divides one operation into
//! calls of a stated size, that size is compared. Requests at the device are not compared: the kernel splits and merges
//! them, and FLUSH requests have no size.
//!
//! A file whose data is shorter than a block is moved by one shorter call. A pass of such files alone is not judged.
//!
//! # When it is wrong
//! A synchronous engine with a queue depth may gather several operations into one call (fio's `vsync`). Whole
//! multiples of the block size are not judged there.
//!
//! # What to do
//! Quote the figure with the size that was used, or find the option that makes the tool use the intended size.
//!
//! # References
//! fio #1477: iostat shows 2 KiB for 4 KiB because flushes count as writes.

use activebench_model::fact::FactName;
use activebench_model::finding::{Effect, Finding, Threshold};
use activebench_model::phase::{Mechanism, Phase, Submission};
use activebench_model::units::Quantity;

use crate::cases::plan::{promise, read_whole};
use crate::cases::run::{Case, Firing, Halt, Weight, of_each_seen_phase};
use crate::detector::{Basis, Correction, Decides, Detector, Honest, Judge};
use crate::evidence::rebuilt_figure::calls;
use crate::run::Run;

const FACTS: &[FactName] = &[
    FactName::ModalRequest,
    FactName::ReadBytes,
    FactName::WriteBytes,
    FactName::ReadCalls,
    FactName::WriteCalls,
    FactName::DiscardCalls,
];

/// See the head of this file.
pub static DETECTOR: Detector = Detector {
    code: "AB107",
    name: "block-size-differs",
    title: "The calls had another block size",
    explained_by: &[],
    source: include_str!("block_size_differs.rs"),
    judge: Judge::Run(judge_run),
    facts: FACTS,
    basis: Basis::Facts,
    decides: Decides::Nothing,
    correction: Some(Correction {
        rank: 160,
        honest: Honest::None("the rate at the claimed block size was not measured"),
        measured_instead: |_, _| "calls of another size",
    }),
    improvement: None,
    questions: &[],
};

fn judge_run(run: &Run<'_>) -> Vec<Finding> {
    of_each_seen_phase(&DETECTOR, run, judge)
}

fn judge(case: &Case<'_>, phase: &Phase) -> Result<Finding, Halt> {
    let Some(block) = phase.stated_call_bytes().filter(|block| *block > 0) else {
        read_whole(phase)?;
        return Err(Halt::not_applicable("No single size of the calls is stated."));
    };
    if case.run.maps_files(phase) {
        return Err(Halt::not_applicable("Data moves through a mapping, which has no blocks."));
    }
    let case = &case.concerning_storage()?;
    if case.run.moved(phase)? == 0.0 {
        return Err(Halt::not_applicable("No byte was moved. See AB106."));
    }
    let modal = case.run.fact(phase, FactName::ModalRequest)?;
    if modal == block as f64 {
        return Ok(case.silent(""));
    }
    let gathers = promise(phase, |mechanism| matches!(mechanism, Mechanism::QueueDepth(2..))).is_some();
    if phase.submission == Submission::Synchronous && gathers && modal % block as f64 == 0.0 {
        return Err(Halt::not_applicable("The engine may gather several operations into one call."));
    }
    if modal < block as f64 && calls(&case.run, phase)? <= phase.parts.len() as f64 {
        return Err(Halt::not_applicable("Each file had a single call, for the rest of its data."));
    }
    read_whole(phase)?;
    let modal = Quantity { value: modal, ..Quantity::bytes(0) };
    Ok(case.fires(Firing {
        weight: Weight::Fail(Effect::Misleading),
        observed: Some(modal),
        threshold: Threshold {
            value: Quantity::bytes(block),
            source: "the block that the tool was configured to use".to_owned(),
        },
        message: format!("The figure is for blocks of {}. Most calls asked for {modal}.", Quantity::bytes(block)),
        meaning: "The figure is that of another block size.".to_owned(),
        advice: format!("quote it with {modal}, or check which option sets the size of the calls"),
    }))
}
