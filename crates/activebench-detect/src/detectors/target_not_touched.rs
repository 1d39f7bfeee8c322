//! # What it finds
//! A storage figure that no storage produced: no call moved data, the file is in memory (tmpfs, zram), or direct or
//! synced I/O reached no device.
//!
//! # Why it matters
//! It answers the first question about any benchmark: did the I/O happen at all, and on this device?
//!
//! # How it decides
//! It fails in three cases:
//!
//! - No call moved a byte, and there was neither a mapping nor an undecoded path: the claim is refuted. A pass that was not
//!   found counts only when the calls of the whole tree moved less than half of the bytes that the tool counts for
//!   that pass.
//! - A storage claim on a file that is in memory: the claim is misleading.
//! - The device moved 0 bytes for the phase's files, although all bytes went through O_DIRECT, or were written and
//!   synced: the claim is misleading. Synced writes count from 1 MiB on, because fewer bytes may be stored in the
//!   inode.
//!
//! In the third case the device may have moved bytes that belong to nobody else. Then activebench doubts its own
//! attribution and not the run. Half of the phase's bytes or more (a journal that carries data) is silent; less is
//! undecided.
//!
//! A tracer sees no device. There direct reads fail when storage gave nothing to the calls (`storage_read_bytes`), and
//! writes are undecided.
//!
//! On FUSE the daemon behind the mount is found, and its devices are compared with what it was asked for: reads that the
//! page cache above it did not answer, direct and synced writes, each written block once. From 0.9 of that on it is
//! silent. Up to 0.05 it fails: a cache below answered, or the sync made nothing durable. A daemon that has all its files
//! in memory fails. It is undecided:
//!
//! - between these shares, where a cache and compression cannot be separated, and above 1.3, where others used the
//!   daemon too;
//! - for writes of which the daemon itself submitted none, and where the kernel wrote more than 0.05 to its devices;
//! - where the daemon or its storage is not known, data can come from elsewhere (a socket), or a loop device below reads
//!   its file through memory.
//!
//! AB201 judges buffered reads that reach no device, AB301 buffered writes without a sync. It is undecided on a
//! network file system and where the kind of storage is unknown, because activebench cannot observe what is
//! behind them. The same applies to 0 bytes at a stacked device (dm, md), which may leave its requests to the layers
//! below.
//!
//! # When it is wrong
//! It is wrong when a layer below removes all bytes (deduplication). Even then the device did not move them.
//!
//! # What to do
//! Name a file on the device that the figure is meant for; write it fully before reading it.
//!
//! # References
//! Gregg, active benchmarking: did it even happen? fio 3.33 reads a file of holes at 17.9 GB/s with 0 bytes from the
//! device (measured); a zero score in IO500 is invalid.

use activebench_model::coverage::Backend;
use activebench_model::fact::FactName;
use activebench_model::finding::{Effect, Finding};
use activebench_model::host::Tier;
use activebench_model::phase::{Direction, Phase};
use activebench_model::units::Quantity;

use crate::cases::run::{Case, Firing, Halt, Weight, fact_if_any, of_each_phase, seen, what_lies_below};
use crate::detector::{Basis, Correction, Decides, Detector, Honest, Judge, Question};
use crate::evidence::daemon::{self, Served};
use crate::evidence::from_storage::FromStorage;
use crate::run::Run;

const FACTS: &[FactName] = &[
    FactName::ReadBytes,
    FactName::WriteBytes,
    FactName::Mappings,
    FactName::DirectShare,
    FactName::SyncedBytes,
    FactName::DeviceReadBytes,
    FactName::DeviceWriteBytesDurable,
    FactName::DeviceTotalBytes,
    FactName::ForeignBytes,
    FactName::StorageReadBytes,
];

/// The facts for a pass that discards.
const FACTS_OF_DISCARDS: &[FactName] = &[FactName::DiscardBytes, FactName::DeviceDiscardBytes];

/// Kinds of device that complete requests themselves; a device mapper or RAID hands bios down.
const COMPLETING: [&str; 5] = ["loop", "virtio", "nvme", "scsi", "btrfs-member"];

/// See the head of this file.
pub static DETECTOR: Detector = Detector {
    code: "AB106",
    name: "target-not-touched",
    title: "No storage was involved",
    explained_by: &[],
    source: include_str!("target_not_touched.rs"),
    judge: Judge::Run(judge_run),
    facts: FACTS,
    basis: Basis::Facts,
    decides: Decides::RatesOfStorage,
    correction: Some(Correction {
        rank: 10,
        honest: Honest::None("no byte of the phase passed a device that keeps data"),
        measured_instead,
    }),
    improvement: None,
    questions: &[Question::DidItEvenHappen],
};

fn judge_run(run: &Run<'_>) -> Vec<Finding> {
    of_each_phase(&DETECTOR, run, |case, phase| judge(case, phase).map(|finding| vec![finding]))
}

fn judge(case: &Case<'_>, phase: &Phase) -> Result<Finding, Halt> {
    if phase.direction == Direction::None {
        return Err(Halt::not_applicable("The pass does not move data."));
    }
    let of_discards = case.resting_on(FACTS_OF_DISCARDS.to_vec());
    let case = if phase.direction == Direction::Discard { &of_discards } else { case };
    if case.run.maps_files(phase) {
        return Err(Halt::not_applicable("Data moves through a mapping. See AB901."));
    }
    let limits = case.thresholds();
    if phase.parts.is_empty() {
        // If the whole run moved less than this pass claims, the pass did not happen.
        let claimed = case.claims().iter().filter_map(|claim| claim.claimed_bytes).max().unwrap_or(0) as f64;
        return match moved_in_run(case, phase) {
            Ok(moved) if moved < limits.ab106_run_share_ratio.value.value * claimed || moved == 0.0 => {
                nothing_moved(case, moved)
            }
            _ => Err(seen(phase).err().unwrap_or_else(|| Halt::undecided("No call of the pass was observed."))),
        };
    }
    if case.run.moved(phase)? == 0.0 {
        return nothing_moved(case, 0.0);
    }
    let case = &case.concerning_storage()?;
    let target = case.run.known_target(phase)?;
    match target.tier {
        Tier::Memory => Ok(case.fires(Firing {
            weight: Weight::Fail(Effect::Misleading),
            observed: Some(in_bytes(case.run.moved(phase)?)),
            threshold: case.thresholds().ab106_device_floor_bytes.clone(),
            message: format!(
                "{} for storage. All {} went to or came from memory. The file is on {} at {}{}.",
                case.claimed(),
                in_bytes(case.run.moved(phase)?),
                target.fs_type,
                target.mount_point,
                target.device().map_or_else(String::new, |device| format!(", on {}", device.name))
            ),
            meaning: "The figure is the rate of copying in memory.".to_owned(),
            advice: "name a file on the device to be measured".to_owned(),
        })),
        Tier::Block => on_a_device(case, phase),
        Tier::Network => {
            Err(Halt::undecided(format!("The server of {} is not observed from this host.", target.fs_type)))
        }
        Tier::Fuse => behind_a_daemon(&case.resting_on(daemon::FACTS.to_vec()), phase),
        Tier::Unknown => Err(what_lies_below(target)),
    }
}

/// Bytes that the calls of the whole run moved in the direction of the pass. Unknown when any file was mapped, because
/// no call shows the bytes that move through a mapping.
fn moved_in_run(case: &Case<'_>, phase: &Phase) -> Result<f64, String> {
    let fact = |name| case.run.facts.complete(name);
    if fact(FactName::Mappings)? > 0.0 {
        return Err("files were mapped".to_owned());
    }
    match phase.direction {
        Direction::Read => fact(FactName::ReadBytes),
        Direction::Write => fact(FactName::WriteBytes),
        Direction::Discard => Err("discards of a whole run are not added up".to_owned()),
        _ => Ok(fact(FactName::ReadBytes)? + fact(FactName::WriteBytes)?),
    }
}

fn nothing_moved(case: &Case<'_>, moved: f64) -> Result<Finding, Halt> {
    let coverage = &case.run.manifest.coverage;
    if coverage.backend == Backend::None {
        return Err(Halt::undecided("Nothing was observed. Data may have moved on other paths than calls."));
    }
    let blind = &coverage.blind_paths;
    if let Some(path) = blind.iter().find(|path| path.calls > 0) {
        return Err(Halt::undecided(format!(
            "No call moved data, but the tool used {}. activebench does not decode it.",
            path.path
        )));
    }
    Ok(case.fires(Firing {
        weight: Weight::Fail(Effect::Refuted),
        observed: Some(in_bytes(moved)),
        threshold: case.thresholds().ab106_device_floor_bytes.clone(),
        message: match moved {
            0.0 => format!("{}. Calls inside the clock moved 0 B.", case.claimed()),
            _ => format!("{}. All calls of the run together moved {}.", case.claimed(), in_bytes(moved)),
        },
        meaning: "The figure does not come from I/O.".to_owned(),
        advice: "check what the tool really did: its output is not a measurement".to_owned(),
    }))
}

/// Judges a pass on FUSE by what its daemon's devices moved.
fn behind_a_daemon(case: &Case<'_>, phase: &Phase) -> Result<Finding, Halt> {
    let (run, limits) = (&case.run, case.thresholds());
    let daemon = run.daemon_of(phase).ok_or_else(|| Halt::undecided("The daemon behind the file is not known."))?;
    let name = daemon.name();
    if daemon::is_in_memory(daemon) {
        return Ok(case.resting_on(vec![FactName::ReadBytes, FactName::WriteBytes]).fires(Firing {
            weight: Weight::Fail(Effect::Misleading),
            observed: Some(in_bytes(run.moved(phase)?)),
            threshold: limits.ab106_device_floor_bytes.clone(),
            message: format!("{} for storage. All that {name} has open is in memory.", case.claimed()),
            meaning: "The figure is the rate of copying in memory.".to_owned(),
            advice: "mount the file system over the device to be measured".to_owned(),
        }));
    }
    if phase.direction == Direction::Write {
        let synced = run.fact(phase, FactName::SyncedBytes)?;
        let direct = run.fact(phase, FactName::DirectShare)? >= 1.0;
        if !direct && synced < limits.ab106_inline_ceiling_bytes.value.value {
            return Ok(case.silent("Too little was synced to expect it at the device. AB301 and AB302 check syncs."));
        }
    }
    let Served { asked, at_devices } = run.served_by_daemon(phase)?;
    if phase.direction == Direction::Read && asked < run.moved(phase)? * limits.ab106_daemon_nothing_ratio.value.value {
        return Ok(case.silent("The page cache answered the reads. AB201 checks where they came from."));
    }
    let share = at_devices / asked;
    let moved = if phase.direction == Direction::Read { "gave" } else { "got" };
    let at = || {
        format!("The daemon {name} was asked for {}, and its devices {moved} {}", in_bytes(asked), in_bytes(at_devices))
    };
    if let Some(cached) = daemon::cached_below(daemon) {
        return Err(Halt::undecided(format!("{}, but {cached}.", at())));
    }
    match share {
        share if share > limits.ab106_daemon_others_ratio.value.value => {
            Err(Halt::undecided(format!("{}: others used it, too.", at())))
        }
        // The kernel may have written it by itself, and something else in its place.
        share
            if share >= limits.ab106_daemon_all_ratio.value.value
                && phase.direction == Direction::Write
                && run.fact(phase, FactName::DaemonSubmittedBytes)? == 0.0 =>
        {
            Err(Halt::undecided(format!("{}, none of it by a sync of the daemon.", at())))
        }
        share if share >= limits.ab106_daemon_all_ratio.value.value => Ok(case.silent(format!("{}.", at()))),
        _ if !daemon.elsewhere.is_empty() => {
            Err(Halt::undecided(format!("{}, but {}.", at(), daemon.elsewhere.join(", "))))
        }
        share if share > limits.ab106_daemon_nothing_ratio.value.value => {
            Err(Halt::undecided(format!("{}. Its caches and its compression cannot be separated.", at())))
        }
        // The kernel writes a file back that nobody has open any more: it is nobody's.
        _ if phase.direction == Direction::Write
            && run.fact(phase, FactName::DaemonTotalWriteBytes)?
                > asked * limits.ab106_daemon_nothing_ratio.value.value =>
        {
            let total = in_bytes(run.fact(phase, FactName::DaemonTotalWriteBytes)?);
            Err(Halt::undecided(format!("{}. All writes there were {total}, maybe for it.", at())))
        }
        share => Ok(case.fires(Firing {
            weight: Weight::Fail(Effect::Misleading),
            observed: Some(Quantity::ratio(share)),
            threshold: limits.ab106_daemon_nothing_ratio.clone(),
            message: format!("{}. {}.", case.claimed(), at()),
            meaning: match phase.direction {
                Direction::Read => {
                    "The data came from memory below the file system: a cache of the daemon, or the page cache of its \
                     files."
                        .to_owned()
                }
                _ => "The data was in memory below the file system when the clock stopped.".to_owned(),
            },
            advice: match phase.direction {
                Direction::Read => "drop the caches before the run, that of the daemon by mounting again".to_owned(),
                _ => format!("check what {name} does with a sync"),
            },
        })),
    }
}

fn on_a_device(case: &Case<'_>, phase: &Phase) -> Result<Finding, Halt> {
    let limits = case.thresholds();
    let discards = phase.direction == Direction::Discard;
    let direct = !discards && case.run.fact(phase, FactName::DirectShare)? >= 1.0;
    let (at_device, how) = match phase.direction {
        Direction::Read if !direct => {
            return Ok(case.silent(
                "The reads are buffered. AB201 checks where they came \
                                                             from.",
            ));
        }
        Direction::Read => match case.run.given_by_storage(phase) {
            Some(from_storage) => return direct_reads(case, phase, from_storage?),
            None => (case.run.fact(phase, FactName::DeviceReadBytes)?, "read with O_DIRECT"),
        },
        Direction::Mixed if !direct => {
            return Ok(case.silent(
                "The reads are buffered. AB201 checks where they came \
                                                              from.",
            ));
        }
        Direction::Mixed => {
            let read = case.run.fact(phase, FactName::DeviceReadBytes)?;
            (read + case.run.fact(phase, FactName::DeviceWriteBytesDurable)?, "moved with O_DIRECT")
        }
        Direction::Discard => (case.run.fact(phase, FactName::DeviceDiscardBytes)?, "discarded"),
        _ => {
            let synced = case.run.fact(phase, FactName::SyncedBytes)?;
            if !direct && synced < limits.ab106_inline_ceiling_bytes.value.value {
                return Ok(
                    case.silent("Too little was synced to expect it at the device. AB301 and AB302 check syncs.")
                );
            }
            let how = if direct { "written with O_DIRECT" } else { "written and synced" };
            (case.run.fact(phase, FactName::DeviceWriteBytesDurable)?, how)
        }
    };
    if at_device > limits.ab106_device_floor_bytes.value.value {
        return Ok(case.silent(""));
    }
    if phase.direction == Direction::Discard {
        return nothing_discarded(case, phase);
    }
    let moved = case.run.moved(phase)?;
    let total = case.run.fact(phase, FactName::DeviceTotalBytes)?;
    let foreign = fact_if_any(phase, FactName::ForeignBytes)?.unwrap_or(0.0);
    let unattributed = total - foreign;
    if unattributed >= moved / 2.0 {
        return Ok(case.silent(format!(
            "{} passed the device outside the files' own bytes, like data in a journal.",
            in_bytes(unattributed)
        )));
    }
    if unattributed > moved * limits.ab106_unattributed_ratio.value.value {
        return Err(Halt::undecided(format!(
            "{} passed the device and could not be attributed to a file.",
            in_bytes(unattributed)
        )));
    }
    let device = case.run.target_of(phase).and_then(|target| target.device());
    if device.is_none_or(|device| !COMPLETING.contains(&device.kind.as_str())) {
        return Err(Halt::undecided(
            "No request was observed at the target device. The layers below may have handled them.",
        ));
    }
    Ok(case.fires(Firing {
        weight: Weight::Fail(Effect::Misleading),
        observed: Some(in_bytes(at_device)),
        threshold: limits.ab106_device_floor_bytes.clone(),
        message: format!(
            "{}. {} was {how}. The device moved {} of it.",
            case.claimed(),
            in_bytes(moved),
            in_bytes(at_device)
        ),
        meaning: match phase.direction {
            Direction::Write => "Nothing reached the device, so the figure is not that of the device.".to_owned(),
            _ => "The blocks were holes or never written, so the figure is not that of the device.".to_owned(),
        },
        advice: match phase.direction {
            Direction::Write => "name a file on the device to be measured".to_owned(),
            _ => "write the whole file with data before reading it".to_owned(),
        },
    }))
}

/// Judges direct reads where a tracer observed, which sees no device: by what storage gave to the calls.
fn direct_reads(case: &Case<'_>, phase: &Phase, from_storage: FromStorage) -> Result<Finding, Halt> {
    let limits = case.thresholds();
    let FromStorage { by_calls, at_most } = from_storage;
    if by_calls > limits.ab106_device_floor_bytes.value.value {
        return Ok(case.silent(""));
    }
    let moved = case.run.moved(phase)?;
    if at_most > moved * limits.ab106_unattributed_ratio.value.value {
        return Err(Halt::undecided(format!("{} came from storage in other ways than by reads.", in_bytes(at_most))));
    }
    Ok(case.resting_on(vec![FactName::ReadBytes, FactName::DirectShare, FactName::StorageReadBytes]).fires(Firing {
        weight: Weight::Fail(Effect::Misleading),
        observed: Some(in_bytes(by_calls)),
        threshold: limits.ab106_device_floor_bytes.clone(),
        message: format!(
            "{}. {} was read with O_DIRECT. Storage gave {} of it.",
            case.claimed(),
            in_bytes(moved),
            in_bytes(by_calls)
        ),
        meaning: "The blocks were holes, never written, or in memory, so the figure is not that of the device."
            .to_owned(),
        advice: "write the whole file with data before reading it".to_owned(),
    }))
}

/// Judges discards that reached no device. A file system that frees space passes no discard to the device, unless it is
/// mounted to do so.
fn nothing_discarded(case: &Case<'_>, phase: &Phase) -> Result<Finding, Halt> {
    let device = case.run.target_of(phase).and_then(|target| target.device());
    if device.is_none_or(|device| !COMPLETING.contains(&device.kind.as_str())) {
        return Err(Halt::undecided("The target device does not report completions, so its discards are not known."));
    }
    Ok(case.fires(Firing {
        weight: Weight::Fail(Effect::Misleading),
        observed: Some(in_bytes(0.0)),
        threshold: case.thresholds().ab106_device_floor_bytes.clone(),
        message: format!(
            "{}. {} was returned to the file system. No discard reached the device while the clock ran.",
            case.claimed(),
            in_bytes(case.run.moved(phase)?)
        ),
        meaning: "The figure is the rate at which the file system frees space, not that of the device.".to_owned(),
        advice: "trim the device itself, with its name as filename".to_owned(),
    }))
}

fn in_bytes(value: f64) -> Quantity {
    Quantity { value, ..Quantity::bytes(0) }
}

/// Describes what a claim measured when the storage took no part.
fn measured_instead(run: &Run<'_>, phase: &Phase) -> &'static str {
    let in_memory = run.target_of(phase).is_some_and(|target| target.tier == Tier::Memory);
    match phase.direction {
        _ if in_memory => "copying in memory",
        Direction::Discard => "freeing space in the file system",
        Direction::Read => "reading blocks without data",
        _ => "I/O that reached no device",
    }
}
