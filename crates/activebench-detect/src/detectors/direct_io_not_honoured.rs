//! # What it finds
//! Files opened with O_DIRECT whose data still went through the page cache.
//!
//! # Why it matters
//! A file system may accept O_DIRECT and silently fall back to buffered I/O. The figure is then read as direct, which
//! is wrong.
//!
//! # How it decides
//! It compares `direct_cached_bytes`, the bytes of direct calls that entered the page cache, with all direct bytes.
//! Above 0.1 % it warns. From 5 % on it fails, and the claim is misleading.
//!
//! Requests of libaio and io_uring do their work outside their own calls. When all bytes of a pass were direct, the
//! bytes that its processes put into the cache for its files (`task_inserted_bytes`) therefore count as well. In a
//! mix that is reported apart, the direction of these bytes is unknown, so it is undecided.
//!
//! Bytes that the device read and that did not enter the cache went past it. At most the remaining bytes of the pass
//! can have been served from the cache. Any other bytes that entered the cache were read ahead.
//!
//! Where each write of a pass was synchronous (`sync_write_ratio`), it is a note: a write was at the device when it
//! returned, and a copy of it in the cache makes it no faster. btrfs takes synchronous direct writes of less than a block
//! through the cache.
//!
//! Two more cases weigh less, because btrfs serves the first read into each fresh buffer through the page cache:
//!
//! - The device moved every byte, and the bytes through the cache fit in the buffers of the requests (at least 8
//!   MiB): a note.
//! - Such a part came from the cache, and the device moved all the rest: it warns.
//!
//! # When it is wrong
//! An unaligned last block may be buffered by design, and a file system may occasionally serve a call from its cache.
//! This does not change the figure. tmpfs has no device behind it: see AB106.
//!
//! # What to do
//! Check `statx` for `STATX_DIOALIGN`. On btrfs, switch checksums off for the file (`chattr +C`). On ext4, avoid
//! `data=journal`, encryption and verity.
//!
//! # References
//! Kernel commits 825cf206ed51 and 968f19c5b1b7 (btrfs in Linux 6.15: falls back when data is checksummed);
//! kdave/btrfs-progs #954, #1139; LTP `statx10`.

use activebench_model::fact::FactName;
use activebench_model::finding::{Effect, Finding};
use activebench_model::host::{Target, Tier};
use activebench_model::phase::{Direction, Phase, Submission};
use activebench_model::units::Quantity;

use crate::cases::run::{Case, Firing, Halt, Weight, of_each_seen_phase};
use crate::detector::{Basis, Correction, Decides, Detector, Honest, Judge, Question};
use crate::evidence::device_layers::through_fresh_buffers;
use crate::evidence::rebuilt_figure::buffers_bytes;
use crate::run::Run;

const FACTS: &[FactName] = &[
    FactName::DirectShare,
    FactName::DirectCachedBytes,
    FactName::TaskInsertedBytes,
    FactName::ReadBytes,
    FactName::WriteBytes,
    FactName::DeviceReadBytes,
    FactName::SyncWriteShare,
];

/// Most bytes that the buffers of a benchmark's requests are assumed to hold together, when nothing is known of them.
const FRESH_BUFFERS_BYTES: f64 = 8.0 * 1024.0 * 1024.0;

/// See the head of this file.
pub static DETECTOR: Detector = Detector {
    code: "AB204",
    name: "direct-io-not-honoured",
    title: "Direct I/O went through the page cache",
    explained_by: &[],
    source: include_str!("direct_io_not_honoured.rs"),
    judge: Judge::Run(judge_run),
    facts: FACTS,
    basis: Basis::Facts,
    decides: Decides::RatesOfStorage,
    correction: Some(Correction {
        rank: 100,
        honest: Honest::ByDirection,
        measured_instead: |_, _| "I/O through the page cache",
    }),
    improvement: None,
    questions: &[Question::WasItTuned],
};

fn judge_run(run: &Run<'_>) -> Vec<Finding> {
    of_each_seen_phase(&DETECTOR, run, |case, phase| {
        let case = &case.concerning_storage()?;
        let run = &case.run;
        let target = run.target_of(phase);
        if target.is_some_and(|target| target.tier == Tier::Memory) {
            return Err(Halt::not_applicable("The file is in memory. See AB106."));
        }
        if phase.direction == Direction::Discard {
            return Err(Halt::not_applicable("Discards move no data."));
        }
        let moved = run.moved(phase)?;
        let direct = run.fact(phase, FactName::DirectShare)? * moved;
        if direct <= 0.0 {
            return Err(Halt::not_applicable("No byte went through a descriptor with O_DIRECT."));
        }
        let limits = case.thresholds();
        let by_calls = run.fact(phase, FactName::DirectCachedBytes)?;
        let cached = match direct >= moved {
            true => by_calls.max(inserted_by_tasks(case, phase, by_calls, direct)?),
            false => by_calls,
        };
        let share = cached / direct;
        if share <= limits.ab204_cached_warn_ratio.value.value {
            return Ok(case.silent(""));
        }
        // Data that the first reads into fresh buffers found in the cache did not enter it.
        let from_buffers = fresh_buffers(case, phase, target, direct >= moved)?;
        let few = phase.direction == Direction::Read && cached <= buffers_bytes(phase).max(FRESH_BUFFERS_BYTES);
        let whole = few && run.fact(phase, FactName::DeviceReadBytes)? >= 0.99 * moved;
        let is_synchronous = phase.direction == Direction::Write && run.fact(phase, FactName::SyncWriteShare)? >= 1.0;
        let (weight, limit) = match share >= limits.ab204_cached_fail_ratio.value.value {
            _ if whole || is_synchronous => (Weight::Note, &limits.ab204_cached_warn_ratio),
            true if from_buffers >= cached => (Weight::Warn(Effect::Misleading), &limits.ab204_cached_warn_ratio),
            true => (Weight::Fail(Effect::Misleading), &limits.ab204_cached_fail_ratio),
            false => (Weight::Warn(Effect::Misleading), &limits.ab204_cached_warn_ratio),
        };
        let in_bytes = |value| Quantity { value, ..Quantity::bytes(0) };
        Ok(case.fires(Firing {
            weight,
            observed: Some(Quantity::ratio(cached.max(from_buffers) / direct)),
            threshold: limit.clone(),
            message: match from_buffers > cached {
                true => format!(
                    "{} with O_DIRECT. {} of the {} of direct I/O came from the page cache.",
                    case.claimed(),
                    in_bytes(from_buffers),
                    in_bytes(direct)
                ),
                false => format!(
                    "{} with O_DIRECT. {} of the {} of direct I/O entered the page cache.",
                    case.claimed(),
                    in_bytes(cached),
                    in_bytes(direct)
                ),
            },
            meaning: match share >= limits.ab204_cached_fail_ratio.value.value {
                _ if whole => "A part used the page cache, but all of it came from the device.",
                _ if is_synchronous => "Each write was synchronous, so the page cache made none of them faster.",
                _ if from_buffers >= cached => {
                    "On btrfs, the page cache serves the first read into each fresh buffer. That part is faster."
                }
                true => "The file system served direct I/O through its cache, so the figure is not direct.",
                false => "The file system served a small part of the direct I/O through its cache.",
            }
            .to_owned(),
            advice: match target.map(|target| target.fs_type.as_str()) {
                Some("btrfs") => {
                    "use a file without checksums (an empty one after `chattr +C`), or another file system".to_owned()
                }
                Some("ext4") => {
                    "use a file without data journalling, encryption and verity, or another file system".to_owned()
                }
                _ => "use a file system that reports direct I/O for the file (statx, STATX_DIOALIGN)".to_owned(),
            },
        }))
    })
}

/// Bytes of a direct reading pass that no device delivered because btrfs served the first read into each buffer from the
/// page cache. 0 when that does not explain all missing bytes.
fn fresh_buffers(case: &Case<'_>, phase: &Phase, target: Option<&Target>, all_direct: bool) -> Result<f64, Halt> {
    let most = target.map_or(0.0, |target| through_fresh_buffers(target, phase));
    if !all_direct || most == 0.0 {
        return Ok(0.0);
    }
    let missing = (case.run.moved(phase)? - case.run.fact(phase, FactName::DeviceReadBytes)?).max(0.0);
    Ok(if missing <= most { missing } else { 0.0 })
}

/// Bytes that a pass's processes put into the page cache. Returns `by_calls` where that already decides the outcome.
fn inserted_by_tasks(case: &Case<'_>, phase: &Phase, by_calls: f64, direct: f64) -> Result<f64, Halt> {
    let (run, limits) = (&case.run, case.thresholds());
    if by_calls >= limits.ab204_cached_fail_ratio.value.value * direct {
        return Ok(by_calls);
    }
    let inserted = run.fact(phase, FactName::TaskInsertedBytes)?;
    if run.other_direction(phase).is_some()
        && inserted > by_calls
        && inserted > limits.ab204_cached_warn_ratio.value.value * direct
    {
        // A synchronous call already shows what it put there.
        return match phase.submission {
            Submission::Synchronous => Ok(by_calls),
            _ => Err(Halt::undecided(format!(
                "{} entered the page cache. Reads and writes of the mix cannot be distinguished.",
                Quantity { value: inserted, ..Quantity::bytes(0) }
            ))),
        };
    }
    if phase.direction != Direction::Read || inserted <= limits.ab204_cached_warn_ratio.value.value * direct {
        return Ok(inserted);
    }
    let past_the_cache = (run.fact(phase, FactName::DeviceReadBytes)? - inserted).max(0.0);
    Ok(inserted.min((run.moved(phase)? - past_the_cache).max(by_calls)))
}
