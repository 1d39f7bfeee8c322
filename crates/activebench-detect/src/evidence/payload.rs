//! Evidence that the payload detectors share: which layer below stores data packed, whether enough was sampled, and
//! whether all that was written reached the device, whatever mount options and samples suggest.

use activebench_model::fact::FactName;
use activebench_model::finding::Finding;
use activebench_model::host::{MOST_COPIES, Target};
use activebench_model::phase::{Direction, Phase};
use activebench_model::units::Quantity;

use crate::cases::run::{Case, Halt, Observed};
use crate::detector::{Evidence, Inference};
use crate::run::Run;

/// The facts that show whether all that was written reached the device.
const OF_REACHED: &[FactName] = &[
    FactName::DeviceWriteBytesDurable,
    FactName::DeviceWriteDurableAtMost,
    FactName::WriteBytes,
    FactName::OthersWriteBytes,
    FactName::UniqueBlocks,
    FactName::BlockGrid,
];

/// Observation and inference of AB404.
pub(crate) const COMPRESSION: Evidence = Evidence {
    observed: OF_REACHED,
    inferred: &[
        Inference::MountOptions,
        Inference::Fact(FactName::PayloadCompressed),
        Inference::Fact(FactName::PayloadZeroShare),
    ],
};

/// Observation and inference of AB405.
pub(crate) const DUPLICATION: Evidence = Evidence {
    observed: OF_REACHED,
    inferred: &[Inference::MountOptions, Inference::Fact(FactName::PayloadDuplicates)],
};

/// Returns `true` if the device received all that the pass wrote: then no layer above it packed the data. With less, the
/// question is open: the rest may be in flight.
fn reached_whole(case: &Case<'_>, phase: &Phase) -> Observed {
    let run = &case.run;
    let whole = || -> Result<Option<String>, String> {
        let target = run.target_of(phase).filter(|target| !target.layers.is_empty());
        let target = target.ok_or_else(|| "the devices below the file are not known".to_owned())?;
        let Some(copies) = copies_above_device(target) else { return Ok(None) };
        let written = run.fact(phase, FactName::WriteBytes)?;
        let touched = run.fact(phase, FactName::UniqueBlocks)? * run.fact(phase, FactName::BlockGrid)?;
        // Pages that are overwritten in the page cache enter it once.
        let expected = touched.min(written);
        let reached = run.at_most(phase, FactName::DeviceWriteBytesDurable)?;
        let least = run.thresholds.ab404_reached_least_ratio.value.value;
        let in_bytes = |value| Quantity { value, ..Quantity::bytes(0) };
        // The device counts by file: its bytes include those of other passes over the same files.
        let others = match phase.facts.get(FactName::OthersWriteBytes) {
            None => 0.0,
            Some(_) => run.fact(phase, FactName::OthersWriteBytes)?,
        };
        let all = expected > 0.0 && reached >= (expected + others) * copies * least;
        if !all && others > 0.0 {
            return Err(
                "other passes wrote the same files, so the device's bytes cannot be divided among them".to_owned()
            );
        }
        if all {
            run.fact(phase, FactName::DeviceWriteBytesDurable)?;
        }
        Ok(all.then(|| format!("The device received {} of the {} written.", in_bytes(reached), in_bytes(expected))))
    };
    match whole() {
        Ok(Some(why)) => Observed::Clean(why),
        Ok(None) => Observed::Open,
        Err(why) => Observed::Lost(why),
    }
}

/// Returns the most bytes that the devices of a target receive for one byte of data; `None` if these devices pack data
/// themselves, or if the file system may keep an unknown number of copies.
fn copies_above_device(target: &Target) -> Option<f64> {
    if target.devices().any(|layer| layer.kind == "zram") {
        return None;
    }
    match target.fs_type.as_str() {
        "btrfs" => target.device()?.attributes.get(MOST_COPIES)?.parse().ok(),
        "zfs" | "bcachefs" => None,
        _ => Some(1.0),
    }
}

/// The layer or file system below that compresses or deduplicates, as far as it says so.
pub(crate) fn packs(target: &Target) -> Option<String> {
    let layer = target.layers.iter().find(|layer| layer.kind == "zram");
    if let Some(layer) = layer {
        return Some(layer.name.clone());
    }
    let option = target.options.split(',').find(|option| option.starts_with("compress"));
    match option {
        Some(option) => Some(format!("{} with {option}", target.fs_type)),
        None if matches!(target.fs_type.as_str(), "zfs" | "bcachefs") => Some(target.fs_type.clone()),
        None => None,
    }
}

/// File systems that store data packed without an option of the mount: the image, a folder or the file says so.
const PACKED: [&str; 6] = ["bcachefs", "btrfs", "erofs", "ntfs3", "squashfs", "zfs"];

/// Returns `true` where the file system may hold fewer bytes on its device than a file has.
pub(crate) fn may_store_packed(target: &Target) -> bool {
    PACKED.contains(&target.fs_type.as_str()) || target.options.contains("compress")
}

/// Judges the payload of a pass: by the bytes that reached the device, and if these leave the question open, by its
/// samples and the layers below that pack data.
///
/// # Errors
/// When the pass does not write for storage, or too little was sampled.
pub(crate) fn by_payload(
    case: &Case<'_>,
    phase: &Phase,
    evidence: Evidence,
    by_samples: impl FnOnce(&Case<'_>, Option<&str>) -> Result<Finding, Halt>,
) -> Result<Finding, Halt> {
    if !matches!(phase.direction, Direction::Write | Direction::Mixed) {
        return Err(Halt::not_applicable("The pass does not write."));
    }
    let case = case.concerning_storage()?;
    let target = case.run.known_target(phase)?;
    match packs(target) {
        // Too few samples prove nothing.
        None if enough_samples(&case.run, phase) != Ok(true) => {
            Err(Halt::not_applicable("Too few writes were sampled, and no layer below is known to compress data."))
        }
        None => by_samples(&case, None),
        Some(packer) => {
            let sampled = |case: &Case<'_>| match enough_samples(&case.run, phase)? {
                true => by_samples(case, Some(&packer)),
                false => Err(Halt::undecided("Too few writes were sampled.")),
            };
            case.observed_first(evidence, |case| reached_whole(case, phase), sampled)
        }
    }
}

/// Returns `true` if all writes of the pass were sampled, or enough of them.
///
/// # Errors
/// When a fact is missing or partial.
pub(crate) fn enough_samples(run: &Run<'_>, phase: &Phase) -> Result<bool, String> {
    let samples = run.fact(phase, FactName::PayloadSamples)?;
    let writes = run.fact(phase, FactName::WriteCalls)?;
    Ok(samples > 0.0 && (samples >= writes || samples >= run.thresholds.ab404_samples_least_count.value.value))
}
