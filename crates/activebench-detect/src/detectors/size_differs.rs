//! # What it finds
//! A pass that moved other bytes while its clock ran than the command asks for, or than the
//! tool prints beside the figure.
//!
//! # Why it matters
//! The figure is right for the bytes that moved; a reader who takes the printed size for them
//! computes a wrong time, or overlooks that a part of the file was moved untimed.
//!
//! # How it decides
//! `read_bytes` or `write_bytes` inside the window against the requested size, and
//! `untimed_bytes`, what the same pass moved after its clock had stopped: a note for any
//! difference. Both are exact counts. It changes no verdict.
//!
//! # When it is wrong
//! It states two counts. A test that goes on after its clock (a stonewalled task) does so by
//! design.
//!
//! # What to do
//! Choose a size that is a multiple of the block size; time every task to its end.
//!
//! # References
//! `iozone -s 100k -r 64k` prints 100 and moves 64 KiB; a stonewalled `iozone -t 2` counts
//! 32768 and 17984 kB and writes 65536 kB (both measured, 3.489).

use activebench_model::fact::FactName;
use activebench_model::finding::Finding;
use activebench_model::units::Quantity;

use crate::advice::Given;
use crate::case::{Firing, Halt, Weight, fact_if_any, of_each_seen_phase};
use crate::context::{Detector, Run};

/// See the head of this file.
pub struct SizeDiffers;

const FACTS: &[FactName] = &[FactName::ReadBytes, FactName::WriteBytes, FactName::UntimedBytes];

impl Detector for SizeDiffers {
    fn code(&self) -> &'static str {
        "AB113"
    }
    fn name(&self) -> &'static str {
        "size-differs"
    }
    fn source(&self) -> &'static str {
        include_str!("size_differs.rs")
    }

    fn judge(&self, run: &Run<'_>) -> Vec<Finding> {
        of_each_seen_phase(self, run, FACTS, |case, phase| {
            let requested =
                phase.requested_bytes.ok_or_else(|| Halt::not_applicable("the command states no size for this pass"))?
                    as f64;
            let moved = case.run.moved(phase)?;
            let untimed = fact_if_any(phase, FactName::UntimedBytes)?.unwrap_or(0.0);
            let limit = &case.thresholds().ab113_difference_bytes;
            if (requested - moved).abs() <= limit.value.value && untimed <= limit.value.value {
                return Ok(case.silent(""));
            }
            let in_bytes = |value| Quantity { value, ..Quantity::bytes(0) };
            let block = phase.block_bytes.unwrap_or(0) as f64;
            let (meaning, advice) = if untimed > 0.0 {
                (
                    "the clock of a task stopped before its work was done: the figure speaks of the part before",
                    Given::new(run).all_tasks(),
                )
            } else if requested > moved && requested - moved < block {
                (
                    "the size is no multiple of the block: the rest of it was left out, of the figure too",
                    format!("choose a size that is a multiple of {}", in_bytes(block)),
                )
            } else {
                (
                    "the figure speaks of the bytes that moved, not of the size that was asked for",
                    "look at how the tool counts its size".to_owned(),
                )
            };
            let after =
                if untimed > 0.0 { format!(" and {} after it had stopped", in_bytes(untimed)) } else { String::new() };
            // Two sizes that read alike are told apart by their bytes.
            let (mut asked, mut done) = (in_bytes(requested).to_string(), in_bytes(moved).to_string());
            if asked == done && requested != moved {
                (asked, done) = (format!("{requested} B"), format!("{moved} B"));
            }
            Ok(case.fires(Firing {
                weight: Weight::Note,
                observed: Some(in_bytes(moved)),
                threshold: limit.clone(),
                message: format!("{asked} were asked for, {done} moved while the clock ran{after}"),
                meaning: meaning.to_owned(),
                advice,
            }))
        })
    }
}
