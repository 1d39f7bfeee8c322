//! # What it finds
//! A working set that a cache inside the device, or in the array behind it, can hold.
//!
//! # Why it matters
//! The cache answers as long as the working set is that small. A larger working set is served by the medium.
//!
//! # How it decides
//! It compares the distinct bytes touched (`unique_blocks` x `block_grid_bytes`) with the size of the cache. Fewer
//! bytes warn. The size comes from `verify --device-cache`, or from sysfs (the caching device of bcache). If neither
//! gives it, two rules apply:
//!
//! - An array, a controller with a cache or another machine serves the volume: a note.
//! - Elsewhere disks do not report the size of their cache. It then judges direct I/O and synced writes. It warns
//!   when they return to each block of a set of at most 16 MiB eight times or more on average; any device cache holds
//!   such a set. Repetitions that the command asks for (loops, tasks that share a file) do not count. A pass that
//!   ends by time, or repeats one block by design, is a note.
//!
//! # When it is wrong
//! A cache that is turned off, or full of other data, does not answer.
//!
//! # What to do
//! Touch several times as much data as the cache holds.
//!
//! # References
//! mlcommons/storage #464: 37 TB that an array's cache served.

use activebench_model::fact::FactName;
use activebench_model::finding::{Effect, Finding, Threshold};
use activebench_model::host::{Target, Tier};
use activebench_model::phase::{Direction, Pattern, Phase};
use activebench_model::units::{Quantity, significant};

use crate::cases::run::{Case, Firing, Halt, Weight, of_each_seen_phase};
use crate::detector::{Basis, Decides, Detector, Inference, Judge};
use crate::run::Run;

const FACTS: &[FactName] = &[
    FactName::UniqueBlocks,
    FactName::BlockGrid,
    FactName::DirectShare,
    FactName::ReadBytes,
    FactName::WriteBytes,
    FactName::UnsyncedBytes,
];

/// See the head of this file.
pub static DETECTOR: Detector = Detector {
    code: "AB206",
    name: "working-set-fits-device-cache",
    title: "The data fits into the device's cache",
    explained_by: &[],
    source: include_str!("working_set_fits_device_cache.rs"),
    judge: Judge::Run(judge_run),
    facts: FACTS,
    basis: Basis::Circumstances(&[Inference::DeviceSettings]),
    decides: Decides::Nothing,
    correction: None,
    improvement: None,
    questions: &[],
};

fn judge_run(run: &Run<'_>) -> Vec<Finding> {
    of_each_seen_phase(&DETECTOR, run, judge)
}

/// A cache and the source of its size.
struct Cache {
    bytes: u64,
    said_by: String,
}

fn judge(case: &Case<'_>, phase: &Phase) -> Result<Finding, Halt> {
    let case = &case.concerning_storage()?;
    let run = &case.run;
    let target = run.known_target(phase)?;
    if target.tier == Tier::Memory {
        return Err(Halt::not_applicable("The file is in memory. See AB106."));
    }
    let working_set = || -> Result<f64, Halt> {
        Ok(run.fact(phase, FactName::UniqueBlocks)? * run.fact(phase, FactName::BlockGrid)?)
    };
    let in_bytes = |value| Quantity { value, ..Quantity::bytes(0) };
    if let Some(cache) = cache(case, target)? {
        let touched = working_set()?;
        let share = &case.thresholds().ab206_cache_warn_ratio;
        if touched >= cache.bytes as f64 * share.value.value {
            return Ok(case.silent(""));
        }
        let advice = format!("touch several times as much as the {} of the cache", Quantity::bytes(cache.bytes));
        return Ok(case.fires(Firing {
            weight: Weight::Warn(Effect::Unverifiable),
            observed: Some(Quantity::ratio(touched / cache.bytes as f64)),
            threshold: share.clone(),
            message: format!(
                "The pass touched {} of distinct data. The device's cache has {} ({}).",
                in_bytes(touched),
                Quantity::bytes(cache.bytes),
                cache.said_by
            ),
            meaning: "The figure may be that of the cache. A larger working set does not fit into it.".to_owned(),
            advice,
        }));
    }
    let Some(remote) = remote(case, target)? else {
        return again_and_again(case, phase);
    };
    let touched = working_set()?;
    Ok(case.fires(Firing {
        weight: Weight::Note,
        observed: Some(in_bytes(touched)),
        threshold: Threshold {
            value: Quantity::bytes(0),
            source: "the size of the cache is not known (mlcommons/storage #464)".to_owned(),
        },
        message: format!(
            "The pass touched {} of distinct data on {remote}. The size of its cache is not known.",
            in_bytes(touched)
        ),
        meaning: "A cache on the server's side may have answered.".to_owned(),
        advice: "state the size of its cache with `--device-cache`, and touch several times as much".to_owned(),
    }))
}

/// Judges without a known cache size: finds a set so small, and visited so often, that any cache can answer.
fn again_and_again(case: &Case<'_>, phase: &Phase) -> Result<Finding, Halt> {
    let (run, limits) = (&case.run, case.thresholds());
    let unknown = || {
        Halt::not_applicable(
            "The size of the device's cache is not known. State it with \
                                           `--device-cache`.",
        )
    };
    if matches!(phase.direction, Direction::None | Direction::Discard) || phase.names.is_some() {
        return Err(unknown());
    }
    let moved = run.moved(phase)?;
    // The device's cache does not see what the page cache answered.
    let to_device = moved > 0.0
        && (run.fact(phase, FactName::DirectShare)? >= 1.0
            || phase.direction == Direction::Write && run.fact(phase, FactName::UnsyncedBytes)? == 0.0);
    if !to_device {
        return Err(unknown());
    }
    let set = run.fact(phase, FactName::UniqueBlocks)? * run.fact(phase, FactName::BlockGrid)?;
    let visits = if set > 0.0 { moved / set / f64::from(phase.loops.max(1)) } else { 0.0 };
    let (least, most) = (&limits.ab206_visits_least_count, &limits.ab206_small_set_bytes);
    if visits < least.value.value || set > most.value.value {
        return Err(unknown());
    }
    let said = phase.unread.is_some() || phase.time_limit_ns.is_some() || phase.pattern == Pattern::SingleBlock;
    let in_bytes = |value| Quantity { value, ..Quantity::bytes(0) };
    Ok(case.fires(Firing {
        weight: if said { Weight::Note } else { Weight::Warn(Effect::Unverifiable) },
        observed: Some(in_bytes(set)),
        threshold: most.clone(),
        message: format!(
            "{} went to or came from the same {}. Each block was visited {} times.",
            in_bytes(moved),
            in_bytes(set),
            significant(moved / set)
        ),
        meaning: "This little data fits into any device's cache, so the figure may be that of the cache.".to_owned(),
        advice: "touch each block once, in a region of several times the device's cache".to_owned(),
    }))
}

/// The cache of the target: the size that the user declared, otherwise the largest one that sysfs reports.
fn cache(case: &Case<'_>, target: &Target) -> Result<Option<Cache>, Halt> {
    let manifest = case.run.manifest;
    if let Some(bytes) = manifest.choices.device_cache_bytes.filter(|bytes| *bytes > 0) {
        return Ok(Some(Cache { bytes, said_by: "--device-cache".to_owned() }));
    }
    let hardware = manifest.host.hardware.as_ref();
    let hardware = hardware.ok_or_else(|| Halt::undecided("This run did not record the caches of the devices."))?;
    let below = hardware.caches.iter().filter(|cache| target.layers.iter().any(|layer| layer.device == cache.device));
    let largest = below.max_by_key(|cache| cache.bytes);
    Ok(largest.map(|cache| Cache { bytes: cache.bytes, said_by: cache.source.clone() }))
}

/// Describes what serves the volume, when that is not this machine alone.
fn remote(case: &Case<'_>, target: &Target) -> Result<Option<String>, Halt> {
    if target.tier == Tier::Network {
        return Ok(Some(format!("a network file system ({})", target.fs_type)));
    }
    let hardware = case.run.manifest.host.hardware.as_ref();
    let hardware = hardware.ok_or_else(|| Halt::undecided("This run did not record the server of the volume."))?;
    let mut below =
        hardware.remote.iter().filter(|volume| target.layers.iter().any(|layer| layer.device == volume.device));
    Ok(below.next().map(|volume| format!("{} ({})", volume.name, volume.source)))
}
