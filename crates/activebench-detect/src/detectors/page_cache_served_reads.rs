//! # What it finds
//! Reads that the page cache served, in a figure that is taken for the storage.
//!
//! # Why it matters
//! A re-read at 11 GB/s is a fair figure for the page cache and a false one for the disk.
//!
//! # How it decides
//! It computes h = 1 - `cache_inserted_bytes` / buffered bytes read, from 0 to 1. Bytes that were read and did not
//! enter the page cache in this pass were there before. From 5 % on it warns. From 20 % on it fails, and the claim is
//! misleading.
//!
//! It counts pages that entered the cache, including priming by the same pass. In a pass that reads and writes, writes
//! insert pages, too: there it counts no more than the device or the tasks' accounting shows as read. It does not subtract bytes at the
//! device from bytes read, because readahead falsifies that difference. Direct reads are left out of both sides.
//!
//! It is undecided when the tasks' own I/O accounting shows clearly more bytes from storage than entered the cache:
//! the two sources contradict each other. In a pass through a mapping no call shows the bytes. There it fails when
//! the device delivered less than 5 % of what the tool reports as read; the cache served the rest.
//!
//! A tracer sees no page cache. There it takes what storage gave to the calls (`storage_read_bytes`, the growth of the
//! thread's own account over each read) for what entered, together with all that the tree read from storage in other
//! ways. It is undecided where these could be for the reads and would settle it.
//!
//! On FUSE a daemon can have all reads go past the page cache of its mount (`direct_io`), and no option shows it. There
//! reads of which nothing entered that cache are judged by what the daemon's devices gave (`daemon_device_read_bytes`): at
//! most 0.05 of them is from memory, a part is undecided, and so is a daemon that can have its data from elsewhere.
//!
//! # When it is wrong
//! A pass that reads a block twice reads it from the cache the second time. That is true, and AB401 reports it too.
//!
//! # What to do
//! Read directly (`iozone -I`), empty the cache between the passes (`-U`), or read twice the memory. Or take the
//! figure for the file system with its cache: `--subject cached-filesystem`.
//!
//! # References
//! mlcommons/storage #464, argonne-lcf/dlio_benchmark #277, IO500 #109; why not cachestat's formula: iovisor/bcc
//! #2366, #4357.

use activebench_model::advice::Improvement;
use activebench_model::fact::FactName;
use activebench_model::finding::{Effect, Finding};
use activebench_model::host::Tier;
use activebench_model::phase::{Direction, Phase};
use activebench_model::units::Quantity;

use crate::advice::wording::advise;
use crate::cases::run::{Case, Firing, Halt, Weight, fact_if_any, of_each_seen_phase};
use crate::detector::{Basis, Correction, Decides, Detector, Honest, Judge};
use crate::evidence::from_storage::FromStorage;
use crate::evidence::mapped_files::{self, Mapped};
use crate::run::Run;

const FACTS: &[FactName] = &[
    FactName::ReadBytes,
    FactName::CacheInsertedBytes,
    FactName::DirectShare,
    FactName::StorageReadBytes,
    FactName::DeviceReadBytes,
    FactName::Mappings,
];

/// The facts for a pass on FUSE.
const FACTS_ON_FUSE: &[FactName] = &[
    FactName::ReadBytes,
    FactName::CacheInsertedBytes,
    FactName::DirectShare,
    FactName::StorageReadBytes,
    FactName::DaemonDeviceReadBytes,
    FactName::Mappings,
];

/// See the head of this file.
pub static DETECTOR: Detector = Detector {
    code: "AB201",
    name: "page-cache-served-reads",
    title: "Reads came from the page cache",
    explained_by: &["AB106"],
    source: include_str!("page_cache_served_reads.rs"),
    judge: Judge::Run(judge_run),
    facts: FACTS,
    basis: Basis::Facts,
    decides: Decides::RatesOfStorage,
    correction: Some(Correction {
        rank: 50,
        honest: Honest::FromDevice,
        measured_instead: |_, _| "copying from the page cache",
    }),
    improvement: Some(Improvement::ReadFromStorage),
    questions: &[],
};

fn judge_run(run: &Run<'_>) -> Vec<Finding> {
    of_each_seen_phase(&DETECTOR, run, judge)
}

fn judge(case: &Case<'_>, phase: &Phase) -> Result<Finding, Halt> {
    if !matches!(phase.direction, Direction::Read | Direction::Mixed) {
        return Err(Halt::not_applicable("The pass does not read."));
    }
    let case = &case.concerning_storage()?;
    let run = &case.run;
    if run.target_of(phase).is_some_and(|target| target.tier == Tier::Memory) {
        return Err(Halt::not_applicable("The file is in memory. See AB106."));
    }
    if let Some(Mapped::Cached { read, from_device }) = mapped_files::of(run, phase)? {
        let case = &case.resting_on(mapped_files::FACTS.to_vec());
        return Ok(case.fires(served_from_mapping(case, phase, read, from_device)));
    }
    let fuse = case.resting_on(FACTS_ON_FUSE.to_vec());
    let case = if on_fuse(run, phase) { &fuse } else { case };
    run.moved(phase)?;
    let read = run.fact(phase, FactName::ReadBytes)?;
    if read == 0.0 {
        return Err(Halt::not_applicable("No byte was read."));
    }
    let direct = run.fact(phase, FactName::DirectShare)?;
    if direct >= 1.0 {
        return Err(Halt::not_applicable("All bytes were read with O_DIRECT. AB204 checks whether that was honoured."));
    }
    let buffered = read * (1.0 - direct);
    let limits = case.thresholds();
    let in_bytes = |value| Quantity { value, ..Quantity::bytes(0) };
    let served_of = |stored: f64| (1.0 - stored / buffered).clamp(0.0, 1.0);
    let inserted = match run.given_by_storage(phase) {
        None if on_fuse(run, phase) => passed_to_daemon(run, phase, direct, read)?,
        None => inserted_by_reads(run, phase, direct)?,
        Some(_) if direct > 0.0 => {
            return Err(Halt::undecided("A part was read with O_DIRECT, and the page cache was not observed."));
        }
        Some(from_storage) => {
            let FromStorage { by_calls, at_most } = from_storage?;
            let warn = limits.ab201_cache_share_warn_ratio.value.value;
            if served_of(by_calls) >= warn && served_of(at_most) < warn {
                return Err(Halt::undecided(format!(
                    "The reads took {} from storage, and {} more was read in other ways, maybe for them.",
                    in_bytes(by_calls),
                    in_bytes(at_most - by_calls)
                )));
            }
            at_most.min(buffered.max(by_calls))
        }
    };
    let served = served_of(inserted);
    if served < limits.ab201_cache_share_warn_ratio.value.value {
        return Ok(case.silent(""));
    }
    if let Some(stored) = fact_if_any(phase, FactName::StorageReadBytes)?
        && direct == 0.0
        && stored > inserted + read * limits.ab201_contradiction_ratio.value.value
    {
        return Err(Halt::undecided(format!(
            "{} entered the page cache. The kernel's accounting of the tasks shows {} read from storage.",
            in_bytes(inserted),
            in_bytes(stored)
        )));
    }
    let (weight, threshold) = match served >= limits.ab201_cache_share_fail_ratio.value.value {
        true => (Weight::Fail(Effect::Misleading), &limits.ab201_cache_share_fail_ratio),
        false => (Weight::Warn(Effect::Misleading), &limits.ab201_cache_share_warn_ratio),
    };
    Ok(case.fires(Firing {
        weight,
        observed: Some(Quantity::ratio(served)),
        threshold: threshold.clone(),
        message: match inserted {
            _ if run.given_by_storage(phase).is_some() => format!(
                "Storage gave {} of the {}. The rest was in memory, or was never written.",
                in_bytes(inserted),
                in_bytes(buffered)
            ),
            0.0 => format!("All of the {} was already in memory. The disk read nothing.", in_bytes(buffered)),
            _ => format!(
                "{} of the {} was already in memory. The disk read {}.",
                Quantity::ratio(served),
                in_bytes(buffered),
                in_bytes(inserted)
            ),
        },
        meaning: match served >= 0.5 {
            true => "The figure is mostly the rate of copying from memory.".to_owned(),
            false => "A part of the figure is the rate of copying from memory.".to_owned(),
        },
        advice: advise(run, Some(phase), Improvement::ReadFromStorage),
    }))
}

/// Returns true for a file on FUSE, and for one of which nobody knows where it is.
fn on_fuse(run: &Run<'_>, phase: &Phase) -> bool {
    run.target_of(phase).is_none_or(|target| target.tier == Tier::Fuse)
}

/// Returns the bytes that the page cache of a FUSE mount did not answer. A daemon can have reads go past that cache
/// (`direct_io`), which no option of the mount shows: then nothing enters it, and what the daemon's devices gave says
/// that the reads were not answered by it.
fn passed_to_daemon(run: &Run<'_>, phase: &Phase, direct: f64, read: f64) -> Result<f64, Halt> {
    let inserted = inserted_by_reads(run, phase, direct)?;
    let limits = run.thresholds;
    let served = 1.0 - inserted / (read * (1.0 - direct));
    if served < limits.ab201_cache_share_warn_ratio.value.value {
        return Ok(inserted);
    }
    let at_devices = run.fact(phase, FactName::DaemonDeviceReadBytes)?;
    if run.daemon_of(phase).is_none_or(|daemon| !daemon.elsewhere.is_empty()) {
        return Err(Halt::undecided(
            "The reads may have gone past the page cache to a daemon that can have its data from elsewhere.",
        ));
    }
    let share = at_devices / read;
    if share > limits.ab106_daemon_nothing_ratio.value.value && inserted < at_devices {
        // AB106 compares what the daemon was asked for with what its devices gave.
        return match share >= limits.ab106_daemon_all_ratio.value.value {
            true => Ok(read),
            false => Err(Halt::undecided("A part of the reads may have gone past the page cache to the daemon.")),
        };
    }
    Ok(inserted)
}

/// Returns the bytes that reads brought into the page cache. Writes of new blocks insert pages, too: in a pass that also
/// writes, reads inserted no more than the device read.
fn inserted_by_reads(run: &Run<'_>, phase: &Phase, direct: f64) -> Result<f64, String> {
    let inserted = run.fact(phase, FactName::CacheInsertedBytes)?;
    let on_device = run.target_of(phase).is_some_and(|target| target.tier == Tier::Block);
    if phase.direction != Direction::Mixed || direct > 0.0 || !on_device {
        return Ok(inserted);
    }
    let [stored, device] =
        [FactName::StorageReadBytes, FactName::DeviceReadBytes].map(|name| phase.facts.complete(name).ok());
    Ok(match stored.zip(device) {
        Some((stored, device)) => inserted.min(stored.max(device)),
        None => inserted,
    })
}

fn served_from_mapping(case: &Case<'_>, phase: &Phase, read: f64, from_device: f64) -> Firing {
    let in_bytes = |value| Quantity { value, ..Quantity::bytes(0) };
    Firing {
        weight: Weight::Fail(Effect::Misleading),
        observed: Some(Quantity::ratio(1.0 - from_device / read)),
        threshold: case.thresholds().ab201_cache_share_fail_ratio.clone(),
        message: format!(
            "{} was read through a mapping. The disk read {} of it.",
            in_bytes(read),
            in_bytes(from_device)
        ),
        meaning: "The figure is the rate of reading memory.".to_owned(),
        advice: advise(&case.run, Some(phase), Improvement::ReadFromStorage),
    }
}
