//! # What it finds
//! Syncs that returned success although the device, which has a volatile write cache, never received a flush.
//!
//! # Why it matters
//! A loss of power erases data in a device's volatile cache. A mount without barriers makes every fsync fast and none
//! durable.
//!
//! # How it decides
//! It applies to a target device that reports `queue/write_cache` = write back. From the start of the window to the
//! end of the durable span, `flushes` + `fua_writes` must be 0.
//!
//! - A sync ended in that span (inside the clock or after it), or writes used O_SYNC or O_DSYNC: it fails, and the
//!   claim is misleading.
//! - Direct writes and no sync: it warns for a claim of durable writes, and is a note for a claim on the device.
//!
//! On FUSE the device is that of the daemon behind the mount, and its flushes are `daemon_flushes`.
//!
//! Where a tracer observed, `flushes_at_most` of a device without FUA stands in: if it is 0, nobody's FLUSH came.
//!
//! A write-through device needs no flush, and the kernel drops flushes to it: not applicable.
//!
//! # When it is wrong
//! A device may keep its cache through a power cut and still report write back. If no request at all was seen to
//! complete at the device (a stacked one), it is undecided.
//!
//! # What to do
//! Mount with barriers; for direct writes add a sync (`iozone -e`, or `-o`).
//!
//! # References
//! fio #719: a benchmark ran on ext4 mounted nobarrier. Measured: 20 fsyncs on ext4 make 40 FLUSH requests, with
//! nobarrier none; O_DIRECT without fsync makes none.

use activebench_model::advice::Improvement;
use activebench_model::claim::Subject;
use activebench_model::fact::FactName;
use activebench_model::finding::{Effect, Finding};
use activebench_model::host::Tier;
use activebench_model::phase::{Direction, Phase};
use activebench_model::units::Quantity;

use crate::advice::wording::advise;
use crate::cases::run::{Case, Firing, Halt, Weight, device_below, fact_if_any, of_each_seen_phase};
use crate::detector::{Basis, Correction, Decides, Detector, Honest, Judge, Question};
use crate::evidence::daemon::storage_of;
use crate::run::Run;

const FACTS: &[FactName] = &[
    FactName::Flushes,
    FactName::FlushesAtMost,
    FactName::FuaWrites,
    FactName::DeviceWriteDurableAtMost,
    FactName::SyncsInside,
    FactName::SyncWriteShare,
    FactName::DirectShare,
    FactName::DurableSpan,
    FactName::DeviceTotalBytes,
    FactName::WriteBytes,
];

/// The facts for a pass on FUSE.
const FACTS_OF_DAEMON: &[FactName] = &[
    FactName::DaemonFlushes,
    FactName::SyncsInside,
    FactName::SyncWriteShare,
    FactName::DirectShare,
    FactName::DurableSpan,
    FactName::DaemonDeviceWriteBytesDurable,
    FactName::WriteBytes,
];

/// See the head of this file.
pub static DETECTOR: Detector = Detector {
    code: "AB303",
    name: "flush-never-issued",
    title: "The device never received a flush",
    explained_by: &["AB106", "AB205"],
    source: include_str!("flush_never_issued.rs"),
    judge: Judge::Run(judge_run),
    facts: FACTS,
    basis: Basis::Facts,
    decides: Decides::DurableRates,
    correction: Some(Correction {
        rank: 20,
        honest: Honest::None("the device never received a command to flush its cache, so there is no durable rate"),
        measured_instead: |_, _| "writing into the device's volatile cache",
    }),
    improvement: Some(Improvement::SurvivePowerLoss),
    questions: &[Question::WasItTuned],
};

fn judge_run(run: &Run<'_>) -> Vec<Finding> {
    of_each_seen_phase(&DETECTOR, run, judge)
}

/// Number of syncs that ended while flushes were counted: up to the end of the durable span, or of the window when no
/// sync made all bytes durable. The durable span of direct writes ends before any sync. The flush of a later sync is
/// therefore not counted, so that sync must not be counted either.
fn covered_syncs(phase: &Phase, inside: f64) -> f64 {
    let Some(window) = phase.window else { return inside };
    let counted_ns = match phase.facts.complete(FactName::DurableSpan) {
        Ok(span) => span,
        Err(_) => window.duration_ns() as f64,
    };
    let covered = |end_ns: u64| end_ns.saturating_sub(window.start_ns) as f64 <= counted_ns;
    let after =
        phase.parts.iter().filter_map(|part| part.sync_after.as_ref()).filter(|sync| covered(sync.end_ns)).count();
    let first =
        phase.parts.iter().filter_map(|part| part.sync_inside.as_ref()).filter(|sync| covered(sync.end_ns)).count();
    let all_inside = if covered(window.end_ns) { inside } else { first as f64 };
    all_inside + after as f64
}

fn judge(case: &Case<'_>, phase: &Phase) -> Result<Finding, Halt> {
    if !matches!(phase.direction, Direction::Write | Direction::Mixed) {
        return Err(Halt::not_applicable("The pass does not write."));
    }
    let case = &case.concerning_storage()?;
    let run = &case.run;
    let target = run.known_target(phase)?;
    let on_fuse = target.tier == Tier::Fuse;
    let (target, device) = match target.tier {
        Tier::Memory => return Err(Halt::not_applicable("The file is in memory. See AB106.")),
        // The daemon's own storage.
        Tier::Fuse => run
            .daemon_of(phase)
            .and_then(storage_of)
            .ok_or_else(|| Halt::undecided("The storage of the daemon behind the file is not known."))?,
        _ => (target, device_below(target)?),
    };
    let of_daemon = case.resting_on(FACTS_OF_DAEMON.to_vec());
    let case = if on_fuse { &of_daemon } else { case };
    match device.write_cache.as_deref() {
        Some("write through") => {
            return Err(Halt::not_applicable(format!(
                "The device {} does not have a volatile write cache.",
                device.name
            )));
        }
        Some("write back") => {}
        Some(other) => {
            return Err(Halt::undecided(format!(
                "The device {} reports an unknown write cache, {other:?}.",
                device.name
            )));
        }
        None => {
            return Err(Halt::undecided(format!(
                "It is not known whether the device {} has a volatile write cache.",
                device.name
            )));
        }
    }
    run.moved(phase)?;
    if run.fact(phase, FactName::WriteBytes)? == 0.0 {
        return Err(Halt::not_applicable("No byte was written."));
    }
    let inside = run.fact(phase, FactName::SyncsInside)?;
    let sync_writes = fact_if_any(phase, FactName::SyncWriteShare)?.unwrap_or(0.0);
    let direct = run.fact(phase, FactName::DirectShare)?;
    // The durable span of buffered writes always ends with a sync.
    let ended_by_sync = direct == 0.0 && sync_writes == 0.0 && phase.facts.complete(FactName::DurableSpan).is_ok();
    let syncs = covered_syncs(phase, inside).max(if ended_by_sync { 1.0 } else { 0.0 });
    let synced = syncs > 0.0 || sync_writes > 0.0;
    if !synced && direct == 0.0 {
        return Err(Halt::not_applicable("Nothing was synced. See AB301."));
    }
    let (flushed, moved) = match on_fuse {
        true => (run.fact(phase, FactName::DaemonFlushes)?, FactName::DaemonDeviceWriteBytesDurable),
        // Only a device without FUA has such a bound.
        false => match (run.fact(phase, FactName::Flushes), run.at_most(phase, FactName::Flushes)?) {
            (Err(_), 0.0) => (0.0, FactName::DeviceWriteDurableAtMost),
            (flushes, _) => (flushes? + run.fact(phase, FactName::FuaWrites)?, FactName::DeviceTotalBytes),
        },
    };
    let limit = &case.thresholds().ab303_flushes_floor_count;
    if flushed > limit.value.value {
        return Ok(case.silent(""));
    }
    // A stacked device may complete no request of its own; then a flush cannot be expected there.
    if run.fact(phase, moved)? == 0.0 {
        return Err(Halt::undecided(format!("No completed request was observed at {}.", device.name)));
    }
    let durable = case.claims().iter().any(|claim| run.subject_of(claim) == Subject::DurableWrite);
    let how = match (sync_writes > 0.0, synced) {
        (true, _) => format!("{} of the bytes were written with O_SYNC or O_DSYNC", Quantity::ratio(sync_writes)),
        (false, true) => format!("{} syncs succeeded", syncs),
        (false, false) => {
            format!("{} of the bytes were written with O_DIRECT, without a sync", Quantity::ratio(direct))
        }
    };
    let without_barriers = target.options.split(',').any(|option| matches!(option, "nobarrier" | "barrier=0"));
    Ok(case.fires(Firing {
        weight: match (synced, durable) {
            (true, _) => Weight::Fail(Effect::Misleading),
            (false, true) => Weight::Warn(Effect::Misleading),
            (false, false) => Weight::Note,
        },
        observed: Some(Quantity::count(0)),
        threshold: limit.clone(),
        message: format!(
            "{how}. The device {} (write cache: write back) completed 0 FLUSH and 0 FUA requests.",
            device.name
        ),
        meaning: "The data may be in the device's volatile cache, which a power cut erases.".to_owned(),
        advice: match (synced, without_barriers) {
            (true, true) => format!("mount {} with barriers (its mount options turn them off)", target.mount_point),
            (true, false) => {
                format!("check why syncs on {} do not cause a flush at {}", target.mount_point, device.name)
            }
            (false, _) => advise(run, None, Improvement::SurvivePowerLoss),
        },
    }))
}
