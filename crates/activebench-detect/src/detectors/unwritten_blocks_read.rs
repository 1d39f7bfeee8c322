//! # What it finds
//! Reads of blocks that were never written: holes, or extents that are allocated but empty.
//!
//! # Why it matters
//! The file system answers such reads with zeros and sends no request to a device. The figure is the rate of clearing
//! memory.
//!
//! # How it decides
//! It judges passes that only read, on a block device that keeps its data. It counts bytes that no device delivered:
//!
//! - O_DIRECT: bytes read that the device did not deliver for the phase's files.
//! - Page cache: bytes that entered it while the clock ran, without the device reading them in the same time.
//! - A loop device, device mapper or RAID, with either kind of read: bytes that the device delivered and the layers
//!   below did not read. There the image file behind the device was never written.
//!
//! A tracer sees no device. There it judges direct reads alone, by the bytes that storage gave to the calls
//! (`storage_read_bytes`).
//!
//! As a share of the bytes read, above 0.1 % it warns. Above 1 % it fails, and rates claimed for storage are
//! misleading.
//!
//! Some bytes are not counted as missing, or leave it undecided:
//!
//! - Bytes that passed the device, belong to nobody else and could not be attributed to a file count as delivered.
//! - At the layers below, less than 1 MiB of buffered reads is left out: requests in flight when the clock starts and
//!   stops. Below a page cache (a loop device without direct I/O) AB205 judges.
//! - The device counts by file. Where other passes read the same files at the same time (`others_read_bytes`), only
//!   bytes missing beyond what the others read are certainly this pass's. Bytes that can be theirs or its own are
//!   undecided.
//! - Where a file system may store data packed (btrfs, squashfs, erofs and the like, or a mount with a compress option),
//!   the device reads fewer bytes than are delivered. There it is undecided.
//! - btrfs serves the first direct read into each fresh buffer through the page cache. Up to one buffer per operation
//!   in flight is therefore silent.
//!
//! The two rules for packed data and btrfs do not apply to the layers below. Whether an image has holes or is stored
//! packed, the disk did not read what the figure counts.
//!
//! # When it is wrong
//! Files stored in their inode (ext4 up to 150 bytes) need no data block. Data that was prefetched before the clock
//! ran is already in the cache and does not enter it again. Reads by others from the disk below, issued by kernel
//! workers, can hide a hole but never create one.
//!
//! # What to do
//! Write the whole file with data before it is read. fio lays files out only when they are missing or too small; it
//! takes a sparse file of the right size as it is.
//!
//! # References
//! fio #719, #1473; ior #261; elbencho prints a note for sparse files. fio 3.33 on such a file: 420,000 direct reads
//! per second, 0 bytes from the device (measured).

use activebench_model::fact::FactName;
use activebench_model::finding::{Effect, Finding};
use activebench_model::host::{Target, Tier};
use activebench_model::phase::{Direction, Phase};
use activebench_model::units::Quantity;

use crate::cases::run::{Case, Firing, Halt, Weight, fact_if_any, of_each_seen_phase, what_lies_below};
use crate::detector::{Basis, Correction, Decides, Detector, Honest, Judge};
use crate::evidence::bytes::{
    Amount, BELOW_READ, Completed, DEVICE_READ, DEVICE_READ_BEGUN, INSERTED, INSERTED_OF_PASS, OfFiles, Own, READ,
    inserted_before,
};
use crate::evidence::device_layers::{Missing, below, from_device, lies_on, read_by_all, through_fresh_buffers};
use crate::evidence::from_storage::FromStorage;
use crate::evidence::payload::may_store_packed;
use crate::run::Run;
use crate::thresholds::Thresholds;

const FACTS: &[FactName] = &[
    FactName::ReadBytes,
    FactName::DirectShare,
    FactName::DeviceReadBytes,
    FactName::DeviceTotalBytes,
    FactName::ForeignBytes,
    FactName::DeviceReadBegunBytes,
    FactName::BelowReadBytes,
    FactName::CacheInsertedBytes,
    FactName::WindowInsertedBytes,
    FactName::DirectCachedBytes,
    FactName::WriteBytes,
    FactName::OthersReadBytes,
    FactName::StorageReadBytes,
];

/// See the head of this file.
pub static DETECTOR: Detector = Detector {
    code: "AB207",
    name: "unwritten-blocks-read",
    title: "Blocks were read that were never written",
    explained_by: &[],
    source: include_str!("unwritten_blocks_read.rs"),
    judge: Judge::Run(judge_run),
    facts: FACTS,
    basis: Basis::Facts,
    decides: Decides::RatesOfStorage,
    correction: Some(Correction {
        rank: 80,
        honest: Honest::FromDevice,
        measured_instead: |_, _| "reading blocks without data, in part",
    }),
    improvement: None,
    questions: &[],
};

fn judge_run(run: &Run<'_>) -> Vec<Finding> {
    of_each_seen_phase(&DETECTOR, run, judge)
}

fn judge(case: &Case<'_>, phase: &Phase) -> Result<Finding, Halt> {
    if phase.direction != Direction::Read {
        return Err(Halt::not_applicable("The pass is not a pure read."));
    }
    let case = &case.concerning_storage()?;
    let (run, limits) = (&case.run, case.thresholds());
    let target = run.known_target(phase)?;
    match target.tier {
        Tier::Block => {}
        Tier::Memory => return Err(Halt::not_applicable("The file is in memory. See AB106.")),
        Tier::Network | Tier::Fuse => {
            return Err(Halt::not_applicable(format!(
                "The blocks of {} are not visible from this host.",
                target.fs_type
            )));
        }
        Tier::Unknown => return Err(what_lies_below(target)),
    }
    let read = run.moved(phase)?;
    if read == 0.0 {
        return Err(Halt::not_applicable("No byte was read. See AB106."));
    }
    if run.fact(phase, FactName::WriteBytes)? > 0.0 {
        return Err(Halt::not_applicable("The pass also writes, so it may read its own data."));
    }
    let direct = run.fact(phase, FactName::DirectShare)?;
    if let Some(from_storage) = run.given_by_storage(phase).filter(|_| direct >= 1.0) {
        return by_accounts(case, phase, target, from_storage?);
    }
    let read_by_calls = run.amount(phase, READ)?;
    let delivered = from_device(run, phase)?;
    let missing = if direct >= 1.0 {
        if fact_if_any(phase, FactName::DirectCachedBytes)?.unwrap_or(0.0) > 0.0 {
            return Err(Halt::not_applicable("The direct reads passed the page cache. See AB204."));
        }
        Missing::of(run, phase, delivered.short_of(&read_by_all(run, phase)?))?
    } else if direct == 0.0 {
        let missing = through_the_cache(run, phase, &read_by_calls, &delivered)?.min(read);
        Missing { least: missing, most: missing }
    } else {
        return Err(Halt::undecided(
            "Direct and buffered reads are mixed. They cannot be distinguished at the device.",
        ));
    };
    let how = if direct >= 1.0 { "read with O_DIRECT" } else { "read through the page cache" };
    let below = Missing::of(run, phase, missing_below(run, phase, direct, limits)?)?;
    let warns_from = read * limits.ab207_unwritten_warn_ratio.value.value;
    if missing.least.max(below.least) <= warns_from && missing.most.max(below.most) > warns_from {
        return Err(Halt::undecided(format!(
            "{} of the reads of these files did not come from a device. Other passes read them too, so the share of \
             this pass is not known.",
            in_bytes(missing.most.max(below.most))
        )));
    }
    let (missing, missing_below) = (missing.least, below.least);
    if missing_below > missing {
        let lies_on = lies_on(target);
        return Ok(judged(
            case,
            missing_below,
            read,
            Words {
                message: format!(
                    "{} was {how} ({lies_on}). The devices below did not read {} of it.",
                    in_bytes(read),
                    in_bytes(missing_below)
                ),
                meaning: "A layer between produced these bytes from holes, unwritten blocks or compressed data. The \
                          figure is not that of the disk.",
                advice: "write the whole device with data before reading it (`dd if=/dev/urandom`), after it was \
                         created or discarded",
            },
        ));
    }
    if missing <= warns_from {
        return Ok(case.silent(""));
    }
    if direct >= 1.0 && missing <= through_fresh_buffers(target, phase) {
        return Ok(case.silent("On btrfs, the page cache serves the first direct read into each fresh buffer."));
    }
    if may_store_packed(target) {
        return Err(Halt::undecided(format!(
            "The device delivered {} less than was read. Compressed extents of {} may explain it.",
            in_bytes(missing),
            target.fs_type
        )));
    }
    Ok(judged(
        case,
        missing,
        read,
        Words {
            message: format!(
                "{} was {how}. The device did not read {} of it: these are holes, or blocks that were never written.",
                in_bytes(read),
                in_bytes(missing)
            ),
            meaning: "The file system produced these bytes, so the figure is not that of the device.",
            advice: "write the whole file with data before reading it (`dd if=/dev/urandom`, or the tool's own \
                     writing pass), and do not create it with truncate or fallocate",
        },
    ))
}

/// Judges direct reads where a tracer observed, by what storage gave to the calls.
fn by_accounts(case: &Case<'_>, phase: &Phase, target: &Target, from_storage: FromStorage) -> Result<Finding, Halt> {
    let (run, limits) = (&case.run, case.thresholds());
    let read = run.moved(phase)?;
    let warns_from = read * limits.ab207_unwritten_warn_ratio.value.value;
    let FromStorage { by_calls, at_most } = from_storage;
    let (least, most) = ((read - at_most).max(0.0), (read - by_calls).max(0.0));
    if least > warns_from && may_store_packed(target) {
        return Err(Halt::undecided(format!(
            "Storage gave {} less than was read. Compressed extents of {} may explain it.",
            in_bytes(least),
            target.fs_type
        )));
    }
    if least <= warns_from && most > warns_from {
        return Err(Halt::undecided(format!(
            "{} of the reads did not come from storage by themselves. As much was read in other ways, maybe for them.",
            in_bytes(most)
        )));
    }
    if least <= warns_from {
        // Layers below the device are not seen: where there are any, what they read is not known.
        below(run, phase, BELOW_READ)?;
        return Ok(case.silent(""));
    }
    let facts = vec![FactName::ReadBytes, FactName::WriteBytes, FactName::DirectShare, FactName::StorageReadBytes];
    let case = &case.resting_on(facts);
    Ok(judged(
        case,
        least,
        read,
        Words {
            message: format!(
                "{} was read with O_DIRECT. Storage did not give {} of it: these are holes, or blocks that were never written.",
                in_bytes(read),
                in_bytes(least)
            ),
            meaning: "The file system produced these bytes, so the figure is not that of the device.",
            advice: "write the whole file with data before reading it (`dd if=/dev/urandom`, or the tool's own \
                     writing pass), and do not create it with truncate or fallocate",
        },
    ))
}

/// The texts of a finding.
struct Words {
    message: String,
    meaning: &'static str,
    advice: &'static str,
}

/// Bytes that entered the page cache and were read from no device. It is the smaller of two differences, each of
/// which can be above 0 in an honest pass:
///
/// - bytes that entered the cache while the clock ran, less the device reads in progress then. A hole that only readahead
///   met makes it large.
/// - bytes that the calls read and that were not in the cache before, less the device reads that completed. Data from an
///   earlier pass makes it large.
fn through_the_cache(
    run: &Run<'_>,
    phase: &Phase,
    read: &Amount<Completed, Own>,
    delivered: &Amount<Completed, OfFiles>,
) -> Result<f64, String> {
    let inserted = run.amount(phase, INSERTED)?;
    let begun = run.amount(phase, DEVICE_READ_BEGUN)?.bytes().max(delivered.bytes());
    let before = inserted_before(&run.amount(phase, INSERTED_OF_PASS)?, &inserted);
    let unread = Amount::of(begun).short_of(&inserted);
    Ok(unread.min(delivered.short_of(&read.at_least_of_files()) - before).max(0.0))
}

/// Bytes that the device delivered for the phase and the layers below did not read.
fn missing_below(run: &Run<'_>, phase: &Phase, direct: f64, limits: &Thresholds) -> Result<f64, String> {
    let Some(read_below) = below(run, phase, BELOW_READ)? else { return Ok(0.0) };
    let missing = read_below.short_of(&run.amount(phase, DEVICE_READ)?);
    let on_the_way = direct < 1.0 && missing <= limits.ab207_below_floor_bytes.value.value;
    Ok(if on_the_way { 0.0 } else { missing })
}

fn judged(case: &Case<'_>, missing: f64, read: f64, words: Words) -> Finding {
    let limits = case.thresholds();
    let share = missing / read;
    let (weight, threshold) = match share {
        share if share > limits.ab207_unwritten_fail_ratio.value.value => {
            (Weight::Fail(Effect::Misleading), &limits.ab207_unwritten_fail_ratio)
        }
        share if share > limits.ab207_unwritten_warn_ratio.value.value => {
            (Weight::Warn(Effect::Misleading), &limits.ab207_unwritten_warn_ratio)
        }
        _ => return case.silent(""),
    };
    case.fires(Firing {
        weight,
        observed: Some(Quantity::ratio(share)),
        threshold: threshold.clone(),
        message: words.message,
        meaning: words.meaning.to_owned(),
        advice: words.advice.to_owned(),
    })
}

fn in_bytes(value: f64) -> Quantity {
    Quantity { value, ..Quantity::bytes(0) }
}
