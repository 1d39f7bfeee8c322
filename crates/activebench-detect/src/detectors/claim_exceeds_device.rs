//! # What it finds
//! Bytes claimed for direct I/O that the device never moved.
//!
//! # Why it matters
//! The device has to move every byte that bypasses the page cache. Bytes that it did not move were a hole, came from
//! a cache below, were compressed, or were never read or written.
//!
//! # How it decides
//! It judges passes with 99.9 % of their bytes through O_DIRECT. It uses the bytes that the tool counts, or those
//! that the calls moved when the tool prints none. When they exceed 1.02 times the bytes at the device it fails, and
//! rates claimed for storage are misleading.
//!
//! Bytes of the run that passed the device and could not be attributed to a file count for the pass. If other devices
//! are below it without a page cache between, the layer that moved the fewest bytes counts. On btrfs, one buffer per
//! operation in flight is not counted as missing: the first direct read into a fresh buffer goes through the page
//! cache.
//!
//! # When it is wrong
//! It is wrong when a device other than the one below the file makes the requests of the run.
//!
//! # What to do
//! AB106, AB204, AB205, AB207 and AB406 name the cause. If none of them reports one, look at the tool's byte count.
//!
//! # References
//! fio #752: 1,492,073 operations per second claimed, 162,000 in iostat; fio #719.

use activebench_model::fact::FactName;
use activebench_model::finding::{Effect, Finding};
use activebench_model::host::Tier;
use activebench_model::phase::{Direction, Phase};
use activebench_model::units::Quantity;

use crate::cases::run::{Case, Firing, Halt, Weight, of_each_seen_phase};
use crate::detector::{Basis, Correction, Decides, Detector, Honest, Judge};
use crate::evidence::device_layers::{from_lowest, read_by_all, through_fresh_buffers, to_lowest};
use crate::evidence::from_storage::FromStorage;
use crate::run::Run;

const FACTS: &[FactName] = &[
    FactName::DirectShare,
    FactName::DeviceReadBytes,
    FactName::DeviceWriteBytesDurable,
    FactName::DeviceTotalBytes,
    FactName::ForeignBytes,
    FactName::BelowReadBytes,
    FactName::BelowWriteBytesDurable,
    FactName::ReadBytes,
    FactName::WriteBytes,
    FactName::OthersReadBytes,
    FactName::StorageReadBytes,
];

/// See the head of this file.
pub static DETECTOR: Detector = Detector {
    code: "AB102",
    name: "claim-exceeds-device",
    title: "The device moved less data than claimed",
    explained_by: &["AB106", "AB204", "AB205", "AB406"],
    source: include_str!("claim_exceeds_device.rs"),
    judge: Judge::Run(judge_run),
    facts: FACTS,
    basis: Basis::Facts,
    decides: Decides::Nothing,
    correction: Some(Correction {
        rank: 240,
        honest: Honest::ByDirection,
        measured_instead: |_, _| "more than the device moved",
    }),
    improvement: None,
    questions: &[],
};

fn judge_run(run: &Run<'_>) -> Vec<Finding> {
    of_each_seen_phase(&DETECTOR, run, judge)
}

/// The facts for a pass that discards.
const FACTS_OF_DISCARDS: &[FactName] = &[FactName::DiscardBytes, FactName::DeviceDiscardBytes];

fn judge(case: &Case<'_>, phase: &Phase) -> Result<Finding, Halt> {
    let mut case = case.concerning_storage()?;
    if phase.direction == Direction::Discard {
        case = case.resting_on(FACTS_OF_DISCARDS.to_vec());
    }
    let case = &case;
    let (run, limits) = (&case.run, case.thresholds());
    if matches!(phase.direction, Direction::Mixed | Direction::None) {
        return Err(Halt::not_applicable("The pass does not have a single direction."));
    }
    let moved = run.moved(phase)?;
    if moved == 0.0 {
        return Err(Halt::not_applicable("No byte was moved. See AB106."));
    }
    let discards = phase.direction == Direction::Discard;
    if !discards && run.fact(phase, FactName::DirectShare)? < limits.ab112_promised_share_ratio.value.value {
        return Err(Halt::not_applicable("The pass does not go past the page cache. AB201 and AB301 judge it."));
    }
    let target = run.known_target(phase)?;
    if target.tier != Tier::Block {
        return Err(Halt::not_applicable("There is no persistent device below the file. See AB106."));
    }
    let counted = case.claims().iter().filter_map(|claim| claim.claimed_bytes).max();
    let claimed = counted.map_or(moved, |counted| counted as f64);
    let limit = &limits.ab102_excess_fail_ratio;
    let in_bytes = |value| Quantity { value, ..Quantity::bytes(0) };
    let from_storage = run.given_by_storage(phase).filter(|_| phase.direction == Direction::Read).transpose()?;
    if let Some(FromStorage { by_calls, at_most }) = from_storage
        && claimed > by_calls * limit.value.value
        && claimed <= at_most * limit.value.value
    {
        return Err(Halt::undecided(format!(
            "The reads took {} from storage, and {} more was read in other ways, maybe for them.",
            in_bytes(by_calls),
            in_bytes(at_most - by_calls)
        )));
    }
    let own = match phase.direction {
        Direction::Read if from_storage.is_some() => {
            from_storage.map_or(0.0, |from_storage| from_storage.at_most) + through_fresh_buffers(target, phase)
        }
        // Discards carry no data and are not attributed to a file.
        Direction::Discard => run.fact(phase, FactName::DeviceDiscardBytes)?,
        Direction::Read => from_lowest(run, phase)?.bytes() + through_fresh_buffers(target, phase),
        _ => to_lowest(run, phase)?.bytes(),
    };
    if discards && own == 0.0 {
        return Err(Halt::not_applicable("No discard reached the device. See AB106."));
    }
    if claimed <= own * limit.value.value {
        // A tracer's accounts are those of the calls, and not of the file.
        let others = if phase.direction == Direction::Read && from_storage.is_none() {
            read_by_all(run, phase)?.bytes() - moved
        } else {
            0.0
        };
        if others > 0.0 && claimed + others > own * limit.value.value {
            return Err(Halt::undecided(
                "Other passes read the same files. The device's bytes cannot be divided among them.",
            ));
        }
        return Ok(case.silent(""));
    }
    Ok(case.fires(Firing {
        weight: Weight::Fail(Effect::Misleading),
        observed: Some(in_bytes(own)),
        threshold: limit.clone(),
        message: format!(
            "{} is claimed to have {}. The device moved at most {} for this run.",
            in_bytes(claimed),
            if discards { "been discarded" } else { "bypassed the page cache" },
            in_bytes(own)
        ),
        meaning: "The figure is not that of the device.".to_owned(),
        advice: "check the layers between the file and the device (`activebench show RUN --stage facts`)".to_owned(),
    }))
}
