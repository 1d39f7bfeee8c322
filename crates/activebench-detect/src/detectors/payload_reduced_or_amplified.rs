//! # What it finds
//! Written and synced data of which the device received only a part, or much more than was written.
//!
//! # Why it matters
//! A layer that compresses, deduplicates or omits zeros makes the device look faster than it is. A layer that writes
//! everything twice makes it look slower.
//!
//! # How it decides
//! It judges passes whose bytes were all synced. It compares `device_write_bytes_until_durable` with the bytes that
//! had to reach the device. These are the blocks touched, each once, because data overwritten in the page cache is
//! written back once. Below 90 % it fails, and rates claimed for storage are misleading. Above 150 % it is a note.
//! Passes below 1 MiB are not judged, because their data may be stored in the inode.
//!
//! If other devices are below, without a page cache between, the layer that wrote least counts. Bytes that passed the
//! device and belong to no file (compressed extents, a journal that carries data) count for the run.
//!
//! Where a tracer observed, `device_write_until_durable_at_most_bytes` stands in: it can be too small, and shows nothing
//! else.
//!
//! # When it is wrong
//! It is wrong when activebench attributes bytes to files wrongly on a file system; AB106 checks that too.
//!
//! # What to do
//! Write data that cannot be compressed or deduplicated, or turn the layer off for the measurement.
//!
//! # References
//! IO500 rule 7: data must not be reduced by its content. iozone on btrfs with zstd: 512 MiB became 18 MiB
//! (measured).

use activebench_model::fact::FactName;
use activebench_model::finding::{Effect, Finding};
use activebench_model::host::Tier;
use activebench_model::phase::{Direction, Phase};
use activebench_model::units::Quantity;

use crate::cases::run::{Case, Firing, Halt, Weight, of_each_seen_phase};
use crate::detector::{Basis, Correction, Decides, Detector, Honest, Judge};
use crate::evidence::device_layers::to_lowest;
use crate::run::Run;

const FACTS: &[FactName] = &[
    FactName::WriteBytes,
    FactName::UnsyncedBytes,
    FactName::UniqueBlocks,
    FactName::BlockGrid,
    FactName::DeviceWriteBytesDurable,
    FactName::DeviceWriteDurableAtMost,
    FactName::DeviceTotalBytes,
    FactName::ForeignBytes,
    FactName::BelowWriteBytesDurable,
];

/// See the head of this file.
pub static DETECTOR: Detector = Detector {
    code: "AB406",
    name: "payload-reduced-or-amplified",
    title: "The device stored less or more than was written",
    explained_by: &[],
    source: include_str!("payload_reduced_or_amplified.rs"),
    judge: Judge::Run(judge_run),
    facts: FACTS,
    basis: Basis::Facts,
    decides: Decides::Nothing,
    correction: Some(Correction {
        rank: 170,
        honest: Honest::None("the rate for incompressible data was not measured"),
        measured_instead: |_, _| "storing compressed data",
    }),
    improvement: None,
    questions: &[],
};

fn judge_run(run: &Run<'_>) -> Vec<Finding> {
    of_each_seen_phase(&DETECTOR, run, judge)
}

fn judge(case: &Case<'_>, phase: &Phase) -> Result<Finding, Halt> {
    if phase.direction != Direction::Write {
        return Err(Halt::not_applicable("The pass is not a pure write."));
    }
    let case = &case.concerning_storage()?;
    let (run, limits) = (&case.run, case.thresholds());
    let target = run.known_target(phase)?;
    if target.tier != Tier::Block {
        return Err(Halt::not_applicable("There is no persistent device below the file."));
    }
    let written = run.moved(phase)?;
    if written < limits.ab106_inline_ceiling_bytes.value.value {
        return Err(Halt::not_applicable("The data is small enough to be in the inode."));
    }
    if run.fact(phase, FactName::UnsyncedBytes)? > 0.0 {
        return Err(Halt::not_applicable("Not all of it was synced. See AB301."));
    }
    let touched = run.fact(phase, FactName::UniqueBlocks)? * run.fact(phase, FactName::BlockGrid)?;
    let expected = touched.min(written);
    let of_files = run.fact(phase, FactName::DeviceWriteBytesDurable);
    let reached = match &of_files {
        Ok(_) => to_lowest(run, phase)?.bytes(),
        Err(_) => run.at_most(phase, FactName::DeviceWriteBytesDurable)?,
    };
    let in_bytes = |value| Quantity { value, ..Quantity::bytes(0) };
    if reached <= 0.0 {
        return Err(Halt::not_applicable("Nothing reached the device. See AB106."));
    }
    let share = reached / expected;
    if share < limits.ab406_reduced_fail_ratio.value.value {
        return Ok(case.fires(Firing {
            weight: Weight::Fail(Effect::Misleading),
            observed: Some(Quantity::ratio(share)),
            threshold: limits.ab406_reduced_fail_ratio.clone(),
            message: format!(
                "{} had to reach the device. At most {} did before it was durable.",
                in_bytes(expected),
                in_bytes(reached)
            ),
            meaning: "A layer below stored less than was written, so the figure is not that of the device.".to_owned(),
            advice:
                "write incompressible data (iozone `-+w 0 -+y 0 -+C 0`, fio `--refill_buffers`), or turn the layer \
                 off"
                .to_owned(),
        }));
    }
    let of_files = of_files?;
    let share = of_files / expected;
    if share > limits.ab406_amplified_note_ratio.value.value {
        return Ok(case.fires(Firing {
            weight: Weight::Note,
            observed: Some(Quantity::ratio(share)),
            threshold: limits.ab406_amplified_note_ratio.clone(),
            message: format!(
                "{} had to reach the device. {} did before it was durable.",
                in_bytes(expected),
                in_bytes(of_files)
            ),
            meaning: "The device wrote more than the figure counts.".to_owned(),
            advice: "use larger records or fewer syncs to reduce the amplification".to_owned(),
        }));
    }
    Ok(case.silent(""))
}
