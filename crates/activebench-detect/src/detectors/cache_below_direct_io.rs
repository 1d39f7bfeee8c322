//! # What it finds
//! Direct I/O to a device whose data is behind a cache of this host: a loop device without direct I/O to its backing
//! file.
//!
//! # Why it matters
//! O_DIRECT bypasses the page cache of the file. The loop device then uses the page cache of its backing file, so the
//! figure still describes memory. The same is true of buffered reads of a file that was not in its own cache.
//!
//! # How it decides
//! It applies when a loop device with `dio` 0 is among the layers below the file. It compares the bytes at the device
//! with the bytes at the layers below it in the same time. The share of bytes that did not reach those layers
//! decides: from 5 % on it warns; from 20 % on it fails, and rates claimed for storage are misleading.
//!
//! It is silent for:
//!
//! - reads of which as many bytes passed below the loop device as above it: the cache was cold;
//! - a writing pass that syncs inside its clock, because the sync goes down through the loop device.
//!
//! The setting decides instead in two cases. Either the layers below were not observed, or the pass writes and no
//! bytes are missing there (older dirty pages may have been written meanwhile). Then `dio` 0 fails for passes with
//! 99.9 % of their bytes through O_DIRECT. If `dio` is unknown it is undecided.
//!
//! # When it is wrong
//! Reads by others from the disk below, issued by kernel workers, can hide that the cache answered.
//!
//! # What to do
//! Run `losetup --direct-io=on`, or name a file on the real device.
//!
//! # References
//! ANOLISA #2523. Writing 128 MiB "direct" to such a loop device made 128 MiB of dirty pages and moved 0 bytes on the
//! disk (measured).

use activebench_model::fact::FactName;
use activebench_model::finding::{Effect, Finding, Threshold};
use activebench_model::host::{Layer, Tier};
use activebench_model::phase::{Direction, Phase};
use activebench_model::units::Quantity;

use crate::cases::run::{Case, Firing, Halt, Observed, Weight, of_each_seen_phase, what_lies_below};
use crate::detector::{Basis, Correction, Decides, Detector, Evidence, Honest, Inference, Judge};
use crate::evidence::bytes::{BELOW_READ, BELOW_WRITTEN, DEVICE_READ, DEVICE_WRITTEN};
use crate::run::Run;

const FACTS: &[FactName] = &[FactName::DirectShare, FactName::SyncsInside, FactName::ReadBytes, FactName::WriteBytes];

const EVIDENCE: Evidence = Evidence {
    observed: &[
        FactName::DeviceReadBytes,
        FactName::DeviceWriteBytes,
        FactName::BelowReadBytes,
        FactName::BelowWriteBytes,
    ],
    inferred: &[Inference::DeviceSettings],
};

/// See the head of this file.
pub static DETECTOR: Detector = Detector {
    code: "AB205",
    name: "cache-below-direct-io",
    title: "Direct I/O was cached below",
    explained_by: &[],
    source: include_str!("cache_below_direct_io.rs"),
    judge: Judge::Run(judge_run),
    facts: FACTS,
    basis: Basis::ObservedFirst(EVIDENCE),
    decides: Decides::RatesOfStorage,
    correction: Some(Correction {
        rank: 60,
        honest: Honest::None("the bytes that passed the cache below the loop device are not known"),
        measured_instead: |_, _| "I/O through the page cache of a loop device's backing file",
    }),
    improvement: None,
    questions: &[],
};

fn judge_run(run: &Run<'_>) -> Vec<Finding> {
    of_each_seen_phase(&DETECTOR, run, judge)
}

fn judge(case: &Case<'_>, phase: &Phase) -> Result<Finding, Halt> {
    let case = &case.concerning_storage()?;
    let (run, limits) = (&case.run, case.thresholds());
    let target = run.known_target(phase)?;
    let known = target.tier != Tier::Unknown && (target.tier != Tier::Block || !target.layers.is_empty());
    let has_loop = target.layers.iter().any(|layer| layer.kind == "loop");
    if known && !has_loop {
        return Err(Halt::not_applicable("There is no loop device below the file."));
    }
    if run.moved(phase)? == 0.0 {
        return Err(Halt::not_applicable("No byte was moved. See AB106."));
    }
    if phase.direction == Direction::Discard {
        return Err(Halt::not_applicable("A discard moves no data that a cache could keep."));
    }
    if !has_loop {
        return Err(what_lies_below(target));
    }
    let direct = run.fact(phase, FactName::DirectShare)? >= limits.ab112_promised_share_ratio.value.value;
    if phase.direction == Direction::Write && !direct {
        return Err(Halt::not_applicable("The pass does not go past the page cache. AB301 and AB302 judge it."));
    }
    let Some(cached) = target.cached_layer() else { return Ok(case.silent("")) };
    if phase.direction == Direction::Write && run.fact(phase, FactName::SyncsInside)? > 0.0 {
        return Ok(case.silent("A sync inside the clock also syncs the file below the loop device."));
    }
    case.observed_first(EVIDENCE, |case| below_the_cache(case, phase, cached), |case| by_settings(case, cached, direct))
}

/// Compares the bytes at the device with those below the cache, in the same window.
fn below_the_cache(case: &Case<'_>, phase: &Phase, cached: &Layer) -> Observed {
    let (run, limits) = (&case.run, case.thresholds());
    let ways = match phase.direction {
        Direction::Read => vec![(DEVICE_READ, BELOW_READ)],
        Direction::Write => vec![(DEVICE_WRITTEN, BELOW_WRITTEN)],
        _ => vec![(DEVICE_READ, BELOW_READ), (DEVICE_WRITTEN, BELOW_WRITTEN)],
    };
    let (mut at_device, mut kept) = (0.0, 0.0);
    for (above, below) in ways {
        let (above, below) = match (run.amount(phase, above), run.amount_if_any(phase, below)) {
            (Ok(above), Ok(Some(below))) => (above, below),
            (_, Ok(None)) => return Observed::Open,
            (Err(why), _) | (_, Err(why)) => return Observed::Lost(why),
        };
        at_device += above.bytes();
        kept += below.short_of(&above);
    }
    if at_device == 0.0 {
        return Observed::Clean("No byte passed the device. See AB106 and AB201.".to_owned());
    }
    let share = kept / at_device;
    let (weight, threshold) = match share {
        share if share >= limits.ab205_cached_fail_ratio.value.value => {
            (Weight::Fail(Effect::Misleading), &limits.ab205_cached_fail_ratio)
        }
        share if share >= limits.ab205_cached_warn_ratio.value.value => {
            (Weight::Warn(Effect::Misleading), &limits.ab205_cached_warn_ratio)
        }
        // Older dirty pages may have been written meanwhile.
        _ if phase.direction != Direction::Read => return Observed::Open,
        _ => return Observed::Clean("The layers below the cache moved as many bytes as the device.".to_owned()),
    };
    let in_bytes = |value| Quantity { value, ..Quantity::bytes(0) };
    Observed::Found(Box::new(case.fires(Firing {
        weight,
        observed: Some(Quantity::ratio(share)),
        threshold: threshold.clone(),
        message: format!(
            "The loop device {} uses the page cache of {}. Of {} at the device, {} did not reach the layers below.",
            cached.name,
            backing(cached),
            in_bytes(at_device),
            in_bytes(kept)
        ),
        meaning: "The figure is that of this host's memory for the cached part of the backing file.".to_owned(),
        advice: advice(cached),
    })))
}

/// Judges by the setting of the loop device, without an observation.
fn by_settings(case: &Case<'_>, cached: &Layer, direct: bool) -> Result<Finding, Halt> {
    if !direct {
        return Err(Halt::not_applicable("The pass does not go past the page cache."));
    }
    if cached.loop_direct_io.is_none() {
        return Err(Halt::undecided(format!(
            "It is not known whether {} uses direct I/O on its backing file.",
            cached.name
        )));
    }
    Ok(case.fires(Firing {
        weight: Weight::Fail(Effect::Misleading),
        observed: Some(Quantity::count(0)),
        threshold: Threshold { value: Quantity::count(1), source: "`dio` of the loop device".to_owned() },
        message: format!(
            "The loop device {} uses the page cache of {}. O_DIRECT does not bypass it.",
            cached.name,
            backing(cached)
        ),
        meaning: "The figure is that of this host's memory for the cached part of the backing file.".to_owned(),
        advice: advice(cached),
    }))
}

fn backing(cached: &Layer) -> &str {
    cached.backing_file.as_deref().unwrap_or("its backing file")
}

fn advice(cached: &Layer) -> String {
    format!("run `losetup --direct-io=on /dev/{}`, or name a file on the real device", cached.name)
}
